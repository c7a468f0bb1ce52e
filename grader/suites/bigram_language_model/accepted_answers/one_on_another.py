"""Each exercise calls earlier ones, of this unit and of others. The head uses the CausalAttention of unit 3."""

import torch
from causal_attention import CausalAttention, causal_mask
from simple_attention import softmax_stable
from torch import nn


def build_vocabulary(text):
    return sorted(dict.fromkeys(text))


def encode(text, vocabulary):
    ids = dict(zip(vocabulary, range(len(vocabulary))))
    try:
        return [ids[character] for character in text]
    except KeyError as error:
        raise ValueError(f"unknown: {error}") from None


def decode(ids, vocabulary):
    characters = {place: character for place, character in enumerate(vocabulary)}
    if not set(ids).issubset(characters):
        raise ValueError("unknown id")
    text = "".join(characters[number] for number in ids)
    assert encode(text, vocabulary) == list(ids)
    return text


def sample_batch(data, block_size, batch_size, generator=None):
    if data.shape[0] - block_size <= 0:
        raise ValueError("no start leaves a target for every token")
    probabilities = torch.ones(data.shape[0] - block_size)
    starts = torch.multinomial(probabilities, batch_size, replacement=True, generator=generator)
    both = torch.stack([data[start : start + block_size + 1] for start in starts])
    return both[:, :-1].contiguous(), both[:, 1:].contiguous()


def flatten_for_cross_entropy(logits, targets):
    return logits.flatten(end_dim=-2), targets.flatten()


def cross_entropy(logits, targets):
    shifted = logits - logits.max(dim=-1, keepdim=True)[0]
    normaliser = torch.logsumexp(shifted, dim=-1)
    return torch.mean(normaliser - shifted[range(len(targets)), targets])


def running_mean_loop(x):
    return torch.stack([x[:, : token + 1].mean(dim=1) for token in range(x.shape[1])], dim=1)


def running_mean_matmul(x):
    seen = (~causal_mask(x.shape[1])).to(x.dtype)
    return (seen / seen.sum(1, keepdim=True)).expand(len(x), -1, -1).bmm(x)


def running_mean_softmax(x):
    scores = x.new_zeros(x.shape[1], x.shape[1])
    scores[causal_mask(x.shape[1])] = -torch.inf
    return softmax_stable(scores, dim=-1) @ x


class Head(nn.Module):
    def __init__(self, n_embd, head_size, block_size, dropout):
        super().__init__()
        self.attention = CausalAttention(n_embd, head_size, block_size, dropout)
        self.key = self.attention.W_key
        self.query = self.attention.W_query
        self.value = self.attention.W_value

    def forward(self, x):
        return self.attention(x)


class BigramLanguageModel(nn.Module):
    def __init__(self, vocab_size):
        super().__init__()
        self.token_embedding_table = nn.Embedding(vocab_size, vocab_size)

    def forward(self, idx, targets=None):
        logits = self.token_embedding_table(idx)
        if targets is not None:
            flat_logits, flat_targets = flatten_for_cross_entropy(logits, targets)
            return logits, cross_entropy(flat_logits, flat_targets)
        return logits, None

    def generate(self, idx, max_new_tokens, generator=None):
        if max_new_tokens == 0:
            return idx
        logits, _ = self(idx)
        new = torch.multinomial(softmax_stable(logits[:, -1], dim=-1), 1, generator=generator)
        return self.generate(torch.cat((idx, new), dim=1), max_new_tokens - 1, generator)
