"""Causal attention's inputs leave no doubt or show the weights, and each way to look ahead or to drop them is told."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor, nn
from units import SUBSTITUTES

from grader.suites.causal import (
    D_OUT,
    Matrices,
    Parts,
    dropped_in_training,
    expect_dropping_after_softmax,
    expect_each_weight_dropped_by_itself,
    expect_no_look_ahead,
    shown,
    softmax,
    texts_with_other_ends,
    tokens_beyond_doubt,
)
from grader.testing.backend import InProcessBackend
from grader.testing.checks import CheckFailed
from grader.testing.inputs import Fresh
from grader.testing.student import RemoteObject, Student

LOWER = torch.ones(16, 16, dtype=torch.bool).tril()


class Attention(nn.Module):
    """Causal attention with its dropout in one of several places."""

    def __init__(self, d_in: int, d_out: int, dropout: float, place: str = "weights") -> None:
        super().__init__()
        self.W_query, self.W_key, self.W_value = (nn.Parameter(torch.zeros(d_in, d_out)) for _ in range(3))
        self.dropout, self.place = nn.Dropout(dropout), place

    def drop(self, weights: Tensor) -> Tensor:
        match self.place:
            case "weights":
                return self.dropout(weights)
            case "tokens":
                return weights * self.dropout(torch.ones_like(weights[:, :1]))
            case "rows":
                return weights * self.dropout(torch.ones_like(weights[..., :1]))
            case "texts":
                return weights * self.dropout(torch.ones_like(weights[:1]))
            case "unscaled":
                return self.dropout(weights) * (1 - self.dropout.p) if self.training else weights
            case "rows made whole":
                return nn.functional.normalize(self.dropout(weights), p=1, dim=-1)
            case "rows divided by nothing":
                left = self.dropout(weights)
                return left / left.sum(dim=-1, keepdim=True)
            case "minus infinity":
                is_dropped = self.dropout(torch.ones_like(weights)) == 0
                return weights.masked_fill(is_dropped, -torch.inf) if self.training else weights
            case "share kept":
                kept = self.dropout(torch.ones_like(weights)) != 0
                return weights * kept / kept.double().mean()
        return weights

    def forward(self, inputs: Tensor) -> Tensor:
        inputs = self.dropout(inputs) if self.place == "inputs" else inputs
        queries, keys, values = (inputs @ matrix for matrix in (self.W_query, self.W_key, self.W_value))
        if self.place == "projections":
            queries, keys, values = self.dropout(queries), self.dropout(keys), self.dropout(values)
        scores = queries @ keys.mT / keys.shape[-1] ** 0.5
        future = torch.ones(scores.shape[-2:], dtype=torch.bool).triu(1)
        masked = scores.masked_fill(future, -torch.inf)
        if self.place == "masked scores":
            return softmax(self.dropout(masked)) @ values
        if self.place == "values":
            values = self.dropout(values)
        outputs = self.drop(softmax(masked)) @ values
        return self.dropout(outputs) if self.place == "outputs" else outputs


def in_training(place: str = "weights") -> tuple[torch.Tensor, torch.Tensor]:
    """The weights of a module with a dropout of 0.3, and its outputs in training."""
    student = Student(InProcessBackend("answers", {"Attention": Attention}), "answers")

    def evaluated(matrices: Matrices, _num_tokens: int, dropout: float) -> RemoteObject:
        made = student.Attention(*matrices["W_query"].shape, dropout, place)
        assert isinstance(made, RemoteObject)
        made.set(matrices)
        made.eval()
        return made

    student.seed(1)
    return dropped_in_training(student, Fresh(1), evaluated, 0.3, texts=2, calls=6)


# -- inputs ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("divisor", [1.0, D_OUT**0.5, 2.0 * D_OUT])
@pytest.mark.parametrize("is_causal", [True, False])
def test_whatever_scores_are_divided_by_one_token_gets_all_the_weight(divisor: float, is_causal: bool) -> None:
    inputs, matrices = tokens_beyond_doubt(Fresh(1), 2, 5)
    scores = (inputs @ matrices["W_query"]) @ (inputs @ matrices["W_key"]).mT / divisor
    weights = softmax(scores.masked_fill(~LOWER[:5, :5], -torch.inf) if is_causal else scores)
    assert torch.allclose(weights.amax(-1), torch.ones(2, 5), atol=1e-5)
    assert bool((weights.argmax(-1) <= torch.arange(5)).all())


def test_outputs_show_the_weights_twice() -> None:
    student, texts = Student(InProcessBackend("answers", {}), "answers"), torch.arange(10).view(2, 5)
    batch = shown(Fresh(1), texts, 12)
    weights = batch.expected(student, texts)
    values = batch.inputs(texts).double() @ batch.matrices["W_value"].double()
    assert torch.allclose(weights @ values, torch.cat([weights, weights, torch.zeros(2, 5, 1)], dim=-1))


def test_expected_weights_are_made_with_the_substitute_that_the_student_has() -> None:
    student = Student(InProcessBackend("answers", {}), "answers", SUBSTITUTES)
    scores = Fresh(1)(5, 5)
    right = Parts(student).weights(scores, 4)
    with student.substituted("causal_mask"):
        assert not torch.allclose(Parts(student).weights(scores, 4), right)


# -- the future --------------------------------------------------------------------------------------------------


def test_running_sums_do_not_look_ahead() -> None:
    sums = texts_with_other_ends(Fresh(1), 5, 3).cumsum(dim=1)
    expect_no_look_ahead(sums, sums)


def test_what_substitutes_make_of_the_future_is_not_held_against_an_answer() -> None:
    means = texts_with_other_ends(Fresh(1), 5, 3)
    means += means.mean(dim=1, keepdim=True)
    expect_no_look_ahead(means, means)


@pytest.mark.parametrize(
    ("outputs", "reason"),
    [
        (lambda inputs: inputs.mean(dim=1, keepdim=True).expand_as(inputs), "An output changed with a token that"),
        (lambda inputs: inputs.cumsum(dim=1).roll(1, 1).index_fill(1, torch.tensor([0]), 0.0), "The last output did"),
        (lambda inputs: inputs, "The second output did not change with the first token."),
    ],
)
def test_looking_ahead_and_looking_away_are_told_apart(outputs: object, reason: str) -> None:
    assert callable(outputs)
    inputs = texts_with_other_ends(Fresh(1), 5, 3)
    with pytest.raises(CheckFailed, match=reason):
        expect_no_look_ahead(outputs(inputs), inputs.cumsum(dim=1))


# -- dropout -----------------------------------------------------------------------------------------------------


def test_weights_dropped_each_by_itself_pass() -> None:
    weights, outputs = in_training()
    expect_each_weight_dropped_by_itself(outputs, LOWER, 0.3)
    expect_dropping_after_softmax(weights, outputs, 0.3)


@pytest.mark.parametrize(
    ("place", "reason"),
    [
        ("texts", "All texts of a batch drop the same weights."),
        ("tokens", "Whole tokens are dropped for all."),
        ("rows", "Whole rows of weights are dropped."),
    ],
)
def test_weights_dropped_together_are_told(place: str, reason: str) -> None:
    _, outputs = in_training(place)
    with pytest.raises(CheckFailed, match=reason):
        expect_each_weight_dropped_by_itself(outputs, LOWER, 0.3)


def test_another_share_of_weights_than_agreed_is_told() -> None:
    _, outputs = in_training()
    with pytest.raises(CheckFailed, match="The share of weights that are dropped is not near `dropout`"):
        expect_each_weight_dropped_by_itself(outputs, LOWER, 0.6)


def test_a_call_that_drops_what_another_did_is_told() -> None:
    _, outputs = in_training()
    with pytest.raises(CheckFailed, match="Several calls drop the same weights"):
        expect_each_weight_dropped_by_itself(outputs[:1].expand(6, -1, -1, -1), LOWER, 0.3)


@pytest.mark.parametrize(
    ("place", "reason"),
    [
        ("outputs", r"A weight is not the same for all features of a value\.$"),
        ("values", r"A weight is not the same for all features of a value\.$"),
        ("projections", "A weight is not the same for all features of a value, and what is kept was multiplied"),
        ("inputs", "Weights that are kept were multiplied by different numbers"),
        ("rows made whole", "Weights that are kept were multiplied by different numbers"),
        ("share kept", "Weights that are kept were multiplied by other numbers in other calls"),
        ("unscaled", "What weights that are kept were multiplied by are not the expected ones"),
    ],
)
def test_what_is_dropped_is_a_weight_and_the_others_grow(place: str, reason: str) -> None:
    weights, outputs = in_training(place)
    with pytest.raises(CheckFailed, match=reason):
        expect_dropping_after_softmax(weights, outputs, 0.3)


@pytest.mark.parametrize(
    ("place", "reason"),
    [
        ("minus infinity", "Even the last token's outputs in training are not finite numbers."),
        ("masked scores", "Most tokens' outputs in training are not finite numbers."),
        ("rows divided by nothing", "The outputs in training are not all finite numbers."),
    ],
)
def test_where_outputs_are_not_finite_tells_what_was_done(place: str, reason: str) -> None:
    with pytest.raises(CheckFailed, match=reason):
        in_training(place)


def test_a_module_that_drops_nothing_is_told() -> None:
    with pytest.raises(CheckFailed, match="In training no weight ever becomes zero"):
        in_training("nowhere")
