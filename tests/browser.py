"""A real browser, to look at a page, and a real Jupyter server, to look at an nbgrader course as an instructor does."""

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
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Browser, BrowserContext, Page, expect, sync_playwright
from processes import PATIENCE_SECONDS, descendants, until, until_ended

# Formgrader and nbconvert's pages load MathJax from the network, which tests do not use.
FROM_THE_NETWORK = "MathJax is not defined"
OPTIONS = ["--disable-gpu", "--disable-quic"]


def chromium() -> str:
    """Return the path of chromium. Without chromium the test is skipped; in CI it fails."""
    if found := shutil.which("chromium"):
        return found
    reason = "there is no chromium: on Debian, sudo apt-get install chromium"
    if os.environ.get("CI"):
        pytest.fail(f"{reason}. CI must have it")
    pytest.skip(reason)


@contextmanager
def a_browser() -> Iterator[Browser]:
    """Start a browser for pages on the disk."""
    executable = chromium()
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=executable, args=OPTIONS)
        expect.set_options(timeout=PATIENCE_SECONDS * 1000)
        yield browser
        browser.close()


def barriers(page: Page) -> list[str]:
    """Return what keeps people from reading a page, such as too little contrast, as axe-core finds it."""
    found = Axe().run(page).response["violations"]
    return [f"{one['id']}: {node['html'][:200]}" for one in found for node in one["nodes"]]


class Sheet:
    """A page on the disk that a browser shows, and what happened: requests, and messages in the console.

    look: how it is shown, as arguments of `Browser.new_context`.
    """

    def __init__(self, browser: Browser, path: Path, **look: Any) -> None:
        self.events: list[str] = []
        self.page = browser.new_context(**look).new_page()
        self.page.on("console", lambda message: self.events.append(message.text))
        self.page.on("request", lambda request: self.events.append(f"request: {request.url[:200]}"))
        self.page.on("pageerror", lambda error: self.events.append(error.message))
        self.page.goto(path.as_uri())
        self.events.remove(f"request: {path.as_uri()}")

    def unfold(self) -> None:
        """Open everything that is folded."""
        self.page.evaluate("document.querySelectorAll('details').forEach(one => one.open = true)")

    def barriers(self) -> list[str]:
        """Return what keeps people from reading the page."""
        return barriers(self.page)

    def close(self) -> None:
        self.page.context.close()


class Jupyter:
    """JupyterLab with the extensions of nbgrader, started in a folder as an instructor starts it.

    environment: the environment of the server. Its HOME gets all that the server writes for itself.
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
        self._address_file = home / "runtime" / f"jpserver-{self._process.pid}.json"

    def address(self) -> tuple[str, str]:
        """Wait for the server's URL, which ends with a slash, and its token."""
        address = until(self._read)
        return address["url"], address["token"]

    def _read(self) -> dict[str, Any]:
        assert self._process.poll() is None, self._log.read_text(encoding="utf-8")
        try:
            read: dict[str, Any] = json.loads(self._address_file.read_text(encoding="utf-8"))
        except (OSError, ValueError):
            return {}
        return read

    def processes(self) -> list[int]:
        """Return the running processes that the server has started."""
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
    """Start a Jupyter server in `folder`, and a browser that is logged in there and cannot reach other addresses."""
    executable = chromium()
    server = Jupyter(folder, environment)
    try:
        url, token = server.address()
        with sync_playwright() as playwright:
            browser = playwright.chromium.launch(executable_path=executable, args=OPTIONS)
            context = browser.new_context(base_url=url, viewport={"width": 1280, "height": 1600})
            context.set_default_timeout(PATIENCE_SECONDS * 1000)
            expect.set_options(timeout=PATIENCE_SECONDS * 1000)
            context.route(lambda address: not address.startswith(url), lambda route: route.abort())
            page = context.new_page()
            page.goto(f"tree?token={token}")
            page.close()
            yield server, context
            browser.close()
    finally:
        server.close()


def errors_of(page: Page) -> list[str]:
    """Return the errors of the page's scripts."""
    return [error.message for error in page.page_errors() if error.message != FROM_THE_NETWORK]
