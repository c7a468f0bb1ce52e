"""The failure matrix: recorded outcomes equal those of a run, and outdated ones are recorded again."""

from __future__ import annotations

from pathlib import Path

import courses
import pytest
from units import SUITES

from grader.testing.student import InProcessBackend

UNIT, EXERCISE = "causal_attention", "mask_then_softmax"


def test_recorded_outcomes_equal_those_of_a_run() -> None:
    suite = SUITES[UNIT]
    rows = suite.recorded(EXERCISE)
    assert rows.keys() == {mistake.name for mistake in suite.mistakes_in(EXERCISE)}
    for mistake in suite.mistakes_in(EXERCISE):
        for criterion in suite.of(EXERCISE):
            outcome = criterion.run(InProcessBackend(UNIT, {EXERCISE: mistake.implementation}))
            found = rows[mistake.name][criterion.name]
            assert (found.passed, found.kind) == (outcome.passed, outcome.kind)
            assert found.resembles(outcome)


@pytest.mark.proof(part="grading")
def test_only_changed_outcomes_are_recorded_again(own_small_course: Path) -> None:
    def built() -> dict[str, int]:
        """The recorded files, each with a number that changes when it is written again."""
        done = courses.run_grader(own_small_course, "build")
        assert done.returncode == 0, done.stderr
        return {path.name: path.stat().st_ino for path in (own_small_course / "build" / "failures").glob("sums.*")}

    (own_small_course / "solutions" / "sums.py").write_text(courses.BUILDABLE)
    first = built()
    assert first.keys() == {"sums.add", "sums.Scale"}
    assert built() == first
    courses.replace(own_small_course / "suites" / "sums" / "add.py", "fresh(2, 3)", "fresh(3, 2)")
    assert all(built()[name] != number for name, number in first.items())


@pytest.mark.proof(part="grading")
def test_a_misconception_that_loses_no_criterion_is_an_error_with_its_place(own_small_course: Path) -> None:
    (own_small_course / "solutions" / "sums.py").write_text(courses.BUILDABLE)
    path = own_small_course / "suites" / "sums" / "add.py"
    path.write_text(path.read_text().replace("return a - b", "return a + b"))
    done = courses.run_grader(own_small_course, "build")
    assert done.returncode == 2
    place = f"suites/sums/add.py:{path.read_text().splitlines().index('def subtracts(a, b):')}"
    assert f"{place}: subtracts loses no criterion of add" in " ".join(done.stderr.split())
