"""The worked examples of unit 4: the ten steps of `the cat sleeps`, and two modules. Run `pytest` in this folder.

`student` is your file: `student.unroll_heads(x, 2)` is what your unroll_heads gives. The heads are your own
CausalAttention of unit 3. The grader uses the rules in the docstrings, with other sizes and other numbers than
these.
"""

from __future__ import annotations

from typing import Any

import pytest
import torch
from checking import (
    described,
    expect_error,
    expect_linear,
    expect_module,
    expect_unchanged,
    expect_values,
    fail,
    kept,
    type_name,
    worked_example,
)

from grader.sandbox.failures import Raised
from grader.testing.student import RemoteObject, Student

INPUTS = worked_example("inputs").unsqueeze(0)  # (6, 3) -> (1, 6, 3)
PROJECTIONS = ("W_query", "W_key", "W_value")
INDIVISIBLE = "four heads cannot share six features equally"

each_weight = pytest.mark.parametrize("name", [pytest.param(name, id=name) for name in PROJECTIONS])


def drawn(shapes: dict[str, tuple[int, ...]], d_in: int, generator: torch.Generator) -> dict[str, torch.Tensor]:
    """What linear layers that take d_in features begin with: numbers for each name, of its shape."""
    most = d_in**-0.5
    return {name: torch.empty(shape).uniform_(-most, most, generator=generator) for name, shape in shapes.items()}


def new_wrapper(student: Student, d_out: int = 2, qkv_bias: bool = False) -> RemoteObject:
    """Two heads, each from 3 to d_out, for up to six tokens."""
    return expect_module("MultiHeadAttentionWrapper", student.MultiHeadAttentionWrapper(3, d_out, 6, 0.0, 2, qkv_bias))


def new_attention(student: Student, d_out: int = 2, dropout: float = 0.0) -> RemoteObject:
    """Two heads, from 3 to d_out together, for up to six tokens."""
    return expect_module("MultiHeadAttention", student.MultiHeadAttention(3, d_out, 6, dropout, 2))


def expect_two(heads: RemoteObject) -> None:
    count = heads.method("__len__")()
    if count != 2:
        fail(f"heads should hold num_heads = 2 modules, yours holds {count}.")


def set_heads(wrapper: RemoteObject, d_out: int) -> RemoteObject:
    """Give the two heads what their layers draw from seed 123. By names: in which order yours are made is up to you."""
    heads = kept(wrapper, "heads")
    if isinstance(heads, RemoteObject):
        expect_two(heads)
        heads = [heads.method("__getitem__")(head) for head in range(2)]
    if not (isinstance(heads, list) and len(heads) == 2):
        fail(f"heads should hold num_heads = 2 modules, yours is {described(heads)}.")
    seeded = torch.Generator().manual_seed(123)
    for number, head in enumerate(heads):
        weights = drawn({f"{name}.weight": (d_out, 3) for name in PROJECTIONS}, 3, seeded)
        expect_module(f"heads[{number}]", head).set(weights)
    return wrapper


def attention_of_the_worked_example(student: Student, dropout: float = 0.0) -> RemoteObject:
    """The four layers have what they draw from seed 123. By names: in which order yours are made is up to you."""
    seeded = torch.Generator().manual_seed(123)
    attention = new_attention(student, dropout=dropout)
    attention.set(drawn({f"{name}.weight": (2, 3) for name in PROJECTIONS}, 3, seeded))
    attention.set(drawn({"out_proj.weight": (2, 2), "out_proj.bias": (2,)}, 2, seeded))
    return attention


def output_without_side_effects(module: RemoteObject) -> Any:
    """What your module makes of the inputs, which it leaves as they were."""
    output, (after,) = module.with_arguments(INPUTS)
    expect_unchanged("inputs", after, INPUTS)
    return output


def output_of(module: RemoteObject, inputs: torch.Tensor, shape: tuple[int, ...], idea: str) -> torch.Tensor:
    """What your module makes of the inputs, of this shape."""
    yours = module(inputs)
    if not isinstance(yours, torch.Tensor) or yours.shape != shape:
        fail(f"the output should be one tensor of shape {shape}, yours is {described(yours)}: {idea}.")
    return yours


@pytest.mark.example("unroll_heads")
def test_unroll_heads(student: Student) -> None:
    """The six features of each token become two rows of three, one for each head."""
    expect_values(
        "the unrolled queries",
        student.unroll_heads(worked_example("ten_steps.queries"), 2),
        worked_example("ten_steps.unrolled_queries"),
        shape="(B, T, H, head_dim)",
        idea="the first head_dim features of a token belong to head 0, the next to head 1",
    )


@pytest.mark.example("unroll_heads")
def test_unroll_heads_refuses_what_does_not_divide(student: Student) -> None:
    """Four heads cannot share six features equally: a ValueError."""
    expect_error("num_heads = 4", student.unroll_heads, worked_example("ten_steps.queries"), 4, idea=INDIVISIBLE)


@pytest.mark.example("group_by_head")
def test_group_by_head(student: Student) -> None:
    """The rows of head 0 come first, one for each token, and then the rows of head 1."""
    expect_values(
        "the grouped queries",
        student.group_by_head(worked_example("ten_steps.unrolled_queries")),
        worked_example("ten_steps.grouped_queries"),
        shape="(B, H, T, head_dim)",
        idea="the dimensions of heads and tokens are swapped, and each token keeps its features",
    )


@pytest.mark.example("head_scores")
@pytest.mark.parametrize(
    ("queries", "keys", "scores"),
    [
        pytest.param("ten_steps.grouped_queries", "ten_steps.grouped_keys", "ten_steps.scores", id="of_the_cat_sleeps"),
        pytest.param("batched_matmul.input", "batched_matmul.input", "batched_matmul.result", id="of_tokens_alone"),
    ],
)
def test_head_scores(student: Student, queries: str, keys: str, scores: str) -> None:
    """The scores of each head are the dot products of its queries with its keys, not yet scaled."""
    expect_values(
        "the scores",
        student.head_scores(worked_example(queries), worked_example(keys)),
        worked_example(scores),
        shape="(B, H, T, T)",
        idea="queries @ transposed keys for each head, not yet scaled, one row for each query",
    )


@pytest.mark.example("head_weights")
def test_head_weights(student: Student) -> None:
    """Softmax turns the scaled scores into weights, with no weight for a later token."""
    expect_values(
        "the weights",
        student.head_weights(worked_example("ten_steps.scores"), 3),
        worked_example("ten_steps.weights"),
        shape="(B, H, T, T)",
        idea="softmax of scores / √head_dim over the keys, and no weight for a later token",
    )


@pytest.mark.example("split_heads")
def test_split_heads(student: Student) -> None:
    """Split queries are unrolled first, and then grouped by head."""
    expect_values(
        "the split queries",
        student.split_heads(worked_example("ten_steps.queries"), 2),
        worked_example("ten_steps.grouped_queries"),
        shape="(B, H, T, head_dim)",
        idea="unroll first, then group: a single reshape would mix the tokens",
    )


@pytest.mark.example("split_heads")
def test_split_heads_refuses_what_does_not_divide(student: Student) -> None:
    """Four heads cannot share six features equally: a ValueError."""
    expect_error("num_heads = 4", student.split_heads, worked_example("ten_steps.queries"), 4, idea=INDIVISIBLE)


@pytest.mark.example("merge_heads")
def test_merge_heads(student: Student) -> None:
    """The contexts of both heads are next to each other again, for each token."""
    expect_values(
        "the merged contexts",
        student.merge_heads(worked_example("ten_steps.contexts")),
        worked_example("ten_steps.merged"),
        shape="(B, T, H · head_dim)",
        idea="put the tokens before the heads again, then join the heads of each token",
    )


@pytest.mark.example("MultiHeadAttentionWrapper")
def test_heads_of_the_wrapper(student: Student) -> None:
    """The wrapper keeps its two heads in an nn.ModuleList named heads."""
    heads = kept(new_wrapper(student), "heads")
    if not (isinstance(heads, RemoteObject) and "torch.nn.modules.container.ModuleList" in heads.kinds):
        fail(
            f"heads should be an nn.ModuleList, yours is of type {type_name(heads)}: "
            "the weights in a plain list are found by no optimiser."
        )
    expect_two(heads)


@pytest.mark.example("MultiHeadAttentionWrapper")
def test_output_of_the_wrapper(student: Student) -> None:
    """The wrapper concatenates the outputs of its heads."""
    expect_values(
        "the output of the wrapper",
        output_without_side_effects(set_heads(new_wrapper(student), d_out=2)),
        worked_example("wrapper.two_heads_four_dims").unsqueeze(0),
        shape="(B, T, H · d_out)",
        idea="the concatenated outputs of the heads, head 0 first",
    )


@pytest.mark.example("two_dimensional_output")
def test_two_dimensional_output(student: Student) -> None:
    """The wrapper's two heads together give two numbers for each token."""
    wrapper = expect_module("two_dimensional_output", student.two_dimensional_output(3, 6))
    idea = "two heads give two numbers if each of them gives one"
    output_of(wrapper, INPUTS, (1, 6, 2), idea)  # a wrapper of another width has no place for the weights
    expect_values(
        "the output",
        set_heads(wrapper, d_out=1)(INPUTS),
        worked_example("wrapper.two_heads_two_dims").unsqueeze(0),
        shape="(B, T, 2)",
        idea=idea,
    )


@pytest.mark.example("MultiHeadAttention")
@each_weight
def test_weights_of_multi_head_attention_are_linear_layers_without_bias(student: Student, name: str) -> None:
    """W_query, W_key and W_value are linear layers, without a bias unless one is asked for."""
    attention = expect_module("MultiHeadAttention", student.MultiHeadAttention(3, 2, 6, 0.0, 2))
    layer = expect_linear(attention, name)
    if layer.get("bias") is not None:
        fail(f"{name} should have no bias here, yours has one: qkv_bias is False unless the caller says else.")


@pytest.mark.example("MultiHeadAttention")
def test_output_of_multi_head_attention(student: Student) -> None:
    """With the weights of the worked example the module gives its outputs."""
    expect_values(
        "the output of MultiHeadAttention",
        output_without_side_effects(attention_of_the_worked_example(student)),
        worked_example("split.two_heads_two_dims").unsqueeze(0),
        shape="(B, T, d_out)",
        idea="split, attend in every head over √head_dim, merge, and pass through out_proj",
    )


@pytest.mark.example("MultiHeadAttention")
def test_dropout_of_multi_head_attention_rests_outside_training(student: Student) -> None:
    """In eval mode dropout changes nothing."""
    module = attention_of_the_worked_example(student, dropout=0.5)
    module.eval()
    expect_values(
        "the output in eval mode",
        module(INPUTS),
        worked_example("split.two_heads_two_dims").unsqueeze(0),
        shape="(B, T, d_out)",
        idea="dropout acts in training only",
    )


@pytest.mark.example("MultiHeadAttention")
def test_dropout_of_multi_head_attention_acts_in_training(student: Student) -> None:
    """In training dropout sets different weights to zero in each call, so two outputs differ."""
    module = attention_of_the_worked_example(student, dropout=0.5)
    module.train()
    one, other = (output_of(module, INPUTS, (1, 6, 2), "d_out is 2 here") for _ in range(2))
    if torch.equal(one, other):
        fail("In training, two calls should differ, yours are equal: dropout sets different weights to zero each time.")


@pytest.mark.example("MultiHeadAttention")
def test_multi_head_attention_refuses_what_does_not_divide(student: Student) -> None:
    """Four heads cannot share six features equally: a ValueError."""
    expect_error("num_heads = 4", student.MultiHeadAttention, 3, 6, 6, 0.0, 4, idea=INDIVISIBLE)


@pytest.mark.example("stack_heads")
def test_after_stack_heads_the_module_gives_the_outputs_of_the_wrapper(student: Student) -> None:
    """With the weights of the heads, and an out_proj that changes nothing, the second module gives the same outputs."""
    attention = new_attention(student, d_out=4)
    student.stack_heads(set_heads(new_wrapper(student), d_out=2), attention)
    attention.set({"out_proj.weight": torch.eye(4), "out_proj.bias": torch.zeros(4)})
    expect_values(
        "the output of attention",
        attention(INPUTS),
        worked_example("wrapper.two_heads_four_dims").unsqueeze(0),
        shape="(B, T, d_out)",
        idea="the weights of the heads are stacked along the outputs of one layer, head 0 first",
    )


@pytest.mark.example("stack_heads")
def test_stack_heads_refuses_widths_that_do_not_match(student: Student) -> None:
    """Two heads of width 4 do not match a module of width 4: an error."""
    expect_refusal(
        student,
        new_wrapper(student, d_out=4),
        new_attention(student, d_out=4),
        idea="two heads of width 4 do not match a module of width 4",
    )


@pytest.mark.example("stack_heads")
def test_stack_heads_refuses_biases_that_the_heads_alone_have(student: Student) -> None:
    """If the heads have biases and attention has none, they would be lost: an error."""
    expect_refusal(
        student,
        new_wrapper(student, qkv_bias=True),
        new_attention(student, d_out=4),
        idea="the heads have biases, and attention has none",
    )


def expect_refusal(student: Student, wrapper: RemoteObject, attention: RemoteObject, *, idea: str) -> None:
    """Fail unless stack_heads raises an error, of whatever kind: yours, or one of torch's."""
    try:
        student.stack_heads(wrapper, attention)
    except Raised as error:
        if "NotImplementedError" in error.types or "Exception" not in error.types:
            raise
        return
    fail(f"stack_heads should raise an error here, yours raises nothing: {idea}.")


def gpt2_small_attention(student: Student) -> RemoteObject:
    attention = expect_module("gpt2_small_attention", student.gpt2_small_attention())
    expect_linear(attention, "W_query")  # a wrapper has none, and twelve heads of this width are too slow
    return attention


@pytest.mark.example("gpt2_small_attention")
def test_gpt2_small_attention_has_as_many_parameters_as_in_the_book(student: Student) -> None:
    """Four matrices of 768 × 768 and the bias of out_proj make 2,360,064 parameters."""
    attention = gpt2_small_attention(student)
    count = sum(parameter.numel() for parameter in attention.parameters().values())
    if count != 2_360_064:
        fail(f"2,360,064 parameters are expected, yours has {count:,}: GPT-2's own biases would make 2,362,368.")


@pytest.mark.example("gpt2_small_attention")
def test_gpt2_small_attention_takes_1024_tokens(student: Student) -> None:
    """The module takes 1,024 tokens of 768 features, and returns as many."""
    attention = gpt2_small_attention(student)
    attention.method("requires_grad_")(False)  # what only gradients need would take much memory
    output_of(attention, torch.zeros(1, 1024, 768), (1, 1024, 768), "768 features for each of 1,024 tokens")
