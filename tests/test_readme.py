"""README and pages: links lead to files and headings, and the steps for a new exercise work."""

from __future__ import annotations

import json
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import courses
import forks
import pytest
from courses import COURSE, REPOSITORY
from pages import BLOCK, Block, blocks_of
from typer.main import get_command

from grader.cli.instructor import app
from grader.quizzes.quiz_source import load_quizzes

README = (REPOSITORY / "README.md").read_text(encoding="utf-8")
STEPS = (REPOSITORY / "docs" / "write-an-exercise.md").read_text(encoding="utf-8").partition("\n## After that\n")[0]
BLOCKS = blocks_of(STEPS)
ARCHITECTURE = (REPOSITORY / "docs" / "architecture.md").read_text(encoding="utf-8")
PAGES = sorted(
    str(path.relative_to(REPOSITORY))
    for folder in (".", "docs", "examples", "exercises", ".github")
    for path in (REPOSITORY / folder).glob("*.md")
    if not path.name.endswith("_quiz.md")
)
TRY_IT = "# %% [markdown]\n# ## Try it\n"
# The text that a block of the page replaces, by file, if it is not the whole file.
REPLACED = {
    "solutions/self_attention.py": TRY_IT,
    "exercises/checks/test_self_attention.py": "# TODO (author)",
    "autograder.yml": "attention_reach: 1",
}


def run(root: Path, *arguments: str) -> str:
    """Run Python in `root`, with the copy of the grader there, and return the output."""
    environment = courses.environment(root)
    environment.pop(forks.ADDRESS, None)  # there, the tests of the copy would fork engines with this grader
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


def write(block: Block, root: Path) -> None:
    """Write a block above the cell that the page names, or in place of what the command made."""
    file = root / block.file
    text = file.read_text(encoding="utf-8")
    replaced = REPLACED.get(block.file, text)
    assert text.count(replaced) == 1 or replaced == "# TODO (author)"
    before, _, after = text.partition(replaced)
    if replaced == TRY_IT:
        after = f"\n\n{TRY_IT}{after}"
    elif file.suffix == ".py":
        after = "\n"
    file.write_text(before + block.text.rstrip("\n") + after, encoding="utf-8")


@pytest.fixture(scope="module")
def course(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of this repository in which the page's steps were followed."""
    root = tmp_path_factory.mktemp("course")
    for folder in ("grader", "solutions", "exercises", "tests", "examples", ".github"):
        shutil.copytree(REPOSITORY / folder, root / folder, ignore=shutil.ignore_patterns("__pycache__"))
    for file in ("autograder.yml", "pyproject.toml"):
        shutil.copy(REPOSITORY / file, root)
    for block in BLOCKS:
        if block.language != "console":
            write(block, root)
            continue
        for line in block.text.splitlines():
            program, *arguments = shlex.split(line.removeprefix("$ "))
            if "audit" in arguments:
                arguments.append("--quick")  # the whole audit takes minutes
            run(root, *{".venv/bin/grader": ["-m", "grader"], ".venv/bin/python": []}[program], *arguments)
    return root


def graded(course: Path, answers: str) -> dict[str, Any]:
    """Grade a submission with these answers, and return the new exercise in its report."""
    submission = course / "submission"
    submission.mkdir(exist_ok=True)
    (submission / "self_attention.py").write_text(answers, encoding="utf-8")
    run(course, "-m", "grader", "grade", "submission", "--student", "sam", "--out", "reports")
    report = json.loads((course / "reports" / "sam.json").read_text(encoding="utf-8"))
    return report["units"]["self_attention"]["exercises"]["attention_reach"]


def lines_by_place() -> list[int]:
    """Count the lines of the page's blocks, in the order of its table."""
    source, suite, visible, weight = (block.text for block in BLOCKS if block.file)
    _, text, stub, hints = re.split(r"^(?=# %% )", source, flags=re.MULTILINE)
    solution = stub.partition("BEGIN SOLUTION\n")[2].partition("    ### END SOLUTION")[0]
    tests, misconceptions, answers = re.split(r"^(?=MISCONCEPTIONS|def wrong_answers)", suite, flags=re.MULTILINE)
    parts = (text, stub.replace(solution, ""), solution, hints, tests, misconceptions, answers, visible, weight)
    return [len(part.splitlines()) for part in parts]


def test_the_table_counts_the_lines_of_an_exercise_in_three_places_at_most_250() -> None:
    counts = lines_by_place()
    assert [int(row) for row in re.findall(r"^\|.*\| (\d+) \|$", STEPS, re.MULTILINE)] == [*counts, sum(counts)]
    assert sum(counts) <= 250
    assert len({block.file for block in BLOCKS if block.file.endswith(".py")}) == 3


def test_the_steps_are_numbered_and_each_has_a_block() -> None:
    numbers, steps = re.findall(r"^## (\d)\. ", STEPS, re.MULTILINE), re.split(r"^## \d\. ", STEPS, flags=re.MULTILINE)
    assert numbers == [str(number) for number in range(1, len(numbers) + 1)]
    assert all(BLOCK.search(step) for step in steps[1:])


def test_every_step_names_the_file_that_its_block_belongs_to() -> None:
    for block in BLOCKS:
        [step] = [step for step in STEPS.split("\n## ") if block.text in step]
        assert f"`{block.file}`" in step.partition("```")[0] or not block.file


@pytest.mark.proof(part="full")
def test_nothing_is_left_to_do(course: Path) -> None:
    assert "TODO (author)" not in run(course, "-m", "grader", "build")


@pytest.mark.proof(part="full")
def test_what_the_page_writes_has_the_style_of_the_course(course: Path) -> None:
    folders = ("solutions", "grader/suites/self_attention", "exercises/checks")
    run(course, "-m", "ruff", "check", *folders)
    run(course, "-m", "ruff", "format", "--check", *folders)


@pytest.mark.proof(part="full")
def test_the_new_exercise_is_graded_and_its_mistake_is_named(course: Path) -> None:
    solution = (course / "solutions" / "self_attention.py").read_text(encoding="utf-8")
    right = graded(course, solution)
    assert (right["points"], right["possible"]) == (10, 10)
    mistaken = solution.replace("(positions[:, None] - positions).abs()", "(positions[:, None] - positions).square()")
    assert mistaken != solution
    wrong = graded(course, mistaken)
    assert wrong["points"] == 0
    assert [found["name"] for found in wrong["misconceptions"]] == ["distances_squared"]
    stub = (course / "exercises" / "self_attention.py").read_text(encoding="utf-8")
    assert "torch.arange(len(weights))" not in stub
    assert {test["reason"] for test in graded(course, stub)["tests"]} == {"It is not written yet."}


@pytest.mark.proof(part="full")
def test_the_visible_tests_of_the_new_exercise_pass_on_its_solution(course: Path, tmp_path: Path) -> None:
    folder = shutil.copytree(course / "exercises", tmp_path / "exercises")
    shutil.copy(course / "solutions" / "self_attention.py", folder)
    # One that the page writes, and one for each part of the contract.
    assert "4 passed" in run(folder, "-m", "pytest", "-k", "attention_reach", "checks/test_self_attention.py")


def test_every_link_to_a_file_leads_to_one() -> None:
    missing = []
    for page in PAGES:
        text = (REPOSITORY / page).read_text(encoding="utf-8")
        for link in re.findall(r"\]\(([^)\s]+)\)", text):
            if "://" in link:
                continue
            file, _, heading = link.partition("#")
            target = (REPOSITORY / page).parent / file if file else REPOSITORY / page
            headings = re.findall(r"^#+ (.+)$", target.read_text(encoding="utf-8"), re.MULTILINE) if heading else []
            if not target.exists() or (heading and heading not in [h.lower().replace(" ", "-") for h in headings]):
                missing.append(f"{page}: {link}")
    assert missing == []


def test_everything_that_the_architecture_names_exists() -> None:
    drawing = ARCHITECTURE.partition("## Data flow")[2].partition("```text\n")[2].partition("```")[0]
    modules = re.findall(r"\w+/\w+", drawing)
    assert modules
    assert not {name for name in modules if not (REPOSITORY / "grader" / f"{name}.py").is_file()}
    places = set(re.findall(r"`((?:[a-z_]+/)+[a-z_]*[a-z])((?:\.\w+)*)`", ARCHITECTURE))
    lost = []
    for name, inside in places:
        folder, module = REPOSITORY / "grader" / name, REPOSITORY / "grader" / f"{name}.py"
        text = module.read_text(encoding="utf-8") if module.is_file() else ""
        defined = re.findall(r"(?m)^(?: *(?:class|def) )?(\w+)(?=[ (:=])", text)
        if not (text or folder.is_dir()) or not set(filter(None, inside.split("."))) <= {*defined}:
            lost.append((name, inside))
    assert lost == []
    table = ARCHITECTURE.partition("\n## Folders\n")[2].partition("\n\n`suites`")[0]
    named = {name for row in re.findall(r"^\| (`.*?) \|", table, re.MULTILINE) for name in re.findall(r"`(\w+)`", row)}
    package = REPOSITORY / "grader"
    assert not {name for name in named if not ((package / name).is_dir() or (package / f"{name}.py").is_file())}
    # `grader.nbgrader` is a name for old courses.
    assert {path.parent.name for path in package.glob("*/__init__.py")} - {"suites", "nbgrader"} <= named


def test_the_readme_counts_the_exercises_and_quiz_items() -> None:
    exercises = sum(len(unit.exercises) for unit in COURSE.units.values())
    items = sum(len(quiz.items) for quiz in load_quizzes(REPOSITORY / "solutions", COURSE.quizzes).values())
    [said] = re.findall(r"(\d+) exercises and (\d+) quiz items", README)
    assert [0 < count - int(number) < 50 for count, number in zip((exercises, items), said, strict=True)] == [True] * 2


def test_the_readme_is_short() -> None:
    assert len(README.split()) < 900


def test_every_command_in_the_readme_and_the_pages_exists() -> None:
    named = set()
    for page in PAGES:
        if page != "CHANGELOG.md":  # it names commands of earlier versions
            text = (REPOSITORY / page).read_text(encoding="utf-8")
            named |= set(re.findall(r"(?:`|\$ |bin/)grader ([a-z]+)", text))
    assert named
    assert named <= {*get_command(app).commands}  # type: ignore[attr-defined]
