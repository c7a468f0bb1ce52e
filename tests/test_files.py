"""A file is written whole or not at all."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from grader.files import write_atomically


def names(folder: Path) -> list[str]:
    return [path.name for path in folder.iterdir()]


def test_the_text_arrives_as_it_is(tmp_path: Path) -> None:
    write_atomically(tmp_path / "file", "naïve\n\r\n🙂")
    assert (tmp_path / "file").read_bytes() == "naïve\n\r\n🙂".encode()
    assert names(tmp_path) == ["file"]


def test_an_old_file_is_replaced_and_who_has_it_open_keeps_the_old_text(tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_text("old")
    with open(path) as reader:
        write_atomically(path, "new")
        assert reader.read() == "old"
    assert path.read_text() == "new"


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no such modes")
def test_the_file_can_be_read_by_others(tmp_path: Path) -> None:
    write_atomically(tmp_path / "file", "text")
    assert (tmp_path / "file").stat().st_mode & 0o777 == 0o644


def test_what_cannot_be_written_leaves_the_old_file_and_nothing_else(tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_text("old")
    with pytest.raises(UnicodeEncodeError):
        write_atomically(path, "\ud800")
    assert path.read_text() == "old"
    assert names(tmp_path) == ["file"]


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no limit on file sizes")
def test_where_the_room_ends_the_old_file_stays_and_nothing_else(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("old")
    code = (
        "import pathlib, resource\nfrom grader.files import write_atomically\n"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (1000, 1000))\n"
        "try: write_atomically(pathlib.Path('file'), 'x' * 5000)\nexcept OSError: print('no room')\n"
    )
    done = subprocess.run([sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True, check=True)
    assert done.stdout == "no room\n"
    assert (tmp_path / "file").read_text() == "old"
    assert names(tmp_path) == ["file"]


def test_a_folder_that_is_not_there_is_an_error_of_the_system(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        write_atomically(tmp_path / "missing" / "file", "text")
