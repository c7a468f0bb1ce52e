"""flatten_for_cross_entropy: hidden tests, known mistakes and right answers."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any

import torch

from grader.suites.bigram_language_model.shared import CHANGED_FLAT, B, expect_integers, expect_shape
from grader.suites.generation import T
from grader.testing.checks import expect_close, expect_gradients, expect_true, expect_values, oracle_gradients
from grader.testing.draws import Fresh, numbers
from grader.testing.misconceptions import mistake, replace
from grader.testing.probes import Draw, Property, alike, probe
from grader.testing.student import Refused, Student
from grader.testing.suite import Example, asking, contract, kept_arguments, rule

# One more token than there are predictions, so that all targets can differ.
KINDS = B * T + 1


def predictions(fresh: Fresh) -> tuple[torch.Tensor, torch.Tensor]:
    """Logits (B, T, V) for V = KINDS, and targets (B, T)."""
    return fresh(B, T, KINDS), fresh.order(KINDS)[: B * T].view(B, T)


def flat_targets(result: object, logits: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """Return the targets, and the index of each flat row in the logits (B · T,). Any order is accepted."""
    flat, targets = expect_values(result, 2)
    rows = logits.flatten(0, 1)  # (B, T, V) -> (B · T, V)
    shapes = [one.shape if isinstance(one, torch.Tensor) else None for one in (flat, targets)]
    expect_true(shapes != [(len(rows),), rows.shape], "Logits and targets are swapped.")
    found = expect_shape(flat, tuple(rows.shape), "logits")
    targets = expect_shape(targets, (len(rows),), "targets")
    same_numbers = torch.equal(found.double().flatten().sort().values, rows.double().flatten().sort().values)
    expect_true(same_numbers, "The numbers are not those of the logits.")
    same = (found.double()[:, None] == rows.double()).all(-1)  # (B · T, 1, V) and (B · T, V) -> (B · T, B · T)
    expect_true(bool(same.any(0).all() and same.any(1).all()), "The rows are not those of the logits.")
    return targets, same.double().argmax(-1)


@rule("all B · T predictions are there, one in each row, and also all their targets")
def test_all_predictions_and_targets_are_there(student: Student, fresh: Fresh) -> None:
    """Each of the B · T predictions should be one row, (B · T, V), and each target one entry, (B · T,)."""
    logits, targets = predictions(fresh)
    for some in (slice(None), slice(1)):  # all of them, and one text of one token
        given = logits[some, some], targets[some, some]
        found, _ = flat_targets(student.flatten_for_cross_entropy(*given), given[0])
        same = torch.equal(found.double().sort().values, given[1].double().flatten().sort().values)
        expect_true(same, "The targets are not those in the argument.")


@rule("each row of the logits has its own target at the same index")
def test_each_prediction_keeps_its_target(student: Student, fresh: Fresh) -> None:
    """Each prediction should be at the same index as its target."""
    logits, targets = predictions(fresh)
    found, order = flat_targets(student.flatten_for_cross_entropy(logits, targets), logits)
    expect_close(found, targets.flatten()[order], "The targets of the predictions")


@rule("the targets stay integers")
def test_targets_stay_integers(student: Student, fresh: Fresh) -> None:
    """The targets are ids, and should stay integers."""
    logits, targets = predictions(fresh)
    found, _ = flat_targets(student.flatten_for_cross_entropy(logits, targets), logits)
    expect_integers(found, "targets")


@rule("logits and targets may be non-contiguous, for example the result of a transpose")
def test_views_are_flattened(student: Student, fresh: Fresh) -> None:
    """The result should be correct if logits and targets are non-contiguous, for example after a transpose."""
    logits, targets = predictions(fresh)
    # (B, T, V) -> (T, B, V) -> (B, T, V), and the like
    views = logits.transpose(0, 1).contiguous().transpose(0, 1), targets.mT.contiguous().mT
    for given in ((views[0], targets), (logits, views[1])):
        flat_targets(student.flatten_for_cross_entropy(*given), logits)


@rule("gradients flow to the logits")
def test_gradients_of_flattening(student: Student, fresh: Fresh) -> None:
    """Gradients should flow back to the logits."""
    logits, targets = predictions(fresh)
    result, found = student.flatten_for_cross_entropy(logits, targets), {}
    # A result without gradients raises Refused, except a view that was made under `no_grad`.
    with contextlib.suppress(Refused):
        result, found = expect_values(student.flatten_for_cross_entropy.gradients(logits, targets), 2)
    _, order = flat_targets(result, logits)
    expect_gradients(found, oracle_gradients(lambda given: given.flatten(0, 1)[order], [logits], {}))


FLATTEN = asking(
    "flatten_for_cross_entropy", predictions, lambda _: lambda logits, _targets: logits, flat_targets, is_unique=False
)


test_contract = contract(
    FLATTEN,
    kept_arguments(
        "flattening_leaves_its_arguments_alone", "logits and targets are not changed",
        "The flat tensors should be correct, and the call should not change logits or targets.", *CHANGED_FLAT),
    example=Example({"logits": numbers(2, 3, 4), "targets": torch.tensor([[1, 0, 3], [2, 1, 0]])},
                    also={"gradients": "gradients flow to the logits",
                          "layout": "logits and targets may be non-contiguous, for example the result of a transpose"}),
)  # fmt: skip


# -- misconceptions ------------------------------------------------------------------------------------------------

FLAT = "logits.flatten(0, 1), targets.flatten()"

MISCONCEPTIONS = [
    mistake("targets_made_floats", replace("targets.flatten()", "targets.flatten().float()"),
        "The targets are floats. An id is an index in a row of logits, so it must be an integer. Floats would be "
        "used as probabilities."),
    mistake("view_of_the_logits", replace(FLAT, "logits.view(-1, logits.shape[-1]), targets.view(-1)"),
        "`view` fails if the logits are non-contiguous, for example the result of a transpose. `reshape` and "
        "`flatten` copy if necessary."),
    mistake("predictions_torn", replace("flatten(0, 1)", "transpose(1, 2).reshape(-1, logits.shape[-1])"),
        "Tokens and kinds were swapped before flattening, so each row mixes several predictions. The V numbers of "
        "one prediction are in the last dimension; keep them there."),
    mistake("targets_in_another_order", replace("targets.flatten()", "targets.T.flatten()"),
        "Logits and targets are flattened in different orders, so a prediction gets the target of another token. Use "
        "the same order for both."),
    mistake("last_tokens_alone", replace(FLAT, "logits[:, -1], targets[:, -1]"),
        "Only one prediction is left for each text: 4 instead of 32. Every token predicts the next one, and the "
        "model learns from all of them."),
    mistake("moved_on_once_more", replace(FLAT, "logits[:, :-1].flatten(0, 1), targets[:, 1:].flatten()"),
        "The targets are shifted again, and the last prediction of each text is lost. The targets already are the "
        "next tokens: each token has its own target at the same position."),
    mistake("one_row_for_each_text", replace("flatten(0, 1)", "flatten(1)"),
        "There is one row for each text, with the logits of all its tokens. One prediction is V numbers: join the "
        "first two dimensions."),
    mistake("kinds_in_the_middle", replace(FLAT, "logits.transpose(1, 2), targets"),
        "The logits became (B, V, T). PyTorch's own loss takes this too, but here the result should be flat: (B · T, "
        "V) and (B · T,)."),
    mistake("targets_as_a_column", replace("targets.flatten()", "targets.reshape(-1, 1)"),
        "The targets became a column, (B · T, 1). They should be a flat list with one id for each prediction: (B · "
        "T,)."),
    mistake("lonely_prediction_squeezed", replace(FLAT, "logits.flatten(0, 1).squeeze(), targets.flatten().squeeze()"),
        "`squeeze()` removes every dimension of size one, so a single prediction is not a row any more."),
    mistake("flat_without_gradients", replace("logits.flatten", "logits.detach().flatten"),
        "The logits are cut off from the gradients, for example by `.detach()`, `.data` or `torch.no_grad()`. The "
        "loss is computed from them, and through it the whole model learns."),
]  # fmt: skip


# -- probes --------------------------------------------------------------------------------------------------------


@probe()
def predictions_with_targets(unit: Any, draw: Draw) -> Iterator[Property]:
    """No rule defines the order of the predictions, so they are sorted first."""
    batch, num_tokens, vocabulary = draw.sizes(3)
    logits = draw.viewed(draw.normal(batch, num_tokens, vocabulary)).requires_grad_()
    targets = draw.viewed(draw.integers(0, vocabulary, batch, num_tokens))
    before = logits.detach().clone(), targets.clone()
    rows, of_rows = unit.flatten_for_cross_entropy(logits, targets)
    yield "the shapes", [tuple(rows.shape), tuple(of_rows.shape)]
    yield "whether the targets are integers", not of_rows.is_floating_point()
    order = rows[:, 0].argsort()
    yield "the logits", rows[order]
    yield "the targets", of_rows[order]
    yield "the arguments afterwards", alike([logits, targets], before)
    yield "the gradient of the logits", torch.autograd.grad(rows.sin().sum(), [logits])


# -- answers -------------------------------------------------------------------------------------------------------


def wrong_answers():
    """Mistakes without a name, and answers with two. Never run here: the audit reads them."""

    import torch.nn.functional as F

    def softmax_on_the_way(logits, targets):
        return torch.softmax(logits.flatten(0, 1), dim=-1), targets.flatten()

    def one_hot_targets(logits, targets):
        return logits.flatten(0, 1), F.one_hot(targets.flatten(), logits.shape[-1])

    def argmax_of_the_logits(logits, targets):
        return logits.flatten(0, 1).argmax(-1), targets.flatten()

    def picked_logits(logits, targets):
        rows = logits.flatten(0, 1)
        return rows.gather(1, targets.flatten()[:, None]), targets.flatten()

    def first_text(logits, targets):
        return logits[0], targets[0]

    def three_values(logits, targets):
        return logits.flatten(0, 1), targets.flatten(), logits.shape


def right_answers():
    """Answers in other styles. Never run here: the audit reads them."""

    from typing import Tuple

    from torch import Tensor

    def by_hand(logits, targets):
        rows, ids = [], []
        for text, answers in zip(logits, targets):
            for row, answer in zip(text, answers):
                rows.append(row)
                ids.append(answer)
        return torch.stack(rows), torch.stack(ids)

    def heads_of_unit_four(logits, targets):
        order = torch.arange(targets.numel()).flip(0)  # from the last prediction to the first
        return logits.reshape(-1, logits.shape[-1])[order], targets.reshape(-1)[order]

    def index_notation(logits: Tensor, targets: Tensor) -> Tuple[Tensor, Tensor]:
        # Token by token and not text by text: any order will do, if it is the same for both.
        return logits.transpose(0, 1).reshape(-1, logits.size(2)), targets.t().reshape(-1)

    def ready_made(logits, targets):
        B, T, C = logits.shape
        return [logits.reshape(B * T, C), targets.reshape(B * T)]
