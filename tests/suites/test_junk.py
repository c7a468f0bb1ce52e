"""Junk earns nothing: an answer that computes nothing earns at most the points for what it has, such as its layers."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import pytest
import torch
from torch import Tensor, nn
from units import changed, passed

# -- results of the right shape ----------------------------------------------------------------------------------


def zeros(*arguments: Tensor, shape: tuple[int, ...] | torch.Size = ()) -> Tensor:
    """Return zeros of this shape, computed from all arguments: gradients flow, and are zero."""
    total = torch.stack([0 * argument.sum() for argument in arguments]).sum()
    return total + torch.zeros(shape, dtype=arguments[0].dtype)


def rolled(x: Tensor) -> Tensor:
    """Numbers that depend only on the length of x, in an order that would pass if all inputs had this order."""
    return (torch.arange(len(x)) + len(x) // 2) % len(x) + zeros(x, shape=(len(x),))


def middle(x: Tensor) -> Tensor:
    """All zero except in the middle, for any x."""
    return (torch.arange(len(x)) == len(x) // 2) + zeros(x, shape=(len(x),))


def place(num_positions: int) -> Tensor:
    return torch.arange(float(num_positions))[:, None]  # (T, 1)


def equal_shares(x: Tensor, *_: Any, dim: int = -1) -> Tensor:
    return torch.softmax(0 * x, dim)


def equal_shares_of_the_past(x: Tensor, *_: Any) -> Tensor:
    return torch.softmax((0 * x).masked_fill(torch.ones_like(x).triu(1) == 1, -torch.inf), -1)


def identity(x: Tensor, *_: Any) -> Tensor:
    return 0 * x + torch.eye(x.shape[-1], dtype=x.dtype)


def unrolled(x: Tensor, num_heads: int) -> Tensor:
    return x.unflatten(2, (num_heads, -1))  # (B, T, d_out) -> (B, T, H, head_dim)


def uniform_weights(state: Tensor, states: Tensor, *weights: Tensor) -> Tensor:
    """(T,): the same weight for every encoder state."""
    return zeros(state, states, *weights, shape=(len(states),)) + 1 / len(states)


def no_projections(dtype: torch.dtype, inputs: Tensor, W_query: Tensor, *_: Tensor) -> list[Tensor]:
    return [torch.zeros(len(inputs), W_query.shape[1], dtype=dtype, requires_grad=True) for _ in range(3)]


def no_attention(dtype: torch.dtype, queries: Tensor, keys: Tensor, values: Tensor) -> tuple[Tensor, Tensor]:
    contexts = torch.zeros(*queries.shape[:-1], values.shape[-1], dtype=dtype, requires_grad=True)
    return contexts, torch.zeros(*queries.shape[:-1], keys.shape[-2], dtype=dtype, requires_grad=True)


class Zeros(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        return 0 * x


SOFTMAX: list[Callable[..., Any]] = [
    lambda x, **_: middle(x),
    lambda x, **_: x,
    lambda x, **_: 0 * x,
    equal_shares,
]
MASKED: list[Callable[..., Any]] = [
    lambda x, *_: x,
    lambda x, *_: 0 * x,
    equal_shares,
    equal_shares_of_the_past,
    identity,
]
RUNNING_MEAN: list[Callable[..., Any]] = [lambda x: x, lambda x: 0 * x, lambda x: x[:, :1].expand_as(x)]
MODULES: list[Callable[..., Any]] = [lambda *_: nn.Identity(), lambda *_: Zeros(), lambda *_: None]
JUNK: dict[str, list[Callable[..., Any]]] = {
    "dot_product": [lambda *_: 0, lambda a, _: a],
    "attention_scores": [
        lambda query, inputs: zeros(query, shape=(len(inputs),)),
        lambda _, inputs: inputs.sum(-1),
        lambda query, inputs: torch.arange(len(inputs)) * query.sum(),
        lambda _, inputs: rolled(inputs),
    ],
    "normalize_by_sum": [
        lambda scores: scores,
        lambda scores: 0 * scores,
        lambda scores: 0 * scores + 1 / len(scores),
        middle,
    ],
    "softmax_naive": SOFTMAX,
    "softmax_stable": SOFTMAX,
    "context_vector": [
        lambda _, inputs: inputs[0],
        lambda weights, inputs: zeros(weights, shape=(inputs.shape[1],)),
        lambda _, inputs: inputs.mean(0),
    ],
    "simple_self_attention": [
        lambda inputs: (inputs, 0 * inputs @ inputs.T),
        lambda inputs: (inputs, identity(inputs @ inputs.T)),
        lambda inputs: (0 * inputs, equal_shares(inputs @ inputs.T)),
    ],
    "project_qkv": [partial(no_projections, dtype) for dtype in (torch.float32, torch.float64)],
    "scaled_dot_product_attention": [partial(no_attention, dtype) for dtype in (torch.float32, torch.float64)],
    "transfer_weights": [lambda *_: None],
    "causal_mask": [
        lambda count: torch.zeros(count, count, dtype=torch.bool),
        lambda count: torch.ones(count, count, dtype=torch.bool),
        lambda count: torch.eye(count, dtype=torch.bool),
        lambda count: torch.rand(count, count) > 0.5,
        lambda count: count,
    ],
    "mask_then_renormalize": MASKED,
    "mask_then_softmax": MASKED,
    "attention_dropout": [
        lambda weights, *_, **__: weights,
        lambda weights, *_, **__: 0 * weights,
        lambda weights, p, **__: weights / (1 - p),
        lambda weights, *_, **__: torch.rand(weights.shape) + 0 * weights,
    ],
    "unroll_heads": [
        lambda x, _: x,
        lambda x, num_heads: 0 * unrolled(x, num_heads),
        lambda x, num_heads: torch.randn_like(unrolled(x, num_heads)),
    ],
    "group_by_head": [lambda x: x, lambda x: 0 * x.transpose(1, 2)],
    "head_scores": [lambda queries, _: queries, lambda queries, keys: 0 * queries @ keys.mT],
    "head_weights": [
        lambda scores, _: scores,
        lambda scores, _: scores.tril(),
        lambda scores, _: 0 * scores,
        identity,
        equal_shares,
    ],
    "split_heads": [lambda x, _: x, lambda x, num_heads: 0 * unrolled(x, num_heads).transpose(1, 2)],
    "merge_heads": [lambda x: x, lambda x: 0 * x.transpose(1, 2).flatten(2)],
    "MultiHeadAttentionWrapper": [lambda *_, **__: nn.Identity()],
    "two_dimensional_output": [lambda *_: None, lambda d_in, _: nn.Linear(d_in, 2, bias=False)],
    "MultiHeadAttention": [lambda *_, **__: nn.Identity()],
    "stack_heads": [lambda *_: None],
    "gpt2_small_attention": [lambda: None, lambda: nn.Linear(768, 768)],
    "linear_as_matmul": [
        lambda x, weight, _: 0 * x @ weight,
        lambda x, weight, bias: 0 * x @ weight + bias,
        lambda x, weight, _: x.mean(1, keepdim=True) + 0 * x @ weight,
        lambda x, *_: x,
    ],
    "sinusoidal_encoding": [
        lambda *sizes: torch.zeros(sizes),
        lambda *sizes: torch.ones(sizes),
        lambda *sizes: torch.rand(sizes),
        lambda *sizes: torch.eye(*sizes),
        lambda *sizes: torch.tensor([0.0, 1.0]).repeat(sizes[0], sizes[1] // 2),
        lambda *sizes: place(sizes[0]).expand(sizes),
        lambda *sizes: place(sizes[0]).expand(sizes) / sizes[0],
    ],
    "add_positions": [
        lambda x: x,
        lambda x: x.clone(),
        lambda x: 0 * x,
        lambda x: x + 1,
        lambda x: x + place(x.shape[1]),
        lambda x: x + torch.randn(x.shape, dtype=x.dtype),
    ],
    "build_vocabulary": [lambda text: text, lambda _: [], lambda _: ["a", "b"]],
    "encode": [
        lambda text, _: text,
        lambda *_: [],
        lambda text, _: [0] * len(text),
        lambda text, _: [ord(character) % 2 for character in text],
    ],
    "decode": [lambda ids, _: ids, lambda *_: "", lambda ids, vocabulary: vocabulary[0] * len(ids)],
    "sample_batch": [
        lambda _, T, B, **__: (torch.zeros(B, T), torch.zeros(B, T)),
        lambda data, T, B, **_: (data[:T].expand(B, T), data[1 : T + 1].expand(B, T)),
        lambda _, T, B, **__: (torch.randint(9, (B, T)), torch.randint(9, (B, T))),
    ],
    "flatten_for_cross_entropy": [
        lambda logits, targets: (logits, targets),
        lambda logits, targets: (zeros(logits, shape=(targets.numel(), logits.shape[2])), targets.flatten()),
        lambda logits, targets: (logits[0, :1].expand(targets.numel(), -1), targets[0, :1].expand(targets.numel())),
    ],
    "cross_entropy": [
        lambda logits, _: zeros(logits),
        lambda logits, _: zeros(logits) + torch.tensor(logits.shape[1]).log(),
        lambda logits, _: logits.mean(),
        lambda logits, _: logits,
    ],
    "running_mean_loop": RUNNING_MEAN,
    "running_mean_matmul": RUNNING_MEAN,
    "running_mean_softmax": RUNNING_MEAN,
    "LayerNorm": [*MODULES, lambda *_: nn.Softmax(dim=-1)],
    "FeedForward": [*MODULES, lambda *_: nn.ReLU()],
    "Residual": MODULES,
    "TransformerBlock": [*MODULES, lambda *_: nn.LayerNorm(7)],
    "stack_blocks": [*MODULES, lambda *_: []],
    "gpt2_parameter_count": [
        lambda *_: 0,
        lambda *_: 124_439_808,
        lambda num_layers, *_: num_layers,
        lambda *_: None,
    ],
    "rnn_hidden_states": [
        lambda inputs, *_: inputs,
        lambda inputs, *others: zeros(*others, shape=(len(inputs), len(others[-1]))),
        lambda inputs, *others: zeros(*others, shape=(len(inputs), len(others[-1]))) + 1,
        lambda inputs, *others: others[-1].expand(len(inputs), -1),
    ],
    "additive_scores": [
        lambda *given: zeros(*given, shape=(len(given[1]),)),
        lambda *given: zeros(*given) + torch.arange(len(given[1])),
        # A result that depends only on the length would pass if the inputs always had the same order.
        lambda *given: zeros(*given) + torch.arange(len(given[1])).roll(len(given[1]) // 2),
        lambda _, states, *__: states.sum(-1),
    ],
    "bahdanau_context": [
        lambda state, *_: state,
        lambda state, states, *weights: (state, uniform_weights(state, states, *weights)),
        lambda state, states, *weights: (states.mean(0), uniform_weights(state, states, *weights)),
        lambda *given: (given[1][-1], torch.eye(len(given[1]))[-1] + zeros(*given)),
    ],
    "generate_text": [lambda *_, **__: None, lambda _model, idx, *_, **__: idx[:, :0]],
}


@pytest.mark.parametrize("exercise", JUNK)
def test_junk_of_the_right_shape_earns_nothing(exercise: str) -> None:
    earned = [passed(exercise, {exercise: junk}) for junk in JUNK[exercise]]
    assert earned == [set()] * len(earned)


def test_a_model_without_text_earns_at_most_the_points_for_dropping_nothing() -> None:
    for junk in (*MODULES, lambda *_: WithoutText()):
        assert passed("SmallGPT", {"SmallGPT": junk}) <= {
            "nothing_is_dropped_in_eval_mode",
            "nothing_is_dropped_without_dropout",
        }


class WithoutText(nn.Module):
    def forward(self, idx: Tensor) -> Tensor:
        return torch.zeros(*idx.shape, 7)


# -- solutions with a changed part -------------------------------------------------------------------------------

SELF_LAYERS = {
    "three_matrices_are_parameters",
    "three_layers_from_d_in_to_d_out",
    "no_layer_has_a_bias_by_default",
    "every_layer_has_a_bias_on_demand",
}
CAUSAL_LAYERS = {
    "three_layers_from_d_in_to_d_out",
    "no_layer_has_a_bias_by_default",
    "every_layer_has_a_bias_on_demand",
}
HEAD_LAYERS = {"three_layers_from_n_embd_to_head_size", "no_layer_has_a_bias"}
CROSS_LAYERS = {"three_layers_of_two_widths", "no_layer_has_a_bias"}
MULTI_HEAD_LAYERS = {
    "four_layers",
    "no_bias_by_default",
    "three_biases_on_demand",
    "heads_that_do_not_divide_are_refused",
}
IS_CAUSAL = "no_output_depends_on_a_later_token"

SCORES = "queries @ keys"
WITHOUT_QUERIES, WITHOUT_KEYS = "torch.ones_like(queries) @ keys", "queries @ torch.ones_like(keys)"
SOFTMAX_OF_SCORES = "torch.softmax(scores, dim=-1)"
CAUSAL_SOFTMAX = "torch.softmax(masked / d_out**0.5, dim=-1)"
CROSS_SOFTMAX = "torch.softmax(scores / keys.shape[-1] ** 0.5, dim=-1)"
HEAD_SOFTMAX = "torch.softmax(masked / head_dim**0.5, dim=-1)"
DIAGONAL = "torch.eye(*scores.shape[-2:], dtype=scores.dtype).expand_as(scores)"
RETURNED = "weights @ values"

LOOKED_UP = "logits = self.token_embedding_table(idx)"
NO_GRAD = "with torch.no_grad():"
NEW_TOKENS = "for _ in range(max_new_tokens):"
ZERO_TOKENS = "return torch.cat([idx, idx.new_zeros(len(idx), max_new_tokens)], dim=1)"


def forward_returns(result: str) -> dict[str, str]:
    begin = "def forward(self, x: torch.Tensor) -> torch.Tensor:"
    return {begin: f"{begin}\n        return {result}"}


# What is graded, and what it earns: by default the exercise that is changed.
CHANGED: list[tuple[str, dict[str, str], set[str]]] = [
    *(
        ("scaled_dot_product_attention", {SOFTMAX_OF_SCORES: weights}, SELF_LAYERS)
        for weights in (
            "torch.ones_like(scores) / keys.shape[-2]",
            "torch.softmax(0 * scores, dim=-1)",
            DIAGONAL,
            f"{DIAGONAL}.roll(1, dims=-1)",
            "torch.softmax(0 * scores + keys.sum(-1).unsqueeze(-2), dim=-1)",
            "torch.softmax(queries[..., :1] * torch.arange(keys.shape[-2], dtype=keys.dtype), dim=-1)",
        )
    ),
    ("CausalAttention", {RETURNED: f"0 * {RETURNED}"}, CAUSAL_LAYERS),
    ("CausalAttention", {RETURNED: "inputs"}, CAUSAL_LAYERS),
    ("CausalAttention", {RETURNED: "self.dropout(values)"}, CAUSAL_LAYERS),
    ("CausalAttention", {CAUSAL_SOFTMAX: "(0 * scores + torch.ones_like(scores).tril(-1).triu(-1))"}, CAUSAL_LAYERS),
    # Of these it is true that no output depends on a later token, though they compare nothing.
    ("CausalAttention", {SCORES: f"0 * {SCORES}"}, {*CAUSAL_LAYERS, IS_CAUSAL}),
    ("CausalAttention", {SCORES: WITHOUT_QUERIES}, {*CAUSAL_LAYERS, IS_CAUSAL}),
    ("CausalAttention", {SCORES: WITHOUT_KEYS}, {*CAUSAL_LAYERS, IS_CAUSAL}),
    ("Head", {RETURNED: f"0 * {RETURNED}"}, HEAD_LAYERS),
    ("Head", {RETURNED: "x"}, HEAD_LAYERS),
    ("Head", {RETURNED: "self.dropout(values)"}, HEAD_LAYERS),
    ("Head", {SCORES: WITHOUT_KEYS}, {*HEAD_LAYERS, IS_CAUSAL}),
    ("CrossAttention", {RETURNED: f"0 * {RETURNED}"}, CROSS_LAYERS),
    ("CrossAttention", {RETURNED: f"queries + 0 * {RETURNED}"}, CROSS_LAYERS),
    (
        "CrossAttention",
        {CROSS_SOFTMAX: f"(0 * {CROSS_SOFTMAX} + torch.eye(scores.shape[-1], dtype=scores.dtype)[0])"},
        CROSS_LAYERS,
    ),
    ("CrossAttention", {SCORES: WITHOUT_QUERIES}, CROSS_LAYERS),
    ("CrossAttention", {SCORES: WITHOUT_KEYS}, CROSS_LAYERS),
    ("head_weights", {HEAD_SOFTMAX: "torch.zeros_like(scores)"}, MULTI_HEAD_LAYERS),
    (
        "head_weights",
        {HEAD_SOFTMAX: DIAGONAL},
        {*MULTI_HEAD_LAYERS, "the_heads_pass_through_out_proj"},  # tested with a single token
    ),
    (
        "MultiHeadAttentionWrapper",
        {"torch.cat(": "0 * torch.cat("},
        {"heads_is_a_list_of_modules", "every_head_has_its_own_weights", "no_head_has_a_bias_by_default"},
    ),
    (
        "attention_dropout",
        {"weights * keep / (1 - p)": "torch.bernoulli(torch.full_like(weights, 0.5))"},
        {
            "a_negative_p_is_refused",
            "a_p_of_one_or_more_is_refused",
            "each_weight_is_dropped_by_itself",
            "weights_of_any_shape",
            "without_a_generator_the_global_one_is_used",
        },
    ),
    (
        "sinusoidal_encoding",
        {"torch.cos(": "-torch.cos("},
        {"sines_of_the_right_frequencies", "any_number_of_positions", "an_odd_width_is_refused"},
    ),
    (
        "BigramLanguageModel",
        {LOOKED_UP: f"return None\n        {LOOKED_UP}", NEW_TOKENS: f"return idx\n        {NEW_TOKENS}"},
        {"the_table_is_an_embedding"},
    ),
    (
        "BigramLanguageModel",
        {LOOKED_UP: f"return None\n        {LOOKED_UP}", NEW_TOKENS: f"{ZERO_TOKENS}\n        {NEW_TOKENS}"},
        {"the_table_is_an_embedding", "no_new_token_gives_the_prompt", "generating_leaves_idx_alone"},
    ),
    *(
        (exercise, forward_returns(result), earned)
        for result in ("x", "0 * x", "torch.ones_like(x)")
        for exercise, earned in {
            "LayerNorm": {"scale_and_shift_are_parameters"},
            "FeedForward": {"two_layers_of_the_expanded_width", "the_default_expansion", "both_layers_have_a_bias"},
            "Residual": {"the_parameters_of_sublayer_are_found"},
            "TransformerBlock": {
                "norm1_and_norm2_are_layer_norms",
                "the_parameters_of_both_modules_are_found",
            },
        }.items()
    ),
    (
        "generate_text",
        {NO_GRAD: f"{ZERO_TOKENS}\n    {NO_GRAD}"},
        {"no_new_token_gives_the_prompt", "the_mode_of_the_model_is_kept", "generating_leaves_idx_alone"},
    ),
]
# An exercise that these later ones call is graded as a part of theirs.
CALLED_BY = {
    "scaled_dot_product_attention": ("scaled_dot_product_attention", "SelfAttention_v1", "SelfAttention_v2"),
    "head_weights": ("MultiHeadAttention",),
}


@pytest.mark.parametrize(("exercise", "changes", "earned"), CHANGED)
def test_a_solution_that_computes_nothing_earns_only_the_points_for_what_it_has(
    exercise: str, changes: dict[str, str], earned: set[str]
) -> None:
    names = changed(exercise, changes)
    found = [passed(graded, names) for graded in CALLED_BY.get(exercise, (exercise,))]
    assert set().union(*found) == earned
