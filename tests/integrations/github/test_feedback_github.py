"""Feedback on the grades of record, sent with the real commands to repositories on a local GitHub."""

from __future__ import annotations

import datetime
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import courses
import pytest
from bs4 import BeautifulSoup
from local_github import TOKEN, Answer, LocalGitHub, Repository, git, local_github
from markdown_it import MarkdownIt
from typer.testing import CliRunner, Result

from grader.classes.collected import read_collected
from grader.classes.record import Grade, grades
from grader.cli.instructor import app
from grader.course.model import load_course
from grader.integrations.github.api import GitHub
from grader.integrations.github.delivery import to_branch, to_comments
from grader.quizzes.quiz_source import load_quiz
from grader.quizzes.sheet import write_sheet

DUE, EARLY = "2020-01-25T23:59:00+01:00", "2020-01-20T10:00:00Z"
RIGHT = courses.SMALL_COURSE["solutions/sums.py"]
HOSTILE = "@bob #1 <script>alert(1)</script> ![b](https://b.example/c.png) <!-- grader feedback: sums --> www.a.example"
RAISES = RIGHT.replace("    return hidden", f"    raise ValueError({HOSTILE!r})\n    return hidden")
BRANCH = "refs/heads/grader-feedback"
QUIZ = {"order_of_terms": "a"}
EXPLANATION, ANSWER = "known as explanation dingo", "the right answer: b) Nothing."


@dataclass
class Class:
    root: Path
    hub: LocalGitHub
    folder: Path
    sent: list[Result] = field(default_factory=list)
    """What was sent before the unit was due, and after it from the same reports."""

    def repository(self, student: str) -> Repository:
        return self.hub.repositories[f"our-course/{student}"]

    def grade(self) -> None:
        """Collect and grade everybody."""
        collected, reports = self.folder / "collected", self.folder / "reports" / "sums"
        for code, arguments in (
            (1, ("collect", self.folder / "roster.csv", "--out", collected, "--unit", "sums")),
            (0, ("grade", collected / "sums", "--unit", "sums", "--out", reports)),
        ):
            done = courses.run_grader(self.root, *arguments)
            assert done.returncode == code, done.stderr

    def send(self, to: str, *more: object) -> Result:
        collected = self.folder / "collected" / "collected.json"
        options = ["--collected", collected, "--to", to, *more, "--course", self.root]
        return CliRunner().invoke(app, ["feedback", str(self.folder / "reports"), *map(str, options)])

    def change_report(self, student: str) -> None:
        """Make a report as from another run, a year later."""
        path = self.folder / "reports" / "sums" / f"{student}.json"
        text = path.read_text(encoding="utf-8")
        year = text.partition('"started": "')[2][:4]
        path.write_text(text.replace(f'"started": "{year}', f'"started": "{int(year) + 1}'), encoding="utf-8")


@pytest.fixture(scope="module")
def over(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Class]:
    """A class that was graded before the unit was due and again after it.

    Ada's answer raises a hostile text and her quiz has a wrong answer. Bob is right. Eve's repository is missing.
    """
    root = courses.make_small_course(tmp_path_factory.mktemp("course"))
    settings = root / "autograder.yml"
    text = settings.read_text(encoding="utf-8").replace("after_due: points", "after_due: misconception")
    settings.write_text(text, encoding="utf-8")
    questions = load_quiz(root / "solutions" / "sums_quiz.yml").questions
    folder = tmp_path_factory.mktemp("class")
    with local_github(tmp_path_factory.mktemp("hub")) as hub, pytest.MonkeyPatch.context() as patch:
        for name, value in hub.environment().items():
            patch.setenv(name, value)
        answers = {"exercises/sums.py": RAISES, "exercises/sums_quiz.md": write_sheet(questions, None, QUIZ)}
        hub.create("our-course/ada").push(answers, EARLY)
        hub.create("our-course/bob").push({"exercises/sums.py": RIGHT}, EARLY)
        (folder / "roster.csv").write_text(
            "student,repository\nada,our-course/ada\nbob,our-course/bob\neve,our-course/eve\n"
        )
        one = Class(root, hub, folder)
        one.grade()
        one.sent.append(one.send("folder", "--out", folder / "before"))
        courses.set_due(root, DUE)
        one.sent.append(one.send("folder", "--out", folder / "outdated"))
        one.grade()
        yield one


@pytest.fixture
def after(over: Class, tmp_path: Path) -> str:
    """Ada's feedback after the unit was due."""
    done = over.send("folder", "--out", tmp_path / "new" / "after")
    assert done.exit_code == 0
    assert done.output == (
        "Without a grade, so without feedback: eve. `grader gradebook` says why.\n"
        "2 of 2 students with a grade have their feedback.\n"
    )
    assert sorted(path.name for path in (tmp_path / "new" / "after").iterdir()) == ["ada.md", "bob.md"]
    return (tmp_path / "new" / "after" / "ada.md").read_text(encoding="utf-8")


@pytest.fixture(autouse=True)
def ada(over: Class) -> Iterator[Repository]:
    """Ada's repository, as before the test at its end."""
    repository = over.repository("ada")
    yield repository
    repository.visibility = "private"
    repository.issues.clear()
    over.repository("bob").issues.clear()
    over.hub.instead.clear()
    if git(repository.bare, "for-each-ref", BRANCH):
        git(repository.bare, "update-ref", "-d", BRANCH)


def shown(text: str) -> BeautifulSoup:
    return BeautifulSoup(MarkdownIt("commonmark", {"html": True}).enable("table").render(text), "html.parser")


def test_before_the_due_date_feedback_is_a_preview_without_quiz_answers(over: Class) -> None:
    assert over.sent[0].exit_code == 0
    text = (over.folder / "before" / "ada.md").read_text(encoding="utf-8")
    assert "Not due yet, so this is not the grade: `sums`." in text
    assert "1 of 8 answered" in text
    assert EXPLANATION not in text
    assert "right answer" not in text


def test_after_the_due_date_it_has_the_quiz_answers_with_their_explanations(after: str) -> None:
    assert "Not due yet" not in after
    assert EXPLANATION in shown(after).get_text()
    assert ANSWER in shown(after).get_text()


def test_a_report_from_before_the_due_date_is_not_sent_after_it(over: Class) -> None:
    assert over.sent[1].exit_code == 1
    assert "0 of 2 students with a grade have their feedback." in over.sent[1].output
    assert "ada: the report on sums was made before the due date, or with another autograder" in over.sent[1].output
    assert list((over.folder / "outdated").iterdir()) == []


def test_answers_that_the_course_no_longer_shows_are_not_sent(over: Class, tmp_path: Path) -> None:
    settings = over.root / "autograder.yml"
    text = settings.read_text(encoding="utf-8")
    settings.write_text(text.replace("quiz_answers: true", "quiz_answers: false"), encoding="utf-8")
    done = over.send("folder", "--out", tmp_path)
    settings.write_text(text, encoding="utf-8")
    assert done.exit_code == 1
    assert list(tmp_path.iterdir()) == []


def test_feedback_says_what_was_graded(over: Class, after: str) -> None:
    [head, cells] = [[cell.get_text() for cell in row] for row in shown(after).table.find_all("tr")]  # type: ignore[union-attr]
    commit = git(over.repository("ada").bare, "rev-parse", "main")
    assert [text for text in head if text.strip()] == ["Unit", "Commit", "Handed in", "Due", "Graded", "Course"]
    found = [text for text in cells if text.strip()]
    assert found[:4] == ["Sums (sums)", commit[:12], "2020-01-20 10:00 UTC", "2020-01-25 22:59 UTC"]
    assert found[5] == "version 1"
    assert "By the hidden tests of the course." in after


def test_hostile_text_is_shown_and_has_no_effect(after: str) -> None:
    page = shown(after)
    assert not page.find_all(["script", "img", "a"])
    text = page.get_text()
    assert "<script>alert(1)</script>" in text
    assert "@bob" not in text
    assert "#1" not in text
    assert "<!--" not in after


def test_a_branch_of_its_own_gets_the_feedback_once(over: Class, ada: Repository, after: str) -> None:
    others = git(ada.bare, "for-each-ref")
    assert over.send("branch").exit_code == 0
    first = git(ada.bare, "rev-parse", BRANCH)
    assert git(ada.bare, "ls-tree", "-r", "--name-only", BRANCH) == "README.md"
    assert git(ada.bare, "show", f"{BRANCH}:README.md") == f"<!-- grader feedback -->\n{after.strip()}"
    assert over.send("branch").exit_code == 0
    assert git(ada.bare, "rev-parse", BRANCH) == first
    over.change_report("ada")
    assert over.send("branch").exit_code == 0
    assert git(ada.bare, "rev-list", BRANCH).split()[1:] == [first]
    git(ada.bare, "update-ref", "-d", BRANCH)
    assert git(ada.bare, "for-each-ref") == others


def test_a_students_own_branch_of_that_name_is_left_alone(over: Class, ada: Repository) -> None:
    git(ada.bare, "branch", "grader-feedback", "main")
    done = over.send("branch")
    assert done.exit_code == 1
    assert "1 of 2 students with a grade have their feedback." in done.output
    assert "ada: our-course/ada has a branch grader-feedback that is not from this command: rename it" in done.output
    assert git(ada.bare, "rev-parse", BRANCH) == git(ada.bare, "rev-parse", "main")


def test_one_issue_has_one_comment_for_a_unit_and_a_second_run_changes_it_in_place(
    over: Class, ada: Repository, after: str
) -> None:
    ada.issues.append({"number": 1, "title": "Feedback", "body": None, "pull_request": {}, "comments": []})
    assert over.send("comment").exit_code == 0
    [_, issue] = ada.issues
    assert issue["title"] == "Feedback on your grades"
    assert [one["body"] for one in issue["comments"]] == [f"<!-- grader feedback: sums -->\n{after.strip()}"]
    issue["comments"].append({"id": 99, "body": "Thank you."})
    over.hub.asked.clear()
    assert over.send("comment").exit_code == 0
    assert {method for method, _, _ in over.hub.asked} == {"GET"}
    over.change_report("ada")
    assert over.send("comment").exit_code == 0
    assert [one["body"] == after.strip() for one in issue["comments"]] == [False, False]
    assert len(ada.issues) == 2


def test_the_feedback_of_one_member_of_a_group_replaces_no_other_ones(over: Class) -> None:
    shared = over.hub.create("our-course/red")
    graded, _, _ = grades(read_collected(over.folder / "collected" / "collected.json"), over.folder / "reports")
    members = [
        Grade(graded.student.model_copy(update={"student": name, "repository": "our-course/red"}), graded.reports, True)
        for name in ("fay", "gil")
    ]
    github = GitHub(over.hub.api, "https://github.invalid", TOKEN)
    for _ in range(2):  # a second run changes nothing
        for member in members:
            for way in (to_branch, to_comments):
                way(github, load_course(over.root), datetime.datetime.now(datetime.UTC), member)
    branches = git(shared.bare, "for-each-ref", "--format=%(refname)").split()
    assert branches == [f"{BRANCH}-fay", f"{BRANCH}-gil"]
    [issue] = shared.issues
    marks = [comment["body"].partition("\n")[0] for comment in issue["comments"]]
    assert marks == ["<!-- grader feedback: sums, fay -->", "<!-- grader feedback: sums, gil -->"]


@pytest.mark.parametrize("way", ["branch", "comment"])
def test_a_public_repository_gets_nothing_and_the_others_get_theirs(over: Class, ada: Repository, way: str) -> None:
    ada.visibility = "public"
    done = over.send(way)
    assert done.exit_code == 1
    assert "1 of 2 students with a grade have their feedback." in done.output
    assert "ada: our-course/ada is public, so others could read the grade: make it private" in done.output
    assert (ada.issues, git(ada.bare, "for-each-ref", BRANCH)) == ([], "")


@pytest.mark.parametrize(
    ("path", "answer", "sentence"),
    [
        (
            "/repos/our-course/ada",
            Answer(404),
            "GitHub shows no our-course/ada to this token (404): correct the roster",
        ),
        ("/repos/our-course/ada/issues", Answer(403), "the permission `Issues: read and write`."),
        ("/repos/our-course/ada/issues", Answer(410), "turn on its issues in its settings on GitHub"),
    ],
)
def test_an_error_with_one_student_names_what_to_do_and_does_not_stop_the_others(
    over: Class, path: str, answer: Answer, sentence: str
) -> None:
    over.hub.instead[path] = [answer]
    done = over.send("comment")
    assert done.exit_code == 1
    assert "our-course/ada" in done.output
    assert sentence in done.output
    assert len(over.repository("bob").issues) == 1


def test_a_comment_that_github_may_have_posted_is_not_posted_again(over: Class, ada: Repository) -> None:
    assert over.send("comment").exit_code == 0
    ada.issues[0]["comments"].clear()
    over.hub.asked.clear()
    path = "/repos/our-course/ada/issues/1/comments"
    over.hub.instead[path] = [Answer(200, body=[]), Answer(502)]
    done = over.send("comment")
    assert "GitHub answers 502 for our-course/ada: run the same command again later." in done.output
    assert [method for method, asked, _ in over.hub.asked if asked.startswith(path)] == ["GET", "POST"]


def test_a_folder_can_have_pages_instead(over: Class, tmp_path: Path) -> None:
    assert over.send("folder", "--out", tmp_path, "--html").exit_code == 0
    assert sorted(path.name for path in tmp_path.iterdir()) == ["ada.html", "bob.html"]
    page = BeautifulSoup((tmp_path / "ada.html").read_text(encoding="utf-8"), "html.parser")
    assert EXPLANATION in page.get_text()
    assert not page.find_all(["script", "img"])


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["comment", "--html"], "--html: GitHub shows no pages, so use it with `--to folder`."),
        (["folder"], "--out: name a folder with `--to folder`"),
        (["branch", "--out", "here"], "--out: name a folder with `--to folder`"),
    ],
)
def test_an_option_that_does_not_fit_the_way_is_refused(over: Class, arguments: list[str], sentence: str) -> None:
    done = over.send(*arguments)
    assert done.exit_code == 2
    assert sentence in done.output
