import torch
from torch import nn


def rnn_hidden_states(inputs, W_x, W_h, bias):
    state = torch.zeros(W_h.shape[0], dtype=inputs.dtype)
    states = []
    for x in inputs:
        state = torch.tanh(x @ W_x + state @ W_h + bias)
        states.append(state)
    return torch.stack(states)


def additive_scores(decoder_state, encoder_states, W_decoder, W_encoder, v):
    return torch.tanh(decoder_state @ W_decoder + encoder_states @ W_encoder) @ v


def bahdanau_context(decoder_state, encoder_states, W_decoder, W_encoder, v):
    scores = additive_scores(decoder_state, encoder_states, W_decoder, W_encoder, v)
    weights = torch.softmax(scores, dim=-1)
    return weights @ encoder_states, weights


class CrossAttention(nn.Module):
    def __init__(self, d_query, d_context, d_out):
        super().__init__()
        self.W_query = nn.Linear(d_query, d_out, bias=False)
        self.W_key = nn.Linear(d_context, d_out, bias=False)
        self.W_value = nn.Linear(d_context, d_out, bias=False)

    def forward(self, x, context, padding_mask=None):
        queries = self.W_query(x)
        keys = self.W_key(context)
        values = self.W_value(context)
        scores = queries @ keys.transpose(1, 2) / keys.shape[-1] ** 0.5
        if padding_mask is not None:
            scores = scores.masked_fill(padding_mask.unsqueeze(1), -torch.inf)
        return torch.softmax(scores, dim=-1) @ values
