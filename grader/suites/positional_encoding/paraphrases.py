"""Paraphrases of unit 5: the same wrong ideas as the misconceptions, in other code and under the same names."""

import math

import torch

# -- linear_as_matmul --------------------------------------------------------------------------------------------


def bias_for_the_first_row(x, weight, bias):
    y = torch.einsum("mn,nk->mk", x, weight)
    y[0] += bias
    return y


def weight_transposed(x, weight, bias):
    return torch.matmul(x, weight.T) + bias


def result_on_its_side(x, weight, bias):
    columns = [torch.mv(x, w) + b for w, b in zip(weight.t(), bias)]
    return torch.stack(columns)


def bias_unsqueezed_in_place(x, weight, bias):
    bias.unsqueeze_(0)
    return torch.addmm(bias, x, weight)


# -- sinusoidal_encoding -----------------------------------------------------------------------------------------


def exponent_doubled(num_positions, d_model):
    assert d_model % 2 == 0
    pe = torch.zeros(num_positions, d_model)
    for pos in range(num_positions):
        for i in range(0, d_model, 2):
            angle = pos / 10000 ** (2 * i / d_model)
            pe[pos, i] = math.sin(angle)
            pe[pos, i + 1] = math.cos(angle)
    return pe


def halves_side_by_side(num_positions, d_model):
    half, rest = divmod(d_model, 2)
    if rest:
        raise ValueError("d_model must be even")
    pe = torch.empty(num_positions, d_model)
    for pos in range(num_positions):
        for i in range(half):
            angle = pos / math.pow(10000, 2 * i / d_model)
            pe[pos, i] = math.sin(angle)
            pe[pos, half + i] = math.cos(angle)
    return pe


def exponents_up_to_one(num_positions, d_model):
    assert d_model % 2 == 0
    rates = torch.logspace(0, -4, d_model // 2)
    angles = torch.outer(torch.arange(num_positions).float(), rates)
    pe = torch.zeros(num_positions, d_model)
    pe[:, ::2], pe[:, 1::2] = angles.sin(), angles.cos()
    return pe


def whole_turns(num_positions, d_model):
    if d_model % 2:
        raise ValueError("odd d_model")
    table = []
    for pos in range(num_positions):
        row = []
        for i in range(0, d_model, 2):
            wavelength = 10000 ** (i / d_model)
            row.append(math.sin(math.tau * pos / wavelength))
            row.append(math.cos(math.tau * pos / wavelength))
        table.append(row)
    return torch.tensor(table)


def sines_alone(num_positions, d_model):
    assert d_model % 2 == 0
    pe = torch.zeros(num_positions, d_model)
    for pos in range(num_positions):
        for j in range(d_model):
            pe[pos, j] = math.sin(pos / 10000 ** (j // 2 * 2 / d_model))
    return pe


def odd_width_stumbled_over(num_positions, d_model):
    pe = torch.zeros(num_positions, d_model)
    position = torch.arange(num_positions, dtype=torch.float).unsqueeze(1)
    div_term = torch.exp(torch.arange(0, d_model, 2).float() * (-math.log(10000.0) / d_model))
    pe[:, 0::2] = torch.sin(position * div_term)
    pe[:, 1::2] = torch.cos(position * div_term)
    return pe


# -- add_positions -----------------------------------------------------------------------------------------------


def sinusoidal_encoding(num_positions, d_model):
    """This learner's answer to the exercise before, which is right."""
    assert d_model % 2 == 0
    pe = torch.zeros(num_positions, d_model)
    position = torch.arange(num_positions, dtype=torch.float).unsqueeze(1)
    div_term = torch.exp(torch.arange(0, d_model, 2).float() * (-math.log(10000.0) / d_model))
    pe[:, 0::2] = torch.sin(position * div_term)
    pe[:, 1::2] = torch.cos(position * div_term)
    return pe


def different_frequencies_in_what_is_added(x):
    B, T, d = x.shape
    if d % 2:
        raise ValueError("odd d")
    angle = torch.arange(T).unsqueeze(1) / torch.pow(10000, torch.arange(d) / d)
    pe = torch.zeros_like(x)
    pe[:, :, 0::2] = torch.sin(angle[:, 0::2])
    pe[:, :, 1::2] = torch.cos(angle[:, 1::2])
    return x + pe


def counted_on_through_the_batch(x):
    B, T, d = x.shape
    pe = sinusoidal_encoding(B * T, d).type_as(x)
    result, pos = [], 0
    for sequence in x:
        tokens = []
        for token in sequence:
            tokens.append(token + pe[pos])
            pos += 1
        result.append(torch.stack(tokens))
    return torch.stack(result)


def tokens_of_the_worked_example(x):
    num_tokens = 3
    pe = sinusoidal_encoding(num_tokens, x.size(-1)).type_as(x)
    return torch.stack([torch.add(sequence, pe) for sequence in x])


def odd_width_accepted_where_added(x):
    B, T, d = x.shape
    angle = torch.arange(T).unsqueeze(1) / torch.pow(10000, torch.arange(0, d, 2) / d)
    pe = torch.zeros(T, d, dtype=x.dtype)
    pe[:, 0::2] = torch.sin(angle)
    pe[:, 1::2] = torch.cos(angle)[:, : d // 2]
    return x + pe


def odd_number_of_tokens_refused(x):
    B, T, d = x.shape
    assert T % 2 == 0
    angle = torch.arange(T).unsqueeze(1) / torch.pow(10000, torch.arange(0, d, 2) / d)
    pe = torch.zeros(T, d, dtype=x.dtype)
    pe[:, 0::2] = torch.sin(angle)
    pe[:, 1::2] = torch.cos(angle)[:, : d // 2]
    return x + pe
