"""Repair a submitted notebook: the release's cells, with the student's answers in them.

It is what nbgrader records and people read. Grading does not use it.
"""

from __future__ import annotations

import copy
import itertools
import re
from collections.abc import Sequence, Set

from nbconvert.exporters.exporter import ResourcesDict
from nbformat import NotebookNode
from nbgrader.api import Gradebook
from nbgrader.preprocessors import NbGraderPreprocessor
from nbgrader.utils import is_solution

from grader.integrations.nbgrader.notebook_merge import is_test, name_of
from grader.submissions.notebook import grade_id_of, imported_names

# The definitions of a cell are found in its text: it is never run, and it may not even be valid Python.
_DEFINED = re.compile(r"^(?:(?:async[ \t]+)?def|class)[ \t]+(\w+)|^(\w+)[ \t]*(?::[^=\n]+)?=(?!=)", re.MULTILINE)
_TAG = re.compile(r"<(?=[A-Za-z/!?])")
_LINK = re.compile(r"\](?=[(:\[])")


class RepairSubmission(NbGraderPreprocessor):
    """The first of the sanitize_preprocessors, so that all others find every cell of the release."""

    def preprocess(self, nb: NotebookNode, resources: ResourcesDict) -> tuple[NotebookNode, ResourcesDict]:
        """Repair the notebook, if it is of a unit. The parent is the SubmissionExporter."""
        names = resources["nbgrader"]
        if self.parent.session(names):
            nb.cells = repair(nb.cells, self.parent.release_notebook(names["notebook"]).cells)
            self._put_back_locked_sources(nb.cells, names)
        return nb, resources

    def _put_back_locked_sources(self, cells: list[NotebookNode], names: dict[str, str]) -> None:
        """Restore hidden tests, which the release lacks: otherwise nbgrader warns that somebody changed these cells."""
        with Gradebook(names["db_url"]) as gradebook:
            sources = gradebook.find_notebook(names["notebook"], names["assignment"]).source_cells
            locked = {source.name: source.source for source in sources if source.locked}
        for cell in cells:
            cell.source = locked.get(grade_id_of(cell), cell.source)


def repair(submitted: Sequence[NotebookNode], release: Sequence[NotebookNode]) -> list[NotebookNode]:
    """Return the submitted cells, with each marked cell of the release among them exactly once.

    Marked cells keep the release's type and metadata and, except for answers, its source. The student's order and own
    cells are kept, without nbgrader's metadata. Copies of the course's cells and empty cells are removed.
    """
    # Empty cells count as untouched too.
    untouched = {(), *map(_lines, release)}
    found, elsewhere = _find_answers(submitted, release, untouched)
    _find_others(submitted, release, found)
    # The cells that replace each submitted cell. The last list is for cells before the first one (index -1).
    places: list[list[NotebookNode]] = [[] for _ in range(len(submitted) + 1)]
    for index, cell in enumerate(submitted):
        if index not in found.values() and _lines(cell) not in untouched:
            places[index].append(_own(cell))

    here, answer = -1, None
    for number, cell in enumerate(release):
        # A test follows its answer, and a missing cell follows the cell before it in the release.
        here = answer if answer is not None and is_test(cell) else found.get(number, here)
        answer = here if is_solution(cell) else answer
        theirs = submitted[found[number]] if number in found else None
        changed = theirs if theirs is not None and _lines(theirs) not in untouched else None
        if changed is not None and is_solution(cell):
            places[here].append(_filled(cell, _safe_source(changed["source"], cell.cell_type)))
        elif name_of(cell) or theirs is not None:
            places[here].append(_filled(cell, elsewhere.get(number, cell.source)))
            if changed is not None and changed["cell_type"] == "code" and not is_test(cell):
                places[here].append(_own(changed))
    return _with_ids([*places[-1], *(cell for place in places[:-1] for cell in place)], release)


def _find_answers(
    submitted: Sequence[NotebookNode], release: Sequence[NotebookNode], untouched: Set[tuple[str, ...]]
) -> tuple[dict[int, int], dict[int, str]]:
    """Return which submitted cell holds each answer of the release, and a remark for each that shares a cell."""
    claims = []
    defined = [_defined(cell) if cell["cell_type"] == "code" else set() for cell in submitted]
    for number, cell in enumerate(release):
        if not is_solution(cell):
            continue
        name, names = grade_id_of(cell), _defined(cell)
        if name in names:  # then the stub's other definitions do not identify the answer
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
    """Add all cells except answers to `found`: marked cells by their grade_id, others by their text."""
    free = {index: theirs for index, theirs in enumerate(submitted) if index not in found.values()}
    texts = {index: _lines(theirs) for index, theirs in free.items()}
    for number, cell in enumerate(release):
        if is_solution(cell):
            continue
        name, lines = name_of(cell), _lines(cell)
        matches = (index for index in free if (grade_id_of(free[index]) == name if name else texts[index] == lines))
        match = next(matches, None)
        if match is not None:
            found[number] = match
            del free[match]


def _lines(cell: NotebookNode) -> tuple[str, ...]:
    """Return the lines of a cell's text that are not blank."""
    return tuple(line.rstrip() for line in cell["source"].split("\n") if line.strip())


def _defined(cell: NotebookNode) -> set[str]:
    """Return the names that a cell defines or imports at the beginning of a line."""
    defined = {name for groups in _DEFINED.findall(cell["source"]) for name in groups if name}
    return defined.union(imported_names(cell["source"]))


def _filled(cell: NotebookNode, source: str) -> NotebookNode:
    """Return a cell of the release with this source, not run yet."""
    filled = copy.deepcopy(cell)
    filled.source = source
    if not name_of(cell):
        filled.metadata.pop("nbgrader", None)
    if filled.cell_type == "code":
        filled.outputs, filled.execution_count = [], None
    return filled


def _own(cell: NotebookNode) -> NotebookNode:
    """Return a cell of the student's own, reduced to its text."""
    kind = cell["cell_type"]
    return _filled(NotebookNode(cell_type=kind, metadata=NotebookNode()), _safe_source(cell["source"], kind))


def _safe_source(source: str, cell_type: str) -> str:
    """Return a student's text made safe for a page that an instructor opens: prose without HTML, links and images.

    nbgrader's pages keep HTML and links in prose: a script there would act as the instructor. Attached images were not
    read, and nbgrader cannot render a page that refers to one.
    """
    if cell_type == "code":
        return source
    # "< b" and "] (" are plain text in HTML, in Markdown and in formulas.
    return _LINK.sub("] ", _TAG.sub("< ", source)).replace("\\href", "\\ href")


def _with_ids(cells: list[NotebookNode], release: Sequence[NotebookNode]) -> list[NotebookNode]:
    """Return the cells with ids: those of the release where they have one, and unused ones for the others."""
    free = (f"own-{number}" for number in itertools.count(1))
    used = {cell.get("id") for cell in release}
    for cell in cells:
        if "id" not in cell:
            cell.id = next(name for name in free if name not in used)
    return cells
