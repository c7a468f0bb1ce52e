"""One query at a time, with functions of unit 1. Padding gets the lowest possible score; matrices are concatenated."""

import torch
from simple_attention import attention_scores, context_vector, softmax_naive, softmax_stable
from torch import nn


def rnn_hidden_states(inputs, W_x, W_h, bias):
    # One matrix for the token, the state before it and a one that brings the bias.
    matrix = torch.cat([W_x, W_h, bias.unsqueeze(0)])  # (d + h + 1, h)
    states = [torch.zeros_like(bias)]
    for token in inputs:
        states.append(torch.tanh(torch.cat([token, states[-1], torch.ones_like(bias[:1])]) @ matrix))
    return torch.stack(states)[1:]


def additive_scores(decoder_state, encoder_states, W_decoder, W_encoder, v):
    # Both states side by side, against both matrices one above the other.
    pairs = torch.cat([decoder_state.expand_as(encoder_states), encoder_states], dim=1)  # (T, 2 · h)
    return torch.sum(torch.tanh(pairs @ torch.cat([W_decoder, W_encoder])) * v, dim=1)


def bahdanau_context(decoder_state, encoder_states, W_decoder, W_encoder, v):
    scores = additive_scores(decoder_state, encoder_states, W_decoder, W_encoder, v)
    weights = softmax_naive(scores)
    return (weights.unsqueeze(1) * encoder_states).sum(0), weights


class CrossAttention(nn.Module):
    def __init__(self, d_query, d_context, d_out):
        super().__init__()
        self.W_query = nn.Linear(d_query, d_out, bias=False)
        self.W_key = nn.Linear(d_context, d_out, bias=False)
        self.W_value = nn.Linear(d_context, d_out, bias=False)

    def forward(self, x, context, padding_mask=None):
        if padding_mask is None:
            padding_mask = torch.zeros(context.shape[:2]).bool()
        queries, keys, values = self.W_query(x) * self.W_query.out_features**-0.5, self.W_key(context), self.W_value(context)
        texts = []
        for b, row in enumerate(padding_mask):
            outputs = []
            for query in queries[b]:
                scores = attention_scores(query, keys[b])
                lowest = torch.full_like(scores, torch.finfo(scores.dtype).min)
                outputs.append(context_vector(softmax_stable(torch.where(row, lowest, scores)), values[b]))
            texts.append(torch.stack(outputs))
        return torch.stack(texts)
