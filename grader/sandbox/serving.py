"""The loop of a student process: requests are read, answered by the worker, and replied to, one at a time."""

from __future__ import annotations

import contextlib
import json
import os
import sys
import threading
from collections import deque
from typing import TYPE_CHECKING

import torch

from grader.sandbox import audit_hook, import_stubs
from grader.sandbox.bounds import ProtocolError

# By name, since student code may replace what the modules hold: that changes this process, never the verdict.
from grader.sandbox.messages import Anomaly, Error, Handshake, Reply, Request, parse, plain
from grader.sandbox.protocol import HEADER, halves, pack_reply, unpack
from grader.sandbox.worker import Worker, refusal

if TYPE_CHECKING:
    from collections.abc import Sequence

READ_BYTES = 2**16


def serve(requests: int, replies: int, layers: dict[str, bool], modules: Sequence[str] = ()) -> None:
    """Answer requests until the other side closes.

    Args:
        requests: A descriptor.
        replies: A descriptor; it may be the same.
        layers: What isolates this process. It is sent once, before any of the student's code is here.
        modules: What student code may import beside the standard library, torch and numpy.
    """
    outlet = Outlet(replies)
    worker = Worker(lambda place: outlet.send(_frame(place._replace(number=outlet.number))))
    import_stubs.install(worker.units, modules)
    watch = audit_hook.Watch(worker.units.labels, outlet.notify)
    watch.listen()
    outlet.send(_frame(Handshake(layers, os.getpid())))
    streams = sys.stdout, sys.stderr
    while True:
        message, tensors = unpack(*_read_frame(requests))
        request = parse(message, Request)
        outlet.expect_reply(request.number)
        try:
            reply, sent = worker.answer(request, tensors)
        finally:  # also where student code has broken what answers
            with contextlib.suppress(BaseException):
                watch.look()
        for stream in streams:
            with contextlib.suppress(BaseException):
                stream.flush()
        outlet.reply(_frame_or_refusal(request.number, reply, sent))


def _frame(message: tuple[object, ...], sent: Sequence[torch.Tensor] = ()) -> bytes:
    return pack_reply(plain(message), list(sent))


def _frame_or_refusal(number: int, reply: Reply | Error, sent: list[torch.Tensor]) -> bytes:
    try:
        return _frame(reply, sent)
    except BaseException as error:  # noqa: BLE001 - too large a value, or no memory left to pack it in
        text = (
            f"it gave {error}"
            if isinstance(error, ProtocolError)
            else f"it gave a result that could not be sent ({type(error).__name__})"
        )
        return _frame(refusal(number, "Unsendable", text))


def serve_unisolated(modules: Sequence[str]) -> None:
    """Serve over standard input and output, in a process started for one submission and not isolated at all."""
    requests, replies = os.dup(0), os.dup(1)
    os.dup2(2, 1)
    torch.set_num_threads(1)
    serve(requests, replies, {}, modules)


class Outlet:
    """Where frames leave: one at a time, whichever threads they come from.

    An anomaly leaves only while a request waits for its reply; until then it is kept.
    """

    def __init__(self, descriptor: int) -> None:
        self.descriptor = descriptor
        self.number = 0
        self.is_awaited = False
        self.kept: deque[tuple[str, str]] = deque()
        self.lock = threading.Lock()
        # Held on to, since student code may replace json.dumps and len: that is just what is to be reported.
        self.encode, self.length = json.JSONEncoder().encode, len

    def expect_reply(self, number: int) -> None:
        """A request of this number is there. What was kept since the last one is sent now."""
        with self.lock:
            self.number, self.is_awaited = number, True
            self._send_kept()

    def send(self, frame: bytes) -> None:
        """Send a frame at once."""
        with self.lock:
            _write(self.descriptor, frame)

    def reply(self, frame: bytes) -> None:
        """Send the reply to the request, after what was kept."""
        with self.lock:
            self._send_kept()
            _write(self.descriptor, frame)
            self.is_awaited = False

    def notify(self, words: str, argument: str) -> None:
        """Send an anomaly, now or later. Never waits: it may be called while this very thread sends a frame."""
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
    """Return the two parts of a frame. Requests come one at a time, so nothing of the next one is read with it."""
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
