"""A real browser and a real Jupyter server: what an instructor sees of an nbgrader course."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import BrowserContext, Page, expect, sync_playwright
from processes import PATIENCE_SECONDS, descendants, until, until_ended

# Both formgrader and nbconvert's pages fetch this from the network, which no test asks for anything.
FROM_THE_NETWORK = "MathJax is not defined"


def chromium() -> str:
    """Where Chromium is. Without it a test is skipped, but not in CI."""
    if found := shutil.which("chromium"):
        return found
    reason = "there is no chromium: on Debian, sudo apt-get install chromium"
    if os.environ.get("CI"):
        pytest.fail(f"{reason}. CI has to look at the pages")
    pytest.skip(reason)


class Jupyter:
    """JupyterLab and the extensions of nbgrader, started in a folder as an instructor starts it.

    environment: of the server, with its HOME, where all that it writes for itself stays.
    """

    def __init__(self, folder: Path, environment: Mapping[str, str]) -> None:
        home = Path(environment["HOME"])
        self._log = home / "jupyter.log"
        with self._log.open("wb") as log:
            self._process = subprocess.Popen(
                [sys.executable, "-m", "jupyter", "lab", "--no-browser", "--allow-root", "--ServerApp.port=0"],
                cwd=folder,
                env={**environment, "JUPYTER_RUNTIME_DIR": str(home / "runtime")},
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
            )
        self._told = home / "runtime" / f"jpserver-{self._process.pid}.json"

    def address(self) -> tuple[str, str]:
        """Its URL, which ends with a slash, and the token that opens it, as soon as it has told them."""
        told = until(self._read)
        return told["url"], told["token"]

    def _read(self) -> dict[str, Any]:
        assert self._process.poll() is None, self._log.read_text(encoding="utf-8")
        try:
            read: dict[str, Any] = json.loads(self._told.read_text(encoding="utf-8"))
        except (OSError, ValueError):
            return {}
        return read

    def processes(self) -> list[int]:
        """All that it has started and that is still there."""
        return descendants(self._process.pid)

    def close(self) -> None:
        started = self.processes()
        self._process.terminate()
        try:
            self._process.wait(PATIENCE_SECONDS)
        finally:
            self._process.kill()
            self._process.wait()
        until_ended(started)


@contextmanager
def looking_at(folder: Path, environment: Mapping[str, str]) -> Iterator[tuple[Jupyter, BrowserContext]]:
    """A Jupyter server in `folder`, and a browser that has logged in there and reaches nothing else."""
    executable = chromium()
    server = Jupyter(folder, environment)
    try:
        url, token = server.address()
        with sync_playwright() as playwright:
            browser = playwright.chromium.launch(executable_path=executable, args=["--disable-gpu", "--disable-quic"])
            context = browser.new_context(base_url=url, viewport={"width": 1280, "height": 1600})
            context.set_default_timeout(PATIENCE_SECONDS * 1000)
            expect.set_options(timeout=PATIENCE_SECONDS * 1000)
            context.route(lambda asked: not asked.startswith(url), lambda route: route.abort())
            page = context.new_page()
            page.goto(f"tree?token={token}")
            page.close()
            yield server, context
            browser.close()
    finally:
        server.close()


def errors_of(page: Page) -> list[str]:
    """What went wrong in the page's own programs."""
    return [error.message for error in page.page_errors() if error.message != FROM_THE_NETWORK]
