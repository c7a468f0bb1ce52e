"""Unit 4: wrong answers that learners give, each with the sentence that would help who wrote it.

A name says what was done. Where the same slip is known of several exercises, the name says of which this is.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.nn import functional

from grader.misconceptions import misconception

LAYERS = ("W_query", "W_key", "W_value")

# -- slips that several exercises share --------------------------------------------------------------------------

DEALT_IN_TURN = (
    "The features are dealt out to the heads in turn, like cards. Head 0 has the first head_dim features, head 1 the "
    "next, and so on: reshape to (…, num_heads, head_dim), in this order."
)
EXCHANGED = (
    "num_heads and head_dim have changed places: there are num_heads heads, and each has head_dim = d_out / num_heads "
    "features."
)
LEFT_TO_RESHAPE = (
    "Heads that do not divide the features end in another error than ValueError, perhaps because reshape stumbles over "
    "them. Look first, and raise a ValueError that says in words what does not fit."
)
NO_ERROR = (
    "Heads that do not divide the features go through: features are lost or made up, or nothing comes back. Whoever "
    "calls has made a mistake, and only an error tells them."
)
ALL_REFUSED = (
    "Heads are refused that divide the features well. d_out % num_heads is what is left over: raise only where it is "
    "not zero."
)
VIEW_REFUSED = (
    "`view` needs numbers that lie in memory in the right order, and after a transpose they do not. `reshape` copies "
    "where it has to."
)
DETACHED = (
    "The numbers are taken out of the graph, by `.detach()`, `.data` or a list, so no gradient finds its way back "
    "through them."
)
CHANGED = (
    "The caller's tensor was changed. A method whose name ends in an underscore works on the tensor itself; the one "
    "without gives a view and leaves it alone."
)
MIXED_BY_RESHAPE = (
    "The shape is right, but `reshape` or `view` cuts the numbers anew in the order in which they lie, so a head gets "
    "features of different tokens. Exchange the two dimensions: transpose(1, 2)."
)
TOKENS_FOR_HEADS = (
    "Heads and tokens have changed places in the `reshape` or `view`, which mixes the tokens. Only the last dimension "
    "is taken apart: the tokens stay second."
)


def unrolled(x: Tensor, num_heads: int) -> Tensor:
    if x.shape[-1] % num_heads:
        raise ValueError(f"{num_heads} heads do not divide {x.shape[-1]} features")
    return x.reshape(*x.shape[:-1], num_heads, x.shape[-1] // num_heads)  # (B, T, d_out) -> (B, T, H, head_dim)


# -- unroll_heads ------------------------------------------------------------------------------------------------


@misconception("unroll_heads", DEALT_IN_TURN)
def features_dealt_in_turn(x: Tensor, num_heads: int) -> Tensor:
    return unrolled(x, x.shape[-1] // num_heads if x.shape[-1] % num_heads == 0 else num_heads).transpose(2, 3)


@misconception("unroll_heads", EXCHANGED)
def heads_and_features_exchanged(x: Tensor, num_heads: int) -> Tensor:
    return unrolled(x, x.shape[-1] // num_heads if x.shape[-1] % num_heads == 0 else num_heads)


@misconception(
    "unroll_heads",
    "The heads come last. Each head should have its features side by side: heads third, features last.",
)
def heads_last(x: Tensor, num_heads: int) -> Tensor:
    return unrolled(x, num_heads).transpose(2, 3)  # (B, T, H, head_dim) -> (B, T, head_dim, H)


@misconception(
    "unroll_heads",
    "The heads are brought in front of the tokens already. That is the next step; here only the last dimension becomes "
    "two.",
)
def grouped_already(x: Tensor, num_heads: int) -> Tensor:
    return unrolled(x, num_heads).transpose(1, 2)  # (B, T, H, head_dim) -> (B, H, T, head_dim)


@misconception("unroll_heads", TOKENS_FOR_HEADS)
def tokens_taken_for_heads(x: Tensor, num_heads: int) -> Tensor:
    return unrolled(x, num_heads).reshape(x.shape[0], num_heads, x.shape[1], -1)  # to (B, H, T, head_dim), mixed


@misconception("unroll_heads", TOKENS_FOR_HEADS)
def tokens_taken_for_heads_in_a_view(x: Tensor, num_heads: int) -> Tensor:
    return x.view(x.shape[0], num_heads, *unrolled(x, num_heads).shape[1::2])  # to (B, H, T, head_dim), mixed


@misconception("unroll_heads", LEFT_TO_RESHAPE)
def check_left_to_reshape(x: Tensor, num_heads: int) -> Tensor:
    return x.reshape(*x.shape[:2], num_heads, x.shape[2] // num_heads)  # (B, T, d_out) -> (B, T, H, head_dim)


@misconception("unroll_heads", NO_ERROR)
def rest_cut_off(x: Tensor, num_heads: int) -> Tensor:
    return unrolled(x[..., : x.shape[2] // num_heads * num_heads], num_heads)


@misconception("unroll_heads", ALL_REFUSED)
def every_division_refused(x: Tensor, num_heads: int) -> Tensor:
    if num_heads % x.shape[-1] != 0:
        raise ValueError("d_out must be divisible by num_heads")
    return unrolled(x, num_heads)


@misconception("unroll_heads", VIEW_REFUSED)
def tokens_viewed_as_one_row(x: Tensor, num_heads: int) -> Tensor:
    batch, tokens, _ = unrolled(x, num_heads).shape[:3]
    return x.view(batch * tokens, num_heads, -1).view(batch, tokens, num_heads, -1)  # (B · T, H, head_dim) between


@misconception("unroll_heads", DETACHED)
def unrolled_without_gradients(x: Tensor, num_heads: int) -> Tensor:
    return unrolled(x.detach(), num_heads)


@misconception("unroll_heads", CHANGED)
def resized_in_place(x: Tensor, num_heads: int) -> Tensor:
    return x.resize_(unrolled(x, num_heads).shape)  # (B, T, d_out) -> (B, T, H, head_dim)


# -- group_by_head -----------------------------------------------------------------------------------------------


@misconception("group_by_head", MIXED_BY_RESHAPE)
def reshaped_instead_of_transposed(x: Tensor) -> Tensor:
    batch, tokens, heads, head_dim = x.shape
    return x.reshape(batch, heads, tokens, head_dim)


@misconception("group_by_head", MIXED_BY_RESHAPE)
def viewed_instead_of_transposed(x: Tensor) -> Tensor:
    batch, tokens, heads, head_dim = x.shape
    return x.view(batch, heads, tokens, head_dim)


@misconception(
    "group_by_head",
    "The batch has changed places with the heads. Dimensions are counted from 0, and the batch stays in front: "
    "transpose(1, 2).",
)
def batch_exchanged_with_heads(x: Tensor) -> Tensor:
    return x.transpose(0, 2)  # (B, T, H, head_dim) -> (H, T, B, head_dim)


@misconception(
    "group_by_head",
    "The last two dimensions have changed places. It is tokens and heads, the second and the third, that should.",
)
def heads_exchanged_with_features(x: Tensor) -> Tensor:
    return x.transpose(2, 3)  # (B, T, H, head_dim) -> (B, T, head_dim, H)


@misconception(
    "group_by_head",
    "Tokens and features have changed places. It is tokens and heads, the second and the third dimension, that should.",
)
def tokens_exchanged_with_features(x: Tensor) -> Tensor:
    return x.transpose(1, 3)  # (B, T, H, head_dim) -> (B, head_dim, H, T)


@misconception(
    "group_by_head",
    "The heads stand in front of the batch. Every sequence has its own heads, so the batch stays first.",
)
def heads_in_front_of_the_batch(x: Tensor) -> Tensor:
    return x.permute(2, 0, 1, 3)  # (B, T, H, head_dim) -> (H, B, T, head_dim)


@misconception(
    "group_by_head",
    "Nothing has moved: the heads are still inside each token. `transpose` gives its result and leaves the tensor as "
    "it was, so return what it gives.",
)
def transpose_thrown_away(x: Tensor) -> Tensor:
    x.transpose(1, 2)
    return x


@misconception(
    "group_by_head",
    "The heads of all tokens are in one long row: (B, H · T, head_dim). A head's tokens need a dimension of their own.",
)
def heads_and_tokens_in_one_row(x: Tensor) -> Tensor:
    return x.transpose(1, 2).flatten(1, 2)  # (B, T, H, head_dim) -> (B, H · T, head_dim)


@misconception("group_by_head", VIEW_REFUSED)
def features_viewed_as_one_row(x: Tensor) -> Tensor:
    batch, tokens, heads, head_dim = x.shape
    rows = x.view(batch, tokens, heads * head_dim)  # (B, T, H, head_dim) -> (B, T, H · head_dim)
    return torch.stack(rows.split(head_dim, dim=2), dim=1)  # -> (B, H, T, head_dim)


@misconception("group_by_head", DETACHED)
def grouped_without_gradients(x: Tensor) -> Tensor:
    return x.data.transpose(1, 2)  # (B, T, H, head_dim) -> (B, H, T, head_dim)


@misconception("group_by_head", CHANGED)
def transposed_in_place(x: Tensor) -> Tensor:
    return x.transpose_(1, 2)  # (B, T, H, head_dim) -> (B, H, T, head_dim)


# -- head_scores -------------------------------------------------------------------------------------------------


def dot_products(queries: Tensor, keys: Tensor) -> Tensor:
    """The right answer."""
    return queries @ keys.transpose(-2, -1)  # (B, H, T, head_dim) @ (B, H, head_dim, T) -> (B, H, T, T)


@misconception(
    "head_scores",
    "The scores are divided by √head_dim here already. Here they are plain dot products; the next exercise scales "
    "them, once.",
)
def scores_scaled_already(queries: Tensor, keys: Tensor) -> Tensor:
    return dot_products(queries, keys) / keys.shape[-1] ** 0.5


@misconception(
    "head_scores",
    "The future is hidden here already. This exercise gives every score; which of them count is for the next one to "
    "say.",
)
def future_hidden_already(queries: Tensor, keys: Tensor) -> Tensor:
    scores = dot_products(queries, keys)
    return scores.masked_fill(torch.ones_like(scores).triu(1).bool(), -torch.inf)


@misconception(
    "head_scores",
    "Softmax is taken here already. A score may be any number; the next exercise makes weights of them.",
)
def scores_made_weights(queries: Tensor, keys: Tensor) -> Tensor:
    return torch.softmax(dot_products(queries, keys), dim=-1)


@misconception(
    "head_scores",
    "Queries and keys have changed places: row i belongs to query i and holds its dot products with every key.",
)
def keys_ask_the_queries(queries: Tensor, keys: Tensor) -> Tensor:
    return dot_products(keys, queries)


@misconception(
    "head_scores",
    "The queries are compared with themselves, and the keys have no part in the scores.",
)
def queries_compared_with_queries(queries: Tensor, keys: Tensor) -> Tensor:
    return dot_products(queries, queries) + 0 * keys.sum()


@misconception(
    "head_scores",
    "The product of queries and keys does not fit. Turn only a head's own matrix of keys, tokens by features, with "
    "transpose(-2, -1), and take `@`, which allows any dimensions in front.",
)
def wrong_dimensions_transposed(queries: Tensor, keys: Tensor) -> Tensor:
    return queries @ keys.transpose(1, 2)  # (B, H, T, head_dim) @ (B, T, H, head_dim)


@misconception(
    "head_scores",
    "The keys are reshaped to (…, head_dim, T), not transposed: the shape fits, but each column holds features of "
    "different keys.",
)
def keys_reshaped_instead_of_transposed(queries: Tensor, keys: Tensor) -> Tensor:
    return queries @ keys.reshape(*keys.shape[:2], keys.shape[3], keys.shape[2])  # (B, H, head_dim, T), mixed


@misconception(
    "head_scores",
    "Each query meets only the key at its own place. It should meet all keys of its head: a matrix product, with a row "
    "of scores for each query.",
)
def only_the_own_key(queries: Tensor, keys: Tensor) -> Tensor:
    return (queries * keys).sum(dim=-1)  # (B, H, T, head_dim) -> (B, H, T)


@misconception(
    "head_scores",
    "`*` multiplies entry by entry. A dot product sums over the features, and `@` takes it of every query with every "
    "key.",
)
def multiplied_entry_by_entry(queries: Tensor, keys: Tensor) -> Tensor:
    return queries * keys


@misconception(
    "head_scores",
    "The scores of all heads are summed into one matrix. Each head has an opinion of its own, and a (T, T) matrix of "
    "its own.",
)
def heads_summed(queries: Tensor, keys: Tensor) -> Tensor:
    return dot_products(queries, keys).sum(dim=1)  # (B, H, T, T) -> (B, T, T)


@misconception(
    "head_scores",
    "A head's queries are compared with the keys of all heads. Heads do not talk to each other here: compare within "
    "the head.",
)
def keys_of_all_heads(queries: Tensor, keys: Tensor) -> Tensor:
    return dot_products(queries, keys.sum(dim=1, keepdim=True))  # keys (B, 1, T, head_dim), the same for all heads


@misconception(
    "head_scores",
    "Every sequence is compared with the keys of the first one. The elements of a batch are independent of each other.",
)
def keys_of_the_first_sequence(queries: Tensor, keys: Tensor) -> Tensor:
    return dot_products(queries, keys[:1])  # keys (1, H, T, head_dim), the same for all sequences


@misconception(
    "head_scores",
    "The vectors are made to have length one before they are compared. A dot product counts their lengths, too: a long "
    "key is easier to find.",
)
def cosines_instead_of_dot_products(queries: Tensor, keys: Tensor) -> Tensor:
    return dot_products(functional.normalize(queries, dim=-1), functional.normalize(keys, dim=-1))


@misconception("head_scores", VIEW_REFUSED)
def heads_viewed_as_a_batch(queries: Tensor, keys: Tensor) -> Tensor:
    batch, heads, tokens, head_dim = queries.shape
    flat = queries.view(batch * heads, tokens, head_dim), keys.view(batch * heads, tokens, head_dim)
    return torch.bmm(flat[0], flat[1].mT).view(batch, heads, tokens, tokens)  # (B · H, T, T) -> (B, H, T, T)


@misconception("head_scores", DETACHED)
def scored_without_gradients(queries: Tensor, keys: Tensor) -> Tensor:
    return dot_products(queries.detach(), keys.detach())


@misconception(
    "head_scores",
    "The keys are cut off from the gradients, so only the queries can learn. What a token can be found by is to be "
    "learnt as well.",
)
def only_queries_learn(queries: Tensor, keys: Tensor) -> Tensor:
    return dot_products(queries, keys.detach())


@misconception("head_scores", CHANGED)
def keys_transposed_in_place(queries: Tensor, keys: Tensor) -> Tensor:
    return queries @ keys.transpose_(-2, -1)  # (B, H, T, head_dim) -> (B, H, head_dim, T)


# -- head_weights ------------------------------------------------------------------------------------------------


def hidden(scores: Tensor, diagonal: int = 1) -> Tensor:
    """(…, T, T), True where the key is in the future."""
    return torch.ones_like(scores).triu(diagonal).bool()


def causal(scores: Tensor) -> Tensor:
    return torch.softmax(scores.masked_fill(hidden(scores), -torch.inf), dim=-1)


UNSCALED = (
    "The scores are not scaled. The wider a head, the wilder its dot products; divided by √head_dim they keep a "
    "variance near 1, and softmax stays gentle."
)
NO_ROOT = (
    "The scores are divided by head_dim itself. Their standard deviation is √head_dim, so that is what brings it to 1."
)
HALF = (
    "`/` and `*` bind alike, from left to right: `/ head_dim*0.5` divides by head_dim and then takes the half. A "
    "square root is a power, `head_dim**0.5`."
)
TWENTIETH = (
    "The exponent is `.05`, a twentieth, and nearly nothing is divided. A square root is the power of a half, `0.5`."
)
MULTIPLIED = "The scores are multiplied by √head_dim, which makes wild scores wilder. Divide by it."
BY_TOKENS = (
    "The scores are divided by the root of the number of tokens. A dot product sums over a head's features, so it is "
    "their number, head_dim, that makes it grow."
)
BY_WIDTH = (
    "The scores are divided by √d_out, the width of all heads together. Each dot product has only head_dim features in "
    "it: divide by √head_dim."
)
SCALED_LATE = (
    "The weights are divided after softmax. They then no longer sum to one; it is the scores, before softmax, that are "
    "too wild."
)
FUTURE_VISIBLE = (
    "Tokens see the future: the mask is missing, or its result is thrown away. `masked_fill` gives a new tensor; only "
    "`masked_fill_`, with the underscore, changes the old one."
)
PAST_HIDDEN = (
    "The mask is upside down: each token sees itself and what comes later. The future lies above the diagonal, in "
    "`triu(diagonal=1)`."
)
DIAGONAL_HIDDEN = (
    "The diagonal is hidden, too, so the first token has no key left, and softmax gives nan. A token sees itself: "
    "begin one above, `diagonal=1`."
)
DIAGONAL_LOWERED = (
    "The diagonal is hidden, too, so the first token has no key left, and all its scores are the same: it hears every "
    "token alike, those of the future, too. A token sees itself: begin one above, `diagonal=1`."
)
NEXT_VISIBLE = (
    "The mask begins one place too far to the right, so each token sees the next one, which it is to predict. The "
    "future begins at `diagonal=1`."
)
ZERO_BEFORE_SOFTMAX = (
    "Scores of the future are set to zero before softmax. A score of zero still gets a share, e⁰ = 1; only minus "
    "infinity gets none."
)
ZERO_AFTER_SOFTMAX = (
    "The future is set to zero after softmax, and what is left no longer sums to one. Hide it before softmax, with "
    "minus infinity."
)
SOFTMAX_OVER_QUERIES = (
    "Softmax runs over the queries: the columns sum to one, not the rows. Each query shares its attention among the "
    "keys, and those lie along the last dim."
)
SOFTMAX_OVER_HEADS = (
    "Softmax runs over dimension 1, which is the heads, so they compete for each key. The keys lie along the last dim, "
    "however many come before."
)
NO_SOFTMAX = (
    "The scores are used as weights as they are. Softmax makes shares of them: positive, and with the sum one for each "
    "query."
)


@misconception("head_weights", UNSCALED)
def scaling_forgotten(scores: Tensor, head_dim: int) -> Tensor:  # noqa: ARG001
    return causal(scores)


@misconception("head_weights", NO_ROOT)
def divided_by_head_dim_itself(scores: Tensor, head_dim: int) -> Tensor:
    return causal(scores / head_dim)


@misconception("head_weights", HALF)
def half_instead_of_root(scores: Tensor, head_dim: int) -> Tensor:
    return causal(scores / head_dim * 0.5)


@misconception("head_weights", TWENTIETH)
def twentieth_root(scores: Tensor, head_dim: int) -> Tensor:
    return causal(scores / head_dim**0.05)


@misconception("head_weights", MULTIPLIED)
def multiplied_by_root(scores: Tensor, head_dim: int) -> Tensor:
    return causal(scores * head_dim**0.5)


@misconception("head_weights", BY_TOKENS)
def scaled_by_number_of_tokens(scores: Tensor, head_dim: int) -> Tensor:  # noqa: ARG001
    return causal(scores / scores.shape[-1] ** 0.5)


@misconception("head_weights", BY_WIDTH)
def scaled_by_all_heads_together(scores: Tensor, head_dim: int) -> Tensor:
    return causal(scores / (scores.shape[1] * head_dim) ** 0.5)


@misconception(
    "head_weights",
    "The scores are divided by the root of the number of heads. A dot product sums over one head's features, so it is "
    "their number, head_dim, that makes it grow.",
)
def scaled_by_number_of_heads(scores: Tensor, head_dim: int) -> Tensor:  # noqa: ARG001
    return causal(scores / scores.shape[1] ** 0.5)


@misconception("head_weights", SCALED_LATE)
def scaled_after_softmax(scores: Tensor, head_dim: int) -> Tensor:
    return causal(scores) / head_dim**0.5


@misconception("head_weights", FUTURE_VISIBLE)
def future_visible(scores: Tensor, head_dim: int) -> Tensor:
    scores.masked_fill(hidden(scores), -torch.inf)
    return torch.softmax(scores / head_dim**0.5, dim=-1)


@misconception("head_weights", PAST_HIDDEN)
def past_hidden(scores: Tensor, head_dim: int) -> Tensor:
    return torch.softmax((scores / head_dim**0.5).masked_fill(hidden(scores).mT, -torch.inf), dim=-1)


@misconception("head_weights", DIAGONAL_HIDDEN)
def diagonal_hidden(scores: Tensor, head_dim: int) -> Tensor:
    return torch.softmax((scores / head_dim**0.5).masked_fill(hidden(scores, 0), -torch.inf), dim=-1)


@misconception("head_weights", DIAGONAL_LOWERED)
def diagonal_lowered(scores: Tensor, head_dim: int) -> Tensor:
    return torch.softmax((scores / head_dim**0.5).masked_fill(hidden(scores, 0), -1e9), dim=-1)


@misconception("head_weights", NEXT_VISIBLE)
def next_token_visible(scores: Tensor, head_dim: int) -> Tensor:
    return torch.softmax((scores / head_dim**0.5).masked_fill(hidden(scores, 2), -torch.inf), dim=-1)


@misconception("head_weights", ZERO_BEFORE_SOFTMAX)
def future_zero_before_softmax(scores: Tensor, head_dim: int) -> Tensor:
    return torch.softmax(scores.tril() / head_dim**0.5, dim=-1)


@misconception("head_weights", ZERO_AFTER_SOFTMAX)
def future_zero_after_softmax(scores: Tensor, head_dim: int) -> Tensor:
    return torch.softmax(scores / head_dim**0.5, dim=-1).tril()


@misconception(
    "head_weights",
    "The future is cut away after softmax, and the rows divided by what is left. Where the future has nearly all the "
    "weight, next to nothing is left to divide by: hide it before softmax.",
)
def renormalised_after_softmax(scores: Tensor, head_dim: int) -> Tensor:
    seen = torch.softmax(scores / head_dim**0.5, dim=-1).tril()
    return seen / seen.sum(dim=-1, keepdim=True)


@misconception(
    "head_weights",
    "The future is lowered by a fixed amount, which a score that is far above the others survives. Minus infinity lets "
    "none survive.",
)
def future_lowered_by_too_little(scores: Tensor, head_dim: int) -> Tensor:
    return torch.softmax((scores - 1000.0 * hidden(scores)) / head_dim**0.5, dim=-1)


@misconception("head_weights", SOFTMAX_OVER_QUERIES)
def softmax_over_queries(scores: Tensor, head_dim: int) -> Tensor:
    return torch.softmax((scores / head_dim**0.5).masked_fill(hidden(scores), -torch.inf), dim=-2)


@misconception("head_weights", SOFTMAX_OVER_HEADS)
def softmax_over_heads(scores: Tensor, head_dim: int) -> Tensor:
    return torch.softmax((scores / head_dim**0.5).masked_fill(hidden(scores), -torch.inf), dim=1)


@misconception("head_weights", SOFTMAX_OVER_HEADS)
def softmax_over_heads_of_lowered_scores(scores: Tensor, head_dim: int) -> Tensor:
    return torch.softmax((scores / head_dim**0.5).masked_fill(hidden(scores), -1e9), dim=1)


@misconception(
    "head_weights",
    "Softmax runs over the batch, so sequences compete that should not know of each other. The keys lie along the last "
    "dim, -1.",
)
def softmax_over_the_batch(scores: Tensor, head_dim: int) -> Tensor:
    return torch.softmax((scores / head_dim**0.5).masked_fill(hidden(scores), -torch.inf), dim=0)


@misconception("head_weights", NO_SOFTMAX)
def softmax_forgotten(scores: Tensor, head_dim: int) -> Tensor:
    return (scores / head_dim**0.5).tril()


@misconception(
    "head_weights",
    "The scores of the past are divided by their sum. Scores may be negative, and their sum near zero, so shares made "
    "that way can be anything; softmax takes exponentials first.",
)
def divided_by_sum(scores: Tensor, head_dim: int) -> Tensor:
    seen = (scores / head_dim**0.5).tril()
    return seen / seen.sum(dim=-1, keepdim=True)


@misconception(
    "head_weights",
    "Every token of the past gets the same weight, whatever the scores are. How much one token hears of another is for "
    "the scores to say.",
)
def past_averaged(scores: Tensor, head_dim: int) -> Tensor:  # noqa: ARG001
    return causal(torch.zeros_like(scores))


@misconception(
    "head_weights",
    "The mask's size does not fit the scores. It says for each query which keys it may see, so it is (T, T), and all "
    "heads share it: T is the last dimension of the scores.",
)
def mask_as_large_as_the_heads(scores: Tensor, head_dim: int) -> Tensor:
    mask = torch.ones(scores.shape[1], scores.shape[1]).triu(1).bool()  # (H, H)
    return torch.softmax(scores.masked_fill(mask, -torch.inf) / head_dim**0.5, dim=-1)


@misconception("head_weights", DETACHED)
def weighed_without_gradients(scores: Tensor, head_dim: int) -> Tensor:
    return causal(scores.detach() / head_dim**0.5)


@misconception(
    "head_weights",
    "The caller's scores were changed. `masked_fill_` with its underscore, `/=` and an assignment to a part of a "
    "tensor work on the tensor itself; `masked_fill` and `/` give a new one.",
)
def scores_masked_in_place(scores: Tensor, head_dim: int) -> Tensor:
    return torch.softmax(scores.masked_fill_(hidden(scores), -torch.inf) / head_dim**0.5, dim=-1)


# -- split_heads -------------------------------------------------------------------------------------------------


def split(x: Tensor, num_heads: int) -> Tensor:
    """The right answer."""
    return unrolled(x, num_heads).transpose(1, 2)  # (B, T, H, head_dim) -> (B, H, T, head_dim)


@misconception("split_heads", MIXED_BY_RESHAPE)
def split_by_reshape_alone(x: Tensor, num_heads: int) -> Tensor:
    return unrolled(x, num_heads).reshape(x.shape[0], num_heads, x.shape[1], -1)  # to (B, H, T, head_dim), mixed


@misconception("split_heads", MIXED_BY_RESHAPE)
def split_by_view_alone(x: Tensor, num_heads: int) -> Tensor:
    return tokens_taken_for_heads_in_a_view(x, num_heads)


@misconception(
    "split_heads",
    "The features are unrolled, but the heads are still inside each token: (B, T, H, head_dim). The second step, "
    "bringing each head's tokens together, is missing.",
)
def unrolled_only(x: Tensor, num_heads: int) -> Tensor:
    return unrolled(x, num_heads)


@misconception("split_heads", DEALT_IN_TURN)
def features_dealt_in_turn_in_split(x: Tensor, num_heads: int) -> Tensor:
    return features_dealt_in_turn(x, num_heads).transpose(1, 2)  # (B, T, H, head_dim) -> (B, H, T, head_dim)


@misconception("split_heads", EXCHANGED)
def heads_and_features_exchanged_in_split(x: Tensor, num_heads: int) -> Tensor:
    return heads_and_features_exchanged(x, num_heads).transpose(1, 2)  # (B, T, head_dim, H) -> (B, head_dim, T, H)


@misconception(
    "split_heads",
    "The heads stand in front of the batch. Every sequence has its own heads, so the batch stays first: "
    "(B, H, T, head_dim).",
)
def heads_split_in_front_of_the_batch(x: Tensor, num_heads: int) -> Tensor:
    return split(x, num_heads).transpose(0, 1)  # (B, H, T, head_dim) -> (H, B, T, head_dim)


@misconception(
    "split_heads",
    "The features stand before the tokens. Each head should look like a sequence of its own: tokens third, features "
    "last.",
)
def features_before_tokens(x: Tensor, num_heads: int) -> Tensor:
    return split(x, num_heads).transpose(2, 3)  # (B, H, T, head_dim) -> (B, H, head_dim, T)


@misconception(
    "split_heads",
    "The tokens are shared out among the heads. Every head sees all tokens; it is the features that are shared out.",
)
def tokens_shared_out(x: Tensor, num_heads: int) -> Tensor:
    unrolled(x, num_heads)
    return torch.stack(x.chunk(num_heads, dim=1), dim=1)  # (B, T, d_out) -> (B, H, T / H, d_out)


@misconception("split_heads", LEFT_TO_RESHAPE)
def check_left_to_reshape_in_split(x: Tensor, num_heads: int) -> Tensor:
    return check_left_to_reshape(x, num_heads).transpose(1, 2)  # (B, T, H, head_dim) -> (B, H, T, head_dim)


@misconception("split_heads", NO_ERROR)
def rest_cut_off_in_split(x: Tensor, num_heads: int) -> Tensor:
    return rest_cut_off(x, num_heads).transpose(1, 2)  # (B, T, H, head_dim) -> (B, H, T, head_dim)


@misconception("split_heads", ALL_REFUSED)
def every_division_refused_in_split(x: Tensor, num_heads: int) -> Tensor:
    return every_division_refused(x, num_heads).transpose(1, 2)  # (B, T, H, head_dim) -> (B, H, T, head_dim)


@misconception("split_heads", VIEW_REFUSED)
def tokens_viewed_as_one_row_in_split(x: Tensor, num_heads: int) -> Tensor:
    return tokens_viewed_as_one_row(x, num_heads).transpose(1, 2)  # (B, T, H, head_dim) -> (B, H, T, head_dim)


@misconception("split_heads", DETACHED)
def split_without_gradients(x: Tensor, num_heads: int) -> Tensor:
    return split(x.detach(), num_heads)


@misconception("split_heads", CHANGED)
def resized_in_place_in_split(x: Tensor, num_heads: int) -> Tensor:
    return resized_in_place(x, num_heads).transpose(1, 2)  # (B, T, H, head_dim) -> (B, H, T, head_dim)


# -- merge_heads -------------------------------------------------------------------------------------------------

NOT_TRANSPOSED_BACK = (
    "The heads are not brought back into their tokens before the merge, so each row mixes features of several tokens. "
    "First transpose(1, 2), then make the last two dimensions one."
)


def merged(x: Tensor) -> Tensor:
    """The right answer."""
    return x.transpose(1, 2).flatten(2)  # (B, H, T, head_dim) -> (B, T, H, head_dim) -> (B, T, H · head_dim)


@misconception("merge_heads", NOT_TRANSPOSED_BACK)
def not_transposed_back(x: Tensor) -> Tensor:
    return x.reshape(x.shape[0], x.shape[2], -1)  # to (B, T, H · head_dim), mixed


@misconception("merge_heads", NOT_TRANSPOSED_BACK)
def merged_by_view_alone(x: Tensor) -> Tensor:
    return x.view(x.shape[0], x.shape[2], -1)  # to (B, T, H · head_dim), mixed


@misconception(
    "merge_heads",
    "The heads' features are shuffled together: the first of each head, then the second of each. The heads should "
    "stand side by side, each with its features in their order.",
)
def features_shuffled(x: Tensor) -> Tensor:
    return x.permute(0, 2, 3, 1).flatten(2)  # (B, H, T, head_dim) -> (B, T, head_dim, H) -> (B, T, head_dim · H)


@misconception(
    "merge_heads",
    "The last head comes first. Heads keep their order, or what was split would come back changed.",
)
def last_head_first(x: Tensor) -> Tensor:
    return merged(x.flip(1))


@misconception(
    "merge_heads",
    "The heads are joined one below the other: (B, H · T, head_dim). Each token wants its heads side by side, in the "
    "last dimension.",
)
def heads_below_each_other(x: Tensor) -> Tensor:
    return x.flatten(1, 2)  # (B, H, T, head_dim) -> (B, H · T, head_dim)


@misconception(
    "merge_heads",
    "The heads are added up, so nobody can tell any more which of them said what. Merging only puts them side by side.",
)
def heads_added_up(x: Tensor) -> Tensor:
    return x.sum(dim=1)  # (B, H, T, head_dim) -> (B, T, head_dim)


@misconception(
    "merge_heads",
    "The heads are back inside their tokens, but still a dimension of their own: (B, T, H, head_dim). The last two "
    "should become one.",
)
def last_two_kept_apart(x: Tensor) -> Tensor:
    return x.transpose(1, 2)  # (B, H, T, head_dim) -> (B, T, H, head_dim)


@misconception(
    "merge_heads",
    "The batch is merged away, too. Sequences stay apart: only heads and features become one dimension.",
)
def batch_merged_away(x: Tensor) -> Tensor:
    return merged(x).flatten(0, 1)  # (B, T, H · head_dim) -> (B · T, H · head_dim)


@misconception(
    "merge_heads",
    "`view` cannot make one dimension of two that do not lie side by side in memory, and after a transpose they mostly "
    "do not. Use `reshape`, or `contiguous()` first.",
)
def view_without_contiguous(x: Tensor) -> Tensor:
    return x.transpose(1, 2).view(x.shape[0], x.shape[2], -1)  # (B, H, T, head_dim) -> (B, T, H · head_dim)


@misconception("merge_heads", DETACHED)
def merged_without_gradients(x: Tensor) -> Tensor:
    return merged(x.detach())


@misconception("merge_heads", CHANGED)
def merged_in_place(x: Tensor) -> Tensor:
    return x.transpose_(1, 2).flatten(2)  # (B, H, T, head_dim) -> (B, T, H, head_dim) -> (B, T, H · head_dim)


# -- MultiHeadAttentionWrapper -----------------------------------------------------------------------------------


class CausalAttention(nn.Module):
    """The right one, with a mask as large as it is told to be."""

    mask: Tensor

    def __init__(self, d_in: int, d_out: int, context_length: int, dropout: float, qkv_bias: bool = False) -> None:
        super().__init__()
        self.W_query, self.W_key, self.W_value = (nn.Linear(d_in, d_out, bias=qkv_bias) for _ in LAYERS)
        self.dropout = nn.Dropout(dropout)
        self.register_buffer("mask", torch.ones(context_length, context_length).triu(1).bool(), persistent=False)

    def forward(self, inputs: Tensor) -> Tensor:
        tokens = inputs.shape[-2]
        scores = self.W_query(inputs) @ self.W_key(inputs).mT  # (B, T, d_out) @ (B, d_out, T) -> (B, T, T)
        scores = scores.masked_fill(self.mask[:tokens, :tokens], -torch.inf) / self.W_key.out_features**0.5
        return self.dropout(torch.softmax(scores, dim=-1)) @ self.W_value(inputs)


class SelfAttention(CausalAttention):
    """Attention of the second unit, on a batch."""

    def __init__(self, d_in: int, d_out: int, context_length: int, dropout: float, qkv_bias: bool = False) -> None:
        super().__init__(d_in, d_out, context_length, dropout, qkv_bias)
        self.mask.fill_(False)


class MultiHeadAttentionWrapper(nn.Module):
    """The right one, of which each wrong one changes a part."""

    def __init__(
        self, d_in: int, d_out: int, context_length: int, dropout: float, num_heads: int, qkv_bias: bool = False
    ) -> None:
        super().__init__()
        self.p = dropout
        self.heads = nn.ModuleList(
            CausalAttention(d_in, d_out, context_length, dropout, qkv_bias) for _ in range(num_heads)
        )

    def forward(self, inputs: Tensor) -> Tensor:
        return torch.cat([head(inputs) for head in self.heads], dim=-1)


# What the misconceptions that follow inherit from, under another name: stand-ins may cover the exercise's own.
Wrapper = MultiHeadAttentionWrapper


@misconception(
    "MultiHeadAttentionWrapper",
    "The heads stand in a plain list, where a module does not look for its parts: no optimiser finds their weights. "
    "That is what nn.ModuleList is for.",
)
class heads_in_a_plain_list(Wrapper):
    def __init__(
        self, d_in: int, d_out: int, context_length: int, dropout: float, num_heads: int, qkv_bias: bool = False
    ) -> None:
        nn.Module.__init__(self)
        self.heads = [  # type: ignore[assignment]
            CausalAttention(d_in, d_out, context_length, dropout, qkv_bias) for _ in range(num_heads)
        ]


@misconception(
    "MultiHeadAttentionWrapper",
    "nn.Sequential passes the inputs through one head after the other. The heads stand side by side, each with the "
    "same inputs: nn.ModuleList.",
)
class heads_in_a_sequence(Wrapper):
    def __init__(
        self, d_in: int, d_out: int, context_length: int, dropout: float, num_heads: int, qkv_bias: bool = False
    ) -> None:
        super().__init__(d_in, d_out, context_length, dropout, num_heads, qkv_bias)
        self.heads = nn.Sequential(*self.heads)  # type: ignore[assignment]

    def forward(self, inputs: Tensor) -> Tensor:
        return self.heads(inputs)


@misconception(
    "MultiHeadAttentionWrapper",
    "All heads are one and the same module, or share their layers, so they can only learn the same. Make a new one for "
    "each head.",
)
class one_head_many_times(Wrapper):
    def __init__(
        self, d_in: int, d_out: int, context_length: int, dropout: float, num_heads: int, qkv_bias: bool = False
    ) -> None:
        nn.Module.__init__(self)
        self.heads = nn.ModuleList([CausalAttention(d_in, d_out, context_length, dropout, qkv_bias)] * num_heads)


@misconception(
    "MultiHeadAttentionWrapper",
    "There is always the same number of heads, that of the worked example. How many there are is the caller's choice: "
    "num_heads.",
)
class always_two_heads(Wrapper):
    def __init__(
        self,
        d_in: int,
        d_out: int,
        context_length: int,
        dropout: float,
        num_heads: int,  # noqa: ARG002
        qkv_bias: bool = False,
    ) -> None:
        super().__init__(d_in, d_out, context_length, dropout, 2, qkv_bias)


@misconception(
    "MultiHeadAttentionWrapper",
    "Each head has only d_out / num_heads features. In this wrapper every head is d_out wide, and the output is "
    "num_heads times as wide; sharing out d_out is the next class.",
)
class d_out_shared_out_among_heads(Wrapper):
    def __init__(
        self, d_in: int, d_out: int, context_length: int, dropout: float, num_heads: int, qkv_bias: bool = False
    ) -> None:
        super().__init__(d_in, max(1, d_out // num_heads), context_length, dropout, num_heads, qkv_bias)


@misconception(
    "MultiHeadAttentionWrapper",
    "The heads are as wide as a variable of the notebook says, and not as the argument d_out. It works for one size "
    "only.",
)
class width_of_the_notebook(Wrapper):
    def __init__(
        self,
        d_in: int,
        d_out: int,  # noqa: ARG002
        context_length: int,
        dropout: float,
        num_heads: int,
        qkv_bias: bool = False,
    ) -> None:
        super().__init__(d_in, 2, context_length, dropout, num_heads, qkv_bias)


@misconception(
    "MultiHeadAttentionWrapper",
    "The heads' outputs are added up. Side by side, each head keeps room of its own: torch.cat along the last dim.",
)
class outputs_added_up(Wrapper):
    def forward(self, inputs: Tensor) -> Tensor:
        return torch.stack([head(inputs) for head in self.heads]).sum(dim=0)  # (H, B, T, d_out) -> (B, T, d_out)


@misconception(
    "MultiHeadAttentionWrapper",
    "The heads' outputs are averaged. Side by side, each head keeps room of its own: torch.cat along the last dim.",
)
class outputs_averaged(Wrapper):
    def forward(self, inputs: Tensor) -> Tensor:
        return torch.stack([head(inputs) for head in self.heads]).mean(dim=0)  # (H, B, T, d_out) -> (B, T, d_out)


STACKED = (
    "The heads have a dimension of their own in the output. torch.cat joins along a dimension that is there, "
    "torch.stack makes a new one."
)


@misconception("MultiHeadAttentionWrapper", STACKED)
class outputs_stacked(Wrapper):
    def forward(self, inputs: Tensor) -> Tensor:
        return torch.stack([head(inputs) for head in self.heads], dim=-2)  # (B, T, H, d_out)


@misconception("MultiHeadAttentionWrapper", STACKED)
class outputs_stacked_at_the_end(Wrapper):
    def forward(self, inputs: Tensor) -> Tensor:
        return torch.stack([head(inputs) for head in self.heads], dim=-1)  # (B, T, d_out, H)


@misconception("MultiHeadAttentionWrapper", STACKED)
class outputs_stacked_in_front(Wrapper):
    def forward(self, inputs: Tensor) -> Tensor:
        return torch.stack([head(inputs) for head in self.heads])  # (H, B, T, d_out)


@misconception(
    "MultiHeadAttentionWrapper",
    "The heads' outputs are joined along the tokens, so the sequence seems to be longer. It is the features that stand "
    "side by side: dim=-1.",
)
class joined_along_the_tokens(Wrapper):
    def forward(self, inputs: Tensor) -> Tensor:
        return torch.cat([head(inputs) for head in self.heads], dim=1)  # (B, H · T, d_out)


@misconception(
    "MultiHeadAttentionWrapper",
    "The heads' outputs are joined along the batch, so there seem to be more sequences. It is the features that stand "
    "side by side: dim=-1.",
)
class joined_along_the_batch(Wrapper):
    def forward(self, inputs: Tensor) -> Tensor:
        return torch.cat([head(inputs) for head in self.heads], dim=0)  # (H · B, T, d_out)


@misconception(
    "MultiHeadAttentionWrapper",
    "The last head comes first. The order agreed on is that of the list: head 0 on the left.",
)
class last_head_first_in_the_wrapper(Wrapper):
    def forward(self, inputs: Tensor) -> Tensor:
        return torch.cat([head(inputs) for head in reversed(self.heads)], dim=-1)


@misconception(
    "MultiHeadAttentionWrapper",
    "The first head's output stands there for all heads. Every head is to be asked: head(inputs) for each head in "
    "self.heads.",
)
class first_head_asked_each_time(Wrapper):
    def forward(self, inputs: Tensor) -> Tensor:
        return torch.cat([self.heads[0](inputs) for _ in self.heads], dim=-1)


@misconception(
    "MultiHeadAttentionWrapper",
    "The heads see the future: they are self-attention without a mask. Take the causal attention of the unit before.",
)
class heads_that_see_the_future(Wrapper):
    def __init__(
        self, d_in: int, d_out: int, context_length: int, dropout: float, num_heads: int, qkv_bias: bool = False
    ) -> None:
        super().__init__(d_in, d_out, context_length, dropout, num_heads, qkv_bias)
        self.heads = nn.ModuleList(
            SelfAttention(d_in, d_out, context_length, dropout, qkv_bias) for _ in range(num_heads)
        )


@misconception(
    "MultiHeadAttentionWrapper",
    "qkv_bias is taken but not handed on, so no head has a bias even where the caller wants one. Pass it to every "
    "head.",
)
class bias_not_handed_on(Wrapper):
    def __init__(
        self,
        d_in: int,
        d_out: int,
        context_length: int,
        dropout: float,
        num_heads: int,
        qkv_bias: bool = False,  # noqa: ARG002
    ) -> None:
        super().__init__(d_in, d_out, context_length, dropout, num_heads)


@misconception(
    "MultiHeadAttentionWrapper",
    "The heads have a bias even where the caller wants none. Hand qkv_bias on to every head, and let it be False by "
    "default.",
)
class bias_in_every_head(Wrapper):
    def __init__(
        self, d_in: int, d_out: int, context_length: int, dropout: float, num_heads: int, qkv_bias: bool = True
    ) -> None:
        super().__init__(d_in, d_out, context_length, dropout, num_heads, qkv_bias)


@misconception(
    "MultiHeadAttentionWrapper",
    "The heads take fewer tokens than context_length. Hand the argument on to every head as it is, and not the worked "
    "example's number.",
)
class context_of_the_worked_example(Wrapper):
    def __init__(
        self,
        d_in: int,
        d_out: int,
        context_length: int,  # noqa: ARG002
        dropout: float,
        num_heads: int,
        qkv_bias: bool = False,
    ) -> None:
        super().__init__(d_in, d_out, 6, dropout, num_heads, qkv_bias)


@misconception(
    "MultiHeadAttentionWrapper",
    "dropout is taken but not handed on, so nothing is ever dropped. Pass it to every head.",
)
class dropout_not_handed_on(Wrapper):
    def __init__(
        self,
        d_in: int,
        d_out: int,
        context_length: int,
        dropout: float,  # noqa: ARG002
        num_heads: int,
        qkv_bias: bool = False,
    ) -> None:
        super().__init__(d_in, d_out, context_length, 0.0, num_heads, qkv_bias)


@misconception(
    "MultiHeadAttentionWrapper",
    "The outputs are dropped once more, after the heads have dropped weights already. Hand dropout on to the heads, "
    "and leave it to them.",
)
class outputs_dropped_once_more(Wrapper):
    def forward(self, inputs: Tensor) -> Tensor:
        return functional.dropout(super().forward(inputs), self.p, self.training)


@misconception(
    "MultiHeadAttentionWrapper",
    "Outputs are dropped after `.eval()`, too. `functional.dropout` drops unless it is told `training=self.training`; "
    "in the wrapper it has no place, for the heads drop their weights.",
)
class outputs_dropped_after_eval(Wrapper):
    def forward(self, inputs: Tensor) -> Tensor:
        return functional.dropout(super().forward(inputs), self.p)


@misconception("MultiHeadAttentionWrapper", DETACHED)
class outputs_without_gradients(Wrapper):
    def forward(self, inputs: Tensor) -> Tensor:
        return torch.cat([head(inputs).detach() for head in self.heads], dim=-1)


@misconception(
    "MultiHeadAttentionWrapper",
    "The inputs are cut off from the gradients, so the layers below, the embeddings among them, cannot learn.",
)
class inputs_detached(Wrapper):
    def forward(self, inputs: Tensor) -> Tensor:
        return super().forward(inputs.detach())


@misconception(
    "MultiHeadAttentionWrapper",
    "The inputs are made float32, which then do not fit heads that are float64. Let the inputs keep their dtype.",
)
class inputs_made_float32(Wrapper):
    def forward(self, inputs: Tensor) -> Tensor:
        return super().forward(inputs.float())


@misconception(
    "MultiHeadAttentionWrapper",
    "`squeeze()` drops every dimension of length one, and so a token that is alone loses its row.",
)
class lonely_token_squeezed(Wrapper):
    def forward(self, inputs: Tensor) -> Tensor:
        return super().forward(inputs).squeeze()


@misconception(
    "MultiHeadAttentionWrapper",
    "The caller's inputs were changed. What comes in may be needed elsewhere: write `x = x + …` rather than `x += …`.",
)
class inputs_changed_in_place(Wrapper):
    def forward(self, inputs: Tensor) -> Tensor:
        output = super().forward(inputs)
        inputs -= inputs.mean(dim=-1, keepdim=True)
        return output


# -- two_dimensional_output --------------------------------------------------------------------------------------


@misconception(
    "two_dimensional_output",
    "Each head has two features, so two heads side by side give four. It is d_out that changes: how wide must a head "
    "be, if two of them are to give two features together? That width is its d_out.",
)
def two_features_for_each_head(d_in: int, context_length: int) -> nn.Module:
    return MultiHeadAttentionWrapper(d_in, 2, context_length, 0.0, 2)


@misconception(
    "two_dimensional_output",
    "The outputs are two-dimensional, but come from a single head. There are to be two, side by side: one argument "
    "changes, and not this one.",
)
def one_head_of_two_features(d_in: int, context_length: int) -> nn.Module:
    return MultiHeadAttentionWrapper(d_in, 2, context_length, 0.0, 1)


@misconception(
    "two_dimensional_output",
    "There is one head with one feature. Two heads with one feature each stand side by side and give two.",
)
def one_head_of_one_feature(d_in: int, context_length: int) -> nn.Module:
    return MultiHeadAttentionWrapper(d_in, 1, context_length, 0.0, 1)


@misconception(
    "two_dimensional_output",
    "The wrapper drops weights in training. It was asked for without dropout: 0.0.",
)
def dropout_left_in(d_in: int, context_length: int) -> nn.Module:
    return MultiHeadAttentionWrapper(d_in, 1, context_length, 0.1, 2)


@misconception(
    "two_dimensional_output",
    "The heads have biases. The wrapper was asked for without: leave qkv_bias at False.",
)
def bias_left_in(d_in: int, context_length: int) -> nn.Module:
    return MultiHeadAttentionWrapper(d_in, 1, context_length, 0.0, 2, qkv_bias=True)


@misconception(
    "two_dimensional_output",
    "The wrapper takes fewer tokens than context_length. Hand the argument on as it is, and not the worked example's "
    "number.",
)
def six_tokens_always(d_in: int, context_length: int) -> nn.Module:  # noqa: ARG001
    return MultiHeadAttentionWrapper(d_in, 1, 6, 0.0, 2)


@misconception(
    "two_dimensional_output",
    "The wrapper takes inputs as wide as the worked example's. Hand on the argument d_in.",
)
def three_features_always(d_in: int, context_length: int) -> nn.Module:  # noqa: ARG001
    return MultiHeadAttentionWrapper(3, 1, context_length, 0.0, 2)


@misconception(
    "two_dimensional_output",
    "d_in and context_length have changed places: the wrapper takes (d_in, d_out, context_length, dropout, num_heads).",
)
def arguments_exchanged(d_in: int, context_length: int) -> nn.Module:
    return MultiHeadAttentionWrapper(context_length, 1, d_in, 0.0, 2)


@misconception(
    "two_dimensional_output",
    "What it gives is not the wrapper itself. It takes no other class, and no layer behind the wrapper: one argument "
    "changes.",
)
def layer_behind_the_wrapper(d_in: int, context_length: int) -> nn.Module:
    return nn.Sequential(MultiHeadAttentionWrapper(d_in, 2, context_length, 0.0, 2), nn.Linear(4, 2, bias=False))


class FirstTwo(Wrapper):
    """Throws away all features but two."""

    def forward(self, inputs: Tensor) -> Tensor:
        return super().forward(inputs)[..., :2]


@misconception(
    "two_dimensional_output",
    "The outputs are cut down to two features, and a whole head is lost. Make the heads narrower instead, so that all "
    "that they give fits.",
)
def outputs_cut_off(d_in: int, context_length: int) -> nn.Module:
    return FirstTwo(d_in, 2, context_length, 0.0, 2)


@misconception(
    "two_dimensional_output",
    "The class came back, and not a wrapper made by it. Call it with its arguments.",
)
def class_instead_of_module(d_in: int, context_length: int) -> type[nn.Module]:  # noqa: ARG001
    return MultiHeadAttentionWrapper


# -- MultiHeadAttention ------------------------------------------------------------------------------------------


class MultiHeadAttention(nn.Module):
    """The right one, of which each wrong one changes a part."""

    def __init__(
        self, d_in: int, d_out: int, context_length: int, dropout: float, num_heads: int, qkv_bias: bool = False
    ) -> None:
        super().__init__()
        if d_out % num_heads:
            raise ValueError(f"{num_heads} heads do not divide {d_out} features")
        self.d_in, self.d_out, self.context_length = d_in, d_out, context_length
        self.num_heads, self.head_dim, self.p = num_heads, d_out // num_heads, dropout
        self.W_query, self.W_key, self.W_value = (nn.Linear(d_in, d_out, bias=qkv_bias) for _ in LAYERS)
        self.out_proj = nn.Linear(d_out, d_out)

    def drop(self, x: Tensor) -> Tensor:
        return functional.dropout(x, self.p, self.training)

    def project(self, inputs: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        return self.W_query(inputs), self.W_key(inputs), self.W_value(inputs)

    def split(self, x: Tensor) -> Tensor:
        return split(x, self.num_heads)

    def score(self, queries: Tensor, keys: Tensor) -> Tensor:
        return dot_products(queries, keys)

    def weigh(self, scores: Tensor) -> Tensor:
        return causal(scores / self.head_dim**0.5)

    def merge(self, contexts: Tensor) -> Tensor:
        return merged(contexts)

    def attend(self, inputs: Tensor) -> Tensor:
        """(B, T, d_in) to (B, T, d_out): what goes into out_proj."""
        queries, keys, values = (self.split(projected) for projected in self.project(inputs))
        return self.merge(self.drop(self.weigh(self.score(queries, keys))) @ values)

    def forward(self, inputs: Tensor) -> Tensor:
        return self.out_proj(self.attend(inputs))


# As above: a stand-in may cover the exercise's own name.
Attention = MultiHeadAttention


@misconception("MultiHeadAttention", BY_WIDTH)
class scaled_by_d_out(Attention):
    def weigh(self, scores: Tensor) -> Tensor:
        return causal(scores / self.d_out**0.5)


@misconception(
    "MultiHeadAttention",
    "The scores are divided by √d_in. The dot products are between projected tokens, within one head, whose width is "
    "head_dim.",
)
class scaled_by_d_in(Attention):
    def weigh(self, scores: Tensor) -> Tensor:
        return causal(scores / self.d_in**0.5)


@misconception("MultiHeadAttention", BY_TOKENS)
class scaled_by_number_of_tokens_in_the_module(Attention):
    def weigh(self, scores: Tensor) -> Tensor:
        return scaled_by_number_of_tokens(scores, self.head_dim)


@misconception(
    "MultiHeadAttention",
    "The scores are divided by the root of the number of heads. A dot product sums over one head's features, so it is "
    "their number, head_dim, that makes it grow.",
)
class scaled_by_number_of_heads_in_the_module(Attention):
    def weigh(self, scores: Tensor) -> Tensor:
        return scaled_by_number_of_heads(scores, self.head_dim)


@misconception("MultiHeadAttention", UNSCALED)
class scaling_forgotten_in_the_module(Attention):
    def weigh(self, scores: Tensor) -> Tensor:
        return causal(scores)


@misconception("MultiHeadAttention", NO_ROOT)
class divided_by_head_dim_itself_in_the_module(Attention):
    def weigh(self, scores: Tensor) -> Tensor:
        return causal(scores / self.head_dim)


@misconception("MultiHeadAttention", HALF)
class half_instead_of_root_in_the_module(Attention):
    def weigh(self, scores: Tensor) -> Tensor:
        return half_instead_of_root(scores, self.head_dim)


@misconception("MultiHeadAttention", TWENTIETH)
class twentieth_root_in_the_module(Attention):
    def weigh(self, scores: Tensor) -> Tensor:
        return twentieth_root(scores, self.head_dim)


@misconception("MultiHeadAttention", MULTIPLIED)
class multiplied_by_root_in_the_module(Attention):
    def weigh(self, scores: Tensor) -> Tensor:
        return multiplied_by_root(scores, self.head_dim)


@misconception("MultiHeadAttention", SCALED_LATE)
class scaled_after_softmax_in_the_module(Attention):
    def weigh(self, scores: Tensor) -> Tensor:
        return scaled_after_softmax(scores, self.head_dim)


@misconception("MultiHeadAttention", FUTURE_VISIBLE)
class future_visible_in_the_module(Attention):
    def weigh(self, scores: Tensor) -> Tensor:
        return future_visible(scores, self.head_dim)


@misconception("MultiHeadAttention", PAST_HIDDEN)
class past_hidden_in_the_module(Attention):
    def weigh(self, scores: Tensor) -> Tensor:
        return past_hidden(scores, self.head_dim)


@misconception("MultiHeadAttention", DIAGONAL_HIDDEN)
class diagonal_hidden_in_the_module(Attention):
    def weigh(self, scores: Tensor) -> Tensor:
        return diagonal_hidden(scores, self.head_dim)


@misconception("MultiHeadAttention", DIAGONAL_LOWERED)
class diagonal_lowered_in_the_module(Attention):
    def weigh(self, scores: Tensor) -> Tensor:
        return diagonal_lowered(scores, self.head_dim)


@misconception("MultiHeadAttention", NEXT_VISIBLE)
class next_token_visible_in_the_module(Attention):
    def weigh(self, scores: Tensor) -> Tensor:
        return next_token_visible(scores, self.head_dim)


@misconception("MultiHeadAttention", ZERO_BEFORE_SOFTMAX)
class future_zero_before_softmax_in_the_module(Attention):
    def weigh(self, scores: Tensor) -> Tensor:
        return future_zero_before_softmax(scores, self.head_dim)


@misconception("MultiHeadAttention", ZERO_AFTER_SOFTMAX)
class future_zero_after_softmax_in_the_module(Attention):
    def weigh(self, scores: Tensor) -> Tensor:
        return future_zero_after_softmax(scores, self.head_dim)


@misconception(
    "MultiHeadAttention",
    "The mask is not cut to the number of tokens, so it fits only a text as long as the context. Take as many rows and "
    "columns of it as there are tokens.",
)
class mask_not_cut(Attention):
    def weigh(self, scores: Tensor) -> Tensor:
        mask = torch.ones(self.context_length, self.context_length).triu(1).bool()
        return torch.softmax(scores.masked_fill(mask, -torch.inf) / self.head_dim**0.5, dim=-1)


@misconception(
    "MultiHeadAttention",
    "The mask is as large as the worked example's text, and longer ones do not fit. Its size is the argument "
    "context_length, or the number of tokens at hand.",
)
class mask_of_the_worked_example(Attention):
    def weigh(self, scores: Tensor) -> Tensor:
        tokens = scores.shape[-1]
        mask = torch.ones(6, 6).triu(1).bool()[:tokens, :tokens]
        return torch.softmax(scores.masked_fill(mask, -torch.inf) / self.head_dim**0.5, dim=-1)


@misconception("MultiHeadAttention", SOFTMAX_OVER_QUERIES)
class softmax_over_queries_in_the_module(Attention):
    def weigh(self, scores: Tensor) -> Tensor:
        return softmax_over_queries(scores, self.head_dim)


@misconception("MultiHeadAttention", SOFTMAX_OVER_HEADS)
class softmax_over_heads_in_the_module(Attention):
    def weigh(self, scores: Tensor) -> Tensor:
        return softmax_over_heads(scores, self.head_dim)


@misconception("MultiHeadAttention", SOFTMAX_OVER_HEADS)
class softmax_over_heads_of_lowered_scores_in_the_module(Attention):
    def weigh(self, scores: Tensor) -> Tensor:
        return softmax_over_heads_of_lowered_scores(scores, self.head_dim)


@misconception("MultiHeadAttention", NO_SOFTMAX)
class softmax_forgotten_in_the_module(Attention):
    def weigh(self, scores: Tensor) -> Tensor:
        return softmax_forgotten(scores, self.head_dim)


@misconception(
    "MultiHeadAttention",
    "Every token of the past gets the same weight, whatever queries and keys are. How much one token hears of another "
    "is for their dot product to say.",
)
class past_averaged_in_the_module(Attention):
    def weigh(self, scores: Tensor) -> Tensor:
        return past_averaged(scores, self.head_dim)


@misconception("MultiHeadAttention", MIXED_BY_RESHAPE)
class split_by_reshape_alone_in_the_module(Attention):
    def split(self, x: Tensor) -> Tensor:
        return split_by_reshape_alone(x, self.num_heads)


@misconception("MultiHeadAttention", DEALT_IN_TURN)
class features_dealt_in_turn_in_the_module(Attention):
    def split(self, x: Tensor) -> Tensor:
        return features_dealt_in_turn_in_split(x, self.num_heads)

    def merge(self, contexts: Tensor) -> Tensor:
        return features_shuffled(contexts)


@misconception("MultiHeadAttention", EXCHANGED)
class heads_and_features_exchanged_in_the_module(Attention):
    def split(self, x: Tensor) -> Tensor:
        return heads_and_features_exchanged_in_split(x, self.num_heads)


@misconception(
    "MultiHeadAttention",
    "The heads are never split: one head sees all features. num_heads heads should each have a head_dim-th of the "
    "queries, keys and values, and weights of their own.",
)
class heads_never_split(Attention):
    def split(self, x: Tensor) -> Tensor:
        return x[:, None]  # (B, T, d_out) -> (B, 1, T, d_out)


@misconception(
    "MultiHeadAttention",
    "The heads are never split: one head sees all features, and its scores are divided by √d_out. num_heads heads "
    "should each have head_dim features, and weights of their own.",
)
class one_head_with_its_own_scale(heads_never_split):
    def weigh(self, scores: Tensor) -> Tensor:
        return causal(scores / self.d_out**0.5)


@misconception(
    "MultiHeadAttention",
    "The heads are not brought in front of the tokens, so each token's heads attend to each other, and no token to any "
    "other. Transpose to (B, H, T, head_dim) before the scores.",
)
class heads_attend_to_each_other(Attention):
    def split(self, x: Tensor) -> Tensor:
        return unrolled(x, self.num_heads)  # (B, T, H, head_dim)

    def merge(self, contexts: Tensor) -> Tensor:
        return contexts.flatten(2)  # (B, T, H, head_dim) -> (B, T, H · head_dim)


@misconception(
    "MultiHeadAttention",
    "The heads are not brought in front of the tokens, so the scores are those between the heads of a token, and the "
    "mask for tokens does not fit them. Transpose to (B, H, T, head_dim) before the scores.",
)
class heads_masked_as_tokens(heads_attend_to_each_other):
    def attend(self, inputs: Tensor) -> Tensor:
        queries, keys, values = (self.split(projected) for projected in self.project(inputs))  # (B, T, H, head_dim)
        future = torch.ones(inputs.shape[1], inputs.shape[1]).triu(1).bool()
        scores = self.score(queries, keys).masked_fill_(future, -torch.inf)  # (B, T, H, H) and (T, T)
        return self.merge(self.drop(torch.softmax(scores / self.head_dim**0.5, dim=-1)) @ values)


@misconception("MultiHeadAttention", NOT_TRANSPOSED_BACK)
class heads_not_transposed_back(Attention):
    def merge(self, contexts: Tensor) -> Tensor:
        return not_transposed_back(contexts)


@misconception(
    "MultiHeadAttention",
    "The heads' features are shuffled together before out_proj. The heads should stand side by side, head 0 first.",
)
class features_shuffled_in_the_module(Attention):
    def merge(self, contexts: Tensor) -> Tensor:
        return features_shuffled(contexts)


@misconception(
    "MultiHeadAttention",
    "The heads' contexts are added up and repeated, so nobody can tell any more which head said what. Put them side by "
    "side.",
)
class heads_added_up_in_the_module(Attention):
    def merge(self, contexts: Tensor) -> Tensor:
        return heads_added_up(contexts).repeat(1, 1, self.num_heads)  # (B, T, head_dim) -> (B, T, H · head_dim)


@misconception(
    "MultiHeadAttention",
    "Queries and keys have changed places. A query looks back at the keys of its past; the other way round the mask "
    "hides the wrong ones.",
)
class keys_ask_the_queries_in_the_module(Attention):
    def score(self, queries: Tensor, keys: Tensor) -> Tensor:
        return dot_products(keys, queries)


@misconception(
    "MultiHeadAttention",
    "Keys and values have changed places. A key is only compared with queries; the value is what a token hands over "
    "once it is found.",
)
class keys_and_values_swapped(Attention):
    def project(self, inputs: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        queries, keys, values = super().project(inputs)
        return queries, values, keys


@misconception(
    "MultiHeadAttention",
    "The weights mix the keys. Keys are only there to be compared with queries; what is handed over are the values.",
)
class keys_handed_over(Attention):
    def project(self, inputs: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        queries, keys, _ = super().project(inputs)
        return queries, keys, keys


ONE_PROJECTION = (
    "One projection serves as queries, keys and values, and the other two are made but never used. Each role has its "
    "own weights to learn."
)


@misconception("MultiHeadAttention", ONE_PROJECTION)
class one_projection_in_use(Attention):
    def project(self, inputs: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        queries = self.W_query(inputs)
        return queries, queries, queries


@misconception("MultiHeadAttention", ONE_PROJECTION)
class only_values_in_use(Attention):
    def project(self, inputs: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        values = self.W_value(inputs)
        return values, values, values


@misconception(
    "MultiHeadAttention",
    "The keys are made but not used: queries are compared with queries. What a token looks for and what it can be "
    "found by are different things.",
)
class key_projection_unused(Attention):
    def project(self, inputs: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        queries, _, values = super().project(inputs)
        return queries, queries, values


@misconception(
    "MultiHeadAttention",
    "W_query, W_key and W_value are one and the same layer under three names, so they can only learn the same. Make "
    "three.",
)
class one_layer_under_three_names(Attention):
    def __init__(
        self, d_in: int, d_out: int, context_length: int, dropout: float, num_heads: int, qkv_bias: bool = False
    ) -> None:
        super().__init__(d_in, d_out, context_length, dropout, num_heads, qkv_bias)
        self.W_key = self.W_value = self.W_query


@misconception(
    "MultiHeadAttention",
    "Queries, keys and values have only head_dim features, and all heads share them. d_out features are made at once, "
    "and then shared out: nn.Linear(d_in, d_out).",
)
class projections_as_wide_as_one_head(Attention):
    def __init__(
        self, d_in: int, d_out: int, context_length: int, dropout: float, num_heads: int, qkv_bias: bool = False
    ) -> None:
        super().__init__(d_in, d_out, context_length, dropout, num_heads, qkv_bias)
        self.W_query, self.W_key, self.W_value = (nn.Linear(d_in, self.head_dim, bias=qkv_bias) for _ in LAYERS)

    def split(self, x: Tensor) -> Tensor:
        return x[:, None].repeat(1, self.num_heads, 1, 1)  # (B, T, head_dim) -> (B, H, T, head_dim)


@misconception(
    "MultiHeadAttention",
    "There is no out_proj: the heads stand side by side and never hear of each other. A last layer from d_out to d_out "
    "lets them mix.",
)
class out_proj_forgotten(Attention):
    def __init__(
        self, d_in: int, d_out: int, context_length: int, dropout: float, num_heads: int, qkv_bias: bool = False
    ) -> None:
        super().__init__(d_in, d_out, context_length, dropout, num_heads, qkv_bias)
        del self.out_proj

    def forward(self, inputs: Tensor) -> Tensor:
        return self.attend(inputs)


@misconception(
    "MultiHeadAttention",
    "out_proj is made but never used. What the heads gave should pass through it, as the last step of forward.",
)
class out_proj_unused(Attention):
    def forward(self, inputs: Tensor) -> Tensor:
        return self.attend(inputs)


@misconception(
    "MultiHeadAttention",
    "out_proj has no bias. qkv_bias is about queries, keys and values only; the last layer has a bias, as nn.Linear "
    "gives it by itself.",
)
class out_proj_without_bias(Attention):
    def __init__(
        self, d_in: int, d_out: int, context_length: int, dropout: float, num_heads: int, qkv_bias: bool = False
    ) -> None:
        super().__init__(d_in, d_out, context_length, dropout, num_heads, qkv_bias)
        self.out_proj = nn.Linear(d_out, d_out, bias=qkv_bias)


@misconception(
    "MultiHeadAttention",
    "out_proj comes back to d_in features. It mixes what the heads gave, so it goes from d_out to d_out.",
)
class out_proj_back_to_d_in(Attention):
    def __init__(
        self, d_in: int, d_out: int, context_length: int, dropout: float, num_heads: int, qkv_bias: bool = False
    ) -> None:
        super().__init__(d_in, d_out, context_length, dropout, num_heads, qkv_bias)
        self.out_proj = nn.Linear(d_out, d_in)


@misconception(
    "MultiHeadAttention",
    "out_proj is applied twice. Once is enough: the heads side by side pass through it, and that is the output.",
)
class out_proj_applied_twice(Attention):
    def forward(self, inputs: Tensor) -> Tensor:
        return self.out_proj(super().forward(inputs))


@misconception(
    "MultiHeadAttention",
    "The layers have a bias where none was asked for, for that is what nn.Linear does by itself. Pass qkv_bias on: "
    "bias=qkv_bias.",
)
class bias_always(Attention):
    def __init__(
        self,
        d_in: int,
        d_out: int,
        context_length: int,
        dropout: float,
        num_heads: int,
        qkv_bias: bool = False,  # noqa: ARG002
    ) -> None:
        super().__init__(d_in, d_out, context_length, dropout, num_heads, True)


@misconception(
    "MultiHeadAttention",
    "The layers never have a bias. qkv_bias is the caller's choice, so pass it on: bias=qkv_bias.",
)
class bias_never(Attention):
    def __init__(
        self,
        d_in: int,
        d_out: int,
        context_length: int,
        dropout: float,
        num_heads: int,
        qkv_bias: bool = False,  # noqa: ARG002
    ) -> None:
        super().__init__(d_in, d_out, context_length, dropout, num_heads, False)


@misconception(
    "MultiHeadAttention",
    "The bias is there when it is not asked for, and gone when it is: qkv_bias is turned into its opposite.",
)
class bias_the_other_way_round(Attention):
    def __init__(
        self, d_in: int, d_out: int, context_length: int, dropout: float, num_heads: int, qkv_bias: bool = False
    ) -> None:
        super().__init__(d_in, d_out, context_length, dropout, num_heads, not qkv_bias)


@misconception(
    "MultiHeadAttention",
    "Only the layers' weights are used, and their biases are left lying. Call the layer, W_query(inputs), and it adds "
    "its bias too.",
)
class biases_made_but_unused(Attention):
    def project(self, inputs: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        # (B, T, d_in) @ (d_in, d_out) -> (B, T, d_out), three times
        return inputs @ self.W_query.weight.T, inputs @ self.W_key.weight.T, inputs @ self.W_value.weight.T


@misconception(
    "MultiHeadAttention",
    "Dropout is made but never applied. In training, the weights pass through it after softmax.",
)
class dropout_never_applied(Attention):
    def drop(self, x: Tensor) -> Tensor:
        return x


@misconception(
    "MultiHeadAttention",
    "Weights are dropped after `.eval()`, too. `functional.dropout`, or an nn.Dropout made anew in forward, does not "
    "know of it: hand on `training=self.training`, or make the layer in `__init__`.",
)
class dropped_after_eval(Attention):
    def drop(self, x: Tensor) -> Tensor:
        return functional.dropout(x, self.p)


@misconception(
    "MultiHeadAttention",
    "Dropout is applied to the scores, before softmax. A score of zero is no weight of zero: its key still gets a "
    "share. Drop the weights, after softmax.",
)
class scores_dropped(Attention):
    def drop(self, x: Tensor) -> Tensor:
        return x

    def score(self, queries: Tensor, keys: Tensor) -> Tensor:
        return super().drop(dot_products(queries, keys))


@misconception(
    "MultiHeadAttention",
    "Dropout is applied to the contexts or to the output, where features are lost. Here it is weights that are "
    "dropped: a token now and then does not hear another.",
)
class contexts_dropped(Attention):
    def drop(self, x: Tensor) -> Tensor:
        return x

    def merge(self, contexts: Tensor) -> Tensor:
        return super().drop(merged(contexts))


@misconception(
    "MultiHeadAttention",
    "Weights are dropped, but those that are kept do not grow. Divided by 1 - dropout they sum to one on average, as "
    "they will when nothing is dropped.",
)
class kept_weights_not_scaled(Attention):
    def drop(self, x: Tensor) -> Tensor:
        return x * (torch.rand_like(x) >= self.p) if self.training else x


@misconception(
    "MultiHeadAttention",
    "After dropout each row is made to sum to one again. That is not what dropout does: what is kept is divided by "
    "1 - dropout, and only the average stays the same.",
)
class kept_weights_renormalised(Attention):
    def drop(self, x: Tensor) -> Tensor:
        kept = super().drop(x)
        return kept / kept.sum(dim=-1, keepdim=True).clamp(min=1e-9)


@misconception(
    "MultiHeadAttention",
    "dropout is taken for the chance that a weight is kept. It is the chance that one is dropped, in torch as here.",
)
class dropout_taken_for_keeping(Attention):
    def drop(self, x: Tensor) -> Tensor:
        return functional.dropout(x, 1 - self.p, self.training)


@misconception(
    "MultiHeadAttention",
    "The whole row of a query is dropped, or kept, at once. Each weight is dropped on its own.",
)
class rows_dropped(Attention):
    def drop(self, x: Tensor) -> Tensor:
        return x * super().drop(torch.ones_like(x[..., :1]))  # (B, H, T, T) · (B, H, T, 1)


@misconception("MultiHeadAttention", LEFT_TO_RESHAPE)
class check_left_to_reshape_in_the_module(Attention):
    def __init__(
        self, d_in: int, d_out: int, context_length: int, dropout: float, num_heads: int, qkv_bias: bool = False
    ) -> None:
        super().__init__(d_in, d_out, context_length, dropout, 1, qkv_bias)
        self.num_heads, self.head_dim = num_heads, d_out // num_heads

    def split(self, x: Tensor) -> Tensor:
        return check_left_to_reshape_in_split(x, self.num_heads)


@misconception("MultiHeadAttention", NO_ERROR)
class rest_cut_off_in_the_module(Attention):
    def __init__(
        self, d_in: int, d_out: int, context_length: int, dropout: float, num_heads: int, qkv_bias: bool = False
    ) -> None:
        super().__init__(d_in, d_out, context_length, dropout, 1, qkv_bias)
        self.num_heads, self.head_dim = num_heads, d_out // num_heads

    def split(self, x: Tensor) -> Tensor:
        return rest_cut_off_in_split(x, self.num_heads)

    def merge(self, contexts: Tensor) -> Tensor:
        return functional.pad(merged(contexts), (0, self.d_out - self.num_heads * self.head_dim))


@misconception(
    "MultiHeadAttention",
    "`torch.no_grad()` is for using a model that has learnt. Inside forward it leaves nothing to learn from.",
)
class gradients_switched_off(Attention):
    def forward(self, inputs: Tensor) -> Tensor:
        with torch.no_grad():
            return super().forward(inputs)


@misconception(
    "MultiHeadAttention",
    "The heads are cut off from the gradients, by `torch.no_grad()`, `.detach()` or `.data`, so that only out_proj "
    "learns. W_query, W_key and W_value are to learn as well.",
)
class only_out_proj_learns(Attention):
    def attend(self, inputs: Tensor) -> Tensor:
        return super().attend(inputs).detach()


@misconception(
    "MultiHeadAttention",
    "Queries and keys are cut off from the gradients, so that only the values learn. What to look for is to be learnt "
    "as well.",
)
class only_values_learn(Attention):
    def score(self, queries: Tensor, keys: Tensor) -> Tensor:
        return dot_products(queries, keys).detach()


@misconception(
    "MultiHeadAttention",
    "Part of the way is float32, whatever the module is: a mask, a constant or the inputs. After `.double()` that no "
    "longer fits. Make what you need in the dtype of the inputs.",
)
class made_float32_on_the_way(Attention):
    def attend(self, inputs: Tensor) -> Tensor:
        return super().attend(inputs.float())


@misconception(
    "MultiHeadAttention",
    "`squeeze()` drops every dimension of length one: a single sequence, or a token that is alone, is lost with it.",
)
class dimensions_squeezed_away(Attention):
    def forward(self, inputs: Tensor) -> Tensor:
        return super().forward(inputs).squeeze()


@misconception(
    "MultiHeadAttention",
    "The module gives the weights, too. The next layer wants one tensor: give the output alone.",
)
class weights_given_too(Attention):
    def forward(self, inputs: Tensor) -> tuple[Tensor, Tensor]:  # type: ignore[override]
        queries, keys, _ = (self.split(projected) for projected in self.project(inputs))
        return super().forward(inputs), self.weigh(self.score(queries, keys))


@misconception(
    "MultiHeadAttention",
    "The caller's inputs were changed. What comes in may be needed elsewhere: write `x = x + …` rather than `x += …`.",
)
class inputs_changed_in_place_in_the_module(Attention):
    def forward(self, inputs: Tensor) -> Tensor:
        output = super().forward(inputs)
        inputs -= inputs.mean(dim=-1, keepdim=True)
        return output


# -- stack_heads -------------------------------------------------------------------------------------------------


def check(wrapper: nn.Module, attention: nn.Module, widths: bool = True, biases: bool = True) -> None:
    for name in LAYERS:
        whole, heads = getattr(attention, name), [getattr(head, name) for head in wrapper.heads]  # type: ignore[union-attr]
        if widths and (sum(one.out_features for one in heads), heads[0].in_features) != tuple(whole.weight.shape):
            raise ValueError("the widths do not match")
        if biases and any((one.bias is None) != (whole.bias is None) for one in heads):
            raise ValueError("only one side has a bias")


def heads_of(wrapper: nn.Module, name: str, part: str = "weight") -> list[Tensor]:
    return [getattr(getattr(head, name), part).detach() for head in wrapper.heads]  # type: ignore[union-attr]


def stack(wrapper: nn.Module, attention: nn.Module, parts: tuple[str, ...] = ("weight", "bias")) -> None:
    """The right answer, for what has been checked."""
    with torch.no_grad():
        for name in LAYERS:
            for part in parts:
                whole = getattr(getattr(attention, name), part)
                if whole is not None:
                    whole.copy_(torch.cat(heads_of(wrapper, name, part)))  # H times (head_dim, …) -> (d_out, …)


@misconception(
    "stack_heads",
    "The heads are joined along their inputs. nn.Linear keeps a row for each output feature, so the heads' rows stand "
    "one below the other: torch.cat along dim 0.",
)
def joined_along_the_inputs(wrapper: nn.Module, attention: nn.Module) -> None:
    check(wrapper, attention)
    stack(wrapper, attention)
    for name in LAYERS:
        joined = torch.cat(heads_of(wrapper, name), dim=1)  # (head_dim, H · d_in)
        getattr(attention, name).weight.data = joined.reshape(getattr(attention, name).weight.shape)


@misconception(
    "stack_heads",
    "The last head comes first. MultiHeadAttention takes the first head_dim features for head 0, so its rows come "
    "first.",
)
def last_head_stacked_first(wrapper: nn.Module, attention: nn.Module) -> None:
    check(wrapper, attention)
    with torch.no_grad():
        for name in LAYERS:
            for part in ("weight", "bias"):
                if getattr(getattr(attention, name), part) is not None:
                    getattr(getattr(attention, name), part).copy_(torch.cat(heads_of(wrapper, name, part)[::-1]))


@misconception(
    "stack_heads",
    "The heads' rows are shuffled together: the first of each head, then the second of each. A head's features stand "
    "together, so its rows do, too.",
)
def rows_shuffled(wrapper: nn.Module, attention: nn.Module) -> None:
    check(wrapper, attention)
    with torch.no_grad():
        for name in LAYERS:
            for part in ("weight", "bias"):
                whole = getattr(getattr(attention, name), part)
                if whole is not None:
                    # H times (head_dim, …) -> (head_dim, H, …) -> (d_out, …)
                    whole.copy_(torch.stack(heads_of(wrapper, name, part), dim=1).flatten(0, 1))


@misconception(
    "stack_heads",
    "The weights are handed over transposed. Both sides are nn.Linear and keep (features out, features in): nothing is "
    "to be turned here.",
)
def stacked_transposed(wrapper: nn.Module, attention: nn.Module) -> None:
    check(wrapper, attention)
    stack(wrapper, attention)
    for name in LAYERS:
        getattr(attention, name).weight.data = torch.cat(heads_of(wrapper, name)).T  # (d_out, d_in) -> (d_in, d_out)


@misconception(
    "stack_heads",
    "The weights cannot be copied in. Join the heads' rows along dim 0, where nn.Linear has one for each output "
    "feature, so that they have the shape of attention's own; and copy under torch.no_grad().",
)
def copying_that_fails(wrapper: nn.Module, attention: nn.Module) -> None:
    check(wrapper, attention)
    with torch.no_grad():
        for name in LAYERS:
            getattr(attention, name).weight.copy_(torch.cat(heads_of(wrapper, name), dim=1))


@misconception(
    "stack_heads",
    "All heads got the weights of head 0. Each head brings its own.",
)
def first_head_everywhere(wrapper: nn.Module, attention: nn.Module) -> None:
    check(wrapper, attention)
    with torch.no_grad():
        for name in LAYERS:
            for part in ("weight", "bias"):
                if getattr(getattr(attention, name), part) is not None:
                    one = heads_of(wrapper, name, part)
                    getattr(getattr(attention, name), part).copy_(torch.cat([one[0]] * len(one)))


@misconception(
    "stack_heads",
    "Only the values were stacked, and queries and keys are what they were. All three layers belong to a head.",
)
def only_values_stacked(wrapper: nn.Module, attention: nn.Module) -> None:
    check(wrapper, attention)
    with torch.no_grad():
        attention.W_value.weight.copy_(torch.cat(heads_of(wrapper, "W_value")))  # type: ignore[operator, union-attr]
        if attention.W_value.bias is not None:  # type: ignore[union-attr]
            attention.W_value.bias.copy_(torch.cat(heads_of(wrapper, "W_value", "bias")))  # type: ignore[operator, union-attr]


@misconception(
    "stack_heads",
    "Queries and keys have changed places on the way. The scores would still compare the two, but each token would "
    "look for what it has to offer.",
)
def queries_stacked_as_keys(wrapper: nn.Module, attention: nn.Module) -> None:
    check(wrapper, attention)
    stack(wrapper, attention)
    attention.W_query, attention.W_key = attention.W_key, attention.W_query


@misconception(
    "stack_heads",
    "The weights went from attention to the wrapper. It is the wrapper's weights that are wanted in attention.",
)
def opposite_direction(wrapper: nn.Module, attention: nn.Module) -> None:
    check(wrapper, attention)
    with torch.no_grad():
        for name in LAYERS:
            for part in ("weight", "bias"):
                whole = getattr(getattr(attention, name), part)
                if whole is not None:
                    pieces = whole.chunk(len(wrapper.heads))  # type: ignore[arg-type]
                    for head, piece in zip(wrapper.heads, pieces, strict=True):  # type: ignore[arg-type]
                        getattr(getattr(head, name), part).copy_(piece)


@misconception(
    "stack_heads",
    "The stacked weights are worked out, and attention keeps its own. Copy them into its layers: it is attention that "
    "should change.",
)
def stacked_on_a_copy(wrapper: nn.Module, attention: nn.Module) -> dict[str, Tensor]:
    check(wrapper, attention)
    return {name: torch.cat(heads_of(wrapper, name)) for name in LAYERS}


@misconception(
    "stack_heads",
    "The biases were left behind. Where both sides have them, they belong to the heads as much as the weights: stack "
    "them in the same order.",
)
def biases_left_behind(wrapper: nn.Module, attention: nn.Module) -> None:
    check(wrapper, attention)
    stack(wrapper, attention, ("weight",))


@misconception(
    "stack_heads",
    "The biases are set to zero. The heads' own biases are what is wanted in attention.",
)
def biases_set_to_zero(wrapper: nn.Module, attention: nn.Module) -> None:
    check(wrapper, attention)
    stack(wrapper, attention, ("weight",))
    for name in LAYERS:
        if getattr(attention, name).bias is not None:
            nn.init.zeros_(getattr(attention, name).bias)


@misconception(
    "stack_heads",
    "The key's bias was left behind. It would cancel in the softmax, but the weights of a head are to be handed over "
    "whole.",
)
def key_bias_left_behind(wrapper: nn.Module, attention: nn.Module) -> None:
    check(wrapper, attention)
    key_bias = attention.W_key.bias  # type: ignore[union-attr]
    before = None if key_bias is None else key_bias.detach().clone()  # type: ignore[operator]
    stack(wrapper, attention)
    if before is not None:
        key_bias.data = before


@misconception(
    "stack_heads",
    "The heads' biases were set to zero behind the caller's back, to make the outputs agree. The wrapper is not yours "
    "to change.",
)
def wrapper_robbed_of_its_biases(wrapper: nn.Module, attention: nn.Module) -> None:
    check(wrapper, attention)
    with torch.no_grad():
        for head in wrapper.heads:  # type: ignore[union-attr]
            for name in LAYERS:
                if getattr(head, name).bias is not None:
                    getattr(head, name).bias.zero_()
    stack(wrapper, attention)


@misconception(
    "stack_heads",
    "The wrapper's weights no longer require gradients. Copying without recording is what torch.no_grad() is for; the "
    "wrapper may well learn on.",
)
def wrapper_frozen(wrapper: nn.Module, attention: nn.Module) -> None:
    check(wrapper, attention)
    wrapper.requires_grad_(False)
    stack(wrapper, attention)


@misconception(
    "stack_heads",
    "The weights no longer require gradients: the outputs agree, but attention cannot learn on. nn.Parameter requires "
    "them unless it is told not to.",
)
def weights_frozen(wrapper: nn.Module, attention: nn.Module) -> None:
    check(wrapper, attention)
    stack(wrapper, attention)
    for name in LAYERS:
        getattr(attention, name).requires_grad_(False)


@misconception(
    "stack_heads",
    "New weights take the place of attention's own. They require no gradients, so attention cannot learn on; and they "
    "may have any shape, so widths that do not match go unnoticed. Copy into the parameters that are there.",
)
def frozen_weights_put_in_place(wrapper: nn.Module, attention: nn.Module) -> None:
    any_width_accepted(wrapper, attention)
    for name in LAYERS:
        getattr(attention, name).requires_grad_(False)


@misconception(
    "stack_heads",
    "The weights became plain tensors: the outputs agree, but no optimiser will find them any more. Wrap them in "
    "nn.Parameter, or copy into the parameters that are there.",
)
def weights_made_plain_tensors(wrapper: nn.Module, attention: nn.Module) -> None:
    check(wrapper, attention)
    stack(wrapper, attention)
    for name in LAYERS:
        layer = getattr(attention, name)
        weight = layer.weight.detach()
        del layer.weight
        layer.weight = weight


@misconception(
    "stack_heads",
    "A plain tensor is assigned where a parameter stands, and nn.Module refuses that. Wrap it in nn.Parameter, or copy "
    "it in without recording gradients.",
)
def tensors_assigned_to_parameters(wrapper: nn.Module, attention: nn.Module) -> None:
    check(wrapper, attention)
    for name in LAYERS:
        getattr(attention, name).weight = torch.cat(
            heads_of(wrapper, name)
        )  # H times (head_dim, d_in) -> (d_out, d_in)


@misconception(
    "stack_heads",
    "out_proj was changed as well. The wrapper has nothing to say about it: leave it as it is.",
)
def out_proj_made_anew(wrapper: nn.Module, attention: nn.Module) -> None:
    check(wrapper, attention)
    stack(wrapper, attention)
    nn.init.ones_(attention.out_proj.weight)  # type: ignore[arg-type, union-attr]


@misconception(
    "stack_heads",
    "Weights of any width are put in place of those that were there, and attention is then another module than it "
    "says. Raise an error where the widths do not match.",
)
def any_width_accepted(wrapper: nn.Module, attention: nn.Module) -> None:
    check(wrapper, attention, widths=False)
    for name in LAYERS:
        for part in ("weight", "bias"):
            if getattr(getattr(attention, name), part) is not None:
                setattr(getattr(attention, name), part, nn.Parameter(torch.cat(heads_of(wrapper, name, part))))


@misconception(
    "stack_heads",
    "Only the heads' width is compared, and not that of the inputs. Both have to match: d_out, shared out among the "
    "heads, and d_in.",
)
def d_in_not_looked_at(wrapper: nn.Module, attention: nn.Module) -> None:
    heads = heads_of(wrapper, "W_query")
    if sum(map(len, heads)) != attention.W_query.out_features:  # type: ignore[union-attr]
        raise ValueError("the widths do not match")
    any_width_accepted(wrapper, attention)


@misconception(
    "stack_heads",
    "Biases that attention alone has go unnoticed, and its outputs then differ from the wrapper's. Raise an error "
    "where the heads have none to put in their place.",
)
def bias_of_attention_accepted(wrapper: nn.Module, attention: nn.Module) -> None:
    check(wrapper, attention, biases=False)
    heads_have_biases = wrapper.heads[0].W_query.bias is not None  # type: ignore[index, union-attr]
    stack(wrapper, attention, ("weight", "bias") if heads_have_biases else ("weight",))


@misconception(
    "stack_heads",
    "Biases are refused on whichever side. Where both have them, there is room for them: stack them, too.",
)
def every_bias_refused(wrapper: nn.Module, attention: nn.Module) -> None:
    check(wrapper, attention)
    if attention.W_query.bias is not None:  # type: ignore[union-attr]
        raise ValueError("there is a bias")
    stack(wrapper, attention)


# -- gpt2_small_attention ----------------------------------------------------------------------------------------


@misconception(
    "gpt2_small_attention",
    "The context length of the toy batch was kept. GPT-2 was trained on texts of up to 1,024 tokens.",
)
def context_of_the_toy_batch() -> nn.Module:
    return MultiHeadAttention(768, 768, 6, 0.0, 12)


@misconception(
    "gpt2_small_attention",
    "Queries, keys and values have biases. GPT-2 itself has them; the rule here, as the book's, leaves them out: "
    "2,360,064 parameters and not 2,362,368.",
)
def biases_as_in_gpt2_itself() -> nn.Module:
    return MultiHeadAttention(768, 768, 1024, 0.0, 12, qkv_bias=True)


@misconception(
    "gpt2_small_attention",
    "d_out is the width of one head, 64. The class shares d_out out among the heads by itself, so d_out is the width "
    "of all of them: 768.",
)
def width_of_one_head() -> nn.Module:
    return MultiHeadAttention(768, 64, 1024, 0.0, 12)


@misconception(
    "gpt2_small_attention",
    "The features going in and coming out are not the same number. A block's output becomes the next one's input, so "
    "both are 768.",
)
def narrow_input() -> nn.Module:
    return MultiHeadAttention(3, 768, 1024, 0.0, 12)


@misconception(
    "gpt2_small_attention",
    "There is another number of heads. The smallest GPT-2 has 12, of 64 features each; only the larger ones have more.",
)
def heads_of_a_larger_gpt2() -> nn.Module:
    return MultiHeadAttention(768, 768, 1024, 0.0, 16)


@misconception(
    "gpt2_small_attention",
    "The two heads of the worked example were kept. The smallest GPT-2 has 12.",
)
def heads_of_the_worked_example() -> nn.Module:
    return MultiHeadAttention(768, 768, 1024, 0.0, 2)


@misconception(
    "gpt2_small_attention",
    "The width is that of the next larger GPT-2, 1,024. The smallest has 768 features.",
)
def width_of_a_larger_gpt2() -> nn.Module:
    return MultiHeadAttention(1024, 1024, 1024, 0.0, 16)


@misconception(
    "gpt2_small_attention",
    "Width and context length have changed places: the class takes (d_in, d_out, context_length, dropout, num_heads).",
)
def width_and_context_exchanged() -> nn.Module:
    return MultiHeadAttention(1024, 1024, 768, 0.0, 12)


@misconception(
    "gpt2_small_attention",
    "That is another module than the MultiHeadAttention of this unit: the wrapper, perhaps, which puts whole heads "
    "side by side. MultiHeadAttention shares 768 features out among the heads.",
)
def wrapper_instead() -> nn.Module:
    return MultiHeadAttentionWrapper(768, 64, 1024, 0.0, 12)
