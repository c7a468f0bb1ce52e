"""The instructor's command line: the student's commands, and those that build, grade and release a course."""

from __future__ import annotations

from grader.cli.console import run
from grader.cli.instructor.authoring import audit, build, new
from grader.cli.instructor.class_files import forget, gradebook, originality, summary
from grader.cli.instructor.exchange import collect, feedback, release, status
from grader.cli.instructor.grade import grade, regrade
from grader.cli.student_cli import app as app

TEACH = "Run a course"

for command in (grade, regrade, gradebook, summary, audit, build, collect, status, feedback, originality, forget):
    app.command(rich_help_panel=TEACH)(command)
app.add_typer(new, name="new", rich_help_panel=TEACH)
app.add_typer(release, name="release", rich_help_panel=TEACH)
app.info.help = "Work on the exercises of a course, or run a course: alone, it shows how far you are, and what is next."


def main() -> None:
    """Run the command that was typed."""
    run(app)
