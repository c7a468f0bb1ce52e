"""The statements of a submission that are left out when a unit runs again, because they ended or hung its process."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from grader.sandbox.failures import Ended, FailedStatement, TimedOut

if TYPE_CHECKING:
    from grader.sandbox.client import Source
    from grader.sandbox.messages import Progress

OTHERS = (
    "So the file's other calls and loops outside of functions were left out, too. Put what takes long under "
    '`if __name__ == "__main__":`.'
)


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

    def add(self, place: Progress | None, failure: TimedOut | Ended, loaded: str) -> bool:
        """Leave out the statement that was running when the process was lost. Return False if none was.

        loaded: the unit that was being loaded. It may have imported the one of the statement.
        """
        is_known = place is not None and place.unit in self._sources
        detail = OTHERS if isinstance(failure, TimedOut) else ""
        if detail:
            self._brief.add(place.unit if place and is_known else loaded)
        if not place or not is_known or not 0 <= place.cell < len(self._sources[place.unit].cells):
            return False
        self._places[place.unit].append((place.cell, place.line))
        label = self._sources[place.unit].labels[place.cell]
        self.failures[place.unit].append(FailedStatement(tuple(place.names), failure.reason, detail, place.line, label))
        return True
