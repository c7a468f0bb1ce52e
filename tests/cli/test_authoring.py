"""What `grader audit --visible` prints."""

from __future__ import annotations

import pytest
import typer

from grader.audit.run import Ticks
from grader.cli.instructor.authoring import _print_ticks


def test_a_right_answer_without_a_tick_is_an_error_and_a_wrong_one_with_a_tick_is_named(
    capsys: pytest.CaptureFixture[str],
) -> None:
    lenient = Ticks(wrong=4, ticked=["add/subtracts"], right=2, refused=[])
    _print_ticks({"sums": lenient}, {"sums": ["Scale scales"]})
    printed = capsys.readouterr().out
    assert "wrong answers with a full tick: 1 of 4.\n  add/subtracts\n" in printed
    assert "rules without a visible test: 1.\n  Scale scales\n" in printed
    refused = lenient.model_copy(update={"refused": ["add/backwards: test_sum"]})
    with pytest.raises(typer.Exit) as caught:
        _print_ticks({"sums": refused}, {"sums": []})
    assert caught.value.exit_code == 1
    assert capsys.readouterr().err == "sums: a right answer gets no tick: add/backwards: test_sum\n"
