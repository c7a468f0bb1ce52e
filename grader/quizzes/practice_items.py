"""The practice items as students receive them, in practice.json with their answers, which nobody grades.

They are asked in the terminal, or on a page that needs no network; its script marks as `items.mark` does.
"""

from __future__ import annotations

import html
import json
import random
from collections import deque
from collections.abc import Iterable
from pathlib import Path
from string import Template
from typing import Any

from markdown_it import MarkdownIt
from pydantic import TypeAdapter
from rich.console import Console

from grader.documents import nearest
from grader.errors import GraderError
from grader.files import json_lines
from grader.quizzes.answers import AnswerError
from grader.quizzes.items import (
    BugItem,
    ChoiceItem,
    Item,
    NumberItem,
    OrderItem,
    ShapeItem,
    VariedItem,
    accepted_answer,
    explanation,
    mark,
    right_letters,
    too_short,
)
from grader.quizzes.questions import fill, reading
from grader.quizzes.quiz_source import QuizSource
from grader.quizzes.quiz_terminal import PROBLEM, Screen, as_written, what_to_type
from grader.quizzes.sheet import asked_for, counted, heading

FILENAME = "practice.json"
SCHEMA = "attention-from-scratch/practice/v1"

_ITEMS: TypeAdapter[dict[str, Item]] = TypeAdapter(dict[str, Item])

AGAIN = "again"
_PARTS = Path(__file__).parent
# HTML in a text is shown, not obeyed.
_MARKDOWN = MarkdownIt("commonmark", {"html": False}).enable("table")


def to_json(practice: Iterable[QuizSource]) -> str:
    """Return the text of practice.json."""
    units = [
        {"unit": of.unit, "title": of.title, "items": _ITEMS.dump_python(of.items, mode="json", exclude_defaults=True)}
        for of in practice
    ]
    return json_lines({"schema": SCHEMA, "units": units}, depth=4) + "\n"


def read_practice(path: Path) -> dict[str, QuizSource]:
    """Read the practice items of a practice.json, by unit. Raises CourseError if it cannot be read."""
    with reading(path, SCHEMA) as data:
        # As JSON, because the keys of a mapping are text there, also where they are the numbers of lines.
        found = [
            QuizSource(of["unit"], of["title"], _ITEMS.validate_json(json.dumps(of["items"]))) for of in data["units"]
        ]
        return {of.unit: of for of in found}


def practice_of(unit: str, source: Path) -> QuizSource:
    """Return the practice items of a unit, from a practice.json.

    Raises:
        GraderError: There are none.
        CourseError: They cannot be read.
    """
    practice = read_practice(source) if source.is_file() else {}
    if unit not in practice:
        known = f"; the course has {', '.join(practice)}." if practice else "."
        raise GraderError(f"There is nothing to practise for {unit!r}{known}{nearest(unit, practice)}")
    return practice[unit]


def practise(practice: QuizSource, console: Console) -> None:
    """Ask practice items until each was answered right or skipped, or the student stops."""
    _PracticeSession(practice, Screen(console)).run()


class _PracticeSession:
    """One run through the items of a unit."""

    def __init__(self, practice: QuizSource, screen: Screen) -> None:
        self.practice = practice
        self.screen = screen
        self.first_tries: dict[str, bool] = {}
        self.variants: dict[str, int] = {}

    def run(self) -> None:
        """Ask each item, then those again that were wrong; end after the last, or when the student stops."""
        items = self.practice.items
        self.screen.say(self.practice.title, style="bold")
        self.screen.say(
            f"{counted(len(items), 'question')}. Each answer is explained at once. Nothing is saved or graded."
        )
        waiting = deque((f"{number} of {len(items)}", name) for number, name in enumerate(items, start=1))
        with self.screen.opened():
            while waiting:
                place, name = waiting.popleft()
                if not self._ask(place, name, items[name]):
                    waiting.append(("Once more", name))
        self.screen.blank()
        right = sum(self.first_tries.values())
        self.screen.say(
            f"{right} of {len(items)} right at the first try. To practise again: grader practice {self.practice.unit}"
        )

    def _ask(self, place: str, name: str, item: Item) -> bool:
        """Ask an item, also with other numbers if the student wants them. Return False if an answer was wrong."""
        is_wrong = False
        while True:
            question = item.asked()
            variant = self._draw(name, item)
            self.screen.headline(place, name, asked_for(question))
            self.screen.question(question, variant)
            is_right = self._answered(item, variant)
            if is_right is None:
                return not is_wrong
            self.first_tries.setdefault(name, is_right)
            is_wrong = is_wrong or not is_right
            self.screen.blank()
            again = [f"{AGAIN} for other numbers"] if _rows(item) > 1 else []
            typed = self.screen.read_line("Enter for the next", *again)
            if not again or typed.casefold() != AGAIN:
                return not is_wrong

    def _answered(self, item: Item, variant: int) -> bool | None:
        """Read an answer and print what it is worth. Return whether it is right, and None if there is none."""
        question = item.asked()
        while True:
            self.screen.blank()
            typed = self.screen.read_line(what_to_type(question), "Enter to skip")
            if not typed:
                return None
            try:
                raw = as_written(question, typed)
                problem = too_short(item, raw, variant)
            except AnswerError as error:
                problem = str(error)
            if not problem:
                return self._explain(item, raw, variant)
            self.screen.say(problem, PROBLEM)

    def _explain(self, item: Item, raw: str, variant: int) -> bool:
        """Print whether an answer is right, and why; return it."""
        marked = mark(item, raw, variant, weight=1)
        is_right = marked.points == item.points
        self.screen.blank()
        self.screen.say("Right." if is_right else "Not right.", "bold green" if is_right else "bold red")
        for sentence in marked.sentences:
            self.screen.explain(sentence)
        if not is_right:
            answer = accepted_answer(item, variant).replace("\n", "  \n")  # two blanks keep a line end in Markdown
            self.screen.explain(f"The answer: {answer}")
        self.screen.blank()
        self.screen.explain(explanation(item, variant))
        return is_right

    def _draw(self, name: str, item: Item) -> int:
        """Return a variant at random: another one than the last time, if there are several."""
        others = [variant for variant in range(_rows(item)) if variant != self.variants.get(name)]
        self.variants[name] = random.choice(others or [0])
        return self.variants[name]


def _rows(item: Item) -> int:
    return len(item.variants) if isinstance(item, VariedItem) else 0


def page_of(practice: QuizSource) -> str:
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
    return {
        "heading": heading(name),
        "kind": item.kind,
        "asked": asked_for(question),
        "hint": what_to_type(question),
        "letters": question.letters,
        "decimals": question.decimals,
        "code": question.code,
        "variants": [_variant(item, variant) for variant in range(max(1, _rows(item)))],
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
        case ChoiceItem() | BugItem():
            sentences = {letter: _html(one.sentence, row) for letter, one in item.options().items()}
            return {"right": right_letters(item), "sentences": sentences}
        case OrderItem():
            return {"right": right_letters(item)}
        case NumberItem() | ShapeItem():
            # Numbers are texts, which the script reads exactly.
            write = repr if isinstance(item, NumberItem) else list
            slips = [[write(row[column]), _html(sentence, row)] for column, sentence in item.slips.items()]
            return {"right": write(row["answer"]), "slips": slips}


def _html(text: str, row: dict[str, Any]) -> str:
    return str(_MARKDOWN.render(fill(text, row).strip()))
