"""Every hidden suite: right answers earn all points, and every known mistake loses some."""

from __future__ import annotations

import ast
import functools
import inspect
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from courses import COURSE, REPOSITORY
from units import SUITES, Suite, defined_in

from grader.reports.report_model import NOT_WRITTEN

by_unit = pytest.mark.parametrize("suite", SUITES.values(), ids=SUITES)
by_exercise = pytest.mark.parametrize(
    ("suite", "exercise"),
    [
        pytest.param(SUITES[unit], exercise, id=f"{unit}-{exercise}")
        for unit, described in COURSE.units.items()
        for exercise in described.exercises
    ],
)


@by_unit
def test_the_solution_earns_every_criterion(suite: Suite) -> None:
    found = suite.outcomes(defined_in(REPOSITORY / "solutions" / f"{suite.unit}.py", suite.unit))
    assert {name: outcome.reason for name, outcome in found.items() if not outcome.passed} == {}


@by_unit
def test_an_untouched_stub_earns_nothing_and_is_reported_as_not_written(suite: Suite) -> None:
    found = suite.outcomes(defined_in(REPOSITORY / "exercises" / f"{suite.unit}.py", suite.unit))
    assert {outcome.reason for outcome in found.values()} == {NOT_WRITTEN}
    assert not any(outcome.passed for outcome in found.values())


@pytest.mark.parametrize(
    ("suite", "style"),
    [pytest.param(suite, style, id=f"{unit}-{style}") for unit, suite in SUITES.items() for style in suite.styles],
)
def test_a_right_answer_in_another_style_earns_every_criterion(suite: Suite, style: str) -> None:
    found = suite.outcomes(suite.in_style(style))
    assert {name: outcome.reason for name, outcome in found.items() if not outcome.passed} == {}


@by_unit
def test_accepted_answers_come_in_several_styles(suite: Suite) -> None:
    assert len(suite.styles) >= 4


@by_exercise
def test_every_criterion_is_lost_by_misconceptions_of_its_own(suite: Suite, exercise: str) -> None:
    """Some misconception loses it, and no other criterion is lost by exactly the same misconceptions."""
    missed = [suite.missed_by(mistake) for mistake in suite.mistakes_in(exercise)]
    names = [criterion.name for criterion in suite.of(exercise)]
    signatures = {name: tuple(name in one for one in missed) for name in names}
    assert all(any(signature) for signature in signatures.values()), signatures
    assert len(set(signatures.values())) == len(names), signatures


def bullets(docstring: str) -> Iterator[str]:
    """Yield the rules in a stub's docstring: each line with a dash, with its continuation lines."""
    for paragraph in re.split(r"\n\s*\n", inspect.cleandoc(docstring)):
        if paragraph.startswith("- "):
            yield from (" ".join(rule.split()) for rule in re.split(r"^- ", paragraph, flags=re.MULTILINE)[1:])


@functools.cache
def stub_rules(unit: str) -> dict[str, set[str]]:
    tree = ast.parse((REPOSITORY / "exercises" / f"{unit}.py").read_text(encoding="utf-8"))
    definitions = [node for node in tree.body if isinstance(node, ast.FunctionDef | ast.ClassDef)]
    return {node.name: set(bullets(ast.get_docstring(node) or "")) for node in definitions}


@by_exercise
def test_the_rules_of_the_criteria_are_the_rules_of_the_stub(suite: Suite, exercise: str) -> None:
    rules = {" ".join(rule.split()) for criterion in suite.of(exercise) for rule in criterion.rules}
    assert rules == stub_rules(suite.unit)[exercise]


@by_unit
def test_the_suite_covers_the_exercises_of_the_course(suite: Suite) -> None:
    assert {criterion.exercise for criterion in suite.criteria} == set(COURSE.units[suite.unit].exercises)
    assert {mistake.exercise for mistake in suite.known} == set(COURSE.units[suite.unit].exercises)


@by_unit
def test_no_two_criteria_share_a_name_or_their_inputs(suite: Suite) -> None:
    assert len({criterion.name for criterion in suite.criteria}) == len(suite.criteria)
    assert len({criterion.fresh()(1).item() for criterion in suite.criteria}) == len(suite.criteria)


@by_exercise
def test_no_two_misconceptions_of_an_exercise_share_a_name(suite: Suite, exercise: str) -> None:
    names = [mistake.name for mistake in suite.mistakes_in(exercise)]
    assert len(set(names)) == len(names)


@by_unit
def test_a_criterion_is_one_sentence_in_symbols_without_numbers(suite: Suite) -> None:
    sentences = [criterion.sentence for criterion in suite.criteria]
    assert [one for one in sentences if not one.endswith(".") or re.search(r"(?<!\w)\d", one)] == []


@by_unit
def test_a_misconception_has_a_short_text_about_its_idea(suite: Suite) -> None:
    sentences = [mistake.sentence for mistake in suite.known]
    assert [one for one in sentences if not one.endswith(".") or not 40 < len(one) < 300] == []


@by_unit
def test_the_hidden_tests_share_no_statement_with_the_visible_ones(suite: Suite) -> None:
    def statements(*paths: Path) -> set[str]:
        nodes = [node for path in paths for node in ast.parse(path.read_text(encoding="utf-8")).body]
        tests = [node for node in nodes if isinstance(node, ast.FunctionDef) and node.name.startswith("test_")]
        assert tests
        return {ast.unparse(statement) for node in tests for statement in node.body}

    visible = COURSE.checks / f"test_{suite.unit}.py"
    assert statements(*COURSE.hidden_tests(suite.unit)) & statements(visible) == set()


def test_released_criteria_keep_their_names_and_points() -> None:
    """Released criteria keep their names and weights. Change criteria.txt only if the course should change."""
    found = {
        f"{unit}/{criterion.exercise}/{criterion.name} {COURSE.units[unit].exercises[criterion.exercise]}"
        for unit, suite in SUITES.items()
        for criterion in suite.criteria
    }
    assert set((Path(__file__).parent / "criteria.txt").read_text(encoding="utf-8").splitlines()) <= found
