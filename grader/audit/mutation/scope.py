"""Analyzes the code around a place: which names have values there, of which kind, and what is returned."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from grader.audit.mutation.operators import Place, make, statements

if TYPE_CHECKING:
    from collections.abc import Iterator

LIBRARIES = {"torch", "nn", "self"}
FACTORIES = {"ones", "zeros", "zeros_like", "rand", "randn", "randint", "arange"}
# Calls whose result is of another kind than their argument.
OF_ANOTHER_KIND = FACTORIES | {"len", "range", "enumerate", "zip", "getattr", "super", "self"}


def integer(place: Place) -> int | None:
    """Return the value of an int literal, with its sign."""
    match place.node, place.parent:
        case _, ast.UnaryOp(op=ast.USub()):
            return None
        case (ast.Constant(int(value)), _) if not isinstance(value, bool):
            return value
        case ast.UnaryOp(ast.USub(), ast.Constant(int(value))), _:
            return -value
    return None


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


def keyword_of(place: Place) -> str | None:
    """Return the name of a keyword argument whose value is here."""
    return place.parent.arg if isinstance(place.parent, ast.keyword) else None


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


def in_scope(place: Place) -> dict[str, str]:
    """Return each name that has a value here, with its kind."""
    found = parameters(place.function)
    for node in ast.walk(place.function) if place.function else ():
        match node:
            case ast.Assign([target], value) if (node.end_lineno or 0) < place.statement.lineno:
                found |= _bound(target, value, found)
            case ast.For() if node in place.around:
                found |= _items(node, place, found)
            case ast.ListComp(_, loops) | ast.GeneratorExp(_, loops) | ast.DictComp(_, _, loops):
                for loop in loops if node in place.around else ():
                    found |= _items(loop, place, found)
    return {name: kind for name, kind in found.items() if kind and name != "_"}


def _bound(target: ast.expr, value: ast.expr, known: dict[str, str]) -> dict[str, str]:
    kind = kind_of(value, known)
    match target:
        case ast.Name(name):
            return {name: kind}
        case ast.Tuple(targets):
            kind = "int" if kind == "shape" else "Tensor"
            return {one.id: kind for one in targets if isinstance(one, ast.Name)}
    return {}


def _items(loop: ast.For | ast.comprehension, place: Place, known: dict[str, str]) -> dict[str, str]:
    """Return the names that a loop binds, unless the place is in its iterable."""
    if any(found is place.node for found in ast.walk(loop.iter)):
        return {}
    is_tensor = isinstance(loop.iter, ast.Name) and kind_of(loop.iter, known) == "Tensor"
    kind = "int" if called(loop.iter) == "range" else "Tensor" if is_tensor else "item"
    return {node.id: kind for node in ast.walk(loop.target) if isinstance(node, ast.Name)}


def attributes(place: Place) -> dict[str, str]:
    """Return each attribute that the enclosing class sets on self, with its kind."""
    found = {}
    for node in ast.walk(place.around[1]) if len(place.around) > 1 else ():
        if isinstance(node, ast.FunctionDef) and node.name == "__init__":
            for kept in node.body:
                match kept:
                    case ast.Assign([ast.Attribute(ast.Name("self"), name)], value):
                        found[name] = kind_of(value, parameters(node))
    return found


# -- the start of a function and its result ----------------------------------------------------------------------


def before_all(place: Place, *texts: str) -> Iterator[list[ast.stmt]]:
    """If the place is the first statement of a function, yield it with each of these before it."""
    if place.parent is place.function and place.field == "body" and place.index == 0:
        yield from ([*statements(text), place.statement] for text in texts)


def gives(place: Place) -> str:
    """Return the return annotation of the enclosing function."""
    return ast.unparse(place.function.returns) if place.function and place.function.returns else ""


def _is_returned(place: Place) -> bool:
    """Return whether the node is the result of a function, or one part of it."""
    match place.around[-2:]:
        case [_, ast.Return()]:
            return not isinstance(place.node, ast.Tuple)
        case [ast.Return(), ast.Tuple()]:
            return place.field == "elts"
    return False


def of_tensor(place: Place, *templates: str) -> Iterator[ast.expr]:
    """Yield each template with the node as X, if the node is a tensor that the function returns."""
    nothing = isinstance(place.node, ast.Constant)
    if _is_returned(place) and "Tensor" in gives(place) and "float" not in gives(place) and not nothing:
        yield from (make(template, X=place.node) for template in templates)


def of_module(place: Place, template: str) -> Iterator[ast.expr]:
    """Yield the template with the node as X, if the node is a module that the function returns."""
    if _is_returned(place) and gives(place) == "nn.Module":
        yield make(template, X=place.node)
