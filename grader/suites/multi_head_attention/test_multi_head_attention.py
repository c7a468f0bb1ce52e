"""Hidden tests of unit 4, multi-head attention. Each test or case is one criterion.

Expected values are computed here in float64, by other means than in the course's solution. If the student's code was
given a substitute for an exercise that it calls, the expected value uses the same substitute.

One mistake should not cost every point. For exercises that only move numbers, the tests of views, gradients and
arguments check whether all numbers are in the result, not where they are. The tests of the modules that are about
lengths, dtype or arguments use one head, so that the order of features does not matter, and decisive tokens: one key
fits each query so well that it gets all the weight, whatever the scores are divided by.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import pytest
import torch

from grader.suites.causal import expect_hidden, expect_no_look_ahead, future, lowered, softmax, texts_with_other_ends
from grader.testing.checks import (
    Weights,
    equals,
    expect_any_error,
    expect_close,
    expect_error,
    expect_gradients,
    expect_layer,
    expect_no_bias,
    expect_same,
    expect_shape,
    expect_tensor,
    expect_true,
    expect_values,
    no_parameter,
    oracle_gradients,
    set_layers,
    shown,
)
from grader.testing.contracts import Asking, Given, Right, asking, expect_gradients_of, expect_left_alone, expect_right
from grader.testing.draws import Fresh, case
from grader.testing.student import Raised, RemoteObject, Student
from grader.testing.substitutes import MODULE

# All different, so that mixed-up dimensions show. head_dim is not 4: half of 4 is also its square root.
B, H, T, HEAD_DIM, D_IN, CONTEXT = 2, 3, 6, 5, 7, 9
D_OUT = H * HEAD_DIM
# A number of heads that divides none of these widths.
NOT_DIVIDING = 4
# Dimensions of size one should not be dropped: one text of one token, for one head of one feature.
ALL_ONE = (1, 1, 1, 1)
# If all sizes are equal, only the numbers distinguish the dimensions.
ALL_EQUAL = (3, 3, 3, 3)
# For decisive inputs: the number of tokens in a sequence, at most head_dim, and the width, at least that of all tokens.
T_DECISIVE, D_WIDE = 4, 9
LAYERS = ("W_query", "W_key", "W_value")
LOW_SCORES = "a later token has no weight, even if all visible scores are as low as -10,000 after scaling"


# -- expected values ---------------------------------------------------------------------------------------------


def unroll(x: torch.Tensor, num_heads: int) -> torch.Tensor:
    """(B, T, d_out) to (B, T, H, head_dim)."""
    return torch.stack(x.tensor_split(num_heads, dim=2), dim=2)


def group(x: torch.Tensor) -> torch.Tensor:
    """(B, T, H, head_dim) to (B, H, T, head_dim)."""
    return torch.stack(x.unbind(2), dim=1)


def dot_products(queries: torch.Tensor, keys: torch.Tensor) -> torch.Tensor:
    """(B, H, T, head_dim) twice to (B, H, T, T)."""
    return (queries[:, :, :, None] * keys[:, :, None]).sum(-1)


def merge(x: torch.Tensor) -> torch.Tensor:
    """(B, H, T, head_dim) to (B, T, H · head_dim)."""
    return torch.cat(x.unbind(1), dim=-1)


def splitting(student: Student) -> Callable[[torch.Tensor, int], torch.Tensor]:
    """Return the function that split_heads should compute."""
    unrolled, grouped = student.substitute("unroll_heads", unroll), student.substitute("group_by_head", group)
    return student.substitute("split_heads", lambda x, num_heads: grouped(unrolled(x, num_heads)))


def weighing(student: Student) -> Callable[[torch.Tensor, int], torch.Tensor]:
    """Return the function that head_weights should compute. It may use any of the earlier exercises."""
    mask, row_softmax = student.substitute("causal_mask", future), softmax
    for name in ("softmax_naive", "softmax_stable"):
        row_softmax = student.substitute(name, row_softmax)

    def masked(scores: torch.Tensor, head_dim: int) -> torch.Tensor:
        return row_softmax(scores.masked_fill(mask(scores.shape[-1]), -torch.inf) / head_dim**0.5)

    return student.substitute("head_weights", student.substitute("mask_then_softmax", masked))


def linear(inputs: torch.Tensor, weights: Weights, name: str) -> torch.Tensor:
    """(…, d_in) to (…, d_out): the output of the layer `name`, with its bias if it has one."""
    if f"{name}.weight" not in weights:
        expect_true(False, no_parameter(f"{name}.weight"))
    projected = torch.einsum("...i,oi->...o", inputs.double(), weights[f"{name}.weight"].double())
    return projected + weights[f"{name}.bias"].double() if f"{name}.bias" in weights else projected


def steps(student: Student) -> tuple[Callable[..., torch.Tensor], ...]:
    """Return the functions that the steps of multi-head attention should compute: split, score, weigh and merge."""
    score, merged = student.substitute("head_scores", dot_products), student.substitute("merge_heads", merge)
    return splitting(student), score, weighing(student), merged


def multi_head_attention(student: Student, inputs: torch.Tensor, weights: Weights, num_heads: int = H) -> torch.Tensor:
    """(B, T, d_in) to (B, T, d_out); the input of out_proj if there are no weights for out_proj."""
    split, score, weigh, merged = steps(student)
    queries, keys, values = (split(linear(inputs, weights, name), num_heads) for name in LAYERS)
    contexts = merged(weigh(score(queries, keys), queries.shape[-1]) @ values)
    return linear(contexts, weights, "out_proj") if "out_proj.weight" in weights else contexts


class CausalHead:
    """A single head of causal attention, as in the modules of a wrapper."""

    @staticmethod
    def attend(queries: torch.Tensor, keys: torch.Tensor, values: torch.Tensor) -> torch.Tensor:
        """Three (B, T, d_out) to (B, T, d_out)."""
        scores = dot_products(queries[:, None], keys[:, None])[:, 0] / queries.shape[-1] ** 0.5
        return softmax(scores.masked_fill(future(scores.shape[-1]), -torch.inf)) @ values


def causal_attention(student: Student) -> type[CausalHead]:
    """Return the class that the modules of a wrapper should behave like."""
    return student.substitute("CausalAttention", CausalHead)


def side_by_side(student: Student, inputs: torch.Tensor, weights: Weights) -> torch.Tensor:
    """(B, T, d_in) to (B, T, H · d_out): the output of a wrapper with these weights."""
    attend = causal_attention(student).attend
    heads = 1 + max(int(name.split(".")[1]) for name in weights)
    named = [[linear(inputs, weights, f"heads.{head}.{name}") for name in LAYERS] for head in range(heads)]
    return torch.cat([attend(*projections) for projections in named], dim=-1)


# -- decisive inputs ---------------------------------------------------------------------------------------------
# FITTING is the dot product of a query with the key that fits it, OTHER the one with any other key. The smallest factor
# by which learners are known to multiply the scores is 0.5 / d_out, at least 1/30 here. Then the fitting key is still
# ahead by 560 / 30 = 18: all other keys together have a weight below 8 e⁻¹⁸ = 2e-7. Later keys do not fit either, so
# these inputs do not test the mask. Softmax does not overflow even if an answer does not subtract the maximum, with or
# without scaling: exp(80) is finite in float32, unlike exp(89), and exp(-480) is zero.

FITTING, OTHER = 80.0, -480.0


def decisive_scores(num_tokens: int, shift: int, width: int = 0) -> torch.Tensor:
    """Return scores (T, T) that give all the weight of each query to one key, which is not a later one.

    Args:
        num_tokens: T.
        shift: Which keys fit: another shift selects other keys.
        width: If it is not zero, the scores are lowered for queries and keys of this width.
    """
    scores = torch.full((num_tokens, num_tokens), OTHER, dtype=torch.float64)
    places = torch.arange(num_tokens)
    scores[places, (places + shift) % (places + 1)] = FITTING
    return lowered(scores, width) if width else scores


def first_shift(fresh: Fresh) -> int:
    """Draw the first shift, from 1 to 6. No shift from 1 to 11 selects the own key for each of four queries."""
    return int(fresh.order(6)[0]) + 1


def decisive_queries_and_keys(
    fresh: Fresh, batch: int, heads: int, width: int = 0
) -> tuple[torch.Tensor, torch.Tensor]:
    """Return queries and keys, each (B, H, T, head_dim), whose dot products are decisive and differ between heads."""
    directions = fresh.rotation(HEAD_DIM)[:T_DECISIVE]
    shifts = (first_shift(fresh) + torch.arange(batch * heads)).unflatten(0, (batch, heads)).tolist()
    scores = torch.stack([torch.stack([decisive_scores(T_DECISIVE, shift, width) for shift in row]) for row in shifts])
    return (scores @ directions).float(), directions.float().expand(batch, heads, -1, -1).clone()


def decisive_tokens(
    fresh: Fresh,
    batch: int,
    num_tokens: int,
    heads: int,
    dtype: torch.dtype = torch.float32,
    is_low: bool = False,
) -> tuple[torch.Tensor, Weights]:
    """Return inputs (B, T, D_WIDE), and weights for which each query of each head gives all its weight to one key.

    B · T is at most D_WIDE, and T at most d_out / H. is_low: whether the scores are lowered.
    """
    width = D_OUT // heads if is_low else 0
    inputs = fresh.rotation(D_WIDE)[: batch * num_tokens]  # (B · T, d_in)
    directions = [fresh.rotation(D_OUT // heads)[:num_tokens] for _ in range(heads)]
    first = first_shift(fresh)
    queries = []
    for text in range(batch):
        by_head = [decisive_scores(num_tokens, first + text + head, width) @ directions[head] for head in range(heads)]
        queries.append(torch.cat(by_head, dim=1))
    keys = torch.cat(directions, dim=1).repeat(batch, 1)  # (B · T, d_out)
    # The tokens are orthonormal, so inputs @ inputs.mT, (B · T, B · T), is the identity.
    weights = {
        "W_query.weight": torch.cat(queries).mT @ inputs,  # (d_out, B · T) @ (B · T, d_in) -> (d_out, d_in)
        "W_key.weight": keys.mT @ inputs,
        "W_value.weight": fresh(D_OUT, D_WIDE),
    }
    return inputs.unflatten(0, (batch, num_tokens)).to(dtype), {n: value.to(dtype) for n, value in weights.items()}


# -- exercises that only move numbers ----------------------------------------------------------------------------


def expect_moved(result: object, x: torch.Tensor, shape: tuple[int, ...]) -> torch.Tensor:
    """Expect a tensor of this shape with the numbers of x in any order, and return it in float64."""
    moved = expect_tensor(result, shape).double()
    same = torch.allclose(moved.flatten().sort().values, x.double().flatten().sort().values)
    expect_true(same, "The numbers in the result are not the numbers of x.")
    return moved


def expect_moving_gradients(result: object, found: dict[str, torch.Tensor | None], x: torch.Tensor) -> None:
    """Expect the gradient of each number in x to be the gradient at its position in the result."""
    assert isinstance(result, torch.Tensor)
    result_order, shape = result.double().flatten().argsort(), result.shape

    def moved(x: torch.Tensor) -> torch.Tensor:
        # All numbers differ, so the k-th smallest number of x is the k-th smallest of the result.
        places = torch.empty_like(result_order)
        places[result_order] = x.detach().flatten().argsort()
        return x.flatten()[places].reshape(shape)

    expect_gradients(found, oracle_gradients(moved, [x], {}))


def unrolled_view(fresh: Fresh) -> torch.Tensor:
    """Return (B, T, H, head_dim) with the memory layout after a transpose of heads and tokens."""
    return fresh(B, H, T, HEAD_DIM).transpose(1, 2)  # (B, H, T, head_dim) -> (B, T, H, head_dim)


@pytest.mark.exercise(
    "unroll_heads", rule="head h has the head_dim features that begin at h · head_dim, in their order"
)
def test_each_head_has_its_share_of_the_features(student: Student, fresh: Fresh) -> None:
    """Each head should have head_dim neighbouring features, in their order: shape (B, T, H, head_dim)."""
    for shape, num_heads in (((B, T, D_OUT), H), (ALL_ONE[:3], 1), ((3, 3, 9), 3)):
        x = fresh(*shape)
        expect_close(student.unroll_heads(x, num_heads), unroll(x, num_heads))


@pytest.mark.exercise("unroll_heads", rule="if num_heads does not divide d_out, it raises ValueError or AssertionError")
def test_unrolling_refuses_heads_that_do_not_divide(student: Student, fresh: Fresh) -> None:
    """If num_heads does not divide d_out, there should be a ValueError or an AssertionError, and otherwise none."""
    x = fresh(B, T, D_OUT)
    for num_heads in (D_OUT, HEAD_DIM):
        expect_moved(student.unroll_heads(x, num_heads), x, (B, T, num_heads, D_OUT // num_heads))
    expect_error(functools.partial(student.unroll_heads, x, NOT_DIVIDING))


@pytest.mark.exercise(
    "group_by_head", rule="the tokens of each head are grouped: the features at [b, t, h] move to [b, h, t]"
)
def test_the_tokens_of_each_head_stand_together(student: Student, fresh: Fresh) -> None:
    """The features at [b, t, h] should move to [b, h, t]: shape (B, H, T, head_dim)."""
    for shape in ((B, T, H, HEAD_DIM), ALL_ONE, ALL_EQUAL):
        x = fresh(*shape)
        expect_close(student.group_by_head(x), group(x))


@pytest.mark.exercise("split_heads", rule="head h has the head_dim features of every token that begin at h · head_dim")
def test_each_head_has_its_features_of_every_token(student: Student, fresh: Fresh) -> None:
    """Each head should have its own head_dim features of every token: shape (B, H, T, head_dim)."""
    for shape, num_heads in (((B, T, D_OUT), H), (ALL_ONE[:3], 1), ((3, 3, 9), 3)):
        x = fresh(*shape)
        expected = splitting(student)(x, num_heads)
        expect_close(student.split_heads(x, num_heads), expected)


@pytest.mark.exercise("split_heads", rule="if num_heads does not divide d_out, it raises ValueError or AssertionError")
def test_splitting_refuses_heads_that_do_not_divide(student: Student, fresh: Fresh) -> None:
    """If num_heads does not divide d_out, there should be a ValueError or an AssertionError, and otherwise none."""
    x = fresh(B, D_OUT, D_OUT)
    splitting(student)
    for num_heads in (D_OUT, HEAD_DIM):
        expect_moved(student.split_heads(x, num_heads), x, (B, num_heads, D_OUT, D_OUT // num_heads))
    expect_error(functools.partial(student.split_heads, x, NOT_DIVIDING))


@pytest.mark.exercise(
    "merge_heads",
    rule="the heads of each token are next to each other again, head 0 first: the inverse of split_heads",
)
def test_the_heads_of_each_token_stand_side_by_side(student: Student, fresh: Fresh) -> None:
    """Each token should have its heads next to each other again, head zero first: shape (B, T, H · head_dim)."""
    for shape in ((B, H, T, HEAD_DIM), ALL_ONE, ALL_EQUAL):
        x = fresh(*shape)
        # Swapping heads and tokens is its own inverse, so an answer may merge with group_by_head.
        by_token = student.substitute("group_by_head", group)(x)
        expected = by_token.flatten(2)  # (B, T, H, head_dim) -> (B, T, H · head_dim)
        expect_close(student.merge_heads(x), expected)


def moving(exercise: str, draw: Callable[[Fresh], Sequence[Any]], *shape: int) -> Asking:
    """Return a call of one of these four exercises whose result should have the numbers of x and this shape."""
    ask = asking(exercise, draw, lambda _, result, x: expect_moved(result, x, shape))

    def moved(student: Student, fresh: Fresh) -> Given:
        if exercise == "split_heads":
            splitting(student)  # expects substitutes of unroll_heads and group_by_head too
        return ask(student, fresh)

    return moved


UNROLLING = moving("unroll_heads", lambda fresh: (fresh(B, T, D_OUT), H), B, T, H, HEAD_DIM)
GROUPING = moving("group_by_head", lambda fresh: (fresh(B, T, H, HEAD_DIM),), B, H, T, HEAD_DIM)
SPLITTING = moving("split_heads", lambda fresh: (fresh(B, T, D_OUT), H), B, H, T, HEAD_DIM)
# The memory layout after split_heads, for which even `view` works.
MERGING = moving("merge_heads", lambda fresh: (fresh(B, T, H, HEAD_DIM).transpose(1, 2),), B, T, D_OUT)
A_VIEW = "x may be non-contiguous, for example the result of a transpose"
ANY_LAYOUT = "The result should be correct if x is non-contiguous, for example the result of a transpose."
GRADIENTS = "gradients flow to x", "Gradients should flow back to x."


@pytest.mark.parametrize("views", [
    case("unrolling_a_view", "unroll_heads", A_VIEW, ANY_LAYOUT,
         [moving("unroll_heads", lambda fresh: (fresh(T, B, D_OUT).transpose(0, 1), H), B, T, H, HEAD_DIM)]),
    case("grouping_a_view", "group_by_head", A_VIEW, ANY_LAYOUT,
         [moving("group_by_head", lambda fresh: (unrolled_view(fresh),), B, H, T, HEAD_DIM)]),
    case("splitting_a_view", "split_heads", A_VIEW, ANY_LAYOUT,
         [moving("split_heads", lambda fresh: (fresh(T, B, D_OUT).transpose(0, 1), H), B, H, T, HEAD_DIM)]),
    case("merging_a_view", "merge_heads",
         "x may be non-contiguous, for example the result of split_heads and a matrix product",
         "The result should be correct if x is non-contiguous, for example after splitting or after a product.", [
             # the layouts after a matrix product, after split_heads, and another one
             moving("merge_heads", lambda fresh: (unrolled_view(fresh).transpose(1, 2),), B, T, D_OUT),
             MERGING,
             moving("merge_heads", lambda fresh: (fresh(HEAD_DIM, T, H, B).permute(3, 2, 1, 0),), B, T, D_OUT),
         ]),
])  # fmt: skip
def test_views(student: Student, fresh: Fresh, views: list[Asking]) -> None:
    """The result should be correct if x is non-contiguous."""
    for ask in views:
        expect_right(ask(student, fresh))


@pytest.mark.parametrize("ask", [
    case("gradients_of_unrolling", "unroll_heads", *GRADIENTS, UNROLLING),
    case("gradients_of_grouping", "group_by_head", *GRADIENTS, GROUPING),
    case("gradients_of_splitting", "split_heads", *GRADIENTS, SPLITTING),
    case("gradients_of_merging", "merge_heads", *GRADIENTS, MERGING),
])  # fmt: skip
def test_gradients_of_moving(student: Student, fresh: Fresh, ask: Asking) -> None:
    """The result should have the numbers of x, and the gradient of each number should flow back to x."""
    call, arguments, expect = ask(student, fresh)
    result, found = expect_values(call.gradients(*arguments), 2)
    expect(result)
    expect_moving_gradients(result, found, arguments[0])


@pytest.mark.parametrize("ask", [
    case("unrolling_leaves_x_alone", "unroll_heads", "x is not changed",
         "The result should be unrolled, and the call should not change x.", UNROLLING),
    case("grouping_leaves_x_alone", "group_by_head", "x is not changed",
         "The result should be grouped by head, and the call should not change x.", GROUPING),
    case("splitting_leaves_x_alone", "split_heads", "x is not changed",
         "The result should be split into heads, and the call should not change x.", SPLITTING),
    case("merging_leaves_x_alone", "merge_heads", "x is not changed",
         "The result should be merged, and the call should not change x.", MERGING),
])  # fmt: skip
def test_moving_leaves_x_alone(student: Student, fresh: Fresh, ask: Asking) -> None:
    """The result should be correct, and the call should not change x."""
    expect_left_alone(ask(student, fresh), "x was changed.")


# -- head_scores -------------------------------------------------------------------------------------------------


@pytest.mark.exercise(
    "head_scores", rule="each score is the dot product of a query with a key of the same head, not yet scaled"
)
def test_scores_are_dot_products(student: Student, fresh: Fresh) -> None:
    """Row i of a head's scores should contain the dot products of query i with every key of this head, not scaled."""
    for shape, dtype in (((B, H, T, HEAD_DIM), torch.float32), (ALL_ONE, torch.float64), (ALL_EQUAL, torch.float32)):
        queries, keys = fresh(*shape, dtype=dtype), fresh(*shape, dtype=dtype)
        expect_close(student.head_scores(queries, keys), dot_products(queries, keys), "The scores")


@pytest.mark.exercise("head_scores", rule="each head and each sequence is computed separately")
def test_heads_do_not_score_each_other(student: Student, fresh: Fresh) -> None:
    """If one head of one sequence changes, only its own scores should change, (T, T) of them."""
    queries, keys = fresh(B, H, T, HEAD_DIM), fresh(B, H, T, HEAD_DIM)
    before = expect_tensor(student.head_scores(queries, keys), (B, H, T, T))
    queries[1, 2], keys[1, 2] = fresh(T, HEAD_DIM), fresh(T, HEAD_DIM)
    after = expect_tensor(student.head_scores(queries, keys), (B, H, T, T))
    changed = ~torch.isclose(before.double(), after.double()).flatten(2).all(-1)  # (B, H)
    expect_true(bool(changed[1, 2]), "The head's own scores did not change.")
    expect_true(int(changed.sum()) == 1, "Scores of another head or sequence changed.")


@pytest.mark.exercise(
    "head_scores", rule="queries and keys may be non-contiguous, for example the result of a transpose"
)
def test_scores_of_views(student: Student, fresh: Fresh) -> None:
    """The result should be correct if queries and keys are non-contiguous, for example after a transpose."""
    queries, keys = (fresh(B, T, H, HEAD_DIM).transpose(1, 2) for _ in range(2))
    expect_close(student.head_scores(queries, keys), dot_products(queries, keys), "The scores")


@pytest.mark.exercise("head_scores", rule="queries and keys are not changed")
def test_scoring_leaves_its_arguments_alone(student: Student, fresh: Fresh) -> None:
    """Each query should get its largest score with its matching key, and the call should not change its arguments."""
    arguments = decisive_queries_and_keys(fresh, B, H)
    scores, after = expect_values(student.head_scores.with_arguments(*arguments), 2)
    fitting = expect_tensor(scores, (B, H, T_DECISIVE, T_DECISIVE)).argmax(-1)
    expect_true(torch.equal(fitting, dot_products(*arguments).argmax(-1)), "Another key has the largest score.")
    for argument, before in zip(after, arguments, strict=True):
        expect_same(argument, before, "An argument was changed.")


# -- head_weights ------------------------------------------------------------------------------------------------


@pytest.mark.exercise("head_weights", rule="no token gives weight to a later one")
def test_the_future_gets_no_weight(student: Student, fresh: Fresh) -> None:
    """Above the diagonal every weight should be zero; elsewhere the largest score should get the largest weight."""
    scores = 3 * fresh(B, H, T, T)
    best = weighing(student)(scores.double(), HEAD_DIM).argmax(-1)
    weights = expect_tensor(student.head_weights(scores, HEAD_DIM), (B, H, T, T)).double()
    expect_close(weights.triu(1), torch.zeros(B, H, T, T), "The weights of later tokens")
    expect_true(torch.equal(weights.argmax(-1), best), "A key other than the best one has the largest weight.")


@pytest.mark.exercise(
    "head_weights", rule="the weights are the softmax of scores / √head_dim over the keys that are not hidden"
)
def test_weights_are_the_softmax_of_scaled_scores(student: Student, fresh: Fresh) -> None:
    """The weights should be the softmax of scores / √head_dim over each token and the tokens before it."""
    for shape in ((B, H, T, T), ALL_ONE):
        scores = 3 * fresh(*shape)
        scores[..., 2:3, 1:2] = 0.0  # a score like any other: a mask that is found by its zeros hides it too
        expected = weighing(student)(scores.double(), HEAD_DIM)
        expect_close(student.head_weights(scores, HEAD_DIM), expected, "The weights")


@pytest.mark.exercise(
    "head_weights", rule="the weights are also correct if a score of the future is far above the others"
)
def test_a_far_larger_score_of_the_future(student: Student, fresh: Fresh) -> None:
    """If a score of the future is very large, the other weights should still be correct."""
    scores = dot_products(*decisive_queries_and_keys(fresh, B, H))
    # A softmax over all keys would give the visible ones zero in float32, even if the scores are divided by 15.
    scores = scores.masked_fill(future(T_DECISIVE), 2000.0)
    expected = weighing(student)(scores.double(), HEAD_DIM)
    expect_close(student.head_weights(scores, HEAD_DIM), expected, "The weights")


@pytest.mark.exercise("head_weights", rule=LOW_SCORES)
def test_the_future_gets_no_weight_beside_very_low_scores(student: Student, fresh: Fresh) -> None:
    """If all visible scores are very low, the future should still have no weight."""
    for width, expect in ((0, expect_close), (HEAD_DIM, expect_hidden)):
        scores = dot_products(*decisive_queries_and_keys(fresh, B, H, width))
        expected = weighing(student)(scores.double(), HEAD_DIM)
        expect(student.head_weights(scores, HEAD_DIM), expected)


@pytest.mark.exercise("head_weights", rule="the scores are not changed")
def test_weighing_leaves_the_scores_alone(student: Student, fresh: Fresh) -> None:
    """The weights should be correct, and the call should not change the scores."""
    scores = dot_products(*decisive_queries_and_keys(fresh, B, H))
    expected = weighing(student)(scores.double(), HEAD_DIM)
    weights, after = expect_values(student.head_weights.with_arguments(scores, HEAD_DIM), 2)
    expect_close(weights, expected, "The weights")
    expect_same(after[0], scores, "The scores were changed.")


@pytest.mark.parametrize(("exercise", "right", "draw"), [
    case("gradients_of_scores", "head_scores", "gradients flow to both",
         "Gradients of the scores should flow to the queries and to the keys.",
         "head_scores", lambda _: dot_products, lambda fresh: [fresh(B, H, T, HEAD_DIM) for _ in range(2)]),
    case("gradients_of_weights", "head_weights", "gradients flow to the scores",
         "Gradients of the weights should flow to the scores.",
         "head_weights", weighing, lambda fresh: [fresh(B, H, T, T), HEAD_DIM]),
])  # fmt: skip
def test_gradients(student: Student, fresh: Fresh, exercise: str, right: Right, draw: Callable[..., Any]) -> None:
    """Gradients of scores and weights should flow back."""
    expect_gradients_of(student, exercise, right, draw(fresh))


# -- modules -----------------------------------------------------------------------------------------------------


def expect_module(value: object) -> RemoteObject:
    expect_true(isinstance(value, RemoteObject), "The result is not a module.")
    assert isinstance(value, RemoteObject)
    return value


def expect_bias(parameters: Weights, name: str, d_out: int) -> None:
    expect_true(f"{name}.bias" in parameters, f"{name} has no bias.")
    expect_shape(parameters[f"{name}.bias"], (d_out,))


def head_layers(heads: int) -> list[str]:
    return [f"heads.{head}.{name}" for head in range(heads) for name in LAYERS]


def fresh_layers(fresh: Fresh, names: Sequence[str], d_in: int, d_out: int, bias: bool = False) -> Weights:
    """Return weights for these linear layers, and biases, so small that softmax is not close to a maximum."""
    weights = {f"{name}.weight": fresh(d_out, d_in) / d_in**0.5 for name in names}
    return {**weights, **({f"{name}.bias": fresh(d_out) for name in names} if bias else {})}


def with_gradients(
    function: Callable[[torch.Tensor, Weights], torch.Tensor], inputs: torch.Tensor, weights: Weights
) -> Weights:
    """Return the gradients of function(inputs, weights), for weights whose names contain dots.

    The order is from the last layer to the inputs, so that a failure names the first layer that no gradient reaches.
    """
    by_keyword = {name.replace(".", "_"): name for name in weights}

    def named(inputs: torch.Tensor, **found: torch.Tensor) -> torch.Tensor:
        return function(inputs, {by_keyword[keyword]: value for keyword, value in found.items()})

    return dict(reversed(oracle_gradients(named, [inputs], weights).items()))


# -- MultiHeadAttentionWrapper -----------------------------------------------------------------------------------

P = 0.25


def wrapper_made(student: Student, heads: int, dropout: float = 0.0, d_in: int = D_IN, **options: bool) -> RemoteObject:
    causal_attention(student)
    return expect_module(student.MultiHeadAttentionWrapper(d_in, HEAD_DIM, CONTEXT, dropout, heads, **options))


def wrapper_of(
    student: Student,
    fresh: Fresh,
    heads: int,
    dropout: float = 0.0,
    dtype: torch.dtype = torch.float32,
    d_in: int = D_IN,
) -> tuple[RemoteObject, Weights]:
    """Return a wrapper and its weights."""
    wrapper = wrapper_made(student, heads, dropout, d_in)
    if dtype == torch.float64:
        wrapper.to(dtype)
    weights = {n: value.to(dtype) for n, value in fresh_layers(fresh, head_layers(heads), d_in, HEAD_DIM).items()}
    set_layers(wrapper, weights)
    return wrapper, weights


@pytest.mark.exercise(
    "MultiHeadAttentionWrapper",
    rule="heads is an nn.ModuleList of num_heads causal attention modules, each from d_in to d_out",
)
def test_heads_is_a_list_of_modules(student: Student) -> None:
    """heads should be an nn.ModuleList with num_heads modules, whose three layers each go from d_in to d_out."""
    heads = expect_module(wrapper_made(student, H).get("heads"))
    expect_true("torch.nn.modules.container.ModuleList" in heads.kinds, "heads is not an nn.ModuleList.")
    expect_true(equals(heads.method("__len__")(), H), "heads does not have num_heads modules.")
    for head in range(H):
        parameters = expect_module(heads.method("__getitem__")(head)).parameters()
        for name in LAYERS:
            expect_layer(parameters, name, D_IN, HEAD_DIM)


@pytest.mark.exercise("MultiHeadAttentionWrapper", rule="every head has its own weights")
def test_every_head_has_its_own_weights(student: Student, fresh: Fresh) -> None:
    """Each head should have its own W_query, W_key and W_value: a change in one should not change another."""
    wrapper = wrapper_made(student, H)
    parameters = wrapper.parameters()
    # A shared module or layer is listed only once, under its first name.
    for name in head_layers(H):
        expect_true(f"{name}.weight" in parameters, no_parameter(f"{name}.weight"))
    weights = {f"{name}.weight": fresh(*parameters[f"{name}.weight"].shape) for name in head_layers(H)}
    wrapper.set(weights)
    after = wrapper.parameters()
    kept = all(torch.equal(after[name], value) for name, value in weights.items())
    expect_true(kept, "Two layers share their weights: a change in one has changed another.")


@pytest.mark.exercise(
    "MultiHeadAttentionWrapper", rule="the output is the concatenation of the heads' outputs, head 0 first"
)
def test_heads_side_by_side(student: Student, fresh: Fresh) -> None:
    """Each token's output should be the outputs of all heads, concatenated in order: (B, T, H · d_out)."""
    # In the second case a head is as wide as its inputs: if not, values without a projection have the wrong shape.
    for d_in in (D_IN, HEAD_DIM):
        wrapper, weights = wrapper_of(student, fresh, H, d_in=d_in)
        inputs = fresh(B, T, d_in)
        inputs[0, 1] = 0.0  # its scores are zero: a mask that is found by its zeros hides them too
        expect_close(wrapper(inputs), side_by_side(student, inputs, weights), "The outputs")


WRAPPER_BIAS = (
    "W_query, W_key and W_value of each head are nn.Linear without bias unless qkv_bias=True; then each layer adds "
    "its own bias"
)


@pytest.mark.exercise("MultiHeadAttentionWrapper", rule=WRAPPER_BIAS)
def test_no_head_has_a_bias_by_default(student: Student) -> None:
    """The layers of the heads should have no bias if the caller does not ask for one."""
    expect_no_bias(wrapper_made(student, 1).parameters(), head_layers(1))


@pytest.mark.exercise("MultiHeadAttentionWrapper", rule=WRAPPER_BIAS)
def test_every_head_has_biases_on_demand(student: Student, fresh: Fresh) -> None:
    """With qkv_bias=True, each layer of each head should have a bias and add it."""
    wrapper = wrapper_made(student, 1, qkv_bias=True)
    parameters = wrapper.parameters()
    for name in head_layers(1):
        expect_bias(parameters, name, HEAD_DIM)
    weights, inputs = fresh_layers(fresh, head_layers(1), D_IN, HEAD_DIM, bias=True), fresh(B, T, D_IN)
    wrapper.set(weights)
    expect_close(wrapper(inputs), side_by_side(student, inputs, weights), "The outputs")


@pytest.mark.exercise("MultiHeadAttentionWrapper", rule="any number of tokens up to context_length")
def test_the_wrapper_takes_any_number_of_tokens(student: Student, fresh: Fresh) -> None:
    """The wrapper should work for any number of tokens, from a single one up to context_length."""
    wrapper, weights = wrapper_of(student, fresh, 1)
    for count in (CONTEXT, 1, T):
        inputs = fresh(B, count, D_IN)
        expect_close(wrapper(inputs), side_by_side(student, inputs, weights), "The outputs")


@pytest.mark.exercise("MultiHeadAttentionWrapper", rule="dropout acts on each head's weights, in training only")
def test_the_wrapper_drops_weights_in_training_only(student: Student, fresh: Fresh) -> None:
    """In training some weights should be dropped, and the kept ones scaled up; after .eval() neither."""
    # A single token gives itself all its weight: a head's output is its value, or zero if the weight is dropped. The
    # probability that none of eighty weights is dropped is 0.75^80 = 1e-10. That all are dropped is far less likely.
    wrapper, weights = wrapper_of(student, fresh, 1, dropout=P)
    inputs = fresh(80, 1, D_IN)
    expected = side_by_side(student, inputs, weights)
    wrapper.eval()
    expect_close(wrapper(inputs), expected, "The outputs after .eval()")
    wrapper.train()
    expect_dropped(expect_tensor(wrapper(inputs), (80, 1, HEAD_DIM)), expected, causal_attention(student) is CausalHead)


def expect_dropped(outputs: torch.Tensor, expected: torch.Tensor, by_weights: bool) -> None:
    """Expect every output to be zero or its expected value divided by 1 - P, and both to occur.

    by_weights: whether the heads drop weights; their substitutes drop features. No value that depends on the draws is
    recorded.
    """
    is_zero = outputs == 0
    expect_true(not torch.allclose(outputs.double(), expected, rtol=1e-4, atol=1e-5), "Nothing is dropped in training.")
    expect_true(bool(is_zero.any()), "No output is zero, although some weights should be dropped.")
    kept = torch.isclose(outputs.double(), expected / (1 - P), rtol=1e-4, atol=1e-5)
    # If a weight is dropped, all features of its head are zero.
    is_whole = not by_weights or bool((is_zero.all(-1) == is_zero.any(-1)).all())
    expect_true(
        is_whole or bool((is_zero | kept).all()),
        "Features are dropped, and the kept ones are not divided by 1 - dropout.",
    )
    expect_true(bool((is_zero | kept).all()), "The kept values are not divided by 1 - dropout.")
    expect_true(is_whole, "Features are dropped, not weights.")
    expect_true(not bool(is_zero.all()), "Everything is dropped in training.")


@pytest.mark.exercise("MultiHeadAttentionWrapper", rule="gradients reach the inputs and the weights of all heads")
def test_gradients_of_the_wrapper(student: Student, fresh: Fresh) -> None:
    """Gradients of the output should reach the three layers of each head, and the inputs."""
    wrapper, weights = wrapper_of(student, fresh, 2)
    inputs = fresh(B, T, D_IN)
    expected = with_gradients(functools.partial(side_by_side, student), inputs, weights)
    _, found = expect_values(wrapper.gradients(inputs), 2)
    expect_gradients(found, expected)


@pytest.mark.exercise("MultiHeadAttentionWrapper", rule="works in float64 after .double()")
def test_the_wrapper_in_float64(student: Student, fresh: Fresh) -> None:
    """After .double() the wrapper should take float64 inputs and give the correct output."""
    wrapper, weights = wrapper_of(student, fresh, 1, dtype=torch.float64)
    inputs = fresh(B, T, D_IN, dtype=torch.float64)
    expect_close(wrapper(inputs), side_by_side(student, inputs, weights), "The outputs")


@pytest.mark.exercise("MultiHeadAttentionWrapper", rule="the inputs are not changed")
def test_the_wrapper_leaves_the_inputs_alone(student: Student, fresh: Fresh) -> None:
    """The output should be correct, and the call should not change the inputs."""
    wrapper, weights = wrapper_of(student, fresh, 1)
    inputs = fresh(B, T, D_IN)
    output, [after] = expect_values(wrapper.with_arguments(inputs), 2)
    expect_close(output, side_by_side(student, inputs, weights), "The outputs")
    expect_same(after, inputs, "The inputs were changed.")


# -- two_dimensional_output --------------------------------------------------------------------------------------


def two_heads(student: Student) -> tuple[RemoteObject, Any]:
    """Return the wrapper, and the substitute to compare it with, or None."""
    causal_attention(student)
    substitute = student.substitute("MultiHeadAttentionWrapper", None)
    return expect_module(student.two_dimensional_output(D_IN, CONTEXT)), substitute


def heads_of(wrapper: RemoteObject) -> Weights:
    """Return the parameters of a wrapper's heads, for any number and width of heads."""
    parameters = wrapper.parameters()
    heads = {name: value for name, value in sorted(parameters.items()) if name.startswith("heads.")}
    are_numbered = all(name.split(".")[1].isdecimal() for name in heads)
    expect_true(are_numbered and "heads.0.W_value.weight" in heads, "The result is not a wrapper with heads.")
    return heads


def expect_equal_heads(weights: Weights) -> None:
    """Expect every layer of every head to have the same width of inputs and of outputs."""
    shape = tuple(weights["heads.0.W_value.weight"].shape)
    expect_true(len(shape) == 2, f"A layer's parameter has the wrong shape: {shape}.")
    for name, value in weights.items():
        layer, _, kind = name.partition(".W_")[2].partition(".")
        if f"W_{layer}" in LAYERS and kind in ("weight", "bias"):
            expect_shape(value, shape if kind == "weight" else shape[:1])


def expect_wrapping(
    student: Student,
    fresh: Fresh,
    wrapper: RemoteObject,
    substitute: Any,
    *shapes: tuple[int, int],
    in_training: bool = False,
) -> None:
    """Expect the output of a wrapper with these weights, for inputs (B, T, d_in) of each shape (B, T)."""
    weights = {name: fresh(*value.shape) for name, value in heads_of(wrapper).items()}
    expect_equal_heads(weights)
    wrapper.set(weights)
    d_out, d_in = weights["heads.0.W_value.weight"].shape
    heads = len({name.split(".")[1] for name in weights})
    for shape in shapes:
        inputs = fresh(*shape, d_in)
        if substitute is None:
            expected = side_by_side(student, inputs, weights)
        else:
            module = substitute(d_in, d_out, CONTEXT, 0.0, heads, "heads.0.W_value.bias" in weights).double()
            others = weights.keys() ^ module.state_dict().keys()
            expect_true(not others, "The heads have other parameters than those of the wrapper.")
            module.load_state_dict(weights)
            expected = module(inputs.double()).detach()
        if in_training:  # the dropped weights are random, so no number is recorded
            outputs = expect_tensor(wrapper(inputs), expected.shape).double()
            expect_true(
                torch.allclose(outputs, expected.double(), rtol=1e-4, atol=1e-5),
                "The outputs in training are different.",
            )
        else:
            expect_close(wrapper(inputs), expected, "The outputs")


TWO_HEADS = "the wrapper has two heads, no dropout and no bias"


@pytest.mark.exercise("two_dimensional_output", rule=TWO_HEADS)
def test_two_heads(student: Student) -> None:
    """The wrapper should have two heads, each from d_in features."""
    weights = heads_of(two_heads(student)[0])
    expect_true(len({name.split(".")[1] for name in weights}) == 2, "The wrapper does not have two heads.")
    expect_true(weights["heads.0.W_value.weight"].shape[-1:] == (D_IN,), "The heads do not take d_in features.")


@pytest.mark.exercise("two_dimensional_output", rule=TWO_HEADS)
def test_no_dropout(student: Student, fresh: Fresh) -> None:
    """The wrapper should drop no weight, also in training."""
    wrapper, substitute = two_heads(student)
    wrapper.train()
    # At least 40 · 6 weights: with a dropout of 0.1, none of them is dropped with a probability of 0.9^240 = 1e-11.
    expect_wrapping(student, fresh, wrapper, substitute, (40, 3), in_training=True)


@pytest.mark.exercise("two_dimensional_output", rule=TWO_HEADS)
def test_no_bias(student: Student) -> None:
    """W_query, W_key and W_value of the heads should have no bias."""
    weights = heads_of(two_heads(student)[0])
    expect_true(not any(name.endswith("bias") for name in weights), "A layer has a bias.")


@pytest.mark.exercise("two_dimensional_output", rule="its outputs are two-dimensional: (B, T, d_in) → (B, T, 2)")
def test_outputs_are_two_dimensional(student: Student, fresh: Fresh) -> None:
    """Each token's output should have two features: the heads' outputs next to each other."""
    wrapper, substitute = two_heads(student)
    wrapper.eval()
    expect_wrapping(student, fresh, wrapper, substitute, (B, 3))
    expect_tensor(wrapper(fresh(B, 3, D_IN)), (B, 3, 2))


@pytest.mark.exercise("two_dimensional_output", rule="it takes any number of tokens up to context_length")
def test_two_heads_take_any_number_of_tokens(student: Student, fresh: Fresh) -> None:
    """The wrapper should work for any number of tokens, from a single one up to context_length."""
    wrapper, substitute = two_heads(student)
    wrapper.eval()
    expect_wrapping(student, fresh, wrapper, substitute, (B, CONTEXT), (B, 1))


# -- MultiHeadAttention ------------------------------------------------------------------------------------------
# The context length is the length of the inputs, except in the tests about it.

OUT_PROJ = {"out_proj.weight": torch.eye(D_OUT), "out_proj.bias": torch.zeros(D_OUT)}


def fresh_four_layers(fresh: Fresh) -> Weights:
    out_proj = ["out_proj"]
    return {**fresh_layers(fresh, LAYERS, D_IN, D_OUT), **fresh_layers(fresh, out_proj, D_OUT, D_OUT, bias=True)}


def attention_with(
    student: Student, weights: Weights, context_length: int, heads: int = H, dropout: float = 0.0
) -> RemoteObject:
    """Return a MultiHeadAttention with these weights. If they contain none for out_proj, it becomes the identity.

    A missing out_proj costs only its own criteria.
    """
    steps(student)
    attention = student.queue(
        "MultiHeadAttention", weights["W_query.weight"].shape[1], D_OUT, context_length, dropout, heads
    )
    dtype = weights["W_query.weight"].dtype
    if dtype == torch.float64:
        attention.to(dtype)
    set_layers(attention, weights, optional={name: value.to(dtype) for name, value in OUT_PROJ.items()})
    return attention


@pytest.mark.exercise(
    "MultiHeadAttention",
    rule="W_query, W_key and W_value are nn.Linear from d_in to d_out, and out_proj is nn.Linear from d_out to d_out, "
    "with a bias",
)
def test_four_layers(student: Student) -> None:
    """W_query, W_key and W_value should go from d_in to d_out, and out_proj from d_out to d_out, with a bias."""
    parameters = student.queue("MultiHeadAttention", D_IN, D_OUT, CONTEXT, 0.0, H).parameters()
    for name in LAYERS:
        expect_layer(parameters, name, D_IN, D_OUT)
    expect_layer(parameters, "out_proj", D_OUT, D_OUT)
    expect_bias(parameters, "out_proj", D_OUT)


BIAS = "W_query, W_key and W_value have no bias unless qkv_bias=True; then each layer adds its own bias"


@pytest.mark.exercise("MultiHeadAttention", rule=BIAS)
def test_no_bias_by_default(student: Student) -> None:
    """W_query, W_key and W_value should have no bias if the caller does not ask for one."""
    expect_no_bias(student.queue("MultiHeadAttention", D_IN, D_OUT, CONTEXT, 0.0, H).parameters(), LAYERS)


@pytest.mark.exercise("MultiHeadAttention", rule=BIAS)
def test_three_biases_on_demand(student: Student) -> None:
    """With qkv_bias=True, W_query, W_key and W_value should each have a bias of d_out numbers."""
    parameters = student.queue("MultiHeadAttention", D_IN, D_OUT, CONTEXT, 0.0, H, qkv_bias=True).parameters()
    for name in LAYERS:
        expect_bias(parameters, name, D_OUT)


@pytest.mark.exercise("MultiHeadAttention", rule=BIAS)
def test_the_biases_count_in_every_head(student: Student, fresh: Fresh) -> None:
    """With qkv_bias=True, the queries, keys and values should contain the biases."""
    steps(student)
    attention = student.queue("MultiHeadAttention", D_WIDE, D_OUT, T_DECISIVE, 0.0, 1, qkv_bias=True)
    inputs, weights = decisive_tokens(fresh, 1, T_DECISIVE, 1)
    # The query consists of the bias only: it fits the first token's key, which all tokens see.
    keys = inputs[0].double() @ weights["W_key.weight"].double().mT  # (T, d_out)
    weights["W_query.weight"] = torch.zeros(D_OUT, D_WIDE)
    weights["W_query.bias"] = (FITTING * keys[0] + OTHER * keys[1:].sum(0)).float()
    weights["W_key.bias"], weights["W_value.bias"] = fresh(D_OUT) / 10, fresh(D_OUT)
    attention.set(weights, optional=OUT_PROJ)
    expect_close(attention(inputs), multi_head_attention(student, inputs, weights, 1), "The outputs")


EACH_HEAD = (
    "each head attends with its own head_dim = d_out / num_heads features of queries, keys and values, head 0 first; "
    "scores over √head_dim"
)


@pytest.mark.exercise("MultiHeadAttention", rule=EACH_HEAD)
def test_each_head_attends_with_its_own_features(student: Student, fresh: Fresh) -> None:
    """Each head should compare its own queries and keys, and mix its own features of the values."""
    inputs, weights = decisive_tokens(fresh, B, T_DECISIVE, H)
    attention = attention_with(student, weights, T_DECISIVE)
    expect_close(attention(inputs), multi_head_attention(student, inputs, weights), "The outputs")


@pytest.mark.exercise("MultiHeadAttention", rule=EACH_HEAD)
def test_attention_is_scaled_in_each_head(student: Student, fresh: Fresh) -> None:
    """Each head's weights should be the causal softmax of its scores / √head_dim: output (B, T, d_out)."""
    # In the second case both widths are equal: if they differ, values without a projection have the wrong shape.
    for d_in in (D_IN, D_OUT):
        inputs, weights = fresh(B, T, d_in), fresh_layers(fresh, LAYERS, d_in, D_OUT)
        inputs[0, 1] = 0.0  # its scores are zero: a mask that is found by its zeros hides them too
        attention = attention_with(student, weights, T)
        expect_close(attention(inputs), multi_head_attention(student, inputs, weights), "The outputs")


@pytest.mark.exercise("MultiHeadAttention", rule="no token sees a later one")
def test_no_token_sees_a_later_one(student: Student, fresh: Fresh) -> None:
    """If the last token changes, no earlier output should change; if the first one changes, the second should."""
    weights = fresh_layers(fresh, LAYERS, D_IN, D_OUT)
    inputs = texts_with_other_ends(fresh, T, D_IN)
    outputs = expect_tensor(attention_with(student, weights, T)(inputs), (3, T, D_OUT))
    expect_no_look_ahead(outputs, multi_head_attention(student, inputs, weights))


@pytest.mark.exercise("MultiHeadAttention", rule=LOW_SCORES)
def test_no_token_weighs_a_later_one_beside_very_low_scores(student: Student, fresh: Fresh) -> None:
    """If all visible scores are very low, later tokens should still have no weight."""
    for is_low, expect in ((False, expect_close), (True, expect_hidden)):
        inputs, weights = decisive_tokens(fresh, 1, T_DECISIVE, 1, is_low=is_low)
        attention = attention_with(student, weights, T_DECISIVE, 1)
        expect(attention(inputs), multi_head_attention(student, inputs, weights, 1))


@pytest.mark.exercise("MultiHeadAttention", rule="the concatenated heads pass through out_proj")
def test_the_heads_pass_through_out_proj(student: Student, fresh: Fresh) -> None:
    """The output should be the concatenated heads after out_proj, with its bias."""
    # A single token: each head returns its value, whatever the score is.
    weights = fresh_four_layers(fresh)
    inputs = fresh(B, 1, D_IN)
    attention = attention_with(student, weights, 1)
    expect_close(attention(inputs), multi_head_attention(student, inputs, weights), "The outputs")


@pytest.mark.exercise("MultiHeadAttention", rule="any number of tokens up to context_length, including one")
def test_any_number_of_tokens_up_to_the_context_length(student: Student, fresh: Fresh) -> None:
    """The same module should work for any number of tokens, from a single one up to context_length."""
    inputs, weights = decisive_tokens(fresh, 1, CONTEXT, 1)
    attention = attention_with(student, weights, CONTEXT, 1)
    expected = multi_head_attention(student, inputs, weights, 1)
    for count in (CONTEXT, T, 1):  # later tokens have no effect
        expect_close(attention(inputs[:, :count]), expected[:, :count], "The outputs")
    # More tokens than features: the context length is not a width.
    long = D_OUT + 1
    longer = attention_with(student, weights, long, 1)
    expect_tensor(longer(fresh(1, long, D_WIDE)), (1, long, D_OUT))


NO_ATTENTION = "The second token takes nothing from the first."
DROPOUT = (
    "dropout acts on each weight independently, after softmax and in training only: the weight becomes zero or is "
    "divided by 1 - dropout"
)


@pytest.mark.exercise("MultiHeadAttention", rule=DROPOUT)
def test_weights_are_dropped_in_training(student: Student, fresh: Fresh) -> None:
    """In training each weight should independently be dropped or scaled up."""
    # Two tokens. The value of each is one number in all features: positive for the first, negative for the second.
    count = 60
    inputs, weights = fresh(count, 2, D_IN), fresh_layers(fresh, LAYERS, D_IN, D_OUT)
    inputs[:, 0, 0], inputs[:, 1, 0] = 1 + inputs[:, 0, 0].abs(), -1 - inputs[:, 1, 0].abs()
    weights["W_value.weight"] = torch.zeros(D_OUT, D_IN)
    weights["W_value.weight"][:, 0] = 1
    attention = attention_with(student, weights, 2, dropout=P)
    attention.eval()
    whole = expect_tensor(attention(inputs), (count, 2, D_OUT)).double()
    attention.train()
    dropped = expect_tensor(attention(inputs), (count, 2, D_OUT)).double()
    # The second token's outputs are a v + (1 - a) w for some weight a, so a follows from the outputs.
    zero = torch.zeros((), dtype=torch.float64)
    v, w = inputs[:, 0, :1].double(), inputs[:, 1, :1].double()  # (B, 1), the same for all features
    a = (whole[:, 1] - w) / (v - w)  # (B, d_out)
    expect_true(bool((a > 0.01).any()), NO_ATTENTION)
    first, second = a * v / (1 - P), (1 - a) * w / (1 - P)

    def near(outputs: torch.Tensor, expected: torch.Tensor) -> torch.Tensor:
        return torch.isclose(outputs, expected, rtol=1e-4, atol=1e-4)

    first_token, only_first, only_second = dropped[:, 0], near(dropped[:, 1], first), near(dropped[:, 1], second)
    neither_or_both = near(dropped[:, 1], zero) | near(dropped[:, 1], first + second)
    # None of these checks records a random value.
    expect_true(not bool(near(dropped, whole).all()), "Nothing is dropped in training.")
    expect_true(not bool(near(first_token, v).all()), "If a token sees only itself, its weight is never dropped.")
    # Each text on its own has these patterns by chance, but 60 texts have not the same one in three heads.
    patterns = torch.stack([near(first_token, zero), near(dropped[:, 1], zero), only_first, only_second])
    is_shared = bool(patterns.any() and (patterns == patterns[:, :1]).all())
    expect_true(not is_shared, "All texts of a batch drop the same weights.")
    one_value = near(dropped[:, 1], v) | near(dropped[:, 1], w) | near(dropped[:, 1], whole[:, 1])
    sum_to_one = bool((one_value | near(dropped[:, 1], zero) | dropped[:, 1].isnan()).all())
    expect_true(not sum_to_one, "The kept weights are divided by their sum again.")
    is_unscaled = near(first_token, v) | near(first_token, zero)
    expect_true(not bool(is_unscaled.all()), "The kept values are not divided by 1 - dropout.")
    expect_true(not bool(dropped.isnan().any()), "In training some outputs are NaN: drop weights, after softmax.")
    is_a_draw = near(first_token, v / (1 - P)) | near(first_token, zero)
    lone = "In training a token that sees only itself gets neither zero nor its value divided by 1 - dropout."
    expect_true(bool(is_a_draw.all()), lone)
    # If a weight is dropped, all features of its head are zero.
    whole_heads = near(first_token, zero).sum(-1) % HEAD_DIM == 0  # (B,)
    expect_true(bool(whole_heads.all()), "Features are dropped, not weights.")
    expect_true(
        bool((only_first | only_second | neither_or_both).all()),
        "Something other than the weights is dropped or scaled.",
    )
    # In each of 60 sequences and 3 heads, exactly the first weight is dropped with a probability of 3/16, and exactly
    # the second one too. This never happens with a probability of (13/16)^180 = 6e-17.
    expect_true(bool(only_first.any() and only_second.any()), "Weights are not dropped independently.")
    # The first key's weight is dropped for the first query and kept for the second with a probability of 3/16 too.
    # With a probability of 9/16, some of the three heads drop it and others keep it.
    dropped_for_first, kept_for_second = near(first_token, zero), only_first | near(dropped[:, 1], first + second)
    expect_true(bool((dropped_for_first & kept_for_second).any()), "A key is dropped for all queries at once.")
    is_mixed = dropped_for_first.any(-1) & ~dropped_for_first.all(-1)
    expect_true(bool(is_mixed.any()), "All heads drop the same weights.")


@pytest.mark.exercise("MultiHeadAttention", rule=DROPOUT)
def test_nothing_is_dropped_after_eval(student: Student, fresh: Fresh) -> None:
    """After .eval() no weight should be dropped: if all values are the same, all outputs should be the same."""
    inputs, weights = fresh(41, 2, D_IN), fresh_layers(fresh, LAYERS, D_IN, D_OUT)
    inputs[:40, :, 0] = 1
    weights["W_value.weight"] = torch.zeros(D_OUT, D_IN)
    weights["W_value.weight"][:, 0] = 1
    attention = attention_with(student, weights, 2, dropout=P)
    attention.eval()
    outputs = expect_tensor(attention(inputs), (41, 2, D_OUT)).double()
    expected = multi_head_attention(student, inputs, weights)
    same = torch.allclose(outputs[:40], expected[:40], rtol=1e-4, atol=1e-5)
    expect_true(same, "All values are the same, but the outputs are not.")
    # An answer that mixes no values does not pass. In the last sequence the two tokens have different values.
    expect_true(bool(((outputs[40, 1] - inputs[40, 1, 0]).abs() > 0.01).any()), NO_ATTENTION)


@pytest.mark.exercise(
    "MultiHeadAttention", rule="if num_heads does not divide d_out, it raises ValueError or AssertionError"
)
def test_heads_that_do_not_divide_are_refused(student: Student, fresh: Fresh) -> None:
    """If num_heads does not divide d_out, there should be a ValueError or an AssertionError, and otherwise none."""
    inputs = fresh(B, T, D_IN)
    steps(student)

    def attend(num_heads: int) -> object:
        return student.queue("MultiHeadAttention", D_IN, D_OUT, T, 0.0, num_heads)(inputs)

    attend(H)
    expect_error(functools.partial(attend, NOT_DIVIDING))


@pytest.mark.exercise(
    "MultiHeadAttention",
    rule="gradients reach the inputs, the weights of the four layers and the bias of out_proj",
)
def test_gradients_of_multi_head_attention(student: Student, fresh: Fresh) -> None:
    """Gradients of the output should reach all four layers, the bias of out_proj and the inputs."""
    weights = fresh_four_layers(fresh)
    inputs = fresh(B, T, D_IN)
    attention = attention_with(student, weights, T)
    expected = with_gradients(functools.partial(multi_head_attention, student), inputs, weights)
    _, found = expect_values(attention.gradients(inputs), 2)
    expect_gradients(found, expected)


@pytest.mark.exercise("MultiHeadAttention", rule="works in float64 after .double()")
def test_multi_head_attention_in_float64(student: Student, fresh: Fresh) -> None:
    """After .double() the module should take float64 inputs and give the correct output."""
    inputs, weights = decisive_tokens(fresh, B, T_DECISIVE, 1, torch.float64)
    attention = attention_with(student, weights, T_DECISIVE, 1)
    expect_close(attention(inputs), multi_head_attention(student, inputs, weights, 1), "The outputs")


@pytest.mark.exercise("MultiHeadAttention", rule="the inputs are not changed")
def test_multi_head_attention_leaves_the_inputs_alone(student: Student, fresh: Fresh) -> None:
    """The output should be correct, and the call should not change the inputs."""
    inputs, weights = decisive_tokens(fresh, B, T_DECISIVE, 1)
    attention = attention_with(student, weights, T_DECISIVE, 1)
    output, [after] = expect_values(attention.with_arguments(inputs), 2)
    expect_close(output, multi_head_attention(student, inputs, weights, 1), "The outputs")
    expect_same(after, inputs, "The inputs were changed.")


# -- stack_heads -------------------------------------------------------------------------------------------------
# The tests use modules of the toolbox, so that they do not depend on other answers.


def two_modules(
    student: Student, fresh: Fresh, *, d_in: int = D_IN, bias: bool = False
) -> tuple[RemoteObject, RemoteObject, Weights]:
    """Return a wrapper with H heads, a MultiHeadAttention of the same width, and the wrapper's weights."""
    wrapper = student.make("MultiHeadAttentionWrapper", d_in, HEAD_DIM, CONTEXT, 0.0, H, bias)
    attention = student.make("MultiHeadAttention", d_in, D_OUT, CONTEXT, 0.0, H, bias)
    weights = fresh_layers(fresh, head_layers(H), d_in, HEAD_DIM, bias)
    wrapper.set(weights)
    attention.set(OUT_PROJ)
    return wrapper, attention, weights


def stacked(weights: Weights) -> Iterator[tuple[str, torch.Tensor]]:
    """Yield the name and expected value of each parameter of a MultiHeadAttention that stack_heads sets."""
    for part in sorted({name.split(".", 2)[2] for name in weights}):
        yield part, torch.cat([weights[f"heads.{head}.{part}"] for head in range(H)])


class NoSubstitutes(Student):
    """A student without a submission or substitutes: expected values use only the right functions."""

    def __init__(self) -> None: ...

    def substitute(self, _: str, right: Any) -> Any:
        return right


def expect_outputs_of(attention: RemoteObject, weights: Weights, inputs: torch.Tensor) -> None:
    """Expect `attention` with its current weights to give the outputs of a wrapper with `weights`."""
    parameters, student = attention.parameters(), NoSubstitutes()
    for name in LAYERS:
        expect_layer(parameters, name, inputs.shape[-1], D_OUT)
    expect_layer(parameters, "out_proj", D_OUT, D_OUT)
    is_unchanged = all(torch.equal(parameters[name].detach(), value) for name, value in OUT_PROJ.items())
    expect_true(is_unchanged, "attention's out_proj was changed.")
    outputs = multi_head_attention(student, inputs, {n: value.detach() for n, value in parameters.items()})
    expect_close(outputs, side_by_side(student, inputs, weights), "The outputs of attention")


@pytest.mark.exercise(
    "stack_heads", rule="with an identity out_proj (and no bias there) attention then gives the wrapper's outputs"
)
def test_attention_then_gives_the_outputs_of_the_wrapper(student: Student, fresh: Fresh) -> None:
    """With an identity out_proj attention should give the wrapper's outputs, for any d_in, also d_in = d_out."""
    for d_in in (D_IN, D_OUT):
        wrapper, attention, weights = two_modules(student, fresh, d_in=d_in)
        student.stack_heads(wrapper, attention)
        expect_outputs_of(attention, weights, fresh(B, T, d_in))


@pytest.mark.exercise("stack_heads", rule="biases too, if both have them")
def test_biases_are_stacked_too(student: Student, fresh: Fresh) -> None:
    """If both have biases, all three biases of the heads should be stacked like the weights."""
    wrapper, attention, weights = two_modules(student, fresh, bias=True)
    student.stack_heads(wrapper, attention)
    parameters, expected = attention.parameters(), dict(stacked(weights))
    biases = [f"{name}.bias" for name in LAYERS]
    for name in biases:
        expect_true(name in parameters, f"attention's {name} is not a parameter any more.")
        expect_tensor(parameters[name], (D_OUT,))
    found = torch.stack([parameters[name] for name in biases])  # three times (d_out,) -> (3, d_out)
    expect_close(found, torch.stack([expected[name] for name in biases]), "The biases of attention")


@pytest.mark.exercise("stack_heads", rule="the wrapper is not changed")
def test_the_wrapper_is_left_as_it_was(student: Student, fresh: Fresh) -> None:
    """The wrapper should keep its weights and biases, and attention should have them too."""
    wrapper, attention, weights = two_modules(student, fresh, bias=True)
    values = attention.parameters()["W_value.weight"]
    student.stack_heads(wrapper, attention)
    after = wrapper.parameters()
    for name, value in weights.items():
        expect_true(name in after, f"The wrapper's {name} is gone.")
        expect_same(after[name], value, f"The wrapper's {name} was changed.")
        expect_true(after[name].requires_grad, f"The wrapper's {name} requires no gradient any more.")
    # An answer that does nothing does not pass.
    expect_true(
        not torch.equal(attention.parameters().get("W_value.weight", torch.zeros(())), values),
        "attention's weights did not change.",
    )


@pytest.mark.exercise("stack_heads", rule="attention's weights stay nn.Parameter that require gradients")
def test_the_weights_of_attention_stay_parameters(student: Student, fresh: Fresh) -> None:
    """Afterwards W_query, W_key and W_value of attention should have the weights as parameters that can learn."""
    wrapper, attention, weights = two_modules(student, fresh)
    student.stack_heads(wrapper, attention)
    parameters = attention.parameters()
    for name, value in stacked(weights):
        expect_true(name in parameters, f"attention's {name} is not a parameter any more.")
        expect_tensor(parameters[name], value.shape)
        expect_true(parameters[name].requires_grad, f"attention's {name} requires no gradient any more.")
    values = parameters["W_value.weight"].detach().double()
    expect_true(
        torch.allclose(
            values.flatten().sort().values, dict(stacked(weights))["W_value.weight"].flatten().double().sort().values
        ),
        "attention's W_value does not contain the weights of the heads.",
    )


@pytest.mark.exercise("stack_heads", rule="widths that do not match raise an error")
def test_widths_that_do_not_match_are_refused(student: Student, fresh: Fresh) -> None:
    """If d_in or the width of all heads together differs, there should be an error, and otherwise none."""
    wrapper, attention, _ = two_modules(student, fresh)
    student.stack_heads(wrapper, attention)
    for d_in, d_out in ((D_IN, H * (HEAD_DIM + 1)), (D_IN + 1, D_OUT)):
        other = student.make("MultiHeadAttention", d_in, d_out, CONTEXT, 0.0, H)
        expect_any_error(functools.partial(student.stack_heads, wrapper, other))


@pytest.mark.exercise("stack_heads", rule="an error if the heads have biases and attention has none")
def test_biases_of_the_heads_alone_are_refused(student: Student, fresh: Fresh) -> None:
    """If the heads have biases and attention has none, there should be an error; if both have biases, none."""
    with_bias, without = two_modules(student, fresh, bias=True), two_modules(student, fresh)
    student.stack_heads(*with_bias[:2])
    expect_any_error(functools.partial(student.stack_heads, with_bias[0], without[1]))


@pytest.mark.exercise(
    "stack_heads", rule="if attention has biases and the heads have none: an error, or the biases are set to zero"
)
def test_biases_of_attention_alone_are_refused(student: Student, fresh: Fresh) -> None:
    """If only attention has biases, there should be an error or biases of zero; if both have them, no error."""
    student.stack_heads(*two_modules(student, fresh, bias=True)[:2])
    wrapper, attention = two_modules(student, fresh)[0], two_modules(student, fresh, bias=True)[1]
    biases = {f"{name}.bias": fresh(D_OUT) for name in LAYERS}
    attention.set(biases)
    try:
        student.stack_heads(wrapper, attention)
    except Raised as raised:
        if raised.types[0] == "NotImplementedError" or "Exception" not in raised.types:
            raise
        return
    after = attention.parameters()
    expect_true(
        not any(bool(after[name].any()) for name in biases if name in after),
        "It raised no error, and attention keeps biases that the heads do not have.",
    )


# -- gpt2_small_attention ----------------------------------------------------------------------------------------
# These tests give the function a substitute for MultiHeadAttention, which stores its arguments. So mistakes in the
# student's class do not count here, and no forward pass over a whole context is needed. If the function makes its
# module in another way, the tests use the module itself.

SUBSTITUTE = f"{MODULE}.MultiHeadAttention"
GPT2_WIDTH, GPT2_HEADS, GPT2_CONTEXT, GPT2_PARAMETERS = 768, 12, 1024, 2_360_064


def gpt2(student: Student) -> tuple[RemoteObject, bool]:
    """Return the module, and whether it is a substitute, whose attributes are its arguments."""
    with student.substituted("MultiHeadAttention"):
        student.substitute("MultiHeadAttention", None)  # expected, so this does not wait for the student's class
        made = expect_module(student.gpt2_small_attention())
    is_substitute = SUBSTITUTE in made.kinds
    if not is_substitute:
        made.eval()
        # Fails early for another module, such as the wrapper, which may have too many parameters to send in time.
        made.get("W_query")
    return made, is_substitute


@pytest.mark.exercise("gpt2_small_attention", rule="768 features in and out")
def test_the_width_of_the_smallest_gpt2(student: Student) -> None:
    """The module should have as many input and output features as the rule says."""
    made, is_substitute = gpt2(student)
    if is_substitute:
        widths = [made.get("d_in"), made.get("d_out")]
        found = " and ".join(map(shown, widths))
        expect_true(equals(widths, [GPT2_WIDTH, GPT2_WIDTH]), f"It was made with {found} for d_in and d_out.")
        expect_tensor(made(torch.zeros(1, 1, GPT2_WIDTH)), (1, 1, GPT2_WIDTH))
    else:
        parameters = made.parameters()
        for name in (*LAYERS, "out_proj"):
            expect_layer(parameters, name, GPT2_WIDTH, GPT2_WIDTH)


@pytest.mark.exercise("gpt2_small_attention", rule="12 heads")
def test_the_heads_of_the_smallest_gpt2(student: Student, fresh: Fresh) -> None:
    """The module should have as many heads as the rule says."""
    made, is_substitute = gpt2(student)
    if is_substitute:
        heads = made.get("num_heads")
        expect_true(equals([heads], [GPT2_HEADS]), f"It was made with {shown(heads)} for num_heads.")
    else:
        weights = fresh_layers(fresh, LAYERS, GPT2_WIDTH, GPT2_WIDTH)
        out_proj = {"out_proj.weight": torch.eye(GPT2_WIDTH), "out_proj.bias": torch.zeros(GPT2_WIDTH)}
        set_layers(made, {**weights, **out_proj})
        inputs = fresh(1, 2, GPT2_WIDTH)
        expect_close(made(inputs), multi_head_attention(student, inputs, weights, GPT2_HEADS), "The outputs")


@pytest.mark.exercise("gpt2_small_attention", rule="up to 1,024 tokens")
def test_the_context_of_the_smallest_gpt2(student: Student) -> None:
    """The module should work for as many tokens as the rule says."""
    made, is_substitute = gpt2(student)
    if is_substitute:
        length = made.get("context_length")
        expect_true(equals([length], [GPT2_CONTEXT]), f"It was made with {shown(length)} for context_length.")
    else:
        width = made.parameters()["W_query.weight"].shape[-1]
        outputs = expect_tensor(made(torch.zeros(1, GPT2_CONTEXT, width)))
        expect_true(outputs.shape[1] == GPT2_CONTEXT, "It does not give an output for each token.")


@pytest.mark.exercise("gpt2_small_attention", rule="no bias for queries, keys and values: 2,360,064 parameters in all")
def test_the_parameters_of_the_smallest_gpt2(student: Student) -> None:
    """W_query, W_key and W_value should have no bias, so that the number of parameters is as the rule says."""
    made, is_substitute = gpt2(student)
    if is_substitute:
        expect_true(made.get("qkv_bias") is False, "It was made with qkv_bias=True.")
    else:
        parameters = made.parameters()
        expect_true(not any(f"{name}.bias" in parameters for name in LAYERS), "A layer has a bias.")
        count = sum(value.numel() for value in parameters.values())
        expect_true(count == GPT2_PARAMETERS, "It has a different number of parameters.")
