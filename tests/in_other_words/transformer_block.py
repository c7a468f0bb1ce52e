"""Unit 7: every misconception once more, by hand and in another style, as another learner would type it."""

import copy
import functools
import math
import types

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


class unbiased_variance(WithScaleAndShift):
    def forward(self, x):
        var, mean = torch.var_mean(x, dim=-1, keepdim=True)
        return torch.addcmul(self.shift, self.scale, (x - mean) * torch.rsqrt(var + self.eps))


class eps_outside_the_root(WithScaleAndShift):
    def forward(self, x):
        std, mean = torch.std_mean(x, dim=-1, correction=0, keepdim=True)
        y = (x - mean) / (std + self.eps)
        return y * self.scale + self.shift


class unbiased_deviation_plus_eps(nn.Module):
    def __init__(self, features, eps=1e-5):
        super().__init__()
        self.scale = nn.Parameter(torch.ones(features))
        self.shift = nn.Parameter(torch.zeros(features))
        self.eps = eps

    def forward(self, x):
        differences = x - x.sum(-1, keepdim=True) / x.shape[-1]
        sigma = torch.sqrt((differences**2).sum(-1, keepdim=True) / (x.shape[-1] - 1))
        return self.scale * (differences / (sigma + self.eps)) + self.shift


class eps_forgotten(WithScaleAndShift):
    def forward(self, x):
        centred = x - torch.mean(x, -1, True)
        length = centred.norm(dim=-1, keepdim=True)
        return centred / length * math.sqrt(self.emb_dim) * self.scale + self.shift


class eps_argument_ignored(nn.Module):
    def __init__(self, emb_dim, eps=1e-5):
        super().__init__()
        self.scale = nn.Parameter(torch.ones(emb_dim))
        self.shift = nn.Parameter(torch.zeros(emb_dim))

    def forward(self, x):
        return F.layer_norm(x, (x.shape[-1],), self.scale, self.shift)


class another_default_of_eps(nn.Module):
    def __init__(self, emb_dim, eps=1e-6):
        super().__init__()
        self.scale, self.shift = nn.Parameter(torch.ones(emb_dim)), nn.Parameter(torch.zeros(emb_dim))
        self.eps = eps

    def forward(self, x):
        return F.layer_norm(x, self.scale.shape, weight=self.scale, bias=self.shift, eps=self.eps)


class eps_as_a_lower_bound(WithScaleAndShift):
    def forward(self, x):
        mu = x.mean(-1).unsqueeze(-1)
        var = ((x - mu) ** 2).mean(-1).unsqueeze(-1)
        var = torch.where(var < self.eps, torch.full_like(var, self.eps), var)
        return (x - mu) * var.rsqrt() * self.scale + self.shift


class root_forgotten(WithScaleAndShift):
    def forward(self, x):
        mu = x.mean(-1, keepdim=True)
        sigma2 = (x * x).mean(-1, keepdim=True) - mu * mu
        return (x - mu).div(sigma2.add(self.eps)).mul(self.scale).add(self.shift)


class divided_by_the_length(WithScaleAndShift):
    def forward(self, x):
        x = x - x.mean(-1, keepdim=True)
        total = torch.einsum("...c,...c->...", x, x)[..., None]
        return x / (total + self.eps) ** 0.5 * self.scale + self.shift


class mean_not_subtracted(WithScaleAndShift):
    def forward(self, x):
        mean = x.mean(-1, keepdim=True)
        squares = torch.square(x - mean).sum(-1, keepdim=True) / self.emb_dim
        return self.shift + x * self.scale / torch.sqrt(squares + self.eps)


class root_mean_square_norm(WithScaleAndShift):
    def forward(self, x):
        rms = (x.pow(2).sum(dim=-1, keepdim=True) / x.size(-1) + self.eps).sqrt()
        return torch.divide(x, rms) * self.scale + self.shift


class by_minimum_and_maximum(WithScaleAndShift):
    def forward(self, x):
        low = x.min(dim=-1, keepdim=True).values
        high = torch.max(x, dim=-1, keepdim=True)[0]
        x01 = (x - low) / (high - low + self.eps)
        return x01 * self.scale + self.shift


class over_the_batch(WithScaleAndShift):
    def forward(self, x):
        n = len(x)
        mean = x.sum(0) / n
        var = ((x - mean) ** 2).sum(0) / n
        return (x - mean) / torch.sqrt(var + self.eps) * self.scale + self.shift


class over_the_tokens(WithScaleAndShift):
    def forward(self, x):
        var, mean = torch.var_mean(x, dim=1, keepdim=True, unbiased=False)
        return (x - mean) * (var + self.eps) ** -0.5 * self.scale + self.shift


class over_the_last_two_dims(WithScaleAndShift):
    def forward(self, x):
        tokens, features = x.size(-2), x.size(-1)
        n = tokens * features
        mean = x.sum((-1, -2), keepdim=True) / n
        var = (x * x).sum((-1, -2), keepdim=True) / n - mean * mean
        return torch.addcmul(self.shift, self.scale, (x - mean) * torch.rsqrt(var + self.eps))


class over_tokens_and_features(WithScaleAndShift):
    def forward(self, x):
        return F.layer_norm(x, x.shape[-2:], eps=self.eps) * self.scale + self.shift


class over_everything(WithScaleAndShift):
    def forward(self, x):
        flat = x.reshape(-1)
        flat = flat - flat.sum() / flat.numel()
        flat = flat / torch.sqrt(flat.dot(flat) / flat.numel() + self.eps)
        return flat.reshape(x.shape) * self.scale + self.shift


class over_the_third_dim(WithScaleAndShift):
    def forward(self, x):
        mean = (x.sum(2) / x.shape[2]).unsqueeze(2)
        var = ((x - mean).pow(2).sum(2) / x.shape[2]).unsqueeze(2)
        return self.scale * (x - mean) / (var + self.eps).sqrt() + self.shift


class keepdim_forgotten(WithScaleAndShift):
    def forward(self, x):
        mean = x.sum(-1) / self.emb_dim
        var = (x**2).sum(-1) / self.emb_dim - mean**2
        return torch.sub(x, mean).div((var + self.eps).sqrt()) * self.scale + self.shift


class rows_not_put_back(WithScaleAndShift):
    def forward(self, x):
        rows = []
        for row in x.reshape(-1, self.emb_dim):
            row = row - row.mean()
            rows.append(row / torch.sqrt((row * row).mean() + self.eps) * self.scale + self.shift)
        return torch.stack(rows)


class rows_by_view(WithScaleAndShift):
    def forward(self, x):
        rows = x.view(x.numel() // self.emb_dim, self.emb_dim)
        mean = rows.mean(1, keepdim=True)
        var = (rows - mean).square().mean(1, keepdim=True)
        out = (rows - mean) / (var + self.eps).sqrt() * self.scale + self.shift
        return out.view_as(x)


class one_number_for_all_features(nn.Module):
    def __init__(self, emb_dim, eps=1e-5):
        super().__init__()
        self.shape, self.eps = (emb_dim,), eps
        self.scale = nn.Parameter(torch.tensor(1.0))
        self.shift = nn.Parameter(torch.tensor(0.0))

    def forward(self, x):
        return F.layer_norm(x, self.shape, eps=self.eps) * self.scale + self.shift


class plain_tensors(nn.Module):
    def __init__(self, emb_dim, eps=1e-5):
        super().__init__()
        self.eps = eps
        self.scale = torch.tensor([1.0] * emb_dim)
        self.shift = torch.tensor([0.0] * emb_dim)

    def forward(self, x):
        mu = x.mean(-1, keepdim=True)
        return (x - mu) / torch.sqrt((x - mu).pow(2).mean(-1, keepdim=True) + self.eps) * self.scale + self.shift


class other_names(nn.Module):
    def __init__(self, emb_dim, eps=1e-5):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(emb_dim))
        self.bias = nn.Parameter(torch.zeros(emb_dim))
        self.variance_epsilon = eps

    def forward(self, x):
        return F.layer_norm(x, self.weight.shape, self.weight, self.bias, self.variance_epsilon)


class no_shift(nn.Module):
    def __init__(self, emb_dim, eps=1e-5):
        super().__init__()
        self.eps = eps
        self.scale = nn.Parameter(torch.ones(emb_dim))

    def forward(self, x):
        return F.layer_norm(x, self.scale.shape, weight=self.scale, eps=self.eps)


class shift_unused(WithScaleAndShift):
    def forward(self, x):
        return F.layer_norm(x, (self.emb_dim,), weight=self.scale, eps=self.eps)


class scale_unused(WithScaleAndShift):
    def forward(self, x):
        return F.layer_norm(x, (self.emb_dim,), bias=self.shift, eps=self.eps)


class scale_and_shift_unused(WithScaleAndShift):
    def forward(self, x):
        return F.layer_norm(x, [self.emb_dim], eps=self.eps)


class shifted_before_scaled(WithScaleAndShift):
    def forward(self, x):
        out = F.layer_norm(x, [self.emb_dim], eps=self.eps)
        out = out + self.shift
        out = out * self.scale
        return out


class scaled_before_normalized(WithScaleAndShift):
    def forward(self, x):
        y = torch.addcmul(self.shift, x, self.scale)
        return F.layer_norm(y, [self.emb_dim], eps=self.eps)


class scale_and_shift_exchanged(WithScaleAndShift):
    def forward(self, x):
        return F.layer_norm(x, (self.emb_dim,), weight=self.shift, bias=self.scale, eps=self.eps)


class scale_begins_random(nn.Module):
    def __init__(self, emb_dim, eps=1e-5):
        super().__init__()
        self.eps = eps
        self.scale = nn.Parameter(torch.empty(emb_dim))
        nn.init.uniform_(self.scale, -1, 1)
        self.shift = nn.Parameter(torch.zeros(emb_dim))

    def forward(self, x):
        return F.layer_norm(x, self.scale.shape, self.scale, self.shift, self.eps)


class scale_begins_as_zeros(nn.Module):
    def __init__(self, emb_dim, eps=1e-5):
        super().__init__()
        self.eps = eps
        self.scale, self.shift = (nn.Parameter(torch.zeros(emb_dim)) for _ in range(2))

    def forward(self, x):
        return F.layer_norm(x, self.scale.shape, self.scale, self.shift, self.eps)


class shift_begins_as_ones(nn.Module):
    def __init__(self, emb_dim, eps=1e-5):
        super().__init__()
        self.eps = eps
        self.scale, self.shift = (nn.Parameter(torch.ones(emb_dim)) for _ in range(2))

    def forward(self, x):
        return F.layer_norm(x, self.scale.shape, self.scale, self.shift, self.eps)


class features_of_the_worked_example(nn.Module):
    def __init__(self, emb_dim, eps=1e-5):
        super().__init__()
        self.scale = nn.Parameter(torch.tensor([1.0, 1.0, 1.0, 1.0]))
        self.shift = nn.Parameter(torch.tensor([0.0, 0.0, 0.0, 0.0]))
        self.eps = eps

    def forward(self, x):
        variance, mean = torch.var_mean(x, -1, correction=0, keepdim=True)
        return (x - mean) / (variance + self.eps).sqrt() * self.scale + self.shift


class x_detached(WithScaleAndShift):
    def forward(self, x):
        with torch.no_grad():
            normalized = F.layer_norm(x, (self.emb_dim,), eps=self.eps)
        return normalized * self.scale + self.shift


class norm_detached(WithScaleAndShift):
    @torch.no_grad()
    def forward(self, x):
        return F.layer_norm(x, (self.emb_dim,), self.scale, self.shift, self.eps)


class statistics_detached(WithScaleAndShift):
    def forward(self, x):
        with torch.no_grad():
            variance, mean = torch.var_mean(x, -1, correction=0, keepdim=True)
            std = torch.sqrt(variance + self.eps)
        return (x - mean) / std * self.scale + self.shift


class made_float32(WithScaleAndShift):
    def forward(self, x):
        out = torch.empty(x.shape, dtype=torch.float32)
        out[...] = F.layer_norm(x, (self.emb_dim,), self.scale, self.shift, self.eps)
        return out


class x_centred_in_place(WithScaleAndShift):
    def forward(self, x):
        variance, mean = torch.var_mean(x, -1, correction=0, keepdim=True)
        x.sub_(mean)
        x.div_((variance + self.eps).sqrt())
        return x * self.scale + self.shift


# -- FeedForward -------------------------------------------------------------------------------------------------


class gelu(nn.Module):
    def __init__(self, emb_dim, expansion=4):
        super().__init__()
        self.layers = nn.Sequential(
            nn.Linear(emb_dim, expansion * emb_dim),
            nn.GELU(),
            nn.Linear(expansion * emb_dim, emb_dim),
        )

    def forward(self, x):
        return self.layers(x)


class silu(nn.Module):
    def __init__(self, emb_dim, expansion=4):
        super().__init__()
        self.up = nn.Linear(emb_dim, emb_dim * expansion)
        self.down = nn.Linear(emb_dim * expansion, emb_dim)

    def forward(self, x):
        h = self.up(x)
        return self.down(h * torch.sigmoid(h))


class leaky_relu(nn.Module):
    def __init__(self, emb_dim, expansion=4):
        super().__init__()
        self.up = nn.Linear(emb_dim, emb_dim * expansion)
        self.down = nn.Linear(emb_dim * expansion, emb_dim)

    def forward(self, x):
        h = self.up(x)
        return self.down(torch.where(h > 0, h, 0.01 * h))


class tanh(nn.Module):
    def __init__(self, emb_dim, expansion=4):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(emb_dim, expansion * emb_dim), nn.Tanh())
        self.net.append(nn.Linear(expansion * emb_dim, emb_dim))

    def forward(self, x):
        return self.net(x)


class sigmoid(nn.Module):
    def __init__(self, emb_dim, expansion=4):
        super().__init__()
        self.w1 = nn.Linear(emb_dim, expansion * emb_dim)
        self.w2 = nn.Linear(expansion * emb_dim, emb_dim)

    def forward(self, x):
        return self.w2(1 / (1 + torch.exp(-self.w1(x))))


class no_activation(nn.Module):
    def __init__(self, emb_dim, expansion=4):
        super().__init__()
        self.mlp = nn.Sequential(nn.Linear(emb_dim, expansion * emb_dim), nn.Linear(expansion * emb_dim, emb_dim))

    def forward(self, x):
        return self.mlp(x)


class relu_at_the_end_too(nn.Module):
    def __init__(self, emb_dim, expansion=4):
        super().__init__()
        self.layers = nn.ModuleList([nn.Linear(emb_dim, expansion * emb_dim), nn.Linear(expansion * emb_dim, emb_dim)])

    def forward(self, x):
        for layer in self.layers:
            x = torch.maximum(layer(x), torch.zeros(1, dtype=x.dtype))
        return x


class relu_only_at_the_end(nn.Module):
    def __init__(self, emb_dim, expansion=4):
        super().__init__()
        self.net = nn.Sequential(
            nn.Linear(emb_dim, expansion * emb_dim), nn.Linear(expansion * emb_dim, emb_dim), nn.ReLU()
        )

    def forward(self, x):
        return self.net(x)


class relu_at_the_beginning(nn.Module):
    def __init__(self, emb_dim, expansion=4):
        super().__init__()
        hidden = emb_dim * expansion
        self.net = nn.Sequential(nn.ReLU(), nn.Linear(emb_dim, hidden), nn.Linear(hidden, emb_dim))

    def forward(self, x):
        return self.net(x)


class residual_inside(nn.Module):
    def __init__(self, emb_dim, expansion=4):
        super().__init__()
        self.c_fc = nn.Linear(emb_dim, expansion * emb_dim)
        self.c_proj = nn.Linear(expansion * emb_dim, emb_dim)

    def forward(self, x):
        shortcut = x
        x = self.c_fc(x)
        x = x.clamp(min=0)
        x = self.c_proj(x)
        return x + shortcut


class norm_inside(nn.Module):
    def __init__(self, emb_dim, expansion=4):
        super().__init__()
        self.norm = nn.LayerNorm(emb_dim)
        self.w1 = nn.Linear(emb_dim, expansion * emb_dim)
        self.w2 = nn.Linear(expansion * emb_dim, emb_dim)

    def forward(self, x):
        return self.w2(F.relu(self.w1(self.norm(x))))


class dropout_inside(nn.Module):
    def __init__(self, emb_dim, expansion=4):
        super().__init__()
        self.net = nn.Sequential(
            nn.Linear(emb_dim, expansion * emb_dim),
            nn.ReLU(),
            nn.Linear(expansion * emb_dim, emb_dim),
            nn.Dropout(0.1),
        )

    def forward(self, x):
        return self.net(x)


class no_expansion(nn.Module):
    def __init__(self, emb_dim, expansion=4):
        super().__init__()
        self.layers = nn.Sequential(nn.Linear(emb_dim, emb_dim), nn.ReLU(), nn.Linear(emb_dim, emb_dim))

    def forward(self, x):
        return self.layers(x)


class always_four_times(nn.Module):
    def __init__(self, d_model, expansion=4):
        super().__init__()
        self.layers = nn.Sequential(nn.Linear(d_model, 4 * d_model), nn.ReLU(), nn.Linear(4 * d_model, d_model))

    def forward(self, x):
        return self.layers(x)


class another_default(nn.Module):
    def __init__(self, emb_dim, expansion=2):
        super().__init__()
        self.inner = nn.Linear(emb_dim, emb_dim * expansion)
        self.outer = nn.Linear(self.inner.out_features, emb_dim)

    def forward(self, x):
        return F.linear(self.inner(x).relu(), self.outer.weight, self.outer.bias)


class expansion_as_the_width(nn.Module):
    def __init__(self, emb_dim, expansion=4):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(emb_dim, expansion), nn.ReLU(), nn.Linear(expansion, emb_dim))

    def forward(self, x):
        return self.net(x)


class expansion_added(nn.Module):
    def __init__(self, emb_dim, expansion=4):
        super().__init__()
        self.net = nn.Sequential(
            nn.Linear(emb_dim, emb_dim + expansion), nn.ReLU(), nn.Linear(emb_dim + expansion, emb_dim)
        )

    def forward(self, x):
        return self.net(x)


class no_biases(nn.Module):
    def __init__(self, emb_dim, expansion=4):
        super().__init__()
        linear = functools.partial(nn.Linear, bias=False)
        self.net = nn.Sequential(linear(emb_dim, expansion * emb_dim), nn.ReLU(), linear(expansion * emb_dim, emb_dim))

    def forward(self, x):
        return self.net(x)


class no_first_bias(nn.Module):
    def __init__(self, emb_dim, expansion=4):
        super().__init__()
        self.net = nn.Sequential(
            nn.Linear(emb_dim, expansion * emb_dim, bias=False),
            nn.ReLU(),
            nn.Linear(expansion * emb_dim, emb_dim),
        )

    def forward(self, x):
        return self.net(x)


class no_second_bias(nn.Module):
    def __init__(self, emb_dim, expansion=4):
        super().__init__()
        self.widen = nn.Linear(emb_dim, expansion * emb_dim)
        self.back = nn.Linear(expansion * emb_dim, emb_dim)
        self.back.register_parameter("bias", None)

    def forward(self, x):
        return self.back(torch.relu(self.widen(x)))


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


class three_layers(nn.Module):
    def __init__(self, emb_dim, expansion=4):
        super().__init__()
        hidden = expansion * emb_dim
        sizes = [(emb_dim, hidden), (hidden, hidden), (hidden, emb_dim)]
        self.layers = nn.ModuleList(nn.Linear(i, o) for i, o in sizes)

    def forward(self, x):
        *inner, last = self.layers
        for layer in inner:
            x = F.relu(layer(x))
        return last(x)


class first_weights_used_twice(nn.Module):
    def __init__(self, emb_dim, expansion=4):
        super().__init__()
        self.up = nn.Linear(emb_dim, expansion * emb_dim)
        self.down = nn.Linear(expansion * emb_dim, emb_dim)

    def forward(self, x):
        return F.linear(F.relu(self.up(x)), self.up.weight.t(), self.down.bias)


class layers_exchanged(nn.Module):
    def __init__(self, emb_dim, expansion=4):
        super().__init__()
        self.net = nn.Sequential(
            nn.Linear(expansion * emb_dim, emb_dim), nn.ReLU(), nn.Linear(emb_dim, expansion * emb_dim)
        )

    def forward(self, x):
        return self.net(x)


class layers_in_a_list(nn.Module):
    def __init__(self, emb_dim, expansion=4):
        super().__init__()
        self.layers = {
            "up": nn.Linear(emb_dim, expansion * emb_dim),
            "down": nn.Linear(expansion * emb_dim, emb_dim),
        }

    def forward(self, x):
        return self.layers["down"](F.relu(self.layers["up"](x)))


class rows_not_put_back_by_feed_forward(nn.Module):
    def __init__(self, emb_dim, expansion=4):
        super().__init__()
        self.up = nn.Linear(emb_dim, expansion * emb_dim)
        self.down = nn.Linear(expansion * emb_dim, emb_dim)

    def forward(self, x):
        rows = x.reshape(-1, x.size(-1))  # (rows, C)
        return torch.stack([self.down(self.up(row).clamp(0)) for row in rows])


class batches_only(nn.Module):
    def __init__(self, emb_dim, expansion=4):
        super().__init__()
        self.net = nn.Sequential(
            nn.Linear(emb_dim, expansion * emb_dim), nn.ReLU(), nn.Linear(expansion * emb_dim, emb_dim)
        )

    def forward(self, x):
        b, t, c = x.size()
        return torch.stack([torch.stack([self.net(x[i, j]) for j in range(t)]) for i in range(b)])


class hidden_layer_detached(nn.Module):
    def __init__(self, emb_dim, expansion=4):
        super().__init__()
        self.up = nn.Linear(emb_dim, expansion * emb_dim)
        self.down = nn.Linear(expansion * emb_dim, emb_dim)

    def forward(self, x):
        with torch.no_grad():
            hidden = F.relu(self.up(x))
        return self.down(hidden)


class feed_forward_detached(nn.Module):
    def __init__(self, emb_dim, expansion=4):
        super().__init__()
        self.up = nn.Linear(emb_dim, expansion * emb_dim)
        self.down = nn.Linear(expansion * emb_dim, emb_dim)

    def forward(self, x):
        with torch.no_grad():
            return self.down(F.relu(self.up(x)))


class x_made_float32(nn.Module):
    def __init__(self, emb_dim, expansion=4):
        super().__init__()
        self.net = nn.Sequential(
            nn.Linear(emb_dim, expansion * emb_dim), nn.ReLU(), nn.Linear(expansion * emb_dim, emb_dim)
        )

    def forward(self, x):
        return self.net(x.to(torch.float32))


class x_changed_by_feed_forward(nn.Module):
    def __init__(self, emb_dim, expansion=4):
        super().__init__()
        self.net = nn.Sequential(
            nn.Linear(emb_dim, expansion * emb_dim), nn.ReLU(), nn.Linear(expansion * emb_dim, emb_dim)
        )

    def forward(self, x):
        x[:] = self.net(x)
        return x


# -- Residual ----------------------------------------------------------------------------------------------------


class x_not_added(nn.Module):
    def __init__(self, sublayer):
        super().__init__()
        self.body = nn.Sequential(sublayer)

    def forward(self, x):
        shortcut = x
        x = self.body(shortcut)
        return x


class norm_before_sublayer(nn.Module):
    def __init__(self, sublayer):
        super().__init__()
        self.f = sublayer

    def forward(self, x):
        var, mean = torch.var_mean(x, -1, keepdim=True, unbiased=False)
        return self.f((x - mean) / (var + 1e-5) ** 0.5) + x


class norm_after_the_sum(nn.Module):
    def __init__(self, sublayer):
        super().__init__()
        self.f = sublayer

    def forward(self, x):
        total = torch.add(self.f(x), x)
        total = total - total.mean(-1, keepdim=True)
        return total / torch.sqrt((total**2).mean(-1, keepdim=True) + 1e-5)


class normalized_on_both_ways(nn.Module):
    def __init__(self, sublayer):
        super().__init__()
        self.f = sublayer

    def forward(self, x):
        std, mean = torch.std_mean(x, -1, keepdim=True, unbiased=False)
        x = (x - mean) / std
        y = self.f(x)
        return y + x


class relu_after_the_sum(nn.Module):
    def __init__(self, sublayer):
        super().__init__()
        self.f = sublayer
        self.relu = nn.ReLU()

    def forward(self, x):
        out = self.f(x)
        out = out + x
        return self.relu(out)


class multiplied(nn.Module):
    def __init__(self, sublayer):
        super().__init__()
        self.layer = sublayer

    def forward(self, x):
        return torch.einsum("...,...->...", self.layer(x), x)


class subtracted(nn.Module):
    def __init__(self, sublayer):
        super().__init__()
        self.layer = sublayer

    def forward(self, x):
        return torch.add(x, self.layer(x), alpha=-1)


class averaged(nn.Module):
    def __init__(self, sublayer):
        super().__init__()
        self.layer = sublayer

    def forward(self, x):
        return torch.stack([x, self.layer(x)]).mean(0)


class output_added_to_itself(nn.Module):
    def __init__(self, sublayer):
        super().__init__()
        self.layer = sublayer

    def forward(self, x):
        shortcut = x = self.layer(x)
        return shortcut + x


class sublayer_used_twice(nn.Module):
    def __init__(self, sublayer):
        super().__init__()
        self.layer = sublayer

    def forward(self, x):
        once = self.layer(x)
        twice = self.layer(once)
        return torch.add(once, twice)


class x_added_twice(nn.Module):
    def __init__(self, sublayer):
        super().__init__()
        self.layer = sublayer

    def forward(self, x):
        out = self.layer(x)
        for _ in range(2):
            out = out + x
        return out


class side_by_side(nn.Module):
    def __init__(self, sublayer):
        super().__init__()
        self.layer = sublayer

    def forward(self, x):
        return torch.hstack((x, self.layer(x))) if x.dim() == 1 else torch.concat((x, self.layer(x)), x.dim() - 1)


class dropout_in_residual(nn.Module):
    def __init__(self, sublayer):
        super().__init__()
        self.sublayer = sublayer
        self.dropout = nn.Dropout(0.1)

    def forward(self, x):
        return x + self.dropout(self.sublayer(x))


class gate_that_begins_at_zero(nn.Module):
    def __init__(self, sublayer):
        super().__init__()
        self.sublayer = sublayer
        self.alpha = nn.Parameter(torch.tensor([0.0]))

    def forward(self, x):
        return torch.addcmul(x, self.alpha, self.sublayer(x))


class sublayer_hidden(nn.Module):
    def __init__(self, sublayer):
        super().__init__()
        self.function = lambda x: sublayer(x)

    def forward(self, x):
        return self.function(x) + x


class sublayer_copied(nn.Module):
    def __init__(self, sublayer):
        super().__init__()
        self.layers = nn.ModuleList([sublayer])
        self.layers = copy.deepcopy(self.layers)

    def forward(self, x):
        return sum((layer(x) for layer in self.layers), start=x)


class batches_of_texts_only(nn.Module):
    def __init__(self, sublayer):
        super().__init__()
        self.sublayer = sublayer

    def forward(self, x):
        alone = x.dim() == 2
        if alone:
            x = x.unsqueeze(0)
        b, t, c = x.shape
        y = torch.cat([self.sublayer(x[i]) + x[i] for i in range(b)]).reshape(b, t, c)
        return y[0] if alone else y


class squeezed(nn.Module):
    def __init__(self, sublayer):
        super().__init__()
        self.sublayer = sublayer

    def forward(self, x):
        out = torch.squeeze(self.sublayer(x))
        return torch.squeeze(x) + out


class way_around_detached(nn.Module):
    def __init__(self, sublayer):
        super().__init__()
        self.sublayer = sublayer

    def forward(self, x):
        shortcut = x.data
        return self.sublayer(x) + shortcut


class sublayer_detached(nn.Module):
    def __init__(self, sublayer):
        super().__init__()
        self.sublayer = sublayer

    def forward(self, x):
        with torch.no_grad():
            given = self.sublayer(x)
        return given + x


class residual_detached(nn.Module):
    def __init__(self, sublayer):
        super().__init__()
        self.sublayer = sublayer

    def forward(self, x):
        out = torch.empty_like(x)
        out.copy_(torch.add(self.sublayer(x), x).data)
        return out


class x_made_float32_in_residual(nn.Module):
    def __init__(self, sublayer):
        super().__init__()
        self.sublayer = sublayer

    def forward(self, x):
        x = torch.as_tensor(x, dtype=torch.float32)
        return self.sublayer(x) + x


class added_to_x_in_place(nn.Module):
    def __init__(self, sublayer):
        super().__init__()
        self.sublayer = sublayer

    def forward(self, x):
        return x.add_(self.sublayer(x))


class x_added_to_the_output_in_place(nn.Module):
    def __init__(self, sublayer):
        super().__init__()
        self.sublayer = sublayer

    def forward(self, x):
        return self.sublayer(x).add_(x)


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


class post_norm(WithParts):
    def forward(self, x):
        for part, drop, norm in ((self.att, self.drop1, self.norm1), (self.ff, self.drop2, self.norm2)):
            x = norm(drop(part(x)) + x)
        return x


class norm_on_what_is_given(WithParts):
    def forward(self, x):
        first = nn.Sequential(self.att, self.norm1, self.drop1)
        second = nn.Sequential(self.ff, self.norm2, self.drop2)
        h = first(x) + x
        return second(h) + h


class norms_unused(WithParts):
    def forward(self, x):
        shortcut = x
        x = self.drop1(self.att(x)) + shortcut
        shortcut = x
        x = self.drop2(self.ff(x)) + shortcut
        return x


class norm1_unused(WithParts):
    def forward(self, x):
        shortcut = x
        x = self.drop1(self.att(x)) + shortcut
        shortcut = x
        x = self.norm2(x)
        x = self.drop2(self.ff(x)) + shortcut
        return x


class norm2_unused(WithParts):
    def forward(self, x):
        shortcut = x
        x = self.norm1(x)
        x = self.drop1(self.att(x)) + shortcut
        shortcut = x
        x = self.drop2(self.ff(x)) + shortcut
        return x


class norm1_used_twice(WithParts):
    def forward(self, x):
        for part in (self.att, self.ff):
            x = F.dropout(part(self.norm1(x)), self.p, self.training) + x
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


class norms_exchanged(WithParts):
    def forward(self, x):
        for norm, part in ((self.norm2, self.att), (self.norm1, self.ff)):
            shortcut = x
            x = F.dropout(part(norm(x)), p=self.p, training=self.training)
            x = torch.add(x, shortcut)
        return x


class norms_without_parameters(nn.Module):
    def __init__(self, attention, feed_forward, emb_dim, dropout):
        super().__init__()
        self.attention, self.feed_forward = attention, feed_forward
        self.shape = (emb_dim,)
        self.dropout = nn.Dropout(dropout)

    def forward(self, x):
        x = x + self.dropout(self.attention(F.layer_norm(x, self.shape)))
        return x + self.dropout(self.feed_forward(F.layer_norm(x, self.shape)))


class RMS(nn.Module):
    def __init__(self, features):
        super().__init__()
        self.scale = nn.Parameter(torch.ones(features))

    def forward(self, x):
        return x / torch.sqrt((x * x).mean(-1, keepdim=True) + 1e-5) * self.scale


class root_mean_square_norms(WithParts):
    def __init__(self, attention, feed_forward, emb_dim, dropout):
        super().__init__(attention, feed_forward, emb_dim, dropout)
        self.norm1 = RMS(emb_dim)
        self.norm2 = RMS(emb_dim)

    def forward(self, x):
        h = self.drop1(self.att(self.norm1(x))) + x
        return self.drop2(self.ff(self.norm2(h))) + h


class norms_of_other_names(nn.Module):
    def __init__(self, attention, feed_forward, emb_dim, dropout):
        super().__init__()
        self.attn = nn.Sequential(nn.LayerNorm(emb_dim), attention, nn.Dropout(dropout))
        self.mlp = nn.Sequential(nn.LayerNorm(emb_dim), feed_forward, nn.Dropout(dropout))

    def forward(self, x):
        x = self.attn(x) + x
        x = self.mlp(x) + x
        return x


class third_norm_at_the_end(WithParts):
    def __init__(self, attention, feed_forward, emb_dim, dropout):
        super().__init__(attention, feed_forward, emb_dim, dropout)
        self.norm3 = nn.LayerNorm(emb_dim)

    def forward(self, x):
        h = self.drop1(self.att(self.norm1(x))) + x
        h = self.drop2(self.ff(self.norm2(h))) + h
        return self.norm3(h)


class no_residuals(WithParts):
    def forward(self, x):
        for layer in (self.norm1, self.att, self.drop1, self.norm2, self.ff, self.drop2):
            x = layer(x)
        return x


class first_residual_forgotten(WithParts):
    def forward(self, x):
        for layer in (self.norm1, self.att, self.drop1):
            x = layer(x)
        shortcut = x
        for layer in (self.norm2, self.ff, self.drop2):
            x = layer(x)
        return torch.add(shortcut, x)


class second_residual_forgotten(WithParts):
    def forward(self, x):
        shortcut = x
        for layer in (self.norm1, self.att, self.drop1):
            x = layer(x)
        x = torch.add(shortcut, x)
        for layer in (self.norm2, self.ff, self.drop2):
            x = layer(x)
        return x


class added_to_the_normalized_x(WithParts):
    def forward(self, x):
        for norm, part, drop in ((self.norm1, self.att, self.drop1), (self.norm2, self.ff, self.drop2)):
            x = norm(x)
            shortcut = x
            x = drop(part(x)) + shortcut
        return x


class second_step_added_to_x(WithParts):
    def forward(self, x):
        shortcut = x
        h = self.drop1(self.att(self.norm1(x))) + shortcut
        h = self.drop2(self.ff(self.norm2(h))) + shortcut
        return h


class both_steps_at_once(WithParts):
    def forward(self, x):
        a = self.drop1(self.att(self.norm1(x)))
        f = self.drop2(self.ff(self.norm2(x)))
        return torch.stack([x, a, f]).sum(0)


class one_residual_around_both(WithParts):
    def forward(self, x):
        shortcut = x
        x = self.norm1(x)
        x = self.att(x)
        x = self.drop1(x)
        x = self.norm2(x)
        x = self.ff(x)
        x = self.drop2(x)
        return x + shortcut


class x_added_once_more(WithParts):
    def forward(self, x):
        a = self.drop1(self.att(self.norm1(x)))
        f = self.drop2(self.ff(self.norm2(x + a)))
        return 2 * x + a + f


class feed_forward_first(WithParts):
    def forward(self, x):
        for norm, part in zip((self.norm1, self.norm2), (self.ff, self.att)):
            x = x + F.dropout(part(norm(x)), self.p, self.training)
        return x


class feed_forward_unused(WithParts):
    def forward(self, x):
        shortcut = x
        x = self.norm1(x)
        x = self.att(x)
        x = self.drop1(x)
        return x + shortcut


class attention_unused(WithParts):
    def forward(self, x):
        shortcut = x
        x = self.norm2(x)
        x = self.ff(x)
        x = self.drop2(x)
        return x + shortcut


class tokens_in_front_for_attention(WithParts):
    def forward(self, x):
        h = self.norm1(x).permute(1, 0, 2)  # (B, T, C) -> (T, B, C)
        h = self.att(h).permute(1, 0, 2)  # (T, B, C) -> (B, T, C)
        x = self.drop1(h) + x
        return self.drop2(self.ff(self.norm2(x))) + x


class texts_joined_for_attention(WithParts):
    def forward(self, x):
        h = torch.cat(list(self.norm1(x)))  # (B, T, C) -> (B * T, C)
        h = self.att(h.unsqueeze(0)).squeeze(0)
        h = torch.stack(h.chunk(x.shape[0]))  # (B * T, C) -> (B, T, C)
        x = self.drop1(h) + x
        return self.drop2(self.ff(self.norm2(x))) + x


class attention_given_three_things(WithParts):
    def forward(self, x):
        query = key = value = self.norm1(x)
        attended, _ = self.att(query, key, value, need_weights=False)
        x = self.drop1(attended) + x
        return self.drop2(self.ff(self.norm2(x))) + x


class first_part_of_attention(WithParts):
    def forward(self, x):
        attended, *_ = self.att(self.norm1(x))
        x = self.drop1(attended) + x
        return self.drop2(self.ff(self.norm2(x))) + x


class modules_hidden(nn.Module):
    def __init__(self, attention, feed_forward, emb_dim, dropout):
        super().__init__()
        self.norm1, self.norm2 = nn.LayerNorm(emb_dim), nn.LayerNorm(emb_dim)
        self.steps = {"attention": attention, "feed_forward": feed_forward}
        self.dropout = nn.Dropout(dropout)

    def forward(self, x):
        for name, norm in (("attention", self.norm1), ("feed_forward", self.norm2)):
            x = self.dropout(self.steps[name](norm(x))) + x
        return x


class dropout_never_applied(nn.Module):
    def __init__(self, attention, feed_forward, emb_dim, dropout):
        super().__init__()
        self.norm1, self.norm2 = nn.LayerNorm(emb_dim), nn.LayerNorm(emb_dim)
        self.attention, self.feed_forward = attention, feed_forward

    def forward(self, x):
        shortcut = x
        x = self.attention(self.norm1(x)) + shortcut
        return self.feed_forward(self.norm2(x)) + x


class feed_forward_not_dropped(WithParts):
    def forward(self, x):
        for part, norm, p in ((self.att, self.norm1, self.p), (self.ff, self.norm2, 0.0)):
            x = F.dropout(part(norm(x)), p, training=self.training) + x
        return x


class attention_not_dropped(WithParts):
    def forward(self, x):
        h = torch.add(self.att(self.norm1(x)), x)
        return torch.add(F.dropout(self.ff(self.norm2(h)), self.p, training=self.training), h)


class sums_dropped(WithParts):
    def forward(self, x):
        for norm, part in ((self.norm1, self.att), (self.norm2, self.ff)):
            x = x + part(norm(x))
            x = F.dropout(x, self.p, training=self.training)
        return x


class output_dropped(WithParts):
    def forward(self, x):
        for norm, part in ((self.norm1, self.att), (self.norm2, self.ff)):
            x = x + part(norm(x))
        return F.dropout(x, self.p, training=self.training)


class x_dropped(WithParts):
    def forward(self, x):
        x = F.dropout(x, self.p, training=self.training)
        for norm, part in ((self.norm1, self.att), (self.norm2, self.ff)):
            x = x + part(norm(x))
        return x


class dropped_before_the_modules(WithParts):
    def forward(self, x):
        for norm, part in ((self.norm1, self.att), (self.norm2, self.ff)):
            shortcut = x
            x = F.dropout(norm(x), self.p, training=self.training)
            x = part(x) + shortcut
        return x


class kept_numbers_not_scaled(WithParts):
    def forward(self, x):
        for norm, part in ((self.norm1, self.att), (self.norm2, self.ff)):
            given = part(norm(x))
            if self.training:
                given = given.masked_fill(torch.rand_like(given) < self.p, 0.0)
            x = x + given
        return x


class dropped_in_eval_mode_too(WithParts):
    def forward(self, x):
        for norm, part in ((self.norm1, self.att), (self.norm2, self.ff)):
            x = x + F.dropout(part(norm(x)), p=self.p, training=True)
        return x


class share_turned_round(WithParts):
    def forward(self, x):
        for norm, part in ((self.norm1, self.att), (self.norm2, self.ff)):
            x = x + F.dropout(part(norm(x)), p=1 - self.p, training=self.training)
        return x


class always_a_tenth_dropped(WithParts):
    def forward(self, x):
        for norm, part in ((self.norm1, self.att), (self.norm2, self.ff)):
            x = x + F.dropout(part(norm(x)), p=0.1, training=self.training)
        return x


class whole_tokens_dropped(nn.Module):
    def __init__(self, attention, feed_forward, emb_dim, dropout):
        super().__init__()
        self.norm1, self.norm2 = nn.LayerNorm(emb_dim), nn.LayerNorm(emb_dim)
        self.attention, self.feed_forward = attention, feed_forward
        self.dropout = nn.Dropout1d(dropout)

    def forward(self, x):
        x = self.dropout(self.attention(self.norm1(x))) + x
        return self.dropout(self.feed_forward(self.norm2(x))) + x


class tokens_dropped_alike(nn.Module):
    def __init__(self, attention, feed_forward, emb_dim, dropout):
        super().__init__()
        self.norm1, self.norm2 = nn.LayerNorm(emb_dim), nn.LayerNorm(emb_dim)
        self.attention, self.feed_forward = attention, feed_forward
        self.dropout = nn.Dropout1d(dropout)

    def forward(self, x):
        for norm, module in ((self.norm1, self.attention), (self.norm2, self.feed_forward)):
            given = module(norm(x)).permute(0, 2, 1)  # (B, T, C) -> (B, C, T)
            x = x + self.dropout(given).permute(0, 2, 1)
        return x


class texts_dropped_alike(WithParts):
    def forward(self, x):
        for norm, part in ((self.norm1, self.att), (self.norm2, self.ff)):
            mask = F.dropout(torch.ones_like(x[0]), self.p, self.training)  # (T, C)
            x = x + part(norm(x)) * mask
        return x


class always_the_same_draws(WithParts):
    def forward(self, x):
        torch.manual_seed(0)
        x = x + self.drop1(self.att(self.norm1(x)))
        return x + self.drop2(self.ff(self.norm2(x)))


class block_squeezed(WithParts):
    def forward(self, x):
        x = x + self.drop1(self.att(self.norm1(x)))
        x = x + self.drop2(self.ff(self.norm2(x)))
        return x.reshape([size for size in x.shape if size != 1])


class block_detached(WithParts):
    def forward(self, x):
        x = x.data
        h = self.drop1(self.att(self.norm1(x))) + x
        return self.drop2(self.ff(self.norm2(h))) + h


class block_output_detached(WithParts):
    @torch.no_grad()
    def forward(self, x):
        h = self.drop1(self.att(self.norm1(x))) + x
        return self.drop2(self.ff(self.norm2(h))) + h


class ways_around_detached(WithParts):
    def forward(self, x):
        with torch.no_grad():
            shortcut = x.clone()
        x = self.drop1(self.att(self.norm1(x))) + shortcut
        with torch.no_grad():
            shortcut = x.clone()
        return self.drop2(self.ff(self.norm2(x))) + shortcut


class x_made_float32_in_the_block(WithParts):
    def forward(self, x):
        x = x.to(dtype=torch.float32)
        h = self.drop1(self.att(self.norm1(x))) + x
        return self.drop2(self.ff(self.norm2(h))) + h


class x_changed_by_the_block(WithParts):
    def forward(self, x):
        x.add_(self.drop1(self.att(self.norm1(x))))
        return x.add_(self.drop2(self.ff(self.norm2(x))))


# -- stack_blocks ------------------------------------------------------------------------------------------------


def one_block_many_times(make_block, num_blocks):
    block = make_block()
    stack = nn.Sequential()
    for i in range(num_blocks):
        stack.add_module(str(i), block)
    return stack


def copies_of_one_block(make_block, num_blocks):
    blocks = [make_block()]
    while len(blocks) < num_blocks:
        blocks.append(copy.deepcopy(blocks[-1]))
    return nn.Sequential(*blocks)


def last_block_first(make_block, num_blocks):
    blocks = []
    for _ in range(num_blocks):
        blocks.insert(0, make_block())
    return nn.Sequential(*blocks)


def one_block_too_few(make_block, num_blocks):
    stack = nn.Sequential()
    for i in range(1, num_blocks):
        stack.add_module(f"block{i}", make_block())
    return stack


def one_block_too_many(make_block, num_blocks):
    blocks, i = [], 0
    while i <= num_blocks:
        blocks.append(make_block())
        i += 1
    return nn.Sequential(*blocks)


def one_block_thrown_away(make_block, num_blocks):
    stack, block, count = nn.Sequential(), make_block(), 0
    while count < num_blocks:
        stack.append(block)
        block = make_block()
        count += 1
    return stack


def first_block_thrown_away(make_block, num_blocks):
    if not isinstance(make_block(), nn.Module):
        raise ValueError("make_block should give a module")
    return nn.Sequential(*(make_block() for _ in range(num_blocks)))


def always_three_blocks(make_block, num_blocks):
    return nn.Sequential(make_block(), make_block(), make_block())


def only_the_first_block_works(make_block, num_blocks):
    class Blocks(nn.Module):
        def __init__(self):
            super().__init__()
            self.layers = nn.ModuleList(make_block() for _ in range(num_blocks))

        def forward(self, x):
            for layer in self.layers:
                return layer(x)

    return Blocks()


def every_block_gets_x(make_block, num_blocks):
    class Blocks(nn.Module):
        def __init__(self):
            super().__init__()
            for i in range(num_blocks):
                setattr(self, f"block{i}", make_block())

        def forward(self, x):
            for block in self.children():
                y = block(x)
            return y

    return Blocks()


def blocks_side_by_side(make_block, num_blocks):
    class Blocks(nn.Module):
        def __init__(self):
            super().__init__()
            self.layers = nn.ModuleList(make_block() for _ in range(num_blocks))

        def forward(self, x):
            total = torch.zeros_like(x)
            for layer in self.layers:
                total = total + layer(x)
            return total

    return Blocks()


def residual_around_each_block(make_block, num_blocks):
    class Around(nn.Module):
        def __init__(self, block):
            super().__init__()
            self.block = block

        def forward(self, x):
            return self.block(x) + x

    return nn.Sequential(*(Around(make_block()) for _ in range(num_blocks)))


def norm_after_the_stack(make_block, num_blocks):
    class Normalized(nn.Module):
        def forward(self, x):
            var, mean = torch.var_mean(x, -1, keepdim=True, unbiased=False)
            return (x - mean) / (var + 1e-5).sqrt()

    return nn.Sequential(*[make_block() for _ in range(num_blocks)], Normalized())


def blocks_in_a_plain_list(make_block, num_blocks):
    stack = nn.Module()
    stack.layers = tuple(make_block() for _ in range(num_blocks))

    def forward(self, x):
        return functools.reduce(lambda y, layer: layer(y), self.layers, x)

    stack.forward = types.MethodType(forward, stack)
    return stack


def a_function_instead_of_a_module(make_block, num_blocks):
    blocks = [make_block() for _ in range(num_blocks)]
    return lambda x: functools.reduce(lambda y, block: block(y), blocks, x)


def module_list_returned(make_block, num_blocks):
    stack = nn.ModuleList()
    for _ in range(num_blocks):
        stack.append(make_block())
    return stack


def list_returned(make_block, num_blocks):
    blocks = []
    for _ in range(num_blocks):
        blocks.append(make_block())
    return blocks


def asterisk_or_call_forgotten(make_block, num_blocks):
    return nn.Sequential(*[make_block] * num_blocks)


def make_block_given_an_argument(make_block, num_blocks):
    return nn.Sequential(*map(make_block, range(num_blocks)))


def make_block_never_called(make_block, num_blocks):
    blocks = [make_block] * num_blocks
    return lambda x: functools.reduce(lambda y, block: block(y), blocks, x)


def blocks_made_in_each_call(make_block, num_blocks):
    class Blocks(nn.Module):
        def forward(self, x):
            stack = nn.Sequential(*(make_block() for _ in range(num_blocks)))
            return stack(x)

    return Blocks()


def detached_between_blocks(make_block, num_blocks):
    class Blocks(nn.Module):
        def __init__(self):
            super().__init__()
            self.layers = nn.Sequential(*(make_block() for _ in range(num_blocks)))

        def forward(self, x):
            *first, last = self.layers
            with torch.no_grad():
                for layer in first:
                    x = layer(x)
            return last(x)

    return Blocks()


def stack_detached(make_block, num_blocks):
    class Blocks(nn.Sequential):
        def forward(self, x):
            with torch.no_grad():
                return super().forward(x)

    return Blocks(*(make_block() for _ in range(num_blocks)))


def x_changed_by_the_stack(make_block, num_blocks):
    class Blocks(nn.Module):
        def __init__(self):
            super().__init__()
            self.layers = nn.ModuleList(make_block() for _ in range(num_blocks))

        def forward(self, x):
            for layer in self.layers:
                x[...] = layer(x)
            return x

    return Blocks()


# -- gpt2_parameter_count ----------------------------------------------------------------------------------------


def last_norm_forgotten(num_layers, emb_dim, vocab_size=50257, context_length=1024):
    attention = 4 * (emb_dim * emb_dim + emb_dim)
    feed_forward = emb_dim * 4 * emb_dim + 4 * emb_dim + 4 * emb_dim * emb_dim + emb_dim
    norms = 2 * 2 * emb_dim
    total = vocab_size * emb_dim + context_length * emb_dim
    for _ in range(num_layers):
        total += attention + feed_forward + norms
    return total


def positions_forgotten(num_layers, emb_dim, vocab_size=50257, context_length=1024):
    def linear(n, m):
        return n * m + m

    norm = emb_dim + emb_dim
    block = sum([linear(emb_dim, emb_dim)] * 4) + linear(emb_dim, 4 * emb_dim) + linear(4 * emb_dim, emb_dim) + 2 * norm
    return sum([vocab_size * emb_dim, *[block] * num_layers, norm])


def output_layer_counted(num_layers, emb_dim, vocab_size=50257, context_length=1024):
    with torch.device("meta"):
        layers = [nn.Embedding(vocab_size, emb_dim), nn.Embedding(context_length, emb_dim)]
        for _ in range(num_layers):
            layers += [nn.Linear(emb_dim, emb_dim) for _ in range(4)]
            layers += [nn.Linear(emb_dim, 4 * emb_dim), nn.Linear(4 * emb_dim, emb_dim)]
            layers += [nn.LayerNorm(emb_dim), nn.LayerNorm(emb_dim)]
        layers += [nn.LayerNorm(emb_dim), nn.Linear(emb_dim, vocab_size, bias=False)]
    return sum(parameter.numel() for layer in layers for parameter in layer.parameters())


def output_layer_with_bias_counted(num_layers, emb_dim, vocab_size=50257, context_length=1024):
    with torch.device("meta"):
        layers = [nn.Embedding(vocab_size, emb_dim), nn.Embedding(context_length, emb_dim)]
        for _ in range(num_layers):
            layers += [nn.Linear(emb_dim, emb_dim) for _ in range(4)]
            layers += [nn.Linear(emb_dim, 4 * emb_dim), nn.Linear(4 * emb_dim, emb_dim)]
            layers += [nn.LayerNorm(emb_dim), nn.LayerNorm(emb_dim)]
        layers += [nn.LayerNorm(emb_dim), nn.Linear(emb_dim, vocab_size)]
    return sum(parameter.numel() for layer in layers for parameter in layer.parameters())


def tokens_forgotten(num_layers, emb_dim, vocab_size=50257, context_length=1024):
    parts = {
        "positions": context_length * emb_dim,
        "attention": num_layers * (emb_dim + 1) * emb_dim * 4,
        "up": num_layers * (emb_dim + 1) * emb_dim * 4,
        "down": num_layers * (4 * emb_dim + 1) * emb_dim,
        "norms": (2 * num_layers + 1) * 2 * emb_dim,
    }
    return sum(parts.values())


def three_biases_forgotten(num_layers, emb_dim, vocab_size=50257, context_length=1024):
    qkv = emb_dim * 3 * emb_dim
    out = emb_dim * emb_dim + emb_dim
    up = emb_dim * 4 * emb_dim + 4 * emb_dim
    down = 4 * emb_dim * emb_dim + emb_dim
    norm = 2 * emb_dim
    return (vocab_size + context_length) * emb_dim + num_layers * (qkv + out + up + down + 2 * norm) + norm


def four_biases_forgotten(num_layers, emb_dim, vocab_size=50257, context_length=1024):
    attention = 4 * emb_dim * emb_dim
    feed_forward = (emb_dim + 1) * 4 * emb_dim + (4 * emb_dim + 1) * emb_dim
    norms = 4 * emb_dim
    block = attention + feed_forward + norms
    return emb_dim * (vocab_size + context_length + 2) + block * num_layers


def no_biases_in_feed_forward(num_layers, emb_dim, vocab_size=50257, context_length=1024):
    shapes = [(vocab_size, emb_dim), (context_length, emb_dim), (2, emb_dim)]
    for _ in range(num_layers):
        shapes += [(emb_dim + 1, emb_dim)] * 4
        shapes += [(emb_dim, 4 * emb_dim), (4 * emb_dim, emb_dim)]
        shapes += [(2, emb_dim)] * 2
    return sum(rows * columns for rows, columns in shapes)


def one_bias_forgotten(num_layers, emb_dim, vocab_size=50257, context_length=1024):
    shapes = [(vocab_size, emb_dim), (context_length, emb_dim), (2, emb_dim)]
    for _ in range(num_layers):
        shapes += [(emb_dim + 1, 3 * emb_dim), (emb_dim, emb_dim)]
        shapes += [(emb_dim + 1, 4 * emb_dim), (4 * emb_dim + 1, emb_dim)]
        shapes += [(2, emb_dim)] * 2
    return sum(math.prod(shape) for shape in shapes)


def no_biases_at_all(num_layers, emb_dim, vocab_size=50257, context_length=1024):
    embeddings = vocab_size * emb_dim + context_length * emb_dim
    attention = sum(emb_dim**2 for _ in ("queries", "keys", "values", "output"))
    feed_forward = 8 * emb_dim**2
    norm = 2 * emb_dim
    return embeddings + num_layers * (attention + feed_forward + norm + norm) + norm


def one_norm_in_a_block(num_layers, emb_dim, vocab_size=50257, context_length=1024):
    linears = [(emb_dim, emb_dim)] * 4 + [(emb_dim, 4 * emb_dim), (4 * emb_dim, emb_dim)]
    block = sum(n * m + m for n, m in linears) + 2 * emb_dim
    return vocab_size * emb_dim + context_length * emb_dim + num_layers * block + 2 * emb_dim


def norms_without_shifts(num_layers, emb_dim, vocab_size=50257, context_length=1024):
    linears = [(emb_dim, emb_dim)] * 4 + [(emb_dim, 4 * emb_dim), (4 * emb_dim, emb_dim)]
    norms = (2 * num_layers + 1) * emb_dim
    return (vocab_size + context_length) * emb_dim + num_layers * sum((n + 1) * m for n, m in linears) + norms


def norms_forgotten(num_layers, emb_dim, vocab_size=50257, context_length=1024):
    linears = [(emb_dim, emb_dim)] * 4 + [(emb_dim, 4 * emb_dim), (4 * emb_dim, emb_dim)]
    count = vocab_size * emb_dim + context_length * emb_dim
    for _ in range(num_layers):
        for n, m in linears:
            count += n * m + m
    return count


def last_norm_in_every_block(num_layers, emb_dim, vocab_size=50257, context_length=1024):
    total = 0
    for _ in range(num_layers):
        total += 4 * (emb_dim**2 + emb_dim)
        total += emb_dim * (4 * emb_dim) + 4 * emb_dim
        total += (4 * emb_dim) * emb_dim + emb_dim
        for _ in ("norm1", "norm2", "last norm"):
            total += 2 * emb_dim
    return total + emb_dim * vocab_size + emb_dim * context_length


def attention_output_forgotten(num_layers, emb_dim, vocab_size=50257, context_length=1024):
    qkv = 3 * emb_dim * (emb_dim + 1)
    up = 4 * emb_dim * (emb_dim + 1)
    down = emb_dim * (4 * emb_dim + 1)
    norm = 2 * emb_dim
    return vocab_size * emb_dim + context_length * emb_dim + (qkv + up + down + 2 * norm) * num_layers + norm


def one_layer_for_queries_keys_values(num_layers, emb_dim, vocab_size=50257, context_length=1024):
    def numbers(*modules):
        return sum(p.numel() for module in modules for p in module.parameters())

    with torch.device("meta"):
        norm = nn.LayerNorm(emb_dim)
        attention = nn.Linear(emb_dim, emb_dim), nn.Linear(emb_dim, emb_dim)
        feed_forward = nn.Linear(emb_dim, 4 * emb_dim), nn.Linear(4 * emb_dim, emb_dim)
        embeddings = nn.Embedding(vocab_size, emb_dim), nn.Embedding(context_length, emb_dim)
    return numbers(*embeddings, norm) + num_layers * numbers(*attention, *feed_forward, norm, norm)


def attention_forgotten(num_layers, emb_dim, vocab_size=50257, context_length=1024):
    def numbers(*modules):
        return sum(p.numel() for module in modules for p in module.parameters())

    with torch.device("meta"):
        norm = nn.LayerNorm(emb_dim)
        feed_forward = nn.Sequential(nn.Linear(emb_dim, 4 * emb_dim), nn.ReLU(), nn.Linear(4 * emb_dim, emb_dim))
        embeddings = nn.Embedding(vocab_size, emb_dim), nn.Embedding(context_length, emb_dim)
    return numbers(*embeddings, norm) + num_layers * numbers(feed_forward, norm, norm)


def feed_forward_of_one_layer(num_layers, emb_dim, vocab_size=50257, context_length=1024):
    attention = 4 * emb_dim * (emb_dim + 1)
    feed_forward = 4 * emb_dim * (emb_dim + 1)
    norm = 2 * emb_dim
    return (vocab_size + context_length) * emb_dim + (attention + feed_forward + 2 * norm) * num_layers + norm


def feed_forward_not_expanded(num_layers, emb_dim, vocab_size=50257, context_length=1024):
    square_layer = emb_dim * emb_dim + emb_dim
    block = 0
    for _ in ("queries", "keys", "values", "output", "first", "second"):
        block += square_layer
    for _ in ("norm1", "norm2"):
        block += 2 * emb_dim
    return emb_dim * vocab_size + emb_dim * context_length + num_layers * block + 2 * emb_dim


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


def another_vocabulary(num_layers, emb_dim, vocab_size=50256, context_length=1024):
    linears = [(emb_dim, emb_dim)] * 4 + [(emb_dim, 4 * emb_dim), (4 * emb_dim, emb_dim)]
    block = sum(n * m + m for n, m in linears) + 4 * emb_dim
    return vocab_size * emb_dim + context_length * emb_dim + block * num_layers + 2 * emb_dim


def another_context(num_layers, emb_dim, vocab_size=50257, context_length=512):
    linears = [(emb_dim, emb_dim)] * 4 + [(emb_dim, 4 * emb_dim), (4 * emb_dim, emb_dim)]
    block = sum(n * m + m for n, m in linears) + 4 * emb_dim
    return sum((vocab_size * emb_dim, context_length * emb_dim, block * num_layers, 2 * emb_dim))


def a_float(num_layers, emb_dim, vocab_size=50257, context_length=1024):
    hidden = emb_dim / 0.25
    attention = 4 * (emb_dim**2 + emb_dim)
    feed_forward = emb_dim * hidden + hidden + hidden * emb_dim + emb_dim
    return emb_dim * (vocab_size + context_length) + num_layers * (attention + feed_forward + 4 * emb_dim) + 2 * emb_dim


def in_millions(num_layers, emb_dim, vocab_size=50257, context_length=1024):
    block = 12 * emb_dim**2 + 13 * emb_dim
    total = emb_dim * (vocab_size + context_length) + num_layers * block + 2 * emb_dim
    return total / 1_000_000


def as_text(num_layers, emb_dim, vocab_size=50257, context_length=1024):
    block = 12 * emb_dim**2 + 13 * emb_dim
    total = emb_dim * (vocab_size + context_length) + num_layers * block + 2 * emb_dim
    return str(total)
