"""The workflows of a course's repositories, made from their templates."""

from __future__ import annotations

from grader.course.model import ROOT, load_course
from grader.integrations.github import release

WORKFLOWS = ROOT / ".github" / "workflows"
GRADER = "some-course/grader"


def render(name: str) -> str:
    return release.render(f"{name}.yml.j2", load_course(), grader_repository=GRADER)
