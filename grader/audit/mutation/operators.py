"""Operators: each yields the code that can replace one node of a definition, often by rules in text.

A rule is `PATTERN -> TEMPLATE; TEMPLATE`, all in Python; it may have no template. A name in capitals matches any
expression, `*A` and `**K` match the rest of the arguments, and an attribute of two capitals or more matches any
attribute. IT is the whole node. `{a|b}` is a or b, and `{}` in a template is the same one. The template `pass` deletes
a statement.
"""

from __future__ import annotations

import ast
import functools
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

Changed = ast.AST | list[ast.stmt]
"""The replacement of a node. A list of statements, possibly empty, replaces a statement."""
Changes = Iterator[Changed]


@dataclass(frozen=True)
class Place:
    """A node of an exercise's definition, with its ancestors in `around`, the outermost first.

    field, index: where the node is in its parent; index is None if the field is not a list.
    """

    node: ast.AST
    around: tuple[ast.AST, ...]
    field: str
    index: int | None

    @property
    def parent(self) -> ast.AST:
        """The parent of the node."""
        return self.around[-1]

    @property
    def function(self) -> ast.FunctionDef | None:
        """The innermost function that contains the node."""
        return next((node for node in reversed(self.around) if isinstance(node, ast.FunctionDef)), None)

    @property
    def line(self) -> int:
        """The line in the solution's file."""
        return int(next(node.lineno for node in (self.node, *reversed(self.around)) if hasattr(node, "lineno")))

    @property
    def statement(self) -> ast.stmt:
        """The innermost statement that contains the node, or is the node."""
        return next(node for node in (self.node, *reversed(self.around)) if isinstance(node, ast.stmt))


Operator = Callable[[Place], Changes]


class Operators(dict[str, Operator]):
    """Operators by name. Each yields the replacements of one node; its docstring appears in the report."""

    def add(self, function: Operator) -> Operator:
        """Add a function under its own name."""
        self[function.__name__] = function
        return function

    def rewrite(self, text: str) -> None:
        """Add operators that consist of rules: `name: sentence`, then one indented line per rule."""
        for name, sentence, rules in re.findall(r"^(\w+): (.+)\n((?: .+\n)+)", text, re.MULTILINE):
            self[name] = _rewriting(sentence, rules.splitlines())


def _rewriting(sentence: str, rules: Sequence[str]) -> Operator:
    def operator(place: Place) -> Changes:
        return rewritten(place.node, *rules)

    operator.__doc__ = sentence
    return operator


def rewritten(node: ast.AST, *rules: str) -> Changes:
    """Yield each template of the first rule whose pattern a node matches.

    Templates that are expressions replace expressions; others replace statements.
    """
    for pattern, templates, is_expression in (case for rule in rules for case in _cases(rule)):
        found: dict[str, Any] = {"IT": node}
        if isinstance(node, ast.expr) == is_expression and _matches(pattern, node, found):
            yield from (make(one, **found) if is_expression else statements(one, **found) for one in templates)
            return


@functools.cache
def _cases(rule: str) -> list[tuple[ast.AST, list[str], bool]]:
    """Return each pattern of a rule as a tree, with its templates and whether these are expressions."""
    if choice := re.search(r"\{(.+?)\}", rule):
        rules = [_replaced(rule, choice[0], word) for word in choice[1].split("|")]
        return [case for one in rules for case in _cases(one)]
    pattern, _, after = rule.partition("->")
    templates = [one.strip() for one in after.split(";") if one.strip()]
    [tree] = ast.parse(pattern.strip()).body
    is_expression = all([type(one) for one in ast.parse(text).body] == [ast.Expr] for text in templates)
    return [(tree.value if isinstance(tree, ast.Expr) and is_expression else tree, templates, is_expression)]


def _replaced(rule: str, choice: str, word: str) -> str:
    """Replace a choice in a rule's pattern, and the first `{}` of each template, by one word."""
    pattern, arrow, after = rule.replace(choice, word, 1).partition("->")
    return pattern + arrow + ";".join(one.replace("{}", word, 1) for one in after.split(";"))


def _matches(pattern: Any, node: Any, found: dict[str, Any]) -> bool:
    """Return whether a tree, a list or a value matches a pattern; add what its names match to `found`."""
    match pattern:
        case ast.Name(name) if name.isupper():
            return isinstance(node, ast.expr) and ast.dump(found.setdefault(name, node)) == ast.dump(node)
        case ast.AST():
            return type(node) is type(pattern) and all(
                _matches(value, getattr(node, field), found) for field, value in ast.iter_fields(pattern)
            )
        case list():
            return _all_match(pattern, node, found)
        case str() if pattern.isupper() and len(pattern) > 1:
            return bool(found.setdefault(pattern, node) == node)
    return type(node) is type(pattern) and bool(node == pattern)


def _all_match(patterns: list[Any], nodes: list[Any], found: dict[str, Any]) -> bool:
    rests = [place for place, one in enumerate(patterns) if _rest(one)]
    if rests:
        [place] = rests
        end = len(nodes) - len(patterns[place + 1 :])
        found[_rest(patterns[place]) or ""] = nodes[place:end]
        patterns, nodes = [*patterns[:place], *patterns[place + 1 :]], [*nodes[:place], *nodes[max(place, end) :]]
    return len(nodes) == len(patterns) and all(_matches(*pair, found) for pair in zip(patterns, nodes, strict=True))


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
    """Parse a template and replace the names in it by these parts."""
    tree: ast.Module = _Filled(parts).visit(ast.parse(template))
    return [] if template == "pass" else tree.body


def make(template: str, **parts: Any) -> ast.expr:
    """Parse a template that is an expression, and replace the names in it by these parts."""
    [made] = statements(template, **parts)
    assert isinstance(made, ast.Expr)
    return made.value
