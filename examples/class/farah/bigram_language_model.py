import torch
import torch.nn as nn
import torch.nn.functional as F


def build_vocabulary(text):
    return list(dict.fromkeys(text))


def encode(text, vocabulary):
    stoi = {c: i for i, c in enumerate(vocabulary)}
    return [stoi[c] for c in text]


def decode(ids, vocabulary):
    return "".join([vocabulary[i] for i in ids])


def sample_batch(data, block_size, batch_size, generator=None):
    ix = torch.randint(len(data) - block_size, (batch_size,), generator=generator)
    x = torch.stack([data[i : i + block_size] for i in ix])
    y = torch.stack([data[i + 1 : i + block_size + 1] for i in ix])
    return x, y


def flatten_for_cross_entropy(logits, targets):
    B, T, V = logits.shape
    return logits.reshape(B * T, V), targets.reshape(B * T)


def cross_entropy(logits, targets):
    p = torch.exp(logits) / torch.exp(logits).sum(1, keepdim=True)
    return -torch.log(p[torch.arange(len(targets)), targets]).mean()


def running_mean_loop(x):
    out = torch.zeros_like(x)
    for t in range(x.shape[1]):
        out[:, t] = x[:, : t + 2].mean(1)
    return out


def running_mean_matmul(x):
    T = x.shape[1]
    w = torch.tril(torch.ones(T, T, dtype=x.dtype))
    return w @ x


def running_mean_softmax(x):
    T = x.shape[1]
    w = torch.zeros(T, T, dtype=x.dtype)
    w = w.masked_fill(torch.tril(torch.ones(T, T)) == 0, float("-inf"))
    return F.softmax(w, dim=-1) @ x


class Head(nn.Module):
    def __init__(self, n_embd, head_size, block_size, dropout):
        super().__init__()
        self.key = nn.Linear(n_embd, head_size, bias=False)
        self.query = nn.Linear(n_embd, head_size, bias=False)
        self.value = nn.Linear(n_embd, head_size, bias=False)
        self.register_buffer("tril", torch.tril(torch.ones(block_size, block_size)))
        self.dropout = nn.Dropout(dropout)

    def forward(self, x):
        B, T, C = x.shape
        w = self.query(x) @ self.key(x).transpose(-2, -1) * C**-0.5
        w = w.masked_fill(self.tril[:T, :T] == 0, float("-inf"))
        w = self.dropout(F.softmax(w, dim=-1))
        return w @ self.value(x)


class BigramLanguageModel(nn.Module):
    def __init__(self, vocab_size):
        super().__init__()
        self.token_embedding_table = nn.Embedding(vocab_size, vocab_size)

    def forward(self, idx, targets=None):
        logits = self.token_embedding_table(idx)
        if targets is None:
            return logits, None
        B, T, V = logits.shape
        logits = logits.view(B * T, V)
        return logits, F.cross_entropy(logits, targets.view(B * T))

    def generate(self, idx, max_new_tokens, generator=None):
        for _ in range(max_new_tokens):
            logits, _ = self(idx)
            p = torch.softmax(logits[:, -1], dim=-1)
            idx = torch.cat([idx, torch.multinomial(p, 1, generator=generator)], dim=1)
        return idx
