"""A quiz's sheet: Markdown with room for the answers. Writes it, and finds each item in a sheet that was changed."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from itertools import pairwise
from typing import NamedTuple

from markdown_it import MarkdownIt

from grader.quizzes.answers import is_blank
from grader.quizzes.questions import Question, Questions
from grader.submissions.submission import LONGEST_LINE, front_matter
from grader.text import in_words

BLANK = "______"

_NUMBERED = re.compile(r"[0-9]{1,4}[.)][ \t]*")
_EMPHASIS = str.maketrans("", "", "\\*_")

# Blocks only: the text inside a line needs no parsing, and a hostile one would be slow to parse.
# No setext headings, because `---` below an answer would turn it into one.
_BLOCKS = MarkdownIt("zero").enable(["fence", "list", "hr"]).disable(["inline", "text_join"])

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
        answers: The answer to each item, as letters or text; blank ones are left out.
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
    """Return the sheet of a variant with these answers. None is variant 0, which the sheet does not name."""
    front = ["---", f"quiz: {questions.unit}", *([] if variant is None else [f"variant: {variant}"]), "---"]
    blocks = ["\n".join(front), f"# {questions.title}", RULES.format(unit=questions.unit).strip()]
    for number, (name, question) in enumerate(questions.items.items(), start=1):
        blocks += [f"## {number}. {heading(name)}", *_item(question, variant or 0, answers.get(name, ""))]
    return "\n\n".join(blocks) + "\n"


def heading(name: str) -> str:
    """Return the heading of an item, without its number."""
    return name.replace("_", " ").capitalize()


def kind_line(question: Question) -> str:
    """Return the line that says what is asked for and how many points it has."""
    return f"{asked_for(question)}, {counted(question.points, 'point')}"


def asked_for(question: Question) -> str:
    """Return what is asked for, such as: A number to 3 decimals."""
    kinds = {
        "one_choice": "One choice",
        "several_choices": "Several choices",
        "true_false": "True or false",
        "number": f"A number to {counted(question.decimals, 'decimal')}" if question.decimals else "A whole number",
        "shape": "A shape, as a tuple",
        "order": "The letters in the right order",
        "bug": "The wrong line",
    }
    return kinds[question.kind]


def has_boxes(question: Question) -> bool:
    """Return whether the answer is ticked, not written."""
    return bool(question.choices or question.lines)


def counted(number: int, noun: str) -> str:
    """Return a number with its noun: 1 question, 2 questions."""
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


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


class Section(NamedTuple):
    """The lines of one item, by their numbers: the heading's, and the first one after the section."""

    start: int
    end: int


class TextLine(NamedTuple):
    """A line of a section that is not code, without bullets, list numbers and indentation.

    Attributes:
        number: Its number in the sheet.
        text: Its text.
        block: The Markdown block that it belongs to.
    """

    number: int
    text: str
    block: int


class Sections:
    """The sections of one sheet."""

    def __init__(self, lines: list[str], questions: Questions) -> None:
        """Prepare to search the lines of a sheet for the items of a quiz."""
        self.lines = lines
        self.questions = questions

    def front_matter(self) -> dict[str, tuple[str, int]]:
        """Return the values above the title by key, each with its line's number."""
        return front_matter(self.lines, lambda line: self._heading(line) in self.questions.items)

    @cached_property
    def by_item(self) -> dict[str, list[Section]]:
        """The sections of each item.

        A heading ends every block that is open above it, so that damage to one item does not affect others.
        """
        starts: list[tuple[int, str | None]] = []
        for number, line in enumerate(self.lines, start=1):
            name = self._heading(line)
            if name is not None:
                # The text below a heading that belongs to no item belongs to no item either.
                starts.append((number, name if name in self.questions.items else None))
        sections: dict[str, list[Section]] = {}
        for (start, name), (end, _) in pairwise([*starts, (len(self.lines) + 1, None)]):
            if name:
                sections.setdefault(name, []).append(Section(start, end))
        return sections

    def find(self, name: str) -> Section:
        """Return the section of an item. Raises SheetError if there is none, or more than one."""
        found = self.by_item.get(name, [])
        if not found:
            number = list(self.questions.items).index(name) + 1
            raise SheetError(self.incomplete(f"has no heading `## {number}. {heading(name)}`"))
        if len(found) > 1:
            numbers = in_words([str(section.start) for section in found])
            raise self.error(found[1].start, f"this heading is there more than once (lines {numbers}): keep one.")
        return found[0]

    def fits(self, variant: int) -> bool:
        """Return whether every question with variants has the text of this variant."""
        return all(_words(question.text(variant)) in there for question, there in self._varying)

    def require_asked(self, question: Question, variant: int, section: Section) -> None:
        """Raise SheetError if a section asks another question, as in a sheet of another release of the course."""
        there = self._words_of(section)
        options = (f"{letter}) {text}" for letter, text in question.options(variant).items())
        if any(_words(text) not in there for text in (question.text(variant), question.code, *options)):
            raise self.error(
                section.start,
                "this is not the course's question: put it back as it was, or take the sheet from the same "
                "release of the course.",
            )

    def text(self, section: Section) -> Iterator[TextLine]:
        """Yield the lines of a section that are not code."""
        tokens = _BLOCKS.parse("\n".join(self.lines[section.start : section.end - 1]))
        for block, token in enumerate(tokens):
            if token.type == "inline" and token.map:
                for offset, text in enumerate(token.content.split("\n")):
                    yield TextLine(section.start + 1 + token.map[0] + offset, text.strip(), block)

    def below(self, section: Section, line: int, text: str) -> int | None:
        """Return the line of what follows the text that begins at `line`; None if nothing does, or the text differs."""
        # Without blanks: an empty box has one, or none.
        expected, read = _words(text).replace(" ", ""), ""
        for following in self.text(section):
            if following.number >= line:
                if read == expected:
                    return following.number
                read += _words(following.text).replace(" ", "")
        return None

    def incomplete(self, what: str) -> str:
        """Return the sentence on a sheet in which something is missing."""
        fix = f"move the file away and start again with `grader quiz {self.questions.unit}`"
        return f"{self.questions.filename} {what}: put back what was there, or {fix}."

    def error(self, line: int, sentence: str) -> SheetError:
        """Return the error for a line of the sheet."""
        return SheetError(f"{self.questions.filename}:{line}: {sentence}")

    def _heading(self, line: str) -> str | None:
        """Return the item that a heading like `## 1. Key bias` names; None if a line is not a heading of that level."""
        text = line.strip()
        if not text.startswith("##") or text.startswith("###") or len(text) > LONGEST_LINE:
            return None
        text = text.strip("#").strip()
        return "_".join(_NUMBERED.sub("", text, count=1).casefold().split())

    @cached_property
    def _varying(self) -> list[tuple[Question, str]]:
        """The questions with variants, each with the words of its section."""
        return [
            (question, self._words_of(section))
            for name, question in self.questions.items.items()
            if question.variants
            for section in self.by_item.get(name, [])
        ]

    def _words_of(self, section: Section) -> str:
        return _words("\n".join(self.lines[section.start : section.end - 1]))


def _words(text: str) -> str:
    """Return a text without what a formatter changes: line ends, escapes and marks of emphasis."""
    return " ".join(text.translate(_EMPHASIS).split())
