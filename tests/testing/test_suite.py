"""The contract of an exercise: each criterion passes a right answer, and fails a wrong one with its sentence."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from types import ModuleType
from typing import Any

import pytest
import torch
from torch import nn

from grader.engine.criteria import Criterion, criteria_of
from grader.testing.behaviour import generator_draws, later_tokens_unseen, refusals, steady_results
from grader.testing.checks import expect_close
from grader.testing.draws import Fresh
from grader.testing.student import InProcessBackend, Student
from grader.testing.suite import (
    IN_BOTH_DTYPES,
    Given,
    asking,
    asking_module,
    contract,
    kept_arguments,
    right_gradients,
    right_results,
)

SHAPES = ({"shape": (3,)}, {"shape": (2, 1)})


def ask_scale(student: Student, fresh: Fresh) -> Given:
    """Ask for a module's output, whose parameters the right function takes by name."""
    scale, x = student.queue("Scale", 3.0), fresh(4)
    return Given(scale, [x], lambda y: expect_close(y, 3 * x), lambda x, factor: factor * x, scale.parameters())


class Summing(nn.Module):
    """The sum of the texts' tokens up to each, times a weight."""

    def __init__(self, tokens: int, dropout: float) -> None:
        super().__init__()
        if tokens < 1:
            raise ValueError
        self.weight = nn.Parameter(torch.ones(()))
        self.dropout = nn.Dropout(dropout)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.weight * self.dropout(self.mixed(x))

    def mixed(self, x: torch.Tensor) -> torch.Tensor:
        return x.cumsum(1)


class Averaging(Summing):
    """Sees later tokens."""

    def mixed(self, x: torch.Tensor) -> torch.Tensor:
        return x + x.mean(1, keepdim=True)


class Shifting(Summing):
    """Does not see the last token."""

    def mixed(self, x: torch.Tensor) -> torch.Tensor:
        return nn.functional.pad(x.cumsum(1), (0, 0, 1, 0))[:, :-1]


class Apart(Summing):
    """Sees one token."""

    def mixed(self, x: torch.Tensor) -> torch.Tensor:
        return x


class Tolerant(Summing):
    """Refuses nothing."""

    def __init__(self, _tokens: int, dropout: float) -> None:
        super().__init__(1, dropout)


class Refusing(Summing):
    """Refuses every number of tokens."""

    def __init__(self, _tokens: int, dropout: float) -> None:
        super().__init__(0, dropout)


class Dropping(Summing):
    """Drops in eval mode too."""

    def train(self, _mode: bool = True) -> Dropping:
        return super().train(True)


class DroppingInTraining(Summing):
    """Drops half of the numbers in training, whatever `dropout` is."""

    def __init__(self, tokens: int, dropout: float) -> None:
        super().__init__(tokens, dropout or 0.5)


SUMS = asking_module(
    "Sums",
    lambda fresh, tokens=4, dropout=0.0, **dtype: ([tokens, dropout], {"weight": fresh(**dtype)},
                                                   [fresh(2, 4, 3, **dtype)]),
    lambda _: lambda x, weight: weight * x.cumsum(1),
)  # fmt: skip
DRAWS = asking("draw", lambda _: [100], lambda _: lambda count: count, lambda found, count: found[:count])


def drawn(count: int, generator: torch.Generator | None = None) -> torch.Tensor:
    return torch.rand(count, generator=generator)


def drawn_with_a_seed(count: int, generator: torch.Generator | None = None) -> torch.Tensor:
    return torch.rand(count, generator=generator or torch.Generator().manual_seed(1))


def criteria() -> dict[str, Criterion]:
    """The criteria of a suite with a contract, by name. Each begins on the line with its name."""
    suite = ModuleType("weigh")
    suite.__file__ = __file__
    suite.test_contract = contract(  # type: ignore[attr-defined]
        asking(
            "weigh",
            lambda fresh, shape=(3,), **dtype: [fresh(*shape, **dtype), fresh(*shape, **dtype)],
            lambda _: torch.mul,
        ),
        right_results("once", "weights times numbers", "The numbers should be weighed."),
        right_results("any_shape", "any shape works", "Any shape should work.", *SHAPES),
        right_results("either_dtype", "float32 and float64 work", "Both dtypes should work.", *IN_BOTH_DTYPES),
        right_gradients("gradients_of_both", "gradients flow to both", "Gradients should flow to both."),
        kept_arguments("both_are_kept", "both stay the same", "Both should stay.", "a was changed.", "b was changed."),
        kept_arguments("x_is_kept", "x stays the same", "x should stay.", "x was changed.", ask=ask_scale),
        right_gradients("gradients_of_the_factor", "gradients flow to it", "It should learn.", ask=ask_scale),
        right_results("the_sums", "sums", "It should sum.", {}, {"dtype": torch.float64}, ask=SUMS),
        right_gradients("gradients_of_the_sums", "gradients flow", "Gradients should flow.", ask=SUMS),
        refusals("no_tokens", "none", "None is too few.", {"tokens": 0}, {"tokens": -1}, ask=SUMS),
        steady_results("in_eval", "eval mode", "Nothing should be dropped.", {"dropout": 0.5}, ask=SUMS),
        steady_results("in_training", "training", "It should be exact.", {"is_training": True}, ask=SUMS),
        later_tokens_unseen("later_tokens", "the future is hidden", "The future should be hidden.", ask=SUMS),
        *generator_draws("numbers", "from_the_generator", "by_state", "global_draws", ask=DRAWS),
    )
    return {one.name: one for one in criteria_of(suite, "answers", "1").values()}


class Scale(nn.Module):
    def __init__(self, factor: float) -> None:
        super().__init__()
        self.factor = nn.Parameter(torch.tensor(factor))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.factor * x


class ScaleInPlace(Scale):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x.mul_(self.factor.detach())


class FrozenScale(Scale):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.factor.detach() * x


def changing_the_second(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    product = a * b
    b.zero_()
    return product


RIGHT = {"weigh": lambda a, b: b * a, "Scale": Scale, "Sums": Summing, "draw": drawn}


@pytest.mark.parametrize("name", criteria())
def test_a_right_answer_passes(name: str) -> None:
    found = criteria()[name].run(InProcessBackend("answers", RIGHT))
    assert found.passed, found


@pytest.mark.parametrize(
    ("name", "answer", "reason"),
    [
        ("once", lambda a, b: a + b, "The values are not the expected ones"),
        ("any_shape", lambda a, b: (a * b).flatten(), "shape"),
        ("either_dtype", lambda a, b: a * b if a.dtype == torch.float32 else a, "The values are not"),
        ("gradients_of_both", lambda a, b: a.detach() * b, "No gradient reaches argument 1."),
        ("both_are_kept", changing_the_second, "b was changed."),
        ("both_are_kept", lambda a, b: a.mul_(b), "a was changed."),
        ("x_is_kept", ScaleInPlace, "x was changed."),
        ("gradients_of_the_factor", FrozenScale, "No gradient"),
        ("the_sums", Averaging, "The outputs are not the expected ones"),
        ("no_tokens", Tolerant, "It raised no error where one was expected: for tokens = 0."),
        ("no_tokens", Refusing, "It raised a ValueError."),
        ("in_eval", Dropping, "The outputs change from call to call."),
        ("in_training", DroppingInTraining, "The outputs change from call to call."),
        ("in_training", Averaging, "The outputs are not the expected ones"),
        ("later_tokens", Averaging, "An output changed with a token that"),
        ("later_tokens", Shifting, "The last output did not change with its own token."),
        ("later_tokens", Apart, "The second output did not change with the first token."),
        ("from_the_generator", lambda count, **_options: drawn(count), "The generator's state is the same"),
        ("by_state", lambda count, **_options: drawn(count), "The same state gives other draws."),
        ("global_draws", drawn_with_a_seed, "Another state gives the same draws."),
    ],
)
def test_a_wrong_answer_fails_with_its_reason(name: str, answer: Callable[..., Any], reason: str) -> None:
    found = criteria()[name].run(InProcessBackend("answers", dict.fromkeys(RIGHT, answer)))
    assert not found.passed
    assert reason in found.reason, found


def test_a_criterion_has_the_words_and_the_line_of_its_declaration() -> None:
    lines, first = inspect.getsourcelines(criteria)
    for name, criterion in criteria().items():
        [declared] = [number for number, line in enumerate(lines, first) if f'"{name}"' in line]
        assert (criterion.file.name, criterion.line) == ("test_suite.py", declared)
        assert criterion.exercise == "weigh"
        if "generator_draws" not in lines[declared - first]:
            assert f'"{name}", "{criterion.rules[0]}", "{criterion.sentence}"' in lines[declared - first]


def test_draws_from_a_generator_have_the_rules_and_sentences_that_all_exercises_share() -> None:
    first, second, third = list(criteria().values())[-3:]
    assert first.rules == ("with a generator, every random draw comes from it and advances it",)
    assert second.sentence.startswith("With the same generator state the numbers should be the same")
    assert third.sentence.endswith("control the numbers, and a second call should give others.")


def test_a_rule_about_a_generator_may_have_a_test_of_its_own() -> None:
    assert [part.name for part in generator_draws("numbers", "", "by_state", "global_draws")] == [
        "by_state",
        "global_draws",
    ]
