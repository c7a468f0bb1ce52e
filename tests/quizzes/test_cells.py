"""Answers are read from a notebook's cells in any notation, even if the cells were changed."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from typing import Any

import pytest

from grader.quizzes.answers import parse
from grader.quizzes.quiz_source import QuizSource
from grader.quizzes.sheet import Sheet
from grader.quizzes.sheet_reader import LONGEST_CODE, MOST_ANSWERS, read_cells

Read = Callable[..., Sheet]

BROKEN = 'it cannot be read: write it in one line, like "b", "a c", 2.5, (2, 4) or True.'


@pytest.fixture
def read(quiz: QuizSource) -> Read:
    """Reads cells: each a text, or a text with its grade_id."""

    def read(*cells: str | tuple[str | None, str]) -> Sheet:
        pairs = [(None, cell) if isinstance(cell, str) else cell for cell in cells]
        return read_cells(pairs, quiz.questions, "sums.ipynb")

    return read


def only_problem(sheet: Sheet) -> str:
    assert (sheet.answers, sheet.remarks) == ({}, ())
    [problem] = sheet.problems.values()
    return problem


@pytest.mark.parametrize(
    ("number", "item", "written", "answer"),
    [
        (1, "order_of_terms", '"b"', ("b",)),
        (1, "order_of_terms", "'B)'  # I think", ("b",)),
        (1, "order_of_terms", "b", ("b",)),
        (2, "even_sums", '"a c"', ("a", "c")),
        (2, "even_sums", '["a", "c"]', ("a", "c")),
        (2, "even_sums", '"c", "a"', ("a", "c")),
        (2, "even_sums", '{\n    "a",  # four\n    "c",\n}', ("a", "c")),
        (3, "is_larger", "True", ("a",)),
        (3, "is_larger", "False", ("b",)),
        (3, "is_larger", '"false"', ("b",)),
        (3, "is_larger", '"b"', ("b",)),
        (1, "order_of_terms", "\N{LEFT DOUBLE QUOTATION MARK}b\N{RIGHT DOUBLE QUOTATION MARK}", ("b",)),
        (4, "mean_of_two", "1.625", Fraction("1.625")),
        (4, "mean_of_two", "-3", Fraction(-3)),
        (4, "mean_of_two", "1e-3", Fraction(1, 1000)),
        (4, "mean_of_two", "(1 / 8)", Fraction(1, 8)),
        (4, "mean_of_two", '"1.625"', Fraction("1.625")),
        (5, "how_many_terms", "100_000", Fraction(100_000)),
        (6, "sum_over_rows", "(3,)", (3,)),
        (6, "sum_over_rows", "3, 4", (3, 4)),
        (6, "sum_over_rows", "()", ()),
        (6, "sum_over_rows", "[]", ()),
        (6, "sum_over_rows", "torch.Size([2, 4])", (2, 4)),
        (6, "sum_over_rows", '"2 x 4"', (2, 4)),
        (7, "long_addition", '("b", "c", "a", "d")', ("b", "c", "a", "d")),
        (7, "long_addition", '"""\nb c a d\n"""', ("b", "c", "a", "d")),
    ],
)
def test_an_answer_is_read_as_it_is_written(
    quiz: QuizSource, read: Read, number: int, item: str, written: str, answer: Any
) -> None:
    sheet = read(f"answer_{number} = {written}")
    assert (list(sheet.answers), sheet.problems, sheet.remarks, sheet.variant) == ([item], {}, (), 0)
    assert parse(quiz.questions.items[item], sheet.answers[item]) == answer


@pytest.mark.parametrize("blank", ["...", "None", "", "''", '" "', "[]", "# nothing yet", '"___"'])
def test_a_blank_value_is_no_answer(read: Read, blank: str) -> None:
    assert read(f"answer_1 = {blank}\nprint('done')") == Sheet()


@pytest.mark.parametrize(
    ("cell", "problem"),
    [
        ('answer_1 = "z"', "'z' is not an option: write one letter in quotes, such as \"b\"."),
        (
            'answer_1 = "a c"',
            'only one letter can be the answer, not a and c: write one letter in quotes, such as "b".',
        ),
        ("answer_2 = 1", "'1' is not an option: write one letter or more in quotes, such as \"a c\"."),
        (
            'answer_7 = "a b c"',
            'd is missing: write all letters in the right order, in quotes, such as "b a c".',
        ),
        ("answer_3 = 0", "'0' should be True or False: write one of the two."),
        ('answer_3 = "true or false"', "'true or false' should be True or False: write one of the two."),
        ("answer_4 = __name__", "'__name__' is not a number: write it like 50257, 3.125, 1e-3 or 1/8."),
        ("answer_4 = 5 * 768", "'5 * 768' is not a number: write it like 50257, 3.125, 1e-3 or 1/8."),
        ("answer_1 = (", BROKEN),
        ("answer_1 = a b", BROKEN),
        ("answer_1: str; x = 3", BROKEN),
        (f"answer_1 = {'-' * 100_000}1", BROKEN),
        ("answer_1 = (" + "\n" * 100_000 + "3)", BROKEN),
        (f"answer_1 = {'(' * (LONGEST_CODE // 2)}", BROKEN),
        (
            f"answer_1 = {'1' * (LONGEST_CODE - 20)}",
            "'11111111111111111111'… has 980 characters: write one letter in quotes, such as \"b\".",
        ),
    ],
)
def test_an_unreadable_answer_is_reported_with_its_name(read: Read, cell: str, problem: str) -> None:
    assert only_problem(read(cell)) == f"sums.ipynb: {cell[:8]}: {problem}"


def test_answers_are_not_run(read: Read) -> None:
    assert "is not a number" in only_problem(read("answer_4 = __import__('os')._exit(1)"))


def test_an_invalid_escape_makes_no_warning(read: Read) -> None:
    assert "is not an option" in only_problem(read(r'answer_1 = "\d"'))


def test_other_code_in_a_cell_does_not_affect_its_answers(read: Read) -> None:
    cell = '%%time\n!pip install x\nx = = 1\nanswer_1 = "b"; y = 2\nif\nanswer_2 = "a"\nanswer_3 = True\n  indented(\n'
    assert read(cell).answers == {"order_of_terms": "b", "even_sums": "a", "is_larger": "a"}


def test_an_answer_must_begin_its_line(read: Read) -> None:
    assert read('# answer_1 = "a"\nif x:\n    answer_2 = "a"\nanswer_1 == "b"\nmy_answer_1 = "c"') == Sheet()


@pytest.mark.parametrize("mark", [None, "quiz_order_of_terms", "quiz_is_larger", "quiz_of_another_course"])
def test_an_answer_belongs_to_the_item_with_its_number_in_any_cell(read: Read, mark: str | None) -> None:
    cells = [(mark, 'answer_1 = "a"'), ("quiz_order_of_terms", "answer_3 = False")]
    assert read(*cells).answers == {"order_of_terms": "a", "is_larger": "b"}


@pytest.mark.parametrize("number", ["0", "9", "22"])
def test_an_answer_with_an_unknown_number_belongs_to_the_item_of_its_cell(read: Read, number: str) -> None:
    assert read(("quiz_even_sums", f'answer_{number} = "a"')).answers == {"even_sums": "a"}


@pytest.mark.parametrize("mark", ["quiz_order_of_terms", "quiz_even_sums"])
def test_two_cells_that_were_merged_answer_both_items(read: Read, mark: str) -> None:
    assert read((mark, 'answer_1 = "b"\nanswer_2 = "a"')).answers == {"order_of_terms": "b", "even_sums": "a"}


def test_the_last_answer_that_is_not_blank_counts(read: Read) -> None:
    assert read('answer_1 = "a"', 'answer_1 = "b"', "answer_1 = ...").answers == {"order_of_terms": "b"}
    assert "'z' is not an option" in only_problem(read('answer_1 = "a"', 'answer_1 = "z"'))


@pytest.mark.parametrize(("name", "answers"), [("answer", {}), ("answer_1", {"order_of_terms": "a"})])
def test_a_cell_whose_answer_has_lost_its_name_is_reported(read: Read, name: str, answers: dict[str, str]) -> None:
    sheet = read(("quiz_even_sums", f'{name} = "a"'), ("quiz_is_larger", "# nothing"))
    message = "sums.ipynb: answer_2: its cell has no line that begins with `answer_2 =`: put it back."
    assert (sheet.answers, sheet.problems) == (answers, {"even_sums": message})


def test_an_answer_to_no_question_is_reported(read: Read) -> None:
    message = "sums.ipynb: answer_9 belongs to no question: the last one is answer_8."
    assert read('answer_9 = "a"', 'answer_9 = "b"').remarks == (message,)


def test_too_many_answers_are_not_read(read: Read) -> None:
    sheet = read("answer_1 = (\n" * (MOST_ANSWERS + 1))
    assert sheet == Sheet(remarks=("sums.ipynb assigns answers far too often: keep one for each question.",))
