"""What to do about errors on tensors, layers and numbers, by the error's text, the shapes and the code."""

from __future__ import annotations

import ast
import itertools
import re
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from grader.engine.outcomes import Outcome
from grader.engine.source_lines import SourceLine, SourceLines

# A sum or the like along a dim, and errors that come of the dim that it removes.
REDUCTION = re.compile(r"\b(sum|mean|max|min|amax|amin|var|std)\((?!\))")
INDEXED = re.compile(rf"{REDUCTION.pattern}[^()]*\)\S*\[")
# Tensors that do not line up, and products that do not fit.
UNEQUAL = re.compile(r"must match the size of tensor")
PRODUCT = re.compile(r"shapes cannot be multiplied|^size mismatch, got input")
PRODUCT_OF_BATCHES = re.compile(
    rf"{UNEQUAL.pattern}|shapes cannot be multiplied|^Expected size for first two dimensions of batch2"
)
MISMATCH = re.compile(r"tensor a \((\d+)\) must match the size of tensor b \((\d+)\) at non-singleton dimension (\d+)")
IN_A_PRODUCT = re.compile(r"@|\b(?:matmul|bmm|mm)\(")
SWAP = r"(?<![\w.]){name}\.(?:{ways})\((-?\d), ?(-?\d)\)|\b(?:{ways})\({name}, ?(-?\d), ?(-?\d)\)"
A_LAYER = re.compile(r"\bself\.\w+\(|linear\(")
WAYS = "transpose|swapaxes|swapdims"
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
        r"cannot assign '[\w.]*\.(?:Linear|Embedding)' as parameter",
        "A layer is no parameter: its numbers are in its `.weight`.",
    ),
    (
        r"(?s)loading state_dict.*Missing key.*Unexpected key",
        "The two modules have other names for their parameters, as the two lists of keys show: copy each by itself.",
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
        r"^stack expects each tensor to be equal size",
        "`torch.stack` joins tensors of one shape. To return several results, write commas between them.",
    ),
    (
        r"^(?:maximum|minimum)\(\): argument 'other'",
        "`maximum` and `minimum` compare two tensors: along a dim, `amax(dim)` and `amin(dim)` find one entry.",
    ),
    (
        r"(?<!attribute )'(?:builtin_function_or_method|function|method)'"
        r"|\bnot (?:builtin_function_or_method|function|method)$|!builtin_function_or_method!",
        "A function is used as a value: are brackets missing behind its name, as in `x.exp()`?",
    ),
    (r"^1D tensors expected", "`torch.dot` takes two vectors. `@` also takes a matrix and a vector, or two matrices."),
    (
        r"^Tensors must have same number of dimensions",
        "`cat` joins tensors with the same number of dims: `keepdim=True` keeps one, and `unsqueeze` adds one.",
    ),
    (
        r"(?:list|tuple|string) indices must be integers or slices, not str",
        "A position belongs in these brackets: `.index(…)` of a list returns that of a value.",
    ),
    (r"too many indices for tensor", "There are more indices in the brackets than the tensor has dims."),
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
    r"unsupported operand type.*|must be Tensor, not \w+|expected Tensor as element .* but got \w+"
    r"|^'\w+' object has no attribute '(?:shape|size|T|mT|dim|view|reshape|transpose|masked_fill|softmax)'"
)
LAYERS = ("Linear", "Embedding", "Dropout", "ReLU", "GELU", "Softmax", "Sequential", "ModuleList")
# Several numbers where one is needed, by the call that needs one.
ONE_NUMBER = r"only one element tensors|elements cannot be converted to Scalar"
IN_CODE = (
    (
        ONE_NUMBER,
        "`{0}` of Python's `math` takes one number: `torch.{0}` takes a tensor.",
        r"(?<![\w.])(?:math\.)?(exp|log|sqrt|sin|cos|tan|tanh|floor|ceil)\(",
    ),
    (
        ONE_NUMBER,
        "`torch.tensor` makes a tensor of numbers; `torch.stack` joins tensors.",
        r"\btorch\.(?:tensor|Tensor|as_tensor)\(",
    ),
    (
        ONE_NUMBER,
        "`{0}(…)` takes one number: `.{0}()` gives a tensor of several another dtype.",
        r"(?<![\w.])(float|int)\(",
    ),
    (ONE_NUMBER, "`.{0}()` takes one number out of a tensor that has no other.", r"\.(item)\(\)"),
    (
        "^Boolean value of Tensor",
        "`and` makes no pair: to return several results, write commas between them.",
        r"^return\b.*\band\b",
    ),
)
# A call of torch with arguments that do not fit: what it is given, and each list of arguments that fits.
COMBINATION = re.compile(
    r"^(\w+)\(\) received an invalid combination of arguments - got \(([\w., =]*)\), but expected one of:"
)
FITTING = re.compile(r"^ \* \(([\w., =*\[\]]+)\)$", re.MULTILINE)
MOST_LISTS = 3
OUT_OF_BOUNDS = re.compile(r"^index -?\d+ is out of bounds for dimension \d+ with size (\d+)")
# A generator that is no named argument.
UNNAMED_GENERATOR = re.compile(r"[(,]\s*generator\s*[,)]")


class _Tensor(NamedTuple):
    """A tensor in the line of an error."""

    name: str
    sizes: tuple[int, ...]

    @classmethod
    def of(cls, shape: str) -> _Tensor:
        """Return the tensor of a text such as "x (2, 3)"."""
        name, _, sizes = shape.partition(" ")
        return cls(name, tuple(map(int, re.findall(r"\d+", sizes))))

    @property
    def transposed(self) -> _Tensor:
        """The transpose of a matrix; a vector has none."""
        name = self.name.removesuffix(".T") if self.name.endswith(".T") else f"{self.name}.T"
        return _Tensor(name, self.sizes[::-1]) if len(self.sizes) == 2 else self

    def fits(self, other: _Tensor) -> bool:
        """Return whether this matrix or vector can be multiplied by another one from the left."""
        return 0 < len(self.sizes) < 3 > len(other.sizes) > 0 and self.sizes[-1] == other.sizes[0]

    def swap_of_other_dims(self, code: str) -> str:
        """Return where a line swaps other dims of this batch than the last two, or ""."""
        dims = len(self.sizes)
        if dims > 2 and self.name.endswith(".T"):
            return self.name
        for found in re.finditer(SWAP.format(name=re.escape(self.name), ways=WAYS), code) if dims > 2 else ():
            if {int(one) % dims for one in found.groups() if one} != {dims - 2, dims - 1}:
                return found[0]
        return ""


def hint_on_shapes(detail: str, code: str, shapes: Sequence[str]) -> str:
    """Return a sentence on what to do about tensors whose shapes do not fit, or "".

    Args:
        detail: The error's text.
        code: The text of the line.
        shapes: The tensors in the expression that failed, each a name and a shape.
    """
    tensors = [_Tensor.of(one) for one in shapes]
    return (
        _swapped(detail, code, tensors)
        or _unequal(detail, code, tensors)
        or _lost_dim(detail, code)
        or _column(detail, tensors)
        or (_product(detail, code, tensors) if PRODUCT.search(detail) else "")
    )


def _lost_dim(detail: str, code: str) -> str:
    """Return what to do about the dim that a sum or the like in the line removes, or ""."""
    reduction = REDUCTION.search(code)
    is_lost = (
        UNEQUAL.search(detail)
        or ("too many indices" in detail and INDEXED.search(code))
        or (detail.startswith("Dimension out of range") and "unsqueeze(" in code)
    )
    if not reduction or not is_lost or "keepdim" in code:
        return ""
    return f"Without `keepdim=True`, `{reduction[1]}` removes the dim that it runs over: keep it, with size one."


def _swapped(detail: str, code: str, tensors: Sequence[_Tensor]) -> str:
    """Return what to do about a product of batches in which other dims than the last two are swapped, or ""."""
    if not PRODUCT_OF_BATCHES.search(detail) or not IN_A_PRODUCT.search(code):
        return ""
    swaps = ((one.name.removesuffix(".T"), one.swap_of_other_dims(code)) for one in tensors)
    sentences = (
        f"`{swap}` does not swap the last two dims: `{one}.transpose(-2, -1)` does." for one, swap in swaps if swap
    )
    return next(sentences, "")


def _unequal(detail: str, code: str, tensors: Sequence[_Tensor]) -> str:
    """Return what to do about two tensors that do not line up entry by entry, or ""."""
    if not UNEQUAL.search(detail) or len(tensors) != 2:
        return ""
    left, right = tensors
    if _are_aligned(left.sizes, right.sizes):
        return ""  # another tensor of the line is to blame
    if f"{left.name} * {right.name}" in code and left.fits(right):
        return f"`*` multiplies entry by entry: the matrix product is `{left.name} @ {right.name}`."
    small, large = sorted(tensors, key=lambda one: len(one.sizes))
    if len(large.sizes) == 1:
        one, other = left.name, right.name
        return f"To combine each entry of `{one}` with each of `{other}`, make it a column: `{one}[:, None]`."
    if len(small.sizes) == len(large.sizes) == 2 and small.sizes == large.sizes[::-1]:
        return "One shape is the other one, transposed: is a `.T` missing, or one too many?"
    if small.sizes in itertools.combinations(large.sizes, len(large.sizes) - 1):
        kept = "`keepdim=True` keeps that of a sum or mean, `unsqueeze` adds one"
        return f"`{small.name}` lacks a dim of `{large.name}`: {kept}."
    return ""


def _column(detail: str, tensors: Sequence[_Tensor]) -> str:
    """Return what to do about numbers without a name that may belong to another dim than the last, or ""."""
    mismatch = MISMATCH.search(detail)
    if not mismatch or len(tensors) != 1:
        return ""
    [(name, sizes)], (one, other, place) = tensors, map(int, mismatch.groups())
    wanted = other if sizes[-1:] == (one,) else one
    if place != len(sizes) - 1 or sizes[-1] not in (one, other) or sizes[:-1].count(wanted) != 1:
        return ""
    dim = sizes.index(wanted)
    shape, ones = (wanted, *[1] * (place - dim)), ", None" * (place - dim)
    them = f"the {wanted} numbers beside `{name}`"
    return f"If {them} belong to its dim {dim}, give them the shape {shape}, with `[:{ones}]`."


def _are_aligned(left: Sequence[int], right: Sequence[int]) -> bool:
    """Return whether tensors with these sizes can be combined entry by entry."""
    return all(one == other or 1 in (one, other) for one, other in zip(left[::-1], right[::-1], strict=False))


def _product(detail: str, code: str, tensors: Sequence[_Tensor]) -> str:
    """Return what to do about a product of matrices, or of a vector and a matrix, whose shapes do not fit, or ""."""
    numbers = tuple(map(int, re.findall(r"\d+", detail.partition("(")[2])))
    if len(numbers) != 4:
        return ""
    if len(tensors) == 2 and tensors[0].name.endswith(".weight") and tensors[0].sizes == numbers[:-3:-1]:
        layer, takes, gets = tensors[0].name.removesuffix(".weight"), numbers[-2], numbers[1]
        return f"The layer `{layer}` takes {takes} features, and here it gets {gets}."
    if len(tensors) == 1 and f"{tensors[0].name} @ {tensors[0].name}" in code:
        tensors = [*tensors, *tensors]
    what = "If these shapes are right"
    sizes = tuple(size for one in tensors for size in one.sizes)
    if len(tensors) != 2 or numbers[-len(sizes) :] != sizes:
        # The factors have no names.
        is_product = IN_A_PRODUCT.search(code) and not A_LAYER.search(code)
        if not is_product or any(len(one.sizes) > 2 for one in tensors):
            return ""
        tensors = [_Tensor("A", numbers[:2]), _Tensor("B", numbers[2:])]
        what = f"This is `A @ B` with A {tensors[0].sizes} and B {tensors[1].sizes}. If that is right"
    left, right = tensors
    products = [(right, left), (left, right.transposed), (left.transposed, right)]
    fitting = dict.fromkeys(f"`{one.name} @ {other.name}`" for one, other in products if one.fits(other))
    return f"{what}, {' or '.join(fitting)} fits." if fitting else ""


def by_rule(rules: Iterable[tuple[str, ...]], detail: str, code: str) -> str:
    """Return the hint of the first rule that fits an error and the code of its line, or "".

    rules: For each a pattern of the error's text, the hint, and perhaps a pattern of the code. The hint may have the
        groups of the patterns in braces.
    """
    for pattern, hint, *in_code in rules:
        if (error := re.search(pattern, detail)) and (found := re.search("".join(in_code), code)):
            return hint.format(*error.groups(), *found.groups())
    return ""


def hint_on_tensors(outcome: Outcome, place: SourceLine) -> str:
    """Return a sentence on what to do about an error on tensors, which was raised in this line, or ""."""
    detail, code = outcome.detail, place.text
    found = uncalled(detail, place.lines) or by_rule(IN_CODE, detail, code)
    found = found or hint_on_shapes(detail, code, outcome.shapes) or _index(detail, place)
    return found or by_rule(TEXTS, detail, code)


def on_combination(detail: str) -> str:
    """Return which arguments a function of torch takes, if a call has others, or ""."""
    found = COMBINATION.match(detail) if "method" not in detail.partition(", but expected")[0] else None
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


def _index(detail: str, place: SourceLine) -> str:
    """Return what to do about an index that is too large or too small, or ""."""
    found = OUT_OF_BOUNDS.match(detail)
    if not found or found[1] == "0":
        return ""
    function = place.around[:1]
    draws = any(isinstance(one, ast.Attribute) and one.attr == "randint" for node in function for one in ast.walk(node))
    drawn = " `torch.randint(high, …)` draws numbers below `high`: choose it so that all indices fit." if draws else ""
    return f"Along a dim of size {found[1]}, the last index is {int(found[1]) - 1}.{drawn}"


def uncalled(detail: str, lines: SourceLines) -> str:
    """Return what to do about a layer in a place for a tensor, or ""."""
    found = NO_TENSOR.search(detail)
    classes = {name for exercises in lines.exercises.values() for name in exercises if name[:1].isupper()}
    kinds = [one for one in re.findall(r"\w+", found[0] if found else "") if one in classes.union(LAYERS)]
    return f"`{kinds[0]}` is a layer and no tensor: call it with its input, as in `self.layer(x)`." if kinds else ""


def unnamed_generator(detail: str, code: str) -> str:
    """Return what to do about a call of torch that gets a generator without its name, or ""."""
    is_unnamed = "invalid combination of arguments" in detail and UNNAMED_GENERATOR.search(code)
    return "Torch takes a generator by its name only: `generator=generator`." if is_unnamed else ""
