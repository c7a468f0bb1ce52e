"""split_heads: hidden tests, known mistakes and right answers."""

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
    MIXED_BY_RESHAPE,
    NO_ERROR,
    NOT_DIVIDING,
    B,
    H,
    T,
    expect_moved,
    expect_moving_gradients,
    features_that_do_not_divide,
    moving,
    splitting,
)
from grader.testing.checks import expect_close, expect_error
from grader.testing.draws import Fresh, numbers
from grader.testing.misconceptions import mistake, replace
from grader.testing.probes import Draw, Property, probe, refusal
from grader.testing.student import Student
from grader.testing.suite import Example, contract, kept_arguments, right_results, rule


@rule("head h has the head_dim features of every token that begin at h · head_dim")
def test_each_head_has_its_features_of_every_token(student: Student, fresh: Fresh) -> None:
    """Each head should have its own head_dim features of every token: shape (B, H, T, head_dim)."""
    for shape, num_heads in (((B, T, D_OUT), H), (ALL_ONE[:3], 1), ((3, 3, 9), 3)):
        x = fresh(*shape)
        expected = splitting(student)(x, num_heads)
        expect_close(student.split_heads(x, num_heads), expected)


@rule("if num_heads does not divide d_out, it raises ValueError or AssertionError")
def test_splitting_refuses_heads_that_do_not_divide(student: Student, fresh: Fresh) -> None:
    """If num_heads does not divide d_out, there should be a ValueError or an AssertionError, and otherwise none."""
    x = fresh(B, D_OUT, D_OUT)
    splitting(student)
    for num_heads in (D_OUT, HEAD_DIM):
        expect_moved(student.split_heads(x, num_heads), x, (B, num_heads, D_OUT, D_OUT // num_heads))
    expect_error(functools.partial(student.split_heads, x, NOT_DIVIDING))


SPLITTING = moving("split_heads", lambda fresh, b=B, t=T, h=H, d=HEAD_DIM: (fresh(b, t, h * d), h), B, H, T, HEAD_DIM)


test_contract = contract(
    SPLITTING,
    right_results(
        "splitting_a_view", A_VIEW, ANY_LAYOUT,
        ask=moving("split_heads", lambda fresh: (fresh(T, B, D_OUT).transpose(0, 1), H), B, H, T, HEAD_DIM),
        visible="layout"),
    kept_arguments(
        "splitting_leaves_x_alone", "x is not changed",
        "The result should be split into heads, and the call should not change x.", "x was changed."),
    example=Example({"x": numbers(2, 3, 8), "num_heads": 4}, also={"gradients": "gradients flow to x"}),
)  # fmt: skip


@rule(*GRADIENTS)
def test_gradients_of_splitting(student: Student, fresh: Fresh) -> None:
    """The numbers are those of x, and each has the gradient of its position in the result."""
    expect_moving_gradients(SPLITTING(student, fresh))


# -- misconceptions ------------------------------------------------------------------------------------------------

MISCONCEPTIONS = [
    mistake("split_by_reshape_alone", replace("group_by_head(unroll_heads", "(tokens_taken_for_heads"),
        MIXED_BY_RESHAPE),
    mistake("split_by_view_alone", replace("group_by_head(unroll_heads", "(tokens_taken_for_heads_in_a_view"),
        MIXED_BY_RESHAPE),
    mistake("unrolled_only", replace("group_by_head", ""),
        "The features are unrolled, but the heads are still inside each token: (B, T, H, head_dim). The second step "
        "is missing: group by head."),
    mistake("features_dealt_in_turn_in_split", replace("unroll_heads", "features_dealt_in_turn"), DEALT_IN_TURN),
    mistake("heads_and_features_exchanged_in_split", replace("unroll_heads", "heads_and_features_exchanged"),
        EXCHANGED),
    mistake("check_left_to_reshape_in_split", replace("unroll_heads", "check_left_to_reshape"), LEFT_TO_RESHAPE),
    mistake("rest_cut_off_in_split", replace("unroll_heads", "rest_cut_off"), NO_ERROR),
    mistake("split_without_gradients", replace("unroll_heads", "unrolled_without_gradients"), DETACHED),
    mistake("resized_in_place_in_split", replace("unroll_heads", "resized_in_place"), CHANGED),
]  # fmt: skip


# -- probes --------------------------------------------------------------------------------------------------------


@probe(draws=200)
def uneven_splitting_refused(unit: Any, draw: Draw) -> Iterator[Property]:
    d_out, num_heads = features_that_do_not_divide(draw)
    tokens = draw.pick(draw.size(), num_heads)
    yield from refusal(unit.split_heads, draw.normal(draw.size(), tokens, d_out), num_heads)


# -- answers -------------------------------------------------------------------------------------------------------


def wrong_answers():
    """Mistakes without a name, and answers with two. Never run here: the audit reads them."""

    import torch

    def split_by_reshape_alone__and__check_left_to_reshape_in_split(x, num_heads):
        batch_size, num_tokens, d_out = x.shape
        return x.reshape(batch_size, num_heads, num_tokens, d_out // num_heads)

    def reverses_the_heads(x, num_heads):
        assert x.size(2) % num_heads == 0
        return torch.stack(x.chunk(num_heads, dim=2), dim=1).flip(1)

    def gives_every_head_all_features(x, num_heads):
        assert x.size(2) % num_heads == 0
        return x.unsqueeze(1).repeat(1, num_heads, 1, 1)

    def merges_heads_and_batch(x, num_heads):
        assert x.size(2) % num_heads == 0
        return torch.cat(x.chunk(num_heads, dim=2), dim=0)

    def expects_four_dimensions(x, num_heads):
        b, t, h, head_dim = x.shape
        return x.reshape(b, t, num_heads, h * head_dim // num_heads).transpose(1, 2)

    def check_left_to_reshape_in_split__unflatten(x, num_heads):
        return torch.einsum("bthd->bhtd", x.unflatten(2, (num_heads, -1)))


def right_answers():
    """Answers in other styles. Never run here: the audit reads them."""

    import torch

    # Names with an underscore are written for the same style in another exercise.
    from multi_head_attention import _IndivisibleError, group_by_head, unroll_heads
    from torch import Tensor

    def by_the_book(x: Tensor, num_heads: int) -> Tensor:
        b, num_tokens, d_out = x.shape
        assert d_out % num_heads == 0, "d_out must be divisible by num_heads"
        x = x.contiguous().view(b, num_tokens, num_heads, d_out // num_heads)
        return x.transpose(1, 2)

    def einsum(x, num_heads):
        if x.size(-1) % num_heads:
            raise ValueError("not divisible")
        return torch.stack(x.chunk(num_heads, dim=-1), dim=1)

    def fused(x, num_heads):
        batch, tokens, width = x.shape
        if width % num_heads:
            raise ValueError(f"{width} features for {num_heads} heads")
        return x.permute(0, 2, 1).reshape(batch, num_heads, -1, tokens).mT  # (B, d_out, T) -> (B, H, head_dim, T)

    def loops(x, num_heads):
        if x.shape[2] % num_heads > 0:
            raise _IndivisibleError(f"{x.shape[2]} / {num_heads}")
        size = x.shape[2] // num_heads
        return torch.stack([x[..., start : start + size] for start in range(0, x.shape[2], size)], dim=1)

    def one_on_another(x, num_heads):
        return group_by_head(unroll_heads(x, num_heads))

    def ready_made(x, num_heads):
        assert not x.shape[-1] % num_heads
        size = x.shape[-1] // num_heads
        return x.unfold(-1, size, size).movedim(2, 1)
