"""The wrapper of unit 4 as attention, positions for each text, and text that is written into one tensor."""

import torch
from multi_head_attention import MultiHeadAttentionWrapper
from torch import nn
from transformer_block import FeedForward, LayerNorm, TransformerBlock, stack_blocks


class Projected(nn.Module):
    def __init__(self, emb_dim, context_length, dropout, num_heads):
        super().__init__()
        self.attention = MultiHeadAttentionWrapper(emb_dim, emb_dim // num_heads, context_length, dropout, num_heads)
        self.projection = nn.Linear(emb_dim, emb_dim)

    def forward(self, x):
        return self.projection(self.attention(x))


class SmallGPT(nn.Module):
    def __init__(self, vocab_size, context_length, emb_dim, num_heads, num_blocks, dropout):
        super().__init__()

        def block():
            attention = Projected(emb_dim, context_length, dropout, num_heads)
            return TransformerBlock(attention, FeedForward(emb_dim, 4), emb_dim, dropout)

        self.token_embedding = nn.Embedding(vocab_size, emb_dim)
        self.position_embedding = nn.Embedding(context_length, emb_dim)
        self.blocks = stack_blocks(block, num_blocks)
        self.final_norm = LayerNorm(emb_dim)
        self.output = nn.Linear(emb_dim, vocab_size, bias=False)

    def forward(self, idx):
        places = torch.ones_like(idx).cumsum(1) - 1
        return self.output(self.final_norm(self.blocks(self.position_embedding(places) + self.token_embedding(idx))))


def generate_text(model, idx, max_new_tokens, context_length, generator=None):
    texts, length = idx.shape
    result = torch.zeros(texts, length + max_new_tokens, dtype=torch.long)
    result[:, :length] = idx
    for end in range(length, length + max_new_tokens):
        start = max(0, end - context_length)
        scores = model(result[:, start:end])[:, -1].detach()
        e = (scores - scores.max(dim=1, keepdim=True).values).exp()
        result[:, end] = torch.multinomial(e / e.sum(dim=1, keepdim=True), 1, generator=generator).squeeze(1)
    return result
