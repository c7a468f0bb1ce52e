"""What a student hands in where an answer is missing is named, with what to do; it is never nothing."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from downloads import Content, tarred, write, zipped
from notebooks import code

from grader.submissions.contents import another_unit
from grader.submissions.reader import read_submission
from grader.submissions.submission import Submission

STUB, OTHER_STUB = ("def add(a, b):\n    ...\n", "def scale(x):\n    ...\n\n\ndef shift(x):\n    ...\n")
ANSWER, OTHER = (
    "def add(a, b):\n    return a + b\n",
    "def scale(x):\n    return 2 * x\n\n\ndef shift(x):\n    return x + 1\n",
)
SHEET = "---\nquiz: {}\n---\n\n# Quiz\n\n## 1. Sums\n\nAnswer: ______\n"
FILLED = SHEET.replace("______", "3")
NOTEBOOK = json.dumps({"cells": [code(OTHER)], "nbformat": 4})
PDF, PICTURE = b"%PDF-1.7\n", b"\x89PNG\r\n\x1a\n"
WORD = zipped({"[Content_Types].xml": "", "word/document.xml": ""})
HAND_IN = "hand in sums.py or sums.ipynb."
NO_FILE_OF_OURS = f"is not a script, a notebook or a sheet of the course: {HAND_IN}"
ANOTHER_UNIT = "is the answer to another unit"
ANOTHER = f"{ANOTHER_UNIT}: {HAND_IN}"


@pytest.fixture
def stubs(tmp_path: Path) -> Path:
    files = {"sums.py": STUB, "scales.py": OTHER_STUB, "sums_quiz.md": SHEET.format("sums"), "test_sums.py": "# test\n"}
    files |= {"scales_quiz.md": SHEET.format("scales"), "README.md": "The course.\n"}
    return write(tmp_path / "course" / "exercises", files)


def read(stubs: Path, tree: dict[str, Content], only: str | None = "sums") -> Submission:
    folder = write(stubs.parent.parent / "ada", tree)
    units = ["sums"] if only else ["sums", "scales"]
    return read_submission("ada", folder, units, stubs, ["sums", "scales"], units, only)


# What is handed in, and the sentence on the unit sums.
WRONG: dict[str, tuple[dict[str, Content], str]] = {
    "the script of another unit": ({"scales.py": OTHER}, f"scales.py {ANOTHER}"),
    "its notebook": ({"scales.ipynb": NOTEBOOK}, f"scales.ipynb {ANOTHER}"),
    "its script under another name": ({"homework.py": OTHER}, f"homework.py {ANOTHER}"),
    "its notebook under another name": ({"Week 1.ipynb": NOTEBOOK}, f"'Week 1.ipynb' {ANOTHER}"),
    "its script in a zip": ({"hw.zip": zipped({"scales.py": OTHER})}, f"'hw.zip/scales.py' {ANOTHER}"),
    "its quiz": ({"scales_quiz.md": FILLED.format("scales")}, f"scales_quiz.md is the quiz of another unit: {HAND_IN}"),
    "its quiz under another name": (
        {"answers.txt": FILLED.format("scales")},
        f"answers.txt is the quiz of another unit: {HAND_IN}",
    ),
    "a PDF document": ({"homework.pdf": PDF}, f"homework.pdf is a PDF document: {HAND_IN}"),
    "a document of Word": (
        {"homework.docx": WORD},
        f"homework.docx is a document of Word or another Office program: {HAND_IN}",
    ),
    "a picture": ({"photo.png": PICTURE}, f"photo.png is a picture: {HAND_IN}"),
    "a rar archive": (
        {"hw.rar": b"Rar!\x1a\7"},
        "hw.rar is a rar archive, which is not read: hand in a zip, or the files themselves.",
    ),
    "a README": ({"README.md": "Done.\n"}, f"README.md {NO_FILE_OF_OURS}"),
    "a text": ({"notes.txt": "Done.\n"}, f"notes.txt {NO_FILE_OF_OURS}"),
    "a file without a suffix": ({"homework": "Done.\n"}, f"homework {NO_FILE_OF_OURS}"),
    "other bytes": ({"weights.bin": b"\x80\x81\x82"}, f"weights.bin is not a text: {HAND_IN}"),
    "an empty file": ({"notes.txt": ""}, f"notes.txt is empty: {HAND_IN}"),
    "a link to a web page": (
        {"homework.url": "[InternetShortcut]\nURL=https://example.org\n"},
        f"homework.url is a link and not the file itself: {HAND_IN}",
    ),
    "a link to a document": ({"sums.gdoc": "{}"}, f"sums.gdoc is a link and not the file itself: {HAND_IN}"),
    "text that was typed": (
        {"onlinetext.html": f"<p>{ANSWER}"},
        f"onlinetext.html is text that was typed on the learning platform: {HAND_IN}",
    ),
    "a web page": (
        {"page.html": "<html>"},
        f"page.html is a web page (HTML), such as an export or a page that shows the file: {HAND_IN}",
    ),
    "copies of Jupyter": (
        {".ipynb_checkpoints/sums-checkpoint.ipynb": "{}"},
        f".ipynb_checkpoints is hidden, or a copy that a program made: {HAND_IN}",
    ),
    "a hidden file": ({".sums.py": ANSWER}, f".sums.py is hidden, or a copy that a program made: {HAND_IN}"),
    "copies of a Mac": ({"__MACOSX/._sums.py": ""}, f"__MACOSX is hidden, or a copy that a program made: {HAND_IN}"),
    "an archive of nothing": (
        {"hw.zip": zipped({"__MACOSX/._sums.py": ""})},
        f"hw.zip holds no file that is read: {HAND_IN}",
    ),
    "several": (
        {"a.pdf": PDF, "b.png": PICTURE, "c.txt": "", "d.txt": "", "e.txt": ""},
        f"a.pdf is a PDF document, b.png is a picture and c.txt is empty (and 2 more): {HAND_IN}",
    ),
    "two scripts without an exercise": (
        {"a.py": "x = 1\n", "b.py": "x = 2\n"},
        f"a.py defines none of its exercises and b.py defines none of its exercises: {HAND_IN}",
    ),
    "another unit's code under the right name": (
        {"sums.py": OTHER},
        "sums.py is the answer to another unit: hand in your answer to sums.",
    ),
    "an empty file of the right name": ({"sums.py": ""}, "sums.py is empty: write your answers there and save it."),
    "an archive of the right name": (
        {"sums.py": zipped({"sums.py": ANSWER})},
        "sums.py is a zip archive: hand in the script or the notebook itself.",
    ),
}


@pytest.mark.parametrize("name", WRONG)
def test_a_file_that_is_no_answer_is_named_with_what_to_do(name: str, stubs: Path) -> None:
    tree, sentence = WRONG[name]
    submission = read(stubs, tree)
    assert submission.units["sums"].problem == sentence
    assert submission.handed_in
    in_place = {"sums.py"}  # a file in the place of the answer is no ignored one
    if tree.keys().isdisjoint(in_place):
        assert all(one.advice and one.reason for one in submission.ignored)
        first = sentence.partition(" is ")[0].partition(" holds ")[0].partition(" defines ")[0].strip("'")
        assert submission.ignored[0].path == first


@pytest.mark.parametrize(
    "tree",
    [
        {},
        {".git/HEAD": "", ".DS_Store": ""},
        {"README.md": "The course.\n", "test_sums.py": "# test\r\n"},
        {"scales.py": OTHER_STUB, "scales_quiz.md": SHEET.format("scales")},
        {"copy/scales.py": OTHER_STUB, "sheet.txt": SHEET.format("sums")},
        {"solutions/scales.py": f"# Published solutions: scales\n{OTHER}"},
        {"requirements.txt": "torch\n", "course/machine.py": "", "timestamp.txt": "2026-11-28"},
    ],
)
def test_no_file_and_the_courses_own_files_are_nothing_handed_in(stubs: Path, tree: dict[str, Content]) -> None:
    submission = read(stubs, tree)
    assert submission.units["sums"].problem.startswith("sums.py is missing: hand it in")
    assert not [one for one in submission.ignored if one.instead_of]


@pytest.mark.parametrize(
    ("tree", "sentence"),
    [
        ({"answers.pdf": PDF, "README.md": "A newer one.\n"}, "answers.pdf is a PDF document: {}"),
        ({"answers.pdf": PDF, "sums_quiz.md": FILLED.format("sums")}, "answers.pdf is a PDF document: {}"),
        ({"scales.py": OTHER, "scales_quiz.md": FILLED.format("scales")}, f"scales.py {ANOTHER_UNIT}: {{}}"),
        ({"hw.zip": zipped({"scales.py": OTHER})}, f"'hw.zip/scales.py' {ANOTHER_UNIT}: {{}}"),
    ],
)
def test_what_lies_beside_an_untouched_file_is_named(stubs: Path, tree: dict[str, Content], sentence: str) -> None:
    submission = read(stubs, {"sums.py": STUB, **tree})
    assert submission.handed_in
    advice = "write your answers into sums.py"
    assert submission.sources["sums"].remarks == (sentence.format(f"{advice}."),)
    assert advice in [one.advice for one in submission.ignored]


@pytest.mark.parametrize("tree", [{"hw.rar": b"Rar!\x1a\x07\x00"}, {"hw.py": ANSWER, "hw 2.py": f"{ANSWER}more = 1\n"}])
def test_what_cannot_be_used_beside_an_untouched_file_was_handed_in(stubs: Path, tree: dict[str, Content]) -> None:
    submission = read(stubs, {"sums.py": STUB, **tree})
    assert submission.handed_in
    assert len(submission.sources["sums"].remarks) == 1


@pytest.mark.parametrize("name", ["quiz.pdf", "answers.pdf"])
def test_a_document_beside_a_blank_sheet_is_named(stubs: Path, name: str) -> None:
    quiz = read(stubs, {"sums.py": ANSWER, "sums_quiz.md": SHEET.format("sums"), name: PDF}).units["sums"].quiz
    assert quiz
    assert quiz.remarks == (f"{name} is a PDF document: write your answers into sums_quiz.md.",)


def test_an_untouched_course_folder_with_an_answer_to_another_unit_needs_no_sentence(stubs: Path) -> None:
    tree: dict[str, Content] = {"sums.py": STUB, "scales.py": OTHER, "test_sums.py": "# test\n"}
    assert read(stubs, tree).sources["sums"].remarks == ()


def test_a_file_in_the_folder_of_its_own_unit_was_handed_in_for_that_one(stubs: Path) -> None:
    submission = read(stubs, {"scales/scales.py": OTHER})
    assert submission.units["sums"].problem.startswith("sums.py is missing")
    assert [(one.path, one.instead_of, one.unit) for one in submission.ignored] == [
        ("scales/scales.py", "sums", "scales")
    ]


def test_the_quiz_of_another_unit_beside_the_right_code_is_named(stubs: Path) -> None:
    unit = read(stubs, {"sums.py": ANSWER, "scales_quiz.md": FILLED.format("scales")}).units["sums"]
    assert unit.code
    assert unit.quiz_problem == "scales_quiz.md is the quiz of another unit: hand in sums_quiz.md."


@pytest.mark.parametrize("name", ["my quiz.docx", "answers.docx"])
def test_a_document_that_is_called_a_quiz_is_named_where_the_sheet_is_missing(stubs: Path, name: str) -> None:
    unit = read(stubs, {"sums.py": ANSWER, name: WORD, "report.pdf": PDF}).units["sums"]
    assert unit.quiz_problem.endswith(" is a document of Word or another Office program: hand in sums_quiz.md.")


def test_if_all_units_are_graded_a_file_that_fits_none_is_named_once(stubs: Path) -> None:
    submission = read(stubs, {"homework.pdf": PDF}, only=None)
    assert [one.problem for one in submission.units.values()] == [
        "homework.pdf is a PDF document: hand in the file of each unit, such as sums.py.",
        "scales.py is missing: hand it in, or scales.ipynb, in the folder itself, in exercises/ or in scales/.",
    ]
    write(stubs.parent.parent / "ada", {"scales.py": OTHER})
    assert read(stubs, {}, only=None).units["sums"].problem.startswith("sums.py is missing")


def test_of_several_files_those_that_define_an_exercise_count(stubs: Path) -> None:
    submission = read(stubs, {"week 1.py": ANSWER, "week 2.py": OTHER, "plot.py": "x = 1\n", "notes.md": "Done.\n"})
    assert submission.sources["sums"].cells == (ANSWER,)
    assert submission.sources["sums"].remarks == ("'week 1.py' was graded as sums.py: rename it to sums.py.",)


@pytest.mark.parametrize("name", ["sums", "homework.txt", "homework"])
def test_code_in_a_text_file_of_any_name_is_read(stubs: Path, name: str) -> None:
    source = read(stubs, {name: ANSWER}).sources["sums"]
    assert (source.cells, source.remarks) == ((ANSWER,), (f"{name!r} was graded as sums.py: rename it to sums.py.",))


def test_a_file_with_two_units_is_the_answer_to_the_one_that_is_graded(stubs: Path) -> None:
    assert read(stubs, {"homework.py": OTHER + ANSWER}).sources["sums"].cells == (OTHER + ANSWER,)


# The sheets of quizzes under other names

SUMS = FILLED.format("sums")


@pytest.mark.parametrize(
    "name",
    [
        "quiz.md",
        "answers (2).md",
        "unit1.txt",
        "Sums Quiz final.md",
        "sheet",
        "scales_quiz.md",
        "my/quiz.markdown",
        "quiz.rst",
        "q.py",
    ],
)
@pytest.mark.parametrize("only", ["sums", None])
def test_a_sheet_is_read_under_any_name_if_it_says_which_quiz_it_is(stubs: Path, name: str, only: str | None) -> None:
    unit = read(stubs, {"sums.py": ANSWER, name: SUMS}, only).units["sums"]
    assert unit.quiz
    assert unit.quiz.cells == (SUMS,)
    assert unit.quiz.remarks == (f"{name!r} was graded as sums_quiz.md: rename it to sums_quiz.md.",)


def test_a_sheet_without_these_lines_is_known_by_its_title(stubs: Path) -> None:
    for name in ("sums", "scales"):
        write(stubs, {f"{name}_quiz.md": SHEET.format(name).replace("# Quiz", f"# Quiz on {name}")})
    text = SUMS.replace("# Quiz", "# Quiz on sums").partition("---\n\n")[2]
    unit = read(stubs, {"sums.py": ANSWER, "quiz.md": text}).units["sums"]
    assert unit.quiz
    assert unit.quiz.cells == (text,)


@pytest.mark.parametrize(
    "front", ["\ufeff---\r\nquiz: sums\r\n---\r\n", "## quiz: sums variant: 3\n", "Quiz: 'sums'\n"]
)
def test_the_line_that_names_the_quiz_may_have_been_formatted(stubs: Path, front: str) -> None:
    unit = read(stubs, {"sums.py": ANSWER, "quiz.md": front + "\n# Quiz\n\n## 1. Sums\n\nAnswer: 3\n"}).units["sums"]
    assert unit.quiz


def test_two_sheets_under_other_names_are_both_named(stubs: Path) -> None:
    tree: dict[str, Content] = {"sums.py": ANSWER, "quiz.md": SUMS, "Sums quiz.md": SUMS.replace("3", "4")}
    assert read(stubs, tree).units["sums"].quiz_problem == (
        "sums_quiz.md is missing, and 'Sums quiz.md' and 'quiz.md' may each be your sums_quiz.md: hand in one of them "
        "under that name."
    )
    assert read(stubs, {**tree, "Sums quiz.md": SUMS}).units["sums"].quiz  # two copies


def test_a_filled_sheet_under_another_name_counts_beside_a_blank_one(stubs: Path) -> None:
    unit = read(stubs, {"sums_quiz.md": SHEET.format("sums"), "hw.tgz": tarred({"quiz.md": SUMS})}).units["sums"]
    assert unit.quiz
    assert unit.quiz.cells == (SUMS,)


def test_a_sheet_is_no_code_even_if_it_is_named_like_the_unit(stubs: Path) -> None:
    unit = read(stubs, {"sums.md": SUMS + "\n```python\ndef add(a, b): ...\n```\n"}).units["sums"]
    assert unit.code is None
    assert unit.quiz


# A download of another unit


def test_most_submissions_must_hold_the_same_other_unit() -> None:
    found = {"scales": {"ada", "bo"}, "sizes": {"cy"}, "": {"dee"}}
    assert another_unit(found, "sums", 4, 0) == ""
    assert another_unit(found, "sums", 3, 0) == (
        "2 of 3 submissions hold scales and none sums: grade with --unit scales?"
    )
    assert another_unit({}, "sums", 0, 0) == ""
