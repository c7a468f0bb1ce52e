"""PyTorch's own loss, attention and dropout, and answers that are as short as possible."""

import torch
import torch.nn.functional as F
from torch import nn


def build_vocabulary(text):
    return sorted(set(text))


def encode(text, vocabulary):
    return [vocabulary.index(c) for c in text]  # list.index raises a ValueError itself


def decode(ids, vocabulary):
    if ids and not (min(ids) >= 0 and max(ids) < len(vocabulary)):
        raise ValueError("an id is out of range")
    return "".join(vocabulary[i] for i in ids)


def sample_batch(data, block_size, batch_size, generator=None):
    assert len(data) >= block_size + 1
    ix = torch.randint(len(data) - block_size, (batch_size,), generator=generator)
    x = torch.stack([data[i : i + block_size] for i in ix])
    y = torch.stack([data[i + 1 : i + 1 + block_size] for i in ix])
    return x, y


def flatten_for_cross_entropy(logits, targets):
    B, T, C = logits.shape
    return [logits.reshape(B * T, C), targets.reshape(B * T)]


def cross_entropy(logits, targets):
    return nn.CrossEntropyLoss()(logits, targets)


def running_mean_loop(x):
    xbow = torch.zeros_like(x)
    for b in range(x.shape[0]):
        for t in range(x.shape[1]):
            xbow[b, t] = torch.mean(x[b, : t + 1], 0)
    return xbow


def running_mean_matmul(x):
    return x.cumsum(dim=1) / torch.arange(1, x.shape[1] + 1, dtype=x.dtype).unsqueeze(1)


def running_mean_softmax(x):
    zeros = torch.zeros_like(x)
    return F.scaled_dot_product_attention(zeros, zeros, x, is_causal=True)


class Head(nn.Module):
    def __init__(self, n_embd, head_size, block_size, dropout):
        super().__init__()
        for name in ("key", "query", "value"):
            self.add_module(name, nn.Linear(n_embd, head_size, bias=False))
        self.dropout = dropout

    def forward(self, x):
        weight = torch.cat([self.query.weight, self.key.weight, self.value.weight])  # (3 · head_size, n_embd)
        queries, keys, values = F.linear(x, weight).chunk(3, dim=-1)
        p = self.dropout if self.training else 0.0
        return F.scaled_dot_product_attention(queries, keys, values, dropout_p=p, is_causal=True)


class BigramLanguageModel(nn.Module):
    def __init__(self, vocab_size):
        super().__init__()
        self.token_embedding_table = nn.Embedding(vocab_size, vocab_size)

    def forward(self, idx, targets=None):
        logits = self.token_embedding_table(idx)
        loss = None if targets is None else F.cross_entropy(logits.transpose(1, 2), targets)
        return logits, loss

    @torch.no_grad()
    def generate(self, idx, max_new_tokens, generator=None):
        was_training = self.training
        self.eval()
        for _ in range(max_new_tokens):
            logits, _ = self(idx[:, -8:])
            p = logits[:, -1, :].exp()  # multinomial divides by the sum
            idx = torch.hstack((idx, p.multinomial(1, generator=generator)))
        self.train(was_training)
        return idx
