"""The common part of the releases to GitHub, Classroom 50 and Gradescope."""

from __future__ import annotations

from typing import Literal

from grader.errors import GraderError


class ReleaseError(GraderError):
    """A release cannot be made; the text says why and what to do."""


GradingMode = Literal["record", "key"]
"""Which tests the workflow in a student's repository runs.

record: The visible tests. Only the instructor runs the hidden ones.
key: The hidden tests, from the instructor's repository, with a deploy key.
"""
