"""The work on one student in a batch, and on the members of a group, who share a run of the code."""

from __future__ import annotations

import dataclasses
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

from grader.classes.matcher import was_others
from grader.classes.roster import RosterEntry
from grader.classes.times import Time
from grader.engine.engine_client import request_for
from grader.engine.engine_messages import to_line
from grader.reports.folder import SUITE_FAULTS, not_graded, read_report
from grader.reports.model import Report
from grader.reports.reading import not_handed_in, undated
from grader.submissions.submission import Submission, quoted


class Graded(NamedTuple):
    """What came of the submissions of one student.

    Attributes:
        report: The new report.
        pytest: Pytest's own report.
        kept: The units that were not graded again.
        before: The report before this one, if any.
        given: The digests of the units of all submissions that are given now.
    """

    report: Report
    pytest: dict[str, Any] | None
    kept: Collection[str]
    before: Report | None
    given: Collection[str]


@dataclasses.dataclass
class Work:
    """One student: the submissions to grade, with the time of each unit, and what came of them so far.

    Attributes:
        student: The name in reports.
        before: The report so far.
        usable: The same, unless its code was not isolated and had to be.
        candidates: The submissions. Of several, the best counts.
        given: The digests of the units of all submissions that are given.
        group: The work on all students who may have handed in together, this one included.
        kept: The report so far, with the decisions of now, if nothing has to be run.
        done: By the number of the candidate, the report and pytest's own; without a report if it was not graded.
    """

    student: str
    before: Report | None
    usable: Report | None
    candidates: list[tuple[Submission, dict[str, Time | None]]]
    given: Collection[str]
    group: list[Work] = dataclasses.field(default_factory=list)
    kept: Report | None = None
    done: dict[int, tuple[Report | None, dict[str, Any] | None]] = dataclasses.field(default_factory=dict)

    def number(self, submission: Submission) -> int:
        """Return which of the candidates a submission is."""
        return next(number for number, (one, _) in enumerate(self.candidates) if one is submission)

    @property
    def is_open(self) -> bool:
        """Whether something is still being graded."""
        return self.kept is None and len(self.done) < len(self.candidates)

    @property
    def report(self) -> Report | None:
        """The report on the student; None if something was not graded. The group is not in it yet."""
        if self.kept:
            return self.kept
        found = [self.done[number][0] for number in range(len(self.candidates))]
        reports = [report for report in found if report]
        return best_of(reports) if len(reports) == len(found) else None

    @property
    def pytest(self) -> dict[str, Any] | None:
        """What pytest reported on the last candidate, and what suites raised with any of them."""
        found = [self.done[number][1] for number in range(len(self.candidates)) if number in self.done]
        faults: dict[str, list[str]] = {}
        for unit, lines in [pair for one in found if one for pair in one.get(SUITE_FAULTS, {}).items()]:
            faults[unit] = list(dict.fromkeys([*faults.get(unit, []), *lines]))
        last = found[-1] if found else None
        return {**last, SUITE_FAULTS: faults} if last and faults else last

    @property
    def kept_units(self) -> Collection[str]:
        """The units that were not graded again."""
        kept = self.candidates[-1][0].kept
        return kept.units if kept else ()


def once(works: Iterable[Work]) -> Iterator[Submission]:
    """Yield the submissions of a group that are not the same to the engine. The others are their copies."""
    same: dict[bytes, list[tuple[Work, int]]] = {}
    for work in works:
        for number, (one, _) in enumerate(work.candidates):
            same.setdefault(to_line(request_for(0, one)), []).append((work, number))
    for (work, number), *others in same.values():
        copies = tuple(other.candidates[place][0] for other, place in others)
        one, times = work.candidates[number]
        work.candidates[number] = dataclasses.replace(one, copies=copies), times
        yield work.candidates[number][0]


def settled(group: Sequence[Work]) -> Iterator[tuple[Work, Report]]:
    """Yield the report on each member of a group that is graded, with those whose answers are the same."""
    reports = [(work, report) for work in group if (report := work.report)]
    for work, report in reports:
        same = sorted(other.student for other, theirs in reports if _has_same_answers(report, theirs))
        yield work, report.model_copy(update={"together": same if len(same) > 1 else []})


def _has_same_answers(report: Report, other: Report) -> bool:
    """Return whether two reports are on the same answers. One of them may be on more units."""
    return all(report.units[unit].answers == other.units[unit].answers for unit in report.units.keys() & other.units)


def best_of(reports: Sequence[Report]) -> Report:
    """Return a report with each unit from the one that has the most points for it.

    Of equal ones it is the last one whose time is known, or else the last one.
    """
    last = reports[-1]
    units, chosen = {}, {}
    for name in last.units:
        ranks = [(one.units[name].points, not undated(one.units[name]), number) for number, one in enumerate(reports)]
        best = max(ranks)
        chosen[name], units[name] = reports[best[2]], reports[best[2]].units[name]
        if best is not ranks[-1]:
            why = "it has more points" if best[0] > ranks[-1][0] else "it has as many points, and its time is known"
            remark = f"{len(reports)} submissions were graded. An earlier one counts, because {why}."
            units[name] = units[name].model_copy(update={"remarks": [*units[name].remarks, remark]})
    messages = [one for name, report in chosen.items() for one in report.messages if one.unit == name]
    # Of one unit, the commit and the digest are those of the submission that counts.
    base = next(iter(chosen.values())) if len(units) == 1 else last
    return base.with_units(units).model_copy(update={"messages": messages})


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


def named_otherwise(entries: Iterable[RosterEntry], into: Path) -> dict[str, str]:
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
