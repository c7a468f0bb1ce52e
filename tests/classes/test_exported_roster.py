"""Rosters that platforms export: everybody is one student with one name, and nobody is left out in silence."""

from __future__ import annotations

from pathlib import Path

import pytest

from grader.classes.roster import RosterEntry, read_roster
from grader.classes.tables import TableError

CANVAS = "Student,ID,SIS User ID,SIS Login ID,Section,self_attention (9)\n"
MOODLE = "First name,Last name,Email address,Groups\n"
CLASSROOM_50 = "username,first_name,last_name,email,section,github_id,role\n"
GITHUB_CLASSROOM = "identifier,github_username,github_id,name\n"


def written(folder: Path, text: str) -> Path:
    path = folder / "roster.csv"
    path.write_text(text, encoding="utf-8")
    return path


EXPORTS = {
    "Canvas's gradebook": (
        f'{CANVAS},,,,,Manual Posting\n    Points Possible,,,,,45\n"Doe, Jane",11,s-1,jane@x.org,A,3\n'
        '"Student, Test",99,,,A,\n',
        [RosterEntry("jane", "Doe, Jane", "11", "", "s-1", "jane@x.org", "A")],
    ),
    "Canvas's gradebook in lower case": (
        'student,id,sis login id,section\n"doe, jane",11,jane,A\n',
        [RosterEntry("jane", "doe, jane", "11", "", "", "jane", "A")],
    ),
    "Canvas's gradebook without logins, with semicolons": (
        "sep=;\nStudent;ID;Section\nDoe, Jane;11;A\nDoe, Jane;12;A\n",
        [
            RosterEntry("Doe-Jane_11", "Doe, Jane", "11", section="A"),
            RosterEntry("Doe-Jane_12", "Doe, Jane", "12", section="A"),
        ],
    ),
    "Moodle's participants": (
        "First name,Last name,ID number,Email address\nZoë,O'Hara,77,zoe@x.org\nAl,Roe,78,al@y.org\n",
        [RosterEntry("zoe", "Zoë O'Hara", "", "zoe@x.org", "77"), RosterEntry("al", "Al Roe", "", "al@y.org", "78")],
    ),
    "Moodle's grades": (
        "First name,Surname,ID number,Email address,Course total (Real)\nAda,Doe,77,ada@x.org,-\n",
        [RosterEntry("ada", "Ada Doe", "", "ada@x.org", "77")],
    ),
    "Moodle's grading worksheet": (
        "Identifier,Full name,Email address,Status,Grade\nParticipant 4712,Jane Doe,jane.doe@x.org,Submitted,-\n",
        [RosterEntry("jane.doe", "Jane Doe", "4712", "jane.doe@x.org")],
    ),
    "Moodle's grading worksheet without names": (
        "Identifier,Status,Grade\nParticipant 4712,Submitted for grading,-\n",
        [RosterEntry("Participant_4712", "", "4712")],
    ),
    "GitHub Classroom, linked and not": (
        f"{GITHUB_CLASSROOM}4711,octo-jane,583,Jane\nbela@x.org,,,\nBo Li,,,\n",
        [
            RosterEntry("octo-jane", "Jane", "583", "", "4711", "octo-jane"),
            RosterEntry("bela", "", "", "bela@x.org"),
            RosterEntry("Bo-Li", "Bo Li"),
        ],
    ),
    "Classroom 50, accepted and invited": (
        f"{CLASSROOM_50}octo-jane,Jane,Doe,jane@x.org,A,583,student\n,,,bela@x.org,,,\n",
        [
            RosterEntry("octo-jane", "Jane Doe", "583", "jane@x.org", "", "octo-jane", "A"),
            RosterEntry("bela", "", "", "bela@x.org"),
        ],
    ),
    "Gradescope": (
        "First Name,Last Name,SID,Email,Role,Sections\nJane,Doe,77,jane@x.org,Student,A\n",
        [RosterEntry("jane", "Jane Doe", "", "jane@x.org", "77", section="A")],
    ),
}


@pytest.mark.parametrize(("text", "entries"), EXPORTS.values(), ids=EXPORTS)
def test_an_export_is_read_as_a_roster(tmp_path: Path, text: str, entries: list[RosterEntry]) -> None:
    assert read_roster(written(tmp_path, text), ["self_attention"]) == entries


@pytest.mark.parametrize("order", [1, -1])
def test_two_students_never_have_one_name_whatever_their_order(tmp_path: Path, order: int) -> None:
    rows = ["Jane,Doe,jdoe@a.org,\n", "John,Doe,jdoe@b.org,\n", "Jo,Doe,doe@b.org,\n"]
    roster = read_roster(written(tmp_path, MOODLE + "".join(rows[::order])), [])
    assert {entry.name: entry.student for entry in roster} == {
        "Jane Doe": "jdoe-a.org",
        "John Doe": "jdoe-b.org",
        "Jo Doe": "doe",
    }


@pytest.mark.parametrize(
    "text",
    [
        f'{CANVAS}"Kis, Bela",12,u1,bela,A,\n"Kis, Bela",12,u1,bela,B,\n',
        f"{MOODLE}Bela,Kis,bela@x.org,A\nBela,Kis,BELA@x.org,B\n",
        f"{CLASSROOM_50},,,bela@x.org,A,,\nbela,Bela,Kis,bela@x.org,B,5,student\n",
    ],
    ids=["Canvas, by section", "Moodle", "Classroom 50, invited and accepted"],
)
def test_one_student_in_two_rows_is_one_with_both_sections(tmp_path: Path, text: str) -> None:
    [bela] = read_roster(written(tmp_path, text), [])
    assert (bela.student, bela.section) == ("bela", "A, B")


def test_what_is_added_to_an_export_counts_in_any_row_of_a_student(tmp_path: Path) -> None:
    header = "Student,ID,SIS Login ID,Section,self_attention,folder\n"
    text = f'{header}"Kis, Bela",12,bela,A,,\n"Kis, Bela",12,bela,B,exempt,group 7\n"Doe, Jane",13,jane,B,3.5,\n'
    roster = read_roster(written(tmp_path, text), ["self_attention"])
    assert [(entry.folder, {*entry.exempt}) for entry in roster] == [("group 7", {"self_attention"}), ("", set())]


def test_teachers_and_assistants_are_left_out_and_named_unless_they_are_students_too(tmp_path: Path) -> None:
    text = (
        "First name,Last name,Email address,Roles\nAda,Doe,ada@x.org,Student\nTom,Ny,tom@x.org,Non-editing teacher\n"
        'Bo,Li,bo@x.org,"Teacher, Student"\nEve,Li,eve@x.org,No roles\nEve,Li,eve@x.org,Teacher\n'
    )
    roster = read_roster(written(tmp_path, text), [])
    assert [entry.student for entry in roster] == ["ada", "bo", "eve"]
    assert list(map(str, roster.staff)) == ["Tom Ny"]
    assert roster.notes == [
        "Left out of the class by their role: Tom Ny (Non-editing teacher).",
        "Counted as students, with another role: Eve Li (No roles, Teacher).",
    ]


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        (
            f"{MOODLE}Jane,Doe,jdoe@a.org,\nJohn,Doe,jdoe@a.org,\n",
            "line 3, name: 'John Doe' here, and 'Jane Doe' in line 2, which is the same student by 'jdoe@a.org'",
        ),
        (
            f'{CANVAS}"A, B",1,u1,,X,\n"A, B",,u1,lo,Y,\n"C, D",,,lo,Z,\n',
            "line 4, Student: 'C, D' here, and 'A, B' in line 2, which is the same student by 'lo'",
        ),
        (
            f"{MOODLE}Jane,Doe,,\nJane,Doe,,\n",
            "line 3, name: 'Jane Doe' would have the same name in reports as line 2, 'Jane-Doe': add a login,",
        ),
        (
            f"{GITHUB_CLASSROOM}Bo Li,,,\nBo Li,,,\n",
            "line 3, name: 'Bo Li' would have the same name in reports as line 2, 'Bo-Li': add a login,",
        ),
        (f"sep=,\n{MOODLE}Jane,Doe,j@x.org,\n,,,B\n", "line 4, name: nothing says who this is: add a name,"),
        (f"{MOODLE}小龙,李,,\n", "line 2, name: no name for reports can be made of '小龙 李': add a login"),
        (
            f"{MOODLE.strip()},folder\nAda,Doe,a@x.org,,red\nAda,Doe,a@x.org,,blue\n",
            "line 3, folder: 'blue' here, and 'red' in line 2, which is the same student by 'a@x.org'",
        ),
        (f"{MOODLE.strip()},sums\nAda,Doe,a@x.org,,soon\n", "line 2, sums: 'soon' is no extension: write a time"),
        ("sep=;\nVorname;Nachname\n", "line 2: there is no column 'student'."),
        ("Name,Email,email\nJane,j@x.org,k@x.org\n", "line 1: there are two columns 'Email'. Remove one."),
    ],
)
def test_what_is_not_clear_is_refused_with_its_lines(tmp_path: Path, text: str, sentence: str) -> None:
    with pytest.raises(TableError) as error:
        read_roster(written(tmp_path, text), ["sums"])
    assert sentence in str(error.value)
