"""One student's submission: what its student, its files and their places are called, and what was read of it."""

from __future__ import annotations

import re
import stat
import unicodedata
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from grader.errors import GraderError

if TYPE_CHECKING:
    import datetime

    from grader.submissions.tree import Files, Ignored

SHEET_SUFFIX = "_quiz.md"
TIMESTAMP = "timestamp.txt"
"""Where nbgrader keeps the time of a submission, in the folder of its unit."""
FOLDER = "exercises"
"""The folder of a student's repository that holds all units."""
CHECKS = "checks"
"""The folder in it with the visible tests, the pictures and what they read."""

PUBLISHED_FOLDER = "solutions"
"""The folder of a student's repository in which the instructor publishes solutions."""
PUBLISHED = "# Published solutions: "
"""How the file of a unit in this folder begins. It is nobody's answer."""

RELEASED = re.compile(
    r"requirements\.txt|constraints\.txt|machine\.py|timestamp\.txt|.*\.whl|pytest\.ini|"
    r"(expected_values|hints|practice|quizzes|rules|substitutes|worked_examples)\.json"
)
"""The other files that come with a release of the course, or that nbgrader adds."""

STUDENT = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*")
"""A name that a student can have in reports."""

LETTERS = str.maketrans(
    {"ß": "ss", "ø": "o", "Ø": "O", "ł": "l", "Ł": "L", "đ": "d", "Đ": "D", "æ": "ae", "Æ": "Ae", "œ": "oe", "Œ": "Oe",
     "ı": "i", "þ": "th", "Þ": "Th", "ð": "d", "'": "", "\N{RIGHT SINGLE QUOTATION MARK}": ""}
)  # fmt: skip
"""Letters that Unicode does not decompose into an ASCII letter and an accent."""
_KINDS = re.compile(r"(.*?)\.(py|ipynb|md)(?:\.(?:txt|json|html?))?", re.IGNORECASE | re.DOTALL)
_EXPORTS = re.compile(
    r".*\.(?:txt|json|html?|mhtml|pdf|docx?|odt|rtf|pages|md|qmd|rmd|download|crdownload|part)",
    re.IGNORECASE | re.DOTALL,
)


class SubmissionError(GraderError):
    """A path given to the grader is not a submission; the text says which, and what to do."""


def student_id(name: str) -> str:
    """Make an id from a name in any alphabet: letters, digits, `.`, `_` and `-`; "" if none of these remain."""
    letters = unicodedata.normalize("NFKD", name.translate(LETTERS)).encode("ascii", "ignore").decode()
    return re.sub(r"[^A-Za-z0-9._-]+", "-", letters).strip("._-")[:100]


def folded(name: str) -> str:
    """Return what names have in common that differ only in case, or in how accents are written, as on macOS."""
    return unicodedata.normalize("NFC", name).casefold()


def filenames(unit: str) -> tuple[str, str, str]:
    """Return the names of a unit's script, notebook and sheet."""
    return f"{unit}.py", f"{unit}.ipynb", f"{unit}{SHEET_SUFFIX}"


def places(tree: Files, unit: str, name: str) -> list[str]:
    """List where the file `name` of a unit or its notebook may be, in order of preference."""
    notebook = f"{unit}.ipynb"
    found = [name, notebook, f"{FOLDER}/{name}", f"{FOLDER}/{notebook}"]
    # nbgrader keeps a folder for each unit, made for the notebook.
    has_folder = tree.kind(unit) in ("folder", "link")
    return [*found, f"{unit}/{notebook}", f"{unit}/{name}"] if has_folder else found


def missing_file(unit: str, is_quiz: bool = False) -> str:
    """Return the sentence on a unit, or on a quiz, that has no file."""
    if is_quiz:
        return f"{unit}{SHEET_SUFFIX} is missing: hand it in, in the folder itself or in {FOLDER}/."
    return f"{unit}.py is missing: hand it in, or {unit}.ipynb, in the folder itself, in {FOLDER}/ or in {unit}/."


def intended_name(filename: str, units: Iterable[str]) -> str | None:
    """Return the course's file that a misnamed one such as `Self_Attention (1).py.txt` is meant to be.

    The name must contain that of a unit, in any case and with anything around it; otherwise the result is None.
    """
    found = _KINDS.fullmatch(filename)
    if not found:
        return None
    stem, suffix = _squeezed(found[1]), found[2].lower()
    unit = max((unit for unit in units if _squeezed(unit) in stem), key=len, default=None)
    if unit is None or stem.startswith("test"):
        return None
    is_quiz = "quiz" in stem.rpartition(_squeezed(unit))[2]
    if is_quiz != (suffix == "md"):
        return None
    return f"{unit}{SHEET_SUFFIX}" if is_quiz else f"{unit}.{suffix}"


def exported_name(filename: str, units: Iterable[str]) -> str | None:
    """Return the course's file that an export or a copy, such as a PDF document, is made of; None if it is none."""
    if not _EXPORTS.fullmatch(filename):
        return None
    return intended_name(f"{filename}.py", units) or intended_name(f"{filename}.md", units)


def is_published(text: str) -> bool:
    """Return whether a text is a file of solutions that the instructor has published."""
    return text.startswith(PUBLISHED)


def is_code(filename: str) -> bool:
    """Return whether a file is a script or a notebook by its name."""
    found = _KINDS.fullmatch(filename)
    return found is not None and found[2].lower() != "md"


def require_folder(path: Path) -> None:
    """Raise SubmissionError if there is no folder, or only a link to one."""
    try:
        mode = path.lstat().st_mode
    except (OSError, ValueError):
        raise missing(path) from None
    if stat.S_ISLNK(mode):
        raise SubmissionError(f"{quoted(path)} is a symbolic link: give the folder that it points to.")
    if not stat.S_ISDIR(mode):
        raise SubmissionError(f"{quoted(path)} is not a folder: give the folder that the file lies in.")


def missing(path: Path) -> SubmissionError:
    """Return the error for a path that does not exist."""
    return SubmissionError(f"{quoted(path)} does not exist: give the folder of a submission or of a class.")


def require_name(student: str, path: Path) -> None:
    """Raise SubmissionError if no report can have the student's name."""
    if not STUDENT.fullmatch(student):
        raise SubmissionError(
            f"{quoted(path)} cannot be graded as {student!r}: rename the folder or name the student, "
            "with letters, digits, '.', '_' and '-' only, and a letter or a digit first."
        )


def quoted(path: Path) -> str:
    """Quote a path for messages: others may have chosen its name."""
    return repr(str(path))


def quoted_name(path: str) -> str:
    """Quote a path that a student chose, so that it can be printed."""
    return repr(path)[:100]


def _squeezed(name: str) -> str:
    return re.sub(r"[^a-z0-9]", "", name.lower())


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
MOST_FRONT_LINES = 20

# A formatter that does not know front matter may have turned it into `## quiz: … variant: …`.
_FRONT = re.compile(r"\b(quiz|variant)[ \t]*:[ \t]*(\S*)", re.IGNORECASE)


def front_matter(lines: Sequence[str], is_item: Callable[[str], bool] = lambda _: False) -> dict[str, tuple[str, int]]:
    """Return the values above the title of a sheet by key, each with its line's number.

    is_item: Whether a line is the heading of an item, which ends them where the title is missing.
    """
    front: dict[str, tuple[str, int]] = {}
    for number, line in enumerate(lines[:MOST_FRONT_LINES], start=1):
        if line.startswith("# ") or is_item(line):
            break
        text = line[:LONGEST_LINE].lstrip("# \t")
        if _FRONT.match(text):
            for key, value in _FRONT.findall(text):
                front.setdefault(key.casefold(), (value.strip("\"'"), number))
    return front


def written_lines(text: str) -> list[str]:
    """Return the lines of a sheet that are not blank."""
    return [line.rstrip() for line in text.split("\n") if line.strip()]
