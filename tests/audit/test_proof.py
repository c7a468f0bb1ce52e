"""The proof of this course's own suites: the whole audit finds nothing wrong, and docs/accuracy.md has its figures."""

from __future__ import annotations

import re

import courses
import pytest
from courses import COURSE, REPOSITORY
from units import SUITES

from grader.audit.pages import interval
from grader.audit.verdict import digest_of

PAGE = (REPOSITORY / "docs" / "accuracy.md").read_text(encoding="utf-8")


@pytest.mark.proof(part="full")
def test_no_answer_of_any_unit_is_graded_or_named_wrongly() -> None:
    """Right answers keep all points, wrong ones lose some and get their own name or none, and no mutant survives."""
    found = courses.run_grader(REPOSITORY, "audit")
    assert found.returncode == 0, found.stderr


def test_the_page_has_the_digest_of_the_current_suites() -> None:
    assert f"`{digest_of(COURSE)}`" in PAGE, "docs/accuracy.md is outdated: run `grader audit`"


def test_the_page_says_that_nothing_was_graded_wrongly() -> None:
    assert len(PAGE.splitlines()) <= 200
    row = re.search(r"^\| \*\*all\*\* \| (.*) \|$", PAGE, re.MULTILINE)
    assert row
    criteria, right, losing, wrong, keeping, mutants, killed, equivalent, survived, unfair = (
        int(cell.replace(",", "")) for cell in row[1].split(" | ")
    )
    assert criteria == sum(len(suite.criteria) for suite in SUITES.values())
    assert right > 0
    assert wrong > 0
    assert mutants == killed + equivalent
    assert losing == keeping == survived == unfair == 0


@pytest.mark.parametrize(
    ("count", "total", "low", "high"), [(0, 175, 0.0, 0.021), (5, 520, 0.004, 0.022), (7, 7, 0.646, 1.0)]
)
def test_an_interval_is_wilsons(count: int, total: int, low: float, high: float) -> None:
    assert interval(count, total) == pytest.approx((low, high), abs=5e-4)
