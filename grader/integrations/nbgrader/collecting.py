"""How `nbgrader zip_collect` reads a download of a learning platform: as `grader grade` reads it."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from nbgrader.plugins import ExtractorPlugin
from traitlets import Unicode

from grader.classes.hand_ins import hand_ins
from grader.classes.matches import described_matches
from grader.errors import GraderError
from grader.files import write_atomically
from grader.integrations.nbgrader import course_of
from grader.integrations.nbgrader.decisions import decisions_in
from grader.submissions.archives import Folder
from grader.submissions.find import find_submissions
from grader.submissions.layouts import is_marked
from grader.submissions.names import intended_name
from grader.submissions.notebook import NOTEBOOK_LIMIT
from grader.submissions.reader import find_files
from grader.submissions.tree import FoundFile, UnreadableError, walk
from grader.text import listed, log_line

if TYPE_CHECKING:
    from collections.abc import Iterable

    from grader.course.model import Course
    from grader.submissions.tree import Files

# The files that ExtractSubmissions writes, <student>/<file>.
_EXTRACTED = r".*[/\\](?P<student_id>[^/\\]+)[/\\](?P<file_id>[^/\\]+)$"

_MOST_IGNORED = 50


class ExtractSubmissions(ExtractorPlugin):
    """Extracts what is graded of a unit as <student>/<file>. Assignments that are not units are nbgrader's.

    Students, matched to the roster, and the choice among several files are those of `grader grade`. No archive of a
    student is unpacked to disk: it may be damaged or huge. The parent is the ZipCollectApp.
    """

    layout = Unicode(None, allow_none=True, help="The layout of the download, if more than one fits").tag(config=True)

    def extract(self, archive_path: str, extracted_path: str) -> None:
        """Extract the files of all students, and name what is not collected."""
        unit = self.parent.coursedir.assignment_id
        try:
            course = course_of(self.config)
            if unit not in course.units:
                super().extract(archive_path, extracted_path)
                return
            decisions = decisions_in(Path(self.parent.coursedir.root), course)
            downloads = _downloads(Path(archive_path))
            came = find_submissions(downloads, course.units, layout=self.layout, folders=decisions.folders)
        except GraderError as error:
            self.parent.fail(f"Nothing was collected. {error}".replace("--layout", "--ExtractSubmissions.layout"))
        # Not in nbgrader_config.py, where the course's own assignments may need another expression.
        collector = self.parent.collector_plugin_inst
        collector.named_regexp, collector.valid_ext = _EXTRACTED, [".ipynb", ".py", ".md"]
        handed_in = hand_ins(came, decisions)
        # The last one of several, in downloads of several groups.
        last = {student: own[-1] for student, own in handed_in.of.items()}
        for student, one in last.items():
            tree = Folder(one.tree) if isinstance(one.tree, Path) else one.tree
            self._extract(tree, student, Path(extracted_path) / student, unit, course)
        for sentence in described_matches(handed_in, decisions.entries, came):
            self._warn(sentence)
        for sentence in [*came.problems, *handed_in.problems, *(f"{one}." for one in came.ignored)]:
            self._warn(f"Not collected: {sentence}")
        if late := [student for student, one in last.items() if one.is_late]:
            self._warn(
                f"Marked as late by Canvas, and collected: {', '.join(late)}. "
                f"For a penalty, write the time of each into submitted/<student>/{unit}/timestamp.txt."
            )

    def _extract(self, tree: Files, student: str, into: Path, unit: str, course: Course) -> None:
        """Extract the files of one student."""
        files = {file.path: file for file in walk(tree).files}
        chosen = find_files(tree, unit, course.exercises, course.units, unit in course.quizzes)
        own_paths = chosen.own_paths or _damaged(files.values(), unit)
        if not own_paths:
            self._warn(f"{student}: nothing was collected. {chosen.problem}")
        for name, own_path in own_paths.items():
            file = files.get(own_path) or FoundFile(own_path, tree, own_path)
            try:
                content = file.tree.read_bytes(file.relative, NOTEBOOK_LIMIT)
            except UnreadableError as error:
                self._warn(f"{student}: {own_path} was not collected. {error}")
                continue
            into.mkdir(exist_ok=True)
            write_atomically(into / name, content or b"")
            if Path(own_path).name != name:
                self._warn(f"{student}: {own_path!r} was collected as {name}.")
        if own_paths and f"{unit}.ipynb" not in own_paths:
            self._warn(f"{student}: there is no {unit}.ipynb. {' and '.join(own_paths)} will be graded, but not shown.")
        if ignored := [one for one in chosen.ignored if one.path not in own_paths.values()]:
            self._warn(f"{student}: not collected: {listed([str(one) for one in ignored], _MOST_IGNORED)}.")

    def _warn(self, sentence: str) -> None:
        # Students chose the names of their files. A list of names may be long.
        self.log.warning("%s", log_line(sentence, 20_000))


def _downloads(folder: Path) -> list[Path]:
    """Return the archives in a folder, each of which is a download; or the folder, if a download was unpacked there."""
    entries = [entry for entry in Folder(folder).entries() if not entry.is_junk]
    if entries and all(entry.kind == "archive" and not is_marked(entry) for entry in entries):
        return [folder / entry.name for entry in entries]
    return [folder]


def _damaged(files: Iterable[FoundFile], unit: str) -> dict[str, str]:
    """Return the only notebook of a unit, which cannot be read: `nbgrader autograde` tells its student why."""
    notebook = f"{unit}.ipynb"
    paths = [file.path for file in files if intended_name(file.name, [unit]) == notebook]
    return {notebook: paths[0]} if len(paths) == 1 else {}
