"""The gradebook as Canvas imports it, by its lib/gradebook_importer.rb."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from grader.classes.exports import EXEMPT, Value, require_points
from grader.errors import GraderError
from grader.text import listed

if TYPE_CHECKING:
    from collections.abc import Sequence

    from grader.classes.exports import Column
    from grader.classes.gradebook import Gradebook

HEADINGS = ("Student", "ID", "SIS User ID", "SIS Login ID", "Section")
"""Every other column becomes an assignment."""
_EXCUSED = "EX"
_FINAL = re.compile("final", re.IGNORECASE)


def heading(name: str) -> str:
    """Return what Canvas calls a column: it ignores those with `final` in their name, in any case."""
    return _FINAL.sub("last", name)


def cells(gradebook: Gradebook, columns: Sequence[Column]) -> list[list[Value]]:
    """Return the table: a row with the possible points, then one for each student.

    Raises:
        GraderError: Canvas could not tell who a student is, two columns would have the same name, or nobody has points.
    """
    require_points(gradebook)
    headings = [heading(one.heading) for one in columns]
    if doubles := [name for name in headings if headings.count(name) > 1]:
        raise GraderError(
            f"Canvas ignores a column with `final` in its name, and {doubles[0]} is the name of another unit: export "
            "one of the two alone with --unit."
        )
    entries = [row.entry for row in gradebook.rows]
    nameless = [one.student for one in entries if not (one.id or one.sis_user_id or one.sis_login_id)]
    if nameless:
        raise GraderError(
            f"Canvas matches students by number, and {listed(nameless, 5)} {'has' if len(nameless) == 1 else 'have'} "
            "none: add the column id, sis_user_id or sis_login_id to the roster, or use Canvas's own export as roster."
        )
    table: list[list[Value]] = [
        [*HEADINGS, *headings],
        ["    Points Possible", "", "", "", "", *(one.possible for one in columns)],
    ]
    for number, row in enumerate(gradebook.rows):
        entry = row.entry
        who = [entry.name or entry.student, entry.id, entry.sis_user_id, entry.sis_login_id, entry.section]
        own = [one.values[number] for one in columns]
        table.append([*who, *(_EXCUSED if value == EXEMPT else value for value in own)])
    return table
