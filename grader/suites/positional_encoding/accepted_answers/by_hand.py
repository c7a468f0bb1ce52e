"""Plain Python, entry by entry. In add_positions an odd width raises an IndexError."""

import math

import torch


def linear_as_matmul(x, weight, bias):
    rows = []
    for row in x:
        entries = []
        for column in range(weight.shape[1]):
            total = bias[column]
            for feature in range(weight.shape[0]):
                total = total + row[feature] * weight[feature, column]
            entries.append(total)
        rows.append(torch.stack(entries))
    return torch.stack(rows)


def sinusoidal_encoding(num_positions, d_model):
    assert d_model % 2 == 0, "an even width, please"
    table = []
    for pos in range(num_positions):
        row = []
        for column in range(d_model):
            angle = pos / 10000 ** (2 * (column // 2) / d_model)
            row.append(math.sin(angle) if column % 2 == 0 else math.cos(angle))
        table.append(row)
    return torch.tensor(table)


def add_positions(x):
    B, T, d = x.shape
    result = x.clone()
    for t in range(T):
        for column in range(0, d, 2):
            angle = t / 10000 ** (column / d)
            result[:, t, column] += math.sin(angle)
            result[:, t, column + 1] += math.cos(angle)
    return result
