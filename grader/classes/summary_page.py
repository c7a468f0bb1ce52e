"""The class at a glance: one HTML page for the instructor, without scripts, which needs no network."""

from __future__ import annotations

import datetime
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache, cached_property
from pathlib import Path
from typing import Any, NamedTuple

from markupsafe import Markup

from grader.classes.decisions import Decisions
from grader.classes.gradebook import Gradebook, Reports, StudentRow, gradebook_of, read_reports, units_begun
from grader.classes.open_cases import RULES, OpenCase, handed_in_nothing, needs_help, open_cases, total_percent
from grader.classes.statistics import Quartiles, exercise_rows, histogram, item_rows, misconception_rows, quartiles
from grader.course.model import Course
from grader.errors import GraderError
from grader.quizzes.quiz_source import QuizSource, load_quizzes
from grader.quizzes.sheet import heading
from grader.reports.exporters import html
from grader.reports.exporters.html import STYLE, environment, style
from grader.reports.folder import earlier_report
from grader.reports.reading import in_zone
from grader.reports.report_model import UNKNOWN, Report, Unit
from grader.text import printable

# The most that the page lists, so that it stays small for a large class. It says what it leaves out.
MOST = {"names": 40, "misconceptions": 60, "help": 100, "shown": 15, "cases": 100}
_FOLDER = Path(__file__).parent
_STYLES = (STYLE, _FOLDER / "summary_page.css")
WEEK = datetime.timedelta(days=7)


class UnitRow(NamedTuple):
    """One unit in numbers; the points are in percent, of those who handed it in."""

    name: str
    title: str
    possible: int
    handed_in: int
    students: int
    mean: float | None
    quartiles: Quartiles | None
    late: int


@dataclass(frozen=True)
class Summary:
    """A class, as its reports show it.

    Attributes:
        course: The course.
        gradebook: The grades in the units that count.
        quizzes: The quizzes of the course, by unit.
        change: What changed within a week.
        folder: The folder of the reports.
        made: When the newest report was made.
        now: Decides which units are over.
        is_early: Whether no unit is over, so that the units count that somebody has begun.
    """

    course: Course
    gradebook: Gradebook
    quizzes: Mapping[str, QuizSource]
    change: WeekChange
    folder: Path
    made: datetime.datetime
    now: datetime.datetime
    is_early: bool

    @property
    def rows(self) -> Sequence[StudentRow]:
        """The students."""
        return self.gradebook.rows

    @cached_property
    def totals(self) -> list[float]:
        """The totals in percent of the students with a total."""
        return [one for row in self.rows if (one := total_percent(self.gradebook, row)) is not None]

    @property
    def idle(self) -> list[StudentRow]:
        """The students who handed in nothing that counts."""
        return [row for row in self.rows if handed_in_nothing(row)]

    @property
    def handed_in(self) -> int:
        """How many students have handed in a unit that is graded."""
        return sum(any(grade.state == "graded" for grade in row.grades.values()) for row in self.rows)

    @property
    def ungraded(self) -> int:
        """How many students have a unit that is not graded."""
        return sum(not row.is_complete for row in self.rows)

    @property
    def uncounted_quizzes(self) -> list[str]:
        """The units whose quiz does not count yet."""
        graded = {name: [grade.unit for row in self.rows if (grade := row.grades[name]).unit] for name in self.units}
        return [name for name, units in graded.items() if any(one.quiz and one.quiz.points is None for one in units)]

    @cached_property
    def open_cases(self) -> list[OpenCase]:
        """What is to be decided."""
        return open_cases(self.gradebook, self.course, self.now, self.folder)

    @property
    def groups(self) -> int:
        """How many groups have handed in a unit together."""
        reports = [grade.report for row in self.rows for grade in row.grades.values() if grade.state == "graded"]
        return len({tuple(report.together) for report in reports if report and len(report.together) > 1})

    @property
    def units(self) -> list[str]:
        """The units that count."""
        return list(self.gradebook.possible)

    def unit_rows(self) -> Iterator[UnitRow]:
        """Yield the units that count."""
        for name in self.units:
            grades = [row.grades[name] for row in self.rows]
            graded = [grade for grade in grades if grade.state == "graded"]
            counted = [row.grades[name].unit for row in self.gradebook.hand_ins(name)]
            percents = [100 * unit.points / unit.possible for unit in counted if unit and unit.possible]
            yield UnitRow(
                name,
                self.course.units[name].title,
                self.gradebook.possible[name],
                len(graded),
                sum(grade.state not in ("exempt", "not due") for grade in grades),
                sum(percents) / len(percents) if percents else None,
                quartiles(percents),
                sum(grade.is_late for grade in graded),
            )


def read_class(decisions: Decisions, reports: Path, unit: str | None = None) -> Summary:
    """Read the reports of a class: reports/<student>.json, or reports/<unit>/<student>.json.

    Args:
        decisions: The course and the roster. Without a roster, every student with a report is in the class.
        reports: The folder of the reports.
        unit: Only this unit, even if it is not over.

    Raises:
        GraderError: There are no reports.
    """
    course = decisions.course
    found = read_reports(course, reports)
    every = {id(report): report for own in found.values() for report in own.values() if isinstance(report, Report)}
    if not every:
        raise GraderError(f"{reports} holds no report of this version: grade again.")
    made = max(report.started for report in every.values())
    now = max(made, datetime.datetime.now(datetime.UTC))
    gradebook = gradebook_of(decisions, found, now, [unit] if unit else [])
    is_early = not gradebook.possible
    if is_early:
        begun = units_begun(every.values())
        gradebook = gradebook_of(decisions, found, now, [name for name in course.units if name in begun])
    quizzes = load_quizzes(course.solutions, [name for name in course.quizzes if name in gradebook.possible])
    return Summary(course, gradebook, quizzes, change(found, reports, made), reports, made, now, is_early)


def page(summary: Summary, hides_names: bool = False) -> str:
    """Return the page. The same reports give the same page.

    Args:
        summary: The class.
        hides_names: Whether students are counted only: no name, and nothing that a student wrote, is on the page.
    """
    exercises = list(exercise_rows(summary.gradebook))
    items = list(item_rows(summary.gradebook, summary.quizzes))
    idle = {row.entry.student for row in summary.idle}
    busy = [row for row in summary.rows if row.entry.student not in idle]
    percents = [one for row in busy if (one := total_percent(summary.gradebook, row)) is not None]
    found = needs_help(summary.gradebook)
    rendered: str = _template().render(
        summary=summary,
        style=style(*_STYLES),
        most=MOST,
        bins=list(zip(histogram(percents), histogram(summary.totals), strict=True)),
        totals=quartiles(summary.totals),
        exercises=exercises,
        hardest=sorted(exercises, key=lambda one: one.share.value)[:3],
        misconceptions=misconception_rows(summary.gradebook),
        items=items,
        hardest_items=sorted(items, key=lambda one: one.right.value)[:3],
        helped=[] if hides_names else found,
        rules={rule: sum(rule in one.reasons for one in found) for rule in RULES},
        needing=len(found),
        cases=summary.open_cases,
        kinds=Counter(kind for case in summary.open_cases for kind in [case.kind] * max(1, len(case.students))),
        made=in_zone(summary.made, summary.course.timezone),
        since=in_zone(summary.change.since, summary.course.timezone),
        counted="submission" if summary.groups else "student",
        hides_names=hides_names,
    )
    return rendered


def _percent(share: float) -> str:
    return f"{100 * share:.0f}\N{NO-BREAK SPACE}%"


def _at(number: float) -> str:
    """Return a coordinate in percent of the width of a plot. What adjustments add to 100 is at its end."""
    return f"{min(number, 100):.1f}%"


def _first_large(text: str) -> str:
    return text[:1].upper() + text[1:]


@cache
def _template() -> Any:
    templates = environment(_FOLDER)
    templates.filters |= {
        "at": _at,
        "breakable": lambda text: Markup("_<wbr>").join(printable(text).split("_")),
        "code": html.inline,
        "course_markdown": html.blocks,
        "heading": heading,
        "percent": _percent,
        "first_large": _first_large,
        "words": lambda name: _first_large(name.replace("_", " ")),
    }
    return templates.get_template("summary_page.html.j2")


@dataclass
class UnitChange:
    """How many students changed their files of a unit, and what they gained by it.

    Attributes:
        done: How many exercises are done that were not.
        points: The points gained in exercises. Those of a quiz all come on its due date, so they are left out.
    """

    active: int = 0
    done: int = 0
    points: int = 0


@dataclass
class WeekChange:
    """What changed in a class.

    Attributes:
        since: The beginning of the week.
        compared: How many students have a report from then.
        active: How many of these have changed a file.
        units: The units in which something has changed.
    """

    since: datetime.datetime
    compared: int = 0
    active: int = 0
    units: dict[str, UnitChange] = field(default_factory=dict)

    @property
    def done(self) -> int:
        """How many exercises are done that were not."""
        return sum(unit.done for unit in self.units.values())

    @property
    def points(self) -> int:
        """The points gained."""
        return sum(unit.points for unit in self.units.values())


def change(found: Reports, folder: Path, until: datetime.datetime) -> WeekChange:
    """Compare each student's report with the one that was current a week before.

    Args:
        found: The reports.
        folder: The folder that they are from.
        until: When the newest of them was made.
    """
    result = WeekChange(until - WEEK)
    for student, own in found.items():
        pairs = list(_pairs(student, own, folder, result.since))
        changed = [(name, before, after) for name, before, after in pairs if _is_active(before, after)]
        result.compared += bool(pairs)
        result.active += bool(changed)
        for name, before, after in changed:
            unit = result.units.setdefault(name, UnitChange())
            unit.active += 1
            unit.points += sum(one.points for one in after.exercises.values())
            unit.points -= sum(one.points for one in before.exercises.values())
            unit.done += len(_done(after) - _done(before))
    # In the order of the reports, which is that of the course.
    order = dict.fromkeys(name for own in found.values() for name in own)
    result.units = {name: result.units[name] for name in order if name in result.units}
    return result


def _pairs(
    student: str, own: Mapping[str, Report | str], folder: Path, since: datetime.datetime
) -> Iterator[tuple[str, Unit, Unit]]:
    """Yield each unit of a student that was graded by then, as it was then and as it is."""
    earlier: dict[Path, Report | None] = {}
    for name, report in own.items():
        if isinstance(report, str):
            continue
        before: Report | None = report
        if report.started > since:
            place = folder / name if (folder / name / f"{student}.json").is_file() else folder
            if place not in earlier:
                earlier[place] = earlier_report(student, place, since)
            before = earlier[place]
        if before and name in before.units:
            yield name, before.units[name], report.units[name]


def _is_active(before: Unit, after: Unit) -> bool:
    """Return whether a student changed something in a unit."""
    if UNKNOWN in (before.answers, after.answers):
        return before.exercises != after.exercises
    return before.answers != after.answers


def _done(unit: Unit) -> set[str]:
    return {
        name
        for name, one in unit.exercises.items()
        if one.tests and all(test.outcome == "passed" for test in one.tests)
    }
