"""What the suites assert of random draws: how often they meet something, and which generator they come from.

Let n independent draws each meet something with one and the same probability q: an entry is kept, or two are alike. By
Hoeffding's inequality the number that meet it is further than t from q n with a chance of 2 exp(-2 t² / n) at most: for
t = 3 √n that is 2 exp(-18) < 4e-8. So a right answer fails a test of at most eight such counts less than once in a
million times.

Nothing that depends on the draws is noted, for they are each answer's own.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Protocol

import torch

from grader.testing.checks import expect_true

if TYPE_CHECKING:
    from collections.abc import Mapping

    from grader.testing.student import RemoteObject, Student

# In pytest's tracebacks the line of the test matters, not the way from there.
__tracebackhide__ = True


class Draw(Protocol):
    """What asks for draws, which are the same by chance less than once in a thousand million times."""

    def __call__(self, *, generator: RemoteObject | None = None) -> torch.Tensor:
        """Draw from this generator, or from torch's global one."""


def expect_count(marks: torch.Tensor, probability: float, reason: str) -> None:
    """Expect about that share of the marks, each true or false (or one or zero), to be true."""
    count = marks.numel()
    expect_true(abs(marks.sum().item() - probability * count) <= 3 * math.sqrt(count), reason)


def expect_own_draws(kept: torch.Tensor, pairs: Mapping[str, torch.Tensor]) -> None:
    """Expect that not nearly all pairs of entries are kept or dropped together.

    pairs: by reason, true where both came out alike.

    To be asked before a count, which is a matter of luck where many entries hang on one draw. Of n independent pairs
    that are alike with a probability of 0.7 at most, nine in ten are with a chance of exp(-0.08 n): of 200, 2e-7. And
    of n entries, each kept with a probability of 0.2 to 0.8, all but a twentieth are kept, or dropped, with a chance of
    2 exp(-0.045 n): of 1,000, 6e-20.
    """
    count, some = kept.sum().item(), 0.05 * kept.numel()
    # Nearly all pairs are then alike whatever they hang on.
    expect_true(some <= count <= kept.numel() - some, "Nearly all are kept, or nearly none.")
    for reason, alike in pairs.items():
        expect_true(alike.sum().item() <= 0.9 * alike.numel(), reason)


def expect_draws_from_a_generator(student: Student, draw: Draw, other: str) -> None:
    """Expect a generator's state to move on, torch's global one not to, and another state to give other draws.

    other: what the student reads where it gives the same.
    """
    results = []
    student.seed(3)
    untouched = _global_draw(student)
    for seed in (1, 2):
        generator = student.generator(seed)
        before = generator.state()
        student.seed(3)
        results.append(draw(generator=generator))
        expect_true(not torch.equal(generator.state(), before), "The generator's state is the same as before.")
        expect_true(torch.equal(_global_draw(student), untouched), "Torch's global state has moved as well.")
    expect_true(not torch.equal(*results), other)


def _global_draw(student: Student) -> torch.Tensor:
    """Return what torch's global generator gives next over there: the weights of a new layer."""
    return student.make("Linear", 6, 6).parameters()["weight"]


def expect_draws_by_state(student: Student, draw: Draw, same: str, other: str) -> None:
    """Expect the state of the generator to decide about the draws, and not torch's global one.

    same, other: what the student reads where the same state gives other draws, and where another gives the same.
    """
    results = []
    for seed, state in ((1, 3), (2, 3), (2, 4)):
        student.seed(seed)
        results.append(draw(generator=student.generator(state)))
    expect_true(torch.equal(*results[:2]), same)
    # Whoever always draws the same has not looked at the generator.
    expect_true(not torch.equal(*results[1:]), other)


def expect_global_draws(student: Student, draw: Draw, same: str, other: str, again: str) -> None:
    """Expect torch's global state to decide about the draws without a generator, and to move on.

    same, other: as above. again: what the student reads where a second call draws what the first one did.
    """
    results = []
    for seed in (1, 1, 2):
        student.seed(seed)
        results.append(draw())
    expect_true(torch.equal(*results[:2]), same)
    expect_true(not torch.equal(*results[1:]), other)
    expect_true(not torch.equal(results[-1], draw()), again)
