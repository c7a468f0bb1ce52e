"""What the grader remembers of one student's folder, in the user's own state folder: hints that were shown, and others.

A program that reads or changes it needs no knowledge of the sections of others.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from filelock import FileLock, Timeout
from platformdirs import user_state_path

from grader.errors import GraderError
from grader.files import write_atomically

if TYPE_CHECKING:
    from collections.abc import Iterator

_APPLICATION = "attention-from-scratch"
_SECONDS = 10
"""How long to wait for another program that changes the state."""


@dataclass
class State:
    """What is remembered.

    Attributes:
        content: One section for each subject, such as {"hints": {"an_exercise": 2}}.
        problem: A sentence for the student if the file was damaged and so was started anew.
    """

    content: dict[str, Any] = field(default_factory=dict)
    problem: str = ""

    def section(self, name: str) -> dict[str, Any]:
        """Return a section, to read or to change; an empty one if there is none."""
        if not isinstance(self.content.get(name), dict):
            self.content[name] = {}
        section: dict[str, Any] = self.content[name]
        return section


def state_folder(folder: Path) -> Path:
    """Return where the grader keeps what belongs to a student's folder. It may not exist yet."""
    place = folder.resolve()
    key = hashlib.sha256(str(place).encode()).hexdigest()[:12]
    return user_state_path(_APPLICATION, appauthor=False) / f"{place.name}-{key}"


def read_state(folder: Path) -> State:
    """Return what is remembered of a student's folder. Raises OSError."""
    path = _file(folder)
    if not path.is_file():
        return State()
    try:
        content = json.loads(path.read_bytes())
    except ValueError:
        content = None
    if not isinstance(content, dict):
        return State(problem=f"{path} was damaged: what it remembered, such as your last hint, starts anew.")
    return State(content)


@contextlib.contextmanager
def updated_state(folder: Path) -> Iterator[State]:
    """Give what is remembered of a student's folder, and save it at the end of the block if no error is raised.

    Raises:
        GraderError: Another program holds it.
        OSError: It cannot be read or written.
    """
    path = _file(folder)
    path.parent.mkdir(parents=True, exist_ok=True)
    try:
        with FileLock(path.with_suffix(".lock"), timeout=_SECONDS):
            state = read_state(folder)
            yield state
            write_atomically(path, json.dumps(state.content, indent=1) + "\n")
    except Timeout:
        raise GraderError(f"Another program has held {path} for {_SECONDS} seconds: end it and try again.") from None


def _file(folder: Path) -> Path:
    return state_folder(folder) / "state.json"
