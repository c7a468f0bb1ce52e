"""Makes reports of submissions that the workers of a cluster grade."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING

from grader.cluster.client import Cluster
from grader.cluster.installed import installed
from grader.cluster.messages import RemoteResult
from grader.engine.engine_client import Engine
from grader.engine.grading import Graded
from grader.reports.scoring import Rubric, make_report

if TYPE_CHECKING:
    import datetime
    from collections.abc import Iterable, Iterator, Mapping
    from types import TracebackType

    from grader.course.model import Course
    from grader.quizzes.quiz_source import Quiz
    from grader.submissions.source import Submission


class ClusterGrading:
    """Makes reports of submissions, as `Grading` does, from what workers return."""

    def __init__(self, course: Course, quizzes: Mapping[str, Quiz], allow_unisolated: bool, scheduler: str) -> None:
        """Prepare; nothing is started or connected yet.

        Args:
            course: The course to grade.
            quizzes: The quizzes of the units that are graded. They are marked here.
            allow_unisolated: Run student code even on workers that cannot isolate it.
            scheduler: The scheduler's address, or `local`.
        """
        self._course = course
        self._quizzes = quizzes
        self._allow_unisolated = allow_unisolated
        self._scheduler = scheduler

    def __enter__(self) -> ClusterGrading:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Do nothing: the connection ends with the reports."""

    def reports(
        self, submissions: Iterable[Submission], workers: int, now: datetime.datetime
    ) -> Iterator[tuple[Submission, Graded | str]]:
        """Yield each submission with its report, or with the reason why there is none, in the order of completion.

        A local cluster grades this many at once. Raises GraderError.
        """
        submissions = iter(submissions)
        first = next(submissions, None)
        if first is None:  # no cluster is needed
            return
        with Cluster(self._scheduler, self._course, workers) as cluster:
            # What earns points comes from this machine, whatever a worker says.
            with Engine(self._course) as engine:
                criteria = engine.handshake().criteria
            rubric = Rubric(criteria, self._quizzes)
            everyone = itertools.chain([first], submissions)
            graded = cluster.grade(everyone, installed(self._course), criteria, self._allow_unisolated)
            for submission, result in graded:
                for one in (submission, *submission.copies):
                    if isinstance(result, RemoteResult):
                        report = make_report(one, result, rubric, self._course, result.missing, result.versions, now)
                        yield one, Graded(report, result.pytest)
                    else:
                        yield one, str(result)
