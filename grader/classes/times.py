"""When units were handed in: from times.csv, Moodle's grading worksheets, pushes to GitHub, or nbgrader.

The dates of files are never used: copying a file, or unpacking an archive, changes them.
"""

from __future__ import annotations

import datetime
import zoneinfo
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from grader.classes.collected import COLLECTED, LATE, Work, read_collected
from grader.classes.matcher import Matcher
from grader.classes.roster import Entry, parse_time
from grader.classes.tables import TableError, read_table
from grader.submissions.names import student_id
from grader.submissions.plain_files import UnreadableError, read_text

if TYPE_CHECKING:
    from collections.abc import Iterable

    from grader.course.model import Course

TIMES = "times.csv"
CANVAS = "Canvas"
"""The source of a mark without a time: `LATE` in the name of an upload."""

_COLUMNS = ("student", "unit", "time")
_SUBMISSION = "submission"
_PARTICIPANT, _MODIFIED = "Identifier", "Last modified (submission)"
_STAMP = "timestamp.txt"
# Moodle writes times in the words of the reader's language. These are its English ones.
_MOODLE_FORMATS = ("%A, %d %B %Y, %I:%M %p", "%A, %d %B %Y, %H:%M", "%A, %B %d, %Y, %I:%M %p")


@dataclass(frozen=True)
class Time:
    """When something was handed in, with a zone, and where that is from. None: late, but by how much is unknown."""

    at: datetime.datetime | None
    source: str


Times = dict[tuple[str, str, str], Time]
"""By student, unit, and the name of the folder or archive of one of several submissions, or "" for all."""


def read_times(folder: Path, entries: Iterable[Entry], course: Course) -> Times:
    """Read times.csv, and Moodle's grading worksheets as times_<unit>.csv, in the folder of the roster.

    Raises:
        TableError: A line is wrong.
    """
    entries = list(entries)
    times: Times = {}
    for unit in course.units:
        if (path := folder / f"times_{unit}.csv").exists():
            times |= _worksheet(path, unit, entries, course.timezone)
    if (path := folder / TIMES).exists():
        times |= _own_times(path, entries, course)
    return times


def _own_times(path: Path, entries: list[Entry], course: Course) -> Times:
    table = read_table(path, ",".join(_COLUMNS))
    table.require_known(_COLUMNS, [_SUBMISSION])
    known = {entry.student for entry in entries}
    times: Times = {}
    for row in table.rows:
        student, unit, time = row["student"], row["unit"], parse_time(row["time"])
        if student not in known:
            table.report(row, "student", f"{student!r} is not in the roster: correct the name.")
        if unit not in course.units:
            table.report(row, "unit", f"{unit!r} is not a unit: autograder.yml has {', '.join(course.units)}.")
        key = (student, unit, row[_SUBMISSION])
        if key in times:
            table.report(row, "unit", f"there is an earlier line for {student} and {unit}: keep the one that counts.")
        if time is None:
            example = "2027-01-25T23:10:00+01:00"
            table.report(
                row, "time", f"{row['time']!r} is no time with an offset from UTC: write {example}, for example."
            )
        times[key] = Time(time, path.name)
    table.require_sound()
    return times


def _worksheet(path: Path, unit: str, entries: list[Entry], timezone: str | None) -> Times:
    """Read the times of a grading worksheet. Rows of people who are not in the roster are left out."""
    table = read_table(path, f"{_PARTICIPANT},Full name,{_MODIFIED}")
    for name in (_PARTICIPANT, _MODIFIED):
        if not table.has(name):
            raise TableError(
                f"{path}, line {table.header}: there is no column {name!r}: download the grading worksheet again, in "
                "English."
            )
    if timezone is None:
        raise TableError(
            f"{path}: its times have no time zone. Add a line such as `timezone: Europe/Berlin` to autograder.yml."
        )
    zone, matcher = zoneinfo.ZoneInfo(timezone), Matcher(entries)
    times: Times = {}
    for row in table.rows:
        number = row[_PARTICIPANT].removeprefix("Participant ")
        found = matcher.match(f"{student_id(row['Full name'])}_{number}")
        if not row[_MODIFIED] or row[_MODIFIED] == "-" or found is None:
            continue
        time = _moodle_time(row[_MODIFIED])
        if time is None:
            table.report(row, _MODIFIED, f"{row[_MODIFIED]!r} cannot be read: download the worksheet in English.")
        else:
            times[found[0].student, unit, ""] = Time(time.replace(tzinfo=zone), path.name)
    table.require_sound()
    return times


def _moodle_time(text: str) -> datetime.datetime | None:
    for pattern in _MOODLE_FORMATS:
        try:
            return datetime.datetime.strptime(text.replace("\N{NARROW NO-BREAK SPACE}", " "), pattern)
        except ValueError:
            continue
    return None


def pushed_time(path: Path, student: str, unit: str) -> Time | None:
    """Return when the work of a student in a folder <unit>/ of `grader collect` was pushed; None elsewhere."""
    is_late = path.parent.name == LATE
    folder = path.parent.parent if is_late else path.parent
    work = _collected(folder / COLLECTED).get(student, {}).get(unit) if path.name == unit else None
    work = work.late if work and is_late else work
    if not work or not work.commit:
        return None
    return Time(None, "GitHub") if work.may_be_late else Time(work.pushed, work.dated_by)


@cache
def _collected(path: Path) -> dict[str, dict[str, Work]]:
    """Return the work of each student by unit; nothing if the file does not exist."""
    if not path.is_file():
        return {}
    return {student.student: student.units for student in read_collected(path).students}


def is_collected(path: Path) -> bool:
    """Return whether a path is a folder <unit>/ of `grader collect`."""
    return (path.parent / COLLECTED).is_file()


def late_work(path: Path, student: str) -> Path | None:
    """Return the folder of a student's late work, for a folder <unit>/ of `grader collect`; None if there is none."""
    folder = path.parent / LATE / path.name
    return folder if is_collected(path) and (folder / student).is_dir() else None


def stamped_time(folder: Path, unit: str) -> Time | None:
    """Return the time that nbgrader keeps beside a unit's notebook in a student's folder; None if there is none.

    As nbgrader reads it: `2027-01-26 08:30:00 UTC`, with another zone, or without one for UTC.
    """
    try:
        text = read_text(folder, f"{unit}/{_STAMP}", 1000) or ""
    except UnreadableError:
        return None
    words = text.split()
    if len(words) == 3 and words[2][0] in "+-":
        words = [words[0], "".join(words[1:])]
    try:
        time = datetime.datetime.fromisoformat(" ".join(words[:2]))
        zone = zoneinfo.ZoneInfo(words[2]) if len(words) == 3 else datetime.UTC
    except (ValueError, KeyError, OSError):
        return None
    return Time(time if time.tzinfo else time.replace(tzinfo=zone), "nbgrader")
