"""What to do about common errors of beginners, in a call or when a file is run: a sentence for each.

It is chosen by the error's text and the source.
"""

from __future__ import annotations

import ast
import difflib
import keyword
import re
from collections.abc import Sequence

from grader.engine import name_hints
from grader.engine.definition_hints import WITHOUT_SELF, on_stray_forward, written
from grader.engine.outcomes import Outcome
from grader.engine.source_lines import SourceLine, SourceLines
from grader.engine.tensor_hints import by_rule, hint_on_tensors, on_combination, unnamed_generator
from grader.sandbox.failures import NOT_PYTHON, FailedStatement
from grader.sandbox.statements import CONTINUING, OUTPUT, WORDS, is_code, kind_of, parse

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
    (r"you tried to allocate \d+ bytes", "A tensor in this line is too large for the memory: check its sizes."),
    (r"maximum recursion depth", "A function calls itself again and again: call another one, or stop at some point."),
    (
        r"'torch\.Size' object is not callable",
        "`shape` is no function: write `.shape` without brackets, or `.size()`.",
    ),
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
COMMENT = "If it is text and not code, begin it with `#`."
# A line of code in the file of a notebook.
OF_NOTEBOOK = r'^".*\\n",?$'
# By the text of the error and the code.
STATEMENTS = (
    ("is a Markdown fence|is an HTML tag|is printed output", "Delete it."),
    ("is a blank line with invisible", "Delete it, and type an empty line if you need one."),
    (r"(?:is|are) a pasted error message", "Delete it."),
    (r"(?:is|are) an HTML comment", "Delete it, or begin each line of it with `#`."),
    ("is a prompt", "Delete the prompt at the beginning of the line."),
    ("is a notebook command", "Delete it, and install packages in the terminal.", r"\b(?:pip3?|conda|mamba)\b"),
    ("is a notebook command", "Delete it: notebook commands do not work here."),
    ("is a command for the terminal", "Delete it, and run it in the terminal."),
    ("is a conflict marker", "Delete it, after you have decided which version of the code to keep."),
    ("unfinished merge", "Keep one version, and delete the lines with `<<<<<<<`, `=======` and `>>>>>>>`."),
    ("a cell that begins with", "Delete that line if the code below it is part of your answer."),
    ("inconsistent use of tabs", "Indent all lines of this block with spaces, or all of them with tabs."),
    (
        "unexpected indent",
        "If it is from a notebook's file, open the notebook and copy the code from there.",
        OF_NOTEBOOK,
    ),
    ("invalid syntax|unterminated", f"If the `>` marks a quotation, delete it. {COMMENT}", r"^>+(?: |$)"),
    ("invalid syntax", COMMENT, r"^(?:<?https?://|\[[^\[\]]*\]\(https?:)"),
    (
        "invalid syntax|unterminated",
        "A comment begins with `#` in each of its lines, not with `//` or `/*`.",
        r"^/[/*]|\*/$",
    ),
    ("invalid syntax|unterminated string", COMMENT, r"^(?:[$*]|([-=*_+])\1{2,}$)"),
    ("invalid syntax", "If it is no part of your code, delete it.", r"^[^\w\s()\[\]{}][^\w()\[\]{}]*$"),
    ("invalid syntax", "Is something missing at the end of the line?", r"[-+*/@%=&|]$"),
    ("unterminated", "The quote in it opens a string that does not end: close the string, or delete the quote."),
    ("after line continuation", f"Nothing may follow a `\\`, which joins two lines. {COMMENT}"),
    (r"'(?:return|yield)' outside", name_hints.OUTSIDE),
    ("unindent|unexpected indent", "Indent it like the other lines of its block."),
    (r"expected an indented block after .* on line (\d+)", "Indent the lines below line {} that belong to it."),
    ("expected ':'", "Write `elif`.", r"^else\s+if\b"),
    ("expected ':'", "Put a colon at the end of the line.", r"[^:]$"),
    (r"was never closed|unmatched|does not match opening", "Count the brackets here and in the lines around."),
)
THREAD = re.compile(r"\bThread\(|\.start\(\)")
RUNS_AT_ONCE = "While grading, the `start()` of a thread runs the thread's function to its end, and then returns."
# About the lines around it, said by `kind_of`, or of a call as in Python 2.
NO_TEXT = re.compile(r"(?:the line is|lines \d|a cell that|Missing parentheses)\b|.*\b(?:un)?indent")
BRACE = "Write a colon in place of the opening brace, and delete the closing one."
# What may be meant by `def`.
DEF = re.compile(r"(?i:def(?:ine)?|fn|func?|function)\s+\w+\s*\(")
# What statements begin with, and what the rest of a statement can belong to.
STARTS = {*keyword.kwlist} - {"False", "None", "True", "and", "as", "in", "is", "lambda", "not", "or"}
OWNERS = {
    "else": ("if 1: pass\n", "`if`, `for`, `while` or `try`"),
    "elif": ("if 1: pass\n", "`if`"),
    "except": ("try: pass\n", "`try`"),
    "finally": ("try: pass\n", "`try`"),
}


def hint_for(outcome: Outcome, place: SourceLine, lost: Sequence[FailedStatement] = ()) -> str:
    """Return a sentence on what to do about an error in this line, or "".

    lost: The statements that failed in the unit of the line.
    """
    if outcome.kind != "raised":
        return ""
    detail = outcome.detail
    if hint := on_refusal(outcome, place):
        return hint
    if missing := name_hints.MISSING_NAME.match(detail):
        return name_hints.on_missing_name(missing[1], place, lost)
    if near := name_hints.near_import(detail, place.lines):
        return f"Did you mean `{near}`?"
    if unbound := UNBOUND.search(detail):
        return f"Give `{unbound[1]}` a value before this line, on every way to it."
    if (refused := ARGUMENTS.match(detail)) and refused[1] in _numpy_calls(place):
        return NUMPY
    if takes := unnamed_generator(detail, place.text) or on_combination(detail):
        return takes
    if "NoneType" in detail and not refused:
        return _on_none(place)
    hint = hint_on_tensors(outcome, place) or _on_definition(outcome, place)
    return hint or name_hints.on_missing_attribute(detail, place.lines)


def _on_definition(outcome: Outcome, place: SourceLine) -> str:
    """Return a sentence on an error about a function or class that was called, or on a common error, or ""."""
    detail = outcome.detail
    if call := CALL_DIFFERS.match(detail):
        return "" if WITHOUT_SELF in outcome.reason else _on_arguments(call, place.lines, outcome.line is None)
    if forward := NO_FORWARD.search(detail):
        return _on_forward(forward[1], place.lines)
    if EMPTY_TEXT.search(detail) and "stdin" in dict(place.source.names):
        return STDIN
    return by_rule(TEXTS, detail, "")


def on_refusal(outcome: Outcome, place: SourceLine) -> str:
    """Return a sentence on what ends Python, or on the call that the sandbox refused, or "".

    A breakpoint stops at the line below it.
    """
    if ENDS.match(outcome.reason):
        return END
    if not REFUSED_CALLS.match(outcome.reason) and CLOSED not in outcome.detail:
        return ""
    names = [_called(call) for call in _calls(place)]
    around = [node for top in place.around[:1] for node in ast.walk(top) if isinstance(node, ast.Call)]
    names += [name for call in around if CALLS.get(name := _called(call)) == BREAKPOINT]
    return next((CALLS[name] for name in names if name in CALLS), "")


def _calls(place: SourceLine) -> list[ast.Call]:
    """Return the calls in a line."""
    nodes = [node for inner in place.around[-1:] for node in ast.walk(inner) if isinstance(node, ast.Call)]
    return [node for node in nodes if node.lineno <= place.number <= (node.end_lineno or 0)]


def _called(call: ast.Call) -> str:
    match call.func:
        case ast.Name(id=name) | ast.Attribute(value=ast.Name(id="pdb"), attr=name):
            return name
    return ""


def _numpy_calls(place: SourceLine) -> set[str]:
    """Return the functions of numpy that a line calls."""
    functions = [call.func for call in _calls(place) if isinstance(call.func, ast.Attribute)]
    return {one.attr for one in functions if written(one.value) in ("np", "numpy")}


def _on_none(place: SourceLine) -> str:
    """Return a sentence on a None in a line: which argument it may be, or else that a function may return it."""
    nodes = (node for inner in place.around[-1:] for node in ast.walk(inner) if isinstance(node, ast.Name))
    used = {node.id for node in nodes if node.lineno == place.number}
    for function in place.around:
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
    methods = [method for one in lines.classes(owner or "") for method in name_hints.methods_of(one, name)]
    if not methods and not (lines.functions(name) and not owner):
        return ""
    if is_called_by_test and any((owner or name) in exercises for exercises in lines.exercises.values()):
        differ = "The tests call it with the arguments of the stub: keep those in the `def`."
    else:
        differ = "The arguments of the `def` and of the call differ: compare them."
    if any(name_hints.self_of(method) != "self" and not method.decorator_list for method in methods):
        return f"{differ} A method has `self` first."
    return f"{differ} `self` is counted too." if methods and call["given"] else differ


def _on_forward(name: str, lines: SourceLines) -> str:
    """Return a sentence on a module of this class that was called and has no `forward`."""
    if name in ("ModuleList", "ModuleDict"):
        return f"An `nn.{name}` only holds modules: call those that are in it, for example in a loop."
    if any("forward" in name_hints.attributes_of(one) for one in lines.classes(name)):
        return "nn.Module has no `forward` of its own: do not call `super().forward`."
    if not lines.classes(name):
        return ""
    return on_stray_forward(name, lines) or "Define `forward` in the class: check its name and its indentation."


def hint_for_statement(failed: FailedStatement, lines: SourceLines, lost: Sequence[FailedStatement] = ()) -> str:
    """Return a sentence on what to do about a statement that failed when its file was run, or "".

    lost: all statements of its unit that failed.
    """
    place = lines.at(*(failed.trace[-1] if failed.trace else (failed.file, failed.line)))
    missing = name_hints.MISSING_NAME.match(failed.detail) if len(failed.trace) < 2 else None
    code = place.text
    if missing:
        # Some lines happen to be Python, such as `~~~ python`.
        kind = kind_of(code) or ("printed output" if OUTPUT.match(code) else "")
        on_line = f"The line is {kind}, not code: delete it." if kind else ""
        return on_line or name_hints.on_missing_name_at_top(missing[1], failed, lines, lost)
    if failed.reason.startswith("Stopped") and THREAD.search(code) and "Thread" in dict(place.source.names):
        return RUNS_AT_ONCE
    if failed.reason != NOT_PYTHON:
        raised = Outcome(False, "raised", failed.reason, failed.detail, place.number or None, place.file)
        return _on_import(failed.detail, place.around, lines) or hint_for(raised, place, lost)
    if hint := _on_margin(failed.detail, place) or _on_code(failed.detail, code):
        return hint
    if not NO_TEXT.match(failed.detail) and place.is_text:
        return COMMENT
    return name_hints.on_html(code) or by_rule(STATEMENTS, failed.detail, code)


def _on_import(detail: str, around: Sequence[ast.AST], lines: SourceLines) -> str:
    """Return a sentence on an import of a unit from a folder: `from .unit import name`; or ""."""
    match around[-1:]:
        case [ast.ImportFrom(level=level, module=module, names=names)]:
            folder, _, unit = (module or "").rpartition(".")
            if unit in lines.exercises:
                meant: ast.stmt = ast.ImportFrom(unit, names, 0)
            elif all(one.name in lines.exercises for one in names):
                folder, meant = module or "", ast.Import(names)
            else:
                return ""
        case [ast.Import(names=[ast.alias(name=name, asname=asname)])]:
            folder, _, unit = name.rpartition(".")
            level, meant = 0, ast.Import([ast.alias(unit, asname)])
            if unit not in lines.exercises:
                return ""
        case _:
            return ""
    first = folder.partition(".")[0]
    if (level and name_hints.RELATIVE in detail) or (first and detail.startswith(f"No module named '{first}'")):
        return f"The files are in one folder: write `{ast.unparse(meant)}`."
    return ""


def _on_margin(detail: str, place: SourceLine) -> str:
    """Return a sentence on an indented line that begins a statement, or ""."""
    is_margin = "unexpected indent" in detail and place.source.is_below_statement(place.number)
    if not is_margin or re.match(OF_NOTEBOOK, place.text):
        return ""
    if is_indented_together(place.source.lines[max(place.number - 1, 0) :]):
        return "All code from this line on is indented: move it to the left margin."
    if place.is_text:
        return COMMENT
    return "" if CONTINUING.match(place.text) else "Begin it at the left margin."


def is_indented_together(lines: Sequence[str]) -> bool:
    """Return whether lines have several statements that are all indented alike, and nothing to the left of them."""
    code = [line for line in lines if is_code(line)]
    margin = code[0][: -len(code[0].lstrip())] if code else ""
    begins = [line for line in code if not line.removeprefix(margin)[:1].isspace()]
    return bool(margin) and len(begins) > 1 and all(line.startswith(margin) for line in code)


def _on_code(detail: str, code: str) -> str:
    """Return a sentence on what is nearly Python in a line, or ""."""
    is_colon = "expected ':'" in detail
    if is_colon and (hint := _on_colon(code)):
        return hint
    return (_on_first_word(code) or _on_comment(code)) if is_colon or "invalid syntax" in detail else ""


def _on_colon(code: str) -> str:
    """Return a sentence on a colon that is missing within a line, or ""."""
    for space in re.finditer(r"\s+", code):
        before, after = code[: space.start()], code[space.end() :]
        if not isinstance(parse(f"{before}: {'pass ' if after.startswith('#') else ''}{after}"), SyntaxError):
            return f"Put a colon before `{after}`."
    return ""


def _on_first_word(code: str) -> str:
    """Return a sentence on a keyword that is misspelt at the beginning of a line, or has not what it needs, or ""."""
    [word, rest] = re.fullmatch(r"(\w*)(.*)", code, re.DOTALL).groups()  # type: ignore[union-attr]
    if rest.endswith("{") and _is_line(word, f"{rest[:-1].rstrip()}:"):
        return BRACE
    if word in OWNERS and _is_line(word, rest):
        return f"It belongs to no {OWNERS[word][1]}: one must end directly above it, with the same indentation."
    meant = "def" if DEF.match(code) else word.lower()
    if word != meant in STARTS and _is_line(meant, rest):
        return f"If it is code, write `{meant}` in place of `{word}`."
    near = difflib.get_close_matches(word, STARTS, cutoff=name_hints.NEAR) if word not in STARTS else []
    return next((f"Did you mean `{one}`?" for one in near if _is_line(one, rest)), "")


def _is_line(word: str, rest: str) -> bool:
    """Return whether a line that begins with this keyword is Python, with the lines that it needs around it."""
    above, ending = OWNERS.get(word, ("",))[0], " pass" if rest.endswith(":") else ""
    return not isinstance(parse(f"{above}{word}{rest}{ending}"), SyntaxError)


def _on_comment(code: str) -> str:
    """Return a sentence on a comment of another language behind code, or ""."""
    before, _, comment = code.partition("//")
    is_comment = WORDS.fullmatch(comment.strip()) and before.strip() and _is_line("", before.rstrip())
    return name_hints.NO_SLASHES if is_comment else ""
