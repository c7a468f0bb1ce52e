"""Misconceptions of unit 7: wrong answers that learners give, each with a sentence that helps.

A name says what the answer does. If several exercises share a mistake, the names in the later ones have more words.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator

from torch import Tensor, nn

from grader.testing.misconceptions import Replacements, misconception, replace, row

TOKENS_AND_FEATURES = (
    "Mean and variance run over tokens and features together, one pair for each text. Each token needs its own mean "
    "and variance: only the last dimension."
)
DETACHED = (
    "The input is cut off from the gradients, for example by `.detach()`, `.data` or `torch.no_grad()`. So nothing "
    "below this module could learn."
)
ALL_DETACHED = (
    "The output is cut off from the gradients, for example by `.detach()` or `.data` at the end, or by "
    "`torch.no_grad()` around everything. So neither this module nor anything below it could learn."
)
CHANGED = (
    "The caller's x was changed: `-=`, `+=` and methods with an underscore change the tensor itself. Write `x = x + "
    "…`, which makes a new one."
)
X_TWICE = (
    "In one of the steps, or in both, x counts twice: it is added to a sum that already contains it. Each step adds "
    "only its module's output."
)
THROWN_AWAY = (
    "make_block is called once more than needed, and this block is not used. Making a block takes time and memory: "
    "call it exactly num_blocks times."
)

# Mistakes of a LayerNorm that come together. By name: the variance, what is divided by, and a sentence.
UNBIASED = "The variance is the unbiased one: divide by C, with `unbiased=False`."
ADDED = "eps is added to the deviation, outside the root: add it to the variance."
SUBTRACTED = "eps is subtracted, outside the root: add it to the variance."
SPREADS = {
    "unbiased_variance": ("var(unbiased=True, {})", "torch.sqrt(variance + self.eps)", UNBIASED),
    "eps_outside_the_root": ("std(unbiased=False, {})", "(variance + self.eps)", ADDED),
    "unbiased_deviation_plus_eps": ("std({})", "(variance + self.eps)", f"{UNBIASED} {ADDED}"),
    "eps_subtracted_outside_the_root": ("std(unbiased=False, {})", "(variance - self.eps)", SUBTRACTED),
    "unbiased_deviation_minus_eps": ("std({})", "(variance - self.eps)", f"{UNBIASED} {SUBTRACTED}"),
}
EVERYTHING = "Mean and variance are those of the whole tensor: write `dim=-1, keepdim=True`."
ONE_NUMBER = "scale and shift are one number each: make them emb_dim numbers wide."


def norms() -> Iterator[tuple[str, Replacements, str]]:
    """Yield the name, the change and the sentence of each LayerNorm with one or several of these mistakes."""
    for is_one, is_everything, spread in itertools.product((False, True), (False, True), SPREADS):
        variance, divisor, sentence = SPREADS[spread]
        dims = "" if is_everything else "dim=-1, keepdim=True"
        change = replace("x.var(dim=-1, keepdim=True, unbiased=False)", f"x.{variance.format(dims)}")
        change = change.replace("torch.sqrt(variance + self.eps)", divisor)
        if is_everything:
            change = change.replace("x.mean(dim=-1, keepdim=True)", "x.mean()")
        if is_one:
            change = change.replace("(emb_dim)", "(1)", times=2)
        names = [*["one_number_for_all"] * is_one, *["over_everything"] * is_everything, spread]
        sentences = [*[EVERYTHING] * is_everything, sentence, *[ONE_NUMBER] * is_one]
        yield "_and_".join(names), change, " ".join(sentences)


# The two steps of a TransformerBlock.
ATTEND = "self.dropout(self.attention(self.norm1(x)))"
THINK = "self.dropout(self.feed_forward(self.norm2(x)))"

CALLS = {"TransformerBlock": ["LayerNorm"]}


def dropping(dropped: str) -> Replacements:
    """A TransformerBlock whose dropout is this expression of `given`."""
    return replace("nn.Dropout(dropout)", f"lambda given: {dropped}")


def stack_that(*forward: str) -> Replacements:
    """The blocks in a subclass of nn.Sequential whose forward has these lines."""
    lines = ["class Stack(nn.Sequential):", "    def forward(self, x):", *(f"        {line}" for line in forward)]
    return replace("return nn.Sequential", "\n    ".join([*lines, "", "return Stack"]))


# fmt: off
ROWS = [
    # LayerNorm
    *(row("LayerNorm", *one) for one in norms()),
    row("LayerNorm", "shift_divided_too",
        replace("(x - mean) / torch.sqrt(variance + self.eps) + self.shift",
                "(x - mean + self.shift) / torch.sqrt(variance + self.eps)"),
        "The shift is added before the division, so it is scaled and divided too. Add it last."),
    row("LayerNorm", "norm_of_the_annotated_transformer",
        replace(", unbiased=False", "").replace("torch.sqrt(variance + self.eps)", "(torch.sqrt(variance) + self.eps)")
        .replace("1e-5", "1e-6"),
        "This is the norm of a well-known tutorial: the unbiased standard deviation, eps outside the root, and 1e-6 as "
        "its default. Take the root of the biased variance plus eps, which is 1e-5 by default."),
    row("LayerNorm", "norm_of_the_annotated_transformer_with_its_names",
        replace(", unbiased=False", "").replace("torch.sqrt(variance + self.eps)", "(torch.sqrt(variance) + self.eps)")
        .replace("1e-5", "1e-6")
        .replace("self.scale", "self.a_2", times=2).replace("self.shift", "self.b_2", times=2),
        "This is the norm of a well-known tutorial, with other names: the unbiased standard deviation, eps outside the "
        "root, and 1e-6 as its default. Here use scale, shift, and the root of the biased variance plus eps."),
    row("LayerNorm", "eps_subtracted", replace("variance + self.eps", "variance - self.eps"),
        "eps is subtracted from the variance. A variance of zero would become negative, and its root is not a number: "
        "add eps."),
    row("LayerNorm", "eps_forgotten", replace("variance + self.eps", "variance"),
        "eps is not added to the variance. If all features of a token are equal, their variance is zero, and without "
        "eps this divides by zero."),
    row("LayerNorm", "eps_argument_ignored", replace("self.eps = eps", "self.eps = 1e-5"),
        "eps is always 1e-5 and ignores the argument. Store it, `self.eps = eps`, and use it."),
    row("LayerNorm", "eps_not_accepted",
        replace(", eps: float = 1e-5", "").replace("self.eps = eps", "self.eps = 1e-5"),
        "The class takes no eps: a call with another eps ends in an error. 1e-5 is only the default, so add the "
        "argument and use it."),
    row("LayerNorm", "another_default_of_eps", replace("1e-5", "1e-6"),
        "The default of eps is wrong. Models use different values: BERT has 1e-12 and many others 1e-6. Here, as in "
        "GPT-2 and nn.LayerNorm, it is 1e-5."),
    row("LayerNorm", "eps_as_a_lower_bound", replace("variance + self.eps", "variance.clamp(min=self.eps)"),
        "eps is only a lower bound of the variance, for example because of `clamp` or `max`. Add it to every "
        "variance, large or small."),
    row("LayerNorm", "root_forgotten", replace("torch.sqrt", ""),
        "The differences are divided by the variance itself. Divide by its root, the standard deviation, which has "
        "the size of the features."),
    row("LayerNorm", "root_of_the_deviation", replace("x.var", "x.std"),
        "The root is taken of a standard deviation, which is a root already. Take it of the variance plus eps."),
    row("LayerNorm", "divided_by_the_length",
        replace("x.var(dim=-1, keepdim=True, unbiased=False)", "(x - mean).square().sum(dim=-1, keepdim=True)"),
        "The differences are divided by the root of their sum of squares, which makes vectors of length one. Divide "
        "the sum by C first: the variance is a mean."),
    row("LayerNorm", "mean_not_subtracted", replace("x - mean", "x"),
        "The mean is not subtracted: only the scale is normalised. A layer norm has two steps, and the first "
        "subtracts the mean."),
    row("LayerNorm", "mean_subtracted_too_late",
        replace("(x - mean) / torch.sqrt(variance + self.eps)",
                "(x - mean / torch.sqrt(variance + self.eps))"),
        "Only the mean is divided by the root, because Python divides before it subtracts. Put the difference in "
        "brackets: subtract first, then divide."),
    row("LayerNorm", "root_mean_square_norm",
        replace("x - mean", "x")
        .replace("x.var(dim=-1, keepdim=True, unbiased=False)", "x.square().mean(dim=-1, keepdim=True)"),
        "This is RMSNorm, which divides by the root of the mean square and does not subtract the mean. Newer models "
        "use it. Layer norm first subtracts the mean."),
    row("LayerNorm", "by_minimum_and_maximum",
        replace("mean = x.mean", "least = x.amin")
        .replace("x.var(dim=-1, keepdim=True, unbiased=False)", "x.amax(dim=-1, keepdim=True) - least")
        .replace("(x - mean) / torch.sqrt(variance + self.eps)", "(x - least) / (variance + self.eps)"),
        "The features are moved to the range from 0 to 1, with their minimum and maximum. Layer norm uses mean and "
        "variance, which depend on all features."),
    row("LayerNorm", "over_the_batch", replace("dim=-1", "dim=0", times=2),
        "Mean and variance run over the batch, the first dimension, as in batch norm. Then a token's numbers depend "
        "on the other texts in the batch. Normalise over the features: the last dimension."),
    row("LayerNorm", "over_the_tokens", replace("dim=-1", "dim=-2", times=2),
        "Mean and variance run over the tokens. Then every token sees all others, also later ones. Normalise over "
        "the features of each token: the last dimension."),
    row("LayerNorm", "over_the_last_two_dims", replace("dim=-1", "dim=(-2, -1)", times=2),
        TOKENS_AND_FEATURES),
    row("LayerNorm", "over_tokens_and_features", replace("dim=-1", "dim=(-2, -1)[-x.dim():]", times=2),
        TOKENS_AND_FEATURES),
    row("LayerNorm", "over_everything",
        replace("x.mean(dim=-1, keepdim=True)", "x.mean()").replace("dim=-1, keepdim=True, ", ""), EVERYTHING),
    row("LayerNorm", "over_the_third_dim", replace("dim=-1", "dim=2", times=2),
        "This works only for batches of texts: the code expects the features in the third dimension, or reads three "
        "sizes. `dim=-1, keepdim=True` works for any number of dimensions."),
    row("LayerNorm", "three_sizes_read", replace("mean = ", "texts, tokens, features = x.shape\n        mean = "),
        "The norm takes only batches of texts: it reads three sizes from x. A mean over the last dimension works "
        "with any number of dimensions in front."),
    row("LayerNorm", "keepdim_forgotten", replace(", keepdim=True", "", times=2),
        "The mean or the variance has lost its dimension: without `keepdim=True` it is (B, T), which does not match "
        "(B, T, C). Keep it as (B, T, 1)."),
    row("LayerNorm", "rows_not_put_back", replace("mean = ", "x = x.reshape(-1, x.shape[-1])\n        mean = "),
        "The output has lost the leading dimensions: the flat rows of features keep their shape. Give it the shape "
        "of x again."),
    row("LayerNorm", "rows_by_view", replace("mean = ", "x = x.view(-1, x.shape[-1]).view(x.shape)\n        mean = "),
        "`view` fails if x is non-contiguous, for example the result of a transpose. `reshape` works, and with "
        "`dim=-1` you need neither."),
    row("LayerNorm", "one_number_for_all_features", replace("(emb_dim)", "(1)", times=2), ONE_NUMBER),
    row("LayerNorm", "plain_tensors", replace("nn.Parameter", "", times=2),
        "scale and shift are plain tensors. An optimiser does not find them, so they stay one and zero: wrap them in "
        "nn.Parameter."),
    row("LayerNorm", "other_names",
        replace("self.scale", "self.gamma", times=2).replace("self.shift", "self.beta", times=2),
        "The parameters have other names, such as gamma and beta or weight and bias. Code that loads weights uses "
        "the names: call them scale and shift."),
    row("LayerNorm", "no_shift",
        replace("self.shift = nn.Parameter(torch.zeros(emb_dim))", "").replace(" + self.shift", ""),
        "There is a scale but no shift. Without it every token always has the mean zero. Add a shift that begins as "
        "zeros."),
    row("LayerNorm", "shift_unused", replace(" + self.shift", ""),
        "shift is made but never added. The last step has two parts: multiply by scale, then add shift."),
    row("LayerNorm", "scale_unused", replace("self.scale * ", ""),
        "scale is made but never used. The last step has two parts: multiply by scale, then add shift."),
    row("LayerNorm", "scale_and_shift_unused", replace("self.scale * ", "").replace(" + self.shift", ""),
        "Neither scale nor shift is used. Then the model could never make a feature large again. Multiply by scale, "
        "then add shift."),
    row("LayerNorm", "shifted_before_scaled",
        replace("self.scale * ", "self.scale * (").replace("+ self.shift", "+ self.shift)"),
        "shift is added before the multiplication with scale, so the shift is scaled too. Multiply first, then add."),
    row("LayerNorm", "scaled_before_normalized",
        replace("self.scale * ", "")
        .replace(" + self.shift", "")
        .replace("mean = ", "x = self.scale * x + self.shift\n        mean = "),
        "x is scaled and shifted before it is normalised, which removes most of this again. Normalise first, then "
        "scale and shift."),
    row("LayerNorm", "scale_and_shift_exchanged",
        replace("self.scale * ", "self.shift * ").replace("+ self.shift", "+ self.scale"),
        "scale and shift are swapped: multiply by scale, and add shift."),
    row("LayerNorm", "features_of_the_worked_example", replace("(emb_dim)", "(4)", times=2),
        "The parameters have the size of the worked example, 4. Use the class's own argument: emb_dim."),
    row("LayerNorm", "x_detached", replace("mean = ", "x = x.detach()\n        mean = "),
        DETACHED),
    row("LayerNorm", "norm_detached", replace("return ", "return (").replace("+ self.shift", "+ self.shift).detach()"),
        ALL_DETACHED),
    row("LayerNorm", "statistics_detached",
        replace("x - mean", "x - mean.detach()").replace("variance + self.eps", "variance.detach() + self.eps"),
        "Mean and variance are cut off from the gradients, as if they were constants. They depend on x too, so "
        "gradients must flow through them."),
    row("LayerNorm", "made_float32", replace("return ", "return (").replace("+ self.shift", "+ self.shift).float()"),
        "The output is always float32, for example because of `.float()` or a float32 tensor. If x and the "
        "parameters are float64, the output should be float64."),
    row("LayerNorm", "x_centred_in_place",
        replace("variance = ", "x -= mean\n        variance = ").replace("x - mean", "x"),
        CHANGED),
    # FeedForward
    row("FeedForward", "gelu", replace("torch.relu", "nn.functional.gelu"),
        "GELU is between the layers. GPT-2 has it, a smooth form of ReLU. This exercise asks for ReLU, as in the "
        "Transformer of 2017."),
    row("FeedForward", "gelu_by_tanh",
        replace("torch.relu(self.widen(x))", "nn.functional.gelu(self.widen(x), approximate='tanh')"),
        "GELU is between the layers, in the approximation by tanh of GPT-2. This exercise asks for ReLU, as in the "
        "Transformer of 2017."),
    row("FeedForward", "relu_made_but_not_called", replace("torch.relu(self.widen(x))", "nn.ReLU(self.widen(x))"),
        "nn.ReLU is a class: the hidden numbers went to the making of a module, which takes no tensor. Make the "
        "module in `__init__` and call it, or use a function."),
    row("FeedForward", "silu", replace("torch.relu", "nn.functional.silu"),
        "SiLU is between the layers. Newer models use it. Here it is ReLU: zero for negative numbers, and no change "
        "for the others."),
    row("FeedForward", "leaky_relu", replace("torch.relu", "nn.functional.leaky_relu"),
        "A leaky ReLU is between the layers, which keeps a part of the negative numbers. ReLU makes them zero."),
    row("FeedForward", "tanh", replace("torch.relu", "torch.tanh"),
        "tanh is between the layers, which brings all numbers between -1 and 1. ReLU does not change positive "
        "numbers."),
    row("FeedForward", "sigmoid", replace("torch.relu", "torch.sigmoid"),
        "A sigmoid is between the layers, which brings all numbers between 0 and 1. ReLU does not change positive "
        "numbers."),
    row("FeedForward", "no_activation", replace("torch.relu", ""),
        "Nothing is between the layers, so the two together are only one linear map. Put ReLU between them."),
    row("FeedForward", "relu_at_the_end_too", replace("self.narrow(hidden)", "torch.relu(self.narrow(hidden))"),
        "A second ReLU comes after the second layer. Then the block could never add negative numbers to x. Use ReLU "
        "only in the hidden layer."),
    row("FeedForward", "relu_only_at_the_end",
        replace("torch.relu", "").replace("self.narrow(hidden)", "torch.relu(self.narrow(hidden))"),
        "ReLU comes after both layers, and not between them: then the two layers together are only one linear map."),
    row("FeedForward", "relu_at_the_beginning", replace("torch.relu(self.widen(x))", "self.widen(torch.relu(x))"),
        "ReLU comes before the first layer, and nothing is between the two. First widen, then ReLU, then back."),
    row("FeedForward", "residual_inside", replace("return ", "return x + "),
        "The residual connection is already in here: x is added at the end. That is the task of another module. In "
        "the block x would be added twice."),
    row("FeedForward", "norm_inside", replace("self.widen(x)", "self.widen(nn.functional.layer_norm(x, x.shape[-1:]))"),
        "A layer norm comes before the layers. In the block norm2 does that already. Here use only the two layers "
        "and ReLU."),
    row("FeedForward", "dropout_inside",
        replace("self.narrow(hidden)", "nn.functional.dropout(self.narrow(hidden), 0.2, self.training)"),
        "There is a dropout, as in some tutorials. In this unit the block drops the output of the feed-forward. "
        "Twice would be too much."),
    row("FeedForward", "no_expansion", replace("expansion * emb_dim", "emb_dim", times=2),
        "The hidden layer is only as wide as x: expansion is not used. The network needs the wider hidden layer."),
    row("FeedForward", "always_four_times", replace("expansion * emb_dim", "4 * emb_dim", times=2),
        "The hidden layer is always four times as wide as x. That is only the default: use the argument, expansion."),
    row("FeedForward", "expansion_not_accepted",
        replace(", expansion: int = 4", "").replace("self.widen = ", "expansion = 4\n        self.widen = "),
        "The class takes no expansion: the factor 4 is fixed. It is only the default, so add the argument and use it."),
    row("FeedForward", "another_default", replace("expansion: int = 4", "expansion: int = 2"),
        "Without an argument the hidden layer is not four times as wide as x. Four is the default here, as in the "
        "Transformer of 2017 and GPT-2."),
    row("FeedForward", "expansion_as_the_width", replace("expansion * emb_dim", "expansion", times=2),
        "expansion is used as the hidden width itself. It is a factor for the width: expansion * emb_dim."),
    row("FeedForward", "expansion_added", replace("expansion * emb_dim", "expansion + emb_dim", times=2),
        "The hidden width is expansion + emb_dim. It should be a multiple: expansion * emb_dim."),
    row("FeedForward", "no_expansion_and_gelu",
        replace("expansion * emb_dim", "emb_dim", times=2).replace("torch.relu", "nn.functional.gelu"),
        "The hidden layer is only as wide as x, and GELU is between the layers. Here the hidden layer is wider, by "
        "the factor expansion, and ReLU is between the layers."),
    row("FeedForward", "no_biases",
        replace("expansion * emb_dim)", "expansion * emb_dim, bias=False)")
        .replace("emb_dim, emb_dim)", "emb_dim, emb_dim, bias=False)"),
        "Neither layer has a bias. Queries, keys and values often have none; here both layers have one, which is the "
        "default of nn.Linear."),
    row("FeedForward", "no_first_bias", replace("expansion * emb_dim)", "expansion * emb_dim, bias=False)"),
        "The first layer has no bias. Both have one, which is the default of nn.Linear."),
    row("FeedForward", "no_second_bias", replace("emb_dim, emb_dim)", "emb_dim, emb_dim, bias=False)"),
        "The second layer has no bias. Both have one, which is the default of nn.Linear."),
    row("FeedForward", "biases_unused",
        replace("self.widen(x)", "x @ self.widen.weight.T")
        .replace("self.narrow(hidden)", "hidden @ self.narrow.weight.T"),
        "Only the weights of the layers are used, and not their biases. Call the layer itself: it adds its bias too."),
    row("FeedForward", "one_layer",
        replace("(emb_dim, expansion * emb_dim)", "(emb_dim, emb_dim)")
        .replace("self.narrow = nn.Linear(expansion * emb_dim, emb_dim)", "")
        .replace("self.narrow(hidden)", "hidden"),
        "There is only one layer. The feed-forward has two, each with its own weights: one from emb_dim to expansion "
        "* emb_dim, and one back."),
    row("FeedForward", "three_layers",
        replace("self.narrow = ",
                "self.between = nn.Linear(expansion * emb_dim, expansion * emb_dim)\n        self.narrow = ")
        .replace("self.narrow(hidden)", "self.narrow(torch.relu(self.between(hidden)))"),
        "There are three layers. The feed-forward has two, with only ReLU between them: widen, ReLU, back."),
    row("FeedForward", "first_weights_used_twice",
        replace("self.narrow(hidden)", "hidden @ self.widen.weight + self.narrow.bias"),
        "The second layer uses the transposed weights of the first. It should have its own weights to learn."),
    row("FeedForward", "hidden_width_required",
        replace("expansion: int = 4", "d_ff: int").replace("expansion * emb_dim", "d_ff", times=2),
        "The second argument is the hidden width itself, like d_ff in a well-known tutorial, and it has no default. "
        "Here it is a factor for the width, and 4 unless another is given."),
    row("FeedForward", "layers_exchanged",
        replace("self.widen(x)", "self.narrow(x)").replace("self.narrow(hidden)", "self.widen(hidden)"),
        "Every call ends in an error, because shapes do not match. Call each layer once: first from emb_dim to "
        "expansion * emb_dim features, then ReLU, then back to emb_dim."),
    row("FeedForward", "layers_in_a_list",
        replace("self.widen = nn.Linear(emb_dim, expansion * emb_dim)",
                "self.layers = [nn.Linear(emb_dim, expansion * emb_dim)]")
        .replace("self.narrow = nn.Linear(expansion * emb_dim, emb_dim)",
                 "self.layers += [nn.Linear(expansion * emb_dim, emb_dim)]")
        .replace("self.widen", "self.layers[0]")
        .replace("self.narrow", "self.layers[1]"),
        "The module contains no layer: there is none, or it is in a plain list or made in each call. Optimisers, "
        "`.double()` and `state_dict` do not find such layers. Make them attributes, or use nn.ModuleList or "
        "nn.Sequential."),
    row("FeedForward", "rows_not_put_back_by_feed_forward",
        replace("self.narrow(hidden)", "self.narrow(hidden).reshape(-1, x.shape[-1])"),
        "The output has lost the leading dimensions: the flat rows of features keep their shape. nn.Linear works "
        "with any number of dimensions, so you do not need to flatten."),
    row("FeedForward", "batches_only", replace("hidden = ", "texts, tokens, features = x.shape\n        hidden = "),
        "The module takes only batches of texts: it reads three sizes from x. nn.Linear works on the last dimension, "
        "with any number of dimensions in front."),
    row("FeedForward", "hidden_layer_detached", replace("self.widen(x)", "self.widen(x).detach()"),
        "The hidden layer is cut off from the gradients, for example by `.detach()`, `.data` or `torch.no_grad()`. "
        "So the first layer, and everything below this module, could never learn."),
    row("FeedForward", "feed_forward_detached", replace("self.narrow(hidden)", "self.narrow(hidden).detach()"),
        ALL_DETACHED),
    row("FeedForward", "x_made_float32", replace("self.widen(x)", "self.widen(x.float())"),
        "x, or the output of the first layer, is made float32, so it does not match float64 layers. Keep the dtype."),
    row("FeedForward", "x_changed_by_feed_forward",
        replace("return ", "with torch.no_grad():\n            x.relu_()\n        return "),
        CHANGED),
    # Residual
    row("Residual", "x_not_added", replace("x + ", ""),
        "x is not added: the output is only the output of sublayer. Without the path around it, gradients must go "
        "through every module."),
    row("Residual", "norm_before_sublayer",
        replace("sublayer(x)", "sublayer(nn.functional.layer_norm(x, x.shape[-1:]))"),
        "sublayer gets x after a layer norm. The block does that with its own norm. A residual connection alone is x "
        "+ sublayer(x)."),
    row("Residual", "norm_after_the_sum",
        replace("x + self.sublayer(x)", "nn.functional.layer_norm(x + self.sublayer(x), x.shape[-1:])"),
        "The sum goes through a layer norm. The path around sublayer should contain nothing else: only x + "
        "sublayer(x)."),
    row("Residual", "normalized_on_both_ways",
        replace("return ", "x = nn.functional.layer_norm(x, x.shape[-1:])\n        return "),
        "The output is added to the normalised x. Then the path around sublayer goes through a norm, and x itself is "
        "lost."),
    row("Residual", "other_arguments_in_residual", replace("sublayer: nn.Module", "sublayer: nn.Module, emb_dim: int"),
        "The residual cannot be made, because a call got other arguments than it takes. It takes only the module, "
        "and needs no width: there is no norm in it."),
    row("Residual", "relu_after_the_sum", replace("x + self.sublayer(x)", "torch.relu(x + self.sublayer(x))"),
        "The sum goes through ReLU, as in the first residual networks for images. In a transformer the sum is not "
        "changed, so that it can be negative too."),
    row("Residual", "multiplied", replace("x + ", "x * "),
        "x and the output of sublayer are multiplied. If a factor is small, gradients become small. A sum passes "
        "them on without change."),
    row("Residual", "subtracted", replace("x + ", "x - "),
        "The output of sublayer is subtracted. Training could adapt to that, but a residual connection is a sum."),
    row("Residual", "averaged", replace("x + self.sublayer(x)", "(x + self.sublayer(x)) / 2"),
        "The output is the mean of x and sublayer's output. If x is halved in every block, little of it is left "
        "after twelve blocks: add the two."),
    row("Residual", "output_added_to_itself",
        replace("return ", "x = self.sublayer(x)\n        return ")
        .replace("return x + self.sublayer(x)", "return x + x"),
        "sublayer's output is added to itself, and x is not in the sum. Store x before you overwrite it."),
    row("Residual", "sublayer_used_twice", replace("return ", "x = self.sublayer(x)\n        return "),
        "sublayer is called twice, the second time on its own output. Call it once with x, and add its output to x."),
    row("Residual", "x_added_twice", replace("x + ", "x + x + "),
        "x counts twice: it is added to a sum that already contains it."),
    row("Residual", "side_by_side", replace("x + self.sublayer(x)", "torch.cat([x, self.sublayer(x)], dim=-1)"),
        "x and the output of sublayer are concatenated. Other networks do that. Here they are added, and the shape "
        "stays that of x."),
    row("Residual", "dropout_in_residual",
        replace("self.sublayer(x)", "nn.functional.dropout(self.sublayer(x), 0.1, self.training)"),
        "In training there is a dropout in here. The output should be x + sublayer(x), also in training."),
    row("Residual", "gate_that_begins_at_zero",
        replace("self.sublayer = ", "self.gate = nn.Parameter(torch.zeros(()))\n        self.sublayer = ")
        .replace("x + ", "x + self.gate * "),
        "The output of sublayer has no effect: it is not added, or multiplied by a weight that begins at zero, as in "
        "some later models. Here add it without a factor: x + sublayer(x)."),
    row("Residual", "sublayer_hidden", replace("= sublayer", "= (sublayer,)").replace("sublayer(x)", "sublayer[0](x)"),
        "sublayer is in a list, a tuple or a function, so its parameters are not found. Make the module itself an "
        "attribute: self.sublayer = sublayer."),
    row("Residual", "sublayer_copied",
        replace("self.sublayer = sublayer", "from copy import deepcopy\n        self.sublayer = deepcopy(sublayer)"),
        "sublayer is copied, so the given module is not the one that is used here. Store sublayer itself."),
    row("Residual", "batches_of_texts_only",
        replace("return ", "texts, tokens, features = x.shape if x.dim() == 3 else (1, *x.shape)\n        return "),
        "The code does not work for every shape: it reads the sizes of x, as if it were always a batch of texts, or "
        "one text. Addition works for any shape."),
    row("Residual", "squeezed", replace("x + self.sublayer(x)", "(x + self.sublayer(x)).squeeze()"),
        "`squeeze()` removes every dimension of size one, so a text of a single token loses its shape. Keep the "
        "shape."),
    row("Residual", "way_around_detached", replace("x + ", "x.detach() + "),
        "The path around sublayer is cut off from the gradients, for example by `.detach()` or `.data`. This path "
        "exists for the gradients."),
    row("Residual", "sublayer_detached", replace("sublayer(x)", "sublayer(x).detach()"),
        "The path through sublayer is cut off from the gradients, before or after it, for example by `.detach()` or "
        "`torch.no_grad()`. Both sublayer and the layers below it should learn."),
    row("Residual", "residual_detached", replace("x + self.sublayer(x)", "(x + self.sublayer(x)).detach()"),
        ALL_DETACHED),
    row("Residual", "x_made_float32_in_residual", replace("return ", "x = x.float()\n        return "),
        "x is made float32, so it does not match a float64 sublayer. Keep the dtype of x."),
    row("Residual", "added_to_x_in_place",
        replace("return ", "x += self.sublayer(x)\n        return ").replace("return x + self.sublayer(x)", "return x"),
        CHANGED),
    row("Residual", "x_added_to_the_output_in_place", replace("x + self.sublayer(x)", "self.sublayer(x).add_(x)"),
        "x is added in place to the output of sublayer. If sublayer returns x itself, as nn.Identity does, that "
        "changes the caller's x: write x + sublayer(x)."),
    # TransformerBlock
    row("TransformerBlock", "norms_without_parameters",
        replace("LayerNorm(emb_dim)", "nn.LayerNorm(emb_dim, elementwise_affine=False)", times=2),
        "The norms have no scale and no shift, for example because of `elementwise_affine=False` or F.layer_norm. "
        "Some features need a larger scale than others, and the model should learn it."),
    row("TransformerBlock", "root_mean_square_norms",
        replace("LayerNorm(emb_dim)", "nn.RMSNorm(emb_dim, 1e-5)", times=2),
        "norm1 and norm2 are RMSNorms, which subtract no mean and have no shift. The block needs layer norms."),
    row("TransformerBlock", "post_norm",
        replace(f"x + {ATTEND}", "self.norm1(x + self.dropout(self.attention(x)))")
        .replace(f"x + {THINK}", "self.norm2(x + self.dropout(self.feed_forward(x)))"),
        "This is post-norm, as in the Transformer of 2017: each sum goes through a norm. In pre-norm the norm is "
        "before the module, and the sum is not normalised."),
    row("TransformerBlock", "norm_on_what_is_given",
        replace("self.attention(self.norm1(x))", "self.norm1(self.attention(x))")
        .replace("self.feed_forward(self.norm2(x))", "self.norm2(self.feed_forward(x))"),
        "The norm acts on the output of a module, before it is added. In pre-norm it acts on the input of the "
        "module: attention(norm1(x))."),
    row("TransformerBlock", "norms_unused", replace("self.norm1(x)", "x").replace("self.norm2(x)", "x"),
        "The norms are made but never used: attention and feed_forward get x without a norm, and its scale may be "
        "anything after many blocks."),
    row("TransformerBlock", "norm1_unused", replace("self.norm1(x)", "x"),
        "attention gets x without a norm. Each of the two modules needs a norm before it: attention(norm1(x))."),
    row("TransformerBlock", "norm2_unused", replace("self.norm2(x)", "x"),
        "feed_forward gets x without a norm. Each of the two modules needs a norm before it: feed_forward(norm2(x))."),
    row("TransformerBlock", "norm1_used_twice", replace("self.norm2(x)", "self.norm1(x)"),
        "Both steps use norm1, and norm2 is made but never used. Each norm has its own scale and shift to learn."),
    row("TransformerBlock", "one_norm_under_two_names",
        replace("self.norm2 = LayerNorm(emb_dim)", "self.norm2 = self.norm1"),
        "norm1 and norm2 are the same module, so they share scale and shift. Make two norms."),
    row("TransformerBlock", "one_norm_made_for_both",
        replace("self.norm2 = LayerNorm(emb_dim)", "").replace("self.norm2(x)", "self.norm1(x)"),
        "There is no norm2: norm1 does the work of both. Each norm has its own scale and shift to learn, so make two."),
    row("TransformerBlock", "norms_exchanged",
        replace("attention(self.norm1", "attention(self.norm2").replace("forward(self.norm2", "forward(self.norm1"),
        "The norms are swapped: norm1 comes before attention, and norm2 before feed_forward."),
    row("TransformerBlock", "norms_of_other_names",
        replace("self.norm1", "self.ln1", times=2).replace("self.norm2", "self.ln2", times=2),
        "The norms have other names, such as ln1 or ln_1. Code that loads weights uses the names: call them norm1 "
        "and norm2."),
    row("TransformerBlock", "third_norm_at_the_end",
        replace(f"x + {THINK}", f"nn.functional.layer_norm(x + {THINK}, x.shape[-1:])"),
        "A third norm acts on the output. Such a norm comes once, after the last block of the whole stack, and not "
        "in each block."),
    row("TransformerBlock", "no_residuals", replace("x + ", "", times=2),
        "Nothing is added to x: each step returns only its module's output. Write x = x + … in both steps."),
    row("TransformerBlock", "first_residual_forgotten", replace("x = x + ", "x = "),
        "In the first step x is not added: attention's output replaces it. Both steps are x = x + …."),
    row("TransformerBlock", "second_residual_forgotten", replace("return x + ", "return "),
        "In the second step nothing is added: feed_forward's output replaces the sum. Both steps are x = x + …."),
    row("TransformerBlock", "added_to_the_normalized_x",
        replace("x = x", "x = self.norm1(x)\n        x = x").replace("attention(self.norm1(x))", "attention(x)")
        .replace("return x", "x = self.norm2(x)\n        return x").replace("forward(self.norm2(x))", "forward(x)"),
        "The output is added to the normalised x. Then the path from block to block goes through the norms. Keep x "
        "itself for the sum."),
    row("TransformerBlock", "first_sum_from_the_normalized_x",
        replace("x = x", "x = self.norm1(x)\n        x = x").replace("attention(self.norm1(x))", "attention(x)"),
        "In the first step the output is added to the normalised x, so the path around attention goes through norm1. "
        "Keep x itself for the sum."),
    row("TransformerBlock", "second_sum_from_the_normalized_x",
        replace("return x", "x = self.norm2(x)\n        return x").replace("forward(self.norm2(x))", "forward(x)"),
        "In the second step the output is added to the normalised sum, so the path around feed_forward goes through "
        "norm2. Keep the sum itself."),
    row("TransformerBlock", "first_step_post_norm",
        replace(f"x + {ATTEND}", "self.norm1(x + self.dropout(self.attention(x)))"),
        "The first step is post-norm: attention gets x without a norm, and the sum goes through norm1. In pre-norm "
        "norm1 comes before attention, and the sum is not normalised."),
    row("TransformerBlock", "second_step_post_norm",
        replace(f"x + {THINK}", "self.norm2(x + self.dropout(self.feed_forward(x)))"),
        "The second step is post-norm: feed_forward gets the sum without a norm, and the new sum goes through norm2. "
        "In pre-norm norm2 comes before feed_forward, and the sum is not normalised."),
    row("TransformerBlock", "norms_before_and_after",
        replace(f"x + {ATTEND}", f"self.norm1(x + {ATTEND})").replace(f"x + {THINK}", f"self.norm2(x + {THINK})"),
        "Each norm is used twice, before the module and again on the sum. In pre-norm it comes only before the "
        "module, and the sum is not normalised."),
    row("TransformerBlock", "second_step_added_to_x",
        replace("x = x", "first = x").replace("self.norm2(x)", "self.norm2(first)"),
        "The second step adds to the first step's x, so attention's output is not in the sum. Use the sum of the first "
        "step, both in norm2 and in the addition."),
    row("TransformerBlock", "both_steps_at_once", replace("x = x", "first = x").replace("return x", "return first"),
        "Both modules work on the same x, in parallel, and feed_forward never sees the output of attention. Some "
        "models do that. In this block it works on the sum."),
    row("TransformerBlock", "one_residual_around_both",
        replace("x = x +", "first =").replace("self.norm2(x)", "self.norm2(first)"),
        "x is added only once, at the end of both steps. Each step needs its own sum, so that gradients have a path "
        "around each of the two modules."),
    row("TransformerBlock", "x_added_once_more",
        replace("x = x", "first = x\n        x = x").replace("return x", "return first + x"),
        "x is added again at the end, after the two sums. Each step adds only its module's output."),
    row("TransformerBlock", "x_added_twice_in_the_first_step", replace("x = x +", "x = x + x +"), X_TWICE),
    row("TransformerBlock", "x_added_twice_in_the_second_step", replace("return x +", "return x + x +"), X_TWICE),
    row("TransformerBlock", "x_added_twice_in_both_steps", replace("x + self", "x + x + self", times=2), X_TWICE),
    row("TransformerBlock", "feed_forward_first",
        replace("self.attention(self.norm1", "self.feed_forward(self.norm1")
        .replace("self.feed_forward(self.norm2", "self.attention(self.norm2"),
        "The order is wrong: feed_forward works first. First attention lets tokens exchange information, and then "
        "feed_forward processes each token."),
    row("TransformerBlock", "feed_forward_first_with_its_norm",
        replace(f"x = x + {ATTEND}", f"x = x + {THINK}").replace(f"return x + {THINK}", f"return x + {ATTEND}"),
        "The feed-forward comes first. Attention with norm1 is the first step, and the feed-forward with norm2 the "
        "second."),
    row("TransformerBlock", "feed_forward_unused", replace(f" + {THINK}", ""),
        "feed_forward is never used: the block ends after attention. It needs both steps."),
    row("TransformerBlock", "attention_unused", replace(f" + {ATTEND}", ""),
        "attention is never used, so tokens exchange no information. The block needs both steps, attention first."),
    row("TransformerBlock", "tokens_in_front_for_attention",
        replace("self.attention(self.norm1(x))", "self.attention(self.norm1(x).transpose(0, 1)).transpose(0, 1)"),
        "Batch and tokens are swapped before attention. The given modules take (B, T, emb_dim), so do not transpose "
        "x."),
    row("TransformerBlock", "texts_joined_for_attention",
        replace("self.attention(self.norm1(x))", "self.attention(self.norm1(x).flatten(0, 1)[None]).view(x.shape)"),
        "attention gets all texts of the batch as one long text, so tokens use information from other texts. Give it "
        "(B, T, emb_dim)."),
    row("TransformerBlock", "attention_given_three_things", replace("self.norm1(x)", "*[self.norm1(x)] * 3"),
        "attention or feed_forward gets more than one argument. torch's nn.MultiheadAttention takes queries, keys, "
        "values and a mask. But the modules here take only x, and compute the rest themselves."),
    row("TransformerBlock", "first_part_of_attention", replace("self.norm1(x))", "self.norm1(x))[0]"),
        "Only the first part of attention's output is used, `[0]`. torch's nn.MultiheadAttention returns a pair. But "
        "the modules here return one tensor, and `[0]` is its first text."),
    row("TransformerBlock", "other_arguments_in_block",
        replace("attention: nn.Module, feed_forward: nn.Module, emb_dim: int, dropout: float", "emb_dim, num_heads"),
        "The block cannot be made, because a call got other arguments than it takes. The block takes two modules that "
        "are already made, emb_dim and dropout: keep the arguments of the stub."),
    row("TransformerBlock", "modules_hidden",
        replace("self.attention = attention", "self.kept = (attention, feed_forward)")
        .replace("self.feed_forward = feed_forward", "")
        .replace("self.attention(", "self.kept[0](").replace("self.feed_forward(", "self.kept[1]("),
        "attention and feed_forward are in a list, a tuple or a function, so their parameters are not found. Make "
        "the modules themselves attributes of the block."),
    row("TransformerBlock", "dropout_never_applied", replace("self.dropout(", "(", times=2),
        "In training every output is as it is in eval mode: nothing is dropped. Drop a part of attention's output, "
        "and of feed_forward's output."),
    row("TransformerBlock", "feed_forward_not_dropped",
        replace("self.dropout(self.feed_forward", "(self.feed_forward"),
        "Only attention's output is dropped. Both steps have a dropout before the sum."),
    row("TransformerBlock", "attention_not_dropped", replace("self.dropout(self.attention", "(self.attention"),
        "Only feed_forward's output is dropped. Both steps have a dropout before the sum."),
    row("TransformerBlock", "sums_dropped", replace("x + self.dropout(", "self.dropout(x + ", times=2),
        "Dropout acts on the sums. It drops parts of x too, which no later block can restore. Drop the module's "
        "output, and then add."),
    row("TransformerBlock", "output_dropped",
        replace("self.dropout(self.attention", "(self.attention")
        .replace("x + self.dropout(", "self.dropout(x + "),
        "Dropout drops parts of x too: it acts on the output of the whole block, or on the x that is added. Drop the "
        "module's output, in each of the two steps, and then add."),
    row("TransformerBlock", "x_dropped",
        replace("self.dropout(", "(", times=2).replace("x = x", "x = self.dropout(x)\n        x = x"),
        "Dropout acts on x at the beginning, so the dropped parts are missing in the sum too. Drop the module's "
        "output."),
    row("TransformerBlock", "dropped_before_the_modules",
        replace("self.dropout(self.attention(", "self.attention(self.dropout(")
        .replace("self.dropout(self.feed_forward(", "self.feed_forward(self.dropout("),
        "Dropout comes before the modules, before the norm or after it. Then a module gets only a part of its input. "
        "Drop its output instead."),
    row("TransformerBlock", "kept_numbers_not_scaled",
        dropping("given * (nn.functional.dropout(given, dropout, self.training) != 0)"),
        "Numbers are dropped, but the kept numbers are not scaled. Divide them by 1 - dropout, so that the average "
        "stays the same."),
    row("TransformerBlock", "dropped_in_eval_mode_too", dropping("nn.functional.dropout(given, dropout)"),
        "Numbers are dropped in eval mode too. F.dropout needs `training=self.training`; nn.Dropout knows the mode."),
    row("TransformerBlock", "share_turned_round", replace("nn.Dropout(dropout)", "nn.Dropout(1 - dropout)"),
        "The probability is inverted: a fraction of 1 - dropout becomes zero. dropout is the probability of dropping "
        "a number."),
    row("TransformerBlock", "always_a_fifth_dropped", replace("nn.Dropout(dropout)", "nn.Dropout(0.2)"),
        "The probability of dropout is always 0.2, as in a well-known lecture, and ignores the argument. Pass it on."),
    row("TransformerBlock", "always_half_dropped", replace("nn.Dropout(dropout)", "nn.Dropout()"),
        "The probability of dropout is always one half, which is PyTorch's default, and ignores the argument. Pass it "
        "on."),
    row("TransformerBlock", "dropped_twice", replace("self.dropout(", "self.dropout(self.dropout(", times=2)
        .replace(")))\n", "))))\n", times=2),
        "The output of each module goes through dropout twice, so more numbers are lost than `dropout` says. One "
        "dropout before each sum is enough."),
    row("TransformerBlock", "always_a_tenth_dropped", replace("nn.Dropout(dropout)", "nn.Dropout(0.1)"),
        "The probability of dropout is always 0.1 and ignores the argument. Pass it on: nn.Dropout(dropout)."),
    row("TransformerBlock", "whole_tokens_dropped",
        dropping("given * nn.functional.dropout(torch.ones_like(given[..., :1]), dropout, self.training)"),
        "Whole tokens are dropped: there is one draw for each token. Draw for each feature of each token, as "
        "nn.Dropout does."),
    row("TransformerBlock", "tokens_dropped_alike",
        dropping("given * nn.functional.dropout(torch.ones_like(given[:, :1]), dropout, self.training)"),
        "The same features are dropped for all tokens of a text. Draw for each feature of each token, as nn.Dropout "
        "does. nn.Dropout1d and similar modules drop whole channels."),
    row("TransformerBlock", "texts_dropped_alike",
        dropping("given * nn.functional.dropout(torch.ones_like(given[:1]), dropout, self.training)"),
        "All texts of a batch have the same numbers dropped. Draw for each text separately, as nn.Dropout does for "
        "the whole tensor."),
    row("TransformerBlock", "always_the_same_draws",
        dropping("given * torch.full_like(given, 1 - dropout).bernoulli(generator=torch.Generator().manual_seed(42))"
                 " / (1 - dropout) if self.training else given"),
        "Every call drops the same numbers, as if the code set a seed or drew only once. Draw again in each call, so "
        "that the model cannot rely on any number."),
    row("TransformerBlock", "block_squeezed", replace(f"x + {THINK}", f"(x + {THINK}).squeeze()"),
        "`squeeze()` removes every dimension of size one, so a single text or a single token loses its shape. Keep "
        "the shape."),
    row("TransformerBlock", "block_detached", replace("x = x", "x = x.detach()\n        x = x"), DETACHED),
    row("TransformerBlock", "block_output_detached", replace(f"x + {THINK}", f"(x + {THINK}).detach()"), ALL_DETACHED),
    row("TransformerBlock", "ways_around_detached", replace("x + ", "x.detach() + ", times=2),
        "x is cut off from the gradients in the sums, for example by `.detach()` or `.data`. The path around the "
        "modules exists for the gradients."),
    row("TransformerBlock", "x_changed_by_the_block",
        replace("x = x +", "x +=").replace(f"return x + {THINK}", f"x += {THINK}\n        return x"),
        CHANGED),
    # stack_blocks
    row("stack_blocks", "one_block_many_times",
        replace("(make_block() for _ in range(num_blocks))", "[make_block()] * num_blocks"),
        "make_block is called once, and the same block is used num_blocks times: `[make_block()] * n` contains one "
        "block n times. Call it for each block: `[make_block() for _ in range(n)]`."),
    row("stack_blocks", "copies_of_one_block",
        replace("return ", "from copy import deepcopy\n    block = make_block()\n    return ")
        .replace("make_block() for", "deepcopy(block) for"),
        "make_block is called once, and its block is copied. Then all blocks begin with the same weights: call "
        "make_block for each of them."),
    row("stack_blocks", "last_block_first",
        replace("(make_block() for _ in range(num_blocks))", "[make_block() for _ in range(num_blocks)][::-1]"),
        "The blocks are used in reverse order: the last one gets x first. Use them in the order in which they were "
        "made."),
    row("stack_blocks", "one_block_too_few", replace("range(num_blocks)", "range(num_blocks - 1)"),
        "One block is missing. Count the calls of make_block: range(n) has n numbers, and range(1, n) has one less."),
    row("stack_blocks", "one_block_too_many", replace("range(num_blocks)", "range(num_blocks + 1)"),
        "There is one block too many. Count the calls of make_block: range(n) has n numbers, and range(n + 1) has "
        "one more."),
    row("stack_blocks", "one_block_thrown_away",
        replace("(make_block() for _ in range(num_blocks))", "[make_block() for _ in range(num_blocks + 1)][:-1]"),
        THROWN_AWAY),
    row("stack_blocks", "first_block_thrown_away",
        replace("(make_block() for _ in range(num_blocks))", "[make_block() for _ in range(num_blocks + 1)][1:]"),
        THROWN_AWAY),
    row("stack_blocks", "always_three_blocks", replace("range(num_blocks)", "range(3)"),
        "There are always three blocks, as in the worked example. Use the second argument, num_blocks."),
    row("stack_blocks", "outputs_thrown_away", stack_that("for block in self:", "    block(x)", "return x"),
        "The blocks have no effect: their outputs are not kept, and x itself comes out. Each block should get the "
        "output of the block before it: x = block(x)."),
    row("stack_blocks", "only_the_first_block_works", stack_that("return self[0](x)"),
        "Only one block is used, and the others are not. Each block should get the output of the block before it: x "
        "= block(x)."),
    row("stack_blocks", "every_block_gets_x", stack_that("return [block(x) for block in self][-1]"),
        "Only the last block has an effect: every block gets x itself, or the others are not called. Each block "
        "should get the output of the block before it: x = block(x)."),
    row("stack_blocks", "blocks_side_by_side", stack_that("return sum(block(x) for block in self)"),
        "Every block gets x itself, and their outputs are added up. Use the blocks one after the other: each gets "
        "the output of the block before it."),
    row("stack_blocks", "residual_around_each_block",
        stack_that("for block in self:", "    x = x + block(x)", "return x"),
        "x is added around each block. A block already contains its residual connections, so pass on only its output."),
    row("stack_blocks", "norm_after_the_stack",
        stack_that("return nn.functional.layer_norm(super().forward(x), x.shape[-1:])"),
        "A layer norm acts on the output of the last block. A model does have one there, but this function only "
        "stacks blocks."),
    row("stack_blocks", "blocks_in_a_plain_list",
        stack_that("for block in self.blocks:", "    x = block(x)", "return x")
        .replace("return Stack(*(make_block() for _ in range(num_blocks)))",
                 "stack = Stack()\n    stack.blocks = [make_block() for _ in range(num_blocks)]\n    return stack"),
        "The new stack has no parameters: its blocks are in a plain list, or are made only when it is called. "
        "Optimisers, `.double()` and `state_dict` do not find them. Make them at once; nn.ModuleList and "
        "nn.Sequential register them."),
    row("stack_blocks", "a_function_instead_of_a_module",
        replace("return ", "stack = ")
        .replace("range(num_blocks)))", "range(num_blocks)))\n    return lambda x: stack(x)"),
        "The result is a function. It works, but it has no parameters, no training mode and no `.to(device)`: make a "
        "module of the blocks."),
    row("stack_blocks", "module_list_returned", replace("nn.Sequential(*", "nn.ModuleList("),
        "The result is an nn.ModuleList. It contains modules, but does not call them; nn.Sequential calls one after "
        "the other."),
    row("stack_blocks", "list_returned", replace("nn.Sequential(*", "list("),
        "The result is a list of blocks. A stack is one module that takes x and returns the last block's output."),
    row("stack_blocks", "asterisk_or_call_forgotten", replace("*", ""),
        "nn.Sequential gets something that is not a module: a list, or make_block itself, which makes a block only "
        "when it is called. Pass the modules one by one: nn.Sequential(*blocks)."),
    row("stack_blocks", "make_block_given_an_argument", replace("make_block() for _", "make_block(place) for place"),
        "make_block gets an argument, such as the number of the block. It takes none: make_block()."),
    row("stack_blocks", "make_block_never_called",
        stack_that("for _ in range(num_blocks):", "    x = make_block(x)", "return x")
        .replace("return Stack(*(make_block() for _ in range(num_blocks)))", "return lambda x: Stack()(x)"),
        "make_block itself is used instead of the blocks. It is a function that makes one: call it, make_block()."),
    row("stack_blocks", "blocks_made_in_each_call",
        stack_that("for _ in range(num_blocks):", "    x = make_block()(x)", "return x")
        .replace("*(make_block() for _ in range(num_blocks))", ""),
        "New blocks are made in each call of the stack, and lost after it with everything that they have learned. "
        "Make them once, and store them."),
    row("stack_blocks", "detached_between_blocks",
        stack_that("for block in self:", "    x = block(x.detach())", "return x"),
        "The gradients are cut off in the stack, as if the input of a block were detached, either x or the output of "
        "the block before it. So nothing below it could learn."),
    row("stack_blocks", "stack_detached", stack_that("return super().forward(x).detach()"),
        "The output of the last block is cut off from the gradients, for example by `.detach()` or `.data`, or all "
        "blocks run under `torch.no_grad()`. So neither a block nor anything below the stack could learn."),
    row("stack_blocks", "x_changed_by_the_stack",
        stack_that("output = super().forward(x)", "with torch.no_grad():", "    x.copy_(output)", "return output"),
        CHANGED),
    # gpt2_parameter_count
    row("gpt2_parameter_count", "last_norm_forgotten", replace("block + norm", "block"),
        "The norm after the last block is missing. In a pre-norm model nothing has normalised the last sum, so one "
        "more norm follows it."),
    row("gpt2_parameter_count", "positions_forgotten", replace("vocab_size + context_length", "vocab_size"),
        "The positions are missing. GPT-2 learns a vector of emb_dim numbers for each of context_length positions. "
        "Only sines and cosines would need none."),
    row("gpt2_parameter_count", "output_layer_counted",
        replace("vocab_size + context_length", "2 * vocab_size + context_length"),
        "The output layer is counted too. It is tied: it uses the transposed matrix of the token embeddings, and has "
        "no parameters of its own."),
    row("gpt2_parameter_count", "output_layer_with_bias_counted",
        replace("(vocab_size + context_length) * emb_dim", "(2 * vocab_size + context_length) * emb_dim + vocab_size"),
        "The output layer is counted too, with a bias for each token. It is tied to the token embeddings and has no "
        "bias, so it adds nothing."),
    row("gpt2_parameter_count", "embeddings_forgotten", replace("embeddings + num_layers", "num_layers"),
        "No embedding is counted, neither of tokens nor of positions. Both tables have emb_dim learned numbers in "
        "each row."),
    row("gpt2_parameter_count", "tokens_forgotten", replace("vocab_size + context_length", "context_length"),
        "The token embeddings are missing. Each of vocab_size tokens has emb_dim numbers. The output layer shares "
        "them, but they must be counted once."),
    row("gpt2_parameter_count", "three_biases_forgotten",
        replace("4 * (emb_dim * emb_dim + emb_dim)", "4 * emb_dim * emb_dim + emb_dim"),
        "Three biases of emb_dim numbers are missing in each block. GPT-2 has one for queries, for keys and for "
        "values, unlike the book's attention. Or the bias of the hidden layer has the wrong size: it has 4 · emb_dim "
        "numbers."),
    row("gpt2_parameter_count", "four_biases_forgotten", replace("emb_dim * emb_dim + emb_dim", "emb_dim * emb_dim"),
        "4 · emb_dim numbers are missing in each block: the four biases of attention, or the bias of the hidden "
        "layer with one number for each output, or both norms, each with a scale and a shift."),
    row("gpt2_parameter_count", "no_biases_in_feed_forward",
        replace("hidden + hidden", "hidden").replace("hidden * emb_dim + emb_dim", "hidden * emb_dim"),
        "The feed-forward has no bias in this count. Its layers have 4 · emb_dim and emb_dim outputs, and a bias for "
        "each."),
    row("gpt2_parameter_count", "one_bias_forgotten", replace("hidden * emb_dim + emb_dim", "hidden * emb_dim"),
        "A bias of emb_dim numbers is missing in each block: that of the attention's output layer, or that of the "
        "feed-forward's second layer."),
    row("gpt2_parameter_count", "no_biases_at_all",
        replace("* emb_dim + emb_dim", "* emb_dim", times=2).replace("hidden + hidden", "hidden"),
        "No layer has a bias in this count. In GPT-2 all six layers of a block have one, which is the default of "
        "nn.Linear."),
    row("gpt2_parameter_count", "one_norm_in_a_block", replace("2 * norm", "norm"),
        "2 · emb_dim numbers are missing in each block: one of the two norms, which has a scale and a shift, or two "
        "biases of emb_dim numbers."),
    row("gpt2_parameter_count", "norms_without_shifts", replace("2 * emb_dim", "emb_dim"),
        "Each norm has only a scale in this count. It has a shift too: 2 · emb_dim numbers."),
    row("gpt2_parameter_count", "norms_forgotten", replace("2 * emb_dim", "0"),
        "No norm is counted. Each norm has a scale and a shift for each feature. There are two in every block and "
        "one at the end."),
    row("gpt2_parameter_count", "last_norm_in_every_block",
        replace("2 * norm", "3 * norm").replace("block + norm", "block"),
        "Each block has a third norm in this count, and no norm follows the last block. The last norm comes only "
        "once."),
    row("gpt2_parameter_count", "attention_output_forgotten", replace("4 * (emb_dim", "3 * (emb_dim"),
        "The attention's output layer is missing. After queries, keys and values there is a fourth layer, which "
        "combines the heads."),
    row("gpt2_parameter_count", "one_layer_for_queries_keys_values", replace("4 * (emb_dim", "2 * (emb_dim"),
        "Queries, keys and values are counted as one layer. If one product computes all three, its matrix is three "
        "times as wide."),
    row("gpt2_parameter_count", "attention_forgotten", replace("attention + ", ""),
        "4 · emb_dim² weights and 4 · emb_dim biases are missing in each block: those of attention, with its four "
        "layers from emb_dim to emb_dim, or those of the feed-forward's first layer."),
    row("gpt2_parameter_count", "feed_forward_of_one_layer", replace(" + (hidden * emb_dim + emb_dim)", ""),
        "The feed-forward is counted as one layer. It goes to 4 · emb_dim and back again, so there are two layers of "
        "the same size."),
    row("gpt2_parameter_count", "feed_forward_not_expanded", replace("4 * emb_dim", "emb_dim"),
        "The feed-forward's hidden layer is only emb_dim wide in this count. It is four times as wide."),
    row("gpt2_parameter_count", "rule_of_thumb",
        replace("embeddings + num_layers * block + norm", "12 * num_layers * emb_dim**2 + vocab_size * emb_dim"),
        "This is the rule of thumb, 12 · layers · emb_dim² and the token embeddings. It is nearly correct; an exact "
        "count has biases, norms and positions too."),
    row("gpt2_parameter_count", "one_block_counted", replace("num_layers * ", ""),
        "Only one block is counted. Each block has its own parameters: multiply by num_layers."),
    row("gpt2_parameter_count", "sizes_of_gpt2", replace("vocab_size + context_length", "50257 + 1024"),
        "vocab_size and context_length are not used: GPT-2's own numbers are fixed. They are only the defaults, and "
        "the caller may give others."),
    row("gpt2_parameter_count", "another_vocabulary", replace("50257", "50256"),
        "The default of vocab_size is wrong. GPT-2 has 50,257 tokens: 256 bytes, 50,000 merges, and a token for the "
        "end of a text."),
    row("gpt2_parameter_count", "another_context", replace("1024", "512"),
        "The default of context_length is wrong. GPT-2 reads up to 1,024 tokens; the first GPT had 512."),
    row("gpt2_parameter_count", "a_float",
        replace("embeddings + num_layers * block + norm", "float(embeddings + num_layers * block + norm)"),
        "The result is a float. A count is an integer: use `//` instead of `/`, and int instead of a power or a mean."),
    row("gpt2_parameter_count", "in_millions",
        replace("embeddings + num_layers * block + norm", "(embeddings + num_layers * block + norm) / 1e6"),
        "The result is in millions. Return the exact number of parameters."),
    row("gpt2_parameter_count", "as_text",
        replace("embeddings + num_layers * block + norm", 'f"{embeddings + num_layers * block + norm:,}"'),
        "The result is text. Commas and letters are for printing; return the number, as an int."),
]
# fmt: on

# Not a row, because the norms must be nn.LayerNorm, which fails for another dtype. A substitute can replace them.
LayerNorm = nn.LayerNorm


@misconception(
    "TransformerBlock",
    "x is made float32, so it does not match float64 modules. Keep the dtype of x.",
)
class x_made_float32_in_the_block(nn.Module):
    def __init__(self, attention: nn.Module, feed_forward: nn.Module, emb_dim: int, dropout: float) -> None:
        super().__init__()
        self.attention, self.feed_forward = attention, feed_forward
        self.norm1, self.norm2 = LayerNorm(emb_dim), LayerNorm(emb_dim)
        self.dropout = nn.Dropout(dropout)

    def forward(self, x: Tensor) -> Tensor:
        x = x.float()
        x = x + self.dropout(self.attention(self.norm1(x)))
        return x + self.dropout(self.feed_forward(self.norm2(x)))
