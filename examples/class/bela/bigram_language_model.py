"""Unit 6, written down once more in my own way. Bela"""
import torch
import torch.nn as nn
import torch.nn.functional as F

from causal_attention import mask_then_softmax


def build_vocabulary(text):
    return sorted({*text})


def encode(text, vocabulary):
    return [vocabulary.index(c) for c in text]  # a ValueError where it is not there


def decode(ids, vocabulary):
    assert all(0 <= i < len(vocabulary) for i in ids)
    return "".join(map(vocabulary.__getitem__, ids))


def sample_batch(data, block_size, batch_size, generator=None):
    windows = data.unfold(0, block_size + 1, 1) if len(data) > block_size else None  # every start at once
    assert windows is not None, f"{len(data)} tokens are too few"
    chosen = windows[torch.randint(len(windows), (batch_size,), generator=generator)]
    return chosen[:, :-1], chosen[:, 1:]


def flatten_for_cross_entropy(logits, targets):
    return logits.flatten(0, 1), targets.flatten()


def cross_entropy(logits, targets):
    return F.cross_entropy(logits, targets)  # PyTorch's own


def running_mean_loop(x):
    return torch.stack([x[:, : t + 1].mean(1) for t in range(x.size(1))], dim=1)


def running_mean_matmul(x):
    T = x.size(1)
    return torch.einsum("ts,bsc->btc", torch.ones(T, T, dtype=x.dtype).tril() / torch.arange(1, T + 1)[:, None], x)


def running_mean_softmax(x):
    T = x.size(1)
    return mask_then_softmax(x.new_zeros(T, T), 1) @ x


class Head(nn.Module):
    def __init__(self, n_embd, head_size, block_size, dropout):
        super().__init__()
        self.key, self.query, self.value = (nn.Linear(n_embd, head_size, bias=False) for _ in range(3))
        self.p = dropout

    def forward(self, x):
        p = self.p if self.training else 0.0
        return F.scaled_dot_product_attention(self.query(x), self.key(x), self.value(x), is_causal=True, dropout_p=p)


class BigramLanguageModel(nn.Module):
    def __init__(self, vocab_size):
        super().__init__()
        self.token_embedding_table = nn.Embedding(vocab_size, vocab_size)
        print(f"bela: a model with {vocab_size} characters")

    def forward(self, idx, targets=None):
        logits = self.token_embedding_table(idx)
        return logits, None if targets is None else F.cross_entropy(logits.transpose(1, 2), targets)

    @torch.no_grad()
    def generate(self, idx, max_new_tokens, generator=None):
        tokens = [idx]
        for _ in range(max_new_tokens):
            p = self.token_embedding_table(tokens[-1][:, -1]).softmax(-1)
            tokens.append(p.multinomial(1, generator=generator))
        return torch.cat(tokens, dim=1)
