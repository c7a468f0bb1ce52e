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
    paths: Annotated[list[Path], typer.Argument(metavar="PATH...", help="Folders that the grader wrote, and tables.")],
    yes: Annotated[bool, typer.Option("--yes", help="Do it without a question.")] = False,
) -> None:
    """Remove one student from reports, pages and tables. Exit 1 where the student is still named, or may be.

    It opens the tables that you name, and in the folders that you name what the grader wrote: nothing that was handed
    in.
    """
    from grader.classes.forget import Forgetting

    with writing("Not all could be read"):
        forgetting = Forgetting(student, paths)
        changes = forgetting.changes()
    for change in changes:
        say(str(change))
    if changes:
        if not yes and not can_ask(out):
            raise GraderError("Nothing was changed: give --yes to do all of this. It cannot be undone.")
        if not yes and not typer.confirm("Do all of this? It cannot be undone."):
            say("Nothing was changed.")
            return
        with writing("Not all was changed, so give the same command again"):
            forgetting.run()
    if left := forgetting.left():
        more = [f"and {len(left) - MOST_NAMED} more."] if len(left) > MOST_NAMED else []
        raise stop(IMPERFECT, *left[:MOST_NAMED], *more)
    say(f"The tables there, and the names of files and folders, do not have {student} now.")
