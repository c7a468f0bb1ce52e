"""The worked example of unit 3: the six tokens of unit 2, which now see only the past. Run `pytest` in this folder.

`student` is your file: `student.causal_mask(6)` is what your causal_mask gives. The grader uses the rules
in the docstrings, with other sizes and other numbers than these.
"""

from __future__ import annotations

from typing import Any

import pytest
import torch
from checking import (
    WORKED_EXAMPLES,
    expect_error,
    expect_linear,
    expect_module,
    expect_unchanged,
    expect_values,
    fail,
    type_name,
    worked_example,
)

from grader.testing.student import RemoteObject, Student

INPUTS = worked_example("inputs")
CAUSAL_WEIGHTS = worked_example("causal.weights")

# The weights of unit 2's second version, (2, 3) as nn.Linear(3, 2) keeps them: what its layers draw from seed 789.
GENERATOR = torch.Generator().manual_seed(789)
LAYER_WEIGHTS = {
    name: torch.empty(2, 3).uniform_(-(3**-0.5), 3**-0.5, generator=GENERATOR)
    for name in ("W_query", "W_key", "W_value")
}
VALUES = INPUTS @ LAYER_WEIGHTS["W_value"].T  # (6, 3) @ (3, 2) -> (6, 2)
CONTEXTS = CAUSAL_WEIGHTS @ VALUES  # (6, 6) @ (6, 2) -> (6, 2)


def masked_scores(future: float) -> torch.Tensor:
    """The scores of the worked example, (6, 6), with this number in the place of the future."""
    rows = WORKED_EXAMPLES["examples"]["causal.masked_scores"]["value"]
    return torch.tensor([[future if score is None else score for score in row] for row in rows])


def attention_of_the_worked_example(student: Student, context_length: int = 6, dropout: float = 0.0) -> RemoteObject:
    """A CausalAttention with the weights of unit 2's second version, (3, 2), in eval mode."""
    attention = student.CausalAttention(3, 2, context_length, dropout)
    for name in LAYER_WEIGHTS:
        shape = tuple(expect_linear(expect_module("CausalAttention", attention), name).get("weight").shape)
        if shape != (2, 3):
            fail(
                f"{name} should be nn.Linear(d_in, d_out), here nn.Linear(3, 2) with a weight of shape (2, 3); "
                f"the weight of yours has shape {shape}."
            )
    attention.set({f"{name}.weight": weight for name, weight in LAYER_WEIGHTS.items()})
    attention.eval()
    return attention


def expect_tensor(name: str, yours: Any, shape: tuple[int, ...], names: str) -> torch.Tensor:
    """A tensor of finite numbers and this shape, whatever they are."""
    if not isinstance(yours, torch.Tensor):
        fail(f"{name} should be one tensor, yours is of type {type_name(yours)}.")
    if yours.shape != shape:
        fail(f"{name} should have shape {names} = {shape}, yours is {tuple(yours.shape)}.")
    if not yours.isfinite().all():
        fail(
            f"{name} should hold finite numbers alone, yours does not: what gives none is a softmax over a row that is "
            "hidden as a whole, zero divided by zero, or zero times minus infinity (as in dropout on masked scores)."
        )
    return yours


def output_of(attention: RemoteObject, inputs: torch.Tensor) -> torch.Tensor:
    """What your module makes of (B, T, 3), without changing it: (B, T, 2)."""
    output, [after] = attention.with_arguments(inputs)
    expect_unchanged("the tensor of inputs", after, inputs)
    return expect_tensor("the output", output, (*inputs.shape[:2], 2), "(B, T, d_out)")


@pytest.mark.example("causal_mask")
def test_causal_mask(student: Student) -> None:
    """The mask of six tokens is True above the diagonal, False elsewhere, and of dtype torch.bool."""
    mask = student.causal_mask(6)
    expect_values(
        "the mask",
        mask,
        (CAUSAL_WEIGHTS == 0).float(),
        shape="(T, T)",
        idea="the future of each row, to the right of the diagonal, is True (1), and everything else is False (0)",
    )
    if mask.dtype != torch.bool:
        fail(f"the mask should be of dtype torch.bool, yours is {mask.dtype}: it answers yes or no.")


@pytest.mark.example("mask_then_renormalize")
def test_mask_then_renormalize(student: Student) -> None:
    """The future of the weights is zero, and the remaining weights of each row are divided by their sum."""
    expect_values(
        "weights",
        student.mask_then_renormalize(worked_example("v2.weights")),
        CAUSAL_WEIGHTS,
        shape="(T, T)",
        idea="set the future to zero, then divide the remaining weights of each row by their sum",
    )


@pytest.mark.example("mask_then_softmax")
@pytest.mark.parametrize("future", [pytest.param(0.3, id="ordinary"), pytest.param(1000.0, id="large")])
def test_mask_then_softmax_where_the_future_is(student: Student, future: float) -> None:
    """With the future of the scores at minus infinity, softmax turns them into causal weights."""
    expect_values(
        "weights",
        student.mask_then_softmax(masked_scores(future), 2),
        CAUSAL_WEIGHTS,
        shape="(T, T)",
        idea=f"softmax of scores / √d_k over the last dim, with the future, here {future}, at minus infinity before it",
    )


@pytest.mark.example("attention_dropout")
def test_attention_dropout(student: Student) -> None:
    """With p = 0.5, some of a hundred weights are dropped, and the kept ones are doubled."""
    # One in 2^99 right answers keeps all of a hundred weights, or none.
    weights = student.attention_dropout(torch.full((10, 10), 0.1), 0.5)
    weights = expect_tensor("the result", weights, (10, 10), "that of the weights")
    kept = weights[weights != 0]
    if kept.numel() in (0, 100):
        fail(f"with p = 0.5 about half of 100 weights should be kept, yours keeps {kept.numel()}.")
    expect_values(
        "what is kept",
        kept,
        torch.full_like(kept, 0.2),
        shape="(number kept,)",
        idea="kept weights of 0.1 are divided by 1 - p = 0.5",
    )


@pytest.mark.example("attention_dropout")
def test_attention_dropout_with_p_zero(student: Student) -> None:
    """If p is 0, all weights are returned without change."""
    expect_values(
        "weights",
        student.attention_dropout(CAUSAL_WEIGHTS, 0.0),
        CAUSAL_WEIGHTS,
        shape="that of the weights",
        idea="if p is 0 nothing changes",
    )


@pytest.mark.example("attention_dropout")
@pytest.mark.parametrize("p", [pytest.param(-0.1, id="negative"), pytest.param(1.0, id="one")])
def test_attention_dropout_refuses_a_p_that_is(student: Student, p: float) -> None:
    """A p below 0, or of 1 or more, raises a ValueError."""
    idea = f"p = {p} is not at least 0 and below 1"
    expect_error(f"p = {p}", student.attention_dropout, CAUSAL_WEIGHTS, p, idea=idea)


@pytest.mark.example("attention_dropout")
def test_attention_dropout_draws_from_the_generator(student: Student) -> None:
    """The same state of a generator drops the same weights, and another state drops others."""
    results = []
    for seed in (1, 1, 2):
        weights = student.attention_dropout(torch.ones(10, 10), 0.5, student.generator(seed))
        results.append(expect_tensor("the result", weights, (10, 10), "that of the weights"))
    if not torch.equal(results[0], results[1]):
        fail("the same state of the generator should drop the same weights: draw only from the generator.")
    if torch.equal(results[1], results[2]):
        fail("another state of the generator should drop other weights: draw from it, and do not set its seed.")


@pytest.mark.example("CausalAttention")
def test_output_of_causal_attention(student: Student) -> None:
    """Of two texts in a batch, the first has the causal contexts of the worked example."""
    batch = torch.stack([INPUTS, INPUTS.flip(0)])  # two texts: (2, 6, 3)
    expect_values(
        "the output for the first text",
        output_of(attention_of_the_worked_example(student), batch)[0],
        CONTEXTS,
        shape="(T, d_out)",
        idea="project, score, mask, scale by √d_out, softmax, and sum the values by their weights",
    )


@pytest.mark.example("CausalAttention")
def test_a_text_shorter_than_context_length(student: Student) -> None:
    """A text of three tokens has the same contexts as the first three tokens of the longer text."""
    expect_values(
        "the output for the first three tokens",
        output_of(attention_of_the_worked_example(student, context_length=8), INPUTS[None, :3]),
        CONTEXTS[None, :3],
        shape="(B, T, d_out)",
        idea="no token sees a later one, so the outputs are the same as in the longer text",
    )


@pytest.mark.example("CausalAttention")
def test_causal_attention_drops_weights_in_training_only(student: Student) -> None:
    """In training, weights after softmax are dropped, new in each call. In eval mode none are dropped."""
    module = attention_of_the_worked_example(student, dropout=0.5)
    if not torch.equal(output_of(module, INPUTS[None]), output_of(module, INPUTS[None])):
        fail("in eval mode two calls should give the same, yours do not: dropout is only for training.")
    module.train()
    outputs = [output_of(module, INPUTS[None]) for _ in range(20)]
    if all(torch.equal(outputs[0], output) for output in outputs):
        fail("in training two calls should differ, yours never do: dropout sets some of the weights to zero.")
    # The first token has one weight, 1, and its output is its value times 0 or times 2.
    for output in outputs:
        if not any(torch.allclose(output[0, 0].to(VALUES.dtype), times * VALUES[0], atol=1e-4) for times in (0, 2)):
            fail(
                "in training with dropout 0.5 the first token's output should be its value times 0 or times 2, yours "
                "is neither: dropout acts on the weights, after softmax, and divides the kept weights by 0.5."
            )


@pytest.mark.example("CausalAttention")
def test_layers_of_causal_attention_have_a_bias_on_demand_only(student: Student) -> None:
    """W_query, W_key and W_value are linear layers, with a bias only if qkv_bias is True."""
    for wanted in (False, True):
        attention = expect_module("CausalAttention", student.CausalAttention(3, 2, 6, 0.0, wanted))
        for name in LAYER_WEIGHTS:
            if (expect_linear(attention, name).get("bias") is not None) != wanted:
                fail(f"with qkv_bias={wanted} {name} should have {'a' if wanted else 'no'} bias.")
