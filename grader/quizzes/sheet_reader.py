"""Reads the answers in a quiz's sheet, and saves others in it."""

from __future__ import annotations

import re
import secrets
import unicodedata
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from grader.documents import nearest
from grader.errors import GraderError, InternalError
from grader.files import write_atomically
from grader.quizzes.answers import AnswerError, is_blank, missing_decimals, parse
from grader.quizzes.questions import FILENAME, VARIANTS, Question, Questions, find_received, read_questions
from grader.quizzes.sheet import BLANK, Section, Sections, Sheet, SheetError, has_boxes, write_sheet
from grader.submissions.source import SHEET_LIMIT
from grader.text import UNSEEN, in_words

if TYPE_CHECKING:
    from collections.abc import Mapping

LINE_LIMIT = 5000
"""The most lines of a sheet. It has about three hundred; this many are read in a fraction of a second."""

_BOX = re.compile(r"\\?\[(.{0,9}?)\\?\]\s*([a-zA-Z])\)")
_ANSWER = re.compile(r"[*_]{0,3}answer[*_]{0,3}[ \t]*[:：][*_]{0,3}", re.IGNORECASE)
_ESCAPED = re.compile(r"\\([!-/:-@\[-`{-~])")
_LINE_END = re.compile("(\r\n|\r|\n)")
_TICKS = {"x", "✓", "✔", "☑", "✅"}
# What looks like an x: Cyrillic and Greek letters, and signs of products. An emoji may have a selector behind it.
_LOOKS_LIKE_X = str.maketrans(dict.fromkeys("\u0445χ×✕✖⨉⨯", "x") | dict.fromkeys("\ufe0e\ufe0f"))


def read_sheet(text: str, questions: Questions) -> Sheet:
    """Read a student's sheet. Never fails: each fault of an item becomes its problem."""
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
            answer = _read_item(sections, question, sections.find(item), variant)
        except SheetError as error:
            problems[item] = str(error)
        else:
            answers |= {item: answer} if answer is not None else {}
    return Sheet(variant, answers, problems, tuple(remarks))


def fill_in(text: str, questions: Questions, name: str, answer: str) -> str:
    """Return a sheet with another answer to one item; nothing else changes.

    Args:
        text: The sheet.
        questions: The quiz.
        name: The item.
        answer: A readable answer, or "" to delete it.

    Raises:
        SheetError: There is not exactly one place for it, or the question there is another one.
    """
    sheet = read_sheet(text, questions)
    if sheet.remarks:
        raise SheetError(sheet.remarks[0])
    # Lines and line ends alternate, so that each line keeps its end.
    pieces = _LINE_END.split(text)
    changed = _filled_in(Sections(_lines(text), questions), name, answer, sheet.variant)
    for number, line in changed.items():
        end = pieces[2 * number - 1] if len(pieces) > 2 * number else "\n"
        pieces[2 * number - 2] = line.replace("\n", end)
    return "".join(pieces)


def _lines(text: str) -> list[str]:
    return _LINE_END.split(text.removeprefix("\ufeff"))[::2]


def _variant(sections: Sections, front: Mapping[str, tuple[str, int]]) -> tuple[int, list[str]]:
    """Return the variant of a sheet, and a remark if it cannot be read."""
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
    # Lines below that belonged to the old answer stay; a blank line separates them from the new one.
    return {written.line: f"{filled}\n" if written.is_continued else filled}


def too_few_decimals(text: str, questions: Questions) -> list[str]:
    """Return a sentence for each number of a sheet that has fewer decimals than its question asks for."""
    sections, answers = Sections(_lines(text), questions), read_sheet(text, questions).answers
    doubts = {item: missing_decimals(questions.items[item], answer) for item, answer in answers.items()}
    return [
        str(sections.error(_typed(sections, sections.find(item))[1], f"{doubt}: add them, unless they are 0."))
        for item, doubt in doubts.items()
        if doubt
    ]


def _read_item(sections: Sections, question: Question, section: Section, variant: int) -> str | None:
    """Return the answer as it was written; None if it is blank. Raises SheetError."""
    raw, line = _ticked(sections, question, section, variant) if has_boxes(question) else _typed(sections, section)
    if is_blank(raw):
        return None
    try:
        parse(question, raw)
    except AnswerError as error:
        raise sections.error(line, str(error)) from None
    return raw


def _ticked(sections: Sections, question: Question, section: Section, variant: int) -> tuple[str, int]:
    """Return the letters that are ticked, and the line of the last of them."""
    boxes = _boxes(sections, question, section)
    for line, mark in boxes.values():
        if mark and mark not in _TICKS:
            raise sections.error(line, "a box holds something else than x: write `[x]` to tick it, or `[ ]`.")
    ticked = {letter: line for letter, (line, mark) in boxes.items() if mark}
    letter, (last, mark) = max(boxes.items(), key=lambda box: box[1])
    text = f"[{mark}] {letter}) {question.options(variant)[letter]}"
    if not ticked and (below := sections.below(section, last, text)):
        raise sections.error(below, "no box is ticked, and text follows below them: tick a box by writing `[x]` in it.")
    return " ".join(ticked), max(ticked.values(), default=section.start)


def _boxes(sections: Sections, question: Question, section: Section) -> dict[str, tuple[int, str]]:
    """Return the line of each letter's box, and its content."""
    found = [
        (box[2].casefold(), line.number, _mark(box[1]))
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


def _mark(content: str) -> str:
    """Return what a box holds: `x` for every sign that looks like one, and nothing for what cannot be seen."""
    seen = UNSEEN.sub("", unicodedata.normalize("NFKC", content))
    return seen.strip().casefold().translate(_LOOKS_LIKE_X)


class _Written(NamedTuple):
    """The text after `Answer:`.

    Attributes:
        line: The line's number.
        raw: The answer.
        is_continued: Whether it continues in the lines below.
        is_followed: Whether other text follows below it.
    """

    line: int
    raw: str
    is_continued: bool
    is_followed: bool


def _typed(sections: Sections, section: Section) -> tuple[str, int]:
    """Return the text after `Answer:`, and its line."""
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


@dataclass(frozen=True)
class SheetFile:
    """A student's sheet on disk. It is read each time, because it may be open in an editor as well."""

    questions: Questions
    path: Path

    def begin(self) -> None:
        """Write a sheet with a variant, unless the student has changed the one that everyone received."""
        # Compared word by word, because an editor may have changed the line ends.
        received = write_sheet(self.questions, None, {}).split()
        if not self.path.exists() or self._text().removeprefix("\ufeff").split() in ([], received):
            self._save(write_sheet(self.questions, secrets.randbelow(VARIANTS), {}))

    def read(self) -> Sheet:
        """Read the sheet. Raises GraderError if it does not belong to this quiz."""
        sheet = read_sheet(self._text(), self.questions)
        if sheet.remarks:
            raise GraderError(sheet.remarks[0])
        return sheet

    def write(self, name: str, answer: str) -> None:
        """Save an answer; "" deletes it. Raises SheetError if there is no place for it."""
        self._save(fill_in(self._text(), self.questions, name, answer))

    def find_damage(self, name: str) -> str | None:
        """Return why no answer to this item can be saved; None if one can."""
        try:
            fill_in(self._text(), self.questions, name, "")
        except SheetError as error:
            return str(error)
        return None

    def _text(self) -> str:
        try:
            return self.path.read_bytes().decode("utf-8")
        except UnicodeDecodeError:
            raise GraderError(f"{self.path} is not UTF-8: save it as UTF-8.") from None
        except OSError as error:
            raise GraderError(f"{self.path} cannot be read ({error.strerror}): put a readable file there.") from None

    def _save(self, text: str) -> None:
        try:
            write_atomically(self.path, text)
        except OSError as error:
            why = error.strerror or error
            raise InternalError(f"{self.path} could not be written ({why}). It is as it was before.") from None


def find_sheet(unit: str, folder: Path | None = None) -> SheetFile:
    """Return the sheet of a unit's quiz in `folder`, by default the current one, or its exercises/.

    Raises GraderError.
    """
    source = find_received(FILENAME, folder)
    quizzes = read_questions(source)
    if unit not in quizzes:
        raise GraderError(f"There is no quiz {unit!r}; {source} has {', '.join(quizzes)}.{nearest(unit, quizzes)}")
    filename = quizzes[unit].filename
    places = [folder or Path(), (folder or Path()) / "exercises"]
    place = next((place for place in places if (place / filename).exists()), source.parent)
    return SheetFile(quizzes[unit], place / filename)
