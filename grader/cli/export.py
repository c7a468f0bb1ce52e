"""`grader export READER REPORT`: a report as GitHub, Classroom 50 or Gradescope reads it."""

from __future__ import annotations

import datetime
import json
import os
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from grader.errors import GraderError, InternalError

if TYPE_CHECKING:
    from collections.abc import Iterable

    from grader.reports.model import Report

export = typer.Typer(no_args_is_help=True, help="Print a report as others read it.")

ReportFile = Annotated[Path, typer.Argument(metavar="REPORT", help="The report, <student>.json.")]


@export.command("annotations")
def export_annotations(report: ReportFile) -> None:
    """Print workflow commands that annotate the student's lines on GitHub."""
    from grader.reports.exporters.annotations import annotations as commands

    _print(commands(_read(report)))


@export.command("summary")
def export_summary(report: ReportFile) -> None:
    """Print Markdown for $GITHUB_STEP_SUMMARY."""
    from grader.reports.exporters.summary import summary

    _print([summary(_read(report)).rstrip("\n")])


@export.command("classroom")
def export_classroom(report: ReportFile) -> None:
    """Print lines for $GITHUB_ENV: the runners of GitHub Classroom's reporter, and the results of each."""
    from grader.reports.exporters.classroom import environment

    _print(_lines(environment(_read(report))))


@export.command("classroom50")
def export_classroom50(report: ReportFile) -> None:
    """Write ./result.json and ./release-body.md for Classroom 50, and status and summary to $GITHUB_OUTPUT."""
    from grader.files import write_atomically
    from grader.reports.exporters.classroom50 import outputs, result
    from grader.reports.exporters.summary import opening

    read = _read(report)
    made = result(read, os.environ, _committed(), datetime.datetime.now(datetime.UTC))
    try:
        write_atomically(Path("release-body.md"), opening(read))
        write_atomically(Path("result.json"), _json(made))
        if sink := os.environ.get("GITHUB_OUTPUT"):
            with open(sink, "a", encoding="utf-8", newline="\n") as file:
                file.writelines(f"{line}\n" for line in _lines(outputs(read)))
    except OSError as error:
        raise InternalError(f"{error.filename} could not be written: {error.strerror or error}.") from None


@export.command("gradescope")
def export_gradescope(report: ReportFile) -> None:
    """Print Gradescope's results.json."""
    from grader.reports.exporters.gradescope import results

    _print([_json(results(_read(report))).rstrip("\n")])


def _read(path: Path) -> Report:
    from grader.reports.model import Report

    try:
        return Report.model_validate_json(path.read_bytes())
    except OSError as error:
        why = f"{str(path)!r} cannot be read ({error.strerror}): give the file that a grading wrote, <student>.json."
    except ValueError:
        why = f"{str(path)!r} is no report of this version: grade anew, and give the <student>.json of that."
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
    # As bytes: a terminal's encoding may not know every character.
    typer.echo("\n".join(lines).encode())
