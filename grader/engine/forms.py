"""Sentences on the form of an exercise, which makes all its tests fail: a coroutine, a generator, its arguments."""

from __future__ import annotations

import ast
import re
from typing import TYPE_CHECKING

from grader.engine.source_lines import in_scope

if TYPE_CHECKING:
    from collections.abc import Iterator

    from grader.engine.source_lines import SourceLines

Function = ast.FunctionDef | ast.AsyncFunctionDef
# As the checks say it. An exercise of another course may be a generator.
GENERATOR = re.compile(r"\byours (?:gave|gives|is|returns) an? (?:object|generator)\b|^No gradient", re.IGNORECASE)
# The sentence of a stub that names the arguments in their order.
TAKES = re.compile(r"^Takes (?:.|\n)*?\.(?=\s|$)", re.MULTILINE)


def on_form(reason: str, exercise: str, unit: str, lines: SourceLines) -> list[str]:
    """Return a sentence on the form of an exercise with which no call gives what is expected.

    reason: why a test of it failed.
    """
    own = [node for _, node in lines.statements(unit) if getattr(node, "name", "") == exercise]
    found = [sentence for function in _called(own[-1]) for sentence in _on_function(function, reason)] if own else []
    return found[:1]


def _called(node: ast.stmt) -> list[Function]:
    """Return an exercise itself, or the methods of a class that its code does not call."""
    if isinstance(node, Function):
        return [node]
    methods = [one for one in getattr(node, "body", []) if isinstance(one, Function)]
    used = {one.attr for one in ast.walk(node) if isinstance(one, ast.Attribute)}
    return [one for one in methods if one.name not in used]


def _on_function(function: Function, reason: str) -> Iterator[str]:
    place = f"`{function.name}` in line {function.lineno}"
    if isinstance(function, ast.AsyncFunctionDef):
        yield f"{place} gives a coroutine, because it begins with `async`: delete `async`."
        return
    yields = [one.lineno for one in in_scope(function.body) if isinstance(one, ast.Yield | ast.YieldFrom)]
    if yields and GENERATOR.search(reason):
        yield f"{place} gives a generator, because of the `yield` in line {min(yields)}: return one result."
    names = [one.arg for one in function.args.args]
    takes = TAKES.search(ast.get_docstring(function) or "")
    quoted = [name for name in dict.fromkeys(re.findall(r"`(\w+)`", takes[0] if takes else "")) if name in names]
    mine = [name for name in names if name in quoted]
    if mine != quoted:
        right = iter(quoted)
        order = ", ".join(next(right) if name in quoted else name for name in names)
        yield f"{place} takes its arguments in another order than its docstring says: write `({order})`."
