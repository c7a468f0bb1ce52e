"""Paraphrases of unit 5: the same wrong ideas as the misconceptions, in other code and under the same names."""

import math

import torch

# -- linear_as_matmul --------------------------------------------------------------------------------------------


def bias_for_the_first_row(x, weight, bias):
    y = torch.einsum("mn,nk->mk", x, weight)
    y[0] += bias
    return y


def bias_for_the_last_row(x, weight, bias):
    rows = []
    for row in x:
        out = row @ weight
        rows.append(out)
    rows[-1] = out + bias
    return torch.stack(rows)


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


def exponent_doubled_and_one_more(num_positions, d_model):
    assert d_model % 2 == 0
    pe = torch.zeros(num_positions, d_model)
    for pos in range(num_positions):
        for i in range(0, d_model, 2):
            pe[pos, i] = math.sin(pos / 10000 ** (2 * i / d_model))
            pe[pos, i + 1] = math.cos(pos / 10000 ** ((2 * i + 1) / d_model))
    return pe


def exponent_doubled_and_one_more__again(num_positions, d_model):
    if d_model % 2 != 0:
        raise ValueError("d_model must be even")
    position = torch.arange(num_positions, dtype=torch.float64)[:, None]
    even = torch.arange(0, d_model, 2, dtype=torch.float64)
    pe = torch.empty(num_positions, d_model, dtype=torch.float64)
    pe[:, 0::2] = torch.sin(position * torch.exp(-2 * even * math.log(10000) / d_model))
    pe[:, 1::2] = torch.cos(position * torch.exp(-(2 * even + 1) * math.log(10000) / d_model))
    return pe


def cosines_one_column_back(num_positions, d_model):
    assert d_model % 2 == 0
    rows = []
    for pos in range(num_positions):
        row = []
        for i in range(d_model // 2):
            row.append(math.sin(pos / 10000 ** (2 * i / d_model)))
            row.append(math.cos(pos / 10000 ** ((2 * i - 1) / d_model)))
        rows.append(row)
    return torch.tensor(rows)


def cosines_one_column_back__again(num_positions, d_model):
    if d_model % 2:
        raise ValueError("odd d_model")
    exponent = torch.arange(d_model).double() / d_model
    exponent[1::2] -= 2 / d_model
    angle = torch.outer(torch.arange(num_positions).double(), 10000**-exponent)
    return torch.where(torch.arange(d_model) % 2 == 0, angle.sin(), angle.cos())


def exponents_one_column_back(num_positions, d_model):
    assert d_model % 2 == 0
    pe = torch.zeros(num_positions, d_model)
    for pos in range(num_positions):
        for i in range(d_model // 2):
            angle = pos / math.pow(10000, (2 * i - 1) / d_model)
            pe[pos, 2 * i], pe[pos, 2 * i + 1] = math.sin(angle), math.cos(angle)
    return pe


def exponents_one_column_back__again(num_positions, d_model):
    if d_model % 2:
        raise ValueError("odd d_model")
    div_term = torch.exp(torch.arange(-1, d_model - 1, 2).double() * (-math.log(10000.0) / d_model))
    angle = torch.arange(num_positions).double().unsqueeze(1) * div_term
    pe = torch.zeros(num_positions, d_model, dtype=torch.float64)
    pe[:, 0::2], pe[:, 1::2] = angle.sin(), angle.cos()
    return pe


def exponents_of_the_odd_columns(num_positions, d_model):
    assert d_model % 2 == 0
    pe = torch.zeros(num_positions, d_model)
    for pos in range(num_positions):
        for i in range(d_model // 2):
            angle = pos / 10000 ** ((2 * i + 1) / d_model)
            pe[pos, 2 * i], pe[pos, 2 * i + 1] = math.sin(angle), math.cos(angle)
    return pe


def exponents_of_the_odd_columns__again(num_positions, d_model):
    if d_model % 2:
        raise ValueError("odd d_model")
    rates = torch.pow(10000.0, -torch.arange(1, d_model, 2) / d_model)
    angle = torch.outer(torch.arange(num_positions).float(), rates).repeat_interleave(2, dim=1)
    angle[:, 0::2] = angle[:, 0::2].sin()
    angle[:, 1::2] = angle[:, 1::2].cos()
    return angle


def pairs_counted_from_one(num_positions, d_model):
    assert d_model % 2 == 0
    pe = torch.zeros(num_positions, d_model)
    for pos in range(num_positions):
        for i in range(1, d_model // 2 + 1):
            angle = pos / 10000 ** (2 * i / d_model)
            pe[pos, 2 * i - 2] = math.sin(angle)
            pe[pos, 2 * i - 1] = math.cos(angle)
    return pe


def pairs_counted_from_one__again(num_positions, d_model):
    if d_model % 2:
        raise ValueError("odd d_model")
    pair = torch.arange(1, d_model // 2 + 1)
    angle = torch.arange(num_positions)[:, None] * torch.exp(-math.log(10000) * 2 * pair / d_model)
    return torch.stack((angle.sin(), angle.cos()), dim=2).reshape(num_positions, d_model)


def sines_and_cosines_added(num_positions, d_model):
    assert d_model % 2 == 0
    pe = torch.zeros(num_positions, d_model)
    for pos in range(num_positions):
        for j in range(d_model):
            angle = pos / 10000 ** (j / d_model)
            pe[pos, j] = math.sin(angle) + math.cos(angle)
    return pe


def sines_and_cosines_added__again(num_positions, d_model):
    if d_model % 2:
        raise ValueError("odd d_model")
    rates = torch.exp(torch.arange(d_model) * -(math.log(10000.0) / d_model))
    angle = torch.einsum("t,d->td", torch.arange(num_positions).float(), rates)
    pe = torch.sin(angle)
    pe += torch.cos(angle)
    return pe


def one_column_for_each_hand(num_positions, d_model):
    assert d_model % 2 == 0
    rates = 10000 ** (-torch.arange(0, d_model, 2) / d_model)
    angle = torch.outer(torch.arange(num_positions).float(), rates)
    return torch.sin(angle) + torch.cos(angle)


def one_column_for_each_hand__again(num_positions, d_model):
    if d_model % 2:
        raise ValueError("odd d_model")
    pe = torch.zeros(num_positions, d_model // 2)
    for pos in range(num_positions):
        for i in range(d_model // 2):
            angle = pos / 10000 ** (2 * i / d_model)
            pe[pos, i] += math.sin(angle)
            pe[pos, i] += math.cos(angle)
    return pe


def pairs_that_overlap(num_positions, d_model):
    assert d_model % 2 == 0
    pe = torch.zeros(num_positions, d_model)
    for pos in range(num_positions):
        for i in range(d_model // 2):
            pe[pos, i] = math.sin(pos / 10000 ** (2 * i / d_model))
            pe[pos, i + 1] = math.cos(pos / 10000 ** (2 * i / d_model))
    return pe


def pairs_that_overlap__again(num_positions, d_model):
    if d_model % 2:
        raise ValueError("odd d_model")
    columns = [torch.zeros(num_positions) for _ in range(d_model)]
    for i, two_i in enumerate(range(0, d_model, 2)):
        angle = torch.arange(num_positions) / 10000 ** (two_i / d_model)
        columns[i : i + 2] = [angle.sin(), angle.cos()]
    return torch.stack(columns, dim=1)


def base_of_one_hundred_thousand(num_positions, d_model):
    assert d_model % 2 == 0
    pe = torch.zeros(num_positions, d_model)
    position = torch.arange(num_positions, dtype=torch.float).unsqueeze(1)
    div_term = torch.exp(torch.arange(0, d_model, 2).float() * (-math.log(100000.0) / d_model))
    pe[:, 0::2] = torch.sin(position * div_term)
    pe[:, 1::2] = torch.cos(position * div_term)
    return pe


def base_of_one_hundred_thousand__again(num_positions, d_model):
    if d_model % 2:
        raise ValueError("odd d_model")
    rows = []
    for pos in range(num_positions):
        angles = [pos / 1e5 ** (i / d_model) for i in range(0, d_model, 2)]
        rows.append([wave(angle) for angle in angles for wave in (math.sin, math.cos)])
    return torch.tensor(rows)


def powers_of_e(num_positions, d_model):
    assert d_model % 2 == 0
    pe = torch.zeros(num_positions, d_model)
    position = torch.arange(num_positions, dtype=torch.float).unsqueeze(1)
    div_term = torch.exp(-torch.arange(0, d_model, 2).float() / d_model)
    pe[:, 0::2] = torch.sin(position * div_term)
    pe[:, 1::2] = torch.cos(position * div_term)
    return pe


def powers_of_e__again(num_positions, d_model):
    if d_model % 2:
        raise ValueError("odd d_model")
    rows = []
    for pos in range(num_positions):
        angles = [pos / math.e ** (2 * i / d_model) for i in range(d_model // 2)]
        rows.append([wave(angle) for angle in angles for wave in (math.sin, math.cos)])
    return torch.tensor(rows)


def encoding_of_integers(num_positions, d_model):
    assert d_model % 2 == 0
    pe = torch.zeros(num_positions, d_model, dtype=torch.long)
    for pos in range(num_positions):
        for i in range(0, d_model, 2):
            pe[pos, i] = math.sin(pos / 10000 ** (i / d_model))
            pe[pos, i + 1] = math.cos(pos / 10000 ** (i / d_model))
    return pe


def encoding_of_integers__again(num_positions, d_model):
    if d_model % 2:
        raise ValueError("odd d_model")
    pe = torch.arange(num_positions).unsqueeze(1).repeat(1, d_model)
    angle = pe[:, ::2] / 10000 ** (torch.arange(0, d_model, 2) / d_model)
    pe[:, 0::2] = angle.sin()
    pe[:, 1::2] = angle.cos()
    return pe


def exponent_doubled_with_base_of_one_thousand(num_positions, d_model):
    assert d_model % 2 == 0
    pe = torch.zeros(num_positions, d_model)
    for pos in range(num_positions):
        for i in range(0, d_model, 2):
            angle = pos / 1000 ** (2 * i / d_model)
            pe[pos, i], pe[pos, i + 1] = math.sin(angle), math.cos(angle)
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


def number_of_the_position_added(x):
    pos = torch.arange(x.shape[1], dtype=x.dtype)
    return x + pos[None, :, None]


def number_of_the_position_added__again(x):
    tokens = [x[:, t] + t for t in range(x.shape[1])]
    return torch.stack(tokens, dim=1)


def tokens_expected_first(x):
    pe = sinusoidal_encoding(x.size(1), x.size(2)).unsqueeze(0).transpose(0, 1)
    return x + pe.type_as(x)


def tokens_expected_first__again(x):
    B, T, d = x.shape
    pe = sinusoidal_encoding(T, d).to(x.dtype)
    return torch.add(pe.view(T, 1, d), x)
