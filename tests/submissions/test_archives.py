"""Archives are read and never unpacked, even hostile ones."""

from __future__ import annotations

import io
import os
import stat
import tarfile
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest
from downloads import tarred, write, zipped

from grader.submissions.archives import Folder, open_archive
from grader.submissions.find import find_submissions
from grader.submissions.reader import read_submission
from grader.submissions.tree import MEGABYTE, Ignored, UnreadableError, walk

UNIT = "unit.py"
LIMIT = 64 * MEGABYTE


def zip_with(name: str, mode: int = stat.S_IFREG | 0o644, method: int = zipfile.ZIP_DEFLATED) -> bytes:
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as archive:
        info = zipfile.ZipInfo(name)
        info.external_attr, info.compress_type = mode << 16, method
        archive.writestr(info, "/etc/passwd")
    return packed.getvalue()


def doubled() -> bytes:
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as archive:
        archive.writestr(UNIT, "1")
        with pytest.warns(UserWarning, match="Duplicate"):
            archive.writestr(UNIT, "2")
    return packed.getvalue()


def lying(content: bytes) -> bytes:
    """A zip file whose entry claims to be one byte."""
    data = bytearray(zipped({UNIT: content}))
    start = data.index(b"PK\1\2")
    data[start + 24 : start + 28] = (1).to_bytes(4, "little")
    return bytes(data)


def bent(data: bytes) -> bytes:
    """An archive with changed bytes after the name of its file."""
    start = data.index(UNIT.encode()) + len(UNIT)
    return data[:start] + bytes(byte ^ 255 for byte in data[start : start + 4]) + data[start + 4 :]


def slow() -> bytes:
    """A tar file with a header of many digits, of which Python's parser tries every one."""
    info = tarfile.TarInfo("pax")
    info.type, info.size = tarfile.XHDTYPE, 10 * MEGABYTE
    return info.tobuf() + b"9" * info.size


NOISE = os.urandom(MEGABYTE)
DEEP = zipped({"c.zip": zipped({UNIT: "x"})})


@pytest.mark.parametrize(
    ("content", "sentence"),
    [
        (lambda: zipped({"a": b"\0" * 2 * MEGABYTE}), "hw unpacks to more than 100 times its size"),
        (lambda: tarred({"a": b"\0" * 2 * MEGABYTE}), "hw unpacks to more than 100 times its size"),
        (lambda: tarred({"a": b"\0" * 30 * MEGABYTE}, "xz"), "hw unpacks to more than 100 times its size"),
        (lambda: tarred({"a": NOISE[: 2**18] * 84}, "xz"), "hw unpacks to more than 20.0 MB"),
        (lambda: zipped({str(n): NOISE for n in range(21)}), "hw unpacks to 21.0 MB; at most 20.0 MB are read"),
        (lambda: zipped({str(n): "" for n in range(1001)}), "hw holds more than 1,000 files"),
        (lambda: zipped({str(n): "" for n in range(2001)}), "hw holds more than 1,000 files"),
        (lambda: tarred({str(n): "" for n in range(1001)}), "hw holds more than 1,000 files"),
        (
            lambda: zipped({UNIT: "x" * 999})[:-30],
            "hw is not a zip or tar file, or is damaged: hand in one that can be",
        ),
        (lambda: tarred({UNIT: NOISE})[:-999], "hw is not a zip or tar file, or is damaged"),
        (lambda: tarred({UNIT: NOISE}, "")[: MEGABYTE // 2], "hw is not a zip or tar file, or is damaged"),
        (lambda: tarred({UNIT: NOISE}, "bz2")[:-999], "hw is not a zip or tar file, or is damaged"),
        (lambda: tarred({UNIT: NOISE}, "xz")[:-999], "hw is not a zip or tar file, or is damaged"),
        (lambda: bent(tarred({"a": "", UNIT: ""}, "")), "hw is not a zip or tar file, or is damaged"),
        (slow, "hw is not a zip or tar file, or is damaged"),
        (lambda: b"", "hw is not a zip or tar file, or is damaged"),
        (
            lambda: b"7z\xbc\xaf\x27\x1c",
            "hw is a 7z archive, which is not read: hand in a zip, or the files themselves.",
        ),
        (lambda: b"Rar!\x1a\7\0", "hw is a rar archive, which is not read: hand in a zip, or the files themselves."),
    ],
)
def test_an_archive_that_is_too_large_or_damaged_is_refused_before_it_is_unpacked(
    content: Callable[[], bytes], sentence: str
) -> None:
    with pytest.raises(UnreadableError) as error:
        open_archive(content(), "hw")
    assert sentence in str(error.value)


@pytest.mark.parametrize(
    ("content", "sentence"),
    [
        (lambda: zipped({UNIT: "x"}, flags=1), "unit.py is locked with a password"),
        (lambda: bent(zipped({UNIT: "x" * 999})), "unit.py is damaged in its archive"),
        (lambda: lying(b"x" * 999), "unit.py is damaged in its archive"),
        (lambda: zip_with(UNIT, method=zipfile.ZIP_LZMA), "unit.py is damaged in its archive"),
        (lambda: zip_with(UNIT, stat.S_IFLNK | 0o777), "unit.py is a link in an archive: put the file itself there"),
        (lambda: tarred({UNIT: ""}, link="/etc/passwd"), "unit.py is a link in an archive"),
        (lambda: zip_with(UNIT, stat.S_IFIFO | 0o600), "unit.py is not a plain file in an archive"),
        (doubled, "unit.py is in its archive more than once"),
        (lambda: zipped({f"{UNIT}/a": ""}), "unit.py is a folder where a file belongs"),
    ],
)
def test_a_file_of_an_archive_that_cannot_be_read_says_why(content: Callable[[], bytes], sentence: str) -> None:
    with pytest.raises(UnreadableError) as error:
        open_archive(content(), "hw").read_bytes(UNIT, LIMIT)
    assert sentence in str(error.value)


@pytest.mark.parametrize(
    "name", ["../unit.py", "/unit.py", "a/../../unit.py", "C:\\unit.py", "..\\unit.py", "a/" * 30 + UNIT]
)
@pytest.mark.parametrize("pack", [zipped, tarred])
def test_a_name_that_leads_out_of_an_archive_is_refused_by_name(pack: Callable[..., bytes], name: str) -> None:
    archive = open_archive(pack({name: "x", UNIT: "mine"}), "hw")
    assert [file.path for file in walk(archive).files] == [UNIT]
    [refused] = archive.refused
    assert refused.path.startswith(repr(name)[:80])


def test_archives_are_read_two_levels_deep(tmp_path: Path) -> None:
    folder = Folder(write(tmp_path, {"a.zip": zipped({"b.zip": DEEP}), "d.zip": DEEP}))
    files, problems, _ = walk(folder)
    assert [file.path for file in files] == ["d.zip/c.zip/unit.py"]
    [problem] = problems
    assert problem.startswith(
        "a.zip/b.zip/c.zip is an archive in an archive in an archive, of which at most two levels"
    )
    assert not list(tmp_path.glob("*.py"))


def test_a_walk_ends_after_1000_names_and_skips_generated_files(tmp_path: Path) -> None:
    tree = {"b.py": "", ".git/a": "", "__MACOSX/a": "", "venv/a": "", **{f"many/{n:04}": "" for n in range(1100)}}
    files, problems, refused = walk(Folder(write(tmp_path, tree)))
    assert files[0].path == "b.py"
    assert len(files) == 999
    assert (problems, refused) == ([], [Ignored("all but the first 1,000 names")])


def test_no_link_on_disk_is_followed_on_a_walk(tmp_path: Path) -> None:
    write(tmp_path, {"outside/unit.py": "", "inside/": ""})
    for name, target in (("folder", "outside"), ("hw.zip", "outside/unit.py"), (UNIT, "outside/unit.py")):
        (tmp_path / "inside" / name).symlink_to(tmp_path / target)
    os.mkfifo(tmp_path / "inside" / "pipe.zip")
    files, problems, _ = walk(Folder(tmp_path / "inside"))
    assert [file.path for file in files] == ["folder", "hw.zip", UNIT]
    assert problems == []
    for file in files:
        with pytest.raises(UnreadableError, match="is a symbolic link"):
            file.tree.read_bytes(file.relative, LIMIT)


# What a student handed in, and the beginning of the sentence why it is not read; "" if it is.
HANDED_IN: dict[str, tuple[dict[str, str | bytes], str]] = {
    "a zip": ({"hw.zip": zipped({UNIT: "x"})}, ""),
    "a zip in a zip": ({"hw.zip": zipped({"a.zip": zipped({UNIT: "x"})})}, ""),
    "a zip in a tar": ({"hw.tgz": tarred({"a.zip": zipped({UNIT: "x"})})}, ""),
    "three levels": ({"hw.zip": zipped({"b.zip": DEEP})}, "hw.zip/b.zip/c.zip is an archive in an archive in an"),
    "many files": ({UNIT: "x", **{f"data/{n}": "" for n in range(1001)}}, ""),
    "a zip with many files": (
        {"hw.zip": zipped({UNIT: "x", **{str(n): "" for n in range(1001)}})},
        "hw.zip holds more than 1,000 files",
    ),
    "large files": ({UNIT: "x", **{f"{n}.bin": NOISE for n in range(21)}}, ""),
    "a zip that is large": (
        {"hw.zip": zipped({UNIT: "x", **{str(n): NOISE for n in range(21)}})},
        "hw.zip is 21.0 MB; at most 20 MB are read",
    ),
    "a zip that unpacks to much": (
        {"hw.zip": zipped({UNIT: "x", **{str(n): NOISE[: 2**14] * 2**7 for n in range(11)}})},
        "hw.zip unpacks to 22.0 MB; at most 20.0 MB are read",
    ),
    "a bomb": (
        {"hw.zip": zipped({"a": b"\0" * 2 * MEGABYTE})},
        "hw.zip unpacks to more than 100 times its size",
    ),
    "a bomb in a zip": (
        {"hw.zip": zipped({"a.zip": zipped({"a": b"\0" * 2 * MEGABYTE})})},
        "hw.zip/a.zip unpacks to more than 100 times its size",
    ),
    "many archives": ({f"{n:02}.zip": zipped({"a": ""}) for n in range(11)}, "10.zip is one archive too many"),
    "archives without end": (
        {"hw.zip": zipped({f"{n}.zip": zipped({f"{m}.zip": zipped({UNIT: "x"}) for m in range(9)}) for n in range(9)})},
        "hw.zip/0.zip/0.zip is one archive too many: hand in one.",
    ),
}
STUDENT = "Ada Doe_1_assignsubmission_file_"


@pytest.mark.parametrize("name", HANDED_IN)
def test_limits_count_from_what_a_student_handed_in_whatever_is_around_it(name: str, tmp_path: Path) -> None:
    tree, sentence = HANDED_IN[name]
    download = {f"{STUDENT}/{path}": content for path, content in tree.items()}
    download["Bo Li_2_assignsubmission_file_/unit.py"] = "y"
    packed = zipped(download)
    around = {
        "a folder": write(tmp_path / "folder", download),
        "a zip": write(tmp_path / "class.zip", packed),
        "a zip in a zip": write(tmp_path / "all.zip", zipped({"class.zip": packed})),
    }
    for where, path in around.items():
        found = {one.student: one.tree for one in find_submissions([path], ["unit"]).found}
        unit = read_submission("ada", found["Ada-Doe_1"], ["unit"], tmp_path / "stubs", only="unit").units["unit"]
        assert (unit.code is None) == bool(sentence), where
        assert unit.problem.startswith(sentence), where


@pytest.mark.parametrize("name", [name for name, (tree, _) in HANDED_IN.items() if "hw.zip" in tree])
def test_an_archive_that_is_a_submission_of_its_own_has_the_same_limits(name: str, tmp_path: Path) -> None:
    tree, sentence = HANDED_IN[name]
    content = tree["hw.zip"]
    assert isinstance(content, bytes)
    path = write(tmp_path / "hw.zip", content)
    folder = write(tmp_path / "class", {"hw.zip": tree["hw.zip"], "eve/unit.py": "y"})
    problems = set()
    for source in ([path], [folder]):
        found = find_submissions(source, ["unit"], layout="single" if source == [path] else None).found
        unit = read_submission("ada", found[-1].tree, ["unit"], tmp_path / "stubs", only="unit").units["unit"]
        assert (unit.code is None) == bool(sentence)
        problems.add(unit.problem)
    assert len(problems) == 1 or "large" in name


def test_a_utf8_name_is_read_even_without_the_flag_for_it() -> None:
    data = bytearray(zipped({"müller/unit.py": "x"}))
    for mark, offset in ((b"PK\3\4", 7), (b"PK\1\2", 9)):
        data[data.index(mark) + offset] &= ~8
    assert open_archive(bytes(data), "hw").read_bytes("müller/unit.py", LIMIT) == b"x"


def test_a_file_beyond_its_own_limit_is_not_read() -> None:
    with pytest.raises(UnreadableError, match=r"unit\.py is 1\.0 MB; at most 256 KB are read"):
        open_archive(zipped({UNIT: NOISE}), "hw").read_bytes(UNIT, 256 * 1024)
