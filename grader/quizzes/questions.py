"""What a student may know of a quiz: everything but the answers. A sheet contains nothing else."""

from __future__ import annotations

import contextlib
import json
import re
from collections.abc import Iterable, Iterator
from functools import cached_property
from pathlib import Path
from typing import Any, Literal

from pydantic import Field, ValidationError

from grader.documents import CourseError, Model
from grader.files import json_lines
from grader.submissions.submission import SHEET_SUFFIX

Kind = Literal["one_choice", "several_choices", "true_false", "number", "shape", "order", "bug"]
Value = int | float | str | list[int]

LETTERS = "abcdefghijklmnopqrstuvwxyz"
FILENAME = "quizzes.json"
QUIZ_SUFFIX = "_quiz.yml"
"""The end of the name of a graded quiz's source. It is in solutions/, beside the unit's own source."""
PRACTICE_SUFFIX = "_practice.yml"
"""The end of the name of the source of a unit's practice items, in the same folder."""
SCHEMA = "attention-from-scratch/quizzes/v1"
VARIANTS = 100
"""A sheet gets one of this many variants at random."""

_PARAMETER = re.compile(r"\[\[([A-Za-z_]\w*)\]\]")

# Code is found first, because a dollar in it is a dollar. Numbers on both sides of a dollar are prices.
_FORMULA = re.compile(r"(`+).+?\1|(\$\$?)(?=[^\s$])([^$]+?)(?<=[^\s\\])\2(?!\d)", re.DOTALL)
# A command with its groups, of which none has another one inside.
_INNERMOST = re.compile(
    r"\\frac\{([^{}]*)\}\{([^{}]*)\}|\\sqrt\{([^{}]*)\}|([\^_])\{([^{}]*)\}|\\(?:text|mathrm|operatorname)\{([^{}]*)\}"
)
_COMMAND = re.compile(r"\\([A-Za-z]+)")
_SYMBOLS = {"cdot": "·", "times": "×", "approx": "≈", "infty": "∞", "pi": "π", "le": "≤", "ge": "≥", "ne": "≠"}
_SYMBOLS |= {"left": "", "right": ""}


class Question(Model):
    """One item without its answer.

    Attributes:
        kind: What is asked for.
        points: The points of a right answer.
        question: Markdown. In it and in the choices, [[name]] is a parameter.
        choices: The choices.
        steps: The steps to put in order.
        code: A program.
        lines: The lines of the program that can be ticked, by number.
        decimals: The number of decimals that is asked for; None for a whole number.
        variants: A row of parameters for each variant.
    """

    kind: Kind
    points: int
    question: str
    choices: list[str] = Field(default_factory=list)
    steps: list[str] = Field(default_factory=list)
    code: str = ""
    lines: list[int] = Field(default_factory=list)
    decimals: int | None = None
    variants: list[dict[str, Value]] = Field(default_factory=list)

    def text(self, variant: int) -> str:
        """Return the question as a student with this variant reads it."""
        return fill(self.question, self.row(variant)).strip()

    def options(self, variant: int) -> dict[str, str]:
        """Return the options to choose from or to put in order, by letter; none if the answer is written out."""
        texts = [fill(text, self.row(variant)).strip() for text in self.choices or self.steps]
        code = self.code.split("\n")
        texts += [f"line {number}: {quoted(code[number - 1].strip())}" for number in self.lines]
        return dict(zip(LETTERS, texts, strict=False))

    @property
    def letters(self) -> str:
        """The letters of the options."""
        return LETTERS[: len(self.choices or self.steps or self.lines)]

    def row(self, variant: int) -> dict[str, Value]:
        """Return the parameters of a variant."""
        return self.variants[variant % len(self.variants)] if self.variants else {}


class Questions(Model):
    """A quiz without its answers: its unit, its title, and its items by name."""

    unit: str
    title: str
    items: dict[str, Question]

    @property
    def filename(self) -> str:
        """The name of the sheet."""
        return f"{self.unit}{SHEET_SUFFIX}"

    @cached_property
    def text(self) -> str:
        """All of it as JSON, for the digest of what the points depend on."""
        return to_json([self])


def to_json(quizzes: Iterable[Questions]) -> str:
    """Return the text of quizzes.json."""
    data = {"schema": SCHEMA, "quizzes": [quiz.model_dump(exclude_defaults=True) for quiz in quizzes]}
    return json_lines(data, depth=4) + "\n"


def read_questions(path: Path) -> dict[str, Questions]:
    """Read the quizzes of a quizzes.json, by unit. Raises CourseError if it cannot be read."""
    with reading(path, SCHEMA) as data:
        return {one["unit"]: Questions.model_validate(one) for one in data["quizzes"]}


@contextlib.contextmanager
def reading(path: Path, schema: str) -> Iterator[dict[str, Any]]:
    """Give the content of a JSON file that students receive. Raises CourseError, also if the block finds it damaged."""
    fix = "take it again from the course's repository."
    try:
        data = json.loads(path.read_bytes())
        if data["schema"] != schema:
            raise CourseError(f"{path} belongs to another version of the grader: {fix}")
        yield data
    except OSError as error:
        raise CourseError(f"{path} cannot be read ({error.strerror}): {fix}") from None
    except (ValueError, LookupError, TypeError, RecursionError, ValidationError):
        raise CourseError(f"{path} is damaged: {fix}") from None


def names_in(text: str) -> set[str]:
    """Return the names in [[…]]."""
    return set(_PARAMETER.findall(text))


def fill(text: str, row: dict[str, Any]) -> str:
    """Replace each [[name]] in a text by the row's value."""
    return _PARAMETER.sub(lambda match: rendered(row[match[1]]), text)


def rendered(value: Value) -> str:
    """Return a value as a student reads it: a shape as a tuple."""
    return str(tuple(value)) if isinstance(value, list) else str(value)


def quoted(code: str) -> str:
    """Return a line of code as Markdown, whatever backticks it contains."""
    if "`" not in code:
        return f"`{code}`"
    fence = "`" * (max(map(len, re.findall("`+", code))) + 1)
    return f"{fence} {code} {fence}"


def as_text(text: str) -> str:
    r"""Return a text with its formulas as one writes them without a formula editor.

    For example, `$\frac{1}{\sqrt{d_k}}$` becomes 1 / √d_k. Everything else stays.
    """
    return _FORMULA.sub(lambda found: _plain(found[3]) if found[3] else found[0], text)


def _plain(latex: str) -> str:
    before = None
    while latex != before:
        before, latex = latex, _INNERMOST.sub(_without_groups, latex)
    return _COMMAND.sub(lambda found: _SYMBOLS.get(found[1], found[1]), latex).replace("-", "−").strip()


def _without_groups(found: re.Match[str]) -> str:
    above, below, under_root, sign, raised, words = found.groups()
    if above is not None:
        return f"{_bracketed(above)} / {_bracketed(below)}"
    if under_root is not None:
        return f"√{_bracketed(under_root)}"
    return f"{sign}{_bracketed(raised)}" if sign else words


def _bracketed(part: str) -> str:
    return part if re.fullmatch(r"√?[\w.]+", part) else f"({part})"
