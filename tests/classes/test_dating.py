"""Which time belongs to which hand-in, and what is said if that cannot be known."""

from __future__ import annotations

import datetime
from collections.abc import Mapping
from pathlib import Path
from zoneinfo import ZoneInfo

import pytest

from grader.classes.collected import CollectedClass, CollectedStudent, CollectedWork
from grader.classes.dating import Dating
from grader.classes.decisions import Decisions, read_decisions
from grader.classes.hand_ins import HandIn, hand_ins
from grader.classes.tables import TableError
from grader.classes.times import Time
from grader.course.model import Course, Late, UnitSettings
from grader.submissions.find import find_submissions

BERLIN = ZoneInfo("Europe/Berlin")
DUE = datetime.datetime(2027, 1, 25, 23, 59, tzinfo=BERLIN)
AFTER = DUE + datetime.timedelta(days=30)
UNITS = ("sums", "means")
CODE = "first = 1\n"
ROSTER = "student,name,email\nada,Ada Doe,ada@x.org\nbob,Bob Roe,bob@x.org\n"
HEADER = "Identifier,Full name,Email address,Status,Last modified (submission)\n"
ADA, BOB, ZOE = "Ada Doe_11", "Bob Roe_12", "Zoe Z_19"


def course() -> Course:
    units = {name: UnitSettings(title=name, due=DUE, exercises={f"add_{name}": 1}) for name in UNITS}
    late = Late(percent_per_day=10, most_percent=50)
    made: Course = Course.model_construct(units=units, late=late, timezone="Europe/Berlin")
    return made


def moodle(*students: str, unit: str = "sums") -> dict[str, str]:
    return {f"{student}_assignsubmission_file_/{unit}.py": CODE for student in students}


def worksheet(**days: int) -> str:
    """A worksheet of January 2027, by the numbers of students; the day 0 is none."""
    names = {"11": ADA, "12": BOB, "19": ZOE}
    rows = [
        f'Participant {number},{names[number].partition("_")[0]},,,"{f"{day} January 2027, 10:00" if day else "-"}"\n'
        for number, day in ((name.removeprefix("n"), day) for name, day in days.items())
    ]
    return HEADER + "".join(rows).replace(',"', ',"Friday, ').replace("Friday, -", "-")


def on(day: int) -> datetime.datetime:
    return datetime.datetime(2027, 1, day, 10, tzinfo=BERLIN)


class Term:
    """A folder with a roster, tables and downloads."""

    def __init__(self, folder: Path, downloads: Mapping[str, Mapping[str, str]], tables: Mapping[str, str]) -> None:
        self.folder = folder
        for name, files in downloads.items():
            for path, text in files.items():
                (folder / name / path).parent.mkdir(parents=True, exist_ok=True)
                (folder / name / path).write_text(text, encoding="utf-8")
        for name, text in {"roster": ROSTER, **tables}.items():
            (folder / f"{name}.csv").write_text(text, encoding="utf-8")
        self.times: dict[str, list[Time | None]] = {}

    def dated(self, *downloads: str, unit: str = "sums") -> Dating:
        """Find out when all hand-ins in these downloads came."""
        paths = [self.folder / name for name in downloads]
        decisions = read_decisions(self.folder / "roster.csv", course(), paths)
        found = hand_ins(find_submissions(paths, UNITS, folders=decisions.folders), decisions)
        dating = Dating(decisions, paths, found.of, [unit])
        for student, own in found.of.items():
            self.times[student] = dating.times(student, unit, own, range(len(own)))
        return dating

    def at(self, student: str) -> list[datetime.datetime | None]:
        return [time.at if time else None for time in self.times[student]]


TWO = {"monday": moodle(ADA, BOB), "friday": moodle(ADA, BOB, ZOE)}


def test_a_worksheet_belongs_to_the_download_of_its_name(tmp_path: Path) -> None:
    tables = {"times_monday": worksheet(n11=18, n12=18), "times_friday": worksheet(n11=29, n12=0, n19=29)}
    term = Term(tmp_path, TWO, tables)
    dating = term.dated("monday", "friday")
    assert term.at("ada") == [on(18), on(29)]
    assert term.times["bob"] == [Time(on(18), "times_monday.csv"), Time(None, "times_friday.csv")]
    # Who is in no roster is known by the number.
    assert term.times["Zoe-Z_19"] == [Time(on(29), "times_friday.csv")]
    assert dating.notes == []


def test_a_worksheet_of_one_download_says_nothing_about_another(tmp_path: Path) -> None:
    term = Term(tmp_path, TWO, {"times_friday": worksheet(n11=29, n12=29, n19=29)})
    [note] = term.dated("monday", "friday").notes
    assert term.times["ada"] == [None, Time(on(29), "times_friday.csv")]
    assert note.startswith(f"Nothing says when the submissions of sums in '{tmp_path / 'monday'}' came, so they count")


def test_a_worksheet_of_a_unit_belongs_to_the_only_download(tmp_path: Path) -> None:
    term = Term(tmp_path, {"monday": moodle(ADA)}, {"times_sums": worksheet(n11=18)})
    term.dated("monday")
    assert term.at("ada") == [on(18)]


@pytest.mark.parametrize(
    ("downloads", "tables", "sentence"),
    [
        (
            TWO,
            ["sums"],
            "times_sums.csv: it cannot be known which of '{0}/monday' and '{0}/friday' it is about: rename",
        ),
        (TWO, ["sums", "monday"], "it is about: rename it to times_friday.csv."),
        # Names of files and numbers of another assignment do not say it.
        (
            {"one": {"ada/means.py": CODE}, "two": {"ada/sums.py": CODE}},
            ["sums"],
            "which of '{0}/one' and '{0}/two' it is about: rename it to times_one.csv or times_two.csv.",
        ),
        (
            {"one": moodle("Ada Doe_511"), "two": moodle("Ada Doe_611")},
            ["sums"],
            "which of '{0}/one' and '{0}/two' it is about: rename it to times_one.csv or times_two.csv.",
        ),
        (
            {"a/sums": moodle(ADA), "b/sums": moodle(ADA)},
            ["sums"],
            "several downloads are called 'sums', and it can be",
        ),
    ],
)
def test_a_worksheet_that_may_be_about_several_downloads_is_refused(
    tmp_path: Path, downloads: dict[str, dict[str, str]], tables: list[str], sentence: str
) -> None:
    term = Term(tmp_path, downloads, {f"times_{name}": worksheet(n11=18) for name in tables})
    with pytest.raises(TableError) as error:
        term.dated(*downloads)
    assert sentence.format(tmp_path) in str(error.value)


def test_a_worksheet_of_a_unit_belongs_to_the_only_download_with_its_numbers(tmp_path: Path) -> None:
    downloads = {"one": moodle("Ada Doe_511"), "two": moodle(ADA)}  # two assignments for one unit
    term = Term(tmp_path, downloads, {"times_sums": worksheet(n11=18)})
    term.dated("one", "two")
    assert term.at("ada") == [None, on(18)]


def test_a_worksheet_with_the_name_of_a_download_that_is_not_given_is_not_used_for_another(tmp_path: Path) -> None:
    downloads = {"sums": moodle(ADA), "friday": moodle(ADA)}
    term = Term(tmp_path, downloads, {"times_sums": worksheet(n11=18)})
    dating = term.dated("friday")
    assert term.times["ada"] == [None]
    [note] = dating.notes
    assert "is taken for the worksheet of the download 'sums', which lies here and is not graded now." in note
    assert "If it is not, rename it to times_friday.csv." in note
    term.dated("sums", "friday")
    assert term.at("ada") == [on(18), None]
    # A folder of reports is no download.
    (tmp_path / "sums" / "instructor").mkdir()
    term.dated("friday")
    assert term.at("ada") == [on(18)]


def test_the_number_comes_before_the_name_and_another_number_is_another_assignment(tmp_path: Path) -> None:
    downloads = {"sums": moodle("Ada Doe_11", "Ada Doe_99")}
    sheet = f'{HEADER}Participant 99,Ada Doe,,,"Friday, 29 January 2027, 10:00"\n'
    folders = [
        f"{name},Ada Doe,Ada Doe_{number}_assignsubmission_file_\n" for name, number in (("ada", 11), ("eve", 99))
    ]
    term = Term(tmp_path, downloads, {"times_sums": sheet, "roster": "student,name,folder\n" + "".join(folders)})
    term.dated("sums")
    assert term.times == {"ada": [Time(None, "times_sums.csv")], "eve": [Time(on(29), "times_sums.csv")]}


def test_a_worksheet_of_another_assignment_is_named(tmp_path: Path) -> None:
    term = Term(tmp_path, {"friday": moodle("Ada Doe_511", "Bob Roe_512")}, {"times_sums": worksheet(n11=18, n12=18)})
    [note] = term.dated("friday").notes
    assert "times_sums.csv has none of the numbers in the names of" in note
    assert term.times["ada"] == [Time(None, "times_sums.csv")]


@pytest.mark.parametrize("header", [HEADER, HEADER.upper(), HEADER.lower()])
def test_without_numbers_the_worksheet_is_matched_by_address_and_name(tmp_path: Path, header: str) -> None:
    rows = '7,A. Doe,ADA@x.org,,"Friday, 29 January 2027, 10:00"\n8,Bob Roe,,,"Monday, 18 January 2027, 10:00"\n'
    term = Term(tmp_path, {"sums": {"ada/sums.py": CODE, "bob/sums.py": CODE}}, {"times_sums": header + rows})
    term.dated("sums")
    assert (term.at("ada"), term.at("bob")) == ([on(29)], [on(18)])


def test_a_worksheet_that_belongs_to_nothing_is_named(tmp_path: Path) -> None:
    names = ("times_fryday", "times_monday", "times_sums")
    term = Term(tmp_path, TWO, {name: worksheet(n11=18) for name in names})
    [note] = term.dated("friday").notes
    # Monday's lies beside the roster, and the unit's belongs to the only download.
    assert note.startswith(
        f"{tmp_path / 'times_fryday.csv'} is not used: 'fryday' is neither a unit nor a download here."
    )


def test_a_table_beside_a_download_and_not_beside_the_roster_is_named(tmp_path: Path) -> None:
    term = Term(tmp_path, {"moodle/friday": moodle(ADA)}, {"moodle/times_friday": worksheet(n11=18)})
    assert term.dated("moodle/friday").notes == [
        f"{tmp_path / 'moodle/times_friday.csv'} is not used: put it beside the roster."
    ]


LINE = "student,unit,time,submission\n"
MONDAY, FRIDAY = "2027-01-18T10:00+01:00", "2027-01-29T10:00+01:00"
UNKNOWN = Time(None, "times.csv")


@pytest.mark.parametrize(
    ("lines", "times"),
    [
        ([("", MONDAY)], [UNKNOWN, UNKNOWN]),
        ([("monday", MONDAY)], [on(18), UNKNOWN]),
        ([("Friday.zip", FRIDAY)], [UNKNOWN, on(29)]),
        ([("monday", MONDAY), ("friday", FRIDAY)], [on(18), on(29)]),
        ([("", MONDAY), ("friday", FRIDAY)], [on(18), on(29)]),  # one submission is left for it
        ([("ada", MONDAY)], [UNKNOWN, UNKNOWN]),  # there is an `ada` in both
        ([("friday/ada", FRIDAY)], [UNKNOWN, on(29)]),
        ([("friday", FRIDAY), ("friday/ada", MONDAY)], [UNKNOWN, UNKNOWN]),
        ([("fridy", FRIDAY)], [UNKNOWN, UNKNOWN]),
    ],
)
def test_a_line_of_times_csv_is_about_one_submission(
    tmp_path: Path, lines: list[tuple[str, str]], times: list[datetime.datetime | Time]
) -> None:
    table = LINE + "".join(f"ada,sums,{time},{submission}\n" for submission, time in lines)
    files = {"ada/sums.py": CODE, "bob/sums.py": CODE}
    term = Term(tmp_path, {"monday": files, "friday": files}, {"times": table})
    dating = term.dated("monday", "friday")
    assert term.times["ada"] == [one if isinstance(one, Time) else Time(one, "times.csv") for one in times]
    assert term.times["bob"] == [None, None]
    # What cannot be known is said, with the line.
    submissions = {submission for submission, _ in lines}
    is_unclear = UNKNOWN in times and not submissions <= {"monday", "Friday.zip"} and submissions != {"friday/ada"}
    assert [note for note in dating.notes if f"{tmp_path / 'times.csv'}, line 2" in note] == dating.notes[:is_unclear]
    assert len(dating.notes) == is_unclear


@pytest.mark.parametrize(
    ("submission", "sentence"),
    [
        ("", "line 2: it may be about 2 submissions of sums by ada, in 'monday' and 'friday'. Their times are unknown"),
        ("fridy", "line 2, submission: 'fridy' is no submission of ada here, and no download: correct the name."),
        ("monday\nada,sums,2027-01-19T10:00Z,friday\nada,sums,2027-01-19T10:00Z,", "line 4: other lines are about all"),
        ("sunday", ""),  # a download that is not graded now
    ],
)
def test_a_line_that_cannot_be_used_is_named(tmp_path: Path, submission: str, sentence: str) -> None:
    table = f"{LINE}ada,sums,{MONDAY},{submission}\n"
    term = Term(tmp_path, {**TWO, "sunday": moodle(BOB)}, {"times": table})
    assert sentence in "".join(term.dated("monday", "friday").notes)
    assert bool(sentence) == bool(term.dated("monday", "friday").notes)


def test_a_line_about_a_download_without_a_submission_of_the_student_is_named(tmp_path: Path) -> None:
    table = f"{LINE}ada,sums,{MONDAY},Friday.zip\n"
    [note] = Term(tmp_path, {"monday": moodle(ADA), "friday": moodle(BOB)}, {"times": table}).dated(*TWO).notes
    assert note.endswith("line 2: ada has no submission in 'Friday.zip': correct the line, or remove it.")


def test_a_line_comes_before_the_worksheet_and_leaves_it_the_other_submission(tmp_path: Path) -> None:
    tables = {f"times_{name}": worksheet(n11=19) for name in TWO}
    term = Term(tmp_path, TWO, {**tables, "times": f"{LINE}ada,sums,{MONDAY},monday\n"})
    term.dated("monday", "friday")
    assert term.times["ada"] == [Time(on(18), "times.csv"), Time(on(19), "times_friday.csv")]


METADATA = """\
submission_1:
  :submitters:
  - :name: Ada Doe
  :created_at: 2027-01-29 09:00:00.000000000 Z
submission_2:
  :submitters:
  - :name: Bob Roe
"""


@pytest.mark.parametrize(
    ("metadata", "times"),
    [
        (METADATA, [Time(on(29), "Gradescope"), Time(None, "Gradescope")]),
        (
            METADATA.replace(" Z", " -01:00").replace("29 09", "29 08"),
            [Time(on(29), "Gradescope"), Time(None, "Gradescope")],
        ),
        (METADATA.replace(" Z", ""), [None, None]),  # nobody knows its zone
        (METADATA.replace("2027-01-29 09:00:00.000000000 Z", "yesterday"), [None, None]),
    ],
)
def test_gradescopes_metadata_has_times(tmp_path: Path, metadata: str, times: list[Time | None]) -> None:
    files = {"submission_1/sums.py": CODE, "submission_2/sums.py": CODE, "submission_metadata.yml": metadata}
    term = Term(tmp_path, {"export": files}, {})
    term.dated("export")
    assert [term.times["ada"][0], term.times["bob"][0]] == times


def test_canvas_marks_late_uploads_and_the_others_are_in_time(tmp_path: Path) -> None:
    files = {"doeada_LATE_1_20_sums.py": CODE, "roebob_2_21_sums.py": CODE}
    term = Term(tmp_path, {"canvas": files}, {})
    term.dated("canvas")
    assert (term.times["ada"], term.times["bob"]) == ([Time(None, "Canvas")], [None])


def test_a_file_of_a_student_is_not_taken_for_the_times_of_the_others(tmp_path: Path) -> None:
    stamp = {"ada/sums/timestamp.txt": "2027-01-18 09:00:00 UTC"}
    files = {f"{student}/sums/sums.py": CODE for student in ("ada", "bob", "eve")}
    term = Term(tmp_path, {"class": {**files, **stamp}}, {})
    term.dated("class")
    assert term.times["bob"] == [None]
    (tmp_path / "class/eve/sums/timestamp.txt").write_text("2027-01-18 09:00:00 UTC")
    term.dated("class")
    assert (term.times["ada"], term.times["bob"]) == ([Time(on(18), "nbgrader")], [Time(None, "nbgrader")])


def test_pushes_to_github_have_times_and_a_line_may_be_about_late_work(tmp_path: Path) -> None:
    early = CollectedWork(
        commit="1", dated_by="push", pushed=on(18), late=CollectedWork(commit="2", dated_by="push", pushed=on(29))
    )
    students = [
        CollectedStudent(student="ada", repository="our/ada", units={"sums": early}),
        CollectedStudent(
            student="bob", repository="our/bob", units={"sums": CollectedWork(commit="3", dated_by="nothing")}
        ),
    ]
    files = {f"{folder}/sums.py": CODE for folder in ("sums/ada", "sums/bob", "sums/mailed", "late/sums/ada")}
    term = Term(tmp_path, {"collected": files}, {})
    seen = CollectedClass(schema="attention-from-scratch/collected/v1", collected=AFTER, units={}, students=students)
    (tmp_path / "collected" / "collected.json").write_text(seen.to_json(), encoding="utf-8")
    term.dated("collected/sums")
    assert term.times == {
        "ada": [Time(on(18), "push"), Time(on(29), "push")],
        "bob": [Time(None, "GitHub")],
        "mailed": [Time(None, "GitHub")],
    }
    (tmp_path / "times.csv").write_text(f"{LINE}ada,sums,2027-01-30T10:00+01:00,late/sums\n", encoding="utf-8")
    assert term.dated("collected/sums").notes == []
    assert term.times["ada"] == [Time(on(18), "push"), Time(on(30), "times.csv")]


def test_what_has_no_answers_of_the_unit_is_not_late(tmp_path: Path) -> None:
    tree, path = tmp_path / "sums" / "ada", tmp_path / "sums"
    Term(tmp_path, {"sums": moodle(ADA)}, {"times_sums": worksheet(n11=0)})
    decisions = read_decisions(tmp_path / "roster.csv", course(), [path])
    own = [HandIn(tree, path)]
    dating = Dating(decisions, [path], {"ada": own}, ["sums"])
    assert dating.times("ada", "sums", own, []) == [None]


def test_without_a_roster_there_are_no_tables(tmp_path: Path) -> None:
    own = [HandIn(tmp_path / "ada", tmp_path)]
    assert Dating(Decisions(course()), [tmp_path], {"ada": own}, ["sums"]).times("ada", "sums", own, [0]) == [None]
