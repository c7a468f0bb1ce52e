"""Unit 5, positions: each test is one criterion, and its docstring is the sentence that a student reads.

Expected values are computed here in float64, and differently from the course's solution. Where an exercise may call an
earlier one, they use the same substitute for it as the student's code.

One mistake should not cost every point. So tests about lengths, dtypes and arguments use inputs on which most mistakes
do not show: a bias of zero, or position 0, where all angles are zero at every frequency.
"""

from __future__ import annotations

from collections.abc import Callable

import torch

B, T, D = 3, 6, 10
DTYPES = (torch.float32, torch.float64)
# The largest number of positions, and the absolute tolerance for each number of an encoding.
LONGEST, WITHIN = 256, 1e-4
Function = Callable[..., torch.Tensor]


def encoding(num_positions: int, d_model: int) -> torch.Tensor:
    """sinusoidal_encoding: (T, d_model), computed from complex numbers (T, d_model / 2) on the unit circle."""
    # 10000^(-2i / d_model) = 10^(-8i / d_model), from 0 to the last i, d_model / 2 - 1.
    frequencies = torch.logspace(0, 8 / d_model - 4, d_model // 2, dtype=torch.float64)
    angles = torch.outer(torch.arange(num_positions, dtype=torch.float64), frequencies)
    parts = torch.view_as_real(torch.polar(torch.ones_like(angles), angles))  # (T, d_model / 2, 2): cosine, sine
    return parts.flip(-1).flatten(-2)  # (T, d_model / 2, 2) -> (T, d_model)


FROM_ONE = "Positions are counted from 1. The first token is at position 0, where all sines are 0 and all cosines 1."
ODD_ACCEPTED = (
    "An odd width raises no error. Sines and cosines come in pairs, so an odd width is the caller's mistake: raise an "
    "error."
)
