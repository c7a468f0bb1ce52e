"""Draws docs/page.png: the page that `grader check --html` writes, light on a laptop and dark on a phone.

It checks the first two units with two mistakes in them, and shows the page in chromium.
"""

from __future__ import annotations

import base64
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Literal

from playwright.sync_api import Browser, sync_playwright

ROOT = Path(__file__).resolve().parents[1]

MISTAKES = {
    "simple_attention.py": [("exponentials.sum(dim=dim, keepdim=True)", "exponentials.sum()")],
    "self_attention.py": [
        ("scores = queries @ keys.transpose(-2, -1) / d_k**0.5", "scores = queries @ keys / d_k**0.5"),
        ("    queries = inputs @ W_query", '    print("inputs:", tuple(inputs.shape))\n    queries = inputs @ W_query'),
    ],
}
# The width and height of the window, the colours, and what is at the top.
LOOKS: list[tuple[int, int, Literal["light", "dark"], str]] = [
    (760, 900, "light", "body"),
    (390, 900, "dark", '[id="unit.self_attention"]'),
]
BESIDE = '<body style="margin: 0; display: flex; gap: 24px; background: #8a9199">'


def main() -> None:
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=shutil.which("chromium"))
        taken = screenshots(checked(Path(folder) / "ada"), browser)
        pictures = [f'<img src="data:image/png;base64,{base64.b64encode(one).decode()}">' for one in taken]
        width, height = sum(look[0] for look in LOOKS) + 24, max(look[1] for look in LOOKS)
        whole = browser.new_page(viewport={"width": width, "height": height})
        whole.set_content(BESIDE + "".join(pictures))
        whole.screenshot(path=ROOT / "docs" / "page.png")
        browser.close()


def checked(folder: Path) -> Path:
    """Return the page on a student's folder with the mistakes above."""
    shutil.copytree(ROOT / "exercises", folder / "exercises")
    for name, changes in MISTAKES.items():
        text = (ROOT / "solutions" / name).read_text(encoding="utf-8")
        for right, wrong in changes:
            assert right in text, right
            text = text.replace(right, wrong, 1)
        (folder / "exercises" / name).write_text(text, encoding="utf-8")
    command = [sys.executable, "-m", "grader", "check", "--html", "check.html"]
    subprocess.run(command, cwd=folder, stdout=subprocess.DEVNULL, check=False)  # it exits with 1: there are mistakes
    return folder / "check.html"


def screenshots(page: Path, browser: Browser) -> list[bytes]:
    """Return a picture of the page for each look."""
    taken = []
    for width, height, colours, top in LOOKS:
        shown = browser.new_page(viewport={"width": width, "height": height}, color_scheme=colours)
        shown.goto(page.as_uri())
        for printed in shown.locator(".exercise[open] .printed").all():
            printed.evaluate("one => one.open = true")
        shown.locator(top).evaluate("one => one.scrollIntoView()")
        taken.append(shown.screenshot())
    return taken


if __name__ == "__main__":
    main()
