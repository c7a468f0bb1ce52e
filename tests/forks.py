"""A process that has imported torch, from which tests fork engines and commands.

Each is a process of its own, with its own arguments, environment, folder and exit code, but starts in milliseconds:
the imports are most of what a command costs. `courses.run_program` starts a command as users do.
"""

from __future__ import annotations

import atexit
import contextlib
import gc
import importlib
import json
import multiprocessing
import os
import select
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import traceback
from collections.abc import Mapping
from pathlib import Path
from types import TracebackType
from typing import IO, NoReturn, cast

REPOSITORY = Path(__file__).resolve().parent.parent
STREAMS = ("stdin", "stdout", "stderr")
MESSAGE_BYTES = 2**17
# The environment variable with the path of the socket that takes orders to fork.
ADDRESS = "GRADER_TESTS_FORKS"
COMMAND, ENGINE, PYTEST = "grader.__main__", "grader.engine.engine_server", "pytest"
BUILDER = "grader.engine.visible_files"
# Not the command line itself, which reads the environment when it is imported.
IMPORTED = (
    "torch", "pytest", "typer", "rich.console", "rich.progress", "rich.table", "yaml", "pydantic", "jinja2", "nbformat",
    "pytest_jsonreport.plugin", "pytest_metadata.plugin", "grader.engine.plugin", "grader.engine.grading",
    "grader.sandbox.fork_server", "grader.testing.student", "grader.reports.exporters.html", "grader.classes.batch",
)  # fmt: skip


class Forked:
    """A process that was forked for a test, with what the engine's client uses of `subprocess.Popen`.

    Attributes:
        pid: The id of the process.
        stdin: Our end of its standard input; and so on.
    """

    def __init__(self, pid: int, ended: IO[bytes], pipes: Mapping[str, IO[bytes]]) -> None:
        """Take the pipe on which its exit code comes, and our ends of its standard streams."""
        self.pid = pid
        self.stdin, self.stdout, self.stderr = (pipes.get(name) for name in STREAMS)
        self._ended = ended
        self._code: int | None = None

    def __enter__(self) -> Forked:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for pipe in filter(None, (self.stdin, self.stdout, self.stderr)):
            with contextlib.suppress(BrokenPipeError):
                pipe.close()
        self.wait()

    def wait(self) -> int:
        """Return the exit code, when the process has ended."""
        if self._code is None:
            with self._ended:
                self._code = int(self._ended.read())
        return self._code

    def kill(self) -> None:
        if self._code is None:
            with contextlib.suppress(ProcessLookupError):
                os.kill(self.pid, signal.SIGKILL)


def engine_process(module: str, **_pipes: int) -> Forked:
    """Start the engine in place of `grader.sandbox.processes.start_module`."""
    from grader.sandbox.processes import ENVIRONMENT

    assert module == ENGINE
    return fork(module, environment=ENVIRONMENT, folder="/")


def builder_process(root: Path) -> subprocess.CompletedProcess[str]:
    """Build what a course generates, in place of `grader.course.generated.run_builder`."""
    with fork(BUILDER, root, environment=os.environ, folder="/") as process:
        assert process.stderr
        problems = process.stderr.read().decode()
    return subprocess.CompletedProcess([BUILDER], process.wait(), "", problems)


def fork(
    module: str,
    *arguments: object,
    environment: Mapping[str, str],
    folder: str | Path,
    streams: Mapping[str, int] | None = None,
) -> Forked:
    """Run COMMAND, ENGINE, PYTEST or BUILDER in a new process. Its streams are these open files, or else pipes."""
    theirs, pipes = dict(streams or {}), {}
    for name in STREAMS:
        if name not in theirs:
            reading, writing = os.pipe()
            theirs[name], ours = (reading, writing) if name == "stdin" else (writing, reading)
            mode, buffering = ("wb", 0) if name == "stdin" else ("rb", -1)
            pipes[name] = cast(IO[bytes], open(ours, mode, buffering))  # noqa: SIM115
    ended, ending = os.pipe()
    order = json.dumps([module, [*map(str, arguments)], {**environment}, str(folder)]).encode()
    with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as link:
        link.connect(address())
        socket.send_fds(link, [order], [*(theirs[name] for name in STREAMS), ending])
        pid = int(link.recv(64))
    for descriptor in (ending, *(theirs[name] for name in pipes)):
        os.close(descriptor)
    return Forked(pid, open(ended, "rb"), pipes)


def address() -> str:
    """Return the socket of the process that forks others; it starts when it is first needed."""
    from grader.sandbox.processes import ENVIRONMENT

    if ADDRESS not in os.environ:
        found = str(Path(tempfile.mkdtemp(prefix="forks-"), "orders"))
        environment = {**ENVIRONMENT, "PYTHONPATH": str(REPOSITORY), "PYTHONDONTWRITEBYTECODE": "1"}
        process = subprocess.Popen(
            [sys.executable, "-P", __file__, found], env=environment, cwd="/", stdin=-1, stdout=-1
        )
        atexit.register(_end, process, found)
        assert process.stdout
        assert process.stdout.readline() == b"ready\n"
        os.environ[ADDRESS] = found
    return os.environ[ADDRESS]


def _end(process: subprocess.Popen[bytes], address: str) -> None:
    with process:
        process.kill()
    shutil.rmtree(Path(address).parent)


def serve(address: str) -> None:
    """Fork a process for each order, and send its exit code when it ends. Ends with the standard input."""
    for module in IMPORTED:
        importlib.import_module(module)
    vars(importlib.import_module(ENGINE))["start_module"] = engine_process
    vars(importlib.import_module("grader.course.generated"))["run_builder"] = builder_process
    # Pools of processes are forked too: like their parent, they have one thread.
    vars(importlib.import_module("grader.engine.failure_matrix"))["STARTS"] = multiprocessing.get_context("fork")
    gc.freeze()
    woken, waking = os.pipe()
    os.set_blocking(waking, False)
    signal.signal(signal.SIGCHLD, lambda *_: None)
    signal.set_wakeup_fd(waking)
    standard_input = sys.stdin.fileno()
    ends: dict[int, int] = {}
    with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as orders:
        orders.bind(address)
        orders.listen(64)
        print("ready", flush=True)
        while True:
            ready, _, _ = select.select([standard_input, orders.fileno(), woken], [], [])
            if standard_input in ready:
                return
            if woken in ready:
                os.read(woken, MESSAGE_BYTES)
            if orders.fileno() in ready:
                link, _ = orders.accept()
                with link:
                    order, descriptors, _, _ = socket.recv_fds(link, MESSAGE_BYTES, 4)
                    pid = os.fork()
                    if pid == 0:
                        others = [link.detach(), orders.detach(), woken, waking, *ends.values()]
                        run(*json.loads(order), descriptors=descriptors, others=others)
                    link.send(str(pid).encode())
                ends[pid] = descriptors.pop()
                for descriptor in descriptors:
                    os.close(descriptor)
            while ends:
                pid, status = os.waitpid(-1, os.WNOHANG)
                if pid == 0:
                    break
                ending = ends.pop(pid)
                with contextlib.suppress(BrokenPipeError):  # nobody may wait for it
                    os.write(ending, str(os.waitstatus_to_exitcode(status)).encode())
                os.close(ending)


def run(
    module: str,
    arguments: list[str],
    environment: dict[str, str],
    folder: str,
    *,
    descriptors: list[int],
    others: list[int],
) -> NoReturn:
    """Become the process of an order, and exit."""
    code: object = 1
    try:
        signal.set_wakeup_fd(-1)
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        for number, descriptor in enumerate(descriptors[:3]):
            os.dup2(descriptor, number)
        for descriptor in (*descriptors, *others):
            os.close(descriptor)
        os.environ.clear()
        os.environ.update(environment)
        os.chdir(folder)
        sys.argv[1:] = arguments
        code = importlib.import_module(module).main()
    except SystemExit as end:
        code = end.code
    except BaseException:
        traceback.print_exc()
    finally:
        for stream in (sys.stdout, sys.stderr):
            with contextlib.suppress(OSError, ValueError):
                stream.flush()
        os._exit(code if isinstance(code, int) else int(code is not None))


if __name__ == "__main__":
    serve(sys.argv[1])
