"""Commit statuses, which show students the grade of record."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from courses import LONG_PAST, LONG_TO_COME
from local_github import TOKEN, Answer, LocalGitHub, local_github
from made_reports import report
from made_reports import unit as made_unit

from grader.classes.collected import CollectedStudent, CollectedWork
from grader.classes.record import Grade
from grader.integrations.github.api import GitHub
from grader.integrations.github.delivery import send, statuses
from grader.reports.report_model import Unit

COMMIT = "a" * 40


def grade(name: str, unit: Unit | str, commit: str | None = COMMIT) -> Grade:
    works = {"sums": CollectedWork(commit=commit, dated_by="push")}
    student = CollectedStudent(student=name, repository=f"our-course/{name}", units=works)
    made = unit if isinstance(unit, str) else report({"sums": unit}).model_copy(update={"commit": commit})
    return Grade(student, {"sums": made})


def unit(points: int) -> Unit:
    return made_unit({}).model_copy(update={"points": points, "possible": 30})


@pytest.fixture
def hub(tmp_path: Path) -> Iterator[LocalGitHub]:
    with local_github(tmp_path) as hub:
        yield hub


def client(hub: LocalGitHub) -> GitHub:
    return GitHub(hub.api, "https://github.invalid", TOKEN)


def test_a_status_gives_the_points_beside_the_commit_that_was_graded(hub: LocalGitHub) -> None:
    hub.create("our-course/ada")
    assert list(send(statuses([grade("ada", unit(12))], client(hub)))) == [("ada, sums", None)]
    status = {"state": "success", "context": "grade of record/sums", "description": "12 of 30 points"}
    assert hub.statuses == [("our-course/ada", COMMIT, status)]


def test_each_member_of_a_group_has_a_status_on_the_commit(hub: LocalGitHub) -> None:
    hub.create("our-course/ada")
    ada, bob = grade("ada", unit(12)), grade("bob", unit(11))
    of_bob = bob.student.model_copy(update={"repository": ada.student.repository})
    shared = [Grade(student, own.reports, is_shared=True) for student, own in ((ada.student, ada), (of_bob, bob))]
    assert list(send(statuses(shared, client(hub)))) == [("ada, sums", None), ("bob, sums", None)]
    found = {status["context"]: status["description"] for _, _, status in hub.statuses}
    assert found == {"grade of record/sums/ada": "12 of 30 points", "grade of record/sums/bob": "11 of 30 points"}


def test_a_status_is_posted_again_only_if_it_says_something_else(hub: LocalGitHub) -> None:
    hub.create("our-course/ada")
    exempt = unit(13).model_copy(update={"exempt": True})
    for one in (unit(12), unit(12), unit(13), exempt):
        assert list(send(statuses([grade("ada", one)], client(hub)))) == [("ada, sums", None)]
    assert [status["description"] for _, _, status in hub.statuses] == ["12 of 30 points", "13 of 30 points", "exempt"]


def test_points_before_the_due_date_are_called_so(hub: LocalGitHub) -> None:
    hub.create("our-course/ada")
    for due in (LONG_TO_COME, LONG_PAST):
        one = unit(12).model_copy(update={"due": due, "extended": True})
        list(send(statuses([grade("ada", one)], client(hub))))
    assert [status["description"] for _, _, status in hub.statuses] == [
        "12 of 30 points, not due yet",
        "12 of 30 points",
    ]


def test_a_student_without_a_grade_or_a_push_gets_no_status(hub: LocalGitHub) -> None:
    hub.create("our-course/ada")
    not_graded = [grade("ada", "there is no report"), grade("ada", unit(0), commit=None)]
    assert list(send(statuses(not_graded, client(hub)))) == []
    assert hub.asked == []


def test_a_status_that_cannot_be_posted_does_not_stop_the_others(hub: LocalGitHub) -> None:
    hub.create("our-course/bob")
    hub.instead[f"/repos/our-course/bob/statuses/{COMMIT}"] = [Answer(503, {"Retry-After": "0"})]
    posted = dict(send(statuses([grade("ada", unit(1)), grade("bob", unit(2))], client(hub))))
    assert "Commit statuses: read and write" in str(posted["ada, sums"])
    assert posted["bob, sums"] is None
    assert [name for name, _, _ in hub.statuses] == ["our-course/bob"]
