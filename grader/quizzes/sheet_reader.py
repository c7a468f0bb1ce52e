"""Reads the answers to a quiz in a sheet or in the cells of a notebook, and saves others in a sheet. Runs nothing."""

from __future__ import annotations

import ast
import re
import unicodedata
import warnings
from collections.abc import Iterator, Mapping, Sequence
from itertools import islice, pairwise
from typing import NamedTuple

from grader.quizzes.answers import LONGEST as LONGEST_SHOWN
from grader.quizzes.answers import AnswerError, is_blank, missing_decimals, parse
from grader.quizzes.questions import VARIANTS, Kind, Question, Questions
from grader.quizzes.sheet import BLANK, Section, Sections, Sheet, SheetError, has_boxes
from grader.submissions.notebook import ANSWER, QUIZ_MARK
from grader.submissions.submission import SHEET_LIMIT
from grader.text import UNSEEN, in_words

LINE_LIMIT = 5000
"""The most lines of a sheet. It has about three hundred; this many are read in a fraction of a second."""

_BOX = re.compile(r"\\?\[(.{0,9}?)\\?\]\s*([a-zA-Z])\)")
_ANSWER = re.compile(r"[*_]{0,3}answer[*_]{0,3}[ \t]*[:：][*_]{0,3}", re.IGNORECASE)
_ESCAPED = re.compile(r"\\([!-/:-@\[-`{-~])")
_LINE_END = re.compile("(\r\n|\r|\n)")
_TICKS = {"x", "✓", "✔", "☑", "✅"}
# What looks like an x: Cyrillic and Greek letters, and signs of products. An emoji may have a selector behind it.
_LOOKS_LIKE_X = str.maketrans(dict.fromkeys("\u0445χ×✕✖⨉⨯", "x") | dict.fromkeys("\ufe0e\ufe0f"))

MOST_ANSWERS = 500
"""The most answers in a notebook. A quiz has about fifteen items."""
MOST_LINES = 20
LONGEST_CODE = 1000
"""The most lines and characters of one answer that Python's parser gets."""
_CODE = re.compile(r"^[ \t]*[^#\s]", re.MULTILINE)
# Word processors write these quotes, which Python does not accept.
_STRAIGHT = str.maketrans(
    dict.fromkeys("\u201c\u201d\u201e\u201f", '"') | dict.fromkeys("\u2018\u2019\u201a\u201b", "'")
)
# For the comment in each cell and, for kinds that ask for letters, for messages.
WHAT_TO_WRITE: dict[Kind, str] = {
    "one_choice": 'one letter in quotes, such as "b"',
    "several_choices": 'one letter or more in quotes, such as "a c"',
    "true_false": "True or False",
    "number": "a number, such as 12, 3.125 or 1/8",
    "shape": "a shape, such as (2, 4, 5)",
    "order": 'all letters in the right order, in quotes, such as "b a c"',
    "bug": 'one letter in quotes, such as "b"',
}


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
    """The number of the line with `Answer:`, the text after it, and whether that continues or other text follows."""

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


class _Assigned(NamedTuple):
    """An answer in a cell: the number in its name, its item, if any, and the text of its line up to the next answer.

    start: Where in the text the answer itself begins.
    """

    number: int
    item: str | None
    text: str
    start: int


def read_cells(cells: Sequence[tuple[str | None, str]], questions: Questions, filename: str) -> Sheet:
    """Read the answers in a notebook's cells. Never fails, like `read_sheet`.

    An answer belongs to the item with its number or, if there is none, to the item of its cell's grade_id. The last
    answer that is not blank counts. Notebooks ask the questions of variant 0.

    Args:
        cells: Each cell's grade_id and text.
        questions: The quiz.
        filename: The name of the notebook in messages.
    """
    assigned = list(islice(_assigned(cells, questions), MOST_ANSWERS + 1))
    if len(assigned) > MOST_ANSWERS:
        return Sheet(remarks=(f"{filename} assigns answers far too often: keep one for each question.",))
    answers: dict[str, str] = {}
    problems: dict[str, str] = {}
    remarks: list[str] = []
    for answer in reversed(assigned):
        name = answer.item
        if name is None:
            last = len(questions.items)
            remarks.insert(
                0, f"{filename}: answer_{answer.number} belongs to no question: the last one is answer_{last}."
            )
        elif name not in answers and name not in problems:
            try:
                raw = _as_text(questions.items[name], answer)
                if not is_blank(raw):
                    _require_readable(questions.items[name], raw)
                    answers[name] = raw
            except AnswerError as error:
                problems[name] = f"{filename}: answer_{answer.number}: {error}"
    # Items whose cells have code, but no line that assigns an answer.
    lost = {_item(grade_id) for grade_id, source in cells if _CODE.search(source)} - {one.item for one in assigned}
    for number, name in enumerate(questions.items, start=1):
        if name in lost:
            problems[name] = (
                f"{filename}: answer_{number}: its cell has no line that begins with `answer_{number} =`: put it back."
            )
    return Sheet(answers=answers, problems=problems, remarks=tuple(dict.fromkeys(remarks)))


def _assigned(cells: Sequence[tuple[str | None, str]], questions: Questions) -> Iterator[_Assigned]:
    names = [None, *questions.items]
    for grade_id, source in cells:
        marked = _item(grade_id) if _item(grade_id) in questions.items else None
        for match, following in pairwise([*ANSWER.finditer(source), None]):
            assert match
            text = source[match.start() : following.start() if following else None]
            number = int(match[1])
            yield _Assigned(number, names[number] if 0 < number < len(names) else marked, text, len(match[0]))


def _item(grade_id: str | None) -> str | None:
    return grade_id.removeprefix(QUIZ_MARK) if grade_id and grade_id.startswith(QUIZ_MARK) else None


def _as_text(question: Question, answer: _Assigned) -> str:
    """Return the answer as a sheet would have it; "" if it is blank. Raises AnswerError."""
    rest = answer.text[answer.start :].partition("\n")[0].strip()
    if not rest or rest.startswith("#"):
        return ""
    text = _code_text(question, *_value(answer.text))
    if question.kind == "true_false":
        letters = {option.casefold(): letter for letter, option in question.options(0).items()}
        return letters.get(text.strip().casefold(), text)
    return text


def _require_readable(question: Question, raw: str) -> None:
    """Raise AnswerError if an answer cannot be read, with a fix for notebooks."""
    try:
        parse(question, raw)
    except AnswerError as error:
        if question.kind == "true_false":
            raise AnswerError(f"{raw[:LONGEST_SHOWN]!r} should be True or False", "write one of the two") from None
        if question.kind in ("one_choice", "several_choices", "order", "bug"):
            raise AnswerError(error.wrong, f"write {WHAT_TO_WRITE[question.kind]}") from None
        raise


def _value(text: str) -> tuple[ast.expr, str]:
    """Return the value that is assigned, and its lines. The lines below are ignored."""
    lines = text.translate(_STRAIGHT).split("\n", MOST_LINES)[:MOST_LINES]
    for count in range(1, len(lines) + 1):
        source = "\n".join(lines[:count])
        if len(source) > LONGEST_CODE:
            break
        try:
            with warnings.catch_warnings(action="ignore"):
                statement = ast.parse(source).body[0]
        except (SyntaxError, ValueError, RecursionError, MemoryError):
            continue  # it may continue in the next line
        if isinstance(statement, ast.Assign | ast.AnnAssign) and statement.value:
            return statement.value, source
        break
    raise AnswerError("it cannot be read", 'write it in one line, like "b", "a c", 2.5, (2, 4) or True')


def _code_text(question: Question, value: ast.expr, source: str) -> str:
    """Return a text, or letters, without Python's quotes and brackets; anything else exactly as it is written."""
    segment = ast.get_source_segment(source, value) or ""
    if isinstance(value, ast.Constant):
        if value.value is None or value.value is ...:
            return ""
        if isinstance(value.value, str):
            return value.value
        return segment.replace("_", "")
    if isinstance(value, ast.Tuple | ast.List | ast.Set):
        texts = [item.value for item in value.elts if isinstance(item, ast.Constant) and isinstance(item.value, str)]
        # Of a shape, empty brackets are an answer.
        if len(texts) == len(value.elts) and (texts or question.kind != "shape"):
            return " ".join(texts)
    return segment
