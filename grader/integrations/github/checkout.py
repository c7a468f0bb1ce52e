"""Writes one commit of a student's repository as plain files. Nothing in that repository can change how.

Git only fetches and reads objects here. It checks nothing out, so hooks, filters, attributes, submodules and links of
the student have no effect. Only files that a grader reads are written.
"""

from __future__ import annotations

import base64
import contextlib
import datetime
import os
import re
import tempfile
import time
from typing import IO, TYPE_CHECKING
from urllib.parse import urlsplit

from grader.git import Done, run_git
from grader.integrations.github.api import TOKEN
from grader.submissions.reader import COMMIT
from grader.submissions.tree import MEGABYTE

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence
    from pathlib import Path

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
        folders = ["exercises", *units]
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
