"""linear_as_matmul: hidden tests, known mistakes and right answers."""

from __future__ import annotations

import functools
from collections.abc import Iterator
from typing import Any

import torch

from grader.suites.positional_encoding.shared import DTYPES, Function
from grader.testing.checks import (
    expect_close,
    expect_gradients,
    expect_same,
    expect_tensor,
    expect_values,
    oracle_gradients,
)
from grader.testing.draws import Fresh, numbers
from grader.testing.misconceptions import mistake, replace
from grader.testing.probes import Draw, Property, call, probe
from grader.testing.student import Student
from grader.testing.suite import Example, rule

# All different, so that mixed-up dimensions show. T and D are even: only the tests about odd widths use an odd width.
M, N, K = 7, 5, 4


def linear_of(student: Student) -> Function:
    """linear_as_matmul: (m, n), (n, k), (k,) to (m, k). Each row is a context vector of unit 1, plus the bias."""
    product = student.substitute("dot_product", functools.partial(torch.einsum, "n,n->"))

    def attention_scores(query: torch.Tensor, inputs: torch.Tensor) -> torch.Tensor:
        return torch.stack([product(query, row) for row in inputs])

    scores = student.substitute("attention_scores", attention_scores)
    context = student.substitute("context_vector", lambda weights, inputs: scores(weights, inputs.mT))

    def linear(x: torch.Tensor, weight: torch.Tensor, bias: torch.Tensor) -> torch.Tensor:
        return torch.stack([context(row, weight.double()) for row in x.double()]) + bias.double()

    return linear


def without_bias(fresh: Fresh, m: int, n: int = N, dtype: torch.dtype = torch.float32) -> tuple[torch.Tensor, ...]:
    """x (m, n) and weight (n, k), both positive, and a bias of zero.

    So mistakes with the bias do not show, nor an activation that changes only negative numbers.
    """
    return fresh(m, n, dtype=dtype).abs(), fresh(n, K, dtype=dtype).abs(), torch.zeros(K, dtype=dtype)


@rule("row i of the result is row i of x times the weight, plus the bias")
def test_every_row_times_the_weight_plus_the_bias(student: Student, fresh: Fresh) -> None:
    """Each row of the result (m, k) should be that row of x times the weight, plus the bias."""
    arguments = fresh(M, N), fresh(N, K), fresh(K)
    expect_close(student.linear_as_matmul(*arguments), linear_of(student)(*arguments))


@rule("any number of rows, including one")
def test_any_number_of_rows(student: Student, fresh: Fresh) -> None:
    """The layer should work for any number of rows, also a single one: (m, k)."""
    # The first matrices are square: with them a product in the wrong order raises no error.
    for m, n in ((K, K), (1, N), (9, N)):
        arguments = without_bias(fresh, m, n)
        expect_close(student.linear_as_matmul(*arguments), linear_of(student)(*arguments))


@rule("float32 and float64 arguments both work")
def test_rows_of_either_dtype(student: Student, fresh: Fresh) -> None:
    """Float32 arguments and float64 arguments should both give correct results."""
    for dtype in DTYPES:
        arguments = without_bias(fresh, M, dtype=dtype)
        expect_close(student.linear_as_matmul(*arguments), linear_of(student)(*arguments))


@rule("gradients flow to x, to the weight and to the bias")
def test_gradients_of_the_linear_layer(student: Student, fresh: Fresh) -> None:
    """Gradients of the result should flow to x, to the weight and to the bias."""
    arguments = fresh(M, N), fresh(N, K), fresh(K)
    _, found = expect_values(student.linear_as_matmul.gradients(*arguments), 2)
    expect_gradients(found, oracle_gradients(linear_of(student), arguments, {}))


@rule("the arguments are not changed")
def test_the_linear_layer_leaves_its_arguments_alone(student: Student, fresh: Fresh) -> None:
    """The rows should be correct apart from the bias, and the call should not change the arguments."""
    x, weight, _ = without_bias(fresh, M)
    # If the bias is added to the weight, it is multiplied by the sum of each row of x. So let all rows sum to one.
    arguments = x / x.sum(dim=1, keepdim=True), weight, fresh(K).abs()
    result, after = expect_values(student.linear_as_matmul.with_arguments(*arguments), 2)
    expected = linear_of(student)(*arguments)
    found = expect_tensor(result, expected.shape).double()
    expect_close(found - found[0], expected - expected[0], "The differences between rows")
    for argument, before in zip(after, arguments, strict=True):
        expect_same(argument, before, "An argument was changed.")


EXAMPLE = Example({"x": numbers(4, 3), "weight": numbers(3, 5), "bias": numbers(5)},
                  also={"float64": "float32 and float64 arguments both work", "kept": "the arguments are not changed",
                        "gradients": "gradients flow to x, to the weight and to the bias"})  # fmt: skip


# -- misconceptions ------------------------------------------------------------------------------------------------

MISCONCEPTIONS = [
    mistake("bias_added_to_the_weight", replace("weight + bias", "(weight + bias)"),
        "The bias is added to the weight before the product, so it is multiplied by the row too. Add it last, to the "
        "product."),
    mistake("bias_forgotten", replace(" + bias", ""), "The bias is missing. Add it to every row of the product."),
    mistake("bias_inside_the_sum", replace("x @ weight + bias", "(x[:, :, None] * weight + bias).sum(dim=1)"),
        "The bias is added once for each feature of the row, inside the sum. Add it only once, to the complete sum."),
    mistake("bias_as_a_column", replace("+ bias", "+ bias[:, None]"),
        "The bias was made a column, so it is added along the rows. It has a number for each column of the result: "
        "with the shape (k,), PyTorch adds it to every row."),
    mistake("weight_transposed", replace("@ weight", "@ weight.T"),
        "The code treats the weight as (k, n), as in `nn.Linear`. Here the weight is (n, k), and (m, n) @ (n, k) "
        "works without a transpose."),
    mistake("weight_in_front", replace("x @ weight", "weight @ x"),
        "The weight is on the left. The rows of x are multiplied, so x comes first: (m, n) @ (n, k) gives a row for "
        "each row of x."),
    mistake("rows_of_the_worked_example",
        replace("x @ weight + bias", "torch.stack([x[row] @ weight + bias for row in range(3)])"),
        "The code always expects three rows, as in the worked example. Use the number of rows of x: `x.shape[0]`."),
    mistake("single_row_squeezed", replace("x @ weight + bias", "(x @ weight + bias).squeeze()"),
        "`squeeze()` removes every dimension of size one, so the result for a single row is not a matrix."),
    mistake("bias_by_a_float32_product", replace("+ bias", "+ torch.ones(len(x), 1) @ bias[None]"),
        "The code makes a float32 tensor, which does not match float64 arguments. Make it like them "
        "(`torch.ones_like`, `dtype=x.dtype`), or let `+` broadcast the bias."),
    mistake("result_without_gradients", replace("x @ weight + bias", "(x @ weight + bias).detach()"),
        "The result was made from plain numbers, for example by `.item()`, `.tolist()` or `.detach()`, so no "
        "gradient flows back. Use tensors in every step."),
    mistake("weight_without_gradients", replace("@ weight", "@ weight.detach()"),
        "No gradient reaches the weight: does `.detach()`, `.data` or a new `nn.Parameter` cut it off? A layer "
        "learns its weight and its bias: use both directly."),
]  # fmt: skip


# -- probes --------------------------------------------------------------------------------------------------------


@probe()
def rows_through_a_layer(unit: Any, draw: Draw) -> Iterator[Property]:
    m, n, k = draw.sizes(3)
    yield from call(unit.linear_as_matmul, draw.normal(m, n), draw.normal(n, k), draw.normal(k))


# -- answers -------------------------------------------------------------------------------------------------------


def wrong_answers():
    """Mistakes without a name, and answers with two. Never run here: the audit reads them."""

    import torch.nn as nn

    def bias_as_a_factor(x, weight, bias):
        return x @ weight * bias

    def bias_added_twice(x, weight, bias):
        return torch.addmm(bias, x, weight) + bias

    def rows_added_up(x, weight, bias):
        return x.sum(dim=0) @ weight + bias

    def a_layer_with_weights_of_its_own(x, weight, bias):
        layer = nn.Linear(*weight.shape)
        return layer(x.float())

    def mean_over_the_features(x, weight, bias):
        return x @ weight / x.shape[1] + bias

    def sigmoid_at_the_end(x, weight, bias):
        return torch.sigmoid(x @ weight + bias)

    def product_place_by_place(x, weight, bias):
        return x * weight + bias

    def weight_through_the_rows_of_x(x, weight, bias):
        return torch.einsum("mn,kn->mk", x, weight.T) - bias * 2


def right_answers():
    """Answers in other styles. Never run here: the audit reads them."""

    import torch.nn.functional as F
    from simple_attention import context_vector

    def building_on(x, weight, bias):
        return torch.stack([context_vector(row, weight) + bias for row in x])

    def by_hand(x, weight, bias):
        rows = []
        for row in x:
            entries = list(bias)
            for column in range(weight.shape[1]):
                for feature in range(weight.shape[0]):
                    entries[column] = entries[column] + row[feature] * weight[feature, column]
            rows.append(torch.stack(entries))
        return torch.stack(rows)

    def ready_made(x: torch.Tensor, weight: torch.Tensor, bias: torch.Tensor) -> torch.Tensor:
        return F.linear(x, weight.t(), bias)

    def turning(x, weight, bias):
        return (torch.einsum("nk,mn->km", weight, x) + bias[:, None]).T

    def with_numpy(x, weight, bias):
        ones = x.new_ones(x.shape[0], 1)
        longer, taller = torch.cat([x, ones], dim=1), torch.cat([weight, bias.reshape(1, -1)])
        return torch.mm(longer, taller)  # (m, n + 1) @ (n + 1, k)
