"""The roster, times.csv and adjustments.csv in nbgrader's course folder, and what nbgrader calls the students."""

from __future__ import annotations

from typing import TYPE_CHECKING

from grader.classes.decisions import Decisions, read_decisions
from grader.classes.matcher import Matcher
from grader.classes.roster import Entry
from grader.submissions.names import student_id

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from pathlib import Path

    from grader.course.model import Course

ROSTER = "roster.csv"


def decisions_in(folder: Path, course: Course) -> Decisions:
    """Return what the tables in nbgrader's course folder decide; nothing without a roster. Raises TableError."""
    roster = folder / ROSTER
    return read_decisions(roster, course) if roster.exists() else Decisions(course)


def entry_of(matcher: Matcher, name: str) -> Entry:
    """Return the line of the roster on a student of nbgrader's, whose name can have any characters.

    Without such a line, return one without extensions, with the name in reports.
    """
    in_reports = student_id(name)
    # Without Latin letters nothing remains of a name.
    found = matcher.match(name) or (matcher.match(in_reports) if in_reports else None)
    # Who only teaches has no name in reports.
    return found[0] if found and found[0].student else Entry(in_reports or name)


def names_of(entries: Sequence[Entry], known: Iterable[str]) -> dict[str, str]:
    """Return what nbgrader calls each student of the roster; those that it does not know get the roster's name."""
    names, matcher = dict[str, str](), Matcher(entries)
    for name in sorted(known):
        student = entry_of(matcher, name).student
        if student not in names or name == student:
            names[student] = name
    return {entry.student: names.get(entry.student, entry.student) for entry in entries}
