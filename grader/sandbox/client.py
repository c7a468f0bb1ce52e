"""The sandbox client: calls into a student process, and starts it again where it was lost.

Everything that arrives is held to the time of the whole exchange, and checked against the sizes, shapes and
dtypes that it claims. Whatever goes wrong over there becomes one of a few failures, each with a sentence.
"""

from __future__ import annotations

import builtins
import re
import select
import signal
import socket
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import torch

from grader.sandbox import audit_hook, protocol
from grader.sandbox.clock import Clock
from grader.sandbox.failures import Ended, FailedStatement, Failure, NotDefined, Raised, Refused, TimedOut
from grader.sandbox.limits import Limits
from grader.sandbox.loader import AlwaysTrue
from grader.sandbox.processes import START_SECONDS, Ending, ForkServer, PractisingProcess, Process, ServerLost
from grader.sandbox.worker import MAX_FAILURES, MAX_MESSAGE

# Tracebacks end at the line of the test: the way from there helps nobody.
__tracebackhide__ = True

# What of torch it imports only when it is used, by how a source mentions it.
LATE = {
    "optim": re.compile(r"\boptim\b"),
    "checkpoint": re.compile(r"\bcheckpoint\b"),
    "meta": re.compile(r"""["']meta["']"""),
}
SIGNS = re.compile(r"[^\w\s.,;'()/+-]")
MAX_STARTS = 40
# No larger: the memory is asked for before it is known how much has come.
READ_BYTES = 2**16
MAX_NAMES = 100
MAX_NAME = 200
SHORTEST_WAIT = 0.01
# A process that ends closes its connection first.
ENDING_SECONDS = 0.5
NOT_PYTHON = "It is not valid Python."
ALWAYS_TRUE = "This assert is always true."


@dataclass(frozen=True)
class Source:
    """A unit's source texts, each with the name by which errors call it."""

    filename: str
    cells: tuple[str, ...]
    labels: tuple[str, ...]
    is_notebook: bool

    @classmethod
    def of(cls, filename: str, cells: Sequence[str]) -> Source:
        """A script is a single cell and is called by its name; a notebook's cells are counted from one."""
        is_notebook = filename.endswith(".ipynb")
        labels = [f"{filename}, cell {number}" for number in range(1, len(cells) + 1)] if is_notebook else [filename]
        return cls(filename, tuple(cells), tuple(labels), is_notebook)


def interpret(reply: dict[str, Any], tensors: list[torch.Tensor]) -> Any:
    """The value in a reply. Raises the Failure that the reply tells of, WireError where it is malformed."""
    error = reply.get("error")
    if error is None:
        return protocol.decode_reply(reply["value"], tensors)
    if not isinstance(error, dict) or not isinstance(error.get("types"), list):
        raise protocol.WireError("a damaged error")
    types = tuple(name for name in error["types"][:20] if isinstance(name, str))
    line, file = error.get("line"), error.get("file")
    detail = _text(error.get("text"))
    place = (line if isinstance(line, int) else None, file if isinstance(file, str) else None)
    if types[:1] == ("Undefined",):
        raise NotDefined(f"{_plain(detail)}.")
    if types[:1] in (("Unsupported",), ("Unsendable",)):
        raise Refused(_sentence(detail))
    raise Raised(tuple(name for name in types if _is_error_name(name)) or ("Exception",), detail, *place)


def _is_error_name(name: str) -> bool:
    kind = getattr(builtins, name, None)
    return isinstance(kind, type) and issubclass(kind, BaseException)


def _sentence(text: str) -> str:
    text = _plain(text)
    return f"{text[:1].upper()}{text[1:]}."


def _plain(text: str) -> str:
    """One line of words, without the signs that terminals and the logs of workflows obey.

    The student's process has worded it, and it becomes part of a reason, which is printed there.
    """
    return " ".join(SIGNS.sub(" ", text[:200]).split())


class SandboxClient:
    """One submission's way to its process, which is started when first asked and again after it was lost.

    server: None for practice without isolation.
    """

    def __init__(self, server: ForkServer | None, sources: dict[str, Source], limits: Limits) -> None:
        self.server = server
        self.sources = sources
        self.limits = limits
        self.layers: dict[str, bool] = {}
        # What failed while a unit was run: why, where, and the names that it would have defined.
        self.failures: dict[str, list[FailedStatement]] = {}
        self._account = ""
        self._shares = {"": float(limits.unit_seconds)}
        self._left = dict(self._shares)
        self._printed = bytearray()
        self._printed_bytes = 0
        # How many bytes were kept for each account.
        self._printed_kept: Counter[str] = Counter()
        # What its process told of attempts: how many of each kind in each unit, and those not taken yet.
        self._attempted: Counter[tuple[str, str]] = Counter()
        self._attempts: dict[str, bool] = {}
        # What came with the last part that was read, mostly the rest of its frame.
        self._arrived = bytearray()
        self._process: Process | None = None
        self._clock = Clock()
        self._starts: Counter[str] = Counter()
        self._number = 0
        # What was told and has not gone yet.
        self._requests = protocol.Requests()
        self._loaded: set[str] = set()
        self._fatal: dict[str, list[FailedStatement]] = {unit: [] for unit in sources}
        self._skip: dict[str, list[tuple[int, int]]] = {unit: [] for unit in sources}
        self._place: dict[str, Any] = {}
        self._output_open = True

    def charge(self, account: str, shared_by: int) -> None:
        """From here on time is taken from this account, which holds its share of a unit's time.

        So no exercise can use up what another needs, however many of its calls hang.
        """
        self._account = account
        self._shares[account] = self.limits.unit_seconds / shared_by
        self._left.setdefault(account, self._shares[account])

    def call(self, operation: str, **details: Any) -> Any:
        """The answer to one request. Raises Failure where there is none."""
        self.notify(operation, **details)
        requests = self._requests
        self.forget()
        return self._exchange(requests, self._time_left(), in_pieces=operation == "load")

    def notify(self, operation: str, **details: Any) -> None:
        """A request that has no answer. It goes with the next one that has, which fails where this one does."""
        if self._process is None:
            self._open()
        self._requests.add(operation, **details)

    def forget(self) -> None:
        """Lets go of what was told and has not gone yet."""
        self._requests = protocol.Requests()

    def load(self, unit: str) -> None:
        """Runs a unit's source, once in each process. A piece that ends or hangs it is left out from then on."""
        if self._process is None:
            self._open()
        while unit not in self._loaded:
            self._place = {}
            before = self._printed[:], self._printed_bytes
            try:
                failures = self.call("load", unit=unit)
            except (TimedOut, Ended) as failure:
                self._printed, self._printed_bytes = before
                if not self._leave_out(self._place, failure):
                    raise
            else:
                if unit in self.failures:  # what a unit prints counts the first time only
                    self._printed, self._printed_bytes = before
                self._loaded.add(unit)
                self.failures[unit] = [
                    *self._fatal[unit],
                    *map(_lost, failures[:MAX_FAILURES] if type(failures) is list else []),
                ]

    def take_printed(self) -> tuple[str, int]:
        """What the student's code printed since last asked, and how many bytes of it were not kept."""
        text = self._printed.decode("utf-8", "replace")
        dropped = self._printed_bytes - len(self._printed)
        self._printed, self._printed_bytes = bytearray(), 0
        return text, dropped

    def take_attempts(self) -> list[str]:
        """What the student's code was seen to try since last asked, a sentence each. Information, not evidence."""
        sentences = [sentence for sentence, is_new in self._attempts.items() if is_new]
        self._attempts.update(dict.fromkeys(sentences, False))
        return sentences

    def close(self) -> None:
        """Ends the process, if there is one."""
        if self._process is not None:
            self._end()

    # -- the process ----------------------------------------------------------------------------------------

    def _open(self) -> None:
        self._starts[self._account] += 1
        if self._starts[self._account] > MAX_STARTS:
            raise Ended(f"Its process was lost {MAX_STARTS} times and is not started again.")
        if self.server is None:
            self._process = PractisingProcess(self._mentioned())
        else:
            self._process = self.server.start(self.limits.cpu_seconds, self.limits.memory_mb, self._mentioned())
        self._process.connection.setblocking(False)
        self._process.output.setblocking(False)
        self._number, self._loaded, self._output_open = 0, set(), True
        self._arrived.clear()
        self.forget()
        self._clock = Clock()
        starting = self._clock.begin()
        # Until here no code of the student's has run, so its word on the layers, and on itself, can be trusted.
        try:
            handshake, _ = self._receive(lambda: starting.left(START_SECONDS))
            self.layers = handshake["layers"]
            self._clock = Clock(handshake["pid"])
        except (OSError, EOFError, KeyError, protocol.WireError) as error:
            self._end()
            raise ServerLost(f"a student's process did not start: {self.take_printed()[0]}") from error
        sources = {
            unit: {
                "filename": source.filename,
                "cells": source.cells,
                "labels": source.labels,
                "is_notebook": source.is_notebook,
                "skip": self._skip[unit],
            }
            for unit, source in self.sources.items()
        }
        begin = protocol.Requests()
        begin.add("begin", sources=sources)
        self._exchange(begin, START_SECONDS)

    def _mentioned(self) -> list[str]:
        """The parts of torch among LATE that the sources mention."""
        cells = [cell for source in self.sources.values() for cell in source.cells]
        return [part for part, mention in LATE.items() if any(mention.search(cell) for cell in cells)]

    def _leave_out(self, place: dict[str, Any], failure: Failure) -> bool:
        """Notes the piece that was running when the process was lost; False where no piece can be named."""
        match place:
            case {"unit": str(unit), "cell": int(cell), "line": int(line), "names": list(names)}:
                if unit not in self.sources or not 0 <= cell < len(self.sources[unit].cells):
                    return False
                self._skip[unit].append((cell, line))
                label = self.sources[unit].labels[cell]
                self._fatal[unit].append(FailedStatement(_texts(names), failure.reason, "", line, label))
                return True
        return False

    def _time_left(self) -> float:
        left = self._left[self._account]
        if left <= 0:
            raise TimedOut("No time was left for it: earlier calls of this exercise took all there was.")
        return left

    # -- one request and its answer -------------------------------------------------------------------------

    def _exchange(self, requests: protocol.Requests, seconds: float, in_pieces: bool = False) -> Any:
        """The answer to the last request. in_pieces: each piece of source that is come to may take a call's time."""
        backend = piece = self._clock.begin()

        def left() -> float:
            return min(backend.left(seconds), piece.left(self.limits.call_seconds))

        try:
            self._refuse_unasked()
            self._number += 1
            message = {"number": self._number, "requests": requests.encoded}
            self._send(protocol.pack(message, requests.tensors), left)
            while True:
                reply, received = self._receive(left)
                if reply.get("number") != self._number:
                    raise protocol.WireError("an answer to another question")
                if "attempted" in reply:
                    self._note_attempt(reply["attempted"])
                    continue
                if "at" not in reply:
                    self._drain()
                    return interpret(reply, received)
                self._place = reply["at"] if isinstance(reply["at"], dict) else {}
                if in_pieces:
                    piece = self._clock.begin()
        except protocol.TooLarge as error:
            self._end()
            raise Ended(f"The student process sent {error} in one reply and was stopped.") from error
        except (protocol.WireError, KeyError) as error:
            self._end()
            raise Ended("The student process sent a malformed reply and was stopped.", str(error)) from error
        except TimeoutError:
            self._end()
            # Never how much was left: that differs from run to run, and the report should not.
            call, together = self.limits.call_seconds, self._shares[self._account]
            raise TimedOut(
                f"It did not finish in time: {call:g} s for a call, {together:.2g} s for all together."
            ) from None
        except (ConnectionError, EOFError):
            raise Ended(self._how_it_ended(self._end(ENDING_SECONDS))) from None
        finally:
            self._left[self._account] -= backend.charged()

    def _note_attempt(self, told: Any) -> None:
        """Its own words on itself, so there is a bound to them, and what is not in their form is passed over."""
        match told:
            case [str(words), str(argument)] if words in audit_hook.WORDS:
                kind = (self._account.partition("/")[0], words)
                sentence = audit_hook.sentence(words, argument)
                if sentence not in self._attempts and self._attempted[kind] < audit_hook.MAX_OF_A_KIND:
                    self._attempted[kind] += 1
                    self._attempts[sentence] = True

    def _end(self, patience: float = 0) -> Ending:
        assert self._process is not None
        self._drain()
        process, self._process = self._process, None
        self._clock.close()
        return process.end(patience)

    def _how_it_ended(self, ending: Ending) -> str:
        """Say why the connection was closed. Raises ServerLost where the student's code had no part in it."""
        code = ending.code
        if code == -signal.SIGKILL:
            if ending.cpu_seconds + 1 > self.limits.cpu_seconds:
                return f"Stopped after {self.limits.cpu_seconds} s of processor time, which is all that a unit gets."
            if not ending.was_ended:
                raise ServerLost("the system killed a student's process, as it does where memory runs out")
            return "Its process closed the connection to the grader."
        if code < 0:
            return f"It crashed the Python process (signal {-code})."
        return f"It ended the Python process (exit code {code})."

    def _refuse_unasked(self) -> None:
        """Nothing was backend, so only the end of the process may be heard; anything else is a forgery."""
        assert self._process is not None
        early = bytes(self._arrived[:1])
        if not early:
            try:
                early = self._process.connection.recv(1, socket.MSG_PEEK)
            except BlockingIOError:
                return
        if early:
            raise protocol.WireError("an answer that nobody asked for")
        raise EOFError

    def _send(self, data: bytes, left: Callable[[], float]) -> None:
        assert self._process is not None
        connection, view = self._process.connection, memoryview(data)
        while view:
            try:
                view = view[connection.send(view) :]
            except BlockingIOError:
                self._wait([], [connection], left)

    def _receive(self, left: Callable[[], float]) -> tuple[dict[str, Any], list[torch.Tensor]]:
        sizes = protocol.HEADER.unpack(self._take(protocol.HEADER.size, left))
        protocol.check_sizes(*sizes)
        return protocol.unpack_reply(*(self._take(size, left) for size in sizes))

    def _take(self, count: int, left: Callable[[], float]) -> bytes:
        """So many bytes of what arrives."""
        assert self._process is not None
        connection = self._process.connection
        while len(self._arrived) < count:
            readable, _ = self._wait([connection], [], left)
            if readable:
                part = connection.recv(READ_BYTES)
                if not part:
                    raise EOFError
                self._arrived += part
        taken = bytes(self._arrived[:count])
        del self._arrived[:count]
        return taken

    def _wait(
        self, reading: list[socket.socket], writing: list[socket.socket], left: Callable[[], float]
    ) -> tuple[list[socket.socket], list[socket.socket]]:
        """Waits for the connection, taking in what is printed meanwhile. Raises TimeoutError when no time is left."""
        assert self._process is not None
        seconds = left()
        if seconds <= 0:
            raise TimeoutError
        sources = [*reading, self._process.output] if self._output_open else reading
        readable, writable, _ = select.select(sources, writing, [], max(seconds, SHORTEST_WAIT))
        if self._process.output in readable:
            self._take_output()
        return [ready for ready in readable if ready in reading], writable

    def _take_output(self) -> bool:
        """Takes in some of what was printed, keeping no more than the limit. Whether there may be more."""
        assert self._process is not None
        try:
            text = self._process.output.recv(READ_BYTES)
        except (BlockingIOError, ConnectionError):
            return False
        room = self.limits.output_kb * 1024 - self._printed_kept[self._account]
        kept = text[: max(room, 0)]
        self._printed += kept
        self._printed_kept[self._account] += len(kept)
        self._printed_bytes += len(text)
        self._output_open = bool(text)
        return bool(text)

    def _drain(self) -> None:
        # Bounded: a thread of the student's may print for ever.
        for _ in range(64):
            if not self._take_output():
                return


def _lost(failure: Any) -> FailedStatement:
    """A piece that the student's process says has failed, believed in nothing but its form."""
    failure = failure if isinstance(failure, dict) else {}
    types = [name for name in _texts(failure.get("types")) if _is_error_name(name)]
    kind = types[0] if types else "an error"
    if failure.get("types") == [AlwaysTrue.__name__]:
        reason = ALWAYS_TRUE
    else:
        reason = NOT_PYTHON if "SyntaxError" in types else f"It raised {kind}."
    line, file = failure.get("line"), failure.get("file")
    return FailedStatement(
        _texts(failure.get("names")),
        reason,
        _text(failure.get("text")),
        line if isinstance(line, int) else None,
        _plain(file) if isinstance(file, str) else None,
        tuple(name for name in _texts(failure.get("kept")) if name.isidentifier() and len(name) <= MAX_NAME),
    )


def _texts(value: Any) -> tuple[str, ...]:
    names = value[:MAX_NAMES] if isinstance(value, list | tuple) else ()
    return tuple(name[:MAX_NAME] for name in names if isinstance(name, str))


def _text(value: Any) -> str:
    return value[:MAX_MESSAGE] if isinstance(value, str) else ""
