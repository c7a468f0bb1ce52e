"""Probes of unit 6: the properties that its rules define. The audit compares answers by them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn.functional import one_hot

from grader.suites.attention_probes import (
    causal_at_low_scores,
    dropped_weights,
    one_hot_texts,
    parameters_of_length,
    unit_values,
)
from grader.testing.probes import (
    PROBABILITIES,
    Draw,
    Property,
    alike,
    call,
    draws_from_generator,
    has_parameters,
    layers,
    probe,
    refusal,
    set_layers,
    set_to,
    shares,
)

NAMES = ("key", "query", "value")
CHARACTERS = "abcxyzABCXYZ 0189\n\t.,-'éßЖ語🙂"


# -- characters --------------------------------------------------------------------------------------------------


def text_of(draw: Draw, characters: list[str] | str, low: int = 0) -> str:
    return "".join(draw.random.choices(characters, k=draw.pick(draw.size(low, 4), draw.size(low, 30))))


def vocabulary_for(draw: Draw) -> list[str]:
    return sorted(draw.random.sample(CHARACTERS, draw.size(1, 12)))


@probe("build_vocabulary")
def characters_of_a_text(unit: Any, draw: Draw) -> Iterator[Property]:
    vocabulary = unit.build_vocabulary(text_of(draw, CHARACTERS, low=1))
    yield "what it is", isinstance(vocabulary, list)
    yield "the characters", vocabulary


@probe("encode")
def ids_of_a_text(unit: Any, draw: Draw) -> Iterator[Property]:
    vocabulary = vocabulary_for(draw)
    ids = unit.encode(text_of(draw, vocabulary), vocabulary)
    yield "what it is", isinstance(ids, list) and all(type(number) is int for number in ids)
    yield "the ids", ids
    yield "how much is left of the vocabulary", len(vocabulary)


@probe("encode", draws=300)
def unknown_characters_refused(unit: Any, draw: Draw) -> Iterator[Property]:
    vocabulary = vocabulary_for(draw)
    unknown = draw.random.choice(sorted(set(CHARACTERS) - set(vocabulary)))
    text = text_of(draw, vocabulary) + unknown + text_of(draw, vocabulary)
    yield from refusal(unit.encode, text, vocabulary)


@probe("decode")
def text_of_ids(unit: Any, draw: Draw) -> Iterator[Property]:
    vocabulary = vocabulary_for(draw)
    ids = draw.random.choices(range(len(vocabulary)), k=draw.size(0, 12))
    yield "the text", unit.decode(ids, vocabulary)
    yield "how much is left of the arguments", (len(ids), len(vocabulary))


@probe("decode", draws=300)
def unknown_ids_refused(unit: Any, draw: Draw) -> Iterator[Property]:
    vocabulary = vocabulary_for(draw)
    size = len(vocabulary)
    ids = draw.random.choices(range(size), k=draw.size(0, 5))
    ids.insert(draw.size(0, len(ids)), draw.pick(size, size, size + 1, size + 40, -1, -1, -size, -size - 1))
    yield from refusal(unit.decode, ids, vocabulary)


# -- batches -----------------------------------------------------------------------------------------------------


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


@probe("sample_batch")
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


@probe("sample_batch", draws=100)
def short_data_refused(unit: Any, draw: Draw) -> Iterator[Property]:
    block_size = draw.size(1, 8)
    data = data_for(draw, draw.pick(block_size, block_size, draw.size(0, block_size)))
    yield from refusal(unit.sample_batch, data, block_size, draw.size(1, 4))


@probe("sample_batch", draws=6)
def likelihood_of_starts(unit: Any, draw: Draw) -> Iterator[Property]:
    block_size, starts = draw.size(1, 4), draw.size(2, 5)
    data = data_for(draw, block_size + starts)
    options = draw.pick({}, {"generator": draw.generator})
    batch = unit.sample_batch(data.clone(), block_size, 4000, **options)
    yield from shares(one_hot(starts_in(data, batch, block_size), starts).bool())
    batches = [unit.sample_batch(data.clone(), block_size, 2, **options) for _ in range(500)]
    small = torch.stack([starts_in(data, batch, block_size) for batch in batches])  # (500, 2)
    yield from shares(one_hot(small, starts).flatten(1).bool())  # (500, 2, starts) -> (500, 2 · starts)


@probe("sample_batch", draws=4)
def where_starts_are_drawn(unit: Any, draw: Draw) -> Iterator[Property]:
    def result_with(generator: torch.Generator | None) -> Any:
        return unit.sample_batch(data.clone(), 4, 60, generator=generator)

    data = data_for(draw, 60)
    yield from draws_from_generator(result_with, draw.number)


# -- the loss ----------------------------------------------------------------------------------------------------


@probe("flatten_for_cross_entropy")
def predictions_with_targets(unit: Any, draw: Draw) -> Iterator[Property]:
    """No rule defines the order of the predictions, so they are sorted first."""
    batch, num_tokens, vocabulary = draw.sizes(3)
    logits = draw.viewed(draw.normal(batch, num_tokens, vocabulary)).requires_grad_()
    targets = draw.viewed(draw.integers(0, vocabulary, batch, num_tokens))
    before = logits.detach().clone(), targets.clone()
    rows, of_rows = unit.flatten_for_cross_entropy(logits, targets)
    yield "the shapes", [tuple(rows.shape), tuple(of_rows.shape)]
    yield "whether the targets are integers", not of_rows.is_floating_point()
    order = rows[:, 0].argsort()
    yield "the logits", rows[order]
    yield "the targets", of_rows[order]
    yield "the arguments afterwards", alike([logits, targets], before)
    yield "the gradient of the logits", torch.autograd.grad(rows.sin().sum(), [logits])


@probe("cross_entropy")
def mean_loss(unit: Any, draw: Draw) -> Iterator[Property]:
    rows, vocabulary = draw.sizes(2)
    logits = draw.normal(rows, vocabulary)
    if draw.chance(0.4):
        large = torch.tensor([1000, 0, -1000], dtype=logits.dtype)[draw.integers(0, 3, rows, vocabulary)]
        logits = draw.pick(torch.where(large == 0, logits, large), large, large.abs(), -large.abs(), logits + 1000)
    yield from call(unit.cross_entropy, logits, draw.integers(0, vocabulary, rows))


# -- running means -----------------------------------------------------------------------------------------------


def tokens_for(draw: Draw) -> Tensor:
    return draw.normal(*draw.sizes(3)) if draw.chance(0.95) else draw.normal(2, 20, 3)


@probe("running_mean_loop")
def means_by_a_loop(unit: Any, draw: Draw) -> Iterator[Property]:
    yield from call(unit.running_mean_loop, tokens_for(draw))


@probe("running_mean_matmul")
def means_by_a_product(unit: Any, draw: Draw) -> Iterator[Property]:
    yield from call(unit.running_mean_matmul, tokens_for(draw))


@probe("running_mean_softmax")
def means_by_a_softmax(unit: Any, draw: Draw) -> Iterator[Property]:
    yield from call(unit.running_mean_softmax, tokens_for(draw))


# -- a head ------------------------------------------------------------------------------------------------------


@probe("Head")
def contexts_of_the_past(unit: Any, draw: Draw) -> Iterator[Property]:
    n_embd, head_size, num_tokens = draw.sizes(3)
    dropout = draw.pick(0.0, 0.5)
    module = unit.Head(n_embd, head_size, num_tokens + draw.pick(0, 0, 1, 5), dropout)
    yield from layers(module, NAMES)
    module.to(draw.dtype).train(dropout == 0 and draw.chance(0.5))
    parameters = set_layers(draw, module, NAMES)
    yield from call(module, draw.normal(draw.size(1, 3), num_tokens, n_embd), parameters=parameters)


@probe("Head", draws=5)
def no_mask_among_the_parameters(unit: Any, draw: Draw) -> Iterator[Property]:
    block_size = 20 + draw.number
    yield from parameters_of_length(unit.Head(draw.size(), draw.size(), block_size, 0.0), block_size)


@probe("Head", draws=5)
def later_tokens_beside_low_scores(unit: Any, draw: Draw) -> Iterator[Property]:
    num_tokens = draw.number + 2
    module = unit.Head(num_tokens, num_tokens, num_tokens, 0.0)
    yield from causal_at_low_scores(module, NAMES, num_tokens)


@probe("Head", draws=4)
def weights_dropped_in_training(unit: Any, draw: Draw) -> Iterator[Property]:
    num_tokens, dropout = 3, PROBABILITIES[draw.number]
    module = unit.Head(num_tokens, 2 * num_tokens, draw.pick(3, 5), dropout)
    set_layers(draw, module.to(draw.dtype), NAMES)
    set_to(module.value.weight, unit_values(num_tokens))
    yield from dropped_weights(module, one_hot_texts(1000, num_tokens).to(draw.dtype), dropout)


# -- the model ---------------------------------------------------------------------------------------------------


def model_with(unit: Any, table: Tensor) -> tuple[Any, Tensor]:
    """Return a model with this table, and the table as its parameter."""
    model = unit.BigramLanguageModel(len(table))
    return model, set_to(model.token_embedding_table.weight, table)


@probe("BigramLanguageModel")
def logits_and_loss(unit: Any, draw: Draw) -> Iterator[Property]:
    batch, num_tokens, vocabulary = draw.sizes(3)
    model, table = model_with(unit, draw.normal(vocabulary, vocabulary, dtype=torch.float32))
    yield "what the table is", (isinstance(model.token_embedding_table, nn.Embedding), has_parameters(model, [table]))
    model.train(draw.chance(0.5))
    idx, targets = (draw.integers(0, vocabulary, batch, num_tokens) for _ in range(2))
    yield "the logits without targets", model(idx)[0]
    yield "whether there is a loss without targets", model(idx)[1] is not None
    logits, loss = model(idx, targets)
    yield "the logits with targets", logits
    yield "the loss", loss
    yield "the gradient of the table", torch.autograd.grad(loss, [table])


@probe("BigramLanguageModel", draws=300)
def sure_tokens(unit: Any, draw: Draw) -> Iterator[Property]:
    """With this table each token has only one possible successor, so the result is not random."""
    batch, num_tokens, vocabulary = draw.sizes(3)
    after = torch.tensor(draw.random.sample(range(vocabulary), vocabulary))
    model, _ = model_with(unit, 60.0 * one_hot(after, vocabulary))
    idx = draw.integers(0, vocabulary, batch, num_tokens)
    given = idx.clone()
    options = draw.pick({}, {"generator": draw.generator})
    text = model.train(draw.chance(0.5)).generate(given, draw.size(0, 4), **options)
    yield "the text", text
    yield "whether the ids are whole numbers", not text.is_floating_point()
    yield "the prompt afterwards", given


@probe("BigramLanguageModel", draws=6)
def likelihood_of_tokens(unit: Any, draw: Draw) -> Iterator[Property]:
    model, _ = model_with(unit, draw.normal(3, 3, dtype=torch.float32, scale=1.2))
    options = draw.pick({}, {"generator": draw.generator})
    # Every prompt ends with the same token, after any other, and three tokens are generated.
    prompts = torch.stack([draw.integers(0, 3, 3000), torch.full((3000,), draw.number % 3)], dim=1)
    text = model.generate(prompts, 3, **options)
    first, second, third = text[:, 2], text[:, 3], text[:, 4]
    yield from shares(one_hot(torch.stack([first, first * 3 + second + 3, second * 3 + third + 12], 1), 21).any(1))
    small = [model.generate(prompts[:2], 1, **options)[:, 2] for _ in range(400)]
    yield from shares(one_hot(torch.stack(small), 3).flatten(1).bool())  # (400, 2, 3) -> (400, 6)


@probe("BigramLanguageModel", draws=2)
def unlikely_tokens(unit: Any, draw: Draw) -> Iterator[Property]:
    model, _ = model_with(unit, torch.linspace(0, 0.4, 40).repeat(40, 1))
    options = draw.pick({}, {"generator": draw.generator})
    drawn = model.generate(torch.zeros(4000, 1, dtype=torch.long), 1, **options)[:, 1]
    # Each has 2 % or more, so one of them is missing once in 1e33.
    yield "how many tokens are drawn", len(drawn.unique())


@probe("BigramLanguageModel", draws=4)
def where_tokens_are_drawn(unit: Any, draw: Draw) -> Iterator[Property]:
    def result_with(generator: torch.Generator | None) -> Tensor:
        return model.generate(prompts, 6, generator=generator)

    model, _ = model_with(unit, draw.normal(5, 5, dtype=torch.float32, scale=0.3))
    prompts = draw.integers(0, 5, 12, 2)
    yield from draws_from_generator(result_with, draw.number)
