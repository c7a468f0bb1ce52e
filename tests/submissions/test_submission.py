"""Which file of each unit is graded, even if a submission is damaged or hostile."""

from __future__ import annotations

import json
import shutil
import subprocess
from pathlib import Path

import pytest
from downloads import Tree, write
from notebooks import code, write_notebook

from grader.submissions.contents import EARLIER_CONFTEST
from grader.submissions.notebook import CODE_LIMIT
from grader.submissions.reader import read_submission
from grader.submissions.submission import SHEET_LIMIT, Submission, UnitSource, UnitSubmission

STUB = "# %% [markdown]\n# # Unit\n# %%\nimport torch\n\n# %%\ndef f(x):\n    raise NotImplementedError()\n"
ANSWER = "def f(x):\n    return x\n"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """The folder of the student 'ada', empty."""
    (tmp_path / "ada").mkdir()
    return tmp_path / "ada"


def notebook(*cells: str) -> str:
    """A notebook with these code cells."""
    return json.dumps({"nbformat": 4, "nbformat_minor": 5, "metadata": {}, "cells": [*map(code, cells)]})


def read(folder: Path) -> Submission:
    """Read the unit 'unit' from a folder; the stub is beside that folder."""
    stubs = folder.parent / "stubs"
    stubs.mkdir(exist_ok=True)
    (stubs / "unit.py").write_text(STUB)
    return read_submission("ada", folder, ["unit"], stubs)


def source(folder: Path) -> UnitSource:
    submission = read(folder)
    assert submission.units == {"unit": UnitSubmission(submission.sources["unit"])}
    return submission.sources["unit"]


def problem(folder: Path) -> str:
    submission = read(folder)
    assert submission.units["unit"].code is None
    return submission.units["unit"].problem


# Scripts


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("import torch\n\ndef f(x):\n    return x\n", 3),
        ("class f(Module):\n    ...\n", 1),
        ("def f(x): ...\n\n\nasync  def f(x): ...\n", 4),
        ("def find(x): ...\n", None),
        ("if f:\n    def f(x): ...\n", None),
        ("f = abs\n", None),
    ],
)
def test_the_first_line_of_an_answer_in_a_script_is_found(folder: Path, text: str, line: int | None) -> None:
    write(folder, {"unit.py": text})
    assert source(folder).line_of("f") == line


def test_a_notebook_has_no_lines(folder: Path) -> None:
    write_notebook(folder / "unit.ipynb", code("def f(x): ..."))
    assert source(folder).line_of("f") is None


def test_code_that_could_crash_a_parser_is_not_parsed(folder: Path) -> None:
    deep = "(" * 100_000
    write(folder, {"unit.py": deep})
    assert source(folder).cells == (deep,)


def test_a_deleted_folder_is_not_an_error(folder: Path) -> None:
    folder.rmdir()
    assert problem(folder).startswith("unit.py is missing")


def test_one_unreadable_unit_does_not_affect_the_others(folder: Path) -> None:
    write(folder, {"unit.py": ANSWER})
    submission = read_submission("ada", folder, ["unit", "other"], folder.parent / "stubs")
    assert list(submission.sources) == ["unit"]
    assert list(submission.units) == ["unit", "other"]
    assert (submission.units["unit"].problem, submission.units["other"].code) == ("", None)
    assert submission.units["other"].problem.startswith("other.py is missing")


# What cannot be graded, and the sentence on it.
PROBLEMS: list[tuple[Tree, str]] = [
    ({}, "unit.py is missing: hand it in, or unit.ipynb, in the folder itself, in exercises/ or in unit/."),
    ({"unit.py": ""}, "unit.py is empty: write your answers there and save it."),
    ({"unit.py": "\n \t\n"}, "unit.py is empty: write your answers there and save it."),
    (
        {"unit.py": "#" * (CODE_LIMIT + 1)},
        "unit.py is 1.0 MB; at most 1 MB are read: hand in your code alone and save it.",
    ),
    ({"unit.ipynb": notebook()}, "unit.ipynb has no code in it: write your answers there and save it."),
    ({"unit.ipynb": notebook("")}, "unit.ipynb has no code in it: write your answers there and save it."),
    (
        {"unit/\u202e\n\x1b[2J.ipynb": "{}"},
        r"'unit/\u202e\n\x1b[2J.ipynb' is not a notebook (it has no cells): open it in Jupyter and save it again.",
    ),
    (
        {"unit": ANSWER},
        "unit is not a script, a notebook or a sheet of the course: hand in unit.py or unit.ipynb.",
    ),
]


@pytest.mark.parametrize(("tree", "sentence"), PROBLEMS)
def test_what_cannot_be_graded_is_named_with_what_to_do(folder: Path, tree: Tree, sentence: str) -> None:
    assert problem(write(folder, tree)) == sentence


# Notebooks


def test_imports_deleted_from_a_notebook_are_restored_from_the_stub(folder: Path) -> None:
    own = "def f(x):\n    return torch.abs(x)"
    write_notebook(folder / "unit.ipynb", None, code(own))
    assert source(folder).cells == ("import torch", own)
    assert [remark.partition(":")[0] for remark in source(folder).remarks] == [
        "unit.ipynb is damaged",
        "unit.ipynb no longer imports torch",
    ]


# Which of several files is graded


def test_an_untouched_stub_is_the_source_but_does_not_count_as_handed_in(folder: Path) -> None:
    write(folder, {"unit.py": STUB})
    assert source(folder) == UnitSource("unit.py", (STUB,), ())
    assert not read(folder).handed_in


def test_one_answer_counts_as_handed_in(folder: Path) -> None:
    write(folder, {"unit.py": ANSWER})
    assert read(folder).handed_in


def test_an_unreadable_file_and_an_empty_folder_count_as_handed_in(folder: Path) -> None:
    assert read(folder).handed_in
    (folder / "unit.py").write_bytes(b"\0")
    assert read(folder).handed_in


def test_an_answer_to_the_quiz_alone_counts_as_handed_in(folder: Path) -> None:
    write(folder, {"unit.py": STUB})
    write(folder.parent, {"stubs/unit.py": STUB})
    write(folder, {"unit_quiz.md": SHEET})
    assert not read_quiz(folder, with_unit=False).handed_in
    write(folder, {"unit_quiz.md": SHEET.replace("______", "3")})
    assert read_quiz(folder, with_unit=False).handed_in


UNTOUCHED = notebook("import torch", "def f(x):\n    raise NotImplementedError()")
# The files that were handed in, the one of them that is graded, and the remarks.
CHOSEN: dict[str, tuple[Tree, str, tuple[str, ...]]] = {
    "a script in exercises": ({"exercises/unit.py": ANSWER}, "exercises/unit.py", ()),
    "a notebook in exercises": ({"exercises/unit.ipynb": notebook(ANSWER)}, "exercises/unit.ipynb", ()),
    "an untouched script": (
        {"unit.py": "# my name\n" + STUB.replace("\n", "  \r\n"), "unit.ipynb": notebook(ANSWER)},
        "unit.ipynb",
        (),
    ),
    "an untouched notebook": ({"unit.py": ANSWER, "unit.ipynb": UNTOUCHED}, "unit.py", ()),
    "both with answers": (
        {"unit.py": ANSWER, "unit.ipynb": notebook("def f(x):\n    return 2 * x")},
        "unit.py",
        ("Both `unit.py` and `unit.ipynb` contain answers; only the script was graded.",),
    ),
    "the same work in two forms": ({"unit.py": ANSWER, "unit.ipynb": notebook(ANSWER)}, "unit.py", ()),
    "a stub above the answers": ({"unit.py": STUB, "exercises/unit.py": ANSWER}, "exercises/unit.py", ()),
    "answers in both places": (
        {"unit.py": ANSWER, "exercises/unit.py": "f = abs\n"},
        "unit.py",
        ("Both `unit.py` and `exercises/unit.py` contain answers; only `unit.py` was graded.",),
    ),
    "an unreadable one": (
        {"unit.py": ANSWER, "unit.ipynb": "no notebook"},
        "unit.py",
        ("unit.ipynb is not a notebook (it is not JSON): open it in Jupyter and save it again. unit.py is graded.",),
    ),
    "nbgrader's folder": (
        {"unit/unit.py": "f = abs\n", "unit/unit.ipynb": notebook(ANSWER)},
        "unit/unit.ipynb",
        ("Both `unit/unit.ipynb` and `unit/unit.py` contain answers; only the notebook was graded.",),
    ),
}


@pytest.mark.parametrize("name", CHOSEN)
def test_of_several_files_the_one_with_answers_is_graded(folder: Path, name: str) -> None:
    tree, path, remarks = CHOSEN[name]
    assert source(write(folder, tree)) == UnitSource(path, (ANSWER,), remarks)
    assert source(folder).is_notebook == path.endswith(".ipynb")


def test_files_beside_an_answer_are_a_remark_unless_they_are_the_courses_own(folder: Path) -> None:
    write(folder, {"unit.py": ANSWER})
    write(folder, {"conftest.py": "own = True\n"})
    assert source(folder).remarks == ("Files beside unit.py are neither read nor run: conftest.py.",)
    (folder / "conftest.py").write_text(EARLIER_CONFTEST, encoding="utf-8")  # of an earlier release
    assert source(folder).remarks == ()
    write(folder.parent, {"stubs/conftest.py": "own = True\n"})
    assert source(folder).remarks == ()


def test_the_script_is_graded_if_there_is_no_stub_to_compare(folder: Path) -> None:
    write(folder, {"unit.py": ANSWER})
    write_notebook(folder / "unit.ipynb", code(STUB))
    submission = read_submission("ada", folder, ["unit"], folder.parent / "no_stubs")
    assert submission.sources["unit"].filename == "unit.py"


# The folders of nbgrader


def test_code_and_quiz_are_read_from_the_only_notebook_under_another_name(
    folder: Path,
) -> None:
    write_notebook(folder / "unit" / "Week 1.ipynb", code(ANSWER), code("answer_1 = 2"))
    write(folder, {"unit/timestamp.txt": ""})
    remark = "'unit/Week 1.ipynb' was graded as unit.ipynb: rename it to unit.ipynb."
    assert source(folder) == UnitSource("unit/unit.ipynb", (ANSWER,), (remark,))
    write(folder.parent, {"stubs/unit_quiz.md": SHEET})
    submission = read_submission("ada", folder, ["unit"], folder.parent / "stubs", quiz_names=["unit"])
    quiz = UnitSource("unit/unit.ipynb", ("answer_1 = 2",), (remark,), (None,))
    assert submission.units["unit"].quiz == quiz


def test_a_link_in_place_of_a_units_folder_is_not_followed(folder: Path) -> None:
    write_notebook(folder.parent / "eve" / "unit.ipynb", code(ANSWER))
    (folder / "unit").symlink_to("../eve")
    assert problem(folder) == "unit is a symbolic link: put the folder itself there."


# The sheets of quizzes

SHEET = "# Quiz\n\n## 1. Sums\n\nAnswer: ______\n"


def sheet(folder: Path) -> UnitSource:
    unit = read_quiz(folder).units["unit"]
    assert unit.quiz
    assert unit.quiz_problem == ""
    return unit.quiz


def sheet_problem(folder: Path) -> str:
    unit = read_quiz(folder, with_unit=False).units["unit"]
    assert unit.quiz is None
    return unit.quiz_problem


def read_quiz(folder: Path, with_unit: bool = True) -> Submission:
    """Read the unit 'unit' and its quiz from a folder; the stub is beside that folder."""
    if with_unit:
        write(folder, {"unit.py": ANSWER})
    stubs = folder.parent / "stubs"
    write(stubs, {"unit_quiz.md": SHEET})
    return read_submission("ada", folder, ["unit"], stubs, quiz_names=["unit"])


@pytest.mark.parametrize("place", ["unit_quiz.md", "exercises/unit_quiz.md"])
def test_a_sheet_is_read_from_the_folder_and_from_the_exercises(folder: Path, place: str) -> None:
    (folder / "exercises").mkdir()
    (folder / place).write_bytes(b"\xef\xbb\xbf" + SHEET.replace("______", "3").replace("\n", "\r\n").encode())
    assert sheet(folder) == UnitSource(place, (SHEET.replace("______", "3"),))


def test_no_sheet_is_expected_if_the_unit_has_no_quiz(folder: Path) -> None:
    write(folder, {"unit.py": ANSWER})
    assert read(folder).units == {"unit": UnitSubmission(UnitSource("unit.py", (ANSWER,)))}


def test_a_missing_sheet_is_reported_and_affects_only_the_quiz(folder: Path) -> None:
    submission = read_quiz(folder)
    problem = "unit_quiz.md is missing: hand it in, in the folder itself or in exercises/."
    assert submission.units == {"unit": UnitSubmission(UnitSource("unit.py", (ANSWER,)), quiz_problem=problem)}


FILLED = SHEET.replace("______", "3")


@pytest.mark.parametrize(
    ("tree", "path", "remarks"),
    [
        (
            {"unit_quiz.md": SHEET.replace("\n\n", "  \r\n\r\n\r\n"), "exercises/unit_quiz.md": FILLED},
            "exercises/unit_quiz.md",
            (),
        ),
        ({"unit_quiz.md": SHEET, "unit.ipynb": notebook("answer_1 = ...")}, "unit_quiz.md", ()),
        (
            {"unit_quiz.md": FILLED, "exercises/unit_quiz.md": FILLED.replace("3", "4")},
            "unit_quiz.md",
            ("Both `unit_quiz.md` and `exercises/unit_quiz.md` contain answers; only `unit_quiz.md` was graded.",),
        ),
        (
            {"unit_quiz.md": b"\xff", "exercises/unit_quiz.md": SHEET},
            "exercises/unit_quiz.md",
            ("unit_quiz.md is not UTF-8 (line 1): save it as UTF-8. exercises/unit_quiz.md is graded.",),
        ),
    ],
    ids=["one is untouched", "blank cells", "both have answers", "one is unreadable"],
)
def test_of_several_sheets_the_one_with_answers_is_read(
    folder: Path, tree: Tree, path: str, remarks: tuple[str, ...]
) -> None:
    text = str(tree[path])
    assert sheet(write(folder, tree)) == UnitSource(path, (text,), remarks)


# Quizzes that are answered in a notebook


def test_the_quiz_is_read_if_all_code_was_deleted(folder: Path) -> None:
    write_notebook(folder / "unit.ipynb", code("answer_1 = 2"))
    submission = read_quiz(folder, with_unit=False)
    problem = "unit.ipynb has no code in it: write your answers there and save it."
    answers = UnitSource("unit.ipynb", ("answer_1 = 2",), grade_ids=(None,))
    assert submission.units == {"unit": UnitSubmission(None, problem, answers)}


@pytest.mark.parametrize("blank", ["answer_1 = ...", "answer_1 = None  # later", "answer_1 = ''", "answer_1: str ="])
def test_sheets_and_cells_with_answers_are_preferred_to_blank_ones(folder: Path, blank: str) -> None:
    filled = SHEET.replace("______", "3")
    write_notebook(folder / "unit.ipynb", code(blank))
    write(folder, {"unit_quiz.md": SHEET})
    write(folder, {"unit/unit_quiz.md": filled})
    assert sheet(folder) == UnitSource("unit/unit_quiz.md", (filled,))
    write_notebook(folder / "unit.ipynb", code("answer_1 = 4"))
    remark = "Both `unit.ipynb` and `unit/unit_quiz.md` contain answers; only the notebook was graded."
    assert sheet(folder) == UnitSource("unit.ipynb", ("answer_1 = 4",), (remark,), (None,))


def test_the_notebook_is_preferred_to_a_sheet_only_in_the_folder_of_a_unit(folder: Path) -> None:
    filled = SHEET.replace("______", "3")
    write(folder, {"unit/unit_quiz.md": filled})
    write_notebook(folder / "unit" / "unit.ipynb", code("answer_1 = 4"))
    assert sheet(folder).path == "unit/unit.ipynb"
    write(folder, {"unit_quiz.md": filled})
    assert sheet(folder).path == "unit_quiz.md"


def test_a_notebook_without_cells_for_the_quiz_is_reported(folder: Path) -> None:
    write_notebook(folder / "unit.ipynb", code(ANSWER))
    assert sheet_problem(folder) == (
        "unit.ipynb has no cells like `answer_1 = ...`, and unit_quiz.md is missing: answer the quiz in one of the two."
    )


def test_an_unreadable_notebook_is_reported_for_the_quiz_as_well(folder: Path) -> None:
    write(folder, {"unit.ipynb": "no notebook"})
    assert sheet_problem(folder).startswith("unit.ipynb is not a notebook (it is not JSON)")


def test_a_link_in_place_of_a_sheet_is_not_followed(folder: Path) -> None:
    write(folder.parent, {"other.md": SHEET})
    (folder / "unit_quiz.md").symlink_to(folder.parent / "other.md")
    assert sheet_problem(folder) == "unit_quiz.md is a symbolic link: put the file itself there."


def test_a_sheet_of_more_than_a_quarter_of_a_megabyte_is_not_read(folder: Path) -> None:
    (folder / "unit_quiz.md").write_text("x" * (SHEET_LIMIT + 2048))
    assert sheet_problem(folder) == "unit_quiz.md is 258 KB; at most 256 KB are read: hand in the sheet alone."


# The commit


def git(folder: Path, *arguments: str) -> str:
    identity = ["-c", "user.name=Ada", "-c", "user.email=ada@example.org", "-c", "commit.gpgsign=false"]
    command = ["git", "-C", str(folder), *identity, *arguments]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout.strip()


@pytest.mark.skipif(shutil.which("git") is None, reason="git is not installed")
def test_the_commit_is_read_from_a_branch_from_packed_references_and_from_a_detached_head(folder: Path) -> None:
    def assert_is_read() -> None:
        assert read(folder).commit == git(folder, "rev-parse", "HEAD")

    git(folder, "init", "--quiet", "--initial-branch=topic/attention")
    git(folder, "commit", "--quiet", "--allow-empty", "--message=first")
    assert_is_read()
    git(folder, "pack-refs", "--all")
    assert not (folder / ".git/refs/heads/topic/attention").exists()
    assert_is_read()
    git(folder, "commit", "--quiet", "--allow-empty", "--message=moves the reference after packing")
    assert_is_read()
    git(folder, "checkout", "--quiet", "--detach")
    assert_is_read()


def test_a_longer_hash_is_a_commit_too(folder: Path) -> None:
    write(folder, {".git/HEAD": "ab" * 32 + "\n"})
    assert read(folder).commit == "ab" * 32


def test_a_repository_without_a_commit_has_none(folder: Path) -> None:
    write(folder, {".git/HEAD": "ref: refs/heads/main\n"})
    assert read(folder).commit is None


def test_without_git_there_is_no_commit(folder: Path) -> None:
    assert read(folder).commit is None


@pytest.mark.parametrize(
    "head",
    [
        "",
        "abc",
        "a" * 41,
        "A" * 40,
        "a" * 40 + "\nx",
        "ref: ../../../outside",
        "ref: refs/../../../outside",
        "ref: refs//outside",
        "ref: refs/heads/ma in",
    ],
)
def test_a_malformed_head_is_not_a_commit(folder: Path, head: str) -> None:
    write(folder.parent, {"outside": "a" * 40})
    write(folder, {".git/refs/heads/ma in": "a" * 40})
    write(folder, {".git/refs/outside": "a" * 40})
    write(folder, {".git/HEAD": head})
    assert read(folder).commit is None


def test_a_reference_that_is_a_link_is_not_followed(folder: Path) -> None:
    write(folder.parent, {"outside": "a" * 40})
    write(folder, {".git/HEAD": "ref: refs/main"})
    (folder / ".git" / "refs").mkdir()
    (folder / ".git" / "refs" / "main").symlink_to("../../../outside")
    assert read(folder).commit is None
