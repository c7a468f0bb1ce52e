"""The worked example of unit 2: six tokens of three numbers, projected to two. Run `pytest` in this folder.

`student` is your file: `student.project_qkv(…)` is what your project_qkv gives. The grader uses the rules
in the docstrings, with other sizes and other numbers than these.
"""

from __future__ import annotations

from typing import Any

import pytest
import torch
from checking import (
    expect_error,
    expect_linear,
    expect_module,
    expect_results,
    expect_unchanged,
    expect_values,
    fail,
    kept,
    type_name,
    worked_example,
)

from grader.testing.student import RemoteObject, Student

INPUTS = worked_example("inputs")
PROJECTIONS = ("queries", "keys", "values")
SCALED_ATTENTION = "softmax of queries @ keys.T / √d_k over the keys, one row for each query"

# W_query, W_key and W_value of the worked example, each (3, 2): what torch.rand draws from seed 123.
GENERATOR = torch.Generator().manual_seed(123)
WEIGHT_MATRICES = [torch.rand(3, 2, generator=GENERATOR) for _ in range(3)]

each_weight = pytest.mark.parametrize("name", [pytest.param(f"W_{x}", id=f"W_{x}") for x in ("query", "key", "value")])


def seeded_attention_v1(student: Student) -> RemoteObject:
    student.seed(123)
    return expect_module("SelfAttention_v1(3, 2)", student.SelfAttention_v1(3, 2))


def seeded_attention_v2(student: Student) -> RemoteObject:
    student.seed(789)
    return expect_module("SelfAttention_v2(3, 2)", student.SelfAttention_v2(3, 2))


def contexts_and_weights(student: Student, *projections: Any) -> Any:
    yours = student.scaled_dot_product_attention(*projections)
    return expect_results("scaled_dot_product_attention", yours, ("contexts", "weights"))


@pytest.mark.example("project_qkv")
@pytest.mark.parametrize(
    ("name", "matrix"),
    [
        pytest.param("queries", "W_query", id="queries"),
        pytest.param("keys", "W_key", id="keys"),
        pytest.param("values", "W_value", id="values"),
    ],
)
def test_project_qkv(student: Student, name: str, matrix: str) -> None:
    """Queries, keys and values are the inputs times three different matrices, and the inputs are not changed."""
    yours, after = student.project_qkv.with_arguments(INPUTS, *WEIGHT_MATRICES)
    results = expect_results("project_qkv", yours, PROJECTIONS)
    expect_values(
        name,
        results[PROJECTIONS.index(name)],
        worked_example(f"v1.{name}"),
        shape="(T, d_out)",
        idea=f"inputs @ {matrix} has one row for each token",
    )
    expect_unchanged("the tensor of inputs", after[0], INPUTS)


@pytest.mark.example("scaled_dot_product_attention")
def test_weights_of_scaled_dot_product_attention(student: Student) -> None:
    """The weights are the softmax over the keys of the scores, which are scaled by √d_k."""
    _, weights = contexts_and_weights(student, *(INPUTS @ matrix for matrix in WEIGHT_MATRICES))
    expect_values("weights", weights, worked_example("v1.weights"), shape="(T_q, T_k)", idea=SCALED_ATTENTION)


@pytest.mark.example("scaled_dot_product_attention")
def test_contexts_of_scaled_dot_product_attention(student: Student) -> None:
    """The contexts are the values, mixed by each query's weights."""
    contexts, _ = contexts_and_weights(student, *(INPUTS @ matrix for matrix in WEIGHT_MATRICES))
    expect_values(
        "contexts",
        contexts,
        worked_example("v1.context_vectors"),
        shape="(T_q, d_v)",
        idea="a context vector is the sum of the values, each times its weight",
    )


@pytest.mark.example("SelfAttention_v1")
@each_weight
def test_weights_of_self_attention_v1_are_parameters(student: Student, name: str) -> None:
    """W_query, W_key and W_value are parameters of shape (d_in, d_out)."""
    attention = seeded_attention_v1(student)
    weights = attention.parameters()
    if name not in weights:
        fail(
            f"{name} should be an nn.Parameter, yours is of type {type_name(kept(attention, name))}: "
            "only parameters are found by an optimiser."
        )
    if weights[name].shape != (3, 2):
        fail(
            f"{name} should have shape (d_in, d_out) = (3, 2), yours is {tuple(weights[name].shape)}: "
            "it is on the right of inputs (T, d_in)."
        )


@pytest.mark.example("SelfAttention_v1")
def test_first_matrix_of_self_attention_v1(student: Student) -> None:
    """With seed 123, W_query begins with the numbers of the worked example."""
    expect_values(
        "W_query",
        kept(seeded_attention_v1(student), "W_query"),
        worked_example("v1.W_query"),
        shape="(d_in, d_out)",
        idea="these are the first numbers of torch.rand(d_in, d_out) with seed 123",
    )


@pytest.mark.example("SelfAttention_v1")
def test_output_of_self_attention_v1(student: Student) -> None:
    """The first version, made with seed 123, gives the contexts of the worked example."""
    output, [after] = seeded_attention_v1(student).with_arguments(INPUTS)
    expect_values(
        "the output of SelfAttention_v1",
        output,
        worked_example("v1.context_vectors"),
        shape="(T, d_out)",
        idea="project the inputs, attend, return the contexts",
    )
    expect_unchanged("the tensor of inputs", after, INPUTS)


@pytest.mark.example("SelfAttention_v2")
@each_weight
def test_weights_of_self_attention_v2_are_linear_layers_without_bias(student: Student, name: str) -> None:
    """W_query, W_key and W_value are linear layers, without a bias unless one is asked for."""
    layer = expect_linear(seeded_attention_v2(student), name)
    if layer.get("bias") is not None:
        fail(f"{name} should have no bias here, yours has one: qkv_bias is False unless the caller says else.")


@pytest.mark.example("SelfAttention_v2")
def test_weights_inside_self_attention_v2(student: Student) -> None:
    """The three layers, made with seed 789, give the weights of the worked example."""
    attention = seeded_attention_v2(student)
    projections = [attention.method(name)(INPUTS) for name in ("W_query", "W_key", "W_value")]
    _, weights = contexts_and_weights(student, *projections)
    expect_values("weights", weights, worked_example("v2.weights"), shape="(T_q, T_k)", idea=SCALED_ATTENTION)


@pytest.mark.example("SelfAttention_v2")
def test_output_of_self_attention_v2(student: Student) -> None:
    """The second version, made with seed 789, gives the contexts of the worked example."""
    output, [after] = seeded_attention_v2(student).with_arguments(INPUTS)
    expect_values(
        "the output of SelfAttention_v2",
        output,
        worked_example("v2.context_vectors"),
        shape="(T, d_out)",
        idea="pass the inputs through the three layers, attend, return the contexts",
    )
    expect_unchanged("the tensor of inputs", after, INPUTS)


@pytest.mark.example("transfer_weights")
def test_after_transfer_weights_the_first_gives_the_outputs_of_the_second(student: Student) -> None:
    """After the transfer the first version gives the outputs of the second."""
    second, first = seeded_attention_v2(student), seeded_attention_v1(student)
    student.transfer_weights(second, first)
    expect_values(
        "the output of attention_v1",
        first(INPUTS),
        worked_example("v2.context_vectors"),
        shape="(T, d_out)",
        idea="copy the weights from attention_v2 to attention_v1, in the shape that attention_v1 uses",
    )


@pytest.mark.example("transfer_weights")
def test_transfer_weights_refuses_a_bias(student: Student) -> None:
    """The first version has no bias, so a bias that is not zero raises a ValueError."""
    second = expect_module("SelfAttention_v2(3, 2, True)", student.SelfAttention_v2(3, 2, True))
    second.set({"W_value.bias": torch.ones(2)})
    expect_error(
        "a bias of W_value",
        student.transfer_weights,
        second,
        seeded_attention_v1(student),
        idea="the bias of W_value is not zero, and attention_v1 has no bias",
    )


@pytest.mark.example("dot_product_variance")
def test_dot_product_variance(student: Student) -> None:
    """The variance of q·k is near d_k. If the dot products are divided by √d_k, it is near 1."""
    # A score of 100 between vectors of 1024 features is no sign of anything: scaled, it is 100/√1024 = 3.125.
    yours = student.dot_product_variance(1024, 4000, student.generator(1))
    plain, scaled = (as_number(each) for each in expect_results("dot_product_variance", yours, ("two", "numbers")))
    if not 900 < plain < 1150:
        fail(f"the variance of q·k should be near d_k = 1024, yours is {plain:.4g}: q·k sums d_k products.")
    if not 0.88 < scaled < 1.12:
        fail(
            f"the variance of q·k / √d_k should be near 1, yours is {scaled:.4g}: "
            "divide each dot product, then measure."
        )


def as_number(yours: Any) -> float:
    """A variance as a plain number, which may come in a tensor."""
    try:
        return float(yours)
    except (TypeError, ValueError, RuntimeError):
        fail(f"each variance should be one number, yours is of type {type_name(yours)}.")
