"""The loop of a student process: reads a request, has the worker answer it, and sends the reply.

As a program it serves over standard input and output, on systems without fork: for practice, without isolation. Its
arguments are the modules that student code may import.
"""

from __future__ import annotations

import contextlib
import json
import os
import signal
import sys
import threading
from collections import deque
from collections.abc import Sequence
from io import TextIOWrapper
from types import FrameType

from grader.sandbox import audit_hook, preload

# By name, because student code may replace what the modules contain. That changes this process, never the verdict.
from grader.sandbox.protocol import (
    HEADER,
    Anomaly,
    Handshake,
    ProtocolError,
    Request,
    Running,
    halves,
    pack_reply,
    parse,
    unpack,
)
from grader.sandbox.units import current_place
from grader.sandbox.worker import Answer, Worker, refusal

READ_BYTES = 2**16
# Of processor time, between two messages about the line that runs.
RUNNING_SECONDS = 0.2


def start_timer() -> None:
    """Have SIGPROF sent after each RUNNING_SECONDS. To be called before isolation, which allows no timer."""
    if hasattr(signal, "setitimer"):
        signal.signal(signal.SIGPROF, signal.SIG_IGN)
        signal.setitimer(signal.ITIMER_PROF, RUNNING_SECONDS, RUNNING_SECONDS)


def serve(requests: int, replies: int, layers: dict[str, bool], modules: Sequence[str] = ()) -> None:
    """Answer requests until the other side closes the connection.

    Args:
        requests: A descriptor.
        replies: A descriptor, possibly the same.
        layers: What isolates this process. It is sent once, before any student code is here.
        modules: What student code may import beside the standard library, torch and numpy.
    """
    outlet = Outlet(replies)
    worker = Worker(lambda place: outlet.send(pack_reply(place._replace(number=outlet.number))))
    preload.install_stubs(worker.units, modules)
    watch = audit_hook.Watch(worker.units.labels, outlet.notify)
    watch.listen()

    def report_line(_signal: int, frame: FrameType | None) -> None:
        with contextlib.suppress(BaseException):
            place = current_place(frame, worker.units.labels)
            if place:
                outlet.send_if_free(pack_reply(Running(outlet.number, *place)))

    if hasattr(signal, "SIGPROF"):
        signal.signal(signal.SIGPROF, report_line)
    outlet.send(pack_reply(Handshake(layers, os.getpid())))
    streams = sys.stdout, sys.stderr
    while True:
        text, data = _read_frame(requests)
        request = parse(unpack(text), Request)
        outlet.expect_reply(request.number)
        answers, is_last = worker.answers(request, data), False
        while not is_last:
            try:
                answer = next(answers)
            finally:  # even if student code has broken the worker
                with contextlib.suppress(BaseException):
                    watch.look()
            for stream in streams:
                with contextlib.suppress(BaseException):
                    stream.flush()
            frame, is_last = _framed(request.number, answer)
            outlet.reply(frame, is_last)


def _framed(number: int, answer: Answer) -> tuple[bytes, bool]:
    """Return the frame of an answer, or of why it cannot be sent, and whether it is the last."""
    try:
        return pack_reply(answer.reply, answer.data), answer.is_last
    except ProtocolError as error:
        text = f"it gave {error}"
    except BaseException as error:  # noqa: BLE001 - such as no memory left to pack it in
        text = f"it gave a result that could not be sent ({type(error).__name__})"
    return pack_reply(refusal(number, "Unsendable", text)), True


class Outlet:
    """Sends frames, one at a time, whichever threads they come from.

    An anomaly is sent only while a request waits for its reply; until then it is kept.
    """

    def __init__(self, descriptor: int) -> None:
        self.descriptor = descriptor
        self.number = 0
        self.is_awaited = False
        self.kept: deque[tuple[str, str]] = deque()
        self.lock = threading.Lock()
        # Saved, because student code may replace json.dumps and len, and that must be reported.
        self.encode, self.length = json.JSONEncoder().encode, len

    def expect_reply(self, number: int) -> None:
        """Note that a request of this number has arrived, and send the anomalies that were kept."""
        with self.lock:
            self.number, self.is_awaited = number, True
            self._send_kept()

    def send(self, frame: bytes) -> None:
        """Send a frame at once."""
        with self.lock:
            _write(self.descriptor, frame)

    def send_if_free(self, frame: bytes) -> None:
        """Send a frame if a request waits for its reply and this thread is not sending another frame."""
        if self.lock.acquire(blocking=False):
            try:
                if self.is_awaited:
                    _write(self.descriptor, frame)
            finally:
                self.lock.release()

    def reply(self, frame: bytes, is_last: bool) -> None:
        """Send the anomalies that were kept, then a reply to the request."""
        with self.lock:
            self._send_kept()
            _write(self.descriptor, frame)
            self.is_awaited = not is_last

    def notify(self, words: str, argument: str) -> None:
        """Send an anomaly, now or later. Never waits: this same thread may be sending a frame."""
        self.kept.append((words, argument))
        if self.lock.acquire(blocking=False):
            try:
                self._send_kept()
            finally:
                self.lock.release()

    def _send_kept(self) -> None:
        while self.is_awaited and self.kept:
            text = self.encode([Anomaly.__name__, self.number, *self.kept.popleft()]).encode()
            _write(self.descriptor, HEADER.pack(self.length(text), 0) + text)


def _read_frame(descriptor: int) -> tuple[bytes, bytes]:
    """Return the two parts of a frame. Requests come one at a time, so nothing of the next one is read."""
    frame, needed = bytearray(), HEADER.size
    while len(frame) < needed:
        part = os.read(descriptor, READ_BYTES)
        if not part:
            os._exit(0)
        frame += part
        if len(frame) >= HEADER.size:
            needed = HEADER.size + sum(HEADER.unpack_from(frame))
    return halves(bytes(frame))


def _write(descriptor: int, data: bytes) -> None:
    view = memoryview(data)
    while view:
        view = view[os.write(descriptor, view) :]


def _practise(modules: list[str]) -> None:
    preload.preload(modules)
    requests, replies = os.dup(0), os.dup(1)
    os.dup2(2, 1)
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, TextIOWrapper):  # as in an isolated process; Windows would end lines with "\r\n"
            stream.reconfigure(errors="backslashreplace", newline="\n", line_buffering=True)
    start_timer()
    serve(requests, replies, {}, modules)


if __name__ == "__main__":
    _practise(sys.argv[1:])
