"""The gradebook as Moodle imports it: Grades, Import, CSV file."""

from __future__ import annotations

from typing import TYPE_CHECKING

from grader.classes.exports import EXEMPT, Value, require_points
from grader.errors import GraderError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from grader.classes.exports import Column
    from grader.classes.gradebook import Gradebook

MOST = 100
"""The highest grade that Moodle imports, unless an administrator allows more."""
_NO_GRADE = "-"
_TOO_MUCH = "that is more than the unit has, so take it out of adjustments.csv, and enter it in Moodle."
# What the roster calls the fields by which Moodle finds a user, and Moodle.
_FIELDS = {"email": "Email address", "sis_user_id": "ID number", "sis_login_id": "Username"}


def cells(gradebook: Gradebook, columns: Sequence[Column]) -> list[list[Value]]:
    """Return the table: one row for each student, found by e-mail address, ID number or user name.

    Raises:
        GraderError: Moodle would refuse the file, or nobody has points.
    """
    require_points(gradebook)
    field = next((name for name in _FIELDS if all(getattr(row.entry, name) for row in gradebook.rows)), None)
    if field is None:
        without = [row.entry.student for row in gradebook.rows if not row.entry.email]
        raise GraderError(
            f"Moodle refuses a file with a student that it does not find, and {', '.join(without[:5])} "
            f"{'has' if len(without) == 1 else 'have'} no email in the roster: add it, or sis_user_id or sis_login_id "
            "for everybody."
        )
    for one in columns:
        for row, value in zip(gradebook.rows, one.values, strict=True):
            if not isinstance(value, str) and value > min(MOST, one.possible):
                is_too_much = value > one.possible
                raise GraderError(
                    f"Moodle imports no grade above {one.possible if is_too_much else MOST}, and {row.entry.student} "
                    f"has {value} in {one.heading}: {_TOO_MUCH if is_too_much else 'use --percent.'}"
                )
    table: list[list[Value]] = [[_FIELDS[field], *(one.heading for one in columns)]]
    for number, row in enumerate(gradebook.rows):
        own = [one.values[number] for one in columns]
        table.append([getattr(row.entry, field), *(_NO_GRADE if value in ("", EXEMPT) else value for value in own)])
    return table
