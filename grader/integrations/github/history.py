"""What a default branch pointed to at some time, what came late, and anomalies that an instructor may want to look at.

Pushes are dated by GitHub's record or by snapshots. No anomaly changes a score.
"""

from __future__ import annotations

import collections
import datetime
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from pydantic import ValidationError

from grader.classes.collected import COLLECTED, CollectedWork, CollectError, Instant, Push, alike
from grader.documents import Model
from grader.integrations.github.git_repositories import FILE_LIMIT, FetchError, Store
from grader.integrations.github.github_release import checksum
from grader.submissions.submission import FOLDER, filenames
from grader.text import listed

# Clocks differ a little, and a student may commit offline and push days later.
_CLOCKS_DIFFER = datetime.timedelta(minutes=10)
_LONG_BEFORE = datetime.timedelta(days=7)
_MOST_LISTED = 3


class Snapshot(Model):
    """What a default branch pointed to when an earlier run looked at it."""

    seen: Instant
    repository: str
    head: str


def read_snapshots(path: Path) -> list[Snapshot]:
    """Read the snapshots of earlier runs, of all repositories. Raises CollectError."""
    try:
        lines = path.read_bytes().splitlines()
    except FileNotFoundError:
        return []
    snapshots = []
    for number, line in enumerate(lines, start=1):
        try:
            snapshots.append(Snapshot.model_validate_json(line))
        except ValidationError:
            raise CollectError(
                f"{path}, line {number}: no snapshot as `grader collect` writes it: take the line out, or put a good "
                "copy of the file there."
            ) from None
    return snapshots


@dataclass(frozen=True)
class History:
    """What is known of a repository's default branch. Another branch may have been the default before.

    Attributes:
        branch: The default branch.
        head: What it points to now; None if the repository is empty.
        pushes: Those to all branches, the newest first; None if GitHub keeps no record of them.
        why_not: Why GitHub keeps no record.
        snapshots: Those of this repository.
    """

    branch: str
    head: str | None
    pushes: list[Push] | None
    why_not: str
    snapshots: list[Snapshot]

    @property
    def own(self) -> list[Push]:
        """The pushes to the branch itself."""
        return [push for push in self.pushes or [] if push.branch == self.branch]

    @property
    def handed_out(self) -> str | None:
        """The commit that the repository began with, if it is on record."""
        own = self.own
        if not self.pushes or not own or not own[-1].begins or own[-1].at > self.pushes[-1].at:
            return None
        return own[-1].after

    def count_since(self, time: datetime.datetime) -> int | None:
        """Return how many pushes to the branch came after this time. Renaming a branch is no push."""
        if self.pushes is None:
            return None
        elsewhere = {push.after for push in self.pushes if push.branch != self.branch}
        return sum(push.at > time and not (push.begins and push.after in elsewhere) for push in self.own)

    def at(self, time: datetime.datetime) -> CollectedWork:
        """Return what the branch pointed to at this time, by push time; a push at the time itself counts."""
        own = self.own
        last = next((push for push in own if push.at <= time), None)
        if last and not last.ends:
            return CollectedWork(commit=last.after, dated_by="push", pushed=last.at, pushed_by=last.actor)
        following = next((push for push in reversed(own) if push.at > time), None)
        why = self._why(last, following)
        # Before a push, the branch held what that push replaced. A new branch begins with commits that were there.
        commit = self.head if following is None else following.after if following.begins else following.before
        in_time = [push for push in self.pushes or [] if push.at <= time]
        first = next((push for push in reversed(in_time) if push.after == commit), None)
        newest = max((one for one in self.snapshots if one.seen <= time), key=lambda one: one.seen, default=None)
        if first and not (newest and newest.seen > first.at):
            remark = f"{first.after[:7]} is dated by the push to {first.branch} at {in_utc(first.at)}, because {why}."
            return CollectedWork(commit=commit, dated_by="push", pushed=first.at, pushed_by=first.actor, remark=remark)
        if newest:
            remark = (
                f"Not dated by push time, because {why}: {newest.head[:7]} was seen there at {in_utc(newest.seen)}. "
                "What was pushed between then and the due date is not in it."
            )
            return CollectedWork(commit=newest.head, dated_by="snapshot", pushed=newest.seen, remark=remark)
        is_new = following.begins if following else commit is None
        if is_new and not in_time and self.pushes is not None:
            when = f"the first push was at {in_utc(self.pushes[-1].at)}" if self.pushes else "the repository is empty"
            return CollectedWork(dated_by="push", remark=f"Nothing had been pushed: {when}.")
        if in_time and (is_new or following is None):
            branches = listed(sorted({push.branch for push in in_time}), 3)
            problem = (
                f"What the default branch held when it was due is not known, because {why}. By then there were "
                f"pushes to {branches}: make the branch that was the default one then the default one again, and "
                "collect again."
            )
            return CollectedWork(dated_by="nothing", problem=problem)
        if commit is None:
            problem = (
                f"The repository is empty now, and what it held is not known, because {why}: look for it on GitHub."
            )
            return CollectedWork(dated_by="nothing", problem=problem)
        remark = f"Not dated by push time, because {why}: {commit[:7]} may have been pushed too late."
        return CollectedWork(commit=commit, dated_by="nothing", remark=remark)

    def _why(self, last: Push | None, following: Push | None) -> str:
        """Return why the pushes do not show what the branch held: `last` deleted it, or none came in time."""
        if self.pushes is None:
            return self.why_not
        if last:
            return f"the branch {self.branch} had been deleted at {in_utc(last.at)}"
        if following is None:
            return f"GitHub's record has no push to the branch {self.branch}"
        if following.begins:
            return f"the branch {self.branch} was made only at {in_utc(following.at)}"
        return f"GitHub's record of the branch {self.branch} begins only at {in_utc(following.at)}"


def late_work(
    repository: History, unit: str, time: datetime.datetime, store: Store, in_time: str | None
) -> CollectedWork | None:
    """Return the last push after a time, if the unit's files in it differ from those in time; None otherwise.

    Work on other units is not late work on this one, so the work has the time of the first push with these files.

    Args:
        repository: The pushes.
        unit: The unit.
        time: When it was due.
        store: Where commits are fetched to.
        in_time: The commit that was there in time, if any.
    """
    pushes = [push for push in repository.own if push.at > time and not push.ends]
    if not pushes:
        return None
    first, commit = pushes[0], pushes[0].after
    try:
        last = _own_files(store, commit, unit)
        if last == (_own_files(store, in_time, unit) if in_time else {}):
            return None
        for push in pushes[1:]:
            if _own_files(store, push.after, unit) != last:
                break
            first = push
    except FetchError:
        return None  # the work in time counts, and the anomalies name the later pushes
    committed = store.committed(commit)
    return CollectedWork(commit=commit, dated_by="push", pushed=first.at, pushed_by=first.actor, committed=committed)


def _own_files(store: Store, commit: str, unit: str) -> dict[str, str]:
    """Return the checksum of each file of a unit in a commit. Raises FetchError."""
    store.fetch(commit)
    paths = [f"{folder}{name}" for folder in ("", f"{FOLDER}/", f"{unit}/") for name in filenames(unit)]
    return {path: checksum(content) for path, content in store.read(commit, paths, FILE_LIMIT).items()}


def anomalies(
    repository: History,
    works: Mapping[str, CollectedWork],
    dates: Mapping[str, datetime.datetime],
    units: Mapping[str, datetime.datetime],
    members: int,
) -> list[str]:
    """Return the anomalies of one repository.

    Args:
        repository: The pushes.
        works: The collected work of each unit.
        dates: The date in each commit.
        units: The time of each unit.
        members: How many students have the repository, each with an account.
    """
    what = "these files differ from the course's own"
    changed = {unit: f"{what}: {listed(work.changed, 5)}." for unit, work in works.items() if work.changed}
    later = [f"{unit} {work.pushes_since}" for unit, work in works.items() if work.pushes_since]
    return [
        *alike({unit: work.remark for unit, work in works.items()}),
        *_rewritten(repository.own, units),
        *_accounts(repository.own, members),
        *_odd_dates(repository.pushes or [], dates, units),
        *alike(changed),
        *([f"Pushes since it was due: {', '.join(later)}."] if later else []),
    ]


def in_utc(time: datetime.datetime) -> str:
    """Return a time in UTC as text."""
    return f"{time:%Y-%m-%d %H:%M:%S} UTC"


def _rewritten(pushes: Sequence[Push], units: Mapping[str, datetime.datetime]) -> Iterator[str]:
    """Yield the pushes that removed commits."""
    found = [push for push in pushes if push.kind == "force_push" or push.ends]
    for push in found[:_MOST_LISTED]:
        what = (
            f"deleted the branch, which was at {push.before[:7]}"
            if push.ends
            else f"force-pushed {push.after[:7]} in the place of {push.before[:7]}"
        )
        late = _after([unit for unit, time in units.items() if push.at > time])
        yield f"The account {push.actor} {what} at {in_utc(push.at)}{late}."
    if len(found) > _MOST_LISTED:
        yield f"{len(found) - _MOST_LISTED} more such pushes are in {COLLECTED}."


def _accounts(pushes: Sequence[Push], members: int) -> Iterator[str]:
    """Yield the accounts that pushed, if there are more than members. The push that made the repository is not one."""
    own = [push for push in pushes if not (push.begins and push is pushes[-1])]
    counts = collections.Counter(push.actor or "unknown" for push in own).most_common()
    if len(counts) > members:
        yield f"Several accounts pushed: {listed([f'{name} {count}' for name, count in counts], 10)}."


def _odd_dates(
    pushes: Sequence[Push], dates: Mapping[str, datetime.datetime], units: Mapping[str, datetime.datetime]
) -> Iterator[str]:
    """Yield commits whose own date does not fit the time of their push."""
    # Pushes are newest first, so the first push of a commit remains.
    pushed = {push.after: push for push in pushes}
    for commit, date in sorted(dates.items(), key=lambda item: item[1]):
        if not (push := pushed.get(commit)):
            continue
        at = push.at
        between = [unit for unit, time in units.items() if date <= time < at]
        # A release may have been committed long before it is handed out.
        is_long_before = at - date > _LONG_BEFORE and not push.begins
        if between or is_long_before or date - at > _CLOCKS_DIFFER:
            yield f"The commit {commit[:7]} is dated {in_utc(date)}, but was pushed at {in_utc(at)}{_after(between)}."


def _after(units: list[str]) -> str:
    return f", after {', '.join(units)} {'was' if len(units) == 1 else 'were'} due" if units else ""
