"""What to do about common errors of beginners: a sentence for each, chosen by the error's text and the source."""

from __future__ import annotations

import ast
import re
from typing import TYPE_CHECKING

from grader.engine.names import (
    MISSING_NAME,
    attributes_of,
    methods_of,
    near_import,
    on_missing_attribute,
    on_missing_name,
    self_of,
)
from grader.engine.source_hints import WITHOUT_SELF, on_stray_forward, written
from grader.engine.tensor_hints import hint_on_tensors, on_combination, unnamed_generator

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from grader.engine.outcomes import Outcome
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
REFUSED_CALLS = re.compile(r"It raised (?:an? )?(?:PermissionError|FileNotFoundError|OSError|EOFError|BdbQuit)\.")
# `exit()` closes what `input()` reads from.
CLOSED = "I/O operation on closed file"
# What a number is made of if nothing was read.
EMPTY_TEXT = re.compile(r"invalid literal for int\(\) with base 10: ''|could not convert string to float: ''")
STDIN = "`sys.stdin` is empty while the grader runs: use the arguments."
# By the beginning of the reason, for what ends Python.
ENDS = re.compile(r"It raised (?:a )?SystemExit\.|It ended the Python process \(exit code")
END = "Delete what ends Python in this line: a function ends with `return`, and a file at its last line."

# What torch says where a device is missing.
NO_GPU = (
    r"not compiled with \w+ enabled|not linked with support for \w+ devices|NVIDIA driver|CUDA GPUs|re-initialize CUDA"
    r"|arguments from the '(?:CUDA|MPS|XPU|XLA|HPU)' backend",
    'There is no GPU while grading: delete what asks for one, such as `.cuda()`, `.to("cuda")`, `device="cuda"` or '
    '`torch.device("cuda")`; the same for other devices, such as `mps`.',
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
    (
        r"of 'super' object needs an argument|requires a 'super' object|type object 'super' has no attribute",
        "`super` lacks its brackets, as in `super().__init__()`.",
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
        "Dims count from 0, so the last of two is dim 1, or -1. Counted from the end, they fit any number of dims.",
    ),
    (
        r"you tried to allocate \d+ bytes",
        "A tensor in this line is too large for the memory: check its sizes.",
    ),
    (
        r"maximum recursion depth",
        "A function calls itself again and again: call another one, or stop at some point.",
    ),
    (r"'torch\.Size' object is not callable", "`shape` is no function: write `.shape` without brackets, or `.size()`."),
    (r"Can't call numpy\(\)", "Use torch's functions in place of numpy's: a numpy array has no gradients."),
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
# An error about the arguments of the function with this name.
ARGUMENTS = re.compile(
    r"^(\w+)\(\) .*(?:invalid combination of arguments|unexpected keyword argument|multiple values for)"
)
NUMPY = "Numpy's functions do not work on tensors: use torch's function, or the tensor's own method, with `dim`."
# A call that does not fit a `def`. Torch quotes the names of arguments in another way.
CALL_DIFFERS = re.compile(
    r"^(?:(?P<owner>\w+)\.)?(?P<name>\w+)\(\) "
    r"(?:takes .*positional arguments? but .*(?P<given>given)|missing \d+ required .*: '"
    r"|got an unexpected keyword argument|got multiple values for argument)"
)
NO_FORWARD = re.compile(r"Module \[(\w+)\] is missing the required \"forward\"")
UNBOUND = re.compile(r"local variable '(\w+)'")


def hint_for(outcome: Outcome, around: list[ast.AST], lines: SourceLines, lost: Sequence[FailedStatement] = ()) -> str:
    """Return a sentence on what to do about an error, or "".

    Args:
        outcome: What was raised.
        around: The definitions and statements around its line, the outermost first.
        lines: The submission.
        lost: The statements that failed in the unit of the line.
    """
    if outcome.kind != "raised":
        return ""
    line, detail = outcome.line or 0, outcome.detail
    if hint := on_refusal(outcome.reason, detail, line, around):
        return hint
    if missing := MISSING_NAME.match(detail):
        return on_missing_name(missing[1], outcome, around, lines, lost)
    if near := near_import(detail, lines):
        return f"Did you mean `{near}`?"
    if unbound := UNBOUND.search(detail):
        return f"Give `{unbound[1]}` a value before this line, on every way to it."
    if (refused := ARGUMENTS.match(detail)) and refused[1] in _numpy_calls(line, around):
        return NUMPY
    if unnamed := unnamed_generator(detail, lines.text(outcome.file, line)):
        return unnamed
    if takes := on_combination(detail):
        return takes
    if "NoneType" in detail and not ARGUMENTS.match(detail):
        return _on_none(line, around)
    about_tensors = hint_on_tensors(outcome, lines.text(outcome.file, line), lines)
    return about_tensors or _on_definition(outcome, lines) or on_missing_attribute(detail, lines)


def _on_definition(outcome: Outcome, lines: SourceLines) -> str:
    """Return a sentence on an error about a function or class that was called, or on a common error, or ""."""
    detail = outcome.detail
    if call := CALL_DIFFERS.match(detail):
        return "" if WITHOUT_SELF in outcome.reason else _on_arguments(call, lines, outcome.line is None)
    if forward := NO_FORWARD.search(detail):
        return _on_forward(forward[1], lines)
    if EMPTY_TEXT.search(detail) and "stdin" in dict(lines.names(outcome.file)):
        return STDIN
    return next((sentence for pattern, sentence in TEXTS if re.search(pattern, detail)), "")


def on_refusal(reason: str, detail: str, line: int, around: list[ast.AST]) -> str:
    """Return a sentence on what ends Python, or on the call that the sandbox refused, or "".

    A breakpoint stops at the line below it.
    """
    if ENDS.match(reason):
        return END
    if not REFUSED_CALLS.match(reason) and CLOSED not in detail:
        return ""
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
    return {one.attr for one in functions if written(one.value) in ("np", "numpy")}


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


def _on_arguments(call: re.Match[str], lines: SourceLines, is_called_by_test: bool) -> str:
    """Return a sentence on a call whose arguments do not fit a function or a method of the submission."""
    owner, name = call["owner"], call["name"]
    methods = [method for one in lines.classes(owner or "") for method in methods_of(one, name)]
    if not methods and not (lines.functions(name) and not owner):
        return ""
    if is_called_by_test and any((owner or name) in exercises for exercises in lines.exercises.values()):
        differ = "The tests call it with the arguments of the stub: keep those in the `def`."
    else:
        differ = "The arguments of the `def` and of the call differ: compare them."
    if any(self_of(method) != "self" and not method.decorator_list for method in methods):
        return f"{differ} A method has `self` first."
    return f"{differ} `self` is counted too." if methods and call["given"] else differ


def _on_forward(name: str, lines: SourceLines) -> str:
    """Return a sentence on a module of this class that was called and has no `forward`."""
    if name in ("ModuleList", "ModuleDict"):
        return f"An `nn.{name}` only holds modules: call those that are in it, for example in a loop."
    if any("forward" in attributes_of(one) for one in lines.classes(name)):
        return "nn.Module has no `forward` of its own: do not call `super().forward`."
    if not lines.classes(name):
        return ""
    return on_stray_forward(name, lines) or "Define `forward` in the class: check its name and its indentation."
