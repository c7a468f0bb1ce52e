"""The properties of a wrong result: each is found where it holds, and nowhere else."""

from __future__ import annotations

import math

import pytest
import torch
from torch import Tensor

from grader.testing.properties import Comparison


def numbers(*shape: int) -> Tensor:
    return torch.randn(*shape, generator=torch.Generator().manual_seed(7))


def properties(value: Tensor, expected: Tensor) -> dict[str, str]:
    """The sentences by the properties' names. The specific ones come first."""
    return {one.name: one.sentence for one in Comparison("The values", value, expected).properties()}


SCORES = numbers(5, 5)
WEIGHTS = SCORES.softmax(-1)
FUTURE = torch.ones(5, 5).triu(1).bool()
LEFT = WEIGHTS.tril().sum(-1, keepdim=True)
CAUSAL = SCORES.masked_fill(FUTURE, -torch.inf).softmax(-1)
HEADS = numbers(2, 3, 5, 4)  # (B, H, T, head_dim)
TABLE = numbers(6, 8)
FIRST_ROW, ODD_COLUMNS = torch.zeros(6, 8), torch.zeros(6, 8)
FIRST_ROW[0], ODD_COLUMNS[:, 1::2] = 1, 1


@pytest.mark.parametrize(
    ("name", "value", "expected"),
    [
        ("all_zero", TABLE * 0, TABLE),
        ("the_same_everywhere", TABLE.mean(0).expand(6, 8), TABLE),
        ("transposed", SCORES.T, SCORES),
        ("transposed", TABLE.T, TABLE),
        ("transposed", HEADS.transpose(1, 2), HEADS),
        ("reversed", TABLE.flip(0), TABLE),
        ("one_place_early", TABLE.roll(-1, 0), TABLE),
        ("one_place_late", TABLE.roll(1, 0), TABLE),
        ("in_other_places", HEADS.flatten(1, 2), HEADS.transpose(1, 2).reshape(2, 15, 4)),
        ("zero_below_the_diagonal", WEIGHTS.triu(), CAUSAL),
        ("not_zero_above_the_diagonal", WEIGHTS, CAUSAL),
        ("wrong_above_the_diagonal", SCORES.tril(), SCORES),
        ("wrong_below_the_diagonal", SCORES.triu(), SCORES),
        ("wrong_on_the_diagonal", torch.ones(5, 5).triu(), FUTURE),
        ("right_only_in_first", TABLE + 1 - FIRST_ROW, TABLE),
        ("wrong_only_in_first", TABLE + FIRST_ROW, TABLE),
        ("right_only_in_last", (TABLE + 1 - FIRST_ROW).flip(0), TABLE.flip(0)),
        ("right_only_in_first", torch.cat([HEADS[:1], HEADS[:1]]), HEADS),
        ("right_only_in_even", TABLE + ODD_COLUMNS * TABLE.exp(), TABLE),
        ("sums_along_another_dimension", SCORES.softmax(0), WEIGHTS),
        ("sums_not_to_one", SCORES.sigmoid(), WEIGHTS),
        ("divided_by_another_row", SCORES.exp() / SCORES.exp().sum(-1), WEIGHTS),
        ("divided_by_another_row", WEIGHTS.tril() / WEIGHTS.tril().sum(-1), WEIGHTS.tril() / LEFT),
        ("not_a_number", TABLE.log(), TABLE),
        ("constant_factor", TABLE / 2, TABLE),
        ("opposite_sign", -TABLE, TABLE),
        ("factor_in_each_row", SCORES.exp(), WEIGHTS),
        ("factor_in_each_column", SCORES.T.exp(), WEIGHTS.T),
        ("same_difference_in_each_row", TABLE + numbers(8), TABLE),
        ("factor_before_softmax", (SCORES / 3).softmax(-1), WEIGHTS),
        ("factor_before_softmax", (-SCORES).masked_fill(FUTURE, -torch.inf).softmax(-1), CAUSAL),
        ("inverted", ~FUTURE, FUTURE),
        ("extra_softmax", TABLE.softmax(-1), TABLE),
        ("missing_softmax", SCORES, WEIGHTS),
        ("extra_exponential", TABLE.exp(), TABLE),
        ("missing_exponential", WEIGHTS.log(), WEIGHTS),
        ("extra_absolute_value", TABLE.abs(), TABLE),
        ("missing_relu", TABLE, TABLE.relu()),
        ("rounded", TABLE.round(decimals=1), TABLE),
        ("only_the_shape", TABLE[None], TABLE),
        ("too_long", torch.cat([TABLE, TABLE[:1]]), TABLE),
        ("too_short", TABLE[1:], TABLE),
        ("extra_mean", TABLE.mean(0), TABLE),
        ("missing_sum", TABLE, TABLE.sum(0)),
    ],
)
def test_each_property_is_found(name: str, value: Tensor, expected: Tensor) -> None:
    assert name in properties(value, expected)


@pytest.mark.parametrize(
    ("name", "value", "expected"),
    [
        ("transposed", SCORES.T + 0.01, SCORES),
        ("reversed", TABLE.flip(0) + 0.01, TABLE),
        ("one_place_late", TABLE.roll(2, 0), TABLE),
        ("in_other_places", TABLE[None], TABLE),
        # All numbers of a mask occur in each other mask with as many ones.
        ("in_other_places", FUTURE.flip(0), FUTURE),
        ("not_zero_above_the_diagonal", CAUSAL.flip(0), CAUSAL.flip(0) + CAUSAL),
        ("wrong_above_the_diagonal", SCORES.tril() * 1.01, SCORES),
        # What is expected to be zero is right by chance.
        ("wrong_above_the_diagonal", WEIGHTS.triu(1), torch.zeros(5, 5)),
        ("right_only_in_first", TABLE * (1 - FIRST_ROW), TABLE * 2 * (1 - FIRST_ROW)),
        ("right_only_in_first", TABLE + 1, TABLE),
        ("sums_along_another_dimension", SCORES.sigmoid(), WEIGHTS),
        ("sums_not_to_one", TABLE + 1, TABLE),
        ("constant_factor", TABLE + 0.5, TABLE),
        # Three numbers could have a factor by chance.
        ("constant_factor", torch.tensor([2.0]), torch.tensor([1.0])),
        ("factor_in_each_row", SCORES, WEIGHTS),
        # A sum over the columns is another sum, and no division is none.
        ("divided_by_another_row", SCORES.softmax(0), WEIGHTS),
        ("divided_by_another_row", WEIGHTS.tril(), WEIGHTS.tril() / LEFT),
        ("not_a_number", TABLE.masked_fill(TABLE > 1, torch.inf), TABLE),
        ("not_a_number", TABLE.log(), TABLE.log()),
        # A single row differs from another by "the same numbers in every row" in any case.
        ("same_difference_in_each_row", TABLE[:1] + numbers(8), TABLE[:1]),
        ("factor_before_softmax", SCORES.softmax(0), WEIGHTS),
        ("missing_softmax", SCORES.exp(), WEIGHTS),
        ("rounded", TABLE.round() + 0.1, TABLE),
        ("too_long", torch.cat([TABLE + 1, TABLE[:1]]), TABLE),
        ("extra_mean", TABLE.mean(0) * 2, TABLE),
    ],
)
def test_a_near_miss_is_no_property(name: str, value: Tensor, expected: Tensor) -> None:
    assert name not in properties(value, expected)


def test_the_sentence_names_the_factor_and_no_other_number() -> None:
    assert properties(TABLE / 2, TABLE)["constant_factor"] == "are the expected ones, multiplied by 0.5."
    weights = properties((SCORES / math.sqrt(5)).softmax(-1), WEIGHTS)
    text = "are what a softmax gives if all that goes into it is multiplied by 0.447."
    assert weights["factor_before_softmax"] == text


def test_the_sentence_names_the_dimensions() -> None:
    text = "are right, but transposed: dimensions 1 and 2 are swapped. Check what each dimension stands for."
    assert properties(HEADS.transpose(1, 2), HEADS)["transposed"] == text
    text = "sum to one in each column, not in each row. Check the dimension of the sum, and its `keepdim`."
    assert properties(SCORES.softmax(0), WEIGHTS)["sums_along_another_dimension"] == text


@pytest.mark.parametrize(
    "value",
    [
        TABLE * torch.nan,
        TABLE.masked_fill(TABLE > 1, torch.inf),
        TABLE.to(torch.complex64),
        TABLE.bool(),
        TABLE.half(),
        TABLE * 1e300,
        TABLE.long() + 2**62,
        torch.zeros(0, 8),
        torch.tensor(3.0),
        torch.zeros(6, 8, 1, 1, 1, 1, 1),
        torch.zeros(1, 1).expand(10**6, 10**6),
        TABLE.clone().requires_grad_(),
    ],
    ids=lambda value: f"{value.dtype} {tuple(value.shape)}",
)
def test_no_value_of_a_student_raises_an_error(value: Tensor) -> None:
    for expected in (TABLE, FUTURE, torch.tensor(3.0), torch.zeros(0), value):
        properties(value, expected)
        properties(expected, value)
