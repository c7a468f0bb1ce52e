"""Atomic writes, temporary folders and folder locks; JSON by lines, digests, and texts that nobody reads by chance.

Also the package as a program.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import re
import secrets
import shutil
import stat
import sys
import tempfile
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from grader.errors import GraderError

PACKAGE = Path(__file__).resolve().parent
"""The grader's own code."""

PARTIAL = ".partial"
# Other names of files that a program has open.
_STREAMS = {"/dev/stdout": "/dev/fd/1", "/dev/stderr": "/dev/fd/2"}
_OPEN_FILE = re.compile(r"/(?:dev|proc/self)/fd/(\d{1,9})")


class FolderInUse(GraderError):
    """Another program holds the folder; the text is its process id, or empty if it has just started."""


def module_command(module: str, *arguments: object) -> list[str]:
    """Return the command that runs `module` of this package, without a student's file on its path."""
    path = f"sys.path.insert(0, {str(PACKAGE.parent)!r})"
    code = f"import sys, runpy; {path}; runpy.run_module({module!r}, run_name='__main__')"
    return [sys.executable, "-P", "-s", "-c", code, *map(str, arguments)]


def write_atomically(path: Path, content: str | bytes) -> None:
    """Replace a file atomically: a reader sees the old content or the new, never a part of it.

    A new file has the mode that the umask gives it. An old one keeps its mode and, where that is possible, its owner.
    The temporary file has a unique name, so two programs can write the same file. A link is replaced, not followed.

    Args:
        path: The file.
        content: The new content; text is encoded as UTF-8.

    Raises:
        OSError: The disk is full, or the folder is not writable. Nothing is left behind.
    """
    partial = path.parent / f".{path.name}.{secrets.token_hex(4)}{PARTIAL}"
    try:
        with open(partial, "xb") as file:
            _keep_mode(file.fileno(), path)
            file.write(content.encode() if isinstance(content, str) else content)
            file.flush()
            os.fsync(file.fileno())
        partial.replace(path)
    except BaseException as error:
        partial.unlink(missing_ok=True)
        if isinstance(error, OSError) and error.filename:
            error.filename, error.filename2 = str(path), None  # a message names the file, not the temporary one
        raise


def write_outdated(texts: Mapping[Path, str]) -> list[Path]:
    """Write those of these files that do not have this text yet, and return them. Raises OSError."""
    outdated = [path for path, text in texts.items() if not path.is_file() or path.read_text(encoding="utf-8") != text]
    for path in outdated:
        write_atomically(path, texts[path])
    return outdated


def _keep_mode(descriptor: int, path: Path) -> None:
    """Give a new file the owner and the mode of the one that it replaces. Windows has neither."""
    if sys.platform == "win32":
        return
    with contextlib.suppress(FileNotFoundError):
        old = path.lstat()
        if stat.S_ISREG(old.st_mode):
            for owner, group in ((-1, old.st_gid), (old.st_uid, -1)):  # a user may give a file to an own group
                with contextlib.suppress(PermissionError):
                    os.fchown(descriptor, owner, group)
            os.fchmod(descriptor, stat.S_IMODE(old.st_mode))


def write_where_named(path: Path, content: str | bytes) -> None:
    """Write a file that a user named: a link stays and its target is replaced, a device or pipe is written to.

    Raises:
        OSError: It cannot be written.
    """
    open_file = _OPEN_FILE.fullmatch(_STREAMS.get(str(path), str(path)))
    if not open_file and not _is_stream(path):
        write_atomically(path.resolve(), content)
        return
    # A file that is open has a position, which only a copy of its descriptor shares.
    with open(os.dup(int(open_file[1])) if open_file else path, "wb") as file:
        file.write(content.encode() if isinstance(content, str) else content)


def _is_stream(path: Path) -> bool:
    try:
        mode = path.stat().st_mode
    except FileNotFoundError:
        return False
    return not stat.S_ISREG(mode) and not stat.S_ISDIR(mode)


def refuse_links(path: Path, folder: Path) -> None:
    """Check a file in a folder that students can write. Raises GraderError if it, or a folder on the way, is a link."""
    for place in (path, *path.parents):
        if folder in place.parents and place.is_symlink():
            raise GraderError(f"{place} is a link in a student's folder, so nothing is written there: remove it.")


def remove_partial(folder: Path, suffix: str) -> None:
    """Remove temporary files of files with this suffix, left by a killed program. Hold the folder first."""
    for partial in folder.glob(f".*{suffix}.*{PARTIAL}"):
        partial.unlink()


@contextlib.contextmanager
def temporary_folder(parent: Path | None = None, prefix: str = "grader-") -> Iterator[Path]:
    """Make a folder for a block, and remove it after that.

    `tempfile.TemporaryDirectory` leaves its folder behind if a signal ends the program just after it is made.

    Args:
        parent: The folder to make it in; by default the one for temporary files.
        prefix: What its name begins with.
    """
    folder = (parent or Path(tempfile.gettempdir())) / f"{prefix}{secrets.token_hex(8)}"
    try:
        folder.mkdir(mode=0o700)
        yield folder
    finally:
        if sys.platform == "win32":
            for path in folder.rglob("*"):
                path.chmod(stat.S_IWRITE)  # git's objects are read-only, and Windows does not remove such files
        if folder.is_dir():
            shutil.rmtree(folder)


@contextlib.contextmanager
def held(folder: Path) -> Iterator[None]:
    """Hold `folder`, so that no other program can hold it until this one ends.

    Raises:
        FolderInUse: Another program holds it.
        OSError: The lock cannot be created.
    """
    from filelock import FileLock, Timeout  # takes longer to import than all else that `grader check` needs at first

    # The process id is in a separate file: on Windows nobody else can read a locked one.
    lock, holder = FileLock(folder / ".lock", blocking=False), folder / ".lock.pid"
    try:
        lock.acquire()
    except Timeout:
        raise FolderInUse(holder.read_text(encoding="ascii") if holder.exists() else "") from None
    try:
        write_atomically(holder, str(os.getpid()))
        yield
    finally:
        holder.unlink(missing_ok=True)
        with contextlib.suppress(OSError):  # Windows does not remove an open file
            Path(lock.lock_file).unlink()
        lock.release()


def digest(paths: Iterable[Path], root: Path) -> bytes:
    """Return the SHA-256 of files, in this order: of their names relative to `root` and their contents."""
    total = hashlib.sha256()
    for path in paths:
        total.update(path.relative_to(root).as_posix().encode() + b"\0" + path.read_bytes() + b"\0")
    return total.digest()


def json_lines(value: Any, depth: int) -> str:
    """Return a value as JSON, with a line for each entry of the lists and dicts down to this depth."""
    if depth == 0 or not value or not isinstance(value, dict | list):
        return json.dumps(value, ensure_ascii=False)
    if isinstance(value, list):
        return "[\n" + ",\n".join(json_lines(one, depth - 1) for one in value) + "\n]"
    entries = (f"{json.dumps(name)}: {json_lines(one, depth - 1)}" for name, one in value.items())
    return "{\n" + ",\n".join(entries) + "\n}"


def mixed(text: bytes, key: bytes) -> bytes:
    """Encode a text so that nobody reads it by chance, or decode it. It is no secret: the key is beside it."""
    stream = hashlib.shake_256(key).digest(len(text))
    return bytes(one ^ other for one, other in zip(text, stream, strict=True))
