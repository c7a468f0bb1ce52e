"""The tree that an instructor gives, and the questions that all layouts ask about it."""

from __future__ import annotations

import functools
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from grader.submissions.folder import Folder
from grader.submissions.names import intended_name
from grader.submissions.paths import SubmissionError, quoted
from grader.submissions.places import FOLDER, filenames
from grader.submissions.plain_files import MEGABYTE, UnreadableError, read_text
from grader.submissions.views import Later
from grader.submissions.walk import walk

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    from grader.submissions.tree import Entry, Files

METADATA = "submission_metadata.yml"
WRAPPERS = {"submission", "src"}
"""Folders that students put their answers into."""
MOODLE = re.compile(r"(.*)_(\d+)_assignsubmission_(file|onlinetext)(?:[_.](.*))?", re.DOTALL)
CANVAS = re.compile(r"(.+?)(_LATE)?_(\d+)_(?:(?:question_\d+_)?(\d+)_(.+)|(text\.html))", re.DOTALL)


@dataclass(frozen=True)
class ClassTree:
    """A tree that may hold a class or one submission.

    Attributes:
        tree: Its files.
        path: Where messages say that it is.
        units: The names of the course's units.
    """

    tree: Files
    path: Path
    units: frozenset[str]

    @functools.cached_property
    def entries(self) -> list[Entry]:
        """What the tree holds, without what programs make."""
        return [entry for entry in self.tree.entries() if not entry.is_junk]

    @property
    def relevant(self) -> list[Entry]:
        """The entries that may be submissions, or that a learning platform has named."""
        return [entry for entry in self.entries if entry.is_tree or is_marked(entry)]

    @functools.cached_property
    def submitters(self) -> dict[str, list[str]]:
        """The names behind each submission of Gradescope's export. Raises SubmissionError."""
        import yaml

        try:
            text = read_text(self.tree, METADATA, 64 * MEGABYTE)
            loaded = yaml.load(text or "", getattr(yaml, "CSafeLoader", yaml.SafeLoader))
        except (UnreadableError, yaml.YAMLError, ValueError) as error:
            raise SubmissionError(
                f"{quoted(self.path / METADATA)} cannot be read ({str(error).splitlines()[0]}): download it again, "
                "or remove it to use the numbers."
            ) from None
        metadata = loaded if isinstance(loaded, dict) else {}
        return {str(name): _names_of(submission) for name, submission in metadata.items()}

    def below(self, name: str) -> Files:
        """Return the tree of one entry. One in an archive is opened only when it is read."""
        is_folder = isinstance(self.tree, Folder) and self.tree.kind(name) == "folder"
        return self.tree.below(name) if is_folder else Later(self.tree, name)

    def is_answer(self, entry: Entry) -> bool:
        """Tell whether an entry is named like a unit's file."""
        return intended_name(entry.name, self.units) is not None

    def has_loose_answers(self) -> bool:
        """Tell whether files at the top are named like a unit's, by students and not by a platform."""
        return any(one.kind == "file" and self.is_answer(one) and not is_marked(one) for one in self.entries)

    def is_wrapped(self, entry: Entry) -> bool:
        """Tell whether an entry is a submission, or has one in submission/ or src/."""
        tree = self.below(entry.name)
        inner = (tree.below(name) for name in WRAPPERS if tree.kind(name) == "folder")
        return any(is_submission(one, self.units) for one in (tree, *inner))

    def holds_answers(self, entry: Entry) -> bool:
        """Tell whether an entry is a folder or an archive with answers at its top."""
        if not entry.is_tree:
            return False
        tree = self.below(entry.name)
        return is_submission(tree, self.units) or any(map(self.is_answer, tree.entries()))

    def holds_answers_anywhere(self, entry: Entry) -> bool:
        """Tell whether there are answers at any depth of an entry."""
        return any(intended_name(file.name, self.units) for file in walk(self.below(entry.name)).files)


def is_submission(tree: Files, units: Iterable[str]) -> bool:
    """Tell whether there are unit files in the tree, in its exercises/ or in folders named after the units."""
    files = {name for unit in units for name in filenames(unit)}
    for entry in tree.entries():
        # In a folder named after a unit, as nbgrader keeps it, the notebook may have been given another name.
        if entry.name in units:
            if any(one.name in files or one.name.endswith(".ipynb") for one in tree.entries(entry.name)):
                return True
        elif entry.name in files or entry.name == FOLDER:
            return True
    return False


def is_marked(entry: Entry) -> bool:
    """Tell whether only a learning platform can have made a name."""
    is_canvas = entry.kind != "folder" and CANVAS.fullmatch(entry.name)
    return entry.name == METADATA or bool(is_canvas or MOODLE.fullmatch(entry.name))


def is_late(entry: Entry) -> bool:
    """Tell whether Canvas marked an upload as late."""
    found = CANVAS.fullmatch(entry.name)
    return bool(found and found[2])


def _names_of(submission: Any) -> list[str]:
    submitters = submission.get(":submitters") if isinstance(submission, dict) else None
    people = [one for one in submitters if isinstance(one, dict)] if isinstance(submitters, list) else []
    return [str(one.get(":name") or one.get(":email") or "") for one in people]
