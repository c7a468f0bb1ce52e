"""Unit 7, the transformer block: each test is one criterion, and its docstring is the sentence that a student reads.

Expected values are computed here in float64, and differently from the course's solution. Where an exercise may call an
earlier one, they use the same substitute for it as the student's code.

One mistake should not cost every point. So each test checks one thing, and other mistakes do not show in it: the test
of the variance accepts any mean, the test of ReLU accepts any width. Tests about anything but the values use robust
inputs: vectors that layer norm does not change, and modules that turn them into such vectors. Then it does not matter
where a norm is.

Random results are judged by counts of entries, at most six in a test: see draws.py.
"""

from __future__ import annotations

import contextlib
import functools
import math
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import pytest
import torch

from grader.testing.checks import (
    ABSOLUTE,
    RELATIVE,
    expect_close,
    expect_dtype,
    expect_gradients,
    expect_same,
    expect_tensor,
    expect_true,
    expect_values,
    oracle_gradients,
    shown,
)
from grader.testing.draws import Fresh, case, expect_count, expect_own_draws
from grader.testing.student import Failure, Raised, RemoteObject, Student

# All different, so that mixed-up dimensions show; 4 · C and EXPANSION · C differ too.
B, EXPANSION, H, T, C = 2, 3, 4, 5, 7
EPS = 1e-5
Function = Callable[[torch.Tensor], torch.Tensor]
ModuleAndFunction = tuple[RemoteObject, Function]  # a module, and what it should compute
Weights = dict[str, torch.Tensor]


# -- expected values ---------------------------------------------------------------------------------------------


class Norm:
    """What LayerNorm should compute."""

    @staticmethod
    def normalize(x: torch.Tensor, scale: torch.Tensor, shift: torch.Tensor) -> torch.Tensor:
        """(…, C), (C,), (C,) to (…, C), with the default eps."""
        return torch.nn.functional.layer_norm(x, x.shape[-1:], scale, shift)


class Skip:
    """What Residual should compute."""

    @staticmethod
    def join(x: torch.Tensor, given: torch.Tensor) -> torch.Tensor:
        return x + given


def linear(x: torch.Tensor, weight: torch.Tensor, bias: torch.Tensor | None = None) -> torch.Tensor:
    """(…, n), (m, n), (m,) to (…, m)."""
    product = torch.einsum("...i,oi->...o", x.double(), weight.double())
    return product if bias is None else product + bias.double()


# -- robust inputs, on which most mistakes do not show -----------------------------------------------------------


def centred(x: torch.Tensor) -> torch.Tensor:
    return x.double() - x.double().mean(-1, keepdim=True)


def variance(x: torch.Tensor) -> torch.Tensor:
    """(…, C) to (…): the mean of the squared differences from the mean."""
    return centred(x).square().mean(-1)


def normalized_vectors(fresh: Fresh, *shape: int, dtype: torch.dtype = torch.float32) -> torch.Tensor:
    """Vectors with mean zero whose variance plus the default eps is one: layer norm does not change them."""
    vectors = centred(fresh(*shape, dtype=torch.float64))
    return (vectors * ((1 - EPS) / variance(vectors).unsqueeze(-1)).sqrt()).to(dtype)


def rotation_of_the_sum(fresh: Fresh) -> torch.Tensor:
    """A matrix (C, C): the output of a linear layer with this weight, added to its input, is the rotated input.

    The axis is the direction in which all features are equal, so the rotation keeps mean and variance.
    """
    ones = torch.ones(C, 1, dtype=torch.float64)
    basis = torch.linalg.qr(torch.cat([ones, fresh(C, C - 1, dtype=torch.float64)], dim=1)).Q
    turn = torch.block_diag(torch.ones(1, 1), fresh.rotation(C - 1))
    return basis @ turn @ basis.mT - torch.eye(C)


def linear_module(student: Student, weight: torch.Tensor, bias: torch.Tensor | None = None) -> RemoteObject:
    """An nn.Linear in the student process, to pass as an argument."""
    module = student.make("Linear", *weight.mT.shape, bias=bias is not None)
    if weight.dtype == torch.float64:
        module.to(torch.float64)
    module.set({"weight": weight, **({} if bias is None else {"bias": bias})})
    return module


def name_of(value: torch.Tensor, parameters: Weights) -> str | None:
    """Return the name of the parameter that has these values, or None."""
    return next((name for name, found in parameters.items() if torch.equal(found, value)), None)


def expect_registered(values: Weights, parameters: Weights, owner: str) -> None:
    """Expect parameters with these values, which are those of `owner`, a module that was passed as an argument."""
    for value in values.values():
        expect_true(name_of(value, parameters) is not None, f"A parameter of {owner} is not among the module's own.")


def expect_gradients_of_registered(module: RemoteObject, x: torch.Tensor, values: Weights, expected: Weights) -> None:
    """Expect the gradients of x and of the registered parameters; another test checks which are registered."""
    current = module.parameters()
    _, found = expect_values(module.gradients(x), 2)
    names = {key: name_of(value, current) for key, value in values.items()}
    by_key = {key: found.get(name) for key, name in names.items() if name is not None}
    wanted = {key: gradient for key, gradient in expected.items() if key == "0" or key in by_key}
    expect_gradients({"0": found.get("0"), **by_key}, wanted)


def expect_x_left_alone(module: RemoteObject, x: torch.Tensor, expected: Function) -> None:
    output, [after] = expect_values(module.with_arguments(x), 2)
    expect_close(output, expected(x), "The outputs")
    expect_same(after, x, "x was changed.")


# -- LayerNorm ---------------------------------------------------------------------------------------------------


def registered_name(norm: RemoteObject, parameters: Weights, attribute: str) -> str | None:
    """Return the name under which the parameter in this attribute is registered; None if it is not a parameter.

    The names differ in a subclass of nn.LayerNorm, or if the attribute is a property.

    parameters: those of the norm.
    """
    if attribute in parameters:
        return attribute
    with contextlib.suppress(Failure):
        norm.get(attribute)  # if the attribute does not exist, nothing is set
        for name, value in parameters.items():
            norm.set({name: value.detach() + 1})
            now = norm.get(attribute)
            norm.set({name: value.detach()})
            if isinstance(now, torch.Tensor) and torch.equal(now, value + 1):
                return name
    return None


def set_parameters(norm: RemoteObject, values: Weights) -> Weights:
    """Set the attributes to these values, and return the values by registered name."""
    current = norm.parameters()
    named = {registered_name(norm, current, attribute) or attribute: value for attribute, value in values.items()}
    norm.set(named)
    return named


def plain_norm(student: Student, *arguments: float, dtype: torch.dtype = torch.float32) -> RemoteObject:
    """A LayerNorm with scale one and shift zero, whatever their initial values are."""
    norm = student.queue("LayerNorm", C, *arguments)
    if dtype == torch.float64:
        norm.to(dtype)
    current = norm.parameters()
    for attribute, make in (("scale", torch.ones), ("shift", torch.zeros)):
        if name := registered_name(norm, current, attribute):
            norm.set({name: make(current[name].shape)})
    return norm


def direction(x: torch.Tensor) -> torch.Tensor:
    """Each vector, divided by its length."""
    return x.double() / x.double().norm(dim=-1, keepdim=True)


def expect_normalized(result: object, x: torch.Tensor) -> None:
    """Expect the directions of the vectors of x, whose means are zero, and variances near one.

    Another test checks the exact variance: the biased and the unbiased one differ by a seventh.
    """
    found = expect_tensor(result, x.shape)
    expect_close(direction(found), direction(x), "The outputs, each divided by its length,")
    expect_variances_near_one(found)


def expect_variances_near_one(found: torch.Tensor) -> None:
    spread = variance(found)
    expect_true(bool(((spread > 0.6) & (spread < 1.6)).all()), "The variances of the outputs are not near one.")


@pytest.mark.exercise("LayerNorm", rule="scale and shift are nn.Parameter, each of shape (emb_dim,)")
def test_scale_and_shift_are_parameters(student: Student) -> None:
    """scale and shift should each be an nn.Parameter with a number for each of the emb_dim features."""
    norm = student.queue("LayerNorm", C)
    parameters = norm.parameters()
    for attribute in ("scale", "shift"):
        name = registered_name(norm, parameters, attribute)
        if name is None:
            with contextlib.suppress(Failure):
                is_tensor = isinstance(norm.get(attribute), torch.Tensor)
                expect_true(not is_tensor, f"{attribute} is a tensor, but not an nn.Parameter.")
        expect_true(name is not None, f"None of the {len(parameters)} parameters is {attribute}.")
        expect_true(parameters[name or ""].shape == (C,), f"{attribute} does not have the shape (emb_dim,).")


@pytest.mark.exercise(
    "LayerNorm",
    rule="each vector of emb_dim features is normalised separately, independently of other tokens and texts",
)
def test_each_token_is_normalized_on_its_own(student: Student, fresh: Fresh) -> None:
    """Each token's features should be normalised separately, independently of other tokens and texts."""
    x = normalized_vectors(fresh, B, T, C) * torch.arange(2, 2 + T)[:, None]
    expect_normalized(plain_norm(student)(x), x)


@pytest.mark.exercise("LayerNorm", rule="its mean is subtracted")
def test_the_mean_is_subtracted(student: Student, fresh: Fresh) -> None:
    """Each output vector should have the direction of the differences of the features from their mean."""
    x = fresh(B, T, C) + 2
    found = expect_tensor(plain_norm(student)(x), x.shape)
    expect_close(direction(found), direction(centred(x)), "The outputs, each divided by its length,")


VARIANCE = (
    "the result is divided by the square root of variance + eps, where the variance is the biased one: the mean of the "
    "squared differences from the mean"
)


@pytest.mark.exercise("LayerNorm", rule=VARIANCE)
def test_the_variance_of_the_outputs_is_one(student: Student, fresh: Fresh) -> None:
    """The biased variance of each output vector should be one, if eps is far too small to matter."""
    x = 3 * fresh(B, T, C) + 2
    found = expect_tensor(plain_norm(student)(x), x.shape)
    expect_close(variance(found), torch.ones(B, T), "The variances of the outputs")


def expect_eps(norm: RemoteObject, vectors: torch.Tensor, eps: float) -> None:
    """Expect that eps is added to the variances, biased or not. vectors: with a variance of about one.

    A vector of variance v, divided by √(a · v + eps), has the variance v / (a · v + eps). So the ratio of the variances
    before and after is a linear function of v, with the value eps at v = 0. Two points determine it.
    """
    points = []
    for times in (0.5, 2):  # a variance below eps, and one above
        x = vectors * (times * eps) ** 0.5
        found = expect_tensor(norm(x), x.shape)
        points.append((variance(x), variance(x) / variance(found)))
    (near, low), (far, high) = points
    added = (low * far - high * near) / (far - near)
    expect_close(added / eps, torch.ones_like(added), "The numbers added to the variances, each divided by eps,")


@pytest.mark.exercise("LayerNorm", rule=VARIANCE)
def test_eps_is_added_to_the_variance(student: Student, fresh: Fresh) -> None:
    """The given eps should be added to the variance, inside the root."""
    expect_eps(plain_norm(student, 0.7), normalized_vectors(fresh, B, T, C), 0.7)


@pytest.mark.exercise("LayerNorm", rule="eps is 1e-5 unless another is given")
def test_the_default_eps(student: Student, fresh: Fresh) -> None:
    """If no eps is given, the default of the rule should be added to the variance."""
    expect_eps(plain_norm(student), normalized_vectors(fresh, B, T, C), EPS)


@pytest.mark.exercise("LayerNorm", rule="at the end it is multiplied by scale, and then shift is added")
def test_outputs_are_scaled_and_shifted(student: Student, fresh: Fresh) -> None:
    """Each normalised feature should be multiplied by its own scale, and then its own shift should be added."""
    x, parameters = fresh(B, T, C), {"scale": fresh(C), "shift": fresh(C)}
    norm = plain_norm(student)
    plain = expect_tensor(norm(x), x.shape).double()
    expect_true(bool((variance(plain) > 0.01).all()), "Without scale and shift all features of an output are equal.")
    set_parameters(norm, parameters)
    expect_close(norm(x), torch.addcmul(parameters["shift"].double(), plain, parameters["scale"].double()))


@pytest.mark.exercise(
    "LayerNorm",
    rule="any number of leading dimensions, including none; x may be non-contiguous, "
    "for example the result of a transpose",
)
def test_layer_norm_takes_any_leading_dimensions(student: Student, fresh: Fresh) -> None:
    """A single vector, a text, a batch, and more leading dimensions should all be normalised."""
    norm = plain_norm(student)
    for shape in ((C,), (1, C), (T, C), (B, H, T, C)):
        x = 3 * normalized_vectors(fresh, *shape)
        expect_normalized(norm(x), x)
    view = 3 * normalized_vectors(fresh, T, B, C).transpose(0, 1)  # (T, B, C) -> (B, T, C)
    expect_normalized(norm(view), view)


@pytest.mark.exercise("LayerNorm", rule="gradients reach x, scale and shift")
def test_gradients_of_layer_norm(student: Student, fresh: Fresh) -> None:
    """Gradients of the output should reach x, also through its mean and its variance, and scale and shift."""
    # The variance is so large that eps does not matter.
    x, parameters = 5 * fresh(B, T, C), {"scale": fresh(C), "shift": fresh(C)}
    norm = student.queue("LayerNorm", C)
    names = dict(zip(set_parameters(norm, parameters), parameters, strict=True))
    _, found = expect_values(norm.gradients(x), 2)
    by_key = {names.get(name, name): gradient for name, gradient in found.items()}
    expect_gradients(by_key, oracle_gradients(Norm.normalize, [x], parameters))


@pytest.mark.exercise(
    "LayerNorm", rule="the dtype is kept: float32 stays float32 and, after .double(), float64 stays float64"
)
def test_layer_norm_keeps_the_dtype(student: Student, fresh: Fresh) -> None:
    """The output should be float32 if x is and, after .double(), float64."""
    for dtype in (torch.float32, torch.float64):
        x = 3 * normalized_vectors(fresh, B, T, C, dtype=dtype)
        output = plain_norm(student, dtype=dtype)(x)
        expect_normalized(output, x)
        expect_dtype(output, dtype)


@pytest.mark.exercise("LayerNorm", rule="x is not changed")
def test_layer_norm_leaves_x_alone(student: Student, fresh: Fresh) -> None:
    """The output should be normalised, and the call should not change x."""
    # With a mean that is not zero, so that subtracting it in place changes x.
    x = 3 * normalized_vectors(fresh, B, T, C) + 1
    output, [after] = expect_values(plain_norm(student).with_arguments(x), 2)
    expect_variances_near_one(expect_tensor(output, x.shape))
    expect_same(after, x, "x was changed.")


# -- FeedForward -------------------------------------------------------------------------------------------------


def layers_of(module: RemoteObject) -> list[Weights]:
    """Return the parameters of the two layers by name, the first layer first and its weight before its bias.

    The shapes decide which is which. Other tests check the hidden width and the biases.
    """
    parameters = module.parameters()
    matrices = {name: value for name, value in parameters.items() if value.dim() == 2}
    expect_true(len(matrices) == 2, f"It has the weights of {len(matrices)} layers.")
    pair = sorted(matrices, key=lambda name: matrices[name].shape[1] != C)
    first, second = (matrices[name] for name in pair)
    expect_true(
        first.shape[1] == C and second.shape == first.mT.shape,
        "The weights are not those of one layer from emb_dim features and one layer back to emb_dim.",
    )
    layers = []
    biases = {name: value for name, value in parameters.items() if value.dim() == 1}
    # If both widths are equal, or the module has a norm of its own, several vectors have the shape of a bias.
    own = {name: f"{name.removesuffix('weight')}bias" for name in pair}
    for name in pair:
        fitting = [one for one, value in biases.items() if len(value) == len(matrices[name])]
        unclaimed = [one for one in fitting if one not in own.values()]
        bias = own[name] if own[name] in fitting else next(iter(unclaimed), None)
        layers.append({name: matrices[name], **({} if bias is None else {bias: biases.pop(bias)})})
    return layers


def expect_exact_in_training(module: RemoteObject, x: torch.Tensor, expected: torch.Tensor) -> None:
    """Expect the same exact output in two calls. The reason names no values: dropout makes them random."""
    first, second = (expect_tensor(module(x), expected.shape).double() for _ in range(2))
    expect_true(
        torch.allclose(first, second, equal_nan=True), "In training two calls give different outputs for the same x."
    )
    exact = torch.allclose(first, expected, rtol=RELATIVE, atol=ABSOLUTE)
    expect_true(exact, "The outputs in training are not the expected ones, although the shape is correct.")


def hidden_width(module: RemoteObject) -> int:
    first, _ = layers_of(module)
    return len(next(iter(first.values())))


def transformed(x: torch.Tensor, layers: list[Weights]) -> torch.Tensor:
    """(…, C) to the same: one layer, ReLU, the other layer."""
    first, second = layers
    return linear(linear(x, *first.values()).clamp(min=0), *second.values())


def robust_feed_forward(
    student: Student, fresh: Fresh, dtype: torch.dtype = torch.float32
) -> tuple[RemoteObject, functools.partial[torch.Tensor]]:
    """A FeedForward in eval mode, and what it should compute: all hidden numbers and outputs are far above zero.

    So another activation between the layers, none, or one more after them does not change the output.
    """
    module = student.queue("FeedForward", C)
    if dtype == torch.float64:
        module.to(dtype)
    layers = layers_of(module)
    # Hidden numbers are about 12. The second layer's weights are about 1 / hidden width, so outputs are about 12 too.
    for layer, size in zip(layers, (C**0.5, hidden_width(module)), strict=True):
        for name, value in layer.items():
            layer[name] = (fresh(*value.shape) / size if value.dim() == 2 else 12 + fresh(*value.shape)).to(dtype)
        module.set(layer)
    module.eval()
    return module, functools.partial(transformed, layers=layers)


@pytest.mark.exercise(
    "FeedForward",
    rule="there are two nn.Linear under any names: one from emb_dim to expansion · emb_dim, and one back to emb_dim",
)
def test_two_layers_of_the_expanded_width(student: Student) -> None:
    """One layer should go from emb_dim to expansion · emb_dim, for the given expansion, and one back."""
    hidden = hidden_width(student.queue("FeedForward", C, EXPANSION))
    expect_true(hidden == EXPANSION * C, f"The hidden width is {hidden}, which is not expansion · emb_dim.")


@pytest.mark.exercise("FeedForward", rule="expansion is 4 unless another is given")
def test_the_default_expansion(student: Student) -> None:
    """If no expansion is given, the hidden width should be that of the rule."""
    hidden = hidden_width(student.queue("FeedForward", C))
    expect_true(hidden == 4 * C, f"The hidden width is {hidden}, which is not 4 · emb_dim.")


@pytest.mark.exercise("FeedForward", rule="both have a bias")
def test_both_layers_have_a_bias(student: Student) -> None:
    """Each of the two layers should have a bias, with a number for each of its outputs."""
    first, second = layers_of(student.queue("FeedForward", C))
    # If both widths are equal, it is unknown which layer comes first.
    names = (
        ("One layer",) * 2 if next(iter(first.values())).shape == (C, C) else ("The first layer", "The second layer")
    )
    for layer, name in zip((first, second), names, strict=True):
        expect_true(len(layer) == 2, f"{name} has no bias.")


@pytest.mark.exercise("FeedForward", rule="ReLU is between them, and nothing else is done")
def test_relu_stands_between_the_layers(student: Student, fresh: Fresh) -> None:
    """The output should be the second layer's output for the first layer's output after ReLU, and nothing else."""
    module = student.queue("FeedForward", C)
    layers = [{name: fresh(*value.shape) for name, value in layer.items()} for layer in layers_of(module)]
    for layer in layers:
        module.set(layer)
    module.eval()
    x = fresh(B, T, C)
    expect_close(module(x), transformed(x, layers), "The outputs")


@pytest.mark.exercise("FeedForward", rule="the output in training is the same as after .eval(): nothing is dropped")
def test_nothing_is_dropped_in_feed_forward(student: Student, fresh: Fresh) -> None:
    """The output should also be exact in training: only the block drops numbers."""
    module, expected = robust_feed_forward(student, fresh)
    module.train()
    # 336 numbers: even if only a twentieth is dropped, all of them are kept in 0.95^336 = 3e-8 of all runs.
    x = fresh(H, 12, C)
    expect_exact_in_training(module, x, expected(x))


@pytest.mark.exercise(
    "FeedForward",
    rule="position by position: any number of leading dimensions, including none; x may be non-contiguous, for "
    "example the result of a transpose",
)
def test_feed_forward_takes_any_leading_dimensions(student: Student, fresh: Fresh) -> None:
    """A single vector, a text, a batch, and more leading dimensions should all be transformed one by one."""
    module, expected = robust_feed_forward(student, fresh)
    view = fresh(T, B, C).transpose(0, 1)  # (T, B, C) -> (B, T, C)
    for x in (fresh(C), fresh(1, C), fresh(T, C), fresh(B, H, T, C), view):
        expect_close(module(x), expected(x), "The outputs")


@pytest.mark.exercise("FeedForward", rule="gradients reach x and the parameters of both layers")
def test_gradients_of_feed_forward(student: Student, fresh: Fresh) -> None:
    """Gradients of the output should reach x, and the weights and biases of both layers."""
    module, expected = robust_feed_forward(student, fresh)
    x, layers = fresh(B, T, C), expected.keywords["layers"]

    def function(x: torch.Tensor, **parameters: torch.Tensor) -> torch.Tensor:
        return transformed(x, [{name: parameters[name.replace(".", "_")] for name in layer} for layer in layers])

    _, found = expect_values(module.gradients(x), 2)
    expect_gradients(found, oracle_gradients(function, [x], {**layers[0], **layers[1]}))


# -- Residual ----------------------------------------------------------------------------------------------------


def residual_around(student: Student, sublayer: RemoteObject) -> RemoteObject:
    """A Residual in eval mode: only one criterion is about dropout."""
    residual = student.queue("Residual", sublayer)
    residual.eval()
    return residual


def robust_residual(student: Student, fresh: Fresh, dtype: torch.dtype = torch.float32) -> ModuleAndFunction:
    """A Residual in eval mode that rotates normalised vectors, and what it should compute."""
    weight = rotation_of_the_sum(fresh).to(dtype)
    residual = residual_around(student, linear_module(student, weight))
    if dtype == torch.float64:
        residual.to(dtype)
    return residual, lambda x: x.double() + linear(x, weight)


@pytest.mark.exercise(
    "Residual",
    rule="the output is x plus sublayer(x), and nothing else is done to either of them",
)
def test_what_sublayer_gives_is_added_to_x(student: Student, fresh: Fresh) -> None:
    """The output should be x itself plus sublayer's output for x itself."""
    # 336 numbers: even if only a twentieth is dropped, all of them are kept in 0.95^336 = 3e-8 of all runs.
    x, weights = fresh(H, 12, C), {"weight": fresh(C, C), "bias": fresh(C)}
    residual = residual_around(student, linear_module(student, **weights))
    expected = x.double() + linear(x, **weights)
    expect_close(residual(x), expected, "The outputs")
    residual.train()
    expect_exact_in_training(residual, x, expected)
    # With a dropout as sublayer the output shows its mode. The mode is set on the sublayer too, because another test
    # checks whether the sublayer is registered.
    dropout = student.make("Dropout", 0.5)
    residual = residual_around(student, dropout)
    dropout.eval()
    expect_close(residual(x), 2 * x, "The outputs around a dropout in eval mode")
    residual.train()
    dropout.train()
    given = (expect_tensor(residual(x), x.shape).double() - x) / x
    drawn = bool(((given.abs() < 1e-3) | ((given - 2).abs() < 1e-3)).all())
    expect_true(drawn, "Around a dropout, in training, an output is neither x nor x plus a number that dropout keeps.")


@pytest.mark.exercise("Residual", rule="the parameters of sublayer are parameters of this module")
def test_the_parameters_of_sublayer_are_found(student: Student, fresh: Fresh) -> None:
    """The weight and the bias of a given linear layer should be among the module's parameters."""
    weights = {"weight": fresh(C, C), "bias": fresh(C)}
    sublayer = linear_module(student, torch.zeros(C, C), torch.zeros(C))
    residual = residual_around(student, sublayer)
    sublayer.set(weights)  # a copy would not follow
    expect_registered(weights, residual.parameters(), "sublayer")


@pytest.mark.exercise("Residual", rule="x may have any shape that sublayer keeps")
def test_x_of_any_shape(student: Student, fresh: Fresh) -> None:
    """A single vector, a text, a batch, and tensors of more dimensions should all keep their shape."""
    residual, expected = robust_residual(student, fresh)
    for shape in ((C,), (1, C), (T, C), (B, H, T, C)):
        x = normalized_vectors(fresh, *shape)
        expect_close(residual(x), expected(x), "The outputs")


@pytest.mark.exercise(
    "Residual", rule="gradients reach x on both paths, around sublayer and through it, and the parameters of sublayer"
)
def test_gradients_of_residual(student: Student, fresh: Fresh) -> None:
    """Gradients of the output should reach x on both paths, and the weight and the bias of sublayer."""
    x, weights = fresh(B, T, C), {"weight": fresh(C, C), "bias": fresh(C)}
    residual = residual_around(student, linear_module(student, **weights))
    expected = oracle_gradients(lambda x, weight, bias: x + linear(x, weight, bias), [x], weights)
    expect_gradients_of_registered(residual, x, weights, expected)


@pytest.mark.exercise("Residual", rule="x is not changed, also if sublayer returns x itself")
def test_residual_leaves_x_alone(student: Student, fresh: Fresh) -> None:
    """The output should be correct, and the call should not change x, also if sublayer returns x itself."""
    residual, expected = robust_residual(student, fresh)
    x = normalized_vectors(fresh, B, T, C)
    expect_x_left_alone(residual, x, expected)
    _, [after] = expect_values(residual_around(student, student.make("Identity")).with_arguments(x), 2)
    expect_same(after, x, "x was changed if sublayer returns x itself.")


# -- TransformerBlock --------------------------------------------------------------------------------------------


def join_of(student: Student) -> Callable[[torch.Tensor, torch.Tensor], torch.Tensor]:
    """Return the function that joins x and the output of a module."""
    return student.substitute("Residual", Skip).join


# Scale and shift of a norm.
Affine = tuple[torch.Tensor, torch.Tensor]
PLAIN: Affine = (torch.ones(C), torch.zeros(C))


def transformer_block(
    student: Student,
    x: torch.Tensor,
    attention: Function,
    feed_forward: Function,
    norm1: Affine = PLAIN,
    norm2: Affine = PLAIN,
) -> torch.Tensor:
    """(B, T, C) to the same."""
    normalize, join = student.substitute("LayerNorm", Norm).normalize, join_of(student)
    x = join(x.double(), attention(normalize(x.double(), *(value.double() for value in norm1))))
    return join(x, feed_forward(normalize(x, *(value.double() for value in norm2))))


def block_in_eval_mode(
    student: Student, attention: RemoteObject, feed_forward: RemoteObject, dropout: float = 0.0, emb_dim: int = C
) -> RemoteObject:
    """A TransformerBlock in eval mode: only tests about dropout use training mode."""
    for exercise in ("LayerNorm", "Residual"):
        student.substitute(exercise, None)  # records that a substitute is used, if the block calls it
    block = student.queue("TransformerBlock", attention, feed_forward, emb_dim, dropout)
    block.eval()
    return block


def token_mixer(x: torch.Tensor) -> torch.Tensor:
    """The output of a TokenMixer for (B, T, C)."""
    return x + x.mean(dim=1, keepdim=True)


def position_wise(x: torch.Tensor) -> torch.Tensor:
    """The output of a PositionWise."""
    return x.square() + 1


def zero_output(x: torch.Tensor) -> torch.Tensor:
    """The output of a linear layer whose weight is zero."""
    return torch.zeros_like(x)


def zero_layer(student: Student, emb_dim: int = C) -> RemoteObject:
    return linear_module(student, torch.zeros(emb_dim, emb_dim))


@pytest.mark.exercise("TransformerBlock", rule="attention gets norm1(x), and its output is added to x")
def test_what_attention_gives_is_added_to_x(student: Student, fresh: Fresh) -> None:
    """If feed_forward gives zeros, the output should be x plus attention's output for norm1(x)."""
    block, x = block_in_eval_mode(student, student.make("TokenMixer"), zero_layer(student)), 2 * fresh(B, T, C) + 1
    expect_close(block(x), transformer_block(student, x, token_mixer, zero_output), "The outputs")


SECOND_STEP = "then feed_forward gets norm2 of that sum, and its output is added to the sum"


@pytest.mark.exercise("TransformerBlock", rule=SECOND_STEP)
def test_what_feed_forward_gives_is_added(student: Student, fresh: Fresh) -> None:
    """If attention gives zeros, the output should be x plus feed_forward's output for norm2(x)."""
    block, x = block_in_eval_mode(student, zero_layer(student), student.make("PositionWise")), 2 * fresh(B, T, C) + 1
    expect_close(block(x), transformer_block(student, x, zero_output, position_wise), "The outputs")


@pytest.mark.exercise("TransformerBlock", rule=SECOND_STEP)
def test_feed_forward_comes_second(student: Student, fresh: Fresh) -> None:
    """feed_forward should work on x plus attention's output, and its own output should be added to that."""
    block = block_in_eval_mode(student, student.make("TokenMixer"), student.make("PositionWise"))
    x = 2 * fresh(B, T, C) + 1
    expect_close(block(x), transformer_block(student, x, token_mixer, position_wise), "The outputs")


NORMS = "norm1 and norm2 are LayerNorm or nn.LayerNorm for emb_dim features, each with its own parameters"


def set_norm(block: RemoteObject, name: str, affine: Affine, biases: int = 0) -> RemoteObject:
    """Set the scale and shift of a norm of the block, which nn.LayerNorm calls weight and bias.

    biases: the number of biases in the modules that were passed to the block.
    """
    count = sum(value.shape == (C,) for value in block.parameters().values()) - biases
    expect_true(count > 0, "The block has no norms with parameters.")
    norm: Any = None
    with contextlib.suppress(Raised):
        norm = block.get(name)
    expect_true(norm is not None, f"There is no {name}, although the norms of the block have {count} parameters.")
    expect_true(isinstance(norm, RemoteObject), f"{name} is not a module.")
    current = norm.parameters()
    pairs = [
        [registered_name(norm, current, attribute) for attribute in pair]
        for pair in (("scale", "shift"), ("weight", "bias"))
    ]
    names = next((pair for pair in pairs if current.keys() == set(pair)), [])
    expect_true(bool(names), f"{name} does not have the parameters of a layer norm.")
    expect_true(all(value.shape == (C,) for value in current.values()), f"{name} is not for emb_dim features.")
    norm.set({name or "": value for name, value in zip(names, affine, strict=True)})
    return norm


@pytest.mark.exercise("TransformerBlock", rule=NORMS)
def test_norm1_and_norm2_are_layer_norms(student: Student, fresh: Fresh) -> None:
    """norm1 and norm2 should be two modules, with a scale and a shift for each feature, and share none of them."""
    block = block_in_eval_mode(student, zero_layer(student), zero_layer(student))
    first, second = ((fresh(C), fresh(C)) for _ in range(2))
    norm1, norm2 = set_norm(block, "norm1", first), set_norm(block, "norm2", second)
    for norm, affine in ((norm1, first), (norm2, second)):
        kept = all(name_of(value, norm.parameters()) is not None for value in affine)
        expect_true(kept, "norm1 and norm2 share their parameters.")


@pytest.mark.exercise("TransformerBlock", rule=NORMS)
def test_each_norm_in_its_place(student: Student, fresh: Fresh) -> None:
    """norm1 should be before attention and norm2 before feed_forward, each with its scale and shift."""
    block = block_in_eval_mode(student, student.make("TokenMixer"), student.make("PositionWise"))
    first, second = ((fresh(C), fresh(C)) for _ in range(2))
    set_norm(block, "norm1", first)
    set_norm(block, "norm2", second)
    x = 2 * fresh(B, T, C) + 1
    expect_close(block(x), transformer_block(student, x, token_mixer, position_wise, first, second), "The outputs")


@pytest.mark.exercise(
    "TransformerBlock", rule="the parameters of attention and feed_forward are parameters of the block"
)
def test_the_parameters_of_both_modules_are_found(student: Student, fresh: Fresh) -> None:
    """The weights of two given linear layers should be among the block's parameters."""
    attention, feed_forward = {"weight": fresh(C, C)}, {"weight": fresh(C, C)}
    block = block_in_eval_mode(student, linear_module(student, **attention), linear_module(student, **feed_forward))
    parameters = block.parameters()
    expect_registered(attention, parameters, "attention")
    expect_registered(feed_forward, parameters, "feed_forward")


# -- dropout: what remains of a module's output

TEXTS, TOKENS, FEATURES = 4, 14, 16
P = 0.3


def shares_added(student: Student, fresh: Fresh, which: str, weight: torch.Tensor) -> tuple[torch.Tensor, str]:
    """Return what two calls in training add to x, as a multiple of the output of `which`, and a failure reason.

    The multiples (2, B, T, C) should be 0 for dropped numbers and 1 / (1 - P) for kept ones. The output of the other
    module is zero. The reason is empty unless no number is dropped. weight: small compared with the bias, so that no
    output is near zero.
    """
    x = fresh(TEXTS, TOKENS, FEATURES)
    layer = linear_module(student, weight, 5 * fresh(FEATURES).sign())
    pair = (layer, zero_layer(student, FEATURES)) if which == "attention" else (zero_layer(student, FEATURES), layer)
    # The expected sum comes from a block without dropout, so that a wrong norm costs only its own criteria.
    exact = expect_tensor(block_in_eval_mode(student, *pair, emb_dim=FEATURES)(x), x.shape).double()
    block = block_in_eval_mode(student, *pair, dropout=P, emb_dim=FEATURES)
    block.train()
    outputs = torch.stack([expect_tensor(block(x), x.shape).double() for _ in range(2)])
    join, zero = join_of(student), torch.zeros_like(exact)
    x_only = join(join(x.double(), zero), zero)
    expect_true(bool(((exact - x_only).abs() > 0.5).all()), f"The output of {which} is not added to x.")
    shares = (outputs - x_only) / (exact - x_only)
    if (shares.abs() < 1e-4).any():
        return shares, ""
    reason = f"In training no output shows a dropped number of {which} with everything else unchanged"
    if (zeros := int((outputs == 0).sum())) > 0:
        more = "more often than" if zeros > (P + 0.1) * outputs.numel() else "as often as"
        return shares, f"{reason}; outputs become zero, including x, {more} `dropout` says."
    return shares, reason + ("." if torch.equal(outputs[0], outputs[1]) else ", although the outputs change.")


def expect_independent_dropout(student: Student, fresh: Fresh, which: str) -> None:
    """Expect that about a share P of the output of `which` is dropped, each number independently."""
    shares, problem = shares_added(student, fresh, which, fresh(FEATURES, FEATURES) / 10)
    expect_true(not problem, problem)
    kept = shares.abs() >= 1e-4
    # The calls come last: with few draws in each, two of them may be the same by chance.
    places = {"All texts": 1, "All tokens": 2, "All features of a token": 3, "Two calls": 0}
    pairs = {
        f"{alike} have the same numbers dropped in the output of {which}.": kept.unflatten(dim, (-1, 2)).unbind(dim + 1)
        for alike, dim in places.items()
    }
    equal = {reason: first == second for reason, (first, second) in pairs.items()}
    expect_own_draws(kept, equal)
    expect_count(kept, 1 - P, f"The fraction of dropped numbers of {which} is not near `dropout`.")
    # Two independent numbers are both kept or both dropped with this probability. The pairs are disjoint.
    both = P**2 + (1 - P) ** 2
    for reason, alike in equal.items():
        expect_count(alike, both, reason)


@pytest.mark.exercise(
    "TransformerBlock",
    rule="in training each number of attention's output becomes 0 independently, with probability `dropout`",
)
def test_numbers_of_attention_are_dropped(student: Student, fresh: Fresh) -> None:
    """In training a fraction of about `dropout` of attention's output should be dropped, independently."""
    expect_independent_dropout(student, fresh, "attention")


@pytest.mark.exercise("TransformerBlock", rule="the same is true for each number of feed_forward's output")
def test_numbers_of_feed_forward_are_dropped(student: Student, fresh: Fresh) -> None:
    """In training a fraction of about `dropout` of feed_forward's output should be dropped, independently."""
    expect_independent_dropout(student, fresh, "feed_forward")


@pytest.mark.exercise(
    "TransformerBlock",
    rule="a kept number is divided by 1 - dropout, and the x or sum that it is added to is never dropped or scaled",
)
def test_what_is_kept_grows_and_x_stays(student: Student, fresh: Fresh) -> None:
    """In training each output should be x alone, or x plus a module's output divided by one minus dropout."""
    # Dropped numbers of a module's input show only in an output that depends on it.
    for weight in (torch.zeros(FEATURES, FEATURES), fresh(FEATURES, FEATURES) / 10):
        problems = []
        for which in ("attention", "feed_forward"):
            shares, problem = shares_added(student, fresh, which, weight)
            if problem:  # another criterion fails then; this one fails too if neither module has dropout
                problems.append(problem)
                continue
            kept = shares[shares.abs() >= 1e-4]
            times = kept.mean().item() if kept.numel() else 0
            reason = f"An output is neither x alone nor x plus a number of {which} divided by one minus dropout."
            if kept.numel() and bool(((kept - times).abs() < 1e-3).all()):
                reason = f"The kept numbers of {which} are multiplied by {times:.2g}, not divided by 1 - dropout."
            expect_true(bool(((kept - 1 / (1 - P)).abs() < 1e-4).all()), reason)
        expect_true(len(problems) < 2, " ".join(problems))


def robust_block(
    student: Student, fresh: Fresh, dropout: float = 0.0, dtype: torch.dtype = torch.float32
) -> ModuleAndFunction:
    """A TransformerBlock in eval mode, and what it should compute.

    Both modules are the same rotation of normalised vectors, so the order of norms and modules makes no difference.
    """
    weight = rotation_of_the_sum(fresh).to(dtype)
    attention, feed_forward = (linear_module(student, weight) for _ in range(2))
    block = block_in_eval_mode(student, attention, feed_forward, dropout)
    if dtype == torch.float64:
        block.to(dtype)
    turned = functools.partial(linear, weight=weight)
    return block, lambda x: transformer_block(student, x, turned, turned)


@pytest.mark.exercise("TransformerBlock", rule="in eval mode nothing is dropped")
def test_nothing_is_dropped_in_eval_mode(student: Student, fresh: Fresh) -> None:
    """In eval mode the output should be exact, for any dropout of the block."""
    block, expected = robust_block(student, fresh, dropout=0.5)
    x = normalized_vectors(fresh, B, T, C)
    expect_close(block(x), expected(x), "The outputs")


@pytest.mark.exercise("TransformerBlock", rule="with dropout=0.0 nothing is dropped in training")
def test_nothing_is_dropped_without_dropout(student: Student, fresh: Fresh) -> None:
    """With a dropout of zero the output should be exact in training too."""
    block, expected = robust_block(student, fresh)
    block.train()
    # 672 numbers are added: even if only a twentieth is dropped, all of them are kept in 0.95^672 = 1e-15 of all runs.
    x = normalized_vectors(fresh, H, 12, C)
    expect_close(block(x), expected(x), "The outputs")


@pytest.mark.exercise("TransformerBlock", rule="any number of texts and tokens, including one")
def test_any_number_of_texts_and_tokens(student: Student, fresh: Fresh) -> None:
    """Batches of one or several texts, and texts of one or several tokens, should keep their shape."""
    block, expected = robust_block(student, fresh)
    for texts, tokens in ((B, T), (1, T), (B, 1), (1, 1), (T, B)):
        x = normalized_vectors(fresh, texts, tokens, C)
        expect_close(block(x), expected(x), "The outputs")


@pytest.mark.exercise("TransformerBlock", rule="gradients reach x and all parameters")
def test_gradients_of_the_block(student: Student, fresh: Fresh) -> None:
    """Gradients of the output should reach x, both norms, and the parameters of attention and of feed_forward."""
    x = fresh(B, T, C)
    attention, feed_forward = ((fresh(C, C) / C**0.5, fresh(C)) for _ in range(2))
    norm1, norm2 = ((fresh(C), fresh(C)) for _ in range(2))
    block = block_in_eval_mode(student, linear_module(student, *attention), linear_module(student, *feed_forward))
    set_norm(block, "norm1", norm1, biases=2)
    set_norm(block, "norm2", norm2, biases=2)
    parameters = {
        **dict(zip(("attention.weight", "attention.bias"), attention, strict=True)),
        **dict(zip(("feed_forward.weight", "feed_forward.bias"), feed_forward, strict=True)),
        **dict(zip(("norm1.scale", "norm1.shift", "norm2.scale", "norm2.shift"), (*norm1, *norm2), strict=True)),
    }

    def function(x: torch.Tensor, **named: torch.Tensor) -> torch.Tensor:
        values = list(named.values())
        attention, feed_forward, norm1, norm2 = zip(values[::2], values[1::2], strict=True)
        attention_step, feed_forward_step = (lambda x: linear(x, *attention)), (lambda x: linear(x, *feed_forward))
        return transformer_block(student, x, attention_step, feed_forward_step, norm1, norm2)

    expect_gradients_of_registered(block, x, parameters, oracle_gradients(function, [x], parameters))


# -- stack_blocks ------------------------------------------------------------------------------------------------


def fresh_blocks(fresh: Fresh, count: int) -> list[Weights]:
    """Weights and biases of linear layers that are used as blocks: their order matters."""
    return [{"weight": fresh(C, C) / C**0.5, "bias": fresh(C)} for _ in range(count)]


def stacked(student: Student, blocks: list[Weights]) -> tuple[RemoteObject, RemoteObject]:
    """Return the stack of these blocks, and the make_block that it was given."""
    make_block = student.make("CountingFactory", *(linear_module(student, **block) for block in blocks))
    stack = student.stack_blocks(make_block, len(blocks))
    expect_true(stack is not None, "It returns None, but a module was expected.")
    expect_true(isinstance(stack, RemoteObject), "The result is not a module.")
    # A subclass of nn.ModuleList is right if it calls its blocks.
    expect_true(
        stack.kinds[0] != "torch.nn.modules.container.ModuleList",
        "The result is an nn.ModuleList, which contains the blocks but calls none of them.",
    )
    return stack, make_block


def in_sequence(x: torch.Tensor, blocks: list[Weights]) -> torch.Tensor:
    return functools.reduce(lambda x, block: linear(x, **block), blocks, x)


@pytest.mark.exercise(
    "stack_blocks", rule="make_block is called exactly num_blocks times, and each call makes one of the blocks"
)
def test_make_block_is_called_once_for_each_block(student: Student, fresh: Fresh) -> None:
    """make_block should be called exactly num_blocks times, and not again when the stack is used."""
    stack, make_block = stacked(student, fresh_blocks(fresh, 3))
    for _ in range(2):
        expect_tensor(stack(fresh(B, T, C)), (B, T, C))
    calls = make_block.get("calls")
    expect_true(
        type(calls) is int and calls == 3, f"For three blocks, the number of calls of make_block is {shown(calls)}."
    )


@pytest.mark.exercise(
    "stack_blocks",
    rule="the first block gets x, and each later one gets the output of the block before it",
)
def test_blocks_work_one_after_the_other(student: Student, fresh: Fresh) -> None:
    """The output should be that of the last block, where each block gets the output of the block before it."""
    blocks, x = fresh_blocks(fresh, 3), fresh(B, T, C)
    expect_close(stacked(student, blocks)[0](x), in_sequence(x, blocks), "The outputs")


@pytest.mark.exercise("stack_blocks", rule="any number of blocks, including one")
def test_any_number_of_blocks(student: Student, fresh: Fresh) -> None:
    """One block, two, or more: x should go through the given number of blocks."""
    [block], x = fresh_blocks(fresh, 1), fresh(B, T, C)
    for count in (1, 2, 5):
        blocks = [block] * count  # all equal, so that only their number matters
        expect_close(stacked(student, blocks)[0](x), in_sequence(x, blocks), "The outputs")


@pytest.mark.exercise("stack_blocks", rule="it is an nn.Module, and the parameters of all blocks are its parameters")
def test_the_parameters_of_all_blocks_are_found(student: Student, fresh: Fresh) -> None:
    """The result should be an nn.Module, with the parameters of every block among its own."""
    blocks = fresh_blocks(fresh, 3)
    parameters = stacked(student, blocks)[0].parameters()
    count, expected = len(parameters), sum(map(len, blocks))
    expect_true(count >= expected, f"It has {count} parameters, but all blocks together have {expected}.")
    for block in blocks:
        expect_registered(block, parameters, "a block")


@pytest.mark.exercise("stack_blocks", rule="gradients reach x and every block")
def test_gradients_of_the_stack(student: Student, fresh: Fresh) -> None:
    """Gradients of the output should reach x and the parameters of each block."""
    blocks, x = fresh_blocks(fresh, 2), fresh(B, T, C)
    stack, _ = stacked(student, blocks)
    parameters = {f"{place}_{name}": value for place, block in enumerate(blocks) for name, value in block.items()}

    def function(x: torch.Tensor, **named: torch.Tensor) -> torch.Tensor:
        names = [[f"{place}_{name}" for name in ("weight", "bias")] for place in range(len(blocks))]
        return in_sequence(x, [{"weight": named[weight], "bias": named[bias]} for weight, bias in names])

    expect_gradients_of_registered(stack, x, parameters, oracle_gradients(function, [x], parameters))


def stack_of_two(student: Student, fresh: Fresh) -> ModuleAndFunction:
    """A stack of two equal blocks, and what it should compute."""
    blocks = fresh_blocks(fresh, 1) * 2
    return stacked(student, blocks)[0], functools.partial(in_sequence, blocks=blocks)


# -- rules that several exercises share --------------------------------------------------------------------------

FLOAT64 = "works in float64 after .double()"
IN_FLOAT64 = "After .double() the {} should take float64 inputs and give the correct output."
X_UNCHANGED = ("x is not changed", "The output should be correct, and the call should not change x.")


@pytest.mark.parametrize(("robust", "draw"), [
    case("feed_forward_in_float64", "FeedForward", FLOAT64, IN_FLOAT64.format("module"),
         robust_feed_forward, Fresh.__call__),
    case("residual_in_float64", "Residual", FLOAT64, IN_FLOAT64.format("module"), robust_residual, normalized_vectors),
    case("the_block_in_float64", "TransformerBlock", FLOAT64, IN_FLOAT64.format("block"),
         robust_block, normalized_vectors),
])  # fmt: skip
def test_float64(student: Student, fresh: Fresh, robust: Callable[..., Any], draw: Callable[..., Any]) -> None:
    """After .double() a module should take float64 inputs and give the correct output."""
    module, expected = robust(student, fresh, dtype=torch.float64)
    x = draw(fresh, B, T, C, dtype=torch.float64)
    expect_close(module(x), expected(x), "The outputs")


@pytest.mark.parametrize(("robust", "draw"), [
    case("feed_forward_leaves_x_alone", "FeedForward", *X_UNCHANGED, robust_feed_forward, Fresh.__call__),
    case("the_block_leaves_x_alone", "TransformerBlock", *X_UNCHANGED, robust_block, normalized_vectors),
    case("the_stack_leaves_x_alone", "stack_blocks", *X_UNCHANGED, stack_of_two, Fresh.__call__),
])  # fmt: skip
def test_x_is_left_alone(student: Student, fresh: Fresh, robust: Callable[..., Any], draw: Callable[..., Any]) -> None:
    """The output should be correct, and the call should not change x."""
    module, expected = robust(student, fresh)
    expect_x_left_alone(module, draw(fresh, B, T, C), expected)


# -- gpt2_parameter_count ----------------------------------------------------------------------------------------
# A count is a sum of parts. The difference between two counts is one part, for example one more layer or one more
# token, and it is right even if another part is missing.

# Widths are multiples of 64, the width of a head in GPT-2, so that an answer may build the model and count.
WIDTH = 64
VOCABULARY, CONTEXT = 11, 9


def result_for(student: Student, *sizes: int) -> object:
    """Return the student's result. An answer may build a model of this unit's exercises and unit 4's attention."""
    for exercise in ("MultiHeadAttention", "LayerNorm", "FeedForward", "Residual", "TransformerBlock", "stack_blocks"):
        student.substitute(exercise, None)  # all have the right number of parameters
    return student.gpt2_parameter_count(*sizes)


def count_of(student: Student, *sizes: int) -> Fraction:
    value: Any = result_for(student, *sizes)
    if isinstance(value, torch.Tensor) and value.numel() == 1:
        value = value.item()
    expect_true(type(value) in (int, float), f"The result is not a number, but of the type {type(value).__name__}.")
    expect_true(math.isfinite(value), "The result is not finite.")
    return Fraction(value)


def formatted(number: Fraction) -> str:
    return f"{float(number):g}"


def block_polynomial(student: Student) -> tuple[Fraction, Fraction]:
    """Return a and b, if a block has a · emb_dim² + b · emb_dim parameters, from counts for three widths."""
    widths = (WIDTH, 2 * WIDTH, 3 * WIDTH)
    counts = [[count_of(student, layers, width, VOCABULARY, CONTEXT) for layers in (1, 3)] for width in widths]
    # The count of two layers, divided by 2 · emb_dim, is a linear function of emb_dim with the slope a.
    near, middle, far = ((more - less) / (2 * width) for (less, more), width in zip(counts, widths, strict=True))
    expect_true(far - middle == middle - near, "The count for a block is not a sum of layers and norms.")
    slope = (middle - near) / WIDTH
    return slope, near - slope * WIDTH


def growth(student: Student, vocabulary: int, context: int) -> Fraction:
    """Return by how much the count grows with this many more tokens and positions."""
    more = count_of(student, 2, WIDTH, VOCABULARY + vocabulary, CONTEXT + context)
    return more - count_of(student, 2, WIDTH, VOCABULARY, CONTEXT)


def besides(student: Student) -> tuple[Fraction, list[int]]:
    """Return what a count has besides blocks and embeddings, and which sizes of GPT-2 it has whatever is given."""
    sizes = {50257: (VOCABULARY, growth(student, 1, 0)), 1024: (CONTEXT, growth(student, 0, 1))}
    one, two = (count_of(student, layers, WIDTH, VOCABULARY, CONTEXT) for layers in (1, 2))
    rest = one - (two - one) - sum(given * grown for given, grown in sizes.values())
    fixed = []
    for size, (_, grown) in sizes.items():
        if grown == 0 and rest >= size * WIDTH:
            rest -= size * WIDTH
            fixed.append(size)
    return rest, fixed


def grown_by(student: Student, what: str, grown: Fraction, size: int) -> str:
    """Return by how much one more token or position makes a count larger. size: how many GPT-2 has."""
    always = f": your count always has {size}" if grown == 0 and size in besides(student)[1] else ""
    return f"One more {what} adds {formatted(grown / WIDTH)} · emb_dim parameters{always}."


@pytest.mark.exercise(
    "gpt2_parameter_count",
    rule="each of vocab_size tokens has an embedding of emb_dim numbers; the output layer shares them and adds none",
)
def test_a_token_adds_its_embedding(student: Student) -> None:
    """With one more token in the vocabulary, the count should grow by emb_dim: the output layer adds nothing."""
    grown = growth(student, 1, 0)
    expect_true(grown == WIDTH, grown_by(student, "token", grown, 50257))


@pytest.mark.exercise("gpt2_parameter_count", rule="each of context_length positions has emb_dim learned numbers")
def test_a_position_adds_its_embedding(student: Student) -> None:
    """With one more position in the context, the count should grow by emb_dim."""
    grown = growth(student, 0, 1)
    expect_true(grown == WIDTH, grown_by(student, "position", grown, 1024))


@pytest.mark.exercise(
    "gpt2_parameter_count",
    rule="each block has six linear layers: four in attention from emb_dim to emb_dim (queries, keys, values and "
    "output), and two in the feed-forward, from emb_dim to 4 · emb_dim and back",
)
def test_the_matrices_of_a_block(student: Student) -> None:
    """In each block there should be the matrices of six layers: four in attention, two larger ones after it."""
    squares, _ = block_polynomial(student)
    expect_true(squares == 12, f"In your count a block has {formatted(squares)} · emb_dim² weights in its matrices.")


@pytest.mark.exercise(
    "gpt2_parameter_count",
    rule="each of these layers has a bias, and each block has two norms, with a scale and a shift for each feature",
)
def test_the_biases_and_norms_of_a_block(student: Student) -> None:
    """In each block there should be the biases of six layers, and the scales and shifts of two norms."""
    _, rest = block_polynomial(student)
    expect_true(rest == 13, f"In your count a block has {formatted(rest)} · emb_dim parameters in biases and norms.")


@pytest.mark.exercise("gpt2_parameter_count", rule="one more norm of this kind comes after the last block")
def test_the_norm_after_the_last_block(student: Student) -> None:
    """Besides the embeddings and the blocks, the count should contain one more norm, its scale and its shift."""
    rest, _ = besides(student)
    expect_true(
        rest == 2 * WIDTH,
        f"Besides embeddings and blocks, your count has {formatted(rest / WIDTH)} · emb_dim parameters.",
    )


@pytest.mark.exercise(
    "gpt2_parameter_count", rule="vocab_size is 50257 and context_length is 1024 unless others are given"
)
def test_the_default_vocabulary_and_context(student: Student) -> None:
    """The count should use the given vocabulary and context, and the defaults of the rule if none are given."""
    count = functools.partial(count_of, student, 1, WIDTH)
    more = (count() - count(50257, 1024)) / WIDTH
    expect_true(more == 0, f"Without vocab_size and context_length there are {formatted(more)} · emb_dim more.")
    expect_true(count() != count(VOCABULARY, CONTEXT), "The count is the same for any vocab_size and context_length.")


@pytest.mark.exercise("gpt2_parameter_count", rule="the result is an int")
def test_the_count_is_an_int(student: Student) -> None:
    """The result should be an int, and in the order of magnitude of the model."""
    count = result_for(student, 2, 3 * WIDTH, VOCABULARY, CONTEXT)
    expect_true(type(count) is int, f"The result is not an int, but of the type {type(count).__name__}.")
    share = count_of(student, 2, 3 * WIDTH, VOCABULARY, CONTEXT) / (2 * 12 * (3 * WIDTH) ** 2)
    expect_true(0.1 < share < 30, "The result is not in the order of magnitude of the model.")
