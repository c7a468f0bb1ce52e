"""FeedForward: hidden tests, known mistakes and right answers."""

from __future__ import annotations

import functools
from collections.abc import Iterator
from typing import Any

import torch
import torch.nn as nn

from grader.suites.transformer_block.shared import (
    ALL_DETACHED,
    CHANGED,
    EXPANSION,
    FLOAT64,
    IN_FLOAT64,
    X_UNCHANGED,
    B,
    C,
    H,
    T,
    Weights,
    linear,
    robust_calls,
)
from grader.testing.behaviour import steady_results
from grader.testing.checks import expect_close, expect_gradients, expect_true, expect_values, oracle_gradients
from grader.testing.draws import Fresh
from grader.testing.misconceptions import mistake, replace
from grader.testing.probes import Draw, Property, call, has_parameters, probe, set_to
from grader.testing.student import RemoteObject, Student
from grader.testing.suite import contract, kept_arguments, right_results, rule


def layers_of(module: RemoteObject) -> list[Weights]:
    """Return the parameters of the two layers by name, the first layer first and its weight before its bias.

    The shapes decide which is which. Other tests check the hidden width and the biases.
    """
    parameters = module.parameters()
    matrices = {name: value for name, value in parameters.items() if value.dim() == 2}
    expect_true(len(matrices) == 2, f"It has the weights of {len(matrices)} layers.")
    pair = sorted(matrices, key=lambda name: matrices[name].shape[1] != C)
    first, second = (matrices[name] for name in pair)
    expect_true(
        first.shape[1] == C and second.shape == first.mT.shape,
        "The weights are not those of one layer from emb_dim features and one layer back to emb_dim.",
    )
    layers = []
    biases = {name: value for name, value in parameters.items() if value.dim() == 1}
    # If both widths are equal, or the module has a norm of its own, several vectors have the shape of a bias.
    own = {name: f"{name.removesuffix('weight')}bias" for name in pair}
    for name in pair:
        fitting = [one for one, value in biases.items() if len(value) == len(matrices[name])]
        unclaimed = [one for one in fitting if one not in own.values()]
        bias = own[name] if own[name] in fitting else next(iter(unclaimed), None)
        layers.append({name: matrices[name], **({} if bias is None else {bias: biases.pop(bias)})})
    return layers


def hidden_width(module: RemoteObject) -> int:
    first, _ = layers_of(module)
    return len(next(iter(first.values())))


def transformed(x: torch.Tensor, layers: list[Weights]) -> torch.Tensor:
    """(…, C) to the same: one layer, ReLU, the other layer."""
    first, second = layers
    return linear(linear(x, *first.values()).clamp(min=0), *second.values())


def robust_feed_forward(
    student: Student, fresh: Fresh, dtype: torch.dtype = torch.float32
) -> tuple[RemoteObject, functools.partial[torch.Tensor]]:
    """A FeedForward in eval mode, and what it should compute: all hidden numbers and outputs are far above zero.

    So another activation between the layers, none, or one more after them does not change the output.
    """
    module = student.queue("FeedForward", C)
    if dtype == torch.float64:
        module.to(dtype)
    layers = layers_of(module)
    # Hidden numbers are about 12. The second layer's weights are about 1 / hidden width, so outputs are about 12 too.
    for layer, size in zip(layers, (C**0.5, hidden_width(module)), strict=True):
        for name, value in layer.items():
            layer[name] = (fresh(*value.shape) / size if value.dim() == 2 else 12 + fresh(*value.shape)).to(dtype)
        module.set(layer)
    module.eval()
    return module, functools.partial(transformed, layers=layers)


@rule("there are two nn.Linear under any names: one from emb_dim to expansion · emb_dim, and one back to emb_dim")
def test_two_layers_of_the_expanded_width(student: Student) -> None:
    """One layer should go from emb_dim to expansion · emb_dim, for the given expansion, and one back."""
    hidden = hidden_width(student.queue("FeedForward", C, EXPANSION))
    expect_true(hidden == EXPANSION * C, f"The hidden width is {hidden}, which is not expansion · emb_dim.")


@rule("expansion is 4 unless another is given")
def test_the_default_expansion(student: Student) -> None:
    """If no expansion is given, the hidden width should be that of the rule."""
    hidden = hidden_width(student.queue("FeedForward", C))
    expect_true(hidden == 4 * C, f"The hidden width is {hidden}, which is not 4 · emb_dim.")


@rule("both have a bias")
def test_both_layers_have_a_bias(student: Student) -> None:
    """Each of the two layers should have a bias, with a number for each of its outputs."""
    first, second = layers_of(student.queue("FeedForward", C))
    # If both widths are equal, it is unknown which layer comes first.
    names = (
        ("One layer",) * 2 if next(iter(first.values())).shape == (C, C) else ("The first layer", "The second layer")
    )
    for layer, name in zip((first, second), names, strict=True):
        expect_true(len(layer) == 2, f"{name} has no bias.")


@rule("ReLU is between them, and nothing else is done")
def test_relu_stands_between_the_layers(student: Student, fresh: Fresh) -> None:
    """The output should be the second layer's output for the first layer's output after ReLU, and nothing else."""
    module = student.queue("FeedForward", C)
    layers = [{name: fresh(*value.shape) for name, value in layer.items()} for layer in layers_of(module)]
    for layer in layers:
        module.set(layer)
    module.eval()
    x = fresh(B, T, C)
    expect_close(module(x), transformed(x, layers), "The outputs")


@rule(
    "position by position: any number of leading dimensions, including none; x may be non-contiguous, for "
    "example the result of a transpose"
)
def test_feed_forward_takes_any_leading_dimensions(student: Student, fresh: Fresh) -> None:
    """A single vector, a text, a batch, and more leading dimensions should all be transformed one by one."""
    module, expected = robust_feed_forward(student, fresh)
    view = fresh(T, B, C).transpose(0, 1)  # (T, B, C) -> (B, T, C)
    for x in (fresh(C), fresh(1, C), fresh(T, C), fresh(B, H, T, C), view):
        expect_close(module(x), expected(x), "The outputs")


@rule("gradients reach x and the parameters of both layers")
def test_gradients_of_feed_forward(student: Student, fresh: Fresh) -> None:
    """Gradients of the output should reach x, and the weights and biases of both layers."""
    module, expected = robust_feed_forward(student, fresh)
    x, layers = fresh(B, T, C), expected.keywords["layers"]

    def function(x: torch.Tensor, **parameters: torch.Tensor) -> torch.Tensor:
        return transformed(x, [{name: parameters[name.replace(".", "_")] for name in layer} for layer in layers])

    _, found = expect_values(module.gradients(x), 2)
    expect_gradients(found, oracle_gradients(function, [x], {**layers[0], **layers[1]}))


test_contract = contract(
    robust_calls(robust_feed_forward, Fresh.__call__),
    steady_results(
        "nothing_is_dropped_in_feed_forward",
        "the output in training is the same as after .eval(): nothing is dropped",
        "The output should also be exact in training: only the block drops numbers.",
        {"is_training": True},
    ),
    right_results("feed_forward_in_float64", FLOAT64, IN_FLOAT64.format("module"), {"dtype": torch.float64}),
    kept_arguments("feed_forward_leaves_x_alone", *X_UNCHANGED, "x was changed."),
)


# -- misconceptions ------------------------------------------------------------------------------------------------

MISCONCEPTIONS = [
    mistake("gelu", replace("torch.relu", "nn.functional.gelu"),
        "GELU is between the layers. GPT-2 has it, a smooth form of ReLU. This exercise asks for ReLU, as in the "
        "Transformer of 2017."),
    mistake("gelu_by_tanh",
        replace("torch.relu(self.widen(x))", "nn.functional.gelu(self.widen(x), approximate='tanh')"),
        "GELU is between the layers, in the approximation by tanh of GPT-2. This exercise asks for ReLU, as in the "
        "Transformer of 2017."),
    mistake("relu_made_but_not_called", replace("torch.relu(self.widen(x))", "nn.ReLU(self.widen(x))"),
        "nn.ReLU is a class: the hidden numbers went to the making of a module, which takes no tensor. Make the "
        "module in `__init__` and call it, or use a function."),
    mistake("silu", replace("torch.relu", "nn.functional.silu"),
        "SiLU is between the layers. Newer models use it. Here it is ReLU: zero for negative numbers, and no change "
        "for the others."),
    mistake("no_activation", replace("torch.relu", ""),
        "Nothing is between the layers, so the two together are only one linear map. Put ReLU between them."),
    mistake("residual_inside", replace("return ", "return x + "),
        "The residual connection is already in here: x is added at the end. That is the task of another module. In "
        "the block x would be added twice."),
    mistake("norm_inside", replace("self.widen(x)", "self.widen(nn.functional.layer_norm(x, x.shape[-1:]))"),
        "A layer norm comes before the layers. In the block norm2 does that already. Here use only the two layers "
        "and ReLU."),
    mistake("dropout_inside",
        replace("self.narrow(hidden)", "nn.functional.dropout(self.narrow(hidden), 0.2, self.training)"),
        "There is a dropout, as in some tutorials. In this unit the block drops the output of the feed-forward. "
        "Twice would be too much."),
    mistake("always_four_times", replace("expansion * emb_dim", "4 * emb_dim", times=2),
        "The hidden layer is always four times as wide as x. That is only the default: use the argument, expansion."),
    mistake("expansion_as_the_width", replace("expansion * emb_dim", "expansion", times=2),
        "expansion is used as the hidden width itself. It is a factor for the width: expansion * emb_dim."),
    mistake("no_biases",
        replace("expansion * emb_dim)", "expansion * emb_dim, bias=False)")
        .replace("emb_dim, emb_dim)", "emb_dim, emb_dim, bias=False)"),
        "Neither layer has a bias. Queries, keys and values often have none; here both layers have one, which is the "
        "default of nn.Linear."),
    mistake("one_layer",
        replace("(emb_dim, expansion * emb_dim)", "(emb_dim, emb_dim)")
        .replace("self.narrow = nn.Linear(expansion * emb_dim, emb_dim)", "")
        .replace("self.narrow(hidden)", "hidden"),
        "There is only one layer. The feed-forward has two, each with its own weights: one from emb_dim to expansion "
        "* emb_dim, and one back."),
    mistake("three_layers",
        replace("self.narrow = ",
                "self.between = nn.Linear(expansion * emb_dim, expansion * emb_dim)\n        self.narrow = ")
        .replace("self.narrow(hidden)", "self.narrow(torch.relu(self.between(hidden)))"),
        "There are three layers. The feed-forward has two, with only ReLU between them: widen, ReLU, back."),
    mistake("hidden_width_required",
        replace("expansion: int = 4", "d_ff: int").replace("expansion * emb_dim", "d_ff", times=2),
        "The second argument is the hidden width itself, like d_ff in a well-known tutorial, and it has no default. "
        "Here it is a factor for the width, and 4 unless another is given."),
    mistake("layers_in_a_list",
        replace("self.widen = nn.Linear(emb_dim, expansion * emb_dim)",
                "self.layers = [nn.Linear(emb_dim, expansion * emb_dim)]")
        .replace("self.narrow = nn.Linear(expansion * emb_dim, emb_dim)",
                 "self.layers += [nn.Linear(expansion * emb_dim, emb_dim)]")
        .replace("self.widen", "self.layers[0]")
        .replace("self.narrow", "self.layers[1]"),
        "The module contains no layer: there is none, or it is in a plain list or made in each call. Optimisers, "
        "`.double()` and `state_dict` do not find such layers. Make them attributes, or use nn.ModuleList or "
        "nn.Sequential."),
    mistake("batches_only", replace("hidden = ", "texts, tokens, features = x.shape\n        hidden = "),
        "The module takes only batches of texts: it reads three sizes from x. nn.Linear works on the last dimension, "
        "with any number of dimensions in front."),
    mistake("feed_forward_detached", replace("self.narrow(hidden)", "self.narrow(hidden).detach()"), ALL_DETACHED),
    mistake("x_made_float32", replace("self.widen(x)", "self.widen(x.float())"),
        "x, or the output of the first layer, is made float32, so it does not match float64 layers. Keep the dtype."),
    mistake("x_changed_by_feed_forward",
        replace("return ", "with torch.no_grad():\n            x.relu_()\n        return "), CHANGED),
]  # fmt: skip


# -- probes --------------------------------------------------------------------------------------------------------


def linears_in(module: nn.Module) -> list[nn.Linear]:
    found = [layer for layer in module.modules() if isinstance(layer, nn.Linear)]
    return sorted(found, key=lambda layer: tuple(layer.weight.shape))


@probe()
def tokens_transformed(unit: Any, draw: Draw) -> Iterator[Property]:
    emb_dim = draw.size(1, 6)
    options = draw.pick({}, {}, {"expansion": 4}, {"expansion": draw.size(1, 6)})
    module = unit.FeedForward(emb_dim, **options)
    linears = linears_in(module)
    yield "what the layers are", [(tuple(one.weight.shape), one.bias is not None) for one in linears]
    yield "whether they are trained", has_parameters(module, [value for one in linears for value in one.parameters()])
    module.to(draw.dtype).train(draw.chance(0.5))
    # Layers of the same shape get the same values, because no rule says which of them is registered first.
    shapes = {shape: draw.number + place for place, shape in enumerate(sorted({one.weight.shape for one in linears}))}
    parameters = {}
    for layer in linears_in(module):
        values = torch.Generator().manual_seed(shapes[layer.weight.shape])
        for name, parameter in layer.named_parameters():
            new = torch.randn(parameter.shape, generator=values, dtype=torch.float64) / layer.in_features**0.5
            key = f"{name} {tuple(parameter.shape)}"
            parameters[key] = set_to(parameter, new)
    if len(shapes) < len(linears):  # and their gradients cannot be distinguished
        parameters = {}
    x = draw.normal(*draw.sizes(draw.size(0, 3)), emb_dim)
    yield from call(module, draw.viewed(x), parameters=parameters)


# -- answers -------------------------------------------------------------------------------------------------------


def wrong_answers():
    """Mistakes without a name, and answers with two. Never run here: the audit reads them."""

    import torch.nn.functional as F

    class _TwoLayers(nn.Module):
        """A feed-forward that is right."""

        def __init__(self, emb_dim, expansion=4):
            super().__init__()
            self.up = nn.Linear(emb_dim, expansion * emb_dim)
            self.down = nn.Linear(expansion * emb_dim, emb_dim)

        def forward(self, x):
            return self.down(F.relu(self.up(x)))

    class dropout_inside__and__always_four_times(_TwoLayers):
        def __init__(self, emb_dim, expansion=4):
            super().__init__(emb_dim)

        def forward(self, x):
            return F.dropout(super().forward(x), 0.1, self.training)

    class softmax_between(_TwoLayers):
        def forward(self, x):
            return self.down(torch.softmax(self.up(x), dim=-1))

    class absolute_value(_TwoLayers):
        def forward(self, x):
            return self.down(self.up(x).abs())

    class negative_part_kept(_TwoLayers):
        def forward(self, x):
            return self.down(torch.clamp(self.up(x), max=0))

    class relu6(_TwoLayers):
        def forward(self, x):
            return self.down(F.relu6(self.up(x)))

    class only_positive_inputs_count(_TwoLayers):
        def forward(self, x):
            return super().forward(F.relu(x))

    class narrower_instead_of_wider(_TwoLayers):
        def __init__(self, emb_dim, expansion=4):
            super().__init__(emb_dim, expansion)
            hidden = emb_dim // expansion
            self.up, self.down = nn.Linear(emb_dim, hidden), nn.Linear(hidden, emb_dim)

    class second_layer_forgotten(_TwoLayers):
        def forward(self, x):
            return F.relu(self.up(x))

    class base_class_not_initialized(_TwoLayers):
        def __init__(self, emb_dim, expansion=4):
            self.up = nn.Linear(emb_dim, expansion * emb_dim)


def right_answers():
    """Answers in other styles. Never run here: the audit reads them."""

    from collections import OrderedDict

    import torch.nn.functional as F

    class by_hand(nn.Module):
        def __init__(self, emb_dim, expansion=4):
            super().__init__()
            hidden = int(expansion * emb_dim)
            self.back, self.there = nn.Linear(hidden, emb_dim), nn.Linear(emb_dim, hidden)
            self.calls = 0

        def forward(self, x):
            self.calls += 1
            hidden = torch.einsum("...i,oi->...o", x, self.there.weight) + self.there.bias
            hidden = torch.where(hidden > 0, hidden, torch.zeros_like(hidden))
            return torch.einsum("...h,oh->...o", hidden, self.back.weight).add(self.back.bias)

    class by_the_book(nn.Module):
        def __init__(self, emb_dim, expansion=4):
            super().__init__()
            hidden = expansion * emb_dim
            self.layers = nn.Sequential(nn.Linear(emb_dim, hidden), nn.ReLU(), nn.Linear(hidden, emb_dim))

        def forward(self, x):
            return self.layers(x)

    class functional(nn.Module):
        def __init__(self, emb_dim: int, expansion: int = 4):
            super().__init__()
            wide = emb_dim * expansion
            self.layers = nn.ModuleList([nn.Linear(emb_dim, wide), nn.Linear(wide, emb_dim)])

        def forward(self, x):
            first, second = self.layers
            rows = x.reshape(-1, x.shape[-1])
            hidden = F.linear(rows, first.weight, first.bias)
            return F.linear(torch.maximum(hidden, hidden.new_zeros(())), second.weight, second.bias).reshape(x.shape)

    class one_on_another(nn.Module):
        def __init__(self, emb_dim, expansion=4):
            super().__init__()
            self.wide, self.narrow = nn.Linear(emb_dim, emb_dim * expansion), nn.Linear(emb_dim * expansion, emb_dim)

        def forward(self, x):
            return self.narrow(self.wide(x).clamp(min=0))

    class ready_made(nn.Sequential):
        def __init__(self, emb_dim, expansion=4):
            there, back = nn.Linear(emb_dim, emb_dim * expansion), nn.Linear(emb_dim * expansion, emb_dim)
            super().__init__(OrderedDict([("c_fc", there), ("relu", nn.ReLU(inplace=True)), ("c_proj", back)]))
