"""Loops over texts, tokens and entries, draws by the cumulative sum of the probabilities, and a loss row by row."""

import math

import torch
from torch import nn


def build_vocabulary(text):
    found = []
    for character in text:
        if character not in found:
            found.append(character)
    found.sort()
    return found


def encode(text, vocabulary):
    ids = []
    for character in text:
        for place, known in enumerate(vocabulary):
            if known == character:
                ids.append(place)
                break
        else:
            raise ValueError(f"{character!r} is not in the vocabulary")
    return ids


def decode(ids, vocabulary):
    text = ""
    for number in ids:
        if number < 0 or number > len(vocabulary) - 1:
            raise AssertionError(f"there is no character {number}")
        text += vocabulary[number]
    return text


def sample_batch(data, block_size, batch_size, generator=None):
    last = len(data) - block_size - 1
    if last < 0:
        raise ValueError("too short")
    idx = torch.zeros(batch_size, block_size, dtype=data.dtype)
    targets = torch.zeros(batch_size, block_size, dtype=data.dtype)
    for row in range(batch_size):
        start = torch.randint(0, last + 1, (1,), generator=generator).item()
        for column in range(block_size):
            idx[row, column] = data[start + column]
            targets[row, column] = data[start + column + 1]
    return idx, targets


def flatten_for_cross_entropy(logits, targets):
    rows, ids = [], []
    for text, answers in zip(logits, targets):
        for row, answer in zip(text, answers):
            rows.append(row)
            ids.append(answer)
    return torch.stack(rows), torch.stack(ids)


def cross_entropy(logits, targets):
    total = 0
    for row, target in zip(logits, targets):
        largest = row.max()
        total = total + torch.log(torch.exp(row - largest).sum()) - (row[target] - largest)
    return total / len(logits)


def running_mean_loop(x):
    texts = []
    for text in x:
        total, means = torch.zeros_like(text[0]), []
        for token, features in enumerate(text):
            total = total + features
            means.append(total / (token + 1))
        texts.append(torch.stack(means))
    return torch.stack(texts)


def running_mean_matmul(x):
    T = x.shape[1]
    weights = [[1 / (row + 1) if column <= row else 0.0 for column in range(T)] for row in range(T)]
    return torch.tensor(weights, dtype=x.dtype) @ x


def running_mean_softmax(x):
    T = x.shape[1]
    means = []
    for token in range(T):
        scores = [0.0] * (token + 1) + [-math.inf] * (T - token - 1)
        numerators = [math.exp(score) for score in scores]
        weights = torch.tensor(numerators, dtype=x.dtype) / sum(numerators)
        means.append((weights[None, :, None] * x).sum(dim=1))
    return torch.stack(means, dim=1)


class Head(nn.Module):
    def __init__(self, n_embd, head_size, block_size, dropout):
        super(Head, self).__init__()
        self.value = nn.Linear(n_embd, head_size, bias=False)
        self.query = nn.Linear(n_embd, head_size, bias=False)
        self.key = nn.Linear(n_embd, head_size, bias=False)
        self.block_size = block_size
        self.p = dropout

    def forward(self, x):
        assert x.shape[1] <= self.block_size
        texts = []
        for text in x:
            outputs = []
            for i in range(len(text)):
                query = self.query(text[i])
                scores = [torch.dot(query, self.key(text[j])) for j in range(i + 1)]
                weights = torch.softmax(torch.stack(scores) / math.sqrt(len(query)), dim=0)
                if self.training and self.p > 0:
                    keep = torch.rand(i + 1) >= self.p
                    weights = weights * keep / (1 - self.p)
                outputs.append(sum(weights[j] * self.value(text[j]) for j in range(i + 1)))
            texts.append(torch.stack(outputs))
        return torch.stack(texts)


class BigramLanguageModel(nn.Module):
    def __init__(self, vocab_size):
        super().__init__()
        self.token_embedding_table = nn.Embedding(vocab_size, vocab_size)

    def forward(self, idx, targets=None):
        rows = [torch.stack([self.token_embedding_table(token) for token in text]) for text in idx]
        logits = torch.stack(rows)
        if targets is None:
            return logits, None
        losses = [cross_entropy(row, answers) for row, answers in zip(logits, targets)]
        return logits, sum(losses) / len(losses)

    @torch.no_grad()
    def generate(self, idx, max_new_tokens, generator=None):
        texts = idx.tolist()
        for _ in range(max_new_tokens):
            for text in texts:
                row = self.token_embedding_table.weight[text[-1]].double()
                probabilities = torch.exp(row - row.max())
                sums = torch.cumsum(probabilities / probabilities.sum(), dim=0)
                throw = torch.rand(1, generator=generator, dtype=torch.float64)
                text.append(min(int((sums <= throw).sum()), len(sums) - 1))
        return torch.tensor(texts)
