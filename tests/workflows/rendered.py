"""The workflows of a course's repositories, rendered from their templates."""

from __future__ import annotations

from courses import COURSE, REPOSITORY

from grader.integrations.github import github_release

WORKFLOWS = REPOSITORY / ".github" / "workflows"
GRADER = "some-course/grader"
_PAGE = (REPOSITORY / "docs" / "many-machines.md").read_text(encoding="utf-8")
GRADE_SHARDS = _PAGE.partition('grade-shards.yml"\n')[2].partition("```\n")[0]
"""The workflow of a page for a large class."""


def students_workflow(mode: str) -> str:
    return github_release.render("classroom.yml.j2", COURSE, mode=mode, grader_repository=GRADER)
