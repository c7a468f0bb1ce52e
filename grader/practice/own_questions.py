"""Asks a question on the student's own code, after an exercise passes. The answer came from running that code."""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import TYPE_CHECKING

from rich.markdown import Markdown
from rich.padding import Padding

from grader.quizzes.answers import AnswerError, is_blank, parse_letters, parse_number, parse_shape
from grader.quizzes.questions import Question
from grader.testing.drawings import OwnQuestion

if TYPE_CHECKING:
    from rich.console import Console

WIDTH = 88
_PROMPTS = {"number": "A number", "shape": "A shape, written like (2, 4, 5)", "one_choice": "One letter"}


def ask(questions: Sequence[OwnQuestion], console: Console) -> None:
    """Ask one of these questions until it is answered or skipped, and explain the answer. No answer is kept."""
    if not questions:
        return
    asked = random.choice(questions)
    question = as_question(asked)
    _show(asked.text, console, before="A question on your own code:")
    for letter, text in question.options(0).items():
        console.print(f"    {letter}) {text}", markup=False)
    while True:
        console.print()
        try:
            typed = console.input(f"  {_PROMPTS[asked.kind]} [dim]\\[Enter to skip][/]: ")
            if is_blank(typed):
                return
            is_right = answers(asked, typed)
        except (EOFError, KeyboardInterrupt):
            console.print()
            return
        except AnswerError as error:
            console.print(f"  {error}", style="yellow", markup=False)
            continue
        verdict = "Right." if is_right else f"No: your code gives {right_answer(asked)}."
        _show(asked.explanation, console, before=verdict)
        return


def answers(asked: OwnQuestion, typed: str) -> bool:
    """Return whether this is the right answer. Raises AnswerError if it cannot be read."""
    question = as_question(asked)
    match asked.kind:
        case "number":
            # Half of the last decimal, and a little more for numbers that lie between two.
            return bool(abs(float(parse_number(typed)) - asked.answer) <= 0.51 * 10 ** -(asked.decimals or 0))
        case "shape":
            return bool(list(parse_shape(typed)) == asked.answer)
        case _:
            return bool([question.options(0)[letter] for letter in parse_letters(question, typed)] == [asked.answer])


def as_question(asked: OwnQuestion) -> Question:
    """Return the question in the form of those of a quiz."""
    return Question(kind=asked.kind, points=0, question=asked.text, choices=asked.choices, decimals=asked.decimals)


def right_answer(asked: OwnQuestion) -> str:
    """Return the right answer as a student reads it."""
    match asked.kind:
        case "number":
            return f"{asked.answer:.{asked.decimals or 0}f}"
        case "shape":
            return str(tuple(asked.answer))
        case _:
            return f'"{asked.answer}"'


def _show(text: str, console: Console, before: str) -> None:
    width = min(console.width, WIDTH)
    console.print(Padding(Markdown(f"**{before}** {text}"), (1, 0, 0, 2)), width=width)
