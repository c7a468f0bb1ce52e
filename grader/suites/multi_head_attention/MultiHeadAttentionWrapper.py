"""MultiHeadAttentionWrapper: hidden tests, known mistakes and right answers."""

from __future__ import annotations

import functools
from collections.abc import Iterator
from typing import Any

import torch
import torch.nn as nn

from grader.suites.attention_probes import dropped_weights, one_hot_texts, unit_values
from grader.suites.multi_head_attention.shared import (
    CONTEXT,
    D_IN,
    HEAD_DIM,
    INPUTS_CHANGED,
    LAYERS,
    B,
    CausalHead,
    H,
    P,
    T,
    causal_attention,
    expect_bias,
    expect_module,
    fresh_layers,
    head_layers,
    names_in_heads,
    side_by_side,
    with_gradients,
)
from grader.testing.checks import (
    Weights,
    equals,
    expect_close,
    expect_gradients,
    expect_layer,
    expect_no_bias,
    expect_same,
    expect_tensor,
    expect_true,
    expect_values,
    no_parameter,
    set_layers,
)
from grader.testing.draws import Fresh, numbers
from grader.testing.misconceptions import mistake, replace
from grader.testing.probes import PROBABILITIES, Draw, Property, call, layers, probe, set_drawn_layers, set_to
from grader.testing.student import RemoteObject, Student
from grader.testing.suite import Example, rule


def wrapper_made(student: Student, heads: int, dropout: float = 0.0, d_in: int = D_IN, **options: bool) -> RemoteObject:
    causal_attention(student)
    return expect_module(student.MultiHeadAttentionWrapper(d_in, HEAD_DIM, CONTEXT, dropout, heads, **options))


def wrapper_of(
    student: Student,
    fresh: Fresh,
    heads: int,
    dropout: float = 0.0,
    dtype: torch.dtype = torch.float32,
    d_in: int = D_IN,
) -> tuple[RemoteObject, Weights]:
    """Return a wrapper and its weights."""
    wrapper = wrapper_made(student, heads, dropout, d_in)
    if dtype == torch.float64:
        wrapper.to(dtype)
    weights = {n: value.to(dtype) for n, value in fresh_layers(fresh, head_layers(heads), d_in, HEAD_DIM).items()}
    set_layers(wrapper, weights)
    return wrapper, weights


@rule("heads is an nn.ModuleList of num_heads causal attention modules, each from d_in to d_out")
def test_heads_is_a_list_of_modules(student: Student) -> None:
    """heads should be an nn.ModuleList with num_heads modules, whose three layers each go from d_in to d_out."""
    heads = expect_module(wrapper_made(student, H).get("heads"))
    expect_true("torch.nn.modules.container.ModuleList" in heads.kinds, "heads is not an nn.ModuleList.")
    expect_true(equals(heads.method("__len__")(), H), "heads does not have num_heads modules.")
    for head in range(H):
        parameters = expect_module(heads.method("__getitem__")(head)).parameters()
        for name in LAYERS:
            expect_layer(parameters, name, D_IN, HEAD_DIM)


@rule("every head has its own weights")
def test_every_head_has_its_own_weights(student: Student, fresh: Fresh) -> None:
    """Each head should have its own W_query, W_key and W_value: a change in one should not change another."""
    wrapper = wrapper_made(student, H)
    parameters = wrapper.parameters()
    # A shared module or layer is listed only once, under its first name.
    for name in head_layers(H):
        expect_true(f"{name}.weight" in parameters, no_parameter(f"{name}.weight"))
    weights = {f"{name}.weight": fresh(*parameters[f"{name}.weight"].shape) for name in head_layers(H)}
    wrapper.set(weights)
    after = wrapper.parameters()
    kept = all(torch.equal(after[name], value) for name, value in weights.items())
    expect_true(kept, "Two layers share their weights: a change in one has changed another.")


@rule("the output is the concatenation of the heads' outputs, head 0 first")
def test_heads_side_by_side(student: Student, fresh: Fresh) -> None:
    """Each token's output should be the outputs of all heads, concatenated in order: (B, T, H · d_out)."""
    # In the second case a head is as wide as its inputs: if not, values without a projection have the wrong shape.
    for d_in in (D_IN, HEAD_DIM):
        wrapper, weights = wrapper_of(student, fresh, H, d_in=d_in)
        inputs = fresh(B, T, d_in)
        inputs[0, 1] = 0.0  # its scores are zero: a mask that is found by its zeros hides them too
        expect_close(wrapper(inputs), side_by_side(student, inputs, weights), "The outputs")


WRAPPER_BIAS = (
    "W_query, W_key and W_value of each head are nn.Linear without bias unless qkv_bias=True; then each layer adds "
    "its own bias"
)


@rule(WRAPPER_BIAS)
def test_no_head_has_a_bias_by_default(student: Student) -> None:
    """The layers of the heads should have no bias if the caller does not ask for one."""
    expect_no_bias(wrapper_made(student, 1).parameters(), head_layers(1))


@rule(WRAPPER_BIAS)
def test_every_head_has_biases_on_demand(student: Student, fresh: Fresh) -> None:
    """With qkv_bias=True, each layer of each head should have a bias and add it."""
    wrapper = wrapper_made(student, 1, qkv_bias=True)
    parameters = wrapper.parameters()
    for name in head_layers(1):
        expect_bias(parameters, name, HEAD_DIM)
    weights, inputs = fresh_layers(fresh, head_layers(1), D_IN, HEAD_DIM, bias=True), fresh(B, T, D_IN)
    wrapper.set(weights)
    expect_close(wrapper(inputs), side_by_side(student, inputs, weights), "The outputs")


@rule("any number of tokens up to context_length")
def test_the_wrapper_takes_any_number_of_tokens(student: Student, fresh: Fresh) -> None:
    """The wrapper should work for any number of tokens, from a single one up to context_length."""
    wrapper, weights = wrapper_of(student, fresh, 1)
    for count in (CONTEXT, 1, T):
        inputs = fresh(B, count, D_IN)
        expect_close(wrapper(inputs), side_by_side(student, inputs, weights), "The outputs")


@rule("dropout acts on each head's weights, in training only")
def test_the_wrapper_drops_weights_in_training_only(student: Student, fresh: Fresh) -> None:
    """In training some weights should be dropped, and the kept ones scaled up; after .eval() neither."""
    # A single token gives itself all its weight: a head's output is its value, or zero if the weight is dropped. The
    # probability that none of eighty weights is dropped is 0.75^80 = 1e-10. That all are dropped is far less likely.
    wrapper, weights = wrapper_of(student, fresh, 1, dropout=P)
    inputs = fresh(80, 1, D_IN)
    expected = side_by_side(student, inputs, weights)
    wrapper.eval()
    expect_close(wrapper(inputs), expected, "The outputs after .eval()")
    wrapper.train()
    expect_dropped(expect_tensor(wrapper(inputs), (80, 1, HEAD_DIM)), expected, causal_attention(student) is CausalHead)


def expect_dropped(outputs: torch.Tensor, expected: torch.Tensor, by_weights: bool) -> None:
    """Expect every output to be zero or its expected value divided by 1 - P, and both to occur.

    by_weights: whether the heads drop weights; their substitutes drop features. No value that depends on the draws is
    recorded.
    """
    is_zero = outputs == 0
    expect_true(not torch.allclose(outputs.double(), expected, rtol=1e-4, atol=1e-5), "Nothing is dropped in training.")
    expect_true(bool(is_zero.any()), "No output is zero, although some weights should be dropped.")
    kept = torch.isclose(outputs.double(), expected / (1 - P), rtol=1e-4, atol=1e-5)
    # If a weight is dropped, all features of its head are zero.
    is_whole = not by_weights or bool((is_zero.all(-1) == is_zero.any(-1)).all())
    expect_true(
        is_whole or bool((is_zero | kept).all()),
        "Features are dropped, and the kept ones are not divided by 1 - dropout.",
    )
    expect_true(bool((is_zero | kept).all()), "The kept values are not divided by 1 - dropout.")
    expect_true(is_whole, "Features are dropped, not weights.")
    expect_true(not bool(is_zero.all()), "Everything is dropped in training.")


@rule("gradients reach the inputs and the weights of all heads")
def test_gradients_of_the_wrapper(student: Student, fresh: Fresh) -> None:
    """Gradients of the output should reach the three layers of each head, and the inputs."""
    wrapper, weights = wrapper_of(student, fresh, 2)
    inputs = fresh(B, T, D_IN)
    expected = with_gradients(functools.partial(side_by_side, student), inputs, weights)
    _, found = expect_values(wrapper.gradients(inputs), 2)
    expect_gradients(found, expected)


@rule("works in float64 after .double()")
def test_the_wrapper_in_float64(student: Student, fresh: Fresh) -> None:
    """After .double() the wrapper should take float64 inputs and give the correct output."""
    wrapper, weights = wrapper_of(student, fresh, 1, dtype=torch.float64)
    inputs = fresh(B, T, D_IN, dtype=torch.float64)
    expect_close(wrapper(inputs), side_by_side(student, inputs, weights), "The outputs")


@rule("the inputs are not changed")
def test_the_wrapper_leaves_the_inputs_alone(student: Student, fresh: Fresh) -> None:
    """The output should be correct, and the call should not change the inputs."""
    wrapper, weights = wrapper_of(student, fresh, 1)
    inputs = fresh(B, T, D_IN)
    output, [after] = expect_values(wrapper.with_arguments(inputs), 2)
    expect_close(output, side_by_side(student, inputs, weights), "The outputs")
    expect_same(after, inputs, "The inputs were changed.")


EXAMPLE = Example({"inputs": numbers(2, 3, 4) / 2},
                  made={"d_in": 4, "d_out": 2, "context_length": 8, "dropout": 0.0, "num_heads": 3},
                  parameters={f"{name}.weight": numbers(2, 4, seed=seed) for seed, name in enumerate(head_layers(3))},
                  also={"gradients": "gradients reach the inputs and the weights of all heads",
                        "float64": "works in float64 after .double()",
                        "kept": "the inputs are not changed"})  # fmt: skip


# -- misconceptions ------------------------------------------------------------------------------------------------

STACKED = (
    "The heads are a separate dimension in the output. torch.cat joins along an existing dimension, but torch.stack "
    "makes a new one."
)
# The head that MultiHeadAttentionWrapper makes num_heads times, and its output.
HEAD = "CausalAttention(d_in, d_out, context_length, dropout, qkv_bias)"
SIDE_BY_SIDE = "torch.cat([head(inputs) for head in self.heads], dim=-1)"
PROJECTED = "head.W_query(inputs), head.W_key(inputs), head.W_value(inputs), None, head.dropout.p * head.training"
CALLS = ["CausalAttention"]

MISCONCEPTIONS = [
    mistake("heads_in_a_plain_list", replace("nn.ModuleList(", "list("),
        "The heads are in a plain list, and nn.Module does not search there: an optimiser does not find their "
        "weights. Use nn.ModuleList."),
    mistake("heads_in_a_sequence",
        replace("nn.ModuleList(", "nn.Sequential(*(").replace("range(num_heads)", "range(num_heads))")
        .replace(SIDE_BY_SIDE, "self.heads(inputs)"),
        "nn.Sequential passes the inputs through one head after the other. But each head should get the same inputs: "
        "use nn.ModuleList."),
    mistake("one_head_many_times", replace(f"{HEAD} for _ in range(num_heads)", f"num_heads * [{HEAD}]"),
        "All heads are the same module, or share their layers, so they always have the same weights. Make a new "
        "module for each head."),
    mistake("always_two_heads", replace("range(num_heads)", "range(2)"),
        "There is always the same number of heads, as in the worked example. Use the argument num_heads."),
    mistake("d_out_shared_out_among_heads", replace("d_out, context", "max(1, d_out // num_heads), context"),
        "Each head has only d_out / num_heads features. In this wrapper every head is d_out wide, and the output is "
        "num_heads times as wide. Splitting d_out comes in the next class."),
    mistake("outputs_added_up", replace("torch.cat", "torch.stack").replace("dim=-1)", "dim=0).sum(dim=0)"),
        "The heads' outputs are added up. Concatenate them, so that each head has its own features: torch.cat along "
        "the last dimension."),
    mistake("outputs_stacked_at_the_end", replace("torch.cat", "torch.stack"), STACKED),
    mistake("outputs_stacked_in_front", replace("torch.cat", "torch.stack").replace("dim=-1", "dim=0"), STACKED),
    mistake("joined_along_the_tokens", replace("dim=-1", "dim=1"),
        "The heads' outputs are joined along the tokens, so the sequence becomes longer. Join the features: dim=-1."),
    mistake("joined_along_the_batch", replace("dim=-1", "dim=0"),
        "The heads' outputs are joined along the batch, so there are more sequences. Join the features: dim=-1."),
    mistake("heads_that_see_the_future",
        replace("head(inputs)", f"nn.functional.scaled_dot_product_attention({PROJECTED})"),
        "The heads see the future: they are self-attention without a mask. Use the causal attention of unit 3."),
    mistake("bias_not_handed_on", replace(", qkv_bias)", ")"),
        "qkv_bias is not passed on, so no head has a bias even if the caller asks for one. Pass it to every head."),
    mistake("bias_in_every_head", replace("qkv_bias: bool = False", "qkv_bias: bool = True"),
        "The heads have a bias even if the caller does not ask for one. Pass qkv_bias on to every head; its default "
        "is False."),
    mistake("context_of_the_worked_example", replace("context_length, dropout", "6, dropout"),
        "The heads take fewer tokens than context_length. Pass the argument on to every head, and not the number of "
        "the worked example."),
    mistake("dropout_not_handed_on", replace("dropout, qkv_bias", "0.0, qkv_bias"),
        "dropout is not passed on, so nothing is ever dropped. Pass it to every head."),
    mistake("outputs_dropped_once_more", replace(SIDE_BY_SIDE, f"self.heads[0].dropout({SIDE_BY_SIDE})"),
        "The outputs are dropped too, although the heads have already dropped weights. Pass dropout on to the heads, "
        "and do nothing else."),
    mistake("inputs_made_float32", replace("head(inputs)", "head(inputs.float())"),
        "The inputs are made float32, so they do not match float64 heads. Keep the dtype of the inputs."),
    mistake("lonely_token_squeezed", replace("dim=-1)", "dim=-1).squeeze()"),
        "`squeeze()` removes every dimension of size one, so a single token loses its row."),
    mistake("inputs_changed_in_place",
        replace("return torch", "output = torch")
        .replace("dim=-1)", "dim=-1)\n        inputs -= inputs.mean(dim=-1, keepdim=True)\n        return output"),
        INPUTS_CHANGED),
    mistake("another_layer_behind_the_heads",
        replace("range(num_heads)\n        )",
                "range(num_heads)\n        )\n        self.out_proj = nn.Linear(num_heads * d_out, num_heads * d_out)")
        .replace(SIDE_BY_SIDE, f"self.out_proj({SIDE_BY_SIDE})"),
        "The concatenated outputs pass through another layer, such as out_proj. This wrapper only concatenates; the "
        "next class has a last layer."),
]  # fmt: skip


# -- probes --------------------------------------------------------------------------------------------------------


@probe(draws=500)
def heads_side_by_side(unit: Any, draw: Draw) -> Iterator[Property]:
    d_in, d_out, num_tokens = draw.sizes(3)
    num_heads, context_length = draw.size(1, 4), num_tokens + draw.pick(0, 0, 1, 5)
    options = draw.pick({}, {"qkv_bias": True}, {"qkv_bias": False})
    dropout = draw.pick(0.0, 0.5)
    module = unit.MultiHeadAttentionWrapper(d_in, d_out, context_length, dropout, num_heads, **options)
    yield "the type and length of heads", (isinstance(module.heads, nn.ModuleList), len(module.heads))
    yield from layers(module, names_in_heads(num_heads))
    module.to(draw.dtype).train(dropout == 0 and draw.chance(0.5))
    parameters = set_drawn_layers(draw, module, names_in_heads(num_heads))
    yield from call(module, draw.normal(draw.size(1, 3), num_tokens, d_in), parameters=parameters)


@probe(draws=4)
def weights_dropped_in_each_head(unit: Any, draw: Draw) -> Iterator[Property]:
    num_tokens, num_heads, dropout = 3, 2, PROBABILITIES[draw.number]
    module = unit.MultiHeadAttentionWrapper(num_tokens, 2 * num_tokens, draw.pick(3, 5), dropout, num_heads)
    set_drawn_layers(draw, module, names_in_heads(num_heads))
    for head in module.heads:
        set_to(head.W_value.weight, unit_values(num_tokens))
    yield from dropped_weights(module, one_hot_texts(1000, num_tokens), dropout, num_heads)


# -- answers -------------------------------------------------------------------------------------------------------


def wrong_answers():
    """Mistakes without a name, and answers with two. Never run here: the audit reads them."""

    import torch.nn.functional as F

    class _Head(nn.Module):
        def __init__(self, d_in, d_out, context_length, dropout, qkv_bias=False):
            super().__init__()
            self.W_query, self.W_key, self.W_value = (nn.Linear(d_in, d_out, bias=qkv_bias) for _ in range(3))
            self.dropout = nn.Dropout(dropout)

        def forward(self, x):
            scores = self.W_query(x) @ self.W_key(x).mT / self.W_key.out_features**0.5
            future = torch.ones(x.size(1), x.size(1)).triu(1) == 1
            return self.dropout(F.softmax(scores.masked_fill(future, -torch.inf), dim=-1)) @ self.W_value(x)

    class _Right(nn.Module):
        def __init__(self, d_in, d_out, context_length, dropout, num_heads, qkv_bias=False):
            super().__init__()
            made = [_Head(d_in, d_out, context_length, dropout, qkv_bias) for _ in range(num_heads)]
            self.heads = nn.ModuleList(made)

        def forward(self, x):
            return torch.cat([head(x) for head in self.heads], dim=-1)

    class bias_not_handed_on__and__dropout_not_handed_on(_Right):
        def __init__(self, d_in, d_out, context_length, dropout, num_heads, qkv_bias=False):
            super().__init__(d_in, d_out, context_length, 0.0, num_heads)

    class outputs_added_up__and__bias_not_handed_on(_Right):
        def __init__(self, d_in, d_out, context_length, dropout, num_heads, qkv_bias=False):
            super().__init__(d_in, d_out, context_length, dropout, num_heads)

        def forward(self, x):
            return sum(head(x) for head in self.heads)

    class tanh_behind(_Right):
        def forward(self, x):
            return torch.tanh(super().forward(x))

    class last_head_forgotten(_Right):
        def forward(self, x):
            return torch.cat([head(x) for head in self.heads[: max(1, len(self.heads) - 1)]], dim=-1)

    class shuffles_the_features(_Right):
        def forward(self, x):
            return torch.stack([head(x) for head in self.heads], dim=-1).flatten(2)

    class flips_the_tokens(_Right):
        def forward(self, x):
            return super().forward(x).flip(1)

    class each_head_gets_its_part_of_the_inputs(_Right):
        def forward(self, x):
            return torch.cat([h(part) for h, part in zip(self.heads, x.chunk(len(self.heads), dim=1))], dim=-1)

    class one_head_after_the_other(_Right):
        def forward(self, x):
            for head in self.heads:
                x = head(x)
            return x

    class _Dropping(_Right):
        def __init__(self, d_in, d_out, context_length, dropout, num_heads, qkv_bias=False):
            super().__init__(d_in, d_out, context_length, 0.0, num_heads, qkv_bias)
            self.dropout = nn.Dropout(dropout)

    class inputs_dropped(_Dropping):
        def forward(self, x):
            return super().forward(self.dropout(x))

    class features_dropped(_Dropping):
        def forward(self, x):
            return self.dropout(super().forward(x))

    class half_the_dropout(_Right):
        def __init__(self, d_in, d_out, context_length, dropout, num_heads, qkv_bias=False):
            super().__init__(d_in, d_out, context_length, dropout / 2, num_heads, qkv_bias)


def right_answers():
    """Answers in other styles. Never run here: the audit reads them."""

    import math

    import torch.nn.functional as F
    from causal_attention import CausalAttention

    # Names with an underscore are written for the same style in another exercise.
    from multi_head_attention import _hiding, _is_past, _weights_of, merge_heads, split_heads
    from torch import Tensor

    class _CausalAttention(nn.Module):
        def __init__(self, d_in: int, d_out: int, context_length: int, dropout: float, qkv_bias: bool = False):
            super().__init__()
            self.W_query = nn.Linear(d_in, d_out, bias=qkv_bias)
            self.W_key = nn.Linear(d_in, d_out, bias=qkv_bias)
            self.W_value = nn.Linear(d_in, d_out, bias=qkv_bias)
            self.dropout = nn.Dropout(dropout)
            self.register_buffer("mask", torch.triu(torch.ones(context_length, context_length), diagonal=1))

        def forward(self, x):
            num_tokens, keys = x.shape[1], self.W_key(x)
            attn_scores = self.W_query(x) @ keys.transpose(1, 2)
            attn_scores.masked_fill_(self.mask.bool()[:num_tokens, :num_tokens], -torch.inf)
            attn_weights = torch.softmax(attn_scores / keys.shape[-1] ** 0.5, dim=-1)
            return self.dropout(attn_weights) @ self.W_value(x)

    class by_the_book(nn.Module):
        def __init__(
            self, d_in: int, d_out: int, context_length: int, dropout: float, num_heads: int, qkv_bias: bool = False
        ):
            super().__init__()
            self.heads = nn.ModuleList(
                [_CausalAttention(d_in, d_out, context_length, dropout, qkv_bias) for _ in range(num_heads)]
            )

        def forward(self, x: Tensor) -> Tensor:
            return torch.cat([head(x) for head in self.heads], dim=-1)

    class _OneHead(nn.Module):
        def __init__(self, d_in, d_head, p, bias):
            super().__init__()
            self.W_value, self.W_key, self.W_query = (nn.Linear(d_in, d_head, bias) for _ in range(3))
            self.p = p

        def forward(self, x):
            a = torch.einsum("bqd,bkd->bqk", self.W_query(x), self.W_key(x)) / math.sqrt(self.W_key.out_features)
            a = F.softmax(torch.where(_is_past(x.size(1)), a, float("-inf")), dim=2)
            a = F.dropout(a, self.p, training=self.training)
            return torch.einsum("bqk,bkd->bqd", a, self.W_value(x))

    class einsum(nn.Module):
        def __init__(self, d_in, d_out, context_length, dropout, num_heads, qkv_bias=False):
            super().__init__()
            self.heads = nn.ModuleList(_OneHead(d_in, d_out, dropout, qkv_bias) for _ in range(num_heads))
            self.context_length = context_length

        def forward(self, x):
            assert x.size(1) <= self.context_length
            return torch.stack([head(x) for head in self.heads], dim=2).flatten(start_dim=2)

    class _Fused(nn.Module):
        """What a head of the wrapper and the large module have in common."""

        def __init__(self, d_in, d_out, context_length, dropout, num_heads, qkv_bias):
            super().__init__()
            if d_out % num_heads:
                raise ValueError(f"{d_out} features for {num_heads} heads")
            self.W_query, self.W_key, self.W_value = (nn.Linear(d_in, d_out, bias=qkv_bias) for _ in range(3))
            self.drop = nn.Dropout(p=dropout)
            self.num_heads = num_heads
            self.register_buffer("hidden", _hiding(context_length), persistent=False)

        def attend(self, x):
            layers = (self.W_query, self.W_key, self.W_value)
            together = x @ torch.cat([layer.weight for layer in layers]).T  # (B, T, 3 · d_out)
            if self.W_key.bias is not None:
                together = together + torch.cat([layer.bias for layer in layers])
            batch, tokens, _ = together.shape
            heads = together.reshape(batch, tokens, 3 * self.num_heads, -1).transpose(1, 2)
            queries, keys, values = (part.flatten(0, 1) for part in heads.split(self.num_heads, dim=1))
            hidden = self.hidden[:tokens, :tokens].to(x.dtype)
            scores = torch.baddbmm(hidden.expand(len(keys), -1, -1), queries, keys.mT, alpha=keys.shape[-1] ** -0.5)
            contexts = self.drop(scores.softmax(-1)).bmm(values)  # (B · H, T, head_dim)
            return contexts.unflatten(0, (batch, -1)).transpose(1, 2).flatten(2)

    class _Head(_Fused):
        def forward(self, x):
            return self.attend(x)

    class fused(nn.Module):
        def __init__(self, d_in, d_out, context_length, dropout, num_heads, qkv_bias=False):
            super().__init__()
            self.heads = nn.ModuleList(
                [_Head(d_in, d_out, context_length, dropout, 1, qkv_bias) for _ in range(num_heads)]
            )

        def forward(self, x):
            outputs = x.new_empty(*x.shape[:2], 0)
            for head in self.heads:
                outputs = torch.hstack((outputs.mT, head(x).mT)).mT
            return outputs

    def _dropped(weights, p, training):
        if not training or p == 0:
            return weights
        return weights * torch.bernoulli(torch.full(weights.shape, 1 - p, dtype=weights.dtype)) / (1 - p)

    class _Single(nn.Module):
        def __init__(self, d_in, d_out, dropout, qkv_bias):
            super().__init__()
            self.W_query, self.W_key, self.W_value = (nn.Linear(d_in, d_out, bias=qkv_bias) for _ in range(3))
            self.dropout, self.size, self.last_weights = dropout, d_out, None

        def forward(self, inputs):
            results = []
            for x in inputs:
                self.last_weights = _weights_of(self.W_query(x) @ self.W_key(x).T, self.size)
                results.append(_dropped(self.last_weights, self.dropout, self.training) @ self.W_value(x))
            return torch.stack(results)

    class loops(nn.Module):
        def __init__(self, d_in, d_out, context_length, dropout, num_heads, qkv_bias=False):
            super().__init__()
            self.names, self.heads = [], nn.ModuleList()
            for number in range(num_heads):
                print("head", number)
                self.names.append(str(number))
                self.heads.append(_Single(d_in, d_out, dropout, qkv_bias))

        def forward(self, inputs):
            result = None
            for head in self.heads:
                result = head(inputs) if result is None else torch.cat((result, head(inputs)), dim=-1)
            return result

    class one_on_another(nn.Module):
        def __init__(self, d_in, d_out, context_length, dropout, num_heads, qkv_bias=False):
            super().__init__()
            self.heads = nn.ModuleList()
            for _ in range(num_heads):
                self.heads.append(CausalAttention(d_in, d_out, context_length, dropout, qkv_bias=qkv_bias))

        def forward(self, inputs):
            return torch.cat([head(inputs) for head in self.heads], dim=2)

    class _Projections(nn.Module):
        def __init__(self, d_in, d_out, context_length, dropout, num_heads, qkv_bias=False):
            super().__init__()
            if d_out % num_heads != 0:
                raise ValueError("d_out % num_heads != 0")
            self.config = {"context_length": context_length, "dropout": dropout, "num_heads": num_heads}
            self.W_query, self.W_key, self.W_value = (nn.Linear(d_in, d_out, bias=qkv_bias) for _ in range(3))

        def forward(self, x):
            parts = (split_heads(layer(x), self.config["num_heads"]) for layer in self.children())
            dropout = self.config["dropout"] if self.training else 0.0
            return merge_heads(F.scaled_dot_product_attention(*parts, dropout_p=dropout, is_causal=True))

    class ready_made(nn.Module):
        def __init__(self, d_in, d_out, context_length, dropout, num_heads, qkv_bias=False):
            super().__init__()
            self.heads = nn.ModuleList()
            while len(self.heads) < num_heads:
                self.heads.append(_Projections(d_in, d_out, context_length, dropout, 1, qkv_bias))

        def forward(self, x):
            return torch.cat(tuple(map(lambda head: head(x), self.heads)), -1)
