"""The command that starts one of the grader's processes. Imports nothing else, so that a command starts fast."""

from __future__ import annotations

import sys
from pathlib import Path

PACKAGE_PARENT = str(Path(__file__).resolve().parents[2])


def module_command(module: str, *arguments: object) -> list[str]:
    """Return the command that runs `module` of this package, without a student's file on its path."""
    code = (
        f"import sys, runpy; sys.path.insert(0, {PACKAGE_PARENT!r}); runpy.run_module({module!r}, run_name='__main__')"
    )
    return [sys.executable, "-P", "-s", "-c", code, *map(str, arguments)]
