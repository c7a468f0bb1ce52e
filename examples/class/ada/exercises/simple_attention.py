from collections.abc import Sequence

import torch


def dot_product(a: Sequence[float] | torch.Tensor, b: Sequence[float] | torch.Tensor) -> float | torch.Tensor:
    if len(a) != len(b):
        raise ValueError("the two vectors should have the same length")
    result = 0
    for i in range(len(a)):
        result = result + a[i] * b[i]
    return result


def attention_scores(query: torch.Tensor, inputs: torch.Tensor) -> torch.Tensor:
    return inputs @ query


def normalize_by_sum(scores: torch.Tensor) -> torch.Tensor:
    return scores / scores.sum()


def softmax_naive(x: torch.Tensor, dim: int = -1) -> torch.Tensor:
    e = torch.exp(x)
    return e / e.sum(dim=dim, keepdim=True)


def softmax_stable(x: torch.Tensor, dim: int = -1) -> torch.Tensor:
    e = torch.exp(x - x.max(dim=dim, keepdim=True).values)
    return e / e.sum(dim=dim, keepdim=True)


def context_vector(weights: torch.Tensor, inputs: torch.Tensor) -> torch.Tensor:
    return weights @ inputs


def simple_self_attention(inputs: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    scores = inputs @ inputs.T
    weights = softmax_stable(scores, dim=-1)
    contexts = weights @ inputs
    return contexts, weights
