"""Groups: the students who may have handed in together, by what their submissions have in common."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from grader.classes.hand_ins import HandIn


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
