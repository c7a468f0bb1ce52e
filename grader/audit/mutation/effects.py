"""Slips in conditions, results, gradients, types, memory, modules, random draws, texts and sequences."""

from __future__ import annotations

import ast
from itertools import takewhile

from grader.audit.mutation.operators import Changes, NodePlace, Operators, kind_of, make, names_in, statements, tensors

OPERATORS = Operators()

# -- conditions, errors and results ------------------------------------------------------------------------------


@OPERATORS.add
def condition(place: NodePlace) -> Changes:
    """The branch of an if is taken always, never, or in the other cases."""
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
def comparison(place: NodePlace) -> Changes:
    """Another comparison is made: <= for <, > for !=."""
    match place.node:
        case ast.Compare(left, signs, others):
            for index, sign in enumerate(signs):
                choices = COMPARISONS.get(type(sign), ())
                # The operator `condition` already makes the opposite of a whole condition.
                alone = len(signs) == 1 and isinstance(place.parent, ast.If)
                for other in choices[:-1] if alone else choices:
                    yield ast.Compare(left, [*signs[:index], other(), *signs[index + 1 :]], others)


@OPERATORS.add
def boolean(place: NodePlace) -> Changes:
    """`and` replaces `or`, an operand is left out, or a `not` is left out or added."""
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
def other_result(place: NodePlace) -> Changes:
    """A step in between, or an argument, is returned."""
    if not isinstance(place.node, ast.Name):
        yield from place.of_tensor(*(name for name, kind in place.in_scope.items() if kind == "Tensor"))


@OPERATORS.add
def other_container(place: NodePlace) -> Changes:
    """The result is of another type: a list for a tuple, a tuple for a list, a float for an int."""
    others = {"list": "tuple(X)", "int": "float(X)", "str": "list(X)"}
    match place.node, place.parent:
        case ast.Tuple(parts), ast.Return():
            yield ast.List(parts)
        case ast.expr() as result, ast.Return() if template := others.get(place.gives.partition("[")[0]):
            yield make(template, X=result)


# -- gradients, types and memory ---------------------------------------------------------------------------------

# Common names of tensors of whole numbers or bools.
WITHOUT_GRADIENT = {"idx", "targets", "data", "padding_mask"}


def _has_gradient(function: ast.FunctionDef | None) -> bool:
    return bool(function and (function.name == "forward" or {*tensors(function)} - WITHOUT_GRADIENT))


@OPERATORS.add
def detached(place: NodePlace) -> Changes:
    """No gradient flows through an argument, a step in between or a result."""
    if not _has_gradient(place.function):
        return
    yield from place.of_tensor("X.detach()")
    differentiable = [name for name in place.tensors if name not in WITHOUT_GRADIENT]
    yield from place.before_all(*(f"{name} = {name}.detach()" for name in differentiable))
    match place.node:
        case ast.Assign([ast.Name(name)], value) if not _is_only_returned(name, place):
            if place.kind_of(value) == "Tensor":
                yield statements(f"{name} = X.detach()", X=value)
        case ast.Attribute(ast.Name("self"), name, ast.Load()) if place.attributes.get(name) == "nn.Parameter":
            yield make("X.detach()", X=place.node)


def _is_only_returned(name: str, place: NodePlace) -> bool:
    """Return whether a local is used only in the return statement, where it counts as a result."""
    assert place.function is not None
    used = [node for node in ast.walk(place.function) if isinstance(node, ast.Name) and node.id == name]
    match place.function.body[-1]:
        case ast.Return(ast.Tuple(parts)):
            return len(used) == 2 and any(part in used for part in parts)
        case ast.Return(ast.Name() as whole):
            return len(used) == 2 and whole in used
    return False


@OPERATORS.add
def no_grad(place: NodePlace) -> Changes:
    """torch.no_grad() is put around a definition, or forgotten."""
    match place.node:
        case ast.FunctionDef(name, arguments, body, decorators, ast.expr() as returns) if _has_gradient(place.node):
            if "Tensor" in ast.unparse(returns):
                wrapped = ast.With([ast.withitem(make("torch.no_grad()"))], body, lineno=place.line)
                yield ast.FunctionDef(name, arguments, [wrapped], decorators, returns, lineno=place.line)
        case ast.With(body=body):
            yield body


@OPERATORS.add
def frozen(place: NodePlace) -> Changes:
    """A parameter does not require gradients."""
    yield from place.rewritten("nn.Parameter(*A) -> nn.Parameter(*A, requires_grad=False)")
    yield from place.of_module("X.requires_grad_(False)")


@OPERATORS.add
def cast(place: NodePlace) -> Changes:
    """An argument or a result is cast to float32, or a module to float64."""
    yield from place.of_tensor("X.float()")
    yield from place.of_module("X.double()")
    yield from place.before_all(*(f"{name} = {name}.float()" for name in place.tensors))


@OPERATORS.add
def in_place(place: NodePlace) -> Changes:
    """A step is done in place, in the memory of an argument."""
    arguments = place.tensors
    match place.node:
        case ast.Assign([ast.Name(name) as target], ast.BinOp(ast.Name(left), sign, right)) if name == left:
            yield ast.AugAssign(target, sign, right)
        case ast.BinOp(ast.Name(name)):
            is_augmented = isinstance(place.parent, ast.Assign) and ast.unparse(place.parent.targets[0]) == name
            if name in arguments and not is_augmented:
                yield from place.rewritten(
                    "X + Y -> X.add_(Y)", "X - Y -> X.sub_(Y)", "X * Y -> X.mul_(Y)", "X / Y -> X.div_(Y)"
                )
        case ast.Call(ast.Attribute(ast.Name(name), "masked_fill" | "transpose")) if name in arguments:
            yield from place.rewritten("X.{masked_fill|transpose}(*A) -> X.{}_(*A)")
        case _:
            yield from place.rewritten("torch.{exp|relu|tanh}(X) -> X.{}_()")


@OPERATORS.add
def changed_argument(place: NodePlace) -> Changes:
    """An argument is changed."""
    match place.node:
        case ast.Return(ast.expr() as value):
            for name in place.tensors:
                # Changes `.data`, because autograd would refuse an in-place change.
                change = "zero_()" if name in WITHOUT_GRADIENT else "mul_(2)"
                yield statements(f"result = X; {name}.data.{change}; return result", X=value)


OPERATORS.rewrite("""
alias: Numbers are shared where they should be copied.
  X.copy_(Y) -> X.data = Y
""")

# -- modules and random draws ------------------------------------------------------------------------------------

OPERATORS.rewrite("""
plain_tensor: A tensor that should be a parameter is not one.
  nn.Parameter(X, **K) -> X
""")


@OPERATORS.add
def buffer(place: NodePlace) -> Changes:
    """A buffer is a plain attribute, or a parameter without gradient."""
    match place.node:
        case ast.Expr(ast.Call(ast.Attribute(_, "register_buffer"), [ast.Constant(str(name)), value, *_])):
            yield statements(f"self.{name} = X", X=value)
            yield statements(f"self.{name} = nn.Parameter(X, requires_grad=False)", X=value)


@OPERATORS.add
def unregistered(place: NodePlace) -> Changes:
    """A module is kept where PyTorch does not find its parameters and its mode."""
    yield from place.rewritten("nn.ModuleList(X) -> list(X)")
    match place.node:
        case ast.Assign([ast.Attribute(ast.Name("self"), name)], value):
            if kind_of(value, place.parameters) in {"nn.Module", "nn.Dropout"}:
                yield statements(f"self.{name} = X.forward", X=value)


@OPERATORS.add
def shared(place: NodePlace) -> Changes:
    """One module is used in several places that should have one each."""
    match place.node:
        case ast.GeneratorExp(element, [ast.comprehension(ast.Name("_"), ast.Call(ast.Name("range"), [times]))]):
            yield make("[X] * N", X=element, N=times)
        case ast.Assign([ast.Attribute(ast.Name("self"), name)], ast.Call()):
            known = place.attributes
            earlier = takewhile(lambda other: other != name, known)
            yield from (statements(f"self.{name} = self.{one}") for one in earlier if known[one] == known.get(name))


@OPERATORS.add
def mode(place: NodePlace) -> Changes:
    """A module puts itself into training or evaluation mode, or drops numbers in both."""
    kept = place.attributes
    holds_modules = "nn.Module" in kept.values() or "dropout" in kept
    holds_modules |= len(place.around) > 1 and "dropout" in names_in(place.around[1])
    if place.function and place.function.name == "forward" and holds_modules:
        yield from place.before_all("self.train()", "self.eval()")
    yield from place.rewritten("self.dropout(X) -> torch.nn.functional.dropout(X, self.dropout.p)")
    yield from place.of_module("X.eval()")


@OPERATORS.add
def generator(place: NodePlace) -> Changes:
    """The generator is not passed on, or another one is used."""
    own = "torch.Generator().manual_seed(0)"
    yield from place.rewritten(f"F(*A, **K, generator=G) -> F(*A, **K); F(*A, **K, generator={own})")
    if "generator" in place.parameters:
        yield from place.before_all("torch.manual_seed(0)")


OPERATORS.rewrite("""
greedy: The most likely item is taken where one should be drawn.
  L.multinomial(X, *A, **K) -> torch.argmax(X, dim=-1, keepdim=True)
""")

# -- texts and sequences -----------------------------------------------------------------------------------------


@OPERATORS.add
def backwards(place: NodePlace) -> Changes:
    """A sequence is iterated from its end, or sorted in descending order."""
    match place.node, place.parent:
        case ast.expr() as sequence, ast.For(ast.Name(name)) | ast.comprehension(ast.Name(name)) if name != "_":
            if place.field == "iter":
                yield make("reversed(list(X))", X=sequence)
        case _:
            yield from place.rewritten("sorted(*A, **K) -> sorted(*A, **K, reverse=True)")


@OPERATORS.add
def tidied_text(place: NodePlace) -> Changes:
    """A text is converted to lower case, or loses the white space at its ends."""
    if place.parameters.get("text") == "str":
        yield from place.before_all("text = text.lower()", "text = text.strip()")
