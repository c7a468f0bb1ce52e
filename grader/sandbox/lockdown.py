"""The layers that isolate a student process. Each is independent of the others and is probed before it is used.

Three layers are enough: resource limits, no new privileges, and a seccomp filter that refuses every system call that
names a path, a process or a socket. Landlock and an unprivileged user are added if the kernel and the account allow
them. Nothing here needs root or a user namespace.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import re
import signal
import struct
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING

from grader.sandbox import seccomp, users

if TYPE_CHECKING:
    from typing import Any

LAYERS = ("limits", "no_new_privileges", "seccomp", "landlock", "user", "own_user")
NEEDED = ("limits", "no_new_privileges", "seccomp")
NOBODY = 65534
# Seconds to wait before the next attempt.
FORK_PAUSES = (0.05, 0.2, 1)

PR_SET_PDEATHSIG = 1
LANDLOCK_CREATE_RULESET, LANDLOCK_RESTRICT_SELF = 444, 446
LANDLOCK_VERSION_FLAG = 1


def missing_layers() -> dict[str, str]:
    """Return each layer that this system cannot provide, with a sentence that says how to fix it."""
    if not sys.platform.startswith("linux"):
        return nothing_holds()
    missing = {}
    problem = seccomp.problem()
    if problem:
        missing["seccomp"] = problem
    if landlock_version() < 1:
        missing["landlock"] = (
            "This kernel offers no Landlock (Linux 5.13 or later, with landlock among its lsm= modules). "
            "The other layers hold without it."
        )
    missing.update(_missing_users())
    return missing


def _missing_users() -> dict[str, str]:
    if os.geteuid() != 0:
        return {
            "user": "Only root can run student code as another user. The other layers hold without it.",
            "own_user": "Only root can give each process a user of its own. The other layers hold without it.",
        }
    missing = {}
    if not users.is_mapped(NOBODY):
        missing["user"] = "This user namespace has no user but root. The other layers hold without another."
    try:
        claimed = users.claim()
    except ValueError as error:
        missing["own_user"] = f"{error} Until then student code runs as nobody."
    else:
        if claimed is None:
            ids = users.id_range()
            missing["own_user"] = (
                f"No user id from {ids[0]} to {ids[-1]} is free here, so student code runs as nobody. "
                f"To have others used, set {users.VARIABLE}, such as to {users.DEFAULT_RANGE}."
            )
        else:
            claimed[1].close()
    return missing


def nothing_holds() -> dict[str, str]:
    """Return every layer as missing, which is true of practice on any system."""
    return dict.fromkeys(LAYERS, "Locking a process in needs Linux; grade on Linux, or in a Linux container.")


def is_enough(missing: dict[str, str]) -> bool:
    """Whether the layers that are not missing isolate a process."""
    return not any(layer in missing for layer in NEEDED)


def missing_sentences(missing: dict[str, str]) -> list[str]:
    """Return a sentence for each needed layer that is missing."""
    return [f"{layer}: {missing[layer]}" for layer in NEEDED if layer in missing]


def _system_call(number: int, *arguments: ctypes._SimpleCData[Any]) -> int:
    libc = ctypes.CDLL(None, use_errno=True)
    result: int = libc.syscall(ctypes.c_long(number), *arguments)
    if result < 0:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
    return result


def fork() -> int:
    """Fork this process like os.fork, with a few more attempts if the system refuses another process.

    Raises:
        OSError: The last attempt failed too.
    """
    for pause in FORK_PAUSES:
        try:
            return os.fork()
        except OSError:
            time.sleep(pause)
    return os.fork()


def die_with_parent(parent: int) -> None:
    """End this process when the thread that forked it ends, or now if that has already happened."""
    seccomp.prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != parent:
        os._exit(1)


def set_limits(cpu_seconds: int, memory_bytes: int) -> None:
    """Set soft and hard limits alike: beyond the processor time the kernel kills, and no handler can catch that."""
    import resource

    for name, value in (
        (resource.RLIMIT_CPU, cpu_seconds),
        (resource.RLIMIT_AS, memory_bytes),
        (resource.RLIMIT_FSIZE, 0),
        (resource.RLIMIT_CORE, 0),
        (resource.RLIMIT_NOFILE, 16),
        (resource.RLIMIT_MEMLOCK, 0),
        (resource.RLIMIT_MSGQUEUE, 0),
    ):
        resource.setrlimit(name, (value, value))


def address_space() -> int:
    """Return the size of this process's address space in bytes, which is what its limit counts."""
    pages = Path("/proc/self/statm").read_text(encoding="ascii").split()[0]
    return int(pages) * os.sysconf("SC_PAGE_SIZE")


def processor_seconds(pid: int) -> float:
    """Return the processor time of a process, even if it has ended, until it is waited for.

    It is exactly what the limit counts. The usage that wait4 reports is estimated in another way, and can be far less.
    """
    # The number of the clock CPUCLOCK_PROF of a process: https://man7.org/linux/man-pages/man3/clock_getcpuclockid.3.html
    return time.clock_gettime(~pid << 3)


def memory_kills() -> int:
    """Return how many processes the system has killed so far because memory ran out; 0 if it does not say."""
    with contextlib.suppress(OSError):
        counters = Path("/proc/vmstat").read_text(encoding="ascii")
        if found := re.search(r"^oom_kill (\d+)", counters, re.MULTILINE):
            return int(found[1])
    return 0


def drop_user(uid: int = NOBODY) -> None:
    """Become the user with this id, without any privileged group, irreversibly. Needs root."""
    os.setgroups([])
    os.setresgid(NOBODY, NOBODY, NOBODY)
    os.setresuid(uid, uid, uid)


def landlock_version() -> int:
    """Return the kernel's Landlock ABI, or 0. Asks by system call, because securityfs may not be mounted."""
    try:
        return _system_call(
            LANDLOCK_CREATE_RULESET,
            ctypes.c_void_p(),
            ctypes.c_size_t(0),
            ctypes.c_uint32(LANDLOCK_VERSION_FLAG),
        )
    except OSError:
        return 0


def apply_landlock(version: int) -> None:
    """Refuse every access that this kernel's Landlock knows, by a ruleset without exceptions.

    Source: https://docs.kernel.org/userspace-api/landlock.html (file system; TCP from 4; signals and abstract
    sockets from 6).
    """
    file_rights = {1: 13, 2: 14, 3: 15, 4: 15}.get(version, 16)
    ruleset = struct.pack("=Q", 2**file_rights - 1)
    if version >= 4:
        ruleset += struct.pack("=Q", 0b11)
    if version >= 6:
        ruleset += struct.pack("=Q", 0b11)
    descriptor = _system_call(
        LANDLOCK_CREATE_RULESET, ctypes.c_char_p(ruleset), ctypes.c_size_t(len(ruleset)), ctypes.c_uint32(0)
    )
    _system_call(LANDLOCK_RESTRICT_SELF, ctypes.c_int(descriptor), ctypes.c_uint32(0))
    os.close(descriptor)


def lock_in(
    cpu_seconds: int, memory_bytes: int, program: bytes | None, landlock: int, uid: int | None
) -> dict[str, bool]:
    """Apply, irreversibly, every layer that the server found to work.

    Args:
        cpu_seconds: The processor time that the process may use.
        memory_bytes: The address space that it may use.
        program: The system call filter; None if that layer is missing.
        landlock: The version of Landlock; 0 if it is missing.
        uid: The id of the user to become; None to keep the current user.

    Returns:
        Which layers are in force now.

    Raises:
        OSError: A layer that worked for the server fails here. Then no student code may run.
    """
    set_limits(cpu_seconds, memory_bytes)
    if uid is not None:
        parent = os.getppid()
        drop_user(uid)
        # The kernel clears the parent-death signal when the user changes.
        die_with_parent(parent)
    seccomp.refuse_new_privileges()
    if landlock:
        apply_landlock(landlock)
    if program is not None:
        seccomp.apply_filter(program)
    return {
        "limits": True,
        "no_new_privileges": True,
        "seccomp": program is not None,
        "landlock": bool(landlock),
        "user": uid is not None,
        "own_user": uid is not None and uid != NOBODY,
    }
