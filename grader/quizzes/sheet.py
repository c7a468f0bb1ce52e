"""A quiz's sheet: Markdown with room for the answers. `sheet_reader` reads it back, whatever became of it."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from grader.quizzes.answers import is_blank

if TYPE_CHECKING:
    from collections.abc import Mapping

    from grader.quizzes.questions import Question, Questions

BLANK = "______"

RULES = """\
How to answer: tick a box by writing `[x]` in it, and write every other answer in the place of `______`: a number like
`3.125`, a shape like `(2, 4)`, letters like `b a c`. Leave headings, boxes and letters as they are. Nothing is marked
as right or wrong before the due date. `grader quiz {unit}` asks the same questions in a terminal.

How points are given: an answer earns all points of its item or none, except in two kinds of items. Of several choices
any number may be right, from one to all but one: you earn the share of the right ones that you ticked, less the share
of the wrong ones that you ticked. Where steps are to be put in order, each pair of steps that stands the right way
round earns its share of the points, and each other pair costs as much. The points of an item are never below zero, and
are rounded down. A blank answer earns nothing. A number is right within one unit of the last decimal that is asked
for, so 0.25 will do for 0.250.
"""


@dataclass(frozen=True)
class Sheet:
    """What was read from a sheet.

    Attributes:
        variant: Which variant of the questions it asks.
        answers: What was written for each item, letters or text; blank ones are not in it.
        problems: The items that cannot be read, each with a sentence.
        remarks: What is wrong with the sheet as a whole.
    """

    variant: int = 0
    answers: dict[str, str] = field(default_factory=dict)
    problems: dict[str, str] = field(default_factory=dict)
    remarks: tuple[str, ...] = ()


class SheetError(ValueError):
    """An item cannot be read or filled in; the text says in one sentence where, why, and what to do."""


def write_sheet(questions: Questions, variant: int | None, answers: Mapping[str, str]) -> str:
    """Return the sheet of a variant with these answers. None is variant 0, and the sheet does not say so."""
    front = ["---", f"quiz: {questions.unit}", *([] if variant is None else [f"variant: {variant}"]), "---"]
    blocks = ["\n".join(front), f"# {questions.title}", RULES.format(unit=questions.unit).strip()]
    for number, (name, question) in enumerate(questions.items.items(), start=1):
        blocks += [f"## {number}. {heading(name)}", *_item(question, variant or 0, answers.get(name, ""))]
    return "\n\n".join(blocks) + "\n"


def heading(name: str) -> str:
    """Return the heading of an item, without its number."""
    return name.replace("_", " ").capitalize()


def kind_line(question: Question) -> str:
    """Return the line on what is asked for, and what it is worth."""
    kinds = {
        "one_choice": "One choice",
        "several_choices": "Several choices",
        "true_false": "True or false",
        "number": f"A number to {_count(question.decimals, 'decimal')}" if question.decimals else "A whole number",
        "shape": "A shape, as a tuple",
        "order": "The letters in the right order",
        "bug": "The wrong line",
    }
    return f"{kinds[question.kind]}, {_count(question.points, 'point')}"


def has_boxes(question: Question) -> bool:
    """Tell whether the answer is ticked, and not written."""
    return bool(question.choices or question.lines)


def _count(number: int, what: str) -> str:
    return f"{number} {what}" if number == 1 else f"{number} {what}s"


def _item(question: Question, variant: int, answer: str) -> list[str]:
    """Return the blocks below the heading of an item."""
    blocks = [f"*{kind_line(question)}*", question.text(variant)]
    if question.code:
        blocks.append(f"```python\n{question.code}\n```")
    options = {letter: text.replace("\n", "\n  ") for letter, text in question.options(variant).items()}
    if has_boxes(question):
        boxes = {letter: "x" if letter in answer.casefold() else " " for letter in options}
        blocks.append("\n".join(f"- [{boxes[letter]}] {letter}) {text}" for letter, text in options.items()))
        return blocks
    if options:
        blocks.append("\n".join(f"- {letter}) {text}" for letter, text in options.items()))
    written = " ".join(answer.split())
    blocks.append(f"Answer: {BLANK if is_blank(written) else written}")
    return blocks
