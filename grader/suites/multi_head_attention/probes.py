"""Probes of unit 4: the properties that its rules define. The audit compares answers by them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any

import torch
from torch import Tensor, nn

from grader.suites.attention_probes import causal_at_low_scores, dropped_weights, is_seen, one_hot_texts, unit_values
from grader.testing.probes import (
    PROBABILITIES,
    Draw,
    Property,
    alike,
    call,
    has_parameters,
    layers,
    probe,
    refusal,
    set_layers,
    set_to,
)

NAMES = ("W_query", "W_key", "W_value")


def names_in_heads(num_heads: int) -> list[str]:
    return [f"heads.{head}.{name}" for head in range(num_heads) for name in NAMES]


def shapes(module: nn.Module, names: Iterable[str]) -> Iterator[Property]:
    """Yield the shapes of the layers of a module that an exercise only makes: no rule says whether they are trained."""
    yield from ((what, seen) for what, seen in layers(module, names) if not what.startswith("whether"))


def features_that_do_not_divide(draw: Draw) -> tuple[int, int]:
    """Return a width and a number of heads that does not divide it."""
    while True:
        d_out, num_heads = draw.size(1, 12), draw.size(2, 14)
        if d_out % num_heads:
            return d_out, num_heads


# -- the steps ---------------------------------------------------------------------------------------------------


@probe("unroll_heads")
def heads_unrolled(unit: Any, draw: Draw) -> Iterator[Property]:
    batch, num_tokens, num_heads, head_dim = draw.sizes(4)
    yield from call(unit.unroll_heads, draw.viewed(draw.normal(batch, num_tokens, num_heads * head_dim)), num_heads)


@probe("unroll_heads", draws=200)
def uneven_unrolling_refused(unit: Any, draw: Draw) -> Iterator[Property]:
    d_out, num_heads = features_that_do_not_divide(draw)
    # With as many tokens as heads, the features of all tokens together can be divided among the heads.
    tokens = draw.pick(draw.size(), num_heads)
    yield from refusal(unit.unroll_heads, draw.normal(draw.size(), tokens, d_out), num_heads)


@probe("group_by_head")
def tokens_grouped(unit: Any, draw: Draw) -> Iterator[Property]:
    yield from call(unit.group_by_head, draw.viewed(draw.normal(*draw.sizes(4))))


@probe("head_scores")
def scores_by_head(unit: Any, draw: Draw) -> Iterator[Property]:
    shape = draw.sizes(4)
    yield from call(unit.head_scores, draw.viewed(draw.normal(*shape)), draw.viewed(draw.normal(*shape)))


@probe("head_weights")
def weights_by_head(unit: Any, draw: Draw) -> Iterator[Property]:
    batch, num_heads, num_tokens, head_dim = draw.sizes(4)
    scores = draw.normal(batch, num_heads, num_tokens, num_tokens)
    if draw.chance(0.3):
        scores += draw.pick(300, 1_000, 10_000) * torch.ones_like(scores).triu(diagonal=1)
    yield from call(unit.head_weights, scores, head_dim)


@probe("head_weights", draws=5)
def future_beside_low_scores(unit: Any, draw: Draw) -> Iterator[Property]:
    num_tokens, head_dim = draw.number + 2, draw.size()
    scores = torch.full((1, 2, num_tokens, num_tokens), -10_000 * head_dim**0.5, dtype=torch.float64)
    yield (
        "whether the future has weight if scores are low",
        is_seen(unit.head_weights(scores, head_dim).triu(diagonal=1)),
    )
    yield "whether a score of zero has weight", bool(unit.head_weights(0 * scores, head_dim).isfinite().all())


@probe("split_heads")
def heads_split(unit: Any, draw: Draw) -> Iterator[Property]:
    batch, num_tokens, num_heads, head_dim = draw.sizes(4)
    yield from call(unit.split_heads, draw.viewed(draw.normal(batch, num_tokens, num_heads * head_dim)), num_heads)


@probe("split_heads", draws=200)
def uneven_splitting_refused(unit: Any, draw: Draw) -> Iterator[Property]:
    d_out, num_heads = features_that_do_not_divide(draw)
    tokens = draw.pick(draw.size(), num_heads)
    yield from refusal(unit.split_heads, draw.normal(draw.size(), tokens, d_out), num_heads)


@probe("merge_heads")
def heads_merged(unit: Any, draw: Draw) -> Iterator[Property]:
    yield from call(unit.merge_heads, draw.viewed(draw.normal(*draw.sizes(4))))


# -- heads side by side ------------------------------------------------------------------------------------------


@probe("MultiHeadAttentionWrapper", draws=500)
def heads_side_by_side(unit: Any, draw: Draw) -> Iterator[Property]:
    d_in, d_out, num_tokens = draw.sizes(3)
    num_heads, context_length = draw.size(1, 4), num_tokens + draw.pick(0, 0, 1, 5)
    options = draw.pick({}, {"qkv_bias": True}, {"qkv_bias": False})
    dropout = draw.pick(0.0, 0.5)
    module = unit.MultiHeadAttentionWrapper(d_in, d_out, context_length, dropout, num_heads, **options)
    yield "the type and length of heads", (isinstance(module.heads, nn.ModuleList), len(module.heads))
    yield from layers(module, names_in_heads(num_heads))
    module.to(draw.dtype).train(dropout == 0 and draw.chance(0.5))
    parameters = set_layers(draw, module, names_in_heads(num_heads))
    yield from call(module, draw.normal(draw.size(1, 3), num_tokens, d_in), parameters=parameters)


@probe("MultiHeadAttentionWrapper", draws=4)
def weights_dropped_in_each_head(unit: Any, draw: Draw) -> Iterator[Property]:
    num_tokens, num_heads, dropout = 3, 2, PROBABILITIES[draw.number]
    module = unit.MultiHeadAttentionWrapper(num_tokens, 2 * num_tokens, draw.pick(3, 5), dropout, num_heads)
    set_layers(draw, module, names_in_heads(num_heads))
    for head in module.heads:
        set_to(head.W_value.weight, unit_values(num_tokens))
    yield from dropped_weights(module, one_hot_texts(1000, num_tokens), dropout, num_heads)


@probe("two_dimensional_output", draws=300)
def two_heads_of_one_feature(unit: Any, draw: Draw) -> Iterator[Property]:
    d_in, num_tokens = draw.sizes(2, 1, 9)
    draw.dtype = torch.float32
    module = unit.two_dimensional_output(d_in, num_tokens + draw.pick(0, 0, 1))
    yield "the type and length of heads", (isinstance(module.heads, nn.ModuleList), len(module.heads))
    yield from shapes(module, names_in_heads(2))
    set_layers(draw, module, names_in_heads(2))
    inputs = draw.normal(draw.size(1, 3), num_tokens, d_in)
    yield "the outputs in training", module.train()(inputs)
    yield "the outputs", module.eval()(inputs)


# -- heads that divide the features ------------------------------------------------------------------------------

ALL_NAMES = (*NAMES, "out_proj")


@probe("MultiHeadAttention", draws=700)
def shared_out_heads(unit: Any, draw: Draw) -> Iterator[Property]:
    d_in, head_dim, num_heads, num_tokens = draw.sizes(4)
    context_length = num_tokens + draw.pick(0, 0, 1, 5)
    options = draw.pick({}, {"qkv_bias": True}, {"qkv_bias": False})
    dropout = draw.pick(0.0, 0.5)
    module = unit.MultiHeadAttention(d_in, num_heads * head_dim, context_length, dropout, num_heads, **options)
    yield from layers(module, ALL_NAMES)
    module.to(draw.dtype).train(dropout == 0 and draw.chance(0.5))
    parameters = set_layers(draw, module, ALL_NAMES)
    yield from call(module, draw.normal(draw.size(1, 3), num_tokens, d_in), parameters=parameters)


@probe("MultiHeadAttention", draws=100)
def uneven_heads_refused(unit: Any, draw: Draw) -> Iterator[Property]:
    """No rule says whether the error comes from the constructor or from the call."""

    def made_and_used() -> None:
        unit.MultiHeadAttention(d_in, d_out, num_tokens, 0.0, num_heads)(draw.normal(2, num_tokens, d_in))

    d_out, num_heads = features_that_do_not_divide(draw)
    d_in, num_tokens = draw.size(), draw.pick(draw.size(), num_heads)
    draw.dtype = torch.float32
    yield from refusal(made_and_used)


@probe("MultiHeadAttention", draws=4)
def weights_dropped_in_training(unit: Any, draw: Draw) -> Iterator[Property]:
    num_tokens, num_heads, dropout = 3, 2, PROBABILITIES[draw.number]
    width = num_heads * 2 * num_tokens
    module = unit.MultiHeadAttention(num_tokens, width, draw.pick(3, 5), dropout, num_heads)
    set_layers(draw, module, ALL_NAMES)
    set_to(module.W_value.weight, unit_values(num_tokens, num_heads))
    set_to(module.out_proj.weight, torch.eye(width))
    set_to(module.out_proj.bias, torch.zeros(width))
    yield from dropped_weights(module, one_hot_texts(1000, num_tokens), dropout, num_heads)


@probe("MultiHeadAttention", draws=5)
def later_tokens_beside_low_scores(unit: Any, draw: Draw) -> Iterator[Property]:
    num_tokens = draw.number + 2
    module = unit.MultiHeadAttention(num_tokens, num_tokens, num_tokens, 0.0, 1)
    set_to(module.out_proj.weight, torch.eye(num_tokens))
    set_to(module.out_proj.bias, torch.zeros(num_tokens))
    yield from causal_at_low_scores(module, NAMES, num_tokens)


class OneHead(nn.Module):
    """A head of causal attention, as in the wrapper that stack_heads gets."""

    def __init__(self, d_in: int, width: int, bias: bool) -> None:
        super().__init__()
        self.W_query, self.W_key, self.W_value = (nn.Linear(d_in, width, bias=bias) for _ in NAMES)

    def forward(self, inputs: Tensor) -> Tensor:
        return attended(self.W_query(inputs), self.W_key(inputs), self.W_value(inputs))


class Wrapper(nn.Module):
    """Heads of these widths side by side."""

    def __init__(self, d_in: int, widths: list[int], bias: bool) -> None:
        super().__init__()
        self.num_heads = len(widths)
        self.heads = nn.ModuleList(OneHead(d_in, width, bias) for width in widths)

    def forward(self, inputs: Tensor) -> Tensor:
        return torch.cat([head(inputs) for head in self.heads], dim=-1)


class MultiHead(nn.Module):
    """A MultiHeadAttention that stack_heads gets."""

    def __init__(self, d_in: int, d_out: int, num_heads: int, bias: bool) -> None:
        super().__init__()
        self.num_heads, self.head_dim, self.d_in, self.d_out = num_heads, d_out // num_heads, d_in, d_out
        self.W_query, self.W_key, self.W_value = (nn.Linear(d_in, d_out, bias=bias) for _ in NAMES)
        self.out_proj = nn.Linear(d_out, d_out)

    def forward(self, inputs: Tensor) -> Tensor:
        projected = [getattr(self, name)(inputs).chunk(self.num_heads, dim=-1) for name in NAMES]
        contexts = [attended(*head) for head in zip(*projected, strict=True)]
        return self.out_proj(torch.cat(contexts, dim=-1))


def set_identity(layer: nn.Linear) -> None:
    set_to(layer.weight, torch.eye(layer.out_features))
    set_to(layer.bias, torch.zeros(layer.out_features))


def attended(queries: Tensor, keys: Tensor, values: Tensor) -> Tensor:
    scores = queries @ keys.mT / queries.shape[-1] ** 0.5  # (B, T, width) @ (B, width, T) -> (B, T, T)
    future = torch.ones(scores.shape[-2:], dtype=torch.bool).triu(diagonal=1)
    return torch.softmax(scores.masked_fill(future, -torch.inf), dim=-1) @ values


def state_of(module: nn.Module) -> list[tuple[str, Tensor, bool]]:
    return [(name, value.detach().clone(), value.requires_grad) for name, value in module.named_parameters()]


@probe("stack_heads", draws=500)
def outputs_of_stacked_heads(unit: Any, draw: Draw) -> Iterator[Property]:
    d_in, width, num_heads, num_tokens = draw.sizes(4)
    draw.dtype = torch.float32
    bias = draw.chance(0.5)
    wrapper, attention = Wrapper(d_in, [width] * num_heads, bias), MultiHead(d_in, num_heads * width, num_heads, bias)
    set_layers(draw, wrapper, names_in_heads(num_heads))
    before = state_of(wrapper)
    is_ready = draw.chance(0.5)
    if is_ready:  # no rule says whether out_proj is the identity before the call
        set_identity(attention.out_proj)
    unit.stack_heads(wrapper, attention)
    yield "whether the wrapper is unchanged", alike(state_of(wrapper), before)
    yield from layers(attention, NAMES)
    if not is_ready:
        set_identity(attention.out_proj)
    inputs = draw.normal(draw.size(1, 3), num_tokens, d_in)
    yield "the outputs", attention(inputs)
    yield "the outputs computed from the weights", MultiHead.forward(attention, inputs)
    yield "the wrapper's outputs", wrapper(inputs)
    for name in NAMES:
        values = list(getattr(attention, name).parameters())
        yield f"the values of {name}", values  # with the bias, which for keys has no effect on the output
        kinds = [isinstance(value, nn.Parameter) for value in values]
        yield f"whether {name} has parameters", (kinds, has_parameters(attention, values))


@probe("stack_heads", draws=150)
def unlike_heads_refused(unit: Any, draw: Draw) -> Iterator[Property]:
    """Only the widths of layers differ: the exercise assumes equal numbers of heads, and no rule mentions them.

    No width is one, because `copy_` broadcasts it. So an answer that relies on the errors of `copy_` is right here.
    """
    d_in, width, num_heads = draw.size(2, 5), draw.size(2, 4), draw.size(2, 4)
    heads_bias, whole_bias = draw.pick((False, False), (True, True))
    widths, d_out, whole_d_in = [width] * num_heads, width * num_heads, d_in
    match draw.pick("bias", "d_in", "wide", "narrow", "more heads", "fewer heads"):
        case "bias":
            heads_bias, whole_bias = True, False
        case "d_in":
            whole_d_in = d_in + 1
        case "wide":
            widths = [width + 1] * num_heads
        case "narrow":
            d_out = num_heads * (width + 1)
        case "more heads":
            widths = [width] * (num_heads + 1)
        case "fewer heads":
            widths = [width] * (num_heads - 1)
    wrapper, attention = Wrapper(d_in, widths, heads_bias), MultiHead(whole_d_in, d_out, num_heads, whole_bias)
    before = state_of(wrapper)
    yield from refusal(unit.stack_heads, wrapper, attention, any_error=True)
    yield "whether the wrapper is unchanged", alike(state_of(wrapper), before)


@probe("stack_heads", draws=20)
def biases_of_attention_alone(unit: Any, draw: Draw) -> Iterator[Property]:
    d_in, width, num_heads = draw.sizes(3)
    wrapper, attention = Wrapper(d_in, [width] * num_heads, False), MultiHead(d_in, num_heads * width, num_heads, True)
    try:
        unit.stack_heads(wrapper, attention)
    except Exception:  # noqa: BLE001 - torch may raise any error here
        is_right = True
    else:
        biases = [getattr(attention, name).bias for name in NAMES]
        is_right = not any(bias.any() for bias in biases if bias is not None)
    yield "whether biases that only attention has are rejected or zero", is_right


@probe("gpt2_small_attention", draws=2)
def attention_of_gpt2(unit: Any, draw: Draw) -> Iterator[Property]:
    """In eval mode, because no rule specifies its dropout."""
    draw.dtype = torch.float32
    module = unit.gpt2_small_attention().eval()
    yield "the number of parameters", sum(parameter.numel() for parameter in module.parameters())
    yield from shapes(module, ALL_NAMES)
    set_layers(draw, module, ALL_NAMES)
    with torch.no_grad():
        yield "the outputs", module(draw.normal(1, (1024, 5)[draw.number], 768, scale=1))
    yield "the requested context length", requested_context_length(unit.gpt2_small_attention)


def requested_context_length(make: Callable[[], Any]) -> int:
    """Return the context length with which `make` calls MultiHeadAttention.

    A module of another class is compared only by its outputs.
    """
    lengths = [1024]

    def remember(d_in: int, d_out: int, context_length: int, *_: Any, **__: Any) -> nn.Module:  # noqa: ARG001
        lengths.append(context_length)
        return nn.Identity()

    names = make.__globals__
    kept = names.get("MultiHeadAttention")
    names["MultiHeadAttention"] = remember
    try:
        make()
    except Exception:  # noqa: BLE001 - the function may use the module further, and this one is only an identity
        return lengths[-1]
    finally:
        names["MultiHeadAttention"] = kept
    return lengths[-1]
