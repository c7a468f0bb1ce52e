"""What a slip in tensor code looks like on the syntax tree: one operator for each kind, in the order of the table."""

from __future__ import annotations

import ast
from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass
from itertools import combinations, pairwise

Changed = ast.AST | list[ast.stmt]
"""What stands in the place of a node; some statements, or none, where it was a statement."""


@dataclass(frozen=True)
class Place:
    """A node of an exercise's definition, with all that stands around it, the outermost first.

    field, index: where the node is in the innermost of them; index is None where the field is no list.
    """

    node: ast.AST
    around: tuple[ast.AST, ...]
    field: str
    index: int | None

    @property
    def parent(self) -> ast.AST:
        return self.around[-1]

    @property
    def function(self) -> ast.FunctionDef | None:
        """The innermost function around it."""
        return next((node for node in reversed(self.around) if isinstance(node, ast.FunctionDef)), None)

    @property
    def line(self) -> int:
        """The line in the solution's file."""
        return next(node.lineno for node in (self.node, *reversed(self.around)) if hasattr(node, "lineno"))

    @property
    def statement(self) -> ast.stmt:
        return next(node for node in (self.node, *reversed(self.around)) if isinstance(node, ast.stmt))


Operator = Callable[[Place], Iterator[Changed]]
OPERATORS: dict[str, Operator] = {}
"""Each operator by its name. It gives all that may stand in one place; its docstring is what the table says of it.

Code that two operators make counts for the first.
"""


def operator(function: Operator) -> Operator:
    OPERATORS[function.__name__] = function
    return function


# Making new code


class _Filled(ast.NodeTransformer):
    def __init__(self, parts: dict[str, ast.expr]) -> None:
        self.parts = parts

    def visit_Name(self, node: ast.Name) -> ast.expr:
        return self.parts.get(node.id, node)


def statement(template: str, **parts: ast.expr) -> ast.stmt:
    """The template as a tree, with these parts for their names."""
    [made] = ast.parse(template).body
    filled: ast.stmt = _Filled(parts).visit(made)
    return filled


def make(template: str, **parts: ast.expr) -> ast.expr:
    made = statement(template, **parts)
    assert isinstance(made, ast.Expr)
    return made.value


def number(value: float) -> ast.expr:
    return make(repr(value))


def with_keyword(call: ast.Call, name: str, value: ast.expr) -> ast.Call:
    return ast.Call(call.func, call.args, [*call.keywords, ast.keyword(name, value)])


def swaps(nodes: list[ast.expr], pairs: Iterator[tuple[int, int]]) -> Iterator[list[ast.expr]]:
    for one, other in pairs:
        swapped = list(nodes)
        swapped[one], swapped[other] = nodes[other], nodes[one]
        yield swapped


# Reading what is there

LIBRARIES = {"torch", "nn", "self"}
FACTORIES = {"ones", "zeros", "zeros_like", "rand", "randn", "randint", "arange"}
# Calls that give something of another kind than what they take.
OF_ANOTHER_KIND = FACTORIES | {"len", "range", "enumerate", "zip", "getattr", "super", "self"}


def integer(place: Place) -> int | None:
    """The int that is written here, with its sign."""
    match place.node, place.parent:
        case _, ast.UnaryOp(op=ast.USub()):
            return None
        case (ast.Constant(int(value)), _) if not isinstance(value, bool):
            return value
        case ast.UnaryOp(ast.USub(), ast.Constant(int(value))), _:
            return -value
    return None


def called(node: ast.AST) -> str:
    """The last name of a function that is called."""
    match node:
        case ast.Call(ast.Attribute(_, name) | ast.Name(name)):
            return name
    return ""


def in_library(node: ast.AST) -> bool:
    return isinstance(node, ast.Name) and node.id in LIBRARIES


def method(node: ast.AST) -> tuple[ast.expr, str] | None:
    """What a method is called on, and its name; functions of a library and own layers are no methods."""
    match node:
        case ast.Call(ast.Attribute(receiver, name)) if not in_library(receiver) and called(receiver) != "super":
            return receiver, name
    return None


def keeps_kind(node: ast.AST) -> bool:
    """Whether it calls a function on something and gives something of that kind."""
    match node:
        case ast.Call(ast.Name(name) | ast.Attribute(ast.Name("torch"), name), [first, *_]):
            return name not in OF_ANOTHER_KIND and name[0].islower() and not isinstance(first, ast.Starred)
    return False


def contains(tree: ast.AST, node: ast.AST) -> bool:
    return any(found is node for found in ast.walk(tree))


def names_in(tree: ast.AST) -> set[str]:
    """All names, attributes and functions that come up."""
    found = {node.id for node in ast.walk(tree) if isinstance(node, ast.Name)}
    return found | {node.attr for node in ast.walk(tree) if isinstance(node, ast.Attribute)}


def parameters(function: ast.FunctionDef | None) -> dict[str, str]:
    """Each parameter with its kind: its annotation in short."""
    if function is None:
        return {}
    annotations = {arg.arg: ast.unparse(arg.annotation) for arg in function.args.args if arg.annotation}
    return {name: text.removesuffix(" | None").removeprefix("torch.") for name, text in annotations.items()}


def kind_of(value: ast.expr, known: dict[str, str]) -> str:
    """The kind of a value: "Tensor", "constant" for a tensor that no argument has a part in, "int", ..."""
    match value:
        case ast.Name(name):
            return known.get(name, "")
        case ast.Constant(constant):
            return type(constant).__name__
        case ast.Attribute(_, "shape") | ast.Subscript(ast.Attribute(_, "shape"), ast.Slice()):
            return "shape"
        case ast.Subscript(ast.Attribute(_, "shape")) | ast.Call(ast.Name("len")):
            return "int"
        case ast.BinOp(left, _, right):
            kinds = {kind_of(left, known), kind_of(right, known)}
            return next((kind for kind in ("Tensor", "constant") if kind in kinds), min(kinds))
        case ast.Call(ast.Attribute(ast.Name("nn"), name)):
            return f"nn.{name}"
        case ast.Call(ast.Name(name)) if name == "set" or name[0].isupper():
            return name
        case ast.Call(ast.Attribute(ast.Name("torch"), name)) if name in FACTORIES:
            return "constant"
        case ast.Call(ast.Attribute(receiver)) if not in_library(receiver):
            return kind_of(receiver, known) or "Tensor"
        case ast.Call() | ast.Subscript():
            return "Tensor"
    return type(value).__name__


def _bound(target: ast.expr, value: ast.expr, known: dict[str, str]) -> Iterator[tuple[str, str]]:
    match target, value:
        case ast.Name(name), _:
            yield name, kind_of(value, known)
        case ast.Tuple(targets), ast.Tuple(values):
            for one, part in zip(targets, values, strict=True):
                yield from _bound(one, part, known)
        case ast.Tuple(targets), _:
            kind = "int" if kind_of(value, known) == "shape" else "Tensor"
            yield from ((one.id, kind) for one in targets if isinstance(one, ast.Name))


def _items(target: ast.expr, sequence: ast.expr, known: dict[str, str]) -> Iterator[tuple[str, str]]:
    kinds = {"Tensor": "Tensor"} if isinstance(sequence, ast.Name) else {}
    kind = "int" if called(sequence) == "range" else kinds.get(kind_of(sequence, known), "item")
    yield from ((node.id, kind) for node in ast.walk(target) if isinstance(node, ast.Name))


def in_scope(place: Place) -> dict[str, str]:
    """Each name that has a value here, with its kind."""
    found = parameters(place.function)
    for node in ast.walk(place.function) if place.function else ():
        match node:
            case ast.Assign([target], value) if (node.end_lineno or 0) < place.statement.lineno:
                found |= dict(_bound(target, value, found))
            case ast.For(target, sequence) if node in place.around and not contains(sequence, place.node):
                found |= dict(_items(target, sequence, found))
            case ast.ListComp(_, loops) | ast.GeneratorExp(_, loops) | ast.DictComp(_, _, loops):
                for loop in loops:
                    if node in place.around and not contains(loop.iter, place.node):
                        found |= dict(_items(loop.target, loop.iter, found))
    return {name: kind for name, kind in found.items() if kind and name != "_"}


def attributes(place: Place) -> dict[str, str]:
    """Each attribute that the class around it keeps on self, with its kind."""
    found = {}
    for node in ast.walk(place.around[1]) if len(place.around) > 1 else ():
        if isinstance(node, ast.FunctionDef) and node.name == "__init__":
            known = parameters(node)
            for kept in node.body:
                match kept:
                    case ast.Assign([ast.Attribute(ast.Name("self"), name)], value):
                        found[name] = kind_of(value, known)
    return found


def tensors(function: ast.FunctionDef | None) -> list[str]:
    return [name for name, kind in parameters(function).items() if kind == "Tensor"]


def begins(place: Place) -> bool:
    """Whether it is the first statement of a function."""
    return place.parent is place.function and place.field == "body" and place.index == 0


def gives(place: Place) -> str:
    """What the function around it says that it returns."""
    return ast.unparse(place.function.returns) if place.function and place.function.returns else ""


def is_returned(place: Place) -> bool:
    """Whether it is what a function returns, or one part of it."""
    match place.around[-2:]:
        case [_, ast.Return()]:
            return not isinstance(place.node, ast.Tuple)
        case [ast.Return(), ast.Tuple()]:
            return place.field == "elts"
    return False


def tensor_results(place: Place) -> Iterator[ast.expr]:
    """The node, if it is a tensor that the function returns."""
    nothing = isinstance(place.node, ast.Constant)
    if is_returned(place) and "Tensor" in gives(place) and "float" not in gives(place) and not nothing:
        assert isinstance(place.node, ast.expr)
        yield place.node


def module_results(place: Place) -> Iterator[ast.expr]:
    if is_returned(place) and gives(place) == "nn.Module":
        assert isinstance(place.node, ast.expr)
        yield place.node


def keyword_of(place: Place) -> str | None:
    """The name that a value is given under in a call."""
    return place.parent.arg if isinstance(place.parent, ast.keyword) else None


# Dimensions and shapes


@operator
def transpose_dims(place: Place) -> Iterator[Changed]:
    """A transpose swaps two other dimensions."""
    match place.node:
        case ast.Call(ast.Attribute(receiver, "transpose"), [one, other]):
            given = {ast.unparse(one), ast.unparse(other)}
            from_the_end = any(text.startswith("-") for text in given)
            pairs = ((-3, -2), (-3, -1), (0, 1), (1, 2)) if from_the_end else ((0, 1), (0, 2), (1, 3), (2, 3))
            yield from (make(f"X.transpose{pair}", X=receiver) for pair in pairs if set(map(str, pair)) != given)


@operator
def other_dim(place: Place) -> Iterator[Changed]:
    """A sum, a softmax, a stack and the like goes along another dimension."""
    is_dim = keyword_of(place) in {"dim", "start_dim"}
    match place.parent, place.field:
        case ast.Call(ast.Attribute(_, "flatten")), "args":
            is_dim = True
        case ast.Call(ast.Attribute(_, "unsqueeze" | "gather")), "args":
            is_dim = place.index == 0
    if is_dim:
        yield from (number(dim) for dim in (-1, -2, 0, 1) if dim != integer(place))
    match place.node:
        case ast.Call(ast.Attribute(_, "stack" | "cat"), keywords=[]):
            yield from (with_keyword(place.node, "dim", number(dim)) for dim in (1, -1))
        case ast.Call(ast.Attribute(_, "sum" | "mean" | "var"), [], []):
            yield from (with_keyword(place.node, "dim", number(dim)) for dim in (0, -1))
        case ast.Call(ast.Attribute(_, "flatten"), [], []):
            yield from (ast.Call(place.node.func, [number(dim)], []) for dim in (1, -1))


@operator
def keepdim(place: Place) -> Iterator[Changed]:
    """keepdim=True is left out, or given where it was not."""
    match place.node:
        case ast.Call(func, arguments, keywords):
            names = [keyword.arg for keyword in keywords]
            if "keepdim" in names:
                yield ast.Call(func, arguments, [keyword for keyword in keywords if keyword.arg != "keepdim"])
            elif "dim" in names and called(place.node) in {"sum", "mean", "max", "amax", "var"}:
                yield with_keyword(place.node, "keepdim", make("True"))


@operator
def reshape_for_transpose(place: Place) -> Iterator[Changed]:
    """A reshape to the transposed shape stands for a transpose."""
    match place.node:
        case ast.Call(ast.Attribute(receiver, "transpose")) | ast.Attribute(receiver, "T"):
            yield make("X.reshape(TURNED.shape)", X=receiver, TURNED=place.node)


@operator
def transpose_before_reshape(place: Place) -> Iterator[Changed]:
    """Two dimensions are swapped before a reshape or flatten."""
    match place.node:
        case ast.Call(ast.Attribute(receiver, "reshape" | "flatten")):
            for dims in ("(0, 1)", "(1, 2)", "(-2, -1)"):
                yield make(f"X.transpose{dims}.reshape(SHAPED.shape)", X=receiver, SHAPED=place.node)


@operator
def view_for_reshape(place: Place) -> Iterator[Changed]:
    """A view, which not every memory layout allows, stands for a reshape or flatten."""
    match place.node:
        case ast.Call(ast.Attribute(receiver, "reshape"), arguments):
            yield ast.Call(ast.Attribute(receiver, "view"), arguments, [])
        case ast.Call(ast.Attribute(receiver, "flatten")):
            yield make("X.view(SHAPED.shape)", X=receiver, SHAPED=place.node)


@operator
def squeeze(place: Place) -> Iterator[Changed]:
    """Dimensions of size 1 are taken out of a result."""
    yield from (make("X.squeeze()", X=result) for result in tensor_results(place))


# Scores, scales and masks


@operator
def scale(place: Place) -> Iterator[Changed]:
    """A division by the square root of a size is dropped, inverted, or done with another power."""
    match place.node:
        case ast.BinOp(left, ast.Div(), ast.BinOp(size, ast.Pow(), ast.Constant(0.5))):
            yield left
            for template in ("X * D ** 0.5", "X / D", "X / D ** -0.5", "X / D ** 2", "X / D * 0.5", "X / (D * 0.5)"):
                yield make(template, X=left, D=size)


@operator
def added_scale(place: Place) -> Iterator[Changed]:
    """A matrix product is divided by the square root of a size where it should not be."""
    match place.node:
        case ast.BinOp(left, ast.MatMult(), _) if place.function and not _has_root(place.function):
            yield make("X / LEFT.shape[-1] ** 0.5", X=place.node, LEFT=left)


def _has_root(function: ast.FunctionDef) -> bool:
    return any(isinstance(node, ast.Constant) and node.value == 0.5 for node in ast.walk(function))


@operator
def dropped_mask(place: Place) -> Iterator[Changed]:
    """Nothing is masked."""
    match place.node:
        case ast.Call(ast.Attribute(receiver, "masked_fill")):
            yield receiver


@operator
def inverted_mask(place: Place) -> Iterator[Changed]:
    """What should be masked stays, and the rest is masked."""
    match place.node, place.parent:
        case ast.expr() as mask, ast.Call(ast.Attribute(_, "masked_fill")) if place.field == "args" and not place.index:
            yield make("~MASK", MASK=mask)
        case ast.Call(ast.Attribute(_, "triu")) as mask, _:
            yield make("~MASK", MASK=mask)


@operator
def mask_value(place: Place) -> Iterator[Changed]:
    """Another number is filled in where a mask is: 0 for minus infinity, or the other way round."""
    match place.parent:
        case ast.Call(ast.Attribute(_, "masked_fill")) if place.field == "args" and place.index == 1:
            values = ("0", "-torch.inf", "torch.inf", "-1.0")
            yield from (make(value) for value in values if value != ast.unparse(place.node))


@operator
def added_mask(place: Place) -> Iterator[Changed]:
    """The later tokens are masked, before or after a softmax, where none should be."""
    if place.function is None or "masked_fill" in names_in(place.function):
        return
    match place.node, place.parent:
        case ast.expr() as scores, ast.Call() if called(place.parent).startswith("softmax") and place.index == 0:
            later = "torch.ones(X.shape[-2:], dtype=torch.bool).triu(1)"
            yield make(f"X.masked_fill({later}, -torch.inf)", X=scores)
    if called(place.node).startswith("softmax"):
        assert isinstance(place.node, ast.expr)
        yield make("torch.tril(X)", X=place.node)


# Products and sums


@operator
def asterisk(place: Place) -> Iterator[Changed]:
    """`*`, element by element, stands for `@`."""
    match place.node:
        case ast.BinOp(left, ast.MatMult(), right):
            yield ast.BinOp(left, ast.Mult(), right)


@operator
def swapped_operands(place: Place) -> Iterator[Changed]:
    """The two sides of `@`, `-`, `/`, `%` or `**` change places."""
    match place.node:
        case ast.BinOp(left, ast.MatMult() | ast.Sub() | ast.Div() | ast.FloorDiv() | ast.Mod() | ast.Pow(), right):
            yield ast.BinOp(right, place.node.op, left)


@operator
def transposed_operand(place: Place) -> Iterator[Changed]:
    """The right side of `@` is transposed."""
    match place.node:
        case ast.BinOp(left, ast.MatMult(), right):
            yield ast.BinOp(left, ast.MatMult(), make("X.mT", X=right))


@operator
def power(place: Place) -> Iterator[Changed]:
    """`**` stands for `*`, or `*` for `**`."""
    match place.node:
        case ast.BinOp(left, ast.Mult(), right):
            yield ast.BinOp(left, ast.Pow(), right)
        case ast.BinOp(left, ast.Pow(), right):
            yield ast.BinOp(left, ast.Mult(), right)


@operator
def residual(place: Place) -> Iterator[Changed]:
    """In x + f(x) one of the two is left out."""
    match place.node:
        case ast.BinOp(ast.Name(name) as left, ast.Add(), ast.Call() as right) if name in names_in(right):
            yield from (left, right)


@operator
def dropped_operand(place: Place) -> Iterator[Changed]:
    """One side of an operation is left out."""
    match place.node:
        case ast.BinOp(_, ast.Div(), ast.BinOp(_, ast.Pow(), ast.Constant(0.5))) | ast.BinOp(_, ast.Pow()):
            return  # the scale's own
        case ast.BinOp(left, _, right):
            yield from (left, right)


ARITHMETIC: dict[type[ast.operator], tuple[type[ast.operator], ...]] = {
    ast.Add: (ast.Sub, ast.Mult),
    ast.Sub: (ast.Add,),
    ast.Mult: (ast.Div, ast.Add),
    ast.Div: (ast.Mult, ast.Sub),
    ast.FloorDiv: (ast.Div, ast.Mult, ast.Mod),
    ast.Mod: (ast.FloorDiv,),
}


@operator
def arithmetic(place: Place) -> Iterator[Changed]:
    """Another of + - * / // % is written."""
    match place.node:
        case ast.BinOp(left, sign, right):
            yield from (ast.BinOp(left, other(), right) for other in ARITHMETIC.get(type(sign), ()))


@operator
def parentheses(place: Place) -> Iterator[Changed]:
    """A pair of parentheses is forgotten."""
    low = ast.Add | ast.Sub
    match place.node:
        case ast.BinOp(left, ast.Mult() | ast.Div() | ast.Sub() | ast.Pow() as outer, ast.BinOp(one, inner, other)) if (
            isinstance(inner, low) or (isinstance(outer, ast.Pow) and not isinstance(inner, ast.Pow))
        ):
            yield ast.BinOp(ast.BinOp(left, outer, one), inner, other)
        case ast.BinOp(ast.BinOp(one, ast.Add() | ast.Sub() as inner, other), ast.Mult() | ast.Div() as outer, right):
            yield ast.BinOp(one, inner, ast.BinOp(other, outer, right))
        case ast.Call(ast.Attribute(ast.BinOp(left, sign, right), name), arguments, keywords):
            yield ast.BinOp(left, sign, ast.Call(ast.Attribute(right, name), arguments, keywords))


# Numbers


@operator
def off_by_one(place: Place) -> Iterator[Changed]:
    """A diagonal, an index, or an end of a slice or range is one too low or too high."""
    match place.parent, place.field:
        case ast.keyword("diagonal"), _:
            pass
        case (ast.Slice(), "lower" | "upper") | (ast.Subscript(), "slice"):
            pass
        case ast.Tuple(), "elts" if isinstance(place.around[-2], ast.Subscript):
            pass
        case ast.Call(), "args" if called(place.parent) in {"range", "arange", "randint"} and not place.index:
            pass
        case _ if called(place.node) in {"range", "arange"} and isinstance(place.node, ast.Call):
            if len(place.node.args) == 1:
                yield ast.Call(place.node.func, [number(1), *place.node.args], place.node.keywords)
            return
        case _:
            return
    if not isinstance(place.node, ast.Slice | ast.Tuple) and ast.unparse(place.node) != "None":
        yield from _moved(place)


def _moved(place: Place) -> Iterator[ast.expr]:
    value = integer(place)
    if value is not None:
        yield from (number(value - 1), number(value + 1))
    elif isinstance(place.node, ast.Name | ast.BinOp | ast.Call) and kind_of(place.node, in_scope(place)) == "int":
        yield from (make("X - 1", X=place.node), make("X + 1", X=place.node))


@operator
def constant(place: Place) -> Iterator[Changed]:
    """A number is one less or one more, or a fraction is ten times as large or as small; "" is a space."""
    value = integer(place)
    if value is not None and called(place.parent) != "transpose":
        yield from (number(value - 1), number(value + 1))
    match place.node, place.parent:
        case (ast.Constant(float(fraction)), _) if fraction == 0:
            yield from (number(0.1), number(0.5))
        case (ast.Constant(float(fraction)), _) if not isinstance(place.parent, ast.BinOp):
            yield from (number(fraction * 10), number(fraction / 10), number(0.0))
        case ast.Constant(""), _:
            yield make("' '")


@operator
def flipped_bool(place: Place) -> Iterator[Changed]:
    """True stands for False, or False for True."""
    match place.node:
        case ast.Constant(bool(value)) if keyword_of(place) != "keepdim":
            yield ast.Constant(not value)


@operator
def complement(place: Place) -> Iterator[Changed]:
    """A probability p stands for 1 - p."""
    match place.node:
        case ast.Name("p" | "dropout", ast.Load()):
            yield make("1 - P", P=place.node)


# One thing for another


@operator
def other_name(place: Place) -> Iterator[Changed]:
    """One parameter, local or layer stands for another of its kind."""
    match place.node:
        case ast.Name(name, ast.Load()):
            known = in_scope(place)
            given = parameters(place.function)
            for other, kind in known.items():
                # Sizes are many: of those, a parameter stands for a parameter and a local for a local.
                unlike = kind == "int" and (other in given) != (name in given)
                if other != name and kind == known.get(name) and not unlike:
                    yield ast.Name(other)
        case ast.Attribute(ast.Name("self") as owner, name, ast.Load()):
            known = attributes(place)
            others = (other for other, kind in known.items() if other != name and kind == known.get(name))
            yield from (ast.Attribute(owner, other) for other in others)


NEIGHBOURS = {
    "sum": ("mean", "amax"),
    "mean": ("sum", "amax"),
    "var": ("std",),
    "max": ("min",),
    "values": ("indices",),
    "amax": ("amin", "mean"),
    "softmax": ("log_softmax",),
    "exp": ("exp2", "sigmoid"),
    "log": ("log2",),
    "tanh": ("sigmoid",),
    "relu": ("tanh", "abs"),
    "sqrt": ("square", "rsqrt"),
    "sin": ("cos",),
    "cos": ("sin",),
    "rand": ("randn", "zeros"),
    "randn": ("rand",),
    "ones": ("zeros",),
    "zeros": ("ones",),
    "zeros_like": ("ones_like", "rand_like"),
    "stack": ("cat", "hstack"),
    "cat": ("stack",),
    "triu": ("tril",),
    "tril": ("triu",),
    "weight": ("bias",),
    "in_features": ("out_features",),
    "out_features": ("in_features",),
    "Sequential": ("ModuleList",),
    "Dropout": ("Dropout1d",),
    "copy_": ("add_",),
    "sorted": ("list",),
    "set": ("list",),
    "any": ("all",),
}


@operator
def other_function(place: Place) -> Iterator[Changed]:
    """A function or an attribute stands for its neighbour: mean for sum, tril for triu, bias for weight."""
    match place.node:
        case ast.Attribute(owner, name, ast.Load()) if not (isinstance(owner, ast.Name) and owner.id == "self"):
            yield from (ast.Attribute(owner, other) for other in NEIGHBOURS.get(name, ()))
        case ast.Name(name) if place.field == "func":
            yield from (ast.Name(other) for other in NEIGHBOURS.get(name, ()))


@operator
def swapped_arguments(place: Place) -> Iterator[Changed]:
    """Two arguments of a call change places."""
    unlike = {"transpose", "masked_fill", "gather", "getattr", "register_buffer"}  # no slip, or one that does nothing
    match place.node:
        case ast.Call(func, arguments, keywords) if called(place.node) not in unlike:
            for swapped in swaps(arguments, pairwise(range(len(arguments)))):
                yield ast.Call(func, swapped, keywords)


@operator
def swapped_parameters(place: Place) -> Iterator[Changed]:
    """Two parameters of a definition change places."""
    match place.node:
        case ast.arguments(args=args, defaults=defaults):
            for one, other in pairwise(range(len(args) - len(defaults))):
                if args[one].arg != "self":
                    swapped = [*args[:one], args[other], args[one], *args[other + 1 :]]
                    yield ast.arguments([], swapped, None, [], [], None, defaults)


@operator
def swapped_elements(place: Place) -> Iterator[Changed]:
    """Two elements of a tuple change places."""
    match place.node:
        case ast.Tuple(elements) if not all(isinstance(element, ast.Constant) for element in elements):
            yield from map(ast.Tuple, swaps(elements, combinations(range(len(elements)), 2)))


@operator
def swapped_calls(place: Place) -> Iterator[Changed]:
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


def _is_step(*calls: ast.Call) -> bool:
    return all(keeps_kind(call) or _is_layer(call) for call in calls)


def _is_layer(node: ast.AST) -> bool:
    match node:
        case ast.Call(ast.Attribute(ast.Name("self"), name), [_], []):
            return name != "register_buffer"
    return False


# Things left out


@operator
def dropped_layer(place: Place) -> Iterator[Changed]:
    """A layer or module of its own is not applied."""
    if _is_layer(place.node):
        assert isinstance(place.node, ast.Call)
        yield place.node.args[0]


@operator
def dropped_method(place: Place) -> Iterator[Changed]:
    """A method is not called on what it should be, for example no .T, no .unsqueeze(1), no .item()."""
    found = method(place.node)
    if found and not isinstance(place.parent, ast.Expr) and not isinstance(found[0], ast.Constant):
        yield found[0]
    match place.node:
        case ast.Attribute(receiver, "T" | "values"):
            yield receiver


@operator
def dropped_function(place: Place) -> Iterator[Changed]:
    """A function is not applied to what it should be."""
    match place.node:
        case ast.Call(_, [first, *_]) if keeps_kind(place.node):
            # A size or a tensor for what is unpacked would only raise an error.
            if kind_of(first, in_scope(place)) != "int" and not _is_unpacked(place):
                yield first
        case ast.Call(ast.Name(name) as func, [], []) if name != "super":
            yield func


def _is_unpacked(place: Place) -> bool:
    return isinstance(place.parent, ast.Assign) and isinstance(place.parent.targets[0], ast.Tuple)


@operator
def dropped_star(place: Place) -> Iterator[Changed]:
    """The star before an argument is forgotten."""
    match place.node:
        case ast.Starred(value):
            yield value


@operator
def bias(place: Place) -> Iterator[Changed]:
    """A layer has a bias where it should have none, or has none."""
    if keyword_of(place) == "bias":
        yield from (make(value) for value in ("True", "False") if value != ast.unparse(place.node))
    match place.node:
        case ast.Call(ast.Attribute(ast.Name("nn"), "Linear"), _, []):
            yield with_keyword(place.node, "bias", make("False"))


# Without them, each of these is as another operator makes it.
SAME_AS_DEFAULT = {"bias", "diagonal", "start_dim", "keepdim", "generator"}


@operator
def dropped_argument(place: Place) -> Iterator[Changed]:
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


@operator
def dropped_default(place: Place) -> Iterator[Changed]:
    """A parameter has no default value."""
    match place.node:
        case ast.arguments(args=args, defaults=[_, *others]):
            yield ast.arguments([], args, None, [], [], None, others)


@operator
def left_out(place: Place) -> Iterator[Changed]:
    """One part of a returned tuple, or one of several names, is left out."""
    match place.node:
        case ast.Tuple([_, _] as parts) if isinstance(place.parent, ast.Return):
            yield from parts
        case ast.Tuple(parts) if isinstance(place.parent, ast.Return) or all(
            isinstance(part, ast.Constant) and isinstance(part.value, str) for part in parts
        ):
            for missing in parts:
                yield ast.Tuple([part for part in parts if part is not missing])


@operator
def dropped_super(place: Place) -> Iterator[Changed]:
    """super().__init__() is forgotten."""
    if isinstance(place.node, ast.Expr) and ast.unparse(place.node) == "super().__init__()":
        yield []


@operator
def dropped_check(place: Place) -> Iterator[Changed]:
    """What should be refused is not."""
    match place.node:
        case ast.If(body=[ast.Raise()]):
            yield []


@operator
def dropped_statement(place: Place) -> Iterator[Changed]:
    """A statement is forgotten."""
    match place.node:
        case ast.Assign([ast.Name(name)]) if name in in_scope(place):
            yield []
        # Without the only value of a name or an attribute there is just an error at its first use.
        case ast.Expr() | ast.For() | ast.Return():
            yield []


# Conditions and errors


@operator
def condition(place: Place) -> Iterator[Changed]:
    """The way of an if is taken always, never, or in the other cases."""
    match place.parent, place.node:
        case ast.If(body=body), ast.expr() as test if place.field == "test":
            yield test.operand if isinstance(test, ast.UnaryOp) else make("not X", X=test)
            yield make("True")
            if not isinstance(body[0], ast.Raise):
                yield make("False")


COMPARISONS: dict[type[ast.cmpop], tuple[type[ast.cmpop], ...]] = {
    ast.Lt: (ast.LtE, ast.GtE),
    ast.LtE: (ast.Lt, ast.Gt),
    ast.Gt: (ast.GtE, ast.LtE),
    ast.GtE: (ast.Gt, ast.Lt),
    ast.Eq: (ast.GtE, ast.LtE, ast.NotEq),
    ast.NotEq: (ast.Gt, ast.Lt, ast.Eq),
    ast.Is: (ast.IsNot,),
    ast.IsNot: (ast.Is,),
}


@operator
def comparison(place: Place) -> Iterator[Changed]:
    """Another comparison is made: <= for <, > for !=."""
    match place.node:
        case ast.Compare(left, signs, others):
            for index, sign in enumerate(signs):
                choices = COMPARISONS.get(type(sign), ())
                # The opposite of a whole condition is among those of `condition`.
                alone = len(signs) == 1 and isinstance(place.parent, ast.If)
                for other in choices[:-1] if alone else choices:
                    yield ast.Compare(left, [*signs[:index], other(), *signs[index + 1 :]], others)


@operator
def boolean(place: Place) -> Iterator[Changed]:
    """and stands for or, one side of it is left out, or a not is left out or added."""
    match place.node:
        case ast.BoolOp(sign, values):
            yield ast.BoolOp(ast.Or() if isinstance(sign, ast.And) else ast.And(), values)
            for value in values:
                yield value
                yield ast.BoolOp(sign, [make("not X", X=part) if part is value else part for part in values])
        case ast.UnaryOp(ast.Not(), operand):
            yield operand


@operator
def other_error(place: Place) -> Iterator[Changed]:
    """An error of another type is raised."""
    match place.node:
        case ast.Raise(ast.Call(ast.Name("ValueError"), arguments)):
            for name in ("TypeError", "RuntimeError", "KeyError"):
                yield ast.Raise(ast.Call(ast.Name(name), arguments, []))


# Results


@operator
def other_result(place: Place) -> Iterator[Changed]:
    """A step in between, or an argument, is returned."""
    if not isinstance(place.node, ast.Name):
        known = in_scope(place)
        yield from (ast.Name(name) for _ in tensor_results(place) for name in known if known[name] == "Tensor")


@operator
def other_container(place: Place) -> Iterator[Changed]:
    """The result is of another type: a list for a tuple, a tuple for a list, a float for an int."""
    match place.node, place.parent:
        case ast.Tuple(parts), ast.Return():
            yield ast.List(parts)
        case ast.expr() as result, ast.Return():
            others = {"list": "tuple(X)", "int": "float(X)", "str": "list(X)"}
            if gives(place).partition("[")[0] in others:
                yield make(others[gives(place).partition("[")[0]], X=result)


# Gradients, types and memory


WITHOUT_GRADIENT = {"idx", "targets", "data", "padding_mask"}


def _has_gradient(function: ast.FunctionDef | None) -> bool:
    return bool(function and (function.name == "forward" or {*tensors(function)} - WITHOUT_GRADIENT))


@operator
def detached(place: Place) -> Iterator[Changed]:
    """No gradient flows through an argument, a step in between or a result."""
    if not _has_gradient(place.function):
        return
    yield from (make("X.detach()", X=result) for result in tensor_results(place))
    if begins(place):
        yield from _first(place, "X = X.detach()", {*tensors(place.function)} - WITHOUT_GRADIENT)
    match place.node:
        case ast.Assign([ast.Name(name) as target], value) if not _is_only_returned(name, place):
            if kind_of(value, in_scope(place)) == "Tensor":
                yield ast.Assign([target], make("X.detach()", X=value), lineno=place.line)
        case ast.Attribute(ast.Name("self"), name, ast.Load()) if attributes(place).get(name) == "nn.Parameter":
            yield make("X.detach()", X=place.node)


def _is_only_returned(name: str, place: Place) -> bool:
    """Whether a local's one use is in the return, as it is: there it comes up as a result."""
    assert place.function is not None
    used = [node for node in ast.walk(place.function) if isinstance(node, ast.Name) and node.id == name]
    match place.function.body[-1]:
        case ast.Return(ast.Tuple(parts)):
            return len(used) == 2 and any(part in used for part in parts)
        case ast.Return(ast.Name() as whole):
            return len(used) == 2 and whole in used
    return False


def _first(place: Place, template: str, names: Collection[str]) -> Iterator[list[ast.stmt]]:
    """The first statement with one before it, for each of these arguments."""
    assert isinstance(place.node, ast.stmt)
    for name in tensors(place.function):
        if name in names:
            yield [statement(template, X=ast.Name(name)), place.node]


@operator
def no_grad(place: Place) -> Iterator[Changed]:
    """torch.no_grad() is put round a definition, or forgotten."""
    match place.node:
        case ast.FunctionDef(body=body) if _has_gradient(place.node) and _gives_tensors(place.node):
            wrapped = statement("with torch.no_grad(): pass")
            assert isinstance(wrapped, ast.With)
            wrapped.body = body
            yield _with_body(place.node, [wrapped])
        case ast.With(body=body):
            yield body


def _gives_tensors(function: ast.FunctionDef) -> bool:
    return function.returns is not None and "Tensor" in ast.unparse(function.returns)


def _with_body(function: ast.FunctionDef, body: list[ast.stmt]) -> ast.FunctionDef:
    return ast.FunctionDef(
        function.name, function.args, body, function.decorator_list, function.returns, lineno=function.lineno
    )


@operator
def frozen(place: Place) -> Iterator[Changed]:
    """A parameter does not require gradients."""
    match place.node:
        case ast.Call(ast.Attribute(ast.Name("nn"), "Parameter")):
            yield with_keyword(place.node, "requires_grad", make("False"))
    yield from (make("X.requires_grad_(False)", X=result) for result in module_results(place))


@operator
def cast(place: Place) -> Iterator[Changed]:
    """An argument or a result is cast to float32, or a module to float64."""
    yield from (make("X.float()", X=result) for result in tensor_results(place))
    yield from (make("X.double()", X=result) for result in module_results(place))
    if begins(place):
        yield from _first(place, "X = X.float()", tensors(place.function))


IN_PLACE = {ast.Add: "add_", ast.Sub: "sub_", ast.Mult: "mul_", ast.Div: "div_"}


@operator
def in_place(place: Place) -> Iterator[Changed]:
    """A step is done in the memory of an argument."""
    arguments = tensors(place.function)
    match place.node:
        case ast.Assign([ast.Name(name) as target], ast.BinOp(ast.Name(left), sign, right)) if name == left:
            yield ast.AugAssign(target, sign, right)
        case ast.BinOp(ast.Name(name) as left, ast.Add() | ast.Sub() | ast.Mult() | ast.Div() as sign, right):
            is_augmented = isinstance(place.parent, ast.Assign) and ast.unparse(place.parent.targets[0]) == name
            if name in arguments and not is_augmented:
                yield ast.Call(ast.Attribute(left, IN_PLACE[type(sign)]), [right], [])
        case ast.Call(ast.Attribute(ast.Name(name) as receiver, "masked_fill" | "transpose" as step), given):
            if name in arguments:
                yield ast.Call(ast.Attribute(receiver, f"{step}_"), given, [])
        case ast.Call(ast.Attribute(ast.Name("torch"), "exp" | "relu" | "tanh" as step), [given]):
            yield make(f"X.{step}_()", X=given)


@operator
def changed_argument(place: Place) -> Iterator[Changed]:
    """An argument is not left as it was."""
    match place.node:
        case ast.Return(ast.expr() as value):
            for name in tensors(place.function):
                # In its data, or autograd would forbid it before any test looks.
                change = "X.data.zero_()" if name in WITHOUT_GRADIENT else "X.data.mul_(2)"
                kept, back = statement("result = X", X=value), statement("return result")
                yield [kept, statement(change, X=ast.Name(name)), back]


@operator
def alias(place: Place) -> Iterator[Changed]:
    """Numbers are shared where they should be copied."""
    match place.node:
        case ast.Expr(ast.Call(ast.Attribute(receiver, "copy_"), [value])):
            yield statement("X.data = Y", X=receiver, Y=value)


# Modules and random draws


@operator
def plain_tensor(place: Place) -> Iterator[Changed]:
    """A tensor that should be a parameter is none."""
    match place.node:
        case ast.Call(ast.Attribute(ast.Name("nn"), "Parameter"), [value]):
            yield value


@operator
def buffer(place: Place) -> Iterator[Changed]:
    """A buffer is a plain attribute, or a parameter without gradient."""
    match place.node:
        case ast.Expr(ast.Call(ast.Attribute(_, "register_buffer"), [ast.Constant(str(name)), value, *_])):
            yield statement(f"self.{name} = X", X=value)
            yield statement(f"self.{name} = nn.Parameter(X, requires_grad=False)", X=value)


@operator
def unregistered(place: Place) -> Iterator[Changed]:
    """A module is kept where its parameters and its mode are not found."""
    match place.node:
        case ast.Call(ast.Attribute(ast.Name("nn"), "ModuleList"), [modules]):
            yield make("list(X)", X=modules)
        case ast.Assign([ast.Attribute(ast.Name("self")) as target], value):
            if kind_of(value, parameters(place.function)) in {"nn.Module", "nn.Dropout"}:
                yield ast.Assign([target], make("X.forward", X=value), lineno=place.line)


@operator
def shared(place: Place) -> Iterator[Changed]:
    """One module stands in several places, where each should have one of its own."""
    match place.node:
        case ast.GeneratorExp(element, [ast.comprehension(ast.Name("_"), ast.Call(ast.Name("range"), [times]))]):
            yield make("[X] * N", X=element, N=times)
        case ast.Assign([ast.Attribute(ast.Name("self"), name) as target], ast.Call()):
            known = attributes(place)
            for other in known:
                if other == name:
                    break
                if known[other] == known[name]:
                    yield ast.Assign([target], make(f"self.{other}"), lineno=place.line)


@operator
def mode(place: Place) -> Iterator[Changed]:
    """A module puts itself into training or evaluation mode, or drops numbers in both."""
    holds_modules = len(place.around) > 1 and "dropout" in names_in(place.around[1]) | set(attributes(place))
    holds_modules |= "nn.Module" in attributes(place).values()
    if begins(place) and place.function and place.function.name == "forward" and holds_modules:
        assert isinstance(place.node, ast.stmt)
        yield from ([statement(call), place.node] for call in ("self.train()", "self.eval()"))
    match place.node:
        case ast.Call(ast.Attribute(ast.Name("self"), "dropout"), [value]):
            yield make("torch.nn.functional.dropout(X, self.dropout.p)", X=value)
    yield from (make("X.eval()", X=result) for result in module_results(place))


@operator
def generator(place: Place) -> Iterator[Changed]:
    """The generator is not handed on, or another one draws."""
    match place.node:
        case ast.Call(func, arguments, [*_, ast.keyword("generator")] as keywords):
            yield ast.Call(func, arguments, keywords[:-1])
            own = make("torch.Generator().manual_seed(0)")
            yield ast.Call(func, arguments, [*keywords[:-1], ast.keyword("generator", own)])
    if begins(place) and "generator" in parameters(place.function):
        assert isinstance(place.node, ast.stmt)
        yield [statement("torch.manual_seed(0)"), place.node]


@operator
def greedy(place: Place) -> Iterator[Changed]:
    """The likeliest is taken where one should be drawn."""
    match place.node:
        case ast.Call(ast.Attribute(_, "multinomial"), [probabilities, *_]):
            yield make("torch.argmax(X, dim=-1, keepdim=True)", X=probabilities)


# Texts and sequences


@operator
def backwards(place: Place) -> Iterator[Changed]:
    """A sequence is gone through from its end, or sorted from the largest down."""
    match place.node, place.parent:
        case ast.expr() as sequence, ast.For(ast.Name(name)) | ast.comprehension(ast.Name(name)) if name != "_":
            if place.field == "iter":
                yield make("reversed(list(X))", X=sequence)
        case ast.Call(ast.Name("sorted")) as call, _:
            yield with_keyword(call, "reverse", make("True"))


@operator
def tidied_text(place: Place) -> Iterator[Changed]:
    """A text loses its capital letters, or the white space at its ends."""
    if begins(place) and parameters(place.function).get("text") == "str":
        assert isinstance(place.node, ast.stmt)
        yield from ([statement(f"text = text.{step}()"), place.node] for step in ("lower", "strip"))
