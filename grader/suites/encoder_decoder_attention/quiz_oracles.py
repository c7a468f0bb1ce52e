"""Unit 8: each answer of the quiz and the practice items, computed by the layers and operations of its question."""

from __future__ import annotations

import math

import torch
from torch import nn


def fading_echo(x_1: float, W_h: float) -> float:
    rnn = nn.RNN(1, 1, bias=False).double()
    rnn.load_state_dict({"weight_ih_l0": torch.tensor([[1.0]]), "weight_hh_l0": torch.tensor([[W_h]])})
    states, _ = rnn(torch.tensor([[x_1], [0], [0]], dtype=torch.float64))  # (T, 1)
    return states[2, 0].item()


def context_and_padding(k: int, first: int, second: int, third: int) -> float:
    scores = torch.tensor([0, math.log(k), 9], dtype=torch.float64)
    weights = scores.masked_fill(torch.tensor([False, False, True]), -torch.inf).softmax(dim=0)
    return (weights @ torch.tensor([first, second, third], dtype=torch.float64)).item()


def shape_of_cross_attention(B: int, T_q: int, T_k: int, d_query: int, d_context: int, d_out: int) -> tuple[int, ...]:
    queries = nn.Linear(d_query, d_out)(torch.zeros(B, T_q, d_query))
    keys = nn.Linear(d_context, d_out)(torch.zeros(B, T_k, d_context))
    return tuple((queries @ keys.transpose(-2, -1)).shape)


def shape_of_all_states(T: int, d: int, h: int) -> tuple[int, ...]:
    return tuple(nn.RNN(d, h)(torch.zeros(T, d))[0].shape)


def parameters_of_an_rnn(d: int, h: int) -> int:
    """Torch's RNN has two biases, of which one is enough."""
    rnn = nn.RNN(d, h)
    return sum(parameter.numel() for name, parameter in rnn.named_parameters() if name != "bias_hh_l0")


def one_additive_score(s: float, h: float, w_d: float, w_e: float, v: float) -> float:
    state, weights = torch.tensor([s, h], dtype=torch.float64), torch.tensor([w_d, w_e], dtype=torch.float64)
    return (v * torch.tanh(state @ weights)).item()


def shape_of_the_keys(B: int, T_q: int, T_k: int, d_query: int, d_context: int, d_out: int) -> tuple[int, ...]:
    keys = nn.Linear(d_context, d_out)(torch.zeros(B, T_k, d_context))
    queries = nn.Linear(d_query, d_out)(torch.zeros(B, T_q, d_query))
    assert (queries @ keys.mT).shape == (B, T_q, T_k)
    return tuple(keys.shape)
