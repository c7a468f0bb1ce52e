"""MultiHeadAttention: hidden tests, known mistakes and right answers."""

from __future__ import annotations

import functools
from collections.abc import Iterator
from typing import Any

import torch

from grader.suites.attention_mistakes import (
    FIFTH,
    NO_SOFTMAX,
    ONLY_FUTURE_SEEN,
    SCALED_LATE,
    SOFTMAX_OVER_QUERIES,
    SOFTMAX_TWICE,
    TEN_THOUSAND,
    VALUES_AS_KEYS,
    ZEROS_HIDDEN,
)
from grader.suites.attention_probes import causal_at_low_scores, dropped_weights, one_hot_texts, unit_values
from grader.suites.causal import LOW_SCORES, expect_hidden
from grader.suites.multi_head_attention.shared import (
    ALL_LAYERS,
    BY_TOKENS,
    BY_WIDTH,
    CONTEXT,
    D_IN,
    D_OUT,
    D_WIDE,
    DEALT_IN_TURN,
    DIAGONAL_HIDDEN,
    EXCHANGED,
    FITTING,
    FUTURE_VISIBLE,
    HALF,
    HEAD_DIM,
    INPUTS_CHANGED,
    LAYERS,
    LEFT_TO_RESHAPE,
    MIXED_BY_RESHAPE,
    NEXT_VISIBLE,
    NO_ERROR,
    NO_ROOT,
    NOT_DIVIDING,
    NOT_TRANSPOSED_BACK,
    OTHER,
    OUT_PROJ,
    PAST_HIDDEN,
    SOFTMAX_OVER_HEADS,
    T_DECISIVE,
    UNSCALED,
    WEIGHTS_MASKED,
    ZERO_AFTER_SOFTMAX,
    ZERO_BEFORE_SOFTMAX,
    B,
    H,
    P,
    T,
    decisive_scores,
    expect_bias,
    features_that_do_not_divide,
    first_shift,
    fresh_layers,
    multi_head_attention,
    steps,
    with_gradients,
)
from grader.testing.behaviour import later_tokens_unseen, refusals
from grader.testing.checks import (
    Weights,
    expect_close,
    expect_gradients,
    expect_layer,
    expect_no_bias,
    expect_tensor,
    expect_true,
    expect_values,
    set_layers,
)
from grader.testing.draws import Fresh, numbers
from grader.testing.misconceptions import Replacements, mistake, replace
from grader.testing.probes import PROBABILITIES, Draw, Property, call, layers, probe, refusal, set_drawn_layers, set_to
from grader.testing.student import RemoteObject, Student
from grader.testing.suite import OUTPUTS, Example, Given, contract, kept_arguments, right_results, rule


def decisive_tokens(
    fresh: Fresh, batch: int, num_tokens: int, heads: int, dtype: torch.dtype = torch.float32, is_low: bool = False
) -> tuple[torch.Tensor, Weights]:
    """Return inputs (B, T, D_WIDE), and weights for which each query of each head gives all its weight to one key.

    B · T is at most D_WIDE, and T at most d_out / H. is_low: whether the scores are lowered.
    """
    width = D_OUT // heads if is_low else 0
    inputs = fresh.rotation(D_WIDE)[: batch * num_tokens]  # (B · T, d_in)
    directions = [fresh.rotation(D_OUT // heads)[:num_tokens] for _ in range(heads)]
    first = first_shift(fresh)
    queries = []
    for text in range(batch):
        by_head = [decisive_scores(num_tokens, first + text + head, width) @ directions[head] for head in range(heads)]
        queries.append(torch.cat(by_head, dim=1))
    keys = torch.cat(directions, dim=1).repeat(batch, 1)  # (B · T, d_out)
    # The tokens are orthonormal, so inputs @ inputs.mT, (B · T, B · T), is the identity.
    weights = {
        "W_query.weight": torch.cat(queries).mT @ inputs,  # (d_out, B · T) @ (B · T, d_in) -> (d_out, d_in)
        "W_key.weight": keys.mT @ inputs,
        "W_value.weight": fresh(D_OUT, D_WIDE),
    }
    return inputs.unflatten(0, (batch, num_tokens)).to(dtype), {n: value.to(dtype) for n, value in weights.items()}


def fresh_four_layers(fresh: Fresh) -> Weights:
    out_proj = ["out_proj"]
    return {**fresh_layers(fresh, LAYERS, D_IN, D_OUT), **fresh_layers(fresh, out_proj, D_OUT, D_OUT, bias=True)}


def attention_with(
    student: Student, weights: Weights, context_length: int, heads: int = H, dropout: float = 0.0
) -> RemoteObject:
    """Return a MultiHeadAttention with these weights. If they contain none for out_proj, it becomes the identity.

    A missing out_proj costs only its own criteria.
    """
    steps(student)
    attention = student.queue(
        "MultiHeadAttention", weights["W_query.weight"].shape[1], D_OUT, context_length, dropout, heads
    )
    dtype = weights["W_query.weight"].dtype
    if dtype == torch.float64:
        attention.to(dtype)
    set_layers(attention, weights, optional={name: value.to(dtype) for name, value in OUT_PROJ.items()})
    return attention


@rule(
    "W_query, W_key and W_value are nn.Linear from d_in to d_out, and out_proj is nn.Linear from d_out to d_out, "
    "with a bias"
)
def test_four_layers(student: Student) -> None:
    """W_query, W_key and W_value should go from d_in to d_out, and out_proj from d_out to d_out, with a bias."""
    parameters = student.queue("MultiHeadAttention", D_IN, D_OUT, CONTEXT, 0.0, H).parameters()
    for name in LAYERS:
        expect_layer(parameters, name, D_IN, D_OUT)
    expect_layer(parameters, "out_proj", D_OUT, D_OUT)
    expect_bias(parameters, "out_proj", D_OUT)


BIAS = "W_query, W_key and W_value have no bias unless qkv_bias=True; then each layer adds its own bias"


@rule(BIAS)
def test_no_bias_by_default(student: Student) -> None:
    """W_query, W_key and W_value should have no bias if the caller does not ask for one."""
    expect_no_bias(student.queue("MultiHeadAttention", D_IN, D_OUT, CONTEXT, 0.0, H).parameters(), LAYERS)


@rule(BIAS)
def test_three_biases_on_demand(student: Student) -> None:
    """With qkv_bias=True, W_query, W_key and W_value should each have a bias of d_out numbers."""
    parameters = student.queue("MultiHeadAttention", D_IN, D_OUT, CONTEXT, 0.0, H, qkv_bias=True).parameters()
    for name in LAYERS:
        expect_bias(parameters, name, D_OUT)


@rule(BIAS)
def test_the_biases_count_in_every_head(student: Student, fresh: Fresh) -> None:
    """With qkv_bias=True, the queries, keys and values should contain the biases."""
    steps(student)
    attention = student.queue("MultiHeadAttention", D_WIDE, D_OUT, T_DECISIVE, 0.0, 1, qkv_bias=True)
    inputs, weights = decisive_tokens(fresh, 1, T_DECISIVE, 1)
    # The query consists of the bias only: it fits the first token's key, which all tokens see.
    keys = inputs[0].double() @ weights["W_key.weight"].double().mT  # (T, d_out)
    weights["W_query.weight"] = torch.zeros(D_OUT, D_WIDE)
    weights["W_query.bias"] = (FITTING * keys[0] + OTHER * keys[1:].sum(0)).float()
    weights["W_key.bias"], weights["W_value.bias"] = fresh(D_OUT) / 10, fresh(D_OUT)
    attention.set(weights, optional=OUT_PROJ)
    expect_close(attention(inputs), multi_head_attention(student, inputs, weights, 1), "The outputs")


EACH_HEAD = (
    "each head attends with its own head_dim = d_out / num_heads features of queries, keys and values, head 0 first; "
    "scores over √head_dim"
)


@rule(EACH_HEAD)
def test_each_head_attends_with_its_own_features(student: Student, fresh: Fresh) -> None:
    """Each head should compare its own queries and keys, and mix its own features of the values."""
    inputs, weights = decisive_tokens(fresh, B, T_DECISIVE, H)
    attention = attention_with(student, weights, T_DECISIVE)
    expect_close(attention(inputs), multi_head_attention(student, inputs, weights), "The outputs")


@rule(EACH_HEAD)
def test_attention_is_scaled_in_each_head(student: Student, fresh: Fresh) -> None:
    """Each head's weights should be the causal softmax of its scores / √head_dim: output (B, T, d_out)."""
    # In the second case both widths are equal: if they differ, values without a projection have the wrong shape.
    for d_in in (D_IN, D_OUT):
        inputs, weights = fresh(B, T, d_in), fresh_layers(fresh, LAYERS, d_in, D_OUT)
        inputs[0, 1] = 0.0  # its scores are zero: a mask that is found by its zeros hides them too
        attention = attention_with(student, weights, T)
        expect_close(attention(inputs), multi_head_attention(student, inputs, weights), "The outputs")


@rule(LOW_SCORES)
def test_no_token_weighs_a_later_one_beside_very_low_scores(student: Student, fresh: Fresh) -> None:
    """If all visible scores are very low, later tokens should still have no weight."""
    for is_low, expect in ((False, expect_close), (True, expect_hidden)):
        inputs, weights = decisive_tokens(fresh, 1, T_DECISIVE, 1, is_low=is_low)
        attention = attention_with(student, weights, T_DECISIVE, 1)
        expect(attention(inputs), multi_head_attention(student, inputs, weights, 1))


@rule("the concatenated heads pass through out_proj")
def test_the_heads_pass_through_out_proj(student: Student, fresh: Fresh) -> None:
    """The output should be the concatenated heads after out_proj, with its bias."""
    # A single token: each head returns its value, whatever the score is.
    weights = fresh_four_layers(fresh)
    inputs = fresh(B, 1, D_IN)
    attention = attention_with(student, weights, 1)
    expect_close(attention(inputs), multi_head_attention(student, inputs, weights), "The outputs")


@rule("any number of tokens up to context_length, including one")
def test_any_number_of_tokens_up_to_the_context_length(student: Student, fresh: Fresh) -> None:
    """The same module should work for any number of tokens, from a single one up to context_length."""
    inputs, weights = decisive_tokens(fresh, 1, CONTEXT, 1)
    attention = attention_with(student, weights, CONTEXT, 1)
    expected = multi_head_attention(student, inputs, weights, 1)
    for count in (CONTEXT, T, 1):  # later tokens have no effect
        expect_close(attention(inputs[:, :count]), expected[:, :count], "The outputs")
    # More tokens than features: the context length is not a width.
    long = D_OUT + 1
    longer = attention_with(student, weights, long, 1)
    expect_tensor(longer(fresh(1, long, D_WIDE)), (1, long, D_OUT))


NO_ATTENTION = "The second token takes nothing from the first."
DROPOUT = (
    "dropout acts on each weight independently, after softmax and in training only: the weight becomes zero or is "
    "divided by 1 - dropout"
)


@rule(DROPOUT)
def test_weights_are_dropped_in_training(student: Student, fresh: Fresh) -> None:
    """In training each weight should independently be dropped or scaled up."""
    # Two tokens. The value of each is one number in all features: positive for the first, negative for the second.
    count = 60
    inputs, weights = fresh(count, 2, D_IN), fresh_layers(fresh, LAYERS, D_IN, D_OUT)
    inputs[:, 0, 0], inputs[:, 1, 0] = 1 + inputs[:, 0, 0].abs(), -1 - inputs[:, 1, 0].abs()
    weights["W_value.weight"] = torch.zeros(D_OUT, D_IN)
    weights["W_value.weight"][:, 0] = 1
    attention = attention_with(student, weights, 2, dropout=P)
    attention.eval()
    whole = expect_tensor(attention(inputs), (count, 2, D_OUT)).double()
    attention.train()
    dropped = expect_tensor(attention(inputs), (count, 2, D_OUT)).double()
    # The second token's outputs are a v + (1 - a) w for some weight a, so a follows from the outputs.
    zero = torch.zeros((), dtype=torch.float64)
    v, w = inputs[:, 0, :1].double(), inputs[:, 1, :1].double()  # (B, 1), the same for all features
    a = (whole[:, 1] - w) / (v - w)  # (B, d_out)
    expect_true(bool((a > 0.01).any()), NO_ATTENTION)
    first, second = a * v / (1 - P), (1 - a) * w / (1 - P)

    def near(outputs: torch.Tensor, expected: torch.Tensor) -> torch.Tensor:
        return torch.isclose(outputs, expected, rtol=1e-4, atol=1e-4)

    first_token, only_first, only_second = dropped[:, 0], near(dropped[:, 1], first), near(dropped[:, 1], second)
    neither_or_both = near(dropped[:, 1], zero) | near(dropped[:, 1], first + second)
    # None of these checks records a random value.
    expect_true(not bool(near(dropped, whole).all()), "Nothing is dropped in training.")
    expect_true(not bool(near(first_token, v).all()), "If a token sees only itself, its weight is never dropped.")
    # Each text on its own has these patterns by chance, but 60 texts have not the same one in three heads.
    patterns = torch.stack([near(first_token, zero), near(dropped[:, 1], zero), only_first, only_second])
    is_shared = bool(patterns.any() and (patterns == patterns[:, :1]).all())
    expect_true(not is_shared, "All texts of a batch drop the same weights.")
    one_value = near(dropped[:, 1], v) | near(dropped[:, 1], w) | near(dropped[:, 1], whole[:, 1])
    sum_to_one = bool((one_value | near(dropped[:, 1], zero) | dropped[:, 1].isnan()).all())
    expect_true(not sum_to_one, "The kept weights are divided by their sum again.")
    is_unscaled = near(first_token, v) | near(first_token, zero)
    expect_true(not bool(is_unscaled.all()), "The kept values are not divided by 1 - dropout.")
    expect_true(not bool(dropped.isnan().any()), "In training some outputs are NaN: drop weights, after softmax.")
    is_a_draw = near(first_token, v / (1 - P)) | near(first_token, zero)
    lone = "In training a token that sees only itself gets neither zero nor its value divided by 1 - dropout."
    expect_true(bool(is_a_draw.all()), lone)
    # If a weight is dropped, all features of its head are zero.
    whole_heads = near(first_token, zero).sum(-1) % HEAD_DIM == 0  # (B,)
    expect_true(bool(whole_heads.all()), "Features are dropped, not weights.")
    expect_true(
        bool((only_first | only_second | neither_or_both).all()),
        "Something other than the weights is dropped or scaled.",
    )
    # In each of 60 sequences and 3 heads, exactly the first weight is dropped with a probability of 3/16, and exactly
    # the second one too. This never happens with a probability of (13/16)^180 = 6e-17.
    expect_true(bool(only_first.any() and only_second.any()), "Weights are not dropped independently.")
    # The first key's weight is dropped for the first query and kept for the second with a probability of 3/16 too.
    # With a probability of 9/16, some of the three heads drop it and others keep it.
    dropped_for_first, kept_for_second = near(first_token, zero), only_first | near(dropped[:, 1], first + second)
    expect_true(bool((dropped_for_first & kept_for_second).any()), "A key is dropped for all queries at once.")
    is_mixed = dropped_for_first.any(-1) & ~dropped_for_first.all(-1)
    expect_true(bool(is_mixed.any()), "All heads drop the same weights.")


@rule(DROPOUT)
def test_nothing_is_dropped_after_eval(student: Student, fresh: Fresh) -> None:
    """After .eval() no weight should be dropped: if all values are the same, all outputs should be the same."""
    inputs, weights = fresh(41, 2, D_IN), fresh_layers(fresh, LAYERS, D_IN, D_OUT)
    inputs[:40, :, 0] = 1
    weights["W_value.weight"] = torch.zeros(D_OUT, D_IN)
    weights["W_value.weight"][:, 0] = 1
    attention = attention_with(student, weights, 2, dropout=P)
    attention.eval()
    outputs = expect_tensor(attention(inputs), (41, 2, D_OUT)).double()
    expected = multi_head_attention(student, inputs, weights)
    same = torch.allclose(outputs[:40], expected[:40], rtol=1e-4, atol=1e-5)
    expect_true(same, "All values are the same, but the outputs are not.")
    # An answer that mixes no values does not pass. In the last sequence the two tokens have different values.
    expect_true(bool(((outputs[40, 1] - inputs[40, 1, 0]).abs() > 0.01).any()), NO_ATTENTION)


@rule("gradients reach the inputs, the weights of the four layers and the bias of out_proj")
def test_gradients_of_multi_head_attention(student: Student, fresh: Fresh) -> None:
    """Gradients of the output should reach all four layers, the bias of out_proj and the inputs."""
    weights = fresh_four_layers(fresh)
    inputs = fresh(B, T, D_IN)
    attention = attention_with(student, weights, T)
    expected = with_gradients(functools.partial(multi_head_attention, student), inputs, weights)
    _, found = expect_values(attention.gradients(inputs), 2)
    expect_gradients(found, expected)


ONE_PROJECTION = (
    "One projection is used for queries, keys and values, and the other two are never used. Each role has its own "
    "weights to learn."
)


def call_of(student: Student, inputs: torch.Tensor, weights: Weights, heads: int = H) -> Given:
    attention = attention_with(student, weights, inputs.shape[1], heads)
    right = functools.partial(multi_head_attention, student, weights=weights, num_heads=heads)
    return Given(attention, [inputs], lambda outputs: OUTPUTS(outputs, right(inputs)), right)


def mixing(student: Student, fresh: Fresh) -> Given:
    return call_of(student, fresh(1, T, D_IN), fresh_layers(fresh, LAYERS, D_IN, D_OUT))


def dividing(student: Student, fresh: Fresh, num_heads: int = H) -> Given:
    steps(student)
    attention = student.queue("MultiHeadAttention", D_IN, D_OUT, T, 0.0, num_heads)
    return Given(attention, [fresh(B, T, D_IN)], lambda _: None)


test_contract = contract(
    lambda student, fresh, **dtype: call_of(student, *decisive_tokens(fresh, B, T_DECISIVE, 1, **dtype), 1),
    later_tokens_unseen(
        "no_token_sees_a_later_one", "no token sees a later one",
        "If the last token changes, no earlier output should change; if the first one changes, the second should.",
        ask=mixing),
    refusals(
        "heads_that_do_not_divide_are_refused",
        "if num_heads does not divide d_out, it raises ValueError or AssertionError",
        "If num_heads does not divide d_out, there should be a ValueError or an AssertionError, and otherwise none.",
        {"num_heads": NOT_DIVIDING}, ask=dividing),
    right_results(
        "multi_head_attention_in_float64", "works in float64 after .double()",
        "After .double() the module should take float64 inputs and give the correct output.", {"dtype": torch.float64}),
    kept_arguments(
        "multi_head_attention_leaves_the_inputs_alone", "the inputs are not changed",
        "The output should be correct, and the call should not change the inputs.", "The inputs were changed."),
    example=Example({"inputs": numbers(2, 4, 5) / 2},
                    made={"d_in": 5, "d_out": 8, "context_length": 11, "dropout": 0.0, "num_heads": 2},
                    parameters={**{f"{name}.weight": numbers(8, 5, seed=seed) for seed, name in enumerate(LAYERS)},
                                "out_proj.weight": numbers(8, 8, seed=3), "out_proj.bias": numbers(8, seed=4)},
                    also={"gradients": "gradients reach the inputs, the weights of the four layers and the bias of "
                                       "out_proj"}),
)  # fmt: skip


# -- misconceptions ------------------------------------------------------------------------------------------------


def masked_by(mask: str) -> Replacements:
    """Use this mask in MultiHeadAttention instead of head_weights, which makes one of the right size."""
    masked = f"head_scores(queries, keys).masked_fill_({mask}.triu(1).bool(), -torch.inf)"
    return replace(
        "head_weights(head_scores(queries, keys), self.head_dim)", f"torch.softmax({masked} / self.head_dim**0.5, -1)"
    )


MISCONCEPTIONS = [
    mistake("scaled_by_d_out", replace("self.head_dim)", "self.out_proj.in_features)"), BY_WIDTH),
    mistake("scaled_by_number_of_tokens_in_the_module", replace("head_weights", "scaled_by_number_of_tokens"),
        BY_TOKENS),
    mistake("scaling_forgotten_in_the_module", replace("head_weights", "scaling_forgotten"), UNSCALED),
    mistake("divided_by_head_dim_itself_in_the_module", replace("head_weights", "divided_by_head_dim_itself"), NO_ROOT),
    mistake("half_instead_of_root_in_the_module", replace("head_weights", "half_instead_of_root"), HALF),
    mistake("scaled_after_softmax_in_the_module", replace("head_weights", "scaled_after_softmax"), SCALED_LATE),
    mistake("future_visible_in_the_module", replace("head_weights", "future_visible"), FUTURE_VISIBLE),
    mistake("past_hidden_in_the_module", replace("head_weights", "past_hidden"), PAST_HIDDEN),
    mistake("only_the_future_seen_in_the_module", replace("head_weights", "only_the_future_seen"), ONLY_FUTURE_SEEN),
    mistake("softmax_twice_in_the_module", replace("head_weights", "softmax_twice"), SOFTMAX_TWICE),
    mistake("weights_masked_with_minus_infinity_in_the_module",
        replace("head_weights", "weights_masked_with_minus_infinity"), WEIGHTS_MASKED),
    mistake("diagonal_hidden_in_the_module", replace("head_weights", "diagonal_hidden"), DIAGONAL_HIDDEN),
    mistake("next_token_visible_in_the_module", replace("head_weights", "next_token_visible"), NEXT_VISIBLE),
    mistake("future_zero_before_softmax_in_the_module", replace("head_weights", "future_zero_before_softmax"),
        ZERO_BEFORE_SOFTMAX),
    mistake("future_zero_after_softmax_in_the_module", replace("head_weights", "future_zero_after_softmax"),
        ZERO_AFTER_SOFTMAX),
    mistake("mask_not_cut", masked_by("torch.ones(self.context_length, self.context_length)"),
        "The mask is not cut to the number of tokens, so it works only for a text of context_length tokens. Use as "
        "many rows and columns of it as there are tokens."),
    mistake("softmax_over_queries_in_the_module", replace("head_weights", "softmax_over_queries"),
        SOFTMAX_OVER_QUERIES),
    mistake("softmax_over_heads_in_the_module", replace("head_weights", "softmax_over_heads"), SOFTMAX_OVER_HEADS),
    mistake("softmax_forgotten_in_the_module", replace("head_weights", "softmax_forgotten"), NO_SOFTMAX),
    mistake("split_by_reshape_alone_in_the_module", replace("split_heads", "split_by_reshape_alone", 3),
        MIXED_BY_RESHAPE),
    mistake("features_dealt_in_turn_in_the_module",
        replace("split_heads", "features_dealt_in_turn_in_split", 3).replace("merge_heads", "features_shuffled"),
        DEALT_IN_TURN),
    mistake("heads_and_features_exchanged_in_the_module",
        replace("split_heads", "heads_and_features_exchanged_in_split", 3), EXCHANGED),
    mistake("heads_never_split", replace("self.num_heads)", "1)", 3),
        "The heads are never split: one head sees all features. Each of the num_heads heads should have head_dim "
        "features of the queries, keys and values, and its own weights."),
    mistake("heads_attend_to_each_other",
        replace("split_heads", "unroll_heads", 3).replace("merge_heads(contexts)", "contexts.flatten(2)"),
        "The heads are not in front of the tokens, so the heads of each token attend to each other, and tokens do "
        "not. Transpose to (B, H, T, head_dim) before the scores."),
    mistake("heads_masked_as_tokens",
        masked_by("torch.ones(inputs.shape[1], inputs.shape[1])")
        .replace("split_heads", "unroll_heads", 3).replace("merge_heads(contexts)", "contexts.flatten(2)"),
        "The heads are not in front of the tokens, so the scores are between the heads of a token, and the mask for "
        "tokens does not match. Transpose to (B, H, T, head_dim) before the scores."),
    mistake("heads_not_transposed_back", replace("merge_heads", "not_transposed_back"), NOT_TRANSPOSED_BACK),
    mistake("features_shuffled_in_the_module", replace("merge_heads", "features_shuffled"),
        "The heads' features are interleaved before out_proj. Put the heads next to each other, head 0 first."),
    mistake("keys_ask_the_queries_in_the_module", replace("queries, keys)", "keys, queries)"),
        "Queries and keys are swapped. The rows of the scores should belong to queries; otherwise the mask hides the "
        "wrong scores."),
    mistake("keys_and_values_swapped", replace("queries, keys)", "queries, values)").replace("@ values", "@ keys"),
        "Keys and values are swapped. A key is only compared with queries. The value is what a token gives to the "
        "tokens that find it."),
    mistake("minus_ten_thousand_in_module", replace("head_weights(", "minus_ten_thousand("), TEN_THOUSAND),
    mistake("keys_handed_over", replace("@ values", "@ keys"),
        "The weights mix the keys. Keys are only compared with queries. The weights should mix the values."),
    mistake("one_projection_in_use", replace("queries, keys)", "queries, queries)").replace("@ values", "@ queries"),
        ONE_PROJECTION),
    mistake("key_projection_unused", replace("queries, keys)", "queries, queries)"),
        "The keys are made but never used: queries are compared with queries. Compare each query with the keys."),
    mistake("out_proj_forgotten", replace("self.out_proj = nn.Linear(d_out, d_out)", "").replace("self.out_proj(", "("),
        "There is no out_proj, so the results of the heads are never combined. Add a last layer from d_out to d_out."),
    mistake("bias_always", replace("bias=qkv_bias", "bias=True", 3),
        "The layers have a bias although none was asked for, because that is the default of nn.Linear. Pass qkv_bias "
        "on: bias=qkv_bias."),
    mistake("bias_never", replace("bias=qkv_bias", "bias=False", 3),
        "The layers never have a bias. The caller chooses qkv_bias, so pass it on: bias=qkv_bias."),
    mistake("dropout_never_applied", replace("self.dropout(weights)", "weights"),
        "In training every output is as it is after `.eval()`: nothing is dropped. Pass the weights, after softmax, "
        "through the dropout, and use its result."),
    mistake("dropped_after_eval", replace("self.dropout(weights)", "nn.functional.dropout(weights, self.dropout.p)"),
        "Weights are dropped after `.eval()` too. `functional.dropout` and an nn.Dropout made in forward do not know "
        "the mode: pass `training=self.training`, or make the layer in `__init__`."),
    mistake("scores_dropped",
        replace("head_scores(queries, keys)", "self.dropout(head_scores(queries, keys))")
        .replace("self.dropout(weights)", "weights"),
        "Dropout acts before softmax: on the scores, or on what queries and keys are made of. A score of zero does "
        "not give a weight of zero. Drop the weights, after softmax."),
    mistake("kept_weights_renormalised",
        replace("self.dropout(weights)", "nn.functional.normalize(self.dropout(weights), p=1, dim=-1)"),
        "After dropout each row is divided by its sum again. Dropout does not do that: the kept weights are divided "
        "by 1 - dropout, and only the average stays the same."),
    mistake("check_left_to_reshape_in_the_module",
        replace("d_out % num_heads", "False").replace("split_heads", "check_left_to_reshape_in_split", 3),
        LEFT_TO_RESHAPE),
    mistake("rest_cut_off_in_the_module",
        replace("d_out % num_heads", "False").replace("split_heads", "rest_cut_off_in_split", 3)
        .replace("(merge_heads(contexts))",
                 "(nn.functional.pad(merge_heads(contexts), (0, self.out_proj.in_features % self.num_heads)))"),
        NO_ERROR),
    mistake("made_float32_on_the_way", replace("(inputs)", "(inputs.float())", 3),
        "A part of the computation is float32: a mask, a constant or the inputs. After `.double()` it no longer "
        "matches. Make your own tensors in the dtype of the inputs."),
    mistake("dimensions_squeezed_away", replace("(merge_heads(contexts))", "(merge_heads(contexts)).squeeze()"),
        "`squeeze()` removes every dimension of size one: the batch of a single sequence, or the dimension of a "
        "single token."),
    mistake("inputs_changed_in_place_in_the_module",
        replace("return ", "inputs -= inputs.mean(dim=-1, keepdim=True)\n        return "), INPUTS_CHANGED),
    mistake("values_as_keys", replace("queries, keys)", "queries, values)"), VALUES_AS_KEYS),
    mistake("query_projection_unused", replace("queries, keys)", "keys, keys)"),
        "The queries are made but never used: keys are compared with keys. Compare each query with the keys."),
    mistake("fifth_power_in_the_module", replace("head_weights", "fifth_power"), FIFTH),
    mistake("zero_scores_hidden_in_the_module", replace("head_weights", "zero_scores_hidden"), ZEROS_HIDDEN),
    mistake("shapes_or_dtypes_do_not_match", replace("head_scores(queries, keys)", "queries @ keys"),
        "The shapes or dtypes do not match in forward. After the projections there are d_out features, not d_in. The "
        "scores need keys with the last two dimensions swapped, and a mask is (T, T), with True and False."),
    mistake("view_of_transposed_contexts",
        replace("merge_heads(contexts)", "contexts.transpose(1, 2).view(*inputs.shape[:2], -1)"),
        "`view` fails after a transpose, because the numbers are no longer contiguous. Use `reshape`, or "
        "`contiguous()` before it."),
    mistake("mixed_by_the_columns", replace("self.dropout(weights)", "self.dropout(weights).mT"),
        "The contexts use the columns of the weights. The weights of a query are its row: do not transpose them "
        "before the product with the values."),
    mistake("kept_weights_of_another_size", replace("merge_heads(contexts)", "self.dropout(merge_heads(contexts))"),
        "In training the kept weights are not divided by 1 - dropout and nothing more. Often the weights, the "
        "values, the contexts or the output are dropped or divided once more. Only the weights pass through dropout, "
        "once."),
    mistake("layers_under_other_names",
        replace("W_query", "query", 2).replace("W_key", "key", 2).replace("W_value", "value", 2),
        "The new module has no layers W_query, W_key and W_value. They may have other names, be in an nn.ModuleList, "
        "be one wide layer, or be made in `forward`. Other code uses exactly these three names."),
]  # fmt: skip


# -- probes --------------------------------------------------------------------------------------------------------


@probe(draws=700)
def shared_out_heads(unit: Any, draw: Draw) -> Iterator[Property]:
    d_in, head_dim, num_heads, num_tokens = draw.sizes(4)
    context_length = num_tokens + draw.pick(0, 0, 1, 5)
    options = draw.pick({}, {"qkv_bias": True}, {"qkv_bias": False})
    dropout = draw.pick(0.0, 0.5)
    module = unit.MultiHeadAttention(d_in, num_heads * head_dim, context_length, dropout, num_heads, **options)
    yield from layers(module, ALL_LAYERS)
    module.to(draw.dtype).train(dropout == 0 and draw.chance(0.5))
    parameters = set_drawn_layers(draw, module, ALL_LAYERS)
    yield from call(module, draw.normal(draw.size(1, 3), num_tokens, d_in), parameters=parameters)


@probe(draws=100)
def uneven_heads_refused(unit: Any, draw: Draw) -> Iterator[Property]:
    """No rule says whether the error comes from the constructor or from the call."""

    def made_and_used() -> None:
        unit.MultiHeadAttention(d_in, d_out, num_tokens, 0.0, num_heads)(draw.normal(2, num_tokens, d_in))

    d_out, num_heads = features_that_do_not_divide(draw)
    d_in, num_tokens = draw.size(), draw.pick(draw.size(), num_heads)
    draw.dtype = torch.float32
    yield from refusal(made_and_used)


@probe(draws=4)
def weights_dropped_in_training(unit: Any, draw: Draw) -> Iterator[Property]:
    num_tokens, num_heads, dropout = 3, 2, PROBABILITIES[draw.number]
    width = num_heads * 2 * num_tokens
    module = unit.MultiHeadAttention(num_tokens, width, draw.pick(3, 5), dropout, num_heads)
    set_drawn_layers(draw, module, ALL_LAYERS)
    set_to(module.W_value.weight, unit_values(num_tokens, num_heads))
    set_to(module.out_proj.weight, torch.eye(width))
    set_to(module.out_proj.bias, torch.zeros(width))
    yield from dropped_weights(module, one_hot_texts(1000, num_tokens), dropout, num_heads)


@probe(draws=5)
def later_tokens_beside_low_scores(unit: Any, draw: Draw) -> Iterator[Property]:
    num_tokens = draw.number + 2
    module = unit.MultiHeadAttention(num_tokens, num_tokens, num_tokens, 0.0, 1)
    set_to(module.out_proj.weight, torch.eye(num_tokens))
    set_to(module.out_proj.bias, torch.zeros(num_tokens))
    yield from causal_at_low_scores(module, LAYERS, num_tokens)


# -- answers -------------------------------------------------------------------------------------------------------


def wrong_answers():
    """Mistakes without a name, and answers with two. Never run here: the audit reads them."""

    import torch.nn as nn
    import torch.nn.functional as F

    class _Attention(nn.Module):
        """A right one, of which the wrong ones change a part."""

        def __init__(self, d_in, d_out, context_length, dropout, num_heads, qkv_bias=False):
            super().__init__()
            self.check(d_out, num_heads)
            self.num_heads, self.d_out = num_heads, d_out
            self.W_query, self.W_key, self.W_value = (nn.Linear(d_in, d_out, bias=qkv_bias) for _ in range(3))
            self.out_proj = nn.Linear(d_out, d_out)
            self.dropout = nn.Dropout(dropout)

        def check(self, d_out, num_heads):
            assert d_out % num_heads == 0

        def hidden(self, scores):
            return torch.ones(scores.shape[-2:]).triu(1) == 1

        def weights(self, q, k):
            scores = q @ k.mT / q.size(-1) ** 0.5
            return F.softmax(scores.masked_fill(self.hidden(scores), -torch.inf), dim=-1)

        def drop(self, weights):
            return self.dropout(weights)

        def merge(self, contexts):
            return contexts.transpose(1, 2).flatten(2)

        def forward(self, x):
            layers = self.W_query, self.W_key, self.W_value
            q, k, v = (layer(x).unflatten(2, (self.num_heads, -1)).transpose(1, 2) for layer in layers)
            return self.out_proj(self.merge(self.drop(self.weights(q, k)) @ v))

    class heads_not_transposed_back__and__check_left_to_reshape_in_the_module(_Attention):
        def check(self, d_out, num_heads):
            pass

        def merge(self, contexts):
            return contexts.contiguous().view(contexts.size(0), contexts.size(2), -1)

    class residual(_Attention):
        def forward(self, x):
            y = super().forward(x)
            return y + y.cumsum(1)

    class cosine_scores(_Attention):
        def weights(self, q, k):
            return super().weights(F.normalize(q, dim=-1), F.normalize(k, dim=-1))

    class sees_the_future_and_unscaled(_Attention):
        def weights(self, q, k):
            return F.softmax(q @ k.mT, dim=-1)

    class inputs_dropped(_Attention):
        def drop(self, weights):
            return weights

        def forward(self, x):
            return super().forward(self.dropout(x))

    class two_biases_of_three(_Attention):
        def __init__(self, d_in, d_out, context_length, dropout, num_heads, qkv_bias=False):
            super().__init__(d_in, d_out, context_length, dropout, num_heads, qkv_bias)
            self.W_key = nn.Linear(d_in, d_out, bias=False)

    class keys_dropped_for_all_queries(_Attention):
        def drop(self, weights):
            return weights * self.dropout(torch.ones_like(weights[:, :, :1]))

    class one_draw_for_all_heads(_Attention):
        def drop(self, weights):
            return weights * self.dropout(torch.ones_like(weights[:, :1]))

    class shapes_or_dtypes_do_not_match__mask_of_the_width(_Attention):
        def hidden(self, scores):
            return torch.ones(self.d_out, self.d_out).triu(1) == 1

    class kept_weights_of_another_size__keys_masked_at_random(_Attention):
        def drop(self, weights):
            return weights

        def weights(self, q, k):
            scores = q @ k.mT / q.size(-1) ** 0.5
            scores = scores.masked_fill(self.hidden(scores), -1e9)
            if self.training and self.dropout.p:
                scores = scores.masked_fill(torch.rand_like(scores) < self.dropout.p, -1e9)
            return F.softmax(scores, dim=-1)


def right_answers():
    """Answers in other styles. Never run here: the audit reads them."""

    import torch.nn as nn
    import torch.nn.functional as F

    # Names with an underscore are written for the same style in another exercise.
    from multi_head_attention import (
        _dropped,
        _Fused,
        _IndivisibleError,
        _is_past,
        _Projections,
        _weights_of,
        head_scores,
        head_weights,
        merge_heads,
        split_heads,
    )

    class by_the_book(nn.Module):
        def __init__(
            self, d_in: int, d_out: int, context_length: int, dropout: float, num_heads: int, qkv_bias: bool = False
        ):
            super().__init__()
            assert d_out % num_heads == 0, "d_out must be divisible by num_heads"
            self.d_out, self.num_heads, self.head_dim = d_out, num_heads, d_out // num_heads
            self.W_query = nn.Linear(d_in, d_out, bias=qkv_bias)
            self.W_key = nn.Linear(d_in, d_out, bias=qkv_bias)
            self.W_value = nn.Linear(d_in, d_out, bias=qkv_bias)
            self.out_proj = nn.Linear(d_out, d_out)
            self.dropout = nn.Dropout(dropout)
            self.register_buffer("mask", torch.triu(torch.ones(context_length, context_length), diagonal=1))

        def forward(self, x):
            b, num_tokens, _ = x.shape
            keys = self.W_key(x).view(b, num_tokens, self.num_heads, self.head_dim).transpose(1, 2)
            queries = self.W_query(x).view(b, num_tokens, self.num_heads, self.head_dim).transpose(1, 2)
            values = self.W_value(x).view(b, num_tokens, self.num_heads, self.head_dim).transpose(1, 2)
            attn_scores = queries @ keys.transpose(2, 3)
            attn_scores.masked_fill_(self.mask.bool()[:num_tokens, :num_tokens], -torch.inf)
            attn_weights = self.dropout(torch.softmax(attn_scores / keys.shape[-1] ** 0.5, dim=-1))
            context_vec = (attn_weights @ values).transpose(1, 2)
            return self.out_proj(context_vec.contiguous().view(b, num_tokens, self.d_out))

    class einsum(nn.Module):
        def __init__(self, d_in, d_out, context_length, dropout, num_heads, qkv_bias=False):
            super().__init__()
            if d_out % num_heads:
                raise ValueError("not divisible")
            self.h, self.p, self.context_length = num_heads, dropout, context_length
            self.out_proj = nn.Linear(d_out, d_out)
            for name in ("W_query", "W_key", "W_value"):
                setattr(self, name, nn.Linear(d_in, d_out, qkv_bias))

        def forward(self, x):
            assert x.size(1) <= self.context_length
            q, k, v = (layer(x).unflatten(2, (self.h, -1)) for layer in (self.W_query, self.W_key, self.W_value))
            a = torch.einsum("bqhd,bkhd->bhqk", q * q.size(-1) ** -0.5, k)
            a = a.where(_is_past(x.size(1)), torch.tensor(-1e9, dtype=x.dtype))
            a = F.dropout(a.softmax(dim=-1), p=self.p, training=self.training)
            out = self.out_proj.weight.unflatten(1, (self.h, -1))  # (d_out, d_out) -> (d_out, H, head_dim)
            return torch.einsum("bhqk,bkhd,ohd->bqo", a, v, out) + self.out_proj.bias

    class fused(_Fused):
        def __init__(self, d_in, d_out, context_length, dropout, num_heads, qkv_bias=False):
            super().__init__(d_in, d_out, context_length, dropout, num_heads, qkv_bias)
            self.out_proj = nn.Linear(d_out, d_out)

        def forward(self, x):
            return self.out_proj(self.attend(x))

    class loops(nn.Module):
        def __init__(self, d_in, d_out, context_length, dropout, num_heads, qkv_bias=False):
            super().__init__()
            self.size, rest = divmod(d_out, num_heads)
            if rest:
                raise _IndivisibleError(f"{d_out} / {num_heads}")
            self.W_key, self.W_value, self.W_query = (nn.Linear(d_in, d_out, bias=qkv_bias) for _ in range(3))
            self.out_proj = nn.Linear(d_out, d_out, bias=True)
            self.num_heads, self.p = num_heads, dropout

        def forward(self, inputs):
            outputs = torch.zeros(inputs.shape[0], inputs.shape[1], self.out_proj.out_features, dtype=inputs.dtype)
            for number, x in enumerate(inputs):
                queries, keys, values = self.W_query(x), self.W_key(x), self.W_value(x)
                for head in range(self.num_heads):
                    mine = slice(head * self.size, (head + 1) * self.size)
                    weights = _weights_of(queries[:, mine] @ keys[:, mine].T, self.size)
                    outputs[number, :, mine] = _dropped(weights, self.p, self.training) @ values[:, mine]
            print("attended", outputs.shape)
            return self.out_proj(outputs)

    class one_on_another(nn.Module):
        def __init__(self, d_in, d_out, context_length, dropout, num_heads, qkv_bias=False):
            super().__init__()
            split_heads(torch.empty(1, 1, d_out), num_heads)  # raises where they do not divide
            self.num_heads, self.head_dim = num_heads, d_out // num_heads
            self.W_query, self.W_key, self.W_value = (nn.Linear(d_in, d_out, bias=qkv_bias) for _ in range(3))
            self.out_proj, self.dropout = nn.Linear(d_out, d_out), nn.Dropout(dropout)

        def forward(self, inputs):
            layers = self.W_query, self.W_key, self.W_value
            queries, keys, values = (split_heads(layer(inputs), self.num_heads) for layer in layers)
            weights = self.dropout(head_weights(head_scores(queries, keys), self.head_dim))
            return self.out_proj(merge_heads(weights @ values))

    class ready_made(nn.Module):
        def __init__(self, d_in, d_out, context_length, dropout, num_heads, qkv_bias=False):
            super().__init__()
            # In a list, so not registered.
            self.parts = [_Projections(d_in, d_out, context_length, dropout, num_heads, qkv_bias)]
            self.W_query, self.W_key, self.W_value = self.parts[0].children()
            self.out_proj = nn.Linear(d_out, d_out)

        def forward(self, x):
            self.parts[0].train(self.training)
            return self.out_proj(self.parts[0](x))
