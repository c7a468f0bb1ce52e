"""Anomalies that an instructor may want to look at, as sentences. None of them changes a score."""

from __future__ import annotations

import collections
import datetime
from typing import TYPE_CHECKING

from grader.classes.collected import COLLECTED, Work, alike
from grader.text import listed

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from grader.classes.collected import Push

# Clocks differ a little, and a student may commit offline and push days later.
_CLOCKS_DIFFER = datetime.timedelta(minutes=10)
_LONG_BEFORE = datetime.timedelta(days=7)
_MOST_LISTED = 3


def anomalies(
    works: Mapping[str, Work],
    pushes: Sequence[Push],
    to_all: Sequence[Push],
    dates: Mapping[str, datetime.datetime],
    units: Mapping[str, datetime.datetime],
    members: int = 1,
) -> list[str]:
    """Return the anomalies of one repository.

    Args:
        works: The collected work of each unit.
        pushes: The pushes to the default branch.
        to_all: The pushes to all branches.
        dates: The date in each commit.
        units: The time of each unit.
        members: How many students have the repository, each with an account.
    """
    return [
        *alike({unit: work.remark for unit, work in works.items()}),
        *_rewritten(pushes, units),
        *_accounts(pushes, members),
        *_odd_dates(to_all, dates, units),
        *_changes(works),
        *_later(works),
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


def _changes(works: Mapping[str, Work]) -> Iterator[str]:
    what = "these files differ from the course's own"
    yield from alike({unit: f"{what}: {listed(work.changed, 5)}." for unit, work in works.items() if work.changed})


def _later(works: Mapping[str, Work]) -> Iterator[str]:
    counts = [f"{unit} {work.pushes_since}" for unit, work in works.items() if work.pushes_since]
    if counts:
        yield f"Pushes since it was due: {', '.join(counts)}."


def _after(units: list[str]) -> str:
    return f", after {', '.join(units)} {'was' if len(units) == 1 else 'were'} due" if units else ""
