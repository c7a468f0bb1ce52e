"""A comparison shows the row or column that is wrong, as a student reads it."""

from __future__ import annotations

import pytest
import torch

from grader.testing.running_test import difference

RIGHT = torch.arange(12.0).reshape(3, 4)


def changed(*places: tuple[int, ...], to: float = 9.5) -> torch.Tensor:
    result = RIGHT.clone()
    for place in places:
        result[place] = to
    return result


@pytest.mark.parametrize(
    ("yours", "expected", "shown"),
    [
        (changed((1, 2)), RIGHT, ("[1]", "[4.0000, 5.0000, 6.0000, 7.0000]", "[4.0000, 5.0000, 9.5000, 7.0000]")),
        (changed((0, 3), (2, 3)), RIGHT, ("[:, 3]", "[3.0000, 7.0000, 11.0000]", "[9.5000, 7.0000, 9.5000]")),
        (torch.tensor([[True, True]]), torch.tensor([[True, False]]), ("[0]", "[True, False]", "[True, True]")),
        (torch.tensor([1, 2]), torch.tensor([1, 3]), ("", "[1, 3]", "[1, 2]")),
        (torch.tensor(0.5), torch.tensor(0.25), ("", "0.2500", "0.5000")),
        (torch.tensor([torch.nan]), torch.tensor([1.0]), ("", "[1.0000]", "[nan]")),
        # A long row would be hard to read, so only its first wrong number is shown.
        (torch.zeros(2, 20), torch.ones(2, 20), ("[0, 0]", "1.0000", "0.0000")),
    ],
)
def test_the_wrong_part_is_shown(yours: torch.Tensor, expected: torch.Tensor, shown: tuple[str, str, str]) -> None:
    assert difference(yours, expected) == shown


def test_rounding_is_no_difference() -> None:
    assert difference(RIGHT.double() + 1e-6, RIGHT) is None
