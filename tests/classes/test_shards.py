"""The parts of a class, which several machines grade without knowing of each other."""

from __future__ import annotations

import shutil
from pathlib import Path

import courses
import pytest
from dask_cluster import steady_reports

from grader.classes.hand_ins import Shard
from grader.errors import GraderError

RIGHT = courses.SMALL_COURSE["solutions/sums.py"]
STUDENTS = [f"student{number}" for number in range(6)]


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


@pytest.mark.proof(part="grading")
def test_the_parts_together_are_the_class_with_one_table(own_small_course: Path, tmp_path: Path) -> None:
    courses.set_due(own_small_course, courses.LONG_PAST)
    roster = tmp_path / "roster.csv"
    roster.write_text("student\n" + "".join(f"{name}\n" for name in [*STUDENTS, "absent", "missing"]))
    for number, name in enumerate(STUDENTS):
        courses.hand_in(tmp_path / "class" / name, RIGHT if number % 2 else RIGHT.replace("a + b", "a - b"))
    options = (tmp_path / "class", "--roster", roster, "--out")
    assert courses.run_grader(own_small_course, "grade", *options, tmp_path / "whole").returncode == 0
    parts = []
    for number in (1, 2, 3):
        done = courses.run_grader(own_small_course, "grade", *options, tmp_path / str(number), "--shard", f"{number}/3")
        assert done.returncode == 0, done.stderr
        parts.append(steady_reports(tmp_path / str(number)))
        assert f"Part {number} of 3: {len(parts[-1])} students." in done.stdout
        shutil.copytree(tmp_path / str(number), tmp_path / "merged", dirs_exist_ok=True)
    assert sum(map(len, parts)) == len(STUDENTS) + 2
    assert steady_reports(tmp_path / "merged") == steady_reports(tmp_path / "whole")
    tables = []
    for reports in ("merged", "whole"):
        table = ("gradebook", "--reports", tmp_path / reports, "--roster", roster, "--out", tmp_path / "grades.csv")
        assert courses.run_grader(own_small_course, *table).returncode == 0
        tables.append((tmp_path / "grades.csv").read_bytes())
    assert tables[0] == tables[1]
