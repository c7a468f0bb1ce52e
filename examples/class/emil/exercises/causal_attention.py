import torch
import torch.nn as nn


def causal_mask(num_tokens):
    return ~torch.ones(num_tokens, num_tokens, dtype=torch.bool).tril()


def mask_then_renormalize(weights):
    w = weights * ~causal_mask(weights.shape[0])
    return w / w.sum(-1, keepdim=True)


def mask_then_softmax(scores, d_k):
    s = scores.clone()
    s[causal_mask(s.shape[0])] = float("-inf")
    return torch.softmax(s / d_k**0.5, -1)


def attention_dropout(weights, p, generator=None):
    if not 0 <= p < 1:
        raise ValueError(p)
    return weights * (torch.rand(weights.shape, generator=generator) < 1 - p) / (1 - p)


class CausalAttention(nn.Module):
    def __init__(self, d_in, d_out, context_length, dropout, qkv_bias=False):
        super().__init__()
        self.W_query = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_key = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_value = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.dropout = nn.Dropout(dropout)

    def forward(self, inputs):
        weights = [mask_then_softmax(s, self.W_key.out_features) for s in self.scores(inputs)]
        return self.dropout(torch.stack(weights)) @ self.W_value(inputs)

    def scores(self, inputs):
        return self.W_query(inputs) @ self.W_key(inputs).mT
