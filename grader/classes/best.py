"""Of several submissions of a student, the one that counts, if the best one does."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from grader.reports.model import Report


def best_of(reports: Sequence[Report]) -> Report:
    """Return a report with each unit from the one that has the most points for it; the last of equal ones."""
    last = reports[-1]
    chosen = {
        name: max(enumerate(reports), key=lambda one, name=name: (one[1].units[name].points, one[0]))[1]  # type: ignore[misc]
        for name in last.units
    }
    units = {}
    for name, report in chosen.items():
        remark = f"{len(reports)} submissions were graded. An earlier one counts, because it has more points."
        unit = report.units[name]
        units[name] = unit if report is last else unit.model_copy(update={"remarks": [*unit.remarks, remark]})
    messages = [one for name, report in chosen.items() for one in report.messages if one.unit == name]
    # Of one unit, the commit and the digest are those of the submission that counts.
    base = next(iter(chosen.values())) if len(units) == 1 else last
    return base.with_units(units).model_copy(update={"messages": messages})
