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


def visible_marked_with_floats(num_tokens):
    return torch.tril(torch.ones(num_tokens, num_tokens))


def visible_marked_with_floats__compared(num_tokens):
    place = torch.arange(num_tokens)
    return (place[None, :] <= place[:, None]).float()


def visible_marked_with_integers(num_tokens):
    return torch.tril(torch.ones(num_tokens, num_tokens, dtype=torch.int64))


def visible_marked_with_integers__rows(num_tokens):
    return torch.tensor([[1] * (i + 1) + [0] * (num_tokens - i - 1) for i in range(num_tokens)])


def token_before_marked_too(num_tokens):
    return torch.triu(torch.ones(num_tokens, num_tokens), diagonal=-1).bool()


def token_before_marked_too__compared(num_tokens):
    place = torch.arange(num_tokens)
    return place[None, :] + 1 >= place[:, None]


def last_token_never_marked(num_tokens):
    mask = torch.zeros(num_tokens, num_tokens, dtype=torch.bool)
    for i in range(num_tokens - 1):
        for j in range(i + 1, num_tokens - 1):
            mask[i, j] = True
    return mask


def last_token_never_marked__slices(num_tokens):
    mask = torch.zeros(num_tokens, num_tokens, dtype=torch.bool)
    for i in range(num_tokens):
        mask[i, i + 1 : -1] = True
    return mask


def everything_marked(num_tokens):
    return torch.ones(num_tokens, num_tokens).bool()


def everything_marked__full(num_tokens):
    mask = torch.full((num_tokens, num_tokens), True)
    torch.triu(mask, diagonal=1)
    return mask


def list_of_lists(num_tokens):
    return [[j > i for j in range(num_tokens)] for i in range(num_tokens)]


def list_of_lists__appended(num_tokens):
    mask = []
    for i in range(num_tokens):
        mask.append((torch.arange(num_tokens) > i).tolist())
    return mask


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


def only_the_future_kept(weights):
    left = torch.triu(weights, diagonal=1)
    return left / left.sum(dim=-1, keepdim=True)


def only_the_future_kept__row_by_row(w):
    rows = [torch.cat([0 * row[: i + 1].detach(), row[i + 1 :]]) for i, row in enumerate(w)]
    left = torch.stack(rows)
    return left / torch.sum(left, 1)[:, None]


def divided_by_the_sums_before(weights):
    return torch.tril(weights) / weights.sum(dim=-1, keepdim=True)


def divided_by_the_sums_before__stored(w):
    sums = torch.einsum("qk->q", w)
    mask = torch.tril(torch.ones_like(w))
    return w * mask / sums[:, None]


def mask_does_not_fit(weights):
    w = weights.masked_fill(torch.triu(torch.ones_like(weights), diagonal=1), 0)
    return w / w.sum(dim=-1, keepdim=True)


def mask_does_not_fit__whole_numbers(w):
    place = torch.arange(len(w))
    w = w.masked_fill((place > place[:, None]).long(), 0)
    return w / w.sum(dim=1)[:, None]


def third_dimension_expected(weights):
    left = torch.tril(weights)
    return left / left.sum(dim=2, keepdim=True)


def third_dimension_expected__size(w):
    future = torch.ones(w.size(2), w.size(2)).triu(1) == 1
    w = w.masked_fill(future, 0)
    return w / w.sum(-1)[:, None]


def weights_in_numpy(weights):
    left = torch.from_numpy(weights.numpy()).tril()
    return left / left.sum(dim=-1, keepdim=True)


def weights_in_numpy__whole(w):
    import numpy as np

    left = np.tril(w.numpy())
    return torch.tensor(left / left.sum(axis=-1, keepdims=True))


def renormalized_without_keepdim(weights):
    kept = weights * ~torch.ones(len(weights), len(weights)).triu(1).bool()
    return kept / kept.sum(-1)


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


def fifth_power(scores, d_k):
    mask = torch.triu(torch.ones_like(scores), diagonal=1).bool()
    return F.softmax(scores.masked_fill(mask, -torch.inf) / d_k**5, dim=-1)


def fifth_power__in_other_code(s, d):
    place = torch.arange(len(s))
    s = torch.where(place <= place[:, None], s, float("-inf"))
    powers = torch.exp(s * d**-5.0)
    return powers / powers.sum(dim=1, keepdim=True)


def square_instead_of_root(scores, d_k):
    mask = torch.triu(torch.ones_like(scores), diagonal=1).bool()
    return F.softmax(scores.masked_fill(mask, -torch.inf) / d_k**2, dim=-1)


def square_instead_of_root__in_other_code(s, d):
    place = torch.arange(len(s))
    s = torch.where(place <= place[:, None], s, float("-inf"))
    powers = torch.exp(s / (d * d))
    return powers / powers.sum(dim=1, keepdim=True)


def multiplied_by_half_of_d_k(scores, d_k):
    mask = torch.triu(torch.ones_like(scores), diagonal=1).bool()
    return F.softmax(scores.masked_fill(mask, -torch.inf) * d_k * 0.5, dim=-1)


def multiplied_by_half_of_d_k__in_other_code(s, d):
    place = torch.arange(len(s))
    s = torch.where(place <= place[:, None], s * (d / 2), float("-inf"))
    return s.log_softmax(1).exp()


def divided_by_half_of_d_k(scores, d_k):
    mask = torch.triu(torch.ones_like(scores), diagonal=1).bool()
    return F.softmax(scores.masked_fill(mask, -torch.inf) / (d_k * 0.5), dim=-1)


def divided_by_half_of_d_k__in_other_code(s, d):
    place = torch.arange(len(s))
    s = torch.where(place <= place[:, None], s, float("-inf"))
    powers = torch.exp(s * 2 / d)
    return powers / powers.sum(dim=1, keepdim=True)


def softmax_twice(scores, d_k):
    mask = torch.triu(torch.ones_like(scores), diagonal=1).bool()
    weights = F.softmax(scores.masked_fill(mask, -torch.inf) / math.sqrt(d_k), dim=-1)
    return F.softmax(weights, dim=-1)


def softmax_twice__in_other_code(s, d):
    place = torch.arange(len(s))
    s = torch.where(place <= place[:, None], s / d**0.5, float("-inf"))
    softmax = nn.Softmax(dim=1)
    return softmax(softmax(s))


def softmax_before_and_after_the_mask(scores, d_k):
    mask = torch.triu(torch.ones_like(scores), diagonal=1).bool()
    weights = F.softmax(scores / d_k**0.5, dim=-1)
    return F.softmax(weights.masked_fill(mask, -torch.inf), dim=-1)


def softmax_before_and_after_the_mask__in_other_code(s, d):
    place = torch.arange(len(s))
    w = torch.where(place <= place[:, None], (s / d**0.5).softmax(1), float("-inf"))
    return w.exp() / w.exp().sum(dim=1, keepdim=True)


def weights_masked_with_minus_infinity(scores, d_k):
    mask = torch.triu(torch.ones_like(scores), diagonal=1).bool()
    weights = F.softmax(scores / d_k**0.5, dim=-1)
    return weights.masked_fill(mask, -torch.inf)


def weights_masked_with_minus_infinity__in_other_code(s, d):
    place = torch.arange(len(s))
    return torch.where(place <= place[:, None], (s / d**0.5).softmax(1), float("-inf"))


def arguments_do_not_fit(scores, d_k):
    mask = torch.triu(torch.ones_like(scores), diagonal=1).bool()
    return F.softmax(scores.masked_fill(mask, -torch.inf) / torch.sqrt(d_k), dim=-1)


def arguments_do_not_fit__in_other_code(s, d):
    place = torch.arange(len(s))
    s = torch.where(place <= place[:, None], s / d**0.5, float("-inf"))
    return torch.softmax(s)


def sums_without_keepdim(scores, d_k):
    mask = torch.triu(torch.ones_like(scores), diagonal=1).bool()
    powers = torch.exp(scores.masked_fill(mask, -torch.inf) / math.sqrt(d_k))
    return powers / powers.sum(-1)


def sums_without_keepdim__in_other_code(s, d):
    place = torch.arange(len(s))
    s = torch.where(place <= place[:, None], s / d**0.5, float("-inf"))
    return s.exp() / torch.einsum("qk->q", s.exp())


def all_weights_one(scores, d_k):
    mask = torch.triu(torch.ones_like(scores), diagonal=1).bool()
    scores = scores.masked_fill(mask, -1e9) / math.sqrt(d_k)
    return F.softmax(scores.unsqueeze(-1), dim=-1).squeeze(-1)


def all_weights_one__in_other_code(s, d):
    s = torch.tril(s / d**0.5)[None]
    return s.softmax(0)[0]


def diagonal_lowered(scores, d_k):
    hidden = torch.triu(torch.ones_like(scores)) == 1
    return F.softmax(scores.masked_fill(hidden, -1e9) / math.sqrt(d_k), dim=-1)


def diagonal_lowered__in_other_code(s, d):
    place = torch.arange(len(s))
    return torch.where(place < place[:, None], s / d**0.5, -1e10).softmax(1)


def only_the_future_seen(scores, d_k):
    hidden = torch.triu(torch.ones_like(scores), diagonal=1) == 0
    return F.softmax(scores.masked_fill(hidden, -torch.inf) / math.sqrt(d_k), dim=-1)


def only_the_future_seen__in_other_code(s, d):
    place = torch.arange(len(s))
    return torch.where(place > place[:, None], s / d**0.5, float("-inf")).softmax(1)


def only_the_future_seen_beside_low_numbers(scores, d_k):
    hidden = torch.triu(torch.ones_like(scores), diagonal=1) == 0
    return F.softmax(scores.masked_fill(hidden, -1e9) / math.sqrt(d_k), dim=-1)


def only_the_future_seen_beside_low_numbers__in_other_code(s, d):
    place = torch.arange(len(s))
    return torch.where(place > place[:, None], s / d**0.5, -1e10).softmax(1)


def large_number_for_the_future(scores, d_k):
    mask = torch.triu(torch.ones_like(scores), diagonal=1).bool()
    return F.softmax(scores.masked_fill(mask, 1e9) / math.sqrt(d_k), dim=-1)


def large_number_for_the_future__in_other_code(s, d):
    place = torch.arange(len(s))
    return torch.where(place <= place[:, None], s / d**0.5, 1e10).softmax(1)


def zero_scores_hidden(scores, d_k):
    scores = scores / math.sqrt(d_k) * torch.tril(torch.ones(len(scores), len(scores)))
    return F.softmax(torch.where(scores == 0, -torch.inf, scores), dim=-1)


def mask_does_not_fit_the_scores(scores, d_k):
    mask = torch.triu(torch.ones_like(scores), diagonal=1)
    return F.softmax(scores.masked_fill(mask, -torch.inf) / math.sqrt(d_k), dim=-1)


def mask_does_not_fit_the_scores__whole_numbers(s, d):
    place = torch.arange(len(s))
    future = (place > place[:, None]).int()
    return (s.masked_fill(future, float("-inf")) / d**0.5).softmax(1)


def third_dimension_expected_for_scores(scores, d_k):
    mask = torch.triu(torch.ones_like(scores), diagonal=1).bool()
    return F.softmax(scores.masked_fill(mask, -torch.inf) / math.sqrt(d_k), dim=2)


def third_dimension_expected_for_scores__in_other_code(s, d):
    future = torch.ones(s.size(2), s.size(2)).triu(1) == 1
    return (s.masked_fill(future, float("-inf")) / d**0.5).softmax(-1)


def scores_in_numpy(scores, d_k):
    mask = torch.triu(torch.ones_like(scores), diagonal=1).bool()
    scores = torch.from_numpy(scores.numpy()).masked_fill(mask, -torch.inf)
    return F.softmax(scores / math.sqrt(d_k), dim=-1)


def scores_in_numpy__in_other_code(s, d):
    import numpy as np

    s = np.where(np.tril(np.ones(s.shape)) == 1, s.numpy(), -np.inf)
    return (torch.tensor(s) / d**0.5).softmax(1)


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


def survivors_scaled_twice(weights, p, generator=None):
    assert 0 <= p < 1
    weights = weights / (1 - p)
    keep = torch.rand(weights.shape, generator=generator) >= p
    return weights * keep / (1 - p)


def survivors_scaled_twice__scale(w, p, generator=None):
    if p < 0 or p >= 1:
        raise ValueError("p")
    scale = 1 / (1 - p)
    kept = torch.rand(w.shape, generator=generator) >= p
    return torch.where(kept, w * scale * scale, 0)


def ready_made_dropout_scaled_again(weights, p, generator=None):
    assert 0 <= p < 1
    return F.dropout(weights, p) / (1 - p)


def ready_made_dropout_scaled_again__module(w, p, generator=None):
    if p < 0 or p >= 1:
        raise ValueError("p")
    return (1 / (1 - p)) * nn.Dropout(p)(w)


def half_dropped_for_every_p(weights, p, generator=None):
    assert 0 <= p < 1
    keep = torch.rand(weights.shape, generator=generator) > 0.5
    return weights * keep / (1 - p)


def half_dropped_for_every_p__coins(w, p, generator=None):
    if p < 0 or p >= 1:
        raise ValueError("p")
    return w * torch.randint(0, 2, w.shape, generator=generator) / (1 - p)


def no_argument_for_the_generator(weights, p):
    assert 0 <= p < 1
    return weights * (torch.rand(weights.shape) >= p) / (1 - p)


def no_argument_for_the_generator__ready_made(w, p):
    if p < 0 or p >= 1:
        raise ValueError("p")
    return F.dropout(w, p)


def global_seed_in_every_call(weights, p, generator=None):
    torch.manual_seed(123)
    assert 0 <= p < 1
    return weights * (torch.rand(weights.shape, generator=generator) >= p) / (1 - p)


def global_seed_in_every_call__where(w, p, generator=None):
    if p < 0 or p >= 1:
        raise ValueError("p")
    torch.random.manual_seed(42)
    dropped = torch.rand(w.size(), generator=generator) < p
    return torch.where(dropped, 0, w / (1 - p))


def columns_of_the_whole_batch(weights, p, generator=None):
    assert 0 <= p < 1
    keep = torch.rand(weights.shape[-1], generator=generator) >= p
    return weights * keep / (1 - p)


def columns_of_the_whole_batch__where(w, p, generator=None):
    if p < 0 or p >= 1:
        raise ValueError("p")
    dropped = torch.rand(w.size(-1), generator=generator) < p
    return torch.where(dropped, 0, w / (1 - p))


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


class fifth_power_in_module(Layers):
    def forward(self, x):
        scores = self.W_query(x) @ self.W_key(x).transpose(1, 2)
        scores = (scores / self.d_out**5).masked_fill(~seen(x), -torch.inf)
        return self.finish(F.softmax(scores, dim=-1), x)


class fifth_power_in_module__in_other_code(Layers):
    def forward(self, x):
        scores = torch.where(seen(x), self.products(x) * self.d_out**-5.0, float("-inf"))
        return self.finish(scores.softmax(2), x)


class square_instead_of_root_in_module(Layers):
    def forward(self, x):
        scores = self.W_query(x) @ self.W_key(x).transpose(1, 2)
        scores = (scores / self.d_out**2).masked_fill(~seen(x), -torch.inf)
        return self.finish(F.softmax(scores, dim=-1), x)


class square_instead_of_root_in_module__in_other_code(Layers):
    def forward(self, x):
        scores = torch.where(seen(x), self.products(x) / (self.d_out * self.d_out), float("-inf"))
        return self.finish(scores.softmax(2), x)


class multiplied_by_root_in_module(Layers):
    def forward(self, x):
        scores = self.W_query(x) @ self.W_key(x).transpose(1, 2)
        scores = (scores * math.sqrt(self.d_out)).masked_fill(~seen(x), -torch.inf)
        return self.finish(F.softmax(scores, dim=-1), x)


class multiplied_by_root_in_module__in_other_code(Layers):
    def forward(self, x):
        scores = torch.where(seen(x), self.products(x) / self.d_out**-0.5, float("-inf"))
        return self.finish(scores.softmax(2), x)


class multiplied_by_half_in_module(Layers):
    def forward(self, x):
        scores = self.W_query(x) @ self.W_key(x).transpose(1, 2)
        scores = (scores * self.d_out * 0.5).masked_fill(~seen(x), -torch.inf)
        return self.finish(F.softmax(scores, dim=-1), x)


class multiplied_by_half_in_module__in_other_code(Layers):
    def forward(self, x):
        scores = torch.where(seen(x), self.products(x) * (self.d_out / 2), float("-inf"))
        return self.finish(scores.softmax(2), x)


class divided_by_half_in_module(Layers):
    def forward(self, x):
        scores = self.W_query(x) @ self.W_key(x).transpose(1, 2)
        scores = (scores / (self.d_out * 0.5)).masked_fill(~seen(x), -torch.inf)
        return self.finish(F.softmax(scores, dim=-1), x)


class divided_by_half_in_module__in_other_code(Layers):
    def forward(self, x):
        scores = torch.where(seen(x), self.products(x) * 2 / self.d_out, float("-inf"))
        return self.finish(scores.softmax(2), x)


class arguments_do_not_fit_in_module(Layers):
    def forward(self, x):
        scores = self.W_query(x) @ self.W_key(x).transpose(1, 2)
        scores = (scores / torch.sqrt(self.d_out)).masked_fill(~seen(x), -torch.inf)
        return self.finish(F.softmax(scores, dim=-1), x)


class arguments_do_not_fit_in_module__in_other_code(Layers):
    def forward(self, x):
        scores = torch.where(seen(x), self.products(x) * self.d_out**-0.5, float("-inf"))
        return self.finish(torch.softmax(scores), x)


class keys_not_transposed(Layers):
    def forward(self, x):
        scores = self.W_query(x) @ self.W_key(x) / math.sqrt(self.d_out)
        scores = scores.masked_fill(~seen(x), -torch.inf)
        return self.finish(F.softmax(scores, dim=-1), x)


class keys_not_transposed__in_other_code(Layers):
    def forward(self, x):
        scores = torch.bmm(self.W_query(x), self.W_key(x)).masked_fill(~seen(x), -torch.inf)
        return self.finish((scores * self.d_out**-0.5).softmax(2), x)


class batch_turned_round(Layers):
    def forward(self, x):
        scores = self.W_query(x) @ self.W_key(x).T / math.sqrt(self.d_out)
        weights = F.softmax(scores.masked_fill(~seen(x), -torch.inf), dim=-1)
        return F.dropout(weights, self.p, self.training) @ self.W_value(x)


class batch_turned_round__permuted(Layers):
    def forward(self, x):
        scores = torch.matmul(self.W_query(x), self.W_key(x).permute(2, 1, 0))
        weights = (torch.where(seen(x), scores, float("-inf")) * self.d_out**-0.5).softmax(2)
        return torch.matmul(nn.Dropout(self.p).train(self.training)(weights), self.W_value(x))


class diagonal_lowered_in_module(Layers):
    def forward(self, x):
        scores = self.products(x)
        hidden = torch.triu(torch.ones_like(scores), diagonal=0) == 1
        return self.finish(F.softmax(scores.masked_fill(hidden, -1e9) / math.sqrt(self.d_out), dim=-1), x)


class diagonal_lowered_in_module__in_other_code(Layers):
    def forward(self, x):
        scores = self.products(x) * self.d_out**-0.5
        earlier = torch.tril(torch.ones_like(scores), diagonal=-1)
        return self.finish(scores.masked_fill(earlier == 0, -1e10).softmax(2), x)


class only_the_future_seen_in_module(Layers):
    def forward(self, x):
        scores = self.products(x).masked_fill(seen(x), -torch.inf)
        return self.finish(F.softmax(scores / math.sqrt(self.d_out), dim=-1), x)


class only_the_future_seen_in_module__in_other_code(Layers):
    def forward(self, x):
        mask = torch.triu(torch.ones(x.size(1), x.size(1)), diagonal=1)
        scores = (self.products(x) * self.d_out**-0.5).masked_fill(mask == 0, float("-inf"))
        return self.finish(scores.softmax(2), x)


class only_the_future_seen_beside_low_numbers_in_module(Layers):
    def forward(self, x):
        scores = self.products(x).masked_fill(seen(x), -1e9)
        return self.finish(F.softmax(scores / math.sqrt(self.d_out), dim=-1), x)


class only_the_future_seen_beside_low_numbers_in_module__in_other_code(Layers):
    def forward(self, x):
        mask = torch.triu(torch.ones(x.size(1), x.size(1)), diagonal=1)
        scores = (self.products(x) * self.d_out**-0.5).masked_fill(mask == 0, -1e10)
        return self.finish(scores.softmax(2), x)


class large_number_for_the_future_in_module(Layers):
    def forward(self, x):
        scores = self.products(x).masked_fill(~seen(x), 1e9)
        return self.finish(F.softmax(scores / math.sqrt(self.d_out), dim=-1), x)


class large_number_for_the_future_in_module__in_other_code(Layers):
    def forward(self, x):
        scores = torch.where(seen(x), self.products(x) * self.d_out**-0.5, 1e10)
        return self.finish(scores.softmax(2), x)


class zero_scores_hidden_in_module(Layers):
    def forward(self, x):
        scores = self.products(x) / math.sqrt(self.d_out) * seen(x)
        return self.finish(torch.where(scores == 0, -torch.inf, scores).softmax(-1), x)


class weights_masked_with_minus_infinity_in_module(Layers):
    def forward(self, x):
        weights = F.softmax(self.products(x) / math.sqrt(self.d_out), dim=-1)
        return self.finish(weights.masked_fill(~seen(x), -torch.inf), x)


class weights_masked_with_minus_infinity_in_module__in_other_code(Layers):
    def forward(self, x):
        weights = (self.products(x) * self.d_out**-0.5).softmax(2)
        return self.finish(torch.where(seen(x), weights, float("-inf")), x)


class softmax_twice_in_module(Layers):
    def forward(self, x):
        scores = self.W_query(x) @ self.W_key(x).transpose(1, 2)
        scores = (scores / math.sqrt(self.d_out)).masked_fill(~seen(x), -torch.inf)
        weights = F.softmax(scores, dim=-1)
        return self.finish(F.softmax(weights, dim=-1), x)


class softmax_twice_in_module__in_other_code(Layers):
    def forward(self, x):
        scores = torch.where(seen(x), self.products(x) * self.d_out**-0.5, float("-inf"))
        for _ in range(2):
            scores = nn.Softmax(dim=2)(scores)
        return self.finish(scores, x)


class softmax_before_and_after_the_mask_in_module(Layers):
    def forward(self, x):
        weights = F.softmax(self.products(x) / math.sqrt(self.d_out), dim=-1)
        weights = weights.masked_fill(~seen(x), -torch.inf)
        return self.finish(F.softmax(weights, dim=-1), x)


class softmax_before_and_after_the_mask_in_module__in_other_code(Layers):
    def forward(self, x):
        softmax = nn.Softmax(dim=2)
        weights = torch.where(seen(x), softmax(self.products(x) * self.d_out**-0.5), float("-inf"))
        return self.finish(softmax(weights), x)


class sums_without_keepdim_in_module(Layers):
    def forward(self, x):
        scores = self.W_query(x) @ self.W_key(x).transpose(1, 2)
        scores = (scores / math.sqrt(self.d_out)).masked_fill(~seen(x), -torch.inf)
        powers = torch.exp(scores)
        return self.finish(powers / powers.sum(-1), x)


class sums_without_keepdim_in_module__in_other_code(Layers):
    def forward(self, x):
        scores = torch.where(seen(x), self.products(x) * self.d_out**-0.5, float("-inf"))
        powers = scores.exp()
        return self.finish(powers / torch.einsum("bqk->bq", powers), x)


class all_weights_one_in_module(Layers):
    def forward(self, x):
        scores = self.W_query(x) @ self.W_key(x).transpose(1, 2)
        scores = (scores / math.sqrt(self.d_out)).masked_fill(~seen(x), -torch.inf)
        scores = scores.masked_fill(scores == -torch.inf, -1e9).unsqueeze(-1)
        return self.finish(F.softmax(scores, dim=-1).squeeze(-1), x)


class all_weights_one_in_module__in_other_code(Layers):
    def forward(self, x):
        scores = torch.where(seen(x), self.products(x) * self.d_out**-0.5, float("-inf"))
        scores = self.products(x)[:, None]
        return self.finish(scores.softmax(1)[:, 0], x)


class weights_dropped_twice(Layers):
    def forward(self, x):
        scores = self.W_query(x) @ self.W_key(x).transpose(1, 2)
        scores = (scores / math.sqrt(self.d_out)).masked_fill(~seen(x), -torch.inf)
        weights = F.dropout(F.softmax(scores, dim=-1), self.p, self.training)
        return self.finish(weights, x)


class weights_dropped_twice__in_other_code(Layers):
    def forward(self, x):
        scores = torch.where(seen(x), self.products(x) * self.d_out**-0.5, float("-inf"))
        drop = nn.Dropout(self.p).train(self.training)
        return drop(drop(scores.softmax(2))) @ self.W_value(x)


class survivors_scaled_twice_in_module(Layers):
    def forward(self, x):
        scores = self.W_query(x) @ self.W_key(x).transpose(1, 2)
        scores = (scores / math.sqrt(self.d_out)).masked_fill(~seen(x), -torch.inf)
        weights = F.softmax(scores, dim=-1)
        if self.training:
            weights = weights / (1 - self.p)
        return self.finish(weights, x)


class survivors_scaled_twice_in_module__in_other_code(Layers):
    def forward(self, x):
        scores = torch.where(seen(x), self.products(x) * self.d_out**-0.5, float("-inf"))
        weights = scores.softmax(2)
        if self.training:
            kept = torch.rand_like(weights) >= self.p
            weights = weights * kept / (1 - self.p) / (1 - self.p)
        return weights @ self.W_value(x)


class survivors_scaled_again_in_both_modes(Layers):
    def forward(self, x):
        scores = self.W_query(x) @ self.W_key(x).transpose(1, 2)
        scores = (scores / math.sqrt(self.d_out)).masked_fill(~seen(x), -torch.inf)
        weights = F.softmax(scores, dim=-1) / (1 - self.p)
        return self.finish(weights, x)


class survivors_scaled_again_in_both_modes__in_other_code(Layers):
    def forward(self, x):
        scores = torch.where(seen(x), self.products(x) * self.d_out**-0.5, float("-inf"))
        contexts = self.finish(scores.softmax(2), x)
        return contexts * (1 / (1 - self.p))


class always_a_tenth_dropped(Layers):
    def forward(self, x):
        scores = self.W_query(x) @ self.W_key(x).transpose(1, 2)
        scores = (scores / math.sqrt(self.d_out)).masked_fill(~seen(x), -torch.inf)
        self.p = 0.1
        return self.finish(F.softmax(scores, dim=-1), x)


class always_a_tenth_dropped__in_other_code(Layers):
    def forward(self, x):
        scores = torch.where(seen(x), self.products(x) * self.d_out**-0.5, float("-inf"))
        return F.dropout(scores.softmax(2), 0.1, self.training) @ self.W_value(x)


class keys_ask_each_other(Layers):
    def forward(self, x):
        scores = self.W_key(x) @ self.W_key(x).transpose(1, 2)
        scores = scores.masked_fill(~seen(x), -torch.inf)
        return self.finish(F.softmax(scores / math.sqrt(self.d_out), dim=-1), x)


class keys_ask_each_other__in_other_code(Layers):
    def forward(self, x):
        keys = self.W_key(x)
        scores = torch.einsum("bqo,bko->bqk", keys, keys) * self.d_out**-0.5
        return self.finish(torch.where(seen(x), scores, float("-inf")).softmax(2), x)


class inputs_compared(Layers):
    def forward(self, x):
        scores = x @ x.transpose(1, 2)
        scores = scores.masked_fill(~seen(x), -torch.inf)
        return self.finish(F.softmax(scores / math.sqrt(self.d_out), dim=-1), x)


class inputs_compared__in_other_code(Layers):
    def forward(self, x):
        scores = torch.einsum("bqi,bki->bqk", x, x) * self.d_out**-0.5
        return self.finish(torch.where(seen(x), scores, float("-inf")).softmax(2), x)


class keys_and_values_swapped(Layers):
    def forward(self, x):
        scores = self.W_query(x) @ self.W_value(x).transpose(1, 2)
        weights = F.softmax(scores.masked_fill(~seen(x), -torch.inf) / math.sqrt(self.d_out), dim=-1)
        return F.dropout(weights, self.p, self.training) @ self.W_key(x)


class keys_and_values_swapped__in_other_code(Layers):
    def forward(self, x):
        self.W_key, self.W_value = self.W_value, self.W_key
        scores = torch.where(seen(x), self.products(x) * self.d_out**-0.5, float("-inf"))
        contexts = self.finish(scores.softmax(2), x)
        self.W_key, self.W_value = self.W_value, self.W_key
        return contexts


class contexts_transposed(Layers):
    def forward(self, x):
        scores = self.W_query(x) @ self.W_key(x).transpose(1, 2)
        scores = (scores / math.sqrt(self.d_out)).masked_fill(~seen(x), -torch.inf)
        return self.finish(F.softmax(scores, dim=-1), x).transpose(1, 2)


class contexts_transposed__in_other_code(Layers):
    def forward(self, x):
        scores = torch.where(seen(x), self.products(x) * self.d_out**-0.5, float("-inf"))
        weights = F.dropout(scores.softmax(2), self.p, self.training)
        return torch.einsum("bqk,bko->boq", weights, self.W_value(x))


class mixed_by_the_columns(Layers):
    def forward(self, x):
        scores = self.W_query(x) @ self.W_key(x).transpose(1, 2)
        scores = (scores / math.sqrt(self.d_out)).masked_fill(~seen(x), -torch.inf)
        return self.finish(F.softmax(scores, dim=-1).transpose(1, 2), x)


class mixed_by_the_columns__in_other_code(Layers):
    def forward(self, x):
        scores = torch.where(seen(x), self.products(x) * self.d_out**-0.5, float("-inf"))
        weights = F.dropout(scores.softmax(2), self.p, self.training)
        return torch.einsum("bqk,bqo->bko", weights, self.W_value(x))


class WithMask(nn.Module):
    """A right forward with layers of these sizes and names; the classes below make others."""

    names = ("W_query", "W_key", "W_value")

    def __init__(self, d_in, d_out, context_length, dropout, qkv_bias=False):
        super().__init__()
        for name in self.names:
            setattr(self, name, nn.Linear(d_in, d_out, bias=qkv_bias))
        self.dropout = nn.Dropout(dropout)
        self.register_buffer("mask", torch.triu(torch.ones(context_length, context_length), diagonal=1).bool())

    def forward(self, x):
        q, k, v = (self.get_submodule(name)(x) for name in self.names)
        T = x.shape[1]
        scores = (q @ k.mT / k.shape[-1] ** 0.5).masked_fill(self.mask[:T, :T], -torch.inf)
        return self.dropout(F.softmax(scores, dim=-1)) @ v


class layers_under_other_names(WithMask):
    names = ("query", "key", "value")


class layers_under_other_names__projections(WithMask):
    names = ("q_proj", "k_proj", "v_proj")


class layers_under_other_names__one_wide_layer(nn.Module):
    def __init__(self, d_in, d_out, context_length, dropout, qkv_bias=False):
        super().__init__()
        self.c_attn = nn.Linear(d_in, 3 * d_out, bias=qkv_bias)
        self.p = dropout

    def forward(self, x):
        q, k, v = self.c_attn(x).chunk(3, dim=-1)
        return F.scaled_dot_product_attention(q, k, v, dropout_p=self.p * self.training, is_causal=True)


class layers_from_d_out_to_d_out(WithMask):
    def __init__(self, d_in, d_out, context_length, dropout, qkv_bias=False):
        super().__init__(d_out, d_out, context_length, dropout, qkv_bias)


class layers_from_d_out_to_d_out__written_out(Layers):
    def __init__(self, d_in, d_out, context_length, dropout, qkv_bias=False):
        super().__init__(d_in, d_out, context_length, dropout)
        self.W_query = nn.Linear(d_out, d_out, bias=qkv_bias)
        self.W_key = nn.Linear(d_out, d_out, bias=qkv_bias)
        self.W_value = nn.Linear(d_out, d_out, bias=qkv_bias)

    def forward(self, x):
        scores = (self.products(x) / math.sqrt(self.d_out)).masked_fill(~seen(x), -torch.inf)
        return self.finish(scores.softmax(dim=2), x)


class layers_from_d_in_to_d_in(WithMask):
    def __init__(self, d_in, d_out, context_length, dropout, qkv_bias=False):
        super().__init__(d_in, d_in, context_length, dropout, qkv_bias)


class layers_from_d_in_to_d_in__written_out(nn.Module):
    def __init__(self, d_in, d_out, context_length, dropout, qkv_bias=False):
        super().__init__()
        self.W_query = nn.Linear(d_in, d_in, qkv_bias)
        self.W_key = nn.Linear(d_in, d_in, qkv_bias)
        self.W_value = nn.Linear(d_in, d_in, qkv_bias)
        self.p = dropout

    def forward(self, x):
        q, k, v = self.W_query(x), self.W_key(x), self.W_value(x)
        return F.scaled_dot_product_attention(q, k, v, dropout_p=self.p * self.training, is_causal=True)


class mask_of_the_width(WithMask):
    def __init__(self, d_in, d_out, context_length, dropout, qkv_bias=False):
        super().__init__(d_in, d_out, d_out, dropout, qkv_bias)


class mask_of_the_width__in_forward(Layers):
    def forward(self, x):
        T = x.shape[1]
        mask = torch.tril(torch.ones(self.d_out, self.d_out))
        scores = self.products(x) / math.sqrt(self.d_out)
        return self.finish(scores.masked_fill(mask[:T, :T] == 0, -torch.inf).softmax(dim=-1), x)


class another_layer_at_the_end(WithMask):
    def __init__(self, d_in, d_out, context_length, dropout, qkv_bias=False):
        super().__init__(d_in, d_out, context_length, dropout, qkv_bias)
        self.out_proj = nn.Linear(d_out, d_out)

    def forward(self, x):
        return self.out_proj(super().forward(x))


class another_layer_at_the_end__proj(Layers):
    def __init__(self, d_in, d_out, context_length, dropout, qkv_bias=False):
        super().__init__(d_in, d_out, context_length, dropout, qkv_bias)
        self.proj = nn.Linear(d_out, d_out)

    def forward(self, x):
        scores = (self.products(x) / math.sqrt(self.d_out)).masked_fill(~seen(x), -torch.inf)
        return self.proj(self.finish(scores.softmax(dim=2), x))


class no_argument_for_the_bias(WithMask):
    def __init__(self, d_in, d_out, context_length, dropout):
        super().__init__(d_in, d_out, context_length, dropout)


class no_argument_for_the_bias__bias_under_another_name(WithMask):
    def __init__(self, d_in, d_out, context_length, dropout, bias=False):
        super().__init__(d_in, d_out, context_length, dropout, bias)


class scaled_by_eight_in_module(Layers):
    def forward(self, x):
        return self.finish(torch.softmax((self.products(x) / 64**0.5).masked_fill(~seen(x), -1e9), -1), x)


class values_as_queries(Layers):
    def forward(self, x):
        scores = self.W_value(x) @ self.W_key(x).transpose(1, 2) / math.sqrt(self.d_out)
        return self.finish(torch.softmax(scores.masked_fill(~seen(x), -torch.inf), -1), x)
