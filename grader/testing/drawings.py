"""What a picture shows and what a question asks, as plain data: made beside the student's code, drawn by `practice`."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any, Literal

Kind = Literal["grid", "mask", "weights", "lines", "bars", "steps"]
"""Of a panel: numbers in rows and columns, true or false, shares from 0 to 1, a curve for each column, a bar for each
number, or the shape at each step."""

CLOSE = 1e-4
"""Numbers that differ by less, or by a smaller share of themselves, are the same."""


@dataclass(frozen=True)
class Panel:
    """One part of a picture: what the student's code gave beside what the solution gives.

    Attributes:
        name: What it shows.
        kind: How it is drawn.
        values: The student's numbers, in lists as deep as the tensor has dimensions, at most three. None if there are
            none, or too many to draw.
        shape: The shape of the student's tensor; None if there is none.
        expected: The expected numbers; None if nothing is compared.
        rows: A label for each row.
        columns: A label for each column.
        groups: A label for each of several grids side by side, such as heads.
    """

    name: str
    kind: Kind
    values: Any
    shape: list[int] | None
    expected: Any = None
    rows: list[str] = field(default_factory=list)
    columns: list[str] = field(default_factory=list)
    groups: list[str] = field(default_factory=list)

    @property
    def grids(self) -> list[list[list[Any]]]:
        """The student's numbers as grids of rows; none if there are none."""
        return self._grids(self.values)

    @property
    def expected_grids(self) -> list[list[list[Any]]]:
        """The expected numbers as grids of rows; none if nothing is compared."""
        return self._grids(self.expected)

    @property
    def expected_shape(self) -> list[int]:
        """The shape that is expected; of steps, their number."""
        return [len(self.expected)] if self.kind == "steps" else shape_of(self.expected)

    @property
    def has_other_shape(self) -> bool:
        """Whether the student's tensor has another shape than the expected one, so that no cells can be compared."""
        return self.expected is not None and self.shape is not None and self.shape != self.expected_shape

    @property
    def wrong(self) -> set[tuple[int, int, int]]:
        """The cells that differ from the expected ones, each by its grid, row and column."""
        if self.has_other_shape or not self.expected_grids:
            return set()
        return {
            (number, row, column)
            for number, (grid, wanted) in enumerate(zip(self.grids, self.expected_grids, strict=False))
            for row, (cells, others) in enumerate(zip(grid, wanted, strict=False))
            for column in range(max(len(cells), len(others)))
            if not _same(cells[column : column + 1], others[column : column + 1])
        }

    @property
    def count(self) -> int:
        """How many cells there are."""
        return sum(len(row) for grid in self.grids for row in grid)

    def _grids(self, values: Any) -> list[list[list[Any]]]:
        if values is None:
            return []
        depth = len(shape_of(values))
        if self.kind == "steps":
            return [values]
        if depth == 1 and self.kind in ("bars", "lines"):
            return [[[one] for one in values]]
        grids: list[list[list[Any]]] = values
        for _ in range(3 - depth):
            grids = [grids]
        return grids


@dataclass(frozen=True)
class Drawing:
    """A picture of what the student's code for an exercise computes.

    Attributes:
        exercise: The exercise.
        name: The picture's name in the course.
        caption: What one can see in it.
        panels: Its parts.
        problem: What the student's code did instead of returning the rest; "" if nothing is missing.
    """

    exercise: str
    name: str
    caption: str
    panels: list[Panel]
    problem: str = ""


@dataclass(frozen=True)
class OwnQuestion:
    """A question on the student's own code, whose answer came from running it.

    Attributes:
        exercise: The exercise.
        kind: What is asked for.
        text: Markdown.
        answer: A number, the sizes of a shape, or a choice's text.
        explanation: What a student reads after answering.
        choices: The choices.
        decimals: The number of decimals that is asked for; None for a whole number.
    """

    exercise: str
    kind: Literal["number", "shape", "one_choice"]
    text: str
    answer: Any
    explanation: str
    choices: list[str] = field(default_factory=list)
    decimals: int | None = None


def shape_of(values: Any) -> list[int]:
    """Return the sizes of nested lists."""
    return [len(values), *(shape_of(values[0]) if values else [])] if isinstance(values, list) else []


def _same(one: list[Any], other: list[Any]) -> bool:
    """Return whether two cells, each in a list or missing, are the same."""
    if not one or not other:
        return one == other
    [a], [b] = one, other
    return a == b or (a != a and b != b) or math.isclose(a, b, rel_tol=CLOSE, abs_tol=CLOSE)
