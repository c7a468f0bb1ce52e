"""CrossAttention: hidden tests, known mistakes and right answers."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import torch

from grader.suites.attention_mistakes import VALUES_AS_KEYS, ZEROS_HIDDEN
from grader.suites.attention_probes import is_seen, one_hot_at_low_scores
from grader.suites.causal import AHEAD, LOW, expect_hidden, fitting_tokens, steps_back
from grader.suites.encoder_decoder_attention.shared import B, Function, Pair, context_of, products_of, softmax_of
from grader.testing.checks import (
    as_layers,
    expect_close,
    expect_tensor,
    expect_true,
    no_parameter,
    set_layers,
)
from grader.testing.draws import Fresh, numbers
from grader.testing.misconceptions import mistake, replace
from grader.testing.probes import Draw, Property, call, layers, probe, set_drawn_layers
from grader.testing.student import RemoteObject, Student
from grader.testing.suite import (
    Asking,
    Example,
    asking_module,
    contract,
    kept_arguments,
    right_gradients,
    right_results,
    rule,
)

# D_OUT is not 4, whose half is its square root. A batch has no more tokens than features.
T_Q, T_K, D_OUT, D_QUERY, D_CONTEXT = 4, 6, 7, 12, 13
MATRICES = ("W_query", "W_key", "W_value")


def attention_of(student: Student) -> Function:
    """Queries (T_q, d), keys (T_k, d), values (T_k, d_out) and the padding mask (T_k,) to (T_q, d_out)."""
    ready_made = student.substitute("scaled_dot_product_attention", None)
    if ready_made:
        # It takes no mask: an answer that calls it must remove the padding first.
        return lambda queries, keys, values, padding: ready_made(queries, keys[~padding], values[~padding])[0]
    score, normalize, weighted_sum = products_of(student), softmax_of(student), context_of(student)

    def attention(
        queries: torch.Tensor, keys: torch.Tensor, values: torch.Tensor, padding: torch.Tensor
    ) -> torch.Tensor:
        scores = [torch.where(padding, -torch.inf, score(query, keys)) for query in queries]
        return torch.stack([weighted_sum(normalize(row / math.sqrt(keys.shape[-1]), -1), values) for row in scores])

    return attention


def cross_attention(
    student: Student,
    x: torch.Tensor,
    context: torch.Tensor,
    W_query: torch.Tensor,
    W_key: torch.Tensor,
    W_value: torch.Tensor,
    padding_mask: torch.Tensor | None = None,
) -> torch.Tensor:
    """(B, T_q, d_query), (B, T_k, d_context), three (d_in, d_out) and (B, T_k) to (B, T_q, d_out)."""
    if padding_mask is None:
        padding_mask = torch.zeros(context.shape[:2], dtype=torch.bool)
    queries = torch.einsum("bqi,io->bqo", x.double(), W_query.double())
    keys, values = (torch.einsum("bki,io->bko", context.double(), matrix.double()) for matrix in (W_key, W_value))
    return torch.stack(list(map(attention_of(student), queries, keys, values, padding_mask)))


# The dot products of a query with the key that fits it and with all others. As in units 2 and 3, the largest number
# that learners are known to divide by is twice the width, 14: then the fitting key is still 240 / 14 = 17 ahead.
# exp(80) is finite in float32, so softmax works without subtracting the maximum.
FITTING, OTHER = 80.0, -160.0


def dot_products(steps: torch.Tensor, keys_count: int, which: int) -> torch.Tensor:
    """(T_q, T_k): each query fits the key at its own position or one before it, by these steps back (T_q,).

    As in unit 3, a causal mask hides no key that fits. Some keys fit two queries and some fit none, so the weights are
    wrong if softmax runs over the queries or if queries and keys are swapped.
    """
    products = torch.full((len(steps), keys_count), OTHER, dtype=torch.float64)
    products[range(len(steps)), fitting_tokens(steps, which).clamp(max=keys_count - 1)] = FITTING
    return products


def dot_products_with_padding(
    steps: torch.Tensor, padding: torch.Tensor, which: int, below: float = 2 * FITTING
) -> torch.Tensor:
    """(T_q, T_k): as dot_products for the keys that are not padding (T_k,), lower by `below`. Padding fits best.

    All other dot products are negative. So padding gets all the weight if it is not hidden, or if its scores are set to
    0. If padding is hidden only after softmax, the result is still right: exp(-160) is zero in float32, but
    exp(-160 / √d_out) is not.
    """
    products = torch.full((len(steps), len(padding)), FITTING, dtype=torch.float64)
    seen = dot_products(steps, int((~padding).sum()), which) - below
    products[:, ~padding] = seen
    return products


def queries_and_keys(fresh: Fresh, products: torch.Tensor) -> Pair:
    """Queries (T_q, d_out) and keys (T_k, d_out) in float64 with these dot products; T_q or T_k is at most d_out."""
    # With r = min(T_q, T_k), the SVD has factors (T_q, r), (r,) and (r, T_k). Queries and keys each take the root of
    # the singular values, and both are written in the same r orthonormal directions of d_out dimensions.
    left, sizes, right = torch.linalg.svd(products, full_matrices=False)
    directions = fresh.rotation(D_OUT)[: len(sizes)]
    return left * sizes.sqrt() @ directions, right.mT * sizes.sqrt() @ directions


Arguments = tuple[torch.Tensor, torch.Tensor, dict[str, torch.Tensor]]


def texts_with(fresh: Fresh, products: list[torch.Tensor], dtype: torch.dtype = torch.float32) -> Arguments:
    """x (B, T_q, d_query), context (B, T_k, d_context), and matrices (d_in, d_out), with these dot products."""
    pairs = [queries_and_keys(fresh, one) for one in products]
    queries, keys = (torch.cat(parts) for parts in zip(*pairs, strict=True))  # (B · T, d_out)
    # Orthonormal, so that one matrix can map every token of the batch to its query or key.
    x, context = fresh.rotation(D_QUERY)[: len(queries)], fresh.rotation(D_CONTEXT)[: len(keys)]
    matrices = {"W_query": x.mT @ queries, "W_key": context.mT @ keys, "W_value": fresh(D_CONTEXT, D_OUT)}
    x, context = (tokens.unflatten(0, (len(products), -1)) for tokens in (x, context))  # (B · T, d) -> (B, T, d)
    return x.to(dtype), context.to(dtype), {name: matrix.to(dtype) for name, matrix in matrices.items()}


def decisive_texts(
    fresh: Fresh,
    batch: int = 1,
    queries_count: int = T_Q,
    keys_count: int = T_K,
    dtype: torch.dtype = torch.float32,
) -> Arguments:
    """Arguments where one key gets all the weight of each query."""
    steps = steps_back(fresh, queries_count)
    return texts_with(fresh, [dot_products(steps, keys_count, one) for one in range(batch)], dtype)


def texts_with_padding(fresh: Fresh, queries_count: int, padding_mask: torch.Tensor) -> Arguments:
    """Arguments where one key that is not padding gets all the weight of each query."""
    steps = steps_back(fresh, queries_count)
    products = [dot_products_with_padding(steps, row, one) for one, row in enumerate(padding_mask)]
    return texts_with(fresh, products)


def texts(fresh: Fresh, d_query: int = D_QUERY, d_context: int = D_CONTEXT, queries_count: int = T_Q) -> Arguments:
    """Random arguments."""
    widths = {"W_query": d_query, "W_key": d_context, "W_value": d_context}
    matrices = {name: fresh(width, D_OUT) / width**0.5 for name, width in widths.items()}
    return fresh(B, queries_count, d_query), fresh(B, T_K, d_context), matrices


def texts_that_show_the_weights(fresh: Fresh) -> Arguments:
    """Arguments for which the outputs are the weights (B, T_q, T_k), with zeros in the remaining features."""
    words = torch.arange(B * T_K).view(B, T_K)
    context = torch.nn.functional.one_hot(words, D_CONTEXT).float()  # one feature for each word
    W_value = torch.zeros(D_CONTEXT, D_OUT)
    W_value[words.flatten(), torch.arange(T_K).repeat(B)] = 1  # the value of a word is one at its position
    # With the fourth root the dot products have a variance of one, so no weight is too small to see, scaled or not.
    matrices = {"W_query": fresh(D_QUERY, D_OUT) / D_QUERY**0.5, "W_key": fresh(D_CONTEXT, D_OUT) / D_OUT**0.25}
    return fresh(B, T_Q, D_QUERY), context, {**matrices, "W_value": W_value}


def layers_of(student: Student) -> dict[str, torch.Tensor]:
    """The parameters of the three layers, by their names."""
    parameters = student.queue("CrossAttention", D_QUERY, D_CONTEXT, D_OUT).parameters()
    for name in MATRICES:
        expect_true(name not in parameters, f"{name} is an nn.Parameter, not a layer.")
        expect_true(f"{name}.weight" in parameters, no_parameter(f"{name}.weight"))
    return parameters


def attention_with(
    student: Student, matrices: dict[str, torch.Tensor], dtype: torch.dtype = torch.float32
) -> RemoteObject:
    """A CrossAttention with these matrices (d_in, d_out)."""
    attention = student.queue("CrossAttention", len(matrices["W_query"]), *matrices["W_key"].shape)
    if dtype != torch.float32:
        attention.to(dtype)
    set_layers(attention, as_layers(matrices))
    return attention


@rule("W_query is nn.Linear from d_query to d_out; W_key and W_value are nn.Linear from d_context to d_out")
def test_three_layers_of_two_widths(student: Student) -> None:
    """W_query should be an nn.Linear from d_query to d_out, and W_key and W_value from d_context to d_out."""
    parameters = layers_of(student)
    shapes = [tuple(parameters[f"{name}.weight"].shape) for name in MATRICES]
    wanted = [(D_OUT, D_QUERY), (D_OUT, D_CONTEXT), (D_OUT, D_CONTEXT)]
    expect_true(shapes == wanted, f"The weights of the three layers have the shapes {shapes}.")


@rule("none of the three has a bias")
def test_no_layer_has_a_bias(student: Student) -> None:
    """W_query, W_key and W_value should have no bias."""
    parameters = layers_of(student)
    for name in MATRICES:
        expect_true(f"{name}.bias" not in parameters, f"{name} has a bias.")


@rule("queries come from x, keys and values from context")
def test_queries_come_from_x_and_the_rest_from_context(student: Student, fresh: Fresh) -> None:
    """Queries should come from x, and keys and values from context, also if all shapes are equal."""
    x, context, matrices = decisive_texts(fresh, 1, T_K, T_K)
    # Pad x and W_query with zeros to the width of context.
    more = D_CONTEXT - D_QUERY
    x = torch.nn.functional.pad(x, (0, more))  # (B, T, d_query) -> (B, T, d_context)
    matrices["W_query"] = torch.nn.functional.pad(matrices["W_query"], (0, 0, 0, more))
    output = attention_with(student, matrices)(x, context)
    expect_close(output, cross_attention(student, x, context, **matrices), "The outputs")


def shown_weights(student: Student, fresh: Fresh) -> Pair:
    """Return the weights (B, T_q, T_k) of the student's module, and the expected ones."""
    x, context, matrices = texts_that_show_the_weights(fresh)
    output = expect_tensor(attention_with(student, matrices)(x, context), (B, T_Q, D_OUT))
    return output[..., :T_K], cross_attention(student, x, context, **matrices)[..., :T_K]


@rule("scores are the dot products of the queries with the keys, divided by the square root of d_out")
def test_cross_scores_are_divided_by_the_square_root_of_d_out(student: Student, fresh: Fresh) -> None:
    """The scores should be the dot products of queries and keys, divided by the square root of d_out."""
    # The means of rows and columns are subtracted, so the scores are the same for a softmax along the wrong dimension.
    weights, right = (part.double().log() for part in shown_weights(student, fresh))
    scores, right_scores = (
        part - part.mean(-1, keepdim=True) - part.mean(-2, keepdim=True) + part.mean((-2, -1), keepdim=True)
        for part in (weights, right)
    )
    expect_close(scores, right_scores, "The scores")


@rule("softmax runs over the whole context for each query: there is no causal mask")
def test_each_query_shares_its_attention_among_the_whole_context(student: Student, fresh: Fresh) -> None:
    """The weights of each query should be positive, sum to one over the context and be largest for the best key."""
    weights, right = shown_weights(student, fresh)
    expect_true(bool((weights > 0).all()), "Not every weight is positive.")
    expect_close(weights.sum(-1), right.sum(-1), "The sums of the weights of each query")
    expect_true(
        torch.equal(weights.argmax(-1), right.argmax(-1)),
        "A query's largest weight is not on the key with which it has the largest dot product.",
    )


@rule("the output is, for each query, the sum of the values, each times its weight")
def test_output_of_cross_attention(student: Student, fresh: Fresh) -> None:
    """The output should be only the weighted sums of the values: one for each query, (B, T_q, d_out)."""
    # Last, all widths are equal: if they differ, values that were not projected have the wrong shape.
    for sizes in ((D_QUERY, D_CONTEXT, T_Q), (D_OUT, D_OUT, T_K)):
        x, context, matrices = texts(fresh, *sizes)
        output = attention_with(student, matrices)(x, context)
        expect_close(output, cross_attention(student, x, context, **matrices), "The outputs")


def padding_at(*rows: tuple[int, ...]) -> torch.Tensor:
    """A mask (B, T_k), True at these positions of each row."""
    return torch.tensor([[place in row for place in range(T_K)] for row in rows])


@rule("if padding_mask (B, T_k) is True, this token of the context is padding and gets no weight")
def test_padding_gets_no_weight(student: Student, fresh: Fresh) -> None:
    """Padding at any position should get no weight, and the weights of the other tokens should sum to one."""
    padding_mask = padding_at((3, 5))
    x, context, matrices = texts_with_padding(fresh, T_Q, padding_mask)
    x[0, 1] = 0.0  # its scores are zero: padding that is found by its zeros hides them too
    output = attention_with(student, matrices)(x, context, padding_mask)
    expect_close(output, cross_attention(student, x, context, **matrices, padding_mask=padding_mask), "The outputs")


@rule("padding gets no weight, even if it is very large and its scores are far above the others")
def test_padding_far_above_the_rest(student: Student, fresh: Fresh) -> None:
    """Padding should get no weight, also if it is very large and its scores are far above all others."""
    padding_mask = padding_at((3, 5))
    x, context, matrices = texts_with_padding(fresh, T_Q, padding_mask)
    # Its scores become 3200. If it is hidden only after softmax, all other weights are zero, also in float64.
    context[padding_mask] *= 40
    output = attention_with(student, matrices)(x, context, padding_mask)
    expect_close(output, cross_attention(student, x, context, **matrices, padding_mask=padding_mask), "The outputs")
    # Now all other scores are low: the best is -580 / √d_out = -219, so padding needs a much lower score to be hidden.
    # In float64, where exp(-580) is not zero, so softmax works without subtracting the maximum.
    products = dot_products_with_padding(steps_back(fresh, T_Q), padding_mask[0], 0, below=580 + FITTING)
    x, context, matrices = texts_with(fresh, [products], torch.float64)
    output = attention_with(student, matrices, torch.float64)(x, context, padding_mask)
    expect_close(output, cross_attention(student, x, context, **matrices, padding_mask=padding_mask), "The outputs")


@rule("padding has no weight, even if all other scores are as low as -10,000 after scaling")
def test_padding_has_no_weight_beside_very_low_scores(student: Student, fresh: Fresh) -> None:
    """If all other scores are very low, padding should still get no weight."""
    padding_mask = padding_at((3, 5))
    # As in unit 3, with padding instead of the future: the score of the key that fits is 1 or LOW. It is not 0, which
    # would be exact on some processors and rounded on others.
    for low, expect in ((1, expect_close), (LOW, expect_hidden)):
        below = FITTING - low * math.sqrt(D_OUT)
        products = dot_products_with_padding(steps_back(fresh, T_Q), padding_mask[0], 0, below)
        products[:, padding_mask[0]] = (low + AHEAD) * math.sqrt(D_OUT)
        x, context, matrices = texts_with(fresh, [products])
        output = attention_with(student, matrices)(x, context, padding_mask)
        expect(output, cross_attention(student, x, context, **matrices, padding_mask=padding_mask))


@rule("each element of the batch is computed separately, with its own padding")
def test_each_element_of_the_batch_has_its_own_padding(student: Student, fresh: Fresh) -> None:
    """In a batch of contexts of different lengths, each should be computed without its own padding."""
    # As many queries as keys: a mask that is applied to the queries raises no error, and the values decide.
    padding_mask = padding_at((5,), (3, 4, 5))
    x, context, matrices = texts_with_padding(fresh, T_K, padding_mask)
    output = attention_with(student, matrices)(x, context, padding_mask)
    expect_close(output, cross_attention(student, x, context, **matrices, padding_mask=padding_mask), "The outputs")


@rule("without a mask, or with a mask that is all False, nothing is padding")
def test_nothing_is_padding_without_a_mask(student: Student, fresh: Fresh) -> None:
    """Without a mask, or with a mask that is all False, queries should attend to the whole context."""
    x, context, matrices = decisive_texts(fresh, B, T_Q, T_K)
    attention = attention_with(student, matrices)
    expected = cross_attention(student, x, context, **matrices)
    expect_close(attention(x, context), expected, "The outputs without a mask")
    expect_close(attention(x, context, padding_at((), ())), expected, "The outputs with a mask that is all False")


def layered(student: Student) -> Callable[..., torch.Tensor]:
    """Return cross-attention as a function of weights as linear layers store them, (d_out, d_in)."""

    def function(
        x: torch.Tensor, context: torch.Tensor, mask: torch.Tensor | None = None, **weights: torch.Tensor
    ) -> torch.Tensor:
        matrices = {name: weights[f"{name}_weight"].mT for name in MATRICES}
        return cross_attention(student, x, context, **matrices, padding_mask=mask)

    return function


def attending(draw: Callable[..., Arguments]) -> Asking:
    """Return a function that draws a call of a module. draw: returns x, context and the matrices."""

    def with_mask(fresh: Fresh, padding: Sequence[tuple[int, ...]] = (), **named: Any) -> Any:
        x, context, matrices = draw(fresh, **named)
        made = [len(matrices["W_query"]), *matrices["W_key"].shape]
        return made, as_layers(matrices), [x, context, *([padding_at(*padding)] if padding else [])]

    return asking_module("CrossAttention", with_mask, layered, set_layers)


test_contract = contract(
    attending(decisive_texts),
    right_results(
        "each_element_of_the_batch_on_its_own",
        "each element of the batch is computed separately, with its own padding",
        "In a batch, the queries of each element should attend only to its own context.", {"batch": B}),
    right_results(
        "any_number_of_queries_and_keys", "any number of queries and of tokens in the context, including one",
        "There may be any number of queries and of tokens in the context, also a single one.",
        {"queries_count": 1}, {"keys_count": 1}, {"queries_count": D_OUT, "keys_count": 3}),
    right_gradients(
        "gradients_of_cross_attention", "gradients reach x, context and the weights of the three layers",
        "Gradients of the output should reach x, the weights of all layers, and all of context except padding.",
        {"padding": ((1, 4), (1, 4))}, ask=attending(texts)),
    right_results(
        "cross_attention_in_float64", "works in float64 after .double()",
        "After .double() the module should take float64 texts and give the correct output.", {"dtype": torch.float64}),
    # The keys there fit no query, hidden or not.
    kept_arguments(
        "cross_attention_leaves_its_arguments_alone", "x, context and padding_mask are not changed",
        "The output should be correct, and the call should not change x, context or padding_mask.",
        "x was changed.", "context was changed.", "padding_mask was changed.", draw={"padding": ((3, 5),)}),
    example=Example(
        {"x": numbers(2, 3, 4, seed=5), "context": numbers(2, 5, 7, seed=6),
         "padding_mask": torch.tensor([[0, 0, 0, 1, 0], [1, 0, 1, 0, 0]]).bool()},
        made={"d_query": 4, "d_context": 7, "d_out": 6},
        parameters={f"{name}.weight": numbers(6, 4 if name == "W_query" else 7, seed=seed) / 4
                    for seed, name in enumerate(MATRICES)}),
)  # fmt: skip


# -- misconceptions ------------------------------------------------------------------------------------------------

HIDDEN_LINE = "scores = scores.masked_fill(padding_mask.unsqueeze(1), -torch.inf)"

MISCONCEPTIONS = [
    mistake("scaling_forgotten", replace(" / keys.shape[-1] ** 0.5", ""),
        "The scores are not scaled. With wider queries and keys the dot products become larger. Divided by √d_out "
        "they keep a variance near 1, so that softmax does not give all the weight to one key."),
    mistake("half_instead_of_root", replace("** 0.5", "* 0.5"),
        "Python evaluates `/` and `*` from left to right: `/ d_out*0.5` divides by d_out and then multiplies by 0.5. "
        "A square root is a power, `d_out**0.5`."),
    mistake("divided_by_the_width_itself", replace(" ** 0.5", ""),
        "The scores are divided by d_out itself. Their standard deviation is the root of d_out, so divide by this "
        "root to bring it to 1."),
    mistake("scaled_after_softmax", replace(" / keys.shape[-1] ** 0.5, dim=-1)", ", dim=-1) / keys.shape[-1] ** 0.5"),
        "The weights are divided after softmax, so they no longer sum to one. Divide the scores, before softmax."),
    mistake("queries_from_context", replace("W_query(x)", "W_query(context)"),
        "The queries come from context. They should come from the text that is being written: queries from x, and "
        "one output for each token of x."),
    mistake("keys_from_x", replace("W_key(context)", "W_key(x)"),
        "The keys come from x, so the written text is compared with itself. Each query should find the tokens of "
        "context that fit it: keys from context."),
    mistake("values_from_x", replace("W_value(context)", "W_value(x)"),
        "The values come from x. The output should contain information from the other text: values from context, "
        "like the keys."),
    mistake("context_never_looked_at", replace("(context)", "(x)", 2),
        "This is self-attention: queries, keys and values all come from x, and context is never used. Keys and "
        "values should come from context."),
    mistake("x_and_context_exchanged", replace("x: torch.Tensor, context:", "context: torch.Tensor, x:"),
        "x and context are swapped: queries come from context, keys and values from x. Queries should come from the "
        "text that is being written, x."),
    mistake("keys_handed_over", replace("W_value(context)", "W_key(context)"),
        "W_value is made but never used, and the weights mix the keys. Keys are only compared with queries. The "
        "weights should mix the values."),
    mistake("context_mixed_unprojected", replace("self.W_value(context)", "context"),
        "W_value is made but never used: the weights mix the context itself. Mix the values, W_value(context)."),
    mistake("keys_and_values_exchanged",
        replace("keys = self.W_key", "keys = self.W_value").replace("values = self.W_value", "values = self.W_key"),
        "W_key and W_value are swapped: queries are compared with the values, and the weights mix the keys."),
    mistake("values_as_keys", replace("keys = self.W_key", "keys = self.W_value"), VALUES_AS_KEYS),
    mistake("keys_ask_the_queries", replace("queries @ keys", "keys @ queries"),
        "Queries and keys are swapped in the scores. Row i should belong to query i and contain its dot products "
        "with every key: queries @ transposed keys."),
    mistake("causal_mask_applied", replace("(scores", "((scores + torch.full_like(scores, -torch.inf).triu(1))"),
        "A causal mask hides later tokens of context. The decoder must not see the future of its own text, but the "
        "other text is already complete."),
    mistake("causal_mask_of_the_length_of_x",
        replace("(scores", "((scores + torch.full((x.shape[1], x.shape[1]), -torch.inf).triu(1))"),
        "A causal mask (T_q, T_q) hides later tokens, and fits only a context as long as x. There is no causal mask "
        "here: the other text is already complete."),
    mistake("softmax_over_the_queries", replace("dim=-1", "dim=1"),
        "Softmax runs over the queries: the columns sum to one, not the rows. The weights of each query should sum "
        "to one over the context, which lies along the last dimension."),
    mistake("softmax_over_the_batch", replace("dim=-1", "dim=0"),
        "Softmax runs over the batch (dim=0), but elements of a batch are independent. The tokens of context lie "
        "along the last dimension, -1."),
    mistake("softmax_over_everything",
        replace("(scores", "(scores.flatten(1)").replace("dim=-1)", "dim=-1).view_as(scores)"),
        "Softmax runs over all scores of a text at once, so all queries together share one sum. Each query has its "
        "own weights: apply softmax over the last dimension."),
    mistake("softmax_forgotten", replace("torch.softmax(scores", "(scores").replace(", dim=-1", ""),
        "The scores are used as weights directly. Apply softmax first: it makes them positive, with the sum one, and "
        "zero if the score is minus infinity."),
    mistake("softmax_taken_twice_in_cross_attention",
        replace("torch.softmax(scores / keys.shape[-1] ** 0.5, dim=-1)",
                "torch.softmax(torch.softmax(scores / keys.shape[-1] ** 0.5, dim=-1), dim=-1)"),
        "Softmax is applied twice. The second one gets numbers between 0 and 1, so its weights are nearly equal, and "
        "padding, with a zero, gets weight again."),
    mistake("mask_without_effect", replace("scores = scores.masked_fill", "scores.masked_fill"),
        "The mask has no effect: it is not used, or the masked tensor is not used. `masked_fill` without an "
        "underscore returns a new tensor. Use its result."),
    mistake("mask_upside_down", replace("padding_mask.unsqueeze", "~padding_mask.unsqueeze"),
        "The mask is inverted: queries attend only to padding. True means that a token is padding: hide these scores."),
    mistake("mask_upside_down_for_torch",
        replace(HIDDEN_LINE, "padding_mask = padding_mask.unsqueeze(1)")
        .replace("weights @ values", "nn.functional.scaled_dot_product_attention(queries, keys, values, padding_mask)"),
        "The mask is inverted: queries attend only to padding. In torch's own attention, True in a mask means a "
        "visible token. In padding_mask it means padding, so invert it: `~padding_mask`."),
    mistake("mask_over_the_queries", replace("unsqueeze(1)", "unsqueeze(2)"),
        "The mask is applied to the queries: `padding_mask[:, :, None]` is a column. But it is about the tokens in "
        "context, the last dimension of the scores: `padding_mask[:, None, :]`."),
    mistake("mask_without_a_dimension_for_queries", replace(".unsqueeze(1)", ""),
        "The mask (B, T_k) has no dimension for the queries. PyTorch aligns it with the last dimensions of the "
        "scores (B, T_q, T_k), so B meets T_q. Add a dimension between them: `padding_mask[:, None, :]`."),
    mistake("padding_takes_its_share",
        replace(HIDDEN_LINE, "values = values.masked_fill(padding_mask.unsqueeze(2), 0)"),
        "Padding adds nothing to the output, but it still takes a part of the weight: only its values, or the "
        "weights after softmax, are set to zero. Set its scores to minus infinity before the softmax."),
    mistake("renormalized_after_softmax",
        replace("scores = scores.masked", "left = torch.softmax(scores / keys.shape[-1] ** 0.5, dim=-1).masked")
        .replace("-torch.inf)", "0)\n            return left / left.sum(-1, keepdim=True) @ values"),
        "Padding is hidden too late: after the softmax, or after the largest score was subtracted. If the score of "
        "padding is far above the rest, all other weights are rounded to zero. Hide it first."),
    mistake("zeros_instead_of_minus_infinity", replace("-torch.inf", "0"),
        "The scores of the padding are set to zero (or multiplied by a mask of zeros and ones). Zero is a normal "
        "score: its exponential is one, so padding has weight. Use minus infinity."),
    mistake("padding_set_to_zero_in_context",
        replace(HIDDEN_LINE, "return self(x, context * ~padding_mask.unsqueeze(2))"),
        "The padding in context is set to zero, and nothing more. A key of zeros has the score 0, and its "
        "exponential is one: it still gets weight. Hide its scores."),
    mistake("zero_scores_hidden_with_the_padding",
        replace(HIDDEN_LINE, "scores = scores * ~padding_mask.unsqueeze(1)\n"
                        "            scores = scores.masked_fill(scores == 0, -torch.inf)"), ZEROS_HIDDEN),
    mistake("scores_of_padding_set_to_minus_ten_thousand", replace("-torch.inf", "-1e4"),
        "Padding is hidden by a number such as -10,000. Other scores may be as low, and then padding has weight. "
        "Minus infinity, or a number as low as -1e9, is below all of them."),
    mistake("zero_times_infinity", replace(HIDDEN_LINE, "scores = scores + padding_mask.unsqueeze(1) * -torch.inf"),
        "The result is NaN, as if a mask of zeros and ones were multiplied by infinity: zero times infinity is NaN. "
        "Fill only the masked entries: `masked_fill`, or `torch.where`."),
    mistake("plus_infinity", replace("-torch.inf", "torch.inf"),
        "The scores of the padding are set to plus infinity, which gives NaN after softmax. The exponential of minus "
        "infinity is zero: use minus infinity."),
    mistake("padding_of_the_first_element", replace("padding_mask.unsqueeze", "padding_mask[:1].unsqueeze"),
        "All elements of the batch use the padding of the first one. Texts have different lengths, so each has its "
        "own row of the mask."),
    mistake("padding_only_at_the_end", replace("padding_mask.unsqueeze", "padding_mask.sort(-1).values.unsqueeze"),
        "Padding is counted, and this number of tokens is removed at the end. But padding may be anywhere, also at "
        "the beginning. Use the mask token by token."),
    mistake("mask_required", replace("padding_mask is not None", "True").replace(".unsqueeze(1)", "[:, None]"),
        "Without a mask there is an error. The mask is optional, so its default is None: `padding_mask=None`. Check "
        "`if padding_mask is not None` before you use it."),
    mistake("no_mask_taken",
        replace(", padding_mask: torch.Tensor | None = None", "").replace("padding_mask is not None", "False"),
        "A call with a mask ends in an error, because forward does not take one. Keep the argument of the stub, and "
        "hide the tokens that are padding."),
    mistake("mask_asked_for_yes_or_no", replace(" is not None", ""),
        "With a mask every call ends in an error. `if padding_mask:` needs one True or False, but gets a whole "
        "tensor: write `if padding_mask is not None`. And `-` does not work for a bool tensor: `~` inverts it."),
    mistake("products_that_do_not_fit", replace("transpose(-2, -1)", "permute(2, 1, 0)"),
        "Every call ends in an error, because shapes do not match. Project x and context as they are. Then swap the "
        "last two dimensions of the keys (B, T_k, d_out); `.T` moves the batch too. The weights (B, T_q, T_k) are on "
        "the left of the values. Do not add x to the result."),
    mistake("keys_reshaped", replace("transpose(-2, -1)", "reshape(len(keys), -1, keys.shape[1])"),
        "`view` and `reshape` keep the order of the numbers and only cut the rows at other positions, so the keys "
        "are mixed up. `transpose` swaps two dimensions."),
    mistake("lonely_text_squeezed", replace("weights @ values", "(weights @ values).squeeze()"),
        "`squeeze()` removes every dimension of size one, so a batch of one text loses its batch dimension, and a "
        "text of one token loses its tokens."),
    mistake("layers_with_bias", replace(", bias=False", "", 3),
        "A layer has a bias, because that is the default of nn.Linear. Use bias=False in all three."),
    mistake("widths_exchanged", replace("d_query: int, d_context:", "d_context: int, d_query:"),
        "d_query and d_context are swapped. x has d_query features and becomes queries; context has d_context, and "
        "becomes keys and values."),
    mistake("all_layers_from_d_query", replace("(d_context", "(d_query", 2),
        "All three layers take d_query features. Keys and values come from context, which has d_context."),
    mistake("all_layers_from_d_context", replace("(d_query", "(d_context"),
        "All three layers take d_context features. Queries come from x, which has d_query."),
    mistake("layers_the_other_way_round",
        replace("d_query, d_out", "d_out, d_query").replace("d_context, d_out", "d_out, d_context", 2),
        "The arguments of nn.Linear are the input width first and the output width second: nn.Linear(d_query, d_out)."),
    mistake("other_arguments_in_cross_attention", replace("d_query: int, d_context: int, d_out: int", "d_model: int"),
        "The module cannot be made, because a call got other arguments than it takes. It takes d_query, d_context "
        "and d_out: keep the arguments of the stub."),
    mistake("matrices_instead_of_layers",
        replace("nn.Linear(", "nn.Parameter(torch.rand(", 3).replace(", bias=False)", "))", 3)
        .replace("self.W_query(x)", "x @ self.W_query").replace("self.W_key(context)", "context @ self.W_key")
        .replace("self.W_value(context)", "context @ self.W_value"),
        "The three are matrices made by hand. Here each should be an nn.Linear, which has its own weight."),
    mistake("both_results", replace("weights @ values", "weights @ values, weights"),
        "The module returns outputs and weights. The next layer needs one tensor: return only the outputs."),
    mistake("weights_instead_of_outputs", replace("weights @ values", "weights"),
        "The module returns the attention weights. They say how important each token is. The output is the sum of "
        "the values, each times its weight."),
    mistake("gradients_switched_off", replace("weights @ values", "(weights @ values).detach()"),
        "The gradients are cut off, for example by `torch.no_grad()`, `.detach()` or `.data`, so neither the layers "
        "nor anything below them can learn."),
    mistake("texts_made_float32", replace("(x)", "(x.float())").replace("(context)", "(context.float())", 2),
        "x and context are made float32, so they do not match float64 layers. Keep their dtype."),
    mistake("context_changed_in_place",
        replace("return weights", "if padding_mask is not None:\n            with torch.no_grad():\n"
                "                context.masked_fill_(padding_mask.unsqueeze(2), 0)\n        return weights"),
        "The padding in the caller's context was overwritten. Other layers use the same context. `masked_fill_` and "
        "assigning to tokens change the tensor itself."),
]  # fmt: skip


# -- probes --------------------------------------------------------------------------------------------------------


@probe()
def contexts_of_another_text(unit: Any, draw: Draw) -> Iterator[Property]:
    d_query, d_context, d_out, queries, keys = draw.sizes(5)
    batch = draw.size(1, 3)
    module = unit.CrossAttention(d_query, d_context, d_out)
    yield from layers(module, MATRICES)
    module.to(draw.dtype).train(draw.chance(0.5))
    parameters = set_drawn_layers(draw, module, MATRICES)
    x, context = draw.normal(batch, queries, d_query), draw.normal(batch, keys, d_context)
    if draw.dtype == torch.float64 and draw.chance(0.2):  # so that padding can have much higher scores
        x = 100 * x
    if draw.chance(0.3):
        yield from call(module, x, context, parameters=parameters)
        return
    padding_mask = draw.integers(0, 2, batch, keys).bool()
    padding_mask[torch.arange(batch), draw.integers(0, keys, batch)] = False  # at least one token is not padding
    if draw.chance(0.15):
        padding_mask[:] = False
    context = torch.where(padding_mask[..., None], draw.pick(1, 1, 100, 10_000) * context, context)
    if draw.chance(0.5):
        yield from call(module, x, context, padding_mask, parameters=parameters)
    else:
        yield from call(module, x, context, padding_mask=padding_mask, parameters=parameters)


@probe(draws=5)
def padding_beside_low_scores(unit: Any, draw: Draw) -> Iterator[Property]:
    num_tokens = draw.number + 2
    module = unit.CrossAttention(num_tokens, num_tokens, num_tokens)
    text = one_hot_at_low_scores(module, MATRICES, num_tokens)
    padding_mask = torch.arange(num_tokens)[None] == num_tokens - 1  # (1, T), only the last token is padding
    output = module(text, text, padding_mask=padding_mask)  # (1, T, T), the weights
    yield "whether padding has weight beside low scores", is_seen(output[..., -1])
    output = module(torch.zeros_like(text), text, padding_mask=padding_mask)
    yield "whether a score of zero has weight", bool(output.isfinite().all())


# -- answers -------------------------------------------------------------------------------------------------------


def wrong_answers():
    """Mistakes without a name, and answers with two. Never run here: the audit reads them."""

    import torch.nn as nn
    import torch.nn.functional as F

    class _Layers(nn.Module):
        """Cross-attention that is right."""

        def __init__(self, d_query, d_context, d_out, bias=False):
            super().__init__()
            self.W_query = nn.Linear(d_query, d_out, bias=bias)
            self.W_key = nn.Linear(d_context, d_out, bias=bias)
            self.W_value = nn.Linear(d_context, d_out, bias=bias)

        def weights(self, queries, keys, padding_mask):
            scores = queries @ keys.transpose(1, 2) / keys.shape[-1] ** 0.5
            if padding_mask is not None:
                scores = scores.masked_fill(padding_mask[:, None, :], -torch.inf)
            return torch.softmax(scores, dim=-1)

        def forward(self, x, context, padding_mask=None):
            return self.weights(self.W_query(x), self.W_key(context), padding_mask) @ self.W_value(context)

    class keys_handed_over__and__layers_with_bias(_Layers):
        def __init__(self, d_query, d_context, d_out):
            super().__init__(d_query, d_context, d_out, bias=True)

        def forward(self, x, context, padding_mask=None):
            keys = self.W_key(context)
            return self.weights(self.W_query(x), keys, padding_mask) @ keys

    class scaling_forgotten__and__mask_without_effect(_Layers):
        def forward(self, x, context, padding_mask=None):
            weights = torch.softmax(self.W_query(x) @ self.W_key(context).transpose(1, 2), dim=-1)
            return weights @ self.W_value(context)

    class x_and_context_put_together(_Layers):
        def forward(self, x, context, padding_mask=None):
            both = torch.cat([x, context], dim=1)
            return self.weights(self.W_query(x), self.W_key(both), padding_mask) @ self.W_value(both)

    class super_forgotten(_Layers):
        def __init__(self, d_query, d_context, d_out):
            self.W_query = nn.Linear(d_query, d_out, bias=False)

    class relu_of_the_projections(_Layers):
        def forward(self, x, context, padding_mask=None):
            queries, keys, values = self.W_query(x).relu(), self.W_key(context).relu(), self.W_value(context).relu()
            return self.weights(queries, keys, padding_mask) @ values

    class outputs_averaged(_Layers):
        def forward(self, x, context, padding_mask=None):
            return super().forward(x, context, padding_mask).mean(dim=1)

    class padding_that_is_visible_to_the_first_query(_Layers):
        def forward(self, x, context, padding_mask=None):
            scores = self.W_query(x) @ self.W_key(context).transpose(1, 2) / self.W_key.out_features**0.5
            if padding_mask is not None:
                scores[:, 1:] = scores[:, 1:].masked_fill(padding_mask[:, None, :], -torch.inf)
            return torch.softmax(scores, dim=-1) @ self.W_value(context)

    class dropout_on_the_weights(_Layers):
        def forward(self, x, context, padding_mask=None):
            weights = self.weights(self.W_query(x), self.W_key(context), padding_mask)
            return F.dropout(weights, 0.5) @ self.W_value(context)

    class width_of_the_output_first(_Layers):
        def __init__(self, d_out, d_query, d_context):
            super().__init__(d_query, d_context, d_out)

    class mask_added_as_numbers(_Layers):
        def forward(self, x, context, padding_mask=None):
            scores = self.W_query(x) @ self.W_key(context).transpose(1, 2) / self.W_key.out_features**0.5
            if padding_mask is not None:
                scores = scores + padding_mask[:, None, :]
            return torch.softmax(scores, dim=-1) @ self.W_value(context)

    class no_mask_taken__fused(_Layers):
        def forward(self, x_1, x_2):
            return F.scaled_dot_product_attention(self.W_query(x_1), self.W_key(x_2), self.W_value(x_2))

    class other_arguments_in_cross_attention__of_the_library(nn.Module):
        def __init__(self, d_model, num_heads=8, *, dropout=0.1):
            super().__init__()
            self.attention = nn.MultiheadAttention(d_model, num_heads, dropout, batch_first=True)

        def forward(self, x, context, padding_mask=None):
            return self.attention(x, context, context, key_padding_mask=padding_mask)[0]


def right_answers():
    """Answers in other styles. Never run here: the audit reads them."""

    import torch.nn as nn
    import torch.nn.functional as F
    from self_attention import scaled_dot_product_attention
    from simple_attention import attention_scores, context_vector, softmax_stable

    class _Layers(nn.Module):
        def __init__(self, d_query, d_context, d_out):
            super().__init__()
            self.W_query = nn.Linear(d_query, d_out, bias=False)
            self.W_key = nn.Linear(d_context, d_out, bias=False)
            self.W_value = nn.Linear(d_context, d_out, bias=False)

    class building_on(_Layers):
        def attend(self, x, context):
            return scaled_dot_product_attention(self.W_query(x), self.W_key(context), self.W_value(context))[0]

        def forward(self, x, context, padding_mask=None):
            if padding_mask is None:
                return self.attend(x, context)
            return torch.stack([self.attend(one, other[~row]) for one, other, row in zip(x, context, padding_mask)])

    class by_hand(nn.Module):
        def __init__(self, d_query, d_context, d_out):
            super(by_hand, self).__init__()
            self.W_value = nn.Linear(d_context, d_out, bias=False)
            self.W_key = nn.Linear(d_context, d_out, bias=False)
            self.W_query = nn.Linear(d_query, d_out, bias=False)

        def forward(self, x, context, padding_mask=None):
            texts = []
            for b in range(len(x)):
                seen = [j for j in range(context.shape[1]) if padding_mask is None or not padding_mask[b, j]]
                keys = [self.W_key(context[b, j]) for j in seen]
                values = [self.W_value(context[b, j]) for j in seen]
                outputs = []
                for token in x[b]:
                    query = self.W_query(token)
                    scores = [torch.dot(query, key) / math.sqrt(len(query)) for key in keys]
                    weights = torch.softmax(torch.stack(scores), dim=0)
                    outputs.append(sum(weight * value for weight, value in zip(weights, values, strict=True)))
                texts.append(torch.stack(outputs))
            return torch.stack(texts)

    class einsum(nn.Module):
        def __init__(self, d_query: int, d_context: int, d_out: int) -> None:
            super().__init__()
            self.d_query, self.d_context, self.d_out = d_query, d_context, d_out
            self.W_query = nn.Linear(d_query, d_out, False)
            self.W_key, self.W_value = (nn.Linear(d_context, d_out, False) for _ in range(2))
            self.register_buffer("calls", torch.zeros(()))
            self.unused = nn.Linear(2, 2)

        def forward(self, x, context, padding_mask=None):
            self.calls += 1
            queries, keys, values = self.W_query(x), self.W_key(context), self.W_value(context)
            scores = torch.einsum("bqd,bkd->bqk", queries, keys) / math.sqrt(self.d_out)
            if padding_mask is not None:
                scores = scores + padding_mask[:, None, :].to(scores.dtype) * -1e9
            self.last_weights = torch.softmax(scores, dim=2)
            return torch.einsum("bqk,bkd->bqd", self.last_weights, values)

    class query_by_query(_Layers):
        def forward(self, x, context, padding_mask=None):
            if padding_mask is None:
                padding_mask = torch.zeros(context.shape[:2]).bool()
            queries, keys, values = self.W_query(x), self.W_key(context), self.W_value(context)
            texts = []
            for b, row in enumerate(padding_mask):
                outputs = []
                for query in queries[b] * queries.shape[-1] ** -0.5:
                    scores = attention_scores(query, keys[b])
                    lowest = torch.full_like(scores, torch.finfo(scores.dtype).min)
                    outputs.append(context_vector(softmax_stable(torch.where(row, lowest, scores)), values[b]))
                texts.append(torch.stack(outputs))
            return torch.stack(texts)

    class ready_made(nn.Module):
        def __init__(self, d_query, d_context, d_out):
            super().__init__()
            for name, width in (("W_query", d_query), ("W_key", d_context), ("W_value", d_context)):
                self.add_module(name, nn.Linear(width, d_out, bias=False))

        def forward(self, x, context, padding_mask=None):
            keys, values = F.linear(context, torch.cat([self.W_key.weight, self.W_value.weight])).chunk(2, dim=-1)
            visible = None if padding_mask is None else padding_mask.logical_not()[:, None]  # (B, 1, T_k)
            return F.scaled_dot_product_attention(self.W_query(x), keys, values, attn_mask=visible)
