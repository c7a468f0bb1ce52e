"""What the student's code prints, up to a limit."""

from __future__ import annotations

from collections import Counter


class OutputBuffer:
    """Keeps so many bytes of what each exercise prints, and counts the others."""

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._text = b""
        self._bytes = 0
        self._kept: Counter[str] = Counter()  # by exercise

    def add(self, text: bytes, exercise: str) -> None:
        """Keep what an exercise printed, as far as there is room."""
        kept = text[: max(self._limit - self._kept[exercise], 0)]
        self._text += kept
        self._kept[exercise] += len(kept)
        self._bytes += len(text)

    def take(self) -> tuple[str, int]:
        """Return what was printed since the last time, and how many bytes of it were not kept."""
        text, dropped = self._text.decode("utf-8", "replace"), self._bytes - len(self._text)
        self.restore((b"", 0))
        return text, dropped

    def state(self) -> tuple[bytes, int]:
        """Return what `restore` takes to forget all that is printed from here on."""
        return self._text, self._bytes

    def restore(self, state: tuple[bytes, int]) -> None:
        """Go back to a state that `state` returned."""
        self._text, self._bytes = state
