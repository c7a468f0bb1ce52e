"""The seccomp filter of a student process: which system calls it may make, and whether this system has filters."""

from __future__ import annotations

import contextlib
import ctypes
import os
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable

PR_SET_NO_NEW_PRIVS, PR_SET_SECCOMP, SECCOMP_MODE_FILTER = 38, 22, 2
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


def problem() -> str | None:
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
    libc = ctypes.CDLL(None, use_errno=True)
    padded = [ctypes.c_ulong(argument) for argument in (*arguments, 0, 0, 0, 0)[:4]]
    if libc.prctl(option, *padded) != 0:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))


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
        _add(rules, pyseccomp.ALLOW, name)
    # No process and no thread: thousands of threads would take process ids and kernel memory that nothing else limits.
    # EAGAIN is the error of a system that is full; ENOSYS makes glibc fall back to clone.
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
    # Copies of a descriptor, and its flags. Not F_SETOWN and F_SETSIG: with them a process that may not send signals
    # makes the kernel send one, to any process of the same user.
    for command in (fcntl.F_DUPFD, fcntl.F_DUPFD_CLOEXEC, fcntl.F_GETFD, fcntl.F_SETFD, fcntl.F_GETFL):
        _add(rules, pyseccomp.ALLOW, "fcntl", pyseccomp.Arg(1, pyseccomp.EQ, command))
    # Its own limits, and only to read them: the third argument points to new ones. A process that could lower a limit
    # would choose when the kernel kills it.
    own, unchanged = pyseccomp.Arg(0, pyseccomp.EQ, 0), pyseccomp.Arg(2, pyseccomp.EQ, 0)
    _add(rules, pyseccomp.ALLOW, "prlimit64", own, unchanged)
    # In memory, because a disk can be full.
    with open(os.memfd_create("filter"), "w+b") as file:
        rules.export_bpf(file)
        file.seek(0)
        return file.read()


def _add(rules: Any, action: int, name: str, *conditions: object) -> None:
    # aarch64 has no dup2, poll, time and so on: what the architecture lacks needs no rule.
    with contextlib.suppress(ValueError, OSError):
        rules.add_rule(action, name, *conditions)


def apply_filter(program: bytes) -> None:
    """Load the BPF program into this process, irreversibly."""

    class Program(ctypes.Structure):
        _fields_ = (("length", ctypes.c_ushort), ("filter", ctypes.c_char_p))

    loaded = Program(len(program) // 8, program)
    prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, ctypes.addressof(loaded))
