"""An exercise's hints, one at a time, its published solution, and after it passes a question on the student's code."""

from __future__ import annotations

import datetime
import random
from collections.abc import Sequence
from pathlib import Path

from rich.console import Console
from rich.markdown import Markdown
from rich.padding import Padding
from rich.text import Text

from grader.course.guidance import HINT_LEVELS, read_hints
from grader.course.model import Course
from grader.errors import GraderError
from grader.practice.check import unit_of_exercise
from grader.practice.exercise_code import NotFound, definition
from grader.practice.progress import updated_state
from grader.quizzes.answers import AnswerError, is_blank, parse_letters, parse_number, parse_shape
from grader.quizzes.questions import Question
from grader.submissions.file_text import read_text
from grader.submissions.notebook import CODE_LIMIT
from grader.submissions.submission import PUBLISHED_FOLDER, is_published
from grader.submissions.tree import UnreadableError
from grader.testing.drawings import OwnQuestion

HINTS = "hints"
"""The section of the state: how many hints of each exercise were shown."""
WIDTH = 88
"""Longer lines are hard to read."""
_PROMPTS = {"number": "A number", "shape": "A shape, written like (2, 4, 5)", "one_choice": "One letter"}


def show_next_hint(course: Course, folder: Path, exercise: str, console: Console, prefix: str = "grader ") -> None:
    """Print the next hint of an exercise, below those that were shown before.

    Args:
        course: The course.
        folder: The student's folder, for which the last hint is remembered.
        exercise: The exercise's name.
        console: The terminal.
        prefix: What the student types before the name of a command.

    Raises:
        GraderError: The state is held by another program.
        OSError: The state cannot be saved.
    """
    hints = read_hints(course).get(unit_of_exercise(exercise, course), {}).get(exercise, [])
    if not hints:
        console.print(Text(f"{exercise} has no hints. Read its docstring again, or ask your instructor."))
        return
    with updated_state(folder) as state:
        seen = state.section(HINTS)
        before = seen.get(exercise)
        before = min(max(before, 0), len(hints)) if isinstance(before, int) else 0
        level = seen[exercise] = min(before + 1, len(hints))
    if state.problem:
        console.print(Text(state.problem, style="yellow"))
    width = min(console.width, WIDTH)
    console.print(Text(f"{exercise}: hint {level} of {len(hints)}", style="bold"))
    for number, (title, hint) in enumerate(zip(HINT_LEVELS, hints, strict=False), start=1):
        if number > level:
            break
        text = Text(
            f"{number}. {title.capitalize()}: {hint}", style="dim" if number <= before and number < level else ""
        )
        text.highlight_regex(r"`[^`]+`", "cyan")
        console.print(Padding(text, (1, 0, 0, 2)), width=width)
    console.print()
    following = (
        f"This is the last hint. `{prefix}show {exercise}` draws what your code computes, and `grader solution "
        f"{exercise}` prints the solution once your instructor has published it. You can also ask your instructor."
    )
    if level < len(hints):
        following = f"For the next hint: {prefix}hint {exercise}"
    console.print(Text(following), width=width)


def published_solution(course: Course, folder: Path, exercise: str, now: datetime.datetime) -> str:
    """Return the code of an exercise's solution from the file that the instructor published.

    Args:
        course: The course.
        folder: The student's folder.
        exercise: The exercise's name.
        now: The time, with a zone.

    Raises:
        GraderError: There is no such exercise, or its solution is not published; the text says when it is due.
    """
    unit = unit_of_exercise(exercise, course)
    path = f"{PUBLISHED_FOLDER}/{unit}.py"
    try:
        text = read_text(folder, path, CODE_LIMIT)
    except UnreadableError as error:
        raise GraderError(str(error)) from None
    if text is None or not is_published(text):
        due = course.units[unit].due_text
        if course.is_over(unit, now):
            raise GraderError(
                f"{path} is not here: {unit} was due on {due}. Get your instructor's latest files, for example with "
                "`git pull`, or ask whether the solutions are published."
            )
        raise GraderError(
            f"The solution of {exercise} is not published yet: {unit} is due on {due}, and your instructor publishes "
            "solutions after that."
        )
    try:
        return definition(text, exercise)
    except NotFound:
        raise GraderError(f"{path} has no {exercise}: get your instructor's file again, with `git pull`.") from None


def show_code(code: str, console: Console) -> None:
    """Print code: in colours in a terminal, and as it is elsewhere."""
    from rich.syntax import Syntax  # slow to import, and hints need none

    from grader.quizzes.quiz_terminal import CODE_THEME

    if console.is_terminal:
        console.print(Syntax(code, "python", theme=CODE_THEME, background_color="default", word_wrap=True))
    else:
        console.print(code, end="", markup=False, soft_wrap=True)


def ask(questions: Sequence[OwnQuestion], console: Console) -> None:
    """Ask one of these questions until it is answered or skipped, and explain the answer. No answer is kept.

    The right answer came from running the student's code.
    """
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
