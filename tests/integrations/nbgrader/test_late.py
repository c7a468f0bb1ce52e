"""What nbgrader takes off late submissions is said in autograder.yml."""

from __future__ import annotations

import pytest

from grader.integrations.nbgrader.late import LatePenalty

HOUR = 3600


@pytest.mark.parametrize(("score", "hours", "penalty"), [(40, 1, 4), (40, 25, 8), (40, 24 * 30, 20), (0, 25, 0)])
def test_the_penalty_is_a_share_of_the_score(score: float, hours: float, penalty: float) -> None:
    assert LatePenalty().late_submission_penalty("ada", score, hours * HOUR) == penalty
