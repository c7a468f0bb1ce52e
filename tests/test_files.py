"""Files are written atomically, a folder is held by one program at a time, and files have a digest."""

from __future__ import annotations

import contextlib
import os
import stat
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from types import FrameType
from typing import Any

import pytest

from grader.errors import GraderError
from grader.files import (
    FolderInUse,
    digest,
    held,
    refuse_links,
    remove_partial,
    temporary_folder,
    write_atomically,
    write_where_named,
)


def names(folder: Path) -> list[str]:
    return [path.name for path in folder.iterdir()]


def test_the_text_is_written_unchanged(tmp_path: Path) -> None:
    write_atomically(tmp_path / "file", "naïve\n\r\n🙂")
    assert (tmp_path / "file").read_bytes() == "naïve\n\r\n🙂".encode()
    assert names(tmp_path) == ["file"]


def test_an_old_file_is_replaced_and_an_open_one_keeps_its_text(tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_text("old")
    with open(path) as reader:
        write_atomically(path, "new")
        assert reader.read() == "old"
    assert path.read_text() == "new"


@pytest.fixture
def umask() -> Iterator[None]:
    before = os.umask(0o027)
    yield
    os.umask(before)


ON_POSIX = pytest.mark.skipif(sys.platform == "win32", reason="Windows has no modes, and links need special rights")


@ON_POSIX
@pytest.mark.usefixtures("umask")
def test_a_new_file_follows_the_umask_and_an_old_one_keeps_its_mode_and_owner(tmp_path: Path) -> None:
    new, old = tmp_path / "new", tmp_path / "old"
    old.write_text("old")
    old.chmod(0o604)
    if os.geteuid() == 0:
        os.chown(old, 54321, 54322)
    before = old.stat()
    for path in (new, old):
        write_atomically(path, "text")
    assert new.stat().st_mode & 0o777 == 0o640
    after = old.stat()
    assert (after.st_mode, after.st_uid, after.st_gid) == (before.st_mode, before.st_uid, before.st_gid)


# As the member of two groups, after what root alone can import.
OF_A_GROUP = """\
import os, pathlib
from grader.files import write_atomically
os.setgroups([54322])
os.setresgid(54321, 54321, 54321)
os.setresuid(54321, 54321, 54321)
write_atomically(pathlib.Path("file"), "text")
"""


@pytest.mark.skipif(sys.platform == "win32" or os.geteuid() != 0, reason="only root can be another user")
def test_the_file_of_another_user_stays_with_its_group_so_that_no_other_group_can_read_it(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("old")
    (tmp_path / "file").chmod(0o640)
    os.chown(tmp_path / "file", 54323, 54322)
    tmp_path.chmod(0o777)
    subprocess.run([sys.executable, "-c", OF_A_GROUP], cwd=tmp_path, check=True)
    after = (tmp_path / "file").stat()
    assert (after.st_uid, after.st_gid, after.st_mode & 0o777) == (54321, 54322, 0o640)


@ON_POSIX
def test_a_link_that_a_user_named_stays_and_its_target_is_replaced(tmp_path: Path) -> None:
    (tmp_path / "folder").mkdir()
    for target, old in (("folder/old", "text"), ("folder/new", None)):
        if old:
            (tmp_path / target).write_text(old)
        link = tmp_path / Path(target).name
        link.symlink_to(target)
        write_where_named(link, "changed")
        assert link.is_symlink()
        assert (tmp_path / target).read_text() == "changed"
    (tmp_path / "loop").symlink_to("loop")
    with pytest.raises(OSError, match="symbolic links"):
        write_where_named(tmp_path / "loop", "text")
    assert sorted(names(tmp_path / "folder")) == ["new", "old"]


@ON_POSIX
def test_a_pipe_and_a_device_that_a_user_named_are_written_to(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    reader = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
    write_where_named(pipe, "text")
    assert os.read(reader, 10) == b"text"
    os.close(reader)
    write_where_named(Path(os.devnull), "text")
    assert stat.S_ISFIFO(pipe.stat().st_mode)
    assert stat.S_ISCHR(Path(os.devnull).stat().st_mode)
    assert names(tmp_path) == ["pipe"]


@ON_POSIX
@pytest.mark.parametrize("name", ["/dev/stdout", "/dev/fd/1", "/proc/self/fd/1"])
def test_the_output_can_be_named_also_if_it_is_a_file_that_others_write_to(tmp_path: Path, name: str) -> None:
    code = (
        "import os, pathlib, sys\nfrom grader.files import write_where_named\nos.write(1, b'before ')\n"
        "write_where_named(pathlib.Path(sys.argv[1]), 'text')\nos.write(1, b' after')\n"
    )
    with open(tmp_path / "file", "wb") as file:
        subprocess.run([sys.executable, "-c", code, name], stdout=file, check=True)
    assert (tmp_path / "file").read_text() == "before text after"


@ON_POSIX
@pytest.mark.parametrize("number", [9_999, 10**30])
def test_a_number_of_no_open_file_is_an_os_error(number: int) -> None:
    with pytest.raises(OSError, match=r"Bad file descriptor|No such file"):
        write_where_named(Path(f"/dev/fd/{number}"), "text")


@ON_POSIX
def test_in_a_folder_of_students_a_link_is_refused_at_each_level_below_it(tmp_path: Path) -> None:
    (tmp_path / "real" / "inner").mkdir(parents=True)
    (tmp_path / "folder").symlink_to("real")
    (tmp_path / "real" / "file").symlink_to("elsewhere")
    for path in ("folder/file", "folder/inner/file", "real/file"):
        with pytest.raises(GraderError, match="is a link in a student's folder"):
            refuse_links(tmp_path / path, tmp_path)
    refuse_links(tmp_path / "real" / "inner" / "file", tmp_path)
    # What is around the folder is not the student's.
    refuse_links(tmp_path / "folder" / "inner" / "file", tmp_path / "folder")


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no limit on file sizes")
def test_a_full_disk_leaves_only_the_old_file(tmp_path: Path) -> None:
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


def test_an_error_names_the_file_and_leaves_no_temporary_one(tmp_path: Path) -> None:
    (tmp_path / "file").mkdir()
    for path in (tmp_path / "file", tmp_path / "missing" / "file"):
        with pytest.raises(OSError, match=r"directory") as caught:
            write_atomically(path, "new")
        assert (caught.value.filename, caught.value.filename2) == (str(path), None)
    with pytest.raises(UnicodeEncodeError):
        write_atomically(tmp_path / "text", "\ud800")
    assert names(tmp_path) == ["file"]


KILLED_WHILE_WRITING = """\
import pathlib, resource, signal
from grader.files import write_atomically
signal.signal(signal.SIGXFSZ, signal.SIG_DFL)
resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
resource.setrlimit(resource.RLIMIT_FSIZE, (1000, 1000))
write_atomically(pathlib.Path("file.json"), "x" * 5000)
"""


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no limit on file sizes")
def test_partial_files_of_a_killed_program_can_be_removed(tmp_path: Path) -> None:
    (tmp_path / "file.json").write_text("old")
    others = [".file.txt.a.partial", "ours.json.a.partial", ".json", ".file.json.a"]
    for name in others:
        (tmp_path / name).write_text("")
    subprocess.run([sys.executable, "-c", KILLED_WHILE_WRITING], cwd=tmp_path, check=False)
    [left] = {*names(tmp_path)} - {"file.json", *others}
    assert (tmp_path / left).stat().st_size == 1000
    remove_partial(tmp_path, ".json")
    assert {*names(tmp_path)} == {"file.json", *others}
    assert (tmp_path / "file.json").read_text() == "old"


def interrupt_at(number: int) -> Callable[[FrameType, str, Any], Any]:
    """Return a trace function that raises KeyboardInterrupt at an instruction, as a signal's handler can."""

    def trace(frame: FrameType, event: str, _: Any) -> Any:
        nonlocal number
        frame.f_trace_opcodes = True
        number -= event == "opcode"
        if number < 0:
            raise KeyboardInterrupt
        return trace

    return trace


def test_a_temporary_folder_is_removed_at_whatever_instruction_a_signal_arrives(tmp_path: Path) -> None:
    was_entered, number = False, 0
    while not was_entered:
        with contextlib.suppress(KeyboardInterrupt):
            sys.settrace(interrupt_at(number))
            with temporary_folder(tmp_path, ".new.") as folder:
                sys.settrace(None)
                assert names(tmp_path) == [folder.name]
                assert folder.stat().st_mode & 0o077 == 0 or sys.platform == "win32"
                (folder / "inner").mkdir()
                was_entered = True
        assert names(tmp_path) == []
        number += 1
    assert number > 50


HOLDS = """\
import pathlib, sys
from grader.files import held
with held(pathlib.Path()):
    print("held", flush=True)
    sys.stdin.read()
"""


@pytest.fixture
def holder(tmp_path: Path) -> Iterator[subprocess.Popen[bytes]]:
    """Start a program that locks the folder until its standard input ends."""
    with subprocess.Popen([sys.executable, "-c", HOLDS], cwd=tmp_path, stdin=-1, stdout=-1) as program:
        assert program.stdout
        assert program.stdout.readline() == b"held\n"
        yield program
        program.kill()


def test_a_folder_that_another_program_holds_is_refused_with_its_process_id(
    holder: subprocess.Popen[bytes], tmp_path: Path
) -> None:
    with pytest.raises(FolderInUse, match=f"^{holder.pid}$"), held(tmp_path):
        pass


@pytest.mark.parametrize("is_killed", [False, True])
def test_when_its_holder_ends_the_folder_is_free(
    is_killed: bool, holder: subprocess.Popen[bytes], tmp_path: Path
) -> None:
    if is_killed:
        holder.kill()
    holder.communicate()
    assert is_killed or names(tmp_path) == []
    with held(tmp_path), pytest.raises(FolderInUse, match=f"^{os.getpid()}$"), held(tmp_path):
        pass
    assert names(tmp_path) == []


@pytest.mark.skipif(sys.platform == "win32", reason="links need special rights on Windows")
def test_a_link_in_place_of_the_lock_is_not_followed(tmp_path: Path) -> None:
    precious = tmp_path / "precious"
    precious.write_text("text")
    (tmp_path / ".lock").symlink_to(precious)
    with pytest.raises(OSError, match="symbolic links"), held(tmp_path):
        pass
    assert precious.read_text() == "text"


def test_a_digest_depends_on_names_texts_and_order_but_not_on_the_folder(tmp_path: Path) -> None:
    def digest_of(folder: str, **texts: str) -> bytes:
        paths = [tmp_path / folder / name for name in texts]
        for path, text in zip(paths, texts.values(), strict=True):
            path.parent.mkdir(exist_ok=True)
            path.write_text(text)
        return digest(paths, tmp_path / folder)

    first = digest_of("here", one="text", two="")
    assert first == digest_of("there", one="text", two="")
    others = [
        digest_of("here", one="text"),
        digest_of("here", one="", two="text"),
        digest_of("here", two="", one="text"),
    ]
    assert len({first, *others}) == 4
