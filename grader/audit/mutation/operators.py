"""Operators: each yields the code that can replace one node of a definition, often by rules in text.

A rule is `PATTERN -> TEMPLATE; TEMPLATE`, all in Python; it may have no template. A name in capitals matches any
expression, `*A` and `**K` match the rest of the arguments, and an attribute of two capitals or more matches any
attribute. IT is the whole node. `{a|b}` is a or b, and `{}` in a template is the same one. The template `pass` deletes
a statement. Operators that need more ask which names have values at a place, of which kind, and what is returned.
"""

from __future__ import annotations

import ast
import functools
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

Changed = ast.AST | list[ast.stmt]
"""The replacement of a node. A list of statements, possibly empty, replaces a statement."""
Changes = Iterator[Changed]


@dataclass(frozen=True)
class NodePlace:
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

    @property
    def keyword(self) -> str | None:
        """The name of a keyword argument whose value is here."""
        return self.parent.arg if isinstance(self.parent, ast.keyword) else None

    @property
    def integer(self) -> int | None:
        """The value of an int literal, with its sign."""
        match self.node, self.parent:
            case _, ast.UnaryOp(op=ast.USub()):
                return None
            case (ast.Constant(int(value)), _) if not isinstance(value, bool):
                return value
            case ast.UnaryOp(ast.USub(), ast.Constant(int(value))), _:
                return -value
        return None

    @property
    def gives(self) -> str:
        """The return annotation of the enclosing function."""
        return ast.unparse(self.function.returns) if self.function and self.function.returns else ""

    @property
    def parameters(self) -> dict[str, str]:
        """Each annotated parameter of the function, with its kind."""
        return parameters(self.function)

    @property
    def tensors(self) -> list[str]:
        """The parameters of the function that are tensors."""
        return tensors(self.function)

    @property
    def in_scope(self) -> dict[str, str]:
        """Each name that has a value here, with its kind."""
        found = parameters(self.function)
        for node in ast.walk(self.function) if self.function else ():
            match node:
                case ast.Assign([target], value) if (node.end_lineno or 0) < self.statement.lineno:
                    found |= _bound(target, value, found)
                case ast.For() if node in self.around:
                    found |= _items(node, self, found)
                case ast.ListComp(_, loops) | ast.GeneratorExp(_, loops) | ast.DictComp(_, _, loops):
                    for loop in loops if node in self.around else ():
                        found |= _items(loop, self, found)
        return {name: kind for name, kind in found.items() if kind and name != "_"}

    @property
    def attributes(self) -> dict[str, str]:
        """Each attribute that the enclosing class sets on self, with its kind."""
        found = {}
        for node in ast.walk(self.around[1]) if len(self.around) > 1 else ():
            if isinstance(node, ast.FunctionDef) and node.name == "__init__":
                for kept in node.body:
                    match kept:
                        case ast.Assign([ast.Attribute(ast.Name("self"), name)], value):
                            found[name] = kind_of(value, parameters(node))
        return found

    def kind_of(self, value: ast.expr) -> str:
        """Return the kind of a value with the names that have values here."""
        return kind_of(value, self.in_scope)

    def rewritten(self, *rules: str) -> Changes:
        """Yield each template of the first rule whose pattern the node matches.

        Templates that are expressions replace expressions; others replace statements.
        """
        for pattern, templates, is_expression in (case for rule in rules for case in _cases(rule)):
            found: dict[str, Any] = {"IT": self.node}
            if isinstance(self.node, ast.expr) == is_expression and _matches(pattern, self.node, found):
                yield from (make(one, **found) if is_expression else statements(one, **found) for one in templates)
                return

    def before_all(self, *texts: str) -> Iterator[list[ast.stmt]]:
        """If the place is the first statement of a function, yield it with each of these before it."""
        if self.parent is self.function and self.field == "body" and self.index == 0:
            yield from ([*statements(text), self.statement] for text in texts)

    @property
    def _is_returned(self) -> bool:
        """Whether the node is the result of a function, or one part of it."""
        match self.around[-2:]:
            case [_, ast.Return()]:
                return not isinstance(self.node, ast.Tuple)
            case [ast.Return(), ast.Tuple()]:
                return self.field == "elts"
        return False

    def of_tensor(self, *templates: str) -> Iterator[ast.expr]:
        """Yield each template with the node as X, if the node is a tensor that the function returns."""
        nothing = isinstance(self.node, ast.Constant)
        if self._is_returned and "Tensor" in self.gives and "float" not in self.gives and not nothing:
            yield from (make(template, X=self.node) for template in templates)

    def of_module(self, template: str) -> Iterator[ast.expr]:
        """Yield the template with the node as X, if the node is a module that the function returns."""
        if self._is_returned and self.gives == "nn.Module":
            yield make(template, X=self.node)


Operator = Callable[[NodePlace], Changes]


class Operators(dict[str, Operator]):
    """Operators by name. Each yields the replacements of one node; its docstring appears in the report."""

    def add(self, function: Operator) -> Operator:
        """Add a function under its own name."""
        self[function.__name__] = function
        return function

    def rewrite(self, text: str) -> None:
        """Add operators that consist of rules: `name: sentence`, then one indented line per rule."""
        for name, sentence, rules in re.findall(r"^(\w+): (.+)\n((?: .+\n)+)", text, re.MULTILINE):
            self[name] = functools.partial(lambda lines, place: place.rewritten(*lines), rules.splitlines())
            self[name].__doc__ = sentence


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


# -- the code around a place -------------------------------------------------------------------------------------

LIBRARIES = {"torch", "nn", "self"}
FACTORIES = {"ones", "zeros", "zeros_like", "rand", "randn", "randint", "arange"}
# Calls whose result is of another kind than their argument.
OF_ANOTHER_KIND = FACTORIES | {"len", "range", "enumerate", "zip", "getattr", "super", "self"}


def called(node: ast.AST) -> str:
    """Return the name of the function or method in a call."""
    match node:
        case ast.Call(ast.Attribute(_, name) | ast.Name(name)):
            return name
    return ""


def in_library(node: ast.AST) -> bool:
    """Return whether a node is a library or self, whose attributes are not methods of a value."""
    return isinstance(node, ast.Name) and node.id in LIBRARIES


def names_in(tree: ast.AST) -> set[str]:
    """Return all names and attributes in a tree."""
    found = {node.id for node in ast.walk(tree) if isinstance(node, ast.Name)}
    return found | {node.attr for node in ast.walk(tree) if isinstance(node, ast.Attribute)}


# -- names and their kinds ---------------------------------------------------------------------------------------


def parameters(function: ast.FunctionDef | None) -> dict[str, str]:
    """Return each annotated parameter with its kind, which is its annotation, shortened."""
    if function is None:
        return {}
    annotations = {arg.arg: ast.unparse(arg.annotation) for arg in function.args.args if arg.annotation}
    return {name: text.removesuffix(" | None").removeprefix("torch.") for name, text in annotations.items()}


def tensors(function: ast.FunctionDef | None) -> list[str]:
    """Return the parameters that are tensors."""
    return [name for name, kind in parameters(function).items() if kind == "Tensor"]


def kind_of(value: ast.expr, known: dict[str, str]) -> str:
    """Return the kind of a value: "Tensor", "constant" for a tensor that depends on no argument, "int", ..."""
    match value:
        case ast.Name(name):
            return known.get(name, "")
        case ast.Constant(constant):
            return type(constant).__name__
        case ast.Attribute(_, "shape") | ast.Subscript(ast.Attribute(_, "shape"), ast.Slice()):
            return "shape"
        case ast.Subscript(ast.Attribute(_, "shape")):
            return "int"
        case ast.BinOp(left, _, right):
            kinds = {kind_of(left, known), kind_of(right, known)}
            return next((kind for kind in ("Tensor", "constant") if kind in kinds), min(kinds))
        case ast.Call(function):
            return _kind_of_result(function, known)
        case ast.Subscript():
            return "Tensor"
    return type(value).__name__


def _kind_of_result(function: ast.expr, known: dict[str, str]) -> str:
    match function:
        case ast.Attribute(ast.Name("nn"), name):
            return f"nn.{name}"
        case ast.Name("len"):
            return "int"
        case ast.Name(name) if name == "set" or name[0].isupper():
            return name
        case ast.Attribute(ast.Name("torch"), name) if name in FACTORIES:
            return "constant"
        case ast.Attribute(receiver) if not in_library(receiver):
            return kind_of(receiver, known) or "Tensor"
    return "Tensor"


def _bound(target: ast.expr, value: ast.expr, known: dict[str, str]) -> dict[str, str]:
    kind = kind_of(value, known)
    match target:
        case ast.Name(name):
            return {name: kind}
        case ast.Tuple(targets):
            kind = "int" if kind == "shape" else "Tensor"
            return {one.id: kind for one in targets if isinstance(one, ast.Name)}
    return {}


def _items(loop: ast.For | ast.comprehension, place: NodePlace, known: dict[str, str]) -> dict[str, str]:
    """Return the names that a loop binds, unless the place is in its iterable."""
    if any(found is place.node for found in ast.walk(loop.iter)):
        return {}
    is_tensor = isinstance(loop.iter, ast.Name) and kind_of(loop.iter, known) == "Tensor"
    kind = "int" if called(loop.iter) == "range" else "Tensor" if is_tensor else "item"
    return {node.id: kind for node in ast.walk(loop.target) if isinstance(node, ast.Name)}
