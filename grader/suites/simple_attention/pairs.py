"""Pairs of unit 1: answers with two of the misconceptions at once. Their names have both."""

import torch

# -- normalize_by_sum --------------------------------------------------------------------------------------------------


def divided_by_the_sum_of_sizes__and__divided_in_place(scores):
    total = torch.abs(scores).sum()
    scores /= total
    return scores


# -- softmax_naive -----------------------------------------------------------------------------------------------------


def naive_dim_ignored__and__exponentials_in_place(x: torch.Tensor, dim: int = -1) -> torch.Tensor:
    numerator = x.exp_()
    denominator = numerator.sum(dim=-1, keepdim=True)
    return numerator / denominator


# -- softmax_stable ----------------------------------------------------------------------------------------------------


def one_maximum_for_all__and__float32_given_back(x, dim=-1):
    shifted = x.float() - x.max()
    weights = torch.exp(shifted)
    return weights / torch.sum(weights, dim=dim, keepdim=True)
