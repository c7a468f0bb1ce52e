"""Slips in gradients, types and memory."""

from __future__ import annotations

import ast

from grader.audit.mutation.operators import Changes, Operators, Place, make, rewritten, statements
from grader.audit.mutation.scope import attributes, before_all, in_scope, kind_of, of_module, of_tensor, tensors

OPERATORS = Operators()
# What programs call tensors of whole numbers or bools.
WITHOUT_GRADIENT = {"idx", "targets", "data", "padding_mask"}


def _has_gradient(function: ast.FunctionDef | None) -> bool:
    return bool(function and (function.name == "forward" or {*tensors(function)} - WITHOUT_GRADIENT))


@OPERATORS.add
def detached(place: Place) -> Changes:
    """No gradient flows through an argument, a step in between or a result."""
    if not _has_gradient(place.function):
        return
    yield from of_tensor(place, "X.detach()")
    differentiable = [name for name in tensors(place.function) if name not in WITHOUT_GRADIENT]
    yield from before_all(place, *(f"{name} = {name}.detach()" for name in differentiable))
    match place.node:
        case ast.Assign([ast.Name(name)], value) if not _is_only_returned(name, place):
            if kind_of(value, in_scope(place)) == "Tensor":
                yield statements(f"{name} = X.detach()", X=value)
        case ast.Attribute(ast.Name("self"), name, ast.Load()) if attributes(place).get(name) == "nn.Parameter":
            yield make("X.detach()", X=place.node)


def _is_only_returned(name: str, place: Place) -> bool:
    """Return whether a local's one use is in the return, as it is: there it comes up as a result."""
    assert place.function is not None
    used = [node for node in ast.walk(place.function) if isinstance(node, ast.Name) and node.id == name]
    match place.function.body[-1]:
        case ast.Return(ast.Tuple(parts)):
            return len(used) == 2 and any(part in used for part in parts)
        case ast.Return(ast.Name() as whole):
            return len(used) == 2 and whole in used
    return False


@OPERATORS.add
def no_grad(place: Place) -> Changes:
    """torch.no_grad() is put round a definition, or forgotten."""
    match place.node:
        case ast.FunctionDef(name, arguments, body, decorators, ast.expr() as returns) if _has_gradient(place.node):
            if "Tensor" in ast.unparse(returns):
                [wrapped] = statements("with torch.no_grad(): pass")
                assert isinstance(wrapped, ast.With)
                wrapped.body = body
                yield ast.FunctionDef(name, arguments, [wrapped], decorators, returns, lineno=place.line)
        case ast.With(body=body):
            yield body


@OPERATORS.add
def frozen(place: Place) -> Changes:
    """A parameter does not require gradients."""
    yield from rewritten(place.node, "nn.Parameter(*A) -> nn.Parameter(*A, requires_grad=False)")
    yield from of_module(place, "X.requires_grad_(False)")


@OPERATORS.add
def cast(place: Place) -> Changes:
    """An argument or a result is cast to float32, or a module to float64."""
    yield from of_tensor(place, "X.float()")
    yield from of_module(place, "X.double()")
    yield from before_all(place, *(f"{name} = {name}.float()" for name in tensors(place.function)))


IN_PLACE = {ast.Add: "add_", ast.Sub: "sub_", ast.Mult: "mul_", ast.Div: "div_"}


@OPERATORS.add
def in_place(place: Place) -> Changes:
    """A step is done in the memory of an argument."""
    arguments = tensors(place.function)
    match place.node:
        case ast.Assign([ast.Name(name) as target], ast.BinOp(ast.Name(left), sign, right)) if name == left:
            yield ast.AugAssign(target, sign, right)
        case ast.BinOp(ast.Name(name) as left, ast.Add() | ast.Sub() | ast.Mult() | ast.Div() as sign, right):
            is_augmented = isinstance(place.parent, ast.Assign) and ast.unparse(place.parent.targets[0]) == name
            if name in arguments and not is_augmented:
                yield ast.Call(ast.Attribute(left, IN_PLACE[type(sign)]), [right], [])
        case ast.Call(ast.Attribute(ast.Name(name), "masked_fill" | "transpose")) if name in arguments:
            yield from rewritten(place.node, "X.{masked_fill|transpose}(*A) -> X.{}_(*A)")
        case _:
            yield from rewritten(place.node, "torch.{exp|relu|tanh}(X) -> X.{}_()")


@OPERATORS.add
def changed_argument(place: Place) -> Changes:
    """An argument is not left as it was."""
    match place.node:
        case ast.Return(ast.expr() as value):
            for name in tensors(place.function):
                # In its data, or autograd would forbid it before any test looks.
                change = "zero_()" if name in WITHOUT_GRADIENT else "mul_(2)"
                yield statements(f"result = X; {name}.data.{change}; return result", X=value)


OPERATORS.rewrite("""
alias: Numbers are shared where they should be copied.
  X.copy_(Y) -> X.data = Y
""")
