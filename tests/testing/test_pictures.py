"""What authors of pictures use: panels of tensors and shapes, and hooks on named layers."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch

from grader.sandbox.failures import Raised
from grader.sandbox.sandbox_client import SandboxClient
from grader.testing.checks import CheckFailed
from grader.testing.drawings import Panel
from grader.testing.pictures import UPLOADED, Collected, collecting, draw, draw_shapes, watch
from grader.testing.student import Student

SOURCE = """\
import torch
from torch import nn

def fail():
    raise ValueError("no")

class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.twice, self.unused = nn.Linear(1, 1, bias=False), nn.Linear(1, 1)
        nn.init.constant_(self.twice.weight, 2.0)

    def forward(self, x):
        y = self.twice(x + 1)
        if x.sum() < 0:
            raise ValueError("negative")
        return y
"""


@pytest.fixture
def student(open_client: Callable[..., SandboxClient]) -> Student:
    client = open_client(SOURCE)
    client.load("answers")
    return Student(client, "answers", UPLOADED)


def drawn(*arguments: Any, **options: Any) -> Panel:
    with collecting() as collected:
        draw("x", *arguments, **options)
    return collected.panels["x"]


def test_leading_dimensions_of_size_one_are_left_out() -> None:
    panel = drawn(lambda: torch.ones(1, 1, 2, 3, 4))
    assert (panel.shape, len(panel.grids)) == ([2, 3, 4], 2)
    assert drawn(lambda: [1, 2, 3]).grids == [[[1, 2, 3]]]


def test_a_tensor_that_is_too_large_or_deep_is_described_by_its_shape() -> None:
    for shape in ((40, 40), (2, 2, 2, 2)):
        panel = drawn(lambda shape=shape: torch.zeros(shape))
        assert (panel.values, panel.shape) == (None, list(shape))


def test_numbers_that_differ_by_rounding_and_nan_beside_nan_are_not_wrong() -> None:
    yours = torch.tensor([[1.00001, torch.nan], [-torch.inf, 2.0]])
    expected = torch.tensor([[1.0, torch.nan], [-torch.inf, 3.0]])
    assert drawn(lambda: yours, expected=expected).wrong == {(0, 1, 1)}


def test_no_cell_is_wrong_where_the_shape_is() -> None:
    panel = drawn(lambda: torch.zeros(3, 2), expected=torch.ones(2, 3))
    assert panel.has_other_shape
    assert panel.wrong == set()


def test_a_panel_whose_code_fails_has_its_expected_numbers(student: Student) -> None:
    with collecting() as collected, pytest.raises(Raised):
        draw("x", lambda: student.fail(), expected=torch.ones(2))
    assert (collected.panels["x"].values, collected.panels["x"].expected) == (None, [1.0, 1.0])


def test_a_result_that_is_no_tensor_is_refused_in_a_sentence() -> None:
    with collecting(), pytest.raises(CheckFailed, match="x should be a tensor; yours is None"):
        draw("x", lambda: None)


def test_shapes_are_drawn_up_to_the_step_that_fails(student: Student) -> None:
    steps = {"first": lambda: torch.ones(2, 3), "second": lambda: student.fail(), "third": lambda: torch.ones(1)}
    with collecting() as collected, pytest.raises(Raised):
        draw_shapes("steps", steps)
    assert collected.panels["steps"].values == [[2, 3]]


def test_hooks_see_what_named_layers_receive_and_return(student: Student) -> None:
    model = student.Model()
    seen = watch(student, model, "twice", "unused")
    output = seen.call(torch.tensor([[3.0]]))
    assert seen.received("twice").item() == 4
    assert seen.returned("twice").item() == output().item() == 8
    with pytest.raises(CheckFailed, match="unused should be called in forward; yours is not"):
        seen.returned("unused")


def test_hooks_see_what_came_before_an_error(student: Student) -> None:
    seen = watch(student, student.Model(), "twice", "unused")
    output = seen.call(torch.tensor([[-3.0]]))
    assert seen.returned("twice").item() == -4
    for late in (output, lambda: seen.returned("unused")):
        with pytest.raises(Raised, match="ValueError"):
            late()


def test_a_picture_that_runs_again_keeps_what_it_has_drawn() -> None:
    collected = Collected()
    collected.add(Panel("x", "grid", [1.0], [1]))
    collected.add(Panel("x", "grid", None, None))
    assert collected.panels["x"].values == [1.0]
