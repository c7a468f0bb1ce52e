"""A messy class of 60 as five platforms give it, with a plan: what each student gets, and what stays open.

The plan follows from the rules of the course, and from what a platform knows. The grader computes no part of it.
"""

from __future__ import annotations

import csv
import datetime
import io
import math
import re
import zoneinfo
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cache
from pathlib import Path
from typing import NamedTuple

import courses
from downloads import zipped
from made_reports import RIGHT_ANSWERS

from grader.quizzes.quiz_source import load_quiz
from grader.quizzes.sheet import write_sheet

UNIT, OTHER = "sums", "means"
POSSIBLE, CODE = 18, 5
ZONE = zoneinfo.ZoneInfo("Europe/Berlin")
DUE = datetime.datetime(2000, 1, 25, 23, 59, tzinfo=ZONE)
RULES = """\
timezone: Europe/Berlin
late:
  grace_minutes: 10
  percent_per_day: 10
  most_percent: 50
  counts: best
"""
SECOND_UNIT = {
    f"solutions/{OTHER}.py": "def mean(a):\n    return sum(a) / len(a)\n",
    f"exercises/{OTHER}.py": "def mean(a):\n    raise NotImplementedError()\n",
    f"suites/{OTHER}/__init__.py": "",
    f"suites/{OTHER}/mean.py": """\
from grader.testing.suite import rule


@rule("mean divides")
def test_the_mean_of_two(student):
    \"\"\"The mean of two numbers should be half of their sum.\"\"\"
    assert student.mean([1.0, 2.0]) == 1.5
""",
}

IN_TIME, GRACE = datetime.timedelta(days=-1), datetime.timedelta(minutes=5)
HALF_A_DAY, LATE, VERY_LATE = (datetime.timedelta(hours=hours) for hours in (12, 36, 9 * 24))
DAY, WEEK = datetime.timedelta(days=1), datetime.timedelta(days=7)
TIME_UNKNOWN, NOT_GRADED, ATTEMPTS = "time unknown", "not graded", "attempts"

Files = Mapping[str, bytes]


def make_course(root: Path) -> Path:
    """The small course with a second unit, of which the first is over."""
    courses.make_small_course(root)
    for name, text in SECOND_UNIT.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text, encoding="utf-8")
    settings = root / "autograder.yml"
    text = settings.read_text(encoding="utf-8").replace("units:\n", f"{RULES}units:\n").replace(
        f"due: {courses.LONG_TO_COME}", f"due: {DUE.isoformat()}"
    )  # fmt: skip
    second = f"  {OTHER}:\n    title: Means\n    due: {courses.LONG_TO_COME}\n    exercises:\n      mean: 1\n"
    settings.write_text(text + second, encoding="utf-8")
    return root


# -- what students hand in -------------------------------------------------------------------------------------------


class Try(NamedTuple):
    """A submission: its files, what it earns, and how long after the due date it comes; None: nothing says when."""

    files: Files
    earned: int
    after: datetime.timedelta = IN_TIME
    is_dated: bool = True


RIGHT = courses.SMALL_COURSE["solutions/sums.py"].encode()
WRONG = RIGHT.replace(b"a + b", b"a - b")
CURIOUS = RIGHT + b"\ntry:\n    open('/etc/hostname').read()\nexcept Exception:\n    pass\n"


@cache
def kinds(quiz: Path) -> dict[str, Sequence[Try]]:
    """What students hand in, by what is special about it: the last one last."""
    sheet = write_sheet(load_quiz(quiz).questions, 1, RIGHT_ANSWERS).encode()
    right: Files = {"sums.py": RIGHT, "sums_quiz.md": sheet}
    wrong = {**right, "sums.py": WRONG}
    document = zipped({"word/document.xml": b"<w:document/>", "[Content_Types].xml": b"<Types/>"})
    return {
        "right": [Try(right, 18)],
        "mistaken": [Try(wrong, 14)],
        "code alone": [Try({"sums.py": RIGHT}, CODE)],
        "absent": [],
        "in the grace": [Try(right, 18, GRACE)],
        "late": [Try(right, 18, LATE)],
        "very late": [Try(wrong, 14, VERY_LATE)],
        "better again": [Try(wrong, 14), Try(right, 18, HALF_A_DAY)],
        "the same again": [Try(right, 18), Try({**right, "sums.py": RIGHT + b"# again\n"}, 18, LATE)],
        "undated": [Try(wrong, 14), Try(right, 18, LATE, is_dated=False)],
        "another unit": [Try({"means.py": SECOND_UNIT["solutions/means.py"].encode()}, 0)],
        "a PDF": [Try({"sums.pdf": b"%PDF-1.4\n1 0 obj\n<<>>\nendobj\n%%EOF\n"}, 0)],
        "a Word document": [Try({"homework.docx": document}, 0)],
        "a sheet under another name": [Try({"sums.py": RIGHT, "quiz answers.md": sheet}, 18)],
        "a script under another name": [Try({"hw1 sums (1).py": RIGHT, "sums_quiz.md": sheet}, 18)],
        "an archive": [Try({"answers.zip": zipped(right)}, 18)],
        "curious": [Try({**right, "sums.py": CURIOUS}, 18)],
    }


# -- who they are ----------------------------------------------------------------------------------------------------

FIRST = ("Ada", "Béla", "Chen", "Dina", "Emil", "Fatma", "Gül", "Hugo", "Inès", "José", "Kai", "Lena")
LAST = ("Berg", "Ruiz", "O'Neil", "van Dyk", "Zając", "Sato", "Kim")
# The first students, each with what is special; the others are ordinary.
SPECIAL: Sequence[Mapping[str, str]] = (
    {"name": "Jordan Lee", "login": "jlee", "kind": "right", "is": "one of one name"},
    {"name": "Jordan Lee", "login": "jordan", "kind": "mistaken", "is": "one of one name"},
    {"name": "Jane Doe", "login": "jane-d", "kind": "right", "email": "jdoe@students.example.org"},
    {"name": "John Doe", "login": "john-d", "kind": "mistaken", "email": "jdoe@example.org"},
    {"kind": "late", "group": "Team red"},
    {"kind": "late", "group": "Team red", "extension": "week"},
    {"kind": "late", "group": "Team red"},
    {"kind": "right", "group": "Team blue"},
    {"kind": "right", "group": "Team blue"},
    {"kind": "late", "extension": "week"},
    {"kind": "late", "extension": "day"},
    {"kind": "absent", "is": "exempt"},
    {"kind": "right", "is": "exempt"},
    {"kind": "absent", "is": "unlinked"},
    {"kind": "absent", "is": "unlinked"},
    {"kind": "absent"},
    {"kind": "right", "is": "in two sections"},
    {"kind": "mistaken", "adjusted": "1.5"},
    {"kind": "late", "adjusted": "-2"},
    {"kind": "right", "adjusted": ""},
    *({"kind": kind} for kind in (
        "code alone", "in the grace", "late", "very late", "better again", "better again", "the same again", "undated",
        "undated", "another unit", "another unit", "a PDF", "a Word document", "a sheet under another name",
        "a script under another name", "an archive", "curious",
    )),
)  # fmt: skip
COUNT = 60
TEACHERS = (("Tom", "Tutor", "Teacher"), ("Tia", "Helper", "Teaching assistant"))
COMMENT = "The text was not clear."


@dataclass(frozen=True)
class Student:
    """A student, with the names that platforms know."""

    number: int
    name: str
    login: str
    email: str
    kind: str
    is_: str = ""
    group: str = ""
    extension: datetime.timedelta | None = None
    adjusted: str | None = None

    @property
    def first(self) -> str:
        return self.name.partition(" ")[0]

    @property
    def last(self) -> str:
        return self.name.partition(" ")[2]

    def tries(self, quiz: Path) -> Sequence[Try]:
        return kinds(quiz)[self.kind]


STRANGER = Student(99, "Zoe Zand", "zzand", "zzand@example.org", "late")


@cache
def students() -> Sequence[Student]:
    found = []
    for number in range(COUNT):
        about = SPECIAL[number] if number < len(SPECIAL) else {"kind": ("right", "right", "mistaken")[number % 3]}
        name = about.get("name", f"{FIRST[number % len(FIRST)]} {LAST[number % len(LAST)]}")
        login = about.get("login", f"user{number:02}")
        found.append(
            Student(
                number,
                name,
                login,
                about.get("email", f"{login}@example.org"),
                about["kind"],
                about.get("is", ""),
                about.get("group", ""),
                {"week": WEEK, "day": DAY}.get(about.get("extension", "")),
                about.get("adjusted"),
            )
        )
    return found


# -- what the platforms know -----------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Platform:
    """What a platform gives.

    Attributes:
        has_own_roster: The roster is the instructor's, with extensions, exemptions and the folders of groups.
        has_groups: A group hands in once.
        has_earlier: Its downloads hold earlier submissions too, not only the last one.
        has_times: It says when something came.
        knows_accounts: Of two students of one name, it says which one handed in.
        has_logins: The names in reports are logins, and not addresses.
        has_names: It says who handed in; otherwise the names in reports are Moodle's numbers.
    """

    name: str
    has_own_roster: bool = False
    has_groups: bool = False
    has_earlier: bool = False
    has_times: bool = True
    knows_accounts: bool = True
    has_logins: bool = True
    has_names: bool = True


PLATFORMS = {
    one.name: one
    for one in (
        Platform("folders", has_own_roster=True, has_groups=True, has_earlier=True, knows_accounts=False),
        Platform("moodle", has_earlier=True, has_logins=False),
        Platform("moodle without names", has_earlier=True, has_names=False),
        Platform("canvas"),
        Platform("gradescope", has_groups=True, has_logins=False),
        Platform("github", has_times=False),
    )
}


class Planned(NamedTuple):
    """What a student gets: the status and the points, and when it came; "" if nothing says so.

    A time is "in time", "late" or "unknown".
    """

    status: str
    points: int | None = None
    time: str = ""
    at: datetime.datetime | None = None
    together: Sequence[str] = ()

    @property
    def percent(self) -> float | None:
        return None if self.points is None else math.floor(Fraction(self.points, POSSIBLE) * 10000) / 100


@dataclass(frozen=True)
class MessyClass:
    """The class on one platform, of a course whose quiz has this source."""

    platform: Platform
    quiz: Path

    def named(self, student: Student) -> str:
        """The student's name in reports."""
        if not self.platform.has_names:
            return f"Participant_{4700 + student.number}"
        if student is STRANGER:
            return {
                "folders": "Zoe-Zand", "moodle": "Zoe-Zand_4799", "canvas": "zandzoe_599", "gradescope": "Zoe-Zand_199",
                "github": "attention-zzand",
            }[self.platform.name]  # fmt: skip
        if student.email.startswith("jdoe@") and not self.platform.has_logins:
            return student.email.replace("@", "-")
        return student.login

    @property
    def strangers(self) -> Sequence[Student]:
        """Who hands in and is not in the roster. In one without names, nobody could tell."""
        return [STRANGER] if self.platform.has_names else []

    def plan(self) -> dict[str, Planned]:
        """What each student of the roster gets, by the name in reports."""
        return {self.named(one): self.planned(one) for one in students()}

    def plan_of_strangers(self) -> dict[str, Planned]:
        """The same of those who are in no roster, and not in the class."""
        return {self.named(one): self.planned(one) for one in self.strangers}

    def planned(self, student: Student) -> Planned:
        own = self.platform.has_own_roster
        if student.is_ == "one of one name" and not self.platform.knows_accounts:
            return Planned("not graded")
        if student.is_ == "exempt" and own:
            return Planned("exempt")
        tries = self.handed_in(student)
        if not tries:
            return Planned("not handed in", 0)
        extension = student.extension if own and student.extension else datetime.timedelta()
        earned = [self._points(student, one, extension) for one in tries]
        best = max(range(len(tries)), key=lambda number: (earned[number], number))
        group = student.group if self.platform.has_groups else ""
        together = sorted(self.named(one) for one in students() if group and one.group == group)
        return Planned("graded", earned[best], *self._time(student, tries[best], extension), together)

    def handed_in(self, student: Student) -> Sequence[Try]:
        """What the platform has of a student."""
        tries = student.tries(self.quiz)
        return tries if self.platform.has_earlier else tries[-1:]

    def open_cases(self) -> list[tuple[str, list[str]]]:
        """The open cases: the kind and the students; nobody is named if it is about the whole class."""
        plan = {**self.plan(), **self.plan_of_strangers()}
        cases = [
            (TIME_UNKNOWN, sorted(name for name, one in plan.items() if one.time == "unknown")),
            (NOT_GRADED, sorted(name for name, one in plan.items() if one.status == NOT_GRADED)),
            (ATTEMPTS, sorted(self.named(one) for one in students() if one.kind == "curious")),
        ]
        whole = [] if self.platform.has_times else [(TIME_UNKNOWN, list[str]())]
        return [*whole, *((kind, names) for kind, names in cases if names)]

    def _points(self, student: Student, one: Try, extension: datetime.timedelta) -> int:
        percent = 10 * self.days(student, one, extension)
        change = Fraction(student.adjusted or 0)
        return math.floor(one.earned * Fraction(100 - min(percent, 50), 100) + change)

    def days(self, student: Student, one: Try, extension: datetime.timedelta) -> int:
        """How many days have begun since the due date, as far as somebody knows."""
        over = one.after - extension
        is_known = self._time(student, one, extension)[1] is not None
        return math.ceil(over / DAY) if is_known and over > datetime.timedelta(minutes=10) else 0

    def _time(self, student: Student, one: Try, extension: datetime.timedelta) -> tuple[str, datetime.datetime | None]:
        has_time = self.platform.has_times and one.is_dated
        if student is STRANGER and self.platform.name == "canvas":
            return "unknown", None  # times.csv has only students of the roster
        if not self.platform.has_times or (student is STRANGER and self.platform.has_own_roster):
            return "", None
        if not has_time:
            return "unknown", None
        is_late = one.after - extension > datetime.timedelta(minutes=10)
        return "late" if is_late else "in time", DUE + one.after

    # -- files -------------------------------------------------------------------------------------------------------

    def write(self, folder: Path) -> list[Path]:
        """Write the downloads, the roster and the tables beside it. Returns the downloads, the earlier one first."""
        writer = {
            "folders": self._folders, "moodle": self._moodle, "moodle without names": self._moodle,
            "canvas": self._canvas, "gradescope": self._gradescope, "github": self._github,
        }[self.platform.name]  # fmt: skip
        downloads, roster, tables = writer()
        adjusted = [
            {"student": self.named(one), "unit": UNIT, "points": one.adjusted, "comment": COMMENT, "by": "Ms Roe"}
            for one in students()
            if one.adjusted is not None
        ]
        for name, text in {"roster.csv": roster, "adjustments.csv": table(adjusted), **tables}.items():
            (folder / name).write_text(text, encoding="utf-8")
        for name, files in downloads.items():
            if name.endswith(".zip"):
                (folder / name).write_bytes(zipped(files))
                continue
            for path, content in files.items():
                (folder / name / path).parent.mkdir(parents=True, exist_ok=True)
                (folder / name / path).write_bytes(content)
        return [folder / name for name in downloads]

    def _everybody(self) -> Iterator[tuple[Student, int, Try]]:
        """Yield what the platform has, with a number: 0 for the last of a student, -1 for the one before it."""
        for student in (*students(), *self.strangers):
            tries = self.handed_in(student)
            for number, one in enumerate(tries, 1 - len(tries)):
                yield student, number, one

    def _first_of_group(self, student: Student) -> bool:
        return not student.group or student == next(one for one in students() if one.group == student.group)

    def _folders(self) -> tuple[dict[str, Files], str, dict[str, str]]:
        """Two folders: what came until Monday, and what was handed in again or later."""
        downloads: dict[str, dict[str, bytes]] = {"monday": {}, "friday": {}}
        times = []
        for student, number, one in self._everybody():
            name = "friday" if number == 0 and len(self.handed_in(student)) > 1 else "monday"
            called = (student.name, student.login)[student.number % 2]
            called = student.group or {"Jordan Lee": "Jordan Lee", "Zoe Zand": "Zoe Zand"}.get(student.name, called)
            if self._first_of_group(student) and called not in {path.partition("/")[0] for path in downloads[name]}:
                if student.number % 5 == 4:
                    downloads[name][f"{called}.zip"] = zipped(one.files)
                else:
                    downloads[name] |= {f"{called}/{path}": content for path, content in one.files.items()}
            if one.is_dated and student is not STRANGER:
                at = (DUE + one.after).isoformat()
                times.append({"student": student.login, "unit": UNIT, "time": at, "submission": name})
        rows = [
            {
                "student": one.login,
                "name": one.name,
                "email": one.email,
                "id": str(500 + one.number),
                "folder": one.group,
                UNIT: "exempt" if one.is_ == "exempt" else (DUE + one.extension).isoformat() if one.extension else "",
            }
            for one in students()
        ]
        return dict(downloads), table(rows), {"times.csv": table(times)}

    def _moodle(self) -> tuple[dict[str, Files], str, dict[str, str]]:
        """Two zip files, each with its grading worksheet, and the participants; without names, all are numbers."""
        has_names = self.platform.has_names
        downloads: dict[str, dict[str, bytes]] = {"monday.zip": {}, "friday.zip": {}}
        worksheets: dict[str, list[dict[str, str]]] = {"monday": [], "friday": []}
        for student, number, one in self._everybody():
            name = "friday" if number == 0 and len(self.handed_in(student)) > 1 else "monday"
            called = student.name if has_names else "Participant"
            inside = f"{called}_{4700 + student.number}_assignsubmission_file_"
            downloads[f"{name}.zip"] |= {f"{inside}/{path}": content for path, content in one.files.items()}
            time = f"{DUE + one.after:%A, %d %B %Y, %I:%M %p}" if one.is_dated else "-"
            row = {"Identifier": f"Participant {4700 + student.number}"}
            row |= {"Full name": student.name, "Email address": student.email} if has_names else {}
            worksheets[name].append(row | {"Last modified (submission)": time})
        rows = [
            {"First name": one.first, "Last name": one.last, "Email address": one.email, "Roles": "Student"}
            for one in students()
        ]
        rows += [
            {"First name": first, "Last name": last, "Email address": f"{last}@example.org", "Roles": role}
            for first, last, role in TEACHERS
        ]
        if not has_names:
            rows = [{"Identifier": f"Participant {4700 + one.number}", "Status": "-"} for one in students()]
        tables = {f"times_{name}.csv": table(own) for name, own in worksheets.items()}
        return dict(downloads), table(rows), tables

    def _canvas(self) -> tuple[dict[str, Files], str, dict[str, str]]:
        """One zip file with the newest upload of each, marked as late if it was, and the export of the gradebook."""
        files: dict[str, bytes] = {}
        times = []
        for student, _, one in self._everybody():
            who = re.sub(r"[^a-z]", "", f"{student.last}{student.first}".lower().translate(_PLAIN))
            late = "_LATE" if one.after > datetime.timedelta() else ""
            for upload, (name, content) in enumerate(one.files.items()):
                files[f"{who}{late}_{500 + student.number}_{9000 + 10 * student.number + upload}_{name}"] = content
            if one.is_dated and student is not STRANGER:
                times.append({"student": student.login, "unit": UNIT, "time": (DUE + one.after).isoformat()})
        rows = []
        for student in students():
            row = {
                "Student": f"{student.last}, {student.first}",
                "ID": str(500 + student.number),
                "SIS User ID": f"s-{student.number}",
                "SIS Login ID": student.login,
                "Section": "A",
            }
            rows += [row, {**row, "Section": "B"}] if student.is_ == "in two sections" else [row]
        points = {"Student": "    Points Possible"}
        test_student = {"Student": "Student, Test", "ID": "1", "Section": "A"}
        columns = [*rows[0]]
        return {"class.zip": files}, table([points, *rows, test_student], columns), {"times.csv": table(times)}

    def _gradescope(self) -> tuple[dict[str, Files], str, dict[str, str]]:
        """One zip file with what Gradescope says about each submission, and Gradescope's roster."""
        files: dict[str, bytes] = {}
        metadata = "---\n"
        for student, _, one in self._everybody():
            if not self._first_of_group(student):
                continue
            inside = f"submission_{100 + student.number}"
            files |= {f"assignment_7_export/{inside}/{path}": content for path, content in one.files.items()}
            at = f"{(DUE + one.after).astimezone(datetime.UTC):%Y-%m-%d %H:%M:%S}.000000000 Z" if one.is_dated else ""
            group = [other for other in students() if student.group and other.group == student.group] or [student]
            people = "".join(
                f'  - :name: "{other.name}"\n    :sid: "u-{other.number}"\n    :email: {other.email}\n'
                for other in group
            )
            metadata += f"{inside}:\n  :submitters:\n{people}  :created_at: {at}\n  :status: processed\n"
        files["assignment_7_export/submission_metadata.yml"] = metadata.encode()
        rows = [
            {"First Name": one.first, "Last Name": one.last, "SID": f"u-{one.number}", "Email": one.email}
            | {"Role": "Student"}
            for one in students()
        ]
        rows += [
            {"First Name": first, "Last Name": last, "SID": "", "Email": f"{last}@example.org", "Role": "Instructor"}
            for first, last, _ in TEACHERS
        ]
        return {"class.zip": files}, table(rows), {}

    def _github(self) -> tuple[dict[str, Files], str, dict[str, str]]:
        """One zip file with the students' repositories, and Classroom 50's roster."""
        files: dict[str, bytes] = {}
        for student, _, one in self._everybody():
            files |= {f"attention-{student.login}/exercises/{path}": content for path, content in one.files.items()}
        rows = []
        for student in students():
            row = {
                "username": student.login,
                "first_name": student.first,
                "last_name": student.last,
                "email": student.email,
            }
            row |= {"section": "A", "github_id": str(70000 + student.number), "role": "student"}
            rows.append({**dict.fromkeys(row, ""), "email": student.email} if student.is_ == "unlinked" else row)
        for first, last, _ in TEACHERS:
            rows.append(
                {**dict.fromkeys(rows[0], ""), "username": last, "first_name": first, "last_name": last, "role": "ta"}
            )
        return {"class.zip": files}, table(rows), {}


_PLAIN = str.maketrans("éüèą", "euea")


def table(rows: Sequence[Mapping[str, str | None]], columns: Iterable[str] = ()) -> str:
    text = io.StringIO()
    writer = csv.DictWriter(text, [*columns] or list(rows[0]), lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    return text.getvalue()
