"""The students of the roster without a submission in what is graded now: what an earlier grading says of them."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from grader.classes.matcher import was_others
from grader.reports.folder import not_graded, read_report
from grader.reports.reading import not_handed_in
from grader.submissions.names import quoted

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable
    from pathlib import Path

    from grader.classes.roster import Entry


@dataclass
class Absent:
    """The absent students of a class.

    Attributes:
        empty: Those who have handed in nothing before either.
        waiting: Those who were not graded from another download, each with the reason.
        settled: Those who were not graded from one that is graded now, which holds nothing of theirs, and who have a
            report.
    """

    empty: list[str] = field(default_factory=list)
    waiting: dict[str, str] = field(default_factory=dict)
    settled: set[str] = field(default_factory=set)


def sort_absent(students: Iterable[str], into: Path, unit: str | None, paths: Collection[Path]) -> Absent:
    """Sort absent students by what the folder of reports says of them.

    Args:
        students: The students.
        into: The folder of the reports.
        unit: The unit that is graded; None for all.
        paths: The folders and archives that are graded.

    Raises:
        GraderError: The folder says in no way that can be read who was not graded.
    """
    absent, reasons = Absent(), not_graded(into)
    for student in students:
        report, reason = read_report(student, into), reasons.get(student, "")
        asked = [unit] if unit else list(report.units if report else ())
        if reason and not any(_is_about(reason, path) for path in [*paths, into / f"{student}.json"]):
            absent.waiting[student] = reason
        elif report is None or set(asked) <= {*not_handed_in(report), *(set(asked) - report.units.keys())}:
            absent.empty.append(student)
        elif reason:
            absent.settled.add(student)
    return absent


def named_otherwise(entries: Iterable[Entry], into: Path) -> dict[str, str]:
    """Return the students whose name in reports somebody else had before, who has a report on work; with sentences."""
    found = {}
    for entry in entries:
        report = read_report(entry.student, into) if entry.is_exported else None
        if report and was_others(report.name, entry) and len(not_handed_in(report)) < len(report.units):
            found[entry.student] = (
                f"{quoted(into / f'{entry.student}.json')} is the report of {report.name}, and the roster has {entry}, "
                "who was not graded: move the file away, and grade again."
            )
    return found


def _is_about(reason: str, path: Path) -> bool:
    """Return whether a sentence names a folder or an archive, or something in it."""
    name = quoted(path)
    return name in reason or f"{name[:-1]}/" in reason
