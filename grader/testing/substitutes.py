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

The visible tests use the same substitutes. They have no second implementation to compute the other result with, so
`grader build` records what the solution gives in each visible test with substitutes for one or two exercises. Students
receive this in substitutes.json, with the sources in a form that nobody reads by chance. The sources are no
secret: they show less than the last hint on the same exercise.
"""

from __future__ import annotations
import __future__

import ast
import base64
import functools
import itertools
import json
from collections.abc import Collection, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

from grader.course.model import Course
from grader.course.modules import SuiteError, described
from grader.files import json_lines, mixed

FILENAME = "substitutes.py"
PUBLISHED = "substitutes.json"
"""The file with the substitutes and the values of the visible tests, in the folder of these."""
MOST = 2
"""The values are recorded with substitutes for at most this many exercises at once."""
BETWEEN = ", "
"""What is between the exercises in the key of recorded values."""
Values = dict[str, dict[str, dict[str, list[Any]]]]
"""By unit, visible test and exercises: what the test compares, in order; None if the substitutes do not change it."""
MODULE = "substitutes"
"""The `__module__` of substitutes in the student process."""


class Substitutes:
    """The substitutes of a course by exercise, and their source for the student process."""

    def __init__(self, sources: Iterable[tuple[str, str]] = (), values: Values | None = None) -> None:
        """Run these sources, each after its place, in the course's order. values: of the visible tests.

        Raises:
            SuiteError: A source cannot be run, or two sources define the same name.
        """
        self._namespace: dict[str, Any] = {"__name__": MODULE}
        self._lines = ["from __future__ import annotations\n"]
        self._last_lines: dict[str, int] = {}  # by exercise, in all lines
        self.aliases: list[set[str]] = []
        self._values = values or {}
        for place, text in sources:
            try:
                self._add(place, text)
            except SuiteError:
                raise
            except Exception as error:
                raise SuiteError(f"{described(error, Path(place))} Correct it.") from error

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

    def recorded(self, unit: str, test: str, exercises: Collection[str]) -> tuple[tuple[str, ...], Sequence[Any]]:
        """Return what a visible test compares, in order, and for which exercises it has substitutes then.

        They are as many of these exercises as it was recorded with; it may be none.
        """
        known = self._values.get(unit, {}).get(test, {})
        chosen = [one for one in self if one in exercises] if known else []
        for count in range(min(MOST, len(chosen)), 0, -1):
            for group in itertools.combinations(chosen, count):
                if BETWEEN.join(group) in known:
                    return group, known[BETWEEN.join(group)]
        return (), ()

    def source_up_to(self, exercises: Collection[str]) -> str:
        """Return the source of the substitutes up to the last of these exercises.

        Source and tests are in the course's order, so a submission gets no substitute before its exercise is judged.
        """
        last = max((self._last_lines[one] for one in exercises if one in self), default=0)
        return "".join(self._lines[:last])

    def _add(self, place: str, text: str) -> None:
        tree = ast.parse(text, place)
        lines = text.splitlines(keepends=True)
        for node in tree.body:
            match node:
                case ast.ImportFrom(module=str(module)) if module == "__future__" or module.split(".")[-1] == MODULE:
                    pass  # the whole source starts with the one, and the namespace has the names of the other already
                case ast.Assign(targets=[ast.Name(id="ALIASES")]):
                    self.aliases += [set(pair) for pair in ast.literal_eval(node.value)]
                case ast.FunctionDef(name=name) | ast.ClassDef(name=name):
                    if name in self._namespace:
                        raise SuiteError(f"{place}:{node.lineno} defines {name} once more: give it another name.")
                    if not name.startswith("_"):
                        self._last_lines[name] = len(self._lines) + (node.end_lineno or 0)
                    continue
                case _:
                    continue
            for number in range(node.lineno - 1, node.end_lineno or node.lineno):
                lines[number] = "\n"
        # Each source is compiled separately, so that errors name its place.
        flags = __future__.annotations.compiler_flag
        exec(compile("".join(lines), place, "exec", flags, dont_inherit=True), self._namespace)
        self._lines += lines


@functools.cache
def hidden_substitutes(course: Course) -> Substitutes:
    """Return the substitutes beside the hidden suites, in the course's order."""
    files = [course.suites / unit / FILENAME for unit in course.units]
    return Substitutes((str(file), file.read_text(encoding="utf-8")) for file in files if file.is_file())


@functools.cache
def visible_substitutes(course: Course) -> Substitutes:
    """Return the substitutes beside the visible tests, with the values that those compare; none if there is no file."""
    path = course.checks / PUBLISHED
    if not path.is_file():
        return Substitutes()
    found = json.loads(path.read_bytes())
    sources = [(place, mixed(base64.b64decode(text), place.encode()).decode()) for place, text in found["sources"]]
    return Substitutes(sources, found["values"])


def published(course: Course, values: Values) -> str:
    """Return the text of the file beside the visible tests. values: what these compare with substitutes."""
    files = {unit: course.suites / unit / FILENAME for unit in course.units}
    sources = [
        [unit, base64.b64encode(mixed(file.read_bytes(), unit.encode())).decode()]
        for unit, file in files.items()
        if file.is_file()
    ]
    return json_lines({"sources": sources, "values": values}, depth=3) + "\n"
