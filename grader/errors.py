"""The errors that the command line reports: one base class, which knows the exit code."""

from __future__ import annotations

IMPERFECT, BAD_INPUT, INTERNAL = 1, 2, 3
"""Exit codes: done, but not as was asked; bad input; the grader's own fault."""


class GraderError(Exception):
    """Something that the user can fix. The text says what is wrong, where, and what to do; one line per problem."""

    exit_code = BAD_INPUT


class InternalError(GraderError):
    """A fault of the grader or of this machine, never of a submission: no grade may come of it."""

    exit_code = INTERNAL
