"""autograder.yml as a typed model: units, exercises, weights, limits, feedback, dates and late penalties."""

from __future__ import annotations

import ast
import zoneinfo
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

from pydantic import AfterValidator, AwareDatetime, Field, PrivateAttr
from pydantic_core import PydanticCustomError

from grader import machine
from grader.course.late import Late
from grader.course.root import FILENAME as FILENAME
from grader.documents import CourseError, Document, Location, Model, nearest
from grader.quizzes.questions import QUIZ_SUFFIX
from grader.sandbox.limits import Limits
from grader.text import in_words

if TYPE_CHECKING:
    import datetime
    from collections.abc import Mapping

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


class Unit(Model):
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
    units: Annotated[dict[str, Unit], Field(min_length=1)]
    _root: Path = PrivateAttr(default=Path())

    def __hash__(self) -> int:
        return hash(self._root)

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
        """The folder of what students receive."""
        return self._root / "exercises"

    @property
    def suites(self) -> Path:
        """The folder of the hidden tests, with a folder for each unit. A student's grader has none."""
        return self._root / self.suites_folder

    @property
    def caches(self) -> Path:
        """The folder of files that `grader build` and `grader audit` compute from the sources."""
        return self._root / "build"

    def hidden_tests(self, unit: str) -> list[Path]:
        """Return the files of a unit's hidden tests."""
        return sorted((self.suites / unit).glob("test_*.py"))

    def misconceptions(self, unit: str) -> list[Path]:
        """Return the files that may define misconceptions of a unit: misconceptions.py and the hidden tests."""
        own = self.suites / unit / "misconceptions.py"
        return [*([own] if own.is_file() else []), *self.hidden_tests(unit)]

    def shown(self, path: Path) -> str:
        """Return a file's name for messages: relative to the root if the file is part of the course."""
        return path.relative_to(self._root).as_posix() if path.is_relative_to(self._root) else str(path)

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


def load_course(root: Path) -> Course:
    """Read `root`/autograder.yml and compare it with `root`/solutions.

    Raises:
        CourseError: Every problem found, each with its line and column and what to do about it.
    """
    root = root.resolve()
    try:
        document = Document(root / FILENAME, FILENAME, Course)
    except FileNotFoundError:
        raise CourseError(f"{FILENAME} is missing in {root}: give the folder of a course, --course DIR.") from None
    course = document.validate(Course)
    solutions = root / "solutions"
    # Students have only the stubs, which define the same names.
    _check_sources(document, solutions if solutions.is_dir() else root / "exercises")
    _check_names(document)
    document.require_sound()
    assert course
    course._root = root
    return course


def left_out(course: Course) -> dict[str, list[str]]:
    """Return what the solutions define and autograder.yml does not list, by unit.

    A unit that is not listed is included with all its definitions. Without solutions the result is empty: students
    receive nothing that is left out.
    """
    missing = {}
    for path in sorted(course.solutions.glob("*.py")):
        unit = course.units.get(path.stem)
        try:
            names = [name for name in _definitions(path) if unit is None or name not in unit.exercises]
        except (SyntaxError, ValueError):
            names = []  # only in a unit that is not listed: load_course has read the others
        if names or unit is None:
            missing[path.stem] = names
    return missing


def describe_left_out(course: Course) -> list[str]:
    """Return a sentence on each unit and exercise that autograder.yml leaves out, and on what depends on it."""
    sentences = []
    users = {
        name: {node.id for node in ast.walk(definition) if isinstance(node, ast.Name)}
        for unit, described in course.units.items()
        if course.solutions.is_dir()
        for name, definition in _definitions(course.solutions / f"{unit}.py").items()
        if name in described.exercises
    }
    for unit, names in left_out(course).items():
        what = [f"{unit}/{name}" for name in names] if unit in course.units else [f"the unit {unit}"]
        sentences.append(f"{FILENAME} leaves out {', '.join(what)}.")
        for name in names:
            if others := [user for user, used in users.items() if name in used]:
                sentences.append(
                    f"{', '.join(others)} builds on {name}: students write what they need of it themselves. "
                    "To ask for it without points, give it the weight 0."
                )
    return sentences


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
            defined = _definitions(source)
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


def _definitions(source: Path) -> dict[str, ast.stmt]:
    """Return the functions and classes at the top level of a file, by name."""
    definitions = (ast.FunctionDef, ast.ClassDef)
    return {item.name: item for item in ast.parse(source.read_bytes()).body if isinstance(item, definitions)}
