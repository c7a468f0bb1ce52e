"""softmax_naive: hidden tests, known mistakes and right answers."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import torch

from grader.suites.simple_attention.shared import (
    ANY_DIM,
    CUT_OFF,
    DIM_IGNORED,
    EXPONENTIALS,
    LAST_DIM,
    SOFTMAXES,
    TWO_DIMENSIONS,
    WHOLE_TENSOR,
    B,
    D,
    H,
    T,
    dim_for,
    naive_softmax_of,
    one_entry,
)
from grader.testing.checks import expect_close, remark_ready_made
from grader.testing.draws import Fresh, numbers
from grader.testing.misconceptions import mistake, replace
from grader.testing.probes import Draw, Property, call, probe
from grader.testing.student import Student
from grader.testing.suite import (
    IN_BOTH_DTYPES,
    Example,
    asking,
    contract,
    kept_arguments,
    right_gradients,
    right_results,
    rule,
)


@rule(EXPONENTIALS)
def test_exponentials_over_their_sum(student: Student, fresh: Fresh) -> None:
    """For a single list of scores, each result should be its exponential divided by the sum of the exponentials."""
    for count in (T, 1):
        x = fresh(count)
        expect_close(student.softmax_naive(x), naive_softmax_of(student)(x))
    remark_ready_made(SOFTMAXES, student.softmax_naive, x)


@rule(LAST_DIM)
def test_the_sum_runs_along_the_last_dimension(student: Student, fresh: Fresh) -> None:
    """If no `dim` is given, the results should sum to one along the last dimension, for every shape."""
    for shape in ((T, D), (B, H, D)):
        x = fresh(*shape)
        expect_close(student.softmax_naive(x), naive_softmax_of(student)(x))


@rule(ANY_DIM)
def test_the_sum_runs_along_the_dimension_asked_for(student: Student, fresh: Fresh) -> None:
    """The sum should run along `dim`, for every dimension, counted from the front or from the back."""
    for shape, dim in (((T, D), 0), ((T, D), 1), ((T, D), -2), ((B, H, D), 1), ((B, H, D), 0), ((B, H, D), -2)):
        x = fresh(*shape)
        expect_close(student.softmax_naive(x, dim=dim), naive_softmax_of(student)(x, dim))


NAIVE = asking("softmax_naive", one_entry, naive_softmax_of)


test_contract = contract(
    NAIVE,
    right_results(
        "softmax_of_either_dtype", "float32 and float64 entries both work",
        "Float32 and float64 entries should both give correct results: the largest entry gets nearly all the weight.",
        *IN_BOTH_DTYPES),
    right_gradients(
        "gradients_of_softmax", "gradients flow to x",
        "Gradients should flow to x: each entry is in the numerator of its result, and all are in the denominator.",
        ask=asking("softmax_naive", lambda fresh: [fresh(T)], naive_softmax_of)),
    kept_arguments(
        "softmax_leaves_its_argument_alone", "x is not changed",
        "The result should be correct, and the call should not change x.", "x was changed."),
    example=Example({"x": numbers(3, 4)}),
)  # fmt: skip


# -- misconceptions ------------------------------------------------------------------------------------------------


MISCONCEPTIONS = [
    mistake("exponential_forgotten", replace("torch.exp(x)", "x"),
        "The entries themselves were divided by their sum. Take the exponential first: it makes every weight "
        "positive."),
    mistake("divided_by_the_sum_of_the_entries", replace("exponentials.sum", "x.sum"),
        "The exponentials were divided by the sum of the entries. The denominator is the sum of the *exponentials*. "
        "Only then do the weights sum to one."),
    mistake("exponential_of_the_sum",
        replace("exponentials.sum(dim=dim, keepdim=True)", "torch.exp(x.sum(dim=dim, keepdim=True))"),
        "The exponential of the sum was taken. Take the exponential of each entry first, then add up. The order "
        "matters."),
    mistake("naive_sum_of_everything", replace("dim=dim, keepdim=True", ""), WHOLE_TENSOR),
    mistake("naive_dim_ignored", replace("dim=dim", "dim=-1"), DIM_IGNORED),
    mistake("always_along_the_first_dimension", replace("dim=dim", "dim=0"),
        "The sum always runs along the first dimension and ignores `dim`. Then each column sums to one. Pass `dim` "
        "on to `sum`."),
    mistake("naive_keepdim_forgotten", replace(", keepdim=True", ""),
        "The summed dimension is gone, so the sums do not line up with their entries. This gives an error or wrong "
        "numbers. `keepdim=True` keeps the dimension with size one."),
    mistake("naive_dimension_put_back_at_the_end", replace("sum(dim=dim, keepdim=True)", "sum(dim=dim).unsqueeze(-1)"),
        "The dimension of the sum is put back at the end, by `unsqueeze(-1)`, but it was taken from `dim`. With "
        "`keepdim=True` it stays where it was."),
    mistake("naive_rows_and_columns_only", replace("dim=dim", "dim=0 if dim in (0, -2) or x.dim() == 1 else 1"),
        TWO_DIMENSIONS),
    mistake("naive_in_float32_only",
        replace("exponentials.sum(dim=dim, keepdim=True)",
                "torch.tensordot(exponentials, torch.ones(x.shape[dim]), ([dim], [0])).unsqueeze(dim)"),
        "The code always computes in float32, and float64 entries do not match. Use the dtype of x."),
    mistake("naive_gradients_cut_off", replace("torch.exp(x)", "torch.exp(x.detach())"), CUT_OFF),
    mistake("exponentials_in_place", replace("torch.exp(x)", "x.exp_()"),
        "The exponentials overwrote the caller's entries. A method with an underscore at the end, such as `exp_`, "
        "changes the tensor itself. `torch.exp` makes a new one."),
]  # fmt: skip


# -- probes --------------------------------------------------------------------------------------------------------


@probe()
def plain_softmax(unit: Any, draw: Draw) -> Iterator[Property]:
    x = draw.normal(*draw.sizes(draw.size(1, 4)))
    yield from call(unit.softmax_naive, x, **dim_for(draw, x))


# -- answers -------------------------------------------------------------------------------------------------------


def wrong_answers():
    """Mistakes without a name, and answers with two. Never run here: the audit reads them."""

    def naive_dim_ignored__and__exponentials_in_place(x: torch.Tensor, dim: int = -1) -> torch.Tensor:
        numerator = x.exp_()
        return numerator / numerator.sum(dim=-1, keepdim=True)

    def powers_of_ten(x, dim=-1):
        return 10**x / (10**x).sum(dim, keepdim=True)

    def smallest_gets_most(x, dim=-1):
        return torch.exp(-x) / torch.exp(-x).sum(dim, keepdim=True)

    def one_added_to_the_sum(x, dim=-1):
        e = torch.exp(x)
        return e / (1 + e.sum(dim, keepdim=True))

    def squares_for_exponentials(x, dim=-1):
        return x**2 / (x**2).sum(dim, keepdim=True)

    def sum_of_the_others(x, dim=-1):
        e = torch.exp(x)
        return e / (e.sum(dim, keepdim=True) - e)

    def dim_handed_to_the_exponential(x, dim=-1):
        e = torch.exp(x, dim)
        return e / e.sum(dim, keepdim=True)


def right_answers():
    """Answers in other styles. Never run here: the audit reads them."""

    import math

    from simple_attention import normalize_by_sum, softmax_stable

    def by_hand(x, dim=-1):
        # numerically stable, which is allowed here too
        return softmax_stable(x, dim)

    def einsum(x: torch.Tensor, dim: int = -1) -> torch.Tensor:
        e = math.e**x
        return e * e.sum(dim, keepdim=True) ** -1

    def one_on_another(x, dim=-1):
        last = x.transpose(dim, -1)
        rows = last.exp().flatten(0, -2) if x.dim() > 1 else last.exp()[None]
        shares = torch.stack([normalize_by_sum(row) for row in rows])
        return shares.reshape(last.shape).transpose(dim, -1)

    def ready_made(x, dim=-1):
        return x.softmax(dim)

    def turned_round(x, dim=-1):
        y = x.movedim(dim, 0)
        e = y.exp()
        return (e / e.sum(0)).movedim(0, dim)
