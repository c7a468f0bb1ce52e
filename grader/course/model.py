"""autograder.yml as a typed model: units, exercises, weights, limits, feedback, dates and late penalties."""

from __future__ import annotations

import ast
import json
import math
import zoneinfo
from collections.abc import Mapping
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

from pydantic import AfterValidator, AwareDatetime, Field, PrivateAttr, field_validator
from pydantic_core import PydanticCustomError

from grader import machine
from grader.course.generated import Generated
from grader.course.root import FILENAME as FILENAME
from grader.course.root import find_root
from grader.documents import CourseError, Document, Location, Model, nearest
from grader.quizzes.questions import QUIZ_SUFFIX
from grader.sandbox.limits import Limits
from grader.submissions.submission import CHECKS, FOLDER
from grader.text import in_words

if TYPE_CHECKING:
    import datetime

Percent = Annotated[float, Field(ge=0, le=100)]


class Late(Model):
    """The deduction for late work, and which of several submissions of a unit counts.

    Attributes:
        grace_minutes: How long after the due date work is not yet late.
        percent_per_day: The deduction for each 24 hours that have begun since the due date, with fractions of a point.
        most_percent: The largest deduction.
        counts: The last submission, or the one with the most points after the deduction.
    """

    grace_minutes: Annotated[int, Field(ge=0)] = 0
    percent_per_day: Percent
    most_percent: Percent
    counts: Literal["last", "best"] = "last"

    @field_validator("most_percent")
    @classmethod
    def _holds_one_day(cls, most_percent: float, info: Any) -> float:
        if most_percent < info.data.get("percent_per_day", 0):
            raise PydanticCustomError("too_little_for_a_day", "Input should be at least percent_per_day")
        return most_percent

    def days(self, seconds_late: float) -> int:
        """Return how many days have begun since the due date; none within the grace period."""
        return math.ceil(seconds_late / 86400) if seconds_late > self.grace_minutes * 60 else 0

    def percent(self, days: int) -> Fraction:
        """Return the deduction in percent. It is exact, so that rounding cannot cost a point."""
        return min(days * Fraction(str(self.percent_per_day)), Fraction(str(self.most_percent)))


Level = Literal["points", "sentence", "misconception"]
"""How much feedback a student gets on a failed criterion; each level adds to the one before."""

Name = Annotated[str, Field(min_length=1)]
Weight = Annotated[int, Field(ge=0)]


def _is_timezone(name: str) -> str:
    known = zoneinfo.available_timezones()  # none on Windows, where students have no need of it
    if known and name not in known:
        raise PydanticCustomError("unknown_timezone", "Input should be a time zone such as Europe/Berlin")
    return name


Timezone = Annotated[str, AfterValidator(_is_timezone)]


def _is_supported_python(version: str) -> str:
    major, oldest = machine.OLDEST
    supported = [f"{major}.{minor}" for minor in range(oldest, machine.NEWEST[1] + 1)]
    if version not in supported:
        text = f"Input should be one of the versions of Python that the grader supports, {in_words(supported)}"
        raise PydanticCustomError("unsupported_python", text)
    return version


Python = Annotated[str, AfterValidator(_is_supported_python)]


class Feedback(Model):
    """How much feedback a student gets before and after the due date, and whether quiz answers are shown after it."""

    before_due: Level
    after_due: Level
    quiz_answers: bool


class UnitSettings(Model):
    """One unit. An exercise or quiz with the weight 0 is run and reported, and worth no points.

    Attributes:
        title: The unit's title.
        due: When it is due.
        exercises: The weight of each exercise, in order.
        quiz: The factor for the points of the quiz's items; None if the unit has no quiz.
    """

    title: Name
    due: AwareDatetime
    exercises: Annotated[dict[str, Weight], Field(min_length=1)]
    quiz: Weight | None = None

    @property
    def due_text(self) -> str:
        """When it is due, in words."""
        return f"{self.due:%d %B %Y, %H:%M} ({self.due.tzinfo})".lstrip("0")

    @property
    def time_shares(self) -> int:
        """How many parts share the unit's time: loading the file, and each exercise alone and with substitutes."""
        return 1 + 2 * len(self.exercises)


class Course(Model):
    """The content of autograder.yml, with the units in order, and the paths of the course's files.

    Attributes:
        suites_folder: The folder of the hidden tests, relative to the course's root.
        modules: What answers may import besides the standard library, torch and numpy.
        python: The version of Python that grades, such as 3.11; by default, the one that runs this.
        timezone: The time zone of times without an offset, such as those of Moodle.
    """

    name: Annotated[str, Field(min_length=1, alias="course")]
    version: Name
    suites_folder: Annotated[str, Field(min_length=1, alias="suites")] = "suites"
    modules: list[Name] = Field(default_factory=list)
    python: Python = machine.RUNNING
    timezone: Timezone | None = None
    limits: Limits
    feedback: Feedback
    late: Late = Late(percent_per_day=0, most_percent=0)
    units: Annotated[dict[str, UnitSettings], Field(min_length=1)]
    _root: Path = PrivateAttr(default=Path())
    _is_up_to_date: bool = PrivateAttr(default=False)

    def __hash__(self) -> int:
        return hash(self._root)

    @property
    def unit_of(self) -> dict[str, str]:
        """The unit of each exercise, in the course's order."""
        return {exercise: unit for unit, described in self.units.items() for exercise in described.exercises}

    @property
    def root(self) -> Path:
        """The folder that autograder.yml is in."""
        return self._root

    @property
    def solutions(self) -> Path:
        """The folder of the sources of units and quizzes. A student's grader has none."""
        return self._root / "solutions"

    @property
    def exercises(self) -> Path:
        """The folder of what students receive: the files to work on."""
        return self._root / FOLDER

    @property
    def checks(self) -> Path:
        """The folder in it with the visible tests, the pictures and what they read. In a checkout, that is built first.

        Raises:
            GraderError: It is outdated, and cannot be built.
        """
        if not self._is_up_to_date:
            self.generated.bring_up_to_date()
            if not (self.exercises / CHECKS).is_dir():
                raise CourseError(
                    f"{self.exercises} is from an earlier release: run `pip install -r requirements.txt` in the "
                    "students' repository, and leave out --course."
                )
            self._is_up_to_date = True
        return self.exercises / CHECKS

    @property
    def generated(self) -> Generated:
        """The files in `checks` that are built, and when that is needed."""
        units = {name: [list(unit.exercises), unit.quiz is not None] for name, unit in self.units.items()}
        settings = json.dumps([self.version, self.suites_folder, units])
        return Generated(self._root, self.suites, settings)

    @property
    def suites(self) -> Path:
        """The folder of the hidden tests, with a folder for each unit. A student's grader has none."""
        return self._root / self.suites_folder

    @property
    def caches(self) -> Path:
        """The folder of files that `grader build` and `grader audit` compute from the sources."""
        return self._root / "build"

    def hidden_tests(self, unit: str) -> list[Path]:
        """Return the files of a unit's hidden tests, one for each exercise, in their order. Some may be missing."""
        return [self.suites / unit / f"{exercise}.py" for exercise in self.units[unit].exercises]

    @property
    def quizzes(self) -> list[str]:
        """The units that have a quiz."""
        return [name for name, unit in self.units.items() if unit.quiz is not None]

    def feedback_level(self, unit_name: str, now: datetime.datetime) -> Level:
        """Return the feedback level of a unit at `now`, a time with a zone; the due time itself is not late."""
        return self.feedback.after_due if self.is_over(unit_name, now) else self.feedback.before_due

    def with_due(self, due: Mapping[str, datetime.datetime]) -> Course:
        """Return the course with other due dates of some units, such as a student's extensions."""
        if not due:
            return self
        units = {
            name: unit.model_copy(update={"due": due[name]}) if name in due else unit
            for name, unit in self.units.items()
        }
        return self.model_copy(update={"units": units})

    def is_over(self, unit_name: str, now: datetime.datetime) -> bool:
        """Return whether a unit's due date has passed: from then on its quiz counts, with feedback."""
        return now > self.units[unit_name].due


def load_course(root: Path, is_building: bool = False) -> Course:
    """Read `root`/autograder.yml and compare it with `root`/solutions.

    Args:
        root: The course's folder.
        is_building: Whether the caller builds what `checks` has, so that nobody else has to.

    Raises:
        CourseError: Every problem found, each with its line and column and what to do about it.
    """
    root = root.resolve()
    try:
        document = Document(root / FILENAME, FILENAME, Course)
    except FileNotFoundError:
        raise CourseError(f"{FILENAME} is missing in {root}: give the folder of a course, --course DIR.") from None
    course = document.validate(Course)
    if course and (Path(course.suites_folder).is_absolute() or ".." in Path(course.suites_folder).parts):
        document.report(("suites",), f"{course.suites_folder!r} is not below this file: move the suites there.")
    solutions = root / "solutions"
    # Students have only the stubs, which define the same names.
    _check_sources(document, solutions if solutions.is_dir() else root / FOLDER)
    _check_names(document)
    document.require_sound()
    assert course
    course._root, course._is_up_to_date = root, is_building
    return course


def _check_sources(document: Document, folder: Path) -> None:
    """Check that each unit has a file in `folder` that defines its exercises, and that each quiz has a source."""
    for unit in document.keys("units"):
        here = ("units", unit)
        source = folder / f"{unit}.py"
        if not unit.isidentifier() or not source.is_file():
            known = sorted(path.stem for path in folder.glob("*.py"))
            document.report_key(
                here,
                f"there is no {folder.name}/{unit}.py for the unit {unit!r}: "
                f"write it or correct the name.{nearest(unit, known)}",
            )
            continue
        quiz = f"{unit}{QUIZ_SUFFIX}"
        if folder.name == "solutions" and "quiz" in document.keys(*here) and not (folder / quiz).is_file():
            document.report_key((*here, "quiz"), f"there is no solutions/{quiz}: write it or take this line out.")
        try:
            defined = definitions(source)
        except (SyntaxError, ValueError) as error:
            line = f":{error.lineno}" if isinstance(error, SyntaxError) and error.lineno else ""
            document.report_key(here, f"{folder.name}/{unit}.py{line} is not valid Python: correct it first.")
            continue
        for exercise in document.keys(*here, "exercises"):
            if exercise not in defined:
                document.report_key(
                    (*here, "exercises", exercise),
                    f"{folder.name}/{unit}.py defines no {exercise!r} at top level: "
                    f"define it or correct the name.{nearest(exercise, defined)}",
                )


def _check_names(document: Document) -> None:
    """Check that all units and exercises have different names, because commands find them by name.

    The names must differ even if case is ignored: files are named after them, and some disks ignore case.
    """
    places: list[Location] = []
    for unit in document.keys("units"):
        places.append(("units", unit))
        places += [("units", unit, "exercises", name) for name in document.keys("units", unit, "exercises")]
    first: dict[str, Location] = {}
    for place in places:
        name = place[-1]
        before = first.setdefault(name.casefold(), place)
        if before is not place:
            other = before[-1]
            what = "is already" if name == other else f"differs in upper and lower case alone from {other!r}"
            document.report_key(place, f"{name!r} {what} on line {document.line_of(before)}: rename one of the two.")


def definitions(source: Path) -> dict[str, ast.stmt]:
    """Return the functions and classes at the top level of a file, by name."""
    definitions = (ast.FunctionDef, ast.ClassDef)
    return {item.name: item for item in ast.parse(source.read_bytes()).body if isinstance(item, definitions)}


def find_course(named: Path | None = None, around: Path | None = None) -> Course:
    """Read the course that `find_root` finds. Raises CourseError if there is none, or it has a mistake."""
    return load_course(find_root(named, around))
