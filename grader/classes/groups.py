"""Groups: the students who handed in together, each with a report of their own, from one run of the code."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, Any

from grader.engine.client import request_for
from grader.engine.messages import to_line

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from grader.classes.hand_ins import HandIn
    from grader.classes.times import Time
    from grader.reports.model import Report
    from grader.submissions.source import Submission


@dataclasses.dataclass
class Work:
    """One student: the submissions to grade, with the time of each unit, and what came of them so far.

    Attributes:
        before: The report so far.
        usable: The same, unless its code was not isolated and had to be.
        together: The students who handed the same in together.
    """

    before: Report | None
    usable: Report | None
    candidates: list[tuple[Submission, dict[str, Time | None]]]
    together: list[str] = dataclasses.field(default_factory=list)
    done: list[tuple[int, Report, dict[str, Any] | None]] = dataclasses.field(default_factory=list)

    def is_same(self, other: Work) -> bool:
        """Return whether two students handed in the same. Of one of them, there may be a report on more units."""
        pairs = zip(self.candidates, other.candidates, strict=False)
        return len(self.candidates) == len(other.candidates) and all(
            one.units[unit] == theirs.units[unit]
            for (one, _), (theirs, _) in pairs
            for unit in one.units.keys() & theirs.units.keys()
        )


def groups(of: Mapping[str, Sequence[HandIn]]) -> Iterator[list[str]]:
    """Yield the students of each group, as far as their submissions say; most students are alone."""
    tied: dict[str, list[str]] = {}
    for student, own in of.items():
        for tie in {tie for one in own for tie in one.ties}:
            tied.setdefault(tie, []).append(student)
    left = dict.fromkeys(of)
    while left:
        group = {next(iter(left)): None}
        waiting = list(group)
        while waiting:
            student = waiting.pop()
            del left[student]
            others = [other for one in of[student] for tie in one.ties for other in tied[tie] if other not in group]
            waiting.extend(dict.fromkeys(others))
            group.update(dict.fromkeys(others))
        yield list(group)


def once(works: Iterable[Work]) -> Iterator[Submission]:
    """Yield the submissions of a group that are not the same to the engine. The others are their copies."""
    same: dict[bytes, list[tuple[Work, int]]] = {}
    for work in works:
        for number, (one, _) in enumerate(work.candidates):
            same.setdefault(to_line(request_for(0, one)), []).append((work, number))
    for (work, number), *others in same.values():
        copies = tuple(other.candidates[place][0] for other, place in others)
        one, times = work.candidates[number]
        work.candidates[number] = dataclasses.replace(one, copies=copies), times
        yield work.candidates[number][0]
