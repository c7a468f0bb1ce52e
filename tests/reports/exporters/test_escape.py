"""Text from others is escaped."""

from __future__ import annotations

import pytest
from made_reports import commands_in
from markdown_it import MarkdownIt

from grader.reports.exporters.job_summary import code, command, markdown, sentence

AS_GITHUB = MarkdownIt("commonmark", {"html": True}).enable(["table", "strikethrough"])


@pytest.mark.parametrize(
    "text",
    [
        "# a heading", "- an item", "+ an item", "1. an item", "2) an item", "=====", "---", "    code", "> quoted",
        "*stars* and __lines__ and ~~no~~ and __init__", "`code` and ``more", "[a](https://a.example) ![b](c) [d]: e",
        "<script>alert(1)</script> <!-- no --> &lt; &#60;", "a \\* b \\", "a | b", "$x$ and $`x`$", "W_query a_b_c _x",
        "<https://a.example> <a@b.example>",
    ],
)  # fmt: skip
def test_markdown_shows_the_text_and_nothing_else(text: str) -> None:
    (paragraph, inline, _) = AS_GITHUB.parse(markdown(text))
    assert (paragraph.type, inline.type) == ("paragraph_open", "inline")
    assert {child.type for child in inline.children or []} <= {"text", "text_special"}
    shown = "".join(child.content for child in inline.children or [])
    assert shown.replace("\u200b", "") == text.strip()


def test_markdown_has_no_mentions_and_no_links() -> None:
    text = "@ada a@b.example #12 GH-12 https://a.example www.a.example"
    assert markdown(text).replace("&#58;", ":") == (
        "@&#8203;ada a@&#8203;b.example #&#8203;12 GH-&#8203;12 https:&#8203;//a.example www&#8203;.a.example"
    )


def test_a_product_of_matrices_is_unchanged() -> None:
    assert markdown("queries @ keys") == "queries @ keys"


def test_the_code_in_a_sentence_of_the_course_stays_code() -> None:
    shown = AS_GITHUB.renderInline(sentence("`/` and `*` bind alike: <b> * `d_k**0.5`."))
    assert shown == "<code>/</code> and <code>*</code> bind alike: &lt;b&gt; * <code>d_k**0.5</code>."


@pytest.mark.parametrize("text", ["a`b", "`", "``a```", "<b> *c* | @ada", " padded ", ""])
def test_code_shows_the_text_and_nothing_else(text: str) -> None:
    shown = AS_GITHUB.parseInline(code(text))[0].children or []
    assert [(child.type, child.content.strip()) for child in shown] == [("code_inline", text.strip())]


def test_a_command_is_parsed_as_intended() -> None:
    made = command("error", "100% of\n it", file="a,b:c%2C.py", line=3, title=None)
    (found,) = commands_in(made)
    assert found == ("error", {"file": "a,b:c%2C.py", "line": "3"}, "100% of\nit")
