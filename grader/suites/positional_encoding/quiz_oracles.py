"""Unit 5: each answer of the quiz and the practice items, computed by the layers and operations of its question."""

from __future__ import annotations

import cmath

import torch
from torch import nn


def score_with_positions(
    first_word: list[int], second_word: list[int], first_place: list[int], second_place: list[int]
) -> float:
    inputs = torch.tensor([first_word, second_word]) + torch.tensor([first_place, second_place])  # (2, d)
    return (inputs @ inputs.T)[0, 1].item()


def shape_of_the_sum(B: int, T: int, V: int, L: int, d: int) -> tuple[int, ...]:
    ids = torch.zeros(B, T, dtype=torch.long)
    return tuple((nn.Embedding(V, d)(ids) + nn.Embedding(L, d)(torch.arange(T))).shape)


def two_tables(V: int, L: int, d: int) -> int:
    embeddings = nn.ModuleList([nn.Embedding(V, d), nn.Embedding(L, d)])
    return sum(parameter.numel() for parameter in embeddings.parameters())


def one_entry(d: int, pos: int, feature: int) -> float:
    hand = cmath.exp(1j * pos * 1e4 ** -(feature // 2 / (d // 2)))  # the pair as a clock's hand: cosine + i · sine
    return hand.real if feature % 2 else hand.imag


def column_of_the_cosine(d: int, i: int) -> int:
    """At position 0 every cosine is 1 and every sine is 0."""
    columns = torch.stack([torch.zeros(d // 2), torch.ones(d // 2)], dim=1).flatten()
    return int(columns.nonzero()[i])


def shape_of_the_angles(T: int, d: int) -> tuple[int, ...]:
    return tuple((torch.arange(T)[:, None] / 10000 ** (torch.arange(0, d, 2) / d)).shape)


def squared_length(d: int, pos: int) -> float:
    hands = [cmath.exp(1j * pos / 10000 ** (2 * i / d)) for i in range(d // 2)]
    return round(sum(hand.real**2 + hand.imag**2 for hand in hands), 12)


def weight_plus_bias(x: list[int], w: list[int], b: int) -> int:
    return int(nn.functional.linear(torch.tensor([x]), torch.tensor([w]), torch.tensor([b])))
