"""Unlisted mistakes of the capstone: wrong answers that are none of the misconceptions. The grader must not name them.

Those with the name of a misconception in front show it in code that takes another route. They must get its name.
"""

import torch
import torch.nn as nn
import torch.nn.functional as F


# Right; each wrong answer overrides a part of it.


class Attention(nn.Module):
    def __init__(self, width, heads, dropout, bias=False):
        super().__init__()
        self.heads, self.p = heads, dropout
        self.q = nn.Linear(width, width, bias=bias)
        self.k = nn.Linear(width, width, bias=bias)
        self.v = nn.Linear(width, width, bias=bias)
        self.proj = nn.Linear(width, width)

    def forward(self, x):
        B, T, C = x.shape
        q, k, v = (layer(x).view(B, T, self.heads, C // self.heads).transpose(1, 2) for layer in (self.q, self.k, self.v))
        p = self.p if self.training else 0.0
        y = F.scaled_dot_product_attention(q, k, v, dropout_p=p, is_causal=True)
        return self.proj(y.transpose(1, 2).reshape(B, T, C))


class Layer(nn.Module):
    def __init__(self, width, attention, network, dropout):
        super().__init__()
        self.ln_1, self.ln_2 = nn.LayerNorm(width), nn.LayerNorm(width)
        self.attention, self.network, self.drop = attention, network, nn.Dropout(dropout)

    def forward(self, x):
        x = x + self.drop(self.attention(self.ln_1(x)))
        return x + self.drop(self.network(self.ln_2(x)))


def network(width, times=4):
    return nn.Sequential(nn.Linear(width, times * width), nn.ReLU(), nn.Linear(times * width, width))


class GPT(nn.Module):
    def __init__(self, vocab_size, context_length, emb_dim, num_heads, num_blocks, dropout):
        super().__init__()
        self.context_length, self.emb_dim = context_length, emb_dim
        self.token_embedding = nn.Embedding(vocab_size, emb_dim)
        self.position_embedding = nn.Embedding(context_length, emb_dim)
        self.blocks = nn.Sequential(*self.layers(emb_dim, num_heads, num_blocks, dropout))
        self.final_norm = nn.LayerNorm(emb_dim)
        self.output = nn.Linear(emb_dim, vocab_size, bias=False)

    def layers(self, width, heads, count, dropout):
        return [Layer(width, Attention(width, heads, dropout), network(width), dropout) for _ in range(count)]

    def embedded(self, idx):
        T = idx.size(1)
        return self.token_embedding(idx) + self.position_embedding.weight[torch.arange(T)]

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


class SmallGPT__logits_dropped(GPT):
    def __init__(self, *sizes):
        super().__init__(*sizes)
        self.drop = nn.Dropout(sizes[-1])

    def forward(self, idx):
        return self.drop(super().forward(idx))


class more_dropped_than_allowed__after_each_block(GPT):
    def __init__(self, vocab_size, context_length, emb_dim, num_heads, num_blocks, dropout):
        super().__init__(vocab_size, context_length, emb_dim, num_heads, num_blocks, dropout)
        self.drop = nn.Dropout(dropout)

    def forward(self, idx):
        x = self.embedded(idx)
        for block in self.blocks:
            x = self.drop(block(x))
        return self.output(self.final_norm(x))


class blocks_drop_nothing__embeddings_alone(GPT):
    def __init__(self, vocab_size, context_length, emb_dim, num_heads, num_blocks, dropout):
        super().__init__(vocab_size, context_length, emb_dim, num_heads, num_blocks, 0.0)
        self.drop = nn.Dropout(dropout)

    def embedded(self, idx):
        return self.drop(super().embedded(idx))


class long_texts_accepted__last_position_again(GPT):
    def embedded(self, idx):
        places = torch.arange(idx.shape[1]).clamp(max=self.context_length - 1)
        return self.token_embedding(idx) + self.position_embedding(places)


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


def generate_text__temperature_of_nine_tenths(model, idx, max_new_tokens, context_length, generator=None):
    for _ in range(max_new_tokens):
        probabilities = F.softmax(model(idx[:, -context_length:])[:, -1] / 0.9, dim=-1)
        idx = torch.cat([idx, torch.multinomial(probabilities, 1, generator=generator)], dim=1)
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
