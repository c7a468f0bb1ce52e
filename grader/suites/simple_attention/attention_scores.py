"""attention_scores: hidden tests, known mistakes and right answers."""

from __future__ import annotations

from typing import Any

import torch

from grader.suites.simple_attention.shared import D, T, scores_of
from grader.testing.checks import expect_close, expect_tensor, expect_true
from grader.testing.draws import Fresh, numbers
from grader.testing.misconceptions import mistake, replace
from grader.testing.student import Student
from grader.testing.suite import (
    IN_BOTH_DTYPES,
    Example,
    asking,
    contract,
    kept_arguments,
    right_gradients,
    right_results,
    rule,
)


def far_apart(
    fresh: Fresh, count: int, width: int = D, dtype: torch.dtype = torch.float32
) -> tuple[torch.Tensor, torch.Tensor]:
    """Return a query (d,) and inputs (T, d) whose scores are the integers from one to T, in random order.

    Division by a positive number and softmax keep this order.
    """
    query, inputs = fresh(width, dtype=torch.float64), fresh(count, width, dtype=torch.float64)
    target_scores = fresh.order(count) + 1
    # Move each row along the query until it has its target score.
    inputs += torch.outer(target_scores - inputs @ query, query) / query.dot(query)
    return query.to(dtype), inputs.to(dtype)


def expect_order(value: Any, right: torch.Tensor) -> None:
    scores = expect_tensor(value, right.shape)
    expect_true(torch.equal(scores.argsort(), right.argsort()), "The order of the scores is wrong.")


@rule("score i is the dot product of the query with row i of the inputs, not scaled")
def test_a_score_is_the_dot_product_of_query_and_input(student: Student, fresh: Fresh) -> None:
    """There should be one score for each input, (T,): its dot product with the query, not scaled."""
    for size in (1, 0.1):  # small scores show whether they are rounded
        query, inputs = size * fresh(D), size * fresh(T, D)
        expect_close(student.attention_scores(query, inputs), scores_of(student)(query, inputs), "The scores")


@rule("any number of tokens, including one")
def test_any_number_of_inputs_is_scored(student: Student, fresh: Fresh) -> None:
    """Any number of inputs should be scored, (T,), and the best match should get the largest score."""
    # A square comes first: no product fails there because of its shapes.
    for count, width in ((7, 7), (3, D), (1, D)):
        query, inputs = far_apart(fresh, count, width)
        expect_order(student.attention_scores(query, inputs), scores_of(student)(query, inputs))


# Inputs on which most mistakes make no difference, and the check of the result for them.
SCORES = asking(
    "attention_scores", lambda fresh, dtype=torch.float32: far_apart(fresh, T, dtype=dtype), scores_of, expect_order
)


test_contract = contract(
    SCORES,
    right_results(
        "scores_of_either_dtype", "float32 and float64 arguments both work",
        "Float32 and float64 arguments should both give scores, and the best match should get the largest score.",
        *IN_BOTH_DTYPES),
    right_gradients(
        "gradients_of_scores", "gradients flow to the query and to the inputs",
        "Gradients of the scores should flow to the query and to the inputs.",
        ask=asking("attention_scores", lambda fresh, count=T, d=D: [fresh(d), fresh(count, d)], scores_of)),
    kept_arguments(
        "scoring_leaves_its_arguments_alone", "the arguments are not changed",
        "The scores should have the right order, and the call should not change query or inputs.",
        "An argument was changed."),
    example=Example({"query": numbers(4), "inputs": numbers(6, 4)}),
)  # fmt: skip


# -- misconceptions ------------------------------------------------------------------------------------------------


MISCONCEPTIONS = [
    mistake("products_of_each_feature", replace("inputs @ query", "query * inputs"),
        "The products were not added up, so each token has a row and not a number. A dot product sums over the "
        "features: the last dimension."),
    mistake("summed_over_the_tokens", replace("inputs @ query", "(query * inputs).sum(dim=0)"),
        "The sum runs over the tokens and gives one number for each feature. A score belongs to a token, so sum over "
        "the features: `dim=-1`."),
    mistake("multiplied_with_the_columns", replace("inputs @ query", "query @ inputs"),
        "`query @ inputs` multiplies the query with the columns of the inputs. Tokens are rows: put the inputs on "
        "the left, or transpose them."),
    mistake("every_token_as_the_query", replace("@ query", "@ inputs.T"),
        "All tokens were scored with all tokens, and the query was not used. Here there is only one query: one score "
        "for each input."),
    mistake("second_input_as_the_query", replace("@ query", "@ inputs[1]"),
        "The query is always one of the inputs, chosen by its index. But the argument `query` can be any vector: use "
        "it."),
    mistake("scaled_already", replace("@ query", "@ query / len(query) ** 0.5"),
        "The scores were divided by the root of the width. That belongs to unit 2. Here a score is the plain dot "
        "product."),
    mistake("scores_in_a_column", replace("@ query", "@ query[:, None]"),
        "The scores have the shape of a column, (T, 1). The result should have one dimension, (T,), with one score "
        "for each token."),
    mistake("squeezed_too_much", replace("inputs @ query", "(inputs @ query[:, None]).squeeze()"),
        "`squeeze()` removes every dimension of size one. With a single token it also removes the dimension of the "
        "tokens. Name the dimension that you want to remove."),
    mistake("scores_in_float32_only", replace("inputs @", "inputs.float() @"),
        "The inputs are made float32, so they do not match a float64 query. Use the dtype of the arguments."),
    mistake("scores_cut_off", replace("inputs @ query", "(inputs @ query).detach()"),
        "Gradients stop at the scores, for example because of `.item()`, `.numpy()`, `torch.tensor([…])` or "
        "`no_grad`. Compute with tensors, and join them with `torch.stack`."),
    mistake("inputs_multiplied_in_place", replace("inputs @ query", "inputs.mul_(query).sum(dim=-1)"),
        "The caller's inputs were multiplied in place, by `*=` or `mul_`. The next step needs the old inputs: `*` "
        "makes a new tensor."),
    mistake("last_score_alone", replace("inputs @ query", "inputs[-1] @ query"),
        "Only the score of the last token is returned, as if each score replaced the one before. Keep all of them, "
        "one for each token."),
    mistake("first_score_alone", replace("inputs @ query", "inputs[0] @ query"),
        "Only the score of the first token is returned, as with a `return` inside the loop. Collect a score for each "
        "token first."),
]  # fmt: skip


# -- answers -------------------------------------------------------------------------------------------------------


def wrong_answers():
    """Mistakes without a name. Never run here: the audit reads them."""

    def query_added(query, inputs):
        return (inputs + query).sum(dim=-1)

    def squared(query, inputs):
        return (inputs @ query) ** 2

    def in_descending_order(query, inputs):
        return torch.sort(inputs @ query, descending=True).values

    def scaled_and_softmax(query, inputs):
        return torch.softmax(inputs @ query / len(query) ** 0.5, dim=0)

    def dot_with_a_table(query, inputs):
        return torch.dot(query, inputs)

    def sum_along_a_third_dimension(query, inputs):
        return (query * inputs).sum(dim=2)


def right_answers():
    """Answers in other styles. Never run here: the audit reads them."""

    import torch.nn.functional as F
    from simple_attention import dot_product

    def by_hand(query, inputs):
        scores = torch.zeros(inputs.shape[0], dtype=torch.float64)
        for i in range(inputs.shape[0]):
            for j in range(inputs.shape[1]):
                scores[i] += query[j] * inputs[i, j]
        return scores.to(inputs.dtype)

    def einsum(query: torch.Tensor, inputs: torch.Tensor) -> torch.Tensor:
        return torch.einsum("d,td->t", query, inputs)

    def one_on_another(query, inputs):
        return torch.stack([dot_product(query, token) for token in inputs])

    def ready_made(query, inputs):
        return F.linear(inputs, query[None]).squeeze(1)

    def turned_round(query, inputs):
        return (query.unsqueeze(0) @ inputs.mT).squeeze(0)
