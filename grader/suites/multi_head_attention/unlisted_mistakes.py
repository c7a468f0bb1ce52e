"""Unlisted mistakes of unit 4: wrong answers that are none of the misconceptions. The grader must not name them.

Those with the name of a misconception in front show it in code that takes another route. They must get its name.
"""

import math

import torch
import torch.nn as nn
import torch.nn.functional as F

# -- unroll_heads ---


def unroll_heads__reverses_the_heads(x, num_heads):
    assert x.size(2) % num_heads == 0
    return torch.stack(x.chunk(num_heads, dim=-1)[::-1], dim=2)


def unroll_heads__gives_every_head_all_features(x, num_heads):
    assert x.size(2) % num_heads == 0
    return x.unsqueeze(2).repeat(1, 1, num_heads, 1)


def unroll_heads__normalizes_each_head(x, num_heads):
    assert x.size(2) % num_heads == 0
    return F.normalize(x.unflatten(2, (num_heads, -1)), dim=-1)


def unroll_heads__loses_the_batch(x, num_heads):
    assert x.size(2) % num_heads == 0
    return x.reshape(-1, num_heads, x.size(2) // num_heads)


def unroll_heads__gives_a_list(x, num_heads):
    assert x.size(2) % num_heads == 0
    return list(x.chunk(num_heads, dim=2))


def unroll_heads__expects_four_dimensions(x, num_heads):
    b, t, h, head_dim = x.shape
    return x.reshape(b, t, num_heads, h * head_dim // num_heads)


# -- group_by_head ---


def group_by_head__flips_the_tokens(x):
    return x.transpose(1, 2).flip(2)


def group_by_head__gives_the_last_head_first(x):
    return torch.stack(x.unbind(2)[::-1], dim=1)


def group_by_head__keeps_only_head_0(x):
    return x[:, :, :1].transpose(1, 2)


def group_by_head__averages_the_heads(x):
    return x.mean(dim=2, keepdim=True).transpose(1, 2).expand(-1, x.size(2), -1, -1)


def group_by_head__exchanges_twice(x):
    return x.transpose(1, 2).transpose(2, 3)


def group_by_head__gives_a_list(x):
    return [x[:, :, h] for h in range(x.size(2))]


def group_by_head__expects_three_dimensions(x):
    b, t, d_out = x.shape
    return x.reshape(b, t, -1, d_out).transpose(1, 2)


# -- head_scores ---


def head_scores__takes_distances(queries, keys):
    return -torch.cdist(queries, keys)


def head_scores__masks_with_zeros(queries, keys):
    return (queries @ keys.mT).tril()


def head_scores__normalizes_only_the_keys(queries, keys):
    return queries @ F.normalize(keys, dim=-1).mT


def head_scores__averages_the_heads(queries, keys):
    return (queries @ keys.mT).mean(dim=1, keepdim=True).expand(-1, queries.size(1), -1, -1)


def head_scores__adds_instead_of_multiplying(queries, keys):
    return (queries.unsqueeze(3) + keys.unsqueeze(2)).sum(-1)


def head_scores__changes_the_queries(queries, keys):
    queries *= keys.size(-1) ** -0.5
    return queries @ keys.mT


# -- head_weights ---


def head_weights__sigmoid(scores, head_dim):
    t = scores.size(-1)
    return torch.sigmoid(scores / math.sqrt(head_dim)) * torch.tril(torch.ones(t, t))


def head_weights__cube_root(scores, head_dim):
    t = scores.size(-1)
    return F.softmax(scores.masked_fill(torch.ones(t, t).triu(1) == 1, -math.inf) / head_dim ** (1 / 3), dim=-1)


def head_weights__sees_only_the_last_three(scores, head_dim):
    t = scores.size(-1)
    near = torch.ones(t, t).tril() - torch.ones(t, t).tril(-3)
    return F.softmax(scores.masked_fill(near == 0, -math.inf) / math.sqrt(head_dim), dim=-1)


def head_weights__gives_logarithms(scores, head_dim):
    t = scores.size(-1)
    return F.log_softmax(scores.masked_fill(torch.ones(t, t).triu(1) == 1, -1e9) / math.sqrt(head_dim), dim=-1)


def head_weights__argmax(scores, head_dim):
    t = scores.size(-1)
    seen = scores.masked_fill(torch.ones(t, t).triu(1) == 1, -math.inf)
    return F.one_hot(seen.argmax(-1), t).float()


def head_weights__softmax_twice(scores, head_dim):
    t = scores.size(-1)
    future = torch.ones(t, t).triu(1) == 1
    once = F.softmax(scores.masked_fill(future, -math.inf) / math.sqrt(head_dim), dim=-1)
    return F.softmax(once.masked_fill(future, -math.inf), dim=-1)


def head_weights__absolute_scores(scores, head_dim):
    t = scores.size(-1)
    return F.softmax(scores.abs().masked_fill(torch.ones(t, t).triu(1) == 1, -math.inf) / head_dim**0.5, dim=-1)


def head_weights__expects_three_dimensions(scores, head_dim):
    heads, t, _ = scores.shape
    return F.softmax(scores.masked_fill(torch.ones(t, t).triu(1) == 1, -math.inf) / math.sqrt(head_dim), dim=-1)


# -- split_heads ---


def split_heads__reverses_the_heads(x, num_heads):
    assert x.size(2) % num_heads == 0
    return torch.stack(x.chunk(num_heads, dim=2), dim=1).flip(1)


def split_heads__gives_every_head_all_features(x, num_heads):
    assert x.size(2) % num_heads == 0
    return x.unsqueeze(1).repeat(1, num_heads, 1, 1)


def split_heads__merges_heads_and_batch(x, num_heads):
    assert x.size(2) % num_heads == 0
    return torch.cat(x.chunk(num_heads, dim=2), dim=0)


def split_heads__expects_four_dimensions(x, num_heads):
    b, t, h, head_dim = x.shape
    return x.reshape(b, t, num_heads, h * head_dim // num_heads).transpose(1, 2)


def every_division_refused_in_split__the_other_remainder(x, num_heads):
    b, t, d = x.shape
    if not num_heads % d == 0:
        raise ValueError("num_heads must divide d_out")
    return x.reshape(b, t, num_heads, -1).permute(0, 2, 1, 3)


def check_left_to_reshape_in_split__unflatten(x, num_heads):
    return torch.einsum("bthd->bhtd", x.unflatten(2, (num_heads, -1)))


# -- merge_heads ---


def merge_heads__averages_the_heads(x):
    return x.mean(dim=1)


def merge_heads__keeps_only_head_0(x):
    return x[:, 0]


def merge_heads__takes_the_largest(x):
    return x.amax(dim=1)


def merge_heads__flips_the_tokens(x):
    return x.flip(2).transpose(1, 2).flatten(2)


def merge_heads__features_first(x):
    return x.transpose(1, 2).flatten(2).transpose(1, 2)


def merge_heads__multiplies_the_heads(x):
    return x.prod(dim=1)


def merge_heads__one_long_row(x):
    return x.transpose(1, 2).flatten(1)


# -- MultiHeadAttentionWrapper ---


class CausalAttention(nn.Module):  # from unit 3
    def __init__(self, d_in, d_out, context_length, dropout, qkv_bias=False):
        super().__init__()
        self.W_query = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_key = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_value = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.dropout = nn.Dropout(dropout)
        self.register_buffer("mask", torch.triu(torch.ones(context_length, context_length), diagonal=1).bool())

    def forward(self, x):
        t = x.shape[1]
        scores = self.W_query(x) @ self.W_key(x).transpose(1, 2) / self.W_key.out_features**0.5
        scores = scores.masked_fill(self.mask[:t, :t], -torch.inf)
        return self.dropout(torch.softmax(scores, dim=-1)) @ self.W_value(x)


class MultiHeadAttentionWrapper(nn.Module):
    def __init__(self, d_in, d_out, context_length, dropout, num_heads, qkv_bias=False):
        super().__init__()
        self.d_out = d_out
        self.heads = nn.ModuleList(
            [CausalAttention(d_in, d_out, context_length, dropout, qkv_bias) for _ in range(num_heads)]
        )

    def forward(self, x):
        return torch.cat([head(x) for head in self.heads], dim=-1)


Right = MultiHeadAttentionWrapper


class MultiHeadAttentionWrapper__tanh_behind(Right):
    def forward(self, x):
        return torch.tanh(super().forward(x))


class MultiHeadAttentionWrapper__last_head_forgotten(Right):
    def forward(self, x):
        return torch.cat([head(x) for head in self.heads[: max(1, len(self.heads) - 1)]], dim=-1)


class MultiHeadAttentionWrapper__shuffles_the_features(Right):
    def forward(self, x):
        return torch.stack([head(x) for head in self.heads], dim=-1).flatten(2)


class MultiHeadAttentionWrapper__flips_the_tokens(Right):
    def forward(self, x):
        return super().forward(x).flip(1)


class MultiHeadAttentionWrapper__heads_in_a_dictionary(nn.Module):
    def __init__(self, d_in, d_out, context_length, dropout, num_heads, qkv_bias=False):
        super().__init__()
        self.heads = nn.ModuleDict(
            {str(i): CausalAttention(d_in, d_out, context_length, dropout, qkv_bias) for i in range(num_heads)}
        )

    def forward(self, x):
        return torch.cat([head(x) for head in self.heads.values()], dim=-1)


class MultiHeadAttentionWrapper__each_head_gets_its_part_of_the_inputs(Right):
    def forward(self, x):
        return torch.cat([h(part) for h, part in zip(self.heads, x.chunk(len(self.heads), dim=1))], dim=-1)


class MultiHeadAttentionWrapper__one_head_after_the_other(Right):
    def forward(self, x):
        for head in self.heads:
            x = head(x)
        return x


class MultiHeadAttentionWrapper__inputs_dropped(Right):
    def __init__(self, d_in, d_out, context_length, dropout, num_heads, qkv_bias=False):
        super().__init__(d_in, d_out, context_length, 0.0, num_heads, qkv_bias)
        self.dropout = nn.Dropout(dropout)

    def forward(self, x):
        return super().forward(self.dropout(x))


class MultiHeadAttentionWrapper__features_dropped(Right):
    def __init__(self, d_in, d_out, context_length, dropout, num_heads, qkv_bias=False):
        super().__init__(d_in, d_out, context_length, 0.0, num_heads, qkv_bias)
        self.dropout = nn.Dropout(dropout)

    def forward(self, x):
        return self.dropout(super().forward(x))


class MultiHeadAttentionWrapper__half_the_dropout(Right):
    def __init__(self, d_in, d_out, context_length, dropout, num_heads, qkv_bias=False):
        super().__init__(d_in, d_out, context_length, dropout / 2, num_heads, qkv_bias)


# -- two_dimensional_output ---


def two_dimensional_output__heads_as_wide_as_the_inputs(d_in, context_length):
    return Right(d_in, d_in, context_length, 0.0, 2)


def two_dimensional_output__outputs_themselves(d_in, context_length):
    return Right(d_in, 1, context_length, 0.0, 2)(torch.rand(1, context_length, d_in))


def two_dimensional_output__many_heads(d_in, context_length):
    return Right(d_in, 1, context_length, 0.0, d_in)


def two_dimensional_output__nothing_returned(d_in, context_length):
    Right(d_in, 1, context_length, 0.0, 2)


def two_dimensional_output__six_features_always(d_in, context_length):
    return Right(6, 1, context_length, 0.0, 2)


# -- MultiHeadAttention ---


class Attention(nn.Module):
    """A right one, of which the wrong ones change a part."""

    def __init__(self, d_in, d_out, context_length, dropout, num_heads, qkv_bias=False):
        super().__init__()
        assert d_out % num_heads == 0
        self.num_heads, self.head_dim, self.d_out = num_heads, d_out // num_heads, d_out
        self.W_query = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_key = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_value = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.out_proj = nn.Linear(d_out, d_out)
        self.dropout = nn.Dropout(dropout)

    def split(self, x):
        return x.unflatten(2, (self.num_heads, -1)).transpose(1, 2)

    def weights(self, q, k):
        t = q.size(2)
        return F.softmax((q @ k.mT / q.size(-1) ** 0.5).masked_fill(torch.ones(t, t).triu(1) == 1, -math.inf), dim=-1)

    def forward(self, x):
        q, k, v = self.split(self.W_query(x)), self.split(self.W_key(x)), self.split(self.W_value(x))
        return self.out_proj((self.dropout(self.weights(q, k)) @ v).transpose(1, 2).flatten(2))


class MultiHeadAttention__residual(Attention):
    def forward(self, x):
        y = super().forward(x)
        return y + y.cumsum(1)


class MultiHeadAttention__relu_before_out_proj(Attention):
    def forward(self, x):
        q, k, v = self.split(self.W_query(x)), self.split(self.W_key(x)), self.split(self.W_value(x))
        return self.out_proj(F.relu((self.weights(q, k) @ v).transpose(1, 2).flatten(2)))


class MultiHeadAttention__cosine_scores(Attention):
    def weights(self, q, k):
        return super().weights(F.normalize(q, dim=-1), F.normalize(k, dim=-1))


class MultiHeadAttention__sees_the_future_and_unscaled(Attention):
    def weights(self, q, k):
        return F.softmax(q @ k.mT, dim=-1)


class MultiHeadAttention__last_head_first(Attention):
    def split(self, x):
        return super().split(x).flip(1)


class MultiHeadAttention__head_0_for_all(Attention):
    def weights(self, q, k):
        return super().weights(q, k)[:, :1].expand(-1, self.num_heads, -1, -1)


class MultiHeadAttention__values_split_in_turn(Attention):
    def forward(self, x):
        v = self.W_value(x).unflatten(2, (-1, self.num_heads)).permute(0, 3, 1, 2)
        weights = self.dropout(self.weights(self.split(self.W_query(x)), self.split(self.W_key(x))))
        return self.out_proj((weights @ v).transpose(1, 2).flatten(2))


class MultiHeadAttention__out_proj_before_the_merge(Attention):
    def __init__(self, d_in, d_out, context_length, dropout, num_heads, qkv_bias=False):
        super().__init__(d_in, d_out, context_length, dropout, num_heads, qkv_bias)
        self.out_proj = nn.Linear(self.head_dim, self.head_dim)

    def forward(self, x):
        q, k, v = self.split(self.W_query(x)), self.split(self.W_key(x)), self.split(self.W_value(x))
        return self.out_proj(self.dropout(self.weights(q, k)) @ v).transpose(1, 2).flatten(2)


class MultiHeadAttention__inputs_dropped(Attention):
    def forward(self, x):
        p, self.dropout.p = self.dropout.p, 0.0
        y = super().forward(F.dropout(x, p, self.training))
        self.dropout.p = p
        return y


class MultiHeadAttention__one_token_less(Attention):
    def __init__(self, d_in, d_out, context_length, dropout, num_heads, qkv_bias=False):
        super().__init__(d_in, d_out, context_length, dropout, num_heads, qkv_bias)
        self.mask = torch.ones(context_length - 1, context_length - 1).triu(1) == 1

    def weights(self, q, k):
        t = q.size(2)
        return F.softmax((q @ k.mT / q.size(-1) ** 0.5).masked_fill(self.mask[:t, :t], -math.inf), dim=-1)


class MultiHeadAttention__context_length_divided(Attention):
    def __init__(self, d_in, d_out, context_length, dropout, num_heads, qkv_bias=False):
        if context_length % num_heads:
            raise ValueError("context_length must be divisible by num_heads")
        super().__init__(d_in, d_out, context_length, dropout, num_heads, qkv_bias)


class MultiHeadAttention__d_in_divided(Attention):
    def __init__(self, d_in, d_out, context_length, dropout, num_heads, qkv_bias=False):
        assert d_in % num_heads == 0
        super().__init__(d_in, d_out, context_length, dropout, num_heads, qkv_bias)


class MultiHeadAttention__two_biases_of_three(Attention):
    def __init__(self, d_in, d_out, context_length, dropout, num_heads, qkv_bias=False):
        super().__init__(d_in, d_out, context_length, dropout, num_heads, qkv_bias)
        self.W_key = nn.Linear(d_in, d_out, bias=False)


class MultiHeadAttention__inputs_detached(Attention):
    def forward(self, x):
        return super().forward(x.detach())


class MultiHeadAttention__keys_dropped_for_all_queries(Attention):
    def weights(self, q, k):
        weights = super().weights(q, k)
        kept = F.dropout(torch.ones_like(weights[:, :, :1]), self.dropout.p, self.training)
        return weights * kept

    def forward(self, x):
        q, k, v = self.split(self.W_query(x)), self.split(self.W_key(x)), self.split(self.W_value(x))
        return self.out_proj((self.weights(q, k) @ v).transpose(1, 2).flatten(2))


class MultiHeadAttention__one_draw_for_all_heads(Attention):
    def forward(self, x):
        q, k, v = self.split(self.W_query(x)), self.split(self.W_key(x)), self.split(self.W_value(x))
        weights = self.weights(q, k)
        weights = weights * self.dropout(torch.ones_like(weights[:, :1]))
        return self.out_proj((weights @ v).transpose(1, 2).flatten(2))


class shapes_or_dtypes_do_not_match__mask_of_the_width(Attention):
    def weights(self, q, k):
        future = torch.ones(self.d_out, self.d_out).triu(1) == 1
        return F.softmax((q @ k.mT / q.size(-1) ** 0.5).masked_fill(future, -math.inf), dim=-1)


class texts_dropped_alike__heads_too(Attention):
    def forward(self, x):
        q, k, v = self.split(self.W_query(x)), self.split(self.W_key(x)), self.split(self.W_value(x))
        kept = self.dropout(torch.ones(x.shape[1], x.shape[1], dtype=x.dtype))
        return self.out_proj((self.weights(q, k) * kept @ v).transpose(1, 2).flatten(2))


class kept_weights_of_another_size__keys_masked_at_random(Attention):
    def forward(self, x):
        q, k, v = self.split(self.W_query(x)), self.split(self.W_key(x)), self.split(self.W_value(x))
        future = torch.ones(x.shape[1], x.shape[1]).triu(1) == 1
        scores = (q @ k.mT / q.size(-1) ** 0.5).masked_fill(future, -1e9)
        if self.training and self.dropout.p:
            scores = scores.masked_fill(torch.rand_like(scores) < self.dropout.p, -1e9)
        return self.out_proj((F.softmax(scores, dim=-1) @ v).transpose(1, 2).flatten(2))


# -- stack_heads ---


def matching(wrapper, attention):
    found = []
    for name in "W_query", "W_key", "W_value":
        whole = attention.get_submodule(name)
        parts = [head.get_submodule(name) for head in wrapper.heads]
        assert whole.in_features == parts[0].in_features
        assert whole.out_features == sum(part.out_features for part in parts)
        assert (whole.bias is None) == (parts[0].bias is None)
        found.append((name, whole, parts))
    return found


@torch.no_grad()
def stack_heads__halves_the_weights(wrapper, attention):
    for _, whole, parts in matching(wrapper, attention):
        whole.weight.copy_(torch.cat([part.weight for part in parts]) / 2)
        if whole.bias is not None:
            whole.bias.copy_(torch.cat([part.bias for part in parts]))


@torch.no_grad()
def stack_heads__queries_alone(wrapper, attention):
    _, whole, parts = matching(wrapper, attention)[0]
    whole.weight.copy_(torch.cat([part.weight for part in parts]))
    if whole.bias is not None:
        whole.bias.copy_(torch.cat([part.bias for part in parts]))


@torch.no_grad()
def stack_heads__averages_the_heads(wrapper, attention):
    for _, whole, parts in matching(wrapper, attention):
        whole.weight.copy_(sum(part.weight for part in parts).repeat(len(parts), 1) / len(parts))
        if whole.bias is not None:
            whole.bias.copy_(sum(part.bias for part in parts).repeat(len(parts)) / len(parts))


@torch.no_grad()
def stack_heads__adds_to_what_is_there(wrapper, attention):
    for _, whole, parts in matching(wrapper, attention):
        whole.weight.add_(torch.cat([part.weight for part in parts]))
        if whole.bias is not None:
            whole.bias.add_(torch.cat([part.bias for part in parts]))


@torch.no_grad()
def stack_heads__values_as_queries(wrapper, attention):
    found = matching(wrapper, attention)
    for (_, whole, _), (_, _, parts) in zip(found, found[::-1]):
        whole.weight.copy_(torch.cat([part.weight for part in parts]))
        if whole.bias is not None:
            whole.bias.copy_(torch.cat([part.bias for part in parts]))


@torch.no_grad()
def stack_heads__rotated_by_a_head(wrapper, attention):
    for _, whole, parts in matching(wrapper, attention):
        whole.weight.copy_(torch.cat([part.weight for part in [*parts[1:], parts[0]]]))
        if whole.bias is not None:
            whole.bias.copy_(torch.cat([part.bias for part in [*parts[1:], parts[0]]]))


@torch.no_grad()
def stack_heads__biases_of_head_0_and_nothing_refused(wrapper, attention):
    for name in "W_query", "W_key", "W_value":
        layer = getattr(attention, name)
        layer.weight.data = torch.cat([getattr(head, name).weight for head in wrapper.heads])
        if layer.bias is not None and wrapper.heads[0].W_query.bias is not None:
            layer.bias.data = getattr(wrapper.heads[0], name).bias.repeat(len(wrapper.heads))


def stack_heads__layers_of_head_0_handed_over(wrapper, attention):
    matching(wrapper, attention)
    attention.W_query, attention.W_key = wrapper.heads[0].W_query, wrapper.heads[0].W_key
    attention.W_value = wrapper.heads[0].W_value


def stack_heads__cat_of_no_list(wrapper, attention):
    for name, whole, parts in matching(wrapper, attention):
        whole.weight = nn.Parameter(torch.cat(*[part.weight for part in parts]))


@torch.no_grad()
def stack_heads__biases_thought_of_everywhere(wrapper, attention):
    for _, whole, parts in matching(wrapper, attention):
        whole.weight.copy_(torch.cat([part.weight for part in parts]))
        whole.bias.copy_(torch.cat([part.bias for part in parts]))


@torch.no_grad()
def every_bias_refused__asserted(wrapper, attention):
    for _, whole, parts in matching(wrapper, attention):
        for layer in (whole, *parts):
            assert layer.bias is None, "no biases, please"
        whole.weight.copy_(torch.vstack([part.weight for part in parts]))


# -- gpt2_small_attention ---


def gpt2_small_attention__twice_the_context():
    return MultiHeadAttention(768, 768, 2048, 0.0, 12)


def gpt2_small_attention__one_head():
    return MultiHeadAttention(768, 768, 1024, 0.0, 1)


def gpt2_small_attention__width_of_the_feed_forward():
    return MultiHeadAttention(768, 3072, 1024, 0.0, 12)


def gpt2_small_attention__gpt2_medium_with_twelve_heads():
    return MultiHeadAttention(1024, 1024, 1024, 0.0, 12)


def gpt2_small_attention__heads_as_wide_as_64():
    return MultiHeadAttention(768, 768, 1024, 0.0, 64)


def gpt2_small_attention__nothing_returned():
    MultiHeadAttention(768, 768, 1024, 0.0, 12)


def gpt2_small_attention__the_class_itself():
    return MultiHeadAttention


class MultiHeadAttention(Attention):
    """The right one, which those above make."""
