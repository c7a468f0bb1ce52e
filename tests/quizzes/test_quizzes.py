"""The eight quizzes: the rules that each of them follows, and the files that students receive."""

from __future__ import annotations

import json
import random
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any, get_args

import pytest
import yaml
from course_quizzes import QUIZZES
from courses import COURSE, REPOSITORY

from grader.quizzes.items import BugItem, ChoiceItem, NumberItem, ShapeItem
from grader.quizzes.questions import Kind, to_json
from grader.quizzes.quiz_source import QuizSource, load_quiz
from grader.quizzes.sheet import Sheet, write_sheet
from grader.quizzes.sheet_reader import read_sheet

NAMES = {f"{unit}/{name}" for unit, quiz in QUIZZES.items() for name in quiz.items}
ONE_CHOICE = [
    item
    for quiz in QUIZZES.values()
    for item in quiz.items.values()
    if isinstance(item, ChoiceItem) and item.kind == "one_choice"
]
TOPICS: dict[str, list[str]] = yaml.safe_load(
    (REPOSITORY / "solutions" / "quiz_topics.yml").read_text(encoding="utf-8")
)


# -- rules for every quiz ------------------------------------------------------------------------------------


def test_every_unit_but_the_capstone_has_its_quiz() -> None:
    assert list(QUIZZES) == [unit for unit in COURSE.units if unit != "small_gpt"]
    assert {path.name.removesuffix("_quiz.yml") for path in COURSE.solutions.glob("*_quiz.yml")} == set(QUIZZES)


def test_a_quiz_has_ten_items_of_every_kind_and_the_number_of_its_unit_without_the_capstone() -> None:
    for number, quiz in enumerate(QUIZZES.values(), start=1):
        assert len(quiz.items) >= 10, quiz.unit
        assert {item.kind for item in quiz.items.values()} == set(get_args(Kind)), quiz.unit
        assert quiz.title.startswith(f"Quiz {number}: ")


def test_a_blank_sheet_of_any_variant_is_read_as_blank() -> None:
    for quiz in QUIZZES.values():
        for name, question in quiz.questions.items.items():
            alone = quiz.questions.model_copy(update={"items": {name: question}})
            for variant in range(1, max(2, len(question.variants))):
                assert read_sheet(write_sheet(alone, variant, {}), alone) == Sheet(variant), name


def test_every_topic_has_items_and_every_item_is_under_a_topic() -> None:
    assert all(TOPICS.values())
    assert {name for names in TOPICS.values() for name in names} == NAMES


# -- nothing gives the right choice away ----------------------------------------------------------------------


def test_no_letter_is_right_in_more_than_half_of_the_items_with_one_choice() -> None:
    letters = Counter(letter for item in ONE_CHOICE for letter, choice in item.options().items() if choice.right)
    assert max(letters.values()) <= len(ONE_CHOICE) / 2, letters


@pytest.mark.parametrize("extreme", [max, min])
def test_the_length_of_a_choice_does_not_give_it_away(extreme: Callable[[list[int]], int]) -> None:
    """With four choices, a right one is the longest of them in a quarter of the items by chance alone."""
    alone = 0
    for item in ONE_CHOICE:
        lengths = [len(choice.text) for choice in item.choices]
        [right] = [len(choice.text) for choice in item.choices if choice.right]
        alone += right == extreme(lengths) and lengths.count(right) == 1
    assert alone <= len(ONE_CHOICE) / 3, f"{alone} of {len(ONE_CHOICE)}"


# -- what students receive ------------------------------------------------------------------------------------


def copies(quiz: QuizSource) -> str:
    """All that students receive of a quiz: the sheet of every variant, and the questions in JSON."""
    rows = max(len(question.variants) for question in quiz.questions.items.values())
    sheets = [write_sheet(quiz.questions, variant, {}) for variant in range(max(1, rows))]
    return "\n".join([*sheets, to_json([quiz.questions])])


def with_other_answers(source: dict[str, Any], name: str, generator: random.Random) -> None:
    """Change the answer and the later texts of an item, and nothing that students see before the due date."""
    item = source["items"][name]
    item["explanation"] = f"Explanation {generator.random()}."
    for number, choice in enumerate(item.get("choices", [])):
        choice["sentence"] = f"Sentence {number} {generator.random()}."
    match item["kind"]:
        case "one_choice" | "true_false":
            [was] = [choice for choice in item["choices"] if choice.pop("right", False)]
            generator.choice([choice for choice in item["choices"] if choice is not was])["right"] = True
        case "several_choices":
            for choice in item["choices"]:
                choice["right"] = not choice.pop("right", False)
        case "number" | "shape":
            asked = {column for column in item["variants"][0] if f"[[{column}]]" in item["question"]}
            item["slips"] = {"slip": f"Slip {generator.random()}."}
            item.pop("formulas", None)
            for row in item["variants"]:
                for column in set(row) - asked:
                    del row[column]
                answer = generator.randint(1, 10**6)
                is_number = item["kind"] == "number"
                row |= (
                    {"answer": answer, "slip": answer + 9} if is_number else {"answer": [answer], "slip": [9, answer]}
                )
        case "order":
            item["answer"] = " ".join(reversed(item["answer"].split()))
            if item["answer"].split() == sorted(item["answer"].split()):
                item["answer"] = " ".join([*item["answer"].split()[1:], "a"])
        case "bug":
            code = item["code"].split("\n")
            [was] = [number for number, line in item["lines"].items() if line.pop("right", False)]
            del item["lines"][was]["fix"]
            for number, line in item["lines"].items():
                line["sentence"] = f"Sentence {number} {generator.random()}."
            # A line that stays valid Python with a comment after it.
            is_simple = {number: not code[number - 1].rstrip().endswith(("(", ":", ",")) for number in item["lines"]}
            now = generator.choice([number for number in item["lines"] if number != was and is_simple[number]])
            item["lines"][now] |= {"right": True, "fix": code[now - 1].rstrip() + "  # fixed"}


@pytest.mark.parametrize("unit", QUIZZES)
def test_students_files_do_not_depend_on_the_answers(tmp_path: Path, unit: str) -> None:
    quiz = QUIZZES[unit]
    path = tmp_path / f"{unit}_quiz.yml"
    source = yaml.safe_load((REPOSITORY / "solutions" / path.name).read_text(encoding="utf-8"))
    for name in quiz.items:
        with_other_answers(source, name, random.Random(name))
    path.write_text(yaml.safe_dump(source, sort_keys=False, allow_unicode=True), encoding="utf-8")
    other = load_quiz(path)
    assert all(other.items[name] != item for name, item in quiz.items.items())
    assert copies(other) == copies(quiz)


def test_students_files_contain_no_text_for_after_the_due_date() -> None:
    for quiz in QUIZZES.values():
        received = copies(quiz)
        withheld: list[str] = []
        for item in quiz.items.values():
            withheld += [text.strip() for _, text in item.texts_after_due()]
            if isinstance(item, BugItem):
                withheld += [line.fix.strip() for line in item.lines.values() if line.fix]
        assert len(withheld) > 30
        assert not [text for text in withheld if text in received or json.dumps(text, ensure_ascii=False) in received]


def test_the_parameters_that_students_receive_are_those_of_the_question() -> None:
    for quiz in QUIZZES.values():
        for name, item in quiz.items.items():
            received = {column for row in quiz.questions.items[name].variants for column in row}
            assert received.isdisjoint({"answer", *(item.slips if isinstance(item, NumberItem | ShapeItem) else ())})
            assert all(f"[[{column}]]" in "".join(text for _, text in item.texts_asked()) for column in received)
