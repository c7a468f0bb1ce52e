"""PyTorch's own modules. The count builds the whole model on the meta device, which stores no numbers."""

from collections import OrderedDict

import torch
import torch.nn.functional as F
from torch import nn


class LayerNorm(nn.LayerNorm):
    def __init__(self, emb_dim, eps=1e-5):
        super().__init__(emb_dim, eps=eps)
        self.scale, self.shift = self.weight, self.bias  # one parameter each, under two names


class FeedForward(nn.Sequential):
    def __init__(self, emb_dim, expansion=4):
        layers = [
            ("c_fc", nn.Linear(emb_dim, emb_dim * expansion)),
            ("relu", nn.ReLU(inplace=True)),
            ("c_proj", nn.Linear(emb_dim * expansion, emb_dim)),
        ]
        super().__init__(OrderedDict(layers))


class Residual(nn.Sequential):
    def forward(self, x):
        return torch.add(x, super().forward(x))


class TransformerBlock(nn.Module):
    def __init__(self, attention, feed_forward, emb_dim, dropout):
        super().__init__()
        self.norm1 = nn.LayerNorm(emb_dim)
        self.norm2 = nn.LayerNorm(emb_dim)
        self.steps = nn.ModuleDict(
            {
                "communicate": nn.Sequential(self.norm1, attention, nn.Dropout(dropout)),
                "compute": nn.Sequential(self.norm2, feed_forward, nn.Dropout(dropout)),
            }
        )

    def forward(self, x):
        for step in self.steps.values():
            x = x + step(x)
        return x


def stack_blocks(make_block, num_blocks):
    stack = nn.Sequential()
    while len(stack) < num_blocks:
        stack.append(make_block())
    return stack


def gpt2_parameter_count(num_layers, emb_dim, vocab_size=50257, context_length=1024):
    with torch.device("meta"):
        layer = nn.TransformerEncoderLayer(emb_dim, emb_dim // 64, 4 * emb_dim, norm_first=True)
        model = nn.ModuleList(
            [
                nn.Embedding(vocab_size, emb_dim),
                nn.Embedding(context_length, emb_dim),
                nn.TransformerEncoder(layer, num_layers, nn.LayerNorm(emb_dim), enable_nested_tensor=False),
            ]
        )
    return sum(p.numel() for p in model.parameters())
