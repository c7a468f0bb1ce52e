"""Extensions, late deductions, adjustments and exemptions, applied to reports; and the tables that they come from."""

from __future__ import annotations

import datetime
from fractions import Fraction
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

import pytest
from made_reports import exercise, quiz, report, unit

from grader.classes.decisions import Adjustment, Decisions, read_adjustments, read_decisions
from grader.classes.roster import RosterEntry
from grader.classes.tables import TableError
from grader.classes.times import CANVAS, Time
from grader.course.model import Course, Late, UnitSettings
from grader.reports.exporters.html import page
from grader.reports.exporters.job_summary import summary
from grader.reports.reading import change_sentences, exercise_comments
from grader.reports.report_model import Report

BERLIN = ZoneInfo("Europe/Berlin")
# The night of 28 March 2027 has 23 hours: clocks go forward at 02:00.
DUE = datetime.datetime(2027, 3, 27, 23, 59, tzinfo=BERLIN)
HOUR = datetime.timedelta(hours=1)


def course(**late: Any) -> Course:
    rules = {"grace_minutes": 10, "percent_per_day": 10.0, "most_percent": 50.0, **late}
    units = {name: UnitSettings(title=name, due=DUE, exercises={f"add_{name}": 1}) for name in ("sums", "means")}
    made: Course = Course.model_construct(units=units, late=Late(**rules), timezone="Europe/Berlin")
    return made


def earned(points: int, possible: int = 45) -> Report:
    return report({"sums": unit({"add_sums": exercise(points, possible - points)})})


def applied(points: int, at: datetime.datetime | None, source: str = "times.csv", **given: Any) -> Report:
    decisions = Decisions(course(), **{"entries": [RosterEntry("ada")], **given})
    return decisions.applied(earned(points), {"sums": Time(at, source)})


@pytest.mark.parametrize(
    ("late", "points"),
    [
        (datetime.timedelta(), 45),
        (datetime.timedelta(minutes=10), 45),  # the end of the grace period
        (datetime.timedelta(minutes=10, seconds=1), 40),  # 40.5, rounded down
        (24 * HOUR, 40),
        (24 * HOUR + datetime.timedelta(seconds=1), 36),
        (100 * 24 * HOUR, 22),
    ],
)
def test_each_day_that_has_begun_takes_its_share_and_the_rest_is_rounded_down_once(
    late: datetime.timedelta, points: int
) -> None:
    found = applied(45, (DUE.astimezone(datetime.UTC) + late)).units["sums"]
    assert (found.points, found.earned) == (points, 45)
    assert sum(change.points for change in found.changes) == pytest.approx(-(45 - points), abs=0.5)


def test_a_day_has_24_hours_also_when_clocks_change() -> None:
    same_time_next_day = datetime.datetime(2027, 3, 28, 23, 59, tzinfo=BERLIN)
    assert (same_time_next_day.astimezone(datetime.UTC) - DUE.astimezone(datetime.UTC)) == 23 * HOUR
    one_hour_more = same_time_next_day.astimezone(datetime.UTC) + HOUR
    half_a_minute_later = same_time_next_day + datetime.timedelta(seconds=30)
    for time in (same_time_next_day, half_a_minute_later, one_hour_more):
        assert applied(45, time).points == 40
    assert applied(45, one_hour_more + datetime.timedelta(seconds=1)).points == 36


@pytest.mark.parametrize("after", [datetime.timedelta(), HOUR])
def test_an_extension_past_the_largest_deduction_moves_the_due_date(after: datetime.timedelta) -> None:
    extended = DUE + datetime.timedelta(days=20)
    entry = RosterEntry("ada", due={"sums": extended})
    found = applied(45, extended + after, entries=[entry]).units["sums"]
    assert found.points == (40 if after else 45)
    assert (found.due, found.extended) == (extended.isoformat(), True)


def test_the_report_says_what_was_earned_what_changed_it_and_why() -> None:
    adjustments = [Adjustment("ada", "sums", "add_sums", Fraction("1.5"), "The text was unclear.", "Ms Roe")]
    found = applied(45, DUE + HOUR, adjustments=adjustments).units["sums"]
    assert found.points == 42  # 45 - 4.5 + 1.5
    assert change_sentences(found, "Europe/Berlin") == [
        "Handed in: 2027-03-28 00:59 CET (times.csv).",
        "Due: 2027-03-27 23:59 CET.",
        "Earned: 45 of 45.",
        "-4.5 points: Late: 1 day has begun since it was due, 2027-03-27 23:59 CET. 10 %.",
        "+1.5 points, add_sums: The text was unclear. (Ms Roe)",
        "Together, rounded down: 42 of 45.",
    ]


def test_the_deduction_is_exact() -> None:
    thirds = Decisions(course(percent_per_day=30.0, most_percent=30.0), [RosterEntry("ada")])
    assert thirds.applied(earned(10, 10), {"sums": Time(DUE + HOUR, "push")}).points == 7  # 10 * (1 - 0.3) is 6.99…


def test_half_a_point_is_rounded_down() -> None:
    assert applied(35, DUE + HOUR).points == 31  # 31.5, which is nearer to 32


def test_no_points_are_taken_off_until_it_is_known_when_late_work_came() -> None:
    found = applied(45, None, CANVAS).units["sums"]
    assert (found.points, found.changes) == (45, [])
    assert found.received is not None
    assert found.received.at is None


def test_points_never_become_negative() -> None:
    adjustments = [Adjustment("ada", "sums", None, Fraction(-100), "Copied.", "Ms Roe")]
    assert applied(3, DUE, adjustments=adjustments).points == 0


def test_an_exempt_unit_does_not_count() -> None:
    made = report({"sums": unit({"add_sums": exercise(1, 1)}), "means": unit({"add_means": exercise(2)})})
    found = Decisions(course(), [RosterEntry("ada", exempt=frozenset({"sums"}))]).applied(made, {})
    assert (found.points, found.possible, found.units["sums"].exempt) == (2, 2, True)


def test_a_second_application_changes_nothing_and_other_students_are_not_affected() -> None:
    adjustments = [Adjustment("bob", "sums", None, Fraction(5), "Well done.", "Ms Roe")]
    once = applied(30, DUE + 30 * HOUR, adjustments=adjustments)
    assert once.points == 24
    decisions = Decisions(course(), [RosterEntry("ada")], adjustments=adjustments)
    assert decisions.applied(once, {"sums": Time(DUE + 30 * HOUR, "times.csv")}) == once


def test_a_unit_that_was_graded_before_keeps_its_time_unless_a_table_no_longer_has_it() -> None:
    for source, points in (("push", 40), ("times.csv", 45)):
        once = applied(45, DUE + HOUR, source)
        assert Decisions(course(), [RosterEntry("ada")]).applied(once, {}).points == points


def test_the_quiz_is_part_of_what_was_earned() -> None:
    made = report({"sums": unit({"add_sums": exercise(6)}, quiz=quiz(4, 4))})
    assert Decisions(course(), [RosterEntry("ada")]).applied(made, {"sums": Time(DUE + HOUR, "push")}).points == 9


TIME, SHEET = "student,unit,time\n", "Identifier,Full name,Email address,Status,Last modified (submission)\n"
ROSTER = "student,name,email\nada,Ada Doe,ada@x.org\nbob,Bob Roe,bob@x.org\n"


def read(folder: Path, **tables: str) -> Decisions:
    for name, text in {"roster": ROSTER, **tables}.items():
        (folder / f"{name}.csv").write_text(text, encoding="utf-8")
    return read_decisions(folder / "roster.csv", course())


def test_times_and_adjustments_beside_the_roster_are_read(tmp_path: Path) -> None:
    found = read(
        tmp_path,
        times="student,unit,time,submission\nada,sums,2027-03-28T00:59+01:00,\nada,sums,2027-03-29T10:00Z,again.zip\n",
        adjustments="student,exercise,points,comment,by\nbob,add_means,-0.5,Shown twice.,Ms Roe\n",
    )
    assert [(line.at.astimezone(datetime.UTC), line.submission) for line in found.times.of("ada", "sums")] == [
        ((DUE + HOUR).astimezone(datetime.UTC), ""),
        (datetime.datetime(2027, 3, 29, 10, tzinfo=datetime.UTC), "again.zip"),
    ]
    assert found.adjustments == [Adjustment("bob", "means", "add_means", Fraction(-1, 2), "Shown twice.", "Ms Roe")]


@pytest.mark.parametrize("time", ["Sunday, 28 March 2027, 12:59 AM", "Sunday, 28 March 2027, 00:59"])
def test_moodles_grading_worksheet_gives_times_in_the_courses_zone(tmp_path: Path, time: str) -> None:
    rows = f'Participant 4711,Ada Doe,ada@x.org,Submitted,"{time}"\nParticipant 4712,Bob Roe,bob@x.org,,-\n'
    found = read(tmp_path, times_sums=f"{SHEET}{rows}Participant 9,Staff,s@x.org,,-\n")
    sheet = found.times.worksheets["sums"]
    assert [(one.number, one.student, one.at) for one in sheet.stamps] == [
        ("4711", "ada", DUE + HOUR),
        ("4712", "bob", None),
        ("9", None, None),
    ]


def test_a_time_that_clocks_showed_twice_is_unknown_and_one_that_they_never_showed_is_refused(tmp_path: Path) -> None:
    """Clocks in Berlin are set back at 03:00 on 31 October 2027, and forward at 02:00 on 28 March 2027."""
    row = 'Participant 4711,Ada Doe,ada@x.org,Submitted,"{}"\n'
    sheet = read(tmp_path, times_sums=SHEET + row.format("Sunday, 31 October 2027, 2:30 AM")).times.worksheets["sums"]
    assert sheet.time("4711", "ada") == Time(None, "times_sums.csv")
    [note] = sheet.notes
    assert "times_sums.csv, line 2: clocks in Europe/Berlin showed 'Sunday, 31 October 2027, 2:30 AM' twice" in note
    with pytest.raises(TableError, match="clocks in Europe/Berlin never showed 'Sunday, 28 March 2027, 2:30 AM'"):
        read(tmp_path, times_sums=SHEET + row.format("Sunday, 28 March 2027, 2:30 AM"))


@pytest.mark.parametrize(
    ("before", "lines", "kept"),
    [
        (Time(DUE, "times_sums.csv"), [], None),  # the worksheet was deleted
        (Time(DUE, "times_means.csv"), [], Time(DUE, "times_means.csv")),
        (Time(DUE, "times_means.csv"), [("", DUE + HOUR)], Time(DUE + HOUR, "times.csv")),
        (Time(DUE, "times_means.csv"), [("again.zip", DUE + HOUR)], Time(DUE, "times_means.csv")),
        (Time(DUE, "push"), [], Time(DUE, "push")),
        (Time(DUE, "times.csv"), [("a.zip", DUE), ("b.zip", DUE + HOUR)], Time(DUE, "times.csv")),
        (Time(DUE, "times.csv"), [("a.zip", DUE + HOUR)], Time(DUE + HOUR, "times.csv")),  # the line was corrected
        (Time(DUE, "times.csv"), [("a.zip", DUE + HOUR), ("b.zip", DUE + HOUR)], Time(None, "times.csv")),
        (Time(None, "times.csv"), [("a.zip", DUE)], Time(None, "times.csv")),
        (None, [("", DUE)], Time(DUE, "times.csv")),
        (None, [("a.zip", DUE)], Time(None, "times.csv")),
        (None, [], None),
    ],
)
def test_a_unit_that_is_not_graded_now_keeps_its_time_as_far_as_the_tables_have_it(
    tmp_path: Path, before: Time | None, lines: list[tuple[str, datetime.datetime]], kept: Time | None
) -> None:
    rows = "".join(f"ada,sums,{at.isoformat()},{submission}\n" for submission, at in lines)
    times = read(tmp_path, times=f"student,unit,time,submission\n{rows}", times_means=SHEET).times
    assert times.kept("ada", "sums", before) == kept


POINTS, PLACE = "student,unit,points,comment,by\n", "student,unit,exercise,points,comment,by\n"
DEDUCTION = "deduction,points,text,exercise\n"


@pytest.mark.parametrize(
    ("table", "text", "sentence"),
    [
        ("times", "student,unit\n", "times.csv, line 1: the column 'time' is missing."),
        ("times", f"{TIME}eve,sums,2027-03-28T00:59Z\n", "line 2, student: 'eve' is not in the roster"),
        ("times", f"{TIME}ada,sum,2027-03-28T00:59Z\n", "line 2, unit: 'sum' is not a unit"),
        ("times", f"{TIME}ada,sums,28.3.2027 0:59\n", "line 2, time: '28.3.2027 0:59' is no time with an"),
        ("times", f"{TIME}ada,sums,2027-03-28T00:59\n", "is no time with an offset from UTC"),
        (
            "times",
            f"{TIME}ada,sums,2027-03-28T00:59Z\nada,sums,2027-03-28T01:59Z\n",
            "line 3, unit: there is an earlier",
        ),
        ("times_sums", "Nr,Name\n", "times_sums.csv, line 1: there is no column 'Identifier'"),
        ("times_sums", f"{SHEET}Participant 1,Ada Doe,,,gestern\n", "'gestern' cannot be read"),
        ("adjustments", "student,points\n", "the column 'by' is missing."),
        (
            "adjustments",
            f"{POINTS}ADA,sums,1,x,y\n",
            "'ADA' is not in the roster: correct the name. Did you mean 'ada'?",
        ),
        ("adjustments", f"{POINTS}eve,sums,1,x,y\n", "line 2, student: 'eve' is not in the"),
        ("adjustments", f"{POINTS}ada,sum,1,x,y\n", "line 2, unit: 'sum' is not a unit"),
        ("adjustments", f"{POINTS}ada,,1,x,y\n", "line 2, unit: it is empty: points belong to a unit"),
        ("adjustments", f"{PLACE}ada,,add,1,x,y\n", "there is no exercise 'add'"),
        ("adjustments", f"{PLACE}ada,sums,add_means,1,x,y\n", "line 2, exercise: there is no exercise 'add_means' in"),
        ("adjustments", f"{POINTS}ada,sums,1/2,x,y\n", "line 2, points: '1/2' is no number"),
        ("adjustments", f"{POINTS}ada,sums,-1_0,x,y\n", "line 2, points: '-1_0' is no number"),
        ("adjustments", f"{POINTS}ada,sums,1e400,x,y\n", "line 2, points: '1e400' is no number"),
        (
            "adjustments",
            f"{POINTS}ada,sums,-1,x,y\nada,sums,-1.0,x,y\n",
            "line 3, comment: line 2 says the same: remove",
        ),
        ("adjustments", f"{POINTS}ada,sums,1,,\n", "line 2, comment: it is empty"),
        ("adjustments", f"{POINTS}ada,sums,,x,\n", "line 2, by: it is empty"),
        (
            "adjustments",
            "student,unit,deduction,by\nada,sums,slow,y\n",
            "line 2, deduction: 'slow' is not in rubric.csv",
        ),
        ("rubric", f"{DEDUCTION}slow,2,x\n", "rubric.csv, line 2, points: a deduction takes points off: write -2."),
        ("rubric", f"{DEDUCTION}slow,some,x\n", "line 2, points: 'some' is no number of points"),
        ("rubric", f"{DEDUCTION}slow,-1,x\nslow,-1,x\n", "line 3, deduction: 'slow' is in line 2, too"),
        ("rubric", f"{DEDUCTION}slow,-1,,\n", "line 2, text: it is empty"),
        ("rubric", f"{DEDUCTION}slow,-1,x,add_sum\n", "there is no exercise 'add_sum'. Did you mean 'add_sums'?"),
    ],
)
def test_each_problem_is_reported_with_its_line_and_column(
    tmp_path: Path, table: str, text: str, sentence: str
) -> None:
    with pytest.raises(TableError) as error:
        read(tmp_path, **{table: text})
    assert sentence in str(error.value)


RUBRIC = "deduction,points,text,exercise\nslow,-1.5,It has a loop.,\nno_text,-1,There is no docstring.,add_means\n"


def test_a_deduction_of_the_rubric_has_its_points_and_its_text(tmp_path: Path) -> None:
    lines = "ada,sums,slow,,Ms Roe\nbob,,no_text,,Ms Roe\nbob,sums,slow,Line 3.,Ms Roe\n"
    table = f"student,unit,deduction,comment,by\n{lines}"
    found = read(tmp_path, rubric=RUBRIC, adjustments=table)
    assert found.adjustments == [
        Adjustment("ada", "sums", None, Fraction(-3, 2), "It has a loop.", "Ms Roe"),
        Adjustment("bob", "means", "add_means", Fraction(-1), "There is no docstring.", "Ms Roe"),
        Adjustment("bob", "sums", None, Fraction(-3, 2), "It has a loop. Line 3.", "Ms Roe"),
    ]
    changed = read(tmp_path, rubric=RUBRIC.replace("-1.5", "-2"), adjustments=table)
    assert [one.points for one in changed.adjustments] == [-2, -1, -2]


@pytest.mark.parametrize(
    ("line", "sentence"),
    [
        (
            "ada,sums,,slo,,Ms Roe",
            "'slo' is not in rubric.csv: add a line there, or correct the name. Did you mean 'slow'",
        ),
        ("ada,sums,,slow,-1,Ms Roe", "line 2, points: the points of 'slow' are in rubric.csv: leave this cell empty."),
        ("ada,,,slow,,Ms Roe", "line 2, unit: it is empty: points belong to a unit."),
        ("ada,,add_sums,no_text,,Ms Roe", "rubric.csv has 'no_text' for add_means: leave this cell empty."),
        ("ada,sums,,slow,,x\nada,sums,,slow,,x", "line 3, deduction: line 2 says the same: remove one."),
        ("ada,sums,,slow,,x,A\nada,sums,,slow,,x,B", "line 3, deduction: line 2 says the same: remove one."),
    ],
)
def test_a_deduction_is_used_as_the_rubric_has_it(tmp_path: Path, line: str, sentence: str) -> None:
    with pytest.raises(TableError) as error:
        read(tmp_path, rubric=RUBRIC, adjustments=f"student,unit,exercise,deduction,points,by,comment\n{line}\n")
    assert sentence in str(error.value)


def test_a_line_without_points_is_a_comment_on_an_exercise_a_unit_or_everything(tmp_path: Path) -> None:
    lines = "ada,sums,add_sums,,Look at line 3.,Ms Roe\nada,sums,,0,Well done.,Ms Roe\nada,,,,See me.,Ms Roe\n"
    decisions = read(tmp_path, adjustments=f"student,unit,exercise,points,comment,by\n{lines}")
    found = decisions.applied(earned(5), {})
    assert (found.points, found.name, found.timezone) == (5, "Ada Doe", "Europe/Berlin")
    assert change_sentences(found.units["sums"]) == ["Comment by Ms Roe: Well done."]
    assert exercise_comments(found.units["sums"], "add_sums") == ["Comment by Ms Roe: Look at line 3."]
    for text in (page(found), summary(found)):
        places = [text.index(sentence) for sentence in ("See me.", "Well done.", "Look at line 3.")]
        assert places == sorted(places)
        assert "Ada Doe (ada)" in text or text.startswith("##")


def test_without_the_file_there_are_no_adjustments(tmp_path: Path) -> None:
    assert read_adjustments(tmp_path, {"ada"}, course()) == []
