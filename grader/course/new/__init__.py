"""`grader new`: a small working course to start from, and the files of a new unit or exercise."""

from __future__ import annotations

import datetime
import json
import keyword
from collections.abc import Collection, Mapping
from pathlib import Path
from string import Template
from typing import Any

import yaml

from grader.course.model import FILENAME, Course, load_course
from grader.course.modules import shown
from grader.course.new.from_solution import visible_and_hidden
from grader.errors import GraderError
from grader.files import temporary_folder, write_atomically
from grader.machine import RUNNING
from grader.submissions.submission import CHECKS, FOLDER

TO_DO = "TODO (author)"
"""Marks a place in a course's source that its author must still write."""

_TEMPLATES = Path(__file__).with_name("templates")
# Runs the examples of the suites' contracts.
_CONTRACT_TESTS = """

from grader.testing.visible_contracts import contract_tests  # noqa: E402

test_contract = contract_tests(__file__)
"""
_ONE_WEEK = datetime.timedelta(weeks=1)


class NewError(GraderError):
    """Nothing was written; the text says why and what to do."""


def new_course(folder: Path, title: str) -> list[Path]:
    """Write a small working course: one unit, two exercises, a quiz and misconceptions.

    Args:
        folder: The course's folder, which is empty or does not exist.
        title: The course's title.

    Returns:
        The files.

    Raises:
        NewError: The folder is not empty.
        OSError: A file cannot be written.
    """
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise NewError(f"{folder} is not empty: name a folder that is empty or does not exist.")
    target = folder.absolute()
    target.parent.mkdir(parents=True, exist_ok=True)
    with temporary_folder(target.parent, f".{target.name}.") as outer:
        staging = outer / "course"
        values = {"title": title, "quoted_title": json.dumps(title), "python": RUNNING}
        for relative, text in _filled("course", **values).items():
            path = staging / relative
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")
        if target.exists():
            target.rmdir()
        staging.replace(target)
    return sorted(path for path in folder.rglob("*") if path.is_file())


def new_unit(course: Course, unit: str, title: str) -> list[Path]:
    """Write the files of a new unit with one exercise, `example_of_<unit>`, which its author renames.

    Raises:
        NewError: The name is not valid or not new, or a file exists.
        OSError: A file cannot be written.
    """
    exercise = f"example_of_{unit}"
    for name in (unit, exercise):
        _require_new(course, name)
    due = max(one.due for one in course.units.values()) + _ONE_WEEK
    block = (
        f"{unit}:\n  title: {json.dumps(title)}\n  due: {due.isoformat()}  # {TO_DO}: set the date\n  quiz: 1\n"
        f"  exercises:\n    {exercise}: 1\n"
    )
    files = _with_exercise(_located(course, _filled("unit", unit=unit, title=title)), course, unit, exercise)
    return _written(course, files | {course.root / FILENAME: _inserted(course, ("units",), block)})


def new_exercise(course: Course, unit: str, exercise: str) -> list[Path]:
    """Write the files of a new exercise: what follows from its solution, or else a working example to replace.

    Raises:
        NewError: The name is not valid or not new, or a file exists.
        SolutionError: The unit defines the exercise, but not its rules.
        OSError: A file cannot be written.
    """
    _require_new(course, exercise)
    existing = {}
    source, checks = course.solutions / f"{unit}.py", course.exercises / CHECKS / f"test_{unit}.py"
    for path in (source, checks):
        if not path.is_file():
            raise NewError(f"{shown(path)} is missing: the unit {unit} needs it.")
        existing[path] = path.read_text(encoding="utf-8").rstrip("\n") + "\n"
    if written := visible_and_hidden(source, exercise):
        visible, suite = written
        files = {checks: existing[checks] + visible, course.suites / unit / f"{exercise}.py": suite}
        if "test_contract = " in suite and "Example(" in suite and "contract_tests(" not in existing[checks]:
            files[checks] = f"{files[checks]}{_CONTRACT_TESTS}"
    else:
        files = _with_exercise(existing, course, unit, exercise)
    files[course.root / FILENAME] = _inserted(course, ("units", unit, "exercises"), f"{exercise}: 1\n")
    return _written(course, files, existing)


def to_do(course: Course, exercise: str | None = None) -> list[str]:
    """Return a line for each place that an author must still write: the file, the line and what to do.

    exercise: Only the places in the files that this exercise is in; by default all.
    """
    folders = (course.solutions, course.suites, course.exercises)
    paths = [course.root / FILENAME, *(path for folder in folders for path in sorted(folder.rglob("*")))]
    stems = {exercise, unit := course.unit_of[exercise], f"test_{unit}"} if exercise else ()
    generated = {course.exercises / f"{unit}.py" for unit in course.units}
    spaces_and_quotes = ' "'
    return [
        f"{shown(path)}:{number}: {line[line.index(TO_DO) :].strip(spaces_and_quotes)}"
        for path in paths
        if path.suffix in (".py", ".yml") and path not in generated and (not stems or path.stem in stems)
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), start=1)
        if TO_DO in line
    ]


def _require_new(course: Course, name: str) -> None:
    if not name.isidentifier() or keyword.iskeyword(name) or name.startswith("_"):
        raise NewError(f"{name!r} cannot be a name: use letters, digits and _, and begin with a letter.")
    if name.startswith("test_"):
        raise NewError(f"pytest would run {name} as a test: choose a name that does not begin with test_.")
    known = [*course.units, *(one for unit in course.units.values() for one in unit.exercises)]
    if name.casefold() in map(str.casefold, known):
        raise NewError(f"The course already has {name!r}: choose another name.")


def _filled(template: str, **values: str) -> dict[str, str]:
    """Return the files of a template by relative path, with the values in their names and texts."""
    folder = _TEMPLATES / template
    filled = {}
    for source in sorted(path for path in folder.rglob("*") if path.is_file() and path.suffix != ".pyc"):
        name = Template(source.relative_to(folder).as_posix().removesuffix(".template"))
        text = Template(source.read_text(encoding="utf-8"))
        filled[name.substitute(values)] = text.substitute(values)
    return filled


def _located(course: Course, files: Mapping[str, str]) -> dict[Path, str]:
    """Return files by their paths in the course."""
    folders = {"solutions": course.solutions, FOLDER: course.exercises, "suites": course.suites}
    parts = {path: path.split("/", 1) for path in files}
    return {folders[folder] / relative: files[path] for path, (folder, relative) in parts.items()}


def _with_exercise(files: Mapping[Path, str], course: Course, unit: str, exercise: str) -> dict[Path, str]:
    """Return the files with those of a new exercise, which is appended where there is a text already."""
    title = exercise.replace("_", " ").capitalize()
    added = _located(course, _filled("exercise", unit=unit, exercise=exercise, title=title))
    return {**files, **{path: files.get(path, "") + text for path, text in added.items()}}


def _inserted(course: Course, keys: tuple[str, ...], block: str) -> str:
    """Return autograder.yml with a block at the end of the mapping under these keys, otherwise unchanged."""
    path = course.root / FILENAME
    text = path.read_text(encoding="utf-8")
    node: Any = yaml.compose(text, Loader=yaml.SafeLoader)
    for key in keys:
        node = next(value for name, value in node.value if name.value == key)
    if node.flow_style:
        raise NewError(f"{FILENAME}:{node.start_mark.line + 1}: write {keys[-1]} with one entry on each line.")
    column = node.value[0][0].start_mark.column
    lines = text.splitlines(keepends=True)
    last = max(_last_line(value) for _, value in node.value)
    lines[last] = lines[last].rstrip("\n") + "\n"
    separator = "\n" if len(keys) == 1 else ""
    lines.insert(last + 1, separator + "".join(f"{' ' * column}{line}\n" for line in block.splitlines()))
    return "".join(lines)


def _last_line(node: yaml.Node) -> int:
    """Return the number of the last line of a node, from 0."""
    if isinstance(node, yaml.CollectionNode) and not node.flow_style:
        children = [one for pair in node.value for one in (pair if isinstance(pair, tuple) else (pair,))]
        return max(map(_last_line, children))
    return node.end_mark.line


def _written(course: Course, files: Mapping[Path, str], existing: Collection[Path] = ()) -> list[Path]:
    """Write the files and check the course. Only autograder.yml and the files in `existing` may already exist."""
    for path in files:
        if path.exists() and path not in (course.root / FILENAME, *existing):
            raise NewError(f"{shown(path)} already exists: rename it, or choose another name.")
    for path, text in files.items():
        path.parent.mkdir(parents=True, exist_ok=True)
        write_atomically(path, text)
    load_course(course.root)
    return sorted(files)
