"""Slips in modules, random draws, texts and sequences."""

from __future__ import annotations

import ast
from itertools import takewhile

from grader.audit.mutation.operators import Changes, Operators, Place, make, rewritten, statements
from grader.audit.mutation.scope import attributes, before_all, kind_of, names_in, of_module, parameters

OPERATORS = Operators()

# -- modules and random draws ------------------------------------------------------------------------------------

OPERATORS.rewrite("""
plain_tensor: A tensor that should be a parameter is none.
  nn.Parameter(X, **K) -> X
""")


@OPERATORS.add
def buffer(place: Place) -> Changes:
    """A buffer is a plain attribute, or a parameter without gradient."""
    match place.node:
        case ast.Expr(ast.Call(ast.Attribute(_, "register_buffer"), [ast.Constant(str(name)), value, *_])):
            yield statements(f"self.{name} = X", X=value)
            yield statements(f"self.{name} = nn.Parameter(X, requires_grad=False)", X=value)


@OPERATORS.add
def unregistered(place: Place) -> Changes:
    """A module is kept where its parameters and its mode are not found."""
    yield from rewritten(place.node, "nn.ModuleList(X) -> list(X)")
    match place.node:
        case ast.Assign([ast.Attribute(ast.Name("self"), name)], value):
            if kind_of(value, parameters(place.function)) in {"nn.Module", "nn.Dropout"}:
                yield statements(f"self.{name} = X.forward", X=value)


@OPERATORS.add
def shared(place: Place) -> Changes:
    """One module stands in several places, where each should have one of its own."""
    match place.node:
        case ast.GeneratorExp(element, [ast.comprehension(ast.Name("_"), ast.Call(ast.Name("range"), [times]))]):
            yield make("[X] * N", X=element, N=times)
        case ast.Assign([ast.Attribute(ast.Name("self"), name)], ast.Call()):
            known = attributes(place)
            earlier = takewhile(lambda other: other != name, known)
            yield from (statements(f"self.{name} = self.{one}") for one in earlier if known[one] == known.get(name))


@OPERATORS.add
def mode(place: Place) -> Changes:
    """A module puts itself into training or evaluation mode, or drops numbers in both."""
    kept = attributes(place)
    holds_modules = "nn.Module" in kept.values() or "dropout" in kept
    holds_modules |= len(place.around) > 1 and "dropout" in names_in(place.around[1])
    if place.function and place.function.name == "forward" and holds_modules:
        yield from before_all(place, "self.train()", "self.eval()")
    yield from rewritten(place.node, "self.dropout(X) -> torch.nn.functional.dropout(X, self.dropout.p)")
    yield from of_module(place, "X.eval()")


@OPERATORS.add
def generator(place: Place) -> Changes:
    """The generator is not handed on, or another one draws."""
    match place.node:
        case ast.Call(func, arguments, [*_, ast.keyword("generator")] as keywords):
            yield ast.Call(func, arguments, keywords[:-1])
            own = make("torch.Generator().manual_seed(0)")
            yield ast.Call(func, arguments, [*keywords[:-1], ast.keyword("generator", own)])
    if "generator" in parameters(place.function):
        yield from before_all(place, "torch.manual_seed(0)")


OPERATORS.rewrite("""
greedy: The likeliest is taken where one should be drawn.
  L.multinomial(X, *A, **K) -> torch.argmax(X, dim=-1, keepdim=True)
""")

# -- texts and sequences -----------------------------------------------------------------------------------------


@OPERATORS.add
def backwards(place: Place) -> Changes:
    """A sequence is gone through from its end, or sorted from the largest down."""
    match place.node, place.parent:
        case ast.expr() as sequence, ast.For(ast.Name(name)) | ast.comprehension(ast.Name(name)) if name != "_":
            if place.field == "iter":
                yield make("reversed(list(X))", X=sequence)
        case _:
            yield from rewritten(place.node, "sorted(*A, **K) -> sorted(*A, **K, reverse=True)")


@OPERATORS.add
def tidied_text(place: Place) -> Changes:
    """A text loses its capital letters, or the white space at its ends."""
    if parameters(place.function).get("text") == "str":
        yield from before_all(place, "text = text.lower()", "text = text.strip()")
