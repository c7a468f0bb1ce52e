"""The report as one HTML page without scripts, which a browser shows from a disk, on paper and without a network.

Other pages use the same parts: templates that escape text, a style that a policy allows, and the course's text.
"""

from __future__ import annotations

import base64
import hashlib
import html
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple
from xml.etree import ElementTree

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markdown_it import MarkdownIt
from markupsafe import Markup
from mdit_py_plugins.dollarmath import dollarmath_plugin

from grader.quizzes.sheet import heading
from grader.reports import reading
from grader.reports.exporters import job_summary
from grader.reports.report_model import Report
from grader.text import printable, who

LONGEST_FORMULA = 500
# Links, classes and styles are not among them.
_ATTRIBUTES = {"display", "stretchy", "mathvariant", "linethickness", "columnalign", "width", "accent", "fence"}

MOST_BYTES = 1_000_000
# The most characters of a text from the student; the first of these that makes the page small enough is taken.
_MOST_OF_A_TEXT = (20_000, 4000, 400, 100)
_FOLDER = Path(__file__).parent
STYLE = _FOLDER / "page.css"


def inline(text: str) -> Markup:
    """Return a sentence as HTML: `code` in it is code, and all else is text, because a star may be a product."""
    return Markup(_sentences().renderInline(printable(text)))


def blocks(text: str) -> Markup:
    """Return Markdown as HTML: paragraphs, lists, code, emphasis and formulas, but no links, pictures or headings."""
    return Markup(_texts().render(printable(text)))


def formula(latex: str, options: Mapping[str, Any]) -> str:
    """Return a formula as MathML; if it is not understood or is too long, as code.

    Args:
        latex: The formula, without its dollar signs.
        options: `display_mode` says whether it has a line of its own.
    """
    from latex2mathml.converter import convert_to_element

    if len(latex) > LONGEST_FORMULA:
        return _as_code(latex)
    try:
        made = convert_to_element(latex, display="block" if options["display_mode"] else "inline")
    except Exception:  # noqa: BLE001 -- it has no base exception, and a text must stay readable
        return _as_code(latex)
    # The library leaves "<" in a text as it is, and it lets a formula have links and styles.
    for element in made.iter():
        element.text = html.unescape(element.text) if element.text else None
        element.attrib = {name: value for name, value in element.attrib.items() if name in _ATTRIBUTES}
    return ElementTree.tostring(made, encoding="unicode")


def _as_code(text: str) -> str:
    return f"<code>{html.escape(text)}</code>"


@cache
def _sentences() -> MarkdownIt:
    return MarkdownIt("zero").enable("backticks")


@cache
def _texts() -> MarkdownIt:
    allowed = ["backticks", "emphasis", "escape", "list", "fence", "newline"]
    return (
        MarkdownIt("zero")
        .enable(allowed)
        .use(dollarmath_plugin, allow_digits=False, allow_labels=False, renderer=formula)
    )


class Style(NamedTuple):
    """The text of a style sheet, and its digest, by which the page's policy allows it and no other."""

    text: Markup
    digest: str


def style(*paths: Path) -> Style:
    """Return the style of a page: these files, one after the other."""
    text = "".join(path.read_text(encoding="utf-8") for path in paths)
    return Style(Markup(text), base64.b64encode(hashlib.sha256(text.encode()).digest()).decode())


def environment(folder: Path) -> Environment:
    """Return an environment for the templates of a folder."""
    return Environment(
        loader=FileSystemLoader(folder),
        autoescape=True,
        finalize=_visible,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )


def _visible(value: Any) -> Any:
    """Make the text of an expression printable; what is HTML already was made so before."""
    return printable(value) if isinstance(value, str) and not isinstance(value, Markup) else value


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


class Record(NamedTuple):
    """What stands above a report of record: a title, a table of what was graded, and notes."""

    title: str
    columns: Sequence[str]
    rows: Sequence[Sequence[str]]
    notes: Sequence[str]


def page(report: Report, pictures: Mapping[str, Picture] | None = None, record: Record | None = None) -> str:
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
            next=job_summary.next_entry(found),
            pictures=pictures or {},
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


def _findings(entry: reading.ExerciseEntry) -> list[reading.Finding]:
    """Return the feedback on an exercise, which says each sentence once; the main issue comes first."""
    found = list(entry.feedback())
    expected = [list(finding.expected) for finding in found]
    _say_once(expected)
    return [finding._replace(expected=sentences) for finding, sentences in zip(found, expected, strict=True)]


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
        "code": inline,
        "course_markdown": blocks,
        "heading": heading,
        "points": reading.points,
    }
    templates.globals |= {
        "graded_at": lambda report: reading.in_zone(report.started, report.timezone),
        "changes": reading,
        "reading": reading,
        "marks": job_summary.MARKS,
        "awaited": job_summary.awaited,
        "state_of": job_summary.state_of,
        "findings": _findings,
    }
    return templates.get_template("page.html.j2")
