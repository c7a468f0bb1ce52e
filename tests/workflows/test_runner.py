"""The runner of these tests: it detects what the other tests require not to happen."""

from __future__ import annotations

from pathlib import Path

import pytest
from expressions import ExpressionError
from runner import Push, Runner, read_workflow
from workflow_commands import Command, commands

WORKFLOW = """\
on: push
env: {GREETING: hello}
jobs:
  only:
    runs-on: ubuntu-24.04
    steps:
"""


def run(folder: Path, steps: str) -> Runner:
    runner = Runner(folder / "runner", {}, Push("owner/name", "0" * 40))
    runner.run(read_workflow(WORKFLOW + steps))
    return runner


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


def test_variables_outputs_and_paths_reach_later_steps(tmp_path: Path) -> None:
    runner = run(
        tmp_path,
        """\
      - id: first
        run: |
          printf 'SEVERAL<<END\\na=1\\nb\\nEND\\nONE=x=y\\n' >> "$GITHUB_ENV"
          echo "found=true" >> "$GITHUB_OUTPUT"
          mkdir bin && printf '#!/bin/sh\\necho from the path\\n' > bin/program && chmod +x bin/program
          echo "$PWD/bin" >> "$GITHUB_PATH"
      - name: second
        if: steps.first.outputs.found == 'true' && github.actor != 'owner'
        env: {FOUND: "${{ steps.first.outputs.found }} ${{ env.GREETING }} ${{ vars.nobody_set_it }}"}
        run: |
          echo "$SEVERAL|$ONE|$FOUND|$CI"
          program
""",
    )
    assert runner.step("second").log[-3:] == ["a=1", "b|x=y|true hello |true", "from the path"]


def test_after_a_failure_only_steps_with_a_condition_run(tmp_path: Path) -> None:
    steps = "      - run: exit 3\n      - run: echo no\n      - if: always()\n        run: echo yes\n"
    runner = run(tmp_path, steps)
    assert [step.outcome for step in runner.steps] == ["failure", "skipped", "success"]
    assert not runner.is_success


@pytest.mark.parametrize("expression", ["github.nothing", "steps.nobody.outputs.x", "toJSON(github)", "1 + 1"])
def test_an_unknown_expression_is_an_error(tmp_path: Path, expression: str) -> None:
    with pytest.raises((ExpressionError, NameError)):
        run(tmp_path, f"      - env: {{X: '${{{{ {expression} }}}}'}}\n        run: 'true'\n")
