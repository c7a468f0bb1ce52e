"""Unit 7: each number and shape of the quiz and the practice items, computed by torch itself."""

from __future__ import annotations

import torch
from torch import nn


def normalised_feature(x: list[int]) -> float:
    return nn.functional.layer_norm(torch.tensor(x, dtype=torch.float64), (4,), eps=0.0)[-1].item()


def shape_of_the_means(B: int, T: int, C: int) -> tuple[int, ...]:
    """The only shape of `mean` with which the tokens are normalised as by torch's layer norm."""
    x = torch.randn(B, T, C, dtype=torch.float64, generator=torch.Generator().manual_seed(0))
    shapes = []
    for dims in (0, 1, 2, (0, 1), (0, 2), (1, 2), (0, 1, 2)):
        means = x.mean(dims, keepdim=True)
        centred = x - means
        if torch.allclose(
            centred / centred.square().mean(dims, keepdim=True).sqrt(), nn.functional.layer_norm(x, (C,), eps=0.0)
        ):
            shapes.append(tuple(means.shape))
    (shape,) = shapes
    return shape


def a_larger_model(
    first: str,  # noqa: ARG001 - the question contains the models' names
    first_layers: int,
    first_width: int,
    second: str,  # noqa: ARG001
    second_layers: int,
    second_width: int,
) -> float:
    """Count the entries of a block's matrices; on the meta device they take no memory."""

    def matrix_entries(layers: int, width: int) -> int:
        block = nn.TransformerEncoderLayer(width, nhead=width // 64, dim_feedforward=4 * width, device="meta")
        return layers * sum(parameter.numel() for parameter in block.parameters() if parameter.ndim == 2)

    return matrix_entries(second_layers, second_width) / matrix_entries(first_layers, first_width)


def slope_of_the_stack(slope: float, steps: int) -> float:
    """Compute the gradient with autograd, at some point."""
    first = torch.tensor(3.0, dtype=torch.float64, requires_grad=True)
    x = first
    for _ in range(steps):
        x = x + (slope * x + 7)
    (gradient,) = torch.autograd.grad(x, first)
    return gradient.item()


def feed_forward_parameters(C: int) -> int:
    feed_forward = nn.Sequential(nn.Linear(C, 4 * C), nn.ReLU(), nn.Linear(4 * C, C))
    return sum(parameter.numel() for parameter in feed_forward.parameters())


def parameters_of_two_norms(C: int) -> int:
    norms = nn.ModuleList([nn.LayerNorm(C), nn.LayerNorm(C)])
    return sum(parameter.numel() for parameter in norms.parameters())


def shape_of_the_hidden_layer(B: int, T: int, C: int) -> tuple[int, ...]:
    return tuple(nn.Linear(C, 4 * C)(torch.zeros(B, T, C)).shape)


def parameters_of_four_layers(C: int) -> int:
    return sum(parameter.numel() for parameter in nn.MultiheadAttention(C, 1).parameters())
