"""Hostile submissions, graded alone and between honest ones, by root and by an ordinary user: none gets anywhere.

Each file in submissions/ follows an honest answer to one exercise. It prints TRIED where it gets to the end, and
SUCCEEDED wherever something worked that should not. To add an attack, add a file and what its report says of it; one
that takes more than a file is a function in folders.py. docs/attacks.md lists what they all try.
"""

from __future__ import annotations

import functools
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
import yaml
from courses import copy_course
from drive import HONEST, NEIGHBOUR
from folders import FOLDERS, HERE, HONEST_PART, SCRIPT, UNIT, Folder
from users import ORDINARY_USER, as_ordinary_user

from grader.report import Report

USERS = ("root", "ordinary user")
WAYS = ("alone", "batch")
# Some seventy attacks twice, several of which are only stopped by their time limit.
PATIENCE_SECONDS = 600
# As small as honest answers allow, with room for a slow machine: they take a tenth of a second an exercise.
LIMITS = {"call_seconds": 1, "unit_seconds": 15, "memory_mb": 1024}
HIDDEN = "hidden-canary"
COMMAND_OF_A_WORKFLOW = ("::", "##[")
TAKES_OVER = "takes_over_the_worker"
STRATEGIES = ("zeros", "arguments", "errors", "nothing", "not a number")

# What a report says of the attacks that are a file of Python, in submissions/.
TOLD = {
    "agreeing_object": "It gave a tensor that is sparse, quantised, nested or without data.",
    "agreeing_tensor": "The result has the wrong shape: (2,).",
    "chooses_its_own_weights": "There is no layer W_query.",
    "exits_at_import": "It raised SystemExit.",
    "exits_in_calls": "It ended the Python process (exit code 0).",
    "forges_replies": "an answer that nobody asked for",
    "hard_codes_the_examples": "The scores are not the expected ones, though the shape is right.",
    "huge_messages": "bytes more than are kept.",
    "imports_itself_for_ever": "It did not finish in time",
    "large_results": "W_query has shape (16777116,), not",
    "leans_on_stand_ins": "It tried to look at the frames of other code.",
    "loops_at_the_top": "It did not finish in time",
    "loops_in_calls": "No time was left for it",
    "lying_modules": "It tried to replace a function: torch.nn.Module.named_parameters",
    "malformed_replies": "Its process sent something that no answer looks like",
    "markup_in_messages": "::set-output name=points::100",
    "memorises": "not the expected ones",
    "odd_results": "It gave a tensor of more than 64 MB.",
    "patched_builtins_and_codecs": "It tried to replace a function: json.dumps",
    "patched_comparisons": "It tried to replace a function: torch.allclose",
    "patched_imports": "It tried to replace a function: builtins.__import__",
    "reads_hidden_files": f"It tried to open a file: …/solutions/{UNIT}.py",
    "rewrites_the_report": "It tried to open a file: …/../reports/alone/rewrites_the_report.json",
    "starts_processes": "It tried to start a process: /bin/sh",
    "starts_threads": "It tried to start a thread.",
    "system_calls": "It tried to call a function of the system: ptrace",
    "takes_memory": "can't allocate memory",
    TAKES_OVER: "It tried to look at the frames of other code.",
    "tells_grading_from_practice": '"points": 100',
    "walks_the_process": "It tried to look through all objects.",
    "writes_everywhere": "It tried to delete a file or a folder: …/autograder.yml",
}


def attacks() -> dict[str, Folder]:
    """Every attack by its name."""
    found = {}
    for path in sorted((HERE / "submissions").glob("*.py")):
        source = path.read_text(encoding="utf-8")
        strategies = STRATEGIES if path.stem == TAKES_OVER else ("",)
        for strategy in strategies:
            name = f"{path.stem}_with_{strategy.replace(' ', '_')}" if strategy else path.stem
            text = source.replace('STRATEGY = "zeros"', f'STRATEGY = "{strategy}"')
            fill = functools.partial(write_script, f"{HONEST_PART}\n\n{text}")
            found[name] = Folder(fill, earns=True, told=TOLD[path.stem], tries="TRIED" in source)
    return {**found, **FOLDERS}


def write_script(text: str, folder: Path, _: Path) -> None:
    (folder / SCRIPT).write_text(text, encoding="utf-8")


ATTACKS = attacks()


@dataclass
class Drive:
    """What came of one user's grading: every report by how and whom, and what else was seen."""

    base: Path
    planted: list[str]
    commits: dict[str, str | None]
    seen: dict[str, Any]

    def text(self, how: str, student: str) -> str:
        return (self.base / "reports" / how / f"{student}.json").read_text(encoding="utf-8")

    def report(self, how: str, student: str) -> Report:
        return Report.model_validate_json(self.text(how, student))


def keep_one_unit(course: Path) -> None:
    """Nothing in these attacks depends on the number of units, but the time they take does."""
    settings = yaml.safe_load((course / "autograder.yml").read_text(encoding="utf-8"))
    for unit in settings["units"].keys() - {UNIT}:
        shutil.rmtree(course / "grader" / "suites" / unit)
    settings["units"] = {UNIT: settings["units"][UNIT]}
    (course / "autograder.yml").write_text(yaml.safe_dump(settings, sort_keys=False), encoding="utf-8")


def make_base(base: Path, course: Path) -> Drive:
    """Fills a folder with a course, a class of attackers and a folder for reports, and hides texts in it."""
    shutil.copytree(course, base / "course", ignore=shutil.ignore_patterns("__pycache__"))
    keep_one_unit(base / "course")
    (base / "reports").mkdir()
    (base / "gradebook.db").write_text("Everybody's points\n", encoding="utf-8")
    solution = (course / "solutions" / SCRIPT).read_text(encoding="utf-8")
    honest = {
        name: Folder(functools.partial(write_script, text), earns=True, told="", tries=False)
        for name, text in zip(HONEST, (solution, HONEST_PART), strict=True)
    }
    commits = {}
    for name, attack in {**honest, **ATTACKS}.items():
        folder = base / "class" / name
        folder.mkdir(parents=True)
        commits[name] = attack.fill(folder, base)
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
    return Drive(base, planted, commits, {})


@pytest.fixture(scope="session")
def drives(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, Drive]]:
    """Everything graded by both users at once; the tests only read what came of it."""
    course = copy_course(tmp_path_factory.mktemp("attacked"), **LIMITS)
    running: dict[str, tuple[Drive, subprocess.Popen[bytes], Path]] = {}
    for user in possible_users():
        # Not in pytest's own folder, which is closed to all but who runs it.
        base = Path(tempfile.mkdtemp(prefix="attacked-")).resolve()
        drive = make_base(base, course)
        drive.planted.append(f"{HIDDEN}-{secrets.token_hex(8)}")
        # A home that nobody else may enter, as root's is; and each user may write to all that lies in it.
        base.chmod(0o700)
        command: list[Any] = [sys.executable, "-P", HERE / "drive.py", base]
        if user == "ordinary user" and os.geteuid() == 0:
            give_away(base)
            command = as_ordinary_user(command, [base, HERE])
        said = tmp_path_factory.mktemp("said") / "output.txt"
        environment = {**os.environ, "PYTHONPATH": str(base / "course"), "SECRET": drive.planted[-1]}
        with said.open("wb") as file:
            process = subprocess.Popen(command, env=environment, cwd="/", stdout=file, stderr=subprocess.STDOUT)
        running[user] = (drive, process, said)
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


def give_away(base: Path) -> None:
    """By descriptors, for some of the paths are longer than a path may be."""
    os.chown(base, ORDINARY_USER, ORDINARY_USER)
    for _, folders, files, descriptor in os.fwalk(base):
        for name in [*folders, *files]:
            os.chown(name, ORDINARY_USER, ORDINARY_USER, dir_fd=descriptor, follow_symlinks=False)


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
    if not ATTACKS[attack].earns:
        honest = {exercise: [] for exercise in honest}
    assert {how: earned(drive.report(how, attack)) for how in WAYS} == dict.fromkeys(WAYS, honest)


@pytest.mark.parametrize("attack", ATTACKS)
def test_its_neighbour_s_report_is_that_of_a_class_without_it(drive: Drive, attack: str) -> None:
    assert lasting(drive.report("batch", NEIGHBOUR + attack)) == lasting(drive.report("alone", "honest"))


@pytest.mark.parametrize("attack", ATTACKS)
def test_nothing_worked_that_should_not(drive: Drive, attack: str) -> None:
    for how in WAYS:
        printed = "\n".join(message.text for message in drive.report(how, attack).messages)
        assert "SUCCEEDED" not in printed
        assert ("TRIED" in printed) == ATTACKS[attack].tries


@pytest.mark.parametrize("attack", ATTACKS)
def test_its_report_says_what_happened(drive: Drive, attack: str) -> None:
    told = ATTACKS[attack].told
    for how in WAYS:
        report = drive.report(how, attack)
        if told:
            assert [said for said in everything_said(report) if told in said]
        else:  # nothing did
            assert report.units == drive.report("alone", "honest_part").units
            assert report.messages == []


@pytest.mark.parametrize("attack", ATTACKS)
def test_its_report_names_the_commit_that_was_handed_in(drive: Drive, attack: str) -> None:
    assert [drive.report(how, attack).commit for how in WAYS] == [drive.commits[attack]] * 2


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


def everything_said(report: Report) -> list[str]:
    unit = report.units[UNIT]
    reasons = [test.reason or "" for exercise in unit.exercises.values() for test in exercise.tests]
    return [*unit.remarks, *reasons, *(message.text for message in report.messages)]


def lasting(report: Report) -> dict[str, Any]:
    """What is the same whenever the same submission is graded."""
    return report.model_dump(exclude={"student", "messages", "timing", "versions"})
