"""The hidden suite of each unit, run on trusted answers in the process of the tests."""

from __future__ import annotations

import ast
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any

import torch
from courses import COURSE

from grader.audit.cases import in_style, styles_of
from grader.engine import failure_matrix
from grader.engine.criteria import Criterion, criteria_of_unit
from grader.engine.failure_matrix import names_in, with_imports
from grader.engine.outcomes import Outcome
from grader.testing.misconceptions import Misconception, build, misconceptions_of
from grader.testing.student import InProcessBackend
from grader.testing.substitutes import hidden_substitutes

UNITS = {exercise: unit for unit, described in COURSE.units.items() for exercise in described.exercises}

torch.set_num_threads(1)  # as in the engine: with small tensors, threads only wait for each other

SUBSTITUTES = hidden_substitutes(COURSE)
build(COURSE, COURSE.units)


@cache
def fill(unit: str) -> None:
    """Record the outcomes of a unit's misconceptions, where they are outdated: that takes up to a minute."""
    failure_matrix.fill(COURSE, [unit])


class Suite:
    """One unit's criteria and misconceptions."""

    def __init__(self, unit: str) -> None:
        self.unit = unit
        self.criteria = criteria_of_unit(COURSE, unit)
        self.known = misconceptions_of(COURSE, unit)
        self.styles = list(styles_of(COURSE, unit))

    def of(self, exercise: str) -> list[Criterion]:
        return [criterion for criterion in self.criteria if criterion.exercise == exercise]

    def mistakes_in(self, exercise: str) -> list[Misconception]:
        return [mistake for mistake in self.known if mistake.exercise == exercise]

    def mistake(self, name: str) -> Misconception:
        [found] = [mistake for mistake in self.known if mistake.name == name]
        return found

    def outcomes(self, names: dict[str, Any], exercise: str | None = None) -> dict[str, Outcome]:
        """Return the outcome of each criterion (of one exercise) for a unit's file that defines `names`."""
        criteria = self.criteria if exercise is None else self.of(exercise)
        return {criterion.name: criterion.run(InProcessBackend(self.unit, names)) for criterion in criteria}

    def passed(self, names: dict[str, Any], exercise: str | None = None) -> set[str]:
        return {name for name, outcome in self.outcomes(names, exercise).items() if outcome.passed}

    def on_substitutes(
        self, style: str, *wrong: str, doubtful: Sequence[str] = (), exercise: str | None = None
    ) -> dict[str, Outcome]:
        """Return the outcome of each criterion of the other exercises, if the wrong ones do nothing in a right answer.

        doubtful: the exercises with substitutes in the second run, by default the wrong ones.
        exercise: the only exercise whose criteria are run, by default all.
        """
        names = self.in_style(style)
        names.update(dict.fromkeys(wrong, nothing))  # in place, because the other exercises look them up there

        def outcome(criterion: Criterion) -> Outcome:
            backend = InProcessBackend(self.unit, names)
            first = criterion.run(backend)
            return first if first.passed else criterion.run_again(backend, first, doubtful or wrong)

        criteria = self.criteria if exercise is None else self.of(exercise)
        return {criterion.name: outcome(criterion) for criterion in criteria if criterion.exercise not in wrong}

    def in_style(self, style: str) -> dict[str, Any]:
        """Run the right answers in a style, and return what they define."""
        text = in_style(COURSE, self.unit, style)
        return names_in(self.unit, with_imports(self.unit, text, COURSE.solutions))

    def missed_by(self, mistake: Misconception) -> frozenset[str]:
        """Return the criteria that a misconception fails, from the failure matrix."""
        outcomes = self.recorded(mistake.exercise)[mistake.name]
        return frozenset(name for name, outcome in outcomes.items() if not outcome.passed)

    def recorded(self, exercise: str) -> failure_matrix.Rows:
        """Return the outcomes of an exercise's misconceptions, from the failure matrix."""
        fill(self.unit)
        rows = failure_matrix.recorded(COURSE, self.unit, exercise)
        assert rows
        return rows


def nothing(*_arguments: Any, **_options: Any) -> None: ...


SUITES = {unit: Suite(unit) for unit in COURSE.units}


def passed(exercise: str, names: dict[str, Any]) -> set[str]:
    """Return the criteria of an exercise that pass for a unit's file that defines `names`."""
    return SUITES[UNITS[exercise]].passed(names, exercise)


def defined_in(path: Path, unit: str) -> dict[str, Any]:
    """Run a unit's file as a plain program and return what it defines. The units that it imports are solutions."""
    return names_in(unit, with_imports(unit, path.read_text(encoding="utf-8"), COURSE.solutions))


@cache
def right(exercise: str) -> Any:
    """Return the solution of an exercise."""
    unit = UNITS[exercise]
    return defined_in(COURSE.solutions / f"{unit}.py", unit)[exercise]


def changed(exercise: str, changes: Mapping[str, str]) -> dict[str, Any]:
    """Run the solution of a unit with other texts in one exercise, and return what it defines."""
    unit = UNITS[exercise]
    text = (COURSE.solutions / f"{unit}.py").read_text(encoding="utf-8")
    [node] = [node for node in ast.parse(text).body if getattr(node, "name", None) == exercise]
    right = ast.get_source_segment(text, node)
    assert right
    wrong = right
    for old, new in changes.items():
        assert right.count(old) == 1, (exercise, old)
        wrong = wrong.replace(old, new)
    return names_in(unit, with_imports(unit, text.replace(right, wrong), COURSE.solutions))
