"""The members of a zip file in memory."""

from __future__ import annotations

import io
import stat
import zipfile
from typing import TYPE_CHECKING

from grader.submissions.members import Limits, Member, require_few
from grader.submissions.tree import kind_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

MAGIC = b"PK"


def zip_members(content: bytes, name: str, limits: Limits) -> Iterator[tuple[str, Member]]:
    """Yield each file with its name in the archive.

    Args:
        content: The zip file.
        name: What messages call it.
        limits: How many entries it may have.

    Raises:
        UnreadableError: It has too many entries.
        zipfile.BadZipFile: It is damaged, as are files that raise any other error of `zipfile`.
    """
    # zipfile would keep a record of each, so they are counted first. Archives within have marks like these as well.
    if (marks := content.count(b"PK\1\2")) > 2 * limits.entries:
        require_few(marks, limits, name)
    archive = zipfile.ZipFile(io.BytesIO(content))
    for info in archive.infolist():
        path = _name(info)
        if not path.endswith(("/", "\\")):
            # Many programs give the permissions alone, and no type.
            mode = info.external_attr >> 16
            kind = kind_of(mode if stat.S_IFMT(mode) else stat.S_IFREG, path)
            yield path, Member(kind, info.file_size, info.compress_size, _reader(archive, info))


def _reader(archive: zipfile.ZipFile, info: zipfile.ZipInfo) -> Callable[[], bytes]:
    def read() -> bytes:
        # Deflated or not at all: the decoders of other methods take as much memory as the file asks for.
        if info.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
            raise NotImplementedError
        return archive.read(info)

    return read


def _name(info: zipfile.ZipInfo) -> str:
    """Return the name of an entry. Some programs write UTF-8 without the flag for it."""
    if info.flag_bits & 0x800:
        return info.orig_filename
    try:
        return info.orig_filename.encode("cp437").decode("utf-8")
    except UnicodeError:
        return info.orig_filename
