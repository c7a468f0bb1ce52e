"""Who handed in what: the submissions that were found, by student of the roster."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from grader.classes.times import CANVAS, Time, late_work, pushed_time, stamped_time
from grader.submissions.names import quoted
from grader.text import in_words, listed

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from grader.classes.decisions import Decisions
    from grader.classes.roster import Entry
    from grader.submissions.find import Found, Submissions
    from grader.submissions.source import Submission, UnitSource
    from grader.submissions.tree import Files

_MOST = 50


@dataclass(frozen=True)
class HandIn:
    """One submission of a student, the path that was given for it, and whether a platform marked it as late."""

    tree: Path | Files
    path: Path
    is_late: bool = False

    def time(self, student: str, unit: str, decisions: Decisions) -> Time | None:
        """Return when a unit of it was handed in; None if nothing says so."""
        times = decisions.times
        return (
            times.get((student, unit, self.path.name))
            or times.get((student, unit, ""))
            or pushed_time(self.path, student, unit)
            or (Time(None, CANVAS) if self.is_late else None)
            or (stamped_time(self.tree, unit) if isinstance(self.tree, Path) else None)
        )


@dataclass
class HandIns:
    """The submissions of a class.

    Attributes:
        of: Each student's submissions, the last one last.
        matched: How submissions with another name than the student's were matched: pairs of names by rule.
        strangers: The submissions of nobody in the roster.
        absent: The students of the roster without a submission.
        unclear: The students with several submissions of which one at most is theirs.
        problems: Sentences on submissions that are not graded.
    """

    of: dict[str, list[HandIn]] = field(default_factory=dict)
    matched: dict[str, list[tuple[str, str]]] = field(default_factory=dict)
    strangers: list[str] = field(default_factory=list)
    absent: list[str] = field(default_factory=list)
    unclear: list[str] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)


def hand_ins(found: Iterable[Found], decisions: Decisions) -> HandIns:
    """Return the submissions by student. Two in one path that belong to the same student are a problem."""
    result = HandIns()
    spelled: dict[str, str] = {}
    names: dict[tuple[str, Path], list[str]] = {}
    for one in found:
        student = one.student
        if decisions.entries:
            if fitting := decisions.matcher.match(one.student):
                student, rule = fitting[0].student, fitting[1]
                if student != one.student:
                    result.matched.setdefault(rule, []).append((one.student, student))
            else:
                result.strangers.append(one.student)
        # Reports are files, and some disks do not distinguish case.
        student = spelled.setdefault(student.casefold(), student)
        own = result.of.setdefault(student, [])
        names.setdefault((student, one.path), []).append(one.student)
        own.append(HandIn(one.tree, one.path, one.is_late))
        if late := late_work(one.path, one.student):
            own.append(HandIn(late / one.student, late))
    for (student, path), same in names.items():
        if len(same) > 1:  # nobody knows which one is the student's
            result.of.pop(student, None)
            result.unclear.append(student)
            result.problems.append(
                f"{quoted(path)}: {in_words([repr(name) for name in same])} both seem to be by {student!r}, so neither "
                "was graded: name the right one in the column `folder` of the roster."
            )
    here = {student for student, _ in names}
    result.absent = [entry.student for entry in decisions.entries if entry.student not in here]
    return result


def described_matches(handed_in: HandIns, entries: Sequence[Entry], came: Submissions) -> list[str]:
    """Return sentences on how submissions were matched to the roster, and on who is on one side only."""
    sentences = []
    if entries:
        here = len(entries) - len(handed_in.absent)
        sentences.append(f"Roster: {len(entries)} students, {here} with a submission here.")
    for rule, pairs in handed_in.matched.items():
        pairs_in_words = [f"{found} is {student}" for found, student in pairs]
        sentences.append(f"Matched by {rule}: {listed(pairs_in_words, _MOST)}.")
    if handed_in.strangers:
        sentences.append(f"Not in the roster, and graded under their own names: {listed(handed_in.strangers, _MOST)}.")
    if came.unknown:
        sentences.append(f"Named in the roster's column `folder`, and not here: {listed(came.unknown, _MOST)}.")
    if entries and handed_in.absent and came.layouts != ["single"]:
        sentences.append(f"Nothing handed in here: {listed(handed_in.absent, _MOST)}.")
    return sentences


def comparable(submissions: Sequence[Submission]) -> list[tuple[int, Submission]]:
    """Return the submissions that have one of the units, with their numbers; the last one if none has.

    Each may import the units of those before it: a download often holds one unit, which builds on an earlier one.
    """
    found: list[tuple[int, Submission]] = []
    before: dict[str, UnitSource] = {}
    for number, one in enumerate(submissions):
        before |= one.siblings
        found.append((number, dataclasses.replace(one, siblings=dict(before))))
        before |= one.sources
    having = [(number, one) for number, one in found if any(unit.code or unit.quiz for unit in one.units.values())]
    number, last = (having or found)[-1]
    ignored = tuple(dict.fromkeys(name for one in submissions for name in one.ignored))
    return [*having[:-1], (number, dataclasses.replace(last, ignored=ignored))]


def combined(submissions: Sequence[Submission]) -> tuple[Submission, dict[str, int]]:
    """Return each unit from the last submission that has it, and the number of that submission."""
    last = submissions[-1]
    chosen = {
        unit: max(
            (number for number, one in enumerate(submissions) if one.units[unit].code or one.units[unit].quiz),
            default=len(submissions) - 1,
        )
        for unit in last.units
    }
    units = {unit: submissions[number].units[unit] for unit, number in chosen.items()}
    siblings = {name: source for one in submissions for name, source in one.siblings.items()}
    ignored = tuple(dict.fromkeys(name for one in submissions for name in one.ignored))
    handed_in = any(one.handed_in for one in submissions)
    return dataclasses.replace(last, units=units, siblings=siblings, ignored=ignored, handed_in=handed_in), chosen
