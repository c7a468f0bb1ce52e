"""Many submissions: hands them to the grading engine, a few at a time, and gives each result as it comes."""

from __future__ import annotations

import json
import queue
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterable, Iterator
from dataclasses import asdict
from types import TracebackType
from typing import Any

from grader.sandbox.processes import start_module
from grader.submission import Submission

ERROR_LINES = 12


class EngineFault(Exception):
    """The grader's own fault; the text ends with the last lines of what the engine had to say."""


class Engine:
    """The grading engine, in a process of its own with a clean environment, whatever this program is."""

    def __init__(self, isolated: bool = sys.platform == "linux") -> None:
        self._errors = tempfile.TemporaryFile("w+", encoding="utf-8", errors="replace")  # noqa: SIM115
        practice = [] if isolated else ["--practice"]
        pipe = subprocess.PIPE
        self._process = start_module("grader.engine", *practice, stdin=pipe, stdout=pipe, stderr=self._errors)
        # Read all the time: an engine that waits to be read from would not read what it is being sent.
        self._lines: queue.SimpleQueue[bytes] = queue.SimpleQueue()
        self._listener = threading.Thread(target=self._listen, daemon=True)
        self._listener.start()

    def __enter__(self) -> Engine:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        assert self._process.stdin
        assert self._process.stdout
        self._process.stdin.close()
        if kind is not None:
            self._process.kill()
        self._process.wait()
        self._listener.join()
        self._process.stdout.close()
        self._errors.close()

    def greeting(self) -> dict[str, Any]:
        """What the engine says when it is ready: the missing layers, all criteria, the versions of what it uses."""
        return self._read()

    def grade(self, submissions: Iterable[Submission], at_once: int) -> Iterator[tuple[Submission, dict[str, Any]]]:
        """Each submission with its result, in the order in which they are done.

        A grading process that fails is tried once more; then its result holds a `fault`. Raises EngineFault.
        """
        waiting = enumerate(submissions)
        running: dict[int, tuple[Submission, bool]] = {}
        while True:
            while len(running) < at_once and (following := next(waiting, None)):
                number, submission = following
                running[number] = (submission, True)
                self._ask(number, submission)
            if not running:
                return
            result = self._read()
            number = result["number"]
            submission, may_retry = running.pop(number)
            if "fault" in result and may_retry:
                running[number] = (submission, False)
                self._ask(number, submission)
            else:
                yield submission, result

    def last_words(self) -> str:
        """The last lines that the engine wrote as errors."""
        self._errors.flush()
        self._errors.seek(0)
        return "\n".join(self._errors.read().splitlines()[-ERROR_LINES:])

    def _ask(self, number: int, submission: Submission) -> None:
        assert self._process.stdin
        units = {name: asdict(source) for name, source in submission.units.items()}
        try:
            self._process.stdin.write(json.dumps({"number": number, "units": units}).encode() + b"\n")
            self._process.stdin.flush()
        except OSError as error:
            raise self._fault() from error

    def _listen(self) -> None:
        assert self._process.stdout
        for line in self._process.stdout:
            self._lines.put(line)
        self._lines.put(b"")

    def _read(self) -> dict[str, Any]:
        line = self._lines.get()
        if not line:
            raise self._fault()
        return json.loads(line)

    def _fault(self) -> EngineFault:
        code = self._process.wait()
        return EngineFault(f"The grading engine ended with code {code}. Its last words:\n{self.last_words()}")
