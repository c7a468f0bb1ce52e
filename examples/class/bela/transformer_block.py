"""Unit 7, written down once more in my own way. Bela"""
from functools import reduce

import torch
import torch.nn as nn


class LayerNorm(nn.Module):
    def __init__(self, emb_dim, eps=1e-5):
        super().__init__()
        self.scale, self.shift = nn.Parameter(torch.ones(emb_dim)), nn.Parameter(torch.zeros(emb_dim))
        self.eps = eps

    def forward(self, x):
        # PyTorch has it in one function
        return nn.functional.layer_norm(x, self.scale.shape, self.scale, self.shift, self.eps)


class FeedForward(nn.Module):
    def __init__(self, emb_dim, expansion=4):
        super().__init__()
        self.wider = nn.Linear(emb_dim, emb_dim * expansion)
        self.back = nn.Linear(emb_dim * expansion, emb_dim)

    def forward(self, x):
        return self.back(self.wider(x).clamp(min=0))


class Residual(nn.Module):
    def __init__(self, sublayer):
        super().__init__()
        self.f = sublayer

    def forward(self, x):
        return self.f(x) + x


class TransformerBlock(nn.Module):
    def __init__(self, attention, feed_forward, emb_dim, dropout):
        super().__init__()
        self.norm1, self.norm2 = nn.LayerNorm(emb_dim), nn.LayerNorm(emb_dim)
        self.first = Residual(nn.Sequential(self.norm1, attention, nn.Dropout(dropout)))
        self.second = Residual(nn.Sequential(self.norm2, feed_forward, nn.Dropout(dropout)))

    def forward(self, x):
        return self.second(self.first(x))


class Stack(nn.Module):
    def __init__(self, blocks):
        super().__init__()
        self.blocks = nn.ModuleList(blocks)

    def forward(self, x):
        return reduce(lambda x, block: block(x), self.blocks, x)


def stack_blocks(make_block, num_blocks):
    return Stack(make_block() for _ in range(num_blocks))


def gpt2_parameter_count(num_layers, emb_dim, vocab_size=50257, context_length=1024):
    d = emb_dim
    sizes = [(vocab_size, d), (context_length, d), (2, d)]
    for _ in range(num_layers):
        sizes += [(d + 1, 3 * d), (d + 1, d), (d + 1, 4 * d), (4 * d + 1, d), (4, d)]
    return sum(rows * columns for rows, columns in sizes)
