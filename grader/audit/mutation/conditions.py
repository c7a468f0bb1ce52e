"""Slips in conditions, errors and results."""

from __future__ import annotations

import ast

from grader.audit.mutation.operators import Changes, Operators, Place, make
from grader.audit.mutation.scope import gives, in_scope, of_tensor

OPERATORS = Operators()


@OPERATORS.add
def condition(place: Place) -> Changes:
    """The way of an if is taken always, never, or in the other cases."""
    match place.parent, place.node:
        case ast.If(body=body), ast.expr() as test if place.field == "test":
            yield test.operand if isinstance(test, ast.UnaryOp) else make("not X", X=test)
            yield make("True")
            if not isinstance(body[0], ast.Raise):
                yield make("False")


COMPARISONS: dict[type[ast.cmpop], tuple[type[ast.cmpop], ...]] = {
    ast.Lt: (ast.LtE, ast.GtE), ast.LtE: (ast.Lt, ast.Gt), ast.Gt: (ast.GtE, ast.LtE), ast.GtE: (ast.Gt, ast.Lt),
    ast.Eq: (ast.GtE, ast.LtE, ast.NotEq), ast.NotEq: (ast.Gt, ast.Lt, ast.Eq), ast.Is: (ast.IsNot,),
    ast.IsNot: (ast.Is,),
}  # fmt: skip


@OPERATORS.add
def comparison(place: Place) -> Changes:
    """Another comparison is made: <= for <, > for !=."""
    match place.node:
        case ast.Compare(left, signs, others):
            for index, sign in enumerate(signs):
                choices = COMPARISONS.get(type(sign), ())
                # The opposite of a whole condition is among those of `condition`.
                alone = len(signs) == 1 and isinstance(place.parent, ast.If)
                for other in choices[:-1] if alone else choices:
                    yield ast.Compare(left, [*signs[:index], other(), *signs[index + 1 :]], others)


@OPERATORS.add
def boolean(place: Place) -> Changes:
    """`and` stands for `or`, one side of it is left out, or a not is left out or added."""
    match place.node:
        case ast.BoolOp(sign, values):
            yield ast.BoolOp(ast.Or() if isinstance(sign, ast.And) else ast.And(), values)
            for value in values:
                yield value
                yield ast.BoolOp(sign, [make("not X", X=part) if part is value else part for part in values])
        case ast.UnaryOp(ast.Not(), operand):
            yield operand


OPERATORS.rewrite("""
other_error: An error of another type is raised.
  raise ValueError(*A) -> raise TypeError(*A); raise RuntimeError(*A); raise KeyError(*A)
""")


@OPERATORS.add
def other_result(place: Place) -> Changes:
    """A step in between, or an argument, is returned."""
    if not isinstance(place.node, ast.Name):
        yield from of_tensor(place, *(name for name, kind in in_scope(place).items() if kind == "Tensor"))


@OPERATORS.add
def other_container(place: Place) -> Changes:
    """The result is of another type: a list for a tuple, a tuple for a list, a float for an int."""
    others = {"list": "tuple(X)", "int": "float(X)", "str": "list(X)"}
    match place.node, place.parent:
        case ast.Tuple(parts), ast.Return():
            yield ast.List(parts)
        case ast.expr() as result, ast.Return() if template := others.get(gives(place).partition("[")[0]):
            yield make(template, X=result)
