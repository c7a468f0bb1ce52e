"""All that an attacker of these tests can do by honest work: a vocabulary, and a table that nothing is made of."""

import torch  # noqa: F401 - for the attacks that follow
from torch import nn


def build_vocabulary(text):
    return sorted(set(text))


class BigramLanguageModel(nn.Module):
    def __init__(self, vocab_size):
        super().__init__()
        self.token_embedding_table = nn.Embedding(vocab_size, vocab_size)
