"""Slips that leave something out."""

from __future__ import annotations

import ast

from grader.audit.mutation.names import keeps_kind, method
from grader.audit.mutation.operators import Changes, Operators, Place, make, rewritten
from grader.audit.mutation.scope import called, in_scope, keyword_of, kind_of

OPERATORS = Operators()


OPERATORS.rewrite("""
dropped_layer: A layer or module of its own is not applied.
  self.NAME(X) -> X
""")


@OPERATORS.add
def dropped_method(place: Place) -> Changes:
    """A method is not called on what it should be, for example no .T, no .unsqueeze(1), no .item()."""
    found = method(place.node)
    if found and not isinstance(place.parent, ast.Expr) and not isinstance(found, ast.Constant):
        yield found
    yield from rewritten(place.node, "X.{T|values} -> X")


@OPERATORS.add
def dropped_function(place: Place) -> Changes:
    """A function is not applied to what it should be."""
    match place.node:
        case ast.Call(_, [first, *_]) if keeps_kind(place.node):
            # A size or a tensor for what is unpacked would only raise an error.
            is_unpacked = isinstance(place.parent, ast.Assign) and isinstance(place.parent.targets[0], ast.Tuple)
            if kind_of(first, in_scope(place)) != "int" and not is_unpacked:
                yield first
        case ast.Call(ast.Name(name) as func, [], []) if name != "super":
            yield func


@OPERATORS.add
def dropped_star(place: Place) -> Changes:
    """The star before an argument is forgotten."""
    if isinstance(place.node, ast.Starred):
        yield place.node.value


@OPERATORS.add
def bias(place: Place) -> Changes:
    """A layer has a bias where it should have none, or has none."""
    if keyword_of(place) == "bias":
        yield from (make("True"), make("False"))
    yield from rewritten(place.node, "nn.Linear(*A) -> nn.Linear(*A, bias=False)")


# Without them, each of these is as another operator makes it.
SAME_AS_DEFAULT = {"bias", "diagonal", "start_dim", "keepdim", "generator"}


@OPERATORS.add
def dropped_argument(place: Place) -> Changes:
    """An argument that has a default, or one with a name, is left out."""
    match place.node:
        case ast.Call(func, arguments, keywords):
            name = called(place.node)
            is_class = isinstance(func, ast.Name) and name[0].isupper()
            if len(arguments) > 1 and (is_class or name in {"flatten", "arange"}):
                yield ast.Call(func, arguments[:-1], keywords)
            for given in keywords:
                is_bool = isinstance(given.value, ast.Constant) and isinstance(given.value.value, bool)
                # The first dim is the default of two of these, and softmax has none.
                is_dim = given.arg == "dim" and name in {"cat", "stack", "softmax"}
                if not (is_bool or is_dim or given.arg in SAME_AS_DEFAULT):
                    gone = {given.arg, "keepdim"} if given.arg == "dim" else {given.arg}
                    yield ast.Call(func, arguments, [keyword for keyword in keywords if keyword.arg not in gone])


@OPERATORS.add
def dropped_default(place: Place) -> Changes:
    """A parameter has no default value."""
    match place.node:
        case ast.arguments(args=args, defaults=[_, *others]):
            yield ast.arguments([], args, None, [], [], None, others)


@OPERATORS.add
def left_out(place: Place) -> Changes:
    """One part of a returned tuple, or one of several names, is left out."""
    is_returned = isinstance(place.parent, ast.Return)
    match place.node:
        case ast.Tuple([_, _] as parts) if is_returned:
            yield from parts
        case ast.Tuple(parts) if is_returned or all(
            isinstance(part, ast.Constant) and isinstance(part.value, str) for part in parts
        ):
            for missing in parts:
                yield ast.Tuple([part for part in parts if part is not missing])


OPERATORS.rewrite("""
dropped_super: super().__init__() is forgotten.
  super().__init__() -> pass
dropped_check: What should be refused is not.
  if X: raise Y -> pass
""")


@OPERATORS.add
def dropped_statement(place: Place) -> Changes:
    """A statement is forgotten."""
    match place.node:
        case ast.Assign([ast.Name(name)]) if name in in_scope(place):
            yield []
        # Without the only value of a name or an attribute there is just an error at its first use.
        case ast.Expr() | ast.For() | ast.Return():
            yield []
