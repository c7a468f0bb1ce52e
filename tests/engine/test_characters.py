"""A character that only looks like a part of Python is named with its place, and with what to type instead."""

from __future__ import annotations

import pytest
from student_errors import FILE, lines_of, worker_of

from grader.engine.explanations import explained
from grader.engine.name_hints import hint_on_characters, lines_with
from grader.engine.outcomes import Outcome
from grader.engine.source_lines import SourceLines
from grader.sandbox.sandbox_client import Source

OTHER_HINT = "The other hint."


def message_on(code: str, file: str = FILE) -> tuple[str, str]:
    """The error of the first statement that fails, with its place, and the hint on it."""
    unit = Source.of(file, [code])
    failed = worker_of(unit).do_load("answers")[0]
    place = failed.trace[-1] if failed.trace else (failed.file, failed.line)
    hint = hint_on_characters(OTHER_HINT, failed.text, SourceLines({"answers": unit}).at(*place))
    return f"{failed.file}, line {failed.line}: {failed.text}", hint


@pytest.mark.parametrize(
    ("code", "column", "hint"),
    [
        ("x =\xa01", 4, "It is a no-break space, which looks like a space: delete it and type a space."),
        ("x = [1,\u30002]", 8, "It is an ideographic space, which looks like a space: delete it and type a space."),
        (
            "x = f\u200b(1)",
            6,
            "It is a zero width space, which cannot be seen: delete the characters around it and type these again.",
        ),
        (
            "x = \x071",
            5,
            "It is a control character, which cannot be seen: delete the characters around it and type these again.",
        ),
        ("x = “text”", 5, '`“` (left double quotation mark) is not Python: type `"`.'),
        ('x = "“" + “text”', 11, '`“` (left double quotation mark) is not Python: type `"`.'),
        ("x = ‘text’", 5, "`‘` (left single quotation mark) is not Python: type `'`."),
        ("x = «text»", 5, '`«` (left-pointing double angle quotation mark) is not Python: type `"`.'),
        ("x = f（1）", 6, "`（` (fullwidth left parenthesis) is not Python: type `(`."),
        ("x = 1，2", 6, "`，` (fullwidth comma) is not Python: type `,`."),
        ("x = [1、2]", 7, "`、` (ideographic comma) is not Python: type `,`."),
        ("x = é − 1", 7, "`−` (minus sign) is not Python: type `-`."),
        ("x = 2×3", 6, "`×` (multiplication sign) is not Python: type `*`."),
        ("x = 1 ≤ 2", 7, "`≤` (less-than or equal to) is not Python: type `<=`."),
        ("x = y²", 6, "`²` is not Python: type `** 2`."),
        ("x = …", 5, "`…` (horizontal ellipsis) is not Python: type `...`."),
        ("x = 5€", 6, "`€` (euro sign) is not Python: delete it, or write it in a string or a comment."),
    ],
)
@pytest.mark.parametrize("file", [FILE, "answers.ipynb"])
def test_a_character_is_named_with_its_line_and_column(file: str, code: str, column: int, hint: str) -> None:
    error, found = message_on(f"import math\n{code}\n", file)
    cell = ", cell 1" if file != FILE else ""
    assert error.startswith(f"{file}{cell}, line 2: invalid ")
    assert error.endswith(f" in column {column}")
    assert found == hint


@pytest.mark.parametrize(
    "code",
    [
        "I’m not sure – but it works",
        "todo – check the mask",
        "weights – values",
        "– first item",
        "Well…",
        "The “weights” sum to one",
        "Let's call it “done”",
        "not sure – maybe",
        "这是答案，我觉得对。",
        "x = \u0440\u043e\u0441\u0442",  # a Russian word, of which each letter looks like a Latin one
        "x = a  # \u0430",
        "x = \u03b1",
        "x = 'qu\u0435ry' + query",
        'x = "text',
    ],
)
def test_words_are_no_mistyped_code(code: str) -> None:
    assert message_on(f"import math\n{code}\n")[1] == OTHER_HINT


@pytest.mark.parametrize(
    "code",
    ["x = max(\n    one\n    – two,\n    3)", "one – two(3)", "def f(x):\n    x – two", "def f(x):\n    not x – y"],
)
def test_a_dash_in_a_line_that_is_otherwise_python_is_a_mistyped_minus(code: str) -> None:
    assert message_on(f"import math\n{code}\n")[1] == "`–` (en dash) is not Python: type `-`."


def test_a_character_that_is_in_many_lines_is_counted() -> None:
    _, hint = message_on("def f(x):\n\xa0\xa0y = x\n\xa0\xa0return y\n")
    assert hint.endswith(" delete it and type a space. It is in 2 lines.")


@pytest.mark.parametrize("text", ["\\'''\n", "\\'''", '\\"', "'''\\", "'''\n"])
def test_characters_are_counted_in_a_source_of_strings_that_are_not_closed(text: str) -> None:
    assert lines_with("\u2013", f"x = 5 \u2013 3\n{text * 36_000}") == 1


def test_a_string_that_ends_with_another_quote_is_explained() -> None:
    assert message_on('x = "text”\n')[1] == (
        'A string ends with the quote that it begins with. `”` (right double quotation mark) is not Python: type `"`.'
    )


@pytest.mark.parametrize("code", ["x = = 1", "x = (1", "raise ValueError(\"invalid character '“' (U+201C\")"])
def test_another_error_keeps_its_text_and_its_hint(code: str) -> None:
    error, hint = message_on(f"{code}\n")
    assert "column" not in error
    assert hint == OTHER_HINT


@pytest.mark.parametrize(
    ("code", "place"),
    [
        ("query = 1\nx = QUERY\n", "(line 2, column 7) has a Cyrillic `е`: type the Latin `e`."),
        ("QUERY = 1\nif True:\n    x = query\n", None),
        ("def f(QUERY):\n    return query\nx = f(1)\n", "(line 1, column 9) has a Cyrillic `е`: type the Latin `e`."),
        ("import math\nx = math.QUERY\n", "(line 2, column 12) has a Cyrillic `е`: type the Latin `e`."),
    ],
)
def test_a_letter_of_another_alphabet_in_a_name_is_named_with_its_place(code: str, place: str | None) -> None:
    _, hint = message_on(code.replace("QUERY", "qu\u0435ry"))
    assert hint == (f"`qu\u0435ry` {place}" if place else OTHER_HINT)


def test_a_name_of_one_letter_is_named_if_the_latin_one_is_used_too_and_one_in_several_lines_has_no_place() -> None:
    _, hint = message_on("x = 1\ny = \u0445 + x\n")
    assert hint == "`\u0445` (line 2, column 5) has a Cyrillic `\u0445`: type the Latin `x`."
    _, hint = message_on("import math\nx = (\n    math\n    .qu\u0435ry\n)\n")
    assert hint == "`qu\u0435ry` has a Cyrillic `\u0435`: type the Latin `e`."


@pytest.mark.parametrize("code", ["110000", "FFFFFF", "D800", "0000", "10FFFF"])
def test_a_character_that_a_student_process_makes_up_is_harmless(code: str) -> None:
    detail = f"invalid character 'x' (U+{code}) in column 1"
    hint = hint_on_characters(OTHER_HINT, detail, SourceLines({}).at("other.py", 10**9))
    assert hint == OTHER_HINT or hint.startswith("It is a control character")


def test_an_exercise_that_is_defined_with_a_letter_of_another_alphabet_is_named() -> None:
    lines = lines_of("def sc\u043eres(x):\n    return x\n")
    outcome = explained(Outcome(False, "not defined", "scores is not defined."), "answers", "scores", (), lines)
    assert outcome.reason == (
        "scores is not defined. `sc\u043eres` (line 1, column 7) has a Cyrillic `\u043e`: type the Latin `o`."
    )
