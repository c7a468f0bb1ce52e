"""A batch: grades many submissions into a folder of reports, and skips reports that are up to date."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import TYPE_CHECKING

from grader.engine.grading import Grading, SandboxUnavailable
from grader.errors import InternalError
from grader.files import FolderInUse
from grader.reports.fingerprint import is_up_to_date, up_to_date_part
from grader.reports.model import read_report, reports_folder, reports_of_others, write_report
from grader.submissions.reader import read_submission

if TYPE_CHECKING:
    import datetime
    from collections.abc import Callable, Iterator, Mapping

    from grader.course.model import Course
    from grader.quizzes.source import Quiz
    from grader.reports.model import Report
    from grader.submissions.source import Submission
    from grader.submissions.tree import Files, Ignored


@dataclasses.dataclass
class Batch:
    """Submissions, how to grade them into the folder `into`, and the results.

    Attributes:
        unit: Grade this unit alone; None for all.
        found: The students and their submissions.
        ignored: Files that were ignored, with the students who handed them in.
        skipped: Reports that were up to date.
        graded: New reports.
        faults: Why submissions were not graded.
        changed: Units that were removed from a report because they have changed, with the students.
    """

    course: Course
    quizzes: Mapping[str, Quiz]
    unit: str | None
    found: list[tuple[str, Path | Files]]
    into: Path
    now: datetime.datetime
    force: bool = False
    allow_unisolated: bool = False
    ignored: dict[Ignored, list[str]] = dataclasses.field(default_factory=dict)
    skipped: list[Report] = dataclasses.field(default_factory=list)
    graded: list[Report] = dataclasses.field(default_factory=list)
    faults: list[str] = dataclasses.field(default_factory=list)
    changed: dict[str, list[str]] = dataclasses.field(default_factory=dict)

    def run(self, jobs: int, advance: Callable[[str, str], None]) -> None:
        """Grade `jobs` submissions at a time. Call `advance` with each student and the outcome.

        Raises:
            FolderInUse: Another batch writes to the folder.
            SandboxUnavailable: Student code cannot be isolated here.
        """
        try:
            with reports_folder(self.into), Grading(self.course, self.quizzes, self.allow_unisolated) as grading:
                for submission, outcome in grading.reports(self._outdated(advance), jobs, self.now):
                    if isinstance(outcome, str):
                        self.faults.append(f"{submission.student} was not graded: {outcome}.")
                        continue
                    kept = submission.kept.units if submission.kept else ()
                    write_report(outcome.report, outcome.pytest, self.into, kept)
                    self.graded.append(outcome.report)
                    advance(submission.student, "graded")
        except (FolderInUse, SandboxUnavailable):
            raise
        except InternalError as error:
            self.faults.append(str(error))
        except OSError as error:
            self.faults.append(
                f"A report could not be written to {self.into}: {error.strerror or error}. Those before it are whole."
            )

    @property
    def reports(self) -> list[Report]:
        """All reports on these submissions."""
        return [*self.skipped, *self.graded]

    @property
    def missed(self) -> set[str]:
        """The students who were not graded."""
        return {name for name, _ in self.found} - {report.student for report in self.reports}

    def others(self) -> list[str]:
        """Return the students with a report in the folder and without a submission here."""
        return reports_of_others(self.into, {name for name, _ in self.found}) if self._is_own_folder else []

    @property
    def _is_own_folder(self) -> bool:
        """Whether the reports are outside of all submissions. Inside one, the student could have written them."""
        folders = [one.resolve() for _, one in self.found if isinstance(one, Path)]
        return not any(self.into.resolve().is_relative_to(folder) for folder in folders)

    def _outdated(self, advance: Callable[[str, str], None]) -> Iterator[Submission]:
        """Yield the submissions to grade, with the units of an earlier report to keep if one unit is graded."""
        is_own = self._is_own_folder
        for name, folder in self.found:
            report = read_report(name, self.into) if is_own else None
            if report and not (report.isolation.enough or self.allow_unisolated):
                report = None
            submission = self._submission(name, folder, report)
            for left_out in submission.ignored:
                self.ignored.setdefault(left_out, []).append(name)
            up_to_date = report and is_up_to_date(report, submission, self.course, self.quizzes, self.now)
            if report and up_to_date and not self.force:
                self.skipped.append(report)
                advance(name, "skipped")
            else:
                yield submission

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
