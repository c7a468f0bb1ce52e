"""context_vector: hidden tests, known mistakes and right answers."""

from __future__ import annotations

import functools

import torch

from grader.suites.simple_attention.shared import D, T, context_of, single_nonzero
from grader.testing.checks import expect_close
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


def expect_context(student: Student, weights: torch.Tensor, inputs: torch.Tensor) -> None:
    found, expected = student.context_vector(weights, inputs), context_of(student)(weights, inputs)
    expect_close(found, expected, "The features of the context")


@rule("the result is the sum of the rows of the inputs, each row i times weight i")
def test_the_context_is_a_weighted_sum(student: Student, fresh: Fresh) -> None:
    """The context should be the sum of the inputs, each times its weight: one vector as wide as an input, (d,)."""
    for width in (D, 1):
        # Shares, as a softmax gives them.
        weights, inputs = torch.softmax(fresh(T), 0), fresh(T, width)
        expect_context(student, weights, inputs)


@rule("the weights are used without any change, also if they are negative or do not sum to one")
def test_the_weights_count_as_they_are(student: Student, fresh: Fresh) -> None:
    """The weights should be used without any change, also if some are negative or if they do not sum to one."""
    for weights in (fresh(T), fresh(T).abs()):
        inputs = fresh(T, D)
        expect_context(student, weights, inputs)


@rule("any number of tokens, including one")
def test_a_context_of_any_number_of_tokens(student: Student, fresh: Fresh) -> None:
    """Any number of tokens should give one context, (d,), and a single token with all the weight gives itself."""
    # A square comes first: no product fails there because of its shapes.
    for count, width in ((7, 7), (3, D), (1, D)):
        weights, inputs = single_nonzero(fresh, count, 1), fresh(count, width)
        expect_context(student, weights, inputs)


CONTEXT = asking(
    "context_vector",
    lambda fresh, dtype=torch.float32: [single_nonzero(fresh, T, 1, dtype), fresh(T, D, dtype=dtype)],
    context_of,
    functools.partial(expect_close, what="The features of the context"),
)


test_contract = contract(
    CONTEXT,
    right_results(
        "a_context_of_either_dtype", "float32 and float64 arguments both work",
        "Float32 and float64 arguments should both give the context, also if one token has all the weight.",
        *IN_BOTH_DTYPES),
    right_gradients(
        "gradients_of_the_context", "gradients flow to the weights and to the inputs",
        "Gradients of the context should flow to the weights and to the inputs.",
        ask=asking("context_vector", lambda fresh: [torch.softmax(fresh(T), 0), fresh(T, D)], context_of)),
    kept_arguments(
        "mixing_leaves_its_arguments_alone", "the arguments are not changed",
        "The context should be correct, and the call should not change weights or inputs.", "An argument was changed."),
    example=Example({"weights": numbers(5), "inputs": numbers(5, 3)}),
    probe=lambda fresh, count=T, d=D: [fresh(count), fresh(count, d)],
)  # fmt: skip


# -- misconceptions ------------------------------------------------------------------------------------------------

MISCONCEPTIONS = [
    mistake("weighted_rows_not_added_up", replace("weights @ inputs", "weights[:, None] * inputs"),
        "The weighted inputs were not added up: there is one row for each token. The context is one vector, the sum "
        "over the tokens."),
    mistake("weights_along_the_features", replace("weights @ inputs", "(weights * inputs).sum(dim=0)"),
        "`weights * inputs` pairs each weight with a feature, or the shapes do not match. A weight belongs to a "
        "token, which is a row: make the weights a column, `weights[:, None]`."),
    mistake("inputs_transposed", replace("@ inputs", "@ inputs.T"),
        "The inputs were transposed, or they are on the left of the weights. Then a weight meets a feature. There is "
        "one weight for each row, and (T,) @ (T, d) is correct."),
    mistake("weighted_rows_averaged", replace("weights @ inputs", "(weights[:, None] * inputs).mean(dim=0)"),
        "The weighted inputs were averaged. The weights already sum to one: add up the rows, and do not divide again."),
    mistake("last_row_only", replace("weights @ inputs", "weights[-1] * inputs[-1]"),
        "Each weighted row replaces the one before, so only the last one is left. Add each row to the context."),
    mistake("weights_softened_again", replace("weights @", "torch.softmax(weights, dim=0) @"),
        "The weights went through softmax again. They are already weights. A second softmax makes them nearly equal."),
    mistake("weights_normalised_again", replace("weights @", "weights / weights.sum() @"),
        "The weights were divided by their sum again. Use them without any change: they are already normalised."),
    mistake("context_in_a_table", replace("weights @", "weights[None] @"),
        "The context is a table with one row, (1, d). It should be one vector, (d,)."),
    mistake("single_token_squeezed", replace("weights @ inputs", "(weights[:, None] * inputs).squeeze().sum(dim=0)"),
        "If there is a single token, `squeeze()` removes the dimension of the tokens, and the sum runs over another "
        "dimension. T = 1 is a sequence too."),
    mistake("single_feature_squeezed", replace("weights @ inputs", "(weights[None] @ inputs).squeeze()"),
        "`squeeze()` removes every dimension of size one. With a single feature it also removes the features. A "
        "context is (d,), also for d = 1: name the dimension that you want to remove."),
    mistake("context_in_float32_only", replace("@ inputs", "@ inputs.float()"),
        "The inputs are made float32, so they do not match float64 weights. Use the dtype of the arguments."),
    mistake("weights_cut_off", replace("weights @", "weights.detach() @"),
        "No gradient reaches the weights: did `.item()` read them, or were they detached? Through the weights the "
        "scores learn which tokens are important."),
    mistake("inputs_weighted_in_place", replace("weights @ inputs", "inputs.mul_(weights[:, None]).sum(dim=0)"),
        "The caller's inputs were multiplied by the weights in place, by `*=` or `mul_`. The next query needs the "
        "old inputs: `*` makes a new tensor."),
    mistake("first_row_only", replace("weights @ inputs", "weights[0] * inputs[0]"),
        "Only the first weighted row is returned, as with a `return` inside the loop. Add up all rows first."),
]  # fmt: skip


# -- answers -------------------------------------------------------------------------------------------------------


def wrong_answers():
    """Mistakes without a name. Never run here: the audit reads them."""

    def everything_added_up(weights, inputs):
        return (weights[:, None] * inputs).sum()

    def weights_added(weights, inputs):
        return (weights[:, None] + inputs).sum(dim=0)

    def largest_instead_of_the_sum(weights, inputs):
        return (weights[:, None] * inputs).amax(dim=0)

    def dot_with_a_table(weights, inputs):
        return torch.dot(weights, inputs)

    def query_added(weights, inputs):
        return weights @ inputs + inputs[0]

    def softmax_along_a_second_dimension(weights, inputs):
        return torch.softmax(weights, dim=1) @ inputs


def right_answers():
    """Answers in other styles. Never run here: the audit reads them."""

    import operator

    from simple_attention import attention_scores

    def by_hand(weights, inputs):
        context = torch.zeros(inputs.shape[1])
        for weight, row in zip(weights, inputs):
            context = context + weight * row
        return context

    def einsum(weights: torch.Tensor, inputs: torch.Tensor) -> torch.Tensor:
        return torch.einsum("t,td->d", weights, inputs)

    def one_on_another(weights, inputs):
        return attention_scores(weights, inputs.T)

    def ready_made(weights, inputs):
        return torch.mv(inputs.t(), weights)

    def turned_round(weights, inputs):
        return torch.stack(list(map(operator.mul, weights, inputs))).sum(0)
