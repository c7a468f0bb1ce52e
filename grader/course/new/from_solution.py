"""What the solution of a new exercise says about its hidden tests: its rules, and the arguments of a call.

The author writes the solution first. Its docstring has the rules, and the shapes of tensors as `weights` (T_q, T_k).
"""

from __future__ import annotations

import ast
import itertools
import json
import re
import textwrap
from collections.abc import Collection, Iterable, Iterator
from pathlib import Path
from typing import NamedTuple

from jinja2 import Environment, FileSystemLoader, StrictUndefined

from grader.course.guidance import stated_rules
from grader.course.modules import definitions_in, shown
from grader.errors import GraderError

# All different, so that mixed-up dimensions show.
_SIZES = (5, 3, 7, 4, 6, 8)
_UNKNOWN = (3, 4)  # the shape of a tensor that the docstring does not give
_TENSOR = re.compile(r"\b(torch\.)?Tensor\b")
_PLAIN = {"float": "0.5", "bool": "True", "str": '"a text"'}
# What a rule is about that a contract has.
_KINDS = {
    "dtype": re.compile(r"\bfloat(32|64)\b"),
    "gradients": re.compile(r"\bgradients?\b"),
    "kept": re.compile(r"\b(not|never) changed\b|\bunchanged\b|\bsame after the call as before\b"),
}
_MOST = 100  # characters of a text on one line
_WIDTH = 120


class SolutionError(GraderError):
    """The solution does not say enough; one sentence with its file and line."""


class Argument(NamedTuple):
    """An argument of a call: Python code for a drawn one, for one with sizes as numbers, and for a fixed one."""

    name: str
    drawn: str
    sized: str
    fixed: str


class Call:
    """How an exercise is called. sizes: the numbers of the letters in its shapes, and of its whole numbers."""

    def __init__(self, docstring: str, made: ast.FunctionDef | None, function: ast.FunctionDef) -> None:
        """Read the arguments without a default. made: `__init__` of a class."""
        text = " ".join(docstring.split())
        self.sizes: dict[str, int] = {}
        self._shapes: dict[str, str] = dict(re.findall(r"`(\w+)` \(([^()]*)\)", text))
        if several := re.search(r"\beach \(([^()]*)\)", text) or re.search(r"\(([^()]*)\) ->", text):
            self._shapes[""] = several[1]
        self._seed = 0
        self.made = [self._argument(one) for one in _required(made)] if made else []
        self.arguments = [self._argument(one) for one in _required(function)]

    def _size(self, letter: str) -> str:
        if letter.isidentifier():
            unused = (one for one in itertools.chain(_SIZES, itertools.count(9)) if one not in self.sizes.values())
            self.sizes.setdefault(letter, next(unused))
        return letter

    def _argument(self, given: ast.arg) -> Argument:
        annotation = ast.unparse(given.annotation) if given.annotation else ""
        if annotation == "int":
            number = str(self.sizes[self._size(given.arg)])
            return Argument(given.arg, given.arg, number, number)
        if not _TENSOR.search(annotation):
            plain = _PLAIN.get(annotation, "None")
            return Argument(given.arg, plain, plain, plain)
        shape = self._shapes.get(given.arg, self._shapes.get("", ""))
        letters = [one.strip().replace("…", "batch") for one in shape.split(",") if one.strip()]
        if not all(one.isidentifier() or one.isdigit() for one in letters):
            letters = []
        letters = [*map(self._size, letters)] or [*map(str, _UNKNOWN)]
        numbers = ", ".join(str(self.sizes.get(one, one)) for one in letters)
        fixed = f"numbers({numbers}{f', seed={self._seed}' if self._seed else ''})"
        self._seed += 1
        return Argument(given.arg, f"fresh({', '.join(letters)}, **dtype)", f"fresh({numbers})", fixed)


class Rule(NamedTuple):
    """A rule of the docstring, and what it is about: "dtype", "gradients", "kept", or "" for anything else.

    name: the name of its criterion, from its first words.
    """

    words: str
    kind: str
    name: str


def visible_and_hidden(path: Path, exercise: str) -> tuple[str, str] | None:
    """Return the texts of the visible test and of the suite of an exercise, or None if the unit does not define it.

    path: the unit's source.

    Raises:
        SolutionError: The solution has no rules, or is neither a function nor a class with `forward`.
    """
    text = path.read_text(encoding="utf-8")
    try:
        node = definitions_in(ast.parse(text).body).get(exercise)
    except SyntaxError as error:
        raise SolutionError(f"{shown(path)}:{error.lineno}: {error.msg}: correct it.") from None
    if node is None:
        return None
    place = f"{shown(path)}:{node.lineno}"
    is_class = isinstance(node, ast.ClassDef)
    methods = definitions_in(node.body) if isinstance(node, ast.ClassDef) else {"forward": node}
    made, function = methods.get("__init__"), methods.get("forward")
    if not isinstance(function, ast.FunctionDef) or not isinstance(made, ast.FunctionDef | None):
        raise SolutionError(
            f"{place}: {exercise} is neither a function nor a class with `forward`: write one of these."
        )
    assert isinstance(node, ast.FunctionDef | ast.ClassDef)
    docstring = ast.get_docstring(node) or ""
    if not (rules := [*_rules(stated_rules(docstring))]):
        raise SolutionError(
            f"{place}: the docstring of {exercise} states no rule: write each in a line that begins with a dash."
        )
    environment = Environment(
        loader=FileSystemLoader(Path(__file__).with_name("templates") / "solved"),
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    environment.filters["quoted"] = quoted
    environment.globals["joined"] = joined
    kinds = {one.kind for one in rules}
    values = {
        "exercise": exercise,
        "is_class": is_class,
        "rules": rules,
        "kinds": kinds - {""},
        "imports": _imports(kinds, is_class),
        "call": Call(docstring, made, function),
        "parameters": [ast.unparse(one) for one in _required(function)],
        "returns": ast.unparse(function.returns) if function.returns else "torch.Tensor",
        "last": _last_statement(text, node, function),
    }
    visible, suite = (environment.get_template(f"{name}.py.j2").render(values) for name in ("visible", "suite"))
    return visible, suite


def quoted(text: str, indent: int = 4) -> str:
    """Return the code of a text, on as many lines as it needs."""
    lines = [text] if "\n" in text else textwrap.wrap(text, _MOST, drop_whitespace=False, break_long_words=False)
    return f"\n{' ' * indent}".join(json.dumps(one, ensure_ascii=False) for one in lines)


def joined(before: str, items: Iterable[str], after: str, end: str = "") -> str:
    """Return a line of code with these items, or a line for each of them if that is too long."""
    items = [*items]
    line = f"{before}{', '.join(items)}{after}{end}"
    if len(line) <= _WIDTH and "\n" not in line:
        return line
    indent = " " * (len(before) - len(before.lstrip()))
    return "\n".join([before, *(f"{indent}    {one}," for one in items), f"{indent}{after}{end}"])


def _rules(stated: Iterable[str]) -> Iterator[Rule]:
    names: set[str] = set()
    for words in stated:
        kind = next((kind for kind, found in _KINDS.items() if found.search(words)), "")
        first = "_".join(re.findall(r"[A-Za-z0-9]+", words)[:7]).lower() or "rule"
        name = next(one for n in itertools.count(1) if (one := f"{first}_{n}" if n > 1 else first) not in names)
        names.add(name)
        yield Rule(words, kind, name)


def _imports(kinds: Collection[str], is_class: bool) -> str:
    """Return the statement that imports what a suite needs from grader.testing.suite."""
    is_contract = any(kinds)
    used = {
        "IN_BOTH_DTYPES": "dtype" in kinds,
        "Example": is_contract and not is_class,
        "Given": is_class,
        "asking": is_contract and not is_class,
        "contract": is_contract,
        "expect_right": is_class and "" in kinds,
        "kept_arguments": "kept" in kinds,
        "right_gradients": "gradients" in kinds,
        "right_results": "dtype" in kinds,
        "rule": "" in kinds,
    }
    names = [name for name, is_used in used.items() if is_used]
    line = f"from grader.testing.suite import {', '.join(names)}"
    return line if len(line) <= _WIDTH else joined("from grader.testing.suite import (", names, ")")


def _required(function: ast.FunctionDef) -> list[ast.arg]:
    """Return the arguments without a default, without `self`."""
    given = [*function.args.posonlyargs, *function.args.args]
    return [one for one in given[: len(given) - len(function.args.defaults)] if one.arg != "self"]


def _last_statement(text: str, node: ast.AST, function: ast.FunctionDef) -> tuple[str, int]:
    """Return the code of the last `return`, or else of the last simple statement, and how often it occurs."""
    simple = [one for one in ast.walk(function) if isinstance(one, ast.stmt) and not hasattr(one, "body")]
    last = max(simple, key=lambda one: (isinstance(one, ast.Return), one.lineno))
    segment = ast.get_source_segment(text, last) or ""
    return segment, (ast.get_source_segment(text, node) or "").count(segment)
