"""softmax_stable: hidden tests, known mistakes and right answers."""

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
    PUT_BACK_AT_THE_END,
    SOFTMAXES,
    TWO_DIMENSIONS,
    WHOLE_TENSOR,
    B,
    D,
    H,
    T,
    dim_for,
    one_entry,
    softmax_of,
)
from grader.testing.checks import expect_close, remark_ready_made
from grader.testing.draws import Fresh, numbers
from grader.testing.misconceptions import mistake, replace
from grader.testing.probes import Draw, Estimate, Property, call, probe
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
def test_stable_exponentials_over_their_sum(student: Student, fresh: Fresh) -> None:
    """For a single list of scores, each result should be its exponential divided by the sum of the exponentials."""
    for count in (T, 1):
        x = fresh(count)
        expect_close(student.softmax_stable(x), softmax_of(student)(x))
    remark_ready_made(SOFTMAXES, student.softmax_stable, x)


@rule(LAST_DIM)
def test_the_stable_sum_runs_along_the_last_dimension(student: Student, fresh: Fresh) -> None:
    """If no `dim` is given, the results should sum to one along the last dimension, for every shape."""
    for shape in ((T, D), (B, H, D)):
        x = fresh(*shape)
        expect_close(student.softmax_stable(x), softmax_of(student)(x))


@rule(ANY_DIM)
def test_the_stable_sum_runs_along_the_dimension_asked_for(student: Student, fresh: Fresh) -> None:
    """The sum should run along `dim`, for every dimension, counted from the front or from the back."""
    for shape, dim in (((T, D), 0), ((T, D), 1), ((T, D), -2), ((B, H, D), 1), ((B, H, D), 0), ((B, H, D), -2)):
        x = fresh(*shape)
        expect_close(student.softmax_stable(x, dim=dim), softmax_of(student)(x, dim))


@rule("x may be non-contiguous, for example the result of a transpose")
def test_the_stable_softmax_takes_views(student: Student, fresh: Fresh) -> None:
    """The result should be correct if x is non-contiguous, for example the result of a transpose."""
    for x in (fresh(D, T).T, fresh(B, D, H).transpose(1, 2)):  # (T, D) and (B, H, D)
        expect_close(student.softmax_stable(x), softmax_of(student)(x))


@rule("entries of ±10,000, in any combination, give finite and correct results")
def test_large_entries_stay_finite(student: Student, fresh: Fresh) -> None:
    """Entries far above and far below zero, in any combination, should give finite and correct results."""
    large = 10_000.0
    # One entry in each row is far above all others, so float32 rounding has no effect.
    mixed = torch.full((T, D), -large)
    mixed[range(T), [0, 3, 1, 2, 1]] = large
    # In float64: some answers subtract ln ∑ eˣ, which float32 cannot represent to 1e-4 at this size. Multiples of 1/4
    # are exact in float32 too, so nothing else depends on the dtype.
    quarters = (fresh(4, D, dtype=torch.float64).abs() * 4).round() / 4
    spread = torch.stack([large - quarters[0], quarters[1], quarters[2] - large, quarters[3]])
    spread[3, 0], spread[3, 1] = large, -large
    step = torch.tensor([1000, 0], dtype=torch.float64)
    # Very low entries, and -inf below them.
    lowest = torch.tensor([1 - large, -large, -torch.inf], dtype=torch.float64)
    for x in (step, step + large - 1000, torch.full((H, D), -large, dtype=torch.float64), mixed, spread, lowest):
        expect_close(student.softmax_stable(x), softmax_of(student)(x))


@rule("an entry of -inf beside finite ones gives 0, and the other results are the same as without it")
def test_minus_infinity_gets_nothing(student: Student, fresh: Fresh) -> None:
    """An entry of -inf should give zero, and the weights of the finite entries beside it should sum to one."""
    two_hidden, one_visible = fresh(T), fresh(D)
    two_hidden[[1, 4]] = -torch.inf
    one_visible[1:] = -torch.inf
    for x in (two_hidden, one_visible):
        expect_close(student.softmax_stable(x), softmax_of(student)(x))


STABLE = asking("softmax_stable", one_entry, softmax_of)


test_contract = contract(
    STABLE,
    right_results(
        "the_stable_softmax_keeps_the_dtype", "the result keeps the dtype of x, float32 or float64",
        "The result should be correct and have the dtype of x, for float32 and for float64.", *IN_BOTH_DTYPES,
        keeps_dtype=True),
    right_gradients(
        "gradients_of_the_stable_softmax", "gradients flow to x",
        "Gradients should flow to x: each entry is in the numerator of its result, and all are in the denominator.",
        ask=asking("softmax_stable", lambda fresh: [fresh(T)], softmax_of)),
    kept_arguments(
        "the_stable_softmax_leaves_its_argument_alone", "x is not changed",
        "The result should be correct, and the call should not change x.", "x was changed."),
    example=Example({"x": numbers(3, 4)}, keeps_dtype=True),
)  # fmt: skip


# -- misconceptions ------------------------------------------------------------------------------------------------

MISCONCEPTIONS = [
    mistake("maximum_not_subtracted", replace("x - largest", "x"),
        "The maximum is not subtracted before the exponential. Large entries become infinite, and infinity divided "
        "by infinity is not a number. Subtract the maximum along `dim`: the result is the same, and no exponential "
        "is above one."),
    mistake("one_maximum_for_all", replace("x.max(dim=dim, keepdim=True).values", "x.max()"),
        "One maximum, of all entries, is subtracted everywhere. A list of scores far below it has only exponentials "
        "of zero, and zero divided by zero is not a number. Each list along `dim` has its own maximum."),
    mistake("largest_size_subtracted", replace("x.max", "x.abs().max"),
        "The largest *absolute value* is subtracted. If all entries are far below zero, they become even smaller, "
        "and every exponential is zero. Subtract the maximum with its sign: then the largest exponent is zero."),
    mistake("mean_subtracted", replace("x.max(dim=dim, keepdim=True).values", "x.mean(dim=dim, keepdim=True)"),
        "The mean is subtracted. An entry can still be far above it, and with an entry of -inf the mean is -inf too. "
        "If you subtract the maximum, no entry is above zero."),
    mistake("divided_by_the_maximum", replace("x - largest", "x / largest"),
        "The entries are divided by the largest one. Softmax depends on the *differences* of the entries. "
        "Subtracting the maximum keeps them; dividing by it does not."),
    mistake("subtracted_after_the_exponential", replace("torch.exp(x - largest)", "torch.exp(x) - largest"),
        "The maximum is subtracted from the exponentials. At this point they have already overflowed, and the "
        "weights are different too. Subtract it from the entries, before the exponential."),
    mistake("entries_clamped", replace("x - largest", "x.clamp(-80, 80)"),
        "The entries are clamped to the range of the exponential. Then different entries become equal. Subtracting "
        "the maximum keeps all their differences."),
    mistake("not_a_number_replaced",
        replace("x - largest", "x").replace("exponentials / ", "torch.nan_to_num(exponentials / ")
        .replace("sum(dim=dim, keepdim=True)", "sum(dim=dim, keepdim=True))"),
        "Values that are not a number were replaced, as `nan_to_num` does. At this point the code cannot know which "
        "entry was larger. Subtract the maximum before the exponential."),
    mistake("float64_instead_of_a_maximum", replace("x - largest", "x.double()"),
        "The code avoids overflow as far as float64 does. But float64 overflows at about e to the power of 709, far "
        "below 10,000. Also, the result is float64. Subtracting the maximum helps in every dtype."),
    mistake("maximum_along_the_last_dimension", replace("max(dim=dim", "max(dim=-1"),
        "The maximum is always taken along the last dimension, but the sum along `dim`. All entries that share a sum "
        "need the same maximum."),
    mistake("maximum_along_the_first_dimension", replace("max(dim=dim", "max(dim=0"),
        "The maximum is always taken along the first dimension, but the sum along `dim`. All entries that share a "
        "sum need the same maximum."),
    mistake("places_beside_the_maximum", replace(".values", ""),
        "`x.max(dim=…)` returns two results, the values and their indices. You cannot subtract both. Take `.values`, "
        "or use `amax`."),
    mistake("stable_keepdim_forgotten", replace("max(dim=dim, keepdim=True)", "max(dim=dim)"),
        "The dimension of the maximum is gone, so it does not line up with its entries. `keepdim=True` keeps it with "
        "size one, in `max` and in `sum`."),
    mistake("stable_sum_of_everything",
        replace("x.max(dim=dim, keepdim=True).values", "x.max()").replace("dim=dim, keepdim=True", ""), WHOLE_TENSOR),
    mistake("stable_dim_ignored", replace("dim=dim", "dim=-1", 2), DIM_IGNORED),
    mistake("stable_dimension_put_back_at_the_end",
        replace("x.max(dim=dim, keepdim=True).values", "x.amax(dim=dim).unsqueeze(-1)")
        .replace("sum(dim=dim, keepdim=True)", "sum(dim=dim).unsqueeze(-1)"), PUT_BACK_AT_THE_END),
    mistake("stable_rows_and_columns_only", replace("dim=dim", "dim=0 if dim in (0, -2) or x.dim() == 1 else 1", 2),
        TWO_DIMENSIONS),
    mistake("flattened_by_view",
        replace("    return",
                "    if dim in (-1, x.dim() - 1):\n"
                "        return torch.softmax(x.view(-1, x.shape[-1]), -1).view(x.shape)\n    return"),
        "`view` fails if x is non-contiguous, for example the result of a transpose. Compute along `dim` without "
        "`view`, or use `reshape`."),
    mistake("minus_infinity_multiplied", replace("x - largest", "x - largest + 0 * x"),
        "With an entry of -inf the whole result is not a number. The code subtracts -inf from -inf, or multiplies it "
        "by zero. Subtract the finite maximum: then -inf gives zero."),
    mistake("float32_given_back", replace("    largest", "    x = x.float()\n    largest"),
        "The result is float32, also if x is float64. Then the extra digits of float64 are lost: use the dtype of x."),
    mistake("stable_gradients_cut_off", replace("x - largest", "(x - largest).detach()"), CUT_OFF),
    mistake("maximum_subtracted_in_place", replace("x - largest", "x.sub_(largest)"),
        "The maximum was subtracted from the caller's own entries, by `-=` or `sub_`. The caller may still need "
        "them: a plain `-` makes a new tensor."),
]  # fmt: skip


# -- probes --------------------------------------------------------------------------------------------------------


@probe()
def softmax_of_anything(unit: Any, draw: Draw) -> Iterator[Property]:
    x = draw.normal(*draw.sizes(draw.size(1, 4)))
    match draw.pick("plain", "large", "all large", "infinite"):
        case "large":
            large = torch.tensor([10_000, 0, -10_000], dtype=x.dtype)[draw.integers(0, 3, *x.shape)]
            x = torch.where(large == 0, x, large)
        case "all large":
            x = torch.tensor([10_000, -10_000], dtype=x.dtype)[draw.integers(0, 2, *x.shape)]
            x = draw.pick(x, x.abs(), -x.abs())
    options = dim_for(draw, x)
    if draw.chance(0.3):
        hidden = draw.integers(0, 2, *x.shape).bool()
        hidden &= ~hidden.all(dim=options.get("dim", -1), keepdim=True)  # each list keeps a finite entry
        x = x.masked_fill(hidden, -torch.inf)
    x = draw.viewed(x)
    if x.dtype == torch.float32 and x.masked_fill(x == -torch.inf, 0).abs().max() == 10_000:
        # Subtracting the logarithm of the sum is correct too, but loses digits if two entries are that large.
        found = unit.softmax_stable(x, **options)
        yield "the values of large entries", Estimate(found, 5e-4)
        yield "the dtype", str(found.dtype)
    else:
        yield from call(unit.softmax_stable, x, keeps_dtype=True, **options)


# -- answers -------------------------------------------------------------------------------------------------------


def wrong_answers():
    """Mistakes without a name, and answers with two. Never run here: the audit reads them."""

    def one_maximum_for_all__and__float32_given_back(x, dim=-1):
        weights = torch.exp(x.float() - x.max())
        return weights / torch.sum(weights, dim=dim, keepdim=True)

    def shifted_above_the_line_only(x, dim=-1):
        return torch.exp(x - x.amax(dim, keepdim=True)) / torch.exp(x).sum(dim, keepdim=True)

    def not_divided(x, dim=-1):
        return torch.exp(x - x.amax(dim, keepdim=True))

    def maximum_subtracted_twice(x, dim=-1):
        e = torch.exp(x - 2 * x.amax(dim, keepdim=True))
        return e / e.sum(dim, keepdim=True)

    def temperature_of_two(x, dim=-1):
        return torch.softmax(x / 2, dim)

    def divided_by_the_spread(x, dim=-1):
        low, high = x.amin(dim, keepdim=True), x.amax(dim, keepdim=True)
        return torch.softmax((x - low) / (high - low + 1e-9), dim)

    def minus_ten_thousand_for_minus_infinity(x, dim=-1):
        return torch.softmax(torch.nan_to_num(x, neginf=-1e4), dim)

    def rounded(x, dim=-1):
        return torch.round(torch.softmax(x, dim), decimals=2)

    def dim_handed_to_the_exponential(x, dim=-1):
        e = torch.exp(x - x.amax(dim, keepdim=True), dim)
        return e / e.sum(dim, keepdim=True)


def right_answers():
    """Answers in other styles. Never run here: the audit reads them."""

    import warnings

    from simple_attention import softmax_naive

    def by_hand(x, dim=-1):
        if x.dim() == 1:
            highest = max(x.double())
            exponentials = [(number - highest).exp() for number in x.double()]
            return torch.stack([e / sum(exponentials) for e in exponentials]).to(x.dtype)
        if dim % x.dim() == 0:
            return torch.stack([by_hand(piece, 0) for piece in x.unbind(-1)], -1)
        return torch.stack([by_hand(piece, dim % x.dim() - 1) for piece in x])

    def einsum(x: torch.Tensor, dim: int = -1) -> torch.Tensor:
        warnings.warn("large entries, perhaps", stacklevel=2)
        return (x - x.logsumexp(dim=dim, keepdim=True)).exp()

    def one_on_another(x, dim=-1):
        return softmax_naive(x - torch.amax(x, dim, True), dim)

    def ready_made(x, dim=-1):
        return torch.nn.Softmax(dim=dim)(x)

    def turned_round(x, dim=-1):
        y = torch.movedim(x, dim, 0)
        top = torch.sort(y.detach(), dim=0, descending=True).values[0]
        return torch.movedim(softmax_naive(y - top, 0), 0, dim)
