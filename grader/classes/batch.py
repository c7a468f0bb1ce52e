"""A batch: grades the submissions of a class, and skips reports that are up to date."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from grader.classes.hand_ins import HandIn, combined, comparable
from grader.cluster.grading import ClusterGrading
from grader.engine.grading import Grading, SandboxUnavailable
from grader.errors import InternalError
from grader.files import FolderInUse
from grader.reports.fingerprint import is_up_to_date, up_to_date_part
from grader.reports.folder import keep_earlier, read_report, reports_folder, reports_of_others, write_report
from grader.reports.reading import not_handed_in
from grader.submissions.reader import read_submission
from grader.submissions.tree import Files

if TYPE_CHECKING:
    import datetime
    from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence

    from grader.classes.decisions import Decisions
    from grader.classes.times import Time
    from grader.course.model import Course
    from grader.quizzes.source import Quiz
    from grader.reports.model import Report
    from grader.submissions.source import Submission
    from grader.submissions.tree import Ignored


class Graded(NamedTuple):
    """A new report, pytest's own, the units that were not graded again, and the report before it, if any."""

    report: Report
    pytest: dict[str, Any] | None
    kept: Collection[str]
    before: Report | None


@dataclasses.dataclass
class _Work:
    """One student: the submissions to grade, with the time of each unit, and what came of them so far."""

    before: Report | None
    candidates: list[tuple[Submission, dict[str, Time | None]]]
    done: list[tuple[int, Report, dict[str, Any] | None]] = dataclasses.field(default_factory=list)


@dataclasses.dataclass
class Batch:
    """Submissions, how to grade them into the folder `into`, and the results.

    Attributes:
        unit: Grade this unit alone; None for all.
        found: Each student's submissions, the last one last.
        decisions: Extensions, times and adjustments.
        writes: Whether each report is written when it is ready; otherwise `write` writes them all.
        ignored: Files that were ignored, with the students who handed them in.
        skipped: Reports that were up to date.
        graded: New reports.
        redated: How many of the new reports differ by dates and adjustments alone, so that nothing was run.
        faults: Why submissions were not graded.
        changed: Units that were removed from a report because they have changed, with the students.
    """

    course: Course
    quizzes: Mapping[str, Quiz]
    unit: str | None
    found: Mapping[str, Sequence[HandIn]]
    into: Path
    now: datetime.datetime
    decisions: Decisions
    force: bool = False
    allow_unisolated: bool = False
    writes: bool = True
    ignored: dict[Ignored, list[str]] = dataclasses.field(default_factory=dict)
    skipped: list[Report] = dataclasses.field(default_factory=list)
    graded: list[Graded] = dataclasses.field(default_factory=list)
    redated: int = 0
    faults: list[str] = dataclasses.field(default_factory=list)
    changed: dict[str, list[str]] = dataclasses.field(default_factory=dict)
    _works: dict[str, _Work] = dataclasses.field(default_factory=dict)

    def run(
        self,
        jobs: int,
        begin: Callable[[str], None],
        advance: Callable[[str, str], None],
        scheduler: str | None = None,
    ) -> None:
        """Grade the submissions, and write each report when it is ready.

        Args:
            jobs: How many to grade at a time, or how many workers a cluster on this machine has.
            begin: Called with each student before anything of theirs is read.
            advance: Called with each student and the outcome.
            scheduler: The scheduler of the cluster that grades, if any.

        Raises:
            FolderInUse: Another batch writes to the folder.
            SandboxUnavailable: Student code cannot be isolated here, or on a worker.
            GraderError: The cluster cannot be used.
        """
        given = self.course, self.quizzes, self.allow_unisolated
        failed: set[str] = set()
        try:
            with (
                reports_folder(self.into),
                ClusterGrading(*given, scheduler) if scheduler else Grading(*given) as grading,
            ):
                for submission, outcome in grading.reports(self._outdated(begin, advance), jobs, self.now):
                    if isinstance(outcome, str):
                        self.faults.append(f"{submission.student} was not graded: {outcome}.")
                        self.withdraw(submission.student)
                        if submission.student not in failed:  # of several submissions, another may have failed
                            advance(submission.student, "could not grade")
                        failed.add(submission.student)
                    elif graded := self._finished(submission, outcome.report, outcome.pytest):
                        self._add(graded)
                        advance(submission.student, "graded")
        except (FolderInUse, SandboxUnavailable):
            raise
        except InternalError as error:
            self.faults.append(str(error))
        except OSError as error:
            self.faults.append(
                f"A report could not be written to {self.into}: {error.strerror or error}. Those before it are whole."
            )

    def add_absent(self, students: Iterable[str]) -> None:
        """Grade an empty submission of those who have handed in nothing before either, so that everybody has a report.

        A later download may hold only those who handed in again.
        """
        for student in students:
            report = read_report(student, self.into)
            asked = [self.unit] if self.unit else list(report.units if report else ())
            if report is None or set(asked) <= {*not_handed_in(report), *(set(asked) - report.units.keys())}:
                self.found = {**self.found, student: [HandIn(Files(), Path())]}

    def withdraw(self, student: str) -> None:
        """Remove a report that says that a student handed in nothing, because there is a submission now."""
        report = read_report(student, self.into)
        if report and self.writes and self._is_own_folder and len(not_handed_in(report)) == len(report.units):
            (self.into / f"{student}.json").unlink(missing_ok=True)

    def write(self) -> None:
        """Write all new reports. Raises FolderInUse or OSError."""
        with reports_folder(self.into):
            for graded in self.graded:
                self._write(graded)

    @property
    def reports(self) -> list[Report]:
        """All reports on these submissions."""
        return [*self.skipped, *(graded.report for graded in self.graded)]

    @property
    def missed(self) -> set[str]:
        """The students who were not graded."""
        return set(self.found) - {report.student for report in self.reports}

    def others(self) -> list[str]:
        """Return the students with a report in the folder and without a submission here."""
        return reports_of_others(self.into, self.found) if self._is_own_folder else []

    @property
    def _is_own_folder(self) -> bool:
        """Whether the reports are outside of all submissions. Inside one, the student could have written them."""
        trees = [hand_in.tree for hand_ins in self.found.values() for hand_in in hand_ins]
        folders = [tree.resolve() for tree in trees if isinstance(tree, Path)]
        return not any(self.into.resolve().is_relative_to(folder) for folder in folders)

    def _add(self, graded: Graded) -> None:
        if self.writes:
            self._write(graded)
            graded = graded._replace(pytest=None)  # it is large, and a class may be too
        self.graded.append(graded)

    def _write(self, graded: Graded) -> None:
        if graded.before:
            keep_earlier(graded.before, graded.report, self.into)
        write_report(graded.report, graded.pytest, self.into, graded.kept)

    def _outdated(self, begin: Callable[[str], None], advance: Callable[[str, str], None]) -> Iterator[Submission]:
        """Yield the submissions to grade, with the units of an earlier report to keep if one unit is graded."""
        is_own = self._is_own_folder
        for student, hand_ins in self.found.items():
            begin(student)
            before = read_report(student, self.into) if is_own else None
            usable = before if before and (before.isolation.enough or self.allow_unisolated) else None
            work = self._work(student, hand_ins, before, usable)
            for left_out in dict.fromkeys(name for one, _ in work.candidates for name in one.ignored):
                self.ignored.setdefault(left_out, []).append(student)
            last, times = work.candidates[-1]
            # Of several that are compared, one report says too little.
            is_comparable = usable and not self.force and len(work.candidates) == 1
            if usable and is_comparable and is_up_to_date(usable, last, self.course, self.quizzes, self.now):
                self._redate(usable, times)
                advance(student, "skipped")
            else:
                self._works[student] = work
                yield from (submission for submission, _ in work.candidates)

    def _redate(self, report: Report, times: Mapping[str, Time | None]) -> None:
        """Keep a report that is up to date, or write it with dates and adjustments that have changed since."""
        decided = self.decisions.applied(report, times)
        if decided == report:
            self.skipped.append(report)
        else:
            self.redated += 1
            self._add(Graded(decided, None, (), report))

    def _finished(self, submission: Submission, report: Report, pytest: dict[str, Any] | None) -> Graded | None:
        """Return the report on a student when all the student's submissions are graded; None until then."""
        work = self._works[submission.student]
        number = next(n for n, (one, _) in enumerate(work.candidates) if one is submission)
        work.done.append((number, self.decisions.applied(report, work.candidates[number][1]), pytest))
        if len(work.done) < len(work.candidates):
            return None
        del self._works[submission.student]  # with the texts of the submissions
        kept = submission.kept.units if submission.kept else ()
        by_number = sorted(work.done, key=lambda one: one[0])
        return Graded(best_of([report for _, report, _ in by_number]), by_number[-1][2], kept, work.before)

    def _work(self, student: str, hand_ins: Sequence[HandIn], before: Report | None, usable: Report | None) -> _Work:
        """Read a student's submissions: those that are compared, or one that is put together from the last ones."""
        read = [self._submission(student, one.tree, usable) for one in hand_ins]
        entry = self.decisions.entry(student)
        read = [dataclasses.replace(one, due=entry.due) for one in read]
        asked = [unit for unit in read[-1].units if self.unit in (None, unit)]
        times = [{unit: one.time(student, unit, self.decisions) for unit in asked} for one in hand_ins]
        if len(read) > 1 and self.course.late.counts == "last":
            together, chosen = combined(read)
            return _Work(before, [(together, {unit: times[chosen[unit]][unit] for unit in asked})])
        return _Work(before, [(one, times[number]) for number, one in comparable(read)])

    def _submission(self, name: str, folder: Path | Files, report: Report | None) -> Submission:
        names = [one for one in self.course.units if self.unit in (None, one)]
        others = [one for one in self.course.units if report and one in report.units and one not in names]
        submission = self._read(name, folder, [*names, *others])
        if not report or not others:
            return submission
        earlier = up_to_date_part(report, others, submission, self.course, self.quizzes, self.now)
        lost = [one for one in others if earlier is None or one not in earlier.units]
        for one in lost:
            self.changed.setdefault(one, []).append(name)
        if lost:
            submission = self._read(name, folder, [one for one in [*names, *others] if one not in lost])
        return dataclasses.replace(submission, kept=earlier)

    def _read(self, name: str, folder: Path | Files, units: list[str]) -> Submission:
        asked = [unit for unit in self.course.units if unit in units]
        sheets = [unit for unit in asked if unit in self.quizzes]
        return read_submission(name, folder, asked, self.course.exercises, self.course.units, sheets, self.unit)


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
