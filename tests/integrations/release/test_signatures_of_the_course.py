"""What the file of signatures in the students' wheel holds of this course."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import torch
from courses import COURSE

from grader.engine.criteria import Criterion, criteria_of_unit, visible_criteria_of_unit
from grader.engine.failure_matrix import decoded, read_signatures, solution_names
from grader.integrations.release.secrets import Secrets
from grader.integrations.release.wheel import signatures_of
from grader.testing.student import InProcessBackend

Value = tuple[tuple[int, ...], bytes]
"""The shape and the numbers of a tensor."""


class RecordingBackend(InProcessBackend):
    """Runs the solution, and keeps each tensor that a test sends to it."""

    def __init__(self, unit: str) -> None:
        super().__init__(unit, solution_names(COURSE, unit))
        self.sent: set[Value] = set()

    def notify(self, operation: str, **details: Any) -> None:
        self.sent |= set(values_in(details))
        super().notify(operation, **details)


def values_in(value: Any) -> Iterator[Value]:
    """The tensors in a value that have so many different numbers that no two tests have them by chance."""
    if isinstance(value, torch.Tensor):
        if value.is_floating_point() and value.unique().numel() >= 6:
            yield tuple(value.shape), value.detach().float().contiguous().numpy().tobytes()
    elif isinstance(value, dict | list | tuple):
        for one in value.values() if isinstance(value, dict) else value:
            yield from values_in(one)


def values_of(unit: str, criteria: list[Criterion]) -> tuple[set[Value], set[Value]]:
    """The inputs of tests, and the values that the solution gives there, which are the expected ones."""
    backend = RecordingBackend(unit)
    outcomes = [criterion.run(backend) for criterion in criteria]
    assert all(outcome.passed for outcome in outcomes)
    observations = [one.value for outcome in outcomes for one in outcome.observations]
    return backend.sent, set(values_in(observations))


@pytest.mark.proof(part="releases")
def test_the_signatures_hold_no_line_of_a_secret_and_no_input_or_expected_value_of_a_hidden_test(
    tmp_path: Path,
) -> None:
    path = tmp_path / "signatures.json"
    path.write_bytes(signatures_of(COURSE))
    signatures = [decoded(exercise, one) for exercise, coded in read_signatures(path).items() for one in coded]
    observed = [[one.value for row in signature.row.values() for one in row.observations] for signature in signatures]
    secrets, held = Secrets(COURSE), set(values_in(observed))
    texts = {text for values in observed for text in values if isinstance(text, str)}
    texts |= {text for one in signatures for text in (one.name, one.sentence)}
    assert texts
    assert not [origin for text in texts for _, origin in secrets.find(text) if not origin.startswith("grader/suites/")]
    assert held
    shown: set[Value] = set()
    hidden: dict[str, set[Value]] = {}
    for unit in COURSE.units:
        inputs, expected = values_of(unit, visible_criteria_of_unit(COURSE, unit))
        shown |= inputs | expected
        inputs, expected = values_of(unit, criteria_of_unit(COURSE, unit))
        assert inputs
        assert expected
        hidden[unit] = inputs | expected
    assert {unit: len(values & held - shown) for unit, values in hidden.items()} == dict.fromkeys(COURSE.units, 0)
