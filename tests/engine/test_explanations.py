"""What the source of an answer says about its failure: the lines, the cause, and what to do."""

from __future__ import annotations

from dataclasses import replace

import pytest
import torch
from student_errors import FILE, error_of, lines_of

from grader.engine.error_hints import NO_GPU, NUMPY, hint_for_statement
from grader.engine.explanations import advice, explained, trace_of, with_own_names
from grader.engine.outcomes import Outcome
from grader.engine.source_lines import SourceLines
from grader.sandbox.failures import FailedStatement

EXERCISES = {"scores", "softmax", "Attention"}


# -- the reason ---------------------------------------------------------------------------------------------------

CLASS = """\
class Attention:
    def __init__(self):
        super().__init__()
        self.size = 2

    def forward(self):
        \"\"\"Attend.\"\"\"
        raise NotImplementedError()

def attend():
    return Attention().forward()
"""


@pytest.mark.parametrize(
    ("source", "reason", "hint"),
    [
        (
            "def scores(x):\n    for y in x:\n        y += 1\n        return y",
            "The scores are not the expected ones.",
            "The `return` in line 4 ends the loop in its first pass: is it indented too far?",
        ),
        ("def scores(x):\n    for y in x:\n        if y:\n            return y", "The scores are wrong.", ""),
        (
            "def scores(x):\n    y = float(x.sum())\n    return y * x.detach()",
            "No gradient flows back from the result.",
            "Check `float(…)` in line 2 and `.detach()` in line 3.",
        ),
        ("def scores(x):\n    return float('inf') * x", "No gradient reaches `x`.", ""),
        (
            "class scores:\n    def __init__(self):\n        self.W_values = 1",
            "There is no registered parameter W_value.",
            "Your class assigns `self.W_values`: rename it to `self.W_value`.",
        ),
        (
            "class scores:\n    def __init__(self):\n        self.W_value = 1",
            "There is no registered parameter W_value.",
            "Make `self.W_value` with `nn.Parameter(…)` in `__init__`.",
        ),
        (
            "class scores:\n    def __init__(self):\n        self.W_value = 1",
            "There is no parameter W_value.weight of its own, which nn.Linear would have under this name.",
            "",
        ),
    ],
)
def test_a_failed_check_names_what_the_source_has_to_do_with_it(source: str, reason: str, hint: str) -> None:
    lines = lines_of(source)
    found = explained(Outcome(False, "wrong", reason), "answers", "scores", EXERCISES - {"scores"}, lines)
    assert found.reason == f"{reason} {hint}".strip()


@pytest.mark.parametrize(
    ("source", "sentence", "named"),
    [
        (
            "class Attention:\n    def __init__(self, d_in, length): ...\n    def forward(self, inputs): ...",
            "argument 2 of the class and dimension -2 of argument 1",
            "`length` and `inputs.shape[-2]`",
        ),
        (
            "def Attention(x, heads): ...",
            "argument 2 and dimension -1 of argument 3",
            "`heads` and dimension -1 of argument 3",
        ),
        ("class Attention: ...", "argument 2 of the class", "argument 2 of the class"),
    ],
)
def test_arguments_have_the_names_of_the_students_own_definition(source: str, sentence: str, named: str) -> None:
    assert with_own_names(sentence, "answers", "Attention", lines_of(source)) == named


def test_the_method_of_a_class_that_is_not_written_is_named() -> None:
    unwritten = Outcome(False, "not written", "It is not written yet.", line=8, file=FILE)
    found = explained(unwritten, "answers", "Attention", EXERCISES, lines_of(CLASS))
    assert found.reason == "Line 8 of answers.py still raises NotImplementedError: write `forward`."


@pytest.mark.parametrize(
    ("source", "runs", "loop"),
    [
        ("def scores():\n    x = 1\n    while True:\n        x += 1\n", 4, 3),
        ("def scores():\n    while True:\n        for i in range(9):\n            i += 1\n", 4, 2),
        ("def scores():\n    for x in y:\n        x += 1\n", 3, 2),
        ("def scores():\n    return softmax()\n", 2, 2),
        ("not Python at all\n", 1, 1),
        ("def scores():\n    pass\n", 9999, 9999),
    ],
)
def test_a_call_that_ran_out_of_time_has_the_line_of_its_loop(source: str, runs: int, loop: int) -> None:
    stopped = Outcome(False, "timed out", "Stopped.", line=runs, file=FILE)
    assert explained(stopped, "answers", "scores", EXERCISES, lines_of(source)).line == loop


# -- what to do ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("body", "hint"),
    [
        (
            "return x.sum(dim=2)",
            "Dims count from 0, so the last of two is dim 1, or -1. Counted from the end, they fit any number of dims. "
            "Shapes in this line: x (2, 3).",
        ),
        ("raise ValueError('the student’s own')", ""),
        ("return x.to('mps')", NO_GPU[1]),
        ("return x + x.new_zeros(2, device='cuda')", NO_GPU[1]),
        ("raise ValueError('cuda')", ""),
        ("import numpy as np\n    return np.max(x, axis=0, keepdims=True)", NUMPY),
        ("import numpy as np\n    return np.var(x)", NUMPY),
        ("import torhc", "Did you mean `torch`?"),
        ("from torch import nothing_like_that", ""),
    ],
)
def test_the_advice_on_an_error_says_what_to_do(body: str, hint: str) -> None:
    source = f"def softmax(): pass\ndef scores(x):\n    {body}\n"
    outcome, lines = error_of(source, EXERCISES, "scores", torch.ones(2, 3))
    assert advice(outcome, EXERCISES - {"scores"}, lines) == hint


def test_a_missing_import_of_a_notebook_belongs_into_its_first_code_cell() -> None:
    lost = FailedStatement((), "It raised NameError:", "name 'np' is not defined", 1, "answers.ipynb, cell 3")
    assert hint_for_statement(lost, SourceLines({})) == "Add `import numpy as np` in the first code cell."


def test_the_error_of_another_exercise_is_blamed_on_its_call_or_on_itself() -> None:
    source = "def softmax(x):\n    return x.shape\ndef scores():\n    return softmax(3)\n"
    outcome, lines = error_of(source, EXERCISES, "scores")
    assert advice(outcome, EXERCISES - {"scores"}, lines) == (
        "`softmax` raises this when line 4 calls it: check its arguments there, then `softmax` itself."
    )
    itself = replace(outcome, trace=((FILE, 2),))
    assert advice(itself, EXERCISES, lines) == "`softmax` raises this: check that exercise first."


def test_the_lines_that_led_to_an_error_have_the_text_of_the_submission() -> None:
    source = "def helper(x):\n    return x + 'text'\ndef scores():\n    y = 1\n    return helper(y)\n"
    outcome, lines = error_of(source, EXERCISES, "scores")
    assert trace_of(outcome, lines) == ["line 5: return helper(y)", "line 2: return x + 'text'"]
    forged = replace(outcome, trace=(("other.py", 1), (FILE, 0), (FILE, 10**9), (FILE, -1)), file="other.py")
    assert trace_of(forged, lines) == []
