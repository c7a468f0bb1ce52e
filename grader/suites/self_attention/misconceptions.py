"""Unit 2: wrong answers that learners give, each with the sentence that would help who wrote it.

A name says what was done. What only differs by the number that the scores are divided by, and other slips of the
attention itself, are written once, as scaled_dot_product_attention, and both modules show them too.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import ClassVar

import torch
from torch import Tensor, nn

from grader.misconceptions import misconception

Pair = tuple[Tensor, Tensor]
Triple = tuple[Tensor, Tensor, Tensor]
MATRICES = ("W_query", "W_key", "W_value")

# -- project_qkv -------------------------------------------------------------------------------------------------


def projections(inputs: Tensor, W_query: Tensor, W_key: Tensor, W_value: Tensor) -> Triple:
    """The right answer, which most of the wrong ones change in one place."""
    return inputs @ W_query, inputs @ W_key, inputs @ W_value


@misconception(
    "project_qkv",
    "Queries and keys have changed places. They look alike, but the first result is what each token looks for and "
    "the second is what it can be found by.",
)
def queries_and_keys_swapped(inputs: Tensor, W_query: Tensor, W_key: Tensor, W_value: Tensor) -> Triple:
    return projections(inputs, W_key, W_query, W_value)


@misconception(
    "project_qkv",
    "Keys and values have changed places. A key is only compared with queries; the value is what a token hands over "
    "once it is found.",
)
def keys_and_values_swapped(inputs: Tensor, W_query: Tensor, W_key: Tensor, W_value: Tensor) -> Triple:
    return projections(inputs, W_query, W_value, W_key)


@misconception(
    "project_qkv",
    "The three came back in reverse, values first. The order agreed on is queries, keys, values, as in Q, K, V.",
)
def values_first(inputs: Tensor, W_query: Tensor, W_key: Tensor, W_value: Tensor) -> Triple:
    return projections(inputs, W_value, W_key, W_query)


@misconception(
    "project_qkv",
    "All three projections use the same matrix. Looking for something, being found and handing over are three jobs, "
    "and each has its own weights to learn.",
)
def one_matrix_for_all(inputs: Tensor, W_query: Tensor, _W_key: Tensor, _W_value: Tensor) -> Triple:
    return projections(inputs, W_query, W_query, W_query)


@misconception(
    "project_qkv",
    "The keys were made with W_query. What a token can be found by has weights of its own: keys = inputs @ W_key.",
)
def keys_made_with_W_query(inputs: Tensor, W_query: Tensor, _W_key: Tensor, W_value: Tensor) -> Triple:
    return projections(inputs, W_query, W_query, W_value)


@misconception(
    "project_qkv",
    "The values were made with W_key. What a token hands over has weights of its own: values = inputs @ W_value.",
)
def values_made_with_W_key(inputs: Tensor, W_query: Tensor, W_key: Tensor, _W_value: Tensor) -> Triple:
    return projections(inputs, W_query, W_key, W_key)


@misconception(
    "project_qkv",
    "The inputs themselves were given as values. That was unit 1; now a third matrix decides what each token hands "
    "over.",
)
def inputs_given_as_values(inputs: Tensor, W_query: Tensor, W_key: Tensor, _W_value: Tensor) -> Triple:
    return inputs @ W_query, inputs @ W_key, inputs


@misconception(
    "project_qkv",
    "The matrices were transposed. They are (d_in, d_out) already, so inputs (T, d_in) meet them as they are; only "
    "nn.Linear keeps its weights the other way round.",
)
def matrices_transposed(inputs: Tensor, W_query: Tensor, W_key: Tensor, W_value: Tensor) -> Triple:
    return projections(inputs, W_query.T, W_key.T, W_value.T)


@misconception(
    "project_qkv",
    "The results have one column for each token: (d_out, T). Tokens are rows throughout this course, so the inputs "
    "stand on the left of the product.",
)
def tokens_in_columns(inputs: Tensor, W_query: Tensor, W_key: Tensor, W_value: Tensor) -> Triple:
    queries, keys, values = projections(inputs, W_query, W_key, W_value)
    return queries.T, keys.T, values.T  # (T, d_out) -> (d_out, T)


@misconception(
    "project_qkv",
    "`*` multiplies entry by entry. A projection sums over the features of a token, and that is the matrix product "
    "`@`.",
)
def multiplied_entry_by_entry(inputs: Tensor, W_query: Tensor, W_key: Tensor, W_value: Tensor) -> Triple:
    return inputs * W_query, inputs * W_key, inputs * W_value


@misconception(
    "project_qkv",
    "The queries are divided by √d_out here already. The projections are plain products; the scores are scaled in "
    "the next exercise, once.",
)
def queries_scaled_here(inputs: Tensor, W_query: Tensor, W_key: Tensor, W_value: Tensor) -> Triple:
    return projections(inputs, W_query / W_query.shape[1] ** 0.5, W_key, W_value)


@misconception(
    "project_qkv",
    "The inputs are made float32, which then do not fit float64 matrices. Let the arguments decide about the dtype.",
)
def inputs_made_float32(inputs: Tensor, W_query: Tensor, W_key: Tensor, W_value: Tensor) -> Triple:
    return projections(inputs.float(), W_query, W_key, W_value)


@misconception(
    "project_qkv",
    "Gradients stop at the results. `torch.no_grad()` and `.detach()` are for using a model that has learnt; here the "
    "matrices are still to learn.",
)
def gradients_switched_off(inputs: Tensor, W_query: Tensor, W_key: Tensor, W_value: Tensor) -> Triple:
    with torch.no_grad():
        return projections(inputs, W_query, W_key, W_value)


@misconception(
    "project_qkv",
    "The inputs are cut off from the gradients by `.detach()` or `.data`. The layers below, the embeddings among "
    "them, learn only through the inputs.",
)
def inputs_detached(inputs: Tensor, W_query: Tensor, W_key: Tensor, W_value: Tensor) -> Triple:
    return projections(inputs.detach(), W_query, W_key, W_value)


@misconception(
    "project_qkv",
    "The matrices are cut off from the gradients, by `.detach()`, by `.data` or by an nn.Parameter made of them, so "
    "they would stay what they are for ever.",
)
def matrices_detached(inputs: Tensor, W_query: Tensor, W_key: Tensor, W_value: Tensor) -> Triple:
    return projections(inputs, W_query.detach(), W_key.detach(), W_value.detach())


@misconception(
    "project_qkv",
    "The caller's inputs were changed. A method whose name ends in an underscore, such as `t_`, works on the tensor "
    "itself; `.T` gives a view and leaves it alone.",
)
def inputs_transposed_in_place(inputs: Tensor, W_query: Tensor, W_key: Tensor, W_value: Tensor) -> Triple:
    columns = inputs.t_()  # (T, d_in) -> (d_in, T)
    return (W_query.T @ columns).T, (W_key.T @ columns).T, (W_value.T @ columns).T


# -- scaled_dot_product_attention --------------------------------------------------------------------------------


def dot_products(queries: Tensor, keys: Tensor) -> Tensor:
    return queries @ keys.transpose(-2, -1)  # (…, T_q, d_k) @ (…, d_k, T_k) -> (…, T_q, T_k)


def weighted(scores: Tensor, values: Tensor) -> Pair:
    weights = torch.softmax(scores, dim=-1)
    return weights @ values, weights


def attention(queries: Tensor, keys: Tensor, values: Tensor) -> Pair:
    """The right answer."""
    return weighted(dot_products(queries, keys) / keys.shape[-1] ** 0.5, values)


HALF = (
    "`/` and `*` bind alike, from left to right: `/ d_k*0.5` divides by d_k and then takes the half. A square root "
    "is a power, `d_k**0.5`."
)
UNSCALED = (
    "The scores are not scaled. The wider the queries and keys, the wilder their dot products; divided by √d_k they "
    "keep a variance near 1, and softmax stays gentle."
)
NO_ROOT = "The scores are divided by d_k itself. Their standard deviation is √d_k, so that is what brings it to 1."
BY_TOKENS = (
    "The scores are divided by the root of the number of tokens. A dot product sums over features, so it is their "
    "number, d_k, that makes it grow."
)
WRONG_DIM = (
    "Softmax runs over the queries: the columns sum to one, not the rows. Each query shares its attention among the "
    "keys, and those lie along the last dim."
)
WHOLE_TENSOR = (
    "Softmax runs over all scores at once, so that all queries share one attention between them. Each query has a "
    "whole one to give: softmax over the last dim."
)
NO_SOFTMAX = (
    "The scores are used as weights as they are. Softmax makes shares of them: positive, and with the sum one for "
    "each query."
)
SCALED_LATE = (
    "The weights are divided after softmax. They then no longer sum to one; it is the scores, before softmax, that "
    "are too wild."
)
KEYS_HANDED_OVER = (
    "The weights mix the keys. Keys are only there to be compared with queries; what is handed over are the values."
)
ROLES_SWAPPED = (
    "Queries and keys have changed places: row i of the scores belongs to query i and holds its dot products with "
    "every key."
)
AVERAGED = (
    "Every value gets the same weight, whatever the queries and keys are. How much one token hears of another is for "
    "their query and key to say, by their dot product."
)
FUTURE_HIDDEN = (
    "The keys after each query's own place are hidden. That is causal attention, the next unit; here every token "
    "sees every token."
)


@misconception("scaled_dot_product_attention", HALF)
def half_instead_of_root(queries: Tensor, keys: Tensor, values: Tensor) -> Pair:
    return weighted(dot_products(queries, keys) / keys.shape[-1] * 0.5, values)


@misconception(
    "scaled_dot_product_attention",
    "The scores are divided by half of d_k. The half belongs into the exponent: √d_k is d_k to the power of a half.",
)
def divided_by_half_of_d_k(queries: Tensor, keys: Tensor, values: Tensor) -> Pair:
    return weighted(dot_products(queries, keys) / (keys.shape[-1] * 0.5), values)


@misconception(
    "scaled_dot_product_attention",
    "The exponent is `.05`, a twentieth, and nearly nothing is divided. A square root is the power of a half, `0.5`.",
)
def twentieth_root(queries: Tensor, keys: Tensor, values: Tensor) -> Pair:
    return weighted(dot_products(queries, keys) / keys.shape[-1] ** 0.05, values)


@misconception(
    "scaled_dot_product_attention",
    "The exponent is `5`, so the scores all but vanish and every key gets the same weight. A square root is the "
    "power of a half, `0.5`.",
)
def fifth_power(queries: Tensor, keys: Tensor, values: Tensor) -> Pair:
    return weighted(dot_products(queries, keys) / keys.shape[-1] ** 5, values)


@misconception("scaled_dot_product_attention", UNSCALED)
def scaling_forgotten(queries: Tensor, keys: Tensor, values: Tensor) -> Pair:
    return weighted(dot_products(queries, keys), values)


@misconception("scaled_dot_product_attention", NO_ROOT)
def divided_by_d_k_itself(queries: Tensor, keys: Tensor, values: Tensor) -> Pair:
    return weighted(dot_products(queries, keys) / keys.shape[-1], values)


@misconception(
    "scaled_dot_product_attention",
    "The scores are multiplied by √d_k, which makes wild scores wilder. Divide by it.",
)
def multiplied_by_root(queries: Tensor, keys: Tensor, values: Tensor) -> Pair:
    return weighted(dot_products(queries, keys) * keys.shape[-1] ** 0.5, values)


@misconception("scaled_dot_product_attention", BY_TOKENS)
def scaled_by_number_of_tokens(queries: Tensor, keys: Tensor, values: Tensor) -> Pair:
    return weighted(dot_products(queries, keys) / keys.shape[-2] ** 0.5, values)


@misconception("scaled_dot_product_attention", BY_TOKENS)
def scaled_by_number_of_queries(queries: Tensor, keys: Tensor, values: Tensor) -> Pair:
    return weighted(dot_products(queries, keys) / queries.shape[-2] ** 0.5, values)


@misconception(
    "scaled_dot_product_attention",
    "The divisor comes from the first dimension, which is the tokens, or the batch where there is one. d_k is the "
    "last: `keys.shape[-1]`.",
)
def scaled_by_first_dimension(queries: Tensor, keys: Tensor, values: Tensor) -> Pair:
    return weighted(dot_products(queries, keys) / keys.shape[0] ** 0.5, values)


@misconception(
    "scaled_dot_product_attention",
    "The divisor is the root of d_v, the width of the values. The dot products are between queries and keys, so it "
    "is their width, d_k, that counts.",
)
def scaled_by_width_of_values(queries: Tensor, keys: Tensor, values: Tensor) -> Pair:
    return weighted(dot_products(queries, keys) / values.shape[-1] ** 0.5, values)


@misconception(
    "scaled_dot_product_attention",
    "The divisor is always √2, which is right only for the width of the worked example. Read d_k off the arguments.",
)
def scaled_for_the_worked_example(queries: Tensor, keys: Tensor, values: Tensor) -> Pair:
    return weighted(dot_products(queries, keys) / 2**0.5, values)


@misconception("scaled_dot_product_attention", SCALED_LATE)
def scaled_after_softmax(queries: Tensor, keys: Tensor, values: Tensor) -> Pair:
    weights = torch.softmax(dot_products(queries, keys), dim=-1) / keys.shape[-1] ** 0.5
    return weights @ values, weights


@misconception("scaled_dot_product_attention", WRONG_DIM)
def softmax_over_queries(queries: Tensor, keys: Tensor, values: Tensor) -> Pair:
    weights = torch.softmax(dot_products(queries, keys) / keys.shape[-1] ** 0.5, dim=-2)
    return weights @ values, weights


@misconception(
    "scaled_dot_product_attention",
    "Softmax runs over dimension 0: over the queries, or over a batch whose elements should not know of each other. "
    "The keys lie along the last dim, -1, however many come before.",
)
def softmax_over_dimension_0(queries: Tensor, keys: Tensor, values: Tensor) -> Pair:
    weights = torch.softmax(dot_products(queries, keys) / keys.shape[-1] ** 0.5, dim=0)
    return weights @ values, weights


@misconception(
    "scaled_dot_product_attention",
    "Softmax runs over dimension 1, which are the keys only as long as there is no batch. Counted from the end they "
    "are always the last: dim=-1.",
)
def softmax_over_dimension_1(queries: Tensor, keys: Tensor, values: Tensor) -> Pair:
    weights = torch.softmax(dot_products(queries, keys) / keys.shape[-1] ** 0.5, dim=1)
    return weights @ values, weights


@misconception("scaled_dot_product_attention", WHOLE_TENSOR)
def softmax_over_everything(queries: Tensor, keys: Tensor, values: Tensor) -> Pair:
    scores = dot_products(queries, keys) / keys.shape[-1] ** 0.5
    weights = torch.softmax(scores.flatten(), dim=0).reshape(scores.shape)  # (… · T_q · T_k,) -> (…, T_q, T_k)
    return weights @ values, weights


@misconception("scaled_dot_product_attention", NO_SOFTMAX)
def softmax_forgotten(queries: Tensor, keys: Tensor, values: Tensor) -> Pair:
    weights = dot_products(queries, keys) / keys.shape[-1] ** 0.5
    return weights @ values, weights


@misconception(
    "scaled_dot_product_attention",
    "The scores are divided by their sum. Scores may be negative, and their sum near zero, so shares made that way "
    "can be anything; softmax takes exponentials first.",
)
def divided_by_sum(queries: Tensor, keys: Tensor, values: Tensor) -> Pair:
    scores = dot_products(queries, keys) / keys.shape[-1] ** 0.5
    weights = scores / scores.sum(dim=-1, keepdim=True)
    return weights @ values, weights


@misconception(
    "scaled_dot_product_attention",
    "Softmax is taken twice. The second one sees only numbers between zero and one, and makes all weights nearly "
    "equal.",
)
def softmax_twice(queries: Tensor, keys: Tensor, values: Tensor) -> Pair:
    _, weights = attention(queries, keys, values)
    return weighted(weights, values)


@misconception(
    "scaled_dot_product_attention",
    "The contexts are right, but what comes back beside them are the scores. The weights are what softmax makes of "
    "the scores.",
)
def scores_returned_as_weights(queries: Tensor, keys: Tensor, values: Tensor) -> Pair:
    contexts, _ = attention(queries, keys, values)
    return contexts, dot_products(queries, keys) / keys.shape[-1] ** 0.5


@misconception(
    "scaled_dot_product_attention",
    "This fits matrices alone. With a batch in front, `.T` turns all dimensions round and `mm` refuses; "
    "`transpose(-2, -1)` and `@` work on the last two and leave the rest.",
)
def only_two_dimensions(queries: Tensor, keys: Tensor, values: Tensor) -> Pair:
    return weighted(queries @ keys.T / keys.shape[-1] ** 0.5, values)


ONE_BATCH = (
    "`transpose(1, 2)`, `permute(0, 2, 1)` and `bmm` fit exactly one leading dimension. Count from the end instead: "
    "`transpose(-2, -1)` and `@` fit none, one and many."
)


@misconception("scaled_dot_product_attention", ONE_BATCH)
def exactly_one_leading_dimension(queries: Tensor, keys: Tensor, values: Tensor) -> Pair:
    return weighted(queries @ keys.transpose(1, 2) / keys.shape[-1] ** 0.5, values)


@misconception("scaled_dot_product_attention", ONE_BATCH)
def exactly_three_dimensions(queries: Tensor, keys: Tensor, values: Tensor) -> Pair:
    scores = torch.einsum("bqd,bkd->bqk", queries, keys)
    return weighted(scores / keys.shape[-1] ** 0.5, values)


@misconception(
    "scaled_dot_product_attention",
    "Two and three dimensions each have a case of their own, and four have none. Counted from the end, "
    "`transpose(-2, -1)`, one line fits them all.",
)
def at_most_one_leading_dimension(queries: Tensor, keys: Tensor, values: Tensor) -> Pair:
    turned = keys.T if keys.dim() == 2 else keys.transpose(1, 2)
    return weighted(queries @ turned / keys.shape[-1] ** 0.5, values)


TORN = (
    "`reshape` and `view` keep the order of the numbers and only break the rows elsewhere, so the keys are torn "
    "apart. `transpose` is what swaps two dimensions."
)


@misconception("scaled_dot_product_attention", TORN)
def reshaped_instead_of_transposed(queries: Tensor, keys: Tensor, values: Tensor) -> Pair:
    torn = keys.reshape(*keys.shape[:-2], keys.shape[-1], keys.shape[-2])  # (…, T_k, d_k) -> (…, d_k, T_k)
    return weighted(queries @ torn / keys.shape[-1] ** 0.5, values)


@misconception("scaled_dot_product_attention", TORN)
def viewed_instead_of_transposed(queries: Tensor, keys: Tensor, values: Tensor) -> Pair:
    torn = keys.view(*keys.shape[:-2], keys.shape[-1], keys.shape[-2])  # (…, T_k, d_k) -> (…, d_k, T_k)
    return weighted(queries @ torn / keys.shape[-1] ** 0.5, values)


@misconception(
    "scaled_dot_product_attention",
    "`view` asks that the numbers lie in memory in the order of the dimensions, which a transposed tensor's do not. "
    "`reshape` copies where it must; better still, matmul needs neither.",
)
def view_of_a_transposed_tensor(queries: Tensor, keys: Tensor, values: Tensor) -> Pair:
    # (…, T, d) -> (batch, T, d), and back
    rows, columns, widths = (tensor.view(-1, *tensor.shape[-2:]) for tensor in (queries, keys, values))
    contexts, weights = attention(rows, columns, widths)
    lead = queries.shape[:-2]
    return contexts.view(*lead, *contexts.shape[-2:]), weights.view(*lead, *weights.shape[-2:])


@misconception("scaled_dot_product_attention", KEYS_HANDED_OVER)
def keys_handed_over(queries: Tensor, keys: Tensor, values: Tensor) -> Pair:
    _, weights = attention(queries, keys, values)
    return weights @ keys, weights


@misconception("scaled_dot_product_attention", ROLES_SWAPPED)
def keys_ask_the_queries(queries: Tensor, keys: Tensor, values: Tensor) -> Pair:
    return attention(keys, queries, values)


@misconception(
    "scaled_dot_product_attention",
    "The queries are compared with one another. A query is matched with keys: queries @ keys, transposed.",
)
def queries_ask_each_other(queries: Tensor, _keys: Tensor, values: Tensor) -> Pair:
    return attention(queries, queries, values)


@misconception("scaled_dot_product_attention", AVERAGED)
def values_averaged(queries: Tensor, keys: Tensor, values: Tensor) -> Pair:
    return weighted(torch.zeros_like(dot_products(queries, keys)), values)


@misconception(
    "scaled_dot_product_attention",
    "Each query takes the value of its best key and nothing of the others. Softmax is softer than a maximum: every key "
    "has its share, and so the scores can learn.",
)
def best_key_takes_all(queries: Tensor, keys: Tensor, values: Tensor) -> Pair:
    best = dot_products(queries, keys).argmax(dim=-1)
    weights = nn.functional.one_hot(best, keys.shape[-2]).to(values.dtype)
    return weights @ values, weights


@misconception("scaled_dot_product_attention", FUTURE_HIDDEN)
def future_hidden(queries: Tensor, keys: Tensor, values: Tensor) -> Pair:
    scores = dot_products(queries, keys) / keys.shape[-1] ** 0.5
    return weighted(scores.masked_fill(torch.ones_like(scores).triu(1).bool(), -torch.inf), values)


@misconception(
    "scaled_dot_product_attention",
    "There are only as many keys looked at as there are queries. The two counts differ when one text attends to "
    "another, so each needs its own.",
)
def one_length_for_both(queries: Tensor, keys: Tensor, values: Tensor) -> Pair:
    count = queries.shape[-2]
    return attention(queries, keys[..., :count, :], values[..., :count, :])


@misconception(
    "scaled_dot_product_attention",
    "`squeeze()` drops every dimension of length one, and so a query that is alone loses its row. Name the dimension, "
    "or leave it.",
)
def lonely_query_squeezed(queries: Tensor, keys: Tensor, values: Tensor) -> Pair:
    contexts, weights = attention(queries, keys, values)
    return contexts.squeeze(), weights.squeeze()


@misconception(
    "scaled_dot_product_attention",
    "Everything is computed in float32, whatever came in. Who hands in float64 wants its precision back: let the "
    "arguments decide.",
)
def always_float32(queries: Tensor, keys: Tensor, values: Tensor) -> Pair:
    return attention(queries.float(), keys.float(), values.float())


@misconception(
    "scaled_dot_product_attention",
    "Computing in float64 is fine, but the result stays float64. Cast it back to the dtype of the arguments.",
)
def always_float64(queries: Tensor, keys: Tensor, values: Tensor) -> Pair:
    return attention(queries.double(), keys.double(), values.double())


@misconception(
    "scaled_dot_product_attention",
    "Gradients stop at the results. `torch.no_grad()` and `.detach()` are for using a model that has learnt; attention "
    "must pass them on to all that lies below.",
)
def no_gradients(queries: Tensor, keys: Tensor, values: Tensor) -> Pair:
    with torch.no_grad():
        return attention(queries, keys, values)


@misconception(
    "scaled_dot_product_attention",
    "The weights are cut off from the gradients before they meet the values. Queries and keys learn only through them.",
)
def weights_detached(queries: Tensor, keys: Tensor, values: Tensor) -> Pair:
    weights = attention(queries, keys, values)[1].detach()
    return weights @ values, weights


@misconception(
    "scaled_dot_product_attention",
    "The contexts pass gradients on, but the weights come back detached. Whoever takes them may want to learn "
    "through them too.",
)
def weights_returned_detached(queries: Tensor, keys: Tensor, values: Tensor) -> Pair:
    contexts, weights = attention(queries, keys, values)
    return contexts, weights.detach()


@misconception(
    "scaled_dot_product_attention",
    "The caller's queries were changed: `/=` and `mul_` work on the tensor itself. Write `queries = queries / …`, or "
    "divide the scores.",
)
def queries_scaled_in_place(queries: Tensor, keys: Tensor, values: Tensor) -> Pair:
    queries /= keys.shape[-1] ** 0.5
    return weighted(dot_products(queries, keys), values)


@misconception(
    "scaled_dot_product_attention",
    "The weights came first. The pair agreed on is (contexts, weights).",
)
def weights_first(queries: Tensor, keys: Tensor, values: Tensor) -> Pair:
    contexts, weights = attention(queries, keys, values)
    return weights, contexts


@misconception(
    "scaled_dot_product_attention",
    "Only the contexts came back. Return the weights as well: (contexts, weights).",
)
def contexts_alone(queries: Tensor, keys: Tensor, values: Tensor) -> Tensor:
    return attention(queries, keys, values)[0]


# -- SelfAttention_v1 --------------------------------------------------------------------------------------------


class ByHand(nn.Module):
    """The right SelfAttention_v1, of which each wrong one changes a part."""

    attend: ClassVar[Callable[..., Pair]] = staticmethod(attention)

    def __init__(self, d_in: int, d_out: int) -> None:
        super().__init__()
        self.W_query = nn.Parameter(torch.rand(d_in, d_out))
        self.W_key = nn.Parameter(torch.rand(d_in, d_out))
        self.W_value = nn.Parameter(torch.rand(d_in, d_out))

    def project(self, inputs: Tensor) -> Triple:
        return inputs @ self.W_query, inputs @ self.W_key, inputs @ self.W_value

    def forward(self, inputs: Tensor) -> Tensor:
        return self.attend(*self.project(inputs))[0]


@misconception("SelfAttention_v1", HALF)
class half_instead_of_root_in_v1(ByHand):
    attend = staticmethod(half_instead_of_root)


@misconception("SelfAttention_v1", UNSCALED)
class scaling_forgotten_in_v1(ByHand):
    attend = staticmethod(scaling_forgotten)


@misconception("SelfAttention_v1", NO_ROOT)
class divided_by_d_k_itself_in_v1(ByHand):
    attend = staticmethod(divided_by_d_k_itself)


@misconception("SelfAttention_v1", BY_TOKENS)
class scaled_by_number_of_tokens_in_v1(ByHand):
    attend = staticmethod(scaled_by_number_of_tokens)


@misconception("SelfAttention_v1", SCALED_LATE)
class scaled_after_softmax_in_v1(ByHand):
    attend = staticmethod(scaled_after_softmax)


@misconception("SelfAttention_v1", WRONG_DIM)
class softmax_over_queries_in_v1(ByHand):
    attend = staticmethod(softmax_over_queries)


@misconception("SelfAttention_v1", WHOLE_TENSOR)
class softmax_over_everything_in_v1(ByHand):
    attend = staticmethod(softmax_over_everything)


@misconception("SelfAttention_v1", NO_SOFTMAX)
class softmax_forgotten_in_v1(ByHand):
    attend = staticmethod(softmax_forgotten)


@misconception("SelfAttention_v1", KEYS_HANDED_OVER)
class keys_handed_over_in_v1(ByHand):
    attend = staticmethod(keys_handed_over)


@misconception("SelfAttention_v1", ROLES_SWAPPED)
class keys_ask_the_queries_in_v1(ByHand):
    attend = staticmethod(keys_ask_the_queries)


@misconception("SelfAttention_v1", AVERAGED)
class values_averaged_in_v1(ByHand):
    attend = staticmethod(values_averaged)


@misconception("SelfAttention_v1", FUTURE_HIDDEN)
class future_hidden_in_v1(ByHand):
    attend = staticmethod(future_hidden)


@misconception(
    "SelfAttention_v1",
    "The scores are divided by √d_in. The dot products are between projected tokens, whose width is d_out.",
)
class scaled_by_d_in_in_v1(ByHand):
    def forward(self, inputs: Tensor) -> Tensor:
        queries, keys, values = self.project(inputs)
        return weighted(dot_products(queries, keys) / inputs.shape[-1] ** 0.5, values)[0]


@misconception(
    "SelfAttention_v1",
    "The module has no parameters: an optimiser, `state_dict()` and `.double()` pass by plain tensors, and whatever "
    "stands in a Python list. Make each matrix an nn.Parameter, and an attribute of its own.",
)
class plain_tensors(ByHand):
    def __init__(self, d_in: int, d_out: int) -> None:
        nn.Module.__init__(self)
        self.matrices = [torch.rand(d_in, d_out) for _ in MATRICES]

    def project(self, inputs: Tensor) -> Triple:
        W_query, W_key, W_value = self.matrices
        return projections(inputs, W_query, W_key, W_value)


@misconception(
    "SelfAttention_v1",
    "There are parameters, but not W_query, W_key and W_value: they have other names, stand in a list, or are one wide "
    "matrix. Others reach the weights by the names that were agreed on.",
)
class matrices_under_other_names(ByHand):
    def __init__(self, d_in: int, d_out: int) -> None:
        nn.Module.__init__(self)
        self.W_q, self.W_k, self.W_v = (nn.Parameter(torch.rand(d_in, d_out)) for _ in MATRICES)

    def project(self, inputs: Tensor) -> Triple:
        return projections(inputs, self.W_q, self.W_k, self.W_v)


@misconception(
    "SelfAttention_v1",
    "The matrices are (d_out, d_in), as nn.Linear keeps them. Made by hand they are (d_in, d_out), and inputs @ W "
    "needs no transpose.",
)
class matrices_the_other_way_round(ByHand):
    def __init__(self, d_in: int, d_out: int) -> None:
        super().__init__(d_out, d_in)

    def project(self, inputs: Tensor) -> Triple:
        return projections(inputs, self.W_query.T, self.W_key.T, self.W_value.T)


@misconception(
    "SelfAttention_v1",
    "The three are linear layers, which is the second version. The first one keeps plain matrices, each an "
    "nn.Parameter.",
)
class layers_in_the_first_version(nn.Module):
    def __init__(self, d_in: int, d_out: int) -> None:
        super().__init__()
        self.W_query = nn.Linear(d_in, d_out, bias=False)
        self.W_key = nn.Linear(d_in, d_out, bias=False)
        self.W_value = nn.Linear(d_in, d_out, bias=False)

    def forward(self, inputs: Tensor) -> Tensor:
        return attention(self.W_query(inputs), self.W_key(inputs), self.W_value(inputs))[0]


@misconception(
    "SelfAttention_v1",
    "The parameters are there but do not require gradients, so no training will move them. nn.Parameter requires "
    "them unless it is told not to.",
)
class frozen_matrices(ByHand):
    def __init__(self, d_in: int, d_out: int) -> None:
        super().__init__(d_in, d_out)
        self.requires_grad_(False)


@misconception(
    "SelfAttention_v1",
    "Two calls with the same inputs give different outputs: something is drawn in `forward`, the matrices perhaps. "
    "What is learnt in one call must be there in the next, so draw in `__init__`, once.",
)
class matrices_drawn_in_forward(ByHand):
    def project(self, inputs: Tensor) -> Triple:
        W_query, W_key, W_value = (torch.rand_like(self.W_query) for _ in MATRICES)
        return projections(inputs, W_query, W_key, W_value)


@misconception(
    "SelfAttention_v1",
    "One matrix serves queries, keys and values, and the other two are made but never used. Each role has its own "
    "weights to learn.",
)
class one_matrix_in_use(ByHand):
    def project(self, inputs: Tensor) -> Triple:
        return one_matrix_for_all(inputs, self.W_query, self.W_key, self.W_value)


@misconception(
    "SelfAttention_v1",
    "W_key is made but never used: queries are compared with queries. What a token looks for and what it can be found "
    "by are different things.",
)
class key_matrix_unused(ByHand):
    def project(self, inputs: Tensor) -> Triple:
        return keys_made_with_W_query(inputs, self.W_query, self.W_key, self.W_value)


@misconception(
    "SelfAttention_v1",
    "W_value is made but never used: the weights mix the inputs themselves. What is mixed are the values, "
    "inputs @ W_value.",
)
class value_matrix_unused(ByHand):
    def project(self, inputs: Tensor) -> Triple:
        return inputs_given_as_values(inputs, self.W_query, self.W_key, self.W_value)


@misconception(
    "SelfAttention_v1",
    "The module gives contexts and weights. The next layer wants one tensor: give the contexts alone.",
)
class both_results_in_v1(ByHand):
    def forward(self, inputs: Tensor) -> Pair:  # type: ignore[override]
        return attention(*self.project(inputs))


@misconception(
    "SelfAttention_v1",
    "The module gives the attention weights. They say how much each token matters; the output is what they make of "
    "the values.",
)
class weights_instead_of_contexts_in_v1(ByHand):
    def forward(self, inputs: Tensor) -> Tensor:
        return attention(*self.project(inputs))[1]


@misconception(
    "SelfAttention_v1",
    "`.data` (or `.detach()`) takes the numbers out of the parameters and leaves the gradients behind. Use the "
    "parameters themselves.",
)
class matrices_detached_in_v1(ByHand):
    def project(self, inputs: Tensor) -> Triple:
        return projections(inputs, self.W_query.data, self.W_key.data, self.W_value.data)


@misconception(
    "SelfAttention_v1",
    "Nothing can learn through this forward: `torch.no_grad()`, `.detach()` and `.data` forget how the output came "
    "about.",
)
class gradients_switched_off_in_v1(ByHand):
    def forward(self, inputs: Tensor) -> Tensor:
        with torch.no_grad():
            return super().forward(inputs)


@misconception(
    "SelfAttention_v1",
    "The inputs are made float32, which then do not fit parameters that are float64. Let the inputs keep their dtype.",
)
class inputs_made_float32_in_v1(ByHand):
    def project(self, inputs: Tensor) -> Triple:
        return super().project(inputs.float())


@misconception(
    "SelfAttention_v1",
    "`squeeze()` drops every dimension of length one, and so a token that is alone loses its row.",
)
class lonely_token_squeezed_in_v1(ByHand):
    def forward(self, inputs: Tensor) -> Tensor:
        return super().forward(inputs).squeeze()


@misconception(
    "SelfAttention_v1",
    "The caller's inputs were changed. A method whose name ends in an underscore, such as `t_`, works on the tensor "
    "itself.",
)
class inputs_transposed_in_place_in_v1(ByHand):
    def project(self, inputs: Tensor) -> Triple:
        return inputs_transposed_in_place(inputs, self.W_query, self.W_key, self.W_value)


# -- SelfAttention_v2 --------------------------------------------------------------------------------------------


class Layered(nn.Module):
    """The right SelfAttention_v2, of which each wrong one changes a part."""

    attend: ClassVar[Callable[..., Pair]] = staticmethod(attention)

    def __init__(self, d_in: int, d_out: int, qkv_bias: bool = False) -> None:
        super().__init__()
        self.W_query = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_key = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_value = nn.Linear(d_in, d_out, bias=qkv_bias)

    def project(self, inputs: Tensor) -> Triple:
        return self.W_query(inputs), self.W_key(inputs), self.W_value(inputs)

    def forward(self, inputs: Tensor) -> Tensor:
        return self.attend(*self.project(inputs))[0]


@misconception("SelfAttention_v2", HALF)
class half_instead_of_root_in_v2(Layered):
    attend = staticmethod(half_instead_of_root)


@misconception("SelfAttention_v2", UNSCALED)
class scaling_forgotten_in_v2(Layered):
    attend = staticmethod(scaling_forgotten)


@misconception("SelfAttention_v2", NO_ROOT)
class divided_by_d_k_itself_in_v2(Layered):
    attend = staticmethod(divided_by_d_k_itself)


@misconception("SelfAttention_v2", BY_TOKENS)
class scaled_by_number_of_tokens_in_v2(Layered):
    attend = staticmethod(scaled_by_number_of_tokens)


@misconception("SelfAttention_v2", SCALED_LATE)
class scaled_after_softmax_in_v2(Layered):
    attend = staticmethod(scaled_after_softmax)


@misconception("SelfAttention_v2", WRONG_DIM)
class softmax_over_queries_in_v2(Layered):
    attend = staticmethod(softmax_over_queries)


@misconception("SelfAttention_v2", WHOLE_TENSOR)
class softmax_over_everything_in_v2(Layered):
    attend = staticmethod(softmax_over_everything)


@misconception("SelfAttention_v2", NO_SOFTMAX)
class softmax_forgotten_in_v2(Layered):
    attend = staticmethod(softmax_forgotten)


@misconception("SelfAttention_v2", KEYS_HANDED_OVER)
class keys_handed_over_in_v2(Layered):
    attend = staticmethod(keys_handed_over)


@misconception("SelfAttention_v2", ROLES_SWAPPED)
class keys_ask_the_queries_in_v2(Layered):
    attend = staticmethod(keys_ask_the_queries)


@misconception("SelfAttention_v2", AVERAGED)
class values_averaged_in_v2(Layered):
    attend = staticmethod(values_averaged)


@misconception("SelfAttention_v2", FUTURE_HIDDEN)
class future_hidden_in_v2(Layered):
    attend = staticmethod(future_hidden)


@misconception(
    "SelfAttention_v2",
    "The scores are divided by √d_in. The dot products are between projected tokens, whose width is d_out.",
)
class scaled_by_d_in_in_v2(Layered):
    def forward(self, inputs: Tensor) -> Tensor:
        queries, keys, values = self.project(inputs)
        return weighted(dot_products(queries, keys) / inputs.shape[-1] ** 0.5, values)[0]


@misconception(
    "SelfAttention_v2",
    "The three are matrices made by hand, which is the first version. Here each is an nn.Linear, which brings its own "
    "weight.",
)
class matrices_in_the_second_version(ByHand):
    def __init__(self, d_in: int, d_out: int, qkv_bias: bool = False) -> None:  # noqa: ARG002
        super().__init__(d_in, d_out)


@misconception(
    "SelfAttention_v2",
    "The module has no parameters: in a plain list or dict it does not look for layers, and plain tensors are none. "
    "Assign each nn.Linear to an attribute of its own, W_query, W_key and W_value.",
)
class layers_in_a_list(Layered):
    def __init__(self, d_in: int, d_out: int, qkv_bias: bool = False) -> None:
        nn.Module.__init__(self)
        self.layers = [nn.Linear(d_in, d_out, bias=qkv_bias) for _ in MATRICES]

    def project(self, inputs: Tensor) -> Triple:
        queries, keys, values = (layer(inputs) for layer in self.layers)
        return queries, keys, values


@misconception(
    "SelfAttention_v2",
    "There are parameters, but no layers W_query, W_key and W_value: they have other names, stand in an nn.ModuleList, "
    "or are one wide layer. Others reach the weights by the names that were agreed on.",
)
class layers_under_other_names(Layered):
    def __init__(self, d_in: int, d_out: int, qkv_bias: bool = False) -> None:
        nn.Module.__init__(self)
        self.W_qkv = nn.Linear(d_in, 3 * d_out, bias=qkv_bias)

    def project(self, inputs: Tensor) -> Triple:
        queries, keys, values = self.W_qkv(inputs).chunk(3, dim=-1)  # (T, 3 · d_out) -> three (T, d_out)
        return queries, keys, values


@misconception(
    "SelfAttention_v2",
    "W_query, W_key and W_value are one and the same layer under three names, so they can only learn the same. Make "
    "three.",
)
class one_layer_under_three_names(Layered):
    def __init__(self, d_in: int, d_out: int, qkv_bias: bool = False) -> None:
        nn.Module.__init__(self)
        self.W_query = self.W_key = self.W_value = nn.Linear(d_in, d_out, bias=qkv_bias)


@misconception(
    "SelfAttention_v2",
    "nn.Linear takes what comes in first and what goes out second: nn.Linear(d_in, d_out). It turns its weight round "
    "by itself.",
)
class layers_the_other_way_round(Layered):
    def __init__(self, d_in: int, d_out: int, qkv_bias: bool = False) -> None:
        super().__init__(d_out, d_in, qkv_bias)


@misconception(
    "SelfAttention_v2",
    "The layers have a bias whether asked for or not, for that is what nn.Linear does by itself. Pass qkv_bias on: "
    "bias=qkv_bias.",
)
class bias_always(Layered):
    def __init__(self, d_in: int, d_out: int, qkv_bias: bool = False) -> None:  # noqa: ARG002
        super().__init__(d_in, d_out, True)


@misconception(
    "SelfAttention_v2",
    "The layers never have a bias. qkv_bias is the caller's choice, so pass it on: bias=qkv_bias.",
)
class bias_never(Layered):
    def __init__(self, d_in: int, d_out: int, qkv_bias: bool = False) -> None:  # noqa: ARG002
        super().__init__(d_in, d_out, False)


@misconception(
    "SelfAttention_v2",
    "The bias is there when it is not asked for, and gone when it is: qkv_bias is turned into its opposite.",
)
class bias_the_other_way_round(Layered):
    def __init__(self, d_in: int, d_out: int, qkv_bias: bool = False) -> None:
        super().__init__(d_in, d_out, not qkv_bias)


@misconception(
    "SelfAttention_v2",
    "Only W_query gets its bias. The q, the k and the v in qkv_bias mean all three layers.",
)
class bias_in_W_query_only(Layered):
    def __init__(self, d_in: int, d_out: int, qkv_bias: bool = False) -> None:
        super().__init__(d_in, d_out, qkv_bias)
        self.W_key = nn.Linear(d_in, d_out, bias=False)
        self.W_value = nn.Linear(d_in, d_out, bias=False)


@misconception(
    "SelfAttention_v2",
    "Only the layers' weights are used, and their biases are left lying. Call the layer, W_query(inputs), and it adds "
    "its bias too.",
)
class biases_made_but_unused(Layered):
    def project(self, inputs: Tensor) -> Triple:
        # (d_out, d_in) -> (d_in, d_out), three times
        return projections(inputs, self.W_query.weight.T, self.W_key.weight.T, self.W_value.weight.T)


@misconception(
    "SelfAttention_v2",
    "W_query serves as all three layers, and the other two are made but never used. Each role has its own weights to "
    "learn.",
)
class one_layer_in_use(Layered):
    def project(self, inputs: Tensor) -> Triple:
        return self.W_query(inputs), self.W_query(inputs), self.W_query(inputs)


@misconception(
    "SelfAttention_v2",
    "W_key is made but never used: queries are compared with queries. What a token looks for and what it can be found "
    "by are different things.",
)
class key_layer_unused(Layered):
    def project(self, inputs: Tensor) -> Triple:
        return self.W_query(inputs), self.W_query(inputs), self.W_value(inputs)


@misconception(
    "SelfAttention_v2",
    "W_value is made but never used: the weights mix the inputs themselves. What is mixed are the values, "
    "W_value(inputs).",
)
class value_layer_unused(Layered):
    def project(self, inputs: Tensor) -> Triple:
        return self.W_query(inputs), self.W_key(inputs), inputs


@misconception(
    "SelfAttention_v2",
    "The module gives contexts and weights. The next layer wants one tensor: give the contexts alone.",
)
class both_results_in_v2(Layered):
    def forward(self, inputs: Tensor) -> Pair:  # type: ignore[override]
        return attention(*self.project(inputs))


@misconception(
    "SelfAttention_v2",
    "The module gives the attention weights. They say how much each token matters; the output is what they make of "
    "the values.",
)
class weights_instead_of_contexts_in_v2(Layered):
    def forward(self, inputs: Tensor) -> Tensor:
        return attention(*self.project(inputs))[1]


@misconception(
    "SelfAttention_v2",
    "The gradients are cut off, by `torch.no_grad()`, `.detach()` or `.data`, so neither the layers nor anything below "
    "them can learn.",
)
class gradients_switched_off_in_v2(Layered):
    def project(self, inputs: Tensor) -> Triple:
        queries, keys, values = super().project(inputs)
        return queries.detach(), keys.detach(), values.detach()


@misconception(
    "SelfAttention_v2",
    "Queries and keys are cut off from the gradients, so that only the values learn. What to look for is to be learnt "
    "as well.",
)
class only_values_learn(Layered):
    def project(self, inputs: Tensor) -> Triple:
        queries, keys, values = super().project(inputs)
        return queries.detach(), keys.detach(), values


@misconception(
    "SelfAttention_v2",
    "The inputs are made float32, which then do not fit layers that are float64. Let the inputs keep their dtype.",
)
class inputs_made_float32_in_v2(Layered):
    def project(self, inputs: Tensor) -> Triple:
        return super().project(inputs.float())


@misconception(
    "SelfAttention_v2",
    "`squeeze()` drops every dimension of length one, and so a token that is alone loses its row.",
)
class lonely_token_squeezed_in_v2(Layered):
    def forward(self, inputs: Tensor) -> Tensor:
        return super().forward(inputs).squeeze()


@misconception(
    "SelfAttention_v2",
    "The caller's inputs were changed. What comes in may be needed elsewhere, so work on a copy, and write "
    "`x = x - …` rather than `x -= …`.",
)
class inputs_changed_in_place(Layered):
    def forward(self, inputs: Tensor) -> Tensor:
        output = super().forward(inputs)
        inputs -= inputs.mean(dim=-1, keepdim=True)
        return output


# -- transfer_weights --------------------------------------------------------------------------------------------


def check_biases(attention_v2: nn.Module, names: tuple[str, ...] = MATRICES) -> None:
    for name in names:
        bias = getattr(attention_v2, name).bias
        if bias is not None and bias.any():
            raise ValueError(f"{name} has a bias that is not zero")


def copy_weights(attention_v2: nn.Module, attention_v1: nn.Module) -> None:
    with torch.no_grad():
        for name in MATRICES:
            getattr(attention_v1, name).copy_(getattr(attention_v2, name).weight.T)  # (d_in, d_out)


@misconception(
    "transfer_weights",
    "The weights are copied as they are. nn.Linear keeps its weight as (d_out, d_in) and multiplies by its "
    "transpose; the first version keeps (d_in, d_out).",
)
def not_transposed(attention_v2: nn.Module, attention_v1: nn.Module) -> None:
    check_biases(attention_v2)
    with torch.no_grad():
        for name in MATRICES:
            getattr(attention_v1, name).copy_(getattr(attention_v2, name).weight)


@misconception(
    "transfer_weights",
    "The weights are handed over as they are, (d_out, d_in), and no error says so. The first version computes "
    "inputs @ W, so it needs them transposed.",
)
def handed_over_without_transposing(attention_v2: nn.Module, attention_v1: nn.Module) -> None:
    check_biases(attention_v2)
    for name in MATRICES:
        getattr(attention_v1, name).data = getattr(attention_v2, name).weight.data.clone()


@misconception(
    "transfer_weights",
    "The weights are transposed only where the shapes differ. A square matrix is no less the wrong way round; it is "
    "only that its shape does not tell.",
)
def transposed_only_where_shapes_differ(attention_v2: nn.Module, attention_v1: nn.Module) -> None:
    check_biases(attention_v2)
    for name in MATRICES:
        matrix, weight = getattr(attention_v1, name), getattr(attention_v2, name).weight.data
        matrix.data = weight.clone() if weight.shape == matrix.shape else weight.T  # (d_out, d_in) -> (d_in, d_out)


@misconception(
    "transfer_weights",
    "`reshape` and `view` make the shapes fit but keep the order of the numbers, so each weight lands elsewhere. "
    "Transpose: `.T`.",
)
def reshaped_to_fit(attention_v2: nn.Module, attention_v1: nn.Module) -> None:
    check_biases(attention_v2)
    with torch.no_grad():
        for name in MATRICES:
            matrix = getattr(attention_v1, name)
            matrix.copy_(getattr(attention_v2, name).weight.reshape(matrix.shape))  # (d_out, d_in) -> (d_in, d_out)


@misconception(
    "transfer_weights",
    "The weights went from attention_v1 to attention_v2. It is the second whose weights are wanted in the first.",
)
def opposite_direction(attention_v2: nn.Module, attention_v1: nn.Module) -> None:
    check_biases(attention_v2)
    with torch.no_grad():
        for name in MATRICES:
            getattr(attention_v2, name).weight.copy_(getattr(attention_v1, name).T)  # (d_in, d_out) -> (d_out, d_in)


@misconception(
    "transfer_weights",
    "The weights that arrive are random: they come from layers made on the spot, or from random inputs. Take them from "
    "the layers of the attention_v2 that was handed in.",
)
def weights_of_fresh_layers(attention_v2: nn.Module, attention_v1: nn.Module) -> None:
    check_biases(attention_v2)
    for name in MATRICES:
        d_in, d_out = getattr(attention_v1, name).shape
        getattr(attention_v1, name).data = nn.Linear(d_in, d_out, bias=False).weight.data.T  # (d_in, d_out)


@misconception(
    "transfer_weights",
    "What a layer gives for some inputs is an activation: it is another for every text. What moves is the layer's "
    "weight.",
)
def activations_as_weights(attention_v2: nn.Module, attention_v1: nn.Module) -> None:
    check_biases(attention_v2)
    for name in MATRICES:
        matrix = getattr(attention_v1, name)
        activation = getattr(attention_v2, name)(torch.ones(len(matrix), len(matrix)))  # (d_in, d_out)
        setattr(attention_v1, name, nn.Parameter(activation.detach()))


@misconception(
    "transfer_weights",
    "attention_v1 keeps its own weights: nothing was written to it, or only to a copy or a new name. Change the module "
    "that was handed in.",
)
def worked_on_a_copy(attention_v2: nn.Module, _attention_v1: nn.Module) -> dict[str, Tensor]:
    check_biases(attention_v2)
    return {name: getattr(attention_v2, name).weight.T for name in MATRICES}


@misconception(
    "transfer_weights",
    "attention_v1 now calls attention_v2's forward, and its own weights are what they were. Moving the weights means "
    "that it could do without the other.",
)
def forward_borrowed(attention_v2: nn.Module, attention_v1: nn.Module) -> None:
    check_biases(attention_v2)
    object.__setattr__(attention_v1, "forward", attention_v2.forward)


@misconception(
    "transfer_weights",
    "The weights became plain tensors: the outputs agree, but no optimiser will find them any more. Wrap them in "
    "nn.Parameter, or copy into the parameters that are there.",
)
def parameters_replaced_by_tensors(attention_v2: nn.Module, attention_v1: nn.Module) -> None:
    check_biases(attention_v2)
    for name in MATRICES:
        delattr(attention_v1, name)
        setattr(attention_v1, name, getattr(attention_v2, name).weight.detach().T)  # (d_out, d_in) -> (d_in, d_out)


@misconception(
    "transfer_weights",
    "What is assigned where a parameter stands is none: a plain tensor, or a whole layer. nn.Module refuses that. Wrap "
    "the transposed weight in nn.Parameter, or copy it in without recording gradients.",
)
def tensor_assigned_to_a_parameter(attention_v2: nn.Module, attention_v1: nn.Module) -> None:
    check_biases(attention_v2)
    for name in MATRICES:
        setattr(attention_v1, name, getattr(attention_v2, name).weight.T)  # (d_out, d_in) -> (d_in, d_out)


@misconception(
    "transfer_weights",
    "An error of torch's stops the transfer. If it speaks of a leaf variable, copy under `torch.no_grad()`: a transfer "
    "is no step to be learnt through. If it speaks of keys, `state_dict()` calls W_query.weight what is W_query here.",
)
def copied_while_gradients_are_recorded(attention_v2: nn.Module, attention_v1: nn.Module) -> None:
    check_biases(attention_v2)
    for name in MATRICES:
        getattr(attention_v1, name).copy_(getattr(attention_v2, name).weight.T)  # (d_out, d_in) -> (d_in, d_out)


@misconception(
    "transfer_weights",
    "The weights arrive, but they no longer require gradients, so attention_v1 could not learn on. A transfer is a "
    "beginning, not an end.",
)
def frozen_afterwards(attention_v2: nn.Module, attention_v1: nn.Module) -> None:
    check_biases(attention_v2)
    copy_weights(attention_v2, attention_v1)
    attention_v1.requires_grad_(False)


@misconception(
    "transfer_weights",
    "The weights of attention_v2 itself were turned round on the way. The source of a transfer stays as it was.",
)
def source_transposed(attention_v2: nn.Module, attention_v1: nn.Module) -> None:
    check_biases(attention_v2)
    for name in MATRICES:
        layer = getattr(attention_v2, name)
        layer.weight.data = layer.weight.data.T  # (d_out, d_in) -> (d_in, d_out)
        getattr(attention_v1, name).data = layer.weight.data


@misconception(
    "transfer_weights",
    "The two modules exchanged their weights. attention_v2 is the source, and stays as it was.",
)
def weights_exchanged(attention_v2: nn.Module, attention_v1: nn.Module) -> None:
    check_biases(attention_v2)
    for name in MATRICES:
        matrix, layer = getattr(attention_v1, name), getattr(attention_v2, name)
        matrix.data, layer.weight.data = layer.weight.data.T, matrix.data.T  # (d_out, d_in) <-> (d_in, d_out)


@misconception(
    "transfer_weights",
    "The bias in attention_v2 is set to zero, so that the outputs agree. That changes the caller's module behind "
    "their back; say that it cannot be done, with an error.",
)
def source_biases_zeroed(attention_v2: nn.Module, attention_v1: nn.Module) -> None:
    with torch.no_grad():
        for name in MATRICES:
            bias = getattr(attention_v2, name).bias
            if bias is not None:
                bias.zero_()
    copy_weights(attention_v2, attention_v1)


@misconception(
    "transfer_weights",
    "Biases are taken off attention_v2's layers. Even a bias of zeros belongs to it, and the source of a transfer "
    "stays as it was.",
)
def source_biases_removed(attention_v2: nn.Module, attention_v1: nn.Module) -> None:
    for name in MATRICES:
        getattr(attention_v2, name).bias = None
    copy_weights(attention_v2, attention_v1)


@misconception(
    "transfer_weights",
    "Biases are passed over in silence. The first version has no place for them, and its outputs would be others: a "
    "bias that is not zero is an error.",
)
def biases_ignored(attention_v2: nn.Module, attention_v1: nn.Module) -> None:
    copy_weights(attention_v2, attention_v1)


@misconception(
    "transfer_weights",
    "Any bias is refused, even one of zeros. Zeros change nothing, so look at the numbers and not only whether there "
    "is a bias.",
)
def zero_biases_refused(attention_v2: nn.Module, attention_v1: nn.Module) -> None:
    if any(getattr(attention_v2, name).bias is not None for name in MATRICES):
        raise ValueError("attention_v2 has biases")
    copy_weights(attention_v2, attention_v1)


@misconception(
    "transfer_weights",
    "Only the bias of W_query is looked at. Each of the three layers has one of its own.",
)
def only_the_query_bias_checked(attention_v2: nn.Module, attention_v1: nn.Module) -> None:
    check_biases(attention_v2, ("W_query",))
    copy_weights(attention_v2, attention_v1)


@misconception(
    "transfer_weights",
    "A bias in W_key passes. In the softmax it would indeed cancel, but attention_v1 would still lack a number that "
    "attention_v2 has; the rule here is that every non-zero bias is refused.",
)
def key_bias_thought_harmless(attention_v2: nn.Module, attention_v1: nn.Module) -> None:
    check_biases(attention_v2, ("W_query", "W_value"))
    copy_weights(attention_v2, attention_v1)


@misconception(
    "transfer_weights",
    "A bias in W_value passes. It is added to every context, so it changes the outputs most plainly of all three.",
)
def value_bias_forgotten(attention_v2: nn.Module, attention_v1: nn.Module) -> None:
    check_biases(attention_v2, ("W_query", "W_key"))
    copy_weights(attention_v2, attention_v1)


@misconception(
    "transfer_weights",
    "A bias is held to be zero where its numbers only cancel, or where just some of them are zero. Ask whether any "
    "one of them is not: `bias.any()`.",
)
def bias_judged_by_its_sum(attention_v2: nn.Module, attention_v1: nn.Module) -> None:
    for name in MATRICES:
        bias = getattr(attention_v2, name).bias
        if bias is not None and bias.sum() != 0:
            raise ValueError(f"{name} has a bias that is not zero")
    copy_weights(attention_v2, attention_v1)


@misconception(
    "transfer_weights",
    "The refusal is of another kind than agreed. Callers tell errors by their type, and here that is ValueError or "
    "AssertionError.",
)
def refused_with_another_error(attention_v2: nn.Module, attention_v1: nn.Module) -> None:
    try:
        check_biases(attention_v2)
    except ValueError as error:
        raise RuntimeError("there is a bias") from error
    copy_weights(attention_v2, attention_v1)


@misconception(
    "transfer_weights",
    "W_query and W_key arrive, W_value does not. All three matrices make the outputs.",
)
def value_weights_forgotten(attention_v2: nn.Module, attention_v1: nn.Module) -> None:
    check_biases(attention_v2)
    with torch.no_grad():
        for name in ("W_query", "W_key"):
            getattr(attention_v1, name).copy_(getattr(attention_v2, name).weight.T)  # (d_out, d_in) -> (d_in, d_out)


@misconception(
    "transfer_weights",
    "All three matrices of attention_v1 got the weights of W_query. Each takes those of its own name.",
)
def query_weights_everywhere(attention_v2: nn.Module, attention_v1: nn.Module) -> None:
    check_biases(attention_v2)
    with torch.no_grad():
        for name in MATRICES:
            getattr(attention_v1, name).copy_(attention_v2.W_query.weight.T)  # type: ignore[union-attr]


# -- dot_product_variance ----------------------------------------------------------------------------------------

Numbers = tuple[float, float]
Source = torch.Generator | None


def draw(d_k: int, samples: int, generator: Source) -> Pair:
    """Queries and keys, each (samples, d_k)."""
    return torch.randn(samples, d_k, generator=generator), torch.randn(samples, d_k, generator=generator)


def variances(dot_products: Tensor, scaled: Tensor) -> Numbers:
    return dot_products.var().item(), scaled.var().item()


def measured(d_k: int, samples: int, generator: Source = None) -> Numbers:
    """The right answer."""
    queries, keys = draw(d_k, samples, generator)
    products = (queries * keys).sum(-1)  # (samples, d_k) -> (samples,)
    return variances(products, products / d_k**0.5)


@misconception(
    "dot_product_variance",
    "These are standard deviations. The variance is their square, and it is the variance that grows like d_k.",
)
def standard_deviations(d_k: int, samples: int, generator: Source = None) -> Numbers:
    plain, scaled = measured(d_k, samples, generator)
    return plain**0.5, scaled**0.5


@misconception(
    "dot_product_variance",
    "The same number of pairs is drawn whatever the caller asks for. An estimate over `samples` pairs is the better, "
    "and the slower, the more of them there are.",
)
def samples_ignored(d_k: int, samples: int, generator: Source = None) -> Numbers:  # noqa: ARG001
    return measured(d_k, 6000, generator)


@misconception(
    "dot_product_variance",
    "The dot products are divided by d_k itself, and that is too much: their variance is then divided by d_k twice. "
    "By √d_k it comes to 1.",
)
def divided_by_d_k(d_k: int, samples: int, generator: Source = None) -> Numbers:
    plain, _ = measured(d_k, samples, generator)
    return plain, plain / d_k**2


@misconception("dot_product_variance", HALF)
def half_instead_of_root_in_variance(d_k: int, samples: int, generator: Source = None) -> Numbers:
    plain, _ = measured(d_k, samples, generator)
    return plain, plain / d_k**2 / 4


@misconception(
    "dot_product_variance",
    "The second number is near √d_k: a root of the variance, or the variance divided by it. It is the dot products "
    "that are divided by √d_k, and what divides a number divides its variance by the square.",
)
def variance_divided_by_root(d_k: int, samples: int, generator: Source = None) -> Numbers:
    plain, _ = measured(d_k, samples, generator)
    return plain, plain / d_k**0.5


@misconception(
    "dot_product_variance",
    "The second number is the first once more. Divide each dot product by √d_k before you measure again.",
)
def never_scaled(d_k: int, samples: int, generator: Source = None) -> Numbers:
    plain, _ = measured(d_k, samples, generator)
    return plain, plain


@misconception(
    "dot_product_variance",
    "Both numbers are measured after scaling. The first is meant to show how wild the dot products are without it.",
)
def scaled_both_times(d_k: int, samples: int, generator: Source = None) -> Numbers:
    _, scaled = measured(d_k, samples, generator)
    return scaled, scaled


@misconception(
    "dot_product_variance",
    "The scaled variance came first. The order is: plain, then scaled.",
)
def scaled_first(d_k: int, samples: int, generator: Source = None) -> Numbers:
    plain, scaled = measured(d_k, samples, generator)
    return scaled, plain


@misconception(
    "dot_product_variance",
    "The variance is twice too large: that of q·q, or of a sum of both vectors' entries. Draw the keys on their own, "
    "and multiply each entry of q by its entry of k.",
)
def vectors_with_themselves(d_k: int, samples: int, generator: Source = None) -> Numbers:
    queries, _ = draw(d_k, samples, generator)
    products = (queries * queries).sum(-1)  # (samples, d_k) -> (samples,)
    return variances(products, products / d_k**0.5)


@misconception(
    "dot_product_variance",
    "The entries are drawn uniformly by `torch.rand`. Standard normal ones, with mean 0 and variance 1, come from "
    "`torch.randn`.",
)
def uniform_entries(d_k: int, samples: int, generator: Source = None) -> Numbers:
    queries, keys = (torch.rand(samples, d_k, generator=generator) for _ in range(2))
    products = (queries * keys).sum(-1)  # (samples, d_k) -> (samples,)
    return variances(products, products / d_k**0.5)


@misconception(
    "dot_product_variance",
    "The dot products come out divided by d_k: averaged, or made of vectors of length one. A dot product sums the "
    "products of the entries as they are, and it is the sum that grows with d_k.",
)
def mean_instead_of_sum(d_k: int, samples: int, generator: Source = None) -> Numbers:
    plain, scaled = measured(d_k, samples, generator)
    return plain / d_k**2, scaled / d_k**2


@misconception(
    "dot_product_variance",
    "This is the variance of single numbers: entries, or products of two. A dot product is the sum of such products "
    "over the d_k features: multiply and sum first, then measure.",
)
def products_never_summed(d_k: int, samples: int, generator: Source = None) -> Numbers:
    queries, keys = draw(d_k, samples, generator)
    return variances(queries * keys, queries * keys / d_k**0.5)


@misconception(
    "dot_product_variance",
    "The sum runs over the samples and leaves one number for each feature. Sum over the features, the last dim, so "
    "that each pair has its dot product.",
)
def summed_over_the_samples(d_k: int, samples: int, generator: Source = None) -> Numbers:
    queries, keys = draw(d_k, samples, generator)
    products = (queries * keys).sum(0)  # (samples, d_k) -> (d_k,)
    return variances(products, products / d_k**0.5)


@misconception(
    "dot_product_variance",
    "The squares are summed but not divided by how many there are. A variance is a mean of squares.",
)
def sum_of_squares(d_k: int, samples: int, generator: Source = None) -> Numbers:
    plain, scaled = measured(d_k, samples, generator)
    return plain * (samples - 1), scaled * (samples - 1)


@misconception(
    "dot_product_variance",
    "One number came back. Two are asked for: the variance of q·k, and that of q·k / √d_k.",
)
def one_number_alone(d_k: int, samples: int, generator: Source = None) -> float:
    return measured(d_k, samples, generator)[0]


@misconception(
    "dot_product_variance",
    "The numbers of the theory are given, and nothing is drawn. Measure them: draw pairs, and see how near the theory "
    "comes.",
)
def theory_instead_of_measurement(d_k: int, samples: int, generator: Source = None) -> Numbers:  # noqa: ARG001
    return float(d_k), 1.0


@misconception(
    "dot_product_variance",
    "The generator is taken but not used. Hand it on to every draw: `torch.randn(…, generator=generator)`.",
)
def generator_ignored(d_k: int, samples: int, generator: Source = None) -> Numbers:  # noqa: ARG001
    return measured(d_k, samples)


@misconception(
    "dot_product_variance",
    "Only the queries come from the generator, the keys from torch's global one. Hand it on to every draw.",
)
def generator_for_the_queries_only(d_k: int, samples: int, generator: Source = None) -> Numbers:
    queries, keys = torch.randn(samples, d_k, generator=generator), torch.randn(samples, d_k)
    products = (queries * keys).sum(-1)  # (samples, d_k) -> (samples,)
    return variances(products, products / d_k**0.5)


@misconception(
    "dot_product_variance",
    "The generator is set to a seed of your own before drawing, so whatever state it came with is lost. The caller "
    "decides about the state.",
)
def generator_seeded_anew(d_k: int, samples: int, generator: Source = None) -> Numbers:
    return measured(d_k, samples, generator.manual_seed(123) if generator else None)


@misconception(
    "dot_product_variance",
    "A second generator is made from the seed or the state of the first, which itself stays where it was. Draw from "
    "the one that was handed in, and it moves on.",
)
def generator_copied(d_k: int, samples: int, generator: Source = None) -> Numbers:
    copy = torch.Generator().manual_seed(generator.initial_seed()) if generator else None
    return measured(d_k, samples, copy)


@misconception(
    "dot_product_variance",
    "Without a generator every call draws the same: a seed is set inside, or a generator made that always begins "
    "alike. Whoever calls decides about the seed; None means torch's global generator as it stands.",
)
def always_the_same_draws(d_k: int, samples: int, generator: Source = None) -> Numbers:
    return measured(d_k, samples, generator or torch.Generator())
