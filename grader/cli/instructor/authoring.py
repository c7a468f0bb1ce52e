"""`grader build`, `grader audit` and `grader new`: make a course, test its suites, and begin one."""

from __future__ import annotations

import os
import shlex
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.table import Table

from grader.cli.console import CourseFolder, Program, out, progress, read_course, say, say_written, stop, writing
from grader.errors import IMPERFECT, GraderError

if TYPE_CHECKING:
    from grader.audit.run import Ticks
    from grader.audit.verdict import UnitTable
    from grader.course.model import Course

NEXT = "Next: grader build, which lists what is still to do"


def build(course: CourseFolder = None) -> None:
    """Write exercises/ from solutions/, apply the misconceptions, and record what each of them loses."""
    from grader.course.build import build as build_exercises
    from grader.course.left_out import describe_left_out
    from grader.course.new import to_do
    from grader.integrations.github.github_release import write_workflows
    from grader.testing.misconceptions import build as build_misconceptions

    found = read_course(course)
    try:
        with writing("Not all could be written"):
            _check_modules(found)
            written = [*build_exercises(found), *write_workflows(found), *build_misconceptions(found, found.units)]
            say(*(f"{'wrote' if path.exists() else 'removed'} {path}" for path in written))
            from grader.audit.quiz_proofs import problems as quiz_problems
            from grader.engine import failure_matrix
            from grader.engine.visible_files import unmatched_rules

            if found.generated.bring_up_to_date():
                say(f"wrote {found.checks}")
            if wrong := [one for name in found.units for one in quiz_problems(found, name)]:
                raise GraderError("\n".join(wrong))
            missing = failure_matrix.outdated(found, found.units)
            with progress(len(missing), "recording misconceptions") as shown:
                failure_matrix.fill(found, found.units, lambda exercise: shown.advance(exercise, "recorded", 1))
            say(*describe_left_out(found), *unmatched_rules(found, found.units))
    finally:  # a build may fail because of what is still to do
        say(*to_do(found))


def _check_modules(course: Course) -> None:
    """Raise GraderError if a module that autograder.yml lists does not work in an isolated process."""
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
    exercise: Annotated[str | None, typer.Option(help="Audit this exercise alone, and write nothing.")] = None,
    into: Annotated[Path | None, typer.Option("--out", help="Folder of the tables.  [default: build/audit]")] = None,
    quick: Annotated[bool, typer.Option("--quick", help="Audit a sample, in a minute, and write nothing.")] = False,
    visible: Annotated[
        bool, typer.Option("--visible", help="Only list the answers with a wrong tick, in a minute, and write nothing.")
    ] = False,
    jobs: Annotated[int, typer.Option(min=1, help="How many processes to use.")] = os.cpu_count() or 1,
    course: CourseFolder = None,
) -> None:
    """Test the suites: grade answers known to be right or wrong, and write the results. Exit 1 on errors.

    An audit of all units also writes docs/accuracy.md.
    """
    from grader.course.left_out import describe_left_out
    from grader.documents import nearest
    from grader.files import write_atomically

    found = read_course(course, unit)
    if exercise is not None and exercise not in found.unit_of:
        raise GraderError(f"There is no exercise {exercise!r}.{nearest(exercise, found.unit_of)}")
    unit = unit if exercise is None else found.unit_of[exercise]
    units = list(found.units) if unit is None else [unit]
    exercises = [name for one in units for name in found.units[one].exercises if exercise in (None, name)]
    described = describe_left_out(found)

    # Imported late, because they import torch.
    from grader.audit.cases import cases_of, sample
    from grader.audit.odd_values import feed
    from grader.audit.pages import accuracy_page, write_tables
    from grader.audit.quiz_proofs import problems as quiz_problems
    from grader.audit.run import count_ticks, run
    from grader.audit.verdict import problems_of, table_of
    from grader.engine import failure_matrix
    from grader.engine.visible_files import untried_rules
    from grader.testing.misconceptions import build as build_misconceptions

    folder = into or found.caches / "audit"
    with writing(f"The tables could not be written to {folder}"):
        if exercise is not None:
            _say_missing(found, exercise)
        build_misconceptions(found, units)
        cases = [case for name in units for case in cases_of(found, name) if case.exercise in exercises]
        ticks = count_ticks(found, units, cases, jobs)
        if visible:
            _print_ticks(ticks, {name: untried_rules(found, name) for name in units})
            return
        failure_matrix.fill(found, units, exercise=exercise)
        cases = sample(cases) if quick else cases
        results = []
        with progress(len(cases), "auditing") as shown:
            for done in run(found, cases, jobs):
                results += done
                for one in done[:1]:
                    shown.advance(f"{one.case.unit}/{one.case.exercise}", "audited", len(done))
        tables = [
            table_of(found, name, [one for one in results if one.case.unit == name], ticks[name], exercises)
            for name in units
        ]
        written = []
        problems = [one for table in tables for one in problems_of(table, quick)]
        if not quick:
            problems += feed(found, exercises, jobs)
        if not quick and exercise is None:
            problems += [one for name in units for one in quiz_problems(found, name, needs_all=True)]
            written = write_tables(tables, folder, found)
        if not quick and unit is None and into is None:
            written.append(found.root / "docs" / "accuracy.md")
            written[-1].parent.mkdir(exist_ok=True)
            write_atomically(written[-1], accuracy_page(tables, found))
    _print_audit(tables)
    say(*described, *(f"Written: {path}" for path in written[-1:]))
    if problems:
        raise stop(IMPERFECT, *problems, f"Problems found: {len(problems)}.")


def _say_missing(course: Course, exercise: str) -> None:
    """Print what an author must still write for an exercise. The audit may fail because of it."""
    from grader.course.new import to_do
    from grader.engine.visible_files import unmatched_rules

    say(*to_do(course, exercise), *unmatched_rules(course, [course.unit_of[exercise]]))


def _print_ticks(ticks: dict[str, Ticks], untried: dict[str, list[str]]) -> None:
    """Print the wrong answers with a full tick, the rules without a visible test, and right answers without a tick.

    Raises typer.Exit for the latter.
    """
    for unit, found in ticks.items():
        say(f"{unit}: wrong answers with a full tick: {len(found.ticked)} of {found.wrong}.")
        say(*(f"  {name}" for name in found.ticked))
        say(f"{unit}: rules without a visible test: {len(untried[unit])}.")
        say(*(f"  {rule}" for rule in untried[unit]))
    refused = [f"{unit}: a right answer gets no tick: {one}" for unit, found in ticks.items() for one in found.refused]
    if refused:
        raise stop(IMPERFECT, *refused)


def _print_audit(tables: list[UnitTable]) -> None:
    """Print one line per unit: the results of right and wrong answers and of mutants, and how mistakes are named."""
    from grader.audit.pages import COLUMNS, totals
    from grader.audit.verdict import naming_of

    # A column of zeros is left out.
    shown = [n for n, cell in enumerate(totals(tables)) if cell != "0"]
    table = Table("unit", *(COLUMNS[n] for n in shown), box=None, pad_edge=False)
    for column in table.columns[1:]:
        column.justify = "right"
    for one in tables:
        table.add_row(one.unit, *(totals([one])[n] for n in shown))
    if len(tables) > 1:
        table.add_row("all", *(totals(tables)[n] for n in shown), style="bold")
    out.print(table)
    pairs, in_part, others = naming_of(tables).values()
    if pairs.total + others.total:
        out.print(
            f"Names: {pairs.number} of {pairs.total} pairs ({in_part.number} in part), "
            f"{others.number} of {others.total} unlisted mistakes."
        )


new = typer.Typer(cls=Program, no_args_is_help=True, help="Write a course, a unit or an exercise to start from.")


@new.command("course")
def write_course(
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="A folder that is empty or does not exist.")],
    title: Annotated[str | None, typer.Option(help="The course's title.  [default: the folder's name]")] = None,
) -> None:
    """Write a small course that works: one unit, two exercises and a quiz."""
    from grader.course.new import new_course

    with writing("The course could not be written"):
        say_written(new_course(folder, title or folder.resolve().name))
    say(f"Next: cd {shlex.quote(str(folder))} && grader build")


@new.command("unit")
def write_unit(
    name: Annotated[str, typer.Argument(help="The unit's name, which is that of its file.")],
    title: Annotated[str | None, typer.Option(help="The unit's title.  [default: its name in words]")] = None,
    course: CourseFolder = None,
) -> None:
    """Write the files of a new unit, with one exercise and a quiz."""
    from grader.course.new import new_unit

    with writing("The unit could not be written"):
        say_written(new_unit(read_course(course), name, title or name.replace("_", " ").capitalize()))
    say(NEXT)


@new.command("exercise")
def write_exercise(
    unit: Annotated[str, typer.Argument(help="The unit, as autograder.yml names it.")],
    name: Annotated[str, typer.Argument(help="The exercise's name, which is that of its function.")],
    course: CourseFolder = None,
) -> None:
    """Write what follows from the solution of a new exercise, or else a working example to replace."""
    from grader.course.new import new_exercise

    found = read_course(course, unit)
    with writing("The exercise could not be written"):
        say_written(new_exercise(found, unit, name))
    say(NEXT)
