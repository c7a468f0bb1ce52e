"""One product for the three layers, baddbmm over heads and sequences, and an added mask that is not in the state."""

import torch
from torch import nn


def unroll_heads(x, num_heads):
    batch, tokens, width = x.shape
    if width % num_heads:
        raise ValueError(f"{width} features for {num_heads} heads")
    return x.reshape(batch * tokens, num_heads, -1).reshape(batch, tokens, num_heads, -1)


def group_by_head(x):
    return x.swapaxes(-3, -2).contiguous()


def head_scores(queries, keys):
    flat = torch.bmm(queries.flatten(0, 1), keys.flatten(0, 1).transpose(1, 2))  # (B · H, T, T)
    return flat.unflatten(0, queries.shape[:2])


def hiding(tokens, dtype=torch.float32):
    return torch.full((tokens, tokens), torch.finfo(dtype).min, dtype=dtype).triu(1)


def head_weights(scores, head_dim):
    return ((scores + hiding(scores.shape[-1], scores.dtype)) * head_dim**-0.5).softmax(-1)


def split_heads(x, num_heads):
    batch, tokens, width = x.shape
    if width % num_heads:
        raise ValueError(f"{width} features for {num_heads} heads")
    return x.permute(0, 2, 1).reshape(batch, num_heads, -1, tokens).mT  # (B, d_out, T) -> (B, H, head_dim, T)


def merge_heads(x):
    return group_by_head(x).flatten(2)  # exchanging the two once more brings them back


class Fused(nn.Module):
    """What a head of the wrapper and the large module have in common."""

    def __init__(self, d_in, d_out, context_length, dropout, num_heads, qkv_bias):
        super().__init__()
        if d_out % num_heads:
            raise ValueError(f"{d_out} features for {num_heads} heads")
        self.W_query, self.W_key, self.W_value = (nn.Linear(d_in, d_out, bias=qkv_bias) for _ in range(3))
        self.drop = nn.Dropout(p=dropout)
        self.num_heads = num_heads
        self.register_buffer("hidden", hiding(context_length), persistent=False)

    def attend(self, x):
        layers = (self.W_query, self.W_key, self.W_value)
        together = x @ torch.cat([layer.weight for layer in layers]).T  # (B, T, 3 · d_out)
        if self.W_key.bias is not None:
            together = together + torch.cat([layer.bias for layer in layers])
        batch, tokens, _ = together.shape
        heads = together.reshape(batch, tokens, 3 * self.num_heads, -1).transpose(1, 2)
        queries, keys, values = (part.flatten(0, 1) for part in heads.split(self.num_heads, dim=1))
        hidden = self.hidden[:tokens, :tokens].to(x.dtype)
        scores = torch.baddbmm(hidden.expand(len(keys), -1, -1), queries, keys.mT, alpha=keys.shape[-1] ** -0.5)
        contexts = self.drop(scores.softmax(-1)).bmm(values)  # (B · H, T, head_dim)
        return contexts.unflatten(0, (batch, -1)).transpose(1, 2).flatten(2)


class Head(Fused):
    def forward(self, x):
        return self.attend(x)


class MultiHeadAttentionWrapper(nn.Module):
    def __init__(self, d_in, d_out, context_length, dropout, num_heads, qkv_bias=False):
        super().__init__()
        self.heads = nn.ModuleList([Head(d_in, d_out, context_length, dropout, 1, qkv_bias) for _ in range(num_heads)])

    def forward(self, x):
        outputs = x.new_empty(*x.shape[:2], 0)
        for head in self.heads:
            outputs = torch.hstack((outputs.mT, head(x).mT)).mT
        return outputs


class TwoDimensional(MultiHeadAttentionWrapper):
    def __init__(self, d_in, context_length):
        super().__init__(d_in, 1, context_length, 0.0, 2)


def two_dimensional_output(d_in, context_length):
    return TwoDimensional(d_in, context_length)


class MultiHeadAttention(Fused):
    def __init__(self, d_in, d_out, context_length, dropout, num_heads, qkv_bias=False):
        super().__init__(d_in, d_out, context_length, dropout, num_heads, qkv_bias)
        self.out_proj = nn.Linear(d_out, d_out)

    def forward(self, x):
        return self.out_proj(self.attend(x))


def stack_heads(wrapper, attention):
    from torch.nn.utils import parameters_to_vector, vector_to_parameters

    for (name, target) in attention.named_children():
        sources = [head.get_submodule(name) for head in wrapper.heads] if name.startswith("W_") else []
        if not sources:
            continue
        if any(set(dict(source.named_parameters())) != set(dict(target.named_parameters())) for source in sources):
            raise KeyError(f"{name}: only one side has a bias")
        if {source.in_features for source in sources} != {target.in_features}:
            raise IndexError(name)
        if sum(source.out_features for source in sources) != target.out_features:
            raise IndexError(name)
        for part in dict(target.named_parameters()):
            vector = parameters_to_vector(source.get_parameter(part) for source in sources)
            vector_to_parameters(vector.detach(), [target.get_parameter(part)])


class SmallestGPT2Attention(MultiHeadAttention):
    def __init__(self):
        super().__init__(768, 768, 1024, 0.1, 12)


def gpt2_small_attention():
    return SmallestGPT2Attention()
