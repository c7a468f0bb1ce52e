"""What student code tries that no answer needs: for the instructor, who may want to know, and never evidence.

Python's own audit hook (PEP 578) and a look at some well-known functions notice it, in the student's own process. So
clever code can hide from this record, or make one up. Whatever it says, isolation holds, and no point depends on it.
"""

from __future__ import annotations

import _thread
import contextlib
import os
import pkgutil
import sys
from collections import Counter
from typing import TYPE_CHECKING, Any

from grader.sandbox.messages import MAX_NAME, Anomaly

if TYPE_CHECKING:
    from collections.abc import Callable, Collection
    from types import FrameType

# What a report calls the interpreter's events (https://docs.python.org/3/library/audit_events.html).
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
# Libraries do these too, on honest errands: they count only where student code does them itself.
DIRECT = {event for event in EVENTS if event.startswith(("sys.", "gc."))}
REPLACED = "replace a function"
WORDS = frozenset([*EVENTS.values(), REPLACED])

# What compares, sends or finds things, and so is worth replacing where a grader runs in the student's process.
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
    "grader.sandbox.values": "encode decode",
}

MAX_OF_A_KIND = 5


class Watch:
    """Reports each kind of anomaly, with each of its first few arguments, once."""

    def __init__(self, labels: Collection[str], notify: Callable[[str, str], None]) -> None:
        """Take the names of the student's own sources, as their code objects bear them.

        `notify` takes the anomaly's words and argument, on whichever thread.
        """
        self.labels = labels
        self.notify = notify
        self.reported: set[tuple[str, str]] = set()
        self.counts: Counter[str] = Counter()
        self.looking: set[int] = set()
        self.originals = [
            (owner, f"{path}.{name}", name, getattr(owner, name))
            for path, names in WATCHED.items()
            for owner in [pkgutil.resolve_name(path)]
            for name in names.split()
        ]

    def listen(self) -> None:
        """From here on until the process ends, for nothing takes an audit hook away."""
        events = EVENTS

        def hook(event: str, arguments: tuple[Any, ...]) -> None:
            if event in events:
                self.hear(event, arguments)

        sys.addaudithook(hook)

    def hear(self, event: str, arguments: tuple[Any, ...]) -> None:
        """Called by the hook. Never raises, for an error here would refuse what honest code does."""
        thread = _thread.get_ident()
        if thread in self.looking or self.counts[EVENTS[event]] >= MAX_OF_A_KIND:
            return
        self.looking.add(thread)  # looking at frames is an event itself
        with contextlib.suppress(BaseException):
            if self._is_the_students(sys._getframe(2), event):
                self.note(EVENTS[event], _first_text(arguments))
        self.looking.discard(thread)

    def look(self) -> None:
        """Report functions that are no longer what they were."""
        for owner, path, name, original in self.originals:
            if getattr(owner, name, None) is not original:
                self.note(REPLACED, path)

    def note(self, words: str, argument: str) -> None:
        """Report what was tried, once, and so many times of each kind."""
        if (words, argument) not in self.reported and self.counts[words] < MAX_OF_A_KIND:
            self.counts[words] += 1
            self.reported.add((words, argument))
            self.notify(words, argument)

    def _is_the_students(self, caller: FrameType, event: str) -> bool:
        """Whether student code is behind it."""
        if event in DIRECT:
            return caller.f_code.co_filename in self.labels
        # By the import system's own loaders the interpreter looks up the lines of a traceback, as torch's seeding does.
        if caller.f_code.co_filename.startswith("<frozen importlib"):
            return False
        frame: FrameType | None = caller
        while frame is not None:
            if frame.f_code.co_filename in self.labels:
                return True
            frame = frame.f_back
        return False


class AuditLog:
    """What student code was seen to try, on the trusted side: a sentence for each, and few of each kind.

    These are the student process's own words on itself.
    """

    def __init__(self) -> None:
        self._counts: Counter[tuple[str, str]] = Counter()  # by unit and kind
        self._is_new: dict[str, bool] = {}

    def add(self, unit: str, anomaly: Anomaly) -> None:
        """Note an anomaly of a known kind, unless it is known or there are many."""
        sentence = _sentence(anomaly.words, anomaly.argument)
        kind = (unit, anomaly.words)
        if anomaly.words in WORDS and sentence not in self._is_new and self._counts[kind] < MAX_OF_A_KIND:
            self._counts[kind] += 1
            self._is_new[sentence] = True

    def take(self) -> list[str]:
        """Return the sentences that are new since the last time."""
        sentences = [sentence for sentence, is_new in self._is_new.items() if is_new]
        self._is_new.update(dict.fromkeys(sentences, False))
        return sentences


def _sentence(words: str, argument: str) -> str:
    """One anomaly in one line, as reports have it."""
    return f"It tried to {words}: {' '.join(argument.split())[:MAX_NAME]}" if argument else f"It tried to {words}."


def _first_text(arguments: tuple[Any, ...]) -> str:
    """The path, name or address that an event is about; "" where it has a number, or none."""
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
