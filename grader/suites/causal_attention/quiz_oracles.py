"""Unit 3: each number and shape of the quiz and the practice items, computed by torch itself."""

from __future__ import annotations

import torch
from torch.nn import functional


def the_second_row(w1: float, w2: float, w3: float, w4: float) -> float:
    """The logarithms of the weights are scores that have these weights; torch masks the scores."""
    scores = torch.tensor([w1, w2, w3, w4], dtype=torch.float64).log()
    return _causal_weights(scores.expand(4, 4))[1, 0].item()


def the_second_of_three(d_k: int, s1: float, s2: float, s3: float) -> float:
    scores = torch.tensor([s1, s2, s3], dtype=torch.float64) / d_k**0.5
    return _causal_weights(scores.expand(3, 3))[1, 0].item()


def _causal_weights(scores: torch.Tensor) -> torch.Tensor:
    """The weights that torch's own causal attention gives to (scaled) scores (T, T)."""
    identity = torch.eye(len(scores), dtype=scores.dtype)
    # Keys and values are the identity: scores are the queries themselves, and contexts the weights.
    return functional.scaled_dot_product_attention(
        scores[None], identity[None], identity[None], is_causal=True, scale=1
    )[0]


def shape_of_weights(B: int, T: int, d_in: int, d_out: int, context_length: int) -> tuple[int, ...]:
    queries, keys = (torch.nn.Linear(d_in, d_out)(torch.ones(B, T, d_in)) for _ in range(2))
    mask = torch.ones(context_length, context_length, dtype=torch.bool).triu(1)[:T, :T]
    weights = (torch.einsum("bqf,bkf->bqk", queries, keys)).masked_fill(mask, -torch.inf).softmax(-1)
    return tuple(functional.dropout(weights, 0.1).shape)


def sum_of_the_survivors(w1: float, w2: float, w3: float, p: float) -> float:
    """Draw with torch's own dropout until only the second of three weights is dropped."""
    weights = torch.tensor([w1, w2, w3], dtype=torch.float64)
    with torch.random.fork_rng():
        torch.manual_seed(0)
        while True:
            dropped = functional.dropout(weights, p)
            if (dropped == 0).tolist() == [False, True, False]:
                return dropped.sum().item()


def hidden_in_one_row(T: int, i: int) -> int:
    return int(torch.ones(T, T).triu(diagonal=1)[i].sum())


def a_cut_mask(L: int, T: int) -> tuple[int, ...]:
    return tuple(torch.ones(L, L).triu(diagonal=1)[:T, :T].shape)


def kept_on_average(n: int, p: float) -> float:
    """The mean of the binomial distribution."""
    return torch.distributions.Binomial(n, torch.tensor(1 - p, dtype=torch.float64)).mean.item()
