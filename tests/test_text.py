"""Text from submissions, made safe for reports, logs and terminals."""

from __future__ import annotations

import random
import re
import sys
import unicodedata

import pytest
from courses import REPOSITORY
from made_reports import raised

from grader.reports.report_model import MOST_OF_A_TEXT, Message, sanitize
from grader.text import MOST_OF_A_LINE, log_line, log_lines, plain

# Commands that a GitHub runner obeys: the first at the start of a line, after spaces; the second anywhere.
COMMAND = re.compile(r"^\s*::|##\[", re.MULTILINE)
PIECES = [
    "::", ":", "##", "##[", "[", "\n", "\r", " ", "\x1b[31m", "\x00", "\u202e", "\ud800", "::error::a", "ä", "🙂", "\t",
]  # fmt: skip


def test_control_and_hidden_characters_of_all_unicode_versions_are_replaced() -> None:
    seen = {
        unicodedata.category(letter) for letter in map(chr, range(sys.maxunicode + 1)) if sanitize(letter) == letter
    }
    assert seen.isdisjoint({"Cf", "Cs", "Zl", "Zp"})
    assert [letter for letter in map(chr, range(256)) if unicodedata.category(letter) == "Cc" == sanitize(letter)] == []
    # Others without a picture: DerivedCoreProperties.txt, Default_Ignorable_Code_Point. Selectors of emoji stay.
    assert {sanitize(letter) for letter in "\u034f\u115f\u17b4\u180b\u3164\uffa0\U000e0000\U000e01ef"} == {
        "\N{REPLACEMENT CHARACTER}"
    }
    assert sanitize("❤\ufe0f") == "❤\ufe0f"
    assert sanitize("a\x1b\x9b\r\u202e\ud800b") == "a" + 5 * "\N{REPLACEMENT CHARACTER}" + "b"


@pytest.mark.parametrize(
    ("text", "plain_text"),
    [
        ("\x1b[31mred\x1b[0m and \x9b1;4Hmoved", "red and moved"),
        ("\x1b]0;title\x07text \x1b]8;;https://a.example\x1b\\link", "text link"),
        ("one\r\ntwo", "one\ntwo"),
        ("##[add-mask]a", "## [add-mask]a"),
    ],
)
def test_escape_sequences_and_commands_leave_readable_text(text: str, plain_text: str) -> None:
    assert sanitize(text) == plain_text


def test_the_name_of_a_file_is_one_line_in_the_report() -> None:
    hostile = raised("total", "word", 3).model_dump() | {"file": "a.py\n::error::forged\n" * 100, "trace": ["one\ntwo"]}
    message = Message.model_validate(hostile)
    assert message.file
    assert (message.file[:23], message.file[-1], len(message.file)) == ("a.py ::error::forged a.", "…", MOST_OF_A_LINE)
    assert message.trace == ["one two"]
    assert Message.model_validate(message.model_dump()) == message


def test_plain_text_is_unchanged() -> None:
    text = "Zeile 1\n\tnaïve 🙂 日本語 [bold]"
    assert sanitize(text) == text


def test_paths_of_this_machine_are_removed() -> None:
    assert sanitize(f"{REPOSITORY}/grader and {sys.base_prefix}/lib") == "…/grader and …/lib"


def test_long_text_is_truncated_once_with_a_note() -> None:
    cut = sanitize("x" * 5000)
    assert cut == "x" * 3960 + "… (1040 more characters)"
    assert len(cut) <= MOST_OF_A_TEXT
    assert sanitize(cut) == cut


def test_lines_become_one() -> None:
    assert plain("one\r\n\n two\tthree\n") == "one two three"


def test_a_long_line_is_truncated() -> None:
    assert plain("a" * 10_000, 5) == "aaaa…"


def test_logs_have_no_commands_and_no_control_characters() -> None:
    draw = random.Random(0)
    for text in ("".join(draw.choices(PIECES, k=draw.randrange(1, 30))) for _ in range(100)):
        for made in (log_lines(text), log_line(text), *log_lines(text).split()):
            assert not COMMAND.search(made)
            assert all(line.replace("\t", " ").isprintable() for line in made.split("\n"))
        assert not re.search(r"##\[", plain(text))
        assert sanitize(sanitize(text)) == sanitize(text)
