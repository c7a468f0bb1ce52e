"""No honest answer causes an anomaly, whatever its style."""

from __future__ import annotations

from pathlib import Path

import courses
import pytest
from courses import COURSE, REPOSITORY
from example_class import CLASS
from units import SUITES

from grader.audit.cases import in_style
from grader.engine.engine_client import Engine
from grader.submissions.reader import read_submission
from grader.submissions.submission import Submission, UnitSource, UnitSubmission

UNITS = COURSE.units
HOSTILE = "mallory"
RIGHT_ANSWERS = {f"{unit}-{style}": (unit, style) for unit in UNITS for style in SUITES[unit].styles}
HONEST = [name for name in CLASS if name != HOSTILE]


def anomalies(engine: Engine, submission: Submission) -> list[str]:
    return [message.text for message in courses.graded(engine, submission).messages if message.kind == "attempted"]


@pytest.mark.proof(part="attacks")
@pytest.mark.parametrize("name", RIGHT_ANSWERS)
def test_a_right_answer_causes_no_anomaly(engine: Engine, name: str) -> None:
    unit, style = RIGHT_ANSWERS[name]
    source = UnitSource(f"{unit}.py", (in_style(COURSE, unit, style),))
    assert anomalies(engine, Submission(name, None, {unit: UnitSubmission(source)})) == []


@pytest.mark.proof(part="attacks")
@pytest.mark.parametrize("name", HONEST)
def test_an_honest_student_of_the_example_class_causes_no_anomaly(
    engine: Engine, example_class: Path, name: str
) -> None:
    assert anomalies(engine, read_submission(name, example_class / name, UNITS, REPOSITORY / "exercises")) == []


def test_an_anomaly_would_be_reported(engine: Engine) -> None:
    source = UnitSource("self_attention.py", ("open('/etc/passwd')\n",))
    found = anomalies(engine, Submission("ada", None, {"self_attention": UnitSubmission(source)}))
    assert found == ["It tried to open a file: /etc/passwd"]
