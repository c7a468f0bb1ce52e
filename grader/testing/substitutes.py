"""Substitutes for the answers that other exercises build on, each under its exercise's name.

Where a student's softmax is wrong, their self-attention runs with a substitute in its place, so that one mistake costs
its points once. Substitutes are in `<unit>/substitutes.py` beside the unit's suite. They run in the student process,
so none of them may be right: each takes and returns what the exercise does, lets gradients through, keeps the dtype,
and computes something else. The suites expect that something else wherever a substitute had a part in the result. An
exercise without a substitute is waited for.

Only the submission can tell which of them it called. So what they compute must be nothing that learners are known to
write, nothing that other substitutes put together come to, and no better than the exercise asks for: whoever writes
the wrong thing gains nothing by calling a substitute beside it.

A file may import names from the file of an earlier unit (`from ..unit.substitutes import name`): all of them share one
namespace, in the course's order. `ALIASES` in a file lists pairs of exercises of which the one's solution, called with
the same arguments, does most of what the other asks for: where a substitute answers for the one, calling it is no
answer to the other.
"""

from __future__ import annotations
import __future__

import ast
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Sequence

FILENAME = "substitutes.py"
MODULE = "substitutes"
"""The module that substitutes say they are from, in the student process."""


class Substitutes:
    """The substitutes of a course, by exercise; and their source, as the student process gets it."""

    def __init__(self, files: Iterable[Path] = ()) -> None:
        """Read and run these files, in the course's order.

        Raises:
            ValueError: Two files define the same name.
        """
        self._namespace: dict[str, Any] = {"__name__": MODULE}
        self._lines = ["from __future__ import annotations\n"]
        self._last_lines: dict[str, int] = {}  # by exercise, in all lines
        self.aliases: list[set[str]] = []
        for file in files:
            self._add(file)

    @classmethod
    def of(cls, suites: Path, units: Sequence[str]) -> Substitutes:
        """Return the substitutes of these units, which are in the course's order."""
        files = [suites / unit / FILENAME for unit in units]
        return cls(file for file in files if file.is_file())

    def __contains__(self, exercise: object) -> bool:
        """Return whether an exercise has a substitute."""
        return exercise in self._last_lines

    def __iter__(self) -> Iterator[str]:
        """Yield the exercises that have a substitute."""
        return iter(self._last_lines)

    def __getitem__(self, exercise: str) -> Any:
        """Return the substitute of an exercise: a function or a class."""
        return self._namespace[exercise]

    def are_aliases(self, one: str, other: str) -> bool:
        """Return whether one of two exercises is as good as answered by a call of the other."""
        return {one, other} in self.aliases

    def source_up_to(self, exercises: Collection[str]) -> str:
        """Return the source of the substitutes, as far as these exercises need it.

        It is in the course's order, as the tests are: so a submission gets none before its exercise has been judged.
        """
        last = max((self._last_lines[one] for one in exercises if one in self), default=0)
        return "".join(self._lines[:last])

    def _add(self, file: Path) -> None:
        text = file.read_text(encoding="utf-8")
        tree = ast.parse(text, str(file))
        lines = text.splitlines(keepends=True)
        for node in tree.body:
            match node:
                case ast.ImportFrom(module="__future__"):
                    pass  # it stands at the top of all of them
                case ast.ImportFrom(module=str(module)) if module.rpartition(".")[2] == MODULE:
                    pass  # it is in the namespace already
                case ast.Assign(targets=[ast.Name(id="ALIASES")]):
                    self.aliases += [set(pair) for pair in ast.literal_eval(node.value)]
                case _:
                    continue
            for number in range(node.lineno - 1, node.end_lineno or node.lineno):
                lines[number] = "\n"
        for node in tree.body:
            if isinstance(node, ast.FunctionDef | ast.ClassDef):
                if node.name in self._namespace:
                    raise ValueError(f"{file}:{node.lineno} defines {node.name} once more: give it another name.")
                if not node.name.startswith("_"):
                    self._last_lines[node.name] = len(self._lines) + (node.end_lineno or 0)
        # Compiled by itself, so that errors name the file.
        flags = __future__.annotations.compiler_flag
        exec(compile("".join(lines), str(file), "exec", flags, dont_inherit=True), self._namespace)
        self._lines += lines
