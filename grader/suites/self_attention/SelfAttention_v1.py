"""SelfAttention_v1: hidden tests, known mistakes and right answers."""

from __future__ import annotations

import functools
from collections.abc import Iterator
from typing import Any

import torch
import torch.nn as nn

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
    T,
    attending,
    decisive_tokens,
    fresh_matrices,
    output_of,
    self_attention,
    weighed,
)
from grader.testing.checks import (
    expect_close,
    expect_gradients,
    expect_tensor,
    expect_true,
    expect_values,
    oracle_gradients,
)
from grader.testing.draws import Fresh, numbers
from grader.testing.misconceptions import mistake, replace
from grader.testing.probes import Draw, Property, call, has_parameters, probe, set_to
from grader.testing.student import RemoteObject, Student
from grader.testing.suite import Example, contract, kept_arguments, right_results, rule


@rule("W_query, W_key and W_value are nn.Parameter of shape (d_in, d_out)")
def test_three_matrices_are_parameters(student: Student) -> None:
    """W_query, W_key and W_value should each be an nn.Parameter of shape (d_in, d_out)."""
    parameters = student.queue("SelfAttention_v1", D_IN, D_OUT).parameters()
    expect_true(bool(parameters), "The module has no parameters.")
    for name in MATRICES:
        expect_true(f"{name}.weight" not in parameters, f"{name} is a layer, not an nn.Parameter.")
        expect_true(name in parameters, f"{name} is not an nn.Parameter of its own.")
        expect_tensor(parameters[name], (D_IN, D_OUT))


@rule("the output is the scaled dot-product attention of inputs @ W_query, inputs @ W_key and inputs @ W_value")
def test_output_of_three_matrices(student: Student, fresh: Fresh) -> None:
    """The output should be only the contexts, (T, d_out): the scaled dot-product attention of the projections."""
    for d_in, d_out in WIDTHS:
        attention, inputs = student.queue("SelfAttention_v1", d_in, d_out), fresh(T, d_in)
        matrices = fresh_matrices(fresh, d_in, d_out)
        attention.set(matrices)
        expect_close(output_of(attention, inputs), self_attention(student, inputs, **matrices), "The outputs")


@rule("any number of tokens, including one")
def test_three_matrices_take_any_number_of_tokens(student: Student, fresh: Fresh) -> None:
    """The same module should work for any number of tokens, also a single one, and give (T, d_out)."""
    attention = student.queue("SelfAttention_v1", D_WIDE, D_OUT)
    for count in (1, 3, 6):
        inputs, matrices = decisive_tokens(fresh, count)
        attention.set(matrices)
        expect_close(output_of(attention, inputs), self_attention(student, inputs, **matrices), "The outputs")


@rule("gradients reach all three parameters and the inputs")
def test_gradients_of_three_matrices(student: Student, fresh: Fresh) -> None:
    """Gradients of the output should reach W_query, W_key and W_value, and the inputs."""
    attention, inputs = student.queue("SelfAttention_v1", D_IN, D_OUT), fresh(T, D_IN)
    matrices = fresh_matrices(fresh)
    attention.set(matrices)
    parameters = attention.parameters()
    for name in MATRICES:
        expect_true(parameters[name].requires_grad, f"{name} does not require gradients.")
    output_of(attention, inputs)
    _, found = expect_values(attention.gradients(inputs), 2)
    expect_gradients(found, oracle_gradients(functools.partial(self_attention, student), [inputs], matrices))


test_contract = contract(
    attending("SelfAttention_v1", RemoteObject.set),
    right_results(
        "three_matrices_in_float64", "works in float64 after .double()",
        "After .double() the module should take float64 inputs and give the correct output.", {"dtype": torch.float64}),
    kept_arguments(
        "three_matrices_leave_the_inputs_alone", "the inputs are not changed",
        "The output should be correct, and the call should not change the inputs.", "The inputs were changed."),
    example=Example({"inputs": numbers(4, 3)}, made={"d_in": 3, "d_out": 2},
                    parameters={name: numbers(3, 2, seed=seed) for seed, name in enumerate(MATRICES, 1)},
                    also={"gradients": "gradients reach all three parameters and the inputs"}),
)  # fmt: skip


# -- misconceptions ------------------------------------------------------------------------------------------------

FROM_MATRICES = "project_qkv(inputs, self.W_query, self.W_key, self.W_value)"

MISCONCEPTIONS = [
    mistake("softmax_forgotten_in_v1", weighed("queries @ keys.mT / keys.shape[-1] ** 0.5"), NO_SOFTMAX),
    mistake("keys_handed_over_in_v1", replace("attention(queries, keys, values)", "attention(queries, keys, keys)"),
        KEYS_HANDED_OVER),
    *(mistake(f"{name}_in_v1", change, sentence) for name, change, sentence in IN_BOTH_MODULES),
    mistake("plain_tensors", replace("nn.Parameter(torch.rand(d_in, d_out))", "torch.rand(d_in, d_out)", times=3),
        "The new module has no parameters. Optimisers, `state_dict()` and `.double()` do not find plain tensors, "
        "tensors in a Python list, or those that are made in `forward`. Make each matrix an nn.Parameter in "
        "`__init__`, in its own attribute."),
    mistake("matrices_under_other_names",
        replace("self.W_query", "self.W_q", times=2).replace("self.W_key", "self.W_k", times=2)
        .replace("self.W_value", "self.W_v", times=2),
        "The new module has no parameters W_query, W_key and W_value. They may have other names, be in a list, be "
        "one wide matrix, or be made in `forward`. Other code uses exactly these three names."),
    mistake("matrices_the_other_way_round",
        replace("rand(d_in, d_out)", "rand(d_out, d_in)", times=3)
        .replace("self.W_query, self.W_key, self.W_value", "self.W_query.T, self.W_key.T, self.W_value.T"),
        "The matrices are (d_out, d_in), as in nn.Linear. Made by hand they are (d_in, d_out), and inputs @ W needs "
        "no transpose."),
    mistake("layers_in_the_first_version",
        replace("nn.Parameter(torch.rand(d_in, d_out))", "nn.Linear(d_in, d_out, bias=False)", times=3)
        .replace(FROM_MATRICES, "self.W_query(inputs), self.W_key(inputs), self.W_value(inputs)"),
        "The three are linear layers. That is the second version. The first version has three plain matrices, each "
        "an nn.Parameter."),
    mistake("frozen_matrices", replace("rand(d_in, d_out)", "rand(d_in, d_out), requires_grad=False", times=3),
        "The parameters do not require gradients, so training cannot change them. nn.Parameter requires gradients by "
        "default."),
    mistake("matrices_drawn_in_forward",
        replace(FROM_MATRICES, "project_qkv(inputs, *(torch.rand_like(self.W_query) for _ in range(3)))"),
        "Two calls with the same inputs give different outputs: `forward` draws random numbers, perhaps the "
        "matrices. Draw them once, in `__init__`, so that training can change them."),
    mistake("one_matrix_in_use", replace("self.W_key, self.W_value)", "self.W_query, self.W_query)"),
        "One matrix is used for queries, keys and values, and the other two are never used. Each role has its own "
        "weights to learn."),
    mistake("key_matrix_unused", replace("self.W_key, self.W_value)", "self.W_query, self.W_value)"), KEYS_UNUSED),
    mistake("inputs_made_float32_in_v1", replace("project_qkv(inputs,", "project_qkv(inputs.float(),"),
        "The inputs are made float32, so they do not match float64 parameters. Keep the dtype of the inputs."),
    mistake("inputs_transposed_in_place_in_v1", replace("project_qkv(inputs,", "project_qkv(inputs.t_().T,"),
        "The caller's inputs were changed. A method with an underscore at the end, such as `t_`, changes the tensor "
        "itself."),
]  # fmt: skip


# -- probes --------------------------------------------------------------------------------------------------------


@probe()
def attention_of_matrices(unit: Any, draw: Draw) -> Iterator[Property]:
    num_tokens, d_in, d_out = draw.sizes(3)
    module = unit.SelfAttention_v1(d_in, d_out)
    for name in MATRICES:
        matrix = getattr(module, name)
        yield f"what {name} is", (isinstance(matrix, nn.Parameter), tuple(matrix.shape))
        yield f"whether {name} is trained", has_parameters(module, [matrix])
    module.to(draw.dtype).train(draw.chance(0.5))
    # Read the attributes again: the parameters may be other objects after .to.
    matrices = {name: set_to(getattr(module, name), draw.normal(d_in, d_out, scale=d_in**-0.5)) for name in MATRICES}
    yield from call(module, draw.normal(num_tokens, d_in), parameters=matrices)


# -- answers -------------------------------------------------------------------------------------------------------


def wrong_answers():
    """Mistakes without a name, and answers with two. Never run here: the audit reads them."""

    import torch.nn.functional as F

    class _Right(nn.Module):
        def __init__(self, d_in, d_out):
            super().__init__()
            self.W_query, self.W_key, self.W_value = (nn.Parameter(torch.rand(d_in, d_out)) for _ in range(3))

        def projected(self, x):
            return x @ self.W_query, x @ self.W_key, x @ self.W_value

        def forward(self, x):
            q, k, v = self.projected(x)
            return torch.softmax(q @ k.T / k.shape[-1] ** 0.5, dim=-1) @ v

    class scaling_forgotten_in_v1__and__lonely_token_squeezed_in_v1(_Right):
        def forward(self, x):
            q, k, v = self.projected(x)
            return (torch.softmax(q @ k.T, dim=-1) @ v).squeeze()

    class super_forgotten(_Right):
        def __init__(self, d_in, d_out):
            self.W_query = nn.Parameter(torch.rand(d_in, d_out))

    class contexts_averaged(_Right):
        def forward(self, x):
            return super().forward(x).mean(dim=0)

    class relu_of_the_projections(_Right):
        def projected(self, x):
            return tuple(one.relu() for one in super().projected(x))

    class inputs_normalised(_Right):
        def projected(self, x):
            return super().projected(F.layer_norm(x, x.shape[-1:]))


def right_answers():
    """Answers in other styles. Never run here: the audit reads them."""

    from dataclasses import dataclass

    import torch.nn.functional as F

    # Names with an underscore are written for the same style in another exercise.
    from self_attention import _matmul, project_qkv, scaled_dot_product_attention

    @dataclass
    class _Sizes:
        d_in: int
        d_out: int
        note: "Description" = None  # noqa: F821

    class annotated(nn.Module):
        W_query: nn.Parameter
        sizes: _Sizes

        def __init__(self, d_in: int, d_out: int) -> None:
            super().__init__()
            self.sizes = _Sizes(d_in, d_out)
            for name in ("W_query", "W_key", "W_value"):
                setattr(self, name, nn.Parameter(torch.randn(self.sizes.d_in, self.sizes.d_out)))

        def forward(self, inputs: "Inputs") -> "Later":  # type: ignore[name-defined]  # noqa: F821
            return scaled_dot_product_attention(*project_qkv(inputs, self.W_query, self.W_key, self.W_value))[0]

    class batched(nn.Module):
        def __init__(self, d_in, d_out):
            super().__init__()
            self.W_query, self.W_key, self.W_value = (nn.Parameter(torch.rand(d_in, d_out)) for _ in range(3))
            self.scale = d_out**-0.5

        def forward(self, x):
            queries = (x * self.scale) @ self.W_query
            return ((queries @ (x @ self.W_key).t()).softmax(dim=1)) @ (x @ self.W_value)

    class by_hand(nn.Module):
        def __init__(self, d_in, d_out):
            super(by_hand, self).__init__()
            self.W_query, self.W_key, self.W_value = (nn.Parameter(torch.zeros((d_in, d_out))) for _ in range(3))
            for matrix in self.parameters():
                nn.init.xavier_uniform_(matrix)

        def forward(self, x):
            outputs = []
            keys, values = _matmul(x, self.W_key), _matmul(x, self.W_value)
            for token in x:
                query = _matmul(token[None, :], self.W_query)
                outputs.append(scaled_dot_product_attention(query, keys, values)[0][0])
            return torch.stack(outputs)

    def _attend(x: torch.Tensor, query_matrix: torch.Tensor, key_matrix: torch.Tensor, value_matrix: torch.Tensor):
        return scaled_dot_product_attention(*project_qkv(x, query_matrix, key_matrix, value_matrix))

    class einsum(nn.Module):
        def __init__(self, d_in: int, d_out: int) -> None:
            super().__init__()
            self.d_in, self.d_out = d_in, d_out
            for name in ("W_value", "W_key", "W_query"):
                self.register_parameter(name, nn.Parameter(torch.randn(d_in, d_out) / d_in**0.5))
            self.register_buffer("calls", torch.zeros(()))

        def forward(self, inputs):
            self.calls += 1
            contexts, self.last_weights = _attend(inputs, self.W_query, self.W_key, self.W_value)
            return contexts

    class _Attention(nn.Module):
        """What both versions have in common."""

        def projections(self, inputs):
            raise TypeError("either version has its own")

        def forward(self, inputs):
            return F.scaled_dot_product_attention(*(part[None] for part in self.projections(inputs)))[0]

    class fused(_Attention):
        def __init__(self, d_in, d_out):
            super().__init__()
            parts = torch.empty(d_in, 3 * d_out).uniform_(-1, 1).split(d_out, dim=1)
            self.W_query, self.W_key, self.W_value = map(nn.Parameter, parts)

        def projections(self, inputs):
            return project_qkv(inputs, self.W_query, self.W_key, self.W_value)
