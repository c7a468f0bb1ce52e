"""The README is true: its links lead somewhere, and its steps for a new exercise do what they say."""

from __future__ import annotations

import json
import os
import re
import shlex
import shutil
import subprocess
import sys
import textwrap
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from grader.course.model import ROOT

README = (ROOT / "README.md").read_text(encoding="utf-8")
SECTION = README.partition("\n## Add an exercise\n")[2].partition("\n## ")[0]
PAPERS = (
    "README.md", "docs/accuracy.md", "docs/nbgrader.md", "docs/github.md", "docs/submissions.md", "CONTRIBUTING.md",
    "CREDITS.md", "CHANGELOG.md", "examples/README.md",
)  # fmt: skip
# A fenced block: its language and, of a piece of a file, the file and the start of the line that it goes below.
BLOCK = re.compile(r"^ *```(\w+)(?: (\S+))?(?: after ([^\n]+))?\n(.*?)^ *```$", re.MULTILINE | re.DOTALL)


class Block(NamedTuple):
    """A fenced block of the section `Add an exercise`."""

    language: str
    file: str
    after: str
    text: str


def run(root: Path, *arguments: str) -> str:
    """Runs Python in `root`, where its own copy of the grader is the one that is found; gives what was printed."""
    environment = {**os.environ, "PYTHONPATH": str(root), "PYTHONDONTWRITEBYTECODE": "1"}
    done = subprocess.run(
        [sys.executable, *arguments],
        cwd=root,
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    assert done.returncode == 0, done.stdout
    return done.stdout


def blocks() -> list[Block]:
    return [
        Block(found[1], found[2] or "", found[3] or "", textwrap.dedent(found[4])) for found in BLOCK.finditer(SECTION)
    ]


def add(block: Block, root: Path) -> None:
    """Puts a piece where the README says."""
    files = sorted(path for path in root.glob(block.file) if path.name != "__init__.py")
    assert files
    for file in files:
        text = file.read_text(encoding="utf-8")
        if block.after:
            [place] = [line for line in text.splitlines(keepends=True) if line.strip().startswith(block.after)]
            indent = place[: len(place) - len(place.lstrip())]
            text = text.replace(place, place + textwrap.indent(block.text, indent))
        else:
            text += f"\n\n{block.text}"
        file.write_text(text, encoding="utf-8")


@pytest.fixture(scope="module")
def course(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of this repository in which the README's steps have been followed."""
    root = tmp_path_factory.mktemp("course")
    for folder in ("grader", "solutions", "exercises", "tests", "examples", ".github"):
        shutil.copytree(ROOT / folder, root / folder, ignore=shutil.ignore_patterns("__pycache__"))
    for file in ("autograder.yml", "pyproject.toml"):
        shutil.copy(ROOT / file, root)
    for block in blocks():
        if block.language != "console":
            add(block, root)
            continue
        for line in block.text.splitlines():
            program, *arguments = shlex.split(line.removeprefix("$ "))
            if "audit" in arguments:
                arguments.append("--quick")  # of all answers it takes minutes, and all others were audited already
            run(root, *{".venv/bin/grader": ["-m", "grader"], ".venv/bin/python": []}[program], *arguments)
    return root


def graded(course: Path, answers: str) -> dict[str, Any]:
    """What the report says of the new exercise, of a submission with these answers."""
    submission = course / "submission"
    submission.mkdir(exist_ok=True)
    (submission / "self_attention.py").write_text(answers, encoding="utf-8")
    run(course, "-m", "grader", "grade", "submission", "--student", "sam", "--out", "reports")
    report = json.loads((course / "reports" / "sam.json").read_text(encoding="utf-8"))
    return report["units"]["self_attention"]["exercises"]["attention_entropy"]


def test_an_exercise_takes_at_most_eight_steps_each_with_its_blocks() -> None:
    numbers, steps = re.findall(r"^(\d)\. ", SECTION, re.MULTILINE), re.split(r"^\d\. ", SECTION, flags=re.MULTILINE)
    assert numbers == [str(number) for number in range(1, len(numbers) + 1)]
    assert len(numbers) <= 8
    assert all(BLOCK.search(step) for step in steps[1:])


def test_every_step_names_the_file_that_its_block_belongs_to() -> None:
    for block in blocks():
        prose = SECTION.partition(f"```{block.language} {block.file}".rstrip())[0]
        assert not block.file or f"`{block.file.removesuffix('*.py')}`" in prose


@pytest.mark.proof(part="readme")
def test_a_right_answer_to_the_new_exercise_earns_its_weight(course: Path) -> None:
    exercise = graded(course, (course / "solutions" / "self_attention.py").read_text(encoding="utf-8"))
    assert (exercise["points"], exercise["possible"]) == (2, 2)


@pytest.mark.proof(part="readme")
def test_the_expected_mistake_in_the_new_exercise_is_named(course: Path) -> None:
    solution = (course / "solutions" / "self_attention.py").read_text(encoding="utf-8")
    mistaken = solution.replace("-(weights * weights.log()).sum(dim=-1)", "-(weights * weights.log()).sum(dim=-2)")
    assert mistaken != solution
    exercise = graded(course, mistaken)
    assert exercise["points"] == 0
    assert [found["name"] for found in exercise["misconceptions"]] == ["entropy_over_the_queries"]


@pytest.mark.proof(part="readme")
def test_the_stub_of_the_new_exercise_is_not_written_yet(course: Path) -> None:
    stub = (course / "exercises" / "self_attention.py").read_text(encoding="utf-8")
    assert "weights.log()" not in stub
    [test] = graded(course, stub)["tests"]
    assert test["reason"] == "It is not written yet."


@pytest.mark.proof(part="readme")
def test_the_visible_test_of_the_new_exercise_passes_on_its_solution(course: Path, tmp_path: Path) -> None:
    folder = shutil.copytree(course / "exercises", tmp_path / "exercises")
    shutil.copy(course / "solutions" / "self_attention.py", folder)
    assert "1 passed" in run(folder, "-m", "pytest", "-k", "entropy", "test_self_attention.py")


@pytest.mark.parametrize("paper", PAPERS)
def test_every_link_to_a_file_leads_to_one(paper: str) -> None:
    text = (ROOT / paper).read_text(encoding="utf-8")
    links = [link for link in re.findall(r"\]\(([^)\s]+)\)", text) if "://" not in link]
    missing = []
    for link in links:
        file, _, heading = link.partition("#")
        target = (ROOT / paper).parent / file if file else ROOT / paper
        headings = re.findall(r"^#+ (.+)$", target.read_text(encoding="utf-8"), re.MULTILINE) if heading else []
        if not target.exists() or (heading and heading not in [h.lower().replace(" ", "-") for h in headings]):
            missing.append(link)
    assert not missing


def test_every_module_and_folder_that_the_readme_names_exists() -> None:
    drawing = README.partition("```text\n")[2].partition("```")[0]
    row = re.search(r"^\| `grader/` \| (.*) \|$", README, re.MULTILINE)
    assert row
    modules, folders = re.findall(r"\w+/\w+", drawing), re.findall(r"`(\w+)`", row[1])
    assert modules
    assert folders
    assert not {name for name in modules if not (ROOT / "grader" / f"{name}.py").is_file()}
    assert not {name for name in folders if not (ROOT / "grader" / name).is_dir()}
