"""The items of a quiz with their answers, one model for each kind, and the points and sentences for an answer."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import combinations
from math import floor
from typing import Annotated, Any, Literal

from pydantic import Field

from grader.documents import Count, Location, Model
from grader.quizzes.answers import decimals_in, missing_decimals, parse_letters, parse_number, parse_shape
from grader.quizzes.questions import LETTERS, Question, fill, names_in, quoted, rendered

Text = Annotated[str, Field(pattern=r"\S")]
Columns = dict[str, Any]
"""A row of the variants: the value of each [[name]]."""
Texts = Iterator[tuple[Location, str]]


class Choice(Model):
    """A choice, and the sentence for students who tick it."""

    text: Text
    sentence: Text
    right: bool = False


class Line(Model):
    """A line of a program that can be ticked; the wrong one has its correction in `fix`."""

    sentence: Text
    right: bool = False
    fix: Text | None = None


class BaseItem(Model):
    """What all items have."""

    points: Count
    question: Text
    explanation: Text

    def row(self, variant: int) -> Columns:  # noqa: ARG002 - items with variants need it
        """Return the value of each [[name]] in this variant."""
        return {}

    def texts_after_due(self) -> Texts:
        """Yield the texts that students read after the due date, with their places."""
        yield ("explanation",), self.explanation
        yield from self._sentences()

    def _sentences(self) -> Texts:
        yield from ()

    def texts_asked(self) -> Texts:
        """Yield the texts with [[name]] in them that a student reads at once, with their places."""
        yield ("question",), self.question


class VariedItem(BaseItem):
    """An item that may differ from variant to variant."""

    variants: list[Columns] = Field(default_factory=list)

    def row(self, variant: int) -> Columns:
        """Return the value of each [[name]] in this variant."""
        return self.variants[variant % len(self.variants)] if self.variants else {}

    def parameters(self) -> list[Columns]:
        """Return the columns of each row that the question uses."""
        used = set().union(*(names_in(text) for _, text in self.texts_asked()))
        rows = [{name: value for name, value in row.items() if name in used} for row in self.variants]
        return rows if used else []

    def withheld(self) -> list[str]:
        """Return the columns that give the answer away."""
        return ["answer"]


class ChoiceItem(VariedItem):
    """One choice is right, or several are."""

    kind: Literal["one_choice", "several_choices", "true_false"]
    choices: Annotated[list[Choice], Field(min_length=2, max_length=len(LETTERS))]

    def texts_asked(self) -> Texts:
        """Yield the question and the choices."""
        yield from super().texts_asked()
        yield from ((("choices", number, "text"), choice.text) for number, choice in enumerate(self.choices))

    def _sentences(self) -> Texts:
        yield from ((("choices", number, "sentence"), choice.sentence) for number, choice in enumerate(self.choices))

    def options(self) -> dict[str, Choice]:
        """Return the choices by letter."""
        return dict(zip(LETTERS, self.choices, strict=False))

    def asked(self) -> Question:
        """Return the item without its answer."""
        texts = [choice.text for choice in self.choices]
        return _question(self, choices=texts, variants=self.parameters())


class WrittenItem(VariedItem):
    """An item whose answer is written out. Each variant has one, and columns of known wrong ones, the slips.

    A source gives formulas for columns, and has none once it is read: then every variant has the results.
    """

    variants: Annotated[list[Columns], Field(min_length=5)]
    formulas: dict[str, Text] = Field(default_factory=dict, exclude=True)
    slips: dict[str, Text] = Field(default_factory=dict)

    def _sentences(self) -> Texts:
        yield from ((("slips", name), sentence) for name, sentence in self.slips.items())

    def withheld(self) -> list[str]:
        """Return the columns of the answer and of the slips."""
        return ["answer", *self.slips]


class NumberItem(WrittenItem):
    """The answer is a number."""

    kind: Literal["number"]
    decimals: Annotated[int, Field(ge=1, le=9)] | None = None

    @property
    def tolerance(self) -> Fraction:
        """The largest error that is accepted: one unit of the last decimal; zero for a whole number."""
        return Fraction(1, 10**self.decimals) if self.decimals else Fraction(0)

    def asked(self) -> Question:
        """Return the item without its answer."""
        return _question(self, decimals=self.decimals, variants=self.parameters())


class ShapeItem(WrittenItem):
    """The answer is the shape of a tensor."""

    kind: Literal["shape"]

    def asked(self) -> Question:
        """Return the item without its answer."""
        return _question(self, variants=self.parameters())


class OrderItem(BaseItem):
    """Steps are put in order; the answer is their letters."""

    kind: Literal["order"]
    steps: Annotated[list[Text], Field(min_length=3, max_length=len(LETTERS))]
    answer: Text

    def asked(self) -> Question:
        """Return the item without its answer."""
        return _question(self, steps=self.steps)


class BugItem(BaseItem):
    """One line of a program is wrong."""

    kind: Literal["bug"]
    code: Text
    lines: Annotated[dict[int, Line], Field(min_length=4, max_length=len(LETTERS))]

    def options(self) -> dict[str, Line]:
        """Return the lines that can be ticked, by letter."""
        return {letter: self.lines[number] for letter, number in zip(LETTERS, sorted(self.lines), strict=False)}

    def wrong_line(self) -> int:
        """Return the number of the wrong line."""
        return next(number for number, line in self.lines.items() if line.right)

    def program(self, fixed: bool = False) -> str:
        """Return the program as students see it, or with its mistake fixed."""
        lines = self.code.rstrip().split("\n")
        if fixed:
            number = self.wrong_line()
            lines[number - 1] = self.lines[number].fix or ""
        return "\n".join(lines)

    def asked(self) -> Question:
        """Return the item without its answer."""
        return _question(self, code=self.program(), lines=sorted(self.lines))

    def _sentences(self) -> Texts:
        yield from ((("lines", number, "sentence"), line.sentence) for number, line in self.lines.items())


Item = ChoiceItem | NumberItem | ShapeItem | OrderItem | BugItem

KINDS: dict[str, type[Item]] = {
    **dict.fromkeys(("one_choice", "several_choices", "true_false"), ChoiceItem),
    "number": NumberItem,
    "shape": ShapeItem,
    "order": OrderItem,
    "bug": BugItem,
}


def exact(number: float) -> Fraction:
    """Return the number exactly as the source has it: 0.1 is a tenth."""
    return Fraction(repr(number))


def _question(item: Item, **more: Any) -> Question:
    return Question(kind=item.kind, points=item.points, question=item.question, **more)


@dataclass(frozen=True)
class Mark:
    """The points of one answer, of the item's points times the weight, and sentences for the student."""

    points: int
    sentences: list[str]


def mark(item: Item, raw: str, variant: int, weight: int) -> Mark:
    """Mark a readable answer. Points are rounded down once, and never below zero."""
    share, sentences = _marked(item, raw, item.row(variant))
    points = floor(max(Fraction(0), share) * item.points * weight)
    return Mark(points, [fill(sentence, item.row(variant)).strip() for sentence in sentences])


def too_short(item: Item, raw: str, variant: int) -> str | None:
    """Return a sentence if a wrong number is the right one rounded to fewer decimals than asked for; None otherwise."""
    sentence = missing_decimals(item.asked(), raw)
    if sentence is None or not isinstance(item, NumberItem) or mark(item, raw, variant, 1).points:
        return None
    error = abs(parse_number(raw) - exact(item.row(variant)["answer"]))
    return f"{sentence}: write it to all of them." if error * 2 * 10 ** (decimals_in(raw) or 0) <= 1 else None


def right_letters(item: ChoiceItem | BugItem | OrderItem) -> list[str]:
    """Return the letters of the right answer, in its order."""
    if isinstance(item, OrderItem):
        return item.answer.split()
    return [letter for letter, option in item.options().items() if option.right]


def accepted_answer(item: Item, variant: int) -> str:
    """Return the accepted answer, as a student reads it."""
    match item:
        case ChoiceItem():
            texts = [(letter, item.asked().options(variant)[letter]) for letter in right_letters(item)]
            if item.kind == "true_false":  # notebooks show no letters
                return texts[0][1]
            return "\n".join(f"{letter}) {' '.join(text.split())}" for letter, text in texts)
        case BugItem():
            number = item.wrong_line()
            return f"line {number} should be {quoted((item.lines[number].fix or '').strip())}"
        case OrderItem():
            return " ".join(right_letters(item))
        case NumberItem() | ShapeItem():
            return rendered(item.row(variant)["answer"])


def explanation(item: Item, variant: int) -> str:
    """Return the item's explanation with this variant's values."""
    return fill(item.explanation, item.row(variant)).strip()


def _marked(item: Item, raw: str, row: Columns) -> tuple[Fraction, list[str]]:
    """Return the share of the points, negative if an answer is more wrong than right, and sentences."""
    match item:
        case ChoiceItem() | BugItem():
            options = item.options()
            chosen = [options[letter] for letter in parse_letters(item.asked(), raw)]
            share = sum(_worth(one, list(options.values())) for one in chosen)
            return Fraction(share), [option.sentence for option in chosen]
        case OrderItem():
            right = right_letters(item)
            order = combinations(parse_letters(item.asked(), raw), 2)
            pairs = [right.index(first) < right.index(second) for first, second in order]
            share = Fraction(2 * sum(pairs) - len(pairs), len(pairs))
            return share, [f"{sum(pairs)} of the {len(pairs)} pairs of steps are in the right order."]
        case NumberItem():
            given = parse_number(raw)
            return _marked_by_slips(item, row, lambda value: abs(given - exact(value)) <= item.tolerance)
        case ShapeItem():
            shape = list(parse_shape(raw))
            return _marked_by_slips(item, row, lambda value: shape == value)


def _worth(option: Choice | Line, options: Sequence[Choice | Line]) -> Fraction:
    """Return what a tick is worth: a share of the right ones or, below zero, of the wrong ones."""
    count = sum(other.right == option.right for other in options)
    return Fraction(1 if option.right else -1, count)


def _marked_by_slips(
    item: NumberItem | ShapeItem, row: Columns, fits: Callable[[Any], bool]
) -> tuple[Fraction, list[str]]:
    if fits(row["answer"]):
        return Fraction(1), []
    return Fraction(0), [sentence for column, sentence in item.slips.items() if fits(row[column])][:1]
