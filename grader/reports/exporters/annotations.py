"""Annotations: GitHub shows them beside the student's lines."""

# No `from __future__ import annotations` here: it would clash with the function's name.
from typing import NamedTuple

from grader.reports.exporters.escape import command
from grader.reports.model import Message, Report, Unit
from grader.reports.reading import Entry, Place, entries, is_missing, meaning, not_run, own_line, points, sentence_of

MOST = 10
"""GitHub shows at most this many errors of one step."""


class _Error(NamedTuple):
    rank: int
    """The most useful errors have the lowest rank."""
    title: str
    place: Place
    message: str


def annotations(report: Report) -> list[str]:
    """Return workflow commands: a notice with the points, and an error for each exercise with mistakes.

    An exercise that is not written or not handed in yet is not an error. If there are more errors than GitHub shows, a
    last notice says so.
    """
    errors = sorted(_errors(report), key=lambda error: error.rank)
    total = f"{report.points} of {points(report.possible)}. {meaning(report)}"
    commands = [command("notice", total, title="Points")]
    for error in errors[:MOST]:
        path, line = error.place
        commands.append(command("error", error.message, file=path, line=line, title=error.title))
    if len(errors) > MOST:
        more = f"{len(errors) - MOST} more to look at: the job's summary has all of them."
        commands.append(command("notice", more, title="There is more"))
    return commands


def _errors(report: Report) -> list[_Error]:
    errors = []
    unread = [unit for name, unit in report.units.items() if unit.path is None and not is_missing(name, unit)]
    if unread:
        # One about the folder is in each unit.
        remarks = dict.fromkeys(remark for unit in unread for remark in unit.remarks)
        errors.append(_Error(1, "What could not be graded", Place(None, None), "\n".join(remarks)))
    for unit_name, unit in report.units.items():
        errors += [_of_line(message, unit) for message in not_run(report, unit_name) if unit.path]
    errors += [_of_exercise(entry) for entry in entries(report) if entry.state == "in progress"]
    return errors


def _of_exercise(entry: Entry) -> _Error:
    exercise = entry.exercise
    rank = 0 if exercise.misconceptions else 1 if entry.raised else 2
    title = f"{entry.name}: {exercise.points} of {points(exercise.possible)}"
    # Annotations cannot point into a notebook, so the text says where.
    sources = [one for one in entry.raised if one.file] if (entry.unit.path or "").endswith(".ipynb") else []
    where = Place(sources[0].file, sources[0].line).in_brackets() if sources else ""
    return _Error(rank, title, entry.place, entry.main_issue + where)


def _of_line(message: Message, unit: Unit) -> _Error:
    place = own_line(message, unit)
    where = "" if place else Place(message.file, message.line).in_brackets()
    return _Error(1, "This line could not be run", place or Place(unit.path, None), sentence_of(message) + where)
