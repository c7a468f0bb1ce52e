"""The page of `grader practice --page`, in a real browser: its script marks as the grader does."""

from __future__ import annotations

import itertools
import random
from collections.abc import Iterator
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
from browser import barriers, chromium
from courses import COURSE
from playwright.sync_api import Browser, Page, expect, sync_playwright
from typer.testing import CliRunner

from grader.cli.student_cli import app
from grader.quizzes.answers import AnswerError, parse
from grader.quizzes.items import (
    BugItem,
    ChoiceItem,
    Item,
    NumberItem,
    OrderItem,
    ShapeItem,
    VariedItem,
    exact,
    mark,
    too_short,
)
from grader.quizzes.practice_items import FILENAME, page_of, read_practice
from grader.quizzes.quiz_source import QuizSource

PRACTICE = read_practice(COURSE.checks / FILENAME)
ALL = QuizSource("all", "All units", {name: item for unit in PRACTICE.values() for name, item in unit.items.items()})

NO_NUMBERS = ["", "_", ".", "-", "1/0", "1,5", "3e", "7 3", "0x10", "NaN", "٣", "1" * 201]
NO_SHAPES = ["(2, -3)", "2.5", "(2; 3)", "((2, 3)", "(2,, 3)", "1234567890", "x"]
NO_LETTERS = ["", "z", "1", "ä", "a9"]


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    executable = chromium()
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=executable, args=["--disable-gpu"])
        yield browser
        browser.close()


@pytest.fixture
def opened(browser: Browser, tmp_path: Path) -> Iterator[Any]:
    """Opens the page of some items without a network. Errors of the page fail the test."""
    context = browser.new_context(viewport={"width": 390, "height": 800}, offline=True)
    errors: list[str] = []

    def opened(practice: QuizSource) -> Page:
        path = tmp_path / "page.html"
        path.write_text(page_of(practice), encoding="utf-8")
        page = context.new_page()
        page.on("pageerror", lambda error: errors.append(error.message))
        page.on("console", lambda message: errors.append(message.text))
        page.goto(path.as_uri())
        return page

    yield opened
    context.close()
    assert errors == []


# -- marking ----------------------------------------------------------------------------------------------------------


def numbers(item: NumberItem, row: dict[str, Any]) -> Iterator[str]:
    """Right and wrong numbers, in many notations: at the tolerance, beyond it, and with too few decimals."""
    digits = item.decimals or 0
    for value in (exact(row[column]) for column in item.withheld()):
        yield f"{value.numerator}/{value.denominator}"
        for steps in (Fraction(0), Fraction(1), Fraction(-1), Fraction(11, 10), Fraction(-11, 10)):
            near = value + steps / 10**digits
            scaled = near * 10 ** (digits + 3)
            yield from (f"{scaled.numerator}e-{digits + 3}", f"${float(near):.{digits + 3}f}$")
        yield from (f"{float(value):.{places}f}" for places in range(digits + 1))
        yield from (f" **{value.numerator} / {value.denominator}** ", f"−{abs(value.numerator)}")
    yield from NO_NUMBERS


def shapes(item: ShapeItem, row: dict[str, Any]) -> Iterator[str]:
    for shape in (row[column] for column in item.withheld()):
        text = ", ".join(map(str, shape))
        yield from (f"({text})", f"[{text}]", f"torch.Size([{text}])", text, f"({text},)", f"`({text})`")
        yield from (text.replace(", ", separator) for separator in (" x ", "X", "×", " "))
        yield from (f"({text}, 1)", f"(1, {text})", str(tuple(reversed(shape))))
    yield from ("()", "[]", *NO_SHAPES)


def letters(item: ChoiceItem | BugItem) -> Iterator[str]:
    known = item.asked().letters
    yield from (" ".join(chosen) for size in range(1, len(known) + 1) for chosen in itertools.combinations(known, size))
    yield from (known[0].upper(), f"({known[1]})", f"{known[1]}, {known[0]}", *NO_LETTERS)


def orders(item: OrderItem) -> Iterator[str]:
    known = item.asked().letters
    draws = random.Random(item.question)
    yield from (item.answer, "".join(item.answer.split()).upper(), " → ".join(known), known + known[0], known[1:])
    yield from (" ".join(draws.sample(known, len(known))) for _ in range(20))
    yield from NO_LETTERS


def raws(item: Item, variant: int) -> list[str]:
    match item:
        case NumberItem():
            return list(numbers(item, item.row(variant)))
        case ShapeItem():
            return list(shapes(item, item.row(variant)))
        case OrderItem():
            return list(orders(item))
        case _:
            return list(letters(item))


def marked_by_python(item: Item, raw: str, variant: int) -> tuple[str, int]:
    """Return what the answer is worth, and how many sentences it gets."""
    try:
        parse(item.asked(), raw)
    except AnswerError:
        return "unreadable", 0
    if too_short(item, raw, variant):
        return "too short", 0
    marked = mark(item, raw, variant, 1)
    return ("right" if marked.points == item.points else "wrong"), len(marked.sentences)


def test_the_script_marks_every_practice_item_as_the_grader_does(opened: Any) -> None:
    items = list(ALL.items.values())
    cases = [
        (number, variant, raw)
        for number, item in enumerate(items)
        for variant in range(len(item.variants) if isinstance(item, VariedItem) and item.variants else 1)
        for raw in raws(item, variant)
    ]
    found = opened(ALL).evaluate(
        """cases => cases.map(([number, variant, raw]) => {
            const marked = mark(items[number], variant, raw);
            if (marked.problem) return [marked.problem.includes("asked for") ? "too short" : "unreadable", 0];
            return [marked.right ? "right" : "wrong", marked.sentences.length];
        })""",
        cases,
    )
    expected = [marked_by_python(items[number], raw, variant) for number, variant, raw in cases]
    different = [
        (case, one, tuple(other))
        for case, one, other in zip(cases, expected, found, strict=True)
        if one != tuple(other)
    ]
    assert different == []
    assert {kind for kind, _ in expected} == {"right", "wrong", "unreadable", "too short"}


# -- the page ---------------------------------------------------------------------------------------------------------


def test_the_command_writes_the_page_to_a_file(tmp_path: Path) -> None:
    unit = next(iter(PRACTICE))
    page = tmp_path / "new" / "p.html"
    done = CliRunner().invoke(app, ["practice", unit, "--page", str(page), "--course", str(COURSE.root)])
    assert done.exit_code == 0, done.output
    text = page.read_text(encoding="utf-8")
    assert text == page_of(PRACTICE[unit])
    assert "http" not in text.replace("http-equiv", "")


def test_a_question_is_answered_with_the_keyboard_and_the_verdict_is_announced(opened: Any) -> None:
    practice = PRACTICE["bigram_language_model"]
    page = opened(practice)
    form = page.get_by_role("form", name="5. Loss of one character")
    field = form.get_by_role("textbox", name="A number")
    field.focus()
    page.keyboard.type("5")
    page.keyboard.press("Enter")
    expect(form.get_by_role("status")).to_contain_text("Not right.")
    expect(page.locator("#score")).to_have_text("0 of 8 right at the first try, 1 answered.")


def test_other_numbers_asks_another_question_and_removes_the_verdict(opened: Any) -> None:
    page = opened(PRACTICE["bigram_language_model"])
    form = page.get_by_role("form", name="3. Possible starts")
    question = form.locator("[id^=question]")
    for _ in range(4):
        before = question.inner_text()
        form.get_by_role("textbox").fill("2")
        form.get_by_role("button", name="Check").click()
        expect(form.get_by_role("status")).to_contain_text("Not right.")
        form.get_by_role("button", name="Other numbers").click()
        assert question.inner_text() != before
        expect(form.get_by_role("status")).to_be_empty()
        expect(form.get_by_role("textbox")).to_be_focused()


def test_boxes_are_ticked_by_their_labels(opened: Any) -> None:
    page = opened(PRACTICE["multi_head_attention"])
    form = page.get_by_role("form", name="How many heads fit")
    form.get_by_role("button", name="Check").click()
    expect(form.get_by_role("status")).to_have_text("Tick at least one box.")
    for name in ("a) 1", "c) 8", "d) 12"):
        form.get_by_role("checkbox", name=name, exact=True).check()
    form.get_by_role("button", name="Check").click()
    expect(form.get_by_role("status")).to_contain_text("Right.")


def test_a_page_fits_a_phone_also_with_all_verdicts(opened: Any) -> None:
    page = opened(ALL)
    for form in page.locator("form").all():
        if form.locator("input[type=text]").count():
            form.locator("input").fill("7")
        else:
            form.locator("input").first.check()
        form.get_by_role("button", name="Check").click()
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")


@pytest.mark.parametrize("look", ["light", "dark"])
def test_axe_finds_no_barrier_also_in_verdicts(look: str, opened: Any) -> None:
    of_each_kind: dict[str, Item] = {item.kind: item for item in ALL.items.values()}
    page = opened(QuizSource("unit", "One item of each kind", of_each_kind))
    page.emulate_media(color_scheme=look)
    for form in page.locator("form").all():
        answer = form.locator("input").first
        answer.fill("7") if answer.get_attribute("type") == "text" else answer.check()
        form.get_by_role("button", name="Check").click()
    assert barriers(page) == []


def test_html_and_script_ends_in_a_text_are_only_shown(opened: Any) -> None:
    item = next(item for item in PRACTICE["causal_attention"].items.values() if isinstance(item, ChoiceItem))
    hostile = item.model_copy(update={"question": "</script><script>window.broken = 1</script><img src=x onerror=a()>"})
    page = opened(QuizSource("unit", "A <b>title</b> & more", {"item": hostile}))
    expect(page.get_by_role("heading", level=1)).to_have_text("A <b>title</b> & more")
    expect(page.locator("form")).to_contain_text("</script><script>window.broken = 1</script>")
    assert page.evaluate("window.broken === undefined")
