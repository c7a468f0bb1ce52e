"""sample_batch: hidden tests, known mistakes and right answers."""

from __future__ import annotations

import functools
from collections.abc import Iterator
from typing import Any

import torch
from torch import Tensor
from torch.nn.functional import one_hot

from grader.suites.bigram_language_model.shared import (
    ALIKE,
    ALWAYS_ALIKE,
    IGNORED,
    OF_SEEDS,
    SEED_FOR_ALL,
    B,
    expect_integers,
    expect_shape,
)
from grader.suites.generation import T
from grader.testing.behaviour import generator_draws
from grader.testing.checks import expect_close, expect_error, expect_true, expect_values
from grader.testing.draws import (
    Fresh,
    expect_count,
)
from grader.testing.misconceptions import mistake, replace
from grader.testing.probes import Draw, Property, draws_from_generator, probe, refusal, shares
from grader.testing.student import Student
from grader.testing.suite import Example, Given, contract, kept_arguments, rule

# So long that two rows rarely begin at the same position.
LONG = 400


def fresh_data(fresh: Fresh, count: int) -> torch.Tensor:
    """Different ids (N,), so that each id determines its position."""
    return fresh.order(2 * LONG)[:count]


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


@rule("each row of idx is a piece of the data: T consecutive tokens")
def test_each_row_is_a_stretch_of_the_data(student: Student, fresh: Fresh) -> None:
    """idx should have B rows of T consecutive tokens of the data: shape (B, T)."""
    places, _ = two_batches(student, fresh_data(fresh, LONG))
    expect_true(bool((places.diff(dim=-1) == 1).all()), "The tokens of a row are not consecutive in the data.")


@rule("each target is the next token in the data after the token of idx at the same position")
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


@rule("every start from 0 to N - T - 1 is possible, and no other")
def test_every_start_comes_up(student: Student, fresh: Fresh) -> None:
    """All starts that leave a target for each token should be possible, including the first and the last."""
    # One of nine misses 180 draws with a chance of 9 · (8/9)^180 = 6e-9.
    found = set(starts_of(student, fresh, 9, T, 180).tolist())
    expect_true(max(found) < 9, "One start leaves no target for the last token.")
    expect_true(0 in found, "The first start is never drawn.")
    expect_true(8 in found, "The last start is never drawn.")
    expect_true(len(found) == 9, "Not every start between the first and the last is drawn.")


@rule("all of these starts are equally likely")
def test_starts_are_equally_likely(student: Student, fresh: Fresh) -> None:
    """Over many rows, all possible starts should be drawn about equally often."""
    starts = starts_of(student, fresh, 3, 3, 700)
    found = starts.unique()
    expect_true(len(found) > 1, "Only one start is ever drawn.")
    for start in found:
        # Only the starts that occur: another criterion checks that all do.
        expect_count(starts == start, 1 / len(found), "Some starts are drawn much more often than others.")


@rule("each row is drawn independently, so rows may be the same, and there may be more rows than starts")
def test_each_row_has_a_draw_of_its_own(student: Student, fresh: Fresh) -> None:
    """Each row should be drawn independently, and there may be more rows than starts."""
    starts = starts_of(student, fresh, 4, 1, 360)
    expect_true(len(starts.unique()) > 1, "All rows begin at the same position.")
    # The pairs are disjoint. Two independent draws from four starts are equal in a quarter of them.
    expect_count(starts[0::2] == starts[1::2], 1 / 4, "The start of a row depends on the row before.")


@rule("data of T + 1 tokens is enough")
def test_the_shortest_data_is_enough(student: Student, fresh: Fresh) -> None:
    """Data of T tokens and one more has one start: idx should be its first T tokens, and the targets its last T."""
    two_batches(student, fresh_data(fresh, LONG))
    data = fresh_data(fresh, T + 1)
    # So many rows that both starts occur if there are two; and a single row, which `squeeze` would remove.
    for rows in (40, 1):
        idx, targets = expect_values(student.sample_batch(data, T, rows), 2)
        expect_close(idx, data[:T].expand(rows, T), "The tokens of idx")
        expect_close(targets, data[1:].expand(rows, T), "The targets")


@rule("data of fewer tokens raises ValueError or AssertionError")
def test_data_that_is_too_short_is_refused(student: Student, fresh: Fresh) -> None:
    """If the data is too short for T tokens and their targets, there should be a ValueError or an AssertionError."""
    # An answer that refuses all data does not pass.
    two_batches(student, fresh_data(fresh, LONG))
    for count in (T - 2, T):
        expect_error(functools.partial(student.sample_batch, fresh_data(fresh, count), T, B))


@rule("idx and targets are integers, like data")
def test_a_batch_is_of_integers(student: Student, fresh: Fresh) -> None:
    """The ids of a batch should be integers, like those of the data, both in idx and in the targets."""
    data = fresh_data(fresh, LONG)
    two_batches(student, data)
    idx, targets = expect_values(student.sample_batch(data, T, B), 2)
    positions_in(data, idx, (B, T))
    expect_integers(idx, "idx")
    expect_integers(expect_shape(targets, (B, T), "targets"), "targets")


def drawing(student: Student, fresh: Fresh) -> Given:
    data = fresh_data(fresh, LONG)
    return Given(
        student.sample_batch, [data, T, 6], lambda batch: positions_in(data, expect_values(batch, 2)[0], (6, T))
    )


def sampling(student: Student, fresh: Fresh) -> Given:
    # An answer that draws nothing does not pass.
    two_batches(student, fresh_data(fresh, LONG))
    data = fresh_data(fresh, LONG)
    return Given(
        student.sample_batch, [data, T, B], lambda batch: positions_in(data, expect_values(batch, 2)[0], (B, T))
    )


test_contract = contract(
    sampling,
    *generator_draws(
        "rows", "a_batch_comes_from_the_generator", "the_same_state_gives_the_same_batch",
        "without_a_generator_the_global_one_gives_the_batch", ask=drawing),
    kept_arguments(
        "the_data_is_left_alone", "data is not changed",
        "The result should be tokens of the data, and the call should not change the data.", "The data was changed."),
    # So many rows that two draws are never the same.
    example=Example({"data": torch.arange(20, 30), "block_size": 1, "batch_size": 40}),
)  # fmt: skip


# -- misconceptions ------------------------------------------------------------------------------------------------


# sample_batch and flatten_for_cross_entropy
START = "torch.randint(num_starts, (batch_size, 1), generator=generator)"
BATCH = "data[places], data[places + 1]"

MISCONCEPTIONS = [
    mistake("short_data_left_to_torch", replace("num_starts < 1", "False"),
        "For data that is too short, PyTorch raises a RuntimeError about a range, which the caller does not "
        "understand. Compare N with block_size first, and raise a ValueError."),
    mistake("ids_plus_one", replace("data[places + 1]", "data[places] + 1"),
        "The targets are the ids plus one. A target is the token that follows in the data: the same piece, one "
        "position later."),
    mistake("short_stretches",
        replace("len(data) - block_size", "max(1, len(data) - block_size)")
        .replace("arange(block_size)", "arange(min(block_size, len(data) - 1))"),
        "Data that is too short raises no error, and the pieces are shorter than block_size: Python's slices stop at "
        "the end. Compare N with block_size first, and raise a ValueError."),
    mistake("target_of_the_last_token_forgotten", replace("num_starts < 1", "num_starts < 0"),
        "Data of exactly block_size tokens raises no error. It has no target for its last token: T + 1 tokens are "
        "needed."),
    mistake("shortest_data_refused", replace("num_starts < 1", "num_starts < 2"),
        "Data of T + 1 tokens raises an error. It contains one piece and all of its targets, so it is enough."),
    mistake("last_start_never_drawn", replace("randint(num_starts", "randint(num_starts - 1"),
        "The last start is never drawn: `range` and `torch.randint` do not include the end. There are N - T starts, "
        "from 0 to N - T - 1."),
    mistake("one_start_too_many",
        replace("randint(num_starts", "randint(num_starts + 1")
        .replace(BATCH, "torch.stack([data[i : i + block_size] for i in starts]), "
                 "torch.stack([data[i + 1 : i + 1 + block_size] for i in starts])"),
        "Starts that are too late are drawn. From N - T on, the last token of a piece has no target in the data. The "
        "starts go from 0 to N - T - 1."),
    mistake("blocks_side_by_side",
        replace("torch.randint(num_starts", "block_size * torch.randint((len(data) - 1) // block_size"),
        "The data is cut into separate blocks, and only their starts are drawn. A piece may begin at any token: this "
        "gives many more examples from the same text."),
    mistake("last_target_beyond_the_data", replace("randint(num_starts", "randint(num_starts + 1"),
        "Sometimes the code reads beyond the end of the data, because some starts are too late. The last token of a "
        "piece needs a target too: the last start is N - T - 1."),
    mistake("one_start_for_all_rows",
        replace("(batch_size, 1)", "(1, 1)").replace("starts + torch", "starts.expand(batch_size, 1) + torch"),
        "One start is drawn for the whole batch, so all its rows are the same. Draw batch_size starts."),
    mistake("no_start_twice", replace(START, "torch.randperm(num_starts, generator=generator)[:batch_size, None]"),
        "No start is drawn twice in a batch, so there are not enough if there are more rows than starts. Draw each "
        "row independently."),
    mistake("tokens_from_anywhere",
        replace("(batch_size, 1)", "(batch_size, block_size)").replace("starts + torch.arange(block_size)", "starts"),
        "Each token is drawn separately from the data. A model should learn which token follows which, so a row must "
        "be a piece of the text."),
    mistake("targets_that_repeat", replace("data[places + 1]", "data[places]"),
        "The targets are the tokens of idx themselves. A model does not need to learn to repeat its input: the "
        "targets are one position later."),
    mistake("targets_rolled_round", replace("data[places + 1]", "data[places].roll(-1, 1)"),
        "The targets are idx rotated, so the last target is the first token of the row. It should be the next token "
        "in the data: cut the targets out of the data too."),
    mistake("one_target_for_each_row", replace("data[places + 1]", "data[places + 1][:, -1]"),
        "There is one target for each row, the token after its last. Every token of the row needs a target: a batch "
        "of 4 rows of 8 tokens has 32 predictions."),
    mistake("targets_from_elsewhere", replace("data[places + 1]", f"data[{START} + torch.arange(1, block_size + 1)]"),
        "The targets have their own random starts, so they do not belong to idx. Draw the starts once, and use them "
        "for both."),
    mistake("one_tensor_for_both", replace(BATCH, f"torch.stack([{BATCH}])"),
        "idx and targets are returned as one tensor. Return two: `return idx, targets`."),
    mistake("generator_ignored_for_the_batch", replace(", generator=generator", ""), IGNORED),
    mistake("generator_of_seeds_for_the_batch", replace("=generator)", f"={SEED_FOR_ALL})"), OF_SEEDS),
    mistake("always_the_same_batch", replace("=generator)", f"={ALIKE})"), ALWAYS_ALIKE),
    mistake("data_moved_on_in_place",
        replace(f"return {BATCH}",
                "idx = data[places]\n    data[:-1] = data[1:].clone()\n    return idx, data[places]"),
        "The data itself is shifted for the targets, so it is wrong for the next batch. Read the targets one "
        "position later, `data[positions + 1]`, and do not change the data."),
    mistake("tokens_made_floats", replace(f"return {BATCH}", "return data[places].float(), data[places + 1].float()"),
        "The ids are floats. An id is an index in a table, so it must be an integer, for an embedding and for a loss."),
]  # fmt: skip


# -- probes --------------------------------------------------------------------------------------------------------


def starts_in(data: Tensor, batch: tuple[Tensor, Tensor], block_size: int) -> Tensor:
    """Return the start of each row (B,) in data without repetitions; raise ValueError if a row is not a piece of it."""
    idx, targets = batch
    place = {number: place for place, number in enumerate(data.tolist())}
    starts = torch.tensor([place[row[0]] for row in idx.tolist()])
    stretches = starts[:, None] + torch.arange(block_size)  # (B, 1) + (T,) -> (B, T)
    if not torch.equal(data[stretches], idx) or not torch.equal(data[stretches + 1], targets):
        raise ValueError("idx is no stretch of the data, or the targets are not what comes next")
    return starts


def data_for(draw: Draw, tokens: int) -> Tensor:
    """Ids without repetitions."""
    return torch.tensor(draw.random.sample(range(100), tokens), dtype=torch.int64)


@probe()
def stretches_and_targets(unit: Any, draw: Draw) -> Iterator[Property]:
    block_size, batch_size = draw.sizes(2, 1, 8)
    starts = draw.pick(1, draw.size(1, 9))
    data = data_for(draw, block_size + starts)
    options = draw.pick({}, {"generator": draw.generator})
    given = data.clone()
    batch = unit.sample_batch(given, block_size, batch_size, **options)
    yield "the data afterwards", given
    yield "whether there are two tensors", isinstance(batch, tuple | list)
    idx, targets = batch
    yield "the shapes", [tuple(idx.shape), tuple(targets.shape)]
    yield "whether they are integers", [idx.is_floating_point(), targets.is_floating_point()]
    yield "how many rows are stretches", len(starts_in(data, batch, block_size))
    if starts == 1:
        yield "the only stretch", (idx, targets)


@probe(draws=100)
def short_data_refused(unit: Any, draw: Draw) -> Iterator[Property]:
    block_size = draw.size(1, 8)
    data = data_for(draw, draw.pick(block_size, block_size, draw.size(0, block_size)))
    yield from refusal(unit.sample_batch, data, block_size, draw.size(1, 4))


@probe(draws=6)
def likelihood_of_starts(unit: Any, draw: Draw) -> Iterator[Property]:
    block_size, starts = draw.size(1, 4), draw.size(2, 5)
    data = data_for(draw, block_size + starts)
    options = draw.pick({}, {"generator": draw.generator})
    batch = unit.sample_batch(data.clone(), block_size, 4000, **options)
    yield from shares(one_hot(starts_in(data, batch, block_size), starts).bool())
    batches = [unit.sample_batch(data.clone(), block_size, 2, **options) for _ in range(500)]
    small = torch.stack([starts_in(data, batch, block_size) for batch in batches])  # (500, 2)
    yield from shares(one_hot(small, starts).flatten(1).bool())  # (500, 2, starts) -> (500, 2 · starts)


@probe(draws=4)
def where_starts_are_drawn(unit: Any, draw: Draw) -> Iterator[Property]:
    def result_with(generator: torch.Generator | None) -> Any:
        return unit.sample_batch(data.clone(), 4, 60, generator=generator)

    data = data_for(draw, 60)
    yield from draws_from_generator(result_with, draw.number)


# -- answers -------------------------------------------------------------------------------------------------------


def wrong_answers():
    """Mistakes without a name, and answers with two. Never run here: the audit reads them."""

    import torch.nn.functional as F

    def _places(data, block_size, batch_size, generator=None):
        if len(data) <= block_size:
            raise ValueError("too short")
        return torch.randint(len(data) - block_size, (batch_size, 1), generator=generator) + torch.arange(block_size)

    def targets_that_repeat__and__generator_ignored_for_the_batch(data, block_size, batch_size, generator=None):
        ix = _places(data, block_size, batch_size)
        return data[ix], data[ix]

    def targets_what_comes_before(data, block_size, batch_size, generator=None):
        ix = _places(data, block_size, batch_size, generator)
        return data[ix], data[ix - 1]

    def stretches_of_t_plus_one(data, block_size, batch_size, generator=None):
        ix = _places(data, block_size, batch_size, generator)[:, :1] + torch.arange(block_size + 1)
        return data[ix], data[ix]

    def both_ends_left_out(data, block_size, batch_size, generator=None):
        if len(data) - block_size <= 2:
            ix = _places(data[: block_size + 1], block_size, batch_size, generator)
        else:
            ix = _places(data[1:-1], block_size, batch_size, generator) + 1
        return data[ix], data[ix + 1]

    def sizes_exchanged(data, batch_size, block_size, generator=None):
        ix = _places(data, block_size, batch_size, generator)
        return data[ix], data[ix + 1]

    def one_hot_targets(data, block_size, batch_size, generator=None):
        ix = _places(data, block_size, batch_size, generator)
        return data[ix], F.one_hot(data[ix + 1])

    def places_instead_of_tokens(data, block_size, batch_size, generator=None):
        ix = _places(data, block_size, batch_size, generator)
        return ix, ix + 1

    def tokens_from_anywhere__one_by_one(data, block_size, batch_size, generator=None):
        if len(data) < block_size + 1:
            raise ValueError("too few tokens")
        x, y = [], []
        for _ in range(batch_size * block_size):
            i = torch.randint(0, len(data) - block_size, (1,), generator=generator)
            x.append(data[i])
            y.append(data[i + 1])
        return torch.cat(x).view(batch_size, block_size), torch.cat(y).view(batch_size, block_size)


def right_answers():
    """Answers in other styles. Never run here: the audit reads them."""

    from typing import Optional, Tuple

    def by_hand(data, block_size, batch_size, generator=None):
        last = len(data) - block_size - 1
        if last < 0:
            raise ValueError("too short")
        idx = torch.zeros(batch_size, block_size, dtype=data.dtype)
        targets = torch.zeros(batch_size, block_size, dtype=data.dtype)
        for row in range(batch_size):
            start = torch.randint(0, last + 1, (1,), generator=generator).item()
            for column in range(block_size):
                idx[row, column] = data[start + column]
                targets[row, column] = data[start + column + 1]
        return idx, targets

    def heads_of_unit_four(data, block_size, batch_size, generator=None):
        if len(data) < block_size + 1:
            raise ValueError("too short")
        # Drawn as an order of all starts, of which the first is taken, for each row anew.
        starts = [torch.randperm(len(data) - block_size, generator=generator)[0] for _ in range(batch_size)]
        idx = torch.stack([data.narrow(0, int(start), block_size) for start in starts])
        targets = torch.stack([data.narrow(0, int(start) + 1, block_size) for start in starts])
        return idx.int(), targets.int()

    def index_notation(
        data: Tensor, block_size: int, batch_size: int, generator: Optional[torch.Generator] = None
    ) -> Tuple[Tensor, Tensor]:
        assert data.numel() > block_size, "too few tokens"
        windows = data.unfold(0, block_size + 1, 1)  # (N - T, T + 1)
        throws = torch.rand(batch_size, generator=generator, dtype=torch.float64)
        rows = windows[(throws * len(windows)).floor().long()]
        print("batch", tuple(rows.shape))
        return rows[:, :-1], rows[:, 1:]

    def one_on_another(data, block_size, batch_size, generator=None):
        if data.shape[0] - block_size <= 0:
            raise ValueError("no start leaves a target for every token")
        probabilities = torch.ones(data.shape[0] - block_size)
        starts = torch.multinomial(probabilities, batch_size, replacement=True, generator=generator)
        both = torch.stack([data[start : start + block_size + 1] for start in starts])
        return both[:, :-1].contiguous(), both[:, 1:].contiguous()

    def ready_made(data, block_size, batch_size, generator=None):
        assert len(data) >= block_size + 1
        ix = torch.randint(len(data) - block_size, (batch_size,), generator=generator)
        x = torch.stack([data[i : i + block_size] for i in ix])
        y = torch.stack([data[i + 1 : i + 1 + block_size] for i in ix])
        return x, y
