"""The worked examples of unit 7, with numbers that you can check by hand. Run `pytest` in this folder.

The modules that are handed in are made here, so that no exercise needs another one of this unit. The grader goes by
the rules in the docstrings, with other sizes and other numbers than these.
"""

from __future__ import annotations

from typing import Any

import pytest
import torch
import transformer_block
from checking import call, expect_values, fail
from torch import nn

# The mean 5 and the variance 9 + 1 + 1 + 9 over 4 = 5, and a token that is twice as far out.
TOKENS = torch.tensor([[2.0, 4.0, 6.0, 8.0], [-1.0, 3.0, 7.0, 11.0]])
NORMALIZED = torch.tensor([-3.0, -1.0, 1.0, 3.0]) / 5**0.5


class Times(nn.Module):
    """Multiplies by a number, which is its parameter."""

    def __init__(self, factor: float) -> None:
        super().__init__()
        self.factor = nn.Parameter(torch.tensor(factor))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.factor * x


class Plus(nn.Module):
    """Adds a number, which is its parameter."""

    def __init__(self, number: float) -> None:
        super().__init__()
        self.number = nn.Parameter(torch.tensor(number))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x + self.number


class Flip(nn.Module):
    """Turns the order of the features round, and multiplies them by 2."""

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return 2 * x.flip(-1)


class Always(nn.Module):
    """Gives the same number for everything."""

    def __init__(self, number: float) -> None:
        super().__init__()
        self.number = number

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return torch.full_like(x, self.number)


def parameters_of(module: Any) -> dict[str, torch.Tensor]:
    if not isinstance(module, nn.Module):
        fail(f"this should be an nn.Module, yours is of type {type(module).__name__}.")
    return {name: value.detach() for name, value in module.named_parameters()}


def expect_the_parameters_of(module: Any, handed_in: list[nn.Module], idea: str) -> None:
    yours = list(module.parameters()) if isinstance(module, nn.Module) else []
    wanted = [parameter for each in handed_in for parameter in each.parameters()]
    missing = sum(not any(parameter is found for found in yours) for parameter in wanted)
    if missing:
        fail(f"{missing} of {len(wanted)} parameters that were handed in are not found by an optimiser: {idea}.")


@pytest.mark.parametrize(("name", "value"), [("scale", 1.0), ("shift", 0.0)])
def test_parameters_of_layer_norm(name: str, value: float) -> None:
    norm = call(transformer_block.LayerNorm, 4)
    parameter = getattr(norm, name, None)
    if not isinstance(parameter, nn.Parameter):
        names = ", ".join(parameters_of(norm)) or "none"
        fail(f"{name} should be an nn.Parameter, yours has the parameters {names}.")
    expect_values(name, parameter, torch.full((4,), value), shape="(emb_dim,)", idea=f"it begins as {value:.0f}s")


def test_layer_norm() -> None:
    expect_values(
        "the output",
        call(call(transformer_block.LayerNorm, 4), TOKENS),
        NORMALIZED.expand(2, 4),
        shape="(T, emb_dim)",
        idea="each row less its mean, over the root of its biased variance: both tokens come out alike",
    )


def test_layer_norm_of_a_batch() -> None:
    batch = torch.stack([TOKENS, 100 * TOKENS.flip(-1)])  # two texts: (2, 2, 4)
    expect_values(
        "the output",
        call(call(transformer_block.LayerNorm, 4), batch),
        torch.stack([NORMALIZED.expand(2, 4), -NORMALIZED.expand(2, 4)]),
        shape="(B, T, emb_dim)",
        idea="the last dimension alone, for each token of each text",
    )


def test_layer_norm_scales_and_shifts() -> None:
    norm = call(transformer_block.LayerNorm, 4)
    with torch.no_grad():
        norm.scale.copy_(torch.tensor([1.0, 10.0, 100.0, 0.0]))
        norm.shift.copy_(torch.tensor([0.0, 1.0, 2.0, 3.0]))
    expect_values(
        "the output",
        call(norm, TOKENS[0]),
        torch.tensor([-1.3416, -4.4721 + 1, 44.7214 + 2, 3.0]),
        shape="(emb_dim,)",
        idea="each feature is multiplied by its own scale, and then its own shift is added",
    )


def test_eps_of_layer_norm() -> None:
    expect_values(
        "the output",
        call(call(transformer_block.LayerNorm, 4, 4.0), TOKENS[0]),
        torch.tensor([-1.0, -1 / 3, 1 / 3, 1.0]),
        shape="(emb_dim,)",
        idea="with eps = 4 the divisor is the root of 5 + 4, which is 3: eps is added inside the root",
    )


def feed_forward_of_ones(bias: float) -> nn.Module:
    """A FeedForward(3) with weights of 1, and this bias everywhere."""
    module = call(transformer_block.FeedForward, 3)
    for parameter in module.parameters():
        parameter.data.fill_(1.0 if parameter.dim() == 2 else bias)
    return module


@pytest.mark.parametrize(("expansion", "hidden"), [((), 12), ((2,), 6)])
def test_layers_of_feed_forward(expansion: tuple[int, ...], hidden: int) -> None:
    parameters = parameters_of(call(transformer_block.FeedForward, 3, *expansion))
    shapes = sorted(tuple(value.shape) for value in parameters.values())
    expected = sorted([(hidden, 3), (hidden,), (3, hidden), (3,)])
    if shapes != expected:
        fail(f"the weights and biases should have the shapes {expected}, yours have {shapes}.")


@pytest.mark.parametrize(("bias", "expected"), [(0.0, [24.0, 0.0]), (1.0, [37.0, 1.0])])
def test_feed_forward(bias: float, expected: list[float]) -> None:
    x = torch.tensor([[1.0, 2.0, -1.0], [1.0, -2.0, -1.0]])  # two tokens, with the sums 2 and -2
    expect_values(
        "the output",
        call(feed_forward_of_ones(bias), x),
        torch.tensor(expected)[:, None].expand(2, 3),
        shape="(T, emb_dim)",
        idea=f"weights of 1 and biases of {bias:.0f}: 12 · ReLU(the token's sum + {bias:.0f}) + {bias:.0f}",
    )


def test_residual() -> None:
    expect_values(
        "the output",
        call(call(transformer_block.Residual, Times(10.0)), TOKENS),
        11 * TOKENS,
        shape="that of x",
        idea="once x itself, and ten times x from sublayer",
    )


def test_residual_leaves_x_alone() -> None:
    x = TOKENS.clone()
    call(call(transformer_block.Residual, nn.Identity()), x)
    expect_values("x after the call", x, TOKENS, shape="that of x", idea="+= would change x itself, write x + …")


def test_parameters_of_residual() -> None:
    sublayer = Times(2.0)
    module = call(transformer_block.Residual, sublayer)
    expect_the_parameters_of(module, [sublayer], idea="keep the module itself as an attribute")


def test_transformer_block() -> None:
    block = call(transformer_block.TransformerBlock, Flip(), Times(3.0), 2, 0.0)
    # [0, 2] is [-1, 1] after norm1, and Flip gives [2, -2]: the sum is [2, 0]. That is [1, -1] after norm2.
    expect_values(
        "the output",
        call(block, torch.tensor([[[0.0, 2.0], [6.0, 4.0]]])),
        torch.tensor([[[5.0, -3.0], [1.0, 9.0]]]),
        shape="(B, T, emb_dim)",
        idea="x + attention(norm1(x)) first, then that plus feed_forward of its norm2",
    )


@pytest.mark.parametrize("name", ["norm1", "norm2"])
def test_norms_of_the_block(name: str) -> None:
    block = call(transformer_block.TransformerBlock, Flip(), Times(3.0), 2, 0.0)
    norm = getattr(block, name, None)
    if not isinstance(norm, nn.LayerNorm | transformer_block.LayerNorm):
        fail(f"{name} should be a LayerNorm, yours is of type {type(norm).__name__}.")


def test_parameters_of_the_block() -> None:
    attention, feed_forward = Times(2.0), Times(3.0)
    block = call(transformer_block.TransformerBlock, attention, feed_forward, 2, 0.0)
    expect_the_parameters_of(block, [attention, feed_forward], idea="keep both modules as attributes")


@pytest.mark.parametrize(("attention", "feed_forward"), [(8.0, 0.0), (0.0, 8.0)])
def test_the_block_drops_what_a_module_gives_in_training_only(attention: float, feed_forward: float) -> None:
    block = call(transformer_block.TransformerBlock, Always(attention), Always(feed_forward), 2, 0.5)
    x = torch.full((1, 50, 2), 100.0)
    idea = "in eval mode nothing is dropped, and 8 is added to x"
    expect_values("the output", call(block.eval(), x), x + 8, shape="(B, T, emb_dim)", idea=idea)
    found = set(call(block.train(), x).flatten().tolist())
    # One in 2^99 right answers keeps all of a hundred numbers, or none.
    if found != {100.0, 116.0}:
        fail(
            "in training with dropout 0.5 each number should be x, 100, where what a module gives was dropped, and "
            f"100 + 8 / 0.5 = 116 where it was kept; yours are {sorted(found)[:5]}."
        )


def test_stack_blocks() -> None:
    blocks = iter([Times(2.0), Plus(3.0), Times(10.0)])
    expect_values(
        "the output",
        call(call(transformer_block.stack_blocks, lambda: next(blocks), 3), torch.tensor([5.0])),
        torch.tensor([130.0]),
        shape="that of x",
        idea="each block gets what the one before it gives: (5 · 2 + 3) · 10",
    )


def test_every_block_is_made_by_a_call_of_its_own() -> None:
    made: list[nn.Module] = []

    def make_block() -> nn.Module:
        made.append(Times(2.0))
        return made[-1]

    stack = call(transformer_block.stack_blocks, make_block, 4)
    if len(made) != 4:
        fail(f"with num_blocks = 4 make_block should be called four times, yours calls it {len(made)} times.")
    expect_the_parameters_of(stack, made, idea="a plain list of modules hides them, nn.ModuleList does not")


@pytest.mark.parametrize(
    ("num_layers", "emb_dim", "expected"),
    [(12, 768, 124_439_808), (24, 1024, 354_823_168), (36, 1280, 774_030_080), (48, 1600, 1_557_611_200)],
)
def test_gpt2_parameter_count(num_layers: int, emb_dim: int, expected: int) -> None:
    count = call(transformer_block.gpt2_parameter_count, num_layers, emb_dim)
    if type(count) is not int:
        fail(f"the count should be an int, yours is of type {type(count).__name__}.")
    if count != expected:
        fail(
            f"GPT-2 with {num_layers} blocks of width {emb_dim} has {expected:,} parameters, yours has {count:,}: "
            f"{abs(count - expected):,} too {'many' if count > expected else 'few'}."
        )
