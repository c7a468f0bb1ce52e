"""Each exercise calls earlier ones: the block uses norm and residual, and the count builds a whole model."""

import torch
from multi_head_attention import MultiHeadAttention
from torch import nn


class LayerNorm(nn.Module):
    def __init__(self, emb_dim, eps=1e-5):
        super().__init__()
        self.scale = nn.Parameter(torch.ones(emb_dim))
        self.shift = nn.Parameter(torch.zeros(emb_dim))
        self.eps = eps

    def forward(self, x):
        variance, mean = torch.var_mean(x, dim=-1, correction=0, keepdim=True)
        return (x - mean) * torch.rsqrt(variance + self.eps) * self.scale + self.shift


class FeedForward(nn.Module):
    def __init__(self, emb_dim, expansion=4):
        super().__init__()
        self.wide = nn.Linear(emb_dim, emb_dim * expansion)
        self.narrow = nn.Linear(emb_dim * expansion, emb_dim)

    def forward(self, x):
        return self.narrow(self.wide(x).clamp(min=0))


class Residual(nn.Module):
    def __init__(self, sublayer):
        super().__init__()
        self.sublayer = sublayer

    def forward(self, x):
        return self.sublayer(x) + x


class TransformerBlock(nn.Module):
    def __init__(self, attention, feed_forward, emb_dim, dropout):
        super().__init__()
        self.norm1, self.norm2 = LayerNorm(emb_dim), LayerNorm(emb_dim)
        self.both = nn.Sequential(
            Residual(nn.Sequential(self.norm1, attention, nn.Dropout(dropout))),
            Residual(nn.Sequential(self.norm2, feed_forward, nn.Dropout(dropout))),
        )

    def forward(self, x):
        return self.both(x)


def stack_blocks(make_block, num_blocks):
    first = make_block()
    return first if num_blocks == 1 else nn.Sequential(first, stack_blocks(make_block, num_blocks - 1))


def gpt2_parameter_count(num_layers, emb_dim, vocab_size=50257, context_length=1024):
    def make_block():
        attention = MultiHeadAttention(emb_dim, emb_dim, context_length, 0.1, emb_dim // 64, qkv_bias=True)
        return TransformerBlock(attention, FeedForward(emb_dim), emb_dim, 0.1)

    class GPT2(nn.Module):
        def __init__(self):
            super().__init__()
            self.tokens = nn.Embedding(vocab_size, emb_dim)
            self.positions = nn.Embedding(context_length, emb_dim)
            self.blocks = stack_blocks(make_block, num_layers)
            self.norm = LayerNorm(emb_dim)
            self.scores = nn.Linear(emb_dim, vocab_size, bias=False)
            self.scores.weight = self.tokens.weight

    return sum(parameter.numel() for parameter in GPT2().parameters())
