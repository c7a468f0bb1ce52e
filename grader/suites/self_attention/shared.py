"""Hidden tests of unit 2, self-attention with trainable weights. Each test or case is one criterion.

Expected values are computed here in float64, by other means than in the course's solution.

A wrong scale should not cost every point, and only attention should earn one. So the tests of the number of queries or
tokens, the dtype, the arguments and the order of the results use decisive inputs: one key fits each query so well that
it gets all the weight, whatever the scores are divided by. An answer that divides by a wrong number still passes. An
answer that does not compare queries with keys cannot find this key.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import torch

from grader.suites.attention_mistakes import HALF, SOFTMAX_OVER_QUERIES, SUMS_IN_A_ROW
from grader.testing.checks import expect_close, expect_true
from grader.testing.draws import Fresh
from grader.testing.misconceptions import Replacements, replace
from grader.testing.student import RemoteObject, Student
from grader.testing.suite import Asking, Given

# All different, so that mixed-up dimensions show. No d_k is 4: half of 4 is also its square root. No
# size has the rounded root of d_k as its root.
B, H, D_V, T, D_K, T_K = 2, 3, 10, 5, 6, 7
D_IN, D_OUT = 4, 7
# The width of decisive inputs: at least as many features as tokens.
D_WIDE = 8
MATRICES = ("W_query", "W_key", "W_value")
Matrices = dict[str, torch.Tensor]


def scaled_scores(queries: torch.Tensor, keys: torch.Tensor) -> torch.Tensor:
    """(…, T_q, d_k) and (…, T_k, d_k) to (…, T_q, T_k)."""
    return torch.einsum("...qd,...kd->...qk", queries.double(), keys.double()) / math.sqrt(keys.shape[-1])


def attention(queries: torch.Tensor, keys: torch.Tensor, values: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """Return the contexts (…, T_q, d_v) and the weights (…, T_q, T_k)."""
    scores = scaled_scores(queries, keys)
    weights = (scores - scores.logsumexp(-1, keepdim=True)).exp()
    return torch.einsum("...qk,...kv->...qv", weights, values.double()), weights


def projected(inputs: torch.Tensor, matrix: torch.Tensor) -> torch.Tensor:
    """(T, d_in) and (d_in, d_out) to (T, d_out)."""
    return torch.einsum("ti,io->to", inputs.double(), matrix.double())


def projections(
    inputs: torch.Tensor, W_query: torch.Tensor, W_key: torch.Tensor, W_value: torch.Tensor
) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """(T, d_in) and three (d_in, d_out) to three (T, d_out)."""
    return projected(inputs, W_query), projected(inputs, W_key), projected(inputs, W_value)


def self_attention(
    student: Student, inputs: torch.Tensor, W_query: torch.Tensor, W_key: torch.Tensor, W_value: torch.Tensor
) -> torch.Tensor:
    """(T, d_in) and three (d_in, d_out) to (T, d_out)."""
    project = student.substitute("project_qkv", projections)
    attend = student.substitute("scaled_dot_product_attention", attention)
    contexts, _ = attend(*project(inputs.double(), W_query.double(), W_key.double(), W_value.double()))
    return contexts


# FITTING is the dot product of a query with the key that fits it, OTHER the one with any other key. The largest number
# by which learners are known to divide the scores is 2 d_k, at most 14 here. Then the fitting key is still ahead by
# 240 / 14 = 17: all other keys together have a weight below 6 e⁻¹⁷ = 3e-7 and change a context by at most a few tenths
# of ABSOLUTE. Softmax does not overflow even if an answer does not subtract the maximum, with or without scaling:
# exp(80) is finite in float32, unlike exp(89), and exp(-160) is zero.
FITTING, OTHER = 80.0, -160.0


def fitting_keys(fresh: Fresh, queries_count: int, keys_count: int) -> torch.Tensor:
    """Return the index of the key that fits each query, (T_q,): the query's own, shifted at random, never the last.

    It is never the query's own index if there are at least two other keys to choose from. Some keys fit no query,
    others fit two, so that softmax over the queries, or with queries and keys swapped, gives other weights.
    """
    others = max(keys_count - 2, 1)
    return (torch.arange(1, queries_count + 1) + fresh.order(others)[0]) % max(keys_count - 1, 1)


def queries_and_fitting_keys(
    fresh: Fresh, queries_count: int, keys_count: int, d_k: int, fitting: float = FITTING, other: float = OTHER
) -> tuple[torch.Tensor, torch.Tensor]:
    """Return queries (T_q, d_k) and keys (T_k, d_k) in float64 whose dot products are `fitting` and `other`.

    The smaller of T_q and T_k is at most d_k.
    """
    scores = torch.full((queries_count, keys_count), other, dtype=torch.float64)
    scores[range(queries_count), fitting_keys(fresh, queries_count, keys_count)] = fitting
    # With r the smaller count: scores = left (T_q, r) · sizes (r,) · right (r, T_k). Queries and keys each get the root
    # of the sizes, and both use the same r orthonormal directions of d_k dimensions.
    left, sizes, right = torch.linalg.svd(scores, full_matrices=False)
    directions = fresh.rotation(d_k)[: len(sizes)]
    return left * sizes.sqrt() @ directions, right.mT * sizes.sqrt() @ directions


def decisive_tokens(
    fresh: Fresh, count: int, dtype: torch.dtype = torch.float32
) -> tuple[torch.Tensor, dict[str, torch.Tensor]]:
    """Return inputs (T, D_WIDE) and matrices (D_WIDE, d_out) that project them to decisive queries and keys."""
    inputs = fresh.rotation(D_WIDE)[:count]
    queries, keys = queries_and_fitting_keys(fresh, count, count, D_OUT)
    # The tokens are orthonormal, so inputs @ inputs.mT, (T, T), is the identity.
    matrices = {"W_query": inputs.mT @ queries, "W_key": inputs.mT @ keys, "W_value": fresh(D_WIDE, D_OUT)}
    return inputs.to(dtype), {name: matrix.to(dtype) for name, matrix in matrices.items()}


def fresh_matrices(fresh: Fresh, d_in: int = D_IN, d_out: int = D_OUT) -> dict[str, torch.Tensor]:
    """Return W_query, W_key and W_value, each (d_in, d_out), so small that softmax is not close to a maximum."""
    return {name: fresh(d_in, d_out) / d_in**0.5 for name in MATRICES}


# d_in and d_out. The second pair is equal: if they differ, values without a projection have the wrong shape.
WIDTHS = ((D_IN, D_OUT), (T, T))


def expect_deterministic(first: object, second: object, reason: str) -> None:
    """Expect two results of the same computation to be equal, if both are tensors of the same shape."""
    if isinstance(first, torch.Tensor) and isinstance(second, torch.Tensor) and first.shape == second.shape:
        expect_true(torch.allclose(first.double(), second.double(), equal_nan=True), reason)


def output_of(attention: RemoteObject, inputs: torch.Tensor) -> object:
    """Return the module's output, which should be the same in two calls."""
    output, again = attention.repeated(2, inputs)
    expect_deterministic(output, again, "Two calls with the same inputs give different outputs.")
    return output


def attending(exercise: str, set_weights: Callable[[RemoteObject, Matrices], None]) -> Asking:
    """Return a function that draws a call of a module with decisive tokens."""

    def ask(student: Student, fresh: Fresh, dtype: torch.dtype = torch.float32) -> Given:
        module = student.queue(exercise, D_WIDE, D_OUT)
        if dtype == torch.float64:
            module.to(dtype)
        inputs, matrices = decisive_tokens(fresh, T, dtype)
        set_weights(module, matrices)
        output_of(module, inputs)
        right = self_attention(student, inputs, **matrices)
        return Given(module, [inputs], lambda output: expect_close(output, right, "The outputs"))

    return ask


UNSCALED = (
    "The scores are not scaled. With wider queries and keys the dot products become larger. Divided by √d_k they keep "
    "a variance near 1, so that softmax does not give all the weight to one key."
)
NO_ROOT = (
    "The scores are divided by d_k itself, or twice by its root, which is the same. Their standard deviation is √d_k: "
    "divide once by √d_k to bring it to 1."
)
MULTIPLIED = "The scores are multiplied by √d_k, so large scores become even larger. Divide by √d_k."
SOFTMAX_TWICE = (
    "Softmax is applied twice. The second softmax gets only numbers between zero and one, so all its weights are "
    "nearly equal."
)
SHAPES = (
    "The shapes do not match in a product. Write down the shape of each factor. The scores need the transposed keys on "
    "the right, and then the weights, (T_q, T_k), are on the left of the values."
)
KEYS_WITH_KEYS = "The queries are made but never used: keys are compared with keys. Compare each query with every key."
INPUTS_COMPARED = (
    "The inputs are compared with each other, as in unit 1. Here the dot products are between queries and keys, which "
    "are made from the inputs."
)
BY_TOKENS = (
    "The scores are divided by the root of the number of tokens. A dot product sums over features, so it grows with "
    "the number of features, d_k."
)
SCALED_LATE = "The weights are divided after softmax, so they no longer sum to one. Divide the scores, before softmax."
KEYS_HANDED_OVER = "The weights mix the keys. Keys are only compared with queries. The weights should mix the values."
ROLES_SWAPPED = (
    "Queries and keys are swapped. Row i of the scores belongs to query i and contains its dot products with every key."
)
KEYS_UNUSED = (
    "W_key is made but never used: queries are compared with queries. Compare each query with the keys, inputs @ W_key."
)


def begun_with(line: str) -> Replacements:
    """Insert a line before the first one, which computes the queries."""
    return replace("queries =", f"{line}\n    queries =")


def weighed(weights: str) -> Replacements:
    """Compute the contexts in the module itself, with these weights."""
    return replace(
        "contexts, _ = scaled_dot_product_attention(queries, keys, values)", f"contexts = {weights} @ values"
    )


# Mistakes of both modules: the beginnings of their names, the changes and the sentences.
IN_BOTH_MODULES = [
    ("shapes_do_not_match", weighed("(queries @ keys / keys.shape[-1] ** 0.5).softmax(-1)"), SHAPES),
    ("keys_and_values_swapped", replace("(queries, keys, values)", "(queries, values, keys)"),
        "Keys and values are swapped. A key is only compared with queries. The value is what a token gives to the "
        "tokens that find it."),
    ("keys_ask_the_queries", replace("attention(queries, keys,", "attention(keys, queries,"), ROLES_SWAPPED),
    ("half_instead_of_root", weighed("(queries @ keys.mT / keys.shape[-1] * 0.5).softmax(-1)"), HALF),
    ("scaling_forgotten", weighed("(queries @ keys.mT).softmax(-1)"), UNSCALED),
    ("divided_by_d_k_itself", weighed("(queries @ keys.mT / keys.shape[-1]).softmax(-1)"), NO_ROOT),
    ("scaled_by_number_of_tokens", weighed("(queries @ keys.mT / len(keys) ** 0.5).softmax(-1)"),
        "The scores are divided by the root of the number of tokens. A dot product sums over features, so it grows "
        "with the number of features, d_k."),
    ("scaled_by_d_in", weighed("(queries @ keys.mT / inputs.shape[-1] ** 0.5).softmax(-1)"),
        "The scores are divided by √d_in. The dot products are between projected tokens, and their width is d_out."),
    ("softmax_over_queries", weighed("(queries @ keys.mT / keys.shape[-1] ** 0.5).softmax(0)"), SOFTMAX_OVER_QUERIES),
    ("multiplied_by_root", weighed("(queries @ keys.mT * keys.shape[-1] ** 0.5).softmax(-1)"), MULTIPLIED),
    ("softmax_twice", weighed("(queries @ keys.mT / keys.shape[-1] ** 0.5).softmax(-1).softmax(-1)"), SOFTMAX_TWICE),
    ("sums_without_keepdim",
        weighed("(lambda powers: powers / powers.sum(-1))(torch.exp(queries @ keys.mT / keys.shape[-1] ** 0.5))"),
        SUMS_IN_A_ROW),
    ("keys_ask_each_other", weighed("(keys @ keys.mT / keys.shape[-1] ** 0.5).softmax(-1)"), KEYS_WITH_KEYS),
    ("inputs_compared", weighed("(inputs @ inputs.mT / keys.shape[-1] ** 0.5).softmax(-1)"), INPUTS_COMPARED),
    ("future_hidden",
        weighed("(queries @ keys.mT / keys.shape[-1] ** 0.5"
                " + torch.full_like(queries @ keys.mT, -torch.inf).triu(1)).softmax(-1)"),
        "Each query cannot see the keys after its own position. That is causal attention, the next unit. Here every "
        "token sees every token."),
    ("both_results", replace("contexts, _ =", "contexts ="),
        "The module returns contexts and weights. The next layer needs one tensor: return only the contexts."),
    ("lonely_token_squeezed", replace("return contexts", "return contexts.squeeze()"),
        "`squeeze()` removes every dimension of size one, so a single token loses its row."),
]  # fmt: skip
