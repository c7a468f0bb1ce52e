"""Code that reads annotations at run time, and annotations as text."""

import math
from dataclasses import dataclass, fields
from functools import singledispatch
from typing import NamedTuple, get_type_hints

import torch
from torch import Tensor, nn


@dataclass
class Projections:
    queries: torch.Tensor
    keys: torch.Tensor
    values: torch.Tensor


@dataclass
class Sizes:
    d_in: int
    d_out: int
    note: "Description" = None


class Attended(NamedTuple):
    contexts: Tensor
    weights: "Float[Tensor, '... T_q T_k']"


@singledispatch
def matrix_of(layer):
    raise TypeError(f"no matrix in {type(layer)}")


@matrix_of.register
def _(layer: nn.Linear):
    return layer.weight.T


@matrix_of.register
def _(layer: nn.Parameter):
    return layer


def project_qkv(inputs: Tensor, W_query: Tensor, W_key: Tensor, W_value: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    matrices = (W_query, W_key, W_value)
    found = Projections(**{field.name: inputs @ matrix for field, matrix in zip(fields(Projections), matrices)})
    assert all(isinstance(getattr(found, name), kind) for name, kind in get_type_hints(Projections).items())
    return found.queries, found.keys, found.values


def scaled_dot_product_attention(queries: Tensor, keys: "Keys", values: Tensor) -> Attended:
    scores: Scores = queries @ keys.transpose(-2, -1) / math.sqrt(queries.shape[-1])
    weights = scores.softmax(dim=-1)
    return tuple(Attended(weights @ values, weights))


class SelfAttention_v1(nn.Module):
    W_query: nn.Parameter
    sizes: Sizes

    def __init__(self, d_in: int, d_out: int) -> None:
        super().__init__()
        self.sizes = Sizes(d_in, d_out)
        for name in ("W_query", "W_key", "W_value"):
            setattr(self, name, nn.Parameter(torch.randn(self.sizes.d_in, self.sizes.d_out)))

    def forward(self, inputs: "Tensor") -> "Later":
        return scaled_dot_product_attention(*project_qkv(inputs, self.W_query, self.W_key, self.W_value))[0]


class SelfAttention_v2(nn.Module):
    def __init__(self, d_in: int, d_out: int, qkv_bias: bool = False):
        super().__init__()
        self.W_query, self.W_key, self.W_value = (nn.Linear(d_in, d_out, bias=qkv_bias) for _ in range(3))

    def forward(self, inputs: torch.Tensor):
        return scaled_dot_product_attention(self.W_query(inputs), self.W_key(inputs), self.W_value(inputs))[0]


class Later:
    pass


names: list[str] = ["W_query", "W_key", "W_value"]


def transfer_weights(attention_v2: SelfAttention_v2, attention_v1: SelfAttention_v1):
    layers = [getattr(attention_v2, name) for name in names]
    if any(layer.bias is not None and layer.bias.any() for layer in layers):
        raise ValueError("a bias that is not zero")
    with torch.no_grad():
        for name, layer in zip(names, layers):
            matrix_of(getattr(attention_v1, name)).copy_(matrix_of(layer))


def dot_product_variance(d_k: int, samples: int, generator: torch.Generator | None = None) -> tuple[float, float]:
    products = (torch.randn(2, samples, d_k, generator=generator)).prod(dim=0).sum(dim=-1)
    return products.var().item(), (products / d_k**0.5).var().item()
