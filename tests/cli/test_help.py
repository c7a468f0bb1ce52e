"""`--help` of every command."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
import typer.main
from typer.testing import CliRunner

from grader.cli.instructor import app


def commands(command: Any, *path: str) -> Iterator[tuple[str, ...]]:
    """Yield the words of a command, and of all commands below it."""
    yield path
    for name, inner in getattr(command, "commands", {}).items():
        yield from commands(inner, *path, name)


@pytest.mark.parametrize("command", list(commands(typer.main.get_command(app))), ids=" ".join)
def test_no_type_is_shown_after_a_flag_because_it_takes_no_value(command: tuple[str, ...]) -> None:
    done = CliRunner().invoke(app, [*command, "--help"])
    assert done.exit_code == 0
    assert "--help" in done.stdout
    assert "bool" not in done.stdout.casefold()
    assert "[[" not in done.stdout
