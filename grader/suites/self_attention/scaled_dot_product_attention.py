"""scaled_dot_product_attention: hidden tests, known mistakes and right answers."""

from __future__ import annotations

import functools
from collections.abc import Callable

import torch

from grader.suites.attention_mistakes import HALF, NO_SOFTMAX, SOFTMAX_OVER_QUERIES, SUMS_IN_A_ROW, TWENTIETH
from grader.suites.self_attention.shared import (
    BY_TOKENS,
    D_K,
    D_V,
    KEYS_HANDED_OVER,
    NO_ROOT,
    ROLES_SWAPPED,
    SCALED_LATE,
    SHAPES,
    T_K,
    UNSCALED,
    B,
    H,
    T,
    attention,
    queries_and_fitting_keys,
    scaled_scores,
)
from grader.testing.checks import expect_close, expect_tensor, expect_true, expect_values
from grader.testing.draws import Fresh, numbers
from grader.testing.misconceptions import mistake, replace
from grader.testing.student import Student
from grader.testing.suite import (
    IN_BOTH_DTYPES,
    Asking,
    Example,
    asking,
    contract,
    kept_arguments,
    right_gradients,
    right_results,
    rule,
)


def decisive(fresh: Fresh, queries: int = T, keys: int = T, dtype: torch.dtype = torch.float32) -> list[torch.Tensor]:
    """Return decisive queries (T_q, d_k) and keys (T_k, d_k), and values (T_k, d_v)."""
    pair = queries_and_fitting_keys(fresh, queries, keys, D_K)
    return [*(one.to(dtype) for one in pair), fresh(keys, D_V, dtype=dtype)]


def with_leading(
    fresh: Fresh, *leading: int, queries: int = T, keys: int = T_K, d_k: int = D_K, d_v: int = D_V
) -> list[torch.Tensor]:
    return [fresh(*leading, queries, d_k), fresh(*leading, keys, d_k), fresh(*leading, keys, d_v)]


def split_into_heads(fresh: Fresh) -> list[torch.Tensor]:
    """Return arguments with the memory layout after splitting heads: (B, T, H, d) -> (B, H, T, d)."""
    return [fresh(B, count, H, width).transpose(1, 2) for count, width in ((T, D_K), (T_K, D_K), (T_K, D_V))]


def expect_attention(result: object, right: tuple[torch.Tensor, torch.Tensor]) -> None:
    contexts, weights = expect_values(result, 2)
    expect_close(weights, right[1], "The weights")
    expect_close(contexts, right[0], "The contexts")


def calls(draw: Callable[..., list[torch.Tensor]]) -> Asking:
    return asking("scaled_dot_product_attention", draw, lambda _: attention, expect_attention)


ANY_LEADING = "any number of leading dimensions, with each batch element computed separately"

test_contract = contract(
    calls(decisive),
    right_results(
        "as_many_queries_as_you_like", "T_q may differ from T_k",
        "Any number of queries should work, fewer or more than keys: weights (T_q, T_k), contexts (T_q, d_v).",
        {"keys": T_K}, {"queries": T_K}, {"queries": 1}),
    right_results(
        "a_batch", ANY_LEADING,
        "With a batch in front, (B, T_q, d_k), each element of the batch should be computed separately.",
        ask=calls(lambda fresh: with_leading(fresh, B))),
    right_results(
        "a_batch_of_heads", ANY_LEADING,
        "With two leading dimensions, (B, H, T_q, d_k), each head of each batch element should be computed separately.",
        ask=calls(lambda fresh: with_leading(fresh, B, H))),
    right_results(
        "views_with_another_memory_layout", "inputs may be non-contiguous, for example the result of a transpose",
        "The result should be correct if the arguments are non-contiguous, for example the result of a transpose.",
        ask=calls(split_into_heads)),
    right_results(
        "attention_keeps_the_dtype", "the result keeps the dtype of the arguments, float32 or float64",
        "Contexts and weights should have the dtype of the arguments, for float32 and for float64.", *IN_BOTH_DTYPES,
        keeps_dtype=True),
    right_gradients(
        "gradients_of_attention", "gradients flow to queries, keys and values",
        "Gradients of the contexts and of the weights should flow to the queries, the keys and the values.",
        ask=calls(functools.partial(with_leading, keys=T))),
    kept_arguments(
        "attention_leaves_its_arguments_alone", "the arguments are not changed",
        "The result should be correct, and the call should not change queries, keys or values.",
        "An argument was changed."),
    right_results(
        "contexts_come_first_and_weights_second", "the result is the pair (contexts, weights)",
        "The function should return two results: first the contexts (T_q, d_v), then the weights (T_q, T_k)."),
    example=Example({"queries": numbers(4, 3), "keys": numbers(6, 3, seed=1), "values": numbers(6, 2, seed=2)},
                    keeps_dtype=True),
)  # fmt: skip


@rule("scores are the dot products of every query with every key, divided by the square root of d_k")
def test_scores_are_divided_by_the_square_root_of_d_k(student: Student, fresh: Fresh) -> None:
    """The scores should be the dot products of queries and keys, divided by the square root of d_k."""
    queries, keys, values = fresh(T, D_K), fresh(T, D_K), fresh(T, D_V)
    _, weights = expect_values(student.scaled_dot_product_attention(queries, keys, values), 2)
    # The logarithm undoes softmax up to a constant for each row. Subtracting the row's mean removes it.
    logarithms = expect_tensor(weights, (T, T)).double().log()
    scores = scaled_scores(queries, keys)
    expect_close(logarithms - logarithms.mean(-1, keepdim=True), scores - scores.mean(-1, keepdim=True), "The scores")


@rule("weights are the softmax of the scores over the keys, so each row sums to one")
def test_each_query_shares_its_attention_among_the_keys(student: Student, fresh: Fresh) -> None:
    """Softmax should run over the keys: weights are positive, sum to one and are largest for the best key."""
    # Scores near zero: each key gets some weight, and the fitting key gets the most for any scale.
    queries, keys = queries_and_fitting_keys(fresh, T, T, D_K, fitting=1, other=-1)
    arguments = queries.float(), keys.float(), fresh(T, D_V)
    _, weights = expect_values(student.scaled_dot_product_attention(*arguments), 2)
    expect_true(bool((expect_tensor(weights, (T, T)) > 0).all()), "Not every weight is positive.")
    expect_close(weights.sum(-1), torch.ones(T), "The sums of the rows of weights")
    expect_true(
        torch.equal(weights.argmax(-1), scaled_scores(queries, keys).argmax(-1)),
        "A query's largest weight is not on the key with which it has the largest dot product.",
    )


@rule("contexts are the weighted sums of the values, and d_v may differ from d_k")
def test_contexts_are_weighted_sums_of_the_values(student: Student, fresh: Fresh) -> None:
    """Each context should be the sum of the values, each times its weight: (T_q, d_v), for any d_v."""
    # In the second case all sizes are equal, so that only the numbers distinguish keys from values.
    for count, d_v in ((T, D_V), (D_K, D_K)):
        queries, keys, values = fresh(count, D_K), fresh(count, D_K), fresh(count, d_v)
        contexts, _ = expect_values(student.scaled_dot_product_attention(queries, keys, values), 2)
        expect_close(contexts, attention(queries, keys, values)[0], "The contexts")


# -- misconceptions ------------------------------------------------------------------------------------------------

ONE_BATCH = (
    "`transpose(1, 2)`, `permute(0, 2, 1)` and `bmm` work for exactly one leading dimension. Count from the end: "
    "`transpose(-2, -1)` and `@` work for none, one and many."
)
TORN = (
    "`reshape` and `view` keep the order of the numbers and only cut the rows at other positions, so the keys are "
    "mixed up. `transpose` swaps two dimensions."
)
SOFTMAX = "torch.softmax(scores, dim=-1)"

MISCONCEPTIONS = [
    mistake("half_instead_of_root", replace("d_k**0.5", "d_k * 0.5"), HALF),
    mistake("twentieth_root", replace("d_k**0.5", "d_k**.05"), TWENTIETH),
    mistake("scaling_forgotten", replace(" / d_k**0.5", ""), UNSCALED),
    mistake("divided_by_d_k_itself", replace("d_k**0.5", "d_k"), NO_ROOT),
    mistake("scaled_by_number_of_tokens", replace("queries.shape[-1]", "keys.shape[-2]"), BY_TOKENS),
    mistake("scaled_by_first_dimension", replace("queries.shape[-1]", "keys.shape[0]"),
        "The divisor comes from the first dimension. That is the tokens, or the batch if there is one. d_k is the "
        "last dimension: `keys.shape[-1]`."),
    mistake("scaled_after_softmax", replace(" / d_k**0.5", "").replace(SOFTMAX, f"{SOFTMAX} / d_k**0.5"), SCALED_LATE),
    mistake("softmax_over_queries", replace("dim=-1", "dim=-2"), SOFTMAX_OVER_QUERIES),
    mistake("softmax_over_dimension_0", replace("dim=-1", "dim=0"),
        "Softmax runs over dimension 0: over the queries, or over the elements of a batch. The keys always lie along "
        "the last dimension, dim=-1."),
    mistake("softmax_over_dimension_1", replace("dim=-1", "dim=1"),
        "Softmax runs over dimension 1. These are the keys only if there is no batch. Count from the end: the keys "
        "are always the last dimension, dim=-1."),
    mistake("softmax_forgotten", replace(SOFTMAX, "scores"), NO_SOFTMAX),
    mistake("only_two_dimensions", replace("keys.transpose(-2, -1)", "keys.T"),
        "This works only for matrices. With a batch in front, `.T` reverses all dimensions and `mm` raises an error. "
        "`transpose(-2, -1)` and `@` use only the last two dimensions."),
    mistake("exactly_one_leading_dimension", replace("transpose(-2, -1)", "transpose(1, 2)"), ONE_BATCH),
    mistake("exactly_three_dimensions",
        replace("queries @ keys.transpose(-2, -1)", "torch.einsum('bqd,bkd->bqk', queries, keys)"), ONE_BATCH),
    mistake("reshaped_instead_of_transposed",
        replace("transpose(-2, -1)", "reshape(*keys.shape[:-2], d_k, keys.shape[-2])"), TORN),
    mistake("view_of_a_transposed_tensor",
        replace("d_k =", "lead = queries.shape[:-2]\n"
                "    queries, keys, values = (one.view(-1, *one.shape[-2:]) for one in (queries, keys, values))\n"
                "    d_k =")
        .replace("return contexts, weights",
                 "return tuple(one.view(*lead, *one.shape[-2:]) for one in (contexts, weights))"),
        "`view` fails for a non-contiguous tensor, for example the result of a transpose. `reshape` copies if "
        "necessary. Matmul needs neither of them."),
    mistake("keys_handed_over", replace("weights @ values", "weights @ keys"), KEYS_HANDED_OVER),
    mistake("keys_ask_the_queries", replace("queries @ keys.transpose", "keys @ queries.transpose"), ROLES_SWAPPED),
    mistake("queries_ask_each_other", replace("queries @ keys.transpose", "queries @ queries.transpose"),
        "The queries are compared with one another. Compare each query with the keys: queries @ transposed keys."),
    mistake("lonely_query_squeezed",
        replace("return contexts, weights", "return contexts.squeeze(), weights.squeeze()"),
        "`squeeze()` removes every dimension of size one, so a single query loses its row. Name the dimension, or do "
        "not use `squeeze`."),
    mistake("always_float32",
        replace("d_k =", "queries, keys, values = queries.float(), keys.float(), values.float()\n    d_k ="),
        "Everything is computed in float32, also for float64 arguments. Then precision is lost: use the dtype of the "
        "arguments."),
    mistake("queries_scaled_in_place",
        replace(" / d_k**0.5", "").replace("scores =", "queries /= d_k**0.5\n    scores ="),
        "The caller's queries were changed: `/=` and `mul_` change the tensor itself. Write `queries = queries / …`, "
        "or divide the scores."),
    mistake("weights_first", replace("return contexts, weights", "return weights, contexts"),
        "The order is wrong: the weights came first. Return the pair (contexts, weights)."),
    mistake("contexts_alone", replace("return contexts, weights", "return contexts"),
        "The function returned only the contexts. Return the weights too: (contexts, weights)."),
    mistake("scaled_by_dimension_1", replace("queries.shape[-1]", "keys.shape[1]"),
        "The divisor comes from dimension 1. These are the features only if there is no batch. Count from the end: "
        "the features are the last dimension."),
    mistake("contexts_scaled", replace(" / d_k**0.5", "").replace("weights @ values", "weights @ values / d_k**0.5"),
        "The contexts are divided by √d_k, and the scores are not. Scaling is for the scores: it keeps softmax from "
        "giving all the weight to one key."),
    mistake("softmax_without_dim", replace(SOFTMAX, "torch.softmax(scores, dim=0 if scores.dim() == 3 else 1)"),
        "Softmax does not know along which dimension the keys lie. Without `dim`, PyTorch warns and guesses one, "
        "which depends on the number of dimensions. Name the last one."),
    mistake("sums_without_keepdim", replace(SOFTMAX, "torch.exp(scores) / torch.exp(scores).sum(dim=-1)"),
        SUMS_IN_A_ROW),
    mistake("shape_of_a_batch_unpacked", replace("d_k = queries.shape[-1]", "_, _, d_k = queries.shape"),
        "The shape is unpacked into three names, which works only with exactly one leading dimension. Take only the "
        "size that you need, counted from the end."),
    mistake("shapes_do_not_match", replace("keys.transpose(-2, -1)", "keys"), SHAPES),
    mistake("mixed_by_the_scores", replace("weights @ values", "scores @ values"),
        "The contexts are computed with the scores, and softmax is only returned beside them. Mix the values with "
        "the weights."),
]  # fmt: skip


# -- answers -------------------------------------------------------------------------------------------------------


def wrong_answers():
    """Mistakes without a name, and answers with two. Never run here: the audit reads them."""

    import math

    import torch.nn.functional as F

    def scaling_forgotten__and__always_float32(queries, keys, values):
        scores = queries @ keys.mT
        weights = F.softmax(scores, dim=-1)
        contexts = weights.float() @ values.float()
        return contexts, weights

    def unscaled_over_queries(queries, keys, values):
        weights = torch.softmax(queries @ keys.transpose(-2, -1), dim=-2)
        return weights @ values, weights

    def past_hidden(queries, keys, values):
        scores = queries @ keys.transpose(-2, -1) / math.sqrt(keys.shape[-1])
        weights = torch.softmax(scores.masked_fill(torch.ones_like(scores).tril(-1).bool(), -torch.inf), dim=-1)
        return weights @ values, weights

    def contexts_alone_unscaled(queries, keys, values):
        return torch.softmax(queries @ keys.transpose(-2, -1), dim=-1) @ values

    def one_batch_element_only(queries, keys, values):
        while queries.dim() > 2:
            queries, keys, values = queries[0], keys[0], values[0]
        weights = torch.softmax(queries @ keys.T / math.sqrt(keys.shape[-1]), dim=-1)
        return weights @ values, weights

    def softmax_on_the_values_too(queries, keys, values):
        weights = torch.softmax(queries @ keys.transpose(-2, -1) / math.sqrt(keys.shape[-1]), dim=-1)
        return torch.softmax(weights @ values, dim=-1), weights

    def shapes_do_not_match__features_compared(queries, keys, values):
        weights = (queries.mT @ keys / keys.shape[-1] ** 0.5).softmax(-1)
        return weights.matmul(values), weights


def right_answers():
    """Answers in other styles. Never run here: the audit reads them."""

    import math
    from typing import NamedTuple

    import torch.nn as nn
    import torch.nn.functional as F
    from torch import Tensor

    class _Attended(NamedTuple):
        contexts: Tensor
        weights: "Float[Tensor, '... T_q T_k']"  # noqa: F821, F722

    def annotated(queries: Tensor, keys: "Keys", values: Tensor):  # type: ignore[name-defined]  # noqa: F821
        scores: Scores = queries @ keys.transpose(-2, -1) / math.sqrt(queries.shape[-1])  # type: ignore[name-defined]  # noqa: F821
        weights = scores.softmax(dim=-1)
        return tuple(_Attended(weights @ values, weights))

    def batched(queries, keys, values):
        q, k, v = (part.reshape(-1, part.shape[-2], part.shape[-1]) for part in (queries, keys, values))
        nothing = q.new_zeros(q.shape[0], q.shape[1], k.shape[1])
        scores = torch.baddbmm(nothing, q, k.transpose(1, 2), alpha=q.shape[-1] ** -0.5)
        scores = scores - scores.amax(dim=2, keepdim=True)
        weights = scores.exp() / scores.exp().sum(dim=2, keepdim=True)
        contexts = torch.bmm(weights, v)
        lead = queries.shape[:-2]
        return contexts.reshape(lead + contexts.shape[1:]), weights.reshape(lead + weights.shape[1:])

    def _softmax(row):
        exponentials = torch.exp(row)
        return exponentials / exponentials.sum()

    def by_hand(queries, keys, values):
        if queries.dim() > 2:
            results = [by_hand(*one) for one in zip(queries, keys, values, strict=True)]
            return torch.stack([contexts for contexts, _ in results]), torch.stack([weights for _, weights in results])
        weights, contexts = [], []
        for query in queries.double():
            scores = torch.stack([torch.dot(query, key) for key in keys.double()])
            weights.append(_softmax(scores / len(query) ** (1 / 2)))
            contexts.append(sum(weight * value for weight, value in zip(weights[-1], values.double(), strict=True)))
        return torch.stack(contexts).to(queries.dtype), torch.stack(weights).to(queries.dtype)

    def einsum(queries: torch.Tensor, keys: torch.Tensor, values: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        if queries.shape[-1] != keys.shape[-1]:
            raise ValueError("queries and keys differ in width")
        scores = torch.einsum("...id,...jd->...ij", queries, keys)
        weights = nn.functional.softmax(scores / math.sqrt(queries.size(-1)), dim=-1)
        print("scores", scores.shape)
        return torch.einsum("...ij,...jd->...id", weights, values), weights

    def fused(queries, keys, values):
        contexts = F.scaled_dot_product_attention(queries, keys, values)
        scores = torch.matmul(queries, keys.mT).div(queries.shape[-1] ** 0.5)
        return contexts, scores.log_softmax(-1).exp()
