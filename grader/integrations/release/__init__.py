"""What the releases to GitHub, Classroom 50 and Gradescope share."""

from __future__ import annotations

import enum

from grader.errors import GraderError


class ReleaseError(GraderError):
    """A release that cannot be made; one sentence that says why and what to do."""


class GradingMode(enum.StrEnum):
    """Which tests the workflow in a student's repository runs, and how the hidden ones get there."""

    record = "record"
    """The visible ones: the hidden ones run on the instructor's side alone."""
    key = "key"
    """The hidden ones, in the instructor's repository, which a deploy key opens."""
    reusable = "reusable"
    """The hidden ones, by a workflow of the instructor's repository."""
