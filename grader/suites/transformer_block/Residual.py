"""Residual: hidden tests, known mistakes and right answers."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import torch
import torch.nn as nn

from grader.suites.transformer_block.shared import (
    ALL_DETACHED,
    CHANGED,
    FLOAT64,
    IN_FLOAT64,
    B,
    Bent,
    C,
    Constant,
    H,
    ModuleAndFunction,
    T,
    expect_exact_in_training,
    expect_gradients_of_registered,
    expect_registered,
    expect_x_left_alone,
    linear,
    linear_module,
    normalized_vectors,
    robust_calls,
    rotation_of_the_sum,
)
from grader.testing.checks import expect_close, expect_same, expect_tensor, expect_true, expect_values, oracle_gradients
from grader.testing.draws import Fresh
from grader.testing.misconceptions import mistake, replace
from grader.testing.probes import Draw, Property, call, has_parameters, probe
from grader.testing.student import RemoteObject, Student
from grader.testing.suite import contract, right_results, rule


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


@rule("the output is x plus sublayer(x), and nothing else is done to either of them")
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


@rule("the parameters of sublayer are parameters of this module")
def test_the_parameters_of_sublayer_are_found(student: Student, fresh: Fresh) -> None:
    """The weight and the bias of a given linear layer should be among the module's parameters."""
    weights = {"weight": fresh(C, C), "bias": fresh(C)}
    sublayer = linear_module(student, torch.zeros(C, C), torch.zeros(C))
    residual = residual_around(student, sublayer)
    sublayer.set(weights)  # a copy would not follow
    expect_registered(weights, residual.parameters(), "sublayer")


@rule("x may have any shape that sublayer keeps")
def test_x_of_any_shape(student: Student, fresh: Fresh) -> None:
    """A single vector, a text, a batch, and tensors of more dimensions should all keep their shape."""
    residual, expected = robust_residual(student, fresh)
    for shape in ((C,), (1, C), (T, C), (B, H, T, C)):
        x = normalized_vectors(fresh, *shape)
        expect_close(residual(x), expected(x), "The outputs")


@rule("gradients reach x on both paths, around sublayer and through it, and the parameters of sublayer")
def test_gradients_of_residual(student: Student, fresh: Fresh) -> None:
    """Gradients of the output should reach x on both paths, and the weight and the bias of sublayer."""
    x, weights = fresh(B, T, C), {"weight": fresh(C, C), "bias": fresh(C)}
    residual = residual_around(student, linear_module(student, **weights))
    expected = oracle_gradients(lambda x, weight, bias: x + linear(x, weight, bias), [x], weights)
    expect_gradients_of_registered(residual, x, weights, expected)


@rule("x is not changed, also if sublayer returns x itself")
def test_residual_leaves_x_alone(student: Student, fresh: Fresh) -> None:
    """The output should be correct, and the call should not change x, also if sublayer returns x itself."""
    residual, expected = robust_residual(student, fresh)
    x = normalized_vectors(fresh, B, T, C)
    expect_x_left_alone(residual, x, expected)
    _, [after] = expect_values(residual_around(student, student.make("Identity")).with_arguments(x), 2)
    expect_same(after, x, "x was changed if sublayer returns x itself.")


test_contract = contract(
    robust_calls(robust_residual, normalized_vectors),
    right_results("residual_in_float64", FLOAT64, IN_FLOAT64.format("module"), {"dtype": torch.float64}),
)


# -- misconceptions ------------------------------------------------------------------------------------------------

MISCONCEPTIONS = [
    mistake("x_not_added", replace("x + ", ""),
        "x is not added: the output is only the output of sublayer. Without the path around it, gradients must go "
        "through every module."),
    mistake("norm_before_sublayer", replace("sublayer(x)", "sublayer(nn.functional.layer_norm(x, x.shape[-1:]))"),
        "sublayer gets x after a layer norm. The block does that with its own norm. A residual connection alone is x "
        "+ sublayer(x)."),
    mistake("norm_after_the_sum",
        replace("x + self.sublayer(x)", "nn.functional.layer_norm(x + self.sublayer(x), x.shape[-1:])"),
        "The sum goes through a layer norm. The path around sublayer should contain nothing else: only x + "
        "sublayer(x)."),
    mistake("other_arguments_in_residual", replace("sublayer: nn.Module", "sublayer: nn.Module, emb_dim: int"),
        "The residual cannot be made, because a call got other arguments than it takes. It takes only the module, "
        "and needs no width: there is no norm in it."),
    mistake("relu_after_the_sum", replace("x + self.sublayer(x)", "torch.relu(x + self.sublayer(x))"),
        "The sum goes through ReLU, as in the first residual networks for images. In a transformer the sum is not "
        "changed, so that it can be negative too."),
    mistake("output_added_to_itself",
        replace("return ", "x = self.sublayer(x)\n        return ")
        .replace("return x + self.sublayer(x)", "return x + x"),
        "sublayer's output is added to itself, and x is not in the sum. Store x before you overwrite it."),
    mistake("dropout_in_residual",
        replace("self.sublayer(x)", "nn.functional.dropout(self.sublayer(x), 0.1, self.training)"),
        "In training there is a dropout in here. The output should be x + sublayer(x), also in training."),
    mistake("sublayer_hidden", replace("= sublayer", "= (sublayer,)").replace("sublayer(x)", "sublayer[0](x)"),
        "sublayer is in a list, a tuple or a function, so its parameters are not found. Make the module itself an "
        "attribute: self.sublayer = sublayer."),
    mistake("squeezed", replace("x + self.sublayer(x)", "(x + self.sublayer(x)).squeeze()"),
        "`squeeze()` removes every dimension of size one, so a text of a single token loses its shape. Keep the "
        "shape."),
    mistake("residual_detached", replace("x + self.sublayer(x)", "(x + self.sublayer(x)).detach()"), ALL_DETACHED),
    mistake("x_made_float32_in_residual", replace("return ", "x = x.float()\n        return "),
        "x is made float32, so it does not match a float64 sublayer. Keep the dtype of x."),
    mistake("added_to_x_in_place",
        replace("return ", "x += self.sublayer(x)\n        return ").replace("return x + self.sublayer(x)", "return x"),
        CHANGED),
    mistake("x_added_to_the_output_in_place", replace("x + self.sublayer(x)", "self.sublayer(x).add_(x)"),
        "x is added in place to the output of sublayer. If sublayer returns x itself, as nn.Identity does, that "
        "changes the caller's x: write x + sublayer(x)."),
]  # fmt: skip


# -- probes --------------------------------------------------------------------------------------------------------


@probe()
def sum_with_a_sublayer(unit: Any, draw: Draw) -> Iterator[Property]:
    shape = draw.sizes(draw.size(1, 4))
    sublayer = draw.pick(Bent(shape[-1], draw), Bent(shape[-1], draw), nn.Identity(), Constant(2.0))
    module = unit.Residual(sublayer)
    yield "whether it has the sublayer's parameters", has_parameters(module, sublayer.parameters())
    module.to(draw.dtype).train(draw.chance(0.5))
    yield from call(module, draw.normal(*shape), parameters=dict(sublayer.named_parameters()))


# -- answers -------------------------------------------------------------------------------------------------------


def wrong_answers():
    """Mistakes without a name. Never run here: the audit reads them."""

    class _Keeps(nn.Module):
        """Keeps sublayer, and nothing else."""

        def __init__(self, sublayer):
            super().__init__()
            self.sublayer = sublayer

    class scaled_by_the_root_of_a_half(_Keeps):
        def forward(self, x):
            return (x + self.sublayer(x)) * 0.5**0.5

    class x_subtracted(_Keeps):
        def forward(self, x):
            return self.sublayer(x) - x

    class the_larger_of_the_two(_Keeps):
        def forward(self, x):
            return torch.maximum(x, self.sublayer(x))

    class sublayer_of_the_sum(_Keeps):
        def forward(self, x):
            return self.sublayer(x + self.sublayer(x))

    class relu_on_what_is_added(_Keeps):
        def forward(self, x):
            return x + torch.relu(self.sublayer(x))

    class base_class_not_initialized(nn.Module):
        def __init__(self, sublayer):
            self.sublayer = sublayer

    class sublayer_not_called(_Keeps):
        def forward(self, x):
            return x + self.sublayer

    class the_weight_of_sublayer_added(_Keeps):
        def forward(self, x):
            return x + self.sublayer.weight


def right_answers():
    """Answers in other styles. Never run here: the audit reads them."""

    class by_hand(nn.Module):
        def __init__(self, sublayer):
            super().__init__()
            self.add_module("inner", sublayer)

        def forward(self, x):
            copy = x.clone()
            copy += self.inner(x)
            return copy

    class by_the_book(nn.Module):
        def __init__(self, sublayer):
            super().__init__()
            self.fn = sublayer

        def forward(self, x):
            shortcut = x
            x = self.fn(x)
            return x + shortcut

    class functional(nn.Module):
        def __init__(self, sublayer: nn.Module):
            super().__init__()
            self.sublayer = sublayer

        def forward(self, x, *arguments):
            return torch.stack([x, self.sublayer(x, *arguments)]).sum(0)

    class ready_made(nn.Sequential):
        def forward(self, x):
            return torch.add(x, super().forward(x))
