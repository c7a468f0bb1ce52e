"""Reads the answers to a quiz in the cells of a notebook. None of it is run."""

from __future__ import annotations

import ast
import re
import warnings
from dataclasses import dataclass
from itertools import islice, pairwise
from typing import TYPE_CHECKING

from grader.quizzes.answers import LONGEST as LONGEST_SHOWN
from grader.quizzes.answers import AnswerError, is_blank, parse
from grader.quizzes.sheet import Sheet
from grader.submissions.notebook import ANSWER, QUIZ_MARK

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from grader.quizzes.questions import Kind, Question, Questions

MOST_ANSWERS = 500
"""The most answers in a notebook. A quiz has about fifteen items."""
MOST_LINES = 20
LONGEST = 1000
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


@dataclass(frozen=True)
class _Assigned:
    """An answer in a cell.

    Attributes:
        number: The number in its name.
        item: The item that it belongs to, if any.
        text: The text from the beginning of its line to the next answer.
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
    text = _written(question, *_parsed(answer.text))
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


def _parsed(text: str) -> tuple[ast.expr, str]:
    """Return the value that is assigned, and its lines. The lines below are ignored."""
    lines = text.translate(_STRAIGHT).split("\n", MOST_LINES)[:MOST_LINES]
    for count in range(1, len(lines) + 1):
        source = "\n".join(lines[:count])
        if len(source) > LONGEST:
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


def _written(question: Question, value: ast.expr, source: str) -> str:
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
