"""The sources of a submission, and the statements that are left out of them, as they ended or hung the process."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from grader.sandbox.cells import fix_indentation
from grader.sandbox.failures import Ended, FailedStatement, TimedOut
from grader.sandbox.pieces import split
from grader.sandbox.statements import does_only
from grader.text import listed

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from grader.sandbox.messages import Progress
    from grader.sandbox.statements import Piece

OTHERS = "So the file's other calls and loops outside of functions were left out, too"
PUT_BELOW = 'Put what takes long under `if __name__ == "__main__":`.'


@dataclass(frozen=True)
class Source:
    """A unit's source texts, each with its label in tracebacks."""

    filename: str
    cells: tuple[str, ...]
    labels: tuple[str, ...]
    is_notebook: bool

    @classmethod
    def of(cls, filename: str, cells: Sequence[str]) -> Source:
        """Label a script with its file name, and the cells of a notebook with their numbers, from 1."""
        is_notebook = filename.endswith(".ipynb")
        labels = [f"{filename}, cell {number}" for number in range(1, len(cells) + 1)] if is_notebook else [filename]
        return cls(filename, tuple(cells), tuple(labels), is_notebook)


class LeftOut:
    """What to leave out of each unit: such statements and, if time ran out, all calls and loops outside of functions.

    Attributes:
        failures: The statements, for each unit.
    """

    def __init__(self, sources: dict[str, Source]) -> None:
        """Leave out nothing of these units."""
        self.failures: dict[str, list[FailedStatement]] = {unit: [] for unit in sources}
        self._sources = sources
        self._places: dict[str, list[tuple[int, int]]] = {unit: [] for unit in sources}
        self._brief: set[str] = set()

    def sources(self) -> dict[str, dict[str, Any]]:
        """Return the sources as the worker reads them."""
        return {
            unit: {**vars(source), "skip": self._places[unit], "is_brief": unit in self._brief}
            for unit, source in self._sources.items()
        }

    def is_brief(self, unit: str) -> bool:
        """Return whether the calls and loops of a unit are left out."""
        return unit in self._brief

    def add(self, place: Progress | None, failure: TimedOut | Ended, loaded: str) -> bool:
        """Leave out the statement that was running when the process was lost. Return False if none was.

        loaded: the unit that was being loaded. It may have imported the one of the statement.
        """
        known = place if place and place.unit in self._sources else None
        unit, ran_out_of_time = known.unit if known else loaded, isinstance(failure, TimedOut)
        if ran_out_of_time:
            self._brief.add(unit)
        if not known or not 0 <= known.cell < len(self._sources[unit].cells):
            return False
        source = self._sources[unit]
        detail = f"{_others(source, known)} {PUT_BELOW}".strip() if ran_out_of_time else ""
        self._places[unit].append((known.cell, known.line))
        label = source.labels[known.cell]
        self.failures[unit].append(FailedStatement(tuple(known.names), failure.reason, detail, known.line, label))
        return True


def _others(source: Source, place: Progress) -> str:
    """Return a sentence on the calls and loops of a source outside of functions, but the one at this place; or ""."""
    stopped = place.cell, place.line
    cells = fix_indentation(list(source.cells)) if source.is_notebook else source.cells
    found = []
    for number, (cell, label) in enumerate(zip(cells, source.labels, strict=True)):
        pieces = split(cell, source.is_notebook)
        places = _joined((piece, does_only(piece) and (number, piece.line) != stopped) for piece in pieces)
        if places:
            lines = "line" if len(places) == 1 and places[0].isdigit() else "lines"
            found.append(f"{lines} {listed(places)}{f' of {label}' if source.is_notebook else ''}")
    return f"{OTHERS}: {'; '.join(found)}." if found else ""


def _joined(pieces: Iterable[tuple[Piece, bool]]) -> list[str]:
    """Return the lines of the pieces that are chosen; those of neighbours together."""
    places: list[tuple[int, int]] = []
    is_next = False
    for piece, is_chosen in pieces:
        last = piece.tree.body[-1].end_lineno if piece.tree else None
        if is_chosen:
            first = places.pop()[0] if is_next else piece.line
            places.append((first, last or piece.line))
        is_next = is_chosen
    return [str(first) if first == last else f"{first} to {last}" for first, last in places]
