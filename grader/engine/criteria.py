"""A criterion is one hidden test: what it asks, the inputs it draws, and what a run of it came to."""

from __future__ import annotations

import contextlib
import functools
import hashlib
import inspect
import re
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from grader.course.modules import import_file
from grader.engine.budget import OUT_OF_MEMORY, LimitExceeded, ran_out_of_memory
from grader.engine.replay import Recorded
from grader.errors import InternalError
from grader.reports.model import NOT_WRITTEN
from grader.sandbox import replies
from grader.sandbox.failures import Ended, FailedStatement, Failure, NotDefined, Raised, TimedOut
from grader.testing.checks import NO_ERROR, OBSERVED, REFUSALS, REMARKS, CheckFailed, Observation, begin_test
from grader.testing.inputs import Fresh
from grader.testing.student import NO_SUBSTITUTES, Backend, Student
from grader.testing.substitutes import Substitutes

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Mapping, Sequence
    from types import ModuleType

    import pytest

    from grader.course.model import Course

# What torch says of a module that has no forward; it is written, and wrong.
NO_FORWARD = "is missing the required"
# A TypeError may mean so many things that its type alone says little.
TYPE_ERRORS = re.compile(
    r"not callable|not iterable|as an integer|unsupported operand|not a Module subclass|cannot assign"
    r"|argument(?! after)"
)
# What Python says of a name, an attribute or a module that is not there.
MISSING = re.compile(r"(?:name|cannot import name|No module named) '(\w+)'")


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
        """Draws this test's own inputs: not the worked examples', and the same in every run of a course version."""
        return Fresh(self._seed("inputs"))

    def prepare(self, backend: Backend) -> Student:
        """Loads the unit over there and gives every global random state there a beginning of its own.

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

    def _seed(self, purpose: str) -> int:
        text = f"{self.version}/{self.unit}/{self.name}/{purpose}"
        return int.from_bytes(hashlib.sha256(text.encode()).digest()[:6])

    def run(self, backend: Backend, substitutes: Sequence[str] = ()) -> Outcome:
        """One run, outside pytest, with substitutes for these exercises."""
        begin_test()
        student = None
        try:
            student = self.prepare(backend)
            wanted = inspect.signature(self.function).parameters
            given = {"student": student, "fresh": self.fresh()}
            with student.substituted(*substitutes) if substitutes else contextlib.nullcontext():
                self.function(**{name: given[name] for name in given.keys() & wanted})
        except Exception as error:
            outcome = judge(error)
        else:
            outcome = judge(None)
        if student is None or not substitutes:
            return outcome
        called = tuple(exercise for exercise in substitutes if exercise in student.called)
        # Whoever only calls the same function under its other name has shown nothing of this one.
        borrowed = any(self.substitutes.are_aliases(self.exercise, exercise) for exercise in called)
        # A substitute that does not serve says so like an exercise that is not written.
        refused = outcome.kind == "not written" and bool(called)
        waits = borrowed or refused or (not outcome.passed and not student.expected.issuperset(called))
        kind = "waiting" if waits else outcome.kind
        return replace(outcome, passed=outcome.passed and not borrowed, substitutes=called, kind=kind)

    def run_again(self, backend: Backend, first: Outcome, doubtful: Sequence[str]) -> Outcome:
        """What a test that failed comes to once the answers it builds on, and that may be wrong, have substitutes.

        That is `first` where it builds on none of the doubtful exercises. Which of them it calls shows only as it
        runs, and an expected value has to be made with exactly those: so the same answers are judged twice.
        """
        recorded = Recorded(backend)
        outcome = self.run(recorded, doubtful)
        if outcome.substitutes and len(outcome.substitutes) < len(doubtful):
            recorded.rewind()
            outcome = self.run(recorded, outcome.substitutes)
        return outcome if outcome.substitutes else first


@dataclass(frozen=True)
class Outcome:
    """What one run came to. reason, detail, line, file: see Failure. kind tells apart why there is no value.

    substitutes: the exercises whose substitutes had a part in it. It is "waiting" where they could not serve.
    """

    passed: bool
    kind: str = "passed"
    reason: str = ""
    detail: str = ""
    line: int | None = None
    file: str | None = None
    observations: tuple[Observation, ...] = field(default=(), repr=False)
    substitutes: tuple[str, ...] = ()
    remarks: tuple[str, ...] = ()

    def explained(self, lost: Sequence[FailedStatement], others: Collection[str]) -> Outcome:
        """The same, with the reason traced to the piece of source that should have defined what is missing.

        others: the units, and the exercises but this one; where one of those is missing, this one is waiting for it.

        Where an error is missing, an assert that is always true may be why.
        """
        names = self.missing_names()
        wanted = _wanted(names, lost).intersection(others)
        if wanted:
            return replace(self, kind="waiting", substitutes=tuple(sorted(wanted)))
        for piece in lost:
            if piece.reason == replies.ALWAYS_TRUE:
                if NO_ERROR in self.reason and not set(piece.names).intersection(others):
                    hint = f"The assert in line {piece.line} of {piece.file} is always true, for it tests a tuple"
                    return replace(self, reason=f"{self.reason} {hint}: write it without the brackets.")
                continue
            # What is no Python may have been to define anything; any other line says which names it binds.
            could_be_anything = self.kind == "not defined" and not piece.names and piece.reason == replies.NOT_PYTHON
            if names & set(piece.names) or could_be_anything:
                where = f"line {piece.line} of {piece.file}" if piece.line and piece.file else "a line of it"
                cause = f"{piece.reason[:1].lower()}{piece.reason[1:]}"
                return replace(self, reason=f"{self.reason} The cause is {where}: {cause}")
        return self

    def missing_names(self) -> set[str]:
        """The name that the student's code, or the suite, looked for in vain."""
        if self.kind == "not defined":
            return {self.reason.partition(" ")[0]}
        found = MISSING.match(self.detail) if self.kind == "raised" else None
        return {found[1]} if found else set()

    def resembles(self, other: Outcome) -> bool:
        """Whether two submissions that behave alike would both come to this."""
        return (
            self.kind == other.kind
            and len(self.observations) == len(other.observations)
            and all(mine.resembles(theirs) for mine, theirs in zip(self.observations, other.observations, strict=True))
        )


def _wanted(names: set[str], lost: Sequence[FailedStatement]) -> set[str]:
    """These names, and what the pieces of source that should have defined them looked for in vain themselves."""
    found = set(names)
    while True:
        causes = [MISSING.match(piece.detail) for piece in lost if found & set(piece.names)]
        more = {cause[1] for cause in causes if cause} - found
        if not more:
            return found
        found |= more


def judge(error: BaseException | None) -> Outcome:
    """The outcome of a test that ended with `error`, from what was seen since it began."""
    seen = tuple(OBSERVED)
    match error:
        case None:
            return Outcome(True, observations=seen, remarks=tuple(REMARKS))
        case InternalError():
            raise error
        case _ if ran_out_of_memory(error):
            raise LimitExceeded(OUT_OF_MEMORY) from error
        case CheckFailed():
            return Outcome(False, "wrong", error.reason, observations=seen)
        case Raised():
            if error.types[0] == "NotImplementedError" and NO_FORWARD not in error.detail:
                kind, reason = "not written", NOT_WRITTEN
            else:
                kind, reason = "raised", error.reason
            seen = (*seen, Observation(_told(error)))
            return Outcome(False, kind, reason, error.detail, error.line, error.file, seen)
        case Failure():
            kinds = {NotDefined: "not defined", TimedOut: "timed out", Ended: "ended"}
            # What is in brackets is the student's own, such as a shape.
            seen = (*seen, Observation(re.sub(r"\(.*?\)", "(…)", error.reason)))
            return Outcome(False, kinds.get(type(error), "refused"), error.reason, error.detail, observations=seen)
    # A value that no check foresaw: only a suite proved on the solution may say so of an answer.
    return Outcome(False, "wrong", "The result is not of the kind that was asked for.", observations=seen)


def _told(error: Raised) -> str:
    """What an error tells of the idea behind it: of what type it is, and of a TypeError, about what."""
    if REFUSALS & set(error.types):
        return "raised a refusal"
    about = TYPE_ERRORS.search(error.detail) if error.types[0] == "TypeError" else None
    return f"raised {error.types[0]}{f': {about[0]}' if about else ''}"


def criterion_of(
    function: Callable[..., None],
    unit: str,
    version: str,
    name: str | None = None,
    parameters: Mapping[str, Any] | None = None,
    mark: pytest.Mark | None = None,
    substitutes: Substitutes = NO_SUBSTITUTES,
) -> Criterion:
    """The criterion that a test function is, by its mark and its docstring. Raises ValueError.

    A visible test is an example, and repeats no rule. name, parameters, mark: of one of its runs, where it has several.
    """
    name = name or function.__name__.removeprefix("test_")
    parameters = parameters or {}
    marks = [mark] if mark else getattr(function, "pytestmark", ())
    marker = next((one for one in marks if one.name in ("exercise", "example")), None)
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


def criterion_of_item(
    item: pytest.Item, unit: str, version: str, substitutes: Substitutes = NO_SUBSTITUTES
) -> Criterion:
    """The criterion that a test is which pytest has collected, or one case of it. Raises ValueError."""
    mark = item.get_closest_marker("exercise")
    if mark and "sentence" in mark.kwargs:
        name = item.callspec.id  # type: ignore[attr-defined]
    else:
        name = re.sub(r"\W+", "_", item.name).strip("_").removeprefix("test_")
    return criterion_of(item.obj, unit, version, name, parameters_of(item), mark, substitutes)  # type: ignore[attr-defined]


def parameters_of(item: pytest.Item) -> dict[str, Any]:
    """What this run of a parametrized test is given."""
    return dict(item.callspec.params) if hasattr(item, "callspec") else {}


def criteria_of(
    suite: ModuleType, unit: str, version: str, substitutes: Substitutes = NO_SUBSTITUTES
) -> list[Criterion]:
    """The criterion of every test that a suite defines, and of every case of one, in their order, without pytest."""
    found = []
    for test in [value for name, value in vars(suite).items() if name.startswith("test_")]:
        runs = next((mark for mark in getattr(test, "pytestmark", ()) if mark.name == "parametrize"), None)
        if runs is None:
            found.append(criterion_of(test, unit, version, substitutes=substitutes))
            continue
        names, cases = runs.args
        names = [name.strip() for name in names.split(",")] if isinstance(names, str) else names
        for one in cases:
            parameters = dict(zip(names, one.values, strict=True))
            found.append(criterion_of(test, unit, version, one.id, parameters, one.marks[0].mark, substitutes))
    return found


@functools.cache
def hidden_substitutes(course: Course) -> Substitutes:
    """Return the substitutes that lie beside the hidden suites, in the course's order."""
    return Substitutes.of(course.suites, tuple(course.units))


def criteria_of_unit(course: Course, unit: str) -> list[Criterion]:
    """Return the criteria of a unit's hidden suite."""
    substitutes = hidden_substitutes(course)
    suites = map(import_file, course.hidden_tests(unit))
    return [one for suite in suites for one in criteria_of(suite, unit, course.version, substitutes)]
