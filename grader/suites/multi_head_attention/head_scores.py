"""head_scores: hidden tests, known mistakes and right answers."""

from __future__ import annotations

import torch

from grader.suites.multi_head_attention.shared import (
    ALL_EQUAL,
    ALL_ONE,
    CHANGED,
    DETACHED,
    HEAD_DIM,
    T_DECISIVE,
    VIEW_REFUSED,
    B,
    H,
    T,
    decisive_queries_and_keys,
    dot_products,
)
from grader.testing.checks import expect_close, expect_same, expect_tensor, expect_true, expect_values
from grader.testing.draws import Fresh, numbers
from grader.testing.misconceptions import mistake, replace
from grader.testing.student import Student
from grader.testing.suite import Example, asking, contract, right_gradients, rule


@rule("each score is the dot product of a query with a key of the same head, not yet scaled")
def test_scores_are_dot_products(student: Student, fresh: Fresh) -> None:
    """Row i of a head's scores should contain the dot products of query i with every key of this head, not scaled."""
    for shape, dtype in (((B, H, T, HEAD_DIM), torch.float32), (ALL_ONE, torch.float64), (ALL_EQUAL, torch.float32)):
        queries, keys = fresh(*shape, dtype=dtype), fresh(*shape, dtype=dtype)
        expect_close(student.head_scores(queries, keys), dot_products(queries, keys), "The scores")


@rule("each head and each sequence is computed separately")
def test_heads_do_not_score_each_other(student: Student, fresh: Fresh) -> None:
    """If one head of one sequence changes, only its own scores should change, (T, T) of them."""
    queries, keys = fresh(B, H, T, HEAD_DIM), fresh(B, H, T, HEAD_DIM)
    before = expect_tensor(student.head_scores(queries, keys), (B, H, T, T))
    queries[1, 2], keys[1, 2] = fresh(T, HEAD_DIM), fresh(T, HEAD_DIM)
    after = expect_tensor(student.head_scores(queries, keys), (B, H, T, T))
    changed = ~torch.isclose(before.double(), after.double()).flatten(2).all(-1)  # (B, H)
    expect_true(bool(changed[1, 2]), "The head's own scores did not change.")
    expect_true(int(changed.sum()) == 1, "Scores of another head or sequence changed.")


@rule("queries and keys may be non-contiguous, for example the result of a transpose")
def test_scores_of_views(student: Student, fresh: Fresh) -> None:
    """The result should be correct if queries and keys are non-contiguous, for example after a transpose."""
    queries, keys = (fresh(B, T, H, HEAD_DIM).transpose(1, 2) for _ in range(2))
    expect_close(student.head_scores(queries, keys), dot_products(queries, keys), "The scores")


@rule("queries and keys are not changed")
def test_scoring_leaves_its_arguments_alone(student: Student, fresh: Fresh) -> None:
    """Each query should get its largest score with its matching key, and the call should not change its arguments."""
    arguments = decisive_queries_and_keys(fresh, B, H)
    scores, after = expect_values(student.head_scores.with_arguments(*arguments), 2)
    fitting = expect_tensor(scores, (B, H, T_DECISIVE, T_DECISIVE)).argmax(-1)
    expect_true(torch.equal(fitting, dot_products(*arguments).argmax(-1)), "Another key has the largest score.")
    for argument, before in zip(after, arguments, strict=True):
        expect_same(argument, before, "An argument was changed.")


test_contract = contract(
    asking("head_scores", lambda fresh, b=B, h=H, t=T, d=HEAD_DIM: [fresh(b, h, t, d) for _ in range(2)],
           lambda _: dot_products),
    right_gradients(
        "gradients_of_scores", "gradients flow to both",
        "Gradients of the scores should flow to the queries and to the keys."),
    example=Example({"queries": numbers(2, 3, 4, 5), "keys": numbers(2, 3, 4, 5, seed=1)},
                    also={"kept": "queries and keys are not changed"}),
)  # fmt: skip


# -- misconceptions ------------------------------------------------------------------------------------------------

MISCONCEPTIONS = [
    mistake("scores_scaled_already", replace("transpose(-2, -1)", "transpose(-2, -1) / keys.shape[-1] ** 0.5"),
        "The scores are already divided by √head_dim here. They should be plain dot products; the next exercise "
        "scales them once."),
    mistake("future_hidden_already",
        replace("return queries @ keys.transpose(-2, -1)", "scores = queries @ keys.transpose(-2, -1)\n    "
                "return scores.masked_fill(torch.ones_like(scores).triu(1).bool(), -torch.inf)"),
        "The future is already hidden here. This exercise computes every score; the next one hides some of them."),
    mistake("scores_made_weights",
        replace("queries @ keys.transpose(-2, -1)", "torch.softmax(queries @ keys.transpose(-2, -1), dim=-1)"),
        "Softmax is already applied here. A score may be any number; the next exercise turns scores into weights."),
    mistake("keys_ask_the_queries", replace("queries @ keys.transpose", "keys @ queries.transpose"),
        "Queries and keys are swapped: row i should belong to query i and contain its dot products with every key."),
    mistake("wrong_dimensions_transposed", replace("transpose(-2, -1)", "transpose(1, 2)"),
        "The shapes of queries and keys do not match in the product. Swap only the last two dimensions of the keys, "
        "tokens and features, with transpose(-2, -1). Then use `@`, which allows any dimensions in front."),
    mistake("keys_reshaped_instead_of_transposed",
        replace("transpose(-2, -1)", "reshape(*keys.shape[:2], keys.shape[3], keys.shape[2])"),
        "The keys are reshaped to (…, head_dim, T), not transposed: the shape is correct, but each column contains "
        "features of different keys."),
    mistake("multiplied_entry_by_entry", replace("queries @ keys.transpose(-2, -1)", "queries * keys"),
        "`*` multiplies entry by entry. A dot product sums over the features: `@` computes it for every query with "
        "every key."),
    mistake("keys_of_all_heads", replace("keys.transpose", "keys.sum(dim=1, keepdim=True).transpose"),
        "A head's queries are compared with the keys of all heads. Heads are independent of each other here: compare "
        "only within the head."),
    mistake("heads_viewed_as_a_batch",
        replace("queries @ keys.transpose(-2, -1)",
                "(queries.view(-1, *queries.shape[2:]) @ keys.view(-1, *keys.shape[2:]).mT)"
                ".view(*queries.shape[:3], -1)"), VIEW_REFUSED),
    mistake("scored_without_gradients", replace("queries @ keys", "queries.detach() @ keys.detach()"), DETACHED),
    mistake("keys_transposed_in_place", replace("transpose(", "transpose_("), CHANGED),
    mistake("features_compared", replace("queries @ keys.transpose(-2, -1)", "queries.transpose(-2, -1) @ keys"),
        "Features are compared with features: the scores are (…, head_dim, head_dim). A token looks at tokens, so "
        "transpose only the keys."),
]  # fmt: skip


# -- answers -------------------------------------------------------------------------------------------------------


def wrong_answers():
    """Mistakes without a name, and answers with two. Never run here: the audit reads them."""

    import torch.nn.functional as F

    def takes_distances(queries, keys):
        return -torch.cdist(queries, keys)

    def masks_with_zeros(queries, keys):
        return (queries @ keys.mT).tril()

    def normalizes_only_the_keys(queries, keys):
        return queries @ F.normalize(keys, dim=-1).mT

    def averages_the_heads(queries, keys):
        return (queries @ keys.mT).mean(dim=1, keepdim=True).expand(-1, queries.size(1), -1, -1)

    def adds_instead_of_multiplying(queries, keys):
        return (queries.unsqueeze(3) + keys.unsqueeze(2)).sum(-1)

    def changes_the_queries(queries, keys):
        queries *= keys.size(-1) ** -0.5
        return queries @ keys.mT


def right_answers():
    """Answers in other styles. Never run here: the audit reads them."""

    from torch import Tensor

    def by_the_book(queries: Tensor, keys: Tensor) -> Tensor:
        return queries @ keys.transpose(2, 3)

    def einsum(queries, keys):
        return torch.einsum("bhqd,bhkd->bhqk", queries, keys)

    def fused(queries, keys):
        flat = torch.bmm(queries.flatten(0, 1), keys.flatten(0, 1).transpose(1, 2))  # (B · H, T, T)
        return flat.unflatten(0, queries.shape[:2])

    def loops(queries, keys):
        rows = []
        for q_heads, k_heads in zip(queries, keys):
            rows.append(torch.stack([q.mm(k.t()) for q, k in zip(q_heads, k_heads)]))
        return torch.stack(rows)

    def one_on_another(queries, keys):
        return torch.matmul(queries, keys.mT)

    def ready_made(queries, keys):
        return (queries.unsqueeze(3) * keys.unsqueeze(2)).sum(dim=4)
