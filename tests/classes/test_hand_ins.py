"""Several submissions of one student that are compared."""

from __future__ import annotations

import datetime
from pathlib import Path

import pytest
from courses import hand_in

from grader.classes.hand_ins import combined, comparable
from grader.classes.times import Time
from grader.submissions.reader import read_submission

UNITS = ["sums", "means"]


def test_a_unit_may_import_what_an_earlier_submission_has_and_only_those_with_the_unit_are_compared(
    tmp_path: Path,
) -> None:
    folders = [
        hand_in(tmp_path / "1", "first = 1\n", "sums"),
        hand_in(tmp_path / "2", "from sums import first\n", "means"),
        hand_in(tmp_path / "3", "first = 3\n", "sums"),
    ]
    read = [read_submission("ada", folder, ["means"], tmp_path, UNITS) for folder in folders]
    [(number, submission)] = comparable(read)
    assert (number, submission.units["means"].code) == (1, read[1].units["means"].code)
    assert submission.siblings["sums"].cells == ("first = 1\n",)


def test_without_the_unit_in_any_submission_the_last_one_is_graded(tmp_path: Path) -> None:
    folders = [hand_in(tmp_path / name, "first = 1\n", "sums") for name in ("1", "2")]
    read = [read_submission("ada", folder, ["means"], tmp_path, UNITS) for folder in folders]
    assert [number for number, _ in comparable(read)] == [1]


@pytest.mark.parametrize(
    ("hours", "chosen"),
    [((2, 1), 0), ((1, 2), 1), ((1, 1), 1), ((2, None), 1), ((None, None), 1)],
)
def test_the_last_submission_is_that_of_the_latest_time_or_the_last_one_given_if_a_time_is_unknown(
    tmp_path: Path, hours: tuple[int | None, ...], chosen: int
) -> None:
    folders = [hand_in(tmp_path / name, f"first = {name}\n", "sums") for name in ("1", "2", "3")]
    (folders[2] / "sums.py").unlink()  # this one has no file of the unit
    read = [read_submission("ada", folder, ["sums"], tmp_path, UNITS) for folder in folders]
    day = datetime.datetime(2027, 1, 25, tzinfo=datetime.UTC)
    at = [None if hour is None else day + datetime.timedelta(hours=hour) for hour in (*hours, 3)]
    submission, numbers = combined(read, [{"sums": Time(one, "times.csv")} for one in at])
    assert numbers == {"sums": chosen}
    assert submission.units["sums"].code == read[chosen].units["sums"].code
