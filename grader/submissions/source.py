"""One student's submission as it was read: the source of each unit, the answers to each quiz, and problems."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from grader.submissions.names import SHEET_SUFFIX, CourseFiles
from grader.submissions.tree import Files, Ignored

if TYPE_CHECKING:
    import datetime

SHEET_LIMIT = 256 * 1024
"""The most bytes of a quiz's sheet: it is a few pages of text."""
DEFINITION = re.compile(r"^(?:async[ \t]+def|def|class)[ \t]+(\w+)", re.MULTILINE)
"""A line that defines a function or class at top level, with its name."""


@dataclass(frozen=True)
class UnitSource:
    """One file of a unit: its code, or the answers to its quiz. Lines end in a newline.

    Attributes:
        path: The file's path in the submission.
        cells: The cells of a notebook in order; a script or a sheet is a single cell.
        remarks: Sentences for the student.
        grade_ids: Of answers in a notebook, the grade_id of each cell, or None if that is invalid.
    """

    path: str
    cells: tuple[str, ...]
    remarks: tuple[str, ...] = ()
    grade_ids: tuple[str | None, ...] = ()

    @property
    def filename(self) -> str:
        """The name of the file in messages."""
        return self.path.rpartition("/")[2]

    @property
    def is_notebook(self) -> bool:
        """Whether it is a notebook, not a script or a sheet."""
        return self.path.endswith(".ipynb")

    def line_of(self, name: str) -> int | None:
        """Return the line of a script's last definition of a function or class, found without parsing it."""
        if self.is_notebook:
            return None
        places = [found.start() for found in DEFINITION.finditer(self.cells[0]) if found[1] == name]
        return self.cells[0].count("\n", 0, places[-1]) + 1 if places else None


@dataclass(frozen=True)
class UnitSubmission:
    """The submission of one unit.

    Attributes:
        code: Its code, if that could be read.
        problem: Why the code could not be read, if so.
        quiz: The answers to its quiz, if there is one and they could be read.
        quiz_problem: Why they could not be read, if so.
    """

    code: UnitSource | None = None
    problem: str = ""
    quiz: UnitSource | None = None
    quiz_problem: str = ""


@dataclass(frozen=True)
class Submission:
    """The submission of one student.

    Attributes:
        student: The name in reports.
        folder: The folder or tree that it was read from.
        commit: The commit that is checked out there, if any.
        units: The units to grade, whether they could be read or not.
        siblings: The code of other units, which these may import.
        handed_in: Whether anything differs from what students receive.
        kept: An earlier `Report` on the units that are not graded again, if any. This folder may not import its type.
        ignored: The names in it that were ignored.
        untested: Exercises of its units that are left out, because no other one uses them.
        due: The due date of each unit that the student has an extension for.
        copies: The same submission of the other members of a group, who get the result of this one.
    """

    student: str
    folder: Path | Files
    commit: str | None
    units: dict[str, UnitSubmission]
    siblings: dict[str, UnitSource] = field(default_factory=dict)
    handed_in: bool = True
    kept: Any = None
    ignored: tuple[Ignored, ...] = ()
    untested: tuple[str, ...] = ()
    due: Mapping[str, datetime.datetime] = field(default_factory=dict)
    copies: tuple[Submission, ...] = ()

    @property
    def sources(self) -> dict[str, UnitSource]:
        """The code of the units to grade that could be read."""
        return {name: unit.code for name, unit in self.units.items() if unit.code}


LONGEST_LINE = 200
"""The most characters of a heading, or of a line above the title, that are read."""
_MOST_FRONT_LINES = 20

# A formatter that does not know front matter may have turned it into `## quiz: … variant: …`.
_FRONT = re.compile(r"\b(quiz|variant)[ \t]*:[ \t]*(\S*)", re.IGNORECASE)


def front_matter(lines: Sequence[str], is_item: Callable[[str], bool] = lambda _: False) -> dict[str, tuple[str, int]]:
    """Return the values above the title of a sheet by key, each with its line's number.

    is_item: Whether a line is the heading of an item, which ends them where the title is missing.
    """
    front: dict[str, tuple[str, int]] = {}
    for number, line in enumerate(lines[:_MOST_FRONT_LINES], start=1):
        if line.startswith("# ") or is_item(line):
            break
        text = line[:LONGEST_LINE].lstrip("# \t")
        if _FRONT.match(text):
            for key, value in _FRONT.findall(text):
                front.setdefault(key.casefold(), (value.strip("\"'"), number))
    return front


def quiz_of(text: str, units: Iterable[str], course_files: CourseFiles) -> str:
    """Return the unit whose quiz a sheet is, by the lines above its title, or else by the title; "" if by neither."""
    lines = text.removeprefix("\ufeff").split("\n", _MOST_FRONT_LINES)[:_MOST_FRONT_LINES]
    named, title = front_matter(lines).get("quiz", ("", 0))[0], _title(lines)
    if named or not title:
        return named if named in units else ""
    sheets = {unit: course_files.text(f"{unit}{SHEET_SUFFIX}") or "" for unit in units}
    same = [unit for unit, sheet in sheets.items() if _title(sheet.split("\n", _MOST_FRONT_LINES)) == title]
    return same[0] if len(same) == 1 else ""


def _title(lines: Sequence[str]) -> str:
    return next((line.rstrip() for line in lines if line.startswith("# ")), "")


def written_lines(text: str) -> list[str]:
    """Return the lines of a sheet that are not blank."""
    return [line.rstrip() for line in text.split("\n") if line.strip()]
