"""Hidden tests of unit 2, self-attention with trainable weights. Each test or case is one criterion.

Expected values are computed here in float64, by other means than in the course's solution.

A wrong scale should not cost every point, and only attention should earn one. So the tests of the number of queries or
tokens, the dtype, the arguments and the order of the results use decisive inputs: one key fits each query so well that
it gets all the weight, whatever the scores are divided by. An answer that divides by a wrong number still passes. An
answer that does not compare queries with keys cannot find this key.
"""

from __future__ import annotations

import contextlib
import functools
import math
from collections.abc import Callable

import pytest
import torch

from grader.testing.checks import (
    as_layers,
    expect_close,
    expect_dtype,
    expect_error,
    expect_gradients,
    expect_layer,
    expect_no_bias,
    expect_number,
    expect_one_number,
    expect_same,
    expect_tensor,
    expect_true,
    expect_values,
    oracle_gradients,
    set_layers,
    shown,
)
from grader.testing.contracts import Asking, asking, expect_gradients_of, expect_left_alone
from grader.testing.draws import DrawFunction, Fresh, case, expect_draws_by_state, expect_global_draws, expect_used
from grader.testing.student import Raised, RemoteObject, Student

# All different, so that mixed-up dimensions show. No d_k is 4: half of 4 is also its square root. No
# size has the rounded root of d_k as its root.
B, H, D_V, T, D_K, T_K = 2, 3, 10, 5, 6, 7
D_IN, D_OUT = 4, 7
# The width of decisive inputs: at least as many features as tokens.
D_WIDE = 8
MATRICES = ("W_query", "W_key", "W_value")
BIASES = [f"{name}.bias" for name in MATRICES]

Matrices = dict[str, torch.Tensor]
SetMatrices = Callable[[RemoteObject, Matrices], None]
Oracle = Callable[..., tuple[torch.Tensor, ...]]
Shape = tuple[int, ...]


# -- expected values ---------------------------------------------------------------------------------------------


def scaled_scores(queries: torch.Tensor, keys: torch.Tensor) -> torch.Tensor:
    """(…, T_q, d_k) and (…, T_k, d_k) to (…, T_q, T_k)."""
    return torch.einsum("...qd,...kd->...qk", queries.double(), keys.double()) / math.sqrt(keys.shape[-1])


def attention(queries: torch.Tensor, keys: torch.Tensor, values: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """Return the contexts (…, T_q, d_v) and the weights (…, T_q, T_k)."""
    scores = scaled_scores(queries, keys)
    weights = (scores - scores.logsumexp(-1, keepdim=True)).exp()
    return torch.einsum("...qk,...kv->...qv", weights, values.double()), weights


def projected(inputs: torch.Tensor, matrix: torch.Tensor) -> torch.Tensor:
    """(T, d_in) and (d_in, d_out) to (T, d_out)."""
    return torch.einsum("ti,io->to", inputs.double(), matrix.double())


def projections(
    inputs: torch.Tensor, W_query: torch.Tensor, W_key: torch.Tensor, W_value: torch.Tensor
) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """(T, d_in) and three (d_in, d_out) to three (T, d_out)."""
    return projected(inputs, W_query), projected(inputs, W_key), projected(inputs, W_value)


def self_attention(
    student: Student, inputs: torch.Tensor, W_query: torch.Tensor, W_key: torch.Tensor, W_value: torch.Tensor
) -> torch.Tensor:
    """(T, d_in) and three (d_in, d_out) to (T, d_out)."""
    project = student.substitute("project_qkv", projections)
    attend = student.substitute("scaled_dot_product_attention", attention)
    contexts, _ = attend(*project(inputs.double(), W_query.double(), W_key.double(), W_value.double()))
    return contexts


def layered_self_attention(
    student: Student,
    inputs: torch.Tensor,
    W_query_weight: torch.Tensor,
    W_key_weight: torch.Tensor,
    W_value_weight: torch.Tensor,
) -> torch.Tensor:
    """Compute self_attention with weights as linear layers store them, (d_out, d_in)."""
    return self_attention(student, inputs, W_query_weight.mT, W_key_weight.mT, W_value_weight.mT)


def mixed(inputs: torch.Tensor, W_query: torch.Tensor, W_key: torch.Tensor, W_value: torch.Tensor) -> torch.Tensor:
    """Compute what the toolbox's Holder computes: not attention, but each matrix contributes in a different way."""
    queries, keys, values = (projected(inputs, matrix) for matrix in (W_query, W_key, W_value))
    return queries + queries**2 + 2 * keys + keys**2 + 3 * values + values**2


# -- decisive inputs ---------------------------------------------------------------------------------------------
# FITTING is the dot product of a query with the key that fits it, OTHER the one with any other key. The largest number
# by which learners are known to divide the scores is 2 d_k, at most 14 here. Then the fitting key is still ahead by
# 240 / 14 = 17: all other keys together have a weight below 6 e⁻¹⁷ = 3e-7 and change a context by at most a few tenths
# of ABSOLUTE. Softmax does not overflow even if an answer does not subtract the maximum, with or without scaling:
# exp(80) is finite in float32, unlike exp(89), and exp(-160) is zero.

FITTING, OTHER = 80.0, -160.0


def fitting_keys(fresh: Fresh, queries_count: int, keys_count: int) -> torch.Tensor:
    """Return the index of the key that fits each query, (T_q,): the query's own, shifted at random, never the last.

    It is never the query's own index if there are at least two other keys to choose from. Some keys fit no query,
    others fit two, so that softmax over the queries, or with queries and keys swapped, gives other weights.
    """
    others = max(keys_count - 2, 1)
    return (torch.arange(1, queries_count + 1) + fresh.order(others)[0]) % max(keys_count - 1, 1)


def queries_and_fitting_keys(
    fresh: Fresh, queries_count: int, keys_count: int, d_k: int, fitting: float = FITTING, other: float = OTHER
) -> tuple[torch.Tensor, torch.Tensor]:
    """Return queries (T_q, d_k) and keys (T_k, d_k) in float64 whose dot products are `fitting` and `other`.

    The smaller of T_q and T_k is at most d_k.
    """
    scores = torch.full((queries_count, keys_count), other, dtype=torch.float64)
    scores[range(queries_count), fitting_keys(fresh, queries_count, keys_count)] = fitting
    # With r the smaller count: scores = left (T_q, r) · sizes (r,) · right (r, T_k). Queries and keys each get the root
    # of the sizes, and both use the same r orthonormal directions of d_k dimensions.
    left, sizes, right = torch.linalg.svd(scores, full_matrices=False)
    directions = fresh.rotation(d_k)[: len(sizes)]
    return left * sizes.sqrt() @ directions, right.mT * sizes.sqrt() @ directions


def decisive_arguments(
    fresh: Fresh, queries_count: int, keys_count: int, dtype: torch.dtype = torch.float32
) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """Return decisive queries (T_q, d_k) and keys (T_k, d_k), and values (T_k, d_v)."""
    queries, keys = queries_and_fitting_keys(fresh, queries_count, keys_count, D_K)
    return queries.to(dtype), keys.to(dtype), fresh(keys_count, D_V, dtype=dtype)


def decisive_tokens(
    fresh: Fresh, count: int, dtype: torch.dtype = torch.float32
) -> tuple[torch.Tensor, dict[str, torch.Tensor]]:
    """Return inputs (T, D_WIDE) and matrices (D_WIDE, d_out) that project them to decisive queries and keys."""
    inputs = fresh.rotation(D_WIDE)[:count]
    queries, keys = queries_and_fitting_keys(fresh, count, count, D_OUT)
    # The tokens are orthonormal, so inputs @ inputs.mT, (T, T), is the identity.
    matrices = {"W_query": inputs.mT @ queries, "W_key": inputs.mT @ keys, "W_value": fresh(D_WIDE, D_OUT)}
    return inputs.to(dtype), {name: matrix.to(dtype) for name, matrix in matrices.items()}


# -- project_qkv -------------------------------------------------------------------------------------------------


@pytest.mark.exercise("project_qkv", rule="queries = inputs @ W_query")
def test_queries_are_the_inputs_times_W_query(student: Student, fresh: Fresh) -> None:
    """The first result should be the queries: inputs @ W_query, of shape (T, d_out), also for one token."""
    for count in (T, 1):
        inputs, matrices = fresh(count, D_IN), [fresh(D_IN, D_OUT) for _ in MATRICES]
        queries, _, _ = expect_values(student.project_qkv(inputs, *matrices), 3)
        expect_close(queries, projected(inputs, matrices[0]), "The queries")


@pytest.mark.exercise("project_qkv", rule="keys = inputs @ W_key")
def test_keys_are_the_inputs_times_W_key(student: Student, fresh: Fresh) -> None:
    """The second result should be the keys: inputs @ W_key, of shape (T, d_out), also for one token."""
    for count in (T, 1):
        inputs, matrices = fresh(count, D_IN), [fresh(D_IN, D_OUT) for _ in MATRICES]
        _, keys, _ = expect_values(student.project_qkv(inputs, *matrices), 3)
        expect_close(keys, projected(inputs, matrices[1]), "The keys")


@pytest.mark.exercise("project_qkv", rule="values = inputs @ W_value")
def test_values_are_the_inputs_times_W_value(student: Student, fresh: Fresh) -> None:
    """The third result should be the values: inputs @ W_value, of shape (T, d_out), also for one token."""
    for count in (T, 1):
        inputs, matrices = fresh(count, D_IN), [fresh(D_IN, D_OUT) for _ in MATRICES]
        _, _, values = expect_values(student.project_qkv(inputs, *matrices), 3)
        expect_close(values, projected(inputs, matrices[2]), "The values")


@pytest.mark.exercise("project_qkv", rule="float32 and float64 arguments both work")
def test_projections_of_either_dtype(student: Student, fresh: Fresh) -> None:
    """The three projections should be correct for float32 arguments and for float64 arguments."""
    # All sizes are equal here: a transposed or elementwise product raises no error, and its values show which it is.
    for dtype in (torch.float32, torch.float64):
        inputs, *matrices = (fresh(D_IN, D_IN, dtype=dtype) for _ in range(4))
        for projection, matrix in zip(expect_values(student.project_qkv(inputs, *matrices), 3), matrices, strict=True):
            expect_close(projection, projected(inputs, matrix), f"The values for {str(dtype).removeprefix('torch.')}")


# -- scaled_dot_product_attention --------------------------------------------------------------------------------


@pytest.mark.exercise(
    "scaled_dot_product_attention",
    rule="scores are the dot products of every query with every key, divided by the square root of d_k",
)
def test_scores_are_divided_by_the_square_root_of_d_k(student: Student, fresh: Fresh) -> None:
    """The scores should be the dot products of queries and keys, divided by the square root of d_k."""
    queries, keys, values = fresh(T, D_K), fresh(T, D_K), fresh(T, D_V)
    _, weights = expect_values(student.scaled_dot_product_attention(queries, keys, values), 2)
    # The logarithm undoes softmax up to a constant for each row. Subtracting the row's mean removes it.
    logarithms = expect_tensor(weights, (T, T)).double().log()
    scores = scaled_scores(queries, keys)
    expect_close(logarithms - logarithms.mean(-1, keepdim=True), scores - scores.mean(-1, keepdim=True), "The scores")


@pytest.mark.exercise(
    "scaled_dot_product_attention",
    rule="weights are the softmax of the scores over the keys, so each row sums to one",
)
def test_each_query_shares_its_attention_among_the_keys(student: Student, fresh: Fresh) -> None:
    """Softmax should run over the keys: weights are positive, sum to one and are largest for the best key."""
    # Scores near zero: each key gets some weight, and the fitting key gets the most for any scale.
    queries, keys = queries_and_fitting_keys(fresh, T, T, D_K, fitting=1, other=-1)
    arguments = queries.float(), keys.float(), fresh(T, D_V)
    _, weights = expect_values(student.scaled_dot_product_attention(*arguments), 2)
    expect_true(bool((expect_tensor(weights, (T, T)) > 0).all()), "Not every weight is positive.")
    expect_close(weights.sum(-1), torch.ones(T), "The sums of the rows of weights")
    expect_true(
        torch.equal(weights.argmax(-1), scaled_scores(queries, keys).argmax(-1)),
        "A query's largest weight is not on the key with which it has the largest dot product.",
    )


@pytest.mark.exercise(
    "scaled_dot_product_attention",
    rule="contexts are the weighted sums of the values, and d_v may differ from d_k",
)
def test_contexts_are_weighted_sums_of_the_values(student: Student, fresh: Fresh) -> None:
    """Each context should be the sum of the values, each times its weight: (T_q, d_v), for any d_v."""
    # In the second case all sizes are equal, so that only the numbers distinguish keys from values.
    for count, d_v in ((T, D_V), (D_K, D_K)):
        queries, keys, values = fresh(count, D_K), fresh(count, D_K), fresh(count, d_v)
        contexts, _ = expect_values(student.scaled_dot_product_attention(queries, keys, values), 2)
        expect_close(contexts, attention(queries, keys, values)[0], "The contexts")


@pytest.mark.exercise("scaled_dot_product_attention", rule="T_q may differ from T_k")
def test_as_many_queries_as_you_like(student: Student, fresh: Fresh) -> None:
    """Any number of queries should work, fewer or more than keys: weights (T_q, T_k), contexts (T_q, d_v)."""
    for queries_count, keys_count in ((T, T_K), (T_K, T), (1, T)):
        arguments = decisive_arguments(fresh, queries_count, keys_count)
        expect_attention(student.scaled_dot_product_attention(*arguments), *arguments)


@pytest.mark.exercise(
    "scaled_dot_product_attention", rule="any number of leading dimensions, with each batch element computed separately"
)
def test_a_batch(student: Student, fresh: Fresh) -> None:
    """With a batch in front, (B, T_q, d_k), each element of the batch should be computed separately."""
    arguments = fresh(B, T, D_K), fresh(B, T_K, D_K), fresh(B, T_K, D_V)
    expect_attention(student.scaled_dot_product_attention(*arguments), *arguments)


@pytest.mark.exercise(
    "scaled_dot_product_attention", rule="any number of leading dimensions, with each batch element computed separately"
)
def test_a_batch_of_heads(student: Student, fresh: Fresh) -> None:
    """With two leading dimensions, (B, H, T_q, d_k), each head of each batch element should be computed separately."""
    arguments = fresh(B, H, T, D_K), fresh(B, H, T_K, D_K), fresh(B, H, T_K, D_V)
    expect_attention(student.scaled_dot_product_attention(*arguments), *arguments)


@pytest.mark.exercise(
    "scaled_dot_product_attention", rule="inputs may be non-contiguous, for example the result of a transpose"
)
def test_views_with_another_memory_layout(student: Student, fresh: Fresh) -> None:
    """The result should be correct if the arguments are non-contiguous, for example the result of a transpose."""
    # (B, T, H, d) -> (B, H, T, d): the memory layout after splitting heads
    arguments = [fresh(B, count, H, width).transpose(1, 2) for count, width in ((T, D_K), (T_K, D_K), (T_K, D_V))]
    expect_attention(student.scaled_dot_product_attention(*arguments), *arguments)


@pytest.mark.exercise(
    "scaled_dot_product_attention", rule="the result keeps the dtype of the arguments, float32 or float64"
)
def test_attention_keeps_the_dtype(student: Student, fresh: Fresh) -> None:
    """Contexts and weights should have the dtype of the arguments, for float32 and for float64."""
    for dtype in (torch.float32, torch.float64):
        arguments = decisive_arguments(fresh, T, T, dtype)
        result = student.scaled_dot_product_attention(*arguments)
        expect_attention(result, *arguments)
        for part in result:
            expect_dtype(part, dtype)


@pytest.mark.parametrize(("exercise", "shapes", "oracle"), [
    case("gradients_of_the_projections", "project_qkv", "gradients flow to the inputs and to all three matrices",
         "Gradients of the queries, keys and values should flow to the inputs and to each of the three matrices.",
         "project_qkv", [(T, D_IN), (D_IN, D_OUT), (D_IN, D_OUT), (D_IN, D_OUT)], projections),
    case("gradients_of_attention", "scaled_dot_product_attention", "gradients flow to queries, keys and values",
         "Gradients of the contexts and of the weights should flow to the queries, the keys and the values.",
         "scaled_dot_product_attention", [(T, D_K), (T, D_K), (T, D_V)], attention),
])  # fmt: skip
def test_gradients(student: Student, fresh: Fresh, exercise: str, shapes: list[Shape], oracle: Oracle) -> None:
    """Gradients of all results should flow to all arguments of both functions."""
    arguments = [fresh(*shape) for shape in shapes]
    expect_gradients_of(student, exercise, lambda _: oracle, arguments)


def expect_projections(_: Student, result: object, *arguments: torch.Tensor) -> None:
    for found, right in zip(expect_values(result, 3), projections(*arguments), strict=True):
        expect_close(found, right)


@pytest.mark.parametrize("ask", [
    case("projecting_leaves_its_arguments_alone", "project_qkv", "the arguments are not changed",
         "The projections should be correct, and the call should not change the inputs or the matrices.",
         asking("project_qkv", lambda fresh: [fresh(T, D_IN), *(fresh(D_IN, D_OUT) for _ in MATRICES)],
                expect_projections)),
    case("attention_leaves_its_arguments_alone", "scaled_dot_product_attention", "the arguments are not changed",
         "The result should be correct, and the call should not change queries, keys or values.",
         asking("scaled_dot_product_attention", lambda fresh: decisive_arguments(fresh, T, T),
                lambda _, result, *arguments: expect_attention(result, *arguments))),
])  # fmt: skip
def test_arguments_left_alone(student: Student, fresh: Fresh, ask: Asking) -> None:
    """The result should be correct, and the call should not change the arguments."""
    expect_left_alone(ask(student, fresh), "An argument was changed.")


@pytest.mark.exercise("scaled_dot_product_attention", rule="the result is the pair (contexts, weights)")
def test_contexts_come_first_and_weights_second(student: Student, fresh: Fresh) -> None:
    """The function should return two results: first the contexts (T_q, d_v), then the weights (T_q, T_k)."""
    arguments = decisive_arguments(fresh, T, T)
    expect_attention(student.scaled_dot_product_attention(*arguments), *arguments)


def expect_attention(result: object, queries: torch.Tensor, keys: torch.Tensor, values: torch.Tensor) -> None:
    contexts, weights = expect_values(result, 2)
    right_contexts, right_weights = attention(queries, keys, values)
    expect_close(weights, right_weights, "The weights")
    expect_close(contexts, right_contexts, "The contexts")


# -- SelfAttention_v1 --------------------------------------------------------------------------------------------


def fresh_matrices(fresh: Fresh, d_in: int = D_IN, d_out: int = D_OUT) -> dict[str, torch.Tensor]:
    """Return W_query, W_key and W_value, each (d_in, d_out), so small that softmax is not close to a maximum."""
    return {name: fresh(d_in, d_out) / d_in**0.5 for name in MATRICES}


# d_in and d_out. The second pair is equal: if they differ, values without a projection have the wrong shape.
WIDTHS = ((D_IN, D_OUT), (T, T))


def expect_deterministic(first: object, second: object, reason: str) -> None:
    """Expect two results of the same computation to be equal, if both are tensors of the same shape."""
    if isinstance(first, torch.Tensor) and isinstance(second, torch.Tensor) and first.shape == second.shape:
        expect_true(torch.allclose(first.double(), second.double(), equal_nan=True), reason)


def output_of(attention: RemoteObject, inputs: torch.Tensor) -> object:
    """Return the module's output, which should be the same in two calls."""
    output, again = attention.repeated(2, inputs)
    expect_deterministic(output, again, "Two calls with the same inputs give different outputs.")
    return output


@pytest.mark.exercise("SelfAttention_v1", rule="W_query, W_key and W_value are nn.Parameter of shape (d_in, d_out)")
def test_three_matrices_are_parameters(student: Student) -> None:
    """W_query, W_key and W_value should each be an nn.Parameter of shape (d_in, d_out)."""
    parameters = student.queue("SelfAttention_v1", D_IN, D_OUT).parameters()
    expect_true(bool(parameters), "The module has no parameters.")
    for name in MATRICES:
        expect_true(f"{name}.weight" not in parameters, f"{name} is a layer, not an nn.Parameter.")
        expect_true(name in parameters, f"{name} is not an nn.Parameter of its own.")
        expect_tensor(parameters[name], (D_IN, D_OUT))


@pytest.mark.exercise(
    "SelfAttention_v1",
    rule="the output is the scaled dot-product attention of inputs @ W_query, inputs @ W_key and inputs @ W_value",
)
def test_output_of_three_matrices(student: Student, fresh: Fresh) -> None:
    """The output should be only the contexts, (T, d_out): the scaled dot-product attention of the projections."""
    for d_in, d_out in WIDTHS:
        attention, inputs = student.queue("SelfAttention_v1", d_in, d_out), fresh(T, d_in)
        matrices = fresh_matrices(fresh, d_in, d_out)
        attention.set(matrices)
        expect_close(output_of(attention, inputs), self_attention(student, inputs, **matrices), "The outputs")


@pytest.mark.exercise("SelfAttention_v1", rule="any number of tokens, including one")
def test_three_matrices_take_any_number_of_tokens(student: Student, fresh: Fresh) -> None:
    """The same module should work for any number of tokens, also a single one, and give (T, d_out)."""
    attention = student.queue("SelfAttention_v1", D_WIDE, D_OUT)
    for count in (1, 3, 6):
        inputs, matrices = decisive_tokens(fresh, count)
        attention.set(matrices)
        expect_close(output_of(attention, inputs), self_attention(student, inputs, **matrices), "The outputs")


@pytest.mark.exercise("SelfAttention_v1", rule="gradients reach all three parameters and the inputs")
def test_gradients_of_three_matrices(student: Student, fresh: Fresh) -> None:
    """Gradients of the output should reach W_query, W_key and W_value, and the inputs."""
    attention, inputs = student.queue("SelfAttention_v1", D_IN, D_OUT), fresh(T, D_IN)
    matrices = fresh_matrices(fresh)
    attention.set(matrices)
    parameters = attention.parameters()
    for name in MATRICES:
        expect_true(parameters[name].requires_grad, f"{name} does not require gradients.")
    output_of(attention, inputs)
    _, found = expect_values(attention.gradients(inputs), 2)
    expect_gradients(found, oracle_gradients(functools.partial(self_attention, student), [inputs], matrices))


# -- SelfAttention_v2 --------------------------------------------------------------------------------------------


@pytest.mark.exercise("SelfAttention_v2", rule="W_query, W_key and W_value are nn.Linear from d_in to d_out")
def test_three_layers_from_d_in_to_d_out(student: Student) -> None:
    """W_query, W_key and W_value should each be an nn.Linear from d_in to d_out."""
    parameters = student.queue("SelfAttention_v2", D_IN, D_OUT).parameters()
    expect_true(bool(parameters), "The module has no parameters.")
    for name in MATRICES:
        expect_true(name not in parameters, f"{name} is an nn.Parameter, not a layer.")
        expect_layer(parameters, name, D_IN, D_OUT)


@pytest.mark.exercise(
    "SelfAttention_v2",
    rule="the layers have no bias unless qkv_bias=True; then each layer adds its own bias",
)
def test_no_layer_has_a_bias_by_default(student: Student) -> None:
    """W_query, W_key and W_value should have no bias if the caller does not ask for one."""
    expect_no_bias(student.queue("SelfAttention_v2", D_IN, D_OUT).parameters(), MATRICES)


@pytest.mark.exercise(
    "SelfAttention_v2",
    rule="the layers have no bias unless qkv_bias=True; then each layer adds its own bias",
)
def test_every_layer_has_a_bias_on_demand(student: Student) -> None:
    """With qkv_bias=True, W_query, W_key and W_value should each have a bias of d_out numbers."""
    parameters = student.queue("SelfAttention_v2", D_IN, D_OUT, qkv_bias=True).parameters()
    expect_true(any(name in parameters for name in BIASES), "None of the three layers has a bias.")
    for name in BIASES:
        expect_true(name in parameters, f"There is no parameter {name}.")
        expect_tensor(parameters[name], (D_OUT,))


@pytest.mark.exercise(
    "SelfAttention_v2",
    rule="the layers have no bias unless qkv_bias=True; then each layer adds its own bias",
)
def test_the_biases_count(student: Student, fresh: Fresh) -> None:
    """With qkv_bias=True, each layer should add its bias: x @ W.T + b."""
    attention, inputs = student.queue("SelfAttention_v2", D_IN, D_OUT, qkv_bias=True), fresh(T, D_IN)
    matrices, biases = fresh_matrices(fresh), {name: fresh(D_OUT) for name in BIASES}
    set_layers(attention, as_layers(matrices))
    attention.set(biases)
    # A column of ones with the bias as its weights is the same as adding the bias.
    widened = [torch.cat([matrix, b[None]]) for matrix, b in zip(matrices.values(), biases.values(), strict=True)]
    with_ones = torch.cat([inputs, torch.ones(T, 1)], 1)
    expect_close(output_of(attention, inputs), self_attention(student, with_ones, *widened), "The outputs")


@pytest.mark.exercise(
    "SelfAttention_v2", rule="the output is the scaled dot-product attention of the three layers' outputs"
)
def test_output_of_three_layers(student: Student, fresh: Fresh) -> None:
    """The output should be only the contexts, (T, d_out): the scaled dot-product attention of the layers' outputs."""
    for d_in, d_out in WIDTHS:
        attention, inputs = student.queue("SelfAttention_v2", d_in, d_out), fresh(T, d_in)
        matrices = fresh_matrices(fresh, d_in, d_out)
        set_layers(attention, as_layers(matrices))
        expect_close(output_of(attention, inputs), self_attention(student, inputs, **matrices), "The outputs")


@pytest.mark.exercise("SelfAttention_v2", rule="any number of tokens, including one")
def test_three_layers_take_any_number_of_tokens(student: Student, fresh: Fresh) -> None:
    """The same module should work for any number of tokens, also a single one, and give (T, d_out)."""
    attention = student.queue("SelfAttention_v2", D_WIDE, D_OUT)
    for count in (1, 3, 6):
        inputs, matrices = decisive_tokens(fresh, count)
        set_layers(attention, as_layers(matrices))
        expect_close(output_of(attention, inputs), self_attention(student, inputs, **matrices), "The outputs")


@pytest.mark.exercise("SelfAttention_v2", rule="gradients reach the inputs and the weights of the three layers")
def test_gradients_of_three_layers(student: Student, fresh: Fresh) -> None:
    """Gradients of the output should reach the weights of all three layers, and the inputs."""
    attention, inputs = student.queue("SelfAttention_v2", D_IN, D_OUT), fresh(T, D_IN)
    matrices = fresh_matrices(fresh)
    set_layers(attention, as_layers(matrices))
    # The weights that the test set, not the ones that the module reports.
    weights = as_layers(matrices)
    output_of(attention, inputs)
    _, found = expect_values(attention.gradients(inputs), 2)
    expect_gradients(found, oracle_gradients(functools.partial(layered_self_attention, student), [inputs], weights))


# -- SelfAttention_v1 and SelfAttention_v2 -----------------------------------------------------------------------


def set_as_layers(attention: RemoteObject, matrices: Matrices) -> None:
    set_layers(attention, as_layers(matrices))


@pytest.mark.parametrize(("exercise", "set_matrices"), [
    case("three_matrices_in_float64", "SelfAttention_v1", "works in float64 after .double()",
         "After .double() the module should take float64 inputs and give the correct output.",
         "SelfAttention_v1", RemoteObject.set),
    case("three_layers_in_float64", "SelfAttention_v2", "works in float64 after .double()",
         "After .double() the module should take float64 inputs and give the correct output.",
         "SelfAttention_v2", set_as_layers),
])  # fmt: skip
def test_float64(student: Student, fresh: Fresh, exercise: str, set_matrices: SetMatrices) -> None:
    """Both modules should work in float64."""
    attention = student.queue(exercise, D_WIDE, D_OUT)
    attention.to(torch.float64)
    inputs, matrices = decisive_tokens(fresh, T, torch.float64)
    set_matrices(attention, matrices)
    expect_close(output_of(attention, inputs), self_attention(student, inputs, **matrices), "The outputs")


@pytest.mark.parametrize(("exercise", "set_matrices"), [
    case("three_matrices_leave_the_inputs_alone", "SelfAttention_v1", "the inputs are not changed",
         "The output should be correct, and the call should not change the inputs.",
         "SelfAttention_v1", RemoteObject.set),
    case("three_layers_leave_the_inputs_alone", "SelfAttention_v2", "the inputs are not changed",
         "The output should be correct, and the call should not change the inputs.",
         "SelfAttention_v2", set_as_layers),
])  # fmt: skip
def test_inputs_left_alone(student: Student, fresh: Fresh, exercise: str, set_matrices: SetMatrices) -> None:
    """Both modules should not change their inputs."""
    attention = student.queue(exercise, D_WIDE, D_OUT)
    inputs, matrices = decisive_tokens(fresh, T)
    set_matrices(attention, matrices)
    output_of(attention, inputs)
    output, [after] = expect_values(attention.with_arguments(inputs), 2)
    expect_close(output, self_attention(student, inputs, **matrices), "The outputs")
    expect_same(after, inputs, "The inputs were changed.")


# -- transfer_weights --------------------------------------------------------------------------------------------
# The tests use modules of the toolbox, so that they do not depend on other answers.


def two_modules(
    student: Student, fresh: Fresh, d_in: int, d_out: int, biases: Matrices | None = None
) -> tuple[RemoteObject, RemoteObject]:
    """Return attention_v2 and attention_v1, with different weights."""
    initial, matrices = ({name: fresh(d_in, d_out) for name in MATRICES} for _ in range(2))
    return modules_with(student, initial, matrices, biases)


def modules_with(
    student: Student, initial: Matrices, matrices: Matrices, biases: Matrices | None
) -> tuple[RemoteObject, RemoteObject]:
    """Return attention_v2, whose layers have the weights `matrices`, and attention_v1 with the matrices `initial`.

    All matrices are (d_in, d_out). If `biases` is given, attention_v2's layers have these biases, and zeros elsewhere.
    """
    d_in, d_out = matrices["W_query"].shape
    layers = {name: student.make("Linear", d_in, d_out, bias=biases is not None) for name in MATRICES}
    attention_v2 = student.make("Holder", **layers)
    attention_v2.set(as_layers(matrices))
    if biases is not None:
        attention_v2.set({f"{name}.bias": biases.get(name, torch.zeros(d_out)) for name in MATRICES})
    return attention_v2, student.make("Holder", **initial)


def transferred(
    student: Student, fresh: Fresh, d_in: int, d_out: int, biases: Matrices | None = None
) -> tuple[RemoteObject, RemoteObject, list[object], Matrices]:
    """Return both modules after a transfer, and attention_v1's weights and the expected ones.

    Two equal pairs of modules should be equal after the transfer too.
    """
    initial, matrices = ({name: fresh(d_in, d_out) for name in MATRICES} for _ in range(2))
    pairs = [modules_with(student, initial, matrices, biases) for _ in range(2)]
    for pair in pairs:
        student.queue("transfer_weights", *pair)
    moved, again = (attention_v1.attributes(*MATRICES) for _, attention_v1 in pairs)
    for first, second in zip(moved, again, strict=True):
        expect_deterministic(first, second, "The same transfer, done twice, gives different weights.")
    return *pairs[1], again, matrices


def expect_moved(attention_v1: RemoteObject, moved: list[object], matrices: Matrices, inputs: torch.Tensor) -> None:
    expect_close(attention_v1(inputs), mixed(inputs, **matrices), "The outputs of attention_v1")
    for (name, matrix), found in zip(matrices.items(), moved, strict=True):
        expect_close(found, matrix, f"The weights in attention_v1's {name}")


def expect_unchanged(module: RemoteObject, before: dict[str, torch.Tensor]) -> None:
    after = module.parameters()
    for name, value in before.items():
        reason = f"{shown(name)} of attention_v2 was changed."
        expect_true(name in after, f"{shown(name)} of attention_v2 is gone.")
        expect_true(after[name].shape == value.shape, f"{shown(name)} of attention_v2 has another shape.")
        expect_same(after[name], value, reason)
        expect_true(after[name].requires_grad == value.requires_grad, reason)


@pytest.mark.exercise(
    "transfer_weights", rule="afterwards attention_v1 gives the outputs of attention_v2, for any d_in and d_out"
)
def test_the_first_then_gives_the_outputs_of_the_second(student: Student, fresh: Fresh) -> None:
    """Afterwards attention_v1 should give attention_v2's outputs, also if d_in and d_out differ."""
    for d_in, d_out in ((D_IN, D_OUT), (D_OUT, D_IN)):
        _, attention_v1, moved, matrices = transferred(student, fresh, d_in, d_out)
        expect_moved(attention_v1, moved, matrices, fresh(T, d_in))


@pytest.mark.exercise("transfer_weights", rule="this is also true for square matrices (d_in = d_out)")
def test_square_matrices_are_no_exception(student: Student, fresh: Fresh) -> None:
    """If d_in = d_out, attention_v1 should also give attention_v2's outputs."""
    _, attention_v1, moved, matrices = transferred(student, fresh, D_IN, D_IN)
    expect_moved(attention_v1, moved, matrices, fresh(T, D_IN))


@pytest.mark.exercise("transfer_weights", rule="attention_v2 is not changed")
def test_the_second_is_left_as_it_was(student: Student, fresh: Fresh) -> None:
    """attention_v2 should keep its weights and biases, also if the function raises an error."""
    attention_v2, attention_v1, moved, matrices = transferred(student, fresh, D_IN, D_OUT)
    expect_unchanged(attention_v2, {name: weight.requires_grad_() for name, weight in as_layers(matrices).items()})
    expect_moved(attention_v1, moved, matrices, fresh(T, D_IN))
    attention_v2, attention_v1 = two_modules(student, fresh, D_IN, D_OUT, {n: fresh(D_OUT) for n in MATRICES})
    before = attention_v2.parameters()
    with contextlib.suppress(Raised):
        student.transfer_weights(attention_v2, attention_v1)
    expect_unchanged(attention_v2, before)


@pytest.mark.exercise("transfer_weights", rule="attention_v1's weights stay nn.Parameter that require gradients")
def test_the_weights_stay_parameters(student: Student, fresh: Fresh) -> None:
    """Afterwards W_query, W_key and W_value of attention_v1 should contain the weights as parameters that can learn."""
    _, attention_v1, _, matrices = transferred(student, fresh, D_IN, D_OUT)
    parameters = attention_v1.parameters()
    for name, matrix in matrices.items():
        expect_true(name in parameters, f"attention_v1's {name} is not a parameter any more.")
        expect_close(parameters[name], matrix, f"The weights in attention_v1's {name}")
        expect_true(parameters[name].requires_grad, f"attention_v1's {name} requires no gradient any more.")


@pytest.mark.exercise(
    "transfer_weights",
    rule="a non-zero bias in W_query of attention_v2 raises ValueError or AssertionError",
)
def test_a_bias_in_W_query_is_refused(student: Student, fresh: Fresh) -> None:
    """A non-zero bias in attention_v2's W_query should raise ValueError or AssertionError."""
    expect_refusal(student, fresh, "W_query")


@pytest.mark.exercise("transfer_weights", rule="a non-zero bias in W_key raises ValueError or AssertionError too")
def test_a_bias_in_W_key_is_refused(student: Student, fresh: Fresh) -> None:
    """A non-zero bias in attention_v2's W_key should raise ValueError or AssertionError."""
    expect_refusal(student, fresh, "W_key")


@pytest.mark.exercise("transfer_weights", rule="a non-zero bias in W_value raises ValueError or AssertionError too")
def test_a_bias_in_W_value_is_refused(student: Student, fresh: Fresh) -> None:
    """A non-zero bias in attention_v2's W_value should raise ValueError or AssertionError."""
    expect_refusal(student, fresh, "W_value")


def expect_refusal(student: Student, fresh: Fresh, name: str) -> None:
    # An answer that rejects all modules does not pass.
    student.transfer_weights(*two_modules(student, fresh, D_IN, D_OUT))
    # The second bias has two entries that cancel, and zeros: neither its sum nor its first entry shows it.
    cancelling = torch.zeros(D_OUT)
    cancelling[1], cancelling[2] = 0.5, -0.5
    for bias in (fresh(D_OUT), cancelling):
        modules = two_modules(student, fresh, D_IN, D_OUT, {name: bias})
        expect_error(functools.partial(student.transfer_weights, *modules))


@pytest.mark.exercise("transfer_weights", rule="biases that are all zero raise no error")
def test_biases_that_are_all_zero_are_fine(student: Student, fresh: Fresh) -> None:
    """If attention_v2's biases are all zero, there should be no error, and attention_v1 gives the same outputs."""
    _, attention_v1, moved, matrices = transferred(student, fresh, D_IN, D_OUT, biases={})
    expect_moved(attention_v1, moved, matrices, fresh(T, D_IN))


# -- dot_product_variance ----------------------------------------------------------------------------------------
# The tolerance of a right answer: let X = q·k for d = d_k features. Given k, X is normal with variance |k|², so
# E X² = E|k|² = d and E X⁴ = 3 E|k|⁴ = 3 (d² + 2d). The variance of a sample variance over n pairs is about
# (E X⁴ - (E X²)²) / n = (2d² + 6d) / n. The margin is six standard deviations. A normal estimate exceeds it twice in
# 10⁹ runs, and these estimates, slightly skewed to the right, less than once in 10⁶: once in four million simulated
# runs with two features.

# The first case has many features. There a variance over the features instead of the samples is a good estimate too, so
# the result shows this mistake. In the second case a feature that is left out halves the result.
WIDTHS_AND_SAMPLES = ((800, 1000), (2, 2000))


# Seeds that an answer may set inside the function.
SEEDS = (0, 1, 42, 123)


def margin(d_k: int, samples: int) -> float:
    return 6 * math.sqrt((2 * d_k**2 + 6 * d_k) / samples)


def expect_scatter(student: Student, which: int) -> None:
    """Expect the estimates of 150 calls to scatter like variances of twenty dot products.

    A product of two normal numbers has a kurtosis of 9, so the variance of twenty products has a standard deviation of
    about √(8/20) = 0.6 around one. For twenty normal numbers it is √(2/19) = 0.3, and half of that for their standard
    deviation. A formula instead of samples does not scatter at all. The logarithms of right estimates have fewer
    outliers than the estimates. In 100,000 simulated runs of 150 calls their scatter was 0.606 for products and 0.333
    for normal numbers, with a relative standard error of 0.06, and in no run was it outside 0.454 to 0.791 for
    products. The bound is 5.3 and 4.6 standard errors away, on a scale of logarithms.
    """
    estimates = [two_numbers(result)[which] for result in student.dot_product_variance.draws(150, 1, 20)]
    expect_true(
        torch.tensor(estimates).log().std().item() > 0.44,
        "Over twenty pairs the number varies too little for the variance of twenty dot products.",
    )


def two_numbers(result: object) -> list[float]:
    return [expect_one_number(number) for number in expect_values(result, 2)]


def variances(student: Student) -> DrawFunction:
    def draw(**options: object) -> torch.Tensor:
        return torch.tensor(two_numbers(student.dot_product_variance(D_K, T_K, **options)), dtype=torch.float64)

    return draw


@pytest.mark.exercise(
    "dot_product_variance",
    rule="the first number is the variance of q·k over `samples` pairs of standard normal vectors of length d_k, "
    "near d_k",
)
def test_the_variance_of_dot_products_is_near_d_k(student: Student) -> None:
    """The first number should be the variance of q·k over all pairs, near d_k for any d_k."""
    for d_k, samples in WIDTHS_AND_SAMPLES:
        [result] = student.dot_product_variance.draws(1, d_k, samples)
        plain, _ = expect_values(result, 2)
        expect_number(plain, d_k, margin(d_k, samples))
    expect_scatter(student, 0)


@pytest.mark.exercise("dot_product_variance", rule="the second is the variance of q·k / √d_k, near 1")
def test_scaling_brings_the_variance_near_one(student: Student) -> None:
    """The second number should be the variance of q·k / √d_k, near one for any d_k."""
    for d_k, samples in WIDTHS_AND_SAMPLES:
        [result] = student.dot_product_variance.draws(1, d_k, samples)
        _, scaled = expect_values(result, 2)
        expect_number(scaled, 1, margin(d_k, samples) / d_k)
    expect_scatter(student, 1)


@pytest.mark.exercise("dot_product_variance", rule="with a generator, every random draw comes from it and advances it")
def test_a_generator_is_drawn_from_and_advances(student: Student) -> None:
    """With a generator, the call should advance its state, and another state should give other numbers."""
    results = []
    for seed in (1, 2):
        generator = student.generator(seed)
        student.seed(3)
        results.append(two_numbers(student.dot_product_variance(D_K, T_K, generator=generator)))
        expect_used(generator, seed)
    expect_true(results[0] != results[1], "Another state of the generator gives the same numbers.")
    # If the function seeds some draws itself, queries and keys are equal for a generator with the same seed, and the
    # variance is twice as large. The relative error of a right estimate, √(2/800), is 1/20 here.
    plain = [two_numbers(student.dot_product_variance(50, 800, student.generator(seed)))[0] for seed in SEEDS]
    expect_true(max(plain) < 1.5 * min(plain), "With some states of the generator the first number is much larger.")


@pytest.mark.exercise("dot_product_variance", rule="with the same generator state the result is the same")
def test_the_same_generator_state_gives_the_same_result(student: Student) -> None:
    """With the same generator state the numbers should be the same, for any state of torch's global generator."""
    expect_draws_by_state(
        student,
        variances(student),
        "The same state of the generator gives other numbers.",
        "Another state of the generator gives the same numbers.",
    )


@pytest.mark.exercise(
    "dot_product_variance", rule="without a generator, torch's global generator is used, and it advances too"
)
def test_without_a_generator_the_global_one_is_used(student: Student) -> None:
    """Without a generator, torch.manual_seed should control the numbers, and a second call should give others."""
    expect_global_draws(
        student,
        variances(student),
        "The same global state gives other numbers.",
        "Another global state gives the same numbers.",
        "A second call gives the same numbers as the first.",
    )
