"""Makes downloads: folders, zip files and tar files with any content."""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
import tarfile
import zipfile
from collections.abc import Mapping
from pathlib import Path

Content = str | bytes
Tree = Mapping[str, Content]


def zipped(tree: Tree, flags: int = 0) -> bytes:
    """A zip file. flags: set in each entry's header, such as 1 for a password."""
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as archive:
        for name, content in tree.items():
            archive.writestr(name, content)
    data = bytearray(packed.getvalue())
    for mark, offset in ((b"PK\3\4", 6), (b"PK\1\2", 8)):
        start = -1
        while flags and (start := data.find(mark, start + 1)) >= 0:
            data[start + offset] |= flags
    return bytes(data)


def tarred(tree: Tree, compression: str = "gz", link: str | None = None) -> bytes:
    """A tar file. link: makes each entry a symbolic link to it."""
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w") as archive:
        for name, content in tree.items():
            info = tarfile.TarInfo(name)
            data = content.encode() if isinstance(content, str) else content
            info.size = 0 if link else len(data)
            if link:
                info.type, info.linkname = tarfile.SYMTYPE, link
            archive.addfile(info, io.BytesIO(data))
    if compression == "bz2":
        return bz2.compress(packed.getvalue())
    if compression == "xz":
        return lzma.compress(packed.getvalue(), preset=1)
    return gzip.compress(packed.getvalue()) if compression else packed.getvalue()


def write(path: Path, tree: Tree | bytes) -> Path:
    """A folder with these files, where "…/" is an empty folder; or the file with these bytes."""
    if isinstance(tree, bytes):
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(tree)
        return path
    path.mkdir(parents=True, exist_ok=True)
    for name, content in tree.items():
        if name.endswith("/"):
            (path / name).mkdir(parents=True)
        else:
            write(path / name, content.encode() if isinstance(content, str) else content)
    return path
