"""The cases of the audit: every answer to an exercise that is known to be right or wrong, as source texts."""

from __future__ import annotations

import ast
import copy
import functools
import sys
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from grader.audit.mutation import Mutant, mutants_of
from grader.course import modules
from grader.course.left_out import left_out
from grader.course.model import Course
from grader.course.modules import names_in, needed_names, shown
from grader.engine.failure_matrix import names_in as names_of_sources
from grader.engine.failure_matrix import with_imports
from grader.errors import GraderError
from grader.testing.misconceptions import misconceptions_of
from grader.text import ended

Kind = Literal["solution", "right answer", "stub", "misconception", "two mistakes", "unknown mistake", "mutant"]
RIGHT: tuple[Kind, ...] = ("solution", "right answer")
WHOLE_FILES: tuple[Kind, ...] = (*RIGHT, "stub")
WRITTEN: tuple[Kind, ...] = ("misconception", "two mistakes", "unknown mistake")

EVERY = 20  # a sample has every 20th wrong answer

AND = "__and__"
"""Joins the names of two misconceptions in the name of an answer that has both."""

# The decorator of our definitions, which no student's file has.
MARK = "misconception"


class AuditError(GraderError):
    """A file that the audit needs is missing or cannot be read."""


@dataclass(frozen=True)
class Case:
    """One answer to one exercise. sources: the text of the unit's file, and of each file that it imports.

    place: the file and the line where its author wrote it.
    lacks_name: whether a name in it is misspelt on purpose, by the linter's `noqa: F821`.
    """

    unit: str
    exercise: str
    kind: Kind
    name: str
    sources: dict[str, str]
    mutant: Mutant | None = None
    place: str = ""
    lacks_name: bool = False


def cases_of(course: Course, unit: str) -> list[Case]:
    """Return every case of a unit, exercise by exercise. Raises AuditError."""
    exercises = list(course.units[unit].exercises)
    probes = course.suites / unit / "probes.py"
    for path in (*course.misconceptions(unit), *([probes] if probes.is_file() else [])):
        _tree(path)  # raises before anything is graded
    cases = [
        *_whole_files(course, unit),
        *_misconceptions(course, unit),
        *handwritten_mistakes(course, unit),
        *_mutants(course, unit),
    ]
    missing = left_out(course).get(unit, [])
    return sorted((case for case in cases if case.exercise not in missing), key=lambda c: exercises.index(c.exercise))


def run_case(case: Case) -> dict[str, Any]:
    """Run an answer in this process, and return the names in it. Raises AuditError if that raises an error."""
    try:
        return names_of_sources(case.unit, case.sources)
    except Exception as error:
        problem = f"{type(error).__name__}: {error}".removesuffix(": ")
        raise AuditError(f"{case.place}: {case.name} cannot be run: {ended(problem)} Correct it.") from error


def sample(cases: Sequence[Case]) -> list[Case]:
    """Return all right answers and stubs, and every 20th of the others: about a minute of grading."""
    whole = [case for case in cases if case.kind in WHOLE_FILES]
    return [*whole, *[case for case in cases if case.kind not in WHOLE_FILES][::EVERY]]


def _whole_files(course: Course, unit: str) -> Iterator[Case]:
    exercises = list(course.units[unit].exercises)
    kinds: tuple[tuple[Kind, Path], ...] = (("solution", course.solutions), ("stub", course.exercises))
    for kind, folder in kinds:
        sources = with_imports(unit, _read(folder / f"{unit}.py"), folder)
        place = f"{folder.name}/{unit}.py:1"
        yield from (Case(unit, exercise, kind, kind, sources, place=place) for exercise in exercises)
    for path in sorted((course.suites / unit / "accepted_answers").glob("[!_]*.py")):
        sources = with_imports(unit, completed(course, path, unit), course.solutions)
        covered = _bound_in(path)
        place = f"{shown(path)}:1"
        if covered.isdisjoint(exercises):
            raise AuditError(f"{place}: it answers no exercise: define {', '.join(exercises)} or one of them.")
        yield from (
            Case(unit, one, "right answer", path.stem, sources, place=place) for one in exercises if one in covered
        )


def _misconceptions(course: Course, unit: str) -> Iterator[Case]:
    for known in misconceptions_of(course, unit):
        path = Path(sys.modules[known.implementation.__module__].__file__ or "")
        sources = standing_alone(path, known.implementation.__name__, unit, known.exercise)
        yield Case(unit, known.exercise, "misconception", known.name, sources, place=known.place)


def handwritten_mistakes(course: Course, unit: str) -> Iterator[Case]:
    """Yield the handwritten mistakes besides the misconceptions themselves. The name says what it must be named.

    `first__and__second` has two misconceptions, `misconception__other_code` has one, and `exercise__what` has none.
    """
    exercise_of = {one: one for one in (*course.units[unit].exercises, *left_out(course).get(unit, ()))}
    exercise_of |= {one.name: one.exercise for one in misconceptions_of(course, unit)}
    for path in (course.suites / unit / "pairs.py", course.suites / unit / "unlisted_mistakes.py"):
        for name, node in definitions_in(path).items() if path.is_file() else ():
            first, _, what = name.partition("__")
            if not (first and what):
                continue  # it helps others
            place = f"{shown(path)}:{node.lineno}"
            exercise, *more = {exercise_of.get(one) for one in names_of(name)}
            if exercise is None or more:
                advice = f"begin its name with an exercise of {unit}, or with misconceptions of one exercise."
                raise AuditError(f"{place}: it is not clear what {name} answers: {advice}")
            kind: Kind = "two mistakes" if AND in name else "unknown mistake" if first == exercise else "misconception"
            sources = standing_alone(path, name, unit, exercise)
            lines = _read(path).splitlines()[node.lineno - 1 : node.end_lineno]
            lacks_name = any("noqa: F821" in line for line in lines)
            yield Case(unit, exercise, kind, name, sources, place=place, lacks_name=lacks_name)


def names_of(case: str) -> list[str]:
    """Return the misconceptions of `name`, of `name__other_code`, or of a pair, `first__and__second`."""
    return case.split(AND) if AND in case else [case.partition("__")[0]]


def _mutants(course: Course, unit: str) -> Iterator[Case]:
    text = _read(course.solutions / f"{unit}.py")
    siblings = with_imports(unit, text, course.solutions)
    for mutant in mutants_of(text, list(course.units[unit].exercises)):
        yield Case(unit, mutant.exercise, "mutant", mutant.id, {**siblings, unit: mutant.source}, mutant)


# -- source texts ------------------------------------------------------------------------------------------------


def completed(course: Course, path: Path, unit: str) -> str:
    """Return the text of an accepted answer, followed by the solution of each exercise that it lacks."""
    own = _bound_in(path)
    missing = [exercise for exercise in course.units[unit].exercises if exercise not in own]
    added = needed_by(course.solutions / f"{unit}.py", *missing, without=own) if missing else []
    return "\n\n\n".join([_read(path), *added])


def standing_alone(path: Path, name: str, unit: str, exercise: str) -> dict[str, str]:
    """Return a definition as a student would submit it, as the exercise, with only what it needs of our file.

    It is in a file beside the unit's, where it may use a right answer under the exercise's own name.
    """
    mistakes = "\n".join(["from __future__ import annotations", *needed_by(path, name), ""])
    return {"mistakes": mistakes, unit: f"from mistakes import {name} as {exercise}\n"}


def needed_by(path: Path, *names: str, without: Collection[str] = ()) -> list[str]:
    """Return some definitions of a file with the imports and definitions that they need, in their order.

    without: the names that exist already.
    """
    definitions = _unmarked_definitions(path)
    used = needed_names(names, definitions, without)
    texts = []
    for node in _tree(path).body:
        if isinstance(node, ast.Import | ast.ImportFrom):
            if getattr(node, "module", "") != "__future__" and used & _imported(node):
                texts.append(ast.unparse(node))
        else:
            texts += [
                ast.unparse(one) for name, one in definitions.items() if name in used and one.lineno == node.lineno
            ]
    return texts


def _imported(node: ast.Import | ast.ImportFrom) -> set[str]:
    return {(alias.asname or alias.name).partition(".")[0] for alias in node.names}


def _bound_in(path: Path) -> set[str]:
    """Return the names that a file defines or imports at top level."""
    imports = (_imported(node) for node in _tree(path).body if isinstance(node, ast.Import | ast.ImportFrom))
    return set(definitions_in(path)).union(*imports)


def definitions_in(path: Path) -> dict[str, ast.stmt]:
    """Return what a file defines at top level, by name. Raises AuditError."""
    return modules.definitions_in(_tree(path).body)


@functools.cache
def _unmarked_definitions(path: Path) -> dict[str, ast.stmt]:
    """Return what a file defines, without our decorators."""
    found = definitions_in(path)
    marks = {MARK}
    marks |= {
        name for name, node in found.items() if isinstance(node, ast.FunctionDef) and MARK in names_in(*node.body)
    }
    for name, node in found.items():
        if isinstance(node, ast.FunctionDef | ast.ClassDef):
            found[name] = unmarked = copy.copy(node)
            unmarked.decorator_list = [mark for mark in node.decorator_list if not names_in(mark) & marks]
    return found


@functools.cache
def _tree(path: Path) -> ast.Module:
    text = _read(path)
    try:
        return ast.parse(text)
    except SyntaxError as error:
        raise AuditError(f"{shown(path)}:{error.lineno} is not valid Python: correct it first.") from None


def _read(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except FileNotFoundError:
        raise AuditError(f"{shown(path)} is missing: the audit needs it. Write it first.") from None
