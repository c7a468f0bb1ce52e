"""Unit 5: wrong answers that learners give, each with the sentence that would help who wrote it.

A name says what was done. Where the same slip is made in the encoding and where it is added, the latter's has more
words.
"""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor
from torch.nn import functional

from grader.misconceptions import misconception

# -- linear_as_matmul --------------------------------------------------------------------------------------------


def linear(x: Tensor, weight: Tensor, bias: Tensor) -> Tensor:
    """The right answer."""
    return x @ weight + bias


@misconception(
    "linear_as_matmul",
    "The bias is added to the weight, before the product, and so is multiplied by the row as well. It comes last: "
    "`x @ weight + bias`, without brackets.",
)
def bias_added_to_the_weight(x: Tensor, weight: Tensor, bias: Tensor) -> Tensor:
    return x @ (weight + bias)


@misconception(
    "linear_as_matmul",
    "The bias is missing. It is added to every row of the product, and moves all of them by the same.",
)
def bias_forgotten(x: Tensor, weight: Tensor, bias: Tensor) -> Tensor:  # noqa: ARG001
    return x @ weight


@misconception(
    "linear_as_matmul",
    "The bias is added once for each feature of the row, inside the sum. It belongs to the sum as a whole, and is "
    "added once.",
)
def bias_inside_the_sum(x: Tensor, weight: Tensor, bias: Tensor) -> Tensor:
    return (x[:, :, None] * weight + bias).sum(dim=1)  # (m, n, 1) * (n, k) -> (m, n, k) -> (m, k)


@misconception(
    "linear_as_matmul",
    "The bias is subtracted. A layer may learn a negative bias where it wants one; in the formula it is added.",
)
def bias_subtracted(x: Tensor, weight: Tensor, bias: Tensor) -> Tensor:
    return x @ weight - bias


@misconception(
    "linear_as_matmul",
    "The bias went to the first row alone. Every row goes through the same layer: (m, k) + (k,) adds it to each of "
    "them.",
)
def bias_for_the_first_row(x: Tensor, weight: Tensor, bias: Tensor) -> Tensor:
    return torch.cat([x[:1] @ weight + bias, x[1:] @ weight])


@misconception(
    "linear_as_matmul",
    "The bias was made a column, and goes down the rows. It has a number for each column of the result: as it is, "
    "(k,), torch adds it to every row.",
)
def bias_as_a_column(x: Tensor, weight: Tensor, bias: Tensor) -> Tensor:
    return x @ weight + bias[:, None]  # (m, k) + (k, 1)


@misconception(
    "linear_as_matmul",
    "What is negative was cut off. That is ReLU, an activation; a linear layer has none, and it may come after it.",
)
def cut_off_below_zero(x: Tensor, weight: Tensor, bias: Tensor) -> Tensor:
    return torch.relu(linear(x, weight, bias))


@misconception(
    "linear_as_matmul",
    "The weight is taken for its transpose, (k, n), as `nn.Linear` keeps it. Here it comes as (n, k): each row of x "
    "goes with its columns, and (m, n) @ (n, k) fits as it is.",
)
def weight_transposed(x: Tensor, weight: Tensor, bias: Tensor) -> Tensor:
    return functional.linear(x, weight, bias)


@misconception(
    "linear_as_matmul",
    "The weight stands in front. The rows of x are what is multiplied, so x comes first: (m, n) @ (n, k) gives a row "
    "for each of them.",
)
def weight_in_front(x: Tensor, weight: Tensor, bias: Tensor) -> Tensor:
    return weight @ x + bias


@misconception(
    "linear_as_matmul",
    "The result lies on its side, with a row for each output. Each row of x should give a row: (m, k).",
)
def result_on_its_side(x: Tensor, weight: Tensor, bias: Tensor) -> Tensor:
    return linear(x, weight, bias).T


@misconception(
    "linear_as_matmul",
    "Only the first row went through the layer. All of them do, at once: `x @ weight` takes each row of x.",
)
def first_row_alone(x: Tensor, weight: Tensor, bias: Tensor) -> Tensor:
    return x[0] @ weight + bias


@misconception(
    "linear_as_matmul",
    "There are always three rows for this code, as in the worked example. Take as many as x has: `x.shape[0]`.",
)
def rows_of_the_worked_example(x: Tensor, weight: Tensor, bias: Tensor) -> Tensor:
    return torch.stack([x[row] @ weight + bias for row in range(3)])


@misconception(
    "linear_as_matmul",
    "`squeeze()` drops every dimension of length one, and so the result for a single row is no matrix any more.",
)
def single_row_squeezed(x: Tensor, weight: Tensor, bias: Tensor) -> Tensor:
    return linear(x, weight, bias).squeeze()


@misconception(
    "linear_as_matmul",
    "A float32 tensor of your own is multiplied with the arguments, which float64 ones refuse. Make it like them "
    "(`torch.ones_like`, `dtype=x.dtype`), or let `+` stretch the bias.",
)
def bias_by_a_float32_product(x: Tensor, weight: Tensor, bias: Tensor) -> Tensor:
    return x @ weight + torch.ones(len(x), 1) @ bias[None]  # (m, 1) @ (1, k) -> (m, k)


@misconception(
    "linear_as_matmul",
    "The result was put together from plain numbers, by `.item()`, `.tolist()` or `.detach()`, and no gradient finds "
    "its way back. Keep to tensors all the way.",
)
def result_without_gradients(x: Tensor, weight: Tensor, bias: Tensor) -> Tensor:
    return linear(x, weight, bias).detach()


@misconception(
    "linear_as_matmul",
    "No gradient reaches the bias, which was cut off by `.detach()` or `.data`. It is learnt like the weight.",
)
def bias_without_gradients(x: Tensor, weight: Tensor, bias: Tensor) -> Tensor:
    return linear(x, weight, bias.detach())


@misconception(
    "linear_as_matmul",
    "No gradient reaches the weight, which was cut off by `.detach()`, `.data` or a new `nn.Parameter` made of it. "
    "What a layer learns is its weight and its bias: take both as they are.",
)
def weight_without_gradients(x: Tensor, weight: Tensor, bias: Tensor) -> Tensor:
    return linear(x, weight.detach(), bias)


@misconception(
    "linear_as_matmul",
    "The caller's bias was changed: a method whose name ends in an underscore works on the tensor itself. "
    "`unsqueeze` without it gives a new view.",
)
def bias_unsqueezed_in_place(x: Tensor, weight: Tensor, bias: Tensor) -> Tensor:
    return x @ weight + bias.unsqueeze_(0)


@misconception(
    "linear_as_matmul",
    "The caller's weight was turned round: `t_()`, with an underscore, works on the tensor itself. `.T` gives a view "
    "and leaves it alone.",
)
def weight_transposed_in_place(x: Tensor, weight: Tensor, bias: Tensor) -> Tensor:
    return functional.linear(x, weight.t_(), bias)


# -- sinusoidal_encoding -----------------------------------------------------------------------------------------

ODD = "sines and cosines come in pairs"


def columns(d_model: int) -> Tensor:
    """The numbers of the sines' columns, 0, 2, 4, … which is 2i."""
    if d_model % 2:
        raise ValueError(ODD)
    return torch.arange(0, d_model, 2)


def angles(num_positions: int, exponents: Tensor, base: float = 10000.0, first: int = 0) -> Tensor:
    """(T, d_model / 2), for exponents (d_model / 2,)."""
    return torch.arange(first, first + num_positions)[:, None] / base**exponents


def interleaved(even: Tensor, odd: Tensor) -> Tensor:
    """Two (T, d_model / 2) to (T, d_model), in turn."""
    return torch.stack([even, odd], dim=-1).flatten(-2)


def pairs(angles: Tensor) -> Tensor:
    return interleaved(angles.sin(), angles.cos())


def sinusoidal_encoding(num_positions: int, d_model: int) -> Tensor:
    """The right answer, by the name under which add_positions calls it: where that was given a stand-in, so is this."""
    return pairs(angles(num_positions, columns(d_model) / d_model))


EXPONENT_DOUBLED = (
    "The hands slow down twice as fast as they should. In the formula i counts pairs; where your i goes 0, 2, 4, … it "
    "is 2i already, so do not double it again."
)
EVERY_COLUMN_ITS_OWN = (
    "A sine and the cosine beside it have different frequencies. Each pair is one hand of the clock and has one angle: "
    "both columns have the exponent of the even one."
)
SIDE_BY_SIDE = (
    "All sines stand in the left half and all cosines in the right. They belong in turn, each sine with its cosine "
    "beside it: columns 0::2 and 1::2."
)
FROM_ONE = (
    "Positions are counted from 1. The first token stands at position 0, where all sines are 0 and all cosines 1."
)
EXPONENT_WITHOUT_BRACKETS = (
    "A power binds more tightly than a division: `10000**x / d` is (10000**x) / d. Put the exponent in brackets."
)
EXCHANGED = "Sines and cosines have changed places. The even columns, 0 among them, are the sines."


def exponents_doubled(num_positions: int, d_model: int) -> Tensor:
    return pairs(angles(num_positions, 2 * columns(d_model) / d_model))


def every_column_its_own(num_positions: int, d_model: int) -> Tensor:
    even = columns(d_model)
    return interleaved(angles(num_positions, even / d_model).sin(), angles(num_positions, (even + 1) / d_model).cos())


def side_by_side(num_positions: int, d_model: int) -> Tensor:
    right = angles(num_positions, columns(d_model) / d_model)
    return torch.cat([right.sin(), right.cos()], dim=-1)


def from_one(num_positions: int, d_model: int) -> Tensor:
    return pairs(angles(num_positions, columns(d_model) / d_model, first=1))


def exchanged(num_positions: int, d_model: int) -> Tensor:
    right = angles(num_positions, columns(d_model) / d_model)
    return interleaved(right.cos(), right.sin())


@misconception("sinusoidal_encoding", EXPONENT_DOUBLED)
def exponent_doubled(num_positions: int, d_model: int) -> Tensor:
    return exponents_doubled(num_positions, d_model)


@misconception("sinusoidal_encoding", EVERY_COLUMN_ITS_OWN)
def different_frequencies(num_positions: int, d_model: int) -> Tensor:
    return every_column_its_own(num_positions, d_model)


@misconception(
    "sinusoidal_encoding",
    "The column's number is doubled in every exponent, 2·j / d_model for column j. 2i is the number of the sine's "
    "column, and the cosine beside it has the very same angle.",
)
def every_column_doubled(num_positions: int, d_model: int) -> Tensor:
    even = columns(d_model)
    return interleaved(
        angles(num_positions, 2 * even / d_model).sin(), angles(num_positions, 2 * (even + 1) / d_model).cos()
    )


@misconception("sinusoidal_encoding", SIDE_BY_SIDE)
def halves_side_by_side(num_positions: int, d_model: int) -> Tensor:
    return side_by_side(num_positions, d_model)


@misconception("sinusoidal_encoding", FROM_ONE)
def positions_from_one(num_positions: int, d_model: int) -> Tensor:
    return from_one(num_positions, d_model)


@misconception("sinusoidal_encoding", EXCHANGED)
def sines_and_cosines_exchanged(num_positions: int, d_model: int) -> Tensor:
    return exchanged(num_positions, d_model)


@misconception(
    "sinusoidal_encoding",
    "The exponent is i / d_model, where i counts pairs. It is 2i / d_model, so that the slowest hand gets close to the "
    "whole 10000.",
)
def exponent_halved(num_positions: int, d_model: int) -> Tensor:
    return pairs(angles(num_positions, columns(d_model) / 2 / d_model))


@misconception(
    "sinusoidal_encoding",
    "The exponents are divided by d_model - 1. The formula divides by d_model, so the last exponent stays below 1.",
)
def divided_by_one_less(num_positions: int, d_model: int) -> Tensor:
    return pairs(angles(num_positions, columns(d_model) / (d_model - 1)))


@misconception(
    "sinusoidal_encoding",
    "The exponents go from 0 to 1 itself, as some libraries have it: i / (d_model/2 - 1). In the formula here it is "
    "2i / d_model, and the last one stays below 1.",
)
def exponents_up_to_one(num_positions: int, d_model: int) -> Tensor:
    return pairs(angles(num_positions, columns(d_model) / max(d_model - 2, 1)))


@misconception(
    "sinusoidal_encoding",
    "The exponents are divided by the number of positions. How fast a hand turns depends on its place among the "
    "d_model columns, not on how long the text is.",
)
def divided_by_the_positions(num_positions: int, d_model: int) -> Tensor:
    return pairs(angles(num_positions, columns(d_model) / num_positions))


@misconception(
    "sinusoidal_encoding",
    "All hands turn equally fast, as if every exponent were 0. Where `//` divides whole numbers, it drops what is "
    "left; `/` keeps it.",
)
def exponents_floored(num_positions: int, d_model: int) -> Tensor:
    return pairs(angles(num_positions, columns(d_model) // d_model))


@misconception(
    "sinusoidal_encoding",
    "The angles are whole numbers: `//` drops what comes after the point. A slow hand moves too, if only a little: "
    "divide with `/`.",
)
def angles_floored(num_positions: int, d_model: int) -> Tensor:
    return pairs(angles(num_positions, columns(d_model) / d_model).floor())


@misconception("sinusoidal_encoding", EXPONENT_WITHOUT_BRACKETS)
def power_before_division(num_positions: int, d_model: int) -> Tensor:
    return pairs(torch.arange(num_positions)[:, None] / (10000.0 ** columns(d_model).double() / d_model))


@misconception("sinusoidal_encoding", EXPONENT_WITHOUT_BRACKETS)
def power_before_both_divisions(num_positions: int, d_model: int) -> Tensor:
    return pairs(torch.arange(num_positions)[:, None] / 10000.0 ** columns(d_model).double() / d_model)


@misconception(
    "sinusoidal_encoding",
    "The positions are multiplied by the powers of 10000, and the hands spin faster and faster. Divide by them: each "
    "hand is slower than the one before.",
)
def multiplied_by_the_powers(num_positions: int, d_model: int) -> Tensor:
    return pairs(torch.arange(num_positions)[:, None] * 10000 ** (columns(d_model) / d_model))


@misconception(
    "sinusoidal_encoding",
    "The powers are of 1000 and not of 10000. With a zero missing, the slow hands turn too fast.",
)
def base_of_one_thousand(num_positions: int, d_model: int) -> Tensor:
    return pairs(angles(num_positions, columns(d_model) / d_model, base=1000.0))


@misconception(
    "sinusoidal_encoding",
    "The logarithm has the wrong base: where `exp` makes the powers, 10000^x = exp(x · ln 10000), with the natural "
    "one, `math.log`.",
)
def common_logarithm(num_positions: int, d_model: int) -> Tensor:
    return pairs(angles(num_positions, 4 * columns(d_model) / d_model, base=torch.e))


@misconception(
    "sinusoidal_encoding",
    "The angles were turned from degrees into radians. They are radians already: at position 1 hand 0 has turned by 1.",
)
def angles_in_degrees(num_positions: int, d_model: int) -> Tensor:
    return pairs(angles(num_positions, columns(d_model) / d_model).deg2rad())


@misconception(
    "sinusoidal_encoding",
    "The angles were multiplied by 2π. The formula has no π: hand 0 turns by 1 with each position, and is round only "
    "after more than six.",
)
def whole_turns(num_positions: int, d_model: int) -> Tensor:
    return pairs(2 * torch.pi * angles(num_positions, columns(d_model) / d_model))


@misconception(
    "sinusoidal_encoding",
    "The positions were divided by their number. A step from one token to the next would then be another one in each "
    "text; take 0, 1, 2, … as they are.",
)
def positions_as_shares(num_positions: int, d_model: int) -> Tensor:
    return pairs(angles(num_positions, columns(d_model) / d_model) / num_positions)


@misconception(
    "sinusoidal_encoding",
    "Every column is a sine. A sine alone does not tell where the hand is, for two angles share it; the odd columns "
    "are cosines.",
)
def sines_alone(num_positions: int, d_model: int) -> Tensor:
    right = angles(num_positions, columns(d_model) / d_model)
    return interleaved(right.sin(), right.sin())


@misconception(
    "sinusoidal_encoding",
    "The odd columns are still zero: the cosines are missing, or stand somewhere else. Each goes beside its sine.",
)
def cosines_missing(num_positions: int, d_model: int) -> Tensor:
    right = angles(num_positions, columns(d_model) / d_model)
    return interleaved(right.sin(), 0 * right)


@misconception(
    "sinusoidal_encoding",
    "Even positions have sines and odd positions cosines. It goes by columns: every position has both, sines in the "
    "even columns and cosines in the odd ones.",
)
def by_rows_instead_of_columns(num_positions: int, d_model: int) -> Tensor:
    right = angles(num_positions, columns(d_model) / d_model).repeat_interleave(2, dim=1)
    is_even = torch.arange(num_positions)[:, None] % 2 == 0
    return torch.where(is_even, right.sin(), right.cos())


@misconception(
    "sinusoidal_encoding",
    "Position 0 was left all zeros, as if it were padding. It is a position like the others: its cosines are 1.",
)
def first_position_left_out(num_positions: int, d_model: int) -> Tensor:
    encoding = sinusoidal_encoding(num_positions, d_model)
    encoding[0] = 0
    return encoding


@misconception(
    "sinusoidal_encoding",
    "The result lies on its side, (d_model, T). A row is a position: (T, d_model), as embeddings lie too.",
)
def features_first(num_positions: int, d_model: int) -> Tensor:
    return sinusoidal_encoding(num_positions, d_model).T


@misconception(
    "sinusoidal_encoding",
    "A batch dimension stands in front. The same encoding serves every sequence, and torch stretches (T, d_model) over "
    "the batch by itself.",
)
def batch_in_front(num_positions: int, d_model: int) -> Tensor:
    return sinusoidal_encoding(num_positions, d_model)[None]


@misconception(
    "sinusoidal_encoding",
    "The encoding always has four positions, as in the worked example. num_positions says how many are wanted.",
)
def positions_of_the_worked_example(num_positions: int, d_model: int) -> Tensor:
    return sinusoidal_encoding(4, d_model)[:num_positions]


@misconception(
    "sinusoidal_encoding",
    "The table ends after a hundred positions, and longer texts get no more. Make it as long as num_positions says.",
)
def a_hundred_positions_at_most(num_positions: int, d_model: int) -> Tensor:
    return sinusoidal_encoding(100, d_model)[:num_positions]


@misconception(
    "sinusoidal_encoding",
    "`squeeze()` drops every dimension of length one, and so a single position is no matrix any more: it is (1, "
    "d_model).",
)
def single_position_squeezed(num_positions: int, d_model: int) -> Tensor:
    return sinusoidal_encoding(num_positions, d_model).squeeze()


ODD_ACCEPTED = (
    "An odd width raises no error. Sines and cosines come in pairs, so whoever asks for an odd one has made a mistake, "
    "and only an error tells them."
)
OTHER_NUMBER_REFUSED = (
    "The wrong number was looked at: an odd number of positions is refused. Those may be as many as they like; it is "
    "the width that sines and cosines share in pairs."
)


def cut_to_the_width(num_positions: int, d_model: int) -> Tensor:
    even = torch.arange(0, d_model, 2)
    return pairs(angles(num_positions, even / d_model))[:, :d_model]


@misconception("sinusoidal_encoding", ODD_ACCEPTED)
def odd_width_accepted(num_positions: int, d_model: int) -> Tensor:
    return cut_to_the_width(num_positions, d_model)


@misconception(
    "sinusoidal_encoding",
    "An odd width ends in an error of another kind than agreed, such as torch's own where sines and cosines do not "
    "fit. Look first, and raise a ValueError that says in words what is wrong.",
)
def odd_width_stumbled_over(num_positions: int, d_model: int) -> Tensor:
    # (T, d_model) -> (T, d_model / 2, 2), which fails for an odd d_model
    return cut_to_the_width(num_positions, d_model).reshape(num_positions, d_model // 2, 2).flatten(-2)


@misconception("sinusoidal_encoding", OTHER_NUMBER_REFUSED)
def odd_number_of_positions_refused(num_positions: int, d_model: int) -> Tensor:
    if num_positions % 2:
        raise ValueError(ODD)
    return cut_to_the_width(num_positions, d_model)


# -- add_positions -----------------------------------------------------------------------------------------------


def added(x: Tensor, encode: Callable[[int, int], Tensor]) -> Tensor:
    return x + encode(x.shape[1], x.shape[2]).to(x.dtype)  # (B, T, d) + (T, d) -> (B, T, d)


def encoded(x: Tensor) -> Tensor:
    """(B, T, d) to (T, d)."""
    return sinusoidal_encoding(x.shape[1], x.shape[2]).to(x.dtype)


@misconception("add_positions", EXPONENT_DOUBLED)
def exponent_doubled_in_what_is_added(x: Tensor) -> Tensor:
    return added(x, exponents_doubled)


@misconception("add_positions", EVERY_COLUMN_ITS_OWN)
def different_frequencies_in_what_is_added(x: Tensor) -> Tensor:
    return added(x, every_column_its_own)


@misconception("add_positions", SIDE_BY_SIDE)
def halves_side_by_side_in_what_is_added(x: Tensor) -> Tensor:
    return added(x, side_by_side)


@misconception("add_positions", FROM_ONE)
def positions_from_one_in_what_is_added(x: Tensor) -> Tensor:
    return added(x, from_one)


@misconception("add_positions", EXCHANGED)
def sines_and_cosines_exchanged_in_what_is_added(x: Tensor) -> Tensor:
    return added(x, exchanged)


@misconception(
    "add_positions",
    "The embeddings were multiplied by the encoding. At position 0 every sine is 0 and would wipe out half of the "
    "token; add the encoding.",
)
def multiplied(x: Tensor) -> Tensor:
    return x * encoded(x)


@misconception(
    "add_positions",
    "The encoding stands behind the embedding, which makes twice the width. Token and position share the same "
    "features: add them.",
)
def put_behind(x: Tensor) -> Tensor:
    return torch.cat([x, encoded(x).expand_as(x)], dim=-1)


@misconception(
    "add_positions",
    "The encoding came back without the embeddings. It says where a token stands, and no longer which token it is.",
)
def encoding_alone(x: Tensor) -> Tensor:
    return encoded(x).expand_as(x)


@misconception(
    "add_positions",
    "The embeddings were multiplied by √d first. The paper does so before this step; here x is taken as it is.",
)
def embeddings_scaled(x: Tensor) -> Tensor:
    return x * x.shape[-1] ** 0.5 + encoded(x)


@misconception(
    "add_positions",
    "Every token got the encoding of position 0, so they still look the same at every place. Token t gets row t.",
)
def first_position_for_all(x: Tensor) -> Tensor:
    return x + encoded(x)[0]


@misconception(
    "add_positions",
    "Each sequence got the encoding of its place in the batch. What is counted are the tokens of a sequence, dim 1; "
    "that sequences share a batch means nothing.",
)
def sequences_counted(x: Tensor) -> Tensor:
    return x + sinusoidal_encoding(x.shape[0], x.shape[2]).to(x.dtype)[:, None]  # (B, T, d) + (B, 1, d)


@misconception(
    "add_positions",
    "The encoding has as many rows as there are sequences. It needs one for each token: T is `x.shape[1]`, for the "
    "batch comes first.",
)
def rows_for_sequences(x: Tensor) -> Tensor:
    return x + sinusoidal_encoding(x.shape[0], x.shape[2]).to(x.dtype)  # (B, T, d) + (B, d)


@misconception(
    "add_positions",
    "The positions run on from one sequence into the next. Each sequence is a text of its own and begins at position "
    "0.",
)
def counted_on_through_the_batch(x: Tensor) -> Tensor:
    num_sequences, num_tokens, d = x.shape
    encoding = sinusoidal_encoding(num_sequences * num_tokens, d)
    return x + encoding.to(x.dtype).reshape(x.shape)  # (B · T, d) -> (B, T, d)


@misconception(
    "add_positions",
    "The features were counted instead of the tokens. In (B, T, d) the tokens are dim 1 and the features dim 2.",
)
def features_counted(x: Tensor) -> Tensor:
    return x + sinusoidal_encoding(x.shape[2], x.shape[1]).to(x.dtype).T  # (d, T) -> (T, d)


@misconception(
    "add_positions",
    "Only the first sequence got positions. (B, T, d) + (T, d) adds the encoding to every sequence of the batch.",
)
def first_sequence_alone(x: Tensor) -> Tensor:
    return torch.cat([x[:1] + encoded(x), x[1:]])


@misconception(
    "add_positions",
    "There are always three tokens for this code, as in the worked example. Take as many as x has, `x.shape[1]`.",
)
def tokens_of_the_worked_example(x: Tensor) -> Tensor:
    return x + sinusoidal_encoding(3, x.shape[2]).to(x.dtype)


@misconception(
    "add_positions",
    "`squeeze()` drops every dimension of length one, and so a single sequence, or a single token, loses its place in "
    "the shape.",
)
def single_one_squeezed(x: Tensor) -> Tensor:
    return added(x, sinusoidal_encoding).squeeze()


@misconception("add_positions", ODD_ACCEPTED)
def odd_width_accepted_where_added(x: Tensor) -> Tensor:
    return added(x, cut_to_the_width)


@misconception("add_positions", OTHER_NUMBER_REFUSED)
def odd_number_of_tokens_refused(x: Tensor) -> Tensor:
    return added(x, odd_number_of_positions_refused)


@misconception(
    "add_positions",
    "The result is always float32. What x came as, it should leave as: make the encoding like x, `.to(x.dtype)`, and "
    "leave x alone.",
)
def made_float32(x: Tensor) -> Tensor:
    return added(x.float(), sinusoidal_encoding)


@misconception(
    "add_positions",
    "The result is always float64: the encoding was made in float64, and in a sum the wider dtype wins. Bring it to "
    "that of x, `.to(x.dtype)`.",
)
def made_float64(x: Tensor) -> Tensor:
    return x + sinusoidal_encoding(x.shape[1], x.shape[2]).double()


@misconception(
    "add_positions",
    "`view` needs numbers that lie in memory in the right order, and after a transpose they do not. `reshape` copies "
    "where it has to; but torch adds (T, d) to (B, T, d) without either.",
)
def flattened_by_view(x: Tensor) -> Tensor:
    num_sequences, num_tokens, d = x.shape
    rows = x.view(num_sequences * num_tokens, d)  # (B, T, d) -> (B · T, d)
    return (rows + encoded(x).repeat(num_sequences, 1)).view(x.shape)  # (B · T, d) -> (B, T, d)


@misconception(
    "add_positions",
    "Gradients stop here: x, or the sum, was taken out of the graph, by `.detach()`, `.data` or `torch.no_grad()`. "
    "Through x the embeddings are to learn; it is the encoding that needs no gradient.",
)
def x_detached(x: Tensor) -> Tensor:
    return added(x.detach(), sinusoidal_encoding)


@misconception(
    "add_positions",
    "The caller's x was changed: `+=`, and `add_`, write into the tensor itself, which the caller still holds. "
    "`x + …` makes a new one.",
)
def added_in_place(x: Tensor) -> Tensor:
    x += encoded(x)
    return x
