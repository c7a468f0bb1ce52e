"""Gradescope: results.json, one test for each exercise and each quiz that counts."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from grader.reports import reading
from grader.text import plain

if TYPE_CHECKING:
    from grader.reports.model import Message, Report


def results(report: Report) -> dict[str, Any]:
    """Return the content of results.json. All text is plain, and Gradescope shows it as it is."""
    numbers = {name: number for number, name in enumerate(report.units, 1)}
    tests = []
    counts = dict.fromkeys(report.units, 0)
    for entry in reading.entries(report):
        counts[entry.unit_name] += 1
        tests.append(
            _test(
                f"{numbers[entry.unit_name]}.{counts[entry.unit_name]}",
                f"{entry.unit_name}: {entry.name}",
                entry.state == "done",
                entry.exercise.points,
                entry.exercise.possible,
                _lines(entry),
            )
        )
    for unit, quiz, earned in reading.counted_quizzes(report):
        number = f"{numbers[unit]}.{counts[unit] + 1}"
        said = [f"{item}: {sentence}" for item, sentence in reading.answer_feedback(quiz)]
        lines = list(map(plain, [quiz.summary, *said]))
        tests.append(_test(number, f"{unit}: quiz", earned == quiz.possible, earned, quiz.possible, lines))
    tests.sort(key=lambda test: [int(part) for part in test["number"].split(".")])
    return {
        "score": sum(test["score"] for test in tests),
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
    lines = [f"{report.points} of {reading.points(report.possible)}. {reading.meaning(report)}"]
    lacking = reading.not_handed_in(report)
    if lacking:
        lines.append(f"Not handed in yet: {', '.join(lacking)}.")
    for name, unit in report.units.items():
        if name in lacking:
            continue
        lines += [f"{name}: {plain(remark)}" for remark in unit.remarks]
        if unit.quiz and not unit.quiz.possible:
            lines.append(f"{name}, quiz: {plain(unit.quiz.summary)}. It is worth no points.")
            lines += [f"{name}, quiz: {plain(f'{item}: {said}')}" for item, said in reading.answer_feedback(unit.quiz)]
        elif unit.quiz and unit.quiz.points is None:
            lines.append(f"{name}, quiz: {plain(unit.quiz.summary)}. It counts after the due date.")
        if unit.quiz:
            lines += [f"{name}, quiz: {plain(problem)}" for problem in reading.quiz_problems(unit.quiz)]
    if texts := reading.anomalies(report):
        lines += ["What the code was seen to try:", *(f"- {plain(text)}" for text in texts[:20])]
    return lines


def _lines(entry: reading.Entry) -> list[str]:
    """Return one line for each thing to say."""
    exercise = entry.exercise
    lines = []
    if entry.state == "not written yet":
        lines.append("It is not written yet.")
    elif entry.state == "not handed in":
        lines.append("It is not handed in yet.")
    elif entry.state == "not graded":
        lines += entry.unit.remarks
    elif entry.state in ("in progress", "waiting"):
        lines += [one.sentence for one in exercise.misconceptions]
        lines += [exercise.waiting_for] if exercise.waiting_for else []
        for issue in entry.issues:
            found = entry.in_words(issue.reason)
            lines += [f"{found}{_where(entry, entry.raised_for(issue.reason))}"] if found else []
            lines += [f"- {one}" for one in issue.sentences]
        lines += [f"Your code said: {reading.sentence_of(one)}{_where(entry, one)}" for one in entry.unexplained]
    return [plain(line) for line in [*lines, *exercise.remarks]]


def _where(entry: reading.Entry, message: Message | None) -> str:
    words = reading.place_of(message, entry.unit).words() if message else ""
    return f" ({words})" if words else ""


def _test(number: str, name: str, passed: bool, score: int, possible: int, lines: list[str]) -> dict[str, Any]:
    return {
        "number": number,
        "name": name,
        "score": score,
        "max_score": possible,
        "status": "passed" if passed else "failed",
        "output": "\n".join(lines),
        "output_format": "text",
        "visibility": "visible",
    }
