import torch
from torch import nn


def build_vocabulary(text):
    return sorted(set(text))


def encode(text, vocabulary):
    ids = {character: number for number, character in enumerate(vocabulary)}
    for character in text:
        if character not in ids:
            raise ValueError(f"{character!r} is not in the vocabulary")
    return [ids[character] for character in text]


def decode(ids, vocabulary):
    for number in ids:
        if not 0 <= number < len(vocabulary):
            raise ValueError(f"there is no character with the number {number}")
    return "".join(vocabulary[number] for number in ids)


def sample_batch(data, block_size, batch_size, generator=None):
    if len(data) < block_size + 1:
        raise ValueError("the data is too short for a block and its targets")
    starts = torch.randint(len(data) - block_size, (batch_size,), generator=generator)
    idx = torch.stack([data[start : start + block_size] for start in starts])
    targets = torch.stack([data[start + 1 : start + block_size + 1] for start in starts])
    return idx, targets


def flatten_for_cross_entropy(logits, targets):
    B, T, V = logits.shape
    return logits.reshape(B * T, V), targets.reshape(B * T)


def cross_entropy(logits, targets):
    logits = logits - logits.max(dim=-1, keepdim=True).values
    log_probabilities = logits - torch.log(torch.exp(logits).sum(dim=-1, keepdim=True))
    return -log_probabilities[torch.arange(len(targets)), targets].mean()


def running_mean_loop(x):
    means = torch.zeros_like(x)
    for t in range(x.shape[1]):
        means[:, t] = x[:, : t + 1].mean(dim=1)
    return means


def running_mean_matmul(x):
    T = x.shape[1]
    weights = torch.tril(torch.ones(T, T, dtype=x.dtype))
    weights = weights / weights.sum(dim=1, keepdim=True)
    return weights @ x


def running_mean_softmax(x):
    T = x.shape[1]
    future = torch.triu(torch.ones(T, T), diagonal=1).bool()
    scores = torch.zeros(T, T, dtype=x.dtype).masked_fill(future, -torch.inf)
    return torch.softmax(scores, dim=-1) @ x


class Head(nn.Module):
    def __init__(self, n_embd, head_size, block_size, dropout):
        super().__init__()
        self.key = nn.Linear(n_embd, head_size, bias=False)
        self.query = nn.Linear(n_embd, head_size, bias=False)
        self.value = nn.Linear(n_embd, head_size, bias=False)
        self.dropout = nn.Dropout(dropout)
        self.register_buffer("future", torch.triu(torch.ones(block_size, block_size), diagonal=1).bool())

    def forward(self, x):
        T = x.shape[1]
        keys, queries, values = self.key(x), self.query(x), self.value(x)
        scores = queries @ keys.transpose(1, 2) / keys.shape[-1] ** 0.5
        scores = scores.masked_fill(self.future[:T, :T], -torch.inf)
        weights = self.dropout(torch.softmax(scores, dim=-1))
        return weights @ values


class BigramLanguageModel(nn.Module):
    def __init__(self, vocab_size):
        super().__init__()
        self.token_embedding_table = nn.Embedding(vocab_size, vocab_size)

    def forward(self, idx, targets=None):
        logits = self.token_embedding_table(idx)
        if targets is None:
            return logits, None
        return logits, cross_entropy(*flatten_for_cross_entropy(logits, targets))

    def generate(self, idx, max_new_tokens, generator=None):
        for _ in range(max_new_tokens):
            logits, _ = self(idx)
            probabilities = torch.softmax(logits[:, -1, :], dim=-1)
            following = torch.multinomial(probabilities, num_samples=1, generator=generator)
            idx = torch.cat([idx, following], dim=1)
        return idx
