"""The student's workflow, executed step by step in a fresh clone of a released repository after a push."""

from __future__ import annotations

import ast
import datetime
import json
import shutil
import zipfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from actions import ACTIONS, ActionError, Done, Hosted, Inputs, Workplace, new_environment
from courses import COURSE, REPOSITORY
from rendered import GRADER, render
from runner import Push, Runner, Step, read_workflow
from students import KEY, answers, git, hand_in, host, make_instructors, release

from grader.integrations.release import GradingMode
from grader.integrations.release.leaks import scan
from grader.reports.exporters import annotations as annotating
from grader.reports.exporters.summary import opening, summary
from grader.reports.model import Report

REPORT_SCHEMA = json.loads((REPOSITORY / "docs" / "report.schema.json").read_text(encoding="utf-8"))
RESULT_SCHEMA = json.loads(
    (REPOSITORY / "tests" / "reports" / "exporters" / "classroom50-result-v1.schema.json").read_text(encoding="utf-8")
)

# Text that could break the workflow.
EVIL = "`touch${IFS}pwned`;$(touch${IFS}pwned)|<img/src=x>&"
FORGED = b'{"points": 1000000, "forged": true}\n'

# A visible test, a workflow and autograder.yml that favour the student, and forged output files.
TAMPERING = {
    "exercises/test_self_attention.py": b"def test_all_is_well():\n    pass\n",
    "exercises/conftest.py": b"raise SystemExit(0)\n",
    "autograder.yml": b"units: {}\n",
    ".github/workflows/helper.yml": b"on: push\njobs: {}\n",
    "grader/__init__.py": b"raise SystemExit(0)\n",
    "sitecustomize.py": b"raise SystemExit(0)\n",
    "reports/attention-tampered.json": FORGED,
    "result.json": FORGED,
    "release-body.md": FORGED,
}

KINDS = ["good", "wrong", "hostile", "tampered", "with a key", "called"]
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

    @property
    def notices(self) -> dict[str, str]:
        commands = self.runner.step("Report the points").commands
        return {command.properties["title"]: command.data for command in commands if command.name == "notice"}


Grade = Callable[[str], Graded]


@pytest.fixture(scope="module")
def graded(tmp_path_factory: pytest.TempPathFactory, example_class: Path) -> Grade:
    """Return the run for a kind of submission. Each is pushed and graded once."""
    folder = tmp_path_factory.mktemp("classroom")
    instructors = make_instructors(folder / "instructors")
    grader = host(instructors, folder / "grader.git", KEY)
    released: dict[GradingMode, Hosted] = {}
    done: dict[str, Graded] = {}

    def run(kind: str) -> Graded:
        mode = {"with a key": GradingMode.key, "called": GradingMode.reusable}.get(kind, GradingMode.record)
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
            secrets={} if mode is GradingMode.record else {"GRADER_DEPLOY_KEY": KEY},
            before={"Install the grader": lambda workspace: new_environment(workspace / "grader" / ".venv")},
        )
        text = git(hosted.bare, "show", f"{push.sha}:.github/workflows/classroom.yml")
        assert text == render(f"classroom_{mode}").rstrip("\n")  # as test_workflows.py reads it
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
    if kind in ("wrong", "called"):
        return (answers(example_class / "chen"),)
    message = f"{EVIL}\n\n::error::from a message\n[a link](https://example.org) <script>alert(1)</script>"
    return answers(example_class / "mallory"), f"refs/heads/{EVIL}", message, EVIL


@by_kind
def test_every_other_step_succeeds_whatever_was_pushed(graded: Grade, kind: str) -> None:
    failed = [step for step in graded(kind).runner.steps if step.outcome != "success"]
    unexpected = [step for step in failed if step.name not in FAILING]
    assert not unexpected, "\n".join([unexpected[0].name, *unexpected[0].log])
    assert len(failed) == (0 if kind == "good" else len(FAILING))


@by_kind
def test_only_full_marks_make_the_run_green(graded: Grade, kind: str) -> None:
    found = graded(kind)
    report = found.report
    assert found.runner.is_success == (report.points == report.possible) == (kind == "good")


@proof
def test_until_something_is_handed_in_the_run_is_green_without_points(graded: Grade) -> None:
    found = graded("untouched")
    assert (found.runner.is_success, found.report.handed_in) == (True, False)
    assert found.runner.step("Report the points").outcome == "skipped"
    assert found.artifact("classroom") == {"classroom.env": b"RUNNERS=\n"}
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
    shown = found.runner.step("Show the results")
    assert [line for line in shown.log if line.startswith("::")] == annotating.annotations(found.report)
    assert len(shown.commands) == len(annotating.annotations(found.report))


@by_kind
def test_an_annotation_is_on_its_answer_or_where_the_code_raised(graded: Grade, kind: str) -> None:
    found = graded(kind)
    errors = [command for command in found.runner.step("Show the results").commands if command.name == "error"]
    for command in [command for command in errors if "line" in command.properties and command.properties["title"]]:
        exercise, line = command.properties["title"].partition(":")[0], int(command.properties["line"])
        text = (found.clone / command.properties["file"]).read_text(encoding="utf-8")
        [defined] = [node for node in ast.parse(text).body if getattr(node, "name", None) == exercise]
        raised = {one.line for one in found.report.messages if one.exercise == exercise}
        assert line in {*range(defined.lineno, (defined.end_lineno or 0) + 1), *raised}


@proof
def test_a_wrong_answer_is_annotated(graded: Grade) -> None:
    commands = graded("wrong").runner.step("Show the results").commands
    [error] = [
        command for command in commands if command.properties["title"].startswith("scaled_dot_product_attention:")
    ]
    assert error.name == "error"
    assert error.properties["file"] == "exercises/self_attention.py"


@by_kind
def test_the_reporters_totals_are_the_reports(graded: Grade, kind: str) -> None:
    found = graded(kind)
    report = found.report
    assert found.notices["Autograding complete"] == f"Points {report.points}/{report.possible}"
    assert json.loads(found.notices["Autograding report"]) == {
        "totalPoints": report.points,
        "maxPoints": report.possible,
    }


@by_kind
def test_classroom_50_reads_the_result(graded: Grade, kind: str) -> None:
    found = graded(kind)
    files = found.artifact("classroom50")
    assert set(files) == {"result.json", "release-body.md"}
    result = json.loads(files["result.json"])
    jsonschema.validate(result, RESULT_SCHEMA)
    report = found.report
    assert (result["score"], result["max-score"]) == (report.points, report.possible)
    assert (result["owner"], result["submission"]) == (found.student, f"submit/{found.push.sha}")
    assert result["commit"] == f"https://github.com/{found.push.repository}/commit/{found.push.sha}"
    committed = datetime.datetime.fromtimestamp(int(git(found.clone, "show", "-s", "--format=%ct")), datetime.UTC)
    assert result["datetime"] == committed.strftime("%Y-%m-%dT%H:%M:%SZ")
    assert files["release-body.md"].decode() == opening(report)


@proof
@pytest.mark.parametrize("kinds", [VISIBLE, HIDDEN])
def test_nothing_secret_is_in_what_students_can_read(graded: Grade, kinds: list[str], tmp_path: Path) -> None:
    for kind in kinds:
        found = graded(kind)
        readable = shutil.copytree(found.runner.artifacts, tmp_path / kind)
        (readable / "log.txt").write_text(found.runner.log, encoding="utf-8")
        (readable / "summary.md").write_text(found.runner.summary, encoding="utf-8")
    # A report has only those sentences of the hidden suites that are written for it.
    assert scan(tmp_path, COURSE) == []


@proof
@pytest.mark.parametrize("kind", HIDDEN)
def test_the_key_is_in_no_log(graded: Grade, kind: str) -> None:
    assert KEY.splitlines()[1] not in graded(kind).runner.log


@proof
@pytest.mark.parametrize("kind", ["hostile", "with a key"])
def test_nothing_that_a_student_wrote_is_run(graded: Grade, kind: str) -> None:
    found = graded(kind)
    assert not list(found.runner.folder.rglob("pwned"))
    assert {command.name for command in found.runner.commands} <= {"error", "notice"}
    assert all(step.commands == [] for step in found.runner.steps if step.name not in RESULTS)


RESULTS = ("Show the results", "Report the points")
FAILING = ("Fail unless all exercises pass", "Report the points")


@proof
def test_without_the_reporter_the_run_and_its_products_are_the_same(
    graded: Grade, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """A missing action ends its job before the first step, so the reporter has its own job."""

    def missing(_inputs: Inputs, _place: Workplace) -> Done:
        raise ActionError("Unable to resolve action, repository not found")

    found = graded("good")
    monkeypatch.setitem(ACTIONS, "actions/download-artifact@v8", missing)
    text = git(found.clone, "show", "HEAD:.github/workflows/classroom.yml")
    again = Runner(tmp_path / "runner", found.runner.hosted, found.push)
    again.run(read_workflow(text))
    assert (again.is_success, again.step("Report the points").outcome) == (True, "skipped")
    assert {file.name for file in again.artifacts.iterdir()} == {"report.zip", "classroom50.zip", "classroom.zip"}


@proof
@pytest.mark.parametrize("kind", ["hostile", "with a key"])
def test_branch_message_and_pusher_are_in_no_product(graded: Grade, kind: str) -> None:
    found = graded(kind)
    products = [*found.artifact("report").values(), *found.artifact("classroom50").values()]
    assert not [text for text in (*map(bytes.decode, products), found.runner.summary) if "pwned" in text]


@proof
def test_a_students_changes_of_the_course_change_no_points(graded: Grade) -> None:
    """A visible test, another workflow, autograder.yml and forged output files have no effect."""
    tampered, wrong = graded("tampered").report, graded("wrong").report
    assert {name: unit.points for name, unit in tampered.units.items()} == {
        name: unit.points for name, unit in wrong.units.items()
    }
    assert not [step for step in graded("tampered").runner.steps if "forged" in step.summary]


# -- single steps ----------------------------------------------------------------------------------------------------


def run_alone(name: str, folder: Path, repository: str = "some-course/attention-ada", grader: str = "") -> Runner:
    """Run a single step of the workflow of `record`. grader: a program that replaces the grader."""
    workflow = read_workflow(render("classroom_record"))
    job = workflow["jobs"]["grade"]
    [step] = [step for step in job["steps"] if step["name"] == name]
    workflow["jobs"] = {"grade": {"runs-on": job["runs-on"], "steps": [step]}}
    if grader:
        program = folder / "bin" / "grader"
        program.parent.mkdir()
        program.write_text(f"#!/bin/sh\n{grader}\n")
        program.chmod(0o755)
        workflow["jobs"]["grade"]["steps"].insert(
            0, {"name": "path", "run": f'echo "{program.parent}" >> "$GITHUB_PATH"'}
        )
        workflow["env"] = {"STUDENT": "attention-ada"}
    runner = Runner(folder / "runner", {}, Push(repository, "0" * 40))
    runner.run(workflow)
    return runner


@pytest.mark.parametrize(
    ("repository", "student"),
    [
        ("some-course/attention-ada", "attention-ada"),
        ("some-course/Ada_Lovelace.2027", "Ada_Lovelace.2027"),
        ("some-course/.github", "github"),
        ("some-course/--out=x", "out-x"),
        ("some-course/$(touch here)`id`;x\nSTUDENT=y", "touch-here--id--x-STUDENT-y"),
    ],
)
def test_the_student_is_named_after_the_repository_in_safe_characters(
    tmp_path: Path, repository: str, student: str
) -> None:
    runner = run_alone("Name the student", tmp_path, repository)
    assert runner.is_success
    assert runner.set_variables == {"STUDENT": student, "REPORT": f"{runner.workspace}/reports/{student}.json"}
    assert not list(runner.workspace.iterdir())


def test_a_repository_without_a_usable_name_stops_the_job(tmp_path: Path) -> None:
    assert not run_alone("Name the student", tmp_path, "some-course/---").is_success


@pytest.mark.parametrize(("code", "goes_on"), [(0, True), (1, True), (2, False), (3, False)])
def test_exit_1_continues_and_a_failed_grading_stops_the_job(tmp_path: Path, code: int, goes_on: bool) -> None:
    assert run_alone("Grade", tmp_path, grader=f"exit {code}").is_success == goes_on


def test_printed_output_is_not_a_command(tmp_path: Path) -> None:
    step: Step = run_alone("Grade", tmp_path, grader="echo '::error::mine'; echo ' ##[add-mask]x'; exit 2").step(
        "Grade"
    )
    assert "::error::mine" in step.log
    assert step.commands == []
