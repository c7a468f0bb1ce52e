"""Writes what the visible tests need: the values that the solution gives, and the rules of each exercise."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from grader.audit.cases import with_imports
from grader.audit.run import names_in
from grader.course import rules
from grader.engine.criteria import Criterion, criteria_of_unit, visible_criteria_of_unit
from grader.engine.drawing import pictures_of_unit
from grader.errors import GraderError
from grader.files import write_atomically
from grader.testing import expected_values
from grader.testing.backend import InProcessBackend
from grader.testing.pictures import Collected, collecting

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from grader.course.model import Course


def build(course: Course) -> list[Path]:
    """Write the rules of all exercises and the values that the visible tests expect.

    Returns:
        The files that were written.

    Raises:
        GraderError: The solution fails a visible test, or a visible test names a rule that its exercise has not.
        OSError: The files cannot be written.
    """
    texts = files_of(course)
    outdated = [path for path, text in texts.items() if not path.is_file() or path.read_text(encoding="utf-8") != text]
    for path in outdated:
        write_atomically(path, texts[path])
    return outdated


def files_of(course: Course) -> dict[Path, str]:
    """Return the text of each file that `build` writes. Raises GraderError as above."""
    visible = {unit: visible_criteria_of_unit(course, unit) for unit in course.units}
    path = course.exercises / expected_values.FILENAME
    known = expected_values.read_values(path)
    values = {unit: _values(course, unit, criteria, known.get(unit, {})) for unit, criteria in visible.items()}
    texts = {
        course.exercises / rules.FILENAME: rules.to_json(
            {unit: _rules(course, unit, visible[unit]) for unit in visible}
        )
    }
    if any(values.values()) or path.is_file():
        texts[path] = _json(values)
    return texts


def solution_names(course: Course, unit: str) -> dict[str, Any]:
    """Run the solution of a unit in this process, and return the names in it."""
    text = (course.solutions / f"{unit}.py").read_text(encoding="utf-8")
    return names_in(unit, with_imports(unit, text, course.solutions))


def untried_rules(course: Course, unit: str) -> list[str]:
    """Return the rules of a unit that no visible test tries, each with its exercise."""
    found = _rules(course, unit, visible_criteria_of_unit(course, unit))
    return [f"{exercise}: {rule}" for exercise in found for rule, is_tried in found[exercise].items() if not is_tried]


def _rules(course: Course, unit: str, visible: Sequence[Criterion]) -> dict[str, dict[str, bool]]:
    """Return a unit's rules by exercise, in the order of the hidden tests, and whether a visible test tries them."""
    found: dict[str, dict[str, bool]] = {exercise: {} for exercise in course.units[unit].exercises}
    for criterion in criteria_of_unit(course, unit):
        found.get(criterion.exercise, {}).update(dict.fromkeys(criterion.rules, False))
    for criterion in visible:
        for rule in criterion.rules:
            if rule not in found[criterion.exercise]:
                raise GraderError(
                    f"exercises/test_{unit}.py: {criterion.name} tries a rule that {criterion.exercise} has not: "
                    f"{rule!r}. Quote one of the stub's lines."
                )
            found[criterion.exercise][rule] = True
    return found


def _values(
    course: Course, unit: str, visible: Sequence[Criterion], known: Mapping[str, expected_values.Values]
) -> dict[str, expected_values.Values]:
    """Return what the solution gives in each visible test. Values that differ only by rounding stay as they are."""
    backend = InProcessBackend(unit, solution_names(course, unit))
    found = {}
    for criterion in [*visible, *pictures_of_unit(course, unit)]:
        with expected_values.written_values() as values, collecting() as collected:
            outcome = criterion.run(backend)
        if not outcome.passed:
            raise GraderError(
                f"exercises/: {unit}: the solution fails {criterion.name}: {outcome.reason} {outcome.detail}"
            )
        values |= _drawn(course, criterion, collected)
        old = known.get(criterion.name, {})
        if values:
            found[criterion.name] = {
                name: old[name] if name in old and expected_values.unchanged(old[name], value) else value
                for name, value in values.items()
            }
    return found


def _drawn(course: Course, criterion: Criterion, collected: Collected) -> expected_values.Values:
    """Return the numbers that a picture draws for the solution, by panel. Raises GraderError."""
    wrong = None
    if criterion.exercise not in course.units[criterion.unit].exercises:
        wrong = f"belongs to {criterion.exercise}, which autograder.yml does not have"
    if len(set(collected.names)) != len(collected.names):
        wrong = "draws two panels with one name: give each a name of its own"
    if large := [panel.name for panel in collected.panels.values() if panel.values is None]:
        wrong = f"draws too many numbers as {large[0]!r}: draw a part of them"
    if criterion.name.startswith("question") and len(collected.questions) != 1:
        wrong = "does not ask one question"
    if wrong:
        raise GraderError(f"exercises/pictures_{criterion.unit}.py: {criterion.name} {wrong}.")
    return {name: collected.panels[name].values for name in collected.names if name in collected.solved}


def _json(values: Mapping[str, Mapping[str, expected_values.Values]]) -> str:
    """Return the text of the file of values: one line for each value."""
    units = []
    for unit, tests in values.items():
        lines = [
            f"  {json.dumps(test)}: {{\n"
            + ",\n".join(f"   {json.dumps(n)}: {json.dumps(v)}" for n, v in named.items())
            + "\n  }"
            for test, named in tests.items()
        ]
        units.append(
            f" {json.dumps(unit)}: {{\n" + ",\n".join(lines) + "\n }" if lines else f" {json.dumps(unit)}: {{}}"
        )
    return "{\n" + ",\n".join(units) + "\n}\n"
