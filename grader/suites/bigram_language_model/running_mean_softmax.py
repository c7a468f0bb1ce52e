"""running_mean_softmax: hidden tests, known mistakes and right answers."""

from __future__ import annotations

import torch

from grader.suites.bigram_language_model.shared import (
    ANY_LENGTH,
    CHANGED,
    COLUMNS,
    EITHER_DTYPE,
    FLOAT32,
    GRADIENTS,
    LEFT_ALONE,
    LENGTHS,
    MEAN,
    NEXT_TOO,
    PAST_LEFT_OUT,
    PRESENT_LEFT_OUT,
    averaging,
    expect_means,
)
from grader.testing.draws import numbers
from grader.testing.misconceptions import mistake, replace
from grader.testing.suite import IN_BOTH_DTYPES, Example, contract, kept_arguments, right_gradients, right_results

test_contract = contract(
    averaging("running_mean_softmax"),
    right_results("means_by_softmax", *MEAN, ask=averaging("running_mean_softmax", expect_means)),
    right_results("any_length_by_softmax", *ANY_LENGTH, *LENGTHS),
    right_results("either_dtype_by_softmax", *EITHER_DTYPE, *IN_BOTH_DTYPES),
    right_gradients("gradients_of_the_softmax", *GRADIENTS),
    kept_arguments("the_softmax_leaves_x_alone", *LEFT_ALONE, "x was changed."),
    example=Example({"x": numbers(3, 4, 2)}),
)


# -- misconceptions ------------------------------------------------------------------------------------------------


# running_mean_softmax and Head

MISCONCEPTIONS = [
    mistake("future_averaged_by_softmax", replace(".masked_fill(future, -torch.inf)", ""),
        "Every token gets the mean of the whole text. Either the result of `masked_fill` is not used, or the future "
        "is filled with zeros. The exponential of zero is one; only the exponential of minus infinity is zero."),
    mistake("softmax_of_the_triangle", replace("-torch.inf", "-1"),
        "The future still has weight: its scores are only one below the others, perhaps because softmax is applied "
        "to ones and zeros. Use scores of zero, with minus infinity for the future."),
    mistake("past_left_out_by_softmax", replace("triu(diagonal=1)", "tril(diagonal=-1)"), PAST_LEFT_OUT),
    mistake("present_left_out_by_softmax", replace("diagonal=1", "diagonal=0"), PRESENT_LEFT_OUT),
    mistake("next_token_averaged_by_softmax", replace("diagonal=1", "diagonal=2"), NEXT_TOO),
    mistake("columns_sum_to_one_by_softmax", replace("dim=-1", "dim=0"), COLUMNS),
    mistake("hidden_after_softmax",
        replace(".masked_fill(future, -torch.inf)", "").replace("dim=-1)", "dim=-1).masked_fill(future, 0)"),
        "The future is set to zero after the softmax, so it is still in the sum that each row is divided by. Hide it "
        "before, with scores of minus infinity."),
    mistake("no_softmax_at_all", replace("torch.softmax(scores, dim=-1)", "scores"),
        "The masked scores are used as weights directly, and minus infinity makes every sum infinite. Apply softmax "
        "first."),
    mistake("zero_times_infinity", replace(".masked_fill(future, -torch.inf)", " + future * -torch.inf"),
        "The result is NaN, as if a mask of zeros and ones were multiplied by infinity: zero times infinity is NaN. "
        "Fill the masked entries instead, with `masked_fill` or `torch.where`."),
    mistake("scores_from_the_tokens", replace("torch.zeros(num_tokens, num_tokens, dtype=x.dtype)", "(x @ x.mT)"),
        "The scores are already those of attention, dot products of tokens. Here all scores are zero, so that all "
        "visible tokens have the same weight. The head comes next."),
    mistake("float32_weights_by_softmax", replace(", dtype=x.dtype", ""), FLOAT32),
    mistake("x_changed_by_softmax",
        replace("return torch.softmax(scores, dim=-1) @ x", "x[:] = torch.softmax(scores, dim=-1) @ x\n    return x"),
        CHANGED),
]  # fmt: skip


# -- answers -------------------------------------------------------------------------------------------------------


def wrong_answers():
    """Mistakes without a name, and answers with two. Never run here: the audit reads them."""

    import math

    def _hidden(scores, value=-torch.inf):
        return scores.masked_fill(torch.ones_like(scores).triu(1).bool(), value)

    def _scores(x):
        return x.new_zeros(x.shape[1], x.shape[1])

    def random_scores(x):
        return torch.softmax(_hidden(torch.rand_like(_scores(x))), -1) @ x

    def distance_as_score(x):
        place = torch.arange(x.shape[1], dtype=x.dtype)
        return torch.softmax(_hidden(place - place[:, None]), -1) @ x

    def scaled_means(x):
        return torch.softmax(_hidden(_scores(x)), -1) / math.sqrt(x.shape[-1]) @ x

    def plus_infinity(x):
        return torch.softmax(_hidden(_scores(x), torch.inf), -1) @ x

    def softmax_of_x(x):
        return torch.softmax(_hidden(_scores(x)), -1) @ torch.softmax(x, -1)

    def weights_returned(x):
        return torch.softmax(_hidden(_scores(x)), -1)


def right_answers():
    """Answers in other styles. Never run here: the audit reads them."""

    import math

    import torch.nn.functional as F
    from causal_attention import causal_mask, mask_then_softmax
    from simple_attention import softmax_stable
    from torch import Tensor

    def by_hand(x):
        T = x.shape[1]
        scores = [[0.0] * (token + 1) + [-math.inf] * (T - token - 1) for token in range(T)]
        numerators = torch.tensor([[math.exp(score) for score in row] for row in scores], dtype=x.dtype)
        return numerators / numerators.sum(1, keepdim=True) @ x

    def heads_of_unit_four(x):
        T = x.shape[1]
        return mask_then_softmax(torch.zeros(T, T, dtype=x.dtype), 1) @ x

    def index_notation(x: Tensor) -> Tensor:
        T = x.size(1)
        scores = torch.full((T, T), float("-inf"), dtype=torch.float64).triu(1)
        return torch.einsum("ts,bsc->btc", scores.softmax(1), x.double()).to(x.dtype)

    def one_on_another(x):
        scores = x.new_zeros(x.shape[1], x.shape[1])
        scores[causal_mask(x.shape[1])] = -torch.inf
        return softmax_stable(scores, dim=-1) @ x

    def ready_made(x):
        zeros = torch.zeros_like(x)
        return F.scaled_dot_product_attention(zeros, zeros, x, is_causal=True)
