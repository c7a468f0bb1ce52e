"""How much time the calls of each exercise may still take."""

from __future__ import annotations

from grader.sandbox.failures import TimedOut


class TimeBudget:
    """Time of its own for each exercise, so that no exercise can use up what another needs.

    Attributes:
        name: The exercise whose time is used now; "" before the first.
    """

    def __init__(self, seconds: float) -> None:
        self._seconds = seconds
        self._shares = {"": seconds}
        self._left = dict(self._shares)
        self.name = ""

    def use(self, name: str, shared_by: int) -> None:
        """Take time from this exercise's part from here on, one of so many equal parts of a unit's time."""
        self.name = name
        self._shares[name] = self._seconds / shared_by
        self._left.setdefault(name, self._shares[name])

    def left(self) -> float:
        """Return how many seconds are left. Raises TimedOut where there are none."""
        left = self._left[self.name]
        if left <= 0:
            raise TimedOut("No time was left for it: earlier calls of this exercise took all there was.")
        return left

    def spend(self, seconds: float) -> None:
        """Take so much away."""
        self._left[self.name] -= seconds

    def exceeded(self, call_seconds: float) -> TimedOut:
        """Return the failure of a call that took too long.

        It never says how much was left: that differs from run to run, and the report should not.
        """
        together = self._shares[self.name]
        return TimedOut(
            f"Stopped: a call may take {call_seconds:g} s, and all calls of an exercise {together:.2g} s. "
            "Is there a loop that never ends?"
        )
