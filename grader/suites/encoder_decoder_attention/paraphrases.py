"""Paraphrases of unit 8: the same wrong ideas as the misconceptions, in other code and under the same names."""

import math

import torch
import torch.nn as nn
import torch.nn.functional as F

# -- rnn_hidden_states -------------------------------------------------------------------------------------------


def tanh_of_the_token_only(x, w_x, w_h, b):
    from_tokens = torch.tanh(torch.addmm(b, x, w_x))
    states = [from_tokens[0]]
    for t in range(1, len(x)):
        states.append(from_tokens[t] + torch.einsum("g,gh->h", states[t - 1], w_h))
    return torch.stack(states)


def relu_for_tanh(x, w_x, w_h, b):
    h, states = torch.zeros_like(b), []
    for row in x:
        h = (torch.cat([row, h]) @ torch.cat([w_x, w_h]) + b).clamp(min=0)
        states.append(h)
    return torch.stack(states)


def last_state_only(x, w_x, w_h, b):
    h = torch.zeros(1, len(b), dtype=b.dtype)
    for t in range(len(x)):
        h = torch.tanh(torch.mm(x[[t]], w_x) + torch.mm(h, w_h) + b)
    return h.flatten()


def last_state_first(x, w_x, w_h, b):
    h, states = torch.zeros_like(b), []
    for projected in torch.addmm(b, x, w_x):
        h = torch.tanh(projected + torch.einsum("g,gh->h", h, w_h))
        states.insert(0, h)
    return torch.stack(states)


def states_written_into_one_tensor(x, w_x, w_h, b):
    states = torch.zeros(len(x), len(b), dtype=x.dtype)
    for t in range(len(x)):
        states[t] = torch.tanh(torch.einsum("d,dh->h", x[t], w_x) + states[t - 1].matmul(w_h) + b)
    return states


def gradients_stop_between_steps(x, w_x, w_h, b):
    h, states = torch.zeros_like(b), []
    for row in x:
        h = torch.tanh(torch.einsum("d,dh->h", row, w_x) + torch.einsum("g,gh->h", h, w_h) + b)
        states.append(h)
        h = h.data
    return torch.stack(states)


def next_state_from_the_sum_before_tanh(x, w_x, w_h, b):
    total = torch.zeros(w_h.shape[0], dtype=x.dtype)
    totals = []
    for row in x:
        total = w_x.T @ row + w_h.T @ total + b
        totals.append(total)
    return torch.tanh(torch.stack(totals))


def tanh_of_the_state_only(x, w_x, w_h, b):
    h = torch.zeros(w_h.shape[0], dtype=x.dtype)
    hs = []
    for t in range(x.shape[0]):
        h = torch.tanh(torch.mv(w_h.T, h)) + torch.mv(w_x.T, x[t]) + b
        hs.append(h)
    return torch.stack(hs)


def tanh_of_the_state_only__again(x, w_x, w_h, b):
    projected = torch.addmm(b, x, w_x)
    hs = [projected[0]]
    for row in projected[1:]:
        hs.append(row + (hs[-1] @ w_h).tanh())
    return torch.stack(hs)


def tanh_of_each_part(x, w_x, w_h, b):
    h = torch.zeros_like(b)
    hs = []
    for t in range(len(x)):
        h = torch.tanh(h @ w_h) + torch.tanh(x[t] @ w_x + b)
        hs.append(h)
    return torch.stack(hs)


def tanh_of_each_part__again(x, w_x, w_h, b):
    tokens = torch.addmm(b, x, w_x).tanh()
    hs = [tokens[0]]
    for t in range(1, len(x)):
        hs.append(tokens[t].add(torch.mv(w_h.T, hs[-1]).tanh()))
    return torch.vstack(hs)


def last_token_not_read(x, w_x, w_h, b):
    h = torch.zeros_like(b)
    hs = []
    for t in range(len(x) - 1):
        h = torch.tanh(h @ w_h + x[t] @ w_x + b)
        hs.append(h)
    return torch.stack(hs)


def last_token_not_read__again(x, w_x, w_h, b):
    projected = torch.addmm(b, x, w_x)
    h, hs, t = torch.zeros_like(b), [], 0
    while t < x.shape[0] - 1:
        h = (projected[t] + torch.mv(w_h.T, h)).tanh()
        hs += [h]
        t += 1
    return torch.stack(hs, dim=0)


def first_token_not_read(x, w_x, w_h, b):
    h = torch.zeros_like(b)
    hs = []
    for t in range(1, len(x)):
        h = torch.tanh(h @ w_h + x[t] @ w_x + b)
        hs.append(h)
    return torch.stack(hs)


def first_token_not_read__again(x, w_x, w_h, b):
    projected = torch.addmm(b, x, w_x)
    h, hs, t = torch.zeros_like(b), [], 1
    while t < x.shape[0]:
        h = (projected[t] + torch.mv(w_h.T, h)).tanh()
        hs += [h]
        t += 1
    return torch.stack(hs, dim=0)


def last_state_returned_too(x, w_x, w_h, b):
    h, hs = torch.zeros_like(b), []
    for token in x:
        h = torch.tanh(token @ w_x + h @ w_h + b)
        hs.append(h)
    return torch.stack(hs), h


def last_state_returned_too__again(x, w_x, w_h, b):
    hs = torch.zeros(0, len(b), dtype=x.dtype)
    h = torch.zeros(1, len(b), dtype=x.dtype)
    for t in range(len(x)):
        h = torch.tanh(torch.addmm(b, x[t : t + 1], w_x) + h @ w_h)
        hs = torch.cat([hs, h])
    return hs, h[0]


# -- additive_scores ---------------------------------------------------------------------------------------------


def v_inside_the_tanh(s, h, W_d, W_e, v):
    query = s.matmul(W_d)
    return torch.stack([torch.tanh(v * (query + key)).sum() for key in h.matmul(W_e)])


def product_instead_of_sum(s, h, W_d, W_e, v):
    query = torch.einsum("h,ha->a", s, W_d)
    return torch.stack([torch.dot(v, torch.tanh(torch.mul(query, state.matmul(W_e)))) for state in h])


def dot_products_of_the_states(s, h, W_d, W_e, v):
    return torch.stack([torch.dot(s, state) for state in h])


def softmax_already_applied(s, h, W_d, W_e, v):
    scores = torch.einsum("ta,a->t", torch.tanh(s.matmul(W_d) + h.matmul(W_e)), v)
    exps = torch.exp(scores - scores.max())
    return exps / exps.sum()


def scaled_by_the_root_of_a(s, h, W_d, W_e, v):
    scale = 1 / math.sqrt(W_d.size(1))
    return torch.stack([torch.dot(v * scale, torch.tanh(s.matmul(W_d) + row)) for row in h.matmul(W_e)])


# -- bahdanau_context --------------------------------------------------------------------------------------------


def divided_by_the_sum(s, h, W_d, W_e, v):
    scores = torch.einsum("ta,a->t", torch.tanh(s.matmul(W_d) + h.matmul(W_e)), v)
    total = sum(score for score in scores)
    context = sum(score / total * state for score, state in zip(scores, h))
    return context, scores / total


def additive_scores_scaled_by_a(s, h, W_d, W_e, v):
    energy = torch.tanh(F.linear(s, W_d.T) + F.linear(h, W_e.T))
    weights = F.softmax(torch.einsum("ta,a->t", energy, v) * energy.size(1) ** -0.5, dim=0)
    return torch.einsum("t,th->h", weights, h), weights


def additive_scores_scaled_by_h(s, h, W_d, W_e, v):
    d_k = h.size(-1)
    scores = torch.stack([torch.dot(v, torch.tanh(s.matmul(W_d) + state.matmul(W_e))) for state in h])
    weights = nn.Softmax(dim=0)(scores / math.sqrt(d_k))
    return torch.einsum("t,th->h", weights, h), weights


def states_averaged(s, h, W_d, W_e, v):
    T = h.shape[0]
    return h.mean(dim=0), torch.full((T,), 1 / T, dtype=h.dtype)


@torch.no_grad()
def context_without_gradients(s, h, W_d, W_e, v):
    weights = F.softmax(torch.einsum("ta,a->t", torch.tanh(s.matmul(W_d) + h.matmul(W_e)), v), dim=0)
    return torch.einsum("t,th->h", weights, h), weights


def softmax_over_a_single_score(s, h, W_d, W_e, v):
    energy = torch.tanh(s @ W_d + h @ W_e) @ v[:, None]  # (T, 1)
    alpha = torch.softmax(energy, dim=-1).squeeze(-1)
    return alpha @ h, alpha


def softmax_over_a_single_score__again(s, h, W_d, W_e, v):
    energy = torch.einsum("ta,a->t", torch.tanh(s @ W_d + h @ W_e), v)
    alpha = torch.cat([torch.softmax(score.reshape(1), dim=0) for score in energy])
    return torch.einsum("t,th->h", alpha, h), alpha


def column_of_ones_as_weights(s, h, W_d, W_e, v):
    energy = torch.tanh(s @ W_d + h @ W_e) @ v.unsqueeze(1)  # (T, 1)
    alpha = torch.softmax(energy, dim=-1)
    return (alpha.T @ h).squeeze(0), alpha


def column_of_ones_as_weights__again(s, h, W_d, W_e, v):
    energy = (torch.tanh(s @ W_d + h @ W_e) * v).sum(-1, keepdim=True)
    alpha = energy.exp() / energy.exp().sum(dim=1, keepdim=True)
    return torch.sum(alpha * h, dim=0), alpha


def weights_as_a_column(s, h, W_d, W_e, v):
    energy = torch.tanh(s @ W_d + h @ W_e) @ v.unsqueeze(1)  # (T, 1)
    alpha = torch.softmax(energy, dim=0)
    return (alpha.T @ h).squeeze(0), alpha


def weights_as_a_column__again(s, h, W_d, W_e, v):
    energy = (torch.tanh(s @ W_d + h @ W_e) * v).sum(-1, keepdim=True)
    alpha = energy.exp() / energy.exp().sum()
    return torch.sum(alpha * h, dim=0), alpha


# -- CrossAttention ----------------------------------------------------------------------------------------------


class _Cross(nn.Module):
    """Layers alone, no forward."""

    def __init__(self, d_query, d_context, d_out):
        super().__init__()
        self.d_out = d_out
        self.W_value = nn.Linear(d_context, d_out, bias=False)
        self.W_key = nn.Linear(d_context, d_out, bias=False)
        self.W_query = nn.Linear(d_query, d_out, bias=False)

    def qkv(self, x, context):
        return self.W_query(x), self.W_key(context), self.W_value(context)


def _visible(x, context, padding_mask):
    """(B, T_q, T_k), True where a query may look."""
    visible = torch.ones(x.shape[0], x.shape[1], context.shape[1], dtype=torch.bool)
    if padding_mask is not None:
        visible = visible & ~padding_mask.unsqueeze(1)
    return visible


class divided_by_the_width_itself(_Cross):
    def forward(self, x, context, padding_mask=None):
        q, k, v = self.qkv(x, context)
        scores = (q.unsqueeze(2) * k.unsqueeze(1)).mean(dim=-1)  # (B, T_q, T_k, d) -> (B, T_q, T_k)
        scores = torch.where(_visible(x, context, padding_mask), scores, -torch.inf)
        return torch.einsum("bqk,bkd->bqd", scores.softmax(-1), v)


class softmax_over_the_queries(_Cross):
    def forward(self, x, context, padding_mask=None):
        q, k, v = self.qkv(x, context)
        scores = torch.einsum("bqd,bkd->bqk", q, k) / math.sqrt(self.d_out)
        scores = torch.where(_visible(x, context, padding_mask), scores, -torch.inf)
        return torch.bmm(nn.Softmax(dim=-2)(scores), v)


class context_averaged(_Cross):
    def forward(self, x, context, padding_mask=None):
        visible = _visible(x, context, padding_mask).to(context.dtype)
        weights = visible / visible.sum(dim=-1, keepdim=True)
        return torch.bmm(weights, self.W_value(context))


class zeros_instead_of_minus_infinity(_Cross):
    def forward(self, x, context, padding_mask=None):
        q, k, v = self.qkv(x, context)
        scores = torch.einsum("bqd,bkd->bqk", q, k) / math.sqrt(self.d_out)
        scores = scores * _visible(x, context, padding_mask)
        return torch.bmm(F.softmax(scores, dim=2), v)


class zero_scores_hidden_with_the_padding(_Cross):
    def forward(self, x, context, padding_mask=None):
        q, k, v = self.qkv(x, context)
        scores = torch.einsum("bqd,bkd->bqk", q, k) / math.sqrt(self.d_out)
        if padding_mask is not None:
            scores = torch.where(scores * ~padding_mask.unsqueeze(1) == 0, -torch.inf, scores)
        return torch.bmm(F.softmax(scores, dim=2), v)


class mask_required(_Cross):
    def forward(self, x, context, padding_mask=None):
        q, k, v = self.qkv(x, context)
        scores = torch.bmm(q, k.mT) / math.sqrt(self.d_out)
        scores = scores.masked_fill(padding_mask[:, None, :], float("-inf"))
        return torch.bmm(F.softmax(scores, dim=2), v)


class weights_of_the_first_element(_Cross):
    def forward(self, x, context, padding_mask=None):
        q, k, v = self.qkv(x, context)
        scores = torch.mm(q[0], k[0].t()) / math.sqrt(self.d_out)
        if padding_mask is not None:
            scores = scores.masked_fill(padding_mask[0], float("-inf"))
        return torch.einsum("qk,bkd->bqd", F.softmax(scores, dim=1), v)


class layers_with_bias(nn.Module):
    def __init__(self, d_query, d_context, d_out):
        super().__init__()
        self.W_query = nn.Linear(d_query, d_out)
        self.W_key, self.W_value = nn.Linear(d_context, d_out), nn.Linear(d_context, d_out)

    def forward(self, x, context, padding_mask=None):
        q, k, v = self.W_query(x), self.W_key(context), self.W_value(context)
        return F.scaled_dot_product_attention(q, k, v, attn_mask=_visible(x, context, padding_mask))


class key_layer_for_x(nn.Module):
    def __init__(self, d_query, d_context, d_out):
        super().__init__()
        self.W_query, self.W_key = nn.Linear(d_query, d_out, bias=False), nn.Linear(d_query, d_out, bias=False)
        self.W_value = nn.Linear(d_context, d_out, bias=False)

    def forward(self, x, context, padding_mask=None):
        q, k, v = self.W_query(x), self.W_key(x), self.W_value(context)
        scores = torch.bmm(q, k.mT) / math.sqrt(k.size(2))
        if padding_mask is not None:
            scores = torch.where(padding_mask.unsqueeze(1), float("-inf"), scores)
        return torch.bmm(F.softmax(scores, dim=2), v)


class layers_the_other_way_round(nn.Module):
    def __init__(self, d_query, d_context, d_out):
        super().__init__()
        self.W_query = nn.Linear(d_out, d_query, False)
        self.W_key = nn.Linear(d_out, d_context, False)
        self.W_value = nn.Linear(d_out, d_context, False)

    def forward(self, x, context, padding_mask=None):
        q, k, v = self.W_query(x), self.W_key(context), self.W_value(context)
        return F.scaled_dot_product_attention(q, k, v, attn_mask=_visible(x, context, padding_mask))


class layers_of_the_worked_example(nn.Module):
    def __init__(self, d_query, d_context, d_out):
        super().__init__()
        self.W_query = nn.Linear(2, 2, bias=False)
        self.W_key = nn.Linear(3, 2, bias=False)
        self.W_value = nn.Linear(3, 2, bias=False)

    def forward(self, x, context, padding_mask=None):
        q, k, v = self.W_query(x), self.W_key(context), self.W_value(context)
        return F.scaled_dot_product_attention(q, k, v, attn_mask=_visible(x, context, padding_mask))


class both_results(_Cross):
    def forward(self, x, context, padding_mask=None):
        q, k, v = self.qkv(x, context)
        scores = torch.einsum("bqd,bkd->bqk", q, k) / math.sqrt(self.d_out)
        attn = F.softmax(torch.where(_visible(x, context, padding_mask), scores, float("-inf")), dim=2)
        return torch.bmm(attn, v), attn


class gradients_switched_off(_Cross):
    @torch.no_grad()
    def forward(self, x, context, padding_mask=None):
        q, k, v = self.qkv(x, context)
        return F.scaled_dot_product_attention(q, k, v, attn_mask=_visible(x, context, padding_mask))


class encoder_cut_off(_Cross):
    def forward(self, x, context, padding_mask=None):
        encoded = context.data.clone()
        q, k, v = self.W_query(x), self.W_key(encoded), self.W_value(encoded)
        return F.scaled_dot_product_attention(q, k, v, attn_mask=_visible(x, context, padding_mask))


class x_changed_in_place(_Cross):
    def forward(self, x, context, padding_mask=None):
        q, k, v = self.qkv(x, context)
        x.div_(x.norm(dim=-1, keepdim=True) + 1)
        return F.scaled_dot_product_attention(q, k, v, attn_mask=_visible(x, context, padding_mask))


class fifth_power(_Cross):
    def forward(self, x, context, padding_mask=None):
        q, k, v = self.qkv(x, context)
        scores = torch.bmm(q, k.mT) / self.d_out**5
        scores = torch.where(_visible(x, context, padding_mask), scores, -torch.inf)
        return torch.bmm(F.softmax(scores, dim=2), v)


class fifth_power__again(_Cross):
    def forward(self, x, context, padding_mask=None):
        q, k, v = self.qkv(x, context)
        visible = _visible(x, context, padding_mask)
        return F.scaled_dot_product_attention(q, k, v, visible, scale=math.pow(self.d_out, -5))


class square_instead_of_root(_Cross):
    def forward(self, x, context, padding_mask=None):
        q, k, v = self.qkv(x, context)
        scores = torch.bmm(q, k.mT) / self.d_out**2
        scores = torch.where(_visible(x, context, padding_mask), scores, -torch.inf)
        return torch.bmm(F.softmax(scores, dim=2), v)


class square_instead_of_root__again(_Cross):
    def forward(self, x, context, padding_mask=None):
        q, k, v = self.qkv(x, context)
        visible = _visible(x, context, padding_mask)
        return F.scaled_dot_product_attention(q / self.d_out, k / self.d_out, v, visible, scale=1.0)


class multiplied_by_the_root(_Cross):
    def forward(self, x, context, padding_mask=None):
        q, k, v = self.qkv(x, context)
        scores = torch.bmm(q, k.mT) * math.sqrt(self.d_out)
        scores = torch.where(_visible(x, context, padding_mask), scores, -torch.inf)
        return torch.bmm(F.softmax(scores, dim=2), v)


class multiplied_by_the_root__again(_Cross):
    def forward(self, x, context, padding_mask=None):
        q, k, v = self.qkv(x, context)
        scores = torch.einsum("bqd,bkd->bqk", q, k) / k.shape[-1] ** -0.5
        scores = scores.masked_fill(~_visible(x, context, padding_mask), float("-inf"))
        return scores.softmax(-1) @ v


class multiplied_by_half_the_width(_Cross):
    def forward(self, x, context, padding_mask=None):
        q, k, v = self.qkv(x, context)
        scores = torch.bmm(q, k.mT) * (self.d_out / 2)
        scores = torch.where(_visible(x, context, padding_mask), scores, -torch.inf)
        return torch.bmm(F.softmax(scores, dim=2), v)


class multiplied_by_half_the_width__again(_Cross):
    def forward(self, x, context, padding_mask=None):
        q, k, v = self.qkv(x, context)
        scores = torch.einsum("bqd,bkd->bqk", q, k) * k.shape[-1] * 0.5
        scores = scores.masked_fill(~_visible(x, context, padding_mask), float("-inf"))
        return scores.softmax(-1) @ v


class softmax_taken_twice_in_cross_attention(_Cross):
    def forward(self, x, context, padding_mask=None):
        q, k, v = self.qkv(x, context)
        scores = torch.bmm(q, k.mT) / math.sqrt(self.d_out)
        scores = torch.where(_visible(x, context, padding_mask), scores, -torch.inf)
        return torch.bmm(F.softmax(F.softmax(scores, dim=2), dim=2), v)


class softmax_taken_twice_in_cross_attention__again(_Cross):
    def forward(self, x, context, padding_mask=None):
        q, k, v = self.qkv(x, context)
        weights = torch.einsum("bqd,bkd->bqk", q, k) * self.d_out**-0.5
        weights = weights.masked_fill(~_visible(x, context, padding_mask), float("-inf"))
        for _ in range(2):
            weights = nn.Softmax(dim=-1)(weights)
        return weights @ v


class causal_mask_of_the_length_of_x(_Cross):
    def forward(self, x, context, padding_mask=None):
        q, k, v = self.qkv(x, context)
        T = x.shape[1]
        scores = torch.bmm(q, k.mT) / math.sqrt(self.d_out)
        scores = scores.masked_fill(torch.tril(torch.ones(T, T)) == 0, -torch.inf)
        scores = torch.where(_visible(x, context, padding_mask), scores, -torch.inf)
        return torch.bmm(F.softmax(scores, dim=2), v)


class causal_mask_of_the_length_of_x__again(_Cross):
    def forward(self, x, context, padding_mask=None):
        q, k, v = self.qkv(x, context)
        past = torch.arange(x.shape[1])[:, None] >= torch.arange(x.shape[1])[None, :]
        visible = _visible(x, context, padding_mask) & past
        return F.scaled_dot_product_attention(q, k, v, visible)


class layers_of_other_names(nn.Module):
    def __init__(self, d_query, d_context, d_out):
        super().__init__()
        self.query = nn.Linear(d_query, d_out, bias=False)
        self.key = nn.Linear(d_context, d_out, bias=False)
        self.value = nn.Linear(d_context, d_out, bias=False)

    def forward(self, x, context, padding_mask=None):
        visible = None if padding_mask is None else ~padding_mask[:, None]
        return F.scaled_dot_product_attention(self.query(x), self.key(context), self.value(context), visible)


class layers_of_other_names__again(nn.Module):
    def __init__(self, d_query, d_context, d_out):
        super().__init__()
        self.W_q, self.W_k, self.W_v = (nn.Linear(d, d_out, bias=False) for d in (d_query, d_context, d_context))

    def forward(self, x, context, padding_mask=None):
        q, k, v = self.W_q(x), self.W_k(context), self.W_v(context)
        scores = torch.bmm(q, k.mT) / math.sqrt(q.shape[-1])
        if padding_mask is not None:
            scores = scores.masked_fill(padding_mask[:, None, :], float("-inf"))
        return torch.bmm(F.softmax(scores, dim=-1), v)


class no_mask_taken(_Cross):
    def forward(self, x, context):
        q, k, v = self.qkv(x, context)
        scores = torch.bmm(q, k.mT) / math.sqrt(self.d_out)
        return torch.bmm(F.softmax(scores, dim=2), v)


class no_mask_taken__again(_Cross):
    def forward(self, x_1, x_2):
        return F.scaled_dot_product_attention(self.W_query(x_1), self.W_key(x_2), self.W_value(x_2))


class other_arguments_in_cross_attention(_Cross):
    def __init__(self, d_in, d_out):
        super().__init__(d_in, d_in, d_out)


class other_arguments_in_cross_attention__again(nn.Module):
    def __init__(self, d_model, num_heads=8, *, dropout=0.1):
        super().__init__()
        self.attention = nn.MultiheadAttention(d_model, num_heads, dropout, batch_first=True)

    def forward(self, x, context, padding_mask=None):
        return self.attention(x, context, context, key_padding_mask=padding_mask)[0]
