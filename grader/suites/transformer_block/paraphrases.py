"""Paraphrases of unit 7: the same wrong ideas as the misconceptions, in other code and under the same names."""

import copy

import torch
import torch.nn as nn
import torch.nn.functional as F

# -- LayerNorm ---------------------------------------------------------------------------------------------------


class WithScaleAndShift(nn.Module):
    """Only the parameters. What is done with them each class says by itself."""

    def __init__(self, emb_dim, eps=1e-5):
        super().__init__()
        self.eps = eps
        self.emb_dim = emb_dim
        self.register_parameter("scale", nn.Parameter(torch.full((emb_dim,), 1.0)))
        self.register_parameter("shift", nn.Parameter(torch.full((emb_dim,), 0.0)))


class another_default_of_eps(nn.Module):
    def __init__(self, emb_dim, eps=1e-6):
        super().__init__()
        self.scale, self.shift = nn.Parameter(torch.ones(emb_dim)), nn.Parameter(torch.zeros(emb_dim))
        self.eps = eps

    def forward(self, x):
        return F.layer_norm(x, self.scale.shape, weight=self.scale, bias=self.shift, eps=self.eps)


class root_forgotten(WithScaleAndShift):
    def forward(self, x):
        mu = x.mean(-1, keepdim=True)
        sigma2 = (x * x).mean(-1, keepdim=True) - mu * mu
        return (x - mu).div(sigma2.add(self.eps)).mul(self.scale).add(self.shift)


class over_everything(WithScaleAndShift):
    def forward(self, x):
        flat = x.reshape(-1)
        flat = flat - flat.sum() / flat.numel()
        flat = flat / torch.sqrt(flat.dot(flat) / flat.numel() + self.eps)
        return flat.reshape(x.shape) * self.scale + self.shift


class rows_by_view(WithScaleAndShift):
    def forward(self, x):
        rows = x.view(x.numel() // self.emb_dim, self.emb_dim)
        mean = rows.mean(1, keepdim=True)
        var = (rows - mean).square().mean(1, keepdim=True)
        out = (rows - mean) / (var + self.eps).sqrt() * self.scale + self.shift
        return out.view_as(x)


class other_names(nn.Module):
    def __init__(self, emb_dim, eps=1e-5):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(emb_dim))
        self.bias = nn.Parameter(torch.zeros(emb_dim))
        self.variance_epsilon = eps

    def forward(self, x):
        return F.layer_norm(x, self.weight.shape, self.weight, self.bias, self.variance_epsilon)


class shift_unused(WithScaleAndShift):
    def forward(self, x):
        return F.layer_norm(x, (self.emb_dim,), weight=self.scale, eps=self.eps)


class scale_unused(WithScaleAndShift):
    def forward(self, x):
        return F.layer_norm(x, (self.emb_dim,), bias=self.shift, eps=self.eps)


class norm_of_the_annotated_transformer(nn.Module):
    def __init__(self, features, eps=1e-6):
        super().__init__()
        self.scale = nn.Parameter(torch.ones(features))
        self.shift = nn.Parameter(torch.zeros(features))
        self.eps = eps

    def forward(self, x):
        mean = x.mean(-1, keepdim=True)
        std = x.std(-1, keepdim=True)
        return self.scale * (x - mean) / (std + self.eps) + self.shift


class norm_of_the_annotated_transformer__again(WithScaleAndShift):
    def __init__(self, emb_dim, eps=1e-6):
        super().__init__(emb_dim, eps)

    def forward(self, x):
        d = x - x.mean(-1, keepdim=True)
        sigma = (d.square().sum(-1, keepdim=True) / (self.emb_dim - 1)).sqrt()
        return torch.addcmul(self.shift, d / (self.eps + sigma), self.scale)


class norm_of_the_annotated_transformer_with_its_names(nn.Module):
    def __init__(self, features, eps=1e-6):
        super().__init__()
        self.a_2 = nn.Parameter(torch.ones(features))
        self.b_2 = nn.Parameter(torch.zeros(features))
        self.eps = eps

    def forward(self, x):
        mean = x.mean(-1, keepdim=True)
        std = x.std(-1, keepdim=True)
        return self.a_2 * (x - mean) / (std + self.eps) + self.b_2


class norm_of_the_annotated_transformer_with_its_names__again(nn.Module):
    def __init__(self, d_model, eps=1e-6):
        super().__init__()
        self.register_parameter("gamma", nn.Parameter(torch.full((d_model,), 1.0)))
        self.register_parameter("beta", nn.Parameter(torch.full((d_model,), 0.0)))
        self.epsilon = eps

    def forward(self, x):
        deviation, mean = torch.std_mean(x, dim=-1, keepdim=True)
        return (x - mean).div(deviation.add(self.epsilon)).mul(self.gamma).add(self.beta)


class root_of_the_deviation(WithScaleAndShift):
    def forward(self, x):
        std, mean = x.std(-1, keepdim=True, unbiased=False), x.mean(-1, keepdim=True)
        return (x - mean) / torch.sqrt(std + self.eps) * self.scale + self.shift


class root_of_the_deviation__again(WithScaleAndShift):
    def forward(self, x):
        d = x - x.mean(-1, keepdim=True)
        sigma = d.square().mean(-1, keepdim=True) ** 0.5
        return d.mul((sigma + self.eps).rsqrt()).mul(self.scale).add(self.shift)


class mean_subtracted_too_late(WithScaleAndShift):
    def forward(self, x):
        mu = x.mean(-1, keepdim=True)
        sigma2 = x.var(-1, keepdim=True, correction=0)
        x_hat = x - mu / torch.sqrt(sigma2 + self.eps)
        return x_hat * self.scale + self.shift


class mean_subtracted_too_late__again(WithScaleAndShift):
    def forward(self, x):
        mu = x.sum(-1, keepdim=True) / self.emb_dim
        spread = ((x - mu) ** 2).mean(-1, keepdim=True).add(self.eps).sqrt()
        return torch.addcmul(self.shift, x.sub(mu.div(spread)), self.scale)


class three_sizes_read(WithScaleAndShift):
    def forward(self, x):
        B, T, C = x.shape
        mean = x.sum(2, keepdim=True) / C
        var = ((x - mean) ** 2).sum(2, keepdim=True) / C
        return self.scale * (x - mean) / torch.sqrt(var + self.eps) + self.shift


class three_sizes_read__again(WithScaleAndShift):
    def forward(self, x):
        (texts, tokens, features) = x.size()
        rows = x.reshape(texts * tokens, features)
        rows = F.layer_norm(rows, (features,), self.scale, self.shift, self.eps)
        return rows.reshape(texts, tokens, features)


class one_number_for_all_and_unbiased_variance(nn.Module):
    def __init__(self, emb_dim, eps=1e-5):
        super().__init__()
        self.eps = eps
        self.scale = nn.Parameter(torch.ones(1))
        self.shift = nn.Parameter(torch.zeros(1))

    def forward(self, x):
        mean = x.mean(dim=-1, keepdim=True)
        var = x.var(dim=-1, keepdim=True)
        return self.scale * (x - mean) / torch.sqrt(var + self.eps) + self.shift


class one_number_for_all_and_unbiased_variance__again(nn.Module):
    def __init__(self, emb_dim, eps=1e-5):
        super().__init__()
        self.eps = eps
        self.scale = nn.Parameter(torch.tensor(1.0))
        self.shift = nn.Parameter(torch.tensor(0.0))

    def forward(self, x):
        d = x - x.mean(-1, keepdim=True)
        var = d.square().sum(-1, keepdim=True) / (x.shape[-1] - 1)
        return d * torch.rsqrt(var + self.eps) * self.scale + self.shift


class eps_not_accepted(nn.Module):
    def __init__(self, emb_dim):
        super().__init__()
        self.eps = 1e-5
        self.scale = nn.Parameter(torch.ones(emb_dim))
        self.shift = nn.Parameter(torch.zeros(emb_dim))

    def forward(self, x):
        mean = x.mean(dim=-1, keepdim=True)
        var = x.var(dim=-1, keepdim=True, unbiased=False)
        norm_x = (x - mean) / torch.sqrt(var + self.eps)
        return self.scale * norm_x + self.shift


class eps_not_accepted__again(WithScaleAndShift):
    def __init__(self, emb_dim):
        super().__init__(emb_dim)

    def forward(self, x):
        return F.layer_norm(x, (self.emb_dim,), self.scale, self.shift)


class one_number_for_all_and_over_everything_and_unbiased_deviation_plus_eps(nn.Module):
    def __init__(self, emb_dim, eps=1e-5):
        super().__init__()
        self.eps = eps
        self.scale, self.shift = nn.Parameter(torch.ones(1)), nn.Parameter(torch.zeros(1))

    def forward(self, x):
        return (x - torch.mean(x)).div(torch.std(x) + self.eps).mul(self.scale).add(self.shift)


class unbiased_deviation_minus_eps(WithScaleAndShift):
    def forward(self, x):
        centred = x - x.mean(-1, keepdim=True)
        sigma = (centred.square().sum(-1, keepdim=True) / (self.emb_dim - 1)).sqrt()
        return centred / (sigma - self.eps) * self.scale + self.shift


# -- FeedForward -------------------------------------------------------------------------------------------------


class leaky_relu(nn.Module):
    def __init__(self, emb_dim, expansion=4):
        super().__init__()
        self.up = nn.Linear(emb_dim, emb_dim * expansion)
        self.down = nn.Linear(emb_dim * expansion, emb_dim)

    def forward(self, x):
        h = self.up(x)
        return self.down(torch.where(h > 0, h, 0.01 * h))


class no_activation(nn.Module):
    def __init__(self, emb_dim, expansion=4):
        super().__init__()
        self.mlp = nn.Sequential(nn.Linear(emb_dim, expansion * emb_dim), nn.Linear(expansion * emb_dim, emb_dim))

    def forward(self, x):
        return self.mlp(x)


class another_default(nn.Module):
    def __init__(self, emb_dim, expansion=2):
        super().__init__()
        self.inner = nn.Linear(emb_dim, emb_dim * expansion)
        self.outer = nn.Linear(self.inner.out_features, emb_dim)

    def forward(self, x):
        return F.linear(self.inner(x).relu(), self.outer.weight, self.outer.bias)


class biases_unused(nn.Module):
    def __init__(self, emb_dim, expansion=4):
        super().__init__()
        self.widen = nn.Linear(emb_dim, expansion * emb_dim)
        self.back = nn.Linear(expansion * emb_dim, emb_dim)

    def forward(self, x):
        hidden = torch.einsum("...c,hc->...h", x, self.widen.weight).relu()
        return torch.einsum("...h,ch->...c", hidden, self.back.weight)


class one_layer(nn.Module):
    def __init__(self, emb_dim, expansion=4):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(emb_dim, emb_dim), nn.ReLU())

    def forward(self, x):
        return self.net(x)


class feed_forward_detached(nn.Module):
    def __init__(self, emb_dim, expansion=4):
        super().__init__()
        self.up = nn.Linear(emb_dim, expansion * emb_dim)
        self.down = nn.Linear(expansion * emb_dim, emb_dim)

    def forward(self, x):
        with torch.no_grad():
            return self.down(F.relu(self.up(x)))


class gelu_by_tanh(nn.Module):
    def __init__(self, emb_dim, expansion=4):
        super().__init__()
        self.c_fc = nn.Linear(emb_dim, expansion * emb_dim)
        self.c_proj = nn.Linear(expansion * emb_dim, emb_dim)

    def forward(self, x):
        x = self.c_fc(x)
        cubic = torch.sqrt(torch.tensor(2.0 / torch.pi, dtype=x.dtype)) * (x + 0.044715 * torch.pow(x, 3))
        return self.c_proj(0.5 * x * (1 + torch.tanh(cubic)))


class gelu_by_tanh__again(nn.Sequential):
    def __init__(self, emb_dim, expansion=4):
        wide = expansion * emb_dim
        super().__init__(nn.Linear(emb_dim, wide), nn.GELU(approximate="tanh"), nn.Linear(wide, emb_dim))


class relu_made_but_not_called(nn.Module):
    def __init__(self, emb_dim, expansion=4):
        super().__init__()
        self.first = nn.Linear(emb_dim, expansion * emb_dim)
        self.second = nn.Linear(expansion * emb_dim, emb_dim)

    def forward(self, x):
        x = self.first(x)
        x = nn.ReLU(x)
        return self.second(x)


class relu_made_but_not_called__again(nn.Module):
    def __init__(self, emb_dim, expansion=4):
        super().__init__()
        self.net = nn.ModuleList([nn.Linear(emb_dim, expansion * emb_dim), nn.Linear(expansion * emb_dim, emb_dim)])
        self.activation = nn.ReLU

    def forward(self, x):
        return self.net[1](self.activation(self.net[0](x)))


class expansion_not_accepted(nn.Module):
    def __init__(self, n_embd):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(n_embd, 4 * n_embd), nn.ReLU(), nn.Linear(4 * n_embd, n_embd))

    def forward(self, x):
        return self.net(x)


class expansion_not_accepted__again(nn.Module):
    def __init__(self, emb_dim):
        super().__init__()
        self.up, self.down = nn.Linear(emb_dim, emb_dim * 4), nn.Linear(emb_dim * 4, emb_dim)

    def forward(self, x):
        return self.down(self.up(x).clamp(min=0))


class hidden_width_required(nn.Module):
    def __init__(self, d_model, d_ff, dropout=0.1):
        super().__init__()
        self.w_1 = nn.Linear(d_model, d_ff)
        self.w_2 = nn.Linear(d_ff, d_model)
        self.dropout = nn.Dropout(dropout)

    def forward(self, x):
        return self.w_2(self.dropout(self.w_1(x).relu()))


class hidden_width_required__again(nn.Sequential):
    def __init__(self, n, hidden):
        super().__init__(nn.Linear(n, hidden), nn.ReLU(), nn.Linear(hidden, n))


class no_expansion_and_gelu(nn.Module):
    def __init__(self, emb_dim, expansion=4):
        super().__init__()
        self.fc = nn.Linear(emb_dim, emb_dim)
        self.proj = nn.Linear(emb_dim, emb_dim)
        self.gelu = nn.GELU()

    def forward(self, x):
        return self.proj(self.gelu(self.fc(x)))


class no_expansion_and_gelu__again(nn.Sequential):
    def __init__(self, n, expansion=4):
        super().__init__(nn.Linear(n, n), nn.GELU(), nn.Linear(n, n))


# -- Residual ----------------------------------------------------------------------------------------------------


class gate_that_begins_at_zero(nn.Module):
    def __init__(self, sublayer):
        super().__init__()
        self.sublayer = sublayer
        self.alpha = nn.Parameter(torch.tensor([0.0]))

    def forward(self, x):
        return torch.addcmul(x, self.alpha, self.sublayer(x))


class sublayer_copied(nn.Module):
    def __init__(self, sublayer):
        super().__init__()
        self.layers = nn.ModuleList([sublayer])
        self.layers = copy.deepcopy(self.layers)

    def forward(self, x):
        return sum((layer(x) for layer in self.layers), start=x)


class squeezed(nn.Module):
    def __init__(self, sublayer):
        super().__init__()
        self.sublayer = sublayer

    def forward(self, x):
        out = torch.squeeze(self.sublayer(x))
        return torch.squeeze(x) + out


class sublayer_detached(nn.Module):
    def __init__(self, sublayer):
        super().__init__()
        self.sublayer = sublayer

    def forward(self, x):
        with torch.no_grad():
            given = self.sublayer(x)
        return given + x


class x_made_float32_in_residual(nn.Module):
    def __init__(self, sublayer):
        super().__init__()
        self.sublayer = sublayer

    def forward(self, x):
        x = torch.as_tensor(x, dtype=torch.float32)
        return self.sublayer(x) + x


# -- TransformerBlock --------------------------------------------------------------------------------------------


class WithParts(nn.Module):
    """Only what a block is made of. How the parts work together each class says by itself."""

    def __init__(self, attention, feed_forward, emb_dim, dropout):
        super().__init__()
        self.att = attention
        self.ff = feed_forward
        self.norm1 = nn.LayerNorm(emb_dim)
        self.norm2 = nn.LayerNorm(emb_dim)
        self.drop1 = nn.Dropout(dropout)
        self.drop2 = nn.Dropout(dropout)
        self.p = dropout


class norms_unused(WithParts):
    def forward(self, x):
        shortcut = x
        x = self.drop1(self.att(x)) + shortcut
        shortcut = x
        x = self.drop2(self.ff(x)) + shortcut
        return x


class one_norm_under_two_names(nn.Module):
    def __init__(self, attention, feed_forward, emb_dim, dropout):
        super().__init__()
        norm = nn.LayerNorm(emb_dim)
        self.norm1 = norm
        self.norm2 = norm
        self.sublayers = nn.ModuleList([attention, feed_forward])
        self.rate = dropout

    def forward(self, x):
        for norm, sublayer in zip([self.norm1, self.norm2], self.sublayers):
            x = F.dropout(sublayer(norm(x)), p=self.rate, training=self.training) + x
        return x


class norms_of_other_names(nn.Module):
    def __init__(self, attention, feed_forward, emb_dim, dropout):
        super().__init__()
        self.attn = nn.Sequential(nn.LayerNorm(emb_dim), attention, nn.Dropout(dropout))
        self.mlp = nn.Sequential(nn.LayerNorm(emb_dim), feed_forward, nn.Dropout(dropout))

    def forward(self, x):
        x = self.attn(x) + x
        x = self.mlp(x) + x
        return x


class x_added_once_more(WithParts):
    def forward(self, x):
        a = self.drop1(self.att(self.norm1(x)))
        f = self.drop2(self.ff(self.norm2(x + a)))
        return 2 * x + a + f


class feed_forward_not_dropped(WithParts):
    def forward(self, x):
        for part, norm, p in ((self.att, self.norm1, self.p), (self.ff, self.norm2, 0.0)):
            x = F.dropout(part(norm(x)), p, training=self.training) + x
        return x


class x_dropped(WithParts):
    def forward(self, x):
        x = F.dropout(x, self.p, training=self.training)
        for norm, part in ((self.norm1, self.att), (self.norm2, self.ff)):
            x = x + part(norm(x))
        return x


class kept_numbers_not_scaled(WithParts):
    def forward(self, x):
        for norm, part in ((self.norm1, self.att), (self.norm2, self.ff)):
            given = part(norm(x))
            if self.training:
                given = given.masked_fill(torch.rand_like(given) < self.p, 0.0)
            x = x + given
        return x


class share_turned_round(WithParts):
    def forward(self, x):
        for norm, part in ((self.norm1, self.att), (self.norm2, self.ff)):
            x = x + F.dropout(part(norm(x)), p=1 - self.p, training=self.training)
        return x


class texts_dropped_alike(WithParts):
    def forward(self, x):
        for norm, part in ((self.norm1, self.att), (self.norm2, self.ff)):
            mask = F.dropout(torch.ones_like(x[0]), self.p, self.training)  # (T, C)
            x = x + part(norm(x)) * mask
        return x


class block_squeezed(WithParts):
    def forward(self, x):
        x = x + self.drop1(self.att(self.norm1(x)))
        x = x + self.drop2(self.ff(self.norm2(x)))
        return x.reshape([size for size in x.shape if size != 1])


class one_norm_made_for_both(nn.Module):
    def __init__(self, attention, feed_forward, emb_dim, dropout):
        super().__init__()
        self.att, self.ff, self.norm1 = attention, feed_forward, nn.LayerNorm(emb_dim)
        self.drop = nn.Dropout(dropout)

    def forward(self, x):
        x = x + self.drop(self.att(self.norm1(x)))
        return x + self.drop(self.ff(self.norm1(x)))


class one_norm_made_for_both__again(nn.Module):
    def __init__(self, attention, feed_forward, emb_dim, dropout):
        super().__init__()
        self.norm1 = nn.LayerNorm(emb_dim)
        self.sublayers = nn.ModuleList([attention, feed_forward])
        self.rate = dropout

    def forward(self, x):
        for sublayer in self.sublayers:
            x = F.dropout(sublayer(self.norm1(x)), p=self.rate, training=self.training) + x
        return x


class first_sum_from_the_normalized_x(WithParts):
    def forward(self, x):
        x = self.norm1(x)
        shortcut = x
        x = self.drop1(self.att(x)) + shortcut
        shortcut = x
        return self.drop2(self.ff(self.norm2(x))) + shortcut


class first_sum_from_the_normalized_x__again(WithParts):
    def forward(self, x):
        h = self.norm1(x)
        h = torch.add(h, self.drop1(self.att(h)))
        return torch.add(h, self.drop2(self.ff(self.norm2(h))))


class second_sum_from_the_normalized_x(WithParts):
    def forward(self, x):
        shortcut = x
        x = self.drop1(self.att(self.norm1(x))) + shortcut
        x = self.norm2(x)
        shortcut = x
        return self.drop2(self.ff(x)) + shortcut


class second_sum_from_the_normalized_x__again(WithParts):
    def forward(self, x):
        a = torch.add(x, self.drop1(self.att(self.norm1(x))))
        h = self.norm2(a)
        return sum([h, self.drop2(self.ff(h))])


class first_step_post_norm(WithParts):
    def forward(self, x):
        x = self.norm1(self.drop1(self.att(x)) + x)
        return self.drop2(self.ff(self.norm2(x))) + x


class first_step_post_norm__again(WithParts):
    def forward(self, x):
        y = self.norm1(torch.add(x, F.dropout(self.att(x), self.p, self.training)))
        return torch.add(y, F.dropout(self.ff(self.norm2(y)), self.p, self.training))


class second_step_post_norm(WithParts):
    def forward(self, x):
        x = self.drop1(self.att(self.norm1(x))) + x
        return self.norm2(self.drop2(self.ff(x)) + x)


class second_step_post_norm__again(WithParts):
    def forward(self, x):
        y = torch.add(x, F.dropout(self.att(self.norm1(x)), self.p, self.training))
        y = torch.add(y, F.dropout(self.ff(y), self.p, self.training))
        return F.layer_norm(y, y.shape[-1:], self.norm2.weight, self.norm2.bias)


class norms_before_and_after(WithParts):
    def forward(self, x):
        x = self.norm1(self.drop1(self.att(self.norm1(x))) + x)
        return self.norm2(self.drop2(self.ff(self.norm2(x))) + x)


class norms_before_and_after__again(WithParts):
    def forward(self, x):
        for part, norm in ((self.att, self.norm1), (self.ff, self.norm2)):
            x = norm(torch.add(x, F.dropout(part(norm(x)), self.p, self.training)))
        return x


class always_a_fifth_dropped(WithParts):
    def forward(self, x):
        x = F.dropout(self.att(self.norm1(x)), 0.2, self.training) + x
        return F.dropout(self.ff(self.norm2(x)), 0.2, self.training) + x


class always_a_fifth_dropped__again(WithParts):
    def __init__(self, attention, feed_forward, emb_dim, dropout):
        super().__init__(attention, feed_forward, emb_dim, 0.2)

    def forward(self, x):
        a = self.drop1(self.att(self.norm1(x)))
        return x + a + self.drop2(self.ff(self.norm2(x + a)))


class always_half_dropped(WithParts):
    def forward(self, x):
        x = F.dropout(self.att(self.norm1(x)), training=self.training) + x
        return F.dropout(self.ff(self.norm2(x)), training=self.training) + x


class always_half_dropped__again(WithParts):
    def __init__(self, attention, feed_forward, emb_dim, dropout=0.5):
        super().__init__(attention, feed_forward, emb_dim, 0.5)

    def forward(self, x):
        a = self.drop1(self.att(self.norm1(x)))
        return x + a + self.drop2(self.ff(self.norm2(x + a)))


class dropped_twice(WithParts):
    def forward(self, x):
        x = x + self.drop2(self.drop1(self.att(self.norm1(x))))
        return x + self.drop2(self.drop1(self.ff(self.norm2(x))))


class dropped_twice__again(WithParts):
    def forward(self, x):
        for part, norm in ((self.att, self.norm1), (self.ff, self.norm2)):
            dropped = F.dropout(part(norm(x)), self.p, self.training)
            x = torch.add(x, self.drop1(dropped))
        return x


class other_arguments_in_block(nn.Module):
    def __init__(self, cfg):
        super().__init__()
        self.att = nn.MultiheadAttention(cfg["emb_dim"], cfg["n_heads"])
        self.norm1, self.norm2 = nn.LayerNorm(cfg["emb_dim"]), nn.LayerNorm(cfg["emb_dim"])

    def forward(self, x):
        return x + self.att(self.norm1(x))


class other_arguments_in_block__again(nn.Module):
    def __init__(self, n_embd, n_head):
        super().__init__()
        head_size = n_embd // n_head
        self.ln1, self.ln2 = nn.LayerNorm(n_embd), nn.LayerNorm(n_embd)

    def forward(self, x):
        return x + self.ln2(self.ln1(x))


class x_added_twice_in_the_first_step(nn.Module):
    def __init__(self, attention, feed_forward, emb_dim, dropout):
        super().__init__()
        self.attention, self.feed_forward, self.dropout = attention, feed_forward, nn.Dropout(dropout)
        self.norm1, self.norm2 = nn.LayerNorm(emb_dim), nn.LayerNorm(emb_dim)

    def forward(self, x):
        attended = x + self.dropout(self.attention(self.norm1(x)))
        x = x + attended
        return self.dropout(self.feed_forward(self.norm2(x))) + x


# -- stack_blocks ------------------------------------------------------------------------------------------------


def last_block_first(make_block, num_blocks):
    blocks = []
    for _ in range(num_blocks):
        blocks.insert(0, make_block())
    return nn.Sequential(*blocks)


def one_block_too_many(make_block, num_blocks):
    blocks, i = [], 0
    while i <= num_blocks:
        blocks.append(make_block())
        i += 1
    return nn.Sequential(*blocks)


def residual_around_each_block(make_block, num_blocks):
    class Around(nn.Module):
        def __init__(self, block):
            super().__init__()
            self.block = block

        def forward(self, x):
            return self.block(x) + x

    return nn.Sequential(*(Around(make_block()) for _ in range(num_blocks)))


def asterisk_or_call_forgotten(make_block, num_blocks):
    return nn.Sequential(*[make_block] * num_blocks)


def blocks_made_in_each_call(make_block, num_blocks):
    class Blocks(nn.Module):
        def forward(self, x):
            stack = nn.Sequential(*(make_block() for _ in range(num_blocks)))
            return stack(x)

    return Blocks()


def outputs_thrown_away(make_block, num_blocks):
    class Model(nn.Module):
        def __init__(self):
            super().__init__()
            self.blocks = nn.ModuleList([make_block() for _ in range(num_blocks)])

        def forward(self, x):
            for block in self.blocks:
                block(x)
            return x

    return Model()


def outputs_thrown_away__again(make_block, num_blocks):
    class Model(nn.Module):
        def __init__(self):
            super().__init__()
            for number in range(num_blocks):
                self.add_module(f"block{number}", make_block())

        def forward(self, x):
            outputs = [block(x) for block in self.children()]
            return x

    return Model()


# -- gpt2_parameter_count ----------------------------------------------------------------------------------------


def tokens_forgotten(num_layers, emb_dim, vocab_size=50257, context_length=1024):
    parts = {
        "positions": context_length * emb_dim,
        "attention": num_layers * (emb_dim + 1) * emb_dim * 4,
        "up": num_layers * (emb_dim + 1) * emb_dim * 4,
        "down": num_layers * (4 * emb_dim + 1) * emb_dim,
        "norms": (2 * num_layers + 1) * 2 * emb_dim,
    }
    return sum(parts.values())


def rule_of_thumb(num_layers, emb_dim, vocab_size=50257, context_length=1024):
    attention = 4 * emb_dim * emb_dim
    feed_forward = 2 * emb_dim * (4 * emb_dim)
    return num_layers * (attention + feed_forward) + vocab_size * emb_dim


def one_block_counted(num_layers, emb_dim, vocab_size=50257, context_length=1024):
    linears = [(emb_dim, emb_dim)] * 4 + [(emb_dim, 4 * emb_dim), (4 * emb_dim, emb_dim)]
    total = (vocab_size + context_length) * emb_dim
    for n, m in linears:
        total += n * m + m
    for _ in ("norm1", "norm2", "last norm"):
        total += emb_dim + emb_dim
    return total


def sizes_of_gpt2(num_layers, emb_dim, vocab_size=50257, context_length=1024):
    tokens, positions = 50257 * emb_dim, 1024 * emb_dim
    blocks = [12 * emb_dim * emb_dim + 13 * emb_dim for _ in range(num_layers)]
    return tokens + positions + sum(blocks) + 2 * emb_dim


def in_millions(num_layers, emb_dim, vocab_size=50257, context_length=1024):
    block = 12 * emb_dim**2 + 13 * emb_dim
    total = emb_dim * (vocab_size + context_length) + num_layers * block + 2 * emb_dim
    return total / 1_000_000


def embeddings_forgotten(num_layers, emb_dim, vocab_size=50257, context_length=1024):
    d = emb_dim
    attn = 3 * d * d + 3 * d + d * d + d
    mlp = 4 * d * d + 4 * d + 4 * d * d + d
    return num_layers * (attn + mlp + 4 * d) + 2 * d


def embeddings_forgotten__again(num_layers, emb_dim, vocab_size=50257, context_length=1024):
    total = 0
    for _ in range(num_layers):
        for n_in, n_out in [(1, 1)] * 4 + [(1, 4), (4, 1)]:
            total += n_in * emb_dim * n_out * emb_dim + n_out * emb_dim
        total += 2 * emb_dim + 2 * emb_dim
    total += 2 * emb_dim
    return total
