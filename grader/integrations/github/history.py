"""What a default branch pointed to at some time: by GitHub's record of pushes, or by what was seen there."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from pydantic import ValidationError

from grader.classes.collected import CollectError, Push, Time
from grader.documents import Model
from grader.integrations.github.anomalies import said
from grader.text import listed

if TYPE_CHECKING:
    import datetime

SNAPSHOTS = "snapshots.jsonl"


class Snapshot(Model):
    """What a default branch was seen to point to."""

    seen: Time
    repository: str
    head: str


def read_snapshots(path: Path) -> list[Snapshot]:
    """Read what earlier runs saw, of all repositories. Raises CollectError."""
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
class Found:
    """The commit that a branch pointed to at some time, and how that is known; or why it is not known."""

    commit: str | None
    dated_by: Literal["push", "snapshot", "nothing"]
    push: Push | None = None
    seen: datetime.datetime | None = None
    remark: str | None = None
    problem: str | None = None


@dataclass(frozen=True)
class History:
    """What is known of a repository's default branch, which may have been another one before.

    pushes: those to all branches, from the newest on; None where GitHub keeps no record of them, as `why_not` says.
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
        """The commit that the repository began with, where GitHub saw it begin."""
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

    def at(self, time: datetime.datetime) -> Found:
        """Return what the branch pointed to at this time, by push time; a push at the time itself counts."""
        own = self.own
        last = next((push for push in own if push.at <= time), None)
        if last and not last.ends:
            return Found(last.after, "push", last)
        following = next((push for push in reversed(own) if push.at > time), None)
        why = self._why(last, following)
        # Before a push stood what that push replaced; and a new branch begins with what was there already.
        commit = self.head if following is None else following.after if following.begins else following.before
        in_time = [push for push in self.pushes or [] if push.at <= time]
        first = next((push for push in reversed(in_time) if push.after == commit), None)
        newest = max((one for one in self.snapshots if one.seen <= time), key=lambda one: one.seen, default=None)
        if first and not (newest and newest.seen > first.at):
            remark = f"{first.after[:7]} is dated by the push to {first.branch} at {said(first.at)}, for {why}."
            return Found(commit, "push", first, remark=remark)
        if newest:
            remark = (
                f"Not dated by push time, for {why}: {newest.head[:7]} was seen there at {said(newest.seen)}. "
                "What was pushed between then and the due date is not in it."
            )
            return Found(newest.head, "snapshot", seen=newest.seen, remark=remark)
        is_new = following.begins if following else commit is None
        if is_new and not in_time and self.pushes is not None:
            when = f"the first push was at {said(self.pushes[-1].at)}" if self.pushes else "the repository is empty"
            return Found(None, "push", remark=f"Nothing had been pushed: {when}.")
        if in_time and (is_new or following is None):
            branches = listed(sorted({push.branch for push in in_time}), 3)
            problem = (
                f"What the default branch held when it was due is not known, for {why}. By then there were pushes to "
                f"{branches}: make the branch that was the default one then the default one again, and collect again."
            )
            return Found(None, "nothing", problem=problem)
        if commit is None:
            problem = f"The repository is empty now, and what it held is not known, for {why}: look for it on GitHub."
            return Found(None, "nothing", problem=problem)
        remark = f"Not dated by push time, for {why}: {commit[:7]} may have been pushed too late."
        return Found(commit, "nothing", remark=remark)

    def _why(self, last: Push | None, following: Push | None) -> str:
        """Return why the pushes do not show what the branch held: `last` ended it, or there is none in time."""
        if self.pushes is None:
            return self.why_not
        if last:
            return f"the branch {self.branch} had been deleted at {said(last.at)}"
        if following is None:
            return f"GitHub's record has no push to the branch {self.branch}"
        if following.begins:
            return f"the branch {self.branch} was made only at {said(following.at)}"
        return f"GitHub's record of the branch {self.branch} begins only at {said(following.at)}"
