"""The practice items of a unit as one HTML page that needs no network. Its script marks as `marking` does."""

from __future__ import annotations

import html
import json
from pathlib import Path
from string import Template
from typing import TYPE_CHECKING, Any

from markdown_it import MarkdownIt

from grader.files import write_where_named
from grader.quizzes.items import BugItem, ChoiceItem, NumberItem, OrderItem, ShapeItem, VariedItem
from grader.quizzes.marking import accepted_answer, explanation
from grader.quizzes.practice import find_practice
from grader.quizzes.questions import fill
from grader.quizzes.screen import what_to_type
from grader.quizzes.sheet import asked_for, heading

if TYPE_CHECKING:
    from grader.quizzes.items import Item
    from grader.quizzes.source import Quiz

_PARTS = Path(__file__).parent
# HTML in a text is shown, not obeyed.
_MARKDOWN = MarkdownIt("commonmark", {"html": False}).enable("table")


def write_page(unit: str, path: Path, folder: Path | None = None) -> None:
    """Write the page of a unit's practice items.

    Args:
        unit: The unit.
        path: The file to write.
        folder: The course's folder; by default the current one. The items are there or in its exercises/.

    Raises:
        GraderError: There are no items for this unit.
        CourseError: The items cannot be read.
        OSError: The file cannot be written.
    """
    write_where_named(path, page(find_practice(unit, folder)))


def page(practice: Quiz) -> str:
    """Return the page as one text, with its style, its script and every variant of the items."""
    items = [_item(name, item) for name, item in practice.items.items()]
    template = Template((_PARTS / "page.html").read_text(encoding="utf-8"))
    return template.substitute(
        title=html.escape(practice.title),
        style=(_PARTS / "page.css").read_text(encoding="utf-8"),
        script=(_PARTS / "page.js").read_text(encoding="utf-8"),
        # `</script>` in a text would end the data.
        items=json.dumps(items, ensure_ascii=False).replace("<", "\\u003c"),
    )


def _item(name: str, item: Item) -> dict[str, Any]:
    """Return what the script needs of an item; texts are HTML."""
    question = item.asked()
    rows = len(item.variants) if isinstance(item, VariedItem) and item.variants else 1
    return {
        "heading": heading(name),
        "kind": item.kind,
        "asked": asked_for(question),
        "hint": what_to_type(question),
        "letters": question.letters,
        "decimals": question.decimals,
        "code": question.code,
        "variants": [_variant(item, variant) for variant in range(rows)],
    }


def _variant(item: Item, variant: int) -> dict[str, Any]:
    """Return what a student reads in a variant, and what marks the answer to it."""
    question = item.asked()
    texts = {letter: _MARKDOWN.renderInline(text) for letter, text in question.options(variant).items()}
    return {
        "question": _MARKDOWN.render(question.text(variant)),
        "options": texts,
        "accepted": _MARKDOWN.renderInline(accepted_answer(item, variant).replace("\n", "  \n")),
        "explanation": _MARKDOWN.render(explanation(item, variant)),
        **_key(item, variant),
    }


def _key(item: Item, variant: int) -> dict[str, Any]:
    """Return the right answer, and the sentences on other answers: by letter, or as pairs with the slips' values."""
    row = item.row(variant)
    match item:
        case ChoiceItem():
            right = [letter for letter, choice in item.options().items() if choice.right]
            return {"right": right, "sentences": {at: _html(one.sentence, row) for at, one in item.options().items()}}
        case BugItem():
            lines = {letter: item.lines[number] for letter, number in item.options().items()}
            right = [letter for letter, line in lines.items() if line.right]
            return {"right": right, "sentences": {letter: _html(line.sentence, row) for letter, line in lines.items()}}
        case OrderItem():
            return {"right": item.answer.split()}
        case NumberItem() | ShapeItem():
            # Numbers are texts, which the script reads exactly.
            write = repr if isinstance(item, NumberItem) else list
            slips = [[write(row[column]), _html(sentence, row)] for column, sentence in item.slips.items()]
            return {"right": write(row["answer"]), "slips": slips}


def _html(text: str, row: dict[str, Any]) -> str:
    return str(_MARKDOWN.render(fill(text, row).strip()))
