"""Unit 1: each number and shape of the quiz and the practice items, computed by torch itself."""

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


def dot_by_hand(a: list[int], b: list[int]) -> int:
    return int(torch.tensor(a) @ torch.tensor(b))


def shape_of_the_scores(T: int, d: int) -> tuple[int, ...]:
    return tuple((torch.zeros(T, d) @ torch.zeros(d)).shape)


def sum_with_keepdim(T: int, d: int) -> tuple[int, ...]:
    return tuple(torch.zeros(T, d).exp().sum(dim=0, keepdim=True).shape)


def mix_of_three(w1: float, w2: float, w3: float, x1: float, x2: float, x3: float) -> float:
    """Normalised weights would change nothing, because they sum to one."""
    weights = torch.tensor([w1, w2, w3], dtype=torch.float64)
    return float(weights / weights.sum() @ torch.tensor([x1, x2, x3], dtype=torch.float64))
