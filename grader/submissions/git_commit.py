"""Reads the commit of a checkout from its .git, without git, which would run programs that the settings name."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from grader.submissions.plain_files import MEGABYTE, UnreadableError, read_text

if TYPE_CHECKING:
    from grader.submissions.tree import Files

GIT_LIMIT = 4 * MEGABYTE

COMMIT = re.compile(r"[0-9a-f]{40}|[0-9a-f]{64}")
# What git allows, including `$(…)` and quotes: it is only used as a path, never in a shell.
_GIT_REFERENCE = re.compile(r"refs/[^\x00-\x20\x7f~^:?*\[\\]+")


def read_commit(folder: Files) -> str | None:
    """Return the hash of the commit checked out; None if there is none or it cannot be read."""
    head = _git_text(folder, "HEAD")
    reference = head.removeprefix("ref: ")
    if reference == head:
        return head if COMMIT.fullmatch(head) else None
    if not _GIT_REFERENCE.fullmatch(reference) or not {"", ".", ".."}.isdisjoint(reference.split("/")):
        return None
    packed = _git_text(folder, "packed-refs")
    commits = [_git_text(folder, reference)]
    commits += [line[: -len(reference) - 1] for line in packed.split("\n") if line.endswith(f" {reference}")]
    return next((commit for commit in commits if COMMIT.fullmatch(commit)), None)


def _git_text(folder: Files, name: str) -> str:
    """Return a file of .git without its last line end; "" if it cannot be read."""
    try:
        return (read_text(folder, f".git/{name}", GIT_LIMIT) or "").removesuffix("\n")
    except UnreadableError:
        return ""
