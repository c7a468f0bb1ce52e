"""The commands of docs/classroom50.md, run on a course whose first unit is over, with a local GitHub."""

from __future__ import annotations

import csv
import re
import shutil
import subprocess
from pathlib import Path

import courses
import pytest
from classroom50_collector import load, shown
from courses import REPOSITORY
from local_github import local_github
from pages import blocks_of, make_course, run

pytestmark = pytest.mark.proof(part="full")

BLOCKS = blocks_of((REPOSITORY / "docs" / "classroom50.md").read_text(encoding="utf-8"))
UNIT = "simple_attention"
# What is at GitHub is made here, and nothing is pulled or pushed.
NOT_RUN = re.compile(r"git clone |git -C \S+ (pull|push) ")
ROSTER = """\
username,first_name,last_name,email,section,github_id,role
Ada-L,Ada,"Doe, A.",ada@x.org,,1,student
bela,Béla,Kis,,,2,
ms-roe,,Roe,,,3,teacher
,Dina,Roe,dina@x.org,,,student
late,Eve,Joins,,,4,student"""
ASSIGNMENTS = """\
{"schema": "classroom50/assignments/v1",
 "assignments": [{"slug": "attention", "name": "Attention", "mode": "individual", "autograder": "default"}]}
"""


def follow(root: Path, heading: str, **more: str) -> str:
    """Run the commands in the consoles of a section, and return what they print."""
    script = "\n".join(
        one for block in BLOCKS if block.heading == heading for one in block.commands if not NOT_RUN.match(one)
    )
    who = {f"GIT_{role}_{what}": "x" for role in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")}
    done = run(root, script, **who, **more)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """Your repository, and beside it the clone of Classroom 50's."""
    root = make_course(tmp_path)
    for name in ("pyproject.toml", "requirements.lock", "LICENSE"):
        shutil.copy(REPOSITORY / name, root)
    classroom = tmp_path / "classroom50" / "spring"
    classroom.mkdir(parents=True)
    # As a spreadsheet on Windows writes it, and without an end of the last line.
    (classroom / "roster.csv").write_text(ROSTER, encoding="utf-8", newline="\r\n")
    (classroom / "assignments.json").write_text(ASSIGNMENTS, encoding="utf-8")
    subprocess.run(["git", "init", "--quiet"], cwd=classroom.parent, check=True)
    return root


def test_the_commands_put_the_grade_of_record_into_classroom_50(root: Path, example_class: Path) -> None:
    answers = {path.name: path.read_text(encoding="utf-8") for path in (example_class / "ada").rglob(f"{UNIT}*")}
    with local_github(root.parent / "hub") as hub:
        hub.create("my-course/spring-attention-Ada-L").push(
            {f"exercises/{name}": text for name, text in answers.items()}, "2000-01-20T10:00:00Z"
        )
        for login in ("bela", "late"):
            hub.create(f"my-course/spring-attention-{login}").push({".classroom50.yaml": "x"}, "2000-01-20T10:00:00Z")
        printed = follow(root, "The grade of record", **hub.environment())
    rows = list(csv.DictReader((root / "roster.csv").read_text(encoding="utf-8").splitlines()))
    assert [row["student"] for row in rows] == ["Ada-L", "bela", "late"]
    most = courses.read_reports(root / "reports" / UNIT)["Ada-L"]["possible"]
    assert f"scores.json: 3 students; total of {most}.\n" in printed
    scores = load(root.parent / "classroom50" / "spring" / "scores.json")
    assert shown(scores, "attention") == {"Ada-L": (most, most), "bela": (0, most), "late": (0, most)}


def test_the_commands_put_the_bundle_where_classroom_50_looks_for_it(root: Path) -> None:
    template = root.parent / "attention"
    courses.run_grader(root, "release", "github", template)
    follow(root, "With the bundle as autograder")
    bundle = root.parent / "classroom50" / "spring" / "autograders" / "attention"
    assert {path.suffix for path in bundle.iterdir()} == {".py", ".txt", ".whl"}
    assert not (template / ".github" / "workflows" / "classroom.yml").exists()
