"""What to do about common errors of beginners: a sentence for each, chosen by the error's text and the line's code."""

from __future__ import annotations

import ast
import difflib
import re
from typing import TYPE_CHECKING

from grader.engine.outcomes import CAUSE
from grader.sandbox.pieces import TEXT

if TYPE_CHECKING:
    from grader.engine.outcomes import Outcome
    from grader.engine.source_lines import SourceLines
    from grader.sandbox.failures import FailedStatement

# By what the line calls, if the sandbox refused it.
CALLS = (
    (
        r"\bbreakpoint\(|\bset_trace\(",
        "The grader cannot stop at a breakpoint: delete it. To stop there, run `pytest --pdb` in the file's folder.",
    ),
    (r"\binput\(", "Nobody can type while the grader runs: delete `input()` and use the arguments."),
    (r"\bopen\(", "The grader lets no file be read or written: delete `open()` and use the arguments."),
)
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
        r"torch\.return_types\.",
        "With a dim, torch's `max`, `min`, `median` and so on return a pair (values, indices): use its `.values`.",
    ),
    (
        r"must be Tensor, not (?:int|float)\b",
        "A plain number is no tensor: use Python's own operators, such as `** 0.5` for a root, or `math`.",
    ),
    (r"before Module\.__init__\(\) call", "Begin `__init__` with `super().__init__()`."),
    (
        r"object has no attribute '_(?:parameters|modules|buffers|\w+_hooks)'",
        "Begin `__init__` with `super().__init__()`.",
    ),
    (
        r"NoneType",
        "Something in this line is None: does every function that it uses `return` its result?",
    ),
    (r"missing the required \"forward\"", "Define `forward` in the class: check its name and its indentation."),
    (
        r"takes .*positional arguments? but .*given|missing \d+ required|unexpected keyword argument",
        "The arguments of the `def` and of the call differ: compare them. A method has `self` first.",
    ),
    (
        r"leaf Variable that requires grad|leaf variable",
        "To change a parameter's values, write the line inside `with torch.no_grad():`, or change them before "
        "`nn.Parameter(…)`.",
    ),
    (
        r"expected scalar type|same dtype|must have the same dtype|mat1 and mat2 must have",
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
    ("unindent|unexpected indent|expected an indented block", "", "Indent it like the other lines of its block."),
    ("expected ':'", "", "Put a colon at the end of the line."),
    (r"was never closed|unmatched|does not match opening", "", "Count the brackets here and in the lines around."),
    (r"^name '\w+' is not defined", "", "It is outside of every function: indent it if it belongs to one."),
)
LONGEST_NAME, MOST_NAMES = 100, 1000
# A call of numpy in a line that raised an error about arguments.
NUMPY_CALL = re.compile(r"\b(?:np|numpy)\.\w+")
ARGUMENTS = re.compile(r"invalid combination of arguments|unexpected keyword argument|multiple values for")
NUMPY = "Numpy's functions do not work on tensors: use torch's function, or the tensor's own method, with `dim`."
MISSING_NAME = re.compile(r"name '(\w+)' is not defined")
MISSING_IMPORT = re.compile(
    r"cannot import name '(?P<name>\w+)' from '(?P<source>\w+)'|No module named '(?P<module>\w+)'"
)
MODULES = ("math", "numpy", "random", "torch")
MISSING_ATTRIBUTE = re.compile(r"object has no attribute '(\w+)'")
UNBOUND = re.compile(r"local variable '(\w+)'")


def hint_for(outcome: Outcome, code: str, around: list[ast.AST], lines: SourceLines) -> str:
    """Return a sentence on what to do about an error, or "".

    Args:
        outcome: What was raised.
        code: The text of the line.
        around: The definitions and statements around it, the outermost first.
        lines: The submission.
    """
    if outcome.kind != "raised" or CAUSE in outcome.reason:
        return ""
    if REFUSED_CALLS.match(outcome.reason):
        # A breakpoint stops at the line below it.
        body = (lines.text(outcome.file, number) for number in _numbers(around))
        code = "\n".join([code, *body])
        return next((sentence for pattern, sentence in CALLS if re.search(pattern, code)), "")
    if missing := MISSING_NAME.match(outcome.detail):
        return _missing_name(missing[1], around, outcome.file, lines)
    if near := _near_import(outcome.detail, lines):
        return f"Did you mean `{near}`?"
    if unbound := UNBOUND.search(outcome.detail):
        return f"Give `{unbound[1]}` a value before this line, on every way to it."
    if NUMPY_CALL.search(code) and ARGUMENTS.search(outcome.detail):
        return NUMPY
    general = next((sentence for pattern, sentence in TEXTS if re.search(pattern, outcome.detail)), "")
    if not general and (attribute := MISSING_ATTRIBUTE.search(outcome.detail)):
        near = similar(attribute[1], _attributes(around))
        return f"Did you mean `{near}`?" if near else ""
    return general


def hint_for_statement(failed: FailedStatement, lines: SourceLines) -> str:
    """Return a sentence on what to do about a statement that failed when its file was run, or ""."""
    if near := _near_import(failed.detail, lines):
        return f"Did you mean `{near}`?"
    if missing := MISSING_NAME.match(failed.detail):
        needed = IMPORTS.get(missing[1]) or lines.import_of(missing[1], lines.unit_of(failed.file))
        if needed:
            return _add_import(needed, failed.file)
    code = lines.text(failed.file, failed.line)
    found = (hint for error, line, hint in STATEMENTS if re.search(error, failed.detail) and re.search(line, code))
    return next(found, "")


def _add_import(needed: str, file: str | None) -> str:
    where = "in the first code cell" if ".ipynb, cell " in (file or "") else "at the top of the file"
    return f"Add `{needed}` {where}."


def _missing_name(name: str, around: list[ast.AST], file: str | None, lines: SourceLines) -> str:
    if needed := IMPORTS.get(name) or lines.import_of(name, lines.unit_of(file)):
        return _add_import(needed, file)
    if name in _attributes(around):
        return f"Did you mean `self.{name}`?"
    near = similar(name, _variables(around) | lines.names_at_top(file or ""))
    if near:
        return f"Did you mean `{near}`?"
    return "Give it a value in this function: names inside other functions do not exist here."


def _near_import(detail: str, lines: SourceLines) -> str | None:
    """Return what an import probably means: a name of another unit, or a module."""
    missing = MISSING_IMPORT.match(detail)
    if missing and missing["name"]:
        return similar(missing["name"], {node.name for _, node in lines.definitions(missing["source"])})
    return similar(missing["module"], {*MODULES, *lines.exercises}) if missing else None


def similar(name: str, names: set[str]) -> str | None:
    """Return the name most similar to this one, if there is one."""
    # Sorted, so that the result is always the same; bounded, because a student may define any number.
    some = sorted(one for one in names if len(one) <= LONGEST_NAME)[:MOST_NAMES]
    found = difflib.get_close_matches(name[:LONGEST_NAME], some, n=1)
    return found[0] if found else None


def _numbers(around: list[ast.AST]) -> range:
    """Return the numbers of the lines of the definition around a line."""
    if not around:
        return range(0)
    return range(around[0].lineno, (around[0].end_lineno or 0) + 1)  # type: ignore[attr-defined]


def _variables(around: list[ast.AST]) -> set[str]:
    """Return the arguments and variables of the functions around a line."""
    functions = [node for node in around if isinstance(node, ast.FunctionDef)]
    nodes = [one for function in functions for one in ast.walk(function)]
    stored = {node.id for node in nodes if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)}
    return stored | {node.arg for node in nodes if isinstance(node, ast.arg)}


def _attributes(around: list[ast.AST]) -> set[str]:
    """Return the attributes that the class around a line sets."""
    nodes = ast.walk(around[0]) if around else ()
    return {node.attr for node in nodes if isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store)}
