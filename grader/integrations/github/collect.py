"""Collects every student's repository as it was when a unit was due, for the grade of record.

The time at which GitHub received a commit counts. The dates in commits are chosen by their authors, so they are shown
but never used. If GitHub keeps no record of pushes, the snapshots of earlier runs count instead.
"""

from __future__ import annotations

import collections
import contextlib
import datetime
import re
import shutil
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath
from typing import Any

from pydantic import TypeAdapter, ValidationError

from grader.classes.collected import (
    COLLECTED,
    LATE,
    SNAPSHOTS,
    CollectedClass,
    CollectedStudent,
    CollectedWork,
    CollectError,
)
from grader.classes.roster import RosterEntry
from grader.course.generated import FILES
from grader.course.model import FILENAME, Course
from grader.files import held, remove_partial, temporary_folder, write_atomically
from grader.integrations.github.api import GitHub, GitHubError, NotKept
from grader.integrations.github.git_repositories import FetchError, Store
from grader.integrations.github.github_release import RECORD, checksum, course_files, of_students
from grader.integrations.github.history import History, Snapshot, anomalies, late_work, read_snapshots
from grader.submissions.submission import CHECKS, FOLDER, SHEET_SUFFIX
from grader.submissions.tree import MEGABYTE

AT_ONCE = 8

_PARTIAL = ".collecting-"
_WORKFLOWS = ".github/workflows"
# The files that decide how a student's repository checks itself. Others are the student's.
_CHECKED = (".github/", "course/", f"{FOLDER}/", "requirements", "constraints", FILENAME)
_OWNED_LIMIT = 16 * MEGABYTE
_RECORD_LIMIT = MEGABYTE
_MOST_FILES = 1000
_PATH = re.compile(r"[A-Za-z0-9_.+-]+(/[A-Za-z0-9_.+-]+){0,5}")


def times(course: Course, units: Sequence[str] | None, now: datetime.datetime) -> dict[str, datetime.datetime]:
    """Return the units to collect and their times: all that are over, or the named ones even if they are not over.

    The time is the end of the grace period, or now if that is earlier.
    """
    names = [name for name in course.units if course.is_over(name, now)] if units is None else units
    grace = datetime.timedelta(minutes=course.late.grace_minutes)
    return {name: min(course.units[name].due + grace, now).astimezone(datetime.UTC) for name in names}


def folders(course: Course) -> set[str]:
    """Return the names that no student can have, because `grader grade` would read their folders as a submission."""
    files = {f"{name}{ending}" for name in course.units for ending in (".py", ".ipynb", SHEET_SUFFIX)}
    return {FOLDER, *course.units, *files}


def collect(
    roster: Sequence[RosterEntry],
    course: Course,
    units: Mapping[str, datetime.datetime],
    github: GitHub,
    into: Path,
    now: datetime.datetime,
    advance: Callable[[str, str], None] | None = None,
) -> CollectedClass:
    """Write into/<unit>/<student>/ for each unit at its time, and into/collected.json.

    The results of the last run are replaced, except the snapshots, which are added to. A student whose repository
    cannot be read has a problem in collected.json, and no folder.

    Args:
        roster: The students.
        course: The course.
        units: The time of each unit.
        github: Where the repositories are.
        into: The folder.
        now: The time of this run. Extensions may end later.
        advance: Called with each student and the outcome.

    Returns:
        The content of collected.json.

    Raises:
        CollectError: The folder holds something else.
        FolderInUse: Another program writes to it.
        OSError: A file cannot be written.
    """
    # Every run writes its snapshots first, so folders without them are not from a run.
    names = [*course.units, LATE]
    strangers = [name for name in names if (into / name).exists() and not (into / SNAPSHOTS).is_file()]
    if strangers:
        raise CollectError(f"{into / strangers[0]} is not from `grader collect`: name another folder, or remove it.")
    with held(into), _partial(into) as partial:
        snapshots = read_snapshots(into / SNAPSHOTS)
        members = collections.Counter(entry.repository.casefold() for entry in roster)
        # What is generated should be as it was handed out: another machine may round a last digit in another way.
        theirs = of_students(course) | {f"{FOLDER}/{CHECKS}/{name}" for name in FILES}
        owned = {path: checksum(content) for path, content in course_files(course).items() if path not in theirs}
        job = _Job(course, units, github, owned, partial, snapshots, now, members)

        def one(entry: RosterEntry) -> CollectedStudent:
            student = job.student(entry)
            if advance:
                advance(entry.student, "could not collect" if student.problem else "collected")
            return student

        with ThreadPoolExecutor(AT_ONCE) as executor:
            students = list(executor.map(one, roster))
        # The members of a group look at one repository.
        looks = {(look.repository.casefold(), look.head): look for look in job.seen}
        seen = "".join(f"{snapshot.model_dump_json()}\n" for snapshot in [*snapshots, *looks.values()])
        write_atomically(into / SNAPSHOTS, seen)
        for name in names:
            if (into / name).exists():
                shutil.rmtree(into / name)
            if (partial / name).is_dir():
                (partial / name).rename(into / name)
        collected = CollectedClass(
            schema="attention-from-scratch/collected/v1", collected=now, units=dict(units), students=students
        )
        write_atomically(into / COLLECTED, collected.to_json())
    return collected


@contextlib.contextmanager
def _partial(into: Path) -> Iterator[Path]:
    """Make a temporary folder in `into`, and remove those that a killed run left there."""
    for left_behind in into.glob(f"{_PARTIAL}*"):
        shutil.rmtree(left_behind)
    for name in (COLLECTED, SNAPSHOTS):
        remove_partial(into, name)
    with temporary_folder(into, _PARTIAL) as folder:
        yield folder


@dataclass
class _Job:
    """Collects students, several at the same time. `owned` has the SHA-256 of the files that they should not change."""

    course: Course
    units: Mapping[str, datetime.datetime]
    github: GitHub
    owned: dict[str, str]
    into: Path
    snapshots: list[Snapshot]
    now: datetime.datetime
    members: Mapping[str, int]
    seen: list[Snapshot] = field(default_factory=list)

    def student(self, entry: RosterEntry) -> CollectedStudent:
        """Collect one student's work."""
        try:
            with temporary_folder() as folder:
                store = Store(folder / "store", self.github.server, entry.repository, self.github.token)
                return self._student(entry, self._look(entry, store), store)
        except (GitHubError, FetchError) as error:
            return CollectedStudent(student=entry.student, repository=entry.repository, problem=str(error))

    def _look(self, entry: RosterEntry, store: Store) -> History:
        branch = self.github.default_branch(entry.repository)
        head = store.head()
        if head:
            # Taken after the look: by then it had been pushed for sure.
            now = datetime.datetime.now(datetime.UTC)
            self.seen.append(Snapshot(seen=now, repository=entry.repository, head=head))
        # GitHub ignores case in names, and so do rosters.
        own = [one for one in self.snapshots if one.repository.casefold() == entry.repository.casefold()]
        try:
            return History(branch, head, self.github.pushes(entry.repository), "", own)
        except NotKept as error:
            return History(branch, head, None, str(error), own)

    def _student(self, entry: RosterEntry, repository: History, store: Store) -> CollectedStudent:
        handed_out = self._manifest(store, repository.handed_out) if repository.handed_out else None
        extended = times(self.course.with_due(entry.due), list(entry.due), self.now)
        due = {unit: extended.get(unit, time) for unit, time in self.units.items()}
        works = {}
        for unit, time in due.items():
            work = self._work(repository, time, store, handed_out, self.into / unit / entry.student)
            accepts = self.course.late.percent_per_day > 0 and not work.problem
            late = late_work(repository, unit, time, store, work.commit) if accepts else None
            if late and late.commit:
                self._write(store, late.commit, self.into / LATE / unit / entry.student)
            works[unit] = work.model_copy(update={"late": late})
        dates = {}
        # The head's date may be forged, even if no unit uses that commit.
        commits = (repository.head, *(work.commit for work in works.values()))
        for commit in {commit for commit in commits if commit}:
            with contextlib.suppress(FetchError):
                store.fetch(commit)
                if committed := store.committed(commit):
                    dates[commit] = committed
        return CollectedStudent(
            student=entry.student,
            repository=entry.repository,
            problem=None,
            branch=repository.branch,
            head=repository.head,
            pushes=None if repository.pushes is None else repository.own,
            units=works,
            noticed=anomalies(repository, works, dates, due, self.members[entry.repository.casefold()]),
        )

    def _work(
        self, repository: History, time: datetime.datetime, store: Store, handed_out: dict[str, str] | None, into: Path
    ) -> CollectedWork:
        work = repository.at(time)
        more: dict[str, Any] = {"pushes_since": repository.count_since(time)}
        if work.commit:
            try:
                store.fetch(work.commit)
            except FetchError as error:
                more |= {"commit": None, "problem": str(error)}
            else:
                self._write(store, work.commit, into)
                more["committed"] = store.committed(work.commit)
                more["changed"] = self._changed(store, work.commit, handed_out)
        elif not work.problem:
            # A student who pushed nothing gets a report that says so.
            into.mkdir(parents=True)
        return work.model_copy(update=more)

    def _write(self, store: Store, commit: str, into: Path) -> None:
        into.mkdir(parents=True)
        store.write_out(commit, list(self.course.units), into)

    def _changed(self, store: Store, commit: str, handed_out: dict[str, str] | None) -> list[str]:
        """Return the course's own files that students changed.

        Files of this repository should be as here. All others should be as they were handed out, by the manifest of the
        first push; without one, by the manifest in the commit.
        """
        manifest = self._manifest(store, commit)
        listed = handed_out or manifest or {}
        expected = {
            path: listed[path] for path in listed.keys() - of_students(self.course) if path.startswith(_CHECKED)
        }
        should_be = expected | self.owned
        content = store.read(commit, should_be, _OWNED_LIMIT)
        changed = [path for path in content if checksum(content[path]) != should_be[path]]
        # Until November 2026, releases had the tests beside the answers. An update moves them.
        is_moved = any(path.startswith(f"{FOLDER}/{CHECKS}/") for path in content)
        gone = expected.keys() - content.keys()
        changed += [f"{path} (gone)" for path in gone if not (is_moved and PurePosixPath(path).parent.name == FOLDER)]
        if expected:
            workflows = [f"{_WORKFLOWS}/{name}" for name in store.names(commit, _WORKFLOWS)]
            changed += [f"{path} (new)" for path in workflows if path not in expected]
        if handed_out is not None and manifest != handed_out:
            changed.append(RECORD)
        return sorted(changed)

    def _manifest(self, store: Store, commit: str) -> dict[str, str] | None:
        """Return the record of the release with plain paths alone; None where there is no valid one."""
        try:
            store.fetch(commit)
            content = store.read(commit, [RECORD], _RECORD_LIMIT).get(RECORD)
            found = TypeAdapter(dict[str, str]).validate_json(content or b"", strict=True)
        except (FetchError, ValidationError):
            return None
        plain = sorted(path for path in found if _PATH.fullmatch(path) and len(path) <= 200)
        return {path: found[path] for path in plain[:_MOST_FILES]}
