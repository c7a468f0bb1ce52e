"""`grader notebook` and `grader script`: the same answers in either file, of which one is graded."""

from __future__ import annotations

import contextlib
import json
import shutil
import subprocess
from pathlib import Path

import pytest
from courses import COURSE, REPOSITORY
from typer.testing import CliRunner

from grader.cli.student_cli import app
from grader.practice.student_files import to_notebook, to_script
from grader.submissions.reader import read_submission

UNIT = "simple_attention"
TAGS = ' tags=["hints"]'  # only sources have these
SOLUTION = (REPOSITORY / "solutions" / f"{UNIT}.py").read_text(encoding="utf-8").replace(TAGS, "")
STUB = (REPOSITORY / "exercises" / f"{UNIT}.py").read_text(encoding="utf-8")


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder of a student who has received unit 1."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    folder = tmp_path / "ada"
    folder.mkdir()
    (folder / f"{UNIT}.py").write_text(STUB, encoding="utf-8")
    return folder


def grader(folder: Path, *arguments: str, course: Path = REPOSITORY) -> subprocess.CompletedProcess[str]:
    """Run a command in this process."""
    with contextlib.chdir(folder):
        done = CliRunner().invoke(app, [*arguments, "--course", str(course)])
    return subprocess.CompletedProcess(arguments, done.exit_code, done.stdout, done.stderr)


def backups(done: subprocess.CompletedProcess[str]) -> list[Path]:
    """Return the backups that a command names."""
    sentence = "Your old file is "
    return [Path(line.removeprefix(sentence)) for line in done.stdout.splitlines() if line.startswith(sentence)]


def units(folder: Path) -> tuple[str, list[str], bool]:
    """Return the file that is graded, the remarks on it, and whether anything counts as handed in."""
    read = read_submission("ada", folder, [UNIT], COURSE.exercises)
    code = read.units[UNIT].code
    assert code
    return code.path, list(code.remarks), read.handed_in


@pytest.mark.parametrize("unit", COURSE.units)
@pytest.mark.parametrize("kind", ["exercises", "solutions"])
def test_a_script_is_the_same_to_the_byte_after_it_was_a_notebook(kind: str, unit: str) -> None:
    script = (REPOSITORY / kind / f"{unit}.py").read_text(encoding="utf-8").replace(TAGS, "")
    notebook = to_notebook(script, unit, COURSE.units[unit].exercises)
    checks = [cell["source"] for cell in json.loads(notebook)["cells"] if "%check" in "".join(cell["source"])]
    assert len(checks) == len(COURSE.units[unit].exercises) + 2  # the cell that loads them, and the whole unit
    assert to_script(notebook, Path("a.ipynb")) == script


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("# About sums.", "def total(x):\n    return x"),
        ("# About sums.\n#\n", "@cache\ndef total(x):\n    return x\n\n\n# A comment.\nx = 1"),
        ('"""\nAbout sums.\n"""', "import torch"),
        ("# About sums.", "    indented = 1"),
        ("# About sums.", "```\n!ls"),
    ],
)
def test_code_below_a_text_stays_code_where_the_mark_of_its_cell_was_lost(text: str, code: str) -> None:
    script = f"# %%\nfirst = 1\n\n# %% [markdown]\n{text}\n{code}\n\n# %% [markdown]\n# The end.\n"
    cells = json.loads(to_notebook(script, UNIT, ()))["cells"]
    sources = [(cell["cell_type"], "".join(cell["source"]).rstrip()) for cell in cells]
    assert ("code", code) in sources
    assert ("markdown", "About sums.") in sources
    assert ("markdown", "The end.") in sources


def test_an_untouched_notebook_is_no_answer(folder: Path) -> None:
    done = grader(folder, "notebook", UNIT)
    assert done.stdout == f"Wrote {UNIT}.ipynb. Work in it from now on: it is the file that is graded.\n"
    assert sorted(path.name for path in folder.iterdir()) == [f"{UNIT}.ipynb", f"{UNIT}.py"]
    assert units(folder)[1:] == ([], False)


def test_a_cell_that_asks_for_help_is_no_answer_either(folder: Path) -> None:
    grader(folder, "notebook", UNIT)
    path = folder / f"{UNIT}.ipynb"
    notebook = json.loads(path.read_text(encoding="utf-8"))
    notebook["cells"][-1]["source"] = "%hint dot_product\n%show dot_product"
    path.write_text(json.dumps(notebook), encoding="utf-8")
    assert units(folder)[1:] == ([], False)
    assert to_script(path.read_text(encoding="utf-8"), path) == STUB


def test_a_begun_script_becomes_the_notebook_that_is_graded_and_nothing_is_lost(folder: Path) -> None:
    (folder / f"{UNIT}.py").write_text(SOLUTION, encoding="utf-8")
    [backup] = backups(grader(folder, "notebook", "softmax_naive"))  # the unit by one of its exercises
    assert backup.read_text(encoding="utf-8") == SOLUTION
    assert (folder / f"{UNIT}.py").read_text(encoding="utf-8") == STUB
    assert units(folder) == (f"{UNIT}.ipynb", [], True)
    notebook = (folder / f"{UNIT}.ipynb").read_bytes()
    [kept] = backups(grader(folder, "script", UNIT))
    assert kept.read_bytes() == notebook
    assert (folder / f"{UNIT}.py").read_text(encoding="utf-8") == SOLUTION
    assert units(folder) == (f"{UNIT}.py", [], True)
    # A second time, the first backups stay, and no file is added beside the answers.
    [again] = backups(grader(folder, "notebook", UNIT))
    assert again != backup
    assert backup.read_text(encoding="utf-8") == again.read_text(encoding="utf-8") == SOLUTION
    assert sorted(path.name for path in folder.iterdir()) == [f"{UNIT}.ipynb", f"{UNIT}.py"]


def test_comments_in_the_script_beside_a_notebook_are_kept_too(folder: Path) -> None:
    grader(folder, "notebook", UNIT)
    commented = f"{STUB}# mine\n"
    (folder / f"{UNIT}.py").write_text(commented, encoding="utf-8")
    script, notebook = backups(grader(folder, "script", UNIT))
    assert script.read_text(encoding="utf-8") == commented
    assert notebook.suffix == ".ipynb"
    assert (folder / f"{UNIT}.py").read_text(encoding="utf-8") == STUB


@pytest.mark.parametrize("command", ["notebook", "script"])
def test_the_stubs_of_the_course_itself_are_refused(command: str, tmp_path: Path) -> None:
    for name in ("solutions", "exercises"):
        shutil.copytree(REPOSITORY / name, tmp_path / name, ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copy(REPOSITORY / "autograder.yml", tmp_path)
    done = grader(tmp_path / "exercises", command, UNIT, course=tmp_path)
    assert done.returncode == 2
    assert "is what the course hands out" in done.stderr


@pytest.mark.parametrize(
    ("script", "command", "problem"),
    [
        (STUB, "notebook", "exists already: open it, or rename it to make a new one"),
        (SOLUTION, "script", "contain answers: rename the one that you do not need."),
    ],
)
def test_no_file_with_answers_is_overwritten(folder: Path, script: str, command: str, problem: str) -> None:
    assert f"`grader notebook {UNIT}` makes one." in grader(folder, "script", UNIT).stderr
    grader(folder, "notebook", UNIT)
    (folder / f"{UNIT}.py").write_text(script, encoding="utf-8")
    before = {path: path.read_bytes() for path in folder.iterdir()}
    done = grader(folder, command, UNIT)
    assert done.returncode == 2
    assert problem in done.stderr
    assert {path: path.read_bytes() for path in folder.iterdir()} == before
