"""The text of a plain file is read, and anything else is refused."""

from __future__ import annotations

import os
import socket
import tempfile
from pathlib import Path

import pytest

from grader.submissions.file_text import read_remarked, read_text
from grader.submissions.tree import MEGABYTE, UnreadableError

TEXT = "a = 1\n"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "ada").mkdir()
    return tmp_path / "ada"


def problem(folder: Path, relative: str = "unit.py") -> str:
    """Why a file is not read."""
    with pytest.raises(UnreadableError) as caught:
        read_text(folder, relative, MEGABYTE)
    return str(caught.value)


def write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)


# Text


def test_a_missing_file_has_no_text(folder: Path) -> None:
    assert read_text(folder, "unit.py", MEGABYTE) is None
    assert read_text(folder / "gone", "exercises/unit.py", MEGABYTE) is None


def test_a_byte_order_mark_is_removed_and_line_ends_become_newlines(folder: Path) -> None:
    (folder / "unit.py").write_bytes(b"\xef\xbb\xbfa = 1\r\nb = 2\rc = 3\n")
    assert read_text(folder, "unit.py", MEGABYTE) == "a = 1\nb = 2\nc = 3\n"


@pytest.mark.parametrize(
    ("content", "sentence"),
    [
        (b"a = 1\nname = 'Andr\xe9'\n", "is not UTF-8 (line 2): save it as UTF-8."),
        (b"b = 2\r\na\0 = 1\n\0", "has a zero byte in line 2, which no text has: delete it there."),
        (bytes(512), "has only zero bytes, as a crash leaves them: hand in your own copy again."),
        ("a = 1  # é →\n".encode("utf-16-le"), "is in UTF-16 without a byte order mark: save it as UTF-8."),
        ("a = 1  # é →\n".encode("utf-16-be"), "is in UTF-16 without a byte order mark: save it as UTF-8."),
        ("a = 1\n".encode("utf-16") + b"\x00\xd8", "is not UTF-16 (line 2): save it as UTF-8."),
        (
            b"# coding: cp1252\n\x81\n",
            "is not cp1252, the encoding that it declares (line 2): save it as UTF-8 and delete that declaration.",
        ),
    ],
)
def test_a_text_that_cannot_be_decoded_is_reported_with_the_line(folder: Path, content: bytes, sentence: str) -> None:
    (folder / "unit.py").write_bytes(content)
    assert problem(folder) == f"unit.py {sentence}"


def test_zero_bytes_at_the_end_are_ignored_with_a_remark(folder: Path) -> None:
    (folder / "unit.py").write_bytes(TEXT.encode() + bytes(512))
    remark = "unit.py ends with 512 zero bytes, which were not read: open it and save it again."
    assert read_remarked(folder, "unit.py", MEGABYTE) == (TEXT, (remark,))


@pytest.mark.parametrize("encoding", ["utf-16", "utf-32"])
def test_a_byte_order_mark_of_another_encoding_is_followed(folder: Path, encoding: str) -> None:
    (folder / "unit.py").write_bytes("a = 'é'\r\n".encode(encoding))
    remark = f"unit.py was read as {encoding.upper()}, which Python and other programs refuse: save it as UTF-8."
    assert read_remarked(folder, "unit.py", MEGABYTE) == ("a = 'é'\n", (remark,))


@pytest.mark.parametrize(
    ("declaration", "encoding"),
    [
        ("# -*- coding: latin-1 -*-", "latin-1"),
        ("#!/usr/bin/env python\n# vim: set fileencoding=cp1252 :", "cp1252"),
        ("\n# coding: cp1251", "cp1251"),
        ("#coding=Shift_JIS", "shift_jis"),
        ("# coding: utf8", "utf-8"),
        ("# -*- coding: UTF-8-SIG -*-", "utf-8"),
    ],
)
def test_the_encoding_that_a_script_declares_is_read(folder: Path, declaration: str, encoding: str) -> None:
    text = f"{declaration}\na = '{'ф' if encoding == 'cp1251' else 'ヲ' if encoding == 'shift_jis' else 'é'}'\n"
    (folder / "unit.py").write_bytes(text.encode(encoding))
    assert read_remarked(folder, "unit.py", MEGABYTE) == (text, ())


@pytest.mark.parametrize("name", ["foo-8", "punycode", "utf-16", "rot13", "base64", "x" * 40])
def test_an_encoding_that_is_not_read_is_a_remark(folder: Path, name: str) -> None:
    (folder / "unit.py").write_text(f"# coding: {name}\n{TEXT}")
    remark = f"unit.py declares the encoding {name}, which is not read; it was read as UTF-8: delete that declaration."
    assert read_remarked(folder, "unit.py", MEGABYTE) == (f"# coding: {name}\n{TEXT}", (remark,))


@pytest.mark.parametrize("name", ["ascii", "US-ASCII"])
def test_a_text_that_declares_too_small_an_encoding_is_read_with_a_remark(folder: Path, name: str) -> None:
    (folder / "unit.py").write_text(f"# coding: {name}\nx = 'ä'\n", encoding="utf-8")
    remark = f"unit.py declares the encoding {name}, but has other characters; it was read as UTF-8: delete that"
    found = read_remarked(folder, "unit.py", MEGABYTE)
    assert found == (f"# coding: {name}\nx = 'ä'\n", (f"{remark} declaration.",))
    (folder / "unit.py").write_text(f"# coding: {name}\nx = 'a'\n")
    assert read_remarked(folder, "unit.py", MEGABYTE) == (f"# coding: {name}\nx = 'a'\n", ())


@pytest.mark.parametrize("text", ["a = 1\nb = 2\n# coding: latin-1\n# \xe9", "a = 'coding: latin-1'  # \xe9"])
def test_a_declaration_in_another_place_is_none(folder: Path, text: str) -> None:
    (folder / "unit.py").write_text(text)
    assert read_text(folder, "unit.py", MEGABYTE) == text


@pytest.mark.parametrize(
    ("content", "what"),
    [
        (b"%PDF-1.7\n%\xe2\xe3", "a PDF document"),
        (b"{\\rtf1\\ansi def f(x): return x}", "an RTF document"),
        (b"PK\x03\x04\x14\0word/document.xml", "a document of Word or another Office program"),
        (b"PK\x03\x04\x14\0unit.py", "a zip archive"),
        (b"\0\0\0\x18ftypheic", "a picture or a video"),
        (b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1", "a document of Word or another Office program"),
        (b"\x1f\x8b\x08\0", "an archive"),
        (b"\x89PNG\r\n\x1a\n", "a picture"),
        (b"\xff\xd8\xff\xe0", "a picture"),
        (b"bplist00\xd1", "a web archive"),
        (b"\xa7\r\r\n\0\0\0\0", "compiled Python"),
    ],
)
def test_a_file_that_is_no_text_is_named(folder: Path, content: bytes, what: str) -> None:
    (folder / "unit.py").write_bytes(content)
    (folder / "unit_quiz.md").write_bytes(content)
    assert problem(folder) == f"unit.py is {what}: hand in the script or the notebook itself."
    assert problem(folder, "unit_quiz.md") == f"unit_quiz.md is {what}: hand in the sheet itself."


# Other kinds of files


def test_a_symbolic_link_is_not_followed(folder: Path) -> None:
    write(folder.parent / "secret.py", TEXT)
    (folder / "unit.py").symlink_to("../secret.py")
    assert problem(folder) == "unit.py is a symbolic link: put the file itself there."


def test_a_linked_folder_on_the_way_is_not_followed(folder: Path) -> None:
    write(folder.parent / "elsewhere" / "unit.py", TEXT)
    (folder / "exercises").symlink_to("../elsewhere")
    assert problem(folder, "exercises/unit.py") == "exercises is a symbolic link: put the folder itself there."


def test_a_file_in_place_of_a_folder_is_a_problem(folder: Path) -> None:
    write(folder / "exercises", TEXT)
    assert problem(folder, "exercises/unit.py") == "exercises is a file where a folder belongs: remove it."


def test_a_hard_link_is_not_read(folder: Path) -> None:
    write(folder.parent / "secret.py", TEXT)
    (folder / "unit.py").hardlink_to(folder.parent / "secret.py")
    assert problem(folder) == "unit.py is a hard link to another file: put a copy of its own there."


def test_a_folder_named_like_the_file_is_a_problem(folder: Path) -> None:
    (folder / "unit.py").mkdir()
    assert problem(folder) == "unit.py is a folder where a file belongs: put the file there."


def test_a_named_pipe_is_not_waited_for(folder: Path) -> None:
    os.mkfifo(folder / "unit.py")
    assert problem(folder) == "unit.py is a named pipe where a file belongs: put the file there."


def test_a_socket_is_a_problem(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(folder)  # a socket's path must be short
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind("unit.py")
        assert problem(folder) == "unit.py is a socket where a file belongs: put the file there."


def test_a_device_is_a_problem(folder: Path) -> None:
    try:
        os.mknod(folder / "unit.py", 0o20600, os.makedev(1, 5))  # /dev/zero by another name
    except PermissionError:
        pytest.skip("only root can make a device")
    assert problem(folder) == "unit.py is a device where a file belongs: put the file there."


def test_a_file_that_may_not_be_read_is_a_problem() -> None:
    # Root can read every file, so root becomes another user here, in a folder that others may enter.
    with tempfile.TemporaryDirectory() as name:
        Path(name).chmod(0o777)
        folder = Path(name, "ada")
        write(folder / "unit.py", TEXT)
        (folder / "unit.py").chmod(0)
        user = os.geteuid()
        os.seteuid(user or 54321)
        try:
            found = problem(folder)
        finally:
            os.seteuid(user)
    assert found == "unit.py cannot be read (Permission denied): make it a readable file."


def test_a_file_may_be_as_large_as_the_limit_and_no_larger(folder: Path) -> None:
    write(folder / "unit.py", "x" * MEGABYTE)
    assert read_text(folder, "unit.py", MEGABYTE) == "x" * MEGABYTE
    write(folder / "unit.py", "x" * (MEGABYTE + 1))
    assert problem(folder) == "unit.py is 1.0 MB; at most 1 MB are read: hand in your code alone and save it."


def test_five_gigabytes_are_refused_without_reading(folder: Path) -> None:
    with (folder / "unit.py").open("wb") as file:
        file.truncate(5 * 2**30)
    assert problem(folder) == ("unit.py is 5.0 GB; at most 1 MB are read: hand in your code alone and save it.")
