"""attention_dropout: hidden tests, known mistakes and right answers."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import torch

from grader.suites.causal import expect_survivors, softmax
from grader.suites.causal_attention.shared import B, H, softmax_weights
from grader.testing.behaviour import generator_draws, refusals
from grader.testing.checks import (
    ABSOLUTE,
    RELATIVE,
    expect_tensor,
    expect_true,
    expect_values,
    oracle_gradients,
)
from grader.testing.draws import Fresh, expect_count, expect_own_draws, numbers
from grader.testing.misconceptions import mistake, replace
from grader.testing.probes import PROBABILITIES, Draw, Property, alike, draws_from_generator, probe, refusal, shares
from grader.testing.student import Student
from grader.testing.suite import IN_BOTH_DTYPES, Example, asking, contract, kept_arguments, right_results, rule

# For p = 0.5, 400 entries are all kept, all dropped, or equal in two draws with a probability of 2^-400 each. A wrong
# answer with one draw for each of 20 rows or columns keeps or drops all with a probability of 2^-19, so its diagnosis
# does not depend on luck.
SIDE = 20
# Enough entries for a count: the tolerance 3 √n is 3 % of them.
MANY = 100
# An answer with one draw for a whole call keeps everything, or nothing, in all calls with probability 0.6^20 = 4e-5.
DRAWS = 20
# Few entries, for answers that keep where `torch.rand` is above p = 0: it is exactly 0 once in 2^24 draws, so for one
# of 16 entries with a probability of 9.6e-7.
FEW = 4


def expect_kept(result: object, weights: torch.Tensor) -> torch.Tensor:
    """Return which entries were kept, as ones and zeros. Expect some of them to be kept, but not all."""
    found = expect_tensor(result, weights.shape)
    kept = found != 0
    expect_true(not torch.allclose(found.double(), weights.double(), RELATIVE, ABSOLUTE**2), "Nothing was dropped.")
    # A single check for both: if an answer draws once for all entries, it is random which of the two happens.
    expect_true(bool(kept.any()) and not bool(kept.all()), "All weights were dropped, or none.")
    return kept.double()


def expect_kept_apart(kept: torch.Tensor) -> None:
    """Expect that no whole rows or columns (MANY, MANY) are kept or dropped: a count would be random then."""
    same_column, same_row = kept[0::2] == kept[1::2], kept[:, 0::2] == kept[:, 1::2]
    expect_own_draws(
        kept, {"Whole columns of weights are dropped.": same_column, "Whole rows of weights are dropped.": same_row}
    )


def expect_weights_kept(result: object, weights: torch.Tensor) -> None:
    """Expect some entries to be kept, and the largest one in each row at the largest kept weight of the row."""
    kept = expect_kept(result, weights)
    largest = (weights * kept).amax(-1, keepdim=True)
    found = weights.gather(-1, expect_tensor(result).double().argmax(-1, keepdim=True))
    has_kept = kept.any(-1)
    expect_true(torch.allclose(found[has_kept].double(), largest[has_kept]), "The kept values are not the weights.")


@rule("each weight is kept with probability 1 - p")
def test_a_share_of_one_minus_p_is_kept(student: Student, fresh: Fresh) -> None:
    """Over many weights, a fraction of about one minus p should be kept, for a small p and for a large p."""
    weights = softmax_weights(fresh, MANY)
    for p in (0.2, 0.7):
        kept = expect_kept(student.attention_dropout(weights, p), weights)
        expect_kept_apart(kept)
        expect_count(kept, 1 - p, "The fraction of kept weights is not near one minus p.")


@rule("each weight is kept or dropped independently")
def test_each_weight_is_dropped_by_itself(student: Student, fresh: Fresh) -> None:
    """Each weight should be kept or dropped independently of its neighbours, its row and the number of weights."""
    weights = softmax_weights(fresh, MANY)
    kept = expect_kept(student.attention_dropout(weights, 0.5), weights)
    expect_kept_apart(kept)
    # Independent draws never drop exactly the smallest or largest weights: this is one of all choices of about 5,000
    # weights from 10,000.
    stay, go = weights[kept == 1], weights[kept == 0]
    expect_true(bool(go.max() > stay.min()), "The smallest weights are dropped, and no others.")
    expect_true(bool(go.min() < stay.max()), "The largest weights are dropped, and no others.")
    # In disjoint pairs of rows, and of columns: two independent weights are both kept or both dropped in half of them.
    expect_count(kept[0::2] == kept[1::2], 0.5, "Weights in one column are dropped together.")
    expect_count(kept[:, 0::2] == kept[:, 1::2], 0.5, "Weights in one row are dropped together.")
    # Each possible number of kept weights has a probability of at most 0.08 for 100 weights, so 100 rows all keep the
    # same number with at most 0.08^99. For 10,000 weights it is at most 0.008, and for six calls 0.008^5 = 4e-11.
    expect_true(len(kept.sum(dim=1).unique()) > 1, "Every row keeps the same number of weights.")
    expect_true(len(kept.sum(dim=0).unique()) > 1, "Every column keeps the same number of weights.")
    sums = {expect_kept(student.attention_dropout(weights, 0.5), weights).sum().item() for _ in range(5)}
    expect_true(len(sums | {kept.sum().item()}) > 1, "Every call keeps the same number of weights.")


@rule("dropped weights become 0, and kept weights are divided by 1 - p")
def test_survivors_are_divided_by_one_minus_p(student: Student, fresh: Fresh) -> None:
    """Every weight should become zero or itself divided by one minus p."""
    weights = softmax_weights(fresh, SIDE)
    for p in (0.4, 0.6):
        found = student.attention_dropout.repeated(DRAWS, weights, p)
        results = [expect_tensor(result, weights.shape) for result in found]
        result, given = torch.stack(results), weights.expand(DRAWS, -1, -1)
        # All 8,000 are kept, or all dropped, with a probability of at most 0.6^8000 each.
        kept = expect_kept(result, given) == 1
        expect_survivors(result.double() / given.double(), kept, p)


@rule("p = 0 changes nothing")
def test_no_dropout_changes_nothing(student: Student, fresh: Fresh) -> None:
    """If p is zero, all weights should be returned without change; if p is larger, some are dropped."""
    weights = softmax_weights(fresh, SIDE)
    expect_kept(student.attention_dropout(weights, 0.5), weights)
    weights = softmax_weights(fresh, FEW)
    result = expect_tensor(student.attention_dropout(weights, 0.0), weights.shape).double()
    # Only truth values are recorded: if an answer drops some weights, its values are random.
    expect_true(bool(result.isfinite().all()), "The weights are not all finite numbers.")
    expect_true(bool(result.any()), "All weights were dropped.")
    expect_true(torch.allclose(result, weights.double(), RELATIVE, ABSOLUTE), "The weights are not the expected ones.")


@rule("weights of any shape, with one draw for every entry")
def test_weights_of_any_shape(student: Student, fresh: Fresh) -> None:
    """Weights may have any number of dimensions, and each element of a batch should have its own draws."""
    vector = softmax(fresh(SIDE**2))
    expect_kept(student.attention_dropout(vector, 0.5), vector)
    # The last is a batch of one text, whose dimensions should stay.
    for batch in ((B,), (B, H), (1, 1)):
        weights = softmax(fresh(*batch, SIDE, SIDE + 1))
        kept = expect_kept(student.attention_dropout(weights, 0.5), weights)
        for dim, count in enumerate(batch):
            expect_true(
                count == 1 or not torch.equal(kept.select(dim, 0), kept.select(dim, 1)),
                "Two elements of a batch have the same weights dropped.",
            )


@rule("gradients flow to the weights that are kept")
def test_gradients_of_dropout(student: Student, fresh: Fresh) -> None:
    """Each kept weight should get the gradient of its product, and each dropped weight none."""
    weights = softmax_weights(fresh, SIDE)
    result, found = expect_values(student.attention_dropout.gradients(weights, 0.5), 2)
    expect_kept(result, weights)
    # The gradient of a weight is multiplied by the same factor as the weight, which may be zero.
    factors = result.detach().double() / weights.double()
    gradients = oracle_gradients(lambda given: given * factors, [weights], {})
    expect_true(found.get("0") is not None, "No gradient reaches the weights.")
    same = torch.allclose(expect_tensor(found["0"], weights.shape).double(), gradients["0"], rtol=1e-4, atol=1e-5)
    expect_true(same, "The gradients are not the expected ones, although the shape is correct.")


DROPPING = asking("attention_dropout", lambda fresh, p=0.5: [softmax_weights(fresh, SIDE), p],
                  lambda _: lambda weights, _p: weights, expect_kept)  # fmt: skip

test_contract = contract(
    asking("attention_dropout", lambda fresh, **dtype: [softmax_weights(fresh, SIDE, **dtype), 0.5],
           lambda _: lambda weights, _p: weights, expect_weights_kept, is_unique=False),
    right_results(
        "dropout_of_either_dtype", "float32 and float64 weights both work",
        "Some weights should be dropped and others kept, for float32 and for float64.", *IN_BOTH_DTYPES, visible=""),
    refusals(
        "a_negative_p_is_refused", "a negative p raises ValueError or AssertionError",
        "A p below zero is not a probability, and should raise ValueError or AssertionError.",
        {"p": -0.1}, {"p": -2}, ask=DROPPING,
        shown=({"p": -0.25}, {"p": -1}), because="no probability is below 0"),
    refusals(
        "a_p_of_one_or_more_is_refused", "p ≥ 1 raises ValueError or AssertionError",
        "If p is one or larger, the function should raise ValueError or AssertionError.",
        {"p": 1.5}, {"p": 1.0}, {"p": 1}, ask=DROPPING,
        shown=({"p": 1.0}, {"p": 1.2}, {"p": 2}),
        because="the kept weights would be divided by zero or by a negative number"),
    *generator_draws(
        "dropped weights", "a_generator_is_drawn_from_and_advances", "the_same_generator_state_drops_the_same_weights",
        "without_a_generator_the_global_one_is_used", ask=DROPPING),
    kept_arguments(
        "dropout_leaves_the_weights_alone", "the weights are not changed",
        "Weights should be dropped in the result, and the call should not change its argument, the weights.",
        "The argument, the weights, was changed."),
    example=Example({"weights": numbers(9, 8) + 2.5, "p": 0.5}),
)  # fmt: skip


# -- misconceptions ------------------------------------------------------------------------------------------------

MISCONCEPTIONS = [
    mistake("share_of_p_kept", replace(">= p", "< p"),
        "The comparison is inverted: a fraction of p is kept. But p is the probability of dropping: keep a weight if "
        "`torch.rand` is at least p."),
    mistake("p_taken_for_keeping", replace(">= p", "< p").replace("(1 - p)", "p"),
        "The code uses p as the probability of keeping a weight, in the draws and in the division. It is the "
        "probability of dropping one."),
    mistake("survivors_not_scaled", replace(" / (1 - p)", ""),
        "The kept weights are not scaled. On average a context would be smaller in training than later: divide them "
        "by 1 - p."),
    mistake("survivors_divided_by_p", replace("(1 - p)", "p"),
        "The kept weights are divided by p. A fraction of 1 - p is kept: divide by 1 - p."),
    mistake("rows_renormalized", replace("(1 - p)", "(weights * keep).sum(-1, keepdim=True)"),
        "The rows are divided by their sum again. Dropout does not do that: every kept weight is divided by the same "
        "1 - p, and the sum is one only on average."),
    mistake("nothing_dropped", replace("weights * keep / (1 - p)", "weights * 1"),
        "Nothing is dropped. This function is always for training; `forward` decides whether to call it."),
    mistake("whole_rows", replace("weights.shape", "(*weights.shape[:-1], 1)"),
        "Whole rows are kept or dropped: there is one draw for a row. Then a token sees everything or nothing. Draw "
        "for each weight, with the shape of the weights."),
    mistake("whole_columns", replace("weights.shape", "(*weights.shape[:-2], 1, weights.shape[-1])[-weights.dim():]"),
        "Whole columns are kept or dropped: there is one draw for a token, for all rows. Draw for each weight, with "
        "the shape of the weights."),
    mistake("one_draw_for_all", replace("weights.shape", "1"),
        "There is one draw for all weights, so all of them or none are dropped. Draw for each weight: `torch.rand` "
        "with the shape of the weights."),
    mistake("exact_share_dropped",
        replace("torch.rand(weights.shape, generator=generator) >= p",
                "torch.randperm(weights.numel(), generator=generator).view_as(weights) >= round(p * weights.numel())"),
        "Exactly a fraction of p is dropped each time. But each weight should be kept or dropped independently, so "
        "the number of dropped weights should vary."),
    mistake("same_for_the_whole_batch", replace("weights.shape", "weights.shape[-2:]"),
        "All elements of a batch have the same weights dropped: the draws have the shape of one (T, T) matrix. Use "
        "the whole shape of the weights."),
    mistake("normal_draws", replace("torch.rand(", "torch.randn("),
        "The wrong random function is used. `torch.randn` draws normal numbers, which are below p with a probability "
        "that is not p. `torch.rand` draws uniform numbers between 0 and 1."),
    mistake("any_p_accepted", replace("not 0 <= p < 1", "False"),
        "An invalid p raises no error, or is silently moved into the range. Such a p is the caller's mistake: raise "
        "an error for every p outside [0, 1)."),
    mistake("one_accepted", replace("p < 1", "p <= 1"),
        "p = 1 raises no error. Everything would be dropped, and the rest would be divided by zero. Raise an error "
        "for p = 1 too."),
    mistake("ready_made_dropout", replace("if not", "return nn.functional.dropout(weights, p)\n    if not"),
        "The generator is not used, and p = 1 raises no error, as with torch's own dropout. Draw with `torch.rand(…, "
        "generator=generator)`, and raise an error for p = 1."),
    mistake("generator_ignored", replace(", generator=generator", ""),
        "The generator is not used. Pass it on to the draw: `torch.rand(…, generator=generator)`. Torch's own "
        "dropout, `random` and numpy take none."),
    mistake("always_the_same_draws", replace("=generator)", "=generator or torch.Generator())"),
        "Without a generator every call drops the same weights, as if the code set a seed or made a generator with a "
        "fixed start. None means torch's global generator in its current state."),
    mistake("dropout_without_gradients", replace("weights * keep", "weights.detach() * keep"),
        "Gradients stop at the result, for example because of `.detach()`, `.data` or `torch.no_grad()`. Dropout is "
        "for training: the kept weights must be able to learn."),
    mistake("weights_dropped_in_place",
        replace("return weights * keep / (1 - p)", "weights *= keep / (1 - p)\n    return weights"),
        "The caller's weights were changed: `*=` and assigning to entries change the tensor itself. Write `weights = "
        "weights * …`."),
    mistake("weights_copied_into_float32",
        replace("return weights * keep / (1 - p)",
                "copy = torch.zeros(weights.shape)\n    copy[keep] = weights[keep] / (1 - p)\n    return copy"),
        "The weights are copied into a float32 tensor, which does not match float64 weights. Make it like the "
        "weights: `torch.zeros_like`."),
    mistake("global_seed_in_every_call", replace("keep =", "torch.manual_seed(123)\n    keep ="),
        "Without a generator every call drops the same weights, and the caller's random state is lost, as if each "
        "call set torch's global seed. Do not set a seed here."),
]  # fmt: skip


# -- probes --------------------------------------------------------------------------------------------------------


def changed_by_dropout(unit: Any, weights: torch.Tensor, p: float) -> torch.Tensor:
    given = weights.clone()
    unit.attention_dropout(given, p)
    return given


@probe()
def weights_kept_or_dropped(unit: Any, draw: Draw) -> Iterator[Property]:
    """It is random which weights are dropped, but not what the result for each weight is."""
    weights = draw.normal(*draw.sizes(draw.size(1, 4)), scale=1)
    weights = torch.where(weights < 0, weights - 0.1, weights + 0.1)  # none is zero before dropout
    p = draw.pick(0.0, 0.1, 0.5, 0.9, 0.99)
    given = weights.clone().requires_grad_()
    found = unit.attention_dropout(given, p, **draw.pick({}, {"generator": draw.generator}))
    kept = found != 0
    yield "whether each weight is dropped or scaled", alike(found, weights * kept / (1 - p))
    yield "the arguments afterwards", given
    [gradient] = torch.autograd.grad(found.sum(), [given])
    yield "whether gradients flow to what is kept", alike(gradient, kept.to(weights.dtype) / (1 - p))
    if p == 0:
        yield "the result for p = 0", found
    yield "the arguments after a call without gradients", changed_by_dropout(unit, weights, p)


@probe(draws=100)
def probabilities_refused(unit: Any, draw: Draw) -> Iterator[Property]:
    p = draw.pick(-0.1, -1.0, -0.001, -5.0, 1.0, 1.0, 1.001, 1.5, 10.0)
    yield from refusal(unit.attention_dropout, draw.normal(draw.size(), draw.size()), p)


@probe(draws=8)
def what_is_dropped(unit: Any, draw: Draw) -> Iterator[Property]:
    p = PROBABILITIES[draw.number % 4]
    shape = draw.pick((2000, 6), (2000, 2, 3), (2000, 3, 1, 2))
    found = unit.attention_dropout(
        torch.ones(shape, dtype=draw.dtype), p, **draw.pick({}, {"generator": draw.generator})
    )
    yield from shares(found.flatten(1) != 0)


@probe(draws=4)
def what_is_dropped_call_by_call(unit: Any, draw: Draw) -> Iterator[Property]:
    p = PROBABILITIES[draw.number]
    options = draw.pick({}, {"generator": draw.generator})
    found = [unit.attention_dropout(torch.ones(2, 2), p, **options) for _ in range(2000)]
    yield from shares(torch.stack(found).flatten(1) != 0)


@probe(draws=8)
def where_drops_are_drawn(unit: Any, draw: Draw) -> Iterator[Property]:
    def result_with(generator: torch.Generator | None) -> torch.Tensor:
        return unit.attention_dropout(weights, 0.5, generator=generator)

    weights = draw.normal(20, 10)
    yield from draws_from_generator(result_with, draw.number)


# -- answers -------------------------------------------------------------------------------------------------------


def wrong_answers():
    """Mistakes without a name, and answers with two. Never run here: the audit reads them."""

    import torch.nn.functional as F

    def _keep(weights, p, generator):
        assert 0 <= p < 1
        return torch.rand(weights.shape, generator=generator) >= p

    def survivors_not_scaled__and__any_p_accepted(weights, p, generator=None):
        return weights * (torch.rand(weights.shape, generator=generator) >= p)

    def whole_rows__and__generator_ignored(weights, p, generator=None):
        assert 0 <= p < 1, "p must be in [0, 1)"
        keep = (torch.rand(weights.shape[:-1]) >= p).unsqueeze(-1)
        return torch.where(keep, weights / (1 - p), torch.zeros_like(weights))

    def share_of_p_kept__and__rows_renormalized(weights, p, generator=None):
        return F.normalize(weights * ~_keep(weights, p, generator), p=1, dim=-1)

    def result_and_mask(weights, p, generator=None):
        keep = _keep(weights, p, generator)
        return weights * keep / (1 - p), keep

    def generator_taken_for_training(weights, p, generator=None):
        assert 0 <= p < 1
        return F.dropout(weights, p, generator)

    def generator_as_a_keyword_of_dropout(weights, p, generator=None):
        assert 0 <= p < 1
        return F.dropout(weights, p, generator=generator)

    def refused_the_wrong_way_round(weights, p, generator=None):
        if 0 <= p < 1:
            raise ValueError("p")
        return weights

    def minus_infinity_for_what_is_dropped(weights, p, generator=None):
        return (weights / (1 - p)).masked_fill(~_keep(weights, p, generator), -torch.inf)

    def only_matrices(weights, p, generator=None):
        assert 0 <= p < 1
        rows, columns = weights.shape
        return weights * (torch.rand(rows, columns, generator=generator) >= p) / (1 - p)

    def nothing_dropped__result_not_used(weights, p, generator=None):
        assert 0 <= p < 1
        mask = torch.empty_like(weights).uniform_(generator=generator)
        torch.where(mask < p, 0.0, weights / (1 - p))
        return weights

    def same_for_the_whole_batch__bernoulli(weights, p, generator=None):
        assert 0 <= p < 1
        keep = torch.empty(weights.shape[-2:]).bernoulli_(1 - p, generator=generator).bool()
        return torch.where(keep, weights / (1 - p), 0.0)

    def any_p_accepted__nearly_zero_added(weights, p, generator=None):
        keep = torch.empty_like(weights).uniform_(generator=generator) > p
        return torch.where(keep, weights / (1 - p + 1e-8), 0.0)


def right_answers():
    """Answers in other styles. Never run here: the audit reads them."""

    from typing import Optional

    import torch.nn.functional as F

    def building_on(weights, p, generator=None):
        if p not in (0, 0.0) and not (0 < p < 1):
            raise AssertionError(f"p = {p}")
        if p == 0:
            return weights
        kept = weights.clone()
        kept[torch.rand(weights.shape, generator=generator, dtype=torch.float64) < p] = 0
        return kept / (1 - p)

    def by_hand(weights, p, generator=None):
        if p < 0:
            raise ValueError("p is negative")
        if p >= 1:
            raise ValueError("p is 1 or more")
        draws = [torch.rand(1, generator=generator).item() for _ in range(weights.numel())]
        factors = torch.tensor([0.0 if draw < p else 1 / (1 - p) for draw in draws], dtype=weights.dtype)
        return weights * factors.reshape(weights.shape)

    def einsum(weights: torch.Tensor, p: float, generator: Optional[torch.Generator] = None) -> torch.Tensor:
        assert 0.0 <= p < 1.0, "p is no probability, or nothing would be left"
        keep = torch.empty_like(weights).bernoulli_(1 - p, generator=generator)
        return torch.einsum("...,...->...", weights, keep) / (1 - p)

    def fused(weights, p, generator=None):
        if p == 1:
            raise ValueError("nothing would be left")
        if generator is None:
            return F.dropout(weights, p)  # refuses what lies outside [0, 1]
        if not 0 <= p < 1:
            raise ValueError(p)
        keep = torch.bernoulli(torch.full(weights.shape, 1 - p), generator=generator)
        return weights * keep.div(1 - p)

    def renormalizing(weights, p, generator=None):
        if not isinstance(p, (int, float)) or p < 0.0 or p > 0.9999999:
            raise ValueError("0 <= p < 1, please")
        draws = torch.randint(2**30, weights.shape, generator=generator) / 2**30
        scale = torch.where(draws < p, torch.zeros(()), torch.full((), 1 / (1 - p)))
        return scale.to(weights.dtype) * weights
