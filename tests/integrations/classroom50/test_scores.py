"""The grades of record in Classroom 50's `scores.json`, read by the rules of its collector and its web app."""

from __future__ import annotations

import datetime
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest
from classroom50_collector import cleared, collect, load, shown
from made_reports import exercise, report, unit

from grader.classes.exports import EXEMPT, Column, Export
from grader.classes.gradebook import Gradebook, StudentRow, UnitGrade
from grader.classes.roster import RosterEntry
from grader.errors import GraderError
from grader.integrations.learning_platforms import OF_RECORD, classroom50_scores

UNITS = ("sums", "of_means")
ROSTER = """\
username,first_name,last_name,email,section,github_id,role
Ada-L,Ada,"Doe, A.",ada@x.org,,1,student
bob,Bob,Roe,,,2,
eve,,,,,3,student
,,,cyd@x.org,,,student
"""
PUSHED = "2027-01-20T12:00:00Z"
STARTED = datetime.datetime(2027, 1, 20, 11, tzinfo=datetime.UTC)
BEFORE = {"schema": "classroom50/scores/v1", "assignments": {}}


def assignment(slug: str, mode: str = "individual", **more: Any) -> dict[str, Any]:
    return {"slug": slug, "name": slug, "mode": mode, "autograder": "default", **more}


@pytest.fixture
def classroom(tmp_path: Path) -> Path:
    """A classroom with an assignment for one unit, and one that is the whole course."""
    folder = tmp_path / "Spring"
    folder.mkdir()
    (folder / "roster.csv").write_text(ROSTER, encoding="utf-8")
    assign(folder, assignment("sums"), assignment("course"))
    return folder


def assign(classroom: Path, *assignments: Mapping[str, Any]) -> None:
    content = {"schema": "classroom50/assignments/v1", "assignments": assignments}
    (classroom / "assignments.json").write_text(json.dumps(content), encoding="utf-8")


def autograded(owner: str, score: int, at: str = PUSHED, kind: str = "individual", **more: Any) -> dict[str, Any]:
    """What the collector writes for a push."""
    record = {
        "schema": "classroom50/result/v1",
        "classroom": "Spring",
        "assignment_type": kind,
        "owner": owner,
        "submission": f"submit/{at.replace(':', '-')}-a1b2c3d",
        **dict.fromkeys(("commit", "release", "review"), "https://github.com/x"),
        "datetime": at,
        "score": score,
        "max-score": 30,
        "tests": [{"test-name": "total", "passed": False, "score": score, "max-score": 30, "output": "é"}],
        "late": False,
    }
    return {"owner": owner, **more, "submissions": [record]}


def by_hand(entry: dict[str, Any], score: int) -> dict[str, Any]:
    """The entry after a teacher entered a score in the web app."""
    tag = "submit/manual-2027-02-01T10-00-00Z"
    record = {**entry["submissions"][0], "submission": tag, "datetime": "2027-02-01T10:00:00Z", "score": score}
    return {**entry, "override": True, "submissions": [record, *entry["submissions"]]}


def collected(classroom: Path, slug: str, *entries: dict[str, Any], kind: str = "individual") -> None:
    content = {**BEFORE, "assignments": {slug: {"type": kind, "entries": entries, "collected_at": PUSHED}}}
    (classroom / "scores.json").write_text(json.dumps(content, indent=2), encoding="utf-8")
    load(classroom / "scores.json")


def of(entry: RosterEntry | str, **points: int | None) -> StudentRow:
    """A student with points in units; None if the unit waits to be graded."""
    made = report({name: unit({"total": exercise(1)}) for name in points}, suites="hidden")
    made = made.model_copy(update={"timing": made.timing.model_copy(update={"started": STARTED.isoformat()})})
    whole = {
        name: UnitGrade("not graded")
        if count is None
        else UnitGrade("graded", made, made.units[name].model_copy(update={"points": count}))
        for name, count in points.items()
    }
    return StudentRow(student(entry) if isinstance(entry, str) else entry, whole)


def student(login: str, assignment: str = "sums") -> RosterEntry:
    return RosterEntry(login.lower(), repository=f"school/spring-{assignment}-{login.lower()}")


def write(classroom: Path, *rows: StudentRow, heading: str = "sums", possible: int = 18) -> Export:
    """Write the column of a unit, and check the file by the collector's rules."""
    values = [_value(row, heading) for row in rows]
    book = Gradebook(dict.fromkeys(rows[0].grades, possible), rows)
    done = classroom50_scores(classroom / "scores.json", book, [Column(heading, possible, values)], UNITS)
    assert isinstance(done.content, str)
    (classroom / "scores.json").write_text(done.content, encoding="utf-8")
    load(classroom / "scores.json")
    return done


def _value(row: StudentRow, heading: str) -> int | str:
    points = row.points if heading == "total" else row.grades[heading].points
    return "" if points is None else points


def points(classroom: Path, slug: str = "sums") -> dict[str, tuple[int, int]]:
    return shown(load(classroom / "scores.json"), slug)


def test_the_web_app_shows_the_grade_of_record_and_the_collector_keeps_it(classroom: Path) -> None:
    collected(classroom, "sums", autograded("Ada-L", 30, at="2099-01-01T00:00:00Z"))
    done = write(classroom, of("Ada-L", sums=12), of("bob", sums=0))
    assert (done.left_out, done.noticed) == ([], [])
    assert points(classroom) == {"Ada-L": (12, 18), "bob": (0, 18)}
    # Newer pushes change nothing, even those with a date in the future.
    again = collect(load(classroom / "scores.json"), "sums", autograded("ada-l", 29, at="2100-01-01T00:00:00Z"))
    assert again == load(classroom / "scores.json")
    assert again["assignments"]["sums"]["collected_at"] == PUSHED


def test_the_last_time_that_a_commit_can_have_hides_no_grade(classroom: Path) -> None:
    collected(classroom, "sums", autograded("Ada-L", 30, at="9999-12-31T23:59:59Z"))
    write(classroom, of("Ada-L", sums=12))
    assert points(classroom) == {"Ada-L": (12, 18)}


def test_what_the_autograder_gave_counts_again_when_a_teacher_clears_the_grade(classroom: Path) -> None:
    collected(classroom, "sums", autograded("Ada-L", 30))
    before = load(classroom / "scores.json")
    write(classroom, of("Ada-L", sums=12), of("bob", sums=5))
    after = cleared(load(classroom / "scores.json"), "sums", "Ada-L")
    assert cleared(after, "sums", "bob") == before


def test_a_second_run_changes_nothing_and_a_new_grade_replaces_the_earlier_one(classroom: Path) -> None:
    collected(classroom, "sums", autograded("bob", 30))
    first = write(classroom, of("Ada-L", sums=12), of("bob", sums=5)).content
    assert write(classroom, of("Ada-L", sums=12), of("bob", sums=5)).content == first
    write(classroom, of("Ada-L", sums=13), of("bob", sums=5))
    assert points(classroom) == {"Ada-L": (13, 18), "bob": (5, 18)}
    [bob, _] = load(classroom / "scores.json")["assignments"]["sums"]["entries"]
    assert [one["submission"] for one in bob["submissions"]] == [OF_RECORD, "submit/2027-01-20T12-00-00Z-a1b2c3d"]


def test_who_is_not_graded_any_more_has_no_grade_of_record(classroom: Path) -> None:
    collected(classroom, "sums", autograded("bob", 30, override=False))
    [before] = load(classroom / "scores.json")["assignments"]["sums"]["entries"]
    write(classroom, of("Ada-L", sums=12), of("bob", sums=None), of("eve", sums=1))
    assert load(classroom / "scores.json")["assignments"]["sums"]["entries"][0] == before
    write(classroom, of("Ada-L", sums=12), of("bob", sums=5), of("eve", sums=1))
    write(classroom, of("Ada-L", sums=None), of("bob", sums=None), of("eve", sums=1))
    assert points(classroom) == {"bob": (30, 30), "eve": (1, 18)}
    assert "override" not in load(classroom / "scores.json")["assignments"]["sums"]["entries"][0]


def test_a_score_that_a_teacher_entered_is_kept_and_named(classroom: Path) -> None:
    entry = by_hand(autograded("bob", 30), 7)
    collected(classroom, "sums", entry)
    done = write(classroom, of("Ada-L", sums=12), of("bob", sums=5))
    assert done.noticed == ["Kept in sums, because a teacher entered the score: bob."]
    assert load(classroom / "scores.json")["assignments"]["sums"]["entries"][0] == entry


def test_a_score_that_a_teacher_entered_above_ours_is_kept(classroom: Path) -> None:
    collected(classroom, "sums", autograded("bob", 30))
    write(classroom, of("bob", sums=5))
    entry = by_hand(load(classroom / "scores.json")["assignments"]["sums"]["entries"][0], 7)
    collected(classroom, "sums", entry)
    assert write(classroom, of("bob", sums=6)).noticed == ["Kept in sums, because a teacher entered the score: bob."]
    assert load(classroom / "scores.json")["assignments"]["sums"]["entries"] == [entry]


def test_the_total_is_the_assignment_that_is_named_after_no_unit(classroom: Path) -> None:
    rows = [of(student("bob", "course"), sums=5, of_means=6), of(student("Ada-L", "course"), sums=5, of_means=None)]
    write(classroom, rows[0], heading="total", possible=36)
    assert points(classroom, "course") == {"bob": (11, 36)}
    book, total = Gradebook({"sums": 18, "of_means": 18}, rows), Column("total", 36, [11, ""])
    assign(classroom, assignment("sums"), assignment("course"), assignment("exam"))
    with pytest.raises(GraderError, match="course and exam in Spring are not named after a unit"):
        classroom50_scores(classroom / "scores.json", book, [total], UNITS)
    assign(classroom, assignment("sums"))
    with pytest.raises(GraderError, match=r"assignments\.json has no assignment for total\. Name one after the unit"):
        classroom50_scores(classroom / "scores.json", book, [total], UNITS)


def test_a_unit_without_an_assignment_is_named(classroom: Path) -> None:
    book = Gradebook({"sums": 18, "of_means": 18}, [of("bob", sums=5, of_means=6)])
    done = classroom50_scores(classroom / "scores.json", book, [Column(name, 18, [5]) for name in UNITS], UNITS)
    assert [one.heading for one in done.columns] == ["sums"]
    assert done.noticed == [f"{classroom / 'assignments.json'} has no assignment for of_means."]


def test_percent_is_rounded_down(classroom: Path) -> None:
    book = Gradebook({"sums": 18}, [of("bob", sums=5)])
    done = classroom50_scores(classroom / "scores.json", book, [Column("sums", 100, [99.99])], UNITS)
    assert isinstance(done.content, str)
    (classroom / "scores.json").write_text(done.content, encoding="utf-8")
    assert points(classroom) == {"bob": (99, 100)}


def test_who_cannot_have_an_entry_is_named_and_the_others_have_theirs(classroom: Path) -> None:
    unknown, twice = (
        RosterEntry("cyd", "Cyd Ny", repository="school/elsewhere"),
        RosterEntry("dan", sis_login_id="ADA-L"),
    )
    rows = [of("bob", sums=19), of(unknown, sums=3), of("Ada-L", sums=4), of(twice, sums=4)]
    done = write(classroom, *rows)
    assert done.left_out == [
        "Cyd Ny (cyd) (sums): the roster names no login of Spring/roster.csv: correct the repository, such as "
        "OWNER/Spring-sums-LOGIN; or remove who has left.",
        "bob (sums): 19 points are more than the 18 that there are: correct adjustments.csv.",
        "ada-l and dan (sums): all of them are Ada-L: correct the roster.",
    ]
    assert points(classroom) == {}


def test_a_student_of_classroom_50s_own_roster_is_found_by_the_login(classroom: Path) -> None:
    write(classroom, of(RosterEntry("ada-l", sis_login_id="ada-L", is_exported=True), sums=4))
    assert points(classroom) == {"Ada-L": (4, 18)}


def test_the_repository_may_be_of_another_assignment_of_the_classroom(classroom: Path) -> None:
    assign(classroom, assignment("sums"), assignment("sums-two"))
    write(classroom, of(student("Ada-L", "sums-two"), sums=4))
    assert points(classroom) == {"Ada-L": (4, 18)}


def member(login: str, owner: str) -> RosterEntry:
    return RosterEntry(login.lower(), sis_login_id=login, repository=f"school/spring-sums-{owner}")


@pytest.mark.parametrize(("mode", "owner"), [("group", "ada-l"), ("team", "group-1")])
def test_a_group_has_one_entry_for_its_members(classroom: Path, mode: str, owner: str) -> None:
    assign(classroom, assignment("sums", mode, max_group_size=2))
    pair = [member("ada-l", owner), member("bob", owner)]
    write(classroom, *(of(one, sums=9) for one in pair))
    [entry] = load(classroom / "scores.json")["assignments"]["sums"]["entries"]
    assert entry["owner"] == {"group": "Ada-L", "team": "group-1"}[mode]
    assert points(classroom) == {"Ada-L": (9, 18), "bob": (9, 18)}
    done = write(classroom, of(pair[0], sums=9), of(pair[1], sums=8))
    assert done.left_out == [
        "ada-l and bob (sums): they have one repository and different grades: make them equal in adjustments.csv or "
        "the roster."
    ]
    assert points(classroom) == {}
    done = write(
        classroom, of(member("ada-l", owner), sums=9), of(RosterEntry("cyd", repository=pair[0].repository), sums=9)
    )
    assert "write the login of each, as in Spring/roster.csv, into the roster as sis_login_id" in done.left_out[0]


def test_who_joins_or_leaves_a_group_later_has_or_loses_its_grade(classroom: Path) -> None:
    assign(classroom, assignment("sums", "team"))
    write(classroom, *(of(member(one, "group-1"), sums=9) for one in ("ada-l", "bob")))
    write(classroom, *(of(member(one, "group-1"), sums=9) for one in ("bob", "eve")))
    assert points(classroom) == {"bob": (9, 18), "eve": (9, 18)}


def test_the_members_that_the_collector_found_are_kept(classroom: Path) -> None:
    assign(classroom, assignment("sums", "team"))
    collected(
        classroom, "sums", autograded("group-1", 3, kind="team", member_usernames=["bob"], team_slug="x"), kind="team"
    )
    for _ in range(2):
        write(classroom, of(member("Eve", "group-1"), sums=9), of(member("ada-l", "group-1"), sums=9))
        [entry] = load(classroom / "scores.json")["assignments"]["sums"]["entries"]
        assert (entry["member_usernames"], entry["team_slug"]) == (["bob", "eve", "Ada-L"], "x")


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ('"classroom50/scores/v1"', '"classroom50/scores/v2"', "schema: Input should be"),
        ('"assignments"', '"others"', "assignments: Field required"),
        ('"type": "individual"', '"type": "pair"', r"assignments\.sums\.type: "),
        ('"sums": {', '"sums": null, "more": {', r"assignments\.sums: Input should be a valid dictionary\. Restore"),
        ('[{"owner": "bob", ', "[{", r"assignments\.sums\.entries\.0\.owner: Field required"),
        (
            '"entries": [',
            f'"entries": [{json.dumps(autograded("BOB", 1))}, ',
            r"entries: .*bob is the owner of two",
        ),
        ('"submissions"', '"submissions": [], "others"', r"entries\.0\.submissions: "),
        (f'"datetime": "{PUSHED}"', '"datetime": "2027-02-30T00:00:00Z"', r"entries\.0\.submissions\.0\.datetime: "),
        (f'"datetime": "{PUSHED}"', '"datetime": 5', r"entries\.0\.submissions\.0\.datetime: "),
    ],
)
def test_a_file_of_another_format_is_refused_with_the_place(classroom: Path, old: str, new: str, message: str) -> None:
    collected(classroom, "sums", autograded("bob", 30))
    text = json.dumps(json.loads((classroom / "scores.json").read_text()))
    assert old in text
    (classroom / "scores.json").write_text(text.replace(old, new, 1), encoding="utf-8")
    with pytest.raises(GraderError, match=rf"Spring/scores\.json, .*{message}"):
        write(classroom, of("bob", sums=9))


@pytest.mark.parametrize("text", ["", "{", '{"schema": NaN}', "\x80"])
def test_a_file_that_is_not_json_is_refused(classroom: Path, text: str) -> None:
    (classroom / "scores.json").write_text(text, encoding="latin-1")
    with pytest.raises(GraderError, match=r"scores\.json is not JSON \("):
        write(classroom, of("bob", sums=9))


def test_a_roster_without_logins_is_refused(classroom: Path) -> None:
    (classroom / "roster.csv").write_text("login,first_name\nAda-L,Ada\n", encoding="utf-8")
    with pytest.raises(GraderError, match=r"Spring/roster\.csv, line 1: there is no column 'username'"):
        write(classroom, of("Ada-L", sums=4))


def test_a_linked_file_is_of_the_classroom_in_which_the_link_is(classroom: Path, tmp_path: Path) -> None:
    (tmp_path / "kept").mkdir()
    (classroom / "scores.json").symlink_to(tmp_path / "kept" / "scores.json")
    write(classroom, of("Ada-L", sums=4))
    assert points(classroom) == {"Ada-L": (4, 18)}


def test_another_place_than_a_classroom_is_refused(classroom: Path, tmp_path: Path) -> None:
    book: Sequence[StudentRow] = [of("bob", sums=9)]
    for path, message in {
        classroom / "grades.json": "reads scores.json, not grades.json: give CLASSROOM/scores.json",
        tmp_path / "scores.json": r"assignments.json cannot be read \(No such file or directory\): give CLASSROOM",
    }.items():
        with pytest.raises(GraderError, match=message):
            classroom50_scores(path, Gradebook({"sums": 18}, book), [Column("sums", 18, [9])], UNITS)
    with pytest.raises(GraderError, match="Nobody is graded in sums"):
        classroom50_scores(classroom / "scores.json", Gradebook({"sums": 0}, [of("bob", sums=None)]), [], UNITS)


def test_an_exempt_student_has_no_entry(classroom: Path) -> None:
    book = Gradebook({"sums": 18}, [of("bob", sums=9)])
    done = classroom50_scores(classroom / "scores.json", book, [Column("sums", 18, [EXEMPT])], UNITS)
    assert json.loads(done.content)["assignments"]["sums"]["entries"] == []
