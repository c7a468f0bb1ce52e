"""torch's own scaled_dot_product_attention, unfold and movedim; heads and the whole module share a class."""

import torch
from torch import nn
from torch.nn.functional import scaled_dot_product_attention


def unroll_heads(x, num_heads):
    assert not x.shape[-1] % num_heads
    size = x.shape[-1] // num_heads
    return x.unfold(-1, size, size)


def group_by_head(x):
    return x.movedim(2, 1)


def head_scores(queries, keys):
    return (queries.unsqueeze(3) * keys.unsqueeze(2)).sum(dim=4)


def head_weights(scores, head_dim):
    logits = scores / torch.sqrt(torch.tensor(head_dim, dtype=scores.dtype))
    logits = logits + torch.triu(torch.full_like(logits, float("-inf")), 1)
    return (logits - torch.logsumexp(logits, dim=-1, keepdim=True)).exp()


def split_heads(x, num_heads):
    assert not x.shape[-1] % num_heads
    size = x.shape[-1] // num_heads
    return x.unfold(-1, size, size).movedim(2, 1)


def merge_heads(x):
    return x.movedim(1, 2).flatten(-2, -1)


class Projections(nn.Module):
    def __init__(self, d_in, d_out, context_length, dropout, num_heads, qkv_bias=False):
        super().__init__()
        if d_out % num_heads != 0:
            raise ValueError("d_out % num_heads != 0")
        self.config = {"context_length": context_length, "dropout": dropout, "num_heads": num_heads}
        self.W_query = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_key = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_value = nn.Linear(d_in, d_out, bias=qkv_bias)

    def forward(self, x):
        heads = self.config["num_heads"]
        queries, keys, values = (split_heads(layer(x), heads) for layer in self.children())
        dropout = self.config["dropout"] if self.training else 0.0
        return merge_heads(scaled_dot_product_attention(queries, keys, values, dropout_p=dropout, is_causal=True))


class MultiHeadAttentionWrapper(nn.Module):
    def __init__(self, d_in, d_out, context_length, dropout, num_heads, qkv_bias=False):
        super().__init__()
        make = lambda: Projections(d_in, d_out, context_length, dropout, 1, qkv_bias)  # noqa: E731
        self.heads = nn.ModuleList([make() for _ in range(num_heads)])

    def forward(self, x):
        return torch.cat(tuple(map(lambda head: head(x), self.heads)), -1)


def two_dimensional_output(d_in, context_length):
    wrapper = MultiHeadAttentionWrapper(d_in, 1, context_length, 0.0, 2)
    with torch.no_grad():
        assert wrapper(torch.zeros(1, 1, d_in)).shape == (1, 1, 2)
    return wrapper


class MultiHeadAttention(nn.Module):
    def __init__(self, d_in, d_out, context_length, dropout, num_heads, qkv_bias=False):
        super().__init__()
        self.parts = [Projections(d_in, d_out, context_length, dropout, num_heads, qkv_bias)]  # a list: not registered
        self.W_query, self.W_key, self.W_value = self.parts[0].children()
        self.out_proj = nn.Linear(d_out, d_out)

    def forward(self, x):
        self.parts[0].train(self.training)
        return self.out_proj(self.parts[0](x))


@torch.no_grad()
def stack_heads(wrapper, attention):
    for name in ("W_query", "W_key", "W_value"):
        target, heads = attention.get_submodule(name), [head.get_submodule(name) for head in wrapper.heads]
        target.weight.copy_(torch.vstack([head.weight for head in heads]))
        biases = [head.bias for head in heads if head.bias is not None]
        if target.bias is not None:
            target.bias.copy_(torch.hstack(biases) if biases else torch.zeros_like(target.bias))
        elif biases:
            raise ValueError("attention has no place for the biases of the heads")


def gpt2_small_attention():
    module = MultiHeadAttention(768, 768, 1024, 0.1, 12)
    module.eval()
    return module
