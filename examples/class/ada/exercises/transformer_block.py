import torch
from torch import nn


class LayerNorm(nn.Module):
    def __init__(self, emb_dim, eps=1e-5):
        super().__init__()
        self.eps = eps
        self.scale = nn.Parameter(torch.ones(emb_dim))
        self.shift = nn.Parameter(torch.zeros(emb_dim))

    def forward(self, x):
        mean = x.mean(dim=-1, keepdim=True)
        variance = x.var(dim=-1, keepdim=True, unbiased=False)
        return self.scale * (x - mean) / torch.sqrt(variance + self.eps) + self.shift


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
        self.sublayer = sublayer

    def forward(self, x):
        return x + self.sublayer(x)


class TransformerBlock(nn.Module):
    def __init__(self, attention, feed_forward, emb_dim, dropout):
        super().__init__()
        self.attention = attention
        self.feed_forward = feed_forward
        self.norm1 = LayerNorm(emb_dim)
        self.norm2 = LayerNorm(emb_dim)
        self.dropout = nn.Dropout(dropout)

    def forward(self, x):
        x = x + self.dropout(self.attention(self.norm1(x)))
        return x + self.dropout(self.feed_forward(self.norm2(x)))


def stack_blocks(make_block, num_blocks):
    return nn.Sequential(*[make_block() for _ in range(num_blocks)])


def gpt2_parameter_count(num_layers, emb_dim, vocab_size=50257, context_length=1024):
    attention = 4 * (emb_dim * emb_dim + emb_dim)
    feed_forward = (emb_dim * 4 * emb_dim + 4 * emb_dim) + (4 * emb_dim * emb_dim + emb_dim)
    norm = 2 * emb_dim
    block = attention + feed_forward + 2 * norm
    return (vocab_size + context_length) * emb_dim + num_layers * block + norm
