"""docs/check-functions.md has each check function with its docstring, and its examples run."""

from __future__ import annotations

import importlib
import inspect
import pkgutil
import re
import sys
from typing import Any

import pytest
import torch
from courses import REPOSITORY
from torch import nn

from grader import testing
from grader.audit.odd_values import problems
from grader.engine.criteria import Criterion
from grader.testing.student import InProcessBackend

PAGE = REPOSITORY / "docs" / "check-functions.md"
MODULES = [
    importlib.import_module(f"grader.testing.{one.name}")
    for one in sorted(pkgutil.iter_modules(testing.__path__), key=lambda one: one.name)
]


def drop(x: torch.Tensor, generator: torch.Generator | None = None) -> torch.Tensor:
    return x * (torch.rand(x.shape, generator=generator) < 0.5)


class Layer(nn.Module):
    def __init__(self, d_in: int, d_out: int) -> None:
        super().__init__()
        self.linear = nn.Linear(d_in, d_out, bias=False)

    def forward(self, x: torch.Tensor) -> Any:
        return self.linear(x)


RIGHT: dict[str, Any] = {
    "double": lambda x: 2 * x,
    "halves": lambda x: (x[: len(x) // 2], x[len(x) // 2 :]),
    "mean": lambda numbers: sum(numbers) / refused_if_empty(numbers),
    "words": str.split,
    "drop": drop,
    "Layer": Layer,
}
WRONG: dict[str, Any] = {
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
    "expect_any_layout", "expect_float64", "expect_digits", "expect_later_tokens_unseen", "expect_nothing_dropped",
}  # fmt: skip


def refused_if_empty(numbers: list[float]) -> int:
    if not numbers:
        raise ValueError("no numbers")
    return len(numbers)


def sections() -> dict[str, tuple[str, str]]:
    """The text and the example of each function, by its module and name."""
    found: dict[str, tuple[str, str]] = {}
    for part in re.split(r"^## ", PAGE.read_text(encoding="utf-8"), flags=re.MULTILINE)[1:]:
        for name, text, code in re.findall(
            r"^### (\w+)\n\n(.*?)\n\n```python\n(.*?)```$", part, re.DOTALL | re.MULTILINE
        ):
            found[f"{part.split()[0]}.{name}"] = text, code
    return found


def example_of(place: str, code: str) -> Criterion:
    """The example as a test of `double` and the other answers, with all names of its module and those of others."""
    names: dict[str, Any] = {"torch": torch, "Any": Any}
    for module in MODULES:
        names |= vars(module)
    names |= vars(sys.modules[place.rpartition(".")[0]])
    body = code.replace("\n", "\n    ")
    exec(compile(f"def example(student, fresh):\n    {body}", str(PAGE), "exec"), names)
    return Criterion("answers", "example", place.rpartition(".")[2], "", (), names["example"], "1")


EXAMPLES = [example_of(place, code) for place, (_, code) in sections().items()]


def test_the_page_has_every_check_function_with_its_docstring_and_a_call() -> None:
    functions = {
        f"{module.__name__}.{name}": inspect.getdoc(function)
        for module in MODULES
        for name, function in vars(module).items()
        if name.startswith(("expect_", "remark_")) and function.__module__ == module.__name__
    }
    assert {place: text for place, (text, _) in sections().items()} == functions
    assert [one.name for one in EXAMPLES if one.name not in one.function.__code__.co_names] == []


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda one: one.name)
def test_an_example_passes_with_a_right_answer_and_fails_with_a_wrong_one(example: Criterion) -> None:
    right = example.run(InProcessBackend("answers", RIGHT))
    assert right.passed, right
    wrong = example.run(InProcessBackend("answers", WRONG))
    assert wrong.fault == ""
    assert wrong.passed == (example.name in KEEPS_PASSING), wrong


def test_no_check_function_raises_with_an_odd_value() -> None:
    assert problems(EXAMPLES, RIGHT) == []
