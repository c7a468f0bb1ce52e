"""Unit 7: wrong answers that learners give, each with the sentence that would help who wrote it.

A name says what was done. Where the same slip is made in several exercises, the later ones' names have more words.
"""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional

from grader.misconceptions import misconception

WORKED_EXAMPLE_FEATURES = 4
LayerNorm = nn.LayerNorm  # under the name of the exercise, for which a stand-in can take its place

# -- LayerNorm ---------------------------------------------------------------------------------------------------


class Norm(nn.Module):
    """The right answer, of which each wrong one changes a part."""

    def __init__(self, emb_dim: int, eps: float = 1e-5) -> None:
        super().__init__()
        self.eps = eps
        self.scale = nn.Parameter(torch.ones(emb_dim))
        self.shift = nn.Parameter(torch.zeros(emb_dim))

    def centre(self, x: Tensor) -> Tensor:
        return x - x.mean(dim=-1, keepdim=True)

    def variance(self, x: Tensor) -> Tensor:
        return x.var(dim=-1, keepdim=True, unbiased=False)

    def root(self, variance: Tensor) -> Tensor:
        return torch.sqrt(variance + self.eps)

    def normalize(self, x: Tensor) -> Tensor:
        return self.centre(x) / self.root(self.variance(x))

    def forward(self, x: Tensor) -> Tensor:
        return self.scale * self.normalize(x) + self.shift


@misconception(
    "LayerNorm",
    "The variance is the unbiased one: `torch.var` and `torch.std` divide by C - 1 unless told otherwise. Here the "
    "features are all there is, and no sample of more, so divide by C: `unbiased=False`.",
)
class unbiased_variance(Norm):
    def variance(self, x: Tensor) -> Tensor:
        return x.var(dim=-1, keepdim=True)


@misconception(
    "LayerNorm",
    "eps is added to the standard deviation, outside the root. It belongs to the variance, inside the root: there it "
    "also keeps the root's own gradient finite where the variance is zero.",
)
class eps_outside_the_root(Norm):
    def root(self, variance: Tensor) -> Tensor:
        return variance.sqrt() + self.eps


@misconception(
    "LayerNorm",
    "This is the norm of a well-known tutorial, x.std() + eps: the standard deviation is the unbiased one, and eps "
    "stands outside the root. Take the biased variance, add eps to it, and then take the root.",
)
class unbiased_deviation_plus_eps(Norm):
    def normalize(self, x: Tensor) -> Tensor:
        return self.centre(x) / (x.std(dim=-1, keepdim=True) + self.eps)


@misconception(
    "LayerNorm",
    "eps is nowhere to be found. Where all features of a token are alike the variance is zero, and without eps this "
    "divides zero by zero.",
)
class eps_forgotten(Norm):
    def root(self, variance: Tensor) -> Tensor:
        return variance.sqrt()


@misconception(
    "LayerNorm",
    "eps is always 1e-5, whatever the caller asks for. Keep the argument, `self.eps = eps`, and use that.",
)
class eps_argument_ignored(Norm):
    def __init__(self, emb_dim: int, eps: float = 1e-5) -> None:  # noqa: ARG002
        super().__init__(emb_dim)


@misconception(
    "LayerNorm",
    "The default of eps is another one. Models differ in it, BERT has 1e-12 and many others 1e-6; here, as in GPT-2 "
    "and nn.LayerNorm, it is 1e-5.",
)
class another_default_of_eps(Norm):
    def __init__(self, emb_dim: int, eps: float = 1e-6) -> None:
        super().__init__(emb_dim, eps)


@misconception(
    "LayerNorm",
    "eps is only a lower bound of the variance, by `clamp` or `max`. It is added to every variance, large or small.",
)
class eps_as_a_lower_bound(Norm):
    def root(self, variance: Tensor) -> Tensor:
        return variance.clamp(min=self.eps).sqrt()


@misconception(
    "LayerNorm",
    "The differences are divided by the variance itself. It is made of squares; its root, the standard deviation, has "
    "the size of the features.",
)
class root_forgotten(Norm):
    def root(self, variance: Tensor) -> Tensor:
        return variance + self.eps


@misconception(
    "LayerNorm",
    "The differences are divided by the root of their sum of squares, which makes vectors of length one. Divide the "
    "sum by C first: the variance is a mean.",
)
class divided_by_the_length(Norm):
    def variance(self, x: Tensor) -> Tensor:
        return self.centre(x).square().sum(dim=-1, keepdim=True)


@misconception(
    "LayerNorm",
    "The mean is not subtracted: only the size of the features is evened out. Two steps make a layer norm, and the "
    "first is to take the mean away.",
)
class mean_not_subtracted(Norm):
    def centre(self, x: Tensor) -> Tensor:
        return x


@misconception(
    "LayerNorm",
    "This is RMSNorm, which divides by the root of the mean square and never takes a mean away. Newer models use it; "
    "layer norm subtracts the mean first, and takes the squares of what is left.",
)
class root_mean_square_norm(Norm):
    def centre(self, x: Tensor) -> Tensor:
        return x

    def variance(self, x: Tensor) -> Tensor:
        return x.square().mean(dim=-1, keepdim=True)


@misconception(
    "LayerNorm",
    "The features are moved to the range from 0 to 1, by their minimum and maximum. Layer norm goes by mean and "
    "variance, of which no single feature decides alone.",
)
class by_minimum_and_maximum(Norm):
    def normalize(self, x: Tensor) -> Tensor:
        least, most = x.amin(-1, keepdim=True), x.amax(-1, keepdim=True)
        return (x - least) / (most - least + self.eps)


class Over(Norm):
    """Mean and variance over other dims."""

    dims: tuple[int, ...]

    def centre(self, x: Tensor) -> Tensor:
        return x - x.mean(dim=self.dims, keepdim=True)

    def variance(self, x: Tensor) -> Tensor:
        return x.var(dim=self.dims, keepdim=True, unbiased=False)


@misconception(
    "LayerNorm",
    "Mean and variance run over the batch, the first dim, as in batch norm. A token's numbers then depend on the "
    "texts that happen to be beside it. Normalise over the features: the last dim.",
)
class over_the_batch(Over):
    dims = (0,)


@misconception(
    "LayerNorm",
    "Mean and variance run over the tokens. Every token then sees all others, the later ones too. Normalise each "
    "token's features among themselves: the last dim.",
)
class over_the_tokens(Norm):
    def normalize(self, x: Tensor) -> Tensor:
        return (x - x.mean(-2, keepdim=True)) / self.root(x.var(-2, keepdim=True, unbiased=False))


TOKENS_AND_FEATURES = (
    "Mean and variance run over tokens and features together, one pair for each text. Each token has a mean and a "
    "variance of its own: the last dim alone."
)


@misconception("LayerNorm", TOKENS_AND_FEATURES)
class over_the_last_two_dims(Over):
    dims = (-2, -1)


@misconception("LayerNorm", TOKENS_AND_FEATURES)
class over_tokens_and_features(Norm):
    def normalize(self, x: Tensor) -> Tensor:
        dims = (-2, -1) if x.dim() > 1 else (-1,)
        return (x - x.mean(dims, keepdim=True)) / self.root(x.var(dims, keepdim=True, unbiased=False))


@misconception(
    "LayerNorm",
    "There is one mean and one variance for the whole tensor: `x.mean()` without a dim takes everything. Say `dim=-1, "
    "keepdim=True`.",
)
class over_everything(Norm):
    def normalize(self, x: Tensor) -> Tensor:
        return (x - x.mean()) / self.root(x.var(unbiased=False))


@misconception(
    "LayerNorm",
    "This fits batches of texts alone: the features are taken to be the third dim, or sizes are read off as if there "
    "were always three. `dim=-1, keepdim=True` fits any number of dims.",
)
class over_the_third_dim(Over):
    dims = (2,)


@misconception(
    "LayerNorm",
    "The mean, or the variance, has lost its dim: without `keepdim=True` it is (B, T), which does not fit (B, T, C). "
    "Keep it as (B, T, 1).",
)
class keepdim_forgotten(Norm):
    def normalize(self, x: Tensor) -> Tensor:
        return (x - x.mean(dim=-1)) / self.root(x.var(dim=-1, unbiased=False))


@misconception(
    "LayerNorm",
    "The output has lost the leading dims: what was flattened to rows of features stays so. Give it the shape of x "
    "again.",
)
class rows_not_put_back(Norm):
    def forward(self, x: Tensor) -> Tensor:
        return super().forward(x).reshape(-1, x.shape[-1])  # (…, C) -> (rows, C)


@misconception(
    "LayerNorm",
    "`view` refuses tensors that do not lie in memory in one piece, such as the result of a transpose. `reshape` "
    "takes them, and with `dim=-1` there is no need for either.",
)
class rows_by_view(Norm):
    def forward(self, x: Tensor) -> Tensor:
        return super().forward(x.view(-1, x.shape[-1])).view(x.shape)  # (…, C) -> (rows, C) -> (…, C)


# Scale and shift


@misconception(
    "LayerNorm",
    "scale is one number for all features, and so is shift. Each feature has its own to learn: emb_dim numbers each.",
)
class one_number_for_all_features(Norm):
    def __init__(self, emb_dim: int, eps: float = 1e-5) -> None:
        super().__init__(emb_dim, eps)
        self.scale, self.shift = nn.Parameter(torch.ones(1)), nn.Parameter(torch.zeros(1))


@misconception(
    "LayerNorm",
    "scale and shift are plain tensors. No optimiser finds them, so they stay one and zero for ever: wrap them in "
    "nn.Parameter.",
)
class plain_tensors(Norm):
    def __init__(self, emb_dim: int, eps: float = 1e-5) -> None:
        super().__init__(emb_dim, eps)
        del self.scale, self.shift
        self.scale, self.shift = torch.ones(emb_dim), torch.zeros(emb_dim)  # type: ignore[assignment]


@misconception(
    "LayerNorm",
    "The parameters are there under other names, such as gamma and beta or weight and bias. Whoever loads weights "
    "goes by the names: call them scale and shift.",
)
class other_names(Norm):
    def __init__(self, emb_dim: int, eps: float = 1e-5) -> None:
        super().__init__(emb_dim, eps)
        del self.scale, self.shift
        self.gamma, self.beta = nn.Parameter(torch.ones(emb_dim)), nn.Parameter(torch.zeros(emb_dim))

    def forward(self, x: Tensor) -> Tensor:
        return self.gamma * self.normalize(x) + self.beta


@misconception(
    "LayerNorm",
    "There is a scale but no shift. Without it every token has the mean zero for ever, and no feature can be lifted: "
    "add a shift that begins as zeros.",
)
class no_shift(Norm):
    def __init__(self, emb_dim: int, eps: float = 1e-5) -> None:
        super().__init__(emb_dim, eps)
        del self.shift

    def forward(self, x: Tensor) -> Tensor:
        return self.scale * self.normalize(x)


@misconception("LayerNorm", "shift is made but never added. The last step has two parts: times scale, plus shift.")
class shift_unused(Norm):
    def forward(self, x: Tensor) -> Tensor:
        return self.scale * self.normalize(x)


@misconception("LayerNorm", "scale is made but never used. The last step has two parts: times scale, plus shift.")
class scale_unused(Norm):
    def forward(self, x: Tensor) -> Tensor:
        return self.normalize(x) + self.shift


@misconception(
    "LayerNorm",
    "Neither scale nor shift is used. The model could never make a feature large again that it needs large: multiply "
    "by the one, and add the other.",
)
class scale_and_shift_unused(Norm):
    def forward(self, x: Tensor) -> Tensor:
        return self.normalize(x)


@misconception(
    "LayerNorm",
    "shift is added before scale multiplies, so that the shift is scaled as well. Multiply first, then add.",
)
class shifted_before_scaled(Norm):
    def forward(self, x: Tensor) -> Tensor:
        return self.scale * (self.normalize(x) + self.shift)


@misconception(
    "LayerNorm",
    "x is scaled and shifted before it is normalised, which takes most of that away again. Normalise first, then "
    "scale and shift.",
)
class scaled_before_normalized(Norm):
    def forward(self, x: Tensor) -> Tensor:
        return self.normalize(self.scale * x + self.shift)


@misconception(
    "LayerNorm",
    "scale and shift have changed places: scale multiplies, and shift is added.",
)
class scale_and_shift_exchanged(Norm):
    def forward(self, x: Tensor) -> Tensor:
        return self.shift * self.normalize(x) + self.scale


@misconception(
    "LayerNorm",
    "scale begins as random numbers. At first a norm should only normalise: ones for scale and zeros for shift.",
)
class scale_begins_random(Norm):
    def __init__(self, emb_dim: int, eps: float = 1e-5) -> None:
        super().__init__(emb_dim, eps)
        self.scale = nn.Parameter(torch.randn(emb_dim))


@misconception(
    "LayerNorm",
    "scale begins as zeros, and so does every output. Times one changes nothing: begin with ones.",
)
class scale_begins_as_zeros(Norm):
    def __init__(self, emb_dim: int, eps: float = 1e-5) -> None:
        super().__init__(emb_dim, eps)
        self.scale = nn.Parameter(torch.zeros(emb_dim))


@misconception(
    "LayerNorm",
    "shift begins as ones, which moves every feature. Plus zero changes nothing: begin with zeros.",
)
class shift_begins_as_ones(Norm):
    def __init__(self, emb_dim: int, eps: float = 1e-5) -> None:
        super().__init__(emb_dim, eps)
        self.shift = nn.Parameter(torch.ones(emb_dim))


@misconception(
    "LayerNorm",
    "The parameters have the size of the worked example, 4. A class should use its own arguments: emb_dim.",
)
class features_of_the_worked_example(Norm):
    def __init__(self, emb_dim: int, eps: float = 1e-5) -> None:  # noqa: ARG002
        super().__init__(WORKED_EXAMPLE_FEATURES, eps)


# Gradients, dtypes, arguments

DETACHED = (
    "What comes in is cut off from the gradients, by `.detach()`, `.data` or `torch.no_grad()`. Nothing below this "
    "module could learn."
)
ALL_DETACHED = (
    "The output is cut off from the gradients, by `.detach()` or `.data` at the end, or by `torch.no_grad()` around "
    "it all. Neither this module nor anything below it could learn."
)
CHANGED = (
    "The caller's x was changed: `-=`, `+=` and methods with an underscore work on the tensor itself. Write `x = x + "
    "…`, which makes a new one."
)


@misconception("LayerNorm", DETACHED)
class x_detached(Norm):
    def normalize(self, x: Tensor) -> Tensor:
        return super().normalize(x.detach())


@misconception("LayerNorm", ALL_DETACHED)
class norm_detached(Norm):
    def forward(self, x: Tensor) -> Tensor:
        return super().forward(x).detach()


@misconception(
    "LayerNorm",
    "Mean and variance are cut off from the gradients, as if they were constants. They depend on x too, and the "
    "gradient has to know.",
)
class statistics_detached(Norm):
    def normalize(self, x: Tensor) -> Tensor:
        return (x - x.mean(-1, keepdim=True).detach()) / self.root(self.variance(x).detach())


@misconception(
    "LayerNorm",
    "The output is always float32, by `.float()` or a float32 tensor of your own. Where x and the parameters are "
    "float64, so should the output be.",
)
class made_float32(Norm):
    def forward(self, x: Tensor) -> Tensor:
        return super().forward(x).float()


@misconception("LayerNorm", CHANGED)
class x_centred_in_place(Norm):
    def centre(self, x: Tensor) -> Tensor:
        x -= x.mean(dim=-1, keepdim=True)
        return x


# -- FeedForward -------------------------------------------------------------------------------------------------


class Network(nn.Module):
    """The right answer, of which each wrong one changes a part."""

    def __init__(self, emb_dim: int, expansion: int = 4) -> None:
        super().__init__()
        self.make(emb_dim, expansion * emb_dim)

    def make(self, emb_dim: int, hidden: int) -> None:
        self.first, self.second = nn.Linear(emb_dim, hidden), nn.Linear(hidden, emb_dim)

    def activate(self, hidden: Tensor) -> Tensor:
        return functional.relu(hidden)

    def forward(self, x: Tensor) -> Tensor:
        return self.second(self.activate(self.first(x)))


@misconception(
    "FeedForward",
    "Between the layers stands GELU. That is what GPT-2 has, a ReLU with a rounded corner; this exercise asks for "
    "ReLU, as in the Transformer of 2017.",
)
class gelu(Network):
    def activate(self, hidden: Tensor) -> Tensor:
        return functional.gelu(hidden)


@misconception(
    "FeedForward",
    "Between the layers stands SiLU, which newer models use. Here it is ReLU: zero for what is below zero, and all "
    "else as it is.",
)
class silu(Network):
    def activate(self, hidden: Tensor) -> Tensor:
        return functional.silu(hidden)


@misconception(
    "FeedForward",
    "Between the layers stands a leaky ReLU, which lets a part of the negative numbers through. ReLU makes them zero.",
)
class leaky_relu(Network):
    def activate(self, hidden: Tensor) -> Tensor:
        return functional.leaky_relu(hidden)


@misconception(
    "FeedForward",
    "Between the layers stands tanh, which presses all numbers between -1 and 1. ReLU leaves what is above zero as it "
    "is.",
)
class tanh(Network):
    def activate(self, hidden: Tensor) -> Tensor:
        return torch.tanh(hidden)


@misconception(
    "FeedForward",
    "Between the layers stands a sigmoid, which presses all numbers between 0 and 1. ReLU leaves what is above zero "
    "as it is.",
)
class sigmoid(Network):
    def activate(self, hidden: Tensor) -> Tensor:
        return torch.sigmoid(hidden)


@misconception(
    "FeedForward",
    "Nothing stands between the layers, so that the two are only one linear map, written as a product. ReLU makes "
    "them more than that.",
)
class no_activation(Network):
    def activate(self, hidden: Tensor) -> Tensor:
        return hidden


@misconception(
    "FeedForward",
    "A second ReLU stands after the second layer. What the block adds to x could then never be negative; ReLU is for "
    "the hidden layer alone.",
)
class relu_at_the_end_too(Network):
    def forward(self, x: Tensor) -> Tensor:
        return functional.relu(super().forward(x))


@misconception(
    "FeedForward",
    "ReLU stands after both layers, and not between them: the two layers in a row are then only one linear map.",
)
class relu_only_at_the_end(Network):
    def forward(self, x: Tensor) -> Tensor:
        return functional.relu(self.second(self.first(x)))


@misconception(
    "FeedForward",
    "ReLU stands before the first layer, and nothing between the two. First widen, then ReLU, then back.",
)
class relu_at_the_beginning(Network):
    def forward(self, x: Tensor) -> Tensor:
        return self.second(self.first(functional.relu(x)))


@misconception(
    "FeedForward",
    "The residual connection is in here already: x is added at the end. That is another module's work, and in the "
    "block x would be added twice.",
)
class residual_inside(Network):
    def forward(self, x: Tensor) -> Tensor:
        return x + super().forward(x)


@misconception(
    "FeedForward",
    "A layer norm stands in front of the layers. In the block norm2 does that already: here only the two layers and "
    "ReLU.",
)
class norm_inside(Network):
    def forward(self, x: Tensor) -> Tensor:
        return super().forward(functional.layer_norm(x, x.shape[-1:]))


@misconception(
    "FeedForward",
    "A dropout is built in, as in some tutorials. In this unit the block drops what the feed-forward gives, and twice "
    "would be too much.",
)
class dropout_inside(Network):
    def forward(self, x: Tensor) -> Tensor:
        return functional.dropout(super().forward(x), 0.2, self.training)


@misconception(
    "FeedForward",
    "The hidden layer is no wider than x: expansion is not used. The room that it gives is what the network works "
    "with.",
)
class no_expansion(Network):
    def __init__(self, emb_dim: int, expansion: int = 4) -> None:  # noqa: ARG002
        super().__init__(emb_dim, 1)


@misconception(
    "FeedForward",
    "The hidden layer is always four times as wide as x. That is the default alone: use the argument, expansion.",
)
class always_four_times(Network):
    def __init__(self, emb_dim: int, expansion: int = 4) -> None:  # noqa: ARG002
        super().__init__(emb_dim, 4)


@misconception(
    "FeedForward",
    "Without an argument the hidden layer has another width than four times that of x. Four is what the Transformer "
    "of 2017 and GPT-2 have, and the default here.",
)
class another_default(Network):
    def __init__(self, emb_dim: int, expansion: int = 2) -> None:
        super().__init__(emb_dim, expansion)


@misconception(
    "FeedForward",
    "expansion is taken for the hidden width itself. It says how many times as wide the hidden layer is: expansion * "
    "emb_dim.",
)
class expansion_as_the_width(Network):
    def make(self, emb_dim: int, hidden: int) -> None:
        super().make(emb_dim, hidden // emb_dim)


@misconception(
    "FeedForward",
    "The hidden width is expansion + emb_dim. It should be a multiple of it: expansion * emb_dim.",
)
class expansion_added(Network):
    def make(self, emb_dim: int, hidden: int) -> None:
        super().make(emb_dim, hidden // emb_dim + emb_dim)


class WithBiases(Network):
    biases: tuple[bool, bool]

    def make(self, emb_dim: int, hidden: int) -> None:
        first, second = self.biases
        self.first, self.second = nn.Linear(emb_dim, hidden, bias=first), nn.Linear(hidden, emb_dim, bias=second)


@misconception(
    "FeedForward",
    "Neither layer has a bias. Queries, keys and values often do without; here both layers have one, as nn.Linear has "
    "by itself.",
)
class no_biases(WithBiases):
    biases = (False, False)


@misconception("FeedForward", "The first layer has no bias. Both have one, as nn.Linear has by itself.")
class no_first_bias(WithBiases):
    biases = (False, True)


@misconception("FeedForward", "The second layer has no bias. Both have one, as nn.Linear has by itself.")
class no_second_bias(WithBiases):
    biases = (True, False)


@misconception(
    "FeedForward",
    "Only the weights of the layers are used, and their biases are left lying. Call the layer itself, and it adds its "
    "bias too.",
)
class biases_unused(Network):
    def forward(self, x: Tensor) -> Tensor:
        # (C, hidden), then (hidden, C)
        return functional.relu(x @ self.first.weight.T) @ self.second.weight.T


@misconception(
    "FeedForward",
    "There is one layer only. The feed-forward has two, each with weights of its own: one from emb_dim to expansion * "
    "emb_dim, and one back.",
)
class one_layer(nn.Module):
    def __init__(self, emb_dim: int, expansion: int = 4) -> None:  # noqa: ARG002
        super().__init__()
        self.layer = nn.Linear(emb_dim, emb_dim)

    def forward(self, x: Tensor) -> Tensor:
        return functional.relu(self.layer(x))


@misconception(
    "FeedForward",
    "There are three layers. The feed-forward has two, with nothing but ReLU between them: widen, ReLU, back.",
)
class three_layers(Network):
    def make(self, emb_dim: int, hidden: int) -> None:
        super().make(emb_dim, hidden)
        self.between = nn.Linear(hidden, hidden)

    def activate(self, hidden: Tensor) -> Tensor:
        return functional.relu(self.between(functional.relu(hidden)))


@misconception(
    "FeedForward",
    "The way back uses the first layer's weights once more, transposed. The second layer has weights of its own to "
    "learn.",
)
class first_weights_used_twice(Network):
    def forward(self, x: Tensor) -> Tensor:
        hidden = functional.relu(self.first(x))
        return hidden @ self.first.weight + self.second.bias  # (…, hidden) @ (hidden, C) -> (…, C)


@misconception(
    "FeedForward",
    "Every call ends in an error, for shapes do not fit. Call the layer that widens, then ReLU, then the layer that "
    "leads back, each once: from emb_dim features to expansion * emb_dim, and from there to emb_dim.",
)
class layers_exchanged(Network):
    def forward(self, x: Tensor) -> Tensor:
        return self.first(functional.relu(self.second(x)))


@misconception(
    "FeedForward",
    "No layer is found in the module: there is none, or it is kept in a plain list or made in each call, where no "
    "optimiser, no `.double()` and no `state_dict` looks. Make the layers attributes, or use nn.ModuleList or "
    "nn.Sequential.",
)
class layers_in_a_list(Network):
    def make(self, emb_dim: int, hidden: int) -> None:
        self.layers = [nn.Linear(emb_dim, hidden), nn.Linear(hidden, emb_dim)]

    def forward(self, x: Tensor) -> Tensor:
        return self.layers[1](functional.relu(self.layers[0](x)))


@misconception(
    "FeedForward",
    "The output has lost the leading dims: what was flattened to rows of features stays so. nn.Linear takes any "
    "number of dims, so there is no need to flatten.",
)
class rows_not_put_back_by_feed_forward(Network):
    def forward(self, x: Tensor) -> Tensor:
        return super().forward(x).reshape(-1, x.shape[-1])  # (…, C) -> (rows, C)


@misconception(
    "FeedForward",
    "The module takes batches of texts only: it reads three sizes off x. nn.Linear acts on the last dim and takes any "
    "number of dims in front.",
)
class batches_only(Network):
    def forward(self, x: Tensor) -> Tensor:
        texts, tokens, features = x.shape
        return super().forward(x.reshape(texts * tokens, features)).view(texts, tokens, features)


@misconception(
    "FeedForward",
    "The hidden layer is cut off from the gradients, by `.detach()`, `.data` or `torch.no_grad()`. The first layer, "
    "and everything below this module, could never learn.",
)
class hidden_layer_detached(Network):
    def activate(self, hidden: Tensor) -> Tensor:
        return functional.relu(hidden.detach())


@misconception("FeedForward", ALL_DETACHED)
class feed_forward_detached(Network):
    def forward(self, x: Tensor) -> Tensor:
        return super().forward(x).detach()


@misconception(
    "FeedForward",
    "x, or what the first layer makes of it, is made float32, which then does not fit layers that are float64. Leave "
    "the dtype as it is.",
)
class x_made_float32(Network):
    def forward(self, x: Tensor) -> Tensor:
        return super().forward(x.float())


@misconception("FeedForward", CHANGED)
class x_changed_by_feed_forward(Network):
    def forward(self, x: Tensor) -> Tensor:
        output = super().forward(x)
        with torch.no_grad():
            x.relu_()
        return output


# -- Residual ----------------------------------------------------------------------------------------------------


class Around(nn.Module):
    """The right answer, of which each wrong one changes a part."""

    def __init__(self, sublayer: nn.Module) -> None:
        super().__init__()
        self.sublayer = sublayer

    def forward(self, x: Tensor) -> Tensor:
        return x + self.sublayer(x)


def normalized(x: Tensor) -> Tensor:
    return functional.layer_norm(x, x.shape[-1:])


@misconception(
    "Residual",
    "x is not added: the output is what sublayer gives, and nothing more. Without the way around it, gradients have "
    "to pass through every module in turn.",
)
class x_not_added(Around):
    def forward(self, x: Tensor) -> Tensor:
        return self.sublayer(x)


@misconception(
    "Residual",
    "sublayer gets x after a layer norm. That is how the block will use it, with a norm of its own; a residual "
    "connection alone is x + sublayer(x).",
)
class norm_before_sublayer(Around):
    def forward(self, x: Tensor) -> Tensor:
        return x + self.sublayer(normalized(x))


@misconception(
    "Residual",
    "The sum goes through a layer norm. On the way around sublayer nothing should stand: x + sublayer(x), and no more.",
)
class norm_after_the_sum(Around):
    def forward(self, x: Tensor) -> Tensor:
        return normalized(x + self.sublayer(x))


@misconception(
    "Residual",
    "What is added to is the normalised x. The way around sublayer then passes through a norm, and x itself is gone.",
)
class normalized_on_both_ways(Around):
    def forward(self, x: Tensor) -> Tensor:
        x = normalized(x)
        return x + self.sublayer(x)


@misconception(
    "Residual",
    "The sum goes through ReLU, as in the networks for images where residual connections began. In a transformer the "
    "way around is left free, for negative numbers too.",
)
class relu_after_the_sum(Around):
    def forward(self, x: Tensor) -> Tensor:
        return functional.relu(x + self.sublayer(x))


@misconception(
    "Residual",
    "x and what sublayer gives are multiplied. Where a factor is small, gradients fade; a sum hands them on as they "
    "are.",
)
class multiplied(Around):
    def forward(self, x: Tensor) -> Tensor:
        return x * self.sublayer(x)


@misconception(
    "Residual",
    "What sublayer gives is subtracted. Training could live with that, but the residual connection is a sum.",
)
class subtracted(Around):
    def forward(self, x: Tensor) -> Tensor:
        return x - self.sublayer(x)


@misconception(
    "Residual",
    "The output is the mean of x and what sublayer gives. Halved in every block, little of x is left after a dozen: "
    "add the two.",
)
class averaged(Around):
    def forward(self, x: Tensor) -> Tensor:
        return (x + self.sublayer(x)) / 2


@misconception(
    "Residual",
    "sublayer's output is added to itself, and x is not in the sum. Keep x before it is overwritten.",
)
class output_added_to_itself(Around):
    def forward(self, x: Tensor) -> Tensor:
        x = self.sublayer(x)
        return x + x


@misconception(
    "Residual",
    "sublayer works twice, the second time on its own output. It gets x once, and what it gives is added to x.",
)
class sublayer_used_twice(Around):
    def forward(self, x: Tensor) -> Tensor:
        x = self.sublayer(x)
        return x + self.sublayer(x)


@misconception(
    "Residual",
    "x counts twice: it is added to a sum that has it already.",
)
class x_added_twice(Around):
    def forward(self, x: Tensor) -> Tensor:
        return x + (x + self.sublayer(x))


@misconception(
    "Residual",
    "x and what sublayer gives are put side by side. That is how other networks skip; here they are added, and the "
    "shape stays that of x.",
)
class side_by_side(Around):
    def forward(self, x: Tensor) -> Tensor:
        return torch.cat([x, self.sublayer(x)], dim=-1)


@misconception(
    "Residual",
    "In training a dropout acts in here, though nobody asked for one. The output is x + sublayer(x), in training too.",
)
class dropout_in_residual(Around):
    def forward(self, x: Tensor) -> Tensor:
        return x + functional.dropout(self.sublayer(x), 0.1, self.training)


@misconception(
    "Residual",
    "What sublayer gives has no part in the output: it is not added, or only times a weight that begins at zero, an "
    "idea of later models. Here it counts in full: x + sublayer(x).",
)
class gate_that_begins_at_zero(Around):
    def __init__(self, sublayer: nn.Module) -> None:
        super().__init__(sublayer)
        self.gate = nn.Parameter(torch.zeros(()))

    def forward(self, x: Tensor) -> Tensor:
        return x + self.gate * self.sublayer(x)


@misconception(
    "Residual",
    "sublayer is kept in a list, a tuple or a function, where nobody finds its parameters. Make the module itself an "
    "attribute: self.sublayer = sublayer.",
)
class sublayer_hidden(Around):
    def __init__(self, sublayer: nn.Module) -> None:
        nn.Module.__init__(self)
        self.kept = (sublayer,)

    def forward(self, x: Tensor) -> Tensor:
        return x + self.kept[0](x)


@misconception(
    "Residual",
    "sublayer is copied, so the module that was handed in is not the one that works here. Keep sublayer itself.",
)
class sublayer_copied(Around):
    def __init__(self, sublayer: nn.Module) -> None:
        super().__init__(copy.deepcopy(sublayer))


@misconception(
    "Residual",
    "Not any shape is taken: the sizes are read off x, as if it were always a batch of texts, or one text. Addition "
    "works for any shape.",
)
class batches_of_texts_only(Around):
    def forward(self, x: Tensor) -> Tensor:
        texts, tokens, features = x.shape if x.dim() == 3 else (1, *x.shape)
        return (x + self.sublayer(x)).view(*((texts,) if x.dim() == 3 else ()), tokens, features)


@misconception(
    "Residual",
    "`squeeze()` takes away every dim of length one, so a text of a single token loses its shape. Leave the shape as "
    "it is.",
)
class squeezed(Around):
    def forward(self, x: Tensor) -> Tensor:
        return (x + self.sublayer(x)).squeeze()


@misconception(
    "Residual",
    "The way around is cut off from the gradients, by `.detach()` or `.data`. It is there for them in the first place.",
)
class way_around_detached(Around):
    def forward(self, x: Tensor) -> Tensor:
        return x.detach() + self.sublayer(x)


@misconception(
    "Residual",
    "The way through sublayer is cut off from the gradients, in front of it or behind it, by `.detach()` or "
    "`torch.no_grad()`. Both what comes before and sublayer itself should learn.",
)
class sublayer_detached(Around):
    def forward(self, x: Tensor) -> Tensor:
        return x + self.sublayer(x).detach()


@misconception("Residual", ALL_DETACHED)
class residual_detached(Around):
    def forward(self, x: Tensor) -> Tensor:
        return super().forward(x).detach()


@misconception(
    "Residual",
    "x is made float32, which then does not fit a sublayer that is float64. Let x keep its dtype.",
)
class x_made_float32_in_residual(Around):
    def forward(self, x: Tensor) -> Tensor:
        return super().forward(x.float())


@misconception("Residual", CHANGED)
class added_to_x_in_place(Around):
    def forward(self, x: Tensor) -> Tensor:
        x += self.sublayer(x)
        return x


@misconception(
    "Residual",
    "x is added in place to what sublayer gives. Where sublayer gives x itself, as nn.Identity does, that changes the "
    "caller's x: write x + sublayer(x).",
)
class x_added_to_the_output_in_place(Around):
    def forward(self, x: Tensor) -> Tensor:
        output = self.sublayer(x)
        output += x
        return output


# -- TransformerBlock --------------------------------------------------------------------------------------------


class Block(nn.Module):
    """The right answer, of which each wrong one changes a part."""

    attention: Any
    feed_forward: Any

    def __init__(self, attention: nn.Module, feed_forward: nn.Module, emb_dim: int, dropout: float) -> None:
        super().__init__()
        self.keep(attention, feed_forward)
        self.make_norms(emb_dim)
        self.dropout = nn.Dropout(dropout)

    def keep(self, attention: nn.Module, feed_forward: nn.Module) -> None:
        self.attention, self.feed_forward = attention, feed_forward

    def make_norms(self, emb_dim: int) -> None:
        self.norm1, self.norm2 = LayerNorm(emb_dim), LayerNorm(emb_dim)

    def drop(self, given: Tensor) -> Tensor:
        return self.dropout(given)

    def attend(self, x: Tensor) -> Tensor:
        """What is added in the first step."""
        return self.drop(self.attention(self.norm1(x)))

    def think(self, x: Tensor) -> Tensor:
        """What is added in the second step."""
        return self.drop(self.feed_forward(self.norm2(x)))

    def forward(self, x: Tensor) -> Tensor:
        x = x + self.attend(x)
        return x + self.think(x)


# Where the norms stand


@misconception(
    "TransformerBlock",
    "This is post-norm, as in the Transformer of 2017: each sum goes through a norm. In pre-norm the norm stands in "
    "front of the module, and the sum is left free.",
)
class post_norm(Block):
    def forward(self, x: Tensor) -> Tensor:
        x = self.norm1(x + self.drop(self.attention(x)))
        return self.norm2(x + self.drop(self.feed_forward(x)))


@misconception(
    "TransformerBlock",
    "The norm acts on what a module gives, before it is added. In pre-norm it prepares what the module gets: "
    "attention(norm1(x)).",
)
class norm_on_what_is_given(Block):
    def attend(self, x: Tensor) -> Tensor:
        return self.drop(self.norm1(self.attention(x)))

    def think(self, x: Tensor) -> Tensor:
        return self.drop(self.norm2(self.feed_forward(x)))


@misconception(
    "TransformerBlock",
    "The norms are made and never used: attention and feed_forward get x as it is, whatever its size has become on "
    "the way through the stack.",
)
class norms_unused(Block):
    def attend(self, x: Tensor) -> Tensor:
        return self.drop(self.attention(x))

    def think(self, x: Tensor) -> Tensor:
        return self.drop(self.feed_forward(x))


@misconception(
    "TransformerBlock",
    "attention gets x as it is. Each of the two modules has a norm in front of it: attention(norm1(x)).",
)
class norm1_unused(Block):
    def attend(self, x: Tensor) -> Tensor:
        return self.drop(self.attention(x))


@misconception(
    "TransformerBlock",
    "feed_forward gets x as it is. Each of the two modules has a norm in front of it: feed_forward(norm2(x)).",
)
class norm2_unused(Block):
    def think(self, x: Tensor) -> Tensor:
        return self.drop(self.feed_forward(x))


@misconception(
    "TransformerBlock",
    "Both steps begin with norm1, and norm2 is made but never used. Each norm has a scale and a shift of its own to "
    "learn.",
)
class norm1_used_twice(Block):
    def think(self, x: Tensor) -> Tensor:
        return self.drop(self.feed_forward(self.norm1(x)))


@misconception(
    "TransformerBlock",
    "norm1 and norm2 are one and the same module, so they share scale and shift. Make two of them.",
)
class one_norm_under_two_names(Block):
    def make_norms(self, emb_dim: int) -> None:
        self.norm1 = self.norm2 = LayerNorm(emb_dim)


@misconception(
    "TransformerBlock",
    "The norms have changed places: norm1 belongs in front of attention, and norm2 in front of feed_forward.",
)
class norms_exchanged(Block):
    def attend(self, x: Tensor) -> Tensor:
        return self.drop(self.attention(self.norm2(x)))

    def think(self, x: Tensor) -> Tensor:
        return self.drop(self.feed_forward(self.norm1(x)))


@misconception(
    "TransformerBlock",
    "The norms have no scale and no shift, by `elementwise_affine=False` or F.layer_norm. Some features need to be "
    "larger than others, and how much is to be learnt.",
)
class norms_without_parameters(Block):
    def make_norms(self, emb_dim: int) -> None:
        self.norm1, self.norm2 = (nn.LayerNorm(emb_dim, elementwise_affine=False) for _ in range(2))


@misconception(
    "TransformerBlock",
    "norm1 and norm2 are RMSNorms, which take no mean away and have no shift. The block asks for layer norms.",
)
class root_mean_square_norms(Block):
    def make_norms(self, emb_dim: int) -> None:
        self.norm1, self.norm2 = nn.RMSNorm(emb_dim, 1e-5), nn.RMSNorm(emb_dim, 1e-5)  # type: ignore[assignment]


@misconception(
    "TransformerBlock",
    "The norms have other names, such as ln1 or ln_1. Whoever loads weights goes by the names: call them norm1 and "
    "norm2.",
)
class norms_of_other_names(Block):
    def make_norms(self, emb_dim: int) -> None:
        self.ln1, self.ln2 = LayerNorm(emb_dim), LayerNorm(emb_dim)

    def attend(self, x: Tensor) -> Tensor:
        return self.drop(self.attention(self.ln1(x)))

    def think(self, x: Tensor) -> Tensor:
        return self.drop(self.feed_forward(self.ln2(x)))


@misconception(
    "TransformerBlock",
    "A third norm acts on the output. It comes once, after the last block of the whole stack, and not in each of them.",
)
class third_norm_at_the_end(Block):
    def forward(self, x: Tensor) -> Tensor:
        return normalized(super().forward(x))


# What is added to what


@misconception(
    "TransformerBlock",
    "Nothing is added to x: each step gives only what its module gives. Write x = x + …, in both steps.",
)
class no_residuals(Block):
    def forward(self, x: Tensor) -> Tensor:
        return self.think(self.attend(x))


@misconception(
    "TransformerBlock",
    "In the first step x is not added: what attention gives takes its place. Both steps are x = x + ….",
)
class first_residual_forgotten(Block):
    def forward(self, x: Tensor) -> Tensor:
        x = self.attend(x)
        return x + self.think(x)


@misconception(
    "TransformerBlock",
    "In the second step nothing is added to: what feed_forward gives takes the place of the sum. Both steps are x = x "
    "+ ….",
)
class second_residual_forgotten(Block):
    def forward(self, x: Tensor) -> Tensor:
        return self.think(x + self.attend(x))


@misconception(
    "TransformerBlock",
    "What is added to is the normalised x. The free path from block to block then passes through the norms after all: "
    "keep x itself for the sum.",
)
class added_to_the_normalized_x(Block):
    def forward(self, x: Tensor) -> Tensor:
        x = self.norm1(x)
        x = x + self.drop(self.attention(x))
        x = self.norm2(x)
        return x + self.drop(self.feed_forward(x))


@misconception(
    "TransformerBlock",
    "The second step adds to the first step's x, so what attention found is lost on the way. It begins with the sum, "
    "on both sides of the plus.",
)
class second_step_added_to_x(Block):
    def forward(self, x: Tensor) -> Tensor:
        return x + self.think(x + self.attend(x))


@misconception(
    "TransformerBlock",
    "Both modules work on the same x, side by side, and feed_forward never sees what attention has found. Some models "
    "do that; in this block it works on the sum.",
)
class both_steps_at_once(Block):
    def forward(self, x: Tensor) -> Tensor:
        return x + self.attend(x) + self.think(x)


@misconception(
    "TransformerBlock",
    "x is added only once, at the end of both steps. Each step is a sum of its own, so that gradients find a way "
    "around each of the two modules.",
)
class one_residual_around_both(Block):
    def forward(self, x: Tensor) -> Tensor:
        return x + self.think(self.attend(x))


@misconception(
    "TransformerBlock",
    "x is added once more at the end, on top of the two sums. Each step adds what its module gives, and no more.",
)
class x_added_once_more(Block):
    def forward(self, x: Tensor) -> Tensor:
        return x + super().forward(x)


@misconception(
    "TransformerBlock",
    "The steps have changed places, or the two modules have: feed_forward works first. First tokens hear from one "
    "another, and then each thinks about it.",
)
class feed_forward_first(Block):
    def forward(self, x: Tensor) -> Tensor:
        x = x + self.drop(self.feed_forward(self.norm1(x)))
        return x + self.drop(self.attention(self.norm2(x)))


@misconception(
    "TransformerBlock",
    "feed_forward is never used: after attention the block is at its end. Both steps belong to it.",
)
class feed_forward_unused(Block):
    def forward(self, x: Tensor) -> Tensor:
        return x + self.attend(x)


@misconception(
    "TransformerBlock",
    "attention is never used, so no token hears from another. Both steps belong to the block, attention first.",
)
class attention_unused(Block):
    def forward(self, x: Tensor) -> Tensor:
        return x + self.think(x)


@misconception(
    "TransformerBlock",
    "Batch and tokens have changed places on the way to attention. What is handed in takes (B, T, emb_dim), so give "
    "it x as it is.",
)
class tokens_in_front_for_attention(Block):
    def attend(self, x: Tensor) -> Tensor:
        # (B, T, C) -> (T, B, C), and back
        return self.drop(self.attention(self.norm1(x).transpose(0, 1)).transpose(0, 1))


@misconception(
    "TransformerBlock",
    "attention gets all texts of the batch as one long one, and tokens hear from texts that are none of theirs. Give "
    "it (B, T, emb_dim).",
)
class texts_joined_for_attention(Block):
    def attend(self, x: Tensor) -> Tensor:
        # (B, T, C) -> (1, B · T, C), and back
        return self.drop(self.attention(self.norm1(x).flatten(0, 1)[None]).view(x.shape))


@misconception(
    "TransformerBlock",
    "attention or feed_forward is given more than one thing. torch's own nn.MultiheadAttention takes queries, keys "
    "and values one by one, and a mask; what is handed in here takes x alone, and makes the rest itself.",
)
class attention_given_three_things(Block):
    def attend(self, x: Tensor) -> Tensor:
        x = self.norm1(x)
        return self.drop(self.attention(x, x, x))


@misconception(
    "TransformerBlock",
    "Of what attention gives only the first part is used, `[0]`. torch's own nn.MultiheadAttention gives a pair; what "
    "is handed in here gives one tensor, and `[0]` is its first text.",
)
class first_part_of_attention(Block):
    def attend(self, x: Tensor) -> Tensor:
        return self.drop(self.attention(self.norm1(x))[0])


# Parameters


@misconception(
    "TransformerBlock",
    "attention and feed_forward are kept in a list, a tuple or a function, where nobody finds their parameters. Make "
    "the modules themselves attributes of the block.",
)
class modules_hidden(Block):
    def keep(self, attention: nn.Module, feed_forward: nn.Module) -> None:
        self.kept = (attention, feed_forward)

    def attend(self, x: Tensor) -> Tensor:
        return self.drop(self.kept[0](self.norm1(x)))

    def think(self, x: Tensor) -> Tensor:
        return self.drop(self.kept[1](self.norm2(x)))


# Dropout


@misconception(
    "TransformerBlock",
    "Dropout is made but never applied, so training is no harder than using the model: drop what attention gives, and "
    "what feed_forward gives.",
)
class dropout_never_applied(Block):
    def drop(self, given: Tensor) -> Tensor:
        return given


@misconception(
    "TransformerBlock",
    "Only what attention gives is dropped. Both steps have a dropout before the sum.",
)
class feed_forward_not_dropped(Block):
    def think(self, x: Tensor) -> Tensor:
        return self.feed_forward(self.norm2(x))


@misconception(
    "TransformerBlock",
    "Only what feed_forward gives is dropped. Both steps have a dropout before the sum.",
)
class attention_not_dropped(Block):
    def attend(self, x: Tensor) -> Tensor:
        return self.attention(self.norm1(x))


@misconception(
    "TransformerBlock",
    "Dropout acts on the sums. It drops parts of x too, which no later block can bring back: drop what a module "
    "gives, and then add.",
)
class sums_dropped(Block):
    def forward(self, x: Tensor) -> Tensor:
        x = self.dropout(x + self.attention(self.norm1(x)))
        return self.dropout(x + self.feed_forward(self.norm2(x)))


@misconception(
    "TransformerBlock",
    "Dropout acts on the output of the whole block, x and all. Drop what a module gives, in each of the two steps, "
    "and then add.",
)
class output_dropped(Block):
    def forward(self, x: Tensor) -> Tensor:
        x = x + self.attention(self.norm1(x))
        return self.dropout(x + self.feed_forward(self.norm2(x)))


@misconception(
    "TransformerBlock",
    "Dropout acts on x at the beginning. What is dropped there is gone from the sum as well: drop what a module gives.",
)
class x_dropped(Block):
    def drop(self, given: Tensor) -> Tensor:
        return given

    def forward(self, x: Tensor) -> Tensor:
        return super().forward(self.dropout(x))


@misconception(
    "TransformerBlock",
    "Dropout stands in front of the modules, before the norm or after it. A module then works on a part of its input "
    "only; drop what it gives, after it.",
)
class dropped_before_the_modules(Block):
    def attend(self, x: Tensor) -> Tensor:
        return self.attention(self.dropout(self.norm1(x)))

    def think(self, x: Tensor) -> Tensor:
        return self.feed_forward(self.dropout(self.norm2(x)))


class DroppingByHand(Block):
    """As F.dropout does."""

    def kept(self, given: Tensor) -> Tensor:
        """Which numbers are kept, as ones and zeros that go with `given`."""
        return torch.bernoulli(torch.full_like(given, 1 - self.dropout.p))

    def drop(self, given: Tensor) -> Tensor:
        return given * self.kept(given) / (1 - self.dropout.p) if self.training else given


@misconception(
    "TransformerBlock",
    "Numbers are dropped, but those that are kept stay as they were. Divided by 1 - dropout they make up for those "
    "that are gone.",
)
class kept_numbers_not_scaled(DroppingByHand):
    def drop(self, given: Tensor) -> Tensor:
        return given * self.kept(given) if self.training else given


@misconception(
    "TransformerBlock",
    "Dropout does not stop: in eval mode numbers are still dropped. F.dropout needs `training=self.training`; "
    "nn.Dropout knows by itself.",
)
class dropped_in_eval_mode_too(Block):
    def drop(self, given: Tensor) -> Tensor:
        return functional.dropout(given, self.dropout.p)


@misconception(
    "TransformerBlock",
    "What is kept and what is dropped are exchanged: a share of 1 - dropout becomes zero. dropout is the probability "
    "that a number is dropped.",
)
class share_turned_round(Block):
    def __init__(self, attention: nn.Module, feed_forward: nn.Module, emb_dim: int, dropout: float) -> None:
        super().__init__(attention, feed_forward, emb_dim, 1 - dropout)


@misconception(
    "TransformerBlock",
    "The probability of dropout is always 0.1, whatever the caller asks for. Pass the argument on: "
    "nn.Dropout(dropout).",
)
class always_a_tenth_dropped(Block):
    def __init__(self, attention: nn.Module, feed_forward: nn.Module, emb_dim: int, dropout: float) -> None:  # noqa: ARG002
        super().__init__(attention, feed_forward, emb_dim, 0.1)


@misconception(
    "TransformerBlock",
    "Whole tokens are dropped: what is drawn is one number for each. Draw for each feature of each token, as "
    "nn.Dropout does.",
)
class whole_tokens_dropped(DroppingByHand):
    def kept(self, given: Tensor) -> Tensor:
        return super().kept(given[..., :1])


@misconception(
    "TransformerBlock",
    "The same features are dropped for all tokens of a text. Draw for each feature of each token: nn.Dropout does, "
    "while its relatives for images drop whole channels.",
)
class tokens_dropped_alike(DroppingByHand):
    def kept(self, given: Tensor) -> Tensor:
        return super().kept(given[:, :1])


@misconception(
    "TransformerBlock",
    "All texts of a batch lose the same numbers. Draw for each text by itself, as nn.Dropout does for the whole "
    "tensor.",
)
class texts_dropped_alike(DroppingByHand):
    def kept(self, given: Tensor) -> Tensor:
        return super().kept(given[:1])


@misconception(
    "TransformerBlock",
    "Every call drops the same numbers: a seed is set inside, or the draw was made once. Draw in each call anew, so "
    "that no number can be relied on.",
)
class always_the_same_draws(DroppingByHand):
    def kept(self, given: Tensor) -> Tensor:
        shares = torch.full_like(given, 1 - self.dropout.p)
        return torch.bernoulli(shares, generator=torch.Generator().manual_seed(42))


# Shapes, gradients, dtypes, arguments


@misconception(
    "TransformerBlock",
    "`squeeze()` takes away every dim of length one, so a single text or a single token loses its shape. Leave the "
    "shape as it is.",
)
class block_squeezed(Block):
    def forward(self, x: Tensor) -> Tensor:
        return super().forward(x).squeeze()


@misconception("TransformerBlock", DETACHED)
class block_detached(Block):
    def forward(self, x: Tensor) -> Tensor:
        return super().forward(x.detach())


@misconception("TransformerBlock", ALL_DETACHED)
class block_output_detached(Block):
    def forward(self, x: Tensor) -> Tensor:
        return super().forward(x).detach()


@misconception(
    "TransformerBlock",
    "x is cut off from the gradients in the sums, by `.detach()` or `.data`. The way around the modules is there for "
    "the gradients in the first place.",
)
class ways_around_detached(Block):
    def forward(self, x: Tensor) -> Tensor:
        x = x.detach() + self.attend(x)
        return x.detach() + self.think(x)


@misconception(
    "TransformerBlock",
    "x is made float32, which then does not fit modules that are float64. Let x keep its dtype.",
)
class x_made_float32_in_the_block(Block):
    def forward(self, x: Tensor) -> Tensor:
        return super().forward(x.float())


@misconception("TransformerBlock", CHANGED)
class x_changed_by_the_block(Block):
    def forward(self, x: Tensor) -> Tensor:
        x += self.attend(x)
        x += self.think(x)
        return x


# -- stack_blocks ------------------------------------------------------------------------------------------------

MakeBlock = Callable[[], nn.Module]


class Tower(nn.Module):
    """The right answer, of which each wrong one changes a part."""

    def __init__(self, blocks: list[Any]) -> None:
        super().__init__()
        self.blocks = nn.ModuleList(blocks)

    def forward(self, x: Tensor) -> Tensor:
        for block in self.blocks:
            x = block(x)
        return x


def made(make_block: MakeBlock, num_blocks: int) -> list[nn.Module]:
    return [make_block() for _ in range(num_blocks)]


@misconception(
    "stack_blocks",
    "make_block is called once, and the same block works num_blocks times: `[make_block()] * n` writes one block down "
    "n times. Call it for each block: `[make_block() for _ in range(n)]`.",
)
def one_block_many_times(make_block: MakeBlock, num_blocks: int) -> nn.Module:
    return Tower([make_block()] * num_blocks)


@misconception(
    "stack_blocks",
    "make_block is called once, and its block is copied. All blocks then begin with the same weights: call make_block "
    "for each of them.",
)
def copies_of_one_block(make_block: MakeBlock, num_blocks: int) -> nn.Module:
    block = make_block()
    return Tower([copy.deepcopy(block) for _ in range(num_blocks)])


@misconception(
    "stack_blocks",
    "The blocks work in the opposite order: what was made last gets x first. Go through them in the order in which "
    "they were made.",
)
def last_block_first(make_block: MakeBlock, num_blocks: int) -> nn.Module:
    return Tower(made(make_block, num_blocks)[::-1])


@misconception(
    "stack_blocks",
    "There is a block less than asked for. Count the calls of make_block: range(n) has n numbers, and range(1, n) one "
    "less.",
)
def one_block_too_few(make_block: MakeBlock, num_blocks: int) -> nn.Module:
    return Tower(made(make_block, num_blocks - 1))


@misconception(
    "stack_blocks",
    "There is a block more than asked for. Count the calls of make_block: range(n) has n numbers, and range(n + 1) "
    "one more.",
)
def one_block_too_many(make_block: MakeBlock, num_blocks: int) -> nn.Module:
    return Tower(made(make_block, num_blocks + 1))


THROWN_AWAY = (
    "make_block is called once more than needed, and that block thrown away. To make a block takes time and memory: "
    "call it num_blocks times in all."
)


@misconception("stack_blocks", THROWN_AWAY)
def one_block_thrown_away(make_block: MakeBlock, num_blocks: int) -> nn.Module:
    blocks = made(make_block, num_blocks)
    make_block()
    return Tower(blocks)


@misconception("stack_blocks", THROWN_AWAY)
def first_block_thrown_away(make_block: MakeBlock, num_blocks: int) -> nn.Module:
    make_block()
    return Tower(made(make_block, num_blocks))


@misconception(
    "stack_blocks",
    "There are always three blocks, as in the worked example. How many there are to be is the second argument.",
)
def always_three_blocks(make_block: MakeBlock, num_blocks: int) -> nn.Module:  # noqa: ARG001
    return Tower(made(make_block, 3))


@misconception(
    "stack_blocks",
    "Only one block works, and the others are made for nothing. Each gets what the one before it gives: x = block(x).",
)
def only_the_first_block_works(make_block: MakeBlock, num_blocks: int) -> nn.Module:
    class Stack(Tower):
        def forward(self, x: Tensor) -> Tensor:
            return self.blocks[0](x)

    return Stack(made(make_block, num_blocks))


@misconception(
    "stack_blocks",
    "Only the last block has a part in the output: every block gets x itself, or the others are not called. Each gets "
    "what the one before it gives: x = block(x).",
)
def every_block_gets_x(make_block: MakeBlock, num_blocks: int) -> nn.Module:
    class Stack(Tower):
        def forward(self, x: Tensor) -> Tensor:
            return [block(x) for block in self.blocks][-1]

    return Stack(made(make_block, num_blocks))


@misconception(
    "stack_blocks",
    "Every block gets x itself, and what they give is added up. Blocks work one after the other: each gets what the "
    "one before it gives.",
)
def blocks_side_by_side(make_block: MakeBlock, num_blocks: int) -> nn.Module:
    class Stack(Tower):
        def forward(self, x: Tensor) -> Tensor:
            return torch.stack([block(x) for block in self.blocks]).sum(dim=0)

    return Stack(made(make_block, num_blocks))


@misconception(
    "stack_blocks",
    "x is added around each block. A block has its residual connections inside, so hand on what it gives.",
)
def residual_around_each_block(make_block: MakeBlock, num_blocks: int) -> nn.Module:
    class Stack(Tower):
        def forward(self, x: Tensor) -> Tensor:
            for block in self.blocks:
                x = x + block(x)
            return x

    return Stack(made(make_block, num_blocks))


@misconception(
    "stack_blocks",
    "A layer norm acts on what the last block gives. A model does have one there; this function stacks blocks and "
    "nothing else.",
)
def norm_after_the_stack(make_block: MakeBlock, num_blocks: int) -> nn.Module:
    class Stack(Tower):
        def forward(self, x: Tensor) -> Tensor:
            return normalized(super().forward(x))

    return Stack(made(make_block, num_blocks))


@misconception(
    "stack_blocks",
    "The new stack has no parameters: its blocks are kept in a plain list, or made only when it is called. No "
    "optimiser, no `.double()` and no `state_dict` finds them. Make them at once; nn.ModuleList and nn.Sequential "
    "register them.",
)
def blocks_in_a_plain_list(make_block: MakeBlock, num_blocks: int) -> nn.Module:
    class Stack(Tower):
        def __init__(self, blocks: list[Any]) -> None:
            nn.Module.__init__(self)
            self.blocks = blocks  # type: ignore[assignment]

    return Stack(made(make_block, num_blocks))


@misconception(
    "stack_blocks",
    "What comes back is a function. It works, but it has no parameters, no training mode and no `.to(device)`: make a "
    "module of the blocks.",
)
def a_function_instead_of_a_module(make_block: MakeBlock, num_blocks: int) -> Callable[[Tensor], Tensor]:
    blocks = made(make_block, num_blocks)

    def stack(x: Tensor) -> Tensor:
        for block in blocks:
            x = block(x)
        return x

    return stack


@misconception(
    "stack_blocks",
    "What comes back is an nn.ModuleList. It holds modules, but does not call them; nn.Sequential calls one after the "
    "other.",
)
def module_list_returned(make_block: MakeBlock, num_blocks: int) -> nn.Module:
    return nn.ModuleList(made(make_block, num_blocks))


@misconception(
    "stack_blocks",
    "What comes back is a list of blocks. A stack is one module that takes x and gives the last block's output.",
)
def list_returned(make_block: MakeBlock, num_blocks: int) -> list[nn.Module]:
    return made(make_block, num_blocks)


@misconception(
    "stack_blocks",
    "nn.Sequential is handed something that is no module: make_block itself, which makes a block only where it is "
    "called, or a list. It takes modules one by one: nn.Sequential(*blocks).",
)
def asterisk_or_call_forgotten(make_block: MakeBlock, num_blocks: int) -> nn.Module:
    return nn.Sequential(made(make_block, num_blocks))  # type: ignore[call-overload]


@misconception(
    "stack_blocks",
    "make_block is given an argument, such as the number of the block. It takes none: make_block().",
)
def make_block_given_an_argument(make_block: Callable[..., nn.Module], num_blocks: int) -> nn.Module:
    return Tower([make_block(place) for place in range(num_blocks)])


@misconception(
    "stack_blocks",
    "make_block itself stands in the place of the blocks. It is what makes one: call it, make_block().",
)
def make_block_never_called(make_block: MakeBlock, num_blocks: int) -> Callable[[Any], Any]:
    def stack(x: Any) -> Any:
        for _ in range(num_blocks):
            x = make_block(x)  # type: ignore[call-arg]
        return x

    return stack


@misconception(
    "stack_blocks",
    "New blocks are made in each call of the stack, and thrown away with all that they have learnt. Make them once, "
    "and keep them.",
)
def blocks_made_in_each_call(make_block: MakeBlock, num_blocks: int) -> nn.Module:
    class Stack(nn.Module):
        def forward(self, x: Tensor) -> Tensor:
            for _ in range(num_blocks):
                x = make_block()(x)
            return x

    return Stack()


@misconception(
    "stack_blocks",
    "The gradients are cut off on their way back through the stack: what a block gets is detached, be it x or what the "
    "block before it gives. Nothing below that could learn.",
)
def detached_between_blocks(make_block: MakeBlock, num_blocks: int) -> nn.Module:
    class Stack(Tower):
        def forward(self, x: Tensor) -> Tensor:
            for block in self.blocks:
                x = block(x.detach())
            return x

    return Stack(made(make_block, num_blocks))


@misconception(
    "stack_blocks",
    "What the last block gives is cut off from the gradients, by `.detach()` or `.data`, or all blocks work under "
    "`torch.no_grad()`. Neither a block nor anything below the stack could learn.",
)
def stack_detached(make_block: MakeBlock, num_blocks: int) -> nn.Module:
    class Stack(Tower):
        def forward(self, x: Tensor) -> Tensor:
            return super().forward(x).detach()

    return Stack(made(make_block, num_blocks))


@misconception("stack_blocks", CHANGED)
def x_changed_by_the_stack(make_block: MakeBlock, num_blocks: int) -> nn.Module:
    class Stack(Tower):
        def forward(self, x: Tensor) -> Tensor:
            output = super().forward(x)
            with torch.no_grad():
                x.copy_(output)
            return output

    return Stack(made(make_block, num_blocks))


# -- gpt2_parameter_count ----------------------------------------------------------------------------------------


def counted(
    layers: int,
    width: int,
    vocabulary: int,
    context: int,
    *,
    squares: int = 12,
    biases: int = 9,
    norms: int = 4,
    last_norm: int = 2,
) -> int:
    """The right answer, but for what is given: how many times width² and width a block has, and width the end."""
    block = squares * width**2 + (biases + norms) * width
    return (vocabulary + context) * width + layers * block + last_norm * width


@misconception(
    "gpt2_parameter_count",
    "The norm after the last block is missing. In a pre-norm model nothing has normalised the last sum, so one more "
    "norm follows it.",
)
def last_norm_forgotten(num_layers: int, emb_dim: int, vocab_size: int = 50257, context_length: int = 1024) -> int:
    return counted(num_layers, emb_dim, vocab_size, context_length, last_norm=0)


@misconception(
    "gpt2_parameter_count",
    "The positions are missing. GPT-2 learns a vector of emb_dim numbers for each of context_length places; sines and "
    "cosines would cost none.",
)
def positions_forgotten(num_layers: int, emb_dim: int, vocab_size: int = 50257, context_length: int = 1024) -> int:  # noqa: ARG001
    return counted(num_layers, emb_dim, vocab_size, 0)


@misconception(
    "gpt2_parameter_count",
    "The output layer is counted as well. It is tied: it uses the matrix of the token embeddings the other way round, "
    "and has no parameters of its own.",
)
def output_layer_counted(num_layers: int, emb_dim: int, vocab_size: int = 50257, context_length: int = 1024) -> int:
    return counted(num_layers, emb_dim, 2 * vocab_size, context_length)


@misconception(
    "gpt2_parameter_count",
    "The output layer is counted as well, with a bias for each token. It is tied to the token embeddings, has no "
    "bias, and so adds nothing.",
)
def output_layer_with_bias_counted(
    num_layers: int, emb_dim: int, vocab_size: int = 50257, context_length: int = 1024
) -> int:
    return counted(num_layers, emb_dim, 2 * vocab_size, context_length) + vocab_size


@misconception(
    "gpt2_parameter_count",
    "The token embeddings are missing. For each of vocab_size tokens there are emb_dim numbers; the output layer "
    "shares them, but somebody has to have them.",
)
def tokens_forgotten(num_layers: int, emb_dim: int, vocab_size: int = 50257, context_length: int = 1024) -> int:  # noqa: ARG001
    return counted(num_layers, emb_dim, 0, context_length)


@misconception(
    "gpt2_parameter_count",
    "Three biases of emb_dim numbers are missing in each block. GPT-2 has one for queries, for keys and for values, "
    "unlike the book's attention, and its hidden layer has 4 · emb_dim of them.",
)
def three_biases_forgotten(num_layers: int, emb_dim: int, vocab_size: int = 50257, context_length: int = 1024) -> int:
    return counted(num_layers, emb_dim, vocab_size, context_length, biases=6)


@misconception(
    "gpt2_parameter_count",
    "4 · emb_dim numbers are missing in each block: the biases of attention, where all four layers have one, that of "
    "the hidden layer, with one for each of its outputs, or both norms, each with a scale and a shift.",
)
def four_biases_forgotten(num_layers: int, emb_dim: int, vocab_size: int = 50257, context_length: int = 1024) -> int:
    return counted(num_layers, emb_dim, vocab_size, context_length, biases=5)


@misconception(
    "gpt2_parameter_count",
    "The feed-forward has no bias in this count. Its layers have 4 · emb_dim and emb_dim outputs, and a bias for each.",
)
def no_biases_in_feed_forward(
    num_layers: int, emb_dim: int, vocab_size: int = 50257, context_length: int = 1024
) -> int:
    return counted(num_layers, emb_dim, vocab_size, context_length, biases=4)


@misconception(
    "gpt2_parameter_count",
    "A bias of emb_dim numbers is missing in each block: that of the attention's output layer, or that of the "
    "feed-forward's second layer.",
)
def one_bias_forgotten(num_layers: int, emb_dim: int, vocab_size: int = 50257, context_length: int = 1024) -> int:
    return counted(num_layers, emb_dim, vocab_size, context_length, biases=8)


@misconception(
    "gpt2_parameter_count",
    "No layer has a bias in this count. In GPT-2 all six in a block have one, as nn.Linear has by itself.",
)
def no_biases_at_all(num_layers: int, emb_dim: int, vocab_size: int = 50257, context_length: int = 1024) -> int:
    return counted(num_layers, emb_dim, vocab_size, context_length, biases=0)


@misconception(
    "gpt2_parameter_count",
    "2 · emb_dim numbers are missing in each block: a norm, of which there are two, each with a scale and a shift, or "
    "two biases of emb_dim numbers.",
)
def one_norm_in_a_block(num_layers: int, emb_dim: int, vocab_size: int = 50257, context_length: int = 1024) -> int:
    return counted(num_layers, emb_dim, vocab_size, context_length, norms=2)


@misconception(
    "gpt2_parameter_count",
    "Each norm has only a scale in this count. It has a shift as well: 2 · emb_dim numbers.",
)
def norms_without_shifts(num_layers: int, emb_dim: int, vocab_size: int = 50257, context_length: int = 1024) -> int:
    return counted(num_layers, emb_dim, vocab_size, context_length, norms=2, last_norm=1)


@misconception(
    "gpt2_parameter_count",
    "No norm is counted. Each has a scale and a shift for each feature, and there are two in every block and one at "
    "the end.",
)
def norms_forgotten(num_layers: int, emb_dim: int, vocab_size: int = 50257, context_length: int = 1024) -> int:
    return counted(num_layers, emb_dim, vocab_size, context_length, norms=0, last_norm=0)


@misconception(
    "gpt2_parameter_count",
    "Each block has a third norm in this count, and none follows the last block. The last norm comes once.",
)
def last_norm_in_every_block(num_layers: int, emb_dim: int, vocab_size: int = 50257, context_length: int = 1024) -> int:
    return counted(num_layers, emb_dim, vocab_size, context_length, norms=6, last_norm=0)


@misconception(
    "gpt2_parameter_count",
    "The attention's output layer is missing. After queries, keys and values there is a fourth layer, which mixes "
    "what the heads have found.",
)
def attention_output_forgotten(
    num_layers: int, emb_dim: int, vocab_size: int = 50257, context_length: int = 1024
) -> int:
    return counted(num_layers, emb_dim, vocab_size, context_length, squares=11, biases=8)


@misconception(
    "gpt2_parameter_count",
    "Queries, keys and values are counted as one layer. Where they are computed by one product its matrix is three "
    "times as wide.",
)
def one_layer_for_queries_keys_values(
    num_layers: int, emb_dim: int, vocab_size: int = 50257, context_length: int = 1024
) -> int:
    return counted(num_layers, emb_dim, vocab_size, context_length, squares=10, biases=7)


@misconception(
    "gpt2_parameter_count",
    "4 · emb_dim² weights and 4 · emb_dim biases are missing in each block: those of attention, with its four layers "
    "from emb_dim to emb_dim, or those of the feed-forward's first layer.",
)
def attention_forgotten(num_layers: int, emb_dim: int, vocab_size: int = 50257, context_length: int = 1024) -> int:
    return counted(num_layers, emb_dim, vocab_size, context_length, squares=8, biases=5)


@misconception(
    "gpt2_parameter_count",
    "The feed-forward is counted as one layer. It goes to 4 · emb_dim and back again, which makes two of the same "
    "size.",
)
def feed_forward_of_one_layer(
    num_layers: int, emb_dim: int, vocab_size: int = 50257, context_length: int = 1024
) -> int:
    return counted(num_layers, emb_dim, vocab_size, context_length, squares=8, biases=8)


@misconception(
    "gpt2_parameter_count",
    "The feed-forward's hidden layer is no wider than emb_dim in this count. It is four times as wide.",
)
def feed_forward_not_expanded(
    num_layers: int, emb_dim: int, vocab_size: int = 50257, context_length: int = 1024
) -> int:
    return counted(num_layers, emb_dim, vocab_size, context_length, squares=6, biases=6)


@misconception(
    "gpt2_parameter_count",
    "This is the rule of thumb, 12 · layers · emb_dim² and the token embeddings. It comes close; an exact count has "
    "biases, norms and positions too.",
)
def rule_of_thumb(num_layers: int, emb_dim: int, vocab_size: int = 50257, context_length: int = 1024) -> int:  # noqa: ARG001
    return counted(num_layers, emb_dim, vocab_size, 0, biases=0, norms=0, last_norm=0)


@misconception(
    "gpt2_parameter_count",
    "One block is counted, however many there are. Each has parameters of its own: num_layers times those of one.",
)
def one_block_counted(num_layers: int, emb_dim: int, vocab_size: int = 50257, context_length: int = 1024) -> int:  # noqa: ARG001
    return counted(1, emb_dim, vocab_size, context_length)


@misconception(
    "gpt2_parameter_count",
    "vocab_size and context_length are not used: GPT-2's own numbers stand in their place. They are the defaults, and "
    "the caller may give others.",
)
def sizes_of_gpt2(num_layers: int, emb_dim: int, vocab_size: int = 50257, context_length: int = 1024) -> int:  # noqa: ARG001
    return counted(num_layers, emb_dim, 50257, 1024)


@misconception(
    "gpt2_parameter_count",
    "The default of vocab_size is another one. GPT-2 has 50,257 tokens: 256 bytes, 50,000 merges, and a sign for the "
    "end of a text.",
)
def another_vocabulary(num_layers: int, emb_dim: int, vocab_size: int = 50256, context_length: int = 1024) -> int:
    return counted(num_layers, emb_dim, vocab_size, context_length)


@misconception(
    "gpt2_parameter_count",
    "The default of context_length is another one. GPT-2 reads up to 1,024 tokens; 512 was its predecessor's.",
)
def another_context(num_layers: int, emb_dim: int, vocab_size: int = 50257, context_length: int = 512) -> int:
    return counted(num_layers, emb_dim, vocab_size, context_length)


@misconception(
    "gpt2_parameter_count",
    "The result is a float. Parameters are counted, so only whole numbers can come out: `//` in place of `/`, and int "
    "in place of a power or a mean.",
)
def a_float(num_layers: int, emb_dim: int, vocab_size: int = 50257, context_length: int = 1024) -> float:
    return float(counted(num_layers, emb_dim, vocab_size, context_length))


@misconception(
    "gpt2_parameter_count",
    "The result is in millions. The number itself is asked for, to the last parameter.",
)
def in_millions(num_layers: int, emb_dim: int, vocab_size: int = 50257, context_length: int = 1024) -> float:
    return counted(num_layers, emb_dim, vocab_size, context_length) / 1e6


@misconception(
    "gpt2_parameter_count",
    "The result is text. Commas and letters are for printing; give the number, as an int.",
)
def as_text(num_layers: int, emb_dim: int, vocab_size: int = 50257, context_length: int = 1024) -> str:
    return f"{counted(num_layers, emb_dim, vocab_size, context_length):,}"
