"""The worked examples of unit 6: a short text, small batches, numbers to check by hand. Run `pytest` in this folder.

The grader goes by the rules in the docstrings, with other sizes and other numbers than these.
"""

from __future__ import annotations

import math
from typing import Any

import bigram_language_model
import pytest
import torch
from checking import call, expect_error, expect_values, fail
from torch import nn

TEXT = "the cat sat\n"
VOCABULARY = ["\n", " ", "a", "c", "e", "h", "s", "t"]
CAT = [3, 2, 7]
# Ten ids that each tell their place: 20 stands at place 0, 29 at place 9.
DATA = torch.arange(20, 30)
# One text of three tokens with two features.
TOKENS = torch.tensor([[[2.0, 0.0], [4.0, 6.0], [0.0, 3.0]]])
MEANS = torch.tensor([[[2.0, 0.0], [3.0, 3.0], [2.0, 3.0]]])
LAYERS = ("key", "query", "value")


def expect_plain(name: str, yours: Any, expected: Any, idea: str) -> None:
    """Text, or a list, compared as it is."""
    if type(yours) is not type(expected):
        fail(f"{name} should be a {type(expected).__name__}, yours is a {type(yours).__name__}: {idea}.")
    if yours != expected:
        fail(f"{name} should be {expected!r}, yours is {yours!r}: {idea}.")


def expect_tensor(name: str, yours: Any, shape: tuple[int, ...], names: str) -> torch.Tensor:
    """A tensor of this shape, whatever is in it."""
    if not isinstance(yours, torch.Tensor):
        fail(f"{name} should be a tensor, yours is of type {type(yours).__name__}.")
    if yours.shape != shape:
        fail(f"{name} should have shape {names} = {shape}, yours is {tuple(yours.shape)}.")
    return yours.detach()


def expect_draws_from_the_generator(draw: Any) -> None:
    """draw takes a generator; what it gives should be up to the generator's state alone."""
    first, again, other = (draw(torch.Generator().manual_seed(seed)) for seed in (1, 1, 2))
    if not torch.equal(first, again):
        fail("the same state of the generator should give the same draws: draw from the generator alone.")
    if torch.equal(again, other):
        fail("another state of the generator should give other draws: draw from it, and do not set its seed.")


def test_build_vocabulary() -> None:
    idea = "each character of the text once, spaces and line breaks too, in the order of `sorted`"
    expect_plain("the vocabulary", call(bigram_language_model.build_vocabulary, TEXT), VOCABULARY, idea)


def test_encode() -> None:
    idea = "each character becomes its place in the vocabulary, counted from 0"
    expect_plain("the list of ids", call(bigram_language_model.encode, "cat", VOCABULARY), CAT, idea)


def test_encode_refuses_an_unknown_character() -> None:
    expect_error(bigram_language_model.encode, "dog", VOCABULARY, idea="`d` is not in the vocabulary")


def test_decode() -> None:
    idea = "each id becomes the character at its place in the vocabulary"
    expect_plain("the text", call(bigram_language_model.decode, CAT, VOCABULARY), "cat", idea)


@pytest.mark.parametrize("wrong", [8, -1])
def test_decode_refuses_an_unknown_id(wrong: int) -> None:
    idea = f"8 characters have the ids 0 to 7, and {wrong} is none of them"
    expect_error(bigram_language_model.decode, [3, wrong], VOCABULARY, idea=idea)


def batch_of(generator: torch.Generator | None = None, batch_size: int = 60) -> tuple[torch.Tensor, torch.Tensor]:
    """Your batch of stretches of four tokens of DATA."""
    arguments = (DATA, 4, batch_size) if generator is None else (DATA, 4, batch_size, generator)
    idx, targets = call(bigram_language_model.sample_batch, *arguments, gives=("idx", "targets"))
    shape = (batch_size, 4)
    return expect_tensor("idx", idx, shape, "(B, T)"), expect_tensor("targets", targets, shape, "(B, T)")


def test_sample_batch() -> None:
    idx, targets = batch_of()
    steps = torch.arange(4)
    if not torch.equal(idx, idx[:, :1] + steps):
        fail(f"each row of idx should be a stretch such as [20, 21, 22, 23], one of yours is {idx[0].tolist()}.")
    if not torch.equal(targets, idx + 1):
        fail(f"the targets of {idx[0].tolist()} should be one place further on, yours are {targets[0].tolist()}.")


def test_sample_batch_draws_every_start() -> None:
    # One of six starts is missing from 400 rows once in 10^30 times.
    idx, _ = batch_of(batch_size=400)
    missing = sorted(set(range(6)) - set((idx[:, 0] - 20).tolist()))
    if missing:
        fail(
            f"of 10 tokens, stretches of 4 begin at the places 0 to 5, and in 400 rows yours never begin at {missing}."
        )


def test_sample_batch_refuses_data_that_is_too_short() -> None:
    idea = "four tokens do not hold a stretch of four and the target of the last"
    expect_error(bigram_language_model.sample_batch, DATA[:4], 4, 2, idea=idea)


def test_sample_batch_draws_from_the_generator() -> None:
    expect_draws_from_the_generator(lambda generator: batch_of(generator)[0])


def test_flatten_for_cross_entropy() -> None:
    # The sizes of the text above: 4 texts of 8 tokens of 65 kinds. No two targets are the same.
    targets = torch.arange(32).view(4, 8)
    logits = nn.functional.one_hot(targets, 65).float()
    arguments = (bigram_language_model.flatten_for_cross_entropy, logits, targets)
    rows, ids = call(*arguments, gives=("logits", "targets"))
    rows = expect_tensor("logits", rows, (32, 65), "(B · T, V)")
    ids = expect_tensor("targets", ids, (32,), "(B · T,)")
    if not torch.equal(rows.argmax(dim=-1), ids):
        fail("each row of the logits should have its own target at the same place, in yours some have another's.")
    if len(set(ids.tolist())) != 32:
        fail(f"all 32 predictions should be there, of yours {len(set(ids.tolist()))} are different ones.")


@pytest.mark.parametrize(
    ("logits", "targets", "loss", "idea"),
    [
        ([[0.0, 0.0, 0.0, 0.0]], [2], math.log(4), "four tokens that are equally likely have a loss of ln 4"),
        ([[math.log(3), 0.0], [0.0, 0.0]], [0, 1], 0.4904, "the mean of ln 4/3 and ln 2"),
        ([[1000.0, -1000.0]], [0], 0.0, "the target has all the probability, and ln 1 = 0"),
        (
            [[1000.0, -1000.0]],
            [1],
            2000.0,
            "the logarithm of the target's probability is -2000, though exp(-2000) is 0",
        ),
    ],
)
def test_cross_entropy(logits: list[list[float]], targets: list[int], loss: float, idea: str) -> None:
    yours = call(bigram_language_model.cross_entropy, torch.tensor(logits), torch.tensor(targets))
    expect_values("the loss", yours, torch.tensor(loss), shape="of one number,", idea=idea)


@pytest.mark.parametrize("way", ["running_mean_loop", "running_mean_matmul", "running_mean_softmax"])
def test_running_means(way: str) -> None:
    expect_values(
        "the means",
        call(getattr(bigram_language_model, way), TOKENS),
        MEANS,
        shape="(B, T, C)",
        idea="each token becomes the mean of itself and all before it",
    )


def head_of(dropout: float = 0.0) -> nn.Module:
    """Your Head from 2 to 2 for up to 4 tokens, in eval mode, which gives every token seen the same weight."""
    head = call(bigram_language_model.Head, 2, 2, 4, dropout)
    for name in LAYERS:
        layer = getattr(head, name, None)
        if not isinstance(layer, nn.Linear) or layer.weight.shape != (2, 2) or layer.bias is not None:
            fail(f"{name} should be nn.Linear(n_embd, head_size, bias=False), yours is {layer}.")
        # Queries of zero have the dot product 0 with every key; the values are the tokens themselves.
        layer.weight.data.copy_(torch.eye(2) if name == "value" else torch.zeros(2, 2))
    return head.eval()


def test_a_head_without_preferences_is_a_running_mean() -> None:
    expect_values(
        "the output",
        call(head_of(), TOKENS),
        MEANS,
        shape="(B, T, head_size)",
        idea="where all scores are zero, a head averages the past as running_mean_softmax does",
    )


def test_a_head_divides_by_the_root_of_head_size() -> None:
    head = head_of()
    head.query.weight.data.copy_(torch.eye(2))
    head.key.weight.data.copy_(torch.eye(2))
    # Of the second token's scores one is 0 and the other √2 ln 3, so that its weights are 1/4 and 3/4.
    side = (math.sqrt(2) * math.log(3)) ** 0.5
    inputs = torch.tensor([[[0.0, 0.0], [side, 0.0]]])
    expect_values(
        "the output",
        call(head, inputs),
        torch.tensor([[[0.0, 0.0], [0.75 * side, 0.0]]]),
        shape="(B, T, head_size)",
        idea="softmax of the scores / √head_size, here √2, and no part for what comes later",
    )


def test_a_head_drops_weights_in_training_only() -> None:
    # The first token gives itself all its weight. That of 100 none is dropped, or all, happens once in 2^99 times.
    head, inputs = head_of(dropout=0.5), torch.ones(100, 1, 2)
    if not torch.equal(call(head, inputs), inputs):
        fail("in eval mode nothing should be dropped.")
    outputs = expect_tensor("the output", call(head.train(), inputs), (100, 1, 2), "(B, T, head_size)")
    if set(outputs.flatten().tolist()) != {0.0, 2.0}:
        fail("in training with dropout 0.5 a weight of 1 should become 0 or 2, and some of each among 100.")


def model_of(table: torch.Tensor) -> nn.Module:
    """Your BigramLanguageModel with this table (V, V)."""
    model = call(bigram_language_model.BigramLanguageModel, len(table))
    layer = getattr(model, "token_embedding_table", None)
    if not isinstance(layer, nn.Embedding) or layer.weight.shape != table.shape:
        fail(f"token_embedding_table should be nn.Embedding(vocab_size, vocab_size), yours is {layer}.")
    layer.weight.data.copy_(table)
    return model


def test_logits_and_loss_of_the_bigram_model() -> None:
    # Softmax makes 3/4 and 1/4 of the first row, and 1/2 and 1/2 of the second.
    table = torch.tensor([[math.log(3), 0.0], [0.0, 0.0]])
    model, idx, targets = model_of(table), torch.tensor([[0, 1]]), torch.tensor([[0, 1]])
    for arguments in ((idx,), (idx, targets)):
        logits, loss = call(model, *arguments, gives=("logits", "loss"))
        idea = "the logits of a token are its row of the table, with targets and without"
        expect_values("the logits", logits, table[None], shape="(B, T, V)", idea=idea)
        if len(arguments) == 1 and loss is not None:
            fail(f"without targets the loss should be None, yours is {loss}.")
    expect_values("the loss", loss, torch.tensor(0.4904), shape="of one number,", idea="the mean of ln 4/3 and ln 2")


def test_generate_goes_on_from_the_token_just_drawn() -> None:
    # After 0 comes 1, after 1 comes 2 and after 2 comes 0: all else has next to no probability.
    model = model_of(50 * torch.eye(3).roll(1, dims=1))
    expect_values(
        "the text",
        call(model.generate, torch.tensor([[2, 0], [0, 1]]), 4),
        torch.tensor([[2, 0, 1, 2, 0, 1], [0, 1, 2, 0, 1, 2]]),
        shape="(B, T + max_new_tokens)",
        idea="the prompt comes first, and each new token follows on the one before it",
    )


def test_generate_draws_from_the_generator() -> None:
    model, idx = model_of(torch.zeros(3, 3)), torch.zeros(10, 1, dtype=torch.long)
    expect_draws_from_the_generator(lambda generator: call(model.generate, idx, 5, generator))
