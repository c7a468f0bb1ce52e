"""Reads the source of a quiz, solutions/<unit>_quiz.yml, and of practice items, solutions/<unit>_practice.yml.

They are the only place where questions and answers are written.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Annotated, Any

from pydantic import BaseModel, Field

from grader.documents import CourseError, Document, Location, Model
from grader.quizzes.item_checks import problems
from grader.quizzes.items import KINDS, Item, Text
from grader.quizzes.questions import PRACTICE_SUFFIX, QUIZ_SUFFIX, Kind, Questions
from grader.quizzes.sheet import write_sheet
from grader.quizzes.sheet_reader import read_sheet

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

_ITEM_NAME = re.compile(r"[a-z][a-z0-9]*(_[a-z0-9]+)*")


@dataclass(frozen=True)
class Quiz:
    """A unit's quiz, or its practice items, with the answers.

    Attributes:
        unit: The unit.
        title: The title.
        items: The items by name.
        places: The file and line of each item in the source; none if it was read from another file.
    """

    unit: str
    title: str
    items: dict[str, Item]
    places: dict[str, str] = field(default_factory=dict, compare=False)

    @cached_property
    def questions(self) -> Questions:
        """What students may know of it."""
        return Questions(
            unit=self.unit,
            title=self.title,
            items={name: item.asked() for name, item in self.items.items()},
        )

    @cached_property
    def text(self) -> str:
        """All of it as JSON, answers included, for the digest of what the points depend on."""
        return json.dumps([self.title, {name: item.model_dump() for name, item in self.items.items()}])


class _Source(Model):
    title: Text
    items: Annotated[dict[str, Any], Field(min_length=1)]


class _OfSomeKind(BaseModel):
    kind: Kind


def load_quiz(path: Path) -> Quiz:
    """Read the source of a quiz or of practice items.

    Raises:
        CourseError: Every problem found, each with its place and its fix.
    """
    name = f"{path.parent.name}/{path.name}"
    try:
        document = Document(path, name, _Source)
    except FileNotFoundError:
        raise CourseError(f"{name} is missing: write the quiz there.") from None
    source = document.validate(_Source)
    items: dict[str, Item] = {}
    found = document.data.get("items")
    for item_name in found if isinstance(found, dict) else ():
        if not isinstance(item_name, str):
            continue  # reported already
        if not _ITEM_NAME.fullmatch(item_name):
            document.report_key(
                ("items", item_name),
                f"{item_name!r} cannot be a heading: name the item in small letters, with _ between words.",
            )
        elif item := _load_item(document, ("items", item_name)):
            items[item_name] = item
    document.require_sound()
    assert source
    unit = path.name.removesuffix(QUIZ_SUFFIX).removesuffix(PRACTICE_SUFFIX)
    places = {item: f"{name}:{document.line_of(('items', item))}" for item in items}
    quiz = Quiz(unit, source.title, items, places)
    _check_sheet(document, quiz)
    document.require_sound()
    return quiz


def load_quizzes(solutions: Path, units: Iterable[str]) -> dict[str, Quiz]:
    """Read the quizzes of some units. Raises CourseError with the problems of all of them."""
    return _load_all(solutions / f"{unit}{QUIZ_SUFFIX}" for unit in units)


def load_practice(solutions: Path, units: Iterable[str], quizzes: Iterable[Quiz]) -> dict[str, Quiz]:
    """Read the practice items of the units that have some.

    Args:
        solutions: The folder of the sources.
        units: The units.
        quizzes: The graded quizzes of the course.

    Raises:
        CourseError: The problems of all sources. An item that is graded too, by its name or by its question, is one.
    """
    sources = (solutions / f"{unit}{PRACTICE_SUFFIX}" for unit in units)
    practice = _load_all(source for source in sources if source.is_file())
    graded: dict[str, str] = {}
    for quiz in quizzes:
        for name, item in quiz.items.items():
            graded |= {name: quiz.places[name], _normalised(item.question): quiz.places[name]}
    found = [
        f"{items.places[name]}: {what} of {name!r} is also in {graded[key]}, where it is graded: an item is for "
        "practice or graded, never both. Change one of them."
        for items in practice.values()
        for name, item in items.items.items()
        for what, key in (("the name", name), ("the question", _normalised(item.question)))
        if key in graded
    ]
    if found:
        raise CourseError("\n".join(found))
    return practice


def _load_all(sources: Iterable[Path]) -> dict[str, Quiz]:
    """Read several sources, by unit. Raises CourseError with the problems of all of them."""
    quizzes, found = [], []
    for source in sources:
        try:
            quizzes.append(load_quiz(source))
        except CourseError as error:
            found.append(str(error))
    if found:
        raise CourseError("\n".join(found))
    return {quiz.unit: quiz for quiz in quizzes}


def _normalised(question: str) -> str:
    """Return the words and numbers of a question, so that other case, spaces, marks and parameters do not differ."""
    return " ".join(re.findall(r"\w+", re.sub(r"\[\[\w+\]\]", " ", question).casefold())) + "?"


def _load_item(document: Document, at: Location) -> Item | None:
    kind = document.validate(_OfSomeKind, at)
    if kind is None:
        return None
    item = document.validate(KINDS[kind.kind], at)
    if item is None:
        return None
    found = list(problems(item))
    for location, sentence in found:
        document.report((*at, *location), sentence)
    return None if found else item


def _check_sheet(document: Document, quiz: Quiz) -> None:
    """Report each question whose text would be read as an answer, or as another item."""
    sheet = read_sheet(write_sheet(quiz.questions, None, {}), quiz.questions)
    for name in quiz.items:
        if name in sheet.problems or name in sheet.answers:
            document.report(
                ("items", name, "question"),
                "its Markdown cannot be distinguished from the sheet's own: write no lines like `## 1. …`, "
                "`- [ ] a)` or `Answer:`, and close every code block.",
            )
