"""encode: hidden tests, known mistakes and right answers."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import torch

from grader.suites.bigram_language_model.shared import (
    CHARACTERS,
    entries_of,
    entry_text,
    expect_one_to_one,
    fresh_text,
    text_of,
    vocabulary_for,
)
from grader.testing.behaviour import refusals
from grader.testing.checks import expect_equal, expect_true, expect_values
from grader.testing.draws import Fresh
from grader.testing.misconceptions import mistake, replace
from grader.testing.probes import Draw, Property, probe, refusal
from grader.testing.student import Student
from grader.testing.suite import Example, asking, contract, rule


def ids_of(ids: object, text: str) -> list[object]:
    """Return the entries of a result that should be a list of ids; a tensor or another sequence is accepted."""
    if not isinstance(ids, torch.Tensor):
        return entries_of(ids)
    expect_true(ids.shape == (len(text),), "The number of ids is not the number of characters.")
    return ids.tolist()


def expect_one_id_each(value: object, text: str) -> None:
    """Expect any ids that are equal for equal characters and different for different ones."""
    ids = ids_of(value, text)
    expect_one_to_one(text, list(map(entry_text, ids)))


@rule("each character becomes its index in the vocabulary, counted from 0")
def test_each_character_becomes_its_place(student: Student, fresh: Fresh) -> None:
    """Each character of the text should become its index in the given vocabulary, counted from zero."""
    # The vocabulary also has characters that are not in the text, before and between those that are.
    vocabulary = [*"\n BDacdtxé"]
    text = f" {fresh_text(fresh, 2, ' Dtéx')} "
    found = ids_of(student.encode(text, vocabulary), text)
    expect_equal(found, [vocabulary.index(one) for one in text], "The ids are not the indices in the vocabulary.")


@rule("the result is a list of int, one for each character")
def test_ids_are_a_list_of_int(student: Student, fresh: Fresh) -> None:
    """The ids should be a plain list of int, one for each character, and equal for equal characters."""
    text = fresh_text(fresh, 2, "tcda")
    ids = student.encode(text, [*"acdt"])
    expect_true(not isinstance(ids, torch.Tensor), "It is a tensor, not a list.")
    expect_true(type(ids) is list, "It is not a list.")
    expect_true(not any(type(one) is float for one in ids), "It is a list of floats.")
    expect_true(all(type(one) is int for one in ids), "It is a list, but its entries are not int.")
    expect_one_id_each(ids, text)


@rule("any number of characters, including none")
def test_texts_of_any_length_are_encoded(student: Student, fresh: Fresh) -> None:
    """A text may have any number of characters, and an empty text should give no ids."""
    for text in (fresh_text(fresh, 5, "tcda"), "t", ""):
        expect_one_id_each(student.encode(text, [*"acdt"]), text)


test_contract = contract(
    asking("encode", lambda fresh, text="{}": [text.format(fresh_text(fresh, 2, "tcda")), [*"acdt"]],
           lambda _: lambda text, _vocabulary: text, expect_one_id_each),
    refusals(
        "unknown_characters_are_refused",
        "a character that is not in the vocabulary raises ValueError or AssertionError",
        "If a character is not in the vocabulary, there should be a ValueError or an AssertionError.",
        {"text": "{}z"}, {"text": "b{}"}, {"text": "{0}A{0}"},
        shown=({"text": "dog"}, {"text": "Cat"}, {"text": "tax"}, {"text": "2 cats"}),
        because="a character of it is not in the vocabulary"),
    example=Example({"text": "cat", "vocabulary": ["\n", *" acehst"]}, also={"kept": "vocabulary is not changed"}),
)  # fmt: skip


@rule("vocabulary is not changed")
def test_encoding_leaves_the_vocabulary_alone(student: Student, fresh: Fresh) -> None:
    """The ids should be correct, and the call should not change the vocabulary."""
    text, vocabulary = fresh_text(fresh, 2, "tcda"), [*"acdt"]
    ids, (_, after) = expect_values(student.encode.with_arguments(text, vocabulary), 2)
    expect_one_id_each(ids, text)
    expect_true(after == vocabulary, "The vocabulary was changed.")


# -- misconceptions ------------------------------------------------------------------------------------------------

MISCONCEPTIONS = [
    mistake("key_error_for_the_unknown", replace("set(text) - set(ids)", "set()"),
        "A character that is not in the vocabulary raises a KeyError, because of a dictionary. Check first, and "
        "raise a ValueError with a clear text."),
    mistake("unknown_passed_over",
        replace("set(text) - set(ids)", "set()").replace("in text]", "in text if character in ids]"),
        "A character that is not in the vocabulary raises no error: it is left out, or gets a wrong id. The decoded "
        "text would be different. Raise an error."),
    mistake("ids_counted_from_one", replace("enumerate(vocabulary)", "enumerate(vocabulary, 1)"),
        "The ids are counted from 1. The rows of a table are counted from 0, and the last id would have no row."),
    mistake("vocabulary_made_from_the_text", replace("enumerate(vocabulary)", "enumerate(sorted(set(text)))"),
        "A new vocabulary is made from the text. Then the same character has another id in another text. Use the "
        "given vocabulary."),
    mistake("vocabulary_taken_for_a_dictionary", replace("ids[character] for", "vocabulary[character] for"),
        "The code treats the vocabulary as a dictionary. It is a list: find the index of each character, or first "
        "make a dictionary from characters to indices."),
    mistake("ids_as_a_tensor",
        replace("[ids[character] for character in text]", "torch.tensor([ids[character] for character in text])"),
        "The ids are a tensor or an array. The tensor is made later, once, for the whole text. Here the result "
        "should be a plain list of int."),
    mistake("ids_as_text", replace("ids[character] for", "str(ids[character]) for"),
        "The ids are strings. A model computes with numbers, so each id should be an int."),
    mistake("ids_not_worked_out_yet", replace("[ids[character] for character in text]", "map(ids.get, text)"),
        "Nothing is computed yet: `map`, or a comprehension in round brackets, computes only on request. Use "
        "`list(…)`."),
    mistake("empty_text_refused", replace("if unknown:", "if unknown or not text:"),
        "An empty text raises an error. It has no characters, so its list of ids is empty."),
]  # fmt: skip


# -- probes --------------------------------------------------------------------------------------------------------


@probe()
def ids_of_a_text(unit: Any, draw: Draw) -> Iterator[Property]:
    vocabulary = vocabulary_for(draw)
    ids = unit.encode(text_of(draw, vocabulary), vocabulary)
    yield "what it is", isinstance(ids, list) and all(type(number) is int for number in ids)
    yield "the ids", ids
    yield "how much is left of the vocabulary", len(vocabulary)


@probe(draws=300)
def unknown_characters_refused(unit: Any, draw: Draw) -> Iterator[Property]:
    vocabulary = vocabulary_for(draw)
    unknown = draw.random.choice(sorted(set(CHARACTERS) - set(vocabulary)))
    text = text_of(draw, vocabulary) + unknown + text_of(draw, vocabulary)
    yield from refusal(unit.encode, text, vocabulary)


# -- answers -------------------------------------------------------------------------------------------------------


def wrong_answers():
    """Mistakes without a name, and answers with two. Never run here: the audit reads them."""

    def counted_from_the_end(text, vocabulary):
        return [vocabulary.index(c) - len(vocabulary) for c in text]

    def repetitions_dropped(text, vocabulary):
        return [vocabulary.index(c) for c in dict.fromkeys(text)]

    def sorted_ids(text, vocabulary):
        return sorted(vocabulary.index(c) for c in text)

    def a_tuple(text, vocabulary):
        return tuple(vocabulary.index(c) for c in text)

    def a_list_of_tensors(text, vocabulary):
        return [torch.tensor(vocabulary.index(c)) for c in text]

    def end_added(text, vocabulary):
        return [vocabulary.index(c) for c in text] + [len(vocabulary)]

    def stripped_and_lowered(text, vocabulary):
        return [vocabulary.index(c) for c in text.strip().lower()]

    def runtime_error(text, vocabulary):
        ids = []
        for c in text:
            if c not in vocabulary:
                raise RuntimeError(f"unknown character {c}")
            ids.append(vocabulary.index(c))
        return ids

    def stripped(text, vocabulary):
        return [vocabulary.index(c) for c in text.strip()]

    def arguments_exchanged(vocabulary, text):
        return [vocabulary.index(c) for c in text]


def right_answers():
    """Answers in other styles. Never run here: the audit reads them."""

    from bisect import bisect_left
    from typing import List

    def by_hand(text, vocabulary):
        ids = []
        for character in text:
            for place, known in enumerate(vocabulary):
                if known == character:
                    ids.append(place)
                    break
            else:
                raise ValueError(f"{character!r} is not in the vocabulary")
        return ids

    def heads_of_unit_four(text, vocabulary):
        ids = [vocabulary.index(character) if character in vocabulary else None for character in text]
        if None in ids:
            raise AssertionError("unknown character")
        return ids

    def index_notation(text: str, vocabulary: List[str]) -> List[int]:
        places = [bisect_left(vocabulary, character) for character in text]
        for character, place in zip(text, places):
            assert vocabulary[place : place + 1] == [character], "unknown character"
        return places

    def one_on_another(text, vocabulary):
        ids = dict(zip(vocabulary, range(len(vocabulary))))
        try:
            return [ids[character] for character in text]
        except KeyError as error:
            raise ValueError(f"unknown: {error}") from None

    def ready_made(text, vocabulary):
        return [vocabulary.index(c) for c in text]  # list.index raises a ValueError itself
