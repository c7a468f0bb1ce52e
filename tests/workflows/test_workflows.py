"""The rules that every workflow follows, ours and those that students receive."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any

import pytest
from actions import ACTIONS
from courses import COURSE, REPOSITORY
from rendered import GRADE_SHARDS, WORKFLOWS, students_workflow
from runner import is_started, read_workflow

# The workflows of this repository, those of a student's repository in each mode of grading, and the one of a page.
TEXTS = (
    {path.stem: path.read_text(encoding="utf-8") for path in sorted(WORKFLOWS.glob("*.yml"))}
    | {f"classroom-{mode}": students_workflow(mode) for mode in ("record", "key")}
    | {"grade-shards": GRADE_SHARDS}
)
STUDENTS = [name for name in TEXTS if name.startswith("classroom-")]


def workflow(name: str) -> dict[str, Any]:
    return read_workflow(TEXTS[name])


def jobs(name: str) -> list[dict[str, Any]]:
    return list(workflow(name)["jobs"].values())


def steps(name: str) -> list[dict[str, Any]]:
    return [step for job in jobs(name) for step in job.get("steps", [])]


def steps_using(name: str, action: str) -> list[dict[str, Any]]:
    return [step for step in steps(name) if step.get("uses", "").startswith(f"{action}@")]


def run_tool(tool: str, *arguments: str | Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run([Path(sys.executable).parent / tool, *arguments], capture_output=True, text=True, check=False)


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    """All workflows as files."""
    folder = tmp_path_factory.mktemp("repository") / ".github" / "workflows"
    folder.mkdir(parents=True)
    for name, text in TEXTS.items():
        (folder / f"{name}.yml").write_text(text, encoding="utf-8")
    return sorted(folder.iterdir())


def test_all_fit_githubs_schema(files: list[Path]) -> None:
    done = run_tool("check-jsonschema", "--builtin-schema", "vendor.github-workflows", *files)
    assert done.returncode == 0, done.stdout + done.stderr


def test_an_auditor_finds_nothing_but_the_exception_with_its_reason(files: list[Path]) -> None:
    config = REPOSITORY / ".github" / "zizmor.yml"
    done = run_tool("zizmor", "--offline", "--no-progress", "--persona", "auditor", "--config", config, *files)
    assert done.returncode == 0, done.stdout + done.stderr


def test_every_workflow_follows_the_rules() -> None:
    broken = []
    for name in TEXTS:
        checkouts = steps_using(name, "actions/checkout")
        used = {step["uses"] for step in steps(name) if "uses" in step}
        rules = {
            "it may only read": workflow(name)["permissions"] == {"contents": "read"},
            "each job has a time limit": all(0 < int(job["timeout-minutes"]) <= 120 for job in jobs(name)),
            "its runs do not pile up": bool(workflow(name)["concurrency"]["group"]),
            "no script has a value from outside": all("${{" not in step.get("run", "") for step in steps(name)),
            "its actions are known, each at one commit": used <= ACTIONS.keys(),
            "it checks something out": bool(checkouts),
            "no checkout leaves its token": all(one["with"]["persist-credentials"] == "false" for one in checkouts),
        }
        broken += [f"{name}: {rule}" for rule, is_followed in rules.items() if not is_followed]
    assert broken == []


def test_only_the_job_that_publishes_a_release_may_write() -> None:
    writers = [job for name in TEXTS for job in jobs(name) if "permissions" in job]
    assert writers == [workflow("release")["jobs"]["publish"]]


def test_the_job_that_publishes_a_release_runs_nothing_from_the_repository() -> None:
    job = workflow("release")["jobs"]["publish"]
    assert job["permissions"] == {"contents": "write"}
    assert job["needs"] == "build"
    download, create = job["steps"]
    assert download["uses"].startswith("actions/download-artifact@")
    assert create["run"].split()[:3] == ["gh", "release", "create"]
    assert "github.token" not in json.dumps(workflow("release")["jobs"]["build"])


def test_only_tags_are_released_and_the_wheel_is_checked() -> None:
    assert workflow("release")["on"] == {"push": {"tags": ["v*"]}}
    scripts = [step.get("run", "") for step in workflow("release")["jobs"]["build"]["steps"]]
    [check] = [script for script in scripts if "python -m venv" in script]
    assert "grader --version" in check
    assert "grader doctor" in check


@pytest.mark.parametrize("name", STUDENTS)
def test_a_newer_push_cancels_the_run_for_an_older_one_and_no_step_asks_who_pushed(name: str) -> None:
    assert workflow(name)["concurrency"] == {"group": "classroom-${{ github.ref }}", "cancel-in-progress": "true"}
    assert not [step for step in steps(name) if "actor" in json.dumps(step).casefold()]


def test_a_commit_of_a_pull_request_is_tested_once() -> None:
    for name in ("ci", "prove"):
        on = workflow(name)["on"]
        assert is_started(on, "pull_request", "refs/pull/1/merge")
        assert not is_started(on, "push", "refs/heads/a-branch")
        assert not is_started(on, "push", "refs/tags/v1.2.3")
    assert is_started(workflow("ci")["on"], "push", "refs/heads/main")


def test_the_graders_key_reaches_only_its_checkout() -> None:
    [holder] = [step for step in steps("classroom-key") if "secrets." in json.dumps(step)]
    assert holder["with"]["ssh-key"] == "${{ secrets.GRADER_DEPLOY_KEY }}"
    assert holder["uses"].startswith("actions/checkout@")


def test_the_token_of_a_class_reaches_the_steps_that_ask_github_and_none_that_runs_answers() -> None:
    holders = [step for step in steps("grade-class") if "secrets." in json.dumps(step)]
    assert [step["env"]["GITHUB_TOKEN"] for step in holders] == ["${{ secrets.CLASS_TOKEN }}"] * 2
    assert all("grader collect" in step["run"] or "grader status" in step["run"] for step in holders)
    assert not [step for step in holders if "grader grade" in step["run"]]


def test_without_hidden_tests_there_is_no_secret_and_with_them_it_says_who_can_read_them() -> None:
    assert "secrets." not in TEXTS["classroom-record"]
    assert "# Who can read the hidden suites:" in TEXTS["classroom-key"]


@pytest.mark.parametrize("name", [*STUDENTS, "grade-class", "grade-shards"])
def test_a_workflow_that_grades_has_the_python_of_the_course_and_the_same_uv(name: str) -> None:
    found = {step["with"]["python-version"] for step in steps_using(name, "actions/setup-python")}
    assert found == {COURSE.python}
    installs = [step["run"] for step in steps(name) if step.get("name") == "Install the grader"]
    assert installs
    assert all(script.startswith("pip install --quiet uv==0.13.9\n") for script in installs)


def test_ci_tests_every_supported_python_and_the_oldest_and_newest_torch() -> None:
    job = workflow("ci")["jobs"]["test"]
    [step] = [step for step in job["steps"] if "run" in step]
    assert step["run"].split()[:2] == [".ci/run", "test"]
    assert os.access(REPOSITORY / ".ci" / "run", os.X_OK)
    rows = job["strategy"]["matrix"]["include"]
    assert [row["python"] for row in rows if row["torch"] == "locked"] == ["3.11", "3.12", "3.13"]
    project = tomllib.loads((REPOSITORY / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    assert project["requires-python"] == ">=3.11"
    [allowed] = [one for one in project["dependencies"] if one.startswith("torch>=")]
    [oldest] = [row["requirement"] for row in rows if row["torch"] == "oldest"]
    assert oldest.removesuffix(".0") == allowed.replace(">=", "==")


def test_ci_builds_the_documentation_as_make_does() -> None:
    [script] = [step["run"] for step in workflow("ci")["jobs"]["docs"]["steps"] if "run" in step]
    assert "mkdocs build --strict" in script
    assert "--constraint requirements.lock" in script
    assert "mkdocs build --strict" in (REPOSITORY / "Makefile").read_text(encoding="utf-8")


def test_every_part_of_the_proofs_has_a_job_and_a_line_for_contributors() -> None:
    marked = set()
    for path in (REPOSITORY / "tests").rglob("test_*.py"):
        marked |= set(re.findall(r'proof\(part="(\w+)"\)', path.read_text(encoding="utf-8")))
    [job] = jobs("prove")
    targets = job["strategy"]["matrix"]["target"]
    assert targets == [*(f"prove PART={part}" for part in sorted(marked)), "bench COMPARE=1", "breakages"]
    page = (REPOSITORY / "CONTRIBUTING.md").read_text(encoding="utf-8")
    assert set(re.findall(r"^\| `(\w+)` \|", page, re.MULTILINE)) == marked


def test_the_ratio_to_cold_pytest_is_compared_each_night_by_the_command_of_make_bench() -> None:
    assert {"cron": "17 2 * * *"} in workflow("prove")["on"]["schedule"]
    command = ["make", "--dry-run", "--old-file=.venv/installed", "bench", "COMPARE=1"]
    # Under `make test`, an inner make would add the lines in which it enters and leaves a folder.
    variables = {name: value for name, value in os.environ.items() if not name.startswith("MAKE")}
    done = subprocess.run(command, cwd=REPOSITORY, env=variables, capture_output=True, text=True, check=True)
    assert done.stdout == ".venv/bin/python benchmarks/bench.py --compare\n"
