"""Hidden tests of unit 3, causal attention. Each test or case is one criterion.

Expected values are computed here in float64, by other means than in the course's solution. If the student's code was
given a substitute for an exercise that it calls, the expected value uses the same substitute.

As in unit 2, a mistake should cost only the criteria about it. Tests of anything but scores use decisive inputs: one
token fits each token so well, itself or the one before, that it gets all the weight, whatever the scores are divided
by and whether the future is hidden or not.

Random results are tested by counts of entries, at most eight counts in a test: see grader/testing/draws.py.
"""

from __future__ import annotations

import functools
import itertools
from collections.abc import Callable
from typing import Any

import pytest
import torch

from grader.suites.causal import (
    D_OUT,
    FITTING,
    LONG,
    OTHER,
    Matrices,
    Parts,
    causal_scores,
    decisive_tokens,
    dropped_in_training,
    expect_dropping_after_softmax,
    expect_each_weight_dropped_by_itself,
    expect_hidden,
    expect_no_look_ahead,
    expect_steady,
    expect_survivors,
    fitting_tokens,
    future,
    has_expected_argmax,
    lowered,
    softmax,
    steps_back,
    texts_with_other_ends,
    weights_as_outputs,
)
from grader.testing.checks import (
    ABSOLUTE,
    RELATIVE,
    as_layers,
    expect_close,
    expect_dtype,
    expect_error,
    expect_gradients,
    expect_layer,
    expect_no_bias,
    expect_tensor,
    expect_true,
    expect_values,
    oracle_gradients,
    set_layers,
)
from grader.testing.contracts import Asking, Given, Right, asking, expect_gradients_of, expect_left_alone, expect_right
from grader.testing.draws import (
    DrawFunction,
    Fresh,
    case,
    expect_count,
    expect_draws_by_state,
    expect_draws_from_a_generator,
    expect_global_draws,
    expect_own_draws,
)
from grader.testing.student import RemoteObject, Student

# All different, so that mixed-up dimensions show. No d_k is 4: half of 4 is also its square root.
# D_OUT, which is 7, belongs to the decisive inputs.
B, H, T, D_K, D_IN, LONGER = 2, 3, 5, 6, 8, 9
MATRICES = ("W_query", "W_key", "W_value")
BIASES = [f"{name}.bias" for name in MATRICES]
LOW_SCORES = "a later token has no weight, even if all visible scores are as low as -10,000 after scaling"


def causal_attention(
    student: Student, inputs: torch.Tensor, W_query: torch.Tensor, W_key: torch.Tensor, W_value: torch.Tensor
) -> torch.Tensor:
    """(B, T, d_in) and three (d_in, d_out) to (B, T, d_out)."""
    weights = Parts(student).attention_weights(causal_scores(inputs, W_query, W_key), W_query.shape[-1])
    return torch.einsum("bqk,bki,io->bqo", weights, inputs.double(), W_value.double())


def decisive_scores(
    fresh: Fresh, num_tokens: int, dtype: torch.dtype = torch.float32, ahead: float = OTHER
) -> torch.Tensor:
    """Return decisive scores (T, T); those of the future are about `ahead`."""
    scores = torch.full((num_tokens, num_tokens), OTHER, dtype=torch.float64)
    scores = torch.where(future(num_tokens), ahead, scores) + fresh(num_tokens, num_tokens, dtype=torch.float64)
    scores[range(num_tokens), fitting_tokens(steps_back(fresh, num_tokens))] = FITTING
    return scores.to(dtype)


# -- causal_mask -------------------------------------------------------------------------------------------------


@pytest.mark.exercise("causal_mask", rule="row i, column j is True if j comes after i, and False everywhere else")
def test_the_future_is_marked(student: Student) -> None:
    """The mask (T, T) should be True above the diagonal, and False on the diagonal and below."""
    expect_close(student.causal_mask(T), future(T), "The entries")


@pytest.mark.exercise("causal_mask", rule="its dtype is torch.bool")
def test_the_mask_is_bool(student: Student) -> None:
    """The mask should be of dtype torch.bool, and hide the later of any two tokens from the other."""
    mask = expect_tensor(student.causal_mask(T), (T, T))
    expect_dtype(mask, torch.bool)
    others = ~torch.eye(T, dtype=torch.bool)
    expect_true(bool((mask ^ mask.mT)[others].all()), "Two tokens both see each other, or neither sees the other.")


@pytest.mark.exercise("causal_mask", rule="any number of tokens, including one")
def test_a_mask_for_any_number_of_tokens(student: Student) -> None:
    """For any number of tokens, including a single one, the mask should be (T, T), with the future marked."""
    for count in (1, 3, 9):
        expect_close(student.causal_mask(count), future(count), "The entries")


# -- mask_then_renormalize ---------------------------------------------------------------------------------------


def softmax_weights(fresh: Fresh, num_tokens: int, dtype: torch.dtype = torch.float32) -> torch.Tensor:
    """Return positive weights (T, T) whose rows sum to one."""
    return softmax(fresh(num_tokens, num_tokens, dtype=torch.float64)).to(dtype)


def expect_shares(student: Student, result: object, weights: torch.Tensor) -> None:
    """Expect the right proportions in each row, whatever its sum is."""
    expected = Parts(student).renormalized(weights)
    found = expect_tensor(result, expected.shape).double()
    expect_close(
        found / found.sum(-1, keepdim=True),
        expected / expected.sum(-1, keepdim=True),
        "The weights, each divided by the sum of its row,",
    )


@pytest.mark.exercise("mask_then_renormalize", rule="in each row, the weight of every later token is 0")
def test_no_weight_is_left_for_the_future(student: Student, fresh: Fresh) -> None:
    """All weights above the diagonal should be zero, and the others should keep their proportions."""
    weights = softmax_weights(fresh, T)
    expect_shares(student, student.mask_then_renormalize(weights), weights)


@pytest.mark.exercise(
    "mask_then_renormalize",
    rule="the other weights of each row are divided by their sum, so that the row sums to one again",
)
def test_rows_sum_to_one_again(student: Student, fresh: Fresh) -> None:
    """The remaining weights of each row should be divided by their sum, so that the rows sum to one again."""
    weights = softmax_weights(fresh, T)
    expect_close(student.mask_then_renormalize(weights), Parts(student).renormalized(weights), "The weights")


# -- mask_then_softmax -------------------------------------------------------------------------------------------


def log_ratios(weights: torch.Tensor, expected: torch.Tensor) -> torch.Tensor:
    """Return the logarithm of each visible weight minus that of the token's weight for itself; zero elsewhere.

    The logarithm undoes softmax up to a constant for each row. The difference removes it.
    """
    logarithms = weights.double().log()
    ratios = logarithms - logarithms.diagonal(dim1=-2, dim2=-1).unsqueeze(-1)
    return torch.where(expected > 0, ratios, 0.0)


def expect_scores_behind(weights: torch.Tensor, expected: torch.Tensor) -> None:
    expect_true(bool((weights[expected > 0] > 0).all()), "A weight is not positive, although the token may see it.")
    expect_close(log_ratios(weights, expected), log_ratios(expected, expected), "The scores behind the weights")


def expect_causal_softmax(student: Student, result: object, scores: torch.Tensor) -> None:
    expect_close(result, Parts(student).weights(scores, D_K), "The weights")


@pytest.mark.exercise(
    "mask_then_softmax",
    rule="in each row, the weight of every later token is 0, and the row sums to one",
)
def test_the_future_has_no_weight_and_rows_sum_to_one(student: Student, fresh: Fresh) -> None:
    """The weights of each row should be zero for the future, sum to one, and be largest for the best score."""
    scores = fresh(T, T)
    expected = Parts(student).weights(scores, D_K)
    weights = expect_tensor(student.mask_then_softmax(scores, D_K), (T, T))
    hidden = expected == 0
    expect_close(torch.where(hidden, weights.double(), 0.0), torch.zeros(T, T), "The weights of the future")
    expect_true(bool((weights[~hidden] > 0).all()), "A weight is not positive, although the token may see it.")
    expect_close(weights.double().sum(-1), torch.ones(T), "The sums of the rows")
    expect_true(has_expected_argmax(weights, expected), "A row's largest weight is not at its largest score.")


@pytest.mark.exercise(
    "mask_then_softmax",
    rule="the weights of the other tokens are the softmax of their scores divided by the square root of d_k",
)
def test_scores_left_are_divided_by_the_square_root_of_d_k(student: Student, fresh: Fresh) -> None:
    """On and below the diagonal, the weights should come from a softmax of the scores divided by √d_k."""
    scores = fresh(T, T)
    scores[2, 1] = scores[3, 3] = 0.0  # a score like any other: a mask that is found by its zeros hides it too
    expected = Parts(student).weights(scores, D_K)
    expect_scores_behind(expect_tensor(student.mask_then_softmax(scores, D_K), (T, T)), expected)


@pytest.mark.exercise(
    "mask_then_softmax", rule="the weights are also correct if a score of the future is far above the others"
)
def test_a_future_far_above_the_rest(student: Student, fresh: Fresh) -> None:
    """The weights should also be correct if the scores of the future are far above all others."""
    # So far that softmax over all scores gives the others zero, even in float64: exp(-(3000 - 80) / √d_k) = 0.
    scores = decisive_scores(fresh, T, ahead=3000.0)
    expect_causal_softmax(student, student.mask_then_softmax(scores, D_K), scores)


@pytest.mark.exercise("mask_then_softmax", rule=LOW_SCORES)
def test_the_future_has_no_weight_beside_very_low_scores(student: Student, fresh: Fresh) -> None:
    """If all visible scores are very low, the future should still have no weight."""
    scores = decisive_scores(fresh, T, torch.float64)
    expect_causal_softmax(student, student.mask_then_softmax(scores, D_K), scores)
    scores = lowered(scores, D_K).float()
    expect_hidden(student.mask_then_softmax(scores, D_K), Parts(student).weights(scores, D_K))


# -- attention_dropout -------------------------------------------------------------------------------------------

# For p = 0.5, 400 entries are all kept, all dropped, or equal in two draws with a probability of 2^-400 each. A wrong
# answer with one draw for each of 20 rows or columns keeps or drops all with a probability of 2^-19, so its diagnosis
# does not depend on luck.
SIDE = 20
# Enough entries for a count: the tolerance 3 √n is 3 % of them.
MANY = 100
# An answer with one draw for a whole call keeps everything, or nothing, in all calls with probability 0.6^20 = 4e-5.
CALLS = 20
# Few entries, for answers that keep where `torch.rand` is above p = 0: it is exactly 0 once in 2^24 draws, so for one
# of 16 entries with a probability of 9.6e-7.
FEW = 4


def expect_kept(result: object, weights: torch.Tensor) -> torch.Tensor:
    """Return which entries were kept, as ones and zeros. Expect some of them to be kept, but not all."""
    found = expect_tensor(result, weights.shape)
    kept = found != 0
    expect_true(not torch.allclose(found.double(), weights.double(), RELATIVE, ABSOLUTE**2), "Nothing was dropped.")
    # A single check for both: if an answer draws once for all entries, it is random which of the two happens.
    expect_true(bool(kept.any()) and not bool(kept.all()), "All weights were dropped, or none.")
    return kept.double()


def expect_kept_apart(kept: torch.Tensor) -> None:
    """Expect that no whole rows or columns (MANY, MANY) are kept or dropped: a count would be random then."""
    same_column, same_row = kept[0::2] == kept[1::2], kept[:, 0::2] == kept[:, 1::2]
    expect_own_draws(
        kept, {"Whole columns of weights are dropped.": same_column, "Whole rows of weights are dropped.": same_row}
    )


def expect_weights_kept(_: Student, result: object, weights: torch.Tensor) -> None:
    """Expect some entries to be kept, and the largest one in each row at the largest kept weight of the row."""
    kept = expect_kept(result, weights)
    largest = (weights * kept).amax(-1, keepdim=True)
    found = weights.gather(-1, expect_tensor(result).double().argmax(-1, keepdim=True))
    has_kept = kept.any(-1)
    expect_true(torch.allclose(found[has_kept].double(), largest[has_kept]), "The kept values are not the weights.")


@pytest.mark.exercise("attention_dropout", rule="each weight is kept with probability 1 - p")
def test_a_share_of_one_minus_p_is_kept(student: Student, fresh: Fresh) -> None:
    """Over many weights, a fraction of about one minus p should be kept, for a small p and for a large p."""
    weights = softmax_weights(fresh, MANY)
    for p in (0.2, 0.7):
        kept = expect_kept(student.attention_dropout(weights, p), weights)
        expect_kept_apart(kept)
        expect_count(kept, 1 - p, "The fraction of kept weights is not near one minus p.")


@pytest.mark.exercise("attention_dropout", rule="each weight is kept or dropped independently")
def test_each_weight_is_dropped_by_itself(student: Student, fresh: Fresh) -> None:
    """Each weight should be kept or dropped independently of its neighbours, its row and the number of weights."""
    weights = softmax_weights(fresh, MANY)
    kept = expect_kept(student.attention_dropout(weights, 0.5), weights)
    expect_kept_apart(kept)
    # Independent draws never drop exactly the smallest or largest weights: this is one of all choices of about 5,000
    # weights from 10,000.
    stay, go = weights[kept == 1], weights[kept == 0]
    expect_true(bool(go.max() > stay.min()), "The smallest weights are dropped, and no others.")
    expect_true(bool(go.min() < stay.max()), "The largest weights are dropped, and no others.")
    # In disjoint pairs of rows, and of columns: two independent weights are both kept or both dropped in half of them.
    expect_count(kept[0::2] == kept[1::2], 0.5, "Weights in one column are dropped together.")
    expect_count(kept[:, 0::2] == kept[:, 1::2], 0.5, "Weights in one row are dropped together.")
    # Each possible number of kept weights has a probability of at most 0.08 for 100 weights, so 100 rows all keep the
    # same number with at most 0.08^99. For 10,000 weights it is at most 0.008, and for six calls 0.008^5 = 4e-11.
    expect_true(len(kept.sum(dim=1).unique()) > 1, "Every row keeps the same number of weights.")
    expect_true(len(kept.sum(dim=0).unique()) > 1, "Every column keeps the same number of weights.")
    sums = {expect_kept(student.attention_dropout(weights, 0.5), weights).sum().item() for _ in range(5)}
    expect_true(len(sums | {kept.sum().item()}) > 1, "Every call keeps the same number of weights.")


@pytest.mark.exercise("attention_dropout", rule="dropped weights become 0, and kept weights are divided by 1 - p")
def test_survivors_are_divided_by_one_minus_p(student: Student, fresh: Fresh) -> None:
    """Every weight should become zero or itself divided by one minus p."""
    weights = softmax_weights(fresh, SIDE)
    for p in (0.4, 0.6):
        found = student.attention_dropout.repeated(CALLS, weights, p)
        results = [expect_tensor(result, weights.shape) for result in found]
        result, given = torch.stack(results), weights.expand(CALLS, -1, -1)
        # All 8,000 are kept, or all dropped, with a probability of at most 0.6^8000 each.
        kept = expect_kept(result, given) == 1
        expect_survivors(result.double() / given.double(), kept, p)


@pytest.mark.exercise("attention_dropout", rule="p = 0 changes nothing")
def test_no_dropout_changes_nothing(student: Student, fresh: Fresh) -> None:
    """If p is zero, all weights should be returned without change; if p is larger, some are dropped."""
    weights = softmax_weights(fresh, SIDE)
    expect_kept(student.attention_dropout(weights, 0.5), weights)
    weights = softmax_weights(fresh, FEW)
    result = expect_tensor(student.attention_dropout(weights, 0.0), weights.shape).double()
    # Only truth values are recorded: if an answer drops some weights, its values are random.
    expect_true(bool(result.isfinite().all()), "The weights are not all finite numbers.")
    expect_true(bool(result.any()), "All weights were dropped.")
    expect_true(torch.allclose(result, weights.double(), RELATIVE, ABSOLUTE), "The weights are not the expected ones.")


def expect_refusals(student: Student, fresh: Fresh, *probabilities: float) -> None:
    weights = softmax_weights(fresh, SIDE)
    # An answer that rejects every p, or drops nothing, does not pass.
    expect_kept(student.attention_dropout(weights, 0.5), weights)
    for p in probabilities:
        expect_error(functools.partial(student.attention_dropout, weights, p))


@pytest.mark.exercise("attention_dropout", rule="a negative p raises ValueError or AssertionError")
def test_a_negative_p_is_refused(student: Student, fresh: Fresh) -> None:
    """A p below zero is not a probability, and should raise ValueError or AssertionError."""
    expect_refusals(student, fresh, -0.1, -2)


@pytest.mark.exercise("attention_dropout", rule="p ≥ 1 raises ValueError or AssertionError")
def test_a_p_of_one_or_more_is_refused(student: Student, fresh: Fresh) -> None:
    """If p is one or larger, the function should raise ValueError or AssertionError."""
    expect_refusals(student, fresh, 1.5, 1.0, 1)


@pytest.mark.exercise("attention_dropout", rule="weights of any shape, with one draw for every entry")
def test_weights_of_any_shape(student: Student, fresh: Fresh) -> None:
    """Weights may have any number of dimensions, and each element of a batch should have its own draws."""
    vector = softmax(fresh(SIDE**2))
    expect_kept(student.attention_dropout(vector, 0.5), vector)
    # The last is a batch of one text, whose dimensions should stay.
    for batch in ((B,), (B, H), (1, 1)):
        weights = softmax(fresh(*batch, SIDE, SIDE + 1))
        kept = expect_kept(student.attention_dropout(weights, 0.5), weights)
        for dim, count in enumerate(batch):
            expect_true(
                count == 1 or not torch.equal(kept.select(dim, 0), kept.select(dim, 1)),
                "Two elements of a batch have the same weights dropped.",
            )


def dropping(student: Student, fresh: Fresh) -> DrawFunction:
    weights = softmax_weights(fresh, SIDE)

    def draw(**options: object) -> torch.Tensor:
        return expect_kept(student.attention_dropout(weights, 0.5, **options), weights)

    return draw


@pytest.mark.exercise("attention_dropout", rule="with a generator, every random draw comes from it and advances it")
def test_a_generator_is_drawn_from_and_advances(student: Student, fresh: Fresh) -> None:
    """With a generator, the call should advance only its state, and another state should drop other weights."""
    other = "Another state of the generator drops the same weights."
    expect_draws_from_a_generator(student, dropping(student, fresh), other)


@pytest.mark.exercise("attention_dropout", rule="with the same generator state the result is the same")
def test_the_same_generator_state_drops_the_same_weights(student: Student, fresh: Fresh) -> None:
    """With the same generator state the same weights should be dropped, for any state of torch's global generator."""
    expect_draws_by_state(
        student,
        dropping(student, fresh),
        "The same state of the generator drops other weights.",
        "Another state of the generator drops the same weights.",
    )


@pytest.mark.exercise(
    "attention_dropout", rule="without a generator, torch's global generator is used, and it advances too"
)
def test_without_a_generator_the_global_one_is_used(student: Student, fresh: Fresh) -> None:
    """Without a generator, torch.manual_seed should control what is dropped, and a second call should differ."""
    expect_global_draws(
        student,
        dropping(student, fresh),
        "The same global state drops other weights.",
        "Another global state drops the same weights.",
        "A second call drops the same weights as the first.",
    )


@pytest.mark.exercise("attention_dropout", rule="gradients flow to the weights that are kept")
def test_gradients_of_dropout(student: Student, fresh: Fresh) -> None:
    """Each kept weight should get the gradient of its product, and each dropped weight none."""
    weights = softmax_weights(fresh, SIDE)
    result, found = expect_values(student.attention_dropout.gradients(weights, 0.5), 2)
    expect_kept(result, weights)
    # The gradient of a weight is multiplied by the same factor as the weight, which may be zero.
    factors = result.detach().double() / weights.double()
    gradients = oracle_gradients(lambda given: given * factors, [weights], {})
    expect_true(found.get("0") is not None, "No gradient reaches the weights.")
    same = torch.allclose(expect_tensor(found["0"], weights.shape).double(), gradients["0"], rtol=1e-4, atol=1e-5)
    expect_true(same, "The gradients are not the expected ones, although the shape is correct.")


# -- CausalAttention ---------------------------------------------------------------------------------------------


def in_eval_mode(student: Student, matrices: Matrices, context_length: int, dropout: float = 0.0) -> RemoteObject:
    """Return a CausalAttention with these matrices in eval mode, since most tests are not about training."""
    attention = student.queue("CausalAttention", *matrices["W_query"].shape, context_length, dropout)
    if matrices["W_query"].dtype == torch.float64:
        attention.to(torch.float64)
    set_layers(attention, as_layers(matrices))
    attention.eval()
    return attention


def fresh_matrices(fresh: Fresh, d_in: int = D_IN, d_out: int = D_OUT) -> Matrices:
    """Return W_query, W_key and W_value, each (d_in, d_out), so small that softmax is not close to a maximum."""
    return {name: fresh(d_in, d_out) / d_in**0.5 for name in MATRICES}


@pytest.mark.exercise("CausalAttention", rule="W_query, W_key and W_value are nn.Linear from d_in to d_out")
def test_three_layers_from_d_in_to_d_out(student: Student) -> None:
    """W_query, W_key and W_value should each be an nn.Linear from d_in to d_out."""
    parameters = student.queue("CausalAttention", D_IN, D_OUT, T, 0.0).parameters()
    for name in MATRICES:
        expect_true(name not in parameters, f"{name} is an nn.Parameter, not a layer.")
        expect_layer(parameters, name, D_IN, D_OUT)


@pytest.mark.exercise(
    "CausalAttention", rule="the layers have no bias unless qkv_bias=True; then each layer adds its own bias"
)
def test_no_layer_has_a_bias_by_default(student: Student) -> None:
    """W_query, W_key and W_value should have no bias if the caller does not ask for one."""
    expect_no_bias(student.queue("CausalAttention", D_IN, D_OUT, T, 0.0).parameters(), MATRICES)


@pytest.mark.exercise(
    "CausalAttention", rule="the layers have no bias unless qkv_bias=True; then each layer adds its own bias"
)
def test_every_layer_has_a_bias_on_demand(student: Student) -> None:
    """With qkv_bias=True, W_query, W_key and W_value should each have a bias of d_out numbers."""
    parameters = student.queue("CausalAttention", D_IN, D_OUT, T, 0.0, qkv_bias=True).parameters()
    for name in BIASES:
        expect_true(name in parameters, f"There is no parameter {name}.")
        expect_tensor(parameters[name], (D_OUT,))


@pytest.mark.exercise(
    "CausalAttention", rule="the layers have no bias unless qkv_bias=True; then each layer adds its own bias"
)
def test_the_biases_count(student: Student, fresh: Fresh) -> None:
    """With qkv_bias=True, each layer should add its bias: x @ W.T + b."""
    attention, inputs = student.queue("CausalAttention", D_IN, D_OUT, T, 0.0, qkv_bias=True), fresh(B, T, D_IN)
    matrices, biases = fresh_matrices(fresh), {name: fresh(D_OUT) for name in BIASES}
    set_layers(attention, as_layers(matrices))
    attention.set(biases)
    attention.eval()
    # A column of ones with the bias as its weights is the same as adding the bias.
    widened = [torch.cat([matrix, b[None]]) for matrix, b in zip(matrices.values(), biases.values(), strict=True)]
    output = attention(inputs)
    with_ones = torch.cat([inputs, torch.ones(B, T, 1)], -1)
    expect_close(output, causal_attention(student, with_ones, *widened), "The outputs")


# -- weights


@pytest.mark.exercise(
    "CausalAttention",
    rule="scores are the dot products of the queries with the keys, divided by the square root of d_out",
)
def test_scores_are_divided_by_the_square_root_of_d_out(student: Student, fresh: Fresh) -> None:
    """A token's scores for itself and the past should be dot products divided by the square root of d_out."""
    texts = torch.arange(B * T).view(B, T)
    batch = weights_as_outputs(fresh, texts, B * T + 2)
    batch.matrices["W_key"][texts[0, 1]] = 0.0  # its scores are zero: a mask that is found by its zeros hides them too
    outputs = in_eval_mode(student, batch.matrices, T)(batch.inputs(texts))
    weights = expect_tensor(outputs, (B, T, 2 * T + 1))[..., :T]
    expect_scores_behind(weights, batch.expected(student, texts))


@pytest.mark.exercise("CausalAttention", rule="no output depends on a later token")
def test_no_output_depends_on_a_later_token(student: Student, fresh: Fresh) -> None:
    """If the last token changes, no earlier output should change; if the first one changes, the second should."""
    inputs, matrices = texts_with_other_ends(fresh, T, D_IN), fresh_matrices(fresh)
    outputs = expect_tensor(in_eval_mode(student, matrices, T)(inputs), (3, T, D_OUT))
    expect_no_look_ahead(outputs, causal_attention(student, inputs, **matrices))


@pytest.mark.exercise("CausalAttention", rule=LOW_SCORES)
def test_later_tokens_have_no_weight_beside_very_low_scores(student: Student, fresh: Fresh) -> None:
    """If all visible scores are very low, later tokens should still have no weight."""
    for is_low, expect in ((False, expect_close), (True, expect_hidden)):
        inputs, matrices = decisive_tokens(fresh, 1, T, is_low=is_low)
        expect(in_eval_mode(student, matrices, T)(inputs), causal_attention(student, inputs, **matrices))


@pytest.mark.exercise(
    "CausalAttention",
    rule="the output is, for each token, the sum of the values of itself and all tokens before it, weighted by the "
    "softmax of their scores",
)
def test_output_of_causal_attention(student: Student, fresh: Fresh) -> None:
    """The output should be only the contexts, (B, T, d_out): causal attention of the three layers' outputs."""
    # In the second case both widths are equal: if they differ, values without a projection have the wrong shape.
    for d_in, d_out in ((D_IN, D_OUT), (T, T)):
        inputs, matrices = fresh(B, T, d_in), fresh_matrices(fresh, d_in, d_out)
        # Shorter than context_length: an answer that stores a mask of that length has to slice it correctly.
        output = in_eval_mode(student, matrices, LONGER)(inputs)
        expect_close(output, causal_attention(student, inputs, **matrices), "The outputs")


@pytest.mark.exercise("CausalAttention", rule="each text of the batch is computed separately")
def test_each_text_of_the_batch_on_its_own(student: Student, fresh: Fresh) -> None:
    """In a batch of several texts each text should be computed separately."""
    inputs, matrices = decisive_tokens(fresh, B, T)
    # More texts than context_length, which does not limit the batch.
    inputs = inputs.repeat(T, 1, 1)  # (B, T, d_in) -> (B · T, T, d_in)
    output = in_eval_mode(student, matrices, T)(inputs)
    expect_close(output, causal_attention(student, inputs, **matrices), "The outputs")


@pytest.mark.exercise("CausalAttention", rule="any number of tokens up to context_length, including one")
def test_any_number_of_tokens_up_to_context_length(student: Student, fresh: Fresh) -> None:
    """The module should work for texts as long as context_length and for shorter ones, down to a single token."""
    # More tokens than input or output features: a decisive text of the greatest possible length, twice. All copies of
    # the fitting token share the weight, and their values are equal.
    longest = 2 * D_OUT
    for count in (longest, 3, 1):
        inputs, matrices = decisive_tokens(fresh, 1, min(count, D_OUT))
        inputs = inputs.repeat(1, 2, 1)[:, :count]
        output = in_eval_mode(student, matrices, longest)(inputs)
        expect_close(output, causal_attention(student, inputs, **matrices), "The outputs")


@pytest.mark.exercise("CausalAttention", rule="the inputs may be non-contiguous, for example the result of a transpose")
def test_inputs_with_another_memory_layout(student: Student, fresh: Fresh) -> None:
    """The output should be correct if the inputs are non-contiguous, for example the result of a transpose."""
    inputs, matrices = decisive_tokens(fresh, B, T)
    view = inputs.transpose(0, 1).contiguous().transpose(0, 1)  # (T, B, d_in) -> (B, T, d_in)
    output = in_eval_mode(student, matrices, T)(view)
    expect_close(output, causal_attention(student, inputs, **matrices), "The outputs")


# -- dropout


def in_training(student: Student, fresh: Fresh, dropout: float) -> tuple[torch.Tensor, torch.Tensor]:
    return dropped_in_training(student, fresh, functools.partial(in_eval_mode, student), dropout, texts=B, calls=6)


@pytest.mark.exercise(
    "CausalAttention", rule="in training each weight is dropped independently, with probability `dropout`"
)
def test_each_weight_is_dropped_by_itself_in_training(student: Student, fresh: Fresh) -> None:
    """In training a fraction of about `dropout` of the weights should become zero, independently in each call."""
    p = 0.3
    weights, outputs = in_training(student, fresh, p)
    seen = Parts(student).mask(LONG).logical_not() & (weights > 0).all(dim=0)  # (T, T)
    expect_each_weight_dropped_by_itself(outputs, seen, p)


@pytest.mark.exercise(
    "CausalAttention",
    rule="dropout comes after softmax: a weight becomes 0 for all features of its value, or is divided by 1 - dropout",
)
def test_dropout_acts_on_the_weights_after_softmax(student: Student, fresh: Fresh) -> None:
    """In training each weight after softmax should become zero, for its whole value, or be divided by one - dropout."""
    # So large that the first tokens, which see few others, often lose all weights. Not 0.5, where p equals 1 - p.
    p = 0.4
    weights, outputs = in_training(student, fresh, p)
    expect_dropping_after_softmax(weights, outputs, p)


@pytest.mark.exercise("CausalAttention", rule="in eval mode nothing is dropped")
def test_nothing_is_dropped_in_eval_mode(student: Student, fresh: Fresh) -> None:
    """In eval mode the output should be exact, for any dropout of the module."""
    inputs, matrices = decisive_tokens(fresh, 1, D_OUT)
    output = expect_steady(in_eval_mode(student, matrices, D_OUT, dropout=0.5), inputs)
    expect_close(output, causal_attention(student, inputs, **matrices), "The outputs")


@pytest.mark.exercise("CausalAttention", rule="with dropout=0.0 nothing is dropped in training")
def test_nothing_is_dropped_without_dropout(student: Student, fresh: Fresh) -> None:
    """With a dropout of zero the output should be exact in training too."""
    inputs, matrices = decisive_tokens(fresh, 1, D_OUT)
    attention = in_eval_mode(student, matrices, D_OUT, dropout=0.0)
    attention.train()
    output = expect_steady(attention, inputs)
    expect_close(output, causal_attention(student, inputs, **matrices), "The outputs")


# -- gradients


@pytest.mark.exercise(
    "CausalAttention",
    rule="gradients reach the inputs and the weights of the three layers, and the mask is not a parameter",
)
def test_gradients_of_causal_attention(student: Student, fresh: Fresh) -> None:
    """Gradients of the output should reach the inputs and all three layers, and the mask should not be a parameter."""
    inputs, matrices = fresh(B, T, D_IN), fresh_matrices(fresh)
    attention = in_eval_mode(student, matrices, T)
    for value in attention.parameters().values():
        expect_true(value.shape[-2:] != (T, T), "A parameter has the shape of the mask.")
    # The weights that the test set, not the ones that the module reports.
    weights = as_layers(matrices)
    _, found = expect_values(attention.gradients(inputs), 2)
    expect_gradients(found, oracle_gradients(layered(student), [inputs], weights))


def layered(student: Student) -> Callable[..., torch.Tensor]:
    """Return causal attention as a function of weights as linear layers store them, (d_out, d_in)."""

    def function(inputs: torch.Tensor, **weights: torch.Tensor) -> torch.Tensor:
        return causal_attention(student, inputs, *(weights[f"{name}_weight"].mT for name in MATRICES))

    return function


# -- criteria of several exercises -------------------------------------------------------------------------------


def attending(student: Student, fresh: Fresh, count: int, dtype: torch.dtype = torch.float32) -> Given:
    inputs, matrices = decisive_tokens(fresh, 1, count, dtype)

    def expect(output: object) -> None:
        expect_close(output, causal_attention(student, inputs, **matrices), "The outputs")

    return Given(in_eval_mode(student, matrices, count), [inputs], expect)


RENORMALIZING = asking("mask_then_renormalize", lambda *arguments: [softmax_weights(*arguments)], expect_shares)
MASKING = asking("mask_then_softmax", lambda *arguments: [decisive_scores(*arguments), D_K], expect_causal_softmax)
DROPPING = asking("attention_dropout", lambda *arguments: [softmax_weights(*arguments), 0.5], expect_weights_kept)
SINGLE, DOUBLE, EITHER = (torch.float32,), (torch.float64,), (torch.float32, torch.float64)


@pytest.mark.parametrize(("ask", "counts", "dtypes"), [
    case("weights_of_any_number_of_tokens", "mask_then_renormalize", "any number of tokens, including one",
         "Weights of any number of tokens, including a single one, should be masked.",
         RENORMALIZING, (1, 3, 9), SINGLE),
    case("weights_of_either_dtype", "mask_then_renormalize", "float32 and float64 weights both work",
         "The function should mask float32 weights and float64 weights.", RENORMALIZING, (T,), EITHER),
    case("scores_of_any_number_of_tokens", "mask_then_softmax", "any number of tokens, including one",
         "Scores of any number of tokens, including a single one, should give weights (T, T).",
         MASKING, (1, 3, 9), SINGLE),
    case("scores_of_either_dtype", "mask_then_softmax", "float32 and float64 scores both work",
         "Float32 scores and float64 scores should both give weights.", MASKING, (T,), EITHER),
    case("dropout_of_either_dtype", "attention_dropout", "float32 and float64 weights both work",
         "Some weights should be dropped and others kept, for float32 and for float64.",
         DROPPING, (SIDE,), EITHER),
    case("causal_attention_in_float64", "CausalAttention", "works in float64 after .double()",
         "After .double() the module should take float64 inputs and give the correct output.", attending, (T,), DOUBLE),
])  # fmt: skip
def test_any_number_and_dtype(
    student: Student, fresh: Fresh, ask: Asking, counts: tuple[int, ...], dtypes: tuple[torch.dtype, ...]
) -> None:
    """The result should be correct for each number of tokens and each dtype."""
    for count, dtype in itertools.product(counts, dtypes):
        expect_right(ask(student, fresh, count, dtype))


@pytest.mark.parametrize(("ask", "count", "changed"), [
    case("renormalizing_leaves_the_weights_alone", "mask_then_renormalize", "the weights are not changed",
         "The result should be masked, and the call should not change its argument, the weights.",
         RENORMALIZING, T, "The argument, the weights, was changed."),
    case("masked_softmax_leaves_the_scores_alone", "mask_then_softmax", "the scores are not changed",
         "The weights should be correct, and the call should not change the scores.",
         MASKING, T, "The scores were changed."),
    case("dropout_leaves_the_weights_alone", "attention_dropout", "the weights are not changed",
         "Weights should be dropped in the result, and the call should not change its argument, the weights.",
         DROPPING, SIDE, "The argument, the weights, was changed."),
    case("causal_attention_leaves_the_inputs_alone", "CausalAttention", "the inputs are not changed",
         "The output should be correct, and the call should not change the inputs.",
         attending, T, "The inputs were changed."),
])  # fmt: skip
def test_left_alone(student: Student, fresh: Fresh, ask: Asking, count: int, changed: str) -> None:
    """The result should be correct, and the call should not change its argument."""
    expect_left_alone(ask(student, fresh, count), changed)


@pytest.mark.parametrize(("exercise", "right", "draw"), [
    # No weight near zero: the gradient is a difference of terms such as 1 / weight, and float32 rounds each of them.
    case("gradients_of_renormalizing", "mask_then_renormalize", "gradients flow to the weights",
         "Gradients of the result should flow to the weights in the argument.", "mask_then_renormalize",
         lambda student: Parts(student).renormalized, lambda fresh: [softmax(fresh(T, T) / 2)]),
    case("gradients_of_masked_softmax", "mask_then_softmax", "gradients flow to the scores",
         "Gradients of the weights should flow to the scores, and be zero for scores of the future.",
         "mask_then_softmax", lambda student: Parts(student).weights, lambda fresh: [fresh(T, T), D_K]),
])  # fmt: skip
def test_gradients(student: Student, fresh: Fresh, exercise: str, right: Right, draw: Callable[..., Any]) -> None:
    """Gradients should flow to the argument."""
    expect_gradients_of(student, exercise, right, draw(fresh))
