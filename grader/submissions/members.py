"""The files of a zip or tar file in memory, and the limits of their number and size."""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
import stat
import tarfile
import zipfile
from functools import partial
from typing import TYPE_CHECKING, NamedTuple

from grader.submissions.plain_files import MEGABYTE, UnreadableError, size_text
from grader.submissions.tree import Kind, kind_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence


class Limits(NamedTuple):
    """How large an archive may be: the bytes that it unpacks to, and its entries."""

    size: int
    entries: int


SUBMISSION = Limits(20 * MEGABYTE, 1_000)
CLASS = Limits(500 * MEGABYTE, 100_000)
"""Of a download that holds a class. Of the submissions in it, archives have the limits of one; a folder has none."""
RATIO = 100
"""The highest compression ratio of an archive that unpacks to more than a megabyte."""

_XZ_MEMORY = 128 * MEGABYTE
_LONGEST_HEADER = 64 * 1024


class Member(NamedTuple):
    """A file of an archive."""

    kind: Kind
    size: int
    packed: float
    read: Callable[[], bytes]
    is_double: bool = False


def members_of(content: bytes, name: str, limits: Limits) -> Iterator[tuple[str, Member]]:
    """Yield each file of a zip or tar file with its name in the archive.

    Args:
        content: The archive.
        name: What messages call it.
        limits: How large it may be.

    Raises:
        UnreadableError: It unpacks to too many bytes, or has too many entries.
        Exception: It is damaged: any error of `zipfile`, `tarfile` or a decompressor.
    """
    members = _zip_members if content.startswith(b"PK") else _tar_members
    for number, member in enumerate(members(content, name, limits), start=1):
        _require_few(number, limits, name)
        yield member


def require_within(limits: Limits, members: Sequence[Member], name: str) -> None:
    """Raise UnreadableError if the files of the archive `name` are too many, too large, or compressed too well."""
    size = sum(member.size for member in members)
    _require_few(len(members), limits, name)
    if size > limits.size:
        raise UnreadableError(
            f"{name} unpacks to {size_text(size)}; at most {size_text(limits.size)} are read: "
            "hand in your answers alone."
        )
    _require_ratio(size, sum(member.packed for member in members), name)


def _require_few(number: int, limits: Limits, name: str) -> None:
    if number > limits.entries:
        raise UnreadableError(
            f"{name} holds more than {limits.entries:,} files, which is the most that is read: "
            "hand in your answers alone."
        )


def _require_ratio(size: int, packed: float, name: str) -> None:
    if size > max(MEGABYTE, RATIO * packed):
        raise UnreadableError(
            f"{name} unpacks to more than {RATIO} times its size, as only an attack does: hand in your answers alone."
        )


def _zip_members(content: bytes, name: str, limits: Limits) -> Iterator[tuple[str, Member]]:
    # Counted first, because zipfile would keep a record of each. Archives in this one contain such marks as well.
    if (marks := content.count(b"PK\1\2")) > 2 * limits.entries:
        _require_few(marks, limits, name)
    archive = zipfile.ZipFile(io.BytesIO(content))
    for info in archive.infolist():
        path = _name(info)
        if not path.endswith(("/", "\\")):
            # Many programs write the permissions alone, without a type.
            mode = info.external_attr >> 16
            kind = kind_of(mode if stat.S_IFMT(mode) else stat.S_IFREG, path)
            yield path, Member(kind, info.file_size, info.compress_size, partial(_read_zip, archive, info))


def _read_zip(archive: zipfile.ZipFile, info: zipfile.ZipInfo) -> bytes:
    # Deflated or not at all: the decoders of other methods take as much memory as the file asks for.
    if info.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
        raise NotImplementedError
    return archive.read(info)


def _name(info: zipfile.ZipInfo) -> str:
    """Return the name of an entry. Some programs write UTF-8 without the flag for it."""
    if info.flag_bits & 0x800:
        return info.orig_filename
    try:
        return info.orig_filename.encode("cp437").decode("utf-8")
    except UnicodeError:
        return info.orig_filename


def _tar_members(content: bytes, name: str, limits: Limits) -> Iterator[tuple[str, Member]]:
    # What is beyond the ratio is refused below, and need not be unpacked.
    unpacked = _decompressed(content, min(limits.size, max(MEGABYTE, RATIO * len(content))))
    if len(unpacked) > limits.size:
        raise UnreadableError(
            f"{name} unpacks to more than {size_text(limits.size)}, which is the most that is read: "
            "hand in your answers alone."
        )
    _require_ratio(len(unpacked), len(content), name)
    archive = tarfile.TarFile(fileobj=io.BytesIO(unpacked), tarinfo=_TarInfo)
    for info in archive:
        if not info.isdir():
            is_file = info.isreg() and not info.issparse()
            mode = stat.S_IFREG if is_file else stat.S_IFLNK if info.issym() or info.islnk() else 0
            kind = kind_of(mode, info.name)
            yield info.name, Member(kind, info.size, info.size, partial(_read_tar, archive, info))


class _TarInfo(tarfile.TarInfo):
    """A tar file's header. It is refused if tarfile would take damage for the end, or would parse long text slowly."""

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


def _read_tar(archive: tarfile.TarFile, info: tarfile.TarInfo) -> bytes:
    file = archive.extractfile(info)
    assert file
    return file.read()


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
