"""The grade of record as a commit status, which a student sees beside the graded commit."""

from __future__ import annotations

import datetime
from functools import partial
from typing import TYPE_CHECKING

from grader.integrations.github.sender import Delivery
from grader.reports.model import Report
from grader.text import who

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from grader.classes.record import Grade
    from grader.integrations.github.api import GitHub


def statuses(grades: Iterable[Grade], github: GitHub) -> Iterator[Delivery]:
    """Yield the points of each unit, as a status of the graded commit; in a group's repository, one for each member."""
    now = datetime.datetime.now(datetime.UTC)
    for grade in grades:
        for name, report in grade.reports.items():
            if isinstance(report, Report) and report.commit:
                unit = report.units[name]
                student, repository = grade.student.student, grade.student.repository
                context = f"grade of record/{name}{f'/{student}' if grade.is_shared else ''}"
                is_due = unit.due is None or datetime.datetime.fromisoformat(unit.due) <= now
                points = f"{unit.points} of {unit.possible} points{'' if is_due else ', not due yet'}"
                yield Delivery(
                    f"{who(student, report.name)}, {name}",
                    partial(_post, github, repository, report.commit, context, "exempt" if unit.exempt else points),
                )


def _post(github: GitHub, repository: str, commit: str, context: str, description: str) -> None:
    if github.statuses(repository, commit).get(context) != ("success", description):
        github.post_status(repository, commit, context, description)
