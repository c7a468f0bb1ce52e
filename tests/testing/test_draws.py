"""The checks of random draws: only draws with the right frequency from the right generator pass."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch

from grader.testing.checks import CheckFailed
from grader.testing.draws import (
    UNUSED_GENERATOR,
    expect_count,
    expect_draws_by_state,
    expect_draws_from_a_generator,
    expect_global_draws,
    expect_own_draws,
)
from grader.testing.running_test import Recorder
from grader.testing.student import InProcessBackend, Student

SAME, OTHER, AGAIN = "the same state, other draws", "another state, the same draws", "the same draws again"
STATE_STAYS, GLOBAL_MOVES = UNUSED_GENERATOR, "Torch's global state has moved as well."


def reason(check: Callable[..., Any], *arguments: Any) -> str | None:
    """What a student reads if the check fails, or None."""
    try:
        check(*arguments)
    except CheckFailed as wrong:
        return wrong.reason
    return None


def drawn(generator: torch.Generator | None = None) -> torch.Tensor:
    return torch.rand(20, generator=generator)


def ignoring(generator: torch.Generator | None = None) -> torch.Tensor:  # noqa: ARG001
    return torch.rand(20)


def using_both(generator: torch.Generator | None = None) -> torch.Tensor:
    torch.rand(1)
    return drawn(generator)


def seeding(generator: torch.Generator | None = None) -> torch.Tensor:
    return drawn(generator.manual_seed(123) if generator else None)


def copying(generator: torch.Generator | None = None) -> torch.Tensor:
    return drawn(torch.Generator().manual_seed(generator.initial_seed()) if generator else None)


def always_alike(generator: torch.Generator | None = None) -> torch.Tensor:
    return drawn(generator or torch.Generator())


def from_the_system(generator: torch.Generator | None = None) -> torch.Tensor:
    if generator is None:
        generator = torch.Generator()
        generator.seed()
    return drawn(generator)


def putting_back(generator: torch.Generator | None = None) -> torch.Tensor:
    with torch.random.fork_rng(devices=[]):
        return drawn(generator)


def asked(answer: Callable[..., torch.Tensor]) -> tuple[Student, Any]:
    student = Student(InProcessBackend("answers", {"draw": answer}), "answers")
    return student, student.draw


@pytest.mark.parametrize(
    ("answer", "expected"),
    [(drawn, None), (ignoring, STATE_STAYS), (copying, STATE_STAYS), (using_both, GLOBAL_MOVES), (seeding, OTHER)],
)
def test_draws_come_from_the_generator_alone(answer: Callable[..., torch.Tensor], expected: str | None) -> None:
    assert reason(expect_draws_from_a_generator, *asked(answer), OTHER) == expected


@pytest.mark.parametrize(("answer", "expected"), [(drawn, None), (ignoring, SAME), (seeding, OTHER)])
def test_draws_depend_on_the_state_of_the_generator(answer: Callable[..., torch.Tensor], expected: str | None) -> None:
    assert reason(expect_draws_by_state, *asked(answer), SAME, OTHER) == expected


@pytest.mark.parametrize(
    ("answer", "expected"), [(drawn, None), (from_the_system, SAME), (always_alike, OTHER), (putting_back, AGAIN)]
)
def test_draws_without_a_generator_depend_on_the_global_state(
    answer: Callable[..., torch.Tensor], expected: str | None
) -> None:
    assert reason(expect_global_draws, *asked(answer), SAME, OTHER, AGAIN) == expected


@pytest.mark.parametrize(("count", "expected"), [(239, "off"), (240, None), (360, None), (361, "off")])
def test_a_count_may_be_off_by_three_times_the_root_of_all(count: int, expected: str | None) -> None:
    marks = torch.arange(400) < count  # of which there should be 300, and 3 · √400 is 60
    assert reason(expect_count, marks, 0.75, "off") == expected


def test_marks_are_counted_whether_they_are_bool_or_numbers() -> None:
    marks = torch.arange(400) < 300
    for dtype in (torch.bool, torch.float32, torch.float64):
        assert reason(expect_count, marks.to(dtype), 0.75, "off") is None
        assert reason(expect_count, marks.to(dtype), 0.25, "off") == "off"


@pytest.mark.parametrize(
    ("kept", "expected"),
    [
        (lambda: torch.rand(1000) < 0.8, None),
        (lambda: (torch.rand(500) < 0.8).repeat_interleave(2), "together"),
        (lambda: torch.rand(1000) < 0.99, "Nearly all are kept, or nearly none."),
        (lambda: torch.rand(1000) < 0.01, "Nearly all are kept, or nearly none."),
    ],
)
def test_entries_of_one_draw_are_distinguished_from_those_that_are_rarely_dropped(
    kept: Callable[[], torch.Tensor], expected: str | None
) -> None:
    torch.manual_seed(1)
    marks = kept()
    assert reason(expect_own_draws, marks, {"together": marks[0::2] == marks[1::2]}) == expected


def test_own_draws_of_no_entries_pass() -> None:
    assert reason(expect_own_draws, torch.zeros(0), {"together": torch.zeros(0)}) is None


def test_no_observation_depends_on_the_draws() -> None:
    recorder = Recorder()
    with recorder.recording():
        expect_draws_from_a_generator(*asked(drawn), OTHER)
        expect_global_draws(*asked(drawn), SAME, OTHER, AGAIN)
        expect_count(torch.rand(400) < 0.5, 0.5, "off")
    assert {seen.value for seen in recorder.observations} == {"holds"}
