"""A git repository that holds what we put there, to the byte: no setting, hook, filter or template has a say in it."""

from __future__ import annotations

import os
import re
import subprocess
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

from grader.release import ReleaseError

BRANCH = "main"


class Author(NamedTuple):
    name: str
    email: str


class Repository:
    """A git repository with its files in `folder`."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    @classmethod
    def create(cls, folder: Path) -> Repository:
        repository = cls(folder)
        repository._git("init", "--quiet", "--template=", f"--initial-branch={BRANCH}")
        return repository

    def committed(self) -> dict[str, str]:
        """The files of the latest commit: the object of each."""
        rows = self._git("ls-tree", "-r", "-z", "HEAD").split("\0")
        return {path: about.split()[2] for about, _, path in (row.partition("\t") for row in rows if row)}

    def staged(self) -> dict[str, str]:
        """The files that the next commit would hold: the object of each. Raises ReleaseError in a merge."""
        rows = [row.partition("\t") for row in self._git("ls-files", "--stage", "-z").split("\0") if row]
        if any(about.split()[2] != "0" for about, _, _ in rows):
            raise ReleaseError(f"{self.folder} is in the midst of a merge: finish that first, with `git commit`.")
        return {path: about.split()[1] for about, _, path in rows}

    def name_of(self, content: bytes, write: bool = False) -> str:
        """The object that holds this content; with `write`, it is there from now on."""
        options = ["-w"] if write else []
        return self._git("hash-object", "--no-filters", "--stdin", *options, content=content).strip()

    def commit(self, changes: Mapping[str, bytes | None], message: str, author: Author) -> None:
        """A commit of these changes alone, None for a file that goes. What else is staged stays so."""
        objects = {path: None if content is None else self.name_of(content, True) for path, content in changes.items()}
        parent = self._git("rev-parse", "--verify", "--quiet", "HEAD", may_fail=True).strip()
        with tempfile.TemporaryDirectory() as folder:
            index = {"GIT_INDEX_FILE": str(Path(folder, "index"))}
            self._git("read-tree", parent or "--empty", variables=index)
            self.stage(objects, variables=index)
            tree = self._git("write-tree", variables=index).strip()
        parents = ["-p", parent] if parent else []
        who = {f"GIT_{role}_{key}": value for role in ("AUTHOR", "COMMITTER") for key, value in _who(author).items()}
        commit = self._git("commit-tree", tree, *parents, "-m", message, variables=who).strip()
        self._git("update-ref", "-m", message, "HEAD", commit, parent, variables=who)
        self.stage(objects)

    def stage(self, objects: Mapping[str, str | None], variables: Mapping[str, str] | None = None) -> None:
        """Has the next commit hold these objects, None for a file that goes, whatever is in the folder."""
        absent = "0" * len(self._git("hash-object", "--stdin", content=b"").strip())
        rows = [f"0 {absent}\t{path}" if name is None else f"100644 {name}\t{path}" for path, name in objects.items()]
        self._git("update-index", "-z", "--index-info", content="\0".join(rows).encode(), variables=variables)

    def _git(
        self, *arguments: str, content: bytes = b"", may_fail: bool = False, variables: Mapping[str, str] | None = None
    ) -> str:
        """What git prints. The settings of this machine and its user do not count."""
        # The repository's own settings do; so those that would run a program are taken from it.
        settings = ["-c", f"core.hooksPath={os.devnull}", "-c", "core.fsmonitor=false"]
        clean = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}
        alone = {"GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_NOSYSTEM": "1", "LC_ALL": "C"}
        # A repository around this one is never meant, even where this one is broken.
        alone["GIT_CEILING_DIRECTORIES"] = str(self.folder.resolve().parent)
        done = run_git([*settings, *arguments], self.folder, {**clean, **alone, **(variables or {})}, content)
        if done.returncode and not may_fail:
            said = done.stderr.decode("utf-8", "replace").strip()
            raise ReleaseError(f"git {arguments[0]} failed in {self.folder}: {said}")
        return done.stdout.decode("utf-8", "surrogateescape")


def identity(folder: Path) -> Author | None:
    """Who commits in `folder` by the settings of this machine and its user; None where they name nobody."""
    done = run_git(["-c", "user.useConfigOnly=true", "var", "GIT_AUTHOR_IDENT"], folder)
    found = re.match(r"(.+) <(.+)> ", done.stdout.decode("utf-8", "replace"))
    return Author(*found.groups()) if found and not done.returncode else None


def origin(folder: Path) -> str | None:
    """OWNER/NAME of the repository on GitHub that `folder` is pushed to; None where there is none."""
    done = run_git(["remote", "get-url", "origin"], folder)
    address = done.stdout.decode("utf-8", "replace").strip()
    found = re.search(r"(?:://[^/]+/|^[^/]+:)([\w.-]+/[\w.-]+?)(?:\.git)?/?$", address)
    return found[1] if found else None


def run_git(
    arguments: list[str], folder: Path, environment: Mapping[str, str] | None = None, content: bytes = b""
) -> subprocess.CompletedProcess[bytes]:
    """Git, run in a folder. Raises ReleaseError where it is not installed."""
    try:
        return subprocess.run(
            ["git", *arguments], cwd=folder, env=environment, input=content, capture_output=True, check=False
        )
    except FileNotFoundError:
        raise ReleaseError("git is not installed: install it, for a release needs it.") from None


def _who(author: Author) -> dict[str, str]:
    return {"NAME": author.name, "EMAIL": author.email}
