"""The fork server: imports torch once, and gives every submission a locked-down process of its own.

It is forked from the grading engine before any suite or solution is loaded (or started afresh, inside programs
that have threads), runs nothing of any student's, and ends every child whose grader lets go of it.
"""

from __future__ import annotations

import contextlib
import gc
import importlib
import json
import os
import pkgutil
import select
import signal
import socket
import sys
import traceback
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import FrameType

from grader.sandbox import lockdown, protocol, replacements, users, worker

MAX_REQUEST = 4096
# What the limit on memory counts on for torch itself. A build with CUDA takes gigabytes of addresses more.
TORCH_BYTES = 750 * 2**20
CHILD_DESCRIPTOR = 3
# Not libraries: they draw, print, open windows or browsers, or are gone in later versions.
NEVER_IMPORTED = {
    "antigravity", "this", "idlelib", "turtle", "turtledemo", "tkinter", "test", "lib2to3", "ensurepip", "venv",
    "distutils", "pydoc_data", "pip", "_pyrepl", "crypt", "nis", "msilib", "cgi", "cgitb", "imp", "asyncore",
    "asynchat", "smtpd", "telnetlib", "uu", "xdrlib", "nntplib", "pipes", "sndhdr", "imghdr", "aifc", "sunau",
    "chunk", "audioop", "ossaudiodev", "spwd", "mailcap",
}  # fmt: skip


def preload() -> None:
    """Imports what a student's code may import, since no file can be opened once a process is locked in."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        import numpy
        import numpy.ma
        import numpy.polynomial
        import numpy.testing
        import torch
        import torch.distributions
        import torch.nn.utils.parametrize
        import torch.utils.benchmark
        import torch.utils.data

        torch.set_num_threads(1)
        torch.set_num_interop_threads(1)
        # The first use of an operator reads the processor's description from files, and the first print imports.
        sample = torch.nn.Linear(4, 4)(torch.ones(2, 4)).softmax(dim=-1)
        sample.sum().backward()
        str(sample)
        torch.einsum("ij,ij,ij", *[sample.detach()] * 3)  # imports too, before torch 2.5 or so
        protocol.unpack(*protocol.halves(protocol.pack_reply({}, [sample.detach()])))
        numpy.linalg.inv(numpy.random.default_rng(0).normal(size=(3, 3)))
        for name in sorted(sys.stdlib_module_names - NEVER_IMPORTED):
            _import_all(name)
    replacements.install()


def _import_all(name: str) -> None:
    """A module and, of a package, everything in it that is neither a test nor a program."""
    if name.rpartition(".")[2] in NEVER_IMPORTED | {"__main__", "tests", "idle_test"} or name.startswith("__"):
        return
    try:
        module = importlib.import_module(name)
    except Exception:  # another system's, or built without its library
        return
    for found in pkgutil.iter_modules(getattr(module, "__path__", ()), f"{name}."):
        _import_all(found.name)


def preload_late(parts: Sequence[str]) -> None:
    """What torch imports when it is first used, a second or two each, so only where it is asked for."""
    import torch

    if "optim" in parts:
        torch.optim.SGD([torch.nn.Parameter(torch.ones(1))], lr=0.1)
    if "checkpoint" in parts:
        from torch.utils.checkpoint import checkpoint

        checkpoint(torch.neg, torch.ones(1), use_reentrant=False)
    if "meta" in parts:
        with torch.device("meta"):
            torch.nn.TransformerEncoderLayer(4, 2)(torch.ones(1, 3, 4)).sum()


@dataclass
class Child:
    """A student's process: the socket that holds its user id, and whether the server has ended it."""

    pid: int
    grip: socket.socket
    user: socket.socket | None
    was_ended: bool = False

    def end(self) -> None:
        os.kill(self.pid, signal.SIGKILL)
        self.was_ended = True


class Server:
    """Serves until the last grader closes its end of `control`.

    A request is one JSON message with three descriptors: the connection that the child answers on, the socket
    that takes its output, and the grip, which kills the child when its other end closes and tells how it ended.
    """

    def __init__(self, control: socket.socket) -> None:
        preload()
        # The collector would write to every object, and so make each child a copy of its own of the pages.
        gc.freeze()
        missing = lockdown.missing_layers()
        self.program = lockdown.build_filter() if "seccomp" not in missing else None
        self.landlock = lockdown.landlock_version()
        self.more_bytes = max(lockdown.address_space() - TORCH_BYTES, 0)
        self.control = control
        # By the descriptor of its grip.
        self.children: dict[int, Child] = {}
        # A child's end writes to `wake`, so that waiting for it and for requests is one.
        self.woken, wake = socket.socketpair()
        for end in (self.woken, wake):
            end.setblocking(False)
        signal.signal(signal.SIGCHLD, _nothing)
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        signal.set_wakeup_fd(wake.fileno(), warn_on_full_buffer=False)
        self.wake = wake
        control.send(json.dumps({"missing": missing}).encode())

    def serve(self) -> None:
        waiting = select.poll()
        waiting.register(self.control, select.POLLIN)
        waiting.register(self.woken, select.POLLIN)
        while True:
            released = []
            for descriptor, _ in waiting.poll():
                if descriptor == self.woken.fileno():
                    self.woken.recv(4096)
                elif descriptor == self.control.fileno():
                    grip = self.start_child()
                    if grip is None:
                        signal.set_wakeup_fd(-1)
                        for child in self.children.values():
                            child.end()
                        return
                    if grip.fileno() in self.children:
                        waiting.register(grip, select.POLLIN)
                else:
                    released.append(descriptor)
            # First, so that a child that has ended by itself is known as such.
            for descriptor in self.reap():
                with contextlib.suppress(KeyError):
                    waiting.unregister(descriptor)
            # The grader has closed its end, or is gone: nothing of this child's may go on.
            for descriptor in released:
                if descriptor in self.children:
                    waiting.unregister(descriptor)
                    self.children[descriptor].end()

    def start_child(self) -> socket.socket | None:
        """Fork a child for the request that waits.

        Returns:
            Its grip, closed already where no process could be started; None where there will be no more requests.
        """
        try:
            request, descriptors, _, _ = socket.recv_fds(self.control, MAX_REQUEST, 3)
        except ConnectionResetError:  # closed before our first word was read
            return None
        if not request:
            return None
        settings = json.loads(request)
        preload_late(settings["late"])
        connection, output, grip_descriptor = descriptors
        grip = socket.socket(fileno=grip_descriptor)
        uid, holder = _user()
        server = os.getpid()
        try:
            pid = lockdown.fork()
        except OSError as error:
            _tell(grip, {"failed": f"a process could not be started: {error.strerror}"})
            grip.close()
            if holder:
                holder.close()
        else:
            if pid == 0:
                limits = lockdown.Limits(settings["cpu_seconds"], settings["memory_bytes"] + self.more_bytes)
                _become_student(server, connection, output, limits, self.program, self.landlock, uid)
            self.children[grip_descriptor] = Child(pid, grip, holder)
        finally:
            os.close(connection)
            os.close(output)
        return grip

    def reap(self) -> list[int]:
        """Tell the grader of each child that has ended how it did.

        Returns:
            The descriptors of their grips, which are closed now.
        """
        ended = []
        while self.children:
            pid, status, usage = os.wait4(-1, os.WNOHANG)
            if pid == 0:
                break
            descriptor = next(number for number, child in self.children.items() if child.pid == pid)
            child = self.children.pop(descriptor)
            end = {
                "exit": os.waitstatus_to_exitcode(status),
                "cpu_seconds": usage.ru_utime + usage.ru_stime,
                "was_ended": child.was_ended,
            }
            _tell(child.grip, end)
            child.grip.close()
            if child.user:
                child.user.close()
            ended.append(descriptor)
        return ended


def _tell(grip: socket.socket, message: Mapping[str, object]) -> None:
    with contextlib.suppress(OSError):  # the grader may be gone
        grip.sendall(json.dumps(message).encode())


def _user() -> tuple[int | None, socket.socket | None]:
    """Choose the user of the next child: an id of its own and what holds it, or nobody, or who this is."""
    if os.geteuid() != 0:
        return None, None
    with contextlib.suppress(ValueError):
        if claimed := users.claim():
            return claimed
    return (lockdown.NOBODY if users.is_mapped(lockdown.NOBODY) else None), None


def _nothing(_signal: int, _frame: FrameType | None) -> None:
    """A handler there only so that the wake-up descriptor is written to."""


def _become_student(
    server: int,
    connection: int,
    output: int,
    limits: lockdown.Limits,
    program: bytes | None,
    landlock: int,
    uid: int | None,
) -> None:
    """In the forked child: lets go of everything but two sockets, locks itself in, and answers. Never returns."""
    try:
        lockdown.die_with_parent(server)
        signal.set_wakeup_fd(-1)
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        signal.signal(signal.SIGINT, signal.SIG_DFL)
        os.setsid()
        _keep_only(connection, output)
        os.environ.clear()
        os.chdir("/")
        sys.argv[:] = [""]
        # Line by line, so that what was printed before a process is killed is not lost with it.
        sys.stdin = open(0, encoding="utf-8", closefd=False)  # noqa: SIM115
        for name, number in (("stdout", 1), ("stderr", 2)):
            stream = open(number, "w", 1, encoding="utf-8", errors="backslashreplace", closefd=False)  # noqa: SIM115
            setattr(sys, name, stream)
            setattr(sys, f"__{name}__", stream)
        worker.serve(CHILD_DESCRIPTOR, CHILD_DESCRIPTOR, lockdown.lock_in(limits, program, landlock, uid))
    except BaseException:
        traceback.print_exc()
        sys.stderr.flush()
    finally:
        os._exit(70)


def _keep_only(connection: int, output: int) -> None:
    """Standard input is empty, standard output and error are `output`, 3 is the connection; no other stays open."""
    import fcntl  # not on Windows, where `preload` is used for practice

    connection, output = (fcntl.fcntl(number, fcntl.F_DUPFD, 10) for number in (connection, output))
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)
    os.dup2(output, 1)
    os.dup2(output, 2)
    os.dup2(connection, CHILD_DESCRIPTOR)
    os.closerange(CHILD_DESCRIPTOR + 1, os.sysconf("SC_OPEN_MAX"))


if __name__ == "__main__":
    Server(socket.socket(fileno=int(sys.argv[1]))).serve()
