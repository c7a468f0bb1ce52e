"""Modules and factories that the student process makes, as arguments for exercises that take a module.

With these, the tests of such an exercise do not depend on the answer to another exercise. Student code can read them,
so none may contain anything that an exercise asks for.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import nn


class Holder(nn.Module):
    """Holds tensors (as parameters) and modules under the names of the arguments; its forward mixes them.

    Its members come from outside, so it is not an answer to any exercise. Maps x (…, d_in) to the sum of n·y + y² over
    its members, where y is x @ tensor or module(x) and n counts from 1, so that each member has a different effect.
    """

    def __init__(self, **members: torch.Tensor | nn.Module) -> None:
        super().__init__()
        self.names = tuple(members)
        for name, member in members.items():
            setattr(self, name, nn.Parameter(member) if isinstance(member, torch.Tensor) else member)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Return the sum of n·y + y² over the members."""
        members = (getattr(self, name) for name in self.names)
        parts = [x @ member if isinstance(member, torch.Tensor) else member(x) for member in members]
        return torch.stack([number * part + part * part for number, part in enumerate(parts, start=1)]).sum(dim=0)


class TokenMixer(nn.Module):
    """Maps (B, T, C) to the same shape: adds to each token the mean over all tokens of its sequence."""

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Return each token plus the mean over all tokens."""
        return x + x.mean(dim=-2, keepdim=True)


class PositionWise(nn.Module):
    """Maps (…, C) to the same shape, each position independently: a square and a shift."""

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Return x² + 1."""
        return x * x + 1


class CountingFactory:
    """A callable without arguments that returns another module each time and counts its calls.

    First it returns its arguments in order, then a new PositionWise each time.
    """

    __module__, __qualname__ = "builtins", "function"  # what torch's errors call it: learners are given a function

    def __init__(self, *modules: nn.Module) -> None:
        self.modules = modules
        self.calls = 0

    def __call__(self) -> nn.Module:
        """Return the next module."""
        self.calls += 1
        return self.modules[self.calls - 1] if self.calls <= len(self.modules) else PositionWise()


BY_NAME: dict[str, type] = {kind.__name__: kind for kind in (Holder, TokenMixer, PositionWise, CountingFactory)}


def make(name: str, *arguments: Any, **options: Any) -> Any:
    """Make one of the kinds above, or a module of torch.nn. Raises AttributeError for any other name."""
    kind = BY_NAME.get(name) or getattr(nn, name)
    return kind(*arguments, **options)
