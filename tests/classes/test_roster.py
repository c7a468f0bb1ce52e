"""The roster, and the messages about a wrong one."""

from __future__ import annotations

from pathlib import Path

import pytest
from courses import REPOSITORY

from grader.classes.roster import Entry, RosterError, read_roster

HEADER = "student,repository\n"


def written(folder: Path, text: str | bytes) -> Path:
    path = folder / "roster.csv"
    path.write_bytes(text.encode() if isinstance(text, str) else text)
    return path


def test_the_roster_of_the_examples_can_be_read() -> None:
    assert read_roster(REPOSITORY / "examples" / "roster.csv")[0] == Entry("ada", "our-course/attention-ada")


def test_a_roster_may_come_from_a_spreadsheet(tmp_path: Path) -> None:
    path = written(tmp_path, b'\xef\xbb\xbfstudent,repository\r\n"ada", our-course/attention-ada\r\n\r\n,\r\n')
    assert read_roster(path) == [Entry("ada", "our-course/attention-ada")]


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("", "line 1: the first line must be student,repository, with commas between."),
        ("student;repository\n", "line 1: the first line must be student,repository, with commas between."),
        (HEADER, "names no student"),
        (f"{HEADER}ada\n", "line 2: there is no comma: write a student and a repository"),
        (f"{HEADER}ada,o/a,late\n", "line 2: there are 3 values: write a student and a repository"),
        (f"{HEADER}-ada,o/a\n", "line 2: '-ada' cannot be a student's name"),
        (f"{HEADER}../ada,o/a\n", "line 2: '../ada' cannot be a student's name"),
        (f"{HEADER}ada,attention-ada\n", "line 2: 'attention-ada' is not a repository on GitHub"),
        (f"{HEADER}ada,https://github.com/o/a\n", "line 2: 'https://github.com/o/a' is not a repository on GitHub"),
        (f"{HEADER}ada,o/..\n", "line 2: 'o/..' is not a repository on GitHub"),
        (f"{HEADER}ada,o/a.git\n", "line 2: 'o/a.git' is not a repository on GitHub"),
        (f"{HEADER}ada,--upload-pack=x/a\n", "is not a repository on GitHub"),
        (f"{HEADER}ada,o/a\n\nAda,o/b\n", "line 4: the student 'Ada' is in line 2, too: remove one."),
        (f"{HEADER}ada,o/a\nbob,O/A\n", "line 3: the repository 'O/A' is in line 2, too: remove one."),
        (f"{HEADER}sums,o/a\n", "line 2: 'sums' is the name of a folder of the course"),
        (f"{HEADER}Sums,o/a\n", "line 2: 'Sums' is the name of a folder of the course"),
        (f"{HEADER}{'a' * 300},o/a\n", "line 2: the student's name has 300 characters: write 100 at most"),
        (f"{HEADER}CON,o/a\n", "line 2: 'CON' cannot be the name of a folder on Windows"),
        (f"{HEADER}nul.txt,o/a\n", "line 2: 'nul.txt' cannot be the name of a folder on Windows"),
        (f"{HEADER}ada.,o/a\n", "line 2: 'ada.' cannot be the name of a folder on Windows"),
        (f'{HEADER}ada,"o/a\n', "line 2: this is not CSV"),
        (b"student,repository\n\xff,o/a\n", "is not UTF-8: save it as CSV in UTF-8."),
    ],
)
def test_each_problem_is_reported_with_its_line(tmp_path: Path, text: str | bytes, sentence: str) -> None:
    with pytest.raises(RosterError) as error:
        read_roster(written(tmp_path, text), {"sums"})
    assert sentence in str(error.value)
    assert str(error.value).startswith(str(tmp_path / "roster.csv"))


def test_all_problems_are_reported_at_once(tmp_path: Path) -> None:
    with pytest.raises(RosterError) as error:
        read_roster(written(tmp_path, f"{HEADER}a b,o/a\nbob,b\n"))
    assert len(str(error.value).splitlines()) == 2


def test_a_missing_roster_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(RosterError, match="does not exist: write it, with the first line student,repository"):
        read_roster(tmp_path / "roster.csv")
