"""Notices what student code does that no answer needs. It informs the instructor, and is not evidence.

Python's audit hook (PEP 578) and a comparison of well-known functions notice it, in the student process. Student code
can therefore hide from this record or forge it. Isolation does not depend on it, and neither do points.
"""

from __future__ import annotations

import _thread
import contextlib
import functools
import operator
import os
import pkgutil
import sys
from collections import Counter
from collections.abc import Callable, Collection
from types import FrameType
from typing import Any

from grader.sandbox.protocol import MAX_NAME
from grader.sandbox.units import current_place

# The report's words for the interpreter's events (https://docs.python.org/3/library/audit_events.html).
EVENTS = {
    event: words
    for words, events in {
        "open a file": "open sqlite3.connect",
        "list a folder": "os.listdir os.scandir os.walk os.fwalk glob.glob pathlib.Path.glob pathlib.Path.rglob",
        "enter a folder": "os.chdir",
        "make a file or a folder": "os.mkdir os.link os.symlink tempfile.mkstemp tempfile.mkdtemp",
        "delete a file or a folder": "os.remove os.rmdir shutil.rmtree",
        "change a file": "os.rename os.chmod os.chown os.truncate os.utime os.setxattr os.removexattr",
        "look at the marks of a file": "os.getxattr os.listxattr",
        "open a socket": "socket.__new__",
        "reach another computer": "socket.connect socket.getaddrinfo socket.gethostbyname urllib.Request",
        "start a process": "os.fork os.forkpty os.posix_spawn os.exec os.system subprocess.Popen pty.spawn",
        "send a signal": "os.kill os.killpg signal.pthread_kill",
        "change its limits": "resource.setrlimit resource.prlimit",
        "load a library": "ctypes.dlopen",
        "call a function of the system": "ctypes.dlsym",
        "read memory by its address": "ctypes.string_at ctypes.wstring_at",
        "look at the frames of other code": "sys._getframe sys._current_frames sys._current_exceptions",
        "look through all objects": "gc.get_objects gc.get_referrers gc.get_referents",
        "start a thread": "_thread.start_new_thread",
        "follow every call": "sys.settrace sys.setprofile sys.addaudithook",
    }.items()
    for event in events.split()
}
# The replacements of what compiles, and of what needs another machine. These are remarks for the student: nothing is
# wrong with such code.
IGNORED = {
    "torch.compile": "`torch.compile` is not run while grading: the function is used as it is.",
    "torch.jit.script": "`torch.jit.script` is not run while grading: the function is used as it is.",
    "torch.nn.Module.compile": "`.compile()` is not run while grading: the module is used as it is.",
    "torch.set_default_device": "`torch.set_default_device` is ignored, because there is no such device while grading.",
}
EVENTS |= IGNORED
# Libraries have good reasons for these too, so they count only if student code itself causes them.
DIRECT = {event for event in EVENTS if event.startswith(("sys.", "gc."))}
REPLACED = "replace a function"
WORDS = frozenset([*EVENTS.values(), REPLACED])

# Functions that compare, send or find things: attacks on graders that share a process with student code replace them.
WATCHED = {
    "torch": "allclose equal isclose all any eq isfinite",
    "torch.Tensor": "__eq__ __bool__ allclose equal isclose all item",
    "torch.nn.Module": "__call__ named_parameters named_buffers parameters state_dict load_state_dict",
    "torch.testing": "assert_close",
    "numpy": "allclose array_equal isclose all",
    "numpy.testing": "assert_allclose assert_array_equal",
    "math": "isclose isfinite",
    "json": "dumps loads",
    "struct": "pack unpack Struct",
    "importlib": "import_module reload",
    "builtins": "abs all any len isinstance sum min max round sorted exec eval compile __import__ __build_class__",
    "grader.sandbox.protocol": "pack unpack",
    "grader.sandbox.values": "Encoder Decoder",
}

MAX_OF_A_KIND = 5


class Watch:
    """Reports each anomaly once, and a few of each kind."""

    def __init__(self, labels: Collection[str], notify: Callable[[str, str], None]) -> None:
        """Take the labels of the student's sources, which their code objects have as file names.

        `notify` is called with an anomaly's words and argument, on any thread.
        """
        self.labels = labels
        self.notify = notify
        self.reported: set[tuple[str, str]] = set()
        self.counts: Counter[str] = Counter()
        self.looking: set[int] = set()
        self.originals = originals()

    def listen(self) -> None:
        """Listen until the process ends, because audit hooks cannot be removed."""
        events = EVENTS

        def hook(event: str, arguments: tuple[Any, ...]) -> None:
            if event in events:
                self.hear(event, arguments)

        sys.addaudithook(hook)

    def hear(self, event: str, arguments: tuple[Any, ...]) -> None:
        """Handle an event. Never raises, because an error in an audit hook would stop honest code."""
        thread = _thread.get_ident()
        if thread in self.looking or self.counts[EVENTS[event]] >= MAX_OF_A_KIND:
            return
        self.looking.add(thread)  # reading frames is an event too
        with contextlib.suppress(BaseException):
            if place := self._students_place(sys._getframe(2), event):
                file, line = place
                where = f"in line {line} of {file}"
                self.note(EVENTS[event], where if event in IGNORED else _first_text(arguments))
        self.looking.discard(thread)

    def look(self) -> None:
        """Report functions that were replaced. This runs after each call, so it makes few calls of its own."""
        for path, owner, names, originals in self.originals:
            found = [getattr(owner, name, None) for name in names]
            if not all(map(operator.is_, found, originals)):
                for name, one, original in zip(names, found, originals, strict=True):
                    if one is not original:
                        self.note(REPLACED, f"{path}.{name}")

    def note(self, words: str, argument: str) -> None:
        """Report an anomaly, unless it was reported before or there were many of its kind."""
        if (words, argument) not in self.reported and self.counts[words] < MAX_OF_A_KIND:
            self.counts[words] += 1
            self.reported.add((words, argument))
            self.notify(words, argument)

    def _students_place(self, caller: FrameType, event: str) -> tuple[str, int] | None:
        """Return the label and the line of the student code that caused the event, if any did."""
        file = caller.f_code.co_filename
        # The interpreter reads the lines of a traceback through the import system's loaders, as in torch's seeding.
        if file.startswith("<frozen importlib") or (event in DIRECT and file not in self.labels):
            return None
        return current_place(caller, self.labels)


@functools.cache
def originals() -> list[tuple[str, Any, list[str], list[Any]]]:
    """Return the watched functions as they are now, by the path of their module or class, and the owner itself.

    To be called once before a fork: each child needs the same.
    """
    found = []
    for path, words in WATCHED.items():
        owner, names = pkgutil.resolve_name(path), words.split()
        found.append((path, owner, names, [getattr(owner, name) for name in names]))
    return found


def _first_text(arguments: tuple[Any, ...]) -> str:
    """Return the path, name or address of an event, or "" if it has a number or nothing."""
    for argument in arguments:
        path = os.fspath(argument) if isinstance(argument, os.PathLike) else argument
        match path:
            case bytes():
                return os.fsdecode(path)[:MAX_NAME]
            case str():
                return str.__str__(path)[:MAX_NAME]
            case list() | tuple():
                return repr(path)[:MAX_NAME]
            case int():
                return ""
    return ""
