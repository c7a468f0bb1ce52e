"""The repository that students receive: written anew, or brought up to date around what they have done in it."""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import re
import shlex
import shutil
import tempfile
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, overload

from grader.course.build import BuildError, check
from grader.course.model import FILENAME, Course
from grader.files import write_atomically
from grader.integrations.github.repository import Author, Repository, around, identity, origin
from grader.integrations.release import GradingMode, ReleaseError
from grader.integrations.release.folder import replaced
from grader.integrations.release.leaks import require_none
from grader.integrations.release.requirements import pins
from grader.integrations.release.wheel import build_wheel, received
from grader.submissions.names import SHEET_SUFFIX

if TYPE_CHECKING:
    from collections.abc import Mapping

RECORD = ".course.json"
"""Of each file as a release wrote it, its SHA-256: what differs from that, somebody else has worked on."""

PYTHON = "3.11"

_TEMPLATES = Path(__file__).with_name("templates")
_RENDERED = {
    "README.md": "README.md.j2",
    "requirements.txt": "requirements.txt.j2",
    ".devcontainer/devcontainer.json": "devcontainer.json.j2",
    ".gitignore": "gitignore",
    ".gitattributes": "gitattributes",
}


@dataclass
class Released:
    """What became of the files of a release, by their paths: the rest was as it should be.

    overwritten: those of the course that had been changed. kept: those of the student, which have been worked on.
    push: the command that pushes the new commit, where an earlier release has got one.
    """

    is_new: bool = False
    is_committed: bool = False
    written: list[str] = field(default_factory=list)
    overwritten: list[str] = field(default_factory=list)
    kept: list[str] = field(default_factory=list)
    removed: list[str] = field(default_factory=list)
    push: str = ""


def release_github(directory: Path, course: Course, mode: GradingMode = GradingMode.record) -> Released:
    """Write the students' repository, or bring an earlier release in `directory` up to date, with one commit.

    Raises CourseError or ReleaseError, with nothing changed; may also raise OSError.
    """
    _require_built(course)
    author = identity(course.root) or Author(course.name, "noreply@course.invalid")
    if _is_release(directory):
        with tempfile.TemporaryDirectory(dir=directory.absolute().parent, prefix=f".{directory.name}.") as folder:
            staging = Path(folder)
            _prepare(staging, course, mode, author)
            return _update(directory, staging, of_students(course), author)
    if outer := around(directory):
        raise ReleaseError(f"{directory} lies in the git repository {outer}: name a folder outside it.")
    with replaced(directory, course, lambda _: False) as staging:
        written = _prepare(staging, course, mode, author)
    return Released(is_new=True, is_committed=True, written=written)


# -- what is released ------------------------------------------------------------------------------------------------


def _prepare(folder: Path, course: Course, mode: GradingMode, author: Author) -> list[str]:
    """Makes the whole release in an empty folder, committed, and finds no leak in it. Gives the files' paths."""
    wheel = build_wheel(folder / "course", course)
    files = {f"exercises/{name}": content for name, content in received(course).items()}
    files[FILENAME] = (course.root / FILENAME).read_bytes()
    files["constraints.txt"] = _constraints(course).encode()
    for path, text in _rendered(course, mode, wheel.name).items():
        files[path] = text.encode()
    for path, content in files.items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_bytes(content)
    files[f"course/{wheel.name}"] = wheel.read_bytes()
    files[RECORD] = _as_record({path: _sum(content) for path, content in files.items()})
    (folder / RECORD).write_bytes(files[RECORD])
    Repository.create(folder).commit(files, f"{course.name}, as students receive it", author)
    require_none(folder, course)
    return sorted(files)


def _rendered(course: Course, mode: GradingMode, wheel: str) -> dict[str, str]:
    """The files that are made from templates."""
    grader_repository = None if mode is GradingMode.record else origin(course.root)
    if grader_repository is None and mode is not GradingMode.record:
        raise ReleaseError(
            f"--grading {mode} needs to know this repository's name on GitHub, and it has no remote: "
            "git remote add origin https://github.com/OWNER/NAME"
        )
    about = {"mode": mode.value, "wheel": wheel, "grader_repository": grader_repository}
    templates = {**_RENDERED, ".github/workflows/classroom.yml": f"classroom_{mode}.yml.j2"}
    return {path: render(name, course, **about) for path, name in templates.items()}


def write_workflow(course: Course) -> list[Path]:
    """Write the workflow that students' repositories can call, where the course has workflows.

    Returns:
        The file, if it was out of date.
    """
    path = course.root / ".github" / "workflows" / "grade-submission.yml"
    text = render("grade_submission.yml.j2", course)
    if not path.parent.is_dir() or (path.is_file() and path.read_text(encoding="utf-8") == text):
        return []
    write_atomically(path, text)
    return [path]


def render(template: str, course: Course, **about: str | None) -> str:
    """What one of the templates makes of a course, and of whatever else it asks for. Raises ReleaseError."""
    try:
        from jinja2 import Environment, FileSystemLoader, StrictUndefined
    except ImportError as error:
        raise ReleaseError("A release needs jinja2: run `pip install -e .[release]`.") from error

    environment = Environment(
        loader=FileSystemLoader(_TEMPLATES),
        variable_start_string="[[",
        variable_end_string="]]",
        block_start_string="[%",
        block_end_string="%]",
        undefined=StrictUndefined,
        keep_trailing_newline=True,
    )
    return environment.get_template(template).render(course=course, python=PYTHON, **about)


def _constraints(course: Course) -> str:
    return "\n".join(
        [
            "# The versions that the course was tested with. pip reads them with requirements.txt.",
            *pins(course).values(),
            "",
        ]
    )


def _require_built(course: Course) -> None:
    """An answer that was tried out in exercises/ must not go out to all."""
    try:
        stale = check(course)
    except BuildError as error:
        raise ReleaseError(str(error)) from error
    if stale:
        raise ReleaseError(f"exercises/{stale[0]} is not what `grader build` makes of its source: run that first.")


# -- an earlier release ----------------------------------------------------------------------------------------------


def _is_release(directory: Path) -> bool:
    return not directory.is_symlink() and (directory / RECORD).is_file() and (directory / ".git").exists()


def of_students(course: Course) -> set[str]:
    """The files that students write in."""
    return {"README.md", *(f"exercises/{unit}{suffix}" for unit in course.units for suffix in (".py", SHEET_SUFFIX))}


def _update(directory: Path, staging: Path, of_students: set[str], author: Author) -> Released:
    """Brings the release in `directory` up to the one in `staging`, but for what students have worked on."""
    repository = Repository(directory)
    with repository.locked(), contextlib.ExitStack() as undo:
        there, changes, released = _plan(repository, staging, of_students)
        spare = Path(tempfile.mkdtemp(dir=staging))
        for path, content in changes.items():
            if content == there[path]:
                continue
            place = directory / path
            if there[path] is None:
                undo.callback(place.unlink, missing_ok=True)
            else:
                before = spare / str(len(released.written) + len(released.removed))
                shutil.copy2(place, before, follow_symlinks=False)
                undo.callback(shutil.move, before, place)
            if content is None:
                place.unlink()
                released.removed.append(path)
            else:
                place.parent.mkdir(parents=True, exist_ok=True)
                (staging / path).replace(place)
                released.written.append(path)
        released.is_committed = repository.commit(changes, "The course, brought up to date", author)
        undo.pop_all()
    released.push = repository.push()
    return released


def _plan(
    repository: Repository, staging: Path, of_students: set[str]
) -> tuple[dict[str, bytes | None], dict[str, bytes | None], Released]:
    """What the files of a release hold now, what they are to hold (None for one that goes), and whose they are.

    Raises ReleaseError where that would cost somebody a file, or a change, that is in no commit.
    """
    directory, head, index = repository.folder, repository.committed(), repository.staged()
    recorded = _recorded(repository.content(head[RECORD]) if RECORD in head else b"", directory)
    offered = _recorded((staging / RECORD).read_bytes(), staging)
    there = {path: _content(directory, path) for path in {*recorded, *offered, RECORD}}
    committed = {path: _sum(repository.content(head[path])) for path in there if path in head}
    staged = {
        path: committed[path] if head.get(path) == index[path] else _sum(repository.content(index[path]))
        for path in there
        if path in index
    }
    changes: dict[str, bytes | None] = {}
    sums: dict[str, str] = {}
    released = Released()

    def is_untouched(path: str, new: bytes | None) -> bool:
        """Whether the folder and git have nothing of it but what a release wrote, or this one is about to."""
        return {_sum(there[path]), committed.get(path), staged.get(path)} <= {recorded.get(path), _sum(new)}

    for path in offered:
        old, new = there[path], (staging / path).read_bytes()
        if path in of_students and not is_untouched(path, new):
            if old != new:
                released.kept.append(path)
            if path in recorded:
                sums[path] = recorded[path]
            continue
        if old != new and path in recorded and _sum(old) != recorded[path]:
            released.overwritten.append(path)
        changes[path], sums[path] = new, offered[path]
    changes.update({path: None for path in sorted(recorded.keys() - sums.keys()) if is_untouched(path, None)})
    changes[RECORD] = _as_record(sums)
    (staging / RECORD).write_bytes(_as_record(sums))

    strange, uncommitted = [], []
    for path, content in changes.items():
        ours = {None, recorded.get(path), _sum(content)}
        if path not in committed.keys() & {*recorded, RECORD} and _sum(there[path]) not in ours:
            strange.append(path)
        elif not {_sum(there[path]), staged.get(path)} <= {*ours, committed.get(path)}:
            uncommitted.append(path)
    if strange:
        raise ReleaseError(
            f"Nothing was changed in {directory}, for the course now brings files that are there already with other "
            f"content: {', '.join(strange)}: rename them or move them aside, then release again."
        )
    if uncommitted:
        raise ReleaseError(
            f"Nothing was changed in {directory}, for files of the course have changes there that are in no commit: "
            f"{', '.join(uncommitted)}: commit them, or discard them with "
            f"`git checkout HEAD -- {shlex.join(uncommitted)}`, then release again."
        )
    return there, changes, released


def _content(directory: Path, path: str) -> bytes | None:
    """What a file of the release holds now, as git has it; None where it is gone. A link is not followed."""
    place = directory
    for part in PurePosixPath(path).parts[:-1]:
        place /= part
        if place.is_symlink() or (place.exists() and not place.is_dir()):
            raise ReleaseError(f"{place} is no folder, but {path} belongs there: rename what is there.")
    place = directory / path
    if place.is_symlink():
        return os.fsencode(os.readlink(place))  # noqa: PTH115 - a Path would leave out "./"
    if place.is_dir():
        raise ReleaseError(f"{place} is a folder, but a file of the course belongs there: rename the folder.")
    if place.exists() and not place.is_file():
        raise ReleaseError(f"{place} is no file, but one of the course belongs there: rename what is there.")
    return place.read_bytes() if place.exists() else None


def _recorded(record: bytes, directory: Path) -> dict[str, str]:
    """What a release wrote, as far as it is told of files that one may have written."""
    try:
        found = json.loads(record)
        return {path: value for path, value in found.items() if _is_inside(path) and isinstance(value, str)}
    except (ValueError, AttributeError):
        raise ReleaseError(
            f"{directory / RECORD} cannot be read as it is in the latest commit, so nobody knows what is the "
            f"student's: get it back with `git checkout COMMIT -- {RECORD}` from an earlier one, and commit it."
        ) from None


def _is_inside(path: str) -> bool:
    """Whether a path leads to a file of the release, and nowhere else, on every system."""
    return not re.search(r"[\\:]", path) and not {"", ".", "..", ".git"}.intersection(path.lower().split("/"))


def _as_record(sums: Mapping[str, str]) -> bytes:
    return (json.dumps(dict(sorted(sums.items())), indent=1) + "\n").encode()


@overload
def _sum(content: bytes) -> str: ...
@overload
def _sum(content: None) -> None: ...
@overload
def _sum(content: bytes | None) -> str | None: ...
def _sum(content: bytes | None) -> str | None:
    return None if content is None else hashlib.sha256(content).hexdigest()
