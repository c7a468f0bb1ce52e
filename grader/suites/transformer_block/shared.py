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
from collections.abc import Callable, Iterator
from typing import Any

import torch
from torch import Tensor, nn

from grader.testing.checks import (
    ABSOLUTE,
    RELATIVE,
    expect_close,
    expect_gradients,
    expect_same,
    expect_tensor,
    expect_true,
    expect_values,
)
from grader.testing.draws import Fresh
from grader.testing.probes import Draw, Property
from grader.testing.student import Failure, RemoteObject, Student
from grader.testing.suite import Asking, Given

# All different, so that mixed-up dimensions show; 4 · C and EXPANSION · C differ too.
B, EXPANSION, H, T, C = 2, 3, 4, 5, 7
EPS = 1e-5
Function = Callable[[torch.Tensor], torch.Tensor]
ModuleAndFunction = tuple[RemoteObject, Function]  # a module, and what it should compute
Weights = dict[str, torch.Tensor]


class Norm:
    """What LayerNorm should compute."""

    @staticmethod
    def normalize(x: torch.Tensor, scale: torch.Tensor, shift: torch.Tensor) -> torch.Tensor:
        """(…, C), (C,), (C,) to (…, C), with the default eps."""
        return torch.nn.functional.layer_norm(x, x.shape[-1:], scale, shift)


def linear(x: torch.Tensor, weight: torch.Tensor, bias: torch.Tensor | None = None) -> torch.Tensor:
    """(…, n), (m, n), (m,) to (…, m)."""
    product = torch.einsum("...i,oi->...o", x.double(), weight.double())
    return product if bias is None else product + bias.double()


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


def robust_calls(make: Callable[..., ModuleAndFunction], draw: Callable[..., torch.Tensor]) -> Asking:
    """Return a function that draws a call of a module. make: returns it, and what it should compute."""

    def ask(
        student: Student, fresh: Fresh, texts: int = B, tokens: int = T, is_training: bool = False, **options: Any
    ) -> Given:
        module, expected = make(student, fresh, **options)
        if is_training:
            module.train()
        dtype = {key: value for key, value in options.items() if key == "dtype"}
        x = draw(fresh, texts, tokens, C, **dtype)
        return Given(module, [x], lambda output: expect_close(output, expected(x), "The outputs"), expected)

    return ask


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


def expect_exact_in_training(module: RemoteObject, x: torch.Tensor, expected: torch.Tensor) -> None:
    """Expect the same exact output in two calls. The reason names no values: dropout makes them random."""
    first, second = (expect_tensor(module(x), expected.shape).double() for _ in range(2))
    expect_true(
        torch.allclose(first, second, equal_nan=True), "In training two calls give different outputs for the same x."
    )
    exact = torch.allclose(first, expected, rtol=RELATIVE, atol=ABSOLUTE)
    expect_true(exact, "The outputs in training are not the expected ones, although the shape is correct.")


FLOAT64 = "works in float64 after .double()"
IN_FLOAT64 = "After .double() the {} should take float64 inputs and give the correct output."
X_UNCHANGED = ("x is not changed", "The output should be correct, and the call should not change x.")
ALL_DETACHED = (
    "The output is cut off from the gradients, for example by `.detach()` or `.data` at the end, or by "
    "`torch.no_grad()` around everything. So neither this module nor anything below it could learn."
)
CHANGED = (
    "The caller's x was changed: `-=`, `+=` and methods with an underscore change the tensor itself. Write `x = x + "
    "…`, which makes a new one."
)


def with_calm_gradients(seen: Iterator[Property], x: Tensor, eps: float = 1e-5) -> Iterator[Property]:
    """Yield the same properties, with the gradients of x divided by how much a norm enlarges differences.

    If the features of a token are nearly equal, a norm enlarges them a few hundred times, and rounding errors too. No
    rule forbids float32 inside a module for float64.
    """
    deviation = (x.var(dim=-1, keepdim=True, unbiased=False) + eps).sqrt().clamp(max=1)  # (…, C) -> (…, 1)
    for what, value in seen:
        is_calmed = what == "the gradient of argument 1" and isinstance(value, Tensor)
        yield what, value * deviation if is_calmed else value


class Bent(nn.Module):
    """A nonlinear layer whose output depends on its mode, training or eval. It keeps its last input."""

    def __init__(self, features: int, draw: Draw) -> None:
        super().__init__()
        self.mix = nn.Parameter(draw.normal(features, features, scale=features**-0.5))
        self.shift = nn.Parameter(draw.normal(features, scale=1))

    def forward(self, x: Tensor) -> Tensor:
        self.given = x.detach().clone()
        return torch.tanh(x @ self.mix + self.shift) * (2 if self.training else 1)


class Constant(nn.Module):
    """The same number for every input. It keeps its last input."""

    def __init__(self, number: float) -> None:
        super().__init__()
        self.number = number

    def forward(self, x: Tensor) -> Tensor:
        self.given = x.detach().clone()
        return torch.full_like(x, self.number)
