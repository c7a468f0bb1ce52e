"""PyTorch's own attention and norm, and one layer for queries, keys and values."""

import torch
import torch.nn as nn
import torch.nn.functional as F


class Attention(nn.Module):
    def __init__(self, width, heads, dropout):
        super().__init__()
        self.qkv = nn.Linear(width, 3 * width, bias=False)
        self.proj = nn.Linear(width, width)
        self.heads = heads
        self.p = dropout

    def forward(self, x):
        B, T, C = x.shape
        q, k, v = (part.view(B, T, self.heads, C // self.heads).transpose(1, 2) for part in self.qkv(x).chunk(3, -1))
        y = F.scaled_dot_product_attention(q, k, v, is_causal=True, dropout_p=self.p if self.training else 0)
        return self.proj(y.transpose(1, 2).reshape(B, T, C))


class Block(nn.Module):
    def __init__(self, width, heads, dropout):
        super().__init__()
        self.ln1, self.ln2 = nn.LayerNorm(width), nn.LayerNorm(width)
        self.attn = nn.Sequential(Attention(width, heads, dropout), nn.Dropout(dropout))
        self.mlp = nn.Sequential(
            nn.Linear(width, 4 * width), nn.ReLU(), nn.Linear(4 * width, width), nn.Dropout(dropout)
        )

    def forward(self, x):
        x = x + self.attn(self.ln1(x))
        return x + self.mlp(self.ln2(x))


class SmallGPT(nn.Module):
    def __init__(self, vocab_size, context_length, emb_dim, num_heads, num_blocks, dropout):
        super().__init__()
        self.token_embedding = nn.Embedding(vocab_size, emb_dim)
        self.position_embedding = nn.Embedding(context_length, emb_dim)
        self.blocks = nn.Sequential(*[Block(emb_dim, num_heads, dropout) for _ in range(num_blocks)])
        self.final_norm = nn.LayerNorm(emb_dim)
        self.output = nn.Linear(emb_dim, vocab_size, bias=False)

    def forward(self, idx):
        T = idx.size(1)
        x = self.token_embedding(idx) + self.position_embedding.weight[:T]
        return self.output(self.final_norm(self.blocks(x)))


@torch.no_grad()
def generate_text(model, idx, max_new_tokens, context_length, generator=None):
    for _ in range(max_new_tokens):
        cropped = idx if idx.size(1) <= context_length else idx[:, -context_length:]
        logits = model(cropped)[:, -1, :]
        new = F.softmax(logits, dim=-1).multinomial(1, generator=generator)
        idx = torch.cat((idx, new), dim=1)
    return idx
