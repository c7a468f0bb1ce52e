"""Unlisted mistakes of unit 5: wrong answers that are none of the misconceptions. The grader must not name them.

Those with the name of a misconception in front show it in code that takes another route. They must get its name.
"""

import math

import torch
import torch.nn as nn

# -- linear_as_matmul --------------------------------------------------------------------------------------------


def linear_as_matmul__bias_as_a_factor(x, weight, bias):
    return x @ weight * bias


def linear_as_matmul__bias_added_twice(x, weight, bias):
    return torch.addmm(bias, x, weight) + bias


def linear_as_matmul__rows_added_up(x, weight, bias):
    return x.sum(dim=0) @ weight + bias


def linear_as_matmul__a_layer_with_weights_of_its_own(x, weight, bias):
    layer = nn.Linear(*weight.shape)
    return layer(x.float())


def linear_as_matmul__mean_over_the_features(x, weight, bias):
    return x @ weight / x.shape[1] + bias


def linear_as_matmul__sigmoid_at_the_end(x, weight, bias):
    return torch.sigmoid(x @ weight + bias)


def linear_as_matmul__product_place_by_place(x, weight, bias):
    return x * weight + bias


def linear_as_matmul__weight_through_the_rows_of_x(x, weight, bias):
    return torch.einsum("mn,kn->mk", x, weight.T) - bias * 2


# -- sinusoidal_encoding -----------------------------------------------------------------------------------------


def table(positions, exponents, base=10000.0):
    """Sines and cosines in turn, (T, d)."""
    angles = torch.as_tensor(positions).double()[:, None] / base ** torch.as_tensor(exponents).double()
    return torch.stack([angles.sin(), angles.cos()], dim=2).reshape(len(angles), -1).float()


def exponents(d_model):
    if d_model % 2:
        raise ValueError("d_model must be even")
    return torch.arange(0, d_model, 2) / d_model


def sinusoidal_encoding__slowest_hand_first(num_positions, d_model):
    return table(range(num_positions), exponents(d_model).flip(0))


def sinusoidal_encoding__last_position_first(num_positions, d_model):
    return table(range(num_positions - 1, -1, -1), exponents(d_model))


def sinusoidal_encoding__hands_of_half_the_length(num_positions, d_model):
    return table(range(num_positions), exponents(d_model)) / 2


def sinusoidal_encoding__hands_turn_backwards(num_positions, d_model):
    return table([-pos for pos in range(num_positions)], exponents(d_model))


def sinusoidal_encoding__single_position_refused(num_positions, d_model):
    if num_positions < 2:
        raise ValueError("too few positions")
    return table(range(num_positions), exponents(d_model))


def sinusoidal_encoding__root_of_the_position(num_positions, d_model):
    if d_model % 2:
        raise ValueError("d_model must be even")
    pe = torch.zeros(num_positions, d_model)
    for pos in range(num_positions):
        for i in range(0, d_model, 2):
            pe[pos, i] = math.sin(math.sqrt(pos) / 10000 ** (i / d_model))
            pe[pos, i + 1] = math.cos(math.sqrt(pos) / 10000 ** (i / d_model))
    return pe


def sinusoidal_encoding__logarithm_times_the_width(num_positions, d_model):
    exponents(d_model)
    pe = torch.zeros(num_positions, d_model)
    position = torch.arange(num_positions).unsqueeze(1)
    div_term = torch.exp(torch.arange(0, d_model, 2) * -math.log(10000.0) * d_model)
    pe[:, 0::2] = torch.sin(position * div_term)
    pe[:, 1::2] = torch.cos(position * div_term)
    return pe


def sinusoidal_encoding__exponents_squared(num_positions, d_model):
    return table(range(num_positions), exponents(d_model) ** 2 * d_model / 4)


def sinusoidal_encoding__base_of_ten(num_positions, d_model):
    return table(range(num_positions), exponents(d_model), base=10.0)


def sinusoidal_encoding__squares_of_sines_and_cosines(num_positions, d_model):
    return table(range(num_positions), exponents(d_model)) ** 2


def sinusoidal_encoding__sines_of_cosines(num_positions, d_model):
    encoding = table(range(num_positions), exponents(d_model))
    encoding[:, 1::2] = torch.sin(encoding[:, 1::2])
    return encoding


def odd_width_stumbled_over__every_other_column(num_positions, d_model):
    pe = torch.zeros(num_positions, d_model)
    position = torch.arange(num_positions, dtype=torch.float).unsqueeze(1)
    div_term = torch.exp(torch.arange(0, d_model, 2).float() * (-math.log(10000.0) / d_model))
    pe[:, 0::2] = torch.sin(position * div_term)
    pe[:, 1::2] = torch.cos(position * div_term)
    return pe


# -- add_positions -----------------------------------------------------------------------------------------------


def encoding_like(x):
    return table(range(x.shape[1]), exponents(x.shape[2])).to(x.dtype)


def add_positions__subtracted(x):
    return x - encoding_like(x)


def add_positions__mean_of_both(x):
    return (x + encoding_like(x)) / 2


def add_positions__last_position_first(x):
    return x + encoding_like(x).flip(0)


def add_positions__added_twice(x):
    return x + 2 * encoding_like(x)


def add_positions__every_other_token(x):
    positions = encoding_like(x)
    positions[1::2] = 0
    return x + positions


def add_positions__layer_norm_at_the_end(x):
    return nn.functional.layer_norm(x + encoding_like(x), x.shape[-1:])


def add_positions__one_position_twice(x):
    positions = encoding_like(x)
    return x + torch.cat([positions[:1], positions[:-1]])


def add_positions__sines_added_to_every_feature(x):
    return x + encoding_like(x)[:, 0::2].repeat_interleave(2, dim=1)


def add_positions__single_sequence_refused(x):
    if len(x) < 2:
        raise ValueError("not a batch")
    return x + encoding_like(x)


def odd_number_of_tokens_refused__asserted(x):
    B, T, d = x.shape
    assert T % 2 == 0
    angle = torch.arange(T).unsqueeze(1) / torch.pow(10000, torch.arange(0, d, 2) / d)
    pe = torch.zeros(T, d, dtype=x.dtype)
    pe[:, 0::2] = torch.sin(angle)
    pe[:, 1::2] = torch.cos(angle)[:, : d // 2]
    return x + pe
