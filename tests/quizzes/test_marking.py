"""Answers earn points by the rule of their kind, and get the sentence that was written for them."""

from __future__ import annotations

import itertools

import pytest

from grader.quizzes.items import (
    BugItem,
    ChoiceItem,
    Mark,
    NumberItem,
    OrderItem,
    ShapeItem,
    accepted_answer,
    explanation,
    mark,
)
from grader.quizzes.quiz_source import QuizSource


def points(quiz: QuizSource, name: str, raw: str, variant: int = 0, weight: int = 1) -> int:
    return mark(quiz.items[name], raw, variant, weight).points


# -- points ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "right", "wrong"),
    [
        ("order_of_terms", "b", "a"),
        ("is_larger", "b", "a"),
        ("mean_of_two", "1.625", "3.25"),
        ("how_many_terms", "6", "5"),
        ("sum_over_rows", "(3,)", "(1, 3)"),
        ("no_sum", "d", "c"),
    ],
)
def test_most_kinds_earn_all_points_or_none(quiz: QuizSource, name: str, right: str, wrong: str) -> None:
    assert points(quiz, name, right) == quiz.items[name].points
    assert points(quiz, name, wrong) == 0


@pytest.mark.parametrize(
    ("raw", "earned"),
    [("a c", 3), ("a", 1), ("c", 1), ("a b c", 1), ("a b", 0), ("a b c d", 0), ("b", 0), ("b d", 0), ("a b d", 0)],
)
def test_several_choices_earn_the_share_of_right_ones_minus_the_share_of_wrong_ones(
    quiz: QuizSource, raw: str, earned: int
) -> None:
    assert points(quiz, "even_sums", raw) == earned


@pytest.mark.parametrize(
    ("raw", "earned"),
    [
        ("b c a d", 3),  # 6 of 6 pairs
        ("c b a d", 2),  # 5, less 1: two thirds
        ("b a c d", 2),
        ("a b c d", 1),  # 4, less 2: a third
        ("c a b d", 1),
        ("d b c a", 0),  # 3, less 3
        ("d a c b", 0),  # none
    ],
)
def test_an_order_earns_its_right_pairs_minus_its_wrong_pairs(quiz: QuizSource, raw: str, earned: int) -> None:
    assert points(quiz, "long_addition", raw) == earned


def test_points_are_weighted_before_rounding(quiz: QuizSource) -> None:
    assert [points(quiz, "even_sums", "a", weight=weight) for weight in (1, 2, 3, 4)] == [1, 3, 4, 6]
    assert points(quiz, "mean_of_two", "1.625", weight=5) == 10


def test_points_are_whole_and_between_zero_and_all_and_only_the_right_answer_earns_all(quiz: QuizSource) -> None:
    subsets = [chosen for size in range(1, 5) for chosen in itertools.combinations("abcd", size)]
    orders = list(itertools.permutations("abcd"))
    answers = {"even_sums": subsets, "long_addition": orders, "no_sum": "abcd", "order_of_terms": "abc"}
    for name, raws in answers.items():
        most = quiz.items[name].points
        for weight in range(1, 10):
            earned = [points(quiz, name, " ".join(raw), weight=weight) for raw in raws]
            assert {type(one) for one in earned} == {int}
            assert min(earned) >= 0
            assert max(earned) == most * weight
            assert earned.count(most * weight) == 1


# -- numbers and shapes ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("raw", ["1.625", "1.62", "1.63", "1.615", "1.635", "13/8", "1625e-3", "+1.625", "$1.625$"])
def test_a_number_within_one_unit_of_the_last_decimal_is_right(quiz: QuizSource, raw: str) -> None:
    assert points(quiz, "mean_of_two", raw) == 2


@pytest.mark.parametrize("raw", ["1.614999", "1.635001", "1.6", "-1.625", "1e999", "-1e999", "0"])
def test_a_number_farther_away_is_wrong(quiz: QuizSource, raw: str) -> None:
    assert points(quiz, "mean_of_two", raw) == 0


@pytest.mark.parametrize(("raw", "earned"), [("6", 1), ("6.0", 1), ("12/2", 1), ("6.0001", 0), ("5.9999999", 0)])
def test_a_whole_number_is_right_only_exactly(quiz: QuizSource, raw: str, earned: int) -> None:
    assert points(quiz, "how_many_terms", raw) == earned


def test_each_variant_has_its_own_answer_and_variants_repeat(quiz: QuizSource) -> None:
    answers = ["1.625", "2.75", "-0.5", "2.25", "5"]
    for variant in range(12):
        earned = [points(quiz, "mean_of_two", raw, variant) for raw in answers]
        assert earned == [2 if number == variant % 5 else 0 for number in range(5)]


def test_a_shape_is_right_in_any_notation(quiz: QuizSource) -> None:
    assert [points(quiz, "sum_over_rows", raw) for raw in ("(3,)", "3", "torch.Size([3])", "(3, 1)", "()")] == [
        1, 1, 1, 0, 0,
    ]  # fmt: skip


# -- what is said ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "raw", "sentences"),
    [
        ("order_of_terms", "c", ["That is so of a difference."]),
        ("order_of_terms", "b", ["Yes: addition is commutative."]),
        ("even_sums", "d a", ["Four is even.", "Seven is odd."]),
        ("no_sum", "b", ["A sum begins at zero."]),
        ("mean_of_two", "3.25", ["3.25 is their sum: the mean is half of it."]),
        ("mean_of_two", "3.24", ["3.25 is their sum: the mean is half of it."]),
        ("mean_of_two", "7", []),
        ("mean_of_two", "1.625", []),
        ("sum_over_rows", "1 3", ["Only with `keepdim=True`."]),
        ("long_addition", "c b a d", ["5 of the 6 pairs of steps are in the right order."]),
    ],
)
def test_each_choice_and_each_known_slip_has_its_sentence(
    quiz: QuizSource, name: str, raw: str, sentences: list[str]
) -> None:
    assert mark(quiz.items[name], raw, 0, 1).sentences == sentences


def test_a_sentence_and_an_explanation_have_the_numbers_of_the_variant(quiz: QuizSource) -> None:
    item = quiz.items["mean_of_two"]
    assert mark(item, "10", 4, 1) == Mark(0, ["10 is their sum: the mean is half of it."])
    assert explanation(item, 2) == "(3 + -4) / 2 is -0.5."


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("order_of_terms", "b) Nothing."),
        ("even_sums", "a) 1 + 3\nc) 2 + 4"),
        ("is_larger", "false"),
        ("mean_of_two", "1.625"),
        ("sum_over_rows", "(3,)"),
        ("long_addition", "b c a d"),
        ("no_sum", "line 4 should be `total += number`"),
    ],
)
def test_the_right_answer_is_reported_as_students_would_write_it(quiz: QuizSource, name: str, message: str) -> None:
    assert accepted_answer(quiz.items[name], 0) == message


def test_the_right_answer_earns_all_points_in_every_variant(quiz: QuizSource) -> None:
    for name, item in quiz.items.items():
        for variant in range(10):
            match item:
                case ChoiceItem():
                    raw = " ".join(letter for letter, choice in item.options().items() if choice.right)
                case BugItem():
                    raw = next(letter for letter, line in item.options().items() if line.right)
                case NumberItem() | ShapeItem() | OrderItem():
                    raw = accepted_answer(item, variant)
            assert points(quiz, name, raw, variant) == item.points
