"""A quiz in a terminal: asks one question after the other, and writes each answer into the sheet at once."""

from __future__ import annotations

import contextlib
import secrets
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from io import TextIOWrapper
from pathlib import Path
from typing import cast

from rich.console import Console, RenderableType
from rich.markdown import Markdown
from rich.rule import Rule
from rich.style import Style
from rich.syntax import ANSISyntaxTheme, Comment, Keyword, Number, Operator, String, Syntax
from rich.table import Table
from rich.text import Text
from rich.theme import Theme

from grader.documents import nearest
from grader.errors import GraderError, InternalError
from grader.files import write_atomically
from grader.quizzes.answers import AnswerError, parse
from grader.quizzes.questions import FILENAME, VARIANTS, Question, Questions, read_questions
from grader.quizzes.sheet import Sheet, SheetError, fill_in, heading, kind_line, read_sheet, write_sheet

with contextlib.suppress(ImportError):  # Windows has none
    import readline  # noqa: F401 - with it, `input` lets a line be edited

TAKE_BACK = "-"

WIDTH = 88
"""Longer lines are hard to read."""

# Only what can be read on a dark and on a light ground, for nobody knows which it is.
_CODE_THEME = ANSISyntaxTheme(
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

_WHAT_TO_TYPE = {
    "one_choice": "One letter",
    "several_choices": "One letter or more",
    "true_false": "One letter",
    "number": "A number",
    "shape": "A shape, written like (2, 4, 5)",
    "order": "All letters in the right order",
    "bug": "One letter",
}


class QuizError(GraderError):
    """The quiz cannot be asked; the text says in one sentence why, and what to do."""


class SheetNotSaved(InternalError):
    """The disk has no place for the sheet, or is not to be written to; the text says so."""


class _Stop(Exception):
    """The student has had enough for now."""


@dataclass(frozen=True)
class _SheetFile:
    """A student's sheet on disk. It is read anew each time, for it may be open in an editor as well."""

    questions: Questions
    path: Path

    def begin(self) -> None:
        """Writes a sheet with a variant, where there is none or none but the one that everyone has received."""
        # Word by word, for the ends of lines may be others by now.
        received = write_sheet(self.questions, None, {}).split()
        if not self.path.exists() or self._text().removeprefix("\ufeff").split() in ([], received):
            self._save(write_sheet(self.questions, secrets.randbelow(VARIANTS), {}))

    def read(self) -> Sheet:
        """Raises QuizError where it is no sheet of this quiz."""
        sheet = read_sheet(self._text(), self.questions)
        if sheet.remarks:
            raise QuizError(sheet.remarks[0])
        return sheet

    def write(self, name: str, answer: str) -> None:
        """Saves an answer, or none where it is blank. Raises SheetError where there is no place for it."""
        self._save(fill_in(self._text(), self.questions, name, answer))

    def find_damage(self, name: str) -> str | None:
        """Why no answer to this item can be saved, if so."""
        try:
            fill_in(self._text(), self.questions, name, "")
        except SheetError as error:
            return str(error)
        return None

    def _text(self) -> str:
        try:
            return self.path.read_bytes().decode("utf-8")
        except UnicodeDecodeError:
            raise QuizError(f"{self.path} is not UTF-8: save it as UTF-8.") from None
        except OSError as error:
            raise QuizError(f"{self.path} cannot be read ({error.strerror}): put a readable file there.") from None

    def _save(self, text: str) -> None:
        try:
            write_atomically(self.path, text)
        except OSError as error:
            why = error.strerror or error
            raise SheetNotSaved(f"{self.path} could not be written ({why}). It is as it was before.") from None


def take_quiz(unit: str, console: Console) -> None:
    """Ask a unit's quiz, from the first question without an answer on.

    The quiz lies in the current folder or in exercises/; where it has no sheet yet, or only the one that everyone
    received, one with a variant is written there. Raises QuizError, CourseError where the questions cannot be read,
    and SheetNotSaved.
    """
    if isinstance(sys.stdin, TextIOWrapper):  # a letter that it does not know is no reason to stop
        sys.stdin.reconfigure(errors="replace")
    file = _find_sheet(unit)
    file.begin()
    with console.use_theme(_THEME):
        _Session(file, console).run()


def _find_sheet(unit: str) -> _SheetFile:
    places = [Path(), Path("exercises")]
    sources = [place / FILENAME for place in places if (place / FILENAME).is_file()]
    if not sources:
        try:
            here = Path.cwd()
        except FileNotFoundError:
            raise QuizError("This folder is not there any more: go to your course's folder.") from None
        raise QuizError(
            f"There is no {FILENAME} in {here} or its exercises/: go to the folder of your course's repository, or "
            "take the file from there."
        )
    quizzes = read_questions(sources[0])
    if unit not in quizzes:
        raise QuizError(f"There is no quiz {unit!r}; {sources[0]} has {', '.join(quizzes)}.{nearest(unit, quizzes)}")
    filename = quizzes[unit].filename
    folder = next((place for place in places if (place / filename).exists()), sources[0].parent)
    return _SheetFile(quizzes[unit], folder / filename)


class _Session:
    """One sitting."""

    def __init__(self, file: _SheetFile, console: Console) -> None:
        self.file = file
        self.console = console
        self.items = list(file.questions.items.items())

    def run(self) -> None:
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
            f"{len(self.items)} questions, {points} points. Each answer is saved at once in {self.file.path}, which "
            "also says how points are given. Nothing is marked as right or wrong before the due date."
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
        """Asks a question until it is answered or passed over; gives how many places to go on from there."""
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
            if damage:  # it may be mended by now
                return 0
            problem = self._save(name, question, typed)
            if not problem and typed != TAKE_BACK:
                return 1

    def _title(self, place: int) -> Text:
        name, question = self.items[place]
        kind = kind_line(question)
        return Text.assemble(
            (f"{place + 1} of {len(self.items)} · {heading(name)}", "bold"), f" · {kind[0].lower()}{kind[1:]}"
        )

    def _read_line(self, name: str, question: Question, is_damaged: bool) -> str:
        """What the student types below a line that says what can be typed. Raises _Stop at the end of the input."""
        answer = self.file.read().answers.get(name)
        if answer:
            self._say(f"Your answer: {answer}")
        if is_damaged:
            choices = ["Enter to go on"]
        elif answer:
            choices = [_WHAT_TO_TYPE[question.kind], "Enter to keep it", f"{TAKE_BACK} to take it back"]
        else:
            choices = [_WHAT_TO_TYPE[question.kind], "Enter to skip"]
        self._say(" · ".join([*choices, "back", "stop"]), style="dim")
        try:
            return input("> ").strip()
        except EOFError:
            raise _Stop from None

    def _save(self, name: str, question: Question, typed: str) -> str | None:
        """Saves what was typed; gives a sentence where that is not possible."""
        try:
            self.file.write(name, "" if typed == TAKE_BACK else _as_written(question, typed))
        except (AnswerError, SheetError) as error:
            return str(error)
        return None

    def _say(self, sentence: str, style: str = "") -> None:
        self._show(Text(sentence, style))

    def _show(self, what: RenderableType) -> None:
        self.console.print(what, width=min(self.console.width, WIDTH))


def _as_written(question: Question, typed: str) -> str:
    """The answer as it stands in the sheet. Raises AnswerError."""
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
            return " ".join(cast(tuple[str, ...], answer))


def _parts(question: Question, variant: int) -> Iterator[RenderableType]:
    """The question, its program, and what there is to choose from."""
    yield _markdown(question.text(variant))
    if question.code:
        yield Syntax(
            question.code,
            "python",
            theme=_CODE_THEME,
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
    return Markdown(text, code_theme=_CODE_THEME)  # type: ignore[arg-type]  # Syntax takes it
