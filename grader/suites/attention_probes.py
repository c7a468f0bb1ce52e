"""Properties of attention modules that the probes of several units share: masks, and weights after dropout."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import torch
from torch import Tensor, nn

from grader.testing.probes import Property, alike, set_to, shares


def parameters_of_length(module: nn.Module, length: int) -> Iterator[Property]:
    """Yield whether a parameter has a dimension of this length, as a mask would."""
    yield "a mask among the parameters", any(length in parameter.shape for parameter in module.parameters())


def one_hot_at_low_scores(module: Any, names: Sequence[str], num_tokens: int) -> Tensor:
    """Set the layers so that every scaled score is -10,000, and each value is the token itself.

    Args:
        module: A module of attention from T features to T; it is cast to float64.
        names: The names of the query, key and value layers, each (T, T).
        num_tokens: T.

    Returns:
        The one-hot text (1, T, T) with these scores, in float64.
    """
    eye = torch.eye(num_tokens, dtype=torch.float64)
    rows = torch.zeros_like(eye)
    rows[0] = 100 * num_tokens**0.25  # its square is 10,000 times the square root of the width
    module.to(torch.float64).eval()
    for name, weight in zip(names, (rows, -rows, eye), strict=True):
        set_to(getattr(module, name).weight, weight)
    return eye[None]


def is_seen(weights: Tensor) -> bool:
    """Return whether any of these weights is larger than a rounding error."""
    return bool((weights > 0.01).any())


def causal_at_low_scores(module: Any, names: Sequence[str], num_tokens: int) -> Iterator[Property]:
    """Yield whether causal attention gives weight to later tokens beside low scores, and to tokens with scores of 0."""
    text = one_hot_at_low_scores(module, names, num_tokens)
    weights = module(text)  # (1, T, T)
    yield "whether later tokens have weight beside low scores", is_seen(weights.triu(diagonal=1))
    yield "whether a score of zero has weight", bool(module(torch.zeros_like(text)).isfinite().all())


def unit_values(num_tokens: int, heads: int = 1) -> Tensor:
    """Return a value weight (heads · 2 · T, T) that maps each one-hot token to its unit vector, then twice that.

    With it the outputs of attention are its weights, followed by the doubled weights.
    """
    unit = torch.eye(num_tokens)
    return torch.cat([unit, 2 * unit] * heads)


def one_hot_texts(num_texts: int, num_tokens: int) -> Tensor:
    """Return the inputs for unit_values, (B, T, T)."""
    return torch.eye(num_tokens).expand(num_texts, -1, -1).contiguous()


def dropped_weights(module: nn.Module, inputs: Tensor, dropout: float, heads: int = 1) -> Iterator[Property]:
    """Yield which weights training drops in causal attention with unit_values, and how it scales the others."""
    texts, num_tokens, _ = inputs.shape
    shape = (texts, num_tokens, heads, 2, num_tokens)
    whole = module.eval()(inputs).detach().reshape(shape)  # (B, T, H · 2 · T) -> (B, T, H, 2, T)
    found = module.train()(inputs).detach().reshape(shape)
    yield "whether all features of a value are dropped together", alike(found[..., 1, :], 2 * found[..., 0, :])
    scaled, found = whole[..., 0, :] / (1 - dropout), found[..., 0, :]  # (B, T, H, T)
    kept = found.abs() > scaled / 2
    yield "whether a weight is zero or scaled", alike(found, scaled * kept)
    seen = torch.ones(num_tokens, num_tokens, dtype=torch.bool).tril()  # (query, key)
    yield from shares(kept.transpose(2, 3)[:, seen].flatten(1))  # (B, T, T, H) -> (B, pairs, H) -> (B, pairs · H)
    yield "the values after training", module.eval()(inputs)
