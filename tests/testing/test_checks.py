"""The checks of the suites: the right value passes, and a wrong one fails with a reason that does not give it away."""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from typing import Any

import pytest
import torch

from grader.sandbox.failures import Raised
from grader.testing.checks import (
    CheckFailed,
    expect_any_error,
    expect_close,
    expect_dtype,
    expect_equal,
    expect_error,
    expect_gradients,
    expect_number,
    expect_same,
    expect_tensor,
    expect_values,
    oracle_gradients,
    shown,
)
from grader.testing.running_test import Observation, Recorder

# Its value and its sizes occur nowhere else.
SECRET = torch.full((11, 13), 8.6421)


def reason(check: Callable[..., Any], *arguments: Any) -> str:
    """What a student reads if the check fails."""
    with pytest.raises(CheckFailed) as caught:
        check(*arguments)
    return caught.value.reason


def raising(*types: str) -> Callable[[], None]:
    """A call of a student process that raises an error of these types, the most specific first."""

    def call() -> None:
        raise Raised(types, "the student's own text", None, None)

    return call


def test_values_may_differ_by_a_given_tolerance() -> None:
    zero = torch.zeros(3)
    expect_close(zero + 9e-5, zero, "The sines", 1e-4)
    message = "The sines are not the expected ones, although the shape is correct."
    assert reason(expect_close, zero + 2e-4, zero, "The sines", 1e-4) == message
    assert reason(expect_close, zero + 9e-5, zero, "The sines") == message


def test_values_may_have_another_dtype_be_infinite_and_differ_by_rounding_in_float32() -> None:
    expect_close(SECRET.float() * (1 + 1e-6), SECRET.double())
    expect_close(SECRET.double(), SECRET.float())
    expect_close(torch.tensor([1.0, -torch.inf]), torch.tensor([1.0, -torch.inf]))


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (SECRET + 0.01, "The scores are not the expected ones, although the shape is correct."),
        (SECRET.log() * torch.inf, "The scores are not all finite numbers."),
        (torch.zeros(2, 3), "The result has the wrong shape: (2, 3)."),
        (None, "A tensor was expected; yours gave None."),
        ([], "A tensor was expected; yours gave an empty list."),
        ((SECRET, SECRET), "A tensor was expected; yours gave a tuple of two values."),
        ([1] * 9, "A tensor was expected; yours gave a list of 9 values."),
        (3.5, "A tensor was expected; yours gave a float."),
        (3, "A tensor was expected; yours gave an int."),
        (True, "A tensor was expected; yours gave a bool."),
        (object(), "A tensor was expected; yours gave an object."),
    ],
)
def test_wrong_values_are_described_in_a_sentence(value: Any, expected: str) -> None:
    assert reason(expect_close, value, SECRET, "The scores") == expected


def test_the_dtype_must_be_that_of_the_arguments() -> None:
    expect_dtype(SECRET.double(), torch.float64)
    assert reason(expect_dtype, SECRET, torch.float64) == "The result is float32 where the arguments were float64."


def test_several_values_may_be_a_tuple_or_a_list_and_no_tensor() -> None:
    assert expect_values((1, 2), 2) == expect_values([1, 2], 2) == (1, 2)
    message = (
        "Two values were expected; yours gave a tensor of shape (2, 5). Write them after `return`, with commas between "
        "them."
    )
    assert reason(expect_values, torch.zeros(2, 5), 2) == message
    assert reason(expect_values, (1,), 2) == "Two values were expected; yours gave a tuple of one value."


@pytest.mark.parametrize("value", [8.9, torch.tensor(8.9), torch.tensor([8.9]), 9])
def test_a_number_may_be_plain_or_a_tensor_of_one(value: Any) -> None:
    expect_number(value, 8.6421, within=0.5)


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (9.2, "The number is not near the expected one."),
        (float("nan"), "The number is not near the expected one."),
        (float("inf"), "The number is not near the expected one."),
        (torch.zeros(2), "A number was expected; yours gave a tensor of shape (2,)."),
        (True, "A number was expected; yours gave a bool."),
        ("9", "A number was expected; yours gave a str."),
    ],
)
def test_a_wrong_number_is_described_in_a_sentence(value: Any, expected: str) -> None:
    assert reason(expect_number, value, 8.6421, 0.5) == expected


def test_same_tensors_are_equal_in_every_bit() -> None:
    expect_same(SECRET.clone(), SECRET, "It was changed.")
    assert reason(expect_same, SECRET * (1 + 1e-6), SECRET, "It was changed.") == "It was changed."
    assert reason(expect_same, 1.0, 1, "It was changed.") == "It was changed."


@pytest.mark.parametrize(("value", "expected"), [("ab", "ba"), ("ab", ["a", "b"]), ((1, 2), [1, 2]), ([1], [1, 2])])
def test_plain_data_is_equal_in_type_and_in_value(value: Any, expected: Any) -> None:
    expect_equal(expected, expected, "They differ.")
    assert reason(expect_equal, value, expected, "They differ.") == "They differ."


@pytest.mark.parametrize(
    "types", [("ValueError", "Exception"), ("AssertionError",), ("UnicodeError", "ValueError", "Exception")]
)
def test_an_allowed_error_passes(types: tuple[str, ...]) -> None:
    expect_error(raising(*types))


def test_an_error_of_another_type_is_named_and_a_missing_one_fails() -> None:
    message = "It raised KeyError; ValueError or AssertionError was expected."
    assert reason(expect_error, raising("KeyError", "LookupError", "Exception")) == message
    assert reason(expect_error, lambda: None) == "It raised no error where one was expected."


@pytest.mark.parametrize("check", [expect_error, expect_any_error])
def test_an_exercise_that_is_not_written_does_not_count_as_refusing(check: Callable[..., None]) -> None:
    with pytest.raises(Raised):
        check(raising("NotImplementedError", "RuntimeError", "Exception"))


def test_any_error_passes_if_torch_may_raise_it() -> None:
    expect_any_error(raising("RuntimeError", "Exception"))
    for call in (lambda: None, raising("SystemExit", "BaseException")):
        assert reason(expect_any_error, call) == "It raised no error where one was expected."


def test_the_oracle_finds_the_gradients_of_all_outputs_together() -> None:
    def both(x: torch.Tensor, W_weight: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        return x * W_weight, x + W_weight

    # The outputs' first entries have the same weight, so d(x·w + x + w)/dx is proportional to w + 1, and d/dw to x + 1.
    found = oracle_gradients(both, [torch.tensor([3.0])], {"W.weight": torch.tensor([5.0])})
    assert found["0"].item() / found["W.weight"].item() == pytest.approx((5 + 1) / (3 + 1))


@pytest.mark.parametrize(
    ("found", "expected"),
    [
        ({"0": None, "W": SECRET}, "No gradient reaches argument 1."),
        ({"0": SECRET}, "No gradient reaches W."),
        ({"0": SECRET, "W": SECRET * 2}, "The gradients are not the expected ones, although the shape is correct."),
    ],
)
def test_wrong_gradients_are_described_in_a_sentence(found: dict[str, Any], expected: str) -> None:
    expect_gradients({"0": SECRET, "W": SECRET, "extra": None}, {"0": SECRET, "W": SECRET})
    assert reason(expect_gradients, found, {"0": SECRET, "W": SECRET}) == expected


@pytest.mark.parametrize(
    ("check", "arguments"),
    [
        (expect_close, (SECRET + 1, SECRET)),
        (expect_close, (torch.zeros(2, 3), SECRET)),
        (expect_close, (SECRET * torch.nan, SECRET)),
        (expect_close, (None, SECRET)),
        (expect_tensor, (torch.zeros(2, 3), (11, 13))),
        (expect_number, (9.2, 8.6421, 0.11)),
        (expect_number, (torch.zeros(2), 8.6421, 0.13)),
        (expect_gradients, ({"0": SECRET + 1}, {"0": SECRET})),
        (expect_gradients, ({"0": torch.zeros(2, 3)}, {"0": SECRET})),
        (expect_gradients, ({}, {"W": SECRET})),
    ],
)
def test_a_reason_contains_no_expected_number(check: Callable[..., Any], arguments: tuple[Any, ...]) -> None:
    assert re.findall(r"8\.6|8\.7|11|13", reason(check, *arguments)) == []


def test_tensors_resemble_each_other_up_to_rounding() -> None:
    assert Observation(SECRET).resembles(Observation(SECRET.double() + 1e-5))
    assert not Observation(SECRET).resembles(Observation(SECRET + 1))
    assert not Observation(SECRET).resembles(Observation(SECRET[:1]))


def test_estimates_resemble_each_other_up_to_the_errors_of_both() -> None:
    assert Observation(10.0, within=1.0).resembles(Observation(11.9, within=1.0))
    assert not Observation(10.0, within=1.0).resembles(Observation(12.1, within=1.0))


@pytest.mark.parametrize("value", [math.inf, -math.inf, math.nan])
def test_a_number_that_is_not_finite_resembles_only_itself(value: float) -> None:
    recorder = Recorder()
    with recorder.recording():
        reason(expect_number, value, 3.0, 0.1)
    [mine] = recorder.observations
    assert mine.resembles(Observation(value))
    assert not any(mine.resembles(Observation(other)) for other in {math.inf, -math.inf, 3.0} - {value})


def test_words_resemble_only_themselves() -> None:
    assert Observation("raised nothing").resembles(Observation("raised nothing"))
    assert not Observation("raised nothing").resembles(Observation("raised ValueError"))
    assert not Observation("1.0").resembles(Observation(1.0))


@pytest.mark.parametrize(
    ("value", "words"),
    [
        (12, "12"),
        ("W_query.weight", "W_query.weight"),
        ("::set-output name=x::1\n", "a str"),
        ("\x1b[31m", "a str"),
        (10**400, "an int"),
        (True, "a bool"),
        (["::error::"], "a list of one value"),
        (torch.ones(2), "a tensor of shape (2,)"),
    ],
)
def test_a_sentence_shows_only_numbers_and_names_of_a_student(value: object, words: str) -> None:
    assert shown(value) == words


def test_a_result_that_another_one_should_be_is_named_by_its_place() -> None:
    with Recorder().recording():
        one, other = torch.ones(2, 3), torch.arange(4.0)
        first, second = expect_values((other, one), 2)
        text = "The order of the results is wrong; your {} result is what the {} should be."
        assert reason(expect_close, first, one) == text.format("second", "first")
        assert reason(expect_close, second, other) == text.format("first", "second")
        # Neither is, or it is no result of that call, or none of the two is right.
        assert "order" not in reason(expect_close, first, one + 1)
        assert "order" not in reason(expect_close, other.clone(), one)
        expect_close(first, other)


def test_a_number_that_another_result_should_be_is_named_and_equal_ones_pass() -> None:
    with Recorder().recording():
        first, second = expect_values([2.0, 2.01], 2)
        expect_number(first, 2.01, 0.1)
        assert reason(expect_number, first, 2.01, 1e-3).endswith("your second result is what the first should be.")
        assert reason(expect_number, second, 3.0, 1e-3) == "The number is not near the expected one."
