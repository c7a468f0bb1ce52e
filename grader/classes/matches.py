"""Sentences on how the submissions of a class were matched to its roster."""

from __future__ import annotations

from typing import TYPE_CHECKING

from grader.text import in_words, listed

if TYPE_CHECKING:
    from collections.abc import Sequence

    from grader.classes.hand_ins import HandIns
    from grader.classes.roster import Entry
    from grader.submissions.find import Submissions

_MOST = 50
_MOST_PAIRS = 10


def described_matches(handed_in: HandIns, entries: Sequence[Entry], came: Submissions) -> list[str]:
    """Return sentences on how submissions were matched to the roster, and on who is on one side only."""
    sentences = []
    if entries:
        here = len(entries) - len(handed_in.absent) - len(handed_in.unclear)
        sentences.append(f"Roster: {len(entries)} students, {here} with a submission here.")
    sentences += handed_in.notes
    for rule, pairs in handed_in.matched.items():
        others = listed([text for text, is_said in pairs.items() if not is_said], _MOST_PAIRS)
        count = f"{len(pairs)}{', among them ' if others else ''}" if any(pairs.values()) else ""
        sentences.append(f"Matched by {rule}: {count}{others}.")
    for reason, names in handed_in.left_out.items():
        sentences.append(f"Left out, because {reason}: {listed(names, _MOST)}.")
    if strangers := [
        f"{name} (perhaps by {in_words(students)})" if students else name
        for name, students in handed_in.strangers.items()
    ]:
        sentences.append(f"Not in the roster, and graded under their own names: {listed(strangers, _MOST)}.")
    if came.unknown:
        sentences.append(f"Named in the roster's column `folder`, and not here: {listed(came.unknown, _MOST)}.")
    if entries and handed_in.absent and came.layouts != ["single"]:
        sentences.append(f"Nothing handed in here: {listed(handed_in.absent, _MOST)}.")
    return sentences
