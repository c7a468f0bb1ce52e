"""The visible tests of unit 2, self-attention with trainable weights. Run `grader check self_attention`, or `pytest`.

`student` is your file: `student.project_qkv(…)` is what your project_qkv gives. Tests without a rule repeat the worked
example of the unit: six tokens of three numbers, projected to two. The others try rules of your docstrings, with
numbers from `numbers`. Tests of modules set the weights by name, so the initial values are up to you.
"""

from __future__ import annotations

from typing import Any

import pytest
import torch
from checking import (
    as_number,
    described_part,
    expect_error,
    expect_linear,
    expect_module,
    expect_number,
    expect_results,
    expect_solution,
    expect_true,
    expect_values,
    kept,
    numbers,
    worked_example,
)
from torch import nn

from grader.testing.checks import expect_tensor
from grader.testing.contracts import (
    expect_any_layout,
    expect_arguments_kept,
    expect_each_alone,
    expect_float64,
    expect_generator_used,
    expect_gradients_fit,
)
from grader.testing.student import RemoteObject, Student
from grader.testing.visible_contracts import contract_tests

INPUTS = worked_example("inputs")
NAMES = ("W_query", "W_key", "W_value")

# W_query, W_key and W_value of the worked example, each (3, 2): what torch.rand draws from seed 123.
GENERATOR = torch.Generator().manual_seed(123)
WORKED_MATRICES = [torch.rand(3, 2, generator=GENERATOR) for _ in NAMES]

each_weight = pytest.mark.parametrize("name", [pytest.param(name, id=name) for name in NAMES])


def matrices(d_in: int, d_out: int) -> list[torch.Tensor]:
    """Three different matrices, each (d_in, d_out)."""
    return [numbers(d_in, d_out, seed=seed) for seed in (1, 2, 3)]


# -- project_qkv -----------------------------------------------------------------------------------------------------

PROJECTIONS = ("queries", "keys", "values")


@pytest.mark.example("project_qkv")
def test_project_qkv(student: Student) -> None:
    """The queries, keys and values of the worked example."""
    yours = student.project_qkv(INPUTS, *WORKED_MATRICES)
    for result, name, matrix in zip(expect_results("project_qkv", yours, PROJECTIONS), PROJECTIONS, NAMES, strict=True):
        idea = f"inputs @ {matrix} has one row for each token"
        expect_values(name, result, worked_example(f"v1.{name}"), shape="(T, d_out)", idea=idea)


@pytest.mark.example(
    "project_qkv", rule=["queries = inputs @ W_query", "keys = inputs @ W_key", "values = inputs @ W_value"]
)
@pytest.mark.parametrize("tokens", [pytest.param(4, id="four"), pytest.param(1, id="one")])
def test_project_qkv_of_tokens(student: Student, tokens: int) -> None:
    """Queries, keys and values are the inputs times three different matrices."""
    yours = student.project_qkv(numbers(tokens, 3), *matrices(3, 5))
    for result, name, matrix in zip(expect_results("project_qkv", yours, PROJECTIONS), PROJECTIONS, NAMES, strict=True):
        expect_solution(name, result, shape="(T, d_out)", idea=f"inputs @ {matrix} has one row for each token")


PROJECTED = dict(zip(("inputs", *NAMES), (numbers(4, 3), *matrices(3, 2)), strict=True))


# -- scaled_dot_product_attention ------------------------------------------------------------------------------------

SCALED = "softmax of queries · keysᵀ / √d_k over the keys, one row for each query"
MIXED = "a context vector is the sum of the values, each times its weight"


def arguments(*leading: int, T_q: int = 4, T_k: int = 6, d_k: int = 3, d_v: int = 2) -> dict[str, torch.Tensor]:
    """Queries (…, T_q, d_k), keys (…, T_k, d_k) and values (…, T_k, d_v)."""
    shapes = {"queries": (T_q, d_k), "keys": (T_k, d_k), "values": (T_k, d_v)}
    return {name: numbers(*leading, *shape, seed=seed) for seed, (name, shape) in enumerate(shapes.items())}


def contexts_and_weights(student: Student, *projections: Any) -> Any:
    queries, keys, values = projections
    shapes = [(*queries.shape[:-1], values.shape[-1]), (*queries.shape[:-1], keys.shape[-2])]
    yours = student.scaled_dot_product_attention(queries, keys, values)
    return expect_results("scaled_dot_product_attention", yours, ("contexts", "weights"), shapes)


def expect_attention(student: Student, case: str, given: dict[str, torch.Tensor]) -> None:
    contexts, weights = contexts_and_weights(student, *given.values())
    expect_solution(f"weights {case}", weights, shape="(…, T_q, T_k)", idea=SCALED)
    expect_solution(f"contexts {case}", contexts, shape="(…, T_q, d_v)", idea=MIXED)


@pytest.mark.example("scaled_dot_product_attention")
def test_scaled_dot_product_attention(student: Student) -> None:
    """The weights and contexts of the worked example."""
    contexts, weights = contexts_and_weights(student, *(INPUTS @ matrix for matrix in WORKED_MATRICES))
    expect_values("weights", weights, worked_example("v1.weights"), shape="(T_q, T_k)", idea=SCALED)
    expect_values("contexts", contexts, worked_example("v1.context_vectors"), shape="(T_q, d_v)", idea=MIXED)


@pytest.mark.example(
    "scaled_dot_product_attention",
    rule=[
        "scores are the dot products of every query with every key, divided by the square root of d_k",
        "weights are the softmax of the scores over the keys, so each row sums to one",
        "contexts are the weighted sums of the values, and d_v may differ from d_k",
        "the result is the pair (contexts, weights)",
    ],
)
@pytest.mark.parametrize(
    ("d_k", "d_v"),
    [pytest.param(3, 5, id="3_and_5"), pytest.param(8, 1, id="8_and_1"), pytest.param(4, 4, id="4_and_4")],
)
def test_scaled_dot_product_attention_of_widths(student: Student, d_k: int, d_v: int) -> None:
    """The scores are divided by √d_k, and softmax runs over the keys. Values may have another width."""
    expect_attention(student, f"for d_k = {d_k} and d_v = {d_v}", arguments(T_q=4, T_k=4, d_k=d_k, d_v=d_v))


@pytest.mark.example("scaled_dot_product_attention", rule="T_q may differ from T_k")
@pytest.mark.parametrize(("T_q", "T_k"), [pytest.param(2, 6, id="few"), pytest.param(6, 3, id="many"),
                                          pytest.param(1, 4, id="one")])  # fmt: skip
def test_scaled_dot_product_attention_of_queries(student: Student, T_q: int, T_k: int) -> None:
    """There may be fewer queries than keys, or more."""
    expect_attention(student, f"for T_q = {T_q} and T_k = {T_k}", arguments(T_q=T_q, T_k=T_k))


@pytest.mark.example(
    "scaled_dot_product_attention",
    rule="any number of leading dimensions, with each batch element computed separately",
)
@pytest.mark.parametrize("leading", [pytest.param((3,), id="3"), pytest.param((2, 3), id="2_3")])
def test_scaled_dot_product_attention_with_leading_dimensions(student: Student, leading: tuple[int, ...]) -> None:
    """With a batch, or a batch of heads, each element gives the same as alone."""
    given = arguments(*leading)
    expect_attention(student, f"for the leading dimensions {leading}", given)
    expect_each_alone(student.scaled_dot_product_attention, **given)


@pytest.mark.example(
    "scaled_dot_product_attention", rule="inputs may be non-contiguous, for example the result of a transpose"
)
def test_scaled_dot_product_attention_of_transposed_tensors(student: Student) -> None:
    """Transposed tensors have the same numbers in another order in memory, and give the same results."""
    expect_any_layout(student.scaled_dot_product_attention, **arguments())
    # (B, T, H, d) -> (B, H, T, d): heads split by a transpose
    views = {name: value.transpose(1, 2).contiguous().transpose(1, 2) for name, value in arguments(2, 3).items()}
    expect_attention(student, "for heads split by a transpose", views)


# -- SelfAttention_v1 and SelfAttention_v2 ---------------------------------------------------------------------------

ATTENDED = "project the inputs, attend, return only the contexts"


def attention_v1(student: Student, d_in: int = 3, d_out: int = 2) -> RemoteObject:
    """Your first version, with the matrices of `matrices`."""
    module = expect_module(f"SelfAttention_v1({d_in}, {d_out})", student.SelfAttention_v1(d_in, d_out))
    module.set(dict(zip(NAMES, matrices(d_in, d_out), strict=True)))
    return module


def attention_v2(student: Student, d_in: int = 3, d_out: int = 2, **options: bool) -> RemoteObject:
    """Your second version, with the same weights. A layer keeps its weight transposed, as (d_out, d_in)."""
    module = expect_module(f"SelfAttention_v2({d_in}, {d_out})", student.SelfAttention_v2(d_in, d_out, **options))
    weights = (matrix.T for matrix in matrices(d_in, d_out))
    module.set(dict(zip((f"{name}.weight" for name in NAMES), weights, strict=True)))
    return module


def worked_layers() -> list[torch.Tensor]:
    """The weights of three layers from three to two features, made with seed 789: the worked example of v2."""
    with torch.random.fork_rng():
        torch.manual_seed(789)
        return [nn.Linear(3, 2, bias=False).weight.detach() for _ in NAMES]


@pytest.mark.example("SelfAttention_v1", rule="W_query, W_key and W_value are nn.Parameter of shape (d_in, d_out)")
@each_weight
def test_weights_of_self_attention_v1_are_parameters(student: Student, name: str) -> None:
    """W_query, W_key and W_value are parameters of shape (d_in, d_out)."""
    attention = expect_module("SelfAttention_v1(3, 2)", student.SelfAttention_v1(3, 2))
    weights = attention.parameters()
    expect_true(
        name in weights,
        f"{name} should be an nn.Parameter of its own, yours is {described_part(kept(attention, name))}: "
        "an optimiser finds only parameters, and each one once.",
    )
    expect_true(
        weights[name].shape == (3, 2),
        f"{name} should have shape (d_in, d_out) = (3, 2), yours is {tuple(weights[name].shape)}: "
        "it is on the right of inputs (T, d_in).",
    )
    expect_true(weights[name].requires_grad, f"{name} should require gradients, yours does not: it could not learn.")


@pytest.mark.example("SelfAttention_v1")
def test_self_attention_v1(student: Student) -> None:
    """With the matrices of the worked example, the output is its context vectors."""
    attention = attention_v1(student)
    attention.set(dict(zip(NAMES, WORKED_MATRICES, strict=True)))
    expected = worked_example("v1.context_vectors")
    expect_values("the output of SelfAttention_v1", attention(INPUTS), expected, shape="(T, d_out)", idea=ATTENDED)


@pytest.mark.example(
    "SelfAttention_v1",
    rule=[
        "the output is the scaled dot-product attention of inputs @ W_query, inputs @ W_key and inputs @ W_value",
        "any number of tokens, including one",
    ],
)
@pytest.mark.parametrize("tokens", [pytest.param(5, id="five"), pytest.param(1, id="one")])
def test_self_attention_v1_of_tokens(student: Student, tokens: int) -> None:
    """The first version attends with its three matrices, for any number of tokens."""
    output = attention_v1(student, 3, 4)(numbers(tokens, 3))
    expect_solution(f"the output for T = {tokens}", output, shape="(T, d_out)", idea=ATTENDED)


@pytest.mark.example(
    "SelfAttention_v2",
    rule=[
        "W_query, W_key and W_value are nn.Linear from d_in to d_out",
        "the layers have no bias unless qkv_bias=True; then each layer adds its own bias",
    ],
)
@each_weight
def test_weights_of_self_attention_v2_are_linear_layers(student: Student, name: str) -> None:
    """W_query, W_key and W_value are linear layers, with a bias only if it is asked for."""
    for options, bias in (((), None), ((False,), None), ((True,), (2,))):
        attention = expect_module("SelfAttention_v2(3, 2)", student.SelfAttention_v2(3, 2, *options))
        layer = expect_linear(attention, name)
        parameters = layer.parameters()
        expect_true(
            parameters["weight"].shape == (2, 3),
            f"{name} should be nn.Linear(d_in, d_out), with a weight of shape (d_out, d_in) = (2, 3); yours has shape "
            f"{tuple(parameters['weight'].shape)}.",
        )
        if bias is None:
            sentence = f"{name} should have no bias here, yours has one: qkv_bias is False unless the caller says else."
            expect_true("bias" not in parameters, sentence)
        else:
            expect_true("bias" in parameters, f"{name} should have a bias if qkv_bias is True, yours has none.")


@pytest.mark.example("SelfAttention_v2")
def test_self_attention_v2(student: Student) -> None:
    """With the layers of the worked example, the output is its context vectors."""
    attention = attention_v2(student)
    attention.set(dict(zip((f"{name}.weight" for name in NAMES), worked_layers(), strict=True)))
    expected = worked_example("v2.context_vectors")
    expect_values("the output of SelfAttention_v2", attention(INPUTS), expected, shape="(T, d_out)", idea=ATTENDED)


@pytest.mark.example(
    "SelfAttention_v2",
    rule=[
        "the output is the scaled dot-product attention of the three layers' outputs",
        "any number of tokens, including one",
    ],
)
@pytest.mark.parametrize("tokens", [pytest.param(5, id="five"), pytest.param(1, id="one")])
def test_self_attention_v2_of_tokens(student: Student, tokens: int) -> None:
    """The second version attends with its three layers, for any number of tokens."""
    output = attention_v2(student, 3, 4)(numbers(tokens, 3))
    expect_solution(f"the output for T = {tokens}", output, shape="(T, d_out)", idea=ATTENDED)


@pytest.mark.example(
    "SelfAttention_v2", rule="the layers have no bias unless qkv_bias=True; then each layer adds its own bias"
)
@each_weight
def test_self_attention_v2_adds_the_bias_of(student: Student, name: str) -> None:
    """Each layer adds its own bias to its projection."""
    attention = attention_v2(student, qkv_bias=True)
    attention.set({f"{one}.bias": torch.zeros(2) for one in NAMES} | {f"{name}.bias": torch.tensor([1.5, -0.5])})
    idea = f"{name}(inputs) is inputs @ {name}.weight.T + {name}.bias"
    expect_solution(f"the output with a bias in {name}", attention(numbers(4, 3)), shape="(T, d_out)", idea=idea)


# -- transfer_weights ------------------------------------------------------------------------------------------------
# The two modules here have the parameters of SelfAttention_v2 and SelfAttention_v1, but are not attention. So these
# tests do not depend on your other answers.

NO_BIAS = "attention_v1 has no bias, so it could not give the same outputs"


def two_modules(student: Student, d_in: int, d_out: int, **biases: torch.Tensor) -> tuple[RemoteObject, RemoteObject]:
    """A module with three linear layers, and one with three other matrices. biases: by the layer's name."""
    layers = {name: student.make("Linear", d_in, d_out, bias=bool(biases)) for name in NAMES}
    for layer, name, matrix in zip(layers.values(), NAMES, matrices(d_in, d_out), strict=True):
        bias = {"bias": biases.get(name, torch.zeros(d_out))} if biases else {}
        layer.set({"weight": matrix.T, **bias})
    others = {name: numbers(d_in, d_out, seed=seed) for seed, name in enumerate(NAMES, 4)}
    return student.make("Holder", **layers), student.make("Holder", **others)


def expect_transfer(student: Student, d_in: int, d_out: int, **biases: torch.Tensor) -> None:
    second, first = two_modules(student, d_in, d_out, **biases)
    expected = expect_tensor(second(numbers(4, d_in)))
    student.transfer_weights(second, first)
    parameters = first.parameters()
    for name, matrix in zip(NAMES, matrices(d_in, d_out), strict=True):
        expect_true(
            name in parameters,
            f"{name} of attention_v1 should still be an nn.Parameter, yours is not: copy into the one that is there.",
        )
        idea = f"x @ attention_v1.{name} should give what the layer attention_v2.{name} gives for x"
        expect_values(f"attention_v1.{name}", parameters[name], matrix, shape="(d_in, d_out)", idea=idea)
        expect_true(parameters[name].requires_grad, f"{name} of attention_v1 should still require gradients.")
    idea = "it uses the weights of attention_v2, with its own forward"
    expect_values("the output of attention_v1", first(numbers(4, d_in)), expected, shape="(T, d_out)", idea=idea)


@pytest.mark.example(
    "transfer_weights",
    rule=[
        "afterwards attention_v1 gives the outputs of attention_v2, for any d_in and d_out",
        "this is also true for square matrices (d_in = d_out)",
        "attention_v1's weights stay nn.Parameter that require gradients",
    ],
)
@pytest.mark.parametrize(
    ("d_in", "d_out"), [pytest.param(3, 5, id="wide"), pytest.param(4, 2, id="narrow"), pytest.param(3, 3, id="square")]
)
def test_transfer_weights_to_matrices_that_are(student: Student, d_in: int, d_out: int) -> None:
    """Afterwards the first module computes with the weights of the second, in the shape that it uses."""
    expect_transfer(student, d_in, d_out)


@pytest.mark.example("transfer_weights")
def test_transfer_weights_between_your_modules(student: Student) -> None:
    """After the transfer your first version gives the outputs of the second in the worked example."""
    second, first = attention_v2(student), attention_v1(student)
    second.set(dict(zip((f"{name}.weight" for name in NAMES), worked_layers(), strict=True)))
    student.transfer_weights(second, first)
    expect_values(
        "the output of attention_v1",
        first(INPUTS),
        worked_example("v2.context_vectors"),
        shape="(T, d_out)",
        idea="copy the weights from attention_v2 to attention_v1, in the shape that attention_v1 uses",
    )


@pytest.mark.example("transfer_weights", rule="attention_v2 is not changed")
def test_transfer_weights_keeps_the_second_module(student: Student) -> None:
    """The module that the weights come from keeps them, in their shape."""
    second, first = two_modules(student, 3, 5)
    before = second.parameters()
    student.transfer_weights(second, first)
    after = second.parameters()
    for name, weight in before.items():
        sentence = f"{name} of attention_v2 should be the same after the call as before; yours changes it."
        expect_true(name in after and torch.equal(after[name], weight) and after[name].requires_grad, sentence)


@pytest.mark.example(
    "transfer_weights", rule="a non-zero bias in W_query of attention_v2 raises ValueError or AssertionError"
)
def test_transfer_weights_refuses_a_bias_in_W_query(student: Student) -> None:
    """The first version has no bias, so a bias that is not zero raises ValueError or AssertionError."""
    expect_refused_biases(student, "W_query")


@pytest.mark.example("transfer_weights", rule="a non-zero bias in W_key raises ValueError or AssertionError too")
def test_transfer_weights_refuses_a_bias_in_W_key(student: Student) -> None:
    """The first version has no bias, so a bias that is not zero raises ValueError or AssertionError."""
    expect_refused_biases(student, "W_key")


@pytest.mark.example("transfer_weights", rule="a non-zero bias in W_value raises ValueError or AssertionError too")
def test_transfer_weights_refuses_a_bias_in_W_value(student: Student) -> None:
    """The first version has no bias, so a bias that is not zero raises ValueError or AssertionError."""
    expect_refused_biases(student, "W_value")


def expect_refused_biases(student: Student, name: str) -> None:
    for bias in ([1.0, 1.0], [0.0, -2.0], [0.5, -0.5]):
        modules = two_modules(student, 3, 2, **{name: torch.tensor(bias)})
        expect_error(f"the bias {bias} of {name}", student.transfer_weights, *modules, idea=NO_BIAS)


@pytest.mark.example("transfer_weights", rule="biases that are all zero raise no error")
def test_transfer_weights_takes_biases_that_are_zero(student: Student) -> None:
    """Biases that are all zero change no output, so the weights are moved as without them."""
    expect_transfer(student, 3, 5, W_query=torch.zeros(5))


# -- dot_product_variance --------------------------------------------------------------------------------------------


PAIRS = 4000
NUMBERS_SUMMED = "q·k sums d_k products of standard normal numbers, each of variance 1, and each pair has its own"
PAIRS_SUMMED = (
    f"that is near {PAIRS}, the number of pairs. Each vector has d_k numbers, so check what each dimension stands for, "
    "and which one is summed"
)


def variances(student: Student, *given: Any, **options: Any) -> list[float]:
    yours = student.dot_product_variance(*given, **options)
    names = ("the variance of q·k", "that of q·k / √d_k")
    pair = expect_results("dot_product_variance", yours, names)
    return [as_number(name, one, "it is a variance").item() for name, one in zip(names, pair, strict=True)]


@pytest.mark.example(
    "dot_product_variance",
    rule=[
        "the first number is the variance of q·k over `samples` pairs of standard normal vectors of length d_k, "
        "near d_k",
        "the second is the variance of q·k / √d_k, near 1",
    ],
)
@pytest.mark.parametrize(("d_k", "calls"), [pytest.param(256, 2, id="256"), pytest.param(9, 10, id="9")])
def test_dot_product_variance_for_d_k(student: Student, d_k: int, calls: int) -> None:
    """The variance of q·k is near d_k. If the dot products are divided by √d_k, it is near 1."""
    # If all pairs have the same key of 9 features, the variance is its squared length: near 9 in one of four calls.
    for seed in range(1, calls + 1):
        plain, scaled = variances(student, d_k, PAIRS, student.generator(seed))
        # Over 4000 pairs, a variance is off by a seventh less than once in a million times.
        idea = PAIRS_SUMMED if abs(plain - PAIRS) < PAIRS / 7 else NUMBERS_SUMMED
        expect_number("the variance of q·k", plain, d_k, within=d_k / 7, idea=idea)
        idea = "divide each dot product by √d_k, then measure"
        expect_number("the variance of q·k / √d_k", scaled, 1, within=1 / 7, idea=idea)


@pytest.mark.example(
    "dot_product_variance",
    rule="the first number is the variance of q·k over `samples` pairs of standard normal vectors of length d_k, "
    "near d_k",
)
def test_dot_product_variance_over_few_pairs(student: Student) -> None:
    """Twenty pairs are few, so their variance differs much from call to call."""
    # The variances of 20 dot products have a standard deviation of 2.4 for d_k = 6.
    found = torch.tensor([variances(student, 6, 20, student.generator(seed)) for seed in range(40)])
    spread = found[:, 0].std().item()
    sentence = (
        f"the variance of q·k over 20 pairs should differ from call to call; yours differs by {spread:.2f} only: "
        "measure it over `samples` pairs, drawn in this call."
    )
    expect_true(spread > 1, sentence)


# -- properties of several exercises, from contracts.json ------------------------------------------------------------

test_contract = contract_tests(__file__)
