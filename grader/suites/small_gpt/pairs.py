"""Pairs of the capstone: answers with two of the misconceptions at once. Their names have both."""

import torch
import torch.nn.functional as F

# -- generate_text -----------------------------------------------------------------------------------------------------


def text_not_cut__and__left_in_eval_mode(model, idx, max_new_tokens, context_length, generator=None):
    model.eval()
    for _ in range(max_new_tokens):
        probabilities = F.softmax(model(idx)[:, -1, :], dim=-1)
        idx = torch.cat((idx, torch.multinomial(probabilities, 1, generator=generator)), dim=1)
    return idx


def generator_ignored__and__at_least_one_token(model, idx, max_new_tokens, context_length, generator=None):
    for _ in range(max(max_new_tokens, 1)):
        probabilities = F.softmax(model(idx[:, -context_length:])[:, -1, :], dim=-1)
        idx = torch.cat((idx, torch.multinomial(probabilities, 1)), dim=1)
    return idx
