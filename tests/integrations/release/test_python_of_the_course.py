"""The version of Python that grades is said once, in autograder.yml, and every output takes it from there."""

from __future__ import annotations

import re
import shutil
from pathlib import Path

import pytest
import yaml
from courses import REPOSITORY, run_grader

from grader.course.build import build
from grader.course.model import Course, load_course
from grader.course.new import new_course
from grader.integrations.github.github_release import render, write_workflows
from grader.integrations.release.folder_releases import release_gradescope

VERSION = "3.14"  # of no other course
WORKFLOWS = Path(".github", "workflows")


@pytest.fixture
def course(tmp_path: Path) -> Course:
    """A new course that names this Python, with the workflows of this repository."""
    root = tmp_path / "course"
    new_course(root, "Averages")
    shutil.copytree(REPOSITORY / WORKFLOWS, root / WORKFLOWS)
    settings = root / "autograder.yml"
    text, count = re.subn(r'(?m)^python: ".*"$', f'python: "{VERSION}"', settings.read_text(encoding="utf-8"))
    assert count == 1
    settings.write_text(text, encoding="utf-8")
    return load_course(root)


def pythons(workflow: str) -> set[str]:
    jobs = yaml.safe_load(workflow)["jobs"].values()
    steps = [step.get("with", {}) for job in jobs for step in job.get("steps", [])]
    return {step["python-version"] for step in steps if "python-version" in step}


def test_what_students_receive_uses_the_python_of_the_course_and_says_so(course: Course) -> None:
    for mode in ("record", "key"):
        workflow = render("classroom.yml.j2", course, mode=mode, grader_repository="school/course")
        assert pythons(workflow) == {VERSION}
    assert f'"mcr.microsoft.com/devcontainers/python:3-{VERSION}-bookworm"' in render("devcontainer.json.j2", course)
    assert f"Grading uses Python {VERSION}." in render("README.md.j2", course, mode="record")


def test_building_writes_it_into_every_workflow_that_grades_and_into_no_other(course: Course) -> None:
    folder = course.root / WORKFLOWS
    (folder / "grade-shards.yml").write_text((folder / "grade-class.yml").read_text(encoding="utf-8"))
    before = {path.name: path.read_text(encoding="utf-8") for path in folder.iterdir()}
    written = {path.name for path in write_workflows(course)}
    assert written == {"grade-class.yml", "grade-shards.yml"}
    for name in written:
        assert pythons((folder / name).read_text(encoding="utf-8")) == {VERSION}
    assert {name: before[name] for name in before.keys() - written} == {
        path.name: path.read_text(encoding="utf-8") for path in folder.iterdir() if path.name not in written
    }
    assert write_workflows(course) == []


def test_gradescope_sets_up_the_python_of_the_course(course: Course, tmp_path: Path) -> None:
    build(course)
    release_gradescope(tmp_path / "autograder", course)
    setup = (tmp_path / "autograder" / "setup.sh").read_text(encoding="utf-8")
    assert re.findall(r"(?m)^course_python=(.*)$", setup) == [VERSION]


@pytest.mark.proof(part="releases")
def test_classroom_50_is_to_be_set_to_the_python_of_the_course(course: Course, tmp_path: Path) -> None:
    assert run_grader(course.root, "build").returncode == 0
    done = run_grader(course.root, "release", "classroom50", tmp_path / "bundle")
    assert done.returncode == 0, done.stderr
    assert f'Set "python": "{VERSION}" in the assignment\'s runtime, as in autograder.yml.\n' in done.stdout
