"""The grader's dependencies, and the versions of them that a course was tested with."""

from __future__ import annotations

import importlib.metadata
import re
from typing import TYPE_CHECKING

from packaging.requirements import Requirement

from grader.integrations.release import ReleaseError

if TYPE_CHECKING:
    from grader.course.model import Course

LOCK = "requirements.lock"
"""The file in the course's folder with the versions to install. Without it, the versions installed here count."""


def distribution() -> importlib.metadata.Distribution:
    """Return the distribution that the grader was installed as. Raises ReleaseError."""
    name = next(iter(importlib.metadata.packages_distributions().get(__package__.partition(".")[0], ())), None)
    if name is None:
        raise ReleaseError("A release needs the grader to be installed: run `pip install` with its wheel or folder.")
    return importlib.metadata.distribution(name)


def dependencies() -> list[str]:
    """Return the grader's requirements, without those of its extras."""
    return [one for one in distribution().requires or () if "extra" not in str(Requirement(one).marker)]


def pins(course: Course) -> dict[str, str]:
    """Return the line `name==version` of each dependency of the grader, direct or not, by name."""
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
    return {name: found[name] for name in sorted(found)}


def _canonical(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name.strip()).lower()
