"""Answers are read as a number, a shape or letters; unreadable ones are reported in one sentence."""

from __future__ import annotations

from fractions import Fraction

import pytest

from grader.quizzes.answers import AnswerError, is_blank, parse
from grader.quizzes.questions import Question
from grader.quizzes.quiz_source import QuizSource

NUMBER = Question(kind="number", points=1, question="How many?")
SHAPE = Question(kind="shape", points=1, question="Which shape?")


def refusal(question: Question, raw: str) -> str:
    with pytest.raises(AnswerError) as caught:
        parse(question, raw)
    return str(caught.value)


@pytest.mark.parametrize(
    ("raw", "number"),
    [
        ("50257", 50257),
        ("3.125", Fraction(25, 8)),
        ("-3.125", Fraction(-25, 8)),
        ("+3", 3),
        ("3.", 3),
        (".5", Fraction(1, 2)),
        ("1e-3", Fraction(1, 1000)),
        ("2.5E+2", 250),
        ("1/8", Fraction(1, 8)),
        ("-1 / 8", Fraction(-1, 8)),
        ("\N{MINUS SIGN}4", -4),
        ("1e\N{MINUS SIGN}3", Fraction(1, 1000)),
        ("  `3.125` ", Fraction(25, 8)),
        ("$3.125$", Fraction(25, 8)),
        ("**3.125**", Fraction(25, 8)),
        ("__3.125__", Fraction(25, 8)),
        ("3.125______", Fraction(25, 8)),
        ("\N{NO-BREAK SPACE}3.125\N{NO-BREAK SPACE}", Fraction(25, 8)),
        ("－３．１２５", Fraction(-25, 8)),
        ("1e999", 10**999),
    ],
)
def test_a_number_is_read_exactly_as_it_is_written(raw: str, number: Fraction) -> None:
    assert parse(NUMBER, raw) == number


@pytest.mark.parametrize(
    "raw",
    [
        "nan", "inf", "-Infinity", "1e9999", "1e", "e3", "1.2.3", "--1", "1/2/3", "1/8.5", "0x10", "1_000", "12 000",
        "१२", "½", "five", "5 tokens", "x = 5", "5!", "√2", "2**10", "🙂", "(5)", "/", ".", "-",
    ],
)  # fmt: skip
def test_text_that_is_not_a_number_is_refused(raw: str) -> None:
    assert refusal(NUMBER, raw) == f"{raw!r} is not a number: write it like 50257, 3.125, 1e-3 or 1/8."


@pytest.mark.parametrize(
    ("raw", "fix"),
    [
        ("50,257", "50257 or 50.257"),
        ("2,303", "2303 or 2.303"),
        ("-3,5", "-35 or -3.5"),
        ("1,000,000.5", "1000000.5"),
        ("1,000,000", "1000000"),
        ("1.234,5", "1234.5"),
    ],
)
def test_a_comma_is_refused_because_it_is_ambiguous(raw: str, fix: str) -> None:
    assert refusal(NUMBER, raw) == f"{raw!r} has a comma: write {fix}."


def test_a_division_by_zero_is_refused() -> None:
    assert refusal(NUMBER, "1/0") == "'1/0' divides by zero: write a number."


@pytest.mark.parametrize("question", [NUMBER, SHAPE])
@pytest.mark.parametrize("raw", ["1" * 100_000, "1 " * 100_000, "(" * 100_000, "$" * 100_000 + "x", "-" * 100_000])
def test_a_very_long_answer_is_refused_and_not_quoted(question: Question, raw: str) -> None:
    assert len(refusal(question, raw)) < 100


@pytest.mark.parametrize(
    ("raw", "shape"),
    [
        ("(2, 4, 5)", (2, 4, 5)),
        ("[2, 4, 5]", (2, 4, 5)),
        ("2, 4, 5", (2, 4, 5)),
        ("2,4,5", (2, 4, 5)),
        ("2 4 5", (2, 4, 5)),
        ("2 x 4 x 5", (2, 4, 5)),
        ("2X4×5", (2, 4, 5)),
        ("2\N{CYRILLIC SMALL LETTER HA}4x5", (2, 4, 5)),
        ("（２，４，５）", (2, 4, 5)),
        ("torch.Size([2, 4, 5])", (2, 4, 5)),
        ("`torch.Size([2, 4, 5])`", (2, 4, 5)),
        ("torch.Size((2, 4))", (2, 4)),
        ("$(8 × 8)$", (8, 8)),
        ("(7,)", (7,)),
        ("7", (7,)),
        ("(0, 3)", (0, 3)),
        ("()", ()),
        ("[ ]", ()),
        ("torch.Size([])", ()),
    ],
)
def test_a_shape_is_read_in_any_usual_notation(raw: str, shape: tuple[int, ...]) -> None:
    assert parse(SHAPE, raw) == shape


@pytest.mark.parametrize(
    "raw",
    ["(2, 4", "2)", "(2, -4)", "(2.0, 4)", "(B, T)", "(2,, 4)", ",", "x", "2*4", "1234567890", "१", "((2, 4), 5)"],
)
def test_text_that_is_not_a_shape_is_refused(raw: str) -> None:
    message = refusal(SHAPE, raw)
    assert message == f"{raw!r} is not a shape: write whole numbers like (2, 4, 5), (7,) or, for a scalar, ()."


@pytest.mark.parametrize(
    "raw",
    [
        "b c a d",
        "bcad",
        "b, c, a, d",
        "B C A D",
        "b) c) a) d)",
        "b → c → a → d",
        "b>c>a>d",
        "(b, c, a, d)",
        "[b, c, a, d]",
        "**b c a d**",
        "`b c a d`",
        "$b c a d$",
        "b - c - a - d",
        "b\N{NO-BREAK SPACE}c a d",
        "ｂ，ｃ、ａ，ｄ",
        "b \N{CYRILLIC SMALL LETTER ES} \N{CYRILLIC CAPITAL LETTER A} d",
    ],
)
def test_an_order_is_read_in_any_usual_notation(quiz: QuizSource, raw: str) -> None:
    assert parse(quiz.questions.items["long_addition"], raw) == ("b", "c", "a", "d")


@pytest.mark.parametrize(
    ("raw", "sentence"),
    [
        ("b c a", "d is missing: write each letter once."),
        ("b", "a, c and d are missing: write each letter once."),
        ("b c a d b", "b is there more than once: write each letter once."),
        ("b c a e", "'b c a e' is not an option: please answer with all letters from a to d."),
        ("2 3 1 4", "'2 3 1 4' is not an option: please answer with all letters from a to d."),
        ("->", "'->' is not an option: please answer with all letters from a to d."),
    ],
)
def test_an_invalid_order_is_refused(quiz: QuizSource, raw: str, sentence: str) -> None:
    assert refusal(quiz.questions.items["long_addition"], raw) == sentence


def test_one_choice_takes_one_letter(quiz: QuizSource) -> None:
    question = quiz.questions.items["order_of_terms"]
    assert parse(question, "B)") == ("b",)
    assert refusal(question, "a c") == "only one letter can be the answer, not a and c: choose one of them."
    assert refusal(question, "d") == "'d' is not an option: please answer with one letter from a to c."


def test_several_choices_take_letters_in_any_order(quiz: QuizSource) -> None:
    assert parse(quiz.questions.items["even_sums"], "c, a, c") == ("a", "c")


@pytest.mark.parametrize("raw", ["", " ", "______", "_", " \t__ __ ", "\N{NO-BREAK SPACE}______"])
def test_spaces_and_underscores_are_a_blank_answer(raw: str) -> None:
    assert is_blank(raw)
    assert not is_blank(f"{raw}0")
