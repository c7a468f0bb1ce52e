"""The parts of a class, which several machines grade without knowing of each other."""

from __future__ import annotations

import pytest

from grader.classes.hand_ins import Shard
from grader.errors import GraderError


@pytest.mark.parametrize("count", [1, 3, 256])
def test_each_student_is_in_one_part(count: int) -> None:
    students = [f"student{number}" for number in range(300)]
    parts = [Shard(number, count) for number in range(1, count + 1)]
    assert [sum(part.has(student) for part in parts) for student in students] == [1] * 300
    assert [part.has("Ada") for part in parts] == [part.has("ada") for part in parts]


@pytest.mark.parametrize("text", ["", "2", "0/5", "6/5", "1/0", "-1/5", "1/5/5", "a/b", "1 / 5"])
def test_what_is_no_part_is_refused_with_an_example(text: str) -> None:
    with pytest.raises(GraderError, match=r"is no part: give a number and how many parts there are, such as 2/5"):
        Shard.read(text)
