"""Substitutes for the answers that other exercises build on, each under its exercise's name.

If a student's softmax is wrong, their self-attention runs with a substitute for it, so that one mistake loses points
only once. Substitutes are in `<unit>/substitutes.py` beside the unit's suite. They run in the student process, so none
of them may be right: each takes and returns what the exercise does, keeps gradients and the dtype, and computes
something else. The suites expect that other result if a substitute was called. An exercise that calls one without a
substitute is not judged before that one is right.

Which substitutes were called is known only from the submission, which may lie. So a substitute must not compute what
students are known to write, what other substitutes compute together, or anything better than the exercise asks for.
Then a wrong answer gains nothing if it also calls a substitute.

A file may import names from the file of an earlier unit (`from ..unit.substitutes import name`): all of them share one
namespace, in the course's order. `ALIASES` in a file lists pairs of exercises: the solution of one, called with the
same arguments, does most of what the other asks for. A call of the substitute of one does not answer the other.
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
"""The `__module__` of substitutes in the student process."""


class Substitutes:
    """The substitutes of a course by exercise, and their source for the student process."""

    def __init__(self, files: Iterable[Path] = ()) -> None:
        """Read and run these files, which are in the course's order.

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
        """Return whether a call of one exercise would almost answer the other."""
        return {one, other} in self.aliases

    def source_up_to(self, exercises: Collection[str]) -> str:
        """Return the source of the substitutes up to the last of these exercises.

        Source and tests are in the course's order, so a submission gets no substitute before its exercise is judged.
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
                    pass  # the whole source starts with it
                case ast.ImportFrom(module=str(module)) if module.rpartition(".")[2] == MODULE:
                    pass  # the namespace has these names already
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
        # Each file is compiled separately, so that errors name it.
        flags = __future__.annotations.compiler_flag
        exec(compile("".join(lines), str(file), "exec", flags, dont_inherit=True), self._namespace)
        self._lines += lines
