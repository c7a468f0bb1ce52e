"""The visible tests of unit 4, multi-head attention. Run `grader check multi_head_attention`, or `pytest` here.

`student` is your file: `student.unroll_heads(x, 2)` is what your unroll_heads gives. Tests without a rule repeat the
worked examples of the unit. The others try rules of your docstrings, with numbers from `numbers`. Tests of modules set
the weights by name, so the initial values are up to you. The heads are your own CausalAttention of unit 3.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch
from checking import (
    described,
    described_part,
    expect_error,
    expect_linear,
    expect_module,
    expect_solution,
    expect_true,
    expect_values,
    fail,
    kept,
    numbers,
    worked_example,
)

from grader.testing.checks import equals
from grader.testing.contracts import (
    expect_any_layout,
    expect_arguments_kept,
    expect_each_alone,
    expect_float64,
    expect_gradients_fit,
)
from grader.testing.draws import expect_count, expect_own_draws
from grader.testing.student import Raised, RemoteObject, Student
from grader.testing.visible_contracts import contract_tests

INPUTS = worked_example("inputs").unsqueeze(0)  # (6, 3) -> (1, 6, 3)
PROJECTIONS = ("W_query", "W_key", "W_value")
LOW_SCORES = "a later token has no weight, even if all visible scores are as low as -10,000 after scaling"

each_weight = pytest.mark.parametrize("name", [pytest.param(name, id=name) for name in PROJECTIONS])


def expect_shape(name: str, yours: Any, shape: tuple[int, ...]) -> torch.Tensor:
    """Return the result if it is a tensor of this shape."""
    if not isinstance(yours, torch.Tensor) or yours.shape != shape:
        fail(f"{name} should be one tensor of shape {shape}, yours is {described(yours)}.")
    return yours


# -- unroll_heads, group_by_head, split_heads and merge_heads: they only move numbers ----------------------------------

UNROLLED = "the first head_dim features of a token belong to head 0, the next to head 1"
GROUPED = "the dimensions of heads and tokens are swapped, and each token keeps its features"
SPLIT = "unroll first, then group: a single reshape would mix the tokens"
MERGED = "put the tokens before the heads again, then join the heads of each token"
ANY_LAYOUT = "x may be non-contiguous, for example the result of a transpose"
DIVISIBLE = "if num_heads does not divide d_out, it raises ValueError or AssertionError"


def expect_indivisible_refused(call: Callable[[torch.Tensor, int], Any]) -> None:
    """Each number of features here cannot be divided by the number of heads."""
    for d_out, num_heads in ((6, 4), (5, 2), (7, 3), (2, 4)):
        idea = f"{num_heads} heads cannot share {d_out} features equally"
        expect_error(f"`num_heads = {num_heads}`", call, numbers(2, 3, d_out), num_heads, idea=idea)


@pytest.mark.example("unroll_heads")
def test_unroll_heads(student: Student) -> None:
    """The six features of each token become two rows of three, one for each head."""
    yours = student.unroll_heads(worked_example("ten_steps.queries"), 2)
    expected = worked_example("ten_steps.unrolled_queries")
    expect_values("the unrolled queries", yours, expected, shape="(B, T, H, head_dim)", idea=UNROLLED)


@pytest.mark.example("unroll_heads", rule="head h has the head_dim features that begin at h · head_dim, in their order")
@pytest.mark.parametrize("num_heads", [pytest.param(heads, id=f"{heads}_heads") for heads in (2, 4, 1, 8)])
def test_unroll_heads_for(student: Student, num_heads: int) -> None:
    """Any number of heads that divides the eight features gets equal parts of each token."""
    yours = student.unroll_heads(numbers(2, 3, 8), num_heads)
    expect_solution(f"the result for {num_heads} heads", yours, shape="(B, T, H, head_dim)", idea=UNROLLED)


@pytest.mark.example("unroll_heads", rule=DIVISIBLE)
def test_unroll_heads_refuses_what_does_not_divide(student: Student) -> None:
    """Four heads cannot share six features equally, so they raise ValueError or AssertionError."""
    expect_indivisible_refused(student.unroll_heads)


@pytest.mark.example("group_by_head")
def test_group_by_head(student: Student) -> None:
    """The rows of head 0 come first, one for each token, and then the rows of head 1."""
    yours = student.group_by_head(worked_example("ten_steps.unrolled_queries"))
    expected = worked_example("ten_steps.grouped_queries")
    expect_values("the grouped queries", yours, expected, shape="(B, H, T, head_dim)", idea=GROUPED)


@pytest.mark.example(
    "group_by_head", rule="the tokens of each head are grouped: the features at [b, t, h] move to [b, h, t]"
)
@pytest.mark.parametrize(
    "shape",
    [
        pytest.param((2, 4, 3, 5), id="two_texts"),
        pytest.param((1, 2, 4, 3), id="more_heads_than_tokens"),
        pytest.param((2, 2, 2, 2), id="equal_sizes"),
        pytest.param((3, 1, 1, 2), id="one_token"),
    ],
)
def test_group_by_head_of(student: Student, shape: tuple[int, ...]) -> None:
    """The tokens of each head are grouped, for any sizes."""
    name = f"the result for x of shape {shape}"
    expect_solution(name, student.group_by_head(numbers(*shape)), shape="(B, H, T, head_dim)", idea=GROUPED)


@pytest.mark.example("split_heads")
def test_split_heads(student: Student) -> None:
    """Split queries are unrolled first, and then grouped by head."""
    yours = student.split_heads(worked_example("ten_steps.queries"), 2)
    expected = worked_example("ten_steps.grouped_queries")
    expect_values("the split queries", yours, expected, shape="(B, H, T, head_dim)", idea=SPLIT)


@pytest.mark.example("split_heads", rule="head h has the head_dim features of every token that begin at h · head_dim")
@pytest.mark.parametrize("num_heads", [pytest.param(heads, id=f"{heads}_heads") for heads in (2, 4, 1, 8)])
def test_split_heads_for(student: Student, num_heads: int) -> None:
    """Any number of heads that divides the eight features gets equal parts of every token."""
    yours = student.split_heads(numbers(2, 3, 8), num_heads)
    expect_solution(f"the result for {num_heads} heads", yours, shape="(B, H, T, head_dim)", idea=SPLIT)


@pytest.mark.example("split_heads", rule=DIVISIBLE)
def test_split_heads_refuses_what_does_not_divide(student: Student) -> None:
    """Four heads cannot share six features equally, so they raise ValueError or AssertionError."""
    expect_indivisible_refused(student.split_heads)


@pytest.mark.example("merge_heads")
def test_merge_heads(student: Student) -> None:
    """The contexts of both heads are next to each other again, for each token."""
    yours = student.merge_heads(worked_example("ten_steps.contexts"))
    expected = worked_example("ten_steps.merged")
    expect_values("the merged contexts", yours, expected, shape="(B, T, H · head_dim)", idea=MERGED)


@pytest.mark.example(
    "merge_heads",
    rule="the heads of each token are next to each other again, head 0 first: the inverse of split_heads",
)
@pytest.mark.parametrize(
    "shape",
    [
        pytest.param((2, 3, 4, 5), id="two_texts"),
        pytest.param((1, 4, 2, 3), id="more_heads_than_tokens"),
        pytest.param((2, 2, 2, 2), id="equal_sizes"),
        pytest.param((3, 1, 1, 2), id="one_token"),
    ],
)
def test_merge_heads_of(student: Student, shape: tuple[int, ...]) -> None:
    """The heads of each token are joined, for any sizes."""
    name = f"the result for x of shape {shape}"
    expect_solution(name, student.merge_heads(numbers(*shape)), shape="(B, T, H · head_dim)", idea=MERGED)


@pytest.mark.example(
    "merge_heads", rule="x may be non-contiguous, for example the result of split_heads and a matrix product"
)
def test_merge_heads_of_a_transposed_x(student: Student) -> None:
    """A transposed x has the same numbers in another order in memory, and gives the same result."""
    expect_any_layout(student.merge_heads, x=numbers(2, 3, 4, 5))
    swapped = numbers(2, 4, 3, 5).transpose(1, 2)  # in memory the tokens come before the heads, as after split_heads
    idea = "the order in memory changes nothing"
    expect_solution("the result for a transposed x", student.merge_heads(swapped), shape="(B, T, d_out)", idea=idea)


# -- head_scores -----------------------------------------------------------------------------------------------------

SCORED = "queries @ transposed keys for each head, not yet scaled, one row for each query"


def queries_and_keys() -> dict[str, torch.Tensor]:
    """Two texts, three heads, four tokens, five features."""
    return {"queries": numbers(2, 3, 4, 5), "keys": numbers(2, 3, 4, 5, seed=1)}


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
    yours = student.head_scores(worked_example(queries), worked_example(keys))
    expect_values("the scores", yours, worked_example(scores), shape="(B, H, T, T)", idea=SCORED)


@pytest.mark.example(
    "head_scores", rule="each score is the dot product of a query with a key of the same head, not yet scaled"
)
@pytest.mark.parametrize(
    "shape",
    [
        pytest.param((2, 3, 4, 5), id="two_texts"),
        pytest.param((2, 2, 2, 2), id="equal_sizes"),
        pytest.param((1, 3, 1, 4), id="one_token"),
    ],
)
def test_head_scores_of(student: Student, shape: tuple[int, ...]) -> None:
    """Each head of each text scores its own queries with its own keys."""
    yours = student.head_scores(numbers(*shape), numbers(*shape, seed=1))
    expect_solution(f"the scores for shape {shape}", yours, shape="(B, H, T, T)", idea=SCORED)


@pytest.mark.example("head_scores", rule="each head and each sequence is computed separately")
def test_head_scores_of_each_head_alone(student: Student) -> None:
    """A text alone has the same scores as in the batch, and a head alone the same as beside others."""
    arguments = queries_and_keys()
    expect_each_alone(student.head_scores, **arguments)
    together = expect_shape("the scores", student.head_scores(*arguments.values()), (2, 3, 4, 4))
    for head in range(3):
        alone = student.head_scores(*(one[:, head : head + 1] for one in arguments.values()))
        idea = "do not mix the heads"
        expected = together[:, head : head + 1]
        expect_values(f"the scores of head {head} alone", alone, expected, shape="(B, 1, T, T)", idea=idea)


@pytest.mark.example(
    "head_scores", rule="queries and keys may be non-contiguous, for example the result of a transpose"
)
def test_head_scores_of_transposed_arguments(student: Student) -> None:
    """Transposed queries and keys have the same numbers in another order in memory, and give the same scores."""
    expect_any_layout(student.head_scores, **queries_and_keys())
    # As after split_heads, the tokens come before the heads in memory. These cannot be viewed with B and H as one.
    queries, keys = (numbers(2, 4, 3, 5, seed=seed).transpose(1, 2) for seed in (0, 1))
    idea = "the order in memory changes nothing"
    yours = student.head_scores(queries, keys)
    expect_solution("the scores of transposed arguments", yours, shape="(B, H, T, T)", idea=idea)


# -- head_weights ----------------------------------------------------------------------------------------------------

WEIGHED = "softmax of scores / √head_dim over the keys, and no weight for a later token"


@pytest.mark.example("head_weights")
def test_head_weights(student: Student) -> None:
    """Softmax turns the scaled scores into weights, with no weight for a later token."""
    yours = student.head_weights(worked_example("ten_steps.scores"), 3)
    expect_values("the weights", yours, worked_example("ten_steps.weights"), shape="(B, H, T, T)", idea=WEIGHED)


@pytest.mark.example(
    "head_weights", rule="the weights are the softmax of scores / √head_dim over the keys that are not hidden"
)
@pytest.mark.parametrize(
    ("shape", "head_dim"),
    [
        pytest.param((2, 3, 5, 5), 7, id="five_tokens"),
        pytest.param((1, 2, 2, 2), 16, id="two_tokens"),
        pytest.param((3, 1, 1, 1), 2, id="one_token"),
    ],
)
def test_head_weights_of(student: Student, shape: tuple[int, ...], head_dim: int) -> None:
    """Each query has a row of weights over itself and the tokens before it. The row sums to one."""
    yours = student.head_weights(numbers(*shape), head_dim)
    expect_solution(f"the weights for shape {shape}", yours, shape="(B, H, T, T)", idea=WEIGHED)


@pytest.mark.example("head_weights", rule="no token gives weight to a later one")
def test_head_weights_of_later_tokens(student: Student) -> None:
    """Above the diagonal all weights are zero, whatever the scores are."""
    for scores in (numbers(2, 3, 4, 4), 100 * numbers(2, 3, 4, 4), torch.zeros(2, 3, 4, 4)):
        weights = expect_shape("the result", student.head_weights(scores, 5), (2, 3, 4, 4))
        idea = "hide the keys above the diagonal before softmax"
        zeros = torch.zeros(2, 3, 4, 4)
        expect_values("the part above the diagonal", weights.triu(1), zeros, shape="(B, H, T, T)", idea=idea)


@pytest.mark.example(
    "head_weights", rule="the weights are also correct if a score of the future is far above the others"
)
def test_head_weights_beside_large_scores_of_the_future(student: Student) -> None:
    """The scores of the future are far above the others, and change nothing."""
    scores = numbers(1, 2, 4, 4) + torch.full((4, 4), 5_000.0).triu(1)
    idea = "hide the future before softmax, with minus infinity"
    expect_solution("the result", student.head_weights(scores, 5), shape="(B, H, T, T)", idea=idea)


@pytest.mark.example("head_weights", rule=LOW_SCORES)
def test_head_weights_of_very_low_scores(student: Student) -> None:
    """All scores are -10,000 after scaling. A later token has no weight, although its score is not lower."""
    scores = torch.full((1, 2, 3, 3), -10_000.0 * 2)  # divided by √4 = 2
    weights = expect_shape("the result", student.head_weights(scores, 4), (1, 2, 3, 3))
    expect_no_later_weight(weights)


def expect_no_later_weight(weights: torch.Tensor) -> None:
    """Expect no positive weight above the diagonal. (…, T, T)"""
    # If the softmax does not subtract the maximum, the weights are nan: that is not part of this rule.
    sentence = (
        "If all scores are -10,000 after scaling, yours gives weight to later tokens: hide them with minus infinity "
        "instead of -10,000."
    )
    expect_true(not bool((weights.triu(1) > 1e-6).any()), sentence)


# -- dropout of weights, in both modules -----------------------------------------------------------------------------
# All scores are zero, so the t-th token gives the weight 1 / t to each of the t tokens that it sees. The value of each
# token is 1 in a feature of its own and 1 in the last feature. So the output of a head is its weights, and their sum.

TOKENS, TEXTS, P = 8, 20, 0.3
HEAD_DIM = TOKENS + 1
SHOWN_INPUTS = torch.eye(TOKENS).repeat(TEXTS, 1, 1)  # (B, T, T)
SHOWING_VALUES = torch.cat([torch.eye(TOKENS), torch.ones(1, TOKENS)])  # (head_dim, T)
SHOWN_WEIGHTS = torch.ones(TOKENS, TOKENS).tril() / torch.arange(1.0, TOKENS + 1)[:, None]  # (T, T)


def weights_shown(module: RemoteObject, when: str) -> torch.Tensor:
    """Return the weights (B, H, T, T) that a module with two heads shows, after a check of their sum."""
    output = expect_shape(f"the output {when}", module(SHOWN_INPUTS), (TEXTS, TOKENS, 2 * HEAD_DIM)).float()
    sentence = f"the output {when} has NaN in it: mask the scores before softmax, and drop weights after it."
    expect_true(not bool(output.isnan().any()), sentence)
    by_head = output.unflatten(2, (2, HEAD_DIM)).transpose(1, 2)  # (B, T, 2 · head_dim) -> (B, 2, T, head_dim)
    weights, total = by_head[..., :TOKENS], by_head[..., TOKENS]
    is_same = torch.allclose(weights.sum(-1), total, rtol=1e-4, atol=1e-4)
    sentence = f"the output {when} mixes each feature of the values with other weights: drop weights, not features."
    expect_true(is_same, sentence)
    return weights


def expect_weights_dropped(module: RemoteObject) -> None:
    """Expect each weight to be dropped independently in training, with probability P, and none in eval mode."""
    module.eval()
    weights, expected = weights_shown(module, "in eval mode"), SHOWN_WEIGHTS.expand(TEXTS, 2, -1, -1)
    expect_true(
        torch.allclose(weights, expected, rtol=1e-4, atol=1e-4),
        "In eval mode, tokens with equal scores should have equal weights, yours have others: nothing is dropped then.",
    )
    module.train()
    calls = torch.stack([weights_shown(module, "in training") for _ in range(2)])  # (2, B, H, T, T)
    seen = torch.ones(TOKENS, TOKENS).tril().bool()
    kept = calls > 0
    expect_true(bool((seen & ~kept).any()), "In training some weights should be zero, yours are all kept.")
    scaled = torch.where(kept, SHOWN_WEIGHTS / (1 - P), 0.0)
    expect_true(
        torch.allclose(calls, scaled, rtol=1e-4, atol=1e-4),
        "In training each weight should be zero or divided by 1 - dropout, yours has others: drop the weights, after "
        "softmax, with probability `dropout`.",
    )
    # No weight is in two pairs. The last two rows both see the first seven tokens.
    above, below = kept[..., -2, : TOKENS - 1], kept[..., -1, : TOKENS - 1]
    alike = {
        "All texts drop the same weights": (kept[:, ::2] == kept[:, 1::2])[..., seen],
        "Both heads drop the same weights": (kept[:, :, 0] == kept[:, :, 1])[..., seen],
        "Whole columns of weights are dropped": above == below,
        "Whole rows of weights are dropped": kept[..., -1, ::2] == kept[..., -1, 1::2],
        "Two calls drop the same weights": (kept[0] == kept[1])[..., seen],
    }
    pairs = {f"{what}: drop each weight independently, in each call.": pair for what, pair in alike.items()}
    expect_own_draws(kept[..., seen], pairs)
    share = "The share of weights that are dropped is not near `dropout`: drop each with that probability."
    expect_count(kept[..., seen], 1 - P, share)


# -- MultiHeadAttentionWrapper ---------------------------------------------------------------------------------------

CONCATENATED = "the concatenated outputs of the heads, head 0 first"
OWN_LAYERS = "give each head its own CausalAttention, with d_in, d_out, context_length, dropout and qkv_bias"
WRAPPER_BIAS = (
    "W_query, W_key and W_value of each head are nn.Linear without bias unless qkv_bias=True; then each layer adds its "
    "own bias"
)


def new_wrapper(student: Student, *arguments: Any, **options: Any) -> RemoteObject:
    """A wrapper from d_in, d_out, context_length, dropout, num_heads and perhaps qkv_bias."""
    return expect_module("MultiHeadAttentionWrapper", student.MultiHeadAttentionWrapper(*arguments, **options))


def heads_of(wrapper: RemoteObject, count: int) -> list[RemoteObject]:
    """Return the heads, which should be this many modules in an nn.ModuleList."""
    heads = kept(wrapper, "heads")
    if not (isinstance(heads, RemoteObject) and "torch.nn.modules.container.ModuleList" in heads.kinds):
        fail(
            f"heads should be an nn.ModuleList, yours is {described_part(heads)}: "
            "the weights in a plain list are found by no optimiser."
        )
    found = heads.method("__len__")()
    expect_true(equals(found, count), f"heads should hold num_heads = {count} modules, yours holds {found}.")
    return [expect_module(f"heads[{n}]", heads.method("__getitem__")(n)) for n in range(count)]


def head_values(heads: int, d_in: int, d_out: int, bias: bool = False) -> dict[str, torch.Tensor]:
    """Return different weights, and biases, for the layers of all heads, by the names of the wrapper's parameters."""
    values = {}
    for seed, (head, name) in enumerate((head, name) for head in range(heads) for name in PROJECTIONS):
        values[f"heads.{head}.{name}.weight"] = numbers(d_out, d_in, seed=10 + seed)
        if bias:
            values[f"heads.{head}.{name}.bias"] = numbers(d_out, seed=30 + seed)
    return values


def set_wrapper(student: Student, qkv_bias: bool = False, context_length: int = 8) -> RemoteObject:
    """Three heads, each from 4 features to 2, without dropout."""
    wrapper = new_wrapper(student, 4, 2, context_length, 0.0, 3, qkv_bias)
    wrapper.set(head_values(3, 4, 2, qkv_bias))
    return wrapper


def drawn(shapes: dict[str, tuple[int, ...]], d_in: int, generator: torch.Generator) -> dict[str, torch.Tensor]:
    """What linear layers that take d_in features begin with: numbers for each name, of its shape."""
    most = d_in**-0.5
    return {name: torch.empty(shape).uniform_(-most, most, generator=generator) for name, shape in shapes.items()}


def worked_wrapper(wrapper: RemoteObject, d_out: int) -> RemoteObject:
    """Give the two heads what their layers draw from seed 123. By names: in which order yours are made is up to you."""
    seeded = torch.Generator().manual_seed(123)
    for head in heads_of(wrapper, 2):
        head.set(drawn({f"{name}.weight": (d_out, 3) for name in PROJECTIONS}, 3, seeded))
    return wrapper


def expect_numbers_dropped(wrapper: RemoteObject) -> None:
    """Expect numbers of the output to be zero or divided by 1 - P in training, and none in eval mode."""
    wrapper.set(dict.fromkeys(wrapper.parameters(), torch.ones(HEAD_DIM, TOKENS)))
    wrapper.eval()
    plain = expect_shape("the output in eval mode", wrapper(SHOWN_INPUTS), (TEXTS, TOKENS, 2 * HEAD_DIM))
    expect_true(bool((plain != 0).all()), "In eval mode some numbers are zero, although nothing is dropped then.")
    wrapper.train()
    output = expect_shape("the output in training", wrapper(SHOWN_INPUTS), plain.shape)
    is_kept = torch.isclose(output, plain / (1 - P), rtol=1e-4, atol=1e-4)
    sentence = "In training each number should be zero or divided by 1 - dropout: give dropout to every head."
    expect_true(bool((is_kept | (output == 0)).all() and is_kept.any() and not is_kept.all()), sentence)


@pytest.mark.example(
    "MultiHeadAttentionWrapper",
    rule="heads is an nn.ModuleList of num_heads causal attention modules, each from d_in to d_out",
)
def test_heads_of_the_wrapper(student: Student) -> None:
    """The wrapper keeps its heads in an nn.ModuleList named heads, each from d_in to d_out."""
    for num_heads in (2, 3):
        for number, head in enumerate(heads_of(new_wrapper(student, 4, 5, 8, 0.0, num_heads), num_heads)):
            for name in PROJECTIONS:
                found = tuple(expect_linear(head, name).parameters()["weight"].shape)
                sentence = f"{name} of heads[{number}] should have a weight (d_out, d_in) = (5, 4), yours has {found}."
                expect_true(found == (5, 4), sentence)


@pytest.mark.example("MultiHeadAttentionWrapper", rule="every head has its own weights")
def test_weights_of_the_heads(student: Student) -> None:
    """Each layer of each head has its own weight (d_out, d_in): a change in one changes no other."""
    wrapper, values = new_wrapper(student, 4, 2, 8, 0.0, 3), head_values(3, 4, 2)
    found = wrapper.parameters()
    for name in values:
        expect_true(name in found, f"{name} should be a parameter of its own, yours has none: {OWN_LAYERS}.")
    wrapper.set(values)
    found = wrapper.parameters()
    for name, value in values.items():
        sentence = f"{name} has changed with another weight: {OWN_LAYERS}."
        expect_true(torch.equal(found[name], value), sentence)


@pytest.mark.example("MultiHeadAttentionWrapper")
def test_output_of_the_wrapper(student: Student) -> None:
    """The wrapper concatenates the outputs of its heads."""
    yours = worked_wrapper(new_wrapper(student, 3, 2, 6, 0.0, 2), d_out=2)(INPUTS)
    expected = worked_example("wrapper.two_heads_four_dims").unsqueeze(0)
    expect_values("the output of the wrapper", yours, expected, shape="(B, T, H · d_out)", idea=CONCATENATED)


@pytest.mark.example(
    "MultiHeadAttentionWrapper", rule="the output is the concatenation of the heads' outputs, head 0 first"
)
def test_output_of_three_heads(student: Student) -> None:
    """Three heads of two features give six features for each token."""
    yours = set_wrapper(student)(numbers(2, 5, 4))
    expect_solution("the output of three heads", yours, shape="(B, T, H · d_out)", idea=CONCATENATED)


@pytest.mark.example("MultiHeadAttentionWrapper", rule=WRAPPER_BIAS)
def test_biases_of_the_wrapper(student: Student) -> None:
    """The layers of the heads have a bias only if it is asked for, and add it."""
    for options, wanted in (({}, "no bias"), ({"qkv_bias": False}, "no bias"), ({"qkv_bias": True}, "a bias")):
        for number, head in enumerate(heads_of(new_wrapper(student, 4, 2, 8, 0.0, 3, **options), 3)):
            for name in PROJECTIONS:
                found = "a bias" if "bias" in expect_linear(head, name).parameters() else "no bias"
                given = options.get("qkv_bias", "not given")
                sentence = f"{name} of heads[{number}] should have {wanted} if qkv_bias is {given}, yours has {found}."
                expect_true(found == wanted, sentence)
    idea = "each layer adds its own bias"
    yours = set_wrapper(student, qkv_bias=True)(numbers(2, 5, 4))
    expect_solution("the output with biases", yours, shape="(B, T, H · d_out)", idea=idea)


@pytest.mark.example("MultiHeadAttentionWrapper", rule="any number of tokens up to context_length")
@pytest.mark.parametrize("tokens", [pytest.param(count, id=f"{count}") for count in (8, 3, 1)])
def test_wrapper_for_tokens(student: Student, tokens: int) -> None:
    """A wrapper with a context length of eight takes up to eight tokens."""
    yours = set_wrapper(student)(numbers(2, tokens, 4))
    expect_solution(f"the output for {tokens} tokens", yours, shape="(B, T, H · d_out)", idea=CONCATENATED)


@pytest.mark.example("MultiHeadAttentionWrapper", rule="dropout acts on each head's weights, in training only")
def test_dropout_of_the_wrapper(student: Student) -> None:
    """In training each head drops weights: they are zero or divided by 1 - dropout."""
    wrapper = new_wrapper(student, TOKENS, HEAD_DIM, TOKENS, P, 2)
    zeros = torch.zeros(HEAD_DIM, TOKENS)
    values = {"W_query.weight": zeros, "W_key.weight": zeros, "W_value.weight": SHOWING_VALUES}
    for head in heads_of(wrapper, 2):
        head.set(values)
    if "CausalAttention" in student.patched:  # its substitute gives no weights, and drops numbers of the output
        expect_numbers_dropped(wrapper)
    else:
        expect_weights_dropped(wrapper)


# -- two_dimensional_output ------------------------------------------------------------------------------------------


def two_heads(student: Student, d_in: int, context_length: int) -> tuple[RemoteObject, list[RemoteObject]]:
    """Return the wrapper and its two heads."""
    wrapper = expect_module("two_dimensional_output", student.two_dimensional_output(d_in, context_length))
    return wrapper, heads_of(wrapper, 2)


@pytest.mark.example("two_dimensional_output")
def test_two_dimensional_output(student: Student) -> None:
    """The wrapper's two heads together give two numbers for each token."""
    wrapper, _ = two_heads(student, 3, 6)
    expect_shape("the output", wrapper(INPUTS), (1, 6, 2))  # a wrapper of another width has no place for the weights
    expect_values(
        "the output",
        worked_wrapper(wrapper, d_out=1)(INPUTS),
        worked_example("wrapper.two_heads_two_dims").unsqueeze(0),
        shape="(B, T, 2)",
        idea="two heads give two numbers if each of them gives one",
    )


@pytest.mark.example("two_dimensional_output", rule="the wrapper has two heads, no dropout and no bias")
def test_two_heads_without_dropout_and_bias(student: Student) -> None:
    """In training the output is the same as in eval mode, and no layer has a bias."""
    wrapper, heads = two_heads(student, 5, 8)
    for number, head in enumerate(heads):
        for name in PROJECTIONS:
            sentence = f"{name} of heads[{number}] should have no bias, yours has one: keep qkv_bias at False."
            expect_true("bias" not in expect_linear(head, name).parameters(), sentence)
    inputs, outputs = numbers(20, 8, 5), []
    for set_mode in (wrapper.eval, wrapper.train):
        set_mode()
        outputs.append(expect_shape("the output", wrapper(inputs), (20, 8, 2)).float())
    sentence = "In training the output should be the same as in eval mode, yours differs: dropout should be 0.0."
    expect_true(torch.allclose(*outputs, rtol=1e-4, atol=1e-5), sentence)


@pytest.mark.example(
    "two_dimensional_output",
    rule=["its outputs are two-dimensional: (B, T, d_in) → (B, T, 2)",
          "it takes any number of tokens up to context_length"],
)  # fmt: skip
@pytest.mark.parametrize(("d_in", "context_length"), [pytest.param(5, 8, id="narrow"), pytest.param(10, 4, id="wide")])
def test_two_dimensional_output_for(student: Student, d_in: int, context_length: int) -> None:
    """The wrapper takes tokens of d_in features, and any number of them up to context_length."""
    wrapper, _ = two_heads(student, d_in, context_length)
    wrapper.set(head_values(2, d_in, 1))
    for tokens in (context_length, 3, 1):
        name, idea = f"the output for {tokens} tokens", "each head gives one number for each token"
        expect_solution(name, wrapper(numbers(2, tokens, d_in)), shape="(B, T, 2)", idea=idea)


# -- MultiHeadAttention ----------------------------------------------------------------------------------------------

ATTENDED = "split, attend in every head over √head_dim, merge, and pass through out_proj"
ATTENTION_BIAS = "W_query, W_key and W_value have no bias unless qkv_bias=True; then each layer adds its own bias"
DROPOUT = (
    "dropout acts on each weight independently, after softmax and in training only: the weight becomes zero or is "
    "divided by 1 - dropout"
)
PARAMETERS = [*(f"{name}.weight" for name in PROJECTIONS), "out_proj.weight", "out_proj.bias"]


def new_attention(student: Student, *arguments: Any, **options: Any) -> RemoteObject:
    """A module from d_in, d_out, context_length, dropout, num_heads and perhaps qkv_bias."""
    return expect_module("MultiHeadAttention", student.MultiHeadAttention(*arguments, **options))


def set_attention(student: Student, d_in: int = 5, d_out: int = 8, num_heads: int = 2, **options: Any) -> RemoteObject:
    """Two heads of four features, for up to eleven tokens, without dropout."""
    attention = new_attention(student, d_in, d_out, 11, 0.0, num_heads, **options)
    shapes = dict(zip(PARAMETERS, (*[(d_out, d_in)] * 3, (d_out, d_out), (d_out,)), strict=True))
    attention.set({name: numbers(*shape, seed=seed) for seed, (name, shape) in enumerate(shapes.items())})
    return attention


def showing_attention(student: Student, dropout: float, score: float) -> RemoteObject:
    """Two heads whose outputs are their weights and the sum of these. All scores are the same, after scaling."""
    attention = new_attention(student, TOKENS, 2 * HEAD_DIM, TOKENS, dropout, 2)
    queries, keys = torch.zeros(2 * HEAD_DIM, TOKENS), torch.zeros(2 * HEAD_DIM, TOKENS)
    queries[::HEAD_DIM], keys[::HEAD_DIM] = score * HEAD_DIM**0.5, 1.0  # in the first feature of each head
    values = SHOWING_VALUES.repeat(2, 1)
    out_proj = torch.eye(2 * HEAD_DIM), torch.zeros(2 * HEAD_DIM)
    attention.set(dict(zip(PARAMETERS, (queries, keys, values, *out_proj), strict=True)))
    return attention


def worked_attention(student: Student, dropout: float = 0.0) -> RemoteObject:
    """The four layers have what they draw from seed 123. By names: in which order yours are made is up to you."""
    seeded = torch.Generator().manual_seed(123)
    attention = new_attention(student, 3, 2, 6, dropout, 2)
    attention.set(drawn({f"{name}.weight": (2, 3) for name in PROJECTIONS}, 3, seeded))
    attention.set(drawn({"out_proj.weight": (2, 2), "out_proj.bias": (2,)}, 2, seeded))
    return attention


@pytest.mark.example(
    "MultiHeadAttention",
    rule="W_query, W_key and W_value are nn.Linear from d_in to d_out, and out_proj is nn.Linear from d_out to d_out, "
    "with a bias",
)
def test_layers_of_multi_head_attention(student: Student) -> None:
    """Three layers go from d_in to d_out, and out_proj from d_out to d_out, with a bias."""
    attention = new_attention(student, 5, 8, 11, 0.0, 2)
    for name in (*PROJECTIONS, "out_proj"):
        shape = (8, 8) if name == "out_proj" else (8, 5)
        found = expect_linear(attention, name).parameters()
        sentence = f"{name} should have a weight of shape {shape}, yours has {tuple(found['weight'].shape)}."
        expect_true(found["weight"].shape == shape, sentence)
    has_bias = "bias" in expect_linear(attention, "out_proj").parameters()
    expect_true(has_bias, "out_proj should have a bias, yours has none: qkv_bias is for the other layers only.")


@pytest.mark.example("MultiHeadAttention", rule=ATTENTION_BIAS)
@each_weight
def test_weights_of_multi_head_attention_are_linear_layers_without_bias(student: Student, name: str) -> None:
    """W_query, W_key and W_value are linear layers, without a bias unless one is asked for."""
    for options in ((), (False,)):
        layer = expect_linear(new_attention(student, 3, 2, 6, 0.0, 2, *options), name)
        sentence = f"{name} should have no bias here, yours has one: qkv_bias is False unless the caller says else."
        expect_true("bias" not in layer.parameters(), sentence)


@pytest.mark.example("MultiHeadAttention")
def test_output_of_multi_head_attention(student: Student) -> None:
    """With the weights of the worked example the module gives its outputs."""
    yours = worked_attention(student)(INPUTS)
    expected = worked_example("split.two_heads_two_dims").unsqueeze(0)
    expect_values("the output of MultiHeadAttention", yours, expected, shape="(B, T, d_out)", idea=ATTENDED)


@pytest.mark.example(
    "MultiHeadAttention",
    rule="each head attends with its own head_dim = d_out / num_heads features of queries, keys and values, head 0 "
    "first; scores over √head_dim",
)
@pytest.mark.parametrize(
    ("d_in", "d_out", "num_heads"),
    [
        pytest.param(5, 8, 2, id="two_heads"),
        pytest.param(5, 12, 4, id="four_heads"),
        pytest.param(6, 6, 2, id="as_wide_as_the_inputs"),
        pytest.param(5, 6, 1, id="one_head"),
    ],
)
def test_multi_head_attention_with(student: Student, d_in: int, d_out: int, num_heads: int) -> None:
    """Each head attends with its own features, and out_proj combines the heads."""
    yours = set_attention(student, d_in, d_out, num_heads)(numbers(2, 4, d_in) / 2)
    expect_solution(f"the output of {num_heads} heads", yours, shape="(B, T, d_out)", idea=ATTENDED)


@pytest.mark.example("MultiHeadAttention", rule=LOW_SCORES)
def test_multi_head_attention_with_very_low_scores(student: Student) -> None:
    """All scores are -10,000 after scaling. A later token has no weight, although its score is not lower."""
    attention = showing_attention(student, dropout=0.0, score=-10_000)
    output = expect_shape("the output", attention(SHOWN_INPUTS[:2]), (2, TOKENS, 2 * HEAD_DIM))
    # (B, T, 2 · head_dim) -> (B, 2, T, T): without the sums
    expect_no_later_weight(output.unflatten(2, (2, HEAD_DIM)).transpose(1, 2)[..., :TOKENS])


@pytest.mark.example("MultiHeadAttention", rule="the concatenated heads pass through out_proj")
def test_heads_pass_through_out_proj(student: Student) -> None:
    """If out_proj doubles its inputs and adds a bias, that is done to the outputs of an out_proj that does nothing."""
    attention, inputs, bias = set_attention(student), numbers(2, 4, 5), numbers(8, seed=9)
    attention.set({"out_proj.weight": torch.eye(8), "out_proj.bias": torch.zeros(8)})
    plain = expect_shape("the output", attention(inputs), (2, 4, 8))
    attention.set({"out_proj.weight": 2 * torch.eye(8), "out_proj.bias": bias})
    idea = "apply out_proj, with its bias, once to the concatenated heads"
    expect_values("the output", attention(inputs), 2 * plain + bias, shape="(B, T, d_out)", idea=idea)


@pytest.mark.example("MultiHeadAttention", rule="any number of tokens up to context_length, including one")
@pytest.mark.parametrize("tokens", [pytest.param(count, id=f"{count}") for count in (11, 3, 1)])
def test_multi_head_attention_for_tokens(student: Student, tokens: int) -> None:
    """A module with a context length of eleven takes up to eleven tokens."""
    yours = set_attention(student)(numbers(1, tokens, 5))
    expect_solution(f"the output for {tokens} tokens", yours, shape="(B, T, d_out)", idea=ATTENDED)


@pytest.mark.example("MultiHeadAttention", rule=ATTENTION_BIAS)
@each_weight
def test_multi_head_attention_adds_the_bias_of(student: Student, name: str) -> None:
    """A bias is the same as the weight of one more feature that is always 1."""
    attention, without = set_attention(student, d_in=5, qkv_bias=True), set_attention(student, d_in=6)
    has_bias = "bias" in expect_linear(attention, name).parameters()
    expect_true(has_bias, f"{name} should have a bias if qkv_bias is True, yours has none.")
    weights = {one: attention.parameters()[f"{one}.weight"].detach() for one in PROJECTIONS}
    biases = {one: numbers(8, seed=7) if one == name else torch.zeros(8) for one in PROJECTIONS}
    attention.set({f"{one}.bias": biases[one] for one in PROJECTIONS})
    without.set({f"{one}.weight": torch.cat([weights[one], biases[one][:, None]], dim=1) for one in PROJECTIONS})
    inputs = numbers(2, 4, 5) / 2
    expected = without(torch.cat([inputs, torch.ones(2, 4, 1)], dim=2))
    idea = f"{name}(inputs) is inputs @ {name}.weight.T + {name}.bias"
    expect_values(
        f"the output with a bias in {name}",
        attention(inputs),
        expect_shape("the output without biases", expected, (2, 4, 8)),
        shape="(B, T, d_out)",
        idea=idea,
    )


@pytest.mark.example("MultiHeadAttention")
def test_dropout_of_multi_head_attention_rests_outside_training(student: Student) -> None:
    """In eval mode dropout changes nothing."""
    module = worked_attention(student, dropout=0.5)
    module.eval()
    expected, idea = worked_example("split.two_heads_two_dims").unsqueeze(0), "dropout acts in training only"
    expect_values("the output in eval mode", module(INPUTS), expected, shape="(B, T, d_out)", idea=idea)


@pytest.mark.example("MultiHeadAttention", rule=DROPOUT)
def test_dropout_of_multi_head_attention_acts_in_training(student: Student) -> None:
    """In training each weight is zero or divided by 1 - dropout, independently of the others."""
    expect_weights_dropped(showing_attention(student, dropout=P, score=0))


@pytest.mark.example("MultiHeadAttention", rule=DIVISIBLE)
def test_multi_head_attention_refuses_what_does_not_divide(student: Student) -> None:
    """Four heads cannot share six features equally, so they raise ValueError or AssertionError."""

    def call(x: torch.Tensor, heads: int) -> Any:
        made = student.MultiHeadAttention(x.shape[-1], x.shape[-1], 6, 0.0, heads)
        return expect_module("MultiHeadAttention", made)(x)

    expect_indivisible_refused(call)


# -- stack_heads -----------------------------------------------------------------------------------------------------
# The modules here have the layers and attributes of a MultiHeadAttentionWrapper and a MultiHeadAttention, but compute
# something else. So these tests do not depend on your other answers.


def layers(student: Student, d_in: int, d_out: int, qkv_bias: bool) -> dict[str, RemoteObject]:
    return {name: student.make("Linear", d_in, d_out, bias=qkv_bias) for name in PROJECTIONS}


def a_wrapper(student: Student, d_in: int = 5, d_out: int = 2, qkv_bias: bool = False) -> RemoteObject:
    """Three heads from d_in to d_out."""
    heads = [student.make("Holder", **layers(student, d_in, d_out, qkv_bias)) for _ in range(3)]
    wrapper = student.make("Holder", heads=student.make("ModuleList", heads))
    wrapper.set(head_values(3, d_in, d_out, qkv_bias))
    return wrapper


def an_attention(student: Student, d_in: int = 5, d_out: int = 6, qkv_bias: bool = False) -> RemoteObject:
    """Three heads, from d_in to d_out together. out_proj is the identity."""
    sizes = {"d_in": d_in, "d_out": d_out, "num_heads": 3, "head_dim": d_out // 3, "qkv_bias": qkv_bias}
    out_proj = student.make("Linear", d_out, d_out)
    out_proj.set({"weight": torch.eye(d_out), "bias": torch.zeros(d_out)})
    return student.make("Holder", **layers(student, d_in, d_out, qkv_bias), out_proj=out_proj, **sizes)


def expect_stacked(attention: RemoteObject, part: str, d_in: int, d_out: int) -> None:
    """Expect the weights, or biases, of the heads in the layers of the attention, head 0 first."""
    found, heads = attention.parameters(), head_values(3, d_in, d_out, bias=True)
    for name in PROJECTIONS:
        sentence = "should still be an nn.Parameter, yours is not: copy into the one that is there."
        expect_true(f"{name}.{part}" in found, f"attention.{name}.{part} {sentence}")
        expected = torch.cat([heads[f"heads.{head}.{name}.{part}"] for head in range(3)])
        idea = "the rows of all heads, one below the other, head 0 first: nn.Linear has one row for each output"
        shape = "(d_out, d_in)" if part == "weight" else "(d_out,)"
        expect_values(f"attention.{name}.{part}", found[f"{name}.{part}"], expected, shape=shape, idea=idea)


@pytest.mark.example("stack_heads")
def test_after_stack_heads_the_module_gives_the_outputs_of_the_wrapper(student: Student) -> None:
    """With the weights of the heads, and an out_proj that changes nothing, the second module gives the same outputs."""
    attention = new_attention(student, 3, 4, 6, 0.0, 2)
    student.stack_heads(worked_wrapper(new_wrapper(student, 3, 2, 6, 0.0, 2), d_out=2), attention)
    attention.set({"out_proj.weight": torch.eye(4), "out_proj.bias": torch.zeros(4)})
    expect_values(
        "the output of attention",
        attention(INPUTS),
        worked_example("wrapper.two_heads_four_dims").unsqueeze(0),
        shape="(B, T, d_out)",
        idea="the weights of the heads are stacked along the outputs of one layer, head 0 first",
    )


@pytest.mark.example(
    "stack_heads",
    rule=["with an identity out_proj (and no bias there) attention then gives the wrapper's outputs",
          "attention's weights stay nn.Parameter that require gradients"],
)  # fmt: skip
@pytest.mark.parametrize("d_in", [pytest.param(5, id="5"), pytest.param(6, id="6_as_wide_as_all_heads")])
def test_stack_heads_of_inputs(student: Student, d_in: int) -> None:
    """Each layer of the attention gets the weights of all heads, and keeps them as parameters. out_proj stays."""
    attention = an_attention(student, d_in)
    student.stack_heads(a_wrapper(student, d_in), attention)
    expect_stacked(attention, "weight", d_in, 2)
    found = attention.parameters()
    for name in PROJECTIONS:
        sentence = "should still require gradients, yours does not: copy under torch.no_grad()."
        expect_true(found[f"{name}.weight"].requires_grad, f"attention.{name}.weight {sentence}")
    for part, before in (("weight", torch.eye(6)), ("bias", torch.zeros(6))):
        idea = "leave out_proj to the caller"
        expect_values(f"out_proj.{part}", found[f"out_proj.{part}"], before, shape="of before", idea=idea)


@pytest.mark.example("stack_heads", rule="biases too, if both have them")
def test_stack_heads_with_biases(student: Student) -> None:
    """If both have biases, the biases of the heads are stacked like the weights."""
    attention = an_attention(student, qkv_bias=True)
    student.stack_heads(a_wrapper(student, qkv_bias=True), attention)
    expect_stacked(attention, "weight", 5, 2)
    expect_stacked(attention, "bias", 5, 2)


@pytest.mark.example("stack_heads", rule="the wrapper is not changed")
def test_stack_heads_keeps_the_wrapper(student: Student) -> None:
    """The wrapper keeps its weights and biases, and they still require gradients."""
    wrapper = a_wrapper(student, qkv_bias=True)
    student.stack_heads(wrapper, an_attention(student, qkv_bias=True))
    found = wrapper.parameters()
    for name, before in head_values(3, 5, 2, bias=True).items():
        sentence = f"{name} of the wrapper should be the same after the call as before; yours changes it."
        expect_true(name in found and torch.equal(found[name], before) and found[name].requires_grad, sentence)


@pytest.mark.example("stack_heads", rule="widths that do not match raise an error")
@pytest.mark.parametrize(
    ("d_in", "d_out"), [pytest.param(5, 12, id="wider_heads"), pytest.param(4, 6, id="narrower_inputs")]
)
def test_stack_heads_refuses_widths_that_do_not_match(student: Student, d_in: int, d_out: int) -> None:
    """Three heads from 5 features to 2 match only an attention from 5 features to 6."""
    idea = f"three heads from 5 features to 2 do not match an attention from {d_in} features to {d_out}"
    expect_refusal(student, a_wrapper(student), an_attention(student, d_in, d_out), idea=idea)


@pytest.mark.example("stack_heads", rule="an error if the heads have biases and attention has none")
def test_stack_heads_refuses_biases_that_the_heads_alone_have(student: Student) -> None:
    """If the heads have biases and attention has none, they would be lost: an error."""
    idea = "the heads have biases, and attention has none"
    expect_refusal(student, a_wrapper(student, qkv_bias=True), an_attention(student), idea=idea)


@pytest.mark.example(
    "stack_heads", rule="if attention has biases and the heads have none: an error, or the biases are set to zero"
)
def test_stack_heads_with_biases_that_attention_alone_has(student: Student) -> None:
    """If attention keeps biases that the heads do not have, its outputs are not theirs."""
    attention = an_attention(student, qkv_bias=True)
    attention.set({f"{name}.bias": numbers(6, seed=n) for n, name in enumerate(PROJECTIONS)})
    if is_refused(student, a_wrapper(student), attention):
        return
    found = attention.parameters()
    for name in PROJECTIONS:
        sentence = f"attention.{name} keeps a bias that the heads do not have: raise an error, or set it to zero."
        expect_true(not bool(found.get(f"{name}.bias", torch.zeros(6)).any()), sentence)


def is_refused(student: Student, wrapper: RemoteObject, attention: RemoteObject) -> bool:
    """Return whether stack_heads raises an error, of whatever kind: yours, or one of torch's."""
    try:
        student.stack_heads(wrapper, attention)
    except Raised as error:
        if "NotImplementedError" in error.types or "Exception" not in error.types:
            raise
        return True
    return False


def expect_refusal(student: Student, wrapper: RemoteObject, attention: RemoteObject, *, idea: str) -> None:
    sentence = f"stack_heads should raise an error here, yours raises nothing: {idea}."
    expect_true(is_refused(student, wrapper, attention), sentence)


# -- gpt2_small_attention --------------------------------------------------------------------------------------------


def gpt2_small_attention(student: Student) -> RemoteObject:
    """Return the module in eval mode, because its dropout may be any."""
    attention = expect_module("gpt2_small_attention", student.gpt2_small_attention())
    expect_linear(attention, "W_query")  # a wrapper has none, and twelve heads of this width are too slow
    attention.eval()
    attention.method("requires_grad_")(False)  # what only gradients need would take much memory
    return attention


@pytest.mark.example("gpt2_small_attention", rule="no bias for queries, keys and values: 2,360,064 parameters in all")
def test_gpt2_small_attention_has_as_many_parameters_as_in_the_book(student: Student) -> None:
    """Four matrices of 768 × 768 and the bias of out_proj make 2,360,064 parameters."""
    count = sum(parameter.numel() for parameter in gpt2_small_attention(student).parameters().values())
    sentence = f"2,360,064 parameters are expected, yours has {count:,}: GPT-2's own biases would make 2,362,368."
    expect_true(count == 2_360_064, sentence)


@pytest.mark.example("gpt2_small_attention", rule=["768 features in and out", "up to 1,024 tokens"])
def test_gpt2_small_attention_takes_1024_tokens(student: Student) -> None:
    """The module takes 1,024 tokens of 768 features, and returns as many."""
    output = gpt2_small_attention(student)(torch.zeros(1, 1024, 768))
    expect_shape("the output for 1,024 tokens of 768 features", output, (1, 1024, 768))


@pytest.mark.example("gpt2_small_attention", rule="12 heads")
def test_gpt2_small_attention_has_12_heads(student: Student) -> None:
    """With layers that change nothing, the weight of a token for itself shows how many features a head has."""
    attention = gpt2_small_attention(student)
    layers = dict.fromkeys((*(f"{name}.weight" for name in PROJECTIONS), "out_proj.weight"), torch.eye(768))
    attention.set({**layers, "out_proj.bias": torch.zeros(768)})
    # Token 0 is zero. All features of token 1 are 0.5, so it scores 0.25 · head_dim / √head_dim = 0.25 · √64 = 2 with
    # itself and 0 with token 0. Softmax gives e² / (e² + 1) = 0.8808 of the weight to itself.
    inputs = torch.stack([torch.zeros(768), torch.full((768,), 0.5)])[None]  # (1, 2, 768)
    output = expect_shape("the output", attention(inputs), (1, 2, 768))
    idea = "12 heads have 768 / 12 = 64 features each, and scores are divided by the root of that"
    expected = torch.tensor([0.8808, 0.8808]) * 0.5
    expect_values("the first features of the second token", output[0, 1, :2], expected, shape="(2,)", idea=idea)


# -- properties of several exercises, from contracts.json ------------------------------------------------------------

test_contract = contract_tests(__file__)
