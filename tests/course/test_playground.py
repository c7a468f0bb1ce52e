"""The playground trains the models of students and compares their runs."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from courses import COURSE, REPOSITORY

from grader.integrations.release.wheel import PLAYGROUND, received

proof = pytest.mark.proof(part="exercises")
TABLE = re.compile(r"^    (\w+) +([\d,]+) +(\d\.\d\d) +(\d\.\d\d) +\d+ s$", re.MULTILINE)


def play(folder: Path, **settings: object) -> subprocess.CompletedProcess[str]:
    """Run the playground with other settings, as a student who edits them."""
    script = folder / "playground.py"
    text = script.read_text(encoding="utf-8")
    for name, value in settings.items():
        text, count = re.subn(rf"^{name} = \S+", f"{name} = {value!r}", text, flags=re.MULTILINE)
        assert count == 1
    script.write_text(text, encoding="utf-8")
    return subprocess.run([sys.executable, script], capture_output=True, text=True, encoding="utf-8", check=False)


@pytest.fixture
def solved(tmp_path: Path) -> Path:
    """A folder with the playground and right answers."""
    for file in [*(COURSE.exercises / name for name in PLAYGROUND), *(REPOSITORY / "solutions").glob("*.py")]:
        shutil.copy(file, tmp_path)
    return tmp_path


def test_students_receive_it_and_it_says_which_exercise_it_waits_for(tmp_path: Path) -> None:
    (tmp_path / "checks").mkdir()
    for name, content in received(COURSE).items():
        (tmp_path / name).write_bytes(content)
    done = play(tmp_path)
    assert done.returncode == 1
    assert done.stderr == (
        "The playground waits for build_vocabulary in bigram_language_model.py: write it first.\n"
    )  # fmt: skip
    for unit in COURSE.units:
        text = (REPOSITORY / "solutions" / f"{unit}.py").read_text(encoding="utf-8")
        (tmp_path / f"{unit}.py").write_text(
            text.replace(
                "scores = queries @ keys.transpose(-2, -1) /", "raise NotImplementedError\n        scores = 1 /"
            ),
            encoding="utf-8",
        )
    done = play(tmp_path, model_name="head", steps=1)
    assert done.stderr == "The playground waits for Head in bigram_language_model.py: write it first.\n"


def test_a_table_compares_the_runs(solved: Path) -> None:
    play(solved, steps=20)
    done = play(solved, learning_rate=0.1)
    assert done.returncode == 0, done.stderr
    title, *rows = done.stdout.splitlines()[-3:]
    assert title.split()[:4] == ["model", "block", "rate", "steps"]
    assert [row.split()[:4] for row in rows] == [["bigram", "32", "0.01", "20"], ["bigram", "32", "0.1", "20"]]
    assert max(map(len, done.stdout.splitlines()[-3:])) < 80
    assert done.stdout.isascii()


@proof
@pytest.mark.parametrize("name", ["bigram", "head", "gpt"])
def test_the_losses_are_those_that_the_script_states(name: str, solved: Path) -> None:
    if name == "gpt" and not (solved / "small_gpt.py").exists():
        pytest.skip("the course has no capstone")
    text = (solved / "playground.py").read_text(encoding="utf-8")
    stated = {row[0]: row[1:] for row in TABLE.findall(text)}
    done = play(solved, model_name=name)
    assert f"{name}: {stated[name][0]} parameters" in done.stdout
    assert "Counting pairs of characters: loss 1.96 " in done.stdout
    assert "Counting the pairs of characters gives 1.96 " in text
    losses = re.findall(r"^step   500: training (\S+), validation (\S+) ", done.stdout, re.MULTILINE)[0]
    assert [float(loss) for loss in losses] == pytest.approx([float(loss) for loss in stated[name][1:]], abs=0.05)
