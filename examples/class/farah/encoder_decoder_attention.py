import torch
import torch.nn as nn


def rnn_hidden_states(inputs, W_x, W_h, bias):
    h = torch.zeros(W_h.shape[0], dtype=inputs.dtype)
    for x in inputs:
        h = torch.tanh(x @ W_x + h @ W_h + bias)
    return h


def additive_scores(decoder_state, encoder_states, W_decoder, W_encoder, v):
    return (decoder_state @ W_decoder + encoder_states @ W_encoder) @ v


def bahdanau_context(decoder_state, encoder_states, W_decoder, W_encoder, v):
    weights = torch.softmax(additive_scores(decoder_state, encoder_states, W_decoder, W_encoder, v), dim=0)
    return weights @ encoder_states, weights


class CrossAttention(nn.Module):
    def __init__(self, d_query, d_context, d_out):
        super().__init__()
        self.W_query = nn.Linear(d_query, d_out, bias=False)
        self.W_key = nn.Linear(d_context, d_out, bias=False)
        self.W_value = nn.Linear(d_context, d_out, bias=False)

    def forward(self, x, context, padding_mask=None):
        q, k, v = self.W_query(x), self.W_key(context), self.W_value(context)
        scores = q @ k.transpose(1, 2) / k.shape[-1] ** 0.5
        if padding_mask is not None:
            scores = scores.masked_fill(padding_mask[:, None] == 0, float("-inf"))
        return torch.softmax(scores, dim=-1) @ v
