"""Marks answers: points, and sentences on them."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from itertools import combinations
from math import floor
from typing import TYPE_CHECKING, Any

from grader.quizzes.answers import decimals_in, missing_decimals, parse_letters, parse_number, parse_shape
from grader.quizzes.items import BugItem, ChoiceItem, NumberItem, OrderItem, ShapeItem, exact
from grader.quizzes.questions import fill, quoted, rendered

if TYPE_CHECKING:
    from collections.abc import Callable

    from grader.quizzes.items import Choice, Columns, Item


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


def accepted_answer(item: Item, variant: int) -> str:
    """Return the accepted answer, as a student reads it."""
    match item:
        case ChoiceItem():
            texts = item.asked().options(variant)
            right = [letter for letter, choice in item.options().items() if choice.right]
            if item.kind == "true_false":  # notebooks show no letters
                return texts[right[0]]
            return "\n".join(f"{letter}) {' '.join(texts[letter].split())}" for letter in right)
        case BugItem():
            number = item.wrong_line()
            return f"line {number} should be {quoted((item.lines[number].fix or '').strip())}"
        case OrderItem():
            return " ".join(item.answer.split())
        case _:
            return rendered(item.row(variant)["answer"])


def explanation(item: Item, variant: int) -> str:
    """Return the item's explanation with this variant's values."""
    return fill(item.explanation, item.row(variant)).strip()


def _marked(item: Item, raw: str, row: Columns) -> tuple[Fraction, list[str]]:
    """Return the share of the points, negative if an answer is more wrong than right, and sentences."""
    match item:
        case ChoiceItem():
            chosen = [item.options()[letter] for letter in parse_letters(item.asked(), raw)]
            return _share_of_choices(chosen, item.choices), [choice.sentence for choice in chosen]
        case BugItem():
            [letter] = parse_letters(item.asked(), raw)
            line = item.lines[item.options()[letter]]
            return Fraction(line.right), [line.sentence]
        case OrderItem():
            return _marked_order(parse_letters(item.asked(), raw), item.answer.split())
        case NumberItem():
            given = parse_number(raw)
            return _marked_by_slips(item, row, lambda value: abs(given - exact(value)) <= item.tolerance)
        case ShapeItem():
            shape = list(parse_shape(raw))
            return _marked_by_slips(item, row, lambda value: shape == value)


def _share_of_choices(chosen: list[Choice], choices: list[Choice]) -> Fraction:
    """Return the share of the right ones that were chosen, minus the share of the wrong ones."""
    right = sum(choice.right for choice in choices)
    chosen_right = sum(choice.right for choice in chosen)
    wrong, chosen_wrong = len(choices) - right, len(chosen) - chosen_right
    return Fraction(chosen_right, right) - Fraction(chosen_wrong, wrong)


def _marked_order(given: tuple[str, ...], right: list[str]) -> tuple[Fraction, list[str]]:
    pairs = [right.index(first) < right.index(second) for first, second in combinations(given, 2)]
    share = Fraction(2 * sum(pairs) - len(pairs), len(pairs))
    return share, [f"{sum(pairs)} of the {len(pairs)} pairs of steps are in the right order."]


def _marked_by_slips(
    item: NumberItem | ShapeItem, row: Columns, fits: Callable[[Any], bool]
) -> tuple[Fraction, list[str]]:
    if fits(row["answer"]):
        return Fraction(1), []
    return Fraction(0), [sentence for column, sentence in item.slips.items() if fits(row[column])][:1]
