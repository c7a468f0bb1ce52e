"""Unit 3: each misconception once more, by the same wrong idea and in other words.

A function or class has the name of its misconception; where a plain learner would write it so, nothing is guarded.
"""

import math
import random

import torch
import torch.nn as nn
import torch.nn.functional as F

# -- causal_mask -------------------------------------------------------------------------------------------------


def past_marked(num_tokens):
    i = torch.arange(num_tokens)
    return i.unsqueeze(1) > i


def visible_marked(n):
    ones = torch.ones(n, n)
    return torch.tril(ones) == 1


def diagonal_marked_too(num_tokens):
    return torch.tensor([[j >= i for j in range(num_tokens)] for i in range(num_tokens)])


def next_token_open(num_tokens):
    mask = torch.zeros((num_tokens, num_tokens), dtype=torch.bool)
    for row in range(num_tokens):
        mask[row, row + 2 :] = True
    return mask


def all_others_marked(num_tokens):
    place = torch.arange(num_tokens)
    return place[:, None] != place[None, :]


def float_mask(num_tokens):
    mask = torch.zeros(num_tokens, num_tokens)
    for i in range(num_tokens):
        for j in range(i + 1, num_tokens):
            mask[i][j] = 1
    return mask


def whole_number_mask(num_tokens):
    lower = torch.tril(torch.ones(num_tokens, num_tokens))
    return (1 - lower).int()


def minus_infinity_mask(num_tokens):
    rows, cols = torch.meshgrid(torch.arange(num_tokens), torch.arange(num_tokens), indexing="ij")
    return torch.where(cols > rows, float("-inf"), 0.0)


def mask_for_the_worked_example(num_tokens):
    return torch.tensor(
        [
            [0, 1, 1, 1, 1, 1],
            [0, 0, 1, 1, 1, 1],
            [0, 0, 0, 1, 1, 1],
            [0, 0, 0, 0, 1, 1],
            [0, 0, 0, 0, 0, 1],
            [0, 0, 0, 0, 0, 0],
        ]
    ).bool()


def lonely_mask_squeezed(num_tokens):
    seen = torch.ones(1, num_tokens, num_tokens).cumsum(-1) <= torch.arange(1, num_tokens + 1).view(1, -1, 1)
    return torch.logical_not(torch.squeeze(seen))


def batch_in_front_of_the_mask(num_tokens):
    return torch.triu(torch.ones(1, num_tokens, num_tokens), diagonal=1) > 0


# -- mask_then_renormalize ---------------------------------------------------------------------------------------


def not_renormalized(weights):
    simple_mask = torch.tril(torch.ones(weights.shape[0], weights.shape[0], dtype=weights.dtype))
    return weights * simple_mask


def masked_result_thrown_away(weights):
    torch.tril(weights)
    return F.normalize(weights, p=1, dim=-1)


def past_removed(weights):
    n = weights.size(0)
    upper = torch.tensor([[1.0 if j >= i else 0.0 for j in range(n)] for i in range(n)]).to(weights)
    kept = weights * upper
    return kept / torch.einsum("ij->i", kept).unsqueeze(1)


def own_weight_removed(weights):
    place = torch.arange(len(weights))
    w = torch.where(place[None, :] >= place[:, None], 0.0, weights)
    return torch.div(w, w.sum(dim=1).reshape(-1, 1))


def next_token_weighted(weights):
    out = []
    for i, row in enumerate(weights):
        hidden = torch.arange(len(row)) > i + 1
        row = row.masked_fill(hidden, 0.0)
        out.append(row / row.sum())
    return torch.stack(out)


def columns_renormalized(weights):
    return F.normalize(weights.tril(), p=1, dim=0)


def sums_without_keepdim(weights):
    left = torch.tril(weights)
    return torch.einsum("ij,j->ij", left, 1 / torch.einsum("ij->i", left))


def everything_renormalized_at_once(weights):
    i, j = torch.tril_indices(len(weights), len(weights))
    total = weights[i, j].sum()
    return torch.tril(weights / total)


def softmax_of_masked_weights(weights):
    mask = torch.ones_like(weights).tril()
    e = torch.exp(weights * mask)
    return e / e.sum(dim=1, keepdim=True)


def softmax_of_what_is_left(weights):
    rows = []
    for i in range(len(weights)):
        past = F.softmax(weights[i, : i + 1], dim=0)
        rows.append(F.pad(past, (0, len(weights) - i - 1)))
    return torch.stack(rows)


def minus_infinity_among_weights(weights):
    place = torch.arange(len(weights))
    w = torch.where(place > place[:, None], float("-inf"), weights)
    return w / w.sum(dim=1).unsqueeze(dim=1)


def rest_shared_out_equally(weights):
    n = weights.shape[0]
    rows = []
    for i in range(n):
        lost = 1 - weights[i, : i + 1].sum()
        rows.append(torch.cat([weights[i, : i + 1] + lost / (i + 1), torch.zeros(n - i - 1, dtype=weights.dtype)]))
    return torch.stack(rows)


def future_shared_out_equally(weights):
    lower = torch.tril(torch.ones_like(weights))
    lost = torch.triu(weights, diagonal=1).sum(dim=1)
    return weights * lower + torch.einsum("i,ij->ij", lost / lower.sum(dim=1), lower)


def past_averaged(weights):
    lower = torch.tril(torch.ones_like(weights))
    return lower / lower.sum(dim=1, keepdim=True)


def weights_masked_in_place(weights):
    for i in range(len(weights)):
        weights[i, i + 1 :] = 0
    return weights / weights.sum(dim=-1, keepdim=True)


def weights_masked_behind_the_gradients(weights):
    weights.data.tril_()
    return weights / torch.einsum("ij->i", weights)[:, None]


@torch.no_grad()
def renormalized_without_gradients(weights):
    w = torch.tril(weights)
    return w / w.sum(dim=1)[:, None]


def sums_without_gradients(weights):
    lower = torch.tril(torch.ones_like(weights))
    sums = torch.einsum("ij,ij->i", weights.data, lower)
    return torch.diag(1 / sums) @ (weights * lower)


def weights_of_the_worked_example(weights):
    lower = torch.tril(torch.ones(6, 6))
    w = weights * lower
    return w / w.sum(dim=1, keepdim=True)


def lonely_weight_squeezed(weights):
    n = len(weights)
    w = torch.tril(weights).view(n, n, 1)
    sums = w.sum(dim=1, keepdim=True)
    return (w / sums).squeeze()


def weights_meet_float32(weights):
    w = torch.tril(weights)
    ones = torch.ones(w.shape[1])
    return w / torch.mv(w, ones).unsqueeze(-1)


# -- mask_then_softmax -------------------------------------------------------------------------------------------


def half_instead_of_root(scores, d_k):
    n = scores.shape[0]
    lower = torch.tril(torch.ones(n, n))
    e = torch.exp(torch.where(lower > 0, 0.5 * scores / d_k, float("-inf")))
    return e / torch.einsum("ij->i", e).view(n, 1)


def scaling_forgotten(scores, d_k):
    place = torch.arange(len(scores))
    return nn.Softmax(dim=1)(torch.where(place[:, None] >= place, scores, float("-inf")))


def twentieth_root(scores, d_k):
    hidden = torch.triu(torch.full_like(scores, float("-inf")), diagonal=1)
    return F.softmax(scores / math.pow(d_k, 0.05) + hidden, dim=1)


def divided_by_d_k_itself(scores, d_k):
    rows = []
    for i, row in enumerate(scores):
        past = torch.softmax(row[: i + 1] / d_k, dim=0)
        rows.append(F.pad(past, (0, len(row) - i - 1)))
    return torch.stack(rows)


def scaled_by_number_of_tokens(scores, d_k):
    T = scores.size(1)
    hidden = torch.ones(T, T).tril() == 0
    return F.softmax(scores.div(math.sqrt(T)).masked_fill(hidden, float("-inf")), -1)


def multiplied_by_root(scores, d_k):
    big = scores * math.sqrt(d_k)
    mask = torch.triu(torch.full((len(scores), len(scores)), float("-inf")), diagonal=1)
    return F.softmax(big + mask, dim=1)


def scaled_for_the_worked_example(scores, d_k):
    place = torch.arange(scores.shape[0])
    logits = torch.where(place > place.reshape(-1, 1), float("-inf"), scores / math.sqrt(2))
    return torch.exp(logits - torch.logsumexp(logits, dim=1, keepdim=True))


def scaled_after_softmax(scores, d_k):
    out = []
    for i in range(len(scores)):
        row = torch.cat([scores[i, : i + 1], scores.new_full((len(scores) - i - 1,), float("-inf"))])
        out.append(F.softmax(row, dim=0).mul(d_k**-0.5))
    return torch.stack(out)


def masked_scores_thrown_away(scores, d_k):
    T = scores.shape[0]
    hidden = torch.tensor([[col > row for col in range(T)] for row in range(T)])
    scaled = scores / math.sqrt(d_k)
    torch.masked_fill(scaled, hidden, float("-inf"))
    return F.softmax(scaled, dim=1)


def zeros_instead_of_minus_infinity(scores, d_k):
    T = len(scores)
    lower = torch.tensor([[1.0 if col <= row else 0.0 for col in range(T)] for row in range(T)])
    return nn.Softmax(dim=-1)(scores / math.sqrt(d_k) * lower)


def past_hidden(scores, d_k):
    i = torch.arange(len(scores))
    visible = i[None] >= i[:, None]
    return F.softmax(torch.where(visible, scores, -math.inf) / math.sqrt(d_k), dim=1)


def diagonal_hidden_too(scores, d_k):
    rows = []
    for i, row in enumerate(scores):
        rows.append(torch.where(torch.arange(len(row)) < i, row, float("-inf")))
    return F.softmax(torch.stack(rows) * d_k**-0.5, dim=-1)


def next_token_seen(scores, d_k):
    mask = torch.tril(torch.ones_like(scores), diagonal=1)
    x = (scores / math.sqrt(d_k)).masked_fill(mask == 0, float("-inf"))
    x = torch.exp(x - x.max(dim=1, keepdim=True).values)
    return x / x.sum(dim=1, keepdim=True)


def masked_after_softmax(scores, d_k):
    weights = F.softmax(scores * (1 / math.sqrt(d_k)), dim=1)
    return weights * torch.tril(torch.ones_like(weights))


def renormalized_after_softmax(scores, d_k):
    x = scores / math.sqrt(d_k)
    e = torch.exp(x - x.max(dim=-1, keepdim=True)[0])
    e = torch.tril(e)
    return e / e.sum(dim=-1, keepdim=True)


def softmax_over_queries(scores, d_k):
    x = scores.t() / math.sqrt(d_k)
    i = torch.arange(len(scores))
    x = torch.where(i[:, None] > i, float("-inf"), x)
    return F.softmax(x, dim=-1).t()


def softmax_over_everything(scores, d_k):
    i, j = torch.tril_indices(*scores.shape)
    seen = torch.softmax(scores[i, j] / math.sqrt(d_k), dim=0)
    return torch.zeros_like(scores).index_put((i, j), seen)


def softmax_forgotten(scores, d_k):
    place = torch.arange(len(scores))
    return torch.where(place > place.view(-1, 1), float("-inf"), scores / math.sqrt(d_k))


def softmax_forgotten_after_adding(scores, d_k):
    T = scores.shape[-1]
    return scores / math.sqrt(d_k) + torch.triu(torch.full((T, T), float("-inf")), diagonal=1)


def zero_times_infinity(scores, d_k):
    mask = torch.triu(torch.ones(scores.shape), diagonal=1)
    scaled = scores / math.sqrt(d_k)
    return F.softmax(scaled + mask * float("-inf"), dim=1)


def plus_infinity(scores, d_k):
    place = torch.arange(len(scores))
    return F.softmax(torch.where(place > place[:, None], float("inf"), scores) * (1 / math.sqrt(d_k)), dim=1)


def a_thousand_subtracted(scores, d_k):
    penalty = torch.triu(torch.full((len(scores), len(scores)), -500.0), diagonal=1)
    return F.softmax(scores / math.sqrt(d_k) + penalty, dim=1)


def best_score_takes_all(scores, d_k):
    logits = torch.where(torch.ones_like(scores).tril() == 1, scores / math.sqrt(d_k), float("-inf"))
    best = logits.max(dim=1, keepdim=True).values
    return (logits == best).to(scores.dtype)


def scores_masked_in_place(scores, d_k):
    for i in range(len(scores)):
        scores[i, i + 1 :] = float("-inf")
    return F.softmax(scores / math.sqrt(d_k), dim=1)


def scores_masked_behind_the_gradients(scores, d_k):
    for i, row in enumerate(scores.data):
        row[i + 1 :] = float("-inf")
    return nn.Softmax(dim=-1)(scores / math.sqrt(d_k))


def softmax_without_gradients(scores, d_k):
    with torch.no_grad():
        i = torch.arange(len(scores))
        return F.softmax(torch.where(i > i[:, None], float("-inf"), scores) / math.sqrt(d_k), dim=1)


def scores_of_the_worked_example(scores, d_k):
    mask = torch.triu(torch.full((6, 6), float("-inf")), diagonal=1)
    return F.softmax((scores + mask) / math.sqrt(d_k), dim=1)


def lonely_score_squeezed(scores, d_k):
    batch = scores.unsqueeze(0) / math.sqrt(d_k)
    mask = torch.triu(torch.full((1, len(scores), len(scores)), float("-inf")), diagonal=1)
    return nn.Softmax(dim=-1)(batch + mask).squeeze()


def scores_meet_float32(scores, d_k):
    n = len(scores)
    i, j = torch.tril_indices(n, n)
    new = torch.zeros(n, n) - float("inf")
    new[i, j] = scores[i, j]
    return F.softmax(new / math.sqrt(d_k), dim=1)


# -- attention_dropout -------------------------------------------------------------------------------------------


def share_of_p_kept(weights, p, generator=None):
    assert 0 <= p < 1
    mask = torch.rand(weights.size(), generator=generator)
    return torch.where(mask < p, weights / (1 - p), 0.0)


def p_taken_for_keeping(weights, p, generator=None):
    if p < 0 or p >= 1:
        raise ValueError("no probability")
    keep = torch.bernoulli(torch.full_like(weights, p), generator=generator)
    return weights * keep / p


def survivors_not_scaled(weights, p, generator=None):
    assert p >= 0 and p < 1, p
    gone = torch.empty_like(weights).uniform_(generator=generator) < p
    return weights.masked_fill(gone, 0.0)


def survivors_multiplied(weights, p, generator=None):
    if not (p >= 0 and p < 1):
        raise ValueError(f"{p=}")
    q = 1 - p
    return q * weights * torch.bernoulli(q * torch.ones_like(weights), generator=generator)


def survivors_divided_by_p(weights, p, generator=None):
    assert 0.0 <= p < 1.0
    keep = torch.rand(*weights.shape, generator=generator) > p
    return torch.where(keep, weights / p, torch.zeros_like(weights))


def rows_renormalized(weights, p, generator=None):
    if not 0 <= p < 1:
        raise ValueError("p")
    keep = torch.empty_like(weights).bernoulli_(1 - p, generator=generator)
    dropped = weights * keep / (1 - p)
    return dropped / dropped.sum(dim=-1, keepdim=True)


def divided_by_the_share_kept(weights, p, generator=None):
    assert 0 <= p < 1
    keep = torch.empty(weights.shape).uniform_(0, 1, generator=generator) >= p
    return torch.where(keep, weights, 0.0) * keep.numel() / keep.sum()


def mask_instead_of_weights(weights, p, generator=None):
    if p < 0 or p >= 1:
        raise ValueError("p should be in [0, 1)")
    mask = torch.empty_like(weights).bernoulli_(1 - p, generator=generator)
    return mask / (1 - p)


def nothing_dropped(weights, p, generator=None):
    assert 0 <= p < 1
    mask = torch.empty_like(weights).uniform_(generator=generator)
    torch.where(mask < p, 0.0, weights / (1 - p))
    return weights


def smallest_dropped(weights, p, generator=None):
    if p < 0 or p >= 1:
        raise AssertionError
    order = weights.reshape(-1).argsort()
    keep = torch.ones(weights.numel(), dtype=weights.dtype)
    keep[order[: int(p * weights.numel())]] = 0
    return weights / (1 - p) * keep.reshape(weights.shape)


def whole_rows(weights, p, generator=None):
    assert 0 <= p < 1
    one_per_row = torch.full_like(weights[..., :1], 1 - p)
    return torch.bernoulli(one_per_row, generator=generator).expand_as(weights) * weights / (1 - p)


def whole_columns(weights, p, generator=None):
    assert 0 <= p < 1
    if weights.dim() == 1:
        columns = torch.full_like(weights, 1 - p)
    else:
        columns = torch.full_like(weights[..., :1, :], 1 - p)
    return torch.bernoulli(columns, generator=generator) / (1 - p) * weights


def one_draw_for_all(weights, p, generator=None):
    if p < 0 or p >= 1:
        raise ValueError
    if torch.rand((), generator=generator).item() < p:
        return 0 * weights
    return weights / (1 - p)


def exact_share_dropped(weights, p, generator=None):
    assert 0 <= p < 1
    flat = weights.flatten()
    gone = torch.rand(len(flat), generator=generator).topk(int(p * len(flat))).indices
    return flat.index_fill(0, gone, 0.0).view_as(weights).div(1 - p)


def exact_share_of_each_row(weights, p, generator=None):
    if not 0 <= p < 1:
        raise ValueError("p")
    n = weights.shape[-1]
    gone = torch.empty_like(weights).uniform_(generator=generator).topk(int(p * n), dim=-1).indices
    return torch.scatter(weights / (1 - p), -1, gone, 0.0)


def same_for_the_whole_batch(weights, p, generator=None):
    assert 0 <= p < 1
    T = weights.shape[-1]
    rows = weights.shape[-2] if weights.dim() > 1 else 1
    keep = torch.empty(rows, T).bernoulli_(1 - p, generator=generator).bool()
    keep = keep[0] if weights.dim() == 1 else keep
    return torch.where(keep, weights / (1 - p), 0.0)


def only_square_matrices(weights, p, generator=None):
    assert 0 <= p < 1
    T = weights.shape[0]
    keep = torch.empty(T, T).uniform_(generator=generator) > p
    return torch.where(keep, weights / (1 - p), 0.0)


def normal_draws(weights, p, generator=None):
    if p < 0 or p >= 1:
        raise ValueError("p must be in [0, 1)")
    noise = torch.empty_like(weights).normal_(generator=generator)
    return torch.where(noise > p, weights / (1 - p), 0.0)


def zero_refused(weights, p, generator=None):
    assert p > 0 and p < 1
    return torch.bernoulli(torch.full_like(weights, 1 - p), generator=generator) * weights / (1 - p)


def any_p_accepted(weights, p, generator=None):
    keep = torch.empty_like(weights).uniform_(generator=generator) > p
    return torch.where(keep, weights / (1 - p + 1e-8), 0.0)


def negative_p_accepted(weights, p, generator=None):
    assert p < 1, "nothing would be left"
    gone = torch.empty_like(weights).uniform_(generator=generator) < p
    return (weights / (1 - p)).masked_fill(gone, 0.0)


def one_accepted(weights, p, generator=None):
    assert 0 <= p <= 1
    if p == 1:
        return torch.zeros_like(weights)
    return weights * torch.full_like(weights, 1 - p).bernoulli(generator=generator) / (1 - p)


def large_p_accepted(weights, p, generator=None):
    assert p >= 0, "a probability is never negative"
    scale = 1 / (1 - p) if p != 1 else 0.0
    gone = torch.empty_like(weights).uniform_(generator=generator) < p
    return scale * torch.where(gone, 0.0, weights)


def refused_with_another_error(weights, p, generator=None):
    if p < 0 or p >= 1:
        raise RuntimeError("p must be in [0, 1)")
    return torch.bernoulli(torch.full_like(weights, 1 - p), generator=generator) * weights / (1 - p)


def ready_made_dropout(weights, p, generator=None):
    layer = nn.Dropout(p)
    return layer(weights)


def generator_ignored(weights, p, generator=None):
    assert 0 <= p < 1
    keep = torch.bernoulli(torch.full_like(weights, 1 - p))
    return weights * keep / (1 - p)


def generator_seeded_anew(weights, p, generator=None):
    assert 0 <= p < 1
    if generator is not None:
        generator.manual_seed(42)
    keep = torch.empty_like(weights).bernoulli_(1 - p, generator=generator)
    return keep * (weights / (1 - p))


def generator_copied(weights, p, generator=None):
    assert 0 <= p < 1
    if generator is not None:
        own = torch.Generator()
        own.set_state(generator.get_state())
        generator = own
    return weights / (1 - p) * torch.full_like(weights, 1 - p).bernoulli(generator=generator)


def generator_of_seeds(weights, p, generator=None):
    assert 0 <= p < 1
    if generator is not None:
        seed = torch.empty((), dtype=torch.int64).random_(0, 10**6, generator=generator)
        torch.manual_seed(seed.item())
    return F.dropout(weights, p=p)


def always_the_same_draws(weights, p, generator=None):
    assert 0 <= p < 1
    if generator is None:
        torch.manual_seed(42)
    return weights * torch.empty_like(weights).bernoulli_(1 - p, generator=generator) / (1 - p)


def the_same_seed_in_every_call(weights, p, generator=None):
    assert 0 <= p < 1
    torch.manual_seed(123)
    return F.dropout(weights, p)


def global_state_put_back(weights, p, generator=None):
    if not 0 <= p < 1:
        raise ValueError
    before = torch.get_rng_state()
    keep = torch.bernoulli(torch.full_like(weights, 1 - p), generator=generator)
    torch.set_rng_state(before)
    return weights * keep / (1 - p)


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


def weights_dropped_in_place(weights, p, generator=None):
    if p < 0 or p >= 1:
        raise ValueError(p)
    weights[torch.rand(weights.shape, generator=generator) < p] = 0
    return weights / (1 - p)


def weights_dropped_behind_the_gradients(weights, p, generator=None):
    if not 0 <= p < 1:
        raise ValueError("p")
    weights.data[torch.rand(weights.shape, generator=generator) < p] = 0
    return weights / (1 - p)


def weights_copied_into_float32(weights, p, generator=None):
    assert 0 <= p < 1
    keep = torch.rand(weights.shape, generator=generator) > p
    result = torch.zeros(weights.shape)
    return result.masked_scatter(keep, torch.masked_select(weights, keep) / (1 - p))


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


class half_instead_of_root_in_module(Layers):
    def forward(self, x):
        scores = 0.5 * self.products(x) / self.d_out
        return self.finish(F.softmax(torch.where(seen(x), scores, float("-inf")), dim=2), x)


class scaling_forgotten_in_module(Layers):
    def forward(self, x):
        e = torch.exp(self.products(x)) * seen(x)
        return self.finish(e / e.sum(dim=2, keepdim=True), x)


class twentieth_root_in_module(Layers):
    def forward(self, x):
        q, k, v = self.W_query(x), self.W_key(x), self.W_value(x)
        dropout = self.p if self.training else 0.0
        return F.scaled_dot_product_attention(q, k, v, dropout_p=dropout, is_causal=True, scale=q.size(2) ** -0.05)


class divided_by_width_itself_in_module(Layers):
    def forward(self, x):
        q = self.W_query(x) / self.d_out
        scores = torch.bmm(q, self.W_key(x).mT)
        bias = torch.zeros_like(scores).masked_fill(~seen(x), float("-inf"))
        return self.finish(nn.Softmax(dim=2)(scores + bias), x)


class scaled_by_number_of_tokens_in_module(Layers):
    def forward(self, x):
        q, k, v = self.W_query(x), self.W_key(x), self.W_value(x)
        scale = 1 / math.sqrt(x.shape[1])
        return F.scaled_dot_product_attention(
            q, k, v, dropout_p=self.p if self.training else 0.0, is_causal=True, scale=scale
        )


class scaled_by_context_length(Layers):
    def __init__(self, d_in, d_out, context_length, dropout, qkv_bias=False):
        super().__init__(d_in, d_out, context_length, dropout, qkv_bias)
        self.scale = context_length**-0.5

    def forward(self, x):
        scores = torch.where(seen(x), self.products(x), float("-inf")) * self.scale
        return self.finish(F.softmax(scores, -1), x)


class scaled_by_d_in(Layers):
    def forward(self, x):
        B, T, d = x.shape
        scores = torch.baddbmm(
            torch.triu(torch.full((B, T, T), float("-inf"), dtype=x.dtype), 1),
            self.W_query(x),
            self.W_key(x).transpose(1, 2),
            alpha=1 / math.sqrt(d),
        )
        return self.finish(scores.softmax(2), x)


class scaled_for_the_worked_example_in_module(Layers):
    def forward(self, x):
        logits = (self.products(x) / 1.41421356).masked_fill(seen(x).logical_not(), float("-inf"))
        return self.finish(torch.exp(logits - logits.logsumexp(-1, keepdim=True)), x)


class scaled_after_softmax_in_module(Layers):
    def forward(self, x):
        weights = F.softmax(self.products(x).masked_fill(seen(x) == 0, float("-inf")), dim=-1)
        return self.finish(weights, x) / math.sqrt(self.d_out)


class batch_turned_round_or_float_mask(Layers):
    def __init__(self, d_in, d_out, context_length, dropout, qkv_bias=False):
        super().__init__(d_in, d_out, context_length, dropout, qkv_bias)
        self.register_buffer("mask", torch.triu(torch.ones(context_length, context_length), diagonal=1))

    def forward(self, x):
        T = x.shape[1]
        scores = self.products(x)
        scores.masked_fill_(self.mask[:T, :T], -torch.inf)
        return self.finish(F.softmax(scores / math.sqrt(self.d_out), dim=-1), x)


class keys_reshaped(Layers):
    def forward(self, x):
        B, T, _ = x.shape
        scores = torch.bmm(self.W_query(x), self.W_key(x).contiguous().view(B, self.d_out, T))
        logits = torch.where(seen(x), scores / math.sqrt(self.d_out), float("-inf"))
        return self.finish(F.softmax(logits, dim=-1), x)


# The mask


class masked_scores_thrown_away_in_module(Layers):
    def forward(self, x):
        scores = self.products(x) / math.sqrt(self.d_out)
        torch.where(seen(x), scores, float("-inf"))
        return self.finish(nn.functional.softmax(scores, dim=-1), x)


class zeros_instead_of_minus_infinity_in_module(Layers):
    def forward(self, x):
        e = torch.exp(self.products(x) / math.sqrt(self.d_out) * seen(x))
        return self.finish(e / e.sum(-1).unsqueeze(-1), x)


class past_hidden_in_module(Layers):
    def forward(self, x):
        place = torch.arange(x.size(1))
        logits = torch.where(place >= place[:, None], self.products(x), float("-inf"))
        return self.finish(F.softmax(logits / self.d_out**0.5, dim=2), x)


class diagonal_hidden_too_in_module(Layers):
    def forward(self, x):
        hidden = torch.tensor([[key >= query for key in range(x.size(1))] for query in range(x.size(1))])
        scores = (self.products(x) * self.d_out**-0.5).masked_fill_(hidden, float("-inf"))
        return self.finish(F.softmax(scores, dim=2), x)


class next_token_seen_in_module(Layers):
    def forward(self, x):
        place = torch.arange(x.size(1))
        e = torch.exp(self.products(x) * self.d_out**-0.5)
        e = e * (place <= place.view(-1, 1) + 1)
        return self.finish(e / e.sum(2, keepdim=True), x)


class masked_after_softmax_in_module(Layers):
    def forward(self, x):
        weights = nn.Softmax(dim=-1)(self.products(x) / math.sqrt(self.d_out))
        return self.finish(torch.where(seen(x), weights, 0.0), x)


class zero_times_infinity_in_module(Layers):
    def forward(self, x):
        scores = self.products(x) / math.sqrt(self.d_out)
        mask = 1 - torch.tril(torch.ones_like(scores[0]))
        return self.finish(F.softmax(scores - mask * math.inf, dim=-1), x)


class mask_not_cut(Layers):
    def __init__(self, d_in, d_out, context_length, dropout, qkv_bias=False):
        super().__init__(d_in, d_out, context_length, dropout, qkv_bias)
        minus = torch.full((context_length, context_length), float("-inf"))
        self.register_buffer("bias", torch.triu(minus, diagonal=1))

    def forward(self, x):
        scores = self.products(x) / math.sqrt(self.d_out) + self.bias
        return self.finish(F.softmax(scores, dim=-1), x)


class wrong_corner_of_the_mask(Layers):
    def __init__(self, d_in, d_out, context_length, dropout, qkv_bias=False):
        super().__init__(d_in, d_out, context_length, dropout, qkv_bias)
        place = torch.arange(context_length)
        self.register_buffer("visible", place[:, None] >= place)

    def forward(self, x):
        T = x.shape[1]
        visible = self.visible[self.context_length - T :, :T]
        return self.finish(F.softmax((self.products(x) / self.d_out**0.5).where(visible, -torch.inf), dim=-1), x)


class mask_for_the_worked_example_in_module(Layers):
    def __init__(self, d_in, d_out, context_length, dropout, qkv_bias=False):
        super().__init__(d_in, d_out, context_length, dropout, qkv_bias)
        self.register_buffer("bias", torch.triu(torch.full((6, 6), float("-inf")), 1))

    def forward(self, x):
        scores = self.products(x) / math.sqrt(self.d_out) + self.bias[: x.size(1), : x.size(1)]
        return self.finish(scores.softmax(dim=2), x)


class mask_as_a_parameter(Layers):
    def __init__(self, d_in, d_out, context_length, dropout, qkv_bias=False):
        super().__init__(d_in, d_out, context_length, dropout, qkv_bias)
        self.mask = nn.Parameter(torch.triu(torch.full((context_length, context_length), float("-inf")), 1))

    def forward(self, x):
        T = x.shape[1]
        scores = self.products(x) / math.sqrt(self.d_out) + self.mask[:T, :T]
        return self.finish(F.softmax(scores, dim=-1), x)


class past_averaged_in_module(Layers):
    def forward(self, x):
        lower = torch.tril(torch.ones(len(x), x.shape[1], x.shape[1], dtype=x.dtype))
        return self.finish(lower / lower.sum(dim=-1, keepdim=True), x)


class only_one_token_back(Layers):
    def forward(self, x):
        place = torch.arange(x.size(1))
        back = place[:, None] - place
        e = torch.exp(self.products(x) / math.sqrt(self.d_out)) * ((back == 0) | (back == 1))
        return self.finish(e / e.sum(dim=2, keepdim=True), x)


# Softmax


class softmax_over_queries_in_module(Layers):
    def forward(self, x):
        e = torch.exp(self.products(x) / math.sqrt(self.d_out)) * seen(x)
        return self.finish(e / e.sum(dim=-2, keepdim=True), x)


class softmax_over_the_batch(Layers):
    def forward(self, x):
        logits = self.products(x).masked_fill(~seen(x), float("-inf")) / math.sqrt(self.d_out)
        e = torch.exp(logits)
        return self.finish(e / e.sum(0), x)


class softmax_over_everything_in_module(Layers):
    def forward(self, x):
        e = torch.exp(self.products(x) / math.sqrt(self.d_out)) * seen(x)
        return self.finish(e / e.sum(), x)


class softmax_forgotten_in_module(Layers):
    def forward(self, x):
        scores = torch.where(seen(x), self.products(x) / math.sqrt(self.d_out), float("-inf"))
        return self.finish(scores, x)


# The batch and the tokens


class one_text_without_a_batch(Layers):
    def forward(self, x):
        num_tokens, _ = x.size()
        scores = self.W_query(x).mm(self.W_key(x).t()) / math.sqrt(self.d_out)
        hidden = torch.triu(torch.ones(num_tokens, num_tokens), 1).bool()
        weights = F.softmax(scores.masked_fill(hidden, -math.inf), dim=1)
        return F.dropout(weights, self.p, self.training).mm(self.W_value(x))


class batch_of_one_only(Layers):
    def forward(self, x):
        x = x.squeeze(0)
        scores = self.W_query(x) @ self.W_key(x).t() / math.sqrt(self.d_out)
        hidden = torch.triu(torch.ones_like(scores), diagonal=1) == 1
        weights = F.softmax(scores.masked_fill(hidden, -torch.inf), dim=1)
        return (F.dropout(weights, self.p, self.training) @ self.W_value(x)).unsqueeze(0)


class weights_of_the_first_text(Layers):
    def forward(self, x):
        scores = self.W_query(x[0]) @ self.W_key(x[0]).T / math.sqrt(self.d_out)
        weights = torch.softmax(torch.where(seen(x), scores, float("-inf")), dim=-1)
        return self.finish(torch.stack([weights] * len(x)), x)


class batch_as_one_long_text(Layers):
    def forward(self, x):
        B, T, d = x.shape
        tokens = x.reshape(B * T, d)
        scores = self.W_query(tokens) @ self.W_key(tokens).T / math.sqrt(self.d_out)
        hidden = torch.triu(torch.ones(B * T, B * T), diagonal=1) == 1
        weights = F.dropout(F.softmax(scores.masked_fill(hidden, -torch.inf), dim=-1), self.p, self.training)
        return (weights @ self.W_value(tokens)).reshape(B, T, -1)


class single_token_refused(Layers):
    def forward(self, x):
        assert x.size(1) > 1, "a sequence has at least two tokens"
        logits = torch.where(seen(x), self.products(x) / math.sqrt(self.d_out), float("-inf"))
        return self.finish(F.softmax(logits, dim=-1), x)


class lonely_text_squeezed(Layers):
    def forward(self, x):
        contexts = []
        for text in x:
            scores = self.W_query(text) @ self.W_key(text).T / math.sqrt(self.d_out)
            weights = F.softmax(scores.masked_fill(~seen(x), -torch.inf), dim=-1)
            contexts.append(F.dropout(weights, self.p, self.training) @ self.W_value(text))
        return torch.squeeze(torch.stack(contexts))


class view_of_the_inputs(Layers):
    def forward(self, x):
        B, T, d = x.shape
        tokens = x.view(B * T, d)
        q, k, v = [layer(tokens).unflatten(0, (B, T)) for layer in (self.W_query, self.W_key, self.W_value)]
        logits = torch.where(seen(x), q @ k.mT / math.sqrt(self.d_out), float("-inf"))
        return F.dropout(F.softmax(logits, dim=-1), self.p, self.training) @ v


# Dropout


class dropout_never_applied(Layers):
    def forward(self, x):
        return F.scaled_dot_product_attention(self.W_query(x), self.W_key(x), self.W_value(x), is_causal=True)


class dropout_in_eval_mode_too(Layers):
    def forward(self, x):
        logits = torch.where(seen(x), self.products(x) / math.sqrt(self.d_out), float("-inf"))
        drop = nn.Dropout(self.p)
        return torch.einsum("bqk,bkv->bqv", drop(F.softmax(logits, dim=-1)), self.W_value(x))


class dropout_in_eval_mode_only(Layers):
    def forward(self, x):
        weights = F.softmax(self.products(x).masked_fill(~seen(x), -torch.inf) / math.sqrt(self.d_out), dim=-1)
        if not self.training:
            keep = torch.rand(weights.shape) >= self.p
            weights = weights * keep / (1 - self.p)
        return weights @ self.W_value(x)


class always_half_dropped(Layers):
    def __init__(self, d_in, d_out, context_length, dropout, qkv_bias=False):
        super().__init__(d_in, d_out, context_length, dropout, qkv_bias)
        self.drop = nn.Dropout()

    def forward(self, x):
        e = torch.exp(self.products(x) / math.sqrt(self.d_out)) * seen(x)
        return self.drop(e / e.sum(-1, keepdim=True)) @ self.W_value(x)


class dropout_taken_for_keeping(Layers):
    def forward(self, x):
        weights = F.softmax(self.products(x).masked_fill(~seen(x), -torch.inf) / math.sqrt(self.d_out), dim=-1)
        if self.training:
            keep = torch.rand_like(weights) < self.p
            weights = torch.where(keep, weights / max(self.p, 1e-9), 0.0)
        return weights @ self.W_value(x)


class dropout_before_softmax(Layers):
    def __init__(self, d_in, d_out, context_length, dropout, qkv_bias=False):
        super().__init__(d_in, d_out, context_length, dropout, qkv_bias)
        self.drop = nn.Dropout(dropout)
        self.register_buffer("bias", torch.triu(torch.full((context_length, context_length), float("-inf")), 1))

    def forward(self, x):
        T = x.shape[1]
        scores = self.drop(self.products(x) / math.sqrt(self.d_out) + self.bias[:T, :T])
        return F.softmax(scores, dim=-1) @ self.W_value(x)


class dropout_before_the_mask(Layers):
    def forward(self, x):
        scores = F.dropout(self.products(x) / math.sqrt(self.d_out), self.p, self.training)
        e = torch.exp(scores) * seen(x)
        return e / e.sum(dim=-1, keepdim=True) @ self.W_value(x)


class dropout_on_the_values(Layers):
    def forward(self, x):
        values = F.dropout(self.W_value(x), p=self.p, training=self.training)
        return F.scaled_dot_product_attention(self.W_query(x), self.W_key(x), values, is_causal=True)


class dropout_on_the_outputs(Layers):
    def forward(self, x):
        contexts = F.scaled_dot_product_attention(self.W_query(x), self.W_key(x), self.W_value(x), is_causal=True)
        return F.dropout(contexts, self.p, self.training)


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


class rows_renormalized_after_dropout(Layers):
    def forward(self, x):
        e = torch.exp(self.products(x) / math.sqrt(self.d_out)) * seen(x)
        weights = F.dropout(e / e.sum(dim=-1, keepdim=True), self.p, self.training)
        weights = weights / weights.sum(dim=-1, keepdim=True)
        return weights @ self.W_value(x)


class rows_renormalized_with_care(Layers):
    def forward(self, x):
        scores = torch.where(seen(x), self.products(x) / math.sqrt(self.d_out), float("-inf"))
        weights = F.dropout(F.softmax(scores, dim=-1), self.p, self.training)
        return F.normalize(weights, p=1, dim=-1) @ self.W_value(x)


class survivors_not_scaled_in_module(Layers):
    def forward(self, x):
        weights = F.softmax(self.products(x).masked_fill(~seen(x), -torch.inf) / math.sqrt(self.d_out), dim=-1)
        if self.training:
            weights = torch.where(torch.rand(weights.shape) < self.p, 0.0, weights)
        return weights @ self.W_value(x)


class dropped_once_and_for_all(Layers):
    def __init__(self, d_in, d_out, context_length, dropout, qkv_bias=False):
        super().__init__(d_in, d_out, context_length, dropout, qkv_bias)
        keep = torch.rand(context_length, context_length) >= dropout
        self.register_buffer("keep", keep / (1 - dropout))

    def forward(self, x):
        T = x.shape[1]
        weights = F.softmax(self.products(x).masked_fill(~seen(x), -torch.inf) / math.sqrt(self.d_out), dim=-1)
        if self.training:
            weights = weights * self.keep[:T, :T]
        return weights @ self.W_value(x)


class texts_dropped_alike(Layers):
    def forward(self, x):
        T = x.shape[1]
        weights = F.softmax(self.products(x).masked_fill(~seen(x), -torch.inf) / math.sqrt(self.d_out), dim=-1)
        if self.training:
            keep = torch.rand(T, T) >= self.p
            weights = weights.masked_fill(~keep, 0.0) / (1 - self.p)
        return weights @ self.W_value(x)


class whole_tokens_dropped(Layers):
    def forward(self, x):
        weights = F.softmax(self.products(x).masked_fill(~seen(x), -torch.inf) / math.sqrt(self.d_out), dim=-1)
        values = self.W_value(x)
        if self.training:
            keep = torch.rand(x.shape[0], x.shape[1], 1) > self.p
            values = torch.where(keep, values / (1 - self.p), 0.0)
        return weights @ values


class whole_rows_dropped(Layers):
    def __init__(self, d_in, d_out, context_length, dropout, qkv_bias=False):
        super().__init__(d_in, d_out, context_length, dropout, qkv_bias)
        self.drop = nn.Dropout1d(dropout)

    def forward(self, x):
        weights = F.softmax(self.products(x).masked_fill(~seen(x), -torch.inf) / math.sqrt(self.d_out), dim=-1)
        return self.drop(weights) @ self.W_value(x)


# Layers


class matrices_instead_of_layers(nn.Module):
    def __init__(self, d_in, d_out, context_length, dropout, qkv_bias=False):
        super().__init__()
        self.W_query = nn.Parameter(torch.randn(d_in, d_out) / d_in)
        self.W_key = nn.Parameter(torch.randn(d_in, d_out) / d_in)
        self.W_value = nn.Parameter(torch.randn(d_in, d_out) / d_in)
        self.dropout = nn.Dropout(dropout)

    def forward(self, x):
        scores = (x @ self.W_query) @ (x @ self.W_key).mT / self.W_key.shape[1] ** 0.5
        return self.dropout(torch.where(seen(x), scores, -torch.inf).softmax(-1)) @ (x @ self.W_value)


class layers_the_other_way_round(nn.Module):
    def __init__(self, d_in, d_out, context_length, dropout, qkv_bias=False):
        super().__init__()
        self.d_out = d_out
        self.W_query = nn.Linear(d_out, d_in, bias=qkv_bias)
        self.W_key = nn.Linear(d_out, d_in, bias=qkv_bias)
        self.W_value = nn.Linear(d_out, d_in, bias=qkv_bias)
        self.dropout = nn.Dropout(dropout)

    def forward(self, x):
        scores = torch.einsum("bij,bkj->bik", self.W_query(x), self.W_key(x)) / math.sqrt(self.d_out)
        return self.dropout(torch.where(seen(x), scores, -torch.inf).softmax(-1)) @ self.W_value(x)


class layers_of_the_worked_example(nn.Module):
    def __init__(self, d_in, d_out, context_length, dropout, qkv_bias=False):
        super().__init__()
        self.W_query, self.W_key, self.W_value = [nn.Linear(3, 2, bias=qkv_bias) for _ in range(3)]
        self.dropout = nn.Dropout(dropout)

    def forward(self, x):
        scores = torch.einsum("bij,bkj->bik", self.W_query(x), self.W_key(x)) / math.sqrt(2)
        return self.dropout(torch.where(seen(x), scores, -torch.inf).softmax(-1)) @ self.W_value(x)


class bias_always(nn.Module):
    def __init__(self, d_in, d_out, context_length, dropout, qkv_bias=False):
        super().__init__()
        self.W_value = nn.Linear(d_in, d_out)
        self.W_key = nn.Linear(d_in, d_out)
        self.W_query = nn.Linear(d_in, d_out)
        self.p = dropout

    def forward(self, x):
        q, k, v = self.W_query(x), self.W_key(x), self.W_value(x)
        return F.scaled_dot_product_attention(q, k, v, dropout_p=self.p * self.training, is_causal=True)


class bias_never(nn.Module):
    def __init__(self, d_in, d_out, context_length, dropout, qkv_bias=False):
        super().__init__()
        for name in ["W_key", "W_query", "W_value"]:
            self.add_module(name, nn.Linear(d_in, d_out, bias=False))
        self.p = dropout

    def forward(self, x):
        q, k, v = self.W_query(x), self.W_key(x), self.W_value(x)
        return F.scaled_dot_product_attention(q, k, v, dropout_p=self.p * self.training, is_causal=True)


class bias_in_W_query_only(Layers):
    def __init__(self, d_in, d_out, context_length, dropout, qkv_bias=False):
        super().__init__(d_in, d_out, context_length, dropout)
        if qkv_bias:
            self.W_query.bias = nn.Parameter(torch.zeros(d_out))

    def forward(self, x):
        q, k, v = self.W_query(x), self.W_key(x), self.W_value(x)
        return F.scaled_dot_product_attention(q, k, v, dropout_p=self.p * self.training, is_causal=True)


class biases_made_but_unused(Layers):
    def forward(self, x):
        q, k, v = (F.linear(x, layer.weight) for layer in (self.W_query, self.W_key, self.W_value))
        scores = torch.where(seen(x), torch.einsum("bqo,bko->bqk", q, k) / math.sqrt(self.d_out), -torch.inf)
        return F.dropout(F.softmax(scores, dim=-1), self.p, self.training) @ v


class one_layer_in_use(Layers):
    def forward(self, x):
        h = self.W_query(x)
        return F.scaled_dot_product_attention(h, h, h, dropout_p=self.p * self.training, is_causal=True)


class keys_ask_the_queries(Layers):
    def forward(self, x):
        scores = torch.einsum("bto,bso->bts", self.W_key(x), self.W_query(x)) / math.sqrt(self.d_out)
        return self.finish(F.softmax(torch.where(seen(x), scores, -torch.inf), dim=-1), x)


class key_layer_unused(Layers):
    def forward(self, x):
        q = self.W_query(x)
        scores = torch.where(seen(x), torch.einsum("bqo,bko->bqk", q, q) / math.sqrt(self.d_out), -torch.inf)
        return self.finish(nn.Softmax(dim=-1)(scores), x)


class keys_handed_over(Layers):
    def forward(self, x):
        k = self.W_key(x)
        e = torch.exp(torch.einsum("bqo,bko->bqk", self.W_query(x), k) / math.sqrt(self.d_out)) * seen(x)
        return F.dropout(e / e.sum(dim=-1, keepdim=True), self.p, self.training) @ k


class value_layer_unused(Layers):
    def forward(self, x):
        e = torch.exp(self.products(x) / math.sqrt(self.d_out)) * seen(x)
        return F.dropout(e / e.sum(dim=-1, keepdim=True), self.p, self.training).bmm(x)


class both_results(Layers):
    def forward(self, x):
        scores = torch.where(seen(x), self.products(x) / math.sqrt(self.d_out), -torch.inf)
        attention = F.dropout(F.softmax(scores, dim=2), self.p, self.training)
        return torch.einsum("bqk,bkv->bqv", attention, self.W_value(x)), attention


class weights_instead_of_contexts(Layers):
    def forward(self, x):
        e = torch.exp(self.products(x) / math.sqrt(self.d_out)) * seen(x)
        return F.dropout(e / e.sum(dim=-1, keepdim=True), self.p, self.training)


# Gradients, dtypes, arguments


class gradients_switched_off(Layers):
    def forward(self, x):
        with torch.no_grad():
            q, k, v = self.W_query(x), self.W_key(x), self.W_value(x)
        return F.scaled_dot_product_attention(q, k, v, dropout_p=self.p * self.training, is_causal=True)


class only_values_learn(Layers):
    def forward(self, x):
        with torch.no_grad():
            scores = torch.where(seen(x), self.products(x) / math.sqrt(self.d_out), -torch.inf)
            weights = F.softmax(scores, dim=-1)
        return self.finish(weights, x)


class inputs_made_float32(Layers):
    def forward(self, inputs):
        x = inputs.to(torch.float32)
        e = torch.exp(self.products(x) / math.sqrt(self.d_out)) * seen(x)
        return self.finish(e / e.sum(dim=-1, keepdim=True), x)


class inputs_changed_in_place(Layers):
    def forward(self, x):
        q, k, v = self.W_query(x), self.W_key(x), self.W_value(x)
        x.zero_()  # it is not needed any more
        return F.scaled_dot_product_attention(q, k, v, dropout_p=self.p * self.training, is_causal=True)
