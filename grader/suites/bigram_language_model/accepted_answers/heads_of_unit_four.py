"""The head uses functions of units 3 and 4, one mean masks and renormalises, and draws are made one by one."""

import random

import torch
from causal_attention import attention_dropout, mask_then_renormalize, mask_then_softmax
from multi_head_attention import head_scores, head_weights
from torch import nn


def build_vocabulary(text):
    vocabulary = list(set(text))
    random.shuffle(vocabulary)
    vocabulary.sort()
    return vocabulary


def encode(text, vocabulary):
    ids = [vocabulary.index(character) if character in vocabulary else None for character in text]
    if None in ids:
        raise AssertionError("unknown character")
    return ids


def decode(ids, vocabulary):
    out = []
    for number in ids:
        if not isinstance(number, int) or number not in range(len(vocabulary)):
            raise ValueError(number)
        out.append(vocabulary[number])
    return "".join(out)


def sample_batch(data, block_size, batch_size, generator=None):
    if len(data) < block_size + 1:
        raise ValueError("too short")
    # Drawn as an order of all starts, of which the first is taken, for each row anew.
    starts = [torch.randperm(len(data) - block_size, generator=generator)[0] for _ in range(batch_size)]
    idx = torch.stack([data.narrow(0, int(start), block_size) for start in starts])
    targets = torch.stack([data.narrow(0, int(start) + 1, block_size) for start in starts])
    return idx.int(), targets.int()


def flatten_for_cross_entropy(logits, targets):
    order = torch.arange(targets.numel()).flip(0)  # from the last prediction to the first
    return logits.reshape(-1, logits.shape[-1])[order], targets.reshape(-1)[order]


def cross_entropy(logits, targets):
    # One minus all others: ln Σ exp(z_j - z_y), as a chain of pairs.
    differences = logits - logits.gather(1, targets.view(-1, 1))
    return torch.stack([row.logsumexp(0) for row in differences]).mean()


def running_mean_loop(x):
    out = torch.empty_like(x)
    for token in range(x.shape[1]):
        out[:, token] = x[:, : token + 1].sum(1) / (token + 1)
    return out


def running_mean_matmul(x):
    T = x.shape[1]
    return mask_then_renormalize(torch.ones(T, T, dtype=x.dtype) / T) @ x


def running_mean_softmax(x):
    T = x.shape[1]
    return mask_then_softmax(torch.zeros(T, T, dtype=x.dtype), 1) @ x


class Head(nn.Module):
    def __init__(self, n_embd, head_size, block_size, dropout):
        super().__init__()
        self.key = nn.Linear(n_embd, head_size, bias=False)
        self.query = nn.Linear(n_embd, head_size, bias=False)
        self.value = nn.Linear(n_embd, head_size, bias=False)
        self.dropout = dropout

    def forward(self, x):
        # As one head of unit 4: (B, T, head_size) -> (B, 1, T, head_size)
        queries, keys, values = (layer(x).unsqueeze(1) for layer in (self.query, self.key, self.value))
        weights = head_weights(head_scores(queries, keys), queries.shape[-1])
        if self.training:
            weights = attention_dropout(weights, self.dropout)
        return (weights @ values).squeeze(1)  # (B, 1, T, head_size) -> (B, T, head_size)


class BigramLanguageModel(nn.Module):
    def __init__(self, vocab_size):
        super().__init__()
        self.token_embedding_table = nn.Embedding(vocab_size, vocab_size, dtype=torch.float32)

    def forward(self, idx, targets=None):
        logits = self.token_embedding_table.weight[idx.long()]
        if targets is None:
            return logits, None
        return logits, cross_entropy(*flatten_for_cross_entropy(logits, targets.long()))

    def generate(self, idx, max_new_tokens, generator=None):
        new = []
        last = idx[:, -1]
        for _ in range(max_new_tokens):
            probabilities = torch.softmax(self.token_embedding_table(last), dim=-1)
            last = torch.stack([torch.multinomial(row, 1, generator=generator)[0] for row in probabilities])
            new.append(last)
        return torch.cat([idx, torch.stack(new, dim=1)], dim=1) if new else idx.clone()
