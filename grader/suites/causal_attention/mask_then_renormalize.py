"""mask_then_renormalize: hidden tests, known mistakes and right answers."""

from __future__ import annotations

from collections.abc import Callable

import torch

from grader.suites.causal import Parts, softmax
from grader.suites.causal_attention.shared import T, softmax_weights
from grader.testing.checks import expect_close, expect_tensor
from grader.testing.draws import Fresh
from grader.testing.misconceptions import mistake, replace
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


def expect_shares(result: object, expected: torch.Tensor) -> None:
    """Expect the right proportions in each row, whatever its sum is."""
    found = expect_tensor(result, expected.shape).double()
    expect_close(
        found / found.sum(-1, keepdim=True),
        expected / expected.sum(-1, keepdim=True),
        "The weights, each divided by the sum of its row,",
    )


@rule("in each row, the weight of every later token is 0")
def test_no_weight_is_left_for_the_future(student: Student, fresh: Fresh) -> None:
    """All weights above the diagonal should be zero, and the others should keep their proportions."""
    weights = softmax_weights(fresh, T)
    expect_shares(student.mask_then_renormalize(weights), Parts(student).renormalized(weights))


@rule("the other weights of each row are divided by their sum, so that the row sums to one again")
def test_rows_sum_to_one_again(student: Student, fresh: Fresh) -> None:
    """The remaining weights of each row should be divided by their sum, so that the rows sum to one again."""
    weights = softmax_weights(fresh, T)
    expect_close(student.mask_then_renormalize(weights), Parts(student).renormalized(weights), "The weights")


def renormalized_of(student: Student) -> Callable[[torch.Tensor], torch.Tensor]:
    return Parts(student).renormalized


test_contract = contract(
    asking("mask_then_renormalize", lambda fresh, count=T, **dtype: [softmax_weights(fresh, count, **dtype)],
           renormalized_of, expect_shares),
    right_results(
        "weights_of_any_number_of_tokens", "any number of tokens, including one",
        "Weights of any number of tokens, including a single one, should be masked.",
        *({"count": count} for count in (1, 3, 9))),
    right_results(
        "weights_of_either_dtype", "float32 and float64 weights both work",
        "The function should mask float32 weights and float64 weights.", *IN_BOTH_DTYPES),
    kept_arguments(
        "renormalizing_leaves_the_weights_alone", "the weights are not changed",
        "The result should be masked, and the call should not change its argument, the weights.",
        "The argument, the weights, was changed."),
    # No weight near zero: the gradient is a difference of terms such as 1 / weight, and float32 rounds each of them.
    right_gradients(
        "gradients_of_renormalizing", "gradients flow to the weights",
        "Gradients of the result should flow to the weights in the argument.",
        ask=asking("mask_then_renormalize", lambda fresh: [softmax(fresh(T, T) / 2)], renormalized_of)),
    example=Example({"weights": torch.tensor([[0.5, 0.2, 0.3], [0.3, 0.3, 0.4], [0.4, 0.35, 0.25]])}),
    probe=lambda fresh, count=T: [softmax(fresh(count, count).tanh())],
)  # fmt: skip


# -- misconceptions ------------------------------------------------------------------------------------------------

MISCONCEPTIONS = [
    mistake("not_renormalized", replace("past / past.sum(dim=-1, keepdim=True)", "past"),
        "The future is zero, but the rows no longer sum to one. Divide each row by the sum of its remaining weights."),
    mistake("masked_result_thrown_away", replace("past = ", "past = weights\n    "),
        "The future is still there, as if nothing hid it. `masked_fill` without an underscore returns a new tensor: "
        "use its result."),
    mistake("past_removed", replace("masked_fill(causal_mask(weights.shape[-1]), 0)", "triu()"),
        "The mask is inverted: the past is zero, and the future is kept. Set the part above the diagonal to zero."),
    mistake("own_weight_removed", replace("masked_fill(causal_mask(weights.shape[-1]), 0)", "tril(-1)"),
        "The diagonal is zero too. A token sees itself, and the first token sees nothing else: its row would be zero "
        "divided by zero."),
    mistake("next_token_weighted", replace("masked_fill(causal_mask(weights.shape[-1]), 0)", "tril(1)"),
        "Each row still has a weight for the next token: the mask begins one position too late. The future begins "
        "directly to the right of the diagonal."),
    mistake("columns_renormalized", replace("dim=-1", "dim=0"),
        "The columns sum to one, not the rows. A row contains the weights of one token, and these should sum to one: "
        "sum over the last dimension."),
    mistake("renormalized_without_keepdim", replace(", keepdim=True", ""),
        "Without `keepdim=True` the sums lie along the columns, and each weight is divided by the sum of another "
        "row. Keep the sums as a column, (T, 1)."),
    mistake("softmax_of_masked_weights",
        replace("past / past.sum(dim=-1, keepdim=True)", "torch.softmax(past, dim=-1)"),
        "The masked weights went through another softmax. This changes their proportions and gives the zeros a "
        "weight again, because the exponential of zero is one. Divide by the sum."),
    mistake("minus_infinity_among_weights", replace("), 0)", "), -torch.inf)"),
        "The future is minus infinity. That is correct for scores, before a softmax. But these are already weights: "
        "use zero."),
    mistake("weights_masked_in_place", replace("masked_fill", "masked_fill_"),
        "The caller's weights were changed. `masked_fill_` with an underscore changes the tensor itself; without it, "
        "it returns a new one."),
    mistake("renormalized_without_gradients", replace("weights.masked_fill", "weights.detach().masked_fill"),
        "Gradients stop at the result, for example because of `.detach()`, `.data` or `torch.no_grad()`. Queries and "
        "keys learn only through this result."),
    mistake("lonely_weight_squeezed",
        replace("past / past.sum(dim=-1, keepdim=True)", "(past / past.sum(dim=-1, keepdim=True)).squeeze()"),
        "`squeeze()` removes every dimension of size one, so the weights of a single token are not a matrix."),
    mistake("weights_meet_float32", replace("past.sum(dim=-1, keepdim=True)", "(past @ torch.ones(len(past), 1))"),
        "The code makes a float32 tensor, which does not match float64 weights. Make it like the weights: "
        "`torch.ones_like`, or `dtype=weights.dtype`."),
    mistake("third_dimension_expected", replace("dim=-1", "dim=2"),
        "The code uses a third dimension, such as dim 2. Here the argument is a single matrix, (T, T), without a "
        "batch. Count from the end: -1 is always the last dimension."),
]  # fmt: skip


# -- answers -------------------------------------------------------------------------------------------------------


def wrong_answers():
    """Mistakes without a name, and answers with two. Never run here: the audit reads them."""

    import torch.nn.functional as F

    def divided_by_the_largest(weights):
        left = torch.tril(weights)
        return left / left.max(dim=-1, keepdim=True).values

    def made_of_length_one(weights):
        return F.normalize(torch.tril(weights), dim=-1)

    def divided_by_the_number_of_tokens_seen(weights):
        seen = torch.tril(torch.ones_like(weights))
        return weights * seen / seen.sum(dim=-1, keepdim=True)

    def rest_goes_to_the_own_token(weights):
        left = torch.tril(weights)
        return left + torch.diag(1 - left.sum(dim=-1))

    def divided_by_the_lost_part(weights):
        future = torch.triu(weights, diagonal=1)
        return torch.tril(weights) / (future.sum(dim=-1, keepdim=True) + 1e-9)

    def past_removed__and__columns_renormalized(weights):
        left = torch.triu(weights)
        return left / left.sum(dim=0, keepdim=True)

    def third_dimension_expected__size(w):
        future = torch.ones(w.size(2), w.size(2)).triu(1) == 1
        w = w.masked_fill(future, 0)
        return w / w.sum(-1)[:, None]


def right_answers():
    """Answers in other styles. Never run here: the audit reads them."""

    import torch.nn.functional as F
    from causal_attention import causal_mask

    def building_on(weights):
        weights = weights.clone()
        weights[..., causal_mask(weights.shape[-1])] = 0
        return (weights.mT / weights.sum(dim=-1).unsqueeze(-2)).mT

    def by_hand(weights):
        past = torch.zeros_like(weights)
        for i, row in enumerate(weights):
            past[i, : i + 1] = row[: i + 1] / row[: i + 1].sum()
        return past

    def einsum(weights: torch.Tensor) -> torch.Tensor:
        seen = torch.tril(torch.ones_like(weights))
        left = weights * seen
        return torch.einsum("ij,i->ij", left, 1 / torch.einsum("ij->i", left))

    def fused(weights):
        return F.normalize(torch.tril(weights), p=1, dim=-1)

    def renormalizing(weights):
        places = torch.arange(weights.shape[-1])
        past = torch.where(places <= places.unsqueeze(1), weights, torch.zeros_like(weights))
        return past.div(past.sum(dim=1).reshape(-1, 1))
