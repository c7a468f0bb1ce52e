"""The parts of a class that several machines grade, each on its own."""

from __future__ import annotations

import hashlib
import re
from dataclasses import dataclass

from grader.errors import GraderError

_FORM = re.compile(r"([1-9]\d{0,4})/([1-9]\d{0,4})")


@dataclass(frozen=True)
class Shard:
    """The n-th of m parts of a class. Each student is in one part, which depends on the name alone."""

    number: int
    count: int

    @classmethod
    def read(cls, text: str) -> Shard:
        """Read `n/m`. Raises GraderError."""
        found = _FORM.fullmatch(text)
        if not found or int(found[1]) > int(found[2]):
            raise GraderError(f"--shard: {text!r} is no part: give a number and how many parts there are, such as 2/5.")
        return cls(int(found[1]), int(found[2]))

    def has(self, student: str) -> bool:
        """Whether a student is in this part, however the name's letters are cased."""
        digest = hashlib.sha256(student.casefold().encode()).digest()
        return int.from_bytes(digest) % self.count == self.number - 1
