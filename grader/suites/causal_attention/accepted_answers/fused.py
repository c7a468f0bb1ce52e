"""One product for all three projections, and torch's own attention and dropout wherever possible."""

import torch
import torch.nn.functional as F
from torch import nn


def causal_mask(num_tokens):
    places = torch.arange(num_tokens)
    return torch.greater(places[None, :], places[:, None])


def mask_then_renormalize(weights):
    return F.normalize(torch.tril(weights), p=1, dim=-1)


def mask_then_softmax(scores, d_k):
    # Torch's own attention of one-hot queries and keys would do too; this is the log_softmax of torch.where.
    hidden = torch.tensor(float("-inf"), dtype=scores.dtype)
    return torch.where(causal_mask(scores.size(0)), hidden, scores).div(d_k**0.5).log_softmax(-1).exp()


def attention_dropout(weights, p, generator=None):
    if p == 1:
        raise ValueError("nothing would be left")
    if generator is None:
        return F.dropout(weights, p)  # refuses what lies outside [0, 1]
    if not 0 <= p < 1:
        raise ValueError(p)
    keep = torch.bernoulli(torch.full(weights.shape, 1 - p), generator=generator)
    return weights * keep.div(1 - p)


class CausalAttention(nn.Module):
    def __init__(self, d_in, d_out, context_length, dropout, qkv_bias=False):
        super().__init__()
        for name in ("W_query", "W_key", "W_value"):
            self.add_module(name, nn.Linear(d_in, d_out, bias=qkv_bias))
        self.dropout = dropout

    def forward(self, x):
        layers = (self.W_query, self.W_key, self.W_value)
        weight = torch.cat([layer.weight for layer in layers])  # (3 · d_out, d_in)
        bias = None if self.W_query.bias is None else torch.cat([layer.bias for layer in layers])
        queries, keys, values = F.linear(x, weight, bias).chunk(3, dim=-1)
        p = self.dropout if self.training else 0.0
        return F.scaled_dot_product_attention(queries, keys, values, dropout_p=p, is_causal=True)
