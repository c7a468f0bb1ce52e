"""One commit of a student's repository as plain files, without anything in that repository steering how.

Git only fetches and reads objects here. It checks nothing out, so no hook, filter, attribute, submodule or link of the
student's is ever obeyed; and only files that a grader reads are written.
"""

from __future__ import annotations

import base64
import contextlib
import datetime
import os
import re
import signal
import subprocess
import tempfile
import time
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import IO
from urllib.parse import urlsplit

from grader.integrations.github.api import TOKEN
from grader.submissions.plain_files import MEGABYTE

COMMIT = re.compile(r"[0-9a-f]{40}|[0-9a-f]{64}")

FILE_LIMIT = 64 * MEGABYTE
"""The most that the grader reads of any file. What is larger gets its size and no content."""
TOTAL_LIMIT = 4 * FILE_LIMIT
MOST_ENTRIES = 1000
"""So many names of a folder are looked at."""

_SECONDS = 300
_LARGEST_FILE = 2**30
_MOST_MEMORY = 2**30
_LISTING_LIMIT = 4 * MEGABYTE
_PAUSE = 2.0

_WRITTEN = (".py", ".ipynb", ".md", ".yml")
_NAME = re.compile(r"\w[\w.() +-]{0,59}")
_ENTRY = re.compile(rb"(\d{6}) \w+ ([0-9a-f]+) +(\d+|-)\t(.+)", re.DOTALL)
_KINDS = {"040000": "folder", "120000": "link", "160000": "submodule"}
_COMMITTER = re.compile(rb"^committer .*> (-?\d{1,12}) [+-]\d+$", re.MULTILINE)

_SETTINGS = {
    "core.hooksPath": os.devnull,
    "core.bigFileThreshold": "16m",  # larger ones stay out of memory
    "credential.helper": "",
    "fetch.unpackLimit": "1",
    "gc.auto": "0",
    "init.defaultBranch": "main",
    "pack.threads": "1",
}


class FetchError(Exception):
    """Why a commit cannot be had, in one sentence."""


class Store:
    """The commits of one repository, fetched one by one into the bare repository at `folder`, which it makes."""

    def __init__(self, folder: Path, server: str, repository: str, token: str | None) -> None:
        self._folder = folder
        self._repository = repository
        self._url = f"{server}/{repository}.git"
        self._environment = _environment(server, token)
        self._fetched: dict[str, bool] = {}
        with tempfile.TemporaryFile() as output:
            self._run(["init", "--quiet", "--bare", "--template=", str(folder)], output)

    def head(self) -> str | None:
        """The commit that the default branch points to now; None where the repository is empty."""
        with tempfile.TemporaryFile() as output:
            if not self._from_server(["ls-remote", self._url, "HEAD"], output):
                raise FetchError(
                    f"{self._repository} cannot be read with git: let the token in {TOKEN} read the contents of the "
                    "repository."
                )
            commit = _text(output, 1000).partition(b"\t")[0].decode("ascii", "replace")
        return commit if COMMIT.fullmatch(commit) else None

    def fetch(self, commit: str) -> None:
        """Has this commit, without those before it. Raises FetchError."""
        if commit not in self._fetched:
            with tempfile.TemporaryFile() as output:
                options = ["--quiet", "--depth=1", "--no-tags", "--no-write-fetch-head", "--no-recurse-submodules"]
                wanted = ["fetch", *options, "--", self._url, commit]
                is_there = bool(COMMIT.fullmatch(commit)) and self._from_server(wanted, output)
            self._fetched[commit] = is_there
        if not self._fetched[commit]:
            raise FetchError(
                f"The commit {commit[:12]} of {self._repository} cannot be fetched: it is gone from GitHub, or too "
                "large. Look for it there; what is gone, GitHub's support may still have."
            )

    def committed(self, commit: str) -> datetime.datetime | None:
        """The date that the commit itself names, which whoever made it chose; None where it is no date."""
        with tempfile.TemporaryFile() as output:
            self._run(["cat-file", "commit", commit], output)
            header = _text(output, MEGABYTE).partition(b"\n\n")[0]
        found = _COMMITTER.search(header)
        with contextlib.suppress(OverflowError, ValueError, OSError):
            return datetime.datetime.fromtimestamp(int(found[1]), datetime.UTC) if found else None
        return None

    def names(self, commit: str, folder: str) -> list[str]:
        """The names of the files in a folder of the commit, whatever they are."""
        return [name for name, kind, _, _ in self._entries(commit, folder) if kind != "folder"]

    def read(self, commit: str, paths: Iterable[str], limit: int) -> dict[str, bytes]:
        """The content of each of these files that is there. One that is larger than `limit` bytes reads as empty.

        The paths must be known to be plain ones.
        """
        wanted = list(paths)
        lines = "".join(f"{commit}:{path}\n" for path in wanted)
        with _file(lines) as names, tempfile.TemporaryFile() as output:
            self._run(["cat-file", "--batch-check=%(objecttype) %(objectsize) %(objectname)"], output, names)
            answers = _text(output, _LISTING_LIMIT).decode("utf-8", "replace").splitlines()
        found = {}
        for path, answer in zip(wanted, answers, strict=False):
            kind, _, rest = answer.partition(" ")
            size, _, name = rest.partition(" ")
            if kind == "blob" and size.isdigit():
                found[path] = name if int(size) <= limit else ""
        contents = dict(self._contents(name for name in found.values() if name))
        return {path: contents.get(name, b"") for path, name in found.items()}

    def write_out(self, commit: str, units: Sequence[str], into: Path) -> None:
        """Writes what a grader reads of the commit into the empty folder `into`: as it is, and where it is.

        That is what lies at the root, in exercises/ and in a folder named after a unit. Links and what is too large
        stay what they are, so that the grader's own sentences fit, but lead nowhere and hold nothing.
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
                # Names that differ for git may be one to a disk.
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
        # From here the grader's report knows the commit.
        (into / ".git").mkdir()
        (into / ".git" / "HEAD").write_text(f"{commit}\n", encoding="ascii")

    def _entries(self, commit: str, folder: str) -> list[tuple[str, str, str, int]]:
        """The name, kind, object and size of each entry of a folder."""
        with tempfile.TemporaryFile() as output:
            self._run(["ls-tree", "-z", "-l", f"{commit}:{folder}"], output)
            listing = _text(output, _LISTING_LIMIT).split(b"\0")[:MOST_ENTRIES]
        entries = []
        for line in listing:
            if found := _ENTRY.fullmatch(line):
                mode, oid, size, name = (part.decode("utf-8", "replace") for part in found.groups())
                entries.append((name, _KINDS.get(mode, "file"), oid, int(size) if size.isdigit() else 0))
        return entries

    def _contents(self, objects: Iterable[str]) -> Iterator[tuple[str, bytes]]:
        """Each of these blobs, with what it holds."""
        with _file("".join(f"{name}\n" for name in objects)) as names, tempfile.TemporaryFile() as output:
            self._run(["cat-file", "--batch"], output, names)
            output.seek(0)
            while header := output.readline():
                name, kind, *size = header.decode("ascii").split()
                if kind == "blob":
                    yield name, output.read(int(size[0]))
                    output.read(1)

    def _from_server(self, arguments: list[str], output: IO[bytes]) -> bool:
        """Whether git got it, at the second try at the latest."""
        for is_last in (False, True):
            if self._run(arguments, output):
                return True
            if not is_last:
                time.sleep(_PAUSE)
        return False

    def _run(self, arguments: list[str], output: IO[bytes], names: IO[bytes] | None = None) -> bool:
        """Runs git, with its output going to a file. Whether it ended well, in time, and with no file too large."""
        # Everything that git writes, the output included, is held by this one limit (in blocks of 512 bytes).
        # Its memory as well, where the system can: what git does not write in parts may be packed very small.
        limits = f"ulimit -f {_LARGEST_FILE // 512}; ulimit -v {_MOST_MEMORY // 1024} 2>/dev/null"
        command = ["sh", "-c", f'{limits}; exec git "$@"', "git"]
        where = [] if arguments[0] == "init" else [f"--git-dir={self._folder}"]
        process = subprocess.Popen(
            [*command, *where, *arguments],
            stdin=names or subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.DEVNULL,
            env=self._environment,
            start_new_session=True,
        )
        try:
            return process.wait(_SECONDS) == 0
        except BaseException as error:
            # Git has helpers of its own.
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            process.wait()
            if isinstance(error, subprocess.TimeoutExpired):
                return False
            raise


def _environment(server: str, token: str | None) -> dict[str, str]:
    """Git without anybody's settings, with the token where no other process of another user sees it."""
    settings = dict(_SETTINGS)
    if token:
        signed = base64.b64encode(f"x-access-token:{token}".encode()).decode()
        settings[f"http.{server}/.extraHeader"] = f"Authorization: Basic {signed}"
    inherited = {name: value for name, value in os.environ.items() if not name.startswith(("GIT_", "GITHUB_TOKEN"))}
    environment = {
        **inherited,
        "GIT_ALLOW_PROTOCOL": urlsplit(server).scheme or "file",
        "GIT_CONFIG_COUNT": str(len(settings)),
        "GIT_CONFIG_GLOBAL": os.devnull,
        "GIT_CONFIG_NOSYSTEM": "1",
        "GIT_LFS_SKIP_SMUDGE": "1",
        "GIT_NO_REPLACE_OBJECTS": "1",
        "GIT_TERMINAL_PROMPT": "0",
        "LC_ALL": "C",
    }
    for number, (name, value) in enumerate(settings.items()):
        environment |= {f"GIT_CONFIG_KEY_{number}": name, f"GIT_CONFIG_VALUE_{number}": value}
    return environment


@contextlib.contextmanager
def _file(text: str) -> Iterator[IO[bytes]]:
    """A file that git reads. A pipe could fill up while git itself waits for its output to be read."""
    with tempfile.TemporaryFile() as file:
        file.write(text.encode())
        file.seek(0)
        yield file


def _text(file: IO[bytes], limit: int) -> bytes:
    file.seek(0)
    return file.read(limit)
