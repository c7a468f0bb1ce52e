"""The answers of a submission are replayed, so that a test can judge them again."""

from __future__ import annotations

import itertools

from grader.engine.criteria import ReplayBackend
from grader.testing.student import InProcessBackend, Student


def test_all_answers_come_again_in_their_order() -> None:
    numbers = itertools.count()
    recorded = ReplayBackend(InProcessBackend("answers", {"next_one": lambda: next(numbers)}))

    def asked() -> list[object]:
        student = Student(recorded, "answers")
        return [student.next_one.draws(2), student.next_one(), student.next_one.draws(2), student.next_one.repeated(3)]

    first = asked()
    assert first == [[0, 1], 2, [0, 1], [3, 4, 5]]
    recorded.rewind()
    assert asked() == first
    assert Student(recorded, "answers").next_one() == 6
