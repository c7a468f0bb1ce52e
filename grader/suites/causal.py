"""Causal attention in units 3, 4 and 6: expected values, decisive inputs, and checks of the mask and of dropout.

Expected values are computed in float64, by other means than in the course's solutions.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from dataclasses import dataclass

import torch

from grader.testing.checks import ABSOLUTE, RELATIVE, expect_close, expect_tensor, expect_true
from grader.testing.draws import Fresh, expect_count, expect_own_draws
from grader.testing.student import RemoteObject, Student
from grader.testing.suite import OUTPUTS, Asking, Given

# Hides the frames of these checks in pytest's tracebacks, which then end at the line of the test.
__tracebackhide__ = True

# A rule of several exercises.
LOW_SCORES = "a later token has no weight, even if all visible scores are as low as -10,000 after scaling"
# W_query, W_key and W_value, each (d_in, d_out).
Matrices = dict[str, torch.Tensor]


# -- expected values ---------------------------------------------------------------------------------------------


def future(num_tokens: int) -> torch.Tensor:
    """Return a mask (T, T) that is True where the column's index is greater than the row's."""
    places = torch.arange(num_tokens)
    return places[None, :] > places[:, None]


def softmax(x: torch.Tensor, dim: int = -1) -> torch.Tensor:
    return (x - x.logsumexp(dim, keepdim=True)).exp()


def divided_by_sum(row: torch.Tensor) -> torch.Tensor:
    return row / row.sum()


@dataclass
class Parts:
    """The steps of an expected value: the right functions, or the substitutes that the student's code was given."""

    student: Student

    def mask(self, num_tokens: int) -> torch.Tensor:
        return self.student.substitute("causal_mask", future)(num_tokens)

    def softmax(self, scores: torch.Tensor) -> torch.Tensor:
        return self.student.substitute("softmax_naive", self.student.substitute("softmax_stable", softmax))(scores, -1)

    def renormalized(self, weights: torch.Tensor) -> torch.Tensor:
        """(…, T, T) to the same shape: the future is zero, and each row is divided by the sum of its other weights."""
        visible = torch.where(self.mask(weights.shape[-1]), 0.0, weights.double())
        normalize = self.student.substitute("normalize_by_sum", divided_by_sum)
        rows = [normalize(row) for row in visible.flatten(0, -2)]  # (…, T, T) -> (… · T, T)
        return torch.stack(rows).view_as(visible)

    def weights(self, scores: torch.Tensor, d_k: int) -> torch.Tensor:
        """(…, T, T) to the same shape, with the future hidden before the softmax."""
        masked = torch.where(self.mask(scores.shape[-1]), -torch.inf, scores.double())
        return self.softmax(masked / math.sqrt(d_k))

    def attention_weights(self, scores: torch.Tensor, d_k: int) -> torch.Tensor:
        """(…, T, T) to the same shape; masked after the softmax if the substitutes show that the student does so."""
        weights = self.student.substitute("mask_then_softmax", self.weights)(scores.double(), d_k)
        renormalized = self.student.substitute("mask_then_renormalize", self.renormalized)
        masks_after_softmax = (
            renormalized != self.renormalized or self.student.substitute("normalize_by_sum", None) is not None
        )
        return renormalized(self.softmax(scores.double() / math.sqrt(d_k))) if masks_after_softmax else weights


def causal_scores(inputs: torch.Tensor, W_query: torch.Tensor, W_key: torch.Tensor) -> torch.Tensor:
    """(B, T, d_in) and two (d_in, d_out) to (B, T, T), not scaled."""
    queries, keys = (torch.einsum("bti,io->bto", inputs.double(), matrix.double()) for matrix in (W_query, W_key))
    return torch.einsum("bqo,bko->bqk", queries, keys)


# -- decisive inputs ---------------------------------------------------------------------------------------------
# One token fits each token so well, itself or the one before, that it gets all the weight, whatever the scores are
# divided by and whether the future is hidden or not. The largest number by which learners are known to divide is twice
# the width, at most 14. Then the fitting token is still ahead by 240 / 14 = 17. exp(80) is finite in float32, so an
# answer may omit the subtraction of the maximum.

FITTING, OTHER = 80.0, -160.0
# Hidden tokens should have no weight, even if the visible scores are LOW after scaling. In `lowered` scores the fitting
# token has this score and all other visible tokens have lower ones, so that float32 rounding has no effect. The future
# is higher by AHEAD: if an answer does not hide it, the visible tokens keep a weight that float32 can represent.
LOW, AHEAD = -10_000.0, 10.0
# The widths of decisive inputs: D_WIDE is at least the number of tokens of a batch, D_OUT that of a text.
D_WIDE, D_OUT = 11, 7


def steps_back(fresh: Fresh, num_tokens: int) -> torch.Tensor:
    """Draw for each token how many steps back its fitting token is, (T,): 0 for itself, 1 for the one before.

    The second and third token always differ. So some token fits two tokens and another fits none, and softmax over the
    queries, or with queries and keys swapped, gives other weights.
    """
    steps = (fresh(num_tokens) > 0).long()
    steps[2:3] = 1 - steps[1:2][: max(num_tokens - 2, 0)]
    return steps


def fitting_tokens(steps: torch.Tensor, which: int = 0) -> torch.Tensor:
    """Return the index of the token that fits each token, (T,), for these steps back; an odd `which` swaps 0 and 1."""
    places = torch.arange(len(steps))
    return (places - (steps + which) % 2).clamp(min=0)


def lowered(scores: torch.Tensor, width: int) -> torch.Tensor:
    """Return lower scores (…, T, T): the fitting ones become LOW after division by the square root of the width."""
    low = scores - FITTING + LOW * math.sqrt(width)
    return torch.where(future(scores.shape[-1]), (LOW + AHEAD) * math.sqrt(width), low)


def queries_and_keys(fresh: Fresh, fitting: torch.Tensor, is_low: bool = False) -> torch.Tensor:
    """Return queries and keys (2, T, d_out) in float64 whose dot products are FITTING and OTHER; T is at most d_out.

    Args:
        fresh: Draws the directions.
        fitting: The index of the token that fits each token, (T,).
        is_low: Whether the dot products are lowered.
    """
    num_tokens = len(fitting)
    scores = torch.full((num_tokens, num_tokens), OTHER, dtype=torch.float64)
    scores[range(num_tokens), fitting] = FITTING
    scores = lowered(scores, D_OUT) if is_low else scores
    # Three factors, (T, T), (T,) and (T, T). Queries and keys each get the root of the middle one, and both use the
    # same T orthonormal directions of d_out dimensions.
    left, sizes, right = torch.linalg.svd(scores)
    return torch.stack([left * sizes.sqrt(), right.mT * sizes.sqrt()]) @ fresh.rotation(D_OUT)[:num_tokens]


def decisive_tokens(
    fresh: Fresh, batch: int, num_tokens: int, dtype: torch.dtype = torch.float32, is_low: bool = False
) -> tuple[torch.Tensor, Matrices]:
    """Return inputs (B, T, D_WIDE) and matrices (D_WIDE, d_out) that project them to decisive queries and keys."""
    # The tokens are orthonormal, so a matrix can map each token of the batch to any vector.
    tokens = fresh.rotation(D_WIDE)[: batch * num_tokens]
    # (B, 2, T, d_out) -> (2, B · T, d_out)
    steps = steps_back(fresh, num_tokens)
    pairs = [queries_and_keys(fresh, fitting_tokens(steps, one), is_low) for one in range(batch)]
    queries, keys = torch.stack(pairs, 1).flatten(1, 2)
    matrices = {"W_query": tokens.mT @ queries, "W_key": tokens.mT @ keys, "W_value": fresh(D_WIDE, D_OUT)}
    inputs = tokens.unflatten(0, (batch, num_tokens))  # (B · T, d_in) -> (B, T, d_in)
    return inputs.to(dtype), {name: matrix.to(dtype) for name, matrix in matrices.items()}


# -- calls of a module -------------------------------------------------------------------------------------------

# Makes a module in eval mode, with these matrices, this context length and this dropout.
MakeModule = Callable[[Student, Matrices, int, float], RemoteObject]
# Computes its outputs, from the inputs and the matrices by name.
Attend = Callable[..., torch.Tensor]


def fresh_matrices(fresh: Fresh, d_in: int, d_out: int) -> Matrices:
    """Return W_query, W_key and W_value, each (d_in, d_out), so small that softmax is not nearly one-hot."""
    return {name: fresh(d_in, d_out) / d_in**0.5 for name in ("W_query", "W_key", "W_value")}


def call_of(module: RemoteObject, inputs: torch.Tensor, matrices: Matrices, right: Attend) -> Given:
    return Given(module, [inputs], lambda output: OUTPUTS(output, right(inputs, **matrices)), right, matrices)


def decisive_calls(make: MakeModule, attend: Attend, num_tokens: int) -> Asking:
    """Return a function that draws a call of a module with decisive tokens. attend: takes the student first."""

    def ask(
        student: Student,
        fresh: Fresh,
        texts: int = 1,
        count: int = num_tokens,
        length: int = num_tokens,
        copies: int = 1,
        is_view: bool = False,
        dropout: float = 0.0,
        is_training: bool = False,
        dtype: torch.dtype = torch.float32,
    ) -> Given:
        inputs, matrices = decisive_tokens(fresh, texts, min(count, D_OUT), dtype)
        # A text of more tokens has them twice: equal tokens share the weight, and their values are equal too.
        inputs = inputs.repeat(copies, 2, 1)[:, :count].contiguous()
        if is_view:
            inputs = inputs.transpose(0, 1).contiguous().transpose(0, 1)
        module = make(student, matrices, length, dropout)
        if is_training:
            module.train()
        return call_of(module, inputs, matrices, functools.partial(attend, student))

    return ask


# More tokens than any width, and fewer than the module allows.
ANY_LENGTH = [{"count": count, "length": 2 * D_OUT} for count in (2 * D_OUT, 3, 1)]


def mixing_calls(make: MakeModule, attend: Attend, num_tokens: int, d_in: int, d_out: int = D_OUT) -> Asking:
    """Return a function that draws a call of a module with small scores. attend: as above."""

    def ask(
        student: Student, fresh: Fresh, texts: int = 2, length: int = num_tokens, d_in: int = d_in, d_out: int = d_out
    ) -> Given:
        matrices, inputs = fresh_matrices(fresh, d_in, d_out), fresh(texts, num_tokens, d_in)
        return call_of(make(student, matrices, length, 0.0), inputs, matrices, functools.partial(attend, student))

    return ask


# -- inputs that show the weights --------------------------------------------------------------------------------
# Each token's value is one in a feature of its own and zero elsewhere, so the outputs are the weights.


@dataclass
class WeightsAsOutputs:
    """Matrices (d_in, d_out) whose outputs are the weights, twice; d_out is twice the number of tokens, plus one."""

    matrices: Matrices
    width: int

    def inputs(self, texts: torch.Tensor) -> torch.Tensor:
        """(B, T) indices of words to (B, T, d_in), one-hot."""
        return torch.nn.functional.one_hot(texts, self.width).float()

    def expected(self, student: Student, texts: torch.Tensor) -> torch.Tensor:
        """Return the expected weights (B, T, T)."""
        scores = causal_scores(self.inputs(texts), self.matrices["W_query"], self.matrices["W_key"])
        return Parts(student).attention_weights(scores, self.matrices["W_query"].shape[-1])


def weights_as_outputs(fresh: Fresh, texts: torch.Tensor, words: int) -> WeightsAsOutputs:
    """Return matrices for `texts` (…, B, T): a word's value has two features that are one, given by its position."""
    num_tokens = texts.shape[-1]
    # Plus one, so that no two sizes are equal.
    d_out = 2 * num_tokens + 1
    W_value = torch.zeros(words, d_out)
    for place in range(num_tokens):
        W_value[texts[..., place].flatten(), place] = 1
        W_value[texts[..., place].flatten(), num_tokens + place] = 1
    # The fourth root gives the dot products a variance of one, so that no weight is negligible, scaled or not.
    W_query, W_key = (fresh(words, d_out) / d_out**0.25 for _ in range(2))
    return WeightsAsOutputs({"W_query": W_query, "W_key": W_key, "W_value": W_value}, words)


def has_expected_argmax(found: torch.Tensor, expected: torch.Tensor) -> bool:
    """Return whether in each row, among the visible tokens, the largest weight is at the expected position."""
    visible = torch.where(expected > 0, found.double(), -1.0)
    return torch.equal(visible.argmax(-1), expected.argmax(-1))


# -- the mask and very low scores --------------------------------------------------------------------------------


def expect_hidden(value: object, expected: torch.Tensor) -> None:
    """Expect the right result for lowered scores, in which no hidden token has weight.

    A softmax that does not subtract the maximum gives NaN for such scores. That passes: unit 1 tests it.
    """
    found = expect_tensor(value, expected.shape).double()
    is_right = bool(found.isnan().all()) or torch.allclose(found, expected.double(), RELATIVE, ABSOLUTE)
    expect_true(is_right, "If all visible scores are very low, the result is not that of the best of them.")


# -- dropout, measured with weights as outputs -------------------------------------------------------------------

# The length of a text: 16 tokens have 136 weights that are not hidden.
LONG = 16
# Makes a module in eval mode, with these matrices, this context length and this dropout.
ModuleMaker = Callable[[Matrices, int, float], RemoteObject]


def dropped_in_training(
    student: Student, fresh: Fresh, make: ModuleMaker, dropout: float, *, texts: int, calls: int
) -> tuple[torch.Tensor, torch.Tensor]:
    """Return the weights (B, T, T) in eval mode, and the outputs (calls, B, T, d_out) of several calls in training."""
    words = torch.arange(texts * LONG).view(texts, LONG)
    batch = weights_as_outputs(fresh, words, words.numel() + 2)
    inputs, shape = batch.inputs(words), (texts, LONG, 2 * LONG + 1)
    # From a module without dropout: a dropout that is active in eval mode too costs only its own criterion.
    weights = expect_tensor(make(batch.matrices, LONG, 0.0)(inputs), shape)[..., :LONG]
    is_largest_right = has_expected_argmax(weights, batch.expected(student, words))
    expect_true(is_largest_right, "A token's largest weight is not where its largest score is.")
    attention = make(batch.matrices, LONG, dropout)
    attention.train()
    outputs = torch.stack([expect_tensor(attention(inputs), shape) for _ in range(calls)])
    # The positions of outputs that are not finite show the cause. Dropout of scores that are minus infinity can give
    # NaN for all tokens except the last. If rows are divided by the sum of the kept weights, tokens in the middle are
    # hardly ever NaN.
    finite = outputs.isfinite().all(-1)  # (calls, B, T, d_out) -> (calls, B, T)
    expect_true(bool(finite[..., -1].all()), "Even the last token's outputs in training are not finite numbers.")
    expect_true(bool(finite[..., LONG // 2].all()), "Most tokens' outputs in training are not finite numbers.")
    expect_true(bool(finite.all()), "The outputs in training are not all finite numbers.")
    changes = not torch.equal(outputs[0], outputs[1])
    expect_true(
        bool((outputs[..., :LONG][:, weights > 0] == 0).any()),
        "In training no weight ever becomes zero" + (", though the outputs change." if changes else "."),
    )
    return weights, outputs


def expect_each_weight_dropped_by_itself(outputs: torch.Tensor, seen: torch.Tensor, dropout: float) -> None:
    """Expect about a share `dropout` of the weights to be dropped, each independently of the others.

    Args:
        outputs: The outputs of dropped_in_training, of an even number of calls and texts.
        seen: Which weights are not hidden, (T, T).
        dropout: The probability of dropping a weight.
    """
    kept = outputs[..., :LONG] != 0  # (calls, B, T, T)
    # Pairs of neighbouring rows that both see the same token, and pairs of neighbouring tokens seen by the same row.
    above, below = seen[0::2] & seen[1::2], seen[:, 0::2] & seen[:, 1::2]
    same_token, same_row = kept[..., 0::2, :] == kept[..., 1::2, :], kept[..., 0::2] == kept[..., 1::2]
    # No weight is in two pairs.
    pairs = {
        "Several calls drop the same weights.": (kept[0::2] == kept[1::2])[..., seen],
        "All texts of a batch drop the same weights.": (kept[:, 0::2] == kept[:, 1::2])[..., seen],
        "Whole tokens are dropped, for all queries at once.": same_token[..., above],
        "Whole rows of weights are dropped.": same_row[..., below],
    }
    expect_own_draws(kept[..., seen], pairs)
    expect_count(kept[..., seen], 1 - dropout, "The share of weights that are dropped is not near `dropout`.")
    # The probability that two independent weights are both kept or both dropped.
    same = dropout**2 + (1 - dropout) ** 2
    for reason, alike in pairs.items():
        expect_count(alike, same, reason)


def expect_dropping_after_softmax(weights: torch.Tensor, outputs: torch.Tensor, dropout: float) -> None:
    """Expect each weight to be zero for all features of its value, or divided by 1 - dropout."""
    first, second = outputs[..., :LONG].double(), outputs[..., LONG : 2 * LONG].double()
    kept = first != 0
    expect_true(bool(kept.any()), "In training every weight becomes zero.")
    factors = first / weights.double()
    # Dropout may act only on the features of the values, or on queries and keys too.
    also = "" if _is_near(*_extremes(factors, kept)) else ", and the kept weights were multiplied by different numbers"
    expect_true(torch.allclose(first, second), f"A weight is not the same for all features of a value{also}.")
    expect_survivors(factors, kept, dropout)


def expect_survivors(factors: torch.Tensor, kept: torch.Tensor, dropout: float) -> None:
    """Expect kept weights to be multiplied by 1 / (1 - dropout); factors, kept: (calls, …).

    The first two checks require the same factor everywhere, so that no number that depends on the draws is recorded.
    """
    lowest, highest = _extremes(factors, kept)
    expect_true(_is_near(lowest, highest), "Weights that are kept were multiplied by different numbers.")
    expect_true(_is_near(lowest, lowest[:1]), "Weights that are kept were multiplied by other numbers in other calls.")
    expect_close(lowest[0], torch.tensor(1 / (1 - dropout)), "The factors of the kept weights")


def _extremes(factors: torch.Tensor, kept: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """Return the lowest and the highest factor of the kept weights, for each call that keeps any."""
    by_call = [call[is_kept] for call, is_kept in zip(factors, kept, strict=True) if is_kept.any()]
    return torch.stack([call.min() for call in by_call]), torch.stack([call.max() for call in by_call])


def _is_near(numbers: torch.Tensor, others: torch.Tensor) -> bool:
    return torch.allclose(numbers, others.expand_as(numbers), rtol=RELATIVE)
