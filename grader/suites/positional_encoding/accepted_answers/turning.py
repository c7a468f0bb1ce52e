"""Each hand is a complex number that is rotated at each position. The results are transposed, non-contiguous views."""

import torch


def linear_as_matmul(x, weight, bias):
    return (torch.einsum("nk,mn->km", weight, x) + bias[:, None]).T


def sinusoidal_encoding(num_positions, d_model):
    if d_model % 2:
        raise AssertionError("d_model")
    frequencies = torch.tensor(10000.0) ** -torch.linspace(0, 1, d_model // 2 + 1)[:-1]
    step = torch.polar(torch.ones_like(frequencies), frequencies)
    hand = torch.ones_like(step)
    rows = []
    for _ in range(num_positions):
        rows.append(torch.view_as_real(hand)[:, [1, 0]].reshape(-1))
        hand = hand * step
    return torch.stack(rows, dim=1).T


def add_positions(x):
    # A cosine is a sine that is a quarter of a turn ahead.
    d = x.size(-1)
    if d != d // 2 * 2:
        raise AssertionError("d")
    columns = torch.arange(d, dtype=x.dtype)
    ahead = columns.remainder(2)
    rates = torch.pow(10000.0, (ahead - columns) / d)
    angles = torch.outer(torch.arange(x.size(-2), dtype=x.dtype), rates) + ahead * torch.pi / 2
    return torch.stack([sequence + angles.sin() for sequence in x])
