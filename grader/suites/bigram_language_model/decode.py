"""decode: hidden tests, known mistakes and right answers."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from grader.suites.bigram_language_model.shared import entries_of, entry_text, expect_one_to_one, vocabulary_for
from grader.testing.behaviour import refusals
from grader.testing.checks import expect_equal, expect_true, expect_values
from grader.testing.draws import Fresh
from grader.testing.misconceptions import mistake, replace
from grader.testing.probes import Draw, Property, probe, refusal
from grader.testing.student import Student
from grader.testing.suite import Example, asking, contract, rule


def text_from(value: object) -> str:
    """Return a result that should be a text; a sequence of characters is accepted."""
    entries = entries_of(value)  # for a text too: this expects the type
    # A text can have millions of characters, so it is not put together again from each of them.
    return value if isinstance(value, str) else "".join(map(entry_text, entries))


def expect_one_character_each(value: object, ids: list[int]) -> None:
    """Expect any characters that are equal for equal ids and different for different ones."""
    expect_one_to_one(text_from(value), [str(number) for number in ids])


def fresh_ids(fresh: Fresh, count: int, vocabulary_size: int) -> list[int]:
    """Each id below vocabulary_size `count` times, in random order."""
    return (fresh.order(count * vocabulary_size) % vocabulary_size).tolist()


@rule("each id becomes the character at this index in the vocabulary, counted from 0")
def test_each_id_becomes_its_character(student: Student, fresh: Fresh) -> None:
    """Each id should become the character at this index in the given vocabulary, counted from zero."""
    vocabulary = [*"\n BDacdtxé"]
    # A space is at both ends, where `strip` would remove it. The last character occurs, and the first does not.
    ids = [1, *(number for number in fresh_ids(fresh, 2, len(vocabulary)) if number % 4), 1]
    expected = "".join(vocabulary[number] for number in ids)
    expect_equal(text_from(student.decode(ids, vocabulary)), expected, "The characters are not those at these indices.")


@rule("the result is one str")
def test_the_text_is_one_str(student: Student, fresh: Fresh) -> None:
    """The text should be one str, with one character for each id and nothing between them."""
    ids = fresh_ids(fresh, 2, 4)
    text = student.decode(ids, [*"acdt"])
    expect_true(type(text) is str, "It is not a str.")
    expect_one_character_each(text, ids)


@rule("any number of ids, including none")
def test_any_number_of_ids_is_decoded(student: Student, fresh: Fresh) -> None:
    """There may be any number of ids, and no ids should give an empty text."""
    for ids in (fresh_ids(fresh, 5, 4), [2], []):
        expect_one_character_each(student.decode(ids, [*"acdt"]), ids)


def draw_ids(fresh: Fresh, first: Sequence[int] = (), last: Sequence[int] = ()) -> list[Any]:
    return [[*first, *fresh_ids(fresh, 2, 4), *last], [*"acdt"]]


test_contract = contract(
    asking("decode", draw_ids, lambda _: lambda ids, _vocabulary: ids, expect_one_character_each),
    refusals(
        "ids_that_are_too_large_are_refused", "an id of V or more raises ValueError or AssertionError",
        "For V characters, an id of V or more should raise a ValueError or an AssertionError.",
        {"last": [9]}, {"first": [9]}, {"last": [4]}, tries_all=True,
        shown=({"ids": [3, 8]}, {"ids": [8, 3]}, {"ids": [3, 30, 3]}), because="8 characters have the ids 0 to 7"),
    refusals(
        "negative_ids_are_refused", "a negative id raises ValueError or AssertionError too",
        "A negative id should raise a ValueError or an AssertionError, because ids do not count from the end.",
        {"last": [-9]}, {"first": [-1]}, {"last": [-1]}, tries_all=True,
        shown=({"ids": [3, -1]}, {"ids": [-8, 3]}, {"ids": [3, -30, 3]}), because="8 characters have the ids 0 to 7"),
    example=Example({"ids": [3, 2, 7], "vocabulary": ["\n", *" acehst"]},
                    also={"kept": "ids and vocabulary are not changed"}),
)  # fmt: skip


@rule("ids and vocabulary are not changed")
def test_decoding_leaves_its_arguments_alone(student: Student, fresh: Fresh) -> None:
    """The text should be correct, and the call should not change ids or vocabulary."""
    ids, vocabulary = fresh_ids(fresh, 2, 4), [*"acdt"]
    text, (ids_after, vocabulary_after) = expect_values(student.decode.with_arguments(ids, vocabulary), 2)
    expect_one_character_each(text, ids)
    expect_true(ids_after == ids, "The ids were changed.")
    expect_true(vocabulary_after == vocabulary, "The vocabulary was changed.")


# -- misconceptions ------------------------------------------------------------------------------------------------

MISCONCEPTIONS = [
    mistake("ids_not_checked", replace("not 0 <= number < len(vocabulary)", "False"),
        "The ids are not checked. A list counts negative indices from its end, so -1 silently becomes the last "
        "character, and an id that is too large raises an IndexError."),
    mistake("negative_ids_counted_from_the_end",
        replace("not 0 <= number < len(vocabulary)", "number >= len(vocabulary)"),
        "A negative id raises no error, and counts from the end of the list. Ids begin at 0: raise an error for "
        "smaller ones too."),
    mistake("index_error_for_large_ids", replace("not 0 <= number < len(vocabulary)", "number < 0"),
        "An id that is too large raises an IndexError, because of the list. Check first, and raise a ValueError with "
        "a clear text."),
    mistake("one_id_too_many_accepted", replace("number < len", "number <= len"),
        "The id V itself raises no ValueError. V characters have the ids 0 to V - 1, so raise one from V on: `>=`, "
        "not `>`."),
    mistake("key_error_for_unknown_ids",
        replace("not 0 <= number < len(vocabulary)", "False")
        .replace("vocabulary[number] for", "dict(enumerate(vocabulary))[number] for"),
        "An unknown id raises a KeyError, because of a dictionary. Check first, and raise a ValueError with a clear "
        "text."),
    mistake("unknown_ids_passed_over",
        replace("not 0 <= number < len(vocabulary)", "False")
        .replace("vocabulary[number] for", 'dict(enumerate(vocabulary)).get(number, "") for'),
        "An id outside the vocabulary raises no error: it is left out, or becomes another character. Such an id is "
        "the caller's mistake: raise an error."),
    mistake("characters_in_a_list",
        replace('"".join(vocabulary[number] for number in ids)', "[vocabulary[number] for number in ids]"),
        "The result is a list of characters. Join them to one str: `''.join(…)`."),
    mistake("spaces_in_between", replace('"".join', '" ".join'),
        "There is something between the characters that is not in the ids. Join them with nothing between them: "
        "`''.join(…)`."),
    mistake("zero_refused", replace("0 <= number", "0 < number"),
        "The id 0 raises an error. It is the index of the first character of the vocabulary."),
    mistake("no_ids_refused", replace("for number in ids:", "for number in ids or [-1]:"),
        "An empty list of ids raises an error. encode gives it for an empty text, so the result should be an empty "
        "text."),
    mistake("tensor_of_ids_wanted", replace("for number in ids:", "for number in ids.tolist():"),
        "The code calls a tensor method on the ids. The argument is a plain list of int, as encode returns it."),
    mistake("ids_popped",
        replace("vocabulary[number] for number in ids", "vocabulary[ids.pop(0)] for _ in range(len(ids))"),
        "The caller's list is changed, as `pop` does. Read the items with a `for` loop, which does not change the "
        "list."),
]  # fmt: skip


# -- probes --------------------------------------------------------------------------------------------------------


@probe()
def text_of_ids(unit: Any, draw: Draw) -> Iterator[Property]:
    vocabulary = vocabulary_for(draw)
    ids = draw.random.choices(range(len(vocabulary)), k=draw.size(0, 12))
    yield "the text", unit.decode(ids, vocabulary)
    yield "how much is left of the arguments", (len(ids), len(vocabulary))


@probe(draws=300)
def unknown_ids_refused(unit: Any, draw: Draw) -> Iterator[Property]:
    vocabulary = vocabulary_for(draw)
    size = len(vocabulary)
    ids = draw.random.choices(range(size), k=draw.size(0, 5))
    ids.insert(draw.size(0, len(ids)), draw.pick(size, size, size + 1, size + 40, -1, -1, -size, -size - 1))
    yield from refusal(unit.decode, ids, vocabulary)


# -- answers -------------------------------------------------------------------------------------------------------


def wrong_answers():
    """Mistakes without a name, and answers with two. Never run here: the audit reads them."""

    def negative_ids_counted_from_the_end__and__characters_in_a_list(ids, vocabulary):
        text = []
        for i in ids:
            if i >= len(vocabulary):
                raise ValueError(f"no character has the id {i}")
            text.append(vocabulary[i])
        return text

    def _decoded(ids, vocabulary):
        if not all(0 <= i < len(vocabulary) for i in ids):
            raise ValueError("bad id")
        return "".join(vocabulary[i] for i in ids)

    def a_bytes_object(ids, vocabulary):
        return _decoded(ids, vocabulary).encode()

    def last_character_refused(ids, vocabulary):
        return _decoded(ids, vocabulary[:-1])

    def first_id_alone_checked(ids, vocabulary):
        if ids and not 0 <= ids[0] < len(vocabulary):
            raise ValueError("bad id")
        return "".join(vocabulary[i] for i in ids)

    def last_id_alone_checked(ids, vocabulary):
        if ids and not 0 <= ids[-1] < len(vocabulary):
            raise ValueError("bad id")
        return "".join(vocabulary[i] for i in ids)

    def index_error_for_all(ids, vocabulary):
        for i in ids:
            if i < 0 or i >= len(vocabulary):
                raise IndexError(f"bad id {i}")
        return "".join(vocabulary[i] for i in ids)

    def a_string_of_numbers(ids, vocabulary):
        return "".join(str(i) for i in ids if _decoded(ids, vocabulary))


def right_answers():
    """Answers in other styles. Never run here: the audit reads them."""

    from typing import List

    from bigram_language_model import encode

    def by_hand(ids, vocabulary):
        text = ""
        for number in ids:
            if number < 0 or number > len(vocabulary) - 1:
                raise AssertionError(f"there is no character {number}")
            text += vocabulary[number]
        return text

    def heads_of_unit_four(ids, vocabulary):
        out = []
        for number in ids:
            if not isinstance(number, int) or number not in range(len(vocabulary)):
                raise ValueError(number)
            out.append(vocabulary[number])
        return "".join(out)

    def index_notation(ids: List[int], vocabulary: List[str]) -> str:
        assert set(ids) <= set(range(len(vocabulary))), "unknown id"
        return "".join(map(vocabulary.__getitem__, ids))

    def one_on_another(ids, vocabulary):
        characters = {place: character for place, character in enumerate(vocabulary)}
        if not set(ids).issubset(characters):
            raise ValueError("unknown id")
        text = "".join(characters[number] for number in ids)
        assert encode(text, vocabulary) == list(ids)
        return text

    def ready_made(ids, vocabulary):
        if ids and not (min(ids) >= 0 and max(ids) < len(vocabulary)):
            raise ValueError("an id is out of range")
        return "".join(vocabulary[i] for i in ids)
