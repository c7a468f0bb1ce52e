"""`grader check`: the visible tests on a student's own folder."""

from __future__ import annotations

import ast
import io
import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import jsonschema
import pytest
from bs4 import BeautifulSoup
from courses import COURSE, REPOSITORY
from rich.console import Console

from grader.cli.commands import run
from grader.cli.quick import Command
from grader.errors import GraderError
from grader.practice.check import visible_grading

# The only mistake in unit 1: the sum ignores dim.
RIGHT = "exponentials.sum(dim=dim, keepdim=True)"
WRONG = "exponentials.sum()"
FORGED = """
import os, torch
torch.isclose = lambda *_, **__: torch.tensor(True)
class Agreeable(torch.Tensor):
    def __eq__(self, other): return True

def attention_scores(query, inputs):
    return torch.zeros(6).as_subclass(Agreeable)

def context_vector(weights, inputs):
    os._exit(0)

def normalize_by_sum(scores):
    while True: pass
"""


class Checked(NamedTuple):
    """The exit code of a check, and what it printed."""

    code: int
    printed: str


Check = Callable[..., Checked]


@pytest.fixture(scope="module")
def check() -> Iterator[Check]:
    """Check the answers in a folder as a spare process does, with one engine for all tests here."""
    with visible_grading(COURSE) as grading:

        def check(folder: Path, name: str | None = None, **files: Any) -> Checked:
            printed = io.StringIO()
            console = Console(file=printed, highlight=False)
            result = run(Command("check", str(REPOSITORY), str(folder), name, **files), console, grading)
            return Checked(result.code, printed.getvalue())

        yield check


def program(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "grader", *arguments]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)


def received(folder: Path) -> Path:
    """A student's folder with all files as the course hands them out. Returns its exercises/."""
    shutil.copytree(REPOSITORY / "exercises", folder / "exercises", ignore=shutil.ignore_patterns("__pycache__"))
    return folder / "exercises"


def solution(unit: str, *changes: tuple[str, str]) -> str:
    text = (REPOSITORY / "solutions" / f"{unit}.py").read_text(encoding="utf-8")
    for old, new in changes:
        assert old in text
        text = text.replace(old, new, 1)
    return text


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A student's repository, called ada: unit 1 is written, with a mistake; the rest is untouched."""
    exercises = received(tmp_path_factory.mktemp("check") / "ada")
    (exercises / "simple_attention.py").write_text(solution("simple_attention", (RIGHT, WRONG)), encoding="utf-8")
    sheet = exercises / "simple_attention_quiz.md"
    before, number, after = sheet.read_text(encoding="utf-8").partition("A number to 3 decimals")
    sheet.write_text(before + number + after.replace("______", "0.7", 1), encoding="utf-8")
    return exercises.parent


@pytest.fixture(scope="module")
def checked(folder: Path, check: Check) -> Checked:
    """A check of all units, with the report in out/ and the page beside it."""
    return check(folder, into="out", html="check.html")


# Wraps in a page, not in a log.
SENTENCE = "The result for x of shape (3, 4) and dim=0 should be [0.0618, 0.3638, 0.1354, 0.0722] at [0], yours is ["


def test_begun_exercises_are_listed_with_what_is_wrong_and_the_others_named(folder: Path, checked: Checked) -> None:
    lines = (folder / "exercises" / "simple_attention_quiz.md").read_text(encoding="utf-8").splitlines()
    place = f"simple_attention_quiz.md:{lines.index('Answer: 0.7') + 1}"
    expected = [
        "✓ dot_product                      5 of 5 rules tried",
        "✗ softmax_naive",
        "Softmax turns scores, one list or a table of them, into weights that sum to one along dim.",
        SENTENCE,
        "quiz: 1 of",
        "Not begun: self_attention, causal_attention,",
        f"{place}: 0.7 has one decimal, and three are asked for",
    ]
    assert [text for text in expected if text not in checked.printed] == []
    assert checked.code == 1


def test_the_report_fits_the_schema_and_names_the_visible_suites(folder: Path, checked: Checked) -> None:
    assert checked.code == 1
    text = (folder / "out" / "ada.json").read_text(encoding="utf-8")
    assert "three are asked for" not in text
    report = json.loads(text)
    jsonschema.validate(report, json.loads((REPOSITORY / "docs" / "report.schema.json").read_text(encoding="utf-8")))
    assert report["suites"] == "visible"
    assert report["isolation"]["enough"]
    unit = report["units"]["simple_attention"]
    assert unit["path"] == "exercises/simple_attention.py"
    lines = (folder / unit["path"]).read_text(encoding="utf-8").splitlines()
    assert lines[unit["exercises"]["softmax_naive"]["line"] - 1].startswith("def softmax_naive(")
    assert unit["exercises"]["dot_product"]["points"] == unit["exercises"]["dot_product"]["possible"] > 0
    assert unit["quiz"]["points"] is None


def test_the_page_shows_what_the_terminal_says(folder: Path, checked: Checked) -> None:
    assert checked.code == 1
    page = BeautifulSoup((folder / "check.html").read_text(encoding="utf-8"), "html.parser")
    [softmax] = [one for one in page.select(".exercise") if one.h3 and one.h3.get_text() == "softmax_naive"]
    assert SENTENCE in " ".join(softmax.get_text().split())
    assert "By the visible tests." in page.get_text()


@pytest.mark.parametrize("place", [".", "exercises"])
def test_one_exercise_is_checked_alone_from_the_root_or_from_exercises(folder: Path, check: Check, place: str) -> None:
    code, printed = check(folder / place, "softmax_stable")
    assert code == 0
    assert "1 of 1 exercise passes the visible tests." in printed
    assert "softmax_naive" not in printed
    assert "Python" not in printed  # it is the one that grades


def test_problems_of_a_whole_file_come_before_its_exercises(folder: Path, tmp_path: Path, check: Check) -> None:
    spoilt = shutil.copytree(folder, tmp_path / "spoilt")
    (spoilt / "exercises" / "simple_attention.py").write_text("def f(:\n", encoding="utf-8")
    (spoilt / "exercises" / "self_attention.py").write_bytes(b"\0")
    (spoilt / "exercises" / "causal_attention.py").unlink()
    (spoilt / "exercises" / "simple_attention_quiz.md").write_text("<!DOCTYPE html>", encoding="utf-8")
    printed = check(spoilt).printed
    assert printed.startswith("simple_attention\n      simple_attention.py, line 1: It is not valid Python: invalid ")
    assert "self_attention\n      exercises/self_attention.py " in printed
    assert " answered\n      exercises/simple_attention_quiz.md is a web page (HTML), such as " in printed
    assert "Not begun: causal_attention," in printed


@pytest.mark.proof(part="students")
def test_the_code_that_is_checked_cannot_decide_what_is_right(folder: Path, tmp_path: Path) -> None:
    forged = shutil.copytree(folder, tmp_path / "forged")
    (forged / "exercises" / "simple_attention.py").write_text(FORGED, encoding="utf-8")
    (forged / "exercises" / "checks" / "test_simple_attention.py").write_text(
        "def test_all(): pass\n", encoding="utf-8"
    )
    (forged / "conftest.py").write_text("raise SystemExit(0)\n", encoding="utf-8")
    (forged / "torch.py").write_text("raise SystemExit(0)\n", encoding="utf-8")
    done = program(forged, "check", "simple_attention")
    assert done.returncode == 1, done.stderr
    assert "0 of 7 exercises pass the visible tests." in done.stdout


def test_an_untouched_folder_is_not_a_failure(tmp_path: Path, check: Check) -> None:
    exercises = received(tmp_path / "ada")
    nothing = "\nNothing is handed in yet: all is as you received it. Points count from the first answer on.\n"
    for name in (None, "dot_product"):
        code, printed = check(exercises.parent, name)
        assert (code, printed.endswith(nothing)) == (0, True)
    answers = exercises / "simple_attention.py"
    stub = answers.read_text(encoding="utf-8")
    answers.write_text(stub.replace("\n    raise NotImplementedError()", "\n    return 0", 1), encoding="utf-8")
    assert check(exercises.parent, "dot_product").code == 1


def test_an_unknown_exercise_is_named_with_the_nearest(folder: Path, check: Check) -> None:
    with pytest.raises(GraderError, match=r"no exercise or unit 'softmax_niave'. Did you mean 'softmax_naive'\?"):
        check(folder, "softmax_niave")


def test_a_folder_without_the_courses_files_is_refused_and_no_file_in_it_is_run(tmp_path: Path) -> None:
    (tmp_path / "yaml.py").write_text("raise SystemExit('this is not yaml')")
    done = program(tmp_path, "hint", "dot_product")
    assert done.returncode == 2
    assert "holds none of the course's files, such as simple_attention.py: go to your course's folder." in done.stderr


def test_the_courses_own_exercises_are_no_place_for_answers(check: Check) -> None:
    with pytest.raises(GraderError, match=rf"Copy this folder and .*: `cp -r {REPOSITORY}/exercises answers`"):
        check(REPOSITORY / "exercises")


@pytest.mark.proof(part="students")
def test_a_terminal_that_lacks_characters_does_not_stop_the_check(folder: Path) -> None:
    environment = {**os.environ, "PYTHONIOENCODING": "cp1252"}
    command = [sys.executable, "-m", "grader", "check", "dot_product"]
    done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, check=False)
    assert done.returncode == 0, done.stderr
    assert b"+ dot_product" in done.stdout  # a tick; a cross is an x
    assert b"1 of 1 exercise passes the visible tests." in done.stdout


def test_output_that_cannot_be_printed_is_an_error() -> None:
    command = [sys.executable, "-m", "grader", "--version"]
    with open("/dev/full", "w", encoding="utf-8") as full:
        done = subprocess.run(command, stdout=full, stderr=subprocess.PIPE, text=True, check=False)
    assert (done.returncode, done.stderr) == (3, "The output could not be written: No space left on device.\n")


def test_a_folder_that_no_longer_exists_is_an_error(tmp_path: Path) -> None:
    gone = tmp_path / "gone"
    gone.mkdir()
    command = [sys.executable, "-m", "grader", "hint", "dot_product"]
    remove_and_ask = f"import os, sys; os.rmdir(os.getcwd()); os.execv(sys.executable, {command!r})"
    done = subprocess.run([sys.executable, "-c", remove_and_ask], cwd=gone, capture_output=True, text=True)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == "This folder no longer exists: go to the course's folder.\n"


# -- messages that lead to the fix --------------------------------------------------------------------------------

# A beginner's slip for each exercise of the first unit.
SLIPS = {
    "dot_product": "def dot_product(a, b):\n    total = sum(x * y for x, y in zip(a, b))\n    retrun total\n",
    "attention_scores": "def dot(a, b):\n    return (a * b).sum(dim=1)\n\n\n"
    "def attention_scores(query, inputs):\n    return torch.stack([dot(query, row) for row in inputs])\n",
    "normalize_by_sum": "def normalize_by_sums(scores):\n    return scores / scores.sum()\n",
    "softmax_naive": "def softmax_naive(x, dim=-1):\n    e = torch.exp(x)\n    return e / e.sum(dim=dim)\n",
    "softmax_stable": "def softmax_stable(x, dim=-1):\n    return F.softmax(x, dim=dim)\n",
    "context_vector": "def context_vector(weights, inputs):\n    print(weights @ inputs)\n",
    "simple_self_attention": "def simple_self_attention(inputs):\n"
    "    weights = softmax_stable(inputs @ inputs.T)\n    return weights @ inputs, weights\n",
}
MESSAGES = [
    # A line that is not Python.
    "      simple_attention.py, line N: It is not valid Python: invalid syntax. Did you mean `return`?\n"
    "          line N: retrun total\n",
    # The call that led there, under its exercise.
    "Dims count from 0, so the last of two is dim 1, or -1. Counted from the end, they fit any number of dims. "
    "Shapes in this line: a (3,) and b (3,).\n"
    "          line N: return torch.stack([dot(query, row) for row in inputs])\n"
    "          line N: return (a * b).sum(dim=1)\n"
    "  ✗ normalize_by_sum ",
    "Your file defines `normalize_by_sums`: rename it to `normalize_by_sum`.\n",
    "Without `keepdim=True`, `sum` removes the dim that it runs over: keep it, with size one. "
    "Shapes in this line: e (3, 4).\n          line N: return e / e.sum(dim=dim)\n",
    "name 'F' is not defined. Add `import torch.nn.functional as F` at the top of the file.\n",
    " `context_vector` has no `return`.\n",
    "It was tested with a substitute for your softmax_stable, so that mistakes there cost nothing here.\n",
]


def test_a_message_leads_to_the_fix(tmp_path: Path, check: Check) -> None:
    exercises = received(tmp_path / "bea")
    source = solution("simple_attention")
    for node in reversed(ast.parse(source).body):
        if slip := SLIPS.get(getattr(node, "name", "")):
            lines = source.splitlines(keepends=True)
            source = "".join([*lines[: node.lineno - 1], slip, *lines[node.end_lineno :]])
    (exercises / "simple_attention.py").write_text(source, encoding="utf-8")
    printed = re.sub(r"(?<=[Ll]ine )\d+", "N", check(exercises.parent).printed)
    assert [message for message in MESSAGES if message not in printed] == [], printed


def test_an_exercise_of_which_only_some_tests_need_another_one_says_so(tmp_path: Path, check: Check) -> None:
    exercises = received(tmp_path)
    (exercises / "simple_attention.py").write_text(solution("simple_attention"), encoding="utf-8")
    changed = ("self.W_value = nn.Linear(d_in, d_out, bias=qkv_bias)", "self.W_value = nn.Linear(d_in, d_out)")
    (exercises / "self_attention.py").write_text(solution("self_attention", changed), encoding="utf-8")
    printed = check(tmp_path, "self_attention").printed
    assert re.search(
        r"· transfer_weights +8 of 9 tests pass\n +Some of its tests need `SelfAttention_v2`, which is not right yet\.",
        printed,
    ), printed


def test_an_exercise_of_another_unit_that_is_right_is_not_blamed(tmp_path: Path, check: Check) -> None:
    exercises = received(tmp_path)
    (exercises / "causal_attention.py").write_text(solution("causal_attention"), encoding="utf-8")
    summed = ("torch.cat([head(inputs) for head in self.heads], dim=-1)", "self.heads[0](inputs)")
    (exercises / "multi_head_attention.py").write_text(solution("multi_head_attention", summed), encoding="utf-8")
    printed = check(tmp_path, "MultiHeadAttentionWrapper").printed
    assert "✗ MultiHeadAttentionWrapper" in printed
    assert "CausalAttention" not in printed
