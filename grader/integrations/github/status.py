"""The grade of record as a commit status, which a student sees beside the graded commit."""

from __future__ import annotations

from typing import TYPE_CHECKING

from grader.integrations.github.api import GitHub, GitHubError
from grader.reports.model import Unit

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from grader.classes.gradebook import Grade


def post_statuses(grades: Iterable[Grade], github: GitHub) -> Iterator[tuple[str, str | None]]:
    """Post the points of each graded unit. Yield the student and unit, and the error or None."""
    for grade in grades:
        for name, unit in grade.units.items():
            work = grade.student.units.get(name)
            if not isinstance(unit, Unit) or not work or not work.commit:
                continue
            problem = None
            try:
                github.post_status(
                    grade.student.repository,
                    work.commit,
                    f"grade of record/{name}",
                    f"{unit.points} of {unit.possible} points",
                )
            except GitHubError as error:
                problem = str(error)
            yield f"{grade.student.student}, {name}", problem
