"""What changed in a class within a week, by the reports that later ones have replaced."""

from __future__ import annotations

import datetime
from dataclasses import dataclass, field
from functools import cache
from typing import TYPE_CHECKING

from grader.reports.folder import earlier_report
from grader.reports.model import UNKNOWN, Report, Unit

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

    from grader.classes.gradebook import Reports
    from grader.reports.model import Exercise

WEEK = datetime.timedelta(days=7)


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
class Change:
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


def newest(found: Reports) -> datetime.datetime | None:
    """Return when the newest report was made; None if no report can be read."""
    times = [report.started for own in found.values() for report in own.values() if isinstance(report, Report)]
    return max(times, default=None)


def change(found: Reports, folder: Path, until: datetime.datetime) -> Change:
    """Compare each student's report with the one that was current a week before.

    Args:
        found: The reports.
        folder: The folder that they are from.
        until: When the newest of them was made.
    """
    result = Change(until - WEEK)
    for student, own in found.items():
        pairs = list(_pairs(student, own, folder, result.since))
        result.compared += bool(pairs)
        changed = [name for name, before, after in pairs if _add(result, name, before, after)]
        result.active += bool(changed)
    result.units = {name: result.units[name] for name in _order(found) if name in result.units}
    return result


def _pairs(
    student: str, own: Mapping[str, Report | str], folder: Path, since: datetime.datetime
) -> Iterator[tuple[str, Unit, Unit]]:
    """Yield each unit of a student that was graded by then, as it was then and as it is."""

    @cache
    def earlier(directory: Path) -> Report | None:
        return earlier_report(student, directory, since)

    for name, report in own.items():
        if isinstance(report, str):
            continue
        if report.started <= since:
            yield name, report.units[name], report.units[name]
        else:
            has_own_folder = (folder / name / f"{student}.json").is_file()
            before = earlier(folder / name if has_own_folder else folder)
            if before and name in before.units:
                yield name, before.units[name], report.units[name]


def _add(result: Change, name: str, before: Unit, after: Unit) -> bool:
    """Add what a student changed in a unit, and return whether anything was."""
    if UNKNOWN in (before.answers, after.answers):
        is_active = before.exercises != after.exercises
    else:
        is_active = before.answers != after.answers
    if not is_active:
        return False
    unit = result.units.setdefault(name, UnitChange())
    unit.active += 1
    unit.points += sum(one.points for one in after.exercises.values())
    unit.points -= sum(one.points for one in before.exercises.values())
    unit.done += len(_done(after.exercises) - _done(before.exercises))
    return True


def _done(exercises: Mapping[str, Exercise]) -> set[str]:
    return {
        name for name, one in exercises.items() if one.tests and all(test.outcome == "passed" for test in one.tests)
    }


def _order(found: Reports) -> Iterator[str]:
    """Yield the units in the order of the reports, which is that of the course."""
    yield from dict.fromkeys(name for own in found.values() for name in own)
