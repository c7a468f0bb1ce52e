"""Paraphrases of unit 4: the same wrong ideas as the misconceptions, in other code and under the same names."""

import math

import torch
import torch.nn as nn
import torch.nn.functional as F

# -- unroll_heads ---


def tokens_viewed_as_one_row(x, num_heads):
    b, t, d_out = x.shape
    head_dim, rest = divmod(d_out, num_heads)
    assert rest == 0
    return x.view(-1).unflatten(0, (b, t, num_heads, head_dim))


def resized_in_place(x, num_heads):
    assert x.shape[2] % num_heads == 0
    x.unsqueeze_(2)  # room for the heads
    return torch.cat(torch.chunk(x, num_heads, dim=3), dim=2)


def width_of_a_head_as_a_float(x, num_heads):
    b, t, d_out = x.shape
    assert d_out % num_heads == 0
    return x.reshape(b, t, num_heads, d_out / num_heads)


def width_of_a_head_as_a_float__unflatten(x, num_heads):
    head_dim = x.size(-1) / num_heads
    if head_dim != round(head_dim):
        raise ValueError("num_heads does not divide d_out")
    return torch.reshape(x, (x.size(0), x.size(1), num_heads, head_dim))


# -- group_by_head ---


def reshaped_instead_of_transposed(x):
    b, t, h, d = x.size()
    return x.flatten(start_dim=1).unflatten(1, (h, t, d))


def transposed_in_place(x):
    x.swapaxes_(2, 1)
    return x


# -- head_scores ---


def scores_made_weights(queries, keys):
    return nn.Softmax(dim=3)(torch.einsum("bhid,bhjd->bhij", queries, keys))


def cosines_instead_of_dot_products(queries, keys):
    return F.cosine_similarity(queries.unsqueeze(3), keys.unsqueeze(2), dim=-1)


def keys_transposed_in_place(queries, keys):
    keys.unsqueeze_(2)
    return (queries.unsqueeze(3) * keys).sum(4)


def keys_compared_with_keys(queries, keys):
    return keys @ keys.transpose(2, 3)


def keys_compared_with_keys__einsum(q, k):
    q = k
    return torch.einsum("bhqd,bhkd->bhqk", q, k)


def features_compared(queries, keys):
    return queries.transpose(2, 3) @ keys


def features_compared__einsum(q, k):
    return torch.einsum("bhtd,bhte->bhde", q, k)


def divided_by_head_dim_already(queries, keys):
    return queries @ keys.transpose(2, 3) / queries.size(-1)


def divided_by_head_dim_already__mean(q, k):
    return (q.unsqueeze(3) * k.unsqueeze(2)).mean(dim=-1)


# -- head_weights ---


def scaled_by_number_of_tokens(scores, head_dim):
    d_k = scores.size(-1)
    keep = torch.ones(d_k, d_k).tril() != 0
    return F.softmax(torch.where(keep, scores / math.sqrt(d_k), -math.inf), dim=-1)


def future_lowered_by_too_little(scores, head_dim):
    t = scores.size(-1)
    penalty = torch.triu(torch.full((t, t), -100.0), diagonal=1)
    return F.softmax(scores / math.sqrt(head_dim) + penalty, dim=-1)


def softmax_over_heads(scores, head_dim):
    t = scores.size(-1)
    keep = torch.tril(torch.ones(t, t, dtype=torch.bool))
    return F.softmax(torch.where(keep, scores / math.sqrt(head_dim), -math.inf))


def softmax_over_heads_of_lowered_scores(scores, head_dim):
    t = scores.size(-1)
    scores = torch.where(torch.tril(torch.ones(t, t)) == 0, -1e9, scores)
    return nn.Softmax(dim=1)(scores * head_dim**-0.5)


def divided_by_sum(scores, head_dim):
    t = scores.size(-1)
    past = torch.where(torch.tril(torch.ones(t, t)) == 1, scores / math.sqrt(head_dim), 0.0)
    return past / torch.einsum("bhqk->bhq", past).unsqueeze(3)


def past_averaged(scores, head_dim):
    past = torch.tril(torch.ones_like(scores))
    return past / past.sum(dim=-1, keepdim=True)


def fifth_power(scores, head_dim):
    t = scores.size(-1)
    future = torch.triu(torch.ones(t, t), diagonal=1).bool()
    return F.softmax(scores.masked_fill(future, -torch.inf) / head_dim**5, dim=-1)


def fifth_power__in_other_code(s, head_dim):
    place = torch.arange(s.shape[3])
    seen = place <= place[:, None]
    s = torch.where(seen, s * head_dim**-5.0, float("-inf"))
    return s.log_softmax(3).exp()


def square_instead_of_root(scores, head_dim):
    t = scores.size(-1)
    future = torch.triu(torch.ones(t, t), diagonal=1).bool()
    return F.softmax(scores.masked_fill(future, -torch.inf) / head_dim**2, dim=-1)


def square_instead_of_root__in_other_code(s, head_dim):
    place = torch.arange(s.shape[3])
    seen = place <= place[:, None]
    s = torch.where(seen, s / (head_dim * head_dim), float("-inf"))
    return s.log_softmax(3).exp()


def multiplied_by_half(scores, head_dim):
    t = scores.size(-1)
    future = torch.triu(torch.ones(t, t), diagonal=1).bool()
    return F.softmax(scores.masked_fill(future, -torch.inf) * head_dim * 0.5, dim=-1)


def multiplied_by_half__in_other_code(s, head_dim):
    place = torch.arange(s.shape[3])
    seen = place <= place[:, None]
    s = torch.where(seen, s * (head_dim / 2), float("-inf"))
    return s.log_softmax(3).exp()


def divided_by_half(scores, head_dim):
    t = scores.size(-1)
    future = torch.triu(torch.ones(t, t), diagonal=1).bool()
    return F.softmax(scores.masked_fill(future, -torch.inf) / (head_dim * 0.5), dim=-1)


def divided_by_half__in_other_code(s, head_dim):
    place = torch.arange(s.shape[3])
    seen = place <= place[:, None]
    s = torch.where(seen, s * 2 / head_dim, float("-inf"))
    return s.log_softmax(3).exp()


def softmax_twice(scores, head_dim):
    t = scores.size(-1)
    future = torch.triu(torch.ones(t, t), diagonal=1).bool()
    weights = F.softmax(scores.masked_fill(future, -torch.inf) / math.sqrt(head_dim), dim=-1)
    return F.softmax(weights, dim=-1)


def softmax_twice__in_other_code(s, head_dim):
    place = torch.arange(s.shape[3])
    seen = place <= place[:, None]
    softmax = nn.Softmax(dim=3)
    s = torch.where(seen, s / head_dim**0.5, float("-inf"))
    return softmax(softmax(s))


def softmax_before_and_after_the_mask(scores, head_dim):
    t = scores.size(-1)
    future = torch.triu(torch.ones(t, t), diagonal=1).bool()
    weights = F.softmax(scores / math.sqrt(head_dim), dim=-1)
    return F.softmax(weights.masked_fill(future, -torch.inf), dim=-1)


def softmax_before_and_after_the_mask__in_other_code(s, head_dim):
    place = torch.arange(s.shape[3])
    seen = place <= place[:, None]
    w = torch.where(seen, (s / head_dim**0.5).softmax(3), float("-inf"))
    return w.exp() / w.exp().sum(dim=3, keepdim=True)


def weights_masked_with_minus_infinity(scores, head_dim):
    t = scores.size(-1)
    future = torch.triu(torch.ones(t, t), diagonal=1).bool()
    weights = F.softmax(scores / math.sqrt(head_dim), dim=-1)
    return weights.masked_fill(future, -torch.inf)


def weights_masked_with_minus_infinity__in_other_code(s, head_dim):
    place = torch.arange(s.shape[3])
    seen = place <= place[:, None]
    return torch.where(seen, (s / head_dim**0.5).softmax(3), float("-inf"))


def arguments_do_not_fit(scores, head_dim):
    t = scores.size(-1)
    future = torch.triu(torch.ones(t, t), diagonal=1).bool()
    return F.softmax(scores.masked_fill(future, -torch.inf) / torch.sqrt(head_dim), dim=-1)


def arguments_do_not_fit__in_other_code(s, head_dim):
    place = torch.arange(s.shape[3])
    seen = place <= place[:, None]
    return torch.softmax(torch.where(seen, s / head_dim**0.5, float("-inf")))


def all_weights_one(scores, head_dim):
    t = scores.size(-1)
    future = torch.triu(torch.ones(t, t), diagonal=1).bool()
    scores = scores.masked_fill(future, -1e9) / math.sqrt(head_dim)
    return F.softmax(scores.unsqueeze(-1), dim=-1).squeeze(-1)


def all_weights_one__in_other_code(s, head_dim):
    place = torch.arange(s.shape[3])
    seen = place <= place[:, None]
    s = torch.where(seen, s, 0 * s)[None]
    return (s / head_dim**0.5).softmax(0)[0]


def only_the_future_seen(scores, head_dim):
    t = scores.size(-1)
    future = torch.triu(torch.ones(t, t), diagonal=1).bool()
    return F.softmax(scores.masked_fill(future == 0, -torch.inf) / math.sqrt(head_dim), dim=-1)


def only_the_future_seen__in_other_code(s, head_dim):
    place = torch.arange(s.shape[3])
    seen = place <= place[:, None]
    return torch.where(seen, float("-inf"), s / head_dim**0.5).softmax(3)


def only_the_future_seen_beside_low_numbers(scores, head_dim):
    t = scores.size(-1)
    future = torch.triu(torch.ones(t, t), diagonal=1).bool()
    return F.softmax(scores.masked_fill(future == 0, -1e9) / math.sqrt(head_dim), dim=-1)


def only_the_future_seen_beside_low_numbers__in_other_code(s, head_dim):
    place = torch.arange(s.shape[3])
    seen = place <= place[:, None]
    return torch.where(seen, -1e10, s / head_dim**0.5).softmax(3)


def large_number_for_the_future(scores, head_dim):
    t = scores.size(-1)
    future = torch.triu(torch.ones(t, t), diagonal=1).bool()
    return F.softmax(scores.masked_fill(future, 1e9) / math.sqrt(head_dim), dim=-1)


def large_number_for_the_future__in_other_code(s, head_dim):
    place = torch.arange(s.shape[3])
    seen = place <= place[:, None]
    return torch.where(seen, s / head_dim**0.5, 1e10).softmax(3)


def zero_scores_hidden(scores, head_dim):
    scores = scores / math.sqrt(head_dim) * torch.ones_like(scores).tril()
    return F.softmax(torch.where(scores == 0, -torch.inf, scores), dim=-1)


def mask_or_sums_do_not_fit(scores, head_dim):
    t = scores.size(-1)
    scores = scores.masked_fill(torch.triu(torch.ones(t, t), diagonal=1), -torch.inf)
    return F.softmax(scores / math.sqrt(head_dim), dim=-1)


def mask_or_sums_do_not_fit__sums(s, head_dim):
    place = torch.arange(s.shape[3])
    powers = torch.where(place <= place[:, None], s / head_dim**0.5, float("-inf")).exp()
    return powers / powers.sum(dim=3)


def scaled_by_eight(scores, head_dim):
    t = scores.size(-1)
    return F.softmax(scores.masked_fill(torch.ones(t, t).triu(1) == 1, -math.inf) / 8, dim=-1)


# -- split_heads ---


def heads_and_features_swapped(x, num_heads):
    assert x.size(2) % num_heads == 0
    return x.reshape(x.size(0), x.size(1), num_heads, -1).transpose(2, 3)


def heads_and_features_swapped__chunks(x, num_heads):
    assert x.shape[-1] % num_heads == 0
    return torch.stack(x.chunk(num_heads, dim=-1), dim=-1)


def heads_and_features_exchanged_in_split(x, num_heads):
    b, t, d = x.size()
    assert d % num_heads == 0
    return torch.einsum("btdh->bdth", x.unflatten(2, (d // num_heads, num_heads)))


def check_left_to_reshape_in_split(x, num_heads):
    return torch.einsum("bthd->bhtd", x.unflatten(2, (num_heads, -1)))


def every_division_refused_in_split(x, num_heads):
    b, t, d = x.shape
    if not num_heads % d == 0:
        raise ValueError("num_heads must divide d_out")
    return x.reshape(b, t, num_heads, -1).permute(0, 2, 1, 3)


def width_of_a_head_as_a_float_in_split(x, num_heads):
    b, t, d_out = x.shape
    assert d_out % num_heads == 0
    return x.reshape(b, t, num_heads, d_out / num_heads).transpose(1, 2)


def width_of_a_head_as_a_float_in_split__permuted(x, num_heads):
    head_dim = x.size(-1) / num_heads
    if head_dim != round(head_dim):
        raise ValueError("num_heads does not divide d_out")
    return torch.reshape(x, (x.size(0), x.size(1), num_heads, head_dim)).permute(0, 2, 1, 3)


# -- merge_heads ---


def last_two_kept_apart(x):
    return torch.stack([x[:, h] for h in range(x.size(1))], dim=2)


def batch_merged_away(x):
    b, h, t, d = x.size()
    return x.permute(0, 2, 1, 3).reshape(-1, h * d)


def shape_read_in_another_order(x):
    b, t, h, head_dim = x.shape
    return x.transpose(1, 2).reshape(b, t, h * head_dim)


def shape_read_in_another_order__contiguous(x):
    batch, num_tokens, _, _ = x.size()
    return x.permute(0, 2, 1, 3).contiguous().view(batch, num_tokens, -1)


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


d_out = 2  # in another cell of the notebook


class outputs_averaged(Heads):
    def forward(self, x):
        return sum(head(x) for head in self.heads) / len(self.heads)


class outputs_stacked_in_front(Heads):
    def forward(self, x):
        out = torch.empty(self.num_heads, *x.shape[:2], self.d_out, dtype=x.dtype)
        for i, head in enumerate(self.heads):
            out[i] = head(x)
        return out


class bias_in_every_head(nn.Module):
    def __init__(self, d_in, d_out, context_length, dropout, num_heads, qkv_bias=False):
        super().__init__()
        heads = (CausalAttention(d_in, d_out, context_length, dropout, qkv_bias=True) for _ in range(num_heads))
        self.heads = nn.ModuleList(heads)

    def forward(self, x):
        return torch.cat([head(x) for head in self.heads], dim=-1)


class inputs_detached(Heads):
    def forward(self, x):
        with torch.no_grad():
            x = x.clone()
        return torch.cat([head(x) for head in self.heads], dim=-1)


class RightHeads(nn.Module):
    """A right wrapper; the classes below change it."""

    def __init__(self, d_in, d_out, context_length, dropout, num_heads, qkv_bias=False):
        super().__init__()
        self.heads = nn.ModuleList()
        for _ in range(num_heads):
            self.heads.append(CausalAttention(d_in, d_out, context_length, dropout, qkv_bias))

    def forward(self, x):
        return torch.cat([head(x) for head in self.heads], dim=2)


class another_layer_behind_the_heads(RightHeads):
    def __init__(self, d_in, d_out, context_length, dropout, num_heads, qkv_bias=False):
        super().__init__(d_in, d_out, context_length, dropout, num_heads, qkv_bias)
        self.out_proj = nn.Linear(d_out * num_heads, d_out * num_heads)

    def forward(self, x):
        return self.out_proj(super().forward(x))


class another_layer_behind_the_heads__proj(nn.Module):
    def __init__(self, d_in, d_out, context_length, dropout, num_heads, qkv_bias=False):
        super().__init__()
        heads = [CausalAttention(d_in, d_out, context_length, dropout, qkv_bias) for _ in range(num_heads)]
        self.heads, width = nn.ModuleList(heads), num_heads * d_out
        self.proj = nn.Linear(width, width)

    def forward(self, x):
        outputs = []
        for head in self.heads:
            outputs.append(head(x))
        return self.proj(torch.cat(outputs, dim=-1))


class layer_back_to_d_out(RightHeads):
    def __init__(self, d_in, d_out, context_length, dropout, num_heads, qkv_bias=False):
        super().__init__(d_in, d_out, context_length, dropout, num_heads, qkv_bias)
        self.out_proj = nn.Linear(num_heads * d_out, d_out)

    def forward(self, x):
        return self.out_proj(super().forward(x))


class layer_back_to_d_out__proj(nn.Module):
    def __init__(self, d_in, d_out, context_length, dropout, num_heads, qkv_bias=False):
        super().__init__()
        heads = [CausalAttention(d_in, d_out, context_length, dropout, qkv_bias) for _ in range(num_heads)]
        self.heads = nn.ModuleList(heads)
        self.proj = nn.Linear(num_heads * d_out, d_out)

    def forward(self, x):
        outputs = []
        for head in self.heads:
            outputs.append(head(x))
        return self.proj(torch.cat(outputs, dim=-1))


class no_attribute_heads(nn.Module):
    def __init__(self, d_in, d_out, context_length, dropout, num_heads, qkv_bias=False):
        super().__init__()
        heads = [CausalAttention(d_in, d_out, context_length, dropout, qkv_bias) for _ in range(num_heads)]
        self.attention_heads = nn.ModuleList(heads)

    def forward(self, x):
        return torch.cat([head(x) for head in self.attention_heads], dim=2)


class no_attribute_heads__singular(nn.Module):
    def __init__(self, d_in, d_out, context_length, dropout, num_heads, qkv_bias=False):
        super().__init__()
        self.head = nn.ModuleList()
        for _ in range(num_heads):
            self.head.append(CausalAttention(d_in, d_out, context_length, dropout, qkv_bias))

    def forward(self, x):
        outputs = []
        for head in self.head:
            outputs.append(head(x))
        return torch.cat(outputs, dim=-1)


class no_attribute_heads__made_in_forward(nn.Module):
    def __init__(self, d_in, d_out, context_length, dropout, num_heads, qkv_bias=False):
        super().__init__()
        self.arguments, self.num_heads = (d_in, d_out, context_length, dropout, qkv_bias), num_heads

    def forward(self, x):
        self.heads = nn.ModuleList([CausalAttention(*self.arguments) for _ in range(self.num_heads)])
        return torch.cat([head(x) for head in self.heads], dim=-1)


class heads_from_d_out_to_d_out(RightHeads):
    def __init__(self, d_in, d_out, context_length, dropout, num_heads, qkv_bias=False):
        super().__init__(d_out, d_out, context_length, dropout, num_heads, qkv_bias)


class heads_from_d_out_to_d_out__written_out(nn.Module):
    def __init__(self, d_in, d_out, context_length, dropout, num_heads, qkv_bias=False):
        super().__init__()
        heads = [CausalAttention(d_out, d_out, context_length, dropout, qkv_bias) for _ in range(num_heads)]
        self.heads = nn.ModuleList(heads)

    def forward(self, x):
        outputs = []
        for head in self.heads:
            outputs.append(head(x))
        return torch.cat(outputs, dim=-1)


class outputs_in_a_list(RightHeads):
    def forward(self, x):
        return [head(x) for head in self.heads]


class outputs_in_a_list__appended(RightHeads):
    def forward(self, x):
        outputs = []
        for head in self.heads:
            outputs.append(head(x))
        return outputs


class last_head_alone(RightHeads):
    def forward(self, x):
        for head in self.heads:
            output = head(x)
        return output


class last_head_alone__cat(RightHeads):
    def forward(self, x):
        outputs = []
        for head in self.heads:
            outputs = [head(x)]
        return torch.cat(outputs, dim=-1)


class no_argument_for_the_bias_in_the_wrapper(RightHeads):
    def __init__(self, d_in, d_out, context_length, dropout, num_heads):
        super().__init__(d_in, d_out, context_length, dropout, num_heads)


class no_argument_for_the_bias_in_the_wrapper__bias_under_another_name(RightHeads):
    def __init__(self, d_in, d_out, context_length, dropout, num_heads, bias=False):
        super().__init__(d_in, d_out, context_length, dropout, num_heads, bias)


# -- two_dimensional_output ---


class MultiHeadAttentionWrapper(nn.Module):  # the right one, which these make
    def __init__(self, d_in, d_out, context_length, dropout, num_heads, qkv_bias=False):
        super().__init__()
        one = (d_in, d_out, context_length, dropout, qkv_bias)
        self.heads = nn.ModuleList([CausalAttention(*one) for _ in range(num_heads)])

    def forward(self, x):
        return torch.cat([head(x) for head in self.heads], dim=-1)


def three_features_always(d_in, context_length):
    inputs = torch.rand(6, 3)
    batch = torch.stack((inputs, inputs), dim=0)
    return MultiHeadAttentionWrapper(batch.shape[-1], 1, context_length, 0.0, 2)


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


class scaled_after_softmax_in_the_module(Layers):
    def forward(self, x):
        q, k, v = self.heads(x)
        weights = F.softmax(self.causal(torch.einsum("bhqd,bhkd->bhqk", q, k)), dim=-1)
        return self.finish(weights / math.sqrt(self.head_dim), v)


class future_zero_after_softmax_in_the_module(Layers):
    def forward(self, x):
        t = x.size(1)
        q, k, v = self.heads(x)
        weights = F.softmax(torch.einsum("bhqd,bhkd->bhqk", q, k) / math.sqrt(self.head_dim), dim=-1)
        return self.finish(weights * self.mask[:t, :t], v)


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


class heads_and_features_exchanged_in_the_module(Layers):
    def forward(self, x):
        q, k, v = (
            w(x).unflatten(2, (self.head_dim, self.num_heads)).permute(0, 2, 1, 3)
            for w in (self.W_query, self.W_key, self.W_value)
        )
        scores = torch.einsum("bhqd,bhkd->bhqk", q, k) / math.sqrt(self.head_dim)
        return self.finish(F.softmax(self.causal(scores), dim=-1), v)


class heads_masked_as_tokens(Layers):
    def forward(self, x):
        q, k, v = (w(x).unflatten(2, (self.num_heads, -1)) for w in (self.W_query, self.W_key, self.W_value))
        t = x.size(1)
        scores = torch.matmul(q, k.mT).masked_fill(self.mask[:t, :t] == 0, -torch.inf)
        weights = self.dropout(F.softmax(scores / k.size(-1) ** 0.5, dim=-1))
        return self.out_proj((weights @ v).reshape(x.size(0), t, self.d_out))


class features_shuffled_in_the_module(Layers):
    def forward(self, x):
        q, k, v = self.heads(x)
        weights = F.softmax(self.causal(torch.einsum("bhqd,bhkd->bhqk", q, k)) / math.sqrt(self.head_dim), dim=-1)
        context = torch.einsum("bhqk,bhkd->bqdh", self.dropout(weights), v)
        return self.out_proj(context.reshape(x.size(0), x.size(1), -1))


class one_projection_in_use(Layers):
    def forward(self, x):
        qkv = torch.stack(self.W_query(x).split(self.head_dim, dim=-1), dim=1)
        p = self.dropout.p if self.training else 0.0
        context = F.scaled_dot_product_attention(qkv, qkv, qkv, dropout_p=p, is_causal=True)
        return self.out_proj(torch.cat(context.unbind(1), dim=-1))


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


class biases_made_but_unused(FusedAttention):
    def forward(self, x):
        return self.attend(
            F.linear(x, self.W_query.weight), F.linear(x, self.W_key.weight), F.linear(x, self.W_value.weight)
        )


class only_out_proj_learns(Layers):
    def forward(self, x):
        with torch.no_grad():
            q, k, v = self.heads(x)
            weights = self.dropout(F.softmax(self.causal(q @ k.mT) / math.sqrt(self.head_dim), dim=-1))
            context = torch.cat((weights @ v).unbind(1), dim=-1)
        return self.out_proj(context)


class Attention(nn.Module):
    """The parts of a right one; the classes below put them together."""

    names = ("W_query", "W_key", "W_value")

    def __init__(self, d_in, d_out, context_length, dropout, num_heads, qkv_bias=False):
        super().__init__()
        assert d_out % num_heads == 0
        self.num_heads, self.head_dim = num_heads, d_out // num_heads
        for name in self.names:
            setattr(self, name, nn.Linear(d_in, d_out, bias=qkv_bias))
        self.out_proj = nn.Linear(d_out, d_out)
        self.dropout = nn.Dropout(dropout)

    def projected(self, x):
        """Queries, keys and values, each (B, H, T, head_dim)."""
        layers = [self.get_submodule(name) for name in self.names]
        return [layer(x).unflatten(2, (self.num_heads, -1)).transpose(1, 2) for layer in layers]

    def weigh(self, q, k, x):
        scores = (q @ k.mT / self.head_dim**0.5).masked_fill(future(x), -torch.inf)
        return scores.softmax(dim=-1)

    def finish(self, weights, v):
        return self.out_proj((self.dropout(weights) @ v).transpose(1, 2).flatten(2))

    def forward(self, x):
        q, k, v = self.projected(x)
        return self.finish(self.weigh(q, k, x), v)


def future(x):
    """(T, T), for a batch (B, T, …): what no token may look at."""
    return torch.triu(torch.ones(x.shape[1], x.shape[1]), diagonal=1) == 1


class fifth_power_in_the_module(Attention):
    def forward(self, x):
        q, k, v = self.projected(x)
        scores = q @ k.transpose(2, 3)
        scores = scores.masked_fill(future(x), -torch.inf) / self.head_dim**5
        return self.finish(F.softmax(scores, dim=-1), v)


class fifth_power_in_the_module__in_other_code(Attention):
    def forward(self, x):
        q, k, v = self.projected(x)
        scores = torch.einsum("bhqd,bhkd->bhqk", q, k)
        scores = torch.where(future(x), float("-inf"), scores * self.head_dim**-5.0)
        return self.finish(scores.log_softmax(3).exp(), v)


class square_instead_of_root_in_the_module(Attention):
    def forward(self, x):
        q, k, v = self.projected(x)
        scores = q @ k.transpose(2, 3)
        scores = scores.masked_fill(future(x), -torch.inf) / self.head_dim**2
        return self.finish(F.softmax(scores, dim=-1), v)


class square_instead_of_root_in_the_module__in_other_code(Attention):
    def forward(self, x):
        q, k, v = self.projected(x)
        scores = torch.einsum("bhqd,bhkd->bhqk", q, k)
        scores = torch.where(future(x), float("-inf"), scores / (self.head_dim * self.head_dim))
        return self.finish(scores.log_softmax(3).exp(), v)


class multiplied_by_half_in_the_module(Attention):
    def forward(self, x):
        q, k, v = self.projected(x)
        scores = q @ k.transpose(2, 3)
        scores = scores.masked_fill(future(x), -torch.inf) * self.head_dim * 0.5
        return self.finish(F.softmax(scores, dim=-1), v)


class multiplied_by_half_in_the_module__in_other_code(Attention):
    def forward(self, x):
        q, k, v = self.projected(x)
        scores = torch.einsum("bhqd,bhkd->bhqk", q, k)
        scores = torch.where(future(x), float("-inf"), scores * (self.head_dim / 2))
        return self.finish(scores.log_softmax(3).exp(), v)


class divided_by_half_in_the_module(Attention):
    def forward(self, x):
        q, k, v = self.projected(x)
        scores = q @ k.transpose(2, 3)
        scores = scores.masked_fill(future(x), -torch.inf) / (self.head_dim * 0.5)
        return self.finish(F.softmax(scores, dim=-1), v)


class divided_by_half_in_the_module__in_other_code(Attention):
    def forward(self, x):
        q, k, v = self.projected(x)
        scores = torch.einsum("bhqd,bhkd->bhqk", q, k)
        scores = torch.where(future(x), float("-inf"), scores * 2 / self.head_dim)
        return self.finish(scores.log_softmax(3).exp(), v)


class softmax_twice_in_the_module(Attention):
    def forward(self, x):
        q, k, v = self.projected(x)
        scores = q @ k.transpose(2, 3)
        scores = scores.masked_fill(future(x), -torch.inf) / math.sqrt(self.head_dim)
        weights = F.softmax(scores, dim=-1)
        return self.finish(F.softmax(weights, dim=-1), v)


class softmax_twice_in_the_module__in_other_code(Attention):
    def forward(self, x):
        q, k, v = self.projected(x)
        scores = torch.einsum("bhqd,bhkd->bhqk", q, k)
        scores = torch.where(future(x), float("-inf"), scores * self.head_dim**-0.5)
        for _ in range(2):
            scores = nn.Softmax(dim=3)(scores)
        return self.finish(scores, v)


class softmax_before_and_after_the_mask_in_the_module(Attention):
    def forward(self, x):
        q, k, v = self.projected(x)
        scores = q @ k.transpose(2, 3)
        weights = F.softmax(scores / math.sqrt(self.head_dim), dim=-1).masked_fill(future(x), -torch.inf)
        return self.finish(F.softmax(weights, dim=-1), v)


class softmax_before_and_after_the_mask_in_the_module__in_other_code(Attention):
    def forward(self, x):
        q, k, v = self.projected(x)
        scores = torch.einsum("bhqd,bhkd->bhqk", q, k)
        softmax = nn.Softmax(dim=3)
        weights = softmax(scores * self.head_dim**-0.5)
        return self.finish(softmax(torch.where(future(x), float("-inf"), weights)), v)


class weights_masked_with_minus_infinity_in_the_module(Attention):
    def forward(self, x):
        q, k, v = self.projected(x)
        scores = q @ k.transpose(2, 3)
        weights = F.softmax(scores / math.sqrt(self.head_dim), dim=-1).masked_fill(future(x), -torch.inf)
        return self.finish(weights, v)


class weights_masked_with_minus_infinity_in_the_module__in_other_code(Attention):
    def forward(self, x):
        q, k, v = self.projected(x)
        scores = torch.einsum("bhqd,bhkd->bhqk", q, k)
        weights = nn.Softmax(dim=3)(scores * self.head_dim**-0.5)
        return self.finish(torch.where(future(x), float("-inf"), weights), v)


class arguments_do_not_fit_in_the_module(Attention):
    def forward(self, x):
        q, k, v = self.projected(x)
        scores = q @ k.transpose(2, 3)
        scores = scores.masked_fill(future(x), -torch.inf) / torch.sqrt(self.head_dim)
        return self.finish(F.softmax(scores, dim=-1), v)


class arguments_do_not_fit_in_the_module__in_other_code(Attention):
    def forward(self, x):
        q, k, v = self.projected(x)
        scores = torch.einsum("bhqd,bhkd->bhqk", q, k)
        scores = torch.where(future(x), float("-inf"), scores * self.head_dim**-0.5)
        return self.finish(torch.softmax(scores), v)


class all_weights_one_in_the_module(Attention):
    def forward(self, x):
        q, k, v = self.projected(x)
        scores = q @ k.transpose(2, 3)
        scores = scores.masked_fill(future(x), -1e9) / math.sqrt(self.head_dim)
        return self.finish(F.softmax(scores.unsqueeze(-1), dim=-1).squeeze(-1), v)


class all_weights_one_in_the_module__in_other_code(Attention):
    def forward(self, x):
        q, k, v = self.projected(x)
        scores = torch.einsum("bhqd,bhkd->bhqk", q, k)
        return self.finish(scores[None].softmax(0)[0], v)


class only_the_future_seen_in_the_module(Attention):
    def forward(self, x):
        q, k, v = self.projected(x)
        scores = q @ k.transpose(2, 3)
        scores = scores.masked_fill(future(x) == 0, -torch.inf) / math.sqrt(self.head_dim)
        return self.finish(F.softmax(scores, dim=-1), v)


class only_the_future_seen_in_the_module__in_other_code(Attention):
    def forward(self, x):
        q, k, v = self.projected(x)
        scores = torch.einsum("bhqd,bhkd->bhqk", q, k)
        scores = torch.where(future(x), scores * self.head_dim**-0.5, float("-inf"))
        return self.finish(scores.softmax(3), v)


class only_the_future_seen_beside_low_numbers_in_the_module(Attention):
    def forward(self, x):
        q, k, v = self.projected(x)
        scores = q @ k.transpose(2, 3)
        scores = scores.masked_fill(future(x) == 0, -1e9) / math.sqrt(self.head_dim)
        return self.finish(F.softmax(scores, dim=-1), v)


class only_the_future_seen_beside_low_numbers_in_the_module__in_other_code(Attention):
    def forward(self, x):
        q, k, v = self.projected(x)
        scores = torch.einsum("bhqd,bhkd->bhqk", q, k)
        scores = torch.where(future(x), scores * self.head_dim**-0.5, -1e10)
        return self.finish(scores.softmax(3), v)


class large_number_for_the_future_in_the_module(Attention):
    def forward(self, x):
        q, k, v = self.projected(x)
        scores = q @ k.transpose(2, 3)
        scores = scores.masked_fill(future(x), 1e9) / math.sqrt(self.head_dim)
        return self.finish(F.softmax(scores, dim=-1), v)


class large_number_for_the_future_in_the_module__in_other_code(Attention):
    def forward(self, x):
        q, k, v = self.projected(x)
        scores = torch.einsum("bhqd,bhkd->bhqk", q, k)
        scores = torch.where(future(x), 1e10, scores * self.head_dim**-0.5)
        return self.finish(scores.softmax(3), v)


class zero_scores_hidden_in_the_module(Attention):
    def forward(self, x):
        q, k, v = self.projected(x)
        scores = q @ k.transpose(2, 3) / math.sqrt(self.head_dim) * ~future(x)
        return self.finish(F.softmax(torch.where(scores == 0, -torch.inf, scores), dim=-1), v)


class query_projection_unused(Attention):
    def forward(self, x):
        q, k, v = self.projected(x)
        weights = self.weigh(k, k, x)
        return self.finish(weights, v)


class query_projection_unused__in_other_code(Attention):
    def forward(self, x):
        q, k, v = self.projected(x)
        scores = torch.einsum("bhqd,bhkd->bhqk", k, k) * self.head_dim**-0.5
        return self.finish(torch.where(future(x), float("-inf"), scores).softmax(3), v)


class shapes_or_dtypes_do_not_match(Attention):
    def forward(self, x):
        q, k, v = self.projected(x)
        scores = q @ k.transpose(2, 3)
        mask = torch.triu(torch.ones(x.size(1), x.size(1)), diagonal=1)
        scores = scores.masked_fill(mask, -torch.inf) / math.sqrt(self.head_dim)
        return self.finish(F.softmax(scores, dim=-1), v)


class shapes_or_dtypes_do_not_match__in_other_code(Attention):
    def forward(self, x):
        q, k, v = self.projected(x)
        batch, num_tokens, d_in = x.shape
        contexts = (self.weigh(q, k, x) @ v).transpose(1, 2)
        return self.out_proj(contexts.reshape(batch, num_tokens, d_in))


class view_of_transposed_contexts(Attention):
    def forward(self, x):
        q, k, v = self.projected(x)
        batch, num_tokens, _ = x.shape
        contexts = self.dropout(self.weigh(q, k, x)) @ v
        return self.out_proj(contexts.transpose(1, 2).view(batch, num_tokens, -1))


class view_of_transposed_contexts__in_other_code(Attention):
    def forward(self, x):
        q, k, v = self.projected(x)
        contexts = torch.einsum("bhqk,bhkd->bhqd", self.dropout(self.weigh(q, k, x)), v)
        tokens_first = contexts.contiguous().permute(0, 2, 1, 3)
        return self.out_proj(tokens_first.view(*x.shape[:2], self.num_heads * self.head_dim))


class output_transposed(Attention):
    def forward(self, x):
        q, k, v = self.projected(x)
        return self.finish(self.weigh(q, k, x), v).transpose(1, 2)


class output_transposed__in_other_code(Attention):
    def forward(self, x):
        q, k, v = self.projected(x)
        output = self.finish(self.weigh(q, k, x), v)
        return torch.einsum("btd->bdt", output)


class mixed_by_the_columns(Attention):
    def forward(self, x):
        q, k, v = self.projected(x)
        return self.finish(self.weigh(q, k, x).transpose(2, 3), v)


class mixed_by_the_columns__in_other_code(Attention):
    def forward(self, x):
        q, k, v = self.projected(x)
        weights = self.dropout(self.weigh(q, k, x))
        contexts = torch.einsum("bhqk,bhqd->bhkd", weights, v)
        return self.out_proj(contexts.transpose(1, 2).flatten(2))


class weights_returned(Attention):
    def forward(self, x):
        q, k, v = self.projected(x)
        return self.weigh(q, k, x)


class weights_returned__in_other_code(Attention):
    def forward(self, x):
        q, k, v = self.projected(x)
        weights = self.weigh(q, k, x)
        self.finish(weights, v)
        return weights


class kept_weights_of_another_size(Attention):
    def forward(self, x):
        q, k, v = self.projected(x)
        return self.dropout(self.finish(self.weigh(q, k, x), v))


class kept_weights_of_another_size__in_other_code(Attention):
    def forward(self, x):
        q, k, v = self.projected(x)
        weights = self.weigh(q, k, x)
        if self.training:
            weights = weights / (1 - self.dropout.p)
        return self.finish(weights, v)


class kept_weights_of_another_size__weights(Attention):
    def weigh(self, q, k, x):
        return self.dropout(super().weigh(q, k, x))


class texts_dropped_alike(Attention):
    def forward(self, x):
        q, k, v = self.projected(x)
        kept = self.dropout(torch.ones(x.shape[1], x.shape[1], dtype=x.dtype))
        contexts = (self.weigh(q, k, x) * kept) @ v
        return self.out_proj(contexts.transpose(1, 2).flatten(2))


class shapes_or_dtypes_do_not_match__mask_of_the_width(Attention):
    def weigh(self, q, k, x):
        width = self.num_heads * self.head_dim
        future = torch.ones(width, width).triu(1) == 1
        return F.softmax((q @ k.mT / q.size(-1) ** 0.5).masked_fill(future, -math.inf), dim=-1)


class kept_weights_of_another_size__keys_masked_at_random(Attention):
    def weigh(self, q, k, x):
        scores = (q @ k.mT / q.size(-1) ** 0.5).masked_fill(future(x), -1e9)
        if self.training and self.dropout.p:
            scores = scores.masked_fill(torch.rand_like(scores) < self.dropout.p, -1e9)
        return F.softmax(scores, dim=-1)

    def finish(self, weights, v):
        return self.out_proj((weights @ v).transpose(1, 2).flatten(2))


class layers_under_other_names(Attention):
    names = ("query", "key", "value")


class layers_under_other_names__projections(nn.Module):
    def __init__(self, d_in, d_out, context_length, dropout, num_heads, qkv_bias=False):
        super().__init__()
        assert d_out % num_heads == 0
        self.q_proj = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.k_proj = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.v_proj = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.o_proj = nn.Linear(d_out, d_out)
        self.num_heads, self.p = num_heads, dropout

    def forward(self, x):
        q, k, v = (
            layer(x).unflatten(2, (self.num_heads, -1)).transpose(1, 2)
            for layer in (self.q_proj, self.k_proj, self.v_proj)
        )
        contexts = F.scaled_dot_product_attention(q, k, v, dropout_p=self.p * self.training, is_causal=True)
        return self.o_proj(contexts.transpose(1, 2).flatten(2))


class layers_under_other_names__one_wide_layer(nn.Module):
    def __init__(self, d_in, d_out, context_length, dropout, num_heads, qkv_bias=False):
        super().__init__()
        assert d_out % num_heads == 0
        self.c_attn = nn.Linear(d_in, 3 * d_out, bias=qkv_bias)
        self.out_proj = nn.Linear(d_out, d_out)
        self.num_heads, self.p = num_heads, dropout

    def forward(self, x):
        q, k, v = (part.unflatten(2, (self.num_heads, -1)).transpose(1, 2) for part in self.c_attn(x).chunk(3, 2))
        contexts = F.scaled_dot_product_attention(q, k, v, dropout_p=self.p * self.training, is_causal=True)
        return self.out_proj(contexts.transpose(1, 2).flatten(2))


class out_proj_under_another_name(Attention):
    def __init__(self, d_in, d_out, context_length, dropout, num_heads, qkv_bias=False):
        super().__init__(d_in, d_out, context_length, dropout, num_heads, qkv_bias)
        self.proj = self.out_proj
        del self.out_proj

    def finish(self, weights, v):
        return self.proj((self.dropout(weights) @ v).transpose(1, 2).flatten(2))


class out_proj_under_another_name__W_o(nn.Module):
    def __init__(self, d_in, d_out, context_length, dropout, num_heads, qkv_bias=False):
        super().__init__()
        assert d_out % num_heads == 0
        self.W_query = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_key = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_value = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_o = nn.Linear(d_out, d_out)
        self.num_heads, self.p = num_heads, dropout

    def forward(self, x):
        q, k, v = (
            layer(x).unflatten(2, (self.num_heads, -1)).transpose(1, 2)
            for layer in (self.W_query, self.W_key, self.W_value)
        )
        contexts = F.scaled_dot_product_attention(q, k, v, dropout_p=self.p * self.training, is_causal=True)
        return self.W_o(contexts.transpose(1, 2).flatten(2))


class layers_from_d_out_to_d_out(Attention):
    def __init__(self, d_in, d_out, context_length, dropout, num_heads, qkv_bias=False):
        super().__init__(d_out, d_out, context_length, dropout, num_heads, qkv_bias)


class layers_from_d_out_to_d_out__written_out(nn.Module):
    def __init__(self, d_in, d_out, context_length, dropout, num_heads, qkv_bias=False):
        super().__init__()
        if d_out % num_heads != 0:
            raise ValueError("num_heads does not divide d_out")
        self.W_query = nn.Linear(d_out, d_out, bias=qkv_bias)
        self.W_key = nn.Linear(d_out, d_out, bias=qkv_bias)
        self.W_value = nn.Linear(d_out, d_out, bias=qkv_bias)
        self.out_proj = nn.Linear(d_out, d_out)
        self.num_heads, self.p = num_heads, dropout

    def forward(self, x):
        q, k, v = (
            layer(x).unflatten(2, (self.num_heads, -1)).transpose(1, 2)
            for layer in (self.W_query, self.W_key, self.W_value)
        )
        contexts = F.scaled_dot_product_attention(q, k, v, dropout_p=self.p * self.training, is_causal=True)
        return self.out_proj(contexts.transpose(1, 2).flatten(2))


class no_argument_for_the_bias_in_the_module(Attention):
    def __init__(self, d_in, d_out, context_length, dropout, num_heads):
        super().__init__(d_in, d_out, context_length, dropout, num_heads)


class no_argument_for_the_bias_in_the_module__bias_under_another_name(Attention):
    def __init__(self, d_in, d_out, context_length, dropout, num_heads, bias=False):
        super().__init__(d_in, d_out, context_length, dropout, num_heads, bias)


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


def rows_shuffled(wrapper, attention):
    for _, whole, parts in matching(wrapper, attention):
        for h, part in enumerate(parts):
            whole.weight.data[h :: len(parts)] = part.weight.data
            if whole.bias is not None:
                whole.bias.data[h :: len(parts)] = part.bias.data


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


@torch.no_grad()
def biases_of_the_heads_dropped(wrapper, attention):
    for kind in "W_query", "W_key", "W_value":
        whole = attention.get_submodule(kind)
        parts = [head.get_submodule(kind) for head in wrapper.heads]
        if whole.bias is not None:
            whole.bias.copy_(torch.cat([part.bias for part in parts]))
        whole.weight.copy_(torch.cat([part.weight for part in parts]))


def every_bias_refused(wrapper, attention):
    for _, whole, parts in matching(wrapper, attention):
        for layer in (whole, *parts):
            assert layer.bias is None, "no biases, please"
        whole.weight.data.copy_(torch.vstack([part.weight for part in parts]))


# -- gpt2_small_attention ---


class MultiHeadAttention(FusedAttention):
    """The right one, which these make."""


def heads_of_the_worked_example():
    num_heads = 2
    return MultiHeadAttention(d_in=768, d_out=768, context_length=1024, dropout=0.0, num_heads=num_heads)


def wrapper_instead():
    return MultiHeadAttentionWrapper(d_in=768, d_out=768, context_length=1024, dropout=0.0, num_heads=12)
