"""Draws docs/summary.png: the page that `grader summary` writes, in light and dark colours and on a phone.

The class is made by tests/made_class.py, without students: its reports are drawn at random, the same in each run.
"""

from __future__ import annotations

import base64
import shutil
import sys
import tempfile
from pathlib import Path
from typing import Literal

from playwright.sync_api import Browser, sync_playwright

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests"))
import made_class
from courses import COURSE

from grader.classes.decisions import Decisions
from grader.classes.roster import read_roster
from grader.classes.summary_page import page, read_class

STUDENTS = 60
HEIGHT = 1000
# The width of the window, the colours, the heading at the top, and what is unfolded.
LOOKS: list[tuple[int, Literal["light", "dark"], str, str]] = [
    (780, "light", "body", ""),
    (780, "dark", "#quizzes", ".quiz-unit:first-of-type, .item:first-of-type"),
    (360, "light", "#help", ""),
]
BESIDE = '<body style="margin: 0; display: flex; gap: 24px; background: #8a9199">'


def main() -> None:
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=shutil.which("chromium"))
        taken = screenshots(written(Path(folder)), browser)
        pictures = [f'<img src="data:image/png;base64,{base64.b64encode(one).decode()}">' for one in taken]
        width = sum(look[0] for look in LOOKS) + 24 * (len(LOOKS) - 1)
        whole = browser.new_page(viewport={"width": width, "height": HEIGHT})
        whole.set_content(BESIDE + "".join(pictures))
        whole.screenshot(path=Path(__file__).with_suffix(".png"))
        browser.close()


def written(folder: Path) -> Path:
    """Return the page on a made class."""
    made_class.write_class(folder / "reports", STUDENTS)
    roster = folder / "roster.csv"
    roster.write_text(made_class.roster(STUDENTS), encoding="utf-8")
    summary = folder / "summary.html"
    found = read_class(Decisions(COURSE, read_roster(roster, COURSE.units)), folder / "reports")
    summary.write_text(page(found), encoding="utf-8")
    return summary


def screenshots(summary: Path, browser: Browser) -> list[bytes]:
    """Return a picture of the page for each look."""
    taken = []
    for width, colours, top, unfolded in LOOKS:
        shown = browser.new_page(viewport={"width": width, "height": HEIGHT}, color_scheme=colours)
        shown.goto(summary.as_uri())
        for one in shown.locator(unfolded).all() if unfolded else []:
            one.evaluate("one => one.open = true")
        shown.locator(top).evaluate("one => one.scrollIntoView()")
        taken.append(shown.screenshot())
    return taken


if __name__ == "__main__":
    main()
