"""JUnit XML, as GitLab, Jenkins and others read it: a suite for each unit, a case for each test and each quiz item.

A line outside the exercises that could not be run is a case, too. What is not written or not handed in yet, and what
waits for another exercise, is skipped. So the failures are what to look at; that something is left to do, the exit code
of `grader check` says.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from xml.etree.ElementTree import Element, SubElement, indent, tostring

from grader.reports.reading import ExerciseEntry, counted_quizzes, entries_of, not_run, place_of, points, sentence_of
from grader.reports.report_model import NOT_WRITTEN, Message, QuizItem, Report, Test, Unit
from grader.text import log_line


def junit(report: Report) -> str:
    """Return the text of the file."""
    root = Element("testsuites", name=log_line(report.course), time=f"{report.timing.seconds:.3f}")
    quizzes = {unit: quiz.items for unit, quiz, _ in counted_quizzes(report)}
    for name in report.units:
        cases = [_of_line(name, message, report.units[name]) for message in not_run(report, name)]
        cases += [_of_test(entry, test) for entry in entries_of(report, name) for test in entry.exercise.tests]
        cases += [_of_item(name, item_name, item) for item_name, item in quizzes.get(name, {}).items()]
        count = Counter(result.tag for case in cases for result in case)
        suite = SubElement(
            root, "testsuite", name=log_line(name), tests=f"{len(cases)}",
            failures=f"{count['failure']}", errors=f"{count['error']}", skipped=f"{count['skipped']}",
        )  # fmt: skip
        suite.extend(cases)
    indent(root)
    return f'<?xml version="1.0" encoding="UTF-8"?>\n{tostring(root, encoding="unicode")}\n'


def _of_test(entry: ExerciseEntry, test: Test) -> Element:
    exercise, unit = entry.exercise, entry.unit
    case = _case(entry.unit_name, entry.name, test.name)
    if test.outcome == "passed":
        return case
    if entry.state == "not handed in":
        return _with(case, "skipped", ["It is not handed in yet."])
    if test.reason == NOT_WRITTEN:
        return _with(case, "skipped", [test.reason])
    if exercise.waiting_for and not test.reason:
        return _with(case, "skipped", [exercise.waiting_for])
    if entry.state == "no answer found":
        return _with(case, "error", unit.remarks or ["No answer was found."])
    raised = entry.raised_for(test.reason)
    place = place_of(raised, unit) if raised else entry.place
    found = entry.in_words(test.reason) or test.sentence or "It failed, and the feedback says no more."
    lines = [f"{found}{place.in_brackets()}", *(raised.trace if raised else [])]
    lines += [test.sentence] if test.sentence and test.sentence != found else []
    lines += [f"{one.name}: {one.sentence}" for one in exercise.misconceptions]
    return _with(case, "error" if raised else "failure", lines)


def _of_line(name: str, message: Message, unit: Unit) -> Element:
    place = place_of(message, unit)
    case = Element("testcase", classname=log_line(name), name=log_line(place.words() or "A line"))
    return _with(case, "error", [f"{sentence_of(message)}{place.in_brackets()}", *message.trace])


def _of_item(unit: str, name: str, item: QuizItem) -> Element:
    case = _case(unit, "quiz", name)
    if item.points == item.possible:
        return case
    if not item.answered:
        return _with(case, "skipped", [item.problem or "It is not answered."])
    return _with(case, "failure", [f"{item.points} of {points(item.possible)}.", *item.sentences])


def _case(unit: str, group: str, name: str) -> Element:
    return Element("testcase", classname=log_line(f"{unit}.{group}"), name=log_line(name))


def _with(case: Element, tag: str, lines: Iterable[str]) -> Element:
    """Return the case with its result. Some readers show the message alone, and some the text alone."""
    text = [log_line(line) for line in lines]
    # GitLab converts the text if the type is that of a value, such as "string" or "file". This is none.
    result = SubElement(case, tag, message=text[0], type=tag)
    result.text = "\n".join(text)
    return case
