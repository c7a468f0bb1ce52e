"""Hostile submissions, graded alone and between honest ones, by root and by an ordinary user. None succeeds.

Each file in submissions/ is appended to the honest part of its unit: the unit that its folder names, or else unit 2. It
prints TRIED when it reaches its end, and SUCCEEDED when something works that should not. To add an attack, add a file
and the text that its report must contain. An attack that needs more than a file is a function in folders.py.
docs/attacks.md lists what they all try.
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
from courses import copy_course, environment
from drive import HONEST, NEIGHBOUR
from folders import (
    FOLDERS,
    HERE,
    HONEST_PARTS,
    HONEST_SHEET,
    RIGHT_SHEET,
    SHEET,
    UNIT,
    Folder,
)
from users import ORDINARY_USER, as_ordinary_user

from grader.course.model import load_course
from grader.reports.report_model import Report, Unit
from grader.text import UNSEEN

pytestmark = pytest.mark.proof(part="attacks")

USERS = ("root", "ordinary user")
RECORD = """\
import sys
from pathlib import Path
from grader.course import model
from grader.engine import failure_matrix
from grader.testing import misconceptions
whole = model.load_course(Path.cwd())
misconceptions.build(whole, sys.argv[1:])
failure_matrix.fill(whole, sys.argv[1:])
"""
# The first of the two users also grades each attack alone: what a batch shares does not depend on the user.
WAYS = ("alone", "batch")
# About ninety attacks twice, several of which only their time limit stops, while other tests run in parallel.
PATIENCE_SECONDS = 1200
# Honest answers take a tenth of a second per exercise. The limits leave room for a machine that runs the attacks of
# both users, and other tests, at the same time.
LIMITS = {"call_seconds": 3, "unit_seconds": 20, "memory_mb": 1024}
HIDDEN = "hidden-canary"
COMMAND_OF_A_WORKFLOW = ("::", "##[")
TAKES_OVER = "takes_over_the_worker"
STRATEGIES = ("zeros", "arguments", "errors", "nothing", "not a number")

# What the report says, for the attacks that are a Python file in submissions/.
EXPECTED = {
    "agreeing_object": "It gave a tensor that is sparse, quantised, nested or without data.",
    "agreeing_tensor": "The result has the wrong shape: (2,).",
    "attacked_generators": "It tried to look through all objects.",
    "calls_without_end": "Is there a loop that never ends?",
    "chooses_its_own_weights": "There is no parameter W_query.weight of its own, which nn.Linear would have under this "
    "name.",
    "claims_failures": "It tried to look at the frames of other code.",
    "costly_replies": "The student process sent more than 10,000 values in one reply and was stopped.",
    "exits_at_import": "It raised SystemExit.",
    "exits_in_calls": "It ended the Python process (exit code 0).",
    "forges_replies": "an answer to another question",
    "hard_codes_the_examples": "The scores are not the expected ones, although the shape is correct.",
    "huge_messages": "more bytes were dropped.",
    "imports_itself_for_ever": "Is there a loop that never ends?",
    "large_results": "(4194204,)",
    "leans_on_substitutes": "It tried to look at the frames of other code.",
    "loops_at_the_top": "Is there a loop that never ends?",
    "loops_in_calls": "Is there a loop that never ends?",
    "lowers_its_limits": "It tried to change its limits.",
    "lying_embedding": "No gradient reaches table.",
    "lying_modules": "It tried to replace a function: torch.nn.Module.named_parameters",
    "makes_suites_raise": "A tensor was expected; yours gave an object.",
    "malformed_replies": "The student process sent a malformed reply and was stopped.",
    "markup_in_messages": "::set-output name=points::100",
    "memorises": "not the expected ones",
    "odd_results": "It gave a tensor of more than 16 MB.",
    "patched_builtins_and_codecs": "It tried to replace a function: json.dumps",
    "patched_comparisons": "It tried to replace a function: torch.allclose",
    "patched_draws": "All rows of all calls are the same.",
    "patched_imports": "It tried to replace a function: builtins.__import__",
    "reads_ahead": "It tried to look at the frames of other code.",
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
    """Return every attack by its name."""
    found = {}
    for path in sorted((HERE / "submissions").rglob("*.py")):
        unit = path.parent.name if path.parent.name in HONEST_PARTS else UNIT
        source = path.read_text(encoding="utf-8")
        strategies = STRATEGIES if path.stem == TAKES_OVER else ("",)
        for strategy in strategies:
            name = f"{path.stem}_with_{strategy.replace(' ', '_')}" if strategy else path.stem
            text = source.replace('STRATEGY = "zeros"', f'STRATEGY = "{strategy}"')
            fill = functools.partial(write_scripts, {unit: f"{HONEST_PARTS[unit]}\n\n{text}"})
            found[name] = Folder(fill, earns=True, expected=EXPECTED[path.stem], tries="TRIED" in source, unit=unit)
    return {**found, **FOLDERS}


def write_scripts(texts: dict[str, str], folder: Path, _: Path) -> None:
    for unit, text in texts.items():
        (folder / f"{unit}.py").write_text(text, encoding="utf-8")


ATTACKS = attacks()


@dataclass
class Drive:
    """The result of one user's grading: the reports by way and student, and what drive.py observed."""

    base: Path
    planted: list[str]
    commits: dict[str, str | None]
    seen: dict[str, Any]
    ways: tuple[str, ...] = WAYS

    def text(self, how: str, student: str) -> str:
        return (self.base / "reports" / how / f"{student}.json").read_text(encoding="utf-8")

    def report(self, how: str, student: str) -> Report:
        return read_report(self.text(how, student))


read_report = functools.cache(Report.model_validate_json)  # each is read by several tests


def make_base(base: Path, course: Path, planted: list[str]) -> Drive:
    """Fill a folder with a course that contains these hidden texts, a class of attackers and a folder for reports."""
    shutil.copytree(course, base / "course", ignore=shutil.ignore_patterns("__pycache__"))
    (base / "reports").mkdir()
    (base / "gradebook.db").write_text("Everybody's points\n", encoding="utf-8")
    solution = (course / "solutions" / f"{UNIT}.py").read_text(encoding="utf-8")
    honest = {
        name: Folder(functools.partial(write_scripts, texts), earns=True, expected="", tries=False)
        for name, texts in zip(HONEST, ({UNIT: solution}, HONEST_PARTS), strict=True)
    }
    commits = {}
    for name, attack in {**honest, **ATTACKS}.items():
        folder = base / "class" / name
        folder.mkdir(parents=True)
        (folder / SHEET).write_text(RIGHT_SHEET if name == HONEST[0] else HONEST_SHEET, encoding="utf-8")
        commits[name] = attack.fill(folder, base)
    # Only the duration of these attacks depends on the number of units.
    units = {name: [attack.unit] for name, attack in ATTACKS.items()}
    units |= dict(zip(HONEST, ([UNIT], list(HONEST_PARTS)), strict=True))
    (base / "units.json").write_text(json.dumps(units), encoding="utf-8")
    planted = planted + plant(base / "class" / "honest", f"{UNIT}.py", SHEET)
    return Drive(base, planted, commits, {})


def plant(folder: Path, *files: str) -> list[str]:
    """Hide a different text in each of these files, and return the texts."""
    texts = [f"{HIDDEN}-{secrets.token_hex(8)}" for _ in files]
    for name, text in zip(files, texts, strict=True):
        with (folder / name).open("a", encoding="utf-8") as file:
            file.write(f"# {text}\n" if name.endswith(".yml") else f"\n\nPLANTED = {text!r}\n")
    return texts


def make_course(folder: Path) -> tuple[Path, list[str]]:
    """Build a course with hidden texts, and return it with these texts."""
    course = copy_course(folder, **LIMITS)
    planted = plant(
        course,
        f"solutions/{UNIT}.py",
        *(path.relative_to(course).as_posix() for path in load_course(course).hidden_tests(UNIT)),
        "grader/engine/plugin.py",
        "grader/reports/scoring.py",
        "grader/engine/diagnosis.py",
        "autograder.yml",
        f"solutions/{UNIT}_quiz.yml",
    )
    subprocess.run([sys.executable, "-c", RECORD, *HONEST_PARTS], env=environment(course), cwd=course, check=True)
    return course, planted


@pytest.fixture(scope="session")
def drives(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, Drive]]:
    """Have both users grade everything at the same time; the tests only read the results."""
    course, planted = make_course(tmp_path_factory.mktemp("attacked"))
    running: dict[str, tuple[Drive, subprocess.Popen[bytes], Path]] = {}
    for user in possible_users():
        # Not in pytest's own folder, which only the user who runs pytest may enter.
        base = Path(tempfile.mkdtemp(prefix="attacked-")).resolve()
        drive = make_base(base, course, planted)
        drive.planted.append(f"{HIDDEN}-{secrets.token_hex(8)}")
        # Like root's home, only its owner may enter it. The owner may write to everything in it.
        base.chmod(0o700)
        drive.ways = WAYS if user == possible_users()[0] else WAYS[1:]
        command: list[Any] = [sys.executable, "-P", HERE / "drive.py", base, *drive.ways]
        if user == "ordinary user" and os.geteuid() == 0:
            give_away(base)
            command = as_ordinary_user(command, [base, HERE])
        log = tmp_path_factory.mktemp("log") / "output.txt"
        known = {**os.environ, "PYTHONPATH": str(base / "course"), "SECRET": drive.planted[-1]}
        with log.open("wb") as file:
            process = subprocess.Popen(command, env=known, cwd="/", stdout=file, stderr=subprocess.STDOUT)
        running[user] = (drive, process, log)
    try:
        for drive, process, log in running.values():
            assert process.wait(PATIENCE_SECONDS) == 0, log.read_text(encoding="utf-8")
            drive.seen = json.loads((drive.base / "reports" / "drive.json").read_text(encoding="utf-8"))
        yield {user: drive for user, (drive, _, _) in running.items()}
    finally:
        for drive, process, _ in running.values():
            process.kill()
            process.wait()
            shutil.rmtree(drive.base)


def give_away(base: Path) -> None:
    """Make the ordinary user the owner. Uses descriptors, because some paths are longer than a path may be."""
    os.chown(base, ORDINARY_USER, ORDINARY_USER)
    for _, folders, files, descriptor in os.fwalk(base):
        for name in [*folders, *files]:
            os.chown(name, ORDINARY_USER, ORDINARY_USER, dir_fd=descriptor, follow_symlinks=False)


def possible_users() -> tuple[str, ...]:
    return USERS if os.geteuid() == 0 else USERS[1:]


@pytest.fixture(params=USERS)
def drive(request: pytest.FixtureRequest) -> Drive:
    if request.param not in possible_users():
        reason = "only root can test grading as root"
        if os.environ.get("CI"):
            pytest.fail(f"{reason}: CI has to run this as root")
        pytest.skip(reason)
    return request.getfixturevalue("drives")[request.param]


@pytest.mark.parametrize("attack", ATTACKS)
def test_it_earns_what_its_honest_part_earns(drive: Drive, attack: str) -> None:
    unit = drive.report("alone", "honest_part").units[ATTACKS[attack].unit]
    criteria = met(unit) if ATTACKS[attack].earns else {name: [] for name in unit.exercises}
    items = earned(unit) if ATTACKS[attack].ticks_earn else dict.fromkeys(earned(unit), 0)
    for how in drive.ways:
        [(_, found)] = drive.report(how, attack).units.items()
        assert (met(found), earned(found)) == (criteria, items)


@pytest.mark.parametrize("attack", ATTACKS)
def test_the_report_of_its_neighbour_does_not_change(drive: Drive, attack: str) -> None:
    assert lasting(drive.report("batch", NEIGHBOUR + attack)) == lasting(drive.report("alone", "honest"))


@pytest.mark.parametrize("attack", ATTACKS)
def test_it_did_not_succeed(drive: Drive, attack: str) -> None:
    for how in drive.ways:
        printed = "\n".join(message.text for message in drive.report(how, attack).messages)
        assert "SUCCEEDED" not in printed
        assert ("TRIED" in printed) == ATTACKS[attack].tries


@pytest.mark.parametrize("attack", ATTACKS)
def test_its_report_says_what_happened(drive: Drive, attack: str) -> None:
    expected = ATTACKS[attack].expected
    for how in drive.ways:
        report = drive.report(how, attack)
        if expected:
            assert any(expected in text for text in all_texts(report))
        else:  # nothing happened
            assert as_graded(report.units[UNIT]) == as_graded(drive.report("alone", "honest_part").units[UNIT])
            assert list(report.units) == [UNIT]
            assert report.messages == []


def as_graded(unit: Unit) -> Unit:
    """Return the unit without the places and digests of the answers."""
    exercises = {name: exercise.model_copy(update={"line": None}) for name, exercise in unit.exercises.items()}
    return unit.model_copy(update={"path": None, "digest": "", "answers": "", "exercises": exercises})


@pytest.mark.parametrize("attack", ATTACKS)
def test_its_report_names_the_commit(drive: Drive, attack: str) -> None:
    assert {drive.report(how, attack).commit for how in drive.ways} == {drive.commits[attack]}


@pytest.mark.parametrize("attack", ATTACKS)
def test_nothing_hidden_comes_out(drive: Drive, attack: str) -> None:
    course, unit = drive.base / "course", ATTACKS[attack].unit
    sources = [course / "solutions" / f"{unit}.py", *load_course(course).hidden_tests(unit)]
    stub = (course / "exercises" / f"{unit}.py").read_text(encoding="utf-8")
    lines = {line.strip() for source in sources for line in source.read_text(encoding="utf-8").splitlines()}
    secret_lines = {line for line in lines if len(line) > 40 and '"""' not in line and line not in stub}
    for how in drive.ways:
        report = drive.text(how, attack)
        printed = "\n".join(message.text for message in drive.report(how, attack).messages)
        for_the_instructor = drive.base / "reports" / how / "instructor" / f"{attack}.pytest.json"
        assert [text for text in drive.planted if text in report + for_the_instructor.read_text(encoding="utf-8")] == []
        assert [line for line in secret_lines if line in printed] == []
        assert [path for path in (str(drive.base), sys.prefix, sys.base_prefix) if path in report] == []


@pytest.mark.parametrize("attack", ATTACKS)
def test_its_report_has_no_control_characters(drive: Drive, attack: str) -> None:
    for how in drive.ways:
        assert [text for text in texts(json.loads(drive.text(how, attack))) if UNSEEN.search(text)] == []


@pytest.mark.parametrize("attack", ATTACKS)
def test_it_was_isolated(drive: Drive, attack: str) -> None:
    for how in drive.ways:
        assert drive.report(how, attack).isolation.enough


def test_there_is_a_report_for_each_student_and_nothing_else(drive: Drive) -> None:
    neighbours = {NEIGHBOUR + attack for attack in ATTACKS} | {f"{NEIGHBOUR}the_end"}
    alone = {*ATTACKS, *HONEST} if "alone" in drive.ways else {*HONEST}
    expected = {"alone": alone, "batch": {*ATTACKS, *neighbours}}
    for how, students in expected.items():
        reports = drive.base / "reports" / how
        files = {path.relative_to(reports).as_posix() for path in reports.rglob("*") if path.is_file()}
        assert files == {f"{one}.json" for one in students} | {f"instructor/{one}.pytest.json" for one in students}
    assert drive.seen["faults"] == []


def test_honest_students_have_full_marks_and_attackers_do_not(drive: Drive) -> None:
    honest, honest_part = drive.report("alone", "honest"), drive.report("alone", "honest_part")
    assert honest.points == honest.possible
    assert 0 < honest_part.points < honest.points


def test_no_file_is_changed(drive: Drive) -> None:
    assert drive.seen["changed"] == []


def test_no_process_is_left_running(drive: Drive) -> None:
    assert drive.seen["left_running"] == []


def test_root_grades_in_a_folder_that_only_root_may_enter(drives: dict[str, Drive]) -> None:
    """Student processes run as other users, and still find everything that they need."""
    if "root" not in drives:
        pytest.skip("only root has a home that nobody may enter")
    drive = drives["root"]
    assert drive.seen["user"] == 0
    assert drive.base.stat().st_mode & 0o777 == 0o700
    honest = drive.report("alone", "honest")
    assert honest.isolation.layers["user"]
    assert honest.isolation.layers["own_user"]
    assert honest.points == honest.possible


def test_an_ordinary_user_is_not_root(drives: dict[str, Drive]) -> None:
    drive = drives["ordinary user"]
    assert drive.seen["user"] != 0
    assert not drive.report("alone", "honest").isolation.layers["user"]


def test_the_command_line_prints_no_command_of_a_workflow(drives: dict[str, Drive], tmp_path: Path) -> None:
    drive = drives[possible_users()[0]]
    run = subprocess.run(
        [
            sys.executable, "-m", "grader", "grade", drive.base / "class" / "markup_in_messages", "--unit", UNIT,
            "--out", tmp_path,
        ],
        cwd=drive.base / "course", env={**os.environ, "PYTHONPATH": str(drive.base / "course")},
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    lines = (run.stdout + run.stderr).splitlines()
    assert any("markup_in_messages" in line for line in lines)
    assert [line for line in lines if line.strip().startswith(COMMAND_OF_A_WORKFLOW) or "##[" in line] == []
    assert "\x1b]" not in run.stdout


def met(unit: Unit) -> dict[str, list[str]]:
    """Return the criteria that passed, by exercise."""
    return {
        name: [test.name for test in exercise.tests if test.outcome == "passed"]
        for name, exercise in unit.exercises.items()
    }


def earned(unit: Unit) -> dict[str, int | None]:
    """Return the points of each item of the quiz."""
    assert unit.quiz
    return {name: item.points for name, item in unit.quiz.items.items()}


def all_texts(report: Report) -> list[str]:
    [(_, unit)] = report.units.items()
    assert unit.quiz
    reasons = [test.reason or "" for exercise in unit.exercises.values() for test in exercise.tests]
    problems = [item.problem or "" for item in unit.quiz.items.values()]
    return [*unit.remarks, *reasons, *unit.quiz.remarks, *problems, *(message.text for message in report.messages)]


def texts(value: Any) -> Iterator[str]:
    """Return every text in a report, including keys."""
    match value:
        case str():
            yield value
        case dict():
            yield from texts([*value.items()])
        case list() | tuple():
            for one in value:
                yield from texts(one)


def lasting(report: Report) -> dict[str, Any]:
    """Return what is the same each time the same submission is graded."""
    return report.model_dump(exclude={"student", "messages", "timing", "versions"})
