"""Gradescope: results.json, one test for each exercise and each quiz that counts.

A report holds only what `feedback` in autograder.yml shows at the time of grading, and students see it at once. The
exception is a quiz that counts: while Gradescope still takes work, its points would help to hand it in again. So they
are shown after the due date of Gradescope, and so is the total, which Gradescope hides as long as it hides any test.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from grader.reports import reading
from grader.reports.changes import change_sentences, comments, exercise_comments
from grader.text import plain

if TYPE_CHECKING:
    from grader.reports.model import Message, Quiz, Report


def results(report: Report) -> dict[str, Any]:
    """Return the content of results.json. All text is plain text, and Gradescope shows it as such."""
    quizzes = {unit: _of_quiz(unit, quiz, earned) for unit, quiz, earned in reading.counted_quizzes(report)}
    tests = []
    for number, name in enumerate(report.units, 1):
        own = [_of_exercise(entry) for entry in reading.entries_of(report, name)]
        own += [quizzes[name]] if name in quizzes else []
        tests += [{"number": f"{number}.{position}", **test} for position, test in enumerate(own, 1)]
    return {
        "score": report.points,  # in place of the sum of the tests, which are without deductions and adjustments
        "execution_time": report.timing.seconds,
        "output": "\n".join(_opening(report)),
        "output_format": "text",
        "visibility": "visible",
        "stdout_visibility": "hidden",
        "extra_data": {
            "student": report.student,
            "commit": report.commit,
            "suites": report.suites,
            "versions": report.versions,
            "digest": report.digest,
        },
        "tests": tests,
    }


def _opening(report: Report) -> list[str]:
    lines = [reading.meaning(report), *map(plain, comments(report.comments))]
    lacking = reading.not_handed_in(report)
    if lacking:
        lines.append(f"Not handed in yet: {', '.join(lacking)}.")
    for name, unit in report.units.items():
        lines += [f"{name}: {plain(sentence)}" for sentence in change_sentences(unit, report.timezone)]
        if name in lacking:
            continue
        lines += [f"{name}: {plain(remark)}" for remark in unit.remarks]
        for message in reading.not_run(report, name):
            where, why = reading.place_of(message, unit).words(), reading.sentence_of(message)
            lines.append(f"{name}: {plain(f'A line could not be run, {where}: {why}')}")
        if unit.quiz and not unit.quiz.possible:
            lines.append(f"{name}, quiz: {plain(unit.quiz.summary)}. It is worth no points.")
            lines += [f"{name}, quiz: {plain(f'{item}: {text}')}" for item, text in reading.answer_feedback(unit.quiz)]
        elif unit.quiz and unit.quiz.points is None:
            worth = reading.points(unit.quiz.possible)
            lines.append(f"{name}, quiz: {plain(unit.quiz.summary)}. It counts after the due date, up to {worth}.")
        if unit.quiz:
            lines += [f"{name}, quiz: {plain(problem)}" for problem in reading.quiz_problems(unit.quiz)]
    if texts := reading.anomalies(report):
        lines += ["What the code was seen to try:", *(f"- {plain(text)}" for text in texts[:20])]
    return lines


def _of_exercise(entry: reading.Entry) -> dict[str, Any]:
    exercise = entry.exercise
    lines = []
    if entry.state == "no answer found":
        lines += entry.unit.remarks
    elif entry.state in ("not written yet", "not handed in"):
        lines.append(f"It is {entry.state.removesuffix(' yet')} yet.")
    lines += [
        f"{'- ' if line.is_nested else ''}{line.text}{_where(entry, line.source)}"
        for line in entry.feedback()
        if line.text
    ]
    lines += exercise_comments(entry.unit, entry.name)
    name = f"{entry.unit_name}: {entry.name}"
    return _test(name, entry.state == "done", exercise.points, exercise.possible, lines)


def _of_quiz(unit: str, quiz: Quiz, earned: int) -> dict[str, Any]:
    lines = [quiz.summary, *(f"{item}: {sentence}" for item, sentence in reading.answer_feedback(quiz))]
    test = _test(f"{unit}: quiz", earned == quiz.possible, earned, quiz.possible, lines)
    return {**test, "visibility": "after_due_date"}


def _where(entry: reading.Entry, message: Message | None) -> str:
    return reading.place_of(message, entry.unit).in_brackets() if message else ""


def _test(name: str, passed: bool, score: int, possible: int, lines: list[str]) -> dict[str, Any]:
    return {
        "name": name,
        "score": score,
        "max_score": possible,
        "status": "passed" if passed else "failed",
        "output": "\n".join(map(plain, lines)),
        "output_format": "text",
        "visibility": "visible",
    }
