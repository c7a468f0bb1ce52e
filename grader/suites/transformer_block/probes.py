"""Probes of unit 7: the properties that its rules define. The audit compares answers by them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import torch
from torch import Tensor, nn

from grader.testing.probes import (
    PROBABILITIES,
    Draw,
    Estimate,
    Property,
    alike,
    call,
    has_parameters,
    probe,
    set_to,
    shares,
)


def with_calm_gradients(seen: Iterator[Property], x: Tensor, eps: float = 1e-5) -> Iterator[Property]:
    """Yield the same properties, with the gradients of x divided by how much a norm enlarges differences.

    If the features of a token are nearly equal, a norm enlarges them a few hundred times, and rounding errors too. No
    rule forbids float32 inside a module for float64.
    """
    deviation = (x.var(dim=-1, keepdim=True, unbiased=False) + eps).sqrt().clamp(max=1)  # (…, C) -> (…, 1)
    for what, value in seen:
        is_calmed = what == "the gradient of argument 1" and isinstance(value, Tensor)
        yield what, value * deviation if is_calmed else value


@probe("LayerNorm")
def normalised_features(unit: Any, draw: Draw) -> Iterator[Property]:
    # If features are nearly equal, their differences in float32 are only rounding errors. One feature equals its mean.
    is_exact = draw.dtype == torch.float64
    emb_dim = draw.size(1 if is_exact else 2, 8)
    options = draw.pick({}, {}, {"eps": 1e-5}, {"eps": 1e-3}, {"eps": 0.5})
    module = unit.LayerNorm(emb_dim, **options)
    for name, parameter in (("scale", module.scale), ("shift", module.shift)):
        yield f"what {name} is", isinstance(parameter, nn.Parameter)
        yield f"whether {name} has a number for each feature", parameter.shape == (emb_dim,)
        yield f"whether {name} is trained", has_parameters(module, [parameter])
    module.to(draw.dtype).train(draw.chance(0.5))
    parameters = {name: set_to(getattr(module, name), draw.normal(emb_dim, scale=1)) for name in ("scale", "shift")}
    x = draw.normal(*draw.sizes(draw.size(0, 3)), emb_dim)
    match draw.pick("spread", "spread", "small", "constant"):
        case "constant":
            x = torch.full_like(x, draw.pick(0.0, 1.0, -2.0))
        case "small" if is_exact:  # so that eps matters
            x = 0.003 * x
        case _:
            x = x + 10 * torch.arange(emb_dim)
    seen = call(module, draw.viewed(x), keeps_dtype=True, parameters=parameters)
    yield from with_calm_gradients(seen, x, options.get("eps", 1e-5))


def linears_in(module: nn.Module) -> list[nn.Linear]:
    found = [layer for layer in module.modules() if isinstance(layer, nn.Linear)]
    return sorted(found, key=lambda layer: tuple(layer.weight.shape))


@probe("FeedForward")
def tokens_transformed(unit: Any, draw: Draw) -> Iterator[Property]:
    emb_dim = draw.size(1, 6)
    options = draw.pick({}, {}, {"expansion": 4}, {"expansion": draw.size(1, 6)})
    module = unit.FeedForward(emb_dim, **options)
    linears = linears_in(module)
    yield "what the layers are", [(tuple(one.weight.shape), one.bias is not None) for one in linears]
    yield "whether they are trained", has_parameters(module, [value for one in linears for value in one.parameters()])
    module.to(draw.dtype).train(draw.chance(0.5))
    # Layers of the same shape get the same values, because no rule says which of them is registered first.
    shapes = {shape: draw.number + place for place, shape in enumerate(sorted({one.weight.shape for one in linears}))}
    parameters = {}
    for layer in linears_in(module):
        values = torch.Generator().manual_seed(shapes[layer.weight.shape])
        for name, parameter in layer.named_parameters():
            new = torch.randn(parameter.shape, generator=values, dtype=torch.float64) / layer.in_features**0.5
            key = f"{name} {tuple(parameter.shape)}"
            parameters[key] = set_to(parameter, new)
    if len(shapes) < len(linears):  # and their gradients cannot be distinguished
        parameters = {}
    x = draw.normal(*draw.sizes(draw.size(0, 3)), emb_dim)
    yield from call(module, draw.viewed(x), parameters=parameters)


# -- modules that are passed as arguments ------------------------------------------------------------------------


class Bent(nn.Module):
    """A nonlinear layer whose output depends on its mode, training or eval. It keeps its last input."""

    def __init__(self, features: int, draw: Draw) -> None:
        super().__init__()
        self.mix = nn.Parameter(draw.normal(features, features, scale=features**-0.5))
        self.shift = nn.Parameter(draw.normal(features, scale=1))

    def forward(self, x: Tensor) -> Tensor:
        self.given = x.detach().clone()
        return torch.tanh(x @ self.mix + self.shift) * (2 if self.training else 1)


class OverTokens(Bent):
    """The same, for the mean of each token and all tokens before it."""

    def forward(self, x: Tensor) -> Tensor:
        counts = torch.arange(1, x.shape[-2] + 1, dtype=x.dtype)
        return super().forward(x.cumsum(dim=-2) / counts[:, None]) + 0.3 * x  # (B, T, C) / (T, 1) -> (B, T, C)


class Constant(nn.Module):
    """The same number for every input. It keeps its last input."""

    def __init__(self, number: float) -> None:
        super().__init__()
        self.number = number

    def forward(self, x: Tensor) -> Tensor:
        self.given = x.detach().clone()
        return torch.full_like(x, self.number)


@probe("Residual")
def sum_with_a_sublayer(unit: Any, draw: Draw) -> Iterator[Property]:
    shape = draw.sizes(draw.size(1, 4))
    sublayer = draw.pick(Bent(shape[-1], draw), Bent(shape[-1], draw), nn.Identity(), Constant(2.0))
    module = unit.Residual(sublayer)
    yield "whether it has the sublayer's parameters", has_parameters(module, sublayer.parameters())
    module.to(draw.dtype).train(draw.chance(0.5))
    yield from call(module, draw.normal(*shape), parameters=dict(sublayer.named_parameters()))


# -- blocks ------------------------------------------------------------------------------------------------------


def norms_of(unit: Any, block: nn.Module) -> Iterator[Property]:
    for name in ("norm1", "norm2"):
        norm = getattr(block, name)
        # The mutant of a file defines its own LayerNorm.
        yield f"what {name} is", isinstance(norm, nn.LayerNorm | unit.LayerNorm)
        yield f"whether {name} is trained", has_parameters(block, norm.parameters())
        yield f"how many features {name} has", tuple(scale_and_shift(norm)[0].shape)


def scale_and_shift(norm: Any) -> tuple[Any, Any]:
    return (norm.weight, norm.bias) if isinstance(norm, nn.LayerNorm) else (norm.scale, norm.shift)


def set_norms(block: nn.Module, draw: Draw) -> dict[str, Tensor]:
    found = {}
    for name in ("norm1", "norm2"):
        for what, parameter in zip(("scale", "shift"), scale_and_shift(getattr(block, name)), strict=True):
            found[f"the {what} of {name}"] = set_to(parameter, draw.normal(*parameter.shape, scale=1))
    return found


@probe("TransformerBlock")
def block_of_two_steps(unit: Any, draw: Draw) -> Iterator[Property]:
    emb_dim, num_tokens = draw.sizes(2)
    attention, feed_forward = OverTokens(emb_dim, draw), Bent(emb_dim, draw)
    dropout = draw.pick(0.0, 0.5)
    block = unit.TransformerBlock(attention, feed_forward, emb_dim, dropout)
    given = {
        f"{name} of {what}": value
        for what, module in (("attention", attention), ("feed_forward", feed_forward))
        for name, value in module.named_parameters()
    }
    yield "whether it has the parameters of both modules", has_parameters(block, given.values())
    yield from norms_of(unit, block)
    block.to(draw.dtype).train(dropout == 0 and draw.chance(0.5))
    parameters = {**given, **set_norms(block, draw)}
    x = draw.normal(draw.size(1, 3), num_tokens, emb_dim)
    if draw.dtype == torch.float32:  # norms of nearly equal features have only rounding errors
        yield "the values in float32", Estimate(block(x), 1e-3)
        return
    if draw.chance(0.2):  # so that eps matters
        x = 0.003 * x
    yield from with_calm_gradients(call(block, x, parameters=parameters), x)


def normalised(x: Tensor, norm: nn.Module) -> Tensor:
    return nn.functional.layer_norm(x, x.shape[-1:], *(value.detach() for value in scale_and_shift(norm)))


@probe("TransformerBlock", draws=4)
def numbers_dropped_in_training(unit: Any, draw: Draw) -> Iterator[Property]:
    """One module outputs ones and the other tens, so the sum shows what was dropped of each."""
    texts, num_tokens, emb_dim, dropout = 2000, 2, 3, PROBABILITIES[draw.number]
    attention, feed_forward = Constant(1.0), Constant(10.0)
    block = unit.TransformerBlock(attention, feed_forward, emb_dim, dropout)
    block.to(draw.dtype).train()
    set_norms(block, draw)
    x = draw.normal(texts, num_tokens, emb_dim, scale=1)
    added = ((block(x) - x) * (1 - dropout)).detach()
    both = added.round()
    yield "whether each number is dropped or scaled", alike(added, both) and set(both.unique().tolist())
    from_attention, from_feed_forward = both % 10 == 1, both >= 10
    yield from shares(torch.cat([from_attention, from_feed_forward], dim=-1).flatten(1))
    yield "whether attention is given norm1 of x", alike(attention.given, normalised(x, block.norm1))
    middle = x + from_attention / (1 - dropout)
    yield "whether feed_forward is given norm2 of the sum", alike(feed_forward.given, normalised(middle, block.norm2))
    yield "the outputs after training", block.eval()(x[:5])


@probe("stack_blocks", draws=500)
def blocks_in_sequence(unit: Any, draw: Draw) -> Iterator[Property]:
    def make_block() -> nn.Module:
        made.append(Bent(features, draw))
        return made[-1]

    draw.dtype = torch.float32
    made: list[Bent] = []
    features, num_tokens = draw.sizes(2)
    num_blocks = draw.size(1, 5)
    stack = unit.stack_blocks(make_block, num_blocks)
    yield "what it is", isinstance(stack, nn.Module)
    parameters = {
        f"{name} of block {place}": value
        for place, block in enumerate(made)
        for name, value in block.named_parameters()
    }
    yield "whether it has the parameters of all blocks", has_parameters(stack, parameters.values())
    stack.train(draw.chance(0.5))
    yield from call(stack, draw.normal(draw.size(1, 3), num_tokens, features), parameters=parameters)
    yield "how many blocks were made", len(made)


@probe("gpt2_parameter_count", draws=60)
def counted_parameters(unit: Any, draw: Draw) -> Iterator[Property]:
    # GPT-2's heads have 64 features each, so its width is a multiple of that. The sizes are small, because an answer
    # may build the model.
    num_layers, emb_dim = draw.size(1, 4), 64 * draw.size(1, 2)
    options = {"vocab_size": draw.size(1, 2000), "context_length": draw.size(1, 500)}
    kept = draw.random.sample(sorted(options), draw.size(0, 2))
    count = unit.gpt2_parameter_count(num_layers, emb_dim, **{name: options[name] for name in kept})
    yield "what it is", isinstance(count, int)
    yield "the count", count
