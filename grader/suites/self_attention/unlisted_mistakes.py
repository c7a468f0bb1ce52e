"""Unlisted mistakes of unit 2: wrong answers that are none of the misconceptions. The grader must not name them.

Those with the name of a misconception in front show it in code that takes another route. They must get its name.
"""

import math

import torch
import torch.nn as nn
import torch.nn.functional as F

# -- project_qkv -------------------------------------------------------------------------------------------------


def project_qkv__order_turned_by_one(x, w_q, w_k, w_v):
    return x @ w_k, x @ w_v, x @ w_q


def project_qkv__values_made_of_the_keys(inputs, W_query, W_key, W_value):
    queries = inputs @ W_query
    keys = inputs @ W_key
    values = keys @ W_value
    return queries, keys, values


def project_qkv__softmax_of_each_projection(inputs, W_query, W_key, W_value):
    return tuple(torch.softmax(inputs @ w, dim=-1) for w in (W_query, W_key, W_value))


def project_qkv__one_tensor_of_all_three(x, w_q, w_k, w_v):
    return torch.stack((x @ w_q, x @ w_k, x @ w_v))


def project_qkv__all_three_scaled(x, w_q, w_k, w_v):
    return tuple(x @ w / math.sqrt(w.shape[1]) for w in (w_q, w_k, w_v))


def project_qkv__random_biases_added(x, w_q, w_k, w_v):
    return tuple(x @ w + torch.randn(w.shape[1], dtype=x.dtype) for w in (w_q, w_k, w_v))


def project_qkv__inputs_centred_in_place(inputs, W_query, W_key, W_value):
    inputs -= inputs.mean(dim=0)
    return inputs @ W_query, inputs @ W_key, inputs @ W_value


def project_qkv__matrices_wrapped_in_layers_with_a_bias(x, w_q, w_k, w_v):
    results = []
    for w in (w_q, w_k, w_v):
        layer = nn.Linear(*w.shape)
        layer.weight.data = w.T
        results.append(layer(x))
    return tuple(results)


# -- scaled_dot_product_attention --------------------------------------------------------------------------------


def scaled_dot_product_attention__distances(queries, keys, values):
    weights = torch.softmax(-torch.cdist(queries, keys) / math.sqrt(keys.shape[-1]), dim=-1)
    return weights @ values, weights


def scaled_dot_product_attention__cosines(queries, keys, values):
    scores = F.normalize(queries, dim=-1) @ F.normalize(keys, dim=-1).transpose(-2, -1)
    weights = torch.softmax(scores, dim=-1)
    return weights @ values, weights


def scaled_dot_product_attention__sigmoid(queries, keys, values):
    scores = queries @ keys.transpose(-2, -1) / math.sqrt(keys.shape[-1])
    weights = torch.sigmoid(scores)
    return weights @ values, weights


def scaled_dot_product_attention__exponentials_without_a_sum(queries, keys, values):
    weights = torch.exp(queries @ keys.transpose(-2, -1) / math.sqrt(keys.shape[-1]))
    return weights @ values, weights


def scaled_dot_product_attention__unscaled_over_queries(queries, keys, values):
    weights = torch.softmax(queries @ keys.transpose(-2, -1), dim=-2)
    return weights @ values, weights


def scaled_dot_product_attention__past_hidden(queries, keys, values):
    scores = queries @ keys.transpose(-2, -1) / math.sqrt(keys.shape[-1])
    weights = torch.softmax(scores.masked_fill(torch.ones_like(scores).tril(-1).bool(), -torch.inf), dim=-1)
    return weights @ values, weights


def scaled_dot_product_attention__contexts_alone_unscaled(queries, keys, values):
    return torch.softmax(queries @ keys.transpose(-2, -1), dim=-1) @ values


def scaled_dot_product_attention__one_batch_element_only(queries, keys, values):
    while queries.dim() > 2:
        queries, keys, values = queries[0], keys[0], values[0]
    weights = torch.softmax(queries @ keys.T / math.sqrt(keys.shape[-1]), dim=-1)
    return weights @ values, weights


def scaled_dot_product_attention__softmax_on_the_values_too(queries, keys, values):
    weights = torch.softmax(queries @ keys.transpose(-2, -1) / math.sqrt(keys.shape[-1]), dim=-1)
    return torch.softmax(weights @ values, dim=-1), weights


def shapes_do_not_match__features_compared(queries, keys, values):
    weights = (queries.mT @ keys / keys.shape[-1] ** 0.5).softmax(-1)
    return weights.matmul(values), weights


# -- SelfAttention_v1 --------------------------------------------------------------------------------------------


class SelfAttention_v1__super_forgotten(nn.Module):
    def __init__(self, d_in, d_out):
        self.W_query = nn.Parameter(torch.rand(d_in, d_out))
        self.W_key = nn.Parameter(torch.rand(d_in, d_out))
        self.W_value = nn.Parameter(torch.rand(d_in, d_out))

    def forward(self, x):
        q, k, v = x @ self.W_query, x @ self.W_key, x @ self.W_value
        return torch.softmax(q @ k.T / k.shape[-1] ** 0.5, dim=-1) @ v


class _Matrices(nn.Module):
    def __init__(self, d_in, d_out):
        super().__init__()
        self.W_query = nn.Parameter(torch.rand(d_in, d_out))
        self.W_key = nn.Parameter(torch.rand(d_in, d_out))
        self.W_value = nn.Parameter(torch.rand(d_in, d_out))


class SelfAttention_v1__contexts_averaged(_Matrices):
    def forward(self, x):
        q, k, v = x @ self.W_query, x @ self.W_key, x @ self.W_value
        return (torch.softmax(q @ k.T / k.shape[-1] ** 0.5, dim=-1) @ v).mean(dim=0)


class SelfAttention_v1__relu_of_the_projections(_Matrices):
    def forward(self, x):
        q, k, v = (x @ self.W_query).relu(), (x @ self.W_key).relu(), (x @ self.W_value).relu()
        return torch.softmax(q @ k.T / k.shape[-1] ** 0.5, dim=-1) @ v


class SelfAttention_v1__inputs_normalised(_Matrices):
    def forward(self, x):
        x = F.layer_norm(x, x.shape[-1:])
        q, k, v = x @ self.W_query, x @ self.W_key, x @ self.W_value
        return torch.softmax(q @ k.T / k.shape[-1] ** 0.5, dim=-1) @ v


class arguments_do_not_fit_in_v1__softmax_without_a_dimension(_Matrices):
    def forward(self, x):
        q, k, v = x @ self.W_query, x @ self.W_key, x @ self.W_value
        scores = torch.einsum("qd,kd->qk", q, k) / k.shape[-1] ** 0.5
        return torch.mm(torch.softmax(scores), v)


# -- SelfAttention_v2 --------------------------------------------------------------------------------------------


class SelfAttention_v2__bias_without_a_default(nn.Module):
    def __init__(self, d_in, d_out, qkv_bias):
        super().__init__()
        self.W_query = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_key = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_value = nn.Linear(d_in, d_out, bias=qkv_bias)

    def forward(self, x):
        q, k, v = self.W_query(x), self.W_key(x), self.W_value(x)
        return torch.softmax(q @ k.T / k.shape[-1] ** 0.5, dim=-1) @ v


class _Layers(nn.Module):
    def __init__(self, d_in, d_out, qkv_bias=False):
        super().__init__()
        self.W_query = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_key = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_value = nn.Linear(d_in, d_out, bias=qkv_bias)


class SelfAttention_v2__bias_in_W_value_only(_Layers):
    def __init__(self, d_in, d_out, qkv_bias=False):
        super().__init__(d_in, d_out)
        self.W_value = nn.Linear(d_in, d_out, bias=qkv_bias)

    def forward(self, x):
        q, k, v = self.W_query(x), self.W_key(x), self.W_value(x)
        return torch.softmax(q @ k.T / k.shape[-1] ** 0.5, dim=-1) @ v


class SelfAttention_v2__biases_added_twice(_Layers):
    def forward(self, x):
        q, k, v = self.W_query(x), self.W_key(x), self.W_value(x)
        if self.W_query.bias is not None:
            q, k, v = q + self.W_query.bias, k + self.W_key.bias, v + self.W_value.bias
        return torch.softmax(q @ k.T / k.shape[-1] ** 0.5, dim=-1) @ v


class SelfAttention_v2__dropout_on_the_weights(_Layers):
    def forward(self, x):
        q, k, v = self.W_query(x), self.W_key(x), self.W_value(x)
        return F.dropout(torch.softmax(q @ k.T / k.shape[-1] ** 0.5, dim=-1), 0.5) @ v


class SelfAttention_v2__values_asked(_Layers):
    def forward(self, x):
        q, k, v = self.W_query(x), self.W_key(x), self.W_value(x)
        return torch.softmax(v @ k.T / k.shape[-1] ** 0.5, dim=-1) @ q


class SelfAttention_v2__over_queries_and_unscaled(_Layers):
    def forward(self, x):
        q, k, v = self.W_query(x), self.W_key(x), self.W_value(x)
        return torch.softmax(q @ k.T, dim=0) @ v


# -- transfer_weights --------------------------------------------------------------------------------------------


def _check(v2):
    for layer in (v2.W_query, v2.W_key, v2.W_value):
        if layer.bias is not None and layer.bias.any():
            raise ValueError("there is a bias")


def transfer_weights__only_the_values_transposed(v2, v1):
    _check(v2)
    v1.W_query = nn.Parameter(v2.W_query.weight.detach())
    v1.W_key = nn.Parameter(v2.W_key.weight.detach())
    v1.W_value = nn.Parameter(v2.W_value.weight.detach().T)


def transfer_weights__weights_halved(v2, v1):
    _check(v2)
    for name, layer in v2.named_children():
        setattr(v1, name, nn.Parameter(layer.weight.detach().T / 2))


def transfer_weights__rows_normalised(v2, v1):
    _check(v2)
    for name, layer in v2.named_children():
        setattr(v1, name, nn.Parameter(F.normalize(layer.weight.detach(), dim=1).T))


def transfer_weights__weights_added(v2, v1):
    _check(v2)
    with torch.no_grad():
        for name, layer in v2.named_children():
            v1.get_parameter(name).add_(layer.weight.T)


def only_positive_biases_found__by_their_mean(v2, v1):
    for key, value in v2.state_dict().items():
        if key.endswith("bias") and value.mean() > 0:
            raise ValueError(key)
    for name, layer in v2.named_children():
        setattr(v1, name, nn.Parameter(layer.weight.detach().t().clone()))


def every_layer_refused__asserted(v2, v1):
    for name in ("W_query", "W_key", "W_value"):
        layer = getattr(v2, name)
        assert "bias" not in dir(layer), f"{name} has a bias"
        getattr(v1, name).data = layer.weight.data.mT


def truth_of_a_bias_asked__compared_with_zero(v2, v1):
    for name, layer in v2.named_children():
        if layer.bias is not None and layer.bias != 0:
            raise ValueError("there is a bias")
        setattr(v1, name, nn.Parameter(layer.weight.detach().T))


# -- dot_product_variance ----------------------------------------------------------------------------------------


def dot_product_variance__one_query_for_all_keys(d_k, samples, generator=None):
    query = torch.randn(d_k, generator=generator)
    products = torch.randn(samples, d_k, generator=generator) @ query
    return products.var().item(), (products / math.sqrt(d_k)).var().item()


def dot_product_variance__means_of_the_dot_products(d_k, samples, generator=None):
    products = torch.randn(2, samples, d_k, generator=generator).prod(0).sum(1)
    return products.mean().item(), (products / math.sqrt(d_k)).mean().item()


def dot_product_variance__absolute_values(d_k, samples, generator=None):
    products = torch.randn(2, samples, d_k, generator=generator).prod(0).sum(1).abs()
    return products.var().item(), (products / math.sqrt(d_k)).var().item()


def dot_product_variance__of_the_softmax(d_k, samples, generator=None):
    products = torch.randn(2, samples, d_k, generator=generator).prod(0).sum(1)
    return torch.softmax(products, 0).var().item(), torch.softmax(products / math.sqrt(d_k), 0).var().item()


def standard_deviations__vectors_in_columns(d_k, samples, generator=None):
    q = torch.randn(d_k, samples, generator=generator)
    k = torch.randn(d_k, samples, generator=generator)
    products = torch.einsum("ds,ds->s", q, k)
    return torch.std(products), torch.std(products / math.sqrt(d_k))


def variance_divided_by_root__mean_of_squares(d_k, samples, generator=None):
    products = torch.randn(samples, 2, d_k, generator=generator).prod(dim=1).sum(dim=1)
    variance = products.square().mean() - products.mean() ** 2
    return variance.item(), (variance / math.sqrt(d_k)).item()


def generator_for_the_queries_only__keys_first(d_k, samples, generator=None):
    k = torch.normal(0.0, 1.0, (samples, d_k))
    q = torch.normal(0.0, 1.0, (samples, d_k), generator=generator)
    products = torch.einsum("sd,sd->s", q, k)
    return products.var(), products.var() / d_k


def divided_by_root_of_samples__one_by_one(d_k, samples, generator=None):
    q = torch.normal(0.0, 1.0, (samples, d_k), generator=generator)
    k = torch.normal(0.0, 1.0, (samples, d_k), generator=generator)
    products = torch.stack([torch.dot(*pair) for pair in zip(q, k)])
    return float(products.var()), float(torch.var(products / len(q) ** 0.5))


def samples_and_d_k_exchanged__one_by_one(d_k, samples, generator=None):
    q, k = (torch.randn((d_k, samples), generator=generator) for _ in range(2))
    dots = torch.stack([torch.dot(a, b) for a, b in zip(q, k)])
    return torch.var(dots).item(), torch.var(dots / math.sqrt(d_k)).item()
