"""The worked examples of unit 7, with numbers that you can check by hand. Run `pytest` in this folder.

`student` is your file: `student.LayerNorm(4)` makes a LayerNorm of yours. The modules that are passed as arguments are
PyTorch's own, so no exercise needs another one of this unit: most are an nn.Linear whose weights are set here.
The grader uses the rules in the docstrings, with other sizes and other numbers than these.
"""

from __future__ import annotations

from typing import Any

import pytest
import torch
from checking import expect_module, expect_values, fail, kept, type_name

from grader.testing.student import RemoteObject, Student

# The first token has the mean 5 and the variance (9 + 1 + 1 + 9) / 4 = 5. The second has twice its differences.
TOKENS = torch.tensor([[2.0, 4.0, 6.0, 8.0], [-1.0, 3.0, 7.0, 11.0]])
NORMALIZED = torch.tensor([-3.0, -1.0, 1.0, 3.0]) / 5**0.5


def linear(student: Student, weight: torch.Tensor, bias: torch.Tensor | None = None) -> RemoteObject:
    """An nn.Linear with this weight, and without a bias unless one is given."""
    layer = student.make("Linear", weight.shape[1], weight.shape[0], bias=bias is not None)
    layer.set({"weight": weight} if bias is None else {"weight": weight, "bias": bias})
    return layer


def times(student: Student, factor: float, features: int) -> RemoteObject:
    """A layer that multiplies each feature by a number, the diagonal of its weight."""
    return linear(student, factor * torch.eye(features))


def flip(student: Student) -> RemoteObject:
    """A layer that swaps two features and multiplies them by 2."""
    return linear(student, torch.tensor([[0.0, 2.0], [2.0, 0.0]]))


def always(student: Student, number: float) -> RemoteObject:
    """A module that returns the same number for any input: it removes two features and pads with two of this number."""
    return student.make("ConstantPad1d", (-2, 2), number)


def expect_the_parameters_of(handed_in: list[RemoteObject], yours: Any, idea: str) -> None:
    """Expect that the parameters of the given modules, and not copies, are among those of your module."""
    wanted: list[torch.Tensor] = []
    # The values are set only now, so a copy does not have them.
    for number, module in enumerate(handed_in, start=1):
        values = {name: torch.full(value.shape, 1000.0 + number) for name, value in module.parameters().items()}
        module.set(values)
        wanted += values.values()
    is_module = isinstance(yours, RemoteObject) and "torch.nn.modules.module.Module" in yours.kinds
    found = list(yours.parameters().values()) if is_module else []
    missing = sum(not any(torch.equal(value, one) for one in found) for value in wanted)
    if missing:
        fail(f"{missing} of {len(wanted)} parameters of the given modules are not found by an optimiser: {idea}.")


def parameter_behind(norm: RemoteObject, name: str) -> str:
    """Return the name of the parameter in this attribute. It differs only if the attribute is a property."""
    before = norm.parameters()
    marked = {each: torch.full(value.shape, 1000.0 + place) for place, (each, value) in enumerate(before.items())}
    norm.set(marked)
    yours = kept(norm, name)
    norm.set(before)
    found = [each for each, value in marked.items() if isinstance(yours, torch.Tensor) and torch.equal(yours, value)]
    if not found:
        fail(f"{name} should be an nn.Parameter, yours has the parameters {', '.join(before) or 'none'}.")
    return found[0]


@pytest.mark.example("LayerNorm")
@pytest.mark.parametrize(
    ("name", "value"), [pytest.param("scale", 1.0, id="scale"), pytest.param("shift", 0.0, id="shift")]
)
def test_parameters_of_layer_norm(student: Student, name: str, value: float) -> None:
    """scale and shift are parameters with a number for each feature, and begin as ones and zeros."""
    norm = expect_module("LayerNorm(4)", student.LayerNorm(4))
    yours = norm.parameters()[parameter_behind(norm, name)]
    expect_values(name, yours, torch.full((4,), value), shape="(emb_dim,)", idea=f"it begins as {value:.0f}s")


@pytest.mark.example("LayerNorm")
def test_layer_norm(student: Student) -> None:
    """Two tokens, one with differences twice as large, give equal outputs with the mean 0 and the variance 1."""
    expect_values(
        "the output",
        student.LayerNorm(4)(TOKENS),
        NORMALIZED.expand(2, 4),
        shape="(T, emb_dim)",
        idea="each row minus its mean, divided by the root of its biased variance: both tokens give the same",
    )


@pytest.mark.example("LayerNorm")
def test_layer_norm_of_a_batch(student: Student) -> None:
    """In a batch of two texts each token is normalised separately."""
    batch = torch.stack([TOKENS, 100 * TOKENS.flip(-1)])  # two texts: (2, 2, 4)
    expect_values(
        "the output",
        student.LayerNorm(4)(batch),
        torch.stack([NORMALIZED.expand(2, 4), -NORMALIZED.expand(2, 4)]),
        shape="(B, T, emb_dim)",
        idea="only the last dimension, for each token of each text",
    )


@pytest.mark.example("LayerNorm")
def test_layer_norm_scales_and_shifts(student: Student) -> None:
    """Each feature is multiplied by its own scale, and then its own shift is added."""
    norm = expect_module("LayerNorm(4)", student.LayerNorm(4))
    scale, shift = parameter_behind(norm, "scale"), parameter_behind(norm, "shift")
    norm.set({scale: torch.tensor([1.0, 10.0, 100.0, 0.0]), shift: torch.tensor([0.0, 1.0, 2.0, 3.0])})
    expect_values(
        "the output",
        norm(TOKENS[0]),
        torch.tensor([-1.3416, -4.4721 + 1, 44.7214 + 2, 3.0]),
        shape="(emb_dim,)",
        idea="each feature is multiplied by its own scale, and then its own shift is added",
    )


@pytest.mark.example("LayerNorm")
def test_eps_of_layer_norm(student: Student) -> None:
    """The given eps is added to the variance, inside the root."""
    expect_values(
        "the output",
        student.LayerNorm(4, 4.0)(TOKENS[0]),
        torch.tensor([-1.0, -1 / 3, 1 / 3, 1.0]),
        shape="(emb_dim,)",
        idea="with eps = 4 the divisor is the root of 5 + 4, which is 3: eps is added inside the root",
    )


@pytest.mark.example("FeedForward")
@pytest.mark.parametrize(
    ("expansion", "hidden"), [pytest.param((), 12, id="default"), pytest.param((2,), 6, id="given")]
)
def test_layers_of_feed_forward(student: Student, expansion: tuple[int, ...], hidden: int) -> None:
    """One layer goes from emb_dim to expansion · emb_dim and one back, each with a bias; expansion is 4 by default."""
    module = expect_module("FeedForward", student.FeedForward(3, *expansion))
    shapes = sorted(tuple(value.shape) for value in module.parameters().values())
    expected = sorted([(hidden, 3), (hidden,), (3, hidden), (3,)])
    if shapes != expected:
        fail(f"the weights and biases should have the shapes {expected}, yours have {shapes}.")


@pytest.mark.example("FeedForward")
@pytest.mark.parametrize(
    ("bias", "expected"),
    [pytest.param(0.0, [24.0, 0.0], id="without_biases"), pytest.param(1.0, [37.0, 1.0], id="with_biases")],
)
def test_feed_forward(student: Student, bias: float, expected: list[float]) -> None:
    """With weights of 1, ReLU keeps the hidden features of one token, and makes those of the other zero."""
    module = expect_module("FeedForward(3)", student.FeedForward(3))
    module.set(
        {
            name: torch.full(value.shape, 1.0 if value.dim() == 2 else bias)
            for name, value in module.parameters().items()
        }
    )
    expect_values(
        "the output",
        module(torch.tensor([[1.0, 2.0, -1.0], [1.0, -2.0, -1.0]])),  # two tokens, with the sums 2 and -2
        torch.tensor(expected)[:, None].expand(2, 3),
        shape="(T, emb_dim)",
        idea=f"weights of 1 and biases of {bias:.0f}: 12 · ReLU(the token's sum + {bias:.0f}) + {bias:.0f}",
    )


@pytest.mark.example("Residual")
def test_residual(student: Student) -> None:
    """Around a module that multiplies x by ten, the output is eleven times x."""
    expect_values(
        "the output",
        student.Residual(times(student, 10.0, features=4))(TOKENS),
        11 * TOKENS,
        shape="that of x",
        idea="once x itself, and ten times x from sublayer",
    )


@pytest.mark.example("Residual")
def test_residual_leaves_x_alone(student: Student) -> None:
    """The call does not change x, also around a module that returns x itself."""
    _, [x] = student.Residual(student.make("Identity")).with_arguments(TOKENS)
    expect_values("x after the call", x, TOKENS, shape="that of x", idea="+= would change x itself, write x + …")


@pytest.mark.example("Residual")
def test_parameters_of_residual(student: Student) -> None:
    """The parameters of sublayer are among the module's own."""
    sublayer = times(student, 2.0, features=1)
    yours = student.Residual(sublayer)
    expect_the_parameters_of([sublayer], yours, idea="store the module itself as an attribute")


def block_of(student: Student) -> RemoteObject:
    """Your TransformerBlock of two features, with `flip` as attention and three times x as feed_forward."""
    yours = student.TransformerBlock(flip(student), times(student, 3.0, features=2), 2, 0.0)
    return expect_module("TransformerBlock", yours)


@pytest.mark.example("TransformerBlock")
def test_transformer_block(student: Student) -> None:
    """Two steps, attention and feed_forward: each gets its norm of x, and its output is added to x."""
    # [0, 2] is [-1, 1] after norm1, and attention returns [2, -2]: the sum is [2, 0]. That is [1, -1] after norm2.
    x = torch.tensor([[[0.0, 2.0], [6.0, 4.0]]])
    output, [after] = block_of(student).with_arguments(x)
    expect_values(
        "the output",
        output,
        torch.tensor([[[5.0, -3.0], [1.0, 9.0]]]),
        shape="(B, T, emb_dim)",
        idea="x + attention(norm1(x)) first, then that plus feed_forward of its norm2",
    )
    expect_values("x after the call", after, x, shape="that of x", idea="+= would change x itself, write x = x + …")


@pytest.mark.example("TransformerBlock")
@pytest.mark.parametrize("name", [pytest.param("norm1", id="norm1"), pytest.param("norm2", id="norm2")])
def test_norms_of_the_block(student: Student, name: str) -> None:
    """norm1 and norm2 are torch's nn.LayerNorm, or your own."""
    norm = kept(block_of(student), name)
    kinds = norm.kinds if isinstance(norm, RemoteObject) else ()
    # Your LayerNorm is needed only if the norm is not nn.LayerNorm.
    if "torch.nn.modules.normalization.LayerNorm" not in kinds and student.LayerNorm(2).kinds[0] not in kinds:
        fail(f"{name} should be a LayerNorm, yours is of type {type_name(norm)}.")


@pytest.mark.example("TransformerBlock")
def test_parameters_of_the_block(student: Student) -> None:
    """The parameters of attention and of feed_forward are among the block's own."""
    attention, feed_forward = times(student, 2.0, features=2), times(student, 3.0, features=2)
    yours = student.TransformerBlock(attention, feed_forward, 2, 0.0)
    expect_the_parameters_of([attention, feed_forward], yours, idea="store both modules as attributes")


@pytest.mark.example("TransformerBlock")
@pytest.mark.parametrize(
    ("attention", "feed_forward"),
    [pytest.param(8.0, 0.0, id="attention"), pytest.param(0.0, 8.0, id="feed_forward")],
)
def test_the_block_drops_what_a_module_gives_in_training_only(
    student: Student, attention: float, feed_forward: float
) -> None:
    """In training with dropout 0.5 about half of a module's numbers are dropped; in eval mode none."""
    yours = student.TransformerBlock(always(student, attention), always(student, feed_forward), 2, 0.5)
    made = expect_module("TransformerBlock", yours)
    made.eval()
    x = torch.full((1, 50, 2), 100.0)
    idea = "in eval mode nothing is dropped, and 8 is added to x"
    expect_values("the output", made(x), x + 8, shape="(B, T, emb_dim)", idea=idea)
    made.train()
    found = set(made(x).flatten().tolist())
    # A right answer keeps all of a hundred numbers, or none, once in 2^99 runs.
    if found != {100.0, 116.0}:
        fail(
            "in training with dropout 0.5 each number should be x, 100, where what a module gives was dropped, and "
            f"100 + 8 / 0.5 = 116 where it was kept; yours are {sorted(found)[:5]}."
        )


@pytest.mark.example("stack_blocks")
def test_stack_blocks(student: Student) -> None:
    """Each of three blocks works on the output of the block before it."""
    plus = linear(student, torch.ones(1, 1), torch.tensor([3.0]))
    make_block = student.make("CountingFactory", times(student, 2.0, 1), plus, times(student, 10.0, 1))
    expect_values(
        "the output",
        student.stack_blocks(make_block, 3)(torch.tensor([5.0])),
        torch.tensor([130.0]),
        shape="that of x",
        idea="each block gets the output of the block before it: (5 · 2 + 3) · 10",
    )


@pytest.mark.example("stack_blocks")
def test_every_block_is_made_by_a_call_of_its_own(student: Student) -> None:
    """For four blocks make_block is called four times, and the parameters of all are found."""
    blocks = [times(student, 2.0, features=1) for _ in range(4)]
    make_block = student.make("CountingFactory", *blocks)
    stack = student.stack_blocks(make_block, 4)
    count = make_block.get("calls")
    if count != 4:
        fail(f"with num_blocks = 4 make_block should be called four times, yours calls it {count} times.")
    expect_the_parameters_of(blocks, stack, idea="a plain list hides the modules, nn.ModuleList does not")


@pytest.mark.example("gpt2_parameter_count")
@pytest.mark.parametrize(
    ("num_layers", "emb_dim", "expected"),
    [
        pytest.param(12, 768, 124_439_808, id="small"),
        pytest.param(24, 1024, 354_823_168, id="medium"),
        pytest.param(36, 1280, 774_030_080, id="large"),
        pytest.param(48, 1600, 1_557_611_200, id="xl"),
    ],
)
def test_gpt2_parameter_count(student: Student, num_layers: int, emb_dim: int, expected: int) -> None:
    """The four models of GPT-2 have the numbers of parameters in the table of the file."""
    count = student.gpt2_parameter_count(num_layers, emb_dim)
    if type(count) is not int:
        fail(f"the count should be an int, yours is of type {type_name(count)}.")
    if count != expected:
        fail(
            f"GPT-2 with {num_layers} blocks of width {emb_dim} has {expected:,} parameters, yours has {count:,}: "
            f"{abs(count - expected):,} too {'many' if count > expected else 'few'}."
        )
