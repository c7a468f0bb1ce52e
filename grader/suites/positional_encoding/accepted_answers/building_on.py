"""Each exercise calls earlier ones, also of unit 1: a row times the weight is a weighted sum of its rows."""

import torch
from simple_attention import context_vector


def linear_as_matmul(x, weight, bias):
    return torch.stack([context_vector(row, weight) + bias for row in x])


def sinusoidal_encoding(num_positions, d_model):
    half, rest = divmod(d_model, 2)
    if rest:
        raise ValueError("d_model is odd")
    angles = [torch.arange(num_positions) * 10000.0 ** (-2 * i / d_model) for i in range(half)]
    return torch.stack([wave for angle in angles for wave in (torch.sin(angle), torch.cos(angle))], dim=-1)


def add_positions(x):
    positions = sinusoidal_encoding(x.shape[1], x.shape[2])
    out = torch.empty_like(x)
    for number, sequence in enumerate(x):
        out[number] = sequence + positions
    return out
