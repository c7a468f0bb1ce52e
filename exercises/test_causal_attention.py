"""The worked example of unit 3: the six tokens of unit 2, which now see only the past. Run `pytest` in this folder.

The grader goes by the rules in the docstrings, with other sizes and other numbers than these.
"""

from __future__ import annotations

from typing import Any

import causal_attention
import pytest
import torch
from checking import WORKED_EXAMPLES, call, expect_error, expect_values, fail, worked_example
from torch import nn

INPUTS = worked_example("inputs")
CAUSAL_WEIGHTS = worked_example("causal.weights")
MATRICES = ("W_query", "W_key", "W_value")


def masked_scores(future: float) -> torch.Tensor:
    """The scores of the worked example, (6, 6), with this number in the place of the future."""
    rows = WORKED_EXAMPLES["examples"]["causal.masked_scores"]["value"]
    return torch.tensor([[future if score is None else score for score in row] for row in rows])


def attention_of_the_worked_example(context_length: int = 6, dropout: float = 0.0) -> nn.Module:
    """A CausalAttention with the weights of unit 2's second version, (3, 2), in eval mode."""
    torch.manual_seed(789)
    layers = {name: nn.Linear(3, 2, bias=False) for name in MATRICES}
    attention = call(causal_attention.CausalAttention, 3, 2, context_length, dropout)
    for name, layer in layers.items():
        yours = getattr(attention, name, None)
        if not isinstance(yours, nn.Linear) or yours.weight.shape != (2, 3):
            fail(f"{name} should be nn.Linear(d_in, d_out), here nn.Linear(3, 2); yours is {yours}.")
        yours.weight.data.copy_(layer.weight.data)
    return attention.eval()


def expect_tensor(name: str, yours: Any, shape: tuple[int, ...], names: str) -> torch.Tensor:
    """A tensor of finite numbers and this shape, whatever they are."""
    if not isinstance(yours, torch.Tensor):
        fail(f"{name} should be one tensor, yours is of type {type(yours).__name__}.")
    if yours.shape != shape:
        fail(f"{name} should have shape {names} = {shape}, yours is {tuple(yours.shape)}.")
    if not yours.isfinite().all():
        fail(
            f"{name} should hold finite numbers alone, yours does not: what gives none is a softmax over a row that is "
            "hidden as a whole, zero divided by zero, or zero times minus infinity (as in dropout on masked scores)."
        )
    return yours.detach()


def output_of(attention: nn.Module, inputs: torch.Tensor) -> torch.Tensor:
    """What your module makes of (B, T, 3): (B, T, 2)."""
    return expect_tensor("the output", call(attention, inputs), (*inputs.shape[:2], 2), "(B, T, d_out)")


def contexts(attention: nn.Module) -> torch.Tensor:
    """What causal attention should give for the inputs, (6, 2)."""
    return CAUSAL_WEIGHTS @ attention.W_value(INPUTS).detach()


def test_causal_mask() -> None:
    mask = call(causal_attention.causal_mask, 6)
    expect_values(
        "the mask",
        mask,
        (CAUSAL_WEIGHTS == 0).float(),
        shape="(T, T)",
        idea="the future of each row, to the right of the diagonal, is True (1), and all else is False (0)",
    )
    if mask.dtype != torch.bool:
        fail(f"the mask should be of dtype torch.bool, yours is {mask.dtype}: it answers yes or no.")


def test_mask_then_renormalize() -> None:
    expect_values(
        "weights",
        call(causal_attention.mask_then_renormalize, worked_example("v2.weights")),
        CAUSAL_WEIGHTS,
        shape="(T, T)",
        idea="set the future to zero, then divide each row by the sum that is left of it",
    )


@pytest.mark.parametrize("future", [0.3, 1000.0])
def test_mask_then_softmax(future: float) -> None:
    expect_values(
        "weights",
        call(causal_attention.mask_then_softmax, masked_scores(future), 2),
        CAUSAL_WEIGHTS,
        shape="(T, T)",
        idea=f"softmax of scores / √d_k over the last dim, with the future, here {future}, at minus infinity before it",
    )


def test_attention_dropout() -> None:
    # One in 2^99 right answers keeps all of a hundred weights, or none.
    weights = call(causal_attention.attention_dropout, torch.full((10, 10), 0.1), 0.5)
    weights = expect_tensor("the result", weights, (10, 10), "that of the weights")
    kept = weights[weights != 0]
    if kept.numel() in (0, 100):
        fail(f"with p = 0.5 about half of 100 weights should be kept, yours keeps {kept.numel()}.")
    expect_values(
        "what is kept",
        kept,
        torch.full_like(kept, 0.2),
        shape="(number kept,)",
        idea="weights of 0.1 that are kept are divided by 1 - p = 0.5",
    )


def test_attention_dropout_with_p_zero() -> None:
    expect_values(
        "weights",
        call(causal_attention.attention_dropout, CAUSAL_WEIGHTS, 0.0),
        CAUSAL_WEIGHTS,
        shape="that of the weights",
        idea="where p is 0 nothing changes",
    )


@pytest.mark.parametrize("p", [-0.1, 1.0])
def test_attention_dropout_refuses_a_p_outside_the_range(p: float) -> None:
    expect_error(causal_attention.attention_dropout, CAUSAL_WEIGHTS, p, idea=f"p = {p} is not at least 0 and below 1")


def test_attention_dropout_draws_from_the_generator() -> None:
    results = []
    for seed in (1, 1, 2):
        generator = torch.Generator().manual_seed(seed)
        weights = call(causal_attention.attention_dropout, torch.ones(10, 10), 0.5, generator)
        results.append(expect_tensor("the result", weights, (10, 10), "that of the weights"))
    if not torch.equal(results[0], results[1]):
        fail("the same state of the generator should drop the same weights: draw from the generator alone.")
    if torch.equal(results[1], results[2]):
        fail("another state of the generator should drop other weights: draw from it, and do not set its seed.")


def test_output_of_causal_attention() -> None:
    attention = attention_of_the_worked_example()
    batch = torch.stack([INPUTS, INPUTS.flip(0)])  # two texts: (2, 6, 3)
    expect_values(
        "the output for the first text",
        output_of(attention, batch)[0],
        contexts(attention),
        shape="(T, d_out)",
        idea="project, score, mask, scale by √d_out, softmax, and sum the values by their weights",
    )


def test_a_text_shorter_than_context_length() -> None:
    attention = attention_of_the_worked_example(context_length=8)
    expect_values(
        "the output for the first three tokens",
        output_of(attention, INPUTS[None, :3]),
        contexts(attention)[None, :3],
        shape="(B, T, d_out)",
        idea="no token sees a later one, so the outputs are those of the longer text",
    )


def test_causal_attention_drops_weights_in_training_only() -> None:
    attention = attention_of_the_worked_example(dropout=0.5)
    if not torch.equal(output_of(attention, INPUTS[None]), output_of(attention, INPUTS[None])):
        fail("in eval mode two calls should give the same, yours do not: dropout is for training only.")
    outputs = [output_of(attention.train(), INPUTS[None]) for _ in range(20)]
    if all(torch.equal(outputs[0], output) for output in outputs):
        fail("in training two calls should differ, yours never do: dropout sets some of the weights to zero.")
    # The first token has one weight, 1, and its output is its value times 0 or times 2.
    value = attention.W_value(INPUTS[0]).detach()
    for output in outputs:
        if not any(torch.allclose(output[0, 0], times * value, atol=1e-4) for times in (0, 2)):
            fail(
                "in training with dropout 0.5 the first token's output should be its value times 0 or times 2, yours "
                "is neither: dropout acts on the weights, after softmax, and divides what is kept by 0.5."
            )


def test_layers_of_causal_attention_have_a_bias_on_demand_only() -> None:
    for wanted in (False, True):
        attention = call(causal_attention.CausalAttention, 3, 2, 6, 0.0, wanted)
        for name in MATRICES:
            layer = getattr(attention, name, None)
            if not isinstance(layer, nn.Linear):
                fail(f"{name} should be an nn.Linear, yours is of type {type(layer).__name__}.")
            if (layer.bias is not None) != wanted:
                fail(f"with qkv_bias={wanted} {name} should have {'a' if wanted else 'no'} bias.")
