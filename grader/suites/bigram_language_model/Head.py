"""Head: hidden tests, known mistakes and right answers."""

from __future__ import annotations

import functools
from collections.abc import Iterator
from typing import Any

import torch

from grader.suites.attention_mistakes import ZEROS_HIDDEN
from grader.suites.attention_probes import (
    causal_at_low_scores,
    dropped_weights,
    one_hot_texts,
    parameters_of_length,
    unit_values,
)
from grader.suites.bigram_language_model.shared import BLOCK, HEAD_SIZE, N_EMBD, B
from grader.suites.causal import (
    ANY_LENGTH,
    LOW_SCORES,
    Matrices,
    Parts,
    decisive_calls,
    decisive_tokens,
    dropped_in_training,
    expect_dropping_after_softmax,
    expect_each_weight_dropped_by_itself,
    expect_hidden,
    fresh_matrices,
    mixing_calls,
)
from grader.suites.generation import T
from grader.testing.behaviour import later_tokens_unseen, steady_results
from grader.testing.checks import (
    expect_close,
    expect_gradients,
    expect_tensor,
    expect_true,
    expect_values,
    oracle_gradients,
)
from grader.testing.draws import Fresh, numbers
from grader.testing.misconceptions import mistake, replace
from grader.testing.probes import PROBABILITIES, Draw, Property, call, layers, probe, set_drawn_layers, set_to
from grader.testing.student import RemoteObject, Student
from grader.testing.suite import Example, contract, kept_arguments, right_results, rule

# The names of its layers in unit 3 and here.
LAYERS = {"W_query": "query", "W_key": "key", "W_value": "value"}


def dot_products(queries: torch.Tensor, keys: torch.Tensor) -> torch.Tensor:
    """(…, T, head_size) twice to (…, T, T)."""
    return torch.einsum("...qd,...kd->...qk", queries, keys)


def attended(
    student: Student, inputs: torch.Tensor, W_query: torch.Tensor, W_key: torch.Tensor, W_value: torch.Tensor
) -> torch.Tensor:
    """(B, T, n_embd) and three (n_embd, head_size) to (B, T, head_size)."""
    queries, keys, values = (inputs.double() @ matrix.double() for matrix in (W_query, W_key, W_value))
    # Unit 4's functions take (B, H, T, head_dim): here with one head.
    scores = student.substitute("head_scores", dot_products)(queries[:, None], keys[:, None])
    weights = student.substitute("head_weights", Parts(student).attention_weights)(scores, queries.shape[-1])
    return (weights @ values[:, None])[:, 0]


def head_with(student: Student, matrices: Matrices, block_size: int, dropout: float = 0.0) -> RemoteObject:
    """A Head of the dtype of these matrices (n_embd, head_size), in eval mode."""
    head = student.queue("Head", *matrices["W_query"].shape, block_size, dropout)
    head.to(matrices["W_query"].dtype)
    parameters = head.parameters()
    for name, layer in LAYERS.items():
        weight = matrices[name].mT  # (n_embd, head_size) -> (head_size, n_embd), as in linear layers
        # A layer that is also part of another module may be registered under that module's name.
        owner, prefix = (head, f"{layer}.") if f"{layer}.weight" in parameters else (layer_of(head, layer), "")
        # A bias is wrong, but costs only its own criterion: here it is set to zero.
        bias = {f"{layer}.bias": torch.zeros(len(weight))} if f"{layer}.bias" in parameters else {}
        owner.set({f"{prefix}weight": weight, **bias})
    head.eval()
    return head


def layer_of(head: RemoteObject, name: str) -> RemoteObject:
    layer = head.get(name)
    expect_true(isinstance(layer, RemoteObject), f"{name} is not a layer.")
    return layer


@rule("key, query and value are nn.Linear from n_embd to head_size")
def test_three_layers_from_n_embd_to_head_size(student: Student) -> None:
    """key, query and value should each be an nn.Linear from n_embd to head_size."""
    head = student.queue("Head", N_EMBD, HEAD_SIZE, BLOCK, 0.0)
    for name in LAYERS.values():
        parameters = layer_of(head, name).parameters()
        expect_true("weight" in parameters, f"{name} is not a linear layer.")
        shape = tuple(parameters["weight"].shape)
        is_transposed, is_square = shape == (N_EMBD, HEAD_SIZE), shape == (N_EMBD, N_EMBD)
        expect_true(not is_transposed, f"The input and output widths of {name} are swapped.")
        expect_true(not is_square, f"{name} keeps the width n_embd.")
        expect_true(shape == (HEAD_SIZE, N_EMBD), f"{name} has wrong sizes.")


@rule("key, query and value have no bias")
def test_no_layer_has_a_bias(student: Student) -> None:
    """key, query and value should have a weight, and no bias."""
    head = student.queue("Head", N_EMBD, HEAD_SIZE, BLOCK, 0.0)
    for name in LAYERS.values():
        parameters = layer_of(head, name).parameters()
        expect_true("weight" in parameters, f"{name} is not a linear layer.")
        expect_true("bias" not in parameters, f"{name} has a bias.")


@rule("scores are the dot products of the queries with the keys, divided by the square root of head_size")
def test_scores_are_divided_by_the_square_root_of_head_size(student: Student, fresh: Fresh) -> None:
    """The last token should weight all tokens by dot products divided by the root of head_size."""
    inputs, matrices = fresh(B, T, N_EMBD), fresh_matrices(fresh, N_EMBD, HEAD_SIZE)
    inputs[0, 1] = 0.0  # its scores are zero: a mask that is found by its zeros hides them too
    output = expect_tensor(head_with(student, matrices, BLOCK)(inputs), (B, T, HEAD_SIZE))
    expect_close(output[:, -1], attended(student, inputs, **matrices)[:, -1], "The outputs of the last tokens")


@rule(LOW_SCORES)
def test_later_tokens_have_no_weight_beside_very_low_scores(student: Student, fresh: Fresh) -> None:
    """If all visible scores are very low, later tokens should still have no weight."""
    for is_low, expect in ((False, expect_close), (True, expect_hidden)):
        inputs, matrices = decisive_tokens(fresh, 1, T, is_low=is_low)
        expect(head_with(student, matrices, T)(inputs), attended(student, inputs, **matrices))


def in_training(student: Student, fresh: Fresh, dropout: float) -> tuple[torch.Tensor, torch.Tensor]:
    return dropped_in_training(student, fresh, functools.partial(head_with, student), dropout, texts=6, calls=2)


@rule("in training each weight is dropped independently, with probability `dropout`")
def test_each_weight_is_dropped_by_itself(student: Student, fresh: Fresh) -> None:
    """In training a fraction of about `dropout` of the weights should become zero, independently in each call."""
    p = 0.3
    weights, outputs = in_training(student, fresh, p)
    expect_each_weight_dropped_by_itself(outputs, (weights > 0).all(dim=0), p)


@rule("dropout comes after softmax: a weight becomes 0 for all features of its value, or is divided by 1 - dropout")
def test_dropping_comes_after_softmax(student: Student, fresh: Fresh) -> None:
    """In training each weight after softmax should become zero, for its whole value, or be divided by one - dropout."""
    # So large that the first tokens, which have few weights, often lose all of them. Not 0.5, where 1 - p equals p.
    p = 0.4
    weights, outputs = in_training(student, fresh, p)
    expect_dropping_after_softmax(weights, outputs, p)


@rule("gradients reach the inputs and the weights of the three layers, and the mask is not a parameter")
def test_gradients_of_the_head(student: Student, fresh: Fresh) -> None:
    """Gradients of the output should reach the inputs and all three layers, and the mask should not be a parameter."""
    inputs, matrices = fresh(B, T, N_EMBD), fresh_matrices(fresh, N_EMBD, HEAD_SIZE)
    head = head_with(student, matrices, T)
    names: dict[str, str] = {}
    for registered_name, value in head.parameters().items():
        expect_true(value.shape[-2:] != (T, T), "A parameter has the shape of the mask.")
        # Whatever a layer's registered name is, it has the weight that was set.
        names |= {name: registered_name for name, matrix in matrices.items() if torch.equal(value, matrix.mT)}
    _, found = expect_values(head.gradients(inputs), 2)
    expected = oracle_gradients(functools.partial(attended, student), [inputs], matrices)
    gradients = {name: found.get(names.get(name, name)) for name in matrices}
    by_matrix = {name: None if value is None else value.mT for name, value in gradients.items()}
    expect_gradients({"0": found.get("0"), **by_matrix}, expected)


MIXING = mixing_calls(head_with, attended, T, N_EMBD, HEAD_SIZE)

test_contract = contract(
    decisive_calls(head_with, attended, T),
    right_results(
        "output_of_the_head",
        "the output is, for each token, the sum of the values of itself and all tokens before it, weighted by the "
        "softmax of their scores",
        "The output should be one tensor, (B, T, head_size): for each token, the weighted sum of the visible values.",
        # Last, both widths are equal: if they differ, values that were not projected have the wrong shape.
        {"length": BLOCK}, {"length": BLOCK, "d_in": T, "d_out": T}, ask=MIXING),
    later_tokens_unseen(
        "no_output_depends_on_a_later_token", "no output depends on a later token",
        "If the last token changes, no earlier output should change; if the first one changes, the second should.",
        {"texts": 1}, ask=MIXING),
    # More texts than block_size, which limits only the tokens.
    right_results(
        "each_text_on_its_own", "each text of the batch is computed separately",
        "In a batch of several texts each text should be computed separately.",
        {"texts": B, "copies": T}, visible="alone"),
    right_results(
        "any_number_of_tokens_up_to_block_size", "any number of tokens up to block_size, including one",
        "A head should work for texts as long as block_size and for shorter ones, down to a single token.",
        *ANY_LENGTH),
    steady_results(
        "nothing_is_dropped_in_eval_mode", "in eval mode nothing is dropped",
        "In eval mode the output should be exact, for any dropout of the head.", {"texts": B, "dropout": 0.5}),
    steady_results(
        "nothing_is_dropped_without_dropout", "with dropout=0.0 nothing is dropped in training",
        "With a dropout of zero the output should be exact in training too.", {"texts": B, "is_training": True}),
    right_results(
        "the_head_in_float64", "works in float64 after .double()",
        "After .double() the head should take float64 inputs and give the correct output.", {"dtype": torch.float64}),
    kept_arguments(
        "the_head_leaves_the_inputs_alone", "the inputs are not changed",
        "The output should be correct, and the call should not change the inputs.", "The inputs were changed."),
    example=Example({"inputs": numbers(4, 3, 3)}, made={"n_embd": 3, "head_size": 5, "block_size": 3, "dropout": 0.0},
                    parameters={f"{name}.weight": numbers(5, 3, seed=seed) / 2
                                for seed, name in enumerate(LAYERS.values())}),
)  # fmt: skip


# -- misconceptions ------------------------------------------------------------------------------------------------

MASKED = "scores.masked_fill(self.future[:num_tokens, :num_tokens], -torch.inf)"
SOFTMAX = "torch.softmax(scores, dim=-1)"
NOT_DROPPED = replace(f"self.dropout({SOFTMAX})", SOFTMAX)

MISCONCEPTIONS = [
    mistake("scaled_by_n_embd", replace("head_size**0.5", "x.shape[-1] ** 0.5"),
        "The scores are divided by the root of n_embd. Queries and keys are head_size wide, and a dot product sums "
        "over these features: divide by √head_size."),
    mistake("half_instead_of_root", replace("head_size**0.5", "head_size * 0.5"),
        "Python evaluates `/` and `*` from left to right: `/ head_size * 0.5` divides by head_size and then "
        "multiplies by 0.5. A square root is a power, written with `**`."),
    mistake("scaling_forgotten", replace(" / head_size**0.5", ""),
        "The scores are not scaled. With wider queries and keys the dot products become larger. Divided by "
        "√head_size they keep a variance near 1, so that softmax does not give all the weight to one token."),
    mistake("multiplied_by_half_the_head_size", replace("/ head_size**0.5", "* head_size * 0.5"),
        "The scores are multiplied by half of head_size. Divide by its root: a root is a power, `**`, and dividing "
        "by it is the power -0.5."),
    mistake("divided_by_head_size_itself", replace("head_size**0.5", "head_size"),
        "The scores are divided by head_size itself. The typical size of a dot product is the root of its number of "
        "terms: divide by √head_size."),
    mistake("multiplied_by_the_root", replace("/ head_size", "* head_size"),
        "The scores are multiplied by the root of head_size. Wider heads have larger dot products, so make them "
        "smaller: `* head_size**-0.5`, with a minus, or divide."),
    mistake("scaled_after_softmax", replace(" / head_size**0.5", "").replace("dim=-1)", "dim=-1) / head_size**0.5"),
        "The weights are divided after the softmax. Then they no longer sum to one, and their ratios stay the same. "
        "Scale the scores, before softmax."),
    mistake("keys_reshaped", replace("keys.transpose(-2, -1)", "keys.reshape(len(keys), head_size, num_tokens)"),
        "`view` and `reshape` keep the order of the numbers and only cut the rows at other positions, so the keys "
        "are mixed up. `transpose` swaps two dimensions."),
    mistake("batch_turned_round_or_float_mask", replace("keys.transpose(-2, -1)", "keys.permute(2, 1, 0)"),
        "Every call ends in an error. Scores: swap the last two dimensions of the keys, and keep the batch first. "
        "Mask: it must be bool, and `~` inverts it. Values: the output is (B, T, head_size), not n_embd wide. "
        "Otherwise print the shapes in that line."),
    mistake("masked_scores_thrown_away", replace("scores = scores.masked", "scores.masked"),
        "The future is still visible. Either nothing hides it, or the result of the mask is not used: `masked_fill` "
        "without an underscore returns a new tensor. Use this tensor."),
    mistake("zeros_instead_of_minus_infinity", replace("-torch.inf", "0"),
        "The scores of the future are zero. Zero is a normal score: its exponential is one, so the future is still "
        "visible. Use minus infinity."),
    mistake("past_hidden", replace("triu(diagonal=1)", "tril(diagonal=-1)"),
        "The mask is inverted: the past is hidden and the future is visible. The future is to the right of the "
        "diagonal."),
    mistake("past_and_present_hidden", replace("triu(diagonal=1)", "tril()"),
        "The mask is inverted, and the diagonal is hidden too. A token sees itself and its past. The last token of a "
        "text of block_size tokens sees nothing here, so its weights are not numbers."),
    mistake("diagonal_hidden_too", replace("diagonal=1", "diagonal=0"),
        "The diagonal is hidden too. A token sees itself, and the first token sees nothing else: its row would be "
        "all minus infinity, and its weights not numbers."),
    mistake("next_token_seen", replace("diagonal=1", "diagonal=2"),
        "Each token still sees the next one: the mask begins one position too late. The next token is what the model "
        "should predict."),
    mistake("masked_after_softmax", replace(MASKED, "scores").replace("dim=-1)", "dim=-1).tril()"),
        "The future is set to zero after the softmax, so it is still in the sum inside softmax, and the weights of "
        "the past do not sum to one. Hide it before."),
    mistake("zero_times_infinity_in_head",
        replace(MASKED, "scores + self.future[:num_tokens, :num_tokens] * -torch.inf"),
        "All outputs are NaN: a mask of zeros and ones was multiplied by infinity, and zero times infinity is NaN, "
        "or the mask hides everything. Fill only the future's entries: `masked_fill`, or `torch.where`."),
    mistake("mask_not_cut", replace("[:num_tokens, :num_tokens]", ""),
        "Only texts of exactly block_size tokens work. That is the longest text allowed. Read T, the number of "
        "tokens, from the inputs, and use the upper left corner of the mask, `self.mask[:T, :T]`."),
    mistake("mask_as_a_parameter",
        replace('self.register_buffer("future", future, persistent=False)',
                "self.future = nn.Parameter(future.float())")
        .replace("[:num_tokens, :num_tokens]", "[:num_tokens, :num_tokens].bool()"),
        "The mask is an nn.Parameter, so an optimiser would change it. It should not learn: store it with "
        "`register_buffer`, or make it in `forward`."),
    mistake("zero_scores_hidden_in_head", replace(MASKED, "scores.tril().masked_fill(scores.tril() == 0, -torch.inf)"),
        ZEROS_HIDDEN),
    mistake("minus_ten_thousand_in_head", replace("-torch.inf", "-1e4"),
        "The future is hidden by a number such as -10,000. Other scores may be as low, and then the future has "
        "weight. Minus infinity, or a number as low as -1e9, is below all scores."),
    mistake("past_averaged", replace("head_size**0.5", "head_size**0.5 * 0"),
        "The past is averaged: all visible tokens have the same weight, whatever queries and keys are. That was the "
        "running mean; here the dot products decide."),
    mistake("softmax_over_the_queries", replace("dim=-1", "dim=1"),
        "Softmax runs over the queries. The weights of each query should sum to one over the keys: dim=-1."),
    mistake("softmax_over_the_queries_scaled_by_n_embd",
        replace("dim=-1", "dim=1").replace("head_size**0.5", "x.shape[-1] ** 0.5"),
        "Softmax runs over the queries, and the scores are divided by √n_embd. The weights of each query should sum "
        "to one over the keys, dim=-1, and the width of queries and keys is head_size. Such a softmax shows each "
        "token its future, whatever the mask is."),
    mistake("softmax_taken_twice_in_head", replace(SOFTMAX, f"torch.softmax({SOFTMAX}, dim=-1)"),
        "Softmax is applied twice. The second one gets weights, and the zeros of the future among them: the "
        "exponential of zero is one, so the future is visible again."),
    mistake("softmax_forgotten_in_head", replace(SOFTMAX, "scores"),
        "The masked scores are used as weights directly, and minus infinity makes every sum infinite. Apply softmax "
        "first: it makes them positive, and zero for the future."),
    mistake("one_text_without_a_batch", replace("queries, keys", "num_tokens, n_embd = x.shape\n        queries, keys"),
        "The code expects inputs without a batch, or with one dimension more. The inputs are (B, T, n_embd), and the "
        "number of tokens is the second dimension."),
    mistake("dropout_never_applied", NOT_DROPPED,
        "In training every output is as it is in eval mode: nothing is dropped. Pass the weights, after softmax, "
        "through the dropout, and use its result."),
    mistake("dropout_in_eval_mode_too", replace("self.dropout(torch", "nn.Dropout(self.dropout.p)(torch"),
        "Weights are dropped in eval mode too. `F.dropout` does not know the mode: pass `training=self.training`. An "
        "nn.Dropout made in `forward` is always in training: make it in `__init__`."),
    mistake("always_half_dropped_in_eval_mode_too", replace("self.dropout(", "nn.functional.dropout("),
        "Half of the weights are dropped, in eval mode too: `F.dropout` knows neither `dropout` nor the mode. Pass "
        "both on, or use the nn.Dropout made in `__init__`."),
    mistake("always_half_dropped", replace("nn.Dropout(dropout)", "nn.Dropout(0.5)"),
        "A fixed fraction of the weights is dropped and `dropout` is ignored: it is the default of PyTorch, or a "
        "number of the notebook. Pass the argument on."),
    mistake("dropout_taken_for_keeping", replace("nn.Dropout(dropout)", "nn.Dropout(1 - dropout)"),
        "The code uses `dropout` as the probability of keeping a weight. In nn.Dropout, and in this course, it is "
        "the probability of dropping one."),
    mistake("dropout_before_softmax", NOT_DROPPED.replace("(scores, dim", "(self.dropout(scores), dim"),
        "Dropout acts on the scores, before softmax. A score of zero does not give a weight of zero, and minus "
        "infinity times zero is NaN. Drop the weights, after softmax."),
    mistake("dropout_on_the_outputs", NOT_DROPPED.replace("weights @ values", "self.dropout(weights @ values)"),
        "Dropout acts on the outputs. A transformer does that too, later. But in a head the weights are dropped, "
        "before they are multiplied with the values."),
    mistake("dropout_on_weights_and_outputs", replace("weights @ values", "self.dropout(weights @ values)"),
        "Dropout acts twice, on the weights and again on the values or the outputs. In a head only the weights are "
        "dropped."),
    mistake("rows_renormalized_after_dropout",
        replace("weights @ values", "weights / weights.sum(-1, keepdim=True) @ values"),
        "After dropout the rows are divided by their sum again. They should sum to one only on average: divide the "
        "kept weights by 1 - dropout, and do nothing else."),
    mistake("survivors_not_scaled",
        replace("weights @ values", "weights * (1 - self.dropout.p * self.training) @ values"),
        "Weights are dropped, but the kept weights are not scaled. Divide them by 1 - dropout, so that the average "
        "stays the same."),
    mistake("texts_dropped_alike",
        NOT_DROPPED.replace("return weights", "return weights * self.dropout(torch.ones_like(weights[:1]))"),
        "All texts of a batch have the same weights dropped: the draws have the shape (T, T). Draw for (B, T, T)."),
    mistake("bias_in_every_layer", replace(", bias=False", "", times=3),
        "The layers have a bias, which is the default of nn.Linear. A head has none: `bias=False`."),
    mistake("layers_of_other_names",
        replace("self.key", "self.W_key", times=2).replace("self.query", "self.W_query", times=2)
        .replace("self.value", "self.W_value", times=2),
        "query, key and value are not found: the layers have other names, one layer does the work of all three, or "
        "`super().__init__()` was not called first. Code that loads weights uses these names."),
    mistake("layers_the_other_way_round", replace("Linear(n_embd, head_size", "Linear(head_size, n_embd", times=3),
        "The arguments of nn.Linear are the input width first and the output width second: nn.Linear(n_embd, "
        "head_size)."),
    mistake("other_arguments_in_head",
        replace("n_embd: int, head_size: int, block_size: int, dropout: float", "head_size: int"),
        "The head cannot be made, because a call got other arguments than it takes. Head takes n_embd, head_size, "
        "block_size and dropout, none of them a global of a notebook: keep the arguments of the stub."),
    mistake("one_layer_in_use", replace("self.key(x), self.value(x)", "self.query(x), self.query(x)"),
        "One layer is used in all three roles, and the other two are never used. Query, key and value are learned "
        "separately."),
    mistake("keys_ask_the_queries", replace("self.query(x), self.key(x)", "self.key(x), self.query(x)"),
        "Queries and keys are swapped. Row i of the scores belongs to query i and contains its dot products with "
        "every key."),
    mistake("key_layer_unused", replace("self.key(x)", "self.query(x)"),
        "key is made but never used: queries are compared with queries. Compare each query with the keys, key(x)."),
    mistake("query_layer_unused", replace("self.query(x), self.key(x)", "self.key(x), self.key(x)"),
        "query is made but never used: keys are compared with keys. Compare each query, query(x), with the keys."),
    mistake("keys_and_values_exchanged", replace("self.key(x), self.value(x)", "self.value(x), self.key(x)"),
        "Keys and values are swapped: queries are compared with the values, and the weights mix the keys."),
    mistake("keys_handed_over", replace("self.value(x)", "self.key(x)"),
        "The weights mix the keys. Keys are only compared with queries. The weights should mix the values."),
    mistake("value_layer_unused", replace("self.value(x)", "x"),
        "value is made but never used: the weights mix the inputs themselves. Mix the values, value(x)."),
    mistake("gradients_switched_off", replace("weights @ values", "(weights @ values).detach()"),
        "No gradient flows through: does `.detach()`, `.data` or `torch.no_grad()` cut off the outputs, or the "
        "outputs of the layers? So nothing below them can learn."),
    mistake("inputs_made_float32", replace("queries, keys", "x = x.float()\n        queries, keys"),
        "The inputs or a tensor of your own are made float32 and do not match float64. Keep the dtype of the inputs, "
        "and make your own tensors like them."),
    mistake("inputs_changed_in_place",
        replace("return weights", "x -= x.mean(dim=-1, keepdim=True)\n        return weights"),
        "The caller's inputs were changed. Other code may still need them: write `x = x - …` instead of `x -= …`."),
]  # fmt: skip


# -- probes --------------------------------------------------------------------------------------------------------

NAMES = ("key", "query", "value")


@probe()
def contexts_of_the_past(unit: Any, draw: Draw) -> Iterator[Property]:
    n_embd, head_size, num_tokens = draw.sizes(3)
    dropout = draw.pick(0.0, 0.5)
    module = unit.Head(n_embd, head_size, num_tokens + draw.pick(0, 0, 1, 5), dropout)
    yield from layers(module, NAMES)
    module.to(draw.dtype).train(dropout == 0 and draw.chance(0.5))
    parameters = set_drawn_layers(draw, module, NAMES)
    yield from call(module, draw.normal(draw.size(1, 3), num_tokens, n_embd), parameters=parameters)


@probe(draws=5)
def no_mask_among_the_parameters(unit: Any, draw: Draw) -> Iterator[Property]:
    block_size = 20 + draw.number
    yield from parameters_of_length(unit.Head(draw.size(), draw.size(), block_size, 0.0), block_size)


@probe(draws=5)
def later_tokens_beside_low_scores(unit: Any, draw: Draw) -> Iterator[Property]:
    num_tokens = draw.number + 2
    module = unit.Head(num_tokens, num_tokens, num_tokens, 0.0)
    yield from causal_at_low_scores(module, NAMES, num_tokens)


@probe(draws=4)
def weights_dropped_in_training(unit: Any, draw: Draw) -> Iterator[Property]:
    num_tokens, dropout = 3, PROBABILITIES[draw.number]
    module = unit.Head(num_tokens, 2 * num_tokens, draw.pick(3, 5), dropout)
    set_drawn_layers(draw, module.to(draw.dtype), NAMES)
    set_to(module.value.weight, unit_values(num_tokens))
    yield from dropped_weights(module, one_hot_texts(1000, num_tokens).to(draw.dtype), dropout)


# -- answers -------------------------------------------------------------------------------------------------------


def wrong_answers():
    """Mistakes without a name, and answers with two. Never run here: the audit reads them."""

    import torch.nn as nn
    import torch.nn.functional as F

    class _RightHead(nn.Module):
        def __init__(self, n_embd, head_size, block_size, dropout):
            super().__init__()
            self.key = nn.Linear(n_embd, head_size, bias=False)
            self.query = nn.Linear(n_embd, head_size, bias=False)
            self.value = nn.Linear(n_embd, head_size, bias=False)
            self.register_buffer("tril", torch.tril(torch.ones(block_size, block_size)))
            self.dropout = nn.Dropout(dropout)

        def weights(self, x):
            T = x.shape[1]
            k, q = self.key(x), self.query(x)
            wei = q @ k.transpose(-2, -1) * k.shape[-1] ** -0.5
            wei = wei.masked_fill(self.tril[:T, :T] == 0, float("-inf"))
            return F.softmax(wei, dim=-1)

        def forward(self, x):
            return self.dropout(self.weights(x)) @ self.value(x)

    class cosine_scores(_RightHead):
        def weights(self, x):
            T = x.shape[1]
            wei = F.normalize(self.query(x), dim=-1) @ F.normalize(self.key(x), dim=-1).mT
            return F.softmax(wei.masked_fill(self.tril[:T, :T] == 0, float("-inf")), dim=-1)

    class values_are_queries(_RightHead):
        def forward(self, x):
            return self.dropout(self.weights(x)) @ self.query(x)

    class weights_turned(_RightHead):
        def forward(self, x):
            return self.dropout(self.weights(x)).mT @ self.value(x)

    class bias_in_keys_and_values(_RightHead):
        def __init__(self, n_embd, head_size, *others):
            super().__init__(n_embd, head_size, *others)
            self.key, self.value = nn.Linear(n_embd, head_size), nn.Linear(n_embd, head_size)

    class longer_texts_cut(_RightHead):
        def forward(self, x):
            return super().forward(x[:, :4])

    class mean_of_the_tokens(_RightHead):
        def forward(self, x):
            return super().forward(x).mean(1)

    class dropout_taken_for_keeping__bernoulli(_RightHead):
        def forward(self, x):
            wei, p = self.weights(x), self.dropout.p
            if self.training:
                wei = wei * torch.bernoulli(torch.full_like(wei, p)) / p if p > 0 else wei * 0
            return wei @ self.value(x)

    class other_arguments_in_head__two_sizes(_RightHead):
        def __init__(self, n_embd, head_size):
            super().__init__(n_embd, head_size, 8, 0.0)


def right_answers():
    """Answers in other styles. Never run here: the audit reads them."""

    import math

    import torch.nn as nn
    import torch.nn.functional as F
    from causal_attention import CausalAttention, attention_dropout
    from multi_head_attention import head_scores, head_weights

    class _ThreeLayers(nn.Module):
        def __init__(self, n_embd, head_size, block_size, dropout):
            super().__init__()
            self.value = nn.Linear(n_embd, head_size, bias=False)
            self.query = nn.Linear(n_embd, head_size, bias=False)
            self.key = nn.Linear(n_embd, head_size, bias=False)
            self.block_size, self.p = block_size, dropout

    class by_hand(_ThreeLayers):
        def forward(self, x):
            assert x.shape[1] <= self.block_size
            outputs = []
            for text in x:
                for i, token in enumerate(text):
                    query = self.query(token)
                    scores = [torch.dot(query, self.key(text[j])) for j in range(i + 1)]
                    weights = torch.softmax(torch.stack(scores) / math.sqrt(len(query)), dim=0)
                    if self.training and self.p > 0:
                        weights = weights * (torch.rand(i + 1) >= self.p) / (1 - self.p)
                    outputs.append(sum(weights[j] * self.value(text[j]) for j in range(i + 1)))
            return torch.stack(outputs).view(*x.shape[:2], -1)

    class heads_of_unit_four(_ThreeLayers):
        def forward(self, x):
            # As one head of unit 4: (B, T, head_size) -> (B, 1, T, head_size)
            queries, keys, values = (layer(x).unsqueeze(1) for layer in (self.query, self.key, self.value))
            weights = head_weights(head_scores(queries, keys), queries.shape[-1])
            if self.training:
                weights = attention_dropout(weights, self.p)
            return (weights @ values).squeeze(1)  # (B, 1, T, head_size) -> (B, T, head_size)

    class index_notation(nn.Module):
        def __init__(self, n_embd: int, head_size: int, block_size: int, dropout: float) -> None:
            super().__init__()
            self.head_size = head_size
            self.key, self.query, self.value = (nn.Linear(n_embd, head_size, bias=False) for _ in range(3))
            self.register_buffer("bias", torch.full((1, block_size, block_size), -1e9).triu(1))
            self.drop = nn.Dropout(dropout)
            self.unused = nn.Linear(2, 2)

        def forward(self, x):
            T = x.size(1)
            scores = torch.einsum("btd,bsd->bts", self.query(x), self.key(x)) / math.sqrt(self.head_size)
            self.last_weights = torch.softmax(scores + self.bias[:, :T, :T], dim=2)
            return torch.einsum("bts,bsd->btd", self.drop(self.last_weights), self.value(x))

    class one_on_another(nn.Module):
        def __init__(self, n_embd, head_size, block_size, dropout):
            super().__init__()
            self.attention = CausalAttention(n_embd, head_size, block_size, dropout)
            self.key = self.attention.W_key
            self.query = self.attention.W_query
            self.value = self.attention.W_value

        def forward(self, x):
            return self.attention(x)

    class ready_made(nn.Module):
        def __init__(self, n_embd, head_size, block_size, dropout):
            super().__init__()
            for name in ("key", "query", "value"):
                self.add_module(name, nn.Linear(n_embd, head_size, bias=False))
            self.dropout = dropout

        def forward(self, x):
            weight = torch.cat([self.query.weight, self.key.weight, self.value.weight])  # (3 · head_size, n_embd)
            queries, keys, values = F.linear(x, weight).chunk(3, dim=-1)
            p = self.dropout if self.training else 0.0
            return F.scaled_dot_product_attention(queries, keys, values, dropout_p=p, is_causal=True)
