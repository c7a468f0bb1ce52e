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
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

import torch
from torch import nn

from grader.suites.causal import future, lowered, softmax
from grader.testing.checks import (
    Weights,
    expect_gradients,
    expect_shape,
    expect_tensor,
    expect_true,
    expect_values,
    no_parameter,
    oracle_gradients,
)
from grader.testing.draws import Fresh
from grader.testing.probes import Draw, Property, layers
from grader.testing.student import RemoteObject, Student
from grader.testing.suite import Asking, Given, asking

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


def expect_moved(result: object, x: torch.Tensor, shape: tuple[int, ...]) -> torch.Tensor:
    """Expect a tensor of this shape with the numbers of x in any order, and return it in float64."""
    moved = expect_tensor(result, shape).double()
    same = torch.allclose(moved.flatten().sort().values, x.double().flatten().sort().values)
    expect_true(same, "The numbers in the result are not the numbers of x.")
    return moved


def expect_moving_gradients(given: Given) -> None:
    """Expect the numbers of x in the result, and the gradient of each to be the one at its position there."""
    x = given.arguments[0]
    result, found = expect_values(given.call.gradients(*given.arguments), 2)
    given.expect(result)
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


def moving(exercise: str, draw: Callable[..., Sequence[Any]], *shape: int) -> Asking:
    """Return a call of one of these four exercises whose result should have the numbers of x and this shape."""
    ask = asking(exercise, draw, lambda _: lambda x, *_heads: x, lambda result, x: expect_moved(result, x, shape))

    @functools.wraps(ask)  # its probe is derived from the same draw
    def moved(student: Student, fresh: Fresh) -> Given:
        if exercise == "split_heads":
            splitting(student)  # expects substitutes of unroll_heads and group_by_head too
        return ask(student, fresh)

    return moved


A_VIEW = "x may be non-contiguous, for example the result of a transpose"
ANY_LAYOUT = "The result should be correct if x is non-contiguous, for example the result of a transpose."
GRADIENTS = "gradients flow to x", "Gradients should flow back to x."


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


P = 0.25
# The context length is the length of the inputs, except in the tests about it.
OUT_PROJ = {"out_proj.weight": torch.eye(D_OUT), "out_proj.bias": torch.zeros(D_OUT)}
DEALT_IN_TURN = (
    "The features are given to the heads in turn, one by one. Head 0 should have the first head_dim features, head 1 "
    "the next, and so on: reshape to (…, num_heads, head_dim), in this order."
)
EXCHANGED = (
    "num_heads and head_dim are swapped: there are num_heads heads, and each has head_dim = d_out / num_heads features."
)
LEFT_TO_RESHAPE = (
    "If num_heads does not divide the features, the error is not a ValueError, perhaps because reshape fails. Check "
    "first, and raise a ValueError that names the two numbers."
)
NO_ERROR = (
    "If num_heads does not divide the features, there is no error: features are lost or made up, or None is returned. "
    "This is the caller's mistake, so raise an error."
)
VIEW_REFUSED = (
    "`view` fails for a non-contiguous tensor, for example the result of a transpose. `reshape` copies if necessary."
)
DETACHED = "No gradient flows back through the numbers, for example because of `.detach()`, `.data` or a list."
CHANGED = (
    "The caller's tensor was changed. A method with an underscore at the end changes the tensor itself; without the "
    "underscore it returns a new view."
)
MIXED_BY_RESHAPE = (
    "The shape is correct, but `reshape` or `view` keeps the order of the numbers, so a head gets features of "
    "different tokens. Swap the two dimensions: transpose(1, 2)."
)
UNSCALED = (
    "The scores are not scaled. With wider heads the dot products become larger. Divided by √head_dim they keep a "
    "variance near 1, so that softmax does not give all the weight to one key."
)
NO_ROOT = (
    "The scores are divided by head_dim itself, or twice by its root, which is the same. Their standard deviation is "
    "√head_dim: divide once by √head_dim to bring it to 1."
)
WEIGHTS_MASKED = (
    "The mask came after softmax, so the weights of the future are minus infinity. Mask the scores, and then apply "
    "softmax, which makes zeros of minus infinity."
)
WITH_A_SLASH = (
    "The width of a head is a float, because `/` always gives one. Sizes are whole numbers: divide with `//`."
)
HALF = (
    "Python evaluates `/` and `*` from left to right: `/ head_dim*0.5` divides by head_dim and then multiplies by 0.5. "
    "A square root is a power, written with `**`."
)
BY_TOKENS = (
    "The scores are divided by the root of the number of tokens. A dot product sums over a head's features, so it "
    "grows with their number, head_dim."
)
BY_WIDTH = (
    "The scores are divided by √d_out, the width of all heads together. Each dot product sums only head_dim features: "
    "divide by √head_dim."
)
FUTURE_VISIBLE = (
    "Tokens see the future: there is no mask, or its result is not used. `masked_fill` returns a new tensor; only "
    "`masked_fill_`, with the underscore, changes the old one."
)
PAST_HIDDEN = (
    "The mask is inverted: each token sees itself and later tokens. The future lies above the diagonal, in "
    "`triu(diagonal=1)`."
)
DIAGONAL_HIDDEN = (
    "The diagonal is hidden too, so the first token has no key left, and softmax gives nan. A token sees itself: use "
    "`diagonal=1`."
)
NEXT_VISIBLE = (
    "The mask begins one position too far to the right, so each token sees the next one, which it should predict. The "
    "future begins at `diagonal=1`."
)
ZERO_BEFORE_SOFTMAX = (
    "Scores of the future are set to zero before softmax. A score of zero still gets weight, because e⁰ = 1. Use minus "
    "infinity."
)
ZERO_AFTER_SOFTMAX = (
    "The future is set to zero after softmax, so the other weights no longer sum to one. Hide it before softmax, with "
    "minus infinity."
)
SOFTMAX_OVER_HEADS = (
    "Softmax runs over dimension 1, the heads, so the heads compete for each key. The keys always lie along the last "
    "dimension."
)
NOT_TRANSPOSED_BACK = (
    "The heads are merged before the dimensions are swapped back, so each row mixes features of several tokens. First "
    "transpose(1, 2), then make the last two dimensions one."
)
INPUTS_CHANGED = (
    "The caller's inputs were changed. Other code may still need them: write `x = x + …` instead of `x += …`."
)


def names_in_heads(num_heads: int) -> list[str]:
    return [f"heads.{head}.{name}" for head in range(num_heads) for name in LAYERS]


def shapes(module: nn.Module, names: Iterable[str]) -> Iterator[Property]:
    """Yield the shapes of the layers of a module that an exercise only makes: no rule says whether they are trained."""
    yield from ((what, seen) for what, seen in layers(module, names) if not what.startswith("whether"))


def features_that_do_not_divide(draw: Draw) -> tuple[int, int]:
    """Return a width and a number of heads that does not divide it."""
    while True:
        d_out, num_heads = draw.size(1, 12), draw.size(2, 14)
        if d_out % num_heads:
            return d_out, num_heads


ALL_LAYERS = (*LAYERS, "out_proj")
