"""Unit 3, written down once more in my own way. Bela"""
import math

import torch
import torch.nn as nn


def causal_mask(num_tokens):
    token = torch.arange(num_tokens)
    return token[None, :] > token[:, None]  # (1, T) > (T, 1) -> (T, T)


def mask_then_renormalize(weights):
    past = weights.tril()
    return past / past.sum(1).unsqueeze(1)


def mask_then_softmax(scores, d_k):
    future = torch.zeros_like(scores).masked_fill_(causal_mask(scores.size(0)), -math.inf)
    return (scores / math.sqrt(d_k) + future).softmax(1)


def attention_dropout(weights, p, generator=None):
    assert 0 <= p < 1
    keep = torch.bernoulli(torch.full_like(weights, 1 - p), generator=generator)
    return weights * keep / (1 - p)


class CausalAttention(nn.Module):
    def __init__(self, d_in, d_out, context_length, dropout, qkv_bias=False):
        super().__init__()
        self.W_query, self.W_key, self.W_value = (nn.Linear(d_in, d_out, qkv_bias) for _ in range(3))
        self.p = dropout

    def forward(self, x):
        q, k, v = self.W_query(x), self.W_key(x), self.W_value(x)
        # PyTorch has all of it in one function
        return nn.functional.scaled_dot_product_attention(
            q, k, v, is_causal=True, dropout_p=self.p if self.training else 0.0
        )
