"""roster.csv in a folder of submissions: the student of each folder that no layout fits."""

from __future__ import annotations

import csv
import io
from typing import TYPE_CHECKING

from grader.submissions.claims import ROSTER, Claim
from grader.submissions.names import STUDENT
from grader.submissions.paths import SubmissionError, quoted
from grader.submissions.plain_files import MEGABYTE, UnreadableError, read_text

if TYPE_CHECKING:
    from grader.submissions.class_tree import ClassTree


def read_roster(where: ClassTree, problems: list[str]) -> dict[str, list[Claim]]:
    """Return the claims of roster.csv by entry; none where it does not exist or has not the columns student and folder.

    Args:
        where: The class.
        problems: Gets a sentence on each line that is wrong.

    Raises:
        SubmissionError: The file cannot be read.
    """
    label = quoted(where.path / ROSTER)
    try:
        text = read_text(where.tree, ROSTER, MEGABYTE)
        rows = list(csv.DictReader(io.StringIO(text or "", newline=""), skipinitialspace=True))
    except (UnreadableError, csv.Error) as error:
        raise SubmissionError(f"{label}: {error}") from None
    if not rows or not {"student", "folder"} <= rows[0].keys():
        return {}
    claims = {}
    there = {entry.name: entry for entry in where.entries}
    for line, row in enumerate(rows, start=2):
        student, folder = ((row[column] or "").strip() for column in ("student", "folder"))
        if not STUDENT.fullmatch(student):
            problems.append(
                f"{label}, line {line}: {student!r} cannot be a student's name: use letters, digits, '.', '_' and "
                "'-' only, and a letter or a digit first."
            )
        elif folder.rstrip("/") not in there:
            problems.append(f"{label}, line {line}: there is no {folder!r}: correct the name.")
        else:
            entry = there[folder.rstrip("/")]
            claims[entry.name] = [Claim(student, student, entry.name, entry.name if entry.kind == "file" else "")]
    return claims
