"""The files for GitLab, Gitea and Forgejo: they fit their schemas, and their scripts check a student's repository."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import courses
import pytest
import yaml
from actions import new_environment
from courses import COURSE, REPOSITORY, copy_course, run_grader
from local_github import git
from students import commit_all

from grader.reports.report_model import Report

PAGE = (REPOSITORY / "docs" / "other-forges.md").read_text(encoding="utf-8")
FILES = dict(re.findall(r'(?ms)^```yaml title="([^"]+)"\n(.*?)^```$', PAGE))
GITLAB, GITEA, FORGEJO = ".gitlab-ci.yml", ".gitea/workflows/check.yml", ".forgejo/workflows/check.yml"


def scripts(name: str) -> list[str]:
    """The commands of a file: to install, to check, and what is run whatever the check says."""
    job: dict[str, Any]
    if name == GITLAB:
        job = yaml.safe_load(FILES[name])["check"]
        assert job["artifacts"]["when"] == "always"
        return [*job["script"], *job["after_script"]]
    [job] = yaml.safe_load(FILES[name])["jobs"].values()
    [*before, export, upload] = job["steps"]
    assert (export["if"], upload["if"], upload["with"]["path"]) == ("always()", "always()", "reports/")
    return [step["run"] for step in (*before, export) if "run" in step]


@pytest.mark.parametrize(
    ("name", "schema"),
    [(GITLAB, "vendor.gitlab-ci"), (GITEA, "vendor.github-workflows"), (FORGEJO, "vendor.github-workflows")],
)
def test_each_file_fits_its_schema_and_has_the_python_of_the_course(tmp_path: Path, name: str, schema: str) -> None:
    file = tmp_path / "file.yml"
    file.write_text(FILES[name], encoding="utf-8")
    tool = Path(sys.executable).parent / "check-jsonschema"
    done = subprocess.run([tool, "--builtin-schema", schema, file], capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    assert re.findall(r"python(?::|-version: \")([\d.]+)", FILES[name]) == [COURSE.python]


# On Gitea, upload-artifact from version 4 on says that it is not supported; Forgejo has a version of its own (users'
# reports, and the administrator guide of Forgejo Actions, read on 29 November 2026).
def test_the_report_is_uploaded_by_a_version_that_the_forge_takes() -> None:
    assert "uses: actions/upload-artifact@v3" in FILES[GITEA]
    assert "uses: https://data.forgejo.org/forgejo/upload-artifact@v4" in FILES[FORGEJO]


def test_all_run_the_same_commands() -> None:
    assert len(FILES) == 3
    assert scripts(GITLAB) == scripts(GITEA) == scripts(FORGEJO)


@pytest.mark.proof(part="workflows")
def test_the_scripts_check_a_released_repository(example_class: Path, tmp_path: Path) -> None:
    checkout = tmp_path / "attention-chen"
    done = run_grader(REPOSITORY, "release", "github", checkout)
    assert done.returncode == 0, done.stderr
    shutil.copy(example_class / "chen" / "exercises" / "simple_attention.py", checkout / "exercises")
    new_environment(tmp_path / "python")
    environment = {**os.environ, "PATH": f"{tmp_path / 'python' / 'bin'}:{os.environ['PATH']}", "CI": "true"}
    codes = []
    for script in scripts(GITLAB):
        done = subprocess.run(
            ["bash", "-e", "-c", script], cwd=checkout, env=environment, capture_output=True, text=True
        )
        codes.append(done.returncode)
    assert codes == [0, 1, 0], done.stdout + done.stderr  # one exercise does not pass
    report = Report.model_validate_json((checkout / "reports" / "attention-chen.json").read_bytes())
    assert report.suites == "visible"
    first, *others = ElementTree.parse(checkout / "reports" / "junit.xml").getroot()
    assert (first.get("name"), first.get("skipped")) == ("simple_attention", "0")
    assert int(first.get("failures", "")) > 0
    assert all(suite.get("skipped") == suite.get("tests") for suite in others)


@pytest.mark.proof(part="workflows")
def test_the_commands_of_the_page_make_the_grade(example_class: Path, tmp_path: Path) -> None:
    course = copy_course(tmp_path / "instructor")
    (course / "roster.csv").write_text("student,repository\nchen,our-course/attention-chen\n", encoding="utf-8")
    clone = tmp_path / "our-course" / "attention-chen.git"
    shutil.copytree(example_class / "chen", clone)
    git(clone, "init", "--quiet")
    commit_all(clone)
    environment = {
        **courses.environment(course),
        "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}",
        "GIT_CONFIG_COUNT": "1",
        "GIT_CONFIG_KEY_0": f"url.{tmp_path}/.insteadOf",
        "GIT_CONFIG_VALUE_0": "git@git.example.org:",
    }
    script = "".join(re.findall(r"(?m)^[$>] (.*\n)", PAGE))
    done = subprocess.run(["bash", "-e", "-c", script], cwd=course, env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    report = Report.model_validate_json((course / "reports" / "chen.json").read_bytes())
    assert (report.suites, report.points, [*report.units]) == ("hidden", 43, ["simple_attention"])
    assert (course / "grades.csv").is_file()
    assert "simple_attention" in (course / "feedback" / "chen.html").read_text(encoding="utf-8")
