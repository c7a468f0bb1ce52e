"""The work on one student in a batch, on a group, who share a run of the code, and on those who are absent."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, NamedTuple

from grader.classes.decisions import Decisions
from grader.classes.matcher import was_others
from grader.classes.roster import RosterEntry
from grader.classes.times import Time
from grader.engine.engine_client import request_for
from grader.engine.engine_messages import to_line
from grader.engine.grading import Graded
from grader.reports.folder import SUITE_FAULTS, not_graded, read_report
from grader.reports.reading import not_handed_in, undated
from grader.reports.report_model import Report
from grader.submissions.submission import Submission, UnitSource, quoted


class NewReport(NamedTuple):
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


@dataclass
class SubmissionWork:
    """A submission that may be graded, with the time of each unit; then its report, or why it was not graded."""

    submission: Submission
    times: dict[str, Time | None]
    outcome: Graded | str | None = None


@dataclass
class StudentWork:
    """One student: the submissions to grade, and what came of them so far.

    Attributes:
        student: The name in reports.
        before: The report so far.
        usable: The same, unless its code was not isolated and had to be.
        candidates: The submissions. Of several, the best counts.
        given: The digests of the units of all submissions that are given.
        is_kept: Whether the report so far is kept, with the decisions of now, because nothing has to be run.
    """

    student: str
    before: Report | None
    usable: Report | None
    candidates: list[SubmissionWork]
    given: Collection[str]
    is_kept: bool = False

    @property
    def waiting(self) -> list[SubmissionWork]:
        """The submissions that are still to be graded."""
        return [] if self.is_kept else [one for one in self.candidates if one.outcome is None]

    def report(self, decisions: Decisions) -> Report | None:
        """Return the report with the decisions; None if something was not graded. The group is not in it yet."""
        if self.is_kept and self.usable:
            return decisions.applied(self.usable, self.candidates[0].times)
        found = [(one.outcome.report, one.times) for one in self.candidates if isinstance(one.outcome, Graded)]
        reports = [decisions.applied(report, times) for report, times in found]
        return best_of(reports) if len(reports) == len(self.candidates) else None

    @property
    def pytest(self) -> dict[str, Any] | None:
        """What pytest reported on the last candidate, and what suites raised with any of them."""
        found = [one.outcome.pytest if isinstance(one.outcome, Graded) else None for one in self.candidates]
        faults: dict[str, list[str]] = {}
        for unit, lines in [pair for one in found if one for pair in one.get(SUITE_FAULTS, {}).items()]:
            faults[unit] = list(dict.fromkeys([*faults.get(unit, []), *lines]))
        return {**found[-1], SUITE_FAULTS: faults} if found[-1] and faults else found[-1]

    @property
    def kept_units(self) -> Collection[str]:
        """The units that were not graded again."""
        kept = self.candidates[-1].submission.kept
        return kept.units if kept else ()


def comparable(submissions: Sequence[Submission]) -> list[tuple[int, Submission]]:
    """Return the submissions that have one of the units, with their numbers; the last one if none has.

    Each may import the units of those before it: a download often holds one unit, which builds on an earlier one.
    """
    found: list[tuple[int, Submission]] = []
    before: dict[str, UnitSource] = {}
    for number, one in enumerate(submissions):
        before |= one.siblings
        found.append((number, replace(one, siblings=dict(before))))
        before |= one.sources
    having = [(number, one) for number, one in found if any(unit.code or unit.quiz for unit in one.units.values())]
    number, last = (having or found)[-1]
    ignored = tuple(dict.fromkeys(name for one in submissions for name in one.ignored))
    return [*having[:-1], (number, replace(last, ignored=ignored))]


def combined(
    submissions: Sequence[Submission], times: Sequence[Mapping[str, Time | None]] = ()
) -> tuple[Submission, dict[str, int]]:
    """Return each unit from the last submission that has it, and the number of that submission.

    Args:
        submissions: A student's submissions, in the order in which they were given.
        times: When each unit of each came. It decides if it is known of all that have the unit.
    """
    last = submissions[-1]
    chosen: dict[str, int] = {}
    for unit in last.units:
        having = [number for number, one in enumerate(submissions) if one.units[unit].code or one.units[unit].quiz]
        known = [(time.at, number) for number in having if times and (time := times[number].get(unit)) and time.at]
        last_given = having[-1] if having else len(submissions) - 1
        chosen[unit] = max(known)[1] if known and len(known) == len(having) else last_given
    units = {unit: submissions[number].units[unit] for unit, number in chosen.items()}
    siblings = {name: source for one in submissions for name, source in one.siblings.items()}
    ignored = tuple(dict.fromkeys(name for one in submissions for name in one.ignored))
    handed_in = any(one.handed_in for one in submissions)
    return replace(last, units=units, siblings=siblings, ignored=ignored, handed_in=handed_in), chosen


def different(group: Iterable[StudentWork]) -> list[Submission]:
    """Return the submissions of a group that are not the same to the engine. The others become their copies."""
    same: dict[bytes, list[SubmissionWork]] = {}
    for work in group:
        for one in work.candidates:
            same.setdefault(to_line(request_for(0, one.submission)), []).append(one)
    for first, *others in same.values():
        first.submission = replace(first.submission, copies=tuple(one.submission for one in others))
    return [first.submission for first, *_ in same.values()]


def decided(group: Sequence[StudentWork], decisions: Decisions) -> list[tuple[StudentWork, Report]]:
    """Return the report on each member of a group that is graded, with those whose answers are the same."""
    reports = [(work, report) for work in group if (report := work.report(decisions))]
    found = []
    for work, report in reports:
        same = sorted(other.student for other, theirs in reports if _has_same_answers(report, theirs))
        found.append((work, report.model_copy(update={"together": same if len(same) > 1 else []})))
    return found


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
