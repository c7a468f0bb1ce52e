"""`grader check` and `grader grade` name the Python that grades where another one matters, and are silent otherwise."""

from __future__ import annotations

import io
import re
import shutil
import sys
from pathlib import Path

from courses import SMALL_COURSE, hand_in, make_small_course, read_reports, run_grader
from rich.console import Console

from grader.cli.commands import run
from grader.cli.quick import Command
from grader.course.build import build
from grader.course.model import load_course
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


def test_a_check_and_its_report_name_both_pythons_once_if_they_differ(tmp_path: Path) -> None:
    root = tmp_path / "course"
    new_course(root, "Averages")
    name_python(root, OTHER)
    build(load_course(root))
    shutil.copytree(root / "exercises", tmp_path / "ada" / "exercises")
    shutil.copy(root / "solutions" / "averages.py", tmp_path / "ada" / "exercises")
    printed = io.StringIO()
    command = Command("check", str(root), str(tmp_path / "ada"), into="out", html="page.html")
    assert run(command, Console(file=printed, highlight=False)).code == 0
    assert printed.getvalue().count(SENTENCE) == 1
    assert printed.getvalue().count("Python") == 1
    assert SENTENCE in (tmp_path / "ada" / "page.html").read_text(encoding="utf-8")
    versions = read_reports(tmp_path / "ada" / "out")["ada"]["versions"]
    assert versions["course python"] == OTHER
    assert versions["python"].startswith(f"{RUNNING}.")


def test_grading_with_another_python_is_said_once_and_is_in_the_reports(tmp_path: Path) -> None:
    root = make_small_course(tmp_path / "course")
    name_python(root, OTHER)
    for student in ("ada", "bob"):
        hand_in(tmp_path / "class" / student, ANSWER)
    done = run_grader(root, "grade", tmp_path / "class", "--out", tmp_path / "reports")
    assert done.returncode == 0, done.stderr
    assert done.stderr.count(WARNING) == 1
    report = read_reports(tmp_path / "reports")["ada"]
    assert report["versions"]["course python"] == OTHER
    assert report["units"]["sums"]["exercises"]["Scale"]["points"] == 1
    if sys.version_info < (3, 14):
        [message] = report["messages"]
        assert message["text"] == "It needs Python 3.14 or later. `except` has several types without brackets"
        assert message["hint"] == f"Python {RUNNING} runs your code here: write `except (A, B):`."
        [test, _] = report["units"]["sums"]["exercises"]["add"]["tests"]
        line = ANSWER[: ANSWER.index("except ")].count("\n") + 1
        assert test["reason"] == (
            f"add is not defined. The cause is line {line} of sums.py: it needs Python 3.14 or later."
        )
