"""How nbgrader's commands read submissions: as `grader grade`. Whatever they contain, every student gets a grade."""

from __future__ import annotations

import fnmatch
import glob
import weakref
from pathlib import Path
from typing import Any

import nbformat
from nbconvert.exporters import NotebookExporter
from nbformat import NotebookNode
from nbgrader.api import Gradebook
from nbgrader.converters.base import NbGraderException
from nbgrader.coursedir import CourseDirectory
from nbgrader.plugins import ExtractorPlugin
from traitlets import Bool, Unicode

from grader.classes.hand_ins import described_matches, hand_ins
from grader.classes.tables import TableError
from grader.course.model import Course
from grader.documents import CourseError
from grader.errors import GraderError
from grader.files import write_atomically
from grader.integrations.nbgrader import course_of
from grader.integrations.nbgrader.nbgrader_gradebook import add_students, decisions_in
from grader.integrations.nbgrader.nbgrader_grading import NotGraded, Session
from grader.submissions.archives import Folder
from grader.submissions.find import find_submissions
from grader.submissions.layouts import is_marked
from grader.submissions.notebook import CODE_LIMIT, NO_TEXT, NOTEBOOK_LIMIT, grade_id_of, read_all_cells, source_of
from grader.submissions.reader import find_files
from grader.submissions.submission import intended_name
from grader.submissions.tree import Files, TreePart, UnreadableError, walk
from grader.text import listed, log_line

MOST_CELLS = 1000
"""nbgrader processes each cell many times, and its pages show all cells."""

# The files that ExtractSubmissions writes, <student>/<file>.
_EXTRACTED = r".*[/\\](?P<student_id>[^/\\]+)[/\\](?P<file_id>[^/\\]+)$"
_MOST_IGNORED = 50


class SubmissionExporter(NotebookExporter):
    """Reads submitted notebooks; an unreadable one counts as the unchanged release. Its parent is Autograde.

    It is created once per run, when nbgrader knows what it will convert. If the course itself has a problem, this
    raises NbGraderException before nbgrader removes results of an earlier run.
    """

    allow_unisolated = Bool(False, help="Whether to run student code even if it cannot be isolated").tag(config=True)

    def __init__(self, *args: Any, **settings: Any) -> None:
        super().__init__(*args, **settings)  # type: ignore[no-untyped-call]
        autograde: Any = self.parent
        self._autograde, self._releases = autograde, dict[Path, NotebookNode]()
        self.coursedir: CourseDirectory = autograde.coursedir
        try:
            self.course = course_of(self.config)
            self.decisions = decisions_in(Path(self.coursedir.root), self.course)
            self._expect_notebooks()
            units = {Path(folder).name for folder in self._autograde.assignments} & self.course.units.keys()
            self._sessions = {unit: self.begin(unit) for unit in units}
        except (CourseError, NotGraded, TableError) as error:
            self.log.error("Nothing was graded. %s", error)
            raise NbGraderException(str(error)) from None
        if units and self.decisions.entries:
            folders = glob.glob(str(self._folder(self.coursedir.submitted_directory, "*", "*")))  # noqa: PTH207
            with Gradebook(self.coursedir.db_url, self.coursedir.course_id) as gradebook:
                add_students(gradebook, self.decisions.entries, {Path(folder).parent.name for folder in folders})
        if units and self.course.late.counts == "best":
            self.log.warning(
                "autograder.yml says `counts: best`, but nbgrader keeps only the last submission, which counts here. "
                "docs/nbgrader.md shows how to let the best one count."
            )

    def begin(self, unit: str) -> Session:
        """Return a session for a unit. Raises NotGraded if the released notebook does not fit the course."""
        session = Session(self.course, unit, self.allow_unisolated, self.decisions)
        weakref.finalize(self, session.close)
        try:
            session.require_points(self.release_notebook(unit))
        except NotGraded:
            session.close()
            raise
        self._warn_of_early_quiz(session)
        return session

    def _warn_of_early_quiz(self, session: Session) -> None:
        unit, sentence = session.unit, ""
        if session.is_quiz_early():
            due = session.due().isoformat(" ", "minutes")
            sentence = f"The quiz of {unit} counts once its due date has passed, {due}, and has 0 points until then."
        elif extended := session.extended:
            sentence = f"The quiz of {unit} does not count yet for those with an extension: {listed(extended)}."
        if sentence:
            self.log.warning("%s After it run: nbgrader autograde %s --force", sentence, unit)

    def session(self, names: dict[str, str]) -> Session | None:
        """Return the session that grades a notebook, or None if it is not of a unit: then nbgrader runs it.

        Raises:
            NotGraded: The notebook is of a unit, but its assignment has another name.
        """
        if names["notebook"] in self.course.units and names["notebook"] != names["assignment"]:
            raise NotGraded(
                f"{names['assignment']}/{names['notebook']}.ipynb: an assignment is called like the unit in it, "
                f"{names['notebook']}. Release and generate it under this name."
            )
        return self._sessions.get(names["notebook"])

    def release_notebook(self, unit: str) -> NotebookNode:
        """Return the notebook that students received. Raises NotGraded if it cannot be read."""
        path = self._folder(self.coursedir.release_directory, ".", unit) / f"{unit}.ipynb"
        if path not in self._releases:
            try:
                release = nbformat.read(path, as_version=4)
            except (OSError, nbformat.reader.NotJSONError) as error:
                why = getattr(error, "strerror", None) or "it is not JSON"
                raise NotGraded(
                    f"{path} cannot be read ({why}): run `nbgrader generate_assignment {unit} --force`."
                ) from None
            for number, cell in enumerate(release.cells, start=1):
                cell.setdefault("id", f"release-{number}")
            release.nbformat_minor = 5
            self._releases[path] = release
        return self._releases[path]

    def from_filename(
        self, filename: str, resources: dict[str, Any] | None = None, **settings: Any
    ) -> tuple[NotebookNode, dict[str, Any]]:
        """Convert a notebook: the submitted one, or the one made from it in autograded/."""
        path = Path(filename)
        assert resources is not None
        names = resources["nbgrader"]
        session = self.session(names)
        if session is None:
            return super().from_filename(filename, resources, **settings)
        submitted = self.submitted(names["student"], names["assignment"])
        if path.parent != submitted:
            try:
                return super().from_filename(filename, resources, **settings)
            finally:
                # The formgrader's process runs for days, but the engine must not.
                if submitted == Path(max(self._autograde.assignments)):
                    session.close()
        notebook = self.release_notebook(names["notebook"])
        # Opened relative to the student's folder, so that no link is followed.
        folder, relative = path.parent.parent, f"{path.parent.name}/{path.name}"
        try:
            read = read_all_cells(folder, relative)
            if read is None:
                raise UnreadableError(f"{relative} is missing: hand it in.")
        except UnreadableError as error:
            self.log.warning("%s: %s The release notebook takes its place.", names["student"], error)
        else:
            notebook = NotebookNode(nbformat=4, nbformat_minor=5, metadata=notebook.metadata, cells=_clean(read[0]))
        resources["metadata"] = {"name": path.stem, "path": str(path.parent)}
        converted: tuple[NotebookNode, dict[str, Any]] = self.from_notebook_node(  # type: ignore[no-untyped-call]
            notebook, resources, **settings
        )
        return converted

    def submitted(self, student: str, unit: str) -> Path:
        """Return the folder of a student's submission of a unit."""
        return self._folder(self.coursedir.submitted_directory, student, unit)

    def following(self, student: str, unit: str) -> list[Path]:
        """Return the folders that nbgrader will convert after this one, in its order."""
        here = str(self.submitted(student, unit))
        later = (Path(folder) for folder in sorted(self._autograde.assignments) if folder > here)
        return [folder for folder in later if folder.name == unit and self._is_due(folder)]

    def _is_due(self, submitted: Path) -> bool:
        """Return whether nbgrader will convert the submission, and not skip it as already autograded."""
        autograded = self._folder(self.coursedir.autograded_directory, submitted.parent.name, submitted.name)
        if self._autograde.force or not autograded.exists():
            return True
        handed_in, graded = (self.coursedir.get_existing_timestamp(str(one)) for one in (submitted, autograded))
        return bool(handed_in and graded and handed_in > graded)

    def _expect_notebooks(self) -> None:
        """Make nbgrader expect a notebook in each submission, so that a submission without it is graded too.

        By itself nbgrader skips a folder without notebooks, and fails if it does not know any of them.
        """
        pattern = str(self.submitted(self.coursedir.student_id, self.coursedir.assignment_id))
        for folder in glob.glob(pattern):  # noqa: PTH207 - as nbgrader finds them
            unit = Path(folder).name
            if unit in self.course.units and fnmatch.fnmatch(unit, self.coursedir.notebook_id):
                expected = str(Path(folder, f"{unit}.ipynb"))
                found = self._autograde.assignments.setdefault(folder, [])
                if expected not in found:
                    found.append(expected)

    def _folder(self, step: str, student: str, unit: str) -> Path:
        return Path(self.coursedir.format_path(step, student, unit))


def _clean(cells: list[Any]) -> list[NotebookNode]:
    """Return the cells that have text, reduced to their text, type and grade_id."""
    room = dict.fromkeys(("code", "markdown", "raw"), CODE_LIMIT)
    clean: list[NotebookNode] = []
    for number, cell in enumerate(cells, start=1):
        if not isinstance(cell, dict) or len(clean) == MOST_CELLS:
            continue
        kind, source = cell.get("cell_type"), source_of(cell)
        if kind == "heading":  # of nbformat 3
            kind = "markdown"
        if not isinstance(kind, str) or source is None or len(source) > room.get(kind, -1):
            continue
        room[kind] -= len(source)
        name = grade_id_of(cell)
        own = {
            "id": f"submitted-{number}",
            "cell_type": kind,
            "metadata": {"nbgrader": {"grade_id": name}} if name else {},
            "source": NO_TEXT.sub("\N{REPLACEMENT CHARACTER}", source),
        }
        clean.append(nbformat.from_dict(own | ({"outputs": [], "execution_count": None} if kind == "code" else {})))
    return clean


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
        # The only notebook of a unit is collected even if it is damaged: `nbgrader autograde` tells its student why.
        notebooks = [file.path for file in files.values() if intended_name(file.name, [unit]) == f"{unit}.ipynb"]
        own_paths = chosen.own_paths or ({f"{unit}.ipynb": notebooks[0]} if len(notebooks) == 1 else {})
        if not own_paths:
            self._warn(f"{student}: nothing was collected. {chosen.problem}")
        for name, own_path in own_paths.items():
            file = files.get(own_path) or TreePart(tree, own_path, own_path)
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
