"""The students' commands: check, quiz, hint, reset, solution, doctor, and export. Instructors have them too."""

from __future__ import annotations

import datetime
import os
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from grader import __version__
from grader.cli.console import CourseFolder, Program, can_ask, out, read_course, run, say, writing
from grader.cli.export import export
from grader.cli.quick import PROGRAM, Command, CommandResult, Terminal, done_by_spare, finish
from grader.errors import IMPERFECT
from grader.machine import missing_torch

if TYPE_CHECKING:
    from grader.course.model import Course
    from grader.practice.student_files import Converted


Background = Annotated[
    bool,
    typer.Option(
        "--background/--no-background",
        help="Use the process that an earlier check left for this one, and leave one for the next.  [default: yes, "
        "except where CI is set]",
        show_default=False,
    ),
]
NO_CI = "CI" not in os.environ
NEXT = "By default, the one that `grader` calls next."
Exercise = Annotated[str | None, typer.Argument(help=f"An exercise. {NEXT}")]
Unit = Annotated[str | None, typer.Argument(help=f"The name of a unit. {NEXT}")]

UnitOrExercise = Annotated[str, typer.Argument(help="The unit, or one of its exercises.")]
WORK, OTHER = "Work on the exercises", "Reports and the machine"

app = typer.Typer(
    cls=Program,
    add_completion=False,
    invoke_without_command=True,
    help="Check the exercises of a course, and answer its quizzes. Alone: show how far you are, and what is next.",
    epilog="--course DIR, before or after a command, names the course's folder. The default is the nearest parent "
    "folder with a course.",
)


def _print_version(is_asked: bool) -> None:
    if is_asked:
        out.print(f"grader {__version__}")
        raise typer.Exit


@app.callback()
def program(
    context: typer.Context,
    version: Annotated[  # noqa: ARG001
        bool, typer.Option("--version", callback=_print_version, is_eager=True, help="Show the version and exit.")
    ] = False,
) -> None:
    """The options of the grader itself."""
    if context.invoked_subcommand is None:
        raise typer.Exit(finish(_done("progress", None, NO_CI)))


def main() -> None:
    """Run the command that was typed."""
    run(app)


@app.command(rich_help_panel=WORK)
def check(
    name: Annotated[str | None, typer.Argument(metavar="EXERCISE", help="An exercise, or a unit.")] = None,
    into: Annotated[Path | None, typer.Option("--out", help="Also write <student>.json to this folder.")] = None,
    html: Annotated[Path | None, typer.Option(metavar="FILE", help="Also write a page for a browser.")] = None,
    student: Annotated[str | None, typer.Option(help="The student's name, where it is not the folder's.")] = None,
    course: CourseFolder = None,
    background: Background = NO_CI,
) -> None:
    """Run the visible tests on your answers. Exit 1 where something is not right yet."""
    files = {option: str(path.absolute()) for option, path in (("into", into), ("html", html)) if path}
    is_asking = name is not None and can_ask(out)
    done = _done("check", course, background, name=name, student=student, is_asking=is_asking, **files)
    raise typer.Exit(finish(done))


def _done(do: str, course: Path | None, background: bool, **options: Any) -> CommandResult:
    """Have the spare process do a command, or do it here if there is none. Then start the next spare process."""
    from grader.course.root import current_folder, find_root
    from grader.practice import spare

    root = find_root(course)
    command = Command(do, str(root.absolute()), str(current_folder()), **options)
    colors = None if out.no_color or out.legacy_windows else out.color_system
    terminal = Terminal(out.encoding, out.is_terminal, out.width, colors)
    result = done_by_spare(command, terminal) if background else None
    if result is not None:
        out.file.write(result.printed)
    else:
        from grader.cli.commands import run as do_here

        result = do_here(command, out)
    out.file.flush()
    if background:
        spare.start(PROGRAM, root)
    return result


def _named(name: str | None, course: Path | None, what: Literal["exercise", "unit"]) -> str:
    """Return the name that was typed or, without one, the name of the exercise or unit that `grader` calls next."""
    if name is not None:
        return name
    result = _done("next", course, NO_CI)
    if result.error:
        raise typer.Exit(finish(result))
    return result.exercise if what == "exercise" else result.unit


def _at_work(named: Path | None) -> tuple[Course, Path]:
    """Return the course, and the folder of the student's answers."""
    from grader.practice.check import answers_folder

    course = read_course(named)
    return course, answers_folder(course)


@app.command(rich_help_panel=WORK)
def watch(course: CourseFolder = None) -> None:
    """Check what you change each time that you save it. Keys: hint, next, list, show, run, quit."""
    from grader.cli.watch import watch as watch_answers

    watch_answers(*_at_work(course), out)


@app.command("stop", rich_help_panel=OTHER)
def stop_spare() -> None:
    """End the processes that checks have left for the next ones."""
    from grader.practice import spare

    count = spare.stop()
    out.print(f"{count} {'process' if count == 1 else 'processes'} ended.")


@app.command(rich_help_panel=WORK)
def show(
    name: Annotated[str | None, typer.Argument(metavar="EXERCISE", help=f"An exercise, or a unit. {NEXT}")] = None,
    into: Annotated[Path | None, typer.Option("--out", help="Also write the picture: a name in .svg or .png.")] = None,
    course: CourseFolder = None,
    background: Background = NO_CI,
) -> None:
    """Draw what your code computes beside what is expected. Exit 1 where something is not right yet."""
    picture = str(into.absolute()) if into else None
    raise typer.Exit(finish(_done("show", course, background, name=name, picture=picture)))


@app.command(rich_help_panel=WORK)
def quiz(unit: Unit = None, course: CourseFolder = None) -> None:
    """Answer a unit's quiz in the terminal, in a course's repository. Each answer is saved at once."""
    from grader.quizzes.questions import FILENAME
    from grader.quizzes.quiz_terminal import take_quiz

    found, folder = _at_work(course)
    unit = _named(unit, course, "unit")
    take_quiz(unit, out, found.checks / FILENAME, folder)


@app.command(rich_help_panel=WORK)
def hint(exercise: Exercise = None, course: CourseFolder = None) -> None:
    """Show the next hint of an exercise: the idea, then the shapes, then the call."""
    from grader.practice.exercise_help import show_next_hint

    found, folder = _at_work(course)
    exercise = _named(exercise, course, "exercise")
    with writing("The last hint could not be remembered"):
        show_next_hint(found, folder, exercise, out)


@app.command(rich_help_panel=WORK)
def reset(exercise: Exercise = None, course: CourseFolder = None) -> None:
    """Put the stub of an exercise back into your file, and keep the old file."""
    from grader.practice.student_files import reset as put_back

    found, folder = _at_work(course)
    exercise = _named(exercise, course, "exercise")
    with writing("Nothing was changed"):
        done = put_back(found, folder, exercise, datetime.datetime.now().astimezone())
    if done.backup is None:
        say(f"{exercise} in {done.file} is as you received it: nothing was changed.")
    else:
        say(f"{exercise} in {done.file} is as you received it again. Your old file is {done.backup}")


@app.command(rich_help_panel=WORK)
def solution(
    exercise: Annotated[str, typer.Argument(help="An exercise.")],
    course: CourseFolder = None,
) -> None:
    """Print the solution of an exercise, once your instructor has published it."""
    from grader.practice.exercise_help import published_solution, show_code

    now = datetime.datetime.now(datetime.UTC)
    show_code(published_solution(*_at_work(course), exercise, now), out)


@app.command(rich_help_panel=WORK)
def practice(
    unit: Unit = None,
    page: Annotated[Path | None, typer.Option("--page", metavar="FILE.html", help="Write them as a web page.")] = None,
    course: CourseFolder = None,
) -> None:
    """Practise a unit: each answer is explained at once, and nothing is graded."""
    from grader.files import write_where_named
    from grader.quizzes.practice_items import FILENAME, page_of, practice_of, practise

    found = read_course(course)
    items = practice_of(_named(unit, course, "unit"), found.checks / FILENAME)
    if page is None:
        practise(items, out)
        return
    with writing(f"{page} could not be written"):
        page.parent.mkdir(parents=True, exist_ok=True)
        write_where_named(page, page_of(items))
    say(f"{page} is written: open it in a browser. It works without a network.")


@app.command(rich_help_panel=OTHER)
def doctor(course: CourseFolder = None) -> None:
    """Show versions, and whether each layer of isolation works here. Exit 1 where student code cannot be isolated."""
    from rich.table import Table

    from grader.engine.grading import course_notes, purposes, versions
    from grader.sandbox.lockdown import LAYERS, NEEDED, missing_layers

    for name, version in versions().items():
        out.print(f"{name:20} {version}")
    table = Table("layer", "what it does", "here", box=None, pad_edge=False)
    described, fixes = purposes(), missing_layers()
    for layer in LAYERS:
        missing = "[red]missing[/]" if layer in NEEDED else "[yellow]missing[/]"
        table.add_row(layer, described[layer], missing if layer in fixes else "[green]works[/]")
    out.print()
    out.print(table)
    say(*(f"\n{layer}: {fixes[layer]}" for layer in LAYERS if layer in fixes))
    say(*(f"\n{note}" for note in [missing_torch(), *course_notes(course)] if note))
    is_enough = fixes.keys().isdisjoint(NEEDED)
    out.print(f"\nStudent code {'can' if is_enough else 'cannot'} be isolated here.")
    if not is_enough:
        raise typer.Exit(IMPERFECT)


@app.command(rich_help_panel=WORK)
def notebook(unit: UnitOrExercise, course: CourseFolder = None) -> None:
    """Make a notebook of a unit's script, with a cell that checks each exercise. The notebook is graded then."""
    from grader.practice.student_files import write_notebook

    _convert(write_notebook, unit, course)


@app.command(rich_help_panel=WORK)
def script(unit: UnitOrExercise, course: CourseFolder = None) -> None:
    """Make a script of a unit's notebook. The script is graded then."""
    from grader.practice.student_files import write_script

    _convert(write_script, unit, course)


def _convert(write: Callable[[Course, str, datetime.datetime], Converted], name: str, course: Path | None) -> None:
    from grader.practice.check import unit_of

    found = read_course(course)
    with writing("Nothing was changed"):
        converted = write(found, unit_of(name, found), datetime.datetime.now().astimezone())
    say(f"Wrote {os.path.relpath(converted.written)}. Work in it from now on: it is the file that is graded.")
    say(*(f"Your old file is {backup}" for backup in converted.backups))


app.command(rich_help_panel=OTHER)(export)


if __name__ == "__main__":
    main()
