"""The errors that the command line reports, with their exit codes."""

from __future__ import annotations

IMPERFECT, BAD_INPUT, INTERNAL = 1, 2, 3
"""Exit codes: not everything succeeded; bad input; a fault of the grader."""
INTERRUPTED = 130
"""The exit code after Ctrl-C, as a shell has it for a program that SIGINT ended."""


class GraderError(Exception):
    """A problem that the user can fix. The text says what is wrong, where, and what to do; one line per problem."""

    exit_code = BAD_INPUT


class InternalError(GraderError):
    """A fault of the grader or of this machine, never of a submission: it must not become a grade."""

    exit_code = INTERNAL


class SuiteFault(InternalError):
    """A suite cannot be used, or raises with the solution too. The text names its file and line."""


class CourseError(GraderError):
    """A file of the course is wrong: one line for each problem, in the order of the file."""
