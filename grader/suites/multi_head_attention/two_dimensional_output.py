"""two_dimensional_output: hidden tests, known mistakes and right answers."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import torch
import torch.nn as nn

from grader.suites.multi_head_attention.shared import (
    CONTEXT,
    D_IN,
    LAYERS,
    B,
    causal_attention,
    expect_module,
    names_in_heads,
    shapes,
    side_by_side,
)
from grader.testing.checks import Weights, expect_close, expect_shape, expect_tensor, expect_true
from grader.testing.draws import Fresh
from grader.testing.misconceptions import mistake, replace
from grader.testing.probes import Draw, Property, probe, set_drawn_layers
from grader.testing.student import RemoteObject, Student
from grader.testing.suite import rule


def two_heads(student: Student) -> tuple[RemoteObject, Any]:
    """Return the wrapper, and the substitute to compare it with, or None."""
    causal_attention(student)
    substitute = student.substitute("MultiHeadAttentionWrapper", None)
    return expect_module(student.two_dimensional_output(D_IN, CONTEXT)), substitute


def heads_of(wrapper: RemoteObject) -> Weights:
    """Return the parameters of a wrapper's heads, for any number and width of heads."""
    parameters = wrapper.parameters()
    heads = {name: value for name, value in sorted(parameters.items()) if name.startswith("heads.")}
    are_numbered = all(name.split(".")[1].isdecimal() for name in heads)
    expect_true(are_numbered and "heads.0.W_value.weight" in heads, "The result is not a wrapper with heads.")
    return heads


def expect_equal_heads(weights: Weights) -> None:
    """Expect every layer of every head to have the same width of inputs and of outputs."""
    shape = tuple(weights["heads.0.W_value.weight"].shape)
    expect_true(len(shape) == 2, f"A layer's parameter has the wrong shape: {shape}.")
    for name, value in weights.items():
        layer, _, kind = name.partition(".W_")[2].partition(".")
        if f"W_{layer}" in LAYERS and kind in ("weight", "bias"):
            expect_shape(value, shape if kind == "weight" else shape[:1])


def expect_wrapping(
    student: Student,
    fresh: Fresh,
    wrapper: RemoteObject,
    substitute: Any,
    *shapes: tuple[int, int],
    in_training: bool = False,
) -> None:
    """Expect the output of a wrapper with these weights, for inputs (B, T, d_in) of each shape (B, T)."""
    weights = {name: fresh(*value.shape) for name, value in heads_of(wrapper).items()}
    expect_equal_heads(weights)
    wrapper.set(weights)
    d_out, d_in = weights["heads.0.W_value.weight"].shape
    heads = len({name.split(".")[1] for name in weights})
    for shape in shapes:
        inputs = fresh(*shape, d_in)
        if substitute is None:
            expected = side_by_side(student, inputs, weights)
        else:
            module = substitute(d_in, d_out, CONTEXT, 0.0, heads, "heads.0.W_value.bias" in weights).double()
            others = weights.keys() ^ module.state_dict().keys()
            expect_true(not others, "The heads have other parameters than those of the wrapper.")
            module.load_state_dict(weights)
            expected = module(inputs.double()).detach()
        if in_training:  # the dropped weights are random, so no number is recorded
            outputs = expect_tensor(wrapper(inputs), expected.shape).double()
            expect_true(
                torch.allclose(outputs, expected.double(), rtol=1e-4, atol=1e-5),
                "The outputs in training are different.",
            )
        else:
            expect_close(wrapper(inputs), expected, "The outputs")


TWO_HEADS = "the wrapper has two heads, no dropout and no bias"


@rule(TWO_HEADS)
def test_two_heads(student: Student) -> None:
    """The wrapper should have two heads, each from d_in features."""
    weights = heads_of(two_heads(student)[0])
    expect_true(len({name.split(".")[1] for name in weights}) == 2, "The wrapper does not have two heads.")
    expect_true(weights["heads.0.W_value.weight"].shape[-1:] == (D_IN,), "The heads do not take d_in features.")


@rule(TWO_HEADS)
def test_no_dropout(student: Student, fresh: Fresh) -> None:
    """The wrapper should drop no weight, also in training."""
    wrapper, substitute = two_heads(student)
    wrapper.train()
    # At least 40 · 6 weights: with a dropout of 0.1, none of them is dropped with a probability of 0.9^240 = 1e-11.
    expect_wrapping(student, fresh, wrapper, substitute, (40, 3), in_training=True)


@rule(TWO_HEADS)
def test_no_bias(student: Student) -> None:
    """W_query, W_key and W_value of the heads should have no bias."""
    weights = heads_of(two_heads(student)[0])
    expect_true(not any(name.endswith("bias") for name in weights), "A layer has a bias.")


@rule("its outputs are two-dimensional: (B, T, d_in) → (B, T, 2)")
def test_outputs_are_two_dimensional(student: Student, fresh: Fresh) -> None:
    """Each token's output should have two features: the heads' outputs next to each other."""
    wrapper, substitute = two_heads(student)
    wrapper.eval()
    expect_wrapping(student, fresh, wrapper, substitute, (B, 3))
    expect_tensor(wrapper(fresh(B, 3, D_IN)), (B, 3, 2))


@rule("it takes any number of tokens up to context_length")
def test_two_heads_take_any_number_of_tokens(student: Student, fresh: Fresh) -> None:
    """The wrapper should work for any number of tokens, from a single one up to context_length."""
    wrapper, substitute = two_heads(student)
    wrapper.eval()
    expect_wrapping(student, fresh, wrapper, substitute, (B, CONTEXT), (B, 1))


# -- misconceptions ------------------------------------------------------------------------------------------------

CALLS = ["MultiHeadAttentionWrapper"]

MISCONCEPTIONS = [
    mistake("two_features_for_each_head", replace("d_in, 1", "d_in, 2"),
        "Each head has two features, so two heads give four. Change d_out, so that two heads together give two "
        "features."),
    mistake("one_head_of_two_features", replace("d_in, 1", "d_in, 2").replace("heads=2", "heads=1"),
        "The outputs are two-dimensional, but come from a single head. There should be two heads: change another "
        "argument."),
    mistake("dropout_left_in", replace("dropout=0.0", "dropout=0.1"),
        "The wrapper drops weights in training. It should have no dropout: 0.0."),
    mistake("bias_left_in", replace("heads=2", "heads=2, qkv_bias=True"),
        "The heads have biases. The wrapper should have none: keep qkv_bias at False."),
    mistake("six_tokens_always", replace("1, context_length", "1, 6"),
        "The wrapper takes fewer tokens than context_length. Pass the argument on, and not the number of the worked "
        "example."),
    mistake("arguments_exchanged", replace("d_in, 1, context_length", "context_length, 1, d_in"),
        "d_in and context_length are swapped: the wrapper takes (d_in, d_out, context_length, dropout, num_heads)."),
    mistake("layer_behind_the_wrapper",
        replace("Multi", "nn.Sequential(Multi").replace("d_in, 1", "d_in, 2")
        .replace("heads=2)", "heads=2), nn.Linear(4, 2, bias=False))"),
        "The result is not the wrapper itself. You need no other class and no layer after the wrapper: change one "
        "argument."),
]  # fmt: skip


# -- probes --------------------------------------------------------------------------------------------------------


@probe(draws=300)
def two_heads_of_one_feature(unit: Any, draw: Draw) -> Iterator[Property]:
    d_in, num_tokens = draw.sizes(2, 1, 9)
    draw.dtype = torch.float32
    module = unit.two_dimensional_output(d_in, num_tokens + draw.pick(0, 0, 1))
    yield "the type and length of heads", (isinstance(module.heads, nn.ModuleList), len(module.heads))
    yield from shapes(module, names_in_heads(2))
    set_drawn_layers(draw, module, names_in_heads(2))
    inputs = draw.normal(draw.size(1, 3), num_tokens, d_in)
    yield "the outputs in training", module.train()(inputs)
    yield "the outputs", module.eval()(inputs)


# -- answers -------------------------------------------------------------------------------------------------------


def wrong_answers():
    """Mistakes without a name, and answers with two. Never run here: the audit reads them."""

    import torch.nn.functional as F

    class _Head(nn.Module):
        def __init__(self, d_in, d_out, dropout, qkv_bias):
            super().__init__()
            self.W_query, self.W_key, self.W_value = (nn.Linear(d_in, d_out, bias=qkv_bias) for _ in range(3))
            self.dropout = nn.Dropout(dropout)

        def forward(self, x):
            scores = self.W_query(x) @ self.W_key(x).mT / self.W_key.out_features**0.5
            future = torch.ones(x.size(1), x.size(1)).triu(1) == 1
            return self.dropout(F.softmax(scores.masked_fill(future, -torch.inf), dim=-1)) @ self.W_value(x)

    class _Right(nn.Module):
        def __init__(self, d_in, d_out, context_length, dropout, num_heads, qkv_bias=False):
            super().__init__()
            self.heads = nn.ModuleList([_Head(d_in, d_out, dropout, qkv_bias) for _ in range(num_heads)])

        def forward(self, x):
            return torch.cat([head(x) for head in self.heads], dim=-1)

    def one_head_of_two_features__and__bias_left_in(d_in, context_length):
        return _Right(d_in, 2, context_length, 0.0, 1, qkv_bias=True)

    def heads_as_wide_as_the_inputs(d_in, context_length):
        return _Right(d_in, d_in, context_length, 0.0, 2)

    def outputs_themselves(d_in, context_length):
        return _Right(d_in, 1, context_length, 0.0, 2)(torch.rand(1, context_length, d_in))

    def nothing_returned(d_in, context_length):
        _Right(d_in, 1, context_length, 0.0, 2)


def right_answers():
    """Answers in other styles. Never run here: the audit reads them."""

    from multi_head_attention import MultiHeadAttentionWrapper

    class _TwoDimensional(MultiHeadAttentionWrapper):
        def __init__(self, d_in, context_length):
            super().__init__(d_in, 1, context_length, 0.0, 2)

    def fused(d_in, context_length):
        return _TwoDimensional(d_in, context_length)

    def one_on_another(d_in, context_length):
        return MultiHeadAttentionWrapper(
            d_in=d_in, d_out=1, context_length=context_length, dropout=0.0, num_heads=2, qkv_bias=False
        )

    def ready_made(d_in, context_length):
        wrapper = MultiHeadAttentionWrapper(d_in, 1, context_length, 0.0, 2)
        with torch.no_grad():
            assert wrapper(torch.zeros(1, 1, d_in)).shape == (1, 1, 2)
        return wrapper
