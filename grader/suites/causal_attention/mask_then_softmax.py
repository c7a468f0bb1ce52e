"""mask_then_softmax: hidden tests, known mistakes and right answers."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import torch

from grader.suites.attention_mistakes import (
    HALF,
    ONLY_FUTURE_SEEN,
    SCALED_LATE,
    SOFTMAX_TWICE,
    SUMS_IN_A_ROW,
    TEN_THOUSAND,
    ZEROS_HIDDEN,
)
from grader.suites.attention_probes import is_seen
from grader.suites.causal import (
    FITTING,
    LOW_SCORES,
    OTHER,
    Parts,
    expect_hidden,
    fitting_tokens,
    future,
    has_expected_argmax,
    lowered,
    steps_back,
)
from grader.suites.causal_attention.shared import (
    D_K,
    MASKED_LATE,
    NEXT_SEEN,
    NO_ROOT,
    SELF_HIDDEN,
    THROWN_AWAY,
    UNSCALED,
    UPSIDE_DOWN,
    WRONG_DIM,
    ZEROS,
    T,
    expect_scores_behind,
)
from grader.testing.checks import expect_close, expect_tensor, expect_true
from grader.testing.draws import Fresh, numbers
from grader.testing.misconceptions import mistake, replace
from grader.testing.probes import Draw, Property, probe
from grader.testing.student import Student
from grader.testing.suite import (
    IN_BOTH_DTYPES,
    Asking,
    Example,
    asking,
    contract,
    kept_arguments,
    right_gradients,
    right_results,
    rule,
)


def decisive_scores(
    fresh: Fresh, num_tokens: int, dtype: torch.dtype = torch.float32, ahead: float = OTHER
) -> torch.Tensor:
    """Return decisive scores (T, T); those of the future are about `ahead`."""
    scores = torch.full((num_tokens, num_tokens), OTHER, dtype=torch.float64)
    scores = torch.where(future(num_tokens), ahead, scores) + fresh(num_tokens, num_tokens, dtype=torch.float64)
    scores[range(num_tokens), fitting_tokens(steps_back(fresh, num_tokens))] = FITTING
    return scores.to(dtype)


def expect_weights(weights: object, right: torch.Tensor) -> None:
    expect_close(weights, right, "The weights")


@rule("in each row, the weight of every later token is 0, and the row sums to one")
def test_the_future_has_no_weight_and_rows_sum_to_one(student: Student, fresh: Fresh) -> None:
    """The weights of each row should be zero for the future, sum to one, and be largest for the best score."""
    scores = fresh(T, T)
    expected = Parts(student).weights(scores, D_K)
    weights = expect_tensor(student.mask_then_softmax(scores, D_K), (T, T))
    hidden = expected == 0
    expect_close(torch.where(hidden, weights.double(), 0.0), torch.zeros(T, T), "The weights of the future")
    expect_true(bool((weights[~hidden] > 0).all()), "A weight is not positive, although the token may see it.")
    expect_close(weights.double().sum(-1), torch.ones(T), "The sums of the rows")
    expect_true(has_expected_argmax(weights, expected), "A row's largest weight is not at its largest score.")


@rule("the weights of the other tokens are the softmax of their scores divided by the square root of d_k")
def test_scores_left_are_divided_by_the_square_root_of_d_k(student: Student, fresh: Fresh) -> None:
    """On and below the diagonal, the weights should come from a softmax of the scores divided by √d_k."""
    scores = fresh(T, T)
    scores[2, 1] = scores[3, 3] = 0.0  # a score like any other: a mask that is found by its zeros hides it too
    expected = Parts(student).weights(scores, D_K)
    expect_scores_behind(expect_tensor(student.mask_then_softmax(scores, D_K), (T, T)), expected)


@rule("the weights are also correct if a score of the future is far above the others")
def test_a_future_far_above_the_rest(student: Student, fresh: Fresh) -> None:
    """The weights should also be correct if the scores of the future are far above all others."""
    # So far that softmax over all scores gives the others zero, even in float64: exp(-(3000 - 80) / √d_k) = 0.
    scores = decisive_scores(fresh, T, ahead=3000.0)
    expect_weights(student.mask_then_softmax(scores, D_K), Parts(student).weights(scores, D_K))


@rule(LOW_SCORES)
def test_the_future_has_no_weight_beside_very_low_scores(student: Student, fresh: Fresh) -> None:
    """If all visible scores are very low, the future should still have no weight."""
    scores = decisive_scores(fresh, T, torch.float64)
    expect_weights(student.mask_then_softmax(scores, D_K), Parts(student).weights(scores, D_K))
    scores = lowered(scores, D_K).float()
    expect_hidden(student.mask_then_softmax(scores, D_K), Parts(student).weights(scores, D_K))


def weights_of(student: Student) -> Callable[..., torch.Tensor]:
    return Parts(student).weights


def calls(draw: Callable[..., list[Any]]) -> Asking:
    return asking("mask_then_softmax", draw, weights_of, expect_weights)


test_contract = contract(
    calls(lambda fresh, count=T, **dtype: [decisive_scores(fresh, count, **dtype), D_K]),
    right_results(
        "scores_of_any_number_of_tokens", "any number of tokens, including one",
        "Scores of any number of tokens, including a single one, should give weights (T, T).",
        *({"count": count} for count in (1, 3, 9))),
    right_results(
        "scores_of_either_dtype", "float32 and float64 scores both work",
        "Float32 scores and float64 scores should both give weights.", *IN_BOTH_DTYPES),
    kept_arguments(
        "masked_softmax_leaves_the_scores_alone", "the scores are not changed",
        "The weights should be correct, and the call should not change the scores.", "The scores were changed."),
    right_gradients(
        "gradients_of_masked_softmax", "gradients flow to the scores",
        "Gradients of the weights should flow to the scores, and be zero for scores of the future.",
        ask=calls(lambda fresh: [fresh(T, T), D_K])),
    example=Example({"scores": numbers(4, 4), "d_k": 3}),
    # The scores of the future are up to 10,000 ahead.
    probe=lambda fresh, t=T, d_k=D_K: [fresh(t, t) + 10.0 ** fresh.order(5)[0] * torch.ones(t, t).triu(1), d_k],
)  # fmt: skip
MASKED_SOFTMAX = "torch.softmax(masked / d_k**0.5, dim=-1)"


# -- misconceptions ------------------------------------------------------------------------------------------------


MISCONCEPTIONS = [
    mistake("half_instead_of_root", replace("**0.5", " * 0.5"), HALF),
    mistake("scaling_forgotten", replace(" / d_k**0.5", ""), UNSCALED),
    mistake("divided_by_d_k_itself", replace("**0.5", ""), NO_ROOT),
    mistake("scaled_after_softmax", replace("masked / d_k**0.5, dim=-1)", "masked, dim=-1) / d_k**0.5"), SCALED_LATE),
    mistake("masked_scores_thrown_away", replace("masked = ", "masked = scores\n    "), THROWN_AWAY),
    mistake("zeros_instead_of_minus_infinity", replace(", -torch.inf)", ", 0)"), ZEROS),
    mistake("zero_scores_hidden",
        replace("scores.masked_fill(causal_mask(scores.shape[-1])", "scores.tril().masked_fill(scores.tril() == 0"),
        ZEROS_HIDDEN),
    mistake("minus_ten_thousand", replace(", -torch.inf)", ", -1e4)"), TEN_THOUSAND),
    mistake("past_hidden", replace(", -torch.inf)", ".T, -torch.inf)"), UPSIDE_DOWN),
    mistake("diagonal_hidden_too", replace("causal_mask(scores.shape[-1])", "torch.ones_like(scores).triu().bool()"),
        SELF_HIDDEN),
    mistake("next_token_seen", replace("causal_mask(scores.shape[-1])", "torch.ones_like(scores).triu(2).bool()"),
        NEXT_SEEN),
    mistake("masked_after_softmax", replace("masked / d_k**0.5, dim=-1)", "scores / d_k**0.5, dim=-1).tril()"),
        MASKED_LATE),
    mistake("renormalized_after_softmax",
        replace("torch.softmax(masked / d_k**0.5, dim=-1)",
                "mask_then_renormalize(torch.softmax(scores / d_k**0.5, dim=-1))"),
        "The future is hidden too late: after the softmax, or after the largest score was subtracted. If a score of "
        "the future is very large, all other weights are rounded to zero. Hide it first."),
    mistake("softmax_over_queries", replace("dim=-1", "dim=0"), WRONG_DIM),
    mistake("softmax_forgotten", replace("torch.softmax(masked / d_k**0.5, dim=-1)", "masked / d_k**0.5"),
        "These are masked scores, not weights. Softmax turns them into weights: positive, zero for the future, and "
        "with the sum one in each row."),
    mistake("zero_times_infinity", replace(".masked_fill(", " + ").replace("), -torch.inf)", ") * -torch.inf"),
        "The result is NaN, as if a mask of zeros and ones were multiplied by infinity: zero times infinity is NaN. "
        "Fill only the masked entries: `masked_fill`, or `torch.where`."),
    mistake("plus_infinity", replace(", -torch.inf)", ", torch.inf)"),
        "The future is set to plus infinity, which gives NaN after softmax. The exponential of minus infinity is "
        "zero: use minus infinity."),
    mistake("scores_masked_in_place", replace("masked_fill", "masked_fill_"),
        "The caller's scores were changed. `masked_fill_` with an underscore changes the tensor itself; without it, "
        "it returns a new one."),
    mistake("softmax_without_gradients", replace("scores.masked_fill", "scores.detach().masked_fill"),
        "Gradients stop at the weights, for example because of `.detach()`, `.data` or `torch.no_grad()`. Queries "
        "and keys learn only through the scores."),
    mistake("scores_meet_float32",
        replace("masked = scores.masked_fill(causal_mask(scores.shape[-1]), -torch.inf)",
                "masked, seen = torch.full(scores.shape, -torch.inf), ~causal_mask(len(scores))\n"
                "    masked[seen] = scores[seen]"),
        "The code makes a float32 tensor, which does not match float64 scores. Make it like the scores: "
        "`torch.full_like`, or `dtype=scores.dtype`."),
    mistake("softmax_twice", replace(MASKED_SOFTMAX, f"{MASKED_SOFTMAX}.softmax(-1)"), SOFTMAX_TWICE),
    mistake("sums_without_keepdim",
        replace(MASKED_SOFTMAX, "torch.exp(masked / d_k**0.5) / torch.exp(masked / d_k**0.5).sum(dim=-1)"),
        SUMS_IN_A_ROW),
    mistake("diagonal_lowered",
        replace("causal_mask(scores.shape[-1]), -torch.inf", "torch.ones_like(scores).triu().bool(), -1e9"),
        "The diagonal is hidden too, so a token does not see itself. The first token sees nothing: all its scores are "
        "equally low, and softmax spreads its weight over the future too."),
    mistake("only_the_future_seen", replace("masked_fill(causal_mask", "masked_fill(~causal_mask"), ONLY_FUTURE_SEEN),
    mistake("only_the_future_seen_beside_low_numbers",
        replace("masked_fill(causal_mask", "masked_fill(~causal_mask").replace(", -torch.inf)", ", -1e9)"),
        ONLY_FUTURE_SEEN),
]  # fmt: skip


# -- probes --------------------------------------------------------------------------------------------------------


@probe(draws=5)
def future_beside_low_scores(unit: Any, draw: Draw) -> Iterator[Property]:
    num_tokens, d_k = draw.number + 2, draw.size()
    scores = torch.full((num_tokens, num_tokens), -10_000 * d_k**0.5, dtype=torch.float64)
    yield (
        "whether the future has weight if scores are low",
        is_seen(unit.mask_then_softmax(scores, d_k).triu(diagonal=1)),
    )
    yield "whether a score of zero has weight", bool(unit.mask_then_softmax(0 * scores, d_k).isfinite().all())


# -- answers -------------------------------------------------------------------------------------------------------


def wrong_answers():
    """Mistakes without a name, and answers with two. Never run here: the audit reads them."""

    import math

    import torch.nn.functional as F

    def _masked(scores, value=-torch.inf):
        return scores.masked_fill(torch.ones_like(scores).triu(diagonal=1).bool(), value)

    def minus_ten_for_the_future(scores, d_k):
        return F.softmax(_masked(scores, -10.0) / math.sqrt(d_k), dim=-1)

    def mask_of_ones_added(scores, d_k):
        return F.softmax((scores + torch.triu(torch.ones_like(scores), diagonal=1)) / d_k**0.5, dim=-1)

    def logarithms_of_the_weights(scores, d_k):
        return F.log_softmax(_masked(scores) / d_k**0.5, dim=-1)

    def unscaled_and_over_queries(scores, d_k):
        return F.softmax(_masked(scores), dim=0)

    def root_of_the_scores_too(scores, d_k):
        return F.softmax(_masked((scores.abs() / d_k).sqrt()), dim=-1)

    def everything_hidden(scores, d_k):
        return F.softmax(scores.masked_fill(torch.ones_like(scores).bool(), -torch.inf) / math.sqrt(d_k), dim=-1)


def right_answers():
    """Answers in other styles. Never run here: the audit reads them."""

    import math

    import torch.nn as nn
    from causal_attention import causal_mask

    def building_on(scores, d_k):
        copy = scores.clone()
        copy.masked_fill_(causal_mask(scores.shape[-1]), -torch.inf)
        return torch.softmax(copy.mT / d_k**0.5, dim=-2).mT

    def by_hand(scores, d_k):
        weights = torch.zeros_like(scores)
        for i, row in enumerate(scores):
            seen = row[: i + 1].double() / d_k**0.5
            exponentials = torch.exp(seen - seen.max())
            weights[i, : i + 1] = exponentials / exponentials.sum()
        return weights

    def einsum(scores: torch.Tensor, d_k: int) -> torch.Tensor:
        future = torch.full_like(scores, float("-inf")).triu(1)
        print("scores", tuple(scores.shape))
        return nn.functional.softmax((scores + future) / math.sqrt(d_k), dim=1)

    def fused(scores, d_k):
        # Torch's own attention of one-hot queries and keys would do too; this is the log_softmax of torch.where.
        hidden = torch.tensor(float("-inf"), dtype=scores.dtype)
        return torch.where(causal_mask(scores.size(0)), hidden, scores).div(d_k**0.5).log_softmax(-1).exp()

    def renormalizing(scores, d_k):
        # Without a maximum subtracted: float64 has room for it.
        scaled = scores.double().masked_fill(causal_mask(scores.shape[0]), -1e30) / d_k**0.5
        numerators = torch.exp(scaled)
        return (numerators / numerators.sum(1, keepdim=True)).to(scores.dtype)
