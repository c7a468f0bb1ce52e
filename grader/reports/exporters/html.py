"""The report as one HTML page without scripts, which a browser shows from a disk, on paper and without a network."""

from __future__ import annotations

import base64
from functools import cache
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, NamedTuple

from markupsafe import Markup

from grader.quizzes.sheet import heading
from grader.reports import changes, reading
from grader.reports.exporters import course_text, summary
from grader.reports.exporters.templates import environment, style
from grader.text import who

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from grader.reports.model import Report

MOST_BYTES = 1_000_000
# The most characters of a text from the student; the first of these that makes the page small enough is taken.
_MOST_OF_A_TEXT = (20_000, 4000, 400, 100)
_FOLDER = Path(__file__).parent
STYLE = _FOLDER / "page.css"


class Picture(NamedTuple):
    """A drawing of an exercise: SVG, and a sentence in it that says what it shows.

    A page shows it as an image, so that a browser runs and loads nothing that the SVG names.
    """

    svg: str
    caption: str

    @property
    def address(self) -> str:
        """The SVG as the address of an image."""
        return f"data:image/svg+xml;base64,{base64.b64encode(self.svg.encode()).decode()}"


class Finding(NamedTuple):
    """What is wrong, where if not at the exercise's place, the lines that led to it, and what was expected instead."""

    text: str
    is_course_text: bool
    place: str
    trace: list[str]
    expected: list[str]


class Record(NamedTuple):
    """What stands above a report of record: a title, a table of what was graded, and notes."""

    title: str
    columns: Sequence[str]
    rows: Sequence[Sequence[str]]
    notes: Sequence[str]


NO_PICTURES: Mapping[str, Picture] = MappingProxyType({})


def page(report: Report, pictures: Mapping[str, Picture] = NO_PICTURES, record: Record | None = None) -> str:
    """Return the page: the points and what to look at next, then each unit with its exercises and its quiz.

    The same arguments give the same page. It has less than MOST_BYTES bytes, unless there are large pictures: long
    texts from the student's code are cut.

    Args:
        report: The report.
        pictures: Drawings by the name of their exercise.
        record: What was graded, for a report of record.
    """
    found = list(reading.entries(report))
    made = ""
    for most in _MOST_OF_A_TEXT:
        made = _template().render(
            report=report,
            entries=found,
            next=summary.next_entry(found),
            pictures=pictures,
            record=record,
            style=style(STYLE),
            who=who(report.student, report.name),
            output=lambda unit, exercise: _output(report, unit, exercise),
            most=most,
        )
        if len(made.encode()) < MOST_BYTES:
            break
    return made


def _output(report: Report, unit: str, exercise: str | None) -> str:
    """Return what the student's code printed in an exercise, or outside of all; "" for nothing."""
    where = (unit, exercise, "printed")
    return "\n".join(one.text.strip("\n") for one in report.messages if (one.unit, one.exercise, one.kind) == where)


def _findings(entry: reading.Entry) -> list[Finding]:
    """Return the feedback on an exercise, each with the lines that belong to it; the main issue comes first."""
    found: list[Finding] = []
    for line in entry.feedback():
        if not line.is_nested:
            place = reading.place_of(line.source, entry.unit) if line.source else entry.place
            where = "" if place == entry.place else place.words()
            found.append(Finding(line.text, line.is_course_text, where, [], []))
        else:
            (found[-1].expected if line.is_course_text else found[-1].trace).append(line.text)
    _say_once([finding.expected for finding in found])
    return found


def _say_once(expected: list[list[str]]) -> None:
    """Keep each sentence once: as the first of a list, which is shown openly, or else among those that are folded."""
    said: set[str] = set()
    for sentences in expected:
        if said.issuperset(sentences[:1]):
            del sentences[:1]
        said.update(sentences[:1])
    for sentences in expected:
        sentences[1:] = [one for one in dict.fromkeys(sentences[1:]) if one not in said]
        said.update(sentences)


@cache
def _template() -> Any:
    templates = environment(_FOLDER)
    templates.filters |= {
        "breakable": lambda name: Markup("_<wbr>").join(name.split("_")),
        "code": course_text.inline,
        "course_markdown": course_text.blocks,
        "heading": heading,
        "points": reading.points,
    }
    templates.globals |= {
        "graded_at": lambda report: changes.in_zone(report.started, report.timezone),
        "changes": changes,
        "reading": reading,
        "marks": summary.MARKS,
        "awaited": summary.awaited,
        "state_of": summary.state_of,
        "findings": _findings,
    }
    return templates.get_template("page.html.j2")
