"""Unlisted mistakes of the capstone: wrong answers that are none of the misconceptions. The grader must not name them."""

import torch
import torch.nn as nn
import torch.nn.functional as F
from multi_head_attention import MultiHeadAttention
from transformer_block import FeedForward, TransformerBlock, stack_blocks


class GPT(nn.Module):
    """Right; each wrong answer overrides a part of it."""

    def __init__(self, vocab_size, context_length, emb_dim, num_heads, num_blocks, dropout):
        super().__init__()
        self.token_embedding = nn.Embedding(vocab_size, emb_dim)
        self.position_embedding = nn.Embedding(context_length, emb_dim)

        def make_block():
            attention = MultiHeadAttention(emb_dim, emb_dim, context_length, dropout, num_heads)
            return TransformerBlock(attention, FeedForward(emb_dim), emb_dim, dropout)

        self.blocks = stack_blocks(make_block, num_blocks)
        self.final_norm = nn.LayerNorm(emb_dim)
        self.output = nn.Linear(emb_dim, vocab_size, bias=False)

    def embedded(self, idx):
        return self.token_embedding(idx) + self.position_embedding(torch.arange(idx.shape[1]))

    def forward(self, idx):
        return self.output(self.final_norm(self.blocks(self.embedded(idx))))


class SmallGPT__last_block_left_out(GPT):
    def forward(self, idx):
        x = self.embedded(idx)
        for block in list(self.blocks)[:-1]:
            x = block(x)
        return self.output(self.final_norm(x))


class SmallGPT__embeddings_around_the_blocks(GPT):
    def forward(self, idx):
        x = self.embedded(idx)
        return self.output(self.final_norm(x + self.blocks(x)))


class SmallGPT__positions_subtracted(GPT):
    def embedded(self, idx):
        return self.token_embedding(idx) - self.position_embedding(torch.arange(idx.shape[1]))


class SmallGPT__every_second_position(GPT):
    def embedded(self, idx):
        return self.token_embedding(idx) + self.position_embedding(torch.arange(idx.shape[1]) // 2)


class SmallGPT__normalised_twice(GPT):
    def forward(self, idx):
        return self.output(self.final_norm(self.final_norm(self.blocks(self.embedded(idx)))))


class SmallGPT__norm_after_the_output(nn.Module):
    def __init__(self, vocab_size, context_length, emb_dim, num_heads, num_blocks, dropout):
        super().__init__()
        self.inner = GPT(vocab_size, context_length, emb_dim, num_heads, num_blocks, dropout)
        self.final_norm = nn.LayerNorm(vocab_size)

    def forward(self, idx):
        return self.final_norm(self.inner.output(self.inner.blocks(self.inner.embedded(idx))))


class SmallGPT__logits_divided(GPT):
    def forward(self, idx):
        return super().forward(idx) / self.final_norm.normalized_shape[0] ** 0.5


class SmallGPT__one_number_more(GPT):
    def __init__(self, *sizes):
        super().__init__(*sizes)
        self.temperature = nn.Parameter(torch.ones(()))

    def forward(self, idx):
        return super().forward(idx) / self.temperature


class SmallGPT__blocks_in_reverse_with_a_gate(GPT):
    def __init__(self, vocab_size, context_length, emb_dim, num_heads, num_blocks, dropout):
        super().__init__(vocab_size, context_length, emb_dim, num_heads, num_blocks, dropout)
        self.gate = nn.Linear(emb_dim, emb_dim)

    def forward(self, idx):
        x = self.embedded(idx)
        return self.output(self.final_norm(self.blocks(x) * torch.sigmoid(self.gate(x))))


class SmallGPT__no_super_init(nn.Module):
    def __init__(self, vocab_size, context_length, emb_dim, num_heads, num_blocks, dropout):
        self.token_embedding = nn.Embedding(vocab_size, emb_dim)


class SmallGPT__tokens_rolled(GPT):
    def embedded(self, idx):
        return super().embedded(idx.roll(1, dims=1))


def generate_text__least_likely(model, idx, max_new_tokens, context_length, generator=None):
    for _ in range(max_new_tokens):
        probabilities = F.softmax(-model(idx[:, -context_length:])[:, -1], dim=-1)
        idx = torch.cat([idx, torch.multinomial(probabilities, 1, generator=generator)], dim=1)
    return idx


def generate_text__two_likeliest(model, idx, max_new_tokens, context_length, generator=None):
    for _ in range(max_new_tokens):
        top, places = model(idx[:, -context_length:])[:, -1].topk(2)
        new = torch.multinomial(F.softmax(top, -1), 1, generator=generator)
        idx = torch.cat([idx, places.gather(1, new)], dim=1)
    return idx


def generate_text__stops_at_a_zero(model, idx, max_new_tokens, context_length, generator=None):
    for _ in range(max_new_tokens):
        probabilities = F.softmax(model(idx[:, -context_length:])[:, -1], dim=-1)
        new = torch.multinomial(probabilities, 1, generator=generator)
        if (new == 0).any():
            break
        idx = torch.cat([idx, new], dim=1)
    return idx


def generate_text__half_of_the_context(model, idx, max_new_tokens, context_length, generator=None):
    for _ in range(max_new_tokens):
        window = idx[:, -max(context_length // 2, 1) :]
        probabilities = F.softmax(model(window)[:, -1], dim=-1)
        idx = torch.cat([idx, torch.multinomial(probabilities, 1, generator=generator)], dim=1)
    return idx


def generate_text__window_in_reverse(model, idx, max_new_tokens, context_length, generator=None):
    for _ in range(max_new_tokens):
        window = idx[:, -context_length:].flip(1)
        probabilities = F.softmax(model(window)[:, -1], dim=-1)
        idx = torch.cat([idx, torch.multinomial(probabilities, 1, generator=generator)], dim=1)
    return idx


def generate_text__probability_of_the_sigmoid(model, idx, max_new_tokens, context_length, generator=None):
    for _ in range(max_new_tokens):
        probabilities = torch.sigmoid(model(idx[:, -context_length:])[:, -1])
        idx = torch.cat([idx, torch.multinomial(probabilities, 1, generator=generator)], dim=1)
    return idx


def generate_text__mode_toggled(model, idx, max_new_tokens, context_length, generator=None):
    for _ in range(max_new_tokens):
        probabilities = F.softmax(model(idx[:, -context_length:])[:, -1], dim=-1)
        idx = torch.cat([idx, torch.multinomial(probabilities, 1, generator=generator)], dim=1)
    model.train(not model.training)
    return idx
