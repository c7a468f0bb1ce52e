"""As in textbooks: layers in an nn.Sequential, a variable for the shortcut, and an nn.ModuleList with a loop."""

import torch
import torch.nn as nn


class LayerNorm(nn.Module):
    def __init__(self, emb_dim, eps=1e-5):
        super().__init__()
        self.eps = eps
        self.scale = nn.Parameter(torch.ones(emb_dim))
        self.shift = nn.Parameter(torch.zeros(emb_dim))

    def forward(self, x):
        mean = x.mean(dim=-1, keepdim=True)
        var = x.var(dim=-1, keepdim=True, unbiased=False)
        norm_x = (x - mean) / torch.sqrt(var + self.eps)
        return self.scale * norm_x + self.shift


class FeedForward(nn.Module):
    def __init__(self, emb_dim, expansion=4):
        super().__init__()
        self.layers = nn.Sequential(
            nn.Linear(emb_dim, expansion * emb_dim),
            nn.ReLU(),
            nn.Linear(expansion * emb_dim, emb_dim),
        )

    def forward(self, x):
        return self.layers(x)


class Residual(nn.Module):
    def __init__(self, sublayer):
        super().__init__()
        self.fn = sublayer

    def forward(self, x):
        shortcut = x
        x = self.fn(x)
        x = x + shortcut
        return x


class TransformerBlock(nn.Module):
    def __init__(self, attention, feed_forward, emb_dim, dropout):
        super().__init__()
        self.att = attention
        self.ff = feed_forward
        self.norm1 = LayerNorm(emb_dim)
        self.norm2 = LayerNorm(emb_dim)
        self.drop_shortcut = nn.Dropout(dropout)

    def forward(self, x):
        shortcut = x
        x = self.norm1(x)
        x = self.att(x)
        x = self.drop_shortcut(x)
        x = x + shortcut

        shortcut = x
        x = self.norm2(x)
        x = self.ff(x)
        x = self.drop_shortcut(x)
        x = x + shortcut
        return x


class Stack(nn.Module):
    def __init__(self, blocks):
        super().__init__()
        self.blocks = nn.ModuleList(blocks)

    def forward(self, x):
        for block in self.blocks:
            x = block(x)
        return x


def stack_blocks(make_block, num_blocks):
    blocks = []
    for number in range(num_blocks):
        print("block", number)
        blocks.append(make_block())
    return Stack(blocks)


def gpt2_parameter_count(num_layers, emb_dim, vocab_size=50257, context_length=1024):
    tokens = vocab_size * emb_dim
    positions = context_length * emb_dim
    qkv = 3 * (emb_dim * emb_dim + emb_dim)
    projection = emb_dim * emb_dim + emb_dim
    up = emb_dim * 4 * emb_dim + 4 * emb_dim
    down = 4 * emb_dim * emb_dim + emb_dim
    norms = 2 * 2 * emb_dim
    final_norm = 2 * emb_dim
    return tokens + positions + num_layers * (qkv + projection + up + down + norms) + final_norm
