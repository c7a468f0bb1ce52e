"""Draws docs/grade.svg, the README's picture of what `make grade` prints, from the reports that it has written."""

from __future__ import annotations

import io
from pathlib import Path

from rich.console import Console

from grader.cli import console
from grader.cli.instructor import class_table
from grader.course.model import load_course
from grader.reports.model import Report

ROOT = Path(__file__).resolve().parents[1]


def main() -> None:
    reports = [Report.model_validate_json(path.read_bytes()) for path in (ROOT / "reports").glob("*.json")]
    console.out = Console(file=io.StringIO(), record=True, width=104, highlight=False, force_terminal=True)
    class_table.print_table(reports, set(), load_course(ROOT), Path("reports"))
    console.out.save_svg(str(ROOT / "docs" / "grade.svg"), title="make grade")


if __name__ == "__main__":
    main()
