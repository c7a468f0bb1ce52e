"""Where a source defines an exercise that is not there when it is called, and which line replaces a name by a value."""

from __future__ import annotations

import ast
import re
from dataclasses import replace
from typing import TYPE_CHECKING

from grader.engine.characters import hint_on_characters
from grader.engine.names import PYTHONS, similar, variables
from grader.engine.outcomes import CAUSE
from grader.engine.source_hints import is_short_for

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from grader.engine.outcomes import Outcome
    from grader.engine.source_lines import Definition, SourceLines
    from grader.sandbox.failures import FailedStatement

NOT_CALLABLE = re.compile(r"'\w+' object is not callable$")
NO_ATTRIBUTE = re.compile(r"'\w+' object has no attribute '(\w+)'$")
# Why a definition inside another statement does not count.
BLOCKS = {
    ast.ClassDef: "class `{}`",
    ast.FunctionDef: "function `{}`",
    ast.AsyncFunctionDef: "function `{}`",
    ast.AsyncFor: "`async for`",
    ast.AsyncWith: "`async with`",
    ast.TryStar: "`try`",
}


def on_undefined(
    exercise: str, unit: str, others: Collection[str], lines: SourceLines, lost: Sequence[FailedStatement]
) -> str:
    """Return a sentence on an exercise that is not defined: where its definition is, or what may be its name; or ""."""
    hint = _deleted(exercise, unit, lines, lost) or _nested(exercise, unit, lines) or _unread(exercise, unit, lines)
    if hint:
        return hint
    definitions = lines.definitions(unit)
    if hint := _in_another_file(exercise, unit, definitions, lines):
        return hint
    known = {node.name for _, node in definitions} - {*others, exercise}
    if found := similar(exercise, known):
        hint = f"Your file defines `{found}`: rename it to `{exercise}`."
    elif found := next((one for one in sorted(known) if is_short_for(one, exercise)), None):
        hint = f"Your file defines `{found}`: if that is it, rename it to `{exercise}`."
    else:
        return ""
    label, node = next(one for one in definitions if one[1].name == found)
    return hint_on_characters(hint, "", label, node.lineno, lines)


def _deleted(exercise: str, unit: str, lines: SourceLines, lost: Sequence[FailedStatement]) -> str:
    """Return a sentence on the statement outside of functions that deletes an exercise, or ""."""
    is_there = any(node.name == exercise for _, node in lines.definitions(unit))
    for label, top, line in lines.deletions(unit, exercise) if is_there else ():
        if not _is_lost(label, top, lost):
            return f"Line {line} of {label} deletes it: remove `{exercise}` there."
    return ""


def _unread(name: str, unit: str, lines: SourceLines) -> str:
    """Return a sentence on a comment or a string that has the definition of an exercise, or ""."""
    header = re.compile(rf"^[ \t]*(?:def|class)[ \t]+{name}[ \t]*[(:]", re.MULTILINE)
    for label, top in lines.statements(unit):
        for node in ast.walk(top) if isinstance(top, ast.Expr) else ():
            if isinstance(node, ast.Constant) and isinstance(node.value, str | bytes):
                text = node.value if isinstance(node.value, str) else node.value.decode(errors="replace")
                if header.search(text):
                    return f"It is only in the string that begins in line {node.lineno} of {label}: write it as code."
    for label, source in lines.sources(unit):
        for number, line in enumerate(source.split("\n"), 1):
            if line.lstrip().startswith("#") and header.match(line.lstrip().lstrip("#")):
                return f"Line {number} of {label} defines it in a comment: delete the `#` there."
    return ""


def _nested(exercise: str, unit: str, lines: SourceLines) -> str:
    """Return a sentence on the first definition of an exercise that is inside another statement, or ""."""
    if exercise not in lines.nested(unit):
        return ""
    label, owner, inner = lines.nested(unit)[exercise]
    kind = BLOCKS.get(type(owner), f"`{type(owner).__name__.lower()}`").format(getattr(owner, "name", ""))
    arguments = inner.args.args if isinstance(inner, ast.FunctionDef) else []
    no_self = " and delete `self`" if arguments and arguments[0].arg == "self" else ""
    where = f"Line {inner.lineno} of {label} defines it inside the {kind} of line {owner.lineno}"
    return f"{where}: move it to the left margin{no_self}."


def _in_another_file(
    exercise: str, unit: str, definitions: Sequence[tuple[str, Definition]], lines: SourceLines
) -> str:
    """Return a sentence on an exercise that another file defines, or whose file is for another unit, or ""."""
    file = lines.filename(unit)
    for other in lines.exercises:
        found = [(label, node.lineno) for label, node in lines.definitions(other) if node.name == exercise]
        if other != unit and found:
            label, line = found[-1]
            return f"Line {line} of {label} defines it: write it in {file}."
    names = {node.name for _, node in definitions}
    if names.isdisjoint(lines.exercises.get(unit, ())):
        for other, theirs in lines.exercises.items():
            if len(names.intersection(theirs)) > 1:
                return f"{file} defines the exercises of {other}: is it the wrong file?"
    return ""


def with_replacement(
    outcome: Outcome, unit: str, exercise: str, lines: SourceLines, lost: Sequence[FailedStatement]
) -> Outcome:
    """Return an error's outcome, with its cause if a line has replaced a function or a module by a value."""
    if outcome.kind != "raised" or outcome.is_explained:
        return outcome
    used = [exercise]  # An error without a line comes from the call of the exercise itself.
    if outcome.line:
        unit, used = lines.unit_of(outcome.file) or unit, _used(outcome, lines)
    for name in used:
        if place := _replaced(name, unit, lines, lost):
            where = f"line {place[1]} of {place[0]}, which gives `{name}` another value: use another name there."
            return replace(outcome, reason=f"{outcome.reason}{CAUSE}{where}", is_explained=True)
    return outcome


def _used(outcome: Outcome, lines: SourceLines) -> list[str]:
    """Return the names in a line, from outside of its function, that an error may be about."""
    around, missing = lines.around(outcome.file, outcome.line), NO_ATTRIBUTE.search(outcome.detail)
    found = []
    for node in ast.walk(around[-1]) if around else ():
        match node:
            case ast.Call(func=ast.Name(id=name)) if NOT_CALLABLE.search(outcome.detail):
                found.append((name, node.lineno))
            case ast.Attribute(value=ast.Name(id=name), attr=attribute) if missing and attribute == missing[1]:
                found.append((name, node.lineno))
    own = variables(around, outcome.line or 0)
    return [name for name, line in found if line == outcome.line and name not in own]


def _replaced(name: str, unit: str, lines: SourceLines, lost: Sequence[FailedStatement]) -> tuple[str, int] | None:
    """Return the place that gives a function, a class or a module another value, if nothing below it undoes that."""
    bindings = [one for one in lines.bindings(unit).get(name, ()) if not _is_lost(*one[:2], lost)]
    if not bindings or not (name in PYTHONS or any(not isinstance(node, ast.Name) for *_, node in bindings)):
        return None
    label, top, node = bindings[-1]
    return (label, node.lineno) if isinstance(node, ast.Name) and not _may_be_function(top, name) else None


def _may_be_function(statement: ast.stmt, name: str) -> bool:
    """Return whether a statement may give a name a function, such as a wrapper of the one that it had."""
    value = getattr(statement, "value", None)
    if isinstance(value, ast.Lambda | ast.Name | ast.Attribute):
        return True
    called = {id(node.func) for node in ast.walk(statement) if isinstance(node, ast.Call)}
    return any(
        isinstance(node, ast.Name) and node.id == name and isinstance(node.ctx, ast.Load) and id(node) not in called
        for node in ast.walk(statement)
    )


def _is_lost(label: str, top: ast.stmt, lost: Sequence[FailedStatement]) -> bool:
    """Return whether a statement has failed."""
    return any(one.file == label and top.lineno <= (one.line or 0) <= (top.end_lineno or 0) for one in lost)
