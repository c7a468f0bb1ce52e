"""The worked example of unit 2: six tokens of three numbers, projected to two. Run `pytest` in this folder.

The grader goes by the rules in the docstrings, with other sizes and other numbers than these.
"""

from __future__ import annotations

import pytest
import self_attention
import torch
from checking import call, expect_error, expect_values, fail, worked_example
from torch import nn

INPUTS = worked_example("inputs")
MATRICES = ("W_query", "W_key", "W_value")
PROJECTIONS = ("queries", "keys", "values")
SCALED_ATTENTION = "softmax of queries @ keys.T / √d_k over the keys, one row for each query"


def weight_matrices() -> list[torch.Tensor]:
    """W_query, W_key and W_value of the worked example, each (3, 2)."""
    torch.manual_seed(123)
    return [torch.rand(3, 2) for _ in range(3)]


def seeded_attention_v1() -> nn.Module:
    torch.manual_seed(123)
    return call(self_attention.SelfAttention_v1, 3, 2)


def seeded_attention_v2() -> nn.Module:
    torch.manual_seed(789)
    return call(self_attention.SelfAttention_v2, 3, 2)


@pytest.mark.parametrize(("name", "matrix"), list(zip(PROJECTIONS, MATRICES, strict=True)))
def test_project_qkv(name: str, matrix: str) -> None:
    results = call(self_attention.project_qkv, INPUTS, *weight_matrices(), gives=PROJECTIONS)
    expect_values(
        name,
        results[PROJECTIONS.index(name)],
        worked_example(f"v1.{name}"),
        shape="(T, d_out)",
        idea=f"inputs @ {matrix} has one row for each token",
    )


def test_weights_of_scaled_dot_product_attention() -> None:
    queries, keys, values = (INPUTS @ matrix for matrix in weight_matrices())
    _, weights = call(self_attention.scaled_dot_product_attention, queries, keys, values, gives=("contexts", "weights"))
    expect_values("weights", weights, worked_example("v1.weights"), shape="(T_q, T_k)", idea=SCALED_ATTENTION)


def test_contexts_of_scaled_dot_product_attention() -> None:
    queries, keys, values = (INPUTS @ matrix for matrix in weight_matrices())
    contexts, _ = call(
        self_attention.scaled_dot_product_attention, queries, keys, values, gives=("contexts", "weights")
    )
    expect_values(
        "contexts",
        contexts,
        worked_example("v1.context_vectors"),
        shape="(T_q, d_v)",
        idea="a context vector is the sum of the values, each times its weight",
    )


@pytest.mark.parametrize("name", MATRICES)
def test_weights_of_self_attention_v1_are_parameters(name: str) -> None:
    weight = getattr(seeded_attention_v1(), name, None)
    if not isinstance(weight, nn.Parameter):
        fail(
            f"{name} should be an nn.Parameter, yours is of type {type(weight).__name__}: "
            "only parameters are found by an optimiser."
        )
    if weight.shape != (3, 2):
        fail(
            f"{name} should have shape (d_in, d_out) = (3, 2), yours is {tuple(weight.shape)}: "
            "it stands on the right of inputs (T, d_in)."
        )


def test_first_matrix_of_self_attention_v1() -> None:
    expect_values(
        "W_query",
        getattr(seeded_attention_v1(), "W_query", None),
        worked_example("v1.W_query"),
        shape="(d_in, d_out)",
        idea="these are the first numbers that torch.rand(d_in, d_out) draws from seed 123",
    )


def test_output_of_self_attention_v1() -> None:
    expect_values(
        "the output of SelfAttention_v1",
        call(seeded_attention_v1(), INPUTS),
        worked_example("v1.context_vectors"),
        shape="(T, d_out)",
        idea="project the inputs, attend, return the contexts",
    )


@pytest.mark.parametrize("name", MATRICES)
def test_weights_of_self_attention_v2_are_linear_layers_without_bias(name: str) -> None:
    layer = getattr(seeded_attention_v2(), name, None)
    if not isinstance(layer, nn.Linear):
        fail(f"{name} should be an nn.Linear, yours is of type {type(layer).__name__}.")
    if layer.bias is not None:
        fail(f"{name} should have no bias here, yours has one: qkv_bias is False unless the caller says else.")


def test_weights_inside_self_attention_v2() -> None:
    attention = seeded_attention_v2()
    projections = [call(getattr(attention, name), INPUTS) for name in MATRICES]
    _, weights = call(self_attention.scaled_dot_product_attention, *projections, gives=("contexts", "weights"))
    expect_values("weights", weights, worked_example("v2.weights"), shape="(T_q, T_k)", idea=SCALED_ATTENTION)


def test_output_of_self_attention_v2() -> None:
    expect_values(
        "the output of SelfAttention_v2",
        call(seeded_attention_v2(), INPUTS),
        worked_example("v2.context_vectors"),
        shape="(T, d_out)",
        idea="pass the inputs through the three layers, attend, return the contexts",
    )


def test_after_transfer_weights_the_first_gives_the_outputs_of_the_second() -> None:
    attention_v2, attention_v1 = seeded_attention_v2(), seeded_attention_v1()
    call(self_attention.transfer_weights, attention_v2, attention_v1)
    expect_values(
        "the output of attention_v1",
        call(attention_v1, INPUTS),
        worked_example("v2.context_vectors"),
        shape="(T, d_out)",
        idea="the weights go from attention_v2 to attention_v1, in the form in which attention_v1 uses them",
    )


def test_transfer_weights_refuses_a_bias() -> None:
    attention_v2 = call(self_attention.SelfAttention_v2, 3, 2, True)
    nn.init.ones_(attention_v2.W_value.bias)
    expect_error(
        self_attention.transfer_weights,
        attention_v2,
        seeded_attention_v1(),
        idea="the bias of W_value is not zero, and attention_v1 has no place for it",
    )


def test_dot_product_variance() -> None:
    # A score of 100 between vectors of 1024 features is no sign of anything: scaled, it is 100/√1024 = 3.125.
    generator = torch.Generator().manual_seed(1)
    plain, scaled = call(self_attention.dot_product_variance, 1024, 4000, generator, gives=("two", "numbers"))
    if not 900 < plain < 1150:
        fail(f"the variance of q·k should be near d_k = 1024, yours is {plain:.4g}: q·k sums d_k products.")
    if not 0.88 < scaled < 1.12:
        fail(
            f"the variance of q·k / √d_k should be near 1, yours is {scaled:.4g}: "
            "divide each dot product, then measure."
        )
