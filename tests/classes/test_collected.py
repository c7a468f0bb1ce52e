"""What one run of `grader collect` found."""

from __future__ import annotations

import datetime

from grader.classes.collected import Push

NOW = datetime.datetime(2026, 1, 1, tzinfo=datetime.UTC)
NOTHING, FIRST, SECOND = "0" * 40, "1" * 40, "2" * 40


def test_a_branch_is_created_from_nothing_and_deleted_to_nothing() -> None:
    states = [(NOTHING, FIRST), (FIRST, SECOND), (SECOND, NOTHING)]
    pushes = [Push(NOW, "ada", "push", "refs/heads/main", before, after) for before, after in states]
    assert [(push.begins, push.ends) for push in pushes] == [(True, False), (False, False), (False, True)]
