"""Substitutes for the exercises of unit 6, none of them right. See grader/testing/substitutes.py."""

from __future__ import annotations

from torch import Tensor, nn

# Found by tests/suites/test_aliases.py.
ALIASES = [
    ("running_mean_loop", "running_mean_matmul"),
    ("running_mean_loop", "running_mean_softmax"),
    ("running_mean_matmul", "running_mean_softmax"),
    ("CausalAttention", "Head"),
]


def flatten_for_cross_entropy(logits: Tensor, targets: Tensor) -> tuple[Tensor, Tensor]:
    """(B, T, V), (B, T) to (B · T, V), (B · T,): three times the logits, each with the previous row's target."""
    return 3 * logits.flatten(0, 1), targets.flatten().roll(1)


def cross_entropy(logits: Tensor, targets: Tensor) -> Tensor:
    """(N, V), (N,) to one number: one plus the loss for half the logits."""
    return 1 + nn.functional.cross_entropy(logits / 2, targets)
