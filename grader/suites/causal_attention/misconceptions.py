"""Unit 3: wrong answers that learners give, each with the sentence that would help who wrote it.

A name says what was done. Where the same slip is made in a function and in the module, the module's has more words.
"""

from __future__ import annotations

import random

import torch
from torch import Tensor, nn

from grader.misconceptions import misconception, replace, row

Triple = tuple[Tensor, Tensor, Tensor]
MATRICES = ("W_query", "W_key", "W_value")
WORKED_EXAMPLE_TOKENS = 6

# -- causal_mask -------------------------------------------------------------------------------------------------


def future(num_tokens: int) -> Tensor:
    """The right answer."""
    return torch.ones(num_tokens, num_tokens, dtype=torch.bool).triu(1)


# fmt: off
ROWS = [
    row("causal_mask", "past_marked", replace("triu(diagonal=1)", "tril(diagonal=-1)"),
        "The past is marked instead of the future. A row belongs to the token that asks, and what comes after it "
        "stands to the right of the diagonal."),
    row("causal_mask", "visible_marked", replace("triu(diagonal=1)", "tril()"),
        "What may be seen is marked. The mask says what to hide: True where a token must not look."),
    row("causal_mask", "diagonal_marked_too", replace("diagonal=1", "diagonal=0"),
        "The diagonal is marked too, so a token would not see itself, and the first one nothing at all. Only what "
        "comes strictly later is hidden."),
    row("causal_mask", "next_token_open", replace("diagonal=1", "diagonal=2"),
        "The next token stays open: the marks begin one place too late. The future begins right beside the diagonal."),
    row("causal_mask", "all_others_marked",
        replace("torch.ones(num_tokens, num_tokens, dtype=torch.bool).triu(diagonal=1)",
                "~torch.eye(num_tokens, dtype=torch.bool)"),
        "Every token but the own one is marked. The past is to be seen; hide only what comes later."),
    row("causal_mask", "float_mask", replace("triu(diagonal=1)", "triu(diagonal=1).float()"),
        "The mask holds ones and zeros as floats. A mask answers yes or no: `.bool()` makes it one that `masked_fill` "
        "and `torch.where` take, and that cannot be multiplied by mistake."),
    row("causal_mask", "whole_number_mask", replace("triu(diagonal=1)", "triu(diagonal=1).long()"),
        "The mask holds ones and zeros as whole numbers. As such they would pick entries by their place instead of "
        "saying yes or no; make it `.bool()`."),
    row("causal_mask", "minus_infinity_mask",
        replace("torch.ones(num_tokens, num_tokens, dtype=torch.bool)",
                "torch.full((num_tokens, num_tokens), -torch.inf)"),
        "The mask already holds what is to be added to the scores, minus infinity. Here it only says where: True or "
        "False."),
    row("causal_mask", "mask_for_the_worked_example", replace("num_tokens, num_tokens", "6, 6"),
        "The mask is always made for the six tokens of the worked example. Texts have different lengths: num_tokens "
        "says which."),
    row("causal_mask", "lonely_mask_squeezed", replace("triu(diagonal=1)", "triu(diagonal=1).squeeze()"),
        "`squeeze()` drops every dimension of length one, and so the mask of a single token is no matrix any more."),
    row("causal_mask", "batch_in_front_of_the_mask", replace("triu(diagonal=1)", "triu(diagonal=1)[None]"),
        "A batch dimension stands in front. The same mask serves every text and every head, and torch stretches (T, T) "
        "over them by itself."),
]
# fmt: on

# -- mask_then_renormalize ---------------------------------------------------------------------------------------


def past_of(weights: Tensor) -> Tensor:
    return weights.masked_fill(future(weights.shape[-1]), 0)


def renormalized(weights: Tensor) -> Tensor:
    """The right answer."""
    return past_of(weights) / past_of(weights).sum(-1, keepdim=True)


@misconception(
    "mask_then_renormalize",
    "The future is zero, but the rows no longer sum to one. Each token still has one attention to give: divide each "
    "row by what is left of it.",
)
def not_renormalized(weights: Tensor) -> Tensor:
    return past_of(weights)


@misconception(
    "mask_then_renormalize",
    "The future is still there: what was masked was thrown away. `masked_fill` without an underscore gives a new "
    "tensor; use what it gives.",
)
def masked_result_thrown_away(weights: Tensor) -> Tensor:
    weights.masked_fill(future(weights.shape[-1]), 0)
    return weights / weights.sum(-1, keepdim=True)


@misconception(
    "mask_then_renormalize",
    "The mask is upside down: the past is zero, and the future is left. Zero is what stands above the diagonal.",
)
def past_removed(weights: Tensor) -> Tensor:
    left = weights.triu()
    return left / left.sum(-1, keepdim=True)


@misconception(
    "mask_then_renormalize",
    "The diagonal is zero too. A token sees itself, and the first one sees nothing else: its row would be zero divided "
    "by zero.",
)
def own_weight_removed(weights: Tensor) -> Tensor:
    left = weights.tril(-1)
    return left / left.sum(-1, keepdim=True)


@misconception(
    "mask_then_renormalize",
    "Each row still has a weight for the next token: the mask begins one place too late, above the diagonal's "
    "neighbours.",
)
def next_token_weighted(weights: Tensor) -> Tensor:
    left = weights.tril(1)
    return left / left.sum(-1, keepdim=True)


@misconception(
    "mask_then_renormalize",
    "The columns sum to one, not the rows. A row holds what one token gives to the others, and that is what should "
    "come to one: sum over the last dim.",
)
def columns_renormalized(weights: Tensor) -> Tensor:
    return past_of(weights) / past_of(weights).sum(0, keepdim=True)


@misconception(
    "mask_then_renormalize",
    "Without `keepdim=True` the sums lie along the columns, and each weight is divided by the sum of another row. Keep "
    "the sums as a column, (T, 1).",
)
def sums_without_keepdim(weights: Tensor) -> Tensor:
    return past_of(weights) / past_of(weights).sum(-1)


@misconception(
    "mask_then_renormalize",
    "All weights are divided by one number, the sum of the whole matrix. Each row is a share-out of its own, and wants "
    "its own sum.",
)
def everything_renormalized_at_once(weights: Tensor) -> Tensor:
    return past_of(weights) / past_of(weights).sum()


@misconception(
    "mask_then_renormalize",
    "The masked weights went through another softmax. That changes their proportions, and gives the zeros a weight "
    "again, for exp of zero is one. Divide by the sum.",
)
def softmax_of_masked_weights(weights: Tensor) -> Tensor:
    return torch.softmax(past_of(weights), dim=-1)


@misconception(
    "mask_then_renormalize",
    "The weights that are left went through another softmax. They are shares already: it would level them, where a "
    "division by their sum keeps their proportions.",
)
def softmax_of_what_is_left(weights: Tensor) -> Tensor:
    return torch.softmax(weights.masked_fill(future(weights.shape[-1]), -torch.inf), dim=-1)


@misconception(
    "mask_then_renormalize",
    "The future is minus infinity, which belongs into scores, before a softmax. These are weights already, and no "
    "weight is zero.",
)
def minus_infinity_among_weights(weights: Tensor) -> Tensor:
    masked = weights.masked_fill(future(weights.shape[-1]), -torch.inf)
    return masked / masked.sum(-1, keepdim=True)


@misconception(
    "mask_then_renormalize",
    "What the future had is handed out in equal shares. Those who had more should get more of it too: divide by the "
    "sum that is left.",
)
def rest_shared_out_equally(weights: Tensor) -> Tensor:
    left = past_of(weights)
    rest = (1 - left.sum(-1, keepdim=True)) / torch.arange(1, len(weights) + 1)[:, None]
    return (left + rest).tril()


@misconception(
    "mask_then_renormalize",
    "What the future had is summed and handed out in equal shares. Those who had more should get more of it too: "
    "divide by the sum that is left.",
)
def future_shared_out_equally(weights: Tensor) -> Tensor:
    rest = weights.triu(1).sum(-1, keepdim=True) / torch.arange(1, len(weights) + 1)[:, None]
    return (weights + rest).tril()


@misconception(
    "mask_then_renormalize",
    "The past counts the same for all: each weight became one over the number of tokens seen. Keep the weights, and "
    "divide them by their sum.",
)
def past_averaged(weights: Tensor) -> Tensor:
    seen = (~future(len(weights))).to(weights.dtype)
    return seen / seen.sum(-1, keepdim=True)


@misconception(
    "mask_then_renormalize",
    "The caller's weights were changed. `masked_fill_` with an underscore works on the tensor itself; without it, it "
    "gives a new one.",
)
def weights_masked_in_place(weights: Tensor) -> Tensor:
    weights.masked_fill_(future(weights.shape[-1]), 0)
    return weights / weights.sum(-1, keepdim=True)


@misconception(
    "mask_then_renormalize",
    "The caller's weights were changed, through `.data` or under `torch.no_grad()`, so that not even the gradients "
    "know. `masked_fill` without an underscore gives a new tensor.",
)
def weights_masked_behind_the_gradients(weights: Tensor) -> Tensor:
    with torch.no_grad():
        weights.masked_fill_(future(weights.shape[-1]), 0)
    return weights / weights.sum(-1, keepdim=True)


@misconception(
    "mask_then_renormalize",
    "Gradients stop at the result, by `.detach()`, `.data` or `torch.no_grad()`. All that made the weights, queries "
    "and keys, learns only through them.",
)
def renormalized_without_gradients(weights: Tensor) -> Tensor:
    return renormalized(weights.detach())


@misconception(
    "mask_then_renormalize",
    "The sums are cut off from the gradients, by `.detach()` or `.data`. They depend on the weights as well, and the "
    "gradient has to know.",
)
def sums_without_gradients(weights: Tensor) -> Tensor:
    return past_of(weights) / past_of(weights).sum(-1, keepdim=True).detach()


@misconception(
    "mask_then_renormalize",
    "The mask is always made for the six tokens of the worked example. Read the number of tokens off the weights.",
)
def weights_of_the_worked_example(weights: Tensor) -> Tensor:
    left = weights.masked_fill(future(WORKED_EXAMPLE_TOKENS), 0)
    return left / left.sum(-1, keepdim=True)


@misconception(
    "mask_then_renormalize",
    "`squeeze()` drops every dimension of length one, and so the weights of a single token are no matrix any more.",
)
def lonely_weight_squeezed(weights: Tensor) -> Tensor:
    return renormalized(weights).squeeze()


@misconception(
    "mask_then_renormalize",
    "A float32 tensor of your own meets the weights in a matrix product or takes in a copy of them, which float64 "
    "weights refuse. Make it like the weights: `torch.ones_like`, or `dtype=weights.dtype`.",
)
def weights_meet_float32(weights: Tensor) -> Tensor:
    return past_of(weights) / (past_of(weights) @ torch.ones(len(weights), 1))  # (T, T) @ (T, 1) -> (T, 1)


# -- mask_then_softmax -------------------------------------------------------------------------------------------


def masked(scores: Tensor) -> Tensor:
    return scores.masked_fill(future(scores.shape[-1]), -torch.inf)


def causal_softmax(scores: Tensor, d_k: int) -> Tensor:
    """The right answer."""
    return torch.softmax(masked(scores) / d_k**0.5, dim=-1)


HALF = (
    "`/` and `*` bind alike, from left to right: `/ d_k*0.5` divides by d_k and then takes the half. A square root "
    "is a power, `d_k**0.5`."
)
UNSCALED = (
    "The scores are not scaled. The wider the queries and keys, the wilder their dot products; divided by the square "
    "root of that width they keep a variance near 1, and softmax stays gentle."
)
TWENTIETH_ROOT = (
    "The root is mistyped: the power .05 is a twentieth root, which hardly divides at all. A square root is the power "
    "0.5, or `math.sqrt`."
)
NO_ROOT = (
    "The scores are divided by the width itself. Their standard deviation is its square root, so that is what brings "
    "it to 1."
)
BY_TOKENS = (
    "The scores are divided by the root of the number of tokens. A dot product sums over features, so it is the width "
    "of queries and keys that makes it grow."
)
SCALED_LATE = (
    "The weights are divided after softmax, and no longer sum to one. It is the scores, before softmax, that are too "
    "wild."
)
THROWN_AWAY = (
    "The future is still seen: what was masked was thrown away. `masked_fill` without an underscore gives a new "
    "tensor; use what it gives."
)
ZEROS = (
    "The future's scores are set to zero (or multiplied by a mask of zeros and ones). Zero is a score like any other, "
    "exp of it is one, and so the future has weight. Minus infinity has none."
)
UPSIDE_DOWN = (
    "The mask is upside down: the past is hidden and the future is seen. Hide what stands above the diagonal, where "
    "the column comes after the row."
)
SELF_HIDDEN = (
    "The diagonal is hidden too, so a token does not see itself. The first one then sees nothing, and a softmax over "
    "nothing but minus infinities gives NaN."
)
NEXT_SEEN = (
    "The next token is still seen: the mask begins one place too late. The future begins right beside the diagonal."
)
MASKED_LATE = (
    "The future is set to zero after the softmax, and nothing more. Its scores have already taken their part: the rows "
    "do not sum to one, and they change with the future."
)
WRONG_DIM = (
    "Softmax runs over the queries: the columns sum to one, not the rows. Each token shares its own attention among "
    "what it sees, and that lies along the last dim."
)
WHOLE_TENSOR = (
    "Softmax runs over all scores at once, so that all tokens share one attention between them. Each has a whole one "
    "to give: softmax over the last dim."
)


@misconception("mask_then_softmax", HALF)
def half_instead_of_root(scores: Tensor, d_k: int) -> Tensor:
    return torch.softmax(masked(scores) / d_k * 0.5, dim=-1)


@misconception("mask_then_softmax", UNSCALED)
def scaling_forgotten(scores: Tensor, d_k: int) -> Tensor:  # noqa: ARG001
    return torch.softmax(masked(scores), dim=-1)


@misconception("mask_then_softmax", TWENTIETH_ROOT)
def twentieth_root(scores: Tensor, d_k: int) -> Tensor:
    return torch.softmax(masked(scores) / d_k**0.05, dim=-1)


@misconception("mask_then_softmax", NO_ROOT)
def divided_by_d_k_itself(scores: Tensor, d_k: int) -> Tensor:
    return torch.softmax(masked(scores) / d_k, dim=-1)


@misconception("mask_then_softmax", BY_TOKENS)
def scaled_by_number_of_tokens(scores: Tensor, d_k: int) -> Tensor:  # noqa: ARG001
    return torch.softmax(masked(scores) / scores.shape[-1] ** 0.5, dim=-1)


@misconception(
    "mask_then_softmax",
    "The scores are multiplied by √d_k, which makes wild scores wilder. Divide by it.",
)
def multiplied_by_root(scores: Tensor, d_k: int) -> Tensor:
    return torch.softmax(masked(scores) * d_k**0.5, dim=-1)


@misconception(
    "mask_then_softmax",
    "The divisor is always √2, which is right only for the width of the worked example. d_k is an argument.",
)
def scaled_for_the_worked_example(scores: Tensor, d_k: int) -> Tensor:  # noqa: ARG001
    return torch.softmax(masked(scores) / 2**0.5, dim=-1)


@misconception("mask_then_softmax", SCALED_LATE)
def scaled_after_softmax(scores: Tensor, d_k: int) -> Tensor:
    return torch.softmax(masked(scores), dim=-1) / d_k**0.5


@misconception("mask_then_softmax", THROWN_AWAY)
def masked_scores_thrown_away(scores: Tensor, d_k: int) -> Tensor:
    scores.masked_fill(future(len(scores)), -torch.inf)
    return torch.softmax(scores / d_k**0.5, dim=-1)


@misconception("mask_then_softmax", ZEROS)
def zeros_instead_of_minus_infinity(scores: Tensor, d_k: int) -> Tensor:
    return torch.softmax(scores.tril() / d_k**0.5, dim=-1)


@misconception("mask_then_softmax", UPSIDE_DOWN)
def past_hidden(scores: Tensor, d_k: int) -> Tensor:
    return torch.softmax(scores.masked_fill(future(len(scores)).T, -torch.inf) / d_k**0.5, dim=-1)


@misconception("mask_then_softmax", SELF_HIDDEN)
def diagonal_hidden_too(scores: Tensor, d_k: int) -> Tensor:
    hidden = torch.ones_like(scores, dtype=torch.bool).triu(0)
    return torch.softmax(scores.masked_fill(hidden, -torch.inf) / d_k**0.5, dim=-1)


@misconception("mask_then_softmax", NEXT_SEEN)
def next_token_seen(scores: Tensor, d_k: int) -> Tensor:
    hidden = torch.ones_like(scores, dtype=torch.bool).triu(2)
    return torch.softmax(scores.masked_fill(hidden, -torch.inf) / d_k**0.5, dim=-1)


@misconception("mask_then_softmax", MASKED_LATE)
def masked_after_softmax(scores: Tensor, d_k: int) -> Tensor:
    return past_of(torch.softmax(scores / d_k**0.5, dim=-1))


@misconception(
    "mask_then_softmax",
    "The future goes too late: after the softmax, or after the largest score was subtracted. In exact numbers that is "
    "the same, but where a score of the future is very large nothing is left of the others. Hide it first.",
)
def renormalized_after_softmax(scores: Tensor, d_k: int) -> Tensor:
    return renormalized(torch.softmax(scores / d_k**0.5, dim=-1))


@misconception("mask_then_softmax", WRONG_DIM)
def softmax_over_queries(scores: Tensor, d_k: int) -> Tensor:
    return torch.softmax(masked(scores) / d_k**0.5, dim=0)


@misconception("mask_then_softmax", WHOLE_TENSOR)
def softmax_over_everything(scores: Tensor, d_k: int) -> Tensor:
    flat = torch.softmax((masked(scores) / d_k**0.5).flatten(), dim=0)  # (T, T) -> (T · T,)
    return flat.view_as(scores)


@misconception(
    "mask_then_softmax",
    "These are masked scores, not weights. Softmax is what makes shares of them: positive, zero for the future, and "
    "with the sum one in each row.",
)
def softmax_forgotten(scores: Tensor, d_k: int) -> Tensor:
    return masked(scores) / d_k**0.5


@misconception(
    "mask_then_softmax",
    "Minus infinity was added to the future's scores, and there it ends: these are no weights yet. Softmax is what "
    "makes shares of them: positive, zero for the future, and with the sum one in each row.",
)
def softmax_forgotten_after_adding(scores: Tensor, d_k: int) -> Tensor:
    return (scores + torch.full_like(scores, -torch.inf).triu(1)) / d_k**0.5


@misconception(
    "mask_then_softmax",
    "A mask of zeros and ones was multiplied by infinity, and zero times infinity is NaN. Fill the masked places "
    "instead: `masked_fill`, or `torch.where`.",
)
def zero_times_infinity(scores: Tensor, d_k: int) -> Tensor:
    return torch.softmax((scores + future(len(scores)) * -torch.inf) / d_k**0.5, dim=-1)


@misconception(
    "mask_then_softmax",
    "The future is set to plus infinity, which is NaN after softmax. Minus infinity is the score whose exp is zero.",
)
def plus_infinity(scores: Tensor, d_k: int) -> Tensor:
    return torch.softmax(scores.masked_fill(future(len(scores)), torch.inf) / d_k**0.5, dim=-1)


@misconception(
    "mask_then_softmax",
    "What is added to the future's scores is negative, but not enough: a score far above the others still comes out "
    "on top. Minus infinity is below everything.",
)
def a_thousand_subtracted(scores: Tensor, d_k: int) -> Tensor:
    return torch.softmax((scores - 1000 * future(len(scores))) / d_k**0.5, dim=-1)


@misconception(
    "mask_then_softmax",
    "The whole weight goes to the best score, and the others get nothing. Softmax is softer than a maximum: every "
    "token that may be seen has its share, and so the scores can learn.",
)
def best_score_takes_all(scores: Tensor, d_k: int) -> Tensor:  # noqa: ARG001
    return nn.functional.one_hot(masked(scores).argmax(-1), len(scores)).to(scores.dtype)


@misconception(
    "mask_then_softmax",
    "The caller's scores were changed. `masked_fill_` with an underscore works on the tensor itself; without it, it "
    "gives a new one.",
)
def scores_masked_in_place(scores: Tensor, d_k: int) -> Tensor:
    scores.masked_fill_(future(len(scores)), -torch.inf)
    return torch.softmax(scores / d_k**0.5, dim=-1)


@misconception(
    "mask_then_softmax",
    "The caller's scores were changed, through `.data` or under `torch.no_grad()`, so that torch itself does not see "
    "it. `masked_fill` without an underscore gives a new tensor.",
)
def scores_masked_behind_the_gradients(scores: Tensor, d_k: int) -> Tensor:
    with torch.no_grad():
        scores.masked_fill_(future(len(scores)), -torch.inf)
    return torch.softmax(scores / d_k**0.5, dim=-1)


@misconception(
    "mask_then_softmax",
    "Gradients stop at the weights, by `.detach()`, `.data` or `torch.no_grad()`. Queries and keys learn only through "
    "the scores.",
)
def softmax_without_gradients(scores: Tensor, d_k: int) -> Tensor:
    return causal_softmax(scores.detach(), d_k)


@misconception(
    "mask_then_softmax",
    "The mask is always made for the six tokens of the worked example. Read the number of tokens off the scores.",
)
def scores_of_the_worked_example(scores: Tensor, d_k: int) -> Tensor:
    hidden = future(WORKED_EXAMPLE_TOKENS)
    return torch.softmax(scores.masked_fill(hidden, -torch.inf) / d_k**0.5, dim=-1)


@misconception(
    "mask_then_softmax",
    "`squeeze()` drops every dimension of length one, and so the scores of a single token are no matrix any more.",
)
def lonely_score_squeezed(scores: Tensor, d_k: int) -> Tensor:
    return causal_softmax(scores, d_k).squeeze()


@misconception(
    "mask_then_softmax",
    "A float32 tensor of your own takes in a copy of the scores or meets them in a matrix product, which float64 "
    "scores refuse. Make it like the scores: `torch.full_like`, or `dtype=scores.dtype`.",
)
def scores_meet_float32(scores: Tensor, d_k: int) -> Tensor:
    copy, seen = torch.full(scores.shape, -torch.inf), ~future(len(scores))
    copy[seen] = scores[seen]
    return torch.softmax(copy / d_k**0.5, dim=-1)


# -- attention_dropout -------------------------------------------------------------------------------------------

Source = torch.Generator | None


def check(p: float) -> None:
    if not 0 <= p < 1:
        raise ValueError("p lies outside [0, 1)")


def drawn(shape: tuple[int, ...], p: float, generator: Source) -> Tensor:
    """What to keep, as bools."""
    return torch.rand(shape, generator=generator) >= p


def dropped(weights: Tensor, p: float, generator: Source = None) -> Tensor:
    """The right answer."""
    check(p)
    return weights * drawn(weights.shape, p, generator) / (1 - p)


@misconception(
    "attention_dropout",
    "The draws are compared the wrong way round, so that a share of p is kept. It is p that is dropped: keep where "
    "`torch.rand` is at least p.",
)
def share_of_p_kept(weights: Tensor, p: float, generator: Source = None) -> Tensor:
    check(p)
    return weights * ~drawn(weights.shape, p, generator) / (1 - p)


@misconception(
    "attention_dropout",
    "p is taken for the probability of keeping a weight, in the draws and in the division. It is the probability of "
    "dropping one.",
)
def p_taken_for_keeping(weights: Tensor, p: float, generator: Source = None) -> Tensor:
    check(p)
    return weights * ~drawn(weights.shape, p, generator) / p


@misconception(
    "attention_dropout",
    "The weights that are kept stay as they were. On average a context would then come out smaller in training than "
    "later on: divide them by 1 - p.",
)
def survivors_not_scaled(weights: Tensor, p: float, generator: Source = None) -> Tensor:
    check(p)
    return weights * drawn(weights.shape, p, generator)


@misconception(
    "attention_dropout",
    "The weights that are kept are multiplied by 1 - p and grow smaller still. They have to make up for those that are "
    "gone: divide.",
)
def survivors_multiplied(weights: Tensor, p: float, generator: Source = None) -> Tensor:
    check(p)
    return weights * drawn(weights.shape, p, generator) * (1 - p)


@misconception(
    "attention_dropout",
    "The weights that are kept are divided by p. A share of 1 - p is kept, and that is what makes up for the rest.",
)
def survivors_divided_by_p(weights: Tensor, p: float, generator: Source = None) -> Tensor:
    check(p)
    return weights * drawn(weights.shape, p, generator) / p


@misconception(
    "attention_dropout",
    "The rows are made to sum to one again. Dropout leaves that to chance: every weight that is kept is divided by the "
    "same 1 - p, and the sum is one on average only.",
)
def rows_renormalized(weights: Tensor, p: float, generator: Source = None) -> Tensor:
    check(p)
    left = weights * drawn(weights.shape, p, generator)
    return left / left.sum(-1, keepdim=True)


@misconception(
    "attention_dropout",
    "The weights are divided by the share that happened to be kept. It is the probability, 1 - p, that makes the "
    "average right, whatever the draw.",
)
def divided_by_the_share_kept(weights: Tensor, p: float, generator: Source = None) -> Tensor:
    check(p)
    keep = drawn(weights.shape, p, generator)
    return weights * keep / keep.double().mean()


@misconception(
    "attention_dropout",
    "What came back is the mask of what to keep, scaled. Multiply the weights by it.",
)
def mask_instead_of_weights(weights: Tensor, p: float, generator: Source = None) -> Tensor:
    check(p)
    return drawn(weights.shape, p, generator) / (1 - p)


@misconception(
    "attention_dropout",
    "Nothing is dropped. The function is for training itself; whether it is called at all, `forward` decides.",
)
def nothing_dropped(weights: Tensor, p: float, generator: Source = None) -> Tensor:
    check(p)
    torch.rand(weights.shape, generator=generator)
    return weights * 1


@misconception(
    "attention_dropout",
    "The smallest weights are dropped. Then the same ones stay every time, and what is learnt still relies on them; "
    "which ones go is for chance to say.",
)
def smallest_dropped(weights: Tensor, p: float, generator: Source = None) -> Tensor:  # noqa: ARG001
    check(p)
    return weights * (weights >= torch.quantile(weights.flatten().double(), p)) / (1 - p)


@misconception(
    "attention_dropout",
    "Whole rows are kept or dropped: there is one draw for a row. A token would then see everything or nothing; draw "
    "for each weight, with the shape of the weights.",
)
def whole_rows(weights: Tensor, p: float, generator: Source = None) -> Tensor:
    check(p)
    return weights * drawn((*weights.shape[:-1], 1), p, generator) / (1 - p)


@misconception(
    "attention_dropout",
    "Whole columns are kept or dropped: there is one draw for a token, and all others see it or none does. Draw for "
    "each weight, with the shape of the weights.",
)
def whole_columns(weights: Tensor, p: float, generator: Source = None) -> Tensor:
    check(p)
    return weights * drawn((*weights.shape[:-2], 1, weights.shape[-1])[-weights.dim() :], p, generator) / (1 - p)


@misconception(
    "attention_dropout",
    "There is one draw for all weights, so that all of them go or none does. Draw for each: `torch.rand` with the "
    "shape of the weights.",
)
def one_draw_for_all(weights: Tensor, p: float, generator: Source = None) -> Tensor:
    check(p)
    return weights * drawn((1,), p, generator) / (1 - p)


@misconception(
    "attention_dropout",
    "Exactly a share of p is dropped each time. Each weight has a throw of its own, so how many are dropped is a "
    "matter of chance as well.",
)
def exact_share_dropped(weights: Tensor, p: float, generator: Source = None) -> Tensor:
    check(p)
    order = torch.randperm(weights.numel(), generator=generator)
    keep = (order >= round(p * weights.numel())).reshape(weights.shape)
    return weights * keep / (1 - p)


@misconception(
    "attention_dropout",
    "Exactly a share of p is dropped of every row. Each weight has a throw of its own: a row may keep all of its "
    "weights, or none.",
)
def exact_share_of_each_row(weights: Tensor, p: float, generator: Source = None) -> Tensor:
    check(p)
    ranks = torch.rand(weights.shape, generator=generator).argsort(-1).argsort(-1)
    return weights * (ranks >= round(p * weights.shape[-1])) / (1 - p)


@misconception(
    "attention_dropout",
    "All elements of a batch are dropped alike: the draws have the shape of one (T, T) matrix. Give them the whole "
    "shape of the weights.",
)
def same_for_the_whole_batch(weights: Tensor, p: float, generator: Source = None) -> Tensor:
    check(p)
    return weights * drawn(weights.shape[-2:], p, generator) / (1 - p)


@misconception(
    "attention_dropout",
    "The draws make a square matrix, whatever shape the weights have. `torch.rand(weights.shape)` fits all of them.",
)
def only_square_matrices(weights: Tensor, p: float, generator: Source = None) -> Tensor:
    check(p)
    return weights * drawn((len(weights), len(weights)), p, generator) / (1 - p)


@misconception(
    "attention_dropout",
    "The draws are uniform where they should be and normal where they should not: `torch.randn` lies below p with "
    "another probability than p. `torch.rand` is the one that lies between 0 and 1.",
)
def normal_draws(weights: Tensor, p: float, generator: Source = None) -> Tensor:
    check(p)
    return weights * (torch.randn(weights.shape, generator=generator) >= p) / (1 - p)


@misconception(
    "attention_dropout",
    "p = 0 is refused. It is a probability like others and means that nothing is dropped, which is how a model without "
    "dropout is made.",
)
def zero_refused(weights: Tensor, p: float, generator: Source = None) -> Tensor:
    if not 0 < p < 1:
        raise ValueError("p lies outside (0, 1)")
    return dropped(weights, p, generator)


@misconception(
    "attention_dropout",
    "A p that is no probability passes without a word, or is moved into the range in silence. Who calls with such a p "
    "has made a mistake: refuse what lies outside [0, 1) with an error.",
)
def any_p_accepted(weights: Tensor, p: float, generator: Source = None) -> Tensor:
    keep = drawn(weights.shape, p, generator)
    return weights * keep / (1 - p) if p != 1 else weights * torch.nan


@misconception(
    "attention_dropout",
    "A negative p passes without a word. It is no probability: refuse it with an error, as one that is too large.",
)
def negative_p_accepted(weights: Tensor, p: float, generator: Source = None) -> Tensor:
    if p >= 1:
        raise ValueError("p is too large")
    return weights * drawn(weights.shape, p, generator) / (1 - p)


@misconception(
    "attention_dropout",
    "p = 1 passes. Everything would be dropped, and what is left divided by zero, so here the range of p ends before "
    "1.",
)
def one_accepted(weights: Tensor, p: float, generator: Source = None) -> Tensor:
    if not 0 <= p <= 1:
        raise ValueError("p lies outside [0, 1]")
    return dropped(weights, p, generator) if p < 1 else weights * 0


@misconception(
    "attention_dropout",
    "Only a negative p is refused. Of a p above 1 there is nothing left to keep, and at 1 the rest is divided by zero.",
)
def large_p_accepted(weights: Tensor, p: float, generator: Source = None) -> Tensor:
    if p < 0:
        raise ValueError("p is negative")
    return dropped(weights, p, generator) if p < 1 else weights * torch.nan


@misconception(
    "attention_dropout",
    "The refusal is of another kind than agreed. Callers tell errors by their type, and here that is ValueError or "
    "AssertionError.",
)
def refused_with_another_error(weights: Tensor, p: float, generator: Source = None) -> Tensor:
    if not 0 <= p < 1:
        raise RuntimeError("p lies outside [0, 1)")
    return dropped(weights, p, generator)


@misconception(
    "attention_dropout",
    "This is torch's own dropout as it stands. It cannot draw from a generator that is handed in, and it lets p = 1 "
    "pass; a few lines of your own do both.",
)
def ready_made_dropout(weights: Tensor, p: float, generator: Source = None) -> Tensor:  # noqa: ARG001
    return nn.functional.dropout(weights, p)


@misconception(
    "attention_dropout",
    "The generator is taken but not used. Hand it on to the draw: `torch.rand(…, generator=generator)`.",
)
def generator_ignored(weights: Tensor, p: float, generator: Source = None) -> Tensor:  # noqa: ARG001
    return dropped(weights, p)


@misconception(
    "attention_dropout",
    "The generator is set to a seed of your own before drawing, so whatever state it came with is lost. The caller "
    "decides about the state.",
)
def generator_seeded_anew(weights: Tensor, p: float, generator: Source = None) -> Tensor:
    return dropped(weights, p, generator.manual_seed(123) if generator else None)


@misconception(
    "attention_dropout",
    "A second generator is made from the seed of the first, which itself stays where it was. Draw from the one that "
    "was handed in, and it moves on.",
)
def generator_copied(weights: Tensor, p: float, generator: Source = None) -> Tensor:
    copy = torch.Generator().manual_seed(generator.initial_seed()) if generator else None
    return dropped(weights, p, copy)


@misconception(
    "attention_dropout",
    "The generator draws a seed for torch's global state and is not used for the draws themselves, so the caller's own "
    "global state is lost. Hand the generator on.",
)
def generator_of_seeds(weights: Tensor, p: float, generator: Source = None) -> Tensor:
    if generator:
        torch.manual_seed(int(torch.randint(2**31, (), generator=generator)))
    return dropped(weights, p)


@misconception(
    "attention_dropout",
    "Without a generator every call drops the same weights: a seed is set inside, or a generator made that always "
    "begins alike. None means torch's global generator as it stands.",
)
def always_the_same_draws(weights: Tensor, p: float, generator: Source = None) -> Tensor:
    return dropped(weights, p, generator or torch.Generator())


@misconception(
    "attention_dropout",
    "Every call drops the same weights, with a generator or without: a seed is set inside, or a generator made that "
    "always begins alike. Draw from the generator that is handed in, and without one from torch's global one.",
)
def the_same_seed_in_every_call(weights: Tensor, p: float, generator: Source = None) -> Tensor:  # noqa: ARG001
    return dropped(weights, p, torch.Generator())


@misconception(
    "attention_dropout",
    "The global state is put back after the draw, so the next call drops the same weights again. Each draw should move "
    "it on.",
)
def global_state_put_back(weights: Tensor, p: float, generator: Source = None) -> Tensor:
    with torch.random.fork_rng(devices=[]):
        return dropped(weights, p, generator)


@misconception(
    "attention_dropout",
    "Without a generator a new one is made from the clock or the system, so torch.manual_seed cannot make a training "
    "run the same again. None means torch's global generator.",
)
def generator_from_the_system(weights: Tensor, p: float, generator: Source = None) -> Tensor:
    if generator is None:
        generator = torch.Generator()
        generator.manual_seed(random.SystemRandom().getrandbits(62))
    return dropped(weights, p, generator)


@misconception(
    "attention_dropout",
    "Gradients stop at the result, by `.detach()`, `.data` or `torch.no_grad()`. Dropout is for training: what is kept "
    "must be able to learn.",
)
def dropout_without_gradients(weights: Tensor, p: float, generator: Source = None) -> Tensor:
    return dropped(weights.detach(), p, generator)


@misconception(
    "attention_dropout",
    "The caller's weights were changed: `*=`, and assigning to some of the entries, work on the tensor itself. Write "
    "`weights = weights * …`.",
)
def weights_dropped_in_place(weights: Tensor, p: float, generator: Source = None) -> Tensor:
    check(p)
    weights *= drawn(weights.shape, p, generator) / (1 - p)
    return weights


@misconception(
    "attention_dropout",
    "The caller's weights were changed, through `.data` or under `torch.no_grad()`, so that not even the gradients "
    "know. Write `weights = weights * …`, which gives a new tensor.",
)
def weights_dropped_behind_the_gradients(weights: Tensor, p: float, generator: Source = None) -> Tensor:
    check(p)
    with torch.no_grad():
        weights *= drawn(weights.shape, p, generator) / (1 - p)
    return weights


@misconception(
    "attention_dropout",
    "The weights are copied into a tensor of your own, which is float32 and refuses float64 weights. Make it like the "
    "weights: `torch.zeros_like`.",
)
def weights_copied_into_float32(weights: Tensor, p: float, generator: Source = None) -> Tensor:
    check(p)
    copy, keep = torch.zeros(weights.shape), drawn(weights.shape, p, generator)
    copy[keep] = weights[keep] / (1 - p)
    return copy


# -- CausalAttention ---------------------------------------------------------------------------------------------


class Causal(nn.Module):
    """The right answer, of which each wrong one changes a part; unit 6 has its head's from it, too."""

    mask: Tensor

    def __init__(self, d_in: int, d_out: int, context_length: int, dropout: float, qkv_bias: bool = False) -> None:
        super().__init__()
        self.make_layers(d_in, d_out, qkv_bias)
        self.dropout = nn.Dropout(dropout)
        self.register_buffer("mask", future(context_length))

    def make_layers(self, d_in: int, d_out: int, qkv_bias: bool) -> None:
        self.W_query = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_key = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_value = nn.Linear(d_in, d_out, bias=qkv_bias)

    def project(self, inputs: Tensor) -> Triple:
        return self.W_query(inputs), self.W_key(inputs), self.W_value(inputs)

    def hide(self, scores: Tensor) -> Tensor:
        count = scores.shape[-1]
        return scores.masked_fill(self.mask[:count, :count], -torch.inf)

    def scale(self, scores: Tensor, d_out: int) -> Tensor:
        return scores / d_out**0.5

    def weigh(self, scores: Tensor, d_out: int) -> Tensor:
        return torch.softmax(self.scale(self.hide(scores), d_out), dim=-1)

    def drop(self, weights: Tensor) -> Tensor:
        return self.dropout(weights)

    def attend(self, queries: Tensor, keys: Tensor, values: Tensor) -> Tensor:
        scores = queries @ keys.transpose(-2, -1)  # (B, T, d_out) @ (B, d_out, T) -> (B, T, T)
        return self.drop(self.weigh(scores, queries.shape[-1])) @ values

    def forward(self, inputs: Tensor) -> Tensor:
        return self.attend(*self.project(inputs))


# Scores


@misconception("CausalAttention", HALF)
class half_instead_of_root_in_module(Causal):
    def scale(self, scores: Tensor, d_out: int) -> Tensor:
        return scores / d_out * 0.5


@misconception("CausalAttention", UNSCALED)
class scaling_forgotten_in_module(Causal):
    def scale(self, scores: Tensor, d_out: int) -> Tensor:  # noqa: ARG002
        return scores


@misconception("CausalAttention", TWENTIETH_ROOT)
class twentieth_root_in_module(Causal):
    def scale(self, scores: Tensor, d_out: int) -> Tensor:
        return scores / d_out**0.05


@misconception("CausalAttention", NO_ROOT)
class divided_by_width_itself_in_module(Causal):
    def scale(self, scores: Tensor, d_out: int) -> Tensor:
        return scores / d_out


@misconception(
    "CausalAttention",
    "The scores are divided by the root of the number of tokens. A dot product sums over features, so it is the width "
    "of queries and keys, d_out, that makes it grow.",
)
class scaled_by_number_of_tokens_in_module(Causal):
    def scale(self, scores: Tensor, d_out: int) -> Tensor:  # noqa: ARG002
        return scores / scores.shape[-1] ** 0.5


@misconception(
    "CausalAttention",
    "The scores are divided by the root of context_length. How long a text may be has no part in a dot product: it "
    "sums over features, so divide by the root of their number, d_out.",
)
class scaled_by_context_length(Causal):
    def scale(self, scores: Tensor, d_out: int) -> Tensor:  # noqa: ARG002
        return scores / len(self.mask) ** 0.5


@misconception(
    "CausalAttention",
    "The scores are divided by √d_in. The dot products are between projected tokens, whose width is d_out.",
)
class scaled_by_d_in(Causal):
    def scale(self, scores: Tensor, d_out: int) -> Tensor:  # noqa: ARG002
        return scores / self.W_query.in_features**0.5


@misconception(
    "CausalAttention",
    "The divisor is a number of the notebook, √2, which is right for the worked example only. A class should use its "
    "own arguments: d_out, or the width of the keys.",
)
class scaled_for_the_worked_example_in_module(Causal):
    def scale(self, scores: Tensor, d_out: int) -> Tensor:  # noqa: ARG002
        return scores / 2**0.5


@misconception("CausalAttention", SCALED_LATE)
class scaled_after_softmax_in_module(Causal):
    def weigh(self, scores: Tensor, d_out: int) -> Tensor:
        return torch.softmax(self.hide(scores), dim=-1) / d_out**0.5


@misconception(
    "CausalAttention",
    "Every call ends in an error. In `queries @ keys.T`: `.T` turns the batch round too; `keys.transpose(-2, -1)` "
    "leaves it in front. In `masked_fill`: it takes no mask of floats, so make it `.bool()`. Elsewhere: print the "
    "shapes and dtypes of the two that meet in that line.",
)
class batch_turned_round_or_float_mask(Causal):
    def attend(self, queries: Tensor, keys: Tensor, values: Tensor) -> Tensor:
        scores = queries @ keys.permute(2, 1, 0)  # what `.T` does: (B, T, d_out) -> (d_out, T, B)
        return self.drop(self.weigh(scores, queries.shape[-1])) @ values


@misconception(
    "CausalAttention",
    "`view` and `reshape` keep the order of the numbers and only break the rows elsewhere, so the keys are torn apart. "
    "`transpose` is what swaps two dimensions.",
)
class keys_reshaped(Causal):
    def attend(self, queries: Tensor, keys: Tensor, values: Tensor) -> Tensor:
        torn = keys.reshape(len(keys), keys.shape[2], keys.shape[1])  # (B, T, d_out) -> (B, d_out, T)
        return self.drop(self.weigh(queries @ torn, queries.shape[-1])) @ values


# The mask


@misconception("CausalAttention", THROWN_AWAY)
class masked_scores_thrown_away_in_module(Causal):
    def hide(self, scores: Tensor) -> Tensor:
        super().hide(scores)
        return scores


@misconception("CausalAttention", ZEROS)
class zeros_instead_of_minus_infinity_in_module(Causal):
    def hide(self, scores: Tensor) -> Tensor:
        return scores.tril()


@misconception("CausalAttention", UPSIDE_DOWN)
class past_hidden_in_module(Causal):
    def hide(self, scores: Tensor) -> Tensor:
        return scores.masked_fill(future(scores.shape[-1]).T, -torch.inf)


@misconception("CausalAttention", SELF_HIDDEN)
class diagonal_hidden_too_in_module(Causal):
    def hide(self, scores: Tensor) -> Tensor:
        return scores.masked_fill(torch.ones_like(scores, dtype=torch.bool).triu(0), -torch.inf)


@misconception("CausalAttention", NEXT_SEEN)
class next_token_seen_in_module(Causal):
    def hide(self, scores: Tensor) -> Tensor:
        return scores.masked_fill(torch.ones_like(scores, dtype=torch.bool).triu(2), -torch.inf)


@misconception("CausalAttention", MASKED_LATE)
class masked_after_softmax_in_module(Causal):
    def weigh(self, scores: Tensor, d_out: int) -> Tensor:
        return torch.softmax(self.scale(scores, d_out), dim=-1).tril()


@misconception(
    "CausalAttention",
    "All outputs are NaN: a mask of zeros and ones was multiplied by infinity, and zero times infinity is NaN, or the "
    "mask hides everything. Fill just the future's places: `masked_fill`, or `torch.where`.",
)
class zero_times_infinity_in_module(Causal):
    def hide(self, scores: Tensor) -> Tensor:
        return scores + future(scores.shape[-1]) * -torch.inf


@misconception(
    "CausalAttention",
    "Only texts of exactly context_length tokens work. That is the longest allowed: take T, the number of tokens, from "
    "the inputs, and of a mask that was made for the longest the upper left corner, `self.mask[:T, :T]`.",
)
class mask_not_cut(Causal):
    def hide(self, scores: Tensor) -> Tensor:
        return scores.masked_fill(self.mask, -torch.inf)


@misconception(
    "CausalAttention",
    "The wrong corner of the mask is cut out for shorter texts: the last rows or columns hold other tokens' view. A "
    "text starts at the first token, so the upper left corner is its own.",
)
class wrong_corner_of_the_mask(Causal):
    def hide(self, scores: Tensor) -> Tensor:
        count = scores.shape[-1]
        return scores.masked_fill(self.mask[-count:, :count], -torch.inf)


@misconception(
    "CausalAttention",
    "The mask is made for the six tokens of the worked example, whatever context_length says. A class should use its "
    "own arguments.",
)
class mask_for_the_worked_example_in_module(Causal):
    def __init__(self, d_in: int, d_out: int, context_length: int, dropout: float, qkv_bias: bool = False) -> None:  # noqa: ARG002
        super().__init__(d_in, d_out, WORKED_EXAMPLE_TOKENS, dropout, qkv_bias)


@misconception(
    "CausalAttention",
    "The mask is an nn.Parameter, so an optimiser would change it. It is nothing to learn: keep it with "
    "`register_buffer`, or make it on the way.",
)
class mask_as_a_parameter(Causal):
    def __init__(self, d_in: int, d_out: int, context_length: int, dropout: float, qkv_bias: bool = False) -> None:
        super().__init__(d_in, d_out, context_length, dropout, qkv_bias)
        self.future = nn.Parameter(future(context_length).float())

    def hide(self, scores: Tensor) -> Tensor:
        count = scores.shape[-1]
        return scores.masked_fill(self.future[:count, :count].bool(), -torch.inf)


@misconception(
    "CausalAttention",
    "The past is averaged: every token that is seen has the same weight, whatever the queries and keys are. How much "
    "one token hears of another is for their dot product to say.",
)
class past_averaged_in_module(Causal):
    def weigh(self, scores: Tensor, d_out: int) -> Tensor:
        return super().weigh(scores * 0, d_out)


@misconception(
    "CausalAttention",
    "Each token sees at most the one before it. The whole past is open, as far back as the text begins.",
)
class only_one_token_back(Causal):
    def hide(self, scores: Tensor) -> Tensor:
        too_far = future(scores.shape[-1]).T & ~torch.ones_like(scores[0], dtype=torch.bool).triu(-1)
        return super().hide(scores).masked_fill(too_far, -torch.inf)


# Softmax


@misconception("CausalAttention", WRONG_DIM)
class softmax_over_queries_in_module(Causal):
    def weigh(self, scores: Tensor, d_out: int) -> Tensor:
        return torch.softmax(self.scale(self.hide(scores), d_out), dim=1)


@misconception(
    "CausalAttention",
    "Softmax runs over the batch (dim=0), whose texts should not know of each other. The tokens to share among lie "
    "along the last dim, -1.",
)
class softmax_over_the_batch(Causal):
    def weigh(self, scores: Tensor, d_out: int) -> Tensor:
        return torch.softmax(self.scale(self.hide(scores), d_out), dim=0)


@misconception("CausalAttention", WHOLE_TENSOR)
class softmax_over_everything_in_module(Causal):
    def weigh(self, scores: Tensor, d_out: int) -> Tensor:
        flat = torch.softmax(self.scale(self.hide(scores), d_out).flatten(), dim=0)  # (B, T, T) -> (B · T · T,)
        return flat.view_as(scores)


@misconception(
    "CausalAttention",
    "The masked scores are used as weights as they are, and minus infinity spoils every sum. Softmax makes shares of "
    "them: positive, and zero for the future.",
)
class softmax_forgotten_in_module(Causal):
    def weigh(self, scores: Tensor, d_out: int) -> Tensor:
        return self.scale(self.hide(scores), d_out)


# The batch and the tokens


@misconception(
    "CausalAttention",
    "The inputs' shape is taken for one of another number of sizes than its three, as if there were no batch or one "
    "size more. It is (B, T, d_in), and the number of tokens is the second.",
)
class one_text_without_a_batch(Causal):
    def forward(self, inputs: Tensor) -> Tensor:
        _count, _d_in = inputs.shape
        return super().forward(inputs)


@misconception(
    "CausalAttention",
    "Batches of several texts end in an error: the batch is squeezed away, or its size is taken for the number of "
    "tokens, which is inputs.shape[1]. Leave it where it is; matrix products and softmax carry it along.",
)
class batch_of_one_only(Causal):
    def forward(self, inputs: Tensor) -> Tensor:
        if len(inputs) > 1:
            raise RuntimeError("no room for a second text")
        return super().forward(inputs)


@misconception(
    "CausalAttention",
    "Every text of the batch is given the weights of the first one. Each has scores of its own.",
)
class weights_of_the_first_text(Causal):
    def weigh(self, scores: Tensor, d_out: int) -> Tensor:
        return super().weigh(scores, d_out)[:1].expand_as(scores)


@misconception(
    "CausalAttention",
    "The texts of a batch are put one behind the other as one long text, so later ones see the earlier ones. Texts of "
    "a batch never look at each other.",
)
class batch_as_one_long_text(Causal):
    def forward(self, inputs: Tensor) -> Tensor:
        self.mask = future(inputs.shape[0] * inputs.shape[1])
        return super().forward(inputs.flatten(0, 1)[None]).view(*inputs.shape[:2], -1)  # (B, T, d) <-> (1, B · T, d)


@misconception(
    "CausalAttention",
    "A single token is no text here, but it should be: it sees itself, and its output is its own value.",
)
class single_token_refused(Causal):
    def forward(self, inputs: Tensor) -> Tensor:
        if inputs.shape[1] < 2:
            raise ValueError("there is no past")
        return super().forward(inputs)


@misconception(
    "CausalAttention",
    "`squeeze()` drops every dimension of length one: a batch of one text is no batch any more, and a text of one "
    "token no text.",
)
class lonely_text_squeezed(Causal):
    def forward(self, inputs: Tensor) -> Tensor:
        return super().forward(inputs).squeeze()


@misconception(
    "CausalAttention",
    "`view` asks that the numbers lie in memory in the order of the dimensions, which a transposed tensor's do not. "
    "`reshape` copies where it must; better still, nn.Linear takes any leading dimensions.",
)
class view_of_the_inputs(Causal):
    def project(self, inputs: Tensor) -> Triple:
        flat = inputs.view(-1, inputs.shape[-1])  # (B, T, d_in) -> (B · T, d_in)
        queries, keys, values = (part.view(*inputs.shape[:2], -1) for part in super().project(flat))
        return queries, keys, values


# Dropout


@misconception(
    "CausalAttention",
    "Dropout is never applied, in training either: it is made and not used, or its result thrown away. Pass the "
    "weights through it before they meet the values.",
)
class dropout_never_applied(Causal):
    def drop(self, weights: Tensor) -> Tensor:
        return weights


@misconception(
    "CausalAttention",
    "Weights are dropped in eval mode too. `F.dropout` does not know the mode unless told (`training=self.training`), "
    "and an nn.Dropout made in `forward` is always in training; make it in `__init__`.",
)
class dropout_in_eval_mode_too(Causal):
    def drop(self, weights: Tensor) -> Tensor:
        return nn.functional.dropout(weights, self.dropout.p)


@misconception(
    "CausalAttention",
    "Weights are dropped in eval mode and not in training: the mode is asked the wrong way round. Dropout makes "
    "training harder, and is gone where the model is used.",
)
class dropout_in_eval_mode_only(Causal):
    def drop(self, weights: Tensor) -> Tensor:
        return nn.functional.dropout(weights, self.dropout.p, training=not self.training)


@misconception(
    "CausalAttention",
    "Half of the weights are dropped, whatever `dropout` says: that is torch's own choice where no probability is "
    "given. Pass it on.",
)
class always_half_dropped(Causal):
    def __init__(self, d_in: int, d_out: int, context_length: int, dropout: float, qkv_bias: bool = False) -> None:  # noqa: ARG002
        super().__init__(d_in, d_out, context_length, 0.5, qkv_bias)


@misconception(
    "CausalAttention",
    "`dropout` is taken for the probability of keeping a weight. nn.Dropout, and this course, mean that of dropping "
    "one.",
)
class dropout_taken_for_keeping(Causal):
    def __init__(self, d_in: int, d_out: int, context_length: int, dropout: float, qkv_bias: bool = False) -> None:
        super().__init__(d_in, d_out, context_length, 1 - dropout, qkv_bias)


@misconception(
    "CausalAttention",
    "Dropout acts on the scores, before softmax. A score of zero is no weight of zero, and minus infinity times zero "
    "is NaN. Drop the weights, after softmax.",
)
class dropout_before_softmax(Causal):
    def weigh(self, scores: Tensor, d_out: int) -> Tensor:
        return torch.softmax(self.dropout(self.scale(self.hide(scores), d_out)), dim=-1)

    def drop(self, weights: Tensor) -> Tensor:
        return weights


@misconception(
    "CausalAttention",
    "In training the weights change, but none becomes zero: dropout acts before the softmax, on the scores or on what "
    "they are made of. A score of zero is no weight of zero: softmax gives it its share. Drop the weights, after "
    "softmax.",
)
class dropout_before_the_mask(Causal):
    def weigh(self, scores: Tensor, d_out: int) -> Tensor:
        return super().weigh(self.dropout(scores), d_out)

    def drop(self, weights: Tensor) -> Tensor:
        return weights


@misconception(
    "CausalAttention",
    "Dropout acts on the values. A dropped feature is then missing for every token that looks there; it is the single "
    "look, the weight, that is dropped.",
)
class dropout_on_the_values(Causal):
    def attend(self, queries: Tensor, keys: Tensor, values: Tensor) -> Tensor:
        return super().attend(queries, keys, self.dropout(values))

    def drop(self, weights: Tensor) -> Tensor:
        return weights


@misconception(
    "CausalAttention",
    "Dropout acts on the outputs. That comes later in a transformer, too, but here it is the weights that are dropped, "
    "before they meet the values.",
)
class dropout_on_the_outputs(Causal):
    def drop(self, weights: Tensor) -> Tensor:
        return weights

    def forward(self, inputs: Tensor) -> Tensor:
        return self.dropout(super().forward(inputs))


@misconception(
    "CausalAttention",
    "Dropout acts twice, on the weights and once more on the outputs. In this module it is for the weights alone.",
)
class dropout_on_weights_and_outputs(Causal):
    def forward(self, inputs: Tensor) -> Tensor:
        return self.dropout(super().forward(inputs))


@misconception(
    "CausalAttention",
    "Dropout acts on the inputs. Their projections then lose parts of everything; here it is the attention weights "
    "that are dropped.",
)
class dropout_on_the_inputs(Causal):
    def drop(self, weights: Tensor) -> Tensor:
        return weights

    def forward(self, inputs: Tensor) -> Tensor:
        return super().forward(self.dropout(inputs))


@misconception(
    "CausalAttention",
    "After dropout the rows are made to sum to one again. They do so on average only: what is kept is divided by "
    "1 - dropout, and nothing else.",
)
class rows_renormalized_after_dropout(Causal):
    def drop(self, weights: Tensor) -> Tensor:
        left = self.dropout(weights)
        return left / left.sum(-1, keepdim=True)


@misconception(
    "CausalAttention",
    "After dropout the rows are made to sum to one again, with care for those that lost everything. They do so on "
    "average only: what is kept is divided by 1 - dropout, and nothing else.",
)
class rows_renormalized_with_care(Causal):
    def drop(self, weights: Tensor) -> Tensor:
        left = self.dropout(weights)
        return left / left.sum(-1, keepdim=True).clamp(min=1e-9)


@misconception(
    "CausalAttention",
    "Weights are dropped, but those that are kept stay as they were. Divided by 1 - dropout they make up for those "
    "that are gone.",
)
class survivors_not_scaled_in_module(Causal):
    def drop(self, weights: Tensor) -> Tensor:
        return self.dropout(weights) * (1 - self.dropout.p) if self.training else weights


@misconception(
    "CausalAttention",
    "What to drop is drawn once, when the module is made. Draw in each call anew, so that no token can be relied on.",
)
class dropped_once_and_for_all(Causal):
    def __init__(self, d_in: int, d_out: int, context_length: int, dropout: float, qkv_bias: bool = False) -> None:
        super().__init__(d_in, d_out, context_length, dropout, qkv_bias)
        self.kept = self.dropout(torch.ones(4, context_length, context_length))

    def drop(self, weights: Tensor) -> Tensor:
        return weights * self.kept[: len(weights), : weights.shape[1], : weights.shape[2]] if self.training else weights


@misconception(
    "CausalAttention",
    "All texts of a batch lose the same weights: what to drop is drawn for (T, T). Draw for (B, T, T).",
)
class texts_dropped_alike(Causal):
    def drop(self, weights: Tensor) -> Tensor:
        return weights * self.dropout(torch.ones_like(weights[:1]))


@misconception(
    "CausalAttention",
    "Whole tokens are dropped: what is drawn is one number for each, and all others see it or none does. Draw for each "
    "weight.",
)
class whole_tokens_dropped(Causal):
    def drop(self, weights: Tensor) -> Tensor:
        return weights * self.dropout(torch.ones_like(weights[:, :1]))


@misconception(
    "CausalAttention",
    "Whole rows of weights are dropped: a token sees all of its past or nothing. Draw for each weight; nn.Dropout "
    "does, while nn.Dropout1d and its like drop whole rows.",
)
class whole_rows_dropped(Causal):
    def drop(self, weights: Tensor) -> Tensor:
        return weights * self.dropout(torch.ones_like(weights[..., :1]))


# Layers


@misconception(
    "CausalAttention",
    "The three are matrices made by hand, as in the first version of self-attention. Here each is an nn.Linear, which "
    "brings its own weight.",
)
class matrices_instead_of_layers(Causal):
    def __init__(self, d_in: int, d_out: int, context_length: int, dropout: float, qkv_bias: bool = False) -> None:
        super().__init__(d_in, d_out, context_length, dropout, qkv_bias)
        for name in MATRICES:
            delattr(self, name)
            setattr(self, name, nn.Parameter(torch.rand(d_in, d_out)))

    def project(self, inputs: Tensor) -> Triple:
        queries, keys, values = (inputs @ getattr(self, name) for name in MATRICES)
        return queries, keys, values


@misconception(
    "CausalAttention",
    "nn.Linear takes what comes in first and what goes out second: nn.Linear(d_in, d_out).",
)
class layers_the_other_way_round(Causal):
    def __init__(self, d_in: int, d_out: int, context_length: int, dropout: float, qkv_bias: bool = False) -> None:
        super().__init__(d_out, d_in, context_length, dropout, qkv_bias)


@misconception(
    "CausalAttention",
    "The layers have the sizes of the worked example, three and two. A class should use its own arguments, d_in and "
    "d_out, or it works for one notebook only.",
)
class layers_of_the_worked_example(Causal):
    def __init__(self, d_in: int, d_out: int, context_length: int, dropout: float, qkv_bias: bool = False) -> None:  # noqa: ARG002
        super().__init__(3, 2, context_length, dropout, qkv_bias)


@misconception(
    "CausalAttention",
    "The layers have a bias whether asked for or not, for that is what nn.Linear does by itself. Pass qkv_bias on: "
    "bias=qkv_bias.",
)
class bias_always(Causal):
    def __init__(self, d_in: int, d_out: int, context_length: int, dropout: float, qkv_bias: bool = False) -> None:  # noqa: ARG002
        super().__init__(d_in, d_out, context_length, dropout, True)


@misconception(
    "CausalAttention",
    "The layers never have a bias. qkv_bias is the caller's choice, so pass it on: bias=qkv_bias.",
)
class bias_never(Causal):
    def __init__(self, d_in: int, d_out: int, context_length: int, dropout: float, qkv_bias: bool = False) -> None:  # noqa: ARG002
        super().__init__(d_in, d_out, context_length, dropout, False)


@misconception(
    "CausalAttention",
    "Only W_query gets its bias. The q, the k and the v in qkv_bias mean all three layers.",
)
class bias_in_W_query_only(Causal):
    def __init__(self, d_in: int, d_out: int, context_length: int, dropout: float, qkv_bias: bool = False) -> None:
        super().__init__(d_in, d_out, context_length, dropout, qkv_bias)
        self.W_key = nn.Linear(d_in, d_out, bias=False)
        self.W_value = nn.Linear(d_in, d_out, bias=False)


@misconception(
    "CausalAttention",
    "Only the layers' weights are used, and their biases are left lying. Call the layer, W_query(inputs), and it adds "
    "its bias too.",
)
class biases_made_but_unused(Causal):
    def project(self, inputs: Tensor) -> Triple:
        # (d_out, d_in) -> (d_in, d_out), three times
        return inputs @ self.W_query.weight.T, inputs @ self.W_key.weight.T, inputs @ self.W_value.weight.T


@misconception(
    "CausalAttention",
    "W_query serves as all three layers, and the other two are made but never used. Each role has its own weights to "
    "learn.",
)
class one_layer_in_use(Causal):
    def project(self, inputs: Tensor) -> Triple:
        return self.W_query(inputs), self.W_query(inputs), self.W_query(inputs)


@misconception(
    "CausalAttention",
    "Queries and keys have changed places: row i of the scores belongs to query i and holds its dot products with "
    "every key.",
)
class keys_ask_the_queries(Causal):
    def project(self, inputs: Tensor) -> Triple:
        return self.W_key(inputs), self.W_query(inputs), self.W_value(inputs)


@misconception(
    "CausalAttention",
    "W_key is made but never used: queries are compared with queries. What a token looks for and what it can be found "
    "by are different things.",
)
class key_layer_unused(Causal):
    def project(self, inputs: Tensor) -> Triple:
        return self.W_query(inputs), self.W_query(inputs), self.W_value(inputs)


@misconception(
    "CausalAttention",
    "The weights mix the keys. Keys are only there to be compared with queries; what is handed over are the values.",
)
class keys_handed_over(Causal):
    def project(self, inputs: Tensor) -> Triple:
        return self.W_query(inputs), self.W_key(inputs), self.W_key(inputs)


@misconception(
    "CausalAttention",
    "W_value is made but never used: the weights mix the inputs themselves. What is mixed are the values, "
    "W_value(inputs).",
)
class value_layer_unused(Causal):
    def project(self, inputs: Tensor) -> Triple:
        return self.W_query(inputs), self.W_key(inputs), inputs


@misconception(
    "CausalAttention",
    "The module gives contexts and weights. The next layer wants one tensor: give the contexts alone.",
)
class both_results(Causal):
    def forward(self, inputs: Tensor) -> tuple[Tensor, Tensor]:  # type: ignore[override]
        queries, keys, values = self.project(inputs)
        weights = self.drop(self.weigh(queries @ keys.transpose(-2, -1), queries.shape[-1]))
        return weights @ values, weights


@misconception(
    "CausalAttention",
    "The module gives the attention weights. They say how much each token matters; the output is what they make of the "
    "values.",
)
class weights_instead_of_contexts(Causal):
    def attend(self, queries: Tensor, keys: Tensor, values: Tensor) -> Tensor:  # noqa: ARG002
        return self.drop(self.weigh(queries @ keys.transpose(-2, -1), queries.shape[-1]))


# Gradients, dtypes, arguments


@misconception(
    "CausalAttention",
    "No gradient comes through: by `.detach()`, `.data` or `torch.no_grad()` the outputs, or those of the layers, are "
    "cut off, so that nothing below them can learn.",
)
class gradients_switched_off(Causal):
    def project(self, inputs: Tensor) -> Triple:
        queries, keys, values = super().project(inputs)
        return queries.detach(), keys.detach(), values.detach()


@misconception(
    "CausalAttention",
    "The weights are cut off from the gradients before they meet the values, so that only the values learn. What to "
    "look for is to be learnt as well.",
)
class only_values_learn(Causal):
    def drop(self, weights: Tensor) -> Tensor:
        return self.dropout(weights.detach())


@misconception(
    "CausalAttention",
    "Something is made float32 on the way, the inputs or a tensor of your own, and does not fit what is float64. Let "
    "the inputs keep their dtype, and make your own tensors like them.",
)
class inputs_made_float32(Causal):
    def project(self, inputs: Tensor) -> Triple:
        return super().project(inputs.float())


@misconception(
    "CausalAttention",
    "The caller's inputs were changed. What comes in may be needed elsewhere, so work on a copy, and write `x = x - …` "
    "rather than `x -= …`.",
)
class inputs_changed_in_place(Causal):
    def forward(self, inputs: Tensor) -> Tensor:
        output = super().forward(inputs)
        inputs -= inputs.mean(dim=-1, keepdim=True)
        return output
