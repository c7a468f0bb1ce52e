"""The parts of units 4 and 7, blocks in a ModuleList, dropout of the embeddings, and a check of the length."""

import torch
from multi_head_attention import MultiHeadAttention
from torch import nn
from transformer_block import FeedForward, LayerNorm, TransformerBlock


class SmallGPT(nn.Module):
    def __init__(self, vocab_size, context_length, emb_dim, num_heads, num_blocks, dropout):
        super().__init__()
        self.context_length = context_length
        self.token_embedding = nn.Embedding(vocab_size, emb_dim)
        self.position_embedding = nn.Embedding(context_length, emb_dim)
        self.drop_emb = nn.Dropout(dropout)
        self.blocks = nn.ModuleList()
        for _ in range(num_blocks):
            attention = MultiHeadAttention(
                d_in=emb_dim,
                d_out=emb_dim,
                context_length=context_length,
                dropout=dropout,
                num_heads=num_heads,
                qkv_bias=False,
            )
            self.blocks.append(TransformerBlock(attention, FeedForward(emb_dim), emb_dim, dropout))
        self.final_norm = LayerNorm(emb_dim)
        self.output = nn.Linear(emb_dim, vocab_size, bias=False)

    def forward(self, in_idx):
        batch_size, seq_len = in_idx.shape
        if seq_len > self.context_length:
            raise ValueError(f"{seq_len} tokens are more than {self.context_length}")
        tok_embeds = self.token_embedding(in_idx)
        pos_embeds = self.position_embedding(torch.arange(seq_len, device=in_idx.device))
        x = tok_embeds + pos_embeds
        x = self.drop_emb(x)
        for block in self.blocks:
            x = block(x)
        x = self.final_norm(x)
        return self.output(x)


def generate_text(model, idx, max_new_tokens, context_length, generator=None):
    was_training = model.training
    model.eval()
    for _ in range(max_new_tokens):
        idx_cond = idx[:, -context_length:]
        with torch.no_grad():
            logits = model(idx_cond)
        probas = torch.softmax(logits[:, -1, :], dim=-1)
        idx_next = torch.multinomial(probas, num_samples=1, generator=generator)
        idx = torch.cat((idx, idx_next), dim=1)
    if was_training:
        model.train()
    return idx
