"""Makes several criteria of one test function."""

from __future__ import annotations

from typing import Any

import pytest


def case(name: str, exercise: str, rule: str, sentence: str, *values: Any) -> Any:
    """Make one case of a parametrized test a criterion of its own.

    Args:
        name: The criterion's name.
        exercise: The exercise that it belongs to.
        rule: The rule, in the stub's own words.
        sentence: What a student reads if it fails.
        values: The arguments of the case, besides the student and fresh inputs.
    """
    return pytest.param(*values, id=name, marks=pytest.mark.exercise(exercise, rule=rule, sentence=sentence))
