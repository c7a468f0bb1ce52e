"""Finds the same cells in several versions of a notebook: by grade_id, by the id of the cell, by text or by place."""

from __future__ import annotations

import itertools
import json
from difflib import SequenceMatcher
from typing import TYPE_CHECKING, Any

from grader.submissions.notebook import grade_id_of, marks_of

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from nbformat import NotebookNode

Cells = dict[str, "NotebookNode"]
"""Cells in their order, by name: the grade_id, or a name of our own that is the same in all versions."""

MARKS = ("grade", "solution", "locked", "task")


def name_of(cell: NotebookNode) -> str | None:
    """Return the grade_id of a cell that nbgrader knows; None of any other, such as a text."""
    return grade_id_of(cell) if any(marks_of(cell).get(mark) for mark in MARKS) else None


def content(cell: NotebookNode) -> tuple[Any, ...]:
    """Return what makes a cell another one: type, source, pictures, marks and points."""
    marks = marks_of(cell)
    points = marks.get("points") or 0
    pictures = json.dumps(cell.get("attachments") or {}, sort_keys=True)
    return (cell.cell_type, cell.source.rstrip(), pictures, points, *(bool(marks.get(mark)) for mark in MARKS))


def named(cells: Sequence[NotebookNode], reference: Cells, prefix: str) -> Cells:
    """Return the cells of a notebook that was made from a reference, by name.

    Args:
        cells: The cells. Of several with the same grade_id the last one counts.
        reference: The cells of the other notebook by name.
        prefix: How the names of cells begin that the reference does not have.
    """
    names = _by_grade_id(cells)
    _match(names, cells, reference, lambda one, other: "id" in one and one.id == other.get("id"))
    _match(names, cells, reference, _is_same)
    return {names.get(place, f"{prefix} {place}"): cell for place, cell in enumerate(cells)}


def aligned(cells: Sequence[NotebookNode], reference: Cells, prefix: str) -> Cells:
    """Return the cells of a new release by name. A changed text is the reference's between the same cells."""
    names = _by_grade_id(cells)
    before, now = ([name_of(one) or content(one) for one in version] for version in (reference.values(), cells))
    replaced: list[tuple[int, str]] = []
    for what, start, end, place, last in SequenceMatcher(None, before, now, autojunk=False).get_opcodes():
        pairs = list(zip(range(place, last), list(reference)[start:end], strict=False))
        if what == "equal":
            names |= dict(pairs)
        replaced += pairs if what == "replace" else []
    _match(names, cells, reference, _is_same)
    for place, name in replaced:
        is_text = place not in names and name not in names.values() and name_of(reference[name]) is None
        if is_text and cells[place].cell_type == reference[name].cell_type:
            names[place] = name
    return {names.get(place, f"{prefix} {place}"): cell for place, cell in enumerate(cells)}


def with_ids(cells: Cells, *others: Cells) -> Cells:
    """Give each cell the id of the cell of this name in the others; if there is none, an id that no other cell has."""
    used = {cell.get("id") for version in others for cell in version.values()}
    free = (f"text-{number}" for number in itertools.count())
    for name, cell in cells.items():
        known = next((version[name].id for version in others if name in version and "id" in version[name]), None)
        cell.id = known or name_of(cell) or next(one for one in free if one not in used)
    return cells


def _by_grade_id(cells: Sequence[NotebookNode]) -> dict[int, str]:
    return {place: name for place, cell in enumerate(cells) if (name := name_of(cell))}


def _is_same(one: NotebookNode, other: NotebookNode) -> bool:
    return content(one) == content(other)


def _match(
    names: dict[int, str],
    cells: Sequence[NotebookNode],
    reference: Cells,
    is_match: Callable[[NotebookNode, NotebookNode], bool],
) -> None:
    """Add names of the reference's texts that match cells without a name. Each is used once."""
    free = [name for name, cell in reference.items() if name_of(cell) is None and name not in names.values()]
    for place, cell in enumerate(cells):
        if place not in names and (found := next((one for one in free if is_match(cell, reference[one])), None)):
            names[place] = found
            free.remove(found)
