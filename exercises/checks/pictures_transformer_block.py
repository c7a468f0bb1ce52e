"""The pictures of unit 7, the transformer block, which `grader show` draws, and questions on your own code.

`student` is your file, as in the tests. Inside the block are two simple modules in place of attention and feed-forward:
the first adds to each token the mean of all tokens, the second squares each number and adds 1.
"""

from __future__ import annotations

import torch
from checking import numbers

from grader.testing.pictures import ask_choice, ask_number, ask_shape, draw, picture, question, watch
from grader.testing.student import RemoteObject, Student

TOKENS = torch.tensor([[1.0, 2, 3, 4], [10, 20, 30, 40], [-3, -1, 1, 3]])
TEXT = numbers(1, 3, 4)
NAMES = ["small", "large", "centred"]
THREE = ["token 0", "token 1", "token 2"]
# Layers and width of the four GPT-2 models.
GPT2 = {"small": (12, 768), "medium": (24, 1024), "large": (36, 1280), "XL": (48, 1600)}


def fresh_norm(norm: RemoteObject) -> RemoteObject:
    """Give a norm ones for its scale and zeros for its shift."""
    names = list(norm.parameters())
    is_shift = {name: name.rpartition(".")[2] in ("shift", "bias") for name in names}
    norm.set({name: torch.zeros(4) if is_shift[name] else torch.ones(4) for name in names})
    return norm


def block_of(student: Student) -> RemoteObject:
    """Return your block of four features around the two simple modules."""
    block = student.TransformerBlock(student.make("TokenMixer"), student.make("PositionWise"), 4, 0.0)
    for name in ("norm1", "norm2"):
        fresh_norm(block.get(name))
    return block


@picture("LayerNorm")
def before_and_after(student: Student) -> None:
    """Three tokens before and after layer norm. The second is ten times the first, and afterwards they are the same:
    each token gets the mean 0 and the variance 1, whatever its scale was."""
    norm = fresh_norm(student.LayerNorm(4))
    draw("before", lambda: TOKENS, rows=NAMES, expected=None)
    draw("after", lambda: norm(TOKENS), rows=NAMES)


@picture("FeedForward")
def each_token_alone(student: Student) -> None:
    """Which outputs change if only token 1 changes. Feed-forward sees one token at a time, so only row 1 is dark."""
    module = student.FeedForward(4)
    changed = TEXT.clone()
    changed[0, 1] += 3
    draw("which outputs change", lambda: ((module(changed) - module(TEXT)).abs() > 1e-6).any(-1).T, "mask", rows=THREE)


@picture("Residual")
def around_a_module(student: Student) -> None:
    """The input x, and the output of your residual connection around a module that gives x² + 1: the sum of both. The
    input is still there, so a module only has to learn what to add."""
    x = torch.tensor([[-2.0, -1, 0, 1, 2]])
    draw("x", lambda: x, expected=None)
    draw("x + (x² + 1)", lambda: student.Residual(student.make("PositionWise"))(x))


@picture("TransformerBlock")
def residual_stream(student: Student) -> None:
    """The stream of numbers through your block, seen by forward hooks on norm1 and norm2. The norms only prepare what
    the modules read; the stream itself is never normalised, and each module adds to it."""
    block = block_of(student)
    seen = watch(student, block, "norm1", "norm2")
    output = seen.call(TEXT)
    draw("the stream at the start (norm1 receives it)", lambda: seen.received("norm1"), rows=THREE)
    draw("what norm1 returns, for attention", lambda: seen.returned("norm1"), rows=THREE)
    draw("the stream after attention (norm2 receives it)", lambda: seen.received("norm2"), rows=THREE)
    draw("what norm2 returns, for feed-forward", lambda: seen.returned("norm2"), rows=THREE)
    draw("the stream at the end", output, rows=THREE)


@picture("stack_blocks")
def from_block_to_block(student: Student) -> None:
    """The output of stacks of one, two and three blocks that each give x² + 1. Every block works on the output of the
    block before it: 1 becomes 2, then 5, then 26."""
    x = torch.tensor([0.0, 0.5, 1.0])

    def outputs() -> torch.Tensor:
        return torch.stack([student.stack_blocks(student.make("CountingFactory"), count)(x) for count in (1, 2, 3)])

    columns = ["x = 0", "x = 0.5", "x = 1"]
    draw("the outputs", outputs, rows=["1 block", "2 blocks", "3 blocks"], columns=columns)


@picture("gpt2_parameter_count")
def sizes_of_gpt2(student: Student) -> None:
    """The parameters of the four GPT-2 models, in millions. From one model to the next, width and depth grow, and the
    parameters of a block grow with the square of the width."""
    counts = "millions of parameters"
    draw(counts, lambda: [student.gpt2_parameter_count(*size) / 1e6 for size in GPT2.values()], "bars", rows=list(GPT2))


@question("LayerNorm")
def twice_as_large(student: Student) -> None:
    """What layer norm makes of a larger token."""
    norm = fresh_norm(student.LayerNorm(4))
    one, other = norm(TOKENS[0]), norm(100 * TOKENS[0])
    same = "the same output"
    choices = [same, "an output that is 100 times as large", "an output near 0"]
    answer = same if torch.allclose(one, other, atol=1e-3) else choices[1]
    text = "Your new `LayerNorm(4)` gets a token, and then the same token times 100. What does it give the second time?"
    ask_choice(
        text, choices, answer, "Mean and standard deviation are 100 times as large too, so the factor disappears."
    )


@question("FeedForward")
def parameters_of_feed_forward(student: Student) -> None:
    """The number of parameters."""
    count = sum(value.numel() for value in student.FeedForward(8).parameters().values())
    text = "How many parameters does your `FeedForward(8)` have?"
    ask_number(text, count, "8 · 32 weights and 32 biases, then 32 · 8 weights and 8 biases: 288 + 264 = 552.")


@question("TransformerBlock")
def shape_through_the_block(student: Student) -> None:
    """The shape of the output."""
    output = block_of(student)(numbers(2, 5, 4))
    text = "Your block for four features gets x of shape (2, 5, 4). What shape does it return?"
    ask_shape(text, output.shape, "The same as x: only so can the outputs be added to x, and blocks be stacked.")


@question("gpt2_parameter_count")
def one_more_block(student: Student) -> None:
    """The parameters of one block."""
    more = student.gpt2_parameter_count(13, 768) - student.gpt2_parameter_count(12, 768)
    text = "By how many parameters does your count grow if the smallest GPT-2 (768 features) gets one more block?"
    reason = f"12 · 768² weights and 13 · 768 biases, scales and shifts: {more:,}. The embeddings stay as they are."
    ask_number(text, more, reason)
