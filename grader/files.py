"""Files written whole or not at all."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path


def write_atomically(path: Path, text: str) -> None:
    """Replaces the file at once: a reader sees the old text or the new, and never a part of either.

    The temporary file has a name of its own, so two programs that write the same file do not mix. Raises OSError,
    with nothing left behind, where the disk is full or the folder cannot be written to.
    """
    descriptor, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.", suffix=".partial")
    partial = Path(name)
    try:
        with open(descriptor, "w", encoding="utf-8", newline="\n") as file:
            file.write(text)
            file.flush()
            os.fsync(descriptor)
        # mkstemp makes files that only their owner can read; these are for others to read.
        partial.chmod(0o644)
        partial.replace(path)
    except BaseException:
        partial.unlink(missing_ok=True)
        raise
