"""Late work: what was pushed after a unit was due and changes the unit's own files."""

from __future__ import annotations

from typing import TYPE_CHECKING

from grader.classes.collected import Work
from grader.integrations.github.checkout import FILE_LIMIT, FetchError, Store
from grader.integrations.github.update import checksum
from grader.submissions.names import FOLDER, filenames

if TYPE_CHECKING:
    import datetime

    from grader.integrations.github.history import History


def late_work(
    repository: History, unit: str, time: datetime.datetime, store: Store, in_time: str | None
) -> Work | None:
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
    return Work(commit=commit, dated_by="push", pushed=first.at, pushed_by=first.actor, committed=committed)


def _own_files(store: Store, commit: str, unit: str) -> dict[str, str]:
    """Return the checksum of each file of a unit in a commit. Raises FetchError."""
    store.fetch(commit)
    paths = [f"{folder}{name}" for folder in ("", f"{FOLDER}/", f"{unit}/") for name in filenames(unit)]
    return {path: checksum(content) for path, content in store.read(commit, paths, FILE_LIMIT).items()}
