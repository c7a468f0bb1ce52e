"""solutions/<unit>_quiz.yml as a typed model: the only place where a question or an answer is written."""

from __future__ import annotations

import ast
import json
import math
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import BaseModel, Field

from grader.course.model import QUIZ_SUFFIX, Count
from grader.documents import CourseError, Document, Location, Model
from grader.quizzes.questions import LETTERS, Kind, Question, Questions, fill, names_in
from grader.quizzes.sheet import read_sheet, write_sheet

Text = Annotated[str, Field(pattern=r"\S")]
Columns = dict[str, Any]
Problems = Iterator[tuple[Location, str]]

_ITEM_NAME = re.compile(r"[a-z][a-z0-9]*(_[a-z0-9]+)*")


class Choice(Model):
    """What can be ticked, and what is said to who ticked it."""

    text: Text
    sentence: Text
    right: bool = False


class Line(Model):
    """A line of a program that can be ticked; `fix` is the wrong one as it should be."""

    sentence: Text
    right: bool = False
    fix: Text | None = None


class _Item(Model):
    points: Count
    question: Text
    explanation: Text

    def row(self, variant: int) -> Columns:  # noqa: ARG002 - items that vary do need it
        """What this variant puts in the place of each [[name]]."""
        return {}

    def texts_told(self) -> Iterator[tuple[Location, str]]:
        """The texts that are for after the due date, with their places."""
        yield ("explanation",), self.explanation

    def texts_asked(self) -> Iterator[tuple[Location, str]]:
        """The texts with [[name]] in them that a student reads at once, with their places."""
        yield ("question",), self.question

    def problems(self) -> Problems:
        """What is wrong with the item beyond its form: a place in it, and a sentence."""
        for location, text in (*self.texts_asked(), *self.texts_told()):
            for name in sorted(names_in(text)):
                yield location, f"[[{name}]] stands for nothing: this item has no variants."


class _Varied(_Item):
    variants: list[Columns] = Field(default_factory=list)

    def row(self, variant: int) -> Columns:
        return self.variants[variant % len(self.variants)] if self.variants else {}

    def parameters(self) -> list[Columns]:
        """The rows as far as the question uses them."""
        used = set().union(*(names_in(text) for _, text in self.texts_asked()))
        rows = [{name: value for name, value in row.items() if name in used} for row in self.variants]
        return rows if used else []

    def withheld(self) -> list[str]:
        """The columns that give the answer away."""
        return ["answer"]

    def problems(self) -> Problems:
        if not self.variants:
            yield from super().problems()
            return
        columns = list(self.variants[0])
        if len(self.variants) < 5:
            yield ("variants",), f"there are {len(self.variants)} variants: write at least five rows."
        for number, row in enumerate(self.variants):
            for name, value in row.items():
                if not _is_value(value):
                    yield ("variants", number, name), f"{name!r} should be a number, text or a list of whole numbers."
            if set(row) != set(columns):
                yield ("variants", number), f"this row should have the columns of the first: {', '.join(columns)}."
        asked = list(self.texts_asked())
        used = set(self.withheld())
        for location, text in (*asked, *self.texts_told()):
            for name in sorted(names_in(text)):
                used.add(name)
                if name not in columns:
                    yield location, f"[[{name}]] is no column of the variants: they have {', '.join(columns)}."
                elif name in self.withheld() and (location, text) in asked:
                    yield location, f"[[{name}]] gives the answer away: leave it out of what students read."
        for name in columns:
            if name not in used:
                yield ("variants", 0), f"the column {name!r} is used nowhere: use it, or leave it out of every row."


class ChoiceItem(_Varied):
    kind: Literal["one_choice", "several_choices", "true_false"]
    choices: Annotated[list[Choice], Field(min_length=2, max_length=len(LETTERS))]

    def texts_asked(self) -> Iterator[tuple[Location, str]]:
        yield from super().texts_asked()
        yield from ((("choices", number, "text"), choice.text) for number, choice in enumerate(self.choices))

    def texts_told(self) -> Iterator[tuple[Location, str]]:
        yield from super().texts_told()
        yield from ((("choices", number, "sentence"), choice.sentence) for number, choice in enumerate(self.choices))

    def options(self) -> dict[str, Choice]:
        return dict(zip(LETTERS, self.choices, strict=False))

    def asked(self) -> Question:
        texts = [choice.text for choice in self.choices]
        return _question(self, choices=texts, variants=self.parameters())

    def problems(self) -> Problems:
        found = list(super().problems())
        yield from found
        right = sum(choice.right for choice in self.choices)
        if self.kind == "several_choices" and not 0 < right < len(self.choices):
            yield ("choices",), "of several choices at least one is right and one is wrong: say `right: true` there."
        if self.kind != "several_choices" and right != 1:
            yield ("choices",), f"{right} choices are right: say `right: true` of exactly one."
        if self.kind == "true_false" and [choice.text for choice in self.choices] != ["true", "false"]:
            yield ("choices",), 'the choices of true_false are the texts "true" and "false", in this order.'
        sentences = [choice.sentence.strip() for choice in self.choices]
        for number, sentence in enumerate(sentences):
            if sentence in sentences[:number]:
                yield ("choices", number, "sentence"), "another choice has the same sentence: write one for each."
        if not found:
            for variant in range(max(1, len(self.variants))):
                texts = [fill(choice.text, self.row(variant)).strip() for choice in self.choices]
                for number, text in enumerate(texts):
                    if text in texts[:number]:
                        yield (
                            ("choices", number, "text"),
                            f"another choice reads the same in variant {variant}: {text!r}.",
                        )


class _Written(_Varied):
    """An item whose answer is written out: every variant has one, and wrong ones that are known."""

    variants: Annotated[list[Columns], Field(min_length=5)]
    slips: dict[str, Text] = Field(default_factory=dict)

    def texts_told(self) -> Iterator[tuple[Location, str]]:
        yield from super().texts_told()
        yield from ((("slips", name), sentence) for name, sentence in self.slips.items())

    def withheld(self) -> list[str]:
        return ["answer", *self.slips]

    def problems(self) -> Problems:
        yield from super().problems()
        if "answer" in self.slips:
            yield ("slips", "answer"), "the answer is no slip: name a column with a wrong result."
        for name in self.withheld():
            if name not in self.variants[0]:
                where = ("variants",) if name == "answer" else ("slips", name)
                yield where, f"the variants have no column {name!r}: every row needs it."
        for number, row in enumerate(self.variants):
            seen: dict[str, Any] = {}
            for name in self.withheld():
                if name not in row or not _is_value(row[name]):
                    continue  # said already
                if sentence := self.what_is_wrong_with(name, row[name]):
                    yield ("variants", number, name), sentence
                    continue
                for other, value in seen.items():
                    if self.are_alike(row[name], value):
                        yield ("variants", number, name), f"{name!r} cannot be told from {other!r}: change the row."
                seen[name] = row[name]

    def what_is_wrong_with(self, column: str, value: Any) -> str | None:
        """Why this cannot be an answer or a slip."""
        raise NotImplementedError

    def are_alike(self, one: Any, other: Any) -> bool:
        """Whether some answer would do for both."""
        raise NotImplementedError


class NumberItem(_Written):
    kind: Literal["number"]
    decimals: Annotated[int, Field(ge=1, le=9)] | None = None

    @property
    def tolerance(self) -> Fraction:
        """How far from the answer is still right: one unit of the last decimal; nothing of a whole number."""
        return Fraction(1, 10**self.decimals) if self.decimals else Fraction(0)

    def asked(self) -> Question:
        return _question(self, decimals=self.decimals, variants=self.parameters())

    def what_is_wrong_with(self, column: str, value: Any) -> str | None:
        if not isinstance(value, int | float) or not math.isfinite(value):
            return f"{column!r} should be a number."
        if column == "answer" and not self.decimals and value != int(value):
            return f"the answer {value} is no whole number: say to how many `decimals` it is asked."
        return None

    def are_alike(self, one: Any, other: Any) -> bool:
        return abs(exact(one) - exact(other)) <= 2 * self.tolerance


class ShapeItem(_Written):
    kind: Literal["shape"]

    def asked(self) -> Question:
        return _question(self, variants=self.parameters())

    def what_is_wrong_with(self, column: str, value: Any) -> str | None:
        if not isinstance(value, list) or not all(type(size) is int and size >= 0 for size in value):
            return f"{column!r} should be a shape: a list of whole numbers."
        return None

    def are_alike(self, one: Any, other: Any) -> bool:
        return one == other


class OrderItem(_Item):
    kind: Literal["order"]
    steps: Annotated[list[Text], Field(min_length=3, max_length=len(LETTERS))]
    answer: Text

    def asked(self) -> Question:
        return _question(self, steps=self.steps)

    def problems(self) -> Problems:
        yield from super().problems()
        for number, step in enumerate(self.steps):
            if names_in(step):
                yield ("steps", number), "steps have no variants: write the step out."
            if step.strip() in [other.strip() for other in self.steps[:number]]:
                yield ("steps", number), "this step is there twice: leave one of them out."
        letters = LETTERS[: len(self.steps)]
        if sorted(self.answer.split()) != list(letters):
            yield ("answer",), f"the answer should hold each letter from a to {letters[-1]} once, with spaces between."
        elif self.answer.split() == list(letters):
            yield ("answer",), "the steps are in the right order already: show them in another."


class BugItem(_Item):
    kind: Literal["bug"]
    code: Text
    lines: Annotated[dict[int, Line], Field(min_length=4, max_length=len(LETTERS))]

    def options(self) -> dict[str, int]:
        """The number of the line that each letter stands for."""
        return dict(zip(LETTERS, sorted(self.lines), strict=False))

    def wrong_line(self) -> int:
        return next(number for number, line in self.lines.items() if line.right)

    def program(self, mended: bool = False) -> str:
        """The program as it is shown, or with its mistake put right."""
        lines = self.code.rstrip().split("\n")
        if mended:
            number = self.wrong_line()
            lines[number - 1] = self.lines[number].fix or ""
        return "\n".join(lines)

    def asked(self) -> Question:
        return _question(self, code=self.program(), lines=sorted(self.lines))

    def texts_told(self) -> Iterator[tuple[Location, str]]:
        yield from super().texts_told()
        yield from ((("lines", number, "sentence"), line.sentence) for number, line in self.lines.items())

    def problems(self) -> Problems:
        yield from super().problems()
        code = self.program().split("\n")
        if problem := _syntax_problem(self.program()):
            yield ("code",), problem
        if sum(line.right for line in self.lines.values()) != 1:
            yield ("lines",), "exactly one line is wrong: say `right: true` of the one to tick."
        sentences: set[str] = set()
        for number, line in self.lines.items():
            here = ("lines", number)
            if not 1 <= number <= len(code) or not code[number - 1].strip():
                yield here, f"the code has nothing on line {number}: name a line with code, counted from 1."
            elif line.right != (line.fix is not None):
                yield here, "`fix` belongs to the line that is right to tick, and to it alone."
            elif line.fix is not None:
                yield from self._problems_of_fix((*here, "fix"), line.fix, code[number - 1])
            if line.sentence.strip() in sentences:
                yield (*here, "sentence"), "another line has the same sentence: write one for each."
            sentences.add(line.sentence.strip())

    def _problems_of_fix(self, here: Location, fix: str, line: str) -> Problems:
        if "\n" in fix or _indentation(fix) != _indentation(line):
            yield here, f"the fix should be one line, indented by {len(_indentation(line))} spaces like the wrong one."
        elif fix.strip() == line.strip():
            yield here, "the fix is the line as it was: write it as it should be."
        elif not _syntax_problem(self.program()) and (problem := _syntax_problem(self.program(mended=True))):
            yield here, f"with the fix, {problem}"


Item = ChoiceItem | NumberItem | ShapeItem | OrderItem | BugItem

_KINDS: dict[str, type[Item]] = {
    "one_choice": ChoiceItem,
    "several_choices": ChoiceItem,
    "true_false": ChoiceItem,
    "number": NumberItem,
    "shape": ShapeItem,
    "order": OrderItem,
    "bug": BugItem,
}


@dataclass(frozen=True)
class Quiz:
    """A unit's quiz with its answers."""

    unit: str
    title: str
    items: dict[str, Item]

    @cached_property
    def questions(self) -> Questions:
        """What students may know of it."""
        return Questions(
            unit=self.unit,
            title=self.title,
            items={name: item.asked() for name, item in self.items.items()},
        )

    def to_json(self) -> str:
        """All of it, answers included: what the points of a quiz depend on."""
        return json.dumps([self.title, {name: item.model_dump() for name, item in self.items.items()}])


class _Source(Model):
    title: Text
    items: Annotated[dict[str, Any], Field(min_length=1)]


class _OfSomeKind(BaseModel):
    kind: Kind


def load_quiz(path: Path) -> Quiz:
    """Read a quiz's source. Raises CourseError with every problem found, each with its place and its mend."""
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
            continue  # reported as no name
        if not _ITEM_NAME.fullmatch(item_name):
            document.report_key(
                ("items", item_name),
                f"{item_name!r} cannot be a heading: name the item in small letters, with _ between words.",
            )
        elif item := _load_item(document, ("items", item_name)):
            items[item_name] = item
    document.require_sound()
    assert source
    quiz = Quiz(path.name.removesuffix(QUIZ_SUFFIX), source.title, items)
    _check_sheet(document, quiz)
    document.require_sound()
    return quiz


def load_quizzes(solutions: Path, units: Iterable[str]) -> dict[str, Quiz]:
    """The quizzes of some units. Raises CourseError with the problems of all of them."""
    quizzes, problems = {}, []
    for unit in units:
        try:
            quizzes[unit] = load_quiz(solutions / f"{unit}{QUIZ_SUFFIX}")
        except CourseError as error:
            problems.append(str(error))
    if problems:
        raise CourseError("\n".join(problems))
    return quizzes


def _load_item(document: Document, at: Location) -> Item | None:
    kind = document.validate(_OfSomeKind, at)
    if kind is None:
        return None
    item = document.validate(_KINDS[kind.kind], at)
    if item is None:
        return None
    problems = list(item.problems())
    for location, sentence in problems:
        document.report((*at, *location), sentence)
    return None if problems else item


def _check_sheet(document: Document, quiz: Quiz) -> None:
    """What is written in a question must not be mistaken for an answer, or for another item."""
    sheet = read_sheet(write_sheet(quiz.questions, None, {}), quiz.questions)
    for name in quiz.items:
        if name in sheet.problems or name in sheet.answers:
            document.report(
                ("items", name, "question"),
                "its Markdown cannot be told from the sheet's own: no lines like `## 1. …`, `- [ ] a)` or `Answer:`, "
                "and no code block that is not closed.",
            )


def _question(item: Item, **more: Any) -> Question:
    return Question(kind=item.kind, points=item.points, question=item.question, **more)


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


def exact(number: float) -> Fraction:
    """The number as it is written in the source: 0.1 is a tenth."""
    return Fraction(repr(number))
