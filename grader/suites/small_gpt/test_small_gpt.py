"""The capstone, a small GPT: each test is one criterion, and its docstring is the sentence that a student reads.

Students build the model from parts of any origin and under any names, so tests set all parameters of one shape to the
same values. Then names and order make no difference, and one expected model, built here, has the same values. It uses
the same substitutes for the parts of units 4 and 7 as the student's code.

One mistake should not cost every point. So the tests of the tables and of the blocks accept a missing final norm, and
the tests of other rules compare outputs of the student's own model.
"""

from __future__ import annotations

import contextlib
import functools
import math
from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import nn

from grader.suites.generation import (
    STEPS,
    GenerateWith,
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
    expect_any_error,
    expect_close,
    expect_same,
    expect_tensor,
    expect_true,
    expect_values,
    oracle_gradients,
    shown,
)
from grader.testing.draws import (
    Fresh,
    expect_count,
    expect_draws_by_state,
    expect_draws_from_a_generator,
    expect_global_draws,
)
from grader.testing.properties import GRADIENTS, LOOKS_AHEAD
from grader.testing.student import Raised, RemoteObject, Student

# All different, so that mixed-up dimensions show; 3 · C and 4 · C differ too. No number of heads or blocks is one that
# learners write themselves.
B, HEADS, BLOCKS, T, C, CONTEXT = 2, 3, 4, 5, 12, 9
SIZES = (V, CONTEXT, C, HEADS, BLOCKS)
Shape = tuple[int, ...]
Values = dict[Shape, torch.Tensor]  # the values of all parameters of a shape


# -- the expected model ------------------------------------------------------------------------------------------


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


# -- the student's model -----------------------------------------------------------------------------------------


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


# -- SmallGPT: the parts -----------------------------------------------------------------------------------------


@pytest.mark.exercise("SmallGPT", rule="token_embedding is nn.Embedding(vocab_size, emb_dim)")
def test_the_token_embedding(student: Student) -> None:
    """token_embedding should be an nn.Embedding with a row of emb_dim numbers for each of the vocab_size tokens."""
    expect_table(student, "token_embedding", V)


@pytest.mark.exercise("SmallGPT", rule="position_embedding is nn.Embedding(context_length, emb_dim)")
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


@pytest.mark.exercise(
    "SmallGPT",
    rule="blocks is a module with num_blocks pre-norm blocks in sequence, each with its own parameters: attention with "
    "num_heads heads, without a bias for queries, keys and values, and a feed-forward with 4 · emb_dim hidden numbers",
)
def test_each_block_has_its_own_parameters(student: Student) -> None:
    """blocks should be a module with the parameters of num_blocks blocks, none of them shared."""
    count = numbers_in(part(with_substitutes(student).SmallGPT(*SIZES, 0.0), "blocks"))
    problem = "too few" if count < BLOCKS * BLOCK else "too many"
    expect_true(count == BLOCKS * BLOCK, f"blocks has {problem} parameters here: {count}.")


@pytest.mark.exercise("SmallGPT", rule="final_norm is LayerNorm or nn.LayerNorm for emb_dim features")
def test_the_final_norm(student: Student) -> None:
    """final_norm should be a layer norm, with a scale and a shift for each of the emb_dim features."""
    norm = part(with_substitutes(student).SmallGPT(*SIZES, 0.0), "final_norm")
    shapes = [tuple(value.shape) for value in norm.parameters().values()]
    expect_true(shapes == [(C,), (C,)], "final_norm does not have the two parameters of a layer norm.")


@pytest.mark.exercise("SmallGPT", rule="output is nn.Linear from emb_dim to vocab_size, without bias")
def test_the_output_layer(student: Student) -> None:
    """output should be an nn.Linear from emb_dim features to vocab_size scores, without bias."""
    output = part(student.SmallGPT(*SIZES, 0.0), "output")
    expect_true("torch.nn.modules.linear.Linear" in output.kinds, "output is not an nn.Linear.")
    parameters = output.parameters()
    shape = tuple(expect_tensor(parameters.get("weight")).shape)
    expect_true(shape == (V, C), f"The weight of output has the shape {shape}.")
    expect_true("bias" not in parameters, "output has a bias.")


@pytest.mark.exercise("SmallGPT", rule="there are no other parameters, and no parts share theirs")
def test_the_number_of_parameters(student: Student) -> None:
    """All parameters together should be as many as the table of the text counts, for other sizes."""
    count = numbers_in(with_substitutes(student).queue("SmallGPT", *SIZES, 0.0))
    expected = 2 * V * C + CONTEXT * C + BLOCKS * BLOCK + 2 * C
    problem = "too few" if count < expected else "too many"
    expect_true(count == expected, f"The model has {problem} parameters here: {count}.")


# -- SmallGPT: the logits ----------------------------------------------------------------------------------------


def expect_logits(student: Student, values: Values, idx: torch.Tensor, needs_norm: bool) -> None:
    logits = model_with(student, values)(idx)
    models = expected_models(student, values, needs_norm)
    expect_close(logits, closest(models, idx, logits)(idx).detach(), "The logits")


@pytest.mark.exercise(
    "SmallGPT",
    rule="each token's row of token_embedding and its position's row of position_embedding are added; the first token "
    "of each text has position 0",
)
def test_tokens_and_positions_are_added(student: Student, fresh: Fresh) -> None:
    """The row of each token and the row of its position should be added, with positions counted from zero."""
    expect_logits(student, without_matrices(fresh_values(fresh)), random_ids(fresh, B, T), needs_norm=False)


@pytest.mark.exercise("SmallGPT", rule="this sum goes through the blocks, one after the other")
def test_the_sum_goes_through_the_blocks(student: Student, fresh: Fresh) -> None:
    """The sum of tokens and positions should go through all blocks: attention with its heads, then feed-forward."""
    expect_logits(student, fresh_values(fresh), random_ids(fresh, B, T), needs_norm=False)


@pytest.mark.exercise(
    "SmallGPT",
    rule="final_norm is applied to the output of the blocks, and output turns the result into the logits: no softmax",
)
def test_the_norm_comes_before_the_output(student: Student, fresh: Fresh) -> None:
    """final_norm should normalise the output of the blocks, and the output layer should turn the result into logits."""
    values = without_matrices(fresh_values(fresh))
    values[CONTEXT, C] = torch.zeros(CONTEXT, C)  # another test is about the positions
    expect_logits(student, values, random_ids(fresh, B, T), needs_norm=True)


@pytest.mark.exercise("SmallGPT", rule="no logits depend on a later token")
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


@pytest.mark.exercise(
    "SmallGPT",
    rule="any number of texts, each computed separately, and any number of tokens from one to context_length",
)
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


@pytest.mark.exercise("SmallGPT", rule="more than context_length tokens raise an error, of any type")
def test_too_many_tokens_are_an_error(student: Student, fresh: Fresh) -> None:
    """A text of context_length tokens should have logits, and a longer one should raise an error."""
    model = with_substitutes(student).queue("SmallGPT", *SIZES, 0.0)
    expect_tensor(model(random_ids(fresh, B, CONTEXT)), (B, CONTEXT, V))
    for more in (1, CONTEXT):
        expect_any_error(functools.partial(model, random_ids(fresh, B, CONTEXT + more)))


# -- SmallGPT: dropout -------------------------------------------------------------------------------------------

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


@pytest.mark.exercise(
    "SmallGPT",
    rule="in training each block drops numbers of what its two modules give, with probability `dropout`, as in unit 7; "
    "to drop attention weights or numbers of the sum of the embeddings too is up to you",
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


@pytest.mark.exercise("SmallGPT", rule="in eval mode nothing is dropped")
def test_nothing_is_dropped_in_eval_mode(student: Student, fresh: Fresh) -> None:
    """In eval mode a model with dropout should give the same logits as a model without dropout."""
    values, idx = fresh_values(fresh), random_ids(fresh, B, T)
    logits = expect_tensor(model_with(student, values, dropout=0.5)(idx), (B, T, V)).double()
    plain = expect_tensor(model_with(student, values)(idx), (B, T, V)).double()
    expected_models(student, values)  # records the substitutes
    expect_true(torch.allclose(logits, plain, RELATIVE, ABSOLUTE), "With another dropout the logits are others.")


@pytest.mark.exercise("SmallGPT", rule="with dropout=0.0 nothing is dropped in training")
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


# -- SmallGPT: gradients -----------------------------------------------------------------------------------------


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


@pytest.mark.exercise("SmallGPT", rule="gradients reach all parameters")
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


# -- generate_text -----------------------------------------------------------------------------------------------

# More tokens than any text has: only one test is about shorter ones.
LONG = 100


def table_model(student: Student, table: torch.Tensor) -> RemoteObject:
    """A model whose logits of a token are its row of the table (V, V)."""
    model = student.make("Embedding", *table.shape)
    model.set({"weight": table})
    return model


def generating_with(student: Student) -> GenerateWith:
    def generate_with(table: torch.Tensor) -> Callable[..., object]:
        model = table_model(student, table)
        return lambda idx, count, **options: student.generate_text(model, idx, count, LONG, **options)

    return generate_with


@pytest.mark.exercise(
    "generate_text", rule="returns the prompt idx, unchanged, and then max_new_tokens tokens: (B, T + max_new_tokens)"
)
def test_the_prompt_comes_first(student: Student, fresh: Fresh) -> None:
    """The result should be the prompt, as ids, followed by the new tokens: (B, T + max_new_tokens)."""
    expect_prompt_first(fresh, generating_with(student))


@pytest.mark.exercise(
    "generate_text", rule="each new token is drawn from the softmax of the model's logits of the last token"
)
def test_tokens_are_drawn_from_the_softmax(student: Student, fresh: Fresh) -> None:
    """Over many texts, each token should be drawn as often as the softmax of the last token's logits says."""
    expect_drawn_from_the_softmax(student, fresh, generating_with(student))


@pytest.mark.exercise(
    "generate_text",
    rule="each text continues from its own last token, which is the newest token if one was drawn",
)
def test_each_token_follows_from_the_one_before(student: Student, fresh: Fresh) -> None:
    """Each new token should depend on the token drawn before it, in each text separately."""
    expect_each_token_follows_the_one_before(fresh, generating_with(student))


# The model of the test below looks at the tokens that it gets, and continues with the one that is rarest among them and
# not the last. Of equally rare ones it takes the first by rank. The differences of the logits are so large that no
# other token is ever drawn, and none of them is above zero.
RARER, BEFORE = 400.0, 40.0
WINDOW = V - 1  # with so many different tokens, exactly one is missing


def rarest_next(seen: torch.Tensor, rank: torch.Tensor) -> torch.Tensor:
    """The ids (B, n) that the model gets, and the rank (V,) of each token, to the next ids (B,)."""
    seen = nn.functional.one_hot(seen, V).double()  # (B, n) -> (B, n, V)
    return (-RARER * WINDOW * (seen.mean(1) + seen[:, -1]) - BEFORE * rank).argmax(-1)


@pytest.mark.exercise(
    "generate_text",
    rule="the model gets only the last context_length tokens of the text, or the whole text if it is shorter",
)
def test_the_model_gets_the_last_tokens(student: Student, fresh: Fresh) -> None:
    """The model should get only the last context_length tokens, the newest included, and a shorter text as a whole."""
    rank = fresh.order(V)
    last = student.make("Linear", V, V)
    last.set({"weight": -RARER * WINDOW * torch.eye(V), "bias": -BEFORE * rank})
    model = student.make("Sequential", table_model(student, torch.eye(V)), student.make("TokenMixer"), last)
    for length in (2, WINDOW + 2):
        text = torch.stack([fresh.order(V).repeat(2)[:length] for _ in range(3)])
        new, again = (
            expect_continued(student.generate_text(model, text, 2 * V, WINDOW), text, 2 * V) for _ in range(2)
        )
        expect_true(torch.equal(new, again), "Two calls give different tokens, where only one has any probability.")
        expected = text
        for _ in range(2 * V):
            expected = torch.cat([expected, rarest_next(expected[:, -WINDOW:], rank)[:, None]], dim=1)
        expect_close(new, expected[:, length:], "The new tokens")


@pytest.mark.exercise(
    "generate_text", rule="every token is drawn independently: texts with the same prompt may continue differently"
)
def test_every_token_is_drawn_by_itself(student: Student, fresh: Fresh) -> None:
    """Each text and each step should be drawn independently."""
    expect_every_token_drawn_by_itself(fresh, generating_with(student))


@pytest.mark.exercise("generate_text", rule="max_new_tokens=0 returns only the prompt")
def test_no_new_token_gives_the_prompt(student: Student, fresh: Fresh) -> None:
    """If no new token is asked for, only the prompt should be returned; if one is asked for, one more."""
    idx, generate = random_ids(fresh, B, T), generating_with(student)(fresh(V, V))
    expect_continued(generate(idx, 1), idx, 1)
    expect_continued(generate(idx, 0), idx, 0)


@pytest.mark.exercise("generate_text", rule="any number of texts and of tokens in the prompt, including one")
def test_prompts_of_any_size(student: Student, fresh: Fresh) -> None:
    """A prompt may have any number of texts and of tokens, including a single one."""
    expect_prompts_of_any_size(fresh, generating_with(student))


SAME_STATE, OTHER_STATE = "The same state gives other draws.", "Another state gives the same draws."
SECOND_CALL = "A second call gives the same draws as the first."


@pytest.mark.exercise("generate_text", rule="with a generator, every random draw comes from it and advances it")
def test_tokens_come_from_the_generator(student: Student, fresh: Fresh) -> None:
    """With a generator, the call should advance only its state, and another state should give other tokens."""
    expect_draws_from_a_generator(student, token_draws(fresh, generating_with(student)), OTHER_STATE)


@pytest.mark.exercise("generate_text", rule="with the same generator state the result is the same")
def test_the_same_state_gives_the_same_tokens(student: Student, fresh: Fresh) -> None:
    """With the same generator state the tokens should be the same, for any state of torch's global generator."""
    expect_draws_by_state(student, token_draws(fresh, generating_with(student)), SAME_STATE, OTHER_STATE)


@pytest.mark.exercise(
    "generate_text", rule="without a generator, torch's global generator is used, and it advances too"
)
def test_without_a_generator_the_global_one_gives_the_tokens(student: Student, fresh: Fresh) -> None:
    """Without a generator, torch.manual_seed should control the tokens, and a second call should give others."""
    expect_global_draws(student, token_draws(fresh, generating_with(student)), SAME_STATE, OTHER_STATE, SECOND_CALL)


@pytest.mark.exercise("generate_text", rule="after the call the model is in the same mode as before, training or eval")
def test_the_mode_of_the_model_is_kept(student: Student, fresh: Fresh) -> None:
    """A model in training should be in training after the call, and a model in eval mode in eval mode."""
    idx, model = random_ids(fresh, B, T), table_model(student, fresh(V, V))
    lost = []
    for name, change in (("training", model.train), ("eval mode", model.eval)):
        change()
        expect_continued(student.generate_text(model, idx, STEPS, LONG), idx, STEPS)
        if model.get("training") is not (name == "training"):
            lost.append(name)
    expect_true(not lost, f"After the call the model is in another mode, if it was in {' or '.join(lost)} before.")


@pytest.mark.exercise("generate_text", rule="idx is not changed")
def test_generating_leaves_idx_alone(student: Student, fresh: Fresh) -> None:
    """The text should be continued in a new tensor, and the call should not change idx."""
    idx, model = random_ids(fresh, B, T), table_model(student, fresh(V, V))
    for context_length in (LONG, T):
        text, after = expect_values(student.generate_text.with_arguments(model, idx, STEPS, context_length), 2)
        expect_continued(text, idx, STEPS)
        expect_same(after[1], idx, "idx was changed.")
