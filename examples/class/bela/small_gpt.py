"""The capstone, from my own parts. Bela"""

import torch
from multi_head_attention import MultiHeadAttention
from torch import nn
from transformer_block import FeedForward, LayerNorm, TransformerBlock


class SmallGPT(nn.Module):
    def __init__(self, vocab_size, context_length, emb_dim, num_heads, num_blocks, dropout):
        super().__init__()
        self.token_embedding = nn.Embedding(vocab_size, emb_dim)
        self.position_embedding = nn.Embedding(context_length, emb_dim)
        self.blocks = nn.Sequential()
        for _ in range(num_blocks):
            attention = MultiHeadAttention(emb_dim, emb_dim, context_length, dropout, num_heads)
            self.blocks.append(TransformerBlock(attention, FeedForward(emb_dim), emb_dim, dropout))
        self.final_norm = LayerNorm(emb_dim)
        self.output = nn.Linear(emb_dim, vocab_size, bias=False)
        print(f"a GPT with {sum(p.numel() for p in self.parameters())} parameters")

    def forward(self, idx):
        B, T = idx.shape
        x = self.token_embedding(idx) + self.position_embedding(torch.arange(T).expand(B, T))
        x = self.final_norm(self.blocks(x))
        return torch.einsum("btc,vc->btv", x, self.output.weight)


@torch.no_grad()
def generate_text(model, idx, max_new_tokens, context_length, generator=None):
    for _ in range(max_new_tokens):
        *_, last = model(idx[:, -context_length:]).unbind(1)  # the logits of the last token, (B, V)
        idx = torch.column_stack([idx, last.softmax(1).multinomial(1, generator=generator)])
    return idx
