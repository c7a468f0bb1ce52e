import torch
import torch.nn as nn
from causal_attention import causal_mask


def build_vocabulary(text):
    return sorted(set(text))


def encode(text, vocabulary):
    if set(text) - set(vocabulary):
        raise ValueError("unknown character")
    return [vocabulary.index(c) for c in text]


def decode(ids, vocabulary):
    if any(i < 0 or i >= len(vocabulary) for i in ids):
        raise ValueError("unknown id")
    return "".join(vocabulary[i] for i in ids)


def sample_batch(data, block_size, batch_size, generator=None):
    last = len(data) - block_size - 1
    if last < 0:
        raise ValueError("too little data")
    start = torch.randint(0, last + 1, (batch_size, 1), generator=generator)
    place = start + torch.arange(block_size)
    return data[place], data[place + 1]


def flatten_for_cross_entropy(logits, targets):
    return logits.reshape(-1, logits.shape[-1]), targets.reshape(-1)


def cross_entropy(logits, targets):
    right = logits.gather(1, targets[:, None]).squeeze(1)
    return (logits.logsumexp(1) - right).mean()


def running_mean_loop(x):
    out = torch.empty_like(x)
    total = 0
    for t in range(x.shape[1]):
        total = total + x[:, t]
        out[:, t] = total / (t + 1)
    return out


def running_mean_matmul(x):
    w = (~causal_mask(x.shape[1])).to(x.dtype)
    return (w / w.sum(1, keepdim=True)) @ x


def running_mean_softmax(x):
    T = x.shape[1]
    s = torch.zeros(T, T, dtype=x.dtype)
    s[causal_mask(T)] = float("-inf")
    return torch.softmax(s, 1) @ x


class Head(nn.Module):
    def __init__(self, n_embd, head_size, block_size, dropout):
        super().__init__()
        self.key = nn.Linear(n_embd, head_size, bias=False)
        self.query = nn.Linear(n_embd, head_size, bias=False)
        self.value = nn.Linear(n_embd, head_size, bias=False)
        self.dropout = nn.Dropout(dropout)

    def forward(self, x):
        s = self.query(x) @ self.key(x).mT * self.key.out_features**-0.5
        s = s.masked_fill(causal_mask(x.shape[1]), float("-inf"))
        return self.dropout(s.softmax(-1)) @ self.value(x)


class BigramLanguageModel(nn.Module):
    def __init__(self, vocab_size):
        super().__init__()
        self.token_embedding_table = nn.Embedding(vocab_size, vocab_size)

    def forward(self, idx, targets=None):
        logits = self.token_embedding_table(idx)
        loss = None
        if targets is not None:
            loss = cross_entropy(*flatten_for_cross_entropy(logits, targets))
        return logits, loss

    def generate(self, idx, max_new_tokens, generator=None):
        for _ in range(max_new_tokens):
            p = self(idx)[0][:, -1].softmax(-1)
            idx = torch.cat([idx, torch.multinomial(p, 1, generator=generator)], 1)
        return idx
