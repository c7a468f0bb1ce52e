"""einsum throughout, with type hints, prints and warnings left in, and additional attributes."""

import math
import warnings

import torch
import torch.nn as nn

print("self-attention with einsum, loaded")
warnings.warn("einsum is slower on this machine", stacklevel=1)


def project_qkv(inputs: torch.Tensor, W_query: torch.Tensor, W_key: torch.Tensor, W_value: torch.Tensor) -> list:
    return [torch.einsum("ti,io->to", inputs, matrix) for matrix in (W_query, W_key, W_value)]


def scaled_dot_product_attention(
    queries: torch.Tensor, keys: torch.Tensor, values: torch.Tensor
) -> tuple[torch.Tensor, torch.Tensor]:
    if queries.shape[-1] != keys.shape[-1]:
        raise ValueError("queries and keys differ in width")
    scores = torch.einsum("...id,...jd->...ij", queries, keys)
    weights = nn.functional.softmax(scores / math.sqrt(queries.size(-1)), dim=-1)
    print("scores", scores.shape)
    return torch.einsum("...ij,...jd->...id", weights, values), weights


def attend(x: torch.Tensor, query_matrix: torch.Tensor, key_matrix: torch.Tensor, value_matrix: torch.Tensor):
    return scaled_dot_product_attention(*project_qkv(x, query_matrix, key_matrix, value_matrix))


class SelfAttention_v1(nn.Module):
    def __init__(self, d_in: int, d_out: int) -> None:
        super().__init__()
        self.d_in, self.d_out = d_in, d_out
        for name in ("W_value", "W_key", "W_query"):
            self.register_parameter(name, nn.Parameter(torch.randn(d_in, d_out) / d_in**0.5))
        self.register_buffer("calls", torch.zeros(()))

    def forward(self, inputs: torch.Tensor) -> torch.Tensor:
        self.calls += 1
        contexts, self.last_weights = attend(inputs, self.W_query, self.W_key, self.W_value)
        return contexts


class SelfAttention_v2(nn.Module):
    def __init__(self, d_in: int, d_out: int, qkv_bias: bool = False) -> None:
        super().__init__()
        self.qkv_bias = qkv_bias
        self.W_value, self.W_key, self.W_query = (nn.Linear(d_in, d_out, qkv_bias) for _ in range(3))

    def forward(self, inputs: torch.Tensor) -> torch.Tensor:
        contexts, weights = attend(inputs, self.W_query.weight.T, self.W_key.weight.T, self.W_value.weight.T)
        if self.qkv_bias:
            queries = torch.einsum("ti,oi->to", inputs, self.W_query.weight) + self.W_query.bias
            keys = torch.einsum("ti,oi->to", inputs, self.W_key.weight) + self.W_key.bias
            values = torch.einsum("ti,oi->to", inputs, self.W_value.weight) + self.W_value.bias
            contexts, weights = scaled_dot_product_attention(queries, keys, values)
        self.last_weights = weights.detach()
        return contexts


def transfer_weights(attention_v2: nn.Module, attention_v1: nn.Module) -> nn.Module:
    for layer in (attention_v2.W_query, attention_v2.W_key, attention_v2.W_value):
        assert layer.bias is None or torch.count_nonzero(layer.bias) == 0, "there is a bias"
    attention_v1.W_query = nn.Parameter(attention_v2.W_query.weight.detach().clone().t())
    attention_v1.W_key = nn.Parameter(attention_v2.W_key.weight.detach().clone().t())
    attention_v1.W_value = nn.Parameter(attention_v2.W_value.weight.detach().clone().t())
    return attention_v1


def dot_product_variance(d_k, samples, generator=None):
    pairs = torch.randn(2, samples, d_k, generator=generator)
    products = torch.einsum("sd,sd->s", pairs[0], pairs[1])
    return torch.var(products, unbiased=False), torch.var(products * d_k**-0.5, unbiased=False)
