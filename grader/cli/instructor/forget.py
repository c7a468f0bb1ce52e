"""`grader forget`: removes one student from the files of a term."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from grader.cli.console import can_ask, out, say, stop, writing
from grader.errors import IMPERFECT, GraderError

MOST_NAMED = 100


def forget(
    student: Annotated[str, typer.Argument(help="The student's name in reports.")],
    paths: Annotated[list[Path], typer.Argument(metavar="PATH...", help="The folders and files of the term.")],
    yes: Annotated[bool, typer.Option("--yes", help="Do it without a question.")] = False,
) -> None:
    """Remove one student from reports, rosters, tables and submissions. Exit 1 where the student is still found."""
    from grader.classes.forget.forgetting import Forgetting
    from grader.text import listed

    with writing("Not all could be read"):
        forgetting = Forgetting(student, paths)
    terms = ", ".join(forgetting.person.terms)
    for change in forgetting.changes:
        say(str(change))
    if shared := sorted(forgetting.person.shared):
        say(f"Of a group, so that it stays for the others: {listed(shared)}.")
    if forgetting.changes:
        if not yes and not can_ask(out):
            raise GraderError("Nothing was changed: give --yes to do all of this. It cannot be undone.")
        if not yes and not typer.confirm("Do all of this? It cannot be undone."):
            say("Nothing was changed.")
            return
        with writing("Not all was changed, so give the same command again"):
            forgetting.run()
    if histories := [str(folder) for folder in forgetting.histories()]:
        say(f"Neither searched nor changed: the git history of {listed(histories, 5)}.")
    with writing("Not all could be searched"):
        left = forgetting.left()
    if left:
        more = [f"and {len(left) - MOST_NAMED} more."] if len(left) > MOST_NAMED else []
        raise stop(IMPERFECT, *left[:MOST_NAMED], *more, f"Searched for: {terms}.")
    say(f"Nothing is found now of: {terms}.")
