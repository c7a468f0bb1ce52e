"""Each layer works alone, in a process without the others, and is probed before it is used."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from textwrap import dedent

import pytest

from grader.sandbox import lockdown

pytestmark = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="isolation needs Linux")
needs_root = pytest.mark.skipif(os.geteuid() != 0, reason="only root can change its user")
needs_landlock = pytest.mark.skipif(lockdown.landlock_version() == 0, reason="this kernel has no Landlock")

PREPARED = """\
import os, sys, resource, tempfile
from grader.sandbox import lockdown
def attempt(action):
    try: print(action())
    except OSError as error: print(type(error).__name__)
"""


def printed(code: str, **options: object) -> list[str]:
    """The lines that `code` prints in a new process."""
    done = subprocess.run(
        [sys.executable, "-c", PREPARED + dedent(code)], capture_output=True, text=True, check=False, **options
    )  # type: ignore[call-overload]
    assert done.returncode == 0, done.stderr
    return done.stdout.split("\n")[:-1]


def test_this_system_has_enough_layers() -> None:
    assert not lockdown.missing_sentences(lockdown.missing_layers())


@pytest.mark.parametrize("layer", lockdown.LAYERS)
def test_only_the_needed_layers_decide_whether_the_layers_are_enough(layer: str) -> None:
    said = [f"{layer}: missing"] if layer in lockdown.NEEDED else []
    assert lockdown.missing_sentences({layer: "missing"}) == said


def test_every_missing_layer_comes_with_a_fix(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "platform", "darwin")
    missing = lockdown.missing_layers()
    assert missing.keys() == set(lockdown.LAYERS)
    assert all("Linux" in sentence for sentence in missing.values())


def test_probing_does_not_restrict_this_process() -> None:
    lockdown.missing_layers()
    with open(os.devnull) as file:
        assert file.read() == ""


def test_limits_bind_soft_and_hard_alike() -> None:
    code = """\
        lockdown.set_limits(cpu_seconds=7, memory_bytes=2**30)
        for name in ("CPU", "AS", "FSIZE", "CORE", "NOFILE", "MEMLOCK", "MSGQUEUE"):
            print(name, *resource.getrlimit(getattr(resource, f"RLIMIT_{name}")))
        """
    assert printed(code) == [
        "CPU 7 7", f"AS {2**30} {2**30}", "FSIZE 0 0", "CORE 0 0", "NOFILE 16 16", "MEMLOCK 0 0", "MSGQUEUE 0 0"
    ]  # fmt: skip


def test_with_limits_alone_no_byte_can_be_written_to_a_file() -> None:
    code = """\
        import signal
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        file = tempfile.TemporaryFile()
        lockdown.set_limits(7, 2**30)
        attempt(lambda: os.write(file.fileno(), b"x"))
        """
    assert printed(code) == ["OSError"]


def test_new_privileges_are_refused_irreversibly() -> None:
    code = """\
        lockdown.refuse_new_privileges()
        print(*(line.split()[1] for line in open("/proc/self/status") if line.startswith("NoNewPrivs")))
        """
    assert printed(code) == ["1"]


@needs_root
def test_root_becomes_nobody_irreversibly() -> None:
    code = """\
        lockdown.drop_user()
        print(os.getresuid(), os.getresgid(), os.getgroups())
        attempt(lambda: os.setuid(0))
        attempt(lambda: open("/etc/shadow"))
        """
    nobody = (lockdown.NOBODY,) * 3
    assert printed(code) == [f"{nobody} {nobody} []", "PermissionError", "PermissionError"]


@needs_landlock
def test_with_landlock_alone_no_file_can_be_opened_made_or_listed() -> None:
    code = """\
        lockdown.refuse_new_privileges()
        lockdown.apply_landlock(lockdown.landlock_version())
        attempt(lambda: open(sys.executable, "rb"))
        attempt(lambda: open("/tmp/new", "w"))
        attempt(lambda: os.listdir("/"))
        attempt(lambda: os.mkdir("/tmp/new"))
        """
    assert printed(code) == ["PermissionError"] * 4


@needs_landlock
@pytest.mark.parametrize("version", range(1, lockdown.landlock_version() + 1))
def test_landlock_works_with_the_rights_of_each_version(version: int) -> None:
    code = f"""\
        lockdown.refuse_new_privileges()
        lockdown.apply_landlock({version})
        attempt(lambda: open("/etc/passwd"))
        """
    assert printed(code) == ["PermissionError"]


def test_with_the_filter_alone_nothing_that_names_a_path_a_process_or_a_socket_works() -> None:
    code = """\
        import socket, signal
        program = lockdown.build_filter()
        lockdown.refuse_new_privileges()
        lockdown.apply_filter(program)
        attempt(lambda: open("/"))
        attempt(lambda: os.stat("/"))
        attempt(lambda: os.fork())
        attempt(lambda: os.kill(os.getppid(), 0))
        attempt(lambda: socket.socket())
        attempt(lambda: os.getpid() > 0)
        """
    assert printed(code) == ["PermissionError"] * 2 + ["BlockingIOError"] + ["PermissionError"] * 2 + ["True"]


def test_with_the_filter_alone_no_thread_can_be_started() -> None:
    code = """\
        import threading
        program = lockdown.build_filter()
        lockdown.refuse_new_privileges()
        lockdown.apply_filter(program)
        try: threading.Thread(target=print).start()
        except RuntimeError as error: print(error)
        """
    assert printed(code) == ["can't start new thread"]


def test_a_fork_that_fails_is_tried_again(monkeypatch: pytest.MonkeyPatch) -> None:
    results: Iterator[OSError | int] = iter([BlockingIOError(), BlockingIOError(), 7])

    def fork() -> int:
        result = next(results)
        if isinstance(result, OSError):
            raise result
        return result

    monkeypatch.setattr(os, "fork", fork)
    monkeypatch.setattr(lockdown, "FORK_PAUSES", (0, 0, 0))
    assert lockdown.fork() == 7


def test_a_process_whose_parent_has_ended_ends_at_once() -> None:
    code = """\
        pid = os.fork()
        if pid == 0:
            lockdown.die_with_parent(os.getppid() + 1)
            os._exit(0)
        print(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))
        """
    assert printed(code) == ["1"]


def test_lock_in_returns_the_layers_that_it_applied() -> None:
    code = """\
        program, version = lockdown.build_filter(), lockdown.landlock_version()
        uid = 60000 if os.geteuid() == 0 else None
        held = lockdown.lock_in(7, 2**31, program, version, uid)
        print(*sorted(layer for layer, holds in held.items() if holds))
        """
    held = {"limits", "no_new_privileges", "seccomp"}
    held |= {"landlock"} if lockdown.landlock_version() else set()
    held |= {"user", "own_user"} if os.geteuid() == 0 else set()
    assert printed(code) == [" ".join(sorted(held))]


def test_lock_in_returns_that_filter_and_landlock_are_missing() -> None:
    code = """\
        held = lockdown.lock_in(7, 2**31, None, 0, None)
        print(held["limits"], held["seccomp"], held["landlock"])
        """
    assert printed(code) == ["True False False"]


@needs_landlock
def test_without_the_filter_lock_in_still_refuses_to_open_a_file() -> None:
    code = """\
        attempt(lambda: open("/etc/passwd").close())
        lockdown.lock_in(7, 2**31, None, lockdown.landlock_version(), None)
        attempt(lambda: open("/etc/passwd").close())
        """
    assert printed(code) == ["None", "PermissionError"]


def test_the_address_space_includes_mapped_memory() -> None:
    taken = "import mmap; before = lockdown.address_space(); kept = mmap.mmap(-1, 2**30)"
    assert printed(f"{taken}; print(lockdown.address_space() - before >= 2**30)") == ["True"]
