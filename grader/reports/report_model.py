"""The report: a versioned model of what a submission earned, and the results of the engine that it is made from.

Text that a student may have influenced is sanitized whenever a report is made or read.
"""

from __future__ import annotations

import datetime
import functools
import json
import re
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, Field

from grader.course.model import Level
from grader.documents import Model
from grader.testing.drawings import Drawing, OwnQuestion
from grader.text import MOST_OF_A_LINE, printable

MOST_OF_A_TEXT = 4000
"""The most characters of one text in a report."""

# A terminal's escape sequences: colours and movements, and titles with links.
_SEQUENCE = re.compile(r"(?:\x1b\[|\x9b)[0-?]*[ -/]*[@-~]|\x1b\][^\x07\x1b\n]*(?:\x07|\x1b\\)")

NOT_WRITTEN = "It is not written yet."
"""The reason of a failed test if the answer still raises the stub's NotImplementedError."""
COURSE_PYTHON = "course python"
"""The version of Python that the course names, among a report's versions if another one has run the code."""
Points = Annotated[int, Field(ge=0)]
Suites = Literal["hidden", "visible"]
Digest = Annotated[str, Field(pattern="^[0-9a-f]{64}$")]
# Reports from before 23 November 2026 have no digests of their units, and no `handed_in`.
UNKNOWN = "0" * 64


def sanitize(text: str) -> str:
    """Make plain text: no control or hidden characters, escape sequences, or paths of this machine; at most so long.

    Line ends and tabs stay. A second call changes nothing.
    """
    for folder in _private_folders():
        text = text.replace(folder, "…")
    # GitHub's runner obeys `##[name]` anywhere in a line, also if a workflow prints the report.
    text = printable(_SEQUENCE.sub("", text).replace("\r\n", "\n")).replace("##[", "## [")
    if len(text) <= MOST_OF_A_TEXT:
        return text
    kept = MOST_OF_A_TEXT - 40
    return f"{text[:kept]}… ({len(text) - kept} more characters)"


def sanitize_line(text: str) -> str:
    """Make one line of plain text, of at most MOST_OF_A_LINE characters."""
    line = " ".join(sanitize(text).splitlines())
    return line if len(line) <= MOST_OF_A_LINE else f"{line[: MOST_OF_A_LINE - 1]}…"


@functools.cache
def _private_folders() -> list[str]:
    """Return the folders of the grader and of Python, and the grader's parent folders except the two outermost."""
    root = Path(__file__).resolve().parents[2]
    return [str(root), sys.prefix, sys.base_prefix, *(str(folder) for folder in root.parents[:-2])]


def _if_text(clean: Callable[[str], str]) -> BeforeValidator:
    return BeforeValidator(lambda value: clean(value) if isinstance(value, str) else value)


Text = Annotated[str, _if_text(sanitize)]
"""Text that a student may have influenced, sanitized whenever a report is made or read."""
Line = Annotated[str, _if_text(sanitize_line)]
"""The same, of one line: the name of a file, or a line of code."""


class Test(Model):
    """One criterion, which earns all of its points or none."""

    name: str = Field(description="The criterion's name, which stays the same from term to term.")
    outcome: Literal["passed", "failed"] = Field(description="Whether the answer meets the criterion.")
    points: Points = Field(description="All possible points, or none.")
    possible: Points = Field(description="The exercise's weight.")
    sentence: str | None = Field(description="The expected behaviour; None at the level `points`.")
    reason: Text | None = Field(description="What happened instead if it failed; None at the level `points`.")


class Named(Model):
    """A misconception that the answer behaves like, or a property of its wrong results."""

    name: str = Field(description="The name, which stays the same from term to term.")
    sentence: str = Field(description="A hint for the student.")


class Exercise(Model):
    """One function or class that the student writes."""

    points: Points = Field(description="The sum over the tests.")
    possible: Points = Field(description="The sum over the tests.")
    tests: list[Test] = Field(description="Every criterion, in the order of the course.")
    misconceptions: list[Named] = Field(
        description="The one that fits all outcomes, or the two that explain them together, or a property of the wrong "
        "results; only at the level `misconception`."
    )
    waiting_for: Text | None = Field(description="Why it could not be tested: the exercises that must be right first.")
    main: str | None = Field(
        default=None, description="The failed test that explains most of the others; None at the level `points`."
    )
    line: int | None = Field(description="The line of the unit's file on which the answer begins; None in notebooks.")
    remarks: list[Text] = Field(description="Notes that cost no points.")


class QuizItem(Model):
    """One item of a quiz. Up to the due date, nothing here depends on whether the answer is right."""

    answered: bool = Field(description="Whether there is a readable answer.")
    points: Points | None = Field(description="None up to the due date.")
    possible: Points = Field(description="The item's own points times the quiz's weight.")
    problem: Text | None = Field(description="Why the answer cannot be read; depends on the student's text alone.")
    sentences: list[Text] = Field(description="The feedback on this answer, after the due date.")
    answer: str | None = Field(description="The accepted answer, after the due date if the course shows it.")
    explanation: str | None = Field(description="After the due date if the course shows it.")


class Quiz(Model):
    """The quiz of a unit."""

    points: Points | None = Field(description="None up to the due date.")
    possible: Points = Field(description="The sum over the items.")
    summary: str = Field(description="How many items have a readable answer: n of m answered.")
    variant: int = Field(ge=0, description="Which variant of the numbers in the questions.")
    remarks: list[Text] = Field(description="Notes on the whole sheet, such as why a file could not be read.")
    items: dict[str, QuizItem] = Field(description="Every item by its name, in the order of the course.")


class Received(Model):
    """When a unit was handed in, and what says so."""

    at: str | None = Field(description="An ISO 8601 time with a zone; None: the source does not say it.")
    source: str = Field(description="Where the time is from, such as `push` or `times.csv`.")


class Change(Model):
    """A change of a unit's points after it was graded, or an instructor's comment on it."""

    kind: Literal["late", "adjustment", "comment"] = Field(
        description="A deduction for late work, an instructor's adjustment, or a comment without points."
    )
    points: float = Field(description="Negative for a deduction; it may have a fraction; 0 for a comment.")
    reason: Text = Field(description="Why, for the student; or the comment.")
    exercise: str | None = Field(description="The exercise that it is about, if only one.")
    by: Text | None = Field(description="Who made an adjustment, or wrote a comment.")


class Unit(Model):
    """One unit: its exercises and its quiz."""

    points: Points = Field(
        description="Of the exercises and, after the due date, of the quiz, with the changes; rounded down once."
    )
    possible: Points = Field(description="Of the exercises and, after the due date, of the quiz.")
    earned: Points | None = Field(
        default=None, description="The points before changes; None in reports from before 25 November 2026."
    )
    changes: list[Change] = Field(default=[], description="The late deduction, adjustments and comments.")
    received: Received | None = Field(default=None, description="When it was handed in, if that is known.")
    due: str | None = Field(default=None, description="An ISO 8601 time with a zone: when this student's work was due.")
    extended: bool = Field(default=False, description="Whether that is an extension.")
    exempt: bool = Field(default=False, description="Whether it does not count for this student.")
    feedback: Level = Field(description="How much feedback this report gives, by autograder.yml and the date.")
    path: Line | None = Field(description="The file that was graded, relative to the submission's folder.")
    remarks: list[Text] = Field(description="Notes on the whole unit, such as why a file could not be read.")
    exercises: dict[str, Exercise] = Field(description="Every exercise by its name, in the order of the course.")
    quiz: Quiz | None = Field(description="None if the unit has no quiz.")
    digest: Digest = Field(UNKNOWN, description="SHA-256 of the unit's own files and everything they were graded by.")
    answers: Digest = Field(UNKNOWN, description="SHA-256 of the unit's own files.")
    tests: Digest = Field(default=UNKNOWN, description="SHA-256 of the unit's hidden tests; zeros for visible ones.")
    key: Digest = Field(
        default=UNKNOWN, description="SHA-256 of the quiz with its answers; zeros if it does not count."
    )


class Message(Model):
    """What the student's code printed, raised or attempted, or a line that could not be run.

    Reported by the student's own process, so it is information and never evidence.
    """

    unit: str = Field(description="The unit whose code it was.")
    exercise: str | None = Field(description="The exercise that was tested; None if the unit's file was run.")
    kind: Literal["printed", "raised", "not run", "attempted"] = Field(description="What the code did.")
    text: Text = Field(description="The output, or a sentence followed by the text of the error.")
    file: Line | None = Field(description="The file, or the notebook and its cell, if known.")
    line: int | None = Field(description="The line in the file, if known.")
    trace: list[Line] = Field(
        default=[], description="The student's lines that led to an error, with their text, the outermost first."
    )
    hint: Text | None = Field(default=None, description="What to do about an error, if known.")


class Isolation(Model):
    """Whether student code was isolated, and by which layers."""

    enough: bool = Field(description="Whether every required layer was active.")
    layers: dict[str, bool] = Field(description="Whether each layer was active.")


class Timing(Model):
    """When the submission was graded, and for how long."""

    started: str = Field(description="An ISO 8601 time with a zone.")
    seconds: float = Field(description="Seconds from the first test to the last.")


class Report(Model):
    """Everything about the grade of one submission. Points are whole numbers.

    The same submission gives the same report to the byte, except for messages, timing and versions.
    """

    schema_: Literal["attention-from-scratch/report/v1"] = Field(
        alias="schema", description="The version of this format."
    )
    course: Text = Field("", description="The name of the course.")
    student: Text = Field(description="The student's name, from the folder or the roster.")
    name: Text = Field(default="", description="The student's own name, if the roster has it.")
    together: list[Text] = Field(
        default=[],
        description="The students who handed this submission in together, this one included; empty for one alone.",
    )
    timezone: str = Field(default="UTC", description="The time zone in which pages show times: that of the course.")
    comments: list[Change] = Field(default=[], description="An instructor's comments on all of it.")
    commit: str | None = Field(description="The commit that was graded; None outside a git checkout.")
    suites: Suites = Field(
        description="Which tests gave the points: the hidden ones, or the visible ones that students have."
    )
    handed_in: bool = Field(True, description="Whether any file differs from what students receive.")
    points: Points = Field(description="The sum over the units, except exempt ones.")
    possible: Points = Field(description="The sum over the units, except exempt ones.")
    units: dict[str, Unit] = Field(description="Every graded unit by its name, in the order of the course.")
    messages: list[Message] = Field(description="What the student's code printed, raised or attempted.")
    timing: Timing = Field(description="When it was graded, and for how long.")
    isolation: Isolation = Field(description="How student code was isolated.")
    versions: dict[str, str] = Field(
        description="Of the grader, the course, Python and the libraries; `course python` if the course names another "
        "Python for grading."
    )
    digest: Digest = Field(description="SHA-256 of everything that decides the score.")

    @property
    def started(self) -> datetime.datetime:
        """When the submission was graded."""
        return datetime.datetime.fromisoformat(self.timing.started)

    @property
    def both_pythons(self) -> str:
        """A sentence on the Python that ran the code, if the course names another one for grading; otherwise ""."""
        here, course = self.versions.get("python"), self.versions.get(COURSE_PYTHON)
        if not here or not course:
            return ""
        here = ".".join(here.split(".")[:2])
        if self.suites == "visible":
            return f"Your Python is {here}; grading uses {course}."
        return f"Python {here} graded this; the course names Python {course}."

    def with_units(self, units: dict[str, Unit]) -> Report:
        """Return the report with these units, and the sums of those that count."""
        counted = [unit for unit in units.values() if not unit.exempt]
        points, possible = sum(unit.points for unit in counted), sum(unit.possible for unit in counted)
        return self.model_copy(update={"units": units, "points": points, "possible": possible})

    def to_json(self) -> str:
        """Return the text of the file."""
        return self.model_dump_json(by_alias=True, indent=2) + "\n"


def json_schema() -> str:
    """Return the JSON Schema of a report, as committed in docs/report.schema.json."""
    schema: dict[str, Any] = {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "$id": "urn:attention-from-scratch:report:v1",
        **Report.model_json_schema(by_alias=True, mode="serialization"),
    }
    return json.dumps(schema, indent=2, ensure_ascii=False) + "\n"


@dataclass(frozen=True)
class Described:
    """A criterion as reports show it; or a misconception that explains outcomes, or a property of wrong results."""

    unit: str
    exercise: str
    name: str
    sentence: str


@dataclass(frozen=True)
class Judged:
    """The outcome of a criterion.

    Attributes:
        unit: The criterion's unit.
        exercise: Its exercise.
        name: Its name.
        passed: Whether it passed.
        reason: Why it failed, for the student; empty if it is waiting, which is reported once for the exercise.
        waiting: Whether it cannot be judged before other exercises are right.
        substitutes: The exercises whose substitutes were called, or that it is waiting for.
        remarks: Notes for the student that cost no points.
        is_main: Whether it explains most of the failures of its exercise.
    """

    unit: str
    exercise: str
    name: str
    passed: bool
    reason: str = ""
    waiting: bool = False
    substitutes: Sequence[str] = ()
    remarks: Sequence[str] = ()
    is_main: bool = False


@dataclass(frozen=True)
class Result:
    """The results of the suites on one submission.

    Attributes:
        outcomes: The outcomes of all criteria of the graded units.
        misconceptions: The misconceptions that were recognized.
        messages: What the student's code printed, raised or attempted.
        layers: The layers that isolated the student process; empty if there was no such process.
        exceeded: The units that used more than the grading process may use.
        drawings: The pictures of the exercises that were to be drawn.
        questions: The questions on the student's own code for these exercises.
        seconds: How long grading took.
        pytest: Pytest's own report, for the instructor only.
    """

    outcomes: list[Judged] = field(default_factory=list)
    misconceptions: list[Described] = field(default_factory=list)
    messages: list[Message] = field(default_factory=list)
    layers: dict[str, bool] = field(default_factory=dict)
    exceeded: list[str] = field(default_factory=list)
    drawings: list[Drawing] = field(default_factory=list)
    questions: list[OwnQuestion] = field(default_factory=list)
    seconds: float = 0.0
    pytest: dict[str, Any] = field(default_factory=dict)
