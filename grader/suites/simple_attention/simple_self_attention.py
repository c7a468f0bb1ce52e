"""simple_self_attention: hidden tests, known mistakes and right answers."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch

from grader.suites.simple_attention.shared import D, T, context_of, scores_of, softmax_of
from grader.testing.checks import expect_close, expect_tensor, expect_true, expect_values
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


def self_attention_of(student: Student) -> Callable[[torch.Tensor], tuple[torch.Tensor, torch.Tensor]]:
    """Return simple_self_attention: (T, d) to contexts (T, d) and weights (T, T), one query at a time."""
    scores = student.substitute("attention_scores", scores_of(student))
    softmax = student.substitute("softmax_naive", student.substitute("softmax_stable", softmax_of(student)))
    context = student.substitute("context_vector", context_of(student))

    def simple_self_attention(inputs: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        inputs = inputs.double()
        weights = [softmax(scores(query, inputs), -1) for query in inputs]
        return torch.stack([context(row, inputs) for row in weights]), torch.stack(weights)

    return simple_self_attention


def tokens(fresh: Fresh) -> torch.Tensor:
    """Return inputs (T, d) whose scores are at most ±4, so that every weight has a logarithm in float32.

    All lengths differ. The scores are symmetric, and different lengths make the weights of a row differ from those of
    the same column.
    """
    directions = torch.nn.functional.normalize(fresh(T, D), dim=-1)
    return directions * torch.tensor([1.4, 2.0, 1.2, 1.8, 1.6])[:, None]  # (T, d) * (T, 1)


def decisive_tokens(fresh: Fresh, count: int, dtype: torch.dtype = torch.float32) -> torch.Tensor:
    """Return inputs (T, 2) on one line through zero, of which each token gives all its weight to one token.

    For a token of half the length, the score of the longest token on its side is higher by 9.2² / 4 = 21 than the next
    one, or by 15 if the scores are divided by √2, the root of the width. The other tokens together get at most
    3 e⁻¹⁵ = 1e-6, a tenth of ABSOLUTE. No score exceeds 9.2² = 85, so softmax does not overflow even if an answer does
    not subtract the maximum.
    """
    sizes = 9.2 * torch.tensor([0.5, 1, -0.5, -1, 0.5, -0.5], dtype=torch.float64)[:count][fresh.order(count)]
    direction = fresh(2, dtype=torch.float64)
    return torch.outer(sizes, direction / direction.norm()).to(dtype)  # (T,), (2,) -> (T, 2)


def expect_self_attention(result: Any, right: tuple[torch.Tensor, torch.Tensor]) -> None:
    contexts, weights = expect_values(result, 2)
    right_contexts, right_weights = right
    expect_close(weights, right_weights, "The weights")
    expect_close(contexts, right_contexts, "The contexts")


def scores_from_weights(weights: torch.Tensor) -> torch.Tensor:
    """Return the scores (T, T) behind these weights, up to a constant for each row and each column.

    The logarithm undoes softmax up to a constant for each list of scores. Subtracting the rows' means removes it.
    Subtracting the columns' means too gives the same scores for softmax along the wrong dimension, which has its own
    criterion.
    """
    logarithms = weights.double().log()
    logarithms = logarithms - logarithms.mean(-1, keepdim=True)
    return logarithms - logarithms.mean(-2, keepdim=True)


@rule("the scores are the dot products of every token with every token, not scaled and not masked")
def test_scores_are_plain_dot_products(student: Student, fresh: Fresh) -> None:
    """The scores should be the dot products of every token with every token, not scaled and not masked."""
    inputs = tokens(fresh)
    _, weights = expect_values(student.simple_self_attention(inputs), 2)
    _, right_weights = self_attention_of(student)(inputs)
    expect_close(scores_from_weights(expect_tensor(weights, (T, T))), scores_from_weights(right_weights), "The scores")


@rule("row i of the weights is the softmax of token i's scores over all tokens, so each row sums to one")
def test_each_token_shares_its_attention_among_all(student: Student, fresh: Fresh) -> None:
    """Softmax should run along each row: weights are positive, sum to one and are largest for the best match."""
    inputs = tokens(fresh)
    _, weights = expect_values(student.simple_self_attention(inputs), 2)
    _, right_weights = self_attention_of(student)(inputs)
    expect_true(bool((expect_tensor(weights, (T, T)) > 0).all()), "Not every weight is positive.")
    expect_close(weights.sum(-1), right_weights.sum(-1), "The sums of the rows of weights")
    expect_true(
        torch.equal(weights.argmax(-1), right_weights.argmax(-1)),
        "A token's largest weight is not on the token with which it has the largest dot product.",
    )


@rule("context i is the sum of the inputs, each times its weight in row i")
def test_contexts_are_weighted_sums_of_the_inputs(student: Student, fresh: Fresh) -> None:
    """Each token's context should be the sum of the inputs, each times its weight in the token's row: (T, d)."""
    inputs = tokens(fresh)
    contexts, _ = expect_values(student.simple_self_attention(inputs), 2)
    expect_close(contexts, self_attention_of(student)(inputs)[0], "The contexts")


@rule("the result is the pair (contexts, weights)")
def test_contexts_first_then_weights(student: Student, fresh: Fresh) -> None:
    """The function should return two results: first the contexts (T, d), then the weights (T, T)."""
    inputs = decisive_tokens(fresh, T)
    expect_self_attention(student.simple_self_attention(inputs), self_attention_of(student)(inputs))


@rule("any number of tokens, including one")
def test_any_number_of_tokens_attend(student: Student, fresh: Fresh) -> None:
    """Any number of tokens should work, also a single one: contexts (T, d) and weights (T, T)."""
    # A square comes first: no product fails there because of its shapes. Its tokens are orthogonal, so each gives all
    # its weight to itself.
    square = 9.2 * fresh.rotation(6).float()
    for inputs in (square, *(decisive_tokens(fresh, count) for count in (6, 3, 1))):
        expect_self_attention(student.simple_self_attention(inputs), self_attention_of(student)(inputs))


ATTENTION = asking(
    "simple_self_attention",
    lambda fresh, dtype=torch.float32: [decisive_tokens(fresh, T, dtype)],
    self_attention_of,
    expect_self_attention,
)


test_contract = contract(
    ATTENTION,
    right_results(
        "self_attention_of_either_dtype", "float32 and float64 inputs both work",
        "Contexts and weights should be correct for float32 inputs and for float64 inputs.", *IN_BOTH_DTYPES),
    right_gradients(
        "gradients_of_self_attention", "gradients flow to the inputs",
        "Gradients of contexts and weights should flow to the inputs, which are queries, keys and values here.",
        ask=asking("simple_self_attention", lambda fresh: [tokens(fresh)], self_attention_of)),
    kept_arguments(
        "self_attention_leaves_the_inputs_alone", "the inputs are not changed",
        "Contexts and weights should be correct, and the call should not change the inputs.",
        "The inputs were changed."),
    example=Example({"inputs": numbers(4, 3)}),
    probe=lambda fresh, count=T, d=D: [fresh(count, d)],
)  # fmt: skip
FEATURES_COMPARED = (
    "Features were compared with features: the scores are (d, d). Tokens should be compared with tokens, so "
    "transpose only the second factor."
)


# -- misconceptions ------------------------------------------------------------------------------------------------

CALLS = ["softmax_stable"]

MISCONCEPTIONS = [
    mistake("softmax_forgotten", replace("softmax_stable(scores, dim=-1)", "scores"),
        "The scores are used as weights directly. Apply softmax first: it makes them positive, with the sum one for "
        "each token."),
    mistake("divided_by_the_sum",
        replace("softmax_stable(scores, dim=-1)", "scores / scores.sum(dim=-1, keepdim=True)"),
        "The scores are divided by their sum. With positive and negative scores the results are not valid weights: "
        "softmax takes exponentials first."),
    mistake("scaled_by_the_width", replace("inputs.T", "inputs.T / inputs.shape[-1] ** 0.5"),
        "The scores were divided by the root of the width. Unit 2 explains this scaling. Here they are plain dot "
        "products."),
    mistake("reshaped_instead_of_transposed", replace("inputs.T", "inputs.reshape(inputs.shape[1], inputs.shape[0])"),
        "The inputs were reshaped to (d, T). This keeps the order of the numbers and mixes the tokens. To turn rows "
        "into columns, transpose them."),
    mistake("transpose_forgotten", replace("inputs.T", "inputs"),
        "The inputs were multiplied with themselves, and (T, d) @ (T, d) does not match. Transpose the second "
        "factor, so that tokens meet tokens."),
    mistake("features_compared_and_mixed",
        replace("inputs @ inputs.T", "inputs.T @ inputs").replace("weights @ inputs", "inputs @ weights"),
        FEATURES_COMPARED),
    mistake("features_and_tokens_mixed_up", replace("inputs @ inputs.T", "inputs.T @ inputs"),
        "Features meet tokens in a product, so the shapes do not match. The scores compare tokens with tokens, (T, "
        "T): transpose only the second factor. The weights are on the left of the inputs."),
    mistake("later_tokens_hidden",
        replace("(scores,", "(scores.masked_fill(torch.ones_like(scores).triu(1).bool(), -torch.inf),"),
        "Each token cannot see the tokens after it. That is causal attention, unit 3. Here every token sees every "
        "token."),
    mistake("own_token_hidden", replace("(scores,", "(scores.masked_fill(torch.eye(len(scores)).bool(), -torch.inf),"),
        "No token looks at itself. In self-attention it does: each token is part of its own context."),
    mistake("softmax_along_the_columns", replace("dim=-1", "dim=0"),
        "Softmax runs along the columns: they sum to one, but the rows do not. Row i contains the weights of query "
        "i, so apply softmax along the last dimension; a sum of your own needs `keepdim=True` too."),
    mistake("softmax_twice", replace("(scores, dim=-1)", "(softmax_stable(scores, dim=-1), dim=-1)"),
        "Softmax is applied twice. The second softmax gets only numbers between zero and one, so all its weights are "
        "nearly equal."),
    mistake("mixed_by_the_columns", replace("weights @", "weights.T @"),
        "The contexts use the columns of the weights. The weights of token i are row i, so do not transpose them."),
    mistake("mixed_by_the_scores", replace("weights @", "scores @"),
        "The contexts are computed with the scores, and softmax is only returned beside them. Mix the inputs with "
        "the weights."),
    mistake("scores_in_place_of_weights", replace("return contexts, weights", "return contexts, scores"),
        "The second result is the scores. The contexts are correct, but the second result should be the weights, "
        "after softmax."),
    mistake("weights_first", replace("return contexts, weights", "return weights, contexts"),
        "Weights and contexts are in the wrong order. Return the contexts first, then the weights."),
    mistake("contexts_alone", replace("return contexts, weights", "return contexts"),
        "The function returned only the contexts. Return the weights too, as the second of a pair."),
    mistake("one_query_only", replace("inputs.T", "inputs[1]"),
        "Only one token is the query, the second one as in the worked example. In self-attention every token is a "
        "query and has its own context."),
    mistake("lone_token_squeezed", replace("return contexts, weights", "return contexts.squeeze(), weights.squeeze()"),
        "If there is a single token, `squeeze()` removes the dimension of the tokens. T = 1 is a sequence too: it "
        "gives weights (1, 1) and contexts (1, d)."),
    mistake("attention_in_float32_only", replace("weights @", "weights.float() @"),
        "The result is written into float32 tensors, which do not match float64 inputs. Use the dtype of the inputs."),
    mistake("weights_detached", replace("dim=-1)", "dim=-1).detach()"),
        "No gradient flows through the weights: does `.detach()` or `.item()` cut them off? Attention learns through "
        "the scores which tokens are important."),
    mistake("attention_cut_off", replace("return contexts, weights", "return contexts.detach(), weights.detach()"),
        "Gradients stop at the results. Were they computed under `torch.no_grad()`, or detached? The embeddings "
        "before them must be able to learn."),
    mistake("contexts_over_the_inputs", replace("return contexts", "inputs.copy_(contexts)\n    return inputs"),
        "The contexts overwrote the caller's inputs. Every context needs the old inputs, and the caller may need "
        "them too: make a new tensor."),
    mistake("weights_alone", replace("return contexts, weights", "return weights"),
        "The function returned only the weights. Return the contexts too, as the first of a pair."),
    mistake("inputs_added_to_the_contexts", replace("return contexts,", "return inputs + contexts,"),
        "The inputs were added to the contexts. A context is only the sum of the inputs, each times its weight."),
]  # fmt: skip


# -- answers -------------------------------------------------------------------------------------------------------


def wrong_answers():
    """Mistakes without a name, and answers with two. Never run here: the audit reads them."""

    def distances_as_scores(inputs):
        weights = torch.softmax(torch.cdist(inputs, inputs), dim=-1)
        return weights @ inputs, weights

    def scores_beside_the_two(inputs):
        scores = inputs @ inputs.T
        weights = torch.softmax(scores, dim=-1)
        return weights @ inputs, weights, scores

    def scaled_by_the_width__and__softmax_along_the_columns(inputs):
        weights = torch.softmax(inputs @ inputs.T / inputs.shape[1] ** 0.5, dim=0)
        return weights @ inputs, weights

    def softmax_along_a_third_dimension(inputs):
        weights = torch.softmax(inputs @ inputs.T, dim=2)
        return weights @ inputs, weights


def right_answers():
    """Answers in other styles. Never run here: the audit reads them."""

    import torch.nn.functional as F
    from simple_attention import attention_scores, context_vector, softmax_naive, softmax_stable

    def by_hand(inputs):
        contexts, weights = [], []
        for query in inputs:
            scores = [sum(q * x for q, x in zip(query, token)) for token in inputs]
            exponentials = [(score - max(scores)).exp() for score in scores]
            weights.append(torch.stack(exponentials) / sum(exponentials))
            contexts.append(sum(weight * token for weight, token in zip(weights[-1], inputs)))
        return torch.stack(contexts), torch.stack(weights)

    def einsum(inputs: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        scores = torch.einsum("id,jd->ij", inputs, inputs)
        weights = softmax_naive(scores, dim=1)
        print("weights", weights.shape, weights.sum(dim=-1))
        return torch.einsum("ij,jd->id", weights, inputs), weights

    def one_on_another(inputs):
        weights = torch.stack([softmax_stable(attention_scores(token, inputs)) for token in inputs])
        return torch.stack([context_vector(row, inputs) for row in weights]), weights

    def ready_made(inputs):
        contexts = F.scaled_dot_product_attention(inputs[None], inputs[None], inputs[None], scale=1.0)[0]
        return [contexts, F.softmax(torch.mm(inputs, inputs.t()), dim=1)]

    def turned_round(inputs):
        weights = softmax_stable(inputs @ inputs.T, dim=0).T  # the scores are symmetric
        return (inputs.T @ weights.T).T, weights
