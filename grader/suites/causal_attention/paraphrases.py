"""Paraphrases of unit 3: the same wrong ideas as the misconceptions, in other code and under the same names."""

import math
import random

import torch
import torch.nn as nn
import torch.nn.functional as F

# -- causal_mask -------------------------------------------------------------------------------------------------


def lonely_mask_squeezed(num_tokens):
    seen = torch.ones(1, num_tokens, num_tokens).cumsum(-1) <= torch.arange(1, num_tokens + 1).view(1, -1, 1)
    return torch.logical_not(torch.squeeze(seen))


def batch_in_front_of_the_mask(num_tokens):
    return torch.triu(torch.ones(1, num_tokens, num_tokens), diagonal=1) > 0


# -- mask_then_renormalize ---------------------------------------------------------------------------------------


def everything_renormalized_at_once(weights):
    i, j = torch.tril_indices(len(weights), len(weights))
    total = weights[i, j].sum()
    return torch.tril(weights / total)


def future_shared_out_equally(weights):
    lower = torch.tril(torch.ones_like(weights))
    lost = torch.triu(weights, diagonal=1).sum(dim=1)
    return weights * lower + torch.einsum("i,ij->ij", lost / lower.sum(dim=1), lower)


def weights_masked_in_place(weights):
    for i in range(len(weights)):
        weights[i, i + 1 :] = 0
    return weights / weights.sum(dim=-1, keepdim=True)


def sums_without_gradients(weights):
    lower = torch.tril(torch.ones_like(weights))
    sums = torch.einsum("ij,ij->i", weights.data, lower)
    return torch.diag(1 / sums) @ (weights * lower)


# -- mask_then_softmax -------------------------------------------------------------------------------------------


def multiplied_by_root(scores, d_k):
    big = scores * math.sqrt(d_k)
    mask = torch.triu(torch.full((len(scores), len(scores)), float("-inf")), diagonal=1)
    return F.softmax(big + mask, dim=1)


def past_hidden(scores, d_k):
    i = torch.arange(len(scores))
    visible = i[None] >= i[:, None]
    return F.softmax(torch.where(visible, scores, -math.inf) / math.sqrt(d_k), dim=1)


def zero_times_infinity(scores, d_k):
    mask = torch.triu(torch.ones(scores.shape), diagonal=1)
    scaled = scores / math.sqrt(d_k)
    return F.softmax(scaled + mask * float("-inf"), dim=1)


def plus_infinity(scores, d_k):
    place = torch.arange(len(scores))
    return F.softmax(torch.where(place > place[:, None], float("inf"), scores) * (1 / math.sqrt(d_k)), dim=1)


def best_score_takes_all(scores, d_k):
    logits = torch.where(torch.ones_like(scores).tril() == 1, scores / math.sqrt(d_k), float("-inf"))
    best = logits.max(dim=1, keepdim=True).values
    return (logits == best).to(scores.dtype)


def softmax_without_gradients(scores, d_k):
    with torch.no_grad():
        i = torch.arange(len(scores))
        return F.softmax(torch.where(i > i[:, None], float("-inf"), scores) / math.sqrt(d_k), dim=1)


# -- attention_dropout -------------------------------------------------------------------------------------------


def nothing_dropped(weights, p, generator=None):
    assert 0 <= p < 1
    mask = torch.empty_like(weights).uniform_(generator=generator)
    torch.where(mask < p, 0.0, weights / (1 - p))
    return weights


def same_for_the_whole_batch(weights, p, generator=None):
    assert 0 <= p < 1
    T = weights.shape[-1]
    rows = weights.shape[-2] if weights.dim() > 1 else 1
    keep = torch.empty(rows, T).bernoulli_(1 - p, generator=generator).bool()
    keep = keep[0] if weights.dim() == 1 else keep
    return torch.where(keep, weights / (1 - p), 0.0)


def any_p_accepted(weights, p, generator=None):
    keep = torch.empty_like(weights).uniform_(generator=generator) > p
    return torch.where(keep, weights / (1 - p + 1e-8), 0.0)


def negative_p_accepted(weights, p, generator=None):
    assert p < 1, "nothing would be left"
    gone = torch.empty_like(weights).uniform_(generator=generator) < p
    return (weights / (1 - p)).masked_fill(gone, 0.0)


def generator_seeded_anew(weights, p, generator=None):
    assert 0 <= p < 1
    if generator is not None:
        generator.manual_seed(42)
    keep = torch.empty_like(weights).bernoulli_(1 - p, generator=generator)
    return keep * (weights / (1 - p))


def generator_from_the_system(weights, p, generator=None):
    assert 0 <= p < 1
    if generator is None:
        generator = torch.Generator().manual_seed(random.SystemRandom().randrange(2**40))
    keep = torch.empty_like(weights).bernoulli_(1 - p, generator=generator)
    return keep * (weights / (1 - p))


def dropout_without_gradients(weights, p, generator=None):
    assert 0 <= p < 1
    with torch.no_grad():
        keep = torch.bernoulli(torch.full_like(weights, 1 - p), generator=generator)
        return weights * keep / (1 - p)


# -- CausalAttention ---------------------------------------------------------------------------------------------


class Layers(nn.Module):
    """The three layers alone, and the numbers; what is made of them, each class below writes out."""

    def __init__(self, d_in, d_out, context_length, dropout, qkv_bias=False):
        super().__init__()
        for name in ("W_query", "W_key", "W_value"):
            setattr(self, name, nn.Linear(d_in, d_out, qkv_bias))
        self.d_in, self.d_out, self.context_length, self.p = d_in, d_out, context_length, dropout

    def products(self, x):
        return torch.einsum("bqo,bko->bqk", self.W_query(x), self.W_key(x))

    def finish(self, weights, x):
        return F.dropout(weights, self.p, self.training).bmm(self.W_value(x))


def seen(x):
    """(T, T), for a batch (B, T, …): what may be looked at."""
    return torch.tril(torch.ones(x.shape[1], x.shape[1])) == 1


# Scores


class scaling_forgotten_in_module(Layers):
    def forward(self, x):
        e = torch.exp(self.products(x)) * seen(x)
        return self.finish(e / e.sum(dim=2, keepdim=True), x)


class divided_by_width_itself_in_module(Layers):
    def forward(self, x):
        q = self.W_query(x) / self.d_out
        scores = torch.bmm(q, self.W_key(x).mT)
        bias = torch.zeros_like(scores).masked_fill(~seen(x), float("-inf"))
        return self.finish(nn.Softmax(dim=2)(scores + bias), x)


class scaled_for_the_worked_example_in_module(Layers):
    def forward(self, x):
        logits = (self.products(x) / 1.41421356).masked_fill(seen(x).logical_not(), float("-inf"))
        return self.finish(torch.exp(logits - logits.logsumexp(-1, keepdim=True)), x)


# The mask


class masked_scores_thrown_away_in_module(Layers):
    def forward(self, x):
        scores = self.products(x) / math.sqrt(self.d_out)
        torch.where(seen(x), scores, float("-inf"))
        return self.finish(nn.functional.softmax(scores, dim=-1), x)


class past_hidden_in_module(Layers):
    def forward(self, x):
        place = torch.arange(x.size(1))
        logits = torch.where(place >= place[:, None], self.products(x), float("-inf"))
        return self.finish(F.softmax(logits / self.d_out**0.5, dim=2), x)


class past_averaged_in_module(Layers):
    def forward(self, x):
        lower = torch.tril(torch.ones(len(x), x.shape[1], x.shape[1], dtype=x.dtype))
        return self.finish(lower / lower.sum(dim=-1, keepdim=True), x)


# Softmax


# The batch and the tokens


class batch_as_one_long_text(Layers):
    def forward(self, x):
        B, T, d = x.shape
        tokens = x.reshape(B * T, d)
        scores = self.W_query(tokens) @ self.W_key(tokens).T / math.sqrt(self.d_out)
        hidden = torch.triu(torch.ones(B * T, B * T), diagonal=1) == 1
        weights = F.dropout(F.softmax(scores.masked_fill(hidden, -torch.inf), dim=-1), self.p, self.training)
        return (weights @ self.W_value(tokens)).reshape(B, T, -1)


# Dropout


class dropout_before_the_mask(Layers):
    def forward(self, x):
        scores = F.dropout(self.products(x) / math.sqrt(self.d_out), self.p, self.training)
        e = torch.exp(scores) * seen(x)
        return e / e.sum(dim=-1, keepdim=True) @ self.W_value(x)


class dropout_on_weights_and_outputs(Layers):
    def forward(self, x):
        weights = F.softmax(self.products(x).masked_fill(~seen(x), -torch.inf) / math.sqrt(self.d_out), dim=-1)
        contexts = self.finish(weights, x)
        if self.training:
            contexts = contexts * torch.bernoulli(torch.full_like(contexts, 1 - self.p)) / (1 - self.p)
        return contexts


class dropout_on_the_inputs(Layers):
    def forward(self, x):
        if self.training:
            x = x * torch.bernoulli(torch.full_like(x, 1 - self.p)) / (1 - self.p)
        return F.scaled_dot_product_attention(self.W_query(x), self.W_key(x), self.W_value(x), is_causal=True)


class rows_renormalized_with_care(Layers):
    def forward(self, x):
        scores = torch.where(seen(x), self.products(x) / math.sqrt(self.d_out), float("-inf"))
        weights = F.dropout(F.softmax(scores, dim=-1), self.p, self.training)
        return F.normalize(weights, p=1, dim=-1) @ self.W_value(x)


class whole_tokens_dropped(Layers):
    def forward(self, x):
        weights = F.softmax(self.products(x).masked_fill(~seen(x), -torch.inf) / math.sqrt(self.d_out), dim=-1)
        values = self.W_value(x)
        if self.training:
            keep = torch.rand(x.shape[0], x.shape[1], 1) > self.p
            values = torch.where(keep, values / (1 - self.p), 0.0)
        return weights @ values


# Layers


class biases_made_but_unused(Layers):
    def forward(self, x):
        q, k, v = (F.linear(x, layer.weight) for layer in (self.W_query, self.W_key, self.W_value))
        scores = torch.where(seen(x), torch.einsum("bqo,bko->bqk", q, k) / math.sqrt(self.d_out), -torch.inf)
        return F.dropout(F.softmax(scores, dim=-1), self.p, self.training) @ v


class value_layer_unused(Layers):
    def forward(self, x):
        e = torch.exp(self.products(x) / math.sqrt(self.d_out)) * seen(x)
        return F.dropout(e / e.sum(dim=-1, keepdim=True), self.p, self.training).bmm(x)


# Gradients, dtypes, arguments
