"""The instructor's repository, the students' repositories released from it, and students' pushes."""

from __future__ import annotations

import shutil
from collections.abc import Mapping
from pathlib import Path

import courses
from actions import Hosted
from courses import REPOSITORY
from local_github import git
from rendered import GRADER
from runner import Push

from grader.course.model import load_course
from grader.integrations.github.github_release import release_github
from grader.integrations.release import GradingMode

KEY = "-----BEGIN OPENSSH PRIVATE KEY-----\nthe only way into the grader\n-----END OPENSSH PRIVATE KEY-----\n"


def make_instructors(folder: Path) -> Path:
    """Make a clean checkout of the instructor's repository, with an origin on the server."""
    courses.copy_course(folder)
    courses.leave_out_signatures(folder)
    needed = ("Makefile", "install.py", "pyproject.toml", "setup.py", "requirements.lock", "README.md", "LICENSE")
    for name in (*needed, ".gitignore"):
        shutil.copy2(REPOSITORY / name, folder)
    shutil.copytree(REPOSITORY / ".github", folder / ".github")
    git(folder, "init")
    git(folder, "remote", "add", "origin", f"git@github.com:{GRADER}.git")
    commit_all(folder)
    return folder


def host(checkout: Path, bare: Path, key: str | None = None) -> Hosted:
    """Put a checkout on the server."""
    git(checkout, "clone", "--quiet", "--bare", str(checkout), str(bare))
    return Hosted(bare, key)


def release(instructors: Path, folder: Path, mode: GradingMode) -> Path:
    release_github(folder, load_course(instructors), mode)
    return folder


def hand_in(
    hosted: Hosted,
    clone: Path,
    repository: str,
    files: Mapping[str, bytes],
    ref: str = "refs/heads/main",
    message: str = "My answers",
    actor: str = "somebody-else",
) -> Push:
    """Clone a student's repository, write these files, commit and push."""
    git(clone.parent, "clone", "--quiet", str(hosted.bare), str(clone))
    for path, content in files.items():
        (clone / path).parent.mkdir(parents=True, exist_ok=True)
        (clone / path).write_bytes(content)
    git(clone, "add", "--force", ".")
    git(clone, "commit", "--quiet", "--allow-empty", "--message", message)
    git(clone, "push", "--quiet", "origin", f"HEAD:{ref}")
    return Push(repository, git(clone, "rev-parse", "HEAD"), ref, actor, message)


def answers(folder: Path) -> dict[str, bytes]:
    """Return the answers of a student of the example class, at their paths in the course's repository."""
    return {f"exercises/{path.name}": path.read_bytes() for path in sorted((folder / "exercises").iterdir())}


def commit_all(checkout: Path) -> None:
    """Commit the whole folder."""
    git(checkout, "add", "--all", ".")
    git(checkout, "commit", "--quiet", "--allow-empty", "--message", "The course")
