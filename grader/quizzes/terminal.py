"""The quiz in a terminal: asks one question after the other, and saves each answer in the sheet at once."""

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

from grader.quizzes.answers import AnswerError, parse
from grader.quizzes.sheet import SheetError, heading, kind_line
from grader.quizzes.sheet_reader import SheetFile, find_sheet

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from rich.console import Console, RenderableType

    from grader.quizzes.questions import Question

with contextlib.suppress(ImportError):  # Windows has none
    import readline  # noqa: F401 - with it, `input` lets a line be edited

DELETE = "-"

WIDTH = 88
"""Longer lines are hard to read."""

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
_PROBLEM = "yellow"
_THEME = Theme({"markdown.code": "cyan", "markdown.code_block": "none"})

# For all other kinds: one letter.
_WHAT_TO_TYPE = {
    "several_choices": "One letter or more",
    "number": "A number",
    "shape": "A shape, written like (2, 4, 5)",
    "order": "All letters in the right order",
}


class _Stop(Exception):
    """The student wants to stop."""


def take_quiz(unit: str, console: Console, folder: Path | None = None) -> None:
    """Ask the questions of a unit's quiz, starting with the first that has no answer.

    The questions are in `folder`, by default the current one, or in its exercises/. If there is no sheet yet, or only
    the one that everyone received, a sheet with a variant is written there.

    Raises:
        GraderError: There is no such quiz, or its sheet cannot be read.
        CourseError: The questions cannot be read.
        InternalError: The sheet cannot be written.
    """
    if isinstance(sys.stdin, TextIOWrapper):  # an unknown character must not end the quiz
        sys.stdin.reconfigure(errors="replace")
    file = find_sheet(unit, folder)
    file.begin()
    with console.use_theme(_THEME):
        _Session(file, console).run()


class _Session:
    """One run through a quiz."""

    def __init__(self, file: SheetFile, console: Console) -> None:
        self.file = file
        self.console = console
        self.items = list(file.questions.items.items())

    def run(self) -> None:
        """Start with the first question without an answer; end after the last, or when the student stops."""
        answers = self.file.read().answers
        place = next((place for place, (name, _) in enumerate(self.items) if name not in answers), 0)
        self._welcome()
        try:
            while place < len(self.items):
                place = max(0, place + self._ask(place))
        except (_Stop, KeyboardInterrupt):
            pass
        self._farewell()

    def _welcome(self) -> None:
        points = sum(question.points for _, question in self.items)
        self._say(self.file.questions.title, style="bold")
        self._say(
            f"{_count(len(self.items), 'question')}, {_count(points, 'point')}. Each answer is saved at once in "
            f"{self.file.path}, which also says how points are given. Nothing is marked as right or wrong "
            "before the due date."
        )
        if answered := len(self.file.read().answers):
            self._say(f"{answered} of {len(self.items)} answered.")
        for name, _ in self.items:
            if damage := self.file.find_damage(name):
                self._say(damage, _PROBLEM)

    def _farewell(self) -> None:
        sheet = self.file.read()
        self.console.print()
        for problem in sheet.problems.values():
            self._say(problem, _PROBLEM)
        answered = len(sheet.answers)
        aim = "go on" if answered < len(self.items) else "change an answer"
        self._say(f"{answered} of {len(self.items)} answered. To {aim}: grader quiz {self.file.questions.unit}")

    def _ask(self, place: int) -> int:
        """Ask a question until it is answered or skipped; return how many questions to move forward."""
        name, question = self.items[place]
        sheet = self.file.read()
        damage = self.file.find_damage(name)
        self.console.print()
        self._show(Rule(style="dim"))
        self._show(self._title(place))
        if not damage:
            for part in _parts(question, sheet.variant):
                self.console.print()
                self._show(part)
        problem = damage or sheet.problems.get(name)
        while True:
            self.console.print()
            if problem:
                self._say(problem, _PROBLEM)
            typed = self._read_line(name, question, is_damaged=damage is not None)
            match typed.casefold():
                case "":
                    return 1
                case "back":
                    return -1
                case "stop":
                    raise _Stop
            if damage:  # the student may have repaired it
                return 0
            problem = self._save(name, question, typed)
            if not problem and typed != DELETE:
                return 1

    def _title(self, place: int) -> Text:
        name, question = self.items[place]
        kind = kind_line(question)
        return Text.assemble(
            (f"{place + 1} of {len(self.items)} · {heading(name)}", "bold"), f" · {kind[0].lower()}{kind[1:]}"
        )

    def _read_line(self, name: str, question: Question, is_damaged: bool) -> str:
        """Print what can be typed, and return what the student types. Raises _Stop at the end of the input."""
        answer = self.file.read().answers.get(name)
        if answer:
            self._say(f"Your answer: {answer}")
        what = _WHAT_TO_TYPE.get(question.kind, "One letter")
        choices = [what, "Enter to keep it", f"{DELETE} to delete it"] if answer else [what, "Enter to skip"]
        if is_damaged:
            choices = ["Enter to go on"]
        self._say(" · ".join([*choices, "back", "stop"]), style="dim")
        try:
            return input("> ").strip()
        except EOFError:
            raise _Stop from None

    def _save(self, name: str, question: Question, typed: str) -> str | None:
        """Save what was typed; return a sentence if that is not possible."""
        try:
            self.file.write(name, "" if typed == DELETE else _as_written(question, typed))
        except (AnswerError, SheetError) as error:
            return str(error)
        return None

    def _say(self, sentence: str, style: str = "") -> None:
        self._show(Text(sentence, style))

    def _show(self, what: RenderableType) -> None:
        self.console.print(what, width=min(self.console.width, WIDTH))


def _as_written(question: Question, typed: str) -> str:
    """Return the answer as the sheet has it. Raises AnswerError."""
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


def _parts(question: Question, variant: int) -> Iterator[RenderableType]:
    """Yield the question, its program, and its options."""
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


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


def _markdown(text: str) -> Markdown:
    return Markdown(text, code_theme=CODE_THEME)  # type: ignore[arg-type]  # Syntax takes it
