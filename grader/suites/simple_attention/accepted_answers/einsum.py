"""einsum throughout, with prints and warnings left in, and more arguments and type hints than required."""

import math
import warnings

import torch

print("attention with einsum, loaded")
warnings.warn("einsum is slower on this machine", stacklevel=1)


def dot_product(a, b, verbose: bool = False) -> float:
    """In float64, whatever comes."""
    if not len(a) == len(b):
        raise ValueError(f"{len(a)} numbers against {len(b)}")
    if len(a) == 0:
        return 0.0
    first, second = torch.as_tensor(a, dtype=torch.float64), torch.as_tensor(b, dtype=torch.float64)
    result = torch.einsum("i,i", first, second).item()
    print("dot product", result)
    return result


def attention_scores(query: torch.Tensor, inputs: torch.Tensor) -> torch.Tensor:
    return torch.einsum("d,td->t", query, inputs)


def normalize_by_sum(scores: torch.Tensor) -> torch.Tensor:
    return torch.einsum("t,->t", scores, 1 / scores.sum())


def softmax_naive(x: torch.Tensor, dim: int = -1) -> torch.Tensor:
    e = math.e**x
    return e * e.sum(dim, keepdim=True) ** -1


def softmax_stable(x: torch.Tensor, dim: int = -1) -> torch.Tensor:
    warnings.warn("large entries, perhaps", stacklevel=2)
    return (x - x.logsumexp(dim=dim, keepdim=True)).exp()


def context_vector(weights: torch.Tensor, inputs: torch.Tensor) -> torch.Tensor:
    return torch.einsum("t,td->d", weights, inputs)


def simple_self_attention(inputs: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    scores = torch.einsum("id,jd->ij", inputs, inputs)
    weights = softmax_naive(scores, dim=1)
    print("weights", weights.shape, weights.sum(dim=-1))
    return torch.einsum("ij,jd->id", weights, inputs), weights
