"""Properties of any right answer, checked on the student's own function alone."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import nn

from grader.testing.checks import CheckFailed
from grader.testing.contracts import (
    expect_any_layout,
    expect_arguments_kept,
    expect_each_alone,
    expect_float64,
    expect_generator_used,
    expect_gradients_fit,
)
from grader.testing.draws import UNUSED_GENERATOR
from grader.testing.running_test import Recorder
from grader.testing.student import InProcessBackend, RemoteCallable, Student

X = torch.tensor([[0.5, -1.0, 2.0], [1.5, 0.25, -0.5]])
Function = Callable[..., Any]


class Scale(nn.Module):
    """A right module with one parameter."""

    def __init__(self) -> None:
        super().__init__()
        self.factors = nn.Parameter(torch.tensor([1.0, -2.0, 0.5]))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return torch.tanh(x * self.factors)


class FrozenScale(Scale):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return torch.tanh(x * self.factors.detach()) + 0 * self.factors


def softmax(x: torch.Tensor) -> torch.Tensor:
    return x.exp() / x.exp().sum(-1, keepdim=True)


def softmax_with_a_constant_sum(x: torch.Tensor) -> torch.Tensor:
    return x.exp() / x.exp().sum(-1, keepdim=True).detach()


def doubled_in_place(x: torch.Tensor) -> torch.Tensor:
    return x.mul_(2)


def refuses_float64(x: torch.Tensor) -> torch.Tensor:
    return x @ torch.ones(3)


def noise(*, generator: torch.Generator | None = None) -> torch.Tensor:
    return torch.rand(4, generator=generator)


def remote(function: Function) -> RemoteCallable:
    return getattr(student_of(function), "function")  # noqa: B009 - the names of a student are attributes


def student_of(function: Function) -> Student:
    return Student(InProcessBackend("unit", {"function": function}), "unit")


@pytest.mark.parametrize(
    ("expect", "right", "wrong", "sentence"),
    [
        (expect_arguments_kept, softmax, doubled_in_place, "`x` should be the same after the call as before"),
        (expect_each_alone, softmax, lambda x: x.softmax(0), "Do not mix the elements."),
        (expect_any_layout, softmax, lambda x: x.view(-1), "if `x` is non-contiguous."),
        (expect_float64, softmax, refuses_float64, "It raised a RuntimeError if `x` is float64."),
        (expect_float64, softmax, lambda x: x.float(), "if `x` is float64, yours is float32"),
        (expect_float64, softmax, lambda x: x.double(), "if `x` is float32, yours is float64"),
        (expect_float64, softmax, lambda x: x.softmax(-1).round(decimals=4), "The result is rounded"),
        (expect_float64, torch.sign, lambda x: x.round(decimals=2), "The result is rounded"),
        (expect_gradients_fit, softmax, softmax_with_a_constant_sum, "The gradient of `x` is incomplete"),
        (expect_gradients_fit, softmax, doubled_in_place, "It changes a tensor in place, so it has no gradients."),
        (expect_gradients_fit, softmax, lambda x: softmax(x.detach()), "No gradient flows back from the result."),
    ],
)
def test_a_right_answer_keeps_a_contract_and_a_wrong_one_reads_why_it_does_not(
    expect: Function, right: Function, wrong: Function, sentence: str
) -> None:
    expect(remote(right), x=X)
    with pytest.raises(CheckFailed) as failed:
        expect(remote(wrong), x=X)
    assert sentence in failed.value.reason


def test_elements_that_are_mixed_are_shown_with_their_numbers() -> None:
    with pytest.raises(CheckFailed) as failed:
        expect_each_alone(remote(lambda x: x - x[:1]), x=X)
    assert failed.value.reason == (
        "The result at [0] is [0.0000, 0.0000, 0.0000] for element 1 of the batch alone, and "
        "[1.0000, 1.2500, -2.5000] in the batch. Do not mix the elements."
    )


def test_gradients_of_parameters_are_compared_too() -> None:
    expect_gradients_fit(student_of(Scale).function(), parameters=["factors"], x=X)
    with pytest.raises(CheckFailed, match="The gradient of `factors` is incomplete"):
        expect_gradients_fit(student_of(FrozenScale).function(), parameters=["factors"], x=X)


def test_a_module_has_its_first_dtype_again_after_the_check() -> None:
    module = student_of(Scale).function()
    expect_float64(module, x=X)
    assert module.parameters()["factors"].dtype == torch.float32


@pytest.mark.parametrize(
    ("wrong", "sentence"),
    [
        (lambda **_: torch.rand(4), UNUSED_GENERATOR),
        (lambda generator=None: torch.rand(4, generator=generator or torch.Generator().manual_seed(1)), "set no seed"),
    ],
)
def test_draws_come_from_the_generator_or_from_torchs_global_one(wrong: Function, sentence: str) -> None:
    right = student_of(noise)
    expect_generator_used(right, right.function)
    student = student_of(wrong)
    with pytest.raises(CheckFailed) as failed:
        expect_generator_used(student, student.function)
    assert sentence in failed.value.reason


def test_what_was_compared_is_recorded() -> None:
    recorder = Recorder()
    with recorder.recording():
        expect_any_layout(remote(softmax), x=X)
    [seen] = recorder.observations[-1:]
    assert torch.equal(seen.value, X.softmax(-1)) or torch.allclose(seen.value, X.softmax(-1))  # type: ignore[arg-type]
