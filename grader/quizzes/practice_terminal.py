"""Practice in a terminal: asks a question, says at once whether the answer is right, and why. Saves nothing."""

from __future__ import annotations

import random
from collections import deque
from typing import TYPE_CHECKING

from grader.quizzes.answers import AnswerError
from grader.quizzes.items import VariedItem
from grader.quizzes.marking import accepted_answer, explanation, mark, too_short
from grader.quizzes.practice import find_practice
from grader.quizzes.screen import PROBLEM, Screen, Stop, as_written, counted, what_to_type
from grader.quizzes.sheet import asked_for

if TYPE_CHECKING:
    from pathlib import Path

    from rich.console import Console

    from grader.quizzes.items import Item
    from grader.quizzes.source import Quiz

AGAIN = "again"


def practise(unit: str, console: Console, folder: Path | None = None) -> None:
    """Ask the practice items of a unit until each was answered right or skipped.

    Args:
        unit: The unit.
        console: Where to print.
        folder: The course's folder; by default the current one. The items are there or in its exercises/.

    Raises:
        GraderError: There are no items for this unit.
        CourseError: The items cannot be read.
    """
    _Session(find_practice(unit, folder), Screen(console)).run()


class _Session:
    """One run through the items of a unit."""

    def __init__(self, practice: Quiz, screen: Screen) -> None:
        self.practice = practice
        self.screen = screen
        self.first_tries: dict[str, bool] = {}
        self.variants: dict[str, int] = {}

    def run(self) -> None:
        """Ask each item, then those again that were wrong; end after the last, or when the student stops."""
        items = self.practice.items
        self.screen.say(self.practice.title, style="bold")
        self.screen.say(
            f"{counted(len(items), 'question')}. Each answer is explained at once. Nothing is saved or graded."
        )
        waiting = deque((f"{number} of {len(items)}", name) for number, name in enumerate(items, start=1))
        with self.screen.opened():
            while waiting:
                place, name = waiting.popleft()
                if not self._ask(place, name, items[name]):
                    waiting.append(("Once more", name))
        self.screen.blank()
        right = sum(self.first_tries.values())
        self.screen.say(
            f"{right} of {len(items)} right at the first try. To practise again: grader practice {self.practice.unit}"
        )

    def _ask(self, place: str, name: str, item: Item) -> bool:
        """Ask an item, also with other numbers if the student wants them. Return False if an answer was wrong."""
        is_wrong = False
        while True:
            question = item.asked()
            variant = self._draw(name, item)
            self.screen.headline(place, name, asked_for(question))
            self.screen.question(question, variant)
            is_right = self._answered(item, variant)
            if is_right is None:
                return not is_wrong
            self.first_tries.setdefault(name, is_right)
            is_wrong = is_wrong or not is_right
            self.screen.blank()
            again = [f"{AGAIN} for other numbers"] if _rows(item) > 1 else []
            typed = self.screen.read_line("Enter for the next", *again, "stop").casefold()
            if typed == "stop":
                raise Stop
            if not again or typed != AGAIN:
                return not is_wrong

    def _answered(self, item: Item, variant: int) -> bool | None:
        """Read an answer and print what it is worth. Return whether it is right, and None if there is none."""
        question = item.asked()
        while True:
            self.screen.blank()
            typed = self.screen.read_line(what_to_type(question), "Enter to skip", "stop")
            if not typed:
                return None
            if typed.casefold() == "stop":
                raise Stop
            try:
                raw = as_written(question, typed)
            except AnswerError as error:
                self.screen.say(str(error), PROBLEM)
                continue
            if short := too_short(item, raw, variant):
                self.screen.say(short, PROBLEM)
                continue
            return self._explain(item, raw, variant)

    def _explain(self, item: Item, raw: str, variant: int) -> bool:
        """Print whether an answer is right, and why; return it."""
        marked = mark(item, raw, variant, weight=1)
        is_right = marked.points == item.points
        self.screen.blank()
        self.screen.say("Right." if is_right else "Not right.", "bold green" if is_right else "bold red")
        for sentence in marked.sentences:
            self.screen.explain(sentence)
        if not is_right:
            answer = accepted_answer(item, variant).replace("\n", "  \n")  # two blanks keep a line end in Markdown
            self.screen.explain(f"The answer: {answer}")
        self.screen.blank()
        self.screen.explain(explanation(item, variant))
        return is_right

    def _draw(self, name: str, item: Item) -> int:
        """Return a variant at random: another one than the last time, if there are several."""
        others = [variant for variant in range(_rows(item)) if variant != self.variants.get(name)]
        self.variants[name] = random.choice(others or [0])
        return self.variants[name]


def _rows(item: Item) -> int:
    return len(item.variants) if isinstance(item, VariedItem) else 0
