"""Makes mutants: copies of a solution with one slip that learners make in tensor code.

Each has one change in one exercise, made by an operator on the syntax tree.
"""

from __future__ import annotations

import ast
import difflib
import textwrap
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from grader.audit.mutation import effects, structure, tensors
from grader.audit.mutation.operators import Changed, NodePlace, Operator

OPERATORS: dict[str, Operator] = {
    name: operator for module in (tensors, structure, effects) for name, operator in module.OPERATORS.items()
}
"""All operators by name, in the order of the report. Code that two of them make counts for the first."""


@dataclass(frozen=True)
class Mutant:
    """A solution with one change.

    id: exercise/operator/number, stable while the solution and the operators are. line: in the solution's file.
    diff: the changed lines of the unparsed definition. source: the unit's whole file.
    """

    exercise: str
    operator: str
    id: str
    line: int
    diff: str
    source: str


def mutants_of(text: str, exercises: Sequence[str]) -> list[Mutant]:
    """Return every mutant of these exercises, which `text`, a unit's solution, defines at top level.

    No two mutants of an exercise have the same code, and none has the solution's. A changed definition has no
    docstrings. Annotations and error messages are never changed.
    """
    definitions = {node.name: node for node in ast.parse(text).body if isinstance(node, ast.FunctionDef | ast.ClassDef)}
    return [mutant for exercise in exercises for mutant in _mutants(text, definitions[exercise])]


def _mutants(text: str, definition: ast.FunctionDef | ast.ClassDef) -> Iterator[Mutant]:
    lines = text.splitlines(keepends=True)
    before, after = lines[: definition.lineno - 1], lines[definition.end_lineno :]
    for node in ast.walk(definition):
        if isinstance(node, ast.FunctionDef | ast.ClassDef) and ast.get_docstring(node) is not None:
            node.body = node.body[1:]
    solution = ast.unparse(definition)
    seen = {solution}
    root = ast.Module([definition], [])
    places = list(_places(root, ()))
    for name, operator in OPERATORS.items():
        number = 0
        codes = ((here, _unparsed(root, here, one)) for here in places for one in operator(here))
        for place, code in codes:
            if code not in seen:
                seen.add(code)
                number += 1
                identity = f"{definition.name}/{name}/{number}"
                source = "".join([*before, code, "\n", *after])
                yield Mutant(definition.name, name, identity, place.line, _diff(solution, code), source)


def _places(node: ast.AST, around: tuple[ast.AST, ...]) -> Iterator[NodePlace]:
    if isinstance(node, ast.Raise):
        return
    around = (*around, node)
    for field, value in ast.iter_fields(node):
        if field in {"annotation", "returns"}:
            continue
        for index, child in enumerate(value) if isinstance(value, list) else [(None, value)]:
            if isinstance(child, ast.AST):
                yield NodePlace(child, around, field, index)
                yield from _places(child, around)


def _unparsed(root: ast.Module, place: NodePlace, changed: Changed) -> str:
    """Return the code of the tree with the change applied. The tree itself is restored."""
    held = getattr(place.parent, place.field)
    new: Changed | list[ast.AST] = changed
    if place.index is not None:
        put = changed if isinstance(changed, list) else [changed]
        new = [*held[: place.index], *put, *held[place.index + 1 :]] or [ast.Pass()]
    setattr(place.parent, place.field, new)
    try:
        return ast.unparse(root)
    finally:
        setattr(place.parent, place.field, held)


def _diff(old: str, new: str) -> str:
    changes = list(difflib.unified_diff(old.splitlines(), new.splitlines(), lineterm="", n=0))[2:]
    changes = [change for change in changes if not change.startswith("@@")]
    lines = textwrap.dedent("\n".join(change[1:] for change in changes)).splitlines()
    return "\n".join(f"{change[0]} {line}" for change, line in zip(changes, lines, strict=True))
