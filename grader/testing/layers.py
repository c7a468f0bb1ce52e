"""Checks and sets the linear layers of a module by their names."""

from __future__ import annotations

from typing import TYPE_CHECKING

from grader.testing.checks import expect_true

if TYPE_CHECKING:
    from collections.abc import Iterable

    import torch

    from grader.testing.student import RemoteObject

# By the names of a module's parameters.
Weights = dict[str, "torch.Tensor"]


def no_parameter(name: str) -> str:
    """Return what a student reads if a layer's parameter is missing."""
    return f"There is no parameter {name} of its own, which nn.Linear would have under this name."


def expect_layer(parameters: Weights, name: str, d_in: int, d_out: int) -> None:
    """Expect a linear layer of this name from d_in to d_out."""
    expect_true(f"{name}.weight" in parameters, no_parameter(f"{name}.weight"))
    expect_shape(parameters[f"{name}.weight"], (d_out, d_in))


def expect_shape(parameter: torch.Tensor, shape: tuple[int, ...]) -> None:
    """Expect a parameter of this shape. Its initial values are random and not checked."""
    found = tuple(parameter.shape)
    expect_true(found == shape, f"A layer's parameter has the wrong shape: {found}.")


def expect_no_bias(parameters: Weights, names: Iterable[str]) -> None:
    """Expect layers of these names, and none with a bias."""
    for name in names:
        expect_true(f"{name}.weight" in parameters, no_parameter(f"{name}.weight"))
        expect_true(f"{name}.bias" not in parameters, f"{name} has a bias.")


def set_layers(module: RemoteObject, weights: Weights, optional: Weights | None = None) -> None:
    """Set the weights and biases of layers, and those of optional ones that the module has.

    An unwanted bias fails a criterion of its own. It is set to zero here, so that it fails no other.
    """
    biases = [name.removesuffix("weight") + "bias" for name in weights if name.endswith("weight")]
    module.set(weights, optional={**dict.fromkeys(biases, 0.0), **(optional or {})})


def as_layers(matrices: Weights) -> Weights:
    """Return the weights (d_out, d_in) of layers whose matrices (d_in, d_out) are given by the layers' names."""
    return {f"{name}.weight": matrix.mT for name, matrix in matrices.items()}
