"""Loops over sequences and heads, float64 inside and cast back, dropout by hand, prints and warnings left in."""

import warnings

import torch
from torch import nn


class IndivisibleError(ValueError):
    pass


def unroll_heads(x, num_heads):
    print("unroll", x.shape, num_heads)
    if x.shape[2] // num_heads * num_heads != x.shape[2]:
        raise IndivisibleError(f"{x.shape[2]} / {num_heads}")
    size = x.shape[2] // num_heads
    result = torch.zeros(x.shape[0], x.shape[1], num_heads, size, dtype=x.dtype)
    for head in range(num_heads):
        result[:, :, head, :] = x[:, :, head * size : (head + 1) * size]
    return result


def group_by_head(x):
    return torch.stack([torch.stack([sequence[:, h] for h in range(x.shape[2])]) for sequence in x])


def head_scores(queries, keys):
    rows = []
    for q_heads, k_heads in zip(queries, keys):
        rows.append(torch.stack([q.mm(k.t()) for q, k in zip(q_heads, k_heads)]))
    return torch.stack(rows)


def weights_of(scores, size):
    """(T, T) to the same, one row after the other."""
    rows = []
    for i in range(len(scores)):
        seen = scores[i, : i + 1].double() / size**0.5
        shares = torch.exp(seen - seen.max())
        rows.append(torch.cat([shares / shares.sum(), torch.zeros(len(scores) - i - 1, dtype=torch.float64)]))
    return torch.stack(rows).to(scores.dtype)


def head_weights(scores, head_dim):
    warnings.warn("this takes a while")
    return torch.stack([torch.stack([weights_of(head, head_dim) for head in heads]) for heads in scores])


def split_heads(x, num_heads):
    if x.shape[2] % num_heads > 0:
        raise IndivisibleError(f"{x.shape[2]} / {num_heads}")
    size = x.shape[2] // num_heads
    return torch.stack([x[..., start : start + size] for start in range(0, x.shape[2], size)], dim=1)


def merge_heads(x):
    return torch.stack([torch.cat([head for head in heads], dim=1) for heads in x])


def dropped(weights, p, training):
    if not training or p == 0:
        return weights
    return weights * torch.bernoulli(torch.full(weights.shape, 1 - p, dtype=weights.dtype)) / (1 - p)


class Single(nn.Module):
    def __init__(self, d_in, d_out, dropout, qkv_bias):
        super().__init__()
        self.W_query = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_key = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_value = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.dropout, self.size, self.last_weights = dropout, d_out, None

    def forward(self, inputs):
        results = []
        for x in inputs:
            weights = weights_of(self.W_query(x) @ self.W_key(x).T, self.size)
            self.last_weights = weights
            results.append(dropped(weights, self.dropout, self.training) @ self.W_value(x))
        return torch.stack(results)


class MultiHeadAttentionWrapper(nn.Module):
    def __init__(self, d_in, d_out, context_length, dropout, num_heads, qkv_bias=False):
        super().__init__()
        heads = []
        for number in range(num_heads):
            print("head", number)
            heads.append(Single(d_in, d_out, dropout, qkv_bias))
        self.heads = nn.ModuleList(heads)
        self.names = [str(number) for number in range(num_heads)]

    def forward(self, inputs):
        result = None
        for head in self.heads:
            result = head(inputs) if result is None else torch.cat((result, head(inputs)), dim=-1)
        return result


def two_dimensional_output(d_in, context_length):
    return MultiHeadAttentionWrapper(d_in, 1, context_length, 0.0, 2)


class MultiHeadAttention(nn.Module):
    def __init__(self, d_in, d_out, context_length, dropout, num_heads, qkv_bias=False):
        super().__init__()
        self.size, rest = divmod(d_out, num_heads)
        if rest:
            raise IndivisibleError(f"{d_out} / {num_heads}")
        self.W_key = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_value = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_query = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.out_proj = nn.Linear(d_out, d_out, bias=True)
        self.num_heads, self.p = num_heads, dropout

    def forward(self, inputs):
        outputs = torch.zeros(inputs.shape[0], inputs.shape[1], self.out_proj.out_features, dtype=inputs.dtype)
        for number, x in enumerate(inputs):
            queries, keys, values = self.W_query(x), self.W_key(x), self.W_value(x)
            for head in range(self.num_heads):
                mine = slice(head * self.size, (head + 1) * self.size)
                weights = weights_of(queries[:, mine] @ keys[:, mine].T, self.size)
                outputs[number, :, mine] = dropped(weights, self.p, self.training) @ values[:, mine]
        print("attended", outputs.shape)
        return self.out_proj(outputs)


def stack_heads(wrapper, attention):
    copies = []
    for target, name in ((attention.W_query, "W_query"), (attention.W_key, "W_key"), (attention.W_value, "W_value")):
        rows, numbers = [], []
        for head in wrapper.heads:
            layer = getattr(head, name)
            assert layer.bias is None or target.bias is not None
            rows += list(layer.weight.detach().clone())
            if target.bias is not None:
                numbers += layer.bias.tolist()  # there is no tolist where there is no bias
        copies.append((target.weight, torch.stack(rows)))
        if target.bias is not None:
            copies.append((target.bias, torch.tensor(numbers)))
    for parameter, value in copies:
        if parameter.shape != value.shape:
            raise RuntimeError("shapes differ")
        parameter.data[:] = value


def gpt2_small_attention():
    width, heads, context = 64 * 12, 12, 2**10
    return MultiHeadAttention(width, width, context, 0.0, heads)
