"""Decisive inputs, weights as outputs, and the checks that detect looking ahead and wrong dropout."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor, nn
from units import SUBSTITUTES

from grader.suites.causal import (
    D_OUT,
    Matrices,
    Parts,
    decisive_tokens,
    dropped_in_training,
    expect_dropping_after_softmax,
    expect_each_weight_dropped_by_itself,
    softmax,
    weights_as_outputs,
)
from grader.testing.checks import CheckFailed
from grader.testing.draws import Fresh
from grader.testing.student import InProcessBackend, RemoteObject, Student

LOWER = torch.ones(16, 16, dtype=torch.bool).tril()


class Attention(nn.Module):
    """Causal attention with dropout in one of several places."""

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
            case "rows renormalized":
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

    def in_eval_mode(matrices: Matrices, _num_tokens: int, dropout: float) -> RemoteObject:
        made = student.Attention(*matrices["W_query"].shape, dropout, place)
        assert isinstance(made, RemoteObject)
        made.set(matrices)
        made.eval()
        return made

    student.seed(1)
    return dropped_in_training(student, Fresh(1), in_eval_mode, 0.3, texts=2, calls=6)


# -- inputs ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("divisor", [1.0, D_OUT**0.5, 2.0 * D_OUT])
@pytest.mark.parametrize("is_causal", [True, False])
def test_decisive_tokens_give_one_token_all_the_weight_for_any_divisor(divisor: float, is_causal: bool) -> None:
    inputs, matrices = decisive_tokens(Fresh(1), 2, 5)
    scores = (inputs @ matrices["W_query"]) @ (inputs @ matrices["W_key"]).mT / divisor
    weights = softmax(scores.masked_fill(~LOWER[:5, :5], -torch.inf) if is_causal else scores)
    assert torch.allclose(weights.amax(-1), torch.ones(2, 5), atol=1e-5)
    assert bool((weights.argmax(-1) <= torch.arange(5)).all())


def test_outputs_are_the_weights_twice() -> None:
    student, texts = Student(InProcessBackend("answers", {}), "answers"), torch.arange(10).view(2, 5)
    batch = weights_as_outputs(Fresh(1), texts, 12)
    weights = batch.expected(student, texts)
    values = batch.inputs(texts).double() @ batch.matrices["W_value"].double()
    assert torch.allclose(weights @ values, torch.cat([weights, weights, torch.zeros(2, 5, 1)], dim=-1))


def test_expected_weights_use_the_same_substitute_as_the_student() -> None:
    student = Student(InProcessBackend("answers", {}), "answers", SUBSTITUTES)
    scores = Fresh(1)(5, 5)
    right = Parts(student).weights(scores, 4)
    with student.substituted("causal_mask"):
        assert not torch.allclose(Parts(student).weights(scores, 4), right)


# -- dropout -----------------------------------------------------------------------------------------------------


def test_weights_dropped_independently_pass() -> None:
    weights, outputs = in_training()
    expect_each_weight_dropped_by_itself(outputs, LOWER, 0.3)
    expect_dropping_after_softmax(weights, outputs, 0.3)


@pytest.mark.parametrize(
    ("place", "reason"),
    [
        ("texts", "All texts of a batch drop the same weights."),
        ("tokens", "Whole tokens are dropped, for all queries at once."),
        ("rows", "Whole rows of weights are dropped."),
    ],
)
def test_weights_dropped_together_fail_with_the_reason(place: str, reason: str) -> None:
    _, outputs = in_training(place)
    with pytest.raises(CheckFailed, match=reason):
        expect_each_weight_dropped_by_itself(outputs, LOWER, 0.3)


def test_a_wrong_share_of_dropped_weights_fails() -> None:
    _, outputs = in_training()
    with pytest.raises(CheckFailed, match="The share of weights that are dropped is not near `dropout`"):
        expect_each_weight_dropped_by_itself(outputs, LOWER, 0.6)


def test_calls_that_drop_the_same_weights_fail() -> None:
    _, outputs = in_training()
    with pytest.raises(CheckFailed, match="Several calls drop the same weights"):
        expect_each_weight_dropped_by_itself(outputs[:1].expand(6, -1, -1, -1), LOWER, 0.3)


@pytest.mark.parametrize(
    ("place", "reason"),
    [
        ("outputs", r"A weight is not the same for all features of a value\.$"),
        ("values", r"A weight is not the same for all features of a value\.$"),
        ("projections", "A weight is not the same for all features of a value, and the kept weights were multiplied"),
        ("inputs", "Weights that are kept were multiplied by different numbers"),
        ("rows renormalized", "Weights that are kept were multiplied by different numbers"),
        ("share kept", "Weights that are kept were multiplied by other numbers in other calls"),
        ("unscaled", "The factors of the kept weights are not the expected ones"),
    ],
)
def test_dropout_in_another_place_or_without_scaling_fails_with_the_reason(place: str, reason: str) -> None:
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
def test_the_positions_of_outputs_that_are_not_finite_give_the_reason(place: str, reason: str) -> None:
    with pytest.raises(CheckFailed, match=reason):
        in_training(place)


def test_a_module_that_drops_nothing_fails() -> None:
    with pytest.raises(CheckFailed, match="In training no weight ever becomes zero"):
        in_training("nowhere")
