"""Derives probes from the hidden tests of an exercise that has no handwritten ones: the same calls with other draws.

Such a probe finds only differences in what the hidden tests observe but do not judge.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import torch

from grader.engine.replay import Recorded
from grader.sandbox import values
from grader.sandbox.failures import Failure, Raised
from grader.testing.backend import InProcessBackend
from grader.testing.checks import REFUSALS

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from grader.engine.criteria import Criterion
    from grader.testing.probes import Draw, Probe, Property

DRAWS = 20
"""The draws of each criterion. They differ from those of the course's version."""


def derived_probes(criteria: Iterable[Criterion]) -> list[tuple[Probe, int]]:
    """Return a probe for each of an exercise's criteria, with its number of draws."""
    return [(_probe(criterion), DRAWS) for criterion in criteria]


def _probe(criterion: Criterion) -> Probe:
    def probe(unit: Any, draw: Draw) -> Iterator[Property]:
        recorded = Recorded(InProcessBackend(criterion.unit, vars(unit)))
        outcome = replace(criterion, version=f"{criterion.version}/{draw.number}").run(recorded)
        for number, (operation, answer) in enumerate(recorded.answers, 1):
            yield f"answer {number}, to {operation}", _comparable(operation, answer)
        yield "the verdict", outcome.passed

    probe.__name__ = criterion.name
    return probe


def _comparable(operation: str, answer: Any) -> Any:
    """Return the part of an answer that should be the same for all right ones."""
    match operation, answer:
        case _, Raised():
            return "a refusal" if REFUSALS & set(answer.types) else answer.types[0]
        case _, Failure():
            return type(answer).__name__
        case "torch_functions", _:
            return ""
        case "parameters", torch.Tensor():  # their first values are random
            return str(answer.shape)
        case _, values.Handle():
            return "an object"
        case _, tuple() | list():
            return [_comparable(operation, one) for one in answer]
        case _, dict():
            return [(str(name), _comparable(operation, answer[name])) for name in sorted(answer, key=str)]
    return answer
