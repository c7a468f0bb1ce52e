"""Pairs of unit 8: answers with two of the misconceptions at once. Their names have both."""

import torch
from torch import nn


class _Layers(nn.Module):
    def __init__(self, d_query, d_context, d_out):
        super().__init__()
        self.W_query = nn.Linear(d_query, d_out, bias=False)
        self.W_key = nn.Linear(d_context, d_out, bias=False)
        self.W_value = nn.Linear(d_context, d_out, bias=False)

    def weights(self, queries, keys, padding_mask):
        scores = queries @ keys.transpose(1, 2) / keys.shape[-1] ** 0.5
        if padding_mask is not None:
            scores = scores.masked_fill(padding_mask[:, None, :], -torch.inf)
        return torch.softmax(scores, dim=-1)


# -- rnn_hidden_states -------------------------------------------------------------------------------------------------


def relu_for_tanh__and__bias_forgotten(inputs, W_x, W_h, bias):
    state, states = torch.zeros_like(bias), []
    for token in inputs:
        state = torch.relu(token @ W_x + state @ W_h)
        states.append(state)
    return torch.stack(states)


# -- additive_scores ---------------------------------------------------------------------------------------------------


def additive_without_tanh__and__matrices_exchanged(decoder_state, encoder_states, W_decoder, W_encoder, v):
    return (decoder_state @ W_encoder + encoder_states @ W_decoder) @ v


# -- bahdanau_context --------------------------------------------------------------------------------------------------


def additive_scores(decoder_state, encoder_states, W_decoder, W_encoder, v):
    return torch.tanh(decoder_state @ W_decoder + encoder_states @ W_encoder) @ v


def additive_scores_scaled_by_a__and__projections_mixed(decoder_state, encoder_states, W_decoder, W_encoder, v):
    e = additive_scores(decoder_state, encoder_states, W_decoder, W_encoder, v)
    weights = torch.softmax(e / v.shape[0] ** 0.5, dim=0)
    context = weights @ (encoder_states @ W_encoder)
    return context, weights


def last_state_as_the_context__and__dot_products_in_context(decoder_state, encoder_states, W_decoder, W_encoder, v):
    weights = torch.softmax(encoder_states @ decoder_state, dim=0)
    return encoder_states[-1], weights


# -- CrossAttention ----------------------------------------------------------------------------------------------------


class keys_handed_over__and__layers_with_bias(nn.Module):
    def __init__(self, d_query, d_context, d_out):
        super().__init__()
        self.W_query = nn.Linear(d_query, d_out)
        self.W_key = nn.Linear(d_context, d_out)
        self.W_value = nn.Linear(d_context, d_out)

    def forward(self, x, context, padding_mask=None):
        queries = self.W_query(x)
        keys = self.W_key(context)
        values = self.W_key(context)
        scores = queries @ keys.transpose(1, 2)
        if padding_mask is not None:
            scores = scores.masked_fill(padding_mask.unsqueeze(1), -torch.inf)
        weights = torch.softmax(scores / keys.shape[-1] ** 0.5, dim=-1)
        return weights @ values


class scaling_forgotten__and__mask_without_effect(_Layers):
    def forward(self, x, context, padding_mask=None):
        weights = torch.softmax(self.W_query(x) @ self.W_key(context).transpose(1, 2), dim=-1)
        return weights @ self.W_value(context)
