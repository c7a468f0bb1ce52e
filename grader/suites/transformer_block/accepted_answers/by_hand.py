"""Matrices and masks by hand: float64 inside, layers registered in another order, non-contiguous results."""

import torch
from torch import nn


class LayerNorm(nn.Module):
    def __init__(self, emb_dim, eps=1e-5):
        super().__init__()
        self.emb_dim, self.eps = emb_dim, eps
        self.shift = nn.Parameter(0 * torch.arange(emb_dim, dtype=torch.float32))
        self.scale = nn.Parameter(torch.ones_like(self.shift))

    def forward(self, x):
        columns = x.double().movedim(-1, 0)  # (…, C) -> (C, …)
        total = sum(columns)
        differences = columns - total / self.emb_dim
        squares = (differences * differences).sum(0) / self.emb_dim
        normalized = differences / (squares + self.eps) ** 0.5
        return (normalized.movedim(0, -1) * self.scale + self.shift).to(x.dtype)


class FeedForward(nn.Module):
    def __init__(self, emb_dim, expansion=4):
        super().__init__()
        hidden = int(expansion * emb_dim)
        self.back = nn.Linear(hidden, emb_dim)
        self.there = nn.Linear(emb_dim, hidden)
        self.calls = 0

    def forward(self, x):
        self.calls += 1
        hidden = torch.einsum("...i,oi->...o", x, self.there.weight) + self.there.bias
        hidden = torch.where(hidden > 0, hidden, torch.zeros_like(hidden))
        return torch.einsum("...h,oh->...o", hidden, self.back.weight).add(self.back.bias)


class Residual(nn.Module):
    def __init__(self, sublayer):
        super().__init__()
        self.add_module("inner", sublayer)

    def forward(self, x):
        copy = x.clone()
        copy += self.inner(x)
        return copy


class TransformerBlock(nn.Module):
    def __init__(self, attention, feed_forward, emb_dim, dropout):
        super().__init__()
        assert 0 <= dropout < 1
        self.p = dropout
        self.add_module("feed_forward", feed_forward)
        self.add_module("attention", attention)
        self.norm2 = LayerNorm(emb_dim)
        self.norm1 = LayerNorm(emb_dim, eps=1e-5)

    def drop(self, y):
        if not self.training or self.p == 0:
            return y
        keep = torch.rand(y.shape) >= self.p
        return y * keep / (1 - self.p)

    def forward(self, x):
        y = self.drop(self.attention(self.norm1(x)))
        z = self.drop(self.feed_forward(self.norm2(x + y)))
        return x + y + z


def stack_blocks(make_block, num_blocks):
    class Tower(nn.Module):
        def __init__(self):
            super().__init__()
            for floor in range(num_blocks):
                setattr(self, f"floor{floor}", make_block())

        def forward(self, x):
            for floor in range(num_blocks):
                x = getattr(self, f"floor{floor}")(x)
            return x.mT.contiguous().mT

    return Tower()


def gpt2_parameter_count(num_layers, emb_dim, vocab_size=50257, context_length=1024):
    d = emb_dim
    return d * (vocab_size + context_length + 2 + num_layers * (12 * d + 13))
