"""The sandbox client: calls into a student process, which it starts, and starts again after it was lost.

Everything that goes wrong in that process becomes one of a few failures, each with a sentence. A statement that ended
or hung the process is left out of the sources from then on.
"""

from __future__ import annotations

import itertools
import os
import signal
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from grader.sandbox.failures import Ended, FailedStatement, TimedOut
from grader.sandbox.limits import Clock, Limits, TimeBudget
from grader.sandbox.pieces import fix_indentation, split
from grader.sandbox.processes import START_SECONDS, Left, OutputBuffer, Server, ServerLost, Transport
from grader.sandbox.protocol import Anomaly, Exited, Handshake, Progress, ProtocolError, Running, TooLarge, check_sizes
from grader.sandbox.replies import AuditLog, Reader, failed_statements, values_of
from grader.sandbox.values import Calls
from grader.text import listed

# Tracebacks end at the line of the test: the frames below it help nobody.
__tracebackhide__ = True

MAX_STARTS = 40
# A process cannot guess the next number, so it cannot reply in advance.
NUMBER_BYTES = 7
# Signals with which others end a process. An isolated one can send itself none, and the kernel sends SIGKILL only for
# want of processor time or memory. Windows has no signals; there a killed process ends with code 1.
FROM_OUTSIDE = {getattr(signal, f"SIG{name}", None) for name in ("KILL", "TERM", "INT", "HUP", "QUIT")}
# A process closes its connection before it ends.
ENDING_SECONDS = 0.5
OTHERS = "So the file's other calls and loops outside of functions were left out, too"
PUT_BELOW = 'Put what takes long under `if __name__ == "__main__":`.'


@dataclass(frozen=True)
class Source:
    """A unit's source texts, each with its label in tracebacks."""

    filename: str
    cells: tuple[str, ...]
    labels: tuple[str, ...]
    is_notebook: bool

    @classmethod
    def of(cls, filename: str, cells: Sequence[str]) -> Source:
        """Label a script with its file name, and the cells of a notebook with their numbers, from 1."""
        is_notebook = filename.endswith(".ipynb")
        labels = [f"{filename}, cell {number}" for number in range(1, len(cells) + 1)] if is_notebook else [filename]
        return cls(filename, tuple(cells), tuple(labels), is_notebook)


class LeftOut:
    """What to leave out of each unit: such statements and, if time ran out, all calls and loops outside of functions.

    Attributes:
        failures: The statements, for each unit.
        brief: The units whose calls and loops are left out.
    """

    def __init__(self, sources: dict[str, Source]) -> None:
        """Leave out nothing of these units."""
        self.failures: dict[str, list[FailedStatement]] = {unit: [] for unit in sources}
        self._sources = sources
        self._places: dict[str, list[tuple[int, int]]] = {unit: [] for unit in sources}
        self.brief: set[str] = set()

    def sources(self) -> dict[str, dict[str, Any]]:
        """Return the sources as the worker reads them."""
        return {
            unit: {**vars(source), "skip": self._places[unit], "is_brief": unit in self.brief}
            for unit, source in self._sources.items()
        }

    def add(self, place: Progress | None, failure: TimedOut | Ended, loaded: str) -> bool:
        """Leave out the statement that was running when the process was lost. Return False if none was.

        loaded: the unit that was being loaded. It may have imported the one of the statement.
        """
        known = place if place and place.unit in self._sources else None
        unit, ran_out_of_time = known.unit if known else loaded, isinstance(failure, TimedOut)
        if ran_out_of_time:
            self.brief.add(unit)
        if not known or not 0 <= known.cell < len(self._sources[unit].cells):
            return False
        source = self._sources[unit]
        detail = f"{_others(source, known)} {PUT_BELOW}".strip() if ran_out_of_time else ""
        self._places[unit].append((known.cell, known.line))
        label = source.labels[known.cell]
        self.failures[unit].append(FailedStatement(tuple(known.names), failure.reason, detail, known.line, label))
        return True


def _others(source: Source, place: Progress) -> str:
    """Return a sentence on the calls and loops of a source outside of functions, but the one at this place; or ""."""
    stopped = place.cell, place.line
    cells = fix_indentation(list(source.cells)) if source.is_notebook else source.cells
    found = []
    for number, (cell, label) in enumerate(zip(cells, source.labels, strict=True)):
        pieces = split(cell, source.is_notebook)
        others = [one if one.does_only and (number, one.line) != stopped else None for one in pieces]
        # Those of neighbours together.
        runs = [list(filter(None, run)) for is_other, run in itertools.groupby(others, bool) if is_other]
        lines_of_runs = [(run[0].line, run[-1].last_line) for run in runs]
        places = [str(first) if first == last else f"{first} to {last}" for first, last in lines_of_runs]
        if places:
            lines = "line" if len(places) == 1 and places[0].isdigit() else "lines"
            found.append(f"{lines} {listed(places)}{f' of {label}' if source.is_notebook else ''}")
    return f"{OTHERS}: {'; '.join(found)}." if found else ""


class SandboxClient:
    """Calls into the process of one submission, which starts with the first call and again after it was lost.

    Attributes:
        layers: What isolates the process, by layer.
        failures: The statements that failed, for each unit that was loaded.
        budget: The time that calls may take; `budget.use` names the exercise.
        draws: The results of calls that tests share, by the call.
    """

    def __init__(self, server: Server, sources: dict[str, Source], limits: Limits) -> None:
        """Take the server of the process, the sources of a submission's units, and the limits."""
        self.server = server
        self.sources = sources
        self.limits = limits
        self.layers: dict[str, bool] = {}
        self.failures: dict[str, list[FailedStatement]] = {}
        self.budget = TimeBudget(limits.unit_seconds)
        self.draws: dict[Any, list[Any]] = {}
        self._output = OutputBuffer(limits.output_kb * 1024)
        self._audit_log = AuditLog()
        self._transport: Transport | None = None
        self._clock = Clock()
        self._starts: Counter[str] = Counter()
        self._number = 0  # of the last request
        self._waiting = Calls()  # sent with the next call that has a value
        self._loaded: set[str] = set()
        self._left_out = LeftOut(sources)
        self._progress: Progress | None = None
        self._running: Running | None = None  # where the call was last

    def call(self, operation: str, **details: Any) -> Any:
        """Return the value of one operation of the worker. Raises Failure if there is none."""
        [value] = self._call(operation, details)
        return value

    def repeat(self, times: int, operation: str, **details: Any) -> list[Any]:
        """Return the values of an operation that is done so many times. Each may take as long as a call.

        Raises:
            Failure: One has none. The rest is not done.
        """
        return self._call(operation, details, times=times, in_pieces=True)

    def notify(self, operation: str, **details: Any) -> None:
        """Queue a call without a value. It is sent with the next `call`, which fails if this one does."""
        if self._transport is None:
            self._open()
        self._waiting.add(operation, **details)

    def forget(self) -> None:
        """Drop the queued calls."""
        self._waiting = Calls()

    def load(self, unit: str) -> None:
        """Run a unit's source, once in each process.

        A statement that ends or hangs the process is skipped later, and so are, if time ran out, all calls and loops.
        """
        if self._transport is None:
            self._open()
        while unit not in self._loaded:
            self._progress = None
            self._drain()
            before = self._output.state()
            # What a unit prints counts only the first time.
            has_printed = unit in self.failures or unit in self._left_out.brief
            try:
                [failed] = self._call("load", {"unit": unit}, failed_statements, in_pieces=True)
            except (TimedOut, Ended) as failure:
                if has_printed or isinstance(failure, Ended):
                    self._output.restore(before)
                self.close()  # if there was no time left to ask it
                if not self._left_out.add(self._progress, failure, unit):
                    raise
            else:
                if has_printed:
                    self._output.restore(before)
                self._loaded.add(unit)
                self.failures[unit] = [*self._left_out.failures[unit], *failed]

    def take_printed(self) -> tuple[str, int]:
        """Return what student code printed since the last call, and how many bytes were dropped."""
        self._drain()
        return self._output.take()

    def take_anomalies(self) -> list[str]:
        """Return the anomalies of student code since the last call. Information, not evidence."""
        return self._audit_log.take()

    def close(self) -> None:
        """End the process, if there is one."""
        if self._transport is not None:
            self._end()

    # -- the process ----------------------------------------------------------------------------------------

    def _open(self) -> None:
        self._starts[self.budget.name] += 1
        if self._starts[self.budget.name] > MAX_STARTS:
            raise Ended(f"Its process was lost {MAX_STARTS} times and is not started again.")
        process = self.server.start(self.limits.cpu_seconds, self.limits.memory_mb)
        self._transport = Transport(process, lambda text: self._output.add(text, self.budget.name))
        self._loaded = set()
        self.forget()
        self._clock = Clock()
        starting = self._clock.begin()
        # No student code has run yet, so what the process says about its layers and itself can be trusted.
        try:
            handshake, _ = self._transport.receive(lambda: starting.left(START_SECONDS))
            if not isinstance(handshake, Handshake):
                raise ProtocolError("another message than a handshake")
        except (OSError, EOFError, ProtocolError) as error:
            self._end()
            raise ServerLost(f"a student's process did not start: {self.take_printed()[0]}") from error
        self.layers = handshake.layers
        self._clock = Clock(handshake.pid)
        self._call("begin", {"sources": self._left_out.sources()}, seconds=START_SECONDS)

    def _end(self, patience: float = 0) -> Exited:
        assert self._transport is not None
        transport, self._transport = self._transport, None
        self._clock.close()
        return transport.end(patience)

    # -- one request and its reply --------------------------------------------------------------------------

    def _call(
        self,
        operation: str,
        details: dict[str, Any],
        read: Reader = values_of,
        times: int = 1,
        in_pieces: bool = False,
        seconds: float | None = None,
    ) -> list[Any]:
        """Send a request of the queued calls and this one, and return the values that `read` finds in the replies.

        With `in_pieces`, each statement of a unit, and each repetition, may take as long as a call. `seconds` are for
        all of them together; without it, what is left for the exercise.
        """
        self.notify(operation, **details)
        calls = self._waiting
        self.forget()
        if seconds is None:
            seconds = self.budget.left()
        assert self._transport is not None
        whole = piece = self._clock.begin()

        def begin_piece() -> None:
            nonlocal piece
            if in_pieces:
                piece = self._clock.begin()

        def left() -> float:
            return min(whole.left(seconds), piece.left(self.limits.call_seconds))

        try:
            self._number = int.from_bytes(os.urandom(NUMBER_BYTES))
            self._running = None
            self._transport.send(calls.request(self._number, times), calls.data, left)
            return self._values(times, read, left, begin_piece)
        except TooLarge as error:
            self._end()
            raise Ended(f"The student process sent {error} in one reply and was stopped.") from error
        except ProtocolError as error:
            self._end()
            raise Ended("The student process sent a malformed reply and was stopped.", str(error)) from error
        except TimeoutError:
            self._end()
            exceeded = self.budget.exceeded(self.limits.call_seconds, is_loading=self.budget.name in self.sources)
            if self._running:
                exceeded.line, exceeded.file = self._running.line, self._running.file
            raise exceeded from None
        except (ConnectionError, EOFError):
            raise Ended(self._how_it_ended(self._end(ENDING_SECONDS))) from None
        finally:
            self.budget.spend(whole.counted())

    def _values(self, times: int, read: Reader, left: Left, begin_piece: Callable[[], None]) -> list[Any]:
        """Receive replies until there are so many values. Raises ProtocolError if there are more, or too many bytes."""
        values, received = list[Any](), 0
        while len(values) < times:
            if values:
                begin_piece()
            reply, data = self._receive(left, begin_piece)
            received += len(data)
            check_sizes(0, received)
            values += read(reply, data)
        if len(values) > times:
            raise ProtocolError("more values than calls")
        return values

    def _receive(self, left: Left, begin_piece: Callable[[], None]) -> tuple[Any, bytearray]:
        """Return the next reply to the last request, and its tensors' bytes. Note the messages before it."""
        assert self._transport is not None
        while True:
            message, data = self._transport.receive(left)
            if isinstance(message, Handshake) or message.number != self._number:
                raise ProtocolError("an answer to another question")
            match message:
                case Progress():
                    self._progress = message
                    begin_piece()
                case Running():
                    self._running = message
                case Anomaly():
                    self._audit_log.add(self.budget.name.partition("/")[0], message)
                case _:
                    return message, data

    def _drain(self) -> None:
        """Collect what has been printed."""
        if self._transport is not None:
            self._transport.drain()

    def _how_it_ended(self, ending: Exited) -> str:
        """Return why the connection was closed. Raises ServerLost if student code did not cause it.

        The signal alone does not tell: a process that uses up its time is killed by the same one as by an operator.
        """
        cpu_seconds, memory_mb = self.limits.cpu_seconds, self.limits.memory_mb
        if ending.code >= 0:
            return f"It ended the Python process (exit code {ending.code})."
        if -ending.code not in FROM_OUTSIDE:
            return f"It crashed the Python process (signal {-ending.code})."
        if ending.cpu_seconds >= cpu_seconds:
            return f"Stopped after {cpu_seconds} s of processor time, which is all that a unit gets."
        if ending.was_ended:
            return "Its process closed the connection to the grader."
        if not ending.memory_ran_out:
            raise ServerLost(f"a student's process was killed from outside (signal {-ending.code})")
        # With torch, answers hold about 300 MB. A process that holds more than half of its limit is why memory ran out;
        # otherwise the machine has too little, or others took it.
        if ending.memory_bytes > memory_mb * 2**20 / 2:
            return f"Stopped: the machine ran out of memory, and its process held over half of its {memory_mb} MB."
        raise ServerLost(
            f"the machine ran out of memory before a student's process held half of the {memory_mb} MB it may use"
        )
