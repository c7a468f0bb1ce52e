"""Modules and factories that the student process makes, as arguments where an exercise takes one.

An exercise that takes a module is tested on these, so that no exercise depends on another's answer. They stand
on the student's side: none of them may contain anything that an exercise asks for.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import nn


class Holder(nn.Module):
    """Holds tensors, as parameters, and modules under the names they are given by; its forward mixes them.

    Who hands it in says what it holds, so that it is no answer to anything. x (…, d_in) to the sum, over what it
    holds, of n·y + y², where y is x @ tensor or module(x) and n counts from one: each has a part of its own.
    """

    def __init__(self, **members: torch.Tensor | nn.Module) -> None:
        super().__init__()
        self.names = tuple(members)
        for name, member in members.items():
            setattr(self, name, nn.Parameter(member) if isinstance(member, torch.Tensor) else member)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Return the sum of n·y + y² over what it holds."""
        members = (getattr(self, name) for name in self.names)
        parts = [x @ member if isinstance(member, torch.Tensor) else member(x) for member in members]
        return torch.stack([number * part + part * part for number, part in enumerate(parts, start=1)]).sum(dim=0)


class TokenMixer(nn.Module):
    """(B, T, C) to the same shape: each token becomes itself plus the mean over all tokens of its sequence."""

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Return each token plus the mean over all tokens."""
        return x + x.mean(dim=-2, keepdim=True)


class PositionWise(nn.Module):
    """(…, C) to the same shape, every position on its own: a square and a shift."""

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Return x² + 1."""
        return x * x + 1


class CountingFactory:
    """A callable without arguments that gives another module each time and counts how often it was asked.

    First those that it is made with, in order, and from then on a new PositionWise.
    """

    def __init__(self, *modules: nn.Module) -> None:
        self.modules = modules
        self.calls = 0

    def __call__(self) -> nn.Module:
        """Return the next module."""
        self.calls += 1
        return self.modules[self.calls - 1] if self.calls <= len(self.modules) else PositionWise()


BY_NAME: dict[str, type] = {kind.__name__: kind for kind in (Holder, TokenMixer, PositionWise, CountingFactory)}


def make(name: str, *arguments: Any, **options: Any) -> Any:
    """One of the kinds above, or one of torch.nn's own modules. Raises AttributeError for any other name."""
    kind = BY_NAME.get(name) or getattr(nn, name)
    return kind(*arguments, **options)
