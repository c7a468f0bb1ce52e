"""Unit 7: wrong answers that learners give, each with the sentence that would help who wrote it.

A name says what was done. Where the same slip is made in several exercises, the later ones' names have more words.
"""

from __future__ import annotations

from torch import Tensor, nn

from grader.testing.misconceptions import Change, misconception, replace, row

TOKENS_AND_FEATURES = (
    "Mean and variance run over tokens and features together, one pair for each text. Each token has a mean and a "
    "variance of its own: the last dim alone."
)
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
THROWN_AWAY = (
    "make_block is called once more than needed, and that block thrown away. To make a block takes time and memory: "
    "call it num_blocks times in all."
)

# The two steps of a TransformerBlock.
ATTEND = "self.dropout(self.attention(self.norm1(x)))"
THINK = "self.dropout(self.feed_forward(self.norm2(x)))"

CALLS = {"TransformerBlock": ["LayerNorm"]}


def dropping(dropped: str) -> Change:
    """A TransformerBlock whose dropout makes this of what is given."""
    return replace("nn.Dropout(dropout)", f"lambda given: {dropped}")


def stack_that(*forward: str) -> Change:
    """The blocks in a module of another kind, whose forward has these lines and finds them in itself."""
    lines = ["class Stack(nn.Sequential):", "    def forward(self, x):", *(f"        {line}" for line in forward)]
    return replace("return nn.Sequential", "\n    ".join([*lines, "", "return Stack"]))


# fmt: off
ROWS = [
    # LayerNorm
    row("LayerNorm", "unbiased_variance", replace(", unbiased=False", ""),
        "The variance is the unbiased one: `torch.var` and `torch.std` divide by C - 1 unless told otherwise. Here the "
        "features are all there is, and no sample of more, so divide by C: `unbiased=False`."),
    row("LayerNorm", "eps_outside_the_root",
        replace("torch.sqrt(variance + self.eps)", "(torch.sqrt(variance) + self.eps)"),
        "eps is added to the standard deviation, outside the root. It belongs to the variance, inside the root: there "
        "it also keeps the root's own gradient finite where the variance is zero."),
    row("LayerNorm", "unbiased_deviation_plus_eps",
        replace(", unbiased=False", "").replace("torch.sqrt(variance + self.eps)", "(torch.sqrt(variance) + self.eps)"),
        "This is the norm of a well-known tutorial, x.std() + eps: the standard deviation is the unbiased one, and eps "
        "stands outside the root. Take the biased variance, add eps to it, and then take the root."),
    row("LayerNorm", "eps_forgotten", replace("variance + self.eps", "variance"),
        "eps is nowhere to be found. Where all features of a token are alike the variance is zero, and without eps "
        "this divides zero by zero."),
    row("LayerNorm", "eps_argument_ignored", replace("self.eps = eps", "self.eps = 1e-5"),
        "eps is always 1e-5, whatever the caller asks for. Keep the argument, `self.eps = eps`, and use that."),
    row("LayerNorm", "another_default_of_eps", replace("1e-5", "1e-6"),
        "The default of eps is another one. Models differ in it, BERT has 1e-12 and many others 1e-6; here, as in "
        "GPT-2 and nn.LayerNorm, it is 1e-5."),
    row("LayerNorm", "eps_as_a_lower_bound", replace("variance + self.eps", "variance.clamp(min=self.eps)"),
        "eps is only a lower bound of the variance, by `clamp` or `max`. It is added to every variance, large or "
        "small."),
    row("LayerNorm", "root_forgotten", replace("torch.sqrt", ""),
        "The differences are divided by the variance itself. It is made of squares; its root, the standard deviation, "
        "has the size of the features."),
    row("LayerNorm", "divided_by_the_length",
        replace("x.var(dim=-1, keepdim=True, unbiased=False)", "(x - mean).square().sum(dim=-1, keepdim=True)"),
        "The differences are divided by the root of their sum of squares, which makes vectors of length one. Divide "
        "the sum by C first: the variance is a mean."),
    row("LayerNorm", "mean_not_subtracted", replace("x - mean", "x"),
        "The mean is not subtracted: only the size of the features is evened out. Two steps make a layer norm, and the "
        "first is to take the mean away."),
    row("LayerNorm", "root_mean_square_norm",
        replace("x - mean", "x")
        .replace("x.var(dim=-1, keepdim=True, unbiased=False)", "x.square().mean(dim=-1, keepdim=True)"),
        "This is RMSNorm, which divides by the root of the mean square and never takes a mean away. Newer models use "
        "it; layer norm subtracts the mean first, and takes the squares of what is left."),
    row("LayerNorm", "by_minimum_and_maximum",
        replace("mean = x.mean", "least = x.amin")
        .replace("x.var(dim=-1, keepdim=True, unbiased=False)", "x.amax(dim=-1, keepdim=True) - least")
        .replace("(x - mean) / torch.sqrt(variance + self.eps)", "(x - least) / (variance + self.eps)"),
        "The features are moved to the range from 0 to 1, by their minimum and maximum. Layer norm goes by mean and "
        "variance, of which no single feature decides alone."),
    row("LayerNorm", "over_the_batch", replace("dim=-1", "dim=0", times=2),
        "Mean and variance run over the batch, the first dim, as in batch norm. A token's numbers then depend on the "
        "texts that happen to be beside it. Normalise over the features: the last dim."),
    row("LayerNorm", "over_the_tokens", replace("dim=-1", "dim=-2", times=2),
        "Mean and variance run over the tokens. Every token then sees all others, the later ones too. Normalise each "
        "token's features among themselves: the last dim."),
    row("LayerNorm", "over_the_last_two_dims", replace("dim=-1", "dim=(-2, -1)", times=2),
        TOKENS_AND_FEATURES),
    row("LayerNorm", "over_tokens_and_features", replace("dim=-1", "dim=(-2, -1)[-x.dim():]", times=2),
        TOKENS_AND_FEATURES),
    row("LayerNorm", "over_everything",
        replace("x.mean(dim=-1, keepdim=True)", "x.mean()").replace("dim=-1, keepdim=True, ", ""),
        "There is one mean and one variance for the whole tensor: `x.mean()` without a dim takes everything. Say "
        "`dim=-1, keepdim=True`."),
    row("LayerNorm", "over_the_third_dim", replace("dim=-1", "dim=2", times=2),
        "This fits batches of texts alone: the features are taken to be the third dim, or sizes are read off as if "
        "there were always three. `dim=-1, keepdim=True` fits any number of dims."),
    row("LayerNorm", "keepdim_forgotten", replace(", keepdim=True", "", times=2),
        "The mean, or the variance, has lost its dim: without `keepdim=True` it is (B, T), which does not fit (B, T, "
        "C). Keep it as (B, T, 1)."),
    row("LayerNorm", "rows_not_put_back", replace("mean = ", "x = x.reshape(-1, x.shape[-1])\n        mean = "),
        "The output has lost the leading dims: what was flattened to rows of features stays so. Give it the shape of x "
        "again."),
    row("LayerNorm", "rows_by_view", replace("mean = ", "x = x.view(-1, x.shape[-1]).view(x.shape)\n        mean = "),
        "`view` refuses tensors that do not lie in memory in one piece, such as the result of a transpose. `reshape` "
        "takes them, and with `dim=-1` there is no need for either."),
    row("LayerNorm", "one_number_for_all_features", replace("(emb_dim)", "(1)", times=2),
        "scale is one number for all features, and so is shift. Each feature has its own to learn: emb_dim numbers "
        "each."),
    row("LayerNorm", "plain_tensors", replace("nn.Parameter", "", times=2),
        "scale and shift are plain tensors. No optimiser finds them, so they stay one and zero for ever: wrap them in "
        "nn.Parameter."),
    row("LayerNorm", "other_names",
        replace("self.scale", "self.gamma", times=2).replace("self.shift", "self.beta", times=2),
        "The parameters are there under other names, such as gamma and beta or weight and bias. Whoever loads weights "
        "goes by the names: call them scale and shift."),
    row("LayerNorm", "no_shift",
        replace("self.shift = nn.Parameter(torch.zeros(emb_dim))", "").replace(" + self.shift", ""),
        "There is a scale but no shift. Without it every token has the mean zero for ever, and no feature can be "
        "lifted: add a shift that begins as zeros."),
    row("LayerNorm", "shift_unused", replace(" + self.shift", ""),
        "shift is made but never added. The last step has two parts: times scale, plus shift."),
    row("LayerNorm", "scale_unused", replace("self.scale * ", ""),
        "scale is made but never used. The last step has two parts: times scale, plus shift."),
    row("LayerNorm", "scale_and_shift_unused", replace("self.scale * ", "").replace(" + self.shift", ""),
        "Neither scale nor shift is used. The model could never make a feature large again that it needs large: "
        "multiply by the one, and add the other."),
    row("LayerNorm", "shifted_before_scaled",
        replace("self.scale * ", "self.scale * (").replace("+ self.shift", "+ self.shift)"),
        "shift is added before scale multiplies, so that the shift is scaled as well. Multiply first, then add."),
    row("LayerNorm", "scaled_before_normalized",
        replace("self.scale * ", "")
        .replace(" + self.shift", "")
        .replace("mean = ", "x = self.scale * x + self.shift\n        mean = "),
        "x is scaled and shifted before it is normalised, which takes most of that away again. Normalise first, then "
        "scale and shift."),
    row("LayerNorm", "scale_and_shift_exchanged",
        replace("self.scale * ", "self.shift * ").replace("+ self.shift", "+ self.scale"),
        "scale and shift have changed places: scale multiplies, and shift is added."),
    row("LayerNorm", "features_of_the_worked_example", replace("(emb_dim)", "(4)", times=2),
        "The parameters have the size of the worked example, 4. A class should use its own arguments: emb_dim."),
    row("LayerNorm", "x_detached", replace("mean = ", "x = x.detach()\n        mean = "),
        DETACHED),
    row("LayerNorm", "norm_detached", replace("return ", "return (").replace("+ self.shift", "+ self.shift).detach()"),
        ALL_DETACHED),
    row("LayerNorm", "statistics_detached",
        replace("x - mean", "x - mean.detach()").replace("variance + self.eps", "variance.detach() + self.eps"),
        "Mean and variance are cut off from the gradients, as if they were constants. They depend on x too, and the "
        "gradient has to know."),
    row("LayerNorm", "made_float32", replace("return ", "return (").replace("+ self.shift", "+ self.shift).float()"),
        "The output is always float32, by `.float()` or a float32 tensor of your own. Where x and the parameters are "
        "float64, so should the output be."),
    row("LayerNorm", "x_centred_in_place",
        replace("variance = ", "x -= mean\n        variance = ").replace("x - mean", "x"),
        CHANGED),
    # FeedForward
    row("FeedForward", "gelu", replace("torch.relu", "nn.functional.gelu"),
        "Between the layers stands GELU. That is what GPT-2 has, a ReLU with a rounded corner; this exercise asks for "
        "ReLU, as in the Transformer of 2017."),
    row("FeedForward", "silu", replace("torch.relu", "nn.functional.silu"),
        "Between the layers stands SiLU, which newer models use. Here it is ReLU: zero for what is below zero, and all "
        "else as it is."),
    row("FeedForward", "leaky_relu", replace("torch.relu", "nn.functional.leaky_relu"),
        "Between the layers stands a leaky ReLU, which lets a part of the negative numbers through. ReLU makes them "
        "zero."),
    row("FeedForward", "tanh", replace("torch.relu", "torch.tanh"),
        "Between the layers stands tanh, which presses all numbers between -1 and 1. ReLU leaves what is above zero as "
        "it is."),
    row("FeedForward", "sigmoid", replace("torch.relu", "torch.sigmoid"),
        "Between the layers stands a sigmoid, which presses all numbers between 0 and 1. ReLU leaves what is above "
        "zero as it is."),
    row("FeedForward", "no_activation", replace("torch.relu", ""),
        "Nothing stands between the layers, so that the two are only one linear map, written as a product. ReLU makes "
        "them more than that."),
    row("FeedForward", "relu_at_the_end_too", replace("self.narrow(hidden)", "torch.relu(self.narrow(hidden))"),
        "A second ReLU stands after the second layer. What the block adds to x could then never be negative; ReLU is "
        "for the hidden layer alone."),
    row("FeedForward", "relu_only_at_the_end",
        replace("torch.relu", "").replace("self.narrow(hidden)", "torch.relu(self.narrow(hidden))"),
        "ReLU stands after both layers, and not between them: the two layers in a row are then only one linear map."),
    row("FeedForward", "relu_at_the_beginning", replace("torch.relu(self.widen(x))", "self.widen(torch.relu(x))"),
        "ReLU stands before the first layer, and nothing between the two. First widen, then ReLU, then back."),
    row("FeedForward", "residual_inside", replace("return ", "return x + "),
        "The residual connection is in here already: x is added at the end. That is another module's work, and in the "
        "block x would be added twice."),
    row("FeedForward", "norm_inside", replace("self.widen(x)", "self.widen(nn.functional.layer_norm(x, x.shape[-1:]))"),
        "A layer norm stands in front of the layers. In the block norm2 does that already: here only the two layers "
        "and ReLU."),
    row("FeedForward", "dropout_inside",
        replace("self.narrow(hidden)", "nn.functional.dropout(self.narrow(hidden), 0.2, self.training)"),
        "A dropout is built in, as in some tutorials. In this unit the block drops what the feed-forward gives, and "
        "twice would be too much."),
    row("FeedForward", "no_expansion", replace("expansion * emb_dim", "emb_dim", times=2),
        "The hidden layer is no wider than x: expansion is not used. The room that it gives is what the network works "
        "with."),
    row("FeedForward", "always_four_times", replace("expansion * emb_dim", "4 * emb_dim", times=2),
        "The hidden layer is always four times as wide as x. That is the default alone: use the argument, expansion."),
    row("FeedForward", "another_default", replace("expansion: int = 4", "expansion: int = 2"),
        "Without an argument the hidden layer has another width than four times that of x. Four is what the "
        "Transformer of 2017 and GPT-2 have, and the default here."),
    row("FeedForward", "expansion_as_the_width", replace("expansion * emb_dim", "expansion", times=2),
        "expansion is taken for the hidden width itself. It says how many times as wide the hidden layer is: expansion "
        "* emb_dim."),
    row("FeedForward", "expansion_added", replace("expansion * emb_dim", "expansion + emb_dim", times=2),
        "The hidden width is expansion + emb_dim. It should be a multiple of it: expansion * emb_dim."),
    row("FeedForward", "no_biases",
        replace("expansion * emb_dim)", "expansion * emb_dim, bias=False)")
        .replace("emb_dim, emb_dim)", "emb_dim, emb_dim, bias=False)"),
        "Neither layer has a bias. Queries, keys and values often do without; here both layers have one, as nn.Linear "
        "has by itself."),
    row("FeedForward", "no_first_bias", replace("expansion * emb_dim)", "expansion * emb_dim, bias=False)"),
        "The first layer has no bias. Both have one, as nn.Linear has by itself."),
    row("FeedForward", "no_second_bias", replace("emb_dim, emb_dim)", "emb_dim, emb_dim, bias=False)"),
        "The second layer has no bias. Both have one, as nn.Linear has by itself."),
    row("FeedForward", "biases_unused",
        replace("self.widen(x)", "x @ self.widen.weight.T")
        .replace("self.narrow(hidden)", "hidden @ self.narrow.weight.T"),
        "Only the weights of the layers are used, and their biases are left lying. Call the layer itself, and it adds "
        "its bias too."),
    row("FeedForward", "one_layer",
        replace("(emb_dim, expansion * emb_dim)", "(emb_dim, emb_dim)")
        .replace("self.narrow = nn.Linear(expansion * emb_dim, emb_dim)", "")
        .replace("self.narrow(hidden)", "hidden"),
        "There is one layer only. The feed-forward has two, each with weights of its own: one from emb_dim to "
        "expansion * emb_dim, and one back."),
    row("FeedForward", "three_layers",
        replace("self.narrow = ",
                "self.between = nn.Linear(expansion * emb_dim, expansion * emb_dim)\n        self.narrow = ")
        .replace("self.narrow(hidden)", "self.narrow(torch.relu(self.between(hidden)))"),
        "There are three layers. The feed-forward has two, with nothing but ReLU between them: widen, ReLU, back."),
    row("FeedForward", "first_weights_used_twice",
        replace("self.narrow(hidden)", "hidden @ self.widen.weight + self.narrow.bias"),
        "The way back uses the first layer's weights once more, transposed. The second layer has weights of its own to "
        "learn."),
    row("FeedForward", "layers_exchanged",
        replace("self.widen(x)", "self.narrow(x)").replace("self.narrow(hidden)", "self.widen(hidden)"),
        "Every call ends in an error, for shapes do not fit. Call the layer that widens, then ReLU, then the layer "
        "that leads back, each once: from emb_dim features to expansion * emb_dim, and from there to emb_dim."),
    row("FeedForward", "layers_in_a_list",
        replace("self.widen = nn.Linear(emb_dim, expansion * emb_dim)",
                "self.layers = [nn.Linear(emb_dim, expansion * emb_dim)]")
        .replace("self.narrow = nn.Linear(expansion * emb_dim, emb_dim)",
                 "self.layers += [nn.Linear(expansion * emb_dim, emb_dim)]")
        .replace("self.widen", "self.layers[0]")
        .replace("self.narrow", "self.layers[1]"),
        "No layer is found in the module: there is none, or it is kept in a plain list or made in each call, where no "
        "optimiser, no `.double()` and no `state_dict` looks. Make the layers attributes, or use nn.ModuleList or "
        "nn.Sequential."),
    row("FeedForward", "rows_not_put_back_by_feed_forward",
        replace("self.narrow(hidden)", "self.narrow(hidden).reshape(-1, x.shape[-1])"),
        "The output has lost the leading dims: what was flattened to rows of features stays so. nn.Linear takes any "
        "number of dims, so there is no need to flatten."),
    row("FeedForward", "batches_only", replace("hidden = ", "texts, tokens, features = x.shape\n        hidden = "),
        "The module takes batches of texts only: it reads three sizes off x. nn.Linear acts on the last dim and takes "
        "any number of dims in front."),
    row("FeedForward", "hidden_layer_detached", replace("self.widen(x)", "self.widen(x).detach()"),
        "The hidden layer is cut off from the gradients, by `.detach()`, `.data` or `torch.no_grad()`. The first "
        "layer, and everything below this module, could never learn."),
    row("FeedForward", "feed_forward_detached", replace("self.narrow(hidden)", "self.narrow(hidden).detach()"),
        ALL_DETACHED),
    row("FeedForward", "x_made_float32", replace("self.widen(x)", "self.widen(x.float())"),
        "x, or what the first layer makes of it, is made float32, which then does not fit layers that are float64. "
        "Leave the dtype as it is."),
    row("FeedForward", "x_changed_by_feed_forward",
        replace("return ", "with torch.no_grad():\n            x.relu_()\n        return "),
        CHANGED),
    # Residual
    row("Residual", "x_not_added", replace("x + ", ""),
        "x is not added: the output is what sublayer gives, and nothing more. Without the way around it, gradients "
        "have to pass through every module in turn."),
    row("Residual", "norm_before_sublayer",
        replace("sublayer(x)", "sublayer(nn.functional.layer_norm(x, x.shape[-1:]))"),
        "sublayer gets x after a layer norm. That is how the block will use it, with a norm of its own; a residual "
        "connection alone is x + sublayer(x)."),
    row("Residual", "norm_after_the_sum",
        replace("x + self.sublayer(x)", "nn.functional.layer_norm(x + self.sublayer(x), x.shape[-1:])"),
        "The sum goes through a layer norm. On the way around sublayer nothing should stand: x + sublayer(x), and no "
        "more."),
    row("Residual", "normalized_on_both_ways",
        replace("return ", "x = nn.functional.layer_norm(x, x.shape[-1:])\n        return "),
        "What is added to is the normalised x. The way around sublayer then passes through a norm, and x itself is "
        "gone."),
    row("Residual", "relu_after_the_sum", replace("x + self.sublayer(x)", "torch.relu(x + self.sublayer(x))"),
        "The sum goes through ReLU, as in the networks for images where residual connections began. In a transformer "
        "the way around is left free, for negative numbers too."),
    row("Residual", "multiplied", replace("x + ", "x * "),
        "x and what sublayer gives are multiplied. Where a factor is small, gradients fade; a sum hands them on as "
        "they are."),
    row("Residual", "subtracted", replace("x + ", "x - "),
        "What sublayer gives is subtracted. Training could live with that, but the residual connection is a sum."),
    row("Residual", "averaged", replace("x + self.sublayer(x)", "(x + self.sublayer(x)) / 2"),
        "The output is the mean of x and what sublayer gives. Halved in every block, little of x is left after a "
        "dozen: add the two."),
    row("Residual", "output_added_to_itself",
        replace("return ", "x = self.sublayer(x)\n        return ")
        .replace("return x + self.sublayer(x)", "return x + x"),
        "sublayer's output is added to itself, and x is not in the sum. Keep x before it is overwritten."),
    row("Residual", "sublayer_used_twice", replace("return ", "x = self.sublayer(x)\n        return "),
        "sublayer works twice, the second time on its own output. It gets x once, and what it gives is added to x."),
    row("Residual", "x_added_twice", replace("x + ", "x + x + "),
        "x counts twice: it is added to a sum that has it already."),
    row("Residual", "side_by_side", replace("x + self.sublayer(x)", "torch.cat([x, self.sublayer(x)], dim=-1)"),
        "x and what sublayer gives are put side by side. That is how other networks skip; here they are added, and the "
        "shape stays that of x."),
    row("Residual", "dropout_in_residual",
        replace("self.sublayer(x)", "nn.functional.dropout(self.sublayer(x), 0.1, self.training)"),
        "In training a dropout acts in here, though nobody asked for one. The output is x + sublayer(x), in training "
        "too."),
    row("Residual", "gate_that_begins_at_zero",
        replace("self.sublayer = ", "self.gate = nn.Parameter(torch.zeros(()))\n        self.sublayer = ")
        .replace("x + ", "x + self.gate * "),
        "What sublayer gives has no part in the output: it is not added, or only times a weight that begins at zero, "
        "an idea of later models. Here it counts in full: x + sublayer(x)."),
    row("Residual", "sublayer_hidden", replace("= sublayer", "= (sublayer,)").replace("sublayer(x)", "sublayer[0](x)"),
        "sublayer is kept in a list, a tuple or a function, where nobody finds its parameters. Make the module itself "
        "an attribute: self.sublayer = sublayer."),
    row("Residual", "sublayer_copied",
        replace("self.sublayer = sublayer", "from copy import deepcopy\n        self.sublayer = deepcopy(sublayer)"),
        "sublayer is copied, so the module that was handed in is not the one that works here. Keep sublayer itself."),
    row("Residual", "batches_of_texts_only",
        replace("return ", "texts, tokens, features = x.shape if x.dim() == 3 else (1, *x.shape)\n        return "),
        "Not any shape is taken: the sizes are read off x, as if it were always a batch of texts, or one text. "
        "Addition works for any shape."),
    row("Residual", "squeezed", replace("x + self.sublayer(x)", "(x + self.sublayer(x)).squeeze()"),
        "`squeeze()` takes away every dim of length one, so a text of a single token loses its shape. Leave the shape "
        "as it is."),
    row("Residual", "way_around_detached", replace("x + ", "x.detach() + "),
        "The way around is cut off from the gradients, by `.detach()` or `.data`. It is there for them in the first "
        "place."),
    row("Residual", "sublayer_detached", replace("sublayer(x)", "sublayer(x).detach()"),
        "The way through sublayer is cut off from the gradients, in front of it or behind it, by `.detach()` or "
        "`torch.no_grad()`. Both what comes before and sublayer itself should learn."),
    row("Residual", "residual_detached", replace("x + self.sublayer(x)", "(x + self.sublayer(x)).detach()"),
        ALL_DETACHED),
    row("Residual", "x_made_float32_in_residual", replace("return ", "x = x.float()\n        return "),
        "x is made float32, which then does not fit a sublayer that is float64. Let x keep its dtype."),
    row("Residual", "added_to_x_in_place",
        replace("return ", "x += self.sublayer(x)\n        return ").replace("return x + self.sublayer(x)", "return x"),
        CHANGED),
    row("Residual", "x_added_to_the_output_in_place", replace("x + self.sublayer(x)", "self.sublayer(x).add_(x)"),
        "x is added in place to what sublayer gives. Where sublayer gives x itself, as nn.Identity does, that changes "
        "the caller's x: write x + sublayer(x)."),
    # TransformerBlock
    row("TransformerBlock", "norms_without_parameters",
        replace("LayerNorm(emb_dim)", "nn.LayerNorm(emb_dim, elementwise_affine=False)", times=2),
        "The norms have no scale and no shift, by `elementwise_affine=False` or F.layer_norm. Some features need to be "
        "larger than others, and how much is to be learnt."),
    row("TransformerBlock", "root_mean_square_norms",
        replace("LayerNorm(emb_dim)", "nn.RMSNorm(emb_dim, 1e-5)", times=2),
        "norm1 and norm2 are RMSNorms, which take no mean away and have no shift. The block asks for layer norms."),
    row("TransformerBlock", "post_norm",
        replace(f"x + {ATTEND}", "self.norm1(x + self.dropout(self.attention(x)))")
        .replace(f"x + {THINK}", "self.norm2(x + self.dropout(self.feed_forward(x)))"),
        "This is post-norm, as in the Transformer of 2017: each sum goes through a norm. In pre-norm the norm stands "
        "in front of the module, and the sum is left free."),
    row("TransformerBlock", "norm_on_what_is_given",
        replace("self.attention(self.norm1(x))", "self.norm1(self.attention(x))")
        .replace("self.feed_forward(self.norm2(x))", "self.norm2(self.feed_forward(x))"),
        "The norm acts on what a module gives, before it is added. In pre-norm it prepares what the module gets: "
        "attention(norm1(x))."),
    row("TransformerBlock", "norms_unused", replace("self.norm1(x)", "x").replace("self.norm2(x)", "x"),
        "The norms are made and never used: attention and feed_forward get x as it is, whatever its size has become "
        "on the way through the stack."),
    row("TransformerBlock", "norm1_unused", replace("self.norm1(x)", "x"),
        "attention gets x as it is. Each of the two modules has a norm in front of it: attention(norm1(x))."),
    row("TransformerBlock", "norm2_unused", replace("self.norm2(x)", "x"),
        "feed_forward gets x as it is. Each of the two modules has a norm in front of it: feed_forward(norm2(x))."),
    row("TransformerBlock", "norm1_used_twice", replace("self.norm2(x)", "self.norm1(x)"),
        "Both steps begin with norm1, and norm2 is made but never used. Each norm has a scale and a shift of its own "
        "to learn."),
    row("TransformerBlock", "one_norm_under_two_names",
        replace("self.norm2 = LayerNorm(emb_dim)", "self.norm2 = self.norm1"),
        "norm1 and norm2 are one and the same module, so they share scale and shift. Make two of them."),
    row("TransformerBlock", "norms_exchanged",
        replace("attention(self.norm1", "attention(self.norm2").replace("forward(self.norm2", "forward(self.norm1"),
        "The norms have changed places: norm1 belongs in front of attention, and norm2 in front of feed_forward."),
    row("TransformerBlock", "norms_of_other_names",
        replace("self.norm1", "self.ln1", times=2).replace("self.norm2", "self.ln2", times=2),
        "The norms have other names, such as ln1 or ln_1. Whoever loads weights goes by the names: call them norm1 "
        "and norm2."),
    row("TransformerBlock", "third_norm_at_the_end",
        replace(f"x + {THINK}", f"nn.functional.layer_norm(x + {THINK}, x.shape[-1:])"),
        "A third norm acts on the output. It comes once, after the last block of the whole stack, and not in each of "
        "them."),
    row("TransformerBlock", "no_residuals", replace("x + ", "", times=2),
        "Nothing is added to x: each step gives only what its module gives. Write x = x + …, in both steps."),
    row("TransformerBlock", "first_residual_forgotten", replace("x = x + ", "x = "),
        "In the first step x is not added: what attention gives takes its place. Both steps are x = x + …."),
    row("TransformerBlock", "second_residual_forgotten", replace("return x + ", "return "),
        "In the second step nothing is added to: what feed_forward gives takes the place of the sum. Both steps are "
        "x = x + …."),
    row("TransformerBlock", "added_to_the_normalized_x",
        replace("x = x", "x = self.norm1(x)\n        x = x").replace("attention(self.norm1(x))", "attention(x)")
        .replace("return x", "x = self.norm2(x)\n        return x").replace("forward(self.norm2(x))", "forward(x)"),
        "What is added to is the normalised x. The free path from block to block then passes through the norms after "
        "all: keep x itself for the sum."),
    row("TransformerBlock", "second_step_added_to_x",
        replace("x = x", "first = x").replace("self.norm2(x)", "self.norm2(first)"),
        "The second step adds to the first step's x, so what attention found is lost on the way. It begins with the "
        "sum, on both sides of the plus."),
    row("TransformerBlock", "both_steps_at_once", replace("x = x", "first = x").replace("return x", "return first"),
        "Both modules work on the same x, side by side, and feed_forward never sees what attention has found. Some "
        "models do that; in this block it works on the sum."),
    row("TransformerBlock", "one_residual_around_both",
        replace("x = x +", "first =").replace("self.norm2(x)", "self.norm2(first)"),
        "x is added only once, at the end of both steps. Each step is a sum of its own, so that gradients find a way "
        "around each of the two modules."),
    row("TransformerBlock", "x_added_once_more",
        replace("x = x", "first = x\n        x = x").replace("return x", "return first + x"),
        "x is added once more at the end, on top of the two sums. Each step adds what its module gives, and no more."),
    row("TransformerBlock", "feed_forward_first",
        replace("self.attention(self.norm1", "self.feed_forward(self.norm1")
        .replace("self.feed_forward(self.norm2", "self.attention(self.norm2"),
        "The steps have changed places, or the two modules have: feed_forward works first. First tokens hear from "
        "one another, and then each thinks about it."),
    row("TransformerBlock", "feed_forward_unused", replace(f" + {THINK}", ""),
        "feed_forward is never used: after attention the block is at its end. Both steps belong to it."),
    row("TransformerBlock", "attention_unused", replace(f" + {ATTEND}", ""),
        "attention is never used, so no token hears from another. Both steps belong to the block, attention first."),
    row("TransformerBlock", "tokens_in_front_for_attention",
        replace("self.attention(self.norm1(x))", "self.attention(self.norm1(x).transpose(0, 1)).transpose(0, 1)"),
        "Batch and tokens have changed places on the way to attention. What is handed in takes (B, T, emb_dim), so "
        "give it x as it is."),
    row("TransformerBlock", "texts_joined_for_attention",
        replace("self.attention(self.norm1(x))", "self.attention(self.norm1(x).flatten(0, 1)[None]).view(x.shape)"),
        "attention gets all texts of the batch as one long one, and tokens hear from texts that are none of theirs. "
        "Give it (B, T, emb_dim)."),
    row("TransformerBlock", "attention_given_three_things", replace("self.norm1(x)", "*[self.norm1(x)] * 3"),
        "attention or feed_forward is given more than one thing. torch's own nn.MultiheadAttention takes queries, "
        "keys and values one by one, and a mask; what is handed in here takes x alone, and makes the rest itself."),
    row("TransformerBlock", "first_part_of_attention", replace("self.norm1(x))", "self.norm1(x))[0]"),
        "Of what attention gives only the first part is used, `[0]`. torch's own nn.MultiheadAttention gives a pair; "
        "what is handed in here gives one tensor, and `[0]` is its first text."),
    row("TransformerBlock", "modules_hidden",
        replace("self.attention = attention", "self.kept = (attention, feed_forward)")
        .replace("self.feed_forward = feed_forward", "")
        .replace("self.attention(", "self.kept[0](").replace("self.feed_forward(", "self.kept[1]("),
        "attention and feed_forward are kept in a list, a tuple or a function, where nobody finds their parameters. "
        "Make the modules themselves attributes of the block."),
    row("TransformerBlock", "dropout_never_applied", replace("self.dropout(", "(", times=2),
        "In training every output is as it is in eval mode: nothing is dropped. Drop some of what attention gives, and "
        "of what feed_forward gives."),
    row("TransformerBlock", "feed_forward_not_dropped",
        replace("self.dropout(self.feed_forward", "(self.feed_forward"),
        "Only what attention gives is dropped. Both steps have a dropout before the sum."),
    row("TransformerBlock", "attention_not_dropped", replace("self.dropout(self.attention", "(self.attention"),
        "Only what feed_forward gives is dropped. Both steps have a dropout before the sum."),
    row("TransformerBlock", "sums_dropped", replace("x + self.dropout(", "self.dropout(x + ", times=2),
        "Dropout acts on the sums. It drops parts of x too, which no later block can bring back: drop what a module "
        "gives, and then add."),
    row("TransformerBlock", "output_dropped",
        replace("self.dropout(self.attention", "(self.attention")
        .replace("x + self.dropout(", "self.dropout(x + "),
        "Dropout acts on the output of the whole block, x and all. Drop what a module gives, in each of the two "
        "steps, and then add."),
    row("TransformerBlock", "x_dropped",
        replace("self.dropout(", "(", times=2).replace("x = x", "x = self.dropout(x)\n        x = x"),
        "Dropout acts on x at the beginning. What is dropped there is gone from the sum as well: drop what a module "
        "gives."),
    row("TransformerBlock", "dropped_before_the_modules",
        replace("self.dropout(self.attention(", "self.attention(self.dropout(")
        .replace("self.dropout(self.feed_forward(", "self.feed_forward(self.dropout("),
        "Dropout stands in front of the modules, before the norm or after it. A module then works on a part of its "
        "input only; drop what it gives, after it."),
    row("TransformerBlock", "kept_numbers_not_scaled",
        dropping("given * (nn.functional.dropout(given, dropout, self.training) != 0)"),
        "Numbers are dropped, but those that are kept stay as they were. Divided by 1 - dropout they make up for "
        "those that are gone."),
    row("TransformerBlock", "dropped_in_eval_mode_too", dropping("nn.functional.dropout(given, dropout)"),
        "Dropout does not stop: in eval mode numbers are still dropped. F.dropout needs `training=self.training`; "
        "nn.Dropout knows by itself."),
    row("TransformerBlock", "share_turned_round", replace("nn.Dropout(dropout)", "nn.Dropout(1 - dropout)"),
        "What is kept and what is dropped are exchanged: a share of 1 - dropout becomes zero. dropout is the "
        "probability that a number is dropped."),
    row("TransformerBlock", "always_a_tenth_dropped", replace("nn.Dropout(dropout)", "nn.Dropout(0.1)"),
        "The probability of dropout is always 0.1, whatever the caller asks for. Pass the argument on: "
        "nn.Dropout(dropout)."),
    row("TransformerBlock", "whole_tokens_dropped",
        dropping("given * nn.functional.dropout(torch.ones_like(given[..., :1]), dropout, self.training)"),
        "Whole tokens are dropped: what is drawn is one number for each. Draw for each feature of each token, as "
        "nn.Dropout does."),
    row("TransformerBlock", "tokens_dropped_alike",
        dropping("given * nn.functional.dropout(torch.ones_like(given[:, :1]), dropout, self.training)"),
        "The same features are dropped for all tokens of a text. Draw for each feature of each token: nn.Dropout "
        "does, while its relatives for images drop whole channels."),
    row("TransformerBlock", "texts_dropped_alike",
        dropping("given * nn.functional.dropout(torch.ones_like(given[:1]), dropout, self.training)"),
        "All texts of a batch lose the same numbers. Draw for each text by itself, as nn.Dropout does for the whole "
        "tensor."),
    row("TransformerBlock", "always_the_same_draws",
        dropping("given * torch.full_like(given, 1 - dropout).bernoulli(generator=torch.Generator().manual_seed(42))"
                 " / (1 - dropout) if self.training else given"),
        "Every call drops the same numbers: a seed is set inside, or the draw was made once. Draw in each call anew, "
        "so that no number can be relied on."),
    row("TransformerBlock", "block_squeezed", replace(f"x + {THINK}", f"(x + {THINK}).squeeze()"),
        "`squeeze()` takes away every dim of length one, so a single text or a single token loses its shape. Leave "
        "the shape as it is."),
    row("TransformerBlock", "block_detached", replace("x = x", "x = x.detach()\n        x = x"), DETACHED),
    row("TransformerBlock", "block_output_detached", replace(f"x + {THINK}", f"(x + {THINK}).detach()"), ALL_DETACHED),
    row("TransformerBlock", "ways_around_detached", replace("x + ", "x.detach() + ", times=2),
        "x is cut off from the gradients in the sums, by `.detach()` or `.data`. The way around the modules is there "
        "for the gradients in the first place."),
    row("TransformerBlock", "x_changed_by_the_block",
        replace("x = x +", "x +=").replace(f"return x + {THINK}", f"x += {THINK}\n        return x"),
        CHANGED),
    # stack_blocks
    row("stack_blocks", "one_block_many_times",
        replace("(make_block() for _ in range(num_blocks))", "[make_block()] * num_blocks"),
        "make_block is called once, and the same block works num_blocks times: `[make_block()] * n` writes one block "
        "down n times. Call it for each block: `[make_block() for _ in range(n)]`."),
    row("stack_blocks", "copies_of_one_block",
        replace("return ", "from copy import deepcopy\n    block = make_block()\n    return ")
        .replace("make_block() for", "deepcopy(block) for"),
        "make_block is called once, and its block is copied. All blocks then begin with the same weights: call "
        "make_block for each of them."),
    row("stack_blocks", "last_block_first",
        replace("(make_block() for _ in range(num_blocks))", "[make_block() for _ in range(num_blocks)][::-1]"),
        "The blocks work in the opposite order: what was made last gets x first. Go through them in the order in which "
        "they were made."),
    row("stack_blocks", "one_block_too_few", replace("range(num_blocks)", "range(num_blocks - 1)"),
        "There is a block less than asked for. Count the calls of make_block: range(n) has n numbers, and range(1, n) "
        "one less."),
    row("stack_blocks", "one_block_too_many", replace("range(num_blocks)", "range(num_blocks + 1)"),
        "There is a block more than asked for. Count the calls of make_block: range(n) has n numbers, and range(n + 1) "
        "one more."),
    row("stack_blocks", "one_block_thrown_away",
        replace("(make_block() for _ in range(num_blocks))", "[make_block() for _ in range(num_blocks + 1)][:-1]"),
        THROWN_AWAY),
    row("stack_blocks", "first_block_thrown_away",
        replace("(make_block() for _ in range(num_blocks))", "[make_block() for _ in range(num_blocks + 1)][1:]"),
        THROWN_AWAY),
    row("stack_blocks", "always_three_blocks", replace("range(num_blocks)", "range(3)"),
        "There are always three blocks, as in the worked example. How many there are to be is the second argument."),
    row("stack_blocks", "only_the_first_block_works", stack_that("return self[0](x)"),
        "Only one block works, and the others are made for nothing. Each gets what the one before it gives: x = "
        "block(x)."),
    row("stack_blocks", "every_block_gets_x", stack_that("return [block(x) for block in self][-1]"),
        "Only the last block has a part in the output: every block gets x itself, or the others are not called. Each "
        "gets what the one before it gives: x = block(x)."),
    row("stack_blocks", "blocks_side_by_side", stack_that("return sum(block(x) for block in self)"),
        "Every block gets x itself, and what they give is added up. Blocks work one after the other: each gets what "
        "the one before it gives."),
    row("stack_blocks", "residual_around_each_block",
        stack_that("for block in self:", "    x = x + block(x)", "return x"),
        "x is added around each block. A block has its residual connections inside, so hand on what it gives."),
    row("stack_blocks", "norm_after_the_stack",
        stack_that("return nn.functional.layer_norm(super().forward(x), x.shape[-1:])"),
        "A layer norm acts on what the last block gives. A model does have one there; this function stacks blocks and "
        "nothing else."),
    row("stack_blocks", "blocks_in_a_plain_list",
        stack_that("for block in self.blocks:", "    x = block(x)", "return x")
        .replace("return Stack(*(make_block() for _ in range(num_blocks)))",
                 "stack = Stack()\n    stack.blocks = [make_block() for _ in range(num_blocks)]\n    return stack"),
        "The new stack has no parameters: its blocks are kept in a plain list, or made only when it is called. No "
        "optimiser, no `.double()` and no `state_dict` finds them. Make them at once; nn.ModuleList and nn.Sequential "
        "register them."),
    row("stack_blocks", "a_function_instead_of_a_module",
        replace("return ", "stack = ")
        .replace("range(num_blocks)))", "range(num_blocks)))\n    return lambda x: stack(x)"),
        "What comes back is a function. It works, but it has no parameters, no training mode and no `.to(device)`: "
        "make a module of the blocks."),
    row("stack_blocks", "module_list_returned", replace("nn.Sequential(*", "nn.ModuleList("),
        "What comes back is an nn.ModuleList. It holds modules, but does not call them; nn.Sequential calls one after "
        "the other."),
    row("stack_blocks", "list_returned", replace("nn.Sequential(*", "list("),
        "What comes back is a list of blocks. A stack is one module that takes x and gives the last block's output."),
    row("stack_blocks", "asterisk_or_call_forgotten", replace("*", ""),
        "nn.Sequential is handed something that is no module: make_block itself, which makes a block only where it is "
        "called, or a list. It takes modules one by one: nn.Sequential(*blocks)."),
    row("stack_blocks", "make_block_given_an_argument", replace("make_block() for _", "make_block(place) for place"),
        "make_block is given an argument, such as the number of the block. It takes none: make_block()."),
    row("stack_blocks", "make_block_never_called",
        stack_that("for _ in range(num_blocks):", "    x = make_block(x)", "return x")
        .replace("return Stack(*(make_block() for _ in range(num_blocks)))", "return lambda x: Stack()(x)"),
        "make_block itself stands in the place of the blocks. It is what makes one: call it, make_block()."),
    row("stack_blocks", "blocks_made_in_each_call",
        stack_that("for _ in range(num_blocks):", "    x = make_block()(x)", "return x")
        .replace("*(make_block() for _ in range(num_blocks))", ""),
        "New blocks are made in each call of the stack, and thrown away with all that they have learnt. Make them "
        "once, and keep them."),
    row("stack_blocks", "detached_between_blocks",
        stack_that("for block in self:", "    x = block(x.detach())", "return x"),
        "The gradients are cut off on their way back through the stack: what a block gets is detached, be it x or what "
        "the block before it gives. Nothing below that could learn."),
    row("stack_blocks", "stack_detached", stack_that("return super().forward(x).detach()"),
        "What the last block gives is cut off from the gradients, by `.detach()` or `.data`, or all blocks work under "
        "`torch.no_grad()`. Neither a block nor anything below the stack could learn."),
    row("stack_blocks", "x_changed_by_the_stack",
        stack_that("output = super().forward(x)", "with torch.no_grad():", "    x.copy_(output)", "return output"),
        CHANGED),
    # gpt2_parameter_count
    row("gpt2_parameter_count", "last_norm_forgotten", replace("block + norm", "block"),
        "The norm after the last block is missing. In a pre-norm model nothing has normalised the last sum, so one "
        "more norm follows it."),
    row("gpt2_parameter_count", "positions_forgotten", replace("vocab_size + context_length", "vocab_size"),
        "The positions are missing. GPT-2 learns a vector of emb_dim numbers for each of context_length places; sines "
        "and cosines would cost none."),
    row("gpt2_parameter_count", "output_layer_counted",
        replace("vocab_size + context_length", "2 * vocab_size + context_length"),
        "The output layer is counted as well. It is tied: it uses the matrix of the token embeddings the other way "
        "round, and has no parameters of its own."),
    row("gpt2_parameter_count", "output_layer_with_bias_counted",
        replace("(vocab_size + context_length) * emb_dim", "(2 * vocab_size + context_length) * emb_dim + vocab_size"),
        "The output layer is counted as well, with a bias for each token. It is tied to the token embeddings, has no "
        "bias, and so adds nothing."),
    row("gpt2_parameter_count", "tokens_forgotten", replace("vocab_size + context_length", "context_length"),
        "The token embeddings are missing. For each of vocab_size tokens there are emb_dim numbers; the output layer "
        "shares them, but somebody has to have them."),
    row("gpt2_parameter_count", "three_biases_forgotten",
        replace("4 * (emb_dim * emb_dim + emb_dim)", "4 * emb_dim * emb_dim + emb_dim"),
        "Three biases of emb_dim numbers are missing in each block. GPT-2 has one for queries, for keys and for "
        "values, unlike the book's attention, and its hidden layer has 4 · emb_dim of them."),
    row("gpt2_parameter_count", "four_biases_forgotten", replace("emb_dim * emb_dim + emb_dim", "emb_dim * emb_dim"),
        "4 · emb_dim numbers are missing in each block: the biases of attention, where all four layers have one, that "
        "of the hidden layer, with one for each of its outputs, or both norms, each with a scale and a shift."),
    row("gpt2_parameter_count", "no_biases_in_feed_forward",
        replace("hidden + hidden", "hidden").replace("hidden * emb_dim + emb_dim", "hidden * emb_dim"),
        "The feed-forward has no bias in this count. Its layers have 4 · emb_dim and emb_dim outputs, and a bias for "
        "each."),
    row("gpt2_parameter_count", "one_bias_forgotten", replace("hidden * emb_dim + emb_dim", "hidden * emb_dim"),
        "A bias of emb_dim numbers is missing in each block: that of the attention's output layer, or that of the "
        "feed-forward's second layer."),
    row("gpt2_parameter_count", "no_biases_at_all",
        replace("* emb_dim + emb_dim", "* emb_dim", times=2).replace("hidden + hidden", "hidden"),
        "No layer has a bias in this count. In GPT-2 all six in a block have one, as nn.Linear has by itself."),
    row("gpt2_parameter_count", "one_norm_in_a_block", replace("2 * norm", "norm"),
        "2 · emb_dim numbers are missing in each block: a norm, of which there are two, each with a scale and a shift, "
        "or two biases of emb_dim numbers."),
    row("gpt2_parameter_count", "norms_without_shifts", replace("2 * emb_dim", "emb_dim"),
        "Each norm has only a scale in this count. It has a shift as well: 2 · emb_dim numbers."),
    row("gpt2_parameter_count", "norms_forgotten", replace("2 * emb_dim", "0"),
        "No norm is counted. Each has a scale and a shift for each feature, and there are two in every block and one "
        "at the end."),
    row("gpt2_parameter_count", "last_norm_in_every_block",
        replace("2 * norm", "3 * norm").replace("block + norm", "block"),
        "Each block has a third norm in this count, and none follows the last block. The last norm comes once."),
    row("gpt2_parameter_count", "attention_output_forgotten", replace("4 * (emb_dim", "3 * (emb_dim"),
        "The attention's output layer is missing. After queries, keys and values there is a fourth layer, which mixes "
        "what the heads have found."),
    row("gpt2_parameter_count", "one_layer_for_queries_keys_values", replace("4 * (emb_dim", "2 * (emb_dim"),
        "Queries, keys and values are counted as one layer. Where they are computed by one product its matrix is three "
        "times as wide."),
    row("gpt2_parameter_count", "attention_forgotten", replace("attention + ", ""),
        "4 · emb_dim² weights and 4 · emb_dim biases are missing in each block: those of attention, with its four "
        "layers from emb_dim to emb_dim, or those of the feed-forward's first layer."),
    row("gpt2_parameter_count", "feed_forward_of_one_layer", replace(" + (hidden * emb_dim + emb_dim)", ""),
        "The feed-forward is counted as one layer. It goes to 4 · emb_dim and back again, which makes two of the same "
        "size."),
    row("gpt2_parameter_count", "feed_forward_not_expanded", replace("4 * emb_dim", "emb_dim"),
        "The feed-forward's hidden layer is no wider than emb_dim in this count. It is four times as wide."),
    row("gpt2_parameter_count", "rule_of_thumb",
        replace("embeddings + num_layers * block + norm", "12 * num_layers * emb_dim**2 + vocab_size * emb_dim"),
        "This is the rule of thumb, 12 · layers · emb_dim² and the token embeddings. It comes close; an exact count "
        "has biases, norms and positions too."),
    row("gpt2_parameter_count", "one_block_counted", replace("num_layers * ", ""),
        "One block is counted, however many there are. Each has parameters of its own: num_layers times those of "
        "one."),
    row("gpt2_parameter_count", "sizes_of_gpt2", replace("vocab_size + context_length", "50257 + 1024"),
        "vocab_size and context_length are not used: GPT-2's own numbers stand in their place. They are the defaults, "
        "and the caller may give others."),
    row("gpt2_parameter_count", "another_vocabulary", replace("50257", "50256"),
        "The default of vocab_size is another one. GPT-2 has 50,257 tokens: 256 bytes, 50,000 merges, and a sign for "
        "the end of a text."),
    row("gpt2_parameter_count", "another_context", replace("1024", "512"),
        "The default of context_length is another one. GPT-2 reads up to 1,024 tokens; 512 was its predecessor's."),
    row("gpt2_parameter_count", "a_float",
        replace("embeddings + num_layers * block + norm", "float(embeddings + num_layers * block + norm)"),
        "The result is a float. Parameters are counted, so only whole numbers can come out: `//` in place of `/`, and "
        "int in place of a power or a mean."),
    row("gpt2_parameter_count", "in_millions",
        replace("embeddings + num_layers * block + norm", "(embeddings + num_layers * block + norm) / 1e6"),
        "The result is in millions. The number itself is asked for, to the last parameter."),
    row("gpt2_parameter_count", "as_text",
        replace("embeddings + num_layers * block + norm", 'f"{embeddings + num_layers * block + norm:,}"'),
        "The result is text. Commas and letters are for printing; give the number, as an int."),
]
# fmt: on

# Torch's own, which takes no other dtype than its own: hence no row. A substitute can take its place.
LayerNorm = nn.LayerNorm


@misconception(
    "TransformerBlock",
    "x is made float32, which then does not fit modules that are float64. Let x keep its dtype.",
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
