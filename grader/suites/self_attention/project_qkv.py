"""project_qkv: hidden tests, known mistakes and right answers."""

from __future__ import annotations

import torch

from grader.suites.self_attention.shared import (
    D_IN,
    D_OUT,
    MATRICES,
    T,
    begun_with,
    projected,
    projections,
)
from grader.testing.checks import expect_close, expect_values
from grader.testing.draws import Fresh, numbers
from grader.testing.misconceptions import mistake, replace
from grader.testing.student import Student
from grader.testing.suite import Example, asking, contract, kept_arguments, right_gradients, rule


@rule("queries = inputs @ W_query")
def test_queries_are_the_inputs_times_W_query(student: Student, fresh: Fresh) -> None:
    """The first result should be the queries: inputs @ W_query, of shape (T, d_out), also for one token."""
    for count in (T, 1):
        inputs, matrices = fresh(count, D_IN), [fresh(D_IN, D_OUT) for _ in MATRICES]
        queries, _, _ = expect_values(student.project_qkv(inputs, *matrices), 3)
        expect_close(queries, projected(inputs, matrices[0]), "The queries")


@rule("keys = inputs @ W_key")
def test_keys_are_the_inputs_times_W_key(student: Student, fresh: Fresh) -> None:
    """The second result should be the keys: inputs @ W_key, of shape (T, d_out), also for one token."""
    for count in (T, 1):
        inputs, matrices = fresh(count, D_IN), [fresh(D_IN, D_OUT) for _ in MATRICES]
        _, keys, _ = expect_values(student.project_qkv(inputs, *matrices), 3)
        expect_close(keys, projected(inputs, matrices[1]), "The keys")


@rule("values = inputs @ W_value")
def test_values_are_the_inputs_times_W_value(student: Student, fresh: Fresh) -> None:
    """The third result should be the values: inputs @ W_value, of shape (T, d_out), also for one token."""
    for count in (T, 1):
        inputs, matrices = fresh(count, D_IN), [fresh(D_IN, D_OUT) for _ in MATRICES]
        _, _, values = expect_values(student.project_qkv(inputs, *matrices), 3)
        expect_close(values, projected(inputs, matrices[2]), "The values")


@rule("float32 and float64 arguments both work")
def test_projections_of_either_dtype(student: Student, fresh: Fresh) -> None:
    """The three projections should be correct for float32 arguments and for float64 arguments."""
    # All sizes are equal here: a transposed or elementwise product raises no error, and its values show which it is.
    for dtype in (torch.float32, torch.float64):
        inputs, *matrices = (fresh(D_IN, D_IN, dtype=dtype) for _ in range(4))
        for projection, matrix in zip(expect_values(student.project_qkv(inputs, *matrices), 3), matrices, strict=True):
            expect_close(projection, projected(inputs, matrix), f"The values for {str(dtype).removeprefix('torch.')}")


def expect_projections(result: object, right: tuple[torch.Tensor, ...]) -> None:
    for found, projection in zip(expect_values(result, 3), right, strict=True):
        expect_close(found, projection)


test_contract = contract(
    asking(
        "project_qkv",
        lambda fresh, count=T, d_in=D_IN, d_out=D_OUT: [fresh(count, d_in), *(fresh(d_in, d_out) for _ in MATRICES)],
        lambda _: projections, expect_projections),
    right_gradients(
        "gradients_of_the_projections", "gradients flow to the inputs and to all three matrices",
        "Gradients of the queries, keys and values should flow to the inputs and to each of the three matrices."),
    kept_arguments(
        "projecting_leaves_its_arguments_alone", "the arguments are not changed",
        "The projections should be correct, and the call should not change the inputs or the matrices.",
        "An argument was changed."),
    example=Example({"inputs": numbers(4, 3),
                     **{name: numbers(3, 2, seed=seed) for seed, name in enumerate(MATRICES, 1)}},
                    also={"float64": "float32 and float64 arguments both work"}),
)  # fmt: skip


# -- misconceptions ------------------------------------------------------------------------------------------------

MISCONCEPTIONS = [
    mistake("queries_and_keys_swapped", replace("return queries, keys,", "return keys, queries,"),
        "Queries and keys are swapped. They have the same shape, but the first result should be the queries: what "
        "each token looks for. The second should be the keys, which queries are compared with."),
    mistake("keys_and_values_swapped", replace("return queries, keys, values", "return queries, values, keys"),
        "Keys and values are swapped. A key is only compared with queries. The value is what a token gives to the "
        "tokens that find it."),
    mistake("values_first", replace("return queries, keys, values", "return values, keys, queries"),
        "The three results are in reverse order, values first. The order is queries, keys, values, as in Q, K, V."),
    mistake("one_matrix_for_all", replace("@ W_key", "@ W_query").replace("@ W_value", "@ W_query"),
        "All three projections use the same matrix. Queries, keys and values have three different tasks, and each "
        "has its own weights to learn."),
    mistake("matrices_transposed", begun_with("W_query, W_key, W_value = W_query.T, W_key.T, W_value.T"),
        "The matrices were transposed. They are already (d_in, d_out), so inputs (T, d_in) @ W works directly. Only "
        "nn.Linear stores its weights transposed."),
    mistake("tokens_in_columns", replace("return queries, keys, values", "return queries.T, keys.T, values.T"),
        "The results have one column for each token: (d_out, T). Tokens are rows in this whole course, so put the "
        "inputs on the left of the product."),
    mistake("multiplied_entry_by_entry", replace("inputs @", "inputs *", times=3),
        "`*` multiplies entry by entry. A projection sums over the features of a token: use the matrix product `@`."),
    mistake("queries_scaled_here", replace("return queries,", "return queries / queries.shape[-1] ** 0.5,"),
        "The queries are already divided by √d_out here. The projections are plain products. The scores are scaled "
        "once, in the next exercise."),
    mistake("inputs_made_float32", replace("inputs @", "inputs.float() @", times=3),
        "The inputs are made float32, so they do not match float64 matrices. Use the dtype of the arguments."),
    mistake("gradients_switched_off",
        replace("return queries, keys, values", "return queries.detach(), keys.detach(), values.detach()"),
        "Gradients stop at the results. `torch.no_grad` and `.detach()` are for using a trained model. Here the "
        "matrices still have to learn."),
    mistake("matrices_detached",
        begun_with("W_query, W_key, W_value = W_query.detach(), W_key.detach(), W_value.detach()"),
        "The matrices are cut off from the gradients, for example by `.detach()`, by `.data` or by making an "
        "nn.Parameter of them. So they could never learn."),
    mistake("inputs_transposed_in_place", begun_with("inputs.t_()").replace("inputs @", "inputs.T @", times=3),
        "The caller's inputs were changed. A method with an underscore at the end, such as `t_`, changes the tensor "
        "itself. `.T` gives a view and does not change it."),
    mistake("matrices_on_the_left",
        replace("inputs @ W_query", "W_query @ inputs").replace("inputs @ W_key", "W_key @ inputs")
        .replace("inputs @ W_value", "W_value @ inputs"),
        "The matrices are on the left of the inputs, so the shapes do not match. Tokens are rows: the inputs (T, "
        "d_in) come first, and then a matrix (d_in, d_out)."),
]  # fmt: skip


# -- answers -------------------------------------------------------------------------------------------------------


def wrong_answers():
    """Mistakes without a name, and answers with two. Never run here: the audit reads them."""

    import math

    import torch.nn as nn

    def values_made_of_the_keys(inputs, W_query, W_key, W_value):
        queries = inputs @ W_query
        keys = inputs @ W_key
        values = keys @ W_value
        return queries, keys, values

    def softmax_of_each_projection(inputs, W_query, W_key, W_value):
        return tuple(torch.softmax(inputs @ w, dim=-1) for w in (W_query, W_key, W_value))

    def one_tensor_of_all_three(x, w_q, w_k, w_v):
        return torch.stack((x @ w_q, x @ w_k, x @ w_v))

    def all_three_scaled(x, w_q, w_k, w_v):
        return tuple(x @ w / math.sqrt(w.shape[1]) for w in (w_q, w_k, w_v))

    def inputs_centred_in_place(inputs, W_query, W_key, W_value):
        inputs -= inputs.mean(dim=0)
        return inputs @ W_query, inputs @ W_key, inputs @ W_value

    def matrices_wrapped_in_layers_with_a_bias(x, w_q, w_k, w_v):
        results = []
        for w in (w_q, w_k, w_v):
            layer = nn.Linear(*w.shape)
            layer.weight.data = w.T
            results.append(layer(x))
        return tuple(results)


def right_answers():
    """Answers in other styles. Never run here: the audit reads them."""

    from dataclasses import dataclass, fields
    from typing import get_type_hints

    from torch import Tensor

    @dataclass
    class _Projections:
        queries: torch.Tensor
        keys: torch.Tensor
        values: torch.Tensor

    def annotated(inputs: Tensor, W_query: Tensor, W_key: Tensor, W_value: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        matrices = (W_query, W_key, W_value)
        found = _Projections(**{field.name: inputs @ matrix for field, matrix in zip(fields(_Projections), matrices)})
        assert all(isinstance(getattr(found, name), kind) for name, kind in get_type_hints(_Projections).items())
        return found.queries, found.keys, found.values

    def batched(inputs, W_query, W_key, W_value):
        stacked = torch.stack((W_query, W_key, W_value))  # (3, d_in, d_out)
        queries, keys, values = torch.bmm(inputs.expand(3, -1, -1), stacked)
        return queries, keys, values

    def _matmul(a, b):
        rows = []
        for row in a:
            total = 0
            for number, other in zip(row, b, strict=True):
                total = total + number * other
            rows.append(total)
        return torch.stack(rows)

    def by_hand(inputs, W_query, W_key, W_value):
        return _matmul(inputs, W_query), _matmul(inputs, W_key), _matmul(inputs, W_value)

    def einsum(inputs: torch.Tensor, W_query: torch.Tensor, W_key: torch.Tensor, W_value: torch.Tensor) -> list:
        return [torch.einsum("ti,io->to", inputs, matrix) for matrix in (W_query, W_key, W_value)]

    def fused(inputs, W_query, W_key, W_value):
        fused = torch.cat([W_query, W_key, W_value], dim=1)  # (d_in, 3 · d_out)
        return (inputs @ fused).chunk(3, dim=-1)
