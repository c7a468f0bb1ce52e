"""Reports what this machine has and lacks for grading."""

from __future__ import annotations

import importlib.metadata
import platform
from dataclasses import dataclass
from pathlib import Path

from grader.course.left_out import describe_left_out
from grader.course.model import find_course
from grader.course.root import RECEIVED
from grader.documents import CourseError
from grader.sandbox import lockdown, users

USED_BY_STUDENTS = ("torch", "numpy", "pytest", "pytest-json-report", "pydantic")
PACKAGES = (*USED_BY_STUDENTS, "jupytext", "nbgrader")
WHAT_LAYERS_DO = {
    "limits": "bounds memory, processor time and files",
    "no_new_privileges": "no program can raise its rights",
    "seccomp": "refuses files, processes and sockets",
    "landlock": "refuses files once more, by other means",
    "user": "student code runs as another user",
    "own_user": "each process has a user id of its own",
}


@dataclass(frozen=True)
class Layer:
    """One layer of isolation. fix: what to do if it does not work here."""

    name: str
    purpose: str
    is_needed: bool
    fix: str | None


def versions() -> dict[str, str]:
    """Return the versions of Python and the packages that grading uses, or 'not installed'."""
    found = {"python": platform.python_version(), "platform": platform.platform()}
    for package in PACKAGES if not RECEIVED.is_dir() else USED_BY_STUDENTS:
        try:
            found[package] = importlib.metadata.version(package)
        except importlib.metadata.PackageNotFoundError:
            found[package] = "not installed"
    return found


def course_notes(named: Path | None) -> list[str]:
    """Return what autograder.yml leaves out of the solutions, or its errors. On a student's machine there are none."""
    try:
        return describe_left_out(find_course(named))
    except CourseError as error:
        return str(error).split("\n")


def layers() -> list[Layer]:
    """Try every layer on this machine."""
    missing = lockdown.missing_layers()
    purposes = {**WHAT_LAYERS_DO, "own_user": f"{WHAT_LAYERS_DO['own_user']} ({users.id_range_text()})"}
    return [Layer(name, purposes[name], name in lockdown.NEEDED, missing.get(name)) for name in lockdown.LAYERS]
