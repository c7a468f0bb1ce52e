"""Reads the tables of a class: CSV files in UTF-8 with a header, and problems named by line and column."""

from __future__ import annotations

import csv
import io
import re
import unicodedata
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from grader.documents import nearest
from grader.errors import GraderError

_SEPARATOR = re.compile(r'"?sep=([,;|\t])"?[,;\t]*\r?\n', re.IGNORECASE)


class TableError(GraderError):
    """A table of the class is wrong: one line for each problem."""


@dataclass(frozen=True)
class TableRow:
    """One line of a table: its cells by column in lower case, without spaces around them. A missing cell is empty."""

    line: int
    cells: Mapping[str, str]

    def __getitem__(self, column: str) -> str:
        return self.cells.get(column.casefold(), "")


@dataclass
class Table:
    """A table, and the problems found in it so far.

    Attributes:
        path: The file.
        columns: The names of its columns, whose case does not matter.
        rows: The rows below the header that are not blank.
        header: The line of the header.
    """

    path: Path
    columns: list[str]
    rows: list[TableRow]
    header: int = 1
    _problems: list[tuple[int, str]] = field(default_factory=list)

    def report(self, row: TableRow, column: str, sentence: str) -> None:
        """Report a problem with a cell."""
        self._problems.append((row.line, f"{self.path}, line {row.line}, {column}: {sentence}"))

    def has(self, *columns: str) -> bool:
        """Return whether there are columns of these names, in any case."""
        return {name.casefold() for name in columns} <= {name.casefold() for name in self.columns}

    def require_sound(self) -> None:
        """Raise TableError if a problem was reported."""
        if self._problems:
            raise TableError("\n".join(sentence for _, sentence in sorted(self._problems)))

    def require_known(self, columns: Iterable[str], optional: Iterable[str] = ()) -> None:
        """Raise TableError unless the columns are these, with or without optional ones, in any order and case."""
        needed = list(columns)
        known = list(dict.fromkeys([*needed, *optional]))
        problems = [f"the column {name!r} is missing." for name in needed if not self.has(name)]
        problems += self._doubled(known)
        unknown = [name for name in self.columns if name.casefold() not in map(str.casefold, known)]
        problems += [f"{name!r} is not a column of this file.{nearest(name, known)}" for name in unknown]
        if problems:
            can_be = f"The columns can be {', '.join(known)}."
            raise TableError("\n".join(f"{self.path}, line {self.header}: {one} {can_be}" for one in problems))

    def require_single(self, columns: Iterable[str]) -> None:
        """Raise TableError if a column of these is there twice."""
        if problems := self._doubled(columns):
            raise TableError("\n".join(f"{self.path}, line {self.header}: {one} Remove one." for one in problems))

    def _doubled(self, columns: Iterable[str]) -> list[str]:
        here = [name.casefold() for name in self.columns]
        return [
            f"there are two columns {name!r}." for name in dict.fromkeys(columns) if here.count(name.casefold()) > 1
        ]


def read_table(path: Path, example: str) -> Table:
    """Read a table. Cells are separated by commas, or by semicolons as in some countries' spreadsheets, or tabs.

    Excel names the separator in a first line such as `sep=;`, which is left out.

    Args:
        path: The file.
        example: Its first line, for messages.

    Raises:
        TableError: It is not such a file.
    """
    try:
        # The letters of a name and their accents may also be written apart, as in names of files on macOS.
        text = unicodedata.normalize("NFC", path.read_text(encoding="utf-8-sig"))
    except FileNotFoundError:
        raise TableError(f"{path} does not exist: write it, with a first line such as {example}") from None
    except UnicodeDecodeError:
        raise TableError(f"{path} is not UTF-8: save it as CSV in UTF-8.") from None
    except OSError as error:
        raise TableError(f"{path} cannot be read ({error.strerror}): put a readable file there.") from None
    named = _SEPARATOR.match(text)
    first = next((line for line in text.splitlines() if line.strip(' ,;\t"')), "")
    delimiter = named[1] if named else max(",;\t", key=first.count)
    rows = csv.reader(io.StringIO(text, newline=""), strict=True, delimiter=delimiter)
    try:
        if named:
            next(rows)
        columns = next((cells for row in rows if any(cells := [cell.strip() for cell in row])), [])
        while columns and not columns[-1]:
            columns.pop()
        if not columns:
            raise TableError(f"{path} is empty: write it, with a first line such as {example}")
        header = rows.line_num
        return Table(path, columns, list(_rows(path, columns, rows)), header)
    except csv.Error as error:
        raise TableError(f"{path}, line {rows.line_num}: this is not CSV ({error}): correct the quotes.") from None


def _rows(path: Path, columns: list[str], rows: Iterator[list[str]]) -> Iterator[TableRow]:
    """Yield the rows that are not blank, each with the line on which it ends."""
    for values in rows:
        cells = [cell.strip() for cell in values]
        line: int = rows.line_num  # type: ignore[attr-defined]
        if not any(cells):
            continue
        if any(cells[len(columns) :]):
            raise TableError(
                f"{path}, line {line}: there are {len(cells)} values for {len(columns)} columns: put a value that "
                "contains a comma in quotes."
            )
        yield TableRow(line, dict(zip((name.casefold() for name in columns), cells, strict=False)))
