"""`grader export READER REPORT`: a report as GitHub, Classroom 50 or Gradescope reads it."""

from __future__ import annotations

import datetime
import enum
import json
import os
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from grader.cli.console import writing
from grader.errors import GraderError

if TYPE_CHECKING:
    from collections.abc import Iterable

    from grader.reports.model import Report


class Reader(enum.StrEnum):
    """Who reads an exported report."""

    annotations = "annotations"
    summary = "summary"
    classroom = "classroom"
    classroom50 = "classroom50"
    gradescope = "gradescope"


def export(
    reader: Annotated[Reader, typer.Argument(help="Who reads it: GitHub's annotations or summary, or a service.")],
    report: Annotated[Path, typer.Argument(metavar="REPORT", help="The report, <student>.json.")],
) -> None:
    """Print a report in another format. For Classroom 50, write ./result.json and ./release-body.md instead."""
    from grader.reports.exporters.annotations import annotations
    from grader.reports.exporters.classroom import environment
    from grader.reports.exporters.gradescope import results
    from grader.reports.exporters.summary import summary

    read = _read(report)
    match reader:
        case Reader.annotations:
            _print(annotations(read))
        case Reader.summary:
            _print([summary(read).rstrip("\n")])
        case Reader.classroom:
            _print(_lines(environment(read)))
        case Reader.gradescope:
            _print([_json(results(read)).rstrip("\n")])
        case Reader.classroom50:
            _write_classroom50(read)


def _write_classroom50(report: Report) -> None:
    """Write ./result.json and ./release-body.md, and status and summary to $GITHUB_OUTPUT."""
    from grader.files import write_atomically
    from grader.reports.exporters.classroom50 import outputs, result
    from grader.reports.exporters.summary import opening

    made = result(report, os.environ, _committed(), datetime.datetime.now(datetime.UTC))
    with writing("The result could not be written"):
        write_atomically(Path("release-body.md"), opening(report))
        write_atomically(Path("result.json"), _json(made))
        if sink := os.environ.get("GITHUB_OUTPUT"):
            with open(sink, "a", encoding="utf-8", newline="\n") as file:
                file.writelines(f"{line}\n" for line in _lines(outputs(report)))


def _read(path: Path) -> Report:
    from grader.reports.model import Report

    try:
        return Report.model_validate_json(path.read_bytes())
    except OSError as error:
        why = f"{str(path)!r} cannot be read ({error.strerror}): give the file that a grading wrote, <student>.json."
    except ValueError:
        why = (
            f"{str(path)!r} is not a report that this version reads: run `grader grade` again, and give the "
            "<student>.json of that."
        )
    raise GraderError(why)


def _committed() -> datetime.datetime:
    """Return the committer date of the commit that is checked out here."""
    from grader.git import run_git

    done = run_git(["show", "-s", "--format=%ct", "HEAD"], Path(), settings={"safe.directory": "*"})
    if done.code:
        raise GraderError("git finds no commit here: run this in the student's checkout.")
    try:
        return datetime.datetime.fromtimestamp(int(done.output), datetime.UTC)
    except (OSError, ValueError, OverflowError):
        raise GraderError("The commit's date is not valid: make a new commit, with the right date.") from None


def _lines(outputs: dict[str, str]) -> Iterable[str]:
    return (f"{name}={value}" for name, value in outputs.items())


def _json(value: dict[str, Any]) -> str:
    return json.dumps(value, indent=2, ensure_ascii=False) + "\n"


def _print(lines: Iterable[str]) -> None:
    # As bytes, because a terminal's encoding may lack a character.
    typer.echo("\n".join(lines).encode())
