"""Pages of the documentation that tests follow: their fenced blocks, and the commands in them."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

import courses

# A fenced block, which may be in a list: its language, its title if any, and its text.
BLOCK = re.compile(r"^( *)```(\w+)(?: title=\"([^\"]+)\")?\n(.*?)^ *```$", re.MULTILINE | re.DOTALL)


class Block(NamedTuple):
    """A fenced block of a page, and the heading of its section. The title is the file that it belongs to."""

    heading: str
    language: str
    file: str
    text: str

    @property
    def commands(self) -> list[str]:
        """The commands of a console, each with its further lines. What they print is left out."""
        found = re.findall(r"^\$ (.*(?:\n> .*)*)", self.text, re.MULTILINE) if self.language == "console" else []
        return [one.replace("\n> ", "\n") for one in found]


def blocks_of(page: str) -> list[Block]:
    return [
        Block(section.partition("\n")[0], language, file, re.sub(f"(?m)^{indent}", "", text))
        for section in page.split("\n## ")
        for indent, language, file, text in BLOCK.findall(section)
    ]


def make_course(folder: Path) -> Path:
    """A copy of the course whose first unit is over, with what every clone has: a repository."""
    root = courses.copy_course(folder / "course")
    settings = root / "autograder.yml"
    text = settings.read_text(encoding="utf-8").replace(": 2027-", ": 2000-", 1)
    settings.write_text(text.replace(": 2027-", ": 2100-"), encoding="utf-8")
    return root


def run(root: Path, script: str, **more: str) -> subprocess.CompletedProcess[str]:
    """Run the commands of a page in a course, with these variables."""
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
    environment = {**courses.environment(root), "PATH": path, **more}
    return subprocess.run(["bash", "-e", "-c", script], cwd=root, env=environment, capture_output=True, text=True)
