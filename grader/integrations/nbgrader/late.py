"""What nbgrader takes off late submissions, by `late:` in autograder.yml."""

from __future__ import annotations

from nbgrader.plugins import LateSubmissionPlugin

from grader.integrations.nbgrader import course_of


class LatePenalty(LateSubmissionPlugin):
    """A share of the score for each day that has begun."""

    def late_submission_penalty(self, student_id: str, score: float, total_seconds_late: float) -> float:  # noqa: ARG002
        """What is taken off: never more than the score."""
        return course_of(self.config).late.penalty(score, total_seconds_late)
