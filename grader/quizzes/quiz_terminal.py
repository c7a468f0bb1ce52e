"""How questions look in a terminal, and the quiz there: it saves each answer in the sheet at once."""

from __future__ import annotations

import contextlib
import os
import secrets
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from io import TextIOWrapper
from pathlib import Path
from typing import cast

from pygments.token import Comment, Keyword, Number, Operator, String
from rich.console import Console, RenderableType
from rich.markdown import Markdown
from rich.rule import Rule
from rich.style import Style
from rich.syntax import ANSISyntaxTheme, Syntax
from rich.table import Table
from rich.text import Text
from rich.theme import Theme

from grader.documents import nearest
from grader.errors import GraderError, InternalError
from grader.files import write_atomically
from grader.quizzes.answers import AnswerError, missing_decimals, parse
from grader.quizzes.questions import (
    VARIANTS,
    Kind,
    Question,
    Questions,
    as_text,
    read_questions,
)
from grader.quizzes.sheet import Sheet, SheetError, counted, heading, kind_line, write_sheet
from grader.quizzes.sheet_reader import fill_in, read_sheet
from grader.submissions.submission import FOLDER

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
_WHAT_TO_TYPE: dict[Kind, str] = {
    "one_choice": "One letter",
    "several_choices": "One letter or more",
    "true_false": "One letter",
    "number": "A number",
    "shape": "A shape, written like (2, 4, 5)",
    "order": "All letters in the right order",
    "bug": "One letter",
}

DELETE = "-"


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
        """Print what can be typed, and return what is. Raises Stop for "stop" and at the end of the input."""
        self.say(" · ".join([*choices, "stop"]), style="dim")
        try:
            typed = input("> ").strip()
        except EOFError:
            raise Stop from None
        if typed.casefold() == "stop":
            raise Stop
        return typed

    def _show(self, what: RenderableType) -> None:
        self.console.print(what, width=min(self.console.width, WIDTH))


def what_to_type(question: Question) -> str:
    """Return what an answer looks like, such as: One letter."""
    return _WHAT_TO_TYPE[question.kind]


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


def take_quiz(unit: str, console: Console, source: Path, folder: Path) -> None:
    """Ask the questions of a unit's quiz, starting with the first that has no answer.

    Args:
        unit: The unit.
        console: The terminal.
        source: The course's quizzes.json.
        folder: The student's folder. If there is no sheet in it or its exercises/ yet, or only the one that everyone
            received, a sheet with a variant is written there.

    Raises:
        GraderError: There is no such quiz, or its sheet cannot be read.
        CourseError: The questions cannot be read.
        InternalError: The sheet cannot be written.
    """
    file = find_sheet(unit, source, folder)
    file.begin()
    _QuizSession(file, Screen(console)).run()


@dataclass(frozen=True)
class SheetFile:
    """A student's sheet on disk. It is read each time, because it may be open in an editor as well."""

    questions: Questions
    path: Path

    def begin(self) -> None:
        """Write a sheet with a variant, unless the student has changed the one that everyone received."""
        # Compared word by word, because an editor may have changed the line ends.
        received = write_sheet(self.questions, None, {}).split()
        if not self.path.exists() or self._text().removeprefix("\ufeff").split() in ([], received):
            self._save(write_sheet(self.questions, secrets.randbelow(VARIANTS), {}))

    def read(self) -> Sheet:
        """Read the sheet. Raises GraderError if it does not belong to this quiz."""
        sheet = read_sheet(self._text(), self.questions)
        if sheet.remarks:
            raise GraderError(sheet.remarks[0])
        return sheet

    def write(self, name: str, answer: str) -> None:
        """Save an answer; "" deletes it. Raises SheetError if there is no place for it."""
        self._save(fill_in(self._text(), self.questions, name, answer))

    def find_damage(self, name: str) -> str | None:
        """Return why no answer to this item can be saved; None if one can."""
        try:
            fill_in(self._text(), self.questions, name, "")
        except SheetError as error:
            return str(error)
        return None

    def _text(self) -> str:
        try:
            return self.path.read_bytes().decode("utf-8")
        except UnicodeDecodeError:
            raise GraderError(f"{self.path} is not UTF-8: save it as UTF-8.") from None
        except OSError as error:
            raise GraderError(f"{self.path} cannot be read ({error.strerror}): put a readable file there.") from None

    def _save(self, text: str) -> None:
        try:
            write_atomically(self.path, text)
        except OSError as error:
            why = error.strerror or error
            raise InternalError(f"{self.path} could not be written ({why}). It is as it was before.") from None


def find_sheet(unit: str, source: Path, folder: Path) -> SheetFile:
    """Return the sheet of a unit's quiz, where it is or belongs in a student's folder. Raises GraderError."""
    quizzes = read_questions(source) if source.is_file() else {}
    if unit not in quizzes:
        known = f"; the course has {', '.join(quizzes)}." if quizzes else "."
        raise GraderError(f"There is no quiz {unit!r}{known}{nearest(unit, quizzes)}")
    filename = quizzes[unit].filename
    below = folder / FOLDER
    is_here = (folder / filename).exists() or not below.is_dir()
    return SheetFile(quizzes[unit], Path(os.path.relpath((folder if is_here else below) / filename)))


class _QuizSession:
    """One run through a quiz."""

    def __init__(self, file: SheetFile, screen: Screen) -> None:
        self.file = file
        self.screen = screen
        self.items = list(file.questions.items.items())

    def run(self) -> None:
        """Start with the first question without an answer; end after the last, or when the student stops."""
        answers = self.file.read().answers
        place = next((place for place, (name, _) in enumerate(self.items) if name not in answers), 0)
        self._welcome()
        with self.screen.opened():
            while place < len(self.items):
                place = max(0, place + self._ask(place))
        self._farewell()

    def _welcome(self) -> None:
        points = sum(question.points for _, question in self.items)
        self.screen.say(self.file.questions.title, style="bold")
        self.screen.say(
            f"{counted(len(self.items), 'question')}, {counted(points, 'point')}. Each answer is saved at once in "
            f"{self.file.path}, which also says how points are given. Nothing is marked as right or wrong "
            "before the due date."
        )
        if answered := len(self.file.read().answers):
            self.screen.say(f"{answered} of {len(self.items)} answered.")
        for name, _ in self.items:
            if damage := self.file.find_damage(name):
                self.screen.say(damage, PROBLEM)

    def _farewell(self) -> None:
        sheet = self.file.read()
        self.screen.blank()
        for problem in sheet.problems.values():
            self.screen.say(problem, PROBLEM)
        answered = len(sheet.answers)
        aim = "go on" if answered < len(self.items) else "change an answer"
        self.screen.say(f"{answered} of {len(self.items)} answered. To {aim}: grader quiz {self.file.questions.unit}")

    def _ask(self, place: int) -> int:
        """Ask a question until it is answered or skipped; return how many questions to move forward."""
        name, question = self.items[place]
        sheet = self.file.read()
        damage = self.file.find_damage(name)
        self.screen.headline(f"{place + 1} of {len(self.items)}", name, kind_line(question))
        if not damage:
            self.screen.question(question, sheet.variant)
        problem = damage or sheet.problems.get(name)
        while True:
            self.screen.blank()
            if problem:
                self.screen.say(problem, PROBLEM)
            typed = self._read_line(name, question, is_damaged=damage is not None)
            match typed.casefold():
                case "":
                    return 1
                case "back":
                    return -1
            if damage:  # the student may have repaired it
                return 0
            problem = self._save(name, question, typed)
            if not problem and typed != DELETE:
                return 1

    def _read_line(self, name: str, question: Question, is_damaged: bool) -> str:
        """Print what can be typed, and return what the student types. Raises Stop at the end of the input."""
        answer = self.file.read().answers.get(name)
        if answer:
            self.screen.say(f"Your answer: {answer}")
        what = what_to_type(question)
        choices = [what, "Enter to keep it", f"{DELETE} to delete it"] if answer else [what, "Enter to skip"]
        if is_damaged:
            choices = ["Enter to go on"]
        return self.screen.read_line(*choices, "back")

    def _save(self, name: str, question: Question, typed: str) -> str | None:
        """Save what was typed; return a sentence if that is not possible, or if the student may want to change it."""
        try:
            self.file.write(name, "" if typed == DELETE else as_written(question, typed))
        except (AnswerError, SheetError) as error:
            return str(error)
        doubt = missing_decimals(question, typed) if typed != DELETE else None
        return f"{doubt}. Keep it, or write another." if doubt else None
