"""The worked example of unit 5: numbers that you can check by hand. Run `pytest` in this folder.

The grader goes by the rules in the docstrings, with other sizes and other numbers than these.
"""

from __future__ import annotations

import positional_encoding
import pytest
import torch
from checking import call, expect_error, expect_values, fail
from torch import nn

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


def test_linear_as_matmul() -> None:
    x = torch.tensor([[1.0, 2.0], [3.0, 4.0], [0.0, -1.0]])
    weight = torch.tensor([[1.0, 0.0, 2.0, -1.0], [0.0, 1.0, 1.0, 3.0]])
    bias = torch.tensor([10.0, 20.0, 30.0, 40.0])
    expect_values(
        "the result",
        call(positional_encoding.linear_as_matmul, x, weight, bias),
        # The first row: 1·(1, 0, 2, -1) + 2·(0, 1, 1, 3) = (1, 2, 4, 5), and then the bias.
        torch.tensor([[11.0, 22.0, 34.0, 45.0], [13.0, 24.0, 40.0, 49.0], [10.0, 19.0, 29.0, 37.0]]),
        shape="(m, k)",
        idea="multiply each row of x by the weight, then add the bias",
    )


def test_linear_as_matmul_does_what_nn_linear_does() -> None:
    layer = nn.Linear(2, 4)
    x = torch.tensor([[1.0, 2.0], [3.0, 4.0], [0.0, -1.0]])
    expect_values(
        "the result",
        call(positional_encoding.linear_as_matmul, x, layer.weight.T, layer.bias),
        layer(x).detach(),
        shape="(m, k)",
        idea="nn.Linear(2, 4) multiplies by its weight, transposed, and adds its bias",
    )


def test_sinusoidal_encoding() -> None:
    expect_values(
        "the encoding",
        call(positional_encoding.sinusoidal_encoding, 4, 4),
        ENCODING,
        shape="(T, d_model)",
        idea="row pos is sin(pos), cos(pos), sin(pos / 100), cos(pos / 100), for 10000^(2/4) is 100",
    )


def test_sinusoidal_encoding_of_a_single_position() -> None:
    expect_values(
        "the encoding",
        call(positional_encoding.sinusoidal_encoding, 1, 6),
        torch.tensor([[0.0, 1.0, 0.0, 1.0, 0.0, 1.0]]),
        shape="(T, d_model)",
        idea="at position 0 all angles are 0, and sin 0 = 0, cos 0 = 1",
    )


@pytest.mark.parametrize("d_model", [1, 5])
def test_sinusoidal_encoding_refuses_an_odd_width(d_model: int) -> None:
    expect_error(positional_encoding.sinusoidal_encoding, 4, d_model, idea=f"{d_model} columns do not make pairs")


# Two sequences of three tokens. The first is all zeros, so the encoding alone is left of it.
X = torch.stack([torch.zeros(3, 4), torch.arange(12.0).reshape(3, 4)])  # (B, T, d)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64], ids=str)
def test_add_positions(dtype: torch.dtype) -> None:
    x = X.to(dtype, copy=True)
    result = call(positional_encoding.add_positions, x)
    expect_values(
        "the result",
        result,
        X + ENCODING[:3],
        shape="(B, T, d)",
        idea="token t of each sequence gets row t of the encoding added",
    )
    if result.dtype != dtype:
        fail(f"the result should be {dtype} as x is, yours is {result.dtype}: bring the encoding to the dtype of x.")
    if not torch.equal(x, X.to(dtype)):
        fail("x should be the same after the call as before, yours is changed: `x + …` makes a new tensor.")


def test_add_positions_refuses_an_odd_width() -> None:
    x = X[:, :, :3]
    try:
        positional_encoding.add_positions(x)
    except NotImplementedError:
        call(positional_encoding.add_positions, x)  # fails, and says that it is not written yet
    except Exception:
        return  # of whatever kind: yours, or one of torch's
    fail("add_positions should raise an error here, yours raises nothing: 3 features do not make pairs.")
