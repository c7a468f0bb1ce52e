"""merge_heads: hidden tests, known mistakes and right answers."""

from __future__ import annotations

from grader.suites.multi_head_attention.shared import (
    ALL_EQUAL,
    ALL_ONE,
    CHANGED,
    D_OUT,
    DETACHED,
    GRADIENTS,
    HEAD_DIM,
    NOT_TRANSPOSED_BACK,
    B,
    H,
    T,
    expect_moving_gradients,
    group,
    moving,
    unrolled_view,
)
from grader.testing.checks import expect_close
from grader.testing.draws import Fresh, numbers
from grader.testing.misconceptions import mistake, replace
from grader.testing.student import Student
from grader.testing.suite import Example, contract, expect_right, kept_arguments, rule


@rule("the heads of each token are next to each other again, head 0 first: the inverse of split_heads")
def test_the_heads_of_each_token_stand_side_by_side(student: Student, fresh: Fresh) -> None:
    """Each token should have its heads next to each other again, head zero first: shape (B, T, H · head_dim)."""
    for shape in ((B, H, T, HEAD_DIM), ALL_ONE, ALL_EQUAL):
        x = fresh(*shape)
        # Swapping heads and tokens is its own inverse, so an answer may merge with group_by_head.
        by_token = student.substitute("group_by_head", group)(x)
        expected = by_token.flatten(2)  # (B, T, H, head_dim) -> (B, T, H · head_dim)
        expect_close(student.merge_heads(x), expected)


# The memory layout after split_heads, for which even `view` works.
MERGING = moving(
    "merge_heads", lambda fresh, b=B, t=T, h=H, d=HEAD_DIM: (fresh(b, t, h, d).transpose(1, 2),), B, T, D_OUT
)


test_contract = contract(
    MERGING,
    kept_arguments(
        "merging_leaves_x_alone", "x is not changed", "The result should be merged, and the call should not change x.",
        "x was changed."),
    example=Example({"x": numbers(2, 3, 4, 5)}, also={"gradients": "gradients flow to x"}),
)  # fmt: skip


@rule(
    "x may be non-contiguous, for example the result of split_heads and a matrix product",
    "The result should be correct if x is non-contiguous, for example after splitting or after a product.",
)
def test_merging_a_view(student: Student, fresh: Fresh) -> None:
    """The layouts after a matrix product, after split_heads, and another one."""
    for ask in (
        moving("merge_heads", lambda fresh: (unrolled_view(fresh).transpose(1, 2),), B, T, D_OUT),
        MERGING,
        moving("merge_heads", lambda fresh: (fresh(HEAD_DIM, T, H, B).permute(3, 2, 1, 0),), B, T, D_OUT),
    ):
        expect_right(ask(student, fresh))


@rule(*GRADIENTS)
def test_gradients_of_merging(student: Student, fresh: Fresh) -> None:
    """The numbers are those of x, and each has the gradient of its position in the result."""
    expect_moving_gradients(MERGING(student, fresh))


# -- misconceptions ------------------------------------------------------------------------------------------------

MISCONCEPTIONS = [
    mistake("not_transposed_back",
        replace("tokens_first.flatten(start_dim=2)", "x.reshape(x.shape[0], x.shape[2], -1)"), NOT_TRANSPOSED_BACK),
    mistake("merged_by_view_alone", replace("tokens_first.flatten(start_dim=2)", "x.view(x.shape[0], x.shape[2], -1)"),
        NOT_TRANSPOSED_BACK),
    mistake("features_shuffled", replace("transpose(1, 2)", "permute(0, 2, 3, 1)"),
        "The heads' features are interleaved: the first of each head, then the second of each. Put the heads next to "
        "each other, each with its features in their order."),
    mistake("last_two_kept_apart", replace(".flatten(start_dim=2)", ""),
        "The heads are back inside their tokens, but still a separate dimension: (B, T, H, head_dim). Make the last "
        "two dimensions one."),
    mistake("view_without_contiguous", replace("flatten(start_dim=2)", "view(x.shape[0], x.shape[2], -1)"),
        "`view` fails if x is non-contiguous, for example the result of a transpose. Use `reshape`, or "
        "`contiguous()` first."),
    mistake("merged_without_gradients", replace("x.transpose", "x.detach().transpose"), DETACHED),
    mistake("merged_in_place", replace("transpose(", "transpose_("), CHANGED),
    mistake("shape_read_in_another_order",
        replace("tokens_first.flatten(start_dim=2)",
                "tokens_first.reshape(x.shape[0], x.shape[1], x.shape[2] * x.shape[3])"),
        "The shape is read as (B, T, H, head_dim), but x is (B, H, T, head_dim). So heads and tokens are exchanged "
        "in the new shape. Read the sizes in the order of x."),
]  # fmt: skip


# -- answers -------------------------------------------------------------------------------------------------------


def wrong_answers():
    """Mistakes without a name, and answers with two. Never run here: the audit reads them."""

    def averages_the_heads(x):
        return x.mean(dim=1)

    def keeps_only_head_0(x):
        return x[:, 0]

    def takes_the_largest(x):
        return x.amax(dim=1)

    def flips_the_tokens(x):
        return x.flip(2).transpose(1, 2).flatten(2)

    def features_first(x):
        return x.transpose(1, 2).flatten(2).transpose(1, 2)

    def multiplies_the_heads(x):
        return x.prod(dim=1)

    def one_long_row(x):
        return x.transpose(1, 2).flatten(1)


def right_answers():
    """Answers in other styles. Never run here: the audit reads them."""

    import torch
    from multi_head_attention import group_by_head
    from torch import Tensor

    def by_the_book(x: Tensor) -> Tensor:
        b, num_heads, num_tokens, head_dim = x.shape
        return x.transpose(1, 2).contiguous().view(b, num_tokens, num_heads * head_dim)

    def einsum(x):
        return torch.cat(list(x.unbind(dim=1)), dim=-1)

    def fused(x):
        return group_by_head(x).flatten(2)  # exchanging the two once more brings them back

    def loops(x):
        return torch.stack([torch.cat([head for head in heads], dim=1) for heads in x])

    def one_on_another(x):
        return x.permute(0, 2, 1, 3).flatten(2)

    def ready_made(x):
        return x.movedim(1, 2).flatten(-2, -1)
