"""`grader build` and `grader audit`: the course made from its sources, and the proof of its suites."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.markup import escape
from rich.table import Table

from grader.cli.console import CourseFolder, one_of, out, progress, stop
from grader.errors import IMPERFECT, GraderError, InternalError

if TYPE_CHECKING:
    from grader.audit.verdict import UnitTable
    from grader.course.model import Course


def build(course: CourseFolder = None) -> None:
    """Write exercises/ from solutions/, apply the misconceptions, and record what each of them loses."""
    from grader.course.build import build as build_exercises
    from grader.course.find import find_course
    from grader.course.model import describe_left_out
    from grader.course.new import to_do
    from grader.integrations.github.release import write_workflow
    from grader.testing.misconceptions import build as build_misconceptions

    try:
        found = find_course(course)
        _check_modules(found)
        written = [*build_exercises(found), *write_workflow(found), *build_misconceptions(found, found.units)]
        for path in written:
            out.print(f"{'wrote' if path.exists() else 'removed'} {escape(str(path))}", soft_wrap=True)
        from grader.engine import failure_matrix

        missing = failure_matrix.outdated(found, found.units)
        with progress(len(missing), "recording misconceptions") as advance:
            failure_matrix.fill(found, found.units, lambda exercise: advance(exercise, "recorded", 1))
        for sentence in [*describe_left_out(found), *to_do(found)]:
            out.print(escape(sentence), soft_wrap=True)
    except OSError as error:
        raise InternalError(f"Not all could be written: {error}.") from None


def _check_modules(course: Course) -> None:
    """Raise GraderError where a module that autograder.yml lists does not work in an isolated process."""
    from grader.sandbox.processes import ForkServer, ServerLost

    if not course.modules or sys.platform != "linux":
        return
    server = ForkServer.spawned(course.modules)
    try:
        _ = server.missing
    except ServerLost as error:
        raise GraderError(f"autograder.yml: modules: {error}. Install it, or take it out of the list.") from None
    finally:
        server.close()


def audit(
    unit: Annotated[str | None, typer.Option(help="Audit this unit alone.")] = None,
    into: Annotated[Path | None, typer.Option("--out", help="Folder of the tables.  [default: build/audit]")] = None,
    quick: Annotated[bool, typer.Option("--quick", help="Audit a sample, in a minute, and write nothing.")] = False,
    jobs: Annotated[int, typer.Option(min=1, help="How many processes to use.")] = os.cpu_count() or 1,
    course: CourseFolder = None,
) -> None:
    """Prove the suites: grade answers known to be right or wrong, and write what became of them. Exit 1 on errors.

    Of all units, it writes docs/accuracy.md as well.
    """
    from grader.course.find import find_course
    from grader.course.model import describe_left_out
    from grader.files import write_atomically

    found = find_course(course)
    units = list(found.units) if unit is None else [one_of(unit, list(found.units))]
    described = describe_left_out(found)

    # Only now, for they import torch.
    from grader.audit.cases import cases_of, sample
    from grader.audit.pages import accuracy_page, write_tables
    from grader.audit.run import criteria_names, run
    from grader.audit.verdict import problems_of, problems_of_a_sample, table_of
    from grader.engine import failure_matrix
    from grader.errors import InternalError
    from grader.testing.misconceptions import build as build_misconceptions

    folder = into or found.caches / "audit"
    try:
        build_misconceptions(found, units)
        failure_matrix.fill(found, units)
        cases = [case for name in units for case in cases_of(found, name)]
        cases = sample(cases) if quick else cases
        results = []
        with progress(len(cases), "auditing") as advance:
            for done in run(found, cases, jobs):
                results += done
                advance(f"{done[0].case.unit}/{done[0].case.exercise}", "audited", len(done))
        tables = [
            table_of(name, [one for one in results if one.case.unit == name], criteria_names(found, name), found)
            for name in units
        ]
        written = []
        if quick:
            problems = [one for table in tables for one in problems_of_a_sample(table)]
        else:
            problems = [one for table in tables for one in problems_of(table)]
            written = write_tables(tables, folder, found)
        if not quick and unit is None and into is None:
            written.append(found.root / "docs" / "accuracy.md")
            written[-1].parent.mkdir(exist_ok=True)
            write_atomically(written[-1], accuracy_page(tables, found))
    except OSError as error:
        raise InternalError(f"The tables could not be written to {folder}: {error.strerror or error}.") from None
    _print_audit(tables)
    for sentence in described:
        out.print(escape(sentence), soft_wrap=True)
    for path in written[-1:]:
        out.print(f"Written: {escape(str(path))}", soft_wrap=True)
    if problems:
        raise stop(IMPERFECT, *problems, f"{len(problems)} problems were found.")


def _print_audit(tables: list[UnitTable]) -> None:
    """Print one line for each unit: what became of right and wrong answers and mutants, and how mistakes are named."""
    from grader.audit.pages import COLUMNS, totals
    from grader.audit.verdict import naming_of

    # What should be zero is a column only where it is not.
    shown = [n for n, cell in enumerate(totals(tables)) if cell != "0"]
    table = Table("unit", *(COLUMNS[n] for n in shown), box=None, pad_edge=False)
    for column in table.columns[1:]:
        column.justify = "right"
    for one in tables:
        table.add_row(one.unit, *(totals([one])[n] for n in shown))
    if len(tables) > 1:
        table.add_row("all", *(totals(tables)[n] for n in shown), style="bold")
    out.print(table)
    naming = naming_of(tables)
    out.print(
        f"Names: {naming.named_rightly} of {naming.mistakes} known mistakes in other words, "
        f"{naming.others_named} of {naming.others} other mistakes; "
        f"recall {naming.recall:.1%}, precision {naming.precision:.1%}."
    )
