"""`grader check` and `grader grade` name the Python that grades where another one matters, and are silent otherwise."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from courses import SMALL_COURSE, make_small_course, read_reports, run_grader

from grader.course.new import new_course
from grader.machine import RUNNING

OTHER = "3.14" if RUNNING != "3.14" else "3.13"
SENTENCE = f"Your Python is {RUNNING}; grading uses {OTHER}."
WARNING = (
    f"This is Python {RUNNING}, and autograder.yml names Python {OTHER} for grading: install the grader for that one, "
    "or change `python` there.\n"
)
# New in Python 3.14.
ANSWER = SMALL_COURSE["solutions/sums.py"].replace(
    "    hidden_in_the_solution = a + b\n",
    "    try: hidden_in_the_solution = a + b\n    except ValueError, TypeError: raise\n",
)


def name_python(root: Path, python: str) -> None:
    settings = root / "autograder.yml"
    text = re.sub(r"(?m)^python: .*\n", "", settings.read_text(encoding="utf-8"))
    settings.write_text(text.replace("limits:", f'python: "{python}"\nlimits:', 1), encoding="utf-8")


@pytest.fixture(scope="module")
def course(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A course with visible tests, and a student's folder in it with an answer that passes."""
    root = tmp_path_factory.mktemp("new") / "course"
    new_course(root, "Averages")
    assert run_grader(root, "build").returncode == 0
    shutil.copytree(root / "exercises", root / "mine" / "exercises")
    shutil.copy(root / "solutions" / "averages.py", root / "mine" / "exercises")
    return root


def check(course: Path, python: str, *arguments: object) -> str:
    name_python(course, python)
    command = [sys.executable, "-m", "grader", "check", *map(str, arguments), "--course", str(course)]
    done = subprocess.run(command, cwd=course / "mine", capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_a_check_names_both_pythons_once_if_they_differ(course: Path) -> None:
    said = check(course, OTHER)
    assert said.count(SENTENCE) == 1
    assert said.count("Python") == 1


def test_a_check_with_the_python_that_grades_says_nothing_of_it(course: Path) -> None:
    assert "Python" not in check(course, RUNNING)


def test_the_report_of_a_check_has_both_pythons_if_they_differ(course: Path, tmp_path: Path) -> None:
    def versions(python: str) -> dict[str, str]:
        check(course, python, "--student", "ada", "--out", tmp_path, "--html", tmp_path / "page.html")
        report: dict[str, Any] = json.loads((tmp_path / "ada.json").read_text(encoding="utf-8"))
        assert (SENTENCE in (tmp_path / "page.html").read_text(encoding="utf-8")) == (python == OTHER)
        return report["versions"]

    assert "course python" not in versions(RUNNING)
    differing = versions(OTHER)
    assert differing["course python"] == OTHER
    assert differing["python"].startswith(f"{RUNNING}.")


@pytest.mark.parametrize("python", [RUNNING, OTHER])
def test_grading_with_another_python_is_said_once_and_is_in_the_reports(tmp_path: Path, python: str) -> None:
    root = make_small_course(tmp_path / "course")
    name_python(root, python)
    for student in ("ada", "bob"):
        (tmp_path / "class" / student).mkdir(parents=True)
        (tmp_path / "class" / student / "sums.py").write_text(ANSWER, encoding="utf-8")
    done = run_grader(root, "grade", tmp_path / "class", "--out", tmp_path / "reports")
    assert done.returncode == 0, done.stderr
    assert done.stderr.count(WARNING) == (python == OTHER)
    report = read_reports(tmp_path / "reports")["ada"]
    assert report["versions"].get("course python") == (OTHER if python == OTHER else None)
    assert report["units"]["sums"]["exercises"]["Scale"]["points"] == 1
    if sys.version_info < (3, 14):
        by = "grades" if python == RUNNING else "runs your code here"
        [message] = report["messages"]
        assert message["text"] == "It needs Python 3.14 or later. `except` has several types without brackets"
        assert message["hint"] == f"Python {RUNNING} {by}: write `except (A, B):`."
        [test, _] = report["units"]["sums"]["exercises"]["add"]["tests"]
        line = ANSWER[: ANSWER.index("except ")].count("\n") + 1
        assert test["reason"] == (
            f"add is not defined. The cause is line {line} of sums.py: it needs Python 3.14 or later."
        )
