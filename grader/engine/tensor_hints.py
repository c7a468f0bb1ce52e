"""What to do about errors on shapes, layers, masks and single numbers, by the error's text, the shapes and the code."""

from __future__ import annotations

import ast
import itertools
import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from grader.engine.outcomes import Outcome
    from grader.engine.source_lines import SourceLines

# By the text of the error.
TEXTS = (
    (r"'Parameter' object is not callable", "A parameter is a tensor and no layer: multiply by it, with `@` or `*`."),
    (r"'Tensor' object is not callable", "A tensor is no function: is an operator missing in front of a bracket?"),
    (
        r"'(?:int|float)' object is not callable",
        "A number is no function: is an operator missing in front of a bracket, or does a variable have the name of a "
        "function?",
    ),
    (
        r"^(?:dropout|_?Dropout\w*\.__init__)\(\) got an unexpected keyword argument 'generator'",
        "Torch's own dropout takes no generator: draw with `torch.rand(…, generator=generator)`.",
    ),
    (
        r"Only Tensors of floating point .* can require gradients",
        "Only floats can be learned. A mask is no parameter: keep it with `self.register_buffer(…)`.",
    ),
    (
        r"tri[ul]: input tensor must have at least 2 dimensions",
        "`triu` and `tril` take a matrix: give it two sizes, as in a mask (T, T).",
    ),
    (
        r"cannot assign '[\w.]*Tensor' as parameter",
        "Wrap the tensor in `nn.Parameter(…)`, or copy its numbers with `.copy_(…)` inside `with torch.no_grad():`.",
    ),
    (
        r"^Expected size for first two dimensions of batch2",
        "In a product (…, a, b) @ (…, c, d), b and c must be equal: is a transpose of the last two dims missing?",
    ),
    (
        r"must match the size of tensor",
        "Shapes are compared from the last dim backwards: two sizes must be equal, or one of them 1.",
    ),
    (r"batch\d must be a 3D tensor", "`bmm` takes exactly three dims; `@` takes any number of them."),
    (
        r"^permute.*number of dimensions",
        "`permute` names every dim; `transpose(-2, -1)` swaps the last two of any number of them.",
    ),
    (
        r"^t\(\) expects a tensor with|(?:self|mat2) must be a matrix",
        "`.t()` and `mm` take matrices; `transpose(-2, -1)` and `@` take any number of dims.",
    ),
    (
        r"only supports boolean masks",
        "A mask holds True and False: make it with `.bool()`, or by a comparison such as `mask == 1`.",
    ),
    (r"the `-` operator, .*bool tensor", "A mask is inverted by `~`, not by a minus."),
    (r"^~ \(operator\.invert\)", "`~` inverts only True and False: make the mask bool first, with `.bool()`."),
    (
        r"Boolean value of Tensor with more than one value",
        "`if`, `and`, `or` and `not` take one True or False: use `.any()`, `.all()`, or `torch.where` for each entry.",
    ),
    (r"^shape '.*' is invalid for input of size", "`view` and `reshape` keep every number: the sizes must fit them."),
    (
        r"values to unpack",
        "There are more or fewer names on the left of `=` than values on the right. One size is `x.shape[-1]`.",
    ),
    (r"^index out of range in self", "An embedding has rows from 0 on: an index in this line is none of them."),
    (
        r"^stack expects each tensor to be equal size",
        "`torch.stack` joins tensors of one shape. Is one of them shorter, such as a slice that goes past the end?",
    ),
    (
        r"^Sizes of tensors must match except in dimension",
        "`torch.cat` joins tensors along one dim, by default the first; all their other sizes must be equal.",
    ),
    (
        r"expects 'from' to be less than 'to'",
        "`torch.randint` draws from `low`, or 0, to `high - 1`: `high` must be larger, and here it is not.",
    ),
    (r"tensors used as indices must be", "Indices are whole numbers, `.long()`, or a mask, `.bool()`."),
)
# A layer in a place for a tensor, and layers of torch that students use, beside the classes of the course.
NO_TENSOR = re.compile(
    r"unsupported operand type.*|must be Tensor, not \w+"
    r"|^'\w+' object has no attribute '(?:shape|size|T|mT|dim|view|reshape|transpose|masked_fill|softmax)'"
)
LAYERS = ("Linear", "Embedding", "Dropout", "ReLU", "GELU", "Softmax", "Sequential", "ModuleList")
# Several numbers where one is needed, and the calls that need one.
ONE_NUMBER = re.compile(r"only one element tensors|elements cannot be converted to Scalar")
ONE_NUMBER_CALLS = (
    (
        re.compile(r"(?<![\w.])(?:math\.)?(exp|log|sqrt|sin|cos|tan|tanh|floor|ceil)\("),
        r"`\1` of Python's `math` takes one number: `torch.\1` takes a tensor.",
    ),
    (
        re.compile(r"\btorch\.(?:tensor|Tensor|as_tensor)\("),
        r"`torch.tensor` makes a tensor of numbers; `torch.stack` joins tensors.",
    ),
    (
        re.compile(r"(?<![\w.])(float|int)\("),
        r"`\1(…)` takes one number: `.\1()` gives a tensor of several another dtype.",
    ),
    (re.compile(r"\.(item)\(\)"), r"`.\1()` takes one number out of a tensor that has no other."),
)
# A sum or the like along a dim, and the sizes of a product that does not fit.
REDUCTION = re.compile(r"\b(sum|mean|max|min|amax|amin|var|std)\((?!\))")
MISMATCH = re.compile(
    r"size of tensor a \((\d+)\) must match the size of tensor b \((\d+)\) at non-singleton dimension (\d+)"
)
PRODUCT = re.compile(r"shapes cannot be multiplied \((\d+)x(\d+) and (\d+)x(\d+)\)")
# A call of torch with arguments that do not fit: what it is given, and each list of arguments that fits.
COMBINATION = re.compile(
    r"^(\w+)\(\) received an invalid combination of arguments - got \(([\w., =]*)\), but expected one of:"
)
FITTING = re.compile(r"^ \* \(([\w., =*\[\]]+)\)$", re.MULTILINE)
MOST_LISTS = 3
OUT_OF_BOUNDS = re.compile(r"^index -?\d+ is out of bounds for dimension \d+ with size (\d+)")


def hint_on_tensors(outcome: Outcome, code: str, lines: SourceLines) -> str:
    """Return a sentence on what to do about an error on tensors, or "".

    Args:
        outcome: What was raised.
        code: The text of the line.
        lines: The submission.
    """
    detail = outcome.detail
    found = uncalled(detail, lines) or _one_number(detail, code) or _unaligned(outcome, code) or _index(outcome, lines)
    return found or next((sentence for pattern, sentence in TEXTS if re.search(pattern, outcome.detail)), "")


def on_combination(detail: str) -> str:
    """Return which arguments a function of torch takes, if a call has others, or ""."""
    found = COMBINATION.match(detail)
    lists = FITTING.findall(detail) if found else []
    fitting = list(dict.fromkeys(one.partition("*")[0].removesuffix(", ") for one in lists))
    if not found or "" in fitting or not 0 < len(fitting) <= MOST_LISTS:
        return ""
    takes = " or ".join(f"({one})" for one in fitting)
    rest = ", and the rest with their names" if any("*" in one for one in lists) else ""
    given = ", ".join(one for one in found[2].split(", ") if not one.endswith("=NoneType"))
    return f"`{found[1]}` takes {takes}{rest}; here it gets ({given})."


def without_lists(detail: str, hint: str) -> str:
    """Return the text of an error without the lists of arguments that the hint gives in short."""
    takes = on_combination(detail)
    return detail.partition(", but expected one of:")[0] if takes and takes in hint else detail


def _index(outcome: Outcome, lines: SourceLines) -> str:
    """Return what to do about an index that is too large or too small, or ""."""
    found = OUT_OF_BOUNDS.match(outcome.detail)
    if not found or found[1] == "0":
        return ""
    function = lines.around(outcome.file, outcome.line)[:1]
    draws = any(isinstance(one, ast.Attribute) and one.attr == "randint" for node in function for one in ast.walk(node))
    drawn = " `torch.randint(high, …)` draws numbers below `high`: choose it so that all indices fit." if draws else ""
    return f"Along a dim of size {found[1]}, the last index is {int(found[1]) - 1}.{drawn}"


def uncalled(detail: str, lines: SourceLines) -> str:
    """Return what to do about a layer in a place for a tensor, or ""."""
    found = NO_TENSOR.search(detail)
    classes = {name for exercises in lines.exercises.values() for name in exercises if name[:1].isupper()}
    kinds = [one for one in re.findall(r"\w+", found[0] if found else "") if one in classes.union(LAYERS)]
    return f"`{kinds[0]}` is a layer and no tensor: call it with its input, as in `self.layer(x)`." if kinds else ""


def _one_number(detail: str, code: str) -> str:
    """Return what to do about a tensor of several numbers where one number is needed, or ""."""
    if not ONE_NUMBER.search(detail):
        return ""
    return next((found.expand(sentence) for call, sentence in ONE_NUMBER_CALLS if (found := call.search(code))), "")


def _unaligned(outcome: Outcome, code: str) -> str:
    """Return what to do about tensors whose shapes do not fit, or ""."""
    reduction = REDUCTION.search(code) if "must match the size of tensor" in outcome.detail else None
    if reduction and "keepdim" not in code:
        return f"Without `keepdim=True`, `{reduction[1]}` removes the dim that it runs over: keep it, with size one."
    shapes = [one.removesuffix(")").rsplit(" (", 1) for one in outcome.shapes]
    if lost := _lost_dim(outcome.detail, shapes):
        return lost
    found = PRODUCT.search(outcome.detail)
    if not found or len(shapes) != 2:
        return ""
    rows, inner, other, columns = found.groups()
    (left, first), (right, second) = shapes
    if left.endswith(".weight") and first == f"{columns}, {other}":
        return f"The layer `{left.removesuffix('.weight')}` takes {other} features, and here it gets {inner}."
    if (first, second) != (f"{rows}, {inner}", f"{other}, {columns}"):
        return ""
    products = {
        f"{right} @ {left}": columns == rows,
        f"{left} @ {_transposed(right)}": inner == columns,
        f"{_transposed(left)} @ {right}": rows == other,
    }
    fitting = [f"`{product}`" for product, fits in products.items() if fits]
    return f"The shapes would fit in {' or '.join(fitting)}." if fitting else ""


def _lost_dim(detail: str, shapes: list[list[str]]) -> str:
    """Return what to do about a dim that seems to be missing in a tensor, such as that of a sum, or ""."""
    mismatch = MISMATCH.search(detail)
    sizes = [(name, shape.rstrip(",").split(", ")) for name, shape in shapes] if mismatch else []
    for (name, mine), (other, theirs) in itertools.permutations(sizes, 2):
        for dim in range(len(theirs) - 1, 0, -1):
            if mine == [*theirs[:dim], *theirs[dim + 1 :]]:
                kept = ", ".join([*theirs[:dim], "1", *theirs[dim + 1 :]])
                made = f"If `{name}` is a sum, a mean or the like of `{other}`"
                return f"{made}, `keepdim=True` keeps the dim, so that it fits: ({kept})."
    if not mismatch or len(sizes) != 1:
        return ""
    [(name, mine)], (one, other, place) = sizes, mismatch.groups()
    if len(mine) == 1 and place == "0":
        return f"If both have one dim, make one of them a column to get each pair: `{name}[:, None]`."
    wanted = other if one == mine[-1] else one
    if place == str(len(mine) - 1) and mine[-1] in (one, other) and mine[:-1].count(wanted) == 1:
        dim = mine.index(wanted)
        ones = len(mine) - 1 - dim
        shape = ", ".join([wanted, *["1"] * ones])
        return (
            f"If the {wanted} numbers beside `{name}` belong to its dim {dim}, give them the shape ({shape}), with "
            f"`[:{', None' * ones}]`."
        )
    return ""


def _transposed(name: str) -> str:
    return name.removesuffix(".T") if name.endswith(".T") else f"{name}.T"
