"""The quiz in a terminal: asks one question after the other, and saves each answer in the sheet at once."""

from __future__ import annotations

from typing import TYPE_CHECKING

from grader.quizzes.answers import AnswerError, missing_decimals
from grader.quizzes.screen import PROBLEM, Screen, Stop, as_written, counted, what_to_type
from grader.quizzes.sheet import SheetError, kind_line
from grader.quizzes.sheet_reader import SheetFile, find_sheet

if TYPE_CHECKING:
    from pathlib import Path

    from rich.console import Console

    from grader.quizzes.questions import Question

DELETE = "-"


def take_quiz(unit: str, console: Console, folder: Path | None = None) -> None:
    """Ask the questions of a unit's quiz, starting with the first that has no answer.

    The questions are in `folder`, by default the current one, or in its exercises/. If there is no sheet yet, or only
    the one that everyone received, a sheet with a variant is written there.

    Raises:
        GraderError: There is no such quiz, or its sheet cannot be read.
        CourseError: The questions cannot be read.
        InternalError: The sheet cannot be written.
    """
    file = find_sheet(unit, folder)
    file.begin()
    _Session(file, Screen(console)).run()


class _Session:
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
                case "stop":
                    raise Stop
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
        return self.screen.read_line(*choices, "back", "stop")

    def _save(self, name: str, question: Question, typed: str) -> str | None:
        """Save what was typed; return a sentence if that is not possible, or if the student may want to change it."""
        try:
            self.file.write(name, "" if typed == DELETE else as_written(question, typed))
        except (AnswerError, SheetError) as error:
            return str(error)
        doubt = missing_decimals(question, typed) if typed != DELETE else None
        return f"{doubt}. Keep it, or write another." if doubt else None
