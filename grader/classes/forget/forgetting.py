"""Removes one student from the files of a term. It plans first, then changes, then says where the student is left."""

from __future__ import annotations

import contextlib
import json
import shutil
import stat
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from grader.classes.collected import COLLECTED, CollectError
from grader.classes.forget.person import Person, is_found, is_named, require_student
from grader.classes.forget.shared_files import without
from grader.errors import GraderError
from grader.files import PARTIAL, FolderInUse, held, write_atomically
from grader.reports.folder import EARLIER, INSTRUCTOR
from grader.submissions.archives import Folder
from grader.submissions.layouts import LAYOUTS, ClassTree, id_of, is_marked
from grader.submissions.names import SubmissionError
from grader.submissions.plain_files import MEGABYTE, UnreadableError
from grader.submissions.tree import ARCHIVE

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from grader.submissions.tree import Entry

GRADEBOOK = "gradebook.db"
"""nbgrader's database."""
_SEARCHED = 256 * MEGABYTE
_GIT = ".git"
_PAGES = (".json", ".md", ".html")
_RESULTS = ".pytest.json"


class Change(NamedTuple):
    """A file or folder to remove, or a file to rewrite.

    Attributes:
        path: Where it is.
        left_out: What the new content lacks; "" if all of it is removed.
    """

    path: Path
    left_out: str = ""

    def __str__(self) -> str:
        """Return what happens, as one line."""
        return f"rewrite {self.path} without {self.left_out}" if self.left_out else f"remove {self.path}"


@dataclass
class Forgetting:
    """One student and the paths to remove everything about the student from.

    Attributes:
        student: The name in reports.
        paths: Folders and files.
        person: What identifies the student.
        changes: What is to be done.
    """

    student: str
    paths: Sequence[Path]
    person: Person = field(init=False)
    changes: list[Change] = field(init=False)

    def __post_init__(self) -> None:
        """Look for everything about the student. Raises GraderError and OSError."""
        require_student(self.student)
        if missing := [path for path in self.paths if not path.exists()]:
            raise GraderError(f"{missing[0]} does not exist: give the folders and files of the term.")
        self.person = Person(self.student)
        self.person.learn(_tables(self.paths))
        found = (change for path in self.paths for change in self._changes(path))
        changes = {change.path.parent.resolve() / change.path.name: change for change in found}
        # What identifies the student comes last: if this is interrupted, the next run still has it.
        sources = set(_tables(self.paths))
        self.changes = sorted(changes.values(), key=lambda one: (one.path in sources, str(one.path)))

    def run(self) -> None:
        """Make the changes. Raises OSError, and GraderError if another command writes to a folder."""
        with contextlib.ExitStack() as stack:
            for folder in sorted({change.path.parent for change in self.changes}):
                if (folder / ".lock").exists():
                    try:
                        stack.enter_context(held(folder))
                    except FolderInUse:
                        raise GraderError(f"Another command is writing to {folder}: wait for its end.") from None
            for change in self.changes:
                if change.left_out:
                    self._rewrite(change.path)
                elif change.path.is_dir() and not change.path.is_symlink():
                    shutil.rmtree(change.path)
                else:
                    change.path.unlink(missing_ok=True)

    def _rewrite(self, path: Path) -> None:
        """Write a file without the student. It is read again: others may have written it since the plan was made."""
        mode = stat.S_IMODE(path.stat().st_mode)
        if rewritten := without(path, self.person):
            write_atomically(path, rewritten.content)
            path.chmod(mode)

    def left(self) -> list[str]:
        """Return a sentence on each file in which the student is still found, or which cannot be searched."""
        pattern = self.person.pattern()
        found = {}
        for root in filter(Path.exists, self.paths):
            for path in _files(root):
                try:
                    if is_named(pattern, _inside(root, path)) or is_found(pattern, _content(path), path.name):
                        found[path.absolute()] = f"still found in {path}: {self._advice(path)}"
                except UnreadableError as error:
                    found[path.absolute()] = f"{path} cannot be searched, so look at it yourself: {error}"
        return list(found.values())

    def histories(self) -> list[Path]:
        """Return the git repositories, whose history is neither searched nor changed."""
        return [path for one in self.paths if one.is_dir() for path in _repositories(one)]

    def _advice(self, path: Path) -> str:
        if path.name == GRADEBOOK:
            return f"run `nbgrader db student remove {self.student} --force` in its folder."
        if ARCHIVE.search(path.name):
            return "delete the archive, or download it again."
        return "make it again, or take it out by hand."

    def _changes(self, path: Path) -> Iterator[Change]:
        """Yield the changes of a path that the user gave."""
        place = path.absolute()
        for entry in Folder(place.parent).entries():
            if entry.name == place.name:
                yield from self._changes_of(path, place.parent, entry)

    def _changes_of(self, path: Path, folder: Path, entry: Entry) -> Iterator[Change]:
        """Yield the changes of an entry of a folder. The folders of other students are left alone."""
        if self._is_own(folder, entry):
            yield Change(path)
        elif entry.kind == "folder":
            # Their earlier reports may name the members of a group.
            is_other = self.person.is_other(id_of(entry)) or self.person.is_other(entry.name)
            if entry.name != _GIT and (not is_other or folder.name == EARLIER):
                for inner in Folder(path).entries():
                    yield from self._changes_of(path / inner.name, path, inner)
        elif entry.kind == "file":
            with contextlib.suppress(CollectError):  # `left` names the file
                if rewritten := without(path, self.person):
                    yield Change(path, rewritten.left_out)

    def _is_own(self, folder: Path, entry: Entry) -> bool:
        """Return whether a file or folder is the student's alone."""
        if entry.kind in ("folder", "archive", "link") and not is_marked(entry) and self.person.is_called(id_of(entry)):
            self.person.names.add(ARCHIVE.sub("", entry.name))
            return True
        if self._is_claimed(folder, entry):
            return True
        if entry.kind == "folder":
            # nbgrader's exchange names folders <student>+<assignment>+<time>.
            owner, plus, _ = entry.name.partition("+")
            return bool(plus and self.person.is_called(owner)) or self._is_checkout(folder / entry.name)
        return entry.kind == "file" and self._is_page(folder / entry.name)

    def _is_claimed(self, folder: Path, entry: Entry) -> bool:
        """Return whether a roster or a learning platform says that an entry is the student's."""
        if entry.name in self.person.folders:
            return True
        root = ClassTree(Folder(folder), folder, frozenset())
        for layout in ("moodle", "canvas", "gradescope"):
            with contextlib.suppress(SubmissionError):
                claims = LAYOUTS[layout].claims(root, entry) or []
                own = [claim for claim in claims if self.person.is_called(claim.student)]
                self.person.names.update(claim.key.rpartition("_")[0] for claim in own)
                if own and len(claims) > 1:
                    self.person.shared.add(entry.name)
                elif own:
                    return True
        return False

    def _is_checkout(self, path: Path) -> bool:
        """Return whether a folder is a clone of the student's repository."""
        names = {repository.partition("/")[2].casefold() for repository in self.person.repositories}
        if path.name.casefold() not in names:
            return False
        with contextlib.suppress(OSError):
            settings = (path / _GIT / "config").read_text(encoding="utf-8", errors="replace").casefold()
            return any(repository.casefold() in settings for repository in self.person.repositories)
        return False

    def _is_page(self, path: Path) -> bool:
        """Return whether a file is the student's report, results or page of feedback, or half of one."""
        name = path.name
        if name.startswith(".") and name.endswith(PARTIAL):
            name = name[1:].removesuffix(PARTIAL).rpartition(".")[0]
        if path.parent.name == INSTRUCTOR:
            return name.endswith(_RESULTS) and self.person.is_called(name.removesuffix(_RESULTS))
        stem, dot, suffix = name.rpartition(".")
        if f"{dot}{suffix}" not in _PAGES or not self.person.is_called(stem):
            return False
        return suffix != "json" or path.name != name or self._is_report(path)

    def _is_report(self, path: Path) -> bool:
        """Return whether a JSON file is about the student, or damaged."""
        try:
            found = json.loads(path.read_bytes())
        except ValueError:
            return True
        return isinstance(found, dict) and self.person.is_called(str(found.get("student", "")))


def _tables(paths: Sequence[Path]) -> list[Path]:
    """Return the files that say who a student is. Those of a student's submission are not believed."""
    near = [file for path in paths for file in (sorted(path.iterdir()) if path.is_dir() else [path])]
    below = [path / entry.name / COLLECTED for path in paths if path.is_dir() for entry in Folder(path).entries()]
    return [path for path in [*near, *below] if path.is_file() and not path.is_symlink()]


def _inside(root: Path, path: Path) -> str:
    """Return the path of a file from a folder that the user gave."""
    return path.name if path == root else path.relative_to(root).as_posix()


def _files(path: Path) -> Iterator[Path]:
    """Yield a file, or the plain files below a folder, without those of git."""
    if not path.is_dir() or path.is_symlink():
        if path.is_file() and not path.is_symlink():
            yield path
        return
    for entry in Folder(path).entries():
        if entry.name != _GIT:
            yield from _files(path / entry.name)


def _repositories(folder: Path) -> Iterator[Path]:
    for entry in Folder(folder).entries():
        if entry.name == _GIT:
            yield folder
        elif entry.kind == "folder":
            yield from _repositories(folder / entry.name)


def _content(path: Path) -> bytes:
    if path.stat().st_size > _SEARCHED:
        raise UnreadableError(f"it has more than {_SEARCHED // MEGABYTE} MB")
    return path.read_bytes()
