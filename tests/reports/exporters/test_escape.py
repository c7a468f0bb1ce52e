"""The functions that escape text from others."""

from __future__ import annotations

import random

from made_reports import ATTACKS, LINK
from markdown_it import MarkdownIt
from workflow_commands import Command, commands

from grader.reports.exporters.job_summary import code, command, markdown, sentence
from grader.text import plain

AS_GITHUB = MarkdownIt("commonmark", {"html": True}).enable(["table", "strikethrough"])
TEXTS = [
    *ATTACKS, "# a heading", "- an item", "+ an item", "1. an item", "2) an item", "=====", "---", "    code",
    "> quoted", "*stars* and __lines__ and ~~no~~ and __init__", "`code` and ``more", "[a](https://a.example) ![b](c)",
    "<script>alert(1)</script> <!-- no --> &lt; &#60;", "a \\* b \\", "a | b", "$x$ and $`x`$", "W_query a_b_c _x",
    "<https://a.example> <a@b.example>", "a`b", "`", "``a```", "<b> *c* | @ada", " padded ", "",
]  # fmt: skip
DRAW = random.Random(19)
TEXTS += ["".join(DRAW.choices([*" ".join(ATTACKS).split(" "), " ", "\n"], k=12)) for _ in range(200)]


def shown(markdown: str) -> list[tuple[str, str]]:
    """What Markdown shows in a paragraph: text, code or an element, and its content."""
    found: list[tuple[str, str]] = []
    for block in AS_GITHUB.parse(markdown):
        if block.type == "inline":
            found += [(one.type.replace("text_special", "text"), one.content) for one in block.children or []]
        elif not block.type.startswith("paragraph"):
            found.append((block.type, block.content))
    return found


def test_escaped_text_is_shown_and_is_nothing_else() -> None:
    obeyed = []
    for text in TEXTS:
        line = plain(text)
        as_text, as_code = shown(markdown(text)), shown(code(text))
        words = "".join(content for kind, content in as_text if kind == "text")
        (found,) = commands(command("error", text, title=text or None).splitlines())
        if (
            words.replace("\u200b", "") != line
            or LINK.search(words)
            or {kind for kind, _ in [*as_text, *shown(sentence(text))]} - {"text", "code_inline"}
            or [(kind, content.strip()) for kind, content in as_code] != [("code_inline", line)]
            or (found.name, commands(found.data.splitlines())) != ("error", [])
        ):
            obeyed.append(text)
    assert obeyed == []


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


def test_a_command_is_parsed_as_intended() -> None:
    made = command("error", "100% of\n it", file="a,b:c%2C.py", line=3, title=None)
    (found,) = commands(made.splitlines())
    assert found == Command("error", {"file": "a,b:c%2C.py", "line": "3"}, "100% of\nit")
