"""Unit 5, written down once more in my own way. Bela"""
import math

import torch


def linear_as_matmul(x, weight, bias):
    return torch.addmm(bias, x, weight)


def sinusoidal_encoding(num_positions, d_model):
    assert d_model % 2 == 0, f"{d_model} is odd"
    hands = torch.exp(torch.arange(0, d_model, 2, dtype=torch.float64) * (-math.log(10000.0) / d_model))
    angles = torch.outer(torch.arange(num_positions, dtype=torch.float64), hands)  # (T, d/2)
    return torch.stack([angles.sin(), angles.cos()], dim=-1).flatten(1).float()  # (T, d/2, 2) -> (T, d)


def add_positions(x):
    _, T, d = x.shape
    return x + sinusoidal_encoding(T, d).type_as(x)[None]
