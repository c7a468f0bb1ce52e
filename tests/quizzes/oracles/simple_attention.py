"""Unit 1: each number and shape of the quiz, computed by torch itself."""

from __future__ import annotations

import torch


def lead_for_a_ratio(ratio: float) -> float:
    """Bisect for the lead at which the two weights have this ratio."""
    low, high = 0.0, 100.0
    for _ in range(60):
        lead = (low + high) / 2
        larger, smaller = torch.softmax(torch.tensor([lead, 0.0], dtype=torch.float64), dim=0)
        low, high = (lead, high) if larger < ratio * smaller else (low, lead)
    return low


def two_large_scores(first: float, second: float) -> float:
    return torch.softmax(torch.tensor([first, second], dtype=torch.float64), dim=0)[0].item()


def context_from_scores(n: int, x1: float, x2: float, x3: float) -> float:
    weights = torch.softmax(torch.tensor([1, 1, n], dtype=torch.float64).log(), dim=0)  # ln 1 = 0
    return (weights @ torch.tensor([x1, x2, x3], dtype=torch.float64)).item()


def swapped_factors(T: int, d: int) -> tuple[int, ...]:
    inputs = torch.ones(T, d)
    return tuple((inputs.T @ inputs).shape)
