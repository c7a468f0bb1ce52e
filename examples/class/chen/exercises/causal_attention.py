import torch
from torch import nn


def causal_mask(num_tokens: int) -> torch.Tensor:
    return torch.triu(torch.ones(num_tokens, num_tokens), diagonal=1).bool()


def mask_then_renormalize(weights: torch.Tensor) -> torch.Tensor:
    masked = weights.masked_fill(causal_mask(len(weights)), 0)
    return masked / masked.sum(dim=-1, keepdim=True)


def mask_then_softmax(scores: torch.Tensor, d_k: int) -> torch.Tensor:
    scores.masked_fill(causal_mask(scores.shape[0]), -torch.inf)
    return torch.softmax(scores / d_k**0.5, dim=-1)


def attention_dropout(weights: torch.Tensor, p: float, generator: torch.Generator | None = None) -> torch.Tensor:
    # YOUR CODE HERE
    raise NotImplementedError()


class CausalAttention(nn.Module):

    def __init__(self, d_in: int, d_out: int, context_length: int, dropout: float, qkv_bias: bool = False) -> None:
        super().__init__()
        # YOUR CODE HERE
        raise NotImplementedError()

    def forward(self, inputs: torch.Tensor) -> torch.Tensor:
        # YOUR CODE HERE
        raise NotImplementedError()
