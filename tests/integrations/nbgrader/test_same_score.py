"""The same answers earn the same as a script, as a notebook, and in nbgrader's gradebook: point by point.

Every answer is handed in two ways: as a script with its sheet (or as the class has it) through `grader grade`, and as
nbgrader's notebook through `nbgrader autograde`.
"""

from __future__ import annotations

import shutil
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import courses
import nbformat
import pytest
from courses import COURSE, REPOSITORY
from example_class import CLASS
from handed_in import as_python, filled_in, is_test, read_notebook, script_of, sheet_of, write_notebook, written_in
from nbgrader.api import Gradebook
from terms import COURSE_ID, run_in_one_process

from grader.audit.cases import completed, definitions_in, needed_by
from grader.quizzes.items import BugItem, ChoiceItem, Item, OrderItem
from grader.quizzes.quiz_source import QuizSource, load_quizzes
from grader.quizzes.sheet import write_sheet
from grader.testing.misconceptions import misconceptions_of

pytestmark = pytest.mark.proof(part="full")

UNITS = COURSE.quizzes  # the capstone has no quiz
QUIZZES = load_quizzes(REPOSITORY / "solutions", UNITS)
ATTACKS = REPOSITORY / "tests" / "attacks"
HOSTILE = {
    "agreeing_tensor": "self_attention",
    "exits_in_calls": "self_attention",
    "lying_modules": "self_attention",
    "memorises": "self_attention",
    "markup_in_messages": "self_attention",
    "patched_comparisons": "self_attention",
    "patched_draws": "bigram_language_model",
    "lying_embedding": "bigram_language_model",
}
STUDENTS = [*CLASS, "right", "paraphrases", "unlisted_mistakes", *HOSTILE]

Earned = dict[str, float | None]
"""Points by unit/exercise and unit/quiz_item."""


# -- the further answers -----------------------------------------------------------------------------------------


def mistaken(path: Path, unit: str, mistakes: Mapping[str, str]) -> str:
    """One mistake of a file in each exercise, as a student's script: what it needs, and then the exercise."""
    names = COURSE.units[unit].exercises
    texts: dict[str, None] = {}
    for exercise in (name for name in names if name in mistakes):
        needed = needed_by(path, mistakes[exercise])
        texts |= dict.fromkeys(text for text in needed if text.partition("(")[0].split()[-1] not in names)
        texts[f"{exercise} = {mistakes[exercise]}"] = None
    return "\n\n\n".join(texts) + "\n"


def right(unit: str) -> str:
    styles = sorted((COURSE.suites / unit / "accepted_answers").glob("[!_]*.py"))
    return completed(COURSE, styles[UNITS.index(unit) % len(styles)], unit)


def paraphrases(unit: str) -> str:
    known = misconceptions_of(COURSE, unit)
    path = COURSE.suites / unit / "paraphrases.py"
    written = definitions_in(path)
    return mistaken(path, unit, {mistake.exercise: mistake.name for mistake in known if mistake.name in written})


def unlisted_mistakes(unit: str) -> str:
    path = COURSE.suites / unit / "unlisted_mistakes.py"
    written = (name for name in definitions_in(path) if "__" in name)
    return mistaken(path, unit, {name.partition("__")[0]: name for name in written})


def hostile(name: str, unit: str) -> str:
    folder = ATTACKS / "submissions" / ("" if unit == "self_attention" else unit)
    honest = (ATTACKS / "honest_parts" / f"{unit}.py").read_text(encoding="utf-8")
    return honest + (folder / f"{name}.py").read_text(encoding="utf-8")


# -- their quizzes -----------------------------------------------------------------------------------------------


def answers_to(quiz: QuizSource, shift: int) -> dict[str, str]:
    """Right, wrong, partly right and unreadable answers in turn, and every fifth one blank."""
    hows = (right_answer, wrong_answer, partly_right_answer, unreadable_answer, None)
    chosen = {name: hows[(number + shift) % len(hows)] for number, name in enumerate(quiz.items)}
    return {name: how(quiz.items[name]) for name, how in chosen.items() if how}


def right_answer(item: Item) -> str:
    match item:
        case ChoiceItem():
            return " ".join(letter for letter, choice in item.options().items() if choice.right)
        case BugItem():
            return next(letter for letter, line in item.options().items() if line.right)
        case OrderItem():
            return item.answer
        case _:
            answer = item.row(0)["answer"]
            return str(tuple(answer) if isinstance(answer, list) else answer)


def wrong_answer(item: Item) -> str:
    match item:
        case ChoiceItem() | BugItem():
            return next(letter for letter in item.options() if letter not in right_answer(item))
        case OrderItem():
            return item.answer[::-1]
        case _:
            return {"number": "-12345.5", "shape": "(97, 89)"}[item.kind]


def partly_right_answer(item: Item) -> str:
    match item:
        case ChoiceItem(kind="several_choices"):
            return right_answer(item)[0]
        case OrderItem():
            *first, last_but_one, last = item.answer.split()
            return " ".join([*first, last, last_but_one])
        case _:
            return right_answer(item)


def unreadable_answer(item: Item) -> str:
    match item:
        case ChoiceItem(kind="several_choices"):
            return ""  # of boxes, any will do
        case ChoiceItem() | BugItem():
            return "a b"
        case _:
            return "as in the book"


# -- handing in, and grading -------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Graded:
    """The scores of the scripts, those of the notebooks in the gradebook, and nbgrader's course."""

    scripts: dict[str, Earned]
    gradebook: dict[str, Earned]
    course: Path


def write_class(folder: Path, example_class: Path) -> Path:
    """The example class and the further answers, with every sheet rewritten for variant 0, which notebooks ask."""
    shutil.copytree(example_class, folder)
    for unit in UNITS:
        further = {
            "right": right(unit),
            "paraphrases": paraphrases(unit),
            "unlisted_mistakes": unlisted_mistakes(unit),
        }
        further |= {name: hostile(name, unit) for name, attacked in HOSTILE.items() if attacked == unit}
        questions = QUIZZES[unit].questions
        for student, text in further.items():
            (folder / student).mkdir(exist_ok=True)
            (folder / student / f"{unit}.py").write_text(text, encoding="utf-8")
            sheet = write_sheet(questions, None, answers_to(QUIZZES[unit], STUDENTS.index(student)))
            (folder / student / questions.filename).write_text(sheet, encoding="utf-8")
        for student in CLASS:
            if path := sheet_of(folder / student, questions):
                path.write_text(write_sheet(questions, None, written_in(path, questions)), encoding="utf-8")
    # Each student of the class hands in every second unit, so each unit has four of them.
    for number, student in enumerate(CLASS):
        for unit in UNITS[1 - number % 2 :: 2]:
            for path in [path for path in (folder / student).rglob(f"{unit}*") if not path.is_dir()]:
                path.unlink()
    return folder


def hand_in_notebooks(handed_in: Path, course: Path, students: list[str], units: list[str]) -> None:
    """The same answers in the released notebooks."""
    for unit in units:
        release = read_notebook(course / "release" / unit / f"{unit}.ipynb")
        questions = QUIZZES[unit].questions
        for student in students:
            script, sheet = script_of(handed_in / student, unit), sheet_of(handed_in / student, questions)
            if script is None and sheet is None:
                continue
            written = written_in(sheet, questions) if sheet else {}
            quiz = {name: as_python(questions.items[name], answer) for name, answer in written.items()}
            path = course / "submitted" / student / unit / f"{unit}.ipynb"
            write_notebook(path, filled_in(release, script, quiz))


def nbgrader_course(root: Path, directory: Path, units: list[str]) -> Path:
    made = courses.run_grader(root, "release", "nbgrader", directory)
    assert made.returncode == 0, made.stderr
    run_nbgrader(root, directory, "generate_assignment", units)
    return directory


def run_nbgrader(root: Path, directory: Path, command: str, units: list[str]) -> None:
    run_in_one_process(root, [(directory, root, [command, unit]) for unit in units], root)


def reported(root: Path, submissions: Path, out: Path) -> dict[str, Earned]:
    run = courses.run_grader(root, "grade", submissions, "--out", out)
    assert run.returncode == 0, run.stderr
    return {student: points_in(report) for student, report in courses.read_reports(out).items()}


def points_in(report: dict[str, Any]) -> Earned:
    earned: Earned = {}
    for unit, found in ((unit, report["units"][unit]) for unit in UNITS):
        earned |= {f"{unit}/{name}": exercise["points"] for name, exercise in found["exercises"].items()}
        earned |= {f"{unit}/quiz_{name}": item["points"] for name, item in found["quiz"]["items"].items()}
    return earned


def in_gradebook(course: Path, units: list[str]) -> dict[str, Earned]:
    found: dict[str, Earned] = {}
    with Gradebook(f"sqlite:///{course}/gradebook.db", COURSE_ID) as gradebook:
        for unit in units:
            for submission in gradebook.assignment_submissions(unit):
                for grade in (grade for notebook in submission.notebooks for grade in notebook.grades):
                    assert not grade.needs_manual_grade
                    earned = found.setdefault(submission.student.id, {})
                    earned[f"{unit}/{grade.name.removeprefix('test_')}"] = grade.score
    return found


@pytest.fixture(scope="module")
def graded(tmp_path_factory: pytest.TempPathFactory, example_class: Path) -> Graded:
    """Everything, graded both ways in a course whose due dates have passed, so that the quizzes count."""
    base = tmp_path_factory.mktemp("same")
    root = courses.copy_course(base / "course")
    courses.set_due(root, courses.LONG_PAST)
    course = nbgrader_course(root, base / "nbgrader", UNITS)
    handed_in = write_class(base / "class", example_class)
    hand_in_notebooks(handed_in, course, STUDENTS, UNITS)
    run_nbgrader(root, course, "autograde", UNITS)
    return Graded(
        reported(root, handed_in, base / "scripts"),
        in_gradebook(course, UNITS),
        course,
    )


def cells_with_points(course: Path) -> Iterator[tuple[str, Any]]:
    for path in sorted((course / "autograded").glob("*/*/*.ipynb")):
        for cell in nbformat.read(path, as_version=4).cells:
            if is_test(cell):
                yield f"{path.parent.parent.name}/{path.stem}/{cell.metadata.nbgrader.grade_id}", cell


# -- what must be the same ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("student", STUDENTS)
def test_a_notebook_gets_the_points_of_the_same_script(graded: Graded, student: str) -> None:
    report, gradebook = graded.scripts[student], graded.gradebook[student]
    assert gradebook == {name: report[name] for name in gradebook}
    # Of a unit that was not handed in the gradebook knows nothing.
    assert not any(points for name, points in report.items() if name not in gradebook)


def test_the_answers_include_all_kinds_of_mistakes(graded: Graded) -> None:
    """Otherwise equal scores could all be zero."""
    answers = [path for path in (graded.course / "submitted").glob("*/*/*.ipynb") if path.parts[-3] not in CLASS]
    assert len(answers) >= 30
    exercises = [name for name in graded.scripts["right"] if "/quiz_" not in name]
    for student in ("paraphrases", "unlisted_mistakes"):
        lost = [name for name in exercises if graded.scripts[student][name] != graded.scripts["right"][name]]
        assert lost == exercises
    shares = {
        (graded.scripts["right"][f"{unit}/quiz_{name}"] or 0) / item.points
        for unit in UNITS
        for name, item in QUIZZES[unit].items.items()
    }
    assert {0, 1} < shares


def test_each_test_cell_has_one_number_and_no_error(graded: Graded) -> None:
    for name, cell in cells_with_points(graded.course):
        [result] = [output for output in cell.outputs if output.output_type == "execute_result"]
        student, unit, grade_id = name.split("/")
        points = graded.gradebook[student][f"{unit}/{grade_id.removeprefix('test_')}"]
        assert result["data"] == {"text/plain": f"{points:g}"}, name
        assert {output.output_type for output in cell.outputs} <= {"execute_result", "display_data"}, name


def test_before_the_due_date_quizzes_have_no_points_and_exercises_have_theirs(tmp_path: Path, graded: Graded) -> None:
    units, students = ["simple_attention"], ["ada", "chen"]
    root = courses.copy_course(tmp_path / "course")
    courses.set_due(root, courses.LONG_TO_COME)
    course = nbgrader_course(root, tmp_path / "nbgrader", units)
    for student in students:
        shutil.copytree(graded.course / "submitted" / student / units[0], course / "submitted" / student / units[0])
    run_nbgrader(root, course, "autograde", units)
    reports = reported(root, course / "submitted", tmp_path / "reports")
    gradebook = in_gradebook(course, units)
    assert sorted(gradebook) == students
    for student, earned in gradebook.items():
        for name, points in earned.items():
            if "/quiz_" in name:
                assert (points, reports[student][name]) == (0, None)
            else:
                assert points == reports[student][name] == graded.gradebook[student][name]
