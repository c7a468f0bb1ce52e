"""Draws docs/watch.svg, docs/show.svg and docs/practice.png: what a student sees of these three commands.

The first two run in a pseudo-terminal, on unit 1 with a mistake that is saved while `grader watch` runs, and on a wrong
mask of unit 3. The third is the page of unit 2 in chromium, with one wrong answer.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import pexpect
from playwright.sync_api import sync_playwright
from rich.console import Console
from rich.text import Text

ROOT = Path(__file__).resolve().parents[1]
WIDTH, HEIGHT = 100, 40
CLEAR = "\x1b[2J\x1b[H"
SUM = ("exponentials.sum(dim=dim, keepdim=True)", "exponentials.sum()")
MASK = ("diagonal=1", "diagonal=0")


def main() -> None:
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary) / "ada"
        shutil.copytree(ROOT / "exercises", folder / "exercises")
        for unit in ("simple_attention", "causal_attention"):
            shutil.copy(ROOT / "solutions" / f"{unit}.py", folder / "exercises")
        environment = os.environ | {"TERM": "xterm-256color", "COLORTERM": "truecolor", "CI": ""}
        environment |= {f"XDG_{kind}_HOME": f"{temporary}/{kind}" for kind in ("CACHE", "STATE")}
        draw("watch", "grader watch", watched(folder, environment))
        draw("show", "grader show causal_mask", shown(folder, environment))
        photograph(folder, environment)


def terminal(folder: Path, environment: dict[str, str], *arguments: str) -> pexpect.spawn:
    """Start a command of the grader in a terminal."""
    command = ["-m", "grader", *arguments]
    size = (HEIGHT, WIDTH)
    return pexpect.spawn(
        sys.executable, command, cwd=folder, env=environment, encoding="utf-8", dimensions=size, timeout=120
    )


def watched(folder: Path, environment: dict[str, str]) -> str:
    """Return the screen of `grader watch` after a save with a mistake."""
    running = terminal(folder, environment, "watch")
    running.expect("quit")
    change(folder / "exercises" / "simple_attention.py", *SUM)
    running.expect("quit")
    screen = str(running.before + running.after)
    running.send("q")
    running.expect(pexpect.EOF)
    return screen.rpartition(CLEAR)[2]


def shown(folder: Path, environment: dict[str, str]) -> str:
    """Return what `grader show` prints of a mask that also hides the token itself."""
    change(folder / "exercises" / "causal_attention.py", *MASK)
    return str(terminal(folder, environment, "show", "causal_mask").read())


def change(file: Path, right: str, wrong: str) -> None:
    """Replace code in a file once."""
    text = file.read_text(encoding="utf-8")
    assert right in text, right
    file.write_text(text.replace(right, wrong, 1), encoding="utf-8")


def draw(name: str, title: str, screen: str) -> None:
    """Write what a terminal has shown as a picture."""
    with open(os.devnull, "w", encoding="utf-8") as nowhere:
        console = Console(file=nowhere, record=True, width=WIDTH, highlight=False, force_terminal=True)
        console.print(Text.from_ansi(screen.replace("\r\n", "\n").rstrip()))
        console.save_svg(str(ROOT / "docs" / f"{name}.svg"), title=title)


def photograph(folder: Path, environment: dict[str, str]) -> None:
    """Write a picture of the practice page, with one wrong answer."""
    command = [sys.executable, "-m", "grader", "practice", "self_attention", "--page", "practice.html"]
    subprocess.run(command, cwd=folder, env=environment, check=True, stdout=subprocess.DEVNULL)
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=shutil.which("chromium"))
        page = browser.new_page(viewport={"width": 760, "height": 900})
        page.goto((folder / "practice.html").as_uri())
        page.locator("input").first.fill("(3, 2)")
        page.locator("button").first.click()
        page.screenshot(path=ROOT / "docs" / "practice.png")
        browser.close()


if __name__ == "__main__":
    main()
