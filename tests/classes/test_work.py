"""The work on one student: what came of several submissions."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from made_reports import exercise, made_course, report, unit

from grader.classes.decisions import Decisions
from grader.classes.hand_ins import hand_ins
from grader.classes.roster import RosterEntry
from grader.classes.work import StudentWork, SubmissionWork, best_of, named_otherwise
from grader.engine.grading import Graded
from grader.reports.folder import SUITE_FAULTS, write_report
from grader.reports.report_model import Received, Report
from grader.submissions.find import Submissions


def test_pytests_report_is_on_the_last_submission_and_keeps_what_suites_raised_with_all() -> None:
    results: list[dict[str, Any]] = [
        {"tests": [1], SUITE_FAULTS: {"a": ["first"], "b": ["second"]}},
        {"tests": [2], SUITE_FAULTS: {"a": ["first", "third"]}},
        {"tests": [3]},
    ]
    nothing: Any = None
    candidates = [SubmissionWork(nothing, {}, Graded(nothing, one)) for one in results]
    work = StudentWork("ada", None, None, candidates, ())
    assert work.pytest == {"tests": [3], SUITE_FAULTS: {"a": ["first", "third"], "b": ["second"]}}


def submitted(points: int, source: str | None = "push", at: str | None = "2027-01-20T12:00:00+00:00") -> Report:
    """A report on one of several submissions; without a source, nothing says when it came."""
    received = source and Received(at=at, source=source)
    made = unit({"add": exercise(points, 5 - points)}).model_copy(update={"received": received})
    return report({"sums": made})


def test_of_several_submissions_the_one_with_most_points_counts_or_the_last_whose_time_is_known() -> None:
    undated = submitted(3, "Canvas", None)
    for reports, best, why in [
        ([submitted(1), submitted(4), submitted(3)], 1, "it has more points"),
        ([submitted(3), submitted(3, None)], 1, ""),
        ([submitted(3), undated, undated], 0, "it has as many points, and its time is known"),
    ]:
        found, chosen = best_of(reports).units["sums"], reports[best].units["sums"]
        assert (found.points, found.received) == (chosen.points, chosen.received)
        remark = f"{len(reports)} submissions were graded. An earlier one counts, because {why}."
        assert found.remarks == ([remark] if why else [])


def test_who_is_called_like_somebody_else_was_has_not_handed_in_nothing(tmp_path: Path) -> None:
    write_report(submitted(4).model_copy(update={"student": "bob", "name": "Bob Roe"}), None, tmp_path)
    entries = [RosterEntry("bob", name, is_exported=True) for name in ("Rob Roe", "Bob Roe")]
    assert named_otherwise(entries[1:], tmp_path) == {}
    refused = named_otherwise(entries[:1], tmp_path)
    assert refused["bob"].startswith(
        f"'{tmp_path}/bob.json' is the report of Bob Roe, and the roster has Rob Roe (bob)"
    )
    course = made_course(tmp_path / "course", {"sums": {"add": 1}})
    found = hand_ins(Submissions(), Decisions(course, entries[:1]), refused)
    assert (found.unclear, found.absent) == (refused, [])
