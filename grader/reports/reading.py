"""What the terminal and all exporters show of a report: states, main issues, places, and how points became a grade."""

from __future__ import annotations

import contextlib
import datetime
import re
import zoneinfo
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import Literal, NamedTuple

from grader.course.model import Late
from grader.reports.report_model import NOT_WRITTEN, Change, Exercise, Message, Quiz, Report, Test, Unit
from grader.submissions.submission import missing_file
from grader.text import ended, listed, log_line, who

State = Literal["done", "in progress", "waiting", "not written yet", "no answer found", "not handed in", "exempt"]
"""Of an exercise or a unit. Waiting: for another exercise. No answer found: no file has one that can be read."""

NOTHING_YET = "Nothing is handed in yet: all is as you received it. Points count from the first answer on."

# What is said of an error before its own text.
REASON = re.compile(r".*?(?:\. |$)(?:The cause is .*?: .*?\. )?", re.DOTALL)


class Place(NamedTuple):
    """A line of a student's file, as far as it is known."""

    path: str | None
    line: int | None

    def words(self) -> str:
        """Return the place as text; "" if nothing is known."""
        return ", ".join([*filter(None, [self.path]), *([f"line {self.line}"] if self.line else [])])

    def in_brackets(self) -> str:
        """Return the place as the end of a sentence; "" if nothing is known."""
        return f" ({self.words()})" if any(self) else ""


class Finding(NamedTuple):
    """A part of the feedback on an exercise.

    Attributes:
        text: A sentence; "" if a failed test gives no reason.
        is_course_text: Whether the course wrote it, so that `code` in it is code.
        place: Where the error came from that it quotes.
        trace: The student's lines that led to the error.
        expected: What tests expected instead, in the course's words.
    """

    text: str
    is_course_text: bool = True
    place: Place = Place(None, None)
    trace: Sequence[str] = ()
    expected: Sequence[str] = ()


class Issue(NamedTuple):
    """Tests of an exercise that failed for the same reason, "" if they give none."""

    reason: str
    tests: list[Test]

    @property
    def sentences(self) -> list[str]:
        """What each test expects."""
        return [test.sentence or test.name.replace("_", " ") for test in self.tests]

    @property
    def cost(self) -> tuple[int, int]:
        """How many points, and how many tests."""
        return sum(test.possible - test.points for test in self.tests), len(self.tests)


def issues(exercise: Exercise) -> list[Issue]:
    """Return the issues of an exercise, the main issue first: that of the test that explains most failures.

    The others follow by their points. Tests that wait for another exercise are left out because they found nothing.
    """
    found: dict[str, Issue] = {}
    for test in sorted(exercise.tests, key=lambda one: one.name != exercise.main):
        if test.outcome == "failed" and (test.reason or not exercise.waiting_for):
            found.setdefault(test.reason or "", Issue(test.reason or "", [])).tests.append(test)
    return sorted(found.values(), key=lambda issue: (issue.tests[0].name == exercise.main, issue.cost), reverse=True)


@dataclass(frozen=True)
class ExerciseEntry:
    """One exercise in its unit, and what its code raised."""

    unit_name: str
    unit: Unit
    name: str
    exercise: Exercise
    raised: tuple[Message, ...]

    @property
    def state(self) -> State:
        """How far the exercise is."""
        if all(test.outcome == "passed" for test in self.exercise.tests):  # even if they are worth nothing
            return "done"
        if self.unit.path is None:
            return "not handed in" if is_missing(self.unit_name, self.unit) else "no answer found"
        reasons = {test.reason for test in self.exercise.tests if test.outcome == "failed"}
        if reasons == {NOT_WRITTEN}:
            return "not written yet"
        return "waiting" if self.exercise.waiting_for and reasons <= {NOT_WRITTEN, None} else "in progress"

    @property
    def place(self) -> Place:
        """The line where its code raised, or else where it begins."""
        beginning = Place(self.unit.path, self.exercise.line)
        return next((place for one in self.raised if (place := own_line(one, self.unit))), beginning)

    @property
    def advice(self) -> str | None:
        """The course's sentences on the mistake, or on what to fix first."""
        named = " ".join(one.sentence for one in self.exercise.misconceptions)
        return named or (self.exercise.waiting_for if self.state == "waiting" else None)

    @property
    def issues(self) -> list[Issue]:
        """The issues, the main issue first."""
        return issues(self.exercise)

    @property
    def found(self) -> str | None:
        """What the tests of the main issue found."""
        return self.in_words(self.issues[0].reason) if self.issues else None

    @property
    def expected(self) -> str | None:
        """What they expected, in the course's words."""
        if not self.issues:
            return None
        first = self.issues[0].tests[0]
        if first.reason is None and first.sentence is None:
            if not self.exercise.possible:
                return "Something is not right yet. It is worth no points, and the feedback says no more."
            lost = self.exercise.possible - self.exercise.points
            return f"{lost} of {points(self.exercise.possible)} are missing. The feedback says no more."
        return first.sentence

    @property
    def main_issue(self) -> str:
        """The most important sentence."""
        return self.advice or " ".join(filter(None, [self.found, self.expected]))

    def in_words(self, reason: str | None) -> str | None:
        """Return what a test found as a sentence; for an error, with its message."""
        message = self.raised_for(reason)
        return sentence_of(message, reason) if message else ended(reason) if reason else None

    def raised_for(self, reason: str | None) -> Message | None:
        """Return the error that a test gives as its reason."""
        return next((one for one in self.raised if reason and f"{one.text} ".startswith(f"{reason} ")), None)

    def feedback(self) -> Iterator[Finding]:
        """Yield everything to say about the exercise, except that it is not written or could not be graded."""
        if self.state in ("in progress", "waiting"):
            yield from (Finding(one.sentence) for one in self.exercise.misconceptions)
            if self.exercise.waiting_for:
                yield Finding(self.exercise.waiting_for)
            explained = [self.raised_for(issue.reason) for issue in self.issues]
            for issue, error in zip(self.issues, explained, strict=True):
                yield self._finding(self.in_words(issue.reason) or "", error, issue.sentences)
            for one in self.raised:
                if one not in explained:
                    yield self._finding(f"Your code said: {sentence_of(one)}", one)
        yield from (Finding(remark, is_course_text=False) for remark in self.exercise.remarks)

    def _finding(self, text: str, error: Message | None, expected: Sequence[str] = ()) -> Finding:
        place, trace = (place_of(error, self.unit), error.trace) if error else (Place(None, None), [])
        return Finding(text, False, place, trace, expected)


def entries(report: Report) -> Iterator[ExerciseEntry]:
    """Yield every exercise that is tested, in the order of the course."""
    for unit_name in report.units:
        yield from entries_of(report, unit_name)


def entries_of(report: Report, unit_name: str) -> Iterator[ExerciseEntry]:
    """Yield the exercises of one unit that are tested, in the order of the course."""
    unit = report.units[unit_name]
    raised = [one for one in report.messages if one.unit == unit_name and one.kind in ("raised", "not run")]
    for name, exercise in unit.exercises.items():
        if exercise.tests:
            yield ExerciseEntry(unit_name, unit, name, exercise, tuple(one for one in raised if one.exercise == name))


def counted_quizzes(report: Report) -> Iterator[tuple[str, Quiz, int]]:
    """Yield the unit, the quiz and its points for each quiz that counts and is worth points."""
    for unit_name, unit in report.units.items():
        if unit.quiz and unit.quiz.points is not None and unit.quiz.possible:
            yield unit_name, unit.quiz, unit.quiz.points


def answer_feedback(quiz: Quiz) -> list[tuple[str, str]]:
    """Return the feedback on a quiz's answers after its due date: pairs of an item's name and a sentence."""
    return [(name, sentence) for name, item in quiz.items.items() for sentence in item.sentences]


def quiz_problems(quiz: Quiz) -> list[str]:
    """Return the problems of a quiz's sheet and its answers."""
    return [*quiz.remarks, *(item.problem for item in quiz.items.values() if item.problem)]


def anomalies(report: Report) -> list[str]:
    """Return what the code tried beyond the exercises, each thing once."""
    return list(dict.fromkeys(one.text for one in report.messages if one.kind == "attempted"))


def attempts(report: Report) -> str:
    """Return one line on what a submission tried beyond the exercises, how often, and what came of it, or ""."""
    # The text is what was tried, a colon, and the file or command.
    texts = [one.text.partition(": ")[0] for one in report.messages if one.kind == "attempted"]
    tried = Counter(text.removeprefix("It tried to ").removesuffix(".") for text in texts)
    if not tried:
        return ""
    counts = [f"{what} ({count})" for what, count in tried.most_common()]
    came = "It was isolated, and no point is from it" if report.isolation.enough else "It was not isolated"
    return log_line(f"{who(report.student, report.name)} tried to {listed(counts, 6)}. {came}.")


def is_missing(name: str, unit: Unit) -> bool:
    """Return whether there is no file of the unit at all: it is not started, which is not a problem."""
    return unit.path is None and unit.remarks == [missing_file(name)]


def not_handed_in(report: Report) -> list[str]:
    """Return the units without a file and without a quiz that has answers."""
    return [name for name, unit in report.units.items() if not is_handed_in(name, unit)]


def is_handed_in(name: str, unit: Unit) -> bool:
    """Return whether there is a file of a unit, or a quiz that has answers."""
    if not is_missing(name, unit):
        return True
    if unit.quiz is None:
        return False
    has_remarks = any(remark != missing_file(name, is_quiz=True) for remark in unit.quiz.remarks)
    return has_remarks or any(item.answered or item.problem for item in unit.quiz.items.values())


def not_run(report: Report, unit_name: str) -> list[Message]:
    """Return the lines of a unit, outside its exercises, that could not be run."""
    return [one for one in report.messages if (one.unit, one.exercise, one.kind) == (unit_name, None, "not run")]


def own_line(message: Message, unit: Unit) -> Place | None:
    """Return the line of the unit's script that a message names; None for other files and notebooks."""
    if unit.path is None or not unit.path.endswith(".py") or message.file != PurePosixPath(unit.path).name:
        return None
    return Place(unit.path, message.line) if message.line and message.line > 0 else None


def place_of(message: Message, unit: Unit) -> Place:
    """Return where a message comes from, with the whole path if it is known."""
    return own_line(message, unit) or Place(message.file, message.line)


def sentence_of(message: Message, reason: str | None = None) -> str:
    """Return a message as sentences, with the error's text after a colon, as in `It raised a ValueError: no. Do this.`.

    Args:
        message: The error.
        reason: The reason that a test gives; by default, the message's first sentence, and the cause if that follows.
    """
    reason = reason or REASON.findall(f"{message.text} ")[0].rstrip()
    own_words = message.text.removeprefix(reason).strip()
    if own_words in ("", message.text.strip()):
        return " ".join(filter(None, [ended(message.text), message.hint]))
    # The error's text belongs to the first sentence; a second sentence names the cause.
    first, _, cause = reason.partition(". ")
    return " ".join(filter(None, [ended(f"{first.removesuffix('.')}: {own_words}"), cause, message.hint]))


def points(possible: int) -> str:
    """Return a number of points as text."""
    return f"{possible} point" if possible == 1 else f"{possible} points"


def meaning(report: Report) -> str:
    """Return a sentence on what the points of a report mean."""
    if not report.handed_in:
        return NOTHING_YET
    by = "By the hidden tests of the course."
    if report.suites == "visible":
        by = "By the visible tests. The grade is made with others, on your instructor's side."
    isolated = "" if report.isolation.enough else "Your code was not isolated while it ran here."
    return " ".join(filter(None, [by, isolated, report.both_pythons]))


def change_sentences(unit: Unit, timezone: str = "UTC") -> list[str]:
    """Return a sentence on an exemption, on when the unit was handed in, on each change of its points and each comment.

    A comment on an exercise is left out if the exercise is shown, because it belongs there.
    """
    sentences = ["You are exempt from this unit: it does not count."] if unit.exempt else []
    if unit.due and (unit.received or unit.extended):
        if unit.received and unit.received.at:
            at = in_zone(datetime.datetime.fromisoformat(unit.received.at), timezone)
            sentences.append(f"Handed in: {at} ({unit.received.source}).")
        else:
            sentences.append("It is not known when this was handed in, so nothing is taken off for now.")
        due = in_zone(datetime.datetime.fromisoformat(unit.due), timezone)
        sentences.append(f"Due: {due}{', with your extension' if unit.extended else ''}.")
    changes = [one for one in unit.changes if one.kind != "comment"]
    if changes:
        sentences.append(f"Earned: {unit.earned} of {unit.possible}.")
    for change in changes:
        about = f", {change.exercise}" if change.exercise else ""
        by = f" ({change.by})" if change.by else ""
        sentences.append(f"{change.points:+g} points{about}: {change.reason}{by}")
    if changes:
        sentences.append(f"Together, rounded down: {unit.points} of {unit.possible}.")
    return [*sentences, *comments(one for one in unit.changes if not _is_at_exercise(one, unit))]


def comments(changes: Iterable[Change]) -> list[str]:
    """Return a sentence for each comment among changes: who wrote it, on which exercise, and what."""
    return [
        f"Comment by {one.by}{f' on {one.exercise}' if one.exercise else ''}: {one.reason}"
        for one in changes
        if one.kind == "comment"
    ]


def exercise_comments(unit: Unit, exercise: str) -> list[str]:
    """Return a sentence for each comment on an exercise of a unit."""
    return [
        f"Comment by {one.by}: {one.reason}"
        for one in unit.changes
        if one.kind == "comment" and one.exercise == exercise
    ]


def _is_at_exercise(change: Change, unit: Unit) -> bool:
    """Return whether pages show the exercise that a change is about."""
    exercise = unit.exercises.get(change.exercise or "")
    return unit.path is not None and exercise is not None and bool(exercise.tests)


def is_late(unit: Unit, late: Late) -> bool:
    """Return whether a unit was handed in after its due date and the grace, or is marked as late without a time."""
    if unit.received is None or unit.due is None:
        return any(one.kind == "late" for one in unit.changes)
    if unit.received.at is None:
        return unit.received.source == "Canvas"
    times = (datetime.datetime.fromisoformat(text).astimezone(datetime.UTC) for text in (unit.received.at, unit.due))
    received, due = times
    return late.days((received - due).total_seconds()) > 0


def in_zone(time: datetime.datetime, timezone: str | None) -> str:
    """Return a time as text in a zone; in UTC for None, and where the system does not know the zone."""
    zone: datetime.tzinfo = datetime.UTC
    with contextlib.suppress(KeyError, ValueError, OSError):  # Windows knows none
        zone = zoneinfo.ZoneInfo(timezone) if timezone else zone
    return f"{time.astimezone(zone):%Y-%m-%d %H:%M %Z}"


def undated(unit: Unit) -> str:
    """Return a sentence for the instructor on work that may be late, or is, without a time; "" for all other work."""
    if unit.exempt or unit.received is None or unit.received.at is not None:
        return ""
    source = unit.received.source
    if source == "times.csv":
        return "Time unknown: no line of times.csv is surely about it, so it may be late: name its `submission` there."
    if source == "Canvas":
        return "Time unknown: Canvas marked it as late, and does not say when it came: add the time to times.csv."
    return f"Time unknown: {source} does not say when it came, so it may be late: add the time to times.csv."
