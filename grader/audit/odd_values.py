"""Feeds odd values to tests in place of right ones: a test may pass or fail, and never raise."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, NoReturn

import numpy
import torch

from grader.course.model import Course
from grader.engine.criteria import Criterion, ReplayBackend, criteria_of_unit, visible_criteria_of_unit
from grader.engine.failure_matrix import solution_names, worker_pool
from grader.errors import InternalError
from grader.sandbox.failures import Ended, Raised
from grader.sandbox.values import TENSORS, Handle
from grader.testing.student import InProcessBackend

FIRST_ANSWERS = 4
"""Of a test, this many answers are replaced, and the last one."""
OBJECTS = (("object",), ("generator", "object"), ("function", "object"), ("torch.nn.modules.module.Module", "object"))
PLAIN: tuple[Any, ...] = (
    None, True, 0, -1, 2**62, 0.5, math.nan, math.inf, -math.inf, "", "text", b"\0", [], [None], [[1.0], [2, 3]], (),
    (None, None), ("a", "b"), (math.nan, 1), {}, {"a": None}, {None: 1}, set(), frozenset({"a"}),
)  # fmt: skip


class _Ended(InProcessBackend):
    """A backend whose process has ended: what a test asks after its recorded answers."""

    def repeat(self, *_: Any, **__: Any) -> NoReturn:
        raise Ended("It ended.")

    def notify(self, *_: Any, **__: Any) -> None:
        """Keep nothing for a next call."""


class _Answers(ReplayBackend):
    """Records which answers are lists of the values of a repeated call."""

    def __init__(self, backend: Any) -> None:
        super().__init__(backend)
        self.repeated: set[int] = set()

    def repeat(self, times: int, operation: str, **details: Any) -> list[Any]:
        if self.place is None:
            self.repeated.add(len(self.answers))
        return super().repeat(times, operation, **details)


def feed(course: Course, exercises: Sequence[str], jobs: int) -> list[str]:
    """Return a sentence on each line of these exercises' tests, hidden or visible, that raises on an odd value."""
    with worker_pool(jobs) as pool:
        found = pool.map(_of_exercise, itertools.repeat(course), map(course.unit_of.get, exercises), exercises)
        return list(dict.fromkeys(itertools.chain(*found)))


def _of_exercise(course: Course, unit: str, exercise: str) -> list[str]:
    tests = (*criteria_of_unit(course, unit), *visible_criteria_of_unit(course, unit))
    criteria = [one for one in tests if one.exercise == exercise]
    others = [one for each in course.units.values() for one in each.exercises if one != exercise]
    return problems(criteria, solution_names(course, unit), others)


def problems(criteria: Iterable[Criterion], right: Mapping[str, Any], others: Sequence[str] = ()) -> list[str]:
    """Return a sentence on each line of these tests that raises with an odd value.

    Args:
        criteria: The tests.
        right: What right answers define.
        others: The other exercises. A test that uses some of them is run with substitutes for those, too.
    """
    found: dict[str, str] = {}
    for criterion in criteria:
        called = criterion.run(InProcessBackend(criterion.unit, dict(right)), others).substitutes if others else ()
        faults = [_faults(criterion, right, substitutes) for substitutes in dict.fromkeys([(), called])]
        for fault, what in itertools.chain(*faults):
            sentence = f"{fault} {criterion.name} raises this if an answer is {what}: check the value first."
            found.setdefault(fault.partition(": ")[0], sentence)
    return list(found.values())


def _faults(criterion: Criterion, right: Mapping[str, Any], substitutes: Sequence[str]) -> Iterator[tuple[str, str]]:
    """Yield what a test raises with odd values, and which value it was. substitutes: the exercises that have some."""
    backend = _Answers(InProcessBackend(criterion.unit, dict(right)))
    criterion.run(backend, substitutes)
    answers, backend.backend = list(backend.answers), _Ended(criterion.unit, {})
    for place in sorted({*range(len(answers))[:FIRST_ANSWERS], len(answers) - 1} - {-1}):
        operation, answer = answers[place]
        for odd in odd_answers(answer, place in backend.repeated):
            backend.answers = [*answers[:place], (operation, odd), *answers[place + 1 :]]
            backend.rewind()
            try:
                fault = criterion.run(backend, substitutes).fault
            except InternalError as error:
                fault = f"{criterion.file.name}:{criterion.line}: {error}"
            if fault:
                yield fault, described(odd)


def odd_answers(right: Any, is_repeated: bool) -> Iterator[Any]:
    """Yield odd answers in place of a right one. is_repeated: whether it is a list of a call's values."""
    if is_repeated and isinstance(right, list):
        yield from ([odd, *right[1:]] for odd in odd_values(right[0] if right else None))
    else:
        yield from odd_values(right)
        yield Raised(("KeyError", "Exception"), "'odd'", None, None)


def odd_values(right: Any) -> Iterator[Any]:
    """Yield values that a student process may send: some without regard to the right one, others that resemble it."""
    yield from PLAIN
    yield from (Handle(10**6, kinds) for kinds in OBJECTS)
    yield from (numpy.float32(1), numpy.int64(2), numpy.array(3.0), numpy.array([True, False]), numpy.zeros((0, 2)))
    for dtype in TENSORS.values():
        yield torch.ones(2, 3).to(dtype)
    shapes: tuple[tuple[int, ...], ...] = ((), (0,), (2, 0, 3), (7,), (1,) * 8)
    yield from (torch.ones(shape) for shape in shapes)
    yield from (torch.full((2, 3), number) for number in (math.nan, math.inf, 1e38))
    match right:
        case torch.Tensor():
            yield from _odd_tensors(right)
        case tuple() | list():
            yield from (type(right)(reversed(right)), right[:-1], (*right, None), right[0] if right else None)
            for place, one in itertools.product(range(len(right)), _few(right)):
                yield type(right)((*right[:place], one, *right[place + 1 :]))
        case dict():
            # The parameters of a layer are alike.
            for name, one in itertools.product(list(right)[:: len(right) // FIRST_ANSWERS or 1], _few(right)):
                yield {**right, name: one}
                if isinstance(right[name], tuple):  # a parameter, and whether it has a gradient
                    yield {**right, name: (one, *right[name][1:])}
            yield {**right, "odd": None}
            yield dict(list(right.items())[1:])


def _odd_tensors(right: torch.Tensor) -> Iterator[Any]:
    yield from (right.to(dtype) for dtype in TENSORS.values())
    if right.is_floating_point():
        yield from (right * math.nan, right * math.inf, -right, right * 1e30)
    yield from (right.unsqueeze(0), right.flatten(), right.sum(), right.tolist(), [right], (right, right))
    yield from (right[:0], right[:-1], right.mT) if right.dim() > 1 else ()


def _few(right: Any) -> tuple[Any, ...]:
    """Return odd values for a part of an answer."""
    return None, "text", math.nan, [], right, torch.ones(2, 3), torch.ones(()), torch.ones(0), Handle(10**6, OBJECTS[0])


def described(odd: Any) -> str:
    """Return what an odd value is, in a few words."""
    match odd:
        case torch.Tensor():
            return f"a tensor of shape {tuple(odd.shape)} and {str(odd.dtype).removeprefix('torch.')}"
        case Handle():
            return f"an object of type {odd.kinds[0]}"
        case Raised():
            return "an error"
        case tuple() | list():
            return f"a {type(odd).__name__} of {len(odd)}: {', '.join(map(described, odd[:4]))}"
    return " ".join(repr(odd).split())[:60]
