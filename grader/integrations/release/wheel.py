"""The student's part of the grader as a wheel, with its requirements: only what visible tests and quizzes need.

It has the signatures of the misconceptions too, if students are shown them before the due date.
"""

from __future__ import annotations

import hashlib
import importlib.metadata
import itertools
import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterable
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

from packaging.requirements import Requirement

from grader.course.generated import STAMP
from grader.course.left_out import left_out, tests_left_out
from grader.course.model import FILENAME, Course
from grader.files import PACKAGE, digest, temporary_folder, write_atomically
from grader.integrations.release import ReleaseError
from grader.quizzes.questions import FILENAME as QUESTIONS
from grader.sandbox.statements import first_line
from grader.submissions.submission import CHECKS, FOLDER, SHEET_SUFFIX

if TYPE_CHECKING:
    from grader.engine.failure_matrix import Signature  # imports torch, as do those in functions below

LOCK = "requirements.lock"
"""The file in the course's folder with the versions to install. Without it, the versions installed here count."""

INSTRUCTORS = ("course/new", "suites", "audit", "cluster", "classes", "integrations", "nbgrader", "cli/instructor")
"""The folders of the package that students do not receive. Nothing else of it imports them."""
PLAYGROUND = ("playground.py", "playground.txt")
"""A script with which students train models that they have built, and the text that it reads."""
CHECKED = ("test_", "pictures_")
"""What the names of a unit's files with its visible tests and its pictures begin with."""
_CODE = {".py", ".ini", ".typed", ".j2", ".html", ".css", ".js"}
_DATA = (".md", ".json", ".ini")
_BUILD = "from flit_core import buildapi; buildapi.build_wheel('.')"
# The earliest time that a zip file can hold.
_SAME_TIME = {"SOURCE_DATE_EPOCH": "315532800"}


def distribution() -> importlib.metadata.Distribution:
    """Return the distribution that the grader was installed as. Raises ReleaseError."""
    name = next(iter(importlib.metadata.packages_distributions().get(__package__.partition(".")[0], ())), None)
    if name is None:
        raise ReleaseError("A release needs the grader to be installed: run `pip install` with its wheel or folder.")
    return importlib.metadata.distribution(name)


def dependencies() -> list[str]:
    """Return the grader's requirements, without those of its extras."""
    return [one for one in distribution().requires or () if "extra" not in str(Requirement(one).marker)]


def pins(course: Course) -> list[str]:
    """Return the line `name==version` of each dependency of the grader, direct or not, sorted by name."""
    lock = course.root / LOCK
    lines = lock.read_text(encoding="utf-8").splitlines() if lock.is_file() else []
    locked = {_canonical(line.split("==")[0]): line for line in lines if "==" in line}
    waiting = [Requirement(one).name for one in dependencies()]
    found: dict[str, str] = {}
    while waiting:
        name = _canonical(waiting.pop())
        if name in found or (locked and name not in locked):
            continue
        try:
            installed = importlib.metadata.distribution(name)
        except importlib.metadata.PackageNotFoundError:  # only needed on another system
            if name in locked:
                found[name] = locked[name]
            continue
        found[name] = locked.get(name, f"{name}=={installed.version.partition('+')[0]}")
        wanted = [Requirement(one) for one in installed.requires or ()]
        waiting += [one.name for one in wanted if "extra" not in str(one.marker)]
    return [found[name] for name in sorted(found)]


def _canonical(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name.strip()).lower()


def build_wheel(into: Path, course: Course) -> Path:
    """Write the wheel to the folder `into`: the same bytes for the same sources. Raises ReleaseError, CourseError.

    Its version is the course's, a plus and a digest of its contents, because pip keeps a version that it already has.
    """
    if find_spec("flit_core") is None:
        raise ReleaseError("A release needs flit_core: run `pip install -e .[release]`.")
    if not re.fullmatch(r"\d+(\.\d+)*", course.version):
        raise ReleaseError(
            f"{FILENAME}: the version {course.version!r} cannot be that of a wheel: write numbers with dots between "
            'them, such as "2026.1".'
        )
    with temporary_folder() as staging:
        _stage(staging / PACKAGE.name, course)
        made_of = digest(sorted(path for path in staging.rglob("*") if path.is_file()), staging).hex()
        pyproject = _pyproject(f"{course.version}+r{made_of[:8]}")
        (staging / "pyproject.toml").write_text(pyproject, encoding="utf-8")
        if (course.root / "LICENSE").is_file():
            shutil.copyfile(course.root / "LICENSE", staging / "LICENSE")
        # flit_core builds its working directory.
        command, environment = [sys.executable, "-c", _BUILD], {**os.environ, **_SAME_TIME}
        done = subprocess.run(command, cwd=staging, env=environment, capture_output=True, text=True, check=False)
        if done.returncode:
            raise ReleaseError(f"flit_core could not build the students' wheel: {done.stderr.strip()[-500:]}")
        [built] = staging.glob("*.whl")
        into.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(built, into / built.name)
        return into / built.name


def received(course: Course) -> dict[str, bytes]:
    """Return the files of exercises/ that students receive, by their paths in it, without what the course leaves out.

    They are as they lie there: a release first brings up to date what is generated.

    Raises:
        ReleaseError: A file there is none of the course, or a link, or there is a folder.
    """
    missing = left_out(course)
    shared = (f"{CHECKS}/{name}" for name in ("conftest.py", "checking.py"))
    wanted = {*shared, *_playground(course, missing), *_of_units(course.units)}
    questions = f"{CHECKS}/{QUESTIONS}"
    if course.quizzes:
        wanted |= {questions, *(f"{name}{SHEET_SUFFIX}" for name in course.quizzes)}
    withheld = {questions, f"{CHECKS}/{STAMP}", *PLAYGROUND, *_of_units(missing)}
    withheld |= {f"{name}{SHEET_SUFFIX}" for name in (*course.units, *missing)}
    files = {}
    checks = course.exercises / CHECKS
    for path in sorted([*course.exercises.iterdir(), *checks.glob("*")]):
        name = path.relative_to(course.exercises).as_posix()
        is_data = path.suffix in _DATA and not name.endswith(SHEET_SUFFIX)
        if path.name.startswith(".") or path.name == "__pycache__" or path == checks:
            continue
        if path.is_symlink() or path.is_dir():
            raise ReleaseError(f"exercises/{name} is a link or a folder, so nothing was released: put a file there.")
        if name in wanted or (is_data and name not in withheld):
            unit = next((path.stem.removeprefix(one) for one in CHECKED if path.name.startswith(one)), "")
            files[name] = _without_tests(path.read_bytes(), missing.get(unit, []))
        elif name not in withheld:
            raise ReleaseError(
                f"exercises/{name} is of no unit that {FILENAME} lists, and none of the types {', '.join(_DATA)}, so "
                "students would not receive it and nothing was released: list its unit there, or remove it."
            )
    return files


def _of_units(units: Iterable[str]) -> set[str]:
    """Return the names of what students receive of these units: stubs, visible tests and pictures."""
    return {f"{prefix}{name}.py" for name in units for prefix in ("", *(f"{CHECKS}/{one}" for one in CHECKED))}


def _playground(course: Course, missing: dict[str, list[str]]) -> tuple[str, ...]:
    """Return the names of the playground's files, or none if it uses an exercise that the course leaves out."""
    script = course.exercises / PLAYGROUND[0]
    text = script.read_text(encoding="utf-8") if script.is_file() else ""
    names = itertools.chain.from_iterable(missing.values())
    return () if any(re.search(rf"\b{name}\b", text) for name in names) else PLAYGROUND


def _without_tests(content: bytes, names: list[str]) -> bytes:
    """Return a file of visible tests or pictures without those that are about these exercises or call them."""
    if not names:
        return content
    lines = content.decode("utf-8").splitlines(keepends=True)
    found = tests_left_out("".join(lines), names).values()
    for node in sorted(found, key=lambda one: one.lineno, reverse=True):
        after = itertools.dropwhile(lambda line: not line.strip(), lines[node.end_lineno :])
        lines[first_line(node) - 1 :] = after
    return "".join(lines).encode()


def _stage(package: Path, course: Course) -> None:
    """Copy the package without the instructor's folders, and the students' files of the course."""
    for source in sorted(PACKAGE.rglob("*")):
        relative = source.relative_to(PACKAGE)
        if source.is_file() and source.suffix in _CODE and not is_the_instructors(relative.as_posix()):
            target = package / relative
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(source, target)
    course.generated.bring_up_to_date()
    exercises = package / "received" / FOLDER
    (exercises / CHECKS).mkdir(parents=True)
    for name, content in received(course).items():
        (exercises / name).write_bytes(content)
    if course.feedback.before_due == "misconception":
        from grader.engine.failure_matrix import FILENAME as SIGNATURES

        (exercises / CHECKS / SIGNATURES).write_bytes(signatures_of(course))
    shutil.copyfile(course.root / FILENAME, package / "received" / FILENAME)


def signatures_of(course: Course) -> bytes:
    """Return the file of the misconceptions' signatures, kept in build/ until something that it depends on changes.

    Raises:
        MisconceptionError: A misconception cannot be built.
        GraderError: A visible test cannot be read.
        OSError: The file cannot be written.
    """
    from grader.engine.failure_matrix import to_json, worker_pool

    path = course.caches / "signatures" / _digest_for_signatures(course)
    if not path.is_file():
        path.parent.mkdir(parents=True, exist_ok=True)
        for outdated in path.parent.iterdir():
            outdated.unlink(missing_ok=True)
        # New processes, in which no module of another course has the names of this one's.
        with worker_pool(os.cpu_count() or 1, _start_worker, course) as pool:
            found = pool.map(partial(_signatures_of_unit, course), course.units)
            write_atomically(path, to_json(one for unit in found for one in unit))
    return path.read_bytes()


def _start_worker(course: Course) -> None:
    from grader.engine.failure_matrix import start_worker

    start_worker()
    sys.path.insert(0, str(course.checks))  # before the folders of other courses that this process inherits


def _signatures_of_unit(course: Course, unit: str) -> list[Signature]:
    """Return the signature of each misconception of a unit that fails a visible test."""
    from grader.engine.criteria import visible_criteria_of_unit
    from grader.engine.failure_matrix import Signature, solution_names
    from grader.testing.misconceptions import build, misconceptions_of
    from grader.testing.student import InProcessBackend

    build(course, [unit])
    solution, criteria = solution_names(course, unit), visible_criteria_of_unit(course, unit)
    found = []
    for one in misconceptions_of(course, unit):
        backend = InProcessBackend(unit, {**solution, one.exercise: one.implementation})
        outcomes = {test.name: test.run(backend) for test in criteria if test.exercise == one.exercise}
        if row := {name: outcome for name, outcome in outcomes.items() if not outcome.passed}:
            found.append(Signature(one.exercise, one.name, one.sentence, row))
    return found


def _digest_for_signatures(course: Course) -> str:
    """Return the digest of what the signatures depend on."""
    total = hashlib.sha256()
    for folder, patterns in (
        (course.suites, ["**/*.py"]),
        (course.solutions, ["*.py"]),
        (course.checks, ["*.py", "*.json"]),
        (PACKAGE, ["engine/*.py", "sandbox/*.py", "testing/*.py"]),
    ):
        total.update(digest(sorted(path for pattern in patterns for path in folder.glob(pattern)), folder))
    return total.hexdigest()[:16]


def is_the_instructors(path: str) -> bool:
    """Return whether a file, by its path in the package, is only for instructors."""
    return path.startswith(tuple(f"{folder}/" for folder in INSTRUCTORS))


def _pyproject(version: str) -> str:
    ours = distribution().metadata
    project = {
        "name": f"{ours['Name']}-student",
        "version": version,
        "description": "The student's part of the grader: the visible tests, the quizzes, and the command `grader`",
        "requires-python": ours["Requires-Python"],
        "dependencies": dependencies(),
        "license": ours["License-Expression"],
    }
    # TOML writes a text or a list of texts as JSON does.
    lines = "\n".join(f"{key} = {json.dumps(value)}" for key, value in project.items())
    return f"""\
[build-system]
requires = ["flit_core>=3.9"]
build-backend = "flit_core.buildapi"
[project]
{lines}
[project.scripts]
grader = "grader.__main__:main"
[tool.flit.module]
name = "grader"
"""
