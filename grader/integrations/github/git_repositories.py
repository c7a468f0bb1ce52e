"""Git repositories of students: one to release into, and commits of theirs that are written as plain files.

No setting, hook or filter of a repository or of this machine counts. Commits are fetched and read as objects, and never
checked out, so attributes, submodules and links of the student have no effect. Only files that a grader reads are
written.
"""

from __future__ import annotations

import base64
import contextlib
import datetime
import os
import re
import shlex
import tempfile
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import IO
from urllib.parse import urlsplit

from grader.git import Done, run_git
from grader.integrations.github.api import TOKEN
from grader.integrations.release import ReleaseError
from grader.submissions.reader import COMMIT
from grader.submissions.submission import FOLDER
from grader.submissions.tree import MEGABYTE

BRANCH = "main"

FILE_LIMIT = 64 * MEGABYTE
"""The largest file that the grader reads. Larger files are written with their size and no content."""
TOTAL_LIMIT = 4 * FILE_LIMIT
MOST_ENTRIES = 1000
"""The most entries of a folder that are read."""
_LISTING_LIMIT = 4 * MEGABYTE
_PAUSE = 2.0
_WRITTEN = (".py", ".ipynb", ".md", ".yml")
_NAME = re.compile(r"\w[\w.() +-]{0,59}")
_ENTRY = re.compile(rb"(\d{6}) \w+ ([0-9a-f]+) +(\d+|-)\t(.+)", re.DOTALL)
_KINDS = {"040000": "folder", "120000": "link", "160000": "submodule"}
_COMMITTER = re.compile(rb"^committer .*> (-?\d{1,12}) [+-]\d+$", re.MULTILINE)


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


class FetchError(Exception):
    """A repository or a commit cannot be fetched; the text is one sentence."""


class Store:
    """Commits of one repository, fetched one by one into a new bare repository at `folder`."""

    def __init__(self, folder: Path, server: str, repository: str, token: str | None) -> None:
        """Make the bare repository for OWNER/NAME on `server`."""
        self._folder = folder
        self._repository = repository
        self._url = f"{server}/{repository}.git"
        self._variables = {"GIT_ALLOW_PROTOCOL": urlsplit(server).scheme or "file"}
        self._settings: dict[str, str] = {}
        if token:
            signed = base64.b64encode(f"x-access-token:{token}".encode()).decode()
            self._settings[f"http.{server}/.extraHeader"] = f"Authorization: Basic {signed}"
        self._fetched: dict[str, bool] = {}
        folder.mkdir(parents=True, exist_ok=True)
        run_git(["init", "--quiet", "--bare", "--template="], folder)

    def head(self) -> str | None:
        """Return the commit of the default branch; None if the repository is empty. Raises FetchError."""
        done = self._from_server("ls-remote", self._url, "HEAD")
        if done.code:
            raise FetchError(
                f"{self._repository} cannot be read with git: let the token in {TOKEN} read the contents of the "
                "repository."
            )
        commit = done.output[:1000].partition(b"\t")[0].decode("ascii", "replace")
        return commit if COMMIT.fullmatch(commit) else None

    def fetch(self, commit: str) -> None:
        """Fetch this commit without its parents. Raises FetchError."""
        if commit not in self._fetched:
            options = ["--quiet", "--depth=1", "--no-tags", "--no-write-fetch-head", "--no-recurse-submodules"]
            wanted = ["fetch", *options, "--", self._url, commit]
            self._fetched[commit] = bool(COMMIT.fullmatch(commit)) and not self._from_server(*wanted).code
        if not self._fetched[commit]:
            raise FetchError(
                f"The commit {commit[:12]} of {self._repository} cannot be fetched: it is gone from GitHub, or too "
                "large. Look for it there; what is gone, GitHub's support may still have."
            )

    def committed(self, commit: str) -> datetime.datetime | None:
        """Return the date in the commit, which its author chose; None if it is no date."""
        header = self._printed(["cat-file", "commit", commit], MEGABYTE).partition(b"\n\n")[0]
        found = _COMMITTER.search(header)
        with contextlib.suppress(OverflowError, ValueError, OSError):
            return datetime.datetime.fromtimestamp(int(found[1]), datetime.UTC) if found else None
        return None

    def names(self, commit: str, folder: str) -> list[str]:
        """Return the names of the files in a folder of the commit."""
        return [name for name, kind, _, _ in self._entries(commit, folder) if kind != "folder"]

    def read(self, commit: str, paths: Iterable[str], limit: int) -> dict[str, bytes]:
        """Return the content of each file that exists, but b"" if it is larger than `limit` bytes.

        The paths must not contain newlines.
        """
        wanted = list(paths)
        lines = "".join(f"{commit}:{path}\n" for path in wanted)
        command = ["cat-file", "--batch-check=%(objecttype) %(objectsize) %(objectname)"]
        answers = self._printed(command, _LISTING_LIMIT, lines).decode("utf-8", "replace").splitlines()
        found = {}
        for path, answer in zip(wanted, answers, strict=False):
            kind, _, rest = answer.partition(" ")
            size, _, name = rest.partition(" ")
            if kind == "blob" and size.isdigit():
                found[path] = name if int(size) <= limit else ""
        contents = dict(self._contents(name for name in found.values() if name))
        return {path: contents.get(name, b"") for path, name in found.items()}

    def write_out(self, commit: str, units: Sequence[str], into: Path) -> None:
        """Write the files that a grader reads to the empty folder `into`, in the same places.

        They are in the root, exercises/ and a folder named after each unit. Links and large files are written, too, so
        that the grader reports them, but the links lead nowhere and the files are empty.
        """
        folders = [FOLDER, *units]
        files: dict[str, list[Path]] = {}
        total = 0
        there = [""]
        while there:
            folder = there.pop(0)
            for name, kind, oid, size in self._entries(commit, folder):
                target = into / folder / name
                is_wanted = bool(_NAME.fullmatch(name)) and name.endswith(_WRITTEN)
                if not folder and name in folders:
                    is_wanted = True
                    there += [name] if kind == "folder" else []
                # A disk may ignore case where git does not.
                if not is_wanted or os.path.lexists(target):
                    continue
                if kind in ("folder", "submodule"):
                    target.mkdir()
                elif kind == "link":
                    target.symlink_to("a-link-that-is-not-followed")
                elif size <= FILE_LIMIT and total + size <= TOTAL_LIMIT:
                    total += size
                    files.setdefault(oid, []).append(target)
                    target.touch()
                else:
                    with open(target, "xb") as file:
                        file.truncate(size)
        for oid, content in self._contents(files):
            for target in files[oid]:
                target.write_bytes(content)
        # The grader's report reads the commit from here.
        (into / ".git").mkdir()
        (into / ".git" / "HEAD").write_text(f"{commit}\n", encoding="ascii")

    def _entries(self, commit: str, folder: str) -> list[tuple[str, str, str, int]]:
        """Return the name, kind, object and size of each entry of a folder."""
        command = ["ls-tree", "-z", "-l", f"{commit}:{folder}"]
        listing = self._printed(command, _LISTING_LIMIT).split(b"\0")[:MOST_ENTRIES]
        entries = []
        for line in listing:
            if found := _ENTRY.fullmatch(line):
                mode, oid, size, name = (part.decode("utf-8", "replace") for part in found.groups())
                entries.append((name, _KINDS.get(mode, "file"), oid, int(size) if size.isdigit() else 0))
        return entries

    def _contents(self, objects: Iterable[str]) -> Iterator[tuple[str, bytes]]:
        """Yield the name and content of each of these blobs."""
        with tempfile.TemporaryFile() as output:
            self._git(["cat-file", "--batch"], "".join(f"{name}\n" for name in objects), output)
            output.seek(0)
            while header := output.readline():
                name, kind, *size = header.decode("ascii").split()
                if kind == "blob":
                    yield name, output.read(int(size[0]))
                    output.read(1)

    def _from_server(self, *arguments: str) -> Done:
        """Ask the server, and once more if that fails."""
        done = self._git(arguments)
        if done.code:
            time.sleep(_PAUSE)
            done = self._git(arguments)
        return done

    def _printed(self, arguments: list[str], limit: int, content: str = "") -> bytes:
        """Return the first bytes of git's output. The output may be large, so it goes to a file."""
        with tempfile.TemporaryFile() as output:
            self._git(arguments, content, output)
            output.seek(0)
            return output.read(limit)

    def _git(self, arguments: Sequence[str], content: str = "", output: IO[bytes] | None = None) -> Done:
        return run_git(
            ["--git-dir=.", *arguments],
            self._folder,
            content.encode(),
            output=output,
            settings=self._settings,
            variables=self._variables,
        )
