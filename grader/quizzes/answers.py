"""Reads one answer as its question asks for it: letters, a number or a shape."""

from __future__ import annotations

import re
from collections.abc import Sequence
from fractions import Fraction

from grader.quizzes.questions import Question
from grader.text import in_words

Answer = tuple[str, ...] | tuple[int, ...] | Fraction
"""The letters that are chosen or put in order, the sizes of a shape, or a number."""

_COUNTS = ("no", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine")

LONGEST = 200
"""The most characters of an answer: few enough to quote in a message and to parse at once."""

_NUMBER = re.compile(r"[+-]?(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][+-]?[0-9]{1,3})?")
_FRACTION = re.compile(r"([+-]?[0-9]+) */ *([0-9]+)")
_DECIMAL = re.compile(r"[+-]?(?:[0-9]+\.?|\.(?=[0-9]))([0-9]*)")
_BRACKETS = re.compile(r"torch\.Size\((.*)\)|\((.*)\)|\[(.*)\]")
_SIZES_APART = re.compile(" *[,x×\N{CYRILLIC SMALL LETTER HA}] *| +")
_LETTERS_APART = re.compile(r"[\s,;.、()\[\]>→-]+")
# Other keyboards type these for an ASCII character: the same in full width, or a Cyrillic letter that looks the same.
_FULL_WIDTH = {code: code - 0xFEE0 for code in range(0xFF01, 0xFF5F)}
_CYRILLIC = str.maketrans("\u0430\u0441\u0435", "ace")


class AnswerError(ValueError):
    """The answer cannot be read; the text says in one sentence why, and what to write."""

    def __init__(self, wrong: str, fix: str) -> None:
        """Say what is wrong and how to fix it, both without a full stop."""
        super().__init__(f"{wrong}: {fix}.")
        self.wrong = wrong


def is_blank(raw: str) -> bool:
    """Return whether an answer is empty, except for blanks and underscores."""
    return not "".join(raw.split()).strip("_")


def parse(question: Question, raw: str) -> Answer:
    """Read the answer to `question`. Raises AnswerError."""
    match question.kind:
        case "number":
            return parse_number(raw)
        case "shape":
            return parse_shape(raw)
        case "one_choice" | "several_choices" | "true_false" | "order" | "bug":
            return parse_letters(question, raw)


def decimals_in(raw: str) -> int | None:
    """Return how many decimals a number is written with; None for a fraction, for an exponent and for no number."""
    written = _DECIMAL.fullmatch(_bare(_text(raw)))
    return len(written[1]) if written else None


def missing_decimals(question: Question, raw: str) -> str | None:
    """Return a sentence, without its full stop, if a number has fewer decimals than asked for; None otherwise.

    It depends on what was typed alone. `3` may be right to three decimals, so this is no reason to refuse an answer.
    """
    written = decimals_in(raw)
    if not question.decimals or written is None or written >= question.decimals:
        return None
    has = f"{_COUNTS[written]} decimal{'' if written == 1 else 's'}"
    are = "is" if question.decimals == 1 else "are"
    return f"{_bare(_text(raw))} has {has}, and {_COUNTS[question.decimals]} {are} asked for"


def parse_letters(question: Question, raw: str) -> tuple[str, ...]:
    """Read the letters chosen, or all of them in their order. Raises AnswerError."""
    allowed = question.letters
    text = _text(raw)
    letters = tuple(_LETTERS_APART.sub("", _bare(text).casefold().translate(_CYRILLIC)))
    if not letters or not set(letters) <= set(allowed):
        how_many = {"several_choices": "letters", "order": "all letters"}.get(question.kind, "one letter")
        fix = f"please answer with {how_many} from {allowed[0]} to {allowed[-1]}"
        raise AnswerError(f"{text!r} is not an option", fix)
    if question.kind == "several_choices":
        return tuple(sorted(set(letters)))
    if question.kind == "order":
        if repeated := [letter for letter in allowed if letters.count(letter) > 1]:
            raise AnswerError(f"{in_words(repeated)} {_is(repeated)} there more than once", "write each letter once")
        if absent := [letter for letter in allowed if letter not in letters]:
            raise AnswerError(f"{in_words(absent)} {_is(absent)} missing", "write each letter once")
    elif len(letters) > 1:
        raise AnswerError(f"only one letter can be the answer, not {in_words(letters)}", "choose one of them")
    return letters


def parse_number(raw: str) -> Fraction:
    """Read a decimal number, with or without an exponent, or a fraction, exactly. Raises AnswerError."""
    text = _text(raw)
    plain = _bare(text)
    if _NUMBER.fullmatch(plain):
        return Fraction(plain)
    if fraction := _FRACTION.fullmatch(plain):
        numerator, denominator = int(fraction[1]), int(fraction[2])
        if not denominator:
            raise AnswerError(f"{text!r} divides by zero", "write a number")
        return Fraction(numerator, denominator)
    if "," in plain and (without := _without_comma(plain)):
        raise AnswerError(f"{text!r} has a comma", f"write {' or '.join(without)}")
    raise AnswerError(f"{text!r} is not a number", "write it like 50257, 3.125, 1e-3 or 1/8")


def _without_comma(number: str) -> list[str]:
    """Return how a number with commas can be written: without them, with a point, or, if it is not clear, both."""
    before, _, after = number.partition(",")
    # A comma between thousands comes before the point, and a decimal comma after it.
    thousands = [number.replace(",", "")] if "." not in before else []
    decimal = [f"{before.replace('.', '')}.{after}"] if "." not in after and "," not in after else []
    return [one for one in (*thousands, *decimal) if _NUMBER.fullmatch(one)]


def parse_shape(raw: str) -> tuple[int, ...]:
    """Read the sizes of a shape, with or without brackets, or as torch prints it. Raises AnswerError."""
    text = _text(raw)
    plain = _bare(text).replace("X", "x")
    # torch.Size wraps a list, which has brackets of its own.
    for _ in range(2):
        if brackets := _BRACKETS.fullmatch(plain):
            plain = next(group for group in brackets.groups() if group is not None).strip()
    sizes = _SIZES_APART.split(plain.removesuffix(",").rstrip()) if plain else []
    if not all(re.fullmatch("[0-9]{1,9}", size) for size in sizes):
        raise AnswerError(f"{text!r} is not a shape", "write whole numbers like (2, 4, 5), (7,) or, for a scalar, ()")
    return tuple(map(int, sizes))


def _is(letters: Sequence[str]) -> str:
    return "is" if len(letters) == 1 else "are"


def _text(raw: str) -> str:
    """Return an answer with plain spaces. Raises AnswerError if it is too long."""
    text = " ".join(raw.split())
    if len(text) > LONGEST:
        raise AnswerError(f"{text[:20]!r}… has {len(text)} characters", "write nothing but the answer")
    return text


def _bare(text: str) -> str:
    """Return a text without the blanks and Markdown around it, with ASCII digits, brackets and signs."""
    return text.strip("$`*_ ").translate(_FULL_WIDTH).replace("\N{MINUS SIGN}", "-").replace("\N{EN DASH}", "-")
