import torch
import torch.nn as nn


def rnn_hidden_states(inputs, W_x, W_h, bias):
    h = torch.zeros_like(bias)
    out = []
    for x in inputs:
        h = torch.tanh(x @ W_x + h @ W_h + bias)
        out.append(h)
    return torch.stack(out)


def additive_scores(decoder_state, encoder_states, W_decoder, W_encoder, v):
    return torch.stack([v @ torch.tanh(decoder_state @ W_decoder + h @ W_encoder) for h in encoder_states])


def bahdanau_context(decoder_state, encoder_states, W_decoder, W_encoder, v):
    weights = torch.softmax(additive_scores(decoder_state, encoder_states, W_decoder, W_encoder, v), 0)
    return (weights[:, None] * encoder_states).sum(0), weights


class CrossAttention(nn.Module):
    def __init__(self, d_query, d_context, d_out):
        super().__init__()
        self.W_query = nn.Linear(d_query, d_out, bias=False)
        self.W_key = nn.Linear(d_context, d_out, bias=False)
        self.W_value = nn.Linear(d_context, d_out, bias=False)

    def forward(self, x, context, padding_mask=None):
        s = self.W_query(x) @ self.W_key(context).mT / self.W_key.out_features**0.5
        if padding_mask is not None:
            s = s.masked_fill(padding_mask[:, None, :], float("-inf"))
        return s.softmax(-1) @ self.W_value(context)
