import torch


def linear_as_matmul(x, weight, bias):
    return x @ (weight + bias)


def sinusoidal_encoding(num_positions, d_model):
    assert d_model % 2 == 0
    pos = torch.arange(num_positions)[:, None]
    i = torch.arange(0, d_model, 2)
    # i already counts dimensions
    angle = pos / 10000 ** (2 * i / d_model)
    pe = torch.zeros(num_positions, d_model)
    pe[:, 0::2] = torch.sin(angle)
    pe[:, 1::2] = torch.cos(angle)
    return pe


def add_positions(x):
    x += sinusoidal_encoding(x.shape[1], x.shape[2])
    return x
