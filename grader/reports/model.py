"""The report: one versioned model of what a submission earned, and the file it is written to."""

from __future__ import annotations

import contextlib
import json
from collections import Counter
from collections.abc import Collection, Iterator
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from grader.course.model import Level
from grader.files import held, remove_partial, write_atomically
from grader.reports.sanitize import Text

INSTRUCTOR = "instructor"
NOT_WRITTEN = "It is not written yet."
"""The reason that a test gives where the answer still raises the stub's NotImplementedError."""
Points = Annotated[int, Field(ge=0)]
Suites = Literal["hidden", "visible"]
Digest = Annotated[str, Field(pattern="^[0-9a-f]{64}$")]


class _Model(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class Test(_Model):
    """One criterion: all of its points, or none."""

    name: str = Field(description="The criterion's name, which stays the same from term to term.")
    outcome: Literal["passed", "failed"] = Field(description="Whether the answer does what the criterion asks for.")
    points: Points = Field(description="All that are possible, or none.")
    possible: Points = Field(description="The exercise's weight.")
    sentence: str | None = Field(description="What was expected; None at the level `points`.")
    reason: Text | None = Field(description="What happened instead, if it failed; None at the level `points`.")


class Named(_Model):
    """A misconception that the answer behaves like."""

    name: str = Field(description="The misconception's name, which stays the same from term to term.")
    sentence: str = Field(description="What may help whoever has it.")


class Exercise(_Model):
    """One function or class that the student was to write."""

    points: Points = Field(description="The sum over the tests.")
    possible: Points = Field(description="The sum over the tests.")
    tests: list[Test] = Field(description="Every criterion, in the order of the course.")
    misconceptions: list[Named] = Field(description="The one that fits all outcomes, at the level `misconception`.")
    waiting_for: Text | None = Field(description="What must be right first, where the exercise could not be tested.")
    line: int | None = Field(description="Where the answer begins in the unit's file; None in notebooks.")
    remarks: list[Text] = Field(description="What is worth knowing and costs nothing.")


class QuizItem(_Model):
    """One item of a quiz. Up to the due date nothing here depends on whether the answer is right."""

    answered: bool = Field(description="Whether an answer that can be read is there.")
    points: Points | None = Field(description="None up to the due date.")
    possible: Points = Field(description="The item's own points times the quiz's weight.")
    problem: Text | None = Field(description="Why the answer cannot be read, from the student's text alone.")
    sentences: list[Text] = Field(description="After the due date, what there is to say to who answered so.")
    answer: str | None = Field(description="The right one, after the due date where the course tells it.")
    explanation: str | None = Field(description="After the due date where the course tells it.")


class Quiz(_Model):
    """The quiz of a unit."""

    points: Points | None = Field(description="None up to the due date.")
    possible: Points = Field(description="The sum over the items.")
    summary: str = Field(description="How many of the items have an answer that can be read: n of m answered.")
    variant: int = Field(ge=0, description="Which numbers the questions were asked with.")
    remarks: list[Text] = Field(description="What befell the sheet as a whole: a file that could not be read, and why.")
    items: dict[str, QuizItem] = Field(description="Every item by its name, in the order of the course.")


class Unit(_Model):
    """One unit: its exercises and its quiz."""

    points: Points = Field(description="Of the exercises, and from the due date on of the quiz.")
    possible: Points = Field(description="Of the exercises, and from the due date on of the quiz.")
    feedback: Level = Field(description="How much of each criterion this report tells, by autograder.yml and the date.")
    path: Text | None = Field(description="The file that was graded, from the submission's folder on.")
    remarks: list[Text] = Field(description="What befell the unit as a whole: a file that could not be read, and why.")
    exercises: dict[str, Exercise] = Field(description="Every exercise by its name, in the order of the course.")
    quiz: Quiz | None = Field(description="None where the unit has no quiz.")
    digest: Digest = Field(description="SHA-256 of the unit's own files and of what they were graded by.")


class Message(_Model):
    """What the student's own code printed or raised, which of its lines could not be run, and what it attempted.

    All of it is told by the student's own process: information, and never evidence.
    """

    unit: str = Field(description="The unit whose code it was.")
    exercise: str | None = Field(description="The exercise that was tested; None where the unit's file was run.")
    kind: Literal["printed", "raised", "not run", "attempted"] = Field(description="What the code did.")
    text: Text = Field(description="What it printed, or a sentence, with an error's own words behind it.")
    file: Text | None = Field(description="The file that it comes from, and of a notebook the cell, if that is known.")
    line: int | None = Field(description="The line there, if that is known.")


class Isolation(_Model):
    """Whether student code was locked in, and by which layers."""

    enough: bool = Field(description="Whether every layer was there that is needed.")
    layers: dict[str, bool] = Field(description="Of each layer, whether it was there.")


class Timing(_Model):
    """When the submission was graded, and for how long."""

    started: str = Field(description="A time with a zone, as in ISO 8601.")
    seconds: float = Field(description="From the first test to the last.")


class Report(_Model):
    """Everything about the grade of one submission. Points are whole numbers.

    All but messages, timing and versions is the same to the byte whenever the same submission is graded again.
    """

    schema_: Literal["attention-from-scratch/report/v1"] = Field(alias="schema", description="The form of this file.")
    student: Text = Field(description="The student's name, as the folder or the roster has it.")
    commit: str | None = Field(description="The commit that was graded; None outside a git checkout.")
    suites: Suites = Field(description="Which tests gave the points: the hidden ones, or those that students have.")
    handed_in: bool = Field(description="Whether there is more than what students receive; until then nothing is lost.")
    points: Points = Field(description="The sum over the units.")
    possible: Points = Field(description="The sum over the units.")
    units: dict[str, Unit] = Field(description="Every unit that was graded by its name, in the order of the course.")
    messages: list[Message] = Field(description="What the student's code did beside giving results.")
    timing: Timing = Field(description="When, and for how long.")
    isolation: Isolation = Field(description="What kept student code from everything else while it ran.")
    versions: dict[str, str] = Field(description="Of the grader, the course, and what they were run with.")
    digest: Digest = Field(description="SHA-256 of everything that decides the score.")

    def to_json(self) -> str:
        return self.model_dump_json(by_alias=True, indent=2) + "\n"


def json_schema() -> str:
    """The JSON Schema of a report, as committed in docs/report.schema.json."""
    schema: dict[str, Any] = {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "$id": "urn:attention-from-scratch:report:v1",
        **Report.model_json_schema(by_alias=True, mode="serialization"),
    }
    return json.dumps(schema, indent=2, ensure_ascii=False) + "\n"


@contextlib.contextmanager
def reports_folder(directory: Path) -> Iterator[None]:
    """Holds the folder for this program alone, rid of what one that was killed half wrote there.

    Raises FolderInUse, or OSError.
    """
    with held(directory):
        for folder in (directory, directory / INSTRUCTOR):
            remove_partial(folder, ".json")
        yield


def read_report(student: str, directory: Path) -> Report | None:
    """The report that write_report left there; None where there is none, or not in this form."""
    try:
        return Report.model_validate_json((directory / f"{student}.json").read_bytes())
    except (OSError, ValueError):
        return None


def reports_of_others(directory: Path, students: Collection[str]) -> list[str]:
    """The students, in order, who have a report in the folder and are none of these."""
    names = sorted(path.stem for path in directory.glob("*.json") if path.stem not in students)
    return [name for name in names if read_report(name, directory)]


def write_report(
    report: Report, pytest_report: dict[str, Any] | None, directory: Path, kept: Collection[str] = ()
) -> Path:
    """Writes directory/<student>.json and, for the instructor alone, directory/instructor/<student>.pytest.json.

    The student's file comes last, so where it is there, everything is. kept: the units that were graded before, whose
    tests stay in the instructor's file. Raises OSError.
    """
    instructor = directory / INSTRUCTOR
    instructor.mkdir(parents=True, exist_ok=True)
    if pytest_report is not None:
        path = instructor / f"{report.student}.pytest.json"
        if kept:
            pytest_report = _with_earlier_tests(pytest_report, path, kept, list(report.units))
        write_atomically(path, json.dumps(pytest_report, indent=1, default=str) + "\n")
    path = directory / f"{report.student}.json"
    write_atomically(path, report.to_json())
    return path


def _with_earlier_tests(new: dict[str, Any], path: Path, kept: Collection[str], units: list[str]) -> dict[str, Any]:
    """Pytest's report with the tests of the units in `kept` that the file at `path` has, in the order of `units`."""

    def unit_of(test: dict[str, Any]) -> str:
        return Path(test["nodeid"].partition("::")[0]).stem.removeprefix("test_")

    try:
        earlier = [test for test in json.loads(path.read_bytes())["tests"] if unit_of(test) in kept]
    except (OSError, ValueError, LookupError, TypeError):
        return new  # there is none, or not in this form
    tests = sorted([*earlier, *new.get("tests", [])], key=lambda test: units.index(unit_of(test)))
    counts = Counter(test["outcome"] for test in tests)
    summary = {**counts, "total": len(tests), "collected": len(tests)}
    return {**new, "exitcode": 1 if counts["failed"] else 0, "summary": summary, "tests": tests}
