"""gpt2_parameter_count: hidden tests, known mistakes and right answers."""

from __future__ import annotations

import functools
import math
from collections.abc import Iterator
from fractions import Fraction
from typing import Any

import torch

from grader.testing.checks import expect_true
from grader.testing.misconceptions import mistake, replace
from grader.testing.probes import Draw, Property, probe
from grader.testing.student import Student
from grader.testing.suite import rule

# A count is a sum of parts. The difference between two counts is one part, for example one more layer or one more
# token, and it is right even if another part is missing.
# Widths are multiples of 64, the width of a head in GPT-2, so that an answer may build the model and count.
WIDTH = 64
VOCABULARY, CONTEXT = 11, 9


def result_for(student: Student, *sizes: int) -> object:
    """Return the student's result. An answer may build a model of this unit's exercises and unit 4's attention."""
    for exercise in ("MultiHeadAttention", "LayerNorm", "FeedForward", "Residual", "TransformerBlock", "stack_blocks"):
        student.substitute(exercise, None)  # all have the right number of parameters
    return student.gpt2_parameter_count(*sizes)


def count_of(student: Student, *sizes: int) -> Fraction:
    value: Any = result_for(student, *sizes)
    if isinstance(value, torch.Tensor) and value.numel() == 1:
        value = value.item()
    expect_true(type(value) in (int, float), f"The result is not a number, but of the type {type(value).__name__}.")
    expect_true(math.isfinite(value), "The result is not finite.")
    return Fraction(value)


def formatted(number: Fraction) -> str:
    return f"{float(number):g}"


def block_polynomial(student: Student) -> tuple[Fraction, Fraction]:
    """Return a and b, if a block has a · emb_dim² + b · emb_dim parameters, from counts for three widths."""
    widths = (WIDTH, 2 * WIDTH, 3 * WIDTH)
    counts = [[count_of(student, layers, width, VOCABULARY, CONTEXT) for layers in (1, 3)] for width in widths]
    # The count of two layers, divided by 2 · emb_dim, is a linear function of emb_dim with the slope a.
    near, middle, far = ((more - less) / (2 * width) for (less, more), width in zip(counts, widths, strict=True))
    expect_true(far - middle == middle - near, "The count for a block is not a sum of layers and norms.")
    slope = (middle - near) / WIDTH
    return slope, near - slope * WIDTH


def growth(student: Student, vocabulary: int, context: int) -> Fraction:
    """Return by how much the count grows with this many more tokens and positions."""
    more = count_of(student, 2, WIDTH, VOCABULARY + vocabulary, CONTEXT + context)
    return more - count_of(student, 2, WIDTH, VOCABULARY, CONTEXT)


def besides(student: Student) -> tuple[Fraction, list[int]]:
    """Return what a count has besides blocks and embeddings, and which sizes of GPT-2 it has whatever is given."""
    sizes = {50257: (VOCABULARY, growth(student, 1, 0)), 1024: (CONTEXT, growth(student, 0, 1))}
    one, two = (count_of(student, layers, WIDTH, VOCABULARY, CONTEXT) for layers in (1, 2))
    rest = one - (two - one) - sum(given * grown for given, grown in sizes.values())
    fixed = []
    for size, (_, grown) in sizes.items():
        if grown == 0 and rest >= size * WIDTH:
            rest -= size * WIDTH
            fixed.append(size)
    return rest, fixed


def grown_by(student: Student, what: str, grown: Fraction, size: int) -> str:
    """Return by how much one more token or position makes a count larger. size: how many GPT-2 has."""
    always = f": your count always has {size}" if grown == 0 and size in besides(student)[1] else ""
    return f"One more {what} adds {formatted(grown / WIDTH)} · emb_dim parameters{always}."


@rule("each of vocab_size tokens has an embedding of emb_dim numbers; the output layer shares them and adds none")
def test_a_token_adds_its_embedding(student: Student) -> None:
    """With one more token in the vocabulary, the count should grow by emb_dim: the output layer adds nothing."""
    grown = growth(student, 1, 0)
    expect_true(grown == WIDTH, grown_by(student, "token", grown, 50257))


@rule("each of context_length positions has emb_dim learned numbers")
def test_a_position_adds_its_embedding(student: Student) -> None:
    """With one more position in the context, the count should grow by emb_dim."""
    grown = growth(student, 0, 1)
    expect_true(grown == WIDTH, grown_by(student, "position", grown, 1024))


@rule(
    "each block has six linear layers: four in attention from emb_dim to emb_dim (queries, keys, values and "
    "output), and two in the feed-forward, from emb_dim to 4 · emb_dim and back"
)
def test_the_matrices_of_a_block(student: Student) -> None:
    """In each block there should be the matrices of six layers: four in attention, two larger ones after it."""
    squares, _ = block_polynomial(student)
    expect_true(squares == 12, f"In your count a block has {formatted(squares)} · emb_dim² weights in its matrices.")


@rule("each of these layers has a bias, and each block has two norms, with a scale and a shift for each feature")
def test_the_biases_and_norms_of_a_block(student: Student) -> None:
    """In each block there should be the biases of six layers, and the scales and shifts of two norms."""
    _, rest = block_polynomial(student)
    expect_true(rest == 13, f"In your count a block has {formatted(rest)} · emb_dim parameters in biases and norms.")


@rule("one more norm of this kind comes after the last block")
def test_the_norm_after_the_last_block(student: Student) -> None:
    """Besides the embeddings and the blocks, the count should contain one more norm, its scale and its shift."""
    rest, _ = besides(student)
    expect_true(
        rest == 2 * WIDTH,
        f"Besides embeddings and blocks, your count has {formatted(rest / WIDTH)} · emb_dim parameters.",
    )


@rule("vocab_size is 50257 and context_length is 1024 unless others are given")
def test_the_default_vocabulary_and_context(student: Student) -> None:
    """The count should use the given vocabulary and context, and the defaults of the rule if none are given."""
    count = functools.partial(count_of, student, 1, WIDTH)
    more = (count() - count(50257, 1024)) / WIDTH
    expect_true(more == 0, f"Without vocab_size and context_length there are {formatted(more)} · emb_dim more.")
    expect_true(count() != count(VOCABULARY, CONTEXT), "The count is the same for any vocab_size and context_length.")


@rule("the result is an int")
def test_the_count_is_an_int(student: Student) -> None:
    """The result should be an int, and in the order of magnitude of the model."""
    count = result_for(student, 2, 3 * WIDTH, VOCABULARY, CONTEXT)
    expect_true(type(count) is int, f"The result is not an int, but of the type {type(count).__name__}.")
    share = count_of(student, 2, 3 * WIDTH, VOCABULARY, CONTEXT) / (2 * 12 * (3 * WIDTH) ** 2)
    expect_true(0.1 < share < 30, "The result is not in the order of magnitude of the model.")


# -- misconceptions ------------------------------------------------------------------------------------------------

MISCONCEPTIONS = [
    mistake("last_norm_forgotten", replace("block + norm", "block"),
        "The norm after the last block is missing. In a pre-norm model nothing has normalised the last sum, so one "
        "more norm follows it."),
    mistake("positions_forgotten", replace("vocab_size + context_length", "vocab_size"),
        "The positions are missing. GPT-2 learns a vector of emb_dim numbers for each of context_length positions. "
        "Only sines and cosines would need none."),
    mistake("output_layer_counted", replace("vocab_size + context_length", "2 * vocab_size + context_length"),
        "The output layer is counted too. It is tied: it uses the transposed matrix of the token embeddings, and has "
        "no parameters of its own."),
    mistake("embeddings_forgotten", replace("embeddings + num_layers", "num_layers"),
        "No embedding is counted, neither of tokens nor of positions. Both tables have emb_dim learned numbers in "
        "each row."),
    mistake("three_biases_forgotten", replace("4 * (emb_dim * emb_dim + emb_dim)", "4 * emb_dim * emb_dim + emb_dim"),
        "Three biases of emb_dim numbers are missing in each block. GPT-2 has one for queries, for keys and for "
        "values, unlike the book's attention. Or the bias of the hidden layer has the wrong size: it has 4 · emb_dim "
        "numbers."),
    mistake("four_biases_forgotten", replace("emb_dim * emb_dim + emb_dim", "emb_dim * emb_dim"),
        "4 · emb_dim numbers are missing in each block: the four biases of attention, or the bias of the hidden "
        "layer with one number for each output, or both norms, each with a scale and a shift."),
    mistake("one_bias_forgotten", replace("hidden * emb_dim + emb_dim", "hidden * emb_dim"),
        "A bias of emb_dim numbers is missing in each block: that of the attention's output layer, or that of the "
        "feed-forward's second layer."),
    mistake("no_biases_at_all",
        replace("* emb_dim + emb_dim", "* emb_dim", times=2).replace("hidden + hidden", "hidden"),
        "No layer has a bias in this count. In GPT-2 all six layers of a block have one, which is the default of "
        "nn.Linear."),
    mistake("one_norm_in_a_block", replace("2 * norm", "norm"),
        "2 · emb_dim numbers are missing in each block: one of the two norms, which has a scale and a shift, or two "
        "biases of emb_dim numbers."),
    mistake("norms_without_shifts", replace("2 * emb_dim", "emb_dim"),
        "Each norm has only a scale in this count. It has a shift too: 2 · emb_dim numbers."),
    mistake("norms_forgotten", replace("2 * emb_dim", "0"),
        "No norm is counted. Each norm has a scale and a shift for each feature. There are two in every block and "
        "one at the end."),
    mistake("attention_output_forgotten", replace("4 * (emb_dim", "3 * (emb_dim"),
        "The attention's output layer is missing. After queries, keys and values there is a fourth layer, which "
        "combines the heads."),
    mistake("one_layer_for_queries_keys_values", replace("4 * (emb_dim", "2 * (emb_dim"),
        "Queries, keys and values are counted as one layer. If one product computes all three, its matrix is three "
        "times as wide."),
    mistake("attention_forgotten", replace("attention + ", ""),
        "4 · emb_dim² weights and 4 · emb_dim biases are missing in each block: those of attention, with its four "
        "layers from emb_dim to emb_dim, or those of the feed-forward's first layer."),
    mistake("feed_forward_not_expanded", replace("4 * emb_dim", "emb_dim"),
        "The feed-forward's hidden layer is only emb_dim wide in this count. It is four times as wide."),
    mistake("rule_of_thumb",
        replace("embeddings + num_layers * block + norm", "12 * num_layers * emb_dim**2 + vocab_size * emb_dim"),
        "This is the rule of thumb, 12 · layers · emb_dim² and the token embeddings. It is nearly correct; an exact "
        "count has biases, norms and positions too."),
    mistake("one_block_counted", replace("num_layers * ", ""),
        "Only one block is counted. Each block has its own parameters: multiply by num_layers."),
    mistake("sizes_of_gpt2", replace("vocab_size + context_length", "50257 + 1024"),
        "vocab_size and context_length are not used: GPT-2's own numbers are fixed. They are only the defaults, and "
        "the caller may give others."),
    mistake("a_float",
        replace("embeddings + num_layers * block + norm", "float(embeddings + num_layers * block + norm)"),
        "The result is a float. A count is an integer: use `//` instead of `/`, and int instead of a power or a mean."),
    mistake("in_millions",
        replace("embeddings + num_layers * block + norm", "(embeddings + num_layers * block + norm) / 1e6"),
        "The result is in millions. Return the exact number of parameters."),
]  # fmt: skip


# -- probes --------------------------------------------------------------------------------------------------------


@probe(draws=60)
def counted_parameters(unit: Any, draw: Draw) -> Iterator[Property]:
    # GPT-2's heads have 64 features each, so its width is a multiple of that. The sizes are small, because an answer
    # may build the model.
    num_layers, emb_dim = draw.size(1, 4), 64 * draw.size(1, 2)
    options = {"vocab_size": draw.size(1, 2000), "context_length": draw.size(1, 500)}
    kept = draw.random.sample(sorted(options), draw.size(0, 2))
    count = unit.gpt2_parameter_count(num_layers, emb_dim, **{name: options[name] for name in kept})
    yield "what it is", isinstance(count, int)
    yield "the count", count


# -- answers -------------------------------------------------------------------------------------------------------


def wrong_answers():
    """Mistakes without a name, and answers with two. Never run here: the audit reads them."""

    def gpt2_parameter_count(num_layers, emb_dim, vocab_size=50257, context_length=1024):
        block = 12 * emb_dim**2 + 13 * emb_dim
        return (vocab_size + context_length) * emb_dim + num_layers * block + 2 * emb_dim

    def output_layer_counted__and__four_biases_forgotten(num_layers, emb_dim, vocab_size=50257, context_length=1024):
        block = 12 * emb_dim**2 + 9 * emb_dim
        return (2 * vocab_size + context_length) * emb_dim + num_layers * block + 2 * emb_dim

    def positions_in_every_block(num_layers, emb_dim, vocab_size=50257, context_length=1024):
        block = 12 * emb_dim**2 + 13 * emb_dim + context_length * emb_dim
        return vocab_size * emb_dim + num_layers * block + 2 * emb_dim

    def feed_forward_three_times_as_wide(num_layers, emb_dim, vocab_size=50257, context_length=1024):
        block = 4 * (emb_dim**2 + emb_dim) + 6 * emb_dim**2 + 4 * emb_dim + 4 * emb_dim
        return (vocab_size + context_length) * emb_dim + num_layers * block + 2 * emb_dim

    def one_block_more(num_layers, *sizes, **named):
        return gpt2_parameter_count(num_layers + 1, *sizes, **named)

    def bias_in_every_weight(num_layers, emb_dim, vocab_size=50257, context_length=1024):
        block = 2 * 12 * emb_dim**2 + 4 * emb_dim
        return (vocab_size + context_length) * emb_dim + num_layers * block + 2 * emb_dim

    def norm_before_the_first_block_too(num_layers, emb_dim, *sizes, **named):
        return gpt2_parameter_count(num_layers, emb_dim, *sizes, **named) + 2 * emb_dim

    def norms_with_one_number_each(num_layers, emb_dim, vocab_size=50257, context_length=1024):
        return (vocab_size + context_length) * emb_dim + num_layers * (12 * emb_dim**2 + 9 * emb_dim + 4) + 2

    def a_tensor(*sizes, **named):
        return torch.tensor(gpt2_parameter_count(*sizes, **named))


def right_answers():
    """Answers in other styles. Never run here: the audit reads them."""

    from multi_head_attention import MultiHeadAttention
    from torch import nn
    from transformer_block import FeedForward, LayerNorm, TransformerBlock, stack_blocks

    def by_hand(num_layers, emb_dim, vocab_size=50257, context_length=1024):
        d = emb_dim
        return d * (vocab_size + context_length + 2 + num_layers * (12 * d + 13))

    def by_the_book(num_layers, emb_dim, vocab_size=50257, context_length=1024):
        qkv = 3 * (emb_dim * emb_dim + emb_dim)
        projection = emb_dim * emb_dim + emb_dim
        up = emb_dim * 4 * emb_dim + 4 * emb_dim
        down = 4 * emb_dim * emb_dim + emb_dim
        layers = num_layers * (qkv + projection + up + down + 2 * 2 * emb_dim)
        return vocab_size * emb_dim + context_length * emb_dim + layers + 2 * emb_dim

    def functional(num_layers, emb_dim, vocab_size=50257, context_length=1024):
        norm = [(emb_dim,), (emb_dim,)]
        square = [(emb_dim, emb_dim), (emb_dim,)]
        shapes = [(vocab_size, emb_dim), (context_length, emb_dim), *norm]
        for _ in range(num_layers):
            shapes += norm + 4 * square + norm
            shapes += [(4 * emb_dim, emb_dim), (4 * emb_dim,), (emb_dim, 4 * emb_dim), (emb_dim,)]
        return sum(map(math.prod, shapes))

    def one_on_another(num_layers, emb_dim, vocab_size=50257, context_length=1024):
        def make_block():
            attention = MultiHeadAttention(emb_dim, emb_dim, context_length, 0.1, emb_dim // 64, qkv_bias=True)
            return TransformerBlock(attention, FeedForward(emb_dim), emb_dim, 0.1)

        class GPT2(nn.Module):
            def __init__(self):
                super().__init__()
                self.tokens = nn.Embedding(vocab_size, emb_dim)
                self.positions = nn.Embedding(context_length, emb_dim)
                self.blocks = stack_blocks(make_block, num_layers)
                self.norm = LayerNorm(emb_dim)
                self.scores = nn.Linear(emb_dim, vocab_size, bias=False)
                self.scores.weight = self.tokens.weight

        return sum(parameter.numel() for parameter in GPT2().parameters())

    def ready_made(num_layers, emb_dim, vocab_size=50257, context_length=1024):
        with torch.device("meta"):
            embeddings = [nn.Embedding(vocab_size, emb_dim), nn.Embedding(context_length, emb_dim)]
            layer = nn.TransformerEncoderLayer(emb_dim, emb_dim // 64, 4 * emb_dim, norm_first=True)
            blocks = nn.TransformerEncoder(layer, num_layers, nn.LayerNorm(emb_dim), enable_nested_tensor=False)
        return sum(p.numel() for p in nn.ModuleList([*embeddings, blocks]).parameters())
