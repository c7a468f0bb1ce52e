"""The capstone, a small GPT: each test is one criterion, and its docstring is the sentence that a student reads.

Students build the model from parts of any origin and under any names, so tests set all parameters of one shape to the
same values. Then names and order make no difference, and one expected model, built here, has the same values. It uses
the same substitutes for the parts of units 4 and 7 as the student's code.

One mistake should not cost every point. So the tests of the tables and of the blocks accept a missing final norm, and
the tests of other rules compare outputs of the student's own model.
"""

from __future__ import annotations

from torch import Tensor

from grader.testing.probes import Draw

# All different, so that mixed-up dimensions show; 3 · C and 4 · C differ too. No number of heads or blocks is one that
# learners write themselves.
B, HEADS, BLOCKS, T, C, CONTEXT = 2, 3, 4, 5, 12, 9


def ids(draw: Draw, kinds: int, texts: int, tokens: int) -> Tensor:
    return draw.integers(0, kinds, texts, tokens)
