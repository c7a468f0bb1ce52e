"""What was read of one student's submission: the source of each unit, the answers to each quiz, and what is wrong."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from grader.submissions.ignored import Ignored
    from grader.submissions.tree import Files

SHEET_LIMIT = 256 * 1024
"""The most bytes of a quiz's sheet, which is a few pages of text."""


@dataclass(frozen=True)
class UnitSource:
    """The source of one unit. Lines end in a newline.

    Attributes:
        path: Where the file lies in the submission.
        cells: The code cells of a notebook in order; a script is a single cell.
        remarks: Sentences for the student.
    """

    path: str
    cells: tuple[str, ...]
    remarks: tuple[str, ...] = ()

    @property
    def filename(self) -> str:
        """The name of the file in messages."""
        return self.path.rpartition("/")[2]

    @property
    def is_notebook(self) -> bool:
        """Whether it is a notebook, and no script."""
        return self.path.endswith(".ipynb")

    def line_of(self, name: str) -> int | None:
        """Return the line on which a script last defines a function or class, found without parsing it."""
        if self.is_notebook:
            return None
        definitions = re.compile(rf"^(?:async[ \t]+def|def|class)[ \t]+{re.escape(name)}\b", re.MULTILINE)
        places = [found.start() for found in definitions.finditer(self.cells[0])]
        return self.cells[0].count("\n", 0, places[-1]) + 1 if places else None


@dataclass(frozen=True)
class SheetSource:
    """The text of one unit's quiz with its answers, and remarks for the student. Lines end in a newline."""

    text: str
    remarks: tuple[str, ...] = ()


@dataclass(frozen=True)
class CellsSource:
    """The cells of a notebook that answer the unit's quiz. Lines end in a newline.

    Attributes:
        filename: The name of the notebook in messages.
        cells: Each cell with its grade_id, or None where that is invalid.
        remarks: Sentences for the student.
    """

    filename: str
    cells: tuple[tuple[str | None, str], ...]
    remarks: tuple[str, ...] = ()


class EarlierReport(Protocol):
    """What a submission keeps of an earlier report, as far as it is used: see grader.reports.model."""

    @property
    def units(self) -> Mapping[str, Any]:
        """The results that are kept, by unit."""

    @property
    def messages(self) -> Sequence[Any]:
        """What the student's code printed and raised in these units."""

    @property
    def isolation(self) -> Any:
        """How the code was isolated while it ran."""


@dataclass(frozen=True)
class Submission:
    """What one student handed in.

    Attributes:
        student: The name in reports.
        folder: Where it was read from.
        commit: The commit that is checked out there, if any.
        units: The units that could be read.
        problems: Why other units could not be read.
        siblings: Units that are not to be graded now, but that the others may import.
        sheets: The answers to the quizzes that could be read.
        sheet_problems: Why other quizzes could not be read.
        handed_in: Whether anything differs from what students receive.
        kept: An earlier report on those of the units that are not to be graded again.
        ignored: Names that nothing needs.
    """

    student: str
    folder: Path | Files
    commit: str | None
    units: dict[str, UnitSource]
    problems: dict[str, str]
    siblings: dict[str, UnitSource] = field(default_factory=dict)
    sheets: dict[str, SheetSource | CellsSource] = field(default_factory=dict)
    sheet_problems: dict[str, str] = field(default_factory=dict)
    handed_in: bool = True
    kept: EarlierReport | None = None
    ignored: tuple[Ignored, ...] = ()
