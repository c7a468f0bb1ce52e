"""SmallGPT: hidden tests, known mistakes and right answers."""

from __future__ import annotations

import contextlib
import functools
import math
from collections.abc import Callable, Iterator
from typing import Any

import torch
import torch.nn as nn
from torch import Tensor

from grader.suites.generation import V, random_ids
from grader.suites.small_gpt.shared import BLOCKS, CONTEXT, HEADS, B, C, T, ids
from grader.testing.checks import (
    ABSOLUTE,
    RELATIVE,
    expect_any_error,
    expect_close,
    expect_tensor,
    expect_true,
    expect_values,
    oracle_gradients,
    shown,
)
from grader.testing.draws import Fresh, expect_count
from grader.testing.misconceptions import mistake, replace
from grader.testing.probes import PROBABILITIES, Draw, Estimate, Property, has_parameters, probe, refusal, shares
from grader.testing.properties import GRADIENTS, LOOKS_AHEAD
from grader.testing.student import Raised, RemoteObject, Student
from grader.testing.suite import rule

SIZES = (V, CONTEXT, C, HEADS, BLOCKS)
Shape = tuple[int, ...]
Values = dict[Shape, torch.Tensor]  # the values of all parameters of a shape


class Attention(nn.Module):
    """What MultiHeadAttention should compute."""

    def __init__(self, d_in: int, d_out: int, _context_length: int, _dropout: float, num_heads: int) -> None:
        super().__init__()
        self.all_three = nn.Linear(d_in, 3 * d_out, bias=False)
        self.output = nn.Linear(d_out, d_out)
        self.num_heads = num_heads

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        parts = self.all_three(x).unflatten(-1, (3, self.num_heads, -1)).movedim(-3, 0)  # (3, B, T, H, head_dim)
        queries, keys, values = parts.transpose(-3, -2)  # (B, H, T, head_dim) each
        attended = nn.functional.scaled_dot_product_attention(queries, keys, values, is_causal=True)
        return self.output(attended.transpose(-3, -2).flatten(-2))


class Network(nn.Sequential):
    """What FeedForward should compute."""

    def __init__(self, emb_dim: int) -> None:
        super().__init__(nn.Linear(emb_dim, 4 * emb_dim), nn.ReLU(), nn.Linear(4 * emb_dim, emb_dim))


class Block(nn.Module):
    """What TransformerBlock should compute, with the norm and the sum of the student's block."""

    def __init__(
        self, student: Student, attention: nn.Module, feed_forward: nn.Module, emb_dim: int, _dropout: float
    ) -> None:
        super().__init__()
        self.attention, self.feed_forward = attention, feed_forward
        self.norm1, self.norm2 = (student.substitute("LayerNorm", nn.LayerNorm)(emb_dim) for _ in range(2))
        self.join: Any = getattr(student.substitute("Residual", None), "join", torch.add)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = self.join(x, self.attention(self.norm1(x)))
        return self.join(x, self.feed_forward(self.norm2(x)))


def in_sequence(make_block: Callable[[], nn.Module], num_blocks: int) -> nn.Module:
    return nn.Sequential(*(make_block() for _ in range(num_blocks)))


class Expected(nn.Module):
    """What SmallGPT should compute, in float64, with these values of its parameters."""

    def __init__(self, student: Student, values: Values, final_norm: Callable[[int], nn.Module]) -> None:
        super().__init__()
        self.tokens, self.positions = nn.Embedding(V, C), nn.Embedding(CONTEXT, C)

        def make_block() -> nn.Module:
            attention = student.substitute("MultiHeadAttention", Attention)(C, C, CONTEXT, 0.0, HEADS)
            feed_forward = student.substitute("FeedForward", Network)(C)
            block = student.substitute("TransformerBlock", functools.partial(Block, student))
            made: nn.Module = block(attention, feed_forward, C, 0.0)
            return made

        self.blocks = student.substitute("stack_blocks", in_sequence)(make_block, BLOCKS)
        self.norm = final_norm(C)
        self.output = nn.Linear(C, V, bias=False)
        self.double()
        for parameter in self.parameters():
            parameter.data = values[tuple(parameter.shape)].double()

    def forward(self, idx: torch.Tensor) -> torch.Tensor:
        x = self.tokens(idx) + self.positions.weight[: idx.shape[1]]  # (B, T, C) + (T, C) -> (B, T, C)
        return self.output(self.norm(self.blocks(x)))


def expected_models(student: Student, values: Values, needs_norm: bool = True) -> list[Expected]:
    """Return the models that are right here.

    If LayerNorm has a substitute, the final norm may be that or nn.LayerNorm. needs_norm: whether it may not be left
    out.
    """
    norms = [student.substitute("LayerNorm", nn.LayerNorm), nn.LayerNorm, *([] if needs_norm else [nn.Identity])]
    return [Expected(student, values, norm) for norm in dict.fromkeys(norms)]


def closest(models: list[Expected], idx: torch.Tensor, logits: object) -> Expected:
    """Return the model whose logits are closest to these; the first one if they are no such logits."""
    if not isinstance(logits, torch.Tensor) or logits.shape != (*idx.shape, V):
        return models[0]
    return min(models, key=lambda model: (model(idx) - logits.double()).abs().max().nan_to_num(torch.inf).item())


def fresh_values(fresh: Fresh) -> Values:
    """Values for the parameters of each shape. All heads have the same, so a list of heads can have them too."""
    matrix = (fresh(C // HEADS, C) / C**0.5).repeat(HEADS, 1)  # (C, C)
    return {
        (V, C): fresh(V, C),
        (CONTEXT, C): fresh(CONTEXT, C),
        (C,): (3 + fresh(C)) / 4 * torch.tensor([1, -1]).repeat(C // 2),  # of both signs, so that activations show
        (4 * C,): fresh(4 * C) / 2,
        (C // HEADS, C): matrix[: C // HEADS],
        (C, C): matrix,
        (3 * C, C): matrix.repeat(3, 1),
        (4 * C, C): fresh(4 * C, C) / C**0.5,
        (C, 4 * C): fresh(C, 4 * C) / (4 * C) ** 0.5,
    }


def without_matrices(values: Values) -> Values:
    """The same values with zeros for the matrices of the blocks: these then add the same numbers to each token."""
    tables = ((V, C), (CONTEXT, C))
    return {shape: value if len(shape) == 1 or shape in tables else 0 * value for shape, value in values.items()}


def is_unasked(name: str, value: torch.Tensor) -> bool:
    """Return whether a parameter is a bias of the output, or of queries, keys or values: another test is about it."""
    *_, layer, kind = ["", *name.lower().split(".")]
    is_bias = kind == "bias" and layer.removeprefix("w_") in ("query", "key", "value", "q", "k", "v")
    return is_bias or value.shape in ((V,), (3 * C,))


def model_with(student: Student, values: Values, dropout: float = 0.0) -> RemoteObject:
    """A SmallGPT in eval mode in which all parameters of one shape have these values, and others are zero."""
    model = student.queue("SmallGPT", *SIZES, dropout)
    named, parameters = {}, model.parameters()
    expect_blocks_found(parameters)
    for name, value in parameters.items():
        shape = tuple(value.shape[1:] if value.dim() == 3 and value.shape[0] == 1 else value.shape)
        is_asked = shape in values and not is_unasked(name, value)
        named[name] = values[shape].reshape(value.shape) if is_asked else torch.zeros(value.shape)
    model.set(named)
    model.eval()
    return model


def expect_blocks_found(parameters: dict[str, torch.Tensor]) -> None:
    """Expect parameters besides the tables, the last norm and the output. Else those of the blocks are not known."""
    matrices = [value for value in parameters.values() if value.dim() == 2]
    expect_true(len(matrices) > 3, "The parameters of the blocks are not found.")


def part(model: RemoteObject, name: str) -> RemoteObject:
    found: Any = None
    with contextlib.suppress(Raised, AttributeError):  # the model may be no object
        found = model.get(name)
    expect_true(isinstance(found, RemoteObject), f"There is no module {name}.")
    assert isinstance(found, RemoteObject)
    return found


def numbers_in(module: RemoteObject) -> int:
    return sum(value.numel() for value in module.parameters().values())


def expect_table(student: Student, name: str, rows: int) -> None:
    table = part(student.SmallGPT(*SIZES, 0.0), name)
    expect_true("torch.nn.modules.sparse.Embedding" in table.kinds, f"{name} is not an nn.Embedding.")
    weight = expect_tensor(table.parameters().get("weight"))
    expect_true(tuple(weight.shape) == (rows, C), f"The table of {name} has the shape {tuple(weight.shape)}.")


@rule("token_embedding is nn.Embedding(vocab_size, emb_dim)")
def test_the_token_embedding(student: Student) -> None:
    """token_embedding should be an nn.Embedding with a row of emb_dim numbers for each of the vocab_size tokens."""
    expect_table(student, "token_embedding", V)


@rule("position_embedding is nn.Embedding(context_length, emb_dim)")
def test_the_position_embedding(student: Student) -> None:
    """position_embedding should be an nn.Embedding with a row of emb_dim numbers for each of the positions."""
    expect_table(student, "position_embedding", CONTEXT)


# The numbers of one block: four matrices and a bias in attention, the feed-forward, and two norms.
BLOCK = 4 * C * C + C + (8 * C * C + 5 * C) + 4 * C


def with_substitutes(student: Student) -> Student:
    """Record that the substitutes may be used: they have the right parameters."""
    for exercise in ("MultiHeadAttention", "LayerNorm", "FeedForward", "Residual", "TransformerBlock", "stack_blocks"):
        student.substitute(exercise, None)
    return student


@rule(
    "blocks is a module with num_blocks pre-norm blocks in sequence, each with its own parameters: attention with "
    "num_heads heads, without a bias for queries, keys and values, and a feed-forward with 4 · emb_dim hidden numbers"
)
def test_each_block_has_its_own_parameters(student: Student) -> None:
    """blocks should be a module with the parameters of num_blocks blocks, none of them shared."""
    count = numbers_in(part(with_substitutes(student).SmallGPT(*SIZES, 0.0), "blocks"))
    problem = "too few" if count < BLOCKS * BLOCK else "too many"
    expect_true(count == BLOCKS * BLOCK, f"blocks has {problem} parameters here: {count}.")


@rule("final_norm is LayerNorm or nn.LayerNorm for emb_dim features")
def test_the_final_norm(student: Student) -> None:
    """final_norm should be a layer norm, with a scale and a shift for each of the emb_dim features."""
    norm = part(with_substitutes(student).SmallGPT(*SIZES, 0.0), "final_norm")
    shapes = [tuple(value.shape) for value in norm.parameters().values()]
    expect_true(shapes == [(C,), (C,)], "final_norm does not have the two parameters of a layer norm.")


@rule("output is nn.Linear from emb_dim to vocab_size, without bias")
def test_the_output_layer(student: Student) -> None:
    """output should be an nn.Linear from emb_dim features to vocab_size scores, without bias."""
    output = part(student.SmallGPT(*SIZES, 0.0), "output")
    expect_true("torch.nn.modules.linear.Linear" in output.kinds, "output is not an nn.Linear.")
    parameters = output.parameters()
    shape = tuple(expect_tensor(parameters.get("weight")).shape)
    expect_true(shape == (V, C), f"The weight of output has the shape {shape}.")
    expect_true("bias" not in parameters, "output has a bias.")


@rule("there are no other parameters, and no parts share theirs")
def test_the_number_of_parameters(student: Student) -> None:
    """All parameters together should be as many as the table of the text counts, for other sizes."""
    count = numbers_in(with_substitutes(student).queue("SmallGPT", *SIZES, 0.0))
    expected = 2 * V * C + CONTEXT * C + BLOCKS * BLOCK + 2 * C
    problem = "too few" if count < expected else "too many"
    expect_true(count == expected, f"The model has {problem} parameters here: {count}.")


def expect_logits(student: Student, values: Values, idx: torch.Tensor, needs_norm: bool) -> None:
    logits = model_with(student, values)(idx)
    models = expected_models(student, values, needs_norm)
    expect_close(logits, closest(models, idx, logits)(idx).detach(), "The logits")


@rule(
    "each token's row of token_embedding and its position's row of position_embedding are added; the first token "
    "of each text has position 0"
)
def test_tokens_and_positions_are_added(student: Student, fresh: Fresh) -> None:
    """The row of each token and the row of its position should be added, with positions counted from zero."""
    expect_logits(student, without_matrices(fresh_values(fresh)), random_ids(fresh, B, T), needs_norm=False)


@rule("this sum goes through the blocks, one after the other")
def test_the_sum_goes_through_the_blocks(student: Student, fresh: Fresh) -> None:
    """The sum of tokens and positions should go through all blocks: attention with its heads, then feed-forward."""
    expect_logits(student, fresh_values(fresh), random_ids(fresh, B, T), needs_norm=False)


@rule("final_norm is applied to the output of the blocks, and output turns the result into the logits: no softmax")
def test_the_norm_comes_before_the_output(student: Student, fresh: Fresh) -> None:
    """final_norm should normalise the output of the blocks, and the output layer should turn the result into logits."""
    values = without_matrices(fresh_values(fresh))
    values[CONTEXT, C] = torch.zeros(CONTEXT, C)  # another test is about the positions
    expect_logits(student, values, random_ids(fresh, B, T), needs_norm=True)


@rule("no logits depend on a later token")
def test_no_logits_depend_on_a_later_token(student: Student, fresh: Fresh) -> None:
    """If the last token changes, only its own logits should change."""
    values = fresh_values(fresh)
    model, idx = model_with(student, values), random_ids(fresh, 1, T)
    other = idx.clone()
    other[:, -1] = (idx[:, -1] + 1) % V
    logits = expect_tensor(model(torch.cat([idx, other])), (2, T, V))
    expected_models(student, values)  # records the substitutes, which do not look ahead
    changed = ~torch.isclose(logits[0], logits[1], RELATIVE, ABSOLUTE).all(-1)  # (T,)
    expect_true(bool(changed[-1]), "The logits of the last token did not change with it.")
    expect_true(not bool(changed[:-1].any()), LOOKS_AHEAD)


@rule("any number of texts, each computed separately, and any number of tokens from one to context_length")
def test_any_number_of_texts_and_tokens(student: Student, fresh: Fresh) -> None:
    """A text should have the same logits alone as in a batch, and its beginning the same as in the whole text."""
    values = fresh_values(fresh)
    if not student.substitute("TransformerBlock", None):  # whose output does not depend on the token if these are zero
        values = without_matrices(values)  # so that it does not matter here whether a token sees later ones
    model, idx = model_with(student, values), random_ids(fresh, B + 1, CONTEXT)
    idx[1, 0] = (idx[0, 0] + 1) % V
    logits = expect_tensor(model(idx), (B + 1, CONTEXT, V))
    expected_models(student, values)  # records the substitutes
    expect_true(not torch.allclose(logits[0], logits[1], RELATIVE, ABSOLUTE), "All texts have the same logits.")
    expect_close(model(idx[:1]), logits[:1], "The logits of a text alone")
    for tokens in (1, T):
        expect_close(model(idx[:, :tokens]), logits[:, :tokens], "The logits of the beginning of a text")


@rule("more than context_length tokens raise an error, of any type")
def test_too_many_tokens_are_an_error(student: Student, fresh: Fresh) -> None:
    """A text of context_length tokens should have logits, and a longer one should raise an error."""
    model = with_substitutes(student).queue("SmallGPT", *SIZES, 0.0)
    expect_tensor(model(random_ids(fresh, B, CONTEXT)), (B, CONTEXT, V))
    for more in (1, CONTEXT):
        expect_any_error(functools.partial(model, random_ids(fresh, B, CONTEXT + more)))


# If other numbers are dropped too, the share below changes by at least 7 %, twice the tolerance.
P = 0.15
OUTPUT = "output.weight"


def shares_of_equal(student: Student, blocks: int) -> tuple[float, ...]:
    """Return how often both features of a token may be equal after these blocks in training, with dropout P.

    Attention adds a number to both features, the feed-forward adds another one, and each is kept or dropped.
    """
    alike = P**2 + (1 - P) ** 2
    if student.substitute("TransformerBlock", None):  # drops the product of what both modules give
        return (alike,)

    def same(numbers: int) -> float:
        """Return how often both features keep equally many of these numbers."""
        shares = [math.comb(numbers, kept) * (1 - P) ** kept * P ** (numbers - kept) for kept in range(numbers + 1)]
        return sum(share**2 for share in shares)

    # If the feed-forward has a wrong width, its numbers may be those of attention. The substitute gives the numbers of
    # each block other factors: then all have to be alike. It may not be called.
    factors = [alike ** (2 * blocks)] if student.substitute("Residual", None) else []
    return same(blocks) ** 2, same(2 * blocks), *factors


@rule(
    "in training each block drops numbers of what its two modules give, with probability `dropout`, as in unit 7; "
    "to drop attention weights or numbers of the sum of the embeddings too is up to you"
)
def test_numbers_are_dropped_in_training(student: Student) -> None:
    """In training about a share `dropout` of what the modules of a block give should be dropped, and nothing else."""
    features = 2
    # All texts repeat token 0, whose row and the rows of the positions add up to zero, and each module of a block gives
    # two equal numbers. So the first two logits are equal where both features of a token are.
    sign, eye = torch.tensor([1.0, -1.0]), torch.eye(features)
    scores = torch.cat([sign[None], -sign.repeat(V - 1, 1)])
    values: Values = {(V, features): scores, (CONTEXT, features): -sign.repeat(CONTEXT, 1)}

    def value_of(shape: Shape) -> torch.Tensor:
        if len(shape) == 2 and shape[1] > features:
            # The hidden numbers of the feed-forward are ones. If one is dropped, the two that it gives are not equal.
            return (eye + 1).repeat(1, shape[1])[:, : shape[1]] / shape[1]
        return values.get(shape, torch.full(shape, float(len(shape) == 1)))

    numbers = 0
    for blocks in (1, 2):  # with one, dropped numbers of x do not show; with two, those after the final norm hardly do
        model = with_substitutes(student).queue("SmallGPT", V, CONTEXT, features, blocks, blocks, P)
        parameters = model.parameters()
        expect_blocks_found(parameters)
        numbers, before = sum(one.numel() for one in parameters.values()), numbers
        if numbers == before:
            break  # the number of blocks is fixed, which another test is about
        named = {name: value_of(tuple(one.shape)) for name, one in parameters.items()}
        for name, one in named.items():
            # Mistakes in the sum of the tables do not show if both features of a row are equal.
            if OUTPUT in named and name != OUTPUT and one.shape in ((V, features), (CONTEXT, features)):
                named[name] = torch.full(one.shape, 1.0 if len(one) == V else -1.0)
        model.set(named)
        model.train()
        idx = torch.zeros(1000, CONTEXT - 1, dtype=torch.long)
        logits = expect_tensor(model(idx), (*idx.shape, V)).double()
        equal = (logits[..., 0] - logits[..., 1]).abs() < 1e-4
        expect_true(not bool(equal.all()), "In training nothing is dropped.")
        found = equal.float().mean().item()
        nearest = min(shares_of_equal(student, blocks), key=lambda share: abs(share - found))
        expect_count(equal, nearest, f"{'Fewer' if found > nearest else 'More'} numbers are dropped than expected.")
        others = (logits[..., 2:] - logits[..., 1:2]).abs() < 1e-4
        expect_true(bool(others.all()), "In training logits are dropped too.")


@rule("in eval mode nothing is dropped")
def test_nothing_is_dropped_in_eval_mode(student: Student, fresh: Fresh) -> None:
    """In eval mode a model with dropout should give the same logits as a model without dropout."""
    values, idx = fresh_values(fresh), random_ids(fresh, B, T)
    logits = expect_tensor(model_with(student, values, dropout=0.5)(idx), (B, T, V)).double()
    plain = expect_tensor(model_with(student, values)(idx), (B, T, V)).double()
    expected_models(student, values)  # records the substitutes
    expect_true(torch.allclose(logits, plain, RELATIVE, ABSOLUTE), "With another dropout the logits are others.")


@rule("with dropout=0.0 nothing is dropped in training")
def test_nothing_is_dropped_without_dropout(student: Student, fresh: Fresh) -> None:
    """With a dropout of zero the logits in training should be those of eval mode."""
    # 3,456 numbers are added: even if only a twentieth is dropped, all of them are kept in 0.95^3456 = 1e-77 of runs.
    values, idx = fresh_values(fresh), random_ids(fresh, 2 * B, CONTEXT)
    model = model_with(student, values)
    plain = expect_tensor(model(idx), (*idx.shape, V)).double()
    expected_models(student, values)  # records the substitutes
    model.train()
    logits = expect_tensor(model(idx), (*idx.shape, V)).double()
    expect_true(torch.allclose(logits, plain, RELATIVE, ABSOLUTE), "In training the logits are others.")


def by_shape(gradients: dict[str, torch.Tensor]) -> dict[str, torch.Tensor]:
    """Add up the gradients of all parameters with the same values, whatever their names are.

    The matrices of attention are added up head by head, because heads may be one matrix or several.
    """
    found: dict[str, torch.Tensor] = {}
    for gradient in gradients.values():
        shape = tuple(gradient.shape)
        is_attention = shape in ((C // HEADS, C), (C, C), (3 * C, C))
        summed = gradient.reshape(-1, C // HEADS, C).sum(0) if is_attention else gradient.squeeze(0)
        key = "_".join(["gradient", *map(str, summed.shape)])
        found[key] = found.get(key, 0) + summed.double()
    return found


@rule("gradients reach all parameters")
def test_gradients_of_the_model(student: Student, fresh: Fresh) -> None:
    """Gradients of the logits should reach both tables, every block, the final norm and the output layer."""
    values, idx = fresh_values(fresh), random_ids(fresh, B, CONTEXT)
    model = model_with(student, values)
    logits, found = expect_values(model.gradients(idx), 2)
    expected = closest(expected_models(student, values), idx, logits)
    parameters = {name: value.detach() for name, value in expected.named_parameters()}

    def forward(**named: torch.Tensor) -> torch.Tensor:
        current = {name: named[name.replace(".", "_")] for name in parameters}
        output: torch.Tensor = torch.func.functional_call(expected, current, (idx,))
        return output

    asked = {name: value for name, value in model.parameters().items() if not is_unasked(name, value)}
    for name in asked:
        expect_true(found.get(name) is not None, f"No gradient reaches {shown(name.partition('.')[0])}.")
    gradients = by_shape({name: found[name] for name in asked})
    for key, gradient in by_shape(oracle_gradients(forward, [], parameters)).items():
        # Many gradients of different sizes are added up in float32.
        expect_close(gradients.get(key), gradient, GRADIENTS, within=1e-4 * (1 + gradient.abs().max().item()))


# -- misconceptions ------------------------------------------------------------------------------------------------


# Code that several rows replace.
POSITIONS = "torch.arange(idx.shape[1], device=idx.device)"
STACK = "stack_blocks(make_block, num_blocks)"
MULTI_HEAD = "MultiHeadAttention(emb_dim, emb_dim, context_length, dropout, num_heads)"
OUTPUT_LAYER = "nn.Linear(emb_dim, vocab_size, bias=False)"
# Replaced by substitutes if a student's answer to them is wrong.
CALLS = ["MultiHeadAttention", "LayerNorm", "FeedForward", "Residual", "TransformerBlock", "stack_blocks"]

MISCONCEPTIONS = [
    mistake("names_of_the_book",
        replace("self.token_embedding", "self.tok_emb", times=2)
        .replace("self.position_embedding", "self.pos_emb", times=2)
        .replace("self.blocks", "self.trf_blocks", times=2)
        .replace("self.output", "self.out_head", times=2),
        "The parts have the names of a well-known book: tok_emb, pos_emb, trf_blocks and out_head. Other code looks "
        "for them by name, so use the names of the rules."),
    mistake("names_of_gpt2",
        replace("self.token_embedding", "self.wte", times=2)
        .replace("self.position_embedding", "self.wpe", times=2)
        .replace("self.blocks", "self.h", times=2)
        .replace("self.final_norm", "self.ln_f", times=2)
        .replace("self.output", "self.lm_head", times=2),
        "The parts have the names of GPT-2's own code: wte, wpe, h, ln_f and lm_head. Other code looks for them by "
        "name, so use the names of the rules."),
    mistake("norm_under_another_name", replace("self.final_norm", "self.norm", times=2),
        "The last norm has another name. Other code looks for it by name, so call it final_norm."),
    mistake("tokens_as_a_parameter",
        replace("nn.Embedding(vocab_size, emb_dim)", "nn.Parameter(torch.randn(vocab_size, emb_dim))")
        .replace("self.token_embedding(idx)", "self.token_embedding[idx]"),
        "token_embedding is a plain nn.Parameter. It would work, but the rule asks for an nn.Embedding, the module "
        "that looks up rows by their ids."),
    mistake("positions_as_a_parameter",
        replace("nn.Embedding(context_length, emb_dim)", "nn.Parameter(torch.zeros(context_length, emb_dim))")
        .replace("self.position_embedding(positions)", "self.position_embedding[positions]"),
        "position_embedding is a plain nn.Parameter. It would work, but the rule asks for an nn.Embedding, the "
        "module that looks up rows by their positions."),
    mistake("positions_of_the_vocabulary",
        replace("nn.Embedding(context_length, emb_dim)", "nn.Embedding(vocab_size, emb_dim)"),
        "position_embedding has a row for each token of the vocabulary. It needs one for each position: "
        "context_length rows."),
    mistake("tables_exchanged",
        replace("nn.Embedding(vocab_size, emb_dim)", "nn.Embedding(other, emb_dim)")
        .replace("nn.Embedding(context_length, emb_dim)", "nn.Embedding(vocab_size, emb_dim)")
        .replace("nn.Embedding(other, emb_dim)", "nn.Embedding(context_length, emb_dim)"),
        "The sizes of the two tables are swapped. token_embedding has a row for each of the vocab_size tokens, and "
        "position_embedding a row for each of the context_length positions."),
    mistake("bias_of_the_output", replace(", bias=False", ""),
        "The output layer has a bias. The rule asks for none, as in GPT-2: `bias=False`."),
    mistake("output_tied_to_the_tokens",
        replace(OUTPUT_LAYER, f"{OUTPUT_LAYER}\n        self.output.weight = self.token_embedding.weight"),
        "The output layer shares its matrix with the token embedding, as in GPT-2. Here each has its own."),
    mistake("one_block_used_again", replace(STACK, "nn.Sequential(*[make_block()] * num_blocks)"),
        "The same block is used num_blocks times, so all of them share their weights. Make a new block in each call."),
    mistake("attention_shared_by_the_blocks",
        replace("\n        def make_block", f"\n        attention = {MULTI_HEAD}\n\n        def make_block")
        .replace(f"            attention = {MULTI_HEAD}\n", ""),
        "The attention is made once, outside make_block, so all blocks share its weights. Make it inside, anew in "
        "each call."),
    mistake("blocks_in_a_plain_list",
        replace(STACK, "[make_block() for _ in range(num_blocks)]")
        .replace("x = self.final_norm(self.blocks(x))",
                 "for block in self.blocks:\n            x = block(x)\n        x = self.final_norm(x)"),
        "The blocks are in a plain Python list, so the model does not find their parameters and they would never "
        "learn. Use stack_blocks, nn.Sequential or nn.ModuleList."),
    mistake("bias_for_queries_keys_and_values", replace("dropout, num_heads)", "dropout, num_heads, True)"),
        "Queries, keys and values have a bias, as in GPT-2. The rule asks for none, which is the default of "
        "MultiHeadAttention."),
    mistake("four_heads_only", replace("dropout, num_heads)", "dropout, 4)"),
        "The attention has four heads, as in the text, whatever num_heads is. Give num_heads to MultiHeadAttention."),
    mistake("heads_and_blocks_exchanged",
        replace("dropout, num_heads)", "dropout, num_blocks)")
        .replace("(make_block, num_blocks)", "(make_block, num_heads)"),
        "num_heads and num_blocks are swapped: num_heads divides the features in attention, and num_blocks blocks "
        "are stacked."),
    mistake("no_positions", replace(" + self.position_embedding(positions)", ""),
        "The positions are missing: only the tokens go into the blocks, so the model hardly knows their order. Add "
        "the position embedding before the blocks."),
    mistake("waves_for_positions",
        replace("self.position_embedding(positions)",
                "torch.sin(positions[:, None] / 10000 ** (torch.arange(self.output.in_features)"
                " / self.output.in_features))"),
        "The positions are waves, as in unit 5, which are not learned. Here each position has a row of "
        "position_embedding."),
    mistake("positions_of_the_whole_context",
        replace(POSITIONS, "torch.arange(self.position_embedding.num_embeddings, device=idx.device)"),
        "The rows of all context_length positions are added. A text of T tokens needs only the rows 0 to T - 1: "
        "shorter texts end in an error or get too many rows."),
    mistake("positions_from_one_beyond_the_table", replace(POSITIONS, f"{POSITIONS} + 1"),
        "The positions are counted from one, so a text of context_length tokens needs a row that does not exist. The "
        "first token has position 0."),
    mistake("positions_of_the_texts", replace(POSITIONS, "torch.arange(idx.shape[0], device=idx.device)[:, None]"),
        "The position is the number of the text in the batch: `idx.shape[0]` is the number of texts. Take the number "
        "of tokens, the second size."),
    mistake("ids_as_positions",
        replace("self.position_embedding(positions)",
                "self.position_embedding(idx.clamp(max=self.position_embedding.num_embeddings - 1))"),
        "The position embedding looks up the ids of the tokens, and not their positions. The rows that it needs are "
        "0 to T - 1, whatever the tokens are."),
    mistake("tokens_scaled",
        replace("x = self.token_embedding(idx)", "x = self.token_embedding(idx) * self.output.in_features**0.5"),
        "The token embeddings are multiplied by the root of emb_dim, as in the Transformer of 2017. GPT-2 adds the "
        "rows without change."),
    mistake("norm_before_the_blocks", replace("self.final_norm(self.blocks(x))", "self.blocks(self.final_norm(x))"),
        "The final norm is applied before the blocks. It belongs after them: nothing else normalises what the last "
        "block gives."),
    mistake("no_final_norm", replace("self.final_norm(self.blocks(x))", "self.blocks(x)"),
        "The final norm is not used. In pre-norm nothing has normalised the output of the last block: apply "
        "final_norm before the output layer."),
    mistake("blocks_not_used", replace("self.blocks(x)", "x"),
        "The blocks are made but not used. Without them no token gets information from another one."),
    mistake("softmax_in_the_model", replace("return self.output(x)", "return torch.softmax(self.output(x), dim=-1)"),
        "The model returns probabilities: there is a softmax after the output layer. Return the logits. The loss and "
        "generate_text do the softmax themselves."),
    mistake("logarithms_in_the_model",
        replace("return self.output(x)", "return torch.log_softmax(self.output(x), dim=-1)"),
        "The model returns logarithms of probabilities: there is a log-softmax after the output layer. Return the "
        "logits themselves."),
    mistake("logits_of_the_last_token_only", replace("return self.output(x)", "return self.output(x[:, -1])"),
        "Only the logits of the last token are returned. The loss needs those of all tokens: (B, T, V)."),
    mistake("flat_logits", replace("return self.output(x)", "return self.output(x).flatten(0, 1)"),
        "The logits are flat, (B · T, V). Return (B, T, V): the caller can flatten them for the loss."),
    mistake("logits_with_a_loss", replace("return self.output(x)", "return self.output(x), None"),
        "The model returns two results, as the bigram model of unit 6. Here it returns only the logits."),
    mistake("long_texts_accepted",
        replace("positions =", "idx = idx[:, -self.position_embedding.num_embeddings :]\n        positions ="),
        "A text with more than context_length tokens has logits: it is cut, or positions are used twice. The model "
        "should raise an error, and generate_text cuts the text before the call."),
    mistake("lonely_text_squeezed", replace("return self.output(x)", "return self.output(x).squeeze()"),
        "`squeeze()` removes every dimension of size one, so a single text, or texts of one token, lose a dimension. "
        "Logits are always (B, T, V)."),
    mistake("blocks_drop_nothing",
        replace("FeedForward(emb_dim), emb_dim, dropout)", "FeedForward(emb_dim), emb_dim, 0.0)"),
        "In training the blocks drop nothing. Give dropout to each block, and not only to the attention or to the "
        "sum of the embeddings: a block drops numbers of what its two modules give."),
    mistake("dropout_always_a_tenth",
        replace("context_length, dropout, num_heads", "context_length, 0.1, num_heads")
        .replace("emb_dim, dropout)", "emb_dim, 0.1)"),
        "dropout is always 0.1 and ignores the argument. Give the argument to the attention and to the block."),
    mistake("more_dropped_than_allowed",
        replace("return self.output(x)", "return self.output(nn.functional.dropout(x, self.rate, self.training))")
        .replace("self.final_norm =", "self.rate = dropout\n        self.final_norm ="),
        "In training more numbers are dropped than `dropout` says. Perhaps some are dropped in another place too, "
        "such as after the final norm, between the blocks or inside the feed-forward: drop only what the rule allows."),
    mistake("dropped_in_eval_mode_too",
        replace("self.blocks(x)", "self.blocks(nn.functional.dropout(x, self.rate))")
        .replace("self.final_norm =", "self.rate = dropout\n        self.final_norm ="),
        "Numbers are dropped in eval mode too. `nn.functional.dropout` drops always unless you pass "
        "`training=self.training`; an nn.Dropout that is made in `__init__` knows the mode."),
]  # fmt: skip


# -- probes --------------------------------------------------------------------------------------------------------


def model_of(unit: Any, draw: Draw, dropout: float = 0.0) -> tuple[Any, tuple[int, ...]]:
    """Return a model of random sizes with random values of its parameters, and the sizes."""
    num_heads, num_blocks = draw.size(1, 3), draw.size(1, 3)
    sizes = (draw.size(2, 9), draw.size(1, 7), num_heads * draw.size(1, 3), num_heads, num_blocks)
    model = unit.SmallGPT(*sizes, dropout)
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.copy_(values_for(parameter.shape, parameter.shape[0]))
        # No rule says whether queries, keys, values and heads have one layer or several. So the rows are those of one
        # head, again and again.
        head_dim = sizes[2] // num_heads
        for parameter in model.blocks.parameters():
            if parameter.dim() == 2 and parameter.shape[0] % head_dim == 0:
                parameter.copy_(values_for(parameter.shape, head_dim))
    return model, sizes


def values_for(shape: torch.Size, rows: int) -> Tensor:
    """Return values that depend only on the shape and repeat after so many rows: no rule names these parameters."""
    generator = torch.Generator().manual_seed(sum(n * size for n, size in enumerate((rows, *shape[1:]), 1)))
    scale = shape[-1] ** -0.5 if len(shape) > 1 else 0.3
    values = torch.randn(rows, *shape[1:], generator=generator) * scale + (len(shape) == 1)
    return torch.cat([values] * (shape[0] // rows))


@probe(draws=400)
def parts_of_the_model(unit: Any, draw: Draw) -> Iterator[Property]:
    model, _ = model_of(unit, draw)
    for name, kind in (("token_embedding", nn.Embedding), ("position_embedding", nn.Embedding), ("output", nn.Linear)):
        layer: Any = model.get_submodule(name)
        yield f"what {name} is", (isinstance(layer, kind), tuple(layer.weight.shape), getattr(layer, "bias", None))
    yield "the parameters of the final norm", [tuple(value.shape) for value in model.final_norm.parameters()]
    for name, module in (("the blocks", model.blocks), ("the model", model)):
        yield f"the parameters of {name}", sum(value.numel() for value in module.parameters())
    yield "whether they are trained", has_parameters(model, model.parameters())


@probe(draws=400)
def logits_and_gradients(unit: Any, draw: Draw) -> Iterator[Property]:
    model, (kinds, context_length, *_) = model_of(unit, draw)
    model.train(draw.chance(0.5))
    idx = ids(draw, kinds, draw.size(1, 3), draw.size(1, context_length))
    logits = model(idx)
    yield "the logits", Estimate(logits.detach(), 1e-3)
    logits.square().mean().backward()
    for name in ("token_embedding", "position_embedding", "output"):
        yield f"the gradient of {name}", Estimate(model.get_submodule(name).weight.grad, 1e-3)
    for name, module in (("the final norm", model.final_norm), ("the blocks", model.blocks)):
        gradients = [value.grad for value in module.parameters()]
        yield f"whether gradients reach {name}", all(gradient is not None for gradient in gradients)
        total = torch.stack([gradient.double().square().sum() for gradient in gradients]).sum().sqrt()
        yield f"the length of the gradient of {name}", Estimate(total, 1e-3)
    too_long = ids(draw, kinds, 1, context_length + draw.size(1, 3))
    yield from refusal(model, too_long, any_error=True)


@probe(draws=200)
def exact_in_eval_mode(unit: Any, draw: Draw) -> Iterator[Property]:
    model, (kinds, context_length, *_) = model_of(unit, draw, draw.pick(*PROBABILITIES))
    idx = ids(draw, kinds, draw.size(1, 3), draw.size(1, context_length))
    yield "the logits in eval mode", Estimate(model.eval()(idx).detach(), 1e-3)


@probe(draws=4)
def numbers_dropped_in_training(unit: Any, draw: Draw) -> Iterator[Property]:
    """Each module of a block gives ones, and the logits show which features lost equally many."""
    model = unit.SmallGPT(3, 2, 3, 1, 1, PROBABILITIES[draw.number])
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.fill_(float(parameter.shape == (3,)))
        model.output.weight.copy_(torch.eye(3))
    logits = model.train()(torch.zeros(3000, 1, dtype=torch.long))[:, 0].detach()  # (3000, 3)
    yield from shares((logits - logits.roll(1, -1)).abs() < 1e-3)


# -- answers -------------------------------------------------------------------------------------------------------


def wrong_answers():
    """Mistakes without a name, and answers with two. Never run here: the audit reads them."""

    import torch.nn.functional as F

    # Right; each wrong answer overrides a part of it.
    class _Layer(nn.Module):
        def __init__(self, width, heads, dropout):
            super().__init__()
            self.ln_1, self.ln_2, self.drop = nn.LayerNorm(width), nn.LayerNorm(width), nn.Dropout(dropout)
            self.heads, self.p = heads, dropout
            self.q, self.k, self.v = (nn.Linear(width, width, bias=False) for _ in range(3))
            self.proj = nn.Linear(width, width)
            self.network = nn.Sequential(nn.Linear(width, 4 * width), nn.ReLU(), nn.Linear(4 * width, width))

        def attention(self, x):
            parts = (layer(x).unflatten(-1, (self.heads, -1)).transpose(1, 2) for layer in (self.q, self.k, self.v))
            y = F.scaled_dot_product_attention(*parts, dropout_p=self.p if self.training else 0.0, is_causal=True)
            return self.proj(y.transpose(1, 2).flatten(2))

        def forward(self, x):
            x = x + self.drop(self.attention(self.ln_1(x)))
            return x + self.drop(self.network(self.ln_2(x)))

    class _GPT(nn.Module):
        def __init__(self, vocab_size, context_length, emb_dim, num_heads, num_blocks, dropout):
            super().__init__()
            self.context_length = context_length
            self.token_embedding = nn.Embedding(vocab_size, emb_dim)
            self.position_embedding = nn.Embedding(context_length, emb_dim)
            self.blocks = nn.Sequential(*(_Layer(emb_dim, num_heads, dropout) for _ in range(num_blocks)))
            self.final_norm = nn.LayerNorm(emb_dim)
            self.output = nn.Linear(emb_dim, vocab_size, bias=False)

        def embedded(self, idx):
            return self.token_embedding(idx) + self.position_embedding.weight[torch.arange(idx.size(1))]

        def forward(self, idx):
            return self.output(self.final_norm(self.blocks(self.embedded(idx))))

    class last_block_left_out(_GPT):
        def forward(self, idx):
            x = self.embedded(idx)
            for block in list(self.blocks)[:-1]:
                x = block(x)
            return self.output(self.final_norm(x))

    class embeddings_around_the_blocks(_GPT):
        def forward(self, idx):
            x = self.embedded(idx)
            return self.output(self.final_norm(x + self.blocks(x)))

    class positions_subtracted(_GPT):
        def embedded(self, idx):
            return self.token_embedding(idx) - self.position_embedding(torch.arange(idx.shape[1]))

    class normalised_twice(_GPT):
        def forward(self, idx):
            return self.output(self.final_norm(self.final_norm(self.blocks(self.embedded(idx)))))

    class logits_divided(_GPT):
        def forward(self, idx):
            return super().forward(idx) / self.final_norm.normalized_shape[0] ** 0.5

    class _Dropping(_GPT):
        def __init__(self, *sizes):
            super().__init__(*sizes)
            self.drop = nn.Dropout(sizes[-1])

    class logits_dropped(_Dropping):
        def forward(self, idx):
            return self.drop(super().forward(idx))

    class more_dropped_than_allowed__after_each_block(_Dropping):
        def forward(self, idx):
            x = self.embedded(idx)
            for block in self.blocks:
                x = self.drop(block(x))
            return self.output(self.final_norm(x))

    class blocks_drop_nothing__embeddings_alone(_GPT):
        def __init__(self, *sizes):
            super().__init__(*sizes[:-1], 0.0)
            self.drop = nn.Dropout(sizes[-1])

        def embedded(self, idx):
            return self.drop(super().embedded(idx))

    class long_texts_accepted__last_position_again(_GPT):
        def embedded(self, idx):
            places = torch.arange(idx.shape[1]).clamp(max=self.context_length - 1)
            return self.token_embedding(idx) + self.position_embedding(places)


def right_answers():
    """Answers in other styles. Never run here: the audit reads them."""

    import torch.nn.functional as F
    from multi_head_attention import MultiHeadAttention, MultiHeadAttentionWrapper
    from transformer_block import FeedForward, LayerNorm, Residual, TransformerBlock, stack_blocks

    class _Block(nn.Module):
        def __init__(self, width, heads, dropout):
            super().__init__()
            self.key, self.query, self.value = (nn.Linear(width, width, bias=False) for _ in range(3))
            self.joined = nn.Linear(width, width)
            self.wide, self.narrow = nn.Linear(width, width * 4), nn.Linear(width * 4, width)
            self.before_attention, self.before_network = nn.LayerNorm(width), nn.LayerNorm(width)
            self.heads, self.drop = heads, nn.Dropout(dropout)

        def attend(self, x):
            size = x.shape[-1] // self.heads
            out = []
            for h in range(self.heads):
                mine = slice(h * size, (h + 1) * size)
                q, k, v = self.query(x)[..., mine], self.key(x)[..., mine], self.value(x)[..., mine]
                scores = torch.einsum("btd,bsd->bts", q, k) / math.sqrt(size)
                hidden = torch.ones_like(scores[0]).tril() == 0
                out.append(scores.masked_fill(hidden, float("-inf")).softmax(-1) @ v)
            return self.joined(torch.cat(out, -1))

        def forward(self, x):
            x = x + self.drop(self.attend(self.before_attention(x)))
            return x + self.drop(self.narrow(self.wide(self.before_network(x)).clamp(min=0)))

    class by_hand(nn.Module):
        def __init__(self, vocab_size, context_length, emb_dim, num_heads, num_blocks, dropout):
            super().__init__()
            self.output = nn.Linear(emb_dim, vocab_size, bias=False)
            self.final_norm = nn.LayerNorm(emb_dim)
            self.blocks = nn.Sequential()
            for number in range(num_blocks):
                self.blocks.add_module(f"block{number}", _Block(emb_dim, num_heads, dropout))
            self.position_embedding = nn.Embedding(context_length, emb_dim)
            self.token_embedding = nn.Embedding(vocab_size, emb_dim)

        def forward(self, idx):
            assert idx.shape[1] <= len(self.position_embedding.weight)
            x = self.token_embedding.weight[idx]
            x = torch.stack([x[:, t] + self.position_embedding.weight[t] for t in range(idx.shape[1])], dim=1)
            return self.final_norm(self.blocks(x)) @ self.output.weight.T

    class by_the_book(nn.Module):
        def __init__(self, vocab_size, context_length, emb_dim, num_heads, num_blocks, dropout):
            super().__init__()
            self.context_length = context_length
            self.token_embedding = nn.Embedding(vocab_size, emb_dim)
            self.position_embedding = nn.Embedding(context_length, emb_dim)
            self.drop_emb = nn.Dropout(dropout)
            self.blocks = nn.ModuleList()
            for _ in range(num_blocks):
                attention = MultiHeadAttention(emb_dim, emb_dim, context_length, dropout, num_heads, qkv_bias=False)
                self.blocks.append(TransformerBlock(attention, FeedForward(emb_dim), emb_dim, dropout))
            self.final_norm = LayerNorm(emb_dim)
            self.output = nn.Linear(emb_dim, vocab_size, bias=False)

        def forward(self, in_idx):
            _, seq_len = in_idx.shape
            if seq_len > self.context_length:
                raise ValueError(f"{seq_len} tokens are more than {self.context_length}")
            pos_embeds = self.position_embedding(torch.arange(seq_len, device=in_idx.device))
            x = self.drop_emb(self.token_embedding(in_idx) + pos_embeds)
            for block in self.blocks:
                x = block(x)
            return self.output(self.final_norm(x))

    class _Tables(nn.Module):
        """What the next styles have in common."""

        def __init__(self, vocab_size, context_length, emb_dim, final_norm):
            super().__init__()
            self.token_embedding = nn.Embedding(vocab_size, emb_dim)
            self.position_embedding = nn.Embedding(context_length, emb_dim)
            self.final_norm = final_norm(emb_dim)
            self.output = nn.Linear(emb_dim, vocab_size, bias=False)

    class _Projected(nn.Module):
        def __init__(self, emb_dim, context_length, dropout, num_heads):
            super().__init__()
            d_out = emb_dim // num_heads
            self.attention = MultiHeadAttentionWrapper(emb_dim, d_out, context_length, dropout, num_heads)
            self.projection = nn.Linear(emb_dim, emb_dim)

        def forward(self, x):
            return self.projection(self.attention(x))

    class heads_in_a_list(_Tables):
        def __init__(self, vocab_size, context_length, emb_dim, num_heads, num_blocks, dropout):
            super().__init__(vocab_size, context_length, emb_dim, LayerNorm)

            def block():
                attention = _Projected(emb_dim, context_length, dropout, num_heads)
                return TransformerBlock(attention, FeedForward(emb_dim, 4), emb_dim, dropout)

            self.blocks = stack_blocks(block, num_blocks)

        def forward(self, idx):
            x = self.position_embedding(torch.ones_like(idx).cumsum(1) - 1) + self.token_embedding(idx)
            return self.output(self.final_norm(self.blocks(x)))

    class one_on_another(_Tables):
        def __init__(self, vocab_size, context_length, emb_dim, num_heads, num_blocks, dropout):
            super().__init__(vocab_size, context_length, emb_dim, LayerNorm)
            self.sizes = emb_dim, context_length, num_heads, dropout
            self.blocks = stack_blocks(self.make_block, num_blocks)
            nn.init.normal_(self.position_embedding.weight, std=0.02)

        def make_block(self):
            emb_dim, context_length, num_heads, dropout = self.sizes
            attention = MultiHeadAttention(emb_dim, emb_dim, context_length, dropout, num_heads)
            return TransformerBlock(attention, FeedForward(emb_dim), emb_dim, dropout)

        def forward(self, idx):
            x = self.token_embedding(idx)
            x = x + self.position_embedding(torch.arange(x.shape[1]))[None]
            for part in (self.blocks, self.final_norm, self.output):
                x = part(x)
            return x

    class _Attention(nn.Module):
        def __init__(self, width, heads, dropout):
            super().__init__()
            self.qkv = nn.Linear(width, 3 * width, bias=False)
            self.proj = nn.Linear(width, width)
            self.heads, self.p = heads, dropout

        def forward(self, x):
            parts = (one.unflatten(-1, (self.heads, -1)).transpose(1, 2) for one in self.qkv(x).chunk(3, -1))
            y = F.scaled_dot_product_attention(*parts, is_causal=True, dropout_p=self.p if self.training else 0)
            return self.proj(y.transpose(1, 2).reshape(x.shape))

    class _Layer(nn.Module):
        def __init__(self, width, heads, dropout):
            super().__init__()
            wide = nn.Sequential(nn.Linear(width, 4 * width), nn.ReLU(), nn.Linear(4 * width, width))
            self.ln1, self.ln2 = nn.LayerNorm(width), nn.LayerNorm(width)
            self.attn = nn.Sequential(_Attention(width, heads, dropout), nn.Dropout(dropout))
            self.mlp = nn.Sequential(wide, nn.Dropout(dropout))

        def forward(self, x):
            x = x + self.attn(self.ln1(x))
            return x + self.mlp(self.ln2(x))

    class ready_made(_Tables):
        def __init__(self, vocab_size, context_length, emb_dim, num_heads, num_blocks, dropout):
            super().__init__(vocab_size, context_length, emb_dim, nn.LayerNorm)
            self.blocks = nn.Sequential(*[_Layer(emb_dim, num_heads, dropout) for _ in range(num_blocks)])

        def forward(self, idx):
            x = self.token_embedding(idx) + self.position_embedding.weight[: idx.size(1)]
            return self.output(self.final_norm(self.blocks(x)))

    def _step(width, part, dropout):
        return Residual(nn.Sequential(nn.LayerNorm(width), part, nn.Dropout(dropout)))

    class _Blocks(nn.Module):
        def __init__(self, width, context, heads, count, dropout):
            super().__init__()
            attention = MultiHeadAttention(width, width, context, dropout, heads)
            self.first = nn.Sequential(_step(width, attention, dropout), _step(width, FeedForward(width), dropout))
            self.others = _Blocks(width, context, heads, count - 1, dropout) if count > 1 else nn.Identity()

        def forward(self, x):
            return self.others(self.first(x))

    class recursive(_Tables):
        def __init__(self, vocab_size, context_length, emb_dim, num_heads, num_blocks, dropout):
            super().__init__(vocab_size, context_length, emb_dim, nn.LayerNorm)
            self.blocks = _Blocks(emb_dim, context_length, num_heads, num_blocks, dropout)

        def forward(self, idx):
            positions = torch.arange(idx.shape[-1]).expand(idx.shape)
            x = F.embedding(idx, self.token_embedding.weight) + F.embedding(positions, self.position_embedding.weight)
            return F.linear(self.final_norm(self.blocks(x)), self.output.weight)
