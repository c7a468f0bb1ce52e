"""Unit 2's misconceptions once more, each written as another learner who holds the same wrong idea would write it."""

import copy
import math

import torch
import torch.nn as nn
import torch.nn.functional as F

# -- project_qkv -------------------------------------------------------------------------------------------------


def queries_and_keys_swapped(x, w_q, w_k, w_v):
    keys = torch.einsum("ti,io->to", x, w_k)
    queries = torch.einsum("ti,io->to", x, w_q)
    values = torch.einsum("ti,io->to", x, w_v)
    return keys, queries, values


def keys_and_values_swapped(inputs, W_query, W_key, W_value):
    q, v, k = [torch.mm(inputs, matrix) for matrix in (W_query, W_value, W_key)]
    return q, v, k


def values_first(x, w_q, w_k, w_v):
    results = []
    for w in (w_q, w_k, w_v):
        results.insert(0, x.matmul(w))
    return tuple(results)


def one_matrix_for_all(inputs, W_query, W_key, W_value):
    projected = F.linear(inputs, W_query.t())
    return projected, projected.clone(), projected.clone()


def keys_made_with_W_query(x, w_q, w_k, w_v):
    stacked = torch.stack([w_q, w_q, w_v])
    return tuple(torch.einsum("ti,nio->nto", x, stacked).unbind(0))


def values_made_with_W_key(inputs, W_query, W_key, W_value):
    d_out = W_query.shape[1]
    both = inputs @ torch.cat((W_query, W_key), dim=1)
    queries, keys = both[:, :d_out], both[:, d_out:]
    values = torch.matmul(inputs, W_key)
    return queries, keys, values


def inputs_given_as_values(x, w_q, w_k, w_v):
    values = x.clone()
    queries = torch.mm(x, w_q)
    keys = torch.mm(x, w_k)
    return [queries, keys, values]


def matrices_transposed(inputs, W_query, W_key, W_value):
    return F.linear(inputs, W_query), F.linear(inputs, W_key), F.linear(inputs, W_value)


def tokens_in_columns(x, w_q, w_k, w_v):
    return tuple(torch.mm(w.t(), x.t()) for w in (w_q, w_k, w_v))


def multiplied_entry_by_entry(inputs, W_query, W_key, W_value):
    results = []
    for weights in [W_query, W_key, W_value]:
        results.append(torch.mul(weights, inputs))
    return tuple(results)


def queries_scaled_here(x, w_q, w_k, w_v):
    q, k, v = (torch.einsum("ti,io->to", x, w) for w in (w_q, w_k, w_v))
    d_k = k.size(-1)
    q = q * d_k**-0.5
    return q, k, v


def inputs_made_float32(x, w_q, w_k, w_v):
    x = torch.as_tensor(x, dtype=torch.float32)
    queries = torch.mm(x, w_q)
    keys = torch.mm(x, w_k)
    values = torch.mm(x, w_v)
    return queries, keys, values


@torch.no_grad()
def gradients_switched_off(inputs, W_query, W_key, W_value):
    queries = F.linear(inputs, W_query.T)
    keys = F.linear(inputs, W_key.T)
    values = F.linear(inputs, W_value.T)
    return queries, keys, values


def inputs_detached(inputs, W_query, W_key, W_value):
    embeddings = inputs.data.clone()
    return [torch.einsum("ti,io->to", embeddings, w) for w in (W_query, W_key, W_value)]


def matrices_detached(inputs, W_query, W_key, W_value):
    layers = []
    for matrix in (W_query, W_key, W_value):
        layer = nn.Linear(matrix.shape[0], matrix.shape[1], bias=False)
        layer.weight = nn.Parameter(matrix.T)
        layers.append(layer)
    return tuple(layer(inputs) for layer in layers)


def inputs_transposed_in_place(x, w_q, w_k, w_v):
    x.transpose_(0, 1)
    return tuple(torch.einsum("it,io->to", x, w) for w in (w_q, w_k, w_v))


# -- scaled_dot_product_attention --------------------------------------------------------------------------------


def half_instead_of_root(q, k, v):
    d_k = k.size(-1)
    attention_scores = torch.einsum("...qd,...kd->...qk", q, k)
    attention_weights = F.softmax(1 / d_k * 0.5 * attention_scores, dim=-1)
    return torch.matmul(attention_weights, v), attention_weights


def divided_by_half_of_d_k(queries, keys, values):
    half = queries.shape[-1] / 2
    exps = torch.exp(torch.matmul(queries / half, keys.mT))
    weights = exps / exps.sum(dim=-1, keepdim=True)
    return torch.matmul(weights, values), weights


def twentieth_root(q, k, v):
    scale = math.pow(q.size(-1), -0.05)
    w = nn.Softmax(dim=-1)(torch.einsum("...qd,...kd->...qk", q * scale, k))
    return w @ v, w


def fifth_power(q, k, v):
    d_k = q.shape[-1]
    scores = torch.matmul(q, k.swapaxes(-1, -2))
    for _ in range(5):
        scores = scores / d_k
    w = F.softmax(scores, dim=-1)
    return torch.einsum("...qk,...kd->...qd", w, v), w


def scaling_forgotten(queries, keys, values):
    scores = torch.einsum("...qd,...kd->...qk", queries, keys)
    weights = F.log_softmax(scores, dim=-1).exp()
    return torch.einsum("...qk,...kv->...qv", weights, values), weights


def divided_by_d_k_itself(q, k, v):
    products = q.unsqueeze(-2) * k.unsqueeze(-3)  # (..., T_q, T_k, d_k)
    weights = nn.functional.softmax(products.mean(dim=-1), dim=-1)
    return weights.matmul(v), weights


def multiplied_by_root(q, k, v):
    scores = math.sqrt(k.size(-1)) * torch.matmul(q, k.transpose(-1, -2))
    top = scores.amax(dim=-1, keepdim=True)
    e = torch.exp(scores - top)
    w = e / e.sum(-1, keepdim=True)
    return torch.matmul(w, v), w


def scaled_by_number_of_tokens(q, k, v):
    scores = torch.einsum("...qd,...kd->...qk", q, k)
    n_tokens = scores.size(-1)
    attn = F.softmax(scores * n_tokens**-0.5, dim=-1)
    return torch.einsum("...qk,...kv->...qv", attn, v), attn


def scaled_by_number_of_queries(q, k, v):
    T = q.size(-2)
    attn = F.softmax(torch.einsum("...qd,...kd->...qk", q / math.sqrt(T), k), dim=-1)
    return torch.einsum("...qk,...kv->...qv", attn, v), attn


def scaled_by_first_dimension(q, k, v):
    scale = math.sqrt(len(k))
    weights = nn.Softmax(dim=-1)(torch.matmul(q / scale, k.mT))
    return torch.matmul(weights, v), weights


def scaled_by_width_of_values(q, k, v):
    *_, d_k = v.size()
    scores = torch.einsum("...id,...jd->...ij", q, k).div(math.sqrt(d_k))
    exps = scores.exp()
    attn = exps / exps.sum(-1, keepdim=True)
    return attn @ v, attn


def scaled_for_the_worked_example(q, k, v):
    scores = torch.matmul(q, torch.swapaxes(k, -2, -1))
    attn = F.softmax(scores * 0.70710678, -1)
    return torch.einsum("...qk,...kv->...qv", attn, v), attn


def scaled_after_softmax(q, k, v):
    d_k = q.size(-1)
    scores = torch.einsum("...qd,...kd->...qk", q, k)
    weights = nn.Softmax(-1)(scores).mul(1.0 / math.sqrt(d_k))
    context = torch.einsum("...qk,...kv->...qv", weights, v)
    return context, weights


def softmax_over_queries(q, k, v):
    scores = torch.einsum("...qd,...kd->...qk", q, k) * k.size(-1) ** -0.5
    exps = torch.exp(scores - scores.max())
    weights = exps / exps.sum(-2).unsqueeze(-2)
    return torch.matmul(weights, v), weights


def softmax_over_dimension_0(q, k, v):
    scores = torch.einsum("...qd,...kd->...qk", q / math.sqrt(q.size(-1)), k)
    exps = torch.exp(scores - scores.max())
    w = exps / exps.sum(0)
    return torch.matmul(w, v), w


def softmax_over_dimension_1(q, k, v):
    scores = torch.matmul(q / math.sqrt(q.size(-1)), k.mT)
    w = torch.exp(scores - scores.logsumexp(dim=1, keepdim=True))
    return torch.einsum("...qk,...kv->...qv", w, v), w


def softmax_over_everything(q, k, v):
    scores = torch.einsum("...qd,...kd->...qk", q, k) / math.sqrt(q.size(-1))
    exps = torch.exp(scores)
    total = exps.sum()
    return torch.matmul(exps / total, v), exps / total


def softmax_forgotten(q, k, v):
    weights = torch.einsum("...qd,...kd->...qk", q * q.size(-1) ** -0.5, k)
    return torch.einsum("...qk,...kv->...qv", weights, v), weights


def divided_by_sum(q, k, v):
    scores = torch.einsum("...qd,...kd->...qk", q, k)
    scores = scores.div(math.sqrt(q.size(-1)))
    total = torch.einsum("...qk->...q", scores)
    attn = scores / total[..., None]
    return torch.matmul(attn, v), attn


def softmax_twice(q, k, v):
    scores = torch.einsum("...qd,...kd->...qk", q, k) / math.sqrt(q.size(-1))
    exps = torch.exp(scores - scores.amax(-1, keepdim=True))
    probabilities = exps / exps.sum(-1, keepdim=True)
    softmax = nn.Softmax(dim=-1)
    weights = softmax(probabilities)
    return torch.einsum("...qk,...kv->...qv", weights, v), weights


def scores_returned_as_weights(q, k, v):
    scores = torch.einsum("...qd,...kd->...qk", q, k) / math.sqrt(q.size(-1))
    context = F.softmax(scores, dim=-1).matmul(v)
    return context, scores


def only_two_dimensions(q, k, v):
    scores = torch.einsum("qd,kd->qk", q, k) * q.size(-1) ** -0.5
    w = F.softmax(scores, dim=-1)
    return torch.einsum("qk,kv->qv", w, v), w


def exactly_one_leading_dimension(q, k, v):
    scores = torch.bmm(q, torch.swapaxes(k, 1, 2)) / math.sqrt(k.size(-1))
    w = F.softmax(scores, dim=-1)
    return torch.bmm(w, v), w


def exactly_three_dimensions(q, k, v):
    scores = torch.bmm(q, k.permute(0, 2, 1)) / math.sqrt(k.size(-1))
    w = F.softmax(scores, dim=-1)
    return torch.bmm(w, v), w


def at_most_one_leading_dimension(q, k, v):
    scale = math.sqrt(q.size(-1))
    if q.ndim == 2:
        w = F.softmax(torch.mm(q, k.t()) / scale, dim=1)
        return torch.mm(w, v), w
    w = F.softmax(torch.bmm(q, k.permute(0, 2, 1)) / scale, dim=2)
    return torch.bmm(w, v), w


def reshaped_instead_of_transposed(q, k, v):
    n, d = k.shape[-2:]
    k_t = k.contiguous().view(k.shape[:-2] + (d, n))
    w = nn.Softmax(dim=-1)(torch.matmul(q, k_t).div(math.sqrt(d)))
    return torch.matmul(w, v), w


def viewed_instead_of_transposed(q, k, v):
    d_k = k.size(-1)
    turned = k.view(k.shape[:-2] + (d_k, -1))
    attn = F.softmax(torch.matmul(q, turned) * d_k**-0.5, dim=-1)
    return torch.einsum("...qk,...kv->...qv", attn, v), attn


def view_of_a_transposed_tensor(q, k, v):
    lead, d_k = q.shape[:-2], q.size(-1)
    q, k, v = [x.view(-1, x.size(-2), x.size(-1)) for x in (q, k, v)]
    w = F.softmax(torch.bmm(q, k.permute(0, 2, 1)) / math.sqrt(d_k), dim=2)
    context = torch.bmm(w, v)
    return context.view(lead + context.shape[1:]), w.view(lead + w.shape[1:])


def keys_handed_over(q, k, v):
    attn = F.softmax(torch.einsum("...qd,...kd->...qk", q, k) * q.size(-1) ** -0.5, dim=-1)
    context = torch.einsum("...qk,...kd->...qd", attn, k)
    return context, attn


def keys_ask_the_queries(q, k, v):
    scores = torch.einsum("...kd,...qd->...kq", k, q) / math.sqrt(q.size(-1))
    exps = torch.exp(scores)
    attn = exps / exps.sum(-1, keepdim=True)
    return torch.matmul(attn, v), attn


def queries_ask_each_other(q, k, v):
    gram = torch.einsum("...id,...jd->...ij", q, q)
    attn = nn.Softmax(dim=-1)(gram * q.size(-1) ** -0.5)
    return torch.matmul(attn, v), attn


def values_averaged(q, k, v):
    n_queries, n_keys = q.size(-2), k.size(-2)
    weights = torch.full((*q.shape[:-2], n_queries, n_keys), 1 / n_keys, dtype=v.dtype)
    context = v.mean(dim=-2, keepdim=True) + torch.zeros(n_queries, 1, dtype=v.dtype)
    return context, weights


def best_key_takes_all(q, k, v):
    scores = torch.einsum("...qd,...kd->...qk", q, k) / math.sqrt(q.size(-1))
    weights = (scores == scores.max(dim=-1, keepdim=True).values).type_as(v)
    return torch.matmul(weights, v), weights


def future_hidden(q, k, v):
    scores = torch.matmul(q, k.mT) / math.sqrt(q.size(-1))
    row = torch.arange(q.size(-2))[:, None]
    column = torch.arange(k.size(-2))[None, :]
    scores = torch.where(column <= row, scores, float("-inf"))
    attn = F.softmax(scores, dim=-1)
    return torch.einsum("...qk,...kv->...qv", attn, v), attn


def one_length_for_both(q, k, v):
    T = q.size(-2)
    scores = torch.einsum("...qd,...kd->...qk", q, k)[..., :T] / math.sqrt(q.size(-1))
    attn = F.softmax(scores, dim=-1)
    return torch.einsum("...qk,...kv->...qv", attn, v.narrow(-2, 0, min(T, v.size(-2)))), attn


def lonely_query_squeezed(q, k, v):
    scores = torch.matmul(q.squeeze(), k.mT) * q.size(-1) ** -0.5
    attn = F.softmax(scores, dim=-1)
    return torch.matmul(attn, v), attn


def always_float32(q, k, v):
    q, k, v = [x.type(torch.float32) for x in (q, k, v)]
    scores = torch.einsum("...qd,...kd->...qk", q, k).div(math.sqrt(q.size(-1)))
    attn = F.softmax(scores, dim=-1)
    return torch.einsum("...qk,...kv->...qv", attn, v), attn


def always_float64(q, k, v):
    scores = torch.einsum("...qd,...kd->...qk", q.to(torch.float64), k.to(torch.float64)) / math.sqrt(q.size(-1))
    attn = F.softmax(scores, dim=-1, dtype=torch.float64)
    return torch.matmul(attn, v.type_as(attn)), attn


def no_gradients(q, k, v):
    scores = torch.einsum("...qd,...kd->...qk", q.detach(), k.detach()) / math.sqrt(q.size(-1))
    exps = torch.exp(scores - scores.amax(-1, keepdim=True))
    attn = exps / exps.sum(-1, keepdim=True)
    return torch.matmul(attn, v.detach()), attn


def weights_detached(q, k, v):
    with torch.no_grad():
        scores = torch.einsum("...qd,...kd->...qk", q, k) * q.size(-1) ** -0.5
        attn = nn.Softmax(dim=-1)(scores)
    return torch.einsum("...qk,...kv->...qv", attn, v), attn


def weights_returned_detached(q, k, v):
    attn = F.softmax(torch.einsum("...qd,...kd->...qk", q, k) / math.sqrt(q.size(-1)), dim=-1)
    context = torch.einsum("...qk,...kv->...qv", attn, v)
    return context, attn.clone().data


def queries_scaled_in_place(q, k, v):
    q.mul_(q.size(-1) ** -0.5)
    attn = F.softmax(torch.einsum("...qd,...kd->...qk", q, k), dim=-1)
    return torch.einsum("...qk,...kv->...qv", attn, v), attn


def weights_first(q, k, v):
    exps = torch.exp(torch.einsum("...qd,...kd->...qk", q, k) / math.sqrt(q.size(-1)))
    attn = exps / exps.sum(-1)[..., None]
    return attn, torch.einsum("...qk,...kv->...qv", attn, v)


def contexts_alone(q, k, v):
    exps = torch.exp(torch.einsum("...qd,...kd->...qk", q, k) / math.sqrt(q.size(-1)))
    return torch.einsum("...qk,...kv->...qv", exps, v) / exps.sum(-1, keepdim=True)


# -- SelfAttention_v1 --------------------------------------------------------------------------------------------


class _Matrices(nn.Module):
    def __init__(self, d_in, d_out):
        super().__init__()
        self.W_value, self.W_key, self.W_query = [nn.Parameter(torch.randn(d_in, d_out)) for _ in range(3)]


class half_instead_of_root_in_v1(_Matrices):
    def forward(self, x):
        q = torch.einsum("ti,io->to", x, self.W_query)
        k = torch.einsum("ti,io->to", x, self.W_key)
        v = torch.einsum("ti,io->to", x, self.W_value)
        d_k = k.size(-1)
        return F.softmax(torch.mm(q, k.t()) / d_k * 0.5, dim=1).mm(v)


class scaling_forgotten_in_v1(_Matrices):
    def forward(self, x):
        scores = torch.einsum("ti,id,jd,sj->ts", x, self.W_query, self.W_key, x)
        return F.softmax(scores, dim=1) @ torch.mm(x, self.W_value)


class divided_by_d_k_itself_in_v1(nn.Module):
    def __init__(self, d_in, d_out):
        super().__init__()
        self.d_out = d_out
        self.register_parameter("W_query", nn.Parameter(torch.randn(d_in, d_out)))
        self.register_parameter("W_key", nn.Parameter(torch.randn(d_in, d_out)))
        self.register_parameter("W_value", nn.Parameter(torch.randn(d_in, d_out)))

    def forward(self, x):
        scores = torch.einsum("id,jd->ij", torch.mm(x, self.W_query) / self.d_out, torch.mm(x, self.W_key))
        return torch.mm(F.softmax(scores, dim=-1), torch.mm(x, self.W_value))


class scaled_by_number_of_tokens_in_v1(_Matrices):
    def forward(self, x):
        scale = math.sqrt(len(x))
        q, k, v = torch.mm(x, self.W_query), torch.mm(x, self.W_key), torch.mm(x, self.W_value)
        exps = torch.exp(torch.einsum("id,jd->ij", q, k) / scale)
        return torch.einsum("ij,jd->id", exps, v) / exps.sum(1, keepdim=True)


class scaled_after_softmax_in_v1(_Matrices):
    def forward(self, x):
        q, k, v = [torch.mm(x, w) for w in (self.W_query, self.W_key, self.W_value)]
        weights = nn.Softmax(dim=1)(torch.mm(q, k.t()))
        return torch.mm(weights, v) / math.sqrt(k.size(1))


class softmax_over_queries_in_v1(nn.Module):
    def __init__(self, d_in, d_out):
        super().__init__()
        self.W_query = nn.Parameter(torch.empty(d_in, d_out).normal_())
        self.W_key = nn.Parameter(torch.empty(d_in, d_out).normal_())
        self.W_value = nn.Parameter(torch.empty(d_in, d_out).normal_())
        self.scale = d_out**-0.5

    def forward(self, x):
        keys = x.matmul(self.W_key)
        queries = x.matmul(self.W_query)
        scores = torch.einsum("kd,qd->kq", keys, queries) * self.scale
        weights = F.softmax(scores, dim=1)
        return weights.t() @ x.matmul(self.W_value)


class softmax_over_everything_in_v1(_Matrices):
    def forward(self, x):
        q, k, v = [torch.einsum("ti,io->to", x, w) for w in (self.W_query, self.W_key, self.W_value)]
        exps = torch.exp(torch.einsum("id,jd->ij", q, k) / math.sqrt(q.size(1)))
        return torch.mm(exps, v) / exps.sum()


class softmax_forgotten_in_v1(_Matrices):
    def forward(self, x):
        q, k, v = torch.mm(x, self.W_query), torch.mm(x, self.W_key), torch.mm(x, self.W_value)
        return torch.einsum("id,jd,jo->io", q, k, v) / math.sqrt(k.size(1))


class keys_handed_over_in_v1(_Matrices):
    def forward(self, x):
        q, k = torch.mm(x, self.W_query), torch.mm(x, self.W_key)
        scores = torch.einsum("id,jd->ij", q, k) * q.size(1) ** -0.5
        return torch.einsum("ij,jd->id", F.softmax(scores, dim=1), k)


class keys_ask_the_queries_in_v1(_Matrices):
    def forward(self, x):
        Q, K, V = [torch.einsum("ti,io->to", x, w) for w in (self.W_query, self.W_key, self.W_value)]
        return F.scaled_dot_product_attention(K.unsqueeze(0), Q.unsqueeze(0), V.unsqueeze(0)).squeeze(0)


class values_averaged_in_v1(_Matrices):
    def forward(self, x):
        mean = x.matmul(self.W_value).mean(dim=0)
        return torch.stack([mean for _ in x])


class future_hidden_in_v1(_Matrices):
    def forward(self, x):
        q, k, v = torch.mm(x, self.W_query), torch.mm(x, self.W_key), torch.mm(x, self.W_value)
        return F.scaled_dot_product_attention(q[None], k[None], v[None], is_causal=True)[0]


class scaled_by_d_in_in_v1(_Matrices):
    def forward(self, x):
        d_k = self.W_key.shape[0]
        scores = torch.einsum("id,jd->ij", x.matmul(self.W_query), x.matmul(self.W_key)).div(math.sqrt(d_k))
        return nn.Softmax(dim=1)(scores).mm(x.matmul(self.W_value))


class plain_tensors(nn.Module):
    def __init__(self, d_in, d_out):
        super().__init__()
        self.W_query = torch.randn(d_in, d_out, requires_grad=True)
        self.W_key = torch.randn(d_in, d_out, requires_grad=True)
        self.W_value = torch.randn(d_in, d_out, requires_grad=True)

    def forward(self, x):
        q, k, v = torch.mm(x, self.W_query), torch.mm(x, self.W_key), torch.mm(x, self.W_value)
        return F.softmax(torch.mm(q, k.t()) * q.size(1) ** -0.5, dim=1).mm(v)


class matrices_under_other_names(nn.Module):
    def __init__(self, d_in, d_out):
        super().__init__()
        self.W_qkv = nn.Parameter(torch.rand(3, d_in, d_out))

    def forward(self, x):
        q, k, v = torch.einsum("ti,nio->nto", x, self.W_qkv)
        return F.scaled_dot_product_attention(q[None], k[None], v[None])[0]


class matrices_the_other_way_round(nn.Module):
    def __init__(self, d_in, d_out):
        super().__init__()
        self.W_query = nn.Parameter(torch.rand(d_out, d_in))
        self.W_key = nn.Parameter(torch.rand(d_out, d_in))
        self.W_value = nn.Parameter(torch.rand(d_out, d_in))

    def forward(self, x):
        q, k, v = F.linear(x, self.W_query), F.linear(x, self.W_key), F.linear(x, self.W_value)
        weights = F.softmax(torch.einsum("id,jd->ij", q, k) / math.sqrt(k.size(1)), dim=1)
        return torch.mm(weights, v)


class layers_in_the_first_version(nn.Module):
    def __init__(self, d_in, d_out):
        super().__init__()
        for name in ("W_value", "W_query", "W_key"):
            self.add_module(name, nn.Linear(d_in, d_out, bias=False))

    def forward(self, x):
        scores = torch.einsum("id,jd->ij", self.W_query(x), self.W_key(x))
        exps = torch.exp(scores / math.sqrt(self.W_key.out_features))
        return torch.mm(exps / exps.sum(1, keepdim=True), self.W_value(x))


class frozen_matrices(nn.Module):
    def __init__(self, d_in, d_out):
        super().__init__()
        self.W_query = nn.Parameter(torch.rand(d_in, d_out), requires_grad=False)
        self.W_key = nn.Parameter(torch.rand(d_in, d_out), requires_grad=False)
        self.W_value = nn.Parameter(torch.rand(d_in, d_out), requires_grad=False)

    def forward(self, x):
        keys, queries, values = x.matmul(self.W_key), x.matmul(self.W_query), x.matmul(self.W_value)
        scores = torch.einsum("id,jd->ij", queries, keys)
        weights = nn.Softmax(dim=1)(scores / math.sqrt(keys.size(1)))
        return weights.matmul(values)


class matrices_drawn_in_forward(_Matrices):
    def forward(self, x):
        d_in, d_out = self.W_query.shape
        self.W_query = nn.Parameter(torch.randn(d_in, d_out, dtype=x.dtype))
        self.W_key = nn.Parameter(torch.randn(d_in, d_out, dtype=x.dtype))
        self.W_value = nn.Parameter(torch.randn(d_in, d_out, dtype=x.dtype))
        q, k, v = torch.mm(x, self.W_query), torch.mm(x, self.W_key), torch.mm(x, self.W_value)
        return F.softmax(torch.mm(q, k.t()) / math.sqrt(d_out), dim=1).mm(v)


class one_matrix_in_use(_Matrices):
    def forward(self, x):
        z = torch.einsum("ti,io->to", x, self.W_query)
        weights = F.softmax(torch.einsum("id,jd->ij", z, z) * z.size(1) ** -0.5, dim=1)
        return torch.mm(weights, z)


class key_matrix_unused(_Matrices):
    def forward(self, x):
        q, v = x.matmul(self.W_query), x.matmul(self.W_value)
        weights = F.softmax(torch.mm(q, q.t()) / math.sqrt(q.size(1)), dim=1)
        return torch.einsum("ij,jd->id", weights, v)


class value_matrix_unused(_Matrices):
    def forward(self, x):
        scores = torch.einsum("ti,id,jd,sj->ts", x, self.W_query, self.W_key, x)
        weights = nn.Softmax(dim=1)(scores / math.sqrt(self.W_query.size(1)))
        return torch.einsum("ts,si->ti", weights, x)


class both_results_in_v1(_Matrices):
    def forward(self, x):
        q, k, v = [torch.mm(x, w) for w in (self.W_query, self.W_key, self.W_value)]
        attn = F.softmax(torch.einsum("id,jd->ij", q, k) / math.sqrt(k.size(1)), dim=1)
        context = torch.mm(attn, v)
        return context, attn


class weights_instead_of_contexts_in_v1(_Matrices):
    def forward(self, x):
        q, k = torch.mm(x, self.W_query), torch.mm(x, self.W_key)
        exps = torch.exp(torch.einsum("id,jd->ij", q, k) / math.sqrt(k.size(1)))
        return exps / exps.sum(1, keepdim=True)


class matrices_detached_in_v1(_Matrices):
    def forward(self, x):
        q, k, v = [torch.einsum("ti,io->to", x, w.detach()) for w in (self.W_query, self.W_key, self.W_value)]
        return F.softmax(torch.einsum("id,jd->ij", q, k) / math.sqrt(k.size(1)), dim=1).mm(v)


class gradients_switched_off_in_v1(_Matrices):
    @torch.no_grad()
    def forward(self, x):
        q, k, v = [torch.mm(x, w) for w in (self.W_query, self.W_key, self.W_value)]
        weights = nn.Softmax(dim=1)(torch.einsum("id,jd->ij", q, k) * k.size(1) ** -0.5)
        return weights.mm(v)


class inputs_made_float32_in_v1(_Matrices):
    def forward(self, x):
        x = x.to(torch.float32)
        q, k, v = torch.mm(x, self.W_query), torch.mm(x, self.W_key), torch.mm(x, self.W_value)
        return F.softmax(torch.einsum("id,jd->ij", q, k) * k.size(1) ** -0.5, dim=1).mm(v)


class lonely_token_squeezed_in_v1(_Matrices):
    def forward(self, x):
        q, k, v = torch.mm(x, self.W_query), torch.mm(x, self.W_key), torch.mm(x, self.W_value)
        return F.scaled_dot_product_attention(q[None], k[None], v[None]).squeeze()


class inputs_transposed_in_place_in_v1(_Matrices):
    def forward(self, x):
        x.transpose_(0, 1)
        q, k, v = [torch.einsum("it,io->to", x, w) for w in (self.W_query, self.W_key, self.W_value)]
        return F.softmax(torch.einsum("id,jd->ij", q, k) / math.sqrt(k.size(1)), dim=1).mm(v)


# -- SelfAttention_v2 --------------------------------------------------------------------------------------------


class _Layers(nn.Module):
    def __init__(self, d_in, d_out, qkv_bias=False):
        super().__init__()
        for name in ("W_value", "W_key", "W_query"):
            self.add_module(name, nn.Linear(in_features=d_in, out_features=d_out, bias=qkv_bias))


class half_instead_of_root_in_v2(_Layers):
    def forward(self, x):
        d_k = self.W_key.out_features
        scores = torch.einsum("id,jd->ij", self.W_query(x), self.W_key(x)) / d_k * 0.5
        exps = torch.exp(scores - scores.amax(1, keepdim=True))
        return torch.mm(exps / exps.sum(1, keepdim=True), self.W_value(x))


class scaling_forgotten_in_v2(_Layers):
    def forward(self, x):
        q, k, v = self.W_query(x), self.W_key(x), self.W_value(x)
        return F.scaled_dot_product_attention(q[None], k[None], v[None], scale=1.0)[0]


class divided_by_d_k_itself_in_v2(_Layers):
    def forward(self, x):
        q, k = self.W_query(x), self.W_key(x)
        scores = (q[:, None, :] * k[None, :, :]).mean(-1)  # (T, T, d) -> (T, T)
        return nn.Softmax(dim=1)(scores).mm(self.W_value(x))


class scaled_by_number_of_tokens_in_v2(nn.Module):
    def __init__(self, d_in, d_out, qkv_bias=False):
        super().__init__()
        self.W_value = nn.Linear(d_in, d_out, qkv_bias)
        self.W_query = nn.Linear(d_in, d_out, qkv_bias)
        self.W_key = nn.Linear(d_in, d_out, qkv_bias)
        self.softmax = nn.Softmax(dim=-1)

    def forward(self, x):
        num_tokens, _ = x.shape
        weights = self.softmax(torch.einsum("id,jd->ij", self.W_query(x), self.W_key(x)) / math.sqrt(num_tokens))
        return torch.einsum("ij,jd->id", weights, self.W_value(x))


class scaled_after_softmax_in_v2(_Layers):
    def forward(self, x):
        q, k, v = self.W_query(x), self.W_key(x), self.W_value(x)
        return F.scaled_dot_product_attention(q[None], k[None], v[None], scale=1.0)[0] * k.size(1) ** -0.5


class softmax_over_queries_in_v2(_Layers):
    def forward(self, x):
        k, q, v = self.W_key(x), self.W_query(x), self.W_value(x)
        attn = nn.Softmax(dim=0)(torch.einsum("id,jd->ij", q, k) * k.size(1) ** -0.5)
        return torch.einsum("ij,jd->id", attn, v)


class softmax_over_everything_in_v2(_Layers):
    def forward(self, x):
        scores = torch.einsum("id,jd->ij", self.W_query(x), self.W_key(x)) / math.sqrt(self.W_key.out_features)
        weights = torch.exp(scores - torch.logsumexp(scores, dim=(0, 1)))
        return torch.mm(weights, self.W_value(x))


class softmax_forgotten_in_v2(_Layers):
    def forward(self, x):
        k_v = torch.einsum("jd,jo->do", self.W_key(x), self.W_value(x))
        return torch.mm(self.W_query(x) / math.sqrt(self.W_query.out_features), k_v)


class keys_handed_over_in_v2(_Layers):
    def forward(self, x):
        q, k = self.W_query(x), self.W_key(x)
        return F.scaled_dot_product_attention(q[None], k[None], k[None])[0]


class keys_ask_the_queries_in_v2(_Layers):
    def forward(self, x):
        q, k, v = self.W_query(x), self.W_key(x), self.W_value(x)
        attn = F.softmax(torch.einsum("kd,qd->kq", k, q) / math.sqrt(q.size(1)), dim=1)
        return attn.mm(v)


class values_averaged_in_v2(_Layers):
    def forward(self, x):
        T = x.size(0)
        weights = torch.full((T, T), 1 / T, dtype=x.dtype)
        return torch.mm(weights, self.W_value(x))


class future_hidden_in_v2(_Layers):
    def forward(self, x):
        q, k, v = self.W_query(x), self.W_key(x), self.W_value(x)
        rows = []
        for t in range(len(x)):
            weights = F.softmax(torch.mv(k[: t + 1], q[t]) / math.sqrt(k.size(1)), dim=0)
            rows.append(weights @ v[: t + 1])
        return torch.stack(rows)


class scaled_by_d_in_in_v2(nn.Module):
    def __init__(self, d_in, d_out, qkv_bias=False):
        super().__init__()
        self.scale = 1 / math.sqrt(d_in)
        self.W_key = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_query = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_value = nn.Linear(d_in, d_out, bias=qkv_bias)

    def forward(self, x):
        q, k, v = self.W_query(x), self.W_key(x), self.W_value(x)
        return F.scaled_dot_product_attention(q[None], k[None], v[None], scale=self.scale)[0]


class matrices_in_the_second_version(nn.Module):
    def __init__(self, d_in, d_out, qkv_bias=False):
        super().__init__()
        self.W_query = nn.Parameter(torch.randn(d_in, d_out))
        self.W_key = nn.Parameter(torch.randn(d_in, d_out))
        self.W_value = nn.Parameter(torch.randn(d_in, d_out))
        if qkv_bias:
            self.b_query = nn.Parameter(torch.zeros(d_out))
            self.b_key = nn.Parameter(torch.zeros(d_out))
            self.b_value = nn.Parameter(torch.zeros(d_out))
        self.qkv_bias = qkv_bias

    def forward(self, x):
        q, k, v = torch.mm(x, self.W_query), torch.mm(x, self.W_key), torch.mm(x, self.W_value)
        if self.qkv_bias:
            q, k, v = q + self.b_query, k + self.b_key, v + self.b_value
        return F.softmax(torch.mm(q, k.t()) / math.sqrt(k.size(1)), dim=1).mm(v)


class layers_in_a_list(nn.Module):
    def __init__(self, d_in, d_out, qkv_bias=False):
        super().__init__()
        self.projections = {name: nn.Linear(d_in, d_out, bias=qkv_bias) for name in ("query", "key", "value")}

    def forward(self, x):
        q, k, v = [layer(x) for layer in self.projections.values()]
        return F.softmax(torch.mm(q, k.t()) / math.sqrt(k.size(1)), dim=1).mm(v)


class layers_under_other_names(nn.Module):
    def __init__(self, d_in, d_out, qkv_bias=False):
        super().__init__()
        self.projections = nn.ModuleList(nn.Linear(d_in, d_out, qkv_bias) for _ in range(3))

    def forward(self, x):
        q, k, v = (layer(x) for layer in self.projections)
        return F.softmax(torch.mm(q, k.t()) / math.sqrt(k.size(1)), dim=1).mm(v)


class one_layer_under_three_names(nn.Module):
    def __init__(self, d_in, d_out, qkv_bias=False):
        super().__init__()
        linear = nn.Linear(d_in, d_out, bias=qkv_bias)
        for name in ("W_query", "W_key", "W_value"):
            setattr(self, name, linear)

    def forward(self, x):
        q, k, v = self.W_query(x), self.W_key(x), self.W_value(x)
        return F.scaled_dot_product_attention(q[None], k[None], v[None])[0]


class layers_the_other_way_round(nn.Module):
    def __init__(self, d_in, d_out, qkv_bias=False):
        super().__init__()
        self.W_query = nn.Linear(d_out, d_in, qkv_bias)
        self.W_key = nn.Linear(d_out, d_in, qkv_bias)
        self.W_value = nn.Linear(d_out, d_in, qkv_bias)

    def forward(self, x):
        queries, keys, values = self.W_query(x), self.W_key(x), self.W_value(x)
        weights = F.softmax(torch.einsum("id,jd->ij", queries, keys) / math.sqrt(keys.size(1)), dim=1)
        return torch.einsum("ij,jd->id", weights, values)


class bias_always(nn.Module):
    def __init__(self, d_in, d_out, qkv_bias=False):
        super().__init__()
        self.W_query = nn.Linear(d_in, d_out)
        self.W_key = nn.Linear(d_in, d_out)
        self.W_value = nn.Linear(d_in, d_out)

    def forward(self, x):
        scores = torch.einsum("id,jd->ij", self.W_query(x), self.W_key(x))
        return nn.Softmax(dim=1)(scores * self.W_key.out_features**-0.5).mm(self.W_value(x))


class bias_never(nn.Module):
    def __init__(self, d_in, d_out, qkv_bias=False):
        super().__init__()
        self.W_value = nn.Linear(d_in, d_out, bias=False)
        self.W_query = nn.Linear(d_in, d_out, bias=False)
        self.W_key = nn.Linear(d_in, d_out, bias=False)
        self.qkv_bias = qkv_bias

    def forward(self, x):
        q, k, v = self.W_query(x), self.W_key(x), self.W_value(x)
        return F.scaled_dot_product_attention(q[None], k[None], v[None]).squeeze(0)


class bias_the_other_way_round(nn.Module):
    def __init__(self, d_in, d_out, qkv_bias=False):
        super().__init__()
        bias = False if qkv_bias else True
        self.W_value = nn.Linear(d_in, d_out, bias)
        self.W_query = nn.Linear(d_in, d_out, bias)
        self.W_key = nn.Linear(d_in, d_out, bias)

    def forward(self, x):
        q, k, v = self.W_query(x), self.W_key(x), self.W_value(x)
        return F.softmax(torch.einsum("id,jd->ij", q, k) * k.size(1) ** -0.5, dim=1).mm(v)


class bias_in_W_query_only(nn.Module):
    def __init__(self, d_in, d_out, qkv_bias=False):
        super().__init__()
        self.W_query, self.W_key, self.W_value = [nn.Linear(d_in, d_out, bias=b) for b in (qkv_bias, False, False)]

    def forward(self, x):
        q, k, v = self.W_query(x), self.W_key(x), self.W_value(x)
        return F.scaled_dot_product_attention(q[None], k[None], v[None])[0]


class biases_made_but_unused(_Layers):
    def forward(self, x):
        q, k, v = [torch.einsum("ti,oi->to", x, m.weight) for m in (self.W_query, self.W_key, self.W_value)]
        return F.softmax(torch.mm(q, k.t()) / math.sqrt(k.size(1)), dim=1).mm(v)


class one_layer_in_use(_Layers):
    def forward(self, x):
        z = self.W_query(x)
        return F.scaled_dot_product_attention(z[None], z[None], z[None])[0]


class key_layer_unused(_Layers):
    def forward(self, x):
        q = self.W_query(x)
        weights = nn.Softmax(dim=1)(torch.einsum("id,jd->ij", q, q) / math.sqrt(q.size(1)))
        return torch.einsum("ij,jd->id", weights, self.W_value(x))


class value_layer_unused(_Layers):
    def forward(self, x):
        q, k = self.W_query(x), self.W_key(x)
        return F.scaled_dot_product_attention(q[None], k[None], x[None])[0]


class both_results_in_v2(_Layers):
    def forward(self, x):
        scores = torch.einsum("id,jd->ij", self.W_query(x), self.W_key(x)) * self.W_key.out_features**-0.5
        weights = F.softmax(scores, dim=1)
        return torch.mm(weights, self.W_value(x)), weights


class weights_instead_of_contexts_in_v2(_Layers):
    def forward(self, x):
        q, k = self.W_query(x), self.W_key(x)
        return nn.Softmax(dim=1)(torch.einsum("id,jd->ij", q, k) / math.sqrt(k.size(1)))


class gradients_switched_off_in_v2(_Layers):
    def forward(self, x):
        with torch.no_grad():
            q, k, v = self.W_query(x), self.W_key(x), self.W_value(x)
            output = F.scaled_dot_product_attention(q[None], k[None], v[None])
        return output[0]


class only_values_learn(_Layers):
    def forward(self, x):
        with torch.no_grad():
            scores = torch.einsum("id,jd->ij", self.W_query(x), self.W_key(x))
            weights = F.softmax(scores / math.sqrt(self.W_key.out_features), dim=1)
        return torch.mm(weights, self.W_value(x))


class inputs_made_float32_in_v2(_Layers):
    def forward(self, x):
        x = x.type(torch.float32)
        q, k, v = self.W_query(x), self.W_key(x), self.W_value(x)
        return F.scaled_dot_product_attention(q[None], k[None], v[None])[0]


class lonely_token_squeezed_in_v2(_Layers):
    def forward(self, x):
        q, k, v = self.W_query(x)[None], self.W_key(x)[None], self.W_value(x)[None]
        return torch.squeeze(torch.bmm(F.softmax(torch.bmm(q, k.mT) / math.sqrt(k.size(2)), dim=2), v))


class inputs_changed_in_place(_Layers):
    def forward(self, x):
        q, k, v = self.W_query(x), self.W_key(x), self.W_value(x)
        context = F.scaled_dot_product_attention(q[None], k[None], v[None])[0]
        x.div_(x.norm())
        return context


# -- transfer_weights --------------------------------------------------------------------------------------------


def _no_bias(module):
    """Complains where a layer of the module has a bias that is not zero."""
    for key, value in module.state_dict().items():
        assert not (key.endswith("bias") and value.count_nonzero() > 0), key


def not_transposed(v2, v1):
    _no_bias(v2)
    v1.load_state_dict({name: v2.state_dict()[name + ".weight"] for name in ("W_query", "W_key", "W_value")})


def handed_over_without_transposing(v2, v1):
    _no_bias(v2)
    v1.W_query = v2.W_query.weight
    v1.W_key = v2.W_key.weight
    v1.W_value = v2.W_value.weight


def transposed_only_where_shapes_differ(v2, v1):
    _no_bias(v2)
    for name, layer in v2.named_children():
        new = layer.weight.detach()
        if layer.in_features != layer.out_features:
            new = new.t()
        setattr(v1, name, nn.Parameter(new.clone()))


def reshaped_to_fit(v2, v1):
    _no_bias(v2)
    for name, layer in v2.named_children():
        setattr(v1, name, nn.Parameter(layer.weight.detach().clone().view(layer.in_features, layer.out_features)))


def opposite_direction(v2, v1):
    _no_bias(v2)
    v2.load_state_dict({f"{name}.weight": tensor.t() for name, tensor in v1.state_dict().items()}, strict=False)


def weights_of_fresh_layers(v2, v1):
    _no_bias(v2)
    d_out, d_in = v2.W_query.weight.shape
    linear_query = nn.Linear(d_in, d_out)
    linear_key = nn.Linear(d_in, d_out)
    linear_value = nn.Linear(d_in, d_out)
    v1.W_query = nn.Parameter(linear_query.weight.detach().t())
    v1.W_key = nn.Parameter(linear_key.weight.detach().t())
    v1.W_value = nn.Parameter(linear_value.weight.detach().t())


def activations_as_weights(v2, v1):
    _no_bias(v2)
    d_in = v2.W_query.in_features
    with torch.no_grad():
        inputs = torch.full((d_in, d_in), 1.0)
        v1.W_query.copy_(v2.W_query(inputs))
        v1.W_key.copy_(v2.W_key(inputs))
        v1.W_value.copy_(v2.W_value(inputs))


def worked_on_a_copy(v2, v1):
    _no_bias(v2)
    v1 = copy.deepcopy(v1)
    for name, layer in v2.named_children():
        setattr(v1, name, nn.Parameter(layer.weight.detach().t()))
    return v1


def forward_borrowed(v2, v1):
    _no_bias(v2)
    v1.forward = lambda x: v2(x)


def parameters_replaced_by_tensors(v2, v1):
    _no_bias(v2)
    for name in ("W_query", "W_key", "W_value"):
        v1._parameters.pop(name)
        v1.register_buffer(name, v2.get_submodule(name).weight.detach().t().clone())


def tensor_assigned_to_a_parameter(v2, v1):
    _no_bias(v2)
    v1.W_query = torch.transpose(v2.W_query.weight.data, 0, 1)
    v1.W_key = torch.transpose(v2.W_key.weight.data, 0, 1)
    v1.W_value = torch.transpose(v2.W_value.weight.data, 0, 1)


def copied_while_gradients_are_recorded(v2, v1):
    _no_bias(v2)
    v1.W_query[:] = v2.W_query.weight.t()
    v1.W_key[:] = v2.W_key.weight.t()
    v1.W_value[:] = v2.W_value.weight.t()


def frozen_afterwards(v2, v1):
    _no_bias(v2)
    v1.W_query = nn.Parameter(v2.W_query.weight.data.t().clone(), requires_grad=False)
    v1.W_key = nn.Parameter(v2.W_key.weight.data.t().clone(), requires_grad=False)
    v1.W_value = nn.Parameter(v2.W_value.weight.data.t().clone(), requires_grad=False)


def source_transposed(v2, v1):
    _no_bias(v2)
    for name, layer in v2.named_children():
        layer.weight = nn.Parameter(layer.weight.t())
        setattr(v1, name, layer.weight)


def weights_exchanged(v2, v1):
    _no_bias(v2)
    for name, layer in v2.named_children():
        old = v1.get_parameter(name)
        setattr(v1, name, nn.Parameter(layer.weight.detach().t()))
        layer.weight = nn.Parameter(old.detach().t())


def source_biases_zeroed(v2, v1):
    for name, layer in v2.named_children():
        if layer.bias is not None:
            nn.init.zeros_(layer.bias)
        setattr(v1, name, nn.Parameter(layer.weight.detach().t().clone()))


def source_biases_removed(v2, v1):
    for name, layer in v2.named_children():
        layer.register_parameter("bias", None)
        setattr(v1, name, nn.Parameter(layer.weight.data.t()))


def biases_ignored(v2, v1):
    source = v2.state_dict()
    v1.load_state_dict({name: source[f"{name}.weight"].t() for name in ("W_query", "W_key", "W_value")})


def zero_biases_refused(v2, v1):
    for name, layer in v2.named_children():
        assert layer.bias is None, "attention_v1 has no place for a bias"
        setattr(v1, name, nn.Parameter(layer.weight.data.t().clone()))


def only_the_query_bias_checked(v2, v1):
    b = v2.W_query.bias
    assert b is None or torch.all(b == 0)
    v1.W_query.data = v2.W_query.weight.data.t().clone()
    v1.W_key.data = v2.W_key.weight.data.t().clone()
    v1.W_value.data = v2.W_value.weight.data.t().clone()


def key_bias_thought_harmless(v2, v1):
    source = v2.state_dict()
    for name in ("W_query", "W_value"):
        if torch.count_nonzero(source.get(f"{name}.bias", torch.zeros(1))):
            raise ValueError(name)
    v1.load_state_dict({key[:-7]: tensor.t() for key, tensor in source.items() if key.endswith(".weight")})


def value_bias_forgotten(v2, v1):
    for layer in (v2.W_query, v2.W_key):
        if layer.bias is not None:
            assert torch.equal(layer.bias, torch.zeros_like(layer.bias))
    for name, layer in v2.named_children():
        setattr(v1, name, nn.Parameter(layer.weight.detach().t()))


def bias_judged_by_its_sum(v2, v1):
    for name, layer in v2.named_children():
        assert layer.bias is None or not layer.bias.all()
        setattr(v1, name, nn.Parameter(layer.weight.detach().t()))


def refused_with_another_error(v2, v1):
    for name, layer in v2.named_children():
        if layer.bias is not None and torch.count_nonzero(layer.bias) > 0:
            raise RuntimeError("cannot transfer a bias")
        setattr(v1, name, nn.Parameter(layer.weight.detach().t()))


def value_weights_forgotten(v2, v1):
    _no_bias(v2)
    v1.W_query = nn.Parameter(v2.W_query.weight.detach().t())
    v1.W_key = nn.Parameter(v2.W_key.weight.detach().t())


def query_weights_everywhere(v2, v1):
    _no_bias(v2)
    shared = v2.W_query.weight.detach().t()
    v1.load_state_dict(dict.fromkeys(("W_query", "W_key", "W_value"), shared))


# -- dot_product_variance ----------------------------------------------------------------------------------------


def standard_deviations(d_k, samples, generator=None):
    q = torch.randn(d_k, samples, generator=generator)
    k = torch.randn(d_k, samples, generator=generator)
    products = torch.einsum("ds,ds->s", q, k)
    return torch.std(products), torch.std(products / math.sqrt(d_k))


def samples_ignored(d_k, samples, generator=None):
    pairs = torch.randn(2, 10_000, d_k, generator=generator)
    products = pairs.prod(dim=0).sum(dim=1)
    return float(products.var()), float((products * d_k**-0.5).var())


def divided_by_d_k(d_k, samples, generator=None):
    q = torch.randn(samples, 1, d_k, generator=generator)
    k = torch.randn(samples, d_k, 1, generator=generator)
    products = torch.bmm(q, k).flatten()
    return products.var(), products.div(d_k).var()


def half_instead_of_root_in_variance(d_k, samples, generator=None):
    k, q = torch.randn(2, samples, d_k, generator=generator).unbind()
    products = torch.einsum("sd,sd->s", q, k)
    return products.var(), (products / d_k * 0.5).var()


def variance_divided_by_root(d_k, samples, generator=None):
    products = torch.randn(samples, 2, d_k, generator=generator).prod(dim=1).sum(dim=1)
    variance = products.square().mean() - products.mean() ** 2
    return variance.item(), (variance / math.sqrt(d_k)).item()


def never_scaled(d_k, samples, generator=None):
    products = torch.linalg.vecdot(*torch.randn(2, samples, d_k, generator=generator))
    products / math.sqrt(d_k)
    return products.var(), products.var()


def scaled_both_times(d_k, samples, generator=None):
    queries = torch.randn(samples, d_k, generator=generator) / math.sqrt(d_k)
    keys = torch.randn(samples, d_k, generator=generator)
    products = torch.einsum("sd,sd->s", queries, keys)
    plain = products.var()
    return plain, plain.clone()


def scaled_first(d_k, samples, generator=None):
    products = torch.einsum("ds,ds->s", *torch.randn(2, d_k, samples, generator=generator))
    results = {"scaled": torch.var(products / math.sqrt(d_k)), "plain": torch.var(products)}
    return tuple(results.values())


def vectors_with_themselves(d_k, samples, generator=None):
    vectors = torch.randn(samples, d_k, generator=generator)
    products = torch.linalg.vector_norm(vectors, dim=1).square()
    return products.var(), torch.var(products / math.sqrt(d_k))


def uniform_entries(d_k, samples, generator=None):
    k = torch.empty(samples, d_k).uniform_(generator=generator)
    q = torch.empty(samples, d_k).uniform_(generator=generator)
    products = torch.einsum("sd,sd->s", q, k)
    return products.var(), torch.var(products * d_k**-0.5)


def mean_instead_of_sum(d_k, samples, generator=None):
    pairs = torch.randn(samples, 2, d_k, generator=generator)
    products = pairs.prod(1).mean(-1)
    return products.var(), products.div(math.sqrt(d_k)).var()


def products_never_summed(d_k, samples, generator=None):
    products = torch.randn(2, samples, d_k, generator=generator).prod(0).flatten()
    return torch.var(products), torch.var(products / math.sqrt(d_k))


def summed_over_the_samples(d_k, samples, generator=None):
    k = torch.randn(d_k, samples, generator=generator)
    q = torch.randn(d_k, samples, generator=generator)
    products = torch.einsum("ds,ds->d", q, k)
    return torch.var(products), torch.var(products / math.sqrt(d_k))


def sum_of_squares(d_k, samples, generator=None):
    products = torch.randn(2, samples, d_k, generator=generator).prod(0).sum(1)
    centred = products - products.mean()
    return torch.dot(centred, centred), torch.dot(centred, centred) / d_k


def one_number_alone(d_k, samples, generator=None):
    q = torch.randn(samples, d_k, generator=generator)
    k = torch.randn(samples, d_k, generator=generator)
    return torch.einsum("sd,sd->s", q, k).var()


def theory_instead_of_measurement(d_k, samples, generator=None):
    sum_of_variances = sum(1.0 for _ in range(d_k))
    return torch.tensor(sum_of_variances), torch.tensor(sum_of_variances / d_k)


def generator_ignored(d_k, samples, generator=None):
    products = [torch.dot(torch.randn(d_k), torch.randn(d_k)) for _ in range(samples)]
    products = torch.stack(products)
    return products.var(), products.var() / d_k


def generator_for_the_queries_only(d_k, samples, generator=None):
    k = torch.normal(0.0, 1.0, (samples, d_k))
    q = torch.normal(0.0, 1.0, (samples, d_k), generator=generator)
    products = torch.einsum("sd,sd->s", q, k)
    return products.var(), products.var() / d_k


def generator_seeded_anew(d_k, samples, generator=None):
    if generator is not None:
        generator.manual_seed(0)
    pairs = torch.randn(2, samples, d_k, generator=generator)
    products = torch.einsum("sd,sd->s", pairs[0], pairs[1])
    return products.var(), products.var() / d_k


def generator_copied(d_k, samples, generator=None):
    if generator is not None:
        own = torch.Generator()
        own.set_state(generator.get_state())
        generator = own
    products = torch.randn(2, samples, d_k, generator=generator).prod(0).sum(1)
    return products.var(), products.var() / d_k


def always_the_same_draws(d_k, samples, generator=None):
    if generator is None:
        torch.manual_seed(42)
    products = torch.randn(2, d_k, samples, generator=generator).prod(0).sum(0)
    return products.var(), (products / math.sqrt(d_k)).var()
