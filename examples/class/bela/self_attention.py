"""Unit 2, written down once more in my own way. Bela"""
import math

import torch
import torch.nn as nn

print("bela: torch", torch.__version__)


def heads_up(name, x):
    print(f"{name:>8}: {tuple(x.shape)}")
    return x


def softmax(x, dim):
    e = torch.exp(x - x.amax(dim=dim, keepdim=True))
    return e / e.sum(dim=dim, keepdim=True)


def project_qkv(inputs, W_query, W_key, W_value):
    return tuple(torch.einsum("ti,io->to", inputs, W) for W in (W_query, W_key, W_value))


def scaled_dot_product_attention(queries, keys, values):
    scores = torch.einsum("...qd,...kd->...qk", queries, keys) * (1 / math.sqrt(queries.size(-1)))
    weights = softmax(scores, dim=-1)
    return torch.einsum("...qk,...kv->...qv", weights, values), weights


class Attention(nn.Module):
    """What the two versions have in common."""

    def project(self, inputs):
        raise NotImplementedError

    def forward(self, inputs):
        contexts, _ = scaled_dot_product_attention(*self.project(inputs))
        return heads_up("contexts", contexts)


class SelfAttention_v1(Attention):
    def __init__(self, d_in, d_out):
        super().__init__()
        self.d_out = d_out
        for name in ("W_query", "W_key", "W_value"):
            self.register_parameter(name, nn.Parameter(torch.randn(d_in, d_out) / math.sqrt(d_in)))

    def project(self, inputs):
        return project_qkv(inputs, self.W_query, self.W_key, self.W_value)


class SelfAttention_v2(Attention):
    def __init__(self, d_in, d_out, qkv_bias=False):
        super().__init__()
        self.W_value, self.W_key, self.W_query = (nn.Linear(d_in, d_out, qkv_bias) for _ in range(3))

    def project(self, inputs):
        return self.W_query(inputs), self.W_key(inputs), self.W_value(inputs)


def transfer_weights(attention_v2, attention_v1):
    layers = {name: getattr(attention_v2, name) for name in ("W_query", "W_key", "W_value")}
    for name, layer in layers.items():
        assert layer.bias is None or not layer.bias.detach().abs().max() > 0, f"the bias of {name} would be lost"
    attention_v1.load_state_dict({name: layer.weight.t() for name, layer in layers.items()})


def dot_product_variance(d_k, samples, generator=None):
    pairs = torch.randn(samples, 2, d_k, generator=generator)
    products = torch.einsum("sd,sd->s", pairs[:, 0], pairs[:, 1])
    plain = products.var()
    return float(plain), float((products / math.sqrt(d_k)).var())


if __name__ == "__main__":
    print(dot_product_variance(64, 10_000))
