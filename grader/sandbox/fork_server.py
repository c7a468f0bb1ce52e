"""The fork server: imports torch once, and starts an isolated process for each submission.

It is forked from the grading engine before any suite or solution is loaded, or started as a new process by programs
that have threads. It runs no student code, and ends every child whose grader closes the lifeline.
"""

from __future__ import annotations

import contextlib
import gc
import json
import os
import re
import select
import signal
import socket
import sys
import time
import traceback
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NoReturn

from grader.sandbox import audit_hook, lockdown, protocol, serving
from grader.sandbox.preload import ModuleUnavailable, install_stubs, preload, touch
from grader.sandbox.protocol import Exited, NotStarted, Ready, Start

MAX_REQUEST = 4096
# What the memory limit allows for torch itself. A build with CUDA takes gigabytes of address space more.
TORCH_BYTES = 750 * 2**20
CHILD_DESCRIPTOR = 3
# For the trial of a module.
TRIAL_SECONDS, TRIAL_BYTES = 60, 2**31


@dataclass
class Child:
    """A student process: its lifeline, the socket that holds its user id, and whether the server has ended it.

    memory_kills: how many processes the system had killed for want of memory when this one was started.
    """

    pid: int
    lifeline: socket.socket
    user: socket.socket | None
    memory_kills: int
    was_ended: bool = False

    def end(self) -> None:
        """Kill the process."""
        os.kill(self.pid, signal.SIGKILL)
        self.was_ended = True


class Server:
    """Serves until the last grader closes its end of `control`.

    A request is one JSON message with three descriptors: the child's connection, the socket for its output, and the
    lifeline. The child is killed when the other end of the lifeline closes, and the lifeline reports how it ended.
    """

    def __init__(self, control: socket.socket, modules: Sequence[str] = ()) -> None:
        """Import everything, including these modules, and say on `control` that the server is ready, or why not."""
        self.modules = tuple(modules)
        # A garbage collection would write to every object, and so copy the pages that forked processes share.
        gc.disable()
        try:
            preload(self.modules)
            missing = lockdown.missing_layers()
            self.program = None if "seccomp" in missing else lockdown.build_filter()
            self.landlock = lockdown.landlock_version()
            for name in self.modules:
                self._try_isolated(name)
        except ModuleUnavailable as error:
            _send(control, NotStarted(str(error)[: protocol.MAX_TEXT]))
            raise SystemExit(1) from error
        audit_hook.originals()
        # The lists of files that imports keep. Each child would drop them, and copy the memory of what it drops.
        sys.path_importer_cache.clear()
        gc.freeze()
        gc.enable()  # in student processes, for what they make
        self.more_bytes = max(lockdown.address_space() - TORCH_BYTES, 0)
        self.control = control
        # By the descriptor of its lifeline.
        self.children: dict[int, Child] = {}
        # The end of a child writes to `wake`, so that one poll waits for ended children and for requests.
        self.woken, self.wake = socket.socketpair()
        self.woken.setblocking(False)
        self.wake.setblocking(False)
        signal.signal(signal.SIGCHLD, lambda *_: None)  # without a handler, nothing is written to `wake`
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        signal.set_wakeup_fd(self.wake.fileno(), warn_on_full_buffer=False)
        _send(control, Ready(missing))

    def _try_isolated(self, name: str) -> None:
        """Import a module and read its names as student code will. Raises ModuleUnavailable."""
        found = touch(sys.modules[name])

        def works() -> bool:
            memory = lockdown.address_space() + TRIAL_BYTES
            lockdown.lock_in(TRIAL_SECONDS, memory, self.program, self.landlock, None)
            install_stubs(None, self.modules)
            return touch(sys.modules[name]) == found

        if not lockdown.holds_in_fork(works):
            raise ModuleUnavailable(
                f"The module {name} does not work in an isolated process: it needs files, threads or more modules."
            )

    def serve(self) -> None:
        """Start and end children until there are no more requests."""
        waiting = select.poll()
        waiting.register(self.control, select.POLLIN)
        waiting.register(self.woken, select.POLLIN)
        while True:
            ready = {descriptor for descriptor, _ in waiting.poll()}
            if self.woken.fileno() in ready:
                self.woken.recv(4096)
            if self.control.fileno() in ready:
                lifeline = self.start_child()
                if lifeline is None:
                    break
                if lifeline.fileno() in self.children:
                    waiting.register(lifeline, select.POLLIN)
            # Before the lifelines, so that a child that ended by itself is known as such.
            for descriptor in self.reap():
                with contextlib.suppress(KeyError):
                    waiting.unregister(descriptor)
            # The grader has closed its end, or is gone: this child must not go on.
            for descriptor in ready & self.children.keys():
                waiting.unregister(descriptor)
                self.children[descriptor].end()
        signal.set_wakeup_fd(-1)
        for child in self.children.values():
            child.end()

    def start_child(self) -> socket.socket | None:
        """Fork a child for the next request.

        Returns:
            Its lifeline, already closed if no process could be started; None if there are no more requests.
        """
        try:
            request, descriptors, _, _ = socket.recv_fds(self.control, MAX_REQUEST, 3)
        except ConnectionResetError:  # closed before our first message was read
            return None
        if not request:
            return None
        settings = protocol.parse(json.loads(request), Start)
        connection, output, lifeline_descriptor = descriptors
        lifeline = socket.socket(fileno=lifeline_descriptor)
        uid, holder = _user()
        server, memory_kills = os.getpid(), _memory_kills()
        try:
            pid = lockdown.fork()
        except OSError as error:
            _send(lifeline, NotStarted(f"a process could not be started: {error.strerror}"))
            lifeline.close()
            if holder:
                holder.close()
        else:
            if pid == 0:
                self._become_student(server, connection, output, settings, uid)
            self.children[lifeline_descriptor] = Child(pid, lifeline, holder, memory_kills)
        finally:
            os.close(connection)
            os.close(output)
        return lifeline

    def reap(self) -> list[int]:
        """Report on each lifeline how its child has ended.

        Returns:
            The descriptors of these lifelines, which are closed now.
        """
        ended = []
        while self.children:
            if not (found := os.waitid(os.P_ALL, 0, os.WEXITED | os.WNOHANG | os.WNOWAIT)):
                break
            descriptor = next(number for number, child in self.children.items() if child.pid == found.si_pid)
            child = self.children.pop(descriptor)
            seconds = _processor_seconds(child.pid)
            _, status, usage = os.wait4(child.pid, 0)
            code = os.waitstatus_to_exitcode(status)
            memory_ran_out = code < 0 and _memory_kills() > child.memory_kills
            _send(child.lifeline, Exited(code, child.was_ended, seconds, usage.ru_maxrss * 1024, memory_ran_out))
            child.lifeline.close()
            if child.user:
                child.user.close()
            ended.append(descriptor)
        return ended

    def _become_student(self, server: int, connection: int, output: int, settings: Start, uid: int | None) -> NoReturn:
        """In the forked child: give up everything except two sockets, isolate this process, and answer requests."""
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
            sys.stdin = open(0, encoding="utf-8", closefd=False)  # noqa: SIM115
            # Line by line, so that printed text is not lost when the process is killed.
            for name, number in (("stdout", 1), ("stderr", 2)):
                stream = open(number, "w", 1, encoding="utf-8", errors="backslashreplace", closefd=False)  # noqa: SIM115
                setattr(sys, name, stream)
                setattr(sys, f"__{name}__", stream)
            memory = settings.memory_bytes + self.more_bytes
            serving.start_timer()
            layers = lockdown.lock_in(settings.cpu_seconds, memory, self.program, self.landlock, uid)
            serving.serve(CHILD_DESCRIPTOR, CHILD_DESCRIPTOR, layers, self.modules)
        except BaseException:  # noqa: BLE001 - the process ends here in any case
            traceback.print_exc()
            sys.stderr.flush()
        finally:
            os._exit(70)


def _send(receiver: socket.socket, message: tuple[Any, ...]) -> None:
    with contextlib.suppress(OSError):  # the grader may be gone
        receiver.sendall(json.dumps(protocol.plain(message)).encode())


def _user() -> tuple[int | None, socket.socket | None]:
    """Choose the user of the next child: an id of its own and the socket that holds it, or nobody, or no change."""
    if os.geteuid() != 0:
        return None, None
    with contextlib.suppress(ValueError):
        if claimed := lockdown.claim_user():
            return claimed
    return (lockdown.NOBODY if lockdown.is_mapped(lockdown.NOBODY) else None), None


def _processor_seconds(pid: int) -> float:
    """Return the processor time of a process, even if it has ended, until it is waited for.

    It is exactly what the limit counts. The usage that wait4 reports is estimated in another way, and can be far less.
    """
    # The number of the clock CPUCLOCK_PROF of a process: https://man7.org/linux/man-pages/man3/clock_getcpuclockid.3.html
    return time.clock_gettime(~pid << 3)


def _memory_kills() -> int:
    """Return how many processes the system has killed so far because memory ran out; 0 if it does not say."""
    with contextlib.suppress(OSError):
        counters = Path("/proc/vmstat").read_text(encoding="ascii")
        if found := re.search(r"^oom_kill (\d+)", counters, re.MULTILINE):
            return int(found[1])
    return 0


def _keep_only(connection: int, output: int) -> None:
    """Make standard input empty, `output` standard output and error, and 3 the connection. Close all others."""
    import fcntl  # not on Windows, where `preload` is used for practice

    connection, output = (fcntl.fcntl(number, fcntl.F_DUPFD, 10) for number in (connection, output))
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)
    os.dup2(output, 1)
    os.dup2(output, 2)
    os.dup2(connection, CHILD_DESCRIPTOR)
    os.closerange(CHILD_DESCRIPTOR + 1, os.sysconf("SC_OPEN_MAX"))


if __name__ == "__main__":
    Server(socket.socket(fileno=int(sys.argv[1])), sys.argv[2:]).serve()
