import torch
import torch.nn as nn


class LayerNorm(nn.Module):
    def __init__(self, emb_dim, eps=1e-5):
        super().__init__()
        self.scale = nn.Parameter(torch.ones(emb_dim))
        self.shift = nn.Parameter(torch.zeros(emb_dim))
        self.eps = eps

    def forward(self, x):
        x = x - x.mean(-1, keepdim=True)
        return x / (x.square().mean(-1, keepdim=True) + self.eps).sqrt() * self.scale + self.shift


class FeedForward(nn.Sequential):
    def __init__(self, emb_dim, expansion=4):
        super().__init__(nn.Linear(emb_dim, expansion * emb_dim), nn.ReLU(), nn.Linear(expansion * emb_dim, emb_dim))


class Residual(nn.Module):
    def __init__(self, sublayer):
        super().__init__()
        self.sublayer = sublayer

    def forward(self, x):
        return x + self.sublayer(x)


class TransformerBlock(nn.Module):
    def __init__(self, attention, feed_forward, emb_dim, dropout):
        super().__init__()
        self.norm1, self.attention = LayerNorm(emb_dim), attention
        self.norm2, self.feed_forward = LayerNorm(emb_dim), feed_forward
        self.drop = nn.Dropout(dropout)

    def forward(self, x):
        x = x + self.drop(self.attention(self.norm1(x)))
        x = x + self.drop(self.feed_forward(self.norm2(x)))
        return x


def stack_blocks(make_block, num_blocks):
    stack = nn.Sequential()
    for _ in range(num_blocks):
        stack.append(make_block())
    return stack


def gpt2_parameter_count(num_layers, emb_dim, vocab_size=50257, context_length=1024):
    d = emb_dim
    return vocab_size * d + context_length * d + num_layers * (12 * d * d + 13 * d) + 2 * d
