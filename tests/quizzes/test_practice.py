"""Practice items: their source, what students receive of them, and `grader practice` in a terminal."""

from __future__ import annotations

import re
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path

import pytest
from course_quizzes import PRACTICE
from courses import COURSE
from typer.testing import CliRunner, Result

from grader.cli.student_cli import app
from grader.course.build import data_files
from grader.course.model import load_course
from grader.documents import CourseError
from grader.quizzes.items import NumberItem, ShapeItem
from grader.quizzes.practice_items import FILENAME, read_practice, to_json
from grader.quizzes.quiz_source import QuizSource, load_practice, load_quizzes

# The rows of the first item have the same answer, so that a test need not know which of them is drawn.
SUMS = """\
title: "Practice 1: sums"
items:
  a_third:
    kind: number
    points: 1
    question: What is [[a]] / [[b]]?
    decimals: 3
    variants:
      - {a: 1, b: 3, answer: 0.333, inverse: 3}
      - {a: 2, b: 6, answer: 0.333, inverse: 3}
      - {a: 3, b: 9, answer: 0.333, inverse: 3}
      - {a: 4, b: 12, answer: 0.333, inverse: 3}
      - {a: 5, b: 15, answer: 0.333, inverse: 3}
    slips:
      inverse: This is [[b]] / [[a]].
    explanation: It is [[answer]], as 1 / 3 is.
  an_odd_sum:
    kind: several_choices
    points: 2
    question: Which sums are odd?
    choices:
      - {text: 1 + 2, sentence: Three is odd., right: true}
      - {text: 2 + 2, sentence: Four is even.}
      - {text: 2 + 3, sentence: Five is odd., right: true}
    explanation: Odd and even make odd.
"""


@pytest.fixture
def course(own_small_course: Path) -> Path:
    """A small course with practice items."""
    (own_small_course / "solutions" / "sums_practice.yml").write_text(SUMS, encoding="utf-8")
    return own_small_course


def loaded(course: Path) -> QuizSource:
    solutions = course / "solutions"
    return load_practice(solutions, ["sums"], load_quizzes(solutions, ["sums"]).values())["sums"]


# -- the items of this course -----------------------------------------------------------------------------------------


def test_a_unit_has_six_items_of_four_kinds_and_two_of_them_with_numbers_and_slips() -> None:
    for number, unit in enumerate(COURSE.quizzes, start=1):
        items = PRACTICE[unit].items.values()
        assert len(items) >= 6, unit
        assert len({item.kind for item in items}) >= 4, unit
        assert sum(isinstance(item, NumberItem | ShapeItem) and bool(item.slips) for item in items) >= 2, unit
        assert PRACTICE[unit].title.startswith(f"Practice {number}: ")


def test_no_two_items_of_the_course_have_the_same_name() -> None:
    names = [name for items in PRACTICE.values() for name in items.items]
    assert len(names) == len(set(names))


def test_the_items_can_be_printed_in_a_terminal_with_cp1252() -> None:
    assert (COURSE.checks / FILENAME).read_text(encoding="utf-8").encode("cp1252")


# -- the source, and what students receive ----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("changed", "what"),
    [
        (("an_odd_sum:", "even_sums:"), "the name of 'even_sums'"),
        (("Which sums are odd?", "'WHICH of  these sums are *even*?'"), "the question of 'an_odd_sum'"),
    ],
)
def test_an_item_is_for_practice_or_graded_and_never_both(course: Path, changed: tuple[str, str], what: str) -> None:
    assert SUMS.count(changed[0]) == 1
    (course / "solutions" / "sums_practice.yml").write_text(SUMS.replace(*changed), encoding="utf-8")
    with pytest.raises(CourseError) as problem:
        data_files(load_course(course))
    assert str(problem.value) == (
        f"solutions/sums_practice.yml:17: {what} is also in solutions/sums_quiz.yml:12, where it is graded: an item is "
        "for practice or graded, never both. Change one of them."
    )


def test_students_receive_the_items_with_their_answers(course: Path) -> None:
    items = loaded(course)
    path = course / "exercises" / "checks" / FILENAME
    path.write_text(to_json([items]), encoding="utf-8")
    assert read_practice(path) == {"sums": items}


@pytest.mark.parametrize("content", ["{", "[]", '{"schema": "attention-from-scratch/practice/v1", "units": [3]}'])
def test_a_damaged_file_is_reported(course: Path, content: str) -> None:
    path = course / "exercises" / "checks" / FILENAME
    path.write_text(content, encoding="utf-8")
    with pytest.raises(CourseError, match="is damaged: take it again"):
        read_practice(path)


# -- in a terminal ----------------------------------------------------------------------------------------------------


@pytest.fixture
def run(course: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., Result]:
    """Practises and types these lines."""
    _ = load_course(course).checks
    monkeypatch.chdir(course)
    monkeypatch.setenv("COLUMNS", "80")

    def run(*lines: str, unit: str = "sums") -> Result:
        return CliRunner().invoke(app, ["practice", unit], input="".join(f"{line}\n" for line in lines))

    return run


def words(result: Result) -> str:
    return " ".join(result.stdout.split())


def divisions(result: Result) -> list[str]:
    """The rows of the first item, in the order in which they were asked."""
    return re.findall(r"What is (\d+) / \d+\?", result.stdout)


def test_an_answer_is_explained_at_once(run: Callable[..., Result]) -> None:
    out = words(run("0.333", "", "a c", ""))
    assert "1 of 2 · A third · a number to 3 decimals What is " in out
    assert "> Right. It is 0.333, as 1 / 3 is. Enter for the next · again for other numbers · stop" in out
    assert "> Right. Three is odd. Five is odd. Odd and even make odd. Enter for the next · stop" in out
    assert out.endswith("2 of 2 right at the first try. To practise again: grader practice sums")


def test_a_wrong_answer_gets_its_sentence_and_comes_again_at_the_end_with_other_numbers(
    run: Callable[..., Result],
) -> None:
    done = run("3", "", "a c", "", "0.333", "")
    first, second = divisions(done)
    assert first != second
    assert f"> Not right. This is {3 * int(first)} / {first}. The answer: 0.333 It is 0.333" in words(done)
    assert f"Once more · A third · a number to 3 decimals What is {second} /" in words(done)
    assert words(done).endswith("1 of 2 right at the first try. To practise again: grader practice sums")


def test_again_asks_with_other_numbers_and_never_the_same_twice_in_a_row(run: Callable[..., Result]) -> None:
    asked = divisions(run(*["0.333", "again"] * 40, "stop"))
    assert len(asked) == 41
    assert set(asked) == set("12345")
    assert all(one != next_one for one, next_one in pairwise(asked))


def test_a_rounded_answer_is_no_wrong_answer(run: Callable[..., Result]) -> None:
    out = words(run("0.3", "0.333", "stop"))
    assert "> 0.3 has one decimal, and three are asked for: write it to all of them. A number" in out
    assert "Not right." not in out
    assert out.endswith("1 of 2 right at the first try. To practise again: grader practice sums")


def test_a_short_answer_that_is_wrong_in_any_case_is_wrong(run: Callable[..., Result]) -> None:
    assert "Not right." in words(run("0.4", "stop"))


def test_an_unreadable_answer_is_asked_again(run: Callable[..., Result]) -> None:
    assert "'one third' is not a number" in words(run("one third", "0.333", "stop"))


def test_a_part_of_the_choices_is_not_right(run: Callable[..., Result]) -> None:
    assert "Not right. Three is odd. The answer: a) 1 + 2 c) 2 + 3" in words(run("", "a", "stop"))


def test_a_unit_without_items_is_named_with_the_ones_that_have_some(run: Callable[..., Result]) -> None:
    done = run(unit="sum")
    assert done.exit_code == 2
    assert "There is nothing to practise for 'sum'; the course has sums. Did you mean 'sums'?" in " ".join(
        done.stderr.split()
    )


def test_practice_writes_nothing(run: Callable[..., Result], course: Path) -> None:
    before = {path: path.read_bytes() for path in course.rglob("*") if path.is_file()}
    assert run("3", "", "a", "").exit_code == 0
    assert {path: path.read_bytes() for path in course.rglob("*") if path.is_file()} == before


def test_a_problem_names_the_file_and_the_line(course: Path) -> None:
    source = SUMS.replace("decimals: 3", "decimals: 0")
    (course / "solutions" / "sums_practice.yml").write_text(source, encoding="utf-8")
    with pytest.raises(CourseError, match=r"^solutions/sums_practice.yml:7:15: 'decimals' should be "):
        loaded(course)
