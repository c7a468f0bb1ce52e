"""The files beside the visible tests: rules, and the values that the solution gives.

As a program it builds these and the others that `grader.course.generated` lists, for the course in a folder.
"""

from __future__ import annotations

import itertools
import sys
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import torch

from grader.course import guidance
from grader.course.build import data_files
from grader.course.model import Course, load_course
from grader.course.modules import import_file, shown
from grader.engine.criteria import Criterion, criteria_of_unit, visible_criteria_of_unit
from grader.engine.failure_matrix import failed_by_solution, solution_names
from grader.engine.outcomes import Outcome
from grader.engine.runner import pictures_of_unit
from grader.errors import BAD_INPUT, GraderError
from grader.files import json_lines, write_atomically
from grader.testing import running_test, substitutes, visible_contracts
from grader.testing.pictures import Collected, collecting
from grader.testing.running_test import Values, unchanged
from grader.testing.student import InProcessBackend


def main() -> int:
    """Build the files of the course in the folder that is named. Print what is wrong, and return the exit code."""
    torch.set_num_threads(1)  # so that no sum depends on how many processors there are
    try:
        course = load_course(Path(sys.argv[1]), is_building=True)
        sources = course.generated.digest_of_sources()
        write_atomically(course.checks / visible_contracts.FILENAME, contracts(course))  # visible tests read it
        course.generated.write({**data_files(course), **visible_files(course)}, sources)
    except GraderError as error:
        print(error, file=sys.stderr)
        return error.exit_code
    except OSError as error:
        print(f"A file could not be written: {error}.", file=sys.stderr)
        return BAD_INPUT
    return 0


def contracts(course: Course) -> str:
    """Return the text of the file with the checks that suites declare for visible tests.

    Raises:
        GraderError: A suite cannot be used, or the visible tests of its unit do not run its checks.
    """
    found = {}
    for unit in course.units:
        suites = {path.stem: import_file(path) for path in course.hidden_tests(unit) if path.is_file()}
        found[unit] = visible_contracts.data_of(suites)
        visible = course.checks / f"test_{unit}.py"
        if found[unit] and "contract_tests(" not in (visible.read_text(encoding="utf-8") if visible.is_file() else ""):
            raise GraderError(
                f"{shown(visible)} does not run the examples of {', '.join(found[unit])}: add "
                "`test_contract = contract_tests(__file__)`, from grader.testing.visible_contracts."
            )
    return json_lines(found, depth=2) + "\n"


def visible_files(course: Course) -> dict[str, str]:
    """Return the text of each file, by name: the rules of all exercises and the values that the visible tests expect.

    Raises:
        GraderError: The solution fails a visible test, or a visible test names a rule that its exercise has not.
    """
    visible = {unit: visible_criteria_of_unit(course, unit) for unit in course.units}
    values = {unit: _values(course, unit, criteria) for unit, criteria in visible.items()}
    rules = {unit: _rules(course, unit, criteria) for unit, criteria in visible.items()}
    texts = {guidance.RULES: guidance.to_json(rules)}
    if any(values.values()):
        texts[running_test.FILENAME] = json_lines(values, depth=2) + "\n"
    if any(substitutes.hidden_substitutes(course)):
        made = {unit: _with_substitutes(course, unit, criteria, values[unit]) for unit, criteria in visible.items()}
        texts[substitutes.PUBLISHED] = substitutes.published(course, made)
    return texts


# -- the rules ---------------------------------------------------------------------------------------------------


def untried_rules(course: Course, unit: str) -> list[str]:
    """Return the rules of a unit that no visible test tries, each with its exercise."""
    found = _rules(course, unit, visible_criteria_of_unit(course, unit))
    return [f"{exercise}: {rule}" for exercise in found for rule, is_tried in found[exercise].items() if not is_tried]


def unmatched_rules(course: Course, units: Iterable[str]) -> list[str]:
    """Return a sentence on each rule that a hidden test tries and the docstring does not state, or the reverse."""
    sentences = []
    for unit in units:
        solution = solution_names(course, unit)
        stated = {
            exercise: guidance.stated_rules(getattr(solution.get(exercise), "__doc__", None) or "")
            for exercise in course.units[unit].exercises
        }
        sentences += [
            f"{shown(criterion.file)}:{criterion.line}: {criterion.name} tries a rule that the docstring of "
            f"{criterion.exercise} does not state: {rule!r}. Quote one of its lines that begin with a dash."
            for criterion in criteria_of_unit(course, unit)
            for rule in criterion.rules
            if rule not in stated.get(criterion.exercise, ())
        ]
        tried = _rules(course, unit, ())
        sentences += [
            f"solutions/{unit}.py: {exercise}: no hidden test tries the rule {rule!r}."
            for exercise, found in stated.items()
            for rule in found
            if rule not in tried[exercise]
        ]
    return sentences


def _rules(course: Course, unit: str, visible: Sequence[Criterion]) -> dict[str, dict[str, bool]]:
    """Return a unit's rules by exercise, in the order of the hidden tests, and whether a visible test tries them."""
    found: dict[str, dict[str, bool]] = {exercise: {} for exercise in course.units[unit].exercises}
    for criterion in criteria_of_unit(course, unit):
        found.get(criterion.exercise, {}).update(dict.fromkeys(criterion.rules, False))
    for criterion in visible:
        for rule in criterion.rules:
            if rule not in found[criterion.exercise]:
                raise GraderError(
                    f"{shown(criterion.file)}: {criterion.name} tries a rule that {criterion.exercise} has not: "
                    f"{rule!r}. Quote one of the stub's lines."
                )
            found[criterion.exercise][rule] = True
    return found


# -- the values that the solution gives --------------------------------------------------------------------------


def _values(course: Course, unit: str, visible: Sequence[Criterion]) -> dict[str, Values]:
    """Return what the solution gives in each visible test."""
    backend = InProcessBackend(unit, solution_names(course, unit))
    found = {}
    for criterion in [*visible, *pictures_of_unit(course, unit)]:
        with running_test.written_values() as values, collecting() as collected:
            outcome = criterion.run(backend)
        if not outcome.passed:
            raise GraderError(failed_by_solution(criterion, outcome))
        if values := values | _drawn(course, criterion, collected):
            found[criterion.name] = values
    return found


def _drawn(course: Course, criterion: Criterion, collected: Collected) -> Values:
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
        raise GraderError(f"{shown(criterion.file)}: {criterion.name} {wrong}.")
    return {name: collected.panels[name].values for name in collected.names if name in collected.solved}


def _with_substitutes(
    course: Course, unit: str, visible: Sequence[Criterion], values: Mapping[str, Values]
) -> dict[str, dict[str, list[Any]]]:
    """Return what each visible test compares if the solution gets substitutes for other exercises that it calls.

    A test that the solution fails with them, or whose numbers are random, has none: it waits for those exercises.
    """
    available = substitutes.hidden_substitutes(course)
    criteria = [replace(one, substitutes=available) for one in visible]
    backend = InProcessBackend(unit, solution_names(course, unit))
    order = [exercise for one in course.units.values() for exercise in one.exercises]

    def run(criterion: Criterion, exercises: Sequence[str]) -> tuple[Outcome, list[Any]]:
        """Return the outcome with substitutes for these exercises, and what was compared."""
        with running_test.substituted_values(values.get(criterion.name, {})) as found:
            return criterion.run(backend, exercises), found.compared

    called: dict[str, set[str]] = {}
    for one in criteria:
        earlier = [exercise for exercise in order[: order.index(one.exercise)] if exercise in available]
        if earlier:
            called.setdefault(one.exercise, set()).update(run(one, earlier)[0].substitutes)
    made: dict[str, dict[str, list[Any]]] = {}
    for one in criteria:
        chosen = [exercise for exercise in available if exercise in called.get(one.exercise, ())]
        for group in itertools.chain(*(itertools.combinations(chosen, n + 1) for n in range(substitutes.MOST))):
            outcome, compared = run(one, group)
            if not outcome.passed or set(outcome.substitutes) != set(group):
                continue
            if outcome.is_in_training and not _same(run(replace(one, version="other draws"), group)[1], compared):
                continue
            made.setdefault(one.name, {})[substitutes.BETWEEN.join(group)] = compared
    return made


def _same(one: Sequence[Any], other: Sequence[Any]) -> bool:
    """Return whether two runs of a test compare the same values up to rounding."""
    return len(one) == len(other) and all(
        mine is theirs is None or unchanged(mine, theirs) for mine, theirs in zip(one, other, strict=True)
    )


if __name__ == "__main__":
    sys.exit(main())
