"""Sentences on what the source of a failed exercise has to do with its failure: methods, draws and names."""

from __future__ import annotations

import ast
import difflib
import re
from typing import TYPE_CHECKING

from grader.engine.names import methods_of
from grader.engine.source_lines import in_scope
from grader.text import in_words

if TYPE_CHECKING:
    from grader.engine.source_lines import Definition, SourceLines

# What a class without `__init__` raises, and calls that take no generator of torch.
NO_INIT = re.compile(r"__init__\(\)|has no attribute")
NO_GENERATOR = re.compile(r"(?i:\.dropout\d?d?)$|^(?:random|np\.random|numpy\.random)\.|\.sample$")
MOST_PLACES = 3
LOOPS = (ast.While, ast.For)
RESULTS = (ast.Return, ast.Yield, ast.YieldFrom)
# A last statement that may return on every way.
ENDS = (ast.Return, ast.Raise, ast.With, ast.Try, ast.Match)
# How a sentence on a method without `self` ends.
WITHOUT_SELF = "the first argument of a method."


def on_methods(error: str, definition: ast.ClassDef) -> list[str]:
    """Return a sentence on a method without `self`, or with a name that is nearly `__init__`."""
    methods = [one for one in definition.body if isinstance(one, ast.FunctionDef)]
    for one in methods:
        arguments = [argument.arg for argument in [*one.args.posonlyargs, *one.args.args, *one.args.kwonlyargs]]
        uses_self = any(isinstance(node, ast.Name) and node.id == "self" for node in ast.walk(one))
        if uses_self and arguments[:1] != ["self"] and not one.decorator_list:
            lacks = "begins with another argument than" if "self" in arguments else "lacks"
            return [f"`{one.name}` in line {one.lineno} {lacks} `self`, {WITHOUT_SELF}"]
    if "__init__" in {one.name for one in methods} or not NO_INIT.search(error):
        return []
    private = [one for one in methods if one.name.startswith("_")]
    near = [one for one in private if difflib.get_close_matches("init", [one.name.strip("_")], cutoff=0.7)]
    return [f"`{one.name}` in line {one.lineno} is not called `__init__`: rename it." for one in near[:1]]


def on_stray_forward(name: str, lines: SourceLines) -> str:
    """Return a sentence on a `forward` inside a method of a class, or at the left margin directly below it; or ""."""
    for unit in lines.exercises:
        found = lines.definitions(unit)
        for place, (label, owner) in enumerate(found):
            if owner.name != name:
                continue
            places: list[tuple[ast.AST, str]] = [
                (one, f"inside `{method.name}`") for method in methods_of(owner) for one in method.body
            ]
            places += [(one, "at the left margin") for other, one in found[place + 1 : place + 2] if other == label]
            for one, where in places:
                if isinstance(one, ast.FunctionDef) and one.name == "forward":
                    return f"Line {one.lineno} of {label} defines `forward` {where}: indent it as a method of `{name}`."
    return ""


def on_draws(definition: Definition) -> list[str]:
    """Return a sentence on the calls in an exercise that cannot draw from a generator of torch."""
    calls = [node.func for node in ast.walk(definition) if isinstance(node, ast.Call)]
    found = {(node.lineno, name) for node in calls if NO_GENERATOR.search(name := written(node))}
    by_line: dict[int, list[str]] = {}
    for line, name in sorted(found)[:MOST_PLACES]:
        by_line.setdefault(line, []).append(f"`{name}`")
    places = [f"{in_words(names)} in line {line}" for line, names in by_line.items()]
    takes = "takes" if len(found) == 1 else "take"
    return [f"{in_words(places)} {takes} no generator of torch."] if places else []


def written(node: ast.expr) -> str:
    """Return a name with its attributes and calls as it is written: `np.random.rand`, `Normal(…).sample`."""
    text = ""
    while isinstance(node, ast.Attribute | ast.Call):
        text = f"(…){text}" if isinstance(node, ast.Call) else f".{node.attr}{text}"
        node = node.func if isinstance(node, ast.Call) else node.value
    return f"{node.id}{text}" if isinstance(node, ast.Name) else text


def on_loops(definition: Definition) -> list[str]:
    """Return a sentence on the first loop that a `return` ends in its first pass: unless it can skip the `return`."""
    loops = (
        one
        for one in ast.walk(definition)
        if isinstance(one, LOOPS) and not any(isinstance(inner, ast.Continue) for inner in in_scope(one.body))
    )
    found = [node.lineno for loop in loops for node in loop.body if isinstance(node, ast.Return)]
    return [
        f"The `return` in line {line} ends the loop in its first pass: is it indented too far?" for line in found[:1]
    ]


def on_return(definition: Definition) -> list[str]:
    """Return a sentence on each function of an exercise that returns nothing, although it is called for a value.

    Otherwise on a function that may end without a `return`: of a class, if it returns something elsewhere.
    """
    functions = definition.body if isinstance(definition, ast.ClassDef) else [definition]
    called = [node.value for node in ast.walk(definition) if isinstance(node, ast.Expr)]
    as_statements = {
        node.func.attr for node in called if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute)
    }
    methods = [
        one
        for one in functions
        if isinstance(one, ast.FunctionDef) and not one.name.startswith("__") and one.name not in as_statements
    ]
    found = [f"`{one.name}` has no `return`." for one in methods if not _has(one, *RESULTS, ast.Raise)]
    if found:
        return found
    if isinstance(definition, ast.ClassDef):
        unsure = [one.name for one in methods if _has(one, ast.Return) and not isinstance(one.body[-1], ENDS)]
        return [f"Is there a `return` on every way through `{name}`?" for name in unsure]
    return ["Is there a `return` on every way through it?"]


def _has(function: ast.FunctionDef, *kinds: type[ast.AST]) -> bool:
    return any(isinstance(inner, kinds) for inner in ast.walk(function))


def line_of_variable(name: str, definition: Definition) -> int | None:
    """Return the line in which the `__init__` of a class gives a variable this name."""
    functions = [one for one in definition.body if isinstance(one, ast.FunctionDef) and one.name == "__init__"]
    names = (node for one in functions for node in ast.walk(one) if isinstance(node, ast.Name) and node.id == name)
    return next((node.lineno for node in names if isinstance(node.ctx, ast.Store)), None)


def is_short_for(name: str, exercise: str) -> bool:
    """Return whether a name is a part of an exercise's name, or contains it, or is made of its initials."""
    mine, theirs = (one.replace("_", "").lower() for one in (name, exercise))
    initials = "".join(re.findall(r"(?:^|_)[a-z]|[A-Z]", exercise)).replace("_", "").lower()
    return mine == initials or (min(len(mine), len(theirs)) > 2 and (mine in theirs or theirs in mine))
