"""transfer_weights: hidden tests, known mistakes and right answers."""

from __future__ import annotations

import contextlib
import functools
from collections.abc import Iterator
from typing import Any

import torch
import torch.nn as nn
from torch import Tensor

from grader.suites.self_attention.shared import (
    D_IN,
    D_OUT,
    MATRICES,
    Matrices,
    T,
    expect_deterministic,
    projected,
)
from grader.testing.checks import as_layers, expect_close, expect_error, expect_same, expect_true, shown
from grader.testing.draws import Fresh
from grader.testing.misconceptions import Replacements, mistake, replace
from grader.testing.probes import Draw, Property, alike, has_parameters, probe, refusal, set_drawn_layers, set_to
from grader.testing.student import Raised, RemoteObject, Student
from grader.testing.suite import rule


def mixed(inputs: torch.Tensor, W_query: torch.Tensor, W_key: torch.Tensor, W_value: torch.Tensor) -> torch.Tensor:
    """Compute what the toolbox's Holder computes: not attention, but each matrix contributes in a different way."""
    queries, keys, values = (projected(inputs, matrix) for matrix in (W_query, W_key, W_value))
    return queries + queries**2 + 2 * keys + keys**2 + 3 * values + values**2


# The tests use modules of the toolbox, so that they do not depend on other answers.
def two_modules(
    student: Student, fresh: Fresh, d_in: int, d_out: int, biases: Matrices | None = None
) -> tuple[RemoteObject, RemoteObject]:
    """Return attention_v2 and attention_v1, with different weights."""
    initial, matrices = ({name: fresh(d_in, d_out) for name in MATRICES} for _ in range(2))
    return modules_with(student, initial, matrices, biases)


def modules_with(
    student: Student, initial: Matrices, matrices: Matrices, biases: Matrices | None
) -> tuple[RemoteObject, RemoteObject]:
    """Return attention_v2, whose layers have the weights `matrices`, and attention_v1 with the matrices `initial`.

    All matrices are (d_in, d_out). If `biases` is given, attention_v2's layers have these biases, and zeros elsewhere.
    """
    d_in, d_out = matrices["W_query"].shape
    layers = {name: student.make("Linear", d_in, d_out, bias=biases is not None) for name in MATRICES}
    attention_v2 = student.make("Holder", **layers)
    attention_v2.set(as_layers(matrices))
    if biases is not None:
        attention_v2.set({f"{name}.bias": biases.get(name, torch.zeros(d_out)) for name in MATRICES})
    return attention_v2, student.make("Holder", **initial)


def transferred(
    student: Student, fresh: Fresh, d_in: int, d_out: int, biases: Matrices | None = None
) -> tuple[RemoteObject, RemoteObject, list[object], Matrices]:
    """Return both modules after a transfer, and attention_v1's weights and the expected ones.

    Two equal pairs of modules should be equal after the transfer too.
    """
    initial, matrices = ({name: fresh(d_in, d_out) for name in MATRICES} for _ in range(2))
    pairs = [modules_with(student, initial, matrices, biases) for _ in range(2)]
    for pair in pairs:
        student.queue("transfer_weights", *pair)
    moved, again = (attention_v1.attributes(*MATRICES) for _, attention_v1 in pairs)
    for first, second in zip(moved, again, strict=True):
        expect_deterministic(first, second, "The same transfer, done twice, gives different weights.")
    return *pairs[1], again, matrices


def expect_moved(attention_v1: RemoteObject, moved: list[object], matrices: Matrices, inputs: torch.Tensor) -> None:
    expect_close(attention_v1(inputs), mixed(inputs, **matrices), "The outputs of attention_v1")
    for (name, matrix), found in zip(matrices.items(), moved, strict=True):
        expect_close(found, matrix, f"The weights in attention_v1's {name}")


def expect_unchanged(module: RemoteObject, before: dict[str, torch.Tensor]) -> None:
    after = module.parameters()
    for name, value in before.items():
        reason = f"{shown(name)} of attention_v2 was changed."
        expect_true(name in after, f"{shown(name)} of attention_v2 is gone.")
        expect_true(after[name].shape == value.shape, f"{shown(name)} of attention_v2 has another shape.")
        expect_same(after[name], value, reason)
        expect_true(after[name].requires_grad == value.requires_grad, reason)


@rule("afterwards attention_v1 gives the outputs of attention_v2, for any d_in and d_out")
def test_the_first_then_gives_the_outputs_of_the_second(student: Student, fresh: Fresh) -> None:
    """Afterwards attention_v1 should give attention_v2's outputs, also if d_in and d_out differ."""
    for d_in, d_out in ((D_IN, D_OUT), (D_OUT, D_IN)):
        _, attention_v1, moved, matrices = transferred(student, fresh, d_in, d_out)
        expect_moved(attention_v1, moved, matrices, fresh(T, d_in))


@rule("this is also true for square matrices (d_in = d_out)")
def test_square_matrices_are_no_exception(student: Student, fresh: Fresh) -> None:
    """If d_in = d_out, attention_v1 should also give attention_v2's outputs."""
    _, attention_v1, moved, matrices = transferred(student, fresh, D_IN, D_IN)
    expect_moved(attention_v1, moved, matrices, fresh(T, D_IN))


@rule("attention_v2 is not changed")
def test_the_second_is_left_as_it_was(student: Student, fresh: Fresh) -> None:
    """attention_v2 should keep its weights and biases, also if the function raises an error."""
    attention_v2, attention_v1, moved, matrices = transferred(student, fresh, D_IN, D_OUT)
    expect_unchanged(attention_v2, {name: weight.requires_grad_() for name, weight in as_layers(matrices).items()})
    expect_moved(attention_v1, moved, matrices, fresh(T, D_IN))
    attention_v2, attention_v1 = two_modules(student, fresh, D_IN, D_OUT, {n: fresh(D_OUT) for n in MATRICES})
    before = attention_v2.parameters()
    with contextlib.suppress(Raised):
        student.transfer_weights(attention_v2, attention_v1)
    expect_unchanged(attention_v2, before)


@rule("attention_v1's weights stay nn.Parameter that require gradients")
def test_the_weights_stay_parameters(student: Student, fresh: Fresh) -> None:
    """Afterwards W_query, W_key and W_value of attention_v1 should contain the weights as parameters that can learn."""
    _, attention_v1, _, matrices = transferred(student, fresh, D_IN, D_OUT)
    parameters = attention_v1.parameters()
    for name, matrix in matrices.items():
        expect_true(name in parameters, f"attention_v1's {name} is not a parameter any more.")
        expect_close(parameters[name], matrix, f"The weights in attention_v1's {name}")
        expect_true(parameters[name].requires_grad, f"attention_v1's {name} requires no gradient any more.")


@rule("a non-zero bias in W_query of attention_v2 raises ValueError or AssertionError")
def test_a_bias_in_W_query_is_refused(student: Student, fresh: Fresh) -> None:
    """A non-zero bias in attention_v2's W_query should raise ValueError or AssertionError."""
    expect_refusal(student, fresh, "W_query")


@rule("a non-zero bias in W_key raises ValueError or AssertionError too")
def test_a_bias_in_W_key_is_refused(student: Student, fresh: Fresh) -> None:
    """A non-zero bias in attention_v2's W_key should raise ValueError or AssertionError."""
    expect_refusal(student, fresh, "W_key")


@rule("a non-zero bias in W_value raises ValueError or AssertionError too")
def test_a_bias_in_W_value_is_refused(student: Student, fresh: Fresh) -> None:
    """A non-zero bias in attention_v2's W_value should raise ValueError or AssertionError."""
    expect_refusal(student, fresh, "W_value")


def expect_refusal(student: Student, fresh: Fresh, name: str) -> None:
    # An answer that rejects all modules does not pass.
    student.transfer_weights(*two_modules(student, fresh, D_IN, D_OUT))
    # The second bias has two entries that cancel, and zeros: neither its sum nor its first entry shows it.
    cancelling = torch.zeros(D_OUT)
    cancelling[1], cancelling[2] = 0.5, -0.5
    for bias in (fresh(D_OUT), cancelling):
        modules = two_modules(student, fresh, D_IN, D_OUT, {name: bias})
        expect_error(functools.partial(student.transfer_weights, *modules))


@rule("biases that are all zero raise no error")
def test_biases_that_are_all_zero_are_fine(student: Student, fresh: Fresh) -> None:
    """If attention_v2's biases are all zero, there should be no error, and attention_v1 gives the same outputs."""
    _, attention_v1, moved, matrices = transferred(student, fresh, D_IN, D_OUT, biases={})
    expect_moved(attention_v1, moved, matrices, fresh(T, D_IN))


# -- misconceptions ------------------------------------------------------------------------------------------------

REFUSAL = 'raise ValueError(f"{name} has a bias that is not zero, and attention_v1 has no place for it")'


def moved(statement: str) -> Replacements:
    """Move the weight of each `layer` to its `matrix` by another statement."""
    return replace(
        "getattr(attention_v1, name).copy_(getattr(attention_v2, name).weight.T)",
        f"matrix, layer = getattr(attention_v1, name), getattr(attention_v2, name)\n            {statement}",
    )


MISCONCEPTIONS = [
    mistake("not_transposed", replace("weight.T", "weight"),
        "The weights are copied without a transpose. nn.Linear stores its weight as (d_out, d_in) and multiplies by "
        "its transpose. The first version stores (d_in, d_out)."),
    mistake("handed_over_without_transposing", moved("matrix.data = layer.weight.data.clone()"),
        "The weights keep the shape (d_out, d_in), and no error shows it. The first version computes inputs @ W, so "
        "transpose them."),
    mistake("transposed_only_where_shapes_differ",
        moved("matrix.data = layer.weight.clone() if layer.weight.shape == matrix.shape else layer.weight.T"),
        "The weights are transposed only if the shapes differ. A square matrix must be transposed too, although its "
        "shape does not show it."),
    mistake("reshaped_to_fit", moved("matrix.copy_(layer.weight.reshape(matrix.shape))"),
        "`reshape` and `view` change the shape but keep the order of the numbers, so each weight gets a wrong "
        "position. Transpose: `.T`."),
    mistake("opposite_direction", moved("layer.weight.copy_(matrix.T)"),
        "The weights went from attention_v1 to attention_v2. Copy them in the other direction: from the second into "
        "the first."),
    mistake("weights_of_fresh_layers", moved("matrix.data = nn.Linear(*matrix.shape, bias=False).weight.data.T"),
        "The copied weights are random: they come from new layers, or from random inputs. Take them from the layers "
        "of the argument attention_v2."),
    mistake("worked_on_a_copy", moved("matrix = layer.weight.T"),
        "attention_v1 keeps its own weights: the code changed nothing, or only a copy or a new name. Change the "
        "module that was passed in."),
    mistake("parameters_replaced_by_tensors",
        moved("delattr(attention_v1, name)\n            setattr(attention_v1, name, layer.weight.detach().T)"),
        "The weights became plain tensors. The outputs are equal, but an optimiser does not find the weights. Wrap "
        "them in nn.Parameter, or copy into the existing parameters."),
    mistake("tensor_assigned_to_a_parameter", moved("setattr(attention_v1, name, layer.weight.T)"),
        "The code assigns a plain tensor or a whole layer to a parameter, and nn.Module raises an error. Wrap the "
        "transposed weight in nn.Parameter, or copy it in without recording gradients."),
    mistake("copied_while_gradients_are_recorded", replace("torch.no_grad()", "torch.enable_grad()"),
        "PyTorch stops the transfer with an error. If it names a leaf variable, switch off gradients to copy. If it "
        "names keys: `state_dict()` of attention_v2 uses W_query.weight, and attention_v1 uses W_query."),
    mistake("source_transposed", moved("matrix.data = layer.weight.data = layer.weight.data.T"),
        "The transfer transposed the weights of attention_v2 itself. Do not change the source of a transfer."),
    mistake("source_biases_zeroed", replace(REFUSAL, "bias.data.zero_()"),
        "The bias in attention_v2 is set to zero, so that the outputs are equal. That changes the caller's module "
        "silently. Raise an error instead."),
    mistake("biases_ignored", replace(REFUSAL, "pass"),
        "Biases are silently ignored. The first version has no bias, so its outputs would be different. A bias that "
        "is not zero should raise an error."),
    mistake("zero_biases_refused", replace(" and bias.any()", ""),
        "Every bias raises an error, even a bias of zeros. Zeros change nothing, so check the numbers and not only "
        "whether there is a bias."),
    mistake("only_the_query_bias_checked", replace("names:\n        bias", "names[:1]:\n        bias"),
        "Only the bias of W_query is checked. Each of the three layers has its own bias."),
    mistake("key_bias_thought_harmless", replace("names:\n        bias", "names[::2]:\n        bias"),
        "A bias in W_key raises no error. In softmax it cancels, but attention_v1 still lacks a number that "
        "attention_v2 has. The rule here is: every non-zero bias raises an error."),
    mistake("bias_judged_by_its_sum", replace("bias.any()", "bias.sum() != 0"),
        "A bias counts as zero if its numbers cancel, or if only some of them are zero. It is zero only if each of "
        "its numbers is."),
    mistake("only_positive_biases_found", replace("bias.any()", "bias.sum() > 0"),
        "A bias counts as zero if it is negative, or if its numbers cancel. It is zero only if each of its numbers "
        "is: test whether any of them is not zero, `bias.any()`."),
    mistake("truth_of_a_bias_asked", replace("bias.any()", "bias"),
        "A bias ends in an error about its truth value, even a bias of zeros. A tensor of several numbers is neither "
        "true nor false, so `if` cannot check it as a whole."),
    mistake("every_layer_refused", replace("bias is not None and bias.any()", "True"),
        "The transfer always raises an error, also without a bias. Each nn.Linear has the attribute `bias`. It is "
        "None if the layer has no bias."),
]  # fmt: skip


# -- probes --------------------------------------------------------------------------------------------------------


class ThreeMatrices(nn.Module):
    """The module that transfer_weights changes. It computes attention by the rules of SelfAttention_v1."""

    def __init__(self, d_in: int, d_out: int) -> None:
        super().__init__()
        self.W_query, self.W_key, self.W_value = (nn.Parameter(torch.rand(d_in, d_out)) for _ in MATRICES)

    def forward(self, inputs: Tensor) -> Tensor:
        return attended(inputs @ self.W_query, inputs @ self.W_key, inputs @ self.W_value)


class Layers(nn.Module):
    """The module that transfer_weights reads. It computes attention by the rules of SelfAttention_v2."""

    def __init__(self, d_in: int, d_out: int, bias: bool) -> None:
        super().__init__()
        self.W_query, self.W_key, self.W_value = (nn.Linear(d_in, d_out, bias=bias) for _ in MATRICES)

    def forward(self, inputs: Tensor) -> Tensor:
        return attended(self.W_query(inputs), self.W_key(inputs), self.W_value(inputs))


def attended(queries: Tensor, keys: Tensor, values: Tensor) -> Tensor:
    return torch.softmax(queries @ keys.T / queries.shape[-1] ** 0.5, dim=-1) @ values


def source_and_target(draw: Draw) -> tuple[Layers, ThreeMatrices, Tensor]:
    """Return both modules, the first with zero biases or without biases, and inputs for both."""
    num_tokens, d_in, d_out = draw.sizes(3)
    if draw.chance(0.3):
        d_out = d_in
    source, target = Layers(d_in, d_out, bias=draw.chance(0.4)), ThreeMatrices(d_in, d_out)
    set_drawn_layers(draw, source.float(), MATRICES)
    for name in MATRICES:
        layer = getattr(source, name)
        set_to(layer.weight, draw.normal(d_out, d_in, dtype=torch.float32, scale=1))
        if layer.bias is not None:
            nn.init.zeros_(layer.bias)
    return source, target, draw.normal(num_tokens, d_in, dtype=torch.float32)


def state_of(module: nn.Module) -> list[tuple[str, Tensor, bool]]:
    return [(name, value.detach().clone(), value.requires_grad) for name, value in module.named_parameters()]


@probe()
def outputs_after_the_transfer(unit: Any, draw: Draw) -> Iterator[Property]:
    source, target, inputs = source_and_target(draw)
    before = state_of(source)
    unit.transfer_weights(source, target)
    yield "whether the source is unchanged", alike(state_of(source), before)
    yield "the outputs of the source", source(inputs)
    yield "the outputs", target(inputs)
    yield "the outputs computed from the weights", ThreeMatrices.forward(target, inputs)
    for name in MATRICES:
        matrix = getattr(target, name)
        yield f"what {name} is", (isinstance(matrix, nn.Parameter), tuple(matrix.shape))
        yield f"whether {name} is trained", has_parameters(target, [matrix])


@probe(draws=300)
def biases_refused(unit: Any, draw: Draw) -> Iterator[Property]:
    d_in, d_out = draw.sizes(2)
    source, target = Layers(d_in, d_out, bias=True), ThreeMatrices(d_in, d_out)
    for name in MATRICES:
        nn.init.zeros_(getattr(source, name).bias)
    biased = [getattr(source, name).bias for name in draw.random.sample(MATRICES, draw.pick(1, 1, 1, 2, 3))]
    with torch.no_grad():
        for bias in biased:
            bias[draw.random.randrange(d_out)] = draw.pick(1.0, -1.0, 0.01, -3.0)
            if d_out > 1 and draw.chance(0.3):  # these have no effect on the sum
                bias[0], bias[-1] = 0.5, -0.5
    before = state_of(source)
    yield from refusal(unit.transfer_weights, source, target)
    yield "whether the source is unchanged", alike(state_of(source), before)


# -- answers -------------------------------------------------------------------------------------------------------


def wrong_answers():
    """Mistakes without a name, and answers with two. Never run here: the audit reads them."""

    import torch.nn.functional as F

    def handed_over_without_transposing__and__only_the_query_bias_checked(attention_v2, attention_v1):
        bias = attention_v2.W_query.bias
        if bias is not None and bool((bias != 0).any()):
            raise ValueError("v1 has no bias")
        for name, layer in attention_v2.named_children():
            setattr(attention_v1, name, nn.Parameter(layer.weight.detach().clone()))

    def _check(v2):
        for layer in (v2.W_query, v2.W_key, v2.W_value):
            if layer.bias is not None and layer.bias.any():
                raise ValueError("there is a bias")

    def only_the_values_transposed(v2, v1):
        _check(v2)
        for name, layer in v2.named_children():
            weight = layer.weight.detach()
            setattr(v1, name, nn.Parameter(weight.T if name == "W_value" else weight))

    def weights_halved(v2, v1):
        _check(v2)
        for name, layer in v2.named_children():
            setattr(v1, name, nn.Parameter(layer.weight.detach().T / 2))

    def rows_normalised(v2, v1):
        _check(v2)
        for name, layer in v2.named_children():
            setattr(v1, name, nn.Parameter(F.normalize(layer.weight.detach(), dim=1).T))

    def weights_added(v2, v1):
        _check(v2)
        with torch.no_grad():
            for name, layer in v2.named_children():
                v1.get_parameter(name).add_(layer.weight.T)

    def every_layer_refused__asserted(v2, v1):
        for name in ("W_query", "W_key", "W_value"):
            layer = getattr(v2, name)
            assert "bias" not in dir(layer), f"{name} has a bias"
            getattr(v1, name).data = layer.weight.data.mT

    def truth_of_a_bias_asked__compared_with_zero(v2, v1):
        for name, layer in v2.named_children():
            if layer.bias is not None and layer.bias != 0:
                raise ValueError("there is a bias")
            setattr(v1, name, nn.Parameter(layer.weight.detach().T))


def right_answers():
    """Answers in other styles. Never run here: the audit reads them."""

    from self_attention import SelfAttention_v1, SelfAttention_v2

    def _matrix_of(layer: nn.Linear | nn.Parameter) -> torch.Tensor:
        match layer:
            case nn.Linear(weight=weight):
                return weight.T
            case nn.Parameter():
                return layer

    _names: list[str] = ["W_query", "W_key", "W_value"]

    def annotated(attention_v2: SelfAttention_v2, attention_v1: SelfAttention_v1):
        layers = [getattr(attention_v2, name) for name in _names]
        if any(layer.bias is not None and layer.bias.any() for layer in layers):
            raise ValueError("a bias that is not zero")
        with torch.no_grad():
            for name, layer in zip(_names, layers):
                _matrix_of(getattr(attention_v1, name)).copy_(_matrix_of(layer))

    def batched(attention_v2, attention_v1):
        names = [name for name, _ in attention_v1.named_parameters()]
        for name in names:
            bias = getattr(attention_v2, name).bias
            if bias is not None and not torch.equal(bias, torch.zeros_like(bias)):
                raise ValueError(name)
        for name in names:
            # Shared on purpose: one set of weights in memory.
            getattr(attention_v1, name).data = getattr(attention_v2, name).weight.data.transpose(0, 1)

    def by_hand(attention_v2, attention_v1):
        layers = dict(attention_v2.named_children())
        for layer in layers.values():
            if layer.bias is None:
                continue
            for number in layer.bias.tolist():
                if number != 0:
                    raise ValueError("no place for a bias")
        for name, layer in layers.items():
            matrix = getattr(attention_v1, name)
            for i in range(matrix.shape[0]):
                for j in range(matrix.shape[1]):
                    matrix.data[i, j] = layer.weight.data[j, i]

    def einsum(attention_v2, attention_v1):
        for layer in (attention_v2.W_query, attention_v2.W_key, attention_v2.W_value):
            assert layer.bias is None or torch.count_nonzero(layer.bias) == 0, "there is a bias"
        for name in ("W_query", "W_key", "W_value"):
            setattr(attention_v1, name, nn.Parameter(getattr(attention_v2, name).weight.detach().clone().t()))
        return attention_v1

    def fused(attention_v2, attention_v1):
        state = attention_v2.state_dict()
        biases = {name: value for name, value in state.items() if name.endswith("bias")}
        if any(value.abs().max() > 0 for value in biases.values()):
            raise AssertionError(f"biases that are not zero: {sorted(biases)}")
        attention_v1.load_state_dict(
            {name.removesuffix(".weight"): value.T for name, value in state.items() if name not in biases}
        )
