"""Reads and checks the source of a quiz, solutions/<unit>_quiz.yml, and of practice items, <unit>_practice.yml.

They are the only place where questions and answers are written.
"""

from __future__ import annotations

import ast
import json
import math
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Annotated, Any

from pydantic import BaseModel, Field

from grader.documents import CourseError, Document, Location, Model
from grader.quizzes.arithmetic import FormulaError, evaluate, numbers_in, rounded
from grader.quizzes.items import (
    KINDS,
    BaseItem,
    BugItem,
    ChoiceItem,
    Item,
    Line,
    NumberItem,
    OrderItem,
    ShapeItem,
    Text,
    VariedItem,
    exact,
)
from grader.quizzes.questions import LETTERS, PRACTICE_SUFFIX, QUIZ_SUFFIX, Kind, Questions, fill, names_in
from grader.quizzes.sheet import write_sheet
from grader.quizzes.sheet_reader import read_sheet

_ITEM_NAME = re.compile(r"[a-z][a-z0-9]*(_[a-z0-9]+)*")

Problems = Iterator[tuple[Location, str]]


@dataclass(frozen=True)
class QuizSource:
    """A unit's quiz, or its practice items, with the answers.

    Attributes:
        unit: The unit.
        title: The title.
        items: The items by name.
        places: The file and line of each item in the source; none if it was read from another file.
    """

    unit: str
    title: str
    items: dict[str, Item]
    places: dict[str, str] = field(default_factory=dict, compare=False)

    @cached_property
    def questions(self) -> Questions:
        """What students may know of it."""
        return Questions(
            unit=self.unit,
            title=self.title,
            items={name: item.asked() for name, item in self.items.items()},
        )

    @cached_property
    def text(self) -> str:
        """All of it as JSON, answers included, for the digest of what the points depend on."""
        return json.dumps([self.title, {name: item.model_dump() for name, item in self.items.items()}])


class _Source(Model):
    title: Text
    items: Annotated[dict[str, Any], Field(min_length=1)]


class _OfSomeKind(BaseModel):
    kind: Kind


def load_quiz(path: Path) -> QuizSource:
    """Read the source of a quiz or of practice items.

    Raises:
        CourseError: Every problem found, each with its place and its fix.
    """
    name = f"{path.parent.name}/{path.name}"
    try:
        document = Document(path, name, _Source)
    except FileNotFoundError:
        raise CourseError(f"{name} is missing: write the quiz there.") from None
    source = document.validate(_Source)
    items: dict[str, Item] = {}
    found = document.data.get("items")
    for item_name in found if isinstance(found, dict) else ():
        if not isinstance(item_name, str):
            continue  # reported already
        if not _ITEM_NAME.fullmatch(item_name):
            document.report_key(
                ("items", item_name),
                f"{item_name!r} cannot be a heading: name the item in small letters, with _ between words.",
            )
        elif item := _load_item(document, ("items", item_name)):
            items[item_name] = item
    document.require_sound()
    assert source
    unit = path.name.removesuffix(QUIZ_SUFFIX).removesuffix(PRACTICE_SUFFIX)
    places = {item: f"{name}:{document.line_of(('items', item))}" for item in items}
    quiz = QuizSource(unit, source.title, items, places)
    _check_sheet(document, quiz)
    document.require_sound()
    return quiz


def load_quizzes(solutions: Path, units: Iterable[str]) -> dict[str, QuizSource]:
    """Read the quizzes of some units. Raises CourseError with the problems of all of them."""
    return _load_all(solutions / f"{unit}{QUIZ_SUFFIX}" for unit in units)


def load_practice(solutions: Path, units: Iterable[str], quizzes: Iterable[QuizSource]) -> dict[str, QuizSource]:
    """Read the practice items of the units that have some.

    Args:
        solutions: The folder of the sources.
        units: The units.
        quizzes: The graded quizzes of the course.

    Raises:
        CourseError: The problems of all sources. An item that is graded too, by its name or by its question, is one.
    """
    sources = (solutions / f"{unit}{PRACTICE_SUFFIX}" for unit in units)
    practice = _load_all(source for source in sources if source.is_file())
    graded: dict[str, str] = {}
    for quiz in quizzes:
        for name, item in quiz.items.items():
            graded |= {name: quiz.places[name], _normalised(item.question): quiz.places[name]}
    found = [
        f"{items.places[name]}: {what} of {name!r} is also in {graded[key]}, where it is graded: an item is for "
        "practice or graded, never both. Change one of them."
        for items in practice.values()
        for name, item in items.items.items()
        for what, key in (("the name", name), ("the question", _normalised(item.question)))
        if key in graded
    ]
    if found:
        raise CourseError("\n".join(found))
    return practice


def _load_all(sources: Iterable[Path]) -> dict[str, QuizSource]:
    """Read several sources, by unit. Raises CourseError with the problems of all of them."""
    quizzes, found = [], []
    for source in sources:
        try:
            quizzes.append(load_quiz(source))
        except CourseError as error:
            found.append(str(error))
    if found:
        raise CourseError("\n".join(found))
    return {quiz.unit: quiz for quiz in quizzes}


def _normalised(question: str) -> str:
    """Return the words and numbers of a question, so that other case, spaces, marks and parameters do not differ."""
    return " ".join(re.findall(r"\w+", re.sub(r"\[\[\w+\]\]", " ", question).casefold())) + "?"


def _load_item(document: Document, at: Location) -> Item | None:
    kind = document.validate(_OfSomeKind, at)
    if kind is None:
        return None
    item = document.validate(KINDS[kind.kind], at)
    if item is None:
        return None
    item, found = _computed(item)
    found = found or list(problems(item))
    for location, sentence in found:
        document.report((*at, *location), sentence)
    return None if found else item


def _computed(item: Item) -> tuple[Item, list[tuple[Location, str]]]:
    """Return an item with the results of its formulas in every variant, and what prevents it."""
    if not isinstance(item, NumberItem | ShapeItem) or not item.formulas:
        return item, []
    decimals = item.decimals if isinstance(item, NumberItem) else None
    found, rows = list(_of_rows(item)), [dict(row) for row in item.variants]
    for number, row in enumerate(() if found else rows):
        names = numbers_in(row)
        for column, formula in item.formulas.items():
            if column in row:
                return item, [(("variants", number, column), f"a formula gives {column!r}: leave it out of the rows.")]
            try:
                names[column] = evaluate(formula, names)
                row[column] = rounded(names[column], decimals)
            except FormulaError as error:
                return item, [(("formulas", column), f"in variant {number}, {error}")]
    return item.model_copy(update={"variants": rows, "formulas": {}}), found


def _check_sheet(document: Document, quiz: QuizSource) -> None:
    """Report each question whose text would be read as an answer, or as another item."""
    sheet = read_sheet(write_sheet(quiz.questions, None, {}), quiz.questions)
    for name in quiz.items:
        if name in sheet.problems or name in sheet.answers:
            document.report(
                ("items", name, "question"),
                "its Markdown cannot be distinguished from the sheet's own: write no lines like `## 1. …`, "
                "`- [ ] a)` or `Answer:`, and close every code block.",
            )


def problems(item: Item) -> Problems:
    """Yield each problem of an item: a place in it, and a sentence."""
    match item:
        case ChoiceItem():
            return _of_choices(item)
        case NumberItem() | ShapeItem():
            return _of_written(item)
        case OrderItem():
            return _of_order(item)
        case BugItem():
            return _of_bug(item)


def _of_parameters(item: BaseItem) -> Problems:
    """Check each [[name]] against the variants."""
    if isinstance(item, VariedItem) and item.variants:
        yield from _of_rows(item)
        yield from _of_names(item)
        return
    for location, text in (*item.texts_asked(), *item.texts_after_due()):
        for name in sorted(names_in(text)):
            yield location, f"[[{name}]] has no value: this item has no variants."


def _of_rows(item: VariedItem) -> Problems:
    columns = list(item.variants[0])
    if len(item.variants) < 5:
        yield ("variants",), f"there are {len(item.variants)} variants: write at least five rows."
    for number, row in enumerate(item.variants):
        for name, value in row.items():
            if not _is_value(value):
                yield ("variants", number, name), f"{name!r} should be a number, text or a list of whole numbers."
        if set(row) != set(columns):
            yield ("variants", number), f"this row should have the columns of the first: {', '.join(columns)}."


def _of_names(item: VariedItem) -> Problems:
    columns, withheld = list(item.variants[0]), item.withheld()
    asked, later = list(item.texts_asked()), list(item.texts_after_due())
    for location, text in (*asked, *later):
        for name in sorted(names_in(text)):
            if name not in columns:
                yield location, f"[[{name}]] is not a column of the variants: they have {', '.join(columns)}."
            elif name in withheld and (location, text) in asked:
                yield location, f"[[{name}]] gives the answer away: leave it out of what students read."
    used = {*withheld, *(name for _, text in (*asked, *later) for name in names_in(text))}
    for name in columns:
        if name not in used:
            yield ("variants", 0), f"the column {name!r} is in no text: use it there, or leave it out."


def _of_choices(item: ChoiceItem) -> Problems:
    found = list(_of_parameters(item))
    yield from found
    right = sum(choice.right for choice in item.choices)
    if item.kind == "several_choices" and not 0 < right < len(item.choices):
        yield ("choices",), "of several choices at least one is right and one is wrong: say `right: true` there."
    if item.kind != "several_choices" and right != 1:
        yield ("choices",), f"{right} choices are right: say `right: true` of exactly one."
    if item.kind == "true_false" and [choice.text for choice in item.choices] != ["true", "false"]:
        yield ("choices",), 'the choices of true_false are the texts "true" and "false", in this order.'
    for number in _repeated(choice.sentence.strip() for choice in item.choices):
        yield ("choices", number, "sentence"), "another choice has the same sentence: write one for each."
    if found:
        return  # its texts cannot be filled in
    for variant in range(max(1, len(item.variants))):
        texts = [fill(choice.text, item.row(variant)).strip() for choice in item.choices]
        for number in _repeated(texts):
            sentence = f"another choice reads the same in variant {variant}: {texts[number]!r}."
            yield ("choices", number, "text"), sentence


def _of_written(item: NumberItem | ShapeItem) -> Problems:
    yield from _of_parameters(item)
    if "answer" in item.slips:
        yield ("slips", "answer"), "the answer is not a slip: name a column with a wrong result."
    for name in item.withheld():
        if name not in item.variants[0]:
            location = ("variants",) if name == "answer" else ("slips", name)
            yield location, f"no formula and no column of the variants gives {name!r}: write a formula."
    for number, row in enumerate(item.variants):
        seen: dict[str, Any] = {}
        for name in item.withheld():
            if name not in row or not _is_value(row[name]):
                continue  # reported already
            if sentence := _wrong_value(item, name, row[name]):
                yield ("variants", number, name), sentence
                continue
            for other, value in seen.items():
                if _are_alike(item, row[name], value):
                    sentence = f"{name!r} cannot be distinguished from {other!r}: change the row."
                    yield ("variants", number, name), sentence
            seen[name] = row[name]


def _wrong_value(item: NumberItem | ShapeItem, column: str, value: Any) -> str | None:
    """Return why a value cannot be an answer or a slip; None if it can."""
    if isinstance(item, ShapeItem):
        is_shape = isinstance(value, list) and all(type(size) is int and size >= 0 for size in value)
        return None if is_shape else f"{column!r} should be a shape: a list of whole numbers."
    if not isinstance(value, int | float) or not math.isfinite(value):
        return f"{column!r} should be a number."
    if column == "answer" and not item.decimals and value != int(value):
        return f"the answer {value} is not a whole number: say to how many `decimals` it is asked."
    return None


def _are_alike(item: NumberItem | ShapeItem, one: Any, other: Any) -> bool:
    """Return whether some answer would be accepted for both."""
    if isinstance(item, ShapeItem):
        return bool(one == other)
    return abs(exact(one) - exact(other)) <= 2 * item.tolerance


def _of_order(item: OrderItem) -> Problems:
    yield from _of_parameters(item)
    repeated = _repeated(step.strip() for step in item.steps)
    for number, step in enumerate(item.steps):
        if names_in(step):
            yield ("steps", number), "steps have no variants: write the step out."
        if number in repeated:
            yield ("steps", number), "this step is there twice: leave one of them out."
    letters = list(LETTERS[: len(item.steps)])
    if sorted(item.answer.split()) != letters:
        yield ("answer",), f"the answer should hold each letter from a to {letters[-1]} once, with spaces between."
    elif item.answer.split() == letters:
        yield ("answer",), "the steps are in the right order already: show them in another."


def _of_bug(item: BugItem) -> Problems:
    yield from _of_parameters(item)
    code = item.program().split("\n")
    if problem := _syntax_problem(item.program()):
        yield ("code",), problem
    if sum(line.right for line in item.lines.values()) != 1:
        yield ("lines",), "exactly one line is wrong: say `right: true` of the one to tick."
    repeated = _repeated(line.sentence.strip() for line in item.lines.values())
    for place, (number, line) in enumerate(item.lines.items()):
        yield from _of_line(item, number, line, code)
        if place in repeated:
            yield ("lines", number, "sentence"), "another line has the same sentence: write one for each."


def _of_line(item: BugItem, number: int, line: Line, code: list[str]) -> Problems:
    here = ("lines", number)
    if not 1 <= number <= len(code) or not code[number - 1].strip():
        yield here, f"the code has nothing on line {number}: name a line with code, counted from 1."
    elif line.right != (line.fix is not None):
        yield here, "`fix` belongs to the line that is right to tick, and to it alone."
    elif line.fix is not None:
        wrong = code[number - 1]
        if "\n" in line.fix or _indentation(line.fix) != _indentation(wrong):
            spaces = len(_indentation(wrong))
            yield (*here, "fix"), f"the fix should be one line, indented by {spaces} spaces like the wrong one."
        elif line.fix.strip() == wrong.strip():
            yield (*here, "fix"), "the fix is the same as the wrong line: write it as it should be."
        elif not _syntax_problem(item.program()) and (problem := _syntax_problem(item.program(fixed=True))):
            yield (*here, "fix"), f"with the fix, {problem}"


def _repeated(texts: Iterable[str]) -> list[int]:
    """Return the positions of the texts that repeat an earlier one."""
    texts = list(texts)
    return [number for number, text in enumerate(texts) if text in texts[:number]]


def _is_value(value: Any) -> bool:
    if isinstance(value, list):
        return all(type(size) is int for size in value)
    return type(value) in (int, float, str)


def _indentation(line: str) -> str:
    return line[: len(line) - len(line.lstrip())]


def _syntax_problem(code: str) -> str | None:
    try:
        ast.parse(code)
    except SyntaxError as error:
        return f"line {error.lineno} of the code is not Python ({error.msg}): correct it."
    return None
