"""What the benchmarks measure: a class whose answers are what they are called, and a peer that runs the same tests."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pytest
from units import COURSE, SUITES

from grader.batch import Engine
from grader.course import ROOT

sys.path.insert(0, str(ROOT / "benchmarks"))
import class_throughput as benchmark
import regrades


@pytest.fixture(scope="module")
def submissions(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("class")
    benchmark.make_class(folder)
    return folder


def test_the_class_is_the_same_every_time(submissions: Path, tmp_path: Path) -> None:
    students = benchmark.make_class(tmp_path)
    assert len(students) >= 20
    for student in students:
        for unit in COURSE.units:
            file = Path(student) / f"{unit}.py"
            assert (tmp_path / file).read_text() == (submissions / file).read_text()


@pytest.mark.parametrize("unit", COURSE.units)
def test_a_mistake_is_written_so_that_it_does_what_the_misconception_does(unit: str) -> None:
    suite = SUITES[unit]
    mistakes = benchmark.mistakes_of(unit)
    for mistake in mistakes[:: len(mistakes) // 4]:
        names: dict[str, Any] = {"__name__": unit}
        exec(f"from __future__ import annotations\n{benchmark.source_of(mistake, unit)}", names)
        missed = set(suite.outcomes(names, mistake.exercise)) - suite.passed(names, mistake.exercise)
        assert missed == suite.missed_by(mistake)


def test_the_peer_runs_every_test_of_a_unit_and_a_right_answer_passes_them_all(submissions: Path) -> None:
    unit = next(iter(COURSE.units))
    took, passed = benchmark.run_peer(submissions / "right-00", unit)
    assert passed == len(SUITES[unit].criteria)
    assert took.wall > 0


def test_an_answer_that_is_still_to_write_passes_no_test_of_the_peer(submissions: Path) -> None:
    _, passed = benchmark.run_peer(submissions / "unfinished-00", next(iter(COURSE.units)))
    assert passed == 0


def test_ten_submissions_to_grade_again_each_have_two_mistakes(engine: Engine) -> None:
    submissions = list(regrades.partly_right(COURSE))
    assert len({submission.student for submission in submissions}) == 10
    for submission, result in engine.grade(submissions, 2):
        wrong = {one["exercise"] for one in result["outcomes"] if not one["passed"]}
        assert len(wrong) == 2, submission.student
