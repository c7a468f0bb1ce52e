"""A submitted notebook put back in order: the release's cells, with the student's answers in them.

Nothing is graded by this. It is what nbgrader keeps its books on, and what people read.
"""

from __future__ import annotations

import copy
import itertools
import re
from typing import TYPE_CHECKING

from nbformat import NotebookNode
from nbgrader.api import Gradebook
from nbgrader.preprocessors import NbGraderPreprocessor

from grader.submissions.notebook import grade_id_of, imported_names, marks_of

if TYPE_CHECKING:
    from collections.abc import Sequence, Set

    from nbconvert.exporters.exporter import ResourcesDict

# What a cell defines is read from its text alone: nothing here is run, and much of it may be no Python.
_DEFINED = re.compile(r"^(?:(?:async[ \t]+)?def|class)[ \t]+(\w+)|^(\w+)[ \t]*(?::[^=\n]+)?=(?!=)", re.MULTILINE)
_TAG = re.compile(r"<(?=[A-Za-z/!?])")
_LINK = re.compile(r"\](?=[(:\[])")


class RepairSubmission(NbGraderPreprocessor):
    """Comes first of the sanitize_preprocessors: what follows finds every cell in its place."""

    def preprocess(self, nb: NotebookNode, resources: ResourcesDict) -> tuple[NotebookNode, ResourcesDict]:
        """Repair the notebook, if it is one of the course's. The parent is the SubmissionExporter."""
        names = resources["nbgrader"]
        if self.parent.session(names):
            nb.cells = repair(nb.cells, self.parent.release_notebook(names["notebook"]).cells)
            self._put_back_locked_sources(nb.cells, names)
        return nb, resources

    def _put_back_locked_sources(self, cells: list[NotebookNode], names: dict[str, str]) -> None:
        """With the hidden tests, which the release has not: nbgrader would warn of each that somebody changed it."""
        with Gradebook(names["db_url"]) as gradebook:
            sources = gradebook.find_notebook(names["notebook"], names["assignment"]).source_cells
            locked = {source.name: source.source for source in sources if source.locked}
        for cell in cells:
            cell.source = locked.get(grade_id_of(cell), cell.source)


def repair(submitted: Sequence[NotebookNode], release: Sequence[NotebookNode]) -> list[NotebookNode]:
    """The submitted cells, with each of the release's marked cells among them exactly once.

    Those keep the release's type and metadata and, but for answers, its source. The student's order stays, and so do
    their own cells, without nbgrader's metadata; what is a copy of one of the course's cells, or empty, goes.
    """
    # Empty cells are that too, whatever they were.
    untouched = {(), *map(_lines, release)}
    found, elsewhere = _find_answers(submitted, release, untouched)
    _find_others(submitted, release, found)
    # What comes to stand in the place of each submitted cell; the last are those at the very beginning.
    places: list[list[NotebookNode]] = [[] for _ in range(len(submitted) + 1)]
    for index, cell in enumerate(submitted):
        if index not in found.values() and _lines(cell) not in untouched:
            places[index].append(_own(cell))

    here, answer = -1, None
    for number, cell in enumerate(release):
        # A test follows its answer, and what is missing follows what comes before it in the release.
        here = answer if answer is not None and _is_test(cell) else found.get(number, here)
        answer = here if _is_answer(cell) else answer
        theirs = submitted[found[number]] if number in found else None
        changed = theirs if theirs is not None and _lines(theirs) not in untouched else None
        if changed is not None and _is_answer(cell):
            places[here].append(_filled(cell, _shown(changed["source"], cell.cell_type)))
        elif _is_marked(cell) or theirs is not None:
            places[here].append(_filled(cell, elsewhere.get(number, cell.source)))
            if changed is not None and changed["cell_type"] == "code" and not _is_test(cell):
                places[here].append(_own(changed))
    return _with_ids([*places[-1], *(cell for place in places[:-1] for cell in place)], release)


def _find_answers(
    submitted: Sequence[NotebookNode], release: Sequence[NotebookNode], untouched: Set[tuple[str, ...]]
) -> tuple[dict[int, int], dict[int, str]]:
    """Which submitted cell holds each answer of the release; and the remark on each that lives in another's cell."""
    claims = []
    defined = [_defined(cell) if cell["cell_type"] == "code" else set() for cell in submitted]
    for number, cell in enumerate(release):
        if not _is_answer(cell):
            continue
        name, names = grade_id_of(cell), _defined(cell)
        if name in names:  # then what else the stub defines does not make the answer
            names = {name}
        for index, theirs in enumerate(submitted):
            has_id, defines = grade_id_of(theirs) == name, names & defined[index]
            if has_id or defines:
                rank = (_lines(theirs) in untouched, not defines, not has_id, -index, number)
                claims.append((rank, min(defines, default=None)))
    found: dict[int, int] = {}
    serves: dict[int, int] = {}
    elsewhere: dict[int, str] = {}
    for (*_, minus_index, number), name in sorted(claims, key=lambda claim: claim[0]):
        index = -minus_index
        if number in found or number in elsewhere:
            continue
        if index not in serves:
            found[number], serves[index] = index, number
        elif name:
            host = grade_id_of(release[serves[index]])
            elsewhere[number] = f"# {name} is defined in the cell of {host}."
    return found, elsewhere


def _find_others(submitted: Sequence[NotebookNode], release: Sequence[NotebookNode], found: dict[int, int]) -> None:
    """Add to `found` all cells but answers: the marked ones by their grade_id, others by what they say."""
    free = {index: theirs for index, theirs in enumerate(submitted) if index not in found.values()}
    said = {index: _lines(theirs) for index, theirs in free.items()}
    for number, cell in enumerate(release):
        if _is_answer(cell):
            continue
        name, lines = grade_id_of(cell) if _is_marked(cell) else None, _lines(cell)
        alike = (index for index in free if (grade_id_of(free[index]) == name if name else said[index] == lines))
        twin = next(alike, None)
        if twin is not None:
            found[number] = twin
            del free[twin]


def _is_marked(cell: NotebookNode) -> bool:
    marks = marks_of(cell)
    return bool(marks.get("grade_id")) and any(marks.get(mark) for mark in ("grade", "solution", "locked", "task"))


def _is_answer(cell: NotebookNode) -> bool:
    return _is_marked(cell) and bool(marks_of(cell).get("solution"))


def _is_test(cell: NotebookNode) -> bool:
    return _is_marked(cell) and bool(marks_of(cell).get("grade")) and not _is_answer(cell)


def _lines(cell: NotebookNode) -> tuple[str, ...]:
    """What counts of a cell's text: the lines that are not blank."""
    return tuple(line.rstrip() for line in cell["source"].split("\n") if line.strip())


def _defined(cell: NotebookNode) -> set[str]:
    """The names that a cell defines or imports, at the beginning of a line."""
    defined = {name for groups in _DEFINED.findall(cell["source"]) for name in groups if name}
    return defined.union(imported_names(cell["source"]))


def _filled(cell: NotebookNode, source: str) -> NotebookNode:
    """A cell of the release with this source, not run yet."""
    filled = copy.deepcopy(cell)
    filled.source = source
    if not _is_marked(cell):
        filled.metadata.pop("nbgrader", None)
    if filled.cell_type == "code":
        filled.outputs, filled.execution_count = [], None
    return filled


def _own(cell: NotebookNode) -> NotebookNode:
    """A cell of the student's own, with nothing but its text."""
    kind = cell["cell_type"]
    own = NotebookNode(cell_type=kind, metadata=NotebookNode(), source=_shown(cell["source"], kind))
    return _filled(own, own.source)


def _shown(source: str, cell_type: str) -> str:
    """A student's text as it may stand on a page that an instructor opens: prose without HTML, links and pictures.

    nbgrader's pages show the HTML of prose as it is, and lead wherever its links do: a script there would act in the
    instructor's name. Pictures that were attached were not read, and a page that asks for one cannot be made.
    """
    if cell_type == "code":
        return source
    # "< b" and "] (" are text in HTML, in Markdown and in a formula alike.
    return _LINK.sub("] ", _TAG.sub("< ", source)).replace("\\href", "\\ href")


def _with_ids(cells: list[NotebookNode], release: Sequence[NotebookNode]) -> list[NotebookNode]:
    """The cells with ids: the release's own where they have one, and for the others those that are free."""
    free = (f"own-{number}" for number in itertools.count(1))
    used = {cell.get("id") for cell in release}
    for cell in cells:
        if "id" not in cell:
            cell.id = next(name for name in free if name not in used)
    return cells
