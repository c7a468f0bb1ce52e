"""stack_heads: hidden tests, known mistakes and right answers."""

from __future__ import annotations

import functools
from collections.abc import Iterator
from typing import Any

import torch
import torch.nn as nn
from torch import Tensor

from grader.suites.multi_head_attention.shared import (
    CONTEXT,
    D_IN,
    D_OUT,
    HEAD_DIM,
    LAYERS,
    OUT_PROJ,
    B,
    H,
    T,
    fresh_layers,
    head_layers,
    multi_head_attention,
    names_in_heads,
    side_by_side,
)
from grader.testing.checks import (
    Weights,
    expect_any_error,
    expect_close,
    expect_layer,
    expect_same,
    expect_tensor,
    expect_true,
)
from grader.testing.draws import Fresh
from grader.testing.misconceptions import mistake, replace
from grader.testing.probes import (
    Draw,
    Property,
    alike,
    has_parameters,
    layers,
    probe,
    refusal,
    set_drawn_layers,
    set_to,
)
from grader.testing.student import Raised, RemoteObject, Student
from grader.testing.suite import rule


# The tests use modules of the toolbox, so that they do not depend on other answers.
def two_modules(
    student: Student, fresh: Fresh, *, d_in: int = D_IN, bias: bool = False
) -> tuple[RemoteObject, RemoteObject, Weights]:
    """Return a wrapper with H heads, a MultiHeadAttention of the same width, and the wrapper's weights."""
    wrapper = student.make("MultiHeadAttentionWrapper", d_in, HEAD_DIM, CONTEXT, 0.0, H, bias)
    attention = student.make("MultiHeadAttention", d_in, D_OUT, CONTEXT, 0.0, H, bias)
    weights = fresh_layers(fresh, head_layers(H), d_in, HEAD_DIM, bias)
    wrapper.set(weights)
    attention.set(OUT_PROJ)
    return wrapper, attention, weights


def stacked(weights: Weights) -> Iterator[tuple[str, torch.Tensor]]:
    """Yield the name and expected value of each parameter of a MultiHeadAttention that stack_heads sets."""
    for part in sorted({name.split(".", 2)[2] for name in weights}):
        yield part, torch.cat([weights[f"heads.{head}.{part}"] for head in range(H)])


class NoSubstitutes(Student):
    """A student without a submission or substitutes: expected values use only the right functions."""

    def __init__(self) -> None: ...

    def substitute(self, _: str, right: Any) -> Any:
        return right


def expect_outputs_of(attention: RemoteObject, weights: Weights, inputs: torch.Tensor) -> None:
    """Expect `attention` with its current weights to give the outputs of a wrapper with `weights`."""
    parameters, student = attention.parameters(), NoSubstitutes()
    for name in LAYERS:
        expect_layer(parameters, name, inputs.shape[-1], D_OUT)
    expect_layer(parameters, "out_proj", D_OUT, D_OUT)
    is_unchanged = all(torch.equal(parameters[name].detach(), value) for name, value in OUT_PROJ.items())
    expect_true(is_unchanged, "attention's out_proj was changed.")
    outputs = multi_head_attention(student, inputs, {n: value.detach() for n, value in parameters.items()})
    expect_close(outputs, side_by_side(student, inputs, weights), "The outputs of attention")


@rule("with an identity out_proj (and no bias there) attention then gives the wrapper's outputs")
def test_attention_then_gives_the_outputs_of_the_wrapper(student: Student, fresh: Fresh) -> None:
    """With an identity out_proj attention should give the wrapper's outputs, for any d_in, also d_in = d_out."""
    for d_in in (D_IN, D_OUT):
        wrapper, attention, weights = two_modules(student, fresh, d_in=d_in)
        student.stack_heads(wrapper, attention)
        expect_outputs_of(attention, weights, fresh(B, T, d_in))


@rule("biases too, if both have them")
def test_biases_are_stacked_too(student: Student, fresh: Fresh) -> None:
    """If both have biases, all three biases of the heads should be stacked like the weights."""
    wrapper, attention, weights = two_modules(student, fresh, bias=True)
    student.stack_heads(wrapper, attention)
    parameters, expected = attention.parameters(), dict(stacked(weights))
    biases = [f"{name}.bias" for name in LAYERS]
    for name in biases:
        expect_true(name in parameters, f"attention's {name} is not a parameter any more.")
        expect_tensor(parameters[name], (D_OUT,))
    found = torch.stack([parameters[name] for name in biases])  # three times (d_out,) -> (3, d_out)
    expect_close(found, torch.stack([expected[name] for name in biases]), "The biases of attention")


@rule("the wrapper is not changed")
def test_the_wrapper_is_left_as_it_was(student: Student, fresh: Fresh) -> None:
    """The wrapper should keep its weights and biases, and attention should have them too."""
    wrapper, attention, weights = two_modules(student, fresh, bias=True)
    values = attention.parameters()["W_value.weight"]
    student.stack_heads(wrapper, attention)
    after = wrapper.parameters()
    for name, value in weights.items():
        expect_true(name in after, f"The wrapper's {name} is gone.")
        expect_same(after[name], value, f"The wrapper's {name} was changed.")
        expect_true(after[name].requires_grad, f"The wrapper's {name} requires no gradient any more.")
    # An answer that does nothing does not pass.
    expect_true(
        not torch.equal(attention.parameters().get("W_value.weight", torch.zeros(())), values),
        "attention's weights did not change.",
    )


@rule("attention's weights stay nn.Parameter that require gradients")
def test_the_weights_of_attention_stay_parameters(student: Student, fresh: Fresh) -> None:
    """Afterwards W_query, W_key and W_value of attention should have the weights as parameters that can learn."""
    wrapper, attention, weights = two_modules(student, fresh)
    student.stack_heads(wrapper, attention)
    parameters = attention.parameters()
    for name, value in stacked(weights):
        expect_true(name in parameters, f"attention's {name} is not a parameter any more.")
        expect_tensor(parameters[name], value.shape)
        expect_true(parameters[name].requires_grad, f"attention's {name} requires no gradient any more.")
    values = parameters["W_value.weight"].detach().double()
    expect_true(
        torch.allclose(
            values.flatten().sort().values, dict(stacked(weights))["W_value.weight"].flatten().double().sort().values
        ),
        "attention's W_value does not contain the weights of the heads.",
    )


@rule("widths that do not match raise an error")
def test_widths_that_do_not_match_are_refused(student: Student, fresh: Fresh) -> None:
    """If d_in or the width of all heads together differs, there should be an error, and otherwise none."""
    wrapper, attention, _ = two_modules(student, fresh)
    student.stack_heads(wrapper, attention)
    for d_in, d_out in ((D_IN, H * (HEAD_DIM + 1)), (D_IN + 1, D_OUT)):
        other = student.make("MultiHeadAttention", d_in, d_out, CONTEXT, 0.0, H)
        expect_any_error(functools.partial(student.stack_heads, wrapper, other))


@rule("an error if the heads have biases and attention has none")
def test_biases_of_the_heads_alone_are_refused(student: Student, fresh: Fresh) -> None:
    """If the heads have biases and attention has none, there should be an error; if both have biases, none."""
    with_bias, without = two_modules(student, fresh, bias=True), two_modules(student, fresh)
    student.stack_heads(*with_bias[:2])
    expect_any_error(functools.partial(student.stack_heads, with_bias[0], without[1]))


@rule("if attention has biases and the heads have none: an error, or the biases are set to zero")
def test_biases_of_attention_alone_are_refused(student: Student, fresh: Fresh) -> None:
    """If only attention has biases, there should be an error or biases of zero; if both have them, no error."""
    student.stack_heads(*two_modules(student, fresh, bias=True)[:2])
    wrapper, attention = two_modules(student, fresh)[0], two_modules(student, fresh, bias=True)[1]
    biases = {f"{name}.bias": fresh(D_OUT) for name in LAYERS}
    attention.set(biases)
    try:
        student.stack_heads(wrapper, attention)
    except Raised as raised:
        if raised.types[0] == "NotImplementedError" or "Exception" not in raised.types:
            raise
        return
    after = attention.parameters()
    expect_true(
        not any(bool(after[name].any()) for name in biases if name in after),
        "It raised no error, and attention keeps biases that the heads do not have.",
    )


# -- misconceptions ------------------------------------------------------------------------------------------------


# stack_heads without its errors about widths, and with new tensors as the data of the parameters.
ANY_WIDTH = replace("raise ValueError(f", "_ = (f", 2).replace(".copy_(", ".data = (", 2)

MISCONCEPTIONS = [
    mistake("joined_along_the_inputs",
        replace("[part.weight for part in parts]",
                "[part.weight for part in parts], dim=1).reshape(whole.weight.shape"),
        "The heads are joined along their inputs. nn.Linear has a row for each output feature, so put the heads' "
        "rows one below the other: torch.cat along dim 0."),
    mistake("last_head_stacked_first", replace("for part in parts]", "for part in reversed(parts)]", 2),
        "The last head comes first. MultiHeadAttention takes the first head_dim features for head 0, so its rows "
        "come first."),
    mistake("rows_shuffled",
        replace("torch.cat(", "torch.stack(", 2).replace("in parts])", "in parts], dim=1).flatten(0, 1)", 2),
        "The heads' rows are interleaved: the first of each head, then the second of each. Keep the rows of each "
        "head together."),
    mistake("stacked_transposed",
        replace("whole.weight.copy_(", "whole.weight.data = (")
        .replace("part.weight for part in parts])", "part.weight for part in parts]).T"),
        "The weights are copied transposed. Both sides are nn.Linear and store (features out, features in), so do "
        "not transpose."),
    mistake("copying_that_fails", replace("[part.weight for part in parts]", "[part.weight for part in parts], dim=1"),
        "The copy fails. Join the heads' rows along dim 0, because nn.Linear has one row for each output feature. "
        "Then the shapes match, and you can copy under torch.no_grad()."),
    mistake("opposite_direction",
        replace("whole.weight.copy_(torch.cat([part.weight for part in parts]))",
                "for part, rows in zip(parts, whole.weight.chunk(num_heads)): part.weight.copy_(rows)")
        .replace("whole.bias.copy_(torch.cat([part.bias for part in parts]))",
                 "for part, rows in zip(parts, whole.bias.chunk(num_heads)): part.bias.copy_(rows)"),
        "The weights went from attention to the wrapper. Copy them in the other direction: from the wrapper into "
        "attention."),
    mistake("stacked_on_a_copy", replace(".copy_(", ".clone().copy_(", 2),
        "The stacked weights are computed, but attention keeps its own. Copy them into its layers."),
    mistake("biases_left_behind", replace("if whole.bias is not None", "if False"),
        "The biases were not copied. If both sides have them, stack them in the same order as the weights."),
    mistake("weights_frozen", replace("whole.weight.copy_", "whole.requires_grad_(False).weight.copy_"),
        "The weights no longer require gradients: the outputs are equal, but attention cannot learn. nn.Parameter "
        "requires gradients by default."),
    mistake("weights_made_plain_tensors",
        replace("whole.weight.copy_(", "del whole.weight\n            whole.weight = ("),
        "The weights became plain tensors. The outputs are equal, but an optimiser does not find the weights. Wrap "
        "them in nn.Parameter, or copy into the existing parameters."),
    mistake("tensors_assigned_to_parameters", replace("whole.weight.copy_(", "whole.weight = ("),
        "The code assigns a plain tensor to a parameter, and nn.Module raises an error. Wrap it in nn.Parameter, or "
        "copy it in under torch.no_grad()."),
    mistake("any_width_accepted", ANY_WIDTH,
        "Weights of any width replace the old ones, so attention gets a wrong shape. Raise an error if the widths do "
        "not match."),
    mistake("bias_of_attention_accepted",
        replace("(part.bias is None) != (whole.bias is None)", "part.bias is not None and whole.bias is None")
        .replace("if whole.bias is not None", "if whole.bias is not None and parts[0].bias is not None"),
        "If only attention has biases, there is no error, and its outputs differ from the wrapper's. Raise an error, "
        "or set these biases to zero."),
    mistake("biases_of_the_heads_dropped",
        replace("(part.bias is None) != (whole.bias is None)", "part.bias is None and whole.bias is not None"),
        "If only the heads have biases, they are silently lost, and attention gives other outputs. Raise an error if "
        "attention has no biases."),
    mistake("every_bias_refused",
        replace("(part.bias is None) != (whole.bias is None)", "part.bias is not None or whole.bias is not None"),
        "Any bias raises an error. If both sides have biases, stack them too."),
]  # fmt: skip


# -- probes --------------------------------------------------------------------------------------------------------


class OneHead(nn.Module):
    """A head of causal attention, as in the wrapper that stack_heads gets."""

    def __init__(self, d_in: int, width: int, bias: bool) -> None:
        super().__init__()
        self.W_query, self.W_key, self.W_value = (nn.Linear(d_in, width, bias=bias) for _ in LAYERS)

    def forward(self, inputs: Tensor) -> Tensor:
        return attended(self.W_query(inputs), self.W_key(inputs), self.W_value(inputs))


class Wrapper(nn.Module):
    """Heads of these widths side by side."""

    def __init__(self, d_in: int, widths: list[int], bias: bool) -> None:
        super().__init__()
        self.num_heads = len(widths)
        self.heads = nn.ModuleList(OneHead(d_in, width, bias) for width in widths)

    def forward(self, inputs: Tensor) -> Tensor:
        return torch.cat([head(inputs) for head in self.heads], dim=-1)


class MultiHead(nn.Module):
    """A MultiHeadAttention that stack_heads gets."""

    def __init__(self, d_in: int, d_out: int, num_heads: int, bias: bool) -> None:
        super().__init__()
        self.num_heads, self.head_dim, self.d_in, self.d_out = num_heads, d_out // num_heads, d_in, d_out
        self.W_query, self.W_key, self.W_value = (nn.Linear(d_in, d_out, bias=bias) for _ in LAYERS)
        self.out_proj = nn.Linear(d_out, d_out)

    def forward(self, inputs: Tensor) -> Tensor:
        projected = [getattr(self, name)(inputs).chunk(self.num_heads, dim=-1) for name in LAYERS]
        contexts = [attended(*head) for head in zip(*projected, strict=True)]
        return self.out_proj(torch.cat(contexts, dim=-1))


def set_identity(layer: nn.Linear) -> None:
    set_to(layer.weight, torch.eye(layer.out_features))
    set_to(layer.bias, torch.zeros(layer.out_features))


def attended(queries: Tensor, keys: Tensor, values: Tensor) -> Tensor:
    scores = queries @ keys.mT / queries.shape[-1] ** 0.5  # (B, T, width) @ (B, width, T) -> (B, T, T)
    future = torch.ones(scores.shape[-2:], dtype=torch.bool).triu(diagonal=1)
    return torch.softmax(scores.masked_fill(future, -torch.inf), dim=-1) @ values


def state_of(module: nn.Module) -> list[tuple[str, Tensor, bool]]:
    return [(name, value.detach().clone(), value.requires_grad) for name, value in module.named_parameters()]


@probe(draws=500)
def outputs_of_stacked_heads(unit: Any, draw: Draw) -> Iterator[Property]:
    d_in, width, num_heads, num_tokens = draw.sizes(4)
    draw.dtype = torch.float32
    bias = draw.chance(0.5)
    wrapper, attention = Wrapper(d_in, [width] * num_heads, bias), MultiHead(d_in, num_heads * width, num_heads, bias)
    set_drawn_layers(draw, wrapper, names_in_heads(num_heads))
    before = state_of(wrapper)
    is_ready = draw.chance(0.5)
    if is_ready:  # no rule says whether out_proj is the identity before the call
        set_identity(attention.out_proj)
    unit.stack_heads(wrapper, attention)
    yield "whether the wrapper is unchanged", alike(state_of(wrapper), before)
    yield from layers(attention, LAYERS)
    if not is_ready:
        set_identity(attention.out_proj)
    inputs = draw.normal(draw.size(1, 3), num_tokens, d_in)
    yield "the outputs", attention(inputs)
    yield "the outputs computed from the weights", MultiHead.forward(attention, inputs)
    yield "the wrapper's outputs", wrapper(inputs)
    for name in LAYERS:
        values = list(getattr(attention, name).parameters())
        yield f"the values of {name}", values  # with the bias, which for keys has no effect on the output
        kinds = [isinstance(value, nn.Parameter) for value in values]
        yield f"whether {name} has parameters", (kinds, has_parameters(attention, values))


@probe(draws=150)
def unlike_heads_refused(unit: Any, draw: Draw) -> Iterator[Property]:
    """Only the widths of layers differ: the exercise assumes equal numbers of heads, and no rule mentions them.

    No width is one, because `copy_` broadcasts it. So an answer that relies on the errors of `copy_` is right here.
    """
    d_in, width, num_heads = draw.size(2, 5), draw.size(2, 4), draw.size(2, 4)
    heads_bias, whole_bias = draw.pick((False, False), (True, True))
    widths, d_out, whole_d_in = [width] * num_heads, width * num_heads, d_in
    match draw.pick("bias", "d_in", "wide", "narrow", "more heads", "fewer heads"):
        case "bias":
            heads_bias, whole_bias = True, False
        case "d_in":
            whole_d_in = d_in + 1
        case "wide":
            widths = [width + 1] * num_heads
        case "narrow":
            d_out = num_heads * (width + 1)
        case "more heads":
            widths = [width] * (num_heads + 1)
        case "fewer heads":
            widths = [width] * (num_heads - 1)
    wrapper, attention = Wrapper(d_in, widths, heads_bias), MultiHead(whole_d_in, d_out, num_heads, whole_bias)
    before = state_of(wrapper)
    yield from refusal(unit.stack_heads, wrapper, attention, any_error=True)
    yield "whether the wrapper is unchanged", alike(state_of(wrapper), before)


@probe(draws=20)
def biases_of_attention_alone(unit: Any, draw: Draw) -> Iterator[Property]:
    d_in, width, num_heads = draw.sizes(3)
    wrapper, attention = Wrapper(d_in, [width] * num_heads, False), MultiHead(d_in, num_heads * width, num_heads, True)
    try:
        unit.stack_heads(wrapper, attention)
    except Exception:  # noqa: BLE001 - torch may raise any error here
        is_right = True
    else:
        biases = [getattr(attention, name).bias for name in LAYERS]
        is_right = not any(bias.any() for bias in biases if bias is not None)
    yield "whether biases that only attention has are rejected or zero", is_right


# -- answers -------------------------------------------------------------------------------------------------------


def wrong_answers():
    """Mistakes without a name, and answers with two. Never run here: the audit reads them."""

    def _matching(wrapper, attention):
        for name in "W_query", "W_key", "W_value":
            whole = attention.get_submodule(name)
            parts = [head.get_submodule(name) for head in wrapper.heads]
            assert whole.in_features == parts[0].in_features
            assert whole.out_features == sum(part.out_features for part in parts)
            assert (whole.bias is None) == (parts[0].bias is None)
            yield whole, parts

    @torch.no_grad()
    def _fill(whole, parts, factor=1.0):
        whole.weight.copy_(torch.cat([part.weight for part in parts]) * factor)
        if whole.bias is not None:
            whole.bias.copy_(torch.cat([part.bias for part in parts]))

    def last_head_stacked_first__and__biases_left_behind(wrapper, attention):
        for whole, parts in list(_matching(wrapper, attention)):
            whole.weight.data = torch.cat([part.weight.data for part in parts[::-1]])

    def halves_the_weights(wrapper, attention):
        for whole, parts in list(_matching(wrapper, attention)):
            _fill(whole, parts, 0.5)

    def queries_alone(wrapper, attention):
        _fill(*next(_matching(wrapper, attention)))

    def rotated_by_a_head(wrapper, attention):
        for whole, parts in list(_matching(wrapper, attention)):
            _fill(whole, [*parts[1:], parts[0]])

    def cat_of_no_list(wrapper, attention):
        for whole, parts in _matching(wrapper, attention):
            whole.weight = nn.Parameter(torch.cat(*[part.weight for part in parts]))

    @torch.no_grad()
    def every_bias_refused__asserted(wrapper, attention):
        for whole, parts in _matching(wrapper, attention):
            for layer in (whole, *parts):
                assert layer.bias is None, "no biases, please"
            whole.weight.copy_(torch.vstack([part.weight for part in parts]))


def right_answers():
    """Answers in other styles. Never run here: the audit reads them."""

    def by_the_book(wrapper, attention):
        for name in ["W_query", "W_key", "W_value"]:
            target = getattr(attention, name)
            weight = torch.cat([getattr(head, name).weight.detach() for head in wrapper.heads], dim=0)
            if weight.shape != target.weight.shape:
                raise ValueError(f"{name}: {tuple(weight.shape)} does not fit {tuple(target.weight.shape)}")
            biases = [getattr(head, name).bias for head in wrapper.heads]
            if any((bias is None) != (target.bias is None) for bias in biases):
                raise ValueError(f"{name}: only one side has a bias")
            target.weight = nn.Parameter(weight)
            if target.bias is not None:
                target.bias = nn.Parameter(torch.cat([bias.detach() for bias in biases]))
        # The wrapper has no such layer, so here it is to change nothing.
        with torch.no_grad():
            attention.out_proj.weight.copy_(torch.eye(attention.d_out))
            attention.out_proj.bias.zero_()

    def einsum(wrapper, attention):
        new = {}
        for kind in ("W_query", "W_key", "W_value"):
            for part in ("weight", "bias"):
                pieces = [head.state_dict().get(f"{kind}.{part}") for head in wrapper.heads]
                if all(piece is not None for piece in pieces):
                    new[f"{kind}.{part}"] = torch.cat(pieces)
        keep = {name: value for name, value in attention.state_dict().items() if name.startswith("out_proj")}
        attention.load_state_dict({**new, **keep})  # strict: raises where shapes or names differ

    def fused(wrapper, attention):
        from torch.nn.utils import parameters_to_vector, vector_to_parameters

        for name, target in attention.named_children():
            sources = [head.get_submodule(name) for head in wrapper.heads] if name.startswith("W_") else []
            if not sources:
                continue
            if any(set(dict(source.named_parameters())) != set(dict(target.named_parameters())) for source in sources):
                raise KeyError(f"{name}: only one side has a bias")
            if {source.in_features for source in sources} != {target.in_features}:
                raise IndexError(name)
            if sum(source.out_features for source in sources) != target.out_features:
                raise IndexError(name)
            for part in dict(target.named_parameters()):
                vector = parameters_to_vector(source.get_parameter(part) for source in sources)
                vector_to_parameters(vector.detach(), [target.get_parameter(part)])

    def loops(wrapper, attention):
        copies = []
        for name in ("W_query", "W_key", "W_value"):
            target, rows, numbers = getattr(attention, name), [], []
            for head in wrapper.heads:
                layer = getattr(head, name)
                assert layer.bias is None or target.bias is not None
                rows += list(layer.weight.detach().clone())
                if target.bias is not None:
                    numbers += layer.bias.tolist()  # there is no tolist where there is no bias
            copies.append((target.weight, torch.stack(rows)))
            if target.bias is not None:
                copies.append((target.bias, torch.tensor(numbers)))
        for parameter, value in copies:
            if parameter.shape != value.shape:
                raise RuntimeError("shapes differ")
            parameter.data[:] = value

    def one_on_another(wrapper, attention):
        head_dim = attention.head_dim
        for name in ("W_query", "W_key", "W_value"):
            layer = getattr(attention, name)
            assert len(wrapper.heads) * head_dim == layer.out_features
            for number, head in enumerate(wrapper.heads):
                source = getattr(head, name)
                assert (source.bias is None) == (layer.bias is None)
                assert source.weight.shape == (head_dim, layer.in_features)
                rows = slice(number * head_dim, (number + 1) * head_dim)
                with torch.no_grad():
                    layer.weight[rows] = source.weight
                    if layer.bias is not None:
                        layer.bias[rows] = source.bias

    @torch.no_grad()
    def ready_made(wrapper, attention):
        for name in ("W_query", "W_key", "W_value"):
            target, heads = attention.get_submodule(name), [head.get_submodule(name) for head in wrapper.heads]
            target.weight.copy_(torch.vstack([head.weight for head in heads]))
            biases = [head.bias for head in heads if head.bias is not None]
            if target.bias is not None:
                target.bias.copy_(torch.hstack(biases) if biases else torch.zeros_like(target.bias))
            elif biases:
                raise ValueError("attention has no place for the biases of the heads")
