"""Unit 6: each number and shape of the quiz and the practice items, computed by torch itself."""

from __future__ import annotations

import torch
from torch import nn


def trained_table(e: int, a: int, o: int) -> float:
    """Train the row of `h` by gradient descent."""
    logits = torch.zeros(3, dtype=torch.float64, requires_grad=True)
    counts = torch.tensor([e, a, o], dtype=torch.float64)
    for _ in range(300):
        loss = nn.functional.cross_entropy(logits, counts / counts.sum())
        (gradient,) = torch.autograd.grad(loss, logits)
        logits = (logits - 2 * gradient).detach().requires_grad_()
    return (logits[0] - logits[1]).item()


def batch_loss(B: int, T: int, total: float) -> float:
    """The mean of losses that have this total: the scale of the logits is found by bisection."""
    logits = torch.randn(B, T, 5, dtype=torch.float64, generator=torch.Generator().manual_seed(0)).flatten(0, 1)
    targets = logits.argmin(-1)  # the worst token of each position, so that the loss grows with the scale
    low, high = 0.0, 100.0
    for _ in range(60):
        scale = (low + high) / 2
        low, high = (
            (scale, high)
            if nn.functional.cross_entropy(scale * logits, targets, reduction="sum") < total
            else (low, scale)
        )
    return nn.functional.cross_entropy(low * logits, targets).item()


def edges(B: int, T: int) -> int:
    """Count the pairs with a weight, over all sequences of the batch."""
    scores = torch.zeros(B, T, T).masked_fill(torch.ones(T, T, dtype=torch.bool).triu(1), float("-inf"))
    return int((scores.softmax(-1) > 0).sum())


def one_raised_score(x: list[int], k: int) -> float:
    scores = torch.tensor([1, 1, k, 0], dtype=torch.float64).log()  # ln 1 = 0, ln 0 = -inf
    return (scores.softmax(-1) @ torch.tensor(x, dtype=torch.float64)).item()


def logits_in_a_later_call(B: int, T: int, V: int, call: int) -> tuple[int, ...]:
    """Generate with a real table, and look at the logits of this call."""
    table, idx = nn.Embedding(V, V), torch.zeros(B, T, dtype=torch.long)
    logits = table(idx)
    for _ in range(call - 1):
        idx = torch.cat([idx, logits[:, -1].argmax(-1, keepdim=True)], dim=1)
        logits = table(idx)
    return tuple(logits.shape)


def size_of_a_vocabulary(text: str) -> int:
    return torch.tensor(list(map(ord, text))).unique().numel()


def id_of_a_letter(text: str, letter: str) -> int:
    """`unique` sorts, as `sorted` does."""
    return torch.tensor(list(map(ord, text))).unique().tolist().index(ord(letter))


def possible_starts(N: int, T: int) -> int:
    """Each window holds a piece and the target of its last id."""
    return torch.arange(N).unfold(0, T + 1, 1).shape[0]


def flat_logits(B: int, T: int, V: int) -> tuple[int, ...]:
    return tuple(torch.zeros(B, T, V).flatten(0, 1).shape)


def loss_of_one_character(p: float) -> float:
    logits = torch.tensor([[p, 1 - p]], dtype=torch.float64).log()
    return nn.functional.cross_entropy(logits, torch.tensor([0])).item()
