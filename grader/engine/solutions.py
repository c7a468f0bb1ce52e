"""Runs the solutions of a course in this process: they tell a suite's own fault from a student's mistake."""

from __future__ import annotations

import ast
import sys
import types
import warnings
from pathlib import Path
from typing import TYPE_CHECKING, Any

from grader.course.modules import SuiteError, described, shown
from grader.engine.budget import OUT_OF_MEMORY, LimitExceeded, ran_out_of_memory
from grader.errors import SuiteFault
from grader.testing.student import InProcessBackend
from grader.text import ended

if TYPE_CHECKING:
    from collections.abc import Mapping

    from grader.course.model import Course
    from grader.engine.criteria import Criterion
    from grader.engine.outcomes import Outcome


def with_solution(course: Course, criterion: Criterion, outcome: Outcome) -> str:
    """Return a sentence for the instructor on a test that raised with a student's answer; "" if it did not.

    Raises:
        SuiteFault: It raises with the solution too, or asks for a name that the solution has not, so the answer is not
            the cause.
    """
    if not criterion.file.is_relative_to(course.suites):
        return outcome.fault  # visible tests are proved by `grader build`, and students have no solutions
    try:
        names = solution_names(course, criterion.unit)
    except SuiteError as error:
        raise SuiteFault(str(error)) from error
    right = criterion.run(InProcessBackend(criterion.unit, names), outcome.substitutes)
    if right.fault or right.kind == "not defined":
        raise SuiteFault(failed_by_solution(criterion, right))
    return outcome.fault and (
        f"{outcome.fault} The test {criterion.name} raises this with an answer and not with the solution, so the point "
        "is lost: check the value in the test first."
    )


def failed_by_solution(criterion: Criterion, outcome: Outcome) -> str:
    """Return a sentence for the author of a test that the solution fails."""
    place = f"{shown(criterion.file)}:{criterion.line}: {outcome.reason} {outcome.detail}".rstrip()
    return f"{outcome.fault or ended(place)} This is so with the solution too: correct the test {criterion.name}."


def solution_names(course: Course, unit: str) -> dict[str, Any]:
    """Run the solution of a unit in this process, and return the names in it.

    Raises:
        SuiteError: It raises an error.
        LimitExceeded: This process has no memory or time left for it.
    """
    path = course.solutions / f"{unit}.py"
    try:
        texts = with_imports(unit, path.read_text(encoding="utf-8"), course.solutions)
        return names_in(unit, texts, course.solutions)
    except LimitExceeded:
        raise
    except Exception as error:
        if ran_out_of_memory(error):
            raise LimitExceeded(OUT_OF_MEMORY) from error
        raise SuiteError(f"{described(error, path)} Correct it.") from error


def with_imports(unit: str, text: str, siblings: Path) -> dict[str, str]:
    """Return the texts of the units that a unit imports from the folder `siblings`, directly or not, then its own.

    The folder also has the units that autograder.yml leaves out and a solution needs.
    """
    sources: dict[str, str] = {}
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.ImportFrom) and node.module and (path := siblings / f"{node.module}.py").is_file():
            sources |= with_imports(node.module, path.read_text(encoding="utf-8"), siblings)
    return {**sources, unit: text}


def names_in(unit: str, sources: Mapping[str, str], folder: Path = Path()) -> dict[str, Any]:
    """Run these sources in this process, and return the names in the last one, the unit's file.

    folder: where the sources are, for the traces of errors.

    Raises:
        Exception: Anything that they raise.
    """
    before = {name: sys.modules[name] for name in sources if name in sys.modules}
    try:
        with warnings.catch_warnings(action="ignore"):
            for name, text in sources.items():
                module = sys.modules[name] = types.ModuleType(name)
                exec(compile(text, str(folder / f"{name}.py"), "exec", dont_inherit=True), module.__dict__)
        return vars(sys.modules[unit])
    finally:
        for name in sources:
            sys.modules.pop(name, None)
        sys.modules.update(before)  # the packages of suites may have the names of units
