"""The layers that lock a student's process in, each on its own, each probed for before it is counted on.

Enough is: resource limits, no new privileges, and a seccomp filter that refuses every syscall naming a path,
a process or a socket. Landlock and an unprivileged user come on top wherever the kernel and the account allow.
Nothing here needs root or a user namespace.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import signal
import struct
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from grader.sandbox import users

LAYERS = ("limits", "no_new_privileges", "seccomp", "landlock", "user", "own_user")
NEEDED = ("limits", "no_new_privileges", "seccomp")
NOBODY = 65534
# Seconds before another try.
FORK_PAUSES = (0.05, 0.2, 1)

PR_SET_PDEATHSIG, PR_SET_NO_NEW_PRIVS, PR_SET_SECCOMP, SECCOMP_MODE_FILTER = 1, 38, 22, 2
LANDLOCK_CREATE_RULESET, LANDLOCK_RESTRICT_SELF = 444, 446
LANDLOCK_VERSION_FLAG = 1
# futex operations: WAIT, WAKE, WAIT_BITSET, WAKE_BITSET; and the bits of their flags (PRIVATE, CLOCK_REALTIME).
FUTEX_OPERATIONS, FUTEX_FLAGS = (0, 1, 9, 10), 0x180
# The clocks of the system and of the process itself; larger numbers mean other processes' clocks.
LAST_CLOCK = 11

# What numerical Python needs once everything is imported. No syscall here names a path, opens a socket or
# touches another process; whatever is not listed fails with EPERM, so that only what uses it fails.
ALLOWED_SYSCALLS = """
    read write readv writev close lseek fstat dup dup2 dup3 poll ppoll select pselect6
    mmap munmap mprotect mremap madvise brk
    set_robust_list rseq set_tid_address arch_prctl
    rt_sigaction rt_sigprocmask rt_sigreturn sigaltstack restart_syscall
    nanosleep gettimeofday time times
    getpid gettid getppid getuid geteuid getgid getegid getgroups getpgrp
    getrlimit getrusage getrandom sched_yield getcpu
    exit exit_group
""".split()  # noqa: SIM905 - a table to read


@dataclass(frozen=True)
class Limits:
    """What one process may use: seconds of processor time, bytes of address space."""

    cpu_seconds: int
    memory_bytes: int


def missing_layers() -> dict[str, str]:
    """Each layer that this system cannot give, with a sentence that says how to mend it."""
    if not sys.platform.startswith("linux"):
        return nothing_holds()
    missing = {}
    problem = _seccomp_problem()
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
    """Every layer as missing: what is true of practice, on any system."""
    return dict.fromkeys(LAYERS, "Locking a process in needs Linux; grade on Linux, or in a Linux container.")


def is_enough(missing: dict[str, str]) -> bool:
    """Whether the layers that are there lock a process in, whatever is missing beside them."""
    return not any(layer in missing for layer in NEEDED)


def _seccomp_problem() -> str | None:
    try:
        import pyseccomp  # noqa: F401
    except ImportError:
        return "The Python package pyseccomp is missing: pip install pyseccomp"
    except (RuntimeError, OSError):
        return "The library libseccomp is missing: sudo apt-get install libseccomp2 (Fedora: dnf install libseccomp)."
    # A container's own filter may refuse ours, and nothing but trying tells.
    pid = os.fork()
    if pid == 0:
        code = 1
        with contextlib.suppress(BaseException):
            refuse_new_privileges()
            apply_filter(build_filter())
            code = 0 if _open_is_refused() else 1
        os._exit(code)
    if os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) != 0:
        return (
            "This system refuses seccomp filters (CONFIG_SECCOMP_FILTER in the kernel, or a container that "
            "forbids them: docker run --security-opt seccomp=unconfined)."
        )
    return None


def _open_is_refused() -> bool:
    try:
        os.close(os.open("/", os.O_RDONLY))
    except OSError:
        return True
    return False


def _system_call(number: int, *arguments: ctypes._SimpleCData) -> int:
    libc = ctypes.CDLL(None, use_errno=True)
    result = libc.syscall(ctypes.c_long(number), *arguments)
    if result < 0:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
    return result


def _prctl(option: int, *arguments: int) -> None:
    libc = ctypes.CDLL(None, use_errno=True)
    padded = [ctypes.c_ulong(argument) for argument in (*arguments, 0, 0, 0, 0)[:4]]
    if libc.prctl(option, *padded) != 0:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))


def fork() -> int:
    """Fork this process, as os.fork does, with a few more tries where the system has no room for one more.

    Raises:
        OSError: The last try failed too.
    """
    for pause in FORK_PAUSES:
        try:
            return os.fork()
        except OSError:
            time.sleep(pause)
    return os.fork()


def die_with_parent(parent: int) -> None:
    """Ends this process when the thread that forked it ends; at once where that has happened already."""
    _prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != parent:
        os._exit(1)


def refuse_new_privileges() -> None:
    _prctl(PR_SET_NO_NEW_PRIVS, 1)


def set_limits(limits: Limits) -> None:
    """Soft and hard alike: past the processor time the kernel kills, and no handler can swallow that."""
    import resource

    for name, value in (
        (resource.RLIMIT_CPU, limits.cpu_seconds),
        (resource.RLIMIT_AS, limits.memory_bytes),
        (resource.RLIMIT_FSIZE, 0),
        (resource.RLIMIT_CORE, 0),
        (resource.RLIMIT_NOFILE, 16),
        (resource.RLIMIT_MEMLOCK, 0),
        (resource.RLIMIT_MSGQUEUE, 0),
    ):
        resource.setrlimit(name, (value, value))


def address_space() -> int:
    """The bytes of address space that this process has taken, which is what its limit counts."""
    pages = Path("/proc/self/statm").read_text(encoding="ascii").split()[0]
    return int(pages) * os.sysconf("SC_PAGE_SIZE")


def drop_user(uid: int = NOBODY) -> None:
    """Become the user of this id, without a group that others have a use for, and for good. Needs root."""
    os.setgroups([])
    os.setresgid(NOBODY, NOBODY, NOBODY)
    os.setresuid(uid, uid, uid)


def landlock_version() -> int:
    """The kernel's Landlock ABI, 0 where there is none. Backend by syscall: securityfs may not be mounted."""
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
    """Refuses every access that this kernel's Landlock knows, by a ruleset without a single exception.

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


def build_filter() -> bytes:
    """The seccomp program as BPF, built once by libseccomp from syscall names, so for any architecture."""
    import errno
    import fcntl

    import pyseccomp

    rules = pyseccomp.SyscallFilter(defaction=pyseccomp.ERRNO(errno.EPERM))
    for name in ALLOWED_SYSCALLS:
        _add(rules, pyseccomp.ALLOW, name)
    # No process and no thread: thousands of threads would take process ids and kernel memory that nothing else
    # limits. EAGAIN is what a system without room for one more says; ENOSYS makes glibc fall back to clone.
    _add(rules, pyseccomp.ERRNO(errno.EAGAIN), "clone")
    _add(rules, pyseccomp.ERRNO(errno.ENOSYS), "clone3")
    for operation in FUTEX_OPERATIONS:
        of_kind = pyseccomp.Arg(1, pyseccomp.MASKED_EQ, 0xFFFFFFFF & ~FUTEX_FLAGS, operation)
        _add(rules, pyseccomp.ALLOW, "futex", of_kind)
    for name in ("clock_gettime", "clock_getres", "clock_nanosleep"):
        _add(rules, pyseccomp.ALLOW, name, pyseccomp.Arg(0, pyseccomp.LE, LAST_CLOCK))
    # 0 means the process itself.
    for name in ("sched_getaffinity", "get_robust_list"):
        _add(rules, pyseccomp.ALLOW, name, pyseccomp.Arg(0, pyseccomp.EQ, 0))
    # Copies of a descriptor, and its flags. Not F_SETOWN and F_SETSIG: by them a process without the right to send
    # a signal has the kernel send one of its choice, to whatever else runs as the same user.
    for command in (fcntl.F_DUPFD, fcntl.F_DUPFD_CLOEXEC, fcntl.F_GETFD, fcntl.F_SETFD, fcntl.F_GETFL):
        _add(rules, pyseccomp.ALLOW, "fcntl", pyseccomp.Arg(1, pyseccomp.EQ, command))
    # Reading its own limits is harmless, another process's are not its business.
    _add(rules, pyseccomp.ALLOW, "prlimit64", pyseccomp.Arg(0, pyseccomp.EQ, 0))
    # In memory, for a disk can be full.
    with open(os.memfd_create("filter"), "w+b") as file:
        rules.export_bpf(file)
        file.seek(0)
        return file.read()


def _add(rules: Any, action: int, name: str, *conditions: object) -> None:
    # aarch64 has no dup2, poll, time and the like: what the architecture lacks needs no rule.
    with contextlib.suppress(ValueError, OSError):
        rules.add_rule(action, name, *conditions)


def apply_filter(program: bytes) -> None:
    """Load the BPF program into this process, for good."""

    class Program(ctypes.Structure):
        _fields_ = (("length", ctypes.c_ushort), ("filter", ctypes.c_char_p))

    loaded = Program(len(program) // 8, program)
    _prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, ctypes.addressof(loaded))


def lock_in(limits: Limits, program: bytes | None, landlock: int, uid: int | None) -> dict[str, bool]:
    """Apply, for good, every layer that the server found to work.

    Args:
        uid: The id of the user to become; None to stay who this is.

    Returns:
        Which layers hold now.

    Raises:
        OSError: A layer that worked for the server fails here: then no student code may run.
    """
    set_limits(limits)
    if uid is not None:
        parent = os.getppid()
        drop_user(uid)
        # The kernel forgets the parent-death signal when the user changes.
        die_with_parent(parent)
    refuse_new_privileges()
    if landlock:
        apply_landlock(landlock)
    if program is not None:
        apply_filter(program)
    return {
        "limits": True,
        "no_new_privileges": True,
        "seccomp": program is not None,
        "landlock": bool(landlock),
        "user": uid is not None,
        "own_user": uid is not None and uid != NOBODY,
    }
