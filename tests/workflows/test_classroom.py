"""The student's workflow, executed step by step in a fresh clone of a released repository after a push."""

from __future__ import annotations

import json
import shutil
import zipfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, get_args

import jsonschema
import pytest
from actions import Hosted
from courses import COURSE, REPOSITORY
from local_github import git
from rendered import GRADER, students_workflow
from runner import Push, Runner, read_workflow
from students import KEY, answers, hand_in, host, make_instructors, release

from grader.integrations.release import GradingMode
from grader.integrations.release.leaks import scan
from grader.reports.exporters import job_summary as annotating
from grader.reports.exporters.job_summary import summary
from grader.reports.report_model import Report

REPORT_SCHEMA = json.loads((REPOSITORY / "docs" / "report.schema.json").read_text(encoding="utf-8"))

# Text that could break the workflow.
EVIL = "`touch${IFS}pwned`;$(touch${IFS}pwned)|<img/src=x>&"
FORGED = b'{"points": 1000000, "forged": true}\n'

# A visible test, a workflow and autograder.yml that favour the student, and forged output files.
TAMPERING = {
    "exercises/checks/test_self_attention.py": b"def test_all_is_well():\n    pass\n",
    "exercises/checks/conftest.py": b"raise SystemExit(0)\n",
    "autograder.yml": b"units: {}\n",
    ".github/workflows/helper.yml": b"on: push\njobs: {}\n",
    "grader/__init__.py": b"raise SystemExit(0)\n",
    "sitecustomize.py": b"raise SystemExit(0)\n",
    "reports/attention-tampered.json": FORGED,
}

KINDS = ["good", "wrong", "hostile", "tampered", "with a key"]
VISIBLE, HIDDEN = KINDS[:4], KINDS[4:]
proof = pytest.mark.proof(part="workflows")
by_kind = pytest.mark.parametrize(
    "kind", [kind if kind == "good" else pytest.param(kind, marks=proof) for kind in KINDS]
)


@dataclass
class Graded:
    """A push, the run of the workflow, and the student's clone."""

    push: Push
    clone: Path
    runner: Runner

    @property
    def student(self) -> str:
        return self.push.repository.partition("/")[2]

    def artifact(self, name: str) -> dict[str, bytes]:
        with zipfile.ZipFile(self.runner.artifacts / f"{name}.zip") as archive:
            return {file: archive.read(file) for file in archive.namelist()}

    @property
    def report(self) -> Report:
        return Report.model_validate_json(self.artifact("report")[f"{self.student}.json"])


Grade = Callable[[str], Graded]


@pytest.fixture(scope="module")
def graded(tmp_path_factory: pytest.TempPathFactory, example_class: Path) -> Grade:
    """Return the run for a kind of submission. Each is pushed and graded once."""
    folder = tmp_path_factory.mktemp("classroom")
    instructors = make_instructors(folder / "instructors")
    grader = host(instructors, folder / "grader.git", KEY)
    caches = folder / "caches"
    caches.mkdir()
    released: dict[GradingMode, Hosted] = {}
    done: dict[str, Graded] = {}

    def run(kind: str) -> Graded:
        mode: GradingMode = "key" if kind == "with a key" else "record"
        if mode not in released:
            released[mode] = host(release(instructors, folder / mode, mode), folder / f"{mode}.git")
        name = "attention-" + kind.replace(" ", "-")
        own = folder / name
        own.mkdir()
        hosted = host(released[mode].bare, own / "bare.git")
        push = hand_in(hosted, own / "clone", f"some-course/{name}", *_work(kind, example_class))
        runner = Runner(
            own / "runner",
            {push.repository: hosted, GRADER: grader},
            push,
            secrets={} if mode == "record" else {"GRADER_DEPLOY_KEY": KEY},
            caches=caches,
        )
        text = git(hosted.bare, "show", f"{push.sha}:.github/workflows/classroom.yml")
        assert text == students_workflow(mode).rstrip("\n")  # as test_workflows.py reads it
        runner.run(read_workflow(text))
        return Graded(push, own / "clone", runner)

    def graded(kind: str) -> Graded:
        if kind not in done:
            done[kind] = run(kind)
        return done[kind]

    return graded


def _work(kind: str, example_class: Path) -> tuple[Any, ...]:
    """Return the pushed files and, for the hostile kind, the branch, the message and the account."""
    if kind == "untouched":
        return ({"notes.txt": b"to do: all of it\n"},)
    if kind == "good":
        return (answers(example_class / "ada"),)
    if kind == "tampered":
        return (answers(example_class / "chen") | TAMPERING,)
    if kind == "wrong":
        return (answers(example_class / "chen"),)
    message = f"{EVIL}\n\n::error::from a message\n[a link](https://example.org) <script>alert(1)</script>"
    return answers(example_class / "mallory"), f"refs/heads/{EVIL}", message, EVIL


@by_kind
def test_one_job_runs_and_only_its_step_that_grades_fails_if_points_are_missing(graded: Grade, kind: str) -> None:
    found = graded(kind)
    assert found.runner.jobs == ["grade"]
    failed = [step for step in found.runner.steps if step.outcome != "success"]
    assert [step.name for step in failed] == ([] if kind == "good" else ["Grade"]), failed[0].log
    report = found.report
    assert found.runner.is_success == (report.points == report.possible) == (kind == "good")


@proof
def test_until_something_is_handed_in_the_run_is_green_without_points(graded: Grade) -> None:
    found = graded("untouched")
    assert (found.runner.is_success, found.report.handed_in) == (True, False)
    assert "Nothing is handed in yet" in found.runner.summary


@by_kind
def test_the_artifact_is_only_the_report(graded: Grade, kind: str) -> None:
    found = graded(kind)
    [(name, content)] = found.artifact("report").items()
    assert name == f"{found.student}.json"
    jsonschema.validate(json.loads(content), REPORT_SCHEMA)
    report = found.report
    assert (report.student, report.commit) == (found.student, found.push.sha)
    assert report.suites == ("visible" if kind in VISIBLE else "hidden")


@by_kind
def test_the_summary_and_the_annotations_are_those_of_the_report(graded: Grade, kind: str) -> None:
    found = graded(kind)
    assert found.runner.summary == summary(found.report).rstrip("\n") + "\n"
    made = annotating.annotation_commands(found.report)
    shown = found.runner.step("Grade")
    assert shown.log[-len(made) :] == made
    assert len(shown.commands) == len(made)


@proof
def test_a_wrong_answer_is_annotated(graded: Grade) -> None:
    found, name = graded("wrong"), "scaled_dot_product_attention"
    commands = found.runner.step("Grade").commands
    [error] = [command for command in commands if command.properties["title"].startswith(f"{name}:")]
    assert error.name == "error"
    assert error.properties["file"] == "exercises/self_attention.py"
    lines = (found.clone / error.properties["file"]).read_text(encoding="utf-8").splitlines()
    assert lines[int(error.properties["line"]) - 1].startswith(f"def {name}(")


@proof
@pytest.mark.parametrize("kinds", [VISIBLE, HIDDEN])
def test_nothing_secret_is_in_what_students_can_read(graded: Grade, kinds: list[str], tmp_path: Path) -> None:
    for kind in kinds:
        found = graded(kind)
        readable = tmp_path / kind
        readable.mkdir()
        for archive in found.runner.artifacts.iterdir():
            shutil.unpack_archive(archive, readable)
        (readable / "log.txt").write_text(found.runner.log, encoding="utf-8")
        (readable / "summary.md").write_text(found.runner.summary, encoding="utf-8")
    assert [leak for leak in scan(tmp_path, COURSE) if not written_for_reports(leak.origin)] == []


def written_for_reports(origin: str) -> bool:
    """Whether a place in the hidden suites is a sentence that reports show."""
    path, _, number = origin.rpartition(":")
    return (REPOSITORY / path).read_text(encoding="utf-8").splitlines()[int(number) - 1].lstrip().startswith('"')


@proof
@pytest.mark.parametrize("kind", ["hostile", "with a key"])
def test_nothing_that_a_student_wrote_is_run_and_no_product_has_the_key_or_their_texts(
    graded: Grade, kind: str
) -> None:
    found = graded(kind)
    assert not list(found.runner.folder.rglob("pwned"))
    assert {command.name for command in found.runner.commands} <= {"error", "notice"}
    assert all(step.commands == [] for step in found.runner.steps if step.name != "Grade")
    assert "pwned" not in found.report.model_dump_json() + found.runner.summary
    assert KEY.splitlines()[1] not in found.runner.log


@proof
def test_a_students_changes_of_the_course_change_no_points(graded: Grade) -> None:
    """A visible test, another workflow, autograder.yml and forged output files have no effect."""
    tampered, wrong = graded("tampered").report, graded("wrong").report
    assert {name: unit.points for name, unit in tampered.units.items()} == {
        name: unit.points for name, unit in wrong.units.items()
    }
    assert not [step for step in graded("tampered").runner.steps if "forged" in step.summary]


@proof
def test_a_second_push_finds_the_environment_and_has_the_same_result(graded: Grade, tmp_path: Path) -> None:
    found = graded("good")
    again = Runner(tmp_path / "runner", found.runner.hosted, found.push, caches=found.runner.caches)
    again.run(read_workflow(students_workflow("record")))
    skipped = [step.name for step in again.steps if step.outcome == "skipped"]
    assert (again.is_success, skipped) == (True, ["Install the grader", "Save the environment"])
    assert again.summary == found.runner.summary


# -- when it runs ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("mode", get_args(GradingMode))
@pytest.mark.parametrize(
    "push",
    [
        {"ref": "refs/tags/submit/2026-11-28T10-00-00Z"},
        {"ref": "refs/heads/feedback"},
        {"ref": "refs/heads/grader-feedback"},
        {"ref": "refs/heads/grader-feedback-ada"},
        {"sender": "Bot"},
        {"is_deletion": True},
    ],
)
def test_a_tag_feedback_a_bot_and_the_deletion_of_a_branch_run_nothing(
    mode: GradingMode, push: dict[str, Any], tmp_path: Path
) -> None:
    """Classroom 50 pushes a tag `submit/*` for each submission, and a branch `feedback` when a student accepts.

    When a branch is deleted, GitHub runs the workflow of the default branch.
    """
    runner = Runner(tmp_path / "runner", {}, Push("some-course/ada", "0" * 40, **push))
    runner.run(read_workflow(students_workflow(mode)))
    assert (runner.is_success, runner.jobs) == (True, [])


# -- the step that grades --------------------------------------------------------------------------------------------


def grade_alone(folder: Path, grader: str, repository: str = "some-course/ada") -> Runner:
    """Run only the step that grades, with this program in place of the grader."""
    workflow = read_workflow(students_workflow("record"))
    job = workflow["jobs"]["grade"]
    [step] = [step for step in job["steps"] if step["name"] == "Grade"]
    program = f"mkdir -p .venv/bin; printf '#!/bin/sh\\n%s\\n' '{grader}' > .venv/bin/grader; chmod +x .venv/bin/grader"
    job["steps"] = [{"run": program}, step]
    runner = Runner(folder / "runner", {}, Push(repository, "0" * 40))
    runner.run(workflow)
    return runner


@pytest.mark.parametrize(("code", "what"), [(0, "check export export"), (1, "check export export"), (2, "check")])
def test_the_step_ends_as_the_check_and_shows_results_if_there_are_any(tmp_path: Path, code: int, what: str) -> None:
    runner = grade_alone(tmp_path, f'echo "ran $1" >&2; test "$1" = export || exit {code}')
    assert runner.is_success == (code == 0)
    assert [line.removeprefix("ran ") for line in runner.log.splitlines() if line.startswith("ran ")] == what.split()


def test_printed_output_is_not_a_command(tmp_path: Path) -> None:
    step = grade_alone(tmp_path, 'echo "::error::mine"; echo " ##[add-mask]x"; exit 2').step("Grade")
    assert "::error::mine" in step.log
    assert step.commands == []


def test_the_student_is_named_after_the_repository(tmp_path: Path) -> None:
    runner = grade_alone(tmp_path, 'echo "got $*"; exit 2', "some-course/--out=x")
    assert f"got check --student=--out=x --out {runner.folder}/grade/temporary/reports" in runner.log
