"""Unit 6, a bigram language model: each test or case is one criterion, with a sentence for the student.

Expected values are computed here in float64, and differently from the course's solution. Where an exercise may call an
earlier one, they use the same substitute for it as the student's code. The head is tested with the checks of causal
attention in unit 3.

Random results are judged by counts of draws, at most eight in a test: see draws.py.
"""

from __future__ import annotations

import contextlib
import functools
import math
from collections.abc import Callable
from typing import Any

import pytest
import torch

from grader.suites.causal import (
    D_OUT,
    Matrices,
    Parts,
    decisive_tokens,
    dropped_in_training,
    expect_dropping_after_softmax,
    expect_each_weight_dropped_by_itself,
    expect_hidden,
    expect_no_look_ahead,
    expect_steady,
    texts_with_other_ends,
)
from grader.suites.generation import (
    STEPS,
    GenerateWith,
    T,
    V,
    expect_continued,
    expect_drawn_from_the_softmax,
    expect_each_token_follows_the_one_before,
    expect_every_token_drawn_by_itself,
    expect_prompt_first,
    expect_prompts_of_any_size,
    random_ids,
    token_draws,
)
from grader.testing.checks import (
    ABSOLUTE,
    RELATIVE,
    CheckFailed,
    expect_close,
    expect_equal,
    expect_error,
    expect_gradients,
    expect_number,
    expect_same,
    expect_tensor,
    expect_true,
    expect_values,
    oracle_gradients,
    remark_ready_made,
)
from grader.testing.contracts import Asking, Given, Right, asking, expect_gradients_of, expect_left_alone, expect_right
from grader.testing.draws import (
    DrawFunction,
    Fresh,
    case,
    expect_count,
    expect_draws_by_state,
    expect_draws_from_a_generator,
    expect_global_draws,
)
from grader.testing.student import Refused, RemoteObject, Student

# All different, so that mixed-up dimensions show. No width is 4, whose half is its square root.
B, N_EMBD, HEAD_SIZE, BLOCK = 2, 11, 6, 9  # with T = 5 and V = 7
DTYPES = (torch.float32, torch.float64)
SAME_STATE, OTHER_STATE = "The same state gives other draws.", "Another state gives the same draws."
SECOND_CALL = "A second call gives the same draws as the first."


# -- texts -------------------------------------------------------------------------------------------------------


def fresh_text(fresh: Fresh, count: int, characters: str) -> str:
    """A text of these characters, each of them `count` times, in random order."""
    return "".join((characters * count)[place] for place in fresh.order(count * len(characters)).tolist())


def entries_of(value: object) -> list[object]:
    """Return the entries of a result that should be a list; another criterion is about the type."""
    expect_true(isinstance(value, str | list | tuple | dict), "It is not a list or another sequence.")
    return list(value)  # type: ignore[call-overload]


@pytest.mark.exercise(
    "build_vocabulary",
    rule="every character of the text is in it once, including spaces, line breaks and capital letters",
)
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


@pytest.mark.exercise("build_vocabulary", rule="the characters are in the order of Python's `sorted`")
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


@pytest.mark.exercise("build_vocabulary", rule="the result is a list")
def test_the_vocabulary_is_a_list(student: Student) -> None:
    """The vocabulary should be a list of characters, also if the text repeats a single one."""
    found = student.build_vocabulary("zzz")
    too_many = isinstance(found, list) and len(found) > 3
    expect_true(not too_many, "It has more entries than the text has characters.")
    expect_equal(found, ["z"], "It is not a list with that one character.")


def ids_of(ids: object, text: str) -> list[object]:
    """Return the entries of a result that should be a list of ids; a tensor or another sequence is accepted."""
    if not isinstance(ids, torch.Tensor):
        return entries_of(ids)
    expect_true(ids.shape == (len(text),), "The number of ids is not the number of characters.")
    return ids.tolist()


def entry_text(entry: object) -> str:
    """Return an entry as text. Of tensors, only a single number is accepted."""
    if isinstance(entry, torch.Tensor) and entry.numel() != 1:
        expect_true(False, "An entry is a tensor with more than one number, or with none.")
    return str(entry)


def expect_one_id_each(value: object, text: str) -> None:
    """Expect any ids that are equal for equal characters and different for different ones."""
    ids = ids_of(value, text)
    expect_one_to_one(text, list(map(entry_text, ids)))


def expect_one_to_one(characters: str, others: list[str]) -> None:
    """Expect two sequences of equal length with a one-to-one mapping, that are not the same sequence."""
    expect_true(len(characters) == len(others), "The number of ids is not the number of characters.")
    pairs = set(zip(characters, others, strict=True))
    one_to_one = len(pairs) == len(set(characters)) == len(set(others))
    expect_true(one_to_one, "Some characters share an id or have more than one.")
    expect_true(not others or list(characters) != others, "The result is the argument itself.")


@pytest.mark.exercise("encode", rule="each character becomes its index in the vocabulary, counted from 0")
def test_each_character_becomes_its_place(student: Student, fresh: Fresh) -> None:
    """Each character of the text should become its index in the given vocabulary, counted from zero."""
    # The vocabulary also has characters that are not in the text, before and between those that are.
    vocabulary = [*"\n BDacdtxé"]
    text = f" {fresh_text(fresh, 2, ' Dtéx')} "
    found = ids_of(student.encode(text, vocabulary), text)
    expect_equal(found, [vocabulary.index(one) for one in text], "The ids are not the indices in the vocabulary.")


@pytest.mark.exercise("encode", rule="the result is a list of int, one for each character")
def test_ids_are_a_list_of_int(student: Student, fresh: Fresh) -> None:
    """The ids should be a plain list of int, one for each character, and equal for equal characters."""
    text = fresh_text(fresh, 2, "tcda")
    ids = student.encode(text, [*"acdt"])
    expect_true(not isinstance(ids, torch.Tensor), "It is a tensor, not a list.")
    expect_true(type(ids) is list, "It is not a list.")
    expect_true(not any(type(one) is float for one in ids), "It is a list of floats.")
    expect_true(all(type(one) is int for one in ids), "It is a list, but its entries are not int.")
    expect_one_id_each(ids, text)


@pytest.mark.exercise("encode", rule="any number of characters, including none")
def test_texts_of_any_length_are_encoded(student: Student, fresh: Fresh) -> None:
    """A text may have any number of characters, and an empty text should give no ids."""
    for text in (fresh_text(fresh, 5, "tcda"), "t", ""):
        expect_one_id_each(student.encode(text, [*"acdt"]), text)


@pytest.mark.exercise("encode", rule="a character that is not in the vocabulary raises ValueError or AssertionError")
def test_unknown_characters_are_refused(student: Student, fresh: Fresh) -> None:
    """If a character is not in the vocabulary, there should be a ValueError or an AssertionError."""
    text = fresh_text(fresh, 2, "tcda")
    # An answer that refuses every text does not pass.
    expect_one_id_each(student.encode(text, [*"acdt"]), text)
    for unknown in (f"{text}z", f"b{text}", f"{text}A{text}"):
        expect_error(functools.partial(student.encode, unknown, [*"acdt"]))


@pytest.mark.exercise("encode", rule="vocabulary is not changed")
def test_encoding_leaves_the_vocabulary_alone(student: Student, fresh: Fresh) -> None:
    """The ids should be correct, and the call should not change the vocabulary."""
    text, vocabulary = fresh_text(fresh, 2, "tcda"), [*"acdt"]
    ids, (_, after) = expect_values(student.encode.with_arguments(text, vocabulary), 2)
    expect_one_id_each(ids, text)
    expect_true(after == vocabulary, "The vocabulary was changed.")


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


def expect_refused(student: Student, *wrong: list[int]) -> None:
    """Expect an error for each of these lists of ids. All are tried, because the diagnosis compares the results."""
    failed = None
    for ids in wrong:
        try:
            expect_error(functools.partial(student.decode, ids, [*"acdt"]))
        except CheckFailed as error:
            failed = failed or error
    if failed:
        raise failed


@pytest.mark.exercise("decode", rule="each id becomes the character at this index in the vocabulary, counted from 0")
def test_each_id_becomes_its_character(student: Student, fresh: Fresh) -> None:
    """Each id should become the character at this index in the given vocabulary, counted from zero."""
    vocabulary = [*"\n BDacdtxé"]
    # A space is at both ends, where `strip` would remove it. The last character occurs, and the first does not.
    ids = [1, *(number for number in fresh_ids(fresh, 2, len(vocabulary)) if number % 4), 1]
    expected = "".join(vocabulary[number] for number in ids)
    expect_equal(text_from(student.decode(ids, vocabulary)), expected, "The characters are not those at these indices.")


@pytest.mark.exercise("decode", rule="the result is one str")
def test_the_text_is_one_str(student: Student, fresh: Fresh) -> None:
    """The text should be one str, with one character for each id and nothing between them."""
    ids = fresh_ids(fresh, 2, 4)
    text = student.decode(ids, [*"acdt"])
    expect_true(type(text) is str, "It is not a str.")
    expect_one_character_each(text, ids)


@pytest.mark.exercise("decode", rule="any number of ids, including none")
def test_any_number_of_ids_is_decoded(student: Student, fresh: Fresh) -> None:
    """There may be any number of ids, and no ids should give an empty text."""
    for ids in (fresh_ids(fresh, 5, 4), [2], []):
        expect_one_character_each(student.decode(ids, [*"acdt"]), ids)


@pytest.mark.exercise("decode", rule="an id of V or more raises ValueError or AssertionError")
def test_ids_that_are_too_large_are_refused(student: Student, fresh: Fresh) -> None:
    """For V characters, an id of V or more should raise a ValueError or an AssertionError."""
    ids = fresh_ids(fresh, 2, 4)
    expect_one_character_each(student.decode(ids, [*"acdt"]), ids)
    expect_refused(student, [*ids, 9], [9, *ids], [*ids, 4])


@pytest.mark.exercise("decode", rule="a negative id raises ValueError or AssertionError too")
def test_negative_ids_are_refused(student: Student, fresh: Fresh) -> None:
    """A negative id should raise a ValueError or an AssertionError, because ids do not count from the end."""
    ids = fresh_ids(fresh, 2, 4)
    expect_one_character_each(student.decode(ids, [*"acdt"]), ids)
    expect_refused(student, [*ids, -9], [-1, *ids], [*ids, -1])


@pytest.mark.exercise("decode", rule="ids and vocabulary are not changed")
def test_decoding_leaves_its_arguments_alone(student: Student, fresh: Fresh) -> None:
    """The text should be correct, and the call should not change ids or vocabulary."""
    ids, vocabulary = fresh_ids(fresh, 2, 4), [*"acdt"]
    text, (ids_after, vocabulary_after) = expect_values(student.decode.with_arguments(ids, vocabulary), 2)
    expect_one_character_each(text, ids)
    expect_true(ids_after == ids, "The ids were changed.")
    expect_true(vocabulary_after == vocabulary, "The vocabulary was changed.")


# -- sample_batch ------------------------------------------------------------------------------------------------

# So long that two rows rarely begin at the same position.
LONG = 400


def fresh_data(fresh: Fresh, count: int) -> torch.Tensor:
    """Different ids (N,), so that each id determines its position."""
    return fresh.order(2 * LONG)[:count]


def expect_shape(value: object, shape: tuple[int, ...], name: str) -> torch.Tensor:
    """Expect a tensor of this shape."""
    expect_true(isinstance(value, torch.Tensor), f"{name} should be a tensor.")
    assert isinstance(value, torch.Tensor)
    expect_true(value.shape == shape, f"{name} should not have the shape {tuple(value.shape)}.")
    return value


def expect_integers(value: torch.Tensor, name: str) -> None:
    """Expect a tensor of an integer dtype."""
    is_integer = not value.is_floating_point() and not value.is_complex() and value.dtype != torch.bool
    expect_true(is_integer, f"{name} should be integers, and are {str(value.dtype).removeprefix('torch.')}.")


def positions_in(data: torch.Tensor, idx: object, shape: tuple[int, int]) -> torch.Tensor:
    """Return the position of each token of idx (B, T) in the data."""
    here = expect_shape(idx, shape, "idx").double().unsqueeze(-1) == data.double()  # (B, T, 1) and (N,) -> (B, T, N)
    expect_true(bool(here.any(-1).all()), "idx contains numbers that are not in the data.")
    return here.double().argmax(-1)


def two_batches(student: Student, data: torch.Tensor) -> tuple[torch.Tensor, list[object]]:
    """Return the positions (2, B, T) of idx in the data for two calls, and the targets of each; rows must differ."""
    places, targets = [], []
    for _ in range(2):
        idx, following = expect_values(student.sample_batch(data, T, B), 2)
        places.append(positions_in(data, idx, (B, T)))
        targets.append(following)
    drawn = torch.stack(places)
    # The four rows all begin at the same one of 395 positions by chance once in 395^3 = 6e7 runs.
    expect_true(len(drawn.flatten(0, 1).unique(dim=0)) > 1, "All rows of all calls are the same.")
    return drawn, targets


def starts_of(student: Student, fresh: Fresh, num_starts: int, block_size: int, batch_size: int) -> torch.Tensor:
    """Return where each row (B,) of one batch begins, in data with num_starts possible starts."""
    data = fresh_data(fresh, block_size + num_starts)
    idx, _ = expect_values(student.sample_batch(data, block_size, batch_size), 2)
    return positions_in(data, idx, (batch_size, block_size))[:, 0]


@pytest.mark.exercise("sample_batch", rule="each row of idx is a piece of the data: T consecutive tokens")
def test_each_row_is_a_stretch_of_the_data(student: Student, fresh: Fresh) -> None:
    """idx should have B rows of T consecutive tokens of the data: shape (B, T)."""
    places, _ = two_batches(student, fresh_data(fresh, LONG))
    expect_true(bool((places.diff(dim=-1) == 1).all()), "The tokens of a row are not consecutive in the data.")


@pytest.mark.exercise(
    "sample_batch",
    rule="each target is the next token in the data after the token of idx at the same position",
)
def test_targets_are_what_follows(student: Student, fresh: Fresh) -> None:
    """Each target should be the next token in the data after the token of idx at the same position: shape (B, T)."""
    data = fresh_data(fresh, LONG)
    places, all_targets = two_batches(student, data)
    for here, targets in zip(places, all_targets, strict=True):
        found = expect_shape(targets, (B, T), "targets")
        is_next = data.roll(-1)[here] == found
        for name, distance in (("idx itself", 0), ("two places on", -2), ("what comes before", 1)):
            expect_true(not torch.equal(data.roll(distance)[here], found), f"The targets are {name}.")
        expect_true(bool(is_next[:, :-1].all()), "The targets are not the next tokens.")
        expect_true(bool(is_next[:, -1].all()), "The last target of a row is not the next token.")


@pytest.mark.exercise("sample_batch", rule="every start from 0 to N - T - 1 is possible, and no other")
def test_every_start_comes_up(student: Student, fresh: Fresh) -> None:
    """All starts that leave a target for each token should be possible, including the first and the last."""
    # One of nine misses 180 draws with a chance of 9 · (8/9)^180 = 6e-9.
    found = set(starts_of(student, fresh, 9, T, 180).tolist())
    expect_true(max(found) < 9, "One start leaves no target for the last token.")
    expect_true(0 in found, "The first start is never drawn.")
    expect_true(8 in found, "The last start is never drawn.")
    expect_true(len(found) == 9, "Not every start between the first and the last is drawn.")


@pytest.mark.exercise("sample_batch", rule="all of these starts are equally likely")
def test_starts_are_equally_likely(student: Student, fresh: Fresh) -> None:
    """Over many rows, all possible starts should be drawn about equally often."""
    starts = starts_of(student, fresh, 3, 3, 700)
    found = starts.unique()
    expect_true(len(found) > 1, "Only one start is ever drawn.")
    for start in found:
        # Only the starts that occur: another criterion checks that all do.
        expect_count(starts == start, 1 / len(found), "Some starts are drawn much more often than others.")


@pytest.mark.exercise(
    "sample_batch",
    rule="each row is drawn independently, so rows may be the same, and there may be more rows than starts",
)
def test_each_row_has_a_draw_of_its_own(student: Student, fresh: Fresh) -> None:
    """Each row should be drawn independently, and there may be more rows than starts."""
    starts = starts_of(student, fresh, 4, 1, 360)
    expect_true(len(starts.unique()) > 1, "All rows begin at the same position.")
    # The pairs are disjoint. Two independent draws from four starts are equal in a quarter of them.
    expect_count(starts[0::2] == starts[1::2], 1 / 4, "The start of a row depends on the row before.")


@pytest.mark.exercise("sample_batch", rule="data of T + 1 tokens is enough")
def test_the_shortest_data_is_enough(student: Student, fresh: Fresh) -> None:
    """Data of T tokens and one more has one start: idx should be its first T tokens, and the targets its last T."""
    two_batches(student, fresh_data(fresh, LONG))
    data = fresh_data(fresh, T + 1)
    # So many rows that both starts occur if there are two; and a single row, which `squeeze` would remove.
    for rows in (40, 1):
        idx, targets = expect_values(student.sample_batch(data, T, rows), 2)
        expect_close(idx, data[:T].expand(rows, T), "The tokens of idx")
        expect_close(targets, data[1:].expand(rows, T), "The targets")


@pytest.mark.exercise("sample_batch", rule="data of fewer tokens raises ValueError or AssertionError")
def test_data_that_is_too_short_is_refused(student: Student, fresh: Fresh) -> None:
    """If the data is too short for T tokens and their targets, there should be a ValueError or an AssertionError."""
    # An answer that refuses all data does not pass.
    two_batches(student, fresh_data(fresh, LONG))
    for count in (T - 2, T):
        expect_error(functools.partial(student.sample_batch, fresh_data(fresh, count), T, B))


@pytest.mark.exercise("sample_batch", rule="idx and targets are integers, like data")
def test_a_batch_is_of_integers(student: Student, fresh: Fresh) -> None:
    """The ids of a batch should be integers, like those of the data, both in idx and in the targets."""
    data = fresh_data(fresh, LONG)
    two_batches(student, data)
    idx, targets = expect_values(student.sample_batch(data, T, B), 2)
    positions_in(data, idx, (B, T))
    expect_integers(idx, "idx")
    expect_integers(expect_shape(targets, (B, T), "targets"), "targets")


def batch_draws(student: Student, fresh: Fresh) -> DrawFunction:
    data = fresh_data(fresh, LONG)

    def draw(**options: object) -> torch.Tensor:
        idx, _ = expect_values(student.sample_batch(data, T, 6, **options), 2)
        return positions_in(data, idx, (6, T))

    return draw


@pytest.mark.exercise("sample_batch", rule="with a generator, every random draw comes from it and advances it")
def test_a_batch_comes_from_the_generator(student: Student, fresh: Fresh) -> None:
    """With a generator, the call should advance only its state, and another state should give another batch."""
    expect_draws_from_a_generator(student, batch_draws(student, fresh), OTHER_STATE)


@pytest.mark.exercise("sample_batch", rule="with the same generator state the result is the same")
def test_the_same_state_gives_the_same_batch(student: Student, fresh: Fresh) -> None:
    """With the same generator state the batch should be the same, for any state of torch's global generator."""
    expect_draws_by_state(student, batch_draws(student, fresh), SAME_STATE, OTHER_STATE)


@pytest.mark.exercise("sample_batch", rule="without a generator, torch's global generator is used, and it advances too")
def test_without_a_generator_the_global_one_gives_the_batch(student: Student, fresh: Fresh) -> None:
    """Without a generator, torch.manual_seed should control the batch, and a second call should give another one."""
    expect_global_draws(student, batch_draws(student, fresh), SAME_STATE, OTHER_STATE, SECOND_CALL)


# -- flatten_for_cross_entropy -----------------------------------------------------------------------------------

# One more token than there are predictions, so that all targets can differ.
KINDS = B * T + 1


def predictions(fresh: Fresh) -> tuple[torch.Tensor, torch.Tensor]:
    """Logits (B, T, V) for V = KINDS, and targets (B, T)."""
    return fresh(B, T, KINDS), fresh.order(KINDS)[: B * T].view(B, T)


def flattened(logits: torch.Tensor, targets: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """(B, T, V) and (B, T) to (B · T, V) and (B · T,)."""
    return torch.cat(logits.unbind()), torch.cat(targets.unbind())


def flat_targets(result: object, logits: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """Return the targets, and the index of each flat row in the logits (B · T,). Any order is accepted."""
    flat, targets = expect_values(result, 2)
    rows = logits.flatten(0, 1)  # (B, T, V) -> (B · T, V)
    shapes = [one.shape if isinstance(one, torch.Tensor) else None for one in (flat, targets)]
    expect_true(shapes != [(len(rows),), rows.shape], "Logits and targets are swapped.")
    found = expect_shape(flat, tuple(rows.shape), "logits")
    targets = expect_shape(targets, (len(rows),), "targets")
    same_numbers = torch.equal(found.double().flatten().sort().values, rows.double().flatten().sort().values)
    expect_true(same_numbers, "The numbers are not those of the logits.")
    same = (found.double()[:, None] == rows.double()).all(-1)  # (B · T, 1, V) and (B · T, V) -> (B · T, B · T)
    expect_true(bool(same.any(0).all() and same.any(1).all()), "The rows are not those of the logits.")
    return targets, same.double().argmax(-1)


@pytest.mark.exercise(
    "flatten_for_cross_entropy", rule="all B · T predictions are there, one in each row, and also all their targets"
)
def test_all_predictions_and_targets_are_there(student: Student, fresh: Fresh) -> None:
    """Each of the B · T predictions should be one row, (B · T, V), and each target one entry, (B · T,)."""
    logits, targets = predictions(fresh)
    for some in (slice(None), slice(1)):  # all of them, and one text of one token
        given = logits[some, some], targets[some, some]
        found, _ = flat_targets(student.flatten_for_cross_entropy(*given), given[0])
        same = torch.equal(found.double().sort().values, given[1].double().flatten().sort().values)
        expect_true(same, "The targets are not those in the argument.")


@pytest.mark.exercise("flatten_for_cross_entropy", rule="each row of the logits has its own target at the same index")
def test_each_prediction_keeps_its_target(student: Student, fresh: Fresh) -> None:
    """Each prediction should be at the same index as its target."""
    logits, targets = predictions(fresh)
    found, order = flat_targets(student.flatten_for_cross_entropy(logits, targets), logits)
    expect_close(found, targets.flatten()[order], "The targets of the predictions")


@pytest.mark.exercise("flatten_for_cross_entropy", rule="the targets stay integers")
def test_targets_stay_integers(student: Student, fresh: Fresh) -> None:
    """The targets are ids, and should stay integers."""
    logits, targets = predictions(fresh)
    found, _ = flat_targets(student.flatten_for_cross_entropy(logits, targets), logits)
    expect_integers(found, "targets")


@pytest.mark.exercise(
    "flatten_for_cross_entropy", rule="logits and targets may be non-contiguous, for example the result of a transpose"
)
def test_views_are_flattened(student: Student, fresh: Fresh) -> None:
    """The result should be correct if logits and targets are non-contiguous, for example after a transpose."""
    logits, targets = predictions(fresh)
    # (B, T, V) -> (T, B, V) -> (B, T, V), and the like
    views = logits.transpose(0, 1).contiguous().transpose(0, 1), targets.mT.contiguous().mT
    for given in ((views[0], targets), (logits, views[1])):
        flat_targets(student.flatten_for_cross_entropy(*given), logits)


@pytest.mark.exercise("flatten_for_cross_entropy", rule="gradients flow to the logits")
def test_gradients_of_flattening(student: Student, fresh: Fresh) -> None:
    """Gradients should flow back to the logits."""
    logits, targets = predictions(fresh)
    result, found = student.flatten_for_cross_entropy(logits, targets), {}
    # A result without gradients raises Refused, except a view that was made under `no_grad`.
    with contextlib.suppress(Refused):
        result, found = expect_values(student.flatten_for_cross_entropy.gradients(logits, targets), 2)
    _, order = flat_targets(result, logits)
    expect_gradients(found, oracle_gradients(lambda given: given.flatten(0, 1)[order], [logits], {}))


# -- cross_entropy -----------------------------------------------------------------------------------------------


LOSSES = ("cross_entropy", "cross_entropy_loss", "log_softmax", "nll_loss", "special_log_softmax")


def log_probabilities(student: Student, logits: torch.Tensor) -> torch.Tensor:
    """(…, V) to the same: the logarithms of the softmax of the logits."""
    for name in ("softmax_naive", "softmax_stable"):
        if substitute := student.substitute(name, None):
            return substitute(logits, -1).log()
    return logits - logits.logsumexp(-1, keepdim=True)


def mean_loss(student: Student, logits: torch.Tensor, targets: torch.Tensor) -> torch.Tensor:
    """(N, V) and (N,) to one number."""
    chosen = torch.nn.functional.one_hot(targets.long(), logits.shape[-1])
    return -(chosen * log_probabilities(student, logits.double())).sum() / len(targets)


def loss_error(expected: torch.Tensor) -> float:
    """Return the tolerance for this loss."""
    return 1e-5 + 1e-4 * abs(expected.item())


def expect_loss(value: object, expected: torch.Tensor) -> None:
    expect_number(value, expected.item(), within=loss_error(expected))


@pytest.mark.exercise(
    "cross_entropy",
    rule="the mean, over all rows, of minus the natural logarithm of the target's probability after softmax",
)
def test_the_mean_of_minus_the_logarithms(student: Student, fresh: Fresh) -> None:
    """The loss should be one number: the mean over the rows of minus the logarithm of the target's probability."""
    logits, targets = 2 * fresh(T, V), random_ids(fresh, T)
    expect_loss(student.cross_entropy(logits, targets), mean_loss(student, logits, targets))
    for _ in range(3):  # small losses show whether they are rounded
        likely = fresh(T, V) + 8 * torch.nn.functional.one_hot(targets, V)
        expect_loss(student.cross_entropy(likely, targets), mean_loss(student, likely, targets))
    remark_ready_made(LOSSES, student.cross_entropy, logits, targets)


@pytest.mark.exercise("cross_entropy", rule="it stays correct and finite for logits of ±1,000")
def test_large_logits_stay_finite(student: Student, fresh: Fresh) -> None:
    """For logits of a thousand and of minus a thousand, in any combination, the loss should be finite and correct."""
    high_and_low = fresh(2, V) + torch.tensor([[1000.0], [-1000.0]])
    mixed = fresh(1, V)
    mixed[:, ::2] += 1000
    mixed[:, 1::2] -= 1000
    low, high = torch.tensor([1]), torch.tensor([2])
    for logits, targets in ((high_and_low, random_ids(fresh, 2)), (mixed, high), (mixed, low)):
        found, expected = student.cross_entropy(logits, targets), mean_loss(student, logits, targets)
        number = found.item() if isinstance(found, torch.Tensor) and found.numel() == 1 else found
        # If an epsilon or a clamp keeps the loss finite, its value depends on that number, so the reason names none.
        if isinstance(number, float) and math.isfinite(number) and abs(number - expected) > loss_error(expected):
            expect_true(False, "It is finite, but not near the expected one.")
        expect_loss(found, expected)


@pytest.mark.exercise("cross_entropy", rule="any number of rows, including one")
def test_a_loss_of_any_number_of_rows(student: Student, fresh: Fresh) -> None:
    """There may be any number of rows, including a single one."""
    for count in (1, 11):
        # The same prediction in all rows, so that the loss of one row is the mean.
        logits, targets = fresh(1, V).expand(count, V).clone(), random_ids(fresh, 1).expand(count).clone()
        expect_loss(student.cross_entropy(logits, targets), mean_loss(student, logits, targets))


# -- running means -----------------------------------------------------------------------------------------------

# For each rule: its words in the stub, and the sentence for the student.
MEAN = (
    "each token becomes the mean of itself and all tokens before it in its text, computed separately for each feature",
    "Each token should become the mean of itself and all tokens before it in its text: shape (B, T, C).",
)
ANY_LENGTH = (
    "any number of tokens, including one",
    "Texts may have any number of tokens, including a single one, and a batch any number of texts.",
)
EITHER_DTYPE = (
    "float32 and float64 tokens both work",
    "The means should be correct for float32 tokens and for float64 tokens.",
)
GRADIENTS = (
    "gradients flow to x",
    "Gradients should flow to x: each token is part of its own mean and of all later means.",
)
LEFT_ALONE = (
    "x is not changed",
    "The means should be correct, and the call should not change x.",
)


def running_mean(student: Student, x: torch.Tensor) -> torch.Tensor:
    """(B, T, C) to the same."""
    count = x.shape[1]
    masked = student.substitute("mask_then_renormalize", Parts(student).renormalized)
    weights = masked(torch.full((count, count), 1 / count, dtype=torch.float64))
    return torch.einsum("ts,bsc->btc", weights, x.double())


def expect_last_mean(student: Student, value: object, x: torch.Tensor) -> None:
    """Expect the mean over the whole text for its last token, which is right also if the future is not hidden."""
    expect_close(expect_tensor(value, x.shape)[:, -1], running_mean(student, x)[:, -1], "The means of the last tokens")


@pytest.mark.parametrize("exercise", [
    case("means_by_loop", "running_mean_loop", *MEAN, "running_mean_loop"),
    case("means_by_matmul", "running_mean_matmul", *MEAN, "running_mean_matmul"),
    case("means_by_softmax", "running_mean_softmax", *MEAN, "running_mean_softmax"),
])  # fmt: skip
def test_running_means(student: Student, fresh: Fresh, exercise: str) -> None:
    """Every number of the result."""
    x = fresh(B, T, N_EMBD)
    expect_close(getattr(student, exercise)(x), running_mean(student, x), "The means")


@pytest.mark.parametrize("exercise", [
    case("any_length_by_loop", "running_mean_loop", *ANY_LENGTH, "running_mean_loop"),
    case("any_length_by_matmul", "running_mean_matmul", *ANY_LENGTH, "running_mean_matmul"),
    case("any_length_by_softmax", "running_mean_softmax", *ANY_LENGTH, "running_mean_softmax"),
])  # fmt: skip
def test_running_means_of_any_length(student: Student, fresh: Fresh, exercise: str) -> None:
    """A long text, a short one and a single token, each alone in its batch."""
    for count in (BLOCK, 2, 1):
        x = fresh(1, count, N_EMBD)
        expect_last_mean(student, getattr(student, exercise)(x), x)


# -- Head --------------------------------------------------------------------------------------------------------
# The names of its layers in unit 3 and here.

LAYERS = {"W_query": "query", "W_key": "key", "W_value": "value"}
LOW_SCORES = "a later token has no weight, even if all visible scores are as low as -10,000 after scaling"


def dot_products(queries: torch.Tensor, keys: torch.Tensor) -> torch.Tensor:
    """(…, T, head_size) twice to (…, T, T)."""
    return torch.einsum("...qd,...kd->...qk", queries, keys)


def attended(
    student: Student, inputs: torch.Tensor, W_query: torch.Tensor, W_key: torch.Tensor, W_value: torch.Tensor
) -> torch.Tensor:
    """(B, T, n_embd) and three (n_embd, head_size) to (B, T, head_size)."""
    queries, keys, values = (inputs.double() @ matrix.double() for matrix in (W_query, W_key, W_value))
    # Unit 4's functions take (B, H, T, head_dim): here with one head.
    scores = student.substitute("head_scores", dot_products)(queries[:, None], keys[:, None])
    weights = student.substitute("head_weights", Parts(student).attention_weights)(scores, queries.shape[-1])
    return (weights @ values[:, None])[:, 0]


def head_with(student: Student, matrices: Matrices, block_size: int, dropout: float = 0.0) -> RemoteObject:
    """A Head of the dtype of these matrices (n_embd, head_size), in eval mode."""
    head = student.queue("Head", *matrices["W_query"].shape, block_size, dropout)
    head.to(matrices["W_query"].dtype)
    parameters = head.parameters()
    for name, layer in LAYERS.items():
        weight = matrices[name].mT  # (n_embd, head_size) -> (head_size, n_embd), as in linear layers
        # A layer that is also part of another module may be registered under that module's name.
        owner, prefix = (head, f"{layer}.") if f"{layer}.weight" in parameters else (layer_of(head, layer), "")
        # A bias is wrong, but costs only its own criterion: here it is set to zero.
        bias = {f"{layer}.bias": torch.zeros(len(weight))} if f"{layer}.bias" in parameters else {}
        owner.set({f"{prefix}weight": weight, **bias})
    head.eval()
    return head


def layer_of(head: RemoteObject, name: str) -> RemoteObject:
    layer = head.get(name)
    expect_true(isinstance(layer, RemoteObject), f"{name} is not a layer.")
    return layer


def fresh_matrices(fresh: Fresh, n_embd: int = N_EMBD, head_size: int = HEAD_SIZE) -> Matrices:
    """W_query, W_key and W_value, each (n_embd, head_size); small, so that softmax is not nearly one-hot."""
    return {name: fresh(n_embd, head_size) / n_embd**0.5 for name in LAYERS}


@pytest.mark.exercise("Head", rule="key, query and value are nn.Linear from n_embd to head_size")
def test_three_layers_from_n_embd_to_head_size(student: Student) -> None:
    """key, query and value should each be an nn.Linear from n_embd to head_size."""
    head = student.queue("Head", N_EMBD, HEAD_SIZE, BLOCK, 0.0)
    for name in LAYERS.values():
        parameters = layer_of(head, name).parameters()
        expect_true("weight" in parameters, f"{name} is not a linear layer.")
        shape = tuple(parameters["weight"].shape)
        is_transposed, is_square = shape == (N_EMBD, HEAD_SIZE), shape == (N_EMBD, N_EMBD)
        expect_true(not is_transposed, f"The input and output widths of {name} are swapped.")
        expect_true(not is_square, f"{name} keeps the width n_embd.")
        expect_true(shape == (HEAD_SIZE, N_EMBD), f"{name} has wrong sizes.")


@pytest.mark.exercise("Head", rule="key, query and value have no bias")
def test_no_layer_has_a_bias(student: Student) -> None:
    """key, query and value should have a weight, and no bias."""
    head = student.queue("Head", N_EMBD, HEAD_SIZE, BLOCK, 0.0)
    for name in LAYERS.values():
        parameters = layer_of(head, name).parameters()
        expect_true("weight" in parameters, f"{name} is not a linear layer.")
        expect_true("bias" not in parameters, f"{name} has a bias.")


@pytest.mark.exercise(
    "Head",
    rule="scores are the dot products of the queries with the keys, divided by the square root of head_size",
)
def test_scores_are_divided_by_the_square_root_of_head_size(student: Student, fresh: Fresh) -> None:
    """The last token should weight all tokens by dot products divided by the root of head_size."""
    inputs, matrices = fresh(B, T, N_EMBD), fresh_matrices(fresh)
    inputs[0, 1] = 0.0  # its scores are zero: a mask that is found by its zeros hides them too
    output = expect_tensor(head_with(student, matrices, BLOCK)(inputs), (B, T, HEAD_SIZE))
    expect_close(output[:, -1], attended(student, inputs, **matrices)[:, -1], "The outputs of the last tokens")


@pytest.mark.exercise("Head", rule="no output depends on a later token")
def test_no_output_depends_on_a_later_token(student: Student, fresh: Fresh) -> None:
    """If the last token changes, no earlier output should change; if the first one changes, the second should."""
    inputs, matrices = texts_with_other_ends(fresh, T, N_EMBD), fresh_matrices(fresh)
    outputs = expect_tensor(head_with(student, matrices, T)(inputs), (3, T, HEAD_SIZE))
    expect_no_look_ahead(outputs, attended(student, inputs, **matrices))


@pytest.mark.exercise("Head", rule=LOW_SCORES)
def test_later_tokens_have_no_weight_beside_very_low_scores(student: Student, fresh: Fresh) -> None:
    """If all visible scores are very low, later tokens should still have no weight."""
    for is_low, expect in ((False, expect_close), (True, expect_hidden)):
        inputs, matrices = decisive_tokens(fresh, 1, T, is_low=is_low)
        expect(head_with(student, matrices, T)(inputs), attended(student, inputs, **matrices))


@pytest.mark.exercise(
    "Head",
    rule="the output is, for each token, the sum of the values of itself and all tokens before it, weighted by the "
    "softmax of their scores",
)
def test_output_of_the_head(student: Student, fresh: Fresh) -> None:
    """The output should be one tensor, (B, T, head_size): for each token, the weighted sum of the visible values."""
    # Last, both widths are equal: if they differ, values that were not projected have the wrong shape.
    for n_embd, head_size in ((N_EMBD, HEAD_SIZE), (T, T)):
        inputs, matrices = fresh(B, T, n_embd), fresh_matrices(fresh, n_embd, head_size)
        output = head_with(student, matrices, BLOCK)(inputs)
        expect_close(output, attended(student, inputs, **matrices), "The outputs")


@pytest.mark.exercise("Head", rule="each text of the batch is computed separately")
def test_each_text_on_its_own(student: Student, fresh: Fresh) -> None:
    """In a batch of several texts each text should be computed separately."""
    inputs, matrices = decisive_tokens(fresh, B, T)
    # The batch has more texts than block_size, which limits only the tokens.
    inputs = inputs.repeat(T, 1, 1)  # (B, T, n_embd) -> (B · T, T, n_embd)
    output = head_with(student, matrices, T)(inputs)
    expect_close(output, attended(student, inputs, **matrices), "The outputs")


@pytest.mark.exercise("Head", rule="any number of tokens up to block_size, including one")
def test_any_number_of_tokens_up_to_block_size(student: Student, fresh: Fresh) -> None:
    """A head should work for texts as long as block_size and for shorter ones, down to a single token."""
    # The longest text has more tokens than any width: D_OUT different tokens, and the same again. Equal tokens share
    # the weight, and their values are equal too.
    longest = 2 * D_OUT
    for count in (longest, 3, 1):
        inputs, matrices = decisive_tokens(fresh, 1, min(count, D_OUT))
        inputs = inputs.repeat(1, 2, 1)[:, :count]
        output = head_with(student, matrices, longest)(inputs)
        expect_close(output, attended(student, inputs, **matrices), "The outputs")


def in_training(student: Student, fresh: Fresh, dropout: float) -> tuple[torch.Tensor, torch.Tensor]:
    return dropped_in_training(student, fresh, functools.partial(head_with, student), dropout, texts=6, calls=2)


@pytest.mark.exercise("Head", rule="in training each weight is dropped independently, with probability `dropout`")
def test_each_weight_is_dropped_by_itself(student: Student, fresh: Fresh) -> None:
    """In training a fraction of about `dropout` of the weights should become zero, independently in each call."""
    p = 0.3
    weights, outputs = in_training(student, fresh, p)
    expect_each_weight_dropped_by_itself(outputs, (weights > 0).all(dim=0), p)


@pytest.mark.exercise(
    "Head",
    rule="dropout comes after softmax: a weight becomes 0 for all features of its value, or is divided by 1 - dropout",
)
def test_dropping_comes_after_softmax(student: Student, fresh: Fresh) -> None:
    """In training each weight after softmax should become zero, for its whole value, or be divided by one - dropout."""
    # So large that the first tokens, which have few weights, often lose all of them. Not 0.5, where 1 - p equals p.
    p = 0.4
    weights, outputs = in_training(student, fresh, p)
    expect_dropping_after_softmax(weights, outputs, p)


@pytest.mark.exercise("Head", rule="in eval mode nothing is dropped")
def test_nothing_is_dropped_in_eval_mode(student: Student, fresh: Fresh) -> None:
    """In eval mode the output should be exact, for any dropout of the head."""
    inputs, matrices = decisive_tokens(fresh, B, T)
    head = head_with(student, matrices, T, dropout=0.5)
    output = expect_steady(head, inputs)
    expect_close(output, attended(student, inputs, **matrices), "The outputs")


@pytest.mark.exercise("Head", rule="with dropout=0.0 nothing is dropped in training")
def test_nothing_is_dropped_without_dropout(student: Student, fresh: Fresh) -> None:
    """With a dropout of zero the output should be exact in training too."""
    inputs, matrices = decisive_tokens(fresh, B, T)
    head = head_with(student, matrices, T)
    head.train()
    expect_close(expect_steady(head, inputs), attended(student, inputs, **matrices), "The outputs")


@pytest.mark.exercise(
    "Head", rule="gradients reach the inputs and the weights of the three layers, and the mask is not a parameter"
)
def test_gradients_of_the_head(student: Student, fresh: Fresh) -> None:
    """Gradients of the output should reach the inputs and all three layers, and the mask should not be a parameter."""
    inputs, matrices = fresh(B, T, N_EMBD), fresh_matrices(fresh)
    head = head_with(student, matrices, T)
    names: dict[str, str] = {}
    for registered_name, value in head.parameters().items():
        expect_true(value.shape[-2:] != (T, T), "A parameter has the shape of the mask.")
        # Whatever a layer's registered name is, it has the weight that was set.
        names |= {name: registered_name for name, matrix in matrices.items() if torch.equal(value, matrix.mT)}
    _, found = expect_values(head.gradients(inputs), 2)
    expected = oracle_gradients(functools.partial(attended, student), [inputs], matrices)
    gradients = {name: found.get(names.get(name, name)) for name in matrices}
    by_matrix = {name: None if value is None else value.mT for name, value in gradients.items()}
    expect_gradients({"0": found.get("0"), **by_matrix}, expected)


# -- BigramLanguageModel: forward --------------------------------------------------------------------------------

TABLE = "token_embedding_table"


def model_with(student: Student, table: torch.Tensor) -> RemoteObject:
    """A BigramLanguageModel with this table (V, V). Another criterion is about the name of the table."""
    model = student.queue("BigramLanguageModel", len(table))
    model.set({table_name(model): table})
    return model


def table_name(model: RemoteObject) -> str:
    """Return the name of the table: if it has another name, of the only square parameter."""
    name = f"{TABLE}.weight"
    parameters = model.parameters()
    square = [other for other, value in parameters.items() if value.dim() == 2 and len(set(value.shape)) == 1]
    return name if name in parameters or len(square) != 1 else square[0]


def flat_loss(student: Student, logits: torch.Tensor, targets: torch.Tensor) -> torch.Tensor:
    """(B, T, V) and (B, T) to one number."""
    flat = student.substitute("flatten_for_cross_entropy", flattened)(logits, targets)
    return student.substitute("cross_entropy", functools.partial(mean_loss, student))(*flat)


@pytest.mark.exercise("BigramLanguageModel", rule="token_embedding_table is nn.Embedding(vocab_size, vocab_size)")
def test_the_table_is_an_embedding(student: Student) -> None:
    """token_embedding_table should be an nn.Embedding with vocab_size rows of vocab_size logits."""
    table = student.queue("BigramLanguageModel", V).get(TABLE)
    expect_true(isinstance(table, RemoteObject), "It is no module.")
    expect_true("torch.nn.modules.sparse.Embedding" in table.kinds, "It is not an nn.Embedding.")
    weight = expect_tensor(table.parameters().get("weight"))
    expect_true(weight.shape[:1] == (V,), "It does not have vocab_size rows.")
    expect_true(weight.shape == (V, V), "Its rows do not have vocab_size logits.")


@pytest.mark.exercise(
    "BigramLanguageModel", rule="without targets, the logits of each token are its row of the table: (B, T, V)"
)
def test_logits_are_rows_of_the_table(student: Student, fresh: Fresh) -> None:
    """Without targets, the logits should be the row of the table that belongs to each token: (B, T, V)."""
    table, idx = fresh(V, V), random_ids(fresh, B, T)
    logits, _ = expect_values(model_with(student, table)(idx), 2)
    expect_close(logits, table[idx], "The logits")


@pytest.mark.exercise("BigramLanguageModel", rule="with targets, the logits are the same: (B, T, V)")
def test_logits_are_the_same_with_targets(student: Student, fresh: Fresh) -> None:
    """With targets, the logits should be the same as without them, (B, T, V): only the loss needs the flat form."""
    table = fresh(V, V)
    model = model_with(student, table)
    for texts, count in ((B, T), (1, T), (B, 1)):
        idx, targets = random_ids(fresh, texts, count), random_ids(fresh, texts, count)
        logits, _ = expect_values(model(idx, targets), 2)
        expect_close(logits, table[idx], "The logits")


@pytest.mark.exercise(
    "BigramLanguageModel",
    rule="with targets (B, T), the loss is one number, the mean cross-entropy of all B · T predictions",
)
def test_the_loss_is_the_mean_over_all_predictions(student: Student, fresh: Fresh) -> None:
    """With targets, the loss should be the mean cross-entropy of all B · T predictions, each with its own target."""
    table, idx, targets = fresh(V, V), random_ids(fresh, B, T), random_ids(fresh, B, T)
    _, loss = expect_values(model_with(student, table)(idx, targets), 2)
    expect_loss(loss, flat_loss(student, table.double()[idx], targets))


@pytest.mark.exercise("BigramLanguageModel", rule="without targets, the loss is None")
def test_there_is_no_loss_without_targets(student: Student, fresh: Fresh) -> None:
    """Without targets the loss should be None."""
    logits, loss = expect_values(model_with(student, fresh(V, V))(random_ids(fresh, B, T)), 2)
    expect_tensor(logits)
    expect_true(loss is None, "There is a loss, although there are no targets.")


@pytest.mark.exercise("BigramLanguageModel", rule="gradients of the loss reach the table")
def test_gradients_reach_the_table(student: Student, fresh: Fresh) -> None:
    """Gradients of the loss should reach the table."""
    table, idx, targets = fresh(V, V), random_ids(fresh, B, T), random_ids(fresh, B, T)
    model = model_with(student, table)
    name = table_name(model)

    def loss(table: torch.Tensor) -> torch.Tensor:
        return flat_loss(student, table[idx], targets)

    def forward(table: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        return table[idx], loss(table)

    _, found = expect_values(model.gradients(idx, targets), 2)
    gradient = found.get(name)
    of_both, of_loss = (oracle_gradients(function, [], {"table": table}) for function in (forward, loss))
    # Detached logits are accepted if targets are given, because training uses only the loss.
    cut_off = gradient is not None and torch.allclose(gradient.double(), of_loss["table"], RELATIVE, ABSOLUTE)
    expect_gradients({"table": gradient}, of_loss if cut_off else of_both)


@pytest.mark.exercise("BigramLanguageModel", rule="idx and targets are not changed")
def test_predicting_leaves_its_arguments_alone(student: Student, fresh: Fresh) -> None:
    """The logits should be rows of the table, and the call should not change idx or targets."""
    table, idx, targets = fresh(V, V), random_ids(fresh, B, T), random_ids(fresh, B, T)
    result, after = expect_values(model_with(student, table).with_arguments(idx, targets), 2)
    logits, _ = expect_values(result, 2)
    # The shape of the logits is the subject of another criterion.
    expect_close(expect_tensor(logits).flatten(0, -2), table[idx].flatten(0, -2), "The logits")
    for name, argument, before in zip(("idx", "targets"), after, (idx, targets), strict=True):
        expect_same(argument, before, f"{name} was changed.")


# -- BigramLanguageModel: generate -------------------------------------------------------------------------------


def generating_with(student: Student) -> GenerateWith:
    return lambda table: model_with(student, table).method("generate")


@pytest.mark.exercise(
    "BigramLanguageModel",
    rule="returns the prompt idx, unchanged, and then max_new_tokens tokens: (B, T + max_new_tokens)",
)
def test_the_prompt_comes_first(student: Student, fresh: Fresh) -> None:
    """The result should be the prompt, as ids, followed by the new tokens: (B, T + max_new_tokens)."""
    expect_prompt_first(fresh, generating_with(student))


@pytest.mark.exercise(
    "BigramLanguageModel", rule="each new token is drawn from the softmax of the logits of the text's last token"
)
def test_tokens_are_drawn_from_the_softmax(student: Student, fresh: Fresh) -> None:
    """Over many texts, each token should be drawn as often as the softmax of the last token's logits says."""
    expect_drawn_from_the_softmax(student, fresh, generating_with(student))


@pytest.mark.exercise(
    "BigramLanguageModel",
    rule="the last token is the newest token, if one was drawn, and each text continues from its own last token",
)
def test_each_token_follows_from_the_one_before(student: Student, fresh: Fresh) -> None:
    """Each new token should depend on the token drawn before it, in each text separately."""
    expect_each_token_follows_the_one_before(fresh, generating_with(student))


@pytest.mark.exercise(
    "BigramLanguageModel",
    rule="every token is drawn independently: texts with the same prompt may continue differently",
)
def test_every_token_is_drawn_by_itself(student: Student, fresh: Fresh) -> None:
    """Each text and each step should be drawn independently."""
    expect_every_token_drawn_by_itself(fresh, generating_with(student))


@pytest.mark.exercise("BigramLanguageModel", rule="max_new_tokens=0 returns only the prompt")
def test_no_new_token_gives_the_prompt(student: Student, fresh: Fresh) -> None:
    """If no new token is asked for, only the prompt should be returned; if one is asked for, one more."""
    idx = random_ids(fresh, B, T)
    generate = model_with(student, fresh(V, V)).method("generate")
    expect_continued(generate(idx, 1), idx, 1)
    expect_continued(generate(idx, 0), idx, 0)


@pytest.mark.exercise("BigramLanguageModel", rule="any number of texts and of tokens in the prompt, including one")
def test_prompts_of_any_size(student: Student, fresh: Fresh) -> None:
    """A prompt may have any number of texts and of tokens, including a single one."""
    expect_prompts_of_any_size(fresh, generating_with(student))


@pytest.mark.exercise("BigramLanguageModel", rule="with a generator, every random draw comes from it and advances it")
def test_tokens_come_from_the_generator(student: Student, fresh: Fresh) -> None:
    """With a generator, the call should advance only its state, and another state should give other tokens."""
    expect_draws_from_a_generator(student, token_draws(fresh, generating_with(student)), OTHER_STATE)


@pytest.mark.exercise("BigramLanguageModel", rule="with the same generator state the result is the same")
def test_the_same_state_gives_the_same_tokens(student: Student, fresh: Fresh) -> None:
    """With the same generator state the tokens should be the same, for any state of torch's global generator."""
    expect_draws_by_state(student, token_draws(fresh, generating_with(student)), SAME_STATE, OTHER_STATE)


@pytest.mark.exercise(
    "BigramLanguageModel", rule="without a generator, torch's global generator is used, and it advances too"
)
def test_without_a_generator_the_global_one_gives_the_tokens(student: Student, fresh: Fresh) -> None:
    """Without a generator, torch.manual_seed should control the tokens, and a second call should give others."""
    expect_global_draws(student, token_draws(fresh, generating_with(student)), SAME_STATE, OTHER_STATE, SECOND_CALL)


# -- rules that several exercises share --------------------------------------------------------------------------

CHANGED_FLAT, CHANGED_X = ("The logits were changed.", "The targets were changed."), ("x was changed.",)
MEAN_GRADIENTS = lambda student: functools.partial(running_mean, student), lambda fresh: [fresh(B, T, N_EMBD)]


def sampling(student: Student, fresh: Fresh) -> Given:
    # An answer that draws nothing does not pass.
    two_batches(student, fresh_data(fresh, LONG))
    data = fresh_data(fresh, LONG)
    return Given(
        student.sample_batch, [data, T, B], lambda batch: positions_in(data, expect_values(batch, 2)[0], (B, T))
    )


def attending(student: Student, fresh: Fresh, dtype: torch.dtype = torch.float32) -> Given:
    inputs, matrices = decisive_tokens(fresh, 1, T, dtype)
    head = head_with(student, matrices, T)
    return Given(
        head, [inputs], lambda output: expect_close(output, attended(student, inputs, **matrices), "The outputs")
    )


def generating(student: Student, fresh: Fresh) -> Given:
    idx = random_ids(fresh, B, T)
    generate = model_with(student, fresh(V, V)).method("generate")
    return Given(generate, [idx, STEPS], lambda text: expect_continued(text, idx, STEPS))


FLATTEN = asking(
    "flatten_for_cross_entropy", predictions, lambda _student, result, logits, _targets: flat_targets(result, logits)
)
LOSS = asking(
    "cross_entropy",
    # One row, so that the mean and the sum are equal.
    lambda fresh, dtype=torch.float32: [fresh(1, V, dtype=dtype), random_ids(fresh, 1)],
    lambda student, loss, *given: expect_loss(loss, mean_loss(student, *given)),
)
LOOP, MATMUL, SOFTMAX = (
    asking(exercise, lambda fresh, dtype=torch.float32: [fresh(B, T, N_EMBD, dtype=dtype)], expect_last_mean)
    for exercise in ("running_mean_loop", "running_mean_matmul", "running_mean_softmax")
)


@pytest.mark.parametrize(("ask", "dtypes"), [
    case("a_loss_of_either_dtype", "cross_entropy", "float32 and float64 logits both work",
         "The loss should be correct for float32 logits and for float64 logits.", LOSS, DTYPES),
    case("either_dtype_by_loop", "running_mean_loop", *EITHER_DTYPE, LOOP, DTYPES),
    case("either_dtype_by_matmul", "running_mean_matmul", *EITHER_DTYPE, MATMUL, DTYPES),
    case("either_dtype_by_softmax", "running_mean_softmax", *EITHER_DTYPE, SOFTMAX, DTYPES),
    case("the_head_in_float64", "Head", "works in float64 after .double()",
         "After .double() the head should take float64 inputs and give the correct output.", attending, DTYPES[1:]),
])  # fmt: skip
def test_dtypes(student: Student, fresh: Fresh, ask: Asking, dtypes: tuple[torch.dtype, ...]) -> None:
    """The result should be correct for each dtype."""
    for dtype in dtypes:
        expect_right(ask(student, fresh, dtype))


@pytest.mark.parametrize(("exercise", "right", "draw"), [
    case("gradients_of_the_loss", "cross_entropy", "gradients flow to the logits",
         "Gradients of the loss should flow to the logits: to the target's, and to all others of its row.",
         "cross_entropy", lambda student: functools.partial(mean_loss, student),
         lambda fresh: [fresh(T, V), random_ids(fresh, T)]),
    case("gradients_of_the_loop", "running_mean_loop", *GRADIENTS, "running_mean_loop", *MEAN_GRADIENTS),
    case("gradients_of_the_product", "running_mean_matmul", *GRADIENTS, "running_mean_matmul", *MEAN_GRADIENTS),
    case("gradients_of_the_softmax", "running_mean_softmax", *GRADIENTS, "running_mean_softmax", *MEAN_GRADIENTS),
])  # fmt: skip
def test_gradients(student: Student, fresh: Fresh, exercise: str, right: Right, draw: Callable[..., Any]) -> None:
    """Gradients should flow to logits and tokens."""
    expect_gradients_of(student, exercise, right, draw(fresh))


@pytest.mark.parametrize(("ask", "changed"), [
    case("the_data_is_left_alone", "sample_batch", "data is not changed",
         "The result should be tokens of the data, and the call should not change the data.",
         sampling, ("The data was changed.",)),
    case("flattening_leaves_its_arguments_alone", "flatten_for_cross_entropy",
         "logits and targets are not changed",
         "The flat tensors should be correct, and the call should not change logits or targets.",
         FLATTEN, CHANGED_FLAT),
    case("the_loss_leaves_its_arguments_alone", "cross_entropy", "logits and targets are not changed",
         "The loss should be correct, and the call should not change logits or targets.",
         LOSS, CHANGED_FLAT),
    case("the_loop_leaves_x_alone", "running_mean_loop", *LEFT_ALONE, LOOP, CHANGED_X),
    case("the_product_leaves_x_alone", "running_mean_matmul", *LEFT_ALONE, MATMUL, CHANGED_X),
    case("the_softmax_leaves_x_alone", "running_mean_softmax", *LEFT_ALONE, SOFTMAX, CHANGED_X),
    case("the_head_leaves_the_inputs_alone", "Head", "the inputs are not changed",
         "The output should be correct, and the call should not change the inputs.",
         attending, ("The inputs were changed.",)),
    case("generating_leaves_idx_alone", "BigramLanguageModel", "idx is not changed",
         "The text should be continued in a new tensor, and the call should not change idx.",
         generating, ("idx was changed.",)),
])  # fmt: skip
def test_left_alone(student: Student, fresh: Fresh, ask: Asking, changed: tuple[str, ...]) -> None:
    """The result should be correct, and the call should not change any tensor."""
    expect_left_alone(ask(student, fresh), *changed)
