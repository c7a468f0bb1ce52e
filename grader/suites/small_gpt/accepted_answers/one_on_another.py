"""The parts of units 4 and 7 as in the text, and the generate of unit 6 with a model that cuts its text."""

import torch
from bigram_language_model import BigramLanguageModel
from multi_head_attention import MultiHeadAttention
from torch import nn
from transformer_block import FeedForward, LayerNorm, TransformerBlock, stack_blocks


class SmallGPT(nn.Module):
    def __init__(self, vocab_size, context_length, emb_dim, num_heads, num_blocks, dropout):
        super().__init__()
        self.sizes = emb_dim, context_length, num_heads, dropout
        self.token_embedding = nn.Embedding(vocab_size, emb_dim)
        self.position_embedding = nn.Embedding(context_length, emb_dim)
        self.blocks = stack_blocks(self.make_block, num_blocks)
        self.final_norm = LayerNorm(emb_dim)
        self.output = nn.Linear(emb_dim, vocab_size, bias=False)
        nn.init.normal_(self.position_embedding.weight, std=0.02)

    def make_block(self):
        emb_dim, context_length, num_heads, dropout = self.sizes
        attention = MultiHeadAttention(emb_dim, emb_dim, context_length, dropout, num_heads)
        return TransformerBlock(attention, FeedForward(emb_dim), emb_dim, dropout)

    def forward(self, idx):
        x = self.token_embedding(idx)
        x = x + self.position_embedding(torch.arange(x.shape[1]))[None]
        for part in (self.blocks, self.final_norm, self.output):
            x = part(x)
        return x


class Cutting(BigramLanguageModel):
    def __init__(self, model, context_length):
        super().__init__(1)
        self.inner = [model]
        self.context_length = context_length

    def forward(self, idx, targets=None):
        return self.inner[0](idx[:, -self.context_length :]), None


def generate_text(model, idx, max_new_tokens, context_length, generator=None):
    # Making the table draws its initial values, which should not change the state.
    state = torch.get_rng_state()
    cutting = Cutting(model, context_length)
    torch.set_rng_state(state)
    return cutting.generate(idx, max_new_tokens, generator)
