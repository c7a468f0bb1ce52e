"""Paraphrases of unit 2: the same wrong ideas as the misconceptions, in other code and under the same names."""

import copy
import math

import torch
import torch.nn as nn
import torch.nn.functional as F

# -- project_qkv -------------------------------------------------------------------------------------------------


def keys_made_with_W_query(x, w_q, w_k, w_v):
    stacked = torch.stack([w_q, w_q, w_v])
    return tuple(torch.einsum("ti,nio->nto", x, stacked).unbind(0))


def inputs_given_as_values(x, w_q, w_k, w_v):
    values = x.clone()
    queries = torch.mm(x, w_q)
    keys = torch.mm(x, w_k)
    return [queries, keys, values]


def multiplied_entry_by_entry(inputs, W_query, W_key, W_value):
    results = []
    for weights in [W_query, W_key, W_value]:
        results.append(torch.mul(weights, inputs))
    return tuple(results)


def queries_made_with_W_key(x, w_q, w_k, w_v):
    return torch.mm(x, w_k), torch.mm(x, w_k), torch.mm(x, w_v)


def queries_made_with_W_key__one_product(inputs, W_query, W_key, W_value):
    return tuple((inputs @ torch.cat([W_key, W_key, W_value], dim=1)).chunk(3, dim=1))


def keys_made_with_W_value(x, w_q, w_k, w_v):
    return torch.mm(x, w_q), torch.mm(x, w_v), torch.mm(x, w_v)


def keys_made_with_W_value__one_product(inputs, W_query, W_key, W_value):
    return tuple((inputs @ torch.cat([W_query, W_value, W_value], dim=1)).chunk(3, dim=1))


def values_made_with_W_query(x, w_q, w_k, w_v):
    return torch.mm(x, w_q), torch.mm(x, w_k), torch.mm(x, w_q)


def values_made_with_W_query__one_product(inputs, W_query, W_key, W_value):
    return tuple((inputs @ torch.cat([W_query, W_key, W_query], dim=1)).chunk(3, dim=1))


def inputs_given_as_queries(x, w_q, w_k, w_v):
    queries = x
    return queries, torch.mm(x, w_k), torch.mm(x, w_v)


def inputs_given_as_queries__cloned(inputs, W_query, W_key, W_value):
    keys, values = [torch.einsum("ti,io->to", inputs, matrix) for matrix in (W_key, W_value)]
    return [inputs.clone(), keys, values]


def inputs_given_as_keys(x, w_q, w_k, w_v):
    keys = x
    return torch.mm(x, w_q), keys, torch.mm(x, w_v)


def inputs_given_as_keys__cloned(inputs, W_query, W_key, W_value):
    queries, values = [torch.einsum("ti,io->to", inputs, matrix) for matrix in (W_query, W_value)]
    return [queries, inputs.clone(), values]


def matrices_on_the_left(x, w_q, w_k, w_v):
    return torch.mm(w_q, x), torch.mm(w_k, x), torch.mm(w_v, x)


def matrices_on_the_left__matmul(inputs, W_query, W_key, W_value):
    return tuple(torch.matmul(matrix, inputs) for matrix in [W_query, W_key, W_value])


def queries_alone(x, w_q, w_k, w_v):
    queries, _, _ = torch.mm(x, w_q), torch.mm(x, w_k), torch.mm(x, w_v)
    return queries


def queries_alone__returned_at_once(inputs, W_query, W_key, W_value):
    return torch.einsum("ti,io->to", inputs, W_query)
    return inputs @ W_key
    return inputs @ W_value


def numpy_in_the_projections(x, w_q, w_k, w_v):
    return tuple(torch.from_numpy(x.numpy() @ matrix.numpy()) for matrix in (w_q, w_k, w_v))


def numpy_in_the_projections__out(inputs, W_query, W_key, W_value):
    results = [inputs.new_empty(inputs.shape[0], matrix.shape[1]) for matrix in (W_query, W_key, W_value)]
    for result, matrix in zip(results, (W_query, W_key, W_value)):
        torch.matmul(inputs, matrix, out=result)
    return tuple(results)


# -- scaled_dot_product_attention --------------------------------------------------------------------------------


def scaling_forgotten(queries, keys, values):
    scores = torch.einsum("...qd,...kd->...qk", queries, keys)
    weights = F.log_softmax(scores, dim=-1).exp()
    return torch.einsum("...qk,...kv->...qv", weights, values), weights


def softmax_forgotten(q, k, v):
    weights = torch.einsum("...qd,...kd->...qk", q * q.size(-1) ** -0.5, k)
    return torch.einsum("...qk,...kv->...qv", weights, v), weights


def exactly_one_leading_dimension(q, k, v):
    scores = torch.bmm(q, torch.swapaxes(k, 1, 2)) / math.sqrt(k.size(-1))
    w = F.softmax(scores, dim=-1)
    return torch.bmm(w, v), w


def at_most_one_leading_dimension(q, k, v):
    scale = math.sqrt(q.size(-1))
    if q.ndim == 2:
        w = F.softmax(torch.mm(q, k.t()) / scale, dim=1)
        return torch.mm(w, v), w
    w = F.softmax(torch.bmm(q, k.permute(0, 2, 1)) / scale, dim=2)
    return torch.bmm(w, v), w


def viewed_instead_of_transposed(q, k, v):
    d_k = k.size(-1)
    turned = k.view(k.shape[:-2] + (d_k, -1))
    attn = F.softmax(torch.matmul(q, turned) * d_k**-0.5, dim=-1)
    return torch.einsum("...qk,...kv->...qv", attn, v), attn


def keys_handed_over(q, k, v):
    attn = F.softmax(torch.einsum("...qd,...kd->...qk", q, k) * q.size(-1) ** -0.5, dim=-1)
    context = torch.einsum("...qk,...kd->...qd", attn, k)
    return context, attn


def values_averaged(q, k, v):
    n_queries, n_keys = q.size(-2), k.size(-2)
    weights = torch.full((*q.shape[:-2], n_queries, n_keys), 1 / n_keys, dtype=v.dtype)
    context = v.mean(dim=-2, keepdim=True) + torch.zeros(n_queries, 1, dtype=v.dtype)
    return context, weights


def best_key_takes_all(q, k, v):
    scores = torch.einsum("...qd,...kd->...qk", q, k) / math.sqrt(q.size(-1))
    weights = (scores == scores.max(dim=-1, keepdim=True).values).type_as(v)
    return torch.matmul(weights, v), weights


def no_gradients(q, k, v):
    scores = torch.einsum("...qd,...kd->...qk", q.detach(), k.detach()) / math.sqrt(q.size(-1))
    exps = torch.exp(scores - scores.amax(-1, keepdim=True))
    attn = exps / exps.sum(-1, keepdim=True)
    return torch.matmul(attn, v.detach()), attn


def square_instead_of_root(q, k, v):
    w = F.softmax(q @ k.mT / q.size(-1) ** 2, dim=-1)
    return w @ v, w


def square_instead_of_root__in_other_code(queries, keys, values):
    scores = torch.einsum("...qd,...kd->...qk", queries, keys / keys.shape[-1] ** 2)
    weights = scores.softmax(-1)
    return weights.matmul(values), weights


def multiplied_by_half_of_d_k(q, k, v):
    w = F.softmax(q @ k.mT * q.size(-1) * 0.5, dim=-1)
    return w @ v, w


def multiplied_by_half_of_d_k__in_other_code(queries, keys, values):
    d_k = keys.shape[-1]
    weights = (torch.einsum("...qd,...kd->...qk", queries, keys) * d_k / 2).softmax(-1)
    return weights.matmul(values), weights


def multiplied_by_d_k_itself(q, k, v):
    w = F.softmax(q @ k.mT * q.size(-1), dim=-1)
    return w @ v, w


def multiplied_by_d_k_itself__in_other_code(queries, keys, values):
    scale = math.sqrt(keys.shape[-1])
    weights = (scale * queries @ (scale * keys).transpose(-1, -2)).softmax(-1)
    return weights.matmul(values), weights


def scaled_by_dimension_1(q, k, v):
    w = F.softmax(q @ k.mT / math.sqrt(k.size(1)), dim=-1)
    return w @ v, w


def scaled_by_dimension_1__in_other_code(queries, keys, values):
    d_k = list(keys.shape)[1]
    weights = (torch.einsum("...qd,...kd->...qk", queries, keys) * d_k**-0.5).softmax(-1)
    return weights.matmul(values), weights


def contexts_scaled(q, k, v):
    w = F.softmax(q @ k.mT, dim=-1)
    return w @ v / math.sqrt(q.size(-1)), w


def contexts_scaled__in_other_code(queries, keys, values):
    weights = torch.einsum("...qd,...kd->...qk", queries, keys).softmax(-1)
    contexts = weights.matmul(values)
    contexts = contexts * keys.shape[-1] ** -0.5
    return contexts, weights


def softmax_without_dim(q, k, v):
    w = F.softmax(q @ k.mT / math.sqrt(q.size(-1)))
    return w @ v, w


def softmax_without_dim__in_other_code(queries, keys, values):
    softmax = nn.Softmax()
    weights = softmax(torch.einsum("...qd,...kd->...qk", queries, keys) * keys.shape[-1] ** -0.5)
    return weights.matmul(values), weights


def sums_without_keepdim(q, k, v):
    e = torch.exp(q @ k.mT / math.sqrt(q.size(-1)))
    w = e / e.sum(-1)
    return w @ v, w


def sums_without_keepdim__in_other_code(queries, keys, values):
    scores = queries @ keys.transpose(-1, -2) * keys.shape[-1] ** -0.5
    powers = math.e**scores
    weights = powers / torch.einsum("...k->...", powers)
    return weights.matmul(values), weights


def exactly_two_leading_dimensions(q, k, v):
    w = F.softmax(q @ k.transpose(2, 3) / math.sqrt(q.size(-1)), dim=-1)
    return w @ v, w


def exactly_two_leading_dimensions__in_other_code(queries, keys, values):
    weights = (queries.matmul(torch.swapaxes(keys, 3, 2)) * keys.shape[-1] ** -0.5).softmax(-1)
    return weights.matmul(values), weights


def shape_of_a_matrix_unpacked(q, k, v):
    t, d_k = k.shape
    w = F.softmax(q @ k.T / math.sqrt(d_k), dim=-1)
    return w @ v, w


def shape_of_a_matrix_unpacked__in_other_code(queries, keys, values):
    num_queries, d_k = queries.size()
    weights = (torch.einsum("qd,kd->qk", queries, keys) * d_k**-0.5).softmax(-1)
    return weights.matmul(values), weights


def shape_of_a_batch_unpacked(q, k, v):
    b, t, d_k = k.shape
    w = F.softmax(q @ k.mT / math.sqrt(d_k), dim=-1)
    return w @ v, w


def shape_of_a_batch_unpacked__in_other_code(queries, keys, values):
    batch, num_queries, d_k = queries.size()
    weights = (torch.bmm(queries, keys.transpose(1, 2)) * d_k**-0.5).softmax(-1)
    return torch.bmm(weights, values), weights


def shapes_do_not_match(q, k, v):
    w = F.softmax(q @ k.mT / math.sqrt(q.size(-1)), dim=-1)
    return w * v, w


def shapes_do_not_match__in_other_code(queries, keys, values):
    weights = (queries.mT @ keys / keys.shape[-1] ** 0.5).softmax(-1)
    return weights.matmul(values), weights


def arguments_do_not_fit(q, k, v):
    w = F.softmax(q @ k.mT / torch.sqrt(q.size(-1)), dim=-1)
    return w @ v, w


def arguments_do_not_fit__in_other_code(queries, keys, values):
    scores = torch.einsum("...qd,...kd->...qk", queries, keys) * keys.shape[-1] ** -0.5
    weights = torch.softmax(scores)
    return weights.matmul(values), weights


def keys_ask_each_other(q, k, v):
    w = F.softmax(k @ k.mT / math.sqrt(q.size(-1)), dim=-1)
    return w @ v, w


def keys_ask_each_other__in_other_code(queries, keys, values):
    weights = (torch.einsum("...qd,...kd->...qk", keys, keys) * keys.shape[-1] ** -0.5).softmax(-1)
    return weights.matmul(values), weights


def mixed_by_the_scores(q, k, v):
    s = q @ k.mT / math.sqrt(q.size(-1))
    return s @ v, F.softmax(s, dim=-1)


def mixed_by_the_scores__in_other_code(queries, keys, values):
    scores = torch.einsum("...qd,...kd->...qk", queries, keys) * keys.shape[-1] ** -0.5
    weights = scores.softmax(-1)
    return torch.einsum("...qk,...kv->...qv", scores, values), weights


def mixed_by_the_columns(q, k, v):
    w = F.softmax(q @ k.mT / math.sqrt(q.size(-1)), dim=-1)
    return w.mT @ v, w


def mixed_by_the_columns__in_other_code(queries, keys, values):
    weights = (torch.einsum("...qd,...kd->...qk", queries, keys) * keys.shape[-1] ** -0.5).softmax(-1)
    contexts = weights.transpose(-1, -2).matmul(values)
    return contexts, weights


def contexts_transposed(q, k, v):
    w = F.softmax(q @ k.mT / math.sqrt(q.size(-1)), dim=-1)
    return (w @ v).mT, w


def contexts_transposed__in_other_code(queries, keys, values):
    weights = (torch.einsum("...qd,...kd->...qk", queries, keys) * keys.shape[-1] ** -0.5).softmax(-1)
    return torch.einsum("...qk,...kv->...vq", weights, values), weights


def weights_returned_transposed(q, k, v):
    w = F.softmax(q @ k.mT / math.sqrt(q.size(-1)), dim=-1)
    return w @ v, w.mT


def weights_returned_transposed__in_other_code(queries, keys, values):
    weights = (torch.einsum("...qd,...kd->...kq", queries, keys) * keys.shape[-1] ** -0.5).softmax(-2)
    return torch.einsum("...kq,...kv->...qv", weights, values), weights


def weights_alone(q, k, v):
    return F.softmax(q @ k.mT / math.sqrt(q.size(-1)), dim=-1)


def weights_alone__in_other_code(queries, keys, values):
    weights = (torch.einsum("...qd,...kd->...qk", queries, keys) * keys.shape[-1] ** -0.5).softmax(-1)
    weights.matmul(values)
    return weights


def numpy_on_the_way(q, k, v):
    w = torch.from_numpy(F.softmax(q @ k.mT / math.sqrt(q.size(-1)), dim=-1).numpy())
    return w @ v, w


def numpy_on_the_way__in_other_code(queries, keys, values):
    scores = torch.einsum("...qd,...kd->...qk", queries, keys) * keys.shape[-1] ** -0.5
    weights = torch.softmax(scores, -1)
    return torch.matmul(weights, values, out=torch.empty(0, dtype=values.dtype)), weights


def scaled_by_root_of_eight(queries, keys, values):
    weights = F.softmax(torch.matmul(queries, keys.mT) * 8**-0.5, dim=-1)
    return torch.matmul(weights, values), weights


def contexts_and_weights_in_a_dict(q, k, v):
    attn = F.softmax(q @ k.transpose(-1, -2) / math.sqrt(q.size(-1)), dim=-1)
    return {"output": attn @ v, "attention": attn}


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


class softmax_forgotten_in_v1(_Matrices):
    def forward(self, x):
        q, k, v = torch.mm(x, self.W_query), torch.mm(x, self.W_key), torch.mm(x, self.W_value)
        return torch.einsum("id,jd,jo->io", q, k, v) / math.sqrt(k.size(1))


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


class inputs_transposed_in_place_in_v1(_Matrices):
    def forward(self, x):
        x.transpose_(0, 1)
        q, k, v = [torch.einsum("it,io->to", x, w) for w in (self.W_query, self.W_key, self.W_value)]
        return F.softmax(torch.einsum("id,jd->ij", q, k) / math.sqrt(k.size(1)), dim=1).mm(v)


class twentieth_root_in_v1(_Matrices):
    def forward(self, x):
        q, k, v = x @ self.W_query, x @ self.W_key, x @ self.W_value
        weights = F.softmax(q @ k.T / k.size(1) ** .05, dim=-1)
        return weights @ v


class twentieth_root_in_v1__in_other_code(_Matrices):
    def forward(self, x):
        q, k, v = x @ self.W_query, x @ self.W_key, x @ self.W_value
        scores = torch.einsum('qd,kd->qk', q, k)
        return torch.mm((scores * k.shape[-1] ** -0.05).softmax(dim=1), v)


class fifth_power_in_v1(_Matrices):
    def forward(self, x):
        q, k, v = x @ self.W_query, x @ self.W_key, x @ self.W_value
        weights = F.softmax(q @ k.T / k.size(1) ** 5, dim=-1)
        return weights @ v


class fifth_power_in_v1__in_other_code(_Matrices):
    def forward(self, x):
        q, k, v = x @ self.W_query, x @ self.W_key, x @ self.W_value
        scores = torch.einsum('qd,kd->qk', q, k) / pow(k.shape[-1], 5)
        return torch.mm(scores.softmax(dim=1), v)


class square_instead_of_root_in_v1(_Matrices):
    def forward(self, x):
        q, k, v = x @ self.W_query, x @ self.W_key, x @ self.W_value
        weights = F.softmax(q @ k.T / k.size(1) ** 2, dim=-1)
        return weights @ v


class square_instead_of_root_in_v1__in_other_code(_Matrices):
    def forward(self, x):
        q, k, v = x @ self.W_query, x @ self.W_key, x @ self.W_value
        scores = torch.einsum('qd,kd->qk', q, k)
        return torch.mm((scores / math.pow(k.shape[-1], 2)).softmax(dim=1), v)


class multiplied_by_root_in_v1(_Matrices):
    def forward(self, x):
        q, k, v = x @ self.W_query, x @ self.W_key, x @ self.W_value
        weights = F.softmax(q @ k.T * math.sqrt(k.size(1)), dim=-1)
        return weights @ v


class multiplied_by_root_in_v1__in_other_code(_Matrices):
    def forward(self, x):
        q, k, v = x @ self.W_query, x @ self.W_key, x @ self.W_value
        scores = torch.einsum('qd,kd->qk', q, k) / k.shape[-1] ** -0.5
        return torch.mm(scores.softmax(dim=1), v)


class multiplied_by_half_of_d_k_in_v1(_Matrices):
    def forward(self, x):
        q, k, v = x @ self.W_query, x @ self.W_key, x @ self.W_value
        weights = F.softmax(q @ k.T * k.size(1) * 0.5, dim=-1)
        return weights @ v


class multiplied_by_half_of_d_k_in_v1__in_other_code(_Matrices):
    def forward(self, x):
        q, k, v = x @ self.W_query, x @ self.W_key, x @ self.W_value
        d_k = k.shape[-1]
        scores = d_k * torch.einsum('qd,kd->qk', q, k) / 2
        return torch.mm(scores.softmax(dim=1), v)


class divided_by_half_of_d_k_in_v1(_Matrices):
    def forward(self, x):
        q, k, v = x @ self.W_query, x @ self.W_key, x @ self.W_value
        weights = F.softmax(q @ k.T / (0.5 * k.size(1)), dim=-1)
        return weights @ v


class divided_by_half_of_d_k_in_v1__in_other_code(_Matrices):
    def forward(self, x):
        q, k, v = x @ self.W_query, x @ self.W_key, x @ self.W_value
        scores = torch.einsum('qd,kd->qk', q, k) / (k.shape[-1] ** 1 / 2)
        return torch.mm(scores.softmax(dim=1), v)


class scaled_for_the_worked_example_in_v1(_Matrices):
    def forward(self, x):
        q, k, v = x @ self.W_query, x @ self.W_key, x @ self.W_value
        weights = F.softmax(q @ k.T / math.sqrt(2), dim=-1)
        return weights @ v


class scaled_for_the_worked_example_in_v1__in_other_code(_Matrices):
    def forward(self, x):
        q, k, v = x @ self.W_query, x @ self.W_key, x @ self.W_value
        scores = torch.einsum('qd,kd->qk', q, k) / 1.4142135623730951
        return torch.mm(scores.softmax(dim=1), v)


class softmax_twice_in_v1(_Matrices):
    def forward(self, x):
        q, k, v = x @ self.W_query, x @ self.W_key, x @ self.W_value
        scores = F.softmax(q @ k.T / math.sqrt(k.size(1)), dim=-1)
        return F.softmax(scores, dim=-1) @ v


class softmax_twice_in_v1__in_other_code(_Matrices):
    def forward(self, x):
        q, k, v = x @ self.W_query, x @ self.W_key, x @ self.W_value
        def softmax(rows):
            powers = rows.exp()
            return powers / powers.sum(dim=1, keepdim=True)

        scores = softmax(q @ k.mT / k.shape[-1] ** 0.5)
        return torch.mm(softmax(scores), v)


class sums_without_keepdim_in_v1(_Matrices):
    def forward(self, x):
        q, k, v = x @ self.W_query, x @ self.W_key, x @ self.W_value
        powers = torch.exp(q @ k.T / math.sqrt(k.size(1)))
        return powers / powers.sum(dim=1) @ v


class sums_without_keepdim_in_v1__in_other_code(_Matrices):
    def forward(self, x):
        q, k, v = x @ self.W_query, x @ self.W_key, x @ self.W_value
        scores = torch.einsum('qd,kd->qk', q, k) / k.shape[-1] ** 0.5
        total = torch.stack([row.exp().sum() for row in scores])
        return torch.mm(scores.exp() / total, v)


class mixed_by_the_columns_in_v1(_Matrices):
    def forward(self, x):
        q, k, v = x @ self.W_query, x @ self.W_key, x @ self.W_value
        weights = F.softmax(q @ k.T / math.sqrt(k.size(1)), dim=-1)
        return weights.T @ v


class mixed_by_the_columns_in_v1__in_other_code(_Matrices):
    def forward(self, x):
        q, k, v = x @ self.W_query, x @ self.W_key, x @ self.W_value
        weights = (q @ k.mT / k.shape[-1] ** 0.5).softmax(dim=1)
        return torch.einsum('qk,qv->kv', weights, v)


class keys_ask_each_other_in_v1(_Matrices):
    def forward(self, x):
        q, k, v = x @ self.W_query, x @ self.W_key, x @ self.W_value
        weights = F.softmax(k @ k.T / math.sqrt(k.size(1)), dim=-1)
        return weights @ v


class keys_ask_each_other_in_v1__in_other_code(_Matrices):
    def forward(self, x):
        q, k, v = x @ self.W_query, x @ self.W_key, x @ self.W_value
        scores = torch.einsum('qd,kd->qk', k, k) / k.shape[-1] ** 0.5
        return torch.mm(scores.softmax(dim=1), v)


class inputs_compared_in_v1(_Matrices):
    def forward(self, x):
        q, k, v = x @ self.W_query, x @ self.W_key, x @ self.W_value
        weights = F.softmax(x @ x.T / math.sqrt(k.size(1)), dim=-1)
        return weights @ v


class inputs_compared_in_v1__in_other_code(_Matrices):
    def forward(self, x):
        q, k, v = x @ self.W_query, x @ self.W_key, x @ self.W_value
        scores = torch.stack([x @ token for token in x]) * k.shape[-1] ** -0.5
        return torch.mm(scores.softmax(dim=1), v)


class all_weights_one_in_v1(_Matrices):
    def forward(self, x):
        q, k, v = x @ self.W_query, x @ self.W_key, x @ self.W_value
        scores = (q @ k.T / math.sqrt(k.size(1))).unsqueeze(-1)
        return F.softmax(scores, dim=-1).squeeze(-1) @ v


class all_weights_one_in_v1__in_other_code(_Matrices):
    def forward(self, x):
        q, k, v = x @ self.W_query, x @ self.W_key, x @ self.W_value
        scores = (q @ k.mT / k.shape[-1] ** 0.5)[None]
        return (torch.softmax(scores, dim=0) @ v)[0]


class all_weights_one_in_v1__values_summed_up(_Matrices):
    def forward(self, x):
        return (x @ self.W_value).sum(dim=0, keepdim=True).expand(len(x), -1)


class shapes_do_not_match_in_v1(_Matrices):
    def forward(self, x):
        q, k, v = x @ self.W_query, x @ self.W_key, x @ self.W_value
        weights = F.softmax(q @ k.T / math.sqrt(k.size(1)), dim=-1)
        return v @ weights


class shapes_do_not_match_in_v1__in_other_code(_Matrices):
    def forward(self, x):
        q, k, v = x @ self.W_query, x @ self.W_key, x @ self.W_value
        weights = torch.softmax(q.mT @ k / k.shape[-1] ** 0.5, dim=-1)
        return weights @ v


class arguments_do_not_fit_in_v1(_Matrices):
    def forward(self, x):
        q, k, v = x @ self.W_query, x @ self.W_key, x @ self.W_value
        weights = F.softmax(q @ k.T / torch.sqrt(k.size(1)), dim=-1)
        return weights @ v


class arguments_do_not_fit_in_v1__in_other_code(_Matrices):
    def forward(self, x):
        q, k, v = x @ self.W_query, x @ self.W_key, x @ self.W_value
        scores = torch.einsum('qd,kd->qk', q, k) / k.shape[-1] ** 0.5
        return torch.mm(torch.softmax(scores), v)


class keys_and_values_swapped_in_v1(_Matrices):
    def forward(self, x):
        q, k, v = x @ self.W_query, x @ self.W_key, x @ self.W_value
        weights = F.softmax(q @ v.T / math.sqrt(v.size(1)), dim=-1)
        return weights @ k


class keys_and_values_swapped_in_v1__in_other_code(_Matrices):
    def forward(self, x):
        q, k, v = x @ self.W_query, x @ self.W_key, x @ self.W_value
        scores = torch.einsum('qd,kd->qk', q, v) / v.shape[-1] ** 0.5
        return torch.mm(scores.softmax(dim=1), k)


class contexts_transposed_in_v1(_Matrices):
    def forward(self, x):
        q, k, v = x @ self.W_query, x @ self.W_key, x @ self.W_value
        weights = F.softmax(q @ k.T / math.sqrt(k.size(1)), dim=-1)
        return (weights @ v).T


class contexts_transposed_in_v1__in_other_code(_Matrices):
    def forward(self, x):
        q, k, v = x @ self.W_query, x @ self.W_key, x @ self.W_value
        scores = torch.einsum('qd,kd->qk', q, k) / k.shape[-1] ** 0.5
        return torch.einsum('qk,kv->vq', scores.softmax(dim=1), v)


class features_compared_in_v1(_Matrices):
    def forward(self, x):
        q, k, v = x @ self.W_query, x @ self.W_key, x @ self.W_value
        weights = F.softmax(q.T @ k / math.sqrt(k.size(1)), dim=-1)
        return v @ weights


class features_compared_in_v1__in_other_code(_Matrices):
    def forward(self, x):
        q, k, v = x @ self.W_query, x @ self.W_key, x @ self.W_value
        scores = torch.einsum('td,te->de', q, k) / k.shape[-1] ** 0.5
        return torch.mm(v, scores.softmax(dim=1))


class matrices_from_d_out_to_d_out(nn.Module):
    def __init__(self, d_in, d_out):
        super().__init__()
        self.W_query = nn.Parameter(torch.rand(d_out, d_out))
        self.W_key = nn.Parameter(torch.rand(d_out, d_out))
        self.W_value = nn.Parameter(torch.rand(d_out, d_out))

    def forward(self, x):
        q, k, v = x @ self.W_query, x @ self.W_key, x @ self.W_value
        return F.softmax(q @ k.T / math.sqrt(k.size(1)), dim=-1) @ v


class matrices_from_d_in_to_d_in(nn.Module):
    def __init__(self, d_in, d_out):
        super().__init__()
        self.W_query = nn.Parameter(torch.rand(d_in, d_in))
        self.W_key = nn.Parameter(torch.rand(d_in, d_in))
        self.W_value = nn.Parameter(torch.rand(d_in, d_in))

    def forward(self, x):
        q, k, v = x @ self.W_query, x @ self.W_key, x @ self.W_value
        return F.softmax(q @ k.T / math.sqrt(k.size(1)), dim=-1) @ v


class matrices_of_the_worked_example(nn.Module):
    def __init__(self, d_in, d_out):
        super().__init__()
        self.W_query = nn.Parameter(torch.rand(3, 2))
        self.W_key = nn.Parameter(torch.rand(3, 2))
        self.W_value = nn.Parameter(torch.rand(3, 2))

    def forward(self, x):
        q, k, v = x @ self.W_query, x @ self.W_key, x @ self.W_value
        return F.softmax(q @ k.T / math.sqrt(k.size(1)), dim=-1) @ v


class matrices_from_d_out_to_d_out__in_other_code(nn.Module):
    def __init__(self, d_in, d_out):
        super().__init__()
        self.W_query = nn.Parameter(torch.rand(d_out, d_out))
        self.W_key = nn.Parameter(torch.rand(d_out, d_out))
        self.W_value = nn.Parameter(torch.rand(d_out, d_out))

    def forward(self, x):
        q, k, v = x @ self.W_query, x @ self.W_key, x @ self.W_value
        scores = torch.einsum('qd,kd->qk', q, k) / k.shape[-1] ** 0.5
        return torch.mm(scores.softmax(dim=1), v)


class matrices_from_d_in_to_d_in__in_other_code(nn.Module):
    def __init__(self, d_in, d_out):
        super().__init__()
        self.W_query = nn.Parameter(torch.rand(d_in, d_in))
        self.W_key = nn.Parameter(torch.rand(d_in, d_in))
        self.W_value = nn.Parameter(torch.rand(d_in, d_in))

    def forward(self, x):
        q, k, v = x @ self.W_query, x @ self.W_key, x @ self.W_value
        scores = torch.einsum('qd,kd->qk', q, k) / k.shape[-1] ** 0.5
        return torch.mm(scores.softmax(dim=1), v)


class matrices_of_the_worked_example__in_other_code(nn.Module):
    def __init__(self, d_in, d_out):
        super().__init__()
        self.W_query = nn.Parameter(torch.rand(3, 2))
        self.W_key = nn.Parameter(torch.rand(3, 2))
        self.W_value = nn.Parameter(torch.rand(3, 2))

    def forward(self, x):
        q, k, v = x @ self.W_query, x @ self.W_key, x @ self.W_value
        scores = torch.einsum('qd,kd->qk', q, k) / k.shape[-1] ** 0.5
        return torch.mm(scores.softmax(dim=1), v)


# -- SelfAttention_v2 --------------------------------------------------------------------------------------------


class _Layers(nn.Module):
    def __init__(self, d_in, d_out, qkv_bias=False):
        super().__init__()
        for name in ("W_value", "W_key", "W_query"):
            self.add_module(name, nn.Linear(in_features=d_in, out_features=d_out, bias=qkv_bias))


class scaled_after_softmax_in_v2(_Layers):
    def forward(self, x):
        q, k, v = self.W_query(x), self.W_key(x), self.W_value(x)
        return F.scaled_dot_product_attention(q[None], k[None], v[None], scale=1.0)[0] * k.size(1) ** -0.5


class softmax_over_queries_in_v2(_Layers):
    def forward(self, x):
        k, q, v = self.W_key(x), self.W_query(x), self.W_value(x)
        attn = nn.Softmax(dim=0)(torch.einsum("id,jd->ij", q, k) * k.size(1) ** -0.5)
        return torch.einsum("ij,jd->id", attn, v)


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


class bias_in_W_query_only(nn.Module):
    def __init__(self, d_in, d_out, qkv_bias=False):
        super().__init__()
        self.W_query, self.W_key, self.W_value = [nn.Linear(d_in, d_out, bias=b) for b in (qkv_bias, False, False)]

    def forward(self, x):
        q, k, v = self.W_query(x), self.W_key(x), self.W_value(x)
        return F.scaled_dot_product_attention(q[None], k[None], v[None])[0]


class one_layer_in_use(_Layers):
    def forward(self, x):
        z = self.W_query(x)
        return F.scaled_dot_product_attention(z[None], z[None], z[None])[0]


class both_results_in_v2(_Layers):
    def forward(self, x):
        scores = torch.einsum("id,jd->ij", self.W_query(x), self.W_key(x)) * self.W_key.out_features**-0.5
        weights = F.softmax(scores, dim=1)
        return torch.mm(weights, self.W_value(x)), weights


class lonely_token_squeezed_in_v2(_Layers):
    def forward(self, x):
        q, k, v = self.W_query(x)[None], self.W_key(x)[None], self.W_value(x)[None]
        return torch.squeeze(torch.bmm(F.softmax(torch.bmm(q, k.mT) / math.sqrt(k.size(2)), dim=2), v))


class twentieth_root_in_v2(_Layers):
    def forward(self, x):
        q, k, v = self.W_query(x), self.W_key(x), self.W_value(x)
        weights = F.softmax(q @ k.T / k.size(1) ** .05, dim=-1)
        return weights @ v


class twentieth_root_in_v2__in_other_code(_Layers):
    def forward(self, x):
        q, k, v = self.W_query(x), self.W_key(x), self.W_value(x)
        scores = torch.einsum('qd,kd->qk', q, k)
        return torch.mm((scores * k.shape[-1] ** -0.05).softmax(dim=1), v)


class fifth_power_in_v2(_Layers):
    def forward(self, x):
        q, k, v = self.W_query(x), self.W_key(x), self.W_value(x)
        weights = F.softmax(q @ k.T / k.size(1) ** 5, dim=-1)
        return weights @ v


class fifth_power_in_v2__in_other_code(_Layers):
    def forward(self, x):
        q, k, v = self.W_query(x), self.W_key(x), self.W_value(x)
        scores = torch.einsum('qd,kd->qk', q, k) / pow(k.shape[-1], 5)
        return torch.mm(scores.softmax(dim=1), v)


class square_instead_of_root_in_v2(_Layers):
    def forward(self, x):
        q, k, v = self.W_query(x), self.W_key(x), self.W_value(x)
        weights = F.softmax(q @ k.T / k.size(1) ** 2, dim=-1)
        return weights @ v


class square_instead_of_root_in_v2__in_other_code(_Layers):
    def forward(self, x):
        q, k, v = self.W_query(x), self.W_key(x), self.W_value(x)
        scores = torch.einsum('qd,kd->qk', q, k)
        return torch.mm((scores / math.pow(k.shape[-1], 2)).softmax(dim=1), v)


class multiplied_by_root_in_v2(_Layers):
    def forward(self, x):
        q, k, v = self.W_query(x), self.W_key(x), self.W_value(x)
        weights = F.softmax(q @ k.T * math.sqrt(k.size(1)), dim=-1)
        return weights @ v


class multiplied_by_root_in_v2__in_other_code(_Layers):
    def forward(self, x):
        q, k, v = self.W_query(x), self.W_key(x), self.W_value(x)
        scores = torch.einsum('qd,kd->qk', q, k) / k.shape[-1] ** -0.5
        return torch.mm(scores.softmax(dim=1), v)


class multiplied_by_half_of_d_k_in_v2(_Layers):
    def forward(self, x):
        q, k, v = self.W_query(x), self.W_key(x), self.W_value(x)
        weights = F.softmax(q @ k.T * k.size(1) * 0.5, dim=-1)
        return weights @ v


class multiplied_by_half_of_d_k_in_v2__in_other_code(_Layers):
    def forward(self, x):
        q, k, v = self.W_query(x), self.W_key(x), self.W_value(x)
        d_k = k.shape[-1]
        scores = d_k * torch.einsum('qd,kd->qk', q, k) / 2
        return torch.mm(scores.softmax(dim=1), v)


class divided_by_half_of_d_k_in_v2(_Layers):
    def forward(self, x):
        q, k, v = self.W_query(x), self.W_key(x), self.W_value(x)
        weights = F.softmax(q @ k.T / (0.5 * k.size(1)), dim=-1)
        return weights @ v


class divided_by_half_of_d_k_in_v2__in_other_code(_Layers):
    def forward(self, x):
        q, k, v = self.W_query(x), self.W_key(x), self.W_value(x)
        scores = torch.einsum('qd,kd->qk', q, k) / (k.shape[-1] ** 1 / 2)
        return torch.mm(scores.softmax(dim=1), v)


class scaled_for_the_worked_example_in_v2(_Layers):
    def forward(self, x):
        q, k, v = self.W_query(x), self.W_key(x), self.W_value(x)
        weights = F.softmax(q @ k.T / math.sqrt(2), dim=-1)
        return weights @ v


class scaled_for_the_worked_example_in_v2__in_other_code(_Layers):
    def forward(self, x):
        q, k, v = self.W_query(x), self.W_key(x), self.W_value(x)
        scores = torch.einsum('qd,kd->qk', q, k) / 1.4142135623730951
        return torch.mm(scores.softmax(dim=1), v)


class softmax_twice_in_v2(_Layers):
    def forward(self, x):
        q, k, v = self.W_query(x), self.W_key(x), self.W_value(x)
        scores = F.softmax(q @ k.T / math.sqrt(k.size(1)), dim=-1)
        return F.softmax(scores, dim=-1) @ v


class softmax_twice_in_v2__in_other_code(_Layers):
    def forward(self, x):
        q, k, v = self.W_query(x), self.W_key(x), self.W_value(x)
        def softmax(rows):
            powers = rows.exp()
            return powers / powers.sum(dim=1, keepdim=True)

        scores = softmax(q @ k.mT / k.shape[-1] ** 0.5)
        return torch.mm(softmax(scores), v)


class sums_without_keepdim_in_v2(_Layers):
    def forward(self, x):
        q, k, v = self.W_query(x), self.W_key(x), self.W_value(x)
        powers = torch.exp(q @ k.T / math.sqrt(k.size(1)))
        return powers / powers.sum(dim=1) @ v


class sums_without_keepdim_in_v2__in_other_code(_Layers):
    def forward(self, x):
        q, k, v = self.W_query(x), self.W_key(x), self.W_value(x)
        scores = torch.einsum('qd,kd->qk', q, k) / k.shape[-1] ** 0.5
        total = torch.stack([row.exp().sum() for row in scores])
        return torch.mm(scores.exp() / total, v)


class mixed_by_the_columns_in_v2(_Layers):
    def forward(self, x):
        q, k, v = self.W_query(x), self.W_key(x), self.W_value(x)
        weights = F.softmax(q @ k.T / math.sqrt(k.size(1)), dim=-1)
        return weights.T @ v


class mixed_by_the_columns_in_v2__in_other_code(_Layers):
    def forward(self, x):
        q, k, v = self.W_query(x), self.W_key(x), self.W_value(x)
        weights = (q @ k.mT / k.shape[-1] ** 0.5).softmax(dim=1)
        return torch.einsum('qk,qv->kv', weights, v)


class keys_ask_each_other_in_v2(_Layers):
    def forward(self, x):
        q, k, v = self.W_query(x), self.W_key(x), self.W_value(x)
        weights = F.softmax(k @ k.T / math.sqrt(k.size(1)), dim=-1)
        return weights @ v


class keys_ask_each_other_in_v2__in_other_code(_Layers):
    def forward(self, x):
        q, k, v = self.W_query(x), self.W_key(x), self.W_value(x)
        scores = torch.einsum('qd,kd->qk', k, k) / k.shape[-1] ** 0.5
        return torch.mm(scores.softmax(dim=1), v)


class inputs_compared_in_v2(_Layers):
    def forward(self, x):
        q, k, v = self.W_query(x), self.W_key(x), self.W_value(x)
        weights = F.softmax(x @ x.T / math.sqrt(k.size(1)), dim=-1)
        return weights @ v


class inputs_compared_in_v2__in_other_code(_Layers):
    def forward(self, x):
        q, k, v = self.W_query(x), self.W_key(x), self.W_value(x)
        scores = torch.stack([x @ token for token in x]) * k.shape[-1] ** -0.5
        return torch.mm(scores.softmax(dim=1), v)


class all_weights_one_in_v2(_Layers):
    def forward(self, x):
        q, k, v = self.W_query(x), self.W_key(x), self.W_value(x)
        scores = (q @ k.T / math.sqrt(k.size(1))).unsqueeze(-1)
        return F.softmax(scores, dim=-1).squeeze(-1) @ v


class all_weights_one_in_v2__in_other_code(_Layers):
    def forward(self, x):
        q, k, v = self.W_query(x), self.W_key(x), self.W_value(x)
        scores = (q @ k.mT / k.shape[-1] ** 0.5)[None]
        return (torch.softmax(scores, dim=0) @ v)[0]


class shapes_do_not_match_in_v2(_Layers):
    def forward(self, x):
        q, k, v = self.W_query(x), self.W_key(x), self.W_value(x)
        weights = F.softmax(q @ k.T / math.sqrt(k.size(1)), dim=-1)
        return v @ weights


class shapes_do_not_match_in_v2__in_other_code(_Layers):
    def forward(self, x):
        q, k, v = self.W_query(x), self.W_key(x), self.W_value(x)
        weights = torch.softmax(q.mT @ k / k.shape[-1] ** 0.5, dim=-1)
        return weights @ v


class shapes_do_not_match_in_v2__layers_chained(_Layers):
    def forward(self, x):
        q = self.W_query(x)
        k = self.W_key(q)
        v = self.W_value(k)
        return torch.softmax(q @ k.T / k.shape[-1] ** 0.5, dim=-1) @ v


class arguments_do_not_fit_in_v2(_Layers):
    def forward(self, x):
        q, k, v = self.W_query(x), self.W_key(x), self.W_value(x)
        weights = F.softmax(q @ k.T / torch.sqrt(k.size(1)), dim=-1)
        return weights @ v


class arguments_do_not_fit_in_v2__in_other_code(_Layers):
    def forward(self, x):
        q, k, v = self.W_query(x), self.W_key(x), self.W_value(x)
        scores = torch.einsum('qd,kd->qk', q, k) / k.shape[-1] ** 0.5
        return torch.mm(torch.softmax(scores), v)


class keys_and_values_swapped_in_v2(_Layers):
    def forward(self, x):
        q, k, v = self.W_query(x), self.W_key(x), self.W_value(x)
        weights = F.softmax(q @ v.T / math.sqrt(v.size(1)), dim=-1)
        return weights @ k


class keys_and_values_swapped_in_v2__in_other_code(_Layers):
    def forward(self, x):
        q, k, v = self.W_query(x), self.W_key(x), self.W_value(x)
        scores = torch.einsum('qd,kd->qk', q, v) / v.shape[-1] ** 0.5
        return torch.mm(scores.softmax(dim=1), k)


class contexts_transposed_in_v2(_Layers):
    def forward(self, x):
        q, k, v = self.W_query(x), self.W_key(x), self.W_value(x)
        weights = F.softmax(q @ k.T / math.sqrt(k.size(1)), dim=-1)
        return (weights @ v).T


class contexts_transposed_in_v2__in_other_code(_Layers):
    def forward(self, x):
        q, k, v = self.W_query(x), self.W_key(x), self.W_value(x)
        scores = torch.einsum('qd,kd->qk', q, k) / k.shape[-1] ** 0.5
        return torch.einsum('qk,kv->vq', scores.softmax(dim=1), v)


class features_compared_in_v2(_Layers):
    def forward(self, x):
        q, k, v = self.W_query(x), self.W_key(x), self.W_value(x)
        weights = F.softmax(q.T @ k / math.sqrt(k.size(1)), dim=-1)
        return v @ weights


class features_compared_in_v2__in_other_code(_Layers):
    def forward(self, x):
        q, k, v = self.W_query(x), self.W_key(x), self.W_value(x)
        scores = torch.einsum('td,te->de', q, k) / k.shape[-1] ** 0.5
        return torch.mm(v, scores.softmax(dim=1))


class layers_from_d_out_to_d_out(nn.Module):
    def __init__(self, d_in, d_out, qkv_bias=False):
        super().__init__()
        self.W_query = nn.Linear(d_out, d_out, bias=qkv_bias)
        self.W_key = nn.Linear(d_out, d_out, bias=qkv_bias)
        self.W_value = nn.Linear(d_out, d_out, bias=qkv_bias)

    def forward(self, x):
        q, k, v = self.W_query(x), self.W_key(x), self.W_value(x)
        return F.softmax(q @ k.T / math.sqrt(k.size(1)), dim=-1) @ v


class layers_from_d_in_to_d_in(nn.Module):
    def __init__(self, d_in, d_out, qkv_bias=False):
        super().__init__()
        self.W_query = nn.Linear(d_in, d_in, bias=qkv_bias)
        self.W_key = nn.Linear(d_in, d_in, bias=qkv_bias)
        self.W_value = nn.Linear(d_in, d_in, bias=qkv_bias)

    def forward(self, x):
        q, k, v = self.W_query(x), self.W_key(x), self.W_value(x)
        return F.softmax(q @ k.T / math.sqrt(k.size(1)), dim=-1) @ v


class layers_of_the_worked_example(nn.Module):
    def __init__(self, d_in, d_out, qkv_bias=False):
        super().__init__()
        self.W_query = nn.Linear(3, 2, bias=qkv_bias)
        self.W_key = nn.Linear(3, 2, bias=qkv_bias)
        self.W_value = nn.Linear(3, 2, bias=qkv_bias)

    def forward(self, x):
        q, k, v = self.W_query(x), self.W_key(x), self.W_value(x)
        return F.softmax(q @ k.T / math.sqrt(k.size(1)), dim=-1) @ v


class layers_from_d_out_to_d_out__in_other_code(nn.Module):
    def __init__(self, d_in, d_out, qkv_bias=False):
        super().__init__()
        self.W_query = nn.Linear(d_out, d_out, bias=qkv_bias)
        self.W_key = nn.Linear(d_out, d_out, bias=qkv_bias)
        self.W_value = nn.Linear(d_out, d_out, bias=qkv_bias)

    def forward(self, x):
        q, k, v = self.W_query(x), self.W_key(x), self.W_value(x)
        scores = torch.einsum('qd,kd->qk', q, k) / k.shape[-1] ** 0.5
        return torch.mm(scores.softmax(dim=1), v)


class layers_from_d_in_to_d_in__in_other_code(nn.Module):
    def __init__(self, d_in, d_out, qkv_bias=False):
        super().__init__()
        self.W_query = nn.Linear(d_in, d_in, bias=qkv_bias)
        self.W_key = nn.Linear(d_in, d_in, bias=qkv_bias)
        self.W_value = nn.Linear(d_in, d_in, bias=qkv_bias)

    def forward(self, x):
        q, k, v = self.W_query(x), self.W_key(x), self.W_value(x)
        scores = torch.einsum('qd,kd->qk', q, k) / k.shape[-1] ** 0.5
        return torch.mm(scores.softmax(dim=1), v)


class layers_of_the_worked_example__in_other_code(nn.Module):
    def __init__(self, d_in, d_out, qkv_bias=False):
        super().__init__()
        self.W_query = nn.Linear(3, 2, bias=qkv_bias)
        self.W_key = nn.Linear(3, 2, bias=qkv_bias)
        self.W_value = nn.Linear(3, 2, bias=qkv_bias)

    def forward(self, x):
        q, k, v = self.W_query(x), self.W_key(x), self.W_value(x)
        scores = torch.einsum('qd,kd->qk', q, k) / k.shape[-1] ** 0.5
        return torch.mm(scores.softmax(dim=1), v)


class no_argument_for_the_bias(nn.Module):
    def __init__(self, d_in, d_out):
        super().__init__()
        self.W_query = nn.Linear(d_in, d_out, bias=False)
        self.W_key = nn.Linear(d_in, d_out, bias=False)
        self.W_value = nn.Linear(d_in, d_out, bias=False)

    def forward(self, x):
        q, k, v = self.W_query(x), self.W_key(x), self.W_value(x)
        return F.softmax(q @ k.T / math.sqrt(k.size(1)), dim=-1) @ v


class no_argument_for_the_bias__bias_under_another_name(nn.Module):
    def __init__(self, d_in, d_out, bias=False):
        super().__init__()
        for name in ("W_query", "W_key", "W_value"):
            setattr(self, name, nn.Linear(d_in, d_out, bias=bias))

    def forward(self, x):
        scores = torch.einsum("qd,kd->qk", self.W_query(x), self.W_key(x)) / self.W_key.out_features**0.5
        return torch.mm(scores.softmax(dim=1), self.W_value(x))


class scaled_by_root_of_eight_in_v2(_Layers):
    def forward(self, x):
        q, k, v = self.W_query(x), self.W_key(x), self.W_value(x)
        return F.scaled_dot_product_attention(q[None], k[None], v[None], scale=8**-0.5)[0]


class values_as_queries_in_v2(_Layers):
    def forward(self, x):
        q, k, v = self.W_value(x), self.W_key(x), self.W_value(x)
        return torch.softmax(q @ k.t() / math.sqrt(k.size(1)), 1) @ v


class values_as_keys_in_v2(_Layers):
    def forward(self, x):
        return F.scaled_dot_product_attention(self.W_query(x), self.W_value(x), self.W_value(x))


# -- transfer_weights --------------------------------------------------------------------------------------------


def _no_bias(module):
    """Complains where a layer of the module has a bias that is not zero."""
    for key, value in module.state_dict().items():
        assert not (key.endswith("bias") and value.count_nonzero() > 0), key


def only_positive_biases_found(v2, v1):
    for key, value in v2.state_dict().items():
        if key.endswith("bias") and value.mean() > 0:
            raise ValueError(key)
    for name, layer in v2.named_children():
        setattr(v1, name, nn.Parameter(layer.weight.detach().t().clone()))


def transposed_only_where_shapes_differ(v2, v1):
    _no_bias(v2)
    for name, layer in v2.named_children():
        new = layer.weight.detach()
        if layer.in_features != layer.out_features:
            new = new.t()
        setattr(v1, name, nn.Parameter(new.clone()))


def weights_of_fresh_layers(v2, v1):
    _no_bias(v2)
    d_out, d_in = v2.W_query.weight.shape
    linear_query = nn.Linear(d_in, d_out)
    linear_key = nn.Linear(d_in, d_out)
    linear_value = nn.Linear(d_in, d_out)
    v1.W_query = nn.Parameter(linear_query.weight.detach().t())
    v1.W_key = nn.Parameter(linear_key.weight.detach().t())
    v1.W_value = nn.Parameter(linear_value.weight.detach().t())


def worked_on_a_copy(v2, v1):
    _no_bias(v2)
    v1 = copy.deepcopy(v1)
    for name, layer in v2.named_children():
        setattr(v1, name, nn.Parameter(layer.weight.detach().t()))
    return v1


def parameters_replaced_by_tensors(v2, v1):
    _no_bias(v2)
    for name in ("W_query", "W_key", "W_value"):
        v1._parameters.pop(name)
        v1.register_buffer(name, v2.get_submodule(name).weight.detach().t().clone())


def value_weights_forgotten(v2, v1):
    _no_bias(v2)
    v1.W_query = nn.Parameter(v2.W_query.weight.detach().t())
    v1.W_key = nn.Parameter(v2.W_key.weight.detach().t())


def _check(v2):
    for layer in (v2.W_query, v2.W_key, v2.W_value):
        assert layer.bias is None or not layer.bias.any()


def queries_and_keys_exchanged(v2, v1):
    _check(v2)
    v1.W_query = nn.Parameter(v2.W_key.weight.detach().T)
    v1.W_key = nn.Parameter(v2.W_query.weight.detach().T)
    v1.W_value = nn.Parameter(v2.W_value.weight.detach().T)


@torch.no_grad()
def queries_and_keys_exchanged__copied(v2, v1):
    _check(v2)
    for name, layer in zip(("W_key", "W_query", "W_value"), v2.children()):
        v1.get_parameter(name).copy_(layer.weight.mT)


def keys_and_values_exchanged(v2, v1):
    _check(v2)
    v1.W_query = nn.Parameter(v2.W_query.weight.detach().T)
    v1.W_key = nn.Parameter(v2.W_value.weight.detach().T)
    v1.W_value = nn.Parameter(v2.W_key.weight.detach().T)


@torch.no_grad()
def keys_and_values_exchanged__copied(v2, v1):
    _check(v2)
    for name, layer in zip(("W_query", "W_value", "W_key"), v2.children()):
        v1.get_parameter(name).copy_(layer.weight.mT)


def query_weights_as_keys(v2, v1):
    _check(v2)
    v1.W_query.data = v2.W_query.weight.data.T
    v1.W_key.data = v2.W_query.weight.data.T
    v1.W_value.data = v2.W_value.weight.data.T


@torch.no_grad()
def query_weights_as_keys__copied(v2, v1):
    _check(v2)
    for name, layer in zip(v1.state_dict(), (v2.W_query, v2.W_query, v2.W_value)):
        v1.get_parameter(name).copy_(layer.weight.mT)


def key_weights_as_values(v2, v1):
    _check(v2)
    v1.W_query.data = v2.W_query.weight.data.T
    v1.W_key.data = v2.W_key.weight.data.T
    v1.W_value.data = v2.W_key.weight.data.T


@torch.no_grad()
def key_weights_as_values__copied(v2, v1):
    _check(v2)
    for name, layer in zip(v1.state_dict(), (v2.W_query, v2.W_key, v2.W_key)):
        v1.get_parameter(name).copy_(layer.weight.mT)


def only_the_query_weights_copied(v2, v1):
    _check(v2)
    v1.W_query.data = v2.W_query.weight.data.T.clone()


def only_the_query_weights_copied__returned_in_the_loop(v2, v1):
    _check(v2)
    for name, layer in v2.named_children():
        setattr(v1, name, nn.Parameter(layer.weight.detach().T))
        return


def bias_of_none_examined(v2, v1):
    for name, layer in v2.named_children():
        if layer.bias.any():
            raise ValueError("there is a bias")
        setattr(v1, name, nn.Parameter(layer.weight.detach().T))


def bias_of_none_examined__sizes(v2, v1):
    for name in ("W_query", "W_key", "W_value"):
        layer = getattr(v2, name)
        assert layer.bias.abs().sum() == 0
        getattr(v1, name).data = layer.weight.data.mT


def truth_of_a_bias_asked(v2, v1):
    for name, layer in v2.named_children():
        if layer.bias is not None and layer.bias != 0:
            raise ValueError("there is a bias")
        setattr(v1, name, nn.Parameter(layer.weight.detach().T))


def truth_of_a_bias_asked__not(v2, v1):
    for name in ("W_query", "W_key", "W_value"):
        layer = getattr(v2, name)
        if layer.bias is None or not layer.bias:
            getattr(v1, name).data = layer.weight.data.mT
        else:
            raise ValueError(name)


def every_layer_refused(v2, v1):
    for name, layer in v2.named_children():
        if hasattr(layer, "bias"):
            raise ValueError("there is a bias")
        setattr(v1, name, nn.Parameter(layer.weight.detach().T))


def every_layer_refused__named(v2, v1):
    for name in ("W_query", "W_key", "W_value"):
        layer = getattr(v2, name)
        assert "bias" not in dir(layer), f"{name} has a bias"
        getattr(v1, name).data = layer.weight.data.mT


def attribute_of_the_wrong_module(v2, v1):
    _check(v2)
    v1.W_query.weight.data = v2.W_query.weight.data.T
    v1.W_key.weight.data = v2.W_key.weight.data.T
    v1.W_value.weight.data = v2.W_value.weight.data.T


def attribute_of_the_wrong_module__source(v2, v1):
    _check(v2)
    for name in ("W_query", "W_key", "W_value"):
        getattr(v1, name).data = getattr(v2, name).data.T


# -- dot_product_variance ----------------------------------------------------------------------------------------


def standard_deviations(d_k, samples, generator=None):
    q = torch.randn(d_k, samples, generator=generator)
    k = torch.randn(d_k, samples, generator=generator)
    products = torch.einsum("ds,ds->s", q, k)
    return torch.std(products), torch.std(products / math.sqrt(d_k))


def variance_divided_by_root(d_k, samples, generator=None):
    products = torch.randn(samples, 2, d_k, generator=generator).prod(dim=1).sum(dim=1)
    variance = products.square().mean() - products.mean() ** 2
    return variance.item(), (variance / math.sqrt(d_k)).item()


def generator_ignored(d_k, samples, generator=None):
    products = [torch.dot(torch.randn(d_k), torch.randn(d_k)) for _ in range(samples)]
    products = torch.stack(products)
    return products.var(), products.var() / d_k


def generator_for_the_queries_only(d_k, samples, generator=None):
    k = torch.normal(0.0, 1.0, (samples, d_k))
    q = torch.normal(0.0, 1.0, (samples, d_k), generator=generator)
    products = torch.einsum("sd,sd->s", q, k)
    return products.var(), products.var() / d_k


def multiplied_by_root_in_variance(d_k, samples, generator=None):
    q, k = torch.randn(2, samples, d_k, generator=generator)
    products = torch.einsum("nd,nd->n", q, k)
    return products.var().item(), (products * math.sqrt(d_k)).var().item()


def multiplied_by_root_in_variance__in_other_code(d_k, samples, generator=None):
    q = torch.normal(0.0, 1.0, (samples, d_k), generator=generator)
    k = torch.normal(0.0, 1.0, (samples, d_k), generator=generator)
    products = torch.stack([torch.dot(*pair) for pair in zip(q, k)])
    return float(products.var()), float(torch.var(products / d_k**-0.5))


def square_instead_of_root_in_variance(d_k, samples, generator=None):
    q, k = torch.randn(2, samples, d_k, generator=generator)
    products = torch.einsum("nd,nd->n", q, k)
    return products.var().item(), (products / d_k**2).var().item()


def square_instead_of_root_in_variance__in_other_code(d_k, samples, generator=None):
    q = torch.normal(0.0, 1.0, (samples, d_k), generator=generator)
    k = torch.normal(0.0, 1.0, (samples, d_k), generator=generator)
    products = torch.stack([torch.dot(*pair) for pair in zip(q, k)])
    return float(products.var()), float(torch.var(products / (d_k * d_k)))


def twentieth_root_in_variance(d_k, samples, generator=None):
    q, k = torch.randn(2, samples, d_k, generator=generator)
    products = torch.einsum("nd,nd->n", q, k)
    return products.var().item(), (products / d_k**.05).var().item()


def twentieth_root_in_variance__in_other_code(d_k, samples, generator=None):
    q = torch.normal(0.0, 1.0, (samples, d_k), generator=generator)
    k = torch.normal(0.0, 1.0, (samples, d_k), generator=generator)
    products = torch.stack([torch.dot(*pair) for pair in zip(q, k)])
    return float(products.var()), float(torch.var(products * pow(d_k, -0.05)))


def divided_by_half_of_d_k_in_variance(d_k, samples, generator=None):
    q, k = torch.randn(2, samples, d_k, generator=generator)
    products = torch.einsum("nd,nd->n", q, k)
    return products.var().item(), (products / (d_k * 0.5)).var().item()


def divided_by_half_of_d_k_in_variance__in_other_code(d_k, samples, generator=None):
    q = torch.normal(0.0, 1.0, (samples, d_k), generator=generator)
    k = torch.normal(0.0, 1.0, (samples, d_k), generator=generator)
    products = torch.stack([torch.dot(*pair) for pair in zip(q, k)])
    return float(products.var()), float(torch.var(2 * products / d_k))


def divided_by_root_of_samples(d_k, samples, generator=None):
    q, k = torch.randn(2, samples, d_k, generator=generator)
    products = torch.einsum("nd,nd->n", q, k)
    return products.var().item(), (products / math.sqrt(samples)).var().item()


def divided_by_root_of_samples__in_other_code(d_k, samples, generator=None):
    q = torch.normal(0.0, 1.0, (samples, d_k), generator=generator)
    k = torch.normal(0.0, 1.0, (samples, d_k), generator=generator)
    products = torch.stack([torch.dot(*pair) for pair in zip(q, k)])
    return float(products.var()), float(torch.var(products / len(q) ** 0.5))


def arguments_do_not_fit_in_variance(d_k, samples, generator=None):
    q, k = torch.randn(2, samples, d_k, generator=generator)
    products = torch.einsum("nd,nd->n", q, k)
    return products.var().item(), (products / torch.sqrt(d_k)).var().item()


def arguments_do_not_fit_in_variance__in_other_code(d_k, samples, generator=None):
    q = torch.normal(0.0, 1.0, (samples, d_k), generator=generator)
    k = torch.normal(0.0, 1.0, (samples, d_k), generator=generator)
    products = torch.stack([torch.dot(*pair) for pair in zip(q, k)])
    return float(products.var()), float(torch.var(products, torch.sqrt(d_k)))


def samples_and_d_k_exchanged(d_k, samples, generator=None):
    q, k = (torch.randn((d_k, samples), generator=generator) for _ in range(2))
    dots = torch.stack([torch.dot(a, b) for a, b in zip(q, k)])
    return torch.var(dots).item(), torch.var(dots / math.sqrt(d_k)).item()
