"""What a hidden test is given, and checks of random draws: how often an event occurs, and from which generator.

Let an event, such as that an entry is kept, occur in each of n independent draws with the same probability q. By
Hoeffding's inequality the number of occurrences differs from q n by more than t with a probability of at most
2 exp(-2 t² / n): for t = 3 √n that is 2 exp(-18) < 4e-8. So a right answer fails a test with at most eight such counts
less than once in a million times.

Nothing that depends on the draws is recorded, because each answer draws differently.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Protocol

import torch

from grader.testing.checks import expect_true
from grader.testing.student import RemoteObject, Student

# Tracebacks end at the line of the test.
__tracebackhide__ = True


UNUSED_GENERATOR = (
    "The generator's state is the same as before: draw with a function of torch that takes `generator=generator`, such "
    "as `torch.rand`, `torch.randint` or `torch.multinomial`."
)


class Fresh:
    """Draws standard normal inputs, the same ones in every run of a test."""

    def __init__(self, seed: int) -> None:
        """Start at this seed."""
        self.generator = torch.Generator().manual_seed(seed)

    def __call__(self, *shape: int, dtype: torch.dtype = torch.float32) -> torch.Tensor:
        """Return standard normal numbers of this shape."""
        return torch.randn(shape, generator=self.generator, dtype=torch.float64).to(dtype)

    def order(self, count: int) -> torch.Tensor:
        """Return the numbers from 0 to count - 1, (count,), in random order."""
        return self(count).argsort()

    def rotation(self, size: int) -> torch.Tensor:
        """Return an orthogonal matrix, (size, size), in float64."""
        orthogonal: torch.Tensor = torch.linalg.qr(self(size, size, dtype=torch.float64)).Q
        return orthogonal


def numbers(*shape: int, seed: int = 0) -> torch.Tensor:
    """Return numbers from -2 to 2 with one decimal: always the same ones for a shape and a seed."""
    generator = torch.Generator().manual_seed(seed)
    return torch.randint(-20, 21, shape, generator=generator) / 10


class DrawFunction(Protocol):
    """Returns draws. Two of them are equal by chance less than once in a thousand million times."""

    def __call__(self, *, generator: RemoteObject | None = None) -> torch.Tensor:
        """Draw from this generator, or from torch's global one."""


def expect_count(marks: torch.Tensor, probability: float, reason: str) -> None:
    """Expect about this share of the marks to be true. Each mark is true or false, or one or zero."""
    count = marks.numel()
    expect_true(abs(marks.sum().item() - probability * count) <= 3 * math.sqrt(count), reason)


def expect_own_draws(kept: torch.Tensor, pairs: Mapping[str, torch.Tensor]) -> None:
    """Expect that entries are kept or dropped independently: not nearly all pairs of them together.

    pairs: by reason, true for each pair of which both are kept or both dropped.

    Use it before a count, which is a matter of luck if many entries depend on one draw. If n independent pairs are
    alike with a probability of at most 0.7, nine in ten of them are alike with a probability of exp(-0.08 n): for 200
    pairs, 2e-7. If n entries are each kept with a probability of 0.2 to 0.8, all but a twentieth are kept, or dropped,
    with a probability of 2 exp(-0.045 n): for 1,000 entries, 6e-20.
    """
    count, some = kept.sum().item(), 0.05 * kept.numel()
    # If nearly all are kept or dropped, nearly all pairs are alike in any case.
    expect_true(some <= count <= kept.numel() - some, "Nearly all are kept, or nearly none.")
    for reason, alike in pairs.items():
        expect_true(alike.sum().item() <= 0.9 * alike.numel(), reason)


def expect_draws_from_a_generator(student: Student, draw: DrawFunction, other: str) -> None:
    """Expect draws to advance a generator, not torch's global one, and other states to give other draws.

    other: what the student reads if another state gives the same draws.
    """
    results = []
    student.seed(3)
    untouched = _global_draw(student)
    for seed in (1, 2):
        generator = student.generator(seed)
        student.seed(3)
        results.append(draw(generator=generator))
        expect_used(generator, seed)
        expect_true(torch.equal(_global_draw(student), untouched), "Torch's global state has moved as well.")
    expect_true(not torch.equal(*results), other)


def expect_used(generator: RemoteObject, seed: int) -> None:
    """Expect a generator that was made with this seed to have another state by now."""
    before = torch.Generator().manual_seed(seed).get_state()
    expect_true(not torch.equal(generator.state(), before), UNUSED_GENERATOR)


def _global_draw(student: Student) -> torch.Tensor:
    """Return the next draws of the backend's global generator: the weights of a new layer."""
    return student.make("Linear", 6, 6).parameters()["weight"]


def expect_draws_by_state(student: Student, draw: DrawFunction, same: str, other: str) -> None:
    """Expect the draws to depend on the state of the generator, and not on torch's global one.

    same, other: what the student reads if the same state gives other draws, and if another state gives the same.
    """
    results = []
    for seed, state in ((1, 3), (2, 3), (2, 4)):
        student.seed(seed)
        results.append(draw(generator=student.generator(state)))
    _expect_repeated(results, same, other)


def expect_global_draws(student: Student, draw: DrawFunction, same: str, other: str, again: str) -> None:
    """Expect draws without a generator to depend on torch's global state, and to advance it.

    same, other: as above. again: what the student reads if a second call repeats the draws of the first.
    """
    results = []
    for seed in (1, 1, 2):
        student.seed(seed)
        results.append(draw())
    _expect_repeated(results, same, other)
    expect_true(not torch.equal(results[-1], draw()), again)


def _expect_repeated(results: list[torch.Tensor], same: str, other: str) -> None:
    """Expect the first two of three results to be equal, and the third to differ."""
    expect_true(torch.equal(*results[:2]), same)
    expect_true(not torch.equal(*results[1:]), other)  # an answer that always draws the same ignores the state
