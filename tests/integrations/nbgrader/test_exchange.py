"""Twelve students and an exchange: some hand in twice, two are late, and all are graded twice."""

from __future__ import annotations

import datetime
import math
import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import NamedTuple

import courses
import pytest
import terms
from courses import COURSE
from nbgrader.api import Gradebook

pytestmark = pytest.mark.proof(part="nbgrader")


class Answer(NamedTuple):
    """A student's mistake in an exercise, and the feedback on it."""

    exercise: str
    text: str
    sentence: str
    misconception: str


MISTAKES = (
    Answer(
        "dot_product",
        "def dot_product(a, b):\n    return sum(x * y for x, y in zip(a, b))",
        "If the lengths differ, the function should raise ValueError or AssertionError, whichever sequence is longer.",
        "A dot product of different lengths has no meaning: raise an error.",
    ),
    Answer(
        "softmax_naive",
        "def softmax_naive(x, dim=-1):\n    return x / x.sum(dim=dim, keepdim=True)",
        "For a single list of scores, each result should be its exponential divided by the sum of the exponentials.",
        "Take the exponential first: it makes every weight positive.",
    ),
    Answer(
        "softmax_stable",
        "def softmax_stable(x, dim=-1):\n    return torch.exp(x) / torch.exp(x).sum(dim=dim, keepdim=True)",
        "Entries far above and far below zero, in any combination, should give finite and correct results.",
        "The maximum is not subtracted before the exponential",
    ),
)
STUDENTS = [f"s{number:02}" for number in range(1, 13)]
# Who hands in once more: all is right then. The last two do so after the due date, one of them with an extension.
AGAIN = ("s01", "s06", "s11", "s02", "s07", "s09")
LATE, EXTENDED = AGAIN[-2:]
MANUAL, MANUAL_CELL, MANUAL_SCORE = "s03", "test_softmax_naive", 1.5


def mistake_of(student: str) -> Answer | None:
    """Every fourth student has no mistake."""
    return (*MISTAKES, None)[STUDENTS.index(student) % 4]


def word_of(student: str) -> str:
    """The text that only this student's code prints."""
    return f"this is {student} speaking"


def answers_of(student: str) -> dict[str, str]:
    """A student's answers that differ from the source, right or wrong."""
    printing = f'def attention_scores(query, inputs):\n    print("{word_of(student)}")\n    return inputs @ query'
    mistake = mistake_of(student)
    return {"attention_scores": printing, **({mistake.exercise: mistake.text} if mistake else {})}


class Look(NamedTuple):
    """The course after everybody was graded: the gradebook's scores, the exported table and the pages fetched."""

    scores: dict[str, dict[str, float]]
    table: dict[str, dict[str, str]]
    pages: dict[str, list[str]]


class Class(NamedTuple):
    """The course, and how it looked the first and the second time."""

    course: Path
    first: Look
    second: Look


class Exchange:
    """A course of one unit with an exchange, and the folders of its students."""

    def __init__(self, folder: Path) -> None:
        self._folder, self._root = folder, courses.copy_course(folder / "repository")
        self.course = folder / "course"
        (folder / "nbgrader_config.py").write_text(f'c = get_config()\nc.Exchange.root = "{folder}/exchange"\n')
        courses.set_due(self._root, courses.LONG_TO_COME)
        settings = self._root / "autograder.yml"
        # The test hands in seconds late.
        settings.write_text(settings.read_text(encoding="utf-8").replace("grace_minutes: 10", "grace_minutes: 0"))
        for name in STUDENTS:
            (folder / name).mkdir()
        terms.run(self._root, folder, folder, "grader", "release", "nbgrader", "course")

    def instructor(self, *commands: str) -> list[terms.Command]:
        return [(self.course, self._folder, command.split()) for command in commands]

    def students(self, command: str, names: Iterable[str]) -> list[terms.Command]:
        """The command of each student, in a folder of theirs."""
        return [
            (self._folder / name, self._folder / name, f"{command} --course {terms.COURSE_ID} --student {name}".split())
            for name in names
        ]

    def hand_in(self, answers: dict[str, dict[str, str]]) -> list[terms.Command]:
        """Each of these students hands in right answers, except for the given cells."""
        for name, mistakes in answers.items():
            terms.fill_in(self._folder / name / terms.UNIT / f"{terms.UNIT}.ipynb", self.course, mistakes)
        return self.students(f"submit {terms.UNIT}", answers)

    def run(self, commands: list[terms.Command]) -> None:
        terms.run_in_one_process(self._root, commands, self._folder)

    def end(self) -> None:
        """The due date is now."""
        courses.set_due(self._root, datetime.datetime.now(datetime.UTC).isoformat())

    def run_and_grade(self, commands: list[terms.Command]) -> Look:
        unit = terms.UNIT
        grading = self.instructor(
            f"collect {unit} --update",
            f"autograde {unit} --force",
            f"generate_feedback {unit} --force",
            f"release_feedback {unit}",
            "export",
        )
        self.run(commands + grading + self.students(f"fetch_feedback {unit}", STUDENTS))
        scores = {name: terms.scores_of(self.course, name) for name in STUDENTS}
        pages = {name: terms.feedback_in(self._folder / name) for name in STUDENTS}
        return Look(scores, terms.exported(self.course / "grades.csv"), pages)


@pytest.fixture(scope="module")
def twelve(tmp_path_factory: pytest.TempPathFactory) -> Class:
    exchange = Exchange(tmp_path_factory.mktemp("exchange"))
    unit = terms.UNIT
    released = exchange.instructor(f"generate_assignment {unit}", f"release_assignment {unit}")
    exchange.run(released + exchange.students(f"fetch_assignment {unit}", STUDENTS))
    first = exchange.run_and_grade(exchange.hand_in({name: answers_of(name) for name in STUDENTS}))

    with gradebook_of(exchange.course) as gradebook:
        gradebook.find_grade(MANUAL_CELL, unit, unit, MANUAL).manual_score = MANUAL_SCORE
        gradebook.db.commit()
        gradebook.grant_extension(unit, EXTENDED, days=2)
    exchange.run(exchange.hand_in({name: {} for name in AGAIN[:-2]}))
    exchange.end()
    dated = exchange.instructor(f"generate_assignment {unit} --force")
    second = exchange.run_and_grade(dated + exchange.hand_in({name: {} for name in AGAIN[-2:]}))
    return Class(exchange.course, first, second)


def gradebook_of(course: Path) -> Gradebook:
    return Gradebook(f"sqlite:///{course}/gradebook.db", terms.COURSE_ID)


def exercises(scores: dict[str, float]) -> dict[str, float]:
    return {name: score for name, score in scores.items() if not name.startswith("test_quiz_")}


def quiz(scores: dict[str, float]) -> dict[str, float]:
    return {name: score for name, score in scores.items() if name.startswith("test_quiz_")}


def pages_of(look: Look) -> Iterator[tuple[str, str]]:
    for student, pages in look.pages.items():
        for page in pages:
            yield student, page


def test_every_student_is_graded_both_times(twelve: Class) -> None:
    assert list(twelve.first.table) == list(twelve.second.table) == STUDENTS


def test_a_mistake_costs_points_only_in_its_own_exercise(twelve: Class) -> None:
    right = exercises(twelve.first.scores["s04"])
    for student in STUDENTS:
        scores, mistake = exercises(twelve.first.scores[student]), mistake_of(student)
        lost = {name for name, score in scores.items() if score < right[name]}
        assert lost == ({f"test_{mistake.exercise}"} if mistake else set())


def test_the_quiz_counts_after_the_due_date(twelve: Class) -> None:
    for student in STUDENTS:
        assert sum(quiz(twelve.first.scores[student]).values()) == 0
        with gradebook_of(twelve.course) as gradebook:
            grades = gradebook.find_submission_notebook(terms.UNIT, terms.UNIT, student).grades
            assert quiz(twelve.second.scores[student]) == quiz({grade.name: grade.max_score for grade in grades})


def test_a_resubmission_gets_the_points_of_the_new_answers(twelve: Class) -> None:
    right = exercises(twelve.first.scores["s04"])
    for student in AGAIN:
        assert exercises(twelve.first.scores[student]) != right == exercises(twelve.second.scores[student])


def test_without_a_resubmission_the_points_stay_the_same(twelve: Class) -> None:
    for student in set(STUDENTS) - {*AGAIN, MANUAL}:
        assert exercises(twelve.second.scores[student]) == exercises(twelve.first.scores[student])


def test_a_manual_score_is_kept(twelve: Class) -> None:
    with gradebook_of(twelve.course) as gradebook:
        grade = gradebook.find_grade(MANUAL_CELL, terms.UNIT, terms.UNIT, MANUAL)
        assert grade.score == grade.manual_score == MANUAL_SCORE != grade.auto_score
    assert float(twelve.second.table[MANUAL]["raw_score"]) == sum(twelve.second.scores[MANUAL].values())


def test_late_work_costs_what_autograder_yml_says(twelve: Class) -> None:
    with gradebook_of(twelve.course) as gradebook:
        submission = gradebook.find_submission(terms.UNIT, LATE)
        seconds, penalty = submission.total_seconds_late, submission.late_submission_penalty
    assert seconds > 0
    late = COURSE.late
    percent = min(math.ceil(seconds / 86400) * late.percent_per_day, late.most_percent)
    total = sum(twelve.second.scores[LATE].values())
    assert total - penalty == math.floor(total * (100 - percent) / 100)
    row = twelve.second.table[LATE]
    assert float(row["late_submission_penalty"]) == pytest.approx(penalty)
    assert float(row["score"]) == pytest.approx(total - penalty)


def test_work_in_time_costs_nothing(twelve: Class) -> None:
    for look in twelve.first, twelve.second:
        for student, row in look.table.items():
            if (look, student) != (twelve.second, LATE):
                assert float(row["late_submission_penalty"] or 0) == 0
                assert float(row["score"]) == sum(look.scores[student].values())


def test_with_an_extension_work_is_not_late(twelve: Class) -> None:
    with gradebook_of(twelve.course) as gradebook:
        submission = gradebook.find_submission(terms.UNIT, EXTENDED)
        assert submission.timestamp > submission.assignment.duedate
        assert submission.total_seconds_late == 0


def test_each_student_fetches_a_page_for_each_submission(twelve: Class) -> None:
    assert {student: len(pages) for student, pages in twelve.first.pages.items()} == dict.fromkeys(STUDENTS, 1)
    assert {student: len(pages) for student, pages in twelve.second.pages.items()} == {
        student: 2 if student in AGAIN else 1 for student in STUDENTS
    }


def test_a_page_shows_the_misconception(twelve: Class) -> None:
    for student in STUDENTS:
        [page] = twelve.first.pages[student]
        text = re.sub(r"<[^>]+>", "", page)
        if mistake := mistake_of(student):
            assert mistake.sentence in text
            assert mistake.misconception in text


def test_a_page_has_the_output_of_one_student_only(twelve: Class) -> None:
    for look in twelve.first, twelve.second:
        for student, page in pages_of(look):
            assert not {other for other in STUDENTS if other != student and word_of(other) in page}
    assert all(word_of(student) in pages[0] for student, pages in twelve.first.pages.items())


def test_no_page_holds_a_hidden_test(twelve: Class) -> None:
    for look in twelve.first, twelve.second:
        for _, page in pages_of(look):
            assert not {mark for mark in ("HIDDEN TESTS", "NBGRADER_EXECUTION", "expect_close") if mark in page}
