"""What names mean: the id of a student, and the course's file that a misnamed one is meant to be."""

from __future__ import annotations

import re
import unicodedata
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

SHEET_SUFFIX = "_quiz.md"

STUDENT = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*")
"""A name that a student can have in reports."""

# Letters that no accent makes of another one.
_LETTERS = str.maketrans(
    {"ß": "ss", "ø": "o", "Ø": "O", "ł": "l", "Ł": "L", "đ": "d", "Đ": "D", "æ": "ae", "Æ": "Ae", "œ": "oe", "Œ": "Oe",
     "ı": "i", "þ": "th", "Þ": "Th", "ð": "d", "'": "", "\N{RIGHT SINGLE QUOTATION MARK}": ""}
)  # fmt: skip
_KINDS = re.compile(r"(.*?)\.(py|ipynb|md)(?:\.txt)?", re.IGNORECASE | re.DOTALL)


def student_id(name: str) -> str:
    """Make an id for reports of a name in any alphabet: letters, digits, `.`, `_` and `-`; "" where none is left."""
    letters = unicodedata.normalize("NFKD", name.translate(_LETTERS)).encode("ascii", "ignore").decode()
    return re.sub(r"[^A-Za-z0-9._-]+", "-", letters).strip("._-")[:100]


def intended_name(filename: str, units: Iterable[str]) -> str | None:
    """Return the course's file that a misnamed one such as `Self_Attention (1).py.txt` is meant to be.

    Its name must contain that of a unit, whatever the case and whatever is around it; otherwise it is None.
    """
    found = _KINDS.fullmatch(filename)
    if not found:
        return None
    stem, suffix = _squeezed(found[1]), found[2].lower()
    unit = max((unit for unit in units if _squeezed(unit) in stem), key=len, default=None)
    if unit is None or stem.startswith("test"):
        return None
    is_quiz = "quiz" in stem.rpartition(_squeezed(unit))[2]
    if is_quiz != (suffix == "md"):
        return None
    return f"{unit}{SHEET_SUFFIX}" if is_quiz else f"{unit}.{suffix}"


def is_code(filename: str) -> bool:
    """Tell whether a file is a script or a notebook by its name."""
    found = _KINDS.fullmatch(filename)
    return found is not None and found[2].lower() != "md"


def _squeezed(name: str) -> str:
    return re.sub(r"[^a-z0-9]", "", name.lower())
