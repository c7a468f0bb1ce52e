"""Texts of the course as HTML."""

from __future__ import annotations

import pytest

from grader.reports.exporters.html import blocks, inline


def test_in_a_sentence_only_code_is_markup() -> None:
    assert inline("2*3*4 and `a*b*c` of <b>") == "2*3*4 and <code>a*b*c</code> of &lt;b&gt;"


def test_a_text_has_paragraphs_lists_code_and_emphasis_but_no_links_headings_or_html() -> None:
    made = blocks("# One *two*\n\n- `three`\n\n[a](https://a.example) ![b](c.png) <https://d.example> <i>e</i>")
    assert "<em>two</em>" in made
    assert "<li><code>three</code></li>" in made
    assert not any(f"<{tag}" in made for tag in ("h1", "a", "img", "i"))


def test_a_formula_becomes_mathml() -> None:
    assert "<mfrac><mrow><mn>1</mn></mrow><mrow><mn>2</mn></mrow></mfrac>" in blocks("It is $\\frac{1}{2}$.")
    assert '<math display="block">' in blocks("$$\\sqrt{d}$$")


@pytest.mark.parametrize("text", ["$5 or $6", "`$x$`", "\\$x$"])
def test_a_dollar_is_not_always_a_formula(text: str) -> None:
    assert "<math" not in blocks(text)


@pytest.mark.parametrize("latex", ["\\frac", "{" * 400, "x" * 1000, "\\left("])
def test_a_formula_that_cannot_be_read_is_shown_as_it_was_written(latex: str) -> None:
    assert f"<code>{latex}</code>" in blocks(f"${latex}$")


@pytest.mark.parametrize(
    "latex",
    [
        "\\text{<script>alert(1)</script>}",
        "\\href{javascript:alert(1)}{a}",
        "\\style{background:url(https://a.example)}{a}",
        "\\class{skip}{a}",
        "\\text{&lt;img src=x onerror=alert(1)&gt;}",
    ],
)
def test_a_formula_has_no_html_links_or_styles(latex: str) -> None:
    made = blocks(f"${latex}$")
    assert "<math" in made or "<code" in made
    assert not any(part in made for part in ("<script", "<img", "href=", "style=", 'class="skip'))
