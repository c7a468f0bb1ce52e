"""The workflow commands in a job's log, as GitHub's runner reads them."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, field

ANNOTATIONS = ("error", "warning", "notice")
_COMMANDS = {
    *ANNOTATIONS, "debug", "group", "endgroup", "add-mask", "stop-commands", "echo", "set-output", "set-env",
    "add-path", "save-state", "add-matcher", "remove-matcher",
}  # fmt: skip
# The old form counts anywhere in a line, the new one only at its beginning.
_NEW = re.compile(r"\s*::(?P<name>[^ :]+)(?P<properties> (?:(?!::).)*)?::(?P<data>.*)", re.DOTALL)
_OLD = re.compile(r"##\[(?P<name>[^ \]]+)(?P<properties> [^\]]*)?\](?P<data>.*)", re.DOTALL)


@dataclass(frozen=True)
class Command:
    name: str
    properties: dict[str, str] = field(default_factory=dict)
    data: str = ""


def commands(lines: Iterable[str]) -> list[Command]:
    """Return the commands that the runner would obey, in order. Lines after a stop command are text until its token."""
    found: list[Command] = []
    stopped_by: str | None = None
    for line in lines:
        command = _command(line, stopped_by)
        if command is None:
            continue
        if stopped_by is not None:
            stopped_by = None if command.name.casefold() == stopped_by.casefold() else stopped_by
        elif command.name.casefold() == "stop-commands":
            assert len(command.data) >= 32, "a word that somebody could guess"
            stopped_by = command.data
        else:
            found.append(command)
    assert stopped_by is None, "commands were stopped, and never taken up again"
    return found


def _command(line: str, stopped_by: str | None) -> Command | None:
    for form, separator in ((_NEW, ","), (_OLD, ";")):
        found = form.match(line) if form is _NEW else form.search(line)
        if found and found["name"].casefold() in {*_COMMANDS, (stopped_by or "").casefold()}:
            pairs = [pair.partition("=") for pair in (found["properties"] or "").strip().split(separator)]
            properties = {name: _unescaped(value, ("%3A", ":"), ("%2C", ",")) for name, _, value in pairs if value}
            return Command(found["name"], properties, _unescaped(found["data"]))
    return None


def _unescaped(text: str, *more: tuple[str, str]) -> str:
    for escaped, character in (("%0D", "\r"), ("%0A", "\n"), *more, ("%25", "%")):
        text = text.replace(escaped, character)
    return text
