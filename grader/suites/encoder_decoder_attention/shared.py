"""Unit 8, attention between encoder and decoder: each test or case is one criterion, with a sentence for the student.

Expected values are computed here in float64, and differently from the course's solution. Where an exercise may call an
earlier one, they use the same substitute for it as the student's code.

As in the earlier units, a mistake should cost only the points that are about it. Tests about other things than values
use inputs on which most known mistakes do not show: states of which only the signs are compared, scores of which only
the order is compared, or one key for each query that gets all the weight.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import torch

from grader.testing.checks import expect_tensor, expect_true
from grader.testing.draws import Fresh, numbers
from grader.testing.student import Student

# All different, so that mixed-up dimensions show.
B, T = 2, 5
# The widths of a token, of a state, and of the sum in additive attention. The first two are at least as large as T.
D, HIDDEN, ADDED = 7, 9, 6
DTYPES = (torch.float32, torch.float64)
Function = Callable[..., torch.Tensor]
Pair = tuple[torch.Tensor, torch.Tensor]


def affine(x: torch.Tensor, weight: torch.Tensor, bias: torch.Tensor) -> torch.Tensor:
    """(m, n), (n, k), (k,) to (m, k)."""
    return torch.einsum("mn,nk->mk", x, weight) + bias


def tanh(x: torch.Tensor) -> torch.Tensor:
    return 2 * torch.sigmoid(2 * x) - 1


def softmax(x: torch.Tensor, dim: int) -> torch.Tensor:
    return (x - x.logsumexp(dim, keepdim=True)).exp()


def softmax_of(student: Student) -> Function:
    return student.substitute("softmax_naive", student.substitute("softmax_stable", softmax))


def products_of(student: Student) -> Function:
    """(d,), (T, d) to (T,): the dot product of the vector with every row."""
    return student.substitute("attention_scores", functools.partial(torch.einsum, "d,td->t"))


def context_of(student: Student) -> Function:
    """(T,), (T, d) to (d,): the sum of the rows, each times its weight."""
    return student.substitute("context_vector", functools.partial(torch.einsum, "t,td->d"))


def additive_scores_of(student: Student) -> Function:
    """additive_scores. The decoder's part is the same for all encoder states, so it is passed as the bias."""
    project, score = student.substitute("linear_as_matmul", affine), products_of(student)

    def additive_scores(decoder_state: torch.Tensor, encoder_states: torch.Tensor, *weights: torch.Tensor) -> Any:
        W_decoder, W_encoder, v = (weight.double() for weight in weights)
        query = torch.einsum("h,ha->a", decoder_state.double(), W_decoder)
        return score(v, tanh(project(encoder_states.double(), W_encoder, query)))

    return additive_scores


def cast(arguments: list[torch.Tensor], dtype: torch.dtype) -> list[torch.Tensor]:
    return [argument.to(dtype) for argument in arguments]


def states_with(
    fresh: Fresh,
    targets: torch.Tensor,
    decoder_target: torch.Tensor,
    hidden: int = HIDDEN,
    dtype: torch.dtype = torch.float32,
) -> list[torch.Tensor]:
    """States and matrices such that encoder_states @ W_encoder equals targets (T, a), where T is less than h.

    decoder_state @ W_decoder is 1.2 times decoder_target (a,). W_decoder is 1.2 times W_encoder, so if the two are
    swapped, only a factor is wrong. The dot products of the states themselves have the opposite order of the targets.
    """
    directions, count = fresh.rotation(hidden), len(targets)
    encoder_states, means = directions[:count], targets.mean(-1)
    decoder_state = directions[count] - means @ encoder_states  # (T,) @ (T, h) -> (h,)
    # The directions are orthonormal, so one matrix can map every state to its target.
    W_encoder = encoder_states.mT @ targets + torch.outer(directions[count], decoder_target + means @ targets)
    return cast([decoder_state, encoder_states, 1.2 * W_encoder, W_encoder], dtype)


def ordered_states(
    fresh: Fresh, count: int = T, hidden: int = HIDDEN, added: int = ADDED, dtype: torch.dtype = torch.float32
) -> list[torch.Tensor]:
    """Arguments of additive_scores whose scores keep their order with most mistakes: every summand has this order."""
    places = fresh.order(count).double()
    features, others, v = fresh(3, added, dtype=torch.float64).abs().clamp(max=2) / 2 + 0.5
    return [*states_with(fresh, torch.outer(places / count - 0.5, features), others / 2, hidden, dtype), v.to(dtype)]


def expect_order(value: Any, right: torch.Tensor) -> None:
    scores = expect_tensor(value, right.shape)
    expect_true(torch.equal(scores.argsort(), right.argsort()), "The order of the scores is wrong.")


def states(fresh: Fresh, count: int = T, hidden: int = HIDDEN, added: int = ADDED) -> list[torch.Tensor]:
    """Random arguments of additive attention."""
    hidden = max(hidden, 2)  # so that a right answer may squeeze a context of shape (1, h)
    matrices = [fresh(hidden, added) / hidden**0.5 for _ in range(2)]
    return [fresh(hidden), fresh(count, hidden), *matrices, fresh(added)]


NO_TANH = (
    "The tanh is missing. Without it the decoder's part is the same number for every encoder state, and it cancels in "
    "softmax. Then the weights do not depend on the decoder."
)
EXCHANGED = (
    "The two matrices are swapped. Both are (h, a), so there is no error. W_decoder belongs to the decoder's state and "
    "W_encoder to the encoder's states."
)


# Fixed arguments for visible tests.
STATES = {"decoder_state": numbers(3, seed=1), "encoder_states": numbers(4, 3), "W_decoder": numbers(3, 5, seed=2) / 2,
          "W_encoder": numbers(3, 5, seed=3) / 2, "v": numbers(5, seed=4)}  # fmt: skip
