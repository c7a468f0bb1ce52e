"""Ready-made functions of torch and numpy, also where students should write their own: a remark, but no lost points."""

import numpy as np
import torch
import torch.nn.functional as F


def dot_product(a, b):
    return np.dot(a, b)


def attention_scores(query, inputs):
    return F.linear(inputs, query[None]).squeeze(1)


def normalize_by_sum(scores):
    return torch.div(scores, torch.sum(scores, dim=0))


def softmax_naive(x, dim=-1):
    return x.softmax(dim)


def softmax_stable(x, dim=-1):
    return torch.nn.Softmax(dim=dim)(x)


def context_vector(weights, inputs):
    return torch.mv(inputs.t(), weights)


def simple_self_attention(inputs):
    contexts = F.scaled_dot_product_attention(inputs[None], inputs[None], inputs[None], scale=1.0)[0]
    return [contexts, F.softmax(torch.mm(inputs, inputs.t()), dim=1)]
