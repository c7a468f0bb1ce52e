"""The page of a report in a real browser: content, folding, accessibility, pictures and formulas."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from browser import Sheet, a_browser
from made_reports import ATTACKS, exercise, quiz, raised, report, unit, unwritten, with_text
from playwright.sync_api import Browser, expect

from grader.reports.exporters.html import MOST_BYTES, Picture, Record, page
from grader.reports.report_model import MOST_OF_A_TEXT, Message, Report

TRACE = ["sums.py, line 21: return total(a)", "sums.py, line 12: raise ValueError(a)"]
ERROR = raised("total", "It raised a ValueError. no numbers <b>here</b>", 12)
EXPLANATION = "With `d = 4` the scores are divided by $\\sqrt{4} = 2$:\n\n$$\\frac{1}{1 + e^{-2}} \\approx 0.88$$"
DRAWING = Picture(
    '<svg xmlns="http://www.w3.org/2000/svg" width="40" height="20" onload="alert(1)"><script>alert(2)</script>'
    '<image href="https://a.example/b.png"/><rect width="40" height="20" style="fill: green"/></svg>',
    "The `mean` of each row.",
)
RECORD = Record(
    "Feedback: a course", ("Unit", "Commit"), [("Sums (`sums`)", "`aaaaaaaaaaaa`")], ["Not graded yet: `means`."]
)
PHONE: dict[str, Any] = {"viewport": {"width": 390, "height": 844}}
LOOKS: dict[str, dict[str, Any]] = {
    "light": {"color_scheme": "light"},
    "dark": {"color_scheme": "dark"},
    "phone": PHONE,
}


def printed(exercise: str | None, text: str, unit: str = "sums") -> Message:
    return Message(unit=unit, exercise=exercise, kind="printed", text=text, file=None, line=None)


def a_report() -> Report:
    return report(
        {
            "sums": unit(
                {
                    "total": exercise(1, 2, reason="It raised a ValueError.", mistake="It adds `a` twice."),
                    "mean": exercise(3),
                    "mode": exercise(0, 2, reason=None, waiting_for="Depends on `total`; fix that first."),
                    "median": unwritten(),
                },
                quiz=quiz(1, 2, sentences=["The root is missing."], answer="0.88", explanation=EXPLANATION),
            ),
            "means": unit({"mean_of": exercise(0, 1)}, path=None, remarks=["means.py could not be read."]),
        },
        [
            ERROR.model_copy(update={"trace": TRACE}),
            printed("mean", "shape: (2, 3)\n  done"),
            Message(unit="sums", exercise=None, kind="attempted", text="open /etc/passwd", file=None, line=None),
        ],
    )


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with a_browser() as one:
        yield one


@pytest.fixture
def shown(browser: Browser, tmp_path: Path) -> Iterator[Callable[..., Sheet]]:
    """Show the page of a report, or of the one above, in some look."""
    opened: list[Sheet] = []

    def show(text: str | None = None, **look: Any) -> Sheet:
        path = tmp_path / f"{len(opened)}.html"
        path.write_text(text or page(a_report()), encoding="utf-8")
        opened.append(Sheet(browser, path, **look))
        return opened[-1]

    yield show
    for one in opened:
        one.close()


def test_it_opens_with_the_points_and_leads_to_what_to_look_at_next(shown: Callable[..., Sheet]) -> None:
    opened = shown().page
    expect(opened).to_have_title("ada: Sums from scratch")
    expect(opened.get_by_role("banner")).to_contain_text("ada, Sums from scratch")
    expect(opened.get_by_role("heading", level=1)).to_have_text("5 of 14 points")
    expect(opened.get_by_role("banner")).to_contain_text("By the visible tests.")
    following = opened.get_by_role("region", name="Look at this next")
    expect(following).to_contain_text("total in sums")
    following.get_by_role("link", name="total").click()
    expect(opened.get_by_role("heading", name="total")).to_be_in_viewport()


def test_no_sentence_is_on_the_page_twice() -> None:
    sentences = ["First.", "Second.", "Second.", "First.", "Third.", "Second."]
    reasons = ["One.", "One.", "One.", "Two.", "Two.", "Three."]
    [test] = exercise(0, 1).tests
    said = zip(sentences, reasons, strict=True)
    tests = [test.model_copy(update={"sentence": sentence, "reason": reason}) for sentence, reason in said]
    total = exercise(0, len(tests)).model_copy(update={"tests": tests})
    text = page(report({"sums": unit({"total": total}), "means": unit({"mean": exercise(0)}, path=None)}))
    for sentence in sentences + reasons:
        assert text.count(sentence) == 1
    unread = report({"means": unit({"mean": exercise(0, 1)}, path=None, remarks=["means.py could not be read."])})
    assert page(unread).count("means.py could not be read.") == 1


def test_units_and_exercises_have_their_points_and_their_state_in_words(shown: Callable[..., Sheet]) -> None:
    opened = shown().page
    rows = opened.get_by_role("region", name="Unit by unit").get_by_role("row")
    assert rows.all_inner_texts()[1:] == [
        "sums\t◐ in progress\t5 of 13\t1 of 4",
        "means\t✘ no answer found\t0 of 1\t0 of 1",
    ]
    expect(opened.get_by_text("means.py could not be read.")).to_have_count(1)
    titles = opened.get_by_role("region", name="sums").locator(".exercise")
    for title, state in zip(titles.all(), ("in progress", "done", "waiting", "not written yet"), strict=True):
        expect(title.locator(".state")).to_contain_text(state)


def test_an_exercise_shows_the_main_issue_and_folds_the_rest(shown: Callable[..., Sheet]) -> None:
    opened = shown().page
    total = opened.locator(".exercise").filter(has=opened.get_by_role("heading", name="total"))
    expect(total.get_by_text("It adds a twice.")).to_be_visible()
    error = total.get_by_text("It raised a ValueError: no numbers <b>here</b>.")
    expect(error).not_to_be_visible()
    total.get_by_text("More about this exercise (1)").click()
    expect(error).to_be_visible()
    expect(total.get_by_text("Expected: They should be right.")).to_be_visible()
    expect(total.get_by_label("The lines that led to it")).to_have_text("\n".join(TRACE))


def test_everything_can_be_reached_and_unfolded_by_keyboard(shown: Callable[..., Sheet]) -> None:
    opened = shown().page
    opened.keyboard.press("Tab")
    expect(opened.get_by_role("link", name="Skip to the exercises")).to_be_focused()
    expect(opened.get_by_role("link", name="Skip to the exercises")).to_be_in_viewport()
    opened.keyboard.press("Enter")
    output = opened.get_by_text("shape: (2, 3)")
    expect(output).not_to_be_visible()
    for name in ("mean", "Printed output"):
        summary = opened.locator("summary").filter(has_text=name).first
        while not summary.evaluate("one => one === document.activeElement"):
            opened.keyboard.press("Tab")
            assert not opened.evaluate("document.activeElement === document.body"), name
        assert summary.evaluate("one => getComputedStyle(one).outlineStyle") == "solid"
        opened.keyboard.press("Enter")
    expect(output).to_be_visible()


@pytest.mark.parametrize("look", LOOKS)
def test_axe_finds_no_barrier_and_the_page_asks_for_nothing(look: str, shown: Callable[..., Sheet]) -> None:
    sheet = shown(page(a_report(), {"mean": DRAWING}, RECORD), **LOOKS[look])
    sheet.unfold()
    assert sheet.barriers() == []
    assert [event for event in sheet.events if not event.startswith("request: data:")] == []


def test_a_phone_needs_no_scrolling_to_the_side(shown: Callable[..., Sheet]) -> None:
    wide = report({"sums": unit({"a" * 80: exercise(0, 1, reason="x" * 300)})}, [printed("a" * 80, "y" * 300)])
    for text in (None, page(wide)):
        sheet = shown(text, **PHONE)
        sheet.unfold()
        assert sheet.page.evaluate("document.documentElement.scrollWidth") == PHONE["viewport"]["width"]


def test_a_page_of_attacks_runs_and_loads_nothing(shown: Callable[..., Sheet]) -> None:
    sheet = shown(page(with_text("\n".join(ATTACKS))))
    sheet.unfold()
    assert sheet.page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    assert sheet.events == []


def test_on_paper_everything_is_unfolded(shown: Callable[..., Sheet]) -> None:
    opened = shown(color_scheme="dark").page
    opened.emulate_media(media="print", color_scheme="dark")
    expect(opened.get_by_text("shape: (2, 3)")).to_be_visible()
    expect(opened.get_by_role("link", name="Skip to the exercises")).not_to_be_visible()
    assert opened.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(253, 253, 252)"


def test_a_quiz_has_its_explanation_with_formulas(shown: Callable[..., Sheet]) -> None:
    sheet = shown()
    sheet.unfold()
    item = sheet.page.locator(".item")
    for text in ("An item", "1 of 2 points", "The root is missing.", "The right answer"):
        expect(item).to_contain_text(text)
    fraction, root = item.locator("mfrac").bounding_box(), item.locator("msqrt").bounding_box()
    assert fraction is not None
    assert root is not None
    assert fraction["height"] > 1.5 * root["height"]  # a number above a line above a number


def test_a_picture_is_shown_with_its_caption_and_nothing_in_it_runs(shown: Callable[..., Sheet]) -> None:
    sheet = shown(page(a_report(), {"mean": DRAWING}))
    sheet.unfold()
    picture = sheet.page.get_by_role("img", name="The `mean` of each row.")
    assert picture.evaluate("one => one.decode().then(() => one.naturalWidth)") == 40
    assert [event for event in sheet.events if not event.startswith("request: data:")] == []


def test_the_end_says_how_it_was_graded(shown: Callable[..., Sheet]) -> None:
    opened = shown().page
    about = opened.get_by_role("contentinfo")
    for text in ("2027-01-20 12:00 UTC", "000000000000", "yes (limits: on)", "course 2026.1"):
        expect(about).to_contain_text(text)
    about.get_by_text("What your code was seen to try").click()
    expect(about.get_by_text("open /etc/passwd")).to_be_visible()


def test_the_longest_report_is_cut_to_less_than_a_megabyte() -> None:
    long = "&" * (MOST_OF_A_TEXT - 100)
    failed = exercise(0, 10)
    tests = [one.model_copy(update={"reason": f"{number} {long}"}) for number, one in enumerate(failed.tests)]
    exercises = {f"f_{number}": failed.model_copy(update={"tests": tests}) for number in range(8)}
    units = {f"unit_{number}": unit(exercises) for number in range(8)}
    messages = [printed(name, long, one) for one in units for name in exercises for _ in range(10)]
    made = page(report(units, messages))
    assert MOST_BYTES / 3 < len(made.encode()) < MOST_BYTES
    assert "&amp;…" in made


def test_the_same_report_gives_the_same_page() -> None:
    assert page(a_report()) == page(a_report())
