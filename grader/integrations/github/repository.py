"""A git repository that holds what we put there, to the byte: no setting, hook, filter or template has a say in it."""

from __future__ import annotations

import contextlib
import re
import shlex
import shutil
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from grader.git import run_git
from grader.integrations.release import ReleaseError

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

BRANCH = "main"


class Author(NamedTuple):
    """Who commits."""

    name: str
    email: str


class Repository:
    """A git repository with its files in `folder`."""

    def __init__(self, folder: Path) -> None:
        """Take the folder of the repository and its files."""
        self.folder = folder

    @classmethod
    def create(cls, folder: Path) -> Repository:
        """Make a repository in a folder."""
        repository = cls(folder)
        repository._git("init", "--quiet", "--template=", f"--initial-branch={BRANCH}")
        return repository

    @contextlib.contextmanager
    def locked(self) -> Iterator[None]:
        """Keep other git programs from staging or committing. Raises ReleaseError where one is running."""
        lock = self._own("index.lock")
        try:
            lock.open("x").close()
        except FileExistsError:
            raise ReleaseError(
                f"Another git is at work in {self.folder}, or was stopped there: wait for it, or delete {lock}."
            ) from None
        try:
            yield
        finally:
            lock.unlink(missing_ok=True)

    def committed(self) -> dict[str, str]:
        """Return the object of each file of the latest commit. Raises ReleaseError where there is no commit."""
        if not self._head():
            raise ReleaseError(f"{self.folder} has no commit yet: commit what is in it, then release again.")
        rows = self._git("ls-tree", "-r", "-z", "HEAD").split("\0")
        return {path: about.split()[2] for about, _, path in (row.partition("\t") for row in rows if row)}

    def staged(self) -> dict[str, str]:
        """Return the object of each file of the next commit. Raises ReleaseError in a merge."""
        rows = [row.partition("\t") for row in self._git("ls-files", "--stage", "-z").split("\0") if row]
        if any(about.split()[2] != "0" for about, _, _ in rows):
            raise ReleaseError(f"{self.folder} is in the midst of a merge: finish that first, with `git commit`.")
        return {path: about.split()[1] for about, _, path in rows}

    def content(self, name: str) -> bytes:
        """Return the content of an object."""
        return self._git("cat-file", "blob", name).encode("utf-8", "surrogateescape")

    def commit(self, changes: Mapping[str, bytes | None], message: str, author: Author) -> bool:
        """Stage these changes, None for a file that goes, and commit nothing else.

        What else is staged stays so. If it cannot be done, nothing changes. Return whether a commit was needed.
        """
        objects = {path: None if content is None else self._write(content) for path, content in changes.items()}
        parent, index = self._head(), self._own("index")
        # Beside the index, to take its place at once: git itself would not touch it while it is locked, even by us.
        with tempfile.TemporaryDirectory(dir=index.parent) as folder:
            alone, new, old = (Path(folder, name) for name in ("alone", "new", "old"))
            self._git("read-tree", parent or "--empty", variables={"GIT_INDEX_FILE": str(alone)})
            self._stage(objects, alone)
            tree = self._git("write-tree", variables={"GIT_INDEX_FILE": str(alone)}).strip()
            if index.exists():
                shutil.copyfile(index, new)
                shutil.copyfile(index, old)
            self._stage(objects, new)
            if parent and tree == self._git("rev-parse", f"{parent}^{{tree}}").strip():
                staged = self.staged()
                if any(staged.get(path) != name for path, name in objects.items()):
                    new.replace(index)
                return False
            names = {"NAME": author.name, "EMAIL": author.email}
            who = {f"GIT_{role}_{key}": text for role in ("AUTHOR", "COMMITTER") for key, text in names.items()}
            parents = ["-p", parent] if parent else []
            commit = self._git("commit-tree", tree, *parents, "-m", message, variables=who).strip()
            # The commit comes last: whatever stops us before it, the next release finds the same to do.
            try:
                new.replace(index)
                self._git("update-ref", "-m", message, "HEAD", commit, parent, variables=who)
            except BaseException:
                if old.exists():
                    old.replace(index)
                else:
                    index.unlink(missing_ok=True)
                raise
        return True

    def push(self) -> str:
        """Return the command that pushes the latest commit; in capitals, what only the user can know."""
        branch = self._git("symbolic-ref", "--quiet", "--short", "HEAD", may_fail=True).strip()
        remotes = self._git("remote", may_fail=True).split()
        remote, merge = (
            self._git("config", "--get", f"branch.{branch}.{key}", may_fail=True).strip() for key in ("remote", "merge")
        )
        if branch and merge and remote in remotes:
            same = merge == f"refs/heads/{branch}"
            return "git push" if same else f"git push {shlex.quote(remote)} {shlex.quote(f'HEAD:{merge}')}"
        to = shlex.quote(next((name for name in ("origin", *remotes) if name in remotes), "ADDRESS"))
        if not branch:
            return f"git push {to} HEAD:refs/heads/BRANCH"
        return f"git push {'--set-upstream ' if remotes else ''}{to} {shlex.quote(branch)}"

    def _head(self) -> str:
        """Return the latest commit; "" where there is none."""
        return self._git("rev-parse", "--verify", "--quiet", "HEAD", may_fail=True).strip()

    def _own(self, name: str) -> Path:
        """Return where git keeps a file of its own."""
        return Path(self.folder, self._git("rev-parse", "--git-path", name).rstrip("\n")).absolute()

    def _write(self, content: bytes) -> str:
        """Store this content and return its object."""
        return self._git("hash-object", "--no-filters", "--stdin", "-w", content=content).strip()

    def _stage(self, objects: Mapping[str, str | None], index: Path) -> None:
        """Make an index hold these objects, None for a file that goes, whatever is in the folder."""
        absent = "0" * len(self._git("hash-object", "--stdin", content=b"").strip())
        rows = [f"0 {absent}\t{path}" if name is None else f"100644 {name}\t{path}" for path, name in objects.items()]
        variables = {"GIT_INDEX_FILE": str(index)}
        self._git("update-index", "-z", "--index-info", content="\0".join(rows).encode(), variables=variables)

    def _git(
        self, *arguments: str, content: bytes = b"", may_fail: bool = False, variables: Mapping[str, str] | None = None
    ) -> str:
        # A repository around this one is never meant, even where this one is broken.
        alone = {"GIT_CEILING_DIRECTORIES": str(self.folder.resolve().parent)}
        done = run_git(arguments, self.folder, content, variables={**alone, **(variables or {})})
        if done.code and not may_fail:
            # Git's first line says what is wrong; the rest is advice on other things than a release.
            why = next(iter(done.error.splitlines()), "it does not say why").removeprefix("fatal: ")
            raise ReleaseError(f"git {arguments[0]} failed in {self.folder}: {why}")
        return done.output.decode("utf-8", "surrogateescape")


def around(folder: Path) -> Path | None:
    """Return the git repository that `folder` lies in, other than its own; None where there is none."""
    return next((parent for parent in folder.resolve().parents if (parent / ".git").exists()), None)


def identity(folder: Path) -> Author | None:
    """Return who commits in `folder` by the settings of this machine and its user; None where they name nobody."""
    done = run_git(["var", "GIT_AUTHOR_IDENT"], folder, settings={"user.useConfigOnly": "true"}, as_user=True)
    found = re.match(r"(.+) <(.+)> ", done.output.decode("utf-8", "replace"))
    return Author(*found.groups()) if found and not done.code else None


def origin(folder: Path) -> str | None:
    """Return OWNER/NAME of the repository on GitHub that `folder` is pushed to; None where there is none."""
    done = run_git(["remote", "get-url", "origin"], folder, as_user=True)
    address = done.output.decode("utf-8", "replace").strip()
    found = re.search(r"(?:://[^/]+/|^[^/]+:)([\w.-]+/[\w.-]+?)(?:\.git)?/?$", address)
    return found[1] if found else None
