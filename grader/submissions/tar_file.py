"""The members of a tar file in memory, compressed or not."""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
import stat
import tarfile
from typing import TYPE_CHECKING

from grader.submissions.members import Limits, Member, require_ratio
from grader.submissions.plain_files import MEGABYTE, UnreadableError, size_text
from grader.submissions.tree import kind_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

_XZ_MEMORY = 128 * MEGABYTE
_LONGEST_HEADER = 64 * 1024


def tar_members(content: bytes, name: str, limits: Limits) -> Iterator[tuple[str, Member]]:
    """Yield each file with its name in the archive.

    Args:
        content: The tar file.
        name: What messages call it.
        limits: How many bytes it may unpack to.

    Raises:
        UnreadableError: It unpacks to too many bytes.
        tarfile.TarError: It is damaged, as are files that raise any error of a decompressor.
    """
    unpacked = _decompressed(content, limits.size)
    if len(unpacked) > limits.size:
        raise UnreadableError(
            f"{name} unpacks to more than {size_text(limits.size)}, which is the most that is read: "
            "hand in your answers alone."
        )
    require_ratio(len(unpacked), len(content), name)
    archive = tarfile.TarFile(fileobj=io.BytesIO(unpacked), tarinfo=_TarInfo)
    for info in archive:
        if info.isdir():
            continue
        mode = stat.S_IFLNK if info.issym() or info.islnk() else 0
        if info.isreg() and not info.issparse():
            mode = stat.S_IFREG
        yield info.name, Member(kind_of(mode, info.name), info.size, info.size, _reader(archive, info))


class _TarInfo(tarfile.TarInfo):
    """A tar file's header. It is refused where tarfile takes damage for the end, or parses long text slowly."""

    @classmethod
    def frombuf(cls, buf: bytes | bytearray, encoding: str, errors: str) -> _TarInfo:
        if not any(buf):  # the end
            return super().frombuf(buf, encoding, errors)
        try:
            info = super().frombuf(buf, encoding, errors)
        except tarfile.HeaderError as error:
            raise tarfile.ReadError(str(error)) from None
        if info.size > _LONGEST_HEADER and info.type in b"xgXLK":
            raise tarfile.ReadError("long header")
        return info


def _reader(archive: tarfile.TarFile, info: tarfile.TarInfo) -> Callable[[], bytes]:
    def read() -> bytes:
        file = archive.extractfile(info)
        assert file
        return file.read()

    return read


def _decompressed(content: bytes, limit: int) -> bytes:
    """Return the content of a compressed file, or a little more than `limit` bytes of it."""
    if content.startswith(b"\x1f\x8b"):
        return gzip.GzipFile(fileobj=io.BytesIO(content)).read(limit + 1)
    if content.startswith(b"BZh"):
        return bz2.BZ2File(io.BytesIO(content)).read(limit + 1)
    if content.startswith(b"\xfd7zXZ\0"):
        unpacking = lzma.LZMADecompressor(memlimit=_XZ_MEMORY)
        unpacked = unpacking.decompress(content, limit + 1)
        if not unpacking.eof and len(unpacked) <= limit:
            raise EOFError
        return unpacked
    return content
