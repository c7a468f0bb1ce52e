"""Names in a submission or a class that nothing needs, and what to do about those that could be answers."""

from __future__ import annotations

from typing import NamedTuple


class Ignored(NamedTuple):
    """A name that was left out.

    Attributes:
        path: The file or folder; where several are meant, what they are.
        advice: What to do to have it graded; empty where it is no answer.
        reason: Why it was left out, where that is worth a word.
    """

    path: str
    advice: str = ""
    reason: str = ""

    def __str__(self) -> str:
        """Return the name with the reason and the advice."""
        note = ": ".join(filter(None, (self.reason, self.advice)))
        return f"{self.path} ({note})" if note else self.path
