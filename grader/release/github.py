"""The repository that students receive: written anew, or brought up to date around what they have done in it."""

from __future__ import annotations

import hashlib
import importlib.metadata
import json
import re
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath

from grader.build import BuildError, check
from grader.course import FILENAME, ROOT, Course, load_course
from grader.release import GradingMode, ReleaseError
from grader.release.folder import replaced
from grader.release.leaks import require_none
from grader.release.repository import Author, Repository, identity, origin
from grader.release.wheel import build_wheel, received, requirements
from grader.submission import SHEET_SUFFIX

RECORD = ".course.json"
"""Of each file as a release wrote it, its SHA-256: what differs from that, somebody else has worked on."""

LOCK = "requirements.lock"
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
    """

    is_new: bool = False
    is_committed: bool = False
    written: list[str] = field(default_factory=list)
    overwritten: list[str] = field(default_factory=list)
    kept: list[str] = field(default_factory=list)
    removed: list[str] = field(default_factory=list)


def release_github(directory: Path, mode: GradingMode = GradingMode.record, root: Path = ROOT) -> Released:
    """Write the students' repository, or bring an earlier release in `directory` up to date, with one commit.

    Raises CourseError or ReleaseError, with nothing changed; may also raise OSError.
    """
    course = load_course(root)
    _require_built(root)
    author = identity(root) or Author(course.name, "noreply@course.invalid")
    if _is_release(directory):
        with tempfile.TemporaryDirectory(dir=directory.absolute().parent, prefix=f".{directory.name}.") as folder:
            staging = Path(folder)
            _prepare(staging, course, mode, author, root)
            return _update(directory, staging, of_students(course), author)
    with replaced(directory, lambda _: False, root) as staging:
        written = _prepare(staging, course, mode, author, root)
    return Released(is_new=True, is_committed=True, written=written)


# -- what is released ------------------------------------------------------------------------------------------------


def _prepare(folder: Path, course: Course, mode: GradingMode, author: Author, root: Path) -> list[str]:
    """Makes the whole release in an empty folder, committed, and finds no leak in it. Gives the files' paths."""
    wheel = build_wheel(folder / "course", root)
    files = {f"exercises/{path.name}": path.read_bytes() for path in received(course, root)}
    files[FILENAME] = (root / FILENAME).read_bytes()
    files["constraints.txt"] = _constraints(root).encode()
    for path, text in _rendered(course, mode, wheel.name, root).items():
        files[path] = text.encode()
    for path, content in files.items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_bytes(content)
    files[f"course/{wheel.name}"] = wheel.read_bytes()
    files[RECORD] = _as_record({path: _sum(content) for path, content in files.items()})
    (folder / RECORD).write_bytes(files[RECORD])
    Repository.create(folder).commit(files, f"{course.name}, as students receive it", author)
    require_none(folder, root)
    return sorted(files)


def _rendered(course: Course, mode: GradingMode, wheel: str, root: Path) -> dict[str, str]:
    """The files that are made from templates."""
    grader_repository = None if mode is GradingMode.record else origin(root)
    if grader_repository is None and mode is not GradingMode.record:
        raise ReleaseError(
            f"--grading {mode} needs to know this repository's name on GitHub, and it has no remote: "
            "git remote add origin https://github.com/OWNER/NAME"
        )
    about = {"mode": mode.value, "wheel": wheel, "grader_repository": grader_repository}
    templates = {**_RENDERED, ".github/workflows/classroom.yml": f"classroom_{mode}.yml.j2"}
    return {path: render(name, course, **about) for path, name in templates.items()}


def render(template: str, course: Course, **about: str | None) -> str:
    """What one of the templates makes of a course, and of whatever else it asks for. Raises ReleaseError."""
    from grader.emit.classroom import runner_id

    try:
        from jinja2 import Environment, FileSystemLoader, StrictUndefined
    except ImportError as error:
        raise ReleaseError("A release needs jinja2: run `pip install -e .[release]`.") from error

    names = [
        name
        for unit_name, unit in course.units.items()
        for name in (*unit.exercises, *([f"{unit_name}_quiz"] if unit.quiz else []))
    ]
    environment = Environment(
        loader=FileSystemLoader(_TEMPLATES),
        variable_start_string="[[",
        variable_end_string="]]",
        block_start_string="[%",
        block_end_string="%]",
        undefined=StrictUndefined,
        keep_trailing_newline=True,
    )
    runners = [runner_id(name) for name in names]
    return environment.get_template(template).render(course=course, runners=runners, python=PYTHON, **about)


def _constraints(root: Path) -> str:
    """The course's own versions of all that the wheel needs, and of what that needs in turn."""
    from packaging.requirements import Requirement

    lock = (root / LOCK).read_text(encoding="utf-8").splitlines()
    pins = {_canonical(line.split("==")[0]): line for line in lock if "==" in line}
    names = [Requirement(one).name for one in requirements(root)]
    needed: set[str] = set()
    while names:
        name = _canonical(names.pop())
        if name in needed or name not in pins:
            continue
        needed.add(name)
        try:
            wanted = [Requirement(one) for one in importlib.metadata.requires(name) or ()]
        except importlib.metadata.PackageNotFoundError:
            continue  # of another system than this one
        names += [one.name for one in wanted if "extra" not in str(one.marker)]
    lines = [pins[name] for name in pins if name in needed]
    return "\n".join(
        ["# The versions that the course was tested with. pip reads them with requirements.txt.", *lines, ""]
    )


def _canonical(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name.strip()).lower()


def _require_built(root: Path) -> None:
    """An answer that was tried out in exercises/ must not go out to all."""
    try:
        stale = check(root)
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
    repository, recorded, released = Repository(directory), _read_record(directory), Released()
    committed, staged = repository.committed(), repository.staged()

    def is_untouched(path: str, content: bytes) -> bool:
        """As a release wrote it: the file, and what git has of it."""
        name = repository.name_of(content)
        return _sum(content) == recorded.get(path) and committed.get(path) == staged.get(path) == name

    there = {path: _content(directory, path) for path in {*recorded, *_read_record(staging), RECORD}}
    changes: dict[str, bytes | None] = {}
    sums: dict[str, str] = {}
    for path in _read_record(staging):
        old, new = there[path], (staging / path).read_bytes()
        is_free = path not in {*recorded, *committed, *staged} if old is None else is_untouched(path, old)
        if path in of_students and not is_free:
            if old != new:
                released.kept.append(path)
            if path in recorded:
                sums[path] = recorded[path]
            continue
        if old != new and path in recorded and (old is None or _sum(old) != recorded[path]):
            released.overwritten.append(path)
        changes[path], sums[path] = new, _sum(new)
    for path in sorted(recorded.keys() - sums.keys()):
        if (old := there[path]) is not None and is_untouched(path, old):
            changes[path] = None
    changes[RECORD] = _as_record(sums)
    (staging / RECORD).write_bytes(_as_record(sums))

    for path, content in changes.items():
        if content is None:
            (directory / path).unlink()
            released.removed.append(path)
        elif content != there[path]:
            (directory / path).parent.mkdir(parents=True, exist_ok=True)
            (staging / path).replace(directory / path)
            released.written.append(path)
    names = {path: None if content is None else repository.name_of(content) for path, content in changes.items()}
    to_commit = {path: content for path, content in changes.items() if committed.get(path) != names[path]}
    if to_commit:
        repository.commit(to_commit, "The course, brought up to date", author)
        released.is_committed = True
    # What was staged in the course's own files goes as well.
    repository.stage({path: name for path, name in names.items() if path not in to_commit and staged.get(path) != name})
    return released


def _content(directory: Path, path: str) -> bytes | None:
    """What a file of the release holds now; None where it is gone. A link or the like is not followed, but empty."""
    place = directory
    for part in PurePosixPath(path).parts[:-1]:
        place /= part
        if place.is_symlink() or (place.exists() and not place.is_dir()):
            raise ReleaseError(f"{place} is no folder, but {path} belongs there: rename what is there.")
    place = directory / path
    if place.is_dir() and not place.is_symlink():
        raise ReleaseError(f"{place} is a folder, but a file of the course belongs there: rename the folder.")
    if place.is_symlink() or (place.exists() and not place.is_file()):
        return b""
    return place.read_bytes() if place.exists() else None


def _read_record(directory: Path) -> dict[str, str]:
    """What a release wrote, as far as it is told of files that one may have written."""
    try:
        found = json.loads((directory / RECORD).read_bytes())
        return {path: value for path, value in found.items() if _is_inside(path) and isinstance(value, str)}
    except (OSError, ValueError, AttributeError):
        raise ReleaseError(
            f"{directory / RECORD} cannot be read, so nobody knows what is the student's: get it back with "
            f"`git checkout HEAD -- {RECORD}`."
        ) from None


def _is_inside(path: str) -> bool:
    """Whether a path leads to a file of the release, and nowhere else, on every system."""
    return not re.search(r"[\\:]", path) and not {"", ".", "..", ".git"}.intersection(path.lower().split("/"))


def _as_record(sums: Mapping[str, str]) -> bytes:
    return (json.dumps(dict(sorted(sums.items())), indent=1) + "\n").encode()


def _sum(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()
