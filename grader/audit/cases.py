"""What the audit grades: every answer to an exercise that is known to be right or wrong, as source texts."""

from __future__ import annotations

import ast
import copy
import functools
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from grader.audit.mutation.mutants import Mutant, mutants_of
from grader.course.model import Course, left_out
from grader.errors import GraderError
from grader.testing.misconceptions import misconceptions_of

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Sequence

Kind = Literal["solution", "right answer", "stub", "misconception", "in other words", "unknown mistake", "mutant"]
RIGHT: tuple[Kind, ...] = ("solution", "right answer")
WHOLE_FILES: tuple[Kind, ...] = (*RIGHT, "stub")
WRITTEN: tuple[Kind, ...] = ("misconception", "in other words", "unknown mistake")

EVERY = 20  # of the wrong answers, in a sample

# What marks a definition of ours, and stands in no student's file.
MARK = "misconception"


class AuditError(GraderError):
    """Something that the audit needs is missing or cannot be read; the text says what, where and what to do."""


@dataclass(frozen=True)
class Case:
    """One answer to one exercise. sources: the text of the unit's file, and of each file that it imports."""

    unit: str
    exercise: str
    kind: Kind
    name: str
    sources: dict[str, str]
    mutant: Mutant | None = None


def cases_of(course: Course, unit: str) -> list[Case]:
    """Return every case of a unit, an exercise after the other. Raises AuditError."""
    exercises = list(course.units[unit].exercises)
    probes = course.suites / unit / "probes.py"
    for path in (*course.misconceptions(unit), *([probes] if probes.is_file() else [])):
        _tree(path)  # says what is wrong with it before anything is graded
    cases = [
        *_whole_files(course, unit),
        *_misconceptions(course, unit),
        *_mistakes(course, unit),
        *_mutants(course, unit),
    ]
    missing = left_out(course).get(unit, [])
    return sorted((case for case in cases if case.exercise not in missing), key=lambda c: exercises.index(c.exercise))


def sample(cases: Sequence[Case]) -> list[Case]:
    """Return all right answers and stubs, and one in EVERY of the others: about a minute's work."""
    whole = [case for case in cases if case.kind in WHOLE_FILES]
    return [*whole, *[case for case in cases if case.kind not in WHOLE_FILES][::EVERY]]


def _whole_files(course: Course, unit: str) -> Iterator[Case]:
    exercises = list(course.units[unit].exercises)
    kinds: tuple[tuple[Kind, Path], ...] = (("solution", course.solutions), ("stub", course.exercises))
    for kind, folder in kinds:
        sources = with_imports(unit, _read(folder / f"{unit}.py"), folder)
        yield from (Case(unit, exercise, kind, kind, sources) for exercise in exercises)
    for path in sorted((course.suites / unit / "accepted_answers").glob("[!_]*.py")):
        sources = with_imports(unit, completed(course, path, unit), course.solutions)
        covered = _bound_in(path)
        yield from (Case(unit, one, "right answer", path.stem, sources) for one in exercises if one in covered)


def _misconceptions(course: Course, unit: str) -> Iterator[Case]:
    for known in misconceptions_of(course, unit):
        path = Path(sys.modules[known.implementation.__module__].__file__ or "")
        sources = standing_alone(path, known.implementation.__name__, unit, known.exercise)
        yield Case(unit, known.exercise, "misconception", known.name, sources)


def _mistakes(course: Course, unit: str) -> Iterator[Case]:
    """Yield those that are written by hand, if any, to measure the diagnosis: of a known kind, and of none."""
    known = {one.name: one.exercise for one in misconceptions_of(course, unit)}
    path = course.suites / unit / "paraphrases.py"
    for name in definitions_in(path) if path.is_file() else ():
        if name in known:
            yield Case(unit, known[name], "in other words", name, standing_alone(path, name, unit, known[name]))
    path = course.suites / unit / "unlisted_mistakes.py"
    for name in definitions_in(path) if path.is_file() else ():
        exercise, _, what = name.partition("__")
        if exercise in course.units[unit].exercises and what:
            yield Case(unit, exercise, "unknown mistake", name, standing_alone(path, name, unit, exercise))


def _mutants(course: Course, unit: str) -> Iterator[Case]:
    solutions = course.solutions
    text = _read(solutions / f"{unit}.py")
    siblings = with_imports(unit, text, solutions)
    for mutant in mutants_of(unit, text, list(course.units[unit].exercises)):
        yield Case(unit, mutant.exercise, "mutant", mutant.id, {**siblings, unit: mutant.source}, mutant)


# -- source texts ------------------------------------------------------------------------------------------------


def with_imports(unit: str, text: str, siblings: Path) -> dict[str, str]:
    """Return a unit's text, after those of the units that it imports, directly or not, from the folder `siblings`.

    They are there also where autograder.yml leaves a unit out on which a solution builds.
    """
    sources: dict[str, str] = {}
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.ImportFrom) and node.module and (siblings / f"{node.module}.py").is_file():
            sources |= with_imports(node.module, _read(siblings / f"{node.module}.py"), siblings)
    return {**sources, unit: text}


def completed(course: Course, path: Path, unit: str) -> str:
    """Return the text of an accepted answer, and below it the solution's for each exercise that it lacks."""
    own = _bound_in(path)
    missing = [exercise for exercise in course.units[unit].exercises if exercise not in own]
    added = needed_by(course.solutions / f"{unit}.py", *missing, without=own) if missing else []
    return "\n\n\n".join([_read(path), *added])


def standing_alone(path: Path, name: str, unit: str, exercise: str) -> dict[str, str]:
    """Return a definition as a student would hand it in: as the exercise, with no more of our file than it needs.

    What it needs comes in a file beside the unit's: there it may use a right answer under the exercise's own name.
    """
    mistakes = "\n".join(["from __future__ import annotations", *needed_by(path, name), ""])
    return {"mistakes": mistakes, unit: f"from mistakes import {name} as {exercise}\n"}


def needed_by(path: Path, *names: str, without: Collection[str] = ()) -> list[str]:
    """Return the imports and definitions of a file that some of its definitions need, and those, in their order.

    without: the names that are there already.
    """
    definitions = _unmarked_definitions(path)
    wanted, used = list(names), set[str]()
    while wanted:
        if (one := wanted.pop()) not in used and one not in without:
            used.add(one)
            if one in definitions:
                wanted += _names(definitions[one])
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
    """Return what a file defines or imports at its top level."""
    imports = (_imported(node) for node in _tree(path).body if isinstance(node, ast.Import | ast.ImportFrom))
    return set(definitions_in(path)).union(*imports)


def definitions_in(path: Path) -> dict[str, ast.stmt]:
    """Return what a file defines at its top level, by name. Raises AuditError."""
    found: dict[str, ast.stmt] = {}
    for node in _tree(path).body:
        match node:
            case ast.FunctionDef(name=name) | ast.ClassDef(name=name):
                found[name] = node
            case ast.Assign(targets=[ast.Name(id=name)]) | ast.AnnAssign(target=ast.Name(id=name)):
                found[name] = node
    return found


@functools.cache
def _unmarked_definitions(path: Path) -> dict[str, ast.stmt]:
    """Return what a file defines, without our mark on it, and without what sets it in this file."""
    found = definitions_in(path)
    marks = {MARK}
    marks |= {name for name, node in found.items() if isinstance(node, ast.FunctionDef) and MARK in _names(*node.body)}
    for name, node in found.items():
        if isinstance(node, ast.FunctionDef | ast.ClassDef):
            found[name] = unmarked = copy.copy(node)
            unmarked.decorator_list = [mark for mark in node.decorator_list if not _names(mark) & marks]
    return found


def _names(*nodes: ast.AST) -> set[str]:
    return {node.id for root in nodes for node in ast.walk(root) if isinstance(node, ast.Name)}


@functools.cache
def _tree(path: Path) -> ast.Module:
    text = _read(path)
    try:
        return ast.parse(text)
    except SyntaxError as error:
        raise AuditError(f"{path}:{error.lineno} is not valid Python: correct it first.") from None


def _read(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except FileNotFoundError:
        raise AuditError(f"{path} is missing: the audit needs it. Write it first.") from None
