"""CausalAttention: hidden tests, known mistakes and right answers."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator
from typing import Any

import torch

from grader.suites.attention_mistakes import (
    HALF,
    ONLY_FUTURE_SEEN,
    SCALED_LATE,
    SOFTMAX_TWICE,
    SUMS_IN_A_ROW,
    TEN_THOUSAND,
    ZEROS_HIDDEN,
)
from grader.suites.attention_probes import (
    causal_at_low_scores,
    dropped_weights,
    one_hot_texts,
    parameters_of_length,
    unit_values,
)
from grader.suites.causal import (
    ANY_LENGTH,
    D_OUT,
    LONG,
    LOW_SCORES,
    Matrices,
    Parts,
    causal_scores,
    decisive_calls,
    decisive_tokens,
    dropped_in_training,
    expect_dropping_after_softmax,
    expect_each_weight_dropped_by_itself,
    expect_hidden,
    fresh_matrices,
    mixing_calls,
    weights_as_outputs,
)
from grader.suites.causal_attention.shared import (
    D_IN,
    LONGER,
    MASKED_LATE,
    NEXT_SEEN,
    NO_ROOT,
    SELF_HIDDEN,
    SELF_LOWERED,
    THROWN_AWAY,
    UNSCALED,
    UPSIDE_DOWN,
    WRONG_DIM,
    ZEROS,
    B,
    T,
    expect_scores_behind,
)
from grader.testing.behaviour import later_tokens_unseen, steady_results
from grader.testing.checks import (
    as_layers,
    expect_close,
    expect_gradients,
    expect_layer,
    expect_no_bias,
    expect_tensor,
    expect_true,
    expect_values,
    oracle_gradients,
    set_layers,
)
from grader.testing.draws import Fresh, numbers
from grader.testing.misconceptions import mistake, replace
from grader.testing.probes import PROBABILITIES, Draw, Property, call, layers, probe, set_drawn_layers, set_to
from grader.testing.student import RemoteObject, Student
from grader.testing.suite import Example, contract, kept_arguments, right_results, rule

MATRICES = ("W_query", "W_key", "W_value")
BIASES = [f"{name}.bias" for name in MATRICES]


def causal_attention(
    student: Student, inputs: torch.Tensor, W_query: torch.Tensor, W_key: torch.Tensor, W_value: torch.Tensor
) -> torch.Tensor:
    """(B, T, d_in) and three (d_in, d_out) to (B, T, d_out)."""
    weights = Parts(student).attention_weights(causal_scores(inputs, W_query, W_key), W_query.shape[-1])
    return torch.einsum("bqk,bki,io->bqo", weights, inputs.double(), W_value.double())


def in_eval_mode(student: Student, matrices: Matrices, context_length: int, dropout: float = 0.0) -> RemoteObject:
    """Return a CausalAttention with these matrices in eval mode, since most tests are not about training."""
    attention = student.queue("CausalAttention", *matrices["W_query"].shape, context_length, dropout)
    if matrices["W_query"].dtype == torch.float64:
        attention.to(torch.float64)
    set_layers(attention, as_layers(matrices))
    attention.eval()
    return attention


@rule("W_query, W_key and W_value are nn.Linear from d_in to d_out")
def test_three_layers_from_d_in_to_d_out(student: Student) -> None:
    """W_query, W_key and W_value should each be an nn.Linear from d_in to d_out."""
    parameters = student.queue("CausalAttention", D_IN, D_OUT, T, 0.0).parameters()
    for name in MATRICES:
        expect_true(name not in parameters, f"{name} is an nn.Parameter, not a layer.")
        expect_layer(parameters, name, D_IN, D_OUT)


@rule("the layers have no bias unless qkv_bias=True; then each layer adds its own bias")
def test_no_layer_has_a_bias_by_default(student: Student) -> None:
    """W_query, W_key and W_value should have no bias if the caller does not ask for one."""
    expect_no_bias(student.queue("CausalAttention", D_IN, D_OUT, T, 0.0).parameters(), MATRICES)


@rule("the layers have no bias unless qkv_bias=True; then each layer adds its own bias")
def test_every_layer_has_a_bias_on_demand(student: Student) -> None:
    """With qkv_bias=True, W_query, W_key and W_value should each have a bias of d_out numbers."""
    parameters = student.queue("CausalAttention", D_IN, D_OUT, T, 0.0, qkv_bias=True).parameters()
    for name in BIASES:
        expect_true(name in parameters, f"There is no parameter {name}.")
        expect_tensor(parameters[name], (D_OUT,))


@rule("the layers have no bias unless qkv_bias=True; then each layer adds its own bias")
def test_the_biases_count(student: Student, fresh: Fresh) -> None:
    """With qkv_bias=True, each layer should add its bias: x @ W.T + b."""
    attention, inputs = student.queue("CausalAttention", D_IN, D_OUT, T, 0.0, qkv_bias=True), fresh(B, T, D_IN)
    matrices, biases = fresh_matrices(fresh, D_IN, D_OUT), {name: fresh(D_OUT) for name in BIASES}
    set_layers(attention, as_layers(matrices))
    attention.set(biases)
    attention.eval()
    # A column of ones with the bias as its weights is the same as adding the bias.
    widened = [torch.cat([matrix, b[None]]) for matrix, b in zip(matrices.values(), biases.values(), strict=True)]
    output = attention(inputs)
    with_ones = torch.cat([inputs, torch.ones(B, T, 1)], -1)
    expect_close(output, causal_attention(student, with_ones, *widened), "The outputs")


@rule("scores are the dot products of the queries with the keys, divided by the square root of d_out")
def test_scores_are_divided_by_the_square_root_of_d_out(student: Student, fresh: Fresh) -> None:
    """A token's scores for itself and the past should be dot products divided by the square root of d_out."""
    texts = torch.arange(B * T).view(B, T)
    batch = weights_as_outputs(fresh, texts, B * T + 2)
    batch.matrices["W_key"][texts[0, 1]] = 0.0  # its scores are zero: a mask that is found by its zeros hides them too
    outputs = in_eval_mode(student, batch.matrices, T)(batch.inputs(texts))
    weights = expect_tensor(outputs, (B, T, 2 * T + 1))[..., :T]
    expect_scores_behind(weights, batch.expected(student, texts))


@rule(LOW_SCORES)
def test_later_tokens_have_no_weight_beside_very_low_scores(student: Student, fresh: Fresh) -> None:
    """If all visible scores are very low, later tokens should still have no weight."""
    for is_low, expect in ((False, expect_close), (True, expect_hidden)):
        inputs, matrices = decisive_tokens(fresh, 1, T, is_low=is_low)
        expect(in_eval_mode(student, matrices, T)(inputs), causal_attention(student, inputs, **matrices))


def in_training(student: Student, fresh: Fresh, dropout: float) -> tuple[torch.Tensor, torch.Tensor]:
    return dropped_in_training(student, fresh, functools.partial(in_eval_mode, student), dropout, texts=B, calls=6)


@rule("in training each weight is dropped independently, with probability `dropout`")
def test_each_weight_is_dropped_by_itself_in_training(student: Student, fresh: Fresh) -> None:
    """In training a fraction of about `dropout` of the weights should become zero, independently in each call."""
    p = 0.3
    weights, outputs = in_training(student, fresh, p)
    seen = Parts(student).mask(LONG).logical_not() & (weights > 0).all(dim=0)  # (T, T)
    expect_each_weight_dropped_by_itself(outputs, seen, p)


@rule("dropout comes after softmax: a weight becomes 0 for all features of its value, or is divided by 1 - dropout")
def test_dropout_acts_on_the_weights_after_softmax(student: Student, fresh: Fresh) -> None:
    """In training each weight after softmax should become zero, for its whole value, or be divided by one - dropout."""
    # So large that the first tokens, which see few others, often lose all weights. Not 0.5, where p equals 1 - p.
    p = 0.4
    weights, outputs = in_training(student, fresh, p)
    expect_dropping_after_softmax(weights, outputs, p)


@rule("gradients reach the inputs and the weights of the three layers, and the mask is not a parameter")
def test_gradients_of_causal_attention(student: Student, fresh: Fresh) -> None:
    """Gradients of the output should reach the inputs and all three layers, and the mask should not be a parameter."""
    inputs, matrices = fresh(B, T, D_IN), fresh_matrices(fresh, D_IN, D_OUT)
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


MIXING = mixing_calls(in_eval_mode, causal_attention, T, D_IN)

test_contract = contract(
    decisive_calls(in_eval_mode, causal_attention, T),
    right_results(
        "output_of_causal_attention",
        "the output is, for each token, the sum of the values of itself and all tokens before it, weighted by the "
        "softmax of their scores",
        "The output should be only the contexts, (B, T, d_out): causal attention of the three layers' outputs.",
        # In the second case both widths are equal: if they differ, values without a projection have the wrong shape.
        {"length": LONGER}, {"length": LONGER, "d_in": T, "d_out": T}, ask=MIXING),
    later_tokens_unseen(
        "no_output_depends_on_a_later_token", "no output depends on a later token",
        "If the last token changes, no earlier output should change; if the first one changes, the second should.",
        {"texts": 1}, ask=MIXING),
    # More texts than context_length, which does not limit the batch.
    right_results(
        "each_text_of_the_batch_on_its_own", "each text of the batch is computed separately",
        "In a batch of several texts each text should be computed separately.",
        {"texts": B, "copies": T}, visible="alone"),
    right_results(
        "any_number_of_tokens_up_to_context_length", "any number of tokens up to context_length, including one",
        "The module should work for texts as long as context_length and for shorter ones, down to a single token.",
        *ANY_LENGTH),
    right_results(
        "inputs_with_another_memory_layout",
        "the inputs may be non-contiguous, for example the result of a transpose",
        "The output should be correct if the inputs are non-contiguous, for example the result of a transpose.",
        {"texts": B, "is_view": True}, visible="layout"),
    steady_results(
        "nothing_is_dropped_in_eval_mode", "in eval mode nothing is dropped",
        "In eval mode the output should be exact, for any dropout of the module.",
        {"count": D_OUT, "length": D_OUT, "dropout": 0.5}),
    steady_results(
        "nothing_is_dropped_without_dropout", "with dropout=0.0 nothing is dropped in training",
        "With a dropout of zero the output should be exact in training too.",
        {"count": D_OUT, "length": D_OUT, "is_training": True}),
    right_results(
        "causal_attention_in_float64", "works in float64 after .double()",
        "After .double() the module should take float64 inputs and give the correct output.", {"dtype": torch.float64}),
    kept_arguments(
        "causal_attention_leaves_the_inputs_alone", "the inputs are not changed",
        "The output should be correct, and the call should not change the inputs.", "The inputs were changed."),
    example=Example({"inputs": numbers(5, 4, 5)}, made={"d_in": 5, "d_out": 6, "context_length": 4, "dropout": 0.0},
                    parameters={f"{name}.weight": numbers(6, 5, seed=seed) / 4 for seed, name in enumerate(MATRICES)}),
)  # fmt: skip
MASKED_SOFTMAX_IN_MODULE = "torch.softmax(masked / d_out**0.5, dim=-1)"


# -- misconceptions ------------------------------------------------------------------------------------------------


MISCONCEPTIONS = [
    mistake("half_instead_of_root_in_module", replace("**0.5", " * 0.5"), HALF),
    mistake("scaling_forgotten_in_module", replace(" / d_out**0.5", ""), UNSCALED),
    mistake("divided_by_width_itself_in_module", replace("**0.5", ""), NO_ROOT),
    mistake("scaled_by_d_in", replace("d_out**0.5", "self.W_query.in_features**0.5"),
        "The scores are divided by √d_in. The dot products are between projected tokens, and their width is d_out."),
    mistake("scaled_after_softmax_in_module", replace("masked / d_out**0.5, dim=-1)", "masked, dim=-1) / d_out**0.5"),
        SCALED_LATE),
    mistake("batch_turned_round_or_float_mask",
        replace("causal_mask(context_length)", "causal_mask(context_length).float()"),
        "Every call ends in an error. In `queries @ keys.T`, `.T` also moves the batch: use `keys.transpose(-2, "
        "-1)`. `masked_fill` does not take a float mask: use `.bool()`. Otherwise print the shapes and dtypes of the "
        "two tensors in that line."),
    mistake("keys_reshaped", replace("transpose(-2, -1)", "reshape(len(keys), keys.shape[2], keys.shape[1])"),
        "`view` and `reshape` keep the order of the numbers and only cut the rows at other positions, so the keys "
        "are mixed up. `transpose` swaps two dimensions."),
    mistake("masked_scores_thrown_away_in_module", replace("masked = ", "masked = scores\n        "), THROWN_AWAY),
    mistake("zeros_instead_of_minus_infinity_in_module", replace(", -torch.inf)", ", 0)"), ZEROS),
    mistake("zero_scores_hidden_in_module",
        replace("scores.masked_fill(self.mask[:num_tokens, :num_tokens]",
                "scores.tril().masked_fill(scores.tril() == 0"), ZEROS_HIDDEN),
    mistake("minus_ten_thousand_in_module", replace(", -torch.inf)", ", -1e4)"), TEN_THOUSAND),
    mistake("past_hidden_in_module", replace(", -torch.inf)", ".T, -torch.inf)"), UPSIDE_DOWN),
    mistake("diagonal_hidden_too_in_module",
        replace("self.mask[:num_tokens, :num_tokens]", "torch.ones_like(scores).triu().bool()"), SELF_HIDDEN),
    mistake("next_token_seen_in_module",
        replace("self.mask[:num_tokens, :num_tokens]", "torch.ones_like(scores).triu(2).bool()"), NEXT_SEEN),
    mistake("masked_after_softmax_in_module",
        replace("masked / d_out**0.5, dim=-1)", "scores / d_out**0.5, dim=-1).tril()"), MASKED_LATE),
    mistake("zero_times_infinity_in_module", replace(".masked_fill(", " + ").replace(", -torch.inf)", " * -torch.inf"),
        "All outputs are NaN: a mask of zeros and ones was multiplied by infinity, and zero times infinity is NaN, "
        "or the mask hides everything. Fill only the future's entries: `masked_fill`, or `torch.where`."),
    mistake("mask_not_cut", replace("[:num_tokens, :num_tokens]", ""),
        "Only texts of exactly context_length tokens work. That is the longest text allowed. Read T, the number of "
        "tokens, from the inputs, and use the upper left corner of the mask, of shape (T, T)."),
    mistake("mask_as_a_parameter",
        replace('self.register_buffer("mask", causal_mask(context_length), persistent=False)',
                "self.mask = nn.Parameter(causal_mask(context_length).float())")
        .replace(":num_tokens],", ":num_tokens].bool(),"),
        "The mask is an nn.Parameter, so an optimiser would change it. It should not learn: store it with "
        "`register_buffer`, or make it in `forward`."),
    mistake("diagonal_lowered_in_module",
        replace("self.mask[:num_tokens, :num_tokens], -torch.inf", "torch.ones_like(scores).triu().bool(), -1e9"),
        SELF_LOWERED),
    mistake("only_the_future_seen_in_module", replace("self.mask[", "~self.mask["), ONLY_FUTURE_SEEN),
    mistake("only_the_future_seen_beside_low_numbers_in_module",
        replace("self.mask[", "~self.mask[").replace(", -torch.inf)", ", -1e9)"), ONLY_FUTURE_SEEN),
    mistake("weights_masked_with_minus_infinity_in_module",
        replace("scores.masked_fill", "torch.softmax(scores / d_out**0.5, dim=-1).masked_fill")
        .replace(MASKED_SOFTMAX_IN_MODULE, "masked"),
        "The mask came after softmax, so the weights of the future are minus infinity. Mask the scores, and then "
        "apply softmax, which makes zeros of minus infinity."),
    mistake("softmax_over_queries_in_module", replace("dim=-1", "dim=1"), WRONG_DIM),
    mistake("softmax_forgotten_in_module", replace("torch.softmax(masked / d_out**0.5, dim=-1)", "masked / d_out**0.5"),
        "The masked scores are used as weights directly, and minus infinity makes every sum infinite. Apply softmax "
        "first: it makes them positive, and zero for the future."),
    mistake("softmax_twice_in_module", replace(MASKED_SOFTMAX_IN_MODULE, f"{MASKED_SOFTMAX_IN_MODULE}.softmax(-1)"),
        SOFTMAX_TWICE),
    mistake("sums_without_keepdim_in_module",
        replace(MASKED_SOFTMAX_IN_MODULE,
                "torch.exp(masked / d_out**0.5) / torch.exp(masked / d_out**0.5).sum(dim=-1)"), SUMS_IN_A_ROW),
    mistake("one_text_without_a_batch", replace("shape[-2:]", "shape"),
        "The code expects inputs without a batch, or with one dimension more. The inputs are (B, T, d_in), and the "
        "number of tokens is the second dimension."),
    mistake("view_of_the_inputs",
        replace("W_query(inputs)", "W_query(inputs.view(-1, inputs.shape[-1])).view(*inputs.shape[:2], -1)"),
        "`view` fails for a non-contiguous tensor, for example the result of a transpose. `reshape` copies if "
        "necessary. Even better: nn.Linear works with any leading dimensions."),
    mistake("dropout_never_applied", replace("self.dropout(", "("),
        "In training every output is as it is in eval mode: nothing is dropped. Pass the weights, after softmax, "
        "through the dropout, and use its result."),
    mistake("dropout_in_eval_mode_too", replace("self.dropout(", "nn.Dropout(self.dropout.p)("),
        "Weights are dropped in eval mode too. `F.dropout` does not know the mode: pass `training=self.training`. An "
        "nn.Dropout made in `forward` is always in training: make it in `__init__`."),
    mistake("always_half_dropped_in_eval_mode_too", replace("self.dropout(", "nn.functional.dropout("),
        "Half of the weights are dropped, in eval mode too: `F.dropout` knows neither `dropout` nor the mode. Pass "
        "both on, or use the nn.Dropout made in `__init__`."),
    mistake("always_half_dropped", replace("nn.Dropout(dropout)", "nn.Dropout()"),
        "Half of the weights are dropped and `dropout` is ignored: 0.5 is the default of PyTorch. Pass `dropout` on."),
    mistake("dropout_before_softmax",
        replace("self.dropout(", "(").replace("masked / d_out**0.5", "self.dropout(masked / d_out**0.5)"),
        "Dropout acts on the scores, before softmax. A score of zero does not give a weight of zero, and minus "
        "infinity times zero is NaN. Drop the weights, after softmax."),
    mistake("dropout_before_the_mask", replace("self.dropout(", "(").replace("= scores.", "= self.dropout(scores)."),
        "In training the weights change, but none becomes zero: dropout acts before the softmax, on the scores or on "
        "queries or keys. A score of zero does not give a weight of zero. Drop the weights, after softmax."),
    mistake("dropout_on_the_outputs",
        replace("self.dropout(", "(").replace("weights @ values", "self.dropout(weights @ values)"),
        "Dropout acts on the outputs. A transformer does that too, later. But here the weights are dropped, before "
        "they are multiplied with the values."),
    mistake("survivors_scaled_again_in_both_modes",
        replace("weights @ values", "weights / (1 - self.dropout.p) @ values"),
        "The weights are divided by 1 - dropout once more, in eval mode too. nn.Dropout already does it, and only in "
        "training. Use its result without any change."),
    mistake("rows_renormalized_after_dropout",
        replace("weights @ values", "weights / weights.sum(-1, keepdim=True) @ values"),
        "After dropout the rows are divided by their sum again. They should sum to one only on average: divide the "
        "kept weights by 1 - dropout, and do nothing else."),
    mistake("survivors_not_scaled_in_module",
        replace("weights @ values", "weights * (1 - self.dropout.p if self.training else 1) @ values"),
        "Weights are dropped, but the kept weights are not scaled. Divide them by 1 - dropout, so that the average "
        "stays the same."),
    mistake("matrices_instead_of_layers",
        replace("nn.Linear(d_in, d_out, bias=qkv_bias)", "nn.Parameter(torch.rand(d_in, d_out))", 3)
        .replace("= self.W_", "= inputs @ self.W_", 3).replace("(inputs)", "", 3),
        "The three are matrices made by hand, as in the first version of self-attention. Here each should be an "
        "nn.Linear, which has its own weight."),
    mistake("layers_the_other_way_round", replace("nn.Linear(d_in, d_out, ", "nn.Linear(d_out, d_in, ", 3),
        "The arguments of nn.Linear are the input width first and the output width second: nn.Linear(d_in, d_out)."),
    mistake("layers_under_other_names",
        replace("W_query", "W_q", 2).replace("W_key", "W_k", 2).replace("W_value", "W_v", 2),
        "The new module has no layers W_query, W_key and W_value. They may have other names, be in an nn.ModuleList, "
        "be one wide layer, or be made in `forward`. Other code uses exactly these three names."),
    mistake("another_layer_at_the_end",
        replace("self.dropout = nn", "self.out_proj = nn.Linear(d_out, d_out)\n        self.dropout = nn")
        .replace("weights @ values", "self.out_proj(weights @ values)"),
        "The contexts pass through another layer, such as out_proj. This module has only three layers: return the "
        "contexts."),
    mistake("bias_always", replace(", bias=qkv_bias", "", 3),
        "The layers always have a bias, because that is the default of nn.Linear. Pass qkv_bias on: bias=qkv_bias."),
    mistake("bias_never", replace("bias=qkv_bias", "bias=False", 3),
        "The layers never have a bias. The caller chooses qkv_bias, so pass it on: bias=qkv_bias."),
    mistake("one_layer_in_use", replace("W_key(", "W_query(").replace("W_value(", "W_query("),
        "W_query is used for queries, keys and values, and the other two layers are never used. Each role has its "
        "own weights to learn."),
    mistake("keys_ask_the_queries", replace("queries @ keys", "keys @ queries"),
        "Queries and keys are swapped. Row i of the scores belongs to query i and contains its dot products with "
        "every key."),
    mistake("key_layer_unused", replace("W_key(", "W_query("),
        "W_key is made but never used: queries are compared with queries. Compare each query with the keys, inputs @ "
        "W_key."),
    mistake("keys_ask_each_other", replace("queries @ keys", "keys @ keys"),
        "The queries are made but never used: keys are compared with keys. Compare each query with every key."),
    mistake("inputs_compared", replace("queries @ keys", "inputs @ inputs"),
        "The inputs are compared with each other, as in unit 1. Here the dot products are between queries and keys, "
        "which are made from the inputs."),
    mistake("keys_and_values_swapped",
        replace("queries @ keys", "queries @ values").replace("weights @ values", "weights @ keys"),
        "Keys and values are swapped. A key is only compared with queries. The value is what a token gives to the "
        "tokens that find it."),
    mistake("keys_handed_over", replace("W_value(", "W_key("),
        "The weights mix the keys. Keys are only compared with queries. The weights should mix the values."),
    mistake("value_layer_unused", replace("self.W_value(inputs)", "inputs"),
        "W_value is made but never used: the weights mix the inputs themselves. Mix the values, W_value(inputs)."),
    mistake("gradients_switched_off", replace("(inputs)", "(inputs).detach()", 3),
        "No gradient flows through: does `.detach()`, `.data` or `torch.no_grad()` cut off the outputs, or the "
        "outputs of the layers? So nothing below them can learn."),
    mistake("inputs_made_float32", replace("(inputs)", "(inputs.float())", 3),
        "The inputs or a tensor of your own are made float32 and do not match float64. Keep the dtype of the inputs, "
        "and make your own tensors like them."),
    mistake("inputs_changed_in_place",
        replace("return weights", "inputs -= inputs.mean(dim=-1, keepdim=True)\n        return weights"),
        "The caller's inputs were changed. Other code may still need them: write `x = x - …` instead of `x -= …`."),
]  # fmt: skip


# -- probes --------------------------------------------------------------------------------------------------------


@probe()
def contexts_of_the_past(unit: Any, draw: Draw) -> Iterator[Property]:
    d_in, d_out, num_tokens = draw.sizes(3)
    context_length = num_tokens + draw.pick(0, 0, 1, 5)
    options = draw.pick({}, {"qkv_bias": True}, {"qkv_bias": False})
    dropout = draw.pick(0.0, 0.5)
    module = unit.CausalAttention(d_in, d_out, context_length, dropout, **options)
    yield from layers(module, MATRICES)
    module.to(draw.dtype).train(dropout == 0 and draw.chance(0.5))
    parameters = set_drawn_layers(draw, module, MATRICES)
    yield from call(module, draw.viewed(draw.normal(draw.size(1, 3), num_tokens, d_in)), parameters=parameters)


@probe(draws=5)
def no_mask_among_the_parameters(unit: Any, draw: Draw) -> Iterator[Property]:
    context_length = 20 + draw.number
    module = unit.CausalAttention(draw.size(), draw.size(), context_length, 0.0, qkv_bias=draw.chance(0.5))
    yield from parameters_of_length(module, context_length)


@probe(draws=5)
def later_tokens_beside_low_scores(unit: Any, draw: Draw) -> Iterator[Property]:
    num_tokens = draw.number + 2
    module = unit.CausalAttention(num_tokens, num_tokens, num_tokens, 0.0)
    yield from causal_at_low_scores(module, MATRICES, num_tokens)


@probe(draws=4)
def weights_dropped_in_training(unit: Any, draw: Draw) -> Iterator[Property]:
    num_tokens, dropout = 3, PROBABILITIES[draw.number]
    module = unit.CausalAttention(num_tokens, 2 * num_tokens, draw.pick(3, 5), dropout)
    set_drawn_layers(draw, module.to(draw.dtype), MATRICES)
    set_to(module.W_value.weight, unit_values(num_tokens))
    yield from dropped_weights(module, one_hot_texts(1000, num_tokens).to(draw.dtype), dropout)


# -- answers -------------------------------------------------------------------------------------------------------


def wrong_answers():
    """Mistakes without a name, and answers with two. Never run here: the audit reads them."""

    import math

    import torch.nn as nn
    import torch.nn.functional as F

    class _Layers(nn.Module):
        """A right answer in parts, which the classes below change."""

        def __init__(self, d_in, d_out, context_length, dropout, qkv_bias=False):
            super().__init__()
            self.W_query, self.W_key, self.W_value = (nn.Linear(d_in, d_out, bias=qkv_bias) for _ in range(3))
            self.dropout = nn.Dropout(dropout)
            self.root = math.sqrt(d_out)
            self.register_buffer("mask", torch.triu(torch.ones(context_length, context_length), diagonal=1).bool())

        def scores(self, x):
            return self.W_query(x) @ self.W_key(x).transpose(-2, -1)

        def masked(self, scores, value=-torch.inf):
            T = scores.shape[-1]
            return scores.masked_fill(self.mask[:T, :T], value)

        def weights(self, x):
            return F.softmax(self.masked(self.scores(x)) / self.root, dim=-1)

        def forward(self, x):
            return self.dropout(self.weights(x)) @ self.W_value(x)

    class scaled_by_d_in__and__dropout_in_eval_mode_too(_Layers):
        def __init__(self, d_in, *others, **options):
            super().__init__(d_in, *others, **options)
            self.root = math.sqrt(d_in)

        def forward(self, x):
            return F.dropout(self.weights(x), self.dropout.p) @ self.W_value(x)

    class masked_scores_thrown_away_in_module__and__dropout_before_the_mask(_Layers):
        def forward(self, x):
            return F.softmax(self.dropout(self.scores(x) / self.root), dim=-1) @ self.W_value(x)

    class next_token_seen_in_module__and__bias_never(_Layers):
        def __init__(self, d_in, d_out, context_length, dropout, qkv_bias=False):
            super().__init__(d_in, d_out, context_length, dropout)
            self.mask = self.mask.triu(diagonal=2)

    class mean_of_all_outputs(_Layers):
        def forward(self, x):
            return super().forward(x).mean(dim=1)

    class dropout_half_as_often(_Layers):
        def __init__(self, *sizes, **options):
            super().__init__(*sizes, **options)
            self.dropout.p /= 2

    class inputs_normalized(_Layers):
        def forward(self, x):
            return super().forward(F.layer_norm(x, x.shape[-1:]))

    class scaled_twice(_Layers):
        def weights(self, x):
            return F.softmax(self.masked(self.scores(x) / self.root) / self.root**0.5, dim=-1)

    class minus_ten_for_the_future(_Layers):
        def weights(self, x):
            return F.softmax(self.masked(self.scores(x), -10.0) / self.root, dim=-1)

    class minus_infinity_for_what_is_dropped(_Layers):
        def forward(self, x):
            weights = self.weights(x)
            if self.training:
                weights = weights.masked_fill(torch.rand(weights.shape) < self.dropout.p, -torch.inf)
            return weights @ self.W_value(x)

    class dropout_on_all_three_projections(_Layers):
        def forward(self, x):
            q, k, v = self.dropout(self.W_query(x)), self.dropout(self.W_key(x)), self.dropout(self.W_value(x))
            return F.softmax(self.masked(q @ k.transpose(-2, -1)) / self.root, dim=-1) @ v

    class dropout_before_the_mask__own_softmax(_Layers):
        def forward(self, x):
            e = torch.tril(torch.exp(self.dropout(self.scores(x) / self.root)))
            return e / e.sum(dim=-1, keepdim=True) @ self.W_value(x)


def right_answers():
    """Answers in other styles. Never run here: the audit reads them."""

    import math

    import torch.nn as nn
    import torch.nn.functional as F
    from causal_attention import attention_dropout, mask_then_softmax

    class _Projections(nn.Module):
        def __init__(self, d_in, d_out, context_length, dropout, qkv_bias=False):
            super().__init__()
            self.W_value = nn.Linear(d_in, d_out, bias=qkv_bias)
            self.W_key = nn.Linear(d_in, d_out, bias=qkv_bias)
            self.W_query = nn.Linear(d_in, d_out, bias=qkv_bias)
            self.context_length, self.p = context_length, dropout

    class building_on(_Projections):
        def forward(self, inputs):
            queries, keys, values = self.W_query(inputs), self.W_key(inputs), self.W_value(inputs)
            weights = mask_then_softmax(queries @ keys.mT, values.shape[-1])
            if self.training:
                weights = attention_dropout(weights, self.p)
            return torch.matmul(values.mT, weights.mT).mT

    class by_hand(_Projections):
        def forward(self, x):
            assert x.shape[1] <= self.context_length
            contexts = []
            for text in x:
                for i, token in enumerate(text):
                    query = self.W_query(token)
                    scores = [torch.dot(query, self.W_key(text[j])) for j in range(i + 1)]
                    weights = torch.softmax(torch.stack(scores) / len(query) ** 0.5, dim=0)
                    if self.training and self.p > 0:
                        weights = attention_dropout(weights, self.p)
                    contexts.append(sum(weights[j] * self.W_value(text[j]) for j in range(i + 1)))
            return torch.stack(contexts).view(*x.shape[:2], -1)

    class einsum(nn.Module):
        def __init__(self, d_in: int, d_out: int, context_length: int, dropout: float, qkv_bias: bool = False) -> None:
            super().__init__()
            self.d_out = d_out
            self.W_query, self.W_key, self.W_value = (nn.Linear(d_in, d_out, bool(qkv_bias)) for _ in range(3))
            self.register_buffer("mask", torch.full((1, context_length, context_length), -1e9).triu(1))
            self.register_buffer("calls", torch.zeros(()))
            self.dropout = nn.Dropout(p=dropout)
            self.unused = nn.Linear(2, 2)

        def forward(self, x):
            self.calls += 1
            T = x.size(1)
            queries, keys, values = self.W_query(x), self.W_key(x), self.W_value(x)
            scores = torch.einsum("bqd,bkd->bqk", queries, keys) / math.sqrt(self.d_out)
            self.last_weights = torch.softmax(scores + self.mask[:, :T, :T], dim=2)
            return torch.einsum("bqk,bkd->bqd", self.dropout(self.last_weights), values)

    class fused(nn.Module):
        def __init__(self, d_in, d_out, context_length, dropout, qkv_bias=False):
            super().__init__()
            for name in ("W_query", "W_key", "W_value"):
                self.add_module(name, nn.Linear(d_in, d_out, bias=qkv_bias))
            self.dropout = dropout

        def forward(self, x):
            layers = (self.W_query, self.W_key, self.W_value)
            weight = torch.cat([layer.weight for layer in layers])  # (3 · d_out, d_in)
            bias = None if self.W_query.bias is None else torch.cat([layer.bias for layer in layers])
            queries, keys, values = F.linear(x, weight, bias).chunk(3, dim=-1)
            p = self.dropout if self.training else 0.0
            return F.scaled_dot_product_attention(queries, keys, values, dropout_p=p, is_causal=True)

    class renormalizing(_Projections):
        def forward(self, x):
            q, k, v = self.W_query(x), self.W_key(x), self.W_value(x)
            weights = torch.softmax(torch.bmm(q, k.permute(0, 2, 1)) * k.shape[2] ** -0.5, dim=2).tril()
            weights = weights / weights.sum(dim=2, keepdim=True)
            if self.training:
                keep = (torch.rand_like(weights) > self.p).to(weights.dtype)
                weights = weights * keep / (1 - self.p)
            return torch.bmm(weights, v)
