"""Reads the answers in a quiz's sheet, and fills in others."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

from grader.quizzes.answers import AnswerError, is_blank, parse
from grader.quizzes.questions import VARIANTS, Question, Questions
from grader.quizzes.sheet import BLANK, Sheet, SheetError, has_boxes
from grader.quizzes.sheet_sections import Section, Sections
from grader.submissions.source import SHEET_LIMIT
from grader.text import in_words

if TYPE_CHECKING:
    from collections.abc import Mapping

LINE_LIMIT = 5000
"""The most lines of a sheet. It has some three hundred; this many are read in a fraction of a second."""

_BOX = re.compile(r"\\?\[(.{0,3}?)\\?\]\s*([a-zA-Z])\)")
_ANSWER = re.compile(r"[*_]{0,3}answer[*_]{0,3}[ \t]*:[*_]{0,3}", re.IGNORECASE)
_ESCAPED = re.compile(r"\\([!-/:-@\[-`{-~])")
_LINE_END = re.compile("(\r\n|\r|\n)")
_TICKS = {"x", "✓", "✔", "☑"}


def read_sheet(text: str, questions: Questions) -> Sheet:
    """Read a sheet as a student left it. Never fails: what is wrong with an item becomes its problem."""
    name = questions.filename
    lines = _lines(text)
    if len(text) > SHEET_LIMIT or len(lines) > LINE_LIMIT:
        return Sheet(remarks=(f"{name} is far longer than a sheet: hand in the sheet alone.",))
    sections = Sections(lines, questions)
    front = sections.front_matter()
    quiz, line = front.get("quiz", (questions.unit, 0))
    if quiz != questions.unit:
        return Sheet(
            remarks=(f"{name}:{line}: this is the sheet of another quiz: write its answers into its own file.",)
        )
    variant, remarks = _variant(sections, front)
    if not sections.by_item:
        return Sheet(variant, remarks=(*remarks, sections.incomplete("has none of the quiz's headings")))
    if not sections.fits(variant) and (other := next(filter(sections.fits, range(VARIANTS)), None)) is not None:
        remarks.append(
            f"{name} asks the questions of variant {other}, and is read as variant {variant}: begin it "
            f"with the lines `---`, `quiz: {questions.unit}`, `variant: {other}` and `---`."
        )
    answers: dict[str, str] = {}
    problems: dict[str, str] = {}
    for item, question in questions.items.items():
        try:
            answer = _read_item(sections, question, sections.find(item))
        except SheetError as error:
            problems[item] = str(error)
        else:
            answers |= {item: answer} if answer is not None else {}
    return Sheet(variant, answers, problems, tuple(remarks))


def fill_in(text: str, questions: Questions, name: str, answer: str) -> str:
    """Return a sheet with another answer to one item; all else stays as it was.

    Args:
        text: The sheet.
        questions: What it asks.
        name: The item.
        answer: One that can be read, or blank for none.

    Raises:
        SheetError: There is no one place for it, or another question is asked there.
    """
    sheet = read_sheet(text, questions)
    if sheet.remarks:
        raise SheetError(sheet.remarks[0])
    # Lines and their ends in turn, so that the ends stay what they are.
    pieces = _LINE_END.split(text)
    changed = _filled_in(Sections(_lines(text), questions), name, answer, sheet.variant)
    for number, line in changed.items():
        end = pieces[2 * number - 1] if len(pieces) > 2 * number else "\n"
        pieces[2 * number - 2] = line.replace("\n", end)
    return "".join(pieces)


def _lines(text: str) -> list[str]:
    return _LINE_END.split(text.removeprefix("\ufeff"))[::2]


def _variant(sections: Sections, front: Mapping[str, tuple[str, int]]) -> tuple[int, list[str]]:
    """Return the variant of a sheet, and a remark where it cannot be read."""
    text, line = front.get("variant", ("0", 0))
    if re.fullmatch("[0-9]{1,9}", text):
        return int(text), []
    wrong = sections.error(
        line,
        "the variant is not a whole number, so the questions are taken to be those of the sheet without a variant: "
        "put the original number back.",
    )
    return 0, [str(wrong)]


def _filled_in(sections: Sections, name: str, answer: str, variant: int) -> dict[int, str]:
    """Return the lines that change with an answer, by number. Raises SheetError."""
    question = sections.questions.items[name]
    section = sections.find(name)
    if has_boxes(question):
        boxes = _boxes(sections, question, section)
        sections.require_asked(question, variant, section)
        return {
            line: _BOX.sub(f"[{'x' if letter in answer else ' '}] {letter})", sections.lines[line - 1], count=1)
            for letter, (line, _) in boxes.items()
        }
    written = _written(sections, section)
    sections.require_asked(question, variant, section)
    label = _ANSWER.search(sections.lines[written.line - 1])
    assert label
    filled = f"{label.string[: label.end()].rstrip('_')} {BLANK if is_blank(answer) else answer}"
    # Lines below that were a part of the old answer stay, but are no part of the new one.
    return {written.line: f"{filled}\n" if written.is_continued else filled}


def _read_item(sections: Sections, question: Question, section: Section) -> str | None:
    """Return the answer as it was written; None where it is blank. Raises SheetError."""
    raw, line = _ticked(sections, question, section) if has_boxes(question) else _typed(sections, section)
    if is_blank(raw):
        return None
    try:
        parse(question, raw)
    except AnswerError as error:
        raise sections.error(line, str(error)) from None
    return raw


def _ticked(sections: Sections, question: Question, section: Section) -> tuple[str, int]:
    """Return the letters that are ticked, and the line of the last of them."""
    boxes = _boxes(sections, question, section)
    for line, mark in boxes.values():
        if mark and mark not in _TICKS:
            raise sections.error(line, "a box holds something else than x: write `[x]` to tick it, or `[ ]`.")
    ticked = {letter: line for letter, (line, mark) in boxes.items() if mark}
    return " ".join(ticked), max(ticked.values(), default=section.start)


def _boxes(sections: Sections, question: Question, section: Section) -> dict[str, tuple[int, str]]:
    """Return the line of each letter's box, and what is in it."""
    found = [
        (box[2].casefold(), line.number, box[1].strip().casefold())
        for line in sections.text(section)
        if (box := _BOX.match(line.text))
    ]
    letters = [letter for letter, _, _ in found]
    if sorted(letters) != list(question.letters):
        there = in_words(letters) if letters else "none"
        raise sections.error(
            section.start,
            f"the boxes below should be {in_words(list(question.letters))}, each once; there are {there[:100]}: "
            "put the lines back as they were.",
        )
    return {letter: (number, mark) for letter, number, mark in found}


class _Written(NamedTuple):
    """What follows `Answer:`.

    Attributes:
        line: The line's number.
        raw: The answer.
        is_continued: Whether it goes on in the lines below.
        is_followed: Whether other text follows below.
    """

    line: int
    raw: str
    is_continued: bool
    is_followed: bool


def _typed(sections: Sections, section: Section) -> tuple[str, int]:
    """Return what follows `Answer:`, and its line."""
    written = _written(sections, section)
    raw = _ESCAPED.sub(r"\1", written.raw).strip("_ \t")
    if is_blank(raw) and written.is_followed:
        raise sections.error(
            written.line, "this answer is blank, and text follows below: write the answer on this line."
        )
    return raw, written.line


def _written(sections: Sections, section: Section) -> _Written:
    found: list[tuple[int, str]] = []
    is_continued = is_followed = False
    in_answer = None
    for line in sections.text(section):
        if label := _ANSWER.match(line.text):
            found.append((line.number, line.text[label.end() :]))
            in_answer = line.block
        elif found and line.block == in_answer:
            found[-1] = (found[-1][0], f"{found[-1][1]} {line.text}")
            is_continued = True
        elif found:
            is_followed = True
    if not found:
        raise sections.error(section.start, "the line `Answer:` below this heading is missing: put it back.")
    if len(found) > 1:
        raise sections.error(found[1][0], f"there is an answer on line {found[0][0]} already: keep one of the two.")
    return _Written(*found[0], is_continued, is_followed)
