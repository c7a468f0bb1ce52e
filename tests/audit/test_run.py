"""The audit's worker processes grade cases in student processes."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from courses import COURSE
from units import SUITES

from grader.audit.cases import Case, cases_of
from grader.audit.run import CaseResult, run, ticks_of
from grader.engine.failure_matrix import names_in
from grader.errors import InternalError
from grader.testing.misconceptions import build as build_misconceptions

UNIT, EXERCISE = "causal_attention", "causal_mask"


@pytest.fixture(scope="module")
def results() -> dict[str, CaseResult]:
    cases = [case for case in cases_of(COURSE, UNIT) if case.exercise == EXERCISE]
    [found] = run(COURSE, cases, jobs=1)
    assert [result.case for result in found] == cases
    return {f"{result.case.kind}: {result.case.name}": result for result in found}


def test_a_right_answer_passes_all_criteria_and_has_no_name(results: dict[str, CaseResult]) -> None:
    found = results["solution: solution"]
    assert (found.missed, found.named, found.search) == ((), (), None)


def test_a_stub_fails_every_criterion(results: dict[str, CaseResult]) -> None:
    assert list(results["stub: stub"].missed) == [one.name for one in SUITES[UNIT].of(EXERCISE)]


def test_a_mistake_fails_the_same_criteria_in_a_student_process(results: dict[str, CaseResult]) -> None:
    suite = SUITES[UNIT]
    for mistake in suite.mistakes_in(EXERCISE):
        found = results[f"misconception: {mistake.name}"]
        assert set(found.missed) == suite.missed_by(mistake)
        assert found.named == (mistake.name,)


def mutants(results: dict[str, CaseResult]) -> Iterator[CaseResult]:
    return (result for result in results.values() if result.case.mutant)


def test_a_mutant_has_its_difference_from_the_solution(results: dict[str, CaseResult]) -> None:
    found = list(mutants(results))
    assert found
    for result in found:
        assert result.search
        assert (result.search.difference is None) == (not result.missed)


def test_a_unit_runs_with_the_units_that_it_imports() -> None:
    sources = {"other": "def double(x):\n    return 2 * x\n", "sums": "from other import double\nfour = double(2)\n"}
    assert names_in("sums", sources)["four"] == 4


def test_a_process_that_ends_is_an_error_of_the_audit(results: dict[str, CaseResult]) -> None:
    right = results["solution: solution"].case
    ending = f"{right.sources[UNIT]}\nimport os\nos._exit(1)\n"
    case = Case(UNIT, EXERCISE, "solution", "ending", {UNIT: ending})
    with pytest.raises(InternalError, match="a process of the audit ended before it was done"):
        list(run(COURSE, [case], jobs=1))


def test_every_wrong_answer_to_unit_one_loses_its_tick_and_every_right_one_has_it() -> None:
    build_misconceptions(COURSE, ["simple_attention"])
    found = ticks_of(COURSE, "simple_attention", cases_of(COURSE, "simple_attention"))
    assert (found.ticked, found.refused) == ([], [])
    assert found.wrong > 100
    assert found.right > 20
