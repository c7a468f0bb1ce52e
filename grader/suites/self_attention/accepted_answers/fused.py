"""One product for all three projections, and torch's own attention for the contexts."""

import torch
import torch.nn.functional as F
from torch import nn


def project_qkv(inputs, W_query, W_key, W_value):
    fused = torch.cat([W_query, W_key, W_value], dim=1)  # (d_in, 3 · d_out)
    return (inputs @ fused).chunk(3, dim=-1)


def scaled_dot_product_attention(queries, keys, values):
    contexts = F.scaled_dot_product_attention(queries, keys, values)
    scores = torch.matmul(queries, keys.mT).div(queries.shape[-1] ** 0.5)
    return contexts, scores.log_softmax(-1).exp()


class Attention(nn.Module):
    """What both versions have in common."""

    def projections(self, inputs):
        raise TypeError("either version has its own")

    def forward(self, inputs):
        return F.scaled_dot_product_attention(*(part[None] for part in self.projections(inputs)))[0]


class SelfAttention_v1(Attention):
    def __init__(self, d_in, d_out):
        super().__init__()
        W_query, W_key, W_value = torch.empty(d_in, 3 * d_out).uniform_(-1, 1).split(d_out, dim=1)
        self.W_query = nn.Parameter(W_query)
        self.W_key = nn.Parameter(W_key)
        self.W_value = nn.Parameter(W_value)

    def projections(self, inputs):
        return project_qkv(inputs, self.W_query, self.W_key, self.W_value)


class SelfAttention_v2(Attention):
    def __init__(self, d_in, d_out, qkv_bias=False):
        super().__init__()
        for name in ("W_query", "W_key", "W_value"):
            self.add_module(name, nn.Linear(d_in, d_out, bias=qkv_bias))

    def projections(self, inputs):
        layers = (self.W_query, self.W_key, self.W_value)
        weight = torch.cat([layer.weight for layer in layers])  # (3 · d_out, d_in)
        bias = None if self.W_query.bias is None else torch.cat([layer.bias for layer in layers])
        return F.linear(inputs, weight, bias).chunk(3, dim=-1)


def transfer_weights(attention_v2, attention_v1):
    state = attention_v2.state_dict()
    biases = {name: value for name, value in state.items() if name.endswith("bias")}
    if any(value.abs().max() > 0 for value in biases.values()):
        raise AssertionError(f"biases that are not zero: {sorted(biases)}")
    attention_v1.load_state_dict(
        {name.removesuffix(".weight"): value.T for name, value in state.items() if name not in biases}
    )


def dot_product_variance(d_k, samples, generator=None):
    # In pieces, so that no tensor is large whatever the caller asks for.
    products = torch.cat(
        [
            torch.randn(d_k, size, generator=generator).mul(torch.randn(d_k, size, generator=generator)).sum(0)
            for size in (len(piece) for piece in torch.arange(samples).split(1000))
        ]
    )
    return float(products.var()), float((products / torch.tensor(d_k).sqrt()).var())
