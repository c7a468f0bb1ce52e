"""Sends students what their grades of record say: feedback and commit statuses, one after the other."""

from __future__ import annotations

import base64
import datetime
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import partial
from pathlib import Path

from grader.classes.record import Grade, feedback, feedback_page
from grader.course.model import Course
from grader.errors import GraderError, InternalError
from grader.files import write_atomically
from grader.integrations.github.api import GitHub, GitHubError
from grader.reports.report_model import Report, Unit
from grader.text import who

FEEDBACK_BRANCH = "grader-feedback"
"""GitHub Classroom has a branch `feedback` of its own, the base of its pull request. Each member of a group has one."""
FEEDBACK_FILE = "README.md"
"""GitHub shows it on the page of the branch."""
FEEDBACK_TITLE = "Feedback on your grades"
MOST_OF_A_COMMENT = 60_000
"""The most bytes of a summary: GitHub accepts 65,536 characters in a comment."""

_MARK = "<!-- grader feedback -->"
_OPENING = "Each unit has a comment with its grade of record and what it was given for. Questions are welcome here."
_CONTENTS, _ISSUES = "Contents: read and write", "Issues: read and write"

Delivery = tuple[str, Callable[[], None]]
"""For whom something is, and what sends it. Sent again, it changes nothing; it raises GraderError."""


def send(deliveries: Iterable[Delivery]) -> Iterator[tuple[str, str | None]]:
    """Send everything, even after an error. Yield each recipient, and the error or None."""
    for recipient, deliver in deliveries:
        problem = None
        try:
            deliver()
        except InternalError:
            raise
        except GraderError as error:
            problem = str(error)
        yield recipient, problem


def deliveries(grades: Iterable[Grade], to: Callable[[Grade], None]) -> Iterator[Delivery]:
    """Yield the feedback of each student who has a grade; `to` is one of the functions below."""
    for grade in grades:
        if grade.graded:
            yield grade.student.student, partial(to, grade)


def to_folder(folder: Path, course: Course, now: datetime.datetime, grade: Grade) -> None:
    """Write folder/<student>.md. Raises OSError."""
    write_atomically(folder / f"{grade.student.student}.md", feedback(grade, grade.units, course, now))


def pages_to_folder(folder: Path, course: Course, now: datetime.datetime, grade: Grade) -> None:
    """Write folder/<student>.html. Raises OSError."""
    write_atomically(folder / f"{grade.student.student}.html", feedback_page(grade, grade.units, course, now))


def to_branch(github: GitHub, course: Course, now: datetime.datetime, grade: Grade) -> None:
    """Write FILE on BRANCH, which has no commit in common with the student's branches. A member's has the name added.

    Raises:
        GraderError: It cannot be written, or somebody else made the branch; nothing is changed.
    """
    repository = grade.student.repository
    branch = f"{FEEDBACK_BRANCH}-{grade.student.student}" if grade.is_shared else FEEDBACK_BRANCH
    text = f"{_MARK}\n{feedback(grade, grade.units, course, now)}"
    github.require_private(repository)
    if github.ask("GET", repository, f"git/ref/heads/{branch}", _CONTENTS):
        _replace(github, repository, branch, text)
        return
    entry = {"path": FEEDBACK_FILE, "mode": "100644", "type": "blob", "content": text}
    tree = github.ask("POST", repository, "git/trees", _CONTENTS, {"tree": [entry]})
    commit = {"message": FEEDBACK_TITLE, "tree": tree["sha"], "parents": []}
    made = github.ask("POST", repository, "git/commits", _CONTENTS, commit)
    github.ask("POST", repository, "git/refs", _CONTENTS, {"ref": f"refs/heads/{branch}", "sha": made["sha"]})


def to_comments(github: GitHub, course: Course, now: datetime.datetime, grade: Grade) -> None:
    """Write one comment for each unit on the issue TITLE, in place of an earlier one on the same unit and student.

    Raises:
        GraderError: One cannot be written; those before it are there.
    """
    repository = grade.student.repository
    units = [name for name, unit in grade.units.items() if isinstance(unit, Unit)]
    texts = {unit: feedback(grade, [unit], course, now, MOST_OF_A_COMMENT) for unit in units}
    github.require_private(repository)
    found = github.entries(repository, "issues?state=all&direction=asc", _ISSUES)
    ours = (one["number"] for one in found if "pull_request" not in one and _text(one).startswith(_MARK))
    number = next(ours, None)
    if number is None:
        issue = {"title": FEEDBACK_TITLE, "body": f"{_MARK}\n{_OPENING}"}
        number = github.ask("POST", repository, "issues", _ISSUES, issue, once=True)["number"]
    comments = list(github.entries(repository, f"issues/{number}/comments", _ISSUES))
    for unit, text in texts.items():
        mark = f"<!-- grader feedback: {unit}{f', {grade.student.student}' if grade.is_shared else ''} -->"
        content = {"body": f"{mark}\n{text}".strip()}
        earlier = next((one for one in comments if _text(one).startswith(mark)), None)
        if earlier is None:
            github.ask("POST", repository, f"issues/{number}/comments", _ISSUES, content, once=True)
        elif _text(earlier) != content["body"]:
            github.ask("PATCH", repository, f"issues/comments/{earlier['id']}", _ISSUES, content)


def _replace(github: GitHub, repository: str, branch: str, text: str) -> None:
    """Replace the file of the branch, unless it has this text."""
    path = f"contents/{FEEDBACK_FILE}"
    present = github.ask("GET", repository, f"{path}?ref={branch}", _CONTENTS) or {}
    earlier = base64.b64decode(present.get("content", "")).decode("utf-8", "replace")
    if not earlier.startswith(_MARK):
        raise GitHubError(
            f"{repository} has a branch {branch} that is not from this command: rename it, then run the command again."
        )
    if earlier != text:
        content = {"message": FEEDBACK_TITLE, "content": base64.b64encode(text.encode()).decode(), "branch": branch}
        github.ask("PUT", repository, path, _CONTENTS, {**content, "sha": present["sha"]})


def _text(entry: Mapping[str, str | None]) -> str:
    """Return the text of an issue or comment, with the line ends that were sent."""
    return (entry["body"] or "").replace("\r\n", "\n").strip()


def statuses(grades: Iterable[Grade], github: GitHub) -> Iterator[Delivery]:
    """Yield the points of each unit, as a status of the graded commit; in a group's repository, one for each member."""
    now = datetime.datetime.now(datetime.UTC)
    for grade in grades:
        for name, report in grade.reports.items():
            if isinstance(report, Report) and report.commit:
                unit = report.units[name]
                student, repository = grade.student.student, grade.student.repository
                context = f"grade of record/{name}{f'/{student}' if grade.is_shared else ''}"
                is_due = unit.due is None or datetime.datetime.fromisoformat(unit.due) <= now
                points = f"{unit.points} of {unit.possible} points{'' if is_due else ', not due yet'}"
                description = "exempt" if unit.exempt else points
                post = partial(_post, github, repository, report.commit, context, description)
                yield f"{who(student, report.name)}, {name}", post


def _post(github: GitHub, repository: str, commit: str, context: str, description: str) -> None:
    if github.statuses(repository, commit).get(context) != ("success", description):
        github.post_status(repository, commit, context, description)
