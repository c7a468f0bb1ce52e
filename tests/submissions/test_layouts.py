"""The submissions of a download and their students are found, and everything ignored is listed."""

from __future__ import annotations

import datetime
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from downloads import Content, tarred, write, zipped
from notebooks import code, write_notebook

from grader.submissions.find import find_submissions
from grader.submissions.reader import read_submission
from grader.submissions.submission import Submission, SubmissionError
from grader.submissions.tree import Files, Ignored

STUB = "def f(x):\n    raise NotImplementedError()\n"
A, B, C = (f"def f(x):\n    return {n} * x\n" for n in (2, 3, 4))
UNITS = ["self_attention", "causal_attention"]
UNIT = "self_attention.py"
MISSING = f"{UNIT} is missing: hand it in"
JANE = "Jane Doe_4711_assignsubmission_file_"
ZOE = "Zoë O'Brien-Müller_4712_assignsubmission_file_"
METADATA = """\
submission_101:
  :submitters:
  - :name: Jane Doe
    :sid: '1'
    :email: jane@example.org
  :created_at: 2026-11-22 10:00:00 Z
submission_102:
  :submitters:
  - :name: Søren Å
  - :name: 'Ed "Ned" O''Hara'
"""


@pytest.fixture(autouse=True)
def stubs(tmp_path: Path) -> Path:
    """The course's own files, which every repository contains."""
    return write(tmp_path / "course" / "exercises", {UNIT: STUB, "checks/test_self_attention.py": "", "README.md": ""})


def read(stubs: Path, student: str, source: object, units: list[str] = UNITS) -> Submission:
    return read_submission(student, source, units[:1], stubs, units, only=units[0])  # type: ignore[arg-type]


def text_of(stubs: Path, student: str, source: object) -> str:
    """The code of a student's first unit that is graded, or why none is."""
    submission = read(stubs, student, source)
    unit = submission.units["self_attention"]
    return unit.code.cells[0] if unit.code else unit.problem


NOTEBOOK = '{"cells": [{"cell_type": "code", "source": "def f(x): return x"}]}'
REPOSITORY = {f"exercises/{UNIT}": A, "exercises/checks/test_self_attention.py": "", "README.md": ""}


def below(name: str, tree: Mapping[str, Content]) -> dict[str, Content]:
    return {f"{name}/{path}": content for path, content in tree.items()}


# The download (a folder or an archive), its layout, and the code or problem of each student's first unit.
DOWNLOADS: dict[str, tuple[str, Mapping[str, Content] | bytes, str, dict[str, str]]] = {
    "folders with names as people have them": (
        "class",
        {f"Zoë O’Brien/{UNIT}": A, f"Łukasz Groß/{UNIT}": B},
        "folders",
        {"Zoe-OBrien": A, "Lukasz-Gross": B},
    ),
    "nbgrader's submitted": (
        "submitted",
        {"ada/self_attention/self_attention.ipynb": NOTEBOOK, "eve/self_attention/": ""},
        "folders",
        {"ada": "def f(x): return x", "eve": MISSING},
    ),
    "moodle, as the zip that it is": (
        "class.zip",
        zipped({f"{JANE}/{UNIT}": A, f"{ZOE}/{UNIT}": B}),
        "moodle",
        {"Jane-Doe_4711": A, "Zoe-OBrien-Muller_4712": B},
    ),
    "moodle without the last underscore, and in another script": (
        "class",
        {f"Jane Doe_1_assignsubmission_file/{UNIT}": A, f"李小龙_2_assignsubmission_file/{UNIT}": B},
        "moodle",
        {"Jane-Doe_1": A, "student_2": B},
    ),
    "moodle, blind, with files instead of folders": (
        "class",
        {
            "Participant_7_assignsubmission_file_self_attention.py": A,
            "Participant_8_assignsubmission_file_hw.zip": zipped(REPOSITORY),
            "Participant_8_assignsubmission_file_notes.txt": "",
        },
        "moodle",
        {"Participant_7": A, "Participant_8": A},
    ),
    "canvas's files, in a folder around them in a zip": (
        "class.zip",
        zipped({f"submissions/doe_11_901_{UNIT}": A, f"submissions/roe_LATE_12_902_{UNIT}": B}),
        "canvas",
        {"doe_11": A, "roe_12": B},
    ),
    "canvas, anonymous, with one marked as late": (
        "class",
        {
            "anon_ab1Cd_901_self_attention.py": A,
            "LATE_anon_12345_902_self_attention.py": B,
            "anon_xYz99_903_hw.zip": zipped(REPOSITORY),
            "anon_qq7Rs_text.html": "",
        },
        "canvas",
        {"anon_ab1Cd": A, "anon_12345": B, "anon_xYz99": A, "anon_qq7Rs": "text.html is text that was typed"},
    ),
    "moodle, with a file that its student has named like one of another student": (
        "class",
        {
            "Jane Doe_1_assignsubmission_file_self_attention.py": A,
            "Jane Doe_1_assignsubmission_file_Al Gore_2_assignsubmission_file_self_attention.py": B,
        },
        "moodle",
        {"Jane-Doe_1": A},
    ),
    "moodle, with archives within": (
        "class.zip",
        zipped(
            {
                f"{JANE}/hw.zip": zipped(below("attention-main", REPOSITORY)),
                f"{ZOE}/hw.tar.gz": tarred({f"submission/{UNIT}": B}),
            }
        ),
        "moodle",
        {"Jane-Doe_4711": A, "Zoe-OBrien-Muller_4712": B},
    ),
    "moodle, with online texts": (
        "class",
        {
            f"{JANE}/{UNIT}": A,
            "Jane Doe_4711_assignsubmission_onlinetext_/onlinetext.html": "<p>",
            "Al_1_assignsubmission_onlinetext_/onlinetext.html": "",
        },
        "moodle",
        {"Jane-Doe_4711": A, "Al_1": "'onlinetext/onlinetext.html' is text that was typed on the learning platform"},
    ),
    "canvas, flat": (
        "submissions",
        {
            "doejane_11_901_self_attention.py": A,
            "obrienzoe_LATE_12_902_self_attention-1.py": B,
            "obrienzoe_LATE_12_902_causal_attention.py": C,
        },
        "canvas",
        {"doejane_11": A, "obrienzoe_12": B},
    ),
    "canvas, as a zip, the newer upload counts": (
        "submissions.zip",
        zipped(
            {
                "doejane_11_903_self_attention-2.py": B,
                "doejane_11_901_self_attention-1.py": A,
                "müller_12_904_Self+Attention.ipynb": NOTEBOOK,
            }
        ),
        "canvas",
        {"doejane_11": B, "muller_12": "def f(x): return x"},
    ),
    "gradescope, as the zip that it is": (
        "export.zip",
        zipped(
            below(
                "assignment_55_export",
                {f"submission_101/{UNIT}": A, f"submission_102/src/{UNIT}": B, "submission_metadata.yml": METADATA},
            )
        ),
        "gradescope",
        {"Jane-Doe_101": A, "Soren-A_102": B, "Ed-Ned-OHara_102": B},
    ),
    "gradescope without its metadata": ("export", {f"submission_101/{UNIT}": A}, "folders", {"submission_101": A}),
    "github's zip": (
        "attention-main.zip",
        zipped(below("attention-main", REPOSITORY)),
        "single",
        {"attention-main": A},
    ),
    "github's zip under another name": ("ada.zip", zipped(below("attention-main", REPOSITORY)), "single", {"ada": A}),
    "a folder of github's zips": (
        "class",
        {
            "ada.zip": zipped(below("attention-main", REPOSITORY)),
            "eve.zip": zipped(below("attention-main", {**REPOSITORY, f"exercises/{UNIT}": B})),
        },
        "folders",
        {"ada": A, "eve": B},
    ),
    "tars of every kind": (
        "class",
        {
            "ada.tar": tarred({UNIT: A}, ""),
            "eve.tgz": tarred({UNIT: B}),
            "joe.tar.bz2": tarred({UNIT: C}, "bz2"),
            "liz.tar.xz": tarred({f"./{UNIT}": A}, "xz"),
        },
        "folders",
        {"ada": A, "eve": B, "joe": C, "liz": A},
    ),
    "zips made on windows and on macs": (
        "class",
        {
            "ada.zip": zipped({"hw\\self_attention.py": A}),
            "eve.zip": zipped({f"hw/{UNIT}": B, "__MACOSX/hw/._self_attention.py": "\0", "hw/.DS_Store": "\0"}),
        },
        "folders",
        {"ada": A, "eve": B},
    ),
    "units, then students": (
        "collected",
        {
            f"self_attention/ada/{UNIT}": A,
            "causal_attention/ada/causal_attention.py": C,
            f"self_attention/eve/exercises/{UNIT}": B,
            "causal_attention/joe.zip": zipped({"causal_attention.py": C}),
        },
        "units",
        {"ada": A, "eve": B, "joe": MISSING},
    ),
    "one folder down": (
        "class",
        {f"ada/submission/{UNIT}": A, f"eve/src/{UNIT}": B, f"joe/my homework/final/{UNIT}": C},
        "folders",
        {"ada": A, "eve": B, "joe": C},
    ),
    "one submission, one folder down": ("ada", {f"submission/{UNIT}": A, "notes.txt": ""}, "single", {"ada": A}),
    "a class one folder down": (
        "download",
        {f"hw1/ada/{UNIT}": A, f"hw1/eve/submission/{UNIT}": B, "read me.txt": ""},
        "folders",
        {"ada": A, "eve": B},
    ),
    "near misses": (
        "class",
        {
            "ada/Self_Attention.py": A,
            "eve/self_attention (1).py": B,
            "joe/self_attention.py.txt": C,
            "liz/hw1 Self-Attention final.ipynb": NOTEBOOK,
        },
        "folders",
        {"ada": A, "eve": B, "joe": C, "liz": "def f(x): return x"},
    ),
    "the untouched repository in a folder, and the work beside it": (
        "class",
        {**below("ada/attention-main/exercises", {UNIT: STUB}), "ada/self_attention (1).py": A, "eve/": ""},
        "folders",
        {"ada": A, "eve": MISSING},
    ),
    "a roster for what no rule fits": (
        "class",
        {f"李/{UNIT}": A, f"group 7/{UNIT}": B, f"eve/{UNIT}": C},
        "folders",
        {"li": A, "ada": B, "bo": B, "eve": C},
    ),
    "two that might be it": (
        "class",
        {f"ada/v1/{UNIT}": A, f"ada/v2/{UNIT}": B, f"eve/{UNIT}": B},
        "folders",
        {"ada": f"{UNIT} is missing, and 'v1/self_attention.py' and 'v2/self_attention.py' may each be", "eve": B},
    ),
    "archives that cannot be read": (
        "class",
        {
            "ada.zip": zipped({UNIT: A}, flags=1),
            "eve.zip": zipped({UNIT: A})[:-30],
            "joe.rar": b"Rar!",
            "liz.tar.gz": tarred({UNIT: A})[:-20],
            "max.zip": zipped({UNIT: A}),
        },
        "folders",
        {
            "ada": "is locked with a password",
            "eve": "eve.zip is not a zip",
            "joe": "joe.rar is a rar archive, which is not read: hand in a zip, or the files themselves.",
            "liz": "liz.tar.gz is not a zip",
            "max": A,
        },
    ),
}


# The roster of each download that has one.
ROSTERS = {"a roster for what no rule fits": {"李": ["li"], "group 7": ["ada", "bo"]}}


def submissions_in(*arguments: Any, **options: Any) -> list[tuple[str, Path | Files]]:
    return [(one.student, one.tree) for one in find_submissions(*arguments, **options).found]


@pytest.mark.parametrize("name", DOWNLOADS)
def test_a_download_is_read_without_changes(name: str, tmp_path: Path, stubs: Path) -> None:
    path, content, layout, expected = DOWNLOADS[name]
    found = find_submissions([write(tmp_path / path, content)], UNITS, folders=ROSTERS.get(name, {}))
    assert found.layouts == [layout]
    assert found.problems == []
    came = {student: text_of(stubs, student, source) for student, source, *_ in found.found}
    assert came.keys() == expected.keys()
    for student, text in expected.items():
        assert text == came[student] or (not text.startswith("def") and text in came[student]), came[student]


# Downloads that fit several layouts or none, and the students that each layout finds.
AMBIGUOUS: dict[str, tuple[str, Mapping[str, Content] | bytes, str, dict[str, list[str]]]] = {
    "moodle's folders and others": (
        "class",
        {f"{JANE}/{UNIT}": A, f"eve/{UNIT}": B},
        "fits no layout as a whole: moodle fits 1 of 2, and not 'eve'; folders fits 1 of 2, and not 'Jane Doe_4711",
        {"moodle": ["Jane-Doe_4711"], "folders": ["eve"]},
    ),
    "a submission among submissions": (
        "class",
        {UNIT: A, f"ada/{UNIT}": A, f"eve/{UNIT}": B},
        "fits more than one layout, single (all of it is one submission) and folders (",
        {"single": ["class"], "folders": ["ada", "eve"]},
    ),
    "an answer among canvas's files": (
        "class",
        {UNIT: A, "doe_1_2_self_attention.py": A, "roe_2_3_self_attention.py": A},
        "fits more than one layout, single (all of it is one submission) and canvas (",
        {"single": ["class"], "canvas": ["doe_1", "roe_2"]},
    ),
    "an answer among wrapped submissions": (
        "class",
        {UNIT: A, f"ada/submission/{UNIT}": A, "eve.zip": zipped({UNIT: B})},
        "fits more than one layout, single (all of it is one submission) and folders (",
        {"single": ["class"], "folders": ["ada", "eve"]},
    ),
    "an archive with one folder": (
        "hw1.zip",
        zipped({f"ada/{UNIT}": A}),
        "fits more than one layout, single (all of it is one submission) and folders (",
        {"single": ["hw1"], "folders": ["ada"]},
    ),
    "units in units": (
        "class",
        {f"self_attention/causal_attention/{UNIT}": A, "self_attention/causal_attention/causal_attention.py": B},
        "fits more than one layout, units (",
        {"units": ["causal_attention"], "folders": ["self_attention"]},
    ),
}


@pytest.mark.parametrize("name", AMBIGUOUS)
def test_an_unclear_layout_is_refused_until_one_is_named(name: str, tmp_path: Path) -> None:
    path, content, sentence, layouts = AMBIGUOUS[name]
    download = write(tmp_path / path, content)
    with pytest.raises(SubmissionError) as error:
        find_submissions([download], UNITS)
    assert sentence in str(error.value)
    assert "--layout" in str(error.value)
    for layout, students in layouts.items():
        assert [one.student for one in find_submissions([download], UNITS, layout=layout).found] == students


@pytest.mark.parametrize(
    "content", [{f"hw1/ada/{UNIT}": A}, {f"hw1/self_attention/{one}/{UNIT}": A for one in ("ada", "bo")}]
)
def test_whether_a_folder_is_a_class_or_a_submission_is_not_guessed(
    tmp_path: Path, content: dict[str, Content]
) -> None:
    write(tmp_path / "class", content)
    with pytest.raises(SubmissionError, match="a class with the student 'hw1', or hold a class with the student 'ada'"):
        find_submissions([tmp_path / "class"], UNITS)


@pytest.mark.parametrize(
    ("content", "sentence"),
    [
        ({}, "is empty: give the folder of a submission or of a class"),
        ({".git/HEAD": "", "__pycache__/": ""}, "is empty"),
        ({"essay.txt": ""}, "holds none of the course's files"),
        ({"submission_metadata.yml": ""}, "holds no submission"),
        ({"self_attention/": "", "causal_attention/": ""}, "holds no submission"),
        (zipped({}), "is empty"),
        (b"PK no zip", "class.zip is not a zip or tar file, or is damaged"),
    ],
)
def test_an_empty_class_is_an_error(tmp_path: Path, content: dict[str, Content] | bytes, sentence: str) -> None:
    path = write(tmp_path / ("class.zip" if isinstance(content, bytes) else "class"), content)
    with pytest.raises(SubmissionError, match=sentence):
        find_submissions([path], UNITS)


def test_an_unknown_layout_is_refused_with_a_list_of_layouts(tmp_path: Path) -> None:
    with pytest.raises(SubmissionError, match=r"no layout 'modle'.* Did you mean 'moodle'"):
        find_submissions([tmp_path], UNITS, layout="modle")


def test_one_run_names_everything_that_cannot_be_graded_and_grades_the_rest(tmp_path: Path) -> None:
    unit = {"self_attention.py": A}
    names = ("ada", "___", "李", "Bo Li", "Bo-Li", "Eve", "zed")
    path = write(tmp_path / "class", {f"{name}/{UNIT}": A for name in names} | {"eve.zip": zipped(unit)})
    (path / "link").symlink_to(path / "ada")
    found = find_submissions([path], UNITS)
    assert [one.student for one in found.found] == ["ada", "zed"]
    assert [problem.replace(str(path), "").partition(":")[0] for problem in found.problems] == [
        "'/link' is a symbolic link",
        "'/Bo Li' and '/Bo-Li' are both called 'Bo-Li'",
        "'/Eve' and '/eve.zip' are named alike except for case",
        "'/___' cannot be graded under its name",
        "'/李' cannot be graded under its name",
    ]
    assert found.refused.keys() == {"link", "Bo-Li", "Eve", "___", "李"}


def test_a_unit_that_a_student_has_twice_is_not_graded(tmp_path: Path) -> None:
    content = {f"self_attention/{name}/{UNIT}": A for name in ("ada", "eve")}
    path = write(tmp_path / "class", {**content, "self_attention/eve.zip": zipped({UNIT: B})})
    found = find_submissions([path], UNITS)
    assert [one.student for one in found.found] == ["ada"]
    assert "both belong to 'eve': remove one of them." in found.refused["eve"]


def test_a_folder_that_a_roster_names_and_that_is_missing_is_reported(tmp_path: Path) -> None:
    # The last name is as macOS writes it, with an accent as a letter of its own.
    names = ["x", "group 7", "Никола\u0438\u0306"]
    path = write(tmp_path / "class", {f"{name}/{UNIT}": A for name in names})
    roster = {"Group 7": ["ada"], "GROUP 7": ["bo"], "y": ["eve"], "Никола\u0439": ["nik"]}
    found = find_submissions([path], UNITS, folders=roster)
    assert [one.student for one in found.found] == ["ada", "bo", "x", "nik"]
    assert found.unknown == ["y"]


def test_of_two_folders_of_a_student_the_one_that_a_roster_names_counts(tmp_path: Path, stubs: Path) -> None:
    path = write(tmp_path / "class", {f"ada/{UNIT}": A, f"ada 2/{UNIT}": B})
    found = find_submissions([path], UNITS, folders={"ada 2": ["ada"]})
    assert [(one.student, one.is_named, text_of(stubs, "ada", one.tree)) for one in found.found] == [("ada", True, B)]
    assert [str(one) for one in found.ignored] == ["ada (the roster names 'ada 2' for ada)"]


def test_ignored_files_are_listed_with_advice_for_possible_answers(tmp_path: Path, stubs: Path) -> None:
    path = write(
        tmp_path / "class",
        {
            "self_attention (3).py": A,
            "grades.csv": "",
            ".DS_Store": "",
            f"ada/{UNIT}": A,
            "ada/self_attention (1).py": B,
            f"ada/old/{UNIT}": C,
            "ada/hw.zip": b"",
            "ada/exercises/checks/test_self_attention.py": "",
            "ada/exercises/test_self_attention.py": "",  # as in earlier releases
            "ada/exercises/hints.json": "",
            "ada/exercises/pytest.ini": "",
            "ada/README.md": "",
            "ada/exercises/data.bin": "",
            "ada/.git/HEAD": "",
        },
    )
    found = find_submissions([path], UNITS)
    assert [str(one) for one in found.ignored] == [
        "grades.csv",
        "self_attention (3).py (put it into its student's folder)",
    ]
    [(student, source, *_)] = found.found
    assert read(stubs, student, source).ignored == (
        Ignored("old/"),
        Ignored("self_attention (1).py", "rename it to self_attention.py"),
        Ignored("exercises/data.bin"),
        Ignored("hw.zip", "hand in one that can be opened", "not a zip or tar file, or is damaged"),
    )


def test_older_uploads_and_late_marks_of_canvas_are_reported(tmp_path: Path) -> None:
    files = {"doe_LATE_1_20_self_attention-1.py": B, "doe_1_10_self_attention.py": A, "roe_2_30_self_attention.py": A}
    found = find_submissions([write(tmp_path / "class", files)], UNITS)
    assert found.ignored == [
        Ignored("doe_1_10_self_attention.py", reason="an older upload of doe_LATE_1_20_self_attention-1.py")
    ]
    assert [one.student for one in found.found if one.is_late] == ["doe_1"]


def test_a_submission_has_its_place_and_gradescopes_time(tmp_path: Path) -> None:
    files = {f"submission_{number}/{UNIT}": A for number in (101, 102)}
    found = find_submissions([write(tmp_path / "class", {**files, "submission_metadata.yml": METADATA})], UNITS)
    assert [(one.place, one.at) for one in found.found] == [
        (tmp_path / "class" / "submission_101", datetime.datetime(2026, 11, 22, 10, tzinfo=datetime.UTC)),
        *[(tmp_path / "class" / "submission_102", None)] * 2,  # of a group of two
    ]
    named = find_submissions([tmp_path / "class"], UNITS, folders={"submission_101": ["ada"]})
    assert {one.student: one.at for one in named.found}["ada"] == found.found[0].at


@pytest.mark.parametrize(
    "name", ["self_attention.pdf", "self_attention.html", "self_attention.txt", "Self-Attention.docx"]
)
def test_a_folder_with_nothing_but_an_export_of_a_unit_is_one_submission(tmp_path: Path, name: str) -> None:
    found = find_submissions([write(tmp_path / "ada", {name: "%PDF-1.7"})], UNITS)
    assert [(one.student, found.layouts) for one in found.found] == [("ada", ["single"])]


def test_the_only_file_is_graded_under_any_name_if_one_unit_is_graded(tmp_path: Path, stubs: Path) -> None:
    write_notebook(write(tmp_path / "ada", {"exercises/checks/test_self_attention.py": ""}) / "Homework.ipynb", code(A))
    assert read(stubs, "ada", tmp_path / "ada").sources["self_attention"].cells == (A,)
    write(tmp_path / "ada", {"more.py": "import torch\n"})  # defines no exercise
    assert read(stubs, "ada", tmp_path / "ada").sources["self_attention"].cells == (A,)
    write(tmp_path / "ada", {"more.py": B})
    assert text_of(stubs, "ada", tmp_path / "ada") == (
        f"{UNIT} is missing, and 'more.py' and 'Homework.ipynb' may each be your {UNIT}: hand in one of them under "
        "that name."
    )


def test_nothing_is_searched_if_answers_have_the_right_name(
    tmp_path: Path, stubs: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = write(tmp_path / "ada", {UNIT: A, f"old/{UNIT}": B, "causal_attention.py": C})
    monkeypatch.setattr("grader.submissions.contents.walk", lambda _: pytest.fail("all of it is there"))
    assert text_of(stubs, "ada", folder) == A


# The plain layout: a folder for each student, or a single submission


@pytest.mark.parametrize(
    "content",
    [
        {"self_attention.ipynb": "{}", "notes/": ""},
        {"self_attention_quiz.md": "", "notes/": ""},
        {"exercises/": ""},
        *({f"self_attention/{name}": A, "other/": ""} for name in (UNIT, "any (1).ipynb", "self_attention_quiz.md")),
    ],
)
def test_a_folder_with_unit_files_is_one_submission(tmp_path: Path, content: dict[str, Content]) -> None:
    folder = write(tmp_path / "ada", content)
    assert submissions_in([folder], UNITS) == [("ada", folder)]


def test_a_folder_of_folders_is_a_class_in_the_order_of_names(tmp_path: Path) -> None:
    folder = write(tmp_path / "class", {"eve/": "", "ada/": "", ".git/": "", "__pycache__/": ""})
    assert submissions_in([folder], UNITS) == [("ada", folder / "ada"), ("eve", folder / "eve")]


def test_a_student_may_have_the_name_of_a_unit(tmp_path: Path) -> None:
    folder = write(tmp_path / "class", {"self_attention/causal_attention/causal_attention.ipynb": NOTEBOOK})
    assert submissions_in([folder], UNITS) == [("self_attention", folder / "self_attention")]


def test_several_paths_are_graded_in_the_order_given(tmp_path: Path) -> None:
    paths = [write(tmp_path / name, {UNIT: A}) for name in ("eve", "ada")]
    assert submissions_in(paths, UNITS) == [("eve", paths[0]), ("ada", paths[1])]


def test_a_student_may_hand_in_again_in_another_path(tmp_path: Path) -> None:
    paths = [write(tmp_path / f"{day}/ada", {UNIT: A}) for day in ("monday", "friday")]
    assert submissions_in(paths, UNITS) == [("ada", paths[0]), ("ada", paths[1])]


def test_the_current_folder_gives_the_student_its_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(write(tmp_path / "ada", {UNIT: A}))
    assert submissions_in([Path()], UNITS) == [("ada", Path())]


def test_a_path_with_a_named_student_is_one_submission_even_if_it_is_empty(tmp_path: Path) -> None:
    folder = write(tmp_path / "class", {"src/": ""})
    assert submissions_in([folder], UNITS, student="eve") == [("eve", folder)]


@pytest.mark.parametrize("name", ["", "..", "../eve", "eve\n"])
def test_the_name_of_a_student_that_the_user_gives_must_be_valid(tmp_path: Path, name: str) -> None:
    with pytest.raises(SubmissionError, match="rename the folder or name the student"):
        find_submissions([tmp_path], UNITS, student=name)


@pytest.mark.parametrize(
    ("paths", "student", "sentence"),
    [
        (["ada", "."], "eve", "'eve' is named, but 2 paths are given: give exactly one path"),
        ([], None, "nothing to grade"),
        (["gone"], None, "gone' does not exist: give the folder"),
        (["gone.zip"], None, "gone.zip' does not exist: give the folder"),
        (
            ["ada/self_attention.py"],
            None,
            r"self_attention\.py' is not a folder: give the folder that the file lies in",
        ),
        (["link"], None, "link' is a symbolic link: give the folder that it points to"),
        (["link.zip"], None, r"link\.zip is a symbolic link: put the file itself there"),
    ],
)
def test_paths_that_cannot_be_graded_are_errors(
    tmp_path: Path, paths: list[str], student: str | None, sentence: str
) -> None:
    write(tmp_path, {f"ada/{UNIT}": A, "ada.zip": zipped({UNIT: A})})
    (tmp_path / "link").symlink_to(tmp_path / "ada")
    (tmp_path / "link.zip").symlink_to(tmp_path / "ada.zip")
    with pytest.raises(SubmissionError, match=sentence):
        find_submissions([tmp_path / path for path in paths], UNITS, student)
