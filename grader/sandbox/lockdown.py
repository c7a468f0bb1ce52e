"""The layers that isolate a student process. Each is independent of the others and is probed before it is used.

Three layers are enough: resource limits, no new privileges, and a seccomp filter that refuses every system call that
names a path, a process or a socket. Landlock and an unprivileged user are added if the kernel and the account allow
them: a user of its own, so that a process shares nothing with those of other batches. Nothing here needs root or a user
namespace.
"""

from __future__ import annotations

import contextlib
import ctypes
import functools
import os
import re
import signal
import socket
import struct
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

LAYERS = ("limits", "no_new_privileges", "seccomp", "landlock", "user", "own_user")
NEEDED = ("limits", "no_new_privileges", "seccomp")
# The ids of the users for student processes, one for each, and the variable with another range.
USER_IDS = "GRADER_UIDS"
DEFAULT_USER_IDS = "60000-60999"
NOBODY = 65534
# Seconds to wait before the next attempt.
FORK_PAUSES = (0.05, 0.2, 1)

LANDLOCK_CREATE_RULESET, LANDLOCK_RESTRICT_SELF = 444, 446
LANDLOCK_VERSION_FLAG = 1
PR_SET_PDEATHSIG, PR_SET_NO_NEW_PRIVS, PR_SET_SECCOMP, SECCOMP_MODE_FILTER = 1, 38, 22, 2
# futex operations: WAIT, WAKE, WAIT_BITSET, WAKE_BITSET; and the bits of their flags (PRIVATE, CLOCK_REALTIME).
FUTEX_OPERATIONS, FUTEX_FLAGS = (0, 1, 9, 10), 0x180
# Clocks of the system and of the process itself. Larger numbers are clocks of other processes.
LAST_CLOCK = 11

# What numerical Python needs once everything is imported. No system call here names a path, opens a socket or affects
# another process. All others fail with EPERM, so that only the code that uses one fails.
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


def missing_layers() -> dict[str, str]:
    """Return each layer that this system cannot provide, with a sentence that says how to fix it."""
    if not sys.platform.startswith("linux"):
        return nothing_holds()
    problem = _filter_problem()
    missing = {"seccomp": problem} if problem else {}
    if landlock_version() < 1:
        missing["landlock"] = (
            "This kernel offers no Landlock (Linux 5.13 or later, with landlock among its lsm= modules). "
            "The other layers hold without it."
        )
    return missing | _missing_users()


def _missing_users() -> dict[str, str]:
    if os.geteuid() != 0:
        return {
            "user": "Only root can run student code as another user. The other layers hold without it.",
            "own_user": "Only root can give each process a user of its own. The other layers hold without it.",
        }
    missing = {}
    if not is_mapped(NOBODY):
        missing["user"] = "This user namespace has no user but root. The other layers hold without another."
    try:
        claimed = claim_user()
    except ValueError as error:
        missing["own_user"] = f"{error} Until then student code runs as nobody."
    else:
        if claimed is None:
            ids = user_ids()
            missing["own_user"] = (
                f"No user id from {ids[0]} to {ids[-1]} is free here, so student code runs as nobody. "
                f"To have others used, set {USER_IDS}, such as to {DEFAULT_USER_IDS}."
            )
        else:
            claimed[1].close()
    return missing


def nothing_holds() -> dict[str, str]:
    """Return every layer as missing, which is true of practice on any system."""
    return dict.fromkeys(LAYERS, "Locking a process in needs Linux; grade on Linux, or in a Linux container.")


def missing_sentences(missing: dict[str, str]) -> list[str]:
    """Return a sentence for each needed layer that is missing. Without any, the others isolate a process."""
    return [f"{layer}: {missing[layer]}" for layer in NEEDED if layer in missing]


def _filter_problem() -> str | None:
    """Return why this system cannot have the filter, and what to do; None if it can."""
    try:
        import pyseccomp  # noqa: F401
    except ImportError:
        return "The Python package pyseccomp is missing: pip install pyseccomp"
    except (RuntimeError, OSError):
        return "The library libseccomp is missing: sudo apt-get install libseccomp2 (Fedora: dnf install libseccomp)."
    # A container's own filter may refuse ours. Only an attempt shows it.
    if not holds_in_fork(_filter_refuses_open):
        return (
            "This system refuses seccomp filters (CONFIG_SECCOMP_FILTER in the kernel, or a container that "
            "forbids them: docker run --security-opt seccomp=unconfined)."
        )
    return None


def holds_in_fork(action: Callable[[], bool]) -> bool:
    """Whether an action returns True, and raises nothing, in a forked process."""
    pid = os.fork()
    if pid == 0:
        code = 1
        with contextlib.suppress(BaseException):
            code = 0 if action() else 1
        os._exit(code)
    return os.waitpid(pid, 0)[1] == 0


def _filter_refuses_open() -> bool:
    refuse_new_privileges()
    apply_filter(build_filter())
    try:
        os.close(os.open("/", os.O_RDONLY))
    except OSError:
        return True
    return False


def prctl(option: int, *arguments: int) -> None:
    """Call the system's prctl. Raises OSError."""
    padded = [ctypes.c_ulong(argument) for argument in (*arguments, 0, 0, 0, 0)[:4]]
    _checked(ctypes.CDLL(None, use_errno=True).prctl(option, *padded))


def _system_call(number: int, *arguments: ctypes._SimpleCData[Any]) -> int:
    return _checked(ctypes.CDLL(None, use_errno=True).syscall(ctypes.c_long(number), *arguments))


def _checked(result: int) -> int:
    if result < 0:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
    return result


def refuse_new_privileges() -> None:
    """Give up, irreversibly, the right to gain privileges."""
    prctl(PR_SET_NO_NEW_PRIVS, 1)


def build_filter() -> bytes:
    """Return the filter as a BPF program, which libseccomp builds from names and so for any architecture."""
    import errno
    import fcntl

    import pyseccomp

    rules = pyseccomp.SyscallFilter(defaction=pyseccomp.ERRNO(errno.EPERM))
    for name in ALLOWED_SYSCALLS:
        _add_rule(rules, pyseccomp.ALLOW, name)
    # No process and no thread: thousands of threads would take process ids and kernel memory that nothing else limits.
    # EAGAIN is the error of a system that is full; ENOSYS makes glibc fall back to clone.
    _add_rule(rules, pyseccomp.ERRNO(errno.EAGAIN), "clone")
    _add_rule(rules, pyseccomp.ERRNO(errno.ENOSYS), "clone3")
    for operation in FUTEX_OPERATIONS:
        of_kind = pyseccomp.Arg(1, pyseccomp.MASKED_EQ, 0xFFFFFFFF & ~FUTEX_FLAGS, operation)
        _add_rule(rules, pyseccomp.ALLOW, "futex", of_kind)
    for name in ("clock_gettime", "clock_getres", "clock_nanosleep"):
        _add_rule(rules, pyseccomp.ALLOW, name, pyseccomp.Arg(0, pyseccomp.LE, LAST_CLOCK))
    # 0 means the process itself.
    for name in ("sched_getaffinity", "get_robust_list"):
        _add_rule(rules, pyseccomp.ALLOW, name, pyseccomp.Arg(0, pyseccomp.EQ, 0))
    # Copies of a descriptor, and its flags. Not F_SETOWN and F_SETSIG: with them a process that may not send signals
    # makes the kernel send one, to any process of the same user.
    for command in (fcntl.F_DUPFD, fcntl.F_DUPFD_CLOEXEC, fcntl.F_GETFD, fcntl.F_SETFD, fcntl.F_GETFL):
        _add_rule(rules, pyseccomp.ALLOW, "fcntl", pyseccomp.Arg(1, pyseccomp.EQ, command))
    # Its own limits, and only to read them: the third argument points to new ones. A process that could lower a limit
    # would choose when the kernel kills it.
    own, unchanged = pyseccomp.Arg(0, pyseccomp.EQ, 0), pyseccomp.Arg(2, pyseccomp.EQ, 0)
    _add_rule(rules, pyseccomp.ALLOW, "prlimit64", own, unchanged)
    # In memory, because a disk can be full.
    with open(os.memfd_create("filter"), "w+b") as file:
        rules.export_bpf(file)
        file.seek(0)
        return file.read()


def _add_rule(rules: Any, action: int, name: str, *conditions: object) -> None:
    # aarch64 has no dup2, poll, time and so on: what the architecture lacks needs no rule.
    with contextlib.suppress(ValueError, OSError):
        rules.add_rule(action, name, *conditions)


def apply_filter(program: bytes) -> None:
    """Load the BPF program into this process, irreversibly."""

    class FilterProgram(ctypes.Structure):
        _fields_ = (("length", ctypes.c_ushort), ("filter", ctypes.c_char_p))

    loaded = FilterProgram(len(program) // 8, program)
    prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, ctypes.addressof(loaded))


def user_ids_text() -> str:
    """Return the range of ids as text: that of the environment variable, or the default."""
    return os.environ.get(USER_IDS) or DEFAULT_USER_IDS


def user_ids() -> range:
    """Return the ids to choose from: those of the environment variable, or 60,000 to 60,999.

    Raises:
        ValueError: The variable is not two ascending numbers above 0, such as 60000-60999.
    """
    text = user_ids_text()
    found = re.fullmatch(r"(\d{1,9})-(\d{1,9})", text)
    first, last = map(int, found.groups()) if found else (0, 0)
    if not 0 < first <= last:
        raise ValueError(f"{USER_IDS} is {text!r}: write two numbers, such as {DEFAULT_USER_IDS}.")
    return range(first, last + 1)


def claim_user() -> tuple[int, socket.socket] | None:
    """Claim an id that no account and no other student process has at the moment.

    Returns:
        The id, and the socket that holds it until it is closed; None if no id is free.
    """
    for uid in user_ids():
        if not is_mapped(uid) or _has_account(uid):
            continue
        # The kernel frees a name in the abstract namespace when its process ends, however that happens.
        holder = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        try:
            holder.bind(f"\0attention-grader/uid/{uid}")
        except OSError:
            holder.close()
        else:
            return uid, holder
    return None


def is_mapped(uid: int) -> bool:
    """Whether the user namespace of this process contains this id."""
    lines = [list(map(int, line.split())) for line in _user_map().splitlines()]
    return any(first <= uid < first + count for first, _, count in lines)


@functools.cache
def _user_map() -> str:
    return Path("/proc/self/uid_map").read_text(encoding="ascii")


@functools.cache
def _has_account(uid: int) -> bool:
    import pwd  # not on Windows, where nothing is claimed

    try:
        pwd.getpwuid(uid)
    except KeyError:
        return False
    return True


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
    prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
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


def drop_user(uid: int = NOBODY) -> None:
    """Become the user with this id, without any privileged group, irreversibly. Needs root."""
    os.setgroups([])
    os.setresgid(NOBODY, NOBODY, NOBODY)
    os.setresuid(uid, uid, uid)


def landlock_version() -> int:
    """Return the kernel's Landlock ABI, or 0. Asks by system call, because securityfs may not be mounted."""
    try:
        flag = ctypes.c_uint32(LANDLOCK_VERSION_FLAG)
        return _system_call(LANDLOCK_CREATE_RULESET, ctypes.c_void_p(), ctypes.c_size_t(0), flag)
    except OSError:
        return 0


def apply_landlock(version: int) -> None:
    """Refuse every access that this kernel's Landlock knows, by a ruleset without exceptions.

    Source: https://docs.kernel.org/userspace-api/landlock.html (file system; TCP from 4; signals and abstract
    sockets from 6).
    """
    file_rights = {1: 13, 2: 14, 3: 15, 4: 15}.get(version, 16)
    ruleset = struct.pack("=Q", 2**file_rights - 1)
    for _ in range((version >= 4) + (version >= 6)):
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
