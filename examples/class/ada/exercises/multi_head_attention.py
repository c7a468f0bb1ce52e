import torch
from torch import nn

from causal_attention import CausalAttention


def unroll_heads(x: torch.Tensor, num_heads: int) -> torch.Tensor:
    batch, num_tokens, d_out = x.shape
    if d_out % num_heads != 0:
        raise ValueError(f"{num_heads} heads cannot share {d_out} features")
    return x.reshape(batch, num_tokens, num_heads, d_out // num_heads)


def group_by_head(x: torch.Tensor) -> torch.Tensor:
    return x.transpose(1, 2)


def head_scores(queries: torch.Tensor, keys: torch.Tensor) -> torch.Tensor:
    return queries @ keys.transpose(2, 3)


def head_weights(scores: torch.Tensor, head_dim: int) -> torch.Tensor:
    num_tokens = scores.shape[-1]
    future = torch.triu(torch.ones(num_tokens, num_tokens), diagonal=1).bool()
    scores = scores.masked_fill(future, -torch.inf)
    return torch.softmax(scores / head_dim**0.5, dim=-1)


def split_heads(x: torch.Tensor, num_heads: int) -> torch.Tensor:
    return group_by_head(unroll_heads(x, num_heads))


def merge_heads(x: torch.Tensor) -> torch.Tensor:
    batch, num_heads, num_tokens, head_dim = x.shape
    return x.transpose(1, 2).reshape(batch, num_tokens, num_heads * head_dim)


class MultiHeadAttentionWrapper(nn.Module):

    def __init__(
        self, d_in: int, d_out: int, context_length: int, dropout: float, num_heads: int, qkv_bias: bool = False
    ) -> None:
        super().__init__()
        self.heads = nn.ModuleList(
            [CausalAttention(d_in, d_out, context_length, dropout, qkv_bias) for _ in range(num_heads)]
        )

    def forward(self, inputs: torch.Tensor) -> torch.Tensor:
        return torch.cat([head(inputs) for head in self.heads], dim=-1)


def two_dimensional_output(d_in: int, context_length: int) -> nn.Module:
    return MultiHeadAttentionWrapper(d_in, 1, context_length, 0.0, num_heads=2)


class MultiHeadAttention(nn.Module):

    def __init__(
        self, d_in: int, d_out: int, context_length: int, dropout: float, num_heads: int, qkv_bias: bool = False
    ) -> None:
        super().__init__()
        if d_out % num_heads != 0:
            raise ValueError("d_out should be divisible by num_heads")
        self.num_heads = num_heads
        self.head_dim = d_out // num_heads
        self.W_query = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_key = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_value = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.out_proj = nn.Linear(d_out, d_out)
        self.dropout = nn.Dropout(dropout)

    def forward(self, inputs: torch.Tensor) -> torch.Tensor:
        queries = split_heads(self.W_query(inputs), self.num_heads)
        keys = split_heads(self.W_key(inputs), self.num_heads)
        values = split_heads(self.W_value(inputs), self.num_heads)
        weights = head_weights(head_scores(queries, keys), self.head_dim)
        contexts = self.dropout(weights) @ values
        return self.out_proj(merge_heads(contexts))


def stack_heads(wrapper: nn.Module, attention: nn.Module) -> None:
    for name in ("W_query", "W_key", "W_value"):
        layers = [getattr(head, name) for head in wrapper.heads]
        target = getattr(attention, name)
        if sum(layer.out_features for layer in layers) != target.out_features:
            raise ValueError(f"the heads do not fill {name}")
        if any((layer.bias is None) != (target.bias is None) for layer in layers):
            raise ValueError(f"{name} has a bias on one side only")
        with torch.no_grad():
            target.weight.copy_(torch.cat([layer.weight for layer in layers], dim=0))
            if target.bias is not None:
                target.bias.copy_(torch.cat([layer.bias for layer in layers]))


def gpt2_small_attention() -> nn.Module:
    return MultiHeadAttention(768, 768, 1024, 0.1, num_heads=12)
