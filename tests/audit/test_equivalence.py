"""The search for a difference, on probes and answers of a few lines."""

from __future__ import annotations

import itertools
import random
from collections.abc import Callable, Iterator
from types import ModuleType
from typing import Any

import pytest
import torch

from grader.audit import equivalence
from grader.audit.equivalence import SearchResult, Solution
from grader.testing.probes import (
    Draw,
    Estimate,
    Probe,
    Property,
    alike,
    call,
    draws_from_generator,
    probe,
    probes_of,
    refusal,
    shares,
)

Function = Callable[[Any], Any]


@probe(draws=50)
def doubled(unit: Any, draw: Draw) -> Iterator[Property]:
    yield "the number", unit.double(draw.number)


@probe(draws=3)
def doubled_again(unit: Any, draw: Draw) -> Iterator[Property]:
    yield "the text", unit.double("a" * draw.number)


def double(number: Any) -> Any:
    return number * 2


def probes(*functions: Any) -> list[tuple[Probe, int]]:
    module = ModuleType("probes")
    vars(module).update({function.__name__: function for function in functions})
    return probes_of(module)


def search(right: Function, other: Function, *functions: Any) -> SearchResult:
    return Solution({"double": right}, probes(*functions)).search({"double": other})


# -- the search --------------------------------------------------------------------------------------------------


def test_an_answer_that_does_the_same_is_searched_to_the_end() -> None:
    assert search(double, lambda number: number + number, doubled, doubled_again) == SearchResult(None, 53)


def test_a_difference_is_found_in_the_first_draw_that_shows_it() -> None:
    found = search(double, lambda number: number * 2 if number != 7 else 0, doubled)

    assert found == SearchResult("the number: draw 7 of doubled", 8)


def test_the_first_draws_of_every_probe_come_before_the_rest() -> None:
    def wrong_late(number: Any) -> Any:
        return number * 2 if isinstance(number, int) and number < 40 else 0

    assert search(double, wrong_late, doubled, doubled_again).difference == "the text: draw 0 of doubled_again"


def test_an_answer_that_raises_differs() -> None:
    found = search(double, lambda number: number.missing, doubled)

    assert found.difference == "it raised AttributeError at the first call or after it: draw 0 of doubled"


def test_an_answer_that_never_ends_differs_and_is_not_a_refusal(monkeypatch: pytest.MonkeyPatch) -> None:
    @probe(draws=1)
    def refused(unit: Any, _draw: Draw) -> Iterator[Property]:
        yield from refusal(unit.double, "text", any_error=True)

    def refusing(_text: Any) -> None:
        raise ValueError

    def endless(_text: Any) -> None:
        while True:
            pass

    monkeypatch.setattr(equivalence, "PROBE_SECONDS", 0.05)

    assert search(double, endless, doubled).draws == 1
    assert search(double, endless, doubled).difference is not None
    assert search(refusing, endless, refused).difference is not None


def test_an_answer_that_shows_less_differs() -> None:
    @probe(draws=1)
    def each(unit: Any, _draw: Draw) -> Iterator[Property]:
        for number in unit.double([1, 2]):
            yield "a number", number

    assert search(double, lambda numbers: numbers, each).difference is not None


def test_a_solution_is_observed_once() -> None:
    calls = []

    def counted(number: Any) -> Any:
        calls.append(number)
        return number * 2

    solution = Solution({"double": counted}, probes(doubled))
    solution.search({"double": double})
    solution.search({"double": double})

    assert calls == list(range(50))


def test_both_answers_get_the_same_draws_and_random_states() -> None:
    @probe()
    def by_chance(unit: Any, draw: Draw) -> Iterator[Property]:
        yield "numbers", [*draw.normal(2, 3).tolist(), draw.size(), draw.integers(0, 9, 4).tolist()]
        yield "chance", unit.double(0)

    def from_chance(_number: Any) -> Any:
        return torch.rand(3), random.random()

    assert search(from_chance, from_chance, by_chance).difference is None


# -- comparing observations --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("found", "right"),
    [
        (torch.tensor([1.0, 2.0]), torch.tensor([1.00005, 2.0])),
        (torch.tensor([1.0]).double(), torch.tensor([1.0])),
        ([1, torch.ones(2)], (1, torch.ones(2))),
        (1, 1.0),
        (torch.tensor(3), 3),
        (torch.tensor(3).numpy()[()], torch.tensor(3.0)),
        (None, None),
        ("text", "text"),
        (Estimate(1.0, 0.1), Estimate(1.19, 0.1)),
        (Estimate(torch.ones(2), 0.1), Estimate(torch.ones(2), torch.tensor([0.0, 0.1]))),
    ],
)
def test_these_are_alike(found: Any, right: Any) -> None:
    assert alike(found, right)


@pytest.mark.parametrize(
    ("found", "right"),
    [
        (torch.tensor([1.0, 2.0]), torch.tensor([1.001, 2.0])),
        (torch.ones(1), torch.ones(())),
        (torch.ones(2, 1), torch.ones(2)),
        (torch.full((2,), torch.nan), torch.ones(2)),
        ([1, 2], (1, 2, 3)),
        (124_439_807, 124_439_808),
        (True, 1),
        (None, 0),
        ("text", "other"),
        (Estimate(1.0, 0.1), Estimate(1.21, 0.1)),
        (1.0, Estimate(1.0, 0.1)),
        (Estimate(torch.ones(2), 0.1), Estimate(torch.ones(3), 0.1)),
        (Estimate(torch.tensor(torch.nan), 0.1), Estimate(1.0, 0.1)),
    ],
)
def test_these_are_not_alike(found: Any, right: Any) -> None:
    assert not alike(found, right)


# -- helpers of probes -------------------------------------------------------------------------------------------


def test_a_call_shows_values_arguments_and_gradients() -> None:
    found = list(call(lambda x, y: x * y + y, torch.tensor([2.0]), torch.tensor([3.0]), keeps_dtype=True))

    cosine = torch.cos(torch.tensor([1.0]))  # of the first place of a sum with weights
    expected = [
        ("the values", torch.tensor([9.0])),
        ("the dtypes", ["torch.float32"]),
        ("the arguments afterwards", [torch.tensor([2.0]), torch.tensor([3.0])]),
        ("the gradient of argument 1", 3 * cosine),
        ("the gradient of argument 2", 3 * cosine),
    ]
    assert alike(found, expected)


def test_a_call_shows_changed_arguments() -> None:
    given = torch.tensor([2.0])

    found = dict(itertools.islice(call(lambda x: x.detach().mul_(2), given), 2))

    assert found["the arguments afterwards"] == [torch.tensor([4.0])]
    assert given == 2


def test_a_call_keeps_the_memory_layout_of_its_arguments() -> None:
    given = torch.arange(24.0).reshape(2, 3, 4).permute(2, 0, 1)[..., ::2]

    strides = [
        value for name, value in call(lambda x: (x * 1, torch.tensor(x.stride())), given) if name == "the values"
    ]

    assert tuple(strides[0][1].tolist()) == given.stride()


def test_a_refusal_has_to_be_of_one_of_two_types() -> None:
    def raises(error: type[Exception]) -> None:
        raise error

    assert [list(refusal(raises, error)) for error in (ValueError, AssertionError)] == [[("the refusal", True)]] * 2
    assert list(refusal(raises, TypeError)) == [("the refusal", "an error of another type")]
    assert list(refusal(raises, TypeError, any_error=True)) == [("the refusal", True)]
    assert list(refusal(abs, 1)) == [("the refusal", False)]


def test_shares_distinguish_dependent_from_independent_events() -> None:
    generator = torch.Generator().manual_seed(0)
    first, second, third = (torch.rand(2000, 2, generator=generator) < 0.3 for _ in range(3))
    together = second[:, :1].expand(-1, 2)
    repeated = third[:1000].repeat_interleave(2, dim=0)

    assert alike(list(shares(second)), list(shares(first)))
    assert not alike(list(shares(together)), list(shares(first)))
    assert not alike(list(shares(repeated)), list(shares(first)))
    assert not alike(list(shares(~second)), list(shares(first)))


def kept_rules(result_with: Callable[[torch.Generator | None], Any]) -> list[bool]:
    return [bool(kept) for _, kept in draws_from_generator(result_with, seed=5)]


def test_draws_that_come_from_the_generator_keep_every_rule() -> None:
    assert all(kept_rules(lambda generator: torch.rand(9, generator=generator)))


@pytest.mark.parametrize(
    "result_with",
    [
        lambda _generator: torch.rand(9),
        lambda generator: torch.rand(9, generator=generator) + torch.rand(9),
        lambda _generator: random.random(),
        lambda _generator: torch.ones(9),
        lambda generator: torch.rand(9, generator=generator or torch.Generator().manual_seed(1)),
        lambda generator: torch.rand(
            9, generator=generator and torch.Generator().manual_seed(generator.initial_seed())
        ),
    ],
    ids=["global", "both", "python", "none", "fixed", "copied"],
)
def test_draws_from_elsewhere_break_a_rule(result_with: Callable[[torch.Generator | None], Any]) -> None:
    assert not all(kept_rules(result_with))


def test_viewed_numbers_stay_the_same_in_many_layouts() -> None:
    numbers = torch.arange(24.0).reshape(2, 3, 4)

    views = [Draw(number).viewed(numbers) for number in range(200)]

    assert all(torch.equal(view, numbers) for view in views)
    assert len({view.stride() for view in views}) == 12
