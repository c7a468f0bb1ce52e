"""Each hint on a real learner's mistake is said of it, and not of an answer that only looks like it."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from student_errors import error_of, lines_of

from grader.engine.explanations import advice, explained
from grader.engine.outcomes import Outcome
from grader.engine.tensor_hints import hint_on_shapes
from grader.testing.draws import UNUSED_GENERATOR

EXERCISES = {"Attention", "project", "scores", "two_words"}
IMPORTS = "import math\nimport random\nimport torch\nfrom torch import nn\nfrom torch.nn import functional as F\n"


def raised(source: str, name: str, *arguments: Any) -> tuple[str, str]:
    """Call an exercise of this source: the reason of its failure, and the advice."""
    outcome, lines = error_of(source, EXERCISES, name, *arguments)
    return outcome.reason, advice(outcome, EXERCISES - {name}, lines)


@pytest.mark.parametrize(
    ("mistake", "hint", "near_miss"),
    [
        # A layer that is not called, beside an operand that is no layer
        ("x @ nn.Linear(3, 2)", "`Linear` is a layer and no tensor: call it", "x @ 'W'"),
        ("torch.matmul(x, nn.Linear(3, 2))", "`Linear` is a layer and no tensor: call it", "torch.matmul(x, 2)"),
        ("nn.Dropout(0.1) * x", "`Dropout` is a layer and no tensor: call it", "[nn.Dropout(0.1)] * x"),
        ("torch.cat([nn.Linear(3, 2)])", "`Linear` is a layer and no tensor: call it", "torch.cat([2])"),
        ("nn.Linear(3, 2).shape", "`Linear` is a layer and no tensor: call it", "nn.Linear(3, 2).widht"),
        # What is no function
        ("nn.Parameter(x)(x)", "A parameter is a tensor and no layer", "nn.Linear(3, 2)(x, x)"),
        ("x(2)", "A tensor is no function", "x.shape(2)"),
        ("x.dim()(x)", "A number is no function", "x.shape(2)"),
        # A function that is not called
        ("x.exp / 2", "A function is used as a value: are brackets missing", "'W' / 2"),
        ("x.exp.sum()", "A function is used as a value: are brackets missing", "x.function"),
        ("torch.softmax(x.exp, -1)", "A function is used as a value: are brackets missing", "torch.softmax(2, -1)"),
        ("x.view(x.numel)", "A function is used as a value: are brackets missing", "x.view(4)"),
        ("torch.dot(x[0], x)", "`torch.dot` takes two vectors.", "torch.dot(x[0], 2)"),
        ("torch.cat([x, x[0]])", "`cat` joins tensors with the same number of dims", "torch.cat([x, x[:, :2]])"),
        ("list('ab')['a']", "A position belongs in these brackets", "{'a': 1}['b']"),
        # One number or several
        ("math.exp(x)", "`exp` of Python's `math` takes one number: `torch.exp`", "math.exp('W')"),
        ("math.tanh(x)", "`tanh` of Python's `math` takes one number: `torch.tanh`", "torch.tanh(2)"),
        ("torch.tensor([x, x])", "`torch.tensor` makes a tensor of numbers; `torch.stack`", "torch.tensor(['W', x])"),
        ("float(x)", "`float(…)` takes one number: `.float()`", "float('W')"),
        ("x.item()", "`.item()` takes one number", "x.item(2, 2)"),
        ("x if x > 0 else 0", "`if`, `and`, `or` and `not` take one True or False", "x if x.shape > 0 else 0"),
        ("x.maximum(-1)", "`maximum` and `minimum` compare two tensors", "x.max(9)"),
        ("torch.stack([x, x[0]])", "`torch.stack` joins tensors of one shape.", "torch.stack([x, 'W'])"),
        ("x and x", "`and` makes no pair: to return several results", "x or x"),
        # Parameters and masks
        ("nn.Parameter(x > 0)", "Only floats can be learned. A mask is no parameter", "nn.Parameter('W')"),
        (
            "setattr(nn.Linear(3, 2), 'weight', x)",
            "Wrap the tensor in `nn.Parameter(…)`",
            "nn.Linear(3, 2).weight.copy(x)",
        ),
        (
            "setattr(nn.Linear(3, 2), 'weight', nn.Linear(3, 2))",
            "A layer is no parameter: its numbers are in its `.weight`.",
            "setattr(nn.Linear(3, 2), 'weight', nn.ReLU())",
        ),
        (
            "nn.Linear(3, 2).load_state_dict({'W': x})",
            "The two modules have other names for their parameters",
            "nn.Linear(3, 2).load_state_dict({})",
        ),
        ("x.masked_fill(x, 0)", "A mask holds True and False", "x.masked_fill(x > 0, 'W')"),
        ("-(x > 0)", "A mask is inverted by `~`", "-'W'"),
        ("~x", "`~` inverts only True and False", "~'W'"),
        ("x[x]", "Indices are whole numbers", "x[9]"),
        ("torch.triu(torch.ones(3))", "`triu` and `tril` take a matrix", "torch.triu('W')"),
        # Generators
        (
            "F.dropout(x, 0.5, generator=None)",
            "Torch's own dropout takes no generator",
            "F.dropout(x, 0.5, generators=None)",
        ),
        (
            "[torch.rand((2,), generator) for generator in (None,)]",
            "Torch takes a generator by its name only",
            "torch.rand((2,), None)",
        ),
        ("nn.Dropout(0.5, generator=None)", "Torch's own dropout takes no generator", "nn.Dropout(0.5, p=0.5)"),
        # Shapes
        ("torch.bmm(x, x)", "`bmm` takes exactly three dims", "torch.bmm(x[None], x[None])"),
        ("x[None] @ x[None]", "In a product (…, a, b) @ (…, c, d), b and c must be equal", "x[None] + x[None].mT"),
        ("x.permute(0, 2, 1)", "`permute` names every dim", "x.permute(0, 9)"),
        ("x[None].t()", "`.t()` and `mm` take matrices", "x.t(2)"),
        ("torch.mm(x[None], x)", "`.t()` and `mm` take matrices", "torch.mm(x, x)"),
        ("x / x.sum(-1)", "Without `keepdim=True`, `sum` removes the dim", "x / x.sum(0, keepdim=True).mT"),
        ("x / x.sum(-1)[:, :, None]", "Without `keepdim=True`, `sum` removes the dim", "x[:, :, 0] / x.sum(1)"),
        ("x[0] / x[0].max(-1)[0].unsqueeze(1)", "Without `keepdim=True`, `max` removes the dim", "x.sum(2)"),
        ("x[:, :, 0]", "There are more indices in the brackets than", "x[:, 9]"),
        ("x * torch.ones(4)", "Shapes are compared from the last dim backwards", "x @ torch.ones(2)"),
        ("x.view(4, 2)", "`view` and `reshape` keep every number", "x.view('W')"),
        ("(lambda a: a @ x)(nn.Linear(4, 2).weight)", "", "x @ x"),
        ("nn.Embedding(2, 3)(x.long() + 9)", "An embedding has rows from 0 on", "[][9]"),
        ("[(a, b) for a, b in [x.tolist()[0]]]", "There are more or fewer names on the left of `=`", "2 + 'W'"),
        (
            "x.cumsum(0) / torch.arange(1, 3)",
            "If the 2 numbers beside `x` belong to its dim 0, give them the shape (2, 1), with `[:, None]`.",
            "x.cumsum(0) / torch.arange(1, 5)",
        ),
        ("torch.stack([x, x[:1]])", "`torch.stack` joins tensors of one shape", "torch.cat([x, x[:, :1]])"),
        ("torch.cat([x, x[:, :1]])", "`torch.cat` joins tensors along one dim", "torch.stack([x, x[:1]])"),
        # Indices and draws
        ("x[2]", "Along a dim of size 2, the last index is 1.", "[][2]"),
        (
            "x[torch.randint(2, 3, (4,))]",
            "Along a dim of size 2, the last index is 1. `torch.randint(high, …)` draws numbers below `high`",
            "x[torch.arange(9)]",
        ),
        ("torch.randint(0, (2,))", "`torch.randint` draws from `low`, or 0, to `high - 1`", "torch.rand(-1)"),
        (
            "torch.randint(5, 2, generator=None)",
            "`randint` takes (int high, tuple of ints size) or (int low, int high, tuple of ints size), and the rest "
            "with their names; here it gets (int, int).",
            "torch.randint(0, (2,))",
        ),
        (
            "x.masked_fill(x > 0)",
            "`masked_fill` takes (Tensor mask, Tensor value) or (Tensor mask, Number value); here it gets (Tensor).",
            "x.masked_fill(x, 0)",
        ),
        # Names of torch
        ("torch.expo(x)", "Did you mean `exp`?", "torch.nothing_like_it(x)"),
        ("x.softmx(-1)", "Did you mean `softmax`?", "x.nothing_like_it(-1)"),
        ("nn.Linaer(3, 2)", "Did you mean `Linear`?", "nn.Nothing(3, 2)"),
        ("math.sqr(2)", "Did you mean `sqrt`?", "math.nothing_like_it(2)"),
    ],
)
def test_a_hint_is_said_of_the_mistake_and_not_of_the_near_miss(mistake: str, hint: str, near_miss: str) -> None:
    x = torch.tensor([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]])
    said, not_said = (
        raised(f"{IMPORTS}def scores(x):\n    return {code}\n", "scores", x)[1] for code in (mistake, near_miss)
    )
    assert said.startswith(hint)
    assert not (hint and not_said.startswith(hint))


BACKWARDS = "Shapes are compared from the last dim backwards: two sizes must be equal, or one of them 1."
SWAPPED = "`{}` does not swap the last two dims: `W.transpose(-2, -1)` does. "
UNNAMED = "This is `A @ B` with A {} and B {}. If that is right, {} fits. "
KEEPDIM = "Without `keepdim=True`, `{}` removes the dim that it runs over: keep it, with size one. "
FITS = "If these shapes are right, {} fits. "


@pytest.mark.parametrize(
    ("line", "sizes", "products"),
    [
        ("W @ x", [(3, 2), (6, 3)], FITS.format("`x @ W`")),
        ("x @ W.T", [(3, 2), (6, 3)], FITS.format("`x @ W`")),
        ("torch.matmul(W, x)", [(3, 2), (6, 3)], FITS.format("`x @ W`")),
        ("x @ W", [(6, 3), (6, 3)], FITS.format("`x @ W.T` or `x.T @ W`")),
        ("x @ x", [(6, 3), (6, 3)], FITS.format("`x @ x.T` or `x.T @ x`")),
        ("W @ x", [(3,), (6, 3)], FITS.format("`x @ W` or `W @ x.T`")),
        ("x @ W", [(6,), (6, 3)], FITS.format("`W @ x` or `x.T @ W`")),
        # Nothing fits, or it is not known which two tensors are multiplied.
        ("x @ W", [(5, 4), (6, 3)], ""),
        ("nn.functional.linear(x + 0, W)", [(3, 2), (6, 3)], ""),
        ("nn.Linear(3, 2)(x)", [(3, 2), (6, 2)], ""),
        # The factors have no names.
        ("x[:, :2] @ W[:1]", [(3, 2), (6, 3)], UNNAMED.format("(6, 2)", "(1, 2)", "`A @ B.T`")),
        ("(x + 0) @ x", [(3, 2), (6, 3)], UNNAMED.format("(6, 3)", "(6, 3)", "`A @ B.T` or `A.T @ B`")),
        # Entry by entry
        ("x * W", [(3, 2), (6, 3)], "`*` multiplies entry by entry: the matrix product is `x @ W`. "),
        ("W * x", [(2,), (2, 3)], "`*` multiplies entry by entry: the matrix product is `W @ x`. "),
        ("x + W", [(3, 2), (2, 3)], "One shape is the other one, transposed: is a `.T` missing, or one too many? "),
        ("x + W", [(3, 2), (6, 3)], f"{BACKWARDS} "),
        (
            "x - W",
            [(2,), (2, 4)],
            "`W` lacks a dim of `x`: `keepdim=True` keeps that of a sum or mean, `unsqueeze` adds one. ",
        ),
        ("x - W", [(3,), (2, 4)], f"{BACKWARDS} "),
        ("(x - W) - x.mean(-1)", [(4,), (2, 4)], KEEPDIM.format("mean")),
        ("(W * x).sum(0)", [(2,), (2, 3)], "`*` multiplies entry by entry: the matrix product is `W @ x`. "),
        (
            "x > W",
            [(3,), (4,)],
            "To combine each entry of `x` with each of `W`, make it a column: `x[:, None]`. ",
        ),
        ("x[:2] > W", [(3,), (3,)], f"{BACKWARDS} "),
        # Batches
        ("x @ W.transpose(0, 1)", [(2, 6, 3), (2, 6, 3)], SWAPPED.format("W.transpose(0, 1)")),
        ("x @ W.swapaxes(2, 0)", [(2, 6, 3), (2, 6, 3)], SWAPPED.format("W.swapaxes(2, 0)")),
        ("torch.transpose(W, 0, 1) @ x", [(2, 6, 3), (2, 6, 3)], SWAPPED.format("transpose(W, 0, 1)")),
        ("x @ W.transpose(1, 2)", [(2, 2, 6, 3), (2, 2, 6, 3)], SWAPPED.format("W.transpose(1, 2)")),
        ("x @ W.transpose(2, 1) + torch.ones(4)", [(2, 6, 3), (2, 6, 3)], f"{BACKWARDS} "),
        ("x @ W.mT + torch.ones(4)", [(2, 6, 3), (2, 6, 3)], f"{BACKWARDS} "),
        ("x @ W.T + torch.ones(4)", [(5, 3), (6, 3)], f"{BACKWARDS} "),
    ],
)
def test_a_product_or_a_transpose_that_fits_is_named(line: str, sizes: list[tuple[int, ...]], products: str) -> None:
    W, x = map(torch.ones, sizes)
    _, hint = raised(f"import torch\nfrom torch import nn\ndef scores(W, x):\n    return {line}\n", "scores", W, x)
    assert hint.partition("Shapes in this line")[0] == products


@pytest.mark.parametrize("numbers", ["", "3", "3, 2", "3x2 and 2"])
def test_an_error_with_other_numbers_than_those_of_torch_is_harmless(numbers: str) -> None:
    detail = f"mat1 and mat2 shapes cannot be multiplied ({numbers})"
    assert hint_on_shapes(detail, "a @ n.weight", ["n.weight (3,)", "a (2,)"]) == ""


def test_a_layer_that_gets_other_inputs_is_named_with_both_widths() -> None:
    source = (
        f"{IMPORTS}class Attention(nn.Module):\n    def __init__(self):\n        super().__init__()\n"
        "        self.W_key = nn.Linear(4, 2)\n    def forward(self, x):\n        return self.W_key(x)\n"
        "def scores(x):\n    return Attention().forward(x)\n"
    )
    _, hint = raised(
        source.replace("class Attention", "class Other").replace("Attention()", "Other()"), "scores", torch.ones(5, 3)
    )
    assert hint.startswith("The layer `self.W_key` takes 4 features, and here it gets 3.")


def test_a_layer_given_to_another_exercise_is_named_too() -> None:
    source = f"{IMPORTS}def project(x, W):\n    return x @ W\ndef scores(x):\n    return project(x, nn.Linear(3, 2))\n"
    assert raised(source, "scores", torch.ones(2, 3))[1].endswith(
        "then `project` itself. `Linear` is a layer and no tensor: call it with its input, as in `self.layer(x)`."
    )


# -- by the source -------------------------------------------------------------------------------------------------

CLASS = "import torch\nclass Attention(torch.nn.Module):\n    def {}:\n        super().__init__()\n        {}\n"


@pytest.mark.parametrize(
    ("signature", "statement", "hint"),
    [
        ("__init__(width)", "self.width = width", "`__init__` in line 3 lacks `self`, the first argument of a method."),
        ("__int__(self, width)", "self.width = width", "`__int__` in line 3 is not called `__init__`: rename it."),
        ("_init_(self, width)", "self.width = width", "`_init_` in line 3 is not called `__init__`: rename it."),
        # Other arguments, another name for self, and methods of other names
        ("__init__(self)", "self.width = 2", ""),
        ("__init__(me)", "me.width = 2", ""),
        ("__iter__(self, width)", "self.width = width", ""),
        ("unite(self, width)", "self.width = width", ""),
    ],
)
def test_a_method_without_self_or_with_nearly_the_name_of_init_is_named(
    signature: str, statement: str, hint: str
) -> None:
    reason, _ = raised(CLASS.format(signature, statement), "Attention", 2)
    assert reason == f"It raised a TypeError. {hint}".strip()


@pytest.mark.parametrize(
    ("body", "hint"),
    [
        ("F.dropout(x, p)", "`F.dropout` in line 2 takes no generator of torch."),
        ("nn.Dropout(p)", "`nn.Dropout` in line 2 takes no generator of torch."),
        (
            "[random.random(), F.dropout1d(x)]",
            "`F.dropout1d` and `random.random` in line 2 take no generator of torch.",
        ),
        ("Categorical(x).sample()", "`Categorical(…).sample` in line 2 takes no generator of torch."),
        ("f(x[0].dropout(p))" + ".a()" * 300, "`.dropout` in line 2 takes no generator of torch."),
        # They can draw from one.
        ("torch.rand(2)", ""),
        ("dropout(x, p)", ""),
    ],
)
def test_calls_that_take_no_generator_are_named(body: str, hint: str) -> None:
    unused = Outcome(False, "wrong", UNUSED_GENERATOR)
    found = explained(unused, "answers", "scores", EXERCISES, lines_of(f"def scores(x, p):\n    return {body}\n"))
    assert found.reason == f"{UNUSED_GENERATOR} {hint}".strip()


@pytest.mark.parametrize(
    ("exercise", "defined", "hint"),
    [
        ("two_words", "def two(): ...", "Your file defines `two`: if that is it, rename it to `two_words`."),
        ("MultiHeadAttention", "class MHA: ...", "Your file defines `MHA`: if that is it, rename it to `…`."),
        # Another exercise, and helpers
        ("project_2", "def project(): ...", ""),
        ("two_words", "def project(): ...", ""),
        ("two_words", "def causal(): ...\ndef t(): ...", ""),
    ],
)
def test_a_definition_that_may_be_the_renamed_exercise_is_named(exercise: str, defined: str, hint: str) -> None:
    missing = Outcome(False, "not defined", f"{exercise} is not defined.")
    found = explained(missing, "answers", exercise, EXERCISES - {exercise}, lines_of(defined, EXERCISES))
    assert found.reason == f"{missing.reason} {hint.replace('…', exercise)}".strip()
