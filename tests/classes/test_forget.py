"""`grader forget`: a student leaves what the grader wrote, and nothing that was handed in is opened."""

from __future__ import annotations

import builtins
import datetime
import errno
import importlib
import io
import json
import os
import shutil
import sys
from pathlib import Path
from typing import Any

import pytest
from courses import hand_in
from downloads import zipped
from made_reports import report, unit
from typer.testing import CliRunner

from grader.classes.collected import CollectedClass, CollectedStudent
from grader.cli.instructor import app
from grader.files import held
from grader.integrations.github.history import Snapshot

NOW = datetime.datetime(2026, 1, 1, tzinfo=datetime.UTC)
OTHERS = {"adam": "Adam Ada", "ada-b": "Ada B", "van-ada": "Vera van Ada", "bela": "Bela Bo"}
NAMES = {"ada": "Ada Lovelace", **OTHERS}
DONE = "The tables there, and the names of files and folders, do not have ada now.\n"


def write(path: Path, text: str | bytes = "1") -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return path


def forget(*arguments: object, given: str | None = None) -> tuple[int, str]:
    """Run the command; return its exit code and what it printed."""
    done = CliRunner().invoke(app, ["forget", *map(str, arguments)], input=given)
    assert not isinstance(done.exception, Exception), done.exception
    return done.exit_code, done.output


def contents(folder: Path) -> dict[str, bytes]:
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def report_on(student: str, *together: str) -> str:
    return report({"sums": unit({})}).model_copy(update={"student": student, "together": list(together)}).to_json()


@pytest.fixture
def term(tmp_path: Path) -> Path:
    """All that the grader writes in a term about ada and four others, and the tables of the class."""
    root = tmp_path / "term"
    for student in NAMES:
        group = ("ada", "bela") if student == "bela" else ()
        write(root / "reports" / f"{student}.json", report_on(student, *group))
        write(root / "reports" / "instructor" / f"{student}.pytest.json", "{}")
        write(root / "reports" / "earlier" / student / "20260101T000000Z.json", report_on(student))
        write(root / "feedback" / f"{student}.md", "# Feedback")
        write(root / "feedback" / f"{student}.html", "<html>")
        hand_in(root / "collected" / "sums" / student, "x = 1")
        hand_in(root / "collected" / "late" / "sums" / student, "x = 1")
    write(root / "reports" / "instructor" / "not_graded.json", json.dumps({"ada": "No.", "bela": "No."}))
    students = [CollectedStudent(student=name, repository=f"our/{name}") for name in NAMES]
    made = CollectedClass(
        schema="attention-from-scratch/collected/v1", collected=NOW, units={"sums": NOW}, students=students
    )
    write(root / "collected" / "collected.json", made.to_json())
    looks = [Snapshot(seen=NOW, repository=f"our/{name}", head="0" * 40).model_dump_json() for name in [*NAMES] * 2]
    write(root / "collected" / "snapshots.jsonl", "".join(f"{look}\n" for look in looks))
    rows = [f"{name},{NAMES[name]},{name}@x.org,login{number}" for number, name in enumerate(NAMES)]
    write(root / "roster.csv", "\n".join(["student,name,email,sis_login_id", *rows, ""]))
    write(root / "times.csv", "".join(f"{name},sums,2026\r\n" for name in ("student,unit", "ada", "bela", "ada")))
    write(root / "canvas.csv", "Student,ID,SIS User ID,SIS Login ID,Section,1\nAda L,,,login0,,2\nAdam,,,login1,,0\n")
    write(root / "moodle.csv", "Email address,1\nADA@x.org,2\nadam@x.org,3\n")
    return root


def all_of(term: Path) -> list[Path]:
    return [term / "reports", term / "feedback", term / "collected", *sorted(term.glob("*.csv"))]


def test_a_student_is_removed_from_what_the_grader_wrote_and_from_the_tables_and_no_other_one(term: Path) -> None:
    before = contents(term)
    (term / "roster.csv").chmod(0o600)
    assert forget("Ada", *all_of(term), "--yes")[0] == 0
    assert (term / "roster.csv").stat().st_mode & 0o777 == 0o600
    after = contents(term)
    assert before.keys() - after.keys() == {
        "reports/ada.json",
        "reports/instructor/ada.pytest.json",
        "reports/earlier/ada/20260101T000000Z.json",
        "feedback/ada.md",
        "feedback/ada.html",
        "collected/sums/ada/sums.py",
        "collected/late/sums/ada/sums.py",
    }
    changed = {path: text.decode() for path, text in after.items() if text != before[path]}
    left = CollectedClass.model_validate_json(changed.pop("collected/collected.json"))
    assert [one.student for one in left.students] == list(OTHERS)
    assert [line for line in changed.pop("collected/snapshots.jsonl").splitlines() if "our/ada-b" in line][1:]
    assert json.loads(changed.pop("reports/instructor/not_graded.json")) == {"bela": "No."}
    assert changed.pop("reports/bela.json") == report_on("bela")
    assert [line.split(",")[0] for line in changed.pop("roster.csv").splitlines()] == ["student", *OTHERS]
    assert changed == {
        "times.csv": "student,unit,sums,2026\r\nbela,sums,2026\r\n",
        "canvas.csv": "Student,ID,SIS User ID,SIS Login ID,Section,1\nAdam,,,login1,,0\n",
        "moodle.csv": "Email address,1\nadam@x.org,3\n",
    }
    assert forget("ada", *all_of(term)) == (0, DONE)


def test_nothing_is_changed_without_a_yes(term: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    before = contents(term)
    exit_code, printed = forget("ada", *all_of(term))
    assert exit_code == 2
    assert f"remove {term}/reports/ada.json\n" in printed
    assert f"rewrite {term}/times.csv without 2 of 3 rows\n" in printed
    assert "give --yes" in printed
    monkeypatch.setattr(importlib.import_module("grader.cli.instructor.class_files"), "can_ask", lambda _: True)
    assert forget("ada", *all_of(term), given="n\n")[1].endswith("Nothing was changed.\n")
    assert contents(term) == before
    assert forget("ada", *all_of(term), given="y\n")[0] == 0
    assert contents(term) != before


def workbook(row: str) -> bytes:
    """A workbook with one sheet, as small as it is handed in to stop a program that reads it."""
    return zipped({"xl/worksheets/sheet1.xml": row})


@pytest.fixture
def opened(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The files that are opened from now on."""
    found: list[str] = []
    for module in (builtins, io, os):

        def record(path: Any, *given: Any, real: Any = module.open, **more: Any) -> Any:
            found.append(str(path))
            return real(path, *given, **more)

        monkeypatch.setattr(module, "open", record)
    return found


def test_nothing_that_was_handed_in_is_opened_or_believed(term: Path, opened: list[str]) -> None:
    handed_in = term / "class" / "Bela Bo_12_assignsubmission_file_"
    write(handed_in / "rows.xlsx", workbook("<row" * 200_000))
    write(handed_in / "large.xlsx", workbook(" " * 30_000_000))
    write(handed_in / "roster.csv", "student,folder,repository\nada,Cem Can_13_assignsubmission_file_,our/bela\n")
    write(handed_in / "reports" / "instructor" / "ada.pytest.json")
    write(handed_in / "reports" / "ada.json", report_on("ada"))
    write(handed_in / "collected.json", (term / "collected" / "collected.json").read_bytes())
    write(term / "class" / "Cem Can_13_assignsubmission_file_" / "sums.py")
    write(term / "class" / "Ada Lovelace_14_assignsubmission_file_" / "sums.py")
    write(term / "others" / "van-ada and adam, ada-b, Nevada.txt")
    before = contents(term / "class")
    opened.clear()
    exit_code, printed = forget("ada", term, *all_of(term), "--yes")
    assert not [path for path in opened if path.startswith((str(term / "class"), str(term / "others")))]
    assert opened
    assert contents(term / "class") == before
    assert exit_code == 1
    assert [line for line in printed.splitlines() if not line.startswith(("remove ", "rewrite "))] == [
        f"{term / 'class' / name} has the student's name and was not changed."
        for name in (
            "Ada Lovelace_14_assignsubmission_file_",
            f"{handed_in.name}/reports/ada.json",
            f"{handed_in.name}/reports/instructor/ada.pytest.json",
        )
    ]


def test_a_workbook_or_a_page_that_is_named_is_not_opened(tmp_path: Path, opened: list[str]) -> None:
    paths = [write(tmp_path / name, b"PK\3\4") for name in ("grades.xlsx", "class.html", "ada.json")]
    opened.clear()
    exit_code, printed = forget("ada", *paths, "--yes")
    assert (exit_code, opened) == (1, [])
    assert printed == "".join(
        f"{path} was not opened: make it again, or take the student out by hand.\n" for path in paths
    )


@pytest.mark.skipif(sys.platform == "win32", reason="links need special rights on Windows")
def test_links_are_not_followed(term: Path, tmp_path: Path) -> None:
    outside = write(tmp_path / "outside" / "ada.json", report_on("ada")).parent
    shutil.rmtree(term / "reports" / "earlier" / "ada")
    (term / "reports" / "earlier" / "ada").symlink_to(outside)
    (term / "feedback" / "ada.md").unlink()
    (term / "feedback" / "ada.md").symlink_to(outside / "ada.json")
    (term / "reports" / "earlier" / "bela" / "20260101T000000Z.json").unlink()
    (term / "reports" / "earlier" / "bela").rmdir()
    (term / "reports" / "earlier" / "bela").symlink_to(outside)
    write(outside / "x.json", report_on("bela", "ada", "bela"))
    (term / "collected" / "sums").rename(term / "sums")
    (term / "collected" / "sums").symlink_to(term / "sums")
    before = contents(outside)
    assert forget("ada", *all_of(term), "--yes")[0] == 0
    assert contents(outside) == before
    assert (term / "sums" / "ada").is_dir()
    assert not (term / "feedback" / "ada.md").is_symlink()


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no such files")
def test_files_without_an_end_are_not_read_in_a_folder_that_a_student_made(tmp_path: Path) -> None:
    folder = write(tmp_path / "bela" / "instructor" / "bela.pytest.json").parent.parent
    for path in ("collected.json", "instructor/not_graded.json", "cem.json"):
        os.mkfifo(folder / path)
    (folder / "dan.json").symlink_to("/dev/zero")
    os.mkfifo(tmp_path / "pipe.csv")
    assert forget("ada", folder, "--yes") == (0, DONE)
    assert f"{tmp_path}/pipe.csv was not opened" in forget("ada", tmp_path / "pipe.csv", "--yes")[1]


def test_a_folder_that_cannot_be_read_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    closed = write(tmp_path / "closed" / "ada.txt").parent

    def refuses(path: Any, real: Any = os.scandir) -> Any:
        if path == str(closed):
            raise PermissionError(errno.EACCES, "Permission denied", path)
        return real(path)

    monkeypatch.setattr(os, "scandir", refuses)
    exit_code, printed = forget("ada", tmp_path, "--yes")
    assert (exit_code, printed) == (1, f"{closed} cannot be read (Permission denied): look there by hand.\n")


@pytest.mark.skipif(sys.platform == "win32", reason="links need special rights on Windows")
def test_a_page_and_a_link_to_it_both_leave(term: Path) -> None:
    (term / "feedback" / "ada.md").unlink()
    (term / "feedback" / "ada.md").symlink_to("ada.html")
    assert forget("ada", *all_of(term), term / "reports" / ".." / "feedback", "--yes")[0] == 0


def test_a_folder_that_a_student_made_to_look_like_one_of_the_grader_leads_to_no_other(term: Path) -> None:
    made = CollectedClass.model_validate_json((term / "collected" / "collected.json").read_bytes())
    folder = term / "class" / "bela"
    write(folder / "collected.json", made.model_copy(update={"units": {"../cem": NOW, "sums": NOW}}).to_json())
    write(term / "class" / "cem" / "ada" / "sums.py")
    forget("ada", folder, "--yes")
    assert (term / "class" / "cem" / "ada" / "sums.py").is_file()


@pytest.mark.parametrize(
    ("table", "left"),
    [
        pytest.param("student,points\n4712,5\nbela,4712\n", "student,points\nbela,4712\n", id="points like a name"),
        pytest.param("unit;student\nsums;4712 \n", "unit;student\n", id="semicolons, in another column"),
        pytest.param('student,note\n4712,"two\nlines"\nbela,"1"\n', 'student,note\nbela,"1"\n', id="lines"),
        pytest.param("\ufeffsep=,\r\nUsername,1\r\njo,1\r\n", "\ufeffsep=,\r\nUsername,1\r\n", id="from Windows"),
        pytest.param("Name,ID,Points\nBela,4712,1\n", None, id="the number of another one"),
        pytest.param("Name,Points\nJo Doe,1\n", None, id="a name, which several may have"),
        pytest.param("student,name\nbela,Jo Doe\n", None, id="the name of another one"),
        pytest.param("notes\n4712\n", None, id="no table of students"),
    ],
)
def test_only_the_rows_of_the_student_leave_a_table_and_other_places_are_named(
    tmp_path: Path, table: str, left: str | None
) -> None:
    roster = write(tmp_path / "roster.csv", "student,name,email,sis_login_id\n4712,Jo Doe,jo@x.org,jo\n")
    path = write(tmp_path / "table.csv", table)
    exit_code, printed = forget("4712", roster, path, "--yes")
    assert path.read_bytes().decode() == (table if left is None else left)
    assert (exit_code, f"{path} has the student's name in another place" in printed) == (
        (1, True) if left is None else (int("4712" in left), "4712" in left)
    )


def test_a_student_of_an_exported_roster_is_found_there(tmp_path: Path) -> None:
    rows = ["Jane,Doe,jdoe@a.org", "John,Doe,jdoe@b.org"]
    roster = write(tmp_path / "roster.csv", "\n".join(["First name,Last name,Email address", *rows, ""]))
    assert forget("jdoe-b.org", roster, "--yes")[0] == 0
    assert roster.read_text() == "First name,Last name,Email address\nJane,Doe,jdoe@a.org\n"


@pytest.mark.parametrize("address", ["{}@x.org", ""])
def test_who_has_the_same_number_in_another_assignment_of_moodle_stays(tmp_path: Path, address: str) -> None:
    rows = [f"Participant {number},{name},{address.format(name)}\n" for number in (1, 2) for name in ("ada", "bo")]
    heading = "Identifier,Full name,Email address\n"
    tables = [write(tmp_path / f"times_{one}.csv", heading + rows[one] + rows[3 - one]) for one in (0, 1)]
    assert forget("ada", *tables, "--yes")[0] == 0
    assert [path.read_text() for path in tables] == [heading + rows[3], heading + rows[1]]


def test_if_a_file_cannot_be_written_it_is_named_and_the_next_run_still_knows_the_student(
    term: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fails(path: Path, _content: bytes) -> None:
        raise OSError(errno.ENOSPC, "No space left on device", str(path))

    monkeypatch.setattr("grader.classes.forget.write_atomically", fails)
    exit_code, printed = forget("ada", *sorted(term.glob("*.csv")), "--yes")
    assert exit_code == 3
    assert f"{term}/canvas.csv: No space left on device." in printed.replace("\n", " ")
    monkeypatch.undo()
    assert forget("ada", *sorted(term.glob("*.csv")), "--yes")[0] == 0
    assert b"Ada L," not in (term / "canvas.csv").read_bytes()


def test_a_folder_to_which_another_command_writes_is_left_alone(term: Path) -> None:
    before = contents(term)
    with held(term / "reports"):
        exit_code, printed = forget("ada", *all_of(term), "--yes")
    assert exit_code == 2
    assert f"Another command is writing to {term}/reports" in printed
    assert contents(term) == before


@pytest.mark.parametrize(("student", "path"), [("../ada", "reports"), ("", "reports"), ("ada", "missing")])
def test_a_wrong_name_or_path_is_refused(term: Path, student: str, path: str) -> None:
    before = contents(term)
    assert forget(student, term / path, "--yes")[0] == 2
    assert contents(term) == before
