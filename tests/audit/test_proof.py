"""The proof of this course's own suites: the tables in docs/audit are of them as they are, and a sample agrees."""

from __future__ import annotations

import courses
import pytest
from units import SUITES, Suite

from grader.audit.cases import SUITES as SUITES_FOLDER
from grader.audit.pages import read_table, summary_page, unit_page
from grader.audit.verdict import UnitTable, digest_of, naming_of, problems_of
from grader.course import ROOT, load_course

FOLDER = ROOT / "docs" / "audit"
COURSE = load_course()
by_unit = pytest.mark.parametrize("suite", SUITES.values(), ids=SUITES)


def table(unit: str) -> UnitTable:
    found = read_table(unit, FOLDER)
    assert found, f"docs/audit/{unit}.json is missing: run `grader audit`"
    return found


@by_unit
def test_the_table_is_of_the_files_as_they_are(suite: Suite) -> None:
    assert table(suite.unit).digest == digest_of(suite.unit), f"run `grader audit --unit {suite.unit}`"


@by_unit
def test_the_pages_say_what_the_table_says(suite: Suite) -> None:
    assert (FOLDER / f"{suite.unit}.md").read_text(encoding="utf-8") == unit_page(table(suite.unit), COURSE)
    summary = summary_page([table(unit) for unit in COURSE.units], COURSE)
    assert (FOLDER / "README.md").read_text(encoding="utf-8") == summary


@by_unit
def test_nothing_survives_and_no_right_answer_loses_a_point(suite: Suite) -> None:
    assert problems_of(table(suite.unit)) == []


@by_unit
def test_every_misconception_was_graded_also_in_other_words(suite: Suite) -> None:
    for exercise, found in table(suite.unit).exercises.items():
        known = [mistake.name for mistake in suite.mistakes_in(exercise)]
        assert [one.name for one in found.misconceptions] == known
        assert [one.name for one in found.in_other_words] == known


@by_unit
def test_every_mistake_is_named_by_its_own_name_and_no_other(suite: Suite) -> None:
    for found in table(suite.unit).exercises.values():
        for mistake in [*found.misconceptions, *found.in_other_words]:
            assert mistake.named == [mistake.name]


@by_unit
def test_mistakes_of_another_kind_have_no_name(suite: Suite) -> None:
    for exercise, found in table(suite.unit).exercises.items():
        assert len(found.unknown_mistakes) >= 4, exercise
        assert {other.name: other.named for other in found.unknown_mistakes if other.named} == {}


def test_recall_and_precision_are_those_of_the_summary() -> None:
    naming = naming_of(table(unit) for unit in COURSE.units)
    text = (FOLDER / "README.md").read_text(encoding="utf-8")
    assert f"a recall of {naming.recall:.1%}" in text
    assert f"a precision of {naming.precision:.1%}" in text


def test_a_sample_of_all_units_comes_out_as_the_tables_say() -> None:
    found = courses.run_grader(ROOT, "audit", "--quick")
    assert found.returncode == 0, found.stderr


@by_unit
def test_no_probe_has_seen_a_hidden_test(suite: Suite) -> None:
    """They look for differences with inputs of their own, or they would be blind where the tests are."""
    text = (SUITES_FOLDER / suite.unit / "probes.py").read_text(encoding="utf-8")
    assert "grader.suites" not in text
