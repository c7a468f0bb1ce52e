import torch


def linear_as_matmul(x, weight, bias):
    return torch.matmul(x, weight) + bias


def sinusoidal_encoding(num_positions, d_model):
    if d_model % 2:
        raise ValueError("odd")
    pos = torch.arange(num_positions)[:, None]
    i = torch.arange(d_model)[None, :] // 2
    angle = pos / 10000 ** (2 * i / d_model)
    return torch.where(torch.arange(d_model) % 2 == 0, angle.sin(), angle.cos())


def add_positions(x):
    return x + sinusoidal_encoding(*x.shape[1:]).to(x)
