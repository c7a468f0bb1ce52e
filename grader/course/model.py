"""autograder.yml as a typed model: units, exercises, weights, limits, feedback, dates and what lateness costs."""

from __future__ import annotations

import ast
import math
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

from pydantic import AwareDatetime, Field, PrivateAttr, field_validator
from pydantic_core import PydanticCustomError

from grader.documents import CourseError, Document, Location, Model, nearest
from grader.quizzes.questions import QUIZ_SUFFIX
from grader.sandbox.limits import Limits

if TYPE_CHECKING:
    import datetime

FILENAME = "autograder.yml"

Level = Literal["points", "sentence", "misconception"]
"""How much a student reads about a criterion that was missed; each level adds to the one before."""

Name = Annotated[str, Field(min_length=1)]
Weight = Annotated[int, Field(ge=0)]
Seconds = Annotated[float, Field(gt=0, allow_inf_nan=False)]
Percent = Annotated[float, Field(ge=0, le=100)]


class Feedback(Model):
    """How much a student reads, up to the due date and after it; and whether it tells the quizzes' answers after it."""

    before_due: Level
    after_due: Level
    quiz_answers: bool


class Late(Model):
    """What a gradebook takes off what was handed in late: for each day that has begun, up to the most."""

    percent_per_day: Percent
    most_percent: Percent

    @field_validator("most_percent")
    @classmethod
    def _holds_one_day(cls, most_percent: float, info: Any) -> float:
        if most_percent < info.data.get("percent_per_day", 0):
            raise PydanticCustomError("too_little_for_a_day", "Input should be at least percent_per_day")
        return most_percent

    def penalty(self, score: float, seconds_late: float) -> float:
        """What is taken off a score."""
        days = math.ceil(seconds_late / 86400)
        return score * min(days * self.percent_per_day, self.most_percent) / 100


class Unit(Model):
    """One unit: its title, when it is due, and its exercises in order, each with its weight.

    quiz: the weight of the quiz, each item's points times; None where the unit has no quiz. What has the weight 0 is
    run and reported, and worth no points.
    """

    title: Name
    due: AwareDatetime
    exercises: Annotated[dict[str, Weight], Field(min_length=1)]
    quiz: Weight | None = None

    @property
    def time_shares(self) -> int:
        """What its time is shared by: loading its file, and each exercise, once alone and once with substitutes."""
        return 1 + 2 * len(self.exercises)


class Course(Model):
    """The course: everything that autograder.yml says, with the units in order, and where each unit's files are.

    Attributes:
        suites_folder: The folder of the hidden tests, as a path from the course's root.
        modules: What answers may import beside the standard library, torch and numpy.
    """

    name: Annotated[str, Field(min_length=1, alias="course")]
    version: Name
    suites_folder: Annotated[str, Field(min_length=1, alias="suites")] = "suites"
    modules: list[Name] = Field(default_factory=list)
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
        """The folder of the sources of units and quizzes. Students' graders have none."""
        return self._root / "solutions"

    @property
    def exercises(self) -> Path:
        """The folder of what students receive."""
        return self._root / "exercises"

    @property
    def suites(self) -> Path:
        """The folder of the hidden tests, with a folder for each unit. Students' graders have none."""
        return self._root / self.suites_folder

    @property
    def caches(self) -> Path:
        """The folder of what `grader build` and `grader audit` compute from the sources."""
        return self._root / "build"

    def hidden_tests(self, unit: str) -> list[Path]:
        """Return the files of a unit's hidden tests."""
        return sorted((self.suites / unit).glob("test_*.py"))

    def misconceptions(self, unit: str) -> list[Path]:
        """Return the files that may have misconceptions of a unit: their own file, and the hidden tests."""
        own = self.suites / unit / "misconceptions.py"
        return [*([own] if own.is_file() else []), *self.hidden_tests(unit)]

    def shown(self, path: Path) -> str:
        """Return how messages name a file: by its path from the root where it is part of the course."""
        return path.relative_to(self._root).as_posix() if path.is_relative_to(self._root) else str(path)

    @property
    def quizzes(self) -> list[str]:
        """The units that have a quiz."""
        return [name for name, unit in self.units.items() if unit.quiz is not None]

    def feedback_level(self, unit_name: str, now: datetime.datetime) -> Level:
        """What a student may read about a unit at `now`, a time with a zone; the due time is not late yet."""
        return self.feedback.after_due if self.is_over(unit_name, now) else self.feedback.before_due

    def is_over(self, unit_name: str, now: datetime.datetime) -> bool:
        """Whether a unit's due date has passed: from then on its quiz counts, and is told."""
        return now > self.units[unit_name].due


def load_course(root: Path) -> Course:
    """Read `root`/autograder.yml and hold it against `root`/solutions.

    Raises CourseError with every problem found, each with its line and column and what to do about it.
    """
    root = root.resolve()
    try:
        document = Document(root / FILENAME, FILENAME, Course)
    except FileNotFoundError:
        raise CourseError(f"{FILENAME} is missing in {root}: give the folder of a course, --course DIR.") from None
    course = document.validate(Course)
    solutions = root / "solutions"
    # Students have the stubs alone, which define as much.
    _check_sources(document, solutions if solutions.is_dir() else root / "exercises")
    _check_names(document)
    document.require_sound()
    assert course
    course._root = root
    return course


def left_out(course: Course) -> dict[str, list[str]]:
    """Return what the solutions define and autograder.yml does not list, by unit.

    A unit that is not listed is there with all that it defines. Empty where there are no solutions: students receive
    nothing of what is left out.
    """
    missing = {}
    for path in sorted(course.solutions.glob("*.py")):
        unit = course.units.get(path.stem)
        try:
            names = [name for name in _definitions(path) if unit is None or name not in unit.exercises]
        except (SyntaxError, ValueError):
            names = []  # of a unit that is not listed: all others have been read
        if names or unit is None:
            missing[path.stem] = names
    return missing


def describe_left_out(course: Course) -> list[str]:
    """Return a sentence on each unit and exercise that autograder.yml leaves out, and on what builds on it."""
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
    """Every unit has its file in `folder`, which defines every exercise, and the source of the quiz it names."""
    units = document.data.get("units")
    if not isinstance(units, dict):
        return
    for unit_name, unit in units.items():
        if not isinstance(unit_name, str):
            continue  # reported as no name
        here = ("units", unit_name)
        source = folder / f"{unit_name}.py"
        if not unit_name.isidentifier() or not source.is_file():
            known = sorted(path.stem for path in folder.glob("*.py"))
            document.report_key(
                here,
                f"there is no {folder.name}/{unit_name}.py for the unit {unit_name!r}: "
                f"write it or correct the name.{nearest(unit_name, known)}",
            )
            continue
        if not isinstance(unit, dict):
            continue
        if folder.name == "solutions" and "quiz" in unit and not (folder / f"{unit_name}{QUIZ_SUFFIX}").is_file():
            document.report_key(
                (*here, "quiz"), f"there is no {folder.name}/{unit_name}{QUIZ_SUFFIX}: write it or take this line out."
            )
        try:
            defined = _definitions(source)
        except (SyntaxError, ValueError) as error:
            line = f":{error.lineno}" if isinstance(error, SyntaxError) and error.lineno else ""
            document.report_key(here, f"{folder.name}/{unit_name}.py{line} is not valid Python: correct it first.")
            continue
        exercises = unit.get("exercises")
        for exercise in exercises if isinstance(exercises, dict) else ():
            if isinstance(exercise, str) and exercise not in defined:
                document.report_key(
                    (*here, "exercises", exercise),
                    f"{folder.name}/{unit_name}.py defines no {exercise!r} at top level: "
                    f"define it or correct the name.{nearest(exercise, defined)}",
                )


def _check_names(document: Document) -> None:
    """No two units or exercises of the course have one name, for they are asked for by it.

    Nor one but for upper and lower case: files are named after them, and some disks do not tell those apart.
    """
    units = document.data.get("units")
    places: list[Location] = []
    for unit_name, unit in units.items() if isinstance(units, dict) else ():
        exercises = unit.get("exercises") if isinstance(unit, dict) else None
        places.append(("units", unit_name))
        places += [
            ("units", unit_name, "exercises", name) for name in (exercises if isinstance(exercises, dict) else ())
        ]
    first: dict[str, Location] = {}
    for place in places:
        name = str(place[-1])
        before = first.setdefault(name.casefold(), place)
        if before is not place:
            other = str(before[-1])
            what = "is already" if name == other else f"differs in upper and lower case alone from {other!r}"
            document.report_key(place, f"{name!r} {what} on line {document.line_of(before)}: rename one of the two.")


def _definitions(source: Path) -> dict[str, ast.stmt]:
    """Return the functions and classes at the top level of a file, by name."""
    definitions = (ast.FunctionDef, ast.ClassDef)
    return {item.name: item for item in ast.parse(source.read_bytes()).body if isinstance(item, definitions)}
