"""How questions look in a terminal, for `grader quiz` and `grader practice`."""

from __future__ import annotations

import contextlib
import sys
from io import TextIOWrapper
from typing import TYPE_CHECKING, cast

from pygments.token import Comment, Keyword, Number, Operator, String
from rich.markdown import Markdown
from rich.rule import Rule
from rich.style import Style
from rich.syntax import ANSISyntaxTheme, Syntax
from rich.table import Table
from rich.text import Text
from rich.theme import Theme

from grader.quizzes.answers import parse
from grader.quizzes.formulas import as_text
from grader.quizzes.sheet import heading

if TYPE_CHECKING:
    from collections.abc import Iterator

    from rich.console import Console, RenderableType

    from grader.quizzes.questions import Question

with contextlib.suppress(ImportError):  # Windows has none
    import readline  # noqa: F401 - with it, `input` lets a line be edited

WIDTH = 88
"""Longer lines are hard to read."""
PROBLEM = "yellow"
"""The colour of what is wrong with an answer or a file."""

# Only colours that are readable on a dark and on a light background.
CODE_THEME = ANSISyntaxTheme(
    {
        Keyword: Style(bold=True),
        Operator.Word: Style(bold=True),
        String: Style(color="green"),
        Number: Style(color="magenta"),
        Comment: Style(dim=True),
    }
)
_THEME = Theme({"markdown.code": "cyan", "markdown.code_block": "none"})

# For all other kinds: one letter.
_WHAT_TO_TYPE = {
    "several_choices": "One letter or more",
    "number": "A number",
    "shape": "A shape, written like (2, 4, 5)",
    "order": "All letters in the right order",
}


class Stop(Exception):
    """The student wants to stop."""


class Screen:
    """Prints questions and sentences, and reads what the student types."""

    def __init__(self, console: Console) -> None:
        """Print to this console."""
        self.console = console

    @contextlib.contextmanager
    def opened(self) -> Iterator[None]:
        """Run a block that asks questions; it ends early and quietly if the student stops."""
        if isinstance(sys.stdin, TextIOWrapper):  # an unknown character must not end it
            sys.stdin.reconfigure(errors="replace")
        with self.console.use_theme(_THEME), contextlib.suppress(Stop, KeyboardInterrupt):
            yield

    def say(self, sentence: str, style: str = "") -> None:
        """Print a sentence as it is."""
        self._show(Text(sentence, style))

    def explain(self, sentence: str) -> None:
        """Print a text of the course, which is Markdown."""
        self._show(_markdown(sentence))

    def blank(self) -> None:
        """Print a blank line."""
        self.console.print()

    def headline(self, place: str, name: str, what: str) -> None:
        """Print the line above a question: its place among all, its name, and what is asked for."""
        self.blank()
        # Without a title, rich draws the line in characters that cp1252 lacks.
        self._show(Rule(characters="-" if self.console.options.ascii_only else "─", style="dim"))
        self._show(Text.assemble((f"{place} · {heading(name)}", "bold"), f" · {what[0].lower()}{what[1:]}"))

    def question(self, question: Question, variant: int) -> None:
        """Print a question, its program, and its options."""
        for part in _parts(question, variant):
            self.blank()
            self._show(part)

    def read_line(self, *choices: str) -> str:
        """Print what can be typed, and return what the student types. Raises Stop at the end of the input."""
        self.say(" · ".join(choices), style="dim")
        try:
            return input("> ").strip()
        except EOFError:
            raise Stop from None

    def _show(self, what: RenderableType) -> None:
        self.console.print(what, width=min(self.console.width, WIDTH))


def what_to_type(question: Question) -> str:
    """Return what an answer looks like, such as: One letter."""
    return _WHAT_TO_TYPE.get(question.kind, "One letter")


def as_written(question: Question, typed: str) -> str:
    """Return an answer as a sheet has it. Raises AnswerError."""
    if question.kind == "true_false":
        letters = {text: letter for letter, text in question.options(0).items()}
        typed = letters.get(typed.casefold(), typed)
    answer = parse(question, typed)
    match question.kind:
        case "number":
            return typed
        case "shape":
            return str(answer)
        case _:
            return " ".join(cast("tuple[str, ...]", answer))


def counted(number: int, noun: str) -> str:
    """Return a number with its noun: 1 question, 2 questions."""
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


def _parts(question: Question, variant: int) -> Iterator[RenderableType]:
    yield _markdown(question.text(variant))
    if question.code:
        yield Syntax(
            question.code,
            "python",
            theme=CODE_THEME,
            background_color="default",
            line_numbers=True,
            word_wrap=True,
        )
    if options := question.options(variant):
        table = Table.grid(padding=(0, 1))
        for letter, text in options.items():
            table.add_row(f"{letter})", _markdown(text))
        yield table


def _markdown(text: str) -> Markdown:
    return Markdown(as_text(text), code_theme=CODE_THEME)  # type: ignore[arg-type]  # Syntax takes it
