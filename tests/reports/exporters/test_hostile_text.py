"""A report in which every text is an attack, through each exporter and a real parser of its output."""

from __future__ import annotations

import datetime
import io
import re
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any, get_args
from xml.etree import ElementTree

import pytest
from bs4 import BeautifulSoup
from made_reports import ATTACKS, LINK, made_course, with_text
from markdown_it import MarkdownIt
from rich.console import Console
from workflow_commands import commands

from grader.classes.decisions import Decisions
from grader.cli import check_output, console
from grader.cli.export import Reader
from grader.cli.instructor import class_table
from grader.reports.exporters.autograder_results import gradescope_results
from grader.reports.exporters.html import page as html_page
from grader.reports.exporters.job_summary import annotation_commands, opening, summary
from grader.reports.exporters.junit import junit
from grader.reports.report_model import Report

# What a student tried is quoted from the student's process, and names and files are the student's.
QUOTES = re.compile(r"((?<=^- ).* \(ada\) tried to |submissions of |`grader grade`\. ).*")

Exported = tuple[str, Any]
"""What an exporter writes, and its structure, which no text of a student may change."""


def elements(page: BeautifulSoup) -> list[Any]:
    """Every element with its attributes, except code, which can only contain text."""
    return [(tag.name, tag.attrs) for tag in page.find_all(True) if tag.name != "code"]


def as_annotations(made: Report) -> Exported:
    lines = annotation_commands(made)
    found = commands("\n".join(lines).splitlines())
    inside = [commands(text.splitlines()) for one in found for text in [one.data, *one.properties.values()]]
    return "\n".join(lines).replace("::", ":"), [
        len(lines),
        inside,
        [(one.name, list(one.properties)) for one in found],
    ]


def as_markdown(exporter: Callable[[Report], str]) -> Callable[[Report], Exported]:
    def exported(made: Report) -> Exported:
        markdown = exporter(made)
        html = MarkdownIt("commonmark", {"html": True}).enable(["table", "strikethrough"]).render(markdown)
        page = BeautifulSoup(html, "html.parser")
        structure = elements(page)
        for code in page.find_all("code"):
            code.decompose()
        return markdown, [structure, LINK.findall(page.get_text())]

    return exported


def as_html(made: Report) -> Exported:
    text = html_page(made)
    page = BeautifulSoup(text, "html.parser")
    for item in page.select(".item"):  # Markdown of the course
        assert not item.find_all(["a", "img", "script", "style", "iframe", "svg", "h1"])
        assert {name for tag in item.find_all(True) for name in tag.attrs} <= {"class", "start", "display"}
        item.decompose()
    return re.sub("::|##", "", text), elements(page)  # no workflow prints it


def as_junit(made: Report) -> Exported:
    text = junit(made)
    return text, [(tag.tag, tag.keys()) for tag in ElementTree.fromstring(text).iter()]


def as_gradescope(made: Report) -> Exported:
    found = gradescope_results(made)
    texts = [found["output"], *(test.pop("output") for test in found["tests"])]
    return "\n".join(texts).replace("::", ":"), [found["score"], found["tests"], [text.count("\n") for text in texts]]


def as_check(made: Report) -> Exported:
    terminal = Console(file=io.StringIO(), width=70, highlight=False)
    check_output.print_report(made, {}, [], terminal)
    return terminal.file.getvalue().replace("\t", " "), None  # type: ignore[attr-defined]


@pytest.fixture
def as_class(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Callable[[Report], Exported]:
    """What is printed of a class."""
    course = made_course(tmp_path, {"sums": {"add": 1}, "lost": {"find": 1}})
    batch = SimpleNamespace(
        missed={"bob"}, course=course, decisions=Decisions(course), into=Path("out"), unit=None,
        now=datetime.datetime(2027, 1, 1, tzinfo=datetime.UTC),
    )  # fmt: skip

    def exported(made: Report) -> Exported:
        monkeypatch.setattr(console, "out", Console(file=io.StringIO(), width=70))
        batch.reports, batch.reasons = [made], {"bob": f"Two submissions of {made.name} fit."}
        class_table.print_class(batch)  # type: ignore[arg-type]
        class_table.print_open_cases(batch)  # type: ignore[arg-type]
        text = console.out.file.getvalue()  # type: ignore[attr-defined]
        ours = [QUOTES.sub("", line.rstrip()) for line in text.split("\n")[-8:]]
        return text, [ours, text.count("(ada) tried to")]

    return exported


def test_no_text_is_anything_but_text_to_a_reader_of_an_export(as_class: Callable[[Report], Exported]) -> None:
    exporters = {
        "annotations": as_annotations, "summary": as_markdown(summary), "classroom50": as_markdown(opening),
        "html": as_html, "junit": as_junit, "gradescope": as_gradescope, "check": as_check, "class": as_class,
    }  # fmt: skip
    assert set(get_args(Reader)) <= exporters.keys()
    harmless = {name: exported(with_text("word"))[1] for name, exported in exporters.items()}
    obeyed = []
    for attack in ATTACKS:
        made = with_text(attack)
        for name, exported in exporters.items():
            text, structure = exported(made)
            is_plain = all(line.isprintable() for line in text.split("\n")) and commands(text.splitlines()) == []
            if structure != harmless[name] or not is_plain:
                obeyed.append((name, attack))
    assert obeyed == []
