"""The visible tests of the capstone, a small GPT. Run `grader check small_gpt`, or `pytest` here.

`student` is your file: `student.SmallGPT(27, 8, 32, 4, 2, 0.1)` makes a model of yours, from your own parts of units 4
and 7. If one of these is wrong, its mistake shows here too. Tests without a rule repeat worked examples, with numbers
that you can check by hand. The others try rules of your docstrings. Tests set all parameters, so the initial values are
up to you. Parameters of the same shape get the same values, so their names inside your blocks are up to you too.
"""

from __future__ import annotations

import math
from typing import Any

import pytest
import torch
from checking import (
    described,
    expect_count,
    expect_many_kinds,
    expect_module,
    expect_solution,
    expect_true,
    expect_values,
    fail,
    kept,
    many_kinds,
    numbers,
    set_training,
)

from grader.testing.contracts import (
    expect_each_alone,
    expect_generator_used,
    expect_gradients_fit,
)
from grader.testing.student import Raised, RemoteObject, Student

# -- SmallGPT: its parts ---------------------------------------------------------------------------------------------

# The sizes of the text: V = 27, a context length of 8, C = 32, 4 heads and 2 blocks.
SIZES = (27, 8, 32, 4, 2)


def gpt(student: Student, *sizes: int, dropout: float = 0.0) -> RemoteObject:
    return expect_module("SmallGPT", student.SmallGPT(*sizes, dropout))


def part_of(model: RemoteObject, name: str) -> RemoteObject:
    part = kept(model, name)
    if not isinstance(part, RemoteObject):
        fail(f"the model should have a module `{name}`, yours is {described(part)}.")
    return part


def shapes_of(module: RemoteObject) -> list[tuple[int, ...]]:
    return [tuple(value.shape) for value in module.parameters().values()]


def numbers_in(module: RemoteObject) -> int:
    return sum(value.numel() for value in module.parameters().values())


@pytest.mark.example(
    "SmallGPT",
    rule=[
        "token_embedding is nn.Embedding(vocab_size, emb_dim)",
        "position_embedding is nn.Embedding(context_length, emb_dim)",
    ],
)
@pytest.mark.parametrize(
    ("name", "rows"),
    [pytest.param("token_embedding", 27, id="tokens"), pytest.param("position_embedding", 8, id="positions")],
)
def test_table_of(student: Student, name: str, rows: int) -> None:
    """Each of the 27 tokens, and each of the 8 positions, has a row of 32 numbers."""
    table = part_of(gpt(student, *SIZES), name)
    is_table = "torch.nn.modules.sparse.Embedding" in table.kinds
    expect_true(is_table, f"{name} should be an nn.Embedding, yours is {described(table)}.")
    found = shapes_of(table)
    expect_true(found == [(rows, 32)], f"{name} should have the shape ({rows}, 32), yours has {found}.")


@pytest.mark.example("SmallGPT", rule="output is nn.Linear from emb_dim to vocab_size, without bias")
def test_output_layer(student: Student) -> None:
    """The output layer goes from 32 features to 27 scores."""
    output = part_of(gpt(student, *SIZES), "output")
    is_linear = "torch.nn.modules.linear.Linear" in output.kinds
    expect_true(is_linear, f"output should be an nn.Linear, yours is {described(output)}.")
    found = shapes_of(output)
    expect_true(found == [(27, 32)], f"output should have one weight of shape (27, 32), yours has {found}.")


@pytest.mark.example("SmallGPT", rule="final_norm is LayerNorm or nn.LayerNorm for emb_dim features")
def test_final_norm(student: Student) -> None:
    """The final norm has a scale and a shift for each of the 32 features."""
    found = shapes_of(part_of(gpt(student, *SIZES), "final_norm"))
    expect_true(found == [(32,), (32,)], f"final_norm should have two parameters of shape (32,), yours has {found}.")


BLOCKS = (
    "blocks is a module with num_blocks pre-norm blocks in sequence, each with its own parameters: attention with "
    "num_heads heads, without a bias for queries, keys and values, and a feed-forward with 4 · emb_dim hidden numbers"
)


@pytest.mark.example("SmallGPT", rule=[BLOCKS, "there are no other parameters, and no parts share theirs"])
@pytest.mark.parametrize(
    ("sizes", "in_blocks", "in_all"),
    [
        pytest.param(SIZES, 25_216, 27_264, id="the_text"),
        pytest.param((11, 9, 6, 2, 3), 1_476, 1_674, id="other_sizes"),
    ],
)
def test_parameters_with_the_sizes_of(student: Student, sizes: tuple[int, ...], in_blocks: int, in_all: int) -> None:
    """The parameters are as many as the table of the text counts, with its sizes and with others."""
    model = gpt(student, *sizes)
    found = numbers_in(part_of(model, "blocks"))
    expect_true(
        found == in_blocks,
        f"blocks should have {in_blocks:,} parameters, yours has {found:,}: compare each part of a block with the "
        "table. Each block has its own.",
    )
    found = numbers_in(model)
    expect_true(found == in_all, f"the model should have {in_all:,} parameters, yours has {found:,}.")


# -- SmallGPT: its logits --------------------------------------------------------------------------------------------


@pytest.mark.example("SmallGPT")
def test_logits_by_hand(student: Student) -> None:
    """Blocks of zeros pass on what they get. So the logits are those of the normalised sum of token and position."""
    model = gpt(student, 3, 2, 2, 1, 1)
    named = {name: torch.zeros(value.shape) for name, value in model.parameters().items()}
    named["token_embedding.weight"] = torch.tensor([[2.0, 0.0], [0.0, 4.0], [5.0, 5.0]])
    named["position_embedding.weight"] = torch.tensor([[1.0, 1.0], [0.0, 2.0]])
    named["output.weight"] = torch.tensor([[1.0, 0.0], [0.0, 1.0], [2.0, 1.0]])
    for name in ("final_norm.scale", "final_norm.weight"):
        if name in named:
            named[name] = torch.ones(2)
    set_to(model, named)
    # Token 0 at position 0 is [2, 0] + [1, 1] = [3, 1], and [1, -1] after the norm. Token 1 at position 1 is [0, 6].
    expect_values(
        "the logits",
        model(torch.tensor([[0, 1]])),
        torch.tensor([[[1.0, -1.0, 1.0], [-1.0, 1.0, -1.0]]]),
        shape="(B, T, V)",
        idea="token plus position, [3, 1] and [0, 6], then the final norm, then the output layer",
    )


def set_to(model: RemoteObject, named: dict[str, torch.Tensor]) -> None:
    """Set parameters, and put the model into eval mode."""
    missing = sorted(named.keys() - model.parameters().keys())
    expect_true(not missing, f"the model should have a parameter {missing[:1]}, yours has none: see the rules.")
    model.set(named)
    set_training(model, False)


def values_of(shape: tuple[int, ...], emb_dim: int, num_heads: int) -> torch.Tensor:
    """Return the values of all parameters of a shape. Vectors are near one, so that norms keep all features.

    The matrices of attention are the same for each head, so it may be made of one matrix or of several.
    """
    if len(shape) < 2:
        return 1 + numbers(*shape, seed=3) / 8
    if shape[1] == emb_dim and shape[0] in (emb_dim // num_heads, emb_dim, 3 * emb_dim):
        head = numbers(emb_dim // num_heads, emb_dim, seed=5) / 2
        return head.repeat(shape[0] // len(head), 1)
    return numbers(*shape, seed=7) / 2


# V, context length, C, heads and blocks. All shapes of parameters differ.
OTHER_SIZES = (7, 5, 4, 2, 2)


def filled(student: Student, sizes: tuple[int, ...] = OTHER_SIZES, dropout: float = 0.0) -> RemoteObject:
    """Your model in eval mode, with fixed values of its parameters."""
    model = gpt(student, *sizes, dropout=dropout)
    _, _, emb_dim, num_heads, _ = sizes
    named = {name: values_of(tuple(value.shape), emb_dim, num_heads) for name, value in model.parameters().items()}
    set_to(model, named)
    return model


def ids(texts: int, tokens: int, kinds: int = 7) -> torch.Tensor:
    """Ids below `kinds`, always the same ones."""
    return (torch.arange(texts * tokens) ** 2 * 3 + 1).remainder(kinds).reshape(texts, tokens)


SUM = (
    "each token's row of token_embedding and its position's row of position_embedding are added; the first token of "
    "each text has position 0"
)
IN_TURN = "this sum goes through the blocks, one after the other"
TO_LOGITS = "final_norm is applied to the output of the blocks, and output turns the result into the logits: no softmax"
ANY_NUMBER = "any number of texts, each computed separately, and any number of tokens from one to context_length"
PLAN = "token plus position, counted from 0, then the blocks, the final norm, and the output layer"


@pytest.mark.example("SmallGPT", rule=[SUM, IN_TURN, TO_LOGITS, ANY_NUMBER])
@pytest.mark.parametrize(
    ("texts", "tokens"),
    [
        pytest.param(2, 5, id="two_texts"),
        pytest.param(1, 3, id="one_text"),
        pytest.param(6, 1, id="one_token_each"),
        pytest.param(1, 1, id="one_token"),
    ],
)
def test_logits_of(student: Student, texts: int, tokens: int) -> None:
    """The logits are those of the whole plan, for any number of texts and tokens."""
    yours = filled(student)(ids(texts, tokens))
    expect_solution(f"the logits of {texts} × {tokens} tokens", yours, shape="(B, T, V)", idea=PLAN)


@pytest.mark.example("SmallGPT", rule=[SUM, IN_TURN, TO_LOGITS])
def test_logits_with_other_heads_and_blocks(student: Student) -> None:
    """With three heads and one block too, tokens and positions from 0 are added and go through all parts in turn."""
    yours = filled(student, (5, 8, 6, 3, 1))(ids(2, 4, 5))
    expect_solution("the logits", yours, shape="(B, T, V)", idea=PLAN)


@pytest.mark.example("SmallGPT", rule=ANY_NUMBER)
def test_each_text_is_computed_separately(student: Student) -> None:
    """A text has the same logits alone as in a batch."""
    expect_each_alone(filled(student), idx=ids(3, 5))


@pytest.mark.example("SmallGPT", rule="no logits depend on a later token")
def test_a_later_token_changes_no_logits(student: Student) -> None:
    """If only the last token changes, the logits of all tokens before it stay the same."""
    model, idx = filled(student), ids(1, 5)
    before = logits_of(model, idx)
    idx[0, -1] = (idx[0, -1] + 1) % 7
    expect_values(
        "the logits of the tokens before the last",
        logits_of(model, idx)[:, :-1],
        before[:, :-1],
        shape="(B, T - 1, V)",
        idea="only the last token was changed, and they do not see it",
    )


def logits_of(model: RemoteObject, idx: torch.Tensor, kinds: int = 7) -> torch.Tensor:
    yours, shape = model(idx), (*idx.shape, kinds)
    if not isinstance(yours, torch.Tensor) or yours.shape != shape:
        fail(f"the logits should be a tensor of shape (B, T, V) = {shape}, yours is {described(yours)}.")
    return yours


@pytest.mark.example("SmallGPT", rule="more than context_length tokens raise an error, of any type")
@pytest.mark.parametrize("tokens", [pytest.param(6, id="six"), pytest.param(12, id="twelve")])
def test_with_a_context_length_of_five_these_are_too_many(student: Student, tokens: int) -> None:
    """With a context length of 5 a text of 5 tokens has logits, and a longer one raises an error."""
    model = filled(student)
    logits_of(model, ids(2, 5))
    try:
        yours = model(ids(2, tokens))
    except Raised as error:
        if error.types[0] == "NotImplementedError":
            raise
        return
    fail(f"with a context length of 5, {tokens} tokens should raise an error; yours returns {described(yours)}.")


# -- SmallGPT: dropout and gradients ---------------------------------------------------------------------------------

P = 0.15
# In one block each feature gets a number of attention and a number of the feed-forward, each with the probability 0.85.
# Both features keep the same of them with the probability (0.85² + 0.15²)² = 0.56.
EQUAL = (P**2 + (1 - P) ** 2) ** 2


@pytest.mark.example(
    "SmallGPT",
    rule="in training each block drops numbers of what its two modules give, with probability `dropout`, as in unit 7; "
    "to drop attention weights or numbers of the sum of the embeddings too is up to you",
)
def test_blocks_drop_numbers_in_training(student: Student) -> None:
    """With dropout 0.15 both features of a token keep the same numbers in about 56 % of all cases."""
    model = gpt(student, 3, 8, 2, 1, 1, dropout=P)
    # Token and position add up to zero, each module of the block gives the same number to both features, and the logits
    # are the two features of a token. If a number is dropped inside the feed-forward, or of one table, they differ.
    eye = torch.eye(2)
    values = {(2,): torch.ones(2), (8,): torch.ones(8), (2, 8): (eye + 1).repeat(1, 4) / 8, (3, 2): torch.ones(3, 2)}
    named = {name: values.get(one.shape, torch.zeros(one.shape)) for name, one in model.parameters().items()}
    positions = {"position_embedding.weight": -torch.ones(8, 2)}
    set_to(model, {**named, **positions, "output.weight": torch.cat([eye, eye[:1]])})
    idx = torch.zeros(1000, 8, dtype=torch.long)
    plain = logits_of(model, idx, 3).float()
    expect_true(torch.allclose(plain[..., 0], plain[..., 1], atol=1e-3), "in eval mode nothing should be dropped.")
    set_training(model, True)
    logits = logits_of(model, idx, 3).float()
    equal = (logits[..., 0] - logits[..., 1]).abs() < 1e-3
    share = f"{equal.double().mean():.2f}"
    reason = (
        f"in training with dropout {P} both features of a token should be equal in about {EQUAL:.2f} of all cases, in "
        f"yours it is {share}: give dropout to each block, and drop only what the rule allows."
    )
    expect_count(equal, EQUAL, reason)
    same = torch.allclose(logits[..., 0], logits[..., 2], atol=1e-3)
    expect_true(same, "in training two logits with the same weights should be equal, yours differ: drop no logits.")


@pytest.mark.example("SmallGPT", rule="in eval mode nothing is dropped")
def test_nothing_is_dropped_in_eval_mode(student: Student) -> None:
    """In eval mode the logits are exact, whatever dropout is."""
    yours = filled(student, dropout=0.5)(ids(4, 5))
    expect_solution("the logits in eval mode", yours, shape="(B, T, V)", idea="in eval mode nothing is dropped")


@pytest.mark.example("SmallGPT", rule="with dropout=0.0 nothing is dropped in training")
def test_nothing_is_dropped_without_dropout(student: Student) -> None:
    """With dropout=0.0 the logits are exact in training too."""
    model = filled(student)
    set_training(model, True)
    idea = "with dropout=0.0 nothing is dropped"
    expect_solution("the logits in training", model(ids(8, 5)), shape="(B, T, V)", idea=idea)


@pytest.mark.example("SmallGPT", rule="gradients reach all parameters")
def test_gradients_of_the_model(student: Student) -> None:
    """The logits depend on all parameters, and so do their gradients."""
    model = filled(student, (7, 5, 4, 2, 1))
    expect_gradients_fit(model, parameters=list(model.parameters()), idx=ids(1, 5))


# -- generate_text ---------------------------------------------------------------------------------------------------
# The model of these tests is a table (V, V): the logits of a token are its row. No test needs your SmallGPT.

IDX = torch.tensor([[4, 0, 2], [5, 1, 4], [3, 3, 0]])


def table_model(student: Student, table: torch.Tensor) -> RemoteObject:
    model = student.make("Embedding", *table.shape)
    model.set({"weight": table})
    return model


def successor_table(kinds: int) -> torch.Tensor:
    """A table (V, V) in which i + 1 comes after i, and 0 after the last. All else has almost no probability."""
    return 50 * torch.eye(kinds).roll(1, dims=1)


def generated(
    student: Student, model: RemoteObject, prompt: torch.Tensor, count: int, context_length: int = 20, **options: Any
) -> torch.Tensor:
    """The tokens (B, count) that your generate_text adds to the prompt, which should be at the beginning."""
    (texts, length), after = prompt.shape, "(B, T + max_new_tokens)"
    text = student.generate_text(model, prompt, count, context_length, **options)
    if not isinstance(text, torch.Tensor) or text.shape != (texts, length + count):
        fail(f"the text should have the shape {after} = {(texts, length + count)}, yours is {described(text)}.")
    expect_true(not text.is_floating_point(), "the text should be of whole numbers, yours is of floats.")
    idea = "the prompt comes first, unchanged"
    expect_values("the beginning of the text", text[:, :length], prompt, shape="(B, T)", idea=idea)
    return text[:, length:]


@pytest.mark.example("generate_text")
def test_text_goes_on_from_the_token_just_drawn(student: Student) -> None:
    """Each new token is drawn with the logits of the token before it, and put after it."""
    # After 0 comes 1, after 1 comes 2, and after 2 comes 0.
    text = student.generate_text(table_model(student, successor_table(3)), torch.tensor([[2, 0], [0, 1]]), 4, 8)
    expect_values(
        "the text",
        text,
        torch.tensor([[2, 0, 1, 2, 0, 1], [0, 1, 2, 0, 1, 2]]),
        shape="(B, T + max_new_tokens)",
        idea="the prompt comes first, and each new token comes after the one before it",
    )


@pytest.mark.example(
    "generate_text",
    rule=[
        "returns the prompt idx, unchanged, and then max_new_tokens tokens: (B, T + max_new_tokens)",
        "each text continues from its own last token, which is the newest token if one was drawn",
        "max_new_tokens=0 returns only the prompt",
        "any number of texts and of tokens in the prompt, including one",
    ],
)
@pytest.mark.parametrize(("texts", "tokens", "count"), [
    pytest.param(2, 3, 7, id="two_texts"), pytest.param(3, 1, 1, id="one_token"), pytest.param(1, 2, 4, id="one_text"),
    pytest.param(1, 1, 2, id="one_token_alone"), pytest.param(2, 3, 0, id="no_new_token"),
])  # fmt: skip
def test_new_tokens(student: Student, texts: int, tokens: int, count: int) -> None:
    """Each text goes on from its own last token, for prompts of any size and any number of new tokens."""
    new = generated(student, table_model(student, successor_table(6)), IDX[:texts, :tokens], count)
    idea = "here i + 1 comes after i, and 0 after 5, in each text from its own last token"
    expect_solution("the new tokens", new, shape="(B, max_new_tokens)", idea=idea)


LAST = "the model gets only the last context_length tokens of the text, or the whole text if it is shorter"


@pytest.mark.example("generate_text", rule=LAST)
@pytest.mark.parametrize(("tokens", "count"), [
    pytest.param(8, 4, id="a_long_prompt"), pytest.param(2, 9, id="a_short_prompt"),
])  # fmt: skip
def test_the_model_gets_the_last_tokens_of(student: Student, tokens: int, count: int) -> None:
    """This model adds up the tokens that it gets, and its choice shows which these are."""
    # It continues with the token that is rarest among those it gets, and not the last. Of equals the larger one wins.
    choice = student.make("Linear", 5, 5)
    choice.set({"weight": -4000 * torch.eye(5), "bias": 50.0 * torch.arange(5)})
    model = student.make("Sequential", table_model(student, torch.eye(5)), student.make("TokenMixer"), choice)
    prompt = torch.tensor([[0, 1, 2, 2, 0, 3, 1, 4], [3, 2, 4, 4, 1, 0, 2, 1]])[:, :tokens]
    new = generated(student, model, prompt, count, context_length=4)
    idea = "the model should get the last 4 tokens of the text, the newest included"
    expect_solution("the new tokens", new, shape="(B, max_new_tokens)", idea=idea)


def tokens_of_equal_rows(student: Student) -> torch.Tensor:
    """New tokens (400, 4), each of them drawn with the probabilities 0.6, 0.2, 0.1 and 0.1, whatever comes before."""
    table = torch.tensor([6.0, 2.0, 1.0, 1.0]).log().repeat(4, 1)
    return generated(student, table_model(student, table), torch.tensor([[1, 3]]).repeat(400, 1), 4)


@pytest.mark.example(
    "generate_text", rule="each new token is drawn from the softmax of the model's logits of the last token"
)
def test_tokens_are_drawn_from_the_softmax(student: Student) -> None:
    """Tokens with the probabilities 0.6, 0.2, 0.1 and 0.1 make up such shares of the new tokens."""
    new = tokens_of_equal_rows(student)
    for token, probability in enumerate((0.6, 0.2, 0.1, 0.1)):
        share = f"{(new == token).double().mean():.2f}"
        reason = (
            f"a token with the probability {probability} should be about {probability} of all new tokens, in yours it "
            f"is {share}: the probabilities are the softmax of the last token's logits, along the vocabulary."
        )
        expect_count(new == token, probability, reason)


@pytest.mark.example(
    "generate_text", rule="each new token is drawn from the softmax of the model's logits of the last token"
)
def test_unlikely_tokens_are_drawn_too(student: Student) -> None:
    """Of 128 tokens, one has the probability 0.5, and all others share the rest."""
    prompt = torch.tensor([[1, 3]]).repeat(1000, 1)
    expect_many_kinds(generated(student, table_model(student, many_kinds()), prompt, 4))


@pytest.mark.example(
    "generate_text", rule="each new token is drawn from the softmax of the model's logits of the last token"
)
def test_the_logits_are_those_of_the_last_token(student: Student) -> None:
    """After 0 the tokens 0 and 1 are equally likely, and after 1 always comes 0."""
    table = torch.tensor([[0.0, 0.0], [math.log(2) + 40, math.log(2)]])
    new = generated(student, table_model(student, table), torch.tensor([[1, 0]]).repeat(400, 1), 1)
    share = f"{(new == 1).double().mean():.2f}"
    expect_count(new == 1, 0.5, f"after 0, a share of about 0.50 should be token 1, in yours it is {share}.")


@pytest.mark.example(
    "generate_text", rule="every token is drawn independently: texts with the same prompt may continue differently"
)
def test_every_token_is_drawn_independently(student: Student) -> None:
    """Two texts, or two steps, have the same token about as often as two independent draws."""
    new = tokens_of_equal_rows(student)
    for what, alike in {"texts": new[0::2] == new[1::2], "steps": new[:, 0::2] == new[:, 1::2]}.items():
        reason = f"the tokens of two {what} should be drawn independently, yours depend on each other."
        expect_count(alike, 0.6**2 + 0.2**2 + 0.1**2 + 0.1**2, reason)


@pytest.mark.example(
    "generate_text",
    rule=[
        "with a generator, every random draw comes from it and advances it",
        "with the same generator state the result is the same",
        "without a generator, torch's global generator is used, and it advances too",
    ],
)
def test_tokens_come_from_the_generator(student: Student) -> None:
    """All tokens are drawn from the generator, or from torch's global one if none is given."""
    model, prompt = table_model(student, torch.zeros(3, 3)), torch.zeros(10, 1, dtype=torch.long)
    expect_generator_used(student, lambda **options: generated(student, model, prompt, 5, **options))


@pytest.mark.example("generate_text", rule="after the call the model is in the same mode as before, training or eval")
@pytest.mark.parametrize("is_training", [pytest.param(True, id="training"), pytest.param(False, id="eval")])
def test_the_model_stays_in_mode(student: Student, is_training: bool) -> None:
    """A model in training mode is in training mode after the call, and one in eval mode in eval mode."""
    model = table_model(student, successor_table(6))
    set_training(model, is_training)
    generated(student, model, IDX, 2)
    before, after = ("training", "eval") if is_training else ("eval", "training")
    sentence = f"a model in {before} mode should stay in it, yours leaves the model in {after} mode: restore the mode."
    expect_true(model.get("training") is is_training, sentence)


@pytest.mark.example("generate_text", rule="idx is not changed")
@pytest.mark.parametrize("context_length", [pytest.param(20, id="long"), pytest.param(3, id="short")])
def test_idx_is_kept_if_the_context_is(student: Student, context_length: int) -> None:
    """After the call, idx is the same as before."""
    model = table_model(student, numbers(6, 6))
    call = student.generate_text
    _, after = call.with_arguments(model, IDX, 3, context_length)
    same = isinstance(after[1], torch.Tensor) and torch.equal(after[1], IDX)
    expect_true(same, "`idx` should be the same after the call as before; yours changes it. Make a new tensor instead.")
