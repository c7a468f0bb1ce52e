"""The sheet: a quiz as Markdown, with room for the answers; written, and read back from whatever became of it."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from itertools import pairwise

from markdown_it import MarkdownIt

from grader.quizzes.answers import AnswerError, in_words, is_blank, parse
from grader.quizzes.questions import VARIANTS, Question, Questions
from grader.submissions.source import SHEET_LIMIT

LINE_LIMIT = 5000
"""A sheet has some three hundred lines; twenty times as many are read in a fraction of a second."""

LONGEST_LINE = 200

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

_BOX = re.compile(r"\\?\[(.{0,3}?)\\?\]\s*([a-zA-Z])\)")
_ANSWER = re.compile(r"[*_]{0,3}answer[*_]{0,3}[ \t]*:[*_]{0,3}", re.IGNORECASE)
_NUMBERED = re.compile(r"[0-9]{1,4}[.)][ \t]*")
# Also where a formatter that knows no front matter has made `## quiz: … variant: …` of it.
_FRONT = re.compile(r"\b(quiz|variant)[ \t]*:[ \t]*(\S*)", re.IGNORECASE)
_ESCAPED = re.compile(r"\\([!-/:-@\[-`{-~])")
_EMPHASIS = str.maketrans("", "", "\\*_")
_LINE_END = re.compile("(\r\n|\r|\n)")
_TICKS = {"x", "✓", "✔", "☑"}

# Blocks alone: what stands inside a line needs no parsing, and parsing it can be slow where it was written to be.
# Without setext headings, for `---` below an answer would make it one.
_BLOCKS = MarkdownIt("zero").enable(["fence", "list", "hr"]).disable(["inline", "text_join"])


@dataclass(frozen=True)
class Sheet:
    """What was read from a sheet.

    answers: what was written for each item, letters or text; those left blank are not in it. problems: the items
    that cannot be read, each with a sentence. remarks: what befell the sheet as a whole.
    """

    variant: int = 0
    answers: dict[str, str] = field(default_factory=dict)
    problems: dict[str, str] = field(default_factory=dict)
    remarks: tuple[str, ...] = ()


class SheetError(ValueError):
    """An item that cannot be read or filled in; the text says in one sentence where, why, and what to do."""


def write_sheet(questions: Questions, variant: int | None, answers: Mapping[str, str]) -> str:
    """The sheet of a variant, filled in as far as there are `answers`; variant 0, and it does not say so, for None."""
    front = ["---", f"quiz: {questions.unit}", *([] if variant is None else [f"variant: {variant}"]), "---"]
    blocks = ["\n".join(front), f"# {questions.title}", RULES.format(unit=questions.unit).strip()]
    for number, (name, question) in enumerate(questions.items.items(), start=1):
        blocks += [f"## {number}. {heading(name)}", *_item(question, variant or 0, answers.get(name, ""))]
    return "\n\n".join(blocks) + "\n"


def read_sheet(text: str, questions: Questions) -> Sheet:
    """Read what a student made of a sheet. Never fails: what is wrong with an item becomes its problem."""
    name = questions.filename
    lines = _lines(text)
    if len(text) > SHEET_LIMIT or len(lines) > LINE_LIMIT:
        return Sheet(remarks=(f"{name} is far longer than a sheet: hand in the sheet alone.",))
    return _Reader(lines, questions).read()


def fill_in(text: str, questions: Questions, name: str, answer: str) -> str:
    """The sheet with another answer to one item, or with none where it is blank; all else stays as it was.

    answer: one that can be read. Raises SheetError where there is no one place for it, or another question is asked
    there.
    """
    sheet = read_sheet(text, questions)
    if sheet.remarks:
        raise SheetError(sheet.remarks[0])
    # Lines and their ends in turn, so that the ends stay what they are.
    pieces = _LINE_END.split(text)
    for number, line in _Reader(_lines(text), questions).filled_in(name, answer, sheet.variant).items():
        end = pieces[2 * number - 1] if len(pieces) > 2 * number else "\n"
        pieces[2 * number - 2] = line.replace("\n", end)
    return "".join(pieces)


def heading(name: str) -> str:
    """The heading of an item, without its number."""
    return name.replace("_", " ").capitalize()


def kind_line(question: Question) -> str:
    """What is asked for, and what it is worth."""
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


def _words(text: str) -> str:
    """Without what a formatter changes: the ends of lines, escapes, and how emphasis is written."""
    return " ".join(text.translate(_EMPHASIS).split())


def _lines(text: str) -> list[str]:
    return _LINE_END.split(text.removeprefix("\ufeff"))[::2]


def _count(number: int, what: str) -> str:
    return f"{number} {what}" if number == 1 else f"{number} {what}s"


def _item(question: Question, variant: int, answer: str) -> list[str]:
    """The blocks below the heading of an item."""
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


class _Reader:
    """Reads the lines of one sheet."""

    def __init__(self, lines: list[str], questions: Questions) -> None:
        self.lines = lines
        self.questions = questions
        self.filename = questions.filename
        self.remarks: list[str] = []
        self.problems: dict[str, str] = {}
        self.answers: dict[str, str] = {}

    def read(self) -> Sheet:
        front = self._front_matter()
        quiz = front.get("quiz", (self.questions.unit, 0))
        if quiz[0] != self.questions.unit:
            told = f"{self.filename}:{quiz[1]}: this is the sheet of another quiz: write its answers into its own file."
            return Sheet(remarks=(told,))
        variant = self._variant(*front["variant"]) if "variant" in front else 0
        if not self.sections:
            return Sheet(variant, remarks=(*self.remarks, self._fresh("has none of the quiz's headings")))
        if not self._fits(variant) and (other := next(filter(self._fits, range(VARIANTS)), None)) is not None:
            self.remarks.append(
                f"{self.filename} asks the questions of variant {other}, and is read as variant {variant}: begin it "
                f"with the lines `---`, `quiz: {self.questions.unit}`, `variant: {other}` and `---`."
            )
        for name, question in self.questions.items.items():
            try:
                self._read_item(name, question, *self._place(name))
            except SheetError as error:
                self.problems[name] = str(error)
        return Sheet(variant, self.answers, self.problems, tuple(self.remarks))

    def filled_in(self, name: str, answer: str, variant: int) -> dict[int, str]:
        """The lines that change with an answer, by number. Raises SheetError."""
        question = self.questions.items[name]
        start, end = self._place(name)
        if has_boxes(question):
            boxes = self._boxes(question, start, end)
            self._require_asked(question, variant, start, end)
            return {
                line: _BOX.sub(f"[{'x' if letter in answer else ' '}] {letter})", self.lines[line - 1], count=1)
                for letter, (line, _) in boxes.items()
            }
        line, _, is_continued, _ = self._written(start, end)
        self._require_asked(question, variant, start, end)
        label = _ANSWER.search(self.lines[line - 1])
        assert label
        filled = f"{label.string[: label.end()].rstrip('_')} {BLANK if is_blank(answer) else answer}"
        # What went on below was a part of the old answer: it stays, but is no part of the new one.
        return {line: f"{filled}\n" if is_continued else filled}

    def _fresh(self, what: str) -> str:
        mend = f"move the file away and begin anew with `grader quiz {self.questions.unit}`"
        return f"{self.filename} {what}: put back what was there, or {mend}."

    def _error(self, line: int, sentence: str) -> SheetError:
        return SheetError(f"{self.filename}:{line}: {sentence}")

    def _front_matter(self) -> dict[str, tuple[str, int]]:
        """What the lines above the title say, each with its line's number."""
        front: dict[str, tuple[str, int]] = {}
        for number, line in enumerate(self.lines[:20], start=1):
            if line.startswith("# ") or self._heading(line) in self.questions.items:
                break
            text = line[:LONGEST_LINE].lstrip("# \t")
            if _FRONT.match(text):
                for key, value in _FRONT.findall(text):
                    front.setdefault(key.casefold(), (value.strip("\"'"), number))
        return front

    def _variant(self, text: str, line: int) -> int:
        if re.fullmatch("[0-9]{1,9}", text):
            return int(text)
        self.remarks.append(
            f"{self.filename}:{line}: the variant is no whole number, so the questions are taken to be those of the "
            "sheet without a variant: put the number back that stood there."
        )
        return 0

    @cached_property
    def sections(self) -> dict[str, list[tuple[int, int]]]:
        """Where each item's section begins and ends, by the numbers of the lines.

        A heading ends whatever is open above it, so that damage to one item costs no other.
        """
        starts: list[tuple[int, str | None]] = []
        for number, line in enumerate(self.lines, start=1):
            name = self._heading(line)
            if name in self.questions.items:
                starts.append((number, name))
            elif name is not None:
                starts.append((number, None))  # what stands below belongs to no item
        sections: dict[str, list[tuple[int, int]]] = {}
        for (start, name), (end, _) in pairwise([*starts, (len(self.lines) + 1, None)]):
            if name:
                sections.setdefault(name, []).append((start, end))
        return sections

    def _heading(self, line: str) -> str | None:
        """The item that a line names as a heading like `## 1. Key bias`; None where it is no heading of that level."""
        text = line.strip()
        if not text.startswith("##") or text.startswith("###") or len(text) > LONGEST_LINE:
            return None
        text = text.strip("#").strip()
        return "_".join(_NUMBERED.sub("", text, count=1).casefold().split())

    def _place(self, name: str) -> tuple[int, int]:
        """Where the section of an item begins and ends. Raises SheetError where there is none, or more than one."""
        found = self.sections.get(name, [])
        if not found:
            number = list(self.questions.items).index(name) + 1
            raise SheetError(self._fresh(f"has no heading `## {number}. {heading(name)}`"))
        if len(found) > 1:
            numbers = in_words([str(start) for start, _ in found])
            raise self._error(found[1][0], f"this heading is there more than once (lines {numbers}): keep one.")
        return found[0]

    def _fits(self, variant: int) -> bool:
        """Whether every question that varies stands there as this variant asks it."""
        return all(_words(question.text(variant)) in there for question, there in self._varying)

    @cached_property
    def _varying(self) -> list[tuple[Question, str]]:
        """The questions that are not the same in all variants, each with what its section says."""
        return [
            (question, self._words_of(start, end))
            for name, question in self.questions.items.items()
            if question.variants
            for start, end in self.sections.get(name, [])
        ]

    def _words_of(self, start: int, end: int) -> str:
        return _words("\n".join(self.lines[start : end - 1]))

    def _require_asked(self, question: Question, variant: int, start: int, end: int) -> None:
        """Raises SheetError where a section asks something else, as it would in a sheet of another release."""
        there = self._words_of(start, end)
        options = (f"{letter}) {text}" for letter, text in question.options(variant).items())
        if any(_words(text) not in there for text in (question.text(variant), question.code, *options)):
            raise self._error(
                start,
                "this is not the question of quizzes.json: put it back as it was, or take both files from the same "
                "release of the course.",
            )

    def _read_item(self, name: str, question: Question, start: int, end: int) -> None:
        raw, line = self._ticked(question, start, end) if has_boxes(question) else self._answer(start, end)
        if is_blank(raw):
            return
        try:
            parse(question, raw)
        except AnswerError as error:
            raise self._error(line, str(error)) from None
        self.answers[name] = raw

    def _ticked(self, question: Question, start: int, end: int) -> tuple[str, int]:
        """The letters that are ticked, and the line of the last of them."""
        boxes = self._boxes(question, start, end)
        for line, mark in boxes.values():
            if mark and mark not in _TICKS:
                raise self._error(line, "a box holds something else than x: write `[x]` to tick it, or `[ ]`.")
        ticked = {letter: line for letter, (line, mark) in boxes.items() if mark}
        return " ".join(ticked), max(ticked.values(), default=start)

    def _boxes(self, question: Question, start: int, end: int) -> dict[str, tuple[int, str]]:
        """The line of each letter's box, and what is in it."""
        found = [
            (box[2].casefold(), number, box[1].strip().casefold())
            for number, text, _ in self._text(start, end)
            if (box := _BOX.match(text))
        ]
        letters = [letter for letter, _, _ in found]
        if sorted(letters) != list(question.letters):
            there = in_words(letters) if letters else "none"
            raise self._error(
                start,
                f"the boxes below should be {in_words(list(question.letters))}, each once; there are {there[:100]}: "
                "put the lines back as they were.",
            )
        return {letter: (number, mark) for letter, number, mark in found}

    def _answer(self, start: int, end: int) -> tuple[str, int]:
        """What follows `Answer:`, and its line."""
        line, raw, _, is_followed = self._written(start, end)
        raw = _ESCAPED.sub(r"\1", raw).strip("_ \t")
        if is_blank(raw) and is_followed:
            raise self._error(line, "this answer is blank, and text follows below: write the answer on this line.")
        return raw, line

    def _written(self, start: int, end: int) -> tuple[int, str, bool, bool]:
        """The line of `Answer:`, what is written there, and whether that goes on below, or other text follows."""
        found: list[tuple[int, str]] = []
        is_continued = is_followed = False
        in_answer = None
        for number, text, block in self._text(start, end):
            if label := _ANSWER.match(text):
                found.append((number, text[label.end() :]))
                in_answer = block
            elif found and block == in_answer:
                found[-1] = (found[-1][0], f"{found[-1][1]} {text}")
                is_continued = True
            elif found:
                is_followed = True
        if not found:
            raise self._error(start, "the line `Answer:` below this heading is missing: put it back.")
        if len(found) > 1:
            raise self._error(found[1][0], f"there is an answer on line {found[0][0]} already: keep one of the two.")
        return *found[0], is_continued, is_followed

    def _text(self, start: int, end: int) -> Iterator[tuple[int, str, int]]:
        """The lines of a section that are no code: the number of each, its text, and the block that it belongs to.

        Bullets, numbers of lists and indentation are taken off.
        """
        tokens = _BLOCKS.parse("\n".join(self.lines[start : end - 1]))
        for block, token in enumerate(tokens):
            if token.type == "inline" and token.map:
                for offset, text in enumerate(token.content.split("\n")):
                    yield start + 1 + token.map[0] + offset, text.strip(), block


def has_boxes(question: Question) -> bool:
    """Whether the answer is ticked, and not written."""
    return bool(question.choices or question.lines)
