"""SelfAttention_v2: hidden tests, known mistakes and right answers."""

from __future__ import annotations

import functools
from collections.abc import Iterator
from typing import Any

import torch

from grader.suites.attention_mistakes import NO_SOFTMAX
from grader.suites.self_attention.shared import (
    D_IN,
    D_OUT,
    D_WIDE,
    IN_BOTH_MODULES,
    KEYS_HANDED_OVER,
    KEYS_UNUSED,
    MATRICES,
    WIDTHS,
    Matrices,
    T,
    attending,
    decisive_tokens,
    fresh_matrices,
    output_of,
    self_attention,
    weighed,
)
from grader.testing.checks import (
    as_layers,
    expect_close,
    expect_gradients,
    expect_layer,
    expect_no_bias,
    expect_tensor,
    expect_true,
    expect_values,
    oracle_gradients,
    set_layers,
)
from grader.testing.draws import Fresh, numbers
from grader.testing.misconceptions import mistake, replace
from grader.testing.probes import Draw, Property, call, layers, probe, set_drawn_layers
from grader.testing.student import RemoteObject, Student
from grader.testing.suite import Example, contract, kept_arguments, right_results, rule

BIASES = [f"{name}.bias" for name in MATRICES]


def layered_self_attention(
    student: Student,
    inputs: torch.Tensor,
    W_query_weight: torch.Tensor,
    W_key_weight: torch.Tensor,
    W_value_weight: torch.Tensor,
) -> torch.Tensor:
    """Compute self_attention with weights as linear layers store them, (d_out, d_in)."""
    return self_attention(student, inputs, W_query_weight.mT, W_key_weight.mT, W_value_weight.mT)


@rule("W_query, W_key and W_value are nn.Linear from d_in to d_out")
def test_three_layers_from_d_in_to_d_out(student: Student) -> None:
    """W_query, W_key and W_value should each be an nn.Linear from d_in to d_out."""
    parameters = student.queue("SelfAttention_v2", D_IN, D_OUT).parameters()
    expect_true(bool(parameters), "The module has no parameters.")
    for name in MATRICES:
        expect_true(name not in parameters, f"{name} is an nn.Parameter, not a layer.")
        expect_layer(parameters, name, D_IN, D_OUT)


@rule("the layers have no bias unless qkv_bias=True; then each layer adds its own bias")
def test_no_layer_has_a_bias_by_default(student: Student) -> None:
    """W_query, W_key and W_value should have no bias if the caller does not ask for one."""
    expect_no_bias(student.queue("SelfAttention_v2", D_IN, D_OUT).parameters(), MATRICES)


@rule("the layers have no bias unless qkv_bias=True; then each layer adds its own bias")
def test_every_layer_has_a_bias_on_demand(student: Student) -> None:
    """With qkv_bias=True, W_query, W_key and W_value should each have a bias of d_out numbers."""
    parameters = student.queue("SelfAttention_v2", D_IN, D_OUT, qkv_bias=True).parameters()
    expect_true(any(name in parameters for name in BIASES), "None of the three layers has a bias.")
    for name in BIASES:
        expect_true(name in parameters, f"There is no parameter {name}.")
        expect_tensor(parameters[name], (D_OUT,))


@rule("the layers have no bias unless qkv_bias=True; then each layer adds its own bias")
def test_the_biases_count(student: Student, fresh: Fresh) -> None:
    """With qkv_bias=True, each layer should add its bias: x @ W.T + b."""
    attention, inputs = student.queue("SelfAttention_v2", D_IN, D_OUT, qkv_bias=True), fresh(T, D_IN)
    matrices, biases = fresh_matrices(fresh), {name: fresh(D_OUT) for name in BIASES}
    set_layers(attention, as_layers(matrices))
    attention.set(biases)
    # A column of ones with the bias as its weights is the same as adding the bias.
    widened = [torch.cat([matrix, b[None]]) for matrix, b in zip(matrices.values(), biases.values(), strict=True)]
    with_ones = torch.cat([inputs, torch.ones(T, 1)], 1)
    expect_close(output_of(attention, inputs), self_attention(student, with_ones, *widened), "The outputs")


@rule("the output is the scaled dot-product attention of the three layers' outputs")
def test_output_of_three_layers(student: Student, fresh: Fresh) -> None:
    """The output should be only the contexts, (T, d_out): the scaled dot-product attention of the layers' outputs."""
    for d_in, d_out in WIDTHS:
        attention, inputs = student.queue("SelfAttention_v2", d_in, d_out), fresh(T, d_in)
        matrices = fresh_matrices(fresh, d_in, d_out)
        set_layers(attention, as_layers(matrices))
        expect_close(output_of(attention, inputs), self_attention(student, inputs, **matrices), "The outputs")


@rule("any number of tokens, including one")
def test_three_layers_take_any_number_of_tokens(student: Student, fresh: Fresh) -> None:
    """The same module should work for any number of tokens, also a single one, and give (T, d_out)."""
    attention = student.queue("SelfAttention_v2", D_WIDE, D_OUT)
    for count in (1, 3, 6):
        inputs, matrices = decisive_tokens(fresh, count)
        set_layers(attention, as_layers(matrices))
        expect_close(output_of(attention, inputs), self_attention(student, inputs, **matrices), "The outputs")


@rule("gradients reach the inputs and the weights of the three layers")
def test_gradients_of_three_layers(student: Student, fresh: Fresh) -> None:
    """Gradients of the output should reach the weights of all three layers, and the inputs."""
    attention, inputs = student.queue("SelfAttention_v2", D_IN, D_OUT), fresh(T, D_IN)
    matrices = fresh_matrices(fresh)
    set_layers(attention, as_layers(matrices))
    # The weights that the test set, not the ones that the module reports.
    weights = as_layers(matrices)
    output_of(attention, inputs)
    _, found = expect_values(attention.gradients(inputs), 2)
    expect_gradients(found, oracle_gradients(functools.partial(layered_self_attention, student), [inputs], weights))


def set_as_layers(attention: RemoteObject, matrices: Matrices) -> None:
    set_layers(attention, as_layers(matrices))


test_contract = contract(
    attending("SelfAttention_v2", set_as_layers),
    right_results(
        "three_layers_in_float64", "works in float64 after .double()",
        "After .double() the module should take float64 inputs and give the correct output.", {"dtype": torch.float64}),
    kept_arguments(
        "three_layers_leave_the_inputs_alone", "the inputs are not changed",
        "The output should be correct, and the call should not change the inputs.", "The inputs were changed."),
    example=Example({"inputs": numbers(4, 3)}, made={"d_in": 3, "d_out": 2},
                    parameters={f"{name}.weight": numbers(2, 3, seed=seed) for seed, name in enumerate(MATRICES, 1)},
                    also={"gradients": "gradients reach the inputs and the weights of the three layers"}),
)  # fmt: skip


# -- misconceptions ------------------------------------------------------------------------------------------------

LAYER = "nn.Linear(d_in, d_out, bias=qkv_bias)"

MISCONCEPTIONS = [
    mistake("softmax_forgotten_in_v2", weighed("queries @ keys.mT / keys.shape[-1] ** 0.5"), NO_SOFTMAX),
    mistake("keys_handed_over_in_v2", replace("attention(queries, keys, values)", "attention(queries, keys, keys)"),
        KEYS_HANDED_OVER),
    *(mistake(f"{name}_in_v2", change, sentence) for name, change, sentence in IN_BOTH_MODULES),
    mistake("matrices_in_the_second_version",
        replace(LAYER, "nn.Parameter(torch.rand(d_in, d_out))", times=3)
        .replace("self.W_query(inputs)", "inputs @ self.W_query").replace("self.W_key(inputs)", "inputs @ self.W_key")
        .replace("self.W_value(inputs)", "inputs @ self.W_value"),
        "The three are matrices made by hand. That is the first version. Here each should be an nn.Linear, which has "
        "its own weight."),
    mistake("layers_in_a_list", replace(LAYER, f"[{LAYER}]", times=3).replace("(inputs)", "[0](inputs)", times=3),
        "The new module has no parameters. It does not find layers in a plain list or dict, nor those that are made "
        "in `forward`, and plain tensors are not parameters. In `__init__`, assign each nn.Linear to its own "
        "attribute: W_query, W_key and W_value."),
    mistake("layers_under_other_names",
        replace("self.W_query", "self.W_q", times=2).replace("self.W_key", "self.W_k", times=2)
        .replace("self.W_value", "self.W_v", times=2),
        "The new module has no layers W_query, W_key and W_value. They may have other names, be in an nn.ModuleList, "
        "be one wide layer, or be made in `forward`. Other code uses exactly these three names."),
    mistake("layers_the_other_way_round", replace("nn.Linear(d_in, d_out", "nn.Linear(d_out, d_in", times=3),
        "The arguments of nn.Linear are the input width first and the output width second: nn.Linear(d_in, d_out). "
        "It transposes its weight itself."),
    mistake("bias_always", replace("bias=qkv_bias", "bias=True", times=3),
        "The layers always have a bias, because that is the default of nn.Linear. Pass qkv_bias on: bias=qkv_bias."),
    mistake("bias_never", replace("bias=qkv_bias", "bias=False", times=3),
        "The layers never have a bias. The caller chooses qkv_bias, so pass it on: bias=qkv_bias."),
    mistake("one_layer_in_use",
        replace("self.W_key(inputs)", "self.W_query(inputs)").replace("self.W_value(inputs)", "self.W_query(inputs)"),
        "W_query is used for queries, keys and values, and the other two layers are never used. Each role has its "
        "own weights to learn."),
    mistake("key_layer_unused", replace("self.W_key(inputs)", "self.W_query(inputs)"), KEYS_UNUSED),
    mistake("inputs_made_float32_in_v2", replace("(inputs)", "(inputs.float())", times=3),
        "The inputs are made float32, so they do not match float64 layers. Keep the dtype of the inputs."),
    mistake("inputs_changed_in_place",
        replace("return contexts", "inputs -= inputs.mean(dim=-1, keepdim=True)\n        return contexts"),
        "The caller's inputs were changed. Other code may still need them: write `x = x - …` instead of `x -= …`."),
]  # fmt: skip


# -- probes --------------------------------------------------------------------------------------------------------


@probe()
def attention_of_layers(unit: Any, draw: Draw) -> Iterator[Property]:
    num_tokens, d_in, d_out = draw.sizes(3)
    module = unit.SelfAttention_v2(d_in, d_out, **draw.pick({}, {"qkv_bias": True}, {"qkv_bias": False}))
    yield from layers(module, MATRICES)
    module.to(draw.dtype).train(draw.chance(0.5))
    parameters = set_drawn_layers(draw, module, MATRICES)
    yield from call(module, draw.normal(num_tokens, d_in), parameters=parameters)


# -- answers -------------------------------------------------------------------------------------------------------


def wrong_answers():
    """Mistakes without a name, and answers with two. Never run here: the audit reads them."""

    import torch.nn as nn
    import torch.nn.functional as F

    class _Right(nn.Module):
        def __init__(self, d_in, d_out, qkv_bias=False):
            super().__init__()
            self.W_query, self.W_key, self.W_value = (nn.Linear(d_in, d_out, bias=qkv_bias) for _ in range(3))

        def attended(self, q, k, v):
            return torch.softmax(q @ k.T / k.shape[-1] ** 0.5, dim=-1) @ v

        def forward(self, x):
            return self.attended(self.W_query(x), self.W_key(x), self.W_value(x))

    class bias_in_W_value_only(_Right):
        def __init__(self, d_in, d_out, qkv_bias=False):
            super().__init__(d_in, d_out)
            self.W_value = nn.Linear(d_in, d_out, bias=qkv_bias)

    class dropout_on_the_weights(_Right):
        def attended(self, q, k, v):
            return F.dropout(torch.softmax(q @ k.T / k.shape[-1] ** 0.5, dim=-1), 0.5) @ v

    class values_asked(_Right):
        def attended(self, q, k, v):
            return super().attended(v, k, q)

    class over_queries_and_unscaled(_Right):
        def attended(self, q, k, v):
            return torch.softmax(q @ k.T, dim=0) @ v


def right_answers():
    """Answers in other styles. Never run here: the audit reads them."""

    import torch.nn as nn
    import torch.nn.functional as F

    # Names with an underscore are written for the same style in another exercise.
    from self_attention import _attend, _Attention, scaled_dot_product_attention

    class annotated(nn.Module):
        def __init__(self, d_in: int, d_out: int, qkv_bias: bool = False):
            super().__init__()
            self.W_query, self.W_key, self.W_value = (nn.Linear(d_in, d_out, bias=qkv_bias) for _ in range(3))

        def forward(self, inputs: torch.Tensor):
            return scaled_dot_product_attention(self.W_query(inputs), self.W_key(inputs), self.W_value(inputs))[0]

    class batched(nn.Module):
        def __init__(self, d_in, d_out, qkv_bias=False):
            super().__init__()
            layers = (nn.Linear(in_features=d_in, out_features=d_out, bias=bool(qkv_bias)) for _ in range(3))
            self.W_query, self.W_key, self.W_value = layers
            self.history = []

        def forward(self, x):
            contexts, weights = scaled_dot_product_attention(self.W_query(x), self.W_key(x), self.W_value(x))
            self.history.append(weights.detach())
            return contexts

    class _Projection(nn.Linear):
        """A linear layer, with a name for what it does."""

    class by_hand(nn.Module):
        def __init__(self, d_in, d_out, qkv_bias=False):
            super().__init__()
            self.W_key, self.W_query, self.W_value = (_Projection(d_in, d_out, bias=qkv_bias) for _ in range(3))

        def forward(self, x):
            projections = [layer(x) for layer in (self.W_query, self.W_key, self.W_value)]
            return scaled_dot_product_attention(*projections)[0]

    class einsum(nn.Module):
        def __init__(self, d_in: int, d_out: int, qkv_bias: bool = False) -> None:
            super().__init__()
            self.qkv_bias = qkv_bias
            self.W_value, self.W_key, self.W_query = (nn.Linear(d_in, d_out, qkv_bias) for _ in range(3))

        def forward(self, inputs: torch.Tensor) -> torch.Tensor:
            contexts, weights = _attend(inputs, self.W_query.weight.T, self.W_key.weight.T, self.W_value.weight.T)
            if self.qkv_bias:
                layers = self.W_query, self.W_key, self.W_value
                parts = (torch.einsum("ti,oi->to", inputs, layer.weight) + layer.bias for layer in layers)
                contexts, weights = scaled_dot_product_attention(*parts)
            self.last_weights = weights.detach()
            return contexts

    class fused(_Attention):
        def __init__(self, d_in, d_out, qkv_bias=False):
            super().__init__()
            for name in ("W_query", "W_key", "W_value"):
                self.add_module(name, nn.Linear(d_in, d_out, bias=qkv_bias))

        def projections(self, inputs):
            layers = (self.W_query, self.W_key, self.W_value)
            weight = torch.cat([layer.weight for layer in layers])  # (3 · d_out, d_in)
            bias = None if self.W_query.bias is None else torch.cat([layer.bias for layer in layers])
            return F.linear(inputs, weight, bias).chunk(3, dim=-1)
