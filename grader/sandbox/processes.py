"""The processes that student code runs in, as the trusted side sees them: starting, ending, sending and receiving."""

from __future__ import annotations

import contextlib
import gc
import json
import os
import select
import socket
import subprocess
import sys
import threading
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from grader.errors import InternalError
from grader.files import module_command
from grader.sandbox import lockdown, protocol
from grader.sandbox.protocol import Exited, M, ProtocolError, Request

# Tracebacks end at the line of the test: the frames below it help nobody.
__tracebackhide__ = True

# The whole environment of the grader's processes and their children. One thread and one hash seed: a forked child
# cannot use its parent's threads, and a regrade must iterate over sets in the same order.
ENVIRONMENT = {
    "PATH": os.defpath, "LANG": "C.UTF-8", "TZ": "UTC", "HOME": "/nonexistent", "PYTHONHASHSEED": "0",
    "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1", "MKL_NUM_THREADS": "1", "PYTHONUTF8": "1",
    # Keep freed memory for the next tensor: glibc returns large blocks, and the kernel then clears them again, page by
    # page. Ask for huge pages, so that a fork has fewer to copy, and merge freed blocks at once, not in each fork.
    "MALLOC_MMAP_THRESHOLD_": str(2**25), "MALLOC_TRIM_THRESHOLD_": str(2**27),
    "GLIBC_TUNABLES": "glibc.malloc.hugetlb=1:glibc.malloc.mxfast=0",
}  # fmt: skip
# What the instructor may set; and on Windows what Python needs for sockets, libraries and temporary files.
PASSED_ON = (lockdown.USER_IDS,)
PASSED_ON_BY_WINDOWS = (
    "SYSTEMROOT", "SYSTEMDRIVE", "WINDIR", "PATH", "TEMP", "TMP", "USERPROFILE", "PROCESSOR_ARCHITECTURE",
)  # fmt: skip
START_SECONDS = 120
END_SECONDS = 10
READ_BYTES = 2**20
# Not larger: the memory is allocated before it is known how much has arrived.
RECEIVED_BYTES = 2**16
# Before a larger reply, garbage is collected: earlier ones stay in the circles of errors and their frames, because
# Python counts the objects, not the bytes, that wait for a collection. Honest replies are smaller.
LARGE_BYTES = 2**20
SHORTEST_WAIT = 0.01
# Student code may print without end.
MAX_DRAINED = 64

Left = Callable[[], float]
"""Returns the seconds that are left. It is called before each wait."""


class ServerLost(InternalError):
    """The fork server is gone, or failed to do its work."""


@dataclass(eq=False)
class ForkServer:
    """The fork server, as the trusted side sees it."""

    control: socket.socket
    process: subprocess.Popen[bytes] | None
    pid: int

    @cached_property
    def missing(self) -> dict[str, str]:
        """The layers that this system cannot provide, each with a sentence. Waits until the server is ready."""
        self.control.settimeout(START_SECONDS)
        try:
            return _receive(self.control, protocol.Ready, "the fork server did not start").missing
        finally:
            self.control.settimeout(None)

    @classmethod
    def forked(cls, modules: Sequence[str] = ()) -> ForkServer:
        """Fork this process. Only for a process that has a single thread and has loaded nothing secret yet.

        Args:
            modules: What student code may import beside the standard library, torch and numpy. They are imported before
                the first process is isolated; `missing` raises ServerLost with the name of one that cannot be used.
        """
        from grader.sandbox import fork_server

        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        parent = os.getpid()
        pid = os.fork()
        if pid == 0:
            code = 1
            try:
                ours.close()
                lockdown.die_with_parent(parent)
                fork_server.Server(theirs, modules).serve()
                code = 0
            finally:
                os._exit(code)
        theirs.close()
        return cls(ours, None, pid)

    @classmethod
    def spawned(cls, modules: Sequence[str] = ()) -> ForkServer:
        """Start a new process with its own environment: for programs that already have threads or secrets."""
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        process = start_module("grader.sandbox.fork_server", theirs.fileno(), *modules, pass_fds=(theirs.fileno(),))
        theirs.close()
        return cls(ours, process, process.pid)

    @property
    def is_alive(self) -> bool:
        """Whether the server still holds its end of the control socket, even if unread messages wait here."""
        hung_up = select.poll()
        hung_up.register(self.control, 0)
        return not hung_up.poll(0)

    def start(self, cpu_seconds: int, memory_mb: int) -> ForkedProcess:
        """Start a process for one submission. Raises ServerLost."""
        pairs = [socket.socketpair() for _ in range(3)]
        start = protocol.plain(protocol.Start(cpu_seconds, memory_mb * 2**20))
        try:
            socket.send_fds(self.control, [json.dumps(start).encode()], [theirs.fileno() for _, theirs in pairs])
        except OSError as error:
            for ours, _ in pairs:
                ours.close()
            raise ServerLost("the fork server is gone") from error
        finally:
            for _, theirs in pairs:
                theirs.close()
        return ForkedProcess(*(ours for ours, _ in pairs))

    def close(self) -> None:
        """End the server and all of its children."""
        self.control.close()
        if self.process is not None:
            self.process.wait()
        else:
            with contextlib.suppress(ChildProcessError):
                os.waitpid(self.pid, 0)


def start_module(module: str, *arguments: object, **options: Any) -> subprocess.Popen[bytes]:
    """Start a Python process that runs `module` of this package in the grader's environment."""
    command = module_command(module, *arguments)
    names = (*PASSED_ON, *PASSED_ON_BY_WINDOWS) if sys.platform == "win32" else PASSED_ON
    environment = {**ENVIRONMENT, **{name: os.environ[name] for name in names if name in os.environ}}
    return subprocess.Popen(command, env=environment, cwd="/", **options)


@dataclass(eq=False)
class ForkedProcess:
    """An isolated child of the fork server."""

    connection: socket.socket
    output: socket.socket
    lifeline: socket.socket

    def end(self, patience: float = 0) -> Exited:
        """Have the server kill the process, unless it ends by itself within `patience` seconds.

        Raises:
            ServerLost: The server is gone, or could not start the process.
        """
        select.select([self.lifeline], [], [], patience)
        with contextlib.suppress(OSError):
            self.lifeline.shutdown(socket.SHUT_WR)
        self.lifeline.settimeout(END_SECONDS)
        try:
            return _receive(self.lifeline, Exited, "the fork server did not say how a process ended")
        finally:
            for ours in (self.connection, self.output, self.lifeline):
                ours.close()


def _receive(sender: socket.socket, kind: type[M], problem: str) -> M:
    """Return the next message, of this kind. Raises ServerLost with this problem, or with the reason of NotStarted."""
    try:
        message: Any = protocol.parse(json.loads(sender.recv(READ_BYTES)), kind, protocol.NotStarted)
    except (OSError, ValueError, ProtocolError) as error:
        raise ServerLost(problem) from error
    if isinstance(message, kind):
        return message
    raise ServerLost(message.reason)


class PractisingProcess:
    """A worker in a new process of its own, over pipes, on systems without fork. It is not isolated."""

    def __init__(self, modules: Sequence[str] = ()) -> None:
        pipe = subprocess.PIPE
        self.process = start_module("grader.sandbox.serving", *modules, stdin=pipe, stdout=pipe, stderr=pipe)
        assert self.process.stdin
        assert self.process.stdout
        assert self.process.stderr
        self.connection, far = socket.socketpair()
        self.output, far_output = socket.socketpair()
        _pump(far.makefile("rb", buffering=0), self.process.stdin)
        _pump(self.process.stdout, far.makefile("wb", buffering=0))
        _pump(self.process.stderr, far_output.makefile("wb", buffering=0))
        far.close()
        far_output.close()

    def end(self, patience: float = 0) -> Exited:
        """End the process, unless it ends by itself within `patience` seconds."""
        with contextlib.suppress(subprocess.TimeoutExpired):
            self.process.wait(patience)
        was_ended = self.process.returncode is None
        self.process.kill()
        code = self.process.wait()
        self.connection.close()
        self.output.close()
        return Exited(code, was_ended)


Process = ForkedProcess | PractisingProcess


class PracticeServer:
    """Starts processes for practice, on systems without fork. One is always ready, because importing torch takes long.

    Attributes:
        missing: The layers of isolation that these processes lack: all.
    """

    def __init__(self, modules: Sequence[str] = ()) -> None:
        """Start the first process. `modules`: what student code may import, see `ForkServer.forked`."""
        self.missing = lockdown.nothing_holds()
        self._modules = modules
        self._ready: PractisingProcess | None = PractisingProcess(modules)

    def prepare(self) -> None:
        """Start a process for the next submission, if none is ready."""
        if self._ready is None:
            self._ready = PractisingProcess(self._modules)

    def start(self, cpu_seconds: int, memory_mb: int) -> PractisingProcess:  # noqa: ARG002
        """Return a process for one submission, like `ForkServer.start`. Only isolated processes have limits."""
        ready, self._ready = self._ready, None
        return ready or PractisingProcess(self._modules)

    def close(self) -> None:
        """End the process that is ready."""
        if self._ready:
            self._ready.end()


Server = ForkServer | PracticeServer


def _pump(source: Any, sink: Any) -> None:
    """Copy in a separate thread: a pipe cannot be waited for with a deadline on every system, but a socket can."""

    def copy() -> None:
        with contextlib.suppress(OSError, ValueError), source, sink:
            while data := source.read1(READ_BYTES) if hasattr(source, "read1") else source.read(READ_BYTES):
                sink.write(data)
                sink.flush()

    threading.Thread(target=copy, daemon=True).start()


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
        self._part = memoryview(bytearray(RECEIVED_BYTES))  # where the next part arrives
        process.connection.setblocking(False)
        process.output.setblocking(False)

    def send(self, request: Request, data: bytes | bytearray, left: Left) -> None:
        """Send a request, whose tensors have these bytes."""
        connection = self._process.connection
        view = memoryview(protocol.pack(protocol.plain(request), data))
        while view:
            try:
                view = view[connection.send(view) :]
            except BlockingIOError:
                self._wait([], [connection], left)

    def receive(self, left: Left) -> tuple[Any, bytearray]:
        """Return the next message, of a kind in protocol.FROM_WORKER, and the bytes of its tensors.

        Raises:
            ProtocolError: The message is malformed, or too large.
        """
        begin = protocol.HEADER.size
        self._await(begin, left)
        text_bytes, data_bytes = protocol.HEADER.unpack_from(self._arrived)
        protocol.check_sizes(text_bytes, data_bytes)
        if data_bytes > LARGE_BYTES:
            gc.collect()
        middle, end = begin + text_bytes, begin + text_bytes + data_bytes
        self._await(end, left)
        # What remains of it are the bytes of its tensors: they are not copied.
        frame, self._arrived = self._arrived, self._arrived[end:]
        text = bytes(frame[begin:middle])
        del frame[end:], frame[:middle]
        return protocol.parse(protocol.unpack_reply(text), *protocol.FROM_WORKER), frame

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
            text = self._process.output.recv(RECEIVED_BYTES)
        except (BlockingIOError, ConnectionError):
            return False
        self._printed(text)
        self._prints = bool(text)
        return self._prints
