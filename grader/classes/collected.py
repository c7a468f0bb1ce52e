"""The model of collected.json: what one run of `grader collect` found of a class."""

from __future__ import annotations

import datetime
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Literal

from pydantic import AfterValidator, AwareDatetime, Field, ValidationError

from grader.documents import Model
from grader.errors import GraderError

COLLECTED = "collected.json"
LATE = "late"
"""The folder of late work: late/<unit>/<student>."""
SNAPSHOTS = "snapshots.jsonl"
"""The file beside it with what earlier runs saw, one line for each look at a repository."""

Instant = Annotated[AwareDatetime, AfterValidator(lambda time: time.astimezone(datetime.UTC))]


class CollectError(GraderError):
    """This folder cannot be collected into, or read; the text says why, and what to do."""


@dataclass(frozen=True)
class Push:
    """One change of a branch as GitHub received it: when, from which account, from which commit to which."""

    at: datetime.datetime
    actor: str | None
    kind: str
    ref: str
    before: str
    after: str

    @property
    def begins(self) -> bool:
        """Whether the push created the branch."""
        return not self.before.strip("0")

    @property
    def ends(self) -> bool:
        """Whether the push deleted the branch."""
        return not self.after.strip("0")

    @property
    def branch(self) -> str:
        """The name of the branch."""
        return self.ref.removeprefix("refs/heads/")


class CollectedWork(Model):
    """One unit of one student: the commit that is graded.

    Attributes:
        commit: None if nothing had been pushed, or if there is a problem.
        problem: Why it cannot be graded, though something was pushed.
        dated_by: What proves that the commit was there in time; nothing: it may have come later.
        pushed: When GitHub received it; of a snapshot, when it was seen there.
        pushed_by: The account that pushed it.
        committed: The date in the commit, which its author chose. Never used.
        pushes_since: How many pushes came after the unit's time; None: not known.
        changed: The course's own files that differ from what was handed out.
        remark: What an instructor has to know about the choice of the commit.
        late: A later commit in which the unit's files differ, if the course accepts late work.
    """

    commit: str | None = None
    problem: str | None = None
    dated_by: Literal["push", "snapshot", "nothing"]
    pushed: Instant | None = None
    pushed_by: str | None = None
    committed: Instant | None = None
    pushes_since: int | None = None
    changed: list[str] = Field(default_factory=list)
    remark: str | None = None
    late: CollectedWork | None = None

    def of(self, commit: str | None) -> CollectedWork | None:
        """Return the work at a commit, which may be the late one; None if it is neither."""
        return next((one for one in (self, self.late) if one and one.commit == commit), None)

    @property
    def may_be_late(self) -> bool:
        """Whether the commit may have come after the due date."""
        return self.commit is not None and self.dated_by == "nothing"


class CollectedStudent(Model):
    """One student's repository, the pushes to it, and anomalies for the instructor.

    Attributes:
        student: The name in the roster.
        repository: OWNER/NAME.
        problem: Why nothing of it could be collected.
        branch: The default branch, the only one that counts.
        head: The commit that it points to now.
        pushes: Those to the default branch, the newest first; None if GitHub keeps no record.
        units: The work in each unit.
        noticed: Anomalies, as sentences. None of them changes a score.
    """

    student: str
    repository: str
    problem: str | None = None
    branch: str | None = None
    head: str | None = None
    pushes: list[Push] | None = None
    units: dict[str, CollectedWork] = Field(default_factory=dict)
    noticed: list[str] = Field(default_factory=list)

    @property
    def problems(self) -> list[str]:
        """Why something is missing: everything, or single units."""
        return [self.problem] if self.problem else alike({unit: work.problem for unit, work in self.units.items()})

    @property
    def undated(self) -> list[str]:
        """Why it is not known whether units that are graded came in time."""
        return alike({unit: work.remark for unit, work in self.units.items() if work.may_be_late})


class CollectedClass(Model):
    """What one run of `grader collect` found; `units` has the time at which each unit was due."""

    schema_: Literal["attention-from-scratch/collected/v1"] = Field(alias="schema")
    collected: Instant
    units: dict[str, Instant]
    students: list[CollectedStudent]

    def to_json(self) -> str:
        """Return the text of collected.json."""
        return self.model_dump_json(by_alias=True, indent=2) + "\n"


def read_collected(path: Path) -> CollectedClass:
    """Read what `grader collect` wrote. Raises CollectError."""
    try:
        return CollectedClass.model_validate_json(path.read_bytes())
    except OSError as error:
        raise CollectError(f"{path} cannot be read ({error.strerror}): run `grader collect` first.") from None
    except ValidationError:
        raise CollectError(f"{path} is not what this `grader collect` writes: run it again.") from None


def alike(texts: Mapping[str, str | None]) -> list[str]:
    """Return each text once, after the units that it is about."""
    units: dict[str, list[str]] = {}
    for unit, text in texts.items():
        if text:
            units.setdefault(text, []).append(unit)
    return [f"{', '.join(names)}: {text}" for text, names in units.items()]
