"""A batch: grades the submissions of a class, and skips reports that are up to date.

`Batch._grade` is the loop: read what the students of a group handed in, decide which reports are kept, grade the
others, decide on the points when all of a group are graded, and write the reports.
"""

from __future__ import annotations

import dataclasses
import datetime
import functools
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from pathlib import Path

from grader.classes.dating import Dating
from grader.classes.decisions import Decisions
from grader.classes.hand_ins import HandIn, groups
from grader.classes.times import Time
from grader.classes.work import (
    Absent,
    NewReport,
    StudentWork,
    SubmissionWork,
    combined,
    comparable,
    decided,
    different,
    sort_absent,
)
from grader.cluster.cluster_client import ClusterGrading
from grader.course.model import Course
from grader.engine.engine_client import Turns
from grader.engine.grading import Grading, SandboxUnavailable
from grader.errors import InternalError
from grader.quizzes.quiz_source import QuizSource
from grader.reports.fingerprint import answers_digest, is_up_to_date, up_to_date_part
from grader.reports.folder import (
    keep_earlier,
    read_report,
    record_not_graded,
    reports_folder,
    reports_of_others,
    write_report,
)
from grader.reports.reading import not_handed_in
from grader.reports.report_model import Report, Result
from grader.submissions.reader import read_submission
from grader.submissions.submission import Submission
from grader.submissions.tree import Files, Ignored
from grader.text import as_sentence, listed

_STOPPED = "The grading ended before this submission was graded: give the same command again."


@dataclasses.dataclass
class Batch:
    """Submissions, how to grade them into the folder `into`, and the results.

    Attributes:
        unit: Grade this unit alone; None for all.
        found: Each student's submissions, the last one last.
        decisions: Extensions and adjustments.
        dating: When the hand-ins came.
        writes: Whether each report is written when it is ready; otherwise `write` writes them all.
        ignored: Files that were ignored, with the students who handed them in.
        skipped: Reports that were up to date.
        graded: New reports.
        redated: How many of the new reports differ by dates and adjustments alone, so that nothing was run.
        faults: Why submissions were not graded.
        reasons: Why students were not graded, by student, kept for the gradebook.
        changed: Units that were removed from a report because they have changed, with the students.
        absent: The students of the class without a submission here.
    """

    course: Course
    quizzes: Mapping[str, QuizSource]
    unit: str | None
    found: Mapping[str, Sequence[HandIn]]
    into: Path
    now: datetime.datetime
    decisions: Decisions
    dating: Dating
    force: bool = False
    allow_unisolated: bool = False
    writes: bool = True
    ignored: dict[Ignored, list[str]] = dataclasses.field(default_factory=dict)
    skipped: list[Report] = dataclasses.field(default_factory=list)
    graded: list[NewReport] = dataclasses.field(default_factory=list)
    redated: int = 0
    faults: list[str] = dataclasses.field(default_factory=list)
    reasons: dict[str, str] = dataclasses.field(default_factory=dict)
    changed: dict[str, list[str]] = dataclasses.field(default_factory=dict)
    absent: Absent = dataclasses.field(default_factory=Absent)
    # The submissions that are being graded, by identity, each with the work on its group.
    _running: dict[int, tuple[SubmissionWork, Sequence[StudentWork]]] = dataclasses.field(default_factory=dict)
    _failed: dict[str, list[str]] = dataclasses.field(default_factory=dict)  # the students, by what went wrong

    def add_absent(self, students: Iterable[str], paths: Collection[Path]) -> None:
        """Grade an empty submission of those who have handed in nothing before either, so that everybody has a report.

        A later download, at other paths, may hold only those who handed in again.
        """
        self.absent = sort_absent(students, self.into, self.unit, paths)
        self.found = {**self.found, **{student: [HandIn(Files(), Path())] for student in self.absent.empty}}
        self.reasons |= self.absent.waiting

    def withdraw(self, student: str, reason: str) -> None:
        """Keep why a student was not graded, and remove a report that says that nothing was handed in."""
        self.reasons[student] = reason
        report = read_report(student, self.into)
        if report and self.writes and self._is_own_folder and len(not_handed_in(report)) == len(report.units):
            (self.into / f"{student}.json").unlink(missing_ok=True)

    def run(
        self,
        jobs: int,
        begin: Callable[[str], None],
        advance: Callable[[str, str], None],
        scheduler: str | None = None,
    ) -> None:
        """Grade the submissions, and write each report when it is ready.

        Args:
            jobs: How many to grade at a time; the workers of a cluster decide for themselves.
            begin: Called with each student before anything of theirs is read.
            advance: Called with each student and the outcome.
            scheduler: The scheduler of the cluster that grades, if any.

        Raises:
            FolderInUse: Another batch writes to the folder.
            SandboxUnavailable: Student code cannot be isolated here, or on a worker.
            GraderError: The cluster cannot be used.
        """
        try:
            with reports_folder(self.into):
                self._grade(jobs, begin, advance, scheduler)
                if self.writes:
                    self._record_reasons()
        except OSError as error:
            why = error.strerror or error
            place = error.filename or self.into
            self.faults.append(f"A report could not be written to {place}: {why}. Those before it are whole.")

    def _grade(
        self, jobs: int, begin: Callable[[str], None], advance: Callable[[str, str], None], scheduler: str | None
    ) -> None:
        """Grade each group of students, mostly one: read, decide what is kept, grade, decide on points, and write."""
        given = self.course, self.quizzes, self.allow_unisolated
        try:
            with ClusterGrading(*given, scheduler) if scheduler else Grading(*given) as grading:
                turns: Turns | None = None
                for students in groups(self.found):
                    group = [self._read(student, begin) for student in students]
                    to_grade = self._to_grade(group)
                    if not to_grade:
                        self._finish(group, advance)
                    for submission in to_grade:
                        turns = turns or grading.turns(jobs)  # starts the engine
                        for done in turns.put(submission):
                            self._mark(grading, *done, advance)
                for done in turns.rest() if turns else ():
                    self._mark(grading, *done, advance)
        except SandboxUnavailable:
            raise
        except InternalError as error:
            self.faults.append(str(error))
        finally:
            for why, names in self._failed.items():
                verb = "was" if len(set(names)) == 1 else "were"
                self.faults.append(f"{listed([*dict.fromkeys(names)])} {verb} not graded: {why}.")

    # Read.

    def _read(self, student: str, begin: Callable[[str], None]) -> StudentWork:
        """Read a student's submissions: those that are compared, or one that is put together from the last ones."""
        begin(student)
        before = read_report(student, self.into) if self._is_own_folder else None
        usable = before if before and (before.isolation.enough or self.allow_unisolated) else None
        hand_ins, due = self.found[student], self.decisions.entry(student).due
        read = [dataclasses.replace(self._submission(student, one.tree, usable), due=due) for one in hand_ins]
        asked = [unit for unit in read[-1].units if self.unit in (None, unit)]
        times = self._times(student, hand_ins, read, asked)
        given = {answers_digest(one, unit) for one in read for unit in asked} if before else ()
        if len(read) > 1 and self.course.late.counts == "last":
            last, chosen = combined(read, times)
            candidates = [SubmissionWork(last, {unit: times[chosen[unit]][unit] for unit in asked})]
        else:
            candidates = [SubmissionWork(one, times[number]) for number, one in comparable(read)]
        for left_out in dict.fromkeys(name for one in candidates for name in one.submission.ignored):
            self.ignored.setdefault(left_out, []).append(student)
        return StudentWork(student, before, usable, candidates, given)

    def _submission(self, student: str, tree: Path | Files, report: Report | None) -> Submission:
        """Read a submission, with the units of an earlier report to keep if one unit is graded."""
        names = [one for one in self.course.units if self.unit in (None, one)]
        others = [one for one in self.course.units if report and one in report.units and one not in names]
        submission = self._submission_of(student, tree, [*names, *others])
        if not report or not others:
            return submission
        earlier = up_to_date_part(report, others, submission, self.course, self.quizzes, self.now)
        lost = [one for one in others if earlier is None or one not in earlier.units]
        for one in lost:
            self.changed.setdefault(one, []).append(student)
        if lost:
            submission = self._submission_of(student, tree, [one for one in [*names, *others] if one not in lost])
        return dataclasses.replace(submission, kept=earlier)

    def _submission_of(self, student: str, tree: Path | Files, units: Collection[str]) -> Submission:
        asked = [unit for unit in self.course.units if unit in units]
        sheets = [unit for unit in asked if unit in self.quizzes]
        return read_submission(student, tree, asked, self.course.exercises, self.course.units, sheets, self.unit)

    def _times(
        self, student: str, hand_ins: Sequence[HandIn], read: Sequence[Submission], units: Iterable[str]
    ) -> list[dict[str, Time | None]]:
        """Return when each of a student's hand-ins came, by unit; nothing of those who handed in nothing."""
        times: list[dict[str, Time | None]] = [{} for _ in hand_ins]
        for unit in units:
            having = [number for number, one in enumerate(read) if one.units[unit].code or one.units[unit].quiz]
            for number, time in enumerate(self.dating.times(student, unit, hand_ins, having)):
                times[number][unit] = time
        return times

    # Decide what is kept, and mark.

    def _to_grade(self, group: Sequence[StudentWork]) -> list[Submission]:
        """Decide which reports of a group are kept, and return the submissions to grade for the others."""
        for work in group:
            # Of several that are compared, one report says too little.
            if work.usable and not self.force and len(work.candidates) == 1:
                now_handed_in = work.candidates[0].submission
                work.is_kept = is_up_to_date(work.usable, now_handed_in, self.course, self.quizzes, self.now)
        to_grade = different([work for work in group if not work.is_kept])
        self._running |= {id(one.submission): (one, group) for work in group for one in work.waiting}
        return to_grade

    def _mark(
        self,
        grading: Grading | ClusterGrading,
        submission: Submission,
        result: Result | str,
        advance: Callable[[str, str], None],
    ) -> None:
        """Mark a graded submission and its copies, and finish the group with its last one."""
        for one, outcome in grading.marked(submission, result, self.now):
            candidate, group = self._running.pop(id(one))
            candidate.outcome = outcome
            if isinstance(outcome, str):
                self._failed.setdefault(outcome, []).append(one.student)
                self.withdraw(one.student, as_sentence(outcome))
            if not any(work.waiting for work in group):
                self._finish(group, advance)

    # Decide on points, and write.

    def _finish(self, group: Sequence[StudentWork], advance: Callable[[str, str], None]) -> None:
        """Keep or write the reports on a group, of which all submissions are graded."""
        reports = decided(group, self.decisions)
        for work, report in reports:
            if work.is_kept and report == work.usable:
                self.skipped.append(report)
            else:
                self.redated += work.is_kept
                new = NewReport(report, work.pytest, () if work.is_kept else work.kept_units, work.before, work.given)
                if self.writes:
                    self._write(new)
                    new = new._replace(pytest=None)  # it is large, and a class may be too
                self.graded.append(new)
            advance(work.student, "skipped" if work.is_kept else "graded")
        for student in [work.student for work in group if work.student not in {one.student for one, _ in reports}]:
            advance(student, "could not grade")

    def write(self) -> None:
        """Write all new reports. Raises FolderInUse or OSError."""
        with reports_folder(self.into):
            for new in self.graded:
                self._write(new)
            self._record_reasons()

    def _write(self, new: NewReport) -> None:
        if new.before:
            keep_earlier(new.before, new.report, self.into)
        write_report(new.report, new.pytest, self.into, new.kept)

    def _record_reasons(self) -> None:
        """Write why students have no new report, for the gradebook."""
        self.reasons = {**dict.fromkeys(self.missed, _STOPPED), **self.reasons}
        if self._is_own_folder:
            done = {report.student for report in self.reports} | self.absent.settled
            record_not_graded(self.into, self.reasons, done - self.reasons.keys())

    # What came of it.

    @property
    def reports(self) -> list[Report]:
        """All reports on these submissions."""
        return [*self.skipped, *(new.report for new in self.graded)]

    @property
    def missed(self) -> set[str]:
        """The students who were not graded."""
        return {*self.found, *self.reasons} - {report.student for report in self.reports}

    def others(self) -> list[str]:
        """Return the students with a report in the folder and without a submission here."""
        return reports_of_others(self.into, self.found) if self._is_own_folder else []

    @functools.cached_property
    def _is_own_folder(self) -> bool:
        """Whether the reports are outside of all submissions. Inside one, the student could have written them."""
        folders = [one.tree.resolve() for own in self.found.values() for one in own if isinstance(one.tree, Path)]
        return not any(self.into.resolve().is_relative_to(folder) for folder in folders)
