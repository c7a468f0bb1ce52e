"""Values of the solution: written while the visible tests run on it, and read afterwards."""

from __future__ import annotations

import pytest
import torch

from grader.errors import InternalError
from grader.testing.running_test import Recorder, solution_value, unchanged, written_values

KNOWN = {"sums": {"adding": {"the sum": [1.5, 2.0]}}}


def test_a_value_is_found_by_the_running_test_and_its_name() -> None:
    with Recorder("sums/adding").recording():
        assert torch.equal(solution_value(KNOWN, "the sum", None), torch.tensor([1.5, 2.0]))
        with pytest.raises(InternalError, match="sums/adding has no value for 'the mean': run `grader build`"):
            solution_value(KNOWN, "the mean", None)


def test_values_are_written_with_six_digits_and_their_kind() -> None:
    with Recorder("sums/adding").recording(), written_values() as values:
        solution_value({}, "a number", 1 / 3)
        solution_value({}, "a mask", torch.tensor([[True, False]]))
        solution_value({}, "ids", torch.tensor([3, 4]))
        assert solution_value({}, "scores", torch.tensor([-torch.inf, 2 / 3])).tolist()[0] == -torch.inf
    assert values == {
        "a number": 0.333333,
        "a mask": [[True, False]],
        "ids": [3, 4],
        "scores": [-torch.inf, 0.666667],
    }


def test_one_name_for_two_values_of_a_test_is_refused() -> None:
    with Recorder("sums/adding").recording(), written_values():
        solution_value({}, "the sum", 1.0)
        with pytest.raises(InternalError, match="sums/adding compares two values as 'the sum'"):
            solution_value({}, "the sum", 1.0)


@pytest.mark.parametrize(
    ("old", "new", "is_same"),
    [
        ([1.0, 2.0], [1.0, 2.00001], True),
        ([1.0, 2.0], [1.0, 2.01], False),
        ([1.0, 2.0], [[1.0, 2.0]], False),
        ([True], [1.0], False),
        ("text", [1.0], False),
    ],
)
def test_a_value_stays_as_it_is_if_it_differs_only_by_rounding(old: object, new: object, is_same: bool) -> None:
    assert unchanged(old, new) is is_same
