"""The page of the check functions names them all, and its examples run."""

from __future__ import annotations

import pytest
from courses import REPOSITORY
from torch import nn

from grader.audit.check_functions import ANSWERS, check_problems, criteria, page, public_checks
from grader.engine.criteria import Criterion
from grader.testing.student import InProcessBackend

PAGE = REPOSITORY / "docs" / "check-functions.md"
WRITE_ANEW = (
    "python -c 'from pathlib import Path; from grader.audit.check_functions import page; "
    'Path("docs/check-functions.md").write_text(page(), encoding="utf-8")\''
)
WRONG = {
    "double": lambda x: x * 3 if x.dtype == x.new_ones(1).dtype else x,
    "halves": lambda x: (x, x, x),
    "mean": lambda numbers: -sum(numbers) - 7.0,
    "words": lambda text: [text, text],
    "drop": lambda x, **_: x,
    "Layer": lambda *_: nn.Identity(),
}
# A remark costs nothing; three times a number still has the dtype, the layout and the other properties of a double.
KEEPS_PASSING = {
    "remark_ready_made", "expect_tensor", "expect_dtype", "expect_true", "expect_arguments_kept", "expect_each_alone",
    "expect_any_layout", "expect_float64", "expect_digits",
}  # fmt: skip


def test_the_page_is_made_of_the_functions_and_their_examples() -> None:
    assert PAGE.read_text(encoding="utf-8") == page(), f"docs/check-functions.md is outdated; rewrite it:\n{WRITE_ANEW}"


def test_every_check_function_has_an_example_that_calls_it() -> None:
    examples = {one.name: one.function.__code__.co_names for one in criteria()}
    assert examples.keys() == public_checks().keys()
    assert [name for name, called in examples.items() if name not in called] == []


@pytest.mark.parametrize("example", criteria(), ids=lambda one: one.name)
def test_an_example_passes_with_a_right_answer_and_fails_with_a_wrong_one(example: Criterion) -> None:
    right = example.run(InProcessBackend("answers", dict(ANSWERS)))
    assert right.passed, right
    wrong = example.run(InProcessBackend("answers", dict(WRONG)))
    assert wrong.fault == ""
    assert wrong.passed == (example.name in KEEPS_PASSING), wrong


def test_no_check_function_raises_with_an_odd_value() -> None:
    assert check_problems() == []
