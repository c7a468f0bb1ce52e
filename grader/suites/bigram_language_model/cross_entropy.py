"""cross_entropy: hidden tests, known mistakes and right answers."""

from __future__ import annotations

import functools
import math
from collections.abc import Iterator
from typing import Any

import torch

from grader.suites.bigram_language_model.shared import CHANGED_FLAT, expect_loss, loss_error, mean_loss
from grader.suites.generation import T, V, random_ids
from grader.testing.checks import expect_true, remark_ready_made
from grader.testing.draws import Fresh, numbers
from grader.testing.misconceptions import mistake, replace
from grader.testing.probes import Draw, Property, call, probe
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

LOSSES = ("cross_entropy", "cross_entropy_loss", "log_softmax", "nll_loss", "special_log_softmax")


@rule("the mean, over all rows, of minus the natural logarithm of the target's probability after softmax")
def test_the_mean_of_minus_the_logarithms(student: Student, fresh: Fresh) -> None:
    """The loss should be one number: the mean over the rows of minus the logarithm of the target's probability."""
    logits, targets = 2 * fresh(T, V), random_ids(fresh, T)
    expect_loss(student.cross_entropy(logits, targets), mean_loss(student, logits, targets))
    for _ in range(3):  # small losses show whether they are rounded
        likely = fresh(T, V) + 8 * torch.nn.functional.one_hot(targets, V)
        expect_loss(student.cross_entropy(likely, targets), mean_loss(student, likely, targets))
    remark_ready_made(LOSSES, student.cross_entropy, logits, targets)


@rule("it stays correct and finite for logits of ±1,000")
def test_large_logits_stay_finite(student: Student, fresh: Fresh) -> None:
    """For logits of a thousand and of minus a thousand, in any combination, the loss should be finite and correct."""
    high_and_low = fresh(2, V) + torch.tensor([[1000.0], [-1000.0]])
    mixed = fresh(1, V)
    mixed[:, ::2] += 1000
    mixed[:, 1::2] -= 1000
    low, high = torch.tensor([1]), torch.tensor([2])
    for logits, targets in ((high_and_low, random_ids(fresh, 2)), (mixed, high), (mixed, low)):
        found, expected = student.cross_entropy(logits, targets), mean_loss(student, logits, targets)
        number = found.item() if isinstance(found, torch.Tensor) and found.numel() == 1 else found
        # If an epsilon or a clamp keeps the loss finite, its value depends on that number, so the reason names none.
        if isinstance(number, float) and math.isfinite(number) and abs(number - expected) > loss_error(expected):
            expect_true(False, "It is finite, but not near the expected one.")
        expect_loss(found, expected)


@rule("any number of rows, including one")
def test_a_loss_of_any_number_of_rows(student: Student, fresh: Fresh) -> None:
    """There may be any number of rows, including a single one."""
    for count in (1, 11):
        # The same prediction in all rows, so that the loss of one row is the mean.
        logits, targets = fresh(1, V).expand(count, V).clone(), random_ids(fresh, 1).expand(count).clone()
        expect_loss(student.cross_entropy(logits, targets), mean_loss(student, logits, targets))


LOSS = asking(
    "cross_entropy",
    # One row, so that the mean and the sum are equal.
    lambda fresh, dtype=torch.float32: [fresh(1, V, dtype=dtype), random_ids(fresh, 1)],
    lambda student: functools.partial(mean_loss, student),
    expect_loss,
)


test_contract = contract(
    LOSS,
    right_results(
        "a_loss_of_either_dtype", "float32 and float64 logits both work",
        "The loss should be correct for float32 logits and for float64 logits.", *IN_BOTH_DTYPES),
    right_gradients(
        "gradients_of_the_loss", "gradients flow to the logits",
        "Gradients of the loss should flow to the logits: to the target's, and to all others of its row.",
        ask=asking("cross_entropy", lambda fresh: [fresh(T, V), random_ids(fresh, T)],
                   lambda student: functools.partial(mean_loss, student))),
    kept_arguments(
        "the_loss_leaves_its_arguments_alone", "logits and targets are not changed",
        "The loss should be correct, and the call should not change logits or targets.", *CHANGED_FLAT),
    example=Example({"logits": numbers(5, 4), "targets": torch.tensor([3, 0, 2, 0, 1])}),
)  # fmt: skip


# -- misconceptions ------------------------------------------------------------------------------------------------

SHIFTED = "logits - logits.amax(dim=-1, keepdim=True)"
OF_ROWS = "shifted.exp().sum(dim=-1).log() - of_targets"
OF_PROBABILITIES = replace(SHIFTED, "torch.softmax(logits, dim=-1)")

MISCONCEPTIONS = [
    mistake("losses_added_up", replace(".mean()", ".sum()"),
        "The losses are added up. Then a larger batch has a larger loss for no reason. Divide by the number of rows."),
    mistake("mean_over_all_logits", replace(".mean()", ".sum() / logits.numel()"),
        "The sum is divided by the number of all logits, N · V. There is one loss for each row, so divide by the "
        "number of rows."),
    mistake("no_mean_at_all", replace(".mean()", ""),
        "The function returns the losses of all rows. A model is trained on one number: return their mean."),
    mistake("minus_forgotten", replace("return (", "return -("),
        "The minus is missing. The logarithm of a probability is negative, and larger for a better prediction. A "
        "loss should be smaller for a better prediction."),
    mistake("softmax_over_the_rows", replace(SHIFTED, "logits.log_softmax(dim=0)").replace(OF_ROWS, "-of_targets"),
        "Softmax runs over the predictions instead of the kinds. The V numbers of one row should become "
        "probabilities: dim=-1."),
    mistake("softmax_over_all_logits", replace("shifted.exp().sum(dim=-1)", "shifted.exp().sum()"),
        "The sum in the softmax runs over all rows together. Each row is a prediction of its own, and its "
        "probabilities sum to one: sum over the last dimension."),
    mistake("softmax_forgotten", replace(SHIFTED, "logits").replace(OF_ROWS, "-of_targets"),
        "The logits are used as if they were logarithms of probabilities. They can be any numbers; apply softmax "
        "first."),
    mistake("softmax_taken_twice", replace("shifted =", "logits = torch.softmax(logits, dim=-1)\n    shifted ="),
        "Softmax is applied twice: to the logits, and then to the probabilities. PyTorch's own cross-entropy "
        "contains a softmax and needs the logits."),
    mistake("logarithm_forgotten", OF_PROBABILITIES.replace(OF_ROWS, "-of_targets"),
        "The probabilities themselves are averaged, without a logarithm. With the logarithm, a sure but wrong "
        "prediction gets a very large loss."),
    mistake("logarithm_of_the_mean", replace(f"({OF_ROWS}).mean()", f"-(-({OF_ROWS})).exp().mean().log()"),
        "The probabilities are averaged first, and then the logarithm of the mean is taken. Take the logarithm of "
        "each row first, and average the logarithms."),
    mistake("logarithm_of_a_softmax", OF_PROBABILITIES.replace(OF_ROWS, "-of_targets.log()"),
        "For large logits a probability is rounded to zero, and its logarithm is infinite. Do not take the logarithm "
        "of a softmax: simplify it on paper, ln Σ exp(z - m) - (z_y - m)."),
    mistake("largest_logit_not_subtracted", replace(SHIFTED, "logits"),
        "The exponential of a large logit overflows. Subtract the largest logit of each row first: that changes no "
        "probability."),
    mistake("one_largest_logit_for_all", replace(SHIFTED, "logits - logits.max()"),
        "One number, the largest of all logits, is subtracted from every row. In a row far below it, all "
        "exponentials are rounded to zero. Each row needs its own largest logit."),
    mistake("logarithm_kept_finite_by_force",
        OF_PROBABILITIES.replace(OF_ROWS, "-of_targets.clamp(min=1e-30).log()"),
        "The logarithm is forced to stay finite, for example by adding a small number, so the loss is wrong: with "
        "logits of 1000 and -1000 it should be 2000. First simplify the logarithm of the softmax on paper."),
    mistake("largest_logit_of_each_column",
        replace("logits.amax(dim=-1, keepdim=True)", "logits.amax(dim=0, keepdim=True)"),
        "The largest logit of each column is subtracted, which changes the probabilities. Only a number that is the "
        "same for a whole row cancels: subtract the largest logit of each row."),
    mistake("largest_logit_subtracted_once", replace("shifted.gather", "logits.gather"),
        "The largest logit is subtracted in the sum, but not from the target's own logit. It cancels only if it is "
        "subtracted from both."),
    mistake("all_columns_for_every_row", replace("shifted.gather(-1, targets[:, None])[:, 0]", "shifted[:, targets]"),
        "For every row the columns of all targets are used, (N, N), as in `logits[:, targets]` or a matrix product. "
        "Use one entry of each row: `logits[torch.arange(N), targets]`, or `gather`."),
    mistake("loss_as_a_plain_number", replace(".mean()", ".mean().item()"),
        "The loss is cut off from the gradients, for example by `.item()`, `.detach()` or `torch.no_grad()`. All "
        "gradients begin at the loss, so it must stay a tensor in the graph."),
    mistake("targets_in_float32",
        replace("shifted.gather(-1, targets[:, None])[:, 0]",
                "(shifted @ nn.functional.one_hot(targets, logits.shape[-1]).float().T).diagonal()"),
        "The code makes a float32 matrix, which does not match float64 logits. Make it like the logits: "
        "`dtype=logits.dtype`."),
    mistake("logits_changed_in_place", replace("shifted = logits - ", "shifted = logits\n    shifted -= "),
        "The caller's logits were changed: `-=` changes the tensor itself. Write `logits = logits - …`."),
]  # fmt: skip


# -- probes --------------------------------------------------------------------------------------------------------


@probe()
def loss_of_any_logits(unit: Any, draw: Draw) -> Iterator[Property]:
    rows, vocabulary = draw.sizes(2)
    logits = draw.normal(rows, vocabulary)
    if draw.chance(0.4):
        large = torch.tensor([1000, 0, -1000], dtype=logits.dtype)[draw.integers(0, 3, rows, vocabulary)]
        logits = draw.pick(torch.where(large == 0, logits, large), large, large.abs(), -large.abs(), logits + 1000)
    yield from call(unit.cross_entropy, logits, draw.integers(0, vocabulary, rows))


# -- answers -------------------------------------------------------------------------------------------------------


def wrong_answers():
    """Mistakes without a name, and answers with two. Never run here: the audit reads them."""

    import torch.nn.functional as F

    def losses_added_up__and__largest_logit_not_subtracted(logits, targets):
        log_sum = torch.log(torch.exp(logits).sum(dim=1))
        z_target = logits.gather(1, targets.unsqueeze(1)).squeeze(1)
        return (log_sum - z_target).sum()

    def squared_error(logits, targets):
        one_hot = F.one_hot(targets, logits.shape[-1]).to(logits.dtype)
        return ((torch.softmax(logits, -1) - one_hot) ** 2).sum(-1).mean()

    def hinge(logits, targets):
        return F.multi_margin_loss(logits, targets)

    def binary(logits, targets):
        one_hot = F.one_hot(targets, logits.shape[-1]).to(logits.dtype)
        return F.binary_cross_entropy_with_logits(logits, one_hot)

    def median(logits, targets):
        return F.cross_entropy(logits, targets, reduction="none").median()

    def perplexity(logits, targets):
        return F.cross_entropy(logits, targets).exp()

    def first_row(logits, targets):
        return F.cross_entropy(logits[:1], targets[:1])

    def smoothed(logits, targets):
        return F.cross_entropy(logits, targets, label_smoothing=0.1)

    def smallest_logit_subtracted(logits, targets):
        z = logits - logits.amin(-1, keepdim=True)
        return (z.exp().sum(-1).log() - z.gather(1, targets[:, None])[:, 0]).mean()

    def maximum_added(logits, targets):
        m = logits.amax(-1, keepdim=True)
        z = logits - m
        return (z.exp().sum(-1).log() + m[:, 0] - z.gather(1, targets[:, None])[:, 0]).mean()

    def logits_normalized(logits, targets):
        z = (logits - logits.mean(-1, keepdim=True)) / logits.std(-1, keepdim=True)
        return F.cross_entropy(z, targets)

    def clamped_logits(logits, targets):
        return F.cross_entropy(logits.clamp(-50, 50), targets)

    def nothing_returned(logits, targets):
        F.cross_entropy(logits, targets)


def right_answers():
    """Answers in other styles. Never run here: the audit reads them."""

    import torch.nn as nn
    from torch import Tensor

    def by_hand(logits, targets):
        total = 0
        for row, target in zip(logits, targets):
            largest = row.max()
            total = total + torch.log(torch.exp(row - largest).sum()) - (row[target] - largest)
        return total / len(logits)

    def heads_of_unit_four(logits, targets):
        # One minus all others: ln Σ exp(z_j - z_y), as a chain of pairs.
        differences = logits - logits.gather(1, targets.view(-1, 1))
        return torch.stack([row.logsumexp(0) for row in differences]).mean()

    def index_notation(logits: Tensor, targets: Tensor) -> Tensor:
        z = logits.double()
        m = z.max(1, keepdim=True).values
        log_p = z - m - torch.einsum("nv->n", (z - m).exp()).log()[:, None]
        ones = nn.functional.one_hot(targets, z.size(1)).double()
        return (torch.einsum("nv,nv->", log_p, ones) / -len(targets)).to(logits.dtype)

    def one_on_another(logits, targets):
        shifted = logits - logits.max(dim=-1, keepdim=True)[0]
        normaliser = torch.logsumexp(shifted, dim=-1)
        return torch.mean(normaliser - shifted[range(len(targets)), targets])

    def ready_made(logits, targets):
        return nn.CrossEntropyLoss()(logits, targets)
