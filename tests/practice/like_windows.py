"""Takes from Python what other systems do not have. The first thing that each Python of an environment imports.

It cannot make Linux a Windows: files, paths, terminals and the start of processes stay those of Linux.
"""

from __future__ import annotations

import os
import select
import signal
import socket
import subprocess
import sys
import sysconfig
from typing import Any

MISSING = {
    os: "fork forkpty wait4 wait3 setsid setuid killpg pread posix_spawn sysconf O_CLOEXEC "
    "O_NOFOLLOW O_DIRECTORY O_NONBLOCK O_NOCTTY",
    socket: "AF_UNIX SOCK_SEQPACKET send_fds recv_fds",
    select: "poll epoll",
    signal: "SIGKILL SIGALRM SIGPROF SIGXCPU SIGCHLD SIGHUP setitimer ITIMER_PROF pthread_kill",
}
for module, names in MISSING.items():
    for name in names.split():
        if hasattr(module, name):
            delattr(module, name)
for name in ("fcntl", "termios", "resource", "pwd", "grp", "tty", "pty", "readline", "curses"):
    sys.modules[name] = None  # type: ignore[assignment]
# Not "win32" or "darwin", for which Python lacks parts here. What is done on Windows alone has a test of its own.
sysconfig.get_config_vars()  # reads a file that is named after the system
sys.platform = "freebsd14"


def _socketpair(*_: Any) -> tuple[socket.socket, socket.socket]:
    """Connect two sockets of the network, as Python does on Windows."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        near = socket.create_connection(listener.getsockname())
        far, _ = listener.accept()
    return near, far


def _kill(process: subprocess.Popen[bytes]) -> None:
    """Kill a process without naming the signal."""
    process.send_signal(9)


socket.socketpair = _socketpair  # type: ignore[assignment]
subprocess.Popen.kill = _kill  # type: ignore[method-assign, assignment]
