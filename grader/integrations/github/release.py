"""The repository that students receive."""

from __future__ import annotations

import datetime
import re
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

from jinja2 import Environment, FileSystemLoader, StrictUndefined

from grader import machine
from grader.course.model import FILENAME, Course
from grader.files import PACKAGE, write_atomically
from grader.integrations.github.repository import Repository, around, identity, origin
from grader.integrations.github.update import (
    RECORD,
    WORKFLOW,
    Released,
    as_record,
    checksum,
    is_release,
    of_students,
    released_mode,
    update,
)
from grader.integrations.release import GradingMode, ReleaseError
from grader.integrations.release.folder import replaced, require_built
from grader.integrations.release.leaks import require_none
from grader.integrations.release.requirements import pins
from grader.integrations.release.solutions import require_over
from grader.integrations.release.wheel import build_wheel, received

if TYPE_CHECKING:
    from collections.abc import Mapping

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


def release_github(directory: Path, course: Course, mode: GradingMode | None = None) -> Released:
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
        with tempfile.TemporaryDirectory() as folder:
            files = _prepare(Path(folder), course, mode or released_mode(directory), author)
        return update(directory, files, of_students(course), author)
    if outer := around(directory):
        raise ReleaseError(f"{directory} lies in the git repository {outer}: name a folder outside it.")
    with replaced(directory, course, ()) as staging:
        written = _prepare(staging, course, mode or GradingMode.record, author)
    return Released(is_new=True, is_committed=True, written=sorted(written))


def _prepare(folder: Path, course: Course, mode: GradingMode, author: Mapping[str, str]) -> dict[str, bytes]:
    """Make the whole release in an empty folder, with a commit, and search it for leaks. Return its files."""
    wheel = build_wheel(folder / "course", course)
    files = course_files(course)
    files["constraints.txt"] = _constraints(course).encode()
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
    files = {f"exercises/{name}": content for name, content in received(course).items()}
    files[FILENAME] = (course.root / FILENAME).read_bytes()
    return {path: content.replace(b"\r\n", b"\n") for path, content in files.items()}


def _rendered(course: Course, mode: GradingMode, wheel: str) -> dict[str, str]:
    """Return the files that templates make."""
    if mode is not GradingMode.record and not (course.root / PACKAGE.name / "__init__.py").is_file():
        raise ReleaseError(
            f"--grading {mode} needs the grader in the course's own repository, and {course.root} has no "
            f"{PACKAGE.name}/: leave the option out, and grade with `grader grade`."
        )
    grader_repository = origin(course.root) if mode is not GradingMode.record else None
    if mode is not GradingMode.record and not grader_repository:
        raise ReleaseError(
            f"--grading {mode} needs to know this repository's name on GitHub, and its remote `origin` says none: "
            "git remote remove origin; git remote add origin https://github.com/OWNER/NAME"
        )
    about = {"mode": mode.value, "wheel": wheel, "grader_repository": grader_repository}
    return {path: render(name, course, **about) for path, name in _RENDERED.items()}


def write_workflows(course: Course) -> list[Path]:
    """Write the course's Python into the workflows that grade.

    Returns:
        The files that were out of date; none if the course has no workflows.
    """
    written = []
    for path in sorted((course.root / ".github" / "workflows").glob("grade-*.yml")):
        before = path.read_text(encoding="utf-8")
        after = _PYTHON.sub(course.python, before)
        if after != before:
            write_atomically(path, after)
            written.append(path)
    return written


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


def _constraints(course: Course) -> str:
    title = "# The versions that the course was tested with. pip reads them with requirements.txt."
    return "\n".join([title, *pins(course).values(), ""])
