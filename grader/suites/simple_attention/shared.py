"""Hidden tests of unit 1, attention without weights. Each test or case is one criterion.

Expected values are computed here in float64, by other means than in the course's solution. Each exercise that an
answer may call has its own function here, because the grader may replace the student's version by a substitute.

One mistake should not cost every point, and junk should earn none. So the tests of the number of tokens, the dtype and
the arguments use inputs on which most known mistakes still give the right result: scores far apart, of which only the
order is checked, or one entry that dominates all others.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

import torch

from grader.testing.draws import Fresh
from grader.testing.probes import Draw
from grader.testing.student import Student

# All different, so that mixed-up dimensions show.
B, H, D, T = 2, 3, 4, 5
DTYPES = (torch.float32, torch.float64)
Function = Callable[..., torch.Tensor]


def scores_of(student: Student) -> Function:
    """Return attention_scores: (d,), (T, d) to (T,), row by row."""
    dot_product = student.substitute("dot_product", functools.partial(torch.einsum, "n,n->"))

    def attention_scores(query: torch.Tensor, inputs: torch.Tensor) -> torch.Tensor:
        return torch.stack([dot_product(query.double(), row) for row in inputs.double()])

    return attention_scores


def naive_softmax_of(student: Student) -> Function:
    """Return softmax_naive: any shape to the same shape, one list of scores at a time.

    It uses no substitute for softmax_stable: an answer that only calls softmax_stable should not pass.
    """
    normalize = student.substitute("normalize_by_sum", normalized)

    def softmax_naive(x: torch.Tensor, dim: int = -1) -> torch.Tensor:
        exponentials = x.double().exp().movedim(dim, -1)
        rows = exponentials.reshape(-1, exponentials.shape[-1])  # (…, n) -> (the product of …, n)
        shares = torch.stack([normalize(row) for row in rows])
        return shares.reshape(exponentials.shape).movedim(-1, dim)  # back to the shape of x

    return softmax_naive


def normalized(scores: torch.Tensor) -> torch.Tensor:
    """Compute normalize_by_sum: (T,) to (T,)."""
    return scores.double() * torch.einsum("t->", scores.double()).reciprocal()


def softmax_of(student: Student) -> Function:
    """Return softmax_stable: any shape to the same shape.

    It uses no substitute for softmax_naive: an answer that calls softmax_naive leaves only one line to write.
    """
    naive = naive_softmax_of(student)

    def softmax_stable(x: torch.Tensor, dim: int = -1) -> torch.Tensor:
        return naive(x.double() - x.double().amax(dim, keepdim=True), dim)

    return softmax_stable


def context_of(student: Student) -> Function:
    """Return context_vector: (T,), (T, d) to (d,). Each feature is a dot product with the weights, so it is a score."""
    scores = student.substitute("attention_scores", scores_of(student))

    def context_vector(weights: torch.Tensor, inputs: torch.Tensor) -> torch.Tensor:
        return scores(weights.double(), inputs.double().mT)  # (T,), (d, T) -> (d,)

    return context_vector


def single_nonzero(fresh: Fresh, count: int, size: float, dtype: torch.dtype = torch.float32) -> torch.Tensor:
    """Return (count,): all entries are zero except one, at a random position.

    Division by the sum or by the maximum gives this entry the result one. At a size of 80 softmax does too: e⁻⁸⁰ is
    negligible, and e⁸⁰ is still finite in float32, unlike e⁸⁹.
    """
    numbers = torch.zeros(count, dtype=dtype)
    numbers[fresh.order(count)[0]] = size
    return numbers


DOMINANT = 80.0
# Most tests use a single list of scores, in which no dimension can be confused with another.
EXPONENTIALS = "each result is the exponential of its entry, divided by the sum of the exponentials along `dim`"
LAST_DIM = "without `dim`, the sum runs along the last dimension"
ANY_DIM = "dim may be any dimension, counted from the front or (if negative) from the back"
SOFTMAXES = ("log_softmax", "softmax", "softmin", "special_log_softmax", "special_softmax")
Inputs = Callable[..., Sequence[torch.Tensor]]


def one_entry(fresh: Fresh, dtype: torch.dtype = torch.float32) -> list[torch.Tensor]:
    return [single_nonzero(fresh, T, DOMINANT, dtype)]


DIM_IGNORED = (
    "The sum always runs along the last dimension and ignores `dim`. Pass it on: `sum(dim=dim, keepdim=True)`."
)
WHOLE_TENSOR = (
    "The exponentials are divided by the sum of all entries of the tensor. Each list of scores along `dim` has its own "
    "sum, so that each list sums to one."
)
PUT_BACK_AT_THE_END = (
    "The dimension of the sum, or of the maximum, is put back at the end, by `unsqueeze(-1)`, but it was taken from "
    "`dim`. With `keepdim=True` it stays where it was."
)
TWO_DIMENSIONS = (
    "The code works for rows and columns, but not for a third dimension. `sum(dim=dim, keepdim=True)` and division "
    "work for any number of dimensions."
)
CUT_OFF = (
    "Gradients stop at the result. Was it computed under `torch.no_grad()`, or detached? The scores before it must be "
    "able to learn."
)


def dim_for(draw: Draw, x: torch.Tensor) -> dict[str, Any]:
    return {} if draw.chance(0.3) else {"dim": draw.random.randrange(-x.dim(), x.dim())}
