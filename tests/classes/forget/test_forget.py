"""`grader forget`: everything about one student goes, and nothing about another one does."""

from __future__ import annotations

import datetime
import importlib
import json
import shutil
import zipfile
from pathlib import Path

import pytest
from courses import hand_in
from made_reports import report, unit
from typer.testing import CliRunner

from grader.classes.collected import Collected, Student
from grader.cli.instructor import app
from grader.files import held

NOW = datetime.datetime(2026, 1, 1, tzinfo=datetime.UTC)
OTHERS = {"adam": "Adam Ada", "ada-b": "Ada B", "van-ada": "Vera van Ada", "bela": "Bela Bo"}
REPOSITORIES = {name: f"our/attention-{name}" for name in ("ada", *OTHERS)}
SHARED = ("roster.csv", "times.csv", "canvas.csv", "collected/collected.json", "collected/snapshots.jsonl")


def write(path: Path, text: str | bytes = "1") -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(text if isinstance(text, bytes) else text.encode())


def workbook(*rows: str, strings: str = "") -> dict[str, str]:
    sheet = "".join(f'<row r="{number}">{row}</row>' for number, row in enumerate(rows, 1))
    return {
        "[Content_Types].xml": "<Types/>",
        "xl/worksheets/sheet1.xml": f"<worksheet><sheetData>{sheet}</sheetData></worksheet>",
        "xl/sharedStrings.xml": f"<sst>{strings}</sst>",
    }


def write_zip(path: Path, parts: dict[str, str]) -> None:
    with zipfile.ZipFile(path, "w") as archive:
        for name, text in parts.items():
            archive.writestr(name, text)


def forget(*arguments: object, given: str | None = None) -> tuple[int, str]:
    """Run the command; return its exit code and what it printed."""
    done = CliRunner().invoke(app, ["forget", *map(str, arguments)], input=given)
    return done.exit_code, done.output


def contents(folder: Path) -> dict[str, bytes]:
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


@pytest.fixture
def term(tmp_path: Path) -> Path:
    """All that a term leaves about ada and three others."""
    root = tmp_path / "term"
    names = {"ada": "Ada Lovelace", **OTHERS}
    for student in names:
        for folder in ("reports", "reports/sums"):
            write(root / folder / f"{student}.json", json.dumps({"student": student}))
            write(root / folder / "instructor" / f"{student}.pytest.json", "{}")
        write(root / "reports" / "earlier" / student / "2026-01-01.json", "{}")
        write(root / "feedback" / f"{student}.md", "# Feedback")
        write(root / "feedback" / f"{student}.html", "<html>")
        hand_in(root / "collected" / "sums" / student, "x = 1")
        hand_in(root / "originality" / "submissions" / student, "x = 1")
        write(root / "clones" / f"attention-{student}" / ".git" / "config", f"url = {REPOSITORIES[student]}.git")
        write(root / "exchange" / "inbound" / f"{student}+sums+2026-01-01" / "sums.ipynb", "{}")
    rows = [f"{name},{REPOSITORIES[name]},{names[name]},{name}@x.org" for name in names]
    write(root / "roster.csv", "\n".join(["student,repository,name,email", *rows, ""]))
    write(root / "times.csv", "".join(f"{name},sums,2026\r\n" for name in ("student,unit", "ada", "bela", "ada")))
    write(root / "canvas.csv", 'Student,ID,SIS Login ID,1\n"Ada, L.",1,ada,2\n"Ada, Adam",2,adam,3\n')
    students = [Student(student=name, repository=repository) for name, repository in REPOSITORIES.items()]
    collected = Collected(schema="attention-from-scratch/collected/v1", collected=NOW, units={}, students=students)
    write(root / "collected" / "collected.json", collected.to_json())
    looks = [json.dumps({"repository": one, "head": "0" * 40}) for one in [*REPOSITORIES.values()] * 2]
    write(root / "collected" / "snapshots.jsonl", "".join(f"{look}\n" for look in looks))
    return root


def test_everything_about_a_student_is_removed_and_nothing_about_others(term: Path) -> None:
    before = contents(term)
    (term / "roster.csv").chmod(0o600)
    exit_code, printed = forget("ada", term, "--yes")
    assert exit_code == 0, printed
    assert (term / "roster.csv").stat().st_mode & 0o777 == 0o600
    found = "Nothing is found now of: Ada Lovelace, Ada, L., ada, ada@x.org, our/attention-ada."
    assert found in printed.replace("\n", " ")
    after = contents(term)
    theirs = {
        path for path in before if any(f"/{part}" in f"/{path}" for part in ("ada.", "ada/", "ada+", "attention-ada/"))
    }
    assert len(theirs) == 11
    assert before.keys() - after.keys() == theirs
    assert {path for path in after if after[path] != before[path]} == set(SHARED)
    assert [line.split(",")[0] for line in after["roster.csv"].decode().splitlines()] == ["student", *OTHERS]
    assert after["times.csv"] == b"student,unit,sums,2026\r\nbela,sums,2026\r\n"
    assert after["canvas.csv"] == b'Student,ID,SIS Login ID,1\n"Ada, Adam",2,adam,3\n'
    left = Collected.model_validate_json(after["collected/collected.json"])
    assert [one.student for one in left.students] == list(OTHERS)
    assert after["collected/snapshots.jsonl"].count(b"\n") == 8
    assert forget("ada", term / "reports", term / "roster.csv", "--yes") == (0, "Nothing is found now of: ada.\n")
    assert contents(term) == after


def test_a_student_of_an_exported_roster_is_found_there(tmp_path: Path) -> None:
    rows = ["Jane,Doe,jdoe@a.org", "John,Doe,jdoe@b.org"]
    write(tmp_path / "roster.csv", "\n".join(["First name,Last name,Email address", *rows, ""]))
    write(tmp_path / "jdoe-b.org.json", json.dumps({"student": "jdoe-b.org"}))
    assert forget("jdoe-b.org", tmp_path, "--yes")[0] == 0
    assert contents(tmp_path) == {"roster.csv": b"First name,Last name,Email address\nJane,Doe,jdoe@a.org\n"}


def test_nothing_is_changed_without_a_yes(term: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    before = contents(term)
    exit_code, printed = forget("ada", term)
    assert exit_code == 2
    assert f"remove {term}/reports/sums/ada.json\n" in printed
    assert f"rewrite {term}/roster.csv without 1 of 5 rows\n" in printed
    assert "give --yes" in printed
    monkeypatch.setattr(importlib.import_module("grader.cli.instructor.forget"), "can_ask", lambda _: True)
    assert forget("ada", term, given="n\n")[1].endswith("Nothing was changed.\n")
    assert contents(term) == before
    assert forget("ada", term, given="y\n")[0] == 0
    assert contents(term) != before


def test_files_in_which_a_student_is_still_found_are_named_and_not_changed(term: Path) -> None:
    write(term / "grades.md", "| ADA LOVELACE | 5 |")
    write(term / "reports" / "bela.json", '{"student": "bela", "text": "thanks to ada@x.org"}')
    write_zip(term / "class.zip", {"students/ada/sums.py": "x = 1"})
    write_zip(term / "notes.docx", {"word/document.xml": "<t>our/attention-ada</t>"})
    write(term / "gradebook.db", b"\0SQLite\0ada\0")
    write(term / "broken.zip", b"PK\3\4")
    write(term / "others.txt", "van-ada, adam and our/attention-van-ada, but nobody's Adalbert")
    write(term / ".git" / "index", "ada")
    names = ("grades.md", "reports/bela.json", "class.zip", "notes.docx", "gradebook.db", "broken.zip", "others.txt")
    before = {name: (term / name).read_bytes() for name in names}
    exit_code, printed = forget("ada", term, "--yes")
    assert exit_code == 1
    found = [line for line in printed.splitlines() if "still found" in line or "cannot be searched" in line]
    assert len(found) == 6
    for name, advice in {
        "grades.md": "make it again",
        "reports/bela.json": "make it again",
        "class.zip": "delete the archive, or download it again",
        "notes.docx": "make it again",
        "gradebook.db": "run `nbgrader db student remove ada --force` in its folder",
        "broken.zip": "look at it yourself",
    }.items():
        assert any(f"{term}/{name}" in line and advice in line for line in found), name
    assert f"Neither searched nor changed: the git history of {term}, {term}/clones/attention-ada-b" in printed
    assert {name: (term / name).read_bytes() for name in names} == before


def test_a_gradebook_for_canvas_does_not_hide_the_real_name(tmp_path: Path) -> None:
    write(tmp_path / "roster.csv", "student,name,email\nada,Ada Lovelace,a@x.org\nbela,Bela Bo,b@x.org\n")
    write(
        tmp_path / "canvas.csv", "Student,ID,SIS User ID,SIS Login ID,Section,1\nAda Lovelace,1,,,,2\nBela Bo,2,,,,2\n"
    )
    write(tmp_path / "class.zip", "PK Ada Lovelace_11_assignsubmission_file_/sums.py")
    code, printed = forget("ada", tmp_path, "--yes")
    assert code == 1
    assert f"still found in {tmp_path / 'class.zip'}" in printed
    assert "Bela" in (tmp_path / "canvas.csv").read_text()


def test_files_of_other_students_are_not_believed_and_not_changed(term: Path, tmp_path: Path) -> None:
    bela = term / "collected" / "sums" / "bela"
    write(bela / "ada" / "sums.py")
    write(bela / "roster.csv", "student,folder,repository\nada,sums.py,our/attention-bela\n")
    write(bela / "ada.json", '{"student": "ada"}')
    outside = tmp_path / "outside"
    write(outside / "kept.txt")
    (term / "clones" / "ada").symlink_to(outside)
    before = contents(bela)
    assert forget("ada", term, "--yes")[0] == 1
    assert contents(bela) == before
    assert (outside / "kept.txt").exists()
    assert not (term / "clones" / "ada").is_symlink()
    assert (term / "clones" / "attention-bela").exists()
    assert b"our/attention-bela" in (term / "collected" / "snapshots.jsonl").read_bytes()


def test_what_a_group_handed_in_stays_for_the_others(term: Path) -> None:
    rows = ["ada,group 7,our/red", "bela,group 7,Our/Red", "adam,,", ""]
    write(term / "groups.csv", "\n".join(["student,folder,repository", *rows]))
    hand_in(term / "class" / "group 7", "x = 1")
    hand_in(term / "gradescope" / "submission_101", "x = 1")
    metadata = "submission_101:\n  :submitters:\n  - :name: ada\n  - :name: bela\n"
    write(term / "gradescope" / "submission_metadata.yml", metadata)
    write(term / "clones" / "red" / ".git" / "config", "url = our/red.git")
    group = report({"sums": unit({})}).model_copy(update={"student": "bela", "together": ["ada", "bela"]})
    reports = [term / "reports" / "bela.json", term / "reports" / "earlier" / "bela" / "2026-01-02.json"]
    for path in reports:
        write(path, group.to_json())
    exit_code, printed = forget("ada", term, "--yes")
    assert exit_code == 1
    assert "Of a group, so that it stays for the others: group 7, our/red." in printed
    for kept in ("class/group 7/sums.py", "clones/red/.git/config", "gradescope/submission_101/sums.py"):
        assert (term / kept).is_file()
    alone = group.model_copy(update={"together": []}).to_json()
    assert [path.read_text(encoding="utf-8") for path in reports] == [alone, alone]
    still = [line for line in printed.splitlines() if "still found" in line]
    assert len(still) == 1
    assert "submission_metadata.yml" in still[0]


def test_a_submission_of_several_on_gradescope_stays(tmp_path: Path) -> None:
    hand_in(tmp_path / "submission_101", "x = 1")
    write(tmp_path / "submission_metadata.yml", "submission_101:\n  :submitters:\n  - :name: Ada\n  - :name: Bela\n")
    exit_code, printed = forget("Ada_101", tmp_path, "--yes")
    assert exit_code == 1
    assert "Of a group, so that it stays for the others: submission_101." in printed
    assert (tmp_path / "submission_101" / "sums.py").is_file()
    assert "still found" in printed


@pytest.mark.parametrize(
    ("student", "files", "gone", "named"),
    [
        (
            "Ada-Lovelace_4712",
            ["Ada Lovelace_4712_assignsubmission_file_/x.py", "Ada Lovelace_47120_assignsubmission_file_/x.py"],
            [0],
            [1],
        ),
        ("doeada_11", ["doeada_11_901_x.py", "doeada_LATE_11_902_y.py", "doeada_112_903_x.py"], [0, 1], [2]),
        ("Zoe-OBrien", ["Zoë O'Brien/x.py", "Zoe-OBrien.tar.gz", "Zoe/x.py", "list.md"], [0, 1], [3]),
        ("Ada_101", ["submission_101/x.py", "submission_1010/x.py", "submission_metadata.yml"], [0], [2]),
        ("xiao", ["李小龙/x.py", "other/x.py"], [0], []),
    ],
)
def test_a_download_loses_the_student_s_submission(
    tmp_path: Path, student: str, files: list[str], gone: list[int], named: list[int]
) -> None:
    texts = {
        "submission_metadata.yml": "submission_101:\n  :submitters:\n  - :name: Ada\n",
        "list.md": "Zo&#235;, Zoë O&#x27;Brien",
    }
    for file in files:
        write(tmp_path / "class" / file, texts.get(file, "x = 1"))
    write(tmp_path / "roster.csv", "student,folder\nxiao,李小龙\nother,other\n")
    exit_code, printed = forget(student, tmp_path, "--yes")
    assert [n for n, file in enumerate(files) if not (tmp_path / "class" / file).exists()] == gone
    found = [line for line in printed.splitlines() if "still found" in line]
    assert [n for n, file in enumerate(files) if any(f"class/{file}: " in line for line in found)] == named
    assert exit_code == (1 if named else 0)


@pytest.mark.parametrize(
    ("table", "left"),
    [
        pytest.param("student,points\n4712,5\nbela,4712\n", "student,points\nbela,4712\n", id="points like an id"),
        pytest.param("unit,student\nsums,4712 \n", "unit,student\n", id="in another column"),
        pytest.param('student,note\n4712,"two\nlines"\nbela,"4712\n"\n', 'student,note\nbela,"4712\n"\n', id="lines"),
        pytest.param("\ufeffUsername,Points\r\n4712,1\r\n", "\ufeffUsername,Points\r\n", id="Moodle, from Windows"),
        pytest.param("Name,ID,Points\nBela,4712,1\n", None, id="the number of another one"),
        pytest.param("Email,Points\nJO@x.org,1\nbela@x.org,2\n", "Email,Points\nbela@x.org,2\n", id="an address"),
        pytest.param("Name,Points\nJo Doe,1\nBela,2\n", "Name,Points\nBela,2\n", id="a name"),
        pytest.param("Name,Points\nJo Doe,1\nJo Doe,2\n", None, id="a name of two"),
        pytest.param("student,name\nbela,Jo Doe\n", None, id="the name of another one"),
        pytest.param("filename,full_name,ignored\na/4712/x.py,4712,\n", "filename,full_name,ignored\n", id="Dolos"),
        pytest.param("A title,\nStudent ID,1\n4712,1\n", "A title,\nStudent ID,1\n", id="below a title"),
        pytest.param("notes\n4712\n", None, id="no table"),
    ],
)
def test_only_the_rows_of_the_student_leave_a_table(tmp_path: Path, table: str, left: str | None) -> None:
    write(tmp_path / "roster.csv", "student,name,email\n4712,Jo Doe,jo@x.org\n")
    write(tmp_path / "tables" / "table.csv", table)
    exit_code, printed = forget("4712", tmp_path, "--yes")
    assert (tmp_path / "tables" / "table.csv").read_bytes().decode() == (table if left is None else left)
    if left is None:
        assert exit_code == 1
        assert "table.csv: make it again" in printed.replace("\n", " ")


def test_a_student_s_row_of_a_workbook_is_emptied(tmp_path: Path) -> None:
    parts = workbook(
        '<c r="A1" t="s"><v>0</v></c><c r="C1" t="inlineStr"><is><t>Points</t></is></c>',
        '<c r="A2" t="s"><v>1</v></c><c r="B2" t="s"><v>3</v></c><c r="C2"><v>5</v></c>',
        '<c r="A3" t="s"><v>2</v></c><c r="B3" t="s"><v>3</v></c><c r="C3"><v>4</v></c>',
        strings="".join(f"<si><t>{text}</t></si>" for text in ("student", "ada", "adam", "Group 1")),
    )
    path = tmp_path / "grades.xlsx"
    write_zip(path, parts)
    exit_code, printed = forget("ada", path, "--yes")
    assert exit_code == 0, printed
    assert f"rewrite {path} without 1 of 2 rows" in printed
    with zipfile.ZipFile(path) as archive:
        left = {name: archive.read(name).decode() for name in archive.namelist()}
    sheet, strings = "xl/worksheets/sheet1.xml", "xl/sharedStrings.xml"
    first, second = parts[sheet].index('<row r="2">'), parts[sheet].index('<row r="3">')
    parts[sheet] = f'{parts[sheet][:first]}<row r="2"/>{parts[sheet][second:]}'
    parts[strings] = parts[strings].replace("<si><t>ada</t></si>", "<si><t/></si>")
    assert left == parts


def test_a_workbook_whose_row_computes_is_left_to_a_spreadsheet_program(tmp_path: Path) -> None:
    head = '<c r="A1" t="str"><v>student</v></c>'
    parts = workbook(head, '<c r="A2" t="str"><v>ada</v></c><c r="B2"><f>1+1</f><v>2</v></c>')
    write_zip(tmp_path / "grades.xlsx", parts)
    exit_code, printed = forget("ada", tmp_path, "--yes")
    assert exit_code == 1
    assert "grades.xlsx: make it again, or take it out by hand" in printed.replace("\n", " ")


def test_a_folder_to_which_another_command_writes_is_left_alone(term: Path) -> None:
    before = contents(term)
    with held(term / "reports"):
        exit_code, printed = forget("ada", term, "--yes")
    assert exit_code == 2
    assert f"Another command is writing to {term}/reports" in printed
    assert contents(term) == before


@pytest.mark.parametrize("student", ["../ada", "", "Solutions", "exercises"])
def test_a_name_that_no_student_can_have_is_refused(term: Path, student: str) -> None:
    before = contents(term)
    assert forget(student, term, "--yes")[0] == 2
    assert contents(term) == before


def test_a_student_s_own_folder_and_files_can_be_given(term: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(term / "reports")
    before = contents(term)
    exit_code, printed = forget("ADA", "../collected/sums/ada", "ada.json", "earlier/ada", "--yes")
    assert exit_code == 0, printed
    gone = {"collected/sums/ada/sums.py", "reports/ada.json", "reports/earlier/ada/2026-01-01.json"}
    assert before.keys() - contents(term).keys() == gone
    shutil.rmtree(term / "collected")
    assert forget("ada", term / "collected", "--yes")[0] == 2
