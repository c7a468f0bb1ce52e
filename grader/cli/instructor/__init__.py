"""The instructor's command line: the student's commands, and those that build, grade and release a course."""

from __future__ import annotations

from grader.cli.console import run
from grader.cli.instructor.build import audit, build
from grader.cli.instructor.classes import collect, feedback, status, table
from grader.cli.instructor.grade import grade
from grader.cli.instructor.new import new
from grader.cli.instructor.release import release
from grader.cli.student import app as app

for command in (grade, audit, build, collect, table, status, feedback):
    app.command()(command)
app.add_typer(new, name="new")
app.add_typer(release, name="release")
app.info.help = "Grade a course, and build what students receive."


def main() -> None:
    """Run the command that was typed."""
    run(app)
