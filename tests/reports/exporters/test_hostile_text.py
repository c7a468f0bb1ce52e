"""A report in which every text is an attack, through each exporter and a real parser of its output."""

from __future__ import annotations

import datetime
import io
import random
import re
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from xml.etree import ElementTree

import courses
import pytest
from browser import Sheet, a_browser
from bs4 import BeautifulSoup, Tag
from made_reports import commands_in, exercise, quiz, raised, report, strings_replaced, unit
from markdown_it import MarkdownIt
from rich.console import Console

from grader.classes.decisions import Decisions
from grader.cli import check_output, console
from grader.cli.instructor import class_table
from grader.course.model import load_course
from grader.reports.exporters.autograder_results import gradescope_results
from grader.reports.exporters.html import page as html_page
from grader.reports.exporters.job_summary import annotation_commands as annotations_of
from grader.reports.exporters.job_summary import opening, summary
from grader.reports.exporters.junit import junit
from grader.reports.report_model import Change, Message, Report

# What the grader itself writes, and no student can.
OURS = frozenset(
    {
        *("schema", "outcome", "kind", "suites", "feedback", "digest", "answers", "unit", "exercise", "student"),
        *("started", "commit"),
    }
)
ATTACKS = [
    "::set-output name=points::100",
    "word\n::error::forged\r\n::add-mask::a\n  ::stop-commands::x\n##[add-mask]b\nword",
    "<script>alert(1)</script><img src=x onerror=alert(1)><a href='https://a.example'>a</a><!-- ",
    "</details></summary></code></table></blockquote><h1>100 of 100</h1>",
    "[a](https://a.example) ![b](https://b.example/c.png) <https://c.example> [d]: https://d.example",
    "@ada @class/team ada@b.example #1 GH-1 https://a.example www.a.example",
    "```\n| a | b |\n|---|---|\n| c | d |\n\n# heading\n- item\n1. item\n> quote\n~~~",
    "` `` ``` a|b \\| \\` `",
    "$`\\href{https://a.example}{a}`$ $$x$$",
    "\x1b[31mred\x1b[0m \u202eevil\u2066 \x00 \u2028::error::a \x85::error::b",
    "name<<END\nforged=1\nEND\nrunners=forged",
    "a_www.a.example _GH-1 (www.a.example",
    "[bold]a[/] [/] \\[red]b [link=https://a.example]c[/link]",
]
_DRAW = random.Random(19)
ATTACKS += ["".join(_DRAW.choices([*" ".join(ATTACKS).split(" "), " ", "\n"], k=12)) for _ in range(20)]
WHOLE = report(
    {
        "sums": unit(
            {
                "total": exercise(1, 2, mistake="word", remarks=["word"]),
                "mean": exercise(0, 1, reason="word"),
                "mode": exercise(0, 1, waiting_for="word"),
            },
            remarks=["word"],
            quiz=quiz(2, 4, problem="word", remarks=["word"], sentences=["word"], answer="word", explanation="word"),
        ).model_copy(
            update={
                "changes": [
                    Change(kind="adjustment", points=-1.0, reason="word", exercise=None, by="word"),
                    Change(kind="comment", points=0, reason="word", exercise="total", by="word"),
                ]
            }
        ),
        "lost": unit({"gone": exercise(0, 1)}, path=None, remarks=["word"]),
    },
    [
        raised("total", "word", 3),
        raised(None, "word", 4),
        *(
            Message(unit="sums", exercise=None, kind=kind, text="word", file="word", line=5)
            for kind in ("printed", "attempted")
        ),
    ],
)


def with_text(text: str) -> Report:
    replaced = strings_replaced(WHOLE.model_dump(by_alias=True), text, kept=OURS)
    for name, made in replaced["units"].items():
        # Digests; the keys have texts elsewhere.
        made |= {digest: getattr(WHOLE.units[name], digest) for digest in ("tests", "key")}
    for message in replaced["messages"]:
        message["text"] = f"{text} {text}"  # as for an error: the reason of its test, and the text of the error
    return Report.model_validate(replaced)


def rendered(markdown: str) -> BeautifulSoup:
    page = MarkdownIt("commonmark", {"html": True}).enable(["table", "strikethrough"]).render(markdown)
    return BeautifulSoup(page, "html.parser")


def built_of(page: BeautifulSoup) -> list[tuple[str, dict[str, Any]]]:
    """Every element with its attributes, except code, which can only contain text."""
    return [(tag.name, tag.attrs) for tag in page.find_all(True) if isinstance(tag, Tag) and tag.name != "code"]


def strings_in(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict | list):
        for one in value.values() if isinstance(value, dict) else value:
            yield from strings_in(one)


@pytest.mark.parametrize("attack", ATTACKS)
def test_a_workflow_obeys_only_our_annotations(attack: str) -> None:
    made = annotations_of(with_text(attack))
    found, harmless = commands_in("\n".join(made)), commands_in("\n".join(annotations_of(with_text("word"))))
    assert len(made) == len(found)
    assert [(one.name, one.properties.keys()) for one in found] == [
        (one.name, one.properties.keys()) for one in harmless
    ]
    for one in found:
        assert all(commands_in(text) == [] for text in [one.data, *one.properties.values()])


@pytest.mark.parametrize("attack", ATTACKS)
@pytest.mark.parametrize("exporter", [summary, opening])
def test_a_page_has_the_same_structure_as_with_a_harmless_word(exporter: Any, attack: str) -> None:
    made = exporter(with_text(attack))
    assert built_of(rendered(made)) == built_of(rendered(exporter(with_text("word"))))
    assert commands_in(made) == []


@pytest.mark.parametrize("attack", ATTACKS)
@pytest.mark.parametrize("exporter", [summary, opening])
def test_a_page_has_nothing_that_github_turns_into_a_link(exporter: Any, attack: str) -> None:
    page = rendered(exporter(with_text(attack)))
    for element in page.find_all("code"):
        element.decompose()
    assert not re.search(r"@\w|://|#\d|(?<![^\W_])(?:www\.|GH-\d)", page.get_text())


@pytest.mark.parametrize("attack", ATTACKS)
def test_an_html_page_has_the_same_structure_and_what_the_course_wrote_has_no_links(attack: str) -> None:
    found, harmless = (BeautifulSoup(html_page(with_text(text)), "html.parser") for text in (attack, "word"))
    for page in (found, harmless):
        for item in page.select(".item"):  # Markdown of the course
            assert not item.find_all(["a", "img", "script", "style", "iframe", "svg", "h1"])
            assert {name for tag in item.find_all(True) for name in tag.attrs} <= {"class", "start", "display"}
            item.decompose()
    assert built_of(found) == built_of(harmless)


def test_a_browser_that_opens_a_page_of_attacks_runs_and_loads_nothing(tmp_path: Path) -> None:
    (tmp_path / "page.html").write_text(html_page(with_text("\n".join(ATTACKS))), encoding="utf-8")
    with a_browser() as browser:
        sheet = Sheet(browser, tmp_path / "page.html")
        sheet.unfold()
        assert sheet.page.evaluate("document.documentElement.scrollWidth <= innerWidth")
        assert sheet.events == []


def test_junit_xml_has_the_same_structure_as_with_a_harmless_word() -> None:
    harmless, *found = (junit(with_text(text)) for text in ("word", *ATTACKS))
    for made in found:
        assert [(tag.tag, tag.keys()) for tag in ElementTree.fromstring(made).iter()] == [
            (tag.tag, tag.keys()) for tag in ElementTree.fromstring(harmless).iter()
        ]
        assert commands_in(made) == []
        assert all(line.isprintable() for line in made.split("\n"))


@pytest.mark.parametrize("attack", ATTACKS)
def test_gradescope_gets_our_plain_lines(attack: str) -> None:
    made = gradescope_results(with_text(attack))
    harmless = gradescope_results(with_text("word"))
    for test, plain in zip(made["tests"], harmless["tests"], strict=True):
        assert test["output_format"] == "text"
        assert all(line.isprintable() for line in test["output"].split("\n"))
        assert len(test["output"].split("\n")) == len(plain["output"].split("\n"))
        assert test | {"output": ""} == plain | {"output": ""}
    assert made["score"] == harmless["score"]
    assert len(made["output"].split("\n")) == len(harmless["output"].split("\n"))


@pytest.mark.parametrize("attack", ATTACKS)
@pytest.mark.parametrize("exporter", [summary, opening, html_page, lambda report: "\n".join(annotations_of(report))])
def test_no_control_or_hidden_character_remains(exporter: Any, attack: str) -> None:
    assert all(line.isprintable() for line in exporter(with_text(attack)).split("\n"))


QUOTES = re.compile(r"((?<=^- ).* \(ada\) tried to |submissions of |`grader grade`\. ).*")


@pytest.fixture(scope="module")
def decisions(tmp_path_factory: pytest.TempPathFactory) -> Decisions:
    """A course with the units of the report, both over."""
    root = courses.make_small_course(tmp_path_factory.mktemp("course"))
    settings = (root / "autograder.yml").read_text(encoding="utf-8").partition("units:")[0]
    units = "".join(
        f"  {name}:\n    title: {name}\n    due: 2025-01-01T00:00:00Z\n    exercises: {{{exercise}: 1}}\n"
        for name, exercise in (("sums", "add"), ("lost", "find"))
    )
    (root / "autograder.yml").write_text(f"{settings}units:\n{units}", encoding="utf-8")
    (root / "solutions" / "lost.py").write_text("def find(a):\n    ...\n", encoding="utf-8")
    return Decisions(load_course(root))


@pytest.mark.parametrize("attack", ATTACKS)
def test_a_terminal_and_a_log_show_only_our_lines_of_a_class(
    monkeypatch: pytest.MonkeyPatch, decisions: Decisions, attack: str
) -> None:
    def shown(text: str) -> str:
        out = Console(file=io.StringIO(), width=70)
        monkeypatch.setattr(console, "out", out)
        now = datetime.datetime(2027, 1, 1, tzinfo=datetime.UTC)
        batch = SimpleNamespace(
            reports=[with_text(text)],
            missed={"bob"},
            reasons={"bob": f"Two submissions of {text} fit."},
            course=decisions.course,
            decisions=decisions,
            into=Path("out"),
            unit=None,
            now=now,
        )
        class_table.print_class(batch)  # type: ignore[arg-type]
        class_table.print_open_cases(batch)  # type: ignore[arg-type]
        return "\n".join(map(str.rstrip, out.file.getvalue().split("\n")))  # type: ignore[attr-defined]

    made = shown(attack)
    assert commands_in(made) == []
    assert all(line.isprintable() for line in made.split("\n"))
    # What it tried quotes the student's process, and names and files are the student's.
    ours = [QUOTES.sub("", line) for line in made.split("\n")[-8:]]
    assert ours == [QUOTES.sub("", line) for line in shown("word").split("\n")[-8:]]
    assert sum("(ada) tried to" in line for line in made.split("\n")) == 1


@pytest.mark.parametrize("attack", ATTACKS)
def test_a_check_in_a_workflow_prints_no_command(attack: str) -> None:
    console = Console(file=io.StringIO(), width=70, highlight=False)
    check_output.print_report(with_text(attack), {}, [], console)
    made = console.file.getvalue()  # type: ignore[attr-defined]
    assert commands_in(made) == []
    assert all(line.replace("\t", " ").isprintable() for line in made.split("\n"))
