"""Worked examples of unit 8, with numbers that are easy to check by hand. Run `pytest` in this folder.

`student` is your file: `student.additive_scores(…)` calls your additive_scores. The grader uses the
rules in the docstrings, with other sizes and other numbers than these.
"""

from __future__ import annotations

from typing import Any

import pytest
import torch
from checking import expect_linear, expect_module, expect_results, expect_values, fail

from grader.testing.student import RemoteObject, Student

# For additive attention: one decoder state, three encoder states, and the weights (h = 2, a = 3).
DECODER_STATE = torch.tensor([1.0, 0.0])
ENCODER_STATES = torch.tensor([[0.0, 0.0], [0.0, 1.0], [2.0, 0.0]])
W_DECODER = torch.tensor([[1.0, 0.0, 0.0], [0.0, 1.0, 0.0]])
W_ENCODER = torch.tensor([[0.0, 0.0, 1.0], [0.0, 1.0, 0.0]])
V = torch.tensor([1.0, 2.0, -1.0])

# For cross-attention. With W_query and W_key as below, the keys of the two tokens in the context are (1, 0) and (0, 1),
# and the scores of a query are its own two numbers: √2 ln 3 and 0, 0 and 0, 0 and √2 ln 4.
X = 2**0.5 * torch.tensor([[3.0, 1.0], [1.0, 1.0], [1.0, 4.0]]).log()
CONTEXT = torch.tensor([[1.0, 0.0, 0.0], [0.0, 1.0, 0.0]])
WEIGHTS = {
    "W_query": torch.tensor([[1.0, 0.0], [0.0, 1.0]]),
    "W_key": torch.tensor([[1.0, 0.0, 7.0], [0.0, 1.0, 0.0]]),
    "W_value": torch.tensor([[10.0, 0.0, 0.0], [0.0, 20.0, 0.0]]),
}
# The weights are 3/4 and 1/4, 1/2 and 1/2, 1/5 and 4/5; the values (10, 0) and (0, 20).
OUTPUT = torch.tensor([[7.5, 5.0], [5.0, 10.0], [2.0, 16.0]])
# A token of the context that is padding: its values must not matter.
PADDING = torch.tensor([3.0, -4.0, 5.0])


def attention_of_the_worked_example(student: Student) -> RemoteObject:
    attention = expect_module("CrossAttention(2, 3, 2)", student.CrossAttention(2, 3, 2))
    for name, weight in WEIGHTS.items():
        layer = expect_linear(attention, name)
        shape, wanted = tuple(layer.get("weight").shape), tuple(weight.shape)
        if shape != wanted:
            fail(
                f"{name} should be nn.Linear({wanted[1]}, {wanted[0]}) here, with a weight of shape {wanted}; "
                f"the weight of yours has shape {shape}."
            )
        if layer.get("bias") is not None:
            fail(f"{name} should have no bias, yours has one: bias=False.")
    attention.set({f"{name}.weight": weight for name, weight in WEIGHTS.items()})
    return attention


def expect_output(yours: Any, idea: str) -> None:
    """Expect the output of the worked example for both elements of a batch."""
    expect_values("the output", yours, torch.stack([OUTPUT, OUTPUT]), shape="(B, T_q, d_out)", idea=idea)


@pytest.mark.example("rnn_hidden_states")
def test_the_trace_of_a_single_token_fades(student: Student) -> None:
    """After the first token all inputs are zero, and its trace in the states becomes smaller."""
    inputs, one, zero = torch.tensor([[1.0], [0.0], [0.0], [0.0]]), torch.ones(1, 1), torch.zeros(1)
    expect_values(
        "the states",
        student.rnn_hidden_states(inputs, one, one, zero),
        torch.tensor([[0.7616], [0.6420], [0.5663], [0.5126]]),
        shape="(T, h)",
        idea="tanh(1), then the tanh of that, and so on: each state is computed from the one before it",
    )


@pytest.mark.example("rnn_hidden_states")
def test_rnn_hidden_states(student: Student) -> None:
    """The states after two tokens of three features, with states of two."""
    inputs = torch.tensor([[1.0, 0.0, 2.0], [0.0, 1.0, 0.0]])
    W_x = torch.tensor([[0.5, 0.0], [0.0, -1.0], [0.0, 0.25]])
    W_h = torch.tensor([[0.0, 1.0], [0.5, 0.0]])
    expect_values(
        "the states",
        student.rnn_hidden_states(inputs, W_x, W_h, torch.tensor([0.1, 0.0])),
        # tanh of (0.5 + 0.1, 0.5), then tanh of (0.5 · 0.4621 + 0.1, -1 + 0.5370)
        torch.tensor([[0.5370, 0.4621], [0.3195, -0.4325]]),
        shape="(T, h)",
        idea="state t is tanh(inputs[t] @ W_x + the state before it @ W_h + bias), and the state before the first "
        "token is zeros",
    )


@pytest.mark.example("additive_scores")
def test_additive_scores(student: Student) -> None:
    """The scores of three encoder states for one state of the decoder."""
    expect_values(
        "the scores",
        student.additive_scores(DECODER_STATE, ENCODER_STATES, W_DECODER, W_ENCODER, V),
        # The sums are (1, 0, 0), (1, 1, 0) and (1, 0, 2). tanh(1) = 0.7616, and tanh(2) = 0.9640.
        torch.tensor([0.7616, 2.2848, -0.2024]),
        shape="(T,)",
        idea="project both sides, add, take the tanh, then the dot product with v",
    )


@pytest.mark.example("bahdanau_context")
def test_bahdanau_context(student: Student) -> None:
    """Softmax turns the additive scores into weights, and the context is the weighted sum of the encoder states."""
    yours = student.bahdanau_context(DECODER_STATE, ENCODER_STATES, W_DECODER, W_ENCODER, V)
    context, weights = expect_results("bahdanau_context", yours, ("context", "weights"))
    expect_values(
        "weights",
        weights,
        torch.tensor([0.1676, 0.7685, 0.0639]),
        shape="(T,)",
        idea="softmax of the additive scores, over the encoder states",
    )
    expect_values(
        "context",
        context,
        torch.tensor([0.1278, 0.7685]),
        shape="(h,)",
        idea="the sum of the encoder states, each times its weight",
    )


@pytest.mark.example("CrossAttention")
def test_cross_attention(student: Student) -> None:
    """Each query mixes the values of the context with its weights."""
    output = attention_of_the_worked_example(student)(torch.stack([X, X]), torch.stack([CONTEXT, CONTEXT]))
    expect_output(output, "queries from x, keys and values from context; scores / √d_out, softmax over the context")


@pytest.mark.example("CrossAttention")
@pytest.mark.parametrize(
    "places",
    [pytest.param((2, 2), id="last"), pytest.param((0, 0), id="first"), pytest.param((1, 2), id="here_and_there")],
)
def test_padding_gets_no_weight_where_it_stands(student: Student, places: tuple[int, int]) -> None:
    """A padding token in each context changes no output, at any position."""
    contexts = [torch.cat([CONTEXT[:place], PADDING[None], CONTEXT[place:]]) for place in places]  # (3, 3) each
    padding_mask = torch.tensor([[column == place for column in range(3)] for place in places])
    output = attention_of_the_worked_example(student)(torch.stack([X, X]), torch.stack(contexts), padding_mask)
    expect_output(output, "the scores of the padding become minus infinity before the softmax, for every query")


@pytest.mark.example("CrossAttention")
def test_a_mask_that_hides_nothing(student: Student) -> None:
    """With a mask that is False everywhere, the outputs are the same as without a mask."""
    padding_mask = torch.zeros(2, 2, dtype=torch.bool)
    contexts = torch.stack([CONTEXT, CONTEXT])
    output = attention_of_the_worked_example(student)(torch.stack([X, X]), contexts, padding_mask)
    expect_output(output, "if padding_mask is False everywhere, the result is the same as without a mask")
