"""Blocks that contain the rest of the stack, a norm and a layer that are called by one module, and recursion."""

import torch
import torch.nn.functional as F
from multi_head_attention import MultiHeadAttention
from torch import nn
from transformer_block import FeedForward, Residual


class Blocks(nn.Module):
    def __init__(self, width, context, heads, count, dropout):
        super().__init__()
        self.first = nn.Sequential(
            Residual(
                nn.Sequential(
                    nn.LayerNorm(width),
                    MultiHeadAttention(width, width, context, dropout, heads),
                    nn.Dropout(dropout),
                )
            ),
            Residual(nn.Sequential(nn.LayerNorm(width), FeedForward(width), nn.Dropout(dropout))),
        )
        self.others = Blocks(width, context, heads, count - 1, dropout) if count > 1 else nn.Identity()

    def forward(self, x):
        return self.others(self.first(x))


class SmallGPT(nn.Module):
    def __init__(self, vocab_size, context_length, emb_dim, num_heads, num_blocks, dropout):
        super().__init__()
        self.token_embedding = nn.Embedding(vocab_size, emb_dim)
        self.position_embedding = nn.Embedding(context_length, emb_dim)
        self.blocks = Blocks(emb_dim, context_length, num_heads, num_blocks, dropout)
        self.final_norm = nn.LayerNorm(emb_dim)
        self.output = nn.Linear(emb_dim, vocab_size, bias=False)

    def forward(self, idx):
        positions = torch.arange(idx.shape[-1]).expand(idx.shape)
        x = F.embedding(idx, self.token_embedding.weight) + F.embedding(positions, self.position_embedding.weight)
        return F.linear(self.final_norm(self.blocks(x)), self.output.weight)


@torch.inference_mode()
def generate_text(model, idx, max_new_tokens, context_length, generator=None):
    if max_new_tokens == 0:
        return idx
    log_probabilities = model(idx[:, -context_length:])[:, -1].log_softmax(-1)
    new = log_probabilities.exp().multinomial(1, generator=generator)
    return generate_text(model, torch.cat([idx, new], 1), max_new_tokens - 1, context_length, generator)
