"""unroll_heads: hidden tests, known mistakes and right answers."""

from __future__ import annotations

import functools
from collections.abc import Iterator
from typing import Any

from grader.suites.multi_head_attention.shared import (
    A_VIEW,
    ALL_ONE,
    ANY_LAYOUT,
    CHANGED,
    D_OUT,
    DEALT_IN_TURN,
    DETACHED,
    EXCHANGED,
    GRADIENTS,
    HEAD_DIM,
    LEFT_TO_RESHAPE,
    NO_ERROR,
    NOT_DIVIDING,
    WITH_A_SLASH,
    B,
    H,
    T,
    expect_moved,
    expect_moving_gradients,
    features_that_do_not_divide,
    moving,
    unroll,
)
from grader.testing.checks import expect_close, expect_error
from grader.testing.draws import Fresh, numbers
from grader.testing.misconceptions import mistake, replace
from grader.testing.probes import Draw, Property, probe, refusal
from grader.testing.student import Student
from grader.testing.suite import Example, contract, kept_arguments, right_results, rule


@rule("head h has the head_dim features that begin at h · head_dim, in their order")
def test_each_head_has_its_share_of_the_features(student: Student, fresh: Fresh) -> None:
    """Each head should have head_dim neighbouring features, in their order: shape (B, T, H, head_dim)."""
    for shape, num_heads in (((B, T, D_OUT), H), (ALL_ONE[:3], 1), ((3, 3, 9), 3)):
        x = fresh(*shape)
        expect_close(student.unroll_heads(x, num_heads), unroll(x, num_heads))


@rule("if num_heads does not divide d_out, it raises ValueError or AssertionError")
def test_unrolling_refuses_heads_that_do_not_divide(student: Student, fresh: Fresh) -> None:
    """If num_heads does not divide d_out, there should be a ValueError or an AssertionError, and otherwise none."""
    x = fresh(B, T, D_OUT)
    for num_heads in (D_OUT, HEAD_DIM):
        expect_moved(student.unroll_heads(x, num_heads), x, (B, T, num_heads, D_OUT // num_heads))
    expect_error(functools.partial(student.unroll_heads, x, NOT_DIVIDING))


UNROLLING = moving("unroll_heads", lambda fresh, b=B, t=T, h=H, d=HEAD_DIM: (fresh(b, t, h * d), h), B, T, H, HEAD_DIM)


test_contract = contract(
    UNROLLING,
    right_results(
        "unrolling_a_view", A_VIEW, ANY_LAYOUT,
        ask=moving("unroll_heads", lambda fresh: (fresh(T, B, D_OUT).transpose(0, 1), H), B, T, H, HEAD_DIM),
        visible="layout"),
    kept_arguments(
        "unrolling_leaves_x_alone", "x is not changed",
        "The result should be unrolled, and the call should not change x.", "x was changed."),
    example=Example({"x": numbers(2, 3, 8), "num_heads": 4}, also={"gradients": "gradients flow to x"}),
)  # fmt: skip


@rule(*GRADIENTS)
def test_gradients_of_unrolling(student: Student, fresh: Fresh) -> None:
    """The numbers are those of x, and each has the gradient of its position in the result."""
    expect_moving_gradients(UNROLLING(student, fresh))


# -- misconceptions ------------------------------------------------------------------------------------------------

TOKENS_FOR_HEADS = (
    "Heads and tokens are swapped in the `reshape` or `view`, which mixes the tokens. Split only the last dimension: "
    "the tokens stay second."
)

MISCONCEPTIONS = [
    mistake("features_dealt_in_turn",
        replace("num_heads, d_out // num_heads)", "d_out // num_heads, num_heads).transpose(2, 3)"), DEALT_IN_TURN),
    mistake("heads_and_features_exchanged", replace("num_heads, d_out // num_heads)", "d_out // num_heads, num_heads)"),
        EXCHANGED),
    mistake("grouped_already", replace("d_out // num_heads)", "d_out // num_heads).transpose(1, 2)"),
        "The heads are already in front of the tokens. That is the next step; here only the last dimension becomes "
        "two."),
    mistake("tokens_taken_for_heads", replace("num_tokens, num_heads", "num_heads, num_tokens"), TOKENS_FOR_HEADS),
    mistake("tokens_taken_for_heads_in_a_view",
        replace("reshape(batch, num_tokens, num_heads", "view(batch, num_heads, num_tokens"), TOKENS_FOR_HEADS),
    mistake("check_left_to_reshape", replace("d_out % num_heads", "False"), LEFT_TO_RESHAPE),
    mistake("rest_cut_off",
        replace("d_out % num_heads", "False").replace("x.reshape", "x[..., : d_out // num_heads * num_heads].reshape"),
        NO_ERROR),
    mistake("unrolled_without_gradients", replace("x.reshape", "x.detach().reshape"), DETACHED),
    mistake("resized_in_place", replace("x.reshape", "x.resize_"), CHANGED),
    mistake("width_of_a_head_as_a_float", replace("d_out // num_heads)", "d_out / num_heads)"), WITH_A_SLASH),
]  # fmt: skip


# -- probes --------------------------------------------------------------------------------------------------------


@probe(draws=200)
def uneven_unrolling_refused(unit: Any, draw: Draw) -> Iterator[Property]:
    d_out, num_heads = features_that_do_not_divide(draw)
    # With as many tokens as heads, the features of all tokens together can be divided among the heads.
    tokens = draw.pick(draw.size(), num_heads)
    yield from refusal(unit.unroll_heads, draw.normal(draw.size(), tokens, d_out), num_heads)


# -- answers -------------------------------------------------------------------------------------------------------


def wrong_answers():
    """Mistakes without a name, and answers with two. Never run here: the audit reads them."""

    import torch
    import torch.nn.functional as F

    def features_dealt_in_turn__and__check_left_to_reshape(x, num_heads):
        B, T, d_out = x.shape
        head_dim = d_out // num_heads
        return x.reshape(B, T, head_dim, num_heads).transpose(2, 3)

    def reverses_the_heads(x, num_heads):
        assert x.size(2) % num_heads == 0
        return torch.stack(x.chunk(num_heads, dim=-1)[::-1], dim=2)

    def gives_every_head_all_features(x, num_heads):
        assert x.size(2) % num_heads == 0
        return x.unsqueeze(2).repeat(1, 1, num_heads, 1)

    def normalizes_each_head(x, num_heads):
        assert x.size(2) % num_heads == 0
        return F.normalize(x.unflatten(2, (num_heads, -1)), dim=-1)

    def loses_the_batch(x, num_heads):
        assert x.size(2) % num_heads == 0
        return x.reshape(-1, num_heads, x.size(2) // num_heads)

    def gives_a_list(x, num_heads):
        assert x.size(2) % num_heads == 0
        return list(x.chunk(num_heads, dim=2))

    def expects_four_dimensions(x, num_heads):
        b, t, h, head_dim = x.shape
        return x.reshape(b, t, num_heads, h * head_dim // num_heads)


def right_answers():
    """Answers in other styles. Never run here: the audit reads them."""

    import torch
    from torch import Tensor

    def by_the_book(x: Tensor, num_heads: int) -> Tensor:
        b, num_tokens, d_out = x.shape
        assert d_out % num_heads == 0, "d_out must be divisible by num_heads"
        return x.contiguous().view(b, num_tokens, num_heads, d_out // num_heads)

    def einsum(x, num_heads):
        if divmod(x.size(-1), num_heads)[1]:
            raise AssertionError(x.size(-1), num_heads)
        return torch.stack(x.chunk(num_heads, dim=-1), dim=-2)

    def fused(x, num_heads):
        batch, tokens, width = x.shape
        if width % num_heads:
            raise ValueError(f"{width} features for {num_heads} heads")
        return x.reshape(batch * tokens, num_heads, -1).reshape(batch, tokens, num_heads, -1)

    class _IndivisibleError(ValueError):
        pass

    def loops(x, num_heads):
        print("unroll", x.shape, num_heads)
        if x.shape[2] // num_heads * num_heads != x.shape[2]:
            raise _IndivisibleError(f"{x.shape[2]} / {num_heads}")
        size = x.shape[2] // num_heads
        result = torch.zeros(x.shape[0], x.shape[1], num_heads, size, dtype=x.dtype)
        for head in range(num_heads):
            result[:, :, head, :] = x[:, :, head * size : (head + 1) * size]
        return result

    def one_on_another(x, num_heads):
        assert x.shape[-1] % num_heads == 0, "the heads would not be of one size"
        return x.unflatten(-1, (num_heads, -1))

    def ready_made(x, num_heads):
        assert not x.shape[-1] % num_heads
        size = x.shape[-1] // num_heads
        return x.unfold(-1, size, size)
