"""add_positions: hidden tests, known mistakes and right answers."""

from __future__ import annotations

import functools
from collections.abc import Iterator
from typing import Any

import torch

from grader.suites.positional_encoding.shared import (
    DTYPES,
    FROM_ONE,
    ODD_ACCEPTED,
    WITHIN,
    B,
    D,
    Function,
    T,
    encoding,
)
from grader.testing.checks import (
    expect_any_error,
    expect_close,
    expect_dtype,
    expect_gradients,
    expect_same,
    expect_tensor,
    expect_values,
    oracle_gradients,
)
from grader.testing.draws import Fresh, numbers
from grader.testing.misconceptions import mistake, replace
from grader.testing.probes import Draw, Property, call, probe, refusal
from grader.testing.student import Student
from grader.testing.suite import Example, rule


def encoding_of(student: Student) -> Function:
    return student.substitute("sinusoidal_encoding", encoding)


def sequences(fresh: Fresh, batch: int, num_tokens: int, dtype: torch.dtype = torch.float32) -> torch.Tensor:
    """Embeddings (B, T, d). The first sequence is all zeros, so its result is the encoding."""
    x = fresh(batch, num_tokens, D, dtype=dtype)
    x[0] = 0
    return x


def expect_positions(student: Student, result: Any, x: torch.Tensor) -> torch.Tensor:
    """Expect the shape of x, and at the first position a vector that is as long as the encoding of position 0.

    So wrong frequencies, another order of the columns and scaled embeddings do not show.

    Returns:
        The result, as a tensor.
    """
    found = expect_tensor(result, x.shape)
    added, right = found[0, 0].double(), encoding_of(student)(1, D)[0].double()
    expect_close(added.norm(), right.norm(), "The numbers added at the first position", D**0.5 * WITHIN)
    return found


@rule("token t of every sequence is token t of x, not scaled, plus row t of the encoding from the last exercise")
def test_every_token_gets_its_position(student: Student, fresh: Fresh) -> None:
    """Row t of the encoding should be added to token t of every sequence, and x should not change otherwise."""
    x = fresh(B, T, D)
    expect_close(student.add_positions(x), x.double() + encoding_of(student)(T, D), "The sums", WITHIN)


@rule("any number of sequences and of tokens, including one")
def test_any_number_of_sequences_and_tokens(student: Student, fresh: Fresh) -> None:
    """Any number of sequences and tokens should get positions and keep their shape, also a single one."""
    for batch, num_tokens in ((1, 1), (1, 9), (5, 1)):
        x = sequences(fresh, batch, num_tokens)
        expect_positions(student, student.add_positions(x), x)


@rule("an odd d raises ValueError or AssertionError")
def test_embeddings_of_odd_width_are_refused(student: Student, fresh: Fresh) -> None:
    """An odd d should raise an error, and an even one should not."""
    encoding_of(student)  # records that a substitute is used: an answer may get its error from there
    expect_tensor(student.add_positions(fresh(B, T, D)))
    # No width of one: torch raises an error if five numbers should fill four columns, but not if one should fill none.
    for width in (D - 1, 3):
        expect_any_error(functools.partial(student.add_positions, fresh(B, T, width)), f"d = {width}")


@rule("the result keeps the dtype of x, float32 or float64")
def test_positions_keep_the_dtype(student: Student, fresh: Fresh) -> None:
    """The result should contain positions and have the dtype of x, for float32 and for float64."""
    for dtype in DTYPES:
        x = sequences(fresh, B, T, dtype)
        expect_dtype(expect_positions(student, student.add_positions(x), x), dtype)


@rule("x may be non-contiguous, for example the result of a transpose")
def test_positions_for_a_view(student: Student, fresh: Fresh) -> None:
    """The result should be correct if x is non-contiguous, for example the result of a transpose."""
    x = sequences(fresh, B, T).mT.contiguous().mT
    expect_positions(student, student.add_positions(x), x)


@rule("gradients flow to x")
def test_gradients_of_adding_positions(student: Student, fresh: Fresh) -> None:
    """The result should contain positions, and its gradients should flow to x."""
    x = sequences(fresh, B, T)
    # This comes before the call, so that a substitute is recorded even if the call fails: an answer that adds in place
    # has no gradients with either encoding.
    expected = oracle_gradients(lambda given: given + encoding_of(student)(T, D), [x], {})
    result, found = expect_values(student.add_positions.gradients(x), 2)
    expect_positions(student, result, x)
    expect_gradients(found, expected)


@rule("x is not changed")
def test_adding_positions_leaves_x_alone(student: Student, fresh: Fresh) -> None:
    """The result should contain positions, and the call should not change x."""
    x = sequences(fresh, B, T)
    result, [after] = expect_values(student.add_positions.with_arguments(x), 2)
    expect_positions(student, result, x)
    expect_same(after, x, "x was changed.")


EXAMPLE = Example({"x": numbers(2, 3, 6)}, keeps_dtype=True,
                  also={"float64": "the result keeps the dtype of x, float32 or float64",
                        "layout": "x may be non-contiguous, for example the result of a transpose",
                        "kept": "x is not changed", "gradients": "gradients flow to x"})  # fmt: skip


# -- misconceptions ------------------------------------------------------------------------------------------------


# The encoding in the solution of add_positions.
ENCODED = "sinusoidal_encoding(num_tokens, d).to(x.dtype)"
CALLS = ["sinusoidal_encoding"]

MISCONCEPTIONS = [
    mistake("positions_from_one_in_what_is_added", replace("sinusoidal_encoding", "positions_from_one"), FROM_ONE),
    mistake("odd_width_accepted_where_added", replace("sinusoidal_encoding", "odd_width_accepted"), ODD_ACCEPTED),
    mistake("multiplied", replace("return x +", "return x *"),
        "The embeddings were multiplied by the encoding. At position 0 every sine is 0, so half of the token would "
        "be lost. Add the encoding."),
    mistake("put_behind", replace(f"x + {ENCODED}", f"torch.cat([x, {ENCODED}.expand_as(x)], dim=-1)"),
        "The encoding was concatenated to the embedding, so the width is doubled. Token and position share the same "
        "features: add them."),
    mistake("number_of_the_position_added",
        replace("sinusoidal_encoding(num_tokens, d)", "torch.arange(num_tokens).unsqueeze(1)"),
        "The number of the position itself is added. It grows without limit and soon hides the embedding. Add its "
        "encoding by sines and cosines, whose numbers stay between -1 and 1."),
    mistake("tokens_expected_first", replace(".to(x.dtype)", ".to(x.dtype).unsqueeze(1)"),
        "The encoding became (T, 1, d), for inputs with the tokens first, so token and sequence are mixed up. Here x "
        "is (B, T, d): an encoding (T, d) is added to every sequence."),
    mistake("embeddings_scaled", replace("return x", "return x * d**0.5"),
        "The embeddings were multiplied by √d first. The paper does that before this step. Here x is not scaled."),
    mistake("rows_for_sequences", replace("(num_tokens, d)", "(len(x), d)"),
        "The encoding has as many rows as there are sequences. It needs one row for each token: T is `x.shape[1]`, "
        "because the batch comes first."),
    mistake("features_counted", replace("(num_tokens, d)", "(d, num_tokens).T"),
        "The features were counted instead of the tokens. In (B, T, d) the tokens are dim 1 and the features dim 2."),
    mistake("made_float32", replace("return x", "return x.float()").replace(".to(x.dtype)", ".float()"),
        "The result is always float32. It should have the dtype of x: convert the encoding, `.to(x.dtype)`, and not "
        "x."),
    mistake("flattened_by_view", replace("return x", "return x.view(-1, d).view(x.shape)"),
        "`view` fails if x is non-contiguous, for example the result of a transpose. `reshape` copies if necessary. "
        "But PyTorch adds (T, d) to (B, T, d) without either."),
    mistake("x_detached", replace("return x", "return x.detach()"),
        "Gradients stop here: does `.detach()`, `.data` or `torch.no_grad()` cut off x or the sum? The embeddings "
        "learn through x. Only the encoding needs no gradient."),
    mistake("added_in_place", replace(f"return x + {ENCODED}", f"x += {ENCODED}\n    return x"),
        "The caller's x was changed: `+=` and `add_` change the tensor itself. `x + …` makes a new one."),
]  # fmt: skip


# -- probes --------------------------------------------------------------------------------------------------------


@probe()
def positions_added(unit: Any, draw: Draw) -> Iterator[Property]:
    batch, num_tokens, pairs = draw.sizes(3)
    if draw.chance(0.1):
        num_tokens = draw.size(10, 30)
    yield from call(unit.add_positions, draw.viewed(draw.normal(batch, num_tokens, 2 * pairs)), keeps_dtype=True)


@probe(draws=100)
def odd_features_refused(unit: Any, draw: Draw) -> Iterator[Property]:
    x = draw.normal(draw.size(), draw.size(), 2 * draw.size(0, 5) + 1)
    yield from refusal(unit.add_positions, x, any_error=True)


# -- answers -------------------------------------------------------------------------------------------------------


def wrong_answers():
    """Mistakes without a name, and answers with two. Never run here: the audit reads them."""

    import torch.nn as nn

    def _encoding_like(x, first=0):
        """Sines and cosines in turn, for the tokens of x: (T, d). first: the first position."""
        _, num_tokens, d = x.shape
        if d % 2:
            raise ValueError("d must be even")
        positions = torch.arange(first, first + num_tokens).double()[:, None]
        angles = positions / 10000 ** (torch.arange(0, d, 2) / d)
        return torch.stack([angles.sin(), angles.cos()], dim=2).flatten(1).to(x.dtype)

    def positions_from_one_in_what_is_added__and__added_in_place(x):
        x += _encoding_like(x, first=1)
        return x

    def made_float32__and__x_detached(x):
        out = torch.zeros(x.shape)
        with torch.no_grad():
            out[:] = x + _encoding_like(x)
        return out

    def subtracted(x):
        return x - _encoding_like(x)

    def mean_of_both(x):
        return (x + _encoding_like(x)) / 2

    def last_position_first(x):
        return x + _encoding_like(x).flip(0)

    def added_twice(x):
        return x + 2 * _encoding_like(x)

    def every_other_token(x):
        positions = _encoding_like(x)
        positions[1::2] = 0
        return x + positions

    def layer_norm_at_the_end(x):
        return nn.functional.layer_norm(x + _encoding_like(x), x.shape[-1:])

    def one_position_twice(x):
        positions = _encoding_like(x)
        return x + torch.cat([positions[:1], positions[:-1]])

    def sines_added_to_every_feature(x):
        return x + _encoding_like(x)[:, 0::2].repeat_interleave(2, dim=1)


def right_answers():
    """Answers in other styles. Never run here: the audit reads them."""

    import math

    import torch.nn as nn
    from positional_encoding import sinusoidal_encoding

    def building_on(x):
        positions = sinusoidal_encoding(x.shape[1], x.shape[2])
        out = torch.empty_like(x)
        for number, sequence in enumerate(x):
            out[number] = sequence + positions
        return out

    def by_hand(x):
        B, T, d = x.shape
        result = x.clone()
        for t in range(T):
            for column in range(0, d, 2):
                angle = t / 10000 ** (column / d)
                result[:, t, column] += math.sin(angle)
                result[:, t, column + 1] += math.cos(angle)
        return result

    def ready_made(x: torch.Tensor) -> torch.Tensor:
        table = nn.Embedding.from_pretrained(sinusoidal_encoding(x.size(1), x.size(2)), freeze=True)
        return x + table.to(x.dtype)(torch.arange(x.size(1)).unsqueeze(0))

    def turning(x):
        # A cosine is a sine that is a quarter of a turn ahead.
        d = x.size(-1)
        if d != d // 2 * 2:
            raise AssertionError("d")
        columns = torch.arange(d, dtype=x.dtype)
        ahead = columns.remainder(2)
        rates = torch.pow(10000.0, (ahead - columns) / d)
        angles = torch.outer(torch.arange(x.size(-2), dtype=x.dtype), rates) + ahead * torch.pi / 2
        return torch.stack([sequence + angles.sin() for sequence in x])

    def with_numpy(x):
        pe = sinusoidal_encoding(x.shape[-2], x.shape[-1])[None, :, :]
        return (x.double() + pe.repeat(x.shape[0], 1, 1)).to(dtype=x.dtype)
