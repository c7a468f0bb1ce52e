"""The workflows of a course's repositories, made from their templates. Run as a program, it writes our own one anew."""

from __future__ import annotations

from grader.course import ROOT, load_course
from grader.release import github

WORKFLOWS = ROOT / ".github" / "workflows"
GRADER = "some-course/grader"


def render(name: str) -> str:
    return github.render(f"{name}.yml.j2", load_course(), grader_repository=GRADER)


if __name__ == "__main__":
    (WORKFLOWS / "grade-submission.yml").write_text(render("grade_submission"), encoding="utf-8")
