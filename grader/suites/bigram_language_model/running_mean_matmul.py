"""running_mean_matmul: hidden tests, known mistakes and right answers."""

from __future__ import annotations

import torch

from grader.suites.bigram_language_model.shared import (
    ANY_LENGTH,
    CHANGED,
    COLUMNS,
    DIVIDED_BY_ALL,
    EITHER_DTYPE,
    FLOAT32,
    FUTURE_TOO,
    GRADIENTS,
    LEFT_ALONE,
    LENGTHS,
    MEAN,
    NEXT_TOO,
    PAST_LEFT_OUT,
    PRESENT_LEFT_OUT,
    SUMMED,
    averaging,
    expect_means,
)
from grader.testing.draws import numbers
from grader.testing.misconceptions import mistake, replace
from grader.testing.suite import IN_BOTH_DTYPES, Example, contract, kept_arguments, right_gradients, right_results

test_contract = contract(
    averaging("running_mean_matmul"),
    right_results("means_by_matmul", *MEAN, ask=averaging("running_mean_matmul", expect_means)),
    right_results("any_length_by_matmul", *ANY_LENGTH, *LENGTHS),
    right_results("either_dtype_by_matmul", *EITHER_DTYPE, *IN_BOTH_DTYPES),
    right_gradients("gradients_of_the_product", *GRADIENTS),
    kept_arguments("the_product_leaves_x_alone", *LEFT_ALONE, "x was changed."),
    example=Example({"x": numbers(3, 4, 2)}),
)


# -- misconceptions ------------------------------------------------------------------------------------------------

MISCONCEPTIONS = [
    mistake("future_averaged_by_matmul", replace(".tril()", ""), FUTURE_TOO),
    mistake("past_left_out_by_matmul", replace("tril()", "triu()"), PAST_LEFT_OUT),
    mistake("present_left_out_by_matmul", replace("tril()", "tril(diagonal=-1)"), PRESENT_LEFT_OUT),
    mistake("next_token_averaged_by_matmul", replace("tril()", "tril(diagonal=1)"), NEXT_TOO),
    mistake("summed_by_matmul", replace(" / seen.sum(dim=-1, keepdim=True)", ""), SUMMED),
    mistake("divided_by_all_by_matmul", replace("seen.sum(dim=-1, keepdim=True)", "num_tokens"), DIVIDED_BY_ALL),
    mistake("columns_sum_to_one_by_matmul", replace("dim=-1", "dim=0"), COLUMNS),
    mistake("sums_without_keepdim", replace(", keepdim=True", ""),
        "Without `keepdim=True` the sums lie along the columns, and each weight is divided by the sum of another "
        "row. Keep the sums as a column, (T, 1)."),
    mistake("divided_by_the_sum_of_all_weights", replace("sum(dim=-1, keepdim=True)", "sum()"),
        "All weights are divided by one number, the sum of the whole matrix. Each row needs its own sum."),
    mistake("float32_weights_by_matmul", replace(", dtype=x.dtype", ""), FLOAT32),
    mistake("x_changed_by_matmul", replace("return weights @ x", "x[:] = weights @ x\n    return x"), CHANGED),
]  # fmt: skip


# -- answers -------------------------------------------------------------------------------------------------------


def wrong_answers():
    """Mistakes without a name, and answers with two. Never run here: the audit reads them."""

    import torch.nn.functional as F

    def _triangle(x):
        return torch.ones(x.shape[1], x.shape[1], dtype=x.dtype).tril()

    def normalized_by_length(x):
        return F.normalize(_triangle(x), dim=1) @ x

    def diagonal_alone(x):
        return torch.eye(x.shape[1], dtype=x.dtype) @ x

    def counted_from_zero(x):
        return _triangle(x) / torch.arange(x.shape[1], dtype=x.dtype)[:, None] @ x

    def weights_returned(x):
        return _triangle(x) / _triangle(x).sum(1, keepdim=True)

    def softmax_of_the_triangle(x):
        return torch.softmax(_triangle(x), -1) @ x

    def random_weights(x):
        wei = torch.rand_like(_triangle(x)).tril()
        return wei / wei.sum(1, keepdim=True) @ x

    def mean_of_two_averages(x):
        wei = _triangle(x) / _triangle(x).sum(1, keepdim=True)
        return wei @ (wei @ x)


def right_answers():
    """Answers in other styles. Never run here: the audit reads them."""

    from causal_attention import causal_mask, mask_then_renormalize
    from torch import Tensor

    def by_hand(x):
        T = x.shape[1]
        weights = [[1 / (row + 1) if column <= row else 0.0 for column in range(T)] for row in range(T)]
        return torch.tensor(weights, dtype=x.dtype) @ x

    def heads_of_unit_four(x):
        T = x.shape[1]
        return mask_then_renormalize(torch.ones(T, T, dtype=x.dtype) / T) @ x

    def index_notation(x: Tensor) -> Tensor:
        places = torch.arange(x.size(1))
        weights = (places[:, None] >= places).to(x.dtype) / (places[:, None] + 1).to(x.dtype)
        return torch.einsum("ts,bsc->btc", weights, x)

    def one_on_another(x):
        seen = (~causal_mask(x.shape[1])).to(x.dtype)
        return (seen / seen.sum(1, keepdim=True)).expand(len(x), -1, -1).bmm(x)

    def ready_made(x):
        return x.cumsum(dim=1) / torch.arange(1, x.shape[1] + 1, dtype=x.dtype).unsqueeze(1)
