"""The encoding comes from NumPy and stays float64. The bias is one more row of the weight."""

import numpy as np
import torch


def linear_as_matmul(x, weight, bias):
    ones = x.new_ones(x.shape[0], 1)
    longer, taller = torch.cat([x, ones], dim=1), torch.cat([weight, bias.reshape(1, -1)])
    return torch.mm(longer, taller)  # (m, n + 1) @ (n + 1, k)


def sinusoidal_encoding(num_positions, d_model):
    if d_model % 2 != 0:
        raise ValueError("odd")
    columns = np.arange(d_model)
    angles = np.arange(num_positions)[:, np.newaxis] / np.power(10000, (2 * (columns // 2)) / np.float32(d_model))
    angles[:, 0::2] = np.sin(angles[:, 0::2])
    angles[:, 1::2] = np.cos(angles[:, 1::2])
    return torch.from_numpy(angles)


def add_positions(x):
    pe = sinusoidal_encoding(x.shape[-2], x.shape[-1])[None, :, :]
    return (x.double() + pe.repeat(x.shape[0], 1, 1)).to(dtype=x.dtype)
