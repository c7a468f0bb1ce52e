"""Unit 8's misconceptions once more, each written as another learner who holds the same wrong idea would write it."""

import math

import torch
import torch.nn as nn
import torch.nn.functional as F

# -- rnn_hidden_states -------------------------------------------------------------------------------------------


def starts_from_ones(x, w_x, w_h, b):
    h = torch.ones(1, b.size(0), dtype=x.dtype)
    states = []
    for t in range(x.size(0)):
        h = torch.tanh(torch.mm(x[t : t + 1], w_x) + torch.mm(h, w_h) + b)
        states.append(h)
    return torch.cat(states)


def starts_from_the_bias(x, w_x, w_h, b):
    h, rows = b.clone(), []
    for projected in torch.einsum("td,dh->th", x, w_x):
        h = projected.add(h @ w_h).add(b).tanh()
        rows.append(h)
    return torch.stack(rows)


def tanh_forgotten(x, w_x, w_h, b):
    h, rows = torch.zeros_like(b), []
    for t in range(len(x)):
        h = F.linear(x[t], w_x.T, b) + F.linear(h, w_h.T)
        rows.append(h[None])
    return torch.cat(rows)


def tanh_of_the_token_only(x, w_x, w_h, b):
    from_tokens = torch.tanh(torch.addmm(b, x, w_x))
    states = [from_tokens[0]]
    for t in range(1, len(x)):
        states.append(from_tokens[t] + torch.einsum("g,gh->h", states[t - 1], w_h))
    return torch.stack(states)


def bias_after_tanh(x, w_x, w_h, b):
    h, states = 0 * b, []
    for row in x:
        h = torch.add(torch.tanh(row.matmul(w_x) + h.matmul(w_h)), b)
        states.append(h)
    return torch.vstack(states)


def relu_for_tanh(x, w_x, w_h, b):
    h, states = torch.zeros_like(b), []
    for row in x:
        h = (torch.cat([row, h]) @ torch.cat([w_x, w_h]) + b).clamp(min=0)
        states.append(h)
    return torch.stack(states)


def sigmoid_for_tanh(x, w_x, w_h, b):
    h, states = torch.zeros_like(b), []
    for row in torch.addmm(b, x, w_x):
        h = 1 / (1 + torch.exp(-(row + h @ w_h)))
        states.append(h)
    return torch.stack(states)


def bias_forgotten(x, w_x, w_h, b):
    size = w_h.size(0)
    h, states = x.new_zeros(size), []
    for projected in x.matmul(w_x).unbind(0):
        h = torch.tanh(projected + torch.mv(w_h.t(), h))
        states.append(h)
    return torch.stack(states, dim=0)


def bias_in_the_first_step_only(x, w_x, w_h, b):
    h, states = b, []
    for t, projected in enumerate(torch.mm(x, w_x)):
        h = torch.tanh(projected + (h if t == 0 else torch.einsum("g,gh->h", h, w_h)))
        states.append(h)
    return torch.stack(states)


def W_h_transposed(x, w_x, w_h, b):
    h, states = torch.zeros_like(b), []
    for row in x:
        h = torch.tanh(F.linear(row, w_x.T, b) + F.linear(h, w_h))
        states.append(h)
    return torch.stack(states)


def W_x_transposed_or_exchanged(x, w_x, w_h, b):
    h, states = torch.zeros_like(b), []
    for row in x:
        h = torch.tanh(row.matmul(w_h) + h.matmul(w_x) + b)
        states.append(h)
    return torch.stack(states)


def state_before_not_used(x, w_x, w_h, b):
    h = torch.zeros_like(b)
    states = []
    for row in x:
        new_h = torch.tanh(torch.einsum("d,dh->h", row, w_x) + h @ w_h + b)
        states.append(new_h)
    return torch.stack(states)


def last_state_only(x, w_x, w_h, b):
    h = torch.zeros(1, len(b), dtype=b.dtype)
    for t in range(len(x)):
        h = torch.tanh(torch.mm(x[[t]], w_x) + torch.mm(h, w_h) + b)
    return h.flatten()


def last_state_in_every_row(x, w_x, w_h, b):
    h = torch.zeros_like(b)
    states = []
    for row in x:
        h.copy_(torch.tanh(row @ w_x + h @ w_h + b))
        states.append(h)
    return torch.stack(states)


def last_state_first(x, w_x, w_h, b):
    h, states = torch.zeros_like(b), []
    for projected in torch.addmm(b, x, w_x):
        h = torch.tanh(projected + torch.einsum("g,gh->h", h, w_h))
        states.insert(0, h)
    return torch.stack(states)


def read_from_right_to_left(x, w_x, w_h, b):
    T = len(x)
    states = [None] * T
    h = torch.zeros_like(b)
    for t in range(T - 1, -1, -1):
        states[t] = h = torch.tanh(torch.einsum("d,dh->h", x[t], w_x) + h.matmul(w_h) + b)
    return torch.stack(states)


def tokens_from_the_last_to_the_first(x, w_x, w_h, b):
    h, states = torch.zeros_like(b), []
    for row in reversed(torch.mm(x, w_x) + b):
        h = torch.tanh(torch.mv(w_h.t(), h) + row)
        states.append(h)
    return torch.stack(states)


def states_before_the_tokens(x, w_x, w_h, b):
    h, states = torch.zeros_like(b), []
    for projected in torch.addmm(b, x, w_x):
        states.append(h)
        h = torch.tanh(projected + h.matmul(w_h))
    return torch.stack(states)


def zeros_as_a_row(x, w_x, w_h, b):
    states = [torch.zeros_like(b)]
    for projected in torch.addmm(b, x, w_x):
        states.append(torch.tanh(projected + torch.einsum("g,gh->h", states[-1], w_h)))
    return torch.stack(states)


def states_in_one_long_row(x, w_x, w_h, b):
    h, states = torch.zeros_like(b), []
    for row in x:
        h = torch.tanh(torch.einsum("d,dh->h", row, w_x) + torch.einsum("g,gh->h", h, w_h) + b)
        states.append(h)
    return torch.cat(states)


def states_as_columns(x, w_x, w_h, b):
    h, states = b.new_zeros(len(b), 1), []
    for row in x:
        h = torch.tanh(w_x.T @ row[:, None] + w_h.T @ h + b[:, None])
        states.append(h)
    return torch.cat(states, dim=1)


def states_written_into_one_tensor(x, w_x, w_h, b):
    states = torch.zeros(len(x), len(b), dtype=x.dtype)
    for t in range(len(x)):
        states[t] = torch.tanh(torch.einsum("d,dh->h", x[t], w_x) + states[t - 1].matmul(w_h) + b)
    return states


def list_of_states(x, w_x, w_h, b):
    h, states = torch.zeros_like(b), []
    for projected in torch.addmm(b, x, w_x):
        h = torch.tanh(projected + h.matmul(w_h))
        states.append(h)
    return states


def states_added_up(x, w_x, w_h, b):
    h, states = torch.zeros_like(b), []
    for t in range(len(x)):
        step = torch.tanh(torch.cat([x[t], h]) @ torch.cat([w_x, w_h]) + b)
        h = h + step
        states.append(h)
    return torch.stack(states)


def lonely_state_squeezed(x, w_x, w_h, b):
    h = torch.tanh(x[0].matmul(w_x) + b)
    if x.shape[0] == 1:
        return h
    states = [h]
    for row in x[1:]:
        h = torch.tanh(row.matmul(w_x) + h.matmul(w_h) + b)
        states.append(h)
    return torch.stack(states)


def zeros_of_another_dtype(x, w_x, w_h, b):
    h, states = torch.zeros(1, w_h.size(1)), []
    for t in range(len(x)):
        h = torch.tanh(torch.mm(x[t : t + 1], w_x) + torch.mm(h, w_h) + b)
        states.append(h)
    return torch.cat(states, dim=0)


def states_without_gradients(x, w_x, w_h, b):
    h, states = torch.zeros_like(b), []
    for projected in torch.addmm(b, x, w_x):
        h = torch.tanh(projected + h.matmul(w_h))
        states.append(h.tolist())
    return torch.tensor(states)


def gradients_stop_between_steps(x, w_x, w_h, b):
    h, states = torch.zeros_like(b), []
    for row in x:
        h = torch.tanh(torch.einsum("d,dh->h", row, w_x) + torch.einsum("g,gh->h", h, w_h) + b)
        states.append(h)
        h = h.data
    return torch.stack(states)


def inputs_changed_in_place(x, w_x, w_h, b):
    h, states = torch.zeros_like(b), []
    for row in x:
        h = torch.tanh(torch.einsum("d,dh->h", row, w_x) + torch.einsum("g,gh->h", h, w_h) + b)
        states.append(h)
        row.zero_()
    return torch.stack(states)


# -- additive_scores ---------------------------------------------------------------------------------------------


def additive_without_tanh(s, h, W_d, W_e, v):
    return torch.stack([torch.dot(v, s @ W_d + state @ W_e) for state in h])


def tanh_of_the_scores(s, h, W_d, W_e, v):
    total = torch.einsum("h,ha->a", s, W_d).unsqueeze(0) + torch.einsum("th,ha->ta", h, W_e)
    return torch.mv(total, v).tanh()


def tanh_of_each_side(s, h, W_d, W_e, v):
    decoder_part = s.matmul(W_d).tanh()
    scores = []
    for state in h:
        encoder_part = state.matmul(W_e).tanh()
        scores.append(torch.dot(v, decoder_part + encoder_part))
    return torch.stack(scores)


def v_inside_the_tanh(s, h, W_d, W_e, v):
    query = s.matmul(W_d)
    return torch.stack([torch.tanh(v * (query + key)).sum() for key in h.matmul(W_e)])


def relu_for_tanh_in_scores(s, h, W_d, W_e, v):
    total = torch.einsum("h,ha->a", s, W_d) + torch.einsum("th,ha->ta", h, W_e)
    return torch.einsum("a,ta->t", v, total.clamp(min=0))


def product_instead_of_sum(s, h, W_d, W_e, v):
    query = torch.einsum("h,ha->a", s, W_d)
    return torch.stack([torch.dot(v, torch.tanh(torch.mul(query, state.matmul(W_e)))) for state in h])


def difference_instead_of_sum(s, h, W_d, W_e, v):
    scores = []
    for state in h:
        scores.append(v.dot(torch.tanh(s.matmul(W_d).sub(state.matmul(W_e)))))
    return torch.stack(scores)


def side_by_side_or_turned_round(s, h, W_d, W_e, v):
    energy = torch.tanh(F.linear(s, W_d.T) + F.linear(h, W_e.T))
    return v @ energy


def matrices_exchanged(s, h, W_d, W_e, v):
    queries = torch.einsum("th,ha->ta", h, W_d)
    key = torch.einsum("h,ha->a", s, W_e)
    return torch.tanh(queries + key).mul(v).sum(dim=1)


def matrices_transposed(s, h, W_d, W_e, v):
    energy = torch.tanh(F.linear(s, W_d) + F.linear(h, W_e))
    return torch.mv(energy, v)


def decoder_state_ignored(s, h, W_d, W_e, v):
    return torch.stack([torch.dot(torch.tanh(torch.mv(W_e.t(), state)), v) for state in h])


def dot_products_of_the_states(s, h, W_d, W_e, v):
    return torch.stack([torch.dot(s, state) for state in h])


def dot_products_of_the_projections(s, h, W_d, W_e, v):
    query, keys = s.matmul(W_d), h.matmul(W_e)
    return torch.einsum("a,ta->t", query, keys)


def v_not_used(s, h, W_d, W_e, v):
    energy = torch.tanh(torch.einsum("h,ha->a", s, W_d) + torch.einsum("th,ha->ta", h, W_e))
    return torch.einsum("ta->t", energy)


def not_added_up(s, h, W_d, W_e, v):
    rows = [v * torch.tanh(s.matmul(W_d) + state.matmul(W_e)) for state in h]
    return torch.stack(rows)


def scores_as_a_column(s, h, W_d, W_e, v):
    energy = torch.tanh(torch.mm(s.unsqueeze(0), W_d) + torch.mm(h, W_e))
    return torch.mm(energy, v.unsqueeze(1))


def softmax_already_applied(s, h, W_d, W_e, v):
    scores = torch.einsum("ta,a->t", torch.tanh(s.matmul(W_d) + h.matmul(W_e)), v)
    exps = torch.exp(scores - scores.max())
    return exps / exps.sum()


def scaled_by_the_root_of_a(s, h, W_d, W_e, v):
    scale = 1 / math.sqrt(W_d.size(1))
    return torch.stack([torch.dot(v * scale, torch.tanh(s.matmul(W_d) + row)) for row in h.matmul(W_e)])


def lonely_score_squeezed(s, h, W_d, W_e, v):
    energy = torch.tanh(torch.mm(s[None], W_d) + torch.mm(h, W_e))
    return torch.squeeze(torch.mm(energy, v[:, None]))


def states_made_float32(s, h, W_d, W_e, v):
    s, h = s.to(torch.float32), h.to(torch.float32)
    return torch.mv(torch.tanh(torch.mv(W_d.t(), s) + torch.mm(h, W_e)), v)


@torch.no_grad()
def scores_without_gradients(s, h, W_d, W_e, v):
    return torch.stack([torch.dot(v, torch.tanh(s.matmul(W_d) + state.matmul(W_e))) for state in h])


def encoder_learns_nothing(s, h, W_d, W_e, v):
    scores = []
    for state in h.data:
        scores.append(torch.dot(v, torch.tanh(torch.mv(W_d.t(), s) + torch.mv(W_e.t(), state))))
    return torch.stack(scores)


def encoder_states_changed_in_place(s, h, W_d, W_e, v):
    projected = torch.mm(h, W_e) + torch.mv(W_d.t(), s)
    h.copy_(h.tanh())
    return torch.einsum("ta,a->t", torch.tanh(projected), v)


# -- bahdanau_context --------------------------------------------------------------------------------------------


def scores_as_weights(s, h, W_d, W_e, v):
    weights = torch.stack([torch.dot(v, torch.tanh(s.matmul(W_d) + state.matmul(W_e))) for state in h])
    return torch.einsum("t,th->h", weights, h), weights


def divided_by_the_sum(s, h, W_d, W_e, v):
    scores = torch.einsum("ta,a->t", torch.tanh(s.matmul(W_d) + h.matmul(W_e)), v)
    total = sum(score for score in scores)
    context = sum(score / total * state for score, state in zip(scores, h))
    return context, scores / total


def exponentials_not_divided(s, h, W_d, W_e, v):
    scores = torch.mv(torch.tanh(torch.mv(W_d.t(), s) + torch.mm(h, W_e)), v)
    exps = math.e**scores
    return torch.mv(h.t(), exps), exps


def additive_scores_scaled_by_a(s, h, W_d, W_e, v):
    energy = torch.tanh(F.linear(s, W_d.T) + F.linear(h, W_e.T))
    weights = F.softmax(torch.einsum("ta,a->t", energy, v) * energy.size(1) ** -0.5, dim=0)
    return torch.einsum("t,th->h", weights, h), weights


def additive_scores_scaled_by_h(s, h, W_d, W_e, v):
    d_k = h.size(-1)
    scores = torch.stack([torch.dot(v, torch.tanh(s.matmul(W_d) + state.matmul(W_e))) for state in h])
    weights = nn.Softmax(dim=0)(scores / math.sqrt(d_k))
    return torch.einsum("t,th->h", weights, h), weights


def softmax_taken_twice(s, h, W_d, W_e, v):
    scores = torch.mv(torch.tanh(s.matmul(W_d) + h.matmul(W_e)), v)
    weights = F.softmax(scores, dim=0)
    exps = torch.exp(weights)
    weights = exps / exps.sum()
    return (weights.unsqueeze(1) * h).sum(dim=0), weights


def states_averaged(s, h, W_d, W_e, v):
    T = h.shape[0]
    return h.mean(dim=0), torch.full((T,), 1 / T, dtype=h.dtype)


def best_state_takes_all(s, h, W_d, W_e, v):
    scores = torch.mv(torch.tanh(s.matmul(W_d) + h.matmul(W_e)), v)
    best = scores.argmax()
    weights = torch.zeros_like(scores)
    weights[best] = 1
    return h[best], weights


def last_state_as_the_context(s, h, W_d, W_e, v):
    scores = torch.stack([torch.dot(v, torch.tanh(s.matmul(W_d) + state.matmul(W_e))) for state in h])
    exps = scores.exp()
    *_, context = h
    return context, exps / exps.sum()


def context_without_tanh(s, h, W_d, W_e, v):
    scores = torch.einsum("th,ha,a->t", h, W_e, v) + torch.einsum("h,ha,a->", s, W_d, v)
    weights = nn.Softmax(dim=-1)(scores)
    return torch.einsum("t,th->h", weights, h), weights


def matrices_exchanged_in_context(s, h, W_d, W_e, v):
    query, keys = torch.mv(W_e.t(), s), torch.mm(h, W_d)
    scores = torch.stack([torch.dot(v, torch.tanh(query + key)) for key in keys])
    weights = F.softmax(scores, dim=0)
    return torch.mv(h.t(), weights), weights


def decoder_state_ignored_in_context(s, h, W_d, W_e, v):
    scores = torch.stack([torch.dot(torch.tanh(torch.mv(W_e.t(), state)), v) for state in h])
    exps = torch.exp(scores)
    weights = exps / exps.sum()
    return torch.einsum("t,th->h", weights, h), weights


def dot_products_in_context(s, h, W_d, W_e, v):
    weights = F.softmax(torch.einsum("h,th->t", s, h), dim=0)
    return torch.einsum("t,th->h", weights, h), weights


def projections_mixed(s, h, W_d, W_e, v):
    keys = torch.einsum("th,ha->ta", h, W_e)
    weights = F.softmax(torch.einsum("ta,a->t", torch.tanh(keys + s.matmul(W_d)), v), dim=0)
    return torch.einsum("t,ta->a", weights, keys), weights


def states_not_added_up(s, h, W_d, W_e, v):
    scores = torch.mv(torch.tanh(s.matmul(W_d) + h.matmul(W_e)), v)
    weights = nn.Softmax(dim=0)(scores)
    return torch.stack([weight * state for weight, state in zip(weights, h)]), weights


def context_as_a_row(s, h, W_d, W_e, v):
    scores = torch.stack([torch.dot(v, torch.tanh(s.matmul(W_d) + state.matmul(W_e))) for state in h])
    weights = F.softmax(scores, dim=0)
    return torch.mm(weights.unsqueeze(0), h), weights


def decoder_state_added(s, h, W_d, W_e, v):
    scores = torch.mv(torch.tanh(s.matmul(W_d) + h.matmul(W_e)), v)
    weights = F.softmax(scores, dim=0)
    context = s
    for t in range(len(h)):
        context = context + weights[t] * h[t]
    return context, weights


def weights_first(s, h, W_d, W_e, v):
    exps = torch.exp(torch.einsum("ta,a->t", torch.tanh(s.matmul(W_d) + h.matmul(W_e)), v))
    weights = exps / exps.sum()
    return [weights, torch.einsum("t,th->h", weights, h)]


def context_alone(s, h, W_d, W_e, v):
    exps = torch.exp(torch.einsum("ta,a->t", torch.tanh(s.matmul(W_d) + h.matmul(W_e)), v))
    return torch.einsum("t,th->h", exps, h) / exps.sum()


def scores_in_the_place_of_weights(s, h, W_d, W_e, v):
    scores = torch.stack([torch.dot(v, torch.tanh(s.matmul(W_d) + state.matmul(W_e))) for state in h])
    context = torch.mv(h.t(), F.softmax(scores, dim=0))
    return context, scores


def lonely_weight_squeezed(s, h, W_d, W_e, v):
    energy = torch.tanh(torch.mm(s[None], W_d) + torch.mm(h, W_e))
    weights = F.softmax(torch.mm(energy, v[:, None]), dim=0)
    context = (weights * h).sum(0)
    return context, weights.squeeze()


def states_made_float32_in_context(s, h, W_d, W_e, v):
    s, h = s.type(torch.float32), h.type(torch.float32)
    scores = torch.stack([torch.dot(v, torch.tanh(torch.mv(W_d.t(), s) + torch.mv(W_e.t(), state))) for state in h])
    weights = F.softmax(scores, dim=0)
    return torch.einsum("t,th->h", weights, h), weights


@torch.no_grad()
def context_without_gradients(s, h, W_d, W_e, v):
    weights = F.softmax(torch.einsum("ta,a->t", torch.tanh(s.matmul(W_d) + h.matmul(W_e)), v), dim=0)
    return torch.einsum("t,th->h", weights, h), weights


def where_to_look_is_not_learnt(s, h, W_d, W_e, v):
    scores = torch.einsum("ta,a->t", torch.tanh(s.matmul(W_d) + h.matmul(W_e)), v)
    weights = nn.Softmax(dim=0)(scores)
    context = sum(weight.item() * state for weight, state in zip(weights, h))
    return context, weights


def encoder_states_weighted_in_place(s, h, W_d, W_e, v):
    weights = F.softmax(torch.einsum("ta,a->t", torch.tanh(s.matmul(W_d) + h.matmul(W_e)), v), dim=0)
    for t in range(len(h)):
        h[t] *= weights[t]
    return h.sum(dim=0), weights


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


class scaling_forgotten(_Cross):
    def forward(self, x, context, padding_mask=None):
        q, k, v = self.qkv(x, context)
        return F.scaled_dot_product_attention(q, k, v, attn_mask=_visible(x, context, padding_mask), scale=1.0)


class half_instead_of_root(_Cross):
    def forward(self, x, context, padding_mask=None):
        q, k, v = self.qkv(x, context)
        scores = torch.einsum("bqd,bkd->bqk", q, k) / self.d_out * 0.5
        scores = torch.where(_visible(x, context, padding_mask), scores, float("-inf"))
        return torch.bmm(F.softmax(scores, dim=2), v)


class twentieth_root(_Cross):
    def forward(self, x, context, padding_mask=None):
        q, k, v = self.qkv(x, context)
        visible = _visible(x, context, padding_mask)
        return F.scaled_dot_product_attention(q, k, v, attn_mask=visible, scale=self.d_out**-0.05)


class divided_by_the_width_itself(_Cross):
    def forward(self, x, context, padding_mask=None):
        q, k, v = self.qkv(x, context)
        scores = (q.unsqueeze(2) * k.unsqueeze(1)).mean(dim=-1)  # (B, T_q, T_k, d) -> (B, T_q, T_k)
        scores = torch.where(_visible(x, context, padding_mask), scores, -torch.inf)
        return torch.einsum("bqk,bkd->bqd", scores.softmax(-1), v)


class scaled_by_d_query(_Cross):
    def forward(self, x, context, padding_mask=None):
        d_k = x.size(-1)
        outputs = []
        for b in range(len(x)):
            q, k, v = self.qkv(x[b], context[b])
            scores = torch.mm(q, k.t()) / math.sqrt(d_k)
            if padding_mask is not None:
                scores[:, padding_mask[b]] = -torch.inf
            outputs.append(F.softmax(scores, dim=1).mm(v))
        return torch.stack(outputs)


class scaled_by_d_context(_Cross):
    def forward(self, x, context, padding_mask=None):
        B, T_k, d_k = context.shape
        q, k, v = self.qkv(x, context)
        visible = _visible(x, context, padding_mask)
        return F.scaled_dot_product_attention(q, k, v, attn_mask=visible, scale=1 / math.sqrt(d_k))


class scaled_by_the_length_of_the_context(_Cross):
    def forward(self, x, context, padding_mask=None):
        q, k, v = self.qkv(x, context)
        scores = torch.einsum("bqd,bkd->bqk", q, k) / math.sqrt(k.size(1))
        if padding_mask is not None:
            scores = scores + torch.zeros_like(scores).masked_fill(padding_mask.unsqueeze(1), float("-inf"))
        return torch.bmm(F.softmax(scores, dim=2), v)


class scaled_after_softmax(_Cross):
    def forward(self, x, context, padding_mask=None):
        q, k, v = self.qkv(x, context)
        visible = _visible(x, context, padding_mask)
        return F.scaled_dot_product_attention(q, k, v / math.sqrt(self.d_out), attn_mask=visible, scale=1.0)


class queries_from_context(_Cross):
    def forward(self, x, context, padding_mask=None):
        Q, K, V = [layer(context) for layer in (self.W_query, self.W_key, self.W_value)]
        scores = torch.einsum("bqd,bkd->bqk", Q, K) / math.sqrt(self.d_out)
        if padding_mask is not None:
            scores = scores.masked_fill(padding_mask.unsqueeze(1), float("-inf"))
        return torch.bmm(nn.Softmax(dim=2)(scores), V)


class keys_from_x(_Cross):
    def forward(self, x, context, padding_mask=None):
        v = self.W_value(context)
        k = self.W_key(x)
        q = self.W_query(x)
        scores = torch.bmm(q, k.permute(0, 2, 1)) / math.sqrt(self.d_out)
        if padding_mask is not None:
            scores = torch.where(padding_mask.unsqueeze(1), float("-inf"), scores)
        return torch.bmm(F.softmax(scores, dim=2), v)


class values_from_x(_Cross):
    def forward(self, x, context, padding_mask=None):
        q, v = self.W_query(x), self.W_value(x)
        k = self.W_key(context)
        return F.scaled_dot_product_attention(q, k, v, attn_mask=_visible(x, context, padding_mask))


class context_never_looked_at(_Cross):
    def forward(self, x, context, padding_mask=None):
        scores = torch.einsum("bqd,bkd->bqk", self.W_query(x), self.W_key(x)) * self.d_out**-0.5
        if padding_mask is not None:
            scores = torch.where(padding_mask.unsqueeze(1), -torch.inf, scores)
        return torch.einsum("bqk,bkd->bqd", scores.softmax(dim=-1), self.W_value(x))


class x_and_context_exchanged(_Cross):
    def forward(self, context, x, padding_mask=None):
        q, k, v = self.W_query(x), self.W_key(context), self.W_value(context)
        scores = torch.bmm(q, k.permute(0, 2, 1)) / math.sqrt(self.d_out)
        if padding_mask is not None:
            scores = scores.masked_fill(padding_mask.unsqueeze(1), float("-inf"))
        return torch.bmm(F.softmax(scores, dim=2), v)


class keys_handed_over(_Cross):
    def forward(self, x, context, padding_mask=None):
        q, k = self.W_query(x), self.W_key(context)
        return F.scaled_dot_product_attention(q, k, k, attn_mask=_visible(x, context, padding_mask))


class context_mixed_unprojected(_Cross):
    def forward(self, x, context, padding_mask=None):
        scores = torch.einsum("bqd,bkd->bqk", self.W_query(x), self.W_key(context)) / math.sqrt(self.d_out)
        scores = torch.where(_visible(x, context, padding_mask), scores, -torch.inf)
        return torch.einsum("bqk,bkc->bqc", scores.softmax(dim=-1), context)


class keys_and_values_exchanged(_Cross):
    def forward(self, x, context, padding_mask=None):
        q, v, k = self.qkv(x, context)
        return F.scaled_dot_product_attention(q, k, v, attn_mask=_visible(x, context, padding_mask))


class keys_ask_the_queries(_Cross):
    def forward(self, x, context, padding_mask=None):
        q, k, v = self.qkv(x, context)
        scores = torch.einsum("bkd,bqd->bkq", k, q) * self.d_out**-0.5
        if padding_mask is not None:
            scores = scores.masked_fill(padding_mask.unsqueeze(1), float("-inf"))
        return torch.bmm(F.softmax(scores, dim=2), v)


class causal_mask_applied(_Cross):
    def forward(self, x, context, padding_mask=None):
        q, k, v = self.qkv(x, context)
        visible = torch.tril(_visible(x, context, padding_mask))
        return F.scaled_dot_product_attention(q, k, v, attn_mask=visible)


class softmax_over_the_queries(_Cross):
    def forward(self, x, context, padding_mask=None):
        q, k, v = self.qkv(x, context)
        scores = torch.einsum("bqd,bkd->bqk", q, k) / math.sqrt(self.d_out)
        scores = torch.where(_visible(x, context, padding_mask), scores, -torch.inf)
        return torch.bmm(nn.Softmax(dim=-2)(scores), v)


class softmax_over_the_batch(_Cross):
    def forward(self, x, context, padding_mask=None):
        q, k, v = self.qkv(x, context)
        scores = torch.bmm(q, k.permute(0, 2, 1)).div(math.sqrt(self.d_out))
        scores = torch.where(_visible(x, context, padding_mask), scores, -torch.inf)
        exps = torch.exp(scores - scores.max(dim=0).values)
        return torch.einsum("bqk,bkd->bqd", exps / exps.sum(0), v)


class softmax_over_everything(_Cross):
    def forward(self, x, context, padding_mask=None):
        outputs = []
        for b in range(x.size(0)):
            q, k, v = self.qkv(x[b], context[b])
            scores = torch.mm(q, k.t()) / math.sqrt(self.d_out)
            if padding_mask is not None:
                scores = scores.masked_fill(padding_mask[b], float("-inf"))
            exps = torch.exp(scores - scores.max())
            outputs.append(torch.mm(exps / exps.sum(), v))
        return torch.stack(outputs)


class softmax_forgotten(_Cross):
    def forward(self, x, context, padding_mask=None):
        q, k, v = self.qkv(x, context)
        weights = torch.einsum("bqd,bkd->bqk", q, k) * self.d_out**-0.5
        weights = torch.where(_visible(x, context, padding_mask), weights, -torch.inf)
        return torch.bmm(weights, v)


class context_averaged(_Cross):
    def forward(self, x, context, padding_mask=None):
        visible = _visible(x, context, padding_mask).to(context.dtype)
        weights = visible / visible.sum(dim=-1, keepdim=True)
        return torch.bmm(weights, self.W_value(context))


class mask_without_effect(_Cross):
    def forward(self, x, context, padding_mask=None):
        q, k, v = self.qkv(x, context)
        scores = torch.bmm(q, k.permute(0, 2, 1)) / math.sqrt(self.d_out)
        if padding_mask is not None:
            scores.masked_fill(padding_mask.unsqueeze(1), float("-inf"))
        return torch.bmm(F.softmax(scores, dim=2), v)


class mask_upside_down(_Cross):
    def forward(self, x, context, padding_mask=None):
        q, k, v = self.qkv(x, context)
        scores = torch.bmm(q, k.mT) / math.sqrt(self.d_out)
        if padding_mask is not None:
            scores = torch.where(padding_mask.unsqueeze(1), scores, float("-inf"))
        return torch.bmm(F.softmax(scores, dim=2), v)


class mask_upside_down_for_torch(_Cross):
    def forward(self, x, context, padding_mask=None):
        q, k, v = [part.unsqueeze(1) for part in self.qkv(x, context)]  # one head
        mask = padding_mask
        if mask is not None:
            mask = mask.view(len(mask), 1, 1, -1)
        return F.scaled_dot_product_attention(q, k, v, mask).squeeze(1)


class mask_over_the_queries(_Cross):
    def forward(self, x, context, padding_mask=None):
        q, k, v = self.qkv(x, context)
        scores = torch.einsum("bqd,bkd->bqk", q, k) / math.sqrt(self.d_out)
        if padding_mask is not None:
            scores = torch.where(padding_mask.unsqueeze(-1), float("-inf"), scores)
        return torch.bmm(F.softmax(scores, dim=2), v)


class mask_without_a_dimension_for_queries(_Cross):
    def forward(self, x, context, padding_mask=None):
        q, k, v = self.qkv(x, context)
        scores = torch.einsum("bqd,bkd->bqk", q, k) / math.sqrt(self.d_out)
        if padding_mask is not None:
            scores = torch.where(padding_mask, float("-inf"), scores)
        return torch.bmm(F.softmax(scores, dim=2), v)


class padding_takes_its_share(_Cross):
    def forward(self, x, context, padding_mask=None):
        q, k, v = self.qkv(x, context)
        if padding_mask is not None:
            v = v.masked_fill(padding_mask.unsqueeze(2), 0.0)
        return F.scaled_dot_product_attention(q, k, v)


class renormalized_after_softmax(_Cross):
    def forward(self, x, context, padding_mask=None):
        q, k, v = self.qkv(x, context)
        scores = torch.einsum("bqd,bkd->bqk", q, k) / math.sqrt(self.d_out)
        exps = torch.exp(scores - scores.amax(dim=2, keepdim=True))
        exps = exps * _visible(x, context, padding_mask)
        return torch.bmm(exps / exps.sum(dim=2, keepdim=True), v)


class zeros_instead_of_minus_infinity(_Cross):
    def forward(self, x, context, padding_mask=None):
        q, k, v = self.qkv(x, context)
        scores = torch.einsum("bqd,bkd->bqk", q, k) / math.sqrt(self.d_out)
        scores = scores * _visible(x, context, padding_mask)
        return torch.bmm(F.softmax(scores, dim=2), v)


class padding_set_to_zero_in_context(_Cross):
    def forward(self, x, context, padding_mask=None):
        if padding_mask is not None:
            context = torch.where(padding_mask.unsqueeze(2), 0.0, context)
        q, k, v = self.qkv(x, context)
        return F.scaled_dot_product_attention(q, k, v)


class a_thousand_subtracted(_Cross):
    def forward(self, x, context, padding_mask=None):
        q, k, v = self.qkv(x, context)
        scores = torch.einsum("bqd,bkd->bqk", q, k) / math.sqrt(self.d_out)
        if padding_mask is not None:
            scores = scores + padding_mask.unsqueeze(1).to(scores.dtype) * -1e3
        return torch.bmm(F.softmax(scores, dim=2), v)


class scores_of_padding_set_to_minus_a_hundred(_Cross):
    def forward(self, x, context, padding_mask=None):
        q, k, v = self.qkv(x, context)
        scores = torch.einsum("bqd,bkd->bqk", q, k) / math.sqrt(self.d_out)
        if padding_mask is not None:
            scores = torch.where(padding_mask.unsqueeze(1), -50.0, scores)
        return torch.bmm(F.softmax(scores, dim=2), v)


class zero_times_infinity(_Cross):
    def forward(self, x, context, padding_mask=None):
        q, k, v = self.qkv(x, context)
        if padding_mask is None:
            return F.scaled_dot_product_attention(q, k, v)
        bias = float("-inf") * padding_mask.to(x.dtype).unsqueeze(1)
        scores = torch.bmm(q, k.mT) / math.sqrt(self.d_out) + bias
        return torch.bmm(F.softmax(scores, dim=2), v)


class plus_infinity(_Cross):
    def forward(self, x, context, padding_mask=None):
        q, k, v = self.qkv(x, context)
        scores = torch.bmm(q, k.mT) / math.sqrt(self.d_out)
        scores = torch.where(_visible(x, context, padding_mask), scores, float("inf"))
        return torch.bmm(F.softmax(scores, dim=2), v)


class padding_of_the_first_element(_Cross):
    def forward(self, x, context, padding_mask=None):
        q, k, v = self.qkv(x, context)
        scores = torch.bmm(q, k.mT) / math.sqrt(self.d_out)
        if padding_mask is not None:
            scores[:, :, padding_mask[0]] = float("-inf")
        return torch.bmm(F.softmax(scores, dim=2), v)


class padding_of_any_element(_Cross):
    def forward(self, x, context, padding_mask=None):
        if padding_mask is not None:
            keep = ~padding_mask.sum(dim=0).bool()
            context = context[:, keep]
        q, k, v = self.qkv(x, context)
        return F.scaled_dot_product_attention(q, k, v)


class padding_only_at_the_end(_Cross):
    def forward(self, x, context, padding_mask=None):
        outputs = []
        for b in range(len(x)):
            length = context.size(1)
            if padding_mask is not None:
                length = length - int(padding_mask[b].sum())
            q, k, v = self.qkv(x[b], context[b, :length])
            outputs.append(F.softmax(torch.mm(q, k.t()) / math.sqrt(self.d_out), dim=1).mm(v))
        return torch.stack(outputs)


class mask_required(_Cross):
    def forward(self, x, context, padding_mask=None):
        q, k, v = self.qkv(x, context)
        scores = torch.bmm(q, k.mT) / math.sqrt(self.d_out)
        scores = scores.masked_fill(padding_mask[:, None, :], float("-inf"))
        return torch.bmm(F.softmax(scores, dim=2), v)


class mask_asked_for_its_methods(_Cross):
    def forward(self, x, context, padding_mask=None):
        q, k, v = self.qkv(x, context)
        scores = torch.einsum("bqd,bkd->bqk", q, k) * self.d_out**-0.5
        scores = torch.where(padding_mask.unsqueeze(1), float("-inf"), scores)
        return torch.bmm(F.softmax(scores, dim=2), v)


class mask_without_a_default(_Cross):
    def forward(self, x, context, padding_mask):
        q, k, v = self.qkv(x, context)
        return F.scaled_dot_product_attention(q, k, v, attn_mask=_visible(x, context, padding_mask))


class mask_asked_for_yes_or_no(_Cross):
    def forward(self, x, context, padding_mask=None):
        q, k, v = self.qkv(x, context)
        if padding_mask is None:
            return F.scaled_dot_product_attention(q, k, v)
        visible = (1 - padding_mask).bool()
        return F.scaled_dot_product_attention(q, k, v, attn_mask=visible.unsqueeze(1))


class products_that_do_not_fit(_Cross):
    def forward(self, x, context, padding_mask=None):
        q, k, v = self.qkv(x, context)
        scores = torch.bmm(q, k) / math.sqrt(self.d_out)
        scores = torch.where(_visible(x, context, padding_mask), scores, float("-inf"))
        return torch.bmm(F.softmax(scores, dim=2), v)


class keys_reshaped(_Cross):
    def forward(self, x, context, padding_mask=None):
        q, k, v = self.qkv(x, context)
        B, T_k, d = k.size()
        scores = torch.bmm(q, k.contiguous().view(B, d, T_k)).div(math.sqrt(d))
        scores = torch.where(_visible(x, context, padding_mask), scores, float("-inf"))
        return torch.bmm(F.softmax(scores, dim=2), v)


class weights_of_the_first_element(_Cross):
    def forward(self, x, context, padding_mask=None):
        q, k, v = self.qkv(x, context)
        scores = torch.mm(q[0], k[0].t()) / math.sqrt(self.d_out)
        if padding_mask is not None:
            scores = scores.masked_fill(padding_mask[0], float("-inf"))
        return torch.einsum("qk,bkd->bqd", F.softmax(scores, dim=1), v)


class contexts_put_together(_Cross):
    def forward(self, x, context, padding_mask=None):
        words = torch.cat(list(context))
        if padding_mask is not None:
            words = words[~torch.cat(list(padding_mask))]
        k, v = self.W_key(words), self.W_value(words)
        scores = torch.einsum("bqd,kd->bqk", self.W_query(x), k) / math.sqrt(self.d_out)
        return F.softmax(scores, dim=2) @ v


class lonely_text_squeezed(_Cross):
    def forward(self, x, context, padding_mask=None):
        q, k, v = self.qkv(x, context)
        output = F.scaled_dot_product_attention(q, k, v, attn_mask=_visible(x, context, padding_mask))
        return torch.squeeze(output)


class as_many_queries_as_keys(_Cross):
    def forward(self, x, context, padding_mask=None):
        B, T, _ = x.shape
        q = self.W_query(x).view(B, T, self.d_out)
        k = self.W_key(context).view(B, T, self.d_out)
        v = self.W_value(context).view(B, T, self.d_out)
        return F.scaled_dot_product_attention(q, k, v, attn_mask=_visible(x, context, padding_mask))


class single_token_refused(_Cross):
    def forward(self, x, context, padding_mask=None):
        assert context.size(1) > 1, "a context needs several tokens"
        q, k, v = self.qkv(x, context)
        return F.scaled_dot_product_attention(q, k, v, attn_mask=_visible(x, context, padding_mask))


class layers_with_bias(nn.Module):
    def __init__(self, d_query, d_context, d_out):
        super().__init__()
        self.W_query = nn.Linear(d_query, d_out)
        self.W_key, self.W_value = nn.Linear(d_context, d_out), nn.Linear(d_context, d_out)

    def forward(self, x, context, padding_mask=None):
        q, k, v = self.W_query(x), self.W_key(context), self.W_value(context)
        return F.scaled_dot_product_attention(q, k, v, attn_mask=_visible(x, context, padding_mask))


class widths_exchanged(nn.Module):
    def __init__(self, d_context, d_query, d_out):
        super().__init__()
        self.W_query = nn.Linear(d_query, d_out, bias=False)
        self.W_key = nn.Linear(d_context, d_out, bias=False)
        self.W_value = nn.Linear(d_context, d_out, bias=False)

    def forward(self, x, context, padding_mask=None):
        q, k, v = self.W_query(x), self.W_key(context), self.W_value(context)
        return F.scaled_dot_product_attention(q, k, v, attn_mask=_visible(x, context, padding_mask))


class texts_exchanged(nn.Module):
    def __init__(self, d_query, d_context, d_out):
        super().__init__()
        self.W_query = nn.Linear(d_context, d_out, bias=False)
        self.W_key = nn.Linear(d_query, d_out, bias=False)
        self.W_value = nn.Linear(d_query, d_out, bias=False)

    def forward(self, x, context, padding_mask=None):
        q, k, v = self.W_query(context), self.W_key(x), self.W_value(x)
        scores = torch.einsum("bqd,bkd->bqk", q, k) / math.sqrt(k.size(2))
        if padding_mask is not None:
            scores = torch.where(padding_mask.unsqueeze(1), float("-inf"), scores)
        return torch.bmm(F.softmax(scores, dim=2), v)


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


class value_layer_for_x(nn.Module):
    def __init__(self, d_query, d_context, d_out):
        super().__init__()
        self.W_query, self.W_value = nn.Linear(d_query, d_out, bias=False), nn.Linear(d_query, d_out, bias=False)
        self.W_key = nn.Linear(d_context, d_out, bias=False)

    def forward(self, x, context, padding_mask=None):
        q, k, v = self.W_query(x), self.W_key(context), self.W_value(x)
        return F.scaled_dot_product_attention(q, k, v, attn_mask=_visible(x, context, padding_mask))


class all_layers_from_d_query(nn.Module):
    def __init__(self, d_query, d_context, d_out):
        super().__init__()
        for name in ("W_query", "W_key", "W_value"):
            self.add_module(name, nn.Linear(d_query, d_out, bias=False))

    def forward(self, x, context, padding_mask=None):
        q, k, v = self.W_query(x), self.W_key(context), self.W_value(context)
        return F.scaled_dot_product_attention(q, k, v, attn_mask=_visible(x, context, padding_mask))


class all_layers_from_d_context(nn.Module):
    def __init__(self, d_query, d_context, d_out):
        super().__init__()
        self.W_query, self.W_key, self.W_value = [nn.Linear(d_context, d_out, bias=False) for _ in range(3)]

    def forward(self, x, context, padding_mask=None):
        q, k, v = self.W_query(x), self.W_key(context), self.W_value(context)
        return F.scaled_dot_product_attention(q, k, v, attn_mask=_visible(x, context, padding_mask))


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


class matrices_instead_of_layers(nn.Module):
    def __init__(self, d_query, d_context, d_out):
        super().__init__()
        self.W_query = nn.Parameter(torch.randn(d_query, d_out))
        self.W_key = nn.Parameter(torch.randn(d_context, d_out))
        self.W_value = nn.Parameter(torch.randn(d_context, d_out))

    def forward(self, x, context, padding_mask=None):
        q, k, v = x.matmul(self.W_query), context.matmul(self.W_key), context.matmul(self.W_value)
        return F.scaled_dot_product_attention(q, k, v, attn_mask=_visible(x, context, padding_mask))


class both_results(_Cross):
    def forward(self, x, context, padding_mask=None):
        q, k, v = self.qkv(x, context)
        scores = torch.einsum("bqd,bkd->bqk", q, k) / math.sqrt(self.d_out)
        attn = F.softmax(torch.where(_visible(x, context, padding_mask), scores, float("-inf")), dim=2)
        return torch.bmm(attn, v), attn


class weights_instead_of_outputs(_Cross):
    def forward(self, x, context, padding_mask=None):
        q, k, _ = self.qkv(x, context)
        scores = torch.einsum("bqd,bkd->bqk", q, k) / math.sqrt(self.d_out)
        exps = torch.exp(torch.where(_visible(x, context, padding_mask), scores, float("-inf")))
        return exps / exps.sum(dim=2, keepdim=True)


class query_added(_Cross):
    def forward(self, x, context, padding_mask=None):
        q, k, v = self.qkv(x, context)
        attended = F.scaled_dot_product_attention(q, k, v, attn_mask=_visible(x, context, padding_mask))
        return attended + q


class gradients_switched_off(_Cross):
    @torch.no_grad()
    def forward(self, x, context, padding_mask=None):
        q, k, v = self.qkv(x, context)
        return F.scaled_dot_product_attention(q, k, v, attn_mask=_visible(x, context, padding_mask))


class only_values_learn(_Cross):
    def forward(self, x, context, padding_mask=None):
        with torch.no_grad():
            scores = torch.einsum("bqd,bkd->bqk", self.W_query(x), self.W_key(context)) / math.sqrt(self.d_out)
            attn = F.softmax(torch.where(_visible(x, context, padding_mask), scores, float("-inf")), dim=2)
        return torch.bmm(attn, self.W_value(context))


class encoder_cut_off(_Cross):
    def forward(self, x, context, padding_mask=None):
        encoded = context.data.clone()
        q, k, v = self.W_query(x), self.W_key(encoded), self.W_value(encoded)
        return F.scaled_dot_product_attention(q, k, v, attn_mask=_visible(x, context, padding_mask))


class texts_made_float32(_Cross):
    def forward(self, x, context, padding_mask=None):
        x, context = x.to(torch.float32), context.to(torch.float32)
        q, k, v = self.qkv(x, context)
        return F.scaled_dot_product_attention(q, k, v, attn_mask=_visible(x, context, padding_mask))


class x_changed_in_place(_Cross):
    def forward(self, x, context, padding_mask=None):
        q, k, v = self.qkv(x, context)
        x.div_(x.norm(dim=-1, keepdim=True) + 1)
        return F.scaled_dot_product_attention(q, k, v, attn_mask=_visible(x, context, padding_mask))


class context_changed_in_place(_Cross):
    def forward(self, x, context, padding_mask=None):
        if padding_mask is not None:
            context[padding_mask] = 0.0
        q, k, v = self.qkv(x, context)
        return F.scaled_dot_product_attention(q, k, v, attn_mask=_visible(x, context, padding_mask))


class mask_changed_in_place(_Cross):
    def forward(self, x, context, padding_mask=None):
        q, k, v = self.qkv(x, context)
        visible = None
        if padding_mask is not None:
            padding_mask ^= True
            visible = padding_mask.unsqueeze(1)
        return F.scaled_dot_product_attention(q, k, v, attn_mask=visible)
