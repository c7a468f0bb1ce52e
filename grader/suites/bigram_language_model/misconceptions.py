"""Unit 6: wrong answers that learners give, each with the sentence that would help who wrote it.

A name says what was done. Where the same slip is made in several exercises, the name says in which.
"""

from __future__ import annotations

import random
import string
from collections.abc import Callable, Iterable
from typing import Any

import torch
from torch import Tensor, nn

from grader.misconceptions import misconception
from grader.suites.causal_attention import misconceptions as causal

Pair = tuple[Tensor, Tensor]
Triple = tuple[Tensor, Tensor, Tensor]
Source = torch.Generator | None

# -- build_vocabulary --------------------------------------------------------------------------------------------


@misconception(
    "build_vocabulary",
    "The characters do not stand in sorted order, but as they came, by how often they come, or in the order of a "
    "`set`, which changes from run to run. Sort them, and the same text gives the same ids everywhere.",
)
def not_sorted(text: str) -> list[str]:
    return list(dict.fromkeys(text))


@misconception(
    "build_vocabulary",
    "The characters are sorted, but from the last to the first. `sorted` alone puts them in the order that all others "
    "use.",
)
def sorted_the_other_way_round(text: str) -> list[str]:
    return sorted(set(text), reverse=True)


@misconception(
    "build_vocabulary",
    "Capital letters are sorted in among the small ones, by a key such as `str.lower`. For a model they are other "
    "characters; `sorted` without a key puts them where everyone expects them.",
)
def capitals_sorted_in(text: str) -> list[str]:
    return sorted(set(text), key=str.lower)


@misconception(
    "build_vocabulary",
    "The text is made lower case first. Then a model can never write a capital letter, and decode cannot give the text "
    "back that encode got.",
)
def text_made_lower_case(text: str) -> list[str]:
    return sorted(set(text.lower()))


@misconception(
    "build_vocabulary",
    "Spaces and line breaks are left out. They are characters like others: without them a model could not tell where a "
    "word or a line ends.",
)
def spaces_left_out(text: str) -> list[str]:
    return sorted(set("".join(text.split())))


@misconception(
    "build_vocabulary",
    "Line breaks are left out, as where the text is cut into lines, or stripped, first. They are characters too, and a "
    "model learns from them where lines end.",
)
def line_breaks_left_out(text: str) -> list[str]:
    return sorted(set("".join(text.splitlines())))


@misconception(
    "build_vocabulary",
    "Letters alone are kept. Digits, punctuation and spaces are a part of the text as well, and encode will meet them.",
)
def letters_alone(text: str) -> list[str]:
    return sorted({character for character in text if character.isalpha()})


@misconception(
    "build_vocabulary",
    "The vocabulary is a fixed alphabet, whatever the text is. It lacks some of the text's characters, and has rows in "
    "the model's table for others that never come up.",
)
def fixed_alphabet(text: str) -> list[str]:  # noqa: ARG001
    return sorted(string.printable)


@misconception(
    "build_vocabulary",
    "The text was cut into words, or lines, or not at all. Here a token is a single character: a text is a sequence of "
    "them, and `set(text)` goes through it one by one.",
)
def words_instead_of_characters(text: str) -> list[str]:
    return sorted(set(text.split()))


@misconception(
    "build_vocabulary",
    "Each character comes up as often as in the text. A vocabulary has each kind once, or a character would have "
    "several ids: `set` keeps one of each.",
)
def every_occurrence_kept(text: str) -> list[str]:
    return sorted(text)


@misconception(
    "build_vocabulary",
    "The vocabulary is one string with all characters in it. Here it should be a list, as `sorted` gives it.",
)
def vocabulary_as_one_string(text: str) -> str:
    return "".join(sorted(set(text)))


@misconception(
    "build_vocabulary",
    "The vocabulary is a dictionary. From characters to ids, that is how encode may look them up, but what is asked "
    "for here is the sorted list.",
)
def vocabulary_as_a_dictionary(text: str) -> dict[str, int]:
    return {character: place for place, character in enumerate(sorted(set(text)))}


@misconception(
    "build_vocabulary",
    "The vocabulary is a `set`, or something else that has no places, such as an iterator. So it cannot say which id a "
    "character has: make a sorted list of it.",
)
def vocabulary_as_a_set(text: str) -> set[str]:
    return set(text)


# -- encode ------------------------------------------------------------------------------------------------------


def ids_of(text: str, vocabulary: list[str]) -> list[int]:
    """The right answer."""
    return [vocabulary.index(character) for character in text]


@misconception(
    "encode",
    "For a character that the vocabulary lacks a KeyError comes out, which is what a dictionary raises by itself. Look "
    "first, and raise a ValueError that says what is wrong.",
)
def key_error_for_the_unknown(text: str, vocabulary: list[str]) -> list[int]:
    ids = {character: place for place, character in enumerate(vocabulary)}
    return [ids[character] for character in text]


@misconception(
    "encode",
    "A character that the vocabulary lacks passes without a word: it is left out, or gets an id that stands for "
    "something else. The text that comes back would be another one. Raise an error.",
)
def unknown_passed_over(text: str, vocabulary: list[str]) -> list[int]:
    return [vocabulary.index(character) for character in text if character in vocabulary]


@misconception(
    "encode",
    "The ids are counted from 1. The rows of a table are counted from 0, and the last id would have no row.",
)
def ids_counted_from_one(text: str, vocabulary: list[str]) -> list[int]:
    return [1 + number for number in ids_of(text, vocabulary)]


@misconception(
    "encode",
    "The ids are the characters' numbers in Unicode, as `ord` gives them. They go far beyond the vocabulary; an id is "
    "the place in it.",
)
def numbers_of_unicode(text: str, vocabulary: list[str]) -> list[int]:
    ids_of(text, vocabulary)
    return [ord(character) for character in text]


@misconception(
    "encode",
    "The vocabulary is made anew from the text. Then the same character has another id in another text; use the "
    "vocabulary that was handed in.",
)
def vocabulary_made_from_the_text(text: str, vocabulary: list[str]) -> list[int]:  # noqa: ARG001
    return ids_of(text, sorted(set(text)))


@misconception(
    "encode",
    "The vocabulary is taken for a dictionary. It is a list, in which a character is to be found first; a dictionary "
    "from characters to places is quickly made of it.",
)
def vocabulary_taken_for_a_dictionary(text: str, vocabulary: Any) -> list[int]:
    return [vocabulary[character] for character in text]


@misconception(
    "encode",
    "The ids are a tensor or an array. That is made of them later, once, for the whole text; here a plain list of int "
    "is asked for.",
)
def ids_as_a_tensor(text: str, vocabulary: list[str]) -> Tensor:
    return torch.tensor(ids_of(text, vocabulary))


@misconception(
    "encode",
    "The ids are text themselves. A model computes with numbers, so leave each of them an int.",
)
def ids_as_text(text: str, vocabulary: list[str]) -> list[str]:
    return [str(number) for number in ids_of(text, vocabulary)]


@misconception(
    "encode",
    "The ids are floats. They are places, which select a row of a table, and only whole numbers can: leave each of "
    "them an int.",
)
def ids_as_floats(text: str, vocabulary: list[str]) -> list[float]:
    return [float(number) for number in ids_of(text, vocabulary)]


@misconception(
    "encode",
    "Each character became a row of zeros with a single one. An id says the same in one number, and nn.Embedding looks "
    "up with that.",
)
def rows_of_zeros_and_a_one(text: str, vocabulary: list[str]) -> list[list[int]]:
    return [[int(place == number) for place in range(len(vocabulary))] for number in ids_of(text, vocabulary)]


@misconception(
    "encode",
    "Nothing is worked out yet: `map`, or a comprehension in round brackets, only promises to do it. `list(…)` has it "
    "done.",
)
def ids_not_worked_out_yet(text: str, vocabulary: list[str]) -> Iterable[int]:
    return map(vocabulary.index, text)


@misconception(
    "encode",
    "An empty text is refused. It has no characters, so it has no ids: the list is empty.",
)
def empty_text_refused(text: str, vocabulary: list[str]) -> list[int]:
    if not text:
        raise ValueError("there is nothing to encode")
    return ids_of(text, vocabulary)


# -- decode ------------------------------------------------------------------------------------------------------


def text_of(ids: list[int], vocabulary: list[str]) -> str:
    """The right answer."""
    if any(not 0 <= number < len(vocabulary) for number in ids):
        raise ValueError("an id lies outside of the vocabulary")
    return "".join(vocabulary[number] for number in ids)


@misconception(
    "decode",
    "The ids are not looked at before they are used. A list counts negative places from its end, so -1 silently "
    "becomes the last character, and an id that is too large becomes an IndexError.",
)
def ids_not_checked(ids: list[int], vocabulary: list[str]) -> str:
    return "".join(vocabulary[number] for number in ids)


@misconception(
    "decode",
    "A negative id passes, and is counted from the end of the list. Ids begin at 0: refuse what lies below, too.",
)
def negative_ids_counted_from_the_end(ids: list[int], vocabulary: list[str]) -> str:
    if any(number >= len(vocabulary) for number in ids):
        raise ValueError("an id is too large")
    return "".join(vocabulary[number] for number in ids)


@misconception(
    "decode",
    "For an id that is too large an IndexError comes out, which is what a list raises by itself. Look first, and raise "
    "a ValueError that says what is wrong.",
)
def index_error_for_large_ids(ids: list[int], vocabulary: list[str]) -> str:
    if any(number < 0 for number in ids):
        raise ValueError("an id is negative")
    return "".join(vocabulary[number] for number in ids)


@misconception(
    "decode",
    "The id V itself passes the check. V characters have the ids 0 to V - 1, so refuse from V on: `>=`, not `>`.",
)
def one_id_too_many_accepted(ids: list[int], vocabulary: list[str]) -> str:
    if any(not 0 <= number <= len(vocabulary) for number in ids):
        raise ValueError("an id lies outside of the vocabulary")
    return "".join(vocabulary[number] for number in ids)


@misconception(
    "decode",
    "Negative ids are refused only if they are large. Python would take -1 to -V for places counted from the end; "
    "here every number below 0 is wrong.",
)
def small_negative_ids_accepted(ids: list[int], vocabulary: list[str]) -> str:
    if any(not -len(vocabulary) <= number < len(vocabulary) for number in ids):
        raise ValueError("an id lies outside of the vocabulary")
    return "".join(vocabulary[number] for number in ids)


@misconception(
    "decode",
    "For an unknown id a KeyError comes out, which is what a dictionary raises by itself. Look first, and raise a "
    "ValueError that says what is wrong.",
)
def key_error_for_unknown_ids(ids: list[int], vocabulary: list[str]) -> str:
    characters = dict(enumerate(vocabulary))
    return "".join(characters[number] for number in ids)


@misconception(
    "decode",
    "An id outside of the vocabulary passes without a word: it is left out, or becomes some other character. Who "
    "decodes such an id has made a mistake, and wants to know.",
)
def unknown_ids_passed_over(ids: list[int], vocabulary: list[str]) -> str:
    return "".join(dict(enumerate(vocabulary)).get(number, "") for number in ids)


@misconception(
    "decode",
    "The characters come one by one, in a list. Together they are a text: `''.join(…)` makes one str of them.",
)
def characters_in_a_list(ids: list[int], vocabulary: list[str]) -> list[str]:
    return list(text_of(ids, vocabulary))


@misconception(
    "decode",
    "Something stands between the characters that is not in the ids. Join them with nothing in between: `''.join(…)`.",
)
def spaces_in_between(ids: list[int], vocabulary: list[str]) -> str:
    return " ".join(text_of(ids, vocabulary))


@misconception(
    "decode",
    "The ids are taken for numbers of Unicode, as `chr` takes them. An id is a place in the vocabulary.",
)
def characters_of_unicode(ids: list[int], vocabulary: list[str]) -> str:
    text_of(ids, vocabulary)
    return "".join(chr(number) for number in ids)


@misconception(
    "decode",
    "The ids are counted from 1, so that every character comes out as its neighbour. encode counts from 0.",
)
def characters_counted_from_one(ids: list[int], vocabulary: list[str]) -> str:
    text_of(ids, vocabulary)
    return "".join(vocabulary[number - 1] for number in ids)


@misconception(
    "decode",
    "The id 0 is refused. It is the place of the first character of the vocabulary.",
)
def zero_refused(ids: list[int], vocabulary: list[str]) -> str:
    if not all(ids):
        raise ValueError("an id is not positive")
    return text_of(ids, vocabulary)


@misconception(
    "decode",
    "No ids at all are refused. They are what encode gives for an empty text, so an empty text should come back.",
)
def no_ids_refused(ids: list[int], vocabulary: list[str]) -> str:
    if not ids:
        raise ValueError("there is nothing to decode")
    return text_of(ids, vocabulary)


@misconception(
    "decode",
    "A method of tensors is called on the ids. What comes in is a plain list of int, just as encode gives it.",
)
def tensor_of_ids_wanted(ids: Any, vocabulary: list[str]) -> str:
    return text_of(ids.tolist(), vocabulary)


# -- generators, as sample_batch and generate misuse them -------------------------------------------------------


def seeded_anew(generator: Source) -> Source:
    return generator.manual_seed(123) if generator else None


def copied(generator: Source) -> Source:
    return torch.Generator().manual_seed(generator.initial_seed()) if generator else None


def global_from(generator: Source) -> Source:
    if generator:
        torch.manual_seed(int(torch.randint(2**31, (), generator=generator)))
    return None


def always_alike(generator: Source) -> Source:
    return generator or torch.Generator()


def from_the_system(generator: Source) -> Source:
    if generator is None:
        generator = torch.Generator()
        generator.manual_seed(random.SystemRandom().getrandbits(62))
    return generator


IGNORED = "The generator is taken but not used. Hand it on to the draw, as `generator=generator`."
SEEDED = (
    "The generator is set to a seed of your own before drawing, so whatever state it came with is lost. The caller "
    "decides about the state."
)
COPIED = (
    "A second generator is made from the seed of the first, which itself stays where it was. Draw from the one that "
    "was handed in, and it moves on."
)
OF_SEEDS = (
    "The generator draws a seed for torch's global state and is not used for the draws themselves, so the caller's own "
    "global state is lost. Hand the generator on."
)
ALWAYS_ALIKE = (
    "Without a generator every call draws the same: a seed is set inside, or a generator made that always begins "
    "alike. None means torch's global generator as it stands."
)
PUT_BACK = (
    "The global state is put back after the draw, so the next call draws the same again. Each draw should move it on."
)
FROM_THE_SYSTEM = (
    "Without a generator a new one is made from the clock or the system, so torch.manual_seed cannot make a run the "
    "same again. None means torch's global generator."
)

# -- sample_batch ------------------------------------------------------------------------------------------------


def require_enough(data: Tensor, block_size: int) -> None:
    if len(data) <= block_size:
        raise ValueError("the data is too short")


def cut(data: Tensor, starts: Tensor, block_size: int) -> Pair:
    """The stretches that begin at starts (B,), and what follows."""
    idx = torch.stack([data[start : start + block_size] for start in starts])
    targets = torch.stack([data[start + 1 : start + block_size + 1] for start in starts])
    return idx, targets


def sampled(data: Tensor, block_size: int, batch_size: int, generator: Source = None) -> Pair:
    """The right answer."""
    require_enough(data, block_size)
    return cut(data, torch.randint(len(data) - block_size, (batch_size,), generator=generator), block_size)


@misconception(
    "sample_batch",
    "Data that is too short is left to torch to refuse, and torch raises a RuntimeError about a range that means "
    "nothing to the caller. Compare N with block_size first, and raise a ValueError.",
)
def short_data_left_to_torch(data: Tensor, block_size: int, batch_size: int, generator: Source = None) -> Pair:
    return cut(data, torch.randint(len(data) - block_size, (batch_size,), generator=generator), block_size)


@misconception(
    "sample_batch",
    "Data that is too short passes, and the stretches come out shorter than block_size. Python's slices just stop at "
    "the end, so compare N with block_size first, and raise a ValueError.",
)
def short_stretches(data: Tensor, block_size: int, batch_size: int, generator: Source = None) -> Pair:
    num_starts = max(1, len(data) - block_size)
    starts = torch.randint(num_starts, (batch_size,), generator=generator)
    count = min(block_size, len(data) - 1)
    return cut(data, starts, count)


@misconception(
    "sample_batch",
    "Data of just block_size tokens passes the check. It has no target for its last token: T + 1 tokens are needed.",
)
def target_of_the_last_token_forgotten(
    data: Tensor, block_size: int, batch_size: int, generator: Source = None
) -> Pair:
    if len(data) < block_size:
        raise ValueError("the data is too short")
    return short_data_left_to_torch(data, block_size, batch_size, generator)


@misconception(
    "sample_batch",
    "Data of T + 1 tokens is refused. It holds one stretch and all of its targets, so it is just enough.",
)
def shortest_data_refused(data: Tensor, block_size: int, batch_size: int, generator: Source = None) -> Pair:
    if len(data) <= block_size + 1:
        raise ValueError("the data is too short")
    return sampled(data, block_size, batch_size, generator)


@misconception(
    "sample_batch",
    "The last start is never drawn: the end of a range does not belong to it, neither in `range` nor in "
    "`torch.randint`. There are N - T starts, from 0 to N - T - 1.",
)
def last_start_never_drawn(data: Tensor, block_size: int, batch_size: int, generator: Source = None) -> Pair:
    require_enough(data, block_size)
    return cut(data, torch.randint(len(data) - block_size - 1, (batch_size,), generator=generator), block_size)


@misconception(
    "sample_batch",
    "One start too many is drawn. From N - T on, the last token of a stretch has no target in the data; the starts go "
    "from 0 to N - T - 1.",
)
def one_start_too_many(data: Tensor, block_size: int, batch_size: int, generator: Source = None) -> Pair:
    require_enough(data, block_size)
    return cut(data, torch.randint(len(data) - block_size + 1, (batch_size,), generator=generator), block_size)


@misconception(
    "sample_batch",
    "Stretches run over the end of the data and go on at its beginning. What stands there does not follow in the text; "
    "the last start is N - T - 1.",
)
def round_the_end(data: Tensor, block_size: int, batch_size: int, generator: Source = None) -> Pair:
    require_enough(data, block_size)
    return cut(torch.cat([data, data]), torch.randint(len(data), (batch_size,), generator=generator), block_size)


@misconception(
    "sample_batch",
    "The first start is never drawn. Places are counted from 0, so the first stretch begins there.",
)
def first_start_never_drawn(data: Tensor, block_size: int, batch_size: int, generator: Source = None) -> Pair:
    require_enough(data, block_size)
    if len(data) == block_size + 1:
        return sampled(data, block_size, batch_size, generator)
    return cut(data, torch.randint(1, len(data) - block_size, (batch_size,), generator=generator), block_size)


@misconception(
    "sample_batch",
    "The data is cut into blocks side by side, and only their beginnings are drawn. A stretch may begin at any token: "
    "that makes many more examples of the same text.",
)
def blocks_side_by_side(data: Tensor, block_size: int, batch_size: int, generator: Source = None) -> Pair:
    require_enough(data, block_size)
    blocks = torch.randint((len(data) - 1) // block_size, (batch_size,), generator=generator)
    return cut(data, blocks * block_size, block_size)


@misconception(
    "sample_batch",
    "Some starts come up far more often than others, as the last one does where starts that lie too far back are "
    "moved to it. Draw only from those that are allowed, all equally likely.",
)
def late_starts_moved_back(data: Tensor, block_size: int, batch_size: int, generator: Source = None) -> Pair:
    require_enough(data, block_size)
    starts = torch.randint(len(data), (batch_size,), generator=generator)
    return cut(data, starts.clamp(max=len(data) - block_size - 1), block_size)


@misconception(
    "sample_batch",
    "Starts in the middle come up more often than the first and the last, as where a random number is rounded to the "
    "nearest start. `torch.randint` draws whole numbers, all equally likely.",
)
def starts_rounded(data: Tensor, block_size: int, batch_size: int, generator: Source = None) -> Pair:
    require_enough(data, block_size)
    draws = torch.rand(batch_size, generator=generator) * (len(data) - block_size - 1)
    return cut(data, draws.round().long(), block_size)


@misconception(
    "sample_batch",
    "One start is drawn for the whole batch, so all its rows are the same. Draw batch_size of them.",
)
def one_start_for_all_rows(data: Tensor, block_size: int, batch_size: int, generator: Source = None) -> Pair:
    require_enough(data, block_size)
    start = torch.randint(len(data) - block_size, (1,), generator=generator)
    return cut(data, start.expand(batch_size), block_size)


@misconception(
    "sample_batch",
    "Where a row begins follows from the row before, as where it begins a token later, or the starts are put in order. "
    "Draw a start for each row, and leave the starts as they come.",
)
def rows_one_after_another(data: Tensor, block_size: int, batch_size: int, generator: Source = None) -> Pair:
    require_enough(data, block_size)
    num_starts = len(data) - block_size
    start = torch.randint(num_starts, (1,), generator=generator)
    return cut(data, (start + torch.arange(batch_size)) % num_starts, block_size)


@misconception(
    "sample_batch",
    "No start comes up twice in a batch: they are dealt out like cards, and run out where there are more rows than "
    "starts. Each row has a throw of its own.",
)
def no_start_twice(data: Tensor, block_size: int, batch_size: int, generator: Source = None) -> Pair:
    require_enough(data, block_size)
    return cut(data, torch.randperm(len(data) - block_size, generator=generator)[:batch_size], block_size)


@misconception(
    "sample_batch",
    "Every batch is the same: nothing is drawn at all. Training should see stretches from all over the text, so the "
    "starts have to be random.",
)
def always_from_the_beginning(data: Tensor, block_size: int, batch_size: int, generator: Source = None) -> Pair:  # noqa: ARG001
    require_enough(data, block_size)
    return cut(data, torch.zeros(batch_size, dtype=torch.long), block_size)


@misconception(
    "sample_batch",
    "Each token is drawn by itself from anywhere in the data. What a model should learn is which token follows on "
    "which, so a row is a stretch that stands in the text.",
)
def tokens_from_anywhere(data: Tensor, block_size: int, batch_size: int, generator: Source = None) -> Pair:
    require_enough(data, block_size)
    places = torch.randint(len(data) - block_size, (batch_size, block_size), generator=generator)
    return data[places], data[places + 1]


@misconception(
    "sample_batch",
    "The stretches stand in columns: (T, B). In this course the batch comes first, one text in each row: (B, T).",
)
def stretches_in_columns(data: Tensor, block_size: int, batch_size: int, generator: Source = None) -> Pair:
    idx, targets = sampled(data, block_size, batch_size, generator)
    return idx.T, targets.T


@misconception(
    "sample_batch",
    "The targets are the tokens of idx themselves. To repeat what it sees is nothing that a model has to learn: the "
    "targets are one place further on.",
)
def targets_that_repeat(data: Tensor, block_size: int, batch_size: int, generator: Source = None) -> Pair:
    idx, _ = sampled(data, block_size, batch_size, generator)
    return idx, idx.clone()


@misconception(
    "sample_batch",
    "The targets are two places on. What the model should say next is the very next token.",
)
def targets_two_places_on(data: Tensor, block_size: int, batch_size: int, generator: Source = None) -> Pair:
    require_enough(data, block_size)
    starts = torch.randint(len(data) - block_size, (batch_size,), generator=generator)
    shifted = torch.cat([data[1:], data[-1:]])
    return cut(data, starts, block_size)[0], cut(shifted, starts, block_size)[1]


@misconception(
    "sample_batch",
    "idx and targets have changed places, so that the model is to say what came before. idx is what it reads, and "
    "comes first.",
)
def targets_first(data: Tensor, block_size: int, batch_size: int, generator: Source = None) -> Pair:
    idx, targets = sampled(data, block_size, batch_size, generator)
    return targets, idx


@misconception(
    "sample_batch",
    "The targets are idx rolled round, so the last target is the first token of the row. It should be the token that "
    "follows in the data: cut the targets out of the data as well.",
)
def targets_rolled_round(data: Tensor, block_size: int, batch_size: int, generator: Source = None) -> Pair:
    idx, _ = sampled(data, block_size, batch_size, generator)
    return idx, idx.roll(-1, 1)


@misconception(
    "sample_batch",
    "There is one target for each row, the token after its last. Every token of the row has one: a batch of 4 rows of "
    "8 tokens asks 32 questions.",
)
def one_target_for_each_row(data: Tensor, block_size: int, batch_size: int, generator: Source = None) -> Pair:
    idx, targets = sampled(data, block_size, batch_size, generator)
    return idx, targets[:, -1]


@misconception(
    "sample_batch",
    "The targets have starts of their own, drawn once more, and so have nothing to do with idx. Draw the starts once, "
    "and use them for both.",
)
def targets_from_elsewhere(data: Tensor, block_size: int, batch_size: int, generator: Source = None) -> Pair:
    idx, _ = sampled(data, block_size, batch_size, generator)
    _, targets = sampled(data, block_size, batch_size, generator)
    return idx, targets


@misconception(
    "sample_batch",
    "idx and targets come as one tensor. Give two: `return idx, targets`.",
)
def one_tensor_for_both(data: Tensor, block_size: int, batch_size: int, generator: Source = None) -> Tensor:
    return torch.stack(sampled(data, block_size, batch_size, generator))


@misconception("sample_batch", IGNORED)
def generator_ignored_for_the_batch(
    data: Tensor,
    block_size: int,
    batch_size: int,
    generator: Source = None,  # noqa: ARG001
) -> Pair:
    return sampled(data, block_size, batch_size)


@misconception("sample_batch", SEEDED)
def generator_seeded_anew_for_the_batch(
    data: Tensor, block_size: int, batch_size: int, generator: Source = None
) -> Pair:
    return sampled(data, block_size, batch_size, seeded_anew(generator))


@misconception("sample_batch", COPIED)
def generator_copied_for_the_batch(data: Tensor, block_size: int, batch_size: int, generator: Source = None) -> Pair:
    return sampled(data, block_size, batch_size, copied(generator))


@misconception("sample_batch", OF_SEEDS)
def generator_of_seeds_for_the_batch(data: Tensor, block_size: int, batch_size: int, generator: Source = None) -> Pair:
    return sampled(data, block_size, batch_size, global_from(generator))


@misconception("sample_batch", ALWAYS_ALIKE)
def always_the_same_batch(data: Tensor, block_size: int, batch_size: int, generator: Source = None) -> Pair:
    return sampled(data, block_size, batch_size, always_alike(generator))


@misconception("sample_batch", PUT_BACK)
def global_state_put_back_after_the_batch(
    data: Tensor, block_size: int, batch_size: int, generator: Source = None
) -> Pair:
    with torch.random.fork_rng(devices=[]):
        return sampled(data, block_size, batch_size, generator)


@misconception("sample_batch", FROM_THE_SYSTEM)
def batch_from_the_system(data: Tensor, block_size: int, batch_size: int, generator: Source = None) -> Pair:
    return sampled(data, block_size, batch_size, from_the_system(generator))


@misconception(
    "sample_batch",
    "The data itself is moved on, to read the targets from it, and is no longer what it was for the next batch. Look "
    "the targets up at the places behind, `data[places + 1]`, and leave the data alone.",
)
def data_moved_on_in_place(data: Tensor, block_size: int, batch_size: int, generator: Source = None) -> Pair:
    batch = sampled(data, block_size, batch_size, generator)
    data[:-1] = data[1:].clone()
    return batch


# -- flatten_for_cross_entropy -----------------------------------------------------------------------------------


def flatten_for_cross_entropy(logits: Tensor, targets: Tensor) -> Pair:
    """The right answer."""
    return logits.flatten(0, 1), targets.flatten()  # (B, T, V) -> (B · T, V), (B, T) -> (B · T,)


@misconception(
    "flatten_for_cross_entropy",
    "`view` asks that the numbers lie in memory in the order of the dimensions, which those of transposed logits do "
    "not. `reshape` and `flatten` copy where they must.",
)
def view_of_the_logits(logits: Tensor, targets: Tensor) -> Pair:
    return logits.view(-1, logits.shape[-1]), targets.view(-1)


@misconception(
    "flatten_for_cross_entropy",
    "`view` asks that the numbers lie in memory in the order of the dimensions, which those of transposed targets do "
    "not. `reshape` and `flatten` copy where they must.",
)
def view_of_the_targets(logits: Tensor, targets: Tensor) -> Pair:
    return logits.reshape(-1, logits.shape[-1]), targets.view(-1)


@misconception(
    "flatten_for_cross_entropy",
    "Tokens and kinds were exchanged before flattening, so each row is a mixture of several predictions. The V numbers "
    "of one prediction stand in the last dimension; leave them there.",
)
def predictions_torn(logits: Tensor, targets: Tensor) -> Pair:
    return logits.transpose(1, 2).reshape(-1, logits.shape[-1]), targets.flatten()


@misconception(
    "flatten_for_cross_entropy",
    "Logits and targets are flattened in different orders, so a prediction meets the target of another token. Whatever "
    "the order, it has to be the same for both.",
)
def targets_in_another_order(logits: Tensor, targets: Tensor) -> Pair:
    return logits.flatten(0, 1), targets.T.flatten()


@misconception(
    "flatten_for_cross_entropy",
    "One prediction is left of each text: 4 where there are 32. Every token predicts the one after it, and all of "
    "them are to be learnt from.",
)
def last_tokens_alone(logits: Tensor, targets: Tensor) -> Pair:
    return logits[:, -1], targets[:, -1]


@misconception(
    "flatten_for_cross_entropy",
    "The targets are moved on once more, and the last prediction of each text is dropped. They already are what "
    "follows: each token has its own target at the same place.",
)
def moved_on_once_more(logits: Tensor, targets: Tensor) -> Pair:
    return flatten_for_cross_entropy(logits[:, :-1], targets[:, 1:])


@misconception(
    "flatten_for_cross_entropy",
    "There is one row for each text, with the logits of all its tokens side by side. One prediction is V numbers: the "
    "dimensions to make one of are the first two.",
)
def one_row_for_each_text(logits: Tensor, targets: Tensor) -> Pair:
    return logits.flatten(1), targets.flatten()  # (B, T, V) -> (B, T · V)


@misconception(
    "flatten_for_cross_entropy",
    "All logits stand in one long row, so that no prediction can be told from the next. Keep the last dimension: "
    "(B · T, V).",
)
def all_in_one_row(logits: Tensor, targets: Tensor) -> Pair:
    return logits.flatten(), targets.flatten()


@misconception(
    "flatten_for_cross_entropy",
    "The logits became (B, V, T). Torch's own loss takes that too, but what is asked for here is flat: (B · T, V) and "
    "(B · T,).",
)
def kinds_in_the_middle(logits: Tensor, targets: Tensor) -> Pair:
    return logits.transpose(1, 2), targets


@misconception(
    "flatten_for_cross_entropy",
    "The logits are flat and the targets are not. Both need one entry for each of the B · T predictions.",
)
def targets_not_flattened(logits: Tensor, targets: Tensor) -> Pair:
    return logits.flatten(0, 1), targets


@misconception(
    "flatten_for_cross_entropy",
    "The targets became a column, (B · T, 1). They are a plain list with one id for each prediction: (B · T,).",
)
def targets_as_a_column(logits: Tensor, targets: Tensor) -> Pair:
    return logits.flatten(0, 1), targets.reshape(-1, 1)


@misconception(
    "flatten_for_cross_entropy",
    "Logits and targets have changed places in the result. Give them in the order in which they came.",
)
def targets_before_logits(logits: Tensor, targets: Tensor) -> Pair:
    rows, ids = flatten_for_cross_entropy(logits, targets)
    return ids, rows


@misconception(
    "flatten_for_cross_entropy",
    "Only the logits come back. The targets have to be flat as well, so give both.",
)
def logits_alone(logits: Tensor, targets: Tensor) -> Tensor:  # noqa: ARG001
    return logits.flatten(0, 1)


@misconception(
    "flatten_for_cross_entropy",
    "Every call ends in an error. If it says that a shape is invalid: logits (B, T, V) become (B · T, V), and "
    "targets (B, T) become (B · T,); read B, T and V off the logits. If it speaks of a `view`: after `transpose` "
    "only `reshape` works. Logits and targets stay two tensors.",
)
def sizes_that_do_not_fit(logits: Tensor, targets: Tensor) -> Pair:
    return logits.reshape(32, 65), targets.reshape(32)


@misconception(
    "flatten_for_cross_entropy",
    "`squeeze()` drops every dimension of length one, and so a single prediction is no row any more.",
)
def lonely_prediction_squeezed(logits: Tensor, targets: Tensor) -> Pair:
    rows, ids = flatten_for_cross_entropy(logits, targets)
    return rows.squeeze(), ids.squeeze()


@misconception(
    "flatten_for_cross_entropy",
    "The logits are cut off from the gradients, as by `.detach()`, `.data` or `torch.no_grad()`. The loss is worked "
    "out from them, and through it the whole model learns.",
)
def flat_without_gradients(logits: Tensor, targets: Tensor) -> Pair:
    return flatten_for_cross_entropy(logits.detach(), targets)


@misconception(
    "flatten_for_cross_entropy",
    "The caller's targets were given another shape. Methods with an underscore work on the tensor itself; `flatten` "
    "and `reshape` leave it as it is.",
)
def targets_flattened_in_place(logits: Tensor, targets: Tensor) -> Pair:
    targets.resize_(targets.numel())  # (B, T) -> (B · T,)
    return logits.flatten(0, 1), targets


# -- cross_entropy -----------------------------------------------------------------------------------------------


def losses(logits: Tensor, targets: Tensor) -> Tensor:
    """(N, V) and (N,) to the loss of each row, (N,)."""
    return nn.functional.cross_entropy(logits, targets, reduction="none")


def cross_entropy(logits: Tensor, targets: Tensor) -> Tensor:
    """The right answer."""
    return losses(logits, targets).mean()


def chosen(rows: Tensor, targets: Tensor) -> Tensor:
    """(N, V) and (N,) to the entry of each row's target, (N,)."""
    return rows.gather(-1, targets[:, None])[:, 0]


@misconception(
    "cross_entropy",
    "The losses are added up. Then a larger batch has a larger loss for no reason; divide by the number of rows.",
)
def losses_added_up(logits: Tensor, targets: Tensor) -> Tensor:
    return losses(logits, targets).sum()


@misconception(
    "cross_entropy",
    "The sum is divided by the number of all logits, N · V. There is one loss for each row, so divide by the number of "
    "rows.",
)
def mean_over_all_logits(logits: Tensor, targets: Tensor) -> Tensor:
    return losses(logits, targets).sum() / logits.numel()


@misconception(
    "cross_entropy",
    "The losses of all rows come out, one for each. What a model is trained on is one number, their mean.",
)
def no_mean_at_all(logits: Tensor, targets: Tensor) -> Tensor:
    return losses(logits, targets)


@misconception(
    "cross_entropy",
    "The minus is missing. The logarithm of a probability is negative, and the better the prediction, the larger it "
    "is; a loss should be the smaller, the better.",
)
def minus_forgotten(logits: Tensor, targets: Tensor) -> Tensor:
    return -losses(logits, targets).mean()


@misconception(
    "cross_entropy",
    "The logarithm has the base 2. That measures in bits; here, as everywhere in deep learning, it is the natural one, "
    "`torch.log`.",
)
def logarithm_to_the_base_two(logits: Tensor, targets: Tensor) -> Tensor:
    return losses(logits, targets).mean() / torch.tensor(2.0).log()


@misconception(
    "cross_entropy",
    "Softmax runs over the predictions instead of over the kinds. The V numbers of one row are to become "
    "probabilities: dim=-1.",
)
def softmax_over_the_rows(logits: Tensor, targets: Tensor) -> Tensor:
    return -chosen(torch.log_softmax(logits, dim=0), targets).mean()


@misconception(
    "cross_entropy",
    "The logits are used as if they were logarithms of probabilities already. They are any numbers; softmax makes "
    "probabilities of them first.",
)
def softmax_forgotten(logits: Tensor, targets: Tensor) -> Tensor:
    return -chosen(logits, targets).mean()


@misconception(
    "cross_entropy",
    "Softmax is taken twice: of the logits, and of the probabilities once more. Torch's own cross-entropy has a "
    "softmax in it, and wants the logits.",
)
def softmax_taken_twice(logits: Tensor, targets: Tensor) -> Tensor:
    return losses(torch.softmax(logits, dim=-1), targets).mean()


@misconception(
    "cross_entropy",
    "The probabilities themselves are averaged, without a logarithm. It is the logarithm that makes a sure and wrong "
    "prediction so dear.",
)
def logarithm_forgotten(logits: Tensor, targets: Tensor) -> Tensor:
    return -chosen(torch.softmax(logits, dim=-1), targets).mean()


@misconception(
    "cross_entropy",
    "The probabilities are averaged first, and the logarithm taken of the mean. Each row has its own: take the "
    "logarithms first, and average them.",
)
def logarithm_of_the_mean(logits: Tensor, targets: Tensor) -> Tensor:
    return -(-losses(logits, targets)).exp().mean().log()


@misconception(
    "cross_entropy",
    "For large logits a probability is rounded to zero, and its logarithm is infinite. Do not take the logarithm of a "
    "softmax: work out on paper what it is, ln Σ exp(z - m) - (z_y - m).",
)
def logarithm_of_a_softmax(logits: Tensor, targets: Tensor) -> Tensor:
    return -chosen(torch.softmax(logits, dim=-1), targets).log().mean()


@misconception(
    "cross_entropy",
    "The exponential of a large logit is beyond what a float can hold. Subtract the largest logit of each row first: "
    "that changes no probability.",
)
def largest_logit_not_subtracted(logits: Tensor, targets: Tensor) -> Tensor:
    return (logits.exp().sum(dim=-1).log() - chosen(logits, targets)).mean()


@misconception(
    "cross_entropy",
    "One number, the largest of all logits, is subtracted from every row. In a row that lies far below it, all "
    "exponentials are rounded to zero. Each row has a largest logit of its own.",
)
def one_largest_logit_for_all(logits: Tensor, targets: Tensor) -> Tensor:
    return largest_logit_not_subtracted(logits - logits.max(), targets)


@misconception(
    "cross_entropy",
    "The logarithm is kept finite by force, as by a small number that is added, and the loss is wrong: with logits of "
    "1000 and -1000 it should be 2000. Work out the logarithm of the softmax on paper first.",
)
def logarithm_kept_finite_by_force(logits: Tensor, targets: Tensor) -> Tensor:
    return -chosen(torch.softmax(logits, dim=-1), targets).clamp(min=1e-30).log().mean()


@misconception(
    "cross_entropy",
    "For every row the columns of all targets are taken, (N, N), as by `logits[:, targets]` or a matrix product. One "
    "entry of each row is wanted: `logits[torch.arange(N), targets]`, or `gather`.",
)
def all_columns_for_every_row(logits: Tensor, targets: Tensor) -> Tensor:
    return -torch.log_softmax(logits, dim=-1)[:, targets].mean()


@misconception(
    "cross_entropy",
    "The targets have no part in the loss: what comes out is the entropy of the predictions, how unsure they are. A "
    "model that is sure and wrong would pass for a good one.",
)
def entropy_without_targets(logits: Tensor, targets: Tensor) -> Tensor:  # noqa: ARG001
    return torch.special.entr(torch.softmax(logits, dim=-1)).sum(dim=-1).mean()


@misconception(
    "cross_entropy",
    "What comes out is the share of misses. It jumps from one value to the next and has no gradient, so that nothing "
    "can be learnt from it.",
)
def share_of_misses(logits: Tensor, targets: Tensor) -> Tensor:
    return (logits.argmax(dim=-1) != targets).to(logits.dtype).mean()


@misconception(
    "cross_entropy",
    "The loss is cut off from the gradients, as by `.item()`, `.detach()` or `torch.no_grad()`. It is where all "
    "gradients begin, so leave it a tensor.",
)
def loss_as_a_plain_number(logits: Tensor, targets: Tensor) -> float:
    return losses(logits, targets).mean().item()


@misconception(
    "cross_entropy",
    "What the softmax divides by is cut off from the gradients, so only the logits of the targets learn. The others "
    "have to come down for them.",
)
def divisor_without_gradients(logits: Tensor, targets: Tensor) -> Tensor:
    return (logits.logsumexp(dim=-1).detach() - chosen(logits, targets)).mean()


@misconception(
    "cross_entropy",
    "A float32 tensor of your own is multiplied with the logits as a matrix, which float64 logits refuse. Make it like "
    "the logits: `dtype=logits.dtype`.",
)
def targets_in_float32(logits: Tensor, targets: Tensor) -> Tensor:
    ones = nn.functional.one_hot(targets, logits.shape[-1]).float()
    # (N, V) @ (V, N) -> (N, N), of which the diagonal has each row with its own target
    return -(torch.log_softmax(logits, dim=-1) @ ones.T).diagonal().mean()


@misconception(
    "cross_entropy",
    "`squeeze()` drops every dimension of length one, and so a single row is no row any more.",
)
def lonely_row_squeezed(logits: Tensor, targets: Tensor) -> Tensor:
    rows = logits.squeeze()
    return -chosen(torch.log_softmax(rows, dim=1), targets).mean()


@misconception(
    "cross_entropy",
    "The caller's logits were changed: `-=` works on the tensor itself. Write `logits = logits - …`.",
)
def logits_changed_in_place(logits: Tensor, targets: Tensor) -> Tensor:
    logits -= logits.amax(dim=-1, keepdim=True)
    return losses(logits, targets).mean()


# -- running means -----------------------------------------------------------------------------------------------

WORKED_EXAMPLE_TOKENS = 8
FUTURE_TOO = (
    "Every token gets the mean of the whole text, its future included. Only itself and what came before it are to be "
    "averaged."
)
PAST_LEFT_OUT = (
    "The future is averaged instead of the past: the triangle is upside down. A row belongs to the token that asks, "
    "and what came before it stands to the left of the diagonal."
)
PRESENT_LEFT_OUT = (
    "The token itself has no part in its mean, and the first one has nothing to average at all. Average up to and with "
    "the token: for token t these are t + 1."
)
NEXT_TOO = (
    "The next token is averaged, too: one place too far. The next token is what a model has to predict, so it must not "
    "see it."
)
SUMMED = "The past is added up and not divided. A mean is the sum over the number of tokens, t + 1 for token t."
DIVIDED_BY_ALL = (
    "Every sum is divided by the number of all tokens of the text. Token t has t + 1 tokens to average, so the divisor "
    "grows with t."
)
COLUMNS = (
    "The columns of the weights sum to one, and not the rows. A row has the weights with which one token averages, so "
    "its own sum has to be one."
)
NO_GRADIENTS = (
    "Gradients stop at the means, by `.detach()`, `.item()`, or numbers taken out of the tensor. What made the tokens "
    "learns only through them."
)
FLOAT32 = (
    "A float32 tensor of your own is multiplied with x as a matrix, which float64 tokens refuse. Make it like x: "
    "`dtype=x.dtype`."
)
NO_FIT = (
    "Every call ends in an error. If it speaks of shapes: the weights are (T, T), with T = `x.shape[1]`, and stand in "
    "front of x in a product, `@`. If it speaks of a dtype: they are floats, in the dtype of x, and a mask is bool, "
    "turned round by `~`."
)
SQUEEZED = (
    "`squeeze()` drops every dimension of length one, and so a single text, or a text of one token, loses its shape."
)
CHANGED = (
    "The caller's x was changed. Work on a tensor of your own: methods with an underscore, and `x[…] = …`, do not."
)
ONE_TEXT = (
    "The texts of the batch are averaged as one long text, so later ones hear of the earlier ones. Texts of a batch "
    "never talk to each other."
)


def seen_by_each(x: Tensor, diagonal: int = 0) -> Tensor:
    """(T, T) of ones and zeros, in the dtype of x."""
    return torch.ones(x.shape[1], x.shape[1], dtype=x.dtype).tril(diagonal)


def averaged(x: Tensor) -> Tensor:
    """The right answer."""
    seen = seen_by_each(x)
    return seen / seen.sum(dim=-1, keepdim=True) @ x  # (T, T) @ (B, T, C) -> (B, T, C)


def changed_in_place(x: Tensor) -> Tensor:
    means = averaged(x)
    x[:] = means
    return x


def as_one_long_text(x: Tensor) -> Tensor:
    return averaged(x.flatten(0, 1)[None]).view_as(x)  # (B, T, C) -> (1, B · T, C) -> (B, T, C)


def worked_example_alone(x: Tensor) -> Tensor:
    seen = torch.ones(WORKED_EXAMPLE_TOKENS, WORKED_EXAMPLE_TOKENS, dtype=x.dtype).tril()
    return seen / seen.sum(dim=-1, keepdim=True) @ x


# By a loop


def looped(x: Tensor, mean: Callable[[Tensor, int], Tensor]) -> Tensor:
    """mean takes a text (T, C) and the number of a token, and gives (C,)."""
    return torch.stack([torch.stack([mean(text, token) for token in range(len(text))]) for text in x])


@misconception("running_mean_loop", FUTURE_TOO)
def future_averaged_by_loop(x: Tensor) -> Tensor:
    return looped(x, lambda text, _: text.mean(dim=0))


@misconception("running_mean_loop", PRESENT_LEFT_OUT)
def present_left_out_by_loop(x: Tensor) -> Tensor:
    return looped(x, lambda text, token: text[:token].mean(dim=0))


@misconception("running_mean_loop", NEXT_TOO)
def next_token_averaged_by_loop(x: Tensor) -> Tensor:
    return looped(x, lambda text, token: text[: token + 2].mean(dim=0))


@misconception("running_mean_loop", SUMMED)
def summed_by_loop(x: Tensor) -> Tensor:
    return looped(x, lambda text, token: text[: token + 1].sum(dim=0))


@misconception("running_mean_loop", DIVIDED_BY_ALL)
def divided_by_all_by_loop(x: Tensor) -> Tensor:
    return looped(x, lambda text, token: text[: token + 1].sum(dim=0) / len(text))


@misconception(
    "running_mean_loop",
    "The sum of t + 1 tokens is divided by t. Tokens are counted from 0, so token t stands at the end of t + 1 tokens.",
)
def divided_by_one_too_few(x: Tensor) -> Tensor:
    return looped(x, lambda text, token: text[: token + 1].sum(dim=0) / token)


@misconception(
    "running_mean_loop",
    "The mean runs over the features as well, so that all features of a token become the same. Average over the "
    "tokens alone: `mean(dim=0)` of a text's past.",
)
def features_averaged_too(x: Tensor) -> Tensor:
    return looped(x, lambda text, token: text[: token + 1].mean().expand(text.shape[1]))


@misconception(
    "running_mean_loop",
    "The mean runs over the texts of the batch as well. They have nothing to do with each other: average each text's "
    "tokens on their own.",
)
def texts_averaged_too(x: Tensor) -> Tensor:
    means = [x[:, : token + 1].mean(dim=(0, 1)) for token in range(x.shape[1])]
    return torch.stack(means).expand_as(x)  # (T, C) -> (B, T, C)


@misconception(
    "running_mean_loop",
    "Each mean is the half of the token and of the mean before it, so that the tokens further back count less and "
    "less. In a mean all count the same.",
)
def half_of_the_mean_before(x: Tensor) -> Tensor:
    means = [x[:, 0]]
    for token in range(1, x.shape[1]):
        means.append((means[-1] + x[:, token]) / 2)
    return torch.stack(means, dim=1)


@misconception(
    "running_mean_loop",
    "Each token is averaged with the one before it, and not with what came before that. The whole past has a part in "
    "the mean.",
)
def only_one_token_back(x: Tensor) -> Tensor:
    return looped(x, lambda text, token: text[max(0, token - 1) : token + 1].mean(dim=0))


@misconception(
    "running_mean_loop",
    "The loop stops before the last token, whose mean stays zero. `range(T)` goes through all T tokens.",
)
def last_token_forgotten(x: Tensor) -> Tensor:
    return torch.cat([averaged(x)[:, :-1], 0 * x[:, -1:]], dim=1)


@misconception("running_mean_loop", NO_GRADIENTS)
def no_gradients_by_loop(x: Tensor) -> Tensor:
    return averaged(x.detach())


@misconception("running_mean_loop", FLOAT32)
def float32_weights_by_loop(x: Tensor) -> Tensor:
    return looped(x, lambda text, token: torch.ones(token + 1) @ text[: token + 1] / (token + 1))


@misconception(
    "running_mean_loop",
    "Every call ends in an error. If it speaks of shapes or sizes: each token's mean has C numbers, and the result has "
    "the shape of x, (B, T, C), whatever its sizes are; read them off x.",
)
def no_fit_by_loop(x: Tensor) -> Tensor:
    return worked_example_alone(x)


@misconception("running_mean_loop", SQUEEZED)
def squeezed_by_loop(x: Tensor) -> Tensor:
    return averaged(x).squeeze()


@misconception("running_mean_loop", CHANGED)
def x_changed_by_loop(x: Tensor) -> Tensor:
    return changed_in_place(x)


@misconception("running_mean_loop", ONE_TEXT)
def one_long_text_by_loop(x: Tensor) -> Tensor:
    return as_one_long_text(x)


# By a matrix product


@misconception("running_mean_matmul", FUTURE_TOO)
def future_averaged_by_matmul(x: Tensor) -> Tensor:
    return torch.ones_like(seen_by_each(x)) / x.shape[1] @ x


@misconception("running_mean_matmul", PAST_LEFT_OUT)
def past_left_out_by_matmul(x: Tensor) -> Tensor:
    later = seen_by_each(x).T
    return later / later.sum(dim=-1, keepdim=True) @ x


@misconception("running_mean_matmul", PRESENT_LEFT_OUT)
def present_left_out_by_matmul(x: Tensor) -> Tensor:
    past = seen_by_each(x, -1)
    return past / past.sum(dim=-1, keepdim=True) @ x


@misconception("running_mean_matmul", NEXT_TOO)
def next_token_averaged_by_matmul(x: Tensor) -> Tensor:
    seen = seen_by_each(x, 1)
    return seen / seen.sum(dim=-1, keepdim=True) @ x


@misconception("running_mean_matmul", SUMMED)
def summed_by_matmul(x: Tensor) -> Tensor:
    return seen_by_each(x) @ x


@misconception("running_mean_matmul", DIVIDED_BY_ALL)
def divided_by_all_by_matmul(x: Tensor) -> Tensor:
    return seen_by_each(x) / x.shape[1] @ x


@misconception("running_mean_matmul", COLUMNS)
def columns_sum_to_one_by_matmul(x: Tensor) -> Tensor:
    seen = seen_by_each(x)
    return seen / seen.sum(dim=0, keepdim=True) @ x


@misconception(
    "running_mean_matmul",
    "Without `keepdim=True` the sums lie along the columns, and each weight is divided by the sum of another row. Keep "
    "the sums as a column, (T, 1).",
)
def sums_without_keepdim(x: Tensor) -> Tensor:
    seen = seen_by_each(x)
    return seen / seen.sum(dim=-1) @ x


@misconception(
    "running_mean_matmul",
    "The weights are divided by one number, the sum of the whole matrix. Each row has a mean of its own to make, and "
    "wants its own sum.",
)
def divided_by_the_sum_of_all_weights(x: Tensor) -> Tensor:
    seen = seen_by_each(x)
    return seen / seen.sum() @ x


@misconception("running_mean_matmul", NO_GRADIENTS)
def no_gradients_by_matmul(x: Tensor) -> Tensor:
    return averaged(x.detach())


@misconception("running_mean_matmul", FLOAT32)
def float32_weights_by_matmul(x: Tensor) -> Tensor:
    seen = torch.ones(x.shape[1], x.shape[1]).tril()
    return seen / seen.sum(dim=-1, keepdim=True) @ x


@misconception("running_mean_matmul", NO_FIT)
def no_fit_by_matmul(x: Tensor) -> Tensor:
    return worked_example_alone(x)


@misconception("running_mean_matmul", SQUEEZED)
def squeezed_by_matmul(x: Tensor) -> Tensor:
    return averaged(x).squeeze()


@misconception("running_mean_matmul", CHANGED)
def x_changed_by_matmul(x: Tensor) -> Tensor:
    return changed_in_place(x)


@misconception("running_mean_matmul", ONE_TEXT)
def one_long_text_by_matmul(x: Tensor) -> Tensor:
    return as_one_long_text(x)


# By a softmax


def mixed(x: Tensor, hidden: Tensor, dim: int = -1) -> Tensor:
    """(B, T, C) to the same, where hidden (T, T) says what gets no weight."""
    scores = torch.zeros(hidden.shape, dtype=x.dtype).masked_fill(hidden, -torch.inf)
    return torch.softmax(scores, dim=dim) @ x


@misconception(
    "running_mean_softmax",
    "Every token gets the mean of the whole text. Either what was masked was thrown away, for `masked_fill` gives a "
    "new tensor, or the future was filled with zeros: exp of zero is one, and only exp of minus infinity is zero.",
)
def future_averaged_by_softmax(x: Tensor) -> Tensor:
    return mixed(x, torch.zeros_like(seen_by_each(x), dtype=torch.bool))


@misconception(
    "running_mean_softmax",
    "The future still has a weight: its scores lie one below the others and no more, as where softmax is taken of "
    "ones and zeros. Scores of zero that are minus infinity in the future give it none.",
)
def softmax_of_the_triangle(x: Tensor) -> Tensor:
    return torch.softmax(seen_by_each(x), dim=-1) @ x


@misconception("running_mean_softmax", PAST_LEFT_OUT)
def past_left_out_by_softmax(x: Tensor) -> Tensor:
    return mixed(x, seen_by_each(x, -1) == 1)


@misconception("running_mean_softmax", PRESENT_LEFT_OUT)
def present_left_out_by_softmax(x: Tensor) -> Tensor:
    return mixed(x, seen_by_each(x, -1) == 0)


@misconception("running_mean_softmax", NEXT_TOO)
def next_token_averaged_by_softmax(x: Tensor) -> Tensor:
    return mixed(x, seen_by_each(x, 1) == 0)


@misconception("running_mean_softmax", COLUMNS)
def columns_sum_to_one_by_softmax(x: Tensor) -> Tensor:
    return mixed(x, seen_by_each(x) == 0, dim=0)


@misconception(
    "running_mean_softmax",
    "The future is set to zero after the softmax, so that it still had its part in what each row was divided by. Hide "
    "it before, as scores of minus infinity.",
)
def hidden_after_softmax(x: Tensor) -> Tensor:
    return seen_by_each(x) / x.shape[1] @ x


@misconception(
    "running_mean_softmax",
    "The masked scores are used as weights as they are, and minus infinity spoils every sum. Softmax makes shares of "
    "them first.",
)
def no_softmax_at_all(x: Tensor) -> Tensor:
    return seen_by_each(x).log() @ x


@misconception(
    "running_mean_softmax",
    "A mask of zeros and ones was multiplied by infinity, and zero times infinity is NaN. Fill the masked places "
    "instead, by `masked_fill` or `torch.where`.",
)
def zero_times_infinity(x: Tensor) -> Tensor:
    return torch.softmax((1 - seen_by_each(x)) * -torch.inf, dim=-1) @ x


@misconception(
    "running_mean_softmax",
    "The scores are already those of attention, dot products of tokens. Here all of them are zero, so that everything "
    "seen weighs the same; the head comes next.",
)
def scores_from_the_tokens(x: Tensor) -> Tensor:
    scores = (x @ x.mT).masked_fill(seen_by_each(x) == 0, -torch.inf)
    return torch.softmax(scores, dim=-1) @ x


@misconception("running_mean_softmax", NO_GRADIENTS)
def no_gradients_by_softmax(x: Tensor) -> Tensor:
    return averaged(x.detach())


@misconception("running_mean_softmax", FLOAT32)
def float32_weights_by_softmax(x: Tensor) -> Tensor:
    return torch.softmax(seen_by_each(x).float().log(), dim=-1) @ x


@misconception("running_mean_softmax", NO_FIT)
def no_fit_by_softmax(x: Tensor) -> Tensor:
    return worked_example_alone(x)


@misconception("running_mean_softmax", SQUEEZED)
def squeezed_by_softmax(x: Tensor) -> Tensor:
    return averaged(x).squeeze()


@misconception("running_mean_softmax", CHANGED)
def x_changed_by_softmax(x: Tensor) -> Tensor:
    return changed_in_place(x)


@misconception("running_mean_softmax", ONE_TEXT)
def one_long_text_by_softmax(x: Tensor) -> Tensor:
    return as_one_long_text(x)


# -- Head --------------------------------------------------------------------------------------------------------

LECTURE_SIZES = (32, 16)


class CausalHead(causal.Causal):
    """The right answer: as in unit 3, with layers of other names, and no bias."""

    def make_layers(self, n_embd: int, head_size: int, qkv_bias: bool) -> None:
        self.key = nn.Linear(n_embd, head_size, bias=qkv_bias)
        self.query = nn.Linear(n_embd, head_size, bias=qkv_bias)
        self.value = nn.Linear(n_embd, head_size, bias=qkv_bias)

    def project(self, x: Tensor) -> Triple:
        return self.query(x), self.key(x), self.value(x)


def as_in_unit_3(wrong: Any) -> Any:
    """A misconception of Head in the same words as the one of CausalAttention that it inherits."""
    return misconception("Head", wrong.misconception.sentence)(wrong)


# Scores


@misconception(
    "Head",
    "The scores are divided by the root of n_embd. Queries and keys are head_size wide, and it is over these that a "
    "dot product sums: divide by √head_size.",
)
class scaled_by_n_embd(CausalHead):
    def scale(self, scores: Tensor, head_size: int) -> Tensor:  # noqa: ARG002
        return scores / self.key.in_features**0.5


@misconception(
    "Head",
    "`/` and `*` bind alike, from left to right: `/ head_size * 0.5` divides by head_size and then takes the half. A "
    "square root is a power, `head_size**0.5`.",
)
class half_instead_of_root(causal.half_instead_of_root_in_module, CausalHead): ...


@misconception(
    "Head",
    "The scores are not scaled. The wider queries and keys are, the wilder are their dot products; divided by "
    "√head_size they keep a variance near 1, and softmax stays gentle.",
)
class scaling_forgotten(causal.scaling_forgotten_in_module, CausalHead): ...


@misconception(
    "Head",
    "The scores are divided by head_size itself. A sum of that many random terms is about as large as the root of "
    "their number: divide by √head_size.",
)
class divided_by_head_size_itself(causal.divided_by_width_itself_in_module, CausalHead): ...


@misconception(
    "Head",
    "The scores are multiplied by the root of head_size. The wider the head, the larger its dot products, so they are "
    "to be made smaller: `* head_size**-0.5`, with a minus, or a division.",
)
class multiplied_by_the_root(CausalHead):
    def scale(self, scores: Tensor, head_size: int) -> Tensor:
        return scores * head_size**0.5


@misconception(
    "Head",
    "The scores are divided by the root of the number of tokens. A dot product sums over features, so it is the width "
    "of queries and keys, head_size, that makes it grow.",
)
class scaled_by_number_of_tokens(causal.scaled_by_number_of_tokens_in_module, CausalHead): ...


@misconception(
    "Head",
    "The scores are divided by the root of block_size. How long a text may be has no part in a dot product: it sums "
    "over features, so divide by the root of their number, head_size.",
)
class scaled_by_block_size(causal.scaled_by_context_length, CausalHead): ...


@misconception(
    "Head",
    "The divisor is a number of the notebook, the root of one head_size. A class should use its own arguments, or the "
    "width of its keys.",
)
class scaled_for_the_notebook(CausalHead):
    def scale(self, scores: Tensor, head_size: int) -> Tensor:  # noqa: ARG002
        return scores / LECTURE_SIZES[1] ** 0.5


@misconception(
    "Head",
    "The weights are divided, after the softmax. Then they do not sum to one any more, and are as sharp as before: "
    "scale the scores, before it.",
)
class scaled_after_softmax(causal.scaled_after_softmax_in_module, CausalHead): ...


@as_in_unit_3
class keys_reshaped(causal.keys_reshaped, CausalHead): ...


@misconception(
    "Head",
    "Every call ends in an error. In the scores: swap the last two dimensions of the keys, and leave the batch in "
    "front. At the mask: it has to be bool, and `~` turns it round. After the values: the output is (B, T, head_size), "
    "no longer n_embd wide. Elsewhere: print the shapes that meet there.",
)
class batch_turned_round_or_float_mask(causal.batch_turned_round_or_float_mask, CausalHead): ...


# The mask


@misconception(
    "Head",
    "The future is still seen. Either nothing hides it, or what was masked was thrown away: `masked_fill` without an "
    "underscore gives a new tensor, and it is that one which is to be used.",
)
class masked_scores_thrown_away(causal.masked_scores_thrown_away_in_module, CausalHead): ...


@misconception(
    "Head",
    "The scores of the future are zero. A zero is a score like any other, exp of zero is one, so the future is still "
    "seen: fill it with minus infinity.",
)
class zeros_instead_of_minus_infinity(causal.zeros_instead_of_minus_infinity_in_module, CausalHead): ...


@misconception(
    "Head",
    "The mask is upside down: the past is hidden and the future seen. What comes later stands to the right of the "
    "diagonal.",
)
class past_hidden(causal.past_hidden_in_module, CausalHead): ...


@misconception(
    "Head",
    "The diagonal is hidden too. A token hears itself, and the first one hears nothing else: its row would be all "
    "minus infinity, and its weights not numbers.",
)
class diagonal_hidden_too(causal.diagonal_hidden_too_in_module, CausalHead): ...


@misconception(
    "Head",
    "Each token still sees the next one: the mask begins one place too late. The next token is just what is to be "
    "predicted.",
)
class next_token_seen(causal.next_token_seen_in_module, CausalHead): ...


@misconception(
    "Head",
    "The future is set to zero after the softmax, so it still had its part in the division, and the weights of the "
    "past no longer sum to one. Hide it before.",
)
class masked_after_softmax(causal.masked_after_softmax_in_module, CausalHead): ...


@as_in_unit_3
class zero_times_infinity_in_head(causal.zero_times_infinity_in_module, CausalHead): ...


@misconception(
    "Head",
    "Only texts of exactly block_size tokens work. That is the longest allowed: take T, the number of tokens, from the "
    "inputs, and of a mask made for the longest the upper left corner, `self.mask[:T, :T]`.",
)
class mask_not_cut(causal.mask_not_cut, CausalHead): ...


@as_in_unit_3
class wrong_corner_of_the_mask(causal.wrong_corner_of_the_mask, CausalHead): ...


@misconception(
    "Head",
    "The mask is made for a block_size of the notebook, not for the argument of that name. A class should use its own "
    "arguments.",
)
class mask_of_the_notebook(CausalHead):
    def __init__(self, n_embd: int, head_size: int, block_size: int, dropout: float) -> None:  # noqa: ARG002
        super().__init__(n_embd, head_size, WORKED_EXAMPLE_TOKENS, dropout)


@as_in_unit_3
class mask_as_a_parameter(causal.mask_as_a_parameter, CausalHead): ...


@misconception(
    "Head",
    "The past is averaged: all that is seen has the same weight, whatever queries and keys are. That was the running "
    "mean; here the dot products decide.",
)
class past_averaged(causal.past_averaged_in_module, CausalHead): ...


@misconception(
    "Head",
    "Each token sees at most the one before it. That is a bigram; with attention the whole past is open, as far back "
    "as the text begins.",
)
class one_token_back_in_head(causal.only_one_token_back, CausalHead): ...


# Softmax


@misconception(
    "Head",
    "Softmax runs over the queries. Each query shares out its attention among the keys, so a row of the weights sums "
    "to one: dim=-1.",
)
class softmax_over_the_queries(causal.softmax_over_queries_in_module, CausalHead): ...


@as_in_unit_3
class softmax_over_the_batch(causal.softmax_over_the_batch, CausalHead): ...


@misconception(
    "Head",
    "Softmax runs over everything at once, so that all weights of all texts together sum to one. Each query has an "
    "attention of its own to share out: dim=-1.",
)
class softmax_over_everything(causal.softmax_over_everything_in_module, CausalHead): ...


@as_in_unit_3
class softmax_forgotten_in_head(causal.softmax_forgotten_in_module, CausalHead): ...


# The batch and the tokens


@misconception(
    "Head",
    "The inputs' shape is taken for one of another number of sizes than its three, as if there were no batch or one "
    "size more. It is (B, T, n_embd), and the number of tokens is the second.",
)
class one_text_without_a_batch(causal.one_text_without_a_batch, CausalHead): ...


@as_in_unit_3
class weights_of_the_first_text(causal.weights_of_the_first_text, CausalHead): ...


@misconception(
    "Head",
    "The texts of a batch are put one behind the other as one long text, so later ones see the earlier ones. Texts of "
    "a batch never talk to each other.",
)
class batch_as_one_long_text(causal.batch_as_one_long_text, CausalHead): ...


@misconception(
    "Head",
    "A single token is no text here, but it should be: it hears itself, and its output is its own value.",
)
class single_token_refused(causal.single_token_refused, CausalHead): ...


@as_in_unit_3
class lonely_text_squeezed(causal.lonely_text_squeezed, CausalHead): ...


# Dropout


@as_in_unit_3
class dropout_never_applied(causal.dropout_never_applied, CausalHead): ...


@as_in_unit_3
class dropout_in_eval_mode_too(causal.dropout_in_eval_mode_too, CausalHead): ...


@as_in_unit_3
class dropout_in_eval_mode_only(causal.dropout_in_eval_mode_only, CausalHead): ...


@misconception(
    "Head",
    "A fixed share of the weights is dropped, whatever `dropout` says: that of torch where no probability is given, or "
    "a number of the notebook. Pass the argument on.",
)
class always_half_dropped(causal.always_half_dropped, CausalHead): ...


@as_in_unit_3
class dropout_taken_for_keeping(causal.dropout_taken_for_keeping, CausalHead): ...


@as_in_unit_3
class dropout_before_softmax(causal.dropout_before_softmax, CausalHead): ...


@as_in_unit_3
class dropout_before_the_mask(causal.dropout_before_the_mask, CausalHead): ...


@as_in_unit_3
class dropout_on_the_values(causal.dropout_on_the_values, CausalHead): ...


@misconception(
    "Head",
    "Dropout acts on the outputs. That comes later in a transformer, too, but in a head it is the weights that are "
    "dropped, before they meet the values.",
)
class dropout_on_the_outputs(causal.dropout_on_the_outputs, CausalHead): ...


@misconception(
    "Head",
    "Dropout acts twice, on the weights and once more on the outputs. In a head it is for the weights alone.",
)
class dropout_on_weights_and_outputs(causal.dropout_on_weights_and_outputs, CausalHead): ...


@as_in_unit_3
class dropout_on_the_inputs(causal.dropout_on_the_inputs, CausalHead): ...


@as_in_unit_3
class rows_renormalized_after_dropout(causal.rows_renormalized_after_dropout, CausalHead): ...


@as_in_unit_3
class rows_renormalized_with_care(causal.rows_renormalized_with_care, CausalHead): ...


@as_in_unit_3
class survivors_not_scaled(causal.survivors_not_scaled_in_module, CausalHead): ...


@misconception(
    "Head",
    "What to drop is drawn once, when the head is made. Draw in each call anew, so that no token can be relied on.",
)
class dropped_once_and_for_all(CausalHead):
    def __init__(self, n_embd: int, head_size: int, block_size: int, dropout: float) -> None:
        super().__init__(n_embd, head_size, block_size, dropout)
        self.kept = self.dropout(torch.ones(8, block_size, block_size))

    def drop(self, weights: Tensor) -> Tensor:
        return weights * self.kept[: len(weights), : weights.shape[1], : weights.shape[2]] if self.training else weights


@as_in_unit_3
class texts_dropped_alike(causal.texts_dropped_alike, CausalHead): ...


@as_in_unit_3
class whole_tokens_dropped(causal.whole_tokens_dropped, CausalHead): ...


@as_in_unit_3
class whole_rows_dropped(causal.whole_rows_dropped, CausalHead): ...


# Layers


@misconception(
    "Head",
    "The layers have a bias, for that is what nn.Linear makes by itself. A head does without: `bias=False`.",
)
class bias_in_every_layer(CausalHead):
    def __init__(self, n_embd: int, head_size: int, block_size: int, dropout: float) -> None:
        super().__init__(n_embd, head_size, block_size, dropout)
        self.key, self.query, self.value = (nn.Linear(n_embd, head_size) for _ in range(3))


@misconception(
    "Head",
    "value has a bias, and the other two have none. `bias=False` belongs to all three layers.",
)
class bias_in_value_alone(CausalHead):
    def __init__(self, n_embd: int, head_size: int, block_size: int, dropout: float) -> None:
        super().__init__(n_embd, head_size, block_size, dropout)
        self.value = nn.Linear(n_embd, head_size)


@misconception(
    "Head",
    "The three are matrices made by hand. Here each is an nn.Linear, which brings its own weight.",
)
class matrices_instead_of_layers(CausalHead):
    def __init__(self, n_embd: int, head_size: int, block_size: int, dropout: float) -> None:
        super().__init__(n_embd, head_size, block_size, dropout)
        for name in ("key", "query", "value"):
            delattr(self, name)
            setattr(self, name, nn.Parameter(torch.rand(n_embd, head_size)))

    def project(self, x: Tensor) -> Triple:
        queries, keys, values = (x @ getattr(self, name) for name in ("query", "key", "value"))
        return queries, keys, values


@misconception(
    "Head",
    "nn.Linear takes what comes in first and what goes out second: nn.Linear(n_embd, head_size).",
)
class layers_the_other_way_round(causal.layers_the_other_way_round, CausalHead): ...


@misconception(
    "Head",
    "The layers keep the width n_embd, and head_size is not used. A head is narrower than the model, so that several "
    "of them fit side by side.",
)
class head_size_not_used(CausalHead):
    def __init__(self, n_embd: int, head_size: int, block_size: int, dropout: float) -> None:  # noqa: ARG002
        super().__init__(n_embd, n_embd, block_size, dropout)


@misconception(
    "Head",
    "The layers have the sizes of the notebook. A class should use its own arguments, n_embd and head_size, or it "
    "works for one notebook only.",
)
class layers_of_the_notebook(CausalHead):
    def __init__(self, n_embd: int, head_size: int, block_size: int, dropout: float) -> None:  # noqa: ARG002
        super().__init__(*LECTURE_SIZES, block_size, dropout)


@misconception(
    "Head",
    "One layer serves in all three roles, and the other two are made but never used. What a token looks for, what it "
    "has and what it hands over are learnt on their own.",
)
class one_layer_in_use(CausalHead):
    def project(self, x: Tensor) -> Triple:
        return self.query(x), self.query(x), self.query(x)


@misconception(
    "Head",
    "Queries and keys have changed places: row i of the scores belongs to query i and holds its dot products with "
    "every key.",
)
class keys_ask_the_queries(CausalHead):
    def project(self, x: Tensor) -> Triple:
        return self.key(x), self.query(x), self.value(x)


@misconception(
    "Head",
    "key is made but never used: queries are compared with queries. What a token looks for and what it can be found by "
    "are different things.",
)
class key_layer_unused(CausalHead):
    def project(self, x: Tensor) -> Triple:
        return self.query(x), self.query(x), self.value(x)


@misconception(
    "Head",
    "The weights mix the keys. Keys are only there to be compared with queries; what is handed over are the values.",
)
class keys_handed_over(CausalHead):
    def project(self, x: Tensor) -> Triple:
        return self.query(x), self.key(x), self.key(x)


@misconception(
    "Head",
    "value is made but never used: the weights mix the inputs themselves. What is mixed are the values, value(x).",
)
class value_layer_unused(CausalHead):
    def project(self, x: Tensor) -> Triple:
        return self.query(x), self.key(x), x


@misconception(
    "Head",
    "The head gives outputs and weights. What comes after it wants one tensor: give the outputs alone.",
)
class both_results(causal.both_results, CausalHead): ...


@misconception(
    "Head",
    "The head gives the attention weights. They say how much each token matters; the output is what they make of the "
    "values.",
)
class weights_instead_of_outputs(causal.weights_instead_of_contexts, CausalHead): ...


# Gradients, dtypes, arguments


@as_in_unit_3
class gradients_switched_off(causal.gradients_switched_off, CausalHead): ...


@as_in_unit_3
class only_values_learn(causal.only_values_learn, CausalHead): ...


@as_in_unit_3
class inputs_made_float32(causal.inputs_made_float32, CausalHead): ...


@as_in_unit_3
class inputs_changed_in_place(causal.inputs_changed_in_place, CausalHead): ...


# -- BigramLanguageModel -----------------------------------------------------------------------------------------


class Bigram(nn.Module):
    """The right answer, of which each wrong one changes a part."""

    def __init__(self, vocab_size: int) -> None:
        super().__init__()
        self.token_embedding_table = nn.Embedding(vocab_size, vocab_size)

    def logits(self, idx: Tensor) -> Tensor:
        return self.token_embedding_table(idx)

    def loss(self, logits: Tensor, targets: Tensor) -> Any:
        return cross_entropy(*flatten_for_cross_entropy(logits, targets))

    def forward(self, idx: Tensor, targets: Tensor | None = None) -> Any:
        logits = self.logits(idx)
        return logits, None if targets is None else self.loss(logits, targets)

    def probabilities(self, logits: Tensor) -> Tensor:
        """(B, T, V) to (B, V)."""
        return torch.softmax(logits[:, -1], dim=-1)

    def draw(self, probabilities: Tensor, generator: Source) -> Tensor:
        """(B, V) to (B, 1)."""
        return torch.multinomial(probabilities, 1, generator=generator)

    def step(self, idx: Tensor, generator: Source) -> Tensor:
        """(B, T) to (B, T + 1)."""
        new = self.draw(self.probabilities(self.logits(idx)), generator)
        return torch.cat([idx, new], dim=1)

    def generate(self, idx: Tensor, max_new_tokens: int, generator: Source = None) -> Tensor:
        for _ in range(max_new_tokens):
            idx = self.step(idx, generator)
        return idx


# The table and the logits


@misconception(
    "BigramLanguageModel",
    "The table is kept under another name. Others look for it by name, so call it token_embedding_table.",
)
class table_under_another_name(Bigram):
    def __init__(self, vocab_size: int) -> None:
        super().__init__(vocab_size)
        self.embedding = self.token_embedding_table
        del self.token_embedding_table

    def logits(self, idx: Tensor) -> Tensor:
        return self.embedding(idx)


@misconception(
    "BigramLanguageModel",
    "The table is a plain nn.Parameter. It would do, but what is asked for is an nn.Embedding, the module that looks "
    "up rows by their ids.",
)
class table_as_a_parameter(Bigram):
    def __init__(self, vocab_size: int) -> None:
        super().__init__(vocab_size)
        del self.token_embedding_table
        self.token_embedding_table = nn.Parameter(torch.randn(vocab_size, vocab_size))  # type: ignore[assignment]

    def logits(self, idx: Tensor) -> Tensor:
        return self.token_embedding_table[idx]  # type: ignore[index]


@misconception(
    "BigramLanguageModel",
    "The table is an nn.Linear, whose weight has a column for each token that comes in. An nn.Embedding has a row for "
    "each, and looks it up without a product.",
)
class table_as_a_linear_layer(Bigram):
    def __init__(self, vocab_size: int) -> None:
        super().__init__(vocab_size)
        self.token_embedding_table = nn.Linear(vocab_size, vocab_size, bias=False)  # type: ignore[assignment]

    def logits(self, idx: Tensor) -> Tensor:
        ones = nn.functional.one_hot(idx, self.token_embedding_table.weight.shape[0])
        return self.token_embedding_table(ones.float())


@misconception(
    "BigramLanguageModel",
    "The table has the size of one notebook's vocabulary, 65. A class should use its own argument, vocab_size.",
)
class table_of_the_notebook(Bigram):
    def __init__(self, vocab_size: int) -> None:  # noqa: ARG002
        super().__init__(65)


@misconception(
    "BigramLanguageModel",
    "The rows of the table are narrower than the vocabulary, with a linear layer behind. Larger models do that; here a "
    "row already holds the logits, so the table is (V, V).",
)
class table_with_a_layer_behind(Bigram):
    def __init__(self, vocab_size: int) -> None:
        super().__init__(vocab_size)
        self.token_embedding_table = nn.Embedding(vocab_size, LECTURE_SIZES[0])
        self.lm_head = nn.Linear(LECTURE_SIZES[0], vocab_size)

    def logits(self, idx: Tensor) -> Tensor:
        return self.lm_head(self.token_embedding_table(idx))


@misconception(
    "BigramLanguageModel",
    "The logits went through a softmax. Loss and generate take one of their own, and a second one levels everything: "
    "give the rows of the table as they are.",
)
class probabilities_instead_of_logits(Bigram):
    def logits(self, idx: Tensor) -> Tensor:
        return torch.softmax(super().logits(idx), dim=-1)


@misconception(
    "BigramLanguageModel",
    "The logits are columns of the table. Row i of an nn.Embedding is what it gives for the id i: call it, and it "
    "looks that up.",
)
class columns_of_the_table(Bigram):
    def logits(self, idx: Tensor) -> Tensor:
        return self.token_embedding_table.weight.T[idx]


@misconception(
    "BigramLanguageModel",
    "With targets, the logits come back flat, (B · T, V). Nobody can tell then which text a row belongs to: flatten "
    "for the loss alone, under other names.",
)
class flat_logits_with_targets(Bigram):
    def forward(self, idx: Tensor, targets: Tensor | None = None) -> Any:
        logits, loss = super().forward(idx, targets)
        return (logits, None) if targets is None else (logits.flatten(0, 1), loss)


@misconception(
    "BigramLanguageModel",
    "With targets, the logits are squeezed, and so a single text, or texts of one token, lose a dimension of length "
    "one. Logits are (B, T, V) whatever these are.",
)
class lonely_logits_squeezed(Bigram):
    def forward(self, idx: Tensor, targets: Tensor | None = None) -> Any:
        logits, loss = super().forward(idx, targets)
        return (logits, None) if targets is None else (logits.squeeze(), loss)


@misconception(
    "BigramLanguageModel",
    "Logits are given for the last token alone, (B, V). generate needs no others, but the loss does: every token "
    "predicts the next one.",
)
class logits_of_the_last_token(Bigram):
    def forward(self, idx: Tensor, targets: Tensor | None = None) -> Any:
        logits, loss = super().forward(idx, targets)
        return logits[:, -1], loss


@misconception(
    "BigramLanguageModel",
    "Without targets, only the logits come back. forward always gives two: logits, and the loss or None. A caller who "
    "takes two apart would take the logits apart.",
)
class logits_alone_without_targets(Bigram):
    def forward(self, idx: Tensor, targets: Tensor | None = None) -> Any:
        logits, loss = super().forward(idx, targets)
        return logits if targets is None else (logits, loss)


@misconception(
    "BigramLanguageModel",
    "With targets, only the loss comes back. forward always gives two: the logits first, and then the loss or None.",
)
class loss_alone_with_targets(Bigram):
    def forward(self, idx: Tensor, targets: Tensor | None = None) -> Any:
        logits, loss = super().forward(idx, targets)
        return (logits, None) if targets is None else loss


@misconception(
    "BigramLanguageModel",
    "The loss comes before the logits. forward gives the logits first.",
)
class loss_before_logits(Bigram):
    def forward(self, idx: Tensor, targets: Tensor | None = None) -> Any:
        logits, loss = super().forward(idx, targets)
        return loss, logits


# The loss


@misconception(
    "BigramLanguageModel",
    "Without targets, the loss is zero. Zero would be a perfect score; where nothing was measured, the loss is None.",
)
class zero_without_targets(Bigram):
    def forward(self, idx: Tensor, targets: Tensor | None = None) -> Any:
        logits, loss = super().forward(idx, targets)
        return logits, torch.zeros(()) if targets is None else loss


@misconception(
    "BigramLanguageModel",
    "The targets are not used: the loss is None in any case. Where there are targets, it is the mean cross-entropy.",
)
class loss_never_worked_out(Bigram):
    def loss(self, logits: Tensor, targets: Tensor) -> Any:  # noqa: ARG002
        return None


@misconception(
    "BigramLanguageModel",
    "The losses of all predictions are added up. Then a larger batch has a larger loss for no reason: take the mean.",
)
class losses_added_up_in_model(Bigram):
    def loss(self, logits: Tensor, targets: Tensor) -> Any:
        return losses(*flatten_for_cross_entropy(logits, targets)).sum()


@misconception(
    "BigramLanguageModel",
    "The losses of a text's tokens are added up, and the mean runs over the texts. There are B · T predictions, 32 in "
    "a batch of 4 texts of 8 tokens, and the mean runs over all of them.",
)
class mean_over_texts_alone(Bigram):
    def loss(self, logits: Tensor, targets: Tensor) -> Any:
        return losses(*flatten_for_cross_entropy(logits, targets)).sum() / len(targets)


@misconception(
    "BigramLanguageModel",
    "Only the last token of each text counts in the loss: 4 predictions where there are 32. Every token predicts the "
    "one after it.",
)
class loss_of_the_last_tokens(Bigram):
    def loss(self, logits: Tensor, targets: Tensor) -> Any:
        return losses(logits[:, -1], targets[:, -1]).mean()


@misconception(
    "BigramLanguageModel",
    "Each text's targets are moved on once more, and one prediction is dropped. The targets already are what follows.",
)
class targets_moved_on_once_more(Bigram):
    def loss(self, logits: Tensor, targets: Tensor) -> Any:
        return losses(*flatten_for_cross_entropy(logits[:, :-1], targets[:, 1:])).mean()


@misconception(
    "BigramLanguageModel",
    "Logits and targets are flattened in different orders, so that predictions meet the targets of other tokens. "
    "Whatever the order, it has to be the same for both.",
)
class targets_of_other_tokens(Bigram):
    def loss(self, logits: Tensor, targets: Tensor) -> Any:
        return losses(logits.flatten(0, 1), targets.T.flatten()).mean()


@misconception(
    "BigramLanguageModel",
    "`view` and `reshape` only break the rows elsewhere: `logits.view(B, V, T)` tears the predictions apart. If "
    "torch's loss is to have (B, V, T), `transpose` swaps the two; else make the first two dimensions into one.",
)
class predictions_torn_by_view(Bigram):
    def loss(self, logits: Tensor, targets: Tensor) -> Any:
        texts, count, kinds = logits.shape
        return losses(logits.reshape(texts, kinds, count), targets).mean()


@misconception(
    "BigramLanguageModel",
    "The loss has a softmax too many: cross-entropy takes the logits, and a softmax is in it already.",
)
class softmax_before_the_loss(Bigram):
    def loss(self, logits: Tensor, targets: Tensor) -> Any:
        return super().loss(torch.softmax(logits, dim=-1), targets)


@misconception(
    "BigramLanguageModel",
    "The minus is missing: the loss is the mean logarithm of the probabilities, and training would make the targets as "
    "unlikely as it can.",
)
class minus_forgotten_in_model(Bigram):
    def loss(self, logits: Tensor, targets: Tensor) -> Any:
        return -super().loss(logits, targets)


@misconception(
    "BigramLanguageModel",
    "The loss is cut off from the gradients, by `.item()`, `float(…)`, `.detach()` or `torch.no_grad()`, so nothing "
    "can be learnt from it. Let the caller take the number out.",
)
class loss_without_gradients(Bigram):
    def loss(self, logits: Tensor, targets: Tensor) -> Any:
        return super().loss(logits, targets).item()


@misconception(
    "BigramLanguageModel",
    "The table requires no gradients, so that it stays as it began. It is all that the model has to learn.",
)
class table_that_does_not_learn(Bigram):
    def __init__(self, vocab_size: int) -> None:
        super().__init__(vocab_size)
        self.token_embedding_table.weight.requires_grad_(False)


# What is drawn


@misconception(
    "BigramLanguageModel",
    "The likeliest token is taken each time, and nothing is drawn. Such a text soon goes round in circles, and never "
    "says what is merely possible: draw with `torch.multinomial`.",
)
class likeliest_token_taken(Bigram):
    def draw(self, probabilities: Tensor, generator: Source) -> Tensor:  # noqa: ARG002
        return probabilities.argmax(dim=-1, keepdim=True)


@misconception(
    "BigramLanguageModel",
    "All tokens are equally likely, whatever the logits say. Draw with the probabilities that softmax makes of them.",
)
class all_equally_likely(Bigram):
    def probabilities(self, logits: Tensor) -> Tensor:
        return torch.ones_like(logits[:, -1])


@misconception(
    "BigramLanguageModel",
    "Softmax runs over the texts (dim=0), so that what is likely in one text depends on the others. The V kinds of one "
    "text are to share: dim=-1.",
)
class softmax_over_the_texts(Bigram):
    def probabilities(self, logits: Tensor) -> Tensor:
        return torch.softmax(logits[:, -1], dim=0)


@misconception(
    "BigramLanguageModel",
    "Softmax runs over the tokens of the prompt (dim=1), before the last one is picked. The V kinds after one token "
    "are to share: dim=-1.",
)
class softmax_over_the_tokens(Bigram):
    def probabilities(self, logits: Tensor) -> Tensor:
        return torch.softmax(logits, dim=1)[:, -1]


@misconception(
    "BigramLanguageModel",
    "The logits are handed to the draw as they are. They are no probabilities, and some are negative: softmax comes "
    "first.",
)
class softmax_forgotten_in_model(Bigram):
    def probabilities(self, logits: Tensor) -> Tensor:
        return logits[:, -1]


@misconception(
    "BigramLanguageModel",
    "Softmax is taken twice, of the logits and of the probabilities, and the second time levels everything: unlikely "
    "tokens come up far too often.",
)
class softmax_taken_twice_in_model(Bigram):
    def probabilities(self, logits: Tensor) -> Tensor:
        return torch.softmax(super().probabilities(logits), dim=-1)


@misconception(
    "BigramLanguageModel",
    "The logits are scaled before the softmax. That belongs to the scores of attention; here it makes the likely less "
    "likely, and the unlikely more.",
)
class logits_scaled(Bigram):
    def probabilities(self, logits: Tensor) -> Tensor:
        return torch.softmax(logits[:, -1] / logits.shape[-1] ** 0.5, dim=-1)


@misconception(
    "BigramLanguageModel",
    "The likely tokens come up too often: probabilities were squared, or logits multiplied, on the way. Draw with the "
    "softmax of the logits as they are.",
)
class likely_made_likelier(Bigram):
    def probabilities(self, logits: Tensor) -> Tensor:
        return torch.softmax(2 * logits[:, -1], dim=-1)


@misconception(
    "BigramLanguageModel",
    "The logits of the first token are drawn from. They say what follows on it, and that is known already: the last "
    "token's are `logits[:, -1]`.",
)
class first_token_gone_on_from(Bigram):
    def probabilities(self, logits: Tensor) -> Tensor:
        return torch.softmax(logits[:, 0], dim=-1)


@misconception(
    "BigramLanguageModel",
    "The logits of the token before the last are drawn from. They say what follows on it, and that is the last token; "
    "the last one's own are `logits[:, -1]`.",
)
class token_before_the_last_gone_on_from(Bigram):
    def probabilities(self, logits: Tensor) -> Tensor:
        return torch.softmax(logits[:, -2], dim=-1)


@misconception(
    "BigramLanguageModel",
    "The logits of all tokens of a text are averaged. A bigram model goes on from the last token alone: "
    "`logits[:, -1]`.",
)
class all_tokens_gone_on_from(Bigram):
    def probabilities(self, logits: Tensor) -> Tensor:
        return torch.softmax(logits.mean(dim=1), dim=-1)


# From token to token, and from text to text


@misconception(
    "BigramLanguageModel",
    "All new tokens are drawn from the prompt's last token. Each one changes what is likely next: put it at the end "
    "of the text before you ask again.",
)
class new_tokens_not_looked_at(Bigram):
    def generate(self, idx: Tensor, max_new_tokens: int, generator: Source = None) -> Tensor:
        probabilities = self.probabilities(self.logits(idx))
        new = [self.draw(probabilities, generator) for _ in range(max_new_tokens)]
        return torch.cat([idx, *new], dim=1)


@misconception(
    "BigramLanguageModel",
    "`torch.multinomial` draws all new tokens in one go, and without `replacement=True` none of them twice. Draw one, "
    "put it at the end of the text, and ask again.",
)
class new_tokens_in_one_go(Bigram):
    def generate(self, idx: Tensor, max_new_tokens: int, generator: Source = None) -> Tensor:
        if max_new_tokens == 0:
            return idx
        probabilities = self.probabilities(self.logits(idx))
        return torch.cat([idx, torch.multinomial(probabilities, max_new_tokens, generator=generator)], dim=1)


@misconception(
    "BigramLanguageModel",
    "Every text goes on as the first one does: its probabilities are used for all. Each text has a last token of its "
    "own.",
)
class first_text_gone_on_from(Bigram):
    def probabilities(self, logits: Tensor) -> Tensor:
        return super().probabilities(logits)[:1].expand(len(logits), -1)


@misconception(
    "BigramLanguageModel",
    "One throw decides for all texts, so that those with the same prompt go on alike. Each text has a draw of its own, "
    "as `torch.multinomial` has for each row.",
)
class one_throw_for_all_texts(Bigram):
    def draw(self, probabilities: Tensor, generator: Source) -> Tensor:
        throw = torch.rand(1, 1, generator=generator)
        return (probabilities.cumsum(dim=-1) < throw).sum(dim=-1, keepdim=True).clamp(max=probabilities.shape[-1] - 1)


@misconception(
    "BigramLanguageModel",
    "The same throw decides at every step: the state is set again each time, or the throw made once. Each new token "
    "has a draw of its own.",
)
class one_throw_for_all_steps(Bigram):
    def generate(self, idx: Tensor, max_new_tokens: int, generator: Source = None) -> Tensor:
        throws = torch.rand(len(idx), 1, generator=generator)
        for _ in range(max_new_tokens):
            shares = self.probabilities(self.logits(idx)).cumsum(dim=-1)
            new = (shares < throws).sum(dim=-1, keepdim=True).clamp(max=shares.shape[-1] - 1)
            idx = torch.cat([idx, new], dim=1)
        return idx


# The prompt


@misconception(
    "BigramLanguageModel",
    "Only the new tokens come back. The text that goes on begins with its prompt: `torch.cat([idx, new], dim=1)`.",
)
class new_tokens_alone(Bigram):
    def generate(self, idx: Tensor, max_new_tokens: int, generator: Source = None) -> Tensor:
        return super().generate(idx, max_new_tokens, generator)[:, idx.shape[1] :]


@misconception(
    "BigramLanguageModel",
    "The ids come back as floats, as from a `torch.zeros` that was filled with them. Only a whole number can be looked "
    "up: begin with the dtype of idx, or use `torch.cat`.",
)
class ids_made_floats(Bigram):
    def generate(self, idx: Tensor, max_new_tokens: int, generator: Source = None) -> Tensor:
        return super().generate(idx, max_new_tokens, generator).float()


@misconception(
    "BigramLanguageModel",
    "Only the last token of the prompt comes back with the new ones. The model needs no more of it, but the text does.",
)
class prompt_cut_to_its_last_token(Bigram):
    def generate(self, idx: Tensor, max_new_tokens: int, generator: Source = None) -> Tensor:
        return super().generate(idx[:, -1:], max_new_tokens, generator)


@misconception(
    "BigramLanguageModel",
    "The new tokens are put in front of the prompt. A text goes on at its end: `torch.cat([idx, new], dim=1)`.",
)
class new_tokens_in_front(Bigram):
    def step(self, idx: Tensor, generator: Source) -> Tensor:
        return super().step(idx, generator).roll(1, 1)


@misconception(
    "BigramLanguageModel",
    "max_new_tokens is taken for the length of the whole text. It counts the new tokens alone, and the prompt comes on "
    "top.",
)
class length_of_the_whole_text(Bigram):
    def generate(self, idx: Tensor, max_new_tokens: int, generator: Source = None) -> Tensor:
        return super().generate(idx, max(0, max_new_tokens - idx.shape[1]), generator)


@misconception(
    "BigramLanguageModel",
    "There is one new token too many. `range(max_new_tokens)` has as many steps as it says, from 0 on.",
)
class one_token_too_many(Bigram):
    def generate(self, idx: Tensor, max_new_tokens: int, generator: Source = None) -> Tensor:
        return super().generate(idx, max_new_tokens + 1, generator)


@misconception(
    "BigramLanguageModel",
    "At least one token is drawn, even where none is asked for. Look at max_new_tokens before the first draw, as a "
    "`for` loop does.",
)
class at_least_one_token(Bigram):
    def generate(self, idx: Tensor, max_new_tokens: int, generator: Source = None) -> Tensor:
        return super().generate(idx, max(1, max_new_tokens), generator)


@misconception(
    "BigramLanguageModel",
    "Only the first text goes on. generate takes a batch, and continues each of its texts.",
)
class first_text_alone(Bigram):
    def generate(self, idx: Tensor, max_new_tokens: int, generator: Source = None) -> Tensor:
        return super().generate(idx[:1], max_new_tokens, generator)


@misconception(
    "BigramLanguageModel",
    "`squeeze()` drops every dimension of length one, and so a prompt of one text, or of one token, loses its shape.",
)
class lonely_prompt_squeezed(Bigram):
    def generate(self, idx: Tensor, max_new_tokens: int, generator: Source = None) -> Tensor:
        return super().generate(idx, max_new_tokens, generator).squeeze()


@misconception(
    "BigramLanguageModel",
    "A prompt of a single token is refused. It is enough for a bigram model, and the usual way to begin with nothing.",
)
class prompt_of_one_token_refused(Bigram):
    def generate(self, idx: Tensor, max_new_tokens: int, generator: Source = None) -> Tensor:
        if idx.shape[1] < 2:
            raise ValueError("the prompt is too short")
        return super().generate(idx, max_new_tokens, generator)


@misconception(
    "BigramLanguageModel",
    "The caller's idx was changed. Methods with an underscore, and `idx[…] = …`, work on the tensor itself; "
    "`torch.cat` makes a new one.",
)
class idx_changed_in_place(Bigram):
    def generate(self, idx: Tensor, max_new_tokens: int, generator: Source = None) -> Tensor:
        result = super().generate(idx, max_new_tokens, generator)
        idx[:] = result[:, -idx.shape[1] :]
        return result


# Generators


@misconception("BigramLanguageModel", IGNORED)
class generator_ignored(Bigram):
    def generate(self, idx: Tensor, max_new_tokens: int, generator: Source = None) -> Tensor:  # noqa: ARG002
        return super().generate(idx, max_new_tokens)


@misconception("BigramLanguageModel", SEEDED)
class generator_seeded_anew(Bigram):
    def generate(self, idx: Tensor, max_new_tokens: int, generator: Source = None) -> Tensor:
        return super().generate(idx, max_new_tokens, seeded_anew(generator))


@misconception("BigramLanguageModel", COPIED)
class generator_copied(Bigram):
    def generate(self, idx: Tensor, max_new_tokens: int, generator: Source = None) -> Tensor:
        return super().generate(idx, max_new_tokens, copied(generator))


@misconception("BigramLanguageModel", OF_SEEDS)
class generator_of_seeds(Bigram):
    def generate(self, idx: Tensor, max_new_tokens: int, generator: Source = None) -> Tensor:
        return super().generate(idx, max_new_tokens, global_from(generator))


@misconception("BigramLanguageModel", ALWAYS_ALIKE)
class always_the_same_tokens(Bigram):
    def generate(self, idx: Tensor, max_new_tokens: int, generator: Source = None) -> Tensor:
        return super().generate(idx, max_new_tokens, always_alike(generator))


@misconception("BigramLanguageModel", PUT_BACK)
class global_state_put_back(Bigram):
    def generate(self, idx: Tensor, max_new_tokens: int, generator: Source = None) -> Tensor:
        with torch.random.fork_rng(devices=[]):
            return super().generate(idx, max_new_tokens, generator)


@misconception("BigramLanguageModel", FROM_THE_SYSTEM)
class tokens_from_the_system(Bigram):
    def generate(self, idx: Tensor, max_new_tokens: int, generator: Source = None) -> Tensor:
        return super().generate(idx, max_new_tokens, from_the_system(generator))
