"""Criteria: collects and runs hidden and visible tests. A criterion is one test."""

from __future__ import annotations

import contextlib
import functools
import hashlib
import inspect
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from types import CodeType, ModuleType
from typing import TYPE_CHECKING, Any

from grader.course.left_out import left_out, tests_left_out
from grader.course.model import Course
from grader.course.modules import SuiteError, import_file, shown
from grader.engine.outcomes import Outcome, judge
from grader.errors import InternalError
from grader.sandbox.failures import Failure
from grader.testing.draws import Fresh
from grader.testing.running_test import Recorder
from grader.testing.student import NO_SUBSTITUTES, Backend, Student
from grader.testing.substitutes import Substitutes, hidden_substitutes, visible_substitutes

if TYPE_CHECKING:
    import pytest


@dataclass
class ReplayBackend:
    """A backend that records every answer of one run of a test and, after `rewind`, replays them in order.

    Which substitutes a submission called is known only at the end of a run, but expected values are made with them. So
    the same answers are judged a second time, and a process that lies about its calls gets no second try. New calls are
    made only if the first run failed early and the second goes further.
    """

    backend: Backend
    draws: dict[Any, list[Any]] = field(default_factory=dict)  # with substitutes
    answers: list[tuple[str, Any]] = field(default_factory=list)
    called: Any = ()  # by the first run
    place: int | None = None  # of the next answer to replay; None while recording
    # The notifications since the last replayed answer, and those about substitutes.
    withheld: list[tuple[str, dict[str, Any]]] = field(default_factory=list)

    def rewind(self) -> None:
        """Replay the answers from now on."""
        self.place = 0
        self.draws.clear()

    def load(self, unit: str) -> None:
        """Load a unit, unless answers are replayed."""
        if self.place is None:
            self.backend.load(unit)

    def forget(self) -> None:
        """Drop what waits for the next call, unless answers are replayed."""
        if self.place is None:
            self.backend.forget()

    def notify(self, operation: str, **details: Any) -> None:
        """Pass an operation on, or keep it while answers are replayed."""
        if self.place is None:
            self.backend.notify(operation, **details)
        else:
            self.withheld.append((operation, details))

    def call(self, operation: str, **details: Any) -> Any:
        """Return an answer. Raises the Failure that was recorded, or occurs, in its place."""
        return self._answer(operation, lambda: self.backend.call(operation, **details))

    def repeat(self, times: int, operation: str, **details: Any) -> list[Any]:
        """Return the answers of a repeated operation, or raise their Failure, like `call`."""
        answers: list[Any] = self._answer(operation, lambda: self.backend.repeat(times, operation, **details))
        return answers

    def _answer(self, operation: str, ask: Callable[[], Any]) -> Any:
        if self.place is not None:
            if self.place < len(self.answers) and self.answers[self.place][0] == operation:
                value = self.answers[self.place][1]
                self.place += 1
                self.withheld = [one for one in self.withheld if one[0] in ("upload", "patch")]
                return _given(value)
            self.place = None
            for withheld, named in self.withheld:
                self.backend.notify(withheld, **named)
        try:
            value = ask()
        except Failure as failure:
            value = failure
        if operation == "unpatch" and self.withheld:
            value = self.called  # a second run that went on may have called fewer than the first
        self.called = value if operation == "unpatch" else self.called
        self.answers.append((operation, value))
        return _given(value)


def _given(value: Any) -> Any:
    if isinstance(value, Failure):
        raise value
    return value


@dataclass(frozen=True)
class Criterion:
    """One test of an exercise, or one case of a test.

    sentence: what a student reads if it fails. rules: the stub's words that it tries.
    place: where its author wrote it; by default where the function is.
    """

    unit: str
    exercise: str
    name: str
    sentence: str
    rules: tuple[str, ...]
    function: Callable[..., None]
    version: str
    substitutes: Substitutes = NO_SUBSTITUTES
    place: tuple[Path, int] | None = None

    @property
    def file(self) -> Path:
        """The file of the test."""
        return self.place[0] if self.place else Path(self._code.co_filename)

    @property
    def line(self) -> int:
        """The line where the test, or its case, begins."""
        return self.place[1] if self.place else self._code.co_firstlineno

    @property
    def _code(self) -> CodeType:
        code: CodeType = inspect.unwrap(getattr(self.function, "func", self.function)).__code__
        return code

    def fresh(self) -> Fresh:
        """Return what draws this test's own inputs, which are the same in every run of a course version."""
        return Fresh(self._seed("inputs"))

    def run(self, backend: Backend, substitutes: Sequence[str] = ()) -> Outcome:
        """Run it once, with substitutes for these exercises, and return the outcome."""
        return self.attempt(backend, substitutes)[0]

    def attempt(self, backend: Backend, substitutes: Sequence[str] = ()) -> tuple[Outcome, BaseException | None]:
        """Run it once.

        Args:
            backend: Runs the student's code, or trusted code.
            substitutes: The exercises that have substitutes in this run.

        Returns:
            The outcome, and the error that the run ended with.

        Raises:
            InternalError: It could not be run, and the submission is not the cause.
        """
        exercises, expected = self.substitutes.recorded(self.unit, self.name, substitutes)
        recorder = Recorder(f"{self.unit}/{self.name}", expected)
        student, ended_with = None, None
        try:
            student = self._prepared(backend)
            student.expected.update(exercises)
            given = {"student": student, "fresh": self.fresh()}
            with recorder.recording(), student.substituted(*substitutes) if substitutes else contextlib.nullcontext():
                self.function(**{name: given[name] for name in given.keys() & _parameters(self.function)})
        except KeyboardInterrupt:
            raise
        except BaseException as error:  # noqa: BLE001 - a result can make a test raise anything, and a suite can exit
            ended_with = error
        outcome = judge(ended_with, recorder, (self.file, self.line))
        if student and substitutes:
            outcome = self._with_substitutes(outcome, student, substitutes)
        return outcome, ended_with

    def run_again(self, backend: Backend, first: Outcome, doubtful: Sequence[str]) -> Outcome:
        """Run a failed test again with substitutes for the doubtful exercises, and return the outcome.

        The outcome is `first` if the answer calls none of them. Which of them it calls is known only after the run, and
        expected values must be made with exactly those, so the same answers are judged twice.
        """
        recorded = ReplayBackend(backend)
        outcome = self.run(recorded, doubtful)
        if outcome.substitutes and len(outcome.substitutes) < len(doubtful):
            recorded.rewind()
            outcome = self.run(recorded, outcome.substitutes)
        return outcome if outcome.substitutes else first

    def _prepared(self, backend: Backend) -> Student:
        """Load the unit in the backend and seed its global random states.

        The seed differs from that of the inputs, so that student code cannot predict them.
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
        """Return the outcome of a run, adjusted for the substitutes that were called in it."""
        called = tuple(exercise for exercise in substitutes if exercise in student.called)
        # An answer that only calls an alias of this exercise does not answer it.
        borrowed = any(self.substitutes.are_aliases(self.exercise, exercise) for exercise in called)
        # A substitute that cannot handle its arguments raises the same error as an unwritten exercise.
        refused = outcome.kind == "not written" and bool(called)
        waits = borrowed or refused or (not outcome.passed and not student.expected.issuperset(called))
        kind = "waiting" if waits else outcome.kind
        return replace(outcome, passed=outcome.passed and not borrowed, substitutes=called, kind=kind)

    def _seed(self, purpose: str) -> int:
        text = f"{self.version}/{self.unit}/{self.name}/{purpose}"
        return int.from_bytes(hashlib.sha256(text.encode()).digest()[:6])


@functools.cache
def _parameters(function: Callable[..., None]) -> frozenset[str]:
    return frozenset(inspect.signature(function).parameters)


def criteria_of(
    suite: ModuleType, unit: str, version: str, substitutes: Substitutes = NO_SUBSTITUTES
) -> dict[tuple[str, int], Criterion]:
    """Return the criterion of every test of a suite, and of every case of a test, in their order.

    Each has the name of its function, and the number of its case from 0. A file of hidden tests is named after its
    exercise; visible tests name theirs.

    Raises:
        SuiteError: A test is not a criterion; the message says which one, and why.
    """
    found = {}
    for name, test in vars(suite).items():
        try:
            for number, case in enumerate(_cases_of(test, name) if name.startswith("test_") else ()):
                found[name, number] = _criterion_of(test, suite, unit, version, *case, substitutes)
        except (ValueError, TypeError) as error:
            place = f"{shown(Path(test.__code__.co_filename))}:{test.__code__.co_firstlineno}"
            raise SuiteError(f"{place}: {name}: {error}.") from error
    return found


def _criterion_of(
    function: Callable[..., None],
    suite: ModuleType,
    unit: str,
    version: str,
    name: str,
    parameters: dict[str, Any],
    mark: pytest.Mark | None,
    substitutes: Substitutes,
) -> Criterion:
    """Make a criterion of a test function, by its mark, or that of its case, and its docstring. Raises ValueError."""
    marker = mark or _mark(getattr(function, "pytestmark", ()), "rule", "example")
    if marker is None or not all(isinstance(one, str) for one in marker.args) or len(marker.args) != 1:
        raise ValueError("it needs @rule('the words of the stub')")
    given = functools.partial(function, **parameters) if parameters else function
    others = _parameters(given) - {"student", "fresh"} - parameters.keys()
    if others:
        raise ValueError(f"it takes {', '.join(sorted(others))}, but all that a test can take is student and fresh")
    sentence = marker.kwargs.get("sentence") or " ".join((inspect.getdoc(function) or "").split())
    if not sentence:
        raise ValueError("it needs a docstring: the sentence that a student reads")
    line = marker.kwargs.get("line") or inspect.unwrap(function).__code__.co_firstlineno
    exercise, rule = suite.__name__.rpartition(".")[-1], marker.args[0]
    if marker.name == "example":  # a visible test; without a rule it is only a worked example
        exercise, rule = marker.args[0], marker.kwargs.get("rule", ())
    rules = (rule,) if isinstance(rule, str) else tuple(rule)
    file = getattr(suite, "__file__", None)
    place = (Path(file), line) if file else None
    return Criterion(unit, exercise, name, sentence, rules, given, version, substitutes, place)


def criteria_of_unit(course: Course, unit: str) -> list[Criterion]:
    """Return the criteria of a unit's hidden suite."""
    substitutes = hidden_substitutes(course)
    suites = [import_file(path) for path in course.hidden_tests(unit) if path.is_file()]
    return [one for suite in suites for one in criteria_of(suite, unit, course.version, substitutes).values()]


def visible_criteria_of_unit(course: Course, unit: str) -> list[Criterion]:
    """Return the criteria of a unit's visible tests, without those that call an exercise that the course leaves out."""
    path = course.checks / f"test_{unit}.py"
    if not path.is_file():
        return []
    found = criteria_of(import_file(path), unit, course.version, visible_substitutes(course))
    removed = tests_left_out(path.read_text(encoding="utf-8"), left_out(course).get(unit, []))
    criteria = [criterion for (test, _), criterion in found.items() if test not in removed]
    names = [*course.units[unit].exercises, *left_out(course).get(unit, ())]
    for one in criteria:
        if one.exercise not in names:
            raise SuiteError(
                f"{shown(one.file)}:{one.line}: {one.name} belongs to {one.exercise!r}, which autograder.yml does not "
                f"have in {one.unit}: correct the name."
            )
    return criteria


def _mark(marks: Sequence[pytest.Mark], *names: str) -> pytest.Mark | None:
    return next((one for one in marks if one.name in names), None)


def _cases_of(test: Callable[..., None], name: str) -> Iterator[tuple[str, dict[str, Any], pytest.Mark | None]]:
    """Yield the name, the parameters and the mark of every case of a test, from `pytest.mark.parametrize`."""
    name = name.removeprefix("test_")
    runs = _mark(getattr(test, "pytestmark", ()), "parametrize")
    if runs is None:
        yield name, {}, None
        return
    if len(runs.args) != 2 or not isinstance(runs.args[1], Iterable):
        raise ValueError("parametrize takes the names of parameters and a list of cases")
    names, cases = runs.args
    names = [one.strip() for one in names.split(",")] if isinstance(names, str) else names
    for number, case in enumerate(cases):
        # A case is a `pytest.param` or plain values.
        values = getattr(case, "values", case) if len(names) > 1 or hasattr(case, "marks") else (case,)
        mark = _mark([one.mark for one in getattr(case, "marks", ())], "rule", "example")
        if len(names) != len(values):
            raise ValueError(f"case {number + 1} of parametrize has {len(values)} values for {len(names)} parameters")
        label = getattr(case, "id", None) or str(number)
        yield label if mark else f"{name}_{label}", dict(zip(names, values, strict=True)), mark
