"""Slips that take one thing for another: a name, a function, an order."""

from __future__ import annotations

import ast
from itertools import combinations, pairwise

from grader.audit.mutation.operators import Changes, Operators, Place
from grader.audit.mutation.scope import OF_ANOTHER_KIND, attributes, called, in_library, in_scope, parameters

OPERATORS = Operators()


@OPERATORS.add
def other_name(place: Place) -> Changes:
    """One parameter, local or layer stands for another of its kind."""
    match place.node:
        case ast.Name(name, ast.Load()):
            known = in_scope(place)
            given = parameters(place.function)
            for other, kind in known.items():
                # Sizes are many: of those, a parameter stands for a parameter and a local for a local.
                unlike = kind == "int" and (other in given) != (name in given)
                if kind == known.get(name) and not unlike:
                    yield ast.Name(other)
        case ast.Attribute(ast.Name("self") as owner, name, ast.Load()):
            known = attributes(place)
            yield from (ast.Attribute(owner, other) for other, kind in known.items() if kind == known.get(name))


NEIGHBOURS = {
    "sum": ("mean", "amax"), "mean": ("sum", "amax"), "var": ("std",), "max": ("min",), "values": ("indices",),
    "amax": ("amin", "mean"), "softmax": ("log_softmax",), "exp": ("exp2", "sigmoid"), "log": ("log2",),
    "tanh": ("sigmoid",), "relu": ("tanh", "abs"), "sqrt": ("square", "rsqrt"), "sin": ("cos",), "cos": ("sin",),
    "rand": ("randn", "zeros"), "randn": ("rand",), "ones": ("zeros",), "zeros": ("ones",),
    "zeros_like": ("ones_like", "rand_like"), "stack": ("cat", "hstack"), "cat": ("stack",), "triu": ("tril",),
    "tril": ("triu",), "weight": ("bias",), "in_features": ("out_features",), "out_features": ("in_features",),
    "Sequential": ("ModuleList",), "Dropout": ("Dropout1d",), "copy_": ("add_",), "sorted": ("list",),
    "set": ("list",), "any": ("all",),
}  # fmt: skip


@OPERATORS.add
def other_function(place: Place) -> Changes:
    """A function or an attribute stands for its neighbour: mean for sum, tril for triu, bias for weight."""
    match place.node:
        case ast.Attribute(owner, name, ast.Load()) if not (isinstance(owner, ast.Name) and owner.id == "self"):
            yield from (ast.Attribute(owner, other) for other in NEIGHBOURS.get(name, ()))
        case ast.Name(name) if place.field == "func":
            yield from (ast.Name(other) for other in NEIGHBOURS.get(name, ()))


def _swapped(nodes: list[ast.expr], one: int, other: int) -> list[ast.expr]:
    swapped = list(nodes)
    swapped[one], swapped[other] = nodes[other], nodes[one]
    return swapped


@OPERATORS.add
def swapped_arguments(place: Place) -> Changes:
    """Two arguments of a call change places."""
    unlike = {"transpose", "masked_fill", "gather", "getattr", "register_buffer"}  # no slip, or one that does nothing
    match place.node:
        case ast.Call(func, arguments, keywords) if called(place.node) not in unlike:
            for pair in pairwise(range(len(arguments))):
                yield ast.Call(func, _swapped(arguments, *pair), keywords)


@OPERATORS.add
def swapped_parameters(place: Place) -> Changes:
    """Two parameters of a definition change places."""
    match place.node:
        case ast.arguments(args=args, defaults=defaults):
            for one, other in pairwise(range(len(args) - len(defaults))):
                if args[one].arg != "self":
                    swapped = [*args[:one], args[other], args[one], *args[other + 1 :]]
                    yield ast.arguments([], swapped, None, [], [], None, defaults)


@OPERATORS.add
def swapped_elements(place: Place) -> Changes:
    """Two elements of a tuple change places."""
    match place.node:
        case ast.Tuple(elements) if not all(isinstance(element, ast.Constant) for element in elements):
            for pair in combinations(range(len(elements)), 2):
                yield ast.Tuple(_swapped(elements, *pair))


@OPERATORS.add
def swapped_calls(place: Place) -> Changes:
    """Two steps, one inside of the other or one behind the other, are taken in the other order."""
    match place.node:
        case ast.Call(outer, [ast.Call(inner, [first, *rest]) as within, *others]) if _is_step(place.node, within):
            done = ast.Call(outer, [first, *others], place.node.keywords)
            yield ast.Call(inner, [done, *rest], within.keywords)
        case ast.Call(ast.Attribute(ast.Call(ast.Attribute(receiver, inner_name)) as within, outer_name)) if (
            method(place.node) and method(within) and outer_name != "item"
        ):
            done = ast.Call(ast.Attribute(receiver, outer_name), place.node.args, place.node.keywords)
            yield ast.Call(ast.Attribute(done, inner_name), within.args, within.keywords)


# -- what kinds of calls there are -------------------------------------------------------------------------------


def _is_step(*calls: ast.Call) -> bool:
    return all(keeps_kind(call) or _is_layer(call) for call in calls)


def _is_layer(node: ast.AST) -> bool:
    match node:
        case ast.Call(ast.Attribute(ast.Name("self")), [_], []):
            return True
    return False


def method(node: ast.AST) -> ast.expr | None:
    """Return what a method is called on; functions of a library and own layers are no methods."""
    match node:
        case ast.Call(ast.Attribute(receiver)) if not in_library(receiver) and called(receiver) != "super":
            return receiver
    return None


def keeps_kind(node: ast.AST) -> bool:
    """Return whether it calls a function on something and gives something of that kind."""
    match node:
        case ast.Call(ast.Name(name) | ast.Attribute(ast.Name("torch"), name), [first, *_]):
            return name not in OF_ANOTHER_KIND and name[0].islower() and not isinstance(first, ast.Starred)
    return False
