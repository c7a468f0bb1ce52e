"""The worked examples of unit 4: the ten steps of `the cat sleeps`, and two modules. Run `pytest` in this folder.

The heads are your own CausalAttention of unit 3. The grader goes by the rules in the docstrings, with other
sizes and other numbers than these.
"""

from __future__ import annotations

import multi_head_attention
import pytest
import torch
from checking import call, expect_error, expect_values, fail, worked_example
from torch import nn

INPUTS = worked_example("inputs").unsqueeze(0)  # (6, 3) -> (1, 6, 3)
MATRICES = ("W_query", "W_key", "W_value")
INDIVISIBLE = "six features cannot be shared out evenly among four heads"


def seeded_wrapper(d_out: int = 2, qkv_bias: bool = False) -> nn.Module:
    """Two heads, each from 3 to d_out, for up to six tokens."""
    torch.manual_seed(123)
    return call(multi_head_attention.MultiHeadAttentionWrapper, 3, d_out, 6, 0.0, 2, qkv_bias)


def seeded_attention(d_out: int = 2, dropout: float = 0.0, qkv_bias: bool = False) -> nn.Module:
    """Two heads, from 3 to d_out together, for up to six tokens."""
    torch.manual_seed(123)
    return call(multi_head_attention.MultiHeadAttention, 3, d_out, 6, dropout, 2, qkv_bias)


def test_unroll_heads() -> None:
    expect_values(
        "the unrolled queries",
        call(multi_head_attention.unroll_heads, worked_example("ten_steps.queries"), 2),
        worked_example("ten_steps.unrolled_queries"),
        shape="(B, T, H, head_dim)",
        idea="the first head_dim features of a token belong to head 0, the next to head 1",
    )


def test_unroll_heads_refuses_what_does_not_divide() -> None:
    expect_error(multi_head_attention.unroll_heads, worked_example("ten_steps.queries"), 4, idea=INDIVISIBLE)


def test_group_by_head() -> None:
    expect_values(
        "the grouped queries",
        call(multi_head_attention.group_by_head, worked_example("ten_steps.unrolled_queries")),
        worked_example("ten_steps.grouped_queries"),
        shape="(B, H, T, head_dim)",
        idea="the dimensions of heads and tokens change places, and each token keeps its features",
    )


@pytest.mark.parametrize(
    ("queries", "keys", "scores"),
    [
        ("ten_steps.grouped_queries", "ten_steps.grouped_keys", "ten_steps.scores"),
        ("batched_matmul.input", "batched_matmul.input", "batched_matmul.result"),
    ],
)
def test_head_scores(queries: str, keys: str, scores: str) -> None:
    expect_values(
        "the scores",
        call(multi_head_attention.head_scores, worked_example(queries), worked_example(keys)),
        worked_example(scores),
        shape="(B, H, T, T)",
        idea="queries @ transposed keys for each head, not scaled yet, one row for each query",
    )


def test_head_weights() -> None:
    expect_values(
        "the weights",
        call(multi_head_attention.head_weights, worked_example("ten_steps.scores"), 3),
        worked_example("ten_steps.weights"),
        shape="(B, H, T, T)",
        idea="softmax of scores / √head_dim over the keys, and no weight for a later token",
    )


def test_split_heads() -> None:
    expect_values(
        "the split queries",
        call(multi_head_attention.split_heads, worked_example("ten_steps.queries"), 2),
        worked_example("ten_steps.grouped_queries"),
        shape="(B, H, T, head_dim)",
        idea="unroll first, then group: a single reshape would mix the tokens",
    )


def test_split_heads_refuses_what_does_not_divide() -> None:
    expect_error(multi_head_attention.split_heads, worked_example("ten_steps.queries"), 4, idea=INDIVISIBLE)


def test_merge_heads() -> None:
    expect_values(
        "the merged contexts",
        call(multi_head_attention.merge_heads, worked_example("ten_steps.contexts")),
        worked_example("ten_steps.merged"),
        shape="(B, T, H · head_dim)",
        idea="bring the tokens to the front again, then put the heads of each token side by side",
    )


def test_heads_of_the_wrapper() -> None:
    heads = getattr(seeded_wrapper(), "heads", None)
    if not isinstance(heads, nn.ModuleList):
        fail(
            f"heads should be an nn.ModuleList, yours is of type {type(heads).__name__}: "
            "the weights in a plain list are found by no optimiser."
        )
    if len(heads) != 2:
        fail(f"heads should hold num_heads = 2 modules, yours holds {len(heads)}.")


def test_output_of_the_wrapper() -> None:
    expect_values(
        "the output of the wrapper",
        call(seeded_wrapper(), INPUTS),
        worked_example("wrapper.two_heads_four_dims").unsqueeze(0),
        shape="(B, T, H · d_out)",
        idea="the outputs of the heads side by side, head 0 first",
    )


def test_two_dimensional_output() -> None:
    torch.manual_seed(123)
    expect_values(
        "the output",
        call(call(multi_head_attention.two_dimensional_output, 3, 6), INPUTS),
        worked_example("wrapper.two_heads_two_dims").unsqueeze(0),
        shape="(B, T, 2)",
        idea="two heads side by side give two numbers when each of them gives one",
    )


@pytest.mark.parametrize("name", MATRICES)
def test_weights_of_multi_head_attention_are_linear_layers_without_bias(name: str) -> None:
    layer = getattr(seeded_attention(), name, None)
    if not isinstance(layer, nn.Linear):
        fail(f"{name} should be an nn.Linear, yours is of type {type(layer).__name__}.")
    if layer.bias is not None:
        fail(f"{name} should have no bias here, yours has one: qkv_bias is False unless the caller says else.")


def test_output_of_multi_head_attention() -> None:
    expect_values(
        "the output of MultiHeadAttention",
        call(seeded_attention(), INPUTS),
        worked_example("split.two_heads_two_dims").unsqueeze(0),
        shape="(B, T, d_out)",
        idea="split, attend in every head over √head_dim, merge, and pass through out_proj",
    )


def test_dropout_of_multi_head_attention_rests_outside_training() -> None:
    expect_values(
        "the output in eval mode",
        call(seeded_attention(dropout=0.5).eval(), INPUTS),
        worked_example("split.two_heads_two_dims").unsqueeze(0),
        shape="(B, T, d_out)",
        idea="dropout acts in training only",
    )


def test_dropout_of_multi_head_attention_acts_in_training() -> None:
    attention = seeded_attention(dropout=0.5).train()
    if torch.equal(call(attention, INPUTS), call(attention, INPUTS)):
        fail("In training, two calls should differ, yours agree: dropout sets other weights to zero each time.")


def test_multi_head_attention_refuses_what_does_not_divide() -> None:
    expect_error(multi_head_attention.MultiHeadAttention, 3, 6, 6, 0.0, 4, idea=INDIVISIBLE)


def test_after_stack_heads_the_module_gives_the_outputs_of_the_wrapper() -> None:
    wrapper, attention = seeded_wrapper(), seeded_attention(d_out=4)
    call(multi_head_attention.stack_heads, wrapper, attention)
    nn.init.eye_(attention.out_proj.weight)
    nn.init.zeros_(attention.out_proj.bias)
    expect_values(
        "the output of attention",
        call(attention, INPUTS),
        worked_example("wrapper.two_heads_four_dims").unsqueeze(0),
        shape="(B, T, d_out)",
        idea="the weights of the heads lie along the outputs of one layer, head 0 first",
    )


def test_stack_heads_refuses_widths_that_do_not_match() -> None:
    expect_refusal(
        seeded_wrapper(d_out=4),
        seeded_attention(d_out=4),
        idea="two heads of width 4 do not fit into a module of width 4",
    )


def test_stack_heads_refuses_biases_that_attention_alone_has() -> None:
    expect_refusal(
        seeded_wrapper(),
        seeded_attention(d_out=4, qkv_bias=True),
        idea="attention has biases, and the heads have none to put in their place",
    )


def expect_refusal(wrapper: nn.Module, attention: nn.Module, *, idea: str) -> None:
    """Fail unless stack_heads raises an error, of whatever kind: yours, or one of torch's."""
    try:
        multi_head_attention.stack_heads(wrapper, attention)
    except NotImplementedError:
        call(multi_head_attention.stack_heads, wrapper, attention)  # fails, and says that it is not written yet
    except Exception:
        return
    fail(f"stack_heads should raise an error here, yours raises nothing: {idea}.")


def test_gpt2_small_attention_has_as_many_parameters_as_in_the_book() -> None:
    attention = call(multi_head_attention.gpt2_small_attention)
    count = sum(parameter.numel() for parameter in attention.parameters())
    if count != 2_360_064:
        fail(f"2,360,064 parameters are expected, yours has {count:,}: GPT-2's own biases would make 2,362,368.")


def test_gpt2_small_attention_takes_1024_tokens() -> None:
    attention = call(multi_head_attention.gpt2_small_attention)
    with torch.no_grad():
        output = call(attention, torch.zeros(1, 1024, 768))
    if output.shape != (1, 1024, 768):
        fail(f"the output should have shape (1, 1024, 768), yours is {tuple(output.shape)}.")
