"""Exports the code of a class for the programs that compare it, Dolos and JPlag. It compares nothing itself.

The folder has one form for both:

    info.csv                        for Dolos: the files, and whose they are
    submissions/<student>/<unit>.py   for JPlag: a folder for each submission
    base-code/<unit>.py               for both: the stub, whose code is no finding
"""

from __future__ import annotations

import csv
import io
import shutil
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from grader.classes.groups import groups
from grader.classes.hand_ins import HandIn, combined
from grader.classes.originality.own_code import Stub, is_python, own_code
from grader.errors import GraderError
from grader.files import write_atomically
from grader.submissions.names import filenames, missing_unit
from grader.submissions.reader import read_submission

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from pathlib import Path

    from grader.course.model import Course
    from grader.submissions.source import UnitSubmission

INFO, SUBMISSIONS, BASE_CODE = "info.csv", "submissions", "base-code"
COLUMNS = ["filename", "full_name", "ignored"]
"""Three of the columns that Dolos reads. It takes the file whose `ignored` is true as the base code."""
_FEWEST = 2


@dataclass
class Export:
    """The code of a unit, by student.

    Attributes:
        unit: The unit.
        stub: The file that students receive.
        code: What each student wrote, in the order of names; of a group, the first member.
        together: The members of each group by its first one.
        without: The students without code of the unit.
        problems: Sentences on code that could not be read.
    """

    unit: str
    stub: str
    code: dict[str, str] = field(default_factory=dict)
    together: dict[str, list[str]] = field(default_factory=dict)
    without: list[str] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)

    @property
    def not_python(self) -> list[str]:
        """The students whose code does not parse as a whole."""
        return [student for student, code in self.code.items() if not is_python(code)]

    @property
    def files(self) -> dict[str, str]:
        """The content of each file by its path."""
        script = filenames(self.unit)[0]
        code = {f"{SUBMISSIONS}/{student}/{script}": code for student, code in self.code.items()}
        names = [", ".join(self.together.get(student, [student])) for student in self.code]
        rows = [[path, name, ""] for path, name in zip(code, names, strict=True)]
        table = io.StringIO(newline="")
        writer = csv.writer(table, lineterminator="\n")
        writer.writerows([COLUMNS, *rows, [f"{BASE_CODE}/{script}", BASE_CODE, "true"]])
        return {INFO: table.getvalue(), f"{BASE_CODE}/{script}": self.stub, **code}


def read_class(submissions: Mapping[str, Sequence[HandIn]], course: Course, unit: str) -> Export:
    """Read the unit's code of each student as `grader grade` does, without what the stub has.

    Raises:
        GraderError: There is no stub, or there are fewer than two students with code.
    """
    path = course.exercises / filenames(unit)[0]
    if not path.is_file():
        raise GraderError(f"{path} is missing: run `grader build`.")
    text = path.read_text(encoding="utf-8")
    stub, export = Stub(text), Export(unit, text)
    for group in groups(dict(sorted(submissions.items()))):
        by_code: dict[str, list[str]] = {}
        for student in sorted(group):
            read = _read(student, submissions[student], course, unit)
            if code := own_code(read.code, stub) if read.code else "":
                by_code.setdefault(code, []).append(student)
            elif read.problem not in ("", missing_unit(unit)):
                export.problems.append(f"{student}: {read.problem}")
            else:
                export.without.append(student)
        for code, members in by_code.items():
            export.code[members[0]] = code
            if len(members) > 1:
                export.together[members[0]] = members
    export.code = dict(sorted(export.code.items()))
    if len(export.code) < _FEWEST:
        who = f"only {next(iter(export.code))}" if export.code else "nobody"
        why = "\n".join(["", *export.problems])
        raise GraderError(f"There is nothing to compare, because {who} has code of {unit}: give more submissions.{why}")
    return export


def _read(student: str, hand_ins: Sequence[HandIn], course: Course, unit: str) -> UnitSubmission:
    """Return the unit as the last submission that has it."""
    each = [read_submission(student, one.tree, [unit], course.exercises, course.units, only=unit) for one in hand_ins]
    return combined(each)[0].units[unit]


def write(export: Export, into: Path) -> None:
    """Write the folder, in place of an earlier export.

    Raises:
        GraderError: It holds something else.
        OSError: A file cannot be written.
    """
    require_own(into)
    for name in (SUBMISSIONS, BASE_CODE):
        shutil.rmtree(into / name, ignore_errors=True)
    for path, content in export.files.items():
        (into / path).parent.mkdir(parents=True, exist_ok=True)
        write_atomically(into / path, content)


def require_own(folder: Path) -> None:
    """Raise GraderError if a folder holds files that no export wrote."""
    strangers = sorted({path.relative_to(folder).as_posix() for path in _files(folder)} - {INFO, *listed(folder)})
    if strangers:
        raise GraderError(
            f"--out: {folder} holds {strangers[0]}, which is not from `grader originality`: name another folder."
        )


def listed(folder: Path) -> dict[str, str]:
    """Return the files that an export lists, each with its student; {} if the folder is not one."""
    try:
        with open(folder / INFO, encoding="utf-8", newline="") as file:
            header, *rows = list(csv.reader(file))
    except (OSError, ValueError, csv.Error):
        return {}
    return {row[0]: row[1] for row in rows if len(row) == len(COLUMNS)} if header == COLUMNS else {}


def _files(folder: Path) -> Iterator[Path]:
    if folder.is_symlink() or not folder.is_dir():
        return
    for path in folder.iterdir():
        if path.is_dir() and not path.is_symlink():
            yield from _files(path)
        else:
            yield path
