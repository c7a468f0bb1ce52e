"""Loops over texts, tokens and features in float64. Padding is removed before anything is computed."""

import math

import torch
from torch import nn


def rnn_hidden_states(inputs, W_x, W_h, bias):
    d, h = W_x.shape
    before = [torch.zeros((), dtype=torch.float64) for _ in range(h)]
    rows = []
    for x in inputs.double():
        after = []
        for j in range(h):
            total = bias[j].double()
            for i in range(d):
                total = total + x[i] * W_x[i, j]
            for i in range(h):
                total = total + before[i] * W_h[i, j]
            after.append(torch.tanh(total))
        rows.append(torch.stack(after))
        before = after
    return torch.stack(rows).to(inputs.dtype)


def additive_scores(decoder_state, encoder_states, W_decoder, W_encoder, v):
    scores = []
    for t in range(len(encoder_states)):
        score = 0
        for j in range(len(v)):
            query = torch.dot(decoder_state, W_decoder[:, j])
            key = torch.dot(encoder_states[t], W_encoder[:, j])
            score = score + v[j] * torch.tanh(query + key)
        scores.append(score)
    return torch.stack(scores)


def bahdanau_context(decoder_state, encoder_states, W_decoder, W_encoder, v):
    scores = additive_scores(decoder_state, encoder_states, W_decoder, W_encoder, v).double()
    exponentials = [torch.exp(score - scores.max()) for score in scores]
    weights = [(e / sum(exponentials)).to(encoder_states.dtype) for e in exponentials]
    context = sum(weight * state for weight, state in zip(weights, encoder_states, strict=True))
    return [context, torch.stack(weights)]


class CrossAttention(nn.Module):
    def __init__(self, d_query, d_context, d_out):
        super(CrossAttention, self).__init__()
        self.W_value = nn.Linear(d_context, d_out, bias=False)
        self.W_key = nn.Linear(d_context, d_out, bias=False)
        self.W_query = nn.Linear(d_query, d_out, bias=False)

    def forward(self, x, context, padding_mask=None):
        texts = []
        for b in range(len(x)):
            seen = [j for j in range(context.shape[1]) if padding_mask is None or not padding_mask[b, j]]
            keys = [self.W_key(context[b, j]) for j in seen]
            values = [self.W_value(context[b, j]) for j in seen]
            outputs = []
            for token in x[b]:
                query = self.W_query(token)
                scores = [torch.dot(query, key) / math.sqrt(len(query)) for key in keys]
                weights = torch.softmax(torch.stack(scores), dim=0)
                outputs.append(sum(weight * value for weight, value in zip(weights, values, strict=True)))
            texts.append(torch.stack(outputs))
        return torch.stack(texts)
