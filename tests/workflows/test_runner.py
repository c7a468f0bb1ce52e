"""The runner of these tests: it detects what the other tests require not to happen."""

from __future__ import annotations

import pytest
from expressions import ExpressionError, evaluate
from workflow_commands import Command, commands

ERROR = Command("error", {"file": "a.py", "line": "3", "title": "x:y"}, "one\ntwo")


@pytest.mark.parametrize(
    ("line", "command"),
    [
        ("::error file=a.py,line=3,title=x%3Ay::one%0Atwo", ERROR),
        ("  ::add-mask::x", Command("add-mask", {}, "x")),
        ("in the midst of it ##[warning]x", Command("warning", {}, "x")),
    ],
)
def test_both_forms_of_a_command_are_seen(line: str, command: Command) -> None:
    assert commands([line]) == [command]


@pytest.mark.parametrize("line", ["it says ::error::x", "::nothing-known::x", ":: error ::x"])
def test_other_lines_are_text(line: str) -> None:
    assert commands([line]) == []


def test_commands_are_text_until_the_stop_token() -> None:
    word = "5e0b45f4-3b2e-4b8e-9d6f-0c9a1a7f7a10"
    lines = [f"::stop-commands::{word}", "::error::x", "##[error]x", f"::{word}::", "::notice::y"]
    assert commands(lines) == [Command("notice", {}, "y")]


@pytest.mark.parametrize("expression", ["github.nothing", "steps.nobody.outputs.x", "toJSON(github)", "1 + 1"])
def test_an_unknown_expression_is_an_error(expression: str) -> None:
    with pytest.raises((ExpressionError, NameError)):
        evaluate(expression, {"github": {"actor": "owner"}, "steps": {}}, {})
