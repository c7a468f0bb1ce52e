"""The hidden suite of unit 2 is fair and sharp: right answers earn all of it, every known mistake costs something."""

from __future__ import annotations

import ast
import functools
import inspect
import re
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import torch

from grader.course import ROOT, load_course
from grader.sandbox.student import Beside
from grader.suites.criteria import NOT_WRITTEN, Criterion, Misconception, Outcome, criteria_of, misconceptions
from grader.suites.self_attention import misconceptions as mistakes
from grader.suites.self_attention import test_self_attention as suite

torch.set_num_threads(1)  # as in the engine; threads only wait for each other on tensors this small

UNIT = "self_attention"
COURSE = load_course()
CRITERIA = criteria_of(suite, UNIT, COURSE.version)
KNOWN = misconceptions(mistakes)
SUITE_FILE = Path(suite.__file__ or "")
RIGHT_ANSWERS = sorted((SUITE_FILE.parent / "right_answers").glob("[!_]*.py"))


def defined_in(path: Path) -> dict[str, Any]:
    """What a unit's file defines, as a plain program run from the top."""
    names: dict[str, Any] = {"__name__": UNIT}
    with warnings.catch_warnings(action="ignore"):  # right answers may warn
        exec(compile(path.read_text(encoding="utf-8"), path.name, "exec"), names)
    return names


def outcomes(names: dict[str, Any], exercise: str | None = None) -> dict[str, Outcome]:
    """What each criterion (of one exercise) comes to."""
    asked = [criterion for criterion in CRITERIA if exercise in (None, criterion.exercise)]
    return {criterion.name: criterion.run(Beside(UNIT, names)) for criterion in asked}


@functools.cache
def missed_by(mistake: Misconception) -> set[str]:
    found = outcomes({mistake.exercise: mistake.implementation}, mistake.exercise)
    return {name for name, outcome in found.items() if not outcome.passed}


def bullets(docstring: str) -> Iterator[str]:
    """The rules in a stub's docstring: paragraphs of lines with a dash, each with the lines that it runs on to."""
    for paragraph in re.split(r"\n\s*\n", inspect.cleandoc(docstring)):
        if paragraph.startswith("- "):
            yield from (" ".join(rule.split()) for rule in re.split(r"^- ", paragraph, flags=re.MULTILINE)[1:])


def stub_rules() -> dict[str, set[str]]:
    tree = ast.parse((ROOT / "exercises" / f"{UNIT}.py").read_text(encoding="utf-8"))
    definitions = [node for node in tree.body if isinstance(node, ast.FunctionDef | ast.ClassDef)]
    return {node.name: set(bullets(ast.get_docstring(node) or "")) for node in definitions}


def test_the_solution_earns_every_criterion() -> None:
    found = outcomes(defined_in(ROOT / "solutions" / f"{UNIT}.py"))
    assert {name: outcome.reason for name, outcome in found.items() if not outcome.passed} == {}


def test_an_untouched_stub_earns_nothing_and_reads_that_it_is_not_written() -> None:
    found = outcomes(defined_in(ROOT / "exercises" / f"{UNIT}.py"))
    assert {outcome.reason for outcome in found.values()} == {NOT_WRITTEN}
    assert not any(outcome.passed for outcome in found.values())


@pytest.mark.parametrize("path", RIGHT_ANSWERS, ids=lambda path: path.stem)
def test_a_right_answer_in_another_style_earns_every_criterion(path: Path) -> None:
    found = outcomes(defined_in(path))
    assert {name: outcome.reason for name, outcome in found.items() if not outcome.passed} == {}


@pytest.mark.parametrize("mistake", KNOWN, ids=lambda mistake: mistake.name)
def test_a_misconception_loses_points(mistake: Misconception) -> None:
    assert missed_by(mistake)


@pytest.mark.parametrize("criterion", CRITERIA, ids=lambda criterion: criterion.name)
def test_some_misconception_misses_the_criterion(criterion: Criterion) -> None:
    assert any(criterion.name in missed_by(mistake) for mistake in KNOWN if mistake.exercise == criterion.exercise)


@pytest.mark.parametrize("exercise", COURSE.units[UNIT].exercises)
def test_no_two_criteria_of_an_exercise_are_missed_by_the_same_misconceptions(exercise: str) -> None:
    missed = [missed_by(mistake) for mistake in KNOWN if mistake.exercise == exercise]
    names = [criterion.name for criterion in CRITERIA if criterion.exercise == exercise]
    signatures = {name: tuple(name in one for one in missed) for name in names}
    assert len(set(signatures.values())) == len(names), signatures


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_zeros_of_the_right_shape_earn_nothing(dtype: torch.dtype) -> None:
    def project_qkv(inputs: torch.Tensor, W_query: torch.Tensor, *_: torch.Tensor) -> list[torch.Tensor]:
        return [torch.zeros(len(inputs), W_query.shape[1], dtype=dtype, requires_grad=True) for _ in range(3)]

    def scaled_dot_product_attention(queries: torch.Tensor, keys: torch.Tensor, values: torch.Tensor) -> Any:
        contexts = torch.zeros(*queries.shape[:-1], values.shape[-1], dtype=dtype, requires_grad=True)
        return contexts, torch.zeros(*queries.shape[:-1], keys.shape[-2], dtype=dtype, requires_grad=True)

    for junk in (project_qkv, scaled_dot_product_attention):
        found = outcomes({junk.__name__: junk}, junk.__name__)
        assert [name for name, outcome in found.items() if outcome.passed] == []


def uniform(queries: torch.Tensor, keys: torch.Tensor) -> torch.Tensor:
    return torch.full((*queries.shape[:-1], keys.shape[-2]), 1 / keys.shape[-2], dtype=keys.dtype)


def softmax_of_nothing(queries: torch.Tensor, keys: torch.Tensor) -> torch.Tensor:
    return torch.softmax(0 * queries @ keys.transpose(-2, -1), dim=-1)  # gradients flow, and are zero


def diagonal(queries: torch.Tensor, keys: torch.Tensor) -> torch.Tensor:
    return uniform(queries, keys) * 0 + torch.eye(queries.shape[-2], keys.shape[-2], dtype=keys.dtype)


def neighbours(queries: torch.Tensor, keys: torch.Tensor) -> torch.Tensor:
    return diagonal(queries, keys).roll(1, dims=-1)


def queries_ignored(queries: torch.Tensor, keys: torch.Tensor) -> torch.Tensor:
    return torch.softmax(0 * uniform(queries, keys) + keys.sum(-1).unsqueeze(-2), dim=-1)


def keys_ignored(queries: torch.Tensor, keys: torch.Tensor) -> torch.Tensor:
    return torch.softmax(queries[..., :1] * torch.arange(keys.shape[-2], dtype=keys.dtype), dim=-1)


@pytest.mark.parametrize(
    "weights_of", [uniform, softmax_of_nothing, diagonal, neighbours, queries_ignored, keys_ignored]
)
def test_weights_that_compare_no_query_with_a_key_earn_only_what_is_declared(weights_of: Any) -> None:
    def attend(queries: torch.Tensor, keys: torch.Tensor, values: torch.Tensor) -> mistakes.Pair:
        weights = weights_of(queries, keys)
        return weights @ values, weights

    answers: dict[str, Any] = {
        "scaled_dot_product_attention": attend,
        "SelfAttention_v1": type("SelfAttention_v1", (mistakes.ByHand,), {"attend": staticmethod(attend)}),
        "SelfAttention_v2": type("SelfAttention_v2", (mistakes.Layered,), {"attend": staticmethod(attend)}),
    }
    found = {name: outcome for exercise in answers for name, outcome in outcomes(answers, exercise).items()}
    assert {name for name, outcome in found.items() if outcome.passed} == {
        "three_matrices_are_parameters",
        "three_layers_from_d_in_to_d_out",
        "no_layer_has_a_bias_by_default",
        "every_layer_has_a_bias_on_demand",
    }


# Not fifth_power, which leaves so little of the scores that nothing is attended.
WRONG_SCALES = (
    "half_instead_of_root",
    "divided_by_half_of_d_k",
    "twentieth_root",
    "scaling_forgotten",
    "divided_by_d_k_itself",
    "multiplied_by_root",
    "scaled_by_number_of_tokens",
    "scaled_by_first_dimension",
    "scaled_by_width_of_values",
    "scaled_for_the_worked_example",
)


@pytest.mark.parametrize("name", WRONG_SCALES)
def test_a_wrong_scale_keeps_the_points_that_are_not_about_the_scores(name: str) -> None:
    [mistake] = [one for one in KNOWN if one.name == name]
    kept = {criterion.name for criterion in CRITERIA if criterion.exercise == mistake.exercise} - missed_by(mistake)
    assert kept == {
        "each_query_shares_its_attention_among_the_keys",
        "as_many_queries_as_you_like",
        "attention_keeps_the_dtype",
        "attention_leaves_its_arguments_alone",
        "contexts_come_first_and_weights_second",
    }


def test_doing_nothing_transfers_nothing() -> None:
    found = outcomes({"transfer_weights": lambda _v2, _v1: None}, "transfer_weights")
    assert [name for name, outcome in found.items() if outcome.passed] == []


@pytest.mark.parametrize("exercise", COURSE.units[UNIT].exercises)
def test_the_rules_of_the_criteria_are_the_rules_of_the_stub(exercise: str) -> None:
    asked = {" ".join(criterion.rule.split()) for criterion in CRITERIA if criterion.exercise == exercise}
    assert asked == stub_rules()[exercise]


def test_the_suite_asks_about_the_exercises_of_the_course() -> None:
    assert {criterion.exercise for criterion in CRITERIA} == set(COURSE.units[UNIT].exercises)
    assert {mistake.exercise for mistake in KNOWN} == set(COURSE.units[UNIT].exercises)


def test_no_two_criteria_share_a_name_or_their_inputs() -> None:
    assert len({criterion.name for criterion in CRITERIA}) == len(CRITERIA)
    assert len({criterion.fresh()(1).item() for criterion in CRITERIA}) == len(CRITERIA)


@pytest.mark.parametrize("criterion", CRITERIA, ids=lambda criterion: criterion.name)
def test_a_criterion_is_one_sentence_in_symbols_without_numbers(criterion: Criterion) -> None:
    assert criterion.sentence.endswith(".")
    assert re.findall(r"(?<!\w)\d", criterion.sentence) == []


@pytest.mark.parametrize("mistake", KNOWN, ids=lambda mistake: mistake.name)
def test_a_misconception_has_a_short_text_about_its_idea(mistake: Misconception) -> None:
    assert mistake.sentence.endswith(".")
    assert 40 < len(mistake.sentence) < 300


def test_the_hidden_tests_share_no_statement_with_the_visible_ones() -> None:
    def statements(path: Path) -> set[str]:
        tests = [node for node in ast.parse(path.read_text(encoding="utf-8")).body if isinstance(node, ast.FunctionDef)]
        tests = [node for node in tests if node.name.startswith("test_")]
        assert tests
        return {ast.unparse(statement) for node in tests for statement in node.body}

    assert statements(SUITE_FILE) & statements(ROOT / "exercises" / SUITE_FILE.name) == set()
