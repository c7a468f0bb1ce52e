"""Unit 8, attention between encoder and decoder: each test or case is one criterion, with a sentence for the student.

Expected values are computed here in float64, and differently from the course's solution. Where an exercise may call an
earlier one, they use the same substitute for it as the student's code.

As in the earlier units, a mistake should cost only the points that are about it. Tests about other things than values
use inputs on which most known mistakes do not show: states of which only the signs are compared, scores of which only
the order is compared, or one key for each query that gets all the weight.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from typing import Any

import pytest
import torch

from grader.suites.causal import AHEAD, LOW, expect_hidden, fitting_tokens, steps_back
from grader.testing.checks import (
    as_layers,
    expect_close,
    expect_gradients,
    expect_same,
    expect_tensor,
    expect_true,
    expect_values,
    no_parameter,
    oracle_gradients,
    set_layers,
)
from grader.testing.contracts import (
    Asking,
    Right,
    against,
    asking,
    expect_gradients_of,
    expect_left_alone,
    expect_right,
)
from grader.testing.draws import Fresh, case
from grader.testing.student import RemoteObject, Student

# All different, so that mixed-up dimensions show.
B, T = 2, 5
# The widths of a token, of a state, and of the sum in additive attention. The first two are at least as large as T.
D, HIDDEN, ADDED = 7, 9, 6
# D_OUT is not 4, whose half is its square root. A batch has no more tokens than features.
T_Q, T_K, D_OUT, D_QUERY, D_CONTEXT = 4, 6, 7, 12, 13
MATRICES = ("W_query", "W_key", "W_value")
DTYPES = (torch.float32, torch.float64)
Function = Callable[..., torch.Tensor]
Pair = tuple[torch.Tensor, torch.Tensor]


# -- expected values ---------------------------------------------------------------------------------------------


def affine(x: torch.Tensor, weight: torch.Tensor, bias: torch.Tensor) -> torch.Tensor:
    """(m, n), (n, k), (k,) to (m, k)."""
    return torch.einsum("mn,nk->mk", x, weight) + bias


def tanh(x: torch.Tensor) -> torch.Tensor:
    return 2 * torch.sigmoid(2 * x) - 1


def softmax(x: torch.Tensor, dim: int) -> torch.Tensor:
    return (x - x.logsumexp(dim, keepdim=True)).exp()


def softmax_of(student: Student) -> Function:
    return student.substitute("softmax_naive", student.substitute("softmax_stable", softmax))


def products_of(student: Student) -> Function:
    """(d,), (T, d) to (T,): the dot product of the vector with every row."""
    return student.substitute("attention_scores", functools.partial(torch.einsum, "d,td->t"))


def context_of(student: Student) -> Function:
    """(T,), (T, d) to (d,): the sum of the rows, each times its weight."""
    return student.substitute("context_vector", functools.partial(torch.einsum, "t,td->d"))


def hidden_states_of(student: Student) -> Function:
    """rnn_hidden_states. All tokens are projected at once, because that part needs no recurrence."""
    project = student.substitute("linear_as_matmul", affine)

    def rnn_hidden_states(
        inputs: torch.Tensor, W_x: torch.Tensor, W_h: torch.Tensor, bias: torch.Tensor
    ) -> torch.Tensor:
        states = [torch.zeros_like(bias, dtype=torch.float64)]
        for token in project(inputs.double(), W_x.double(), bias.double()):
            states.append(tanh(token + torch.einsum("g,gh->h", states[-1], W_h.double())))
        return torch.stack(states[1:])

    return rnn_hidden_states


def additive_scores_of(student: Student) -> Function:
    """additive_scores. The decoder's part is the same for all encoder states, so it is passed as the bias."""
    project, score = student.substitute("linear_as_matmul", affine), products_of(student)

    def additive_scores(decoder_state: torch.Tensor, encoder_states: torch.Tensor, *weights: torch.Tensor) -> Any:
        W_decoder, W_encoder, v = (weight.double() for weight in weights)
        query = torch.einsum("h,ha->a", decoder_state.double(), W_decoder)
        return score(v, tanh(project(encoder_states.double(), W_encoder, query)))

    return additive_scores


def bahdanau_of(student: Student) -> Callable[..., Pair]:
    """bahdanau_context: the context (h,) and the weights (T,)."""
    score, normalize = student.substitute("additive_scores", additive_scores_of(student)), softmax_of(student)
    weighted_sum = context_of(student)

    def bahdanau_context(decoder_state: torch.Tensor, encoder_states: torch.Tensor, *weights: torch.Tensor) -> Pair:
        encoder_states = encoder_states.double()
        scores = score(decoder_state.double(), encoder_states, *(weight.double() for weight in weights))
        attention_weights = normalize(scores, -1)
        return weighted_sum(attention_weights, encoder_states), attention_weights

    return bahdanau_context


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


# -- inputs on which most mistakes do not show -------------------------------------------------------------------


def cast(arguments: list[torch.Tensor], dtype: torch.dtype) -> list[torch.Tensor]:
    return [argument.to(dtype) for argument in arguments]


def decisive_tokens(
    fresh: Fresh, count: int, width: int = D, hidden: int = HIDDEN, dtype: torch.dtype = torch.float32
) -> list[torch.Tensor]:
    """Arguments of rnn_hidden_states, where each token alone decides the signs in its state.

    The token adds 4 or -4 to each number of the state, and all other terms together are less than 1. So the signs are
    right even if the first state is wrong, a state is lost, or another function that keeps signs replaces tanh.
    """
    signs = fresh(count, hidden, dtype=torch.float64).sign()
    inputs = fresh.rotation(width)[:count]
    W_h, bias = 0.05 * fresh(hidden, hidden, dtype=torch.float64), 0.1 * fresh(hidden, dtype=torch.float64)
    # The tokens are orthonormal, so inputs @ inputs.mT is the identity (T, T).
    return cast([inputs, inputs.mT @ (4 * signs), W_h, bias], dtype)


def expect_signs(value: Any, right: torch.Tensor) -> None:
    states = expect_tensor(value, right.shape)
    expect_true(torch.equal(states > 0, right > 0), "The signs in the states do not match the tokens.")


def states_with(
    fresh: Fresh,
    targets: torch.Tensor,
    decoder_target: torch.Tensor,
    hidden: int = HIDDEN,
    dtype: torch.dtype = torch.float32,
) -> list[torch.Tensor]:
    """States and matrices such that encoder_states @ W_encoder equals targets (T, a), where T is less than h.

    decoder_state @ W_decoder is 1.2 times decoder_target (a,). W_decoder is 1.2 times W_encoder, so if the two are
    swapped, only a factor is wrong. The dot products of the states themselves have the opposite order of the targets.
    """
    directions, count = fresh.rotation(hidden), len(targets)
    encoder_states, means = directions[:count], targets.mean(-1)
    decoder_state = directions[count] - means @ encoder_states  # (T,) @ (T, h) -> (h,)
    # The directions are orthonormal, so one matrix can map every state to its target.
    W_encoder = encoder_states.mT @ targets + torch.outer(directions[count], decoder_target + means @ targets)
    return cast([decoder_state, encoder_states, 1.2 * W_encoder, W_encoder], dtype)


def ordered_states(
    fresh: Fresh, count: int, hidden: int = HIDDEN, added: int = ADDED, dtype: torch.dtype = torch.float32
) -> list[torch.Tensor]:
    """Arguments of additive_scores whose scores keep their order with most mistakes: every summand has this order."""
    places = fresh.order(count).double()
    features, others, v = fresh(3, added, dtype=torch.float64).abs().clamp(max=2) / 2 + 0.5
    return [*states_with(fresh, torch.outer(places / count - 0.5, features), others / 2, hidden, dtype), v.to(dtype)]


def expect_order(value: Any, right: torch.Tensor) -> None:
    scores = expect_tensor(value, right.shape)
    expect_true(torch.equal(scores.argsort(), right.argsort()), "The order of the scores is wrong.")


def decisive_state(fresh: Fresh, count: int, dtype: torch.dtype = torch.float32) -> list[torch.Tensor]:
    """Arguments of bahdanau_context where one encoder state gets all the weight.

    In each feature its sum is about 3 and all other sums are about -1, and the entries of v sum to 80. So the best
    score is about 80 · (tanh(3) - tanh(-1)) = 140 ahead, and still 140 / 6 if the scores are divided by the width.
    exp(80) is finite in float32, so softmax works without subtracting the maximum.
    """
    targets = torch.full((count, ADDED), -2.0, dtype=torch.float64)
    targets[fresh.order(count)[0]] = 2
    features, v = fresh(2, ADDED, dtype=torch.float64).abs().clamp(max=2) + 1
    return [*states_with(fresh, targets, 0.7 + features / 10, dtype=dtype), (80 * v / v.sum()).to(dtype)]


def context_and_weights(result: Any) -> Pair:
    """Return context and weights, also if they are swapped: one criterion is about their order, and no other."""
    context, weights = expect_values(result, 2)
    is_swapped = isinstance(weights, torch.Tensor) and weights.shape == (HIDDEN,)
    return (weights, context) if is_swapped else (context, weights)


def expect_context_and_weights(value: Any, right: Pair) -> None:
    context, weights = context_and_weights(value)
    expect_close(weights, right[1], "The weights")
    expect_close(context, right[0], "The features of the context")


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
    fresh: Fresh, batch: int, queries_count: int, keys_count: int, dtype: torch.dtype = torch.float32
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


# -- rnn_hidden_states -------------------------------------------------------------------------------------------


def recurrence(fresh: Fresh, count: int = T, width: int = D, hidden: int = HIDDEN) -> list[torch.Tensor]:
    """Arguments of rnn_hidden_states where no number of a state is near 1 or -1, so that every part shows."""
    return [fresh(count, width), fresh(width, hidden) / width, fresh(hidden, hidden) / hidden**0.5, fresh(hidden) / 2]


@pytest.mark.exercise(
    "rnn_hidden_states",
    rule="the state after token t is tanh(inputs[t] @ W_x + the state before it @ W_h + bias)",
)
def test_each_state_is_made_from_its_token_and_the_state_before(student: Student, fresh: Fresh) -> None:
    """Each state should be the tanh of its token times W_x, plus the state before it times W_h, plus the bias."""
    for sizes in ((T, D, HIDDEN), (T, T, T)):  # last, all sizes are equal: a transposed matrix raises no error
        arguments = recurrence(fresh, *sizes)
        expect_close(student.rnn_hidden_states(*arguments), hidden_states_of(student)(*arguments), "The states")


@pytest.mark.exercise("rnn_hidden_states", rule="the state before the first token is all zeros")
def test_the_state_before_the_first_is_zeros(student: Student, fresh: Fresh) -> None:
    """The first state should not depend on W_h: before the first token the state is all zeros."""
    inputs, W_x, W_h, bias = recurrence(fresh)
    states = student.rnn_hidden_states(inputs, W_x, W_h, 0 * bias)
    first = hidden_states_of(student)(inputs, W_x, W_h, 0 * bias)[0]
    expect_close(expect_tensor(states, (T, HIDDEN))[0], first, "The numbers of the first state")


@pytest.mark.exercise(
    "rnn_hidden_states", rule="row t is the state after token t, for every token and in the order of the tokens"
)
def test_a_row_for_every_state_in_the_tokens_order(student: Student, fresh: Fresh) -> None:
    """There should be a row for every token, (T, h): the state directly after that token."""
    arguments = decisive_tokens(fresh, T)
    expect_signs(student.rnn_hidden_states(*arguments), hidden_states_of(student)(*arguments))


# -- additive_scores ---------------------------------------------------------------------------------------------


def states(fresh: Fresh, count: int = T, hidden: int = HIDDEN, added: int = ADDED) -> list[torch.Tensor]:
    """Random arguments of additive attention."""
    matrices = [fresh(hidden, added) / hidden**0.5 for _ in range(2)]
    return [fresh(hidden), fresh(count, hidden), *matrices, fresh(added)]


# The number of states and both widths. Last, all are equal: if a state is used instead of a sum, there is no error.
SIZES = ((T, HIDDEN, ADDED), (T, T, T))


@pytest.mark.exercise(
    "additive_scores",
    rule="score t is the dot product of v with tanh(decoder_state @ W_decoder + encoder_states[t] @ W_encoder)",
)
def test_scores_are_additive(student: Student, fresh: Fresh) -> None:
    """Each score should be the dot product of v with the tanh of the sum of both projected states: shape (T,)."""
    for sizes in SIZES:
        arguments = states(fresh, *sizes)
        expect_close(student.additive_scores(*arguments), additive_scores_of(student)(*arguments), "The scores")


# -- bahdanau_context --------------------------------------------------------------------------------------------


def scores_from(weights: torch.Tensor) -> torch.Tensor:
    """The scores (T,) behind these weights, minus their mean: softmax ignores a constant."""
    logarithms = weights.double().log()
    return logarithms - logarithms.mean()


SOFTMAX = "the weights are the softmax of the additive scores, so they sum to one"


@pytest.mark.exercise("bahdanau_context", rule=SOFTMAX)
def test_additive_scores_are_behind_the_weights(student: Student, fresh: Fresh) -> None:
    """The weights should be the softmax of the plain additive scores, not scaled."""
    arguments = states(fresh)
    _, weights = context_and_weights(student.bahdanau_context(*arguments))
    _, right_weights = bahdanau_of(student)(*arguments)
    expect_close(scores_from(expect_tensor(weights, (T,))), scores_from(right_weights), "The scores")


@pytest.mark.exercise("bahdanau_context", rule=SOFTMAX)
def test_the_encoder_states_share_the_attention(student: Student, fresh: Fresh) -> None:
    """The weights should be positive, sum to one, and be largest for the encoder state with the best score."""
    arguments = ordered_states(fresh, T)
    _, weights = context_and_weights(student.bahdanau_context(*arguments))
    _, right_weights = bahdanau_of(student)(*arguments)
    expect_true(bool((expect_tensor(weights, (T,)) > 0).all()), "Not every weight is positive.")
    expect_close(weights.sum(), right_weights.sum(), "The sum of the weights")
    expect_order(weights, right_weights)


@pytest.mark.exercise("bahdanau_context", rule="the context is the sum of the encoder states, each times its weight")
def test_the_context_is_a_sum_of_encoder_states(student: Student, fresh: Fresh) -> None:
    """The context should be the sum of the encoder states themselves, each times its weight: shape (h,)."""
    for added in (ADDED, HIDDEN):  # last, sums are as wide as states: using them instead is no error
        arguments = states(fresh, added=added)
        context, _ = context_and_weights(student.bahdanau_context(*arguments))
        expect_close(context, bahdanau_of(student)(*arguments)[0], "The features of the context")


@pytest.mark.exercise("bahdanau_context", rule="the result is the pair (context, weights)")
def test_the_context_comes_before_the_weights(student: Student, fresh: Fresh) -> None:
    """The function should return two results: first the context (h,), then the weights (T,)."""
    arguments = decisive_state(fresh, T)
    first, second = expect_values(student.bahdanau_context(*arguments), 2)
    context, weights = bahdanau_of(student)(*arguments)
    expect_close(first, context, "The features of the context")
    expect_close(second, weights, "The weights")


# -- rules of all three functions --------------------------------------------------------------------------------

# For each function: inputs on which most mistakes do not show, what is right, and how a result is compared.
READ = asking("rnn_hidden_states", decisive_tokens, against(hidden_states_of, expect_signs))
SCORE = asking("additive_scores", ordered_states, against(additive_scores_of, expect_order))
GATHER = asking("bahdanau_context", decisive_state, against(bahdanau_of, expect_context_and_weights))


@pytest.mark.parametrize("ask", [
    case("states_of_any_number_of_tokens", "rnn_hidden_states", "any number of tokens, including one",
         "The function should read any number of tokens, also a single one, and give a state for each, (T, h).", READ),
    case("any_number_of_states_is_scored", "additive_scores", "any number of encoder states, including one",
         "Any number of encoder states should be scored, (T,), also one, and the best match gets the largest score.",
         SCORE),
    case("a_context_of_any_number_of_states", "bahdanau_context", "any number of encoder states, including one",
         "Any number of encoder states should work; a single one has the weight one and is the context itself.",
         GATHER),
])  # fmt: skip
def test_any_number(student: Student, fresh: Fresh, ask: Asking) -> None:
    """Any number of tokens or encoder states should work."""
    for count in (1, 3, 7):
        expect_right(ask(student, fresh, count))


@pytest.mark.parametrize(("ask", "widths"), [
    case("states_of_either_dtype", "rnn_hidden_states", "float32 and float64 arguments both work",
         "The states should be correct for float32 and for float64 arguments.", READ, {"width": D, "hidden": D}),
    case("additive_scores_of_either_dtype", "additive_scores", "float32 and float64 arguments both work",
         "Float32 and float64 arguments should both give scores in the right order.",
         SCORE, {"added": HIDDEN}),
    case("bahdanau_context_of_either_dtype", "bahdanau_context", "float32 and float64 arguments both work",
         "Context and weights should be correct for float32 and for float64 arguments.", GATHER, {}),
])  # fmt: skip
def test_either_dtype(student: Student, fresh: Fresh, ask: Asking, widths: dict[str, int]) -> None:
    """Float32 and float64 should both work."""
    # Only here are some widths equal: a transposed matrix raises no error, and the values decide.
    for dtype in DTYPES:
        expect_right(ask(student, fresh, T, dtype=dtype, **widths))


@pytest.mark.parametrize(("exercise", "draw", "right"), [
    case("gradients_through_every_step", "rnn_hidden_states",
         "gradients flow to all four arguments, through every step",
         "Gradients should flow from every state back to the inputs, both matrices and the bias, through all steps.",
         "rnn_hidden_states", recurrence, hidden_states_of),
    case("gradients_of_additive_scores", "additive_scores", "gradients flow to all five arguments",
         "Gradients of the scores should flow to the states of both sides, to both matrices and to v.",
         "additive_scores", states, additive_scores_of),
    case("gradients_of_bahdanau_context", "bahdanau_context", "gradients flow to all five arguments",
         "Gradients of context and weights should flow to the states of both sides, to both matrices and to v.",
         "bahdanau_context", states, bahdanau_of),
])  # fmt: skip
def test_gradients(student: Student, fresh: Fresh, exercise: str, draw: Callable[..., Any], right: Right) -> None:
    """Gradients should flow to every argument."""
    expect_gradients_of(student, exercise, right, draw(fresh))


@pytest.mark.parametrize("ask", [
    case("reading_leaves_its_arguments_alone", "rnn_hidden_states", "the arguments are not changed",
         "The states should be correct, and the call should not change its arguments.",
         READ),
    case("additive_scores_leave_the_arguments_alone", "additive_scores", "the arguments are not changed",
         "The scores should have the right order, and the call should not change its arguments.",
         SCORE),
    case("bahdanau_context_leaves_the_arguments_alone", "bahdanau_context", "the arguments are not changed",
         "Context and weights should be correct, and the call should not change its arguments.", GATHER),
])  # fmt: skip
def test_arguments_left_alone(student: Student, fresh: Fresh, ask: Asking) -> None:
    """The result should be correct, and the call should not change its arguments."""
    expect_left_alone(ask(student, fresh, T), "An argument was changed.")


# -- CrossAttention ----------------------------------------------------------------------------------------------


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


@pytest.mark.exercise(
    "CrossAttention",
    rule="W_query is nn.Linear from d_query to d_out; W_key and W_value are nn.Linear from d_context to d_out",
)
def test_three_layers_of_two_widths(student: Student) -> None:
    """W_query should be an nn.Linear from d_query to d_out, and W_key and W_value from d_context to d_out."""
    parameters = layers_of(student)
    shapes = [tuple(parameters[f"{name}.weight"].shape) for name in MATRICES]
    wanted = [(D_OUT, D_QUERY), (D_OUT, D_CONTEXT), (D_OUT, D_CONTEXT)]
    expect_true(shapes == wanted, f"The weights of the three layers have the shapes {shapes}.")


@pytest.mark.exercise("CrossAttention", rule="none of the three has a bias")
def test_no_layer_has_a_bias(student: Student) -> None:
    """W_query, W_key and W_value should have no bias."""
    parameters = layers_of(student)
    for name in MATRICES:
        expect_true(f"{name}.bias" not in parameters, f"{name} has a bias.")


@pytest.mark.exercise("CrossAttention", rule="queries come from x, keys and values from context")
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


@pytest.mark.exercise(
    "CrossAttention",
    rule="scores are the dot products of the queries with the keys, divided by the square root of d_out",
)
def test_cross_scores_are_divided_by_the_square_root_of_d_out(student: Student, fresh: Fresh) -> None:
    """The scores should be the dot products of queries and keys, divided by the square root of d_out."""
    # The means of rows and columns are subtracted, so the scores are the same for a softmax along the wrong dimension.
    weights, right = (part.double().log() for part in shown_weights(student, fresh))
    scores, right_scores = (
        part - part.mean(-1, keepdim=True) - part.mean(-2, keepdim=True) + part.mean((-2, -1), keepdim=True)
        for part in (weights, right)
    )
    expect_close(scores, right_scores, "The scores")


@pytest.mark.exercise(
    "CrossAttention",
    rule="softmax runs over the whole context for each query: there is no causal mask",
)
def test_each_query_shares_its_attention_among_the_whole_context(student: Student, fresh: Fresh) -> None:
    """The weights of each query should be positive, sum to one over the context and be largest for the best key."""
    weights, right = shown_weights(student, fresh)
    expect_true(bool((weights > 0).all()), "Not every weight is positive.")
    expect_close(weights.sum(-1), right.sum(-1), "The sums of the weights of each query")
    expect_true(
        torch.equal(weights.argmax(-1), right.argmax(-1)),
        "A query's largest weight is not on the key with which it has the largest dot product.",
    )


@pytest.mark.exercise(
    "CrossAttention", rule="the output is, for each query, the sum of the values, each times its weight"
)
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


@pytest.mark.exercise(
    "CrossAttention",
    rule="if padding_mask (B, T_k) is True, this token of the context is padding and gets no weight",
)
def test_padding_gets_no_weight(student: Student, fresh: Fresh) -> None:
    """Padding at any position should get no weight, and the weights of the other tokens should sum to one."""
    padding_mask = padding_at((3, 5))
    x, context, matrices = texts_with_padding(fresh, T_Q, padding_mask)
    x[0, 1] = 0.0  # its scores are zero: padding that is found by its zeros hides them too
    output = attention_with(student, matrices)(x, context, padding_mask)
    expect_close(output, cross_attention(student, x, context, **matrices, padding_mask=padding_mask), "The outputs")


@pytest.mark.exercise(
    "CrossAttention", rule="padding gets no weight, even if it is very large and its scores are far above the others"
)
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


@pytest.mark.exercise(
    "CrossAttention",
    rule="padding has no weight, even if all other scores are as low as -10,000 after scaling",
)
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


@pytest.mark.exercise("CrossAttention", rule="each element of the batch is computed separately, with its own padding")
def test_each_element_of_the_batch_has_its_own_padding(student: Student, fresh: Fresh) -> None:
    """In a batch of contexts of different lengths, each should be computed without its own padding."""
    # As many queries as keys: a mask that is applied to the queries raises no error, and the values decide.
    padding_mask = padding_at((5,), (3, 4, 5))
    x, context, matrices = texts_with_padding(fresh, T_K, padding_mask)
    output = attention_with(student, matrices)(x, context, padding_mask)
    expect_close(output, cross_attention(student, x, context, **matrices, padding_mask=padding_mask), "The outputs")


@pytest.mark.exercise("CrossAttention", rule="each element of the batch is computed separately, with its own padding")
def test_each_element_of_the_batch_on_its_own(student: Student, fresh: Fresh) -> None:
    """In a batch, the queries of each element should attend only to its own context."""
    x, context, matrices = decisive_texts(fresh, B, T_Q, T_K)
    output = attention_with(student, matrices)(x, context)
    expect_close(output, cross_attention(student, x, context, **matrices), "The outputs")


@pytest.mark.exercise("CrossAttention", rule="without a mask, or with a mask that is all False, nothing is padding")
def test_nothing_is_padding_without_a_mask(student: Student, fresh: Fresh) -> None:
    """Without a mask, or with a mask that is all False, queries should attend to the whole context."""
    x, context, matrices = decisive_texts(fresh, B, T_Q, T_K)
    attention = attention_with(student, matrices)
    expected = cross_attention(student, x, context, **matrices)
    expect_close(attention(x, context), expected, "The outputs without a mask")
    expect_close(attention(x, context, padding_at((), ())), expected, "The outputs with a mask that is all False")


@pytest.mark.exercise("CrossAttention", rule="any number of queries and of tokens in the context, including one")
def test_any_number_of_queries_and_keys(student: Student, fresh: Fresh) -> None:
    """There may be any number of queries and of tokens in the context, also a single one."""
    for queries_count, keys_count in ((1, T_K), (T_Q, 1), (D_OUT, 3)):
        x, context, matrices = decisive_texts(fresh, 1, queries_count, keys_count)
        output = attention_with(student, matrices)(x, context)
        expect_close(output, cross_attention(student, x, context, **matrices), "The outputs")


@pytest.mark.exercise("CrossAttention", rule="gradients reach x, context and the weights of the three layers")
def test_gradients_of_cross_attention(student: Student, fresh: Fresh) -> None:
    """Gradients of the output should reach x, the weights of all layers, and all of context except padding."""
    x, context, matrices = texts(fresh)
    padding_mask = padding_at((1, 4), (1, 4))
    _, found = expect_values(attention_with(student, matrices).gradients(x, context, padding_mask), 2)

    def layered(x: torch.Tensor, context: torch.Tensor, **weights: torch.Tensor) -> torch.Tensor:
        """Take the weights in the shape that linear layers keep, (d_out, d_in)."""
        turned = {name: weights[f"{name}_weight"].mT for name in MATRICES}
        return cross_attention(student, x, context, **turned, padding_mask=padding_mask)

    # These are the weights that were set, not those that the module reports.
    weights = {f"{name}.weight": matrix.mT for name, matrix in matrices.items()}
    expect_gradients(found, oracle_gradients(layered, [x, context], weights))


@pytest.mark.exercise("CrossAttention", rule="works in float64 after .double()")
def test_cross_attention_in_float64(student: Student, fresh: Fresh) -> None:
    """After .double() the module should take float64 texts and give the correct output."""
    x, context, matrices = decisive_texts(fresh, 1, T_Q, T_K, torch.float64)
    output = attention_with(student, matrices, torch.float64)(x, context)
    expect_close(output, cross_attention(student, x, context, **matrices), "The outputs")


@pytest.mark.exercise("CrossAttention", rule="x, context and padding_mask are not changed")
def test_cross_attention_leaves_its_arguments_alone(student: Student, fresh: Fresh) -> None:
    """The output should be correct, and the call should not change x, context or padding_mask."""
    x, context, matrices = decisive_texts(fresh, 1, T_Q, T_K)
    padding_mask = padding_at((3, 5))  # the keys there fit no query, hidden or not
    attention = attention_with(student, matrices)
    output, after = expect_values(attention.with_arguments(x, context, padding_mask), 2)
    expect_close(output, cross_attention(student, x, context, **matrices, padding_mask=padding_mask), "The outputs")
    for name, argument, before in zip(("x", "context", "padding_mask"), after, (x, context, padding_mask), strict=True):
        expect_same(argument, before, f"{name} was changed.")
