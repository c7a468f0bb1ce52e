"""The workflows of a course's repositories, rendered from their templates."""

from __future__ import annotations

from courses import COURSE, REPOSITORY

from grader.integrations.github import release

WORKFLOWS = REPOSITORY / ".github" / "workflows"
GRADER = "some-course/grader"


def render(name: str) -> str:
    return release.render(f"{name}.yml.j2", COURSE, grader_repository=GRADER)
