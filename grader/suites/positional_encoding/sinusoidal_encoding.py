"""sinusoidal_encoding: hidden tests, known mistakes and right answers."""

from __future__ import annotations

import functools
from collections.abc import Iterator
from typing import Any

import torch

from grader.suites.positional_encoding.shared import (
    EVERY_COLUMN_ITS_OWN,
    EXCHANGED,
    EXPONENT_DOUBLED,
    FROM_ONE,
    LONGEST,
    ODD_ACCEPTED,
    OTHER_NUMBER_REFUSED,
    SIDE_BY_SIDE,
    WITHIN,
    D,
    T,
    encoding,
)
from grader.testing.checks import expect_close, expect_error, expect_tensor, expect_true
from grader.testing.misconceptions import mistake, replace
from grader.testing.probes import Draw, Estimate, Property, probe, refusal
from grader.testing.student import Student
from grader.testing.suite import rule

NARROW = 4  # two hands: with so few, no mistake makes the angles too large for float32


def first_sines(table: torch.Tensor) -> torch.Tensor:
    """Return the sines of hands 0 and 1, and of hand 2 at the first two positions; (2 T, d_model) to (4 T + 2,).

    Even if an answer multiplies by the powers of 10000, these angles are so small that float32 rounding does not show.
    """
    return torch.cat([table[:, 0], table[:, 2], table[:2, 4]])  # (2 T,), (2 T,) and (2,)


@rule("entry [pos, 2i] is sin(pos / 10000^(2i / d_model))")
def test_sines_of_the_right_frequencies(student: Student) -> None:
    """Even columns should be sines of pos over a power of ten thousand: the exponent is column over d_model."""
    found = expect_tensor(student.sinusoidal_encoding(2 * T, 8), (2 * T, 8))
    expect_close(first_sines(found), first_sines(encoding(2 * T, 8)), "The sines", WITHIN)
    found = expect_tensor(student.sinusoidal_encoding(LONGEST, D), (LONGEST, D))
    expect_close(found[:, 0::2], encoding(LONGEST, D)[:, 0::2], "The sines", WITHIN)


@rule("entry [pos, 2i + 1] is the cosine of the same angle")
def test_a_cosine_beside_each_sine(student: Student) -> None:
    """Each sine should be followed by the cosine of the same angle, and all angles should grow in equal steps."""
    found = expect_tensor(student.sinusoidal_encoding(T, NARROW), (T, NARROW)).double()
    # Each hand may be off by √2 times WITHIN, the turn from one position to the next by twice that, and the difference
    # of two turns by twice that again.
    hands = torch.complex(found[:, 1::2], found[:, 0::2])  # (T, d_model) -> (T, d_model / 2)
    expect_close(hands.abs(), torch.ones(T, NARROW // 2), "The squares of sine and cosine, pair by pair,", 2 * WITHIN)
    turns = torch.view_as_real(hands[1:] * hands[:-1].conj())
    expect_close(turns, turns[:1].expand_as(turns), "The steps from position to position", 6 * WITHIN)
    # If sines and cosines are swapped, the hands turn backwards. It is enough that one hand moves: with a wrong
    # frequency the other may seem not to move, but that is the subject of the test before this one.
    forward = turns[0, :, 1]
    goes_round = bool((forward > -WITHIN).all() and (forward > WITHIN).any())
    expect_true(goes_round, "The sines and cosines do not repeat as they should.")


@rule("positions are counted from 0")
def test_the_first_position_is_zero(student: Student) -> None:
    """Only the first row should be that of position zero: sines and cosines of zero, alternating."""
    found = expect_tensor(student.sinusoidal_encoding(T, D), (T, D)).double()
    expect_close(found[0], torch.tensor([0.0, 1.0]).repeat(D // 2), "The entries of the first row", WITHIN)
    expect_true(bool((found[1:] - found[0]).abs().amax(1).gt(WITHIN).all()), "Another row is equal to the first.")


@rule("any number of positions, including one")
def test_any_number_of_positions(student: Student) -> None:
    """Any number of positions should work, also a single one, and each row should not depend on this number."""
    longest = expect_tensor(student.sinusoidal_encoding(LONGEST, NARROW), (LONGEST, NARROW)).double()
    expect_true(bool(longest.abs().max() <= 1 + WITHIN), "Some entries are not sines or cosines.")
    swings = (longest.amin(0) < -0.9) & (longest.amax(0) > 0.9)
    expect_true(bool(swings.any()), "No column oscillates.")
    for count in (1, T - 1):
        found = student.sinusoidal_encoding(count, NARROW)
        expect_close(found, longest[:count], "The encodings of fewer positions", 2 * WITHIN)


@rule("an odd d_model raises ValueError or AssertionError")
def test_an_odd_width_is_refused(student: Student) -> None:
    """An odd d_model should raise ValueError or AssertionError, and an even one should not."""
    expect_tensor(student.sinusoidal_encoding(T, D))
    for width in (D - 1, 3, 1):
        expect_error(functools.partial(student.sinusoidal_encoding, T, width), f"d_model = {width}")


# -- misconceptions ------------------------------------------------------------------------------------------------

EXPONENT_WITHOUT_BRACKETS = (
    "Python evaluates powers before division: `10000**x / d` is (10000**x) / d. Put the exponent in brackets."
)

MISCONCEPTIONS = [
    mistake("exponent_doubled", replace("two_i / d_model", "2 * two_i / d_model"), EXPONENT_DOUBLED),
    mistake("different_frequencies",
        replace("torch.cos(angles)", "torch.cos(positions / 10000 ** ((two_i + 1) / d_model))"), EVERY_COLUMN_ITS_OWN),
    mistake("exponent_doubled_and_one_more",
        replace("two_i / d_model", "2 * two_i / d_model")
        .replace("torch.cos(angles)", "torch.cos(positions / 10000 ** ((2 * two_i + 1) / d_model))"),
        "The exponent of the sine is twice as large as it should be, because steps of two are doubled again, and the "
        "cosine next to it has another exponent. Both columns of a pair have the same angle."),
    mistake("cosines_one_column_back",
        replace("torch.cos(angles)", "torch.cos(positions / 10000 ** ((two_i - 1) / d_model))"),
        "The cosine has a smaller exponent than the sine next to it, so it turns faster. Each pair is one hand of "
        "the clock and has one angle: only the column says 2i + 1, not the exponent."),
    mistake("exponents_one_column_back", replace("two_i / d_model", "(two_i - 1) / d_model"),
        "Every exponent is too small by 1 / d_model, so all hands are too fast. The first exponent is 0: hand 0 "
        "turns by 1 with each position."),
    mistake("exponents_of_the_odd_columns", replace("two_i / d_model", "(two_i + 1) / d_model"),
        "Sine and cosine of a pair have the same angle, but with the number of the odd column as the exponent. It "
        "should be that of the even one, 2i, so that the first exponent is 0."),
    mistake("pairs_counted_from_one", replace("two_i / d_model", "(two_i + 2) / d_model"),
        "The exponents begin with the second pair, as if pairs were counted from 1. In the formula i begins at 0, so "
        "the first exponent is 0 and hand 0 turns by 1 with each position."),
    mistake("every_column_doubled",
        replace("two_i / d_model", "2 * two_i / d_model")
        .replace("torch.cos(angles)", "torch.cos(positions / 10000 ** (2 * (two_i + 1) / d_model))"),
        "The number of the column is doubled in every exponent, 2·j / d_model for column j. 2i is the column of the "
        "sine, and the cosine next to it has the same angle."),
    mistake("halves_side_by_side", replace("torch.stack", "torch.cat").replace(".flatten(-2)", ""), SIDE_BY_SIDE),
    mistake("positions_from_one", replace("torch.arange(num_positions)", "torch.arange(1, num_positions + 1)"),
        FROM_ONE),
    mistake("sines_and_cosines_exchanged",
        replace("torch.sin(angles), torch.cos(angles)", "torch.cos(angles), torch.sin(angles)"), EXCHANGED),
    mistake("sines_and_cosines_added",
        replace("torch.arange(0, d_model, 2)", "torch.arange(d_model)")
        .replace("torch.stack([torch.sin(angles), torch.cos(angles)], dim=-1).flatten(-2)",
                 "torch.sin(angles) + torch.cos(angles)"),
        "Every column is the sum of a sine and a cosine. They are separate columns, one after the other: together "
        "they show where the hand is."),
    mistake("one_column_for_each_hand",
        replace("torch.stack([torch.sin(angles), torch.cos(angles)], dim=-1).flatten(-2)",
                "torch.sin(angles) + torch.cos(angles)"),
        "The sine and the cosine of a hand are added, so the result has only d_model / 2 columns. Each hand has two "
        "columns, its sine and then its cosine."),
    mistake("pairs_that_overlap",
        replace("return torch.stack([torch.sin(angles), torch.cos(angles)], dim=-1).flatten(-2)",
                "table = torch.zeros(num_positions, d_model)\n    table[:, 1 : d_model // 2 + 1] = torch.cos(angles)\n"
                "    table[:, : d_model // 2] = torch.sin(angles)\n"
                "    table[:, d_model // 2] = torch.cos(angles[:, -1])\n    return table"),
        "Pair i is written to the columns i and i + 1, so each pair overwrites a part of the one before, and the "
        "right half stays zero. Its columns are 2i and 2i + 1."),
    mistake("exponent_halved", replace("two_i / d_model", "two_i / 2 / d_model"),
        "The exponent is i / d_model, where i counts pairs. It should be 2i / d_model, so that the divisor of the "
        "slowest hand is close to 10000."),
    mistake("divided_by_one_less", replace("two_i / d_model", "two_i / (d_model - 1)"),
        "The exponents are divided by d_model - 1. The formula divides by d_model, so the last exponent stays below "
        "1."),
    mistake("exponents_up_to_one", replace("two_i / d_model", "two_i / max(d_model - 2, 1)"),
        "The exponents go from 0 to 1, as in some libraries: i / (d_model/2 - 1). In the formula here the exponent "
        "is 2i / d_model, and the last one stays below 1."),
    mistake("divided_by_the_positions", replace("two_i / d_model", "two_i / num_positions"),
        "The exponents are divided by the number of positions. The speed of a hand depends on its column among the "
        "d_model columns, not on the length of the text."),
    mistake("exponents_floored", replace("two_i / d_model", "two_i // d_model"),
        "All hands are equally fast, as if every exponent were 0. `//` divides integers and drops the remainder; `/` "
        "keeps it."),
    mistake("angles_floored", replace("positions /", "positions //"),
        "The angles are integers: `//` drops the fraction. A slow hand moves too, but only a little: divide with `/`."),
    mistake("power_before_division", replace("10000 ** (two_i / d_model)", "(10000 ** two_i.double() / d_model)"),
        EXPONENT_WITHOUT_BRACKETS),
    mistake("power_before_both_divisions", replace("(two_i / d_model)", "two_i.double() / d_model"),
        EXPONENT_WITHOUT_BRACKETS),
    mistake("multiplied_by_the_powers", replace("positions /", "positions *"),
        "The positions are multiplied by the powers of 10000, so each hand is faster than the one before. Divide by "
        "the powers: each hand should be slower."),
    mistake("base_of_one_thousand", replace("10000", "1000"),
        "The powers are of 1000 and not of 10000, so the slow hands are too fast."),
    mistake("exponent_doubled_with_base_of_one_thousand",
        replace("10000 ** (two_i / d_model)", "1000 ** (2 * two_i / d_model)"),
        "The powers are of 1000 and not of 10000, and their exponents are doubled. In the formula i counts pairs. If "
        "your i is 0, 2, 4, …, it is already 2i."),
    mistake("base_of_one_hundred_thousand", replace("10000", "100000"),
        "The powers are of 100000 and not of 10000, so the hands are too slow. Count the zeros."),
    mistake("powers_of_e", replace("10000 ** (two_i / d_model)", "torch.exp(two_i / d_model)"),
        "The powers are of e and not of 10000, so all hands turn almost equally fast. If you compute powers with "
        "`exp`, multiply the exponent by the natural logarithm of 10000."),
    mistake("common_logarithm",
        replace("10000 ** (two_i / d_model)", "torch.exp(two_i / d_model * torch.log10(torch.tensor(10000)))"),
        "The logarithm has the wrong base. If you compute powers with `exp`, 10000^x = exp(x · ln 10000), use the "
        "natural logarithm, `math.log`."),
    mistake("angles_in_degrees", replace("angles = positions", "angles = positions.deg2rad()"),
        "The angles were converted from degrees to radians. They are already radians: at position 1 hand 0 has "
        "turned by 1."),
    mistake("whole_turns", replace("angles = positions", "angles = 2 * torch.pi * positions"),
        "The angles were multiplied by 2π. The formula has no π: hand 0 turns by 1 with each position, and makes a "
        "full turn after about 6.3 positions."),
    mistake("positions_as_shares", replace("angles = positions", "angles = positions / num_positions"),
        "The positions were divided by their number. Then one step is a different number in each text. Use 0, 1, 2, "
        "… directly."),
    mistake("sines_alone", replace("torch.cos", "torch.sin"),
        "Every column is a sine. A sine alone does not show the position of the hand, because two angles have the "
        "same sine. The odd columns should be cosines."),
    mistake("cosines_missing", replace("torch.cos(angles)", "0 * angles"),
        "The odd columns are still zero: the cosines are missing, or in wrong columns. Put each cosine next to its "
        "sine."),
    mistake("by_rows_instead_of_columns",
        replace("torch.stack([torch.sin(angles), torch.cos(angles)], dim=-1).flatten(-2)",
                "torch.where(positions % 2 == 0, torch.sin(angles), torch.cos(angles)).repeat_interleave(2, dim=1)"),
        "Even positions have sines and odd positions have cosines. It should depend on the column: every position "
        "has sines in the even columns and cosines in the odd ones."),
    mistake("first_position_left_out", replace(".flatten(-2)", ".flatten(-2) * (positions > 0)"),
        "Position 0 is all zeros, like padding. But it is a normal position: its cosines are 1."),
    mistake("features_first", replace(".flatten(-2)", ".flatten(-2).T"),
        "The result is transposed, (d_model, T). A row is a position: (T, d_model), as in embeddings."),
    mistake("encoding_of_integers", replace(".flatten(-2)", ".flatten(-2).long()"),
        "The entries are integers: most sines and cosines became 0. They were put into a tensor of an integer dtype, "
        "such as one made from `arange`. Use floats."),
    mistake("batch_in_front", replace(".flatten(-2)", ".flatten(-2)[None]"),
        "The result has a batch dimension in front. The same encoding is used for every sequence, and PyTorch "
        "broadcasts (T, d_model) over the batch."),
    mistake("positions_of_the_worked_example",
        replace("torch.arange(num_positions)", "torch.arange(4)[:num_positions]"),
        "The encoding always has four positions, as in the worked example. Use the argument num_positions."),
    mistake("a_hundred_positions_at_most", replace("torch.arange(num_positions)", "torch.arange(100)[:num_positions]"),
        "The table ends after a hundred positions, so longer texts fail. Make as many rows as num_positions says."),
    mistake("single_position_squeezed", replace(".flatten(-2)", ".flatten(-2).squeeze()"),
        "`squeeze()` removes every dimension of size one, so a single position is not a matrix. It should be (1, "
        "d_model)."),
    mistake("odd_width_accepted", replace("d_model % 2", "False").replace(".flatten(-2)", ".flatten(-2)[:, :d_model]"),
        ODD_ACCEPTED),
    mistake("odd_width_stumbled_over",
        replace("d_model % 2", "False").replace(".flatten(-2)", ".reshape(num_positions, d_model)"),
        "An odd width raises an error of the wrong type, for example from PyTorch, because sines and cosines do not "
        "match. Check first, and raise a ValueError with a clear text."),
    mistake("odd_number_of_positions_refused",
        replace("d_model % 2", "num_positions % 2").replace(".flatten(-2)", ".flatten(-2)[:, :d_model]"),
        OTHER_NUMBER_REFUSED),
]  # fmt: skip


# -- probes --------------------------------------------------------------------------------------------------------


# The rule allows 1e-4. At position 255 the rounding error of float32 alone is almost a third of that.
WITHIN_OF_PROBES = 7e-5


@probe(draws=600)
def positions_encoded(unit: Any, draw: Draw) -> Iterator[Property]:
    num_positions = draw.pick(draw.size(1, 9), draw.size(1, 60), draw.size(200, 256))
    d_model = 2 * draw.pick(draw.size(1, 5), draw.size(1, 40))
    yield "the values", Estimate(unit.sinusoidal_encoding(num_positions, d_model), WITHIN_OF_PROBES)


@probe(draws=100)
def odd_widths_refused(unit: Any, draw: Draw) -> Iterator[Property]:
    yield from refusal(unit.sinusoidal_encoding, draw.size(1, 12), 2 * draw.size(0, 9) + 1)


# -- answers -------------------------------------------------------------------------------------------------------


def wrong_answers():
    """Mistakes without a name, and answers with two. Never run here: the audit reads them."""

    import math

    def positions_from_one__and__odd_width_accepted(num_positions, d_model):
        positions = torch.arange(1, num_positions + 1, dtype=torch.float32)
        freqs = 10000 ** (-torch.arange(0, d_model, 2, dtype=torch.float32) / d_model)
        angles = torch.outer(positions, freqs)
        pe = torch.stack([torch.sin(angles), torch.cos(angles)], dim=-1).flatten(1)
        return pe[:, :d_model]

    def _table(positions, exponents, base=10000.0):
        """Sines and cosines in turn, (T, d)."""
        angles = torch.as_tensor(positions).double()[:, None] / base ** torch.as_tensor(exponents).double()
        return torch.stack([angles.sin(), angles.cos()], dim=2).reshape(len(angles), -1).float()

    def _exponents(d_model):
        if d_model % 2:
            raise ValueError("d_model must be even")
        return torch.arange(0, d_model, 2) / d_model

    def slowest_hand_first(num_positions, d_model):
        return _table(range(num_positions), _exponents(d_model).flip(0))

    def last_position_first(num_positions, d_model):
        return _table(range(num_positions - 1, -1, -1), _exponents(d_model))

    def hands_of_half_the_length(num_positions, d_model):
        return _table(range(num_positions), _exponents(d_model)) / 2

    def hands_turn_backwards(num_positions, d_model):
        return _table([-pos for pos in range(num_positions)], _exponents(d_model))

    def single_position_refused(num_positions, d_model):
        if num_positions < 2:
            raise ValueError("too few positions")
        return _table(range(num_positions), _exponents(d_model))

    def root_of_the_position(num_positions, d_model):
        if d_model % 2:
            raise ValueError("d_model must be even")
        pe = torch.zeros(num_positions, d_model)
        for pos in range(num_positions):
            for i in range(0, d_model, 2):
                pe[pos, i] = math.sin(math.sqrt(pos) / 10000 ** (i / d_model))
                pe[pos, i + 1] = math.cos(math.sqrt(pos) / 10000 ** (i / d_model))
        return pe

    def logarithm_times_the_width(num_positions, d_model):
        _exponents(d_model)
        pe = torch.zeros(num_positions, d_model)
        position = torch.arange(num_positions).unsqueeze(1)
        div_term = torch.exp(torch.arange(0, d_model, 2) * -math.log(10000.0) * d_model)
        pe[:, 0::2] = torch.sin(position * div_term)
        pe[:, 1::2] = torch.cos(position * div_term)
        return pe

    def exponents_squared(num_positions, d_model):
        return _table(range(num_positions), _exponents(d_model) ** 2 * d_model / 4)

    def base_of_ten(num_positions, d_model):
        return _table(range(num_positions), _exponents(d_model), base=10.0)

    def squares_of_sines_and_cosines(num_positions, d_model):
        return _table(range(num_positions), _exponents(d_model)) ** 2

    def sines_of_cosines(num_positions, d_model):
        encoding = _table(range(num_positions), _exponents(d_model))
        encoding[:, 1::2] = torch.sin(encoding[:, 1::2])
        return encoding

    def odd_width_stumbled_over__every_other_column(num_positions, d_model):
        pe = torch.zeros(num_positions, d_model)
        position = torch.arange(num_positions, dtype=torch.float).unsqueeze(1)
        div_term = torch.exp(torch.arange(0, d_model, 2).float() * (-math.log(10000.0) / d_model))
        pe[:, 0::2] = torch.sin(position * div_term)
        pe[:, 1::2] = torch.cos(position * div_term)
        return pe


def right_answers():
    """Answers in other styles. Never run here: the audit reads them."""

    import math

    import numpy as np

    def building_on(num_positions, d_model):
        half, rest = divmod(d_model, 2)
        if rest:
            raise ValueError("d_model is odd")
        angles = [torch.arange(num_positions) * 10000.0 ** (-2 * i / d_model) for i in range(half)]
        return torch.stack([wave for angle in angles for wave in (torch.sin(angle), torch.cos(angle))], dim=-1)

    def by_hand(num_positions, d_model):
        assert d_model % 2 == 0, "an even width, please"
        table = []
        for pos in range(num_positions):
            row = []
            for column in range(d_model):
                angle = pos / 10000 ** (2 * (column // 2) / d_model)
                row.append(math.sin(angle) if column % 2 == 0 else math.cos(angle))
            table.append(row)
        return torch.tensor(table)

    def ready_made(num_positions: int, d_model: int) -> torch.Tensor:
        if d_model & 1:
            raise ValueError("Cannot use sin/cos positional encoding with odd dim (got dim={:d})".format(d_model))
        pe = torch.zeros(num_positions, d_model)
        position = torch.arange(0, num_positions, dtype=torch.float).unsqueeze(1)
        div_term = torch.exp(torch.arange(0, d_model, 2).float() * (-math.log(10000.0) / d_model))
        pe[:, 0::2] = torch.sin(position * div_term)
        pe[:, 1::2] = torch.cos(position * div_term)
        print("made", pe.shape)
        return pe

    def turning(num_positions, d_model):
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

    def with_numpy(num_positions, d_model):
        if d_model % 2 != 0:
            raise ValueError("odd")
        columns = np.arange(d_model)
        angles = np.arange(num_positions)[:, np.newaxis] / np.power(10000, (2 * (columns // 2)) / np.float32(d_model))
        angles[:, 0::2] = np.sin(angles[:, 0::2])
        angles[:, 1::2] = np.cos(angles[:, 1::2])
        return torch.from_numpy(angles)
