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


# -- split_heads ---


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


# -- merge_heads ---


def last_two_kept_apart(x):
    return torch.stack([x[:, h] for h in range(x.size(1))], dim=2)


def batch_merged_away(x):
    b, h, t, d = x.size()
    return x.permute(0, 2, 1, 3).reshape(-1, h * d)


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
