"""Sheets that try to find the right answers, that inject commands into a log, or that are damaged."""

from __future__ import annotations

import datetime
import random
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import courses
import pytest
from courses import COURSE, REPOSITORY
from folders import right

from grader.course.model import Course, load_course
from grader.quizzes.items import BugItem, ChoiceItem, Item, NumberItem, OrderItem, ShapeItem
from grader.quizzes.questions import rendered
from grader.quizzes.quiz_source import QuizSource, load_quizzes
from grader.quizzes.sheet import write_sheet
from grader.reports.report_model import Report, Result
from grader.reports.scoring import Rubric, make_report
from grader.submissions.reader import read_submission

pytestmark = pytest.mark.proof(part="attacks")

QUIZZES = load_quizzes(REPOSITORY / "solutions", [name for name, unit in COURSE.units.items() if unit.quiz])

# -- before and after the due date ----------------------------------------------------------------------------


def wrong(item: Item) -> str:
    """Return a valid answer that is wrong."""
    match item:
        case ChoiceItem():
            return next(letter for letter, choice in item.options().items() if not choice.right)
        case BugItem():
            return next(letter for letter, line in item.options().items() if not line.right)
        case OrderItem():
            return " ".join(reversed(item.answer.split()))
        case NumberItem():
            return str(item.row(0)["answer"] + 10**6)
        case ShapeItem():
            return rendered([*item.row(0)["answer"], 10**6])


def slip(item: Item) -> str:
    """Return a wrong result that the quiz knows, if it knows any."""
    if isinstance(item, NumberItem | ShapeItem) and item.slips:
        return rendered(item.row(0)[next(iter(item.slips))])
    return wrong(item)


CLASS: dict[str, Callable[[int, Item], str]] = {
    "all-right": lambda _, item: right(item),
    "all-wrong": lambda _, item: wrong(item),
    "known-slips": lambda _, item: slip(item),
    "every-other": lambda number, item: (right, wrong)[number % 2](item),
}


def graded(tmp_path: Path, due: str) -> tuple[dict[str, dict[str, Any]], str]:
    """Return the reports on all sheets of the class, and the output, in a course with this due date."""
    course = courses.copy_course_alone(tmp_path / "course")
    courses.set_due(course, due)
    for student, answer in CLASS.items():
        folder = tmp_path / "class" / student
        folder.mkdir(parents=True)
        for unit, quiz in QUIZZES.items():
            answers = {name: answer(number, item) for number, (name, item) in enumerate(quiz.items.items())}
            sheet = write_sheet(quiz.questions, 0, answers)
            (folder / f"{unit}_quiz.md").write_text(sheet, encoding="utf-8")
    run = courses.run_grader(course, "grade", tmp_path / "class", "--out", tmp_path / "reports")
    assert run.returncode == 0, run.stderr
    return courses.read_reports(tmp_path / "reports"), run.stdout


def test_before_the_due_date_nothing_tells_right_from_wrong(tmp_path: Path) -> None:
    reports, said = graded(tmp_path, courses.LONG_TO_COME)
    assert reports.keys() == CLASS.keys()
    # The digests depend only on the submitted answers, and not on which are right.
    kept = [
        {key: value for key, value in report.items() if key not in ("student", "timing", "digest")}
        for report in reports.values()
    ]
    for report in kept:
        for unit in report["units"].values():
            del unit["digest"], unit["answers"]
    assert kept == [kept[0]] * len(CLASS)
    for unit, quiz in QUIZZES.items():
        assert kept[0]["units"][unit]["quiz"]["summary"] == f"{len(quiz.items)} of {len(quiz.items)} answered"
    rows = [" ".join(line.split()).replace(name, "") for name in CLASS for line in said.splitlines() if name in line]
    assert rows == [rows[0]] * len(CLASS)


def test_after_the_due_date_the_report_has_points_and_sentences(tmp_path: Path) -> None:
    reports, _ = graded(tmp_path, courses.LONG_PAST)
    found = {student: {unit: report["units"][unit]["quiz"] for unit in QUIZZES} for student, report in reports.items()}
    for unit, quiz in QUIZZES.items():
        assert found["all-right"][unit]["points"] == found["all-right"][unit]["possible"]
        assert found["all-wrong"][unit]["points"] == found["known-slips"][unit]["points"] == 0
        for name, item in quiz.items.items():
            item_report = found["known-slips"][unit]["items"][name]
            assert item_report["explanation"]
            if getattr(item, "slips", None) or isinstance(item, ChoiceItem | BugItem):
                assert item_report["sentences"]


# -- answers in the output ------------------------------------------------------------------------------------

STEERING = ["::error::owned", "##[error]owned", "::stop-commands::owned", "owned"]


@pytest.mark.parametrize("kind", ["number", "shape", "order"])
def test_the_command_line_prints_no_answer_of_a_quiz(
    small_course: Path, quiz: QuizSource, tmp_path: Path, kind: str
) -> None:
    """A log may take a line for a command, and a table may wrap its lines anywhere."""
    name = next(name for name, question in quiz.questions.items.items() if question.kind == kind)
    folder = courses.hand_in(tmp_path / "class" / "mallory", courses.SMALL_COURSE["solutions/sums.py"])
    sheet = write_sheet(quiz.questions, 0, {name: " ".join(STEERING * 3)})
    (folder / "sums_quiz.md").write_text(sheet, encoding="utf-8")
    run = courses.run_grader(small_course, "grade", tmp_path / "class", "--out", tmp_path / "reports")
    assert run.returncode == 0, run.stderr
    [report] = courses.read_reports(tmp_path / "reports").values()
    assert report["points"] == report["possible"]
    assert "owned" in report["units"]["sums"]["quiz"]["items"][name]["problem"]
    assert "sums_quiz.md" in run.stdout
    assert "owned" not in run.stdout + run.stderr


# -- damage ---------------------------------------------------------------------------------------------------

ODD = [
    b"\xff", b"\xc3", b"\x00", b"\x1b[2J", b"\r", b"\xe2\x80\xa8", b"[x]", b"[ ]", b"Answer:", b"______", b"```",
    b"---", b"## 1. Order of terms\n", b"variant: 9\n", b"quiz: y\n", b"- [x] a) ", b">" * 50, b"1e999", b"(2, 3)",
]  # fmt: skip


def damaged(sheet: bytes, generator: random.Random) -> bytes:
    """Return the sheet with a few ranges of bytes deleted, repeated, moved or replaced."""
    for _ in range(generator.randint(1, 8)):
        start = generator.randrange(len(sheet) + 1)
        end = min(len(sheet), start + generator.choice([0, 1, 3, 20, 200, 2000]))
        there = generator.randrange(len(sheet) + 1)
        match generator.randrange(4):
            case 0:
                sheet = sheet[:start] + sheet[end:]
            case 1:
                sheet = sheet[:there] + sheet[start:end] + sheet[there:]
            case 2:
                sheet = sheet[:start] + generator.choice(ODD) + sheet[end:]
            case _:
                sheet = sheet[:start] + generator.choice(ODD) + sheet[start:]
    return sheet


def reported(folder: Path, quiz: QuizSource, course: Course, now: datetime.datetime) -> Report:
    submission = read_submission("mallory", folder, ["sums"], folder / "no" / "stubs", quiz_names=["sums"])
    return make_report(submission, Result(), Rubric([], {"sums": quiz}), course, {}, {}, now)


def with_other_answers(quiz: QuizSource) -> QuizSource:
    """Return the quiz with the same questions for students, but with other answers."""
    items = {}
    for name, item in quiz.items.items():
        data = item.model_dump()
        match item:
            case ChoiceItem():
                data["choices"] = [{**choice, "right": not choice["right"]} for choice in data["choices"]]
            case OrderItem():
                data["answer"] = " ".join(reversed(item.answer.split()))
            case NumberItem():
                data["variants"] = [{**row, "answer": row["answer"] + 7} for row in data["variants"]]
            case ShapeItem():
                data["variants"] = [{**row, "answer": [*row["answer"], 7]} for row in data["variants"]]
            case BugItem():
                data["lines"] = {
                    number: {**line, "right": number == 1, "fix": line["fix"] if number == 1 else None}
                    for number, line in data["lines"].items()
                }
        items[name] = type(item).model_validate(data)
    return QuizSource(quiz.unit, quiz.title, items)


def test_no_damage_to_a_sheet_harms_a_report_or_tells_right_from_wrong(
    small_course: Path, quiz: QuizSource, tmp_path: Path
) -> None:
    course = load_course(small_course)
    due = course.units["sums"].due
    folder = courses.hand_in(tmp_path / "mallory", courses.SMALL_COURSE["solutions/sums.py"])
    other = with_other_answers(quiz)
    assert other.questions == quiz.questions
    whole = write_sheet(quiz.questions, 3, {name: right(item) for name, item in quiz.items.items()}).encode()
    generator = random.Random(4)
    kinds: set[str] = set()
    for _ in range(300):
        (folder / "sums_quiz.md").write_bytes(damaged(whole, generator))
        before = reported(folder, quiz, course, due)
        # The report does not show which of the two quizzes it belongs to.
        assert before.to_json() == reported(folder, other, course, due).to_json()
        after = reported(folder, quiz, course, due + datetime.timedelta(days=1))
        assert Report.model_validate_json(after.to_json()) == after
        found = after.units["sums"].quiz
        assert found
        assert found.items.keys() == quiz.items.keys()
        assert found.points == sum(item.points or 0 for item in found.items.values()) <= found.possible
        sentences = [*found.remarks, *(item.problem for item in found.items.values() if item.problem)]
        assert all(item.answered or item.points == 0 for item in found.items.values())
        assert all(sentence.startswith("sums_quiz.md") and sentence.endswith(".") for sentence in sentences)
        kinds |= {re.sub(r"\d+|'.*'", "", sentence) for sentence in sentences}
    assert len(kinds) > 30  # there was damage of many kinds
