"""Draws docs/grade.svg, the README's picture of what `make grade` prints: it grades the class that this has made."""

from __future__ import annotations

import contextlib
import io
from pathlib import Path
from typing import Any

from rich.console import Console

from grader.cli import console
from grader.cli.instructor import app

ROOT = Path(__file__).resolve().parents[1]


class Terminal(Console):
    """A console that breaks long lines like a terminal, also those that have no breaks in a file."""

    def print(self, *objects: Any, soft_wrap: bool | None = None, **options: Any) -> None:  # noqa: ARG002
        super().print(*objects, **options)


def main() -> None:
    console.out = Terminal(file=io.StringIO(), record=True, width=104, highlight=False, force_terminal=True)
    with contextlib.chdir(ROOT):
        app(["grade", "build/class", "--out", "reports", "--force"], standalone_mode=False)
    console.out.save_svg(str(ROOT / "docs" / "grade.svg"), title="make grade")


if __name__ == "__main__":
    main()
