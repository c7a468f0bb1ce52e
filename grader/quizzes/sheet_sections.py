"""Where each item of a quiz is in a sheet, however a student or an editor changed it."""

from __future__ import annotations

import re
from functools import cached_property
from itertools import pairwise
from typing import TYPE_CHECKING, NamedTuple

from markdown_it import MarkdownIt

from grader.quizzes.sheet import SheetError, heading
from grader.text import in_words

if TYPE_CHECKING:
    from collections.abc import Iterator

    from grader.quizzes.questions import Question, Questions

LONGEST_LINE = 200
"""The longest heading or line above the title that is looked at."""
_MOST_FRONT_LINES = 20

_NUMBERED = re.compile(r"[0-9]{1,4}[.)][ \t]*")
# Also where a formatter that knows no front matter has made `## quiz: … variant: …` of it.
_FRONT = re.compile(r"\b(quiz|variant)[ \t]*:[ \t]*(\S*)", re.IGNORECASE)
_EMPHASIS = str.maketrans("", "", "\\*_")

# Blocks alone: the text inside a line needs no parsing, and can be written so that parsing it is slow.
# Without setext headings, for `---` below an answer would make it one.
_BLOCKS = MarkdownIt("zero").enable(["fence", "list", "hr"]).disable(["inline", "text_join"])


class Section(NamedTuple):
    """The lines of one item, by their numbers: the heading's, and the first one after the section."""

    start: int
    end: int


class TextLine(NamedTuple):
    """A line of a section that is not code, without bullets, list numbers and indentation.

    Attributes:
        number: Its number in the sheet.
        text: What it says.
        block: The Markdown block that it belongs to.
    """

    number: int
    text: str
    block: int


class Sections:
    """The sections of one sheet."""

    def __init__(self, lines: list[str], questions: Questions) -> None:
        """Take the lines of a sheet, and the questions that it should ask."""
        self.lines = lines
        self.questions = questions

    def front_matter(self) -> dict[str, tuple[str, int]]:
        """Return the values above the title by key, each with its line's number."""
        front: dict[str, tuple[str, int]] = {}
        for number, line in enumerate(self.lines[:_MOST_FRONT_LINES], start=1):
            if line.startswith("# ") or self._heading(line) in self.questions.items:
                break
            text = line[:LONGEST_LINE].lstrip("# \t")
            if _FRONT.match(text):
                for key, value in _FRONT.findall(text):
                    front.setdefault(key.casefold(), (value.strip("\"'"), number))
        return front

    @cached_property
    def by_item(self) -> dict[str, list[Section]]:
        """The sections of each item.

        A heading ends whatever is open above it, so that damage to one item costs no other.
        """
        starts: list[tuple[int, str | None]] = []
        for number, line in enumerate(self.lines, start=1):
            name = self._heading(line)
            if name is not None:
                # What is below a heading that no item has belongs to no item.
                starts.append((number, name if name in self.questions.items else None))
        sections: dict[str, list[Section]] = {}
        for (start, name), (end, _) in pairwise([*starts, (len(self.lines) + 1, None)]):
            if name:
                sections.setdefault(name, []).append(Section(start, end))
        return sections

    def find(self, name: str) -> Section:
        """Return the section of an item. Raises SheetError where there is none, or more than one."""
        found = self.by_item.get(name, [])
        if not found:
            number = list(self.questions.items).index(name) + 1
            raise SheetError(self.incomplete(f"has no heading `## {number}. {heading(name)}`"))
        if len(found) > 1:
            numbers = in_words([str(section.start) for section in found])
            raise self.error(found[1].start, f"this heading is there more than once (lines {numbers}): keep one.")
        return found[0]

    def fits(self, variant: int) -> bool:
        """Tell whether every question that varies is there as this variant asks it."""
        return all(_words(question.text(variant)) in there for question, there in self._varying)

    def require_asked(self, question: Question, variant: int, section: Section) -> None:
        """Raise SheetError where a section asks something else, as it would in a sheet of another release."""
        there = self._words_of(section)
        options = (f"{letter}) {text}" for letter, text in question.options(variant).items())
        if any(_words(text) not in there for text in (question.text(variant), question.code, *options)):
            raise self.error(
                section.start,
                "this is not the question of quizzes.json: put it back as it was, or take both files from the same "
                "release of the course.",
            )

    def text(self, section: Section) -> Iterator[TextLine]:
        """Yield the lines of a section that are not code."""
        tokens = _BLOCKS.parse("\n".join(self.lines[section.start : section.end - 1]))
        for block, token in enumerate(tokens):
            if token.type == "inline" and token.map:
                for offset, text in enumerate(token.content.split("\n")):
                    yield TextLine(section.start + 1 + token.map[0] + offset, text.strip(), block)

    def incomplete(self, what: str) -> str:
        """Return the sentence on a sheet in which something is missing."""
        fix = f"move the file away and start again with `grader quiz {self.questions.unit}`"
        return f"{self.questions.filename} {what}: put back what was there, or {fix}."

    def error(self, line: int, sentence: str) -> SheetError:
        """Return the error for a line of the sheet."""
        return SheetError(f"{self.questions.filename}:{line}: {sentence}")

    def _heading(self, line: str) -> str | None:
        """Return the item that a heading like `## 1. Key bias` names; None where a line is no heading of that level."""
        text = line.strip()
        if not text.startswith("##") or text.startswith("###") or len(text) > LONGEST_LINE:
            return None
        text = text.strip("#").strip()
        return "_".join(_NUMBERED.sub("", text, count=1).casefold().split())

    @cached_property
    def _varying(self) -> list[tuple[Question, str]]:
        """The questions that are not the same in all variants, each with what its section says."""
        return [
            (question, self._words_of(section))
            for name, question in self.questions.items.items()
            if question.variants
            for section in self.by_item.get(name, [])
        ]

    def _words_of(self, section: Section) -> str:
        return _words("\n".join(self.lines[section.start : section.end - 1]))


def _words(text: str) -> str:
    """Return a text without what a formatter changes: the ends of lines, escapes, and how emphasis is written."""
    return " ".join(text.translate(_EMPHASIS).split())
