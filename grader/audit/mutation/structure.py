"""Slips in names and order, and omissions."""

from __future__ import annotations

import ast
from itertools import combinations, pairwise

from grader.audit.mutation.operators import OF_ANOTHER_KIND, Changes, NodePlace, Operators, called, in_library, make

OPERATORS = Operators()

# -- one thing in place of another -------------------------------------------------------------------------------


@OPERATORS.add
def other_name(place: NodePlace) -> Changes:
    """One parameter, local or layer replaces another of its kind."""
    match place.node:
        case ast.Name(name, ast.Load()):
            known = place.in_scope
            given = place.parameters
            for other, kind in known.items():
                # There are many sizes, so a parameter replaces only a parameter, and a local only a local.
                unlike = kind == "int" and (other in given) != (name in given)
                if kind == known.get(name) and not unlike:
                    yield ast.Name(other)
        case ast.Attribute(ast.Name("self") as owner, name, ast.Load()):
            known = place.attributes
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
def other_function(place: NodePlace) -> Changes:
    """A function or attribute is replaced by a similar one: sum by mean, triu by tril, weight by bias."""
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
def swapped_arguments(place: NodePlace) -> Changes:
    """Two arguments of a call change places."""
    # Swapping these is no likely slip, or changes nothing.
    unlike = {"transpose", "masked_fill", "gather", "getattr", "register_buffer"}
    match place.node:
        case ast.Call(func, arguments, keywords) if called(place.node) not in unlike:
            for pair in pairwise(range(len(arguments))):
                yield ast.Call(func, _swapped(arguments, *pair), keywords)


@OPERATORS.add
def swapped_parameters(place: NodePlace) -> Changes:
    """Two parameters of a definition change places."""
    match place.node:
        case ast.arguments(args=args, defaults=defaults):
            for one, other in pairwise(range(len(args) - len(defaults))):
                if args[one].arg != "self":
                    swapped = [*args[:one], args[other], args[one], *args[other + 1 :]]
                    yield ast.arguments([], swapped, None, [], [], None, defaults)


@OPERATORS.add
def swapped_elements(place: NodePlace) -> Changes:
    """Two elements of a tuple change places."""
    match place.node:
        case ast.Tuple(elements) if not all(isinstance(element, ast.Constant) for element in elements):
            for pair in combinations(range(len(elements)), 2):
                yield ast.Tuple(_swapped(elements, *pair))


@OPERATORS.add
def swapped_calls(place: NodePlace) -> Changes:
    """Two nested or chained calls are swapped."""
    match place.node:
        case ast.Call(outer, [ast.Call(inner, [first, *rest]) as within, *others]) if _is_step(place.node, within):
            done = ast.Call(outer, [first, *others], place.node.keywords)
            yield ast.Call(inner, [done, *rest], within.keywords)
        case ast.Call(ast.Attribute(ast.Call(ast.Attribute(receiver, inner_name)) as within, outer_name)) if (
            method(place.node) and method(within) and outer_name != "item"
        ):
            done = ast.Call(ast.Attribute(receiver, outer_name), place.node.args, place.node.keywords)
            yield ast.Call(ast.Attribute(done, inner_name), within.args, within.keywords)


# -- kinds of calls ----------------------------------------------------------------------------------------------


def _is_step(*calls: ast.Call) -> bool:
    return all(keeps_kind(call) or _is_layer(call) for call in calls)


def _is_layer(node: ast.AST) -> bool:
    match node:
        case ast.Call(ast.Attribute(ast.Name("self")), [_], []):
            return True
    return False


def method(node: ast.AST) -> ast.expr | None:
    """Return the receiver of a method call. Functions of a library and layers of self are not methods."""
    match node:
        case ast.Call(ast.Attribute(receiver)) if not in_library(receiver) and called(receiver) != "super":
            return receiver
    return None


def keeps_kind(node: ast.AST) -> bool:
    """Return whether a node is a call whose result is of the kind of its first argument."""
    match node:
        case ast.Call(ast.Name(name) | ast.Attribute(ast.Name("torch"), name), [first, *_]):
            return name not in OF_ANOTHER_KIND and name[0].islower() and not isinstance(first, ast.Starred)
    return False


# -- omissions ---------------------------------------------------------------------------------------------------

OPERATORS.rewrite("""
dropped_layer: A layer of self is not applied.
  self.NAME(X) -> X
""")


@OPERATORS.add
def dropped_method(place: NodePlace) -> Changes:
    """A method call or attribute is left out, for example .T, .unsqueeze(1) or .item()."""
    found = method(place.node)
    if found and not isinstance(place.parent, ast.Expr) and not isinstance(found, ast.Constant):
        yield found
    yield from place.rewritten("X.{T|values} -> X")


@OPERATORS.add
def dropped_function(place: NodePlace) -> Changes:
    """A function call is left out."""
    match place.node:
        case ast.Call(_, [first, *_]) if keeps_kind(place.node):
            # A size or a tensor in place of a tuple to unpack would only raise an error.
            is_unpacked = isinstance(place.parent, ast.Assign) and isinstance(place.parent.targets[0], ast.Tuple)
            if place.kind_of(first) != "int" and not is_unpacked:
                yield first
        case ast.Call(ast.Name(name) as func, [], []) if name != "super":
            yield func


OPERATORS.rewrite("""
dropped_star: The star before an argument is forgotten.
  *X -> X
""")


@OPERATORS.add
def bias(place: NodePlace) -> Changes:
    """A layer has a bias where it should have none, or has none."""
    if place.keyword == "bias":
        yield from (make("True"), make("False"))
    yield from place.rewritten("nn.Linear(*A) -> nn.Linear(*A, bias=False)")


# Another operator already makes the code without these.
SAME_AS_DEFAULT = {"bias", "diagonal", "start_dim", "keepdim", "generator"}


@OPERATORS.add
def dropped_argument(place: NodePlace) -> Changes:
    """An argument that has a default, or one with a name, is left out."""
    match place.node:
        case ast.Call(func, arguments, keywords):
            name = called(place.node)
            is_class = isinstance(func, ast.Name) and name[0].isupper()
            if len(arguments) > 1 and (is_class or name in {"flatten", "arange"}):
                yield ast.Call(func, arguments[:-1], keywords)
            for given in keywords:
                is_bool = isinstance(given.value, ast.Constant) and isinstance(given.value.value, bool)
                # cat and stack have a default of 0, and softmax has none.
                is_dim = given.arg == "dim" and name in {"cat", "stack", "softmax"}
                if not (is_bool or is_dim or given.arg in SAME_AS_DEFAULT):
                    gone = {given.arg, "keepdim"} if given.arg == "dim" else {given.arg}
                    yield ast.Call(func, arguments, [keyword for keyword in keywords if keyword.arg not in gone])


@OPERATORS.add
def dropped_default(place: NodePlace) -> Changes:
    """A parameter has no default value."""
    match place.node:
        case ast.arguments(args=args, defaults=[_, *others]):
            yield ast.arguments([], args, None, [], [], None, others)


@OPERATORS.add
def left_out(place: NodePlace) -> Changes:
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
dropped_check: A check that raises an error is left out.
  if X: raise Y -> pass
""")


@OPERATORS.add
def dropped_statement(place: NodePlace) -> Changes:
    """A statement is forgotten."""
    match place.node:
        case ast.Assign([ast.Name(name)]) if name in place.in_scope:
            yield []
        # Without its only assignment, a name or an attribute would just raise an error at its first use.
        case ast.Expr() | ast.For() | ast.Return():
            yield []
