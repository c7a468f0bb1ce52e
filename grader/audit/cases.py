"""The cases of the audit: every answer to an exercise that is known to be right or wrong, as source texts."""

from __future__ import annotations

import ast
import copy
import functools
import itertools
import sys
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from grader.audit.mutation import Mutant, mutants_of
from grader.course import modules
from grader.course.left_out import left_out
from grader.course.model import Course, definitions
from grader.course.modules import names_in, needed_names, shown
from grader.engine.failure_matrix import names_in as names_of_sources
from grader.engine.failure_matrix import with_imports
from grader.errors import GraderError
from grader.testing.misconceptions import misconceptions_of, renamed
from grader.text import ended

Kind = Literal["solution", "right answer", "stub", "misconception", "two mistakes", "unknown mistake", "mutant"]
RIGHT: tuple[Kind, ...] = ("solution", "right answer")
WHOLE_FILES: tuple[Kind, ...] = (*RIGHT, "stub")
WRITTEN: tuple[Kind, ...] = ("misconception", "two mistakes", "unknown mistake")

EVERY = 20  # a sample has every 20th wrong answer

AND = "__and__"
"""Joins the names of two misconceptions in the name of an answer that has both."""

WRONG_ANSWERS, RIGHT_ANSWERS = "wrong_answers", "right_answers"
"""The functions of a suite that hold answers. Nobody calls them: the audit reads each answer as a student's file."""

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
    for path in course.hidden_tests(unit):
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
    for style, answers in styles_of(course, unit).items():
        sources = with_imports(unit, in_style(course, unit, style), course.solutions)
        yield from (Case(unit, one, "right answer", style, sources, place=place) for one, place in answers.items())


def _misconceptions(course: Course, unit: str) -> Iterator[Case]:
    for known in misconceptions_of(course, unit):
        path = Path(sys.modules[known.implementation.__module__].__file__ or "")
        sources = standing_alone(path, known.implementation.__name__, unit, known.exercise)
        yield Case(unit, known.exercise, "misconception", known.name, sources, place=known.place)


def handwritten_mistakes(course: Course, unit: str) -> Iterator[Case]:
    """Yield the wrong answers of each exercise besides its misconceptions. The name says what it must be named.

    `first__and__second` has two misconceptions, `misconception__other_code` has one, and any other name none.
    """
    known = {(one.exercise, one.name) for one in misconceptions_of(course, unit)}
    for path in course.hidden_tests(unit):
        exercise = path.stem
        for name, node in answers_in(course, path, WRONG_ANSWERS).items():
            place = f"{shown(path)}:{node.lineno}"
            kind: Kind = "two mistakes" if AND in name else "misconception" if "__" in name else "unknown mistake"
            if "__" in name and not known.issuperset((exercise, one) for one in names_of(name)):
                advice = f"begin its name with misconceptions of {exercise}, or use single underscores."
                raise AuditError(f"{place}: it is not clear which mistake {name} is: {advice}")
            sources = standing_alone(path, name, unit, exercise, WRONG_ANSWERS)
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


def styles_of(course: Course, unit: str) -> dict[str, dict[str, str]]:
    """Return the styles of the right answers of a unit, each with its exercises and where their answers are."""
    found: dict[str, dict[str, str]] = {}
    for path in course.hidden_tests(unit):
        for style, node in answers_in(course, path, RIGHT_ANSWERS).items():
            found.setdefault(style, {})[path.stem] = f"{shown(path)}:{node.lineno}"
    return found


def in_style(course: Course, unit: str, style: str) -> str:
    """Return the text of a unit's file with the right answers in this style, and solutions where it has none."""
    solution = course.solutions / f"{unit}.py"
    texts: list[str] = []
    # An answer may also call an exercise that the course leaves out.
    for exercise in (names := definitions(solution)):
        path = course.suites / unit / f"{exercise}.py"
        if path.is_file() and style in answers_in(course, path, RIGHT_ANSWERS):
            texts += needed_by(path, style, function=RIGHT_ANSWERS, name=exercise)
        else:
            texts += needed_by(solution, exercise, without=names.keys() - {exercise})
    return "\n\n\n".join(dict.fromkeys(texts)) + "\n"


def standing_alone(path: Path, name: str, unit: str, exercise: str, function: str = "") -> dict[str, str]:
    """Return a definition as a student would submit it, as the exercise, with only what it needs of our file.

    It is in a file beside the unit's, where it may use a right answer under the exercise's own name.
    """
    mistakes = "\n".join(["from __future__ import annotations", *needed_by(path, name, function=function), ""])
    return {"mistakes": mistakes, unit: f"from mistakes import {name} as {exercise}\n"}


def needed_by(
    path: Path, *names: str, without: Collection[str] = (), function: str = "", name: str | None = None
) -> list[str]:
    """Return some definitions of a file with the imports and definitions that they need, in their order.

    Args:
        path: The file.
        names: The names of the definitions.
        without: The names that exist already.
        function: The function that they are in, such as `right_answers`; by default they are at the top level.
        name: The name that the definition gets, if there is only one.
    """
    statements = _statements(path, function)
    definitions = _unmarked(modules.definitions_in(statements))
    used = needed_names(names, definitions, without)
    texts = []
    for node in statements:
        if isinstance(node, ast.Import | ast.ImportFrom):
            # An answer's own unit is the file that it is for.
            if getattr(node, "module", "") not in ("__future__", path.parent.name) and used & _imported(node):
                texts.append(ast.unparse(node))
        else:
            for own, one in definitions.items():
                if own in used and one.lineno == node.lineno:
                    texts.append(
                        ast.unparse(renamed(copy.deepcopy(one), {own: name}) if name and own in names else one)
                    )
                    break  # once, also if it defines several names
    return texts


def _imported(node: ast.Import | ast.ImportFrom) -> set[str]:
    return {(alias.asname or alias.name).partition(".")[0] for alias in node.names}


def answers_in(course: Course, path: Path, function: str) -> dict[str, ast.stmt]:
    """Return the answers in `wrong_answers` or `right_answers` of a suite.

    A definition whose name begins with an underscore, or is another exercise, helps others.
    """
    found = modules.definitions_in(_statements(path, function))
    return {name: node for name, node in found.items() if not name.startswith("_") and name not in course.unit_of}


def definitions_in(path: Path) -> dict[str, ast.stmt]:
    """Return what a file defines at top level, by name. Raises AuditError."""
    return modules.definitions_in(_tree(path).body)


@functools.cache
def _statements(path: Path, function: str) -> list[ast.stmt]:
    """Return the statements of a file, or its imports and the statements of a function in it."""
    body = _tree(path).body
    if not function:
        return body
    imports = [node for node in body if isinstance(node, ast.Import | ast.ImportFrom)]
    inside = [node.body for node in body if isinstance(node, ast.FunctionDef) and node.name == function]
    return [*imports, *itertools.chain(*inside)]


def _unmarked(definitions: dict[str, ast.stmt]) -> dict[str, ast.stmt]:
    """Return definitions without the mark of a misconception."""
    found = {}
    for name, node in definitions.items():
        found[name] = node
        if isinstance(node, ast.FunctionDef | ast.ClassDef):
            found[name] = unmarked = copy.copy(node)
            unmarked.decorator_list = [mark for mark in node.decorator_list if MARK not in names_in(mark)]
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
