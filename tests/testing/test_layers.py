"""Checking and setting linear layers by their names."""

from __future__ import annotations

import pytest
import torch
from torch import nn

from grader.testing.checks import CheckFailed, as_layers, expect_layer, expect_no_bias, set_layers
from grader.testing.student import InProcessBackend, RemoteObject, Student

MATRIX = torch.arange(6.0).view(2, 3)


class Module(nn.Module):
    def __init__(self, bias: bool) -> None:
        super().__init__()
        self.layer = nn.Linear(2, 3, bias=bias)


def module(bias: bool) -> RemoteObject:
    made = Student(InProcessBackend("answers", {"Module": Module}), "answers").Module(bias)
    assert isinstance(made, RemoteObject)
    return made


@pytest.mark.parametrize(
    ("name", "d_in", "d_out", "reason"),
    [
        ("other", 2, 3, "There is no parameter other.weight of its own, which nn.Linear would have under this name."),
        ("layer", 3, 2, "A layer's parameter has the wrong shape: (3, 2)."),
    ],
)
def test_a_wrong_layer_is_described(name: str, d_in: int, d_out: int, reason: str) -> None:
    expect_layer(module(True).parameters(), "layer", 2, 3)
    with pytest.raises(CheckFailed) as caught:
        expect_layer(module(True).parameters(), name, d_in, d_out)
    assert caught.value.reason == reason


def test_a_layer_without_a_bias_is_distinguished_from_one_with_it_and_from_none() -> None:
    expect_no_bias(module(False).parameters(), ["layer"])
    with pytest.raises(CheckFailed, match="layer has a bias"):
        expect_no_bias(module(True).parameters(), ["layer"])
    with pytest.raises(CheckFailed, match="There is no parameter other"):
        expect_no_bias(module(False).parameters(), ["other"])


def test_a_layer_has_the_matrix_that_was_set_and_a_bias_of_zero_or_the_given_one() -> None:
    plain, made, bias = module(False), module(True), torch.tensor([1.0, 2.0, 3.0])
    for one in (plain, made):
        set_layers(one, as_layers({"layer": MATRIX}))
        assert torch.equal(one.parameters()["layer.weight"], MATRIX.mT)
    assert torch.equal(made.parameters()["layer.bias"], torch.zeros(3))
    set_layers(made, {**as_layers({"layer": MATRIX}), "layer.bias": bias})
    assert torch.equal(made.parameters()["layer.bias"], bias)
