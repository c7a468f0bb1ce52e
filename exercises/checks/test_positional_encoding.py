"""The visible tests of unit 5, positions of tokens. Run `grader check positional_encoding`, or `pytest` here.

`student` is your file: `student.add_positions(x)` calls your add_positions. Tests without a rule are worked examples,
with numbers that you can check by hand. The others try one rule of your docstring each, with numbers from `numbers`.
The grader tries the same rules with other sizes and numbers.
"""

from __future__ import annotations

from typing import Any

import pytest
import torch
from checking import (
    described,
    expect_error,
    expect_solution,
    expect_true,
    expect_unchanged,
    expect_values,
    fail,
    numbers,
)
from torch import nn

from grader.testing.contracts import (
    expect_any_layout,
    expect_arguments_kept,
    expect_float64,
    expect_gradients_fit,
)
from grader.testing.student import Raised, Student
from grader.testing.visible_contracts import contract_tests

# -- linear_as_matmul ------------------------------------------------------------------------------------------------


@pytest.mark.example("linear_as_matmul")
def test_linear_as_matmul(student: Student) -> None:
    """Each row of x is multiplied by the weight, and the bias is added."""
    x = torch.tensor([[1.0, 2.0], [3.0, 4.0], [0.0, -1.0]])
    weight = torch.tensor([[1.0, 0.0, 2.0, -1.0], [0.0, 1.0, 1.0, 3.0]])
    bias = torch.tensor([10.0, 20.0, 30.0, 40.0])
    expect_values(
        "the result",
        student.linear_as_matmul(x, weight, bias),
        # The first row: 1·(1, 0, 2, -1) + 2·(0, 1, 1, 3) = (1, 2, 4, 5), and then the bias.
        torch.tensor([[11.0, 22.0, 34.0, 45.0], [13.0, 24.0, 40.0, 49.0], [10.0, 19.0, 29.0, 37.0]]),
        shape="(m, k)",
        idea="multiply each row of x by the weight, then add the bias",
    )


@pytest.mark.example("linear_as_matmul")
def test_linear_as_matmul_does_what_nn_linear_does(student: Student) -> None:
    """With the transposed weight and the bias of an nn.Linear, it gives the layer's result, and changes neither."""
    layer, generator = nn.Linear(2, 4), torch.Generator().manual_seed(1)
    for parameter in layer.parameters():
        nn.init.uniform_(parameter, -1, 1, generator)
    x = torch.tensor([[1.0, 2.0], [3.0, 4.0], [0.0, -1.0]])
    result, (_, weight, bias) = student.linear_as_matmul.with_arguments(x, layer.weight.T, layer.bias)
    expect_values(
        "the result",
        result,
        layer(x).detach(),
        shape="(m, k)",
        idea="nn.Linear(2, 4) multiplies by its weight, transposed, and adds its bias",
    )
    expect_unchanged("the weight", weight, layer.weight.T)
    expect_unchanged("the bias", bias, layer.bias)


# Four rows of three numbers, a weight (n, k) and a bias (k,).
LINEAR = {"x": numbers(4, 3), "weight": numbers(3, 5), "bias": numbers(5)}


@pytest.mark.example(
    "linear_as_matmul",
    rule=["row i of the result is row i of x times the weight, plus the bias", "any number of rows, including one"],
)
@pytest.mark.parametrize("rows", [pytest.param(8, id="eight"), pytest.param(2, id="two"), pytest.param(1, id="one")])
def test_linear_as_matmul_of_rows(student: Student, rows: int) -> None:
    """Each row goes through the same layer, for any number of rows."""
    result = student.linear_as_matmul(numbers(rows, 3), numbers(3, 6), numbers(6))
    idea = "each row of x is multiplied by the weight, and then the bias is added"
    expect_solution("the result", result, shape="(m, k)", idea=idea)


# -- sinusoidal_encoding ---------------------------------------------------------------------------------------------

# With four columns there are two hands: one turns by 1 with each position, the other by 1/100.
ENCODING = torch.tensor(
    [
        # sin pos, cos pos, sin pos/100, cos pos/100
        [0.0000, 1.0000, 0.0000, 1.0000],
        [0.8415, 0.5403, 0.0100, 1.0000],
        [0.9093, -0.4161, 0.0200, 0.9998],
        [0.1411, -0.9900, 0.0300, 0.9996],
    ]
)


@pytest.mark.example("sinusoidal_encoding")
def test_sinusoidal_encoding(student: Student) -> None:
    """Four positions in four columns: alternating sines and cosines, at two frequencies."""
    expect_values(
        "the encoding",
        student.sinusoidal_encoding(4, 4),
        ENCODING,
        shape="(T, d_model)",
        idea="row pos is sin(pos), cos(pos), sin(pos / 100), cos(pos / 100), because 10000^(2/4) is 100",
    )


@pytest.mark.example("sinusoidal_encoding")
def test_sinusoidal_encoding_of_a_single_position(student: Student) -> None:
    """A single position is position 0: alternating zeros and ones."""
    expect_values(
        "the encoding",
        student.sinusoidal_encoding(1, 6),
        torch.tensor([[0.0, 1.0, 0.0, 1.0, 0.0, 1.0]]),
        shape="(T, d_model)",
        idea="at position 0 all angles are 0, and sin 0 = 0, cos 0 = 1",
    )


def expect_table(yours: Any, num_positions: int, d_model: int) -> torch.Tensor:
    """Expect a tensor of this shape, whatever its numbers are."""
    shape = (num_positions, d_model)
    sentence = f"the encoding should be a tensor of shape (T, d_model) = {shape}, yours is {described(yours)}."
    expect_true(isinstance(yours, torch.Tensor) and yours.shape == shape, sentence)
    return yours


@pytest.mark.example("sinusoidal_encoding", rule="entry [pos, 2i] is sin(pos / 10000^(2i / d_model))")
@pytest.mark.parametrize(
    ("num_positions", "d_model"), [pytest.param(5, 6, id="6_columns"), pytest.param(7, 12, id="12_columns")]
)
def test_sines_in(student: Student, num_positions: int, d_model: int) -> None:
    """The columns 0, 2, 4, … are sines, and each hand is slower than the one before."""
    sines = expect_table(student.sinusoidal_encoding(num_positions, d_model), num_positions, d_model)[:, 0::2]
    idea = f"in column 2i they have the angle pos / 10000^(2i / {d_model})"
    expect_solution("the sines", sines, shape="(T, d_model / 2)", idea=idea)


@pytest.mark.example("sinusoidal_encoding", rule="entry [pos, 2i + 1] is the cosine of the same angle")
@pytest.mark.parametrize(
    ("num_positions", "d_model"), [pytest.param(5, 6, id="6_columns"), pytest.param(9, 2, id="2_columns")]
)
def test_cosines_in(student: Student, num_positions: int, d_model: int) -> None:
    """The columns 1, 3, 5, … are cosines, each of the same angle as the sine to its left."""
    cosines = expect_table(student.sinusoidal_encoding(num_positions, d_model), num_positions, d_model)[:, 1::2]
    idea = "each cosine has the angle of the sine to its left"
    expect_solution("the cosines", cosines, shape="(T, d_model / 2)", idea=idea)


@pytest.mark.example("sinusoidal_encoding", rule="positions are counted from 0")
def test_the_first_row_is_position_zero(student: Student) -> None:
    """In the first row all angles are 0, and in the second row the first angle is 1."""
    encoding = expect_table(student.sinusoidal_encoding(3, 8), 3, 8)
    idea = "the first row is position 0, where sin 0 = 0 and cos 0 = 1"
    expect_values("the first row", encoding[0], torch.tensor([0.0, 1.0] * 4), shape="(d_model,)", idea=idea)
    idea = "the second row is position 1, and its first angle is 1"
    expect_values("the start of row 1", encoding[1, :2], torch.tensor([0.8415, 0.5403]), shape="(2,)", idea=idea)


@pytest.mark.example("sinusoidal_encoding", rule="any number of positions, including one")
@pytest.mark.parametrize(
    "num_positions", [pytest.param(1, id="one"), pytest.param(2, id="two"), pytest.param(200, id="two_hundred")]
)
def test_sinusoidal_encoding_of_positions(student: Student, num_positions: int) -> None:
    """There is a row for each position, and the last one continues the others."""
    encoding = expect_table(student.sinusoidal_encoding(num_positions, 8), num_positions, 8)
    idea = f"the last row is position {num_positions - 1}"
    expect_solution("the last row", encoding[-1], shape="(d_model,)", idea=idea)


# -- add_positions ---------------------------------------------------------------------------------------------------

ADDED = "row t of the encoding is added to token t of each sequence"
# Two sequences of three tokens. The first is all zeros, so its result is the encoding.
X = torch.stack([torch.zeros(3, 4), torch.arange(12.0).reshape(3, 4)])  # (B, T, d)


@pytest.mark.example("add_positions")
def test_add_positions(student: Student) -> None:
    """Row t of the encoding is added to token t."""
    expect_values("the result", student.add_positions(X), X + ENCODING[:3], shape="(B, T, d)", idea=ADDED)


@pytest.mark.example(
    "add_positions",
    rule="token t of every sequence is token t of x, not scaled, plus row t of the encoding from the last exercise",
)
def test_add_positions_to_several_sequences(student: Student) -> None:
    """Each of four sequences gets the same five rows, and the tokens are not scaled."""
    expect_solution("the result", student.add_positions(numbers(4, 5, 6)), shape="(B, T, d)", idea=ADDED)


@pytest.mark.example("add_positions", rule="any number of sequences and of tokens, including one")
@pytest.mark.parametrize(
    ("sequences", "tokens"),
    [pytest.param(1, 1, id="1_and_1"), pytest.param(1, 7, id="1_and_7"), pytest.param(3, 1, id="3_and_1")],
)
def test_add_positions_to_sequences_and_tokens(student: Student, sequences: int, tokens: int) -> None:
    """The result has the shape of x, also for a single sequence or a single token."""
    result = student.add_positions(numbers(sequences, tokens, 8))
    expect_solution("the result", result, shape="(B, T, d)", idea=ADDED)


@pytest.mark.example("add_positions", rule="an odd d raises ValueError or AssertionError")
@pytest.mark.parametrize("d", [pytest.param(3, id="3"), pytest.param(7, id="7")])
def test_add_positions_refuses_an_odd_width_of(student: Student, d: int) -> None:
    """An odd number of features cannot form pairs, so it raises an error. PyTorch may raise it too."""
    try:
        student.add_positions(numbers(2, 5, d))
    except Raised as error:
        if "NotImplementedError" in error.types or "Exception" not in error.types:
            raise
        expect_true(True, "any error is accepted")
        return
    refused = f"`d = {d}` should be refused with a ValueError or an AssertionError"
    fail(f"{refused}, because {d} features do not make pairs. Yours raises no error.")


# -- properties of several exercises, from contracts.json ------------------------------------------------------------

test_contract = contract_tests(__file__)
