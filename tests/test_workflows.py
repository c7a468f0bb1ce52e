"""The workflows, read as GitHub reads them; and the classroom's, run step by step as its runner would."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml

from grader.course import ROOT

WORKFLOWS = {path.stem: path for path in sorted((ROOT / ".github" / "workflows").glob("*.yml"))}
# Installing is `make grade`'s own first step, and it has run, or no test would: here its outcome is put in place.
SKIPPED = {"Install the grader"}


def workflow(name: str) -> dict[str, Any]:
    # As plain text values: to YAML 1.1 the key `on` is a boolean.
    return yaml.load(WORKFLOWS[name].read_text(encoding="utf-8"), yaml.BaseLoader)


def steps(name: str) -> list[dict[str, Any]]:
    return [step for job in workflow(name)["jobs"].values() for step in job["steps"]]


@pytest.mark.parametrize("name", WORKFLOWS)
def test_a_workflow_may_only_read(name: str) -> None:
    assert workflow(name)["permissions"] == {"contents": "read"}
    assert all("permissions" not in job for job in workflow(name)["jobs"].values())


@pytest.mark.parametrize("name", WORKFLOWS)
def test_every_job_has_an_end_and_gives_way_to_a_newer_push(name: str) -> None:
    assert all(0 < int(job["timeout-minutes"]) <= 30 for job in workflow(name)["jobs"].values())
    assert workflow(name)["concurrency"]["cancel-in-progress"] == "true"


@pytest.mark.parametrize("name", WORKFLOWS)
def test_no_value_from_outside_is_pasted_into_a_script(name: str) -> None:
    assert not [step for step in steps(name) if "${{" in step.get("run", "")]


@pytest.mark.parametrize("name", WORKFLOWS)
def test_no_checkout_leaves_its_token_behind(name: str) -> None:
    checkouts = [step for step in steps(name) if step.get("uses", "").startswith("actions/checkout@")]
    assert checkouts
    assert all(step["with"]["persist-credentials"] == "false" for step in checkouts)


def test_ci_runs_the_same_check_as_anybody_on_the_oldest_python_that_is_supported() -> None:
    job = workflow("ci")["jobs"]["test"]
    assert [step["run"] for step in job["steps"] if "run" in step] == [".ci/run"]
    assert job["container"]["image"] == "python:3.11-bookworm"
    assert os.access(ROOT / ".ci" / "run", os.X_OK)


def test_the_classroom_grades_every_push_and_on_demand() -> None:
    assert set(workflow("classroom")["on"]) == {"push", "workflow_dispatch"}


def test_the_classroom_uses_githubs_own_actions_at_these_versions() -> None:
    assert {step["uses"] for step in steps("classroom") if "uses" in step} == {
        "actions/checkout@v4",
        "actions/setup-python@v5",
        "actions/upload-artifact@v4",
    }


def test_a_key_of_the_grader_reaches_its_checkout_and_no_step_besides() -> None:
    [holder] = [step for step in steps("classroom") if "secrets." in json.dumps(step)]
    assert holder["with"]["ssh-key"] == "${{ secrets.GRADER_DEPLOY_KEY }}"


class Runner:
    """GitHub's runner, as far as the classroom's steps need one: a workspace, and variables that steps may add to."""

    def __init__(self, workspace: Path, repository: str) -> None:
        self.workspace = workspace
        self.workspace.mkdir(parents=True)
        self.variables = workspace.parent / "variables"
        self.variables.touch()
        self.environment = {
            "PATH": os.environ["PATH"],
            "CI": "true",
            "GITHUB_ACTIONS": "true",
            "GITHUB_WORKSPACE": str(workspace),
            "GITHUB_ENV": str(self.variables),
            "GITHUB_REPOSITORY": repository,
            "GITHUB_ACTOR": "somebody-else",
        }

    def run(self, step: dict[str, Any]) -> subprocess.CompletedProcess[str]:
        """A step with a script, run by bash as GitHub runs it."""
        done = subprocess.run(
            ["bash", "-e", "-c", step["run"]],
            cwd=self.workspace,
            env=self.environment | step.get("env", {}),
            capture_output=True,
            text=True,
        )
        for line in self.variables.read_text(encoding="utf-8").splitlines():
            name, _, value = line.partition("=")
            self.environment[name] = value
        return done

    def expanded(self, text: str) -> str:
        return re.sub(r"\$\{\{ env\.(\w+) \}\}", lambda found: self.environment[found[1]], text)


def git(folder: Path, *arguments: str) -> str:
    author = ["-c", "user.name=Ada", "-c", "user.email=ada@example.org", "-c", "init.defaultBranch=main"]
    return subprocess.run(
        ["git", *author, *arguments], cwd=folder, check=True, capture_output=True, text=True
    ).stdout.strip()


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory) -> Runner:
    """A runner that has graded a checkout of ada's answers, pushed to the repository attention-ada."""
    folder = tmp_path_factory.mktemp("classroom")
    origin = shutil.copytree(ROOT / "examples" / "class" / "ada", folder / "origin")
    git(origin, "init")
    git(origin, "add", ".")
    git(origin, "commit", "--message", "My answers")
    runner = Runner(folder / "workspace", "some-course/attention-ada")
    git(runner.workspace, "clone", str(origin), "submission")
    (runner.workspace / "grader").mkdir()
    (runner.workspace / "grader" / ".venv").symlink_to(sys.prefix, target_is_directory=True)
    for step in steps("classroom"):
        if "run" in step and step["name"] not in SKIPPED:
            done = runner.run(step)
            assert done.returncode == 0, done.stderr
    return runner


def test_the_classroom_keeps_one_file_the_report_under_the_repositorys_name(finished: Runner) -> None:
    [upload] = [step for step in steps("classroom") if step.get("uses", "").startswith("actions/upload-artifact@")]
    assert finished.expanded(upload["with"]["path"]) == "reports/attention-ada.json"
    report = json.loads((finished.workspace / "reports" / "attention-ada.json").read_text(encoding="utf-8"))
    assert report["student"] == "attention-ada"
    assert report["points"] == report["possible"] > 0


def test_the_classrooms_report_names_the_commit_that_was_pushed(finished: Runner) -> None:
    report = json.loads((finished.workspace / "reports" / "attention-ada.json").read_text(encoding="utf-8"))
    assert report["commit"] == git(finished.workspace / "submission", "rev-parse", "HEAD")


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
def test_the_student_is_named_after_the_repository_in_letters_that_harm_nothing(
    tmp_path: Path, repository: str, student: str
) -> None:
    [naming] = [step for step in steps("classroom") if step.get("name") == "Name the student"]
    runner = Runner(tmp_path / "workspace", repository)
    assert runner.run(naming).returncode == 0
    assert runner.environment["STUDENT"] == student
    assert not list(runner.workspace.iterdir())


def test_a_repository_without_a_usable_name_stops_the_job(tmp_path: Path) -> None:
    [naming] = [step for step in steps("classroom") if step.get("name") == "Name the student"]
    runner = Runner(tmp_path / "workspace", "some-course/---")
    assert runner.run(naming).returncode != 0
