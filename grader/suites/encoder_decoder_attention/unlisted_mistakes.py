"""Unlisted mistakes of unit 8: wrong answers that are none of the misconceptions. The grader must not name them.

Those with the name of a misconception in front show it in code that takes another route. They must get its name.
"""

import torch
import torch.nn as nn
import torch.nn.functional as F

# -- rnn_hidden_states -------------------------------------------------------------------------------------------


def rnn_hidden_states__token_added_outside_the_tanh(inputs, W_x, W_h, bias):
    state, states = torch.zeros_like(bias), []
    for token in inputs:
        state = torch.tanh(state @ W_h + bias) + token @ W_x
        states.append(state)
    return torch.stack(states)


def rnn_hidden_states__half_of_the_old_state_kept(inputs, W_x, W_h, bias):
    state, states = torch.zeros_like(bias), []
    for token in inputs:
        state = 0.5 * state + 0.5 * torch.tanh(token @ W_x + state @ W_h + bias)
        states.append(state)
    return torch.stack(states)


def rnn_hidden_states__token_before_and_not_the_state(inputs, W_x, W_h, bias):
    projected = inputs @ W_x
    before = torch.cat([torch.zeros_like(projected[:1]), projected[:-1]])
    return torch.tanh(projected + before @ W_h + bias)


def rnn_hidden_states__starts_from_random_numbers(inputs, W_x, W_h, bias):
    state, states = torch.randn_like(bias), []
    for token in inputs:
        state = torch.tanh(token @ W_x + state @ W_h + bias)
        states.append(state)
    return torch.stack(states)


def rnn_hidden_states__weights_of_a_new_network(inputs, W_x, W_h, bias):
    states, _ = nn.RNN(*W_x.shape, dtype=inputs.dtype)(inputs)
    return states


def rnn_hidden_states__a_batch_of_one(inputs, W_x, W_h, bias):
    state, states = torch.zeros_like(bias), []
    for token in inputs:
        state = torch.tanh(token @ W_x + state @ W_h + bias)
        states.append(state)
    return torch.stack(states)[None]


def rnn_hidden_states__mean_of_the_states_so_far(inputs, W_x, W_h, bias):
    state, states = torch.zeros_like(bias), []
    for token in inputs:
        state = torch.tanh(token @ W_x + state @ W_h + bias)
        states.append(state)
        state = torch.stack(states).mean(0)
    return torch.stack(states)


def rnn_hidden_states__name_misspelt(inputs, W_x, W_h, bias):
    state, states = torch.zeros_like(bias), []
    for token in inputs:
        state = torch.tanh(token @ W_x + sate @ W_h + bias)  # noqa: F821
        states.append(state)
    return torch.stack(states)


# -- additive_scores ---------------------------------------------------------------------------------------------


def additive_scores__tanh_of_the_decoders_side_only(decoder_state, encoder_states, W_decoder, W_encoder, v):
    return (torch.tanh(decoder_state @ W_decoder) + encoder_states @ W_encoder) @ v


def additive_scores__sigmoid_for_tanh(decoder_state, encoder_states, W_decoder, W_encoder, v):
    return torch.sigmoid(decoder_state @ W_decoder + encoder_states @ W_encoder) @ v


def additive_scores__one_matrix_for_both(decoder_state, encoder_states, W_decoder, W_encoder, v):
    return torch.tanh(decoder_state @ W_decoder + encoder_states @ W_decoder) @ v


def additive_scores__mean_and_not_the_sum(decoder_state, encoder_states, W_decoder, W_encoder, v):
    return (torch.tanh(decoder_state @ W_decoder + encoder_states @ W_encoder) * v).mean(dim=-1)


def additive_scores__states_added_first(decoder_state, encoder_states, W_decoder, W_encoder, v):
    return torch.tanh((decoder_state + encoder_states) @ W_encoder) @ v


def additive_scores__largest_feature(decoder_state, encoder_states, W_decoder, W_encoder, v):
    return (torch.tanh(decoder_state @ W_decoder + encoder_states @ W_encoder) * v).amax(dim=-1)


def additive_scores__exponentials(decoder_state, encoder_states, W_decoder, W_encoder, v):
    return torch.exp(torch.tanh(decoder_state @ W_decoder + encoder_states @ W_encoder) @ v)


def additive_scores__last_encoder_state_asked(decoder_state, encoder_states, W_decoder, W_encoder, v):
    return torch.tanh(encoder_states[-1] @ W_decoder + encoder_states @ W_encoder) @ v


def additive_scores__python_numbers(decoder_state, encoder_states, W_decoder, W_encoder, v):
    query = decoder_state @ W_decoder
    return [float(torch.tanh(query + state @ W_encoder) @ v) for state in encoder_states]


# -- bahdanau_context --------------------------------------------------------------------------------------------


def _scores(decoder_state, encoder_states, W_decoder, W_encoder, v):
    return torch.tanh(decoder_state @ W_decoder + encoder_states @ W_encoder) @ v


def bahdanau_context__sigmoid(decoder_state, encoder_states, W_decoder, W_encoder, v):
    weights = torch.sigmoid(_scores(decoder_state, encoder_states, W_decoder, W_encoder, v))
    return weights @ encoder_states, weights


def bahdanau_context__logarithms_of_the_weights(decoder_state, encoder_states, W_decoder, W_encoder, v):
    weights = F.log_softmax(_scores(decoder_state, encoder_states, W_decoder, W_encoder, v), dim=0)
    return weights @ encoder_states, weights


def bahdanau_context__mean_of_the_weighted_states(decoder_state, encoder_states, W_decoder, W_encoder, v):
    weights = torch.softmax(_scores(decoder_state, encoder_states, W_decoder, W_encoder, v), dim=0)
    return (weights[:, None] * encoder_states).mean(dim=0), weights


def bahdanau_context__decoder_state_put_behind(decoder_state, encoder_states, W_decoder, W_encoder, v):
    weights = torch.softmax(_scores(decoder_state, encoder_states, W_decoder, W_encoder, v), dim=0)
    return torch.cat([weights @ encoder_states, decoder_state]), weights


def bahdanau_context__tanh_of_the_context(decoder_state, encoder_states, W_decoder, W_encoder, v):
    weights = torch.softmax(_scores(decoder_state, encoder_states, W_decoder, W_encoder, v), dim=0)
    return torch.tanh(weights @ encoder_states), weights


def bahdanau_context__three_results(decoder_state, encoder_states, W_decoder, W_encoder, v):
    scores = _scores(decoder_state, encoder_states, W_decoder, W_encoder, v)
    weights = torch.softmax(scores, dim=0)
    return weights @ encoder_states, weights, scores


def bahdanau_context__worst_state_favoured(decoder_state, encoder_states, W_decoder, W_encoder, v):
    weights = torch.softmax(-_scores(decoder_state, encoder_states, W_decoder, W_encoder, v), dim=0)
    return weights @ encoder_states, weights


def bahdanau_context__largest_score_divided_by(decoder_state, encoder_states, W_decoder, W_encoder, v):
    scores = _scores(decoder_state, encoder_states, W_decoder, W_encoder, v)
    weights = torch.exp(scores) / torch.exp(scores).max()
    return weights @ encoder_states, weights


def bahdanau_context__softmax_over_the_features(decoder_state, encoder_states, W_decoder, W_encoder, v):
    sums = torch.softmax(decoder_state @ W_decoder + encoder_states @ W_encoder, dim=-1)
    weights = torch.softmax(sums @ v, dim=0)
    return weights @ encoder_states, weights


# -- CrossAttention ----------------------------------------------------------------------------------------------


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


class CrossAttention__x_and_context_put_together(_Layers):
    def forward(self, x, context, padding_mask=None):
        both = torch.cat([x, context], dim=1)
        return self.weights(self.W_query(x), self.W_key(both), padding_mask) @ self.W_value(both)


class CrossAttention__super_forgotten(nn.Module):
    def __init__(self, d_query, d_context, d_out):
        self.W_query = nn.Linear(d_query, d_out, bias=False)
        self.W_key = nn.Linear(d_context, d_out, bias=False)
        self.W_value = nn.Linear(d_context, d_out, bias=False)

    def forward(self, x, context, padding_mask=None):
        return F.scaled_dot_product_attention(self.W_query(x), self.W_key(context), self.W_value(context))


class CrossAttention__relu_of_the_projections(_Layers):
    def forward(self, x, context, padding_mask=None):
        queries, keys, values = self.W_query(x).relu(), self.W_key(context).relu(), self.W_value(context).relu()
        return self.weights(queries, keys, padding_mask) @ values


class CrossAttention__outputs_averaged(_Layers):
    def forward(self, x, context, padding_mask=None):
        weights = self.weights(self.W_query(x), self.W_key(context), padding_mask)
        return (weights @ self.W_value(context)).mean(dim=1)


class CrossAttention__padding_that_is_visible_to_the_first_query(_Layers):
    def forward(self, x, context, padding_mask=None):
        queries, keys, values = self.W_query(x), self.W_key(context), self.W_value(context)
        scores = queries @ keys.transpose(1, 2) / keys.shape[-1] ** 0.5
        if padding_mask is not None:
            scores[:, 1:] = scores[:, 1:].masked_fill(padding_mask[:, None, :], -torch.inf)
        return torch.softmax(scores, dim=-1) @ values


class CrossAttention__sigmoid(_Layers):
    def forward(self, x, context, padding_mask=None):
        scores = self.W_query(x) @ self.W_key(context).transpose(1, 2) / self.W_key.out_features**0.5
        if padding_mask is not None:
            scores = scores.masked_fill(padding_mask[:, None, :], -torch.inf)
        return torch.sigmoid(scores) @ self.W_value(context)


class CrossAttention__dropout_on_the_weights(_Layers):
    def forward(self, x, context, padding_mask=None):
        weights = self.weights(self.W_query(x), self.W_key(context), padding_mask)
        return F.dropout(weights, 0.5) @ self.W_value(context)


class CrossAttention__width_of_the_output_first(_Layers):
    def __init__(self, d_out, d_query, d_context):
        super().__init__(d_query, d_context, d_out)

    def forward(self, x, context, padding_mask=None):
        return self.weights(self.W_query(x), self.W_key(context), padding_mask) @ self.W_value(context)


class CrossAttention__mask_added_as_numbers(_Layers):
    def forward(self, x, context, padding_mask=None):
        scores = self.W_query(x) @ self.W_key(context).transpose(1, 2) / self.W_key.out_features**0.5
        if padding_mask is not None:
            scores = scores + padding_mask[:, None, :]
        return torch.softmax(scores, dim=-1) @ self.W_value(context)


class no_mask_taken__fused(_Layers):
    def forward(self, x_1, x_2):
        return F.scaled_dot_product_attention(self.W_query(x_1), self.W_key(x_2), self.W_value(x_2))


class other_arguments_in_cross_attention__of_the_library(nn.Module):
    def __init__(self, d_model, num_heads=8, *, dropout=0.1):
        super().__init__()
        self.attention = nn.MultiheadAttention(d_model, num_heads, dropout, batch_first=True)

    def forward(self, x, context, padding_mask=None):
        return self.attention(x, context, context, key_padding_mask=padding_mask)[0]
