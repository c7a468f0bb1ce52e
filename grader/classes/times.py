"""What says when units were handed in: times.csv, Moodle's grading worksheets, pushes to GitHub, and nbgrader.

The dates of files are never used: copying a file, or unpacking an archive, changes them.
"""

from __future__ import annotations

import datetime
import zoneinfo
from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path

from grader.classes.collected import COLLECTED, LATE, CollectedWork, read_collected
from grader.classes.matcher import Matcher
from grader.classes.roster import RosterEntry, parse_time
from grader.classes.tables import TableError, read_table
from grader.course.model import Course
from grader.submissions.file_text import read_text
from grader.submissions.submission import TIMESTAMP, student_id
from grader.submissions.tree import ARCHIVE, UnreadableError

TIMES = "times.csv"
CANVAS = "Canvas"
"""The source of a mark without a time: `LATE` in the name of an upload."""

GITHUB = "GitHub"
NBGRADER = "nbgrader"
GRADESCOPE = "Gradescope"

_COLUMNS = ("student", "unit", "time")
_SUBMISSION = "submission"
_PARTICIPANT, _NAME, _MODIFIED = "Identifier", "Full name", "Last modified (submission)"
_ADDRESS = "Email address"
# Moodle writes times in the words of the reader's language. These are its English ones.
_MOODLE_FORMATS = ("%A, %d %B %Y, %I:%M %p", "%A, %d %B %Y, %H:%M", "%A, %B %d, %Y, %I:%M %p")


@dataclass(frozen=True)
class Time:
    """When something was handed in, with a zone, and where that is from. None: the source does not say when."""

    at: datetime.datetime | None
    source: str


@dataclass(frozen=True)
class TimesLine:
    """A line of times.csv. `submission` names the one it is about; "" if the student has only one."""

    student: str
    unit: str
    at: datetime.datetime
    submission: str
    place: str


@dataclass(frozen=True)
class Stamp:
    """A row of a grading worksheet: Moodle's number, the student of the roster if there is one, and the time."""

    number: str
    student: str | None
    at: datetime.datetime | None


@dataclass(frozen=True)
class Worksheet:
    """A grading worksheet of Moodle, with sentences on times that a clock shows twice."""

    path: Path
    stamps: list[Stamp] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)

    @property
    def numbers(self) -> set[str]:
        """The numbers of all rows."""
        return {one.number for one in self.stamps}

    def time(self, number: str, student: str) -> Time:
        """Return the time of the submission with a number; of one without, as in a folder, the student's.

        A number is one student's in one assignment: a worksheet without it is about another assignment.
        """
        fitting = [one for one in self.stamps if (one.number == number if number else one.student == student)]
        times = {one.at for one in fitting}
        return Time(times.pop() if len(times) == 1 else None, self.path.name)


@dataclass
class Times:
    """What the tables beside a roster say about times.

    Attributes:
        folder: The folder of the roster.
        lines: The lines of times.csv.
        worksheets: Moodle's grading worksheets times_<name>.csv, by name: a unit's, or a download's without its suffix.
    """

    folder: Path | None = None
    lines: list[TimesLine] = field(default_factory=list)
    worksheets: dict[str, Worksheet] = field(default_factory=dict)

    def of(self, student: str, unit: str) -> list[TimesLine]:
        """Return the lines of times.csv on a unit of a student."""
        return [line for line in self.lines if (line.student, line.unit) == (student, unit)]

    def student(self, number: str) -> str | None:
        """Return whose submission has a number of Moodle, as a worksheet says."""
        stamps = [one for sheet in self.worksheets.values() for one in sheet.stamps if one.number == number]
        return stamps[0].student if number and len({one.student for one in stamps}) == 1 else None

    def kept(self, student: str, unit: str, before: Time | None) -> Time | None:
        """Return the time of a unit that is not graded now: that of its report, as far as the tables still have it."""
        lines = self.of(student, unit)
        only = lines[0] if len(lines) == 1 and not lines[0].submission else None
        if before and before.source != TIMES:
            if only:
                return Time(only.at, TIMES)
            is_gone = before.source.endswith(".csv") and not (self.folder and (self.folder / before.source).exists())
            return None if is_gone else before
        if not lines or (before and before.at in (None, *(line.at for line in lines))):
            return before if lines else None
        if before and len(lines) == 1:  # the line was corrected
            return Time(lines[0].at, TIMES)
        return Time(only.at if only else None, TIMES)


def read_times(folder: Path, entries: Iterable[RosterEntry], course: Course, downloads: Iterable[Path] = ()) -> Times:
    """Read times.csv and Moodle's grading worksheets in the folder of the roster.

    Args:
        folder: The folder.
        entries: The roster.
        course: The course.
        downloads: The folders and archives to grade, which may have worksheets of their own.

    Raises:
        TableError: A line is wrong.
    """
    entries = list(entries)
    times = Times(folder)
    for name in dict.fromkeys([*course.units, *map(stem, downloads)]):
        if (path := folder / f"times_{name}.csv").exists():
            times.worksheets[name] = _worksheet(path, entries, course.timezone)
    if (path := folder / TIMES).exists():
        times.lines = _lines(path, entries, course)
    return times


def stem(path: Path) -> str:
    """Return the name of a download without the suffix of an archive."""
    return bare(path.name or path.resolve().name)


def bare(name: str) -> str:
    """Return a name without the suffix of an archive."""
    return ARCHIVE.sub("", name)


def _lines(path: Path, entries: list[RosterEntry], course: Course) -> list[TimesLine]:
    table = read_table(path, ",".join(_COLUMNS))
    table.require_known(_COLUMNS, [_SUBMISSION])
    known = {entry.student for entry in entries}
    lines: dict[tuple[str, str, str], TimesLine] = {}
    for row in table.rows:
        student, unit, time = row["student"], row["unit"], parse_time(row["time"])
        if student not in known:
            table.report(row, "student", f"{student!r} is not in the roster: correct the name, or add the student.")
        if unit not in course.units:
            table.report(row, "unit", f"{unit!r} is not a unit: autograder.yml has {', '.join(course.units)}.")
        submission = row[_SUBMISSION].rstrip("/")
        key = (student, unit, bare(submission).casefold())
        if key in lines:
            table.report(
                row,
                "unit",
                f"there is an earlier line for {student} and {unit}: remove one, or name the download of each in the "
                f"column `{_SUBMISSION}`.",
            )
        if time is None:
            example = "2027-01-25T23:10:00+01:00"
            table.report(
                row, "time", f"{row['time']!r} is no time with an offset from UTC: write {example}, for example."
            )
        else:
            lines[key] = TimesLine(student, unit, time, submission, f"{path}, line {row.line}")
    table.require_sound()
    return list(lines.values())


def _worksheet(path: Path, entries: list[RosterEntry], timezone: str | None) -> Worksheet:
    """Read a grading worksheet. Whoever is in no roster is known by the number."""
    table = read_table(path, f"{_PARTICIPANT},{_NAME},{_MODIFIED}")
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
    by_address = {entry.email.casefold(): entry.student for entry in entries if entry.email}
    worksheet = Worksheet(path)
    for row in table.rows:
        participant, name, modified = row[_PARTICIPANT], row[_NAME], row[_MODIFIED]
        number = participant.rpartition(" ")[2]
        found = matcher.match(f"{student_id(name)}_{number}", written=f"{name}_{number}")
        time = _moodle_time(modified)
        instants = _instants(time, zone) if time else []
        place = f"{path}, line {row.line}"
        if time is None and modified not in ("", "-"):
            table.report(row, _MODIFIED, f"{modified!r} cannot be read: download the worksheet in English.")
        elif time and not instants:
            table.report(
                row, _MODIFIED, f"clocks in {timezone} never showed {modified!r}: set Moodle's zone in autograder.yml."
            )
        elif len(instants) > 1:
            worksheet.notes.append(
                f"{place}: clocks in {timezone} showed {modified!r} twice: write the time of {name} into {TIMES}."
            )
        student = by_address.get(row[_ADDRESS].casefold()) or (found[0].student if found else None)
        worksheet.stamps.append(Stamp(number, student, instants[0] if len(instants) == 1 else None))
    table.require_sound()
    return worksheet


def _moodle_time(text: str) -> datetime.datetime | None:
    for pattern in _MOODLE_FORMATS:
        try:
            return datetime.datetime.strptime(text.replace("\N{NARROW NO-BREAK SPACE}", " "), pattern)
        except ValueError:
            continue
    return None


def _instants(local: datetime.datetime, zone: datetime.tzinfo) -> list[datetime.datetime]:
    """Return when clocks showed a time: twice if they were set back, never if they were set forward."""
    read = [local.replace(tzinfo=zone, fold=fold) for fold in (1, 0)]
    here = [one for one in read if one.astimezone(datetime.UTC).astimezone(zone).replace(tzinfo=None) == local]
    return list({one.utcoffset(): one for one in here}.values())


def pushed_time(path: Path, student: str, unit: str) -> Time | None:
    """Return when the work of a student in a folder <unit>/ of `grader collect` was pushed; None elsewhere."""
    is_late = path.parent.name == LATE
    folder = path.parent.parent if is_late else path.parent
    work = _collected(folder / COLLECTED).get(student, {}).get(unit) if path.name == unit else None
    work = work.late if work and is_late else work
    if not work or not work.commit:
        return None
    return Time(None, GITHUB) if work.may_be_late else Time(work.pushed, work.dated_by)


@cache
def _collected(path: Path) -> dict[str, dict[str, CollectedWork]]:
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
        text = read_text(folder, f"{unit}/{TIMESTAMP}", 1000) or ""
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
    instants = [time] if time.tzinfo else _instants(time, zone)
    return Time(instants[0], NBGRADER) if len(instants) == 1 else None
