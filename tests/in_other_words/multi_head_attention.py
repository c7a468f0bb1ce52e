"""Unit 4: each known mistake once more, as another learner would type it.

A name here is that of the misconception it should be told by.
"""

import copy
import math

import torch
import torch.nn as nn
import torch.nn.functional as F

# -- unroll_heads ---


def features_dealt_in_turn(x, num_heads):
    assert x.size(2) % num_heads == 0, "d_out must be divisible by num_heads"
    return torch.stack([x[:, :, head::num_heads] for head in range(num_heads)], dim=2)


def heads_and_features_exchanged(x, num_heads):
    d_out = x.size(-1)
    assert d_out % num_heads == 0
    return torch.stack(x.split(num_heads, dim=-1), dim=2)


def heads_last(x, num_heads):
    if x.size(-1) % num_heads != 0:
        raise ValueError("num_heads must divide d_out")
    return torch.stack(x.chunk(num_heads, dim=-1), dim=-1)


def grouped_already(x, num_heads):
    head_dim = x.size(-1) // num_heads
    assert head_dim * num_heads == x.size(-1)
    heads = []
    for h in range(num_heads):
        heads.append(x[:, :, h * head_dim : (h + 1) * head_dim])
    return torch.stack(heads, dim=1)


def tokens_taken_for_heads(x, num_heads):
    b, t, d = x.size()
    if d % num_heads:
        raise ValueError(f"cannot share {d} features among {num_heads} heads")
    return x.flatten().unflatten(0, (b, num_heads, t, d // num_heads))


def tokens_taken_for_heads_in_a_view(x, num_heads):
    b, t, d_out = x.shape
    assert d_out % num_heads == 0
    head_dim = d_out // num_heads
    x = x.view(b, num_heads, t, head_dim)
    return x


def check_left_to_reshape(x, num_heads):
    return x.unflatten(-1, (num_heads, -1))


def rest_cut_off(x, num_heads):
    size = int(x.shape[-1] / num_heads)
    parts = [x[..., start : start + size] for start in range(0, size * num_heads, size)]
    return torch.stack(parts, dim=-2)


def every_division_refused(x, num_heads):
    b, t, d_out = x.shape
    assert num_heads % d_out == 0, "num_heads must divide d_out"
    return x.reshape(b, t, num_heads, d_out // num_heads)


def tokens_viewed_as_one_row(x, num_heads):
    b, t, d_out = x.shape
    head_dim, rest = divmod(d_out, num_heads)
    assert rest == 0
    return x.view(-1).unflatten(0, (b, t, num_heads, head_dim))


def unrolled_without_gradients(x, num_heads):
    batch, tokens, width = x.shape
    if width % num_heads > 0:
        raise ValueError("does not divide")
    return torch.tensor(x.tolist()).reshape(batch, tokens, num_heads, width // num_heads)


def resized_in_place(x, num_heads):
    assert x.shape[2] % num_heads == 0
    x.unsqueeze_(2)  # room for the heads
    return torch.cat(torch.chunk(x, num_heads, dim=3), dim=2)


# -- group_by_head ---


def reshaped_instead_of_transposed(x):
    b, t, h, d = x.size()
    return x.flatten(start_dim=1).unflatten(1, (h, t, d))


def viewed_instead_of_transposed(x):
    b, t, h, d = x.size()
    return x.view_as(torch.empty(b, h, t, d))


def batch_exchanged_with_heads(x):
    return torch.einsum("bthd->htbd", x)


def heads_exchanged_with_features(x):
    return torch.stack([x[:, :, :, i] for i in range(x.size(3))], dim=2)


def tokens_exchanged_with_features(x):
    return x.permute(0, 3, 2, 1)


def heads_in_front_of_the_batch(x):
    return torch.stack(x.unbind(dim=2))


def transpose_thrown_away(x):
    y = x
    y.permute(0, 2, 1, 3).contiguous()
    return y


def heads_and_tokens_in_one_row(x):
    return torch.cat([x[:, :, h] for h in range(x.shape[2])], dim=1)


def features_viewed_as_one_row(x):
    b, t, h, d = x.shape
    flat = x.view(b, t * h, d)  # the rows of one head are h apart
    return torch.stack([flat[:, i::h] for i in range(h)], dim=1)


def grouped_without_gradients(x):
    grouped = torch.zeros(x.shape[0], x.shape[2], x.shape[1], x.shape[3])
    with torch.no_grad():
        for h in range(x.shape[2]):
            grouped[:, h] = x[:, :, h]
    return grouped


def transposed_in_place(x):
    x.swapaxes_(2, 1)
    return x


# -- head_scores ---


def scores_scaled_already(queries, keys):
    scores = torch.einsum("bhqd,bhkd->bhqk", queries, keys)
    return scores / math.sqrt(queries.size(-1))


def future_hidden_already(queries, keys):
    t = queries.size(2)
    seen = torch.tril(torch.ones(t, t)) == 1
    return torch.where(seen, torch.matmul(queries, keys.mT), float("-inf"))


def scores_made_weights(queries, keys):
    return nn.Softmax(dim=3)(torch.einsum("bhid,bhjd->bhij", queries, keys))


def keys_ask_the_queries(queries, keys):
    return torch.einsum("bhqd,bhkd->bhkq", queries, keys)


def queries_compared_with_queries(queries, keys):
    return torch.matmul(queries, queries.permute(0, 1, 3, 2))


def wrong_dimensions_transposed(queries, keys):
    return torch.matmul(queries, keys.permute(0, 3, 2, 1))


def keys_reshaped_instead_of_transposed(queries, keys):
    b, h, t, d = keys.shape
    return torch.matmul(queries, keys.contiguous().view(b, h, d, t))


def only_the_own_key(queries, keys):
    return torch.einsum("bhtd,bhtd->bht", queries, keys)


def multiplied_entry_by_entry(queries, keys):
    return torch.stack([q * k for q, k in zip(queries, keys)])


def heads_summed(queries, keys):
    return torch.einsum("bhqd,bhkd->bqk", queries, keys)


def keys_of_all_heads(queries, keys):
    return torch.einsum("bhqd,bgkd->bhqk", queries, keys)


def keys_of_the_first_sequence(queries, keys):
    return torch.einsum("bhqd,hkd->bhqk", queries, keys[0])


def cosines_instead_of_dot_products(queries, keys):
    return F.cosine_similarity(queries.unsqueeze(3), keys.unsqueeze(2), dim=-1)


def heads_viewed_as_a_batch(queries, keys):
    b, h, t, d = queries.size()
    q = queries.view(-1, t, d)
    k = keys.view(-1, t, d)
    return torch.stack([q[i] @ k[i].T for i in range(b * h)]).reshape(b, h, t, t)


def scored_without_gradients(queries, keys):
    with torch.no_grad():
        return torch.einsum("bhqd,bhkd->bhqk", queries, keys)


def only_queries_learn(queries, keys):
    k = keys.data
    return (queries[:, :, :, None, :] * k[:, :, None, :, :]).sum(dim=-1)


def keys_transposed_in_place(queries, keys):
    keys.unsqueeze_(2)
    return (queries.unsqueeze(3) * keys).sum(4)


# -- head_weights ---


def scaling_forgotten(scores, head_dim):
    t = scores.size(-1)
    allowed = torch.tril(torch.ones(t, t, dtype=torch.bool))
    return F.softmax(torch.where(allowed, scores, -math.inf), dim=-1)


def divided_by_head_dim_itself(scores, head_dim):
    n = scores.shape[-1]
    bias = torch.triu(torch.full((n, n), float("-inf")), diagonal=1)
    return nn.Softmax(dim=-1)(scores / head_dim + bias)


def half_instead_of_root(scores, head_dim):
    n = scores.shape[-1]
    keep = torch.arange(n)[:, None] >= torch.arange(n)
    return F.softmax((0.5 * scores / head_dim).masked_fill(~keep, float("-inf")), -1)


def twentieth_root(scores, head_dim):
    n = scores.shape[-1]
    mask = torch.tril(torch.ones(n, n))
    scaled = scores * head_dim**-0.05
    return scaled.masked_fill(mask == 0, -1e9).softmax(3)


def multiplied_by_root(scores, head_dim):
    n = scores.shape[-1]
    scaled = math.sqrt(head_dim) * scores
    future = torch.triu(torch.ones(n, n), 1) > 0
    return torch.where(future, torch.tensor(-math.inf), scaled).softmax(dim=-1)


def scaled_by_number_of_tokens(scores, head_dim):
    d_k = scores.size(-1)
    keep = torch.ones(d_k, d_k).tril() != 0
    return F.softmax(torch.where(keep, scores / math.sqrt(d_k), -math.inf), dim=-1)


def scaled_by_all_heads_together(scores, head_dim):
    b, heads, t, _ = scores.size()
    d_out = heads * head_dim
    rows = [F.softmax(scores[:, :, i, : i + 1] / math.sqrt(d_out), dim=-1) for i in range(t)]
    return torch.stack([F.pad(row, (0, t - row.size(-1))) for row in rows], dim=2)


def scaled_by_number_of_heads(scores, head_dim):
    num_heads, t = scores.size(1), scores.size(2)
    hide = torch.full((t, t), -math.inf).triu(1)
    return torch.softmax(scores.div(math.sqrt(num_heads)) + hide, -1)


def scaled_after_softmax(scores, head_dim):
    t = scores.size(3)
    keep = torch.tril(torch.ones(t, t, dtype=bool))
    weights = torch.where(keep, scores, -torch.inf).softmax(-1)
    return weights * head_dim**-0.5


def future_visible(scores, head_dim):
    return F.softmax(scores / math.sqrt(head_dim), dim=-1)


def past_hidden(scores, head_dim):
    t = scores.size(-1)
    keep = torch.triu(torch.ones(t, t))
    scaled = scores / math.sqrt(head_dim)
    return F.softmax(torch.where(keep == 1, scaled, float("-inf")), dim=-1)


def diagonal_hidden(scores, head_dim):
    t = scores.size(-1)
    keep = torch.tril(torch.ones(t, t), diagonal=-1).bool()
    return F.softmax(torch.where(keep, scores / math.sqrt(head_dim), float("-inf")), dim=-1)


def diagonal_lowered(scores, head_dim):
    t = scores.size(-1)
    seen = torch.tril(torch.ones(t, t), diagonal=-1)
    return F.softmax(scores.masked_fill(seen == 0, -1e9) / math.sqrt(head_dim), dim=-1)


def next_token_visible(scores, head_dim):
    t = scores.size(-1)
    keep = torch.tril(torch.ones(t, t), diagonal=1)
    return F.softmax((scores / math.sqrt(head_dim)).masked_fill(keep == 0, -math.inf), dim=-1)


def future_zero_before_softmax(scores, head_dim):
    t = scores.size(-1)
    past = torch.tril(torch.ones(t, t))
    return F.softmax(scores * past / math.sqrt(head_dim), dim=-1)


def future_zero_after_softmax(scores, head_dim):
    t = scores.size(-1)
    weights = F.softmax(scores / math.sqrt(head_dim), dim=-1)
    return weights.masked_fill(torch.ones(t, t).triu(1) == 1, 0.0)


def renormalised_after_softmax(scores, head_dim):
    t = scores.size(-1)
    simple_mask = torch.tril(torch.ones(t, t))
    masked = F.softmax(scores / math.sqrt(head_dim), dim=-1) * simple_mask
    row_sums = torch.einsum("bhqk->bhq", masked)
    return masked / row_sums.unsqueeze(-1)


def future_lowered_by_too_little(scores, head_dim):
    t = scores.size(-1)
    penalty = torch.triu(torch.full((t, t), -100.0), diagonal=1)
    return F.softmax(scores / math.sqrt(head_dim) + penalty, dim=-1)


def softmax_over_queries(scores, head_dim):
    t = scores.size(-1)
    keep = torch.tril(torch.ones(t, t, dtype=torch.bool))
    scaled = torch.where(keep, scores / math.sqrt(head_dim), -math.inf)
    return nn.Softmax(dim=2)(scaled)


def softmax_over_heads(scores, head_dim):
    t = scores.size(-1)
    keep = torch.tril(torch.ones(t, t, dtype=torch.bool))
    return F.softmax(torch.where(keep, scores / math.sqrt(head_dim), -math.inf))


def softmax_over_heads_of_lowered_scores(scores, head_dim):
    t = scores.size(-1)
    scores = torch.where(torch.tril(torch.ones(t, t)) == 0, -1e9, scores)
    return nn.Softmax(dim=1)(scores * head_dim**-0.5)


def softmax_over_the_batch(scores, head_dim):
    t = scores.size(-1)
    keep = torch.tril(torch.ones(t, t, dtype=torch.bool))
    return nn.Softmax(dim=0)(torch.where(keep, scores / math.sqrt(head_dim), -math.inf))


def softmax_forgotten(scores, head_dim):
    t = scores.size(-1)
    weights = torch.zeros_like(scores)
    for i in range(t):
        weights[:, :, i, : i + 1] = scores[:, :, i, : i + 1] / math.sqrt(head_dim)
    return weights


def divided_by_sum(scores, head_dim):
    t = scores.size(-1)
    past = torch.where(torch.tril(torch.ones(t, t)) == 1, scores / math.sqrt(head_dim), 0.0)
    return past / torch.einsum("bhqk->bhq", past).unsqueeze(3)


def past_averaged(scores, head_dim):
    past = torch.tril(torch.ones_like(scores))
    return past / past.sum(dim=-1, keepdim=True)


def mask_as_large_as_the_heads(scores, head_dim):
    batch, tokens, _, _ = scores.shape  # takes the second dimension for the tokens
    keep = torch.tril(torch.ones(tokens, tokens, dtype=torch.bool))
    return F.softmax(torch.where(keep, scores / math.sqrt(head_dim), -math.inf), dim=-1)


def weighed_without_gradients(scores, head_dim):
    t = scores.size(-1)
    s = torch.tensor(scores.tolist()) / math.sqrt(head_dim)
    return F.softmax(torch.where(torch.ones(t, t).tril() == 1, s, -math.inf), dim=-1)


def scores_masked_in_place(scores, head_dim):
    for i in range(scores.size(-1)):
        scores[:, :, i, i + 1 :] = float("-inf")
    return F.softmax(scores / math.sqrt(head_dim), dim=-1)


# -- split_heads ---


def split_by_reshape_alone(x, num_heads):
    b, t, d = x.size()
    assert d % num_heads == 0
    return x.contiguous().view(b, num_heads, t, d // num_heads)


def split_by_view_alone(x, num_heads):
    batch, tokens, d_out = x.size()
    if d_out % num_heads != 0:
        raise ValueError("d_out must be a multiple of num_heads")
    return x.view(batch, num_heads, tokens, d_out // num_heads)


def unrolled_only(x, num_heads):
    assert x.size(2) % num_heads == 0
    return torch.stack(x.chunk(num_heads, dim=2), dim=2)


def features_dealt_in_turn_in_split(x, num_heads):
    assert x.size(2) % num_heads == 0
    return torch.stack([x[..., h::num_heads] for h in range(num_heads)], dim=1)


def heads_and_features_exchanged_in_split(x, num_heads):
    b, t, d = x.size()
    assert d % num_heads == 0
    return torch.einsum("btdh->bdth", x.unflatten(2, (d // num_heads, num_heads)))


def heads_split_in_front_of_the_batch(x, num_heads):
    assert x.size(-1) % num_heads == 0
    return torch.stack(x.chunk(num_heads, dim=-1))


def features_before_tokens(x, num_heads):
    b, t, d = x.size()
    assert d % num_heads == 0
    return x.reshape(b, t, num_heads, -1).permute(0, 2, 3, 1)


def tokens_shared_out(x, num_heads):
    b, t, d = x.size()
    assert d % num_heads == 0
    return x.reshape(b, num_heads, t // num_heads, d)


def check_left_to_reshape_in_split(x, num_heads):
    return torch.einsum("bthd->bhtd", x.unflatten(2, (num_heads, -1)))


def rest_cut_off_in_split(x, num_heads):
    size = x.shape[2] // num_heads
    return torch.stack([x[:, :, h * size : (h + 1) * size] for h in range(num_heads)], dim=1)


def every_division_refused_in_split(x, num_heads):
    b, t, d = x.shape
    if not num_heads % d == 0:
        raise ValueError("num_heads must divide d_out")
    return x.reshape(b, t, num_heads, -1).permute(0, 2, 1, 3)


def tokens_viewed_as_one_row_in_split(x, num_heads):
    b, t, d = x.shape
    assert d % num_heads == 0
    rows = x.view(b * t, d)
    return torch.stack([part.unflatten(0, (b, t)) for part in rows.chunk(num_heads, dim=1)], dim=1)


def split_without_gradients(x, num_heads):
    assert x.shape[2] % num_heads == 0
    with torch.no_grad():
        return torch.stack(x.chunk(num_heads, dim=2), dim=1)


def resized_in_place_in_split(x, num_heads):
    assert x.shape[2] % num_heads == 0
    return torch.cat(x.unsqueeze_(1).chunk(num_heads, dim=3), dim=1)


# -- merge_heads ---


def not_transposed_back(x):
    b, h, t, d = x.size()
    return x.flatten().unflatten(0, (b, t, h * d))


def merged_by_view_alone(x):
    b, h, t, d = x.size()
    return x.view(b, t, h * d)


def features_shuffled(x):
    return torch.stack(x.unbind(1), dim=-1).flatten(2)


def last_head_first(x):
    merged = x[:, 0]
    for h in range(1, x.size(1)):
        merged = torch.cat([x[:, h], merged], dim=-1)
    return merged


def heads_below_each_other(x):
    return torch.cat(x.unbind(1), dim=1)


def heads_added_up(x):
    return sum(x[:, h] for h in range(x.size(1)))


def last_two_kept_apart(x):
    return torch.stack([x[:, h] for h in range(x.size(1))], dim=2)


def batch_merged_away(x):
    b, h, t, d = x.size()
    return x.permute(0, 2, 1, 3).reshape(-1, h * d)


def view_without_contiguous(x):
    b, h, t, d = x.size()
    x = torch.einsum("bhtd->bthd", x)
    return x.view(b, t, h * d)


def merged_without_gradients(x):
    return torch.cat([torch.tensor(head.tolist()) for head in x.unbind(1)], dim=-1)


def merged_in_place(x):
    b, h, t, d = x.size()
    x.swapdims_(1, 2)
    return x.reshape(b, t, h * d)


# -- MultiHeadAttentionWrapper ---


class CausalAttention(nn.Module):  # from unit 3
    def __init__(self, d_in, d_out, context_length, dropout, qkv_bias=False):
        super().__init__()
        self.d_out = d_out
        self.W_query = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_key = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_value = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.dropout = nn.Dropout(dropout)
        self.register_buffer("mask", torch.triu(torch.ones(context_length, context_length), diagonal=1))

    def forward(self, x):
        b, num_tokens, d_in = x.shape
        keys, queries, values = self.W_key(x), self.W_query(x), self.W_value(x)
        attn_scores = queries @ keys.transpose(1, 2)
        attn_scores.masked_fill_(self.mask.bool()[:num_tokens, :num_tokens], -torch.inf)
        attn_weights = torch.softmax(attn_scores / keys.shape[-1] ** 0.5, dim=-1)
        return self.dropout(attn_weights) @ values


class Heads(nn.Module):
    """A wrapper whose forward is to come."""

    def __init__(self, d_in, d_out, context_length, dropout, num_heads, qkv_bias=False):
        super().__init__()
        self.num_heads = num_heads
        self.d_out = d_out
        self.heads = nn.ModuleList()
        for _ in range(num_heads):
            self.heads.append(CausalAttention(d_in, d_out, context_length, dropout, qkv_bias=qkv_bias))


class heads_in_a_plain_list(nn.Module):
    def __init__(self, d_in, d_out, context_length, dropout, num_heads, qkv_bias=False):
        super().__init__()
        self.heads = []
        for _ in range(num_heads):
            self.heads.append(CausalAttention(d_in, d_out, context_length, dropout, qkv_bias))

    def forward(self, x):
        outputs = [head(x) for head in self.heads]
        return torch.cat(outputs, dim=2)


class heads_in_a_sequence(nn.Module):
    def __init__(self, d_in, d_out, context_length, dropout, num_heads, qkv_bias=False):
        super().__init__()
        self.heads = nn.Sequential()
        while len(self.heads) < num_heads:
            self.heads.append(CausalAttention(d_in, d_out, context_length, dropout, qkv_bias))

    def forward(self, x):
        for head in self.heads:
            x = head(x)
        return x


class one_head_many_times(nn.Module):
    def __init__(self, d_in, d_out, context_length, dropout, num_heads, qkv_bias=False):
        super().__init__()
        head = CausalAttention(d_in, d_out, context_length, dropout, qkv_bias)
        self.heads = nn.ModuleList()
        for _ in range(num_heads):
            self.heads.append(head)

    def forward(self, x):
        return torch.cat([head(x) for head in self.heads], -1)


class always_two_heads(nn.Module):
    def __init__(self, d_in, d_out, context_length, dropout, num_heads, qkv_bias=False):
        super().__init__()
        self.heads = nn.ModuleList(
            [
                CausalAttention(d_in, d_out, context_length, dropout, qkv_bias),
                CausalAttention(d_in, d_out, context_length, dropout, qkv_bias),
            ]
        )

    def forward(self, x):
        return torch.cat((self.heads[0](x), self.heads[1](x)), dim=-1)


class d_out_shared_out_among_heads(nn.Module):
    def __init__(self, d_in, d_out, context_length, dropout, num_heads, qkv_bias=False):
        super().__init__()
        head_dim = d_out // num_heads
        make = [CausalAttention(d_in, head_dim, context_length, dropout, qkv_bias) for _ in range(num_heads)]
        self.heads = nn.ModuleList(make)

    def forward(self, x):
        return torch.concat([h(x) for h in self.heads], dim=-1)


d_out = 2  # in another cell of the notebook


class width_of_the_notebook(nn.Module):
    def __init__(self, d_in, out_dim, context_length, dropout, num_heads, qkv_bias=False):
        super().__init__()
        self.heads = nn.ModuleList()
        for _ in range(num_heads):
            self.heads.append(CausalAttention(d_in, d_out, context_length, dropout, qkv_bias))

    def forward(self, x):
        return torch.cat([head(x) for head in self.heads], dim=-1)


class outputs_added_up(Heads):
    def forward(self, x):
        total = 0
        for head in self.heads:
            total = total + head(x)
        return total


class outputs_averaged(Heads):
    def forward(self, x):
        return sum(head(x) for head in self.heads) / len(self.heads)


class outputs_stacked(Heads):
    def forward(self, x):
        out = torch.zeros(x.shape[0], x.shape[1], self.num_heads, self.d_out, dtype=x.dtype)
        for i, head in enumerate(self.heads):
            out[:, :, i] = head(x)
        return out


class outputs_stacked_at_the_end(Heads):
    def forward(self, x):
        return torch.cat([head(x).unsqueeze(-1) for head in self.heads], dim=-1)


class outputs_stacked_in_front(Heads):
    def forward(self, x):
        out = torch.empty(self.num_heads, *x.shape[:2], self.d_out, dtype=x.dtype)
        for i, head in enumerate(self.heads):
            out[i] = head(x)
        return out


class joined_along_the_tokens(Heads):
    def forward(self, x):
        context = torch.empty(x.size(0), 0, self.d_out, dtype=x.dtype)
        for head in self.heads:
            context = torch.cat((context, head(x)), dim=-2)
        return context


class joined_along_the_batch(Heads):
    def forward(self, x):
        return torch.vstack([head(x) for head in self.heads])


class last_head_first_in_the_wrapper(Heads):
    def forward(self, x):
        out = self.heads[0](x)
        for i in range(1, self.num_heads):
            out = torch.cat([self.heads[i](x), out], dim=-1)
        return out


class first_head_asked_each_time(Heads):
    def forward(self, x):
        return self.heads[0](x).repeat(1, 1, self.num_heads)


class SelfAttentionHead(nn.Module):  # from unit 2
    def __init__(self, d_in, d_out, dropout, qkv_bias):
        super().__init__()
        self.W_query = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_key = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_value = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.p = dropout

    def forward(self, x):
        q, k, v = self.W_query(x), self.W_key(x), self.W_value(x)
        weights = F.softmax(torch.einsum("bqd,bkd->bqk", q, k) / math.sqrt(q.size(-1)), dim=-1)
        return F.dropout(weights, self.p, self.training) @ v


class heads_that_see_the_future(nn.Module):
    def __init__(self, d_in, d_out, context_length, dropout, num_heads, qkv_bias=False):
        super().__init__()
        self.heads = nn.ModuleList([SelfAttentionHead(d_in, d_out, dropout, qkv_bias) for _ in range(num_heads)])

    def forward(self, x):
        return torch.cat([head(x) for head in self.heads], dim=-1)


class bias_not_handed_on(nn.Module):
    def __init__(self, d_in, d_out, context_length, dropout, num_heads, qkv_bias=False):
        super().__init__()
        heads = []
        for _ in range(num_heads):
            heads += [CausalAttention(d_in, d_out, context_length, dropout)]
        self.heads = nn.ModuleList(heads)

    def forward(self, x):
        return torch.cat([head(x) for head in self.heads], dim=-1)


class bias_in_every_head(nn.Module):
    def __init__(self, d_in, d_out, context_length, dropout, num_heads, qkv_bias=False):
        super().__init__()
        heads = (CausalAttention(d_in, d_out, context_length, dropout, qkv_bias=True) for _ in range(num_heads))
        self.heads = nn.ModuleList(heads)

    def forward(self, x):
        return torch.cat([head(x) for head in self.heads], dim=-1)


class context_of_the_worked_example(nn.Module):
    def __init__(self, d_in, d_out, context_length, dropout, num_heads, qkv_bias=False):
        super().__init__()
        context_length = 6
        self.heads = nn.ModuleList()
        for i in range(num_heads):
            self.heads.add_module(str(i), CausalAttention(d_in, d_out, context_length, dropout, qkv_bias))

    def forward(self, x):
        return torch.cat([head(x) for head in self.heads], dim=-1)


class dropout_not_handed_on(nn.Module):
    def __init__(self, d_in, d_out, context_length, dropout, num_heads, qkv_bias=False):
        super().__init__()
        self.dropout = nn.Dropout(dropout)
        one = (d_in, d_out, context_length, 0.0, qkv_bias)
        self.heads = nn.ModuleList([CausalAttention(*one) for _ in range(num_heads)])

    def forward(self, x):
        return torch.cat([head(x) for head in self.heads], dim=-1)


class outputs_dropped_once_more(Heads):
    def __init__(self, d_in, d_out, context_length, dropout, num_heads, qkv_bias=False):
        super().__init__(d_in, d_out, context_length, dropout, num_heads, qkv_bias)
        self.dropout = nn.Dropout(dropout)

    def forward(self, x):
        return torch.cat([self.dropout(head(x)) for head in self.heads], dim=-1)


class outputs_dropped_after_eval(Heads):
    def __init__(self, d_in, d_out, context_length, dropout, num_heads, qkv_bias=False):
        super().__init__(d_in, d_out, context_length, dropout, num_heads, qkv_bias)
        self.rate = dropout

    def forward(self, x):
        drop = nn.Dropout(self.rate)
        return torch.cat([drop(head(x)) for head in self.heads], dim=-1)


class outputs_without_gradients(Heads):
    def forward(self, x):
        out = torch.zeros(x.shape[0], x.shape[1], self.num_heads * self.d_out, dtype=x.dtype)
        for i in range(self.num_heads):
            out[..., i * self.d_out : (i + 1) * self.d_out] = self.heads[i](x).data
        return out


class inputs_detached(Heads):
    def forward(self, x):
        with torch.no_grad():
            x = x.clone()
        return torch.cat([head(x) for head in self.heads], dim=-1)


class inputs_made_float32(Heads):
    def forward(self, x):
        x = torch.as_tensor(x, dtype=torch.float32)
        return torch.cat([head(x) for head in self.heads], dim=-1)


class lonely_token_squeezed(Heads):
    def forward(self, x):
        return torch.cat([torch.squeeze(head(x)) for head in self.heads], dim=-1)


class inputs_changed_in_place(Heads):
    def forward(self, x):
        x.unsqueeze_(0)  # a dimension for the heads
        outputs = [head(x[0]) for head in self.heads]
        return torch.cat(outputs, dim=-1)


# -- two_dimensional_output ---


class MultiHeadAttentionWrapper(nn.Module):  # the right one, which these make
    def __init__(self, d_in, d_out, context_length, dropout, num_heads, qkv_bias=False):
        super().__init__()
        one = (d_in, d_out, context_length, dropout, qkv_bias)
        self.heads = nn.ModuleList([CausalAttention(*one) for _ in range(num_heads)])

    def forward(self, x):
        return torch.cat([head(x) for head in self.heads], dim=-1)


def two_features_for_each_head(d_in, context_length):
    d_out, num_heads, dropout = 2, 2, 0.0
    return MultiHeadAttentionWrapper(d_in, d_out, context_length, dropout, num_heads)


def one_head_of_two_features(d_in, context_length):
    return MultiHeadAttentionWrapper(d_in, d_out=2, context_length=context_length, dropout=0, num_heads=1)


def one_head_of_one_feature(d_in, context_length):
    settings = {"d_out": 1, "num_heads": 1, "dropout": 0.0}
    return MultiHeadAttentionWrapper(d_in=d_in, context_length=context_length, **settings)


def dropout_left_in(d_in, context_length):
    return MultiHeadAttentionWrapper(d_in, 1, context_length, dropout=0.5, num_heads=2)


def bias_left_in(d_in, context_length):
    two_heads = MultiHeadAttentionWrapper(d_in, 1, context_length, 0.0, num_heads=2, qkv_bias=True)
    return two_heads


def six_tokens_always(d_in, context_length):
    context_length = 6
    return MultiHeadAttentionWrapper(d_in, 2 // 2, context_length, 0.0, 2, False)


def three_features_always(d_in, context_length):
    inputs = torch.rand(6, 3)
    batch = torch.stack((inputs, inputs), dim=0)
    return MultiHeadAttentionWrapper(batch.shape[-1], 1, context_length, 0.0, 2)


def arguments_exchanged(d_in, context_length):
    arguments = [context_length, 1, d_in, 0.0, 2]
    return MultiHeadAttentionWrapper(*arguments)


class Narrowed(nn.Module):
    def __init__(self, wrapper, width):
        super().__init__()
        self.wrapper = wrapper
        self.to_two = nn.Linear(width, 2)

    def forward(self, x):
        return self.to_two(self.wrapper(x))


def layer_behind_the_wrapper(d_in, context_length):
    return Narrowed(MultiHeadAttentionWrapper(d_in, d_in, context_length, 0.0, 2), 2 * d_in)


def outputs_cut_off(d_in, context_length):
    class Cut(MultiHeadAttentionWrapper):
        def forward(self, x):
            first, second = super().forward(x).split(2, dim=-1)
            return first

    return Cut(d_in=d_in, d_out=2, context_length=context_length, dropout=0.0, num_heads=2)


def class_instead_of_module(d_in, context_length):
    class TwoHeads(MultiHeadAttentionWrapper):
        def __init__(self):
            super().__init__(d_in, 1, context_length, 0.0, 2)

    return TwoHeads


# -- MultiHeadAttention ---


class Layers(nn.Module):
    """The four layers of the worked example; what forward does with them is to come."""

    def __init__(self, d_in, d_out, context_length, dropout, num_heads, qkv_bias=False):
        super().__init__()
        assert d_out % num_heads == 0, "d_out must be divisible by num_heads"
        self.d_out = d_out
        self.num_heads = num_heads
        self.head_dim = d_out // num_heads
        self.W_query = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_key = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_value = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.out_proj = nn.Linear(d_out, d_out)
        self.dropout = nn.Dropout(dropout)
        self.register_buffer("mask", torch.tril(torch.ones(context_length, context_length)), persistent=False)

    def heads(self, x):
        """Queries, keys and values, each (B, H, T, head_dim)."""
        layers = (self.W_query, self.W_key, self.W_value)
        return [torch.stack(layer(x).chunk(self.num_heads, dim=-1), dim=1) for layer in layers]

    def causal(self, scores):
        t = scores.size(-1)
        return torch.where(self.mask[:t, :t] == 1, scores, -math.inf)

    def finish(self, weights, values):
        """(B, H, T, T) and (B, H, T, head_dim) to (B, T, d_out)."""
        context = torch.einsum("bhqk,bhkd->bqhd", self.dropout(weights), values)
        return self.out_proj(context.reshape(*context.shape[:2], -1))


class scaled_by_d_out(Layers):
    def forward(self, x):
        q, k, v = self.heads(x)
        scores = torch.einsum("bhqd,bhkd->bhqk", q, k) / math.sqrt(self.W_key.out_features)
        return self.finish(F.softmax(self.causal(scores), dim=-1), v)


class scaled_by_d_in(Layers):
    def forward(self, x):
        d_k = x.size(-1)
        contexts = []
        for q, k, v in zip(*(layer(x).split(self.head_dim, -1) for layer in (self.W_query, self.W_key, self.W_value))):
            weights = F.softmax(self.causal(q @ k.mT) * d_k**-0.5, dim=-1)
            contexts.append(self.dropout(weights) @ v)
        return self.out_proj(torch.cat(contexts, dim=-1))


class scaled_by_number_of_tokens_in_the_module(Layers):
    def forward(self, x):
        b, t, _ = x.shape
        q, k, v = self.heads(x)
        scores = torch.matmul(q, k.permute(0, 1, 3, 2)) / math.sqrt(t)
        return self.finish(nn.Softmax(-1)(self.causal(scores)), v)


class scaled_by_number_of_heads_in_the_module(Layers):
    def forward(self, x):
        q, k, v = self.heads(x)
        context = F.scaled_dot_product_attention(
            q, k, v, is_causal=True, scale=1 / math.sqrt(self.num_heads), dropout_p=self.dropout.p * self.training
        )
        return self.out_proj(context.permute(0, 2, 1, 3).flatten(2))


class scaling_forgotten_in_the_module(Layers):
    def forward(self, x):
        q, k, v = self.heads(x)
        weights = F.softmax(self.causal(torch.einsum("bhqd,bhkd->bhqk", q, k)), dim=-1)
        return self.finish(weights, v)


class divided_by_head_dim_itself_in_the_module(Layers):
    def forward(self, x):
        q, k, v = self.heads(x)
        p = self.dropout.p if self.training else 0.0
        context = F.scaled_dot_product_attention(q, k, v, dropout_p=p, is_causal=True, scale=1 / q.size(-1))
        return self.out_proj(torch.cat(context.unbind(1), dim=-1))


class half_instead_of_root_in_the_module(Layers):
    def forward(self, x):
        q, k, v = self.heads(x)
        scores = torch.einsum("bhqd,bhkd->bhqk", q, k)
        return self.finish(F.softmax(self.causal(scores) / k.shape[-1] * 0.5, dim=-1), v)


class twentieth_root_in_the_module(Layers):
    def forward(self, x):
        q, k, v = self.heads(x)
        return self.finish(F.softmax(self.causal(torch.matmul(q, k.mT)) / q.size(-1) ** 0.05, dim=-1), v)


class multiplied_by_root_in_the_module(Layers):
    def forward(self, x):
        q, k, v = self.heads(x)
        scores = torch.einsum("bhqd,bhkd->bhqk", q * math.sqrt(self.head_dim), k)
        return self.finish(F.softmax(self.causal(scores), dim=-1), v)


class scaled_after_softmax_in_the_module(Layers):
    def forward(self, x):
        q, k, v = self.heads(x)
        weights = F.softmax(self.causal(torch.einsum("bhqd,bhkd->bhqk", q, k)), dim=-1)
        return self.finish(weights / math.sqrt(self.head_dim), v)


class future_visible_in_the_module(Layers):
    def forward(self, x):
        q, k, v = self.heads(x)
        p = self.dropout.p if self.training else 0.0
        context = F.scaled_dot_product_attention(q, k, v, dropout_p=p)
        return self.out_proj(context.transpose(1, 2).contiguous().view(x.size(0), x.size(1), self.d_out))


class past_hidden_in_the_module(Layers):
    def forward(self, x):
        t = x.size(1)
        q, k, v = self.heads(x)
        scores = torch.einsum("bhqd,bhkd->bhqk", q, k) / math.sqrt(self.head_dim)
        scores = scores.masked_fill(torch.ones(t, t).triu() == 0, -math.inf)
        return self.finish(F.softmax(scores, dim=-1), v)


class diagonal_hidden_in_the_module(Layers):
    def forward(self, x):
        t = x.size(1)
        q, k, v = self.heads(x)
        scores = torch.einsum("bhqd,bhkd->bhqk", q, k) / math.sqrt(self.head_dim)
        earlier = torch.arange(t).unsqueeze(1) > torch.arange(t)
        return self.finish(F.softmax(torch.where(earlier, scores, -math.inf), dim=-1), v)


class diagonal_lowered_in_the_module(Layers):
    def forward(self, x):
        q, k, v = self.heads(x)
        t = x.size(1)
        scores = torch.einsum("bhqd,bhkd->bhqk", q, k) / math.sqrt(self.head_dim)
        seen = self.mask[:t, :t].tril(-1)
        return self.finish(F.softmax(scores.masked_fill(seen == 0, -1e9), dim=-1), v)


class next_token_visible_in_the_module(Layers):
    def forward(self, x):
        t = x.size(1)
        q, k, v = self.heads(x)
        seen = torch.tril(torch.ones(t, t, dtype=torch.bool), diagonal=1)
        p = self.dropout.p if self.training else 0.0
        context = F.scaled_dot_product_attention(q, k, v, attn_mask=seen, dropout_p=p)
        return self.out_proj(torch.cat(context.unbind(1), dim=-1))


class future_zero_before_softmax_in_the_module(Layers):
    def forward(self, x):
        t = x.size(1)
        q, k, v = self.heads(x)
        scores = torch.einsum("bhqd,bhkd->bhqk", q, k) / math.sqrt(self.head_dim)
        return self.finish(F.softmax(scores * self.mask[:t, :t], dim=-1), v)


class future_zero_after_softmax_in_the_module(Layers):
    def forward(self, x):
        t = x.size(1)
        q, k, v = self.heads(x)
        weights = F.softmax(torch.einsum("bhqd,bhkd->bhqk", q, k) / math.sqrt(self.head_dim), dim=-1)
        return self.finish(weights * self.mask[:t, :t], v)


class mask_not_cut(Layers):
    def forward(self, x):
        q, k, v = self.heads(x)
        scores = torch.einsum("bhqd,bhkd->bhqk", q, k) / math.sqrt(self.head_dim)
        weights = F.softmax(torch.where(self.mask == 0, -math.inf, scores), dim=-1)
        return self.finish(weights, v)


class mask_of_the_worked_example(Layers):
    def __init__(self, d_in, d_out, context_length, dropout, num_heads, qkv_bias=False):
        super().__init__(d_in, d_out, 6, dropout, num_heads, qkv_bias)

    def forward(self, x):
        q, k, v = self.heads(x)
        scores = torch.einsum("bhqd,bhkd->bhqk", q, k) / math.sqrt(self.head_dim)
        return self.finish(F.softmax(self.causal(scores), dim=-1), v)


class softmax_over_queries_in_the_module(Layers):
    def forward(self, x):
        q, k, v = self.heads(x)
        scores = self.causal(torch.einsum("bhqd,bhkd->bhqk", q, k) / math.sqrt(self.head_dim))
        return self.finish(nn.Softmax(dim=2)(scores), v)


class softmax_over_heads_in_the_module(Layers):
    def forward(self, x):
        q, k, v = self.heads(x)
        scores = self.causal(torch.einsum("bhqd,bhkd->bhqk", q, k) / math.sqrt(self.head_dim))
        return self.finish(F.softmax(scores), v)


class softmax_over_heads_of_lowered_scores_in_the_module(Layers):
    def forward(self, x):
        q, k, v = self.heads(x)
        t = x.size(1)
        scores = torch.where(self.mask[:t, :t] == 1, torch.einsum("bhqd,bhkd->bhqk", q, k), -1e9)
        return self.finish(F.softmax(scores / self.head_dim**0.5, dim=1), v)


class softmax_forgotten_in_the_module(Layers):
    def forward(self, x):
        t = x.size(1)
        q, k, v = self.heads(x)
        scores = torch.einsum("bhqd,bhkd->bhqk", q, k) / math.sqrt(self.head_dim)
        return self.finish(scores.masked_fill(self.mask[:t, :t] == 0, 0.0), v)


class past_averaged_in_the_module(Layers):
    def forward(self, x):
        t = x.size(1)
        q, k, v = self.heads(x)
        past = self.mask[:t, :t].to(v.dtype)
        weights = (past / past.sum(dim=1, keepdim=True)).expand(v.size(0), self.num_heads, t, t)
        return self.finish(weights, v)


class split_by_reshape_alone_in_the_module(Layers):
    def forward(self, x):
        b, t, _ = x.shape
        q, k, v = (w(x).view(b, self.num_heads, t, self.head_dim) for w in (self.W_query, self.W_key, self.W_value))
        scores = torch.einsum("bhqd,bhkd->bhqk", q, k) / math.sqrt(self.head_dim)
        return self.finish(F.softmax(self.causal(scores), dim=-1), v)


class features_dealt_in_turn_in_the_module(Layers):
    def forward(self, x):
        q, k, v = self.W_query(x), self.W_key(x), self.W_value(x)
        context = torch.zeros_like(v)
        for h in range(self.num_heads):
            own = slice(h, None, self.num_heads)
            scores = self.causal(q[..., own] @ k[..., own].transpose(1, 2)) / self.head_dim**0.5
            context[..., own] = self.dropout(F.softmax(scores, dim=-1)) @ v[..., own]
        return self.out_proj(context)


class heads_and_features_exchanged_in_the_module(Layers):
    def forward(self, x):
        q, k, v = (
            w(x).unflatten(2, (self.head_dim, self.num_heads)).permute(0, 2, 1, 3)
            for w in (self.W_query, self.W_key, self.W_value)
        )
        scores = torch.einsum("bhqd,bhkd->bhqk", q, k) / math.sqrt(self.head_dim)
        return self.finish(F.softmax(self.causal(scores), dim=-1), v)


class heads_never_split(Layers):
    def forward(self, x):
        scores = torch.bmm(self.W_query(x), self.W_key(x).transpose(1, 2)) / math.sqrt(self.head_dim)
        weights = self.dropout(F.softmax(self.causal(scores), dim=-1))
        return self.out_proj(torch.bmm(weights, self.W_value(x)))


class one_head_with_its_own_scale(Layers):
    def forward(self, x):
        p = self.dropout.p if self.training else 0.0
        q, k, v = self.W_query(x), self.W_key(x), self.W_value(x)
        return self.out_proj(F.scaled_dot_product_attention(q, k, v, dropout_p=p, is_causal=True))


class heads_attend_to_each_other(Layers):
    def forward(self, x):
        q, k, v = (w(x).unflatten(2, (self.num_heads, -1)) for w in (self.W_query, self.W_key, self.W_value))
        p = self.dropout.p if self.training else 0.0
        return self.out_proj(F.scaled_dot_product_attention(q, k, v, dropout_p=p, is_causal=True).flatten(2))


class heads_masked_as_tokens(Layers):
    def forward(self, x):
        q, k, v = (w(x).unflatten(2, (self.num_heads, -1)) for w in (self.W_query, self.W_key, self.W_value))
        t = x.size(1)
        scores = torch.matmul(q, k.mT).masked_fill(self.mask[:t, :t] == 0, -torch.inf)
        weights = self.dropout(F.softmax(scores / k.size(-1) ** 0.5, dim=-1))
        return self.out_proj((weights @ v).reshape(x.size(0), t, self.d_out))


class heads_not_transposed_back(Layers):
    def forward(self, x):
        q, k, v = self.heads(x)
        weights = F.softmax(self.causal(torch.einsum("bhqd,bhkd->bhqk", q, k)) / math.sqrt(self.head_dim), dim=-1)
        context = torch.einsum("bhqk,bhkd->bhqd", self.dropout(weights), v)
        return self.out_proj(context.contiguous().view(x.size(0), x.size(1), self.d_out))


class features_shuffled_in_the_module(Layers):
    def forward(self, x):
        q, k, v = self.heads(x)
        weights = F.softmax(self.causal(torch.einsum("bhqd,bhkd->bhqk", q, k)) / math.sqrt(self.head_dim), dim=-1)
        context = torch.einsum("bhqk,bhkd->bqdh", self.dropout(weights), v)
        return self.out_proj(context.reshape(x.size(0), x.size(1), -1))


class heads_added_up_in_the_module(Layers):
    def forward(self, x):
        q, k, v = self.heads(x)
        weights = F.softmax(self.causal(torch.einsum("bhqd,bhkd->bhqk", q, k)) / math.sqrt(self.head_dim), dim=-1)
        context = torch.einsum("bhqk,bhkd->bqd", self.dropout(weights), v)
        return self.out_proj(torch.cat([context] * self.num_heads, dim=-1))


class keys_ask_the_queries_in_the_module(Layers):
    def forward(self, x):
        q, k, v = self.heads(x)
        p = self.dropout.p if self.training else 0.0
        context = F.scaled_dot_product_attention(k, q, v, dropout_p=p, is_causal=True)
        return self.out_proj(torch.cat(context.unbind(1), dim=-1))


class keys_and_values_swapped(Layers):
    def forward(self, x):
        q, k, v = self.heads(x)
        p = self.dropout.p if self.training else 0.0
        context = F.scaled_dot_product_attention(q, v, k, dropout_p=p, is_causal=True)
        return self.out_proj(torch.cat(context.unbind(1), dim=-1))


class keys_handed_over(Layers):
    def forward(self, x):
        q, k, v = self.heads(x)
        weights = F.softmax(self.causal(torch.einsum("bhqd,bhkd->bhqk", q, k)) / math.sqrt(self.head_dim), dim=-1)
        return self.finish(weights, k)


class one_projection_in_use(Layers):
    def forward(self, x):
        qkv = torch.stack(self.W_query(x).split(self.head_dim, dim=-1), dim=1)
        p = self.dropout.p if self.training else 0.0
        context = F.scaled_dot_product_attention(qkv, qkv, qkv, dropout_p=p, is_causal=True)
        return self.out_proj(torch.cat(context.unbind(1), dim=-1))


class only_values_in_use(Layers):
    def forward(self, x):
        _, _, v = self.heads(x)
        weights = F.softmax(self.causal(torch.einsum("bhqd,bhkd->bhqk", v, v)) / math.sqrt(self.head_dim), dim=-1)
        return self.finish(weights, v)


class key_projection_unused(Layers):
    def forward(self, x):
        q, k, v = self.heads(x)
        weights = F.softmax(self.causal(q @ q.mT) / math.sqrt(self.head_dim), dim=-1)
        return self.finish(weights, v)


class one_layer_under_three_names(nn.Module):
    def __init__(self, d_in, d_out, context_length, dropout, num_heads, qkv_bias=False):
        super().__init__()
        if d_out % num_heads != 0:
            raise ValueError("d_out must be divisible by num_heads")
        self.num_heads = num_heads
        self.p = dropout
        projection = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_query = projection
        self.W_key = projection
        self.W_value = projection
        self.out_proj = nn.Linear(d_out, d_out)

    def forward(self, x):
        q, k, v = (
            torch.stack(w(x).chunk(self.num_heads, dim=-1), dim=1) for w in (self.W_query, self.W_key, self.W_value)
        )
        context = F.scaled_dot_product_attention(q, k, v, dropout_p=self.p * self.training, is_causal=True)
        return self.out_proj(torch.cat(context.unbind(1), dim=-1))


class projections_as_wide_as_one_head(nn.Module):
    def __init__(self, d_in, d_out, context_length, dropout, num_heads, qkv_bias=False):
        super().__init__()
        assert d_out % num_heads == 0
        head_dim = d_out // num_heads
        self.num_heads = num_heads
        self.W_query = nn.Linear(d_in, head_dim, bias=qkv_bias)
        self.W_key = nn.Linear(d_in, head_dim, bias=qkv_bias)
        self.W_value = nn.Linear(d_in, head_dim, bias=qkv_bias)
        self.out_proj = nn.Linear(d_out, d_out)
        self.dropout = nn.Dropout(dropout)

    def forward(self, x):
        t = x.size(1)
        contexts = []
        for _ in range(self.num_heads):
            q, k, v = self.W_query(x), self.W_key(x), self.W_value(x)
            scores = q @ k.mT / math.sqrt(k.size(-1))
            scores = scores.masked_fill(torch.ones(t, t).triu(1) == 1, -math.inf)
            contexts.append(self.dropout(F.softmax(scores, dim=-1)) @ v)
        return self.out_proj(torch.cat(contexts, dim=-1))


class out_proj_forgotten(nn.Module):
    def __init__(self, d_in, d_out, context_length, dropout, num_heads, qkv_bias=False):
        super().__init__()
        assert d_out % num_heads == 0
        self.num_heads = num_heads
        self.dropout = nn.Dropout(dropout)
        self.W_query = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_key = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_value = nn.Linear(d_in, d_out, bias=qkv_bias)

    def forward(self, x):
        t = x.size(1)
        q, k, v = (w(x).unflatten(2, (self.num_heads, -1)) for w in (self.W_query, self.W_key, self.W_value))
        scores = torch.einsum("bqhd,bkhd->bhqk", q, k) / math.sqrt(q.size(-1))
        scores = scores.masked_fill(torch.ones(t, t).triu(1) == 1, -math.inf)
        return torch.einsum("bhqk,bkhd->bqhd", self.dropout(F.softmax(scores, dim=-1)), v).flatten(2)


class out_proj_unused(Layers):
    def forward(self, x):
        q, k, v = self.heads(x)
        p = self.dropout.p if self.training else 0.0
        context = F.scaled_dot_product_attention(q, k, v, dropout_p=p, is_causal=True)
        return torch.cat([context[:, h] for h in range(self.num_heads)], dim=-1)


class out_proj_without_bias(Layers):
    def __init__(self, d_in, d_out, context_length, dropout, num_heads, qkv_bias=False):
        super().__init__(d_in, d_out, context_length, dropout, num_heads, qkv_bias)
        self.out_proj = nn.Linear(d_out, d_out, bias=False)

    def forward(self, x):
        q, k, v = self.heads(x)
        weights = F.softmax(self.causal(torch.einsum("bhqd,bhkd->bhqk", q, k)) / math.sqrt(self.head_dim), dim=-1)
        return self.finish(weights, v)


class out_proj_back_to_d_in(nn.Module):
    def __init__(self, d_in, d_out, context_length, dropout, num_heads, qkv_bias=False):
        super().__init__()
        assert d_out % num_heads == 0
        self.num_heads = num_heads
        self.dropout = nn.Dropout(dropout)
        self.W_query = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_key = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_value = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.out_proj = nn.Linear(d_out, d_in)

    def forward(self, x):
        t = x.size(1)
        q, k, v = (w(x).unflatten(2, (self.num_heads, -1)) for w in (self.W_query, self.W_key, self.W_value))
        scores = torch.einsum("bqhd,bkhd->bhqk", q, k) / math.sqrt(q.size(-1))
        scores = scores.masked_fill(torch.ones(t, t).triu(1) == 1, -math.inf)
        context = torch.einsum("bhqk,bkhd->bqhd", self.dropout(F.softmax(scores, dim=-1)), v)
        return self.out_proj(context.flatten(2))


class out_proj_applied_twice(Layers):
    def forward(self, x):
        q, k, v = self.heads(x)
        weights = F.softmax(self.causal(torch.einsum("bhqd,bhkd->bhqk", q, k)) / math.sqrt(self.head_dim), dim=-1)
        context = torch.cat((self.dropout(weights) @ v).unbind(1), dim=-1)
        for _ in range(2):
            context = self.out_proj(context)
        return context


class FusedAttention(Layers):
    """Attention with torch's own product, for those who go wrong in __init__ or before."""

    def attend(self, q, k, v):
        p = self.dropout.p if self.training else 0.0
        q, k, v = (torch.stack(one.chunk(self.num_heads, dim=-1), dim=1) for one in (q, k, v))
        context = F.scaled_dot_product_attention(q, k, v, dropout_p=p, is_causal=True)
        return self.out_proj(context.transpose(1, 2).flatten(2))

    def forward(self, x):
        return self.attend(self.W_query(x), self.W_key(x), self.W_value(x))


class bias_always(FusedAttention):
    def __init__(self, d_in, d_out, context_length, dropout, num_heads, qkv_bias=False):
        super().__init__(d_in, d_out, context_length, dropout, num_heads)
        self.W_query = nn.Linear(d_in, d_out)
        self.W_key = nn.Linear(d_in, d_out)
        self.W_value = nn.Linear(d_in, d_out)


class bias_never(FusedAttention):
    def __init__(self, d_in, d_out, context_length, dropout, num_heads, qkv_bias=False):
        super().__init__(d_in, d_out, context_length, dropout, num_heads)
        for name in "W_query", "W_key", "W_value":
            setattr(self, name, nn.Linear(d_in, d_out, bias=False))


class bias_the_other_way_round(FusedAttention):
    def __init__(self, d_in, d_out, context_length, dropout, num_heads, qkv_bias=False):
        super().__init__(d_in, d_out, context_length, dropout, num_heads)
        bias = False if qkv_bias else True
        self.W_query = nn.Linear(d_in, d_out, bias)
        self.W_key = nn.Linear(d_in, d_out, bias)
        self.W_value = nn.Linear(d_in, d_out, bias)


class biases_made_but_unused(FusedAttention):
    def forward(self, x):
        return self.attend(
            F.linear(x, self.W_query.weight), F.linear(x, self.W_key.weight), F.linear(x, self.W_value.weight)
        )


class dropout_never_applied(Layers):
    def forward(self, x):
        q, k, v = self.heads(x)
        context = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        return self.out_proj(context.permute(0, 2, 1, 3).reshape(x.size(0), x.size(1), -1))


class dropped_after_eval(Layers):
    def forward(self, x):
        q, k, v = self.heads(x)
        context = F.scaled_dot_product_attention(q, k, v, dropout_p=self.dropout.p, is_causal=True)
        return self.out_proj(context.permute(0, 2, 1, 3).reshape(x.size(0), x.size(1), -1))


class scores_dropped(Layers):
    def forward(self, x):
        q, k, v = self.heads(x)
        scores = self.dropout(torch.einsum("bhqd,bhkd->bhqk", q, k) / math.sqrt(self.head_dim))
        context = F.softmax(self.causal(scores), dim=-1) @ v
        return self.out_proj(torch.cat(context.unbind(1), dim=-1))


class contexts_dropped(Layers):
    def forward(self, x):
        q, k, v = self.heads(x)
        context = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        return self.dropout(self.out_proj(context.transpose(1, 2).flatten(2)))


class kept_weights_not_scaled(Layers):
    def forward(self, x):
        q, k, v = self.heads(x)
        weights = F.softmax(self.causal(torch.einsum("bhqd,bhkd->bhqk", q, k)) / math.sqrt(self.head_dim), dim=-1)
        if self.training:
            weights = weights.masked_fill(torch.bernoulli(torch.full_like(weights, self.dropout.p)) == 1, 0.0)
        return self.out_proj(torch.einsum("bhqk,bhkd->bqhd", weights, v).flatten(2))


class kept_weights_renormalised(Layers):
    def forward(self, x):
        q, k, v = self.heads(x)
        weights = F.softmax(self.causal(torch.einsum("bhqd,bhkd->bhqk", q, k)) / math.sqrt(self.head_dim), dim=-1)
        weights = self.dropout(weights)
        weights = weights / weights.sum(dim=-1).unsqueeze(-1)
        return self.out_proj(torch.einsum("bhqk,bhkd->bqhd", weights, v).flatten(2))


class dropout_taken_for_keeping(FusedAttention):
    def __init__(self, d_in, d_out, context_length, dropout, num_heads, qkv_bias=False):
        keep = dropout
        super().__init__(d_in, d_out, context_length, 1 - keep, num_heads, qkv_bias)


class rows_dropped(Layers):
    def forward(self, x):
        q, k, v = self.heads(x)
        weights = F.softmax(self.causal(torch.einsum("bhqd,bhkd->bhqk", q, k)) / math.sqrt(self.head_dim), dim=-1)
        weights = F.dropout1d(weights.flatten(0, 1), self.dropout.p, self.training).view_as(weights)
        return self.out_proj(torch.einsum("bhqk,bhkd->bqhd", weights, v).flatten(2))


class check_left_to_reshape_in_the_module(nn.Module):
    def __init__(self, d_in, d_out, context_length, dropout, num_heads, qkv_bias=False):
        super().__init__()
        self.num_heads, self.dropout = num_heads, dropout
        self.W_query = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_key = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_value = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.out_proj = nn.Linear(d_out, d_out)

    def forward(self, x):
        b, t, _ = x.shape
        head_dim = self.W_query.out_features // self.num_heads
        q = self.W_query(x).view(b, t, self.num_heads, head_dim).transpose(1, 2)
        k = self.W_key(x).view(b, t, self.num_heads, head_dim).transpose(1, 2)
        v = self.W_value(x).view(b, t, self.num_heads, head_dim).transpose(1, 2)
        p = self.dropout if self.training else 0
        context = F.scaled_dot_product_attention(q, k, v, dropout_p=p, is_causal=True)
        return self.out_proj(context.transpose(1, 2).flatten(2))


class rest_cut_off_in_the_module(nn.Module):
    def __init__(self, d_in, d_out, context_length, dropout, num_heads, qkv_bias=False):
        super().__init__()
        self.head_dim = int(d_out / num_heads)
        self.num_heads, self.dropout = num_heads, nn.Dropout(dropout)
        self.W_query = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_key = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_value = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.out_proj = nn.Linear(num_heads * self.head_dim, d_out)

    def forward(self, x):
        t = x.size(1)
        q, k, v = self.W_query(x), self.W_key(x), self.W_value(x)
        contexts = []
        for h in range(self.num_heads):
            own = range(h * self.head_dim, (h + 1) * self.head_dim)
            scores = q[..., own] @ k[..., own].mT / math.sqrt(self.head_dim)
            scores = scores.masked_fill(torch.ones(t, t).triu(1) == 1, -math.inf)
            contexts.append(self.dropout(F.softmax(scores, dim=-1)) @ v[..., own])
        return self.out_proj(torch.cat(contexts, dim=-1))


class gradients_switched_off(FusedAttention):
    @torch.no_grad()
    def forward(self, x):
        return super().forward(x)


class only_out_proj_learns(Layers):
    def forward(self, x):
        with torch.no_grad():
            q, k, v = self.heads(x)
            weights = self.dropout(F.softmax(self.causal(q @ k.mT) / math.sqrt(self.head_dim), dim=-1))
            context = torch.cat((weights @ v).unbind(1), dim=-1)
        return self.out_proj(context)


class only_values_learn(Layers):
    def forward(self, x):
        with torch.no_grad():
            q, k, _ = self.heads(x)
        v = torch.stack(self.W_value(x).chunk(self.num_heads, dim=-1), dim=1)
        weights = F.softmax(self.causal(torch.einsum("bhqd,bhkd->bhqk", q, k)) / math.sqrt(self.head_dim), dim=-1)
        return self.finish(weights, v)


class made_float32_on_the_way(Layers):
    def forward(self, x):
        q, k, v = self.heads(x)
        scores = self.causal(torch.einsum("bhqd,bhkd->bhqk", q, k) / math.sqrt(self.head_dim))
        weights = F.softmax(scores, dim=-1, dtype=torch.float32)
        return self.finish(weights, v)


class dimensions_squeezed_away(Layers):
    def forward(self, x):
        q, k, v = self.heads(x)
        weights = F.softmax(self.causal(torch.einsum("bhqd,bhkd->bhqk", q, k)) / math.sqrt(self.head_dim), dim=-1)
        context = torch.einsum("bhqk,bhkd->bqhd", self.dropout(weights), v)
        return self.out_proj(context.flatten(2).squeeze())


class weights_given_too(Layers):
    def forward(self, x):
        q, k, v = self.heads(x)
        scores = torch.einsum("bhqd,bhkd->bhqk", q, k)
        attn_weights = F.softmax(self.causal(scores) / math.sqrt(self.head_dim), dim=-1)
        return self.finish(attn_weights, v), attn_weights


class inputs_changed_in_place_in_the_module(FusedAttention):
    def forward(self, x):
        q, k, v = self.W_query(x), self.W_key(x), self.W_value(x)
        x.zero_()  # no longer needed
        return self.attend(q, k, v)


# -- stack_heads ---


def matching(wrapper, attention):
    """Refuses what does not fit, and gives for each layer its name, itself and those of the heads."""
    found = []
    for name in "W_query", "W_key", "W_value":
        whole = attention.get_submodule(name)
        parts = [head.get_submodule(name) for head in wrapper.heads]
        assert whole.in_features == parts[0].in_features, "d_in differs"
        assert whole.out_features == sum(part.out_features for part in parts), "d_out differs"
        assert (whole.bias is None) == (parts[0].bias is None), "only one side has biases"
        found.append((name, whole, parts))
    return found


@torch.no_grad()
def joined_along_the_inputs(wrapper, attention):
    for _, whole, parts in matching(wrapper, attention):
        joined = torch.hstack([part.weight for part in parts])
        whole.weight.copy_(joined.view_as(whole.weight))
        if whole.bias is not None:
            whole.bias.copy_(torch.hstack([part.bias for part in parts]))


def last_head_stacked_first(wrapper, attention):
    for _, whole, parts in matching(wrapper, attention):
        width = parts[0].out_features
        end = whole.out_features
        for part in parts:
            whole.weight.data[end - width : end] = part.weight.data
            if whole.bias is not None:
                whole.bias.data[end - width : end] = part.bias.data
            end -= width


def rows_shuffled(wrapper, attention):
    for _, whole, parts in matching(wrapper, attention):
        for h, part in enumerate(parts):
            whole.weight.data[h :: len(parts)] = part.weight.data
            if whole.bias is not None:
                whole.bias.data[h :: len(parts)] = part.bias.data


def stacked_transposed(wrapper, attention):
    for name, whole, parts in matching(wrapper, attention):
        columns = torch.hstack([part.weight.detach().t() for part in parts])
        getattr(attention, name).weight = nn.Parameter(columns)
        if whole.bias is not None:
            whole.bias = nn.Parameter(torch.hstack([part.bias.detach() for part in parts]))


@torch.no_grad()
def copying_that_fails(wrapper, attention):
    for _, whole, parts in matching(wrapper, attention):
        whole.weight[:] = torch.vstack([part.weight for part in parts]).T


def first_head_everywhere(wrapper, attention):
    for _, whole, parts in matching(wrapper, attention):
        whole.weight.data = parts[0].weight.detach().repeat(len(wrapper.heads), 1)
        if whole.bias is not None:
            whole.bias.data = parts[0].bias.detach().repeat(len(wrapper.heads))


def only_values_stacked(wrapper, attention):
    matching(wrapper, attention)
    state = attention.state_dict()
    for key in state:
        if key.startswith("W_value"):
            state[key] = torch.cat([head.state_dict()[key] for head in wrapper.heads])
    attention.load_state_dict(state)


def queries_stacked_as_keys(wrapper, attention):
    matching(wrapper, attention)
    heads = [head.state_dict() for head in wrapper.heads]
    state = attention.state_dict()
    for to, source in ("W_key", "W_query"), ("W_query", "W_key"), ("W_value", "W_value"):
        for part in "weight", "bias":
            if f"{to}.{part}" in state:
                state[f"{to}.{part}"] = torch.cat([head[f"{source}.{part}"] for head in heads])
    attention.load_state_dict(state)


def opposite_direction(wrapper, attention):
    for _, whole, parts in matching(wrapper, attention):
        row = 0
        for part in parts:
            rows = slice(row, row + part.out_features)
            part.weight.data = whole.weight.data[rows].clone()
            if part.bias is not None:
                part.bias.data = whole.bias.data[rows].clone()
            row = rows.stop


def stacked_on_a_copy(wrapper, attention):
    attention = copy.deepcopy(attention)
    for _, whole, parts in matching(wrapper, attention):
        whole.weight.data = torch.cat([part.weight.data for part in parts])
        if whole.bias is not None:
            whole.bias.data = torch.cat([part.bias.data for part in parts])


def biases_left_behind(wrapper, attention):
    for _, whole, parts in matching(wrapper, attention):
        whole.weight = nn.Parameter(torch.vstack([part.weight for part in parts]).detach().clone())


def biases_set_to_zero(wrapper, attention):
    for _, whole, parts in matching(wrapper, attention):
        whole.weight.data.copy_(torch.vstack([part.weight for part in parts]))
        if whole.bias is not None:
            whole.bias = nn.Parameter(torch.zeros(whole.out_features))


def key_bias_left_behind(wrapper, attention):
    for name, whole, parts in matching(wrapper, attention):
        whole.weight.data[:] = torch.vstack([part.weight for part in parts])
        if name != "W_key" and whole.bias is not None:
            whole.bias.data[:] = torch.hstack([part.bias for part in parts])


def wrapper_robbed_of_its_biases(wrapper, attention):
    for _, whole, parts in matching(wrapper, attention):
        for part in parts:
            if part.bias is not None:
                part.bias.data *= 0
        whole.weight.data = torch.vstack([part.weight.data for part in parts])
        if whole.bias is not None:
            whole.bias.data = torch.zeros(whole.out_features)


def wrapper_frozen(wrapper, attention):
    for _, whole, parts in matching(wrapper, attention):
        for part in parts:
            for parameter in part.parameters():
                parameter.requires_grad = False
        whole.weight = nn.Parameter(torch.vstack([part.weight for part in parts]))
        if whole.bias is not None:
            whole.bias = nn.Parameter(torch.hstack([part.bias for part in parts]))


def weights_frozen(wrapper, attention):
    for _, whole, parts in matching(wrapper, attention):
        whole.weight = nn.Parameter(torch.vstack([part.weight.data for part in parts]), requires_grad=False)
        if whole.bias is not None:
            whole.bias = nn.Parameter(torch.hstack([part.bias.data for part in parts]), requires_grad=False)


def frozen_weights_put_in_place(wrapper, attention):
    for name in "W_query", "W_key", "W_value":
        layer = getattr(attention, name)
        layer.weight.requires_grad = False
        layer.weight.data = torch.vstack([getattr(head, name).weight.data for head in wrapper.heads])
        if layer.bias is not None:
            layer.bias.requires_grad = False
            layer.bias.data = torch.hstack([getattr(head, name).bias.data for head in wrapper.heads])


def weights_made_plain_tensors(wrapper, attention):
    for _, whole, parts in matching(wrapper, attention):
        whole._parameters.pop("weight")
        whole.weight = torch.vstack([part.weight.data for part in parts])
        if whole.bias is not None:
            whole.bias.data = torch.hstack([part.bias.data for part in parts])


def tensors_assigned_to_parameters(wrapper, attention):
    W_query = [head.W_query.weight for head in wrapper.heads]
    W_key = [head.W_key.weight for head in wrapper.heads]
    W_value = [head.W_value.weight for head in wrapper.heads]
    attention.W_query.weight = torch.cat(W_query, dim=0)
    attention.W_key.weight = torch.cat(W_key, dim=0)
    attention.W_value.weight = torch.cat(W_value, dim=0)


def out_proj_made_anew(wrapper, attention):
    for _, whole, parts in matching(wrapper, attention):
        whole.weight.data = torch.vstack([part.weight.data for part in parts])
        if whole.bias is not None:
            whole.bias.data = torch.hstack([part.bias.data for part in parts])
    width = attention.W_value.out_features
    attention.out_proj = nn.Linear(width, width)


def any_width_accepted(wrapper, attention):
    for name in "W_query", "W_key", "W_value":
        layer = getattr(attention, name)
        layer.weight.data = torch.vstack([getattr(head, name).weight.data for head in wrapper.heads])
        if layer.bias is not None:
            layer.bias.data = torch.hstack([getattr(head, name).bias.data for head in wrapper.heads])


def d_in_not_looked_at(wrapper, attention):
    head_dim = wrapper.heads[0].W_value.out_features
    assert head_dim * len(wrapper.heads) == attention.W_value.out_features
    for layer, name in zip((attention.W_query, attention.W_key, attention.W_value), ("W_query", "W_key", "W_value")):
        layer.weight.data = torch.vstack([getattr(head, name).weight.data for head in wrapper.heads])
        if layer.bias is not None:
            layer.bias.data = torch.hstack([getattr(head, name).bias.data for head in wrapper.heads])


@torch.no_grad()
def bias_of_attention_accepted(wrapper, attention):
    for name in "W_query", "W_key", "W_value":
        layer = getattr(attention, name)
        parts = [getattr(head, name) for head in wrapper.heads]
        layer.weight.copy_(torch.vstack([part.weight for part in parts]))
        if all(part.bias is not None for part in parts):
            layer.bias.copy_(torch.hstack([part.bias for part in parts]))


def every_bias_refused(wrapper, attention):
    for _, whole, parts in matching(wrapper, attention):
        for layer in (whole, *parts):
            assert layer.bias is None, "no biases, please"
        whole.weight.data.copy_(torch.vstack([part.weight for part in parts]))


# -- gpt2_small_attention ---


class MultiHeadAttention(FusedAttention):
    """The right one, which these make."""


def context_of_the_toy_batch():
    batch = torch.rand(2, 6, 768)
    return MultiHeadAttention(768, 768, context_length=batch.shape[1], dropout=0.0, num_heads=12)


def biases_as_in_gpt2_itself():
    config = {"d_in": 768, "d_out": 768, "context_length": 1024, "dropout": 0.1, "num_heads": 12, "qkv_bias": True}
    return MultiHeadAttention(**config)


def width_of_one_head():
    d_in, num_heads = 768, 12
    return MultiHeadAttention(d_in, d_in // num_heads, 1024, 0.0, num_heads)


def narrow_input():
    return MultiHeadAttention(d_in=3, d_out=768, context_length=1024, dropout=0.1, num_heads=12)


def heads_of_a_larger_gpt2():
    emb_dim = 768
    return MultiHeadAttention(emb_dim, emb_dim, 2**10, dropout=0, num_heads=16)


def heads_of_the_worked_example():
    num_heads = 2
    return MultiHeadAttention(d_in=768, d_out=768, context_length=1024, dropout=0.0, num_heads=num_heads)


def width_of_a_larger_gpt2():
    n_embd = n_ctx = 1024
    return MultiHeadAttention(n_embd, n_embd, n_ctx, 0.1, num_heads=n_embd // 64)


def width_and_context_exchanged():
    context_length, d = 1024, 768
    return MultiHeadAttention(context_length, context_length, d, 0.0, 12)


def wrapper_instead():
    return MultiHeadAttentionWrapper(d_in=768, d_out=768, context_length=1024, dropout=0.0, num_heads=12)
