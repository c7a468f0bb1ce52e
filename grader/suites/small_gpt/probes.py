"""Probes of the capstone: the properties that its rules define. The audit compares answers by them."""

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
    draws_from_generator,
    has_parameters,
    probe,
    refusal,
    shares,
)

# -- SmallGPT ----------------------------------------------------------------------------------------------------


def model_of(unit: Any, draw: Draw, dropout: float = 0.0) -> tuple[Any, tuple[int, ...]]:
    """Return a model of random sizes with random values of its parameters, and the sizes."""
    num_heads, num_blocks = draw.size(1, 3), draw.size(1, 3)
    sizes = (draw.size(2, 9), draw.size(1, 7), num_heads * draw.size(1, 3), num_heads, num_blocks)
    model = unit.SmallGPT(*sizes, dropout)
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.copy_(values_for(parameter.shape, parameter.shape[0]))
        # No rule says whether queries, keys, values and heads have one layer or several. So the rows are those of one
        # head, again and again.
        head_dim = sizes[2] // num_heads
        for parameter in model.blocks.parameters():
            if parameter.dim() == 2 and parameter.shape[0] % head_dim == 0:
                parameter.copy_(values_for(parameter.shape, head_dim))
    return model, sizes


def values_for(shape: torch.Size, rows: int) -> Tensor:
    """Return values that depend only on the shape and repeat after so many rows: no rule names these parameters."""
    generator = torch.Generator().manual_seed(sum(n * size for n, size in enumerate((rows, *shape[1:]), 1)))
    scale = shape[-1] ** -0.5 if len(shape) > 1 else 0.3
    values = torch.randn(rows, *shape[1:], generator=generator) * scale + (len(shape) == 1)
    return torch.cat([values] * (shape[0] // rows))


def ids(draw: Draw, kinds: int, texts: int, tokens: int) -> Tensor:
    return draw.integers(0, kinds, texts, tokens)


@probe("SmallGPT", draws=400)
def parts_of_the_model(unit: Any, draw: Draw) -> Iterator[Property]:
    model, _ = model_of(unit, draw)
    for name, kind in (("token_embedding", nn.Embedding), ("position_embedding", nn.Embedding), ("output", nn.Linear)):
        layer: Any = model.get_submodule(name)
        yield f"what {name} is", (isinstance(layer, kind), tuple(layer.weight.shape), getattr(layer, "bias", None))
    yield "the parameters of the final norm", [tuple(value.shape) for value in model.final_norm.parameters()]
    for name, module in (("the blocks", model.blocks), ("the model", model)):
        yield f"the parameters of {name}", sum(value.numel() for value in module.parameters())
    yield "whether they are trained", has_parameters(model, model.parameters())


@probe("SmallGPT", draws=400)
def logits_and_gradients(unit: Any, draw: Draw) -> Iterator[Property]:
    model, (kinds, context_length, *_) = model_of(unit, draw)
    model.train(draw.chance(0.5))
    idx = ids(draw, kinds, draw.size(1, 3), draw.size(1, context_length))
    logits = model(idx)
    yield "the logits", Estimate(logits.detach(), 1e-3)
    logits.square().mean().backward()
    for name in ("token_embedding", "position_embedding", "output"):
        yield f"the gradient of {name}", Estimate(model.get_submodule(name).weight.grad, 1e-3)
    for name, module in (("the final norm", model.final_norm), ("the blocks", model.blocks)):
        gradients = [value.grad for value in module.parameters()]
        yield f"whether gradients reach {name}", all(gradient is not None for gradient in gradients)
        total = torch.stack([gradient.double().square().sum() for gradient in gradients]).sum().sqrt()
        yield f"the length of the gradient of {name}", Estimate(total, 1e-3)
    too_long = ids(draw, kinds, 1, context_length + draw.size(1, 3))
    yield from refusal(model, too_long, any_error=True)


@probe("SmallGPT", draws=200)
def exact_in_eval_mode(unit: Any, draw: Draw) -> Iterator[Property]:
    model, (kinds, context_length, *_) = model_of(unit, draw, draw.pick(*PROBABILITIES))
    idx = ids(draw, kinds, draw.size(1, 3), draw.size(1, context_length))
    yield "the logits in eval mode", Estimate(model.eval()(idx).detach(), 1e-3)


@probe("SmallGPT", draws=4)
def numbers_dropped_in_training(unit: Any, draw: Draw) -> Iterator[Property]:
    """Each module of a block gives ones, and the logits show which features lost equally many."""
    model = unit.SmallGPT(3, 2, 3, 1, 1, PROBABILITIES[draw.number])
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.fill_(float(parameter.shape == (3,)))
        model.output.weight.copy_(torch.eye(3))
    logits = model.train()(torch.zeros(3000, 1, dtype=torch.long))[:, 0].detach()  # (3000, 3)
    yield from shares((logits - logits.roll(1, -1)).abs() < 1e-3)


# -- generate_text -----------------------------------------------------------------------------------------------


class Rarest(nn.Module):
    """Continues with the token that is rarest among those that it gets, and not the last. It keeps what it gets."""

    def __init__(self, kinds: int) -> None:
        super().__init__()
        self.kinds = kinds
        self.given: list[Tensor] = []

    def forward(self, idx: Tensor) -> Tensor:
        self.given.append(idx.clone())
        seen = nn.functional.one_hot(idx, self.kinds).double()  # (B, T, V)
        return (-1000 * (seen.sum(1, keepdim=True) + 99 * seen) - 30 * torch.arange(self.kinds)).float()


@probe("generate_text", draws=400)
def sure_tokens(unit: Any, draw: Draw) -> Iterator[Property]:
    """With this model each text has only one possible continuation, so the result is not random."""
    kinds, context_length = draw.size(2, 6), draw.size(1, 7)
    model = Rarest(kinds).train(draw.chance(0.5))
    idx = ids(draw, kinds, draw.size(1, 3), draw.size(1, 9))
    given, was_training = idx.clone(), model.training
    options = draw.pick({}, {"generator": draw.generator})
    text = unit.generate_text(model, given, draw.size(0, 9), context_length, **options)
    yield "the text", text
    yield "whether the ids are whole numbers", not text.is_floating_point()
    yield "what the model was given last", model.given[-1:]
    yield "the prompt afterwards", given
    yield "whether the mode is the same", model.training == was_training


def table_model(table: Tensor) -> nn.Embedding:
    return nn.Embedding.from_pretrained(table.float())


@probe("generate_text", draws=6)
def likelihood_of_tokens(unit: Any, draw: Draw) -> Iterator[Property]:
    model = table_model(draw.normal(3, 3, scale=1.2))
    options = draw.pick({}, {"generator": draw.generator})
    # Every prompt ends with the same token, after any other, and three tokens are generated.
    prompts = torch.stack([draw.integers(0, 3, 3000), torch.full((3000,), draw.number % 3)], dim=1)
    text = unit.generate_text(model, prompts, 3, 4, **options)
    first, second, third = text[:, 2], text[:, 3], text[:, 4]
    events = torch.stack([first, first * 3 + second + 3, second * 3 + third + 12], 1)
    yield from shares(nn.functional.one_hot(events, 21).bool().any(1))
    small = [unit.generate_text(model, prompts[:2], 1, 4, **options)[:, 2] for _ in range(400)]
    yield from shares(nn.functional.one_hot(torch.stack(small), 3).flatten(1).bool())  # (400, 2, 3) -> (400, 6)


@probe("generate_text", draws=2)
def unlikely_tokens(unit: Any, draw: Draw) -> Iterator[Property]:
    model = table_model(torch.linspace(0, 0.4, 40).repeat(40, 1))
    options = draw.pick({}, {"generator": draw.generator})
    drawn = unit.generate_text(model, torch.zeros(4000, 1, dtype=torch.long), 1, 4, **options)[:, 1]
    # Each has 2 % or more, so one of them is missing once in 1e33.
    yield "how many tokens are drawn", len(drawn.unique())


@probe("generate_text", draws=4)
def where_tokens_are_drawn(unit: Any, draw: Draw) -> Iterator[Property]:
    def result_with(generator: torch.Generator | None) -> Tensor:
        text: Tensor = unit.generate_text(model, prompts, 6, 4, generator=generator)
        return text

    model = table_model(draw.normal(5, 5, scale=0.3))
    prompts = draw.integers(0, 5, 12, 2)
    yield from draws_from_generator(result_with, draw.number)
