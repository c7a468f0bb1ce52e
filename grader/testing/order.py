"""Whether a wrong result of a call is what another one should be: the results are in another order."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import torch

from grader.testing.relations import ABSOLUTE, RELATIVE

if TYPE_CHECKING:
    from collections.abc import Sequence

# How a sentence on it ends, also that of a check which sees it by the shapes.
ANOTHER_ORDER = re.compile(
    r"; (?:your \w+ result is what the \w+ should be|yours returns them in the reverse order)\.$"
)
ORDINALS = ("first", "second", "third", "fourth")
# The results of the last call that gave several, and what is said if they are in another order.
_results: list[Any] = []
_sentence = ""


def keep_results(results: Sequence[Any], sentence: str = "The order of the results is wrong") -> None:
    """Keep the results of a call, and how a sentence on their order begins."""
    global _sentence
    _results[:] = results
    _sentence = sentence


def misplaced(value: Any, expected: torch.Tensor, within: float = ABSOLUTE) -> str:
    """Return a sentence if this is one of the results that were kept, and another one is what is expected, or ""."""
    mine = next((place for place, one in enumerate(_results) if one is value), None)
    if mine is None:
        return ""
    places = (place for place, one in enumerate(_results) if place != mine and _is_close(one, expected, within))
    found = next(places, None)
    return (
        "" if found is None else f"{_sentence}; your {ORDINALS[found]} result is what the {ORDINALS[mine]} should be."
    )


def _is_close(value: Any, expected: torch.Tensor, within: float) -> bool:
    if isinstance(value, float):
        value = torch.tensor(value)
    is_alike = isinstance(value, torch.Tensor) and value.shape == expected.shape
    return is_alike and torch.allclose(value.double(), expected.double(), RELATIVE, within)
