"""Merges a new release of a notebook with what an instructor has made of the last one, cell by cell."""

from __future__ import annotations

import copy
import itertools
import json
from collections.abc import Callable, Sequence
from difflib import SequenceMatcher
from typing import Any

from nbformat import NotebookNode

from grader.submissions.notebook import QUIZ_MARK, grade_id_of, marks_of

Cells = dict[str, "NotebookNode"]
"""Cells in their order, by name: the grade_id, or a name of our own that is the same in all versions."""

MARKS = ("grade", "solution", "locked", "task")

_TEST = "test_"
_MOST_SHOWN = 50


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


class Merge:
    """The cells of a release with the additions and edits of an instructor.

    What one side has changed is taken from this side. Of a text that both have changed, the instructor's stays.

    Attributes:
        cells: The merged cells.
        refused: What cannot be merged: a sentence for each cell.
        kept: A sentence for each text of the instructor's that the course has changed too.
    """

    def __init__(
        self, base: Sequence[NotebookNode] | None, own: Sequence[NotebookNode], new: Sequence[NotebookNode]
    ) -> None:
        """Merge.

        Args:
            base: The cells of the last release; None if nobody knows them.
            own: The instructor's cells.
            new: The cells of the new release. They get the ids that the same cells had before.
        """
        self.kept: list[str] = []
        self._refused: dict[str, str] = {}
        self._is_base_known = base is not None
        self._base = named(base or [], {}, "text")
        self._own = named(own, self._base, "own")
        self._new = aligned(new, self._base or self._own, "new")
        with_ids(self._new, self._own, self._base)
        names = [name_of(cell) for cell in own]
        for name, cell in self._own.items():
            if names.count(name) > 1:
                self._refuse(name, cell, f"there are {names.count(name)} cells of this name. Rename all but one.")
        merged = {name: self._merged(name) for name in self._order()}
        self._note_removed_texts()
        self._cells: Cells = {name: cell for name, cell in merged.items() if cell is not None}
        for name, cell in self._new.items():
            if is_test(cell):
                self._require(name.removeprefix(_TEST))
                self._require(name)
        self._require_order_of_quiz()
        self._refuse_own_tests()
        self.cells = list(self._cells.values())
        self.refused = list(self._refused.values())

    def _order(self) -> list[str]:
        """Return the names in order: as the side that moved cells has them, with the additions of the other side."""
        common = [name for name in self._base if name in self._own and name in self._new]
        by_course = [name for name in self._new if name in common]
        by_hand = [name for name in self._own if name in common]
        if by_course == common:
            return _inserted(list(self._own), self._new, [name for name in self._new if name not in self._base])
        if by_hand != common:
            moved = next(one for one, other in zip(by_hand, common, strict=True) if one != other)
            self._refuse(moved, self._own[moved], "you have moved cells, and so has the course. Move yours back.")
        stays = [name for name in self._new if name in self._own or name not in self._base]
        return _inserted(stays, self._own, list(self._own))

    def _merged(self, name: str) -> NotebookNode | None:
        """Return one cell; None if it is left out."""
        base, own, new = (cells.get(name) for cells in (self._base, self._own, self._new))
        if own is None:
            return new
        if new is None:
            return own if base is None else self._without_new(name, base, own)
        if base is not None and content(own) == content(base):
            return _taken(new, own)
        if content(own) != content(new) and (base is None or content(new) != content(base)):
            self._note_conflict(name, base, own, new)
        return own

    def _note_removed_texts(self) -> None:
        """Say which texts stay removed although the course has changed them."""
        self.kept += [
            f"{described(base)} stays removed; the course has changed this text."
            for name, base in self._base.items()
            if name not in self._own and name in self._new and content(self._new[name]) != content(base)
        ]

    def _without_new(self, name: str, base: NotebookNode, own: NotebookNode) -> NotebookNode | None:
        """Return a cell that the course no longer has, if the instructor has edited it."""
        if content(base) == content(own):
            return None
        if name_of(own):
            self._refuse(name, own, "you have edited it, and the course no longer has it. Delete it.")
        else:
            self.kept.append(f"{described(own)} is as you edited it; the course no longer has this text.")
        return own

    def _note_conflict(self, name: str, base: NotebookNode | None, own: NotebookNode, new: NotebookNode) -> None:
        """Refuse a cell that is different on both sides. Of a text, say that it stays."""
        if not self._is_base_known:
            self._refuse(name, own, "it differs from the course, and nothing says who has changed it.")
        elif name_of(new) is None:
            self.kept.append(f"{described(own)} is as you edited it; the course has changed this text too.")
        elif base is None:
            self._refuse(name, own, "the course has a cell of this name now. Rename yours.")
        elif _points(own) != _points(base):
            self._refuse_points(name, own, new)
        else:
            self._refuse(
                name,
                own,
                "you have edited it, and the course has changed it too. Undo your edit, release again, and edit the "
                "new cell.",
            )

    def _require(self, name: str) -> None:
        """Refuse a cell that is missing or has other marks than the grader needs."""
        own, new = self._cells.get(name), self._new[name]
        if own is None:
            self._refuse(
                name,
                new,
                "it is missing, and the course grades it. Put it back. To leave an exercise out, remove it from "
                "autograder.yml.",
            )
        elif _points(own) != _points(new):
            self._refuse_points(name, own, new)
        elif any(
            bool(marks_of(own).get(mark)) != bool(marks_of(new).get(mark)) for mark in ("grade", "solution", "task")
        ):
            kind = "test" if is_test(new) else "answer"
            self._refuse(name, own, f"it is no longer an autograded {kind}, and the course grades it. Set it back.")

    def _require_order_of_quiz(self) -> None:
        """Refuse another order of the quiz: answers are matched to questions by number."""
        found, asked = (
            [name for name in cells if name.startswith(_TEST + QUIZ_MARK)] for cells in (self._cells, self._new)
        )
        if found != asked and sorted(found) == sorted(asked):
            moved = next(one for one, other in zip(found, asked, strict=True) if one != other)
            self._refuse(
                moved, self._cells[moved], "the quiz is asked in another order than in the course. Move it back."
            )

    def _refuse_own_tests(self) -> None:
        for name, cell in self._cells.items():
            if is_test(cell) and name not in self._new:
                self._refuse(
                    name,
                    cell,
                    "it is an autograded test of yours, and the grader runs only those of the course. Make it a "
                    "manually graded answer or task.",
                )

    def _refuse_points(self, name: str, own: NotebookNode, new: NotebookNode) -> None:
        exercise = "the quiz" if name.startswith(_TEST + QUIZ_MARK) else name.removeprefix(_TEST)
        self._refuse(
            name,
            own,
            f"you have set its points to {_points(own):g}, and the course gives {_points(new):g}. Set them to "
            f"{_points(new):g}, or change the weight of {exercise} in autograder.yml.",
        )

    def _refuse(self, name: str, cell: NotebookNode, why: str) -> None:
        self._refused.setdefault(name, f"{described(cell)}: {why}")


def _inserted(names: list[str], others: Cells, allowed: Sequence[str]) -> list[str]:
    """Return the names with the allowed ones of the others, each behind the one that it follows there."""
    place = 0
    for name in others:
        if name not in names and name in allowed:
            names.insert(place, name)
        if name in names:
            place = names.index(name) + 1
    return names


def _taken(new: NotebookNode, own: NotebookNode) -> NotebookNode:
    """Return the new content of a cell that the instructor has not edited, with the outputs of the same source."""
    if content(new) == content(own):
        return own
    taken = copy.deepcopy(own if new.cell_type == own.cell_type and new.source == own.source else new)
    taken.metadata = {**own.metadata, **new.metadata}
    return taken


def is_test(cell: NotebookNode) -> bool:
    """Return whether a cell has autograded tests."""
    marks = marks_of(cell)
    return bool(name_of(cell) and marks.get("grade") and not marks.get("solution"))


def _points(cell: NotebookNode) -> float:
    points = marks_of(cell).get("points")
    return points if isinstance(points, int | float) else 0


def described(cell: NotebookNode) -> str:
    """Return how a sentence names a cell: by its grade_id, or by its first line."""
    if name := name_of(cell):
        return f"cell {name}"
    first = next((line for line in cell.source.splitlines() if line.strip()), "")
    return f'the text "{first[:_MOST_SHOWN]}"'
