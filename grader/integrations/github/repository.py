"""A git repository that students receive: no setting, hook or filter of it or of this machine counts."""

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
        self._settings = {"commit.gpgSign": "false", "core.autocrlf": "false"}
        # A repository can name filters, which are programs that git would run on files.
        filters = self._line("config", "--null", "--name-only", "--get-regexp", r"^filter\.").split("\0")
        self._settings |= {name: "" for name in filters if name}

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
        # Git would obey the settings of a submodule, too.
        options = ["--porcelain", "--no-renames", "--untracked-files=no", "--ignore-submodules=all", "-z"]
        rows = self._git("status", *options).split("\0")
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
            options = ["--name-only", "--no-renames", "--ignore-submodules=all", "-z"]
            names = self._git("diff", *options, "HEAD", "--", *paths).split("\0")
            if changed := [name for name in names if name]:
                self._git("commit", "--quiet", "--only", "--message", message, "--", *changed)
        except BaseException:
            self._run("reset", "--quiet", "--", *paths)
            raise
        return bool(changed)

    def push(self) -> str:
        """Return the command that pushes the latest commit. Words in capitals are for the user to replace."""
        branch, remotes = self._line("symbolic-ref", "--quiet", "--short", "HEAD"), self._line("remote").split()
        remote, merge = (self._line("config", "--get", f"branch.{branch}.{key}") for key in ("remote", "merge"))
        if branch and merge and remote in remotes:
            same = merge == f"refs/heads/{branch}"
            return "git push" if same else f"git push {shlex.quote(remote)} {shlex.quote(f'HEAD:{merge}')}"
        to = shlex.quote(next((name for name in ("origin", *remotes) if name in remotes), "ADDRESS"))
        if not branch:
            return f"git push {to} HEAD:refs/heads/BRANCH"
        return f"git push {'--set-upstream ' if remotes else ''}{to} {shlex.quote(branch)}"

    def _line(self, *arguments: str) -> str:
        """Return what git prints, "" if it fails."""
        return self._run(*arguments).output.decode("utf-8", "surrogateescape").strip()

    def _git(self, *arguments: str) -> str:
        done = self._run(*arguments)
        if done.code:
            # Git's first line says what is wrong; the rest is advice on other things than a release.
            why = re.sub("^(fatal|error): ", "", next(iter(done.error.splitlines()), "it does not say why"))
            if ".lock'" in why:
                why = f"{why.rstrip('.')}: wait for the other git there; if none is running, delete that file."
            raise ReleaseError(f"git {arguments[0]} failed in {self.folder}: {why}")
        return done.output.decode("utf-8", "surrogateescape")

    def _run(self, *arguments: str) -> Done:
        # A repository around this one is never meant, even if this one is broken.
        alone = {"GIT_CEILING_DIRECTORIES": str(self.folder.resolve().parent), "GIT_LITERAL_PATHSPECS": "1"}
        return run_git(arguments, self.folder, settings=self._settings, variables={**alone, **self._author})


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
