"""Unlisted mistakes of unit 7: wrong answers that are none of the misconceptions. The grader must not name them.

Those with the name of a misconception in front show it in code that takes another route. They must get its name.
"""

import math

import torch
import torch.nn as nn
import torch.nn.functional as F


# -- LayerNorm ---------------------------------------------------------------------------------------------------


class Affine(nn.Module):
    """The parameters of a layer norm, and nothing else."""

    def __init__(self, emb_dim, eps=1e-5):
        super().__init__()
        self.eps = eps
        self.scale = nn.Parameter(torch.ones(emb_dim))
        self.shift = nn.Parameter(torch.zeros(emb_dim))


class LayerNorm__mean_absolute_difference(Affine):
    def forward(self, x):
        x = x - x.mean(-1, keepdim=True)
        return x / (x.abs().mean(-1, keepdim=True) + self.eps) * self.scale + self.shift


class LayerNorm__median_for_mean(Affine):
    def forward(self, x):
        x = x - x.median(-1, keepdim=True).values
        return x / torch.sqrt(x.pow(2).mean(-1, keepdim=True) + self.eps) * self.scale + self.shift


class LayerNorm__mean_square_for_variance(Affine):
    def forward(self, x):
        mean, square = x.mean(-1, keepdim=True), x.pow(2).mean(-1, keepdim=True)
        return (x - mean) / torch.sqrt(square + self.eps) * self.scale + self.shift


class LayerNorm__softmax(Affine):
    def forward(self, x):
        return torch.softmax(x, dim=-1) * self.scale + self.shift


class LayerNorm__eps_inside_and_outside(Affine):
    def forward(self, x):
        var, mean = torch.var_mean(x, -1, keepdim=True, unbiased=False)
        return (x - mean) / (torch.sqrt(var + self.eps) + self.eps) * self.scale + self.shift


class LayerNorm__multiplied_by_the_deviation(Affine):
    def forward(self, x):
        var, mean = torch.var_mean(x, -1, keepdim=True, unbiased=False)
        return (x - mean) * torch.sqrt(var + self.eps) * self.scale + self.shift


class LayerNorm__scale_divides(Affine):
    def forward(self, x):
        return F.layer_norm(x, self.scale.shape, eps=self.eps) / self.scale + self.shift


class LayerNorm__shift_subtracted(Affine):
    def forward(self, x):
        return F.layer_norm(x, self.scale.shape, eps=self.eps) * self.scale - self.shift


class LayerNorm__only_centred(Affine):
    def forward(self, x):
        return (x - x.mean(-1, keepdim=True)) * self.scale + self.shift


class LayerNorm__base_class_not_initialized(nn.Module):
    def __init__(self, emb_dim, eps=1e-5):
        self.eps = eps
        self.scale = nn.Parameter(torch.ones(emb_dim))
        self.shift = nn.Parameter(torch.zeros(emb_dim))

    def forward(self, x):
        return F.layer_norm(x, self.scale.shape, self.scale, self.shift, self.eps)


class LayerNorm__nothing_returned(Affine):
    def forward(self, x):
        self.output = F.layer_norm(x, self.scale.shape, self.scale, self.shift, self.eps)


class LayerNorm__mean_and_deviation_exchanged(Affine):
    def forward(self, x):
        mean, var = torch.var_mean(x, -1, keepdim=True, unbiased=False)
        return (x - mean) / torch.sqrt(var + self.eps) * self.scale + self.shift


class LayerNorm__no_parameters(nn.Module):
    def __init__(self, emb_dim, eps=1e-5):
        super().__init__()
        self.emb_dim, self.eps = emb_dim, eps

    def forward(self, x):
        return F.layer_norm(x, (self.emb_dim,), eps=self.eps)


class LayerNorm__shift_alone(nn.Module):
    def __init__(self, emb_dim, eps=1e-5):
        super().__init__()
        self.eps = eps
        self.shift = nn.Parameter(torch.zeros(emb_dim))

    def forward(self, x):
        return F.layer_norm(x, self.shift.shape, eps=self.eps) + self.shift


class LayerNorm__shift_called_bias(nn.Module):
    def __init__(self, emb_dim, eps=1e-5):
        super().__init__()
        self.eps = eps
        self.scale = nn.Parameter(torch.ones(emb_dim))
        self.bias = nn.Parameter(torch.zeros(emb_dim))

    def forward(self, x):
        return F.layer_norm(x, self.scale.shape, self.scale, self.bias, self.eps)


# -- FeedForward -------------------------------------------------------------------------------------------------


class TwoLayers(nn.Module):
    """The layers of a feed-forward, and nothing else."""

    def __init__(self, emb_dim, expansion=4):
        super().__init__()
        self.up = nn.Linear(emb_dim, expansion * emb_dim)
        self.down = nn.Linear(expansion * emb_dim, emb_dim)


class FeedForward__softmax_between(TwoLayers):
    def forward(self, x):
        return self.down(torch.softmax(self.up(x), dim=-1))


class FeedForward__absolute_value(TwoLayers):
    def forward(self, x):
        return self.down(self.up(x).abs())


class FeedForward__negative_part_kept(TwoLayers):
    def forward(self, x):
        return self.down(torch.clamp(self.up(x), max=0))


class FeedForward__relu6(TwoLayers):
    def forward(self, x):
        return self.down(F.relu6(self.up(x)))


class FeedForward__only_positive_inputs_count(TwoLayers):
    def forward(self, x):
        return self.down(F.relu(self.up(F.relu(x))))


class FeedForward__narrower_instead_of_wider(nn.Module):
    def __init__(self, emb_dim, expansion=4):
        super().__init__()
        hidden = emb_dim // expansion
        self.net = nn.Sequential(nn.Linear(emb_dim, hidden), nn.ReLU(), nn.Linear(hidden, emb_dim))

    def forward(self, x):
        return self.net(x)


class FeedForward__second_layer_forgotten(TwoLayers):
    def forward(self, x):
        return F.relu(self.up(x))


class FeedForward__base_class_not_initialized(nn.Module):
    def __init__(self, emb_dim, expansion=4):
        self.up = nn.Linear(emb_dim, expansion * emb_dim)
        self.down = nn.Linear(expansion * emb_dim, emb_dim)

    def forward(self, x):
        return self.down(F.relu(self.up(x)))


class FeedForward__batch_norm_between(nn.Module):
    def __init__(self, emb_dim, expansion=4):
        super().__init__()
        self.up = nn.Linear(emb_dim, expansion * emb_dim)
        self.norm = nn.BatchNorm1d(expansion * emb_dim)
        self.down = nn.Linear(expansion * emb_dim, emb_dim)

    def forward(self, x):
        hidden = self.norm(self.up(x).flatten(0, -2))
        return self.down(F.relu(hidden)).view(x.shape)


# -- Residual ----------------------------------------------------------------------------------------------------


class Keeps(nn.Module):
    """Keeps sublayer, and nothing else."""

    def __init__(self, sublayer):
        super().__init__()
        self.sublayer = sublayer


class Residual__scaled_by_the_root_of_a_half(Keeps):
    def forward(self, x):
        return (x + self.sublayer(x)) * math.sqrt(0.5)


class Residual__x_subtracted(Keeps):
    def forward(self, x):
        return self.sublayer(x) - x


class Residual__the_larger_of_the_two(Keeps):
    def forward(self, x):
        return torch.maximum(x, self.sublayer(x))


class Residual__sublayer_of_the_sum(Keeps):
    def forward(self, x):
        return self.sublayer(x + self.sublayer(x))


class Residual__relu_on_what_is_added(Keeps):
    def forward(self, x):
        return x + F.relu(self.sublayer(x))


class Residual__both_are_returned(Keeps):
    def forward(self, x):
        return x, self.sublayer(x)


class Residual__base_class_not_initialized(nn.Module):
    def __init__(self, sublayer):
        self.sublayer = sublayer

    def forward(self, x):
        return x + self.sublayer(x)


class Residual__sublayer_not_called(Keeps):
    def forward(self, x):
        return x + self.sublayer


class Residual__the_weight_of_sublayer_added(Keeps):
    def forward(self, x):
        return x + self.sublayer.weight


# -- TransformerBlock --------------------------------------------------------------------------------------------


class Parts(nn.Module):
    """What a block is made of, and nothing else."""

    def __init__(self, attention, feed_forward, emb_dim, dropout):
        super().__init__()
        self.attention, self.feed_forward = attention, feed_forward
        self.norm1, self.norm2 = nn.LayerNorm(emb_dim), nn.LayerNorm(emb_dim)
        self.dropout = nn.Dropout(dropout)


class TransformerBlock__attention_twice(Parts):
    def forward(self, x):
        x = x + self.dropout(self.attention(self.norm1(x)))
        return x + self.dropout(self.attention(self.norm2(x)))


class TransformerBlock__both_norms_in_front_of_attention(Parts):
    def forward(self, x):
        x = x + self.dropout(self.attention(self.norm2(self.norm1(x))))
        return x + self.dropout(self.feed_forward(x))


class TransformerBlock__halved_sums(Parts):
    def forward(self, x):
        x = (x + self.dropout(self.attention(self.norm1(x)))) / 2
        return (x + self.dropout(self.feed_forward(self.norm2(x)))) / 2


class TransformerBlock__only_the_path_is_dropped(Parts):
    def forward(self, x):
        x = self.dropout(x) + self.attention(self.norm1(x))
        return self.dropout(x) + self.feed_forward(self.norm2(x))


class TransformerBlock__norms_dropped_too(Parts):
    def forward(self, x):
        x = x + self.dropout(self.attention(self.dropout(self.norm1(x))))
        return x + self.dropout(self.feed_forward(self.dropout(self.norm2(x))))


class TransformerBlock__scaled_down_where_kept(Parts):
    def forward(self, x):
        keep = 1 - self.dropout.p
        x = x + self.dropout(self.attention(self.norm1(x))) * keep * keep
        return x + self.dropout(self.feed_forward(self.norm2(x))) * keep * keep


class TransformerBlock__a_pair_expected_of_attention(Parts):
    def forward(self, x):
        attended, _ = self.attention(self.norm1(x))
        x = x + self.dropout(attended)
        return x + self.dropout(self.feed_forward(self.norm2(x)))


class TransformerBlock__base_class_not_initialized(nn.Module):
    def __init__(self, attention, feed_forward, emb_dim, dropout):
        self.attention, self.feed_forward = attention, feed_forward
        self.norm1, self.norm2 = nn.LayerNorm(emb_dim), nn.LayerNorm(emb_dim)
        self.dropout = nn.Dropout(dropout)

    def forward(self, x):
        x = x + self.dropout(self.attention(self.norm1(x)))
        return x + self.dropout(self.feed_forward(self.norm2(x)))


class TransformerBlock__norms_in_a_list(nn.Module):
    def __init__(self, attention, feed_forward, emb_dim, dropout):
        super().__init__()
        self.attention, self.feed_forward = attention, feed_forward
        self.norms = [nn.LayerNorm(emb_dim), nn.LayerNorm(emb_dim)]
        self.dropout = nn.Dropout(dropout)

    def forward(self, x):
        x = x + self.dropout(self.attention(self.norms[0](x)))
        return x + self.dropout(self.feed_forward(self.norms[1](x)))


class TransformerBlock__norm_made_in_each_call(nn.Module):
    def __init__(self, attention, feed_forward, emb_dim, dropout):
        super().__init__()
        self.attention, self.feed_forward = attention, feed_forward
        self.emb_dim = emb_dim
        self.dropout = nn.Dropout(dropout)

    def forward(self, x):
        norm1, norm2 = nn.LayerNorm(self.emb_dim), nn.LayerNorm(self.emb_dim)
        x = x + self.dropout(self.attention(norm1(x)))
        return x + self.dropout(self.feed_forward(norm2(x)))


class TransformerBlock__dropout_number_called(nn.Module):
    def __init__(self, attention, feed_forward, emb_dim, dropout):
        super().__init__()
        self.attention, self.feed_forward = attention, feed_forward
        self.norm1, self.norm2 = nn.LayerNorm(emb_dim), nn.LayerNorm(emb_dim)
        self.dropout = dropout

    def forward(self, x):
        x = x + self.dropout(self.attention(self.norm1(x)))
        return x + self.dropout(self.feed_forward(self.norm2(x)))


class TransformerBlock__attention_not_called(Parts):
    def forward(self, x):
        x = x + self.attention
        return x + self.dropout(self.feed_forward(self.norm2(x)))


class TransformerBlock__one_norm_of_another_name(nn.Module):
    def __init__(self, attention, feed_forward, emb_dim, dropout):
        super().__init__()
        self.attention, self.feed_forward = attention, feed_forward
        self.norm = nn.LayerNorm(emb_dim)
        self.dropout = nn.Dropout(dropout)

    def forward(self, x):
        x = x + self.dropout(self.attention(self.norm(x)))
        return x + self.dropout(self.feed_forward(self.norm(x)))


class TransformerBlock__norms_without_shift(Parts):
    def __init__(self, attention, feed_forward, emb_dim, dropout):
        super().__init__(attention, feed_forward, emb_dim, dropout)
        self.norm1, self.norm2 = nn.LayerNorm(emb_dim, bias=False), nn.LayerNorm(emb_dim, bias=False)

    def forward(self, x):
        x = x + self.dropout(self.attention(self.norm1(x)))
        return x + self.dropout(self.feed_forward(self.norm2(x)))


class kept_numbers_not_scaled__masked_at_random(Parts):
    def forward(self, x):
        for norm, part in ((self.norm1, self.attention), (self.norm2, self.feed_forward)):
            given = part(norm(x))
            if self.training:
                given = given.masked_fill(torch.rand_like(given) < self.dropout.p, 0.0)
            x = x + given
        return x


# -- stack_blocks ------------------------------------------------------------------------------------------------


class Blocks(nn.Module):
    """Keeps the blocks, and nothing else."""

    def __init__(self, blocks):
        super().__init__()
        self.blocks = nn.ModuleList(blocks)


def stack_blocks__number_in_the_place_of_a_range(make_block, num_blocks):
    return nn.Sequential(*[make_block() for _ in num_blocks])


def stack_blocks__block_multiplied_by_a_number(make_block, num_blocks):
    return nn.Sequential(make_block() * num_blocks)


def stack_blocks__argument_of_a_class_forgotten(make_block, num_blocks):
    blocks = [make_block() for _ in range(num_blocks)]

    class Stack(Blocks):
        def forward(self, x):
            for block in self.blocks:
                x = block(x)
            return x

    return Stack(*blocks)


def stack_blocks__base_class_not_initialized(make_block, num_blocks):
    class Stack(nn.Module):
        def __init__(self):
            self.blocks = nn.ModuleList(make_block() for _ in range(num_blocks))

        def forward(self, x):
            for block in self.blocks:
                x = block(x)
            return x

    return Stack()


def stack_blocks__append_gives_none(make_block, num_blocks):
    blocks = []
    for _ in range(num_blocks):
        blocks = blocks.append(make_block())
    return nn.Sequential(*blocks)


def stack_blocks__relu_between(make_block, num_blocks):
    layers = []
    for _ in range(num_blocks):
        layers += [make_block(), nn.ReLU()]
    return nn.Sequential(*layers)


def stack_blocks__mean_of_the_blocks(make_block, num_blocks):
    class Stack(Blocks):
        def forward(self, x):
            return torch.stack([block(x) for block in self.blocks]).mean(0)

    return Stack(make_block() for _ in range(num_blocks))


def stack_blocks__all_outputs_returned(make_block, num_blocks):
    class Stack(Blocks):
        def forward(self, x):
            outputs = []
            for block in self.blocks:
                x = block(x)
                outputs.append(x)
            return outputs

    return Stack(make_block() for _ in range(num_blocks))


def stack_blocks__returns_in_the_loop(make_block, num_blocks):
    class Stack(Blocks):
        def forward(self, x):
            for block in self.blocks[:2]:
                x = block(x)
            return x

    return Stack(make_block() for _ in range(num_blocks))


def stack_blocks__twice_through(make_block, num_blocks):
    blocks = [make_block() for _ in range(num_blocks)]
    return nn.Sequential(*blocks, *blocks)


def stack_blocks__x_added_at_the_end(make_block, num_blocks):
    class Stack(Blocks):
        def forward(self, x):
            shortcut = x
            for block in self.blocks:
                x = block(x)
            return x + shortcut

    return Stack(make_block() for _ in range(num_blocks))


def stack_blocks__one_block_alone(make_block, num_blocks):
    return make_block()


def stack_blocks__forward_forgotten(make_block, num_blocks):
    return Blocks(make_block() for _ in range(num_blocks))


def stack_blocks__asterisk_before_one_block(make_block, num_blocks):
    return nn.Sequential(*make_block())


def stack_blocks__nothing_returned(make_block, num_blocks):
    stack = nn.Sequential()
    for _ in range(num_blocks):
        stack.append(make_block())


def asterisk_or_call_forgotten__functions_multiplied(make_block, num_blocks):
    return nn.Sequential(*[make_block] * num_blocks)


# -- gpt2_parameter_count ----------------------------------------------------------------------------------------


def gpt2_parameter_count__positions_in_every_block(num_layers, emb_dim, vocab_size=50257, context_length=1024):
    block = 12 * emb_dim**2 + 13 * emb_dim + context_length * emb_dim
    return vocab_size * emb_dim + num_layers * block + 2 * emb_dim


def gpt2_parameter_count__feed_forward_three_times_as_wide(
    num_layers, emb_dim, vocab_size=50257, context_length=1024
):
    block = 4 * (emb_dim**2 + emb_dim) + 6 * emb_dim**2 + 4 * emb_dim + 4 * emb_dim
    return (vocab_size + context_length) * emb_dim + num_layers * block + 2 * emb_dim


def gpt2_parameter_count__one_block_more(num_layers, emb_dim, vocab_size=50257, context_length=1024):
    block = 12 * emb_dim**2 + 13 * emb_dim
    return (vocab_size + context_length) * emb_dim + (num_layers + 1) * block + 2 * emb_dim


def gpt2_parameter_count__mask_counted(num_layers, emb_dim, vocab_size=50257, context_length=1024):
    block = 12 * emb_dim**2 + 13 * emb_dim + context_length**2
    return (vocab_size + context_length) * emb_dim + num_layers * block + 2 * emb_dim


def gpt2_parameter_count__nothing_returned(num_layers, emb_dim, vocab_size=50257, context_length=1024):
    total = (vocab_size + context_length) * emb_dim + num_layers * (12 * emb_dim**2 + 13 * emb_dim)
    total += 2 * emb_dim


def gpt2_parameter_count__bias_in_every_weight(num_layers, emb_dim, vocab_size=50257, context_length=1024):
    block = 2 * 12 * emb_dim**2 + 4 * emb_dim
    return (vocab_size + context_length) * emb_dim + num_layers * block + 2 * emb_dim


def gpt2_parameter_count__positions_times_tokens(num_layers, emb_dim, vocab_size=50257, context_length=1024):
    return vocab_size * context_length * emb_dim + num_layers * (12 * emb_dim**2 + 13 * emb_dim) + 2 * emb_dim


def gpt2_parameter_count__norm_before_the_first_block_too(
    num_layers, emb_dim, vocab_size=50257, context_length=1024
):
    return (vocab_size + context_length) * emb_dim + num_layers * (12 * emb_dim**2 + 13 * emb_dim) + 4 * emb_dim


def gpt2_parameter_count__emb_dim_for_its_square(num_layers, emb_dim, vocab_size=50257, context_length=1024):
    return (vocab_size + context_length) * emb_dim + num_layers * (12 * emb_dim + 13 * emb_dim) + 2 * emb_dim


def gpt2_parameter_count__norms_with_one_number_each(num_layers, emb_dim, vocab_size=50257, context_length=1024):
    return (vocab_size + context_length) * emb_dim + num_layers * (12 * emb_dim**2 + 9 * emb_dim + 4) + 2


def gpt2_parameter_count__in_thousands(num_layers, emb_dim, vocab_size=50257, context_length=1024):
    count = (vocab_size + context_length) * emb_dim + num_layers * (12 * emb_dim**2 + 13 * emb_dim) + 2 * emb_dim
    return count // 1000


def gpt2_parameter_count__each_block_and_the_total(num_layers, emb_dim, vocab_size=50257, context_length=1024):
    block = 12 * emb_dim**2 + 13 * emb_dim
    return block, (vocab_size + context_length) * emb_dim + num_layers * block + 2 * emb_dim


def gpt2_parameter_count__a_tensor(num_layers, emb_dim, vocab_size=50257, context_length=1024):
    sizes = torch.tensor([(vocab_size + context_length) * emb_dim, num_layers * (12 * emb_dim**2 + 13 * emb_dim)])
    return sizes.sum() + 2 * emb_dim
