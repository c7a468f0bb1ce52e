"""The rules for late work: how much is taken off, and which of several submissions counts."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Annotated, Any, Literal

from pydantic import Field, field_validator
from pydantic_core import PydanticCustomError

from grader.documents import Model

Percent = Annotated[float, Field(ge=0, le=100)]


class Late(Model):
    """The deduction for late work, and which of several submissions of a unit counts.

    Attributes:
        grace_minutes: How long after the due date work is not yet late.
        percent_per_day: The deduction for each 24 hours that have begun since the due date, with fractions of a point.
        most_percent: The largest deduction.
        counts: The last submission, or the one with the most points after the deduction.
    """

    grace_minutes: Annotated[int, Field(ge=0)] = 0
    percent_per_day: Percent
    most_percent: Percent
    counts: Literal["last", "best"] = "last"

    @field_validator("most_percent")
    @classmethod
    def _holds_one_day(cls, most_percent: float, info: Any) -> float:
        if most_percent < info.data.get("percent_per_day", 0):
            raise PydanticCustomError("too_little_for_a_day", "Input should be at least percent_per_day")
        return most_percent

    def days(self, seconds_late: float) -> int:
        """Return how many days have begun since the due date; none within the grace period."""
        return math.ceil(seconds_late / 86400) if seconds_late > self.grace_minutes * 60 else 0

    def percent(self, days: int) -> Fraction:
        """Return the deduction in percent. It is exact, so that rounding cannot cost a point."""
        return min(days * Fraction(str(self.percent_per_day)), Fraction(str(self.most_percent)))
