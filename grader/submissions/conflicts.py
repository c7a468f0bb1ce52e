"""Takes apart a notebook with the conflict markers that git leaves in an unfinished merge."""

from __future__ import annotations

import itertools
import re
from typing import TYPE_CHECKING, Any, NamedTuple

from grader.submissions.plain_files import UnreadableError
from grader.text import listed

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

_MARKER = re.compile(r"^(?:<{7}|\|{7}|={7}|>{7})(?![<|=>]).*\n?", re.MULTILINE)
# The markers of one conflict; the second is there if git shows the common ancestor.
_ORDERS = ("<=>", "<|=>")
_MOST_MARKERS, _MOST_LINES = 1000, 2_000_000
_MOST_NAMED = 5


class Conflict(NamedTuple):
    """A text with conflicts.

    Attributes:
        sides: The whole text in its two versions.
        place: The lines of the first conflict, in words.
    """

    sides: tuple[str, str]
    place: str


def sides_of(text: str) -> Conflict | None:
    """Return the two versions of a text with conflicts; None if there is none, one does not end, or it is too long."""
    if "\n<<<<<<<" not in text or text.count("\n") > _MOST_LINES:
        return None
    markers = list(itertools.islice(_MARKER.finditer(text), _MOST_MARKERS))
    ours, theirs, places, end = "", "", [], 0
    while markers and len(markers) < _MOST_MARKERS:
        order = next((one for one in _ORDERS if "".join(found[0][0] for found in markers[: len(one)]) == one), None)
        if order is None:
            return None
        first, *base, middle, last = markers[: len(order)]
        markers = markers[len(order) :]
        both = text[end : first.start()]
        ours += both + text[first.end() : (base or [middle])[0].start()]
        theirs += both + text[middle.end() : last.start()]
        end = last.end()
        places.append((first.start(), last.start()))
    if not places or markers:
        return None
    begin, last_line = (text.count("\n", 0, place) + 1 for place in places[0])
    more = f" and {len(places) - 1} more" if len(places) > 1 else ""
    return Conflict((ours + text[end:], theirs + text[end:]), f"lines {begin} to {last_line}{more}")


def cells_of(
    conflict: Conflict, relative: str, read: Callable[[str], list[Any]], differs: Callable[[Any, Any], bool]
) -> tuple[list[Any], str]:
    """Return the cells of a notebook with conflicts, those that differ blank, and a remark.

    Args:
        conflict: Its two versions.
        relative: Its path.
        read: Returns the cells of a version, or raises UnreadableError.
        differs: Whether two versions of a cell are different code.

    Raises:
        UnreadableError: A version cannot be read.
    """
    merge = f"{relative} has an unfinished merge (conflict markers in {conflict.place})"
    fix = "keep one version of it in a text editor, and save it again in Jupyter."
    try:
        cells, others = map(read, conflict.sides)
    except UnreadableError:
        raise UnreadableError(f"{merge}: {fix}") from None
    if len(cells) == len(others):
        differing = [number for number, pair in enumerate(zip(cells, others, strict=True)) if differs(*pair)]
        named = [f"cell {number + 1}" for number in differing]
        differ = f"{listed(named, _MOST_NAMED)} differ{'' if len(named) > 1 else 's'}" if named else "no code differs"
    else:
        # Only those before the first and after the last difference are known to be the same.
        least = min(len(cells), len(others))
        above = _same(zip(cells, others, strict=False), differs)
        below = min(_same(zip(cells[::-1], others[::-1], strict=False), differs), least - above)
        differing = [*range(above, len(cells) - below)]
        differ = f"{_between(above, below)} differ"
    for number in differing:
        cells[number] = {"cell_type": "code", "source": ""}
    return cells, f"{merge}, in which {differ}; the rest is graded: {fix}"


def _between(above: int, below: int) -> str:
    """Return in words the cells that differ, if so many of the first and of the last are the same."""
    first = f"the first {above if above > 1 else 'cell'}"
    last = f"the last {below if below > 1 else 'cell'}"
    if above and below:
        return f"the cells between {first} and {last}"
    if above:
        return f"the cells after {first}"
    return f"the cells before {last}" if below else "all cells"


def _same(pairs: Iterable[tuple[Any, Any]], differs: Callable[[Any, Any], bool]) -> int:
    """Return how many of the first cells are the same."""
    return sum(1 for _ in itertools.takewhile(lambda pair: not differs(*pair), pairs))
