"""Unit 3, causal attention: one test, one criterion; its docstring is what a student reads.

Expected values are computed here, in float64 and by other means than the course's own solution, from the parts that
an exercise may build on: where a stand-in took the place of a student's own part, it does so here.

As in unit 2, a slip should cost what it is about. Tests about other things than scores have inputs that leave no
doubt: to each token one token fits so well, itself or the one before, that it gets all the weight, whatever the scores
are divided by and whether the future is hidden or not.

What is random is judged by numbers of entries. Let n independent entries each be kept (or two of them be alike) with
one and the same probability q. By Hoeffding's inequality the number is further than t from q n with a chance of
2 exp(-2 t² / n) at most: for t = 3 √n that is 2 exp(-18) < 4e-8. Each test makes at most eight such comparisons, so a
right answer fails it less than once in a million.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from dataclasses import dataclass

import pytest
import torch

from grader.sandbox.student import Object, Student
from grader.suites.checks import (
    expect_close,
    expect_dtype,
    expect_error,
    expect_gradients,
    expect_same,
    expect_tensor,
    expect_true,
    expect_values,
    oracle_gradients,
)
from grader.suites.criteria import Fresh

# All different, so that no dimension passes for another; no d_k is 4, where half of it is its square root.
B, H, T, D_K, D_OUT, D_IN, LONGER = 2, 3, 5, 6, 7, 8, 9
# For inputs that leave no doubt: at least as many features as there are tokens in a batch.
D_WIDE = 11
MATRICES = ("W_query", "W_key", "W_value")


# -- what is right -----------------------------------------------------------------------------------------------


def future(num_tokens: int) -> torch.Tensor:
    """(T, T): where the column's number is greater than the row's."""
    places = torch.arange(num_tokens)
    return places[None, :] > places[:, None]


def softmax(x: torch.Tensor, dim: int = -1) -> torch.Tensor:
    return (x - x.logsumexp(dim, keepdim=True)).exp()


def over_its_sum(row: torch.Tensor) -> torch.Tensor:
    return row / row.sum()


@dataclass
class Parts:
    """What an expected value is made of: the right functions, or the stand-ins that the student's code was given."""

    student: Student

    def mask(self, num_tokens: int) -> torch.Tensor:
        return self.student.part("causal_mask", future)(num_tokens)

    def softmax(self, scores: torch.Tensor) -> torch.Tensor:
        return self.student.part("softmax_naive", self.student.part("softmax_stable", softmax))(scores, -1)

    def renormalized(self, weights: torch.Tensor) -> torch.Tensor:
        """(…, T, T) to the same, with the future zero and each row divided by what is left of it."""
        seen = torch.where(self.mask(weights.shape[-1]), 0.0, weights.double())
        divided = self.student.part("normalize_by_sum", over_its_sum)
        rows = [divided(row) for row in seen.flatten(0, -2)]  # (…, T, T) -> (… · T, T)
        return torch.stack(rows).view_as(seen)

    def weights(self, scores: torch.Tensor, d_k: int) -> torch.Tensor:
        """(…, T, T) to the same, with the future hidden before the softmax."""
        masked = torch.where(self.mask(scores.shape[-1]), -torch.inf, scores.double())
        return self.softmax(masked / math.sqrt(d_k))

    def attention_weights(self, scores: torch.Tensor, d_k: int) -> torch.Tensor:
        """(…, T, T) to the same; by the first way of masking where stand-ins tell that the student took it."""
        weights = self.student.part("mask_then_softmax", self.weights)(scores.double(), d_k)
        renormalized = self.student.part("mask_then_renormalize", self.renormalized)
        is_other_way = renormalized != self.renormalized or self.student.part("normalize_by_sum", None) is not None
        return renormalized(self.softmax(scores.double() / math.sqrt(d_k))) if is_other_way else weights


def causal_scores(inputs: torch.Tensor, W_query: torch.Tensor, W_key: torch.Tensor) -> torch.Tensor:
    """(B, T, d_in) and two (d_in, d_out) to (B, T, T), not scaled yet."""
    queries, keys = (torch.einsum("bti,io->bto", inputs.double(), matrix.double()) for matrix in (W_query, W_key))
    return torch.einsum("bqo,bko->bqk", queries, keys)


def causal_attention(
    student: Student, inputs: torch.Tensor, W_query: torch.Tensor, W_key: torch.Tensor, W_value: torch.Tensor
) -> torch.Tensor:
    """(B, T, d_in) and three (d_in, d_out) to (B, T, d_out)."""
    weights = Parts(student).attention_weights(causal_scores(inputs, W_query, W_key), W_query.shape[-1])
    return torch.einsum("bqk,bki,io->bqo", weights, inputs.double(), W_value.double())


# -- inputs that leave no doubt ----------------------------------------------------------------------------------
# As in unit 2: the largest number that learners are known to divide by, and still attend, is twice the width, 14 at
# most, which leaves the fitting token 240 / 14 = 17 ahead. exp(80) is finite in float32 for who subtracts no maximum.

FITTING, OTHER = 80.0, -160.0


def fitting_tokens(num_tokens: int, which: int = 0) -> torch.Tensor:
    """The place of the token that fits each, (T,): itself or the one before in turn, by `which` in which order.

    Some fit two and some none, so that softmax over the queries, or with queries and keys exchanged, gives others.
    """
    places = torch.arange(num_tokens)
    return (places - (places + which) % 2).clamp(min=0)


def scores_beyond_doubt(
    fresh: Fresh, num_tokens: int, dtype: torch.dtype = torch.float32, ahead: float = OTHER
) -> torch.Tensor:
    """Scores (T, T); those of the future are about `ahead`."""
    scores = torch.full((num_tokens, num_tokens), OTHER, dtype=torch.float64)
    scores = torch.where(future(num_tokens), ahead, scores) + fresh(num_tokens, num_tokens, dtype=torch.float64)
    scores[range(num_tokens), fitting_tokens(num_tokens)] = FITTING
    return scores.to(dtype)


def rotation(fresh: Fresh, size: int) -> torch.Tensor:
    """An orthogonal matrix, (size, size)."""
    return torch.linalg.qr(fresh(size, size, dtype=torch.float64)).Q


def queries_and_keys(fresh: Fresh, num_tokens: int, which: int) -> torch.Tensor:
    """Queries and keys (2, T, d_out) in float64, whose dot products are FITTING and OTHER; T is at most d_out."""
    scores = torch.full((num_tokens, num_tokens), OTHER, dtype=torch.float64)
    scores[range(num_tokens), fitting_tokens(num_tokens, which)] = FITTING
    # Three factors, (T, T), (T,) and (T, T). Queries and keys each take the root of the middle one, and both are
    # written in the same T directions, at right angles among d_out dimensions.
    left, sizes, right = torch.linalg.svd(scores)
    return torch.stack([left * sizes.sqrt(), right.mT * sizes.sqrt()]) @ rotation(fresh, D_OUT)[:num_tokens]


def tokens_beyond_doubt(
    fresh: Fresh, batch: int, num_tokens: int, dtype: torch.dtype = torch.float32
) -> tuple[torch.Tensor, dict[str, torch.Tensor]]:
    """Inputs (B, T, d_in), and matrices (d_in, d_out) that make such queries and keys of them, for d_in = D_WIDE."""
    # At right angles and of length one, so that each matrix can give every token of the batch what it likes.
    tokens = rotation(fresh, D_WIDE)[: batch * num_tokens]
    # (B, 2, T, d_out) -> (2, B · T, d_out)
    queries, keys = torch.stack([queries_and_keys(fresh, num_tokens, one) for one in range(batch)], 1).flatten(1, 2)
    matrices = {"W_query": tokens.mT @ queries, "W_key": tokens.mT @ keys, "W_value": fresh(D_WIDE, D_OUT)}
    inputs = tokens.unflatten(0, (batch, num_tokens))  # (B · T, d_in) -> (B, T, d_in)
    return inputs.to(dtype), {name: matrix.to(dtype) for name, matrix in matrices.items()}


# -- causal_mask -------------------------------------------------------------------------------------------------


@pytest.mark.exercise("causal_mask", rule="row i, column j is True where j comes after i, and False everywhere else")
def test_the_future_is_marked(student: Student) -> None:
    """The mask (T, T) should be True strictly above the diagonal, and False on it and below."""
    expect_close(student.causal_mask(T), future(T), "The entries")


@pytest.mark.exercise("causal_mask", rule="its dtype is torch.bool")
def test_the_mask_is_bool(student: Student) -> None:
    """The mask should be of dtype torch.bool, and hide one of any two tokens from the other."""
    mask = expect_tensor(student.causal_mask(T), (T, T))
    expect_dtype(mask, torch.bool)
    others = ~torch.eye(T, dtype=torch.bool)
    expect_true(bool((mask ^ mask.mT)[others].all()), "Two tokens both see each other, or neither sees the other.")


@pytest.mark.exercise("causal_mask", rule="any number of tokens, one included")
def test_a_mask_for_any_number_of_tokens(student: Student) -> None:
    """For any number of tokens, a single one included, the mask should be (T, T), with the future marked."""
    for count in (1, 3, 9):
        expect_close(student.causal_mask(count), future(count), "The entries")


# -- mask_then_renormalize ---------------------------------------------------------------------------------------


def softmax_weights(fresh: Fresh, num_tokens: int, dtype: torch.dtype = torch.float32) -> torch.Tensor:
    """Positive weights (T, T) whose rows sum to one."""
    return softmax(fresh(num_tokens, num_tokens, dtype=torch.float64)).to(dtype)


def expect_shares(student: Student, result: object, weights: torch.Tensor) -> None:
    """Each row in the right proportions, whatever its sum."""
    expected = Parts(student).renormalized(weights)
    found = expect_tensor(result, expected.shape).double()
    expect_close(
        found / found.sum(-1, keepdim=True),
        expected / expected.sum(-1, keepdim=True),
        "The weights, each divided by the sum of its row,",
    )


@pytest.mark.exercise("mask_then_renormalize", rule="the weight of every token that comes after the row's own is 0")
def test_no_weight_is_left_for_the_future(student: Student, fresh: Fresh) -> None:
    """All weights above the diagonal should be zero, and the others in the same proportions as before."""
    weights = softmax_weights(fresh, T)
    expect_shares(student, student.mask_then_renormalize(weights), weights)


@pytest.mark.exercise(
    "mask_then_renormalize",
    rule="the other weights of each row are divided by their sum, so that the row sums to one again",
)
def test_rows_sum_to_one_again(student: Student, fresh: Fresh) -> None:
    """What is left of each row should be divided by its sum, so that the rows sum to one again."""
    weights = softmax_weights(fresh, T)
    expect_close(student.mask_then_renormalize(weights), Parts(student).renormalized(weights), "The weights")


@pytest.mark.exercise("mask_then_renormalize", rule="any number of tokens, one included")
def test_weights_of_any_number_of_tokens(student: Student, fresh: Fresh) -> None:
    """Weights of any number of tokens, a single one included, should be masked."""
    for count in (1, 3, 9):
        weights = softmax_weights(fresh, count)
        expect_shares(student, student.mask_then_renormalize(weights), weights)


@pytest.mark.exercise("mask_then_renormalize", rule="float32 and float64 weights both work")
def test_weights_of_either_dtype(student: Student, fresh: Fresh) -> None:
    """The weights should be masked whether they are float32 or float64."""
    for dtype in (torch.float32, torch.float64):
        weights = softmax_weights(fresh, T, dtype)
        expect_shares(student, student.mask_then_renormalize(weights), weights)


@pytest.mark.exercise("mask_then_renormalize", rule="gradients flow to the weights")
def test_gradients_of_renormalizing(student: Student, fresh: Fresh) -> None:
    """Gradients of the result should flow to the weights that were handed in."""
    # None near zero: the gradient is a difference of terms like 1 / weight, of which float32 rounds each.
    weights = softmax(fresh(T, T) / 2)
    _, found = expect_values(student.mask_then_renormalize.gradients(weights), 2)
    expect_gradients(found, oracle_gradients(Parts(student).renormalized, [weights], {}))


@pytest.mark.exercise("mask_then_renormalize", rule="the weights are left as they were")
def test_renormalizing_leaves_the_weights_alone(student: Student, fresh: Fresh) -> None:
    """The result should be masked, with the weights that were handed in the same after the call as before."""
    weights = softmax_weights(fresh, T)
    result, [after] = expect_values(student.mask_then_renormalize.with_arguments(weights), 2)
    expect_shares(student, result, weights)
    expect_same(after, weights, "The weights that were handed in were changed.")


# -- mask_then_softmax -------------------------------------------------------------------------------------------


def led_by_the_best(found: torch.Tensor, expected: torch.Tensor) -> bool:
    """Whether the largest weight among those that a row should have stands where it should."""
    seen = torch.where(expected > 0, found.double(), -1.0)
    return torch.equal(seen.argmax(-1), expected.argmax(-1))


def log_ratios(weights: torch.Tensor, expected: torch.Tensor) -> torch.Tensor:
    """The logarithm of each weight that there should be, less that of the token's weight for itself; zero elsewhere.

    Logarithms undo softmax but for one number a row, and that is gone in the difference.
    """
    logarithms = weights.double().log()
    ratios = logarithms - logarithms.diagonal(dim1=-2, dim2=-1).unsqueeze(-1)
    return torch.where(expected > 0, ratios, 0.0)


@pytest.mark.exercise(
    "mask_then_softmax",
    rule="the weight of every token that comes after the row's own is 0, and each row sums to one",
)
def test_the_future_has_no_weight_and_rows_sum_to_one(student: Student, fresh: Fresh) -> None:
    """Weights above the diagonal should be zero; the others sum to one in each row and favour the best score."""
    scores = fresh(T, T)
    expected = Parts(student).weights(scores, D_K)
    weights = expect_tensor(student.mask_then_softmax(scores, D_K), (T, T))
    hidden = expected == 0
    expect_close(torch.where(hidden, weights.double(), 0.0), torch.zeros(T, T), "The weights of the future")
    expect_true(bool((weights[~hidden] > 0).all()), "A weight is not positive where a token may look.")
    expect_close(weights.double().sum(-1), torch.ones(T), "The sums of the rows")
    expect_true(led_by_the_best(weights, expected), "A row's largest weight is not where its largest score is.")


@pytest.mark.exercise(
    "mask_then_softmax",
    rule="the weights of the other tokens are the softmax of their scores divided by the square root of d_k",
)
def test_scores_left_are_divided_by_the_square_root_of_d_k(student: Student, fresh: Fresh) -> None:
    """On and below the diagonal, the weights should come from a softmax of the scores divided by √d_k."""
    scores = fresh(T, T)
    expected = Parts(student).weights(scores, D_K)
    weights = expect_tensor(student.mask_then_softmax(scores, D_K), (T, T))
    expect_true(bool((weights[expected > 0] > 0).all()), "A weight is not positive where a token may look.")
    expect_close(log_ratios(weights, expected), log_ratios(expected, expected), "The scores behind the weights")


@pytest.mark.exercise("mask_then_softmax", rule="they stay right where a score of the future is far above the others")
def test_a_future_far_above_the_rest(student: Student, fresh: Fresh) -> None:
    """The weights should be right also where the scores of the future are far above all others."""
    # So far that a softmax over everything leaves nothing for the others, in float64 too: exp(-(3000 - 80) / √d_k) = 0.
    scores = scores_beyond_doubt(fresh, T, ahead=3000.0)
    expect_close(student.mask_then_softmax(scores, D_K), Parts(student).weights(scores, D_K), "The weights")


@pytest.mark.exercise("mask_then_softmax", rule="any number of tokens, one included")
def test_scores_of_any_number_of_tokens(student: Student, fresh: Fresh) -> None:
    """Scores of any number of tokens, a single one included, should give weights (T, T)."""
    for count in (1, 3, 9):
        scores = scores_beyond_doubt(fresh, count)
        expect_close(student.mask_then_softmax(scores, D_K), Parts(student).weights(scores, D_K), "The weights")


@pytest.mark.exercise("mask_then_softmax", rule="float32 and float64 scores both work")
def test_scores_of_either_dtype(student: Student, fresh: Fresh) -> None:
    """The weights should come out whether the scores are float32 or float64."""
    for dtype in (torch.float32, torch.float64):
        scores = scores_beyond_doubt(fresh, T, dtype)
        expect_close(student.mask_then_softmax(scores, D_K), Parts(student).weights(scores, D_K), "The weights")


@pytest.mark.exercise("mask_then_softmax", rule="gradients flow to the scores")
def test_gradients_of_masked_softmax(student: Student, fresh: Fresh) -> None:
    """Gradients of the weights should flow to the scores, and be zero for those of the future."""
    scores = fresh(T, T)
    _, found = expect_values(student.mask_then_softmax.gradients(scores, D_K), 2)
    expect_gradients(found, oracle_gradients(lambda given: Parts(student).weights(given, D_K), [scores], {}))


@pytest.mark.exercise("mask_then_softmax", rule="the scores are left as they were")
def test_masked_softmax_leaves_the_scores_alone(student: Student, fresh: Fresh) -> None:
    """The weights should come out right, with the scores the same after the call as before."""
    scores = scores_beyond_doubt(fresh, T)
    result, after = expect_values(student.mask_then_softmax.with_arguments(scores, D_K), 2)
    expect_close(result, Parts(student).weights(scores, D_K), "The weights")
    expect_same(after[0], scores, "The scores were changed.")


# -- attention_dropout -------------------------------------------------------------------------------------------

# With p a half, 36 entries are all kept, all dropped, or dropped alike in two draws, with a chance of 2^-36 each.
SIDE = 6
# Enough entries for their number: 3 √n is three of a hundred of them.
MANY = 100


def expect_kept(result: object, weights: torch.Tensor) -> torch.Tensor:
    """Which entries were kept, as numbers one and zero: some of them, and not all."""
    kept = expect_tensor(result, weights.shape) != 0
    expect_true(bool((~kept).any()), "Nothing was dropped.")
    expect_true(bool(kept.any()), "Everything was dropped.")
    return kept.double()


def expect_weights_kept(result: object, weights: torch.Tensor) -> None:
    """Some entries were kept, and not all, and the largest in each row is the largest that the weights have there."""
    kept = expect_kept(result, weights)
    largest = (weights * kept).amax(-1, keepdim=True)
    found = weights.gather(-1, expect_tensor(result).argmax(-1, keepdim=True))
    some = kept.any(-1)
    expect_true(torch.allclose(found[some].double(), largest[some]), "What was kept are not the weights.")


def expect_count(marks: torch.Tensor, probability: float, reason: str) -> None:
    """About that share of the marks are one; see the head of this file."""
    count = marks.numel()
    expect_true(abs(marks.sum().item() - probability * count) <= 3 * math.sqrt(count), reason)


def alike(first: torch.Tensor, second: torch.Tensor) -> torch.Tensor:
    """Where both were kept or both dropped, as numbers one and zero."""
    return (first == second).double()


@pytest.mark.exercise("attention_dropout", rule="each weight is kept with probability 1 - p")
def test_a_share_of_one_minus_p_is_kept(student: Student, fresh: Fresh) -> None:
    """Over many weights, a share of about one minus p should be kept, for a small p and for a large one."""
    weights = softmax_weights(fresh, MANY)
    for p in (0.2, 0.7):
        kept = expect_kept(student.attention_dropout(weights, p), weights)
        expect_count(kept, 1 - p, "The share of weights that are kept is not near one minus p.")


@pytest.mark.exercise("attention_dropout", rule="whether it is kept depends on no other weight")
def test_each_weight_is_dropped_by_itself(student: Student, fresh: Fresh) -> None:
    """Whether a weight is dropped should say nothing about any other: its neighbours, its row or how many they are."""
    weights = softmax_weights(fresh, MANY)
    kept = expect_kept(student.attention_dropout(weights, 0.5), weights)
    # In pairs of rows, and of columns, that have none in common: two independent weights are alike in half of them.
    expect_count(alike(kept[0::2], kept[1::2]), 0.5, "Weights in one column are dropped together.")
    expect_count(alike(kept[:, 0::2], kept[:, 1::2]), 0.5, "Weights in one row are dropped together.")
    # Of 100 weights no number is kept with a chance of more than 0.08, so 100 rows hardly all keep the same one:
    # 0.08^99. And of 10,000 no number with more than 0.008, so six calls hardly do: 0.008^5 = 4e-11.
    expect_true(len(kept.sum(dim=1).unique()) > 1, "Every row keeps the same number of weights.")
    expect_true(len(kept.sum(dim=0).unique()) > 1, "Every column keeps the same number of weights.")
    sums = {expect_kept(student.attention_dropout(weights, 0.5), weights).sum().item() for _ in range(5)}
    expect_true(len(sums | {kept.sum().item()}) > 1, "Every call keeps the same number of weights.")


@pytest.mark.exercise("attention_dropout", rule="what is dropped becomes 0, and what is kept is divided by 1 - p")
def test_survivors_are_divided_by_one_minus_p(student: Student, fresh: Fresh) -> None:
    """Every weight should become zero or itself divided by one minus p."""
    weights = softmax_weights(fresh, SIDE)
    # All 36 are kept, or all dropped, with a chance of 2 (0.6^36 + 0.4^36) = 3e-8 in the two calls together.
    for p in (0.4, 0.6):
        result = student.attention_dropout(weights, p)
        kept = expect_kept(result, weights) > 0
        factors = (result.double() / weights.double())[kept]
        extremes = torch.stack([factors.min(), factors.max()])
        expect_close(extremes, torch.full((2,), 1 / (1 - p)), "What weights that are kept were multiplied by")


@pytest.mark.exercise("attention_dropout", rule="p = 0 changes nothing")
def test_no_dropout_changes_nothing(student: Student, fresh: Fresh) -> None:
    """Where p is zero all weights should come back as they were; where it is not, some are dropped."""
    weights = softmax_weights(fresh, SIDE)
    expect_kept(student.attention_dropout(weights, 0.5), weights)
    # Few, for who keeps where `torch.rand` is above p: it is exactly 0 once in 2^24 draws, so in one of nine 5e-7.
    weights = softmax_weights(fresh, H)
    expect_close(student.attention_dropout(weights, 0.0), weights, "The weights")


def expect_refusals(student: Student, fresh: Fresh, *probabilities: float) -> None:
    weights = softmax_weights(fresh, SIDE)
    # Whoever refuses everything, or drops nothing, has not looked at p.
    expect_kept(student.attention_dropout(weights, 0.5), weights)
    for p in probabilities:
        expect_error(functools.partial(student.attention_dropout, weights, p))


@pytest.mark.exercise("attention_dropout", rule="a negative p raises ValueError or AssertionError")
def test_a_negative_p_is_refused(student: Student, fresh: Fresh) -> None:
    """A p below zero is no probability, and should raise ValueError or AssertionError."""
    expect_refusals(student, fresh, -0.1, -2)


@pytest.mark.exercise("attention_dropout", rule="a p of 1 or more raises it too")
def test_a_p_of_one_or_more_is_refused(student: Student, fresh: Fresh) -> None:
    """Where p is one nothing is left to divide: this and every larger p should raise ValueError or AssertionError."""
    expect_refusals(student, fresh, 1.5, 1.0, 1)


@pytest.mark.exercise("attention_dropout", rule="weights of any shape, with a draw for every single entry")
def test_weights_of_any_shape(student: Student, fresh: Fresh) -> None:
    """Weights may have any number of dimensions, and what is alike in a batch should be drawn anew for each element."""
    vector = softmax(fresh(SIDE**2))
    expect_kept(student.attention_dropout(vector, 0.5), vector)
    for shape in ((B, SIDE, D_OUT), (B, H, SIDE, D_OUT)):
        weights = softmax(fresh(*shape))
        kept = expect_kept(student.attention_dropout(weights, 0.5), weights)
        for dim in range(len(shape) - 2):
            expect_true(
                not torch.equal(kept.select(dim, 0), kept.select(dim, 1)),
                "Two elements of a batch are dropped alike.",
            )


@pytest.mark.exercise("attention_dropout", rule="float32 and float64 weights both work")
def test_dropout_of_either_dtype(student: Student, fresh: Fresh) -> None:
    """Weights should be dropped, and others kept, whether they are float32 or float64."""
    for dtype in (torch.float32, torch.float64):
        weights = softmax_weights(fresh, SIDE, dtype)
        expect_weights_kept(student.attention_dropout(weights, 0.5), weights)


@pytest.mark.exercise("attention_dropout", rule="with a generator, every random draw comes from it and advances it")
def test_a_generator_is_drawn_from_and_advances(student: Student, fresh: Fresh) -> None:
    """With a generator, only its state should have moved on after the call, and another state drops other weights."""
    weights, results = softmax_weights(fresh, SIDE), []
    student.seed(3)
    untouched = global_draw(student)
    for seed in (1, 2):
        generator = student.generator(seed)
        before = generator.state()
        student.seed(3)
        results.append(expect_kept(student.attention_dropout(weights, 0.5, generator=generator), weights))
        expect_true(not torch.equal(generator.state(), before), "The generator's state is the same as before.")
        expect_true(torch.equal(global_draw(student), untouched), "Torch's global state has moved as well.")
    expect_true(not torch.equal(*results), "Another state of the generator drops the same weights.")


def global_draw(student: Student) -> torch.Tensor:
    """What torch's global generator gives next over there: the weights of a new layer."""
    return student.make("Linear", SIDE, SIDE).parameters()["weight"]


@pytest.mark.exercise("attention_dropout", rule="with the same generator state the result is the same")
def test_the_same_generator_state_drops_the_same_weights(student: Student, fresh: Fresh) -> None:
    """With the same state of the generator the same weights should be dropped, whatever torch's global state is."""
    weights, results = softmax_weights(fresh, SIDE), []
    for seed, state in ((1, 3), (2, 3), (2, 4)):
        student.seed(seed)
        result = student.attention_dropout(weights, 0.5, generator=student.generator(state))
        results.append(expect_kept(result, weights))
    expect_true(torch.equal(*results[:2]), "The same state of the generator drops other weights.")
    # Whoever always drops the same has not looked at the generator.
    expect_true(not torch.equal(*results[1:]), "Another state of the generator drops the same weights.")


@pytest.mark.exercise("attention_dropout", rule="without a generator, torch's global one is used, and it advances too")
def test_without_a_generator_the_global_one_is_used(student: Student, fresh: Fresh) -> None:
    """Without a generator, torch.manual_seed should decide what is dropped, and a second call drops other weights."""
    weights, results = softmax_weights(fresh, SIDE), []
    for seed in (1, 1, 2):
        student.seed(seed)
        results.append(expect_kept(student.attention_dropout(weights, 0.5), weights))
    expect_true(torch.equal(*results[:2]), "The same global state drops other weights.")
    expect_true(not torch.equal(*results[1:]), "Another global state drops the same weights.")
    second = expect_kept(student.attention_dropout(weights, 0.5), weights)
    expect_true(not torch.equal(results[-1], second), "A second call drops the same weights as the first.")


@pytest.mark.exercise("attention_dropout", rule="gradients flow to the weights that are kept")
def test_gradients_of_dropout(student: Student, fresh: Fresh) -> None:
    """Each weight that is kept should get the gradient of its product, and each that is dropped none."""
    weights = softmax_weights(fresh, SIDE)
    result, found = expect_values(student.attention_dropout.gradients(weights, 0.5), 2)
    expect_kept(result, weights)
    # A weight was multiplied by a number, zero or not, that its gradient is multiplied by as well.
    factors = result.detach().double() / weights.double()
    gradients = oracle_gradients(lambda given: given * factors, [weights], {})
    expect_true(found.get("0") is not None, "No gradient reaches the weights.")
    same = torch.allclose(expect_tensor(found["0"], weights.shape).double(), gradients["0"], rtol=1e-4, atol=1e-5)
    expect_true(same, "The gradients are not the expected ones, though the shape is right.")


@pytest.mark.exercise("attention_dropout", rule="the weights are left as they were")
def test_dropout_leaves_the_weights_alone(student: Student, fresh: Fresh) -> None:
    """Weights should be dropped in the result, and those that were handed in be the same after the call as before."""
    weights = softmax_weights(fresh, SIDE)
    result, after = expect_values(student.attention_dropout.with_arguments(weights, 0.5), 2)
    expect_weights_kept(result, weights)
    expect_same(after[0], weights, "The weights that were handed in were changed.")


# -- CausalAttention ---------------------------------------------------------------------------------------------


def layer_names(part: str) -> list[str]:
    return [f"{name}.{part}" for name in MATRICES]


def set_layers(attention: Object, matrices: dict[str, torch.Tensor]) -> None:
    """Gives the layers these matrices (d_in, d_out) as linear layers keep them, (d_out, d_in)."""
    # A bias that should not be there costs its own criterion; set to zero, it costs no other.
    biases = {
        name: torch.zeros_like(value) for name, value in attention.parameters().items() if name in layer_names("bias")
    }
    attention.set({**{f"{name}.weight": matrix.mT for name, matrix in matrices.items()}, **biases})


def evaluated(student: Student, matrices: dict[str, torch.Tensor], context_length: int, dropout: float = 0.0) -> Object:
    """A CausalAttention with these matrices, in eval mode: a test that is not about dropout is not about training."""
    attention = student.CausalAttention(*matrices["W_query"].shape, context_length, dropout)
    set_layers(attention, matrices)
    attention.eval()
    return attention


def fresh_matrices(fresh: Fresh) -> dict[str, torch.Tensor]:
    """W_query, W_key and W_value, each (d_in, d_out). Small, or softmax would be all but a maximum."""
    return {name: fresh(D_IN, D_OUT) / D_IN**0.5 for name in MATRICES}


@pytest.mark.exercise("CausalAttention", rule="W_query, W_key and W_value are nn.Linear from d_in to d_out")
def test_three_layers_from_d_in_to_d_out(student: Student) -> None:
    """W_query, W_key and W_value should each be an nn.Linear from d_in to d_out."""
    parameters = student.CausalAttention(D_IN, D_OUT, T, 0.0).parameters()
    for name in MATRICES:
        expect_true(name not in parameters, f"{name} is an nn.Parameter, not a layer.")
        expect_true(f"{name}.weight" in parameters, f"There is no layer {name}.")
        expect_tensor(parameters[f"{name}.weight"], (D_OUT, D_IN))


@pytest.mark.exercise(
    "CausalAttention", rule="the layers have no bias unless qkv_bias=True; then all three have one, and it counts"
)
def test_no_layer_has_a_bias_by_default(student: Student) -> None:
    """W_query, W_key and W_value should have no bias where the caller does not ask for one."""
    parameters = student.CausalAttention(D_IN, D_OUT, T, 0.0).parameters()
    for name in MATRICES:
        expect_true(f"{name}.weight" in parameters, f"There is no layer {name}.")
        expect_true(f"{name}.bias" not in parameters, f"{name} has a bias.")


@pytest.mark.exercise(
    "CausalAttention", rule="the layers have no bias unless qkv_bias=True; then all three have one, and it counts"
)
def test_every_layer_has_a_bias_on_demand(student: Student) -> None:
    """With qkv_bias=True, W_query, W_key and W_value should each have a bias of d_out numbers."""
    parameters = student.CausalAttention(D_IN, D_OUT, T, 0.0, qkv_bias=True).parameters()
    for name in layer_names("bias"):
        expect_true(name in parameters, f"There is no parameter {name}.")
        expect_tensor(parameters[name], (D_OUT,))


@pytest.mark.exercise(
    "CausalAttention", rule="the layers have no bias unless qkv_bias=True; then all three have one, and it counts"
)
def test_the_biases_count(student: Student, fresh: Fresh) -> None:
    """With qkv_bias=True, the biases should be part of what is attended: x @ W.T + b."""
    attention, inputs = student.CausalAttention(D_IN, D_OUT, T, 0.0, qkv_bias=True), fresh(B, T, D_IN)
    matrices, biases = fresh_matrices(fresh), {name: fresh(D_OUT) for name in layer_names("bias")}
    set_layers(attention, matrices)
    attention.set(biases)
    attention.eval()
    # A column of ones with the bias as its weights is the same as adding the bias.
    widened = [torch.cat([matrix, b[None]]) for matrix, b in zip(matrices.values(), biases.values(), strict=True)]
    output = attention(inputs)
    with_ones = torch.cat([inputs, torch.ones(B, T, 1)], -1)
    expect_close(output, causal_attention(student, with_ones, *widened), "The outputs")


# -- what the weights are: with values of one feature for each token, the outputs show them


@dataclass
class Shown:
    """A batch of texts whose outputs show the weights; matrices (d_in, d_out), twice as wide as a text is long."""

    matrices: dict[str, torch.Tensor]
    width: int

    def inputs(self, texts: torch.Tensor) -> torch.Tensor:
        """(B, T) numbers of words to (B, T, d_in): a feature for each word, zero or one."""
        return torch.nn.functional.one_hot(texts, self.width).float()

    def expected(self, student: Student, texts: torch.Tensor) -> torch.Tensor:
        """The weights (B, T, T)."""
        scores = causal_scores(self.inputs(texts), self.matrices["W_query"], self.matrices["W_key"])
        return Parts(student).attention_weights(scores, self.matrices["W_query"].shape[-1])


def shown(fresh: Fresh, texts: torch.Tensor, words: int) -> Shown:
    """The value of a word has two features that are one, by the place where it stands in `texts` (…, B, T)."""
    num_tokens = texts.shape[-1]
    # One more than that, so that no two sizes are alike.
    d_out = 2 * num_tokens + 1
    W_value = torch.zeros(words, d_out)
    for place in range(num_tokens):
        W_value[texts[..., place].flatten(), place] = 1
        W_value[texts[..., place].flatten(), num_tokens + place] = 1
    # The fourth root makes dot products of a variance of one, so that all weights can be seen, scaled or not.
    W_query, W_key = (fresh(words, d_out) / d_out**0.25 for _ in range(2))
    return Shown({"W_query": W_query, "W_key": W_key, "W_value": W_value}, words)


@pytest.mark.exercise(
    "CausalAttention",
    rule="scores are the dot products of the queries with the keys, divided by the square root of d_out",
)
def test_scores_are_divided_by_the_square_root_of_d_out(student: Student, fresh: Fresh) -> None:
    """Behind a token's weights for itself and the past should be dot products divided by the square root of d_out."""
    texts = torch.arange(B * T).view(B, T)
    batch = shown(fresh, texts, B * T + 2)
    outputs = evaluated(student, batch.matrices, T)(batch.inputs(texts))
    weights = expect_tensor(outputs, (B, T, 2 * T + 1))[..., :T]
    expected = batch.expected(student, texts)
    expect_true(bool((weights[expected > 0] > 0).all()), "A weight is not positive where a token may look.")
    expect_close(log_ratios(weights, expected), log_ratios(expected, expected), "The scores behind the weights")


@pytest.mark.exercise("CausalAttention", rule="no output depends on a later token")
def test_no_output_depends_on_a_later_token(student: Student, fresh: Fresh) -> None:
    """Each output should be the same whatever tokens come later, and led by the best score among those that it sees."""
    texts = torch.arange(B * T).view(B, T)
    others = texts + B * T
    batch = shown(fresh, torch.stack([texts, others]), 2 * B * T)
    attention = evaluated(student, batch.matrices, T)
    weights = expect_tensor(attention(batch.inputs(texts)), (B, T, 2 * T + 1))[..., :T]
    expected = batch.expected(student, texts)
    for count in range(1, T):
        changed = torch.cat([texts[:, :count], others[:, count:]], dim=1)
        change = expect_tensor(attention(batch.inputs(changed)), (B, T, 2 * T + 1))[..., :T] - weights
        # None, but for what a stand-in makes of the future.
        expected_change = batch.expected(student, changed) - expected
        expect_close(change[:, :count], expected_change[:, :count], "The changes in the outputs of earlier tokens")
    expect_true(led_by_the_best(weights, expected), "A token's largest weight is not where its largest score is.")


@pytest.mark.exercise(
    "CausalAttention",
    rule="the output is, for each token, the sum of the values of itself and all before it, weighted by the softmax of "
    "their scores",
)
def test_output_of_causal_attention(student: Student, fresh: Fresh) -> None:
    """The output should be the contexts alone, (B, T, d_out): causal attention of the three layers' outputs."""
    inputs, matrices = fresh(B, T, D_IN), fresh_matrices(fresh)
    # Shorter than context_length: whoever keeps a mask for that has to cut out the right part of it.
    output = evaluated(student, matrices, LONGER)(inputs)
    expect_close(output, causal_attention(student, inputs, **matrices), "The outputs")


@pytest.mark.exercise("CausalAttention", rule="each text of the batch on its own")
def test_each_text_of_the_batch_on_its_own(student: Student, fresh: Fresh) -> None:
    """In a batch of several texts each should be attended on its own."""
    inputs, matrices = tokens_beyond_doubt(fresh, B, T)
    output = evaluated(student, matrices, T)(inputs)
    expect_close(output, causal_attention(student, inputs, **matrices), "The outputs")


@pytest.mark.exercise("CausalAttention", rule="any number of tokens up to context_length, one included")
def test_any_number_of_tokens_up_to_context_length(student: Student, fresh: Fresh) -> None:
    """A module should take texts as long as context_length and shorter ones, down to a single token."""
    for count in (D_OUT, 3, 1):
        inputs, matrices = tokens_beyond_doubt(fresh, 1, count)
        output = evaluated(student, matrices, D_OUT)(inputs)
        expect_close(output, causal_attention(student, inputs, **matrices), "The outputs")


@pytest.mark.exercise("CausalAttention", rule="the inputs may be a view with any memory layout")
def test_inputs_with_another_memory_layout(student: Student, fresh: Fresh) -> None:
    """The output should not depend on how the inputs lie in memory: they may be a transposed view."""
    inputs, matrices = tokens_beyond_doubt(fresh, B, T)
    view = inputs.transpose(0, 1).contiguous().transpose(0, 1)  # (T, B, d_in) -> (B, T, d_in)
    output = evaluated(student, matrices, T)(view)
    expect_close(output, causal_attention(student, inputs, **matrices), "The outputs")


# -- dropout, seen by what it does to weights that the outputs show

# Long texts: 136 pairs of tokens that see each other, in each of two texts.
LONG = 16
CALLS = 6


def dropped_in_training(student: Student, fresh: Fresh, dropout: float) -> tuple[torch.Tensor, torch.Tensor]:
    """The weights (B, T, T) of such texts in eval mode, and the outputs (calls, B, T, d_out) of calls in training."""
    texts = torch.arange(B * LONG).view(B, LONG)
    batch = shown(fresh, texts, B * LONG + 2)
    inputs = batch.inputs(texts)
    # From a module without any dropout, so that a dropout that does not stop in eval mode costs its own criterion.
    shape = (B, LONG, 2 * LONG + 1)
    weights = expect_tensor(evaluated(student, batch.matrices, LONG)(inputs), shape)[..., :LONG]
    expect_true(
        led_by_the_best(weights, batch.expected(student, texts)),
        "A token's largest weight is not where its largest score is.",
    )
    attention = evaluated(student, batch.matrices, LONG, dropout)
    attention.train()
    outputs = torch.stack([expect_tensor(attention(inputs), shape) for _ in range(CALLS)])
    expect_true(bool(outputs.isfinite().all()), "The outputs in training are not all finite numbers.")
    changes = not torch.equal(outputs[0], outputs[1])
    expect_true(
        bool((outputs[..., :LONG][:, weights > 0] == 0).any()),
        "In training no weight ever becomes zero" + (", though the outputs change." if changes else "."),
    )
    return weights, outputs


@pytest.mark.exercise(
    "CausalAttention", rule="in training each weight is dropped by itself, with probability `dropout`"
)
def test_each_weight_is_dropped_by_itself_in_training(student: Student, fresh: Fresh) -> None:
    """In training a share of about `dropout` of the weights should become zero, each by itself, in each call anew."""
    p = 0.3
    weights, outputs = dropped_in_training(student, fresh, p)
    kept = (outputs[..., :LONG] != 0).double()  # (calls, B, T, T)
    seen = Parts(student).mask(LONG).logical_not() & (weights > 0).all(dim=0)  # (T, T)
    expect_count(kept[..., seen], 1 - p, "The share of weights that are dropped is not near `dropout`.")
    # Two independent weights are both kept or both dropped in this share of cases. The pairs have none in common.
    both = p**2 + (1 - p) ** 2
    expect_count(alike(kept[0::2], kept[1::2])[..., seen], both, "Several calls drop the same weights.")
    expect_count(alike(kept[:, 0], kept[:, 1])[..., seen], both, "All texts of a batch drop the same weights.")
    # Where both a row and the next see a token: where the first of them does, without the row's own place.
    above, below = seen[0::2] & seen[1::2], seen[:, 0::2] & seen[:, 1::2]
    expect_count(alike(kept[..., 0::2, :], kept[..., 1::2, :])[..., above], both, "Whole tokens are dropped for all.")
    expect_count(alike(kept[..., 0::2], kept[..., 1::2])[..., below], both, "Whole rows of weights are dropped.")


@pytest.mark.exercise(
    "CausalAttention",
    rule="dropping comes after softmax: a weight becomes 0 for all features of its value, or is divided by 1 - dropout",
)
def test_dropout_acts_on_the_weights_after_softmax(student: Student, fresh: Fresh) -> None:
    """In training each weight after softmax should become zero, for its whole value, or be divided by one - dropout."""
    p = 0.2
    weights, outputs = dropped_in_training(student, fresh, p)
    first, second = outputs[..., :LONG].double(), outputs[..., LONG : 2 * LONG].double()
    expect_true(torch.allclose(first, second), "A weight is not the same for all features of a value.")
    kept = first != 0
    expect_true(bool(kept.any()), "In training every weight becomes zero.")
    factors = (first / weights.double())[kept]
    extremes = torch.stack([factors.min(), factors.max()])
    expect_close(extremes, torch.full((2,), 1 / (1 - p)), "What weights that are kept were multiplied by")


@pytest.mark.exercise("CausalAttention", rule="in eval mode nothing is dropped")
def test_nothing_is_dropped_in_eval_mode(student: Student, fresh: Fresh) -> None:
    """In eval mode the output should be exact, whatever dropout the module was made with."""
    inputs, matrices = tokens_beyond_doubt(fresh, 1, T)
    output = evaluated(student, matrices, T, dropout=0.5)(inputs)
    expect_close(output, causal_attention(student, inputs, **matrices), "The outputs")


@pytest.mark.exercise("CausalAttention", rule="with dropout=0.0 nothing is dropped in training either")
def test_nothing_is_dropped_without_dropout(student: Student, fresh: Fresh) -> None:
    """With a dropout of zero the output should be exact in training too."""
    inputs, matrices = tokens_beyond_doubt(fresh, 1, T)
    attention = evaluated(student, matrices, T, dropout=0.0)
    attention.train()
    output = attention(inputs)
    expect_close(output, causal_attention(student, inputs, **matrices), "The outputs")


# -- gradients, dtypes, arguments


@pytest.mark.exercise(
    "CausalAttention",
    rule="gradients reach the inputs and the weights of the three layers, and the mask is no parameter",
)
def test_gradients_of_causal_attention(student: Student, fresh: Fresh) -> None:
    """Gradients of the output should reach the inputs and all three layers, and the mask should be no parameter."""
    inputs, matrices = fresh(B, T, D_IN), fresh_matrices(fresh)
    attention = evaluated(student, matrices, T)
    for name, value in attention.parameters().items():
        expect_true(value.shape[-2:] != (T, T), f"{name} is a parameter of the shape of the mask.")
    # Ours, and not what the module says that it took of them.
    weights = {f"{name}.weight": matrix.mT for name, matrix in matrices.items()}
    _, found = expect_values(attention.gradients(inputs), 2)
    expect_gradients(found, oracle_gradients(layered(student), [inputs], weights))


def layered(student: Student) -> Callable[..., torch.Tensor]:
    """Causal attention with the weights as linear layers keep them, (d_out, d_in)."""

    def function(inputs: torch.Tensor, **weights: torch.Tensor) -> torch.Tensor:
        return causal_attention(student, inputs, *(weights[f"{name}_weight"].mT for name in MATRICES))

    return function


@pytest.mark.exercise("CausalAttention", rule="works in float64 after .double()")
def test_causal_attention_in_float64(student: Student, fresh: Fresh) -> None:
    """After .double() the module should take float64 inputs and give the right output."""
    inputs, matrices = tokens_beyond_doubt(fresh, 1, T, torch.float64)
    attention = student.CausalAttention(D_WIDE, D_OUT, T, 0.0)
    attention.to(torch.float64)
    set_layers(attention, matrices)
    attention.eval()
    output = attention(inputs)
    expect_close(output, causal_attention(student, inputs, **matrices), "The outputs")


@pytest.mark.exercise("CausalAttention", rule="the inputs are left as they were")
def test_causal_attention_leaves_the_inputs_alone(student: Student, fresh: Fresh) -> None:
    """The output should come out right, with the inputs the same after the call as before."""
    inputs, matrices = tokens_beyond_doubt(fresh, 1, T)
    output, [after] = expect_values(evaluated(student, matrices, T).with_arguments(inputs), 2)
    expect_close(output, causal_attention(student, inputs, **matrices), "The outputs")
    expect_same(after, inputs, "The inputs were changed.")
