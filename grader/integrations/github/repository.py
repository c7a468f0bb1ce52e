"""A git repository that students receive: no setting, hook or template of this machine changes it."""

from __future__ import annotations

import re
import shlex
from typing import TYPE_CHECKING

from grader.git import Done, run_git
from grader.integrations.release import ReleaseError

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from pathlib import Path

BRANCH = "main"


class Repository:
    """A git repository with its files in `folder`."""

    def __init__(self, folder: Path, author: Mapping[str, str]) -> None:
        """Take the folder, and who commits as git's environment variables."""
        self.folder = folder
        self._author = author

    def create(self, message: str) -> None:
        """Make a repository of all that is in the folder, with one commit."""
        self._git("init", "--quiet", "--template=", f"--initial-branch={BRANCH}")
        self._git("add", "--force", "--all")
        self._git("commit", "--quiet", "--message", message)

    def staged_apart(self) -> set[str]:
        """Return the files whose staged content is neither that of the latest commit nor that of the folder.

        Raises:
            ReleaseError: There is no commit, or a merge is in progress.
        """
        rows = self._git("status", "--porcelain", "--no-renames", "--untracked-files=no", "-z").split("\0")
        if self._run("rev-parse", "--verify", "--quiet", "HEAD").code:
            raise ReleaseError(f"{self.folder} has no commit yet: commit what is in it, then release again.")
        if any("U" in row[:2] or row[:2] in ("AA", "DD") for row in rows):
            raise ReleaseError(f"{self.folder} is in the midst of a merge: finish that first, with `git commit`.")
        return {row[3:] for row in rows if row and " " not in row[:2]}

    def committed(self, path: str) -> bytes | None:
        """Return the content of a file in the latest commit; None if it is not there."""
        done = self._run("cat-file", "blob", f"HEAD:{path}")
        return None if done.code else done.output

    def commit(self, written: Iterable[str], removed: Iterable[str], message: str) -> bool:
        """Commit these files as the folder has them, and nothing else that is staged or changed.

        If it cannot be done, they are not staged either. Return whether there was anything to commit.
        """
        paths = [*written, *removed]
        try:
            self._git("add", "--force", "--", *written)
            names = self._git("diff", "--name-only", "--no-renames", "-z", "HEAD", "--", *paths).split("\0")
            if changed := [name for name in names if name]:
                self._git("commit", "--quiet", "--only", "--message", message, "--", *changed)
        except BaseException:
            self._run("reset", "--quiet", "--", *paths)
            raise
        return bool(changed)

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

    def _git(self, *arguments: str, may_fail: bool = False) -> str:
        done = self._run(*arguments)
        if done.code and not may_fail:
            # Git's first line says what is wrong; the rest is advice on other things than a release.
            why = re.sub("^(fatal|error): ", "", next(iter(done.error.splitlines()), "it does not say why"))
            if ".lock'" in why:
                why = f"{why.rstrip('.')}: wait for the other git there; if none is running, delete that file."
            raise ReleaseError(f"git {arguments[0]} failed in {self.folder}: {why}")
        return done.output.decode("utf-8", "surrogateescape")

    def _run(self, *arguments: str) -> Done:
        # A repository around this one is never meant, even if this one is broken.
        alone = {"GIT_CEILING_DIRECTORIES": str(self.folder.resolve().parent), "GIT_LITERAL_PATHSPECS": "1"}
        settings = {"commit.gpgSign": "false", "core.autocrlf": "false"}
        return run_git(arguments, self.folder, settings=settings, variables={**alone, **self._author})


def around(folder: Path) -> Path | None:
    """Return the git repository that `folder` lies in, other than its own; None if there is none."""
    return next((parent for parent in folder.resolve().parents if (parent / ".git").exists()), None)


def identity(folder: Path, default: str) -> dict[str, str]:
    """Return who commits in `folder`, as git's environment variables.

    Without a name in the settings of this machine and its user, it is `default`.
    """
    done = run_git(["var", "GIT_AUTHOR_IDENT"], folder, settings={"user.useConfigOnly": "true"}, as_user=True)
    found = re.match(r"(.+) <(.+)> ", done.output.decode("utf-8", "replace"))
    name, email = found.groups() if found and not done.code else (default, "noreply@course.invalid")
    return {
        "GIT_AUTHOR_NAME": name,
        "GIT_AUTHOR_EMAIL": email,
        "GIT_COMMITTER_NAME": name,
        "GIT_COMMITTER_EMAIL": email,
    }


def origin(folder: Path) -> str | None:
    """Return OWNER/NAME of the repository on GitHub that `folder` is pushed to; None if there is none."""
    done = run_git(["remote", "get-url", "origin"], folder, as_user=True)
    address = done.output.decode("utf-8", "replace").strip()
    found = re.search(r"(?:://[^/]+/|^[^/]+:)([\w.-]+/[\w.-]+?)(?:\.git)?/?$", address)
    return found[1] if found else None
