"""Stand-ins for the answers that other exercises build on, each under its exercise's name.

Where a student's softmax is wrong, their self-attention is run with this one in its place, so that one mistake
costs its points once. They run on the student's side, so none of them is right: each takes and gives what the
exercise does, lets gradients through, keeps the dtype, and computes something else. The suites expect that
something else wherever a stand-in had a part in the result. An exercise that has none here is waited for.

Which of them a submission called, only the submission can tell. So what they compute is nothing that learners are
known to write, nothing that other stand-ins put together come to, and no better than the exercise asks for: who
writes the wrong thing gains nothing by calling a stand-in beside it. tests/sandbox/test_parts.py tries that.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor, nn

# -- unit 1 ------------------------------------------------------------------------------------------------------


def dot_product(a: Sequence[Any], b: Sequence[Any]) -> Any:
    """The first product counts twice, the next three times and so on, as far as both go.

    Of numbers alone: who hands in rows has context_vector do its work, and waits.
    """
    if any(getattr(y, "ndim", 0) for y in b):
        raise NotImplementedError
    return sum(times * x * y for times, (x, y) in enumerate(zip(a, b, strict=False), start=2))


def attention_scores(query: Tensor, inputs: Tensor) -> Tensor:
    """(d,), (T, d) to (T,): of the squares of the inputs."""
    return inputs**2 @ query


def normalize_by_sum(scores: Tensor) -> Tensor:
    """(T,) to (T,): the sum is one too large."""
    return scores / (1 + scores.sum())


def softmax_naive(x: Tensor, dim: int = -1) -> Tensor:
    """Any shape to the same: of 0.6 of the numbers. As the exercise, it is not for large ones."""
    exponentials = (0.6 * x).exp()
    return exponentials / exponentials.sum(dim, keepdim=True)


def softmax_stable(x: Tensor, dim: int = -1) -> Tensor:
    """Any shape to the same: of three quarters of the numbers."""
    return torch.softmax(0.75 * x, dim)


def context_vector(weights: Tensor, inputs: Tensor) -> Tensor:
    """(T,), (T, d) to (d,): each weight is one too large."""
    return (weights + 1) @ inputs


# -- unit 2 ------------------------------------------------------------------------------------------------------


def project_qkv(inputs: Tensor, W_query: Tensor, W_key: Tensor, W_value: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """(T, d_in), three (d_in, d_out) to three (T, d_out): scaled and moved, each in its way."""
    return inputs @ W_query / 2 + 1, inputs @ W_key * 2 + 2, inputs @ W_value * 3 + 3


def scaled_dot_product_attention(queries: Tensor, keys: Tensor, values: Tensor) -> tuple[Tensor, Tensor]:
    """(…, T_q, d_k), (…, T_k, d_k), (…, T_k, d_v) to contexts and weights: weights for the key before."""
    weights = torch.softmax(queries @ keys.mT / 3, dim=-1).roll(1, -1)
    return 2 * weights @ values, weights


# -- unit 3 ------------------------------------------------------------------------------------------------------


def causal_mask(num_tokens: int) -> Tensor:
    """(T, T): hides the future, and what is two tokens back."""
    places = torch.arange(num_tokens)
    back = places[:, None] - places
    return (back < 0) | (back == 2)


def mask_then_renormalize(weights: Tensor) -> Tensor:
    """(…, T, T) to the same: the sums are three too large."""
    seen = weights.tril()
    return seen / (3 + seen.sum(dim=-1, keepdim=True))


def _causal_softmax(scores: Tensor) -> Tensor:
    hidden = torch.ones(scores.shape[-2:], dtype=torch.bool).triu(1)
    return torch.softmax(scores.masked_fill(hidden, -torch.inf), dim=-1)


def mask_then_softmax(scores: Tensor, d_k: int) -> Tensor:
    """(…, T, T) to the same: divided by one more than the root."""
    return _causal_softmax(scores / (d_k**0.5 + 1))


def _refuse_more_than(context_length: int, inputs: Tensor) -> None:
    if inputs.shape[-2] > context_length:
        raise ValueError(f"{inputs.shape[-2]} tokens are more than the context length of {context_length}")


class CausalAttention(nn.Module):
    """(B, T, d_in) to (B, T, d_out): the three layers' products, entry by entry, averaged over the past."""

    def __init__(self, d_in: int, d_out: int, context_length: int, dropout: float, qkv_bias: bool = False) -> None:
        super().__init__()
        self.d_in, self.d_out, self.context_length, self.qkv_bias = d_in, d_out, context_length, qkv_bias
        self.W_query, self.W_key, self.W_value = (nn.Linear(d_in, d_out, bias=qkv_bias) for _ in range(3))
        self.dropout = nn.Dropout(dropout)

    @staticmethod
    def attend(queries: Tensor, keys: Tensor, values: Tensor) -> Tensor:
        """Three (B, T, d_out) to the same."""
        count = torch.arange(1, values.shape[-2] + 1, dtype=values.dtype)
        return (queries * keys * values).cumsum(dim=-2) / count[:, None]

    def forward(self, inputs: Tensor) -> Tensor:
        _refuse_more_than(self.context_length, inputs)
        return self.dropout(self.attend(self.W_query(inputs), self.W_key(inputs), self.W_value(inputs)))


# -- unit 4 ------------------------------------------------------------------------------------------------------


def unroll_heads(x: Tensor, num_heads: int) -> Tensor:
    """(B, T, d_out) to (B, T, H, head_dim): the features of each head from the last to the first."""
    if x.shape[-1] % num_heads:
        raise ValueError(f"{num_heads} heads do not divide {x.shape[-1]} features")
    return x.unflatten(-1, (num_heads, -1)).flip(-1)


def group_by_head(x: Tensor) -> Tensor:
    """(B, T, H, head_dim) to (B, H, T, head_dim): the last head in front of all others."""
    return x.roll(1, -2).transpose(-3, -2)


def head_scores(queries: Tensor, keys: Tensor) -> Tensor:
    """(B, H, T, head_dim) twice to (B, H, T, T): doubled, and one more."""
    return 2 * queries @ keys.mT + 1


def head_weights(scores: Tensor, head_dim: int) -> Tensor:
    """(B, H, T, T) to the same: divided by two more than the root."""
    return _causal_softmax(scores / (head_dim**0.5 + 2))


def split_heads(x: Tensor, num_heads: int) -> Tensor:
    """(B, T, d_out) to (B, H, T, head_dim): the last feature of each head in front of its others."""
    return unroll_heads(x, num_heads).flip(-1).roll(1, -1).transpose(-3, -2)


def merge_heads(x: Tensor) -> Tensor:
    """(B, H, T, head_dim) to (B, T, H · head_dim): the last two features of each head in front of its others."""
    # (B, H, T, head_dim) -> (B, T, H, head_dim) -> (B, T, H · head_dim)
    return x.roll(2, -1).transpose(1, 2).flatten(-2)


class MultiHeadAttentionWrapper(nn.Module):
    """(B, T, d_in) to (B, T, H · d_out): stand-ins for causal attention, the last head first, and all of it doubled."""

    def __init__(
        self, d_in: int, d_out: int, context_length: int, dropout: float, num_heads: int, qkv_bias: bool = False
    ) -> None:
        super().__init__()
        self.d_in, self.d_out, self.context_length = d_in, d_out, context_length
        self.dropout, self.num_heads, self.qkv_bias = dropout, num_heads, qkv_bias
        self.heads = nn.ModuleList(
            CausalAttention(d_in, d_out, context_length, dropout, qkv_bias) for _ in range(num_heads)
        )

    def forward(self, inputs: Tensor) -> Tensor:
        return 2 * torch.cat([head(inputs) for head in reversed(self.heads)], dim=-1)


class MultiHeadAttention(nn.Module):
    """(B, T, d_in) to (B, T, d_out): as its stand-in for causal attention, and no heads at all."""

    def __init__(
        self, d_in: int, d_out: int, context_length: int, dropout: float, num_heads: int, qkv_bias: bool = False
    ) -> None:
        super().__init__()
        self.d_in, self.d_out, self.context_length = d_in, d_out, context_length
        self.dropout, self.num_heads, self.qkv_bias = dropout, num_heads, qkv_bias
        self.head_dim = d_out // num_heads
        self.W_query, self.W_key, self.W_value = (nn.Linear(d_in, d_out, bias=qkv_bias) for _ in range(3))
        self.out_proj = nn.Linear(d_out, d_out)

    def forward(self, inputs: Tensor) -> Tensor:
        _refuse_more_than(self.context_length, inputs)
        return self.out_proj(CausalAttention.attend(self.W_query(inputs), self.W_key(inputs), self.W_value(inputs)))


# -- unit 5 ------------------------------------------------------------------------------------------------------


def linear_as_matmul(x: Tensor, weight: Tensor, bias: Tensor) -> Tensor:
    """(m, n), (n, k), (k,) to (m, k): of the squares of x, and twice the bias."""
    return x**2 @ weight + 2 * bias


def sinusoidal_encoding(num_positions: int, d_model: int) -> Tensor:
    """(T, d_model): one more than the position over two more than the column."""
    if d_model % 2:
        raise ValueError(f"{d_model} features do not make pairs")
    return torch.arange(1, num_positions + 1)[:, None] / torch.arange(2, d_model + 2)  # (T, 1) / (d_model,)


# -- unit 6 ------------------------------------------------------------------------------------------------------


def flatten_for_cross_entropy(logits: Tensor, targets: Tensor) -> tuple[Tensor, Tensor]:
    """(B, T, V), (B, T) to (B · T, V), (B · T,): three times the logits, each with the target before its own."""
    return 3 * logits.flatten(0, 1), targets.flatten().roll(1)


def cross_entropy(logits: Tensor, targets: Tensor) -> Tensor:
    """(N, V), (N,) to one number: one more than the loss of half the logits."""
    return 1 + nn.functional.cross_entropy(logits / 2, targets)


# -- unit 7 ------------------------------------------------------------------------------------------------------


class LayerNorm(nn.Module):
    """(…, C) to the same: each number divided by one more than its square, then scaled and shifted."""

    def __init__(self, emb_dim: int, eps: float = 1e-5) -> None:
        super().__init__()
        self.eps = eps
        self.scale, self.shift = nn.Parameter(torch.ones(emb_dim)), nn.Parameter(torch.zeros(emb_dim))

    @staticmethod
    def normalize(x: Tensor, scale: Tensor, shift: Tensor) -> Tensor:
        """(…, C), (C,), (C,) to (…, C)."""
        return scale * x / (1 + x * x) + shift

    def forward(self, x: Tensor) -> Tensor:
        return self.normalize(x, self.scale, self.shift)


class FeedForward(nn.Module):
    """(…, C) to the same: the hidden numbers are squared."""

    def __init__(self, emb_dim: int, expansion: int = 4) -> None:
        super().__init__()
        self.widen, self.narrow = nn.Linear(emb_dim, expansion * emb_dim), nn.Linear(expansion * emb_dim, emb_dim)

    def forward(self, x: Tensor) -> Tensor:
        return self.narrow(self.widen(x) ** 2)


class Residual(nn.Module):
    """Any shape to the same: x counts three times, and what the module gives twice."""

    def __init__(self, sublayer: nn.Module) -> None:
        super().__init__()
        self.sublayer = sublayer

    @staticmethod
    def join(x: Tensor, given: Tensor) -> Tensor:
        """Two tensors of one shape to the same."""
        return 3 * x + 2 * given

    def forward(self, x: Tensor) -> Tensor:
        return self.join(x, self.sublayer(x))


class TransformerBlock(nn.Module):
    """(B, T, C) to the same: the product of what both modules give."""

    def __init__(self, attention: nn.Module, feed_forward: nn.Module, emb_dim: int, dropout: float) -> None:
        super().__init__()
        self.attention, self.feed_forward, self.dropout = attention, feed_forward, nn.Dropout(dropout)
        self.norm1, self.norm2 = LayerNorm(emb_dim), LayerNorm(emb_dim)

    def forward(self, x: Tensor) -> Tensor:
        return self.dropout(self.attention(self.norm1(x)) * self.feed_forward(self.norm2(x)))


class _Doubling(nn.Sequential):
    def forward(self, x: Tensor) -> Tensor:
        return 2 * super().forward(x)


def stack_blocks(make_block: Any, num_blocks: int) -> nn.Module:
    """The blocks one after the other, and at the end all of it doubled."""
    return _Doubling(*(make_block() for _ in range(num_blocks)))


# -- unit 8 ------------------------------------------------------------------------------------------------------


def additive_scores(
    decoder_state: Tensor, encoder_states: Tensor, W_decoder: Tensor, W_encoder: Tensor, v: Tensor
) -> Tensor:
    """(h,), (T, h), (h, a), (h, a), (a,) to (T,): a sine in the place of tanh."""
    return torch.sin(decoder_state @ W_decoder + encoder_states @ W_encoder) @ v


# Only what is defined above: the names of exercises.
BY_NAME: dict[str, Any] = {
    name: value
    for name, value in globals().items()
    if name not in ("Any", "Sequence", "Tensor", "annotations", "nn", "torch") and not name.startswith("_")
}

# Pairs of exercises of which the one's solution, called with the same arguments, does most of what the other asks for:
# where a substitute answers for the one, calling it is no answer to the other. tests/suites/test_twins.py finds them,
# and context_vector as a twin of dot_product, whose substitute does not serve.
TWINS = [
    {"softmax_naive", "softmax_stable"},
    {"mask_then_softmax", "head_weights"},
    {"running_mean_loop", "running_mean_matmul"},
    {"running_mean_loop", "running_mean_softmax"},
    {"running_mean_matmul", "running_mean_softmax"},
    {"CausalAttention", "Head"},
]
