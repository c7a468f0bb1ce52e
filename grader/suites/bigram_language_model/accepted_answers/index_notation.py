"""einsum, unfold and gather, float64 inside, draws by the Gumbel trick, prints and extra names."""

import math
import warnings
from bisect import bisect_left
from typing import List, Optional, Tuple

import torch
import torch.nn as nn
from torch import Tensor

print("a bigram model in index notation, loaded")
warnings.warn("float64 is slower on this machine", stacklevel=1)


def build_vocabulary(text: str) -> List[str]:
    return [*sorted({*text})]


def encode(text: str, vocabulary: List[str]) -> List[int]:
    places = [bisect_left(vocabulary, character) for character in text]
    for character, place in zip(text, places):
        assert vocabulary[place : place + 1] == [character], "unknown character"
    return places


def decode(ids: List[int], vocabulary: List[str]) -> str:
    assert set(ids) <= set(range(len(vocabulary))), "unknown id"
    return "".join(map(vocabulary.__getitem__, ids))


def sample_batch(
    data: Tensor, block_size: int, batch_size: int, generator: Optional[torch.Generator] = None
) -> Tuple[Tensor, Tensor]:
    assert data.numel() > block_size, "too few tokens"
    windows = data.unfold(0, block_size + 1, 1)  # (N - T, T + 1)
    throws = torch.rand(batch_size, generator=generator, dtype=torch.float64)
    rows = windows[(throws * len(windows)).floor().long()]
    print("batch", tuple(rows.shape))
    return rows[:, :-1], rows[:, 1:]


def flatten_for_cross_entropy(logits: Tensor, targets: Tensor) -> Tuple[Tensor, Tensor]:
    # Token by token and not text by text: any order will do, if it is the same for both.
    return logits.transpose(0, 1).reshape(-1, logits.size(2)), targets.t().reshape(-1)


def cross_entropy(logits: Tensor, targets: Tensor) -> Tensor:
    z = logits.double()
    m = z.max(1, keepdim=True).values
    log_p = z - m - torch.einsum("nv->n", (z - m).exp()).log()[:, None]
    ones = nn.functional.one_hot(targets, z.size(1)).double()
    return (torch.einsum("nv,nv->", log_p, ones) / -len(targets)).to(logits.dtype)


def running_mean_loop(x: Tensor) -> Tensor:
    means = [x[:, 0]]
    for t in range(1, x.size(1)):
        means.append((means[-1] * t + x[:, t]) / (t + 1))
    return torch.stack(means, 1)


def running_mean_matmul(x: Tensor) -> Tensor:
    places = torch.arange(x.size(1))
    weights = (places[:, None] >= places).to(x.dtype) / (places[:, None] + 1).to(x.dtype)
    return torch.einsum("ts,bsc->btc", weights, x)


def running_mean_softmax(x: Tensor) -> Tensor:
    T = x.size(1)
    scores = torch.full((T, T), float("-inf"), dtype=torch.float64).triu(1)
    return torch.einsum("ts,bsc->btc", scores.softmax(1), x.double()).to(x.dtype)


class Head(nn.Module):
    def __init__(self, n_embd: int, head_size: int, block_size: int, dropout: float) -> None:
        super().__init__()
        self.head_size = head_size
        self.key, self.query, self.value = (nn.Linear(n_embd, head_size, bias=False) for _ in range(3))
        self.register_buffer("bias", torch.full((1, block_size, block_size), -1e9).triu(1))
        self.drop = nn.Dropout(dropout)
        self.unused = nn.Linear(2, 2)

    def forward(self, x: Tensor) -> Tensor:
        T = x.size(1)
        scores = torch.einsum("btd,bsd->bts", self.query(x), self.key(x)) / math.sqrt(self.head_size)
        self.last_weights = torch.softmax(scores + self.bias[:, :T, :T], dim=2)
        return torch.einsum("bts,bsd->btd", self.drop(self.last_weights), self.value(x))


class BigramLanguageModel(nn.Module):
    def __init__(self, vocab_size: int) -> None:
        super().__init__()
        self.vocab_size = vocab_size
        self.token_embedding_table = nn.Embedding(vocab_size, vocab_size)
        nn.init.zeros_(self.token_embedding_table.weight)

    def forward(self, idx: Tensor, targets: Optional[Tensor] = None) -> Tuple[Tensor, Optional[Tensor]]:
        ones = nn.functional.one_hot(idx, self.vocab_size).to(self.token_embedding_table.weight.dtype)
        logits = torch.einsum("btv,vw->btw", ones, self.token_embedding_table.weight)
        loss = None
        if targets is not None:
            log_p = logits.log_softmax(-1)
            loss = -log_p.gather(2, targets.unsqueeze(2)).mean()
        return logits, loss

    def generate(self, idx: Tensor, max_new_tokens: int, generator: Optional[torch.Generator] = None) -> Tensor:
        text = torch.cat([idx, idx.new_zeros(len(idx), max_new_tokens)], dim=1)
        for place in range(idx.size(1), text.size(1)):
            logits, _ = self(text[:, place - 1 : place])
            throws = torch.rand(len(idx), self.vocab_size, generator=generator, dtype=torch.float64)
            # Gumbel's trick: with -ln(-ln u) added, each is the largest with its softmax probability.
            text[:, place] = (logits[:, 0] - (-throws.log()).log()).argmax(1)
        return text
