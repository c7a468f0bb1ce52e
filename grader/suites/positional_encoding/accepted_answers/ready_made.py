"""PyTorch's own functions: F.linear, exp and log instead of powers, and a frozen embedding table."""

import math
import warnings

import torch
import torch.nn as nn
import torch.nn.functional as F

warnings.warn("the table is made anew for every call")


def linear_as_matmul(x: torch.Tensor, weight: torch.Tensor, bias: torch.Tensor) -> torch.Tensor:
    return F.linear(x, weight.t(), bias)


def sinusoidal_encoding(num_positions: int, d_model: int) -> torch.Tensor:
    if d_model & 1:
        raise ValueError("Cannot use sin/cos positional encoding with odd dim (got dim={:d})".format(d_model))
    pe = torch.zeros(num_positions, d_model)
    position = torch.arange(0, num_positions, dtype=torch.float).unsqueeze(1)
    div_term = torch.exp(torch.arange(0, d_model, 2).float() * (-math.log(10000.0) / d_model))
    pe[:, 0::2] = torch.sin(position * div_term)
    pe[:, 1::2] = torch.cos(position * div_term)
    print("made", pe.shape)
    return pe


class PositionalEmbedding(nn.Module):
    def __init__(self, num_positions: int, d_model: int) -> None:
        super().__init__()
        self.table = nn.Embedding.from_pretrained(sinusoidal_encoding(num_positions, d_model), freeze=True)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        positions = torch.arange(x.size(1)).unsqueeze(0)
        return x + self.table(positions)


def add_positions(x: torch.Tensor) -> torch.Tensor:
    return PositionalEmbedding(x.size(1), x.size(2)).to(x.dtype)(x)
