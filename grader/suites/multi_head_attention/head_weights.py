"""head_weights: hidden tests, known mistakes and right answers."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import torch

from grader.suites.attention_mistakes import (
    FIFTH,
    NO_SOFTMAX,
    ONLY_FUTURE_SEEN,
    SCALED_LATE,
    SOFTMAX_OVER_QUERIES,
    SOFTMAX_TWICE,
    TEN_THOUSAND,
    ZEROS_HIDDEN,
)
from grader.suites.attention_probes import is_seen
from grader.suites.causal import LOW_SCORES, expect_hidden, future
from grader.suites.multi_head_attention.shared import (
    ALL_ONE,
    BY_TOKENS,
    DETACHED,
    DIAGONAL_HIDDEN,
    FUTURE_VISIBLE,
    HALF,
    HEAD_DIM,
    NEXT_VISIBLE,
    NO_ROOT,
    PAST_HIDDEN,
    SOFTMAX_OVER_HEADS,
    T_DECISIVE,
    UNSCALED,
    WEIGHTS_MASKED,
    ZERO_AFTER_SOFTMAX,
    ZERO_BEFORE_SOFTMAX,
    B,
    H,
    T,
    decisive_queries_and_keys,
    dot_products,
    weighing,
)
from grader.testing.checks import expect_close, expect_same, expect_tensor, expect_true, expect_values
from grader.testing.draws import Fresh, numbers
from grader.testing.misconceptions import mistake, replace
from grader.testing.probes import Draw, Property, probe
from grader.testing.student import Student
from grader.testing.suite import Example, asking, contract, right_gradients, rule


@rule("no token gives weight to a later one")
def test_the_future_gets_no_weight(student: Student, fresh: Fresh) -> None:
    """Above the diagonal every weight should be zero; elsewhere the largest score should get the largest weight."""
    scores = 3 * fresh(B, H, T, T)
    best = weighing(student)(scores.double(), HEAD_DIM).argmax(-1)
    weights = expect_tensor(student.head_weights(scores, HEAD_DIM), (B, H, T, T)).double()
    expect_close(weights.triu(1), torch.zeros(B, H, T, T), "The weights of later tokens")
    expect_true(torch.equal(weights.argmax(-1), best), "A key other than the best one has the largest weight.")


@rule("the weights are the softmax of scores / √head_dim over the keys that are not hidden")
def test_weights_are_the_softmax_of_scaled_scores(student: Student, fresh: Fresh) -> None:
    """The weights should be the softmax of scores / √head_dim over each token and the tokens before it."""
    for shape in ((B, H, T, T), ALL_ONE):
        scores = 3 * fresh(*shape)
        scores[..., 2:3, 1:2] = 0.0  # a score like any other: a mask that is found by its zeros hides it too
        expected = weighing(student)(scores.double(), HEAD_DIM)
        expect_close(student.head_weights(scores, HEAD_DIM), expected, "The weights")


@rule("the weights are also correct if a score of the future is far above the others")
def test_a_far_larger_score_of_the_future(student: Student, fresh: Fresh) -> None:
    """If a score of the future is very large, the other weights should still be correct."""
    scores = dot_products(*decisive_queries_and_keys(fresh, B, H))
    # A softmax over all keys would give the visible ones zero in float32, even if the scores are divided by 15.
    scores = scores.masked_fill(future(T_DECISIVE), 2000.0)
    expected = weighing(student)(scores.double(), HEAD_DIM)
    expect_close(student.head_weights(scores, HEAD_DIM), expected, "The weights")


@rule(LOW_SCORES)
def test_the_future_gets_no_weight_beside_very_low_scores(student: Student, fresh: Fresh) -> None:
    """If all visible scores are very low, the future should still have no weight."""
    for width, expect in ((0, expect_close), (HEAD_DIM, expect_hidden)):
        scores = dot_products(*decisive_queries_and_keys(fresh, B, H, width))
        expected = weighing(student)(scores.double(), HEAD_DIM)
        expect(student.head_weights(scores, HEAD_DIM), expected)


@rule("the scores are not changed")
def test_weighing_leaves_the_scores_alone(student: Student, fresh: Fresh) -> None:
    """The weights should be correct, and the call should not change the scores."""
    scores = dot_products(*decisive_queries_and_keys(fresh, B, H))
    expected = weighing(student)(scores.double(), HEAD_DIM)
    weights, after = expect_values(student.head_weights.with_arguments(scores, HEAD_DIM), 2)
    expect_close(weights, expected, "The weights")
    expect_same(after[0], scores, "The scores were changed.")


test_contract = contract(
    asking("head_weights", lambda fresh: [fresh(B, H, T, T), HEAD_DIM], weighing),
    right_gradients(
        "gradients_of_weights", "gradients flow to the scores", "Gradients of the weights should flow to the scores."),
    # The scores of the future are up to 10,000 ahead.
    probe=lambda fresh, b=B, h=H, t=T, d=HEAD_DIM: [
        fresh(b, h, t, t) + 10.0 ** fresh.order(5)[0] * torch.ones(t, t).triu(1), d],
    example=Example({"scores": numbers(1, 2, 4, 4), "head_dim": 5}, also={"kept": "the scores are not changed"}),
)  # fmt: skip


# -- misconceptions ------------------------------------------------------------------------------------------------

MISCONCEPTIONS = [
    mistake("scaling_forgotten", replace(" / head_dim**0.5", ""), UNSCALED),
    mistake("divided_by_head_dim_itself", replace("head_dim**0.5", "head_dim"), NO_ROOT),
    mistake("half_instead_of_root", replace("head_dim**0.5", "head_dim*0.5"), HALF),
    mistake("scaled_after_softmax", replace(" / head_dim**0.5, dim=-1)", ", dim=-1) / head_dim**0.5"), SCALED_LATE),
    mistake("future_visible", replace("masked / ", "scores / "), FUTURE_VISIBLE),
    mistake("past_hidden", replace("triu(diagonal=1)", "tril(diagonal=-1)"), PAST_HIDDEN),
    mistake("diagonal_hidden", replace("diagonal=1", "diagonal=0"), DIAGONAL_HIDDEN),
    mistake("diagonal_lowered", replace("diagonal=1", "diagonal=0").replace("-torch.inf", "-1e9"),
        "The diagonal is hidden too, so the first token has no key left. All its scores are equal, so it gives every "
        "token the same weight, also later ones. A token sees itself: use `diagonal=1`."),
    mistake("next_token_visible", replace("diagonal=1", "diagonal=2"), NEXT_VISIBLE),
    mistake("future_zero_before_softmax", replace("-torch.inf", "0"), ZERO_BEFORE_SOFTMAX),
    mistake("future_zero_after_softmax", replace("masked / ", "scores / ").replace("dim=-1)", "dim=-1).tril()"),
        ZERO_AFTER_SOFTMAX),
    mistake("renormalised_after_softmax",
        replace("return torch.softmax(masked / head_dim**0.5, dim=-1)",
                "seen = torch.softmax(scores / head_dim**0.5, dim=-1).tril()\n    "
                "return seen / seen.sum(dim=-1, keepdim=True)"),
        "The future is removed after softmax, and the rows are divided by the rest. If the future has nearly all the "
        "weight, the rest is nearly zero. Hide it before softmax."),
    mistake("zero_scores_hidden", replace("scores.masked_fill(future", "scores.tril().masked_fill(scores.tril() == 0"),
        ZEROS_HIDDEN),
    mistake("minus_ten_thousand", replace("-torch.inf", "-1e4"), TEN_THOUSAND),
    mistake("scaled_by_number_of_tokens", replace("head_dim**0.5", "num_tokens**0.5"), BY_TOKENS),
    mistake("softmax_over_queries", replace("dim=-1", "dim=-2"), SOFTMAX_OVER_QUERIES),
    mistake("softmax_over_heads", replace("dim=-1", "dim=1"), SOFTMAX_OVER_HEADS),
    mistake("softmax_over_the_batch", replace("dim=-1", "dim=0"),
        "Softmax runs over the batch, so independent sequences compete. The keys lie along the last dimension, -1."),
    mistake("softmax_forgotten",
        replace("torch.softmax(masked / head_dim**0.5, dim=-1)", "(scores / head_dim**0.5).tril()"), NO_SOFTMAX),
    mistake("mask_or_sums_do_not_fit", replace("num_tokens, num_tokens", "scores.shape[1], scores.shape[1]"),
        "A tensor does not fit the scores. A mask is (T, T), the same for all heads, with T from the end of the "
        "scores, and holds True and False. The sums of a softmax by hand need `keepdim=True`."),
    mistake("weighed_without_gradients", replace("scores.masked_fill", "scores.detach().masked_fill"), DETACHED),
    mistake("scores_masked_in_place", replace("masked_fill(", "masked_fill_("),
        "The caller's scores were changed. `masked_fill_`, `/=` and an assignment to a part of a tensor change the "
        "tensor itself; `masked_fill` and `/` return a new one."),
    mistake("fifth_power", replace("head_dim**0.5", "head_dim**5"), FIFTH),
    mistake("softmax_twice", replace("dim=-1)", "dim=-1).softmax(-1)"), SOFTMAX_TWICE),
    mistake("weights_masked_with_minus_infinity",
        replace("scores.masked_fill", "torch.softmax(scores / head_dim**0.5, -1).masked_fill")
        .replace("torch.softmax(masked / head_dim**0.5, dim=-1)", "masked"), WEIGHTS_MASKED),
    mistake("only_the_future_seen", replace("masked_fill(future", "masked_fill(~future"), ONLY_FUTURE_SEEN),
]  # fmt: skip


# -- probes --------------------------------------------------------------------------------------------------------


@probe(draws=5)
def future_beside_low_scores(unit: Any, draw: Draw) -> Iterator[Property]:
    num_tokens, head_dim = draw.number + 2, draw.size()
    scores = torch.full((1, 2, num_tokens, num_tokens), -10_000 * head_dim**0.5, dtype=torch.float64)
    yield (
        "whether the future has weight if scores are low",
        is_seen(unit.head_weights(scores, head_dim).triu(diagonal=1)),
    )
    yield "whether a score of zero has weight", bool(unit.head_weights(0 * scores, head_dim).isfinite().all())


# -- answers -------------------------------------------------------------------------------------------------------


def wrong_answers():
    """Mistakes without a name, and answers with two. Never run here: the audit reads them."""

    import torch.nn.functional as F

    def _future(scores):
        return torch.ones(scores.shape[-2:]).triu(1) == 1

    def scaling_forgotten__and__future_visible(scores, head_dim):
        return F.softmax(scores, dim=-1)

    def divided_by_head_dim_itself__and__scores_masked_in_place(scores, head_dim):
        return torch.softmax(scores.masked_fill_(_future(scores), -torch.inf) / head_dim, dim=-1)

    def cube_root(scores, head_dim):
        return F.softmax(scores.masked_fill(_future(scores), -torch.inf) / head_dim ** (1 / 3), dim=-1)

    def sees_only_the_last_three(scores, head_dim):
        far = torch.ones(scores.shape[-2:]).tril(-3) == 1
        return F.softmax(scores.masked_fill(_future(scores) | far, -torch.inf) / head_dim**0.5, dim=-1)

    def gives_logarithms(scores, head_dim):
        return F.log_softmax(scores.masked_fill(_future(scores), -1e9) / head_dim**0.5, dim=-1)

    def argmax(scores, head_dim):
        return F.one_hot(scores.masked_fill(_future(scores), -torch.inf).argmax(-1), scores.size(-1)).float()

    def softmax_twice(scores, head_dim):
        once = F.softmax(scores.masked_fill(_future(scores), -torch.inf) / head_dim**0.5, dim=-1)
        return F.softmax(once.masked_fill(_future(scores), -torch.inf), dim=-1)

    def absolute_scores(scores, head_dim):
        return F.softmax(scores.abs().masked_fill(_future(scores), -torch.inf) / head_dim**0.5, dim=-1)

    def expects_three_dimensions(scores, head_dim):
        heads, t, _ = scores.shape
        return F.softmax(scores.masked_fill(torch.ones(t, t).triu(1) == 1, -torch.inf) / head_dim**0.5, dim=-1)


def right_answers():
    """Answers in other styles. Never run here: the audit reads them."""

    import math
    import warnings

    import torch.nn.functional as F
    from torch import Tensor

    def by_the_book(scores: Tensor, head_dim: int) -> Tensor:
        num_tokens = scores.shape[-1]
        mask_bool = torch.triu(torch.ones(num_tokens, num_tokens), diagonal=1).bool()
        attn_scores = scores.clone()
        attn_scores.masked_fill_(mask_bool, -torch.inf)
        return torch.softmax(attn_scores / head_dim**0.5, dim=-1)

    def _is_past(t):
        places = torch.arange(t)
        return places[:, None] >= places[None, :]

    def einsum(scores, head_dim):
        scores = torch.where(_is_past(scores.size(-1)), scores, scores.new_tensor(-1e9))
        return F.softmax(scores * (1 / math.sqrt(head_dim)), dim=3)

    def _hiding(tokens, dtype=torch.float32):
        return torch.full((tokens, tokens), torch.finfo(dtype).min, dtype=dtype).triu(1)

    def fused(scores, head_dim):
        return ((scores + _hiding(scores.shape[-1], scores.dtype)) * head_dim**-0.5).softmax(-1)

    def _weights_of(scores, size):
        """(T, T) to the same, one row after the other."""
        rows = []
        for i in range(len(scores)):
            seen = scores[i, : i + 1].double() / size**0.5
            shares = torch.exp(seen - seen.max())
            rows.append(torch.cat([shares / shares.sum(), torch.zeros(len(scores) - i - 1, dtype=torch.float64)]))
        return torch.stack(rows).to(scores.dtype)

    def loops(scores, head_dim):
        warnings.warn("this takes a while")
        return torch.stack([torch.stack([_weights_of(head, head_dim) for head in heads]) for heads in scores])

    def causal_mask(num_tokens):
        return torch.ones(num_tokens, num_tokens).triu(1).bool()

    def mask_then_softmax(scores, d_k):
        return torch.softmax(scores.masked_fill(causal_mask(scores.shape[-1]), -torch.inf) / d_k**0.5, dim=-1)

    def one_on_another(scores, head_dim):
        return mask_then_softmax(scores, head_dim)

    def ready_made(scores, head_dim):
        logits = scores / torch.sqrt(torch.tensor(head_dim, dtype=scores.dtype))
        logits = logits + torch.triu(torch.full_like(logits, float("-inf")), 1)
        return (logits - torch.logsumexp(logits, dim=-1, keepdim=True)).exp()
