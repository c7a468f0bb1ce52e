"""What both sides of a cluster must have in the same version."""

from __future__ import annotations

from importlib.metadata import version
from typing import TYPE_CHECKING

from grader import __version__
from grader.course.model import FILENAME
from grader.files import PACKAGE, digest

if TYPE_CHECKING:
    from collections.abc import Mapping

    from grader.course.model import Course

_SHOWN = 12


def installed(course: Course) -> dict[str, str]:
    """Return the versions of the grader, the course and torch, by name; those of files with their digest.

    The digests depend on contents and relative names, not on the folder that the grader or the course is in.
    """
    suites = course.suites.resolve()
    grader = [path for kind in ("*.py", "*.ini") for path in PACKAGE.rglob(kind) if suites not in path.parents]
    # Misconceptions are made from the solutions.
    files = [*sorted(course.suites.rglob("*.py")), *sorted(course.solutions.glob("*.py"))]
    return {
        "grader": f"{__version__} ({digest(sorted(grader), PACKAGE).hex()[:_SHOWN]})",
        "course": f"{course.version} ({digest([course.root / FILENAME, *files], course.root).hex()[:_SHOWN]})",
        "torch": version("torch"),
    }


def differences(needed: Mapping[str, str], found: Mapping[str, str]) -> list[str]:
    """Return words for each part of `needed` that is `found` in another version."""
    return [
        f"its {name} is {found.get(name, 'unknown')}, and this machine's is {needed[name]}"
        for name in needed
        if found.get(name) != needed[name]
    ]
