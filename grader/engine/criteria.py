"""A criterion is one hidden test: what it asks, the inputs it draws, and how it is collected and run."""

from __future__ import annotations

import contextlib
import functools
import hashlib
import inspect
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from grader.course.modules import import_file
from grader.engine.outcomes import Outcome, judge
from grader.engine.replay import Recorded
from grader.errors import InternalError
from grader.sandbox.failures import Failure
from grader.testing.inputs import Fresh
from grader.testing.recorder import Recorder
from grader.testing.student import NO_SUBSTITUTES, Student
from grader.testing.substitutes import Substitutes

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from types import ModuleType

    import pytest

    from grader.course.model import Course
    from grader.testing.backend import Backend


@dataclass(frozen=True)
class Criterion:
    """One hidden test of an exercise. sentence: what a student reads where it fails. rule: as the stub states it."""

    unit: str
    exercise: str
    name: str
    sentence: str
    rule: str
    function: Callable[..., None]
    version: str
    substitutes: Substitutes = NO_SUBSTITUTES

    def fresh(self) -> Fresh:
        """Draw this test's own inputs: not the worked examples', and the same in every run of a course version."""
        return Fresh(self._seed("inputs"))

    def run(self, backend: Backend, substitutes: Sequence[str] = ()) -> Outcome:
        """Return what one run comes to, with substitutes for these exercises."""
        return self.attempt(backend, substitutes)[0]

    def attempt(self, backend: Backend, substitutes: Sequence[str] = ()) -> tuple[Outcome, Exception | None]:
        """Run it once.

        Args:
            backend: Where the student's code runs, or what is trusted in its place.
            substitutes: The exercises that have substitutes in this run.

        Returns:
            The outcome, and the error that the run ended with.

        Raises:
            InternalError: It could not be run, for no fault of the submission.
        """
        recorder = Recorder()
        student, ended_with = None, None
        try:
            student = self._prepared(backend)
            wanted = inspect.signature(self.function).parameters
            given = {"student": student, "fresh": self.fresh()}
            with recorder.recording(), student.substituted(*substitutes) if substitutes else contextlib.nullcontext():
                self.function(**{name: given[name] for name in given.keys() & wanted})
        except Exception as error:  # noqa: BLE001 - a suite may fail in any way on what a submission gives
            ended_with = error
        outcome = judge(ended_with, recorder)
        if student and substitutes:
            outcome = self._with_substitutes(outcome, student, substitutes)
        return outcome, ended_with

    def run_again(self, backend: Backend, first: Outcome, doubtful: Sequence[str]) -> Outcome:
        """Return what a failed test comes to once answers that it builds on, and that may be wrong, have substitutes.

        That is `first` where it builds on none of the doubtful exercises. Which of them it calls shows only as it
        runs, and an expected value has to be made with exactly those: so the same answers are judged twice.
        """
        recorded = Recorded(backend)
        outcome = self.run(recorded, doubtful)
        if outcome.substitutes and len(outcome.substitutes) < len(doubtful):
            recorded.rewind()
            outcome = self.run(recorded, outcome.substitutes)
        return outcome if outcome.substitutes else first

    def _prepared(self, backend: Backend) -> Student:
        """Load the unit over there and give every global random state there a beginning of its own.

        Not the one that the inputs are drawn from: nobody over there is to know them before they come.
        """
        try:
            backend.load(self.unit)
            backend.forget()
            backend.notify("prepare", seed=self._seed("student"))
        except (Failure, InternalError):
            raise
        except Exception as error:
            raise InternalError(f"{self.name} could not be prepared: {error!r}") from error
        return Student(backend, self.unit, self.substitutes)

    def _with_substitutes(self, outcome: Outcome, student: Student, substitutes: Sequence[str]) -> Outcome:
        """Return the outcome of a run as the substitutes that were called in it have it."""
        called = tuple(exercise for exercise in substitutes if exercise in student.called)
        # Whoever only calls the same function under its other name has shown nothing of this one.
        borrowed = any(self.substitutes.are_aliases(self.exercise, exercise) for exercise in called)
        # A substitute that does not serve says so like an exercise that is not written.
        refused = outcome.kind == "not written" and bool(called)
        waits = borrowed or refused or (not outcome.passed and not student.expected.issuperset(called))
        kind = "waiting" if waits else outcome.kind
        return replace(outcome, passed=outcome.passed and not borrowed, substitutes=called, kind=kind)

    def _seed(self, purpose: str) -> int:
        text = f"{self.version}/{self.unit}/{self.name}/{purpose}"
        return int.from_bytes(hashlib.sha256(text.encode()).digest()[:6])


Place = tuple[str, int]
"""A test function's name, and the number of its case, counted from zero."""


def criteria_of(
    suite: ModuleType, unit: str, version: str, substitutes: Substitutes = NO_SUBSTITUTES
) -> dict[Place, Criterion]:
    """Return the criterion of every test that a suite defines, and of every case of one, in their order.

    Raises:
        ValueError: A test is no criterion; the sentence says which, and why.
    """
    found = {}
    for name, test in vars(suite).items():
        if name.startswith("test_"):
            for number, (case_name, parameters, mark) in enumerate(_cases_of(test, name)):
                try:
                    one = criterion_of(test, unit, version, case_name, parameters, mark, substitutes)
                except ValueError as error:
                    raise ValueError(f"{test.__code__.co_firstlineno}: {name}: {error}") from error
                found[name, number] = one
    return found


def criterion_of(
    function: Callable[..., None],
    unit: str,
    version: str,
    name: str | None = None,
    parameters: dict[str, Any] | None = None,
    mark: pytest.Mark | None = None,
    substitutes: Substitutes = NO_SUBSTITUTES,
) -> Criterion:
    """Return the criterion that a test function is, by its mark and its docstring.

    Args:
        function: The test.
        unit: Its unit.
        version: The course's version, which decides the inputs.
        name: The criterion's; by default the function's.
        parameters: What this run of the test is given, where it has several.
        mark: The mark of this run; by default the function's.
        substitutes: The substitutes of the course.

    Raises:
        ValueError: The mark or the sentence is missing, or it takes what no test is given.
    """
    name = name or function.__name__.removeprefix("test_")
    parameters = parameters or {}
    # A visible test is an example, and repeats no rule.
    marker = mark or _mark(getattr(function, "pytestmark", ()), "exercise", "example")
    if marker is None or len(marker.args) != 1 or (marker.name == "exercise" and "rule" not in marker.kwargs):
        raise ValueError("it needs @pytest.mark.exercise('name', rule='the stub's words')")
    others = inspect.signature(function).parameters.keys() - {"student", "fresh"} - parameters.keys()
    if others:
        raise ValueError(f"it takes {', '.join(sorted(others))}, but all that a test can take is student and fresh")
    sentence = marker.kwargs.get("sentence") or " ".join((inspect.getdoc(function) or "").split())
    if not sentence:
        raise ValueError("it needs a docstring: the sentence that a student reads")
    given = functools.partial(function, **parameters) if parameters else function
    return Criterion(unit, marker.args[0], name, sentence, marker.kwargs.get("rule", ""), given, version, substitutes)


@functools.cache
def hidden_substitutes(course: Course) -> Substitutes:
    """Return the substitutes that lie beside the hidden suites, in the course's order."""
    return Substitutes.of(course.suites, tuple(course.units))


def criteria_of_unit(course: Course, unit: str) -> list[Criterion]:
    """Return the criteria of a unit's hidden suite."""
    substitutes = hidden_substitutes(course)
    suites = map(import_file, course.hidden_tests(unit))
    return [one for suite in suites for one in criteria_of(suite, unit, course.version, substitutes).values()]


def _mark(marks: Sequence[pytest.Mark], *names: str) -> pytest.Mark | None:
    return next((one for one in marks if one.name in names), None)


def _cases_of(test: Callable[..., None], name: str) -> Iterator[tuple[str, dict[str, Any], pytest.Mark | None]]:
    """Yield the name, the parameters and the mark of every run of a test, as `pytest.mark.parametrize` has them."""
    name = name.removeprefix("test_")
    runs = _mark(getattr(test, "pytestmark", ()), "parametrize")
    if runs is None:
        yield name, {}, None
        return
    names, cases = runs.args
    names = [one.strip() for one in names.split(",")] if isinstance(names, str) else names
    for number, case in enumerate(cases):
        # A case is a `pytest.param`, or the plain values.
        values = getattr(case, "values", case) if len(names) > 1 or hasattr(case, "marks") else (case,)
        mark = _mark([one.mark for one in getattr(case, "marks", ())], "exercise", "example")
        label = getattr(case, "id", None) or str(number)
        yield label if mark else f"{name}_{label}", dict(zip(names, values, strict=True)), mark
