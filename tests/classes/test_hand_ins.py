"""Several submissions of one student that are compared."""

from __future__ import annotations

from pathlib import Path

from courses import hand_in

from grader.classes.hand_ins import comparable
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
