"""The visible tests of unit 6, a bigram language model. Run `grader check bigram_language_model`, or `pytest`.

`student` is your file: `student.encode(text, vocabulary)` is what your encode gives. Tests without a rule are worked
examples: a short text, small batches, numbers to check by hand. The others try rules of your docstrings. Tests of
modules set the weights of your layers, so the initial values are up to you.

Draws are random, so their tests count: in n draws with the probability p, about p · n times. A right answer is further
than 3 · √n from that less than once in ten million runs.
"""

from __future__ import annotations

import math
from typing import Any

import pytest
import torch
from checking import (
    as_number,
    described,
    expect_count,
    expect_error,
    expect_many_kinds,
    expect_module,
    expect_number,
    expect_results,
    expect_solution,
    expect_true,
    expect_values,
    fail,
    kept,
    many_kinds,
    numbers,
    set_training,
    type_name,
    with_article,
)
from torch import nn

from grader.testing.checks import remark_ready_made
from grader.testing.contracts import (
    expect_any_layout,
    expect_arguments_kept,
    expect_each_alone,
    expect_float64,
    expect_generator_used,
    expect_gradients_fit,
)
from grader.testing.student import RemoteCallable, RemoteObject, Student
from grader.testing.visible_contracts import contract_tests


def expect_plain(name: str, yours: Any, expected: Any, idea: str) -> None:
    """Expect this text or list, of the same type."""
    if type(yours) is not type(expected):
        fail(f"{name} should be {with_article(type_name(expected))}, yours is {described(yours)}: {idea}.")
    types = {type_name(entry) for entry in yours} - {type_name(entry) for entry in expected}
    expect_true(
        not types or not expected, f"{name} should be {expected!r}, yours has {', '.join(types)} in it: {idea}."
    )
    expect_true(yours == expected, f"{name} should be {expected!r}, yours is {yours!r}: {idea}.")


def tensor_of(name: str, yours: Any, shape: tuple[int, ...], names: str) -> torch.Tensor:
    """Expect a tensor of this shape, with any values, and return it."""
    if not isinstance(yours, torch.Tensor):
        fail(f"{name} should be a tensor, yours is {described(yours)}.")
    if yours.shape != shape:
        fail(f"{name} should have shape {names} = {shape}, yours is {tuple(yours.shape)}.")
    return yours


def expect_integers(name: str, yours: torch.Tensor) -> None:
    """Expect a tensor of whole numbers, of any integer dtype."""
    is_integer = not yours.is_floating_point() and yours.dtype != torch.bool
    expect_true(is_integer, f"{name} should be integers, yours are {yours.dtype}: an id is the index of a row.")


# -- build_vocabulary ------------------------------------------------------------------------------------------------

TEXT = "the cat sat\n"
VOCABULARY = ["\n", " ", "a", "c", "e", "h", "s", "t"]
ONCE = "each character of the text once, spaces and line breaks too, in the order of `sorted`"


@pytest.mark.example("build_vocabulary")
def test_build_vocabulary(student: Student) -> None:
    """The vocabulary of a short text has each of its characters once, in sorted order."""
    expect_plain("the vocabulary", student.build_vocabulary(TEXT), VOCABULARY, ONCE)


@pytest.mark.example(
    "build_vocabulary",
    rule=[
        "every character of the text is in it once, including spaces, line breaks and capital letters",
        "the characters are in the order of Python's `sorted`",
        "the result is a list",
    ],
)
@pytest.mark.parametrize(("text", "vocabulary"), [
    pytest.param('"No, Bob\tran!"\n\nNo 2', [*'\t\n !",2BNabnor'], id="punctuation"),
    pytest.param("Xylophon ", [*" Xhlnopy"], id="ends_that_come_once"),
    pytest.param("ooooo", ["o"], id="one_character"),
])  # fmt: skip
def test_build_vocabulary_of(student: Student, text: str, vocabulary: list[str]) -> None:
    """Every character counts: capital letters, digits, punctuation, and spaces at the ends too."""
    expect_plain(f"the vocabulary of {text!r}", student.build_vocabulary(text), vocabulary, ONCE)


# -- encode and decode -----------------------------------------------------------------------------------------------

CAT = [3, 2, 7]
# Here no character's index is its place in the alphabet, and capital letters come first.
LETTERS = [" ", "A", "N", "a", "n", "s"]
INDEX = "each character becomes its index in the vocabulary, counted from 0, as an int"
CHARACTER = "each id becomes the character at this index in the vocabulary, counted from 0"


@pytest.mark.example("encode")
def test_encode(student: Student) -> None:
    """The characters of `cat` become their indices in the vocabulary."""
    expect_plain("the list of ids", student.encode("cat", VOCABULARY), CAT, INDEX)


@pytest.mark.example(
    "encode",
    rule=[
        "each character becomes its index in the vocabulary, counted from 0",
        "the result is a list of int, one for each character",
        "any number of characters, including none",
    ],
)
@pytest.mark.parametrize(("text", "ids"), [
    pytest.param(" Anna sans Nan ", [0, 1, 4, 4, 3, 0, 5, 3, 4, 5, 0, 2, 3, 4, 0], id="many"),
    pytest.param("N", [2], id="one"),
    pytest.param("", [], id="none"),
])  # fmt: skip
def test_encode_of(student: Student, text: str, ids: list[int]) -> None:
    """Each character of the text gives one id, also if it occurs again, or is a space at an end."""
    expect_plain(f"the list of ids of {text!r}", student.encode(text, LETTERS), ids, INDEX)


@pytest.mark.example("decode")
def test_decode(student: Student) -> None:
    """Three ids become the text `cat`."""
    expect_plain("the text", student.decode(CAT, VOCABULARY), "cat", CHARACTER)


@pytest.mark.example(
    "decode",
    rule=[
        "each id becomes the character at this index in the vocabulary, counted from 0",
        "the result is one str",
        "any number of ids, including none",
    ],
)
@pytest.mark.parametrize(("ids", "text"), [
    pytest.param([0, 1, 4, 3, 5, 5, 0, 2, 0], " Anass N ", id="many"),
    pytest.param([5], "s", id="one"),
    pytest.param([], "", id="none"),
])  # fmt: skip
def test_decode_of(student: Student, ids: list[int], text: str) -> None:
    """Each id gives one character, spaces at the ends too, and nothing comes between them."""
    expect_plain(f"the text of {ids}", student.decode(ids, LETTERS), text, CHARACTER)


# -- sample_batch ----------------------------------------------------------------------------------------------------

# Ten ids that show their positions: 20 is at position 0, and 29 is at position 9.
DATA = torch.arange(20, 30)
# Ids that differ, in no order, so that only the data says which comes next.
MIXED = torch.tensor([14, 3, 8, 11, 0, 6, 19, 2, 9, 5, 12, 1])


def batch_of(student: Student, data: torch.Tensor, block_size: int, rows: int) -> tuple[torch.Tensor, torch.Tensor]:
    """Your batch, idx and targets, each (rows, block_size)."""
    yours = student.sample_batch(data, block_size, rows)
    idx, targets = expect_results("sample_batch", yours, ("idx", "targets"))
    shape = (rows, block_size)
    return tensor_of("idx", idx, shape, "(B, T)"), tensor_of("targets", targets, shape, "(B, T)")


def expect_order(idx: torch.Tensor, targets: torch.Tensor, data: torch.Tensor) -> None:
    """Expect that idx is not what follows the targets in the data, in which each token is another one."""
    following = dict(zip(data.tolist(), data[1:].tolist(), strict=False))
    pairs = zip(idx.flatten().tolist(), targets.flatten().tolist(), strict=True)
    if all(following.get(target) == token for token, target in pairs):
        fail("sample_batch should return idx, targets in this order; yours returns them in the reverse order.")


def starts_of(student: Student, num_starts: int, block_size: int, rows: int) -> torch.Tensor:
    """Where the rows of your batch begin (rows,), in data with num_starts possible starts. Other rows fail."""
    data = MIXED[: num_starts + block_size]
    idx, targets = batch_of(student, data, block_size, rows)
    expect_order(idx, targets, data)
    pieces = [data[start : start + block_size].tolist() for start in range(num_starts + 1)]
    starts = []
    for row, following in zip(idx.tolist(), targets.tolist(), strict=True):
        if row not in pieces:
            fail(f"each row of idx should be {block_size} tokens in a row of {data.tolist()}, one of yours is {row}.")
        start = pieces.index(row)
        if start == num_starts:
            fail(f"the piece {row} of {data.tolist()} should not be drawn: it has no target for its last token.")
        if following != pieces[start + 1]:
            fail(f"the targets of {row} should be {pieces[start + 1]} in {data.tolist()}, yours are {following}.")
        starts.append(start)
    return torch.tensor(starts)


@pytest.mark.example("sample_batch")
def test_sample_batch(student: Student) -> None:
    """Each row is a piece of the data, and its targets are one position later."""
    idx, targets = batch_of(student, DATA, 4, 60)
    expect_order(idx, targets, DATA)
    for row, following in zip(idx, targets, strict=True):
        if not torch.equal(row, row[0] + torch.arange(4)):
            fail(f"each row of idx should be a piece such as [20, 21, 22, 23], one of yours is {row.tolist()}.")
        if not torch.equal(following, row + 1):
            fail(f"the targets of {row.tolist()} should be one position later, yours are {following.tolist()}.")


@pytest.mark.example(
    "sample_batch",
    rule=[
        "each row of idx is a piece of the data: T consecutive tokens",
        "each target is the next token in the data after the token of idx at the same position",
        "every start from 0 to N - T - 1 is possible, and no other",
    ],
)
@pytest.mark.parametrize(("num_starts", "block_size"), [pytest.param(6, 4, id="six"), pytest.param(2, 1, id="two")])
def test_sample_batch_draws_every_start(student: Student, num_starts: int, block_size: int) -> None:
    """Each row is a piece of the data with its targets, and every piece that has targets is drawn."""
    # A right answer misses one of six starts in 300 rows once in 10^22 runs.
    missing = sorted(set(range(num_starts)) - set(starts_of(student, num_starts, block_size, 300).tolist()))
    tokens = num_starts + block_size
    expect_true(
        not missing,
        f"in {tokens} tokens, pieces of {block_size} begin at the positions 0 to {num_starts - 1}; "
        f"in 300 rows yours never begin at {missing}.",
    )


@pytest.mark.example("sample_batch", rule="all of these starts are equally likely")
def test_sample_batch_draws_all_starts_equally_often(student: Student) -> None:
    """With three possible starts, each one is drawn for about a third of the rows."""
    starts = starts_of(student, 3, 2, 1200)
    for start in range(3):
        reason = f"of 1200 rows about 400 should begin at position {start}, yours are {(starts == start).sum()} rows."
        expect_count(starts == start, 1 / 3, reason)


@pytest.mark.example(
    "sample_batch",
    rule="each row is drawn independently, so rows may be the same, and there may be more rows than starts",
)
def test_sample_batch_draws_each_row_independently(student: Student) -> None:
    """Of two rows, the second begins where the first does in a fifth of the pairs, if there are five starts."""
    starts = starts_of(student, 5, 3, 800)
    alike = starts[0::2] == starts[1::2]
    expect_count(
        alike,
        1 / 5,
        "with 5 possible starts, about 80 of 400 rows should begin where the row before does, yours are "
        f"{alike.sum()}: draw each row independently, and keep the order of the draws.",
    )


@pytest.mark.example("sample_batch", rule="data of T + 1 tokens is enough")
@pytest.mark.parametrize("rows", [pytest.param(3, id="three"), pytest.param(1, id="one")])
def test_sample_batch_of_the_shortest_data(student: Student, rows: int) -> None:
    """Data of T + 1 tokens has one piece: its first T tokens, with the last T as targets."""
    expect_true(not starts_of(student, 1, 4, rows).any(), "the only piece of T + 1 tokens begins at position 0.")


@pytest.mark.example("sample_batch", rule="data of fewer tokens raises ValueError or AssertionError")
@pytest.mark.parametrize("count", [pytest.param(4, id="four"), pytest.param(3, id="three"), pytest.param(1, id="one")])
def test_sample_batch_refuses_data_that_is_too_short(student: Student, count: int) -> None:
    """The last of four tokens needs a fifth as its target, so fewer than five raise ValueError or AssertionError."""
    idea = "a piece of 4 with the target of its last token needs 5 tokens"
    expect_error(f"data of length {count} for `block_size = 4`", student.sample_batch, DATA[:count], 4, 2, idea=idea)


@pytest.mark.example("sample_batch", rule="idx and targets are integers, like data")
def test_sample_batch_gives_integers(student: Student) -> None:
    """The ids stay integers."""
    for name, ids in zip(("idx", "targets"), batch_of(student, DATA, 3, 2), strict=True):
        expect_integers(name, ids)


# -- flatten_for_cross_entropy ---------------------------------------------------------------------------------------

PREDICTIONS = {"logits": numbers(2, 3, 4), "targets": torch.tensor([[1, 0, 3], [2, 1, 0]])}
OWN_TARGET = "each row of the logits has its own target at the same index"


def flat(student: Student, logits: torch.Tensor, targets: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """Your flat logits (B · T, V) and targets (B · T,), sorted by target: the order is up to you."""
    yours = student.flatten_for_cross_entropy(logits, targets)
    B, T, V = logits.shape
    rows, ids = expect_results("flatten_for_cross_entropy", yours, ("logits", "targets"), [(B * T, V), (B * T,)])
    rows = tensor_of("logits", rows, (B * T, V), "(B · T, V)")
    ids = tensor_of("targets", ids, (B * T,), "(B · T,)")
    order = ids.argsort()
    return rows[order], ids[order]


@pytest.mark.example("flatten_for_cross_entropy")
def test_flatten_for_cross_entropy(student: Student) -> None:
    """4 texts of 8 tokens give 32 predictions, each with its own target."""
    # The sizes in your file: 4 texts of 8 tokens, and 65 characters. All targets differ, and a row shows its target.
    targets = torch.arange(32).view(4, 8)
    rows, ids = flat(student, nn.functional.one_hot(targets, 65).float(), targets)
    idea = "all 32 predictions and targets are there, each once"
    expect_values("the sorted targets", ids, torch.arange(32), shape="(B · T,)", idea=idea)
    expect_values("the targets of the rows", rows.argmax(dim=-1), torch.arange(32), shape="(B · T,)", idea=OWN_TARGET)


@pytest.mark.example(
    "flatten_for_cross_entropy",
    rule=[
        "all B · T predictions are there, one in each row, and also all their targets",
        "each row of the logits has its own target at the same index",
        "the targets stay integers",
    ],
)
@pytest.mark.parametrize(("B", "T"), [pytest.param(3, 2, id="six"), pytest.param(1, 1, id="one")])
def test_flatten_for_cross_entropy_of_predictions(student: Student, B: int, T: int) -> None:
    """B texts of T tokens give B · T predictions, each with its own target, in any order."""
    targets = torch.tensor([[4, 0], [5, 1], [2, 3]])[:B, :T]
    rows, ids = flat(student, numbers(B, T, 7), targets)
    expect_integers("targets", ids)
    expect_solution("the sorted targets", ids, shape="(B · T,)", idea="all targets are there, each once")
    idea = f"{OWN_TARGET}, here sorted by target"
    expect_solution("the rows of the logits", rows, shape="(B · T, V)", idea=idea)


# -- cross_entropy ---------------------------------------------------------------------------------------------------

MEAN_LOSS = "the mean over all rows of -ln softmax(logits)[target]"
FLAT = {"logits": numbers(5, 4), "targets": torch.tensor([3, 0, 2, 0, 1])}


@pytest.mark.example("cross_entropy", rule="it stays correct and finite for logits of ±1,000")
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
        pytest.param(
            [[1000.0, 1000.0], [-1000.0, -1000.0]],
            [0, 1],
            math.log(2),
            "both rows have equal logits and a loss of ln 2, so each row needs its own largest logit",
            id="high_and_low_rows",
        ),
    ],
)
def test_cross_entropy(student: Student, logits: list[list[float]], targets: list[int], loss: float, idea: str) -> None:
    """The loss is the mean of minus the logarithm of each target's probability."""
    yours = student.cross_entropy(torch.tensor(logits), torch.tensor(targets))
    expect_values("the loss", yours, torch.tensor(loss), shape="of one number,", idea=idea)


@pytest.mark.example(
    "cross_entropy",
    rule=[
        "the mean, over all rows, of minus the natural logarithm of the target's probability after softmax",
        "any number of rows, including one",
    ],
)
@pytest.mark.parametrize("rows", [pytest.param(5, id="five"), pytest.param(3, id="three"), pytest.param(1, id="one")])
def test_cross_entropy_of_rows(student: Student, rows: int) -> None:
    """The loss is a mean over any number of rows."""
    yours = student.cross_entropy(*(value[:rows] for value in FLAT.values()))
    expect_solution("the loss", yours, shape="of one number,", idea=MEAN_LOSS)


READY_MADE_LOSSES = {"cross_entropy", "cross_entropy_loss", "nll_loss", "log_softmax", "special_log_softmax"}


@pytest.mark.example(
    "cross_entropy",
    rule="the mean, over all rows, of minus the natural logarithm of the target's probability after softmax",
)
def test_a_small_cross_entropy(student: Student) -> None:
    """The loss is not rounded: if the target is likely, it has more than four decimals."""
    arguments = torch.tensor([[6.0, 0.0, 0.0]]), torch.tensor([0])
    idea = "ln(1 + 2 exp(-6)) = 0.0049453, not rounded"
    found = as_number("the loss", student.cross_entropy(*arguments), idea)
    expect_number("10,000 times the loss", 10_000 * found, 49.453, within=0.2, idea=idea)
    remark_ready_made(READY_MADE_LOSSES, student.cross_entropy, *arguments)


# -- running means ---------------------------------------------------------------------------------------------------
# The three functions have the same rules, and so the same tests.

# One text of three tokens with two features.
TOKENS = torch.tensor([[[2.0, 0.0], [4.0, 6.0], [0.0, 3.0]]])
MEANS = torch.tensor([[[2.0, 0.0], [3.0, 3.0], [2.0, 3.0]]])
AVERAGED = "each token becomes the mean of itself and all tokens before it"
X = numbers(3, 4, 2)

EACH_MEAN = [
    "each token becomes the mean of itself and all tokens before it in its text, computed separately for each feature",
    "any number of tokens, including one",
]
EITHER_DTYPE = "float32 and float64 tokens both work"
GRADIENTS = "gradients flow to x"
NOT_CHANGED = "x is not changed"
each_size = pytest.mark.parametrize(
    ("B", "T"), [pytest.param(3, 4, id="three_texts"), pytest.param(1, 6, id="one_text"),
                 pytest.param(2, 1, id="one_token"), pytest.param(1, 1, id="one_token_alone")])  # fmt: skip


def expect_worked_means(running_mean: RemoteCallable) -> None:
    """Expect the running means of TOKENS from this function."""
    expect_values("the means", running_mean(TOKENS), MEANS, shape="(B, T, C)", idea=AVERAGED)


def expect_means(running_mean: RemoteCallable, B: int, T: int) -> None:
    """Expect the solution's running means for B texts of T tokens."""
    expect_solution("the means", running_mean(numbers(B, T, 2)), shape="(B, T, C)", idea=f"{AVERAGED} in its text")


@pytest.mark.example("running_mean_loop")
def test_running_mean_loop(student: Student) -> None:
    """Each of three tokens becomes the mean of itself and all tokens before it."""
    expect_worked_means(student.running_mean_loop)


@pytest.mark.example("running_mean_loop", rule=EACH_MEAN)
@each_size
def test_running_mean_loop_of(student: Student, B: int, T: int) -> None:
    """Each text has its own means, for any number of tokens."""
    expect_means(student.running_mean_loop, B, T)


@pytest.mark.example("running_mean_matmul")
def test_running_mean_matmul(student: Student) -> None:
    """Each of three tokens becomes the mean of itself and all tokens before it."""
    expect_worked_means(student.running_mean_matmul)


@pytest.mark.example("running_mean_matmul", rule=EACH_MEAN)
@each_size
def test_running_mean_matmul_of(student: Student, B: int, T: int) -> None:
    """Each text has its own means, for any number of tokens."""
    expect_means(student.running_mean_matmul, B, T)


@pytest.mark.example("running_mean_softmax")
def test_running_mean_softmax(student: Student) -> None:
    """Each of three tokens becomes the mean of itself and all tokens before it."""
    expect_worked_means(student.running_mean_softmax)


@pytest.mark.example("running_mean_softmax", rule=EACH_MEAN)
@each_size
def test_running_mean_softmax_of(student: Student, B: int, T: int) -> None:
    """Each text has its own means, for any number of tokens."""
    expect_means(student.running_mean_softmax, B, T)


# -- Head ------------------------------------------------------------------------------------------------------------

LAYERS = ("key", "query", "value")
ATTENDED = "softmax of the visible scores / √head_size, times the values"


def set_weight(layer: Any, kind: str, weight: torch.Tensor, wanted: str) -> None:
    """Set the weight of a layer in your module. Fail if it is not of this class, has another shape, or has a bias."""
    yours = "missing" if layer is None else type_name(layer)
    if isinstance(layer, RemoteObject) and f"torch.nn.modules.{kind}" in layer.kinds:
        shapes = {name: tuple(value.shape) for name, value in layer.parameters().items()}
        if shapes.get("weight") == weight.shape and "bias" not in shapes:
            layer.set({"weight": weight})
            return
        yours += " with " + (", ".join(f"{name} {shape}" for name, shape in shapes.items()) or "no parameters")
    fail(f"{wanted}, yours is {yours}.")


def layer_weights(n_embd: int = 3, head_size: int = 5) -> dict[str, torch.Tensor]:
    """Weights (head_size, n_embd) for the three layers; from -1 to 1, so that no score decides alone."""
    return {name: numbers(head_size, n_embd, seed=seed) / 2 for seed, name in enumerate(LAYERS)}


def head_of(
    student: Student, weights: dict[str, torch.Tensor], block_size: int = 10, dropout: float = 0.0
) -> RemoteObject:
    """Your Head with these weights (head_size, n_embd), in eval mode."""
    head_size, n_embd = weights["key"].shape
    made = student.Head(n_embd, head_size, block_size, dropout)
    head = expect_module(f"Head({n_embd}, {head_size}, {block_size}, {dropout})", made)
    for name in LAYERS:
        wanted = f"{name} should be nn.Linear(n_embd, head_size, bias=False), here nn.Linear({n_embd}, {head_size})"
        set_weight(kept(head, name), "linear.Linear", weights[name], wanted)
    set_training(head, False)
    return head


def averaging_weights() -> dict[str, torch.Tensor]:
    """Queries of zero have the dot product 0 with every key; the values are the tokens themselves."""
    return {"key": torch.zeros(2, 2), "query": torch.zeros(2, 2), "value": torch.eye(2)}


@pytest.mark.example("Head")
def test_a_head_without_preferences_is_a_running_mean(student: Student) -> None:
    """With scores of zero, a head gives each token the mean of itself and all tokens before it."""
    output = head_of(student, averaging_weights(), 4)(TOKENS)
    idea = "if all scores are zero, a head averages the past like running_mean_softmax"
    expect_values("the output", output, MEANS, shape="(B, T, head_size)", idea=idea)


@pytest.mark.example("Head")
def test_a_head_divides_by_the_root_of_head_size(student: Student) -> None:
    """Scores are divided by the square root of head_size, and softmax turns them into weights."""
    head = head_of(student, dict.fromkeys(LAYERS, torch.eye(2)), 4)
    # The scores of the second token are 0 and √2 ln 3, so its weights are 1/4 and 3/4.
    side = (math.sqrt(2) * math.log(3)) ** 0.5
    expect_values(
        "the output",
        head(torch.tensor([[[0.0, 0.0], [side, 0.0]]])),
        torch.tensor([[[0.0, 0.0], [0.75 * side, 0.0]]]),
        shape="(B, T, head_size)",
        idea="softmax of the scores / √head_size, here √2, with no weight for later tokens",
    )


@pytest.mark.example(
    "Head",
    rule=[
        "key, query and value are nn.Linear from n_embd to head_size",
        "key, query and value have no bias",
        "scores are the dot products of the queries with the keys, divided by the square root of head_size",
        "the output is, for each token, the sum of the values of itself and all tokens before it, weighted by the "
        "softmax of their scores",
    ],
)
@pytest.mark.parametrize(("n_embd", "head_size"), [pytest.param(3, 5, id="3_to_5"), pytest.param(7, 2, id="7_to_2"),
                                                   pytest.param(3, 3, id="3_to_3")])  # fmt: skip
def test_a_head_of_widths(student: Student, n_embd: int, head_size: int) -> None:
    """A head projects with its three layers, and attends to the past."""
    output = head_of(student, layer_weights(n_embd, head_size))(numbers(2, 4, n_embd))
    expect_solution("the output", output, shape="(B, T, head_size)", idea=ATTENDED)


@pytest.mark.example(
    "Head", rule="a later token has no weight, even if all visible scores are as low as -10,000 after scaling"
)
def test_a_head_hides_later_tokens_beside_very_low_scores(student: Student) -> None:
    """The first token sees only itself, even if its score is -10,000 and that of the later token is 0."""
    # Of a token's three features, the first becomes 100 in the query, the second is the key, the third the value.
    rows = {"query": [100.0, 0.0, 0.0], "key": [0.0, 1.0, 0.0], "value": [0.0, 0.0, 1.0]}
    head = head_of(student, {name: torch.tensor([row]) for name, row in rows.items()})
    output = tensor_of("the output", head(torch.tensor([[[1.0, -100, 3], [1, 0, 5]]])), (1, 2, 1), "(B, T, head_size)")
    # A softmax that does not subtract the largest score gives NaN here. That is a rule of unit 1, not of this one.
    if not output[0, 0].isnan().any():
        idea = "the later token has no weight: hide it with minus infinity, or with a number far below all scores"
        expect_values("the output of the first token", output[0, 0], torch.tensor([3.0]), shape="(1,)", idea=idea)


@pytest.mark.example("Head", rule="any number of tokens up to block_size, including one")
@pytest.mark.parametrize("tokens", [pytest.param(12, id="block_size"), pytest.param(4, id="four"),
                                    pytest.param(1, id="one")])  # fmt: skip
def test_a_head_of_tokens(student: Student, tokens: int) -> None:
    """With a block_size of 12, texts have from 1 to 12 tokens."""
    output = head_of(student, layer_weights(), block_size=12)(numbers(1, tokens, 3))
    expect_solution(f"the output for T = {tokens}", output, shape="(B, T, head_size)", idea=ATTENDED)


@pytest.mark.example("Head")
def test_a_head_drops_weights_in_training_only(student: Student) -> None:
    """In training with dropout 0.5 about half of the weights are dropped, and in eval mode none."""
    # The first token gives itself all its weight. A right answer drops all of 100 weights, or none, once in 2^99 runs.
    module, inputs = head_of(student, averaging_weights(), 4, dropout=0.5), torch.ones(100, 1, 2)
    outputs = tensor_of("the output", module(inputs), (100, 1, 2), "(B, T, head_size)")
    if not torch.equal(outputs, inputs):
        fail("in eval mode nothing should be dropped.")
    set_training(module, True)
    outputs = tensor_of("the output", module(inputs), (100, 1, 2), "(B, T, head_size)")
    if set(outputs.flatten().tolist()) != {0.0, 2.0}:
        fail("in training with dropout 0.5 a weight of 1 should become 0 or 2, with some of each among 100.")


def weights_in_training(student: Student) -> torch.Tensor:
    """The weights (2, B, T, 2, T) that two calls in training use, with dropout 0.25. They are 1 / (t + 1) before it.

    Token t has a one at two features of its value, t and 8 + t. So the output has each weight twice.
    """
    values = torch.cat([torch.eye(8), torch.eye(8)])  # (2 T, T)
    zeros = torch.zeros(16, 8)
    head = head_of(student, {"key": zeros, "query": zeros, "value": values}, dropout=0.25)
    set_training(head, True)
    inputs = torch.eye(8).repeat(20, 1, 1)  # (B, T, n_embd)
    outputs = [tensor_of("the output", head(inputs), (20, 8, 16), "(B, T, head_size)") for _ in range(2)]
    return torch.stack(outputs).unflatten(-1, (2, 8))


@pytest.mark.example(
    "Head",
    rule="dropout comes after softmax: a weight becomes 0 for all features of its value, or is divided by 1 - dropout",
)
def test_a_head_drops_weights_after_softmax(student: Student) -> None:
    """With dropout 0.25, each weight in training becomes 0 or 4/3 of what it is."""
    first, second = weights_in_training(student).unbind(-2)  # (2, B, T, T) each
    divided = 4 / 3 / torch.arange(1, 9)[:, None]  # (T, 1)
    is_right = (first == 0) | ((first - divided).abs() < 1e-4)
    expect_true(bool((first != 0).any()), "in training with dropout 0.25 some weights should be kept, yours are all 0.")
    expect_true(
        bool(is_right.all()),
        "in training with dropout 0.25 a weight should become 0 or 4/3 of itself, yours are other numbers: drop the "
        "weights after softmax.",
    )
    expect_true(
        bool(((first == 0) == (second == 0)).all()),
        "a dropped weight should be 0 for all features of its value, yours only for some: drop the weights, and not "
        "the values or the outputs.",
    )


@pytest.mark.example("Head", rule="in training each weight is dropped independently, with probability `dropout`")
def test_a_head_drops_each_weight_independently(student: Student) -> None:
    """With dropout 0.25 about a quarter of the weights is dropped, in no pattern."""
    is_kept = weights_in_training(student)[..., 0, :] != 0  # (2, B, T, T): call, text, query, key
    visible = torch.ones(8, 8, dtype=torch.bool).tril()
    share = f"{is_kept[..., visible].double().mean():.2f}"
    reason = f"with dropout 0.25 a share of about 0.75 of the weights should be kept, yours is {share}."
    expect_count(is_kept[..., visible], 0.75, reason)
    # Pairs of weights that should have nothing to do with each other. No weight is in two pairs.
    pairs = {
        "calls": (is_kept[0] == is_kept[1])[..., visible],
        "texts": (is_kept[:, 0::2] == is_kept[:, 1::2])[..., visible],
        "queries": (is_kept[..., 0::2, :] == is_kept[..., 1::2, :])[..., visible[0::2]],
        "keys": (is_kept[..., 0::2] == is_kept[..., 1::2])[..., visible[:, 1::2]],
    }
    for what, alike in pairs.items():
        # Two weights are both kept with a probability of 0.75², and both dropped with 0.25².
        reason = f"the weights of two {what} should be dropped independently, yours are dropped together or in turns."
        expect_count(alike, 0.75**2 + 0.25**2, reason)


@pytest.mark.example(
    "Head", rule="gradients reach the inputs and the weights of the three layers, and the mask is not a parameter"
)
def test_gradients_of_a_head(student: Student) -> None:
    """The output depends on the inputs and the three weights, and so do its gradients. The mask does not learn."""
    weights = layer_weights()
    head = head_of(student, weights)
    # A layer may have another name too, so the parameters are found by their numbers.
    names = [
        name
        for name, value in head.parameters().items()
        if any(value.shape == weight.shape and torch.equal(value, weight) for weight in weights.values())
    ]
    expect_gradients_fit(head, parameters=names, inputs=numbers(2, 4, 3))
    masks = [name for name, value in head.parameters().items() if value.shape[-2:] == (10, 10)]
    expect_true(
        not masks,
        f"the mask should not be an nn.Parameter, yours is one, {', '.join(masks)}: it would be changed in training. "
        "Keep it with register_buffer.",
    )


# -- BigramLanguageModel: forward ------------------------------------------------------------------------------------

ROW = "the logits of a token are its row of the table"


def model_of(student: Student, table: torch.Tensor) -> RemoteObject:
    """Your BigramLanguageModel with this table (V, V)."""
    model = expect_module(f"BigramLanguageModel({len(table)})", student.BigramLanguageModel(len(table)))
    wanted = f"token_embedding_table should be nn.Embedding(vocab_size, vocab_size), here ({len(table)}, {len(table)})"
    set_weight(kept(model, "token_embedding_table"), "sparse.Embedding", table, wanted)
    return model


def logits_and_loss(model: RemoteObject, *arguments: torch.Tensor) -> Any:
    return expect_results("BigramLanguageModel", model(*arguments), ("logits", "loss"))


@pytest.mark.example("BigramLanguageModel")
def test_logits_and_loss_of_the_bigram_model(student: Student) -> None:
    """The logits of a token are its row of the table, and the loss is their mean cross-entropy."""
    # The softmax of the first row is 3/4 and 1/4, and of the second row 1/2 and 1/2.
    table = torch.tensor([[math.log(3), 0.0], [0.0, 0.0]])
    logits, loss = logits_and_loss(model_of(student, table), torch.tensor([[0, 1]]), torch.tensor([[0, 1]]))
    expect_values("the logits", logits, table[None], shape="(B, T, V)", idea=ROW)
    expect_values("the loss", loss, torch.tensor(0.4904), shape="of one number,", idea="the mean of ln 4/3 and ln 2")


each_batch = pytest.mark.parametrize(("B", "T"), [
    pytest.param(2, 3, id="two_texts"), pytest.param(3, 1, id="one_token"), pytest.param(1, 1, id="one_token_alone"),
])  # fmt: skip
# Ids of six kinds, and what comes after each of them.
IDX, TARGETS = torch.tensor([[4, 0, 2], [5, 1, 4], [3, 3, 0]]), torch.tensor([[0, 2, 5], [1, 4, 3], [2, 0, 1]])


@pytest.mark.example(
    "BigramLanguageModel",
    rule=[
        "token_embedding_table is nn.Embedding(vocab_size, vocab_size)",
        "without targets, the logits of each token are its row of the table: (B, T, V)",
        "without targets, the loss is None",
    ],
)
@each_batch
def test_the_bigram_model_without_targets(student: Student, B: int, T: int) -> None:
    """Without targets, there are logits and no loss."""
    logits, loss = logits_and_loss(model_of(student, numbers(6, 6)), IDX[:B, :T])
    expect_solution("the logits", logits, shape="(B, T, V)", idea=ROW)
    expect_true(loss is None, f"without targets the loss should be None, yours is {loss}.")


@pytest.mark.example(
    "BigramLanguageModel",
    rule=[
        "with targets, the logits are the same: (B, T, V)",
        "with targets (B, T), the loss is one number, the mean cross-entropy of all B · T predictions",
    ],
)
@each_batch
def test_the_bigram_model_with_targets(student: Student, B: int, T: int) -> None:
    """With targets, the logits keep their shape, and the loss is a mean over all predictions."""
    logits, loss = logits_and_loss(model_of(student, numbers(6, 6)), IDX[:B, :T], TARGETS[:B, :T])
    expect_solution("the logits", logits, shape="(B, T, V)", idea=f"{ROW}, with targets and without")
    idea = "the mean cross-entropy of all B · T predictions, each with its own target"
    expect_solution("the loss", loss, shape="of one number,", idea=idea)


@pytest.mark.example("BigramLanguageModel", rule="gradients of the loss reach the table")
def test_gradients_of_the_bigram_model(student: Student) -> None:
    """The loss depends on the table, and so do its gradients."""
    model = model_of(student, numbers(6, 6))
    expect_gradients_fit(model, parameters=["token_embedding_table.weight"], idx=IDX, targets=TARGETS)


@pytest.mark.example("BigramLanguageModel", rule="idx and targets are not changed")
def test_the_bigram_model_keeps_its_arguments(student: Student) -> None:
    """After the call, idx and targets are the same as before, in the same shape."""
    expect_arguments_kept(model_of(student, numbers(6, 6)), idx=IDX, targets=TARGETS)


# -- BigramLanguageModel: generate -----------------------------------------------------------------------------------


def generated(model: RemoteObject, prompt: torch.Tensor, count: int, **options: Any) -> torch.Tensor:
    """The tokens (B, count) that your generate adds to the prompt, which should be at the beginning."""
    (texts, length), after = prompt.shape, "(B, T + max_new_tokens)"
    text = tensor_of("the text", model.method("generate")(prompt, count, **options), (texts, length + count), after)
    expect_integers("the text", text)
    idea = "the prompt comes first, unchanged"
    expect_values("the beginning of the text", text[:, :length], prompt, shape="(B, T)", idea=idea)
    return text[:, length:]


def successor_table(kinds: int) -> torch.Tensor:
    """A table (V, V) in which i + 1 comes after i, and 0 after the last. All else has almost no probability."""
    return 50 * torch.eye(kinds).roll(1, dims=1)


@pytest.mark.example("BigramLanguageModel")
def test_generate_goes_on_from_the_token_just_drawn(student: Student) -> None:
    """Each new token is drawn with the row of the token before it, and put after it."""
    # After 0 comes 1, after 1 comes 2, and after 2 comes 0.
    text = model_of(student, successor_table(3)).method("generate")(torch.tensor([[2, 0], [0, 1]]), 4)
    expect_values(
        "the text",
        text,
        torch.tensor([[2, 0, 1, 2, 0, 1], [0, 1, 2, 0, 1, 2]]),
        shape="(B, T + max_new_tokens)",
        idea="the prompt comes first, and each new token comes after the one before it",
    )


@pytest.mark.example(
    "BigramLanguageModel",
    rule=[
        "returns the prompt idx, unchanged, and then max_new_tokens tokens: (B, T + max_new_tokens)",
        "the last token is the newest token, if one was drawn, and each text continues from its own last token",
        "max_new_tokens=0 returns only the prompt",
        "any number of texts and of tokens in the prompt, including one",
    ],
)
@pytest.mark.parametrize(("B", "T", "count"), [
    pytest.param(2, 3, 7, id="two_texts"), pytest.param(3, 1, 1, id="one_token"), pytest.param(1, 2, 4, id="one_text"),
    pytest.param(1, 1, 2, id="one_token_alone"), pytest.param(2, 3, 0, id="no_new_token"),
])  # fmt: skip
def test_generate_new_tokens(student: Student, B: int, T: int, count: int) -> None:
    """Each text goes on from its own last token, for prompts of any size and any number of new tokens."""
    new = generated(model_of(student, successor_table(6)), IDX[:B, :T], count)
    idea = "here i + 1 comes after i, and 0 after 5, in each text from its own last token"
    expect_solution("the new tokens", new, shape="(B, max_new_tokens)", idea=idea)


def tokens_of_equal_rows(student: Student) -> torch.Tensor:
    """New tokens (400, 4), each of them drawn with the probabilities 0.6, 0.2, 0.1 and 0.1, whatever comes before."""
    table = torch.tensor([6.0, 2.0, 1.0, 1.0]).log().repeat(4, 1)
    return generated(model_of(student, table), torch.tensor([[1, 3]]).repeat(400, 1), 4)


@pytest.mark.example(
    "BigramLanguageModel", rule="each new token is drawn from the softmax of the logits of the text's last token"
)
def test_generate_draws_from_the_softmax(student: Student) -> None:
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
    "BigramLanguageModel", rule="each new token is drawn from the softmax of the logits of the text's last token"
)
def test_generate_draws_unlikely_tokens_too(student: Student) -> None:
    """Of 128 tokens, one has the probability 0.5, and all others share the rest."""
    prompt = torch.tensor([[1, 3]]).repeat(1000, 1)
    expect_many_kinds(generated(model_of(student, many_kinds()), prompt, 4))


@pytest.mark.example(
    "BigramLanguageModel",
    rule="every token is drawn independently: texts with the same prompt may continue differently",
)
def test_generate_draws_every_token_independently(student: Student) -> None:
    """Two texts, or two steps, have the same token about as often as two independent draws."""
    new = tokens_of_equal_rows(student)
    for what, alike in {"texts": new[0::2] == new[1::2], "steps": new[:, 0::2] == new[:, 1::2]}.items():
        reason = f"the tokens of two {what} should be drawn independently, yours depend on each other."
        expect_count(alike, 0.6**2 + 0.2**2 + 0.1**2 + 0.1**2, reason)


@pytest.mark.example(
    "BigramLanguageModel",
    rule=[
        "with a generator, every random draw comes from it and advances it",
        "with the same generator state the result is the same",
        "without a generator, torch's global generator is used, and it advances too",
    ],
)
def test_generate_draws_from_the_generator(student: Student) -> None:
    """All tokens are drawn from the generator, or from torch's global one if none is given."""
    model, prompt = model_of(student, torch.zeros(3, 3)), torch.zeros(10, 1, dtype=torch.long)
    expect_generator_used(student, lambda **options: generated(model, prompt, 5, **options))


@pytest.mark.example("BigramLanguageModel", rule="idx is not changed")
def test_generate_keeps_idx(student: Student) -> None:
    """After the call, idx is the same as before."""
    expect_arguments_kept(model_of(student, numbers(6, 6)).method("generate"), idx=IDX, max_new_tokens=3)


# -- properties of several exercises, from contracts.json ------------------------------------------------------------

test_contract = contract_tests(__file__)
