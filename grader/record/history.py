"""What a default branch pointed to at some time: by GitHub's record of pushes, or by what was seen there."""

from __future__ import annotations

import datetime
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from pydantic import BaseModel, ConfigDict

from grader.record.collected import CollectError, Time
from grader.record.github import Push
from grader.record.noticed import said

SNAPSHOTS = "snapshots.jsonl"


class Snapshot(BaseModel):
    """What a default branch was seen to point to."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    seen: Time
    repository: str
    head: str


def read_snapshots(path: Path) -> list[Snapshot]:
    """What earlier runs saw, of all repositories. Raises CollectError."""
    try:
        lines = path.read_text(encoding="utf-8").splitlines()
        return [Snapshot.model_validate_json(line) for line in lines]
    except FileNotFoundError:
        return []
    except ValueError:
        raise CollectError(
            f"{path} is not what `grader collect` writes: put a good copy there, or remove it."
        ) from None


@dataclass(frozen=True)
class Found:
    """The commit that a branch pointed to at some time, and how that is known."""

    commit: str | None
    dated_by: Literal["push", "snapshot", "nothing"]
    push: Push | None = None
    seen: datetime.datetime | None = None
    remark: str | None = None


@dataclass(frozen=True)
class History:
    """What is known of a repository's default branch.

    complete: whether `pushes` are all that GitHub keeps. why_not: why what they do not tell is not known.
    """

    branch: str
    head: str | None
    pushes: list[Push] | None
    complete: bool
    why_not: str
    snapshots: list[Snapshot]

    def at(self, time: datetime.datetime) -> Found:
        """What the branch pointed to at this time, by push time; a push at the time itself counts."""
        pushes = self.pushes or []
        for push in pushes:
            if push.at <= time and push.ends:
                return Found(None, "push", remark=f"The branch had been deleted at {said(push.at)}.")
            if push.at <= time:
                return Found(push.after, "push", push)
        if pushes and self.complete and pushes[-1].begins:
            remark = f"Nothing had been pushed: the first push was at {said(pushes[-1].at)}."
            return Found(None, "push", remark=remark)
        if not pushes and self.head is None:
            return Found(None, "push", remark="Nothing had been pushed: the repository is empty.")
        if earlier := [one for one in self.snapshots if one.seen <= time]:
            last = max(earlier, key=lambda one: one.seen)
            remark = (
                f"Not dated by push time, for {self.why_not}: {last.head[:7]} was seen there at {said(last.seen)}. "
                "What was pushed between then and the due date is not in it."
            )
            return Found(last.head, "snapshot", seen=last.seen, remark=remark)
        # Before the first push that GitHub knows of stood what that push replaced.
        oldest = pushes[-1].before if pushes and self.complete else self.head
        remark = f"Not dated by push time, for {self.why_not}: {(oldest or '')[:7]} may have been pushed too late."
        return Found(oldest, "nothing", remark=remark)
