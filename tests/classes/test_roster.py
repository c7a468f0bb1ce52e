"""The roster, the exports that are read as one, and how submissions are matched to it."""

from __future__ import annotations

import datetime
from pathlib import Path

import pytest
from courses import REPOSITORY

from grader.classes.roster import Entry, Matcher, read_roster
from grader.classes.tables import TableError

HEADER = "student,repository\n"
UNITS = ("sums", "lists")


def written(folder: Path, text: str | bytes) -> Path:
    path = folder / "roster.csv"
    path.write_bytes(text.encode() if isinstance(text, str) else text)
    return path


def test_the_roster_of_the_examples_can_be_read() -> None:
    path = REPOSITORY / "examples" / "roster.csv"
    assert read_roster(path, UNITS)[0] == Entry("ada", repository="our-course/attention-ada")


@pytest.mark.parametrize(
    "text",
    [
        b'\xef\xbb\xbfstudent,repository\r\n"ada", our-course/attention-ada\r\n\r\n,\r\n',
        "repository;student;\nour-course/attention-ada;ada\n",
        "student\trepository\nada\tour-course/attention-ada\n",
    ],
    ids=["a byte order mark and blank rows", "semicolons and another order", "tabs"],
)
def test_a_roster_may_come_from_a_spreadsheet(tmp_path: Path, text: str | bytes) -> None:
    assert read_roster(written(tmp_path, text), UNITS) == [Entry("ada", repository="our-course/attention-ada")]


def test_a_column_of_a_unit_has_extensions_and_exemptions(tmp_path: Path) -> None:
    path = written(tmp_path, "student,sums,lists\nada,2027-02-03T23:59+01:00,Exempt\nbob,,\n")
    ada, bob = read_roster(path, UNITS)
    zone = datetime.timezone(datetime.timedelta(hours=1))
    assert ada.due == {"sums": datetime.datetime(2027, 2, 3, 23, 59, tzinfo=zone)}
    assert (set(ada.exempt), dict(bob.due), set(bob.exempt)) == ({"lists"}, {}, set())


@pytest.mark.parametrize(
    ("text", "entries"),
    [
        (
            "Student,ID,SIS User ID,SIS Login ID,Section,self_attention (9)\n    Points Possible,,,,,45\n"
            '"Doe, Jane",11,s-1,jane@x.org,A,3\n"Student, Test",99,,,A,\n',
            [Entry("jane", "Doe, Jane", "11", "", "s-1", "jane@x.org", "A")],
        ),
        (
            "First name,Last name,ID number,Email address\nZoë,O'Hara,77,zoe@x.org\nAl,Roe,78,zoe@y.org\n",
            [
                Entry("zoe_", "Zoë O'Hara", "", "zoe@x.org", "77"),
                Entry("zoe_", "Al Roe", "", "zoe@y.org", "78"),
            ],
        ),
        (
            "Identifier,Full name,Email address,Status,Grade\nParticipant 4712,Jane Doe,jane.doe@x.org,Submitted,-\n",
            [Entry("jane.doe", "Jane Doe", "4712", "jane.doe@x.org")],
        ),
        (
            "identifier,github_username,github_id,name\n4711,octo-jane,583,Jane\n",
            [Entry("octo-jane", "Jane", "583", "", "4711", "octo-jane")],
        ),
    ],
    ids=["Canvas's gradebook", "Moodle's participants", "Moodle's grading worksheet", "GitHub Classroom"],
)
def test_an_export_is_read_as_a_roster(tmp_path: Path, text: str, entries: list[Entry]) -> None:
    assert read_roster(written(tmp_path, text), UNITS) == entries


@pytest.mark.parametrize(
    ("found", "student", "rule"),
    [
        ("jane", "jane", "student"),
        ("JANE", "jane", "student"),
        ("Jane-Doe_4712", "jane", "id"),
        ("doejane_4712", "jane", "id"),
        ("Jane-Doe_9", "jane", "name"),
        ("doejane_9", "jane", "name"),
        ("jd1", "jane", "sis_login_id"),
        ("jane.doe", "jane", "email"),
        ("attention-jane", "jane", "repository"),
        ("eve", None, ""),
        ("Al-Roe_5", None, ""),
    ],
)
def test_a_submission_is_matched_by_the_first_rule_that_fits_one_student(
    found: str, student: str | None, rule: str
) -> None:
    jane = Entry("jane", "Doe, Jane", "4712", "jane.doe@x.org", "", "jd1@x.org", repository="o/attention-jane")
    twins = [Entry("al", "Al Roe"), Entry("al2", "Al Roe")]
    got = Matcher([jane, *twins]).match(found)
    assert (got and (got[0].student, got[1])) == (student and (student, rule))


def test_the_first_of_a_group_is_matched_and_names_the_others() -> None:
    group = [Entry("ada", folder="group 7"), Entry("bob", folder="Group 7")]
    team = [Entry("cyd", repository="o/team"), Entry("dan", repository="O/Team"), Entry("eve", repository="p/team")]
    matcher = Matcher([*group, *team])
    assert matcher.match("group 7") == (group[0], "folder")
    assert matcher.group(group[0], "folder") == group
    assert matcher.match("team") is None  # two repositories have this name
    assert Matcher(team[:2]).match("team") == (team[0], "repository")


@pytest.mark.parametrize(
    ("identifiers", "student"),
    [
        (["jane@x.org"], "jane"),
        (["4712"], "jane"),
        (["4712", "al@x.org"], None),
        (["5"], "al"),
        (["jane@y.org"], "al"),
        ([], "al"),
    ],
)
def test_a_platforms_ids_and_addresses_come_before_the_name(identifiers: list[str], student: str | None) -> None:
    entries = [Entry("jane", "Jane Doe", "4712", "jane@x.org"), Entry("al", "Al Roe", "5", "al@x.org")]
    # The number is that of the submission, and not of a student.
    found = Matcher(entries).match("Al-Roe_4712", identifiers)
    assert (found and found[0].student) == student


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
