"""`grader export READER REPORT [FILE]`: a report as a browser, a service or a CI reads it."""

from __future__ import annotations

import datetime
import json
import os
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from grader.cli.console import write_named, writing
from grader.errors import GraderError

if TYPE_CHECKING:
    from grader.reports.report_model import Report


Reader = Literal["html", "annotations", "summary", "classroom50", "gradescope", "junit"]
"""Who reads an exported report."""


def export(
    reader: Annotated[
        Reader, typer.Argument(help="Who reads it: a browser, GitHub's annotations or summary, a service.")
    ],
    report: Annotated[Path, typer.Argument(metavar="REPORT", help="The report, <student>.json.")],
    into: Annotated[Path | None, typer.Argument(metavar="FILE", help="The file to write. Without it, print.")] = None,
) -> None:
    """Write a report in another format. For Classroom 50, write ./result.json and ./release-body.md instead."""
    read = _read(report)
    if reader == "classroom50":
        if into is not None:
            raise GraderError(f"{str(into)!r} was given, but classroom50 writes ./result.json and ./release-body.md.")
        _write_classroom50(read)
        return
    text = _text(reader, read)
    if into is None:
        typer.echo(text.encode(), nl=False)  # as bytes, because a terminal's encoding may lack a character
    else:
        write_named(into, text, "FILE")


def _text(reader: Reader, report: Report) -> str:
    """Return the report as this reader reads it; each imports only what it needs."""
    match reader:
        case "html":
            from grader.reports.exporters.html import page

            return page(report)
        case "annotations":
            from grader.reports.exporters.job_summary import annotation_commands

            return "\n".join(annotation_commands(report)) + "\n"
        case "gradescope":
            from grader.reports.exporters.autograder_results import gradescope_results

            return _json(gradescope_results(report))
        case "junit":
            from grader.reports.exporters.junit import junit

            return junit(report)
        case "summary":
            from grader.reports.exporters.job_summary import summary

            return summary(report)
        case "classroom50":
            raise ValueError("Classroom 50 reads two files.")


def _write_classroom50(report: Report) -> None:
    """Write ./result.json and ./release-body.md, and status and summary to $GITHUB_OUTPUT."""
    from grader.files import refuse_links, write_atomically
    from grader.reports.exporters.autograder_results import classroom50_result, classroom50_status
    from grader.reports.exporters.job_summary import opening

    made = classroom50_result(report, os.environ, _committed(), datetime.datetime.now(datetime.UTC))
    files = {Path("release-body.md"): opening(report), Path("result.json"): _json(made)}
    for path in files:
        refuse_links(path, Path())
    with writing("The result could not be written"):
        for path, text in files.items():
            write_atomically(path, text)
        if sink := os.environ.get("GITHUB_OUTPUT"):
            with open(sink, "a", encoding="utf-8", newline="\n") as file:
                file.writelines(f"{name}={value}\n" for name, value in classroom50_status(report).items())


def _read(path: Path) -> Report:
    from grader.reports.report_model import Report

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


def _json(value: dict[str, Any]) -> str:
    return json.dumps(value, indent=2, ensure_ascii=False) + "\n"
