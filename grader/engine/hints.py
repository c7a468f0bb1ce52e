"""What to do about common errors of beginners: a sentence for each, chosen by the error's text and the source.

What a sentence says of the source is read from it: a name is suggested only if it exists where it is missing.
"""

from __future__ import annotations

import ast
import builtins
import difflib
import re
import sys
from typing import TYPE_CHECKING

import torch

from grader.engine.outcomes import CAUSE, Outcome
from grader.engine.source_lines import COMPREHENSIONS, DEFINITIONS, bound_by, in_scope
from grader.sandbox.pieces import TEXT

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from grader.engine.source_lines import SourceLines
    from grader.sandbox.failures import FailedStatement

# By what is called, if the sandbox refused it.
BREAKPOINT = (
    "The grader cannot stop at a breakpoint: delete it. To stop there, run `pytest --pdb` in the file's folder."
)
CALLS = {
    "breakpoint": BREAKPOINT,
    "set_trace": BREAKPOINT,
    "input": "Nobody can type while the grader runs: delete `input()` and use the arguments.",
    "open": "The grader lets no file be read or written: delete `open()` and use the arguments.",
}
REFUSED_CALLS = re.compile(r"It raised an? (?:PermissionError|FileNotFoundError|OSError|EOFError|BdbQuit)\.")

# What torch says where a device is missing.
NO_GPU = (
    r"not compiled with \w+ enabled|not linked with support for \w+ devices|NVIDIA driver|CUDA GPUs|re-initialize CUDA",
    'There is no GPU while grading: delete `.cuda()` or `.to("cuda")`, and make tensors without `device="cuda"`; '
    "the same for other devices, such as `mps`.",
)
# By the text of the error.
TEXTS = (
    NO_GPU,
    (
        r"torch\.return_types\.(?:max|min|median|nanmedian|mode|sort|topk|kthvalue|cummax|cummin)\b",
        "With a dim, torch's `max`, `min`, `median` and so on return a pair (values, indices): use its `.values`.",
    ),
    (
        r"must be Tensor, not (?:int|float)\b",
        "A plain number is no tensor: use Python's own operators, such as `** 0.5` for a root, or `math`.",
    ),
    (r"before Module\.__init__\(\) call", "Begin `__init__` with `super().__init__()`."),
    (
        r"'(?!Tensor|Parameter)\w+' object has no attribute '_(?:parameters|modules|buffers|\w+_hooks)'",
        "Begin `__init__` with `super().__init__()`.",
    ),
    (
        r"leaf Variable that requires grad|leaf variable",
        "A parameter is changed inside `with torch.no_grad():`. Do not change any other tensor: make a new one.",
    ),
    (
        r"expected scalar type (?!Long|Int)|same dtype|must have the same dtype|mat1 and mat2 must have",
        "The tensors in this line have different dtypes: make new tensors with `dtype=x.dtype`, where x is the input.",
    ),
    (
        r"Dimension out of range",
        "Dims count from 0, so the last of two is dim 1, or -1.",
    ),
    (
        r"maximum recursion depth",
        "A function calls itself again and again: call another one, or stop at some point.",
    ),
    (r"'torch\.Size' object is not callable", "`shape` is no function: write `.shape` without brackets, or `.size()`."),
    (r"Can't call numpy\(\)", "Stay with torch: a numpy array has no gradients."),
    (r"view size is not compatible", "Use `reshape` in place of `view`, or call `.contiguous()` first."),
    (
        r"'tuple' object has no attribute|must be Tensor, not tuple",
        "Something in this line is a tuple: unpack it first, as in `a, b = …`.",
    ),
    (
        r"'list' object has no attribute|must be Tensor, not list",
        "Something in this line is a list: make a tensor of it first.",
    ),
)
IMPORTS = {
    "F": "import torch.nn.functional as F",
    "math": "import math",
    "nn": "from torch import nn",
    "np": "import numpy as np",
    "numpy": "import numpy",
    "random": "import random",
    "Tensor": "from torch import Tensor",
    "torch": "import torch",
}
# By the text of the error and the code, for a statement that failed when the file was run.
STATEMENTS = (
    ("is a Markdown fence|is an HTML tag", "", "Delete it."),
    ("is a prompt", "", "Delete the prompt at the beginning of the line."),
    ("is a notebook command", "", "Delete it: notebook commands do not work here. Install packages in the terminal."),
    ("is a command for the terminal", "", "Delete it, and run it in the terminal."),
    ("is a conflict marker", "", "Delete it, after you have decided which version of the code to keep."),
    ("unfinished merge", "", "Keep one version, and delete the lines with `<<<<<<<`, `=======` and `>>>>>>>`."),
    ("a cell that begins with", "", "Delete that line if the code below it is part of your answer."),
    ("invalid syntax|unterminated string", f"^(?:{TEXT.pattern})", "If it is text and not code, begin it with `#`."),
    (NO_GPU[0], "", NO_GPU[1]),
    ("unindent|unexpected indent", "", "Indent it like the other lines of its block."),
    (r"expected an indented block after .* on line (\d+)", "", "Indent the lines below line {} that belong to it."),
    ("expected ':'", r"^else\s+if\b", "Write `elif`."),
    ("expected ':'", r"[^:]$", "Put a colon at the end of the line."),
    (r"was never closed|unmatched|does not match opening", "", "Count the brackets here and in the lines around."),
)
LONGEST_NAME, MOST_NAMES = 100, 2000
# How similar a name of a library has to be: there are many.
NEAR = 0.75
# An error about the arguments of the function with this name.
ARGUMENTS = re.compile(
    r"^(\w+)\(\) .*(?:invalid combination of arguments|unexpected keyword argument|multiple values for)"
)
NUMPY = "Numpy's functions do not work on tensors: use torch's function, or the tensor's own method, with `dim`."
# A call that does not fit a `def`. Torch quotes the names of arguments in another way.
CALL_DIFFERS = re.compile(
    r"^(?:(?P<owner>\w+)\.)?(?P<name>\w+)\(\) (?:takes .*positional arguments? but .*given|missing \d+ required .*: '"
    r"|got an unexpected keyword argument|got multiple values for argument)"
)
NO_FORWARD = re.compile(r"Module \[(\w+)\] is missing the required \"forward\"")
MISSING_NAME = re.compile(r"name '(\w+)' is not defined")
MISSING_IMPORT = re.compile(
    r"cannot import name '(?P<name>\w+)' from '(?P<source>[\w.]+)'|No module named '(?P<module>\w+)'"
)
MODULES = ("math", "numpy", "random", "torch")
# Loaded with torch.
PARTS = (*MODULES, "torch.nn", "torch.nn.functional", "torch.nn.init")
MISSING_ATTRIBUTE = re.compile(
    r"(?:'(?P<kind>\w+)' object|module '(?P<module>[\w.]+)') has no attribute '(?P<name>\w+)'"
)
UNBOUND = re.compile(r"local variable '(\w+)'")


def hint_for(outcome: Outcome, around: list[ast.AST], lines: SourceLines, lost: Sequence[FailedStatement] = ()) -> str:
    """Return a sentence on what to do about an error, or "".

    Args:
        outcome: What was raised.
        around: The definitions and statements around its line, the outermost first.
        lines: The submission.
        lost: The statements that failed in the unit of the line.
    """
    if outcome.kind != "raised" or CAUSE in outcome.reason:
        return ""
    line, detail = outcome.line or 0, outcome.detail
    if REFUSED_CALLS.match(outcome.reason):
        return _on_refused_call(line, around)
    if missing := MISSING_NAME.match(detail):
        return _on_missing_name(missing[1], outcome, around, lines, lost)
    if near := _near_import(detail, lines):
        return f"Did you mean `{near}`?"
    if unbound := UNBOUND.search(detail):
        return f"Give `{unbound[1]}` a value before this line, on every way to it."
    if (refused := ARGUMENTS.match(detail)) and refused[1] in _numpy_calls(line, around):
        return NUMPY
    if "NoneType" in detail:
        return _on_none(line, around)
    if call := CALL_DIFFERS.match(detail):
        return _on_arguments(call, lines)
    if forward := NO_FORWARD.search(detail):
        return _on_forward(forward[1], lines)
    general = next((sentence for pattern, sentence in TEXTS if re.search(pattern, detail)), "")
    return general or _on_missing_attribute(detail, lines)


def hint_for_statement(failed: FailedStatement, lines: SourceLines, lost: Sequence[FailedStatement] = ()) -> str:
    """Return a sentence on what to do about a statement that failed when its file was run, or "".

    lost: all statements of its unit that failed.
    """
    if len(failed.trace) > 1:
        file, line = failed.trace[-1]
        raised = Outcome(False, "raised", failed.reason, failed.detail, line, file)
        return hint_for(raised, lines.around(file, line), lines, lost)
    if near := _near_import(failed.detail, lines):
        return f"Did you mean `{near}`?"
    if missing := MISSING_NAME.match(failed.detail):
        return _on_missing_name_at_top(missing[1], failed, lines, lost)
    code = lines.text(failed.file, failed.line)
    for error, begins, hint in STATEMENTS:
        if (found := re.search(error, failed.detail)) and re.search(begins, code):
            return hint.format(*found.groups())
    return _on_missing_attribute(failed.detail, lines)


def _on_missing_name(
    name: str, outcome: Outcome, around: list[ast.AST], lines: SourceLines, lost: Sequence[FailedStatement]
) -> str:
    """Return a sentence on a name that does not exist in a function."""
    unit, (owner, method) = lines.unit_of(outcome.file), (*around, None, None)[:2]
    if _is_lost(name, lost):
        return ""  # that statement has a message of its own
    if hint := _on_import(name, outcome.file, lines, None):
        return hint
    if isinstance(owner, ast.ClassDef) and (this := _self_of(method)) and name in attributes_of(owner):
        return f"Did you mean `{this}.{name}`?"
    if name in lines.names_of_program(unit):
        return (
            'It has a value only under `if __name__ == "__main__":`, which does not run here: make it an argument, or '
            "give it a value in this function."
        )
    own = _variables(around, outcome.line or 0) | lines.names_at_top(unit, lost)
    if near := similar(name, own) or similar(name, PYTHONS, NEAR):
        return f"Did you mean `{near}`?"
    is_inside = any(isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) for node in around)
    return "Give it a value in this function: names inside other functions do not exist here." if is_inside else ""


def _on_missing_name_at_top(
    name: str, failed: FailedStatement, lines: SourceLines, lost: Sequence[FailedStatement]
) -> str:
    """Return a sentence on a name that does not exist outside of functions."""
    unit, place = lines.unit_of(failed.file), (failed.file or "", failed.line or 0)
    if _is_lost(name, [one for one in lost if one != failed]):
        return ""
    if hint := _on_import(name, failed.file, lines, place):
        return hint
    if name in lines.names_at_top(unit, lost):
        return "It gets its value below this line: move that up, or this line down."
    if near := similar(name, lines.names_at_top(unit, lost, place)) or similar(name, PYTHONS, NEAR):
        return f"Did you mean `{near}`?"
    if any(isinstance(node, DEFINITIONS) for node in lines.around(*place)[:1]):
        return "It is needed when the definition is read, before any call: give it a value above."
    return "It is outside of every function: indent it if it belongs to one."


def _is_lost(name: str, lost: Sequence[FailedStatement]) -> bool:
    """Return whether a statement that failed would have bound a name."""
    return any(name in one.names and name not in one.kept for one in lost)


def _on_import(name: str, file: str | None, lines: SourceLines, before: tuple[str, int] | None) -> str:
    """Return a sentence on the import of a name that is missing or does not count; "" if it is not one to import.

    before: the label and line of the statement that lacks it, outside of functions.
    """
    unit, where = lines.unit_of(file), "at the top of the file"
    if ".ipynb, cell " in (file or ""):
        where = "in the first code cell"
    found = lines.import_in(unit, name)
    if not found:
        needed = IMPORTS.get(name) or lines.import_of(name, unit)
        return f"Add `{needed}` {where}." if needed else ""
    label, line, is_at_top = found
    place = f"line {line}" if label == file else f"line {line} of {label}"
    if is_at_top and name in lines.names_at_top(unit, (), before):
        return f"{place[0].upper()}{place[1:]} imports `{name}`: is it deleted afterwards?"
    return f"The import of `{name}` in {place} does not count here: it belongs {where}."


def _on_refused_call(line: int, around: list[ast.AST]) -> str:
    """Return a sentence on the call that the sandbox refused. A breakpoint stops at the line below it."""
    names = [_called(call) for call in _calls(line, around)]
    names += [name for call in _calls(None, around[:1]) if CALLS.get(name := _called(call)) == BREAKPOINT]
    return next((CALLS[name] for name in names if name in CALLS), "")


def _calls(line: int | None, around: list[ast.AST]) -> Iterator[ast.Call]:
    """Yield the calls in the innermost of these nodes, by default in all of its lines."""
    for node in ast.walk(around[-1]) if around else ():
        if isinstance(node, ast.Call) and (line is None or node.lineno <= line <= (node.end_lineno or 0)):
            yield node


def _called(call: ast.Call) -> str:
    match call.func:
        case ast.Name(id=name) | ast.Attribute(value=ast.Name(id="pdb"), attr=name):
            return name
    return ""


def _numpy_calls(line: int, around: list[ast.AST]) -> set[str]:
    """Return the functions of numpy that a line calls."""
    functions = [call.func for call in _calls(line, around) if isinstance(call.func, ast.Attribute)]
    return {one.attr for one in functions if ast.unparse(one.value) in ("np", "numpy")}


def _on_none(line: int, around: list[ast.AST]) -> str:
    """Return a sentence on a None in a line: which argument it may be, or else that a function may return it."""
    nodes = ast.walk(around[-1]) if around else ()
    used = {node.id for node in nodes if isinstance(node, ast.Name) and node.lineno == line}
    for function in around:
        if isinstance(function, ast.FunctionDef):
            given = function.args
            pairs = [*zip(given.args[::-1], given.defaults[::-1], strict=False)]
            pairs += zip(given.kwonlyargs, given.kw_defaults, strict=True)  # type: ignore[arg-type]
            for argument, default in pairs:
                if argument.arg in used and isinstance(default, ast.Constant) and default.value is None:
                    return f"Something in this line is None: is it `{argument.arg}`, whose default is None?"
    return "Something in this line is None: does every function that it uses `return` its result?"


def _on_arguments(call: re.Match[str], lines: SourceLines) -> str:
    """Return a sentence on a call whose arguments do not fit a function or a method of the submission."""
    differ = "The arguments of the `def` and of the call differ: compare them."
    if not call["owner"]:
        return differ if lines.functions(call["name"]) else ""
    methods = [method for owner in lines.classes(call["owner"]) for method in _methods(owner, call["name"])]
    lacks_self = any(_self_of(method) != "self" and not method.decorator_list for method in methods)
    return f"{differ} A method has `self` first." if lacks_self else differ if methods else ""


def _on_forward(name: str, lines: SourceLines) -> str:
    """Return a sentence on a module of this class that was called and has no `forward`."""
    if name in ("ModuleList", "ModuleDict"):
        return f"An `nn.{name}` only holds modules: call those that are in it, for example in a loop."
    if any("forward" in attributes_of(one) for one in lines.classes(name)):
        return "nn.Module has no `forward` of its own: do not call `super().forward`."
    return "Define `forward` in the class: check its name and its indentation." if lines.classes(name) else ""


def _near_import(detail: str, lines: SourceLines) -> str | None:
    """Return what an import probably means: a name of another unit or of a library, or a module."""
    missing = MISSING_IMPORT.match(detail)
    if not missing:
        return None
    if source := missing["source"]:
        known = _public(sys.modules[source]) if source in PARTS else lines.names_at_top(source)
        # A name that is there in the source has failed.
        return None if missing["name"] in known else similar(missing["name"], known)
    known = {*MODULES, *lines.exercises}
    return None if missing["module"] in known else similar(missing["module"], known, NEAR)


def _on_missing_attribute(detail: str, lines: SourceLines) -> str:
    """Return a sentence on an attribute that an object or a module does not have, or ""."""
    missing = MISSING_ATTRIBUTE.search(detail)
    if not missing:
        return ""
    own = lines.classes(missing["kind"] or "")
    if module := missing["module"]:
        near = similar(missing["name"], _public(sys.modules[module]), NEAR) if module in PARTS else None
    elif own:
        attributes = attributes_of(own[-1])
        if missing["name"] in attributes:
            return f"The class gives `{missing['name']}` a value: does that line run before this one?"
        near = similar(missing["name"], attributes) or similar(missing["name"], _public(torch.nn.Module), NEAR)
    else:
        places = (torch, builtins, torch.nn, torch.nn.parameter)
        kinds = [getattr(place, missing["kind"], None) for place in places]
        near = next((similar(missing["name"], _public(kind), NEAR) for kind in kinds if isinstance(kind, type)), None)
    return f"Did you mean `{near}`?" if near else ""


def _public(owner: object) -> set[str]:
    """Return the public names of a module, or of the objects of a class."""
    return {name for name in (*dir(owner), *getattr(owner, "__annotations__", ())) if not name.startswith("_")}


PYTHONS = _public(builtins)


def similar(name: str, names: set[str], cutoff: float = 0.6) -> str | None:
    """Return the other name that is most similar to this one, if there is one."""
    # Sorted, so that the result is always the same; bounded, because a student may define any number.
    some = sorted(one for one in names - {name} if len(one) <= LONGEST_NAME)[:MOST_NAMES]
    found = difflib.get_close_matches(name[:LONGEST_NAME], some, n=1, cutoff=cutoff)
    return found[0] if found else None


def _variables(around: list[ast.AST], line: int) -> set[str]:
    """Return the arguments and variables that a line in these functions can use."""
    found: set[str] = set()
    for function in around:
        if isinstance(function, ast.FunctionDef | ast.AsyncFunctionDef):
            found |= {one.arg for one in ast.walk(function.args) if isinstance(one, ast.arg)}
            for node in in_scope(function.body):
                found.update(bound_by(node))
                if isinstance(node, COMPREHENSIONS) and node.lineno <= line <= (node.end_lineno or 0):
                    found |= {name for one in ast.walk(node) for name in bound_by(one)}
    return found


def _methods(owner: ast.AST, name: str | None = None) -> list[ast.FunctionDef]:
    """Return the methods of a class, or those of this name."""
    body = owner.body if isinstance(owner, ast.ClassDef) else []
    return [one for one in body if isinstance(one, ast.FunctionDef) and name in (None, one.name)]


def _self_of(method: ast.AST | None) -> str | None:
    """Return what a method calls its object."""
    arguments = method.args.args if isinstance(method, ast.FunctionDef) else []
    return arguments[0].arg if arguments else None


def attributes_of(owner: ast.AST) -> set[str]:
    """Return the attributes that a class gives its objects, with its methods."""
    found = {name for node in in_scope(getattr(owner, "body", [])) for name in bound_by(node)}
    for method in _methods(owner):
        for node in ast.walk(method):
            match node:
                case ast.Attribute(value=ast.Name(id=name), attr=attribute, ctx=ast.Store()):
                    if name == _self_of(method):
                        found.add(attribute)
                case ast.Call(func=ast.Attribute(attr=function), args=[ast.Constant(value=str(attribute)), *_]):
                    if function in ("register_buffer", "register_parameter", "register_module", "add_module"):
                        found.add(attribute)
    return found
