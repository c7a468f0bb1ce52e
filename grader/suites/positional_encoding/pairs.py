"""Pairs of unit 5: answers with two of the misconceptions at once. Their names have both."""

import torch

# -- sinusoidal_encoding -----------------------------------------------------------------------------------------------


def positions_from_one__and__odd_width_accepted(num_positions, d_model):
    positions = torch.arange(1, num_positions + 1, dtype=torch.float32)
    freqs = 10000 ** (-torch.arange(0, d_model, 2, dtype=torch.float32) / d_model)
    angles = torch.outer(positions, freqs)
    pe = torch.stack([torch.sin(angles), torch.cos(angles)], dim=-1).flatten(1)
    return pe[:, :d_model]


# -- add_positions -----------------------------------------------------------------------------------------------------


def sinusoidal_encoding(num_positions, d_model):
    if d_model % 2 != 0:
        raise ValueError("d_model must be even")
    pos = torch.arange(num_positions, dtype=torch.float64)[:, None]
    angles = pos / 10000.0 ** (torch.arange(0, d_model, 2, dtype=torch.float64) / d_model)
    pe = torch.zeros(num_positions, d_model, dtype=torch.float64)
    pe[:, 0::2], pe[:, 1::2] = torch.sin(angles), torch.cos(angles)
    return pe


def positions_from_one_in_what_is_added__and__added_in_place(x):
    _, num_tokens, d = x.shape
    pe = sinusoidal_encoding(num_tokens + 1, d)[1:]
    x += pe.to(x.dtype)
    return x


def sinusoidal_encoding_3(num_positions, d_model):
    assert d_model % 2 == 0
    pos = torch.arange(num_positions).float()
    freq = 1.0 / 10000 ** (torch.arange(0, d_model, 2).float() / d_model)
    angles = pos[:, None] * freq[None, :]
    return torch.stack((angles.sin(), angles.cos()), dim=2).reshape(num_positions, d_model)


def made_float32__and__x_detached(x):
    B, T, d = x.shape
    out = torch.zeros(B, T, d)
    pe = sinusoidal_encoding_3(T, d)
    with torch.no_grad():
        for b in range(B):
            out[b] = x[b] + pe
    return out
