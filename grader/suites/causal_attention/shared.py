"""Hidden tests of unit 3, causal attention. Each test or case is one criterion.

Expected values are computed here in float64, by other means than in the course's solution. If the student's code was
given a substitute for an exercise that it calls, the expected value uses the same substitute.

As in unit 2, a mistake should cost only the criteria about it. Tests of anything but scores use decisive inputs: one
token fits each token so well, itself or the one before, that it gets all the weight, whatever the scores are divided
by and whether the future is hidden or not.

Random results are tested by counts of entries, at most eight counts in a test: see grader/testing/draws.py.
"""

from __future__ import annotations

import torch

from grader.suites.causal import softmax
from grader.testing.checks import expect_close, expect_true
from grader.testing.draws import Fresh

# All different, so that mixed-up dimensions show. No d_k is 4: half of 4 is also its square root.
# D_OUT, which is 7, belongs to the decisive inputs.
B, H, T, D_K, D_IN, LONGER = 2, 3, 5, 6, 8, 9


def softmax_weights(fresh: Fresh, num_tokens: int, dtype: torch.dtype = torch.float32) -> torch.Tensor:
    """Return positive weights (T, T) whose rows sum to one."""
    return softmax(fresh(num_tokens, num_tokens, dtype=torch.float64)).to(dtype)


def log_ratios(weights: torch.Tensor, expected: torch.Tensor) -> torch.Tensor:
    """Return the logarithm of each visible weight minus that of the token's weight for itself; zero elsewhere.

    The logarithm undoes softmax up to a constant for each row. The difference removes it.
    """
    logarithms = weights.double().log()
    ratios = logarithms - logarithms.diagonal(dim1=-2, dim2=-1).unsqueeze(-1)
    return torch.where(expected > 0, ratios, 0.0)


def expect_scores_behind(weights: torch.Tensor, expected: torch.Tensor) -> None:
    expect_true(bool((weights[expected > 0] > 0).all()), "A weight is not positive, although the token may see it.")
    expect_close(log_ratios(weights, expected), log_ratios(expected, expected), "The scores behind the weights")


SINGLE, DOUBLE, EITHER = (torch.float32,), (torch.float64,), (torch.float32, torch.float64)
UNSCALED = (
    "The scores are not scaled. With wider queries and keys the dot products become larger. Divided by the square root "
    "of this width they keep a variance near 1, so that softmax does not give all the weight to one key."
)
NO_ROOT = (
    "The scores are divided by the width itself, or twice by its root, which is the same. Their standard deviation is "
    "the square root of the width: divide once by this root to bring it to 1."
)
SELF_LOWERED = (
    "The diagonal is hidden too, so a token does not see itself. The first token sees nothing: all its scores are "
    "equally low, and softmax spreads its weight over the future too."
)
THROWN_AWAY = (
    "The future is still visible, as if nothing hid it. `masked_fill` without an underscore returns a new tensor: use "
    "its result."
)
ZEROS = (
    "The future's scores are set to zero (or multiplied by a mask of zeros and ones). Zero is a normal score: its "
    "exponential is one, so the future has weight. Use minus infinity."
)
UPSIDE_DOWN = (
    "The mask is inverted: the past is hidden and the future is visible. Hide the part above the diagonal, where the "
    "column comes after the row."
)
SELF_HIDDEN = (
    "The diagonal is hidden too, so a token does not see itself. Then the first token sees nothing, and a softmax over "
    "only minus infinities gives NaN."
)
NEXT_SEEN = (
    "The next token is still visible: the mask begins one position too late. The future begins directly to the right "
    "of the diagonal."
)
MASKED_LATE = (
    "The future is set to zero after the softmax, and nothing more. Its scores are still in the sum inside softmax: "
    "the rows do not sum to one, and they change with the future."
)
WRONG_DIM = (
    "Softmax runs over the queries: the columns sum to one, not the rows. The weights of each token should sum to one "
    "over the tokens that it sees, which lie along the last dimension."
)
