"""The instructor's repository, those of students as released from it, and what students push to them."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Mapping
from pathlib import Path

import courses
from actions import Hosted
from courses import REPOSITORY
from rendered import GRADER
from runner import Push

from grader.course.model import load_course
from grader.integrations.github.release import release_github
from grader.integrations.release import GradingMode

KEY = "-----BEGIN OPENSSH PRIVATE KEY-----\nthe only way into the grader\n-----END OPENSSH PRIVATE KEY-----\n"


def git(folder: Path, *arguments: str) -> str:
    who = ["-c", "user.name=Ada", "-c", "user.email=ada@example.org", "-c", "init.defaultBranch=main"]
    return subprocess.run(
        ["git", *who, *arguments], cwd=folder, check=True, capture_output=True, text=True
    ).stdout.strip()


def make_instructors(folder: Path) -> Path:
    """A clean checkout of the instructor's repository, which has its place on the server as its origin."""
    courses.copy_course(folder)
    for name in ("Makefile", "pyproject.toml", "requirements.lock", "README.md", "LICENSE", ".gitignore"):
        shutil.copy2(REPOSITORY / name, folder)
    shutil.copytree(REPOSITORY / ".github", folder / ".github")
    git(folder, "init")
    git(folder, "remote", "add", "origin", f"git@github.com:{GRADER}.git")
    commit_all(folder)
    return folder


def host(checkout: Path, bare: Path, key: str | None = None) -> Hosted:
    """A repository of the server, with what is in the checkout."""
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
    """A student's clone, these files in it, a commit of all and a push."""
    git(clone.parent, "clone", "--quiet", str(hosted.bare), str(clone))
    for path, content in files.items():
        (clone / path).parent.mkdir(parents=True, exist_ok=True)
        (clone / path).write_bytes(content)
    git(clone, "add", "--force", ".")
    git(clone, "commit", "--quiet", "--allow-empty", "--message", message)
    git(clone, "push", "--quiet", "origin", f"HEAD:{ref}")
    return Push(repository, git(clone, "rev-parse", "HEAD"), ref, actor, message)


def answers(folder: Path) -> dict[str, bytes]:
    """Those of one of the example class, where the course's repository has them."""
    return {f"exercises/{path.name}": path.read_bytes() for path in sorted((folder / "exercises").iterdir())}


def commit_all(checkout: Path) -> None:
    """A commit of the folder as it is."""
    git(checkout, "add", "--all", ".")
    git(checkout, "commit", "--quiet", "--allow-empty", "--message", "The course")
