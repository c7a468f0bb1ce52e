"""Causal attention, as units 3, 4 and 6 each ask for it: what is right, inputs that tell, and what dropout leaves.

Expected values are computed in float64, and by other means than the course's own solutions.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import torch

from grader.testing.checks import ABSOLUTE, RELATIVE, expect_close, expect_tensor, expect_true
from grader.testing.draws import expect_count, expect_own_draws
from grader.testing.inputs import Fresh
from grader.testing.student import RemoteObject, Student

# In pytest's tracebacks the line of the test matters, not the way from there.
__tracebackhide__ = True

# W_query, W_key and W_value, each (d_in, d_out).
Matrices = dict[str, torch.Tensor]


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
    """What an expected value is made of: the right functions, or the substitutes that the student's code was given."""

    student: Student

    def mask(self, num_tokens: int) -> torch.Tensor:
        return self.student.substitute("causal_mask", future)(num_tokens)

    def softmax(self, scores: torch.Tensor) -> torch.Tensor:
        return self.student.substitute("softmax_naive", self.student.substitute("softmax_stable", softmax))(scores, -1)

    def renormalized(self, weights: torch.Tensor) -> torch.Tensor:
        """(…, T, T) to the same, with the future zero and each row divided by what is left of it."""
        seen = torch.where(self.mask(weights.shape[-1]), 0.0, weights.double())
        divided = self.student.substitute("normalize_by_sum", over_its_sum)
        rows = [divided(row) for row in seen.flatten(0, -2)]  # (…, T, T) -> (… · T, T)
        return torch.stack(rows).view_as(seen)

    def weights(self, scores: torch.Tensor, d_k: int) -> torch.Tensor:
        """(…, T, T) to the same, with the future hidden before the softmax."""
        masked = torch.where(self.mask(scores.shape[-1]), -torch.inf, scores.double())
        return self.softmax(masked / math.sqrt(d_k))

    def attention_weights(self, scores: torch.Tensor, d_k: int) -> torch.Tensor:
        """(…, T, T) to the same; by the first way of masking where substitutes tell that the student took it."""
        weights = self.student.substitute("mask_then_softmax", self.weights)(scores.double(), d_k)
        renormalized = self.student.substitute("mask_then_renormalize", self.renormalized)
        is_other_way = (
            renormalized != self.renormalized or self.student.substitute("normalize_by_sum", None) is not None
        )
        return renormalized(self.softmax(scores.double() / math.sqrt(d_k))) if is_other_way else weights


def causal_scores(inputs: torch.Tensor, W_query: torch.Tensor, W_key: torch.Tensor) -> torch.Tensor:
    """(B, T, d_in) and two (d_in, d_out) to (B, T, T), not scaled yet."""
    queries, keys = (torch.einsum("bti,io->bto", inputs.double(), matrix.double()) for matrix in (W_query, W_key))
    return torch.einsum("bqo,bko->bqk", queries, keys)


# -- inputs that leave no doubt ----------------------------------------------------------------------------------
# To each token one token fits so well, itself or the one before, that it gets all the weight, whatever the scores are
# divided by and whether the future is hidden or not. The largest number that learners are known to divide by, and still
# attend, is twice the width, 14 at most, which leaves the fitting token 240 / 14 = 17 ahead. exp(80) is finite in
# float32 for who subtracts no maximum.

FITTING, OTHER = 80.0, -160.0
# What is hidden has no weight beside scores that are this low after scaling. Where scores are `lowered`, the fitting
# token has that score and all others that are seen have lower ones, so that nothing depends on how float32 rounds them.
# The future is ahead by as much as leaves the others a share that softmax over everything, and float32, can tell.
LOW, AHEAD = -10_000.0, 10.0
# The widths of such inputs: at least as many features as there are tokens in a batch, and then as in a text.
D_WIDE, D_OUT = 11, 7


def steps_back(fresh: Fresh, num_tokens: int) -> torch.Tensor:
    """Whether the token that fits each is itself, 0, or the one before, 1: drawn for each, (T,).

    Of the second and the third one it is itself for one and not for the other. So some fit two and some none, and
    softmax over the queries, or with queries and keys exchanged, gives others.
    """
    steps = (fresh(num_tokens) > 0).long()
    steps[2:3] = 1 - steps[1:2][: max(num_tokens - 2, 0)]
    return steps


def fitting_tokens(steps: torch.Tensor, which: int = 0) -> torch.Tensor:
    """The place of the token that fits each, (T,), by these steps back, or the other ones for an odd `which`."""
    places = torch.arange(len(steps))
    return (places - (steps + which) % 2).clamp(min=0)


def lowered(scores: torch.Tensor, width: int) -> torch.Tensor:
    """Scores (…, T, T), of which the fitting ones become LOW once they are divided by the square root of the width."""
    low = scores - FITTING + LOW * math.sqrt(width)
    return torch.where(future(scores.shape[-1]), (LOW + AHEAD) * math.sqrt(width), low)


def queries_and_keys(fresh: Fresh, fitting: torch.Tensor, is_low: bool = False) -> torch.Tensor:
    """Queries and keys (2, T, d_out) in float64, whose dot products are FITTING and OTHER; T is at most d_out.

    fitting: the place of the token that fits each, (T,). is_low: whether the dot products are lowered.
    """
    num_tokens = len(fitting)
    scores = torch.full((num_tokens, num_tokens), OTHER, dtype=torch.float64)
    scores[range(num_tokens), fitting] = FITTING
    scores = lowered(scores, D_OUT) if is_low else scores
    # Three factors, (T, T), (T,) and (T, T). Queries and keys each take the root of the middle one, and both are
    # written in the same T directions, at right angles among d_out dimensions.
    left, sizes, right = torch.linalg.svd(scores)
    return torch.stack([left * sizes.sqrt(), right.mT * sizes.sqrt()]) @ fresh.rotation(D_OUT)[:num_tokens]


def tokens_beyond_doubt(
    fresh: Fresh, batch: int, num_tokens: int, dtype: torch.dtype = torch.float32, is_low: bool = False
) -> tuple[torch.Tensor, Matrices]:
    """Inputs (B, T, d_in), and matrices (d_in, d_out) that make such queries and keys of them, for d_in = D_WIDE."""
    # At right angles and of length one, so that each matrix can give every token of the batch what it likes.
    tokens = fresh.rotation(D_WIDE)[: batch * num_tokens]
    # (B, 2, T, d_out) -> (2, B · T, d_out)
    steps = steps_back(fresh, num_tokens)
    pairs = [queries_and_keys(fresh, fitting_tokens(steps, one), is_low) for one in range(batch)]
    queries, keys = torch.stack(pairs, 1).flatten(1, 2)
    matrices = {"W_query": tokens.mT @ queries, "W_key": tokens.mT @ keys, "W_value": fresh(D_WIDE, D_OUT)}
    inputs = tokens.unflatten(0, (batch, num_tokens))  # (B · T, d_in) -> (B, T, d_in)
    return inputs.to(dtype), {name: matrix.to(dtype) for name, matrix in matrices.items()}


# -- inputs that show the weights --------------------------------------------------------------------------------
# With values of one feature for each token, the outputs are the weights.


@dataclass
class Shown:
    """A batch of texts whose outputs show the weights; matrices (d_in, d_out), twice as wide as a text is long."""

    matrices: Matrices
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


def led_by_the_best(found: torch.Tensor, expected: torch.Tensor) -> bool:
    """Whether the largest weight among those that a row should have stands where it should."""
    seen = torch.where(expected > 0, found.double(), -1.0)
    return torch.equal(seen.argmax(-1), expected.argmax(-1))


# -- the future --------------------------------------------------------------------------------------------------


def texts_with_other_ends(fresh: Fresh, num_tokens: int, d_in: int) -> torch.Tensor:
    """Three texts (3, T, d_in): one, the same with another last token, and the same with another first one."""
    inputs = fresh(1, num_tokens, d_in).repeat(3, 1, 1)
    inputs[1, -1], inputs[2, 0] = fresh(d_in), fresh(d_in)
    return inputs


def expect_no_look_ahead(outputs: torch.Tensor, expected: torch.Tensor) -> None:
    """The outputs (3, T, d_out) for such texts: each depends on tokens up to its own, and the second on the first.

    expected: what they should be, with the substitutes that had a part in them. These may look ahead.
    """

    def differ(some: torch.Tensor, others: torch.Tensor) -> torch.Tensor:
        """(…, T, d_out) to (…, T)."""
        return ~torch.isclose(some.double(), others.double(), rtol=1e-4, atol=1e-5).all(-1)

    changed, allowed = differ(outputs, outputs[0]), differ(expected, expected[0])  # (3, T)
    expect_true(not bool((changed & ~allowed)[1, :-1].any()), "An output changed with a token that comes later.")
    expect_true(bool(changed[1, -1]), "The last output did not change with its own token.")
    expect_true(bool(changed[2, 1]), "The second output did not change with the first token.")


# -- what is hidden beside very low scores -----------------------------------------------------------------------


def expect_hidden(value: object, expected: torch.Tensor) -> None:
    """A result for lowered scores, where nothing that is hidden has weight.

    Softmax that subtracts no maximum has nothing left of such scores and gives NaN, which is unit 1's question.
    """
    found = expect_tensor(value, expected.shape).double()
    is_right = bool(found.isnan().all()) or torch.allclose(found, expected.double(), RELATIVE, ABSOLUTE)
    expect_true(is_right, "Where all other scores are very low, the result is not that of the best of them.")


# -- dropout, seen by what it does to weights that the outputs show ----------------------------------------------

# Long texts: 136 pairs of tokens of which the one sees the other, in each of them.
LONG = 16
# Makes a module with these matrices, for so many tokens and with so much dropout, in eval mode.
Evaluated = Callable[[Matrices, int, float], RemoteObject]


def dropped_in_training(
    student: Student, fresh: Fresh, evaluated: Evaluated, dropout: float, *, texts: int, calls: int
) -> tuple[torch.Tensor, torch.Tensor]:
    """The weights (B, T, T) of such texts in eval mode, and the outputs (calls, B, T, d_out) of calls in training."""
    words = torch.arange(texts * LONG).view(texts, LONG)
    batch = shown(fresh, words, words.numel() + 2)
    inputs, shape = batch.inputs(words), (texts, LONG, 2 * LONG + 1)
    # From a module without any dropout, so that a dropout that does not stop in eval mode costs its own criterion.
    weights = expect_tensor(evaluated(batch.matrices, LONG, 0.0)(inputs), shape)[..., :LONG]
    led = led_by_the_best(weights, batch.expected(student, words))
    expect_true(led, "A token's largest weight is not where its largest score is.")
    attention = evaluated(batch.matrices, LONG, dropout)
    attention.train()
    outputs = torch.stack([expect_tensor(attention(inputs), shape) for _ in range(calls)])
    # Where they are not finite tells why. With dropout on a future of minus infinity, all but the last token's may be
    # NaN; with rows divided by the sum of what is left, those in the middle hardly ever are.
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
    """About a share `dropout` of the weights that there are, where `seen` (T, T), and one says nothing of another.

    outputs: as above, of an even number of calls, for an even number of texts.
    """
    kept = outputs[..., :LONG] != 0  # (calls, B, T, T)
    # Where both a row and the next see a token: where the first of them does, without the row's own place.
    above, below = seen[0::2] & seen[1::2], seen[:, 0::2] & seen[:, 1::2]
    same_token, same_row = kept[..., 0::2, :] == kept[..., 1::2, :], kept[..., 0::2] == kept[..., 1::2]
    # The pairs have none in common.
    pairs = {
        "Several calls drop the same weights.": (kept[0::2] == kept[1::2])[..., seen],
        "All texts of a batch drop the same weights.": (kept[:, 0::2] == kept[:, 1::2])[..., seen],
        "Whole tokens are dropped for all.": same_token[..., above],
        "Whole rows of weights are dropped.": same_row[..., below],
    }
    expect_own_draws(kept[..., seen], pairs)
    expect_count(kept[..., seen], 1 - dropout, "The share of weights that are dropped is not near `dropout`.")
    # Two independent weights are both kept or both dropped in this share of cases.
    both = dropout**2 + (1 - dropout) ** 2
    for reason, alike in pairs.items():
        expect_count(alike, both, reason)


def expect_steady(attention: RemoteObject, inputs: torch.Tensor) -> torch.Tensor:
    """The outputs, the same in several calls: nothing random is noted, and of seven weights in each some would go."""
    first, *others = (expect_tensor(attention(inputs)) for _ in range(8))
    steady = all(
        one.shape == first.shape and torch.allclose(one.double(), first.double(), RELATIVE, ABSOLUTE, equal_nan=True)
        for one in others
    )
    expect_true(steady, "The outputs change from call to call.")
    return first


def expect_dropping_after_softmax(weights: torch.Tensor, outputs: torch.Tensor, dropout: float) -> None:
    """Each weight became zero, for all features of its value, or was divided by 1 - dropout."""
    first, second = outputs[..., :LONG].double(), outputs[..., LONG : 2 * LONG].double()
    kept = first != 0
    expect_true(bool(kept.any()), "In training every weight becomes zero.")
    factors = first / weights.double()
    # The values alone may have lost features, or the queries and keys as well.
    also = "" if _is_near(*_extremes(factors, kept)) else ", and what is kept was multiplied by different numbers"
    expect_true(torch.allclose(first, second), f"A weight is not the same for all features of a value{also}.")
    expect_survivors(factors, kept, dropout)


def expect_survivors(factors: torch.Tensor, kept: torch.Tensor, dropout: float) -> None:
    """What is kept was multiplied by 1 / (1 - dropout); factors, kept: (calls, …).

    Numbers that differ with the draws are not noted: first they have to be one number, in a call and in all of them.
    """
    lowest, highest = _extremes(factors, kept)
    expect_true(_is_near(lowest, highest), "Weights that are kept were multiplied by different numbers.")
    expect_true(_is_near(lowest, lowest[:1]), "Weights that are kept were multiplied by other numbers in other calls.")
    expect_close(lowest[0], torch.tensor(1 / (1 - dropout)), "What weights that are kept were multiplied by")


def _extremes(factors: torch.Tensor, kept: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """The lowest and the highest factor of what is kept in each call that keeps anything."""
    found = [call[keeps] for call, keeps in zip(factors, kept, strict=True) if keeps.any()]
    return torch.stack([one.min() for one in found]), torch.stack([one.max() for one in found])


def _is_near(numbers: torch.Tensor, others: torch.Tensor) -> bool:
    return torch.allclose(numbers, others.expand_as(numbers), rtol=RELATIVE)
