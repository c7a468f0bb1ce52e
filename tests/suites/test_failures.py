"""Each known mistake loses the points of its line in failures.txt, and no others."""

from __future__ import annotations

import pytest
from failures import FILE, WRITE_ANEW, of_misconceptions, of_other_mistakes
from units import SUITES, Suite

COMMITTED = set(FILE.read_text(encoding="utf-8").splitlines())


@pytest.mark.parametrize("suite", SUITES.values(), ids=SUITES)
def test_each_misconception_fails_the_criteria_of_its_line(suite: Suite) -> None:
    assert sorted(set(of_misconceptions(suite)) - COMMITTED) == [], f"Not in failures.txt: {WRITE_ANEW}."


@pytest.mark.proof(part="audit")
def test_every_line_is_of_a_mistake_that_fails_these_criteria() -> None:
    found = {line for suite in SUITES.values() for line in (*of_misconceptions(suite), *of_other_mistakes(suite))}
    assert sorted(found ^ COMMITTED) == [], f"Not both in failures.txt and true: {WRITE_ANEW}."
