"""The course's own files, which students receive and which are no answers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path


@dataclass(frozen=True)
class CourseFiles:
    """The files of the folder of stubs and of the folder around it, by name."""

    stubs: Path

    def __contains__(self, name: str) -> bool:
        """Tell whether the course has a file of that name."""
        return self._find(name) is not None

    def text(self, name: str) -> str | None:
        """Return the text of the course's file of that name; None where it has none."""
        path = self._find(name)
        return path.read_text(encoding="utf-8") if path else None

    def _find(self, name: str) -> Path | None:
        return next((path for path in (self.stubs / name, self.stubs.parent / name) if path.is_file()), None)
