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


# -- transfer_weights --------------------------------------------------------------------------------------------


def _no_bias(module):
    """Complains where a layer of the module has a bias that is not zero."""
    for key, value in module.state_dict().items():
        assert not (key.endswith("bias") and value.count_nonzero() > 0), key


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
