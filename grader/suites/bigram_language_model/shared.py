"""Unit 6, a bigram language model: each test or case is one criterion, with a sentence for the student.

Expected values are computed here in float64, and differently from the course's solution. Where an exercise may call an
earlier one, they use the same substitute for it as the student's code. The head is tested with the checks of causal
attention in unit 3.

Random results are judged by counts of draws, at most eight in a test: see draws.py.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import torch

from grader.suites.causal import Parts
from grader.suites.generation import T
from grader.testing.checks import expect_close, expect_number, expect_tensor, expect_true
from grader.testing.draws import Fresh
from grader.testing.probes import Draw
from grader.testing.student import Student
from grader.testing.suite import Asking, asking

# All different, so that mixed-up dimensions show. No width is 4, whose half is its square root.
B, N_EMBD, HEAD_SIZE, BLOCK = 2, 11, 6, 9  # with T = 5 and V = 7
DTYPES = (torch.float32, torch.float64)


def fresh_text(fresh: Fresh, count: int, characters: str) -> str:
    """A text of these characters, each of them `count` times, in random order."""
    return "".join((characters * count)[place] for place in fresh.order(count * len(characters)).tolist())


def entries_of(value: object) -> list[object]:
    """Return the entries of a result that should be a list; another criterion is about the type."""
    expect_true(isinstance(value, str | list | tuple | dict), "It is not a list or another sequence.")
    return list(value)  # type: ignore[call-overload]


def entry_text(entry: object) -> str:
    """Return an entry as text. Of tensors, only a single number is accepted."""
    if isinstance(entry, torch.Tensor) and entry.numel() != 1:
        expect_true(False, "An entry is a tensor with more than one number, or with none.")
    return str(entry)


def expect_one_to_one(characters: str, others: list[str]) -> None:
    """Expect two sequences of equal length with a one-to-one mapping, that are not the same sequence."""
    expect_true(len(characters) == len(others), "The number of ids is not the number of characters.")
    pairs = set(zip(characters, others, strict=True))
    one_to_one = len(pairs) == len(set(characters)) == len(set(others))
    expect_true(one_to_one, "Some characters share an id or have more than one.")
    expect_true(not others or list(characters) != others, "The result is the argument itself.")


def expect_shape(value: object, shape: tuple[int, ...], name: str) -> torch.Tensor:
    """Expect a tensor of this shape."""
    expect_true(isinstance(value, torch.Tensor), f"{name} should be a tensor.")
    assert isinstance(value, torch.Tensor)
    expect_true(value.shape == shape, f"{name} should not have the shape {tuple(value.shape)}.")
    return value


def expect_integers(value: torch.Tensor, name: str) -> None:
    """Expect a tensor of an integer dtype."""
    is_integer = not value.is_floating_point() and not value.is_complex() and value.dtype != torch.bool
    expect_true(is_integer, f"{name} should be integers, and are {str(value.dtype).removeprefix('torch.')}.")


def log_probabilities(student: Student, logits: torch.Tensor) -> torch.Tensor:
    """(…, V) to the same: the logarithms of the softmax of the logits."""
    for name in ("softmax_naive", "softmax_stable"):
        if substitute := student.substitute(name, None):
            return substitute(logits, -1).log()
    return logits - logits.logsumexp(-1, keepdim=True)


def mean_loss(student: Student, logits: torch.Tensor, targets: torch.Tensor) -> torch.Tensor:
    """(N, V) and (N,) to one number."""
    chosen = torch.nn.functional.one_hot(targets.long(), logits.shape[-1])
    return -(chosen * log_probabilities(student, logits.double())).sum() / len(targets)


def loss_error(expected: torch.Tensor) -> float:
    """Return the tolerance for this loss."""
    return 1e-5 + 1e-4 * abs(expected.item())


def expect_loss(value: object, expected: torch.Tensor) -> None:
    expect_number(value, expected.item(), within=loss_error(expected))


# For each rule: its words in the stub, and the sentence for the student.
MEAN = (
    "each token becomes the mean of itself and all tokens before it in its text, computed separately for each feature",
    "Each token should become the mean of itself and all tokens before it in its text: shape (B, T, C).",
)
ANY_LENGTH = (
    "any number of tokens, including one",
    "Texts may have any number of tokens, including a single one, and a batch any number of texts.",
)
EITHER_DTYPE = (
    "float32 and float64 tokens both work",
    "The means should be correct for float32 tokens and for float64 tokens.",
)
GRADIENTS = (
    "gradients flow to x",
    "Gradients should flow to x: each token is part of its own mean and of all later means.",
)
LEFT_ALONE = ("x is not changed", "The means should be correct, and the call should not change x.")


def running_mean(student: Student, x: torch.Tensor) -> torch.Tensor:
    """(B, T, C) to the same."""
    count = x.shape[1]
    masked = student.substitute("mask_then_renormalize", Parts(student).renormalized)
    weights = masked(torch.full((count, count), 1 / count, dtype=torch.float64))
    return torch.einsum("ts,bsc->btc", weights, x.double())


def expect_last_mean(value: object, means: torch.Tensor) -> None:
    """Expect the mean over the whole text for its last token, which is right also if the future is not hidden."""
    expect_close(expect_tensor(value, means.shape)[:, -1], means[:, -1], "The means of the last tokens")


def averaging(exercise: str, expect: Callable[[Any, Any], None] = expect_last_mean) -> Asking:
    """Return a function that draws a call of one of the three running means."""

    def draw(
        fresh: Fresh, texts: int = B, count: int = T, width: int = N_EMBD, dtype: torch.dtype = torch.float32
    ) -> list[torch.Tensor]:
        return [fresh(texts, count, width, dtype=dtype)]

    return asking(exercise, draw, lambda student: functools.partial(running_mean, student), expect)


def expect_means(value: object, means: torch.Tensor) -> None:
    expect_close(value, means, "The means")


CHANGED_FLAT = ("The logits were changed.", "The targets were changed.")
# One text with many tokens, with two and with one.
LENGTHS = [{"texts": 1, "count": count} for count in (BLOCK, 2, 1)]
# Wrong uses of generators in sample_batch and generate, and what students read.
SEED_FOR_ALL = "generator and torch.manual_seed(torch.randint(2**31, (), generator=generator).item()) and None"
ALIKE = "generator or torch.Generator()"
IGNORED = (
    "The generator is not used. Pass it on to the draw, as `generator=generator`, in a function of torch that takes "
    "one: `random` and numpy take none."
)
OF_SEEDS = (
    "The generator decides about the draws, but torch's global state changes too, as if the generator only drew a seed "
    "for it. Pass the generator on to the draw."
)
ALWAYS_ALIKE = (
    "Without a generator every call draws the same, as if the code set a seed or made a generator with a fixed start. "
    "None means torch's global generator in its current state."
)
# About running means
FUTURE_TOO = (
    "Every token gets the mean of the whole text, including its future. Average only the token itself and the tokens "
    "before it."
)
PAST_LEFT_OUT = (
    "The future is averaged instead of the past: the triangle is inverted. A row belongs to a token, and its past is "
    "to the left of the diagonal."
)
PRESENT_LEFT_OUT = (
    "The token itself is not part of its mean, and the first token has nothing to average. Include the token: token t "
    "averages t + 1 tokens."
)
NEXT_TOO = (
    "The next token is averaged too: one position too far. A model should predict the next token, so it must not see "
    "it."
)
SUMMED = "The past is added up and not divided. A mean is the sum divided by the number of tokens, t + 1 for token t."
DIVIDED_BY_ALL = (
    "Every sum is divided by the number of all tokens of the text. Token t averages t + 1 tokens, so the divisor grows "
    "with t."
)
CHANGED = (
    "The caller's x was changed. Methods with an underscore and `x[…] = …` change the tensor itself: use a new tensor."
)
COLUMNS = (
    "The columns of the weights sum to one, and not the rows. A row contains the weights of one token, so each row "
    "should sum to one."
)
FLOAT32 = "The code makes a float32 matrix, which does not match float64 tokens. Make it like x: `dtype=x.dtype`."
CHARACTERS = "abcxyzABCXYZ 0189\n\t.,-'éßЖ語🙂"


def text_of(draw: Draw, characters: list[str] | str, low: int = 0) -> str:
    return "".join(draw.random.choices(characters, k=draw.pick(draw.size(low, 4), draw.size(low, 30))))


def vocabulary_for(draw: Draw) -> list[str]:
    return sorted(draw.random.sample(CHARACTERS, draw.size(1, 12)))
