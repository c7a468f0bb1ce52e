import torch
import torch.nn as nn


def project_qkv(inputs, W_query, W_key, W_value):
    return inputs @ W_query, inputs @ W_key, inputs @ W_value


def scaled_dot_product_attention(queries, keys, values):
    d_k = queries.shape[-1]
    weights = torch.softmax(queries @ keys.transpose(-2, -1) / d_k**0.5, dim=-1)
    return weights @ values, weights


class SelfAttention_v1(nn.Module):
    def __init__(self, d_in, d_out):
        super().__init__()
        self.W_query = nn.Parameter(torch.rand(d_in, d_out))
        self.W_key = nn.Parameter(torch.rand(d_in, d_out))
        self.W_value = nn.Parameter(torch.rand(d_in, d_out))

    def forward(self, inputs):
        return scaled_dot_product_attention(*project_qkv(inputs, self.W_query, self.W_key, self.W_value))[0]


class SelfAttention_v2(nn.Module):
    def __init__(self, d_in, d_out, qkv_bias=False):
        super().__init__()
        self.W_query = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_key = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_value = nn.Linear(d_in, d_out, bias=qkv_bias)

    def forward(self, inputs):
        return scaled_dot_product_attention(self.W_query(inputs), self.W_key(inputs), self.W_value(inputs)[0]


def transfer_weights(attention_v2, attention_v1):
    for name in ["W_query", "W_key", "W_value"]:
        layer = getattr(attention_v2, name)
        if layer.bias is not None and layer.bias.abs().sum() > 0:
            raise ValueError("bias")
    for name in ["W_query", "W_key", "W_value"]:
        getattr(attention_v1, name).data = getattr(attention_v2, name).weight.data.T.clone()


def dot_product_variance(d_k, samples, generator=None):
    q = torch.randn(samples, d_k, generator=generator)
    k = torch.randn(samples, d_k, generator=generator)
    s = (q * k).sum(-1)
    return s.var().item(), (s / d_k**0.5).var().item()
