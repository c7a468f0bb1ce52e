"""The report: one versioned model of what a submission earned, and the file it is written to."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field

from grader.course import Level
from grader.files import held, remove_partial, write_atomically
from grader.safe_text import visible

INSTRUCTOR = "instructor"
NOT_WRITTEN = "It is not written yet."
"""The reason that a test gives where the answer still raises the stub's NotImplementedError."""
Points = Annotated[int, Field(ge=0)]
Text = Annotated[str, BeforeValidator(lambda text: visible(text) if isinstance(text, str) else text)]
"""That a student may have had a hand in: no other is in a report, and none that is not made safe."""
Suites = Literal["hidden", "visible"]


class _Model(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class Test(_Model):
    """One criterion: all of its points, or none.

    sentence says what was expected, reason what happened instead; both are withheld at the level `points`.
    """

    name: str
    outcome: Literal["passed", "failed"]
    points: Points
    possible: Points
    sentence: str | None
    reason: Text | None


class Named(_Model):
    """A misconception that the answer behaves like, and the sentence that may help."""

    name: str
    sentence: str


class Exercise(_Model):
    points: Points
    possible: Points
    tests: list[Test]
    misconceptions: list[Named]
    waiting_for: Text | None = Field(description="What must be right first, where the exercise could not be tested.")
    line: int | None = Field(description="Where the answer begins in the unit's file; None in notebooks.")
    remarks: list[Text]


class QuizItem(_Model):
    """One item of a quiz. Up to the due date nothing here depends on whether the answer is right."""

    answered: bool = Field(description="Whether an answer that can be read is there.")
    points: Points | None = Field(description="None up to the due date.")
    possible: Points
    problem: Text | None = Field(description="Why the answer cannot be read, from the student's text alone.")
    sentences: list[Text] = Field(description="After the due date, what there is to say to who answered so.")
    answer: str | None = Field(description="The right one, after the due date where the course tells it.")
    explanation: str | None = Field(description="After the due date where the course tells it.")


class Quiz(_Model):
    points: Points | None = Field(description="None up to the due date.")
    possible: Points
    summary: str = Field(description="How many of the items have an answer that can be read: n of m answered.")
    variant: int = Field(ge=0, description="Which numbers the questions were asked with.")
    remarks: list[Text] = Field(description="What befell the sheet as a whole: a file that could not be read, and why.")
    items: dict[str, QuizItem]


class Unit(_Model):
    """A unit's points, with those of its quiz from the due date on."""

    points: Points
    possible: Points
    feedback: Level = Field(description="How much of each criterion this report tells, by autograder.yml and the date.")
    path: Text | None = Field(description="The file that was graded, from the submission's folder on.")
    remarks: list[Text] = Field(description="What befell the unit as a whole: a file that could not be read, and why.")
    exercises: dict[str, Exercise]
    quiz: Quiz | None = Field(description="None where the unit has no quiz.")


class Message(_Model):
    """What the student's own code printed or raised, which of its lines could not be run, and what it attempted.

    All of it is told by the student's own process: information, and never evidence.
    """

    unit: str
    exercise: str | None
    kind: Literal["printed", "raised", "not run", "attempted"]
    text: Text
    file: Text | None
    line: int | None


class Isolation(_Model):
    """Whether student code was locked in, and by which layers."""

    enough: bool
    layers: dict[str, bool]


class Timing(_Model):
    started: str
    seconds: float


class Report(_Model):
    """Everything about the grade of one submission. Points are whole numbers.

    All but messages, timing and versions is the same to the byte whenever the same submission is graded again.
    """

    schema_: Literal["attention-from-scratch/report/v1"] = Field(alias="schema")
    student: Text
    commit: str | None
    suites: Suites = Field(description="Which tests gave the points: the hidden ones, or those that students have.")
    handed_in: bool = Field(description="Whether there is more than what students receive; until then nothing is lost.")
    points: Points
    possible: Points
    units: dict[str, Unit]
    messages: list[Message]
    timing: Timing
    isolation: Isolation
    versions: dict[str, str]
    digest: str = Field(pattern="^[0-9a-f]{64}$", description="SHA-256 of everything that decides the score.")

    def to_json(self) -> str:
        return self.model_dump_json(by_alias=True, indent=2) + "\n"


def json_schema() -> str:
    """The JSON Schema of a report, as committed in docs/report.schema.json."""
    schema: dict[str, Any] = {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
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


def write_report(report: Report, pytest_report: dict[str, Any] | None, directory: Path) -> Path:
    """Writes directory/<student>.json and, for the instructor alone, directory/instructor/<student>.pytest.json.

    The student's file comes last, so where it is there, everything is. Raises OSError.
    """
    instructor = directory / INSTRUCTOR
    instructor.mkdir(parents=True, exist_ok=True)
    if pytest_report is not None:
        text = json.dumps(pytest_report, indent=1, default=str)
        write_atomically(instructor / f"{report.student}.pytest.json", text + "\n")
    path = directory / f"{report.student}.json"
    write_atomically(path, report.to_json())
    return path
