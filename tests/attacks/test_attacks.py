"""Hostile submissions, graded alone and between honest ones, by root and by an ordinary user: none gets anywhere.

Each file in submissions/ follows an honest answer to one exercise. It prints TRIED where it gets to the end, and
SUCCEEDED wherever something worked that should not. To add an attack, add a file.
"""

from __future__ import annotations

import json
import os
import secrets
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from drive import HONEST, NEIGHBOUR
from users import ORDINARY_USER, as_ordinary_user

from grader.report import Report

HERE = Path(__file__).resolve().parent
UNIT = "self_attention"
USERS = ("root", "ordinary user")
WAYS = ("alone", "batch")
# Some forty attacks twice, several of which are only stopped by their time limit.
PATIENCE_SECONDS = 600
HIDDEN = "hidden-canary"
COMMAND_OF_A_WORKFLOW = ("::", "##[")

HONEST_PART = (HERE / "honest_part.py").read_text(encoding="utf-8")
# Names that some program on the way might import, read or obey if it looked where submissions lie.
BESIDE = """\
conftest.py pytest.ini tox.ini setup.cfg pyproject.toml .env sitecustomize.py usercustomize.py site.py torch.py
torch/__init__.py numpy.py json.py struct.py safetensors.py pydantic.py typer.py random.py grader.py grader/__init__.py
grader/engine.py __init__.py __main__.py autograder.yml self_attention/__init__.py solutions/self_attention.py
exercises/conftest.py test_self_attention.py .coveragerc .python-version PYTEST.ini
""".split()  # noqa: SIM905 - a table to read
TAKES_OVER = "takes_over_the_worker"
STRATEGIES = ("zeros", "arguments", "errors", "nothing", "not a number")


def hostile_file(name: str, marker: Path) -> str:
    match Path(name).suffix:
        case ".py":
            return f"open({str(marker)!r}, 'w').write({name!r})\nimport os\nos._exit(0)\n"
        case ".yml":
            return "course: Everybody has full marks\nversion: '1'\n"
        case ".toml":
            return '[tool.pytest.ini_options]\naddopts = "--collect-only -p torch"\n'
    return "[pytest]\naddopts = --collect-only -p torch\n[tool:pytest]\naddopts = --collect-only -p torch\n"


def attacks() -> dict[str, str]:
    """Every attack's source by its name."""
    found = {}
    for path in sorted((HERE / "submissions").glob("*.py")):
        found[path.stem] = f"{HONEST_PART}\n\n{path.read_text(encoding='utf-8')}"
    template = found.pop(TAKES_OVER)
    for strategy in STRATEGIES:
        name = f"{TAKES_OVER}_with_{strategy.replace(' ', '_')}"
        found[name] = template.replace('STRATEGY = "zeros"', f'STRATEGY = "{strategy}"')
    found["files_beside_the_answer"] = HONEST_PART
    return found


ATTACKS = attacks()


@dataclass
class Drive:
    """What came of one user's grading: every report by how and whom, and what else was seen."""

    base: Path
    planted: list[str]
    seen: dict[str, Any]

    def text(self, how: str, student: str) -> str:
        return (self.base / "reports" / how / f"{student}.json").read_text(encoding="utf-8")

    def report(self, how: str, student: str) -> Report:
        return Report.model_validate_json(self.text(how, student))


def make_base(base: Path, course: Path) -> list[str]:
    """Fills a folder with a course, a class of attackers and a folder for reports. Gives the texts hidden in it."""
    shutil.copytree(course, base / "course", ignore=shutil.ignore_patterns("__pycache__"))
    (base / "reports").mkdir()
    sources = {
        **ATTACKS,
        "honest": (course / "solutions" / f"{UNIT}.py").read_text(encoding="utf-8"),
        "honest_part": HONEST_PART,
    }
    for name, source in sources.items():
        folder = base / "class" / name
        folder.mkdir(parents=True)
        (folder / f"{UNIT}.py").write_text(source, encoding="utf-8")
    for name in BESIDE:
        path = base / "class" / "files_beside_the_answer" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(hostile_file(name, base / "planted"), encoding="utf-8")
    planted = []
    for name in (
        f"course/solutions/{UNIT}.py",
        f"course/grader/suites/{UNIT}/test_{UNIT}.py",
        f"course/grader/suites/{UNIT}/misconceptions.py",
        "course/grader/suites/conftest.py",
        "course/grader/grade.py",
        "course/grader/diagnosis.py",
        "class/honest/self_attention.py",
    ):
        planted.append(f"{HIDDEN}-{secrets.token_hex(8)}")
        with (base / name).open("a", encoding="utf-8") as file:
            file.write(f"\n\nPLANTED = {planted[-1]!r}\n")
    planted.append(f"{HIDDEN}-{secrets.token_hex(8)}")
    with (base / "course" / "autograder.yml").open("a", encoding="utf-8") as file:
        file.write(f"# {planted[-1]}\n")
    return planted


@pytest.fixture(scope="session")
def drives(quick_course: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, Drive]]:
    """Everything graded by both users at once; the tests only read what came of it."""
    running: dict[str, tuple[Drive, subprocess.Popen[bytes], Path]] = {}
    for user in possible_users():
        # Not in pytest's own folder, which is closed to all but who runs it.
        base = Path(tempfile.mkdtemp(prefix="attacked-")).resolve()
        planted = [*make_base(base, quick_course), f"{HIDDEN}-{secrets.token_hex(8)}"]
        # A home that nobody else may enter, as root's is; and each user may write to all that lies in it.
        base.chmod(0o700)
        command: list[Any] = [sys.executable, "-P", HERE / "drive.py", base]
        if user == "ordinary user" and os.geteuid() == 0:
            for path in [base, *base.rglob("*")]:
                os.chown(path, ORDINARY_USER, ORDINARY_USER)
            command = as_ordinary_user(command, [base, HERE])
        said = tmp_path_factory.mktemp("said") / "output.txt"
        environment = {**os.environ, "PYTHONPATH": str(base / "course"), "SECRET": planted[-1]}
        with said.open("wb") as file:
            process = subprocess.Popen(command, env=environment, cwd="/", stdout=file, stderr=subprocess.STDOUT)
        running[user] = (Drive(base, planted, {}), process, said)
    try:
        for drive, process, said in running.values():
            assert process.wait(PATIENCE_SECONDS) == 0, said.read_text(encoding="utf-8")
            drive.seen = json.loads((drive.base / "reports" / "drive.json").read_text(encoding="utf-8"))
        yield {user: drive for user, (drive, _, _) in running.items()}
    finally:
        for drive, process, _ in running.values():
            process.kill()
            process.wait()
            shutil.rmtree(drive.base)


def possible_users() -> tuple[str, ...]:
    return USERS if os.geteuid() == 0 else USERS[1:]


@pytest.fixture(params=USERS)
def drive(request: pytest.FixtureRequest) -> Drive:
    if request.param not in possible_users():
        reason = "only root can show what root's grading withstands"
        if os.environ.get("CI"):
            pytest.fail(f"{reason}: CI has to run this as root")
        pytest.skip(reason)
    return request.getfixturevalue("drives")[request.param]


@pytest.mark.parametrize("attack", ATTACKS)
def test_it_earns_what_its_honest_part_earns(drive: Drive, attack: str) -> None:
    honest = earned(drive.report("alone", "honest_part"))
    assert {how: earned(drive.report(how, attack)) for how in WAYS} == dict.fromkeys(WAYS, honest)


@pytest.mark.parametrize("attack", ATTACKS)
def test_its_neighbour_s_report_is_that_of_a_class_without_it(drive: Drive, attack: str) -> None:
    assert lasting(drive.report("batch", NEIGHBOUR + attack)) == lasting(drive.report("alone", "honest"))


@pytest.mark.parametrize("attack", ATTACKS)
def test_nothing_worked_that_should_not(drive: Drive, attack: str) -> None:
    for how in WAYS:
        printed = "\n".join(message.text for message in drive.report(how, attack).messages)
        assert "SUCCEEDED" not in printed
        assert ("TRIED" in printed) == ("TRIED" in ATTACKS[attack])


@pytest.mark.parametrize("attack", ATTACKS)
def test_nothing_hidden_comes_out(drive: Drive, attack: str) -> None:
    course = drive.base / "course"
    sources = [course / "solutions" / f"{UNIT}.py", course / "grader" / "suites" / UNIT / f"test_{UNIT}.py"]
    stub = (course / "exercises" / f"{UNIT}.py").read_text(encoding="utf-8")
    lines = {line.strip() for source in sources for line in source.read_text(encoding="utf-8").splitlines()}
    secret_lines = {line for line in lines if len(line) > 40 and '"""' not in line and line not in stub}
    for how in WAYS:
        report = drive.text(how, attack)
        said = "\n".join(message.text for message in drive.report(how, attack).messages)
        for_the_instructor = drive.base / "reports" / how / "instructor" / f"{attack}.pytest.json"
        assert [text for text in drive.planted if text in report + for_the_instructor.read_text(encoding="utf-8")] == []
        assert [line for line in secret_lines if line in said] == []
        assert [path for path in (str(drive.base), sys.prefix, sys.base_prefix) if path in report] == []


@pytest.mark.parametrize("attack", ATTACKS)
def test_it_was_locked_in_all_the_while(drive: Drive, attack: str) -> None:
    for how in WAYS:
        assert drive.report(how, attack).isolation.enough


def test_there_is_a_report_on_everyone_and_nothing_else(drive: Drive) -> None:
    neighbours = {NEIGHBOUR + attack for attack in ATTACKS} | {f"{NEIGHBOUR}the_end"}
    expected = {"alone": {*ATTACKS, *HONEST}, "batch": {*ATTACKS, *neighbours}}
    for how, students in expected.items():
        reports = drive.base / "reports" / how
        files = {path.relative_to(reports).as_posix() for path in reports.rglob("*") if path.is_file()}
        assert files == {f"{one}.json" for one in students} | {f"instructor/{one}.pytest.json" for one in students}
    assert drive.seen["faults"] == []


def test_the_honest_have_full_marks_and_the_attackers_do_not(drive: Drive) -> None:
    honest, honest_part = drive.report("alone", "honest"), drive.report("alone", "honest_part")
    assert honest.points == honest.possible
    assert 0 < honest_part.points < honest.points


def test_no_file_is_changed(drive: Drive) -> None:
    assert drive.seen["changed"] == []


def test_no_process_is_left_running(drive: Drive) -> None:
    assert drive.seen["left_running"] == []


def test_root_grades_where_only_root_may_enter(drives: dict[str, Drive]) -> None:
    """Students' processes run as nobody, and yet find everything that they need."""
    if "root" not in drives:
        pytest.skip("only root has a home that nobody may enter")
    drive = drives["root"]
    assert drive.seen["user"] == 0
    assert drive.base.stat().st_mode & 0o777 == 0o700
    honest = drive.report("alone", "honest")
    assert honest.isolation.layers["user"]
    assert honest.points == honest.possible


def test_an_ordinary_user_is_no_root(drives: dict[str, Drive]) -> None:
    drive = drives["ordinary user"]
    assert drive.seen["user"] != 0
    assert not drive.report("alone", "honest").isolation.layers["user"]


def test_the_command_line_prints_no_command_of_a_workflow(drives: dict[str, Drive], tmp_path: Path) -> None:
    drive = drives[possible_users()[0]]
    run = subprocess.run(
        [sys.executable, "-m", "grader", "grade", drive.base / "class" / "markup_in_messages", "--out", tmp_path],
        cwd=drive.base / "course", env={**os.environ, "PYTHONPATH": str(drive.base / "course")},
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    lines = (run.stdout + run.stderr).splitlines()
    assert any("markup_in_messages" in line for line in lines)
    assert [line for line in lines if line.strip().startswith(COMMAND_OF_A_WORKFLOW) or "##[" in line] == []
    assert "\x1b]" not in run.stdout


def earned(report: Report) -> dict[str, list[str]]:
    """The criteria that were met, by exercise."""
    return {
        name: [test.name for test in exercise.tests if test.outcome == "passed"]
        for name, exercise in report.units[UNIT].exercises.items()
    }


def lasting(report: Report) -> dict[str, Any]:
    """What is the same whenever the same submission is graded."""
    return report.model_dump(exclude={"student", "messages", "timing", "versions"})
