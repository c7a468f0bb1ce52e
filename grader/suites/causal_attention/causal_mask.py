"""causal_mask: hidden tests, known mistakes and right answers."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import torch

from grader.suites.causal import future
from grader.suites.causal_attention.shared import T
from grader.testing.checks import expect_close, expect_dtype, expect_tensor, expect_true
from grader.testing.misconceptions import mistake, replace
from grader.testing.probes import Draw, Property, probe
from grader.testing.student import Student
from grader.testing.suite import rule


@rule("row i, column j is True if j comes after i, and False everywhere else")
def test_the_future_is_marked(student: Student) -> None:
    """The mask (T, T) should be True above the diagonal, and False on the diagonal and below."""
    expect_close(student.causal_mask(T), future(T), "The entries")


@rule("its dtype is torch.bool")
def test_the_mask_is_bool(student: Student) -> None:
    """The mask should be of dtype torch.bool, and hide the later of any two tokens from the other."""
    mask = expect_tensor(student.causal_mask(T), (T, T))
    expect_dtype(mask, torch.bool)
    others = ~torch.eye(T, dtype=torch.bool)
    expect_true(bool((mask ^ mask.mT)[others].all()), "Two tokens both see each other, or neither sees the other.")


@rule("any number of tokens, including one")
def test_a_mask_for_any_number_of_tokens(student: Student) -> None:
    """For any number of tokens, including a single one, the mask should be (T, T), with the future marked."""
    for count in (1, 3, 9):
        expect_close(student.causal_mask(count), future(count), "The entries")


# -- misconceptions ------------------------------------------------------------------------------------------------

MISCONCEPTIONS = [
    mistake("past_marked", replace("triu(diagonal=1)", "tril(diagonal=-1)"),
        "The past is marked instead of the future. A row belongs to a query, and the future is to the right of the "
        "diagonal."),
    mistake("visible_marked", replace("triu(diagonal=1)", "tril()"),
        "The mask marks what may be seen. It should mark what to hide: True if a token must not look."),
    mistake("diagonal_marked_too", replace("diagonal=1", "diagonal=0"),
        "The diagonal is marked too, so a token would not see itself, and the first token would see nothing. Mark "
        "only later tokens."),
    mistake("next_token_open", replace("diagonal=1", "diagonal=2"),
        "The next token is not marked: the marks begin one position too late. The future begins directly to the "
        "right of the diagonal."),
    mistake("float_mask", replace("triu(diagonal=1)", "triu(diagonal=1).float()"),
        "The mask contains ones and zeros as floats. `masked_fill` and `torch.where` need True and False: convert it "
        "with `.bool()`."),
    mistake("minus_infinity_mask",
        replace("torch.ones(num_tokens, num_tokens, dtype=torch.bool)",
                "torch.full((num_tokens, num_tokens), -torch.inf)"),
        "The mask already contains minus infinity, as if it were added to the scores. Here it only says which scores "
        "to hide: True or False."),
    mistake("mask_for_the_worked_example", replace("num_tokens, num_tokens", "6, 6"),
        "The mask always has the size of the worked example, six tokens. Texts have different lengths: use "
        "num_tokens."),
    mistake("lonely_mask_squeezed", replace("triu(diagonal=1)", "triu(diagonal=1).squeeze()"),
        "`squeeze()` removes every dimension of size one, so the mask of a single token is not a matrix."),
    mistake("visible_marked_with_floats", replace("triu(diagonal=1)", "tril().float()"),
        "The mask contains ones, as floats, for what may be seen. It should mark what to hide, with True: the part "
        "above the diagonal."),
]  # fmt: skip


# -- probes --------------------------------------------------------------------------------------------------------


@probe(draws=60)
def mask_of_the_future(unit: Any, draw: Draw) -> Iterator[Property]:
    mask = unit.causal_mask(draw.number + 1)
    yield "the dtype", str(mask.dtype)
    yield "the values", mask


# -- answers -------------------------------------------------------------------------------------------------------


def wrong_answers():
    """Mistakes without a name, and answers with two. Never run here: the audit reads them."""

    def past_marked__and__float_mask(num_tokens):
        return torch.tensor([[float(j < i) for j in range(num_tokens)] for i in range(num_tokens)])

    def marked_above_the_other_diagonal(num_tokens):
        return torch.ones(num_tokens, num_tokens).triu(1).flip(1).bool()

    def only_the_next_token_marked(num_tokens):
        return torch.ones(num_tokens - 1).diag(1).bool()

    def one_token_too_many(num_tokens):
        place = torch.arange(num_tokens + 1)
        return place[None] > place[:, None]


def right_answers():
    """Answers in other styles. Never run here: the audit reads them."""

    def building_on(num_tokens):
        return ~torch.tril(torch.ones(num_tokens, num_tokens)).bool()

    def by_hand(num_tokens):
        return torch.tensor([[column > row for column in range(num_tokens)] for row in range(num_tokens)])

    def einsum(num_tokens: int) -> torch.Tensor:
        return torch.triu(torch.ones(num_tokens, num_tokens), diagonal=1) == 1

    def fused(num_tokens):
        places = torch.arange(num_tokens)
        return torch.greater(places[None, :], places[:, None])
