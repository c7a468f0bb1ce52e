"""Sentences on what the source of an exercise has to do with its failure: its definition, form, methods and draws."""

from __future__ import annotations

import ast
import difflib
import re
from collections.abc import Collection, Iterator, Sequence
from dataclasses import replace

from grader.engine.name_hints import NEAR, PYTHONS, attributes_of, hint_on_characters, methods_of, similar, variables
from grader.engine.outcomes import CAUSE, Outcome
from grader.engine.source_lines import Definition, SourceLines, in_scope
from grader.sandbox.failures import FailedStatement
from grader.testing.draws import UNUSED_GENERATOR
from grader.text import in_words

# What a class without `__init__` raises, and calls that take no generator of torch.
NO_INIT = re.compile(r"__init__\(\)|has no attribute")
NO_GENERATOR = re.compile(r"(?i:\.dropout\d?d?)$|^(?:random|np\.random|numpy\.random)\.|\.sample$")
MOST_PLACES = 3
LOOPS = (ast.While, ast.For)
RESULTS = (ast.Return, ast.Yield, ast.YieldFrom)
# A last statement that may return on every way.
ENDS = (ast.Return, ast.Raise, ast.With, ast.Try, ast.Match)
# As the hidden and the visible checks say it.
GAVE_NONE = re.compile(r"\byours (?:gave|gives|is|returns) None\b")
# As the checks say it: a gradient is cut off, or a class lacks a parameter.
NO_GRADIENT = re.compile(r"^No gradient (?:flows|reaches)")
NO_PARAMETER = re.compile(r"^There is no (?:registered )?parameter ([\w.]+?)\.?(?:,|$)")
LACKS_ATTRIBUTE = re.compile(r"^`?(\w+)`? should be .*\byours is missing\b")
CUTTING = {"tensor": "torch.tensor(…)", "no_grad": "torch.no_grad()", "inference_mode": "torch.inference_mode()"}
Function = ast.FunctionDef | ast.AsyncFunctionDef
# As the checks say it. An exercise of another course may be a generator.
GENERATOR = re.compile(r"\byours (?:gave|gives|is|returns) an? (?:object|generator)\b|^No gradient", re.IGNORECASE)
# The sentence of a stub that names the arguments in their order.
TAKES = re.compile(r"^Takes (?:.|\n)*?\.(?=\s|$)", re.MULTILINE)
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
# How a sentence on a method without `self` ends.
WITHOUT_SELF = "the first argument of a method."


def on_methods(error: str, definition: ast.ClassDef) -> list[str]:
    """Return a sentence on a method without `self`, or with a name that is nearly `__init__`."""
    methods = methods_of(definition)
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


def on_source(outcome: Outcome, definition: Definition) -> list[str]:
    """Return sentences on what the source of an exercise has to do with a failure."""
    hints = on_return(definition) if GAVE_NONE.search(outcome.reason) else []
    if outcome.kind == "wrong":
        hints += on_loops(definition)
    if outcome.reason == UNUSED_GENERATOR:
        hints += on_draws(definition)
    if NO_GRADIENT.search(outcome.reason):
        hints += _on_gradients(definition)
    if missing := NO_PARAMETER.match(outcome.reason):
        hints += _on_parameter(missing[1], definition)
    if missing := LACKS_ATTRIBUTE.match(outcome.reason):
        hints += _on_attribute(missing[1], definition)
    return hints


def _on_gradients(definition: Definition) -> list[str]:
    """Return a sentence on the lines that may cut off gradients."""
    nodes = [node for node in ast.walk(definition) if isinstance(node, ast.expr)]
    found = sorted({(node.lineno, name) for node in nodes if (name := _cuts_off(node))})
    places = [f"`{name}` in line {line}" for line, name in found[:MOST_PLACES]]
    return [f"Check {in_words(places)}."] if places else []


def _cuts_off(node: ast.expr) -> str | None:
    """Return what cuts off a gradient, if this node may do so."""
    match node:
        case ast.Call(func=ast.Name("float"), args=[argument]) if not isinstance(argument, ast.Constant):
            return "float(…)"
        case ast.Call(func=ast.Attribute(value=ast.Name("torch"), attr=name)) if name in CUTTING:
            return CUTTING[name]
        case ast.Call(func=ast.Attribute(attr="detach" | "item" | "numpy" | "tolist" as name)):
            return f".{name}()"
        case ast.Attribute(attr="data"):
            return ".data"
    return None


def _on_parameter(name: str, definition: Definition) -> list[str]:
    """Return a sentence on a parameter that a class does not have: it is no parameter, or has another name."""
    first, _, rest = name.partition(".")
    if first not in attributes_of(definition):
        return _on_attribute(first, definition)
    return [] if rest else [f"Make `self.{first}` with `nn.Parameter(…)` in `__init__`."]


def _on_attribute(name: str, definition: Definition) -> list[str]:
    """Return a sentence on an attribute that a class does not have: it is only a variable, or has another name."""
    assigned = attributes_of(definition)
    if name in assigned:
        return []
    if line := line_of_variable(name, definition):
        return [f"`{name}` in line {line} is only a variable of `__init__`: write `self.{name}`."]
    # What the rules name is not to be renamed, as `norm2` to `norm1`.
    others = set(re.findall(r"\w+", ast.get_docstring(definition) or "")) | {
        one for one in assigned if one.rstrip("0123456789") == name.rstrip("0123456789")
    }
    near = similar(name, assigned - others, NEAR)
    return [f"Your class assigns `self.{near}`: rename it to `self.{name}`."] if near else []


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
    for loop in ast.walk(definition):
        if isinstance(loop, LOOPS) and not any(isinstance(inner, ast.Continue) for inner in in_scope(loop.body)):
            for node in loop.body:
                if isinstance(node, ast.Return):
                    return [
                        f"The `return` in line {node.lineno} ends the loop in its first pass: is it indented too far?"
                    ]
    return []


def on_return(definition: Definition) -> list[str]:
    """Return a sentence on each function of an exercise that returns nothing, although it is called for a value.

    Otherwise on a function that may end without a `return`: of a class, if it returns something elsewhere.
    """
    called = [node.value for node in ast.walk(definition) if isinstance(node, ast.Expr)]
    as_statements = {
        node.func.attr for node in called if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute)
    }
    functions = methods_of(definition) if isinstance(definition, ast.ClassDef) else [definition]
    methods = [one for one in functions if not one.name.startswith("__") and one.name not in as_statements]
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
    functions = methods_of(definition, "__init__")
    names = (node for one in functions for node in ast.walk(one) if isinstance(node, ast.Name) and node.id == name)
    return next((node.lineno for node in names if isinstance(node.ctx, ast.Store)), None)


def is_short_for(name: str, exercise: str) -> bool:
    """Return whether a name is a part of an exercise's name, or contains it, or is made of its initials."""
    mine, theirs = (one.replace("_", "").lower() for one in (name, exercise))
    initials = "".join(re.findall(r"(?:^|_)[a-z]|[A-Z]", exercise)).replace("_", "").lower()
    return mine == initials or (min(len(mine), len(theirs)) > 2 and (mine in theirs or theirs in mine))


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
    return hint_on_characters(hint, "", lines.at(label, node.lineno))


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
    around, missing = lines.at(outcome.file, outcome.line).around, NO_ATTRIBUTE.search(outcome.detail)
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
