"""The gradebook as learning platforms import it.

Canvas and Moodle read tables. Classroom 50 keeps `scores.json`, of which its web app shows entries and its collector
keeps them. Ours are what the web app writes for a score that a teacher enters: an entry with `"override": true`, with a
record of that score first. Below it is what the autograder gave, which counts again when a teacher clears the override.
"""

from __future__ import annotations

import datetime
import json
import math
import re
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any, Literal, NamedTuple

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field, ValidationError
from pydantic_core import from_json

from grader.classes.exports import EXEMPT, TOTAL, Column, Export, Value, require_points
from grader.classes.gradebook import Gradebook, StudentRow
from grader.classes.roster import RosterEntry
from grader.classes.tables import read_table
from grader.errors import GraderError
from grader.text import in_words, listed

HEADINGS = ("Student", "ID", "SIS User ID", "SIS Login ID", "Section")
"""Every other column becomes an assignment."""
_EXCUSED = "EX"
_FINAL = re.compile("final", re.IGNORECASE)

MOST = 100
"""The highest grade that Moodle imports, unless an administrator allows more."""
_NO_GRADE = "-"
_TOO_MUCH = "that is more than the unit has, so take it out of adjustments.csv, and enter it in Moodle."
# What the roster calls the fields by which Moodle finds a user, and Moodle.
_FIELDS = {"email": "Email address", "sis_user_id": "ID number", "sis_login_id": "Username"}
SCORES, ASSIGNMENTS, ROSTER = "scores.json", "assignments.json", "roster.csv"
"""The files in the folder of a classroom."""
OF_RECORD = "submit/manual-grade-of-record"
"""The tag of our records. The web app takes tags with `submit/manual-` for scores that a teacher entered."""
_WHERE = f"give CLASSROOM/{SCORES} in a clone of your classroom50 repository"
_NEVER = datetime.datetime.min.replace(tzinfo=datetime.UTC)
_SECOND = datetime.timedelta(seconds=1)
_LAST = datetime.datetime.max.replace(tzinfo=datetime.UTC) - _SECOND
_TIME = "%Y-%m-%dT%H:%M:%SZ"


def canvas_heading(name: str) -> str:
    """Return what Canvas calls a column: it ignores those with `final` in their name, in any case."""
    return _FINAL.sub("last", name)


def canvas_table(gradebook: Gradebook, columns: Sequence[Column]) -> list[list[Value]]:
    """Return the table: a row with the possible points, then one for each student.

    Raises:
        GraderError: Canvas could not tell who a student is, two columns would have the same name, or nobody has points.
    """
    require_points(gradebook)
    headings = [canvas_heading(one.heading) for one in columns]
    if doubles := [name for name in headings if headings.count(name) > 1]:
        raise GraderError(
            f"Canvas ignores a column with `final` in its name, and {doubles[0]} is the name of another unit: export "
            "one of the two alone with --unit."
        )
    entries = [row.entry for row in gradebook.rows]
    nameless = [one.student for one in entries if not (one.id or one.sis_user_id or one.sis_login_id)]
    if nameless:
        raise GraderError(
            f"Canvas matches students by number, and {listed(nameless, 5)} {'has' if len(nameless) == 1 else 'have'} "
            "none: add the column id, sis_user_id or sis_login_id to the roster, or use Canvas's own export as roster."
        )
    table: list[list[Value]] = [
        [*HEADINGS, *headings],
        ["    Points Possible", "", "", "", "", *(one.possible for one in columns)],
    ]
    for number, row in enumerate(gradebook.rows):
        entry = row.entry
        who = [entry.name or entry.student, entry.id, entry.sis_user_id, entry.sis_login_id, entry.section]
        own = [one.values[number] for one in columns]
        table.append([*who, *(_EXCUSED if value == EXEMPT else value for value in own)])
    return table


def moodle_table(gradebook: Gradebook, columns: Sequence[Column]) -> list[list[Value]]:
    """Return the table: one row for each student, found by e-mail address, ID number or user name.

    Raises:
        GraderError: Moodle would refuse the file, or nobody has points.
    """
    require_points(gradebook)
    field = next((name for name in _FIELDS if all(getattr(row.entry, name) for row in gradebook.rows)), None)
    if field is None:
        without = [row.entry.student for row in gradebook.rows if not row.entry.email]
        raise GraderError(
            f"Moodle refuses a file with a student that it does not find, and {', '.join(without[:5])} "
            f"{'has' if len(without) == 1 else 'have'} no email in the roster: add it, or sis_user_id or sis_login_id "
            "for everybody."
        )
    for one in columns:
        for row, value in zip(gradebook.rows, one.values, strict=True):
            if not isinstance(value, str) and value > min(MOST, one.possible):
                is_too_much = value > one.possible
                raise GraderError(
                    f"Moodle imports no grade above {one.possible if is_too_much else MOST}, and {row.entry.student} "
                    f"has {value} in {one.heading}: {_TOO_MUCH if is_too_much else 'use --percent.'}"
                )
    table: list[list[Value]] = [[_FIELDS[field], *(one.heading for one in columns)]]
    for number, row in enumerate(gradebook.rows):
        own = [one.values[number] for one in columns]
        table.append([getattr(row.entry, field), *(_NO_GRADE if value in ("", EXEMPT) else value for value in own)])
    return table


def _moment(text: object) -> datetime.datetime:
    return datetime.datetime.strptime(str(text), _TIME).replace(tzinfo=datetime.UTC)


def _have_one_owner_each(entries: list[_Entry]) -> list[_Entry]:
    counts = Counter(one.owner.casefold() for one in entries)
    if doubles := [owner for owner, count in counts.items() if count > 1]:
        raise ValueError(f"{doubles[0]} is the owner of two")
    return entries


class _Read(BaseModel):
    """What is read of a file. All else in it is kept as it is."""

    model_config = ConfigDict(strict=True)


class _Record(_Read):
    submission: Annotated[str, Field(pattern="^submit/")]
    datetime: Annotated[datetime.datetime, BeforeValidator(_moment)]


class _Entry(_Read):
    owner: Annotated[str, Field(min_length=1)]
    submissions: Annotated[list[_Record], Field(min_length=1)]
    override: bool = False


class _Bucket(_Read):
    type: Literal["individual", "group", "team"]
    entries: Annotated[list[_Entry], AfterValidator(_have_one_owner_each)]


class _Scores(_Read):
    schema_: Literal["classroom50/scores/v1"] = Field(alias="schema")
    assignments: dict[str, _Bucket]


class _Assignment(_Read):
    slug: Annotated[str, Field(min_length=1)]
    mode: Literal["individual", "group", "team"]

    @property
    def unit(self) -> str:
        """The unit that it is named after, if there is one of this name."""
        return self.slug.replace("-", "_")


class _Assignments(_Read):
    schema_: Literal["classroom50/assignments/v1"] = Field(alias="schema")
    assignments: list[_Assignment]


class _Grade(NamedTuple):
    """The grade of a repository: its owner, the members of a group, the score if there is one, and its time."""

    owner: str
    members: Sequence[str]
    score: int | None
    made: datetime.datetime


def classroom50_scores(path: Path, gradebook: Gradebook, columns: Sequence[Column], units: Collection[str]) -> Export:
    """Return a classroom's `scores.json` with the grades of its students.

    An entry of an earlier run is replaced, or removed if there is no grade now. A score that a teacher entered is kept,
    and so is all else.

    Args:
        path: The file, in the folder of the classroom, with `assignments.json` and `roster.csv` beside it.
        gradebook: The grades.
        columns: The columns of them. Grades in percent are rounded down.
        units: The units of the course.

    Raises:
        GraderError: A file is missing or wrong, or there is no assignment or nobody's points for a column.
    """
    if path.name != SCORES:
        raise GraderError(f"--out: Classroom 50 reads {SCORES}, not {path.name}: {_WHERE}.")
    require_points(gradebook)
    assignments = _read(path.with_name(ASSIGNMENTS), _Assignments)["assignments"]
    scores: Any = {"schema": "classroom50/scores/v1", "assignments": {}}
    if path.exists():
        scores = _read(path, _Scores)
    roster = read_table(path.with_name(ROSTER), "username,first_name,last_name")
    if not roster.has("username"):
        raise GraderError(f"{roster.path}, line {roster.header}: there is no column 'username'. Restore it with git.")
    usernames = [row["username"] for row in roster.rows]
    classroom = _Classroom(
        path.parent.resolve().name,
        {one.casefold(): one for one in usernames if one},
        [_Assignment.model_validate(one) for one in assignments],
    )
    written = []
    for column in columns:
        if assignment := classroom.assignment_of(column.heading, units):
            bucket = scores["assignments"].setdefault(assignment.slug, {"type": "", "entries": []})
            bucket["type"] = assignment.mode
            bucket["entries"] = classroom.entries(bucket["entries"], gradebook.rows, column, assignment)
            written.append(column)
        else:
            classroom.noticed.append(f"{path.with_name(ASSIGNMENTS)} has no assignment for {column.heading}.")
    if columns and not written:
        raise GraderError(
            f"{classroom.noticed[0]} Name one after the unit, as in {next(iter(units)).replace('_', '-')}; or let one "
            "with any other name be the whole course, and give --total."
        )
    return Export(json.dumps(scores, indent=2) + "\n", written, classroom.noticed, classroom.left_out)


def _read(path: Path, model: type[_Read]) -> Any:
    """Return the content of a JSON file. Raises GraderError if it does not fit the model."""
    try:
        data = from_json(path.read_bytes(), allow_inf_nan=False)
        model.model_validate(data)
    except OSError as error:
        raise GraderError(f"{path} cannot be read ({error.strerror}): {_WHERE}.") from None
    except ValidationError as error:
        wrong = error.errors()[0]
        place = ", ".join(filter(None, [str(path), ".".join(map(str, wrong["loc"]))]))
        what = wrong["msg"].partition(" or instance of ")[0]
        raise GraderError(f"{place}: {what}. Restore the file with git.") from None
    except ValueError as error:
        raise GraderError(f"{path} is not JSON ({error}). Restore the file with git.") from None
    return data


@dataclass
class _Classroom:
    """A classroom.

    Attributes:
        name: The name of its folder.
        logins: The logins of its roster, by themselves in lower case.
        known: Its assignments.
        noticed: What to know, as far as it was found.
        left_out: Who has a grade that cannot be written, and why.
    """

    name: str
    logins: Mapping[str, str]
    known: Sequence[_Assignment]
    noticed: list[str] = field(default_factory=list)
    left_out: list[str] = field(default_factory=list)

    def assignment_of(self, heading: str, units: Collection[str]) -> _Assignment | None:
        """Return the assignment that is named after a unit; for the total, the one that is named after none."""
        if heading != TOTAL:
            return next((one for one in self.known if one.unit == heading), None)
        others = [one for one in self.known if one.unit not in units]
        if len(others) > 1:
            raise GraderError(
                f"--total: one assignment is the whole course, and {in_words([one.slug for one in others])} in "
                f"{self.name} are not named after a unit: give the course a classroom of its own."
            )
        return others[0] if others else None

    def entries(
        self, before: Sequence[dict[str, Any]], rows: Sequence[StudentRow], column: Column, assignment: _Assignment
    ) -> list[dict[str, Any]]:
        """Return the entries of an assignment with the grades in a column."""
        after = {one["owner"].casefold(): one for one in before}
        kept = []
        for grade in self._grades(rows, column, assignment):
            key = grade.owner.casefold()
            existing = after.get(key, {"owner": grade.owner, "submissions": []})
            below = [one for one in existing["submissions"] if one["submission"] != OF_RECORD]
            is_ours = len(below) < len(existing["submissions"])
            # The score that counts is first. Ours may be below the one of a teacher.
            if existing.get("override") and existing["submissions"][0]["submission"] != OF_RECORD:
                kept.append(grade.owner)
            elif grade.score is not None:
                record = self._record(existing["owner"], grade, below, column.possible, assignment.mode)
                # Those whom the collector found have the grade, too. Ours are those of the roster now.
                found = existing.get("member_usernames", []) if below else []
                others = [one for one in grade.members if one.casefold() not in map(str.casefold, found)]
                members = {"member_usernames": [*found, *others]} if grade.members else {}
                after[key] = existing | members | {"override": True, "submissions": [record, *below]}
            elif is_ours and below:
                rest = {name: value for name, value in existing.items() if name != "override"}
                after[key] = rest | {"submissions": below}
            elif is_ours:
                del after[key]
        if kept:
            self.noticed.append(f"Kept in {assignment.slug}, because a teacher entered the score: {listed(kept)}.")
        return list(after.values())

    def _record(
        self, owner: str, grade: _Grade, below: Sequence[Mapping[str, Any]], possible: int, mode: str
    ) -> dict[str, Any]:
        # The web app shows the record with the latest time. Those below are of commits, so students choose them.
        times = [min(_moment(one["datetime"]), _LAST) + _SECOND for one in below]
        return {
            "schema": "classroom50/result/v1",
            "classroom": self.name,
            "assignment_type": mode,
            "owner": owner,
            **dict.fromkeys(("submission", "commit", "release", "review"), OF_RECORD),
            "datetime": max([grade.made, *times]).astimezone(datetime.UTC).strftime(_TIME),
            "score": grade.score,
            "max-score": possible,
            "tests": [],
        }

    def _grades(self, rows: Sequence[StudentRow], column: Column, assignment: _Assignment) -> Iterator[_Grade]:
        """Yield the grade of each repository. Note who has a grade that cannot be written."""
        owners: dict[str, list[tuple[StudentRow, Value]]] = {}
        for row, value in zip(rows, column.values, strict=True):
            if owner := self._owner(row.entry, assignment):
                owners.setdefault(owner, []).append((row, value))
            elif not isinstance(value, str):
                what = f"login of {self.name}/{ROSTER}" if assignment.mode == "individual" else "group"
                place = f"the repository, such as OWNER/{self.name}-{assignment.slug}-{what.split()[0].upper()}"
                todo = f"correct {place}; or remove who has left"
                self._leave_out([row], assignment, f"the roster names no {what}: {todo}")
        for owner, found in owners.items():
            yield self._grade(owner, found, column, assignment)

    def _grade(
        self, owner: str, found: Sequence[tuple[StudentRow, Value]], column: Column, assignment: _Assignment
    ) -> _Grade:
        rows = [row for row, _ in found]
        is_group = assignment.mode != "individual"
        members = [self.logins.get(row.entry.sis_login_id.casefold(), "") for row in rows] if is_group else []
        score, *others = {None if isinstance(value, str) else math.floor(value) for _, value in found}
        problem = ""
        if others:
            problem = "they have one repository and different grades: make them equal in adjustments.csv or the roster"
        elif len(rows) > 1 and not is_group:
            problem = f"all of them are {owner}: correct the roster"
        elif not all(members):
            problem = f"write the login of each, as in {self.name}/{ROSTER}, into the roster as sis_login_id"
        elif score is not None and score > column.possible:
            problem = f"{score} points are more than the {column.possible} that there are: correct adjustments.csv"
        if problem and (others or score is not None):
            self._leave_out(rows, assignment, problem)
        grades = [one for row in rows for unit, one in row.grades.items() if column.heading in (unit, TOTAL)]
        made = max((one.report.started for one in grades if one.report), default=_NEVER)
        return _Grade(owner, members, None if problem else score, made)

    def _owner(self, entry: RosterEntry, assignment: _Assignment) -> str:
        """Return whose the student's repository is: a login, or `group-NUMBER`; "" if the roster does not say it."""
        name = entry.repository.partition("/")[2].casefold()
        if assignment.mode != "individual":
            prefix = f"{self.name}-{assignment.slug}-".casefold()
            owner = name.removeprefix(prefix) if name.startswith(prefix) else ""
            return self.logins.get(owner, owner)
        prefixes = [f"{self.name}-{one.slug}-".casefold() for one in self.known]
        ends = {name.removeprefix(prefix) for prefix in prefixes if name.startswith(prefix)} & self.logins.keys()
        [end] = ends if len(ends) == 1 else [entry.sis_login_id.casefold()]
        return self.logins.get(end, "")

    def _leave_out(self, rows: Sequence[StudentRow], assignment: _Assignment, problem: str) -> None:
        self.left_out.append(f"{in_words([str(row.entry) for row in rows])} ({assignment.slug}): {problem}.")
