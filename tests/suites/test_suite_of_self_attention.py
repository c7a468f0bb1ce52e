"""The suite of unit 2: junk earns nothing, and a wrong scale does not cost every point."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from courses import REPOSITORY
from units import SUITES, defined_in

SUITE = SUITES["self_attention"]


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_zeros_of_the_right_shape_earn_nothing(dtype: torch.dtype) -> None:
    def project_qkv(inputs: torch.Tensor, W_query: torch.Tensor, *_: torch.Tensor) -> list[torch.Tensor]:
        return [torch.zeros(len(inputs), W_query.shape[1], dtype=dtype, requires_grad=True) for _ in range(3)]

    def scaled_dot_product_attention(queries: torch.Tensor, keys: torch.Tensor, values: torch.Tensor) -> Any:
        contexts = torch.zeros(*queries.shape[:-1], values.shape[-1], dtype=dtype, requires_grad=True)
        return contexts, torch.zeros(*queries.shape[:-1], keys.shape[-2], dtype=dtype, requires_grad=True)

    for junk in (project_qkv, scaled_dot_product_attention):
        assert SUITE.passed({junk.__name__: junk}, junk.__name__) == set()


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
def test_weights_without_comparing_queries_and_keys_earn_only_the_points_for_parameters(weights_of: Any) -> None:
    def attend(queries: torch.Tensor, keys: torch.Tensor, values: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        weights = weights_of(queries, keys)
        return weights @ values, weights

    answers = defined_in(REPOSITORY / "solutions" / "self_attention.py", SUITE.unit)
    answers["scaled_dot_product_attention"] = attend  # replaced in this namespace, where the modules look it up
    exercises = ("scaled_dot_product_attention", "SelfAttention_v1", "SelfAttention_v2")
    assert {name for exercise in exercises for name in SUITE.passed(answers, exercise)} == {
        "three_matrices_are_parameters",
        "three_layers_from_d_in_to_d_out",
        "no_layer_has_a_bias_by_default",
        "every_layer_has_a_bias_on_demand",
    }


# Without fifth_power: its scores are so small that no key stands out.
WRONG_SCALES = (
    "half_instead_of_root",
    "divided_by_half_of_d_k",
    "twentieth_root",
    "scaling_forgotten",
    "divided_by_d_k_itself",
    "multiplied_by_root",
    "scaled_by_number_of_tokens",
    "scaled_by_number_of_queries",
    "scaled_by_first_dimension",
    "scaled_by_width_of_values",
    "scaled_for_the_worked_example",
)


@pytest.mark.parametrize("name", WRONG_SCALES)
def test_a_wrong_scale_loses_only_the_points_about_the_scores(name: str) -> None:
    mistake = SUITE.mistake(name)
    assert SUITE.passed({mistake.exercise: mistake.implementation}, mistake.exercise) == {
        "each_query_shares_its_attention_among_the_keys",
        "as_many_queries_as_you_like",
        "attention_keeps_the_dtype",
        "attention_leaves_its_arguments_alone",
        "contexts_come_first_and_weights_second",
    }


def test_doing_nothing_transfers_nothing() -> None:
    assert SUITE.passed({"transfer_weights": lambda _v2, _v1: None}, "transfer_weights") == set()
