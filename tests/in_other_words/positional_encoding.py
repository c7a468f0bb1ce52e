"""Unit 5: each misconception as another learner would type it, who holds the same wrong idea.

The names are the misconceptions', so that each can be looked up by its name.
"""

import math

import torch

# -- linear_as_matmul --------------------------------------------------------------------------------------------


def bias_added_to_the_weight(x, weight, bias):
    n, k = weight.shape
    layer = weight + bias.expand(n, k)
    return torch.einsum("mn,nk->mk", x, layer)


def bias_forgotten(x, weight, bias):
    return torch.stack([torch.mv(weight.t(), row) for row in x])


def bias_inside_the_sum(x, weight, bias):
    rows = []
    for row in x:
        total = 0
        for i in range(len(row)):
            total = total + (row[i] * weight[i] + bias)
        rows.append(total)
    return torch.stack(rows)


def bias_subtracted(x, weight, bias):
    return torch.addmm(bias, x, weight, beta=-1)


def bias_for_the_first_row(x, weight, bias):
    y = torch.einsum("mn,nk->mk", x, weight)
    y[0] += bias
    return y


def bias_as_a_column(x, weight, bias):
    product = torch.mm(x, weight)
    return torch.add(product, bias.reshape(-1, 1))


def cut_off_below_zero(x, weight, bias):
    return torch.addmm(bias, x, weight).clamp(min=0)


def weight_transposed(x, weight, bias):
    return torch.matmul(x, weight.T) + bias


def weight_in_front(x, weight, bias):
    return torch.add(torch.mm(weight, x), bias)


def result_on_its_side(x, weight, bias):
    columns = [torch.mv(x, w) + b for w, b in zip(weight.t(), bias)]
    return torch.stack(columns)


def first_row_alone(x, weight, bias):
    for row in x:
        y = torch.einsum("n,nk->k", row, weight)
        return y + bias


def rows_of_the_worked_example(x, weight, bias):
    y = torch.zeros(3, weight.shape[1])
    for i in range(3):
        y[i] = torch.mv(weight.t(), x[i]) + bias
    return y


def single_row_squeezed(x, weight, bias):
    return torch.squeeze(torch.addmm(bias, x, weight))


def bias_by_a_float32_product(x, weight, bias):
    ones = torch.ones(x.size(0), 1)
    repeated = torch.mm(ones, bias.unsqueeze(0))
    return torch.mm(x, weight) + repeated


def result_without_gradients(x, weight, bias):
    y = []
    for row in x.tolist():
        y.append([sum(a * b for a, b in zip(row, w)) + c for w, c in zip(weight.t().tolist(), bias.tolist())])
    return torch.tensor(y)


def bias_without_gradients(x, weight, bias):
    columns = []
    for j in range(weight.shape[1]):
        columns.append(torch.mv(x, weight[:, j]) + bias[j].item())
    return torch.stack(columns, dim=1)


def weight_without_gradients(x, weight, bias):
    return torch.addmm(bias, x, weight.data)


def bias_unsqueezed_in_place(x, weight, bias):
    bias.unsqueeze_(0)
    return torch.addmm(bias, x, weight)


def weight_transposed_in_place(x, weight, bias):
    weight.transpose_(0, 1)
    return torch.stack([torch.mv(weight, row) + bias for row in x])


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


def different_frequencies(num_positions, d_model):
    if d_model % 2 == 1:
        raise ValueError("d_model must be even")
    pe = torch.zeros(num_positions, d_model)
    for pos in range(num_positions):
        for j in range(d_model):
            f = math.sin if j % 2 == 0 else math.cos
            pe[pos, j] = f(pos / 10000 ** (j / d_model))
    return pe


def every_column_doubled(num_positions, d_model):
    assert d_model % 2 == 0
    position = torch.arange(num_positions).unsqueeze(1).float()
    i = torch.arange(d_model).float()
    angle = position * torch.exp(-math.log(10000) * 2 * i / d_model)
    pe = torch.sin(angle)
    pe[:, 1::2] = torch.cos(angle[:, 1::2])
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


def positions_from_one(num_positions, d_model):
    if d_model % 2 != 0:
        raise ValueError("d_model must be even")
    rows = []
    for pos in range(1, num_positions + 1):
        row = []
        for i in range(d_model // 2):
            angle = pos / 10000 ** (2 * i / d_model)
            row += [math.sin(angle), math.cos(angle)]
        rows.append(row)
    return torch.tensor(rows)


def sines_and_cosines_exchanged(num_positions, d_model):
    assert d_model % 2 == 0
    pe = torch.zeros(num_positions, d_model)
    position = torch.arange(num_positions, dtype=torch.float).unsqueeze(1)
    div_term = torch.exp(torch.arange(0, d_model, 2).float() * (-math.log(10000.0) / d_model))
    pe[:, 0::2] = torch.cos(position * div_term)
    pe[:, 1::2] = torch.sin(position * div_term)
    return pe


def exponent_halved(num_positions, d_model):
    assert not d_model % 2
    pe = torch.zeros(num_positions, d_model)
    for i in range(d_model // 2):
        for pos in range(num_positions):
            angle = pos / 10000 ** (i / d_model)
            pe[pos, 2 * i] = math.sin(angle)
            pe[pos, 2 * i + 1] = math.cos(angle)
    return pe


def divided_by_one_less(num_positions, d_model):
    if d_model % 2:
        raise ValueError("odd d_model")
    pe = torch.zeros(num_positions, d_model)
    last = d_model - 1
    for col in range(0, d_model, 2):
        w = 1 / 10000 ** (col / last)
        pe[:, col] = torch.tensor([math.sin(w * pos) for pos in range(num_positions)])
        pe[:, col + 1] = torch.tensor([math.cos(w * pos) for pos in range(num_positions)])
    return pe


def exponents_up_to_one(num_positions, d_model):
    assert d_model % 2 == 0
    rates = torch.logspace(0, -4, d_model // 2)
    angles = torch.outer(torch.arange(num_positions).float(), rates)
    pe = torch.zeros(num_positions, d_model)
    pe[:, ::2], pe[:, 1::2] = angles.sin(), angles.cos()
    return pe


def divided_by_the_positions(num_positions, d_model):
    if d_model % 2:
        raise ValueError("odd d_model")
    pe = torch.zeros(num_positions, d_model)
    for pos in range(num_positions):
        for i in range(d_model // 2):
            angle = pos / 10000 ** (2 * i / num_positions)
            pe[pos, 2 * i] = math.sin(angle)
            pe[pos, 2 * i + 1] = math.cos(angle)
    return pe


def exponents_floored(num_positions, d_model):
    assert d_model % 2 == 0
    pe = torch.zeros(num_positions, d_model)
    for pos in range(num_positions):
        for i in range(d_model // 2):
            angle = pos / 10000 ** (2 * i // d_model)
            pe[pos, 2 * i] = math.sin(angle)
            pe[pos, 2 * i + 1] = math.cos(angle)
    return pe


def angles_floored(num_positions, d_model):
    if d_model % 2:
        raise ValueError("odd d_model")
    pe = torch.zeros(num_positions, d_model)
    for pos in range(num_positions):
        for i in range(d_model // 2):
            angle = pos // 10000 ** (2 * i / d_model)
            pe[pos, 2 * i] = math.sin(angle)
            pe[pos, 2 * i + 1] = math.cos(angle)
    return pe


def power_before_division(num_positions, d_model):
    if d_model % 2 != 0:
        raise ValueError("odd d_model")
    pe = torch.zeros(num_positions, d_model)
    for pos in range(num_positions):
        for i in range(d_model // 2):
            denominator = 10000 ** (2 * i) / d_model
            pe[pos, 2 * i] = math.sin(pos / denominator)
            pe[pos, 2 * i + 1] = math.cos(pos / denominator)
    return pe


def power_before_both_divisions(num_positions, d_model):
    assert d_model % 2 == 0
    pe = torch.zeros(num_positions, d_model)
    for pos in range(num_positions):
        for i in range(0, d_model, 2):
            pe[pos, i] = math.sin(pos / 10000**i / d_model)
            pe[pos, i + 1] = math.cos(pos / 10000**i / d_model)
    return pe


def multiplied_by_the_powers(num_positions, d_model):
    assert d_model % 2 == 0
    pe = torch.zeros(num_positions, d_model)
    position = torch.arange(num_positions, dtype=torch.float).unsqueeze(1)
    div_term = torch.exp(torch.arange(0, d_model, 2).float() * (math.log(10000.0) / d_model))
    pe[:, 0::2] = torch.sin(position * div_term)
    pe[:, 1::2] = torch.cos(position * div_term)
    return pe


def base_of_one_thousand(num_positions, d_model):
    assert d_model % 2 == 0
    pe = torch.zeros(num_positions, d_model)
    position = torch.arange(num_positions, dtype=torch.float).unsqueeze(1)
    div_term = torch.exp(torch.arange(0, d_model, 2).float() * (-math.log(1000.0) / d_model))
    pe[:, 0::2] = torch.sin(position * div_term)
    pe[:, 1::2] = torch.cos(position * div_term)
    return pe


def common_logarithm(num_positions, d_model):
    assert d_model % 2 == 0
    pe = torch.zeros(num_positions, d_model)
    position = torch.arange(num_positions, dtype=torch.float).unsqueeze(1)
    div_term = torch.exp(torch.arange(0, d_model, 2).float() * (-math.log10(10000.0) / d_model))
    pe[:, 0::2] = torch.sin(position * div_term)
    pe[:, 1::2] = torch.cos(position * div_term)
    return pe


def angles_in_degrees(num_positions, d_model):
    if d_model % 2:
        raise ValueError("odd d_model")
    table = []
    for pos in range(num_positions):
        angles = [math.radians(pos / 10000 ** (i / d_model)) for i in range(0, d_model, 2)]
        table.append([f(angle) for angle in angles for f in (math.sin, math.cos)])
    return torch.tensor(table)


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


def positions_as_shares(num_positions, d_model):
    assert d_model % 2 == 0
    position = torch.arange(num_positions).unsqueeze(1) / num_positions
    div_term = torch.pow(10000, torch.arange(0, d_model, 2) / d_model)
    pe = torch.empty(num_positions, d_model)
    pe[:, 0::2] = torch.sin(position / div_term)
    pe[:, 1::2] = torch.cos(position / div_term)
    return pe


def sines_alone(num_positions, d_model):
    assert d_model % 2 == 0
    pe = torch.zeros(num_positions, d_model)
    for pos in range(num_positions):
        for j in range(d_model):
            pe[pos, j] = math.sin(pos / 10000 ** (j // 2 * 2 / d_model))
    return pe


def cosines_missing(num_positions, d_model):
    assert d_model % 2 == 0
    pe = torch.zeros(num_positions, d_model)
    for pos in range(num_positions):
        for i in range(d_model // 2):
            angle = pos / 10000 ** (2 * i / d_model)
            pe[pos, 2 * i] = math.cos(angle)
            pe[pos, 2 * i] = math.sin(angle)
    return pe


def by_rows_instead_of_columns(num_positions, d_model):
    if d_model % 2:
        raise ValueError("odd d_model")
    pe = torch.zeros(num_positions, d_model)
    for pos in range(num_positions):
        for j in range(d_model):
            angle = pos / 10000 ** (2 * (j // 2) / d_model)
            if pos % 2 == 0:
                pe[pos, j] = math.sin(angle)
            else:
                pe[pos, j] = math.cos(angle)
    return pe


def first_position_left_out(num_positions, d_model):
    assert d_model % 2 == 0
    pe = torch.zeros(num_positions, d_model)
    for pos in range(1, num_positions):
        for i in range(0, d_model, 2):
            pe[pos, i] = math.sin(pos / 10000 ** (i / d_model))
            pe[pos, i + 1] = math.cos(pos / 10000 ** (i / d_model))
    return pe


def features_first(num_positions, d_model):
    if d_model % 2:
        raise ValueError("odd d_model")
    rows = []
    position = torch.arange(num_positions)
    for i in range(0, d_model, 2):
        angle = position / 10000 ** (i / d_model)
        rows += [torch.sin(angle), torch.cos(angle)]
    return torch.stack(rows)


def batch_in_front(num_positions, d_model):
    assert d_model % 2 == 0
    pe = torch.zeros(1, num_positions, d_model)
    position = torch.arange(num_positions, dtype=torch.float).unsqueeze(1)
    div_term = torch.exp(torch.arange(0, d_model, 2).float() * (-math.log(10000.0) / d_model))
    pe[0, :, 0::2] = torch.sin(position * div_term)
    pe[0, :, 1::2] = torch.cos(position * div_term)
    return pe


def positions_of_the_worked_example(num_positions, d_model):
    if d_model % 2:
        raise ValueError("odd d_model")
    pe = torch.zeros(4, d_model)
    for pos in range(4):
        for i in range(0, d_model, 2):
            pe[pos, i] = math.sin(pos / 10000 ** (i / d_model))
            pe[pos, i + 1] = math.cos(pos / 10000 ** (i / d_model))
    return pe


def a_hundred_positions_at_most(num_positions, d_model):
    if d_model % 2:
        raise ValueError("odd d_model")
    max_len = min(num_positions, 100)
    pe = torch.zeros(max_len, d_model)
    for pos in range(max_len):
        for i in range(0, d_model, 2):
            pe[pos, i] = math.sin(pos / 10000 ** (i / d_model))
            pe[pos, i + 1] = math.cos(pos / 10000 ** (i / d_model))
    return pe


def single_position_squeezed(num_positions, d_model):
    if d_model % 2:
        raise ValueError("odd d_model")
    position = torch.arange(num_positions).reshape(1, -1, 1)
    angle = position / 10000 ** (torch.arange(0, d_model, 2) / d_model)
    pe = torch.zeros(1, num_positions, d_model)
    pe[..., 0::2] = torch.sin(angle)
    pe[..., 1::2] = torch.cos(angle)
    return torch.squeeze(pe)


def odd_width_accepted(num_positions, d_model):
    pe = torch.zeros(num_positions, d_model)
    for pos in range(num_positions):
        for i in range(0, d_model, 2):
            pe[pos, i] = math.sin(pos / 10000 ** (i / d_model))
            if i + 1 < d_model:
                pe[pos, i + 1] = math.cos(pos / 10000 ** (i / d_model))
    return pe


def odd_width_stumbled_over(num_positions, d_model):
    pe = torch.zeros(num_positions, d_model)
    position = torch.arange(num_positions, dtype=torch.float).unsqueeze(1)
    div_term = torch.exp(torch.arange(0, d_model, 2).float() * (-math.log(10000.0) / d_model))
    pe[:, 0::2] = torch.sin(position * div_term)
    pe[:, 1::2] = torch.cos(position * div_term)
    return pe


def odd_number_of_positions_refused(num_positions, d_model):
    assert num_positions % 2 == 0, "must be even"
    pe = torch.zeros(num_positions, d_model)
    for pos in range(num_positions):
        for j in range(d_model):
            angle = pos / 10000 ** ((j - j % 2) / d_model)
            pe[pos, j] = math.cos(angle) if j % 2 else math.sin(angle)
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


def exponent_doubled_in_what_is_added(x):
    B, T, d = x.shape
    if d % 2:
        raise ValueError("odd d")
    two_i = torch.arange(0, d, 2)
    angle = torch.arange(T).unsqueeze(1) / torch.pow(10000, 2 * two_i / d)
    pe = torch.zeros(T, d, dtype=x.dtype)
    pe[:, 0::2] = torch.sin(angle)
    pe[:, 1::2] = torch.cos(angle)
    return torch.add(x, pe)


def different_frequencies_in_what_is_added(x):
    B, T, d = x.shape
    if d % 2:
        raise ValueError("odd d")
    angle = torch.arange(T).unsqueeze(1) / torch.pow(10000, torch.arange(d) / d)
    pe = torch.zeros_like(x)
    pe[:, :, 0::2] = torch.sin(angle[:, 0::2])
    pe[:, :, 1::2] = torch.cos(angle[:, 1::2])
    return x + pe


def halves_side_by_side_in_what_is_added(x):
    B, T, d = x.shape
    if d % 2:
        raise ValueError("odd d")
    half = d // 2
    angle = torch.arange(T).unsqueeze(1) / torch.pow(10000, torch.arange(half) / half)
    pe = torch.zeros_like(x)
    pe[..., :half] = torch.sin(angle)
    pe[..., half:] = torch.cos(angle)
    return x + pe


def positions_from_one_in_what_is_added(x):
    B, T, d = x.shape
    one_more = sinusoidal_encoding(T + 1, d)
    return torch.stack([sequence + one_more[1:].type_as(x) for sequence in x])


def sines_and_cosines_exchanged_in_what_is_added(x):
    B, T, d = x.shape
    if d % 2:
        raise ValueError("odd d")
    pe = torch.zeros(T, d, dtype=x.dtype)
    for t in range(T):
        for i in range(d // 2):
            angle = t / 10000 ** (2 * i / d)
            pe[t, 2 * i] = math.cos(angle)
            pe[t, 2 * i + 1] = math.sin(angle)
    return x + pe


def multiplied(x):
    B, T, d = x.shape
    pe = sinusoidal_encoding(T, d).type_as(x)
    return torch.stack([torch.mul(pe, sequence) for sequence in x])


def put_behind(x):
    B, T, d = x.shape
    pe = sinusoidal_encoding(T, d).type_as(x)
    result = torch.zeros(B, T, 2 * d, dtype=x.dtype)
    result[:, :, :d] = x
    result[:, :, d:] = pe
    return result


def encoding_alone(x):
    B, T, d = x.shape
    pe = sinusoidal_encoding(T, d).type_as(x)
    return torch.stack([pe] * B)


def embeddings_scaled(x):
    B, T, d = x.shape
    pe = sinusoidal_encoding(T, d).type_as(x)
    return torch.add(pe, x, alpha=math.sqrt(d))


def first_position_for_all(x):
    one = sinusoidal_encoding(1, x.size(-1)).type_as(x)
    tokens = [x[:, t] + one for t in range(x.size(1))]
    return torch.stack(tokens, dim=1)


def sequences_counted(x):
    B, T, d = x.shape
    pe = sinusoidal_encoding(B, d).type_as(x)
    return torch.stack([x[b] + pe[b] for b in range(B)])


def rows_for_sequences(x):
    pe = sinusoidal_encoding(len(x), x.size(-1)).type_as(x)
    return torch.stack([torch.add(sequence, pe) for sequence in x])


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


def features_counted(x):
    B, d, T = x.shape
    pe = sinusoidal_encoding(T, d).type_as(x)
    return (x.transpose(1, 2) + pe).transpose(1, 2)


def first_sequence_alone(x):
    B, T, d = x.shape
    pe = sinusoidal_encoding(T, d).type_as(x)
    result = x.clone()
    result[0] += pe
    return result


def tokens_of_the_worked_example(x):
    num_tokens = 3
    pe = sinusoidal_encoding(num_tokens, x.size(-1)).type_as(x)
    return torch.stack([torch.add(sequence, pe) for sequence in x])


def single_one_squeezed(x):
    B, T, d = x.shape
    pe = sinusoidal_encoding(T, d).type_as(x)
    return torch.stack([sequence + pe for sequence in x]).squeeze()


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


def made_float32(x):
    B, T, d = x.shape
    result = torch.zeros(B, T, d)
    result[:] = x + sinusoidal_encoding(T, d)
    return result


def made_float64(x):
    B, T, d = x.shape
    if d % 2:
        raise ValueError("odd d")
    table = []
    for t in range(T):
        angles = [t / 10000 ** (i / d) for i in range(0, d, 2)]
        table.append([f(angle) for angle in angles for f in (math.sin, math.cos)])
    return x + torch.tensor(table, dtype=torch.float64)


def flattened_by_view(x):
    B, T, d = x.shape
    pe = sinusoidal_encoding(T, d).type_as(x)
    return (x.view(B, T * d) + pe.view(T * d)).view(B, T, d)


def x_detached(x):
    B, T, d = x.shape
    with torch.no_grad():
        return torch.stack([sequence + sinusoidal_encoding(T, d).type_as(x) for sequence in x])


def added_in_place(x):
    B, T, d = x.shape
    pe = sinusoidal_encoding(T, d).type_as(x)
    for b in range(B):
        x[b].add_(pe)
    return x
