"""What a default branch pointed to at some time, by GitHub's record of pushes or by snapshots."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from pydantic import ValidationError

from grader.classes.collected import SNAPSHOTS as SNAPSHOTS
from grader.classes.collected import CollectError, Push, Time, Work
from grader.documents import Model
from grader.integrations.github.anomalies import in_utc
from grader.text import listed

if TYPE_CHECKING:
    import datetime


class Snapshot(Model):
    """What a default branch pointed to when an earlier run looked at it."""

    seen: Time
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

    def at(self, time: datetime.datetime) -> Work:
        """Return what the branch pointed to at this time, by push time; a push at the time itself counts."""
        own = self.own
        last = next((push for push in own if push.at <= time), None)
        if last and not last.ends:
            return Work(commit=last.after, dated_by="push", pushed=last.at, pushed_by=last.actor)
        following = next((push for push in reversed(own) if push.at > time), None)
        why = self._why(last, following)
        # Before a push, the branch held what that push replaced. A new branch begins with commits that were there.
        commit = self.head if following is None else following.after if following.begins else following.before
        in_time = [push for push in self.pushes or [] if push.at <= time]
        first = next((push for push in reversed(in_time) if push.after == commit), None)
        newest = max((one for one in self.snapshots if one.seen <= time), key=lambda one: one.seen, default=None)
        if first and not (newest and newest.seen > first.at):
            remark = f"{first.after[:7]} is dated by the push to {first.branch} at {in_utc(first.at)}, because {why}."
            return Work(commit=commit, dated_by="push", pushed=first.at, pushed_by=first.actor, remark=remark)
        if newest:
            remark = (
                f"Not dated by push time, because {why}: {newest.head[:7]} was seen there at {in_utc(newest.seen)}. "
                "What was pushed between then and the due date is not in it."
            )
            return Work(commit=newest.head, dated_by="snapshot", pushed=newest.seen, remark=remark)
        is_new = following.begins if following else commit is None
        if is_new and not in_time and self.pushes is not None:
            when = f"the first push was at {in_utc(self.pushes[-1].at)}" if self.pushes else "the repository is empty"
            return Work(dated_by="push", remark=f"Nothing had been pushed: {when}.")
        if in_time and (is_new or following is None):
            branches = listed(sorted({push.branch for push in in_time}), 3)
            problem = (
                f"What the default branch held when it was due is not known, because {why}. By then there were "
                f"pushes to {branches}: make the branch that was the default one then the default one again, and "
                "collect again."
            )
            return Work(dated_by="nothing", problem=problem)
        if commit is None:
            problem = (
                f"The repository is empty now, and what it held is not known, because {why}: look for it on GitHub."
            )
            return Work(dated_by="nothing", problem=problem)
        remark = f"Not dated by push time, because {why}: {commit[:7]} may have been pushed too late."
        return Work(commit=commit, dated_by="nothing", remark=remark)

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
