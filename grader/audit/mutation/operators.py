"""What an operator is: it makes the code that may stand in one place of a definition, often by rules in text.

A rule is `PATTERN -> TEMPLATE; TEMPLATE`, all in Python, with or without templates. A name in capitals stands for any
expression, `*A` and `**K` for the rest of the arguments, an attribute of two capitals or more for any attribute, and IT
for the whole. `{a|b}` stands for a or b, and `{}` in a template for the same one. The template `pass` is nothing.
"""

from __future__ import annotations

import ast
import functools
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

Changed = ast.AST | list[ast.stmt]
"""What stands in the place of a node; some statements, or none, where it was a statement."""
Changes = Iterator[Changed]


@dataclass(frozen=True)
class Place:
    """A node of an exercise's definition, with all that stands around it, the outermost first.

    field, index: where the node is in the innermost of them; index is None where the field is no list.
    """

    node: ast.AST
    around: tuple[ast.AST, ...]
    field: str
    index: int | None

    @property
    def parent(self) -> ast.AST:
        """The innermost node around it."""
        return self.around[-1]

    @property
    def function(self) -> ast.FunctionDef | None:
        """The innermost function around it."""
        return next((node for node in reversed(self.around) if isinstance(node, ast.FunctionDef)), None)

    @property
    def line(self) -> int:
        """The line in the solution's file."""
        return int(next(node.lineno for node in (self.node, *reversed(self.around)) if hasattr(node, "lineno")))

    @property
    def statement(self) -> ast.stmt:
        """The innermost statement that it is a part of, or is."""
        return next(node for node in (self.node, *reversed(self.around)) if isinstance(node, ast.stmt))


Operator = Callable[[Place], Changes]


class Operators(dict[str, Operator]):
    """Some operators by their names. Each gives all that may stand in one place; its docstring is for the report.

    Code that two operators make counts for the first.
    """

    def add(self, function: Operator) -> Operator:
        """Add a function under its own name."""
        self[function.__name__] = function
        return function

    def rewrite(self, text: str) -> None:
        """Add operators that are no more than rules: `name: sentence`, and below it each rule, indented."""
        for name, sentence, rules in re.findall(r"^(\w+): (.+)\n((?: .+\n)+)", text, re.MULTILINE):
            self[name] = _rewriting(sentence, rules.splitlines())


def _rewriting(sentence: str, rules: Sequence[str]) -> Operator:
    def operator(place: Place) -> Changes:
        return rewritten(place.node, *rules)

    operator.__doc__ = sentence
    return operator


def rewritten(node: ast.AST, *rules: str) -> Changes:
    """Yield each template of the first rule whose pattern a node matches.

    Templates that are expressions are for expressions, and others for statements.
    """
    for pattern, templates, is_expression in (case for rule in rules for case in _cases(rule)):
        found: dict[str, Any] = {"IT": node}
        if isinstance(node, ast.expr) == is_expression and _matches(pattern, node, found):
            yield from (make(one, **found) if is_expression else statements(one, **found) for one in templates)
            return


@functools.cache
def _cases(rule: str) -> list[tuple[ast.AST, list[str], bool]]:
    """Return the tree of each pattern that a rule stands for, its templates, and whether they are expressions."""
    if choice := re.search(r"\{(.+?)\}", rule):
        rules = [_replaced(rule, choice[0], word) for word in choice[1].split("|")]
        return [case for one in rules for case in _cases(one)]
    pattern, _, after = rule.partition("->")
    templates = [one.strip() for one in after.split(";") if one.strip()]
    [tree] = ast.parse(pattern.strip()).body
    is_expression = all([type(one) for one in ast.parse(text).body] == [ast.Expr] for text in templates)
    return [(tree.value if isinstance(tree, ast.Expr) and is_expression else tree, templates, is_expression)]


def _replaced(rule: str, choice: str, word: str) -> str:
    """Return a rule with this word for a choice in its pattern, and for the first `{}` of each template."""
    pattern, arrow, after = rule.replace(choice, word, 1).partition("->")
    return pattern + arrow + ";".join(one.replace("{}", word, 1) for one in after.split(";"))


def _matches(pattern: Any, node: Any, found: dict[str, Any]) -> bool:
    """Return whether a tree, a list or a value is as a pattern says, and add to `found` what its names stand for."""
    match pattern:
        case ast.Name(name) if name.isupper():
            return isinstance(node, ast.expr) and ast.dump(found.setdefault(name, node)) == ast.dump(node)
        case ast.AST():
            return type(node) is type(pattern) and all(
                _matches(value, getattr(node, field), found) for field, value in ast.iter_fields(pattern)
            )
        case [*first, last] if rest := _rest(last):
            found[rest] = node[len(first) :]
            return _matches(first, node[: len(first)], found)
        case list():
            return len(node) == len(pattern) and all(map(_matches, pattern, node, [found] * len(node)))
        case str() if pattern.isupper() and len(pattern) > 1:
            return bool(found.setdefault(pattern, node) == node)
    return type(node) is type(pattern) and bool(node == pattern)


def _rest(node: Any) -> str | None:
    """Return the name in `*NAME` or `**NAME`."""
    match node:
        case ast.Starred(ast.Name(name)) | ast.keyword(None, ast.Name(name)) if name.isupper():
            return name
    return None


class _Filled(ast.NodeTransformer):
    def __init__(self, parts: Mapping[str, Any]) -> None:
        self.parts = parts

    def visit_Name(self, node: ast.Name) -> Any:
        return self.parts.get(node.id, node)

    def visit_Attribute(self, node: ast.Attribute) -> Any:
        node.attr = self.parts.get(node.attr, node.attr)
        return self.generic_visit(node)

    def visit_Starred(self, node: ast.AST) -> Any:
        return self.parts.get(_rest(node) or "") or ([] if _rest(node) else self.generic_visit(node))

    visit_keyword = visit_Starred


def statements(template: str, **parts: Any) -> list[ast.stmt]:
    """Return the template as trees, with these parts for their names."""
    tree: ast.Module = _Filled(parts).visit(ast.parse(template))
    return [] if template == "pass" else tree.body


def make(template: str, **parts: Any) -> ast.expr:
    """Return the template, an expression, as a tree, with these parts for their names."""
    [made] = statements(template, **parts)
    assert isinstance(made, ast.Expr)
    return made.value
