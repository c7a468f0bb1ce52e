"""Unit 5, positions: each test is one criterion, and its docstring is the sentence that a student reads.

Expected values are computed here in float64, and differently from the course's solution. Where an exercise may call an
earlier one, they use the same substitute for it as the student's code.

One mistake should not cost every point. So tests about lengths, dtypes and arguments use inputs on which most mistakes
do not show: a bias of zero, or position 0, where all angles are zero at every frequency.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import pytest
import torch

from grader.testing.checks import (
    expect_any_error,
    expect_close,
    expect_dtype,
    expect_error,
    expect_gradients,
    expect_same,
    expect_tensor,
    expect_true,
    expect_values,
    oracle_gradients,
)
from grader.testing.draws import Fresh
from grader.testing.student import Student

# All different, so that mixed-up dimensions show. T and D are even: only the tests about odd widths use an odd width.
M, N, K = 7, 5, 4
B, T, D = 3, 6, 10
DTYPES = (torch.float32, torch.float64)
# The largest number of positions, and the absolute tolerance for each number of an encoding.
LONGEST, WITHIN = 256, 1e-4
NARROW = 4  # two hands: with so few, no mistake makes the angles too large for float32
Function = Callable[..., torch.Tensor]


# -- expected values ---------------------------------------------------------------------------------------------


def linear_of(student: Student) -> Function:
    """linear_as_matmul: (m, n), (n, k), (k,) to (m, k). Each row is a context vector of unit 1, plus the bias."""
    product = student.substitute("dot_product", functools.partial(torch.einsum, "n,n->"))

    def attention_scores(query: torch.Tensor, inputs: torch.Tensor) -> torch.Tensor:
        return torch.stack([product(query, row) for row in inputs])

    scores = student.substitute("attention_scores", attention_scores)
    context = student.substitute("context_vector", lambda weights, inputs: scores(weights, inputs.mT))

    def linear(x: torch.Tensor, weight: torch.Tensor, bias: torch.Tensor) -> torch.Tensor:
        return torch.stack([context(row, weight.double()) for row in x.double()]) + bias.double()

    return linear


def encoding(num_positions: int, d_model: int) -> torch.Tensor:
    """sinusoidal_encoding: (T, d_model), computed from complex numbers (T, d_model / 2) on the unit circle."""
    # 10000^(-2i / d_model) = 10^(-8i / d_model), from 0 to the last i, d_model / 2 - 1.
    frequencies = torch.logspace(0, 8 / d_model - 4, d_model // 2, dtype=torch.float64)
    angles = torch.outer(torch.arange(num_positions, dtype=torch.float64), frequencies)
    parts = torch.view_as_real(torch.polar(torch.ones_like(angles), angles))  # (T, d_model / 2, 2): cosine, sine
    return parts.flip(-1).flatten(-2)  # (T, d_model / 2, 2) -> (T, d_model)


def encoding_of(student: Student) -> Function:
    return student.substitute("sinusoidal_encoding", encoding)


# -- linear_as_matmul --------------------------------------------------------------------------------------------


def without_bias(fresh: Fresh, m: int, n: int = N, dtype: torch.dtype = torch.float32) -> tuple[torch.Tensor, ...]:
    """x (m, n) and weight (n, k), both positive, and a bias of zero.

    So mistakes with the bias do not show, nor an activation that changes only negative numbers.
    """
    return fresh(m, n, dtype=dtype).abs(), fresh(n, K, dtype=dtype).abs(), torch.zeros(K, dtype=dtype)


@pytest.mark.exercise("linear_as_matmul", rule="row i of the result is row i of x times the weight, plus the bias")
def test_every_row_times_the_weight_plus_the_bias(student: Student, fresh: Fresh) -> None:
    """Each row of the result (m, k) should be that row of x times the weight, plus the bias."""
    arguments = fresh(M, N), fresh(N, K), fresh(K)
    expect_close(student.linear_as_matmul(*arguments), linear_of(student)(*arguments))


@pytest.mark.exercise("linear_as_matmul", rule="any number of rows, including one")
def test_any_number_of_rows(student: Student, fresh: Fresh) -> None:
    """The layer should work for any number of rows, also a single one: (m, k)."""
    # The first matrices are square: with them a product in the wrong order raises no error.
    for m, n in ((K, K), (1, N), (9, N)):
        arguments = without_bias(fresh, m, n)
        expect_close(student.linear_as_matmul(*arguments), linear_of(student)(*arguments))


@pytest.mark.exercise("linear_as_matmul", rule="float32 and float64 arguments both work")
def test_rows_of_either_dtype(student: Student, fresh: Fresh) -> None:
    """Float32 arguments and float64 arguments should both give correct results."""
    for dtype in DTYPES:
        arguments = without_bias(fresh, M, dtype=dtype)
        expect_close(student.linear_as_matmul(*arguments), linear_of(student)(*arguments))


@pytest.mark.exercise("linear_as_matmul", rule="gradients flow to x, to the weight and to the bias")
def test_gradients_of_the_linear_layer(student: Student, fresh: Fresh) -> None:
    """Gradients of the result should flow to x, to the weight and to the bias."""
    arguments = fresh(M, N), fresh(N, K), fresh(K)
    _, found = expect_values(student.linear_as_matmul.gradients(*arguments), 2)
    expect_gradients(found, oracle_gradients(linear_of(student), arguments, {}))


@pytest.mark.exercise("linear_as_matmul", rule="the arguments are not changed")
def test_the_linear_layer_leaves_its_arguments_alone(student: Student, fresh: Fresh) -> None:
    """The rows should be correct apart from the bias, and the call should not change the arguments."""
    x, weight, _ = without_bias(fresh, M)
    # If the bias is added to the weight, it is multiplied by the sum of each row of x. So let all rows sum to one.
    arguments = x / x.sum(dim=1, keepdim=True), weight, fresh(K).abs()
    result, after = expect_values(student.linear_as_matmul.with_arguments(*arguments), 2)
    expected = linear_of(student)(*arguments)
    found = expect_tensor(result, expected.shape).double()
    expect_close(found - found[0], expected - expected[0], "The differences between rows")
    for argument, before in zip(after, arguments, strict=True):
        expect_same(argument, before, "An argument was changed.")


# -- sinusoidal_encoding -----------------------------------------------------------------------------------------


def first_sines(table: torch.Tensor) -> torch.Tensor:
    """Return the sines of hands 0 and 1, and of hand 2 at the first two positions; (2 T, d_model) to (4 T + 2,).

    Even if an answer multiplies by the powers of 10000, these angles are so small that float32 rounding does not show.
    """
    return torch.cat([table[:, 0], table[:, 2], table[:2, 4]])  # (2 T,), (2 T,) and (2,)


@pytest.mark.exercise("sinusoidal_encoding", rule="entry [pos, 2i] is sin(pos / 10000^(2i / d_model))")
def test_sines_of_the_right_frequencies(student: Student) -> None:
    """Even columns should be sines of pos over a power of ten thousand: the exponent is column over d_model."""
    found = expect_tensor(student.sinusoidal_encoding(2 * T, 8), (2 * T, 8))
    expect_close(first_sines(found), first_sines(encoding(2 * T, 8)), "The sines", WITHIN)
    found = expect_tensor(student.sinusoidal_encoding(LONGEST, D), (LONGEST, D))
    expect_close(found[:, 0::2], encoding(LONGEST, D)[:, 0::2], "The sines", WITHIN)


@pytest.mark.exercise("sinusoidal_encoding", rule="entry [pos, 2i + 1] is the cosine of the same angle")
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


@pytest.mark.exercise("sinusoidal_encoding", rule="positions are counted from 0")
def test_the_first_position_is_zero(student: Student) -> None:
    """Only the first row should be that of position zero: sines and cosines of zero, alternating."""
    found = expect_tensor(student.sinusoidal_encoding(T, D), (T, D)).double()
    expect_close(found[0], torch.tensor([0.0, 1.0]).repeat(D // 2), "The entries of the first row", WITHIN)
    expect_true(bool((found[1:] - found[0]).abs().amax(1).gt(WITHIN).all()), "Another row is equal to the first.")


@pytest.mark.exercise("sinusoidal_encoding", rule="any number of positions, including one")
def test_any_number_of_positions(student: Student) -> None:
    """Any number of positions should work, also a single one, and each row should not depend on this number."""
    longest = expect_tensor(student.sinusoidal_encoding(LONGEST, NARROW), (LONGEST, NARROW)).double()
    expect_true(bool(longest.abs().max() <= 1 + WITHIN), "Some entries are not sines or cosines.")
    swings = (longest.amin(0) < -0.9) & (longest.amax(0) > 0.9)
    expect_true(bool(swings.any()), "No column oscillates.")
    for count in (1, T - 1):
        found = student.sinusoidal_encoding(count, NARROW)
        expect_close(found, longest[:count], "The encodings of fewer positions", 2 * WITHIN)


@pytest.mark.exercise("sinusoidal_encoding", rule="an odd d_model raises ValueError or AssertionError")
def test_an_odd_width_is_refused(student: Student) -> None:
    """An odd d_model should raise ValueError or AssertionError, and an even one should not."""
    expect_tensor(student.sinusoidal_encoding(T, D))
    for width in (D - 1, 3, 1):
        expect_error(functools.partial(student.sinusoidal_encoding, T, width), f"d_model = {width}")


# -- add_positions -----------------------------------------------------------------------------------------------


def sequences(fresh: Fresh, batch: int, num_tokens: int, dtype: torch.dtype = torch.float32) -> torch.Tensor:
    """Embeddings (B, T, d). The first sequence is all zeros, so its result is the encoding."""
    x = fresh(batch, num_tokens, D, dtype=dtype)
    x[0] = 0
    return x


def expect_positions(student: Student, result: Any, x: torch.Tensor) -> torch.Tensor:
    """Expect the shape of x, and at the first position a vector that is as long as the encoding of position 0.

    So wrong frequencies, another order of the columns and scaled embeddings do not show.

    Returns:
        The result, as a tensor.
    """
    found = expect_tensor(result, x.shape)
    added, right = found[0, 0].double(), encoding_of(student)(1, D)[0].double()
    expect_close(added.norm(), right.norm(), "The numbers added at the first position", D**0.5 * WITHIN)
    return found


@pytest.mark.exercise(
    "add_positions",
    rule="token t of every sequence is token t of x, not scaled, plus row t of the encoding from the last exercise",
)
def test_every_token_gets_its_position(student: Student, fresh: Fresh) -> None:
    """Row t of the encoding should be added to token t of every sequence, and x should not change otherwise."""
    x = fresh(B, T, D)
    expect_close(student.add_positions(x), x.double() + encoding_of(student)(T, D), "The sums", WITHIN)


@pytest.mark.exercise("add_positions", rule="any number of sequences and of tokens, including one")
def test_any_number_of_sequences_and_tokens(student: Student, fresh: Fresh) -> None:
    """Any number of sequences and tokens should get positions and keep their shape, also a single one."""
    for batch, num_tokens in ((1, 1), (1, 9), (5, 1)):
        x = sequences(fresh, batch, num_tokens)
        expect_positions(student, student.add_positions(x), x)


@pytest.mark.exercise("add_positions", rule="an odd d raises ValueError or AssertionError")
def test_embeddings_of_odd_width_are_refused(student: Student, fresh: Fresh) -> None:
    """An odd d should raise an error, and an even one should not."""
    encoding_of(student)  # records that a substitute is used: an answer may get its error from there
    expect_tensor(student.add_positions(fresh(B, T, D)))
    # No width of one: torch raises an error if five numbers should fill four columns, but not if one should fill none.
    for width in (D - 1, 3):
        expect_any_error(functools.partial(student.add_positions, fresh(B, T, width)), f"d = {width}")


@pytest.mark.exercise("add_positions", rule="the result keeps the dtype of x, float32 or float64")
def test_positions_keep_the_dtype(student: Student, fresh: Fresh) -> None:
    """The result should contain positions and have the dtype of x, for float32 and for float64."""
    for dtype in DTYPES:
        x = sequences(fresh, B, T, dtype)
        expect_dtype(expect_positions(student, student.add_positions(x), x), dtype)


@pytest.mark.exercise("add_positions", rule="x may be non-contiguous, for example the result of a transpose")
def test_positions_for_a_view(student: Student, fresh: Fresh) -> None:
    """The result should be correct if x is non-contiguous, for example the result of a transpose."""
    x = sequences(fresh, B, T).mT.contiguous().mT
    expect_positions(student, student.add_positions(x), x)


@pytest.mark.exercise("add_positions", rule="gradients flow to x")
def test_gradients_of_adding_positions(student: Student, fresh: Fresh) -> None:
    """The result should contain positions, and its gradients should flow to x."""
    x = sequences(fresh, B, T)
    # This comes before the call, so that a substitute is recorded even if the call fails: an answer that adds in place
    # has no gradients with either encoding.
    expected = oracle_gradients(lambda given: given + encoding_of(student)(T, D), [x], {})
    result, found = expect_values(student.add_positions.gradients(x), 2)
    expect_positions(student, result, x)
    expect_gradients(found, expected)


@pytest.mark.exercise("add_positions", rule="x is not changed")
def test_adding_positions_leaves_x_alone(student: Student, fresh: Fresh) -> None:
    """The result should contain positions, and the call should not change x."""
    x = sequences(fresh, B, T)
    result, [after] = expect_values(student.add_positions.with_arguments(x), 2)
    expect_positions(student, result, x)
    expect_same(after, x, "x was changed.")
