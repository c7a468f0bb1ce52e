"""group_by_head: hidden tests, known mistakes and right answers."""

from __future__ import annotations

from grader.suites.multi_head_attention.shared import (
    A_VIEW,
    ALL_EQUAL,
    ALL_ONE,
    ANY_LAYOUT,
    CHANGED,
    DETACHED,
    GRADIENTS,
    HEAD_DIM,
    MIXED_BY_RESHAPE,
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
from grader.testing.suite import Example, contract, kept_arguments, right_results, rule


@rule("the tokens of each head are grouped: the features at [b, t, h] move to [b, h, t]")
def test_the_tokens_of_each_head_stand_together(student: Student, fresh: Fresh) -> None:
    """The features at [b, t, h] should move to [b, h, t]: shape (B, H, T, head_dim)."""
    for shape in ((B, T, H, HEAD_DIM), ALL_ONE, ALL_EQUAL):
        x = fresh(*shape)
        expect_close(student.group_by_head(x), group(x))


GROUPING = moving("group_by_head", lambda fresh, b=B, t=T, h=H, d=HEAD_DIM: (fresh(b, t, h, d),), B, H, T, HEAD_DIM)


test_contract = contract(
    GROUPING,
    right_results(
        "grouping_a_view", A_VIEW, ANY_LAYOUT,
        ask=moving("group_by_head", lambda fresh: (unrolled_view(fresh),), B, H, T, HEAD_DIM), visible="layout"),
    kept_arguments(
        "grouping_leaves_x_alone", "x is not changed",
        "The result should be grouped by head, and the call should not change x.", "x was changed."),
    example=Example({"x": numbers(2, 4, 3, 5)}, also={"gradients": "gradients flow to x"}),
)  # fmt: skip


@rule(*GRADIENTS)
def test_gradients_of_grouping(student: Student, fresh: Fresh) -> None:
    """The numbers are those of x, and each has the gradient of its position in the result."""
    expect_moving_gradients(GROUPING(student, fresh))


# -- misconceptions ------------------------------------------------------------------------------------------------

MISCONCEPTIONS = [
    mistake("reshaped_instead_of_transposed",
        replace("transpose(1, 2)", "reshape(x.shape[0], x.shape[2], x.shape[1], -1)"), MIXED_BY_RESHAPE),
    mistake("viewed_instead_of_transposed", replace("transpose(1, 2)", "view(x.shape[0], x.shape[2], x.shape[1], -1)"),
        MIXED_BY_RESHAPE),
    mistake("batch_exchanged_with_heads", replace("transpose(1, 2)", "transpose(0, 2)"),
        "The batch and the heads are swapped. Dimensions are counted from 0, and the batch stays first: transpose(1, "
        "2)."),
    mistake("heads_exchanged_with_features", replace("transpose(1, 2)", "transpose(2, 3)"),
        "The last two dimensions are swapped. Swap tokens and heads, the second and the third dimension."),
    mistake("transpose_thrown_away", replace("return x.transpose(1, 2)", "x.transpose(1, 2)\n    return x"),
        "Nothing was moved: the heads are still inside each token. `transpose` returns a new tensor and does not "
        "change the old one, so return its result."),
    mistake("grouped_without_gradients", replace("x.transpose", "x.data.transpose"), DETACHED),
    mistake("transposed_in_place", replace("transpose(", "transpose_("), CHANGED),
]  # fmt: skip


# -- answers -------------------------------------------------------------------------------------------------------


def wrong_answers():
    """Mistakes without a name, and answers with two. Never run here: the audit reads them."""

    import torch

    def flips_the_tokens(x):
        return x.transpose(1, 2).flip(2)

    def gives_the_last_head_first(x):
        return torch.stack(x.unbind(2)[::-1], dim=1)

    def keeps_only_head_0(x):
        return x[:, :, :1].transpose(1, 2)

    def averages_the_heads(x):
        return x.mean(dim=2, keepdim=True).transpose(1, 2).expand(-1, x.size(2), -1, -1)

    def exchanges_twice(x):
        return x.transpose(1, 2).transpose(2, 3)

    def gives_a_list(x):
        return [x[:, :, h] for h in range(x.size(2))]

    def expects_three_dimensions(x):
        b, t, d_out = x.shape
        return x.reshape(b, t, -1, d_out).transpose(1, 2)


def right_answers():
    """Answers in other styles. Never run here: the audit reads them."""

    import torch
    from torch import Tensor

    def by_the_book(x: Tensor) -> Tensor:
        return torch.transpose(x, 1, 2)

    def einsum(x):
        return torch.einsum("bthd->bhtd", x)

    def fused(x):
        return x.swapaxes(-3, -2).contiguous()

    def loops(x):
        return torch.stack([torch.stack([sequence[:, h] for h in range(x.shape[2])]) for sequence in x])

    def one_on_another(x):
        return x.permute(0, 2, 1, 3)

    def ready_made(x):
        return x.movedim(2, 1)
