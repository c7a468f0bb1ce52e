"""Files that lie in other places than they should, or under other names, archives included."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, NamedTuple

from grader.submissions.candidates import Candidate, Wanted, quoted
from grader.submissions.names import intended_name, is_code
from grader.submissions.plain_files import UnreadableError
from grader.submissions.views import Mount, View, renamed
from grader.submissions.walk import Walked, walk

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from grader.submissions.ignored import Ignored
    from grader.submissions.places import CourseFiles
    from grader.submissions.tree import Files
    from grader.submissions.walk import Found
# A grader that imports or obeys what lies beside an answer would use these; this one does not.
NEVER_READ = (
    "conftest.py", "sitecustomize.py", "usercustomize.py", "autograder.yml",
    *(f"{library}{suffix}" for library in ("torch", "numpy", "pytest", "grader") for suffix in (".py", "")),
)  # fmt: skip


class Search:
    """Searches a submission for files of a unit. It is walked at most once, and only when that is needed."""

    def __init__(self, tree: Files, units: Sequence[str], only: str | None, course_files: CourseFiles) -> None:
        """Prepare a search.

        Args:
            tree: The submission.
            units: Every unit that a file may be named after.
            only: The unit that is graded, where it is a single one.
            course_files: The files that are nobody's answers.
        """
        self.tree = tree
        self.units = units
        self.only = only
        self.course_files = course_files
        self.refused: list[Ignored] = []
        self.seen: set[str] = set()

    def find(self, wanted: Wanted, places: Collection[str]) -> tuple[list[Candidate], list[str]]:
        """Find the files that may be what is wanted, other than those in the right places.

        A file under another name is read only where those under the right names are as students receive them.

        Returns:
            The candidates, and sentences on what could not be read.
        """
        files, problems, _ = self._walked
        names = (wanted.name, f"{wanted.unit}.ipynb")
        candidates: list[Candidate] = []
        unreadable: list[str] = []
        for name_of in (self._own_name, self._near_name, self._only_name):
            if any(one.has_answers for one in candidates):
                break
            named = [(file, name_of(wanted.unit, file)) for file in files if file.path not in places]
            known = {one.own_path for one in candidates}
            found = [_Named(file, name) for file, name in named if name in names and file.path not in known]
            for one in sorted(found, key=lambda one: (one.file.folder, one.name.endswith(".ipynb"))):
                self.seen.add(one.file.path)
                try:
                    candidate = self._candidate(wanted, one, {other.path for other in candidates})
                except UnreadableError as error:
                    unreadable.insert(0, str(error))
                else:
                    candidates += [candidate] if candidate else []
        return candidates, unreadable + problems

    def _candidate(self, wanted: Wanted, named: _Named, taken: Collection[str]) -> Candidate | None:
        file, path = named.file, f"{named.file.folder}{named.name}"
        while path in taken:  # each gets a path of its own, and its name stays that of the course
            path = f"_/{path}"
        try:
            return wanted.candidate(View({path: Mount(file.tree, file.relative, file.path)}), path, file.path)
        except UnreadableError as error:
            raise UnreadableError(renamed(str(error), path, quoted(file.path))) from None

    @functools.cached_property
    def _walked(self) -> Walked:
        walked = walk(self.tree)
        self.refused = walked.refused
        return walked

    def _own_name(self, _: str, file: Found) -> str:
        return file.name

    def _near_name(self, unit: str, file: Found) -> str | None:
        """Return the name that a misnamed file should have. In the folder of a unit, any notebook is the unit's."""
        if file.name in self.course_files:
            return None
        is_the_units = file.path.startswith(f"{unit}/") and file.name.lower().endswith(".ipynb")
        return intended_name(file.name, self.units) or (f"{unit}.ipynb" if is_the_units else None)

    def _only_name(self, unit: str, file: Found) -> str | None:
        """Return the name that a file of any name should have, where one unit is graded and no other file fits."""
        suffix = "ipynb" if ".ipynb" in file.name.lower() else "py"
        return f"{unit}.{suffix}" if unit == self.only and self._unnamed == [file] else None

    @functools.cached_property
    def _unnamed(self) -> list[Found]:
        """The scripts and notebooks whose names hold no unit's and are not the course's own."""
        return [
            file
            for file in self._walked.files
            if is_code(file.name)
            and file.name not in self.course_files
            and file.name not in NEVER_READ
            and intended_name(file.name, self.units) is None
        ]


class _Named(NamedTuple):
    """A file and the name that it should have."""

    file: Found
    name: str
