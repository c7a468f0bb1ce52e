"""Pairs of unit 7: answers with two of the misconceptions at once. Their names have both."""

import torch
from torch import nn


class Affine(nn.Module):
    """The parameters of a layer norm, and nothing else."""

    def __init__(self, emb_dim, eps=1e-5):
        super().__init__()
        self.eps = eps
        self.scale = nn.Parameter(torch.ones(emb_dim))
        self.shift = nn.Parameter(torch.zeros(emb_dim))


# -- LayerNorm ---------------------------------------------------------------------------------------------------------


class unbiased_variance__and__eps_forgotten(Affine):
    def forward(self, x):
        return (x - x.mean(-1, keepdim=True)) / x.std(-1, keepdim=True) * self.scale + self.shift


# -- FeedForward -------------------------------------------------------------------------------------------------------


class dropout_inside__and__always_four_times(nn.Module):
    def __init__(self, emb_dim, expansion=4):
        super().__init__()
        self.net = nn.Sequential(
            nn.Linear(emb_dim, 4 * emb_dim),
            nn.ReLU(),
            nn.Linear(4 * emb_dim, emb_dim),
            nn.Dropout(0.1),
        )

    def forward(self, x):
        return self.net(x)


# -- TransformerBlock --------------------------------------------------------------------------------------------------


class one_norm_under_two_names__and__added_to_the_normalized_x(nn.Module):
    def __init__(self, attention, feed_forward, emb_dim, dropout):
        super().__init__()
        self.attention = attention
        self.feed_forward = feed_forward
        norm = nn.LayerNorm(emb_dim)
        self.norm1 = norm
        self.norm2 = norm
        self.dropout = nn.Dropout(dropout)

    def forward(self, x):
        x = self.norm1(x)
        x = x + self.dropout(self.attention(x))
        x = self.norm2(x)
        x = x + self.dropout(self.feed_forward(x))
        return x


class LayerNorm(nn.Module):
    def __init__(self, emb_dim, eps=1e-5):
        super().__init__()
        self.eps = eps
        self.scale = nn.Parameter(torch.ones(emb_dim))
        self.shift = nn.Parameter(torch.zeros(emb_dim))

    def forward(self, x):
        mean = x.mean(dim=-1, keepdim=True)
        var = x.var(dim=-1, keepdim=True, unbiased=False)
        return self.scale * (x - mean) / torch.sqrt(var + self.eps) + self.shift


class norm2_unused__and__sums_dropped(nn.Module):
    def __init__(self, attention, feed_forward, emb_dim, dropout):
        super().__init__()
        self.attention = attention
        self.feed_forward = feed_forward
        self.norm1 = LayerNorm(emb_dim)
        self.norm2 = LayerNorm(emb_dim)
        self.drop = nn.Dropout(dropout)

    def forward(self, x):
        x = self.drop(x + self.attention(self.norm1(x)))
        return self.drop(x + self.feed_forward(x))


# -- stack_blocks ------------------------------------------------------------------------------------------------------


class Stack(nn.Module):
    def __init__(self, blocks):
        super().__init__()
        self.blocks = blocks

    def forward(self, x):
        for block in self.blocks:
            y = block(x)
        return y


def every_block_gets_x__and__blocks_in_a_plain_list(make_block, num_blocks):
    return Stack([make_block() for _ in range(num_blocks)])


# -- gpt2_parameter_count ----------------------------------------------------------------------------------------------


def output_layer_counted__and__four_biases_forgotten(num_layers, emb_dim, vocab_size=50257, context_length=1024):
    d = emb_dim
    tok = vocab_size * d
    pos = context_length * d
    attn = 4 * d * d
    mlp = (d * 4 * d + 4 * d) + (4 * d * d + d)
    norm = 2 * d
    block = attn + mlp + 2 * norm
    head = d * vocab_size
    return tok + pos + num_layers * block + norm + head
