"""build_vocabulary: hidden tests, known mistakes and right answers."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from grader.suites.bigram_language_model.shared import CHARACTERS, entries_of, fresh_text, text_of
from grader.testing.checks import expect_equal, expect_true
from grader.testing.draws import Fresh
from grader.testing.misconceptions import mistake, replace
from grader.testing.probes import Draw, Property, probe
from grader.testing.student import Student
from grader.testing.suite import rule


@rule("every character of the text is in it once, including spaces, line breaks and capital letters")
def test_every_character_comes_up_once(student: Student, fresh: Fresh) -> None:
    """The vocabulary should contain every character of the text once: letters, spaces and line breaks too."""
    # The only line break is at the end, where `strip` would remove it.
    text = "(" + fresh_text(fresh, 3, "tTeé ,7") + "\n"
    found = entries_of(student.build_vocabulary(text))
    for what, characters in {
        "letter": "te",
        "capital letter": "T",
        "letter with an accent": "é",
        "digit": "7",
        "punctuation mark": ",(",
        "space": " ",
        "line break": "\n",
    }.items():
        expect_true(all(one in found for one in characters), f"The vocabulary lacks a {what} of the text.")
    expect_true(len(found) == len(set(text)), "Some characters are there more than once, or are not in the text.")


@rule("the characters are in the order of Python's `sorted`")
def test_the_characters_are_sorted(student: Student, fresh: Fresh) -> None:
    """The characters should be in the order of Python's sorted."""
    # The most frequent character is not the first in the order, and the last one occurs only at the end of the text.
    text = fresh_text(fresh, 2, "qwBérZay") + "rrx"
    expected = sorted("qwBérZayx")
    found = entries_of(student.build_vocabulary(text))
    expect_true(found != expected[::-1], "They are sorted in reverse.")
    expect_true(found != sorted(expected, key=str.lower), "Capital letters are not where Python's sorted puts them.")
    characters = {one for one in found if isinstance(one, str)}
    expect_true(characters == set(expected), "They are not the characters of the text.")
    expect_true(found == expected, "They are not sorted, or not each of them once.")


@rule("the result is a list")
def test_the_vocabulary_is_a_list(student: Student) -> None:
    """The vocabulary should be a list of characters, also if the text repeats a single one."""
    found = student.build_vocabulary("zzz")
    too_many = isinstance(found, list) and len(found) > 3
    expect_true(not too_many, "It has more entries than the text has characters.")
    expect_equal(found, ["z"], "It is not a list with that one character.")


# -- misconceptions ------------------------------------------------------------------------------------------------

MISCONCEPTIONS = [
    mistake("not_sorted", replace("sorted(set(text))", "list(dict.fromkeys(text))"),
        "The characters are not sorted: they are in the order of the text, of their frequency, or of a `set`, which "
        "changes from run to run. If you sort them, the same text gives the same ids everywhere."),
    mistake("text_made_lower_case", replace("set(text)", "set(text.lower())"),
        "The text is made lower case first. Then a model can never write a capital letter, and decode cannot give "
        "back the original text."),
    mistake("line_breaks_left_out", replace("set(text)", 'set("".join(text.splitlines()))'),
        "Line breaks are missing, perhaps because the text is split into lines, or stripped, first. They are "
        "characters too: from them a model learns where lines end."),
    mistake("words_instead_of_characters", replace("set(text)", "set(text.split())"),
        "The text was split into words or lines, or not at all. Here a token is a single character: a `set` of a "
        "string has its characters."),
    mistake("every_occurrence_kept", replace("set(text)", "text"),
        "Each character is there as often as in the text. A vocabulary contains each character once. Otherwise a "
        "character would have several ids: `set` keeps one of each."),
    mistake("vocabulary_as_one_string", replace("sorted(set(text))", '"".join(sorted(set(text)))'),
        "The vocabulary is one string with all characters. It should be a list, as `sorted` returns it."),
    mistake("vocabulary_as_a_set", replace("sorted(set(text))", "set(text)"),
        "The vocabulary is a `set`, or something else without indices, such as an iterator. So it cannot say which "
        "id a character has: make a sorted list of it."),
]  # fmt: skip


# -- probes --------------------------------------------------------------------------------------------------------


@probe()
def characters_of_a_text(unit: Any, draw: Draw) -> Iterator[Property]:
    vocabulary = unit.build_vocabulary(text_of(draw, CHARACTERS, low=1))
    yield "what it is", isinstance(vocabulary, list)
    yield "the characters", vocabulary


# -- answers -------------------------------------------------------------------------------------------------------


def wrong_answers():
    """Mistakes without a name, and answers with two. Never run here: the audit reads them."""

    import string

    def not_sorted__and__line_breaks_left_out(text):
        return list(dict.fromkeys(text.strip()))

    def characters_that_come_once(text):
        return sorted(c for c in set(text) if text.count(c) == 1)

    def end_token_added(text):
        return [*sorted(set(text)), "<end>"]

    def unicode_numbers(text):
        return sorted({ord(c) for c in text})

    def first_character_skipped(text):
        return sorted(set(text[1:]))

    def last_character_skipped(text):
        return sorted(set(text[:-1]))

    def pairs_of_characters(text):
        return sorted(set(zip(text, text[1:])))

    def punctuation_removed(text):
        return sorted(set(text) - set(string.punctuation))


def right_answers():
    """Answers in other styles. Never run here: the audit reads them."""

    import random
    from typing import List

    def by_hand(text):
        found = []
        for character in text:
            if character not in found:
                found.append(character)
        found.sort()
        return found

    def heads_of_unit_four(text):
        vocabulary = list(set(text))
        random.shuffle(vocabulary)
        vocabulary.sort()
        return vocabulary

    def index_notation(text: str) -> List[str]:
        return [*sorted({*text})]

    def one_on_another(text):
        return sorted(dict.fromkeys(text))
