"""What a stub says about the time that an exercise takes is what code reads."""

from __future__ import annotations

from courses import COURSE

from grader.course.guidance import Effort, efforts


def test_every_exercise_states_its_minutes_and_its_difficulty() -> None:
    found = efforts(COURSE)
    assert {unit: list(found[unit]) for unit in found} == {
        unit: list(described.exercises) for unit, described in COURSE.units.items()
    }
    assert found["simple_attention"]["softmax_stable"] == Effort(minutes=15, difficulty="medium")
    stub = (COURSE.exercises / "simple_attention.py").read_text(encoding="utf-8")
    assert "    Time: 15 minutes. Difficulty: medium.\n" in stub
