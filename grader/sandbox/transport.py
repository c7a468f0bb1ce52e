"""The connection to a student process: sends and receives messages by a deadline, and collects what it prints."""

from __future__ import annotations

import gc
import select
from collections import Counter
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from grader.sandbox import messages, protocol
from grader.sandbox.bounds import check_sizes
from grader.sandbox.messages import Anomaly, Error, Exited, Handshake, Progress, Reply, Request, Running

if TYPE_CHECKING:
    import socket

    from grader.sandbox.processes import Process

# Tracebacks end at the line of the test: the frames below it help nobody.
__tracebackhide__ = True

# Not larger: the memory is allocated before it is known how much has arrived.
READ_BYTES = 2**16
# Before a larger reply, garbage is collected: earlier ones stay in the circles of errors and their frames, because
# Python counts the objects, not the bytes, that wait for a collection. Honest replies are smaller.
LARGE_BYTES = 2**20
SHORTEST_WAIT = 0.01
# Student code may print without end.
MAX_DRAINED = 64

FROM_WORKER = (Reply, Error, Progress, Running, Anomaly, Handshake)
Left = Callable[[], float]
"""Returns the seconds that are left. It is called before each wait."""


class OutputBuffer:
    """Keeps what student code prints, up to a number of bytes for each exercise, and counts the rest."""

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._text = b""
        self._bytes = 0
        self._kept: Counter[str] = Counter()  # by exercise

    def add(self, text: bytes, exercise: str) -> None:
        """Keep what an exercise printed, within the limit."""
        kept = text[: max(self._limit - self._kept[exercise], 0)]
        self._text += kept
        self._kept[exercise] += len(kept)
        self._bytes += len(text)

    def take(self) -> tuple[str, int]:
        """Return what was printed since the last call, and how many bytes were dropped."""
        text, dropped = self._text.decode("utf-8", "replace"), self._bytes - len(self._text)
        self.restore((b"", 0))
        return text, dropped

    def state(self) -> tuple[bytes, int]:
        """Return a state for `restore`."""
        return self._text, self._bytes

    def restore(self, state: tuple[bytes, int]) -> None:
        """Forget what was printed since `state` returned this state."""
        self._text, self._bytes = state


class Transport:
    """The connection to one process.

    Every method may raise EOFError or ConnectionError if the process is gone, and TimeoutError at the deadline.
    """

    def __init__(self, process: Process, printed: Callable[[bytes], None]) -> None:
        """Take over the process. `printed` is called with what it prints."""
        self._process = process
        self._printed = printed
        self._prints = True  # until its output is closed
        self._arrived = bytearray()  # received but not used yet, usually the rest of a frame
        self._part = memoryview(bytearray(READ_BYTES))  # where the next part arrives
        process.connection.setblocking(False)
        process.output.setblocking(False)

    def send(self, request: Request, data: bytes | bytearray, left: Left) -> None:
        """Send a request, whose tensors have these bytes."""
        connection = self._process.connection
        view = memoryview(protocol.pack(messages.plain(request), data))
        while view:
            try:
                view = view[connection.send(view) :]
            except BlockingIOError:
                self._wait([], [connection], left)

    def receive(self, left: Left) -> tuple[Any, bytearray]:
        """Return the next message, of a kind in FROM_WORKER, and the bytes of its tensors.

        Raises:
            ProtocolError: The message is malformed, or too large.
        """
        begin = protocol.HEADER.size
        self._await(begin, left)
        text_bytes, data_bytes = protocol.HEADER.unpack_from(self._arrived)
        check_sizes(text_bytes, data_bytes)
        if data_bytes > LARGE_BYTES:
            gc.collect()
        middle, end = begin + text_bytes, begin + text_bytes + data_bytes
        self._await(end, left)
        # What remains of it are the bytes of its tensors: they are not copied.
        frame, self._arrived = self._arrived, self._arrived[end:]
        text = bytes(frame[begin:middle])
        del frame[end:], frame[:middle]
        return messages.parse(protocol.unpack_reply(text), *FROM_WORKER), frame

    def drain(self) -> None:
        """Collect what has been printed."""
        for _ in range(MAX_DRAINED):
            if not self._read_output():
                return

    def end(self, patience: float = 0) -> Exited:
        """End the process, unless it ends by itself within `patience` seconds. Return how it ended."""
        self.drain()
        return self._process.end(patience)

    def _await(self, count: int, left: Left) -> None:
        """Wait until this many bytes have arrived."""
        connection = self._process.connection
        while len(self._arrived) < count:
            if connection in self._wait([connection], [], left):
                size = connection.recv_into(self._part)
                if not size:
                    raise EOFError
                self._arrived += self._part[:size]

    def _wait(self, reading: list[socket.socket], writing: list[socket.socket], left: Left) -> list[socket.socket]:
        """Wait for the connection, collect what is printed meanwhile, and return what can be read."""
        seconds = left()
        if seconds <= 0:
            raise TimeoutError
        output = self._process.output
        sources = [*reading, output] if self._prints else reading
        readable, _, _ = select.select(sources, writing, [], max(seconds, SHORTEST_WAIT))
        if output in readable:
            self._read_output()
        return readable

    def _read_output(self) -> bool:
        """Collect some of what was printed. Return whether there may be more."""
        try:
            text = self._process.output.recv(READ_BYTES)
        except (BlockingIOError, ConnectionError):
            return False
        self._printed(text)
        self._prints = bool(text)
        return self._prints
