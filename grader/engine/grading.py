"""Makes reports of submissions: starts the engine when it is needed, and marks what it returns.

Also says what this machine has and lacks for grading.
"""

from __future__ import annotations

import contextlib
import datetime
import importlib.metadata
import platform
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType
from typing import Any, NamedTuple

from grader.course.left_out import describe_left_out
from grader.course.model import Course, find_course
from grader.course.root import RECEIVED
from grader.documents import CourseError
from grader.engine.engine_client import Engine, Turns
from grader.engine.engine_messages import EngineHandshake
from grader.errors import InternalError
from grader.quizzes.questions import Questions
from grader.quizzes.quiz_source import QuizSource
from grader.reports.report_model import Report, Result, Suites
from grader.reports.scoring import Rubric, make_report
from grader.sandbox import lockdown
from grader.submissions.submission import Submission
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


@dataclass
class Grading(contextlib.AbstractContextManager["Grading"]):
    """Makes reports of submissions. The engine starts with the first submission; after an error, a new one starts.

    Attributes:
        course: The course to grade.
        quizzes: The quizzes of the units that are graded.
        allow_unisolated: Run student code even if it cannot be isolated.
        suites: The tests to grade with.
        units: The units whose visible tests are collected; by default, all.
    """

    course: Course
    quizzes: Mapping[str, QuizSource | Questions]
    allow_unisolated: bool = False
    suites: Suites = "hidden"
    units: Iterable[str] = ()
    _engine: Engine | None = field(default=None, init=False)
    _handshake: EngineHandshake | None = field(default=None, init=False)
    _is_aborted: bool = field(default=False, init=False)

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

    def turns(self, at_once: int, drawn: Iterable[str] = ()) -> Turns:
        """Return what grades submissions, a few at a time. Starts the engine.

        Raises:
            InternalError: The engine ended.
            SandboxUnavailable: Student code cannot be isolated here, and `allow_unisolated` is false.
        """
        self.rubric()
        assert self._engine
        return self._engine.turns(at_once, drawn)

    def marked(
        self, submission: Submission, result: Result | str, now: datetime.datetime
    ) -> Iterator[tuple[Submission, Graded | str]]:
        """Yield a graded submission and its copies, each with its report, or with the reason why there is none."""
        handshake, rubric = self._handshake, self.rubric()
        assert handshake
        for one in (submission, *submission.copies):
            if isinstance(result, str):
                yield one, result
            else:
                report = make_report(one, result, rubric, self.course, handshake.missing, handshake.versions, now)
                yield one, Graded(report, result.pytest, result.drawings, result.questions)

    def reports(
        self,
        submissions: Iterable[Submission],
        at_once: int,
        now: datetime.datetime,
        drawn: Iterable[str] = (),
    ) -> Iterator[tuple[Submission, Graded | str]]:
        """Yield each submission with its report, or with the reason why there is none, in the order of completion.

        The pictures of the exercises in `drawn` are drawn too. Raises InternalError, or SandboxUnavailable before
        anything is graded.
        """
        try:
            for done in self.turns(at_once, drawn).all(submissions):
                yield from self.marked(*done, now)
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
            self._engine = Engine(self.course, suites=self.suites, units=self.units)
            if self._is_aborted:
                self._engine.kill()
            self._handshake = self._engine.handshake()
        assert self._handshake
        missing = lockdown.missing_sentences(self._handshake.missing)
        if missing and not self.allow_unisolated:
            raise SandboxUnavailable(missing)
        return Rubric(self._handshake.criteria, self.quizzes, self.suites)


USED_BY_STUDENTS = ("torch", "numpy", "pytest", "pytest-json-report", "pydantic")
PACKAGES = (*USED_BY_STUDENTS, "jupytext", "nbgrader")
WHAT_LAYERS_DO = {
    "limits": "bounds memory, processor time and files",
    "no_new_privileges": "no program can raise its rights",
    "seccomp": "refuses files, processes and sockets",
    "landlock": "refuses files once more, by other means",
    "user": "student code runs as another user",
    "own_user": "each process has a user id of its own",
}


def versions() -> dict[str, str]:
    """Return the versions of Python and the packages that grading uses, or 'not installed'."""
    found = {"python": platform.python_version(), "platform": platform.platform()}
    for package in PACKAGES if not RECEIVED.is_dir() else USED_BY_STUDENTS:
        try:
            found[package] = importlib.metadata.version(package)
        except importlib.metadata.PackageNotFoundError:
            found[package] = "not installed"
    return found


def course_notes(named: Path | None) -> list[str]:
    """Return what autograder.yml leaves out of the solutions, or its errors. On a student's machine there are none."""
    try:
        return describe_left_out(find_course(named))
    except CourseError as error:
        return str(error).split("\n")


def purposes() -> dict[str, str]:
    """Return what each layer of isolation does, on this machine."""
    return {**WHAT_LAYERS_DO, "own_user": f"{WHAT_LAYERS_DO['own_user']} ({lockdown.user_ids_text()})"}
