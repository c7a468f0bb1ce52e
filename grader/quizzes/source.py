"""Reads a quiz's source, solutions/<unit>_quiz.yml: the only place where its questions and answers are written."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Annotated, Any

from pydantic import BaseModel, Field

from grader.documents import CourseError, Document, Location, Model
from grader.quizzes.item_checks import problems
from grader.quizzes.items import KINDS, Item, Text
from grader.quizzes.questions import QUIZ_SUFFIX, Kind, Questions
from grader.quizzes.sheet import write_sheet
from grader.quizzes.sheet_reader import read_sheet

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

_ITEM_NAME = re.compile(r"[a-z][a-z0-9]*(_[a-z0-9]+)*")


@dataclass(frozen=True)
class Quiz:
    """A unit's quiz with its answers."""

    unit: str
    title: str
    items: dict[str, Item]

    @cached_property
    def questions(self) -> Questions:
        """What students may know of it."""
        return Questions(
            unit=self.unit,
            title=self.title,
            items={name: item.asked() for name, item in self.items.items()},
        )

    def to_json(self) -> str:
        """Return all of it, answers included, for the digest of what the points depend on."""
        return json.dumps([self.title, {name: item.model_dump() for name, item in self.items.items()}])


class _Source(Model):
    title: Text
    items: Annotated[dict[str, Any], Field(min_length=1)]


class _OfSomeKind(BaseModel):
    kind: Kind


def load_quiz(path: Path) -> Quiz:
    """Read a quiz's source. Raises CourseError with every problem found, each with its place and its fix."""
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
    quiz = Quiz(path.name.removesuffix(QUIZ_SUFFIX), source.title, items)
    _check_sheet(document, quiz)
    document.require_sound()
    return quiz


def load_quizzes(solutions: Path, units: Iterable[str]) -> dict[str, Quiz]:
    """Read the quizzes of some units. Raises CourseError with the problems of all of them."""
    quizzes, found = {}, []
    for unit in units:
        try:
            quizzes[unit] = load_quiz(solutions / f"{unit}{QUIZ_SUFFIX}")
        except CourseError as error:
            found.append(str(error))
    if found:
        raise CourseError("\n".join(found))
    return quizzes


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
