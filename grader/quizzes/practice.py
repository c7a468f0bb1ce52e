"""The practice items as students receive them, in exercises/practice.json: with their answers, which nobody grades."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from pydantic import TypeAdapter, ValidationError

from grader.documents import CourseError, nearest
from grader.errors import GraderError
from grader.quizzes.items import Item
from grader.quizzes.questions import find_received
from grader.quizzes.source import Quiz

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

FILENAME = "practice.json"
SCHEMA = "attention-from-scratch/practice/v1"

_ITEMS: TypeAdapter[dict[str, Item]] = TypeAdapter(dict[str, Item])


def to_json(practice: Iterable[Quiz]) -> str:
    """Return the text of exercises/practice.json."""
    units = [
        {"unit": of.unit, "title": of.title, "items": _ITEMS.dump_python(of.items, mode="json", exclude_defaults=True)}
        for of in practice
    ]
    return json.dumps({"schema": SCHEMA, "units": units}, indent=1, ensure_ascii=False) + "\n"


def read_practice(path: Path) -> dict[str, Quiz]:
    """Read the practice items of an exercises/practice.json, by unit. Raises CourseError if it cannot be read."""
    fix = "take it again from the course's repository."
    try:
        data = json.loads(path.read_bytes())
        if data["schema"] != SCHEMA:
            raise CourseError(f"{path} belongs to another version of the grader: {fix}")
        # As JSON, because the keys of a mapping are text there, also where they are the numbers of lines.
        found = [Quiz(of["unit"], of["title"], _ITEMS.validate_json(json.dumps(of["items"]))) for of in data["units"]]
    except OSError as error:
        raise CourseError(f"{path} cannot be read ({error.strerror}): {fix}") from None
    except (ValueError, LookupError, TypeError, RecursionError, ValidationError):
        raise CourseError(f"{path} is damaged: {fix}") from None
    return {of.unit: of for of in found}


def find_practice(unit: str, folder: Path | None = None) -> Quiz:
    """Return the practice items of a unit, from `folder`, by default the current one, or from its exercises/.

    Raises:
        GraderError: There are none.
        CourseError: They cannot be read.
    """
    source = find_received(FILENAME, folder)
    practice = read_practice(source)
    if unit not in practice:
        raise GraderError(
            f"There is nothing to practise for {unit!r}; {source} has {', '.join(practice)}.{nearest(unit, practice)}"
        )
    return practice[unit]
