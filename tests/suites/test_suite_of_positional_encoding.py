"""The suite of unit 5: junk earns nothing, and each mistake costs only the points that are about it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch
from courses import REPOSITORY
from torch import Tensor
from units import SUITES, defined_in

SUITE = SUITES["positional_encoding"]
right_encoding = defined_in(REPOSITORY / "solutions" / "positional_encoding.py", SUITE.unit)["sinusoidal_encoding"]


def zeros(x: Tensor, *shape: int) -> Tensor:
    return torch.zeros(*shape, dtype=x.dtype) + 0 * x.sum()  # gradients flow, and are zero


def place(num_positions: int) -> Tensor:
    return torch.arange(float(num_positions))[:, None]  # (T, 1)


JUNK: list[tuple[str, Callable[..., Any]]] = [
    ("linear_as_matmul", lambda x, weight, _: zeros(x, len(x), weight.shape[1])),
    ("linear_as_matmul", lambda x, weight, bias: zeros(x, len(x), weight.shape[1]) + bias),
    ("linear_as_matmul", lambda x, weight, _: x.mean(1, keepdim=True) + zeros(x, len(x), weight.shape[1])),
    ("linear_as_matmul", lambda x, *_: x),
    ("sinusoidal_encoding", lambda *sizes: torch.zeros(sizes)),
    ("sinusoidal_encoding", lambda *sizes: torch.ones(sizes)),
    ("sinusoidal_encoding", lambda *sizes: torch.rand(sizes)),
    ("sinusoidal_encoding", lambda *sizes: torch.eye(*sizes)),
    ("sinusoidal_encoding", lambda *sizes: torch.tensor([0.0, 1.0]).repeat(sizes[0], sizes[1] // 2)),
    ("sinusoidal_encoding", lambda *sizes: place(sizes[0]).expand(sizes)),
    ("sinusoidal_encoding", lambda *sizes: place(sizes[0]).expand(sizes) / sizes[0]),
    ("add_positions", lambda x: x),
    ("add_positions", lambda x: x.clone()),
    ("add_positions", lambda x: zeros(x, *x.shape)),
    ("add_positions", lambda x: x + 1),
    ("add_positions", lambda x: x + place(x.shape[1])),
    ("add_positions", lambda x: x + torch.randn(x.shape, dtype=x.dtype)),
]


@pytest.mark.parametrize(("exercise", "junk"), JUNK)
def test_junk_of_the_right_shape_earns_nothing(exercise: str, junk: Callable[..., Any]) -> None:
    assert SUITE.passed({exercise: junk}, exercise) == set()


@pytest.mark.parametrize(
    "name", ["bias_added_to_the_weight", "bias_forgotten", "bias_inside_the_sum", "bias_subtracted"]
)
def test_a_wrong_bias_costs_only_the_values_and_the_gradients(name: str) -> None:
    assert SUITE.missed_by(SUITE.mistake(name)) == {
        "every_row_times_the_weight_plus_the_bias",
        "gradients_of_the_linear_layer",
    }


@pytest.mark.parametrize(
    "name",
    [
        "exponent_doubled",
        "exponent_halved",
        "divided_by_one_less",
        "exponents_up_to_one",
        "exponents_floored",
        "base_of_one_thousand",
        "angles_in_degrees",
    ],
)
def test_a_wrong_frequency_costs_one_point(name: str) -> None:
    assert SUITE.missed_by(SUITE.mistake(name)) == {"sines_of_the_right_frequencies"}


def test_cosines_of_another_angle_cost_one_point() -> None:
    assert SUITE.missed_by(SUITE.mistake("different_frequencies")) == {"a_cosine_beside_each_sine"}


def test_cosines_of_the_wrong_sign_cost_the_points_about_cosines() -> None:
    def sinusoidal_encoding(num_positions: int, d_model: int) -> Tensor:
        encoding = right_encoding(num_positions, d_model)
        encoding[:, 1::2] *= -1
        return encoding

    assert SUITE.passed({"sinusoidal_encoding": sinusoidal_encoding}, "sinusoidal_encoding") == {
        "sines_of_the_right_frequencies",
        "any_number_of_positions",
        "an_odd_width_is_refused",
    }


def test_numbers_within_the_tolerance_of_the_stub_cost_no_point() -> None:
    def sinusoidal_encoding(num_positions: int, d_model: int) -> Tensor:
        off = torch.full((num_positions, d_model), 9e-5)
        off[1::2] *= -1
        return right_encoding(num_positions, d_model) + off

    def add_positions(x: Tensor) -> Tensor:
        return x + sinusoidal_encoding(*x.shape[1:]).to(x.dtype)

    names = {"sinusoidal_encoding": sinusoidal_encoding, "add_positions": add_positions}
    for exercise in names:
        assert SUITE.passed(names, exercise) == {criterion.name for criterion in SUITE.of(exercise)}


@pytest.mark.parametrize(
    "name",
    [
        "exponent_doubled_in_what_is_added",
        "different_frequencies_in_what_is_added",
        "halves_side_by_side_in_what_is_added",
        "positions_from_one_in_what_is_added",
        "sines_and_cosines_exchanged_in_what_is_added",
        "first_position_for_all",
        "sequences_counted",
        "counted_on_through_the_batch",
    ],
)
def test_wrong_positions_cost_one_point(name: str) -> None:
    assert SUITE.missed_by(SUITE.mistake(name)) == {"every_token_gets_its_position"}


def test_positions_added_in_place_keep_the_points_about_values() -> None:
    assert SUITE.missed_by(SUITE.mistake("added_in_place")) == {
        "gradients_of_adding_positions",  # PyTorch forbids in-place changes of leaf tensors
        "adding_positions_leaves_x_alone",
    }


@pytest.mark.parametrize("wrong", ["context_vector", "sinusoidal_encoding"])
def test_answers_that_call_a_wrong_one_earn_all_points_with_its_substitute(wrong: str) -> None:
    outcomes = SUITE.on_substitutes("building_on", wrong)
    assert {name: found.reason for name, found in outcomes.items() if not found.passed} == {}
    assert {found.substitutes for found in outcomes.values()} == {(), (wrong,)}


# -- NumPy arrays ------------------------------------------------------------------------------------------------


def test_a_numpy_array_is_accepted_as_a_tensor_without_gradients() -> None:
    names = {
        "sinusoidal_encoding": lambda *sizes: right_encoding(*sizes).numpy(),
        "linear_as_matmul": lambda x, weight, bias: (x @ weight + bias).detach().numpy(),
    }
    lost = {name for name, outcome in SUITE.outcomes(names).items() if not outcome.passed}
    criteria = {criterion.name for name in names for criterion in SUITE.of(name)}
    assert lost & criteria == {"gradients_of_the_linear_layer"}
