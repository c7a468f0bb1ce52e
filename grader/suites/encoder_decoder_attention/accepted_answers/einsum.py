"""einsum, an additive mask, recursion for the states, and type hints, prints, warnings and extra attributes."""

import math
import warnings
from typing import Optional

import torch
import torch.nn as nn

print("encoder and decoder with einsum, loaded")
warnings.warn("einsum is slower on this machine", stacklevel=1)


def rnn_hidden_states(
    inputs: torch.Tensor, W_x: torch.Tensor, W_h: torch.Tensor, bias: torch.Tensor
) -> torch.Tensor:
    if len(inputs) == 0:
        return inputs.new_zeros(0, len(bias))
    earlier = rnn_hidden_states(inputs[:-1], W_x, W_h, bias)
    before = earlier[-1] if len(earlier) else torch.zeros_like(bias)
    last = torch.einsum("d,dh->h", inputs[-1], W_x) + torch.einsum("g,gh->h", before, W_h) + bias
    return torch.cat([earlier, last.tanh()[None]], dim=0)


def additive_scores(
    decoder_state: torch.Tensor,
    encoder_states: torch.Tensor,
    W_decoder: torch.Tensor,
    W_encoder: torch.Tensor,
    v: torch.Tensor,
) -> torch.Tensor:
    queries = torch.einsum("h,ha->a", decoder_state, W_decoder)
    keys = torch.einsum("th,ha->ta", encoder_states, W_encoder)
    print("keys", tuple(keys.shape))
    return torch.einsum("a,ta->t", v, torch.tanh(queries[None] + keys))


def bahdanau_context(decoder_state, encoder_states, W_decoder, W_encoder, v):
    weights = nn.functional.softmax(additive_scores(decoder_state, encoder_states, W_decoder, W_encoder, v), dim=-1)
    return torch.einsum("t,th->h", weights, encoder_states), weights


class CrossAttention(nn.Module):
    def __init__(self, d_query: int, d_context: int, d_out: int) -> None:
        super().__init__()
        self.d_query, self.d_context, self.d_out = d_query, d_context, d_out
        self.W_query = nn.Linear(d_query, d_out, False)
        self.W_key, self.W_value = (nn.Linear(d_context, d_out, False) for _ in range(2))
        self.register_buffer("calls", torch.zeros(()))
        self.unused = nn.Linear(2, 2)

    def forward(
        self, x: torch.Tensor, context: torch.Tensor, padding_mask: Optional[torch.Tensor] = None
    ) -> torch.Tensor:
        self.calls += 1
        queries, keys, values = self.W_query(x), self.W_key(context), self.W_value(context)
        scores = torch.einsum("bqd,bkd->bqk", queries, keys) / math.sqrt(self.d_out)
        if padding_mask is not None:
            scores = scores + padding_mask[:, None, :].to(scores.dtype) * -1e9
        self.last_weights = torch.softmax(scores, dim=2)
        return torch.einsum("bqk,bkd->bqd", self.last_weights, values)
