"""Pairs of the capstone: answers with two of the misconceptions at once. Their names have both."""

import torch
import torch.nn.functional as F
from multi_head_attention import MultiHeadAttention
from torch import nn
from transformer_block import FeedForward, LayerNorm, TransformerBlock, stack_blocks

# -- SmallGPT ----------------------------------------------------------------------------------------------------------


class bias_of_the_output__and__no_final_norm(nn.Module):
    def __init__(self, vocab_size, context_length, emb_dim, num_heads, num_blocks, dropout):
        super().__init__()
        self.token_embedding = nn.Embedding(vocab_size, emb_dim)
        self.position_embedding = nn.Embedding(context_length, emb_dim)
        self.blocks = stack_blocks(
            lambda: TransformerBlock(
                MultiHeadAttention(emb_dim, emb_dim, context_length, dropout, num_heads),
                FeedForward(emb_dim),
                emb_dim,
                dropout,
            ),
            num_blocks,
        )
        self.final_norm = LayerNorm(emb_dim)
        self.output = nn.Linear(emb_dim, vocab_size)

    def forward(self, idx):
        x = self.token_embedding(idx) + self.position_embedding(torch.arange(idx.shape[1]))
        return self.output(self.blocks(x))


# -- generate_text -----------------------------------------------------------------------------------------------------


def text_not_cut__and__left_in_eval_mode(model, idx, max_new_tokens, context_length, generator=None):
    model.eval()
    for _ in range(max_new_tokens):
        probabilities = F.softmax(model(idx)[:, -1, :], dim=-1)
        idx = torch.cat((idx, torch.multinomial(probabilities, 1, generator=generator)), dim=1)
    return idx


def generator_ignored__and__at_least_one_token(model, idx, max_new_tokens, context_length, generator=None):
    for _ in range(max(max_new_tokens, 1)):
        probabilities = F.softmax(model(idx[:, -context_length:])[:, -1, :], dim=-1)
        idx = torch.cat((idx, torch.multinomial(probabilities, 1)), dim=1)
    return idx
