"""The spare process: it has imported torch and collected the visible tests, does one check, and ends.

Importing torch takes most of the time of a check. So `grader check` has the spare process do it, and then starts the
next one in the background. A file that only the user can read has the address and a key; whoever takes the file away
may use the process. It ends after five minutes without use, or when the program that uses it is gone.
"""

from __future__ import annotations

import contextlib
import hashlib
import importlib.util
import json
import os
import platform
import queue
import secrets
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from multiprocessing import AuthenticationError
from multiprocessing.connection import Client, Connection, Listener
from pathlib import Path
from typing import Any, NoReturn

from platformdirs import user_cache_path

from grader.files import PACKAGE, module_command
from grader.submissions.submission import CHECKS, FOLDER

LIFE_SECONDS = 300
KEY_BYTES = 32
PREFIX = "spare-"
STOP = b"stop"
START_SECONDS = 60
FAILURES = (OSError, EOFError, ValueError, LookupError, AuthenticationError)
"""What is raised where there is no process, or it has ended."""
# On Windows, so that it does not end with the terminal's window, and opens none.
DETACHED = getattr(subprocess, "CREATE_NO_WINDOW", 0) | getattr(subprocess, "CREATE_NEW_PROCESS_GROUP", 0)

Message = dict[str, Any]
"""What a process is asked to do, and what it replies. Sent as JSON."""


def start(module: str, root: Path) -> None:
    """Start a spare process in the background, unless there is one. A failure costs only time, so it is no error.

    Args:
        module: The program that the process runs. It gets the course's folder and the key file, and calls `serve`.
        root: The course's folder.
    """
    key_file = _key_file(root)
    with contextlib.suppress(OSError):
        key_file.parent.mkdir(parents=True, exist_ok=True)
        if key_file.exists() and time.time() - key_file.stat().st_mtime > LIFE_SECONDS + START_SECONDS:
            key_file.unlink()  # its process was killed, or did not start
        _write(key_file, {"key": secrets.token_hex(KEY_BYTES), "made_of": made_of(root)})
        process = subprocess.Popen(
            module_command(module, root, key_file),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            cwd=tempfile.gettempdir(),  # so that the course's folder can be removed
            start_new_session=True,
            creationflags=DETACHED,
        )
        process.returncode = 0  # or Python warns that nobody waits for it


def ask(root: Path, message: Message) -> Message | None:
    """Have the spare process of a course do something. Return None if there is none, or it failed."""
    key_file = _key_file(root)
    with contextlib.suppress(*FAILURES):
        if "address" not in json.loads(key_file.read_bytes()):
            return None  # it has just started
        with _connect(_claim(key_file), made_of(root)) as connection:
            connection.send_bytes(json.dumps(message).encode())
            reply: Message = json.loads(connection.recv_bytes())
            return reply
    return None


def stop() -> int:
    """End the user's spare processes on this machine, and return how many there were."""
    count = 0
    for key_file in _folder().glob(f"{PREFIX}{_machine()}-*.json"):
        with contextlib.suppress(*FAILURES):
            known = _claim(key_file)
            count += 1  # one that has just started ends when it misses its file
            with _connect(known, known["made_of"]) as connection:
                connection.send_bytes(STOP)
                connection.recv_bytes()  # until it has ended
    return count


def serve(key_file: Path, prepare: Callable[[], Callable[[Message], Message]]) -> NoReturn:
    """Be the spare process: prepare, wait for one message, reply to it, and end.

    Args:
        key_file: The file with the key. The address is added to it.
        prepare: Does everything that takes long, and returns what replies to the message.
    """
    try:
        known = _claim(key_file)
        # On Linux a name that is no file, so that nothing is left behind however this process ends.
        address = f"\0{PREFIX}{secrets.token_hex(KEY_BYTES)}" if sys.platform == "linux" else None
        with Listener(address, authkey=bytes.fromhex(known["key"])) as listener:
            _write(key_file, known | {"address": address or listener.address})
            messages: queue.SimpleQueue[tuple[Connection[Any, Any], Message]] = queue.SimpleQueue()
            threading.Thread(target=_receive, args=(listener, messages), daemon=True).start()
            try:
                reply_to = prepare()
                connection, message = messages.get(timeout=LIFE_SECONDS)
            except BaseException:  # it cannot be prepared, or nobody needs it
                _remove(key_file, known["key"])
                raise
            connection.send_bytes(json.dumps(reply_to(message)).encode())
    finally:
        os._exit(0)  # its engine ends when its standard input is closed


def _receive(listener: Listener, messages: queue.SimpleQueue[tuple[Connection[Any, Any], Message]]) -> None:
    """Wait for the one message. End this process if it is `STOP`, or when the other side closes the connection."""
    with contextlib.suppress(BaseException), listener.accept() as connection:
        data = connection.recv_bytes()
        if data != STOP:
            messages.put((connection, json.loads(data)))
            connection.recv_bytes()
    os._exit(0)


def _claim(key_file: Path) -> Message:
    """Take a key file away, which only one program can do, and return its content. Raises one of FAILURES."""
    own = key_file.with_suffix(f".{os.getpid()}")
    key_file.rename(own)
    try:
        known: Message = json.loads(own.read_bytes())
        return known
    finally:
        own.unlink()


def _remove(key_file: Path, key: str) -> None:
    """Remove a key file if it has this key: there may be one of the next process."""
    with contextlib.suppress(*FAILURES):
        if json.loads(key_file.read_bytes())["key"] == key:
            key_file.unlink()


def _write(key_file: Path, content: Message) -> None:
    """Write a key file that only the user can read. Raises FileExistsError if there is one."""
    with open(os.open(key_file, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w", encoding="utf-8") as file:
        json.dump(content, file)


def _connect(known: Message, wanted: str) -> Connection[Any, Any]:
    """Connect to a process. If it is not made of what is wanted, end it. Raises one of FAILURES."""
    address = known["address"]
    address = tuple(address) if isinstance(address, list) else address  # of a socket of the network, read from JSON
    connection = Client(address, authkey=bytes.fromhex(known["key"]))
    if known["made_of"] != wanted:
        with connection:
            connection.send_bytes(STOP)
        raise EOFError
    return connection


def made_of(root: Path) -> str:
    """Return a digest of what a process was started with: the grader, the course, torch, Python and its settings."""
    torch = importlib.util.find_spec("torch")
    version = Path(torch.origin).with_name("version.py") if torch and torch.origin else PACKAGE
    files = [
        version,
        root / "autograder.yml",
        *PACKAGE.rglob("*.py"),
        *(root / FOLDER).glob("*"),
        *(root / FOLDER / CHECKS).glob("*"),
    ]
    settings = [f"{name}={os.environ[name]}" for name in sorted(os.environ) if name.startswith(("PYTHON", "GRADER_"))]
    known = [sys.version, sys.prefix, *settings]
    for file in files:
        with contextlib.suppress(OSError):
            known.append(f"{file} {file.stat().st_mtime_ns}")
    return hashlib.sha256("\n".join(known).encode()).hexdigest()


def _key_file(root: Path) -> Path:
    course = hashlib.sha256(str(root.resolve()).encode()).hexdigest()[:12]
    return _folder() / f"{PREFIX}{_machine()}-{course}.json"


def _folder() -> Path:
    return user_cache_path("attention-from-scratch", appauthor=False)


def _machine() -> str:
    """Return a name of this machine: several may share the user's folder."""
    return hashlib.sha256(platform.node().encode()).hexdigest()[:8]
