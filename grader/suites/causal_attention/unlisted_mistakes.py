"""Unlisted mistakes of unit 3: wrong answers that are none of the misconceptions. The grader must not name them.

Those with the name of a misconception in front show it in code that takes another route. They must get its name.
"""

import math

import torch
import torch.nn as nn
import torch.nn.functional as F

# -- causal_mask -------------------------------------------------------------------------------------------------


def causal_mask__marked_above_the_other_diagonal(num_tokens):
    return torch.ones(num_tokens, num_tokens).triu(1).flip(1).bool()


def causal_mask__only_the_next_token_marked(num_tokens):
    mask = torch.zeros(num_tokens, num_tokens, dtype=torch.bool)
    for i in range(num_tokens - 1):
        mask[i, i + 1] = True
    return mask


def causal_mask__one_token_too_many(num_tokens):
    place = torch.arange(num_tokens + 1)
    return place[None] > place[:, None]


def causal_mask__single_token_refused(num_tokens):
    if num_tokens < 2:
        raise ValueError("there is no future")
    return torch.triu(torch.ones(num_tokens, num_tokens), diagonal=1).bool()


# -- mask_then_renormalize ---------------------------------------------------------------------------------------


def mask_then_renormalize__divided_by_the_largest(weights):
    left = torch.tril(weights)
    return left / left.max(dim=-1, keepdim=True).values


def mask_then_renormalize__made_of_length_one(weights):
    return F.normalize(torch.tril(weights), dim=-1)


def mask_then_renormalize__divided_by_the_number_of_tokens_seen(weights):
    seen = torch.tril(torch.ones_like(weights))
    return weights * seen / seen.sum(dim=-1, keepdim=True)


def mask_then_renormalize__rest_goes_to_the_own_token(weights):
    left = torch.tril(weights)
    return left + torch.diag(1 - left.sum(dim=-1))


def mask_then_renormalize__divided_by_the_lost_part(weights):
    future = torch.triu(weights, diagonal=1)
    return torch.tril(weights) / (future.sum(dim=-1, keepdim=True) + 1e-9)


def mask_then_renormalize__past_removed_and_columns_summed(weights):
    left = torch.triu(weights)
    return left / left.sum(dim=0, keepdim=True)


def third_dimension_expected__size(w):
    future = torch.ones(w.size(2), w.size(2)).triu(1) == 1
    w = w.masked_fill(future, 0)
    return w / w.sum(-1)[:, None]


# -- mask_then_softmax -------------------------------------------------------------------------------------------


def mask_then_softmax__minus_ten_for_the_future(scores, d_k):
    mask = torch.triu(torch.ones_like(scores), diagonal=1).bool()
    return F.softmax(scores.masked_fill(mask, -10.0) / math.sqrt(d_k), dim=-1)


def mask_then_softmax__mask_of_ones_added(scores, d_k):
    return F.softmax((scores + torch.triu(torch.ones_like(scores), diagonal=1)) / d_k**0.5, dim=-1)


def mask_then_softmax__logarithms_of_the_weights(scores, d_k):
    mask = torch.triu(torch.ones_like(scores), diagonal=1).bool()
    return F.log_softmax(scores.masked_fill(mask, -torch.inf) / d_k**0.5, dim=-1)


def mask_then_softmax__sigmoid(scores, d_k):
    mask = torch.triu(torch.ones_like(scores), diagonal=1).bool()
    return torch.sigmoid(scores.masked_fill(mask, -torch.inf) / d_k**0.5)


def mask_then_softmax__unscaled_and_over_queries(scores, d_k):
    mask = torch.triu(torch.ones_like(scores), diagonal=1).bool()
    return F.softmax(scores.masked_fill(mask, -torch.inf), dim=0)


def mask_then_softmax__root_of_the_scores_too(scores, d_k):
    mask = torch.triu(torch.ones_like(scores), diagonal=1).bool()
    return F.softmax((scores.abs() / d_k).sqrt().masked_fill(mask, -torch.inf), dim=-1)


def mask_then_softmax__weights_rounded(scores, d_k):
    mask = torch.triu(torch.ones_like(scores), diagonal=1).bool()
    return F.softmax(scores.masked_fill(mask, -torch.inf) / math.sqrt(d_k), dim=-1).round(decimals=2)


def mask_then_softmax__everything_hidden(scores, d_k):
    mask = torch.ones_like(scores).bool()
    return F.softmax(scores.masked_fill(mask, -torch.inf) / math.sqrt(d_k), dim=-1)


# -- attention_dropout -------------------------------------------------------------------------------------------


def attention_dropout__weights_below_p_dropped(weights, p, generator=None):
    assert 0 <= p < 1
    return torch.where(weights < p, 0.0, weights / (1 - p))


def attention_dropout__result_and_mask(weights, p, generator=None):
    assert 0 <= p < 1
    keep = torch.rand(weights.shape, generator=generator) >= p
    return weights * keep / (1 - p), keep


def attention_dropout__generator_taken_for_training(weights, p, generator=None):
    if p < 0 or p >= 1:
        raise ValueError("p")
    return F.dropout(weights, p, generator)


def attention_dropout__generator_as_a_keyword_of_dropout(weights, p, generator=None):
    if p < 0 or p >= 1:
        raise ValueError("p")
    return F.dropout(weights, p, generator=generator)


def attention_dropout__refused_the_wrong_way_round(weights, p, generator=None):
    if 0 <= p < 1:
        raise ValueError("p")
    return weights


def attention_dropout__minus_infinity_for_what_is_dropped(weights, p, generator=None):
    assert 0 <= p < 1
    return (weights / (1 - p)).masked_fill(torch.rand(weights.shape, generator=generator) < p, -torch.inf)


def attention_dropout__only_matrices(weights, p, generator=None):
    assert 0 <= p < 1
    rows, columns = weights.shape
    return weights * (torch.rand(rows, columns, generator=generator) >= p) / (1 - p)


def attention_dropout__p_as_a_percentage(weights, p, generator=None):
    assert 0 <= p < 1
    keep = torch.randint(0, 100, weights.shape, generator=generator) >= p
    return weights * keep / (1 - p)


def attention_dropout__softmax_of_what_is_kept(weights, p, generator=None):
    assert 0 <= p < 1
    gone = torch.rand(weights.shape, generator=generator) < p
    return F.softmax(weights.masked_fill(gone, -torch.inf), dim=-1)


def attention_dropout__largest_dropped(weights, p, generator=None):
    assert 0 <= p < 1
    return weights * (weights <= torch.quantile(weights.flatten(), 1 - p)) / (1 - p)


def nothing_dropped__result_not_used(weights, p, generator=None):
    assert 0 <= p < 1
    mask = torch.empty_like(weights).uniform_(generator=generator)
    torch.where(mask < p, 0.0, weights / (1 - p))
    return weights


def same_for_the_whole_batch__bernoulli(weights, p, generator=None):
    assert 0 <= p < 1
    T = weights.shape[-1]
    rows = weights.shape[-2] if weights.dim() > 1 else 1
    keep = torch.empty(rows, T).bernoulli_(1 - p, generator=generator).bool()
    keep = keep[0] if weights.dim() == 1 else keep
    return torch.where(keep, weights / (1 - p), 0.0)


def any_p_accepted__nearly_zero_added(weights, p, generator=None):
    keep = torch.empty_like(weights).uniform_(generator=generator) > p
    return torch.where(keep, weights / (1 - p + 1e-8), 0.0)


def negative_p_accepted__asserted(weights, p, generator=None):
    assert p < 1, "nothing would be left"
    gone = torch.empty_like(weights).uniform_(generator=generator) < p
    return (weights / (1 - p)).masked_fill(gone, 0.0)


def generator_seeded_anew__bernoulli(weights, p, generator=None):
    assert 0 <= p < 1
    if generator is not None:
        generator.manual_seed(42)
    keep = torch.empty_like(weights).bernoulli_(1 - p, generator=generator)
    return keep * (weights / (1 - p))


def half_dropped_for_every_p__coins(w, p, generator=None):
    if p < 0 or p >= 1:
        raise ValueError("p")
    return w * torch.randint(0, 2, w.shape, generator=generator) / (1 - p)


# -- CausalAttention ---------------------------------------------------------------------------------------------


class Layers(nn.Module):
    """What most of the classes below have in common, and a right forward made of parts that they change."""

    def __init__(self, d_in, d_out, context_length, dropout, qkv_bias=False):
        super().__init__()
        self.W_query = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_key = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_value = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.dropout = nn.Dropout(dropout)
        self.root = math.sqrt(d_out)
        self.register_buffer("mask", torch.triu(torch.ones(context_length, context_length), diagonal=1).bool())

    def masked(self, scores, value=-torch.inf):
        T = scores.shape[-1]
        return scores.masked_fill(self.mask[:T, :T], value)

    def weights(self, x):
        scores = self.W_query(x) @ self.W_key(x).transpose(-2, -1)
        return F.softmax(self.masked(scores) / self.root, dim=-1)


class CausalAttention__scaled_twice(Layers):
    def forward(self, x):
        scores = self.W_query(x) @ self.W_key(x).transpose(-2, -1) / self.root
        return self.dropout(F.softmax(self.masked(scores) / self.root**0.5, dim=-1)) @ self.W_value(x)


class CausalAttention__minus_ten_for_the_future(Layers):
    def forward(self, x):
        scores = self.masked(self.W_query(x) @ self.W_key(x).transpose(-2, -1), -10.0)
        return self.dropout(F.softmax(scores / self.root, dim=-1)) @ self.W_value(x)


class CausalAttention__mean_of_all_outputs(Layers):
    def forward(self, x):
        return (self.dropout(self.weights(x)) @ self.W_value(x)).mean(dim=1)


class CausalAttention__longest_text_refused(Layers):
    def __init__(self, d_in, d_out, context_length, dropout, qkv_bias=False):
        super().__init__(d_in, d_out, context_length - 1, dropout, qkv_bias)

    def forward(self, x):
        return self.dropout(self.weights(x)) @ self.W_value(x)


class CausalAttention__dropout_half_as_often(Layers):
    def __init__(self, d_in, d_out, context_length, dropout, qkv_bias=False):
        super().__init__(d_in, d_out, context_length, dropout / 2, qkv_bias)

    def forward(self, x):
        return self.dropout(self.weights(x)) @ self.W_value(x)


class CausalAttention__inputs_normalized(Layers):
    def forward(self, x):
        x = F.layer_norm(x, x.shape[-1:])
        return self.dropout(self.weights(x)) @ self.W_value(x)


class CausalAttention__minus_infinity_for_what_is_dropped(Layers):
    def forward(self, x):
        weights = self.weights(x)
        if self.training:
            weights = weights.masked_fill(torch.rand(weights.shape) < self.dropout.p, -torch.inf)
        return weights @ self.W_value(x)


class CausalAttention__dropout_on_all_three_projections(Layers):
    def forward(self, x):
        q, k, v = self.dropout(self.W_query(x)), self.dropout(self.W_key(x)), self.dropout(self.W_value(x))
        return F.softmax(self.masked(q @ k.transpose(-2, -1)) / self.root, dim=-1) @ v


class dropout_before_the_mask__own_softmax(Layers):
    def forward(self, x):
        scores = self.dropout(self.W_query(x) @ self.W_key(x).mT / self.root)
        e = torch.tril(torch.exp(scores))
        return e / e.sum(dim=-1, keepdim=True) @ self.W_value(x)


class dropout_on_weights_and_outputs__bernoulli(Layers):
    def forward(self, x):
        contexts = self.dropout(self.weights(x)) @ self.W_value(x)
        if self.training:
            p = self.dropout.p
            contexts = contexts * torch.bernoulli(torch.full_like(contexts, 1 - p)) / (1 - p)
        return contexts


class rows_renormalized_with_care__normalize(Layers):
    def forward(self, x):
        return F.normalize(self.dropout(self.weights(x)), p=1, dim=-1) @ self.W_value(x)


class whole_tokens_dropped__values(Layers):
    def forward(self, x):
        values = self.W_value(x)
        if self.training:
            keep = torch.rand(x.shape[0], x.shape[1], 1) > self.dropout.p
            values = torch.where(keep, values / (1 - self.dropout.p), 0.0)
        return self.weights(x) @ values
