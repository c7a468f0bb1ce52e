"""The roster of one's own: its columns, and problems with their lines."""

from __future__ import annotations

import datetime
from pathlib import Path

import pytest
from courses import REPOSITORY

from grader.classes.roster import RosterEntry, read_roster
from grader.classes.tables import TableError

HEADER = "student,repository\n"
UNITS = ("sums", "lists")


def written(folder: Path, text: str | bytes) -> Path:
    path = folder / "roster.csv"
    path.write_bytes(text.encode() if isinstance(text, str) else text)
    return path


def test_the_roster_of_the_examples_can_be_read() -> None:
    path = REPOSITORY / "examples" / "roster.csv"
    assert read_roster(path, UNITS)[0] == RosterEntry("ada", repository="our-course/attention-ada")


@pytest.mark.parametrize(
    "text",
    [
        b'\xef\xbb\xbfstudent,repository\r\n"ada", our-course/attention-ada\r\n\r\n,\r\n',
        "repository;student;\nour-course/attention-ada;ada\n",
        "student\trepository\nada\tour-course/attention-ada\n",
        '"sep=;"\r\nStudent;REPOSITORY\r\nada;our-course/attention-ada\r\n',
    ],
    ids=["a byte order mark and blank rows", "semicolons and another order", "tabs", "Excel's separator, other cases"],
)
def test_a_roster_may_come_from_a_spreadsheet(tmp_path: Path, text: str | bytes) -> None:
    assert read_roster(written(tmp_path, text), UNITS) == [RosterEntry("ada", repository="our-course/attention-ada")]


def test_a_column_of_a_unit_has_extensions_and_exemptions(tmp_path: Path) -> None:
    path = written(tmp_path, "student,sums,lists\nada,2027-02-03T23:59+01:00,Exempt\nbob,,\n")
    ada, bob = read_roster(path, UNITS)
    zone = datetime.timezone(datetime.timedelta(hours=1))
    assert ada.due == {"sums": datetime.datetime(2027, 2, 3, 23, 59, tzinfo=zone)}
    assert (set(ada.exempt), dict(bob.due), set(bob.exempt)) == ({"lists"}, {}, set())


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("", " is empty: write it, with a first line such as"),
        ("name,grade\n", "line 1: there is no column 'student'"),
        (HEADER, "names no student"),
        ("student\nada\n", "line 1: the column 'repository' is missing."),
        ("student,repository,sum\n", "line 1: 'sum' is not a column of this file. Did you mean 'sums'?"),
        ("student,student,repository\n", "line 1: there are two columns 'student'."),
        (f"{HEADER}ada\n", "line 2, repository: '' is not a repository on GitHub"),
        (f"{HEADER}ada,o/a,late\n", "line 2: there are 3 values for 2 columns"),
        (f"{HEADER}-ada,o/a\n", "line 2, student: '-ada' cannot be a student's name"),
        (f"{HEADER}../ada,o/a\n", "line 2, student: '../ada' cannot be a student's name"),
        (f"{HEADER}ada,attention-ada\n", "line 2, repository: 'attention-ada' is not a repository on GitHub"),
        (f"{HEADER}ada,https://github.com/o/a\n", "'https://github.com/o/a' is not a repository on GitHub"),
        (f"{HEADER}ada,o/..\n", "line 2, repository: 'o/..' is not a repository on GitHub"),
        (f"{HEADER}ada,o/a.git\n", "line 2, repository: 'o/a.git' is not a repository on GitHub"),
        (f"{HEADER}ada,--upload-pack=x/a\n", "is not a repository on GitHub"),
        (f"{HEADER}ada,o/a\n\nAda,o/b\n", "line 4, student: 'Ada' is in line 2, too: remove one."),
        (
            "student,repository,email\nada,o/a,\u00e9@x.org\nbo,o/b,e\u0301@x.org\n",
            "line 3, email: '\u00e9@x.org' is in line 2",
        ),
        (f"{HEADER}sums,o/a\n", "line 2, student: 'sums' is the name of a folder of the course"),
        (f"{HEADER}Sums,o/a\n", "line 2, student: 'Sums' is the name of a folder of the course"),
        (f"{HEADER}{'a' * 300},o/a\n", "line 2, student: the name has 300 characters: write 100 at most"),
        (f"{HEADER}CON,o/a\n", "line 2, student: 'CON' cannot be the name of a folder on Windows"),
        (f"{HEADER}nul.txt,o/a\n", "line 2, student: 'nul.txt' cannot be the name of a folder on Windows"),
        (f"{HEADER}ada.,o/a\n", "line 2, student: 'ada.' cannot be the name of a folder on Windows"),
        ("student,repository,sums\nada,o/a,soon\n", "line 2, sums: 'soon' is no extension: write a time such as"),
        ("student,repository,sums\nada,o/a,2027-02-03\n", "line 2, sums: '2027-02-03' is no extension"),
        (f'{HEADER}ada,"o/a\n', "line 2: this is not CSV"),
        (b"student,repository\n\xff,o/a\n", "is not UTF-8: save it as CSV in UTF-8."),
    ],
)
def test_each_problem_is_reported_with_its_line_and_column(tmp_path: Path, text: str | bytes, sentence: str) -> None:
    with pytest.raises(TableError) as error:
        read_roster(written(tmp_path, text), UNITS, {"sums"}, needs_repository=True)
    assert sentence in str(error.value)
    assert str(error.value).startswith(str(tmp_path / "roster.csv"))


def test_all_problems_are_reported_at_once(tmp_path: Path) -> None:
    with pytest.raises(TableError) as error:
        read_roster(written(tmp_path, f"{HEADER}a b,o/a\nbob,b\n"), UNITS)
    assert len(str(error.value).splitlines()) == 2


def test_a_missing_roster_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(TableError, match="does not exist: write it, with a first line such as student,"):
        read_roster(tmp_path / "roster.csv", UNITS)
