"""The repository that students receive. An update keeps the work that students have done in it."""

from __future__ import annotations

import datetime
import hashlib
import json
import os
import re
import shlex
import shutil
from collections.abc import Mapping
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath

from jinja2 import Environment, FileSystemLoader, StrictUndefined

from grader import machine
from grader.course.model import FILENAME, Course
from grader.files import PACKAGE, temporary_folder, write_outdated
from grader.integrations.github.git_repositories import Repository, around, identity, origin
from grader.integrations.release import GradingMode, ReleaseError
from grader.integrations.release.folder_releases import replaced, require_built, require_over
from grader.integrations.release.leaks import require_none
from grader.integrations.release.wheel import build_wheel, pins, received
from grader.submissions.submission import FOLDER, SHEET_SUFFIX

RECORD = ".course.json"
"""The file with the SHA-256 of each file as a release wrote it. If a file differs, somebody has changed it."""

WORKFLOW = ".github/workflows/classroom.yml"

_TEMPLATES = Path(__file__).with_name("templates")
# In workflows that an instructor may have changed, such as grade-class.yml.
_PYTHON = re.compile(r'(?<=python-version: ")3\.\d+(?=")')
_RENDERED = {
    "README.md": "README.md.j2",
    "requirements.txt": "requirements.txt.j2",
    ".devcontainer/devcontainer.json": "devcontainer.json.j2",
    ".gitignore": "gitignore",
    ".gitattributes": "gitattributes",
    WORKFLOW: "classroom.yml.j2",
}


@dataclass
class ReleasedRepository:
    """What an update did to the files of a release, by their paths. All others were up to date.

    Attributes:
        is_new: Whether there was no earlier release.
        is_committed: Whether there is a new commit.
        written: Files that were written.
        overwritten: Files of the course that somebody had changed.
        kept: Files that the student has worked on, also if the course no longer has them.
        removed: Files that the course no longer has.
        push: The command that pushes the new commit of an earlier release.
    """

    is_new: bool = False
    is_committed: bool = False
    written: list[str] = field(default_factory=list)
    overwritten: list[str] = field(default_factory=list)
    kept: list[str] = field(default_factory=list)
    removed: list[str] = field(default_factory=list)
    push: str = ""


def is_release(directory: Path) -> bool:
    """Return whether the folder holds an earlier release."""
    return not directory.is_symlink() and (directory / RECORD).is_file() and (directory / ".git").exists()


def released_mode(directory: Path) -> GradingMode:
    """Return what a push to an earlier release runs, according to its workflow.

    Raises:
        ReleaseError: It calls a workflow of the instructor's repository, as releases could until 28 November 2026.
    """
    workflow = _content(directory, WORKFLOW) or b""
    if b"/grade-submission.yml@" in workflow:
        raise ReleaseError(
            f"Nothing was changed in {directory}: it was released with `--grading reusable`, which is no longer there. "
            "Choose --grading record, by which a push runs the visible tests, or --grading key, for the hidden ones."
        )
    return "key" if b"secrets.GRADER_DEPLOY_KEY" in workflow else "record"


def of_students(course: Course) -> set[str]:
    """Return the files that students write in."""
    return {"README.md", *(f"{FOLDER}/{unit}{suffix}" for unit in course.units for suffix in (".py", SHEET_SUFFIX))}


def update_release(
    directory: Path, files: Mapping[str, bytes], of_students: set[str], author: Mapping[str, str]
) -> ReleasedRepository:
    """Update a release, except for what students have worked on.

    Args:
        directory: The earlier release.
        files: The content of the new one.
        of_students: The files that students write in.
        author: Who commits.

    Raises:
        ReleaseError: Somebody would lose work; nothing is changed.
    """
    repository = Repository(directory, author)
    staged_apart = repository.staged_apart()
    recorded = _recorded(repository.committed(RECORD) or b"", directory)
    places = {
        path: _Place(
            present=_content(directory, path),
            committed=repository.committed(path),
            new=files.get(path),
            recorded=recorded.get(path),
            is_staged_apart=path in staged_apart,
        )
        for path in sorted({*recorded, *files})
    }
    released, changes = _plan(places, of_students)
    _require_safe(directory, changes)
    parent = directory.absolute().parent
    with temporary_folder(parent, f".{directory.name}.") as spare, ExitStack() as undo:
        for number, (path, place) in enumerate(changes.items()):
            if place.new != place.present:
                _replace(directory / path, place, spare / str(number), undo)
                (released.removed if place.new is None else released.written).append(path)
        written = [path for path, place in changes.items() if place.new is not None]
        message = "The course, brought up to date"
        released.is_committed = repository.commit(written, changes.keys() - set(written), message)
        undo.pop_all()
    released.push = repository.push()
    return released


def _replace(path: Path, place: _Place, spare: Path, undo: ExitStack) -> None:
    """Write or remove a file, and keep what was there until the update is complete."""
    if place.present is None:
        undo.callback(path.unlink, missing_ok=True)
    else:
        shutil.move(path, spare)
        undo.callback(shutil.move, spare, path)
    if place.new is not None:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(place.new)


@dataclass
class _Place:
    """What one file holds now and will hold, None for no file, and the SHA-256 that a release recorded."""

    present: bytes | None
    committed: bytes | None
    new: bytes | None
    recorded: str | None
    is_staged_apart: bool

    def held(self) -> set[str | None]:
        """Return the SHA-256 of what the folder and git hold; "staged" for another content that is only staged."""
        sums = {_checksum(self.present), _checksum(self.committed)}
        return sums | {"staged"} if self.is_staged_apart else sums

    def is_untouched(self) -> bool:
        """Return whether the folder and git hold only what a release wrote, or this one will write."""
        return self.held() <= {self.recorded, _checksum(self.new)}


def _plan(places: Mapping[str, _Place], of_students: set[str]) -> tuple[ReleasedRepository, dict[str, _Place]]:
    """Return what happens to each file, and the files to write or remove."""
    released, sums = ReleasedRepository(), {}
    changes: dict[str, _Place] = {}
    for path, place in places.items():
        if path == RECORD:
            continue
        if place.new is None and not place.is_untouched():
            released.kept += [path] if place.present is not None else []
            continue
        if path in of_students and not place.is_untouched():
            if place.present != place.new:
                released.kept.append(path)
            if place.recorded:
                sums[path] = place.recorded
            continue
        if place.new is not None:
            sums[path] = checksum(place.new)
            if place.recorded and place.present != place.new and _checksum(place.present) != place.recorded:
                released.overwritten.append(path)
        changes[path] = place
    changes[RECORD] = places[RECORD]
    changes[RECORD].new = as_record(sums)
    return released, changes


def _require_safe(directory: Path, places: Mapping[str, _Place]) -> None:
    """Raise ReleaseError where somebody would lose a file, or a change, that is in no commit."""
    strange, uncommitted = [], []
    for path, place in places.items():
        ours = {None, place.recorded, _checksum(place.new)}
        is_ours = place.committed is not None and (place.recorded or path == RECORD)
        if not is_ours and _checksum(place.present) not in ours:
            strange.append(path)
        elif not place.held() <= {*ours, _checksum(place.committed)}:
            uncommitted.append(path)
    if strange:
        raise ReleaseError(
            f"Nothing was changed in {directory}: the course now has files that are already there with other "
            f"content: {', '.join(strange)}: rename them or move them aside, then release again."
        )
    if uncommitted:
        raise ReleaseError(
            f"Nothing was changed in {directory}: files of the course have changes there that are in no commit: "
            f"{', '.join(uncommitted)}: commit them, or discard them with "
            f"`git checkout HEAD -- {shlex.join(uncommitted)}`, then release again."
        )


def _content(directory: Path, path: str) -> bytes | None:
    """Return what a file of the release holds now, as git has it; None if there is none. Follow no link."""
    place = directory
    for part in PurePosixPath(path).parts[:-1]:
        place /= part
        if place.is_symlink() or (place.exists() and not place.is_dir()):
            raise ReleaseError(f"{place} is not a folder, but {path} belongs there: rename what is there.")
    place = directory / path
    if place.is_symlink():
        return os.fsencode(os.readlink(place))  # noqa: PTH115 - a Path would leave out "./"
    if place.exists() and not place.is_file():
        raise ReleaseError(f"{place} is not a file, but a file of the course belongs there: rename what is there.")
    return place.read_bytes() if place.exists() else None


def _recorded(record: bytes, directory: Path) -> dict[str, str]:
    """Return the record of a release, without paths that a release cannot have written."""
    try:
        found = json.loads(record)
        return {path: value for path, value in found.items() if _is_inside(path) and isinstance(value, str)}
    except (ValueError, AttributeError):
        raise ReleaseError(
            f"{directory / RECORD} cannot be read in the latest commit, so it is not known what the student changed: "
            f"get it back with `git checkout COMMIT -- {RECORD}` from an earlier one, and commit it."
        ) from None


def _is_inside(path: str) -> bool:
    """Return whether a path stays inside the release on every system."""
    return not re.search(r"[\\:]", path) and not {"", ".", "..", ".git"}.intersection(path.lower().split("/"))


def as_record(sums: Mapping[str, str]) -> bytes:
    """Return the content of RECORD."""
    return (json.dumps(dict(sorted(sums.items())), indent=1) + "\n").encode()


def checksum(content: bytes) -> str:
    """Return the SHA-256 of a content."""
    return hashlib.sha256(content).hexdigest()


def _checksum(content: bytes | None) -> str | None:
    return None if content is None else checksum(content)


def release_github(directory: Path, course: Course, mode: GradingMode | None = None) -> ReleasedRepository:
    """Write the students' repository, or update an earlier release in `directory`, with one commit.

    Args:
        directory: The repository.
        course: The course.
        mode: What a push runs; by default the same as before, and the visible tests in a new repository.

    Raises:
        GraderError: It cannot be released; nothing is changed.
        OSError: A file cannot be written.
    """
    require_built(course)
    author = identity(course.root, course.name)
    if is_release(directory):
        require_over(directory, course, datetime.datetime.now(datetime.UTC))
        with temporary_folder() as folder:
            files = _prepare(folder, course, mode or released_mode(directory), author)
        return update_release(directory, files, of_students(course), author)
    if outer := around(directory):
        raise ReleaseError(f"{directory} lies in the git repository {outer}: name a folder outside it.")
    with replaced(directory, course, ()) as staging:
        written = _prepare(staging, course, mode or "record", author)
    return ReleasedRepository(is_new=True, is_committed=True, written=sorted(written))


def _prepare(folder: Path, course: Course, mode: GradingMode, author: Mapping[str, str]) -> dict[str, bytes]:
    """Make the whole release in an empty folder, with a commit, and search it for leaks. Return its files."""
    wheel = build_wheel(folder / "course", course)
    files = course_files(course)
    title = "# The versions that the course was tested with. pip reads them with requirements.txt."
    files["constraints.txt"] = "\n".join([title, *pins(course), ""]).encode()
    files["course/machine.py"] = (PACKAGE / "machine.py").read_bytes()
    for path, text in _rendered(course, mode, wheel.name).items():
        files[path] = text.encode()
    for path, content in files.items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_bytes(content)
    files[f"course/{wheel.name}"] = wheel.read_bytes()
    files[RECORD] = as_record({path: checksum(content) for path, content in files.items()})
    (folder / RECORD).write_bytes(files[RECORD])
    Repository(folder, author).create(f"{course.name}, as students receive it")
    require_none(folder, course)
    return files


def course_files(course: Course) -> dict[str, bytes]:
    """Return the files of the course's own repository that students receive, with the same line ends everywhere."""
    files = {f"{FOLDER}/{name}": content for name, content in received(course).items()}
    files[FILENAME] = (course.root / FILENAME).read_bytes()
    return {path: content.replace(b"\r\n", b"\n") for path, content in files.items()}


def _rendered(course: Course, mode: GradingMode, wheel: str) -> dict[str, str]:
    """Return the files that templates make."""
    grader_repository = None
    if mode != "record":
        if not (course.root / PACKAGE.name / "__init__.py").is_file():
            raise ReleaseError(
                f"--grading {mode} needs the grader in the course's own repository, and {course.root} has no "
                f"{PACKAGE.name}/: leave the option out, and grade with `grader grade`."
            )
        if not (grader_repository := origin(course.root)):
            raise ReleaseError(
                f"--grading {mode} needs to know this repository's name on GitHub, and its remote `origin` says none: "
                "git remote remove origin; git remote add origin https://github.com/OWNER/NAME"
            )
    about = {"mode": mode, "wheel": wheel, "grader_repository": grader_repository}
    return {path: render(name, course, **about) for path, name in _RENDERED.items()}


def write_workflows(course: Course) -> list[Path]:
    """Write the course's Python into the workflows that grade.

    Returns:
        The files that were out of date; none if the course has no workflows.
    """
    files = sorted((course.root / ".github" / "workflows").glob("grade-*.yml"))
    return write_outdated({path: _PYTHON.sub(course.python, path.read_text(encoding="utf-8")) for path in files})


def render(template: str, course: Course, **about: str | None) -> str:
    """Render a template for a course."""
    environment = Environment(
        loader=FileSystemLoader(_TEMPLATES),
        variable_start_string="[[",
        variable_end_string="]]",
        block_start_string="[%",
        block_end_string="%]",
        undefined=StrictUndefined,
        keep_trailing_newline=True,
    )
    oldest, newest = ("{}.{}".format(*version) for version in (machine.OLDEST, machine.NEWEST))
    needs = {"oldest": oldest, "newest": newest, "gigabytes": machine.GIGABYTES}
    return environment.get_template(template).render(course=course, python=course.python, **needs, **about)
