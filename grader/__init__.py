"""The grader of the course: the verdict never lives with student code."""

__version__ = "0.1.0"
