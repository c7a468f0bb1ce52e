"""The visible tests of unit 7, the transformer block. Run `grader check transformer_block`, or `pytest` here.

`student` is your file: `student.LayerNorm(4)` makes a LayerNorm of yours. Tests without a rule repeat worked examples,
with numbers that you can check by hand. The others try rules of your docstrings, with numbers from `numbers`. Tests set
all parameters, so the initial values are up to you. The modules that are passed as arguments are PyTorch's own, so no
exercise needs another one of this unit.
"""

from __future__ import annotations

from typing import Any

import pytest
import torch
from checking import (
    described,
    described_part,
    expect_module,
    expect_solution,
    expect_true,
    expect_values,
    fail,
    kept,
    numbers,
    set_training,
)

from grader.testing.checks import equals
from grader.testing.contracts import (
    expect_any_layout,
    expect_arguments_kept,
    expect_each_alone,
    expect_float64,
    expect_gradients_fit,
)
from grader.testing.draws import expect_count, expect_own_draws
from grader.testing.student import RemoteObject, Student
from grader.testing.visible_contracts import contract_tests

# The first token has the mean 5 and the variance (9 + 1 + 1 + 9) / 4 = 5. The second has twice its differences.
TOKENS = torch.tensor([[2.0, 4.0, 6.0, 8.0], [-1.0, 3.0, 7.0, 11.0]])
NORMALIZED = torch.tensor([-3.0, -1.0, 1.0, 3.0]) / 5**0.5
TORCH_NORM = "torch.nn.modules.normalization.LayerNorm"


def linear(student: Student, weight: torch.Tensor, bias: torch.Tensor | None = None) -> RemoteObject:
    """An nn.Linear with this weight, and without a bias unless one is given."""
    layer = student.make("Linear", weight.shape[1], weight.shape[0], bias=bias is not None)
    layer.set({"weight": weight} if bias is None else {"weight": weight, "bias": bias})
    return layer


def times(student: Student, factor: float, features: int) -> RemoteObject:
    """A layer that multiplies each feature by a number, the diagonal of its weight."""
    return linear(student, factor * torch.eye(features))


def mixing(student: Student, features: int, seed: int, bias: bool = True) -> RemoteObject:
    """A layer with small fixed numbers, which mixes the features of a token."""
    values = numbers(features + 1, features, seed=seed) / 2
    return linear(student, values[:-1], values[-1] if bias else None)


def flip(student: Student) -> RemoteObject:
    """A layer that swaps two features and multiplies them by 2."""
    return linear(student, torch.tensor([[0.0, 2.0], [2.0, 0.0]]))


def always(student: Student, number: float) -> RemoteObject:
    """A module that returns this number if both features are equal. If one of them was dropped before, it does not."""
    module = student.make("Linear", 2, 2)
    module.set({"weight": torch.tensor([[number, -number]] * 2), "bias": torch.full((2,), number)})
    return module


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


def norm_of(student: Student, emb_dim: int, *eps: float) -> RemoteObject:
    """Your LayerNorm, with ones for scale and zeros for shift."""
    norm = expect_module("LayerNorm", student.LayerNorm(emb_dim, *eps))
    set_norm(norm, torch.ones(emb_dim), torch.zeros(emb_dim))
    return norm


def set_norm(norm: RemoteObject, scale: torch.Tensor, shift: torch.Tensor) -> list[str]:
    """Set both parameters of a norm, and return their names."""
    is_torch = norm.kinds[0] == TORCH_NORM
    names = ["weight", "bias"] if is_torch else [parameter_behind(norm, name) for name in ("scale", "shift")]
    found = norm.parameters()
    for name, value in zip(names, (scale, shift), strict=True):
        expect_true(name in found, f"the norm should have a parameter {name}, yours has none.")
        shape = tuple(found[name].shape)
        sentence = f"{name} of the norm should have shape (emb_dim,) = {tuple(value.shape)}, yours has {shape}."
        expect_true(found[name].shape == value.shape, sentence)
    norm.set(dict(zip(names, (scale, shift), strict=True)))
    return names


# -- LayerNorm -------------------------------------------------------------------------------------------------------

NORMED = "each vector minus its mean, divided by the root of its biased variance + eps"
SCALED = "each feature is multiplied by its own scale, and then its own shift is added"
VARIANCE = (
    "the result is divided by the square root of variance + eps, where the variance is the biased one: the mean of the "
    "squared differences from the mean"
)
EACH_VECTOR = "each vector of emb_dim features is normalised separately, independently of other tokens and texts"
ANY_SHAPE = (
    "any number of leading dimensions, including none; x may be non-contiguous, for example the result of a transpose"
)


def scaling_norm(student: Student) -> tuple[RemoteObject, list[str]]:
    """Your LayerNorm of five features with different scales and shifts, and the names of these parameters."""
    norm = expect_module("LayerNorm(5)", student.LayerNorm(5))
    return norm, set_norm(norm, numbers(5, seed=1), numbers(5, seed=2))


@pytest.mark.example("LayerNorm", rule="scale and shift are nn.Parameter, each of shape (emb_dim,)")
@pytest.mark.parametrize("name", [pytest.param(name, id=name) for name in ("scale", "shift")])
def test_parameters_of_layer_norm(student: Student, name: str) -> None:
    """scale and shift are parameters with a number for each feature."""
    for emb_dim in (4, 6):
        norm = expect_module(f"LayerNorm({emb_dim})", student.LayerNorm(emb_dim))
        shape = tuple(norm.parameters()[parameter_behind(norm, name)].shape)
        expect_true(shape == (emb_dim,), f"{name} should have shape (emb_dim,) = ({emb_dim},), yours has {shape}.")


@pytest.mark.example("LayerNorm")
def test_layer_norm(student: Student) -> None:
    """Two tokens, one with differences twice as large, give equal outputs with the mean 0 and the variance 1."""
    expect_values(
        "the output",
        norm_of(student, 4)(TOKENS),
        NORMALIZED.expand(2, 4),
        shape="(T, emb_dim)",
        idea="each row minus its mean, divided by the root of its biased variance: both tokens give the same",
    )


@pytest.mark.example("LayerNorm", rule=EACH_VECTOR)
def test_layer_norm_of_a_batch(student: Student) -> None:
    """In a batch of two texts each token is normalised separately."""
    batch = torch.stack([TOKENS, 100 * TOKENS.flip(-1)])  # two texts: (2, 2, 4)
    expected = torch.stack([NORMALIZED.expand(2, 4), -NORMALIZED.expand(2, 4)])
    idea = "only the last dimension, for each token of each text"
    expect_values("the output", norm_of(student, 4)(batch), expected, shape="(B, T, emb_dim)", idea=idea)
    expect_each_alone(norm_of(student, 5), x=numbers(3, 2, 5))  # each text alone
    expect_each_alone(norm_of(student, 5), x=numbers(4, 5))  # each token alone


@pytest.mark.example("LayerNorm", rule="at the end it is multiplied by scale, and then shift is added")
def test_layer_norm_scales_and_shifts(student: Student) -> None:
    """Each feature is multiplied by its own scale, and then its own shift is added."""
    norm = expect_module("LayerNorm(4)", student.LayerNorm(4))
    set_norm(norm, torch.tensor([1.0, 10.0, 100.0, 0.0]), torch.tensor([0.0, 1.0, 2.0, 3.0]))
    expected = torch.tensor([-1.3416, -4.4721 + 1, 44.7214 + 2, 3.0])
    expect_values("the output", norm(TOKENS[0]), expected, shape="(emb_dim,)", idea=SCALED)
    norm, _ = scaling_norm(student)
    expect_solution("the output for five features", norm(numbers(2, 3, 5)), shape="(B, T, emb_dim)", idea=SCALED)


@pytest.mark.example("LayerNorm")
def test_eps_of_layer_norm(student: Student) -> None:
    """The given eps is added to the variance, inside the root."""
    expect_values(
        "the output",
        norm_of(student, 4, 4.0)(TOKENS[0]),
        torch.tensor([-1.0, -1 / 3, 1 / 3, 1.0]),
        shape="(emb_dim,)",
        idea="with eps = 4 the divisor is the root of 5 + 4, which is 3: eps is added inside the root",
    )


@pytest.mark.example("LayerNorm", rule="its mean is subtracted")
def test_layer_norm_subtracts_the_mean(student: Student) -> None:
    """The mean of each output is zero, so that a number that is added to all features changes nothing."""
    norm, x = norm_of(student, 5), numbers(3, 5)
    idea = "subtract the mean first"
    before = norm(x)
    expect_solution("the output", before, shape="(T, emb_dim)", idea=idea)
    expect_values("the output for x + 7", norm(x + 7), before, shape="(T, emb_dim)", idea=idea)


@pytest.mark.example("LayerNorm", rule=VARIANCE)
@pytest.mark.parametrize(
    ("size", "eps"),
    [
        pytest.param(1.0, 0.5, id="large_eps"),
        pytest.param(1.0, 1e-5, id="small_eps"),
        pytest.param(0.0, 0.1, id="equal"),
    ],
)
def test_layer_norm_divides_by_the_root_of(student: Student, size: float, eps: float) -> None:
    """The divisor is the root of the biased variance plus eps. If all features are equal, the output is zero."""
    output = norm_of(student, 5, eps)(size * numbers(2, 3, 5))
    expect_solution("the output", output, shape="(B, T, emb_dim)", idea=NORMED)


@pytest.mark.example("LayerNorm", rule="eps is 1e-5 unless another is given")
def test_default_eps_of_layer_norm(student: Student) -> None:
    """The first token has the variance 5e-6, which is half of eps."""
    idea = "its variance is 5e-6, and eps is 1e-5 unless another is given"
    expect_solution("the output", norm_of(student, 4)(TOKENS[0] / 1000), shape="(emb_dim,)", idea=idea)


@pytest.mark.example("LayerNorm", rule=ANY_SHAPE)
@pytest.mark.parametrize(
    "shape",
    [
        pytest.param((5,), id="one_vector"),
        pytest.param((1, 5), id="one_token"),
        pytest.param((3, 5), id="one_text"),
        pytest.param((2, 3, 2, 5), id="four_dimensions"),
    ],
)
def test_layer_norm_of(student: Student, shape: tuple[int, ...]) -> None:
    """Any leading dimensions are kept, and the order in memory changes nothing."""
    norm = norm_of(student, 5)
    expect_solution(f"the output for x of shape {shape}", norm(numbers(*shape)), shape="of x", idea=NORMED)
    if len(shape) > 1:
        expect_any_layout(norm, x=numbers(*shape))


@pytest.mark.example("LayerNorm", rule="gradients reach x, scale and shift")
def test_gradients_of_layer_norm(student: Student) -> None:
    """The output depends on x, also through mean and variance, and on scale and shift. So do its gradients."""
    norm, names = scaling_norm(student)
    expect_gradients_fit(norm, parameters=names, x=numbers(2, 3, 5, seed=2))


# -- FeedForward -----------------------------------------------------------------------------------------------------

TWO_LAYERS = "there are two nn.Linear under any names: one from emb_dim to expansion · emb_dim, and one back to emb_dim"
EXPANSION = "expansion is 4 unless another is given"
WIDENED = "the first layer, ReLU, then the second layer"


def expect_nothing_dropped(module: RemoteObject, x: torch.Tensor) -> None:
    """Expect the same output of two calls in training."""
    one, other = module(x), module(x)
    if isinstance(one, torch.Tensor) and isinstance(other, torch.Tensor) and one.shape == other.shape:
        sentence = "In training two calls give different outputs for the same x: no dropout belongs into this module."
        expect_true(torch.allclose(one.float(), other.float(), rtol=1e-4, atol=1e-4), sentence)


def feed_forward(student: Student, emb_dim: int, *expansion: int) -> tuple[RemoteObject, list[str]]:
    """Your FeedForward with fixed weights and biases, found by their shapes, in eval mode, and their names."""
    hidden = (expansion[0] if expansion else 4) * emb_dim
    shapes = [(hidden, emb_dim), (hidden,), (emb_dim, hidden), (emb_dim,)]
    module = expect_module("FeedForward", student.FeedForward(emb_dim, *expansion))
    found = {tuple(value.shape): name for name, value in module.parameters().items()}
    if sorted(found) != sorted(shapes) or len(module.parameters()) != len(shapes):
        listed = sorted(tuple(value.shape) for value in module.parameters().values())
        fail(f"the weights and biases should have the shapes {sorted(shapes)}, yours have {listed}.")
    # With these seeds no hidden feature of the gradient test is near zero: a small step does not pass the kink of ReLU.
    module.set({found[shape]: numbers(*shape, seed=seed) for seed, shape in enumerate(shapes, 25)})
    set_training(module, False)  # so that dropout fails the test that is about it, and no other
    return module, [found[shape] for shape in shapes]


@pytest.mark.example("FeedForward", rule=[TWO_LAYERS, EXPANSION, "both have a bias"])
@pytest.mark.parametrize(
    ("expansion", "emb_dim"),
    [pytest.param((), 3, id="default"), pytest.param((2,), 3, id="given"), pytest.param((3,), 5, id="wide")],
)
def test_layers_of_feed_forward(student: Student, expansion: tuple[int, ...], emb_dim: int) -> None:
    """One layer goes from emb_dim to expansion · emb_dim and one back, each with a bias; expansion is 4 by default."""
    module, _ = feed_forward(student, emb_dim, *expansion)
    output = module(numbers(2, 3, emb_dim))
    expect_solution("the output", output, shape="(B, T, emb_dim)", idea=WIDENED)


@pytest.mark.example("FeedForward")
@pytest.mark.parametrize(
    ("bias", "expected"),
    [pytest.param(0.0, [24.0, 0.0], id="without_biases"), pytest.param(1.0, [37.0, 1.0], id="with_biases")],
)
def test_feed_forward(student: Student, bias: float, expected: list[float]) -> None:
    """With weights of 1, ReLU keeps the hidden features of one token, and makes those of the other zero."""
    module, _ = feed_forward(student, 3)
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


@pytest.mark.example("FeedForward", rule="ReLU is between them, and nothing else is done")
@pytest.mark.parametrize("size", [pytest.param(0.1, id="small"), pytest.param(10.0, id="large")])
def test_feed_forward_of_tokens_that_are(student: Student, size: float) -> None:
    """ReLU makes negative hidden features zero and keeps the others, small or large. The output may be negative."""
    module, _ = feed_forward(student, 3)
    output = module(size * numbers(2, 4, 3, seed=1))
    expect_solution("the output", output, shape="(B, T, emb_dim)", idea=WIDENED)


@pytest.mark.example("FeedForward", rule="the output in training is the same as after .eval(): nothing is dropped")
def test_feed_forward_drops_nothing(student: Student) -> None:
    """In training and in eval mode the output is the same."""
    module, _ = feed_forward(student, 3)
    expect_solution("the output in eval mode", module(numbers(4, 5, 3)), shape="(B, T, emb_dim)", idea=WIDENED)
    set_training(module, True)
    expect_nothing_dropped(module, numbers(4, 5, 3))
    idea = "as in eval mode, nothing is dropped"
    expect_solution("the output in training", module(numbers(4, 5, 3)), shape="(B, T, emb_dim)", idea=idea)


@pytest.mark.example(
    "FeedForward",
    rule="position by position: any number of leading dimensions, including none; x may be non-contiguous, for example "
    "the result of a transpose",
)
@pytest.mark.parametrize(
    "shape",
    [
        pytest.param((3,), id="one_vector"),
        pytest.param((1, 3), id="one_token"),
        pytest.param((4, 3), id="one_text"),
        pytest.param((2, 1, 4, 3), id="four_dimensions"),
    ],
)
def test_feed_forward_of(student: Student, shape: tuple[int, ...]) -> None:
    """Each token is transformed separately, with any leading dimensions and in any order in memory."""
    module, _ = feed_forward(student, 3)
    expect_solution(f"the output for x of shape {shape}", module(numbers(*shape)), shape="of x", idea=WIDENED)
    if len(shape) > 1:
        expect_any_layout(module, x=numbers(*shape))
        expect_each_alone(module, x=numbers(*shape))


@pytest.mark.example("FeedForward", rule="x is not changed")
def test_feed_forward_keeps_x(student: Student) -> None:
    """After the call, x is the same as before."""
    expect_arguments_kept(feed_forward(student, 3)[0], x=numbers(2, 4, 3))


@pytest.mark.example("FeedForward", rule="gradients reach x and the parameters of both layers")
def test_gradients_of_feed_forward(student: Student) -> None:
    """The output depends on x and on all weights and biases, and so do its gradients."""
    module, names = feed_forward(student, 3)
    expect_gradients_fit(module, parameters=names, x=numbers(2, 1, 3))


@pytest.mark.example("FeedForward", rule="works in float64 after .double()")
def test_feed_forward_in_float64(student: Student) -> None:
    """After .double() the module gives the same output for float64 inputs."""
    expect_float64(feed_forward(student, 3)[0], keeps=False, x=numbers(2, 4, 3))


# -- Residual --------------------------------------------------------------------------------------------------------

ADDED = "x itself plus the output of sublayer"


def residual(student: Student, sublayer: RemoteObject) -> RemoteObject:
    """Your Residual around a module, in eval mode."""
    yours = expect_module("Residual", student.Residual(sublayer))
    set_training(yours, False)
    return yours


@pytest.mark.example("Residual")
def test_residual(student: Student) -> None:
    """Around a module that multiplies x by ten, the output is eleven times x."""
    yours = residual(student, times(student, 10.0, features=4))(TOKENS)
    idea = "once x itself, and ten times x from sublayer"
    expect_values("the output", yours, 11 * TOKENS, shape="that of x", idea=idea)


@pytest.mark.example(
    "Residual", rule=["the output is x plus sublayer(x), and nothing else is done to either of them",
                      "x may have any shape that sublayer keeps"],
)  # fmt: skip
@pytest.mark.parametrize(
    "shape",
    [
        pytest.param((4,), id="one_vector"),
        pytest.param((3, 4), id="one_text"),
        pytest.param((2, 3, 4), id="two_texts"),
        pytest.param((1, 1, 4), id="one_token"),
        pytest.param((2, 1, 3, 4), id="four_dimensions"),
    ],
)
def test_residual_of(student: Student, shape: tuple[int, ...]) -> None:
    """The output has the shape of x, whatever that is."""
    yours = residual(student, mixing(student, 4, seed=3))(numbers(*shape))
    expect_solution(f"the output for x of shape {shape}", yours, shape="of x", idea=ADDED)


@pytest.mark.example("Residual", rule="the output is x plus sublayer(x), and nothing else is done to either of them")
def test_residual_drops_nothing(student: Student) -> None:
    """In training the output is x plus the output of sublayer too."""
    yours = residual(student, mixing(student, 4, seed=3))
    set_training(yours, True)
    expect_nothing_dropped(yours, numbers(4, 5, 4))
    expect_solution("the output in training", yours(numbers(4, 5, 4)), shape="of x", idea=ADDED)


@pytest.mark.example("Residual", rule="x is not changed, also if sublayer returns x itself")
def test_residual_leaves_x_alone(student: Student) -> None:
    """The call does not change x, also around a module that returns x itself."""
    output, [x] = residual(student, student.make("Identity")).with_arguments(TOKENS)
    expect_values("x after the call", x, TOKENS, shape="that of x", idea="+= would change x itself, write x + …")
    expect_values("the output", output, 2 * TOKENS, shape="that of x", idea=ADDED)
    expect_arguments_kept(residual(student, mixing(student, 4, seed=3)), x=TOKENS)


@pytest.mark.example("Residual", rule="the parameters of sublayer are parameters of this module")
def test_parameters_of_residual(student: Student) -> None:
    """The parameters of sublayer are among the module's own."""
    sublayer = times(student, 2.0, features=1)
    yours = student.Residual(sublayer)
    expect_the_parameters_of([sublayer], yours, idea="store the module itself as an attribute")


@pytest.mark.example(
    "Residual", rule="gradients reach x on both paths, around sublayer and through it, and the parameters of sublayer"
)
def test_gradients_of_residual(student: Student) -> None:
    """The output depends on x on both paths, and on the parameters of sublayer. So do its gradients."""
    yours = residual(student, mixing(student, 4, seed=3))
    expect_gradients_fit(yours, parameters=list(yours.parameters()), x=numbers(2, 3, 4))


@pytest.mark.example("Residual", rule="works in float64 after .double()")
def test_residual_in_float64(student: Student) -> None:
    """After .double() the module gives the same output for float64 inputs."""
    expect_float64(residual(student, mixing(student, 4, seed=3)), keeps=False, x=numbers(2, 3, 4))


# -- TransformerBlock ------------------------------------------------------------------------------------------------

TWO_STEPS = "x + attention(norm1(x)) first, then that plus feed_forward of its norm2"
ATTENTION_STEP = "attention gets norm1(x), and its output is added to x"
FEED_FORWARD_STEP = "then feed_forward gets norm2 of that sum, and its output is added to the sum"
NORMS = "norm1 and norm2 are LayerNorm or nn.LayerNorm for emb_dim features, each with its own parameters"
P = 0.2


def norms_of(block: RemoteObject, emb_dim: int) -> list[RemoteObject]:
    """Return norm1 and norm2, with ones for scale and zeros for shift."""
    norms = []
    for name in ("norm1", "norm2"):
        norm = kept(block, name)
        kind = norm.kinds[0] if isinstance(norm, RemoteObject) else "none"
        # Of torch's modules only nn.LayerNorm is one. Any other module is your own.
        if not isinstance(norm, RemoteObject) or (kind.startswith("torch.") and kind != TORCH_NORM):
            fail(f"{name} should be a LayerNorm, yours is {described_part(norm)}.")
        norms.append(norm)
    for norm in norms:
        set_norm(norm, torch.ones(emb_dim), torch.zeros(emb_dim))
    return norms


def block_of(
    student: Student, attention: RemoteObject, feed_forward: RemoteObject, emb_dim: int, dropout: float = 0.0
) -> RemoteObject:
    """Your TransformerBlock of these modules, in eval mode. Its norms have ones for scale and zeros for shift."""
    block = expect_module("TransformerBlock", student.TransformerBlock(attention, feed_forward, emb_dim, dropout))
    set_training(block, False)
    norms_of(block, emb_dim)
    return block


def mixing_block(student: Student) -> RemoteObject:
    """Your TransformerBlock of five features, with two layers that mix them, and different norms."""
    attention, feed_forward = mixing(student, 5, seed=3), mixing(student, 5, seed=4)
    block = expect_module("TransformerBlock", student.TransformerBlock(attention, feed_forward, 5, 0.0))
    set_training(block, False)
    for n, norm in enumerate(norms_of(block, 5)):
        set_norm(norm, 1 + numbers(5, seed=5 + n) / 4, numbers(5, seed=7 + n) / 4)
    return block


@pytest.mark.example("TransformerBlock")
def test_transformer_block(student: Student) -> None:
    """Two steps, attention and feed_forward: each gets its norm of x, and its output is added to x."""
    # [0, 2] is [-1, 1] after norm1, and attention returns [2, -2]: the sum is [2, 0]. That is [1, -1] after norm2.
    x, block = torch.tensor([[[0.0, 2.0], [6.0, 4.0]]]), block_of(student, flip(student), times(student, 3.0, 2), 2)
    output, [after] = block.with_arguments(x)
    expected = torch.tensor([[[5.0, -3.0], [1.0, 9.0]]])
    expect_values("the output", output, expected, shape="(B, T, emb_dim)", idea=TWO_STEPS)
    expect_values("x after the call", after, x, shape="that of x", idea="+= would change x itself, write x = x + …")


@pytest.mark.example(
    "TransformerBlock", rule=[ATTENTION_STEP, FEED_FORWARD_STEP, "any number of texts and tokens, including one"]
)
@pytest.mark.parametrize(
    "shape",
    [
        pytest.param((2, 3, 5), id="two_texts"),
        pytest.param((1, 4, 5), id="one_text"),
        pytest.param((3, 1, 5), id="one_token_each"),
        pytest.param((1, 1, 5), id="one_token"),
    ],
)
def test_transformer_block_of(student: Student, shape: tuple[int, ...]) -> None:
    """Both steps are done for any number of texts and tokens."""
    yours = mixing_block(student)(numbers(*shape))
    expect_solution(f"the output for x of shape {shape}", yours, shape="(B, T, emb_dim)", idea=TWO_STEPS)


@pytest.mark.example("TransformerBlock", rule=[ATTENTION_STEP, FEED_FORWARD_STEP])
def test_transformer_block_with_attention_over_the_tokens(student: Student) -> None:
    """attention may mix the tokens of a text, and feed_forward may be a curve."""
    block = block_of(student, student.make("TokenMixer"), student.make("PositionWise"), 5)
    expect_solution("the output", block(numbers(2, 3, 5)), shape="(B, T, emb_dim)", idea=TWO_STEPS)
    expect_each_alone(block, x=numbers(2, 3, 5))


@pytest.mark.example("TransformerBlock", rule=NORMS)
@pytest.mark.parametrize("name", [pytest.param("norm1", id="norm1"), pytest.param("norm2", id="norm2")])
def test_norms_of_the_block(student: Student, name: str) -> None:
    """norm1 and norm2 are torch's nn.LayerNorm, or your own. Each has its own scale and shift."""
    block = block_of(student, mixing(student, 4, seed=3), mixing(student, 4, seed=4), 4)
    norm1, norm2 = norms_of(block, 4)
    norm, other = (norm1, norm2) if name == "norm1" else (norm2, norm1)
    idea = "it brings each token to the mean 0 and the variance 1"
    expect_values(f"the output of {name}", norm(TOKENS), NORMALIZED.expand(2, 4), shape="(T, emb_dim)", idea=idea)
    before = other.parameters()
    set_norm(norm, numbers(4, seed=1), numbers(4, seed=2))
    after = other.parameters()
    is_own = all(torch.equal(after[each], value) for each, value in before.items())
    expect_true(is_own, "`norm1` and `norm2` should each have their own parameters, yours share them: make two norms.")
    idea = f"{name} multiplies by its own scale and adds its own shift"
    yours = block(numbers(2, 3, 4))
    expect_solution(f"the output with another {name}", yours, shape="(B, T, emb_dim)", idea=idea)


@pytest.mark.example(
    "TransformerBlock", rule="the parameters of attention and feed_forward are parameters of the block"
)
def test_parameters_of_the_block(student: Student) -> None:
    """The parameters of attention and of feed_forward are among the block's own."""
    attention, feed_forward = times(student, 2.0, features=2), times(student, 3.0, features=2)
    yours = student.TransformerBlock(attention, feed_forward, 2, 0.0)
    expect_the_parameters_of([attention, feed_forward], yours, idea="store both modules as attributes")


# Each number that a module gives is 8, and x is 100. So a number of the output is 100 where it is dropped and, for a
# dropout of 0.2, 100 + 8 / 0.8 = 110 where it is kept.
X = torch.full((20, 30, 2), 100.0)


def dropping_block(student: Student, attention: float, feed_forward: float, dropout: float) -> RemoteObject:
    block = block_of(student, always(student, attention), always(student, feed_forward), 2, dropout)
    for norm in norms_of(block, 2):
        set_norm(norm, torch.ones(2), torch.ones(2))  # all numbers of x are equal, so the norm gives its shift
    return block


def expect_numbers_dropped(block: RemoteObject) -> None:
    """Expect each number of a module to be dropped independently in training, with probability P."""
    set_training(block, True)
    calls = [block(X) for _ in range(2)]
    for output in calls:
        if not isinstance(output, torch.Tensor) or output.shape != X.shape:
            fail(f"the output should be one tensor of shape (20, 30, 2), yours is {described(output)}.")
        found = {round(number, 3) for number in output.flatten().tolist()}
        # A right answer keeps all numbers, or none, less than once in 10^100 runs.
        if found != {100.0, 110.0}:
            fail(
                "in training with dropout 0.2 each number should be x, 100, where what a module gives was dropped, and "
                f"100 + 8 / 0.8 = 110 where it was kept; yours are {sorted(found)[:5]}."
            )
    is_kept = torch.stack(calls) > 105  # (2, B, T, 2)
    # No number is in two pairs.
    alike = {
        "All texts drop the same numbers": is_kept[:, ::2] == is_kept[:, 1::2],
        "All tokens drop the same numbers": is_kept[:, :, ::2] == is_kept[:, :, 1::2],
        "Whole tokens are dropped": is_kept[..., 0] == is_kept[..., 1],
        "Two calls drop the same numbers": is_kept[0] == is_kept[1],
    }
    pairs = {f"{what}: drop each number independently, in each call.": pair for what, pair in alike.items()}
    expect_own_draws(is_kept, pairs)
    share = "The share of numbers that are dropped is not near `dropout`: drop each with that probability."
    expect_count(is_kept, 1 - P, share)


@pytest.mark.example(
    "TransformerBlock",
    rule=["in training each number of attention's output becomes 0 independently, with probability `dropout`",
          "a kept number is divided by 1 - dropout, and the x or sum that it is added to is never dropped or scaled"],
)  # fmt: skip
def test_the_block_drops_numbers_of_attention(student: Student) -> None:
    """In training each number that attention gives is dropped or divided by 1 - dropout, before it is added to x."""
    expect_numbers_dropped(dropping_block(student, 8.0, 0.0, P))


@pytest.mark.example(
    "TransformerBlock",
    rule=["the same is true for each number of feed_forward's output",
          "a kept number is divided by 1 - dropout, and the x or sum that it is added to is never dropped or scaled"],
)  # fmt: skip
def test_the_block_drops_numbers_of_feed_forward(student: Student) -> None:
    """In training each number that feed_forward gives is dropped or divided by 1 - dropout, before it is added."""
    expect_numbers_dropped(dropping_block(student, 0.0, 8.0, P))


@pytest.mark.example(
    "TransformerBlock",
    rule=["in eval mode nothing is dropped", "with dropout=0.0 nothing is dropped in training"],
)  # fmt: skip
@pytest.mark.parametrize(
    ("attention", "feed_forward"),
    [pytest.param(8.0, 0.0, id="attention"), pytest.param(0.0, 8.0, id="feed_forward")],
)
def test_the_block_drops_nothing_of(student: Student, attention: float, feed_forward: float) -> None:
    """In eval mode, and in training without dropout, 8 is added to x everywhere."""
    evaluated, training = (dropping_block(student, attention, feed_forward, dropout) for dropout in (P, 0.0))
    set_training(evaluated, False)
    set_training(training, True)
    for when, block in (("in eval mode", evaluated), ("in training with dropout=0.0", training)):
        idea = f"{when} nothing is dropped, and 8 is added to x"
        expect_values(f"the output {when}", block(X), X + 8, shape="(B, T, emb_dim)", idea=idea)


@pytest.mark.example("TransformerBlock", rule="x is not changed")
def test_the_block_keeps_x(student: Student) -> None:
    """After the call, x is the same as before, also if a module returns its input itself."""
    expect_arguments_kept(mixing_block(student), x=numbers(2, 3, 5))
    identities = student.make("Identity"), student.make("Identity")
    expect_arguments_kept(block_of(student, *identities, 5), x=numbers(2, 3, 5))


@pytest.mark.example("TransformerBlock", rule="gradients reach x and all parameters")
def test_gradients_of_the_block(student: Student) -> None:
    """The output depends on x and on all parameters, and so do its gradients."""
    block = mixing_block(student)
    expect_gradients_fit(block, parameters=list(block.parameters()), x=numbers(2, 2, 5))


@pytest.mark.example("TransformerBlock", rule="works in float64 after .double()")
def test_the_block_in_float64(student: Student) -> None:
    """After .double() the block gives the same output for float64 inputs."""
    expect_float64(mixing_block(student), keeps=False, x=numbers(2, 3, 5))


# -- stack_blocks ----------------------------------------------------------------------------------------------------

IN_TURN = "each block gets the output of the block before it"
CALLED = "make_block is called exactly num_blocks times, and each call makes one of the blocks"


def mixing_stack(student: Student, num_blocks: int) -> RemoteObject:
    """A stack of different layers of four features, which mix them."""
    blocks = [mixing(student, 4, seed=seed) for seed in range(3, 3 + num_blocks)]
    made = student.stack_blocks(student.make("CountingFactory", *blocks), num_blocks)
    return expect_module("stack_blocks", made)


@pytest.mark.example("stack_blocks")
def test_stack_blocks(student: Student) -> None:
    """Each of three blocks works on the output of the block before it."""
    plus = linear(student, torch.ones(1, 1), torch.tensor([3.0]))
    make_block = student.make("CountingFactory", times(student, 2.0, 1), plus, times(student, 10.0, 1))
    expect_values(
        "the output",
        expect_module("stack_blocks", student.stack_blocks(make_block, 3))(torch.tensor([[[5.0]]])),
        torch.tensor([[[130.0]]]),
        shape="that of x",
        idea="each block gets the output of the block before it: (5 · 2 + 3) · 10",
    )


@pytest.mark.example(
    "stack_blocks",
    rule=["the first block gets x, and each later one gets the output of the block before it",
          "any number of blocks, including one"],
)  # fmt: skip
@pytest.mark.parametrize("num_blocks", [pytest.param(count, id=f"{count}") for count in (1, 2, 5)])
def test_stack_blocks_of(student: Student, num_blocks: int) -> None:
    """Any number of blocks work one after the other, in the order in which they were made."""
    yours = mixing_stack(student, num_blocks)(numbers(2, 3, 4))
    expect_solution(f"the output of {num_blocks} blocks", yours, shape="of x", idea=IN_TURN)


@pytest.mark.example(
    "stack_blocks", rule=[CALLED, "it is an nn.Module, and the parameters of all blocks are its parameters"]
)
@pytest.mark.parametrize("num_blocks", [pytest.param(count, id=f"{count}") for count in (4, 1)])
def test_every_block_is_made_by_a_call_of_its_own(student: Student, num_blocks: int) -> None:
    """For four blocks make_block is called four times, and the parameters of all are found."""
    blocks = [times(student, 2.0, features=1) for _ in range(num_blocks)]
    make_block = student.make("CountingFactory", *blocks)
    stack = student.stack_blocks(make_block, num_blocks)
    count = make_block.get("calls")
    sentence = (
        f"with num_blocks = {num_blocks} make_block should be called {num_blocks} times; the calls of yours: {count}."
    )
    expect_true(equals(count, num_blocks), sentence)
    expect_the_parameters_of(blocks, stack, idea="a plain list hides the modules, nn.ModuleList does not")


@pytest.mark.example("stack_blocks", rule="x is not changed")
def test_stack_blocks_keeps_x(student: Student) -> None:
    """After the call, x is the same as before."""
    expect_arguments_kept(mixing_stack(student, 3), x=numbers(2, 3, 4))


@pytest.mark.example("stack_blocks", rule="gradients reach x and every block")
def test_gradients_of_stack_blocks(student: Student) -> None:
    """The output depends on x and on the parameters of every block, and so do its gradients."""
    stack = mixing_stack(student, 3)
    expect_gradients_fit(stack, parameters=list(stack.parameters()), x=numbers(2, 3, 4))


# -- gpt2_parameter_count --------------------------------------------------------------------------------------------

COUNTED = [
    "each of vocab_size tokens has an embedding of emb_dim numbers; the output layer shares them and adds none",
    "each of context_length positions has emb_dim learned numbers",
    "each block has six linear layers: four in attention from emb_dim to emb_dim (queries, keys, values and output), "
    "and two in the feed-forward, from emb_dim to 4 · emb_dim and back",
    "each of these layers has a bias, and each block has two norms, with a scale and a shift for each feature",
    "one more norm of this kind comes after the last block",
]


def counted(student: Student, *sizes: int) -> int:
    count = student.gpt2_parameter_count(*sizes)
    expect_true(type(count) is int, f"the count should be an int, yours is {described(count)}.")
    return count


@pytest.mark.example(
    "gpt2_parameter_count",
    rule=[*COUNTED, "the result is an int", "vocab_size is 50257 and context_length is 1024 unless others are given"],
)
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
    count = counted(student, num_layers, emb_dim)
    if count != expected:
        fail(
            f"GPT-2 with {num_layers} blocks of width {emb_dim} has {expected:,} parameters, yours has {count:,}: "
            f"{abs(count - expected):,} too {'many' if count > expected else 'few'}."
        )


@pytest.mark.example("gpt2_parameter_count", rule=[*COUNTED, "the result is an int"])
@pytest.mark.parametrize(
    ("sizes", "expected"),
    [
        pytest.param((2, 2048, 100, 20), 100_966_400, id="wide"),
        pytest.param((1, 128, 30, 50), 208_768, id="of_one_block"),
    ],
)
def test_count_for_a_model_that_is(student: Student, sizes: tuple[int, ...], expected: int) -> None:
    """Other numbers of blocks, features, tokens and positions count in the same way."""
    count = counted(student, *sizes)
    name = "num_layers = {}, emb_dim = {}, vocab_size = {} and context_length = {}".format(*sizes)
    sentence = f"{name} should give {expected:,} parameters, yours has {count:,}: count every part with these sizes."
    expect_true(count == expected, sentence)


@pytest.mark.example("gpt2_parameter_count", rule=COUNTED[:2])
@pytest.mark.parametrize(
    ("more", "what"), [pytest.param((1, 0), "token", id="token"), pytest.param((0, 1), "position", id="position")]
)
def test_count_with_one_more(student: Student, more: tuple[int, int], what: str) -> None:
    """One more token, or one more position, adds emb_dim numbers."""
    added = counted(student, 2, 64, 100 + more[0], 20 + more[1]) - counted(student, 2, 64, 100, 20)
    expect_true(added == 64, f"One more {what} should add emb_dim = 64 parameters, yours adds {added:,}.")


# -- properties of several exercises, from contracts.json ------------------------------------------------------------

test_contract = contract_tests(__file__)
