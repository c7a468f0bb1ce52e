"""Makes reports of submissions: starts the engine when it is needed, and marks what it returns."""

from __future__ import annotations

import itertools
import sys
from typing import TYPE_CHECKING, Any, NamedTuple

from grader.engine.client import Engine
from grader.errors import InternalError
from grader.reports.scoring import Rubric, make_report
from grader.sandbox import lockdown

if TYPE_CHECKING:
    import datetime
    from collections.abc import Iterable, Iterator, Mapping, Sequence
    from types import TracebackType

    from grader.course.model import Course
    from grader.engine.messages import Handshake
    from grader.quizzes.questions import Questions
    from grader.quizzes.quiz_source import Quiz
    from grader.reports.model import Report, Suites
    from grader.submissions.source import Submission
    from grader.testing.drawings import Drawing, OwnQuestion


class SandboxUnavailable(InternalError):
    """Student code cannot be isolated on a machine. `missing` has a sentence for each needed layer."""

    def __init__(self, missing: list[str], where: str = "here") -> None:
        """Take the sentences about the missing layers, and which machine it is."""
        graded = "nothing was graded" if where == "here" else "nothing was graded there"
        super().__init__("\n".join([f"Student code cannot be isolated {where}, so {graded}.", *missing]))
        self.missing = missing
        self.where = where


class Graded(NamedTuple):
    """The report of a submission, pytest's own report, which only the instructor gets, and what was drawn and asked."""

    report: Report
    pytest: dict[str, Any] | None
    drawings: Sequence[Drawing] = ()
    questions: Sequence[OwnQuestion] = ()


class Grading:
    """Makes reports of submissions. The engine starts with the first submission; after an error, a new one starts."""

    def __init__(
        self,
        course: Course,
        quizzes: Mapping[str, Quiz | Questions],
        allow_unisolated: bool = False,
        suites: Suites = "hidden",
        units: Iterable[str] = (),
    ) -> None:
        """Prepare; no process starts yet.

        Args:
            course: The course to grade.
            quizzes: The quizzes of the units that are graded.
            allow_unisolated: Run student code even if it cannot be isolated.
            suites: The tests to grade with.
            units: The units whose visible tests are collected; by default, all.
        """
        self._course = course
        self._quizzes = quizzes
        self._allow_unisolated = allow_unisolated
        self._suites: Suites = suites
        self._units = units
        self._engine: Engine | None = None
        self._is_aborted = False
        self._handshake: Handshake | None = None

    def __enter__(self) -> Grading:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        engine, self._engine = self._engine, None
        if engine:
            engine.__exit__(kind, error, trace)

    def close(self) -> None:
        """End the engine; the next submission starts a new one."""
        self.__exit__(None, None, None)

    def abort(self) -> None:
        """End the engine at once, from another thread, also one that is about to start.

        What waits for it raises InternalError.
        """
        self._is_aborted = True
        if engine := self._engine:
            engine.kill()

    def reports(
        self,
        submissions: Iterable[Submission],
        at_once: int,
        now: datetime.datetime,
        drawn: Iterable[str] = (),
    ) -> Iterator[tuple[Submission, Graded | str]]:
        """Yield each submission with its reports, or with the reason why there are none, in the order of completion.

        The pictures of the exercises in `drawn` are drawn too. Raises InternalError, or SandboxUnavailable before
        anything is graded.
        """
        submissions = iter(submissions)
        first = next(submissions, None)
        if first is None:  # no engine is needed
            return
        try:
            rubric = self.rubric()
            handshake = self._handshake
            assert self._engine
            assert handshake
            for submission, result in self._engine.grade(itertools.chain([first], submissions), at_once, drawn):
                for one in (submission, *submission.copies):
                    if isinstance(result, str):
                        yield one, result
                    else:
                        report = make_report(
                            one, result, rubric, self._course, handshake.missing, handshake.versions, now
                        )
                        yield one, Graded(report, result.pytest, result.drawings, result.questions)
        except BaseException:
            # An engine that is stopped midway still sends results, which would be mistaken for later ones.
            self.__exit__(*sys.exc_info())
            raise

    def rubric(self) -> Rubric:
        """Return what earns points. Starts the engine.

        Raises:
            InternalError: The engine ended.
            SandboxUnavailable: Student code cannot be isolated here, and `allow_unisolated` is false.
        """
        if self._engine is None:
            self._engine = Engine(self._course, suites=self._suites, units=self._units)
            if self._is_aborted:
                self._engine.kill()
            self._handshake = self._engine.handshake()
        assert self._handshake
        missing = self._handshake.missing
        if not lockdown.is_enough(missing) and not self._allow_unisolated:
            raise SandboxUnavailable(lockdown.missing_sentences(missing))
        return Rubric(self._handshake.criteria, self._quizzes, self._suites)
