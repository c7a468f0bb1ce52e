"""Pairs of unit 6: answers with two of the misconceptions at once. Their names have both."""

import torch
import torch.nn.functional as F
from torch import nn

# -- build_vocabulary --------------------------------------------------------------------------------------------------


def not_sorted__and__line_breaks_left_out(text):
    return list(dict.fromkeys(text.strip()))


# -- decode ------------------------------------------------------------------------------------------------------------


def negative_ids_counted_from_the_end__and__characters_in_a_list(ids, vocabulary):
    text = []
    for i in ids:
        if i >= len(vocabulary):
            raise ValueError(f"no character has the id {i}")
        text.append(vocabulary[i])
    return text


# -- sample_batch ------------------------------------------------------------------------------------------------------


def targets_that_repeat__and__generator_ignored_for_the_batch(data, block_size, batch_size, generator=None):
    N = data.shape[0]
    if block_size + 1 > N:
        raise ValueError("too few tokens")
    starts = torch.randint(0, N - block_size, (batch_size,))
    offsets = torch.arange(block_size)
    idx = data[starts[:, None] + offsets]
    targets = data[starts[:, None] + offsets]
    return idx, targets


# -- cross_entropy -----------------------------------------------------------------------------------------------------


def losses_added_up__and__largest_logit_not_subtracted(logits, targets):
    log_sum = torch.log(torch.exp(logits).sum(dim=1))
    z_target = logits.gather(1, targets.unsqueeze(1)).squeeze(1)
    return (log_sum - z_target).sum()


# -- BigramLanguageModel -----------------------------------------------------------------------------------------------


class loss_of_the_last_tokens__and__generator_ignored(nn.Module):
    def __init__(self, vocab_size):
        super().__init__()
        self.token_embedding_table = nn.Embedding(vocab_size, vocab_size)

    def forward(self, idx, targets=None):
        logits = self.token_embedding_table(idx)
        if targets is None:
            return logits, None
        loss = F.cross_entropy(logits[:, -1, :], targets[:, -1])
        return logits, loss

    @torch.no_grad()
    def generate(self, idx, max_new_tokens, generator=None):
        for _ in range(max_new_tokens):
            logits, _ = self(idx)
            p = torch.softmax(logits[:, -1], dim=-1)
            idx = torch.cat([idx, torch.multinomial(p, 1)], dim=1)
        return idx
