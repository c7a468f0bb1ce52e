"""sinusoidal_encoding: hidden tests, known mistakes and right answers."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import torch

from grader.suites.positional_encoding.shared import (
    FROM_ONE,
    LONGEST,
    ODD_ACCEPTED,
    WITHIN,
    D,
    T,
    encoding,
)
from grader.testing.behaviour import refusals
from grader.testing.checks import expect_close, expect_tensor, expect_true
from grader.testing.misconceptions import mistake, replace
from grader.testing.probes import Draw, Estimate, Property, probe, refusal
from grader.testing.student import Student
from grader.testing.suite import Example, asking, contract, rule

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


test_contract = contract(
    asking("sinusoidal_encoding", lambda _, d_model=D: [T, d_model], lambda _: encoding,
           lambda found, _: expect_tensor(found)),
    refusals(
        "an_odd_width_is_refused", "an odd d_model raises ValueError or AssertionError",
        "An odd d_model should raise ValueError or AssertionError, and an even one should not.",
        {"d_model": D - 1}, {"d_model": 3}, {"d_model": 1},
        shown=({"d_model": 1}, {"d_model": 5}, {"d_model": 11}), because="these columns do not make pairs"),
    probe=lambda _, count=T, pairs=D // 2: [count, 2 * pairs],
    example=Example({"num_positions": 4, "d_model": 8}),
)  # fmt: skip


# -- misconceptions ------------------------------------------------------------------------------------------------


MISCONCEPTIONS = [
    mistake("exponent_doubled", replace("two_i / d_model", "2 * two_i / d_model"),
        "The divisor of each hand is squared, so the hands are too slow. In the formula i counts pairs. If your i is "
        "0, 2, 4, …, it is already 2i, so do not double it again."),
    mistake("different_frequencies",
        replace("torch.cos(angles)", "torch.cos(positions / 10000 ** ((two_i + 1) / d_model))"),
        "A sine and the cosine next to it have different frequencies. Each pair is one hand of the clock and has one "
        "angle: both columns have the exponent of the even one."),
    mistake("every_column_doubled",
        replace("two_i / d_model", "2 * two_i / d_model")
        .replace("torch.cos(angles)", "torch.cos(positions / 10000 ** (2 * (two_i + 1) / d_model))"),
        "The number of the column is doubled in every exponent, 2·j / d_model for column j. 2i is the column of the "
        "sine, and the cosine next to it has the same angle."),
    mistake("halves_side_by_side", replace("torch.stack", "torch.cat").replace(".flatten(-2)", ""),
        "All sines are in the left half and all cosines in the right half. They should alternate, each sine followed "
        "by its cosine: columns 0::2 and 1::2."),
    mistake("positions_from_one", replace("torch.arange(num_positions)", "torch.arange(1, num_positions + 1)"),
        FROM_ONE),
    mistake("sines_and_cosines_exchanged",
        replace("torch.sin(angles), torch.cos(angles)", "torch.cos(angles), torch.sin(angles)"),
        "Sines and cosines are swapped. The even columns, including 0, are the sines."),
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
    mistake("exponents_up_to_one", replace("two_i / d_model", "two_i / max(d_model - 2, 1)"),
        "The exponents go from 0 to 1, as in some libraries: i / (d_model/2 - 1). In the formula here the exponent "
        "is 2i / d_model, and the last one stays below 1."),
    mistake("exponents_floored", replace("two_i / d_model", "two_i // d_model"),
        "All hands are equally fast, as if every exponent were 0. `//` divides integers and drops the remainder; `/` "
        "keeps it."),
    mistake("power_before_both_divisions", replace("(two_i / d_model)", "two_i.double() / d_model"),
        "Python evaluates powers before division: `10000**x / d` is (10000**x) / d. Put the exponent in brackets."),
    mistake("multiplied_by_the_powers", replace("positions /", "positions *"),
        "The positions are multiplied by the powers of 10000, so each hand is faster than the one before. Divide by "
        "the powers: each hand should be slower."),
    mistake("powers_of_e", replace("10000 ** (two_i / d_model)", "torch.exp(two_i / d_model)"),
        "The powers are of e and not of 10000, so all hands turn almost equally fast. If you compute powers with "
        "`exp`, multiply the exponent by the natural logarithm of 10000."),
    mistake("sines_alone", replace("torch.cos", "torch.sin"),
        "Every column is a sine. A sine alone does not show the position of the hand, because two angles have the "
        "same sine. The odd columns should be cosines."),
    mistake("by_rows_instead_of_columns",
        replace("torch.stack([torch.sin(angles), torch.cos(angles)], dim=-1).flatten(-2)",
                "torch.where(positions % 2 == 0, torch.sin(angles), torch.cos(angles)).repeat_interleave(2, dim=1)"),
        "Even positions have sines and odd positions have cosines. It should depend on the column: every position "
        "has sines in the even columns and cosines in the odd ones."),
    mistake("encoding_of_integers", replace(".flatten(-2)", ".flatten(-2).long()"),
        "The entries are integers: most sines and cosines became 0. They were put into a tensor of an integer dtype, "
        "such as one made from `arange`. Use floats."),
    mistake("batch_in_front", replace(".flatten(-2)", ".flatten(-2)[None]"),
        "The result has a batch dimension in front. The same encoding is used for every sequence, and PyTorch "
        "broadcasts (T, d_model) over the batch."),
    mistake("odd_width_accepted", replace("d_model % 2", "False").replace(".flatten(-2)", ".flatten(-2)[:, :d_model]"),
        ODD_ACCEPTED),
    mistake("odd_width_stumbled_over",
        replace("d_model % 2", "False").replace(".flatten(-2)", ".reshape(num_positions, d_model)"),
        "An odd width raises an error of the wrong type, for example from PyTorch, because sines and cosines do not "
        "match. Check first, and raise a ValueError with a clear text."),
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

    def _table(positions, exponents, base=10000.0):
        """Sines and cosines in turn, (T, d)."""
        angles = torch.as_tensor(positions).double()[:, None] / base ** torch.as_tensor(exponents).double()
        return torch.stack([angles.sin(), angles.cos()], dim=2).reshape(len(angles), -1).float()

    def _exponents(d_model):
        if d_model % 2:
            raise ValueError("d_model must be even")
        return torch.arange(0, d_model, 2) / d_model

    def positions_from_one__and__odd_width_accepted(num_positions, d_model):
        return _table(range(1, num_positions + 1), torch.arange(0, d_model, 2) / d_model)[:, :d_model]

    def slowest_hand_first(num_positions, d_model):
        return _table(range(num_positions), _exponents(d_model).flip(0))

    def last_position_first(num_positions, d_model):
        return _table(range(num_positions - 1, -1, -1), _exponents(d_model))

    def hands_of_half_the_length(num_positions, d_model):
        return _table(range(num_positions), _exponents(d_model)) / 2

    def hands_turn_backwards(num_positions, d_model):
        return _table([-pos for pos in range(num_positions)], _exponents(d_model))

    def root_of_the_position(num_positions, d_model):
        return _table([pos**0.5 for pos in range(num_positions)], _exponents(d_model))

    def logarithm_times_the_width(num_positions, d_model):
        return _table(range(num_positions), _exponents(d_model) * d_model**2)

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
        table = torch.zeros(num_positions, d_model)
        for pos in range(num_positions):
            for column in range(d_model):
                angle = pos / 10000 ** (2 * (column // 2) / d_model)
                table[pos, column] = math.sin(angle) if column % 2 == 0 else math.cos(angle)
        return table

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
