"""What an instructor may want to look at, in sentences. None of it changes a score."""

from __future__ import annotations

import collections
import datetime
from typing import TYPE_CHECKING

from grader.classes.collected import COLLECTED, Work, alike
from grader.text import listed

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from grader.classes.collected import Push

# A clock may be a little off; and who commits on a train pushes days later.
_CLOCKS_DIFFER = datetime.timedelta(minutes=10)
_LONG_BEFORE = datetime.timedelta(days=7)
_MOST_SAID = 3


def anomalies(
    works: Mapping[str, Work],
    pushes: Sequence[Push],
    to_all: Sequence[Push],
    dates: Mapping[str, datetime.datetime],
    units: Mapping[str, datetime.datetime],
) -> list[str]:
    """Return all that an instructor may want to look at, of one student.

    Args:
        works: What was collected of each unit.
        pushes: Those to the default branch.
        to_all: Those to all branches.
        dates: The date in each commit.
        units: The time of each unit.
    """
    return [
        *alike({unit: work.remark for unit, work in works.items()}),
        *_rewritten(pushes, units),
        *_accounts(pushes),
        *_odd_dates(to_all, dates, units),
        *_changes(works),
        *_later(works),
    ]


def said(time: datetime.datetime) -> str:
    """Return a time as text."""
    return f"{time:%Y-%m-%d %H:%M:%S} UTC"


def _rewritten(pushes: Sequence[Push], units: Mapping[str, datetime.datetime]) -> Iterator[str]:
    """Yield sentences on pushes that took commits away."""
    found = [push for push in pushes if push.kind == "force_push" or push.ends]
    for push in found[:_MOST_SAID]:
        what = (
            f"deleted the branch, which was at {push.before[:7]}"
            if push.ends
            else f"force-pushed {push.after[:7]} in the place of {push.before[:7]}"
        )
        late = _after([unit for unit, time in units.items() if push.at > time])
        yield f"The account {push.actor} {what} at {said(push.at)}{late}."
    if len(found) > _MOST_SAID:
        yield f"{len(found) - _MOST_SAID} more such pushes are in {COLLECTED}."


def _accounts(pushes: Sequence[Push]) -> Iterator[str]:
    """Yield who pushed, if it was more than one account. Handing the repository out is not counted."""
    own = [push for push in pushes if not (push.begins and push is pushes[-1])]
    counts = collections.Counter(push.actor or "unknown" for push in own).most_common()
    if len(counts) > 1:
        yield f"Several accounts pushed: {listed([f'{name} {count}' for name, count in counts], 10)}."


def _odd_dates(
    pushes: Sequence[Push], dates: Mapping[str, datetime.datetime], units: Mapping[str, datetime.datetime]
) -> Iterator[str]:
    """Yield commits whose own date does not fit the time of their push."""
    # The first time that it came.
    pushed = {push.after: push for push in pushes}
    for commit, date in sorted(dates.items(), key=lambda item: item[1]):
        if not (push := pushed.get(commit)):
            continue
        at = push.at
        between = [unit for unit, time in units.items() if date <= time < at]
        # What is handed out may have been made long before.
        is_long_before = at - date > _LONG_BEFORE and not push.begins
        if between or is_long_before or date - at > _CLOCKS_DIFFER:
            yield f"The commit {commit[:7]} is dated {said(date)}, but was pushed at {said(at)}{_after(between)}."


def _changes(works: Mapping[str, Work]) -> Iterator[str]:
    what = "not as the course has it now, or handed it out"
    yield from alike({unit: f"{what}: {listed(work.changed, 5)}." for unit, work in works.items() if work.changed})


def _later(works: Mapping[str, Work]) -> Iterator[str]:
    counts = [f"{unit} {work.pushes_since}" for unit, work in works.items() if work.pushes_since]
    if counts:
        yield f"Pushes since it was due: {', '.join(counts)}."


def _after(units: list[str]) -> str:
    return f", after {', '.join(units)} {'was' if len(units) == 1 else 'were'} due" if units else ""
