"""Nothing that an honest answer does is reported as an attempt, however its author likes to write."""

from __future__ import annotations

from pathlib import Path

import courses
import pytest
from courses import COURSE, REPOSITORY
from example_class import CLASS
from units import SUITES

from grader.audit.cases import completed
from grader.engine.client import Engine
from grader.submissions.reader import read_submission
from grader.submissions.source import Submission, UnitSource, UnitSubmission

UNITS = COURSE.units
HOSTILE = "mallory"
RIGHT_ANSWERS = {f"{unit}-{path.stem}": (unit, path) for unit in UNITS for path in SUITES[unit].accepted_answers}
HONEST = [name for name in CLASS if name != HOSTILE]


def attempts(engine: Engine, submission: Submission) -> list[str]:
    return [message.text for message in courses.graded(engine, submission).messages if message.kind == "attempted"]


@pytest.mark.proof(part="attacks")
@pytest.mark.parametrize("name", RIGHT_ANSWERS)
def test_a_right_answer_attempts_nothing(engine: Engine, name: str) -> None:
    unit, path = RIGHT_ANSWERS[name]
    source = UnitSource(f"{unit}.py", (completed(COURSE, path, unit),))
    assert attempts(engine, Submission(name, path, None, {unit: UnitSubmission(source)})) == []


@pytest.mark.proof(part="attacks")
@pytest.mark.parametrize("name", HONEST)
def test_an_honest_student_of_the_example_class_attempts_nothing(
    engine: Engine, example_class: Path, name: str
) -> None:
    assert attempts(engine, read_submission(name, example_class / name, UNITS, REPOSITORY / "exercises")) == []


def test_an_attempt_would_be_told_of(engine: Engine) -> None:
    source = UnitSource("self_attention.py", ("open('/etc/passwd')\n",))
    told = attempts(engine, Submission("ada", Path(), None, {"self_attention": UnitSubmission(source)}))
    assert told == ["It tried to open a file: /etc/passwd"]
