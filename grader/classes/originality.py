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
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from grader.classes.hand_ins import HandIn, groups
from grader.classes.work import combined
from grader.course.model import Course
from grader.errors import GraderError
from grader.files import write_atomically
from grader.sandbox.pieces import fix_indentation
from grader.sandbox.statements import MAGIC, other_language, parse
from grader.submissions.notebook import code_lines
from grader.submissions.reader import read_submission
from grader.submissions.submission import UnitSource, UnitSubmission, filenames, missing_file

INFO, SUBMISSIONS, BASE_CODE = "info.csv", "submissions", "base-code"
COLUMNS = ["filename", "full_name", "ignored"]
"""Three of the columns that Dolos reads. It takes the file whose `ignored` is true as the base code."""
_FEWEST = 2


@dataclass
class CodeExport:
    """The code of a unit, by student.

    Attributes:
        unit: The unit.
        stub: The file that students receive.
        code: What each student handed in, in the order of names; of a group, the first member.
        together: The members of each group by its first one.
        without: The students without code of the unit, or with nothing but the stub.
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
        return [student for student, code in self.code.items() if not _is_python(code)]

    def write(self, into: Path) -> None:
        """Write the folder, in place of an earlier export.

        Raises:
            GraderError: It holds something else.
            OSError: A file cannot be written.
        """
        require_own(into)
        for name in (SUBMISSIONS, BASE_CODE):
            shutil.rmtree(into / name, ignore_errors=True)
        script = filenames(self.unit)[0]
        files = {f"{SUBMISSIONS}/{student}/{script}": code for student, code in self.code.items()}
        names = [", ".join(self.together.get(student, [student])) for student in self.code]
        rows = [[path, name, ""] for path, name in zip(files, names, strict=True)]
        table = io.StringIO(newline="")
        base_code = f"{BASE_CODE}/{script}"
        csv.writer(table, lineterminator="\n").writerows([COLUMNS, *rows, [base_code, BASE_CODE, "true"]])
        for path, content in {INFO: table.getvalue(), base_code: self.stub, **files}.items():
            (into / path).parent.mkdir(parents=True, exist_ok=True)
            write_atomically(into / path, content)


def read_code(submissions: Mapping[str, Sequence[HandIn]], course: Course, unit: str) -> CodeExport:
    """Read the unit's code of each student as `grader grade` does.

    Raises:
        GraderError: There is no stub, or there are fewer than two students with code.
    """
    path = course.exercises / filenames(unit)[0]
    if not path.is_file():
        raise GraderError(f"{path} is missing: run `grader build`.")
    export = CodeExport(unit, path.read_text(encoding="utf-8"))
    untouched = code_lines([export.stub])
    for group in groups(dict(sorted(submissions.items()))):
        by_code: dict[str, list[str]] = {}
        for student in sorted(group):
            read = _read(student, submissions[student], course, unit)
            if read.code and code_lines(read.code.cells) not in ([], untouched):
                by_code.setdefault(_script(read.code), []).append(student)
            elif read.problem not in ("", missing_file(unit)):
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


def _script(source: UnitSource) -> str:
    """Return a student's code as one script; what of a notebook is no Python becomes comments."""
    if not source.is_notebook:
        return source.cells[0]
    cells = [cell if _is_python(cell) else _with_comments(cell) for cell in fix_indentation(list(source.cells))]
    return "\n\n\n".join(cell.strip("\n") for cell in cells if cell.strip()) + "\n"


def _with_comments(cell: str) -> str:
    """Return a cell with its magics as comments, where a block needs a statement after one."""
    if other_language(cell):
        return "\n".join(f"# {line}" for line in cell.split("\n"))
    return "\n".join(MAGIC.sub(r"\1pass  # \2", line) for line in cell.split("\n"))


def _is_python(text: str) -> bool:
    """Return whether a text parses as a whole."""
    with warnings.catch_warnings(action="ignore"):  # on what students wrote
        return not isinstance(parse(text), SyntaxError)


def require_own(folder: Path) -> None:
    """Raise GraderError if a folder holds files that no export wrote."""
    files = [path for path in folder.rglob("*") if path.is_symlink() or not path.is_dir()]
    if strangers := sorted({path.relative_to(folder).as_posix() for path in files} - {INFO, *_listed(folder)}):
        raise GraderError(
            f"--out: {folder} holds {strangers[0]}, which is not from `grader originality`: name another folder."
        )


def _listed(folder: Path) -> list[str]:
    """Return the files that an export lists; none if the folder is not one."""
    try:
        with open(folder / INFO, encoding="utf-8", newline="") as file:
            header, *rows = list(csv.reader(file))
    except (OSError, ValueError, csv.Error):
        return []
    return [row[0] for row in rows if len(row) == len(COLUMNS)] if header == COLUMNS else []
