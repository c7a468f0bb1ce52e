"""The worked examples of unit 6: a short text, small batches, numbers to check by hand. Run `pytest` in this folder.

`student` is your file: `student.encode(text, vocabulary)` calls your encode. The grader uses the
rules in the docstrings, with other sizes and other numbers than these.
"""

from __future__ import annotations

import math
from typing import Any

import pytest
import torch
from checking import expect_error, expect_module, expect_results, expect_values, fail, kept, one, type_name
from torch import nn

from grader.testing.student import RemoteCallable, RemoteObject, Student

TEXT = "the cat sat\n"
VOCABULARY = ["\n", " ", "a", "c", "e", "h", "s", "t"]
CAT = [3, 2, 7]
# Ten ids that show their positions: 20 is at position 0, and 29 is at position 9.
DATA = torch.arange(20, 30)
# One text of three tokens with two features.
TOKENS = torch.tensor([[[2.0, 0.0], [4.0, 6.0], [0.0, 3.0]]])
MEANS = torch.tensor([[[2.0, 0.0], [3.0, 3.0], [2.0, 3.0]]])
LAYERS = ("key", "query", "value")


def expect_plain(name: str, yours: Any, expected: Any, idea: str) -> None:
    """Expect this text or list, of the same type."""
    if type(yours) is not type(expected):
        fail(f"{name} should be {one(type_name(expected))}, yours is {one(type_name(yours))}: {idea}.")
    if yours != expected:
        fail(f"{name} should be {expected!r}, yours is {yours!r}: {idea}.")


def tensor_of(name: str, yours: Any, shape: tuple[int, ...], names: str) -> torch.Tensor:
    """Expect a tensor of this shape, with any values, and return it."""
    if not isinstance(yours, torch.Tensor):
        fail(f"{name} should be a tensor, yours is of type {type_name(yours)}.")
    if yours.shape != shape:
        fail(f"{name} should have shape {names} = {shape}, yours is {tuple(yours.shape)}.")
    return yours


def expect_left_alone(name: str, after: Any, before: torch.Tensor) -> None:
    """Expect that a call has not changed this argument."""
    expect_values(f"{name} after the call", after, before, shape="as before", idea=f"a call does not change {name}")


def expect_draws_by_generator(student: Student, draw: Any) -> None:
    """Expect that the result of draw(generator) depends only on the generator's state."""
    first, again, other = draws = [draw(student.generator(seed)) for seed in (1, 1, 2)]
    if strange := [each for each in draws if not isinstance(each, torch.Tensor)]:
        fail(f"the result should be a tensor, yours is of type {type_name(strange[0])}.")
    if not torch.equal(first, again):
        fail("the same state of the generator should give the same draws: draw only from the generator.")
    if torch.equal(again, other):
        fail("another state of the generator should give other draws: draw from it, and do not set its seed.")


@pytest.mark.example("build_vocabulary")
def test_build_vocabulary(student: Student) -> None:
    """The vocabulary of a short text has each of its characters once, in sorted order."""
    idea = "each character of the text once, spaces and line breaks too, in the order of `sorted`"
    expect_plain("the vocabulary", student.build_vocabulary(TEXT), VOCABULARY, idea)


@pytest.mark.example("encode")
def test_encode(student: Student) -> None:
    """The characters of `cat` become their indices in the vocabulary."""
    idea = "each character becomes its index in the vocabulary, counted from 0"
    expect_plain("the list of ids", student.encode("cat", VOCABULARY), CAT, idea)


@pytest.mark.example("encode")
def test_encode_refuses_an_unknown_character(student: Student) -> None:
    """A text with a character that is not in the vocabulary raises a ValueError."""
    expect_error("the text `dog`", student.encode, "dog", VOCABULARY, idea="`d` is not in the vocabulary")


@pytest.mark.example("decode")
def test_decode(student: Student) -> None:
    """Three ids become the text `cat`."""
    idea = "each id becomes the character at this index in the vocabulary"
    expect_plain("the text", student.decode(CAT, VOCABULARY), "cat", idea)


@pytest.mark.example("decode")
@pytest.mark.parametrize("wrong", [pytest.param(8, id="too_large"), pytest.param(-1, id="negative")])
def test_decode_refuses_an_unknown_id(student: Student, wrong: int) -> None:
    """An id without a character in the vocabulary raises a ValueError."""
    idea = f"8 characters have the ids 0 to 7, and {wrong} is not one of them"
    expect_error(f"the id {wrong}", student.decode, [3, wrong], VOCABULARY, idea=idea)


def batch_of(student: Student, *generator: RemoteObject, rows: int = 60) -> tuple[torch.Tensor, torch.Tensor]:
    """Your batch of pieces of four tokens of DATA."""
    yours, after = student.sample_batch.with_arguments(DATA, 4, rows, *generator)
    expect_left_alone("data", after[0], DATA)
    idx, targets = expect_results("sample_batch", yours, ("idx", "targets"))
    return tensor_of("idx", idx, (rows, 4), "(B, T)"), tensor_of("targets", targets, (rows, 4), "(B, T)")


@pytest.mark.example("sample_batch")
def test_sample_batch(student: Student) -> None:
    """Each row is a piece of the data, and its targets are one position later."""
    idx, targets = batch_of(student)
    if not torch.equal(idx, idx[:, :1] + torch.arange(4)):
        fail(f"each row of idx should be a piece such as [20, 21, 22, 23], one of yours is {idx[0].tolist()}.")
    if not torch.equal(targets, idx + 1):
        fail(f"the targets of {idx[0].tolist()} should be one position later, yours are {targets[0].tolist()}.")


@pytest.mark.example("sample_batch")
def test_sample_batch_draws_every_start(student: Student) -> None:
    """In data of ten tokens, pieces of four begin at the positions 0 to 5."""
    # A right answer misses one of six starts in 400 rows once in 10^30 runs.
    idx, _ = batch_of(student, rows=400)
    missing = sorted(set(range(6)) - set((idx[:, 0] - 20).tolist()))
    if missing:
        fail(f"in 10 tokens, pieces of 4 begin at the positions 0 to 5; in 400 rows yours never begin at {missing}.")


@pytest.mark.example("sample_batch")
def test_sample_batch_refuses_data_that_is_too_short(student: Student) -> None:
    """Four tokens have no piece of four with a target for each token: a ValueError."""
    idea = "four tokens do not contain a piece of four and the target of its last token"
    expect_error("data with four tokens", student.sample_batch, DATA[:4], 4, 2, idea=idea)


@pytest.mark.example("sample_batch")
def test_sample_batch_draws_from_the_generator(student: Student) -> None:
    """With a generator, the batch depends only on its state."""
    expect_draws_by_generator(student, lambda generator: batch_of(student, generator)[0])


@pytest.mark.example("flatten_for_cross_entropy")
def test_flatten_for_cross_entropy(student: Student) -> None:
    """4 texts of 8 tokens give 32 predictions, each with its own target."""
    # The sizes in your file: 4 texts of 8 tokens, and 65 characters. All targets differ.
    targets = torch.arange(32).view(4, 8)
    yours = student.flatten_for_cross_entropy(nn.functional.one_hot(targets, 65).float(), targets)
    rows, ids = expect_results("flatten_for_cross_entropy", yours, ("logits", "targets"))
    rows = tensor_of("logits", rows, (32, 65), "(B · T, V)")
    ids = tensor_of("targets", ids, (32,), "(B · T,)")
    if not torch.equal(rows.argmax(dim=-1), ids):
        fail(
            "each row of the logits should have its own target at the same index, yours has wrong targets in some rows."
        )
    if len(set(ids.tolist())) != 32:
        fail(f"all 32 predictions should be there, yours are only {len(set(ids.tolist()))} different ones.")


@pytest.mark.example("cross_entropy")
@pytest.mark.parametrize(
    ("logits", "targets", "loss", "idea"),
    [
        pytest.param(
            [[0.0, 0.0, 0.0, 0.0]],
            [2],
            math.log(4),
            "four equally likely tokens have a loss of ln 4",
            id="equal",
        ),
        pytest.param(
            [[math.log(3), 0.0], [0.0, 0.0]], [0, 1], 0.4904, "the mean of ln 4/3 and ln 2", id="two_predictions"
        ),
        pytest.param(
            [[1000.0, -1000.0]], [0], 0.0, "the target has all the probability, and ln 1 = 0", id="sure_and_right"
        ),
        pytest.param(
            [[1000.0, -1000.0]],
            [1],
            2000.0,
            "the logarithm of the target's probability is -2000, although exp(-2000) is 0",
            id="sure_and_wrong",
        ),
    ],
)
def test_cross_entropy(student: Student, logits: list[list[float]], targets: list[int], loss: float, idea: str) -> None:
    """The loss is the mean of minus the logarithm of each target's probability."""
    yours = student.cross_entropy(torch.tensor(logits), torch.tensor(targets))
    expect_values("the loss", yours, torch.tensor(loss), shape="of one number,", idea=idea)


def expect_means(running_mean: RemoteCallable) -> None:
    """Expect the running means of TOKENS from this function."""
    means, [x] = running_mean.with_arguments(TOKENS)
    idea = "each token becomes the mean of itself and all tokens before it"
    expect_values("the means", means, MEANS, shape="(B, T, C)", idea=idea)
    expect_left_alone("x", x, TOKENS)


@pytest.mark.example("running_mean_loop")
def test_running_mean_loop(student: Student) -> None:
    """Each of three tokens becomes the mean of itself and all tokens before it."""
    expect_means(student.running_mean_loop)


@pytest.mark.example("running_mean_matmul")
def test_running_mean_matmul(student: Student) -> None:
    """Each of three tokens becomes the mean of itself and all tokens before it."""
    expect_means(student.running_mean_matmul)


@pytest.mark.example("running_mean_softmax")
def test_running_mean_softmax(student: Student) -> None:
    """Each of three tokens becomes the mean of itself and all tokens before it."""
    expect_means(student.running_mean_softmax)


def set_weight(layer: Any, kind: str, weight: torch.Tensor, wanted: str) -> None:
    """Set the weight of a layer in your module. Fail if it is not of this class, has another shape, or has a bias."""
    yours = type_name(layer)
    if isinstance(layer, RemoteObject) and f"torch.nn.modules.{kind}" in layer.kinds:
        shapes = {name: tuple(value.shape) for name, value in layer.parameters().items()}
        if shapes.get("weight") == weight.shape and "bias" not in shapes:
            layer.set({"weight": weight})
            return
        yours += " with " + (", ".join(f"{name} {shape}" for name, shape in shapes.items()) or "no parameters")
    fail(f"{wanted}, yours is {yours}.")


def head_of(student: Student, dropout: float = 0.0) -> RemoteObject:
    """Your Head from 2 to 2 for up to 4 tokens, in eval mode, that gives all visible tokens the same weight."""
    head = expect_module("Head(2, 2, 4, …)", student.Head(2, 2, 4, dropout))
    for name in LAYERS:
        # Queries of zero have the dot product 0 with every key; the values are the tokens themselves.
        weight = torch.eye(2) if name == "value" else torch.zeros(2, 2)
        wanted = f"{name} should be nn.Linear(n_embd, head_size, bias=False)"
        set_weight(kept(head, name), "linear.Linear", weight, wanted)
    head.eval()
    return head


@pytest.mark.example("Head")
def test_a_head_without_preferences_is_a_running_mean(student: Student) -> None:
    """With scores of zero, a head gives each token the mean of itself and all tokens before it."""
    output, [inputs] = head_of(student).with_arguments(TOKENS)
    expect_values(
        "the output",
        output,
        MEANS,
        shape="(B, T, head_size)",
        idea="if all scores are zero, a head averages the past like running_mean_softmax",
    )
    expect_left_alone("inputs", inputs, TOKENS)


@pytest.mark.example("Head")
def test_a_head_divides_by_the_root_of_head_size(student: Student) -> None:
    """Scores are divided by the square root of head_size, and softmax turns them into weights."""
    head = head_of(student)
    for name in ("query", "key"):
        head.get(name).set({"weight": torch.eye(2)})
    # The scores of the second token are 0 and √2 ln 3, so its weights are 1/4 and 3/4.
    side = (math.sqrt(2) * math.log(3)) ** 0.5
    expect_values(
        "the output",
        head(torch.tensor([[[0.0, 0.0], [side, 0.0]]])),
        torch.tensor([[[0.0, 0.0], [0.75 * side, 0.0]]]),
        shape="(B, T, head_size)",
        idea="softmax of the scores / √head_size, here √2, with no weight for later tokens",
    )


@pytest.mark.example("Head")
def test_a_head_drops_weights_in_training_only(student: Student) -> None:
    """In training with dropout 0.5 about half of the weights are dropped, and in eval mode none."""
    # The first token gives itself all its weight. A right answer drops all of 100 weights, or none, once in 2^99 runs.
    module, inputs = head_of(student, dropout=0.5), torch.ones(100, 1, 2)
    outputs = tensor_of("the output", module(inputs), (100, 1, 2), "(B, T, head_size)")
    if not torch.equal(outputs, inputs):
        fail("in eval mode nothing should be dropped.")
    module.train()
    outputs = tensor_of("the output", module(inputs), (100, 1, 2), "(B, T, head_size)")
    if set(outputs.flatten().tolist()) != {0.0, 2.0}:
        fail("in training with dropout 0.5 a weight of 1 should become 0 or 2, with some of each among 100.")


def model_of(student: Student, table: torch.Tensor) -> RemoteObject:
    """Your BigramLanguageModel with this table (V, V)."""
    model = expect_module(f"BigramLanguageModel({len(table)})", student.BigramLanguageModel(len(table)))
    wanted = "token_embedding_table should be nn.Embedding(vocab_size, vocab_size)"
    set_weight(kept(model, "token_embedding_table"), "sparse.Embedding", table, wanted)
    return model


@pytest.mark.example("BigramLanguageModel")
def test_logits_and_loss_of_the_bigram_model(student: Student) -> None:
    """The logits of a token are its row of the table, and the loss is their mean cross-entropy."""
    # The softmax of the first row is 3/4 and 1/4, and of the second row 1/2 and 1/2.
    table = torch.tensor([[math.log(3), 0.0], [0.0, 0.0]])
    model, idx, targets = model_of(student, table), torch.tensor([[0, 1]]), torch.tensor([[0, 1]])
    for arguments in ((idx,), (idx, targets)):
        logits, loss = expect_results("BigramLanguageModel", model(*arguments), ("logits", "loss"))
        idea = "the logits of a token are its row of the table, with targets and without"
        expect_values("the logits", logits, table[None], shape="(B, T, V)", idea=idea)
        if len(arguments) == 1 and loss is not None:
            fail(f"without targets the loss should be None, yours is {loss}.")
    expect_values("the loss", loss, torch.tensor(0.4904), shape="of one number,", idea="the mean of ln 4/3 and ln 2")


@pytest.mark.example("BigramLanguageModel")
def test_generate_goes_on_from_the_token_just_drawn(student: Student) -> None:
    """Each new token is drawn with the row of the token before it, and put after it."""
    # After 0 comes 1, after 1 comes 2, and after 2 comes 0; all other tokens have almost no probability.
    model, prompt = model_of(student, 50 * torch.eye(3).roll(1, dims=1)), torch.tensor([[2, 0], [0, 1]])
    text, after = model.method("generate").with_arguments(prompt, 4)
    expect_values(
        "the text",
        text,
        torch.tensor([[2, 0, 1, 2, 0, 1], [0, 1, 2, 0, 1, 2]]),
        shape="(B, T + max_new_tokens)",
        idea="the prompt comes first, and each new token comes after the one before it",
    )
    expect_left_alone("idx", after[0], prompt)


@pytest.mark.example("BigramLanguageModel")
def test_generate_draws_from_the_generator(student: Student) -> None:
    """With a generator, the text depends only on its state."""
    model, prompt = model_of(student, torch.zeros(3, 3)), torch.zeros(10, 1, dtype=torch.long)
    expect_draws_by_generator(student, lambda generator: model.method("generate")(prompt, 5, generator))
