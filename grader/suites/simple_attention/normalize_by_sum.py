"""normalize_by_sum: hidden tests, known mistakes and right answers."""

from __future__ import annotations

import torch

from grader.suites.simple_attention.shared import DOMINANT, T, normalized, one_entry, single_nonzero
from grader.testing.checks import expect_close
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


def both_signs(fresh: Fresh, count: int) -> torch.Tensor:
    """Return scores (T,), some of them negative, whose sum is far from zero."""
    scores = fresh(count).abs().clamp(max=2) + 0.5
    scores[1::3] *= -0.2
    return scores


@rule("each result is the score divided by the sum of all scores, also for negative scores")
def test_scores_are_divided_by_their_sum(student: Student, fresh: Fresh) -> None:
    """Each score should be divided by the sum of all scores, so that the results sum to one."""
    # Mostly positive, and mostly negative.
    for scores in (both_signs(fresh, T), -both_signs(fresh, T)):
        expect_close(student.normalize_by_sum(scores), normalized(scores))


@rule("any number of scores, including one")
def test_any_number_of_scores_is_divided(student: Student, fresh: Fresh) -> None:
    """Any number of scores should be divided by their sum, and the shape (T,) should stay; a single score gives one."""
    for count in (7, 3, 1):
        scores = single_nonzero(fresh, count, DOMINANT)
        expect_close(student.normalize_by_sum(scores), normalized(scores))


def far_from_zero(fresh: Fresh, count: int = T) -> list[torch.Tensor]:
    """Return scores (T,) of any sign. A sum near zero makes any answer inexact."""
    scores = fresh(count)
    while scores.sum().abs() < 0.2 * scores.abs().sum():
        scores = fresh(count)
    return [scores]


DIVIDED = asking("normalize_by_sum", one_entry, lambda _: normalized)


test_contract = contract(
    DIVIDED,
    right_results(
        "scores_of_either_dtype_are_divided", "float32 and float64 scores both work",
        "Float32 scores and float64 scores should both be divided by their sum.", *IN_BOTH_DTYPES),
    # All positive, so that division by the sum of absolute values gives the same result.
    right_gradients(
        "gradients_through_the_sum", "gradients flow to the scores, also through their sum",
        "Gradients should flow to the scores: each is in the numerator of its result, and all are in the denominator.",
        ask=asking("normalize_by_sum", lambda fresh: [fresh(T).abs() + 0.5], lambda _: normalized)),
    kept_arguments(
        "dividing_leaves_the_scores_alone", "the scores are not changed",
        "The result should be correct, and the call should not change the scores.", "The scores were changed."),
    example=Example({"scores": torch.tensor([2.0, 0.5, 1.5, 4.0])}),
    probe=far_from_zero,
)  # fmt: skip


# -- misconceptions ------------------------------------------------------------------------------------------------


MISCONCEPTIONS = [
    mistake("softmax_instead_of_division", replace("scores / scores.sum()", "torch.softmax(scores, dim=-1)"),
        "That is already softmax. Here the scores themselves are divided by their sum. The next exercise shows the "
        "problem with that."),
    mistake("divided_by_the_largest", replace("scores.sum()", "scores.max()"),
        "The scores were divided by the largest score. Then the largest result is one, but the sum of the results "
        "should be one."),
    mistake("divided_by_the_sum_of_sizes", replace("scores.sum()", "scores.abs().sum()"),
        "The denominator is the sum of the absolute values. If some scores are negative, the results do not sum to "
        "one. Use the sum with signs."),
    mistake("negative_scores_dropped",
        replace("scores / scores.sum()", "scores.clamp(min=0) / scores.clamp(min=0).sum()"),
        "Negative scores were set to zero. Here they are used without any change. The next exercise deals with "
        "negative weights."),
    mistake("standardised", replace("scores / scores.sum()", "(scores - scores.mean()) / scores.std()"),
        "The scores were changed to mean zero and standard deviation one. That is standardising. Here each score is "
        "divided by their sum."),
    mistake("shape_squeezed_away", replace("scores / scores.sum()", "(scores / scores.sum()).squeeze()"),
        "If there is a single score, `squeeze()` removes the only dimension. The shape stays (T,), also for T = 1."),
    mistake("sum_in_float32_only", replace("scores.sum()", "torch.dot(torch.ones(len(scores)), scores)"),
        "The code always computes in float32, and float64 scores do not match. Use the dtype of the scores."),
    mistake("sum_as_a_constant", replace("sum()", "sum().item()"),
        "Gradients treat the sum as a constant, for example because of `.item()` or `.detach()`. But the sum depends "
        "on the scores: if one score grows, every result changes."),
    mistake("divided_in_place", replace("scores / scores.sum()", "scores.div_(scores.sum())"),
        "The caller's scores were divided in place, by `/=` or `div_`. The caller may still need the old scores: `/` "
        "makes a new tensor."),
]  # fmt: skip


# -- answers -------------------------------------------------------------------------------------------------------


def wrong_answers():
    """Mistakes without a name, and answers with two. Never run here: the audit reads them."""

    def divided_by_the_sum_of_sizes__and__divided_in_place(scores):
        scores /= torch.abs(scores).sum()
        return scores

    def divided_by_the_mean(scores):
        return scores / scores.mean()

    def sum_divided_by_the_scores(scores):
        return scores.sum() / scores

    def multiplied_by_the_sum(scores):
        return scores * scores.sum()

    def signs_lost_in_the_shares(scores):
        return (scores / scores.sum()).abs()

    def sum_along_a_second_dimension(scores):
        return scores / scores.sum(dim=1, keepdim=True)


def right_answers():
    """Answers in other styles. Never run here: the audit reads them."""

    def by_hand(scores):
        total = 0
        for score in scores:
            total = total + score
        return torch.stack([score / total for score in scores])

    def einsum(scores: torch.Tensor) -> torch.Tensor:
        return torch.einsum("t,->t", scores, 1 / scores.sum())

    def one_on_another(scores):
        return scores / sum(scores)

    def ready_made(scores):
        return torch.div(scores, torch.sum(scores, dim=0))

    def turned_round(scores):
        return scores / scores.cumsum(0)[-1]
