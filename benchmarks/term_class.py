"""The class of benchmarks/term.py: its students, what they hand in, and the files that platforms make of it.

Everything follows from the number of a student and of a unit, so two runs have the same bytes.
"""

from __future__ import annotations

import csv
import datetime
import io
import re
import sys
import zipfile
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import NamedTuple

from answers import COURSE, ROOT, accepted_answers, read, source_of

from grader.submissions.submission import student_id
from grader.testing.misconceptions import build, misconceptions_of

sys.path.insert(0, str(ROOT / "examples"))
from make_class import make_class

FIRST = ("Ada", "Béla", "Chen", "Dina", "Emil", "Fatma", "Gül", "Hugo", "Inès", "José", "Kai", "Lena")
LAST = ("Doe", "Roe", "O'Neil", "van Dyk", "Zając")
# Of every twelve students, five are right and three have mistakes. The others are those of the example class.
KINDS = (*["right"] * 5, *["mistaken"] * 3, "unfinished", "dina", "written", "mallory")
SHEETS = ("ada", "bela", "emil", "dina")
PLATFORMS = ("moodle", "canvas", "folders")
# Instead of the name in reports, most folders have another name that the roster knows.
FOLDERS = ("student", "name", "sis_login_id", "sis_user_id", "email", "folder")
# A zip file has the time of its entries. It is never used.
FIXED = (2025, 1, 1, 0, 0, 0)
IN_TIME, GRACE, LATE = datetime.timedelta(days=-1), datetime.timedelta(minutes=5), datetime.timedelta(days=1, hours=12)
EXTENDED = datetime.timedelta(days=7)
EXEMPT = "exempt"

Files = Mapping[str, bytes]


class HandIn(NamedTuple):
    """What a student hands in for a unit: the files, those of an earlier try, and how long after the due date."""

    files: Files
    first_try: Files | None
    after: datetime.timedelta


@dataclass(frozen=True)
class Student:
    """A student, and the names that platforms know."""

    number: int

    @property
    def kind(self) -> str:
        """What the answers are like."""
        return KINDS[self.number % len(KINDS)]

    @property
    def row(self) -> dict[str, str]:
        """The columns of the roster, without those of units."""
        first, last = FIRST[self.number % len(FIRST)], LAST[self.number % len(LAST)]
        return {
            "student": f"{student_id(first).lower()}{self.number:02}",
            "name": f"{first} {last}",
            "email": f"{student_id(first)}.{student_id(last)}@example.org".lower(),
            "id": str(500 + self.number),
            "sis_user_id": f"2025-{self.number:04}",
            "sis_login_id": f"u{self.number:04}",
            "section": "AB"[self.number % 2],
            "folder": f"Group {self.number}",
        }

    def status(self, place: int) -> str:
        """Return what is special about this student in the unit at this place of the course, or ""."""
        turn = (self.number + 7 * place) % 20
        special = {0: "absent", 3: "resubmitted", 6: "late", 9: "grace", 12: "extended", 15: "late", 18: EXEMPT}
        return special.get(turn, "")


@dataclass(frozen=True)
class Class:
    """The students, the units, and the folder of the example class."""

    students: list[Student]
    units: list[str]
    examples: Path
    due: Mapping[str, datetime.datetime] = field(default_factory=dict)

    def hand_in(self, student: Student, unit: str) -> HandIn | None:
        """Return what a student hands in; None if nothing."""
        place = list(COURSE.units).index(unit)
        status = student.status(place)
        files = self._files(student, unit)
        if status in ("absent", EXEMPT) or not files:
            return None
        stub = {f"{unit}.py": read("exercises", unit).encode()}
        after = {"late": LATE, "extended": LATE, "grace": GRACE}.get(status, IN_TIME)
        return HandIn(files, stub if status == "resubmitted" else None, after)

    def _files(self, student: Student, unit: str) -> Files:
        number, kind = student.number, student.kind
        if kind in ("dina", "mallory", "written"):
            return self._example(("chen", "farah", "emil")[number // 12 % 3] if kind == "written" else kind, unit)
        right = right_answers(unit)
        text = right[number % len(right)]
        if kind == "mistaken":
            known = mistakes_of(unit)
            for more in range(1 + number % 3):
                text += f"\n\n{known[(number * 7 + more * len(known) // 3) % len(known)]}"
        elif kind == "unfinished" and list(COURSE.units).index(unit) > number // 12:
            text = read("exercises", unit)
        name = f"{unit} (1).py" if number % 7 == 3 else f"{unit}.py"
        sheets = self._example(SHEETS[number % len(SHEETS)], unit)
        return {name: text.encode(), **{sheet: content for sheet, content in sheets.items() if sheet.endswith(".md")}}

    def _example(self, name: str, unit: str) -> Files:
        found = [*(self.examples / name).rglob(f"{unit}.*"), *(self.examples / name).rglob(f"{unit}_quiz.md")]
        return {path.name: path.read_bytes() for path in sorted(found)}


@cache
def right_answers(unit: str) -> list[str]:
    return accepted_answers(unit)


@cache
def mistakes_of(unit: str) -> list[str]:
    return [source_of(mistake) for mistake in misconceptions_of(COURSE, unit)]


def make(count: int, units: list[str], folder: Path, due: Mapping[str, datetime.datetime]) -> Class:
    """Make the class. The example class is written to `folder`."""
    build(COURSE, units)
    make_class(ROOT, folder)
    return Class([Student(number) for number in range(count)], units, folder, due)


# -- the files of a term -------------------------------------------------------------------------------------------


def roster(a_class: Class) -> str:
    """Return the roster, with extensions and exemptions."""
    rows = []
    for student in a_class.students:
        cells = dict(student.row)
        for unit in a_class.units:
            status = student.status(list(COURSE.units).index(unit))
            extended = (a_class.due[unit] + EXTENDED).isoformat()
            cells[unit] = {EXEMPT: EXEMPT, "extended": extended}.get(status, "")
        rows.append(cells)
    return table(rows)


def adjustments(a_class: Class) -> str:
    """Return adjustments: of a unit, of an exercise, more and less."""
    rows = [
        {
            "student": student.row["student"],
            "unit": (unit := a_class.units[student.number % len(a_class.units)]),
            "exercise": next(iter(COURSE.units[unit].exercises)) if student.number % 2 else "",
            # Moodle imports no more points than a unit has.
            "points": {"mistaken": "1.5", "right": "0.5"}.get(student.kind, "-2"),
            "comment": "The text was not clear.",
            "by": "Ms Roe",
        }
        for student in a_class.students[::5]
    ]
    return table(rows)


def times(a_class: Class) -> str:
    """Return times.csv. Units from Moodle have a worksheet, and some late uploads to Canvas have no time."""
    rows = []
    for unit in a_class.units:
        for student in a_class.students if platform_of(unit) != "moodle" else ():
            handed_in = a_class.hand_in(student, unit)
            if handed_in and not is_undated(student, unit, handed_in):
                time = a_class.due[unit] + handed_in.after
                rows.append(
                    {
                        "student": student.row["student"],
                        "unit": unit,
                        "time": time.isoformat(),
                        "submission": f"{unit}.zip",
                    }
                )
    return table(rows, ("student", "unit", "time", "submission"))


def worksheet(a_class: Class, unit: str) -> str:
    """Return Moodle's grading worksheet of a unit."""
    rows = []
    for student in a_class.students:
        handed_in = a_class.hand_in(student, unit)
        time = f"{a_class.due[unit] + handed_in.after:%A, %d %B %Y, %I:%M %p}" if handed_in else "-"
        rows.append(
            {
                "Identifier": f"Participant {moodle_number(student, unit)}",
                "Full name": student.row["name"],
                "Email address": student.row["email"],
                "Last modified (submission)": time,
            }
        )
    return table(rows)


def table(rows: Iterable[Mapping[str, str]], columns: Iterable[str] = ()) -> str:
    rows = list(rows)
    text = io.StringIO()
    writer = csv.DictWriter(text, [*columns] or list(rows[0]), lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    return text.getvalue()


def platform_of(unit: str) -> str:
    return PLATFORMS[list(COURSE.units).index(unit) % len(PLATFORMS)]


def moodle_number(student: Student, unit: str) -> int:
    """Return the number of a student in Moodle, which differs in each assignment."""
    return 4000 + 100 * list(COURSE.units).index(unit) + student.number


def is_undated(student: Student, unit: str, handed_in: HandIn) -> bool:
    """Return whether Canvas says that something is late, and nothing says by how much."""
    return platform_of(unit) == "canvas" and handed_in.after == LATE and student.number % 4 == 0


def write_downloads(a_class: Class, unit: str, folder: Path) -> list[Path]:
    """Write the downloads of a unit, the earlier one first, and return their paths."""
    platform = platform_of(unit)
    first: dict[str, bytes] = {}
    last: dict[str, bytes] = {}
    for student in a_class.students:
        if handed_in := a_class.hand_in(student, unit):
            # Canvas gives all uploads in one download.
            before = last if platform == "canvas" else first
            # Of a folder that is collected twice, a third is in both.
            is_in_both = platform == "folders" and student.number % 3 == 0
            tried = handed_in.first_try or (handed_in.files if is_in_both else {})
            before.update(_members(student, unit, handed_in, tried, 1))
            last.update(_members(student, unit, handed_in, handed_in.files, 2))
    found = []
    for name, members in ((f"{unit}_first.zip", first), (f"{unit}.zip", last)):
        if members:
            with zipfile.ZipFile(folder / name, "w", zipfile.ZIP_DEFLATED) as archive:
                for path, content in sorted(members.items()):
                    archive.writestr(zipfile.ZipInfo(path, FIXED), content)
            found.append(folder / name)
    return found


def _members(student: Student, unit: str, handed_in: HandIn, files: Files, upload: int) -> Iterator[tuple[str, bytes]]:
    """Yield the paths of a student's files in a download, and their contents."""
    row, platform = student.row, platform_of(unit)
    column = FOLDERS[student.number % len(FOLDERS)]
    first, _, last = row["name"].partition(" ")
    for name, content in files.items():
        if platform == "moodle":
            yield f"{row['name']}_{moodle_number(student, unit)}_assignsubmission_file_/{name}", content
        elif platform == "canvas":
            who = re.sub(r"[^a-z]", "", student_id(f"{last}{first}").lower())
            late = "_LATE" if handed_in.after == LATE else ""
            again = re.sub(r"(?=\.\w+$)", "-1", name) if handed_in.first_try and upload == 2 else name
            yield f"{who}{late}_{row['id']}_{upload * 1000 + student.number}_{again}", content
        else:
            yield f"{row[column].partition('@')[0]}/{name}", content
