"""Every year in the units and the quizzes belongs to a work in a table with sources."""

from __future__ import annotations

import calendar
import re

from course_quizzes import QUIZZES
from courses import REPOSITORY
from oracles.dates import BAHDANAU, ENCODER_DECODER, LSTM, RNN, TRANSFORMER, WORKS

from grader.quizzes.items import OrderItem

TEXTS = {
    path.name: " ".join(re.sub(r"^# ?", "", path.read_text(encoding="utf-8"), flags=re.MULTILINE).split())
    for path in sorted((REPOSITORY / "solutions").iterdir())
    if path.suffix in {".py", ".yml"}
}


def year(work: str) -> str:
    return WORKS[work][0][:4]


def month(work: str) -> str:
    """The month as texts name it: June 2014."""
    return f"{calendar.month_name[int(WORKS[work][0][5:])]} {year(work)}"


def test_every_year_is_that_of_a_work_in_the_table() -> None:
    # Years since 1980. 2000 is a score here, not a year.
    known = {"2000", *map(year, WORKS)}
    found = {name: set(re.findall(r"\b(?:19[89]\d|20[0-2]\d)\b", text)) - known for name, text in TEXTS.items()}
    assert {name: years for name, years in found.items() if years} == {}


def test_every_work_is_named_with_its_year() -> None:
    named = {found for text in TEXTS.values() for found in re.findall(r"\*([A-Z][^*]+)\* \((\d{4})\)", text)}
    assert named == {(work, year(work)) for work in WORKS}


def test_an_arxiv_number_begins_with_its_year_and_month() -> None:
    for date, source in WORKS.values():
        if source.startswith("arXiv:"):
            assert source[6:10] == date[2:4] + date[5:7], source


def test_the_ideas_of_the_eighth_quiz_are_in_the_order_of_their_dates() -> None:
    item = QUIZZES["encoder_decoder_attention"].items["one_idea_after_another"]
    assert isinstance(item, OrderItem)
    works = {
        "carries one state from word to word": RNN,
        "Gates": LSTM,
        "Two recurrent networks": ENCODER_DECODER,
        "looks at all states": BAHDANAU,
        "without any recurrence": TRANSFORMER,
    }
    dated = [WORKS[work][0] for step in item.steps for words, work in works.items() if words in step]
    assert [dated["abcde".index(letter)] for letter in item.answer.split()] == sorted(dated)
    for message in (
        f"The LSTM ({year(LSTM)})",
        f"Cho and others, {month(ENCODER_DECODER)}",
        f"Bahdanau attention ({month(BAHDANAU)})",
        f"The Transformer ({year(TRANSFORMER)})",
        f"RNN, {year(RNN)[:3]}0s",
    ):
        assert message in " ".join(item.explanation.split())
