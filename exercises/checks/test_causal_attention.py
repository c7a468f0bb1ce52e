"""The visible tests of unit 3, causal attention. Run `grader check causal_attention`, or `pytest` here.

`student` is your file: `student.causal_mask(6)` is what your causal_mask gives. Tests without a rule repeat the worked
example: the six tokens of unit 2, which now see only the past. The others try one rule of your docstring each, with
numbers from `numbers`. The grader tries the same rules with other sizes and numbers.

Dropout is random. Its tests count many weights, and a right answer fails them less than once in a million runs.
"""

from __future__ import annotations

from typing import Any

import pytest
import torch
from checking import (
    WORKED_EXAMPLES,
    described,
    expect_count,
    expect_error,
    expect_linear,
    expect_module,
    expect_solution,
    expect_true,
    expect_values,
    fail,
    numbers,
    sentence,
    set_training,
    worked_example,
)

from grader.testing.contracts import (
    CUT_OFF,
    expect_any_layout,
    expect_arguments_kept,
    expect_each_alone,
    expect_float64,
    expect_generator_used,
    expect_gradients_fit,
)
from grader.testing.draws import expect_own_draws
from grader.testing.student import Refused, RemoteObject, Student
from grader.testing.visible_contracts import contract_tests

INPUTS = worked_example("inputs")
CAUSAL_WEIGHTS = worked_example("causal.weights")

# -- causal_mask -----------------------------------------------------------------------------------------------------

FUTURE = "the future of each row, to the right of the diagonal, is True, and everything else is False"


@pytest.mark.example("causal_mask")
def test_causal_mask(student: Student) -> None:
    """The mask of six tokens is True above the diagonal, False elsewhere, and of dtype torch.bool."""
    expect_values("the mask", student.causal_mask(6), CAUSAL_WEIGHTS == 0, shape="(T, T)", idea=FUTURE)


@pytest.mark.example(
    "causal_mask",
    rule=["row i, column j is True if j comes after i, and False everywhere else",
          "any number of tokens, including one"],
)  # fmt: skip
@pytest.mark.parametrize("tokens", [pytest.param(4, id="four"), pytest.param(7, id="seven"), pytest.param(1, id="one")])
def test_causal_mask_of_tokens(student: Student, tokens: int) -> None:
    """The mask has one row and one column for each token, and a single token has no future."""
    expect_solution("the mask", student.causal_mask(tokens), shape="(T, T)", idea=FUTURE)


@pytest.mark.example("causal_mask", rule="its dtype is torch.bool")
def test_the_mask_is_of_dtype_bool(student: Student) -> None:
    """The mask of two tokens hides one entry, with True and not with a number."""
    expected = torch.tensor([[False, True], [False, False]])
    expect_values("the mask", student.causal_mask(2), expected, shape="(T, T)", idea=FUTURE)


# -- mask_then_renormalize -------------------------------------------------------------------------------------------

RENORMALIZED = "set the future to zero, then divide the remaining weights of each row by their sum"
# Three tokens whose weights are all far from zero, so that small steps change the result smoothly.
WEIGHTS = torch.tensor([[0.5, 0.2, 0.3], [0.3, 0.3, 0.4], [0.4, 0.35, 0.25]])


@pytest.mark.example("mask_then_renormalize")
def test_mask_then_renormalize(student: Student) -> None:
    """The future of the weights is zero, and the remaining weights of each row are divided by their sum."""
    weights = student.mask_then_renormalize(worked_example("v2.weights"))
    expect_values("weights", weights, CAUSAL_WEIGHTS, shape="(T, T)", idea=RENORMALIZED)


@pytest.mark.example(
    "mask_then_renormalize",
    rule=["in each row, the weight of every later token is 0",
          "the other weights of each row are divided by their sum, so that the row sums to one again",
          "any number of tokens, including one"],
)  # fmt: skip
@pytest.mark.parametrize("tokens", [pytest.param(4, id="four"), pytest.param(7, id="seven"), pytest.param(1, id="one")])
def test_mask_then_renormalize_of_tokens(student: Student, tokens: int) -> None:
    """For any number of tokens the result has the shape of the weights."""
    weights = student.mask_then_renormalize(numbers(tokens, tokens).softmax(-1))
    expect_solution("weights", weights, shape="(T, T)", idea=RENORMALIZED)


# -- mask_then_softmax -----------------------------------------------------------------------------------------------

SOFTMAX = "softmax of scores / √d_k over the last dim, with the future at minus infinity before it"
LOW_SCORES = "a later token has no weight, even if all visible scores are as low as -10,000 after scaling"


def expect_shared_equally(name: str, yours: Any, expected: torch.Tensor, shape: str) -> None:
    """Expect the result for visible scores that are all equal and very low.

    A softmax that does not subtract the maximum gives NaN for them. That is allowed: it is a matter of unit 1.
    """
    if isinstance(yours, torch.Tensor) and yours.shape == expected.shape and yours.isnan().all():
        return
    idea = "the visible scores are all -10,000 after scaling, and hidden scores should be far below them"
    expect_values(name, yours, expected, shape=shape, idea=idea)


@pytest.mark.example("mask_then_softmax")
@pytest.mark.parametrize("future", [pytest.param(0.3, id="ordinary"), pytest.param(1000.0, id="large")])
def test_mask_then_softmax_where_the_future_is(student: Student, future: float) -> None:
    """With the future of the scores at minus infinity, softmax turns them into causal weights."""
    rows = WORKED_EXAMPLES["examples"]["causal.masked_scores"]["value"]
    scores = torch.tensor([[future if score is None else score for score in row] for row in rows])
    expect_values("weights", student.mask_then_softmax(scores, 2), CAUSAL_WEIGHTS, shape="(T, T)", idea=SOFTMAX)


@pytest.mark.example(
    "mask_then_softmax",
    rule=["in each row, the weight of every later token is 0, and the row sums to one",
          "the weights of the other tokens are the softmax of their scores divided by the square root of d_k",
          "any number of tokens, including one"],
)  # fmt: skip
@pytest.mark.parametrize(
    ("tokens", "d_k"), [pytest.param(4, 3, id="four"), pytest.param(7, 5, id="seven"), pytest.param(1, 10, id="one")]
)
def test_mask_then_softmax_of_tokens(student: Student, tokens: int, d_k: int) -> None:
    """For any number of tokens, the scores are divided by √d_k, and not by the root of the number of tokens."""
    weights = student.mask_then_softmax(numbers(tokens, tokens), d_k)
    expect_solution("weights", weights, shape="(T, T)", idea=f"{SOFTMAX}, here d_k = {d_k}")


@pytest.mark.example(
    "mask_then_softmax", rule="the weights are also correct if a score of the future is far above the others"
)
def test_mask_then_softmax_beside_a_very_large_future(student: Student) -> None:
    """Visible scores of zero share the weight equally, however large the scores of the future are."""
    expected = torch.tensor([[1, 0, 0], [1 / 2, 1 / 2, 0], [1 / 3, 1 / 3, 1 / 3]])
    weights = student.mask_then_softmax(torch.full((3, 3), 25_000.0).triu(1), 5)
    idea = f"{SOFTMAX}: no score of the future, here 25,000, has an influence"
    expect_values("weights", weights, expected, shape="(T, T)", idea=idea)


@pytest.mark.example("mask_then_softmax", rule=LOW_SCORES)
def test_mask_then_softmax_of_very_low_scores(student: Student) -> None:
    """Visible scores of -30,000 / √9 share the weight equally, and nothing is left for the future."""
    expected = torch.tensor([[1, 0, 0], [1 / 2, 1 / 2, 0], [1 / 3, 1 / 3, 1 / 3]])
    weights = student.mask_then_softmax(torch.full((3, 3), -30_000.0), 9)
    expect_shared_equally("weights", weights, expected, shape="(T, T)")


# -- attention_dropout -----------------------------------------------------------------------------------------------


def positive(*shape: int) -> torch.Tensor:
    """Return weights from 0.5 to 4.5. None is zero, so a zero in a result is a dropped weight."""
    return numbers(*shape) + 2.5


def expect_tensor(name: str, yours: Any, shape: tuple[int, ...], names: str) -> torch.Tensor:
    """Expect a tensor of this shape, whatever its numbers are."""
    if not isinstance(yours, torch.Tensor):
        fail(f"{name} should be one tensor, yours is {described(yours)}.")
    if yours.shape != shape:
        fail(f"{name} should have shape {names} = {shape}, yours is {tuple(yours.shape)}.")
    return yours


def kept_of(student: Student, p: float, *shape: int) -> torch.Tensor:
    """Return which weights of this shape are kept, True or False."""
    return expect_tensor("the result", student.attention_dropout(positive(*shape), p), shape, "of the weights") != 0


def expect_independent(kept: torch.Tensor, p: float, pairs: dict[str, torch.Tensor]) -> None:
    """Expect weights to be kept with probability 1 - p, and independently in these pairs.

    pairs: for each pair of weights, whether both are kept or both dropped. The keys say what is wrong otherwise.
    """
    share = f"about {1 - p:.0%} of the weights should be kept and the others become 0, yours keeps another share."
    expect_true(0.05 < kept.double().mean().item() < 0.95, share)
    together = "dropped together: draw again in each call, without a seed, and for each weight separately."
    reasons = {sentence(f"{what} {together}"): alike for what, alike in pairs.items()}
    expect_own_draws(kept, reasons)
    expect_count(kept, 1 - p, share)
    for reason, alike in reasons.items():
        expect_count(alike, p**2 + (1 - p) ** 2, reason)


def expect_dropped_or_divided(student: Student, weights: torch.Tensor, p: float) -> None:
    """Expect each weight to be zero or divided by 1 - p, and some to be kept and others dropped."""
    yours = student.attention_dropout(weights, p)
    kept = expect_tensor("the result", yours, tuple(weights.shape), "of the weights") != 0
    some = f"with p = {p} some of {kept.numel()} weights should be"
    expect_true(not bool(kept.all()), f"{some} dropped, and none of yours becomes 0.")
    expect_true(bool(kept.any()), f"{some} kept, and yours are all 0.")
    expected = torch.where(kept, weights / (1 - p), 0.0)
    idea = f"with p = {p} kept weights are divided by 1 - p = {1 - p:g}"
    expect_values("the result", yours, expected, shape="of the weights", idea=idea)


@pytest.mark.example("attention_dropout")
def test_attention_dropout(student: Student) -> None:
    """With p = 0.5, some of a hundred weights are dropped, and the kept ones are doubled."""
    expect_dropped_or_divided(student, torch.full((10, 10), 0.1), 0.5)


@pytest.mark.example("attention_dropout", rule="dropped weights become 0, and kept weights are divided by 1 - p")
@pytest.mark.parametrize("p", [pytest.param(0.2, id="small"), pytest.param(0.65, id="large")])
def test_attention_dropout_with_a_p_that_is(student: Student, p: float) -> None:
    """Each weight becomes zero, or is divided by the same 1 - p as all others."""
    # Of 77 weights, no number is a share of exactly 1 - p. All are kept with a probability of 0.8^77 = 3e-8.
    expect_dropped_or_divided(student, positive(11, 7), p)


@pytest.mark.example("attention_dropout", rule="each weight is kept with probability 1 - p")
@pytest.mark.parametrize("p", [pytest.param(0.25, id="small"), pytest.param(0.75, id="large")])
def test_share_of_weights_kept_with_a_p_that_is(student: Student, p: float) -> None:
    """Of 3,000 weights, about a share of 1 - p is kept: at most 164 more or fewer."""
    reason = f"with p = {p} about {1 - p:.0%} of 3,000 weights should be kept, yours keeps another share."
    expect_count(kept_of(student, p, 60, 50), 1 - p, reason)


@pytest.mark.example("attention_dropout", rule="each weight is kept or dropped independently")
def test_each_weight_is_dropped_independently(student: Student) -> None:
    """Two weights of a row or column are both kept or both dropped in half of the pairs, and no count is fixed."""
    kept = kept_of(student, 0.5, 60, 50)
    rows, columns = kept[0::2] == kept[1::2], kept[:, 0::2] == kept[:, 1::2]
    expect_independent(kept, 0.5, {"whole columns of weights are": rows, "whole rows of weights are": columns})
    # With 50 or 3,000 weights, no count is likelier than 0.12 or 0.015. These are 60 rows, and 6 calls.
    text = "the same number of weights is kept in {}: {} for each weight separately."
    expect_true(len(set(kept.sum(-1).tolist())) > 1, text.format("every row", "draw"))
    calls = [kept, *(kept_of(student, 0.5, 60, 50) for _ in range(5))]
    is_same = all(torch.equal(one, kept) for one in calls)
    draw = "draw again in each call, without a seed, and" if is_same else "the calls differ, but draw"
    expect_true(len({one.sum().item() for one in calls}) > 1, text.format("every call", draw))


@pytest.mark.example("attention_dropout", rule="p = 0 changes nothing")
def test_attention_dropout_with_p_zero(student: Student) -> None:
    """If p is 0, all weights are returned without change."""
    # Only six weights: `torch.rand(…) > 0` drops one of them with a probability of 6 / 2^24, which is allowed.
    weights = student.attention_dropout(CAUSAL_WEIGHTS[:3], 0.0)
    expect_values("weights", weights, CAUSAL_WEIGHTS[:3], shape="of the weights", idea="if p is 0 nothing changes")


@pytest.mark.example("attention_dropout", rule="weights of any shape, with one draw for every entry")
@pytest.mark.parametrize(
    "shape",
    [
        pytest.param((80,), id="vector"),
        pytest.param((4, 9, 8), id="batch"),
        pytest.param((3, 2, 8, 9), id="batch_of_heads"),
        pytest.param((1, 1, 8, 9), id="batch_of_one"),
    ],
)
def test_attention_dropout_of_a(student: Student, shape: tuple[int, ...]) -> None:
    """Weights may have any number of dimensions, and each matrix of a batch has draws of its own."""
    kept = kept_of(student, 0.5, *shape)
    expect_true(0 < int(kept.sum()) < kept.numel(), f"with p = 0.5 some of {kept.numel()} weights should be dropped.")
    first, *others = kept.reshape(-1, *shape[-2:])  # (…, 8, 9) -> (n, 8, 9)
    alike = [torch.equal(first, other) for other in others]
    expect_true(not any(alike), "two matrices of a batch drop the same weights: draw with the shape of the weights.")


@pytest.mark.example("attention_dropout", rule="gradients flow to the weights that are kept")
def test_gradients_of_attention_dropout(student: Student) -> None:
    """A kept weight changes its own result, and a dropped weight changes nothing."""
    try:
        result, gradients = student.attention_dropout.gradients(positive(9, 8), 0.5)
    except Refused:
        fail(f"The result has no gradient, although `weights` is in it. {CUT_OFF}")
    gradient = gradients["0"]
    expect_true(gradient is not None, f"No gradient reaches `weights`, although the result depends on it. {CUT_OFF}")
    kept = expect_tensor("the result", result, (9, 8), "of the weights") != 0
    sentence = "only kept weights should have a gradient: multiply the weights by what is random, in a new tensor."
    expect_true(torch.equal(gradient != 0, kept), sentence)


@pytest.mark.example("attention_dropout", rule="float32 and float64 weights both work")
def test_attention_dropout_in_float64(student: Student) -> None:
    """Float64 weights are dropped or divided like float32 ones."""
    expect_dropped_or_divided(student, positive(9, 8), 0.6)
    expect_dropped_or_divided(student, positive(9, 8).double(), 0.6)


# -- CausalAttention -------------------------------------------------------------------------------------------------

# The weights of the layers of unit 2's second version, (2, 3) as nn.Linear(3, 2) keeps them.
LAYER_WEIGHTS = {
    "W_query": torch.tensor([[0.316059, 0.456809, 0.511835], [-0.168285, -0.337877, -0.091774]]),
    "W_key": torch.tensor([[0.405806, -0.470421, 0.236805], [0.213361, -0.260051, -0.510543]]),
    "W_value": torch.tensor([[0.252570, -0.141478, -0.196181], [0.519107, -0.085168, -0.204327]]),
}
LAYERS = tuple(LAYER_WEIGHTS)
CONTEXTS = CAUSAL_WEIGHTS @ INPUTS @ LAYER_WEIGHTS["W_value"].T  # (6, 6) @ (6, 3) @ (3, 2) -> (6, 2)

# Three texts of four tokens with five features each, (B, T, d_in), for layers of six features and up to eight tokens.
TEXTS = numbers(3, 4, 5)
ATTENTION = "project, score, hide the future, divide by √d_out, softmax, and sum the values by their weights"
# A token's value has a 1 at its own place, and a 2 twelve places later, so the output is its weights and their doubles.
TOKENS = 12
ONE_HOT = torch.eye(TOKENS).expand(10, TOKENS, TOKENS)
VALUE_PLACES = torch.cat([torch.eye(TOKENS), 2 * torch.eye(TOKENS), torch.zeros(1, TOKENS)])  # (25, 12)


def layer_weights(d_in: int, d_out: int) -> dict[str, torch.Tensor]:
    """Return small weights of the three layers, each (d_out, d_in), so that no token gets all the attention."""
    return {name: numbers(d_out, d_in, seed=seed) / 4 for seed, name in enumerate(LAYERS)}


def attention_with(
    student: Student, weights: dict[str, torch.Tensor], context_length: int, dropout: float = 0.0
) -> RemoteObject:
    """Return a CausalAttention with these weights of its layers, each (d_out, d_in), in eval mode."""
    d_out, d_in = weights["W_query"].shape
    attention = expect_module("CausalAttention", student.CausalAttention(d_in, d_out, context_length, dropout))
    expect_layers(attention, d_in, d_out)
    expect_biases(attention, False, "no qkv_bias")
    attention.set({f"{name}.weight": weight for name, weight in weights.items()})
    set_training(attention, False)
    return attention


def expect_layers(attention: RemoteObject, d_in: int, d_out: int) -> None:
    for name in LAYERS:
        shape = tuple(expect_linear(attention, name).parameters()["weight"].shape)
        sentence = (
            f"{name} should be nn.Linear(d_in, d_out), here nn.Linear({d_in}, {d_out}) with a weight of shape "
            f"{(d_out, d_in)}; the weight of yours has shape {shape}."
        )
        expect_true(shape == (d_out, d_in), sentence)


def expect_biases(attention: RemoteObject, has_bias: bool, given: str) -> None:
    for name in LAYERS:
        sentence = f"with {given} {name} should have {'a' if has_bias else 'no'} bias."
        expect_true((expect_linear(attention, name).get("bias") is not None) == has_bias, sentence)


@pytest.mark.example("CausalAttention")
def test_output_of_causal_attention(student: Student) -> None:
    """Of two texts in a batch, the first has the causal contexts of the worked example."""
    output = attention_with(student, LAYER_WEIGHTS, 6)(torch.stack([INPUTS, INPUTS.flip(0)]))  # two texts: (2, 6, 3)
    yours = expect_tensor("the output", output, (2, 6, 2), "(B, T, d_out)")[0]
    expect_values("the output for the first text", yours, CONTEXTS, shape="(T, d_out)", idea=ATTENTION)


@pytest.mark.example("CausalAttention")
def test_a_text_shorter_than_context_length(student: Student) -> None:
    """A text of three tokens has the same contexts as the first three tokens of the longer text."""
    output = attention_with(student, LAYER_WEIGHTS, 8)(INPUTS[None, :3])
    idea = "no token sees a later one, so the outputs are the same as in the longer text"
    expect_values("the output", output, CONTEXTS[None, :3], shape="(B, T, d_out)", idea=idea)


@pytest.mark.example("CausalAttention", rule="W_query, W_key and W_value are nn.Linear from d_in to d_out")
@pytest.mark.parametrize(("d_in", "d_out"), [pytest.param(5, 6, id="wider"), pytest.param(9, 4, id="narrower")])
def test_layers_of_causal_attention_that_are(student: Student, d_in: int, d_out: int) -> None:
    """Each layer has a weight of shape (d_out, d_in)."""
    attention = expect_module("CausalAttention", student.CausalAttention(d_in, d_out, 8, 0.0))
    expect_layers(attention, d_in, d_out)


@pytest.mark.example(
    "CausalAttention",
    rule="scores are the dot products of the queries with the keys, divided by the square root of d_out",
)
def test_weights_of_causal_attention(student: Student) -> None:
    """The value of each token is 1 at a place of its own, so the output shows the weights."""
    weights = layer_weights(5, 6) | {"W_value": torch.eye(6, 5)}
    weights["W_key"][:, 1] = 0  # the key of the second token: its scores are 0, and it is visible like any other
    output = attention_with(student, weights, 8)(torch.eye(5)[None, :3])  # three tokens, (1, 3, 5)
    idea = "softmax of the dot products of the query with the keys, divided by √d_out = √6"
    expect_solution("the output", output, shape="(B, T, d_out)", idea=idea)


@pytest.mark.example("CausalAttention", rule=LOW_SCORES)
def test_causal_attention_with_very_low_scores(student: Student) -> None:
    """Each score is 200 times -150, divided by √9. The visible tokens share the weight equally."""
    weights = {name: torch.zeros(9, 5) for name in LAYERS}
    weights["W_query"][0, 0], weights["W_key"][0, 0], weights["W_value"][:4, 1:] = 200, -150, torch.eye(4)
    # The first feature of each token is 1, and makes all scores equal. The others make its value.
    texts = torch.cat([torch.ones(3, 1), torch.eye(4)[:3]], dim=1)[None]  # (1, 3, 5)
    expected = torch.zeros(1, 3, 9)
    expected[0, :, :3] = torch.tensor([[1, 0, 0], [1 / 2, 1 / 2, 0], [1 / 3, 1 / 3, 1 / 3]])
    output = attention_with(student, weights, 8)(texts)
    expect_shared_equally("the output", output, expected, shape="(B, T, d_out)")


@pytest.mark.example(
    "CausalAttention",
    rule="the output is, for each token, the sum of the values of itself and all tokens before it, weighted by the "
    "softmax of their scores",
)
@pytest.mark.parametrize(("d_in", "d_out"), [pytest.param(5, 6, id="other"), pytest.param(5, 5, id="equal")])
def test_output_of_causal_attention_for_widths_that_are(student: Student, d_in: int, d_out: int) -> None:
    """The output has the shape (B, T, d_out), also if d_out is equal to d_in."""
    output = attention_with(student, layer_weights(d_in, d_out), 8)(TEXTS)
    expect_solution("the output", output, shape="(B, T, d_out)", idea=ATTENTION)


@pytest.mark.example("CausalAttention", rule="any number of tokens up to context_length, including one")
@pytest.mark.parametrize(
    "tokens", [pytest.param(8, id="longest"), pytest.param(2, id="two"), pytest.param(1, id="one")]
)
def test_causal_attention_of_tokens(student: Student, tokens: int) -> None:
    """With a context_length of eight, a text may have one to eight tokens."""
    output = attention_with(student, layer_weights(5, 6), 8)(numbers(1, tokens, 5))
    expect_solution("the output", output, shape="(B, T, d_out)", idea=ATTENTION)


@pytest.mark.example(
    "CausalAttention", rule="the layers have no bias unless qkv_bias=True; then each layer adds its own bias"
)
def test_biases_of_causal_attention(student: Student) -> None:
    """The layers have a bias only if qkv_bias is True, and each bias changes the output."""
    for options in ({}, {"qkv_bias": False}, {"qkv_bias": True}):
        attention = expect_module("CausalAttention", student.CausalAttention(5, 6, 8, 0.0, **options))
        given = f"qkv_bias={options['qkv_bias']}" if options else "no qkv_bias"
        expect_biases(attention, options.get("qkv_bias", False), given)
    biases = {f"{name}.bias": numbers(6, seed=seed) for seed, name in enumerate(LAYERS)}
    attention.set({f"{name}.weight": weight for name, weight in layer_weights(5, 6).items()} | biases)
    set_training(attention, False)
    idea = "queries, keys and values each have their bias: call the layer, which adds it"
    expect_solution("the output", attention(TEXTS[:1]), shape="(B, T, d_out)", idea=idea)


def outputs_in_training(student: Student, dropout: float) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """Return ten texts' weights (10, 12, 12) in eval mode, and two outputs in training, (2, 10, 12, 25).

    The third result says which weights are visible, (12, 12). A module without dropout gives the weights.
    """
    weights = layer_weights(TOKENS, 25) | {"W_value": VALUE_PLACES}
    plain = attention_with(student, weights, TOKENS)
    attention = attention_with(student, weights, TOKENS, dropout)
    set_training(attention, True)
    shape = (10, TOKENS, 25)
    outputs = [expect_tensor("the output", call(ONE_HOT), shape, "(B, T, d_out)") for call in (plain, *[attention] * 2)]
    trained = torch.stack(outputs[1:])
    sentence = (
        "in training the outputs should be finite numbers: a dropped weight is zero, after softmax, and rows are not "
        "divided by their sum again."
    )
    expect_true(bool(trained.isfinite().all()), sentence)
    return outputs[0][..., :TOKENS], trained, torch.ones(TOKENS, TOKENS, dtype=torch.bool).tril()


@pytest.mark.example(
    "CausalAttention", rule="in training each weight is dropped independently, with probability `dropout`"
)
def test_causal_attention_drops_each_weight_independently(student: Student) -> None:
    """Of 1,560 visible weights about 30 % are dropped with dropout=0.3, other ones for each call, text and token."""
    _, outputs, visible = outputs_in_training(student, 0.3)
    kept = outputs[..., :TOKENS] != 0  # (2, 10, 12, 12)
    rows, columns = visible[0::2] & visible[1::2], visible[:, 0::2] & visible[:, 1::2]
    pairs = {
        "in two calls the same weights are": (kept[0] == kept[1])[:, visible],
        "in two texts of a batch the same weights are": (kept[:, 0::2] == kept[:, 1::2])[..., visible],
        "for all queries the same tokens are": (kept[..., 0::2, :] == kept[..., 1::2, :])[..., rows],
        "whole rows of weights are": (kept[..., 0::2] == kept[..., 1::2])[..., columns],
    }
    expect_independent(kept[..., visible], 0.3, pairs)


@pytest.mark.example(
    "CausalAttention",
    rule="dropout comes after softmax: a weight becomes 0 for all features of its value, or is divided by 1 - dropout",
)
def test_causal_attention_drops_weights_after_softmax(student: Student) -> None:
    """In training each weight is zero for both features of its value, or divided by 1 - dropout for both."""
    weights, outputs, _ = outputs_in_training(student, 0.2)
    kept = outputs[..., :TOKENS] != 0  # (2, 10, 12, 12)
    expected = torch.where(kept, weights / 0.8, 0.0)
    expected = torch.cat([expected, 2 * expected, torch.zeros(*kept.shape[:-1], 1)], dim=-1)  # (2, 10, 12, 25)
    idea = "the weights, after softmax, are dropped or divided by 1 - dropout = 0.8, and then multiplied by the values"
    expect_values("the outputs in training", outputs, expected, shape="(2, B, T, d_out)", idea=idea)


@pytest.mark.example(
    "CausalAttention",
    rule="gradients reach the inputs and the weights of the three layers, and the mask is not a parameter",
)
def test_gradients_of_causal_attention(student: Student) -> None:
    """The output depends on the inputs and on the three weights, and no parameter has the shape of the mask."""
    attention = attention_with(student, layer_weights(5, 6), 8)
    expect_gradients_fit(attention, parameters=[f"{name}.weight" for name in LAYERS], inputs=TEXTS[:2])
    for name, parameter in attention.parameters().items():
        sentence = f"{name} should not be a parameter, because a mask does not learn: use register_buffer."
        expect_true(parameter.shape[-2:] != (8, 8), sentence)


# -- properties of several exercises, from contracts.json ------------------------------------------------------------

test_contract = contract_tests(__file__)
