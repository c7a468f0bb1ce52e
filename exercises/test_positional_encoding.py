"""The worked example of unit 5: numbers that you can check by hand. Run `pytest` in this folder.

`student` is your file: `student.add_positions(x)` calls your add_positions. The grader uses the
rules in the docstrings, with other sizes and other numbers than these.
"""

from __future__ import annotations

import pytest
import torch
from checking import expect_error, expect_unchanged, expect_values, fail
from torch import nn

from grader.testing.student import Raised, Student

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


@pytest.mark.example("sinusoidal_encoding")
@pytest.mark.parametrize("d_model", [pytest.param(1, id="1"), pytest.param(5, id="5")])
def test_sinusoidal_encoding_refuses_an_odd_width_of(student: Student, d_model: int) -> None:
    """An odd number of columns cannot form pairs: a ValueError."""
    expect_error(
        f"d_model = {d_model}", student.sinusoidal_encoding, 4, d_model, idea=f"{d_model} columns do not make pairs"
    )


# Two sequences of three tokens. The first is all zeros, so its result is the encoding.
X = torch.stack([torch.zeros(3, 4), torch.arange(12.0).reshape(3, 4)])  # (B, T, d)


@pytest.mark.example("add_positions")
@pytest.mark.parametrize(
    "dtype", [pytest.param(torch.float32, id="float32"), pytest.param(torch.float64, id="float64")]
)
def test_add_positions_in(student: Student, dtype: torch.dtype) -> None:
    """Row t of the encoding is added to token t, in the dtype of x, and x is not changed."""
    x = X.to(dtype)
    result, [x_after] = student.add_positions.with_arguments(x)
    expect_values(
        "the result",
        result,
        X + ENCODING[:3],
        shape="(B, T, d)",
        idea="row t of the encoding is added to token t of each sequence",
    )
    if result.dtype != dtype:
        fail(f"the result should be {dtype} as x is, yours is {result.dtype}: bring the encoding to the dtype of x.")
    if not torch.equal(x_after, x):
        fail("x should not change, yours is changed: `x + …` makes a new tensor.")


@pytest.mark.example("add_positions")
def test_add_positions_refuses_an_odd_width(student: Student) -> None:
    """Three features cannot form pairs: an error of any type."""
    try:
        student.add_positions(X[:, :, :3])
    except Raised as error:
        if "NotImplementedError" in error.types or "Exception" not in error.types:
            raise
        return  # any error is accepted, also one from PyTorch
    fail("add_positions should raise an error here, yours raises nothing: 3 features cannot form pairs.")
