"""The connection to a student process: messages sent and received by a deadline, and all that it prints meanwhile."""

from __future__ import annotations

import select
import socket
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from grader.sandbox import messages, protocol
from grader.sandbox.bounds import ProtocolError, check_sizes
from grader.sandbox.messages import Anomaly, Error, Handshake, Progress, Reply, Request

if TYPE_CHECKING:
    import torch

    from grader.sandbox.processes import Ending, Process

# Tracebacks end at the line of the test: the way from there helps nobody.
__tracebackhide__ = True

# No larger: the memory is asked for before it is known how much has come.
READ_BYTES = 2**16
SHORTEST_WAIT = 0.01
# A thread of the student's may print for ever.
MAX_DRAINED = 64

FROM_WORKER = (Reply, Error, Progress, Anomaly, Handshake)
Left = Callable[[], float]
"""Gives the seconds that are left, which it is asked for before each wait."""


class Transport:
    """The connection to one process.

    Every method may raise EOFError or ConnectionError where the process is gone, and TimeoutError at the deadline.
    """

    def __init__(self, process: Process, printed: Callable[[bytes], None]) -> None:
        """Take the process over. `printed` is called with what it prints."""
        self._process = process
        self._printed = printed
        self._prints = True  # until its output is closed
        self._arrived = bytearray()  # and not taken yet: mostly the rest of a frame
        process.connection.setblocking(False)
        process.output.setblocking(False)

    def send(self, request: Request, tensors: list[torch.Tensor], left: Left) -> None:
        """Send a request.

        Raises:
            ProtocolError: Something has come already. Nothing was asked, so it is a forgery.
        """
        self._refuse_early()
        connection = self._process.connection
        view = memoryview(protocol.pack(messages.plain(request), tensors))
        while view:
            try:
                view = view[connection.send(view) :]
            except BlockingIOError:
                self._wait([], [connection], left)

    def receive(self, left: Left) -> tuple[Any, list[torch.Tensor]]:
        """Return the next message, of a kind in FROM_WORKER, and its tensors.

        Raises:
            ProtocolError: It is malformed, or too large.
        """
        sizes = protocol.HEADER.unpack(self._take(protocol.HEADER.size, left))
        check_sizes(*sizes)
        plain, tensors = protocol.unpack_reply(*(self._take(size, left) for size in sizes))
        return messages.parse(plain, *FROM_WORKER), tensors

    def drain(self) -> None:
        """Take in what has been printed."""
        for _ in range(MAX_DRAINED):
            if not self._read_output():
                return

    def end(self, patience: float = 0) -> Ending:
        """End the process, unless it ends by itself within so many seconds."""
        self.drain()
        return self._process.end(patience)

    def _refuse_early(self) -> None:
        early = bytes(self._arrived[:1])
        if not early:
            try:
                early = self._process.connection.recv(1, socket.MSG_PEEK)
            except BlockingIOError:
                return
        if early:
            raise ProtocolError("an answer that nobody asked for")
        raise EOFError

    def _take(self, count: int, left: Left) -> bytes:
        """Return so many bytes of what arrives."""
        connection = self._process.connection
        while len(self._arrived) < count:
            if connection in self._wait([connection], [], left):
                part = connection.recv(READ_BYTES)
                if not part:
                    raise EOFError
                self._arrived += part
        taken = bytes(self._arrived[:count])
        del self._arrived[:count]
        return taken

    def _wait(self, reading: list[socket.socket], writing: list[socket.socket], left: Left) -> list[socket.socket]:
        """Wait for the connection, taking in what is printed meanwhile, and return what can be read."""
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
        """Take in some of what was printed. Return whether there may be more."""
        try:
            text = self._process.output.recv(READ_BYTES)
        except (BlockingIOError, ConnectionError):
            return False
        self._printed(text)
        self._prints = bool(text)
        return self._prints
